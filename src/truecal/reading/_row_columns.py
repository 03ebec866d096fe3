"""Columns beside labels and scores: the age of labels, how often a row was seen, and what it stands for elsewhere.

They are prepared as expressions of the query, so that every engine computes the same: scores of late labels are
discounted, and a status says which rows have no usable value.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from truecal.data import LabelDelay
from truecal.reading import _status as status_codes
from truecal.reading._columns import Roles
from truecal.reading._engines import language

LARGEST_COUNT = 2**46


def check_row_columns(roles: Roles, schema: Mapping[str, Any]) -> None:
    """Raise an error unless the columns hold numbers."""
    for column in roles.row_columns.values():
        if not schema[column].is_numeric():
            raise TypeError(f"`{column}` must hold numbers; it holds {schema[column]}.")


def prepare_row_columns(roles: Roles, rows: Any, scores: Sequence[str]) -> Any:
    """Return renamed rows with the status `extra`, with scores of late labels discounted, and with weights that are 1
    if they cannot be used; `raw` are those that were given."""
    pl = language(rows)
    rows = rows.with_columns(*(pl.col(name).cast(pl.Float64) for name in roles.row_columns))
    status: Any = pl.lit(status_codes.VALID)
    for name in roles.row_columns:
        for code, condition in _judge(roles, pl.col(name), name):
            status = pl.when(condition).then(pl.lit(code)).otherwise(status)
    rows = rows.with_columns(status.alias("extra"))
    usable, changed = pl.col("extra") == status_codes.VALID, []
    if roles.label_delay is not None:
        share = _where(pl, usable, _find_share(roles.label_delay, pl), 1.0)
        for name in scores:
            p = pl.col(name).cast(pl.Float64)
            changed.append(_where(pl, (p >= 0) & (p <= 1), p * share, p).alias(name))
    weight, importance_weight = pl.col("weight"), pl.col("importance_weight")
    if roles.count is not None:
        changed.append(weight.alias("raw"))
        changed.append(_where(pl, usable, weight, 1.0).cast(pl.Int64).alias("weight"))
    if roles.importance_weight is not None:
        whole = importance_weight if roles.count is None else importance_weight * weight
        changed.append(_where(pl, usable, whole, 1.0).alias("importance_weight"))
    return rows.with_columns(*changed)


def _find_share(label_delay: str | LabelDelay, pl: Any) -> Any:
    """The share of positives that is known, of each row."""
    age = pl.col("age")
    if not isinstance(label_delay, LabelDelay):
        return age
    return label_delay.share(age, lambda condition, a, b: _where(pl, condition, a, b))


def _judge(roles: Roles, x: Any, name: str) -> Iterator[tuple[int, Any]]:
    """Why values of a column cannot be used; the last that is true counts."""
    if name == "age" and not isinstance(roles.label_delay, LabelDelay):
        yield status_codes.AGE_OUTSIDE, (x < 0) | (x > 1)
    if name == "weight":
        # adding 2^52 rounds to a whole number; not every engine has a remainder
        fraction = ((x + 2.0**52) - 2.0**52) != x
        yield status_codes.COUNT_FRACTION, (x < 0) | (x > LARGEST_COUNT) | fraction
        yield status_codes.COUNT_ZERO, x == 0
    if name == "importance_weight":
        yield status_codes.IMPORTANCE_OUTSIDE, (x <= 0) | (x == math.inf)
    missing = {"age": status_codes.NO_AGE, "weight": status_codes.NO_COUNT}
    yield missing.get(name, status_codes.NO_IMPORTANCE), x.is_null() | x.is_nan()


def _where(pl: Any, condition: Any, a: Any, b: Any) -> Any:
    return (
        pl.when(condition)
        .then(a if not isinstance(a, float) else pl.lit(a))
        .otherwise(b if not isinstance(b, float) else pl.lit(b))
    )
