"""The probability axis of a plot: its ends, its ticks, and what is shown at its margins.

A logit axis shows the middle 90% of the predictions and all numbers of the bins. The few predictions nearer to 0 or 1
could take most of the plot. If leaving them out saves a decade of odds or more, they are counted at the margin, as
exact zeros and ones are.

Both renderers use this axis.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from truecal._options import Scale, check_option
from truecal.data import Floats, Ints
from truecal.results import (
    DECADE,
    BinTable,
    Histogram,
    Outline,
    Result,
    Scores,
    bounded_log_odds,
    from_decades,
    space_evenly,
)

TAIL = 0.05  # the share of predictions, at either end, that may lie beyond a logit axis
LARGE_BIN = 0.01  # the share of predictions of a bin whose mean is always on the axis
MARGIN = 0.06  # the share of the axis between the last prediction drawn to scale and those at the margin
_DECADES = [10.0**-i for i in range(1, 10)]
_TICKS = [0.5, *_DECADES[:1], *(1 - p for p in _DECADES[:1]), *_DECADES[1:], *(1 - p for p in _DECADES[1:])]
_MORE = [0.2, 0.8, 0.05, 0.02, 0.3, 0.7, 0.95, 0.98, 0.4, 0.6, 0.005, 0.002, 0.995, 0.998]


@dataclass(frozen=True, slots=True)
class Axis:
    """A probability axis from `low` to `high`.

    On the logit scale predictions from `first` to `last` are drawn to scale, those beyond at `low` and `high`.
    """

    logit: bool
    low: float
    high: float
    first: float
    last: float
    ticks: tuple[float, ...]
    labels: tuple[str, ...]

    def place(self, p: Floats | float) -> Floats:
        """Return the positions of probabilities, inside the axis."""
        return np.clip(np.asarray(p, dtype=np.float64), self.low, self.high)

    def halve(self, left: Floats, right: Floats) -> Floats:
        """Return the middles of intervals, on the scale of the axis."""
        if not self.logit:
            return np.asarray((left + right) / 2)
        return np.asarray(1 / (1 + np.exp(-(bounded_log_odds(left) + bounded_log_odds(right)) / 2)))

    @property
    def limits(self) -> tuple[float, float]:
        """The ends of the axis, a little outside `low` and `high`."""
        return stretch(self.low, self.high, self.logit, 0.02)


class Margin(NamedTuple):
    """The predictions beyond one end of a logit axis: their number, texts, and the numbers of rejected ones.

    `bins` are the bins with such predictions; their bar extends from `left` to `right`.
    """

    position: float
    left: float
    right: float
    n: int
    words: tuple[str, ...]
    n_too_low: int
    n_too_high: int
    bins: Ints


def stretch(low: float, high: float, logit: bool, pad: float) -> tuple[float, float]:
    """Move two ends apart by a share of their distance on the scale."""
    ends = np.array([low, high])
    if logit:
        ends = np.log(ends) - np.log1p(-ends)
    wide = pad * (ends[1] - ends[0])
    ends += np.array([-wide, wide])
    first, last = (1 / (1 + np.exp(-ends)) if logit else ends).tolist()
    return first, last


def choose_scale(results: Iterable[Result], metric: str | None, scale: Scale | None) -> bool:
    """Whether the axis is a logit axis: by `scale`, or if half of the bins lie below 0.05 or above 0.95."""
    check_option("scale", scale)
    if scale is not None:
        return scale == "logit"
    middles = [float(np.nanmedian(get_table(result, metric).mean)) for result in results]
    return any(middle < 0.05 or middle > 0.95 for middle in middles)


def get_table(result: Result, metric: str | None) -> BinTable:
    """Return the bins of a metric, by default of the one that diagrams show."""
    metric = result.pictured if metric is None else metric
    if metric not in result.tables:
        known = ", ".join(result.tables) or "none, as no metric of the result has bins"
        raise ValueError(f"`metric` must be among {known}; it is {metric!r}.")
    return result.tables[metric]


def get_shapes(result: Result, metric: str | None, logit: bool) -> tuple[Scores, Histogram, Outline]:
    """Return the scores, the histogram and the outlines of bins that a result holds for its plots."""
    name = result.pictured if metric is None else metric
    if result.scores is None or name not in result.shapes:
        raise ValueError("`result` must hold the data for pictures; this one was made without. Evaluate again.")
    shape = result.shapes[name]
    if logit:
        return result.scores, result.scores.logit, shape.logit
    return result.scores, result.scores.linear, shape.linear


def trace_violins(outline: Outline, axis: Axis) -> tuple[Ints, Floats, Floats]:
    """Return the bins that have a violin, with its heights on the axis and its widths, 1 at the widest.

    A violin that extends beyond the axis is cut there.
    """
    bins = np.flatnonzero(~np.isnan(outline.low))
    points = outline.width.shape[1]
    height = space_evenly(outline.low[bins], outline.high[bins], points, axis.logit)
    inside = np.clip(
        np.arange(points),
        np.sum(height < axis.first, axis=1, keepdims=True),
        np.maximum(np.sum(height <= axis.last, axis=1, keepdims=True) - 1, 0),
    )
    width = np.take_along_axis(outline.width[bins], inside, axis=1) / 1000
    return bins, np.clip(height, axis.first, axis.last), width


def find_margins(result: Result, metric: str | None, axis: Axis) -> list[Margin]:
    """Find the predictions at the margins of an axis, the lower margin first; a linear axis has none."""
    if not axis.logit:
        return []
    table = get_table(result, metric)
    scores, histogram, outline = get_shapes(result, metric, axis.logit)
    nonempty = np.flatnonzero(table.n > 0)
    inner = stretch(axis.low, axis.high, True, -0.5 * MARGIN)
    margins = []
    for exact, value, position, ends, cells, bins, sides, word in (
        (scores.zeros, 0, axis.low, (axis.low, inner[0]), histogram.edges[1:] <= axis.first,
         outline.low < axis.first, outline.zeros.tolist(), f"<{_format_decade(axis.first)}"),
        (scores.ones, 1, axis.high, (inner[1], axis.high), histogram.edges[:-1] >= axis.last,
         outline.high > axis.last, outline.ones.tolist(), f">{_format_decade(axis.last)}"),
    ):  # fmt: skip
        beyond = int(histogram.n[cells].sum())
        if exact or beyond:
            words = [f"{exact:,} at {value}"] * (exact > 0) + [f"{beyond:,} {word}"] * (beyond > 0)
            rejected = sides[0] + int(outline.n_too_low[cells].sum()), sides[1] + int(outline.n_too_high[cells].sum())
            owners = np.union1d(np.flatnonzero(bins), nonempty[[-value]] if exact else [])
            margins.append(Margin(position, *ends, exact + beyond, tuple(words), *rejected, owners.astype(np.int64)))
    return margins


def fit_axis(results: Iterable[Result], metric: str | None, scale: Scale | None, wide: bool = True) -> Axis:
    """Return the axis that holds all predictions and rates; with `wide` also what the tests accept."""
    results = list(results)
    logit = choose_scale(results, metric, scale)
    seen: list[Floats] = []
    whole: list[Floats] = []
    for result in results:
        table = get_table(result, metric)
        scores, histogram, outline = get_shapes(result, metric, logit)
        seen.append(np.array([0.0] * (scores.zeros > 0) + [1.0] * (scores.ones > 0)))
        seen += [table.accepted_low, table.accepted_high] if wide else [table.rate_low, table.rate_high]
        seen += [table.rate, table.mean[table.n >= LARGE_BIN * result.n]]
        whole.append(histogram.edges[[0, -1]])
        seen.append(_trim_tails(histogram) if logit else np.concatenate([histogram.edges, outline.low, outline.high]))
    values = np.concatenate(seen)
    values = values[np.isfinite(values)]
    return _make_logit_axis(values, np.concatenate(whole)) if logit else _make_linear_axis(values)


def _trim_tails(histogram: Histogram) -> Floats:
    """Return the ends of a logit histogram without its tails, which are scores below 0.001 and above 0.999."""
    edges, before = histogram.edges, np.append(0, np.cumsum(histogram.n))
    low = edges[(before <= TAIL * before[-1]) & (edges < 0.001)]
    high = edges[(before >= (1 - TAIL) * before[-1]) & (edges > 0.999)]
    return np.array([low.max(initial=edges[0]), high.min(initial=edges[-1])])


def _make_linear_axis(values: Floats) -> Axis:
    low, high = float(values.min()), float(values.max())
    if low < 0.5 * (high - low) or low < 0.05:
        low = 0.0
    if 1 - high < 0.1 * (1 - low):
        high = 1.0
    step = round_up((high - low) / 5)
    ticks = np.arange(np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9) + 1) * step + 0.0
    digits = max(0, -int(np.floor(np.log10(step) + 1e-9)))
    return Axis(False, low, high, low, high, tuple(ticks.tolist()), tuple(f"{tick:.{digits}f}" for tick in ticks))


def round_up(least: float) -> float:
    """Return the smallest 1, 2 or 5 times a power of ten that is at least `least`."""
    size = 10.0 ** np.floor(np.log10(least))
    return float(next(size * factor for factor in (1, 2, 5, 10) if size * factor >= least * (1 - 1e-9)))


def _make_logit_axis(values: Floats, whole: Floats) -> Axis:
    """Make the axis of these values; `whole` has the extremes of predictions. Cuts are at edges of the histograms."""
    inner = bounded_log_odds(values[(values > 0) & (values < 1)]) / DECADE
    extremes = bounded_log_odds(np.array([whole.min(), whole.max()])) / DECADE
    ends = np.array([inner.min(), inner.max()])
    cuts = np.array([np.floor(ends[0] + 1e-6), np.ceil(ends[1] - 1e-6)])
    beyond = extremes[0] <= cuts[0] - 1, extremes[1] >= cuts[1] + 1
    ends[0] = cuts[0] if beyond[0] else min(ends[0], extremes[0]) - 0.05
    ends[1] = cuts[1] if beyond[1] else max(ends[1], extremes[1]) + 0.05
    if ends[1] - ends[0] < 0.5:
        ends += np.array([-0.2, 0.2])
    low, high = from_decades(ends).tolist()
    start, end = stretch(low, high, True, MARGIN)
    start = start if beyond[0] or (values == 0).any() else low
    end = end if beyond[1] or (values == 1).any() else high
    taken = [p for p, free in ((start, low), (end, high)) if p != free]
    apart = float(bounded_log_odds(end) - bounded_log_odds(start)) / 9
    kept: list[float] = []
    for tick in _TICKS + _MORE:
        if low <= tick <= high and all(
            abs(bounded_log_odds(tick) - bounded_log_odds(other)) > apart for other in [*kept, *taken]
        ):
            kept.append(tick)
    kept.sort()
    labels = [format_probability(tick) for tick in kept]
    if start < low:
        kept, labels = [start, *kept], [f"<{_format_decade(low)}" if beyond[0] else "0", *labels]
    if end > high:
        kept, labels = [*kept, end], [*labels, f">{_format_decade(high)}" if beyond[1] else "1"]
    return Axis(True, start, end, low, high, tuple(kept), tuple(labels))


def format_probability(p: float) -> str:
    """Format a probability for a tick; 1-1e-5 near 1."""
    if 1 - 0.99e-4 < p < 1:
        return f"1-{format_probability(1 - p)}"
    return f"{p:.{3 if p < 0.99 else 4}g}".replace("e-0", "e-")


def _format_decade(p: float) -> str:
    """Format a probability whose odds are a power of ten as that power."""
    return format_probability(float(f"{p:.2g}") if p < 0.5 else 1 - float(f"{1 - p:.2g}"))
