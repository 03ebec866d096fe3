"""The table of groups of rows that a search found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from truecal._text import about, plural, printable
from truecal.observations import Account, Floats, Ints
from truecal.results._table import Table, column, register_table

NAMED = 2  # columns that are told by their names


@register_table
@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class SliceTable(Table):
    """A table of groups of rows whose predictions are off, the largest loss first.

    A group is listed where those before it do not explain that it is off; many more may be off because they share rows
    with one of these.

    `searched` is the number of groups that there are; p-values are multiplied by it (Bonferroni). What
    is expected of a group is after those before it were mended: their odds multiplied by a factor. `columns_searched`
    are the columns whose levels made groups, `score` which of them are the scores, and `pairs` says whether pairs of
    columns made groups, too.

    Examples
    --------
    >>> import truecal
    >>> columns = {"y": [0, 1] * 200, "p": [0.5] * 200 + [0.2] * 200, "country": ["de"] * 200 + ["fr"] * 200}
    >>> table = truecal.slices(columns, label="y", score="p")
    >>> table.slice, table.direction
    (('country=fr',), ('too low',))
    """

    slice: tuple[str, ...] = field(metadata=column("key", "slice", "The conditions that its rows meet."))
    n: Ints = field(metadata=column("count", "n", "Rows."))
    share: Floats = field(metadata=column("share", "share", "Its share of all rows."))
    observed: Ints = field(metadata=column("count", "observed", "Positives that came."))
    expected: Floats = field(metadata=column("count", "expected", "Positives that the predictions add up to.", about))
    ratio: Floats = field(metadata=column("ratio", "obs / exp", "Observed over expected."))
    ratio_low: Floats = field(
        metadata=column(
            "ratio", "low", "Lower end of its interval, exact for independent rows, under a common factor on all odds."
        )
    )
    ratio_high: Floats = field(metadata=column("ratio", "high", "Upper end of it."))
    p_value: Floats = field(
        metadata=column("p-value", "p", "The p-value of its positives, exact for independent rows.")
    )
    p_adjusted: Floats = field(
        metadata=column("p-value", "p adjusted", "The same, adjusted for all groups that were searched.")
    )
    direction: tuple[str, ...] = field(metadata=column("text", "direction", 'Predictions are "too low" or "too high".'))
    loss: Floats = field(
        metadata=column(
            "ratio",
            "log loss lost",
            "By how much its rows' log loss, added up, would fall with a factor on their odds.",
        )
    )
    rows: int = 0
    searched: int = 0
    columns_searched: tuple[str, ...] = ()
    score: str | None = None
    pairs: bool = True
    significance: float = 0.05
    account: Account | None = None
    notes: tuple[str, ...] = ()

    _picture: ClassVar[str] = "slices"
    _shown: ClassVar[tuple[str, ...]] = (
        *("slice", "n", "observed", "expected", "ratio", "ratio_low", "ratio_high", "p_adjusted", "direction", "loss"),
    )

    def summary(self) -> str:
        """Return how many groups were searched, and how many are listed; what these explain is not."""
        level = f"(adjusted p-value at most {self.significance:g})"
        found = f"none is shown to be off {level}"
        if len(self):
            number, explained = ("1 is", "it explains") if len(self) == 1 else (f"{len(self):,} are", "they explain")
            found = f"{number} listed as off {level}; groups that {explained} are not listed"
        others = [printable(name) for name in self.columns_searched if name != self.score]
        parts = others if len(others) <= NAMED else [f"{len(others):,} columns"]
        parts += ["the scores"] if self.score in self.columns_searched else []
        where = " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))
        how = "alone and in pairs" if self.pairs else "alone"
        return f"Of {plural(self.searched, 'group')} in {where}, {how}, {found}"
