"""Clustered rows: how often calibrated models are called miscalibrated, Local TCE's level, and power, with `cluster=`.

    python clusters.py [part ...] [--sets 400]

Parts: level, power, worlds; all of them by default. Labels go together in three ways, each with the predictions as
exact marginals: a Gaussian copula, an effect of the cluster on the log-odds, and equal predictions with a beta-binomial
count. "worlds" are drawn at random, and nothing was tuned on them: clusters of even and uneven sizes, other shapes of
predictions, and labels that go together in other ways, too. Writes clusters_<part>.csv, case by case.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice

import numpy as np
from results import write_rows
from shapes import Rng, with_odds
from worlds import Floats, log_odds, sigmoid

from truecal.data import Cells, Ints
from truecal.verdict import Verdict, combine, component_p_values, judge, judge_all

Line = dict[str, object]
Labels = Callable[[Rng, Floats, Ints, float], np.ndarray]
SHAPES = {"33 %": (1.0, 2.0), "9 %": (0.5, 5.0), "1 %": (0.5, 50.0)}
TOGETHER = 40  # data sets that are judged in one pass: a verdict does not depend on the others
FEW = 10.0  # positives, as independent rows have them
NEAR = 0.035, 0.065  # outside of which a level is measured again
AGAIN = 5  # times as many data sets
SHARED = 0.5  # correlation of the predictions of a cluster, on the normal scale
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(61)
GRID = np.linspace(-40.0, 40.0, 8001)


def draw_scores(rng: Rng, rows: int, size: int, shape: str, shared: float) -> tuple[Floats, Ints]:
    """Predictions of clusters of so many rows each, and their clusters. Ranks of normal variables that go together are
    given the quantiles of the shape."""
    clusters = rows // size
    z = np.sqrt(shared) * np.repeat(rng.standard_normal(clusters), size)
    z = z + np.sqrt(1 - shared) * rng.standard_normal(clusters * size) if shared < 1 else z
    quantiles = np.sort(rng.beta(*SHAPES[shape], size=20_000))
    p = quantiles[(normal(z) * len(quantiles)).astype(np.int64).clip(0, len(quantiles) - 1)]
    return np.clip(p, 1e-9, 1 - 1e-9), np.repeat(np.arange(clusters), size)


def normal(z: Floats) -> Floats:
    """The normal distribution function."""
    from scipy.special import ndtr

    return np.asarray(ndtr(z))


def copula(rng: Rng, p: Floats, cluster: Ints, correlation: float) -> np.ndarray:
    """A normal variable of each row, correlated within clusters, below the quantile of its prediction."""
    from scipy.special import ndtri

    common = rng.standard_normal(cluster[-1] + 1)[cluster]
    return np.sqrt(correlation) * common + np.sqrt(1 - correlation) * rng.standard_normal(len(p)) < ndtri(p)


def log_odds_effect(rng: Rng, p: Floats, cluster: Ints, correlation: float) -> np.ndarray:
    """A normal effect of the cluster on the log-odds, of the variance that gives this correlation of logistic
    variables; the rest of the log-odds is such that predictions are right on average."""
    sd = np.sqrt(correlation / (1 - correlation)) * np.pi / np.sqrt(3)
    mean = sigmoid(GRID[:, None] + sd * NODES) @ (WEIGHTS / WEIGHTS.sum())
    rest = np.interp(log_odds(p), log_odds(mean), GRID)
    return rng.random(len(p)) < sigmoid(rest + sd * rng.standard_normal(cluster[-1] + 1)[cluster])


def beta_binomial(rng: Rng, p: Floats, cluster: Ints, correlation: float) -> np.ndarray:
    """A rate for each cluster, drawn around its one prediction so that labels have this correlation."""
    first = np.flatnonzero(np.diff(cluster, prepend=-1))
    if correlation == 0:
        return rng.random(len(p)) < p
    size = 1 / correlation - 1
    return rng.random(len(p)) < rng.beta(size * p[first], size * (1 - p[first]))[cluster]


WAYS: dict[str, tuple[Labels, float]] = {
    "copula": (copula, SHARED),
    "log-odds effect": (log_odds_effect, SHARED),
    "beta-binomial": (beta_binomial, 1.0),
}


def draw_sets(
    way: str, correlation: float, rows: int, size: int, shape: str, factor: float = 1.0, first: bool = True
) -> Iterator[tuple[np.ndarray, Floats, Ints]]:
    """Labels, predictions and clusters of data sets whose true odds are the predicted ones times a factor: those that
    are the first to be drawn, or others."""
    seeds = [rows, size, round(1000 * correlation), *f"{way}{shape}{factor}".encode()]
    rng = np.random.default_rng(seeds if first else [20261117, *seeds])
    labels, shared = WAYS[way]
    while True:
        truth, cluster = draw_scores(rng, rows, size, shape, shared)
        y = labels(rng, truth, cluster, correlation)
        yield y, truth if factor == 1 else with_odds(truth, 1 / factor), cluster


def judge_sets(
    way: str, correlation: float, rows: int, size: int, shape: str, sets: int, factor: float = 1.0
) -> Iterator[tuple[Verdict, Verdict]]:
    """Verdicts with and without clusters."""
    drawn = draw_sets(way, correlation, rows, size, shape, factor)
    for begin in range(0, sets, TOGETHER):
        groups: list[tuple[Cells, Cells]] = []
        for y, p, cluster in islice(drawn, min(TOGETHER, sets - begin)):
            groups.append((Cells.from_arrays(y, p, cluster=cluster), Cells.from_arrays(y, p)))
        yield from zip(*(judge_all(each) for each in zip(*groups, strict=True)), strict=True)


def level(sets: int) -> Iterator[Line]:
    """How often a calibrated model is called miscalibrated, with clusters and without."""
    for rows in (1000, 5000):
        for shape in SHAPES:
            for size in (2, 10, 20, 50):
                for way, correlation in (
                    *(("copula", c) for c in (0.0, 0.1, 0.3, 0.5)),
                    *(("log-odds effect", c) for c in (0.1, 0.5)),
                    *(("beta-binomial", c) for c in (0.1, 0.5)),
                ):
                    yield measure(way, correlation, rows, size, shape, sets)


def measure(way: str, correlation: float, rows: int, size: int, shape: str, sets: int) -> Line:
    """The level on data sets; where it is not near 5 % and positives are not few, that on five times as many others,
    which alone counts."""
    found = list(judge_sets(way, correlation, rows, size, shape, sets))
    with_clusters, without = zip(*found, strict=True)
    effect = float(np.mean([verdict.design_effect for verdict in with_clusters]))
    information = float(np.mean([verdict.expected for verdict in with_clusters]))
    shares = count_rejected([verdict.tests for verdict in with_clusters])
    line = {
        "labels": way,
        "correlation": correlation,
        "rows": rows,
        "size": size,
        "positives": shape,
        "design effect": effect,
        "expected over effect": information / effect,
        "without clusters": float(np.mean([verdict.p_value <= 0.05 for verdict in without])),
        "Local TCE": float(np.mean([verdict.local.value for verdict in with_clusters])),
        "inside": float(np.mean([verdict.interval[0] <= 1 <= verdict.interval[1] for verdict in with_clusters])),
        "consistent": float(np.mean([verdict.status == "consistent" for verdict in with_clusters])),
        "first miscalibrated": shares["miscalibrated"],
    }
    if information / effect >= FEW and not NEAR[0] <= shares["miscalibrated"] <= NEAR[1]:
        drawn = islice(draw_sets(way, correlation, rows, size, shape, first=False), AGAIN * sets)
        shares = count_rejected(
            [component_p_values(Cells.from_arrays(y, p, cluster=cluster)) for y, p, cluster in drawn]
        )
    return line | shares


def count_rejected(p_values: list[dict[str, float]]) -> dict[str, float]:
    """Return the number of data sets, and the shares of them that the verdict and its component tests reject."""
    p = np.array([combine(tests) for tests in p_values])
    shares = {"sets": len(p), "miscalibrated": float(np.mean(p <= 0.05)), "p <= 0.01": float(np.mean(p <= 0.01))}
    names = ("total", "scan_information", "scan_rows", "cox")
    return shares | {name: float(np.mean([tests.get(name, 1.0) <= 0.05 for tests in p_values])) for name in names}


def power(sets: int) -> Iterator[Line]:
    """How often wrong odds are detected, and in independent rows with the same information: rows / design effect."""
    for rows, shape, size, way, correlation, factor in (
        (5000, "9 %", 10, "copula", 0.0, 1.25),
        (5000, "9 %", 10, "copula", 0.3, 1.4),
        (5000, "9 %", 10, "copula", 0.3, 1 / 1.4),
        (20_000, "9 %", 20, "log-odds effect", 0.1, 1.2),
        (20_000, "9 %", 50, "beta-binomial", 0.1, 1.4),
        (20_000, "1 %", 10, "copula", 0.3, 1.4),
        (5000, "33 %", 20, "copula", 0.3, 1.35),
        (1000, "33 %", 50, "copula", 0.0, 1.4),
    ):
        found = [verdict for verdict, _ in judge_sets(way, correlation, rows, size, shape, sets, factor)]
        effect = float(np.mean([v.design_effect for v, _ in judge_sets(way, correlation, rows, size, shape, 50)]))
        rng = np.random.default_rng(rows + size)
        alone = []
        for _ in range(sets):
            truth, _ = draw_scores(rng, round(rows / effect), 1, shape, 0.0)
            y = rng.random(len(truth)) < truth
            alone.append(judge(Cells.from_arrays(y, with_odds(truth, 1 / factor))).p_value <= 0.05)
        yield {
            "labels": way,
            "correlation": correlation,
            "rows": rows,
            "size": size,
            "positives": shape,
            "sets": sets,
            "odds": factor,
            "design effect": effect,
            "miscalibrated": float(np.mean([verdict.status == "miscalibrated" for verdict in found])),
            "independent rows": float(np.mean(alone)),
        }


def share_uniforms(rng: Rng, p: Floats, cluster: Ints, correlation: float) -> np.ndarray:
    """Some rows of a cluster are decided by one uniform variable, the others by their own."""
    common = rng.random(cluster[-1] + 1)[cluster]
    return np.where(rng.random(len(p)) < np.sqrt(correlation), common, rng.random(len(p))) < p


OTHER_WAYS: dict[str, tuple[Labels, float]] = {
    "copula": (copula, SHARED),
    "log-odds effect": (log_odds_effect, SHARED),
    "shared": (share_uniforms, SHARED),
    "copula of one score": (copula, 1.0),
}


@dataclass(frozen=True)
class World:
    """Clusters of a mean size, equal or geometric; predictions of a Beta distribution with a mean; and correlation."""

    rows: int
    size: float
    uneven: bool
    a: float
    mean: float
    way: str
    correlation: float

    @classmethod
    def draw(cls, number: int) -> World:
        rng = np.random.default_rng([20261117, number])
        rows = int(rng.choice([500, 1000, 2000, 4000, 8000]))
        size = min(float(np.exp(rng.uniform(np.log(2), np.log(50)))), rows / 20)
        a = float(rng.choice([0.3, 0.5, 1, 2, 4]))
        mean = float(rng.choice([0.005, 0.01, 0.03, 0.1, 0.2, 0.4, 0.6, 0.9]))
        uneven, way = bool(rng.integers(2)), str(rng.choice(list(OTHER_WAYS)))
        return cls(rows, round(size, 1), uneven, a, mean, way, round(float(rng.uniform(0, 0.5)), 2))

    def simulate(self, rng: Rng) -> Cells:
        labels, shared = OTHER_WAYS[self.way]
        count = round(self.rows / self.size)
        sizes = rng.geometric(1 / self.size, count) if self.uneven else np.full(count, max(2, round(self.size)))
        cluster = np.repeat(np.arange(count), sizes)
        z = np.sqrt(shared) * rng.standard_normal(count)[cluster]
        z = z + np.sqrt(1 - shared) * rng.standard_normal(len(cluster))
        quantiles = np.sort(rng.beta(self.a, self.a * (1 - self.mean) / self.mean, 20_000))
        p = np.clip(quantiles[(normal(z) * 20_000).astype(np.int64).clip(0, 19_999)], 1e-9, 1 - 1e-9)
        return Cells.from_arrays(labels(rng, p, cluster, self.correlation), p, cluster=cluster)


def worlds(sets: int) -> Iterator[Line]:
    """How often calibrated models of random worlds are called miscalibrated."""
    for number in range(44):
        world, rng, found = World.draw(number), np.random.default_rng([5, number]), list[Verdict]()
        for begin in range(0, sets, TOGETHER):
            found += judge_all([world.simulate(rng) for _ in range(min(TOGETHER, sets - begin))])
        fewer = [min(verdict.expected, verdict.n - verdict.expected) / verdict.design_effect for verdict in found]
        off = {f"p <= {level:g}": float(np.mean([v.p_value <= level for v in found])) for level in (0.05, 0.01)}
        effect = float(np.mean([verdict.design_effect for verdict in found]))
        yield asdict(world) | {"sets": sets, "design effect": effect, "over effect": float(np.mean(fewer))} | off


def show(line: Line) -> None:
    print(" ".join(f"{k}={v:.3g}" if isinstance(v, float) else f"{k}={v}" for k, v in line.items()), flush=True)


PARTS: dict[str, Callable[[int], Iterator[Line]]] = {"level": level, "power": power, "worlds": worlds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=list(PARTS))
    parser.add_argument("--sets", type=int, default=400)
    options = parser.parse_args()
    for part in options.parts:
        found: list[Line] = []
        for line in PARTS[part](options.sets):
            found.append(line)
            show(line)
            write_rows(f"clusters_{part}", found)


if __name__ == "__main__":
    main()
