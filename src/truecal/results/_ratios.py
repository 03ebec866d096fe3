"""Observed over expected, as tables show it."""

from __future__ import annotations

from truecal.data import Floats
from truecal.results._table import Column, Table

RATIO_CI: Column = Column("ratio_ci", "span", "O/E (CI)", "Observed over expected with its confidence interval.")


class RatioTable(Table):
    """A table with observed over expected and its confidence limits, which are shown as one column."""

    __slots__ = ()
    ratio: Floats
    ratio_low: Floats
    ratio_high: Floats
    significance: float

    @property
    def ratio_ci(self) -> list[str]:
        """Observed over expected with its confidence interval, as text."""
        from truecal import words

        rows = zip(self.ratio.tolist(), self.ratio_low.tolist(), self.ratio_high.tolist(), strict=True)
        return [words.format_ratio_cell(*row) for row in rows]

    def heading(self, name: str) -> str:
        """Return the heading of a column; that of O/E has the confidence of its interval."""
        if name != "ratio_ci":
            return Table.heading(self, name)
        from truecal import words

        return f"O/E ({words.format_confidence(self.significance)} CI)"
