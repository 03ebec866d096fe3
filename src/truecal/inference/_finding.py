"""What was found, in one sentence: which predictions are off, which way and by how much."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from truecal._text import about
from truecal.metrics import Direction, ScoreRange

if TYPE_CHECKING:
    from truecal.inference._verdict import Verdict

NEAR = 0.01  # of the other end's distance from 0 or 1, at which an end is next to it
Tilt = Literal["too extreme", "too timid"]
UNCLEAR = "off, all together neither shown to be too low nor too high"
TILTS: dict[str, str] = {
    "too extreme": "too extreme (high ones came true less often than predicted, low ones more often)",
    "too timid": "too timid (high ones came true more often than predicted, low ones less often)",
}
TESTS = {
    "total": "the total",
    "cox": "intercept and slope",
    "cumulative": "cumulative differences",
    "information": "ranges of equal evidence",
    "rows": "ranges of equally many rows",
    "spread": "many small errors",
    "odds": "one factor on all odds",
    "windows": "single windows",
}


def format_percent(p: float, digits: int = 2) -> str:
    """A probability in percent, with so many digits after the zeros, or the nines, that it begins with.

    Examples
    --------
    >>> format_percent(0.0213), format_percent(0.5), format_percent(0.99968), format_percent(1.0)
    ('2.1 %', '50 %', '99.968 %', '100 %')
    """
    near = 100 * min(p, 1 - p)
    if near <= 0:
        return f"{100 * p:.0f} %"
    text = f"{100 * p:.{max(0, digits - 1 - math.floor(math.log10(near)))}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} %"


def format_ratios(ratio: float, low: float, high: float) -> tuple[str, str, str]:
    """Observed over expected and its interval, with as many digits as the interval needs, and as tell its ends from 1.

    Examples
    --------
    >>> format_ratios(1.5241, 1.354, 1.702), format_ratios(0.73, 0.52, 0.998)
    (('1.52', '1.35', '1.70'), ('0.730', '0.520', '0.998'))
    """
    ratio, low, high = float(ratio), float(low), float(high)
    wide = high - low if math.isfinite(high) else math.inf
    digits = max(2, -math.floor(math.log10(wide / 2))) if 0 < wide < 1 else 2
    while digits < 6 and any(end != 1 and float(f"{end:.{digits}f}") == 1 for end in (low, high)):
        digits += 1
    first, second, third = (f"{value:.{digits}f}" if value < 10 else f"{value:.3g}" for value in (ratio, low, high))
    return first, second, third


def format_span(ratio: float, low: float, high: float) -> str:
    """Observed over expected with its interval: "1.52 (1.35 to 1.70)". Scores of exactly 0 or 1 have no interval.

    Examples
    --------
    >>> format_span(1.5241, 1.354, 1.702), format_span(0.9, 0.9, 0.9), format_span(math.inf, math.nan, math.nan)
    ('1.52 (1.35 to 1.70)', '0.90', 'none predicted')
    """
    if math.isinf(ratio):
        return "none predicted"
    first, second, third = format_ratios(ratio, low, high)
    return first if low == high else f"{first} ({second} to {third})"


def format_in_brackets(ratio: float, low: float, high: float) -> str:
    """Observed over expected with its interval, beside a count: "(x 1.52, 1.35 to 1.70)"."""
    first, second, third = format_ratios(ratio, low, high)
    return f"(x {first}, {second} to {third})"


def format_ratio(ratio: float) -> str:
    """Observed over expected, with two digits, or as many as tell it from 1.

    Examples
    --------
    >>> format_ratio(1.524), format_ratio(0.9968), format_ratio(12.345), format_ratio(1.0), format_ratio(0.00312)
    ('1.52', '0.9968', '12.3', '1.00', '0.0031')
    """
    if ratio >= 10:
        return f"{ratio:.3g}"
    if 0 < ratio < 0.1:
        return f"{ratio:.{1 - math.floor(math.log10(ratio))}f}"
    away = abs(ratio - 1)
    return f"{ratio:.{2 if away >= 0.01 or away < 1e-6 else 1 - math.floor(math.log10(away))}f}"


def format_p_value(p: float) -> str:
    """A p-value with its sign, with two digits, or as many as tell it from the usual levels.

    Examples
    --------
    >>> format_p_value(0.0123), format_p_value(0.0504), format_p_value(2e-5)
    ('= 0.012', '= 0.0504', '< 0.0001')
    """
    if p < 1e-4:
        return "< 0.0001"
    digits = 2
    while digits < 6 and any(p > level >= float(f"{p:.{digits}g}") for level in (0.05, 0.01)):
        digits += 1
    return f"= {p:.{digits}g}"


def name_direction(low: float, high: float, said: float = 1.0) -> Direction | None:
    """Which way predictions are off, where the interval of observed over expected shows it; or that of the rate, beside
    what was said.

    Examples
    --------
    >>> name_direction(1.1, 1.4), name_direction(0.7, 0.9), name_direction(0.9, 1.4)
    ('too low', 'too high', None)
    """
    return "too low" if low > said else "too high" if high < said else None


def describe_way(way: str | None) -> str:
    """Which way predictions are off, as a sentence goes on that says that they are.

    Examples
    --------
    >>> describe_way("too low"), describe_way(None)
    ('too low', 'off, all together neither shown to be too low nor too high')
    """
    return TILTS.get(way, way) if way else UNCLEAR


def _name_ends(ranges: Sequence[ScoreRange]) -> tuple[list[str], list[str]]:
    """The least and the greatest score of each range, with as many digits as tell apart ranges, the ends of one, and a
    range of one score from its neighbours."""
    alone = [each.low == each.high for each in ranges]
    for digits in range(2, 17):
        lows = [format_percent(each.low, digits) for each in ranges]
        highs = [format_percent(each.high, digits) for each in ranges]
        for i, (one, other) in enumerate(pairwise(ranges)):  # next to a range of 0 or 1 alone, no long row of digits
            if one.high == 0 and other.low < NEAR * other.high:
                lows[i + 1] = "above 0 %"
            if other.low == 1 and 1 - one.high < NEAR * (1 - one.low):
                highs[i] = "below 100 %"
        if len(set(lows)) < len(lows) or len(set(highs)) < len(highs):
            continue
        wide = all(one or low != high for low, high, one in zip(lows, highs, alone, strict=True))
        if wide and all(highs[i] != lows[i + 1] for i, pair in enumerate(pairwise(alone)) if any(pair)):
            break
    return lows, highs


def name_ranges(ranges: Sequence[ScoreRange], *, whole: bool = True) -> list[str]:
    """Ranges of scores that follow each other, by name: "below 0.8 %", "0.8 to 2.1 %", "5 %", "above 5 %".

    Ends that are named are scores of the range; nothing below or above which it lies is one. The first range has two
    ends unless the `whole` of the predictions was judged.
    """
    if len(ranges) < 2:
        return ["all"] * len(ranges)
    ends, last = _name_ends(ranges), len(ranges) - 1
    names = (_name_run(i, i, last, ends, whole=whole) for i in range(last + 1))
    return [name.removeprefix("of ").removeprefix("from ").replace(" % to ", " to ") for name in names]


def _name_run(first: int, final: int, last: int, ends: tuple[list[str], list[str]], *, whole: bool) -> str:
    """The ranges from the first to the final one by name, of those up to the last."""
    lows, highs = ends
    if lows[first] == highs[final]:
        return f"of {lows[first]}"
    if first == 0 and whole:
        return f"below {lows[final + 1]}"
    return f"above {highs[first - 1]}" if first > 0 and final == last else f"from {lows[first]} to {highs[final]}"


def describe_finding(found: Verdict, *, sizes: bool = True) -> str:
    """The verdict in one sentence, with the range of scores, the direction and the size of an error."""
    noun = "Predictions" if found.outcome == "positive" else "Confidences"
    beyond = "" if found.tolerance is None else " within the tolerance"
    if found.word == "consistent":
        return f"{noun} are consistent with the data{beyond}"
    if found.word == "cannot tell":
        return f"Cannot tell whether {noun.lower()} are right{beyond}"
    ranges = found.divided
    sides = [(way, places) for way in ("too low", "too high") if (places := find_places(ranges, way))]
    if not sides:
        return f"{noun} are {_describe_total(found, sizes=sizes)}"
    if len(sides) == 1:
        ((way, places),) = sides
        where = _name_places(places, found)
        if _all_lean(found, places):
            size = f": {_tell_size(found, range(len(ranges)))}" if sizes else ""
            return f"{noun} are {way}{size}, most clearly{where.replace(' of ', ' at ')}"
        return f"{noun}{where} are {way}{f': {_tell_size(found, places)}' * sizes}"
    (way, places), (other, others) = sorted(sides, key=lambda side: side[1])
    first = second = ""
    if sizes:
        first = f" ({_tell_size(found, places).removesuffix(' as predicted')})"
        second = f" ({_tell_size(found, others).partition(' as many')[0]})"
    return f"{noun}{_name_places(places, found)} are {way}{first}, those{_name_places(others, found)} {other}{second}"


def find_places(ranges: Sequence[ScoreRange], way: str) -> list[int]:
    """The ranges that are off one way, with one between two of them that leans the same way."""
    found = [i for i, each in enumerate(ranges) if each.direction == way]
    between = [
        i
        for i, each in enumerate(ranges)
        if i - 1 in found and i + 1 in found and not each.direction and (each.ratio > 1) == (way == "too low")
    ]
    return sorted([*found, *between])


def describe_evidence(found: Verdict, advice: str | None = None) -> list[str]:
    """The sentences that stand beside the finding: what came, what to do or what would have been found, and what the
    numbers are of. An `advice` takes the place of that to recalibrate."""
    lines = [f"{_tell_total(found)}."]
    if found.impossible:
        one = found.impossible == 1
        lines.append(f"{found.impossible:,} row{'s' * (not one)} refute{'s' * one} a prediction of exactly 0 or 1.")
    wrong = sorted({*find_places(found.divided, "too low"), *find_places(found.divided, "too high")})
    noun = "scores" if found.outcome == "positive" else "confidences"
    if found.word != "off":
        lines.append(found.reach)
    elif found.outcome == "positive" and found.observed in (0, found.n):
        label = "positive" if found.observed else "negative"
        lines.append(
            f"Every label is {label}: see that this is right before all else; no map can be fitted to such labels."
        )
    elif advice is not None:
        lines.append(f"{advice}.")
    elif found.impossible and (certain := _find_certain(found, [found.divided[i] for i in wrong])):
        rest = "recalibrate what is off then" if certain == "some" else "no other range is proven wrong by itself"
        what = "find out what makes them certain, such as rounding"
        lines.append(f"No factor on the odds mends {noun} of exactly 0 or 1: {what}; {rest}.")
    elif wrong and len(wrong) < len(found.divided) and not _all_lean(found, wrong):
        where = _name_places(wrong, found)
        lines.append(f"{_advise(found, f'{noun}{where}')}; no other range is proven wrong by itself.")
    else:
        if not wrong and not found.impossible and found.direction is None:
            lines.append(_name_loudest(found))
        lines.append(f"{_advise(found, f'these {noun}')}.")
    return [*lines, *found.remarks]


def _advise(found: Verdict, scores: str) -> str:
    """What to do about scores that are off: no map is fitted to confidences."""
    if found.outcome == "positive":
        return f"Recalibrate before using {scores} as probabilities"
    return f"Do not use {scores} as probabilities as they are"


def _find_certain(found: Verdict, wrong: Sequence[ScoreRange]) -> Literal["all", "some"] | None:
    """Whether all that is proven wrong are predictions of exactly 0 or 1, or some of it."""
    low, high = found.interval
    if not wrong:
        return "all" if low <= 1 <= high else None
    certain = [each.high == 0 or each.low == 1 for each in wrong]
    return "all" if all(certain) else "some" if any(certain) else None


def _tell_total(found: Verdict) -> str:
    """What came against what was predicted, with the ratio and its interval."""
    count = found.count(found)
    if not found.expected > 0:
        return count
    ratio, low, high = format_ratios(found.ratio, *found.interval)
    return f"{count}: x {ratio} ({format_percent(1 - found.significance)} interval {low} to {high})"


def _name_loudest(found: Verdict) -> str:
    """Which of the tests speaks most against a model whose error has no place and no direction."""
    name = min(found.parts, key=found.parts.__getitem__)
    cautious = "; a mid-p-value, the interval is more cautious" if name == "total" else ""
    return (
        f"Of the tests, that of {TESTS[name]} speaks most against the model "
        f"(p {format_p_value(found.parts[name])}{cautious})."
    )


def _all_lean(found: Verdict, places: Sequence[int]) -> bool:
    """Whether ranges that are not proven wrong lean the same way as those that are, and all together are wrong: then
    nobody can say that the others are right."""
    if len(places) == len(found.divided) or found.direction is None:
        return False
    return all((each.ratio > 1) if found.direction == "too low" else (each.ratio < 1) for each in found.divided)


def _describe_total(found: Verdict, *, sizes: bool) -> str:
    """Which way predictions are off where no range of scores is."""
    if found.expected == 0 and found.observed > 0:
        return "too low" + ": nothing was predicted, and positives came" * sizes
    if found.direction is not None:
        return found.direction + f": {_times(found.observed, found.expected, found)}" * sizes
    if found.impossible:
        return "off" + ": some that are exactly 0 or 1 are refuted" * sizes
    if found.tilt is not None:
        return TILTS[found.tilt] if sizes else found.tilt
    if len(found.divided) < 2:
        return "off" + "; there is too little evidence to say where" * bool(found.divided and sizes)
    return "off, in no single range of scores"


def _times(observed: float, expected: float, found: Verdict) -> str:
    positive = found.outcome == "positive"
    noun = "positives came" if positive else "were correct"
    if not expected > 0:
        return f"{noun} though none were predicted"
    if not observed:
        said = f"where {about(expected)} were {'predicted' if positive else 'expected to be'}"
        return f"{'no positive came' if positive else 'none was correct'} {said}"
    ratio = observed / expected
    return f"{'only ' * (ratio < 1)}{format_ratio(ratio)} times as many {noun} as predicted"


def _tell_size(found: Verdict, places: Sequence[int]) -> str:
    observed, expected = (sum(getattr(found.divided[i], name) for i in places) for name in ("observed", "expected"))
    return _times(observed, expected, found)


def _name_places(places: Sequence[int], found: Verdict) -> str:
    """Some of the ranges by name, neighbours together; nothing for all of them."""
    last = len(found.divided) - 1
    if len(places) > last:
        return ""
    ends = _name_ends(found.divided)
    begins = [i for i in places if i - 1 not in places]
    stops = [i for i in places if i + 1 not in places]
    runs = zip(begins, stops, strict=True)
    return f" {' and '.join(_name_run(*run, last, ends, whole=found.whole) for run in runs)}"
