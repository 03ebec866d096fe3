"""Observed over expected, as the tables of groups and models show it."""

from __future__ import annotations

from truecal.data import Floats
from truecal.results._table import Column

RATIO_CI: Column = Column("ratio_ci", "label", "O/E (CI)", "Observed over expected with its confidence interval.")


def format_count(count: float) -> str:
    """Format an expected count."""
    from truecal import words

    return words.format_count(count)


def format_ratio_cells(ratio: Floats, low: Floats, high: Floats) -> list[str]:
    """Format observed over expected with its interval for each row."""
    from truecal import words

    rows = zip(ratio.tolist(), low.tolist(), high.tolist(), strict=True)
    return [words.format_ratio_cell(*row) for row in rows]


def name_ratio(significance: float) -> str:
    """The heading of observed over expected with its interval."""
    from truecal import words

    return f"O/E ({words.format_confidence(significance)} CI)"
