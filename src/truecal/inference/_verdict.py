"""The verdict: is this model right? One p-value from six tests with different eyes, and what it could have seen.

Nothing is drawn at random: the same data always give the same verdict. All of it is computed from cells (`CellSums`),
so rows, files and merged tallies agree; within a cell of 12 bits scores are taken as equal.

The parts, with X the Poisson-binomial number of positives and v = sum of p (1 - p), V that of all rows:

cox
    Intercept and slope of a logistic recalibration against 0 and 1: the likelihood ratio, 2 degrees of freedom. (A
    score test takes one positive at a prediction of 0.001 for a proof that the slope is wrong.)
cumulative
    The range of the cumulative differences between labels and predictions over sqrt(V), against that of Brownian
    motion (ECCE-R).
total
    All positives, two-sided mid-p.
information
    A scan. Level L = 0, 1, ... cuts V into 2^(L + 1) equal parts at the ends of cells; each two neighbouring parts with
    v > 1 are a window, tested by its mid-p. Cauchy's mean within a level, then over levels, times 1.2: windows overlap
    and levels repeat each other, so that the mean alone calls 6 to 8 % of right models off at 5 %.
rows
    The same scan with rows instead of v, for windows of at least max(20, N^(2/3) / 8) rows: it sees errors where
    predictions are near 0 or 1.
spread
    At each level of the first scan, the sum of (k - E X)^2 / v over the parts with v >= 4 against the gamma
    distribution with the same mean, variance and skewness, then Cauchy's mean over levels: it sees many small errors
    of which none stands out.
odds
    Only where labels may be flipped. Those of small predictions are mostly flips then, and tell little: labels are
    weighted by (dp' / d log-odds) / (p' (1 - p')), p' the probability that a row is labelled positive, which uses all
    that they tell of one factor on all odds. Their sum is held against the gamma distribution with the same mean,
    variance and skewness, where that information is 5 or more.

The parts' p-values, at most 0.99, are combined by Cauchy's rule; "spread" counts by half, since the errors that it
alone sees make it very small. The parts depend on each other, which makes the rule a little liberal at 0.05
(docs/inference.md has the measured size) and exact as p falls. Where V < 5 the three parts that rest on limits (cox,
cumulative, spread) are left out: few outcomes are possible, and the rest stays below its level. A positive at a
prediction of 0 or a negative at 1 is impossible: p = 0.

With a tolerance the question is whether the predictions are off by more than it. Two parts answer it, with every p
raised where positives are many and lowered where they are few: "total", and "windows", the smallest of Local TCE's
window p-values by Holm. The p-value is twice the smaller one.

Rows in clusters that go together (`metrics/_design.py`): each window's p-value allows for its own design effect, and so
does "cox", by the covariance that the clusters give to the two sums. Scans leave out the windows of so few clusters
that their tails have fewer than 30 degrees of freedom: they hardly ever speak, and Cauchy's mean would count their
silence. "cumulative", "spread" and "odds" are left out: they take rows as independent.

References
----------
Cox. Two further applications of a model for binary regression. Biometrika 45, 1958.
Arrieta-Ibarra, Gujral, Tannen, Tygert, Xu. Metrics of calibration for probabilistic predictions. JMLR 23, 2022.
Liu, Xie. Cauchy combination test. JASA 115, 2020.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Literal

import numpy as np

from truecal import _kernel
from truecal._text import about, plural
from truecal.inference._finding import Tilt, describe_evidence, describe_finding, format_p_value, name_direction
from truecal.inference._power import Shifted
from truecal.metrics import (
    LTCE,
    Absolute,
    Coins,
    Design,
    Direction,
    LocalError,
    OddsFactor,
    ScoreRange,
    Tolerance,
    as_tolerance,
    centre_odds,
    check_significance,
    count_positives,
    divide_scores,
    find_local_errors,
    normal_quantile,
)
from truecal.observations import AS_THEY_ARE, CellGroups, CellSums, Floats, Ints, Labelling, Outcome, Part

Word = Literal["off", "consistent", "cannot tell"]
PartName = Literal["total", "cox"]
FACTOR = 1.5  # on all odds: what "consistent" rules out
ASYMPTOTIC = 5.0  # the least V at which limits are trusted
HIGHEST = 0.99  # a part's p-value, at most
OVERLAP = 1.2  # on the p-value of a scan, whose windows share rows
WEIGHTS = {"spread": 0.5}  # the others' are 1
FREEDOM = 30.0  # the fewest degrees of freedom of a window of a scan, where rows are in clusters
FEW_CLUSTERS = 10  # below which nobody can say how far clusters differ
FEW_ROWS = 20  # below which a right model has less than one prediction refuted at the usual level
TOO_FEW = "too few"
SMALLEST = 4.0  # the least v of a part whose square is summed
OUTCOMES: dict[Outcome, str] = {"positive": "positives", "correct": "correct predictions"}
SIGNS: dict[Word, str] = {"off": "\N{MULTIPLICATION X}", "consistent": "\N{CHECK MARK}", "cannot tell": "?"}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the data say of a model.

    Parameters
    ----------
    word : "off", "consistent" or "cannot tell"
        Off: the p-value is at most the significance. Consistent: it is not, and a factor of 1.5 on all odds, beyond
        the tolerance if there is one, would have been found with a probability of 80 %. Cannot tell: neither.
    p_value : float
        Of "the predictions are right".
    significance : float
        The level at which the word was chosen.
    parts : dict
        Each test's own p-value, by name.
    n, observed, expected : int, int or float, float
        Rows, positives, and the positives that the predictions add up to; these two are of the population where rows
        were sampled by label, and of true labels where some are flipped.
    impossible : int
        Positives at a prediction of 0 and negatives at 1.
    factor : OddsFactor
        The factor on all odds that the positives speak for, and observed over expected, with intervals of
        confidence 1 - significance.
    detectable : float
        The factor on all odds, up or down, that would have been found with a probability of 80 %; infinite where
        none would. With a tolerance it is beyond that: on the odds of predictions raised or lowered by it.
    detectable_above, detectable_below : float
        The same for an error that is confined to a fifth of the evidence: odds multiplied, and odds divided by it.
    local : LocalError
        Local TCE: where, and how many predictions.
    tolerance : Tolerance, optional
        How far predictions may be off and still count as right.
    outcome : "positive" or "correct"
        What is counted: positives, or rows whose most probable class is the right one. Predictions are then the
        confidences in that class.
    labelling : Labelling
        How rows got their labels and their place in the data.
    clusters : int, optional
        The customers, patients or documents that rows belong to; None where rows are taken as independent.
    design_effect : float
        The variance of the number of positives over that of independent rows: so many rows tell as much as one that
        is independent.
    cluster : str, optional
        The column that tells clusters apart, if it has a name.
    divided : tuple of ScoreRange
        All predictions in a few ranges of scores, with a direction where they are shown to be off; empty where nobody
        asked for them.
    whole : bool
        Whether all predictions were judged, not the highest alone.
    tilt : "too extreme" or "too timid", optional
        Too extreme: of the predictions above the middle fewer came true than predicted, and of those below it more,
        and Cox's test and the slope alone show it at the significance. Too timid: the other way round.

    Examples
    --------
    >>> import numpy as np
    >>> from truecal.observations import CellSums
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(0.5, 5, size=20_000)
    >>> y = rng.random(20_000) < p
    >>> judge(CellSums.from_arrays(y, p)).word
    'consistent'
    >>> judge(CellSums.from_arrays(y, np.where(p > 0.05, p / 2, p))).word
    'off'
    >>> judge(CellSums.from_arrays(np.zeros(300), np.full(300, 0.001))).word
    'cannot tell'
    """

    word: Word
    p_value: float
    significance: float
    parts: dict[str, float]
    n: int
    observed: int | float
    expected: float
    impossible: int
    factor: OddsFactor
    detectable: float
    detectable_above: float
    detectable_below: float
    local: LocalError
    tolerance: Tolerance | None = None
    outcome: Outcome = "positive"
    labelling: Labelling = AS_THEY_ARE
    clusters: int | None = None
    design_effect: float = 1.0
    cluster: str | None = None
    divided: tuple[ScoreRange, ...] = ()
    whole: bool = True
    tilt: Tilt | None = None

    @property
    def ratio(self) -> float:
        """Observed over expected; NaN where neither is above 0."""
        if self.expected > 0:
            return self.observed / self.expected
        return math.inf if self.observed else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """The interval of the ratio, under a common factor on all odds; exact for independent rows."""
        return self.factor.ratio_low, self.factor.ratio_high

    @property
    def certain(self) -> bool:
        """Whether every prediction is exactly 0 or 1: such have no odds."""
        return math.isnan(self.factor.value)

    @property
    def direction(self) -> Direction | None:
        """Whether all predictions together are "too low" or "too high"; None where the interval does not show it."""
        certain = self.expected == 0 and self.observed > 0
        return "too low" if certain else name_direction(*self.interval)

    @property
    def way(self) -> Direction | Tilt | None:
        """Which way predictions are off: the direction, or the tilt where all together show none."""
        return self.direction or self.tilt

    @property
    def ranges(self) -> tuple[ScoreRange, ...]:
        """Ranges of scores that are refuted the same way, whatever the number of windows, in increasing order."""
        return tuple(found for found in self.local.ranges if found.proven)

    @property
    def refuted(self) -> str:
        """The share of predictions that Local TCE refutes, in words: of few rows, less than one is none that can be
        told."""
        few = self.n < FEW_ROWS and self.local.value * self.n < 100
        return TOO_FEW if few else LTCE.format(self.local.value)

    @property
    def sign(self) -> str:
        """The word as a sign."""
        return SIGNS[self.word]

    @property
    def headline(self) -> str:
        """The word with its p-value: "off (p < 0.0001)"."""
        return f"{self.word} (p {format_p_value(self.p_value)})"

    def sentences(self) -> tuple[str, ...]:
        """The verdict in words: the headline first, then what supports it, then what the numbers are of."""
        beyond = "" if self.tolerance is None else " beyond the tolerance"
        heads: dict[Word, str] = {
            "off": f"The model is off (p {format_p_value(self.p_value)}).",
            "consistent": f"No sign of error{beyond}.",
            "cannot tell": "Cannot tell.",
        }
        where = (f"{describe_finding(self)}.",) if self.word == "off" else ()
        return (heads[self.word], *where, *describe_evidence(self))

    @property
    def all_odds(self) -> str:
        """What the factor that would have been found is on, in words."""
        return name_odds(self.tolerance)

    @property
    def reach(self) -> str:
        """What would have been found, in words."""
        if self.word == "cannot tell":
            found = _missing(self)
        else:
            up, down = (
                "inf" if math.isinf(factor) else format_factor(factor)
                for factor in (self.detectable_above, self.detectable_below)
            )
            found = (
                f"A factor of {FACTOR:g} on {self.all_odds} would have been found; one confined to a fifth of the "
                f"evidence only if above x {up} or below / {down}."
            )
        total = self.parts.get("total", 1.0)
        if total <= self.significance < self.p_value and self.direction is not None:
            alone = f"The total alone speaks against the model (p {format_p_value(total)})"
            found = f"{found} {alone}, all tests together do not."
        return found

    @property
    def blind(self) -> str:
        """Which error would not have been found by any factor on all odds, where `detectable` is infinite: the one that
        has fewer outcomes to take away."""
        noun = "predictions" if self.outcome == "positive" else "confidences"
        which = f"{noun} that are too low, or those that are too high,"
        if self.labelling.plain:
            which = f"{noun} that are {'too high' if self.expected <= self.n / 2 else 'too low'}"
        return f"{which} would not have been found, whatever the factor on {self.all_odds}"

    @property
    def remarks(self) -> tuple[str, ...]:
        """What the numbers are of, in words, where that is not independent rows themselves."""
        notes = [*self.labelling.notes, *([self.excess_tolerance] if self.excess_tolerance else [])]
        found = tuple(f"{note[0].upper()}{note[1:]}." for note in notes)
        return found if self.clusters is None else (*found, _describe_sharing(self))

    @property
    def excess_tolerance(self) -> str:
        """That an absolute tolerance is larger than the mean prediction, or than what it lacks of 1, in words; else
        nothing."""
        mean = min(self.expected, self.n - self.expected) / self.n
        if not isinstance(self.tolerance, Absolute) or self.tolerance.value <= mean:
            return ""
        what = "what the mean prediction lacks of 1" if self.expected > self.n / 2 else "the mean prediction"
        return (
            f"the tolerance of {self.tolerance.value:g} is larger than {what}, {mean:.3g}: a share of each prediction, "
            "such as 10%, may be meant"
        )

    def count(self, found: Verdict | ScoreRange) -> str:
        """What came against what was predicted, in words; of all rows or of a range of scores."""
        observed, expected, many = about(found.observed), about(found.expected), "s" * (found.observed != 1)
        if self.outcome == "positive":
            due = "should have come by now" if self.labelling.late else "were predicted"
            return f"{observed} positive{many} came where {expected} {due}"
        verb = "were" if many else "was"
        return f"{observed} prediction{many} {verb} correct where {expected} were expected to be"

    def reasons(self) -> tuple[str, ...]:
        """The sentences that stand beside the word without saying it again."""
        return self.sentences()[0 if self.word == "consistent" else 1 :]

    def __str__(self) -> str:
        return " ".join(self.sentences())


def name_odds(tolerance: Tolerance | None) -> str:
    """What a factor that would have been found is on, in words."""
    return "all odds" if tolerance is None else "all odds beyond the tolerance"


def judge(cells: CellSums, significance: float = 0.05, tolerance: Tolerance | float | None = None) -> Verdict:
    """The verdict on observations in cells; see `Verdict`.

    Examples
    --------
    >>> from truecal import Tally
    >>> from truecal.inference import judge
    >>> from truecal.observations import CellSums
    >>> judge(CellSums.of(Tally.from_arrays([0, 1] * 100, [0.2] * 100 + [0.3] * 100))).word
    'off'
    """
    (verdict,) = judge_all([cells], significance, tolerance)
    return divide(verdict, cells)


def divide(verdict: Verdict, cells: CellSums) -> Verdict:
    """A verdict with all predictions in ranges of scores: they have a direction only where it is off."""
    ranges = divide_scores(cells, verdict.significance, verdict.tolerance)
    if verdict.word != "off":
        ranges = tuple(replace(found, direction=None, proven=False) if found.proven else found for found in ranges)
    return replace(verdict, divided=ranges)


def judge_all(
    groups: Sequence[CellSums | Part],
    significance: float = 0.05,
    tolerance: Tolerance | float | None = None,
    *,
    level: float | None = None,
    part: PartName | None = None,
) -> list[Verdict]:
    """The verdict on each of several groups of rows, in one pass: that of a group does not depend on the others.

    The words, the intervals and what would have been found are at `level`, which is lower than the significance where
    groups are many; Local TCE refutes windows at the significance. With a `part` the p-value is that part's alone.
    """
    check_significance(significance)
    tolerance = as_tolerance(tolerance)
    if not all(map(len, groups)):
        raise ValueError("A verdict needs at least one row; there is none.")
    batches = CellGroups.batches(groups)
    levels = significance, significance if level is None else level
    return [verdict for batch in batches for verdict in _judge_batch(batch, *levels, tolerance, part)]


def _judge_batch(
    groups: CellGroups, significance: float, level: float, tolerance: Tolerance | None, part: PartName | None
) -> Iterator[Verdict]:
    cells, coins = groups.cells, Coins.in_groups(groups)
    impossible = _count_impossible(groups)
    local = find_local_errors(groups, significance, tolerance)
    if tolerance is None:
        parts = _test(groups, coins)
        p_value = np.where(impossible > 0, 0.0, _combine_parts(parts) if part is None else _choose_part(parts, part))
    else:
        windows = np.array([found.p_value for found in local])
        parts = {"total": _test_totals(groups, coins, tolerance), "windows": windows}
        p_value = np.minimum(1.0, 2 * np.minimum(parts["total"], windows)) if part is None else parts["total"]
    shifted = Shifted.of(groups, 2 * level if part == "total" else level)  # alone it has twice the level it has there
    if tolerance is None:
        fifths = (shifted.detectable((sign,), fifth=True) for sign in (1, -1))
        reach = shifted.detectable((1, -1)), *fifths
    else:
        reach = shifted.detectable_beyond(tolerance)
    columns = [column.tolist() for column in (p_value, groups.add(cells.n), impossible, *reach)]
    counts = count_positives(groups, *groups.bounds, level)
    named, shared = _name_parts(parts, len(groups)), _describe_clusters(groups, coins.design)
    tilts: list[Tilt | None] = [None] * len(groups)
    if "cox" in parts and part != "total":
        tilts = _find_tilts(groups, coins.design, parts["cox"], level)
    for p, n, wrongs, found, above, below, count, own, errors, (clusters, effect), tilt in zip(
        *columns, counts, named, local, shared, tilts, strict=True
    ):
        word: Word = "off" if p <= level else "consistent" if found <= FACTOR else "cannot tell"
        yield Verdict(
            word=word,
            p_value=p,
            significance=level,
            parts=own,
            n=n,
            observed=count.observed,
            expected=count.expected,
            impossible=wrongs,
            factor=count.factor,
            detectable=found,
            detectable_above=above,
            detectable_below=below,
            local=errors,
            tolerance=tolerance,
            labelling=cells.labelling,
            clusters=clusters,
            design_effect=effect,
            tilt=tilt,
        )


def _count_impossible(groups: CellGroups) -> Ints:
    """Positives at a prediction of 0 and negatives at 1, of each group."""
    cells, at = groups.cells, groups.cells.certain
    wrong = np.where(cells.upper[at], cells.n[at] - cells.pos[at], cells.pos[at])
    return np.bincount(groups.owners(at), wrong, len(groups)).astype(np.int64)


def _find_tilts(groups: CellGroups, design: Design | None, cox: Floats, level: float) -> list[Tilt | None]:
    """Which way the slope of each group is shown to be off, by Cox's test and by itself, where the predictions on both
    sides of the middle lean that way."""
    found, clear = np.zeros(len(groups)), cox <= level
    if clear.any():
        chosen = groups.choose(clear) if design is None else groups
        surplus, v, x = centre_odds(chosen)
        variance = chosen.add(v * x**2) if design is None else design.covariance(x)[2]
        z = chosen.add(surplus * x) / np.sqrt(np.maximum(variance, 1e-300))
        below, above = (chosen.add(np.where(side, surplus, 0.0)) for side in (x < 0, x > 0))
        shown = (np.abs(z) >= normal_quantile(level / 2)) & (below * z < 0) & (above * z > 0)
        found[clear] = (np.sign(z) * shown)[slice(None) if design is None else clear]
    words: dict[float, Tilt | None] = {-1.0: "too extreme", 0.0: None, 1.0: "too timid"}
    return [words[each] for each in found.tolist()]


def _choose_part(parts: Mapping[str, Floats], part: PartName) -> Floats:
    """The p-value of one part of each group; that of the total where the part is left out."""
    own = parts.get(part, parts["total"])
    return np.where(np.isnan(own), parts["total"], own)


def _describe_clusters(groups: CellGroups, design: Design | None) -> Iterator[tuple[int | None, float]]:
    """The number of clusters of each group, and its design effect."""
    clusters = groups.cells.clusters
    if clusters is None:
        return repeat((None, 1.0), len(groups))
    counts = np.bincount(clusters.owners(groups.starts), minlength=len(groups)).tolist()
    effects = np.ones(len(groups)) if design is None else design.effect
    return zip(counts, effects.tolist(), strict=True)


def _test_totals(groups: CellGroups, coins: Coins, tolerance: Tolerance) -> Floats:
    """Whether positives are more than with every p raised, or fewer than with every p lowered; two-sided."""
    _, at_raised, above = coins.moved(tolerance, up=True).tails(*groups.bounds)
    below, at_lowered, _ = coins.moved(tolerance, up=False).tails(*groups.bounds)
    return np.asarray(np.minimum(1.0, 2 * np.minimum(at_raised + above, below + at_lowered)))


def find_parts(cells: CellSums) -> dict[str, float]:
    """The p-value of each part of the verdict, by name."""
    groups = CellGroups.of([cells])
    return _name_parts(_test(groups, Coins.in_groups(groups)), 1)[0]


def _name_parts(parts: Mapping[str, Floats], count: int) -> list[dict[str, float]]:
    """The p-values of each group by name, without those left out."""
    columns = {name: column.tolist() for name, column in parts.items()}
    return [{name: column[i] for name, column in columns.items() if not math.isnan(column[i])} for i in range(count)]


def combine_parts(parts: Mapping[str, float]) -> float:
    """The verdict's p-value, of those of its parts."""
    return float(_combine_parts({name: np.array([p]) for name, p in parts.items()})[0])


def _combine_parts(parts: Mapping[str, Floats]) -> Floats:
    """The verdict's p-value of each group; parts that are NaN are left out."""
    p = np.stack(list(parts.values()))
    weights = np.array([WEIGHTS.get(name, 1.0) for name in parts])[:, None] * ~np.isnan(p)
    return _from_cauchy((weights * _as_cauchy(np.where(np.isnan(p), 0.5, p), HIGHEST)).sum(0) / weights.sum(0))


def combine(p: Floats, highest: float) -> float:
    """Cauchy's combination: the p-value of the mean of tan((1/2 - p) pi), each p at most the highest.

    Examples
    --------
    >>> round(combine(np.array([0.01, 0.5, 0.5, 0.5]), 0.99), 4)
    0.0398
    """
    return float(_from_cauchy(_as_cauchy(p, highest).mean()))


def _as_cauchy(p: Floats, highest: Floats | float) -> Floats:
    """p-values as Cauchy variables, each at most the highest."""
    return np.asarray(1 / np.tan(np.pi * np.clip(p, 1e-300, highest)))


def _from_cauchy(mean: Floats | float) -> Floats:
    return np.asarray(np.arctan2(1.0, mean) / np.pi)


def _test(groups: CellGroups, coins: Coins) -> dict[str, Floats]:
    """The parts' p-values of each group, by name; NaN where a part is left out."""
    cells = groups.cells
    design, information = coins.design, groups.add(cells.v)
    # a window of few clusters is far from normal: it must tell as much as the smallest one of independent rows
    effect = np.ones(len(groups)) if design is None else np.maximum(design.effect, 1.0)
    least = np.maximum(20.0, groups.add(cells.n) ** (2 / 3) / 8) * effect
    total = coins.mid_p(*groups.bounds)
    parts = {
        "total": total,
        "information": _scan(groups, coins, total, cells.v, effect),
        "rows": _scan(groups, coins, total, cells.n.astype(np.float64), np.nextafter(least, 0.0)),
    }
    alone = np.ones(len(groups), dtype=np.bool_) if design is None else ~design.paired
    large = alone & (information >= ASYMPTOTIC)
    limits = {"cox": _test_cox, "cumulative": _test_cumulative, "spread": _test_spread}
    if cells.labelling.flips:
        limits["odds"] = _test_odds
    if large.any():
        chosen = groups.choose(large)
        for name, test in limits.items():
            parts[name] = np.full(len(groups), np.nan)
            parts[name][large] = test(chosen)
    if design is not None:
        told = design.paired & (information >= ASYMPTOTIC * design.effect)
        parts["cox"] = np.where(told, _test_cox_of_clusters(groups, design), parts.get("cox", np.nan))
    return parts


def _scan(groups: CellGroups, coins: Coins, total: Floats, weight: Floats, smallest: Floats) -> Floats:
    """Two neighbouring parts of each level as a window: those that weigh more than the smallest, and the whole, whose
    p-values are known."""
    begin, end, first, group = _kernel.cut_levels(weight, groups.starts, smallest, True)
    if coins.design is not None:
        begin, end, first, group = _keep_free(coins.design, begin, end, first, group)
    sizes = np.diff(np.append(first, len(begin)))
    wholes = first[np.searchsorted(group, np.arange(len(groups)))]  # the first level of each group
    rest = np.ones(len(begin), dtype=np.bool_)
    rest[wholes] = False
    p = np.empty(len(begin))
    p[wholes], p[rest] = total, coins.mid_p(begin[rest], end[rest])
    # no window may weigh more against the rest than a part at the highest p-value does
    highest = np.repeat(1 - (1 - HIGHEST) / sizes, sizes)
    means = np.add.reduceat(_as_cauchy(p, highest), first) / sizes
    found = _from_cauchy(np.bincount(group, means, len(groups)) / np.bincount(group, minlength=len(groups)))
    several = np.bincount(group, sizes, len(groups)) > 1
    return np.minimum(np.where(several, OVERLAP, 1.0) * found, 1.0)


def _keep_free(design: Design, begin: Ints, end: Ints, first: Ints, group: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Windows, and the first one and the group of each level, without those of few degrees of freedom; wholes stay."""
    level = np.repeat(np.arange(len(first)), np.diff(first, append=len(begin)))
    kept = design.known_spread(begin, end).freedom >= FREEDOM
    kept[first[np.flatnonzero(np.diff(group, prepend=-1))]] = True
    level = level[kept]
    first = np.flatnonzero(np.diff(level, prepend=-1))
    return begin[kept], end[kept], first, group[level[first]]


def _test_cox(groups: CellGroups) -> Floats:
    """Likelihood ratio of the best intercept and slope to 0 and 1; coarse cells are near enough."""
    coarse = groups.coarse
    cells = coarse.cells
    open_ = cells.s1 > 0
    q = np.where(open_, cells.q, 0.5)
    x = (np.log(q) - np.log1p(-q)) * np.where(cells.upper, -1, 1)
    n, k = np.where(open_, cells.n, 0), np.where(open_, cells.pos, 0)
    v = n * q * (1 - q)
    spread = coarse.add(v * x**2) - coarse.add(v * x) ** 2 / coarse.add(v)
    slope = spread > 1e-9 * coarse.add(v)  # else all scores are one
    gain = _kernel.recalibration_gains(x, n, k, coarse.starts, slope)
    found = np.exp(-gain)
    found[~slope] = [math.erfc(math.sqrt(each)) for each in gain[~slope].tolist()]
    return np.asarray(found)


def _test_cox_of_clusters(groups: CellGroups, design: Design) -> Floats:
    """Score test of intercept 0 and slope 1: U' S^-1 U with U the sums of (y - p) and (y - p) x, x the log-odds, and S
    the covariance that clusters give them, against Hotelling's distribution with the design's degrees of freedom."""
    surplus, v, x = centre_odds(groups)
    s00, s01, s11 = design.covariance(x)
    u0, u1 = groups.add(surplus), groups.add(surplus * x)
    one = ~(groups.add(v * x**2) > 1e-9 * groups.add(v))  # all scores are one
    determinant = np.where(one, 1.0, np.maximum(s00 * s11 - s01**2, 1e-12 * s00 * s11))
    statistic = (s11 * u0**2 - 2 * s01 * u0 * u1 + s00 * u1**2) / determinant
    freedom = design.whole.freedom
    with np.errstate(invalid="ignore"):
        found = np.exp(-np.log1p(statistic / freedom) * freedom / 2)  # the tail of F with 2 degrees of freedom above
    level = np.sqrt(u0**2 / np.maximum(groups.add(v), 1e-300))
    tails = np.array([math.erfc(z / math.sqrt(2)) / 2 for z in level.tolist()])
    return np.where(one, 2 * design.whole.apply(tails), found)


def _test_cumulative(groups: CellGroups) -> Floats:
    """The range of cumulative differences against that of Brownian motion (Feller 1951)."""
    ranges = _kernel.walk_ranges(groups.cells.surplus, groups.starts)
    return _kernel.range_tails(ranges / np.sqrt(groups.add(groups.cells.v)))


def _test_spread(groups: CellGroups) -> Floats:
    """Sums of squares over the parts of each level, Cauchy's mean over levels."""
    cells, count = groups.cells, len(groups)
    p, group = _kernel.square_tails(cells.n, cells.q, cells.v, cells.surplus, cells.upper, groups.starts, SMALLEST)
    levels = np.bincount(group, minlength=count)
    means = np.bincount(group, _as_cauchy(p, HIGHEST), count) / np.maximum(levels, 1)
    return np.where(levels > 0, _from_cauchy(means), 1.0)


def _test_odds(groups: CellGroups) -> Floats:
    """Labels weighted by what they tell of one factor on all odds, where some are flipped; NaN where that is little."""
    cells, how = groups.cells, groups.cells.labelling
    p, v = how.predicted(cells.p), np.maximum(cells.q * (1 - cells.q), 1e-300)
    moved = how.slope(p) * p * (1 - p)  # by a factor on the odds, for its logarithm
    information = groups.add(cells.n * moved**2 / v)
    third = groups.add(cells.n * (moved / v) ** 3 * v * (1 - 2 * cells.q) * np.where(cells.upper, -1, 1))
    told = information >= ASYMPTOTIC
    root = np.sqrt(np.where(told, information, 1.0))
    return np.where(told, _skewed_p_values(groups.add(cells.surplus * moved / v) / root, third / root**3), np.nan)


def _skewed_p_values(z: Floats, skewness: Floats) -> Floats:
    """The two-sided p-values of standardised sums, by the gamma distribution of their skewness."""
    even = np.abs(skewness) < 0.02
    shape = 4 / np.where(even, 1.0, skewness) ** 2
    tail = _kernel.gamma_tails(shape, shape + np.sqrt(shape) * np.copysign(1.0, skewness) * z)
    normal = np.array([math.erfc(abs(each) / math.sqrt(2)) for each in z.tolist()])
    return np.where(even, normal, 2 * np.maximum(np.minimum(tail, 1 - tail), 1e-16))


def _describe_sharing(verdict: Verdict) -> str:
    """How far rows of one cluster go together, in words."""
    count, effect = verdict.clusters or 0, verdict.design_effect
    whose = plural(count, "cluster") if verdict.cluster is None else f"{count:,} of `{verdict.cluster}`"
    like = f"{about(verdict.n / effect)} independent ones" if effect >= 1.005 else "independent ones"
    rows = plural(verdict.n, "row")
    few = " So few clusters can hardly carry a verdict." if count < FEW_CLUSTERS else ""
    return f"The {rows} belong to {whose}: they tell as much as {like}, a design effect of {effect:.2f}.{few}"


def _missing(verdict: Verdict) -> str:
    if verdict.certain:
        return "Every prediction is exactly 0 or 1, and no label contradicts one; no factor on the odds changes these."
    if math.isinf(verdict.detectable):
        return f"{verdict.blind[0].upper()}{verdict.blind[1:]}."
    return (
        f"A factor of {FACTOR:g} on {verdict.all_odds}, up or down, would have been missed too often; one of "
        f"{format_factor(verdict.detectable)} would have been found."
    )


def format_factor(factor: float) -> str:
    """A factor that would have been found, rounded up, so that one above 1.5 never reads as 1.5.

    Examples
    --------
    >>> format_factor(1.5), format_factor(1.5003), format_factor(36.2)
    ('1.5', '1.51', '37')
    """
    digits = 2 if factor < 10 else 0
    scale = 10**digits
    return f"{math.ceil(round(factor * scale, 9)) / scale:,.15g}"
