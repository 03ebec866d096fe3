"""The first rows of data, by which columns are inferred."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from truecal.data import AnyArray
from truecal.reading._engines import as_floats, language

ROWS = 10_000
FEWEST, VALUES = 1_000, 1_000_000  # the fewest rows, and values beyond which they are fewer than `ROWS`
Type = Literal["boolean", "integer", "number", "text", "nested", "other"]  # "number" is one that may have a fraction


class HeadColumn(Protocol):
    """The first values of a column."""

    @property
    def type(self) -> Type:
        """What they are."""

    def distinct(self) -> list[Any]:
        """The values, each once and without those that are missing, in any order."""

    def present(self) -> Any:
        """The values that are not missing, those of numbers as an array."""

    def every(self) -> list[Any]:
        """The values of all rows, None if they are missing."""

    def rows(self) -> AnyArray:
        """The numbers of all rows, NaN if they are missing."""


@dataclass(frozen=True, slots=True, eq=False)
class Head:
    """The first rows: those of their columns that were loaded, by name, how many rows there are, and all columns."""

    columns: Mapping[str, HeadColumn]
    rows: int
    names: Sequence[str]


@dataclass(frozen=True, slots=True, eq=False)
class FrameColumn:
    """The first values of a column of a frame."""

    series: Any

    @property
    def type(self) -> Type:
        """What they are."""
        pl, kind = language(self.series), self.series.dtype
        if kind in (pl.Boolean, pl.String):
            return "boolean" if kind == pl.Boolean else "text"
        if kind.is_numeric():
            return "integer" if kind.is_integer() else "number"
        return "nested" if kind.is_nested() else "other"

    def distinct(self) -> list[Any]:
        """The values, each once and without those that are missing."""
        values: list[Any] = self.series.drop_nulls().unique().to_list()
        return values

    def present(self) -> Any:
        """The values that are not missing, those of numbers as an array."""
        values = self.series.drop_nulls()
        return as_floats(values).astype(np.float64) if self.series.dtype.is_numeric() else values.to_list()

    def every(self) -> list[Any]:
        """The values of all rows, None if they are missing."""
        values: list[Any] = self.series.to_list()
        return values

    def rows(self) -> AnyArray:
        """The numbers of all rows, NaN if they are missing."""
        return as_floats(self.series).astype(np.float64)
