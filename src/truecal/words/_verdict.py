"""Sentences and labels about a verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from truecal._text import format_count, plural
from truecal.data import Outcome
from truecal.metrics import Absolute, Direction, ScoreBand
from truecal.verdict import COMPONENTS, FACTOR, FEW_CLUSTERS, Status, Verdict
from truecal.words._bands import name_bands
from truecal.words._format import format_confidence, format_odds_ratio, format_p_value, format_ratio, format_ratio_ci
from truecal.words._notes import describe_note

if TYPE_CHECKING:
    from truecal.results import VerdictTable

STATUS_TITLES = {
    Status.MISCALIBRATED: "Miscalibrated",
    Status.CONSISTENT: "No miscalibration found",
    Status.INCONCLUSIVE: "Inconclusive",
}
STATUS_SIGNS = {
    Status.MISCALIBRATED: "\N{MULTIPLICATION X}",
    Status.CONSISTENT: "\N{CHECK MARK}",
    Status.INCONCLUSIVE: "?",
}
OUTCOMES: dict[Outcome, str] = {"positive": "positives", "correct": "correct predictions"}
TOO = {Direction.UNDER: "too low", Direction.OVER: "too high"}
SLOPES = {
    Direction.OVERCONFIDENT: "high predictions are too high and low predictions too low",
    Direction.UNDERCONFIDENT: "high predictions are too low and low predictions too high",
}
TITLES = {test.name: test.title for test in COMPONENTS}


def label_sign(status: Status) -> str:
    """Return the sign of a status."""
    return STATUS_SIGNS[Status(status)]


def label_outcome(outcome: Outcome) -> str:
    """Return what is counted, in the plural."""
    return OUTCOMES[outcome]


def format_status(verdict: Verdict) -> str:
    """Return the status with its p-value: "miscalibrated (p < 0.0001)"."""
    return f"{verdict.status} ({format_p_value(verdict.p_value)})"


def label_verdict(verdict: Verdict) -> str:
    """Return the verdict in short, for a title: the status, and how a miscalibrated model misses."""
    claim = describe_claim(verdict)[0]
    beyond = "" if verdict.tolerance is None or claim else " beyond the tolerance"
    return f"{STATUS_TITLES[verdict.status]}{beyond}{f': {claim}' * bool(claim)}"


def summarize_verdict(verdict: Verdict) -> str:
    """Return the verdict in one sentence."""
    head, numbers = label_verdict(verdict), describe_numbers(verdict)
    if verdict.status == Status.MISCALIBRATED:
        return f"{head}{f', {numbers}' * bool(numbers)}."
    return f"{head}: {numbers}."


def describe_numbers(verdict: Verdict) -> str:
    """Return what follows the label of a verdict in its summary: the counts, or what was not detectable."""
    if verdict.status == Status.MISCALIBRATED:
        return describe_claim(verdict)[1]
    if verdict.status == Status.CONSISTENT:
        p = format_p_value(verdict.tests["total"]) if verdict.total_alone else ""
        alone = f", significant alone ({p}) but not combined with all component tests" if p else ""
        return f"{format_total(verdict)}{alone}; {_describe_rule(verdict)}"
    return _describe_missing(verdict)


def describe_verdict(verdict: Verdict, advice: str | None = None) -> tuple[str, ...]:
    """Return the verdict in sentences: the summary, the evidence, what to do or what was detectable, and remarks.

    An `advice` takes the place of the one to recalibrate.
    """
    return (summarize_verdict(verdict), *describe_evidence(verdict, advice))


def describe_evidence(verdict: Verdict, advice: str | None = None) -> tuple[str, ...]:
    """Return the sentences that follow the summary."""
    summary = summarize_verdict(verdict)
    total = format_total(verdict)
    lines = [] if total in summary else [f"Overall, {total}."]
    if verdict.status != Status.MISCALIBRATED:
        if verdict.status == Status.INCONCLUSIVE:  # the summary of a consistent verdict has it
            lines += describe_total_alone(verdict)
        return (*lines, *describe_power(verdict), *describe_remarks(verdict))
    if _all_lean(verdict, places := _find_all_places(verdict)) and places:
        lines.append(f"The error is clearest {name_bands(verdict, places)}.")
    if verdict.contradicted and (contradicted := _count_contradicted(verdict)) not in summary:
        lines.append(f"{contradicted}.")
    if (slope := verdict.slope_direction) is not None and SLOPES[slope] not in summary:
        lines.append(f"{str(slope).capitalize()}: {SLOPES[slope]}.")
    if not places and not verdict.contradicted and verdict.direction is None:
        lines.append(_name_strongest(verdict))
    lines.append(_advise(verdict) if advice is None else f"{advice}.")
    return (*lines, *describe_remarks(verdict))


def describe_claim(verdict: Verdict) -> tuple[str, str]:
    """Return how a miscalibrated model misses, and the numbers that show it; nothing for other verdicts."""
    if verdict.status != Status.MISCALIBRATED:
        return "", ""
    sides = [(way, places) for way in TOO if (places := find_places(verdict.bands, way))]
    total = verdict.total_direction
    if total is not None and (not sides or (len(sides) == 1 and _covers(verdict, sides[0][1]))):
        return _claim(verdict, total), format_total(verdict)
    if len(sides) == 1:
        ((way, places),) = sides
        observed, expected = _add_bands(verdict, places)
        return _claim(verdict, way, places), format_counts(verdict, observed, expected, ratio=True)
    if sides:
        sides.sort(key=lambda side: side[1])
        texts = [f"{_claim(verdict, way, places)}{_format_ratio_of(verdict, places)}" for way, places in sides]
        return ", ".join(texts), ""
    if verdict.contradicted:
        return _count_contradicted(verdict), ""
    if (slope := verdict.slope_direction) is not None:
        return str(slope), SLOPES[slope]
    where = "in no single score band" if len(verdict.bands) > 1 else "too little information to locate the error"
    return where if verdict.bands else "", ""


def find_places(bands: Sequence[ScoreBand], way: Direction) -> list[int]:
    """Return the score bands that miss one way, with one between two of them that leans the same way."""
    found = [i for i, band in enumerate(bands) if band.direction == way]
    between = [
        i
        for i, band in enumerate(bands)
        if i - 1 in found and i + 1 in found and not band.direction and (band.ratio > 1) == (way == Direction.UNDER)
    ]
    return sorted([*found, *between])


def format_total(verdict: Verdict, groups: int = 1, noun: str = "") -> str:
    """Return the counts of a verdict, with O/E and its confidence interval.

    A verdict on one of several groups has a level that their intervals share; `noun` names them.
    """
    counts = format_counts(verdict, verdict.observed, verdict.expected)
    return f"{counts}, {format_total_ratio(verdict, groups, noun)}" if verdict.expected > 0 else counts


def format_total_ratio(verdict: Verdict, groups: int = 1, noun: str = "") -> str:
    """Return O/E of a verdict with its confidence interval, which may be simultaneous over several groups."""
    ratio = format_ratio_ci(verdict.ratio, *verdict.interval, format_confidence(groups * verdict.significance))
    if groups == 1 or not ratio.endswith(")"):
        return ratio
    return f"{ratio.removesuffix(')')}, simultaneous over {groups:,} {noun})"


def format_counts(verdict: Verdict | VerdictTable, observed: float, expected: float, *, ratio: bool = False) -> str:
    """Return counts as "observed 203, expected 98.9", with O/E if wanted."""
    correct = " correct" * (verdict.outcome == "correct")
    due = " by now" * verdict.sampling.delayed
    over = f", O/E {format_ratio(observed / expected)}" if ratio and expected > 0 else ""
    return f"observed {format_count(observed)}{correct}, expected {format_count(expected)}{due}{over}"


def describe_power(verdict: Verdict) -> tuple[str, ...]:
    """Return what was detectable beside the summary, if the model is not shown to be miscalibrated."""
    if verdict.status != Status.CONSISTENT:
        return ()
    up, down = format_odds_ratio(verdict.detectable_above), verdict.detectable_below
    if up == "infinite":
        return ("Confined to a fifth of the information, no odds ratio above 1 would have been detected.",)
    below = "" if math.isinf(down) else f" or below {math.floor(100 / down) / 100:.2g}"
    return (f"Confined to a fifth of the information, an odds ratio above {up}{below} would have been detected.",)


def describe_total_alone(verdict: Verdict) -> tuple[str, ...]:
    """Return why a verdict is not miscalibrated although the confidence interval of O/E excludes 1."""
    if not verdict.total_alone:
        return ()
    p = format_p_value(verdict.tests["total"])
    return (f"The total alone is significant ({p}); the combination of all component tests is not.",)


def describe_reach(verdict: Verdict) -> str:
    """Return which odds ratio was detectable, in one sentence."""
    missing = verdict.detectable > FACTOR
    text = _describe_missing(verdict) if missing else _describe_rule(verdict)
    return f"{text[0].upper()}{text[1:]}."


def describe_detectable(verdict: Verdict) -> str:
    """Return the minimum detectable odds ratios, on all predictions and confined to a fifth of the information."""
    ratios = verdict.detectable, verdict.detectable_above, verdict.detectable_below
    if all(map(math.isinf, ratios)):
        return "No odds ratio would have been detected with 80% power."
    everywhere, above, below = map(format_odds_ratio, ratios)
    required = "at most" if verdict.detectable <= FACTOR else "more than"
    return (
        f"On all predictions{name_beyond(verdict)}: {everywhere}, {required} the {FACTOR:g} that a consistent verdict "
        f"requires. Confined to a fifth of the information: {above} if predictions are too low, {below} if they are "
        "too high."
    )


def describe_blind_side(verdict: Verdict) -> str:
    """Return which error would go undetected at any odds ratio if `detectable` is infinite."""
    noun = "predictions" if verdict.outcome == "positive" else "confidences"
    which = f"{noun} that are too low, or too high,"
    if verdict.sampling.plain:
        # the side that has fewer outcomes to take away
        which = f"{noun} that are {'too high' if verdict.expected <= verdict.n / 2 else 'too low'}"
    return f"{which} would go undetected at any odds ratio{name_beyond(verdict)}"


def describe_remarks(verdict: Verdict) -> tuple[str, ...]:
    """Return which population the numbers describe, and how rows depend on each other, if it is not plain."""
    notes = [*map(describe_note, verdict.sampling.notes), *filter(None, [describe_excess_tolerance(verdict)])]
    found = tuple(f"{note[0].upper()}{note[1:]}." for note in notes)
    return found if verdict.clusters is None else (*found, *_describe_clusters(verdict))


def describe_excess_tolerance(verdict: Verdict) -> str:
    """Return that an absolute tolerance exceeds the mean prediction, or its complement; else nothing."""
    if not isinstance(verdict.tolerance, Absolute):
        return ""
    mean = min(verdict.expected, verdict.n - verdict.expected) / verdict.n
    if verdict.tolerance.value <= mean:
        return ""
    what = "1 minus the mean prediction" if verdict.expected > verdict.n / 2 else "the mean prediction"
    return (
        f"the tolerance of {verdict.tolerance.value:g} exceeds {what}, {mean:.3g}: "
        "a share of each prediction, such as 10%, may be meant"
    )


def _claim(verdict: Verdict, way: Direction, places: Sequence[int] = ()) -> str:
    """Return "over-predicts above 20%"; of the top label "confidences above 20% are too high"."""
    where = name_bands(verdict, places) if places else ""
    if verdict.outcome == "positive":
        return f"{way}{f' {where}' * bool(where)}"
    return f"confidences{f' {where}' * bool(where)} are {TOO[way]}"


def _format_ratio_of(verdict: Verdict, places: Sequence[int]) -> str:
    observed, expected = _add_bands(verdict, places)
    return f" (O/E {format_ratio(observed / expected)})" if expected > 0 else " (none expected)"


def _add_bands(verdict: Verdict, places: Sequence[int]) -> tuple[float, float]:
    bands = [verdict.bands[i] for i in places]
    return sum(band.observed for band in bands), sum(band.expected for band in bands)


def _find_all_places(verdict: Verdict) -> list[int]:
    return sorted({place for way in TOO for place in find_places(verdict.bands, way)})


def _covers(verdict: Verdict, places: Sequence[int]) -> bool:
    """Whether an error is one of all predictions: in all bands, or in some of those that all lean the same way."""
    return len(places) == len(verdict.bands) or _all_lean(verdict, places)


def _all_lean(verdict: Verdict, places: Sequence[int]) -> bool:
    """Whether bands not shown to miss lean the same way as the total does, so that nobody may call them calibrated."""
    way = verdict.total_direction
    if len(places) == len(verdict.bands) or way is None:
        return False
    return all(band.ratio > 1 if way == Direction.UNDER else band.ratio < 1 for band in verdict.bands)


def _count_contradicted(verdict: Verdict) -> str:
    count = verdict.contradicted
    return f"{plural(count, 'label')} contradict{'s' * (count == 1)} a prediction of exactly 0 or 1"


def _name_strongest(verdict: Verdict) -> str:
    """Return the component test with the smallest p-value, for an error without a place and a direction."""
    name = min(verdict.tests, key=verdict.tests.__getitem__)
    p = format_p_value(verdict.tests[name])
    cautious = ", a mid-p-value; the confidence interval is more conservative" if name == "total" else ""
    return f"Of the component tests, {TITLES[name]} has the smallest p-value ({p}{cautious})."


def _advise(verdict: Verdict) -> str:
    """Return what to do about a miscalibrated model."""
    wrong, bands = _find_all_places(verdict), verdict.bands
    noun = "scores" if verdict.outcome == "positive" else "confidences"
    others = "no other score band is shown to be miscalibrated"
    if verdict.outcome == "positive" and verdict.observed in (0, verdict.n):
        label = "positive" if verdict.observed else "negative"
        return f"Every label is {label}. Check the labels first: no calibration map can be fitted to them."
    if verdict.contradicted and (certain := _find_certain(verdict, [bands[i] for i in wrong])):
        rest = "then recalibrate the rest" if certain == "some" else others
        cause = "Find out what makes them certain, such as rounding"
        return f"Recalibration does not correct {noun} of exactly 0 or 1. {cause}; {rest}."
    if wrong and len(wrong) < len(bands) and not _all_lean(verdict, wrong):
        return f"{_recommend(verdict, f'{noun} {name_bands(verdict, wrong)}')}; {others}."
    return f"{_recommend(verdict, f'these {noun}')}."


def _recommend(verdict: Verdict, scores: str) -> str:
    """No calibration map is fitted to confidences in the top label."""
    if verdict.outcome == "positive":
        return f"Recalibrate before using {scores} as probabilities"
    return f"Do not use {scores} as probabilities"


def _find_certain(verdict: Verdict, wrong: Sequence[ScoreBand]) -> Literal["all", "some"] | None:
    """Return whether all that is shown to miss are predictions of exactly 0 or 1, or some of it."""
    low, high = verdict.interval
    if not wrong:
        return "all" if low <= 1 <= high else None
    certain = [band.high == 0 or band.low == 1 for band in wrong]
    return "all" if all(certain) else "some" if any(certain) else None


def name_beyond(verdict: Verdict) -> str:
    """Return that an error is one beyond the tolerance, if there is one."""
    return "" if verdict.tolerance is None else " beyond the tolerance"


def _describe_rule(verdict: Verdict) -> str:
    """Return which odds ratio a consistent verdict rules out."""
    on = name_beyond(verdict) or " on all predictions"
    return f"an odds ratio of {format_odds_ratio(verdict.detectable)}{on} would have been detected with 80% power"


def _describe_missing(verdict: Verdict) -> str:
    """Return why a verdict is inconclusive."""
    if verdict.certain:
        return "every prediction is exactly 0 or 1 and no label contradicts one, which leaves no odds ratio to detect"
    if math.isinf(verdict.detectable):
        return describe_blind_side(verdict)
    return (
        f"an odds ratio of {FACTOR:g}{name_beyond(verdict)} may go undetected; "
        f"the minimum detectable odds ratio is {format_odds_ratio(verdict.detectable)} (80% power)"
    )


def _describe_clusters(verdict: Verdict) -> tuple[str, ...]:
    """Return how far rows of a cluster depend on each other."""
    count, effect = verdict.clusters or 0, verdict.design_effect
    whose = plural(count, "cluster") if verdict.cluster is None else f"{count:,} clusters (`{verdict.cluster}`)"
    like = f"; they carry the information of {format_count(round(verdict.n / effect))} independent rows"
    rows = f"{plural(verdict.n, 'row')} in {whose}: design effect {effect:.2f}{like * (effect >= 1.005)}."
    few = (f"Fewer than {FEW_CLUSTERS} clusters hardly support a verdict.",) * (count < FEW_CLUSTERS)
    return (rows, *few)
