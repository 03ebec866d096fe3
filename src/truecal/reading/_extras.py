"""Columns beside labels and scores: the age of labels, how often a row was seen, and what it stands for elsewhere.

They are prepared as expressions of the query, so that every engine computes the same: scores of late labels are
discounted, and a status says which rows have no usable value.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from truecal._errors import option
from truecal.observations import UNSEEN, Maturity
from truecal.reading._engines import language

# why a row is invalid, by its status: those that may be dropped, those that may not, and those that always are
MISSING: dict[int, str] = {9: "{age} is null", 11: "{weight} is null", 14: "{importance} is null"}
FRACTION = 13
WRONG: dict[int, str] = {
    10: "{age} is outside [0, 1]",
    FRACTION: "{weight} is no whole number",
    15: "{importance} is not above 0",
}
LEFT_OUT = {12: f"{{weight}}{UNSEEN}"}
KINDS = 16
MOST = 2**46


@dataclass(frozen=True, slots=True)
class Extras:
    """The columns to read, if any; see `truecal.read`."""

    mature: str | Maturity | None = None
    weight: str | None = None
    importance: str | None = None

    def __post_init__(self) -> None:
        for name in ("weight", "importance"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise TypeError(f"{option(name)} must be the name of a column; it is {value!r}.")
        if self.mature is not None and not isinstance(self.mature, (str, Maturity)):
            raise TypeError(
                f"{option('mature')} must be a `Maturity(column, table)`, or the name of a column of shares; it is "
                f"{self.mature!r}."
            )

    @property
    def names(self) -> dict[str, str]:
        """The columns by the names that they get."""
        age = self.mature.age if isinstance(self.mature, Maturity) else self.mature
        found = {"age": age, "weight": self.weight, "importance": self.importance}
        return {name: column for name, column in found.items() if column is not None}

    @property
    def counted(self) -> bool:
        """Whether rows have weights of any kind."""
        return self.weight is not None or self.importance is not None

    @property
    def sums(self) -> list[str]:
        """The prepared columns that are added up where rows are grouped."""
        return [name for name in ("weight", "importance") if name in self.names]

    @property
    def words(self) -> dict[str, str]:
        """The columns as errors write them."""
        words = {name: f"`{column}`" for name, column in self.names.items()}
        return {"age": "", "weight": "", "importance": ""} | words

    def check(self, schema: Mapping[str, Any]) -> None:
        """Raise an error unless the columns hold numbers."""
        for column in self.names.values():
            if not schema[column].is_numeric():
                raise TypeError(f"`{column}` must hold numbers; it holds {schema[column]}.")

    def prepare(self, rows: Any, scores: Sequence[str]) -> Any:
        """Return renamed rows with the status `extra`, with scores of late labels discounted, and with weights that
        are 1 where they cannot be used; `raw` are those that were given."""
        pl = language(rows)
        rows = rows.with_columns(*(pl.col(name).cast(pl.Float64) for name in self.names))
        status: Any = pl.lit(0)
        changed = []
        for name in self.names:
            for code, condition in self._judge(pl, pl.col(name), name):
                status = pl.when(condition).then(pl.lit(code)).otherwise(status)
        rows = rows.with_columns(status.alias("extra"))
        usable = pl.col("extra") == 0
        if self.mature is not None:
            share = _where(pl, usable, self._share(pl), 1.0)
            for name in scores:
                p = pl.col(name).cast(pl.Float64)
                changed.append(_where(pl, (p >= 0) & (p <= 1), p * share, p).alias(name))
        if self.weight is not None:
            changed.append(pl.col("weight").alias("raw"))
            changed.append(_where(pl, usable, pl.col("weight"), 1.0).cast(pl.Int64).alias("weight"))
        if self.importance is not None:
            whole = pl.col("importance") if self.weight is None else pl.col("importance") * pl.col("weight")
            changed.append(_where(pl, usable, whole, 1.0).alias("importance"))
        return rows.with_columns(*changed)

    def _share(self, pl: Any) -> Any:
        age = pl.col("age")
        if not isinstance(self.mature, Maturity):
            return age
        return self.mature.share(age, lambda condition, a, b: _where(pl, condition, a, b))

    def _judge(self, pl: Any, x: Any, name: str) -> Iterator[tuple[int, Any]]:
        """Why values of a column cannot be used; the last that is true counts."""
        if name == "age" and not isinstance(self.mature, Maturity):
            yield 10, (x < 0) | (x > 1)
        if name == "weight":
            # adding 2^52 rounds to a whole number; not every engine has a remainder
            yield FRACTION, (x < 0) | (x > MOST) | (((x + 2.0**52) - 2.0**52) != x)
            yield 12, x == 0
        if name == "importance":
            yield 15, (x <= 0) | (x == math.inf)
        yield {"age": 9, "weight": 11, "importance": 14}[name], x.is_null() | x.is_nan()


def _where(pl: Any, condition: Any, a: Any, b: Any) -> Any:
    return (
        pl.when(condition)
        .then(a if not isinstance(a, float) else pl.lit(a))
        .otherwise(b if not isinstance(b, float) else pl.lit(b))
    )


NO_EXTRAS = Extras()
