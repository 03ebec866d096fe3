"""Calibration maps, from predictions to recalibrated ones, fitted to a tally.

With x = log p and z = -log(1 - p), all but the steps of isotonic regression are one family on the odds,

    log-odds of q = c + a x + b z.

none
    c = 0, a = b = 1.
offset
    a = b = 1: all odds are multiplied by one factor. What a change of prevalence needs.
logistic
    a = b: Cox's intercept and slope on the log-odds. Overconfidence and underconfidence.
beta
    all three, a and b not negative (Kull, Silva Filho and Flach, 2017).
isotonic
    the blocks of isotonic regression, joined until each has at least five positives and five negatives, so that few
    rows never make predictions of 0 or 1.

Predictions of 0 and 1 have no odds. They stay unchanged, and do not affect the fit.

A map of kind "auto" may be an average with a simpler one. Two smooth kinds are averaged on the log-odds, hence in c, a
and b, which is again such a map. Steps are averaged with a smooth map as probabilities.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from truecal import _kernel
from truecal._options import KINDS, MapKind
from truecal.data import Cells, Floats, Ints, Sampling, Sorted, Tally, merge
from truecal.metrics import Isotonic, Spread, fit_logistic

FEWEST = 5  # steps that "auto" chooses at least: fewer would remove most of the ranking
ENOUGH_LABELS = 5  # positives and negatives of a step, and per parameter of a smooth map with several
SMOOTH: tuple[MapKind, ...] = KINDS[:-1]  # each fits one parameter more than the one before
# log-likelihood that a map must gain beyond 1 per parameter: over no map, and over a simpler map
FIRST, MORE = 0.5, 2.0
FULL_SHARE = 0.995  # a share above it is taken as 1: the difference is below the noise of any fit
CLEAR = 5.0  # log-likelihood that steps must gain on held-out rows over a smooth map
MANY_SCORES = 100_000  # distinct scores from which on a map is fitted to their cells first, for speed
ROWS_IN_MEMORY = 1 << 20  # rows in memory at a time
NEWTON_STEPS = 20  # of Newton's method, which needs about 5
LAST_STEP = 1e-7  # the last step of Newton's method: the next would be of the order of its square, below 1e-13
LOSS_RANGE = 1e-15, 1 - 1e-15  # predictions are clipped to it for the log loss, which is infinite at 0 and 1
NO_STEPS: Floats = np.zeros(0)
Name = TypeVar("Name")


@dataclass(frozen=True, slots=True, eq=False)
class Map:
    """A calibration map: c, a and b as above (`intercept`, `low`, `high`), or steps: a value from each edge on.

    `share` is the share of the fitted map; the rest is a simpler map. If it is less than 1, c, a and b are averages,
    and steps have them, too.

    Examples
    --------
    >>> import truecal
    >>> recalibration = truecal.recalibrate([0, 1] * 200, [0.2] * 200 + [0.3] * 200, kind="offset")
    >>> recalibration.map.kind, recalibration.apply([0.2, 0.3]).round(2).tolist()
    ('offset', [0.43, 0.57])
    """

    kind: MapKind
    intercept: float = 0.0
    low: float = 1.0
    high: float = 1.0
    edges: Floats = field(default_factory=lambda: NO_STEPS)
    values: Floats = field(default_factory=lambda: NO_STEPS)
    share: float = 1.0

    def apply(self, p: Floats, offset: Floats | float = 0.0) -> Floats:
        """Return the recalibrated predictions; an `offset` is added to their log-odds."""
        if self.kind != "isotonic":
            return _map_odds(p, self.intercept, self.low, self.high, offset)
        q = self.values[np.searchsorted(self.edges, p, side="right") - 1]
        if self.share < 1:
            q = self.share * q + (1 - self.share) * _map_odds(p, self.intercept, self.low, self.high)
        return _map_odds(q, offset=offset)


def _map_odds(p: Floats, c: float = 0.0, a: float = 1.0, b: float = 1.0, offset: Floats | float = 0.0) -> Floats:
    """Return the probabilities whose log-odds are c + a x + b z plus an offset."""
    if (c, a, b) == (0.0, 1.0, 1.0) and np.all(np.asarray(offset) == 0):
        return np.asarray(p, dtype=np.float64)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        if (a, b) == (1.0, 1.0):  # by the odds: no digits of tiny predictions are lost to a logarithm
            factor = np.exp(-(c + offset))
            q = p / (p + (1 - p) * factor)
        else:
            q = 1 / (1 + np.exp(-(c + offset + a * np.log(p) - b * np.log1p(-p))))
    return np.where(p <= 0, 0.0, np.where(p >= 1, 1.0, q))


def fit_map(data: Sorted, kind: MapKind) -> Map:
    """Fit a map of a kind to rows, whose scores are predictions mapped by `Sampling.to_sampled`."""
    if kind == "none":
        return Map(kind)
    if kind == "isotonic":
        return _fit_steps(data)
    if len(data) <= MANY_SCORES or not data.sampling.plain:
        return _fit_odds(data.tally, kind)
    cells = Cells.of(data)
    rough = _fit_odds(merge(cells.p, cells.n, cells.pos), kind)
    return _polish(rough, data, cells)


def _fit_odds(tally: Tally, kind: MapKind) -> Map:
    """Fit c, a and b."""
    p = tally.sampling.to_population(tally.score)
    open_ = (p > 0) & (p < 1)
    p, n, pos = p[open_], tally.n[open_], tally.pos[open_]
    if not 0 < pos.sum() < n.sum():
        return Map(kind)  # labels that are all the same have no finite maximum of the likelihood
    x, z = np.log(p), -np.log1p(-p)
    if kind == "offset":
        columns, start, free = np.stack([np.ones(len(p)), x + z], 1), np.array([0.0, 1.0]), (True, False)
        c, a = _fit_parameters(columns, n, pos, start, tally.sampling, free)
        return Map(kind, c, 1.0, 1.0)
    if kind == "logistic":
        columns, start = np.stack([np.ones(len(p)), x + z], 1), np.array([0.0, 1.0])
        c, a = _fit_parameters(columns, n, pos, start, tally.sampling, (True, len(p) > 1))
        if a < 0:  # a map must not reverse the ranking
            c, a = _fit_parameters(columns, n, pos, np.array([0.0, 0.0]), tally.sampling, (True, False))
        return Map(kind, c, a, a)
    columns, start = np.stack([np.ones(len(p)), x, z], 1), np.array([0.0, 1.0, 1.0])
    c, a, b = _fit_parameters(columns, n, pos, start, tally.sampling, (True, len(p) > 1, len(p) > 2))
    if a < 0 or b < 0:  # as above
        start = np.array([0.0, 0.0 if a < 0 else 1.0, 0.0 if b < 0 else 1.0])
        c, a, b = _fit_parameters(columns, n, pos, start, tally.sampling, (True, a >= 0, b >= 0))
    return Map(kind, c, a, b)


def _polish(rough: Map, data: Sorted, cells: Cells) -> Map:
    """Refine the map that was fitted to cells, for the scores themselves, by Newton's method.

    The likelihood needs two things of the rows: the sums of x and z over the positives, which no map changes, and the
    sums of smooth functions over all rows. For these the rows of a cell are taken as two halves, at its mean less and
    plus its standard deviation: with a width of 2^-11 that is wrong by less than 1e-11 of the sum.
    """
    alike = rough.kind != "beta"
    free = np.array([True, rough.kind != "offset" and rough.low > 0, not alike and rough.high > 0])
    beta = np.array([rough.intercept, rough.low, rough.high])
    inside = cells.s1 > 0
    n, mean, upper = cells.n[inside] / 2, cells.q[inside], cells.upper[inside]
    spread = np.sqrt(np.maximum(cells.s2[inside] / cells.n[inside] - mean**2, 0.0))
    n, q, upper = np.tile(n, 2), np.append(mean - spread, mean + spread), np.tile(upper, 2)
    near, far = np.log(q), np.log1p(-q)
    x, z = np.where(upper, far, near), -np.where(upper, near, far)
    count, total_x, total_z = _add_positives(data)
    if not 0 < count < n.sum():
        return rough
    totals = np.array([count, total_x + total_z, 0.0] if alike else [count, total_x, total_z])
    columns = np.stack([np.ones(len(x)), x + z, np.zeros(len(x))] if alike else [np.ones(len(x)), x, z], 1)
    for _ in range(NEWTON_STEPS):
        p = 1 / (1 + np.exp(-(beta[0] + beta[1] * x + beta[2] * z)))
        gradient = totals - columns.T @ (n * p)
        hessian = (columns * (n * p * (1 - p))[:, None]).T @ columns
        step = np.zeros(3)
        step[free] = np.linalg.lstsq(hessian[np.ix_(free, free)], gradient[free], rcond=None)[0]
        beta += step if not alike else step[[0, 1, 1]]
        if np.abs(step).max() < LAST_STEP:
            break
    c, a, b = beta.tolist()
    return Map(rough.kind, c, a, b)


def _add_positives(data: Sorted) -> tuple[float, float, float]:
    """Count the positives that have odds, and sum their x and z."""
    count = total_x = total_z = 0.0
    for begin in range(0, len(data), ROWS_IN_MEMORY):
        score, k = data.positives_between(begin, begin + ROWS_IN_MEMORY)
        open_ = (score > 0) & (score < 1)
        score, k = score[open_], k[open_]
        count += float(k.sum())
        total_x += float(k @ np.log(score))
        total_z -= float(k @ np.log1p(-score))
    return count, total_x, total_z


def _fit_parameters(
    columns: Floats, n: Ints, pos: Ints, start: Floats, sampling: Sampling, free: tuple[bool, ...]
) -> list[float]:
    parameters: list[float] = fit_logistic(columns, n, pos, start, free=free, sampling=sampling).tolist()
    return parameters


def _fit_steps(data: Sorted) -> Map:
    """Fit blocks of increasing rates, each with enough positives and negatives; one block if there are too few."""
    if not data.sampling.plain:
        raise ValueError('A map of steps, kind "isotonic", must be fitted to rows and labels as they are.')
    blocks = Isotonic().partition(data)
    starts: list[int] = []
    n: list[int] = []
    k: list[int] = []
    for start, size, count in zip(blocks.starts[:-1].tolist(), blocks.n.tolist(), blocks.k.tolist(), strict=True):
        if n and (k[-1] < ENOUGH_LABELS or n[-1] - k[-1] < ENOUGH_LABELS):
            n[-1] += size
            k[-1] += count
        else:
            starts.append(start)
            n.append(size)
            k.append(count)
    while len(n) > 1 and (k[-1] < ENOUGH_LABELS or n[-1] - k[-1] < ENOUGH_LABELS):
        size, count = n.pop(), k.pop()
        starts.pop()
        n[-1] += size
        k[-1] += count
    values = (np.array(k) + 0.5) / (np.array(n) + 1.0)
    edges = _kernel.scores_at(data.entries, np.array(starts))
    edges[0] = 0.0
    return Map("isotonic", edges=edges, values=np.maximum.accumulate(values))


def log_losses(p: Floats) -> tuple[Floats, Floats]:
    """Return the log loss of a positive and of a negative at each prediction."""
    with np.errstate(divide="ignore"):
        return -np.log(p), -np.log1p(-p)


def mean_loss(tally: Tally, p: Floats) -> float:
    """Return the mean log loss of a tally's rows at other predictions."""
    one, zero = log_losses(tally.sampling.to_sampled(p))
    total = np.sum(np.where(tally.pos > 0, tally.pos * one, 0.0)) + np.sum(
        np.where(tally.n > tally.pos, (tally.n - tally.pos) * zero, 0.0)
    )
    return float(total) / tally.n_rows


def choose_map(data: Sorted, folds: Sequence[Tally], steps: bool) -> Map:
    """Choose a map by the likelihood; `folds` are the same rows, split at random, and `steps` whether to try steps.

    Smooth kinds are tried from the simplest on: see `_choose_smooth`. Then steps, and their average with the smooth
    map, are cross-validated: the best is taken if it gains more than `CLEAR` on held-out rows. Fewer than `FEWEST`
    steps are not considered, because they would remove most of the ranking. Likelihoods of clustered rows are divided
    by the design effect.
    """
    if len(folds) < 2:
        return Map("none")
    whole = add_tallies(folds)
    effect = find_effects([whole])[0]
    one, other, share = _choose_smooth(whole, effect)
    smooth = _average(fit_map(data, one.kind), fit_map(data, other.kind), share)
    if not steps or len(fit_map(whole, "isotonic").values) < FEWEST:
        return smooth
    share = _choose_steps(folds, effect)
    if share == 0:
        return smooth
    stepped = fit_map(data, "isotonic")
    if share == 1:
        return stepped
    return replace(smooth, kind="isotonic", edges=stepped.edges, values=stepped.values, share=share)


def _choose_smooth(tally: Tally, effect: float) -> tuple[Map, Map, float]:
    """Return the chosen smooth map, the simpler one that it was compared with, and its share of their average.

    A kind replaces a simpler one if it gains more log-likelihood than a price: 1 per additional parameter, which is
    what held-out rows lose by it (Stone, 1977), and `FIRST` or `MORE`. A share of 1 - (price / gain)^2 of its change is
    kept: nothing if it is hardly worth its price, and nearly all if it clearly is. Kinds with several parameters need
    `ENOUGH_LABELS` positives and negatives for each: few rows may be separated perfectly by luck, and then no slope
    is finite.
    """
    rarer = min(tally.positives, tally.n_rows - tally.positives) / effect
    p = tally.sampling.to_population(tally.score)
    maps = [fit_map(tally, kind) for kind in SMOOTH]
    reached = [-tally.n_rows * mean_loss(tally, np.clip(one.apply(p), *LOSS_RANGE)) / effect for one in maps]
    chosen, rest, share = 0, 0, 1.0
    for numbers in range(1, len(maps)):
        gain = reached[numbers] - reached[chosen]
        price = numbers - chosen + (MORE if chosen else FIRST)
        if gain > price and (numbers == 1 or rarer >= ENOUGH_LABELS * numbers):
            chosen, rest, share = numbers, chosen, 1 - (price / gain) ** 2
    return maps[chosen], maps[rest], share if share < FULL_SHARE else 1.0


def _average(one: Map, other: Map, share: float) -> Map:
    """Average a smooth map with a simpler one."""
    if share == 1:
        return one
    c, a, b = (
        y + share * (x - y)  # a slope of 1 stays 1 to the last bit
        for x, y in ((one.intercept, other.intercept), (one.low, other.low), (one.high, other.high))
    )
    return Map(one.kind, c, a, b, share=share)


def _choose_steps(folds: Sequence[Tally], effect: float) -> float:
    """Return the share of steps in the average with a smooth map that is best for held-out rows; 0 if none is."""
    shares = (0.0, 0.5, 1.0)
    totals = np.zeros(len(shares))
    for i, held_out in enumerate(folds):
        train = add_tallies([fold for j, fold in enumerate(folds) if j != i])
        smooth = _average(*_choose_smooth(train, effect)).apply(held_out.score)
        steps = fit_map(train, "isotonic").apply(held_out.score)
        for index, share in enumerate(shares):
            mixed = np.clip(share * steps + (1 - share) * smooth, *LOSS_RANGE)
            totals[index] += held_out.n_rows * mean_loss(held_out, mixed)
    best = int(np.argmin(totals))
    return shares[best] if totals[0] - totals[best] > CLEAR * effect else 0.0


def add_tallies(tallies: Sequence[Tally]) -> Tally:
    """Return the sum of tallies."""
    return sum(tallies[1:], start=tallies[0])


def find_effects(tallies: Sequence[Tally]) -> list[float]:
    """Return the design effect of each tally; 1 if rows are independent."""
    spread = None if tallies[0].clusters is None else Spread.of_tallies(tallies)
    effects: list[float] = [1.0] * len(tallies) if spread is None else spread.effect.tolist()
    return effects


def split(tallies: Mapping[Name, Tally], count: int, rng: np.random.Generator) -> list[dict[Name, Tally]]:
    """Assign the rows of tallies to so many folds at random; empty folds are left out.

    Rows in clusters are assigned by cluster: all rows of one are in the same fold, of whichever tally.
    """
    folds: list[dict[Name, Tally]] = [{} for _ in range(count)]
    known = [tally.clusters.cluster for tally in tallies.values() if tally.clusters is not None]
    distinct = np.unique(np.concatenate(known)) if known else np.zeros(0, np.int64)
    fold_of = rng.permutation(len(distinct)) % count
    for name, tally in tallies.items():
        pos, neg = tally.pos, tally.n - tally.pos
        for i, fold in enumerate(folds):
            if tally.clusters is not None:
                part = tally.of_pairs(fold_of[np.searchsorted(distinct, tally.clusters.cluster)] == i)
            else:
                left = count - i
                drawn = [rng.binomial(side, 1 / left) if left > 1 else side for side in (pos, neg)]
                pos, neg = pos - drawn[0], neg - drawn[1]
                part = _keep_rows(tally, drawn[0] + drawn[1], drawn[0])
            if part is not None:
                fold[name] = part
    return [fold for fold in folds if fold]


def _keep_rows(tally: Tally, n: Ints, pos: Ints) -> Tally | None:
    kept = n > 0
    return Tally(tally.score[kept], n[kept], pos[kept], tally.sampling) if kept.any() else None
