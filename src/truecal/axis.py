"""The probability axis of a picture: where it begins and ends, its ticks, and where exact zeros and ones go.

Shared by the static and the interactive pictures, so that both show the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from truecal.result import Result
from truecal.shapes import FLOOR, Histogram, Outline, Scores, log_odds
from truecal.table import BinTable
from truecal.tally import Floats

Scale = Literal["linear", "logit"]
GREY, RED, BLUE, DARK = "#9aa0a6", "#d55e00", "#0072b2", "#4a5058"
_DECADES = [10.0**-i for i in range(1, 10)]
_TICKS = [0.5, *_DECADES[:1], *(1 - p for p in _DECADES[:1]), *_DECADES[1:], *(1 - p for p in _DECADES[1:])]
_MORE = [0.2, 0.8, 0.05, 0.02, 0.3, 0.7, 0.95, 0.98, 0.4, 0.6, 0.005, 0.002, 0.995, 0.998]


@dataclass(frozen=True, slots=True)
class Axis:
    """A probability axis from `low` to `high`; on the logit scale these are where exact zeros and ones are shown."""

    logit: bool
    low: float
    high: float
    ticks: tuple[float, ...]
    labels: tuple[str, ...]

    def place(self, p: Floats | float) -> Floats:
        """Where probabilities are drawn: inside the axis."""
        return np.clip(np.asarray(p, dtype=np.float64), self.low, self.high)

    def at(self, p: Floats | float) -> Floats:
        """The same in the axis' own units: log-odds on the logit scale."""
        placed = self.place(p)
        return np.asarray(np.log(placed) - np.log1p(-placed)) if self.logit else placed

    @property
    def limits(self) -> tuple[float, float]:
        """The ends of the axis, a little outside `low` and `high`."""
        return limits(self.low, self.high, self.logit, 0.02)


def limits(low: float, high: float, logit: bool, pad: float) -> tuple[float, float]:
    """Two ends moved apart by a share of their distance on the scale."""
    if logit:
        ends = np.log([low, high]) - np.log1p([-low, -high])
        wide = pad * (ends[1] - ends[0])
        first, last = (1 / (1 + np.exp(-(ends + np.array([-wide, wide]))))).tolist()
        return first, last
    wide = pad * (high - low)
    return low - wide, high + wide


def choose_scale(results: Iterable[Result], metric: str | None, scale: Scale | None) -> bool:
    """Whether the axis is a logit one: as asked for, else where half of the bins lie below 0.05 or above 0.95."""
    if scale not in (None, "linear", "logit"):
        raise ValueError(f'`scale` must be "linear", "logit" or None; it is {scale!r}.')
    if scale is not None:
        return scale == "logit"
    middles = [float(np.nanmedian(table_of(result, metric).mean)) for result in results]
    return any(middle < 0.05 or middle > 0.95 for middle in middles)


def table_of(result: Result, metric: str | None) -> BinTable:
    """The bins of a metric, of the first one if none is named."""
    if metric is None:
        return result.bins
    if metric not in result.tables:
        raise ValueError(f"`metric` must be among {', '.join(result.tables)}; it is {metric!r}.")
    return result.tables[metric]


def drawn_of(result: Result, metric: str | None, logit: bool) -> tuple[Scores, Histogram, Outline]:
    """What a result carries for its pictures."""
    name = next(iter(result.tables)) if metric is None else metric
    if result.scores is None or name not in result.shapes:
        raise ValueError("`result` must carry what pictures need; this one was made without. Evaluate again.")
    shape = result.shapes[name]
    if logit:
        return result.scores, result.scores.logit, shape.logit
    return result.scores, result.scores.linear, shape.linear


def fit_axis(results: Iterable[Result], metric: str | None, scale: Scale | None, wide: bool = True) -> Axis:
    """The axis that holds all predictions and rates; with `wide` also what the tests accept."""
    results = list(results)
    logit = choose_scale(results, metric, scale)
    seen: list[Floats] = []
    for result in results:
        table = table_of(result, metric)
        scores, histogram, outline = drawn_of(result, metric, logit)
        seen.append(np.array([0.0] * (scores.zeros > 0) + [1.0] * (scores.ones > 0)))
        columns = [table.rate, table.mean, outline.low, outline.high]
        columns += [table.accepted_low, table.accepted_high] if wide else [table.rate_low, table.rate_high]
        seen += [histogram.edges, *columns]
    values = np.concatenate(seen)
    values = values[np.isfinite(values)]
    return _logit_axis(values) if logit else _linear_axis(values)


def _linear_axis(values: Floats) -> Axis:
    low, high = float(values.min()), float(values.max())
    if low < 0.5 * (high - low) or low < 0.05:
        low = 0.0
    if 1 - high < 0.1 * (1 - low):
        high = 1.0
    step = _step((high - low) / 5)
    ticks = np.arange(np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9) + 1) * step + 0.0
    digits = max(0, -int(np.floor(np.log10(step) + 1e-9)))
    return Axis(False, low, high, tuple(ticks.tolist()), tuple(f"{tick:.{digits}f}" for tick in ticks))


def _step(least: float) -> float:
    size = 10.0 ** np.floor(np.log10(least))
    return float(next(size * factor for factor in (1, 2, 5, 10) if size * factor >= least * (1 - 1e-9)))


def _logit_axis(values: Floats) -> Axis:
    inner = np.clip(values[(values > 0) & (values < 1)], FLOOR, 1 - FLOOR)
    low, high = (float(inner.min()), float(inner.max())) if len(inner) else (0.1, 0.9)
    if log_odds(high) - log_odds(low) < 1:
        low, high = (1 / (1 + np.exp(-(log_odds(np.array([low, high])) + np.array([-0.5, 0.5]))))).tolist()
    start, end = limits(low, high, True, 0.06)
    start, end = (start if (values == 0).any() else low), (end if (values == 1).any() else high)
    span = float(log_odds(end) - log_odds(start))
    kept: list[float] = []
    for tick in _TICKS + _MORE:
        if low <= tick <= high and all(
            abs(log_odds(tick) - log_odds(other)) > span / 9 for other in [*kept, start, end]
        ):
            kept.append(tick)
    kept.sort()
    labels = [_short(tick) for tick in kept]
    if start < low:
        kept, labels = [start, *kept], ["0", *labels]
    if end > high:
        kept, labels = [*kept, end], [*labels, "1"]
    return Axis(True, start, end, tuple(kept), tuple(labels))


def _short(p: float) -> str:
    if p > 0.5 and 1 - p < 1e-4 * 0.99:
        return f"1-{1 - p:.0e}".replace("e-0", "e-")
    return f"{p:.0e}".replace("e-0", "e-") if p < 1e-5 * 1.01 else f"{p:.6g}"
