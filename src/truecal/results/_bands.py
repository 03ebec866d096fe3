"""The table of score bands."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from truecal.data import Floats, Ints
from truecal.metrics import Direction
from truecal.results._table import Column, Table, column, float_column, register_table
from truecal.verdict import Verdict

BAR = 15  # characters of a bar
BAR_LIMITS = (1.05, 1.1, 1.25, 1.5, 2, 3, 5, 10, 30, 100)  # the largest O/E of a bar


@register_table
@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class BandTable(Table):
    """A table with one row per score band, in increasing order.

    Confidence intervals are simultaneous over the bands. Rates, counts and O/E describe the population if rows were
    sampled by label; `n` counts the rows of the sample.

    Examples
    --------
    >>> import truecal
    >>> table = truecal.evaluate([0, 1] * 100, [0.2] * 100 + [0.3] * 100).bands
    >>> table.n.tolist(), table.observed.tolist(), table.direction
    ([100, 100], [0.5, 0.5], ('under-predicts', 'under-predicts'))
    """

    low: Floats = field(metadata=column("score", "from", "The lowest prediction."))
    high: Floats = field(metadata=column("score", "to", "The highest prediction."))
    n: Ints = field(metadata=column("count", "n", "Rows."))
    positives: Floats = field(metadata=column("count", "O", "Observed positives."))
    expected: Floats = field(metadata=column("count", "E", "Expected positives: the sum of the predictions."))
    predicted: Floats = field(metadata=column("share", "predicted", "The mean prediction."))
    observed: Floats = field(metadata=column("share", "observed", "The observed rate."))
    ratio: Floats = field(metadata=column("ratio", "O/E", "Observed over expected."))
    ratio_low: Floats = field(metadata=column("ratio", "O/E low", "Lower confidence limit of O/E."))
    ratio_high: Floats = field(metadata=column("ratio", "O/E high", "Upper confidence limit of O/E."))
    direction: tuple[Direction | None, ...] = field(
        metadata=column("text", "", "Whether the model is shown to under-predict or to over-predict here.")
    )
    verdict: Verdict

    _derived_columns: ClassVar[tuple[Column, ...]] = (
        Column("band", "label", "score band", "The band by its scores."),
        Column("over", "span", "O/E", "Observed over expected, with the digits of its interval."),
        Column("interval", "span", "CI", "The confidence interval of O/E, simultaneous over the bands."),
        Column("bar", "label", "bar", "O/E with its interval as a bar, on a logarithmic scale."),
    )
    _shown: ClassVar[tuple[str, ...]] = (
        *("band", "n", "predicted", "observed", "over", "interval", "bar", "direction"),
    )
    _spare: ClassVar[tuple[str, ...]] = ("interval", "bar", "predicted", "observed", "n")

    @classmethod
    def of(cls, verdict: Verdict) -> BandTable:
        """Make the table of a verdict's score bands."""
        bands = verdict.bands
        return cls(
            low=float_column(band.low for band in bands),
            high=float_column(band.high for band in bands),
            n=np.array([band.rows for band in bands], dtype=np.int64),
            positives=float_column(band.observed for band in bands),
            expected=float_column(band.expected for band in bands),
            predicted=float_column(band.shares[0] for band in bands),
            observed=float_column(band.shares[1] for band in bands),
            ratio=float_column(band.ratio for band in bands),
            ratio_low=float_column(band.odds_ratio.ratio_low for band in bands),
            ratio_high=float_column(band.odds_ratio.ratio_high for band in bands),
            direction=tuple(band.direction for band in bands),
            verdict=verdict,
        )

    @property
    def band(self) -> list[str]:
        """The bands by their scores."""
        from truecal import words

        return words.label_bands(self.verdict.bands, complete=self.verdict.complete)

    @property
    def over(self) -> list[str]:
        """O/E as text; nothing may be expected."""
        return [text[0] if text else "none expected" for text in self._ratios()]

    @property
    def interval(self) -> list[str]:
        """The confidence interval of O/E as text."""
        return [f"{text[1]}\N{EN DASH}{text[2]}" if text else "" for text in self._ratios()]

    def _ratios(self) -> list[tuple[str, str, str] | None]:
        from truecal import words

        return [words.round_ratios(*span) if math.isfinite(span[0]) else None for span in self._spans()]

    def _spans(self) -> list[tuple[float, float, float]]:
        columns = (self.ratio.tolist(), self.ratio_low.tolist(), self.ratio_high.tolist())
        return list(zip(*columns, strict=True))

    @property
    def bar(self) -> list[str]:
        """O/E with its interval, as lines of text around 1.

        An interval touches the middle only if it holds 1; one that goes beyond the scale ends in < or >.
        """
        limit = self._limit()
        return [_draw_bar(*span, limit) for span in self._spans()]

    def _limit(self) -> float:
        """The largest O/E of the bars: room for every O/E, and for the nearer end of its interval."""

        def reach(value: float) -> float:
            return abs(math.log(value)) if 0 < value < math.inf else 0.0

        known = [
            (reach(ratio), min(reach(low) or math.inf, reach(high) or math.inf)) for ratio, low, high in self._spans()
        ]
        most = max((max(span) for span in known if math.isfinite(span[1])), default=0.0)
        return next((scale for scale in BAR_LIMITS if math.log(scale) >= 1.1 * most), BAR_LIMITS[-1])

    def _name_omitted(self, name: str) -> str:
        return "O/E bar" if name == "bar" else ""  # its heading is a scale

    def heading(self, name: str) -> str:
        """Return the heading of a column; those of intervals and bars depend on the values."""
        if name == "interval":
            from truecal import words

            return f"{words.format_confidence(self.verdict.significance)} CI{'*' * (len(self) > 1)}"
        if name == "bar":
            limit, half = self._limit(), BAR // 2
            return f"{f'{1 / limit:.2g}':<{half}}|{f'{limit:g}':>{half}}"
        return Table.heading(self, name)

    def _footnotes(self) -> tuple[str, ...]:
        from truecal import words

        return words.explain_band_intervals(self)

    def _style(self, name: str, row: int) -> str:
        return "red" if name in ("bar", "direction") and self.direction[row] else ""


def _draw_bar(ratio: float, low: float, high: float, limit: float) -> str:
    """Draw O/E with its interval around 1, up to the limit on both sides."""
    half = BAR // 2

    def place(value: float) -> int:
        at = -1.0 if value <= 0 else 1.0 if math.isinf(value) else math.log(value) / math.log(limit)
        return half + round(half * max(-1.0, min(1.0, at)))

    line = [" "] * BAR
    line[half] = "|"
    if math.isinf(ratio):
        return "".join([*line[:-1], ">"])
    first = max(place(low), half + 1) if low > 1 else place(low)
    last = min(place(high), half - 1) if high < 1 else place(high)
    line[first : last + 1] = [sign if sign == "|" else "-" for sign in line[first : last + 1]]
    if low * limit < 1:
        line[0] = "<"
    if high > limit:
        line[-1] = ">"
    if 1 / limit <= ratio <= limit:
        line[min(max(place(ratio), first), last)] = "+"
    return "".join(line)
