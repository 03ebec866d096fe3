"""What was found, in one sentence: which predictions are off, which way and by how much."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from truecal.inference import Verdict
from truecal.metrics import ScoreRange


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
    """Observed over expected with its interval: "1.52 (1.35 to 1.70)"."""
    first, second, third = format_ratios(ratio, low, high)
    return f"{first} ({second} to {third})"


def format_ratio(ratio: float) -> str:
    """Observed over expected, with two digits, or as many as tell it from 1.

    Examples
    --------
    >>> format_ratio(1.524), format_ratio(0.9968), format_ratio(12.345), format_ratio(1.0)
    ('1.52', '0.9968', '12.3', '1.00')
    """
    if ratio >= 10:
        return f"{ratio:.3g}"
    away = abs(ratio - 1)
    return f"{ratio:.{2 if away >= 0.01 or away < 1e-6 else 1 - math.floor(math.log10(away))}f}"


def name_ends(ranges: Sequence[ScoreRange]) -> list[str]:
    """Where ranges of scores meet, with as many digits as tell them apart."""
    ends = [found.low for found in ranges[1:]]
    for digits in range(2, 17):
        names = [format_percent(end, digits) for end in ends]
        if len(set(names)) == len(names):
            break
    return names


def name_ranges(ranges: Sequence[ScoreRange]) -> list[str]:
    """Ranges of scores that follow each other, by name: "below 0.8 %", "0.8 to 2.1 %", "above 2.1 %"."""
    if len(ranges) < 2:
        return ["all"] * len(ranges)
    ends = name_ends(ranges)
    inner = [f"{low.removesuffix(' %')} to {high}" for low, high in pairwise(ends)]
    return [f"below {ends[0]}", *inner, _name_last(ends[-1])]


def _name_last(end: str) -> str:
    """The range from an end on, by name; nothing is above 1."""
    return f"{'at' if end == '100 %' else 'above'} {end}"


def describe_finding(found: Verdict, ranges: Sequence[ScoreRange], *, sizes: bool = True) -> str:
    """The verdict in one sentence, with the range of scores, the direction and the size of an error.

    `ranges` are those of `divide_scores`; only a model that is off has one with a direction.
    """
    noun = "Predictions" if found.outcome == "positive" else "Confidences"
    beyond = "" if found.tolerance is None else " within the tolerance"
    if found.word == "consistent":
        return f"{noun} are consistent with the data{beyond}"
    if found.word == "cannot tell":
        return f"Cannot tell whether {noun.lower()} are right{beyond}"
    sides = [(way, places) for way in ("too low", "too high") if (places := find_places(ranges, way))]
    if not sides:
        return f"{noun} are {_describe_total(found, sizes=sizes)}"
    if len(sides) == 1:
        ((way, places),) = sides
        if _all_lean(found, places, ranges):
            size = f": {_times(found.ratio, found)}" if sizes else ""
            return f"{noun} are {way}{size}, most clearly{_name_places(places, ranges)}"
        size = f": {_tell_size(found, places, ranges)}" if sizes else ""
        return f"{noun}{_name_places(places, ranges)} are {way}{size}"
    (way, places), (other, others) = sorted(sides, key=lambda side: side[1])
    first = second = ""
    if sizes:
        first = f" ({_tell_size(found, places, ranges).removesuffix(' as predicted')})"
        second = f" ({_tell_size(found, others, ranges).partition(' as many')[0]})"
    return f"{noun}{_name_places(places, ranges)} are {way}{first}, those{_name_places(others, ranges)} {other}{second}"


def find_places(ranges: Sequence[ScoreRange], way: str) -> list[int]:
    """The ranges that are off one way, with one between two of them that leans the same way."""
    found = [i for i, each in enumerate(ranges) if each.direction == way]
    between = [
        i
        for i, each in enumerate(ranges)
        if i - 1 in found and i + 1 in found and not each.direction and (each.ratio > 1) == (way == "too low")
    ]
    return sorted([*found, *between])


def describe_evidence(found: Verdict, ranges: Sequence[ScoreRange]) -> list[str]:
    """The sentences that stand beside the finding: what came, what to do or what would have been found, and what the
    numbers are of."""
    count = found.count(found)
    lines = [f"{count}{f': x {format_span(found.ratio, *found.interval)}' if found.expected > 0 else ''}."]
    if found.impossible:
        one = found.impossible == 1
        lines.append(f"{found.impossible:,} row{'s' * (not one)} refute{'s' * one} a prediction of exactly 0 or 1.")
    wrong = sorted({*find_places(ranges, "too low"), *find_places(ranges, "too high")})
    noun = "scores" if found.outcome == "positive" else "confidences"
    if found.word != "off":
        lines.append(found.reach)
    elif found.impossible and _only_certain(found, [ranges[i] for i in wrong]):
        lines.append(
            f"No factor on the odds mends {noun} of exactly 0 or 1: find out what makes them certain; no other range "
            "is proven wrong by itself."
        )
    elif wrong and len(wrong) < len(ranges) and not _all_lean(found, wrong, ranges):
        where = _name_places(wrong, ranges)
        lines.append(
            f"Recalibrate before using {noun}{where} as probabilities; no other range is proven wrong by itself."
        )
    else:
        lines.append(f"Recalibrate before using these {noun} as probabilities.")
    return [*lines, *found.remarks]


def _only_certain(found: Verdict, wrong: Sequence[ScoreRange]) -> bool:
    """Whether nothing is proven wrong but predictions of exactly 0 or 1."""
    low, high = found.interval
    if not wrong:
        return low <= 1 <= high
    return all(each.high == 0 or each.low == 1 for each in wrong)


def _all_lean(found: Verdict, places: Sequence[int], ranges: Sequence[ScoreRange]) -> bool:
    """Whether ranges that are not proven wrong lean the same way as those that are, and all together are wrong: then
    nobody can say that the others are right."""
    low, high = found.interval
    if len(places) == len(ranges) or not (low > 1 or high < 1):
        return False
    return all((each.ratio > 1) if low > 1 else (each.ratio < 1) for each in ranges)


def _describe_total(found: Verdict, *, sizes: bool) -> str:
    """Which way predictions are off where no range of scores is."""
    low, high = found.interval
    if found.expected == 0 and found.observed > 0:
        return "too low" + ": nothing was predicted, and positives came" * sizes
    if low > 1 or high < 1:
        return ("too low" if low > 1 else "too high") + f": {_times(found.ratio, found)}" * sizes
    if found.impossible:
        return "off" + ": some that are exactly 0 or 1 are refuted" * sizes
    return "off, in no single range of scores"


def _times(ratio: float, found: Verdict) -> str:
    noun = "positives came" if found.outcome == "positive" else "were correct"
    if math.isinf(ratio):
        return f"{noun} though none were predicted"
    return f"{'only ' * (ratio < 1)}{format_ratio(ratio)} times as many {noun} as predicted"


def _tell_size(found: Verdict, places: Sequence[int], ranges: Sequence[ScoreRange]) -> str:
    observed, expected = (sum(getattr(ranges[i], name) for i in places) for name in ("observed", "expected"))
    return _times(observed / expected if expected > 0 else math.inf, found)


def _name_places(places: Sequence[int], ranges: Sequence[ScoreRange]) -> str:
    """Some of the ranges by name, neighbours together; nothing for all of them."""
    if len(places) == len(ranges):
        return ""
    ends, last = name_ends(ranges), len(ranges) - 1
    begins = [i for i in places if i - 1 not in places]
    stops = [i for i in places if i + 1 not in places]
    names = [
        f"below {ends[b]}" if a == 0 else _name_last(ends[a - 1]) if b == last else f"from {ends[a - 1]} to {ends[b]}"
        for a, b in zip(begins, stops, strict=True)
    ]
    return f" {' and '.join(names)}"
