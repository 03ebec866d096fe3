"""Labels of score bands, and what stands below their table."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from truecal.metrics import ScoreBand
from truecal.verdict import Verdict
from truecal.words._format import format_end, join_words

if TYPE_CHECKING:
    from truecal.results import BandTable

NEAR = 0.01  # of the other end's distance from 0 or 1, at which an end is next to it


def label_bands(bands: Sequence[ScoreBand], *, complete: bool = True) -> list[str]:
    """Label consecutive score bands: "below 0.8%", "0.8 to 2.1%", "5%", "above 5%".

    Ends that are named are scores of the band, unless it is "below" or "above" them. The first band has two ends unless
    the predictions are `complete`.
    """
    if len(bands) < 2:
        return ["all"] * len(bands)
    ends, last = _name_ends(bands), len(bands) - 1
    names = (_name_run(i, i, last, ends, complete=complete) for i in range(last + 1))
    return [name.removeprefix("at ").removeprefix("from ").replace("% to ", " to ") for name in names]


def explain_band_intervals(table: BandTable) -> tuple[str, ...]:
    """Return what the asterisk at the confidence intervals of score bands means."""
    return (f"  * simultaneous over the {len(table)} bands",) if len(table) > 1 else ()


def name_bands(verdict: Verdict, places: Sequence[int]) -> str:
    """Name some of a verdict's score bands, neighbours together: "above 5%"; nothing for all of them."""
    last = len(verdict.bands) - 1
    if len(places) > last:
        return ""
    ends = _name_ends(verdict.bands)
    begins = [i for i in places if i - 1 not in places]
    stops = [i for i in places if i + 1 not in places]
    runs = zip(begins, stops, strict=True)
    return join_words([_name_run(*run, last, ends, complete=verdict.complete) for run in runs])


def _name_run(first: int, final: int, last: int, ends: tuple[list[str], list[str]], *, complete: bool) -> str:
    """Name the bands from the first to the final one, of those up to the last."""
    lows, highs = ends
    if lows[first] == highs[final]:
        return f"at {lows[first]}"
    if first == 0 and complete:
        return f"below {lows[final + 1]}"
    return f"above {highs[first - 1]}" if first > 0 and final == last else f"from {lows[first]} to {highs[final]}"


def _name_ends(bands: Sequence[ScoreBand]) -> tuple[list[str], list[str]]:
    """Format the least and the greatest score of each band.

    They have as many digits as tell apart bands, the ends of one, and a band of one score from its neighbours.
    """
    alone = [band.low == band.high for band in bands]
    for digits in range(2, 17):
        lows = [format_end(band.low, digits) for band in bands]
        highs = [format_end(band.high, digits) for band in bands]
        for i, (one, other) in enumerate(pairwise(bands)):  # next to a band of 0 or 1 alone, no long row of digits
            if one.high == 0 and other.low < NEAR * other.high:
                lows[i + 1] = "above 0%"
            if other.low == 1 and 1 - one.high < NEAR * (1 - one.low):
                highs[i] = "below 100%"
        if len(set(lows)) < len(lows) or len(set(highs)) < len(highs):
            continue
        wide = all(one or low != high for low, high, one in zip(lows, highs, alone, strict=True))
        if wide and all(highs[i] != lows[i + 1] for i, pair in enumerate(pairwise(alone)) if any(pair)):
            break
    if len(bands) == 2 and not any(alone) and highs[0] != lows[1]:  # "below" and "above" name one boundary
        lows[1] = highs[0] = _name_boundary(bands[0].high, bands[1].low) or lows[1]
    return lows, highs


def _name_boundary(low: float, high: float) -> str:
    """Format a score between two others, with as few digits as it takes; nothing if 16 are not enough."""
    for digits in range(2, 17):
        text = format_end((low + high) / 2, digits)
        if low <= float(text.rstrip("%")) / 100 <= high:
            return text
    return ""
