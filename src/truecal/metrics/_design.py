"""The design effect: the correlation of rows within clusters, and its effect on numbers of positives.

With p a prediction, v = p (1 - p), y its label and r = y - p, two rows of one customer, patient or document have the
covariance

    E r_i r_j = a sqrt(v_i v_j) + b v_i v_j,   a, b >= 0,

a constant correlation a, and b as a random effect of the cluster on all its log-odds causes it. The positives of a
window then have the variance V D, V that of independent rows and

    D = 1 + (a sum of sqrt(v_i v_j) + b sum of v_i v_j) / V

the design effect, with sums over all ordered pairs of two rows of one cluster in the window. Each sum is (sum f)^2 -
sum f^2 over the clusters, so that one pass is enough.

Fit. The sums of r_i r_j and of sqrt(v_i v_j) r_i r_j over all pairs are matched to the observed ones (least squares
with the weights 1 / sqrt(v_i v_j)). All odds are multiplied first by the odds ratio with which expected equal observed
positives: an error common to all predictions is not taken for correlation, nor are few positives taken for a lack of
it. This one parameter removes 1 / C of the variance, C the effective number of clusters by their share of V, which is
put back. If pairs carry little information, because positives or clusters are few, a is shrunk towards 0.1: as if that
correlation had been observed in pairs with a sum of sqrt(v_i v_j) of 50, and in half a cluster.

Slopes. Rows of one cluster may be more correlated if their predictions are similar, so that the sum of x r, x the
centred log-odds, varies more than a and b imply: Cox's test needs this variance. The excess of the clusters' sums of
x r, less a common slope, is added to the variance, shrunk towards 0 if pairs carry little information.

Tests. A tail x of the number of positives of independent rows becomes P(T > z / sqrt(D)), z the normal quantile of x
and T Student's t with F degrees of freedom:

    1 / F = (1 / (C - 1) + max(D0 S^2, m + (4 m)^2)) (1 - 1 / D)^2 + 1 / (4 + 6 V / (D - 1)).

The first term is half the relative variance of the fitted D, as it is of the variance in Student's own test. A sum of
C squares has 1 / C + k / (2 C) of it, k the excess kurtosis of the clusters' sums: C counts clusters by their share of
the variance, and k / (2 C) is large if few of them have positives: about m = 1 / M - 1 / K. Of K clusters M / 2 have
positives, by their share of these, or are expected to if all rows of a cluster are equal; or negatives, if these are
fewer. If they are very few, the fitted D is too small just when positives are too few: (4 m)^2 allows for that. D0 is
the design effect of all rows and S the skewness of their number of positives if independent, so that D0 S^2 is the
square of its skewness: two-sided tails of a skewed sum over an estimated deviation are longer by about as much (Hall
1987). The second term makes tails longer if a window has few clusters, each with a rate of its own; its 6 and the 4
above were chosen by simulation (study/clusters.py). At D = 1 a tail is unchanged.

References
----------
Hall. Edgeworth expansion for Student's t statistic under minimal moment conditions. Annals of Probability 15, 1987.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from truecal import _kernel
from truecal.data import (
    Bools,
    CellGroups,
    Clusters,
    Floats,
    Ints,
    Sorted,
    Tally,
)
from truecal.metrics._odds import sigmoid

PRIOR_CORRELATION = 0.1  # towards which a is shrunk
PRIOR_PAIRS = 50.0  # its weight: pairs with this sum of sqrt(v_i v_j)
PRIOR_CLUSTERS = 0.5  # and this number of clusters
KURTOSIS = 6.0  # times V / (D - 1): degrees of freedom of a window of few clusters, chosen by study/clusters.py
LEAST_FREEDOM = 0.01  # degrees of freedom stay above 0
LEAST_TAIL = 1e-300  # a tail of 0 has no finite quantile


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """The correlation of rows within clusters, for each of several groups, which are concatenated.

    `constant` and `odds` are a and b of each group, `slopes` the excess variance of sums of x r, `freedom` the inverse
    of the first bracket of 1 / F, `effect` the design effect; `paired` says which groups have two rows of one cluster.
    """

    clusters: Clusters
    starts: Ints
    v: Floats  # p (1 - p) of a row, for each cell
    n: Ints
    constant: Floats
    odds: Floats
    slopes: Floats
    freedom: Floats
    effect: Floats
    paired: Bools
    known: dict[tuple[int, int], tuple[float, float]] = field(default_factory=dict)

    @classmethod
    def of(cls, groups: CellGroups) -> Design | None:
        """Fit the design of groups of rows; None if rows are independent, each a cluster of its own."""
        clusters = groups.cells.clusters
        if clusters is None:
            return None
        if "design" not in clusters.memo:
            pos = np.bincount(clusters.position, clusters.pos, len(groups.cells)).astype(np.int64)  # as they were read
            clusters.memo["design"] = _fit_design(replace(groups, cells=groups.cells.with_positives(pos)), clusters)
        design = clusters.memo["design"]
        assert isinstance(design, Design)
        return design if design.paired.any() else None

    def spread(self, begin: Ints, end: Ints) -> Spread:
        """Return the design effects of the positives in the cells begin..end of each window."""
        group = np.searchsorted(self.starts, begin, side="right") - 1
        roots, products = _products(self.clusters, self.v, begin, end)
        running = np.append(0.0, np.cumsum(self.n * self.v))
        information = np.maximum(running[end] - running[begin], 1e-300)
        beyond = (self.constant[group] * roots + self.odds[group] * products) / information  # D - 1
        with np.errstate(divide="ignore"):
            lost = (beyond / (1 + beyond)) ** 2 / self.freedom[group] + 1 / (4 + KURTOSIS * information / beyond)
        return Spread(1 + beyond, 1 / np.maximum(lost, 1e-300))

    def known_spread(self, begin: Ints, end: Ints) -> Spread:
        """Return the same, with results kept from call to call."""
        keys = list(zip(begin.tolist(), end.tolist(), strict=True))
        new = [i for i, key in enumerate(keys) if key not in self.known]
        if new:
            spread = self.spread(begin[new], end[new])
            pairs = zip(spread.effect.tolist(), spread.freedom.tolist(), strict=True)
            self.known.update(zip((keys[i] for i in new), pairs, strict=True))
        effect, freedom = np.array([self.known[key] for key in keys]).reshape(-1, 2).T.copy()
        return Spread(effect, freedom)

    @property
    def total(self) -> Spread:
        """The design effects of all rows of each group."""
        return self.known_spread(self.starts[:-1], self.starts[1:])

    def covariance(self, x: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the variance of each group's sum of r, its covariance with the sum of x r, and the variance of the
        latter, x the centred log-odds of cells."""
        clusters, owner = self.clusters, self.clusters.owners(self.starts)
        count, information, one = len(self.constant), self.n * self.v, np.ones(len(x))

        def cross(a: Floats, b: Floats) -> Floats:
            of_a, of_b = (clusters.add(clusters.n * column[clusters.position]) for column in (a, b))
            return np.asarray(np.bincount(owner, of_a * of_b, count)) - self._add(self.n * a * b)

        def find(a: Floats, b: Floats) -> Floats:
            root = np.sqrt(self.v)
            shared = self.constant * cross(a * root, b * root) + self.odds * cross(a * self.v, b * self.v)
            return self._add(information * a * b) + shared

        return find(one, one), find(one, x), find(x, x) + self.slopes

    def _add(self, column: Floats) -> Floats:
        return np.asarray(np.add.reduceat(column, self.starts[:-1]))


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """The design effects of numbers of positives of windows or bins, with their degrees of freedom."""

    effect: Floats
    freedom: Floats

    @classmethod
    def of(cls, data: Sorted, begin: Ints, end: Ints) -> Spread | None:
        """Compute those of the entries begin..end of each bin; None if rows are independent."""
        if data.clusters is None:
            return None
        memo = data.clusters.memo
        if "design of scores" not in memo:
            memo["design of scores"] = _design_of_entries(data.tally, data.clusters)
        design: Design | None = memo["design of scores"]
        if design is None:
            return None
        return design.spread(begin, end)

    @classmethod
    def of_tallies(cls, observations: Sequence[Tally]) -> Spread | None:
        """Compute those of all rows of each tally; None if rows are independent in all."""
        spreads = [cls.of(tally, np.array([0]), np.array([len(tally)])) for tally in observations]
        if all(spread is None for spread in spreads):
            return None
        none = cls(np.ones(1), np.full(1, np.inf))
        known = [none if spread is None else spread for spread in spreads]
        return cls(*(np.concatenate([getattr(spread, name) for spread in known]) for name in ("effect", "freedom")))

    def apply(self, tail: Floats) -> Floats:
        """Return tails of independent rows widened to those of clustered rows."""
        return _kernel.spread_tails(tail, self.effect, self.freedom)

    def tails(self, level: float) -> Floats:
        """Return the tails of independent rows that become a level, one half at most."""
        return np.maximum(_kernel.unspread_tails(level, self.effect, self.freedom), LEAST_TAIL)

    def levels(self, significance: float) -> Floats:
        """Return the significance of two-sided tests of independent rows that becomes this one."""
        return 2 * self.tails(significance / 2)

    def p_values(self, p_value: Floats) -> Floats:
        """Return two-sided p-values of independent rows as those of clustered rows."""
        return 2 * self.apply(np.minimum(p_value, 1.0) / 2)


def _design_of_entries(tally: Tally, clusters: Clusters) -> Design | None:
    """The design that was fitted on cells, for the scores themselves."""
    design = Design.of(CellGroups.of([tally]))
    if design is None:
        return None
    v = np.asarray(tally.score * (1 - tally.score))
    return replace(design, clusters=clusters, starts=np.array([0, len(tally)]), v=v, n=tally.n, known={})


def _products(clusters: Clusters, v: Floats, begin: Ints, end: Ints) -> tuple[Floats, Floats]:
    """The sums of sqrt(v_i v_j) and of v_i v_j over pairs of rows of one cluster in each window."""
    return _kernel.cluster_products(clusters.starts, clusters.position, clusters.n, np.sqrt(v), v, begin, end)


def _fit_design(groups: CellGroups, clusters: Clusters) -> Design:
    cells, count = groups.cells, len(groups)
    v = np.asarray(cells.q * (1 - cells.q))
    owner = clusters.owners(groups.starts)
    rows = clusters.add(clusters.n.astype(np.float64))
    constant, odds, slopes = _fit_covariance(groups, clusters, owner)
    pair_v = v[clusters.position]
    root, sum_v, square = (clusters.add(clusters.n * column) for column in (np.sqrt(pair_v), pair_v, pair_v**2))
    # of the positives of each cluster
    variance = sum_v + constant[owner] * (root**2 - sum_v) + odds[owner] * (sum_v**2 - square)

    def add(column: Floats) -> Floats:
        return np.asarray(np.bincount(owner, column, count))

    information = np.maximum(groups.add(cells.n * v), 1e-300)
    effect = np.maximum(add(variance) / information, 1.0)
    many = add(variance) ** 2 / np.maximum(add(variance**2), 1e-300)
    skewness = groups.add(cells.n * v * (1 - 2 * cells.q) * np.where(cells.upper, -1, 1)) ** 2 / information**3
    carriers = _count_carriers(groups, clusters, owner)
    missing = np.maximum(1 / np.maximum(carriers, 1e-9) - 1 / add(np.ones(len(owner))), 0.0)
    freedom = 1 / (1 / np.maximum(many - 1, 1e-9) + np.maximum(effect * skewness, missing + (4 * missing) ** 2))
    paired = add(np.where(rows > 1, 1.0, 0.0)) > 0
    return Design(
        clusters=clusters,
        starts=groups.starts,
        v=v,
        n=cells.n,
        constant=constant,
        odds=odds,
        slopes=slopes,
        freedom=np.maximum(freedom, LEAST_FREEDOM),
        effect=effect,
        paired=np.asarray(paired),
    )


def _count_carriers(groups: CellGroups, clusters: Clusters, owner: Ints) -> Floats:
    """The effective number of clusters of each group with positives, plus those expected to have any if all rows of a
    cluster were equal; or the same of negatives, if these are fewer."""
    cells = groups.cells
    n, pos = (clusters.add(column.astype(np.float64)) for column in (clusters.n, clusters.pos))
    expected = clusters.add(clusters.n * cells.p[clusters.position]) / n

    def count(observed: Floats, share: Floats) -> Floats:
        total, squares, alike = (np.bincount(owner, column, len(groups)) for column in (observed, observed**2, share))
        return np.asarray(total**2 / np.maximum(squares, 1e-300) + alike)

    return np.minimum(count(pos, expected), count(n - pos, 1 - expected))


def centre_odds(groups: CellGroups) -> tuple[Floats, Floats, Floats]:
    """Return the surplus, the information and the centred log-odds of each cell; all 0 if a prediction is 0 or 1.

    Log-odds are centred by the information, so that the estimates of intercept and slope are uncorrelated.
    """
    cells = groups.cells
    open_ = cells.s1 > 0
    q, v, surplus = np.where(open_, cells.q, 0.5), np.where(open_, cells.v, 0.0), np.where(open_, cells.surplus, 0.0)
    x = (np.log(q) - np.log1p(-q)) * np.where(cells.upper, -1, 1)
    x -= groups.repeat(groups.add(v * x) / np.maximum(groups.add(v), 1e-300))
    return surplus, v, np.where(open_, x, 0.0)


def _fit_covariance(groups: CellGroups, clusters: Clusters, owner: Ints) -> tuple[Floats, Floats, Floats]:
    """a and b of each group, and the excess variance of its sum of x r."""
    cells, count = groups.cells, len(groups)
    p = _recalibrate(groups)
    v: Floats = np.where(cells.s1 > 0, p * (1 - p), 0.0)
    r = np.where(cells.s1[clusters.position] > 0, clusters.pos - clusters.n * p[clusters.position], 0.0)
    root = np.sqrt(v)

    def add(column: Floats) -> Floats:
        return np.asarray(np.bincount(owner, column, count))

    def cross(f: Floats) -> Floats:
        """The sum of f_i f_j over pairs, of a column of cells."""
        return add(clusters.add(clusters.n * f[clusters.position]) ** 2) - groups.add(cells.n * f**2)

    # sums of squared residuals of single rows: 1 - p for a positive, p for a negative
    squares_of_rows = np.where(cells.s1 > 0, cells.pos * (1 - p) ** 2 + (cells.n - cells.pos) * p**2, 0.0)
    information = groups.add(cells.n * v)
    share = add(clusters.add(clusters.n * v[clusters.position]) ** 2) / np.maximum(information, 1e-300) ** 2
    kept = np.clip(1 - share, 0.0, 1.0)  # of the variance, besides the common odds ratio
    sums = [np.maximum(cross(f), 0.0) for f in (root, v, root * v)]
    observed = [
        add(clusters.add(r * weight[clusters.position]) ** 2) - kept * groups.add(squares_of_rows * weight**2)
        for weight in (np.ones_like(root), root)
    ]
    mean = information / groups.add(cells.n)
    prior = PRIOR_PAIRS * kept + PRIOR_CLUSTERS * (1 - kept) * sums[0]
    first, second = observed[0] + PRIOR_CORRELATION * prior, observed[1] + PRIOR_CORRELATION * prior * mean
    s11, s12, s22 = (kept * total + prior * mean**power for power, total in enumerate(sums))
    a, b = _solve(first, second, s11, s12, s22)

    x = centre_odds(groups)[2]
    squares = clusters.add(clusters.n * (v * x**2)[clusters.position])
    share_x = squares / np.maximum(add(squares), 1e-300)[owner]
    sum_x = clusters.add(r * x[clusters.position])
    kept_x = np.clip(1 - add(share_x**2), 1e-3, 1.0)  # besides a common slope
    observed_x = add((sum_x - share_x * add(sum_x)[owner]) ** 2) / kept_x - groups.add(squares_of_rows * x**2)
    beyond = np.maximum(observed_x - a * cross(root * x) - b * cross(v * x), 0.0)
    pairs_x = np.maximum(cross(root * np.abs(x)), 0.0)
    prior_x = PRIOR_PAIRS * add(squares) / np.maximum(information, 1e-300)
    return a, b, beyond * pairs_x / np.maximum(pairs_x + prior_x, 1e-300)


def _solve(first: Floats, second: Floats, s11: Floats, s12: Floats, s22: Floats) -> tuple[Floats, Floats]:
    """The a, b >= 0 that solve s11 a + s12 b = first and s12 a + s22 b = second, or the first of these alone."""
    determinant = s11 * s22 - s12**2
    with np.errstate(divide="ignore", invalid="ignore"):
        regular = determinant > 1e-9 * s11 * s22
        a = np.where(regular, (first * s22 - second * s12) / determinant, first / s11)
        b = np.where(regular, (second * s11 - first * s12) / determinant, 0.0)
        alone_a, alone_b = np.maximum(first / s11, 0.0), np.maximum(first / s12, 0.0)
    a, b = np.where(b < 0, alone_a, a), np.maximum(b, 0.0)
    b, a = np.where(a < 0, alone_b, b), np.maximum(a, 0.0)
    return np.nan_to_num(a, posinf=0.0), np.nan_to_num(b, posinf=0.0)


def _recalibrate(groups: CellGroups) -> Floats:
    """Each cell's p with all odds of its group multiplied so that expected equal observed positives.

    Without positives half a positive is expected, without negatives half a negative.
    """
    cells = groups.cells
    open_ = cells.s1 > 0
    n, pos = (groups.add(np.where(open_, column, 0)).astype(np.float64) for column in (cells.n, cells.pos))
    wanted = np.clip(pos, np.minimum(0.5, n / 2), np.maximum(n - 0.5, n / 2))
    q = np.where(open_, cells.q, 0.5)
    odds = (np.log(q) - np.log1p(-q)) * np.where(cells.upper, -1, 1)
    shift, moving = np.zeros(len(groups)), n > 0
    for _ in range(100):
        p = np.where(open_, sigmoid(odds + groups.repeat(shift)), 0.0)
        v = np.maximum(groups.add(cells.n * p * (1 - p)), 1e-300)
        step = np.clip((wanted - groups.add(cells.n * p)) / v, -2, 2)
        moving &= np.abs(step) >= 1e-9  # each group stops by itself, so that it does not depend on the others
        if not moving.any():
            break
        shift += np.where(moving, step, 0.0)
    return np.asarray(p)
