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
from truecal.data import LabelDelay, ReasonKind
from truecal.reading._engines import language

# why a row is invalid, by its status: those that may be dropped, those that may not, and those that always are
MISSING: dict[int, tuple[str, ReasonKind]] = {
    9: ("age", ReasonKind.NULL),
    11: ("weight", ReasonKind.NULL),
    14: ("importance_weight", ReasonKind.NULL),
}
FRACTION = 13
WRONG: dict[int, tuple[str, ReasonKind]] = {
    10: ("age", ReasonKind.OUT_OF_RANGE),
    FRACTION: ("weight", ReasonKind.NOT_WHOLE),
    15: ("importance_weight", ReasonKind.NOT_POSITIVE),
}
LEFT_OUT: dict[int, tuple[str, ReasonKind]] = {12: ("weight", ReasonKind.COUNT_IS_ZERO)}
KINDS = 16
MOST = 2**46


@dataclass(frozen=True, slots=True)
class Extras:
    """The columns to read, if any; see `truecal.read`."""

    label_delay: str | LabelDelay | None = None
    count: str | None = None
    importance_weight: str | None = None

    def __post_init__(self) -> None:
        for name in ("count", "importance_weight"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise TypeError(f"{option(name)} must be the name of a column; it is {value!r}.")
        if self.label_delay is not None and not isinstance(self.label_delay, (str, LabelDelay)):
            raise TypeError(
                f"{option('label_delay')} must be a `LabelDelay(column, table)`, or the name of a column of shares; it "
                f"is {self.label_delay!r}."
            )

    @property
    def names(self) -> dict[str, str]:
        """The columns by the names that they get."""
        age = self.label_delay.age if isinstance(self.label_delay, LabelDelay) else self.label_delay
        found = {"age": age, "weight": self.count, "importance_weight": self.importance_weight}
        return {name: column for name, column in found.items() if column is not None}

    @property
    def counted(self) -> bool:
        """Whether rows have weights of any kind."""
        return self.count is not None or self.importance_weight is not None

    @property
    def sums(self) -> list[str]:
        """The prepared columns that are added up when rows are grouped."""
        return [name for name in ("weight", "importance_weight") if name in self.names]

    def check(self, schema: Mapping[str, Any]) -> None:
        """Raise an error unless the columns hold numbers."""
        for column in self.names.values():
            if not schema[column].is_numeric():
                raise TypeError(f"`{column}` must hold numbers; it holds {schema[column]}.")

    def prepare(self, rows: Any, scores: Sequence[str]) -> Any:
        """Return renamed rows with the status `extra`, with scores of late labels discounted, and with weights that
        are 1 if they cannot be used; `raw` are those that were given."""
        pl = language(rows)
        rows = rows.with_columns(*(pl.col(name).cast(pl.Float64) for name in self.names))
        status: Any = pl.lit(0)
        changed = []
        for name in self.names:
            for code, condition in self._judge(pl, pl.col(name), name):
                status = pl.when(condition).then(pl.lit(code)).otherwise(status)
        rows = rows.with_columns(status.alias("extra"))
        usable = pl.col("extra") == 0
        if self.label_delay is not None:
            share = _where(pl, usable, self._share(pl), 1.0)
            for name in scores:
                p = pl.col(name).cast(pl.Float64)
                changed.append(_where(pl, (p >= 0) & (p <= 1), p * share, p).alias(name))
        if self.count is not None:
            changed.append(pl.col("weight").alias("raw"))
            changed.append(_where(pl, usable, pl.col("weight"), 1.0).cast(pl.Int64).alias("weight"))
        if self.importance_weight is not None:
            whole = (
                pl.col("importance_weight") if self.count is None else pl.col("importance_weight") * pl.col("weight")
            )
            changed.append(_where(pl, usable, whole, 1.0).alias("importance_weight"))
        return rows.with_columns(*changed)

    def _share(self, pl: Any) -> Any:
        age = pl.col("age")
        if not isinstance(self.label_delay, LabelDelay):
            return age
        return self.label_delay.share(age, lambda condition, a, b: _where(pl, condition, a, b))

    def _judge(self, pl: Any, x: Any, name: str) -> Iterator[tuple[int, Any]]:
        """Why values of a column cannot be used; the last that is true counts."""
        if name == "age" and not isinstance(self.label_delay, LabelDelay):
            yield 10, (x < 0) | (x > 1)
        if name == "weight":
            # adding 2^52 rounds to a whole number; not every engine has a remainder
            yield FRACTION, (x < 0) | (x > MOST) | (((x + 2.0**52) - 2.0**52) != x)
            yield 12, x == 0
        if name == "importance_weight":
            yield 15, (x <= 0) | (x == math.inf)
        yield {"age": 9, "weight": 11, "importance_weight": 14}[name], x.is_null() | x.is_nan()


def _where(pl: Any, condition: Any, a: Any, b: Any) -> Any:
    return (
        pl.when(condition)
        .then(a if not isinstance(a, float) else pl.lit(a))
        .otherwise(b if not isinstance(b, float) else pl.lit(b))
    )


NO_EXTRAS = Extras()
