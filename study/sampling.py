"""Sampling by label, label noise and label delay: level, coverage and power of the verdict.

    python sampling.py [part ...] [--sets 400]

Parts: level, power, rare, population; all of them by default. Each writes sampling_<part>.csv, case by case.

"level": calibrated models of a population, whose rows are sampled by label or whose labels are noisy. How often they
are called miscalibrated, how often the interval of observed over expected does not contain 1, and how far the p-values
lie from those of as many rows whose labels are drawn from the sampled scores (Kolmogorov-Smirnov distance, with the
critical value 1.36 sqrt(2 / sets) at 5 %).

"power": all odds of the truth times 1.25, detected in the sample against as many rows without the complication as
carry the same information about that odds ratio: with p' the probability that a row is labelled positive, the sum of
(dp' / d log-odds)^2 / (p' (1 - p')). Only a test that weights each label by (dp' / d log-odds) / (p' (1 - p')) uses all
of it. That weight is 1 without label noise; with it, the labels of small predictions are mostly noise, and a number of
positives, which weights all alike, has the information (sum of dp' / d log-odds)^2 / (sum of p' (1 - p')): "counted"
is that of noisy labels of all rows, and "as counted" how often the error is detected in plain rows with as much.
"weighted alone" is how often the weighted sum of noisy labels itself exceeds 1.96 standard deviations.

"rare": the same with 1 % positives and a tenth of them labelled negative, with so many rows that they carry an
information of 10, 40, 80 and 160, and with 4,000 rows; also with all odds divided by 1.25. The variance of plain rows'
positives is larger if more are observed, and smaller if fewer are; that of label noise does not change. So with the
same information plain rows detect the one error more often and the other less often, the more so the less it is.

"population": estimates for the population from sampled rows, over those from all its rows.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from results import write_rows

import truecal
from truecal.data import Cells, Sampling
from truecal.verdict import Verdict, combine, component_p_values, judge

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Rng = np.random.Generator
Line = dict[str, object]
KEPT = (0.5, 0.1, 0.05, 0.01)
PREVALENCES = (0.33, 0.05, 0.01, 0.001)
FLIPS = ((0.01, 0.01), (0.02, 0.1), (0.1, 0.02), (0.1, 0.1))
ROWS = 4000  # that are there, about
FACTOR = 1.25
RARE, HIDDEN = 0.01, 0.1  # share of positives, and share of these labelled negative, in the part "rare"
INFORMATION = (10, 40, 80, 160)  # with which the power of plain rows is about 15, 30, 50 and 80 %


class Case:
    """A population, and how rows are sampled from it and labelled; names stay as they are in the result files."""

    def __init__(
        self, name: str, sampling: Sampling, prevalence: float, late: bool = False, rows: float = ROWS
    ) -> None:
        self.name, self.how, self.prevalence, self.late = name, sampling, prevalence, late
        self.rows = round(rows / self._share())

    def _share(self) -> float:
        """The share of the population that is there."""
        f0, f1 = self.how.label_noise
        positive = self.prevalence * (1 - f1) + (1 - self.prevalence) * f0
        return positive * self.how.positive_rate + (1 - positive) * self.how.negative_rate

    def predict(self, rng: Rng) -> Floats:
        """Predictions of the population, of all that is to come or of what has come by now."""
        p = rng.beta(1.0, (1 - self.prevalence) / self.prevalence, self.rows)
        return p * -np.expm1(-rng.exponential(1.0, self.rows) * 2) if self.late else p

    def observe(self, rng: Rng, p: Floats, truth: Floats) -> tuple[Bools, Floats]:
        """The labels and predictions of the rows that are there."""
        y = rng.random(len(p)) < truth
        f0, f1 = self.how.label_noise
        label = np.where(y, rng.random(len(p)) >= f1, rng.random(len(p)) < f0)
        kept = rng.random(len(p)) < np.where(label, self.how.positive_rate, self.how.negative_rate)
        return label[kept], p[kept]

    def judge(self, label: Bools, p: Floats) -> Verdict:
        return judge(Cells.from_arrays(label, p, sampling=self.how))

    @property
    def line(self) -> Line:
        return {"rows are": self.name, "prevalence": self.prevalence}


def cases() -> list[Case]:
    found = [Case(f"kept {share:g} of negatives", Sampling(share), p) for share in KEPT for p in PREVALENCES]
    found += [
        Case(f"flipped {f0:g}, {f1:g}", Sampling(label_noise=(f0, f1)), p) for f0, f1 in FLIPS for p in PREVALENCES[:3]
    ]
    both = Sampling(0.05, 0.5, (0.01, 0.1))
    found += [Case("kept 0.05 and 0.5, flipped 0.01, 0.1", both, p) for p in PREVALENCES[:3]]
    return [*found, *(Case("late", Sampling(), p, late=True) for p in PREVALENCES)]


def rare_cases() -> dict[int, Case]:
    """Flipped labels of rare positives, more and more rows of them, and as many as elsewhere; by number."""
    found: dict[int, Case] = {}
    for number, (f0, f1) in enumerate(FLIPS):
        if f1 == HIDDEN:
            one = Case(f"flipped {f0:g}, {f1:g}", Sampling(label_noise=(f0, f1)), RARE, rows=1e6)
            own, _ = find_information(one, one.predict(np.random.default_rng(6)))
            sizes = [1e6 * information / own for information in INFORMATION]
            found |= {4 * number + i: Case(one.name, one.how, RARE, rows=rows) for i, rows in enumerate(sizes)}
            found[16 + number] = Case(one.name, one.how, RARE)
    return found


def find_information(case: Case, p: Floats) -> tuple[float, float]:
    """What rows of these predictions tell of a factor on all odds, and what a number of their positives does."""
    seen = np.asarray(case.how.to_sampled(p))
    moved, spread = case.how.slope(p) * p * (1 - p), seen * (1 - seen)
    return float(np.sum(moved**2 / spread)), float(moved.sum() ** 2 / spread.sum())


def with_odds(p: Floats, factor: float) -> Floats:
    return np.asarray(factor * p / (1 - p + factor * p))


def level(sets: int) -> Iterator[Line]:
    return (measure_level(number, case, 4 * sets) for number, case in enumerate(cases()))


def measure_level(number: int, case: Case, sets: int) -> Line:
    rng = np.random.default_rng([1, number])
    found, plain, out = [], [], 0
    for _ in range(sets):
        p = case.predict(rng)
        label, kept = case.observe(rng, p, p)
        verdict = case.judge(label, kept)
        found.append(verdict.p_value)
        out += not verdict.interval[0] <= 1 <= verdict.interval[1]
        seen = np.asarray(case.how.to_sampled(kept))
        plain.append(combine(component_p_values(Cells.from_arrays(rng.random(len(seen)) < seen, seen))))
    p_values, others = np.sort(found), np.sort(plain)
    both = np.concatenate([p_values, others])
    gap = np.searchsorted(p_values, both, "right") - np.searchsorted(others, both, "right")
    return (
        case.line
        | {"rows": len(label), "sets": sets, "miscalibrated at 0.05": float(np.mean(p_values <= 0.05))}
        | {"plain rows": float(np.mean(others <= 0.05))}
        | {"miscalibrated at 0.01": float(np.mean(p_values <= 0.01)), "interval without 1": out / sets}
        | {"distance of p-values": float(np.abs(gap).max()) / sets, "critical distance": 1.36 * math.sqrt(2 / sets)}
    )


def power(sets: int) -> Iterator[Line]:
    """Flipped labels of rare positives find little: four times as many data sets tell how much less than they could."""
    for number, case in enumerate(cases()):
        many = 4 * sets if case.how.noisy else sets
        yield case.line | {"sets": many} | measure_power((number,), case, many, FACTOR)


def rare(sets: int) -> Iterator[Line]:
    """Where next to nothing is found, many more data sets tell one share from the other."""
    for number, case in rare_cases().items():
        for up, factor in enumerate((1 / FACTOR, FACTOR)):
            many = (16 if case.rows < 10_000 else 4 if case.rows < 40_000 else 2) * sets
            line = case.line | {"rows": case.rows, "odds": factor, "sets": many}
            yield line | measure_power((number, 5, up), case, many, factor)


def measure_power(seeds: tuple[int, ...], case: Case, sets: int, factor: float) -> Line:
    rng, other = (np.random.default_rng([part, *seeds]) for part in (2, 4))
    flips = case.how.noisy and case.how.negative_rate == 1
    found, plain, alike, best = 0, 0, 0, 0
    for _ in range(sets):
        p = case.predict(rng)
        label, kept = case.observe(rng, p, with_odds(p, factor))
        found += is_miscalibrated(Cells.from_arrays(label, kept, sampling=case.how))
        # rows of the same predictions without the complication, as many as carry the same information
        seen = np.asarray(case.how.to_sampled(kept))
        own, counted = find_information(case, kept)
        weight = case.how.slope(kept) * kept * (1 - kept) / (seen * (1 - seen))
        best += abs(float(np.sum((label - seen) * weight))) > 1.96 * math.sqrt(own)
        shape = seen if not case.how.noisy else kept
        plain += find_plain(rng, shape, own, factor)
        alike += flips and find_plain(other, shape, counted, factor)
    line: Line = {"information": own, "found": found / sets, "without": plain / sets}
    line |= {"counted": counted if flips else "", "as counted": alike / sets if flips else ""}
    return line | {"weighted alone": best / sets if flips else ""}


def find_plain(rng: Rng, shape: Floats, information: float, factor: float) -> bool:
    """Whether the verdict on plain rows with such predictions and this information is "miscalibrated"."""
    share = information / float(np.sum(shape * (1 - shape)))
    like = rng.choice(shape, max(round(share * len(shape)), 1))
    return is_miscalibrated(Cells.from_arrays(rng.random(len(like)) < with_odds(like, factor), like))


def is_miscalibrated(cells: Cells) -> bool:
    """Whether the verdict is "miscalibrated", without computing the rest of it; no prediction is 0 or 1."""
    return combine(component_p_values(cells)) <= 0.05


def population(sets: int) -> Iterator[Line]:
    """Of models that are a fifth too low above the mean prediction."""
    names = ["ece", "brier", "log_loss", "slope", "intercept", "net_benefit@0.05"]
    for number, (share, prevalence) in enumerate((share, p) for share in KEPT[1:] for p in PREVALENCES[:3]):
        case = Case(f"kept {share:g} of negatives", Sampling(share), prevalence)
        rng = np.random.default_rng([3, number])
        rows: list[list[float]] = []
        for _ in range(sets):
            truth = case.predict(rng)
            p = np.where(truth > prevalence, 0.8 * truth, truth)
            y = rng.random(len(p)) < truth
            kept = y | (rng.random(len(p)) < share)
            ours = truecal.evaluate(y[kept], p[kept], names, sampling=Sampling(negative_rate=share))
            full = truecal.evaluate(y, p, names)
            assert ours.verdict is not None
            assert full.verdict is not None
            low, high = ours.verdict.interval
            right = float(truth.sum() / p.sum())
            rows.append(
                [ours.verdict.ratio / full.verdict.ratio, low <= right <= high, *(ours[n] / full[n] for n in names)]
            )
        columns = ["ratio", "interval has the true ratio", *names]
        yield case.line | {"sets": sets} | dict(zip(columns, np.mean(rows, axis=0).tolist(), strict=True))


def main() -> None:
    parts = {"level": level, "power": power, "rare": rare, "population": population}
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", default=list(parts))
    parser.add_argument("--sets", type=int, default=400)
    args = parser.parse_args()
    for name in args.parts:
        lines: list[Line] = []
        for line in parts[name](args.sets):
            lines.append(line)
            print(line, flush=True)
            write_rows(f"sampling_{name}", lines)


if __name__ == "__main__":
    main()
