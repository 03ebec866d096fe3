"""Sentences about slices."""

from __future__ import annotations

from truecal._text import plural, printable
from truecal.results import SliceTable
from truecal.words._format import format_confidence, join_words

NAMED_COLUMNS = 2  # columns that are named; more are counted
AFTER_ABOVE = "after the slices above are recalibrated"


def summarize_slices(table: SliceTable) -> str:
    """Return how many slices are miscalibrated among those searched."""
    searched = f"{plural(table.searched, 'slice')} of {_name_searched(table)}"
    how = "singly and in pairs" if table.pairs else "singly"
    return f"{count_slices(table)} among {searched}, {how} (Bonferroni-adjusted p)."


def count_slices(table: SliceTable) -> str:
    """Return how many miscalibrated slices are listed."""
    if not len(table):
        return "No miscalibrated slice found"
    return "1 miscalibrated slice is listed" if len(table) == 1 else f"{len(table):,} miscalibrated slices are listed"


def _name_searched(table: SliceTable) -> str:
    others = [printable(name) for name in table.columns_searched if name != table.score]
    parts = others if len(others) <= NAMED_COLUMNS else [f"{len(others):,} columns"]
    return join_words([*parts, *["the scores"] * (table.score in table.columns_searched)])


def describe_slices(table: SliceTable) -> tuple[str, ...]:
    """Return how many slices are miscalibrated, and what is not listed."""
    if not len(table):
        return (table.summary,)
    those = "this one explains" if len(table) == 1 else "these explain"
    return table.summary, f"Slices that {those} are not listed."


def explain_slices(table: SliceTable) -> list[tuple[str, str]]:
    """Return what the headings of a table of slices mean, for those who read it on a terminal."""
    after = f", {AFTER_ABOVE}" * (len(table) > 1)
    level = format_confidence(table.significance)
    return [
        (table.heading("ratio_ci"), f"observed over expected{after}, with an individual {level} confidence interval"),
        (table.heading("p_adjusted"), "p-value of the total, adjusted for all slices searched"),
    ]


def explain_expected(table: SliceTable) -> tuple[str, ...]:
    """Return which predictions the expected positives of a table of slices are sums of, below it."""
    return (f"{table.heading('expected')} and {table.heading('ratio')} are those {AFTER_ABOVE}.",) * (len(table) > 1)
