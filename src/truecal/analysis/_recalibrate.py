"""Mend a model: fit a map of its predictions, and prove on rows that it has not seen whether that helps."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np

from truecal import __version__
from truecal._errors import did_you_mean, option
from truecal.analysis._evaluate import evaluate, raise_for_data
from truecal.inference import (
    KINDS,
    Difference,
    Kind,
    Map,
    RandomState,
    choose_kind,
    fit_map,
    log_losses,
    mean_loss,
    split,
)
from truecal.metrics import normal_quantile
from truecal.observations import CellSums, Floats, Segment, Tallies, Tally, as_tuple, merge
from truecal.results import Proof, Recalibration

AUTO: tuple[Kind, ...] = ("none", "offset", "logistic", "beta")
METRICS = ("ltce", "log_loss", "brier", "slope", "intercept")
MOST_FOLDS = 1000
INNER = 5  # folds by which a kind is chosen
CONFIDENCE = 0.95


def recalibrate(
    y_true: Any,
    y_prob: Any = None,
    kind: Kind | Literal["auto"] = "auto",
    *,
    by: str | Sequence[str] = (),
    folds: int = 5,
    sample_weight: Any = None,
    pos_label: Any = None,
    random_state: RandomState = 0,
) -> Recalibration:
    """Fit a map that mends predictions, with a proof on rows that it was not fitted to.

    Parameters
    ----------
    y_true, y_prob
        Labels and predictions; or in their place `Tallies`, as `truecal.read` gives them. Tallies with windows of time
        are proven forwards in time: each window by a map of those before it.
    kind : "auto", "offset", "logistic", "beta", "isotonic" or "none"
        "offset" multiplies all odds by one factor (a change of prevalence); "logistic" has an intercept and a slope on
        the log-odds (over-confidence, too); "beta" has slopes of its own for low and for high predictions. "auto"
        chooses among these three and none at all, by the log loss of rows that were held out: one more number must be
        worth it. "isotonic" is by name: it takes more rows than rare events leave.
    by : name or names, optional
        Columns of the tallies: each segment gets an offset of its own, shrunk towards the common map.
    folds : int
        Into how many parts rows are dealt for the proof; 0 for none.
    sample_weight, pos_label
        As in `evaluate`.
    random_state
        The seed by which rows are dealt.

    Examples
    --------
    >>> import numpy as np, truecal
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(2, 2, size=5000)
    >>> y = rng.random(5000) < p
    >>> truecal.recalibrate(y, p).helped              # the model was right
    False
    """
    if kind != "auto" and kind not in KINDS:
        known = ("auto", *KINDS)
        raise ValueError(
            f"{option('kind')} must be one of {', '.join(known)}; it is {kind!r}.{did_you_mean(kind, known)}"
        )
    if isinstance(folds, bool) or not isinstance(folds, int) or folds == 1 or folds < 0:
        raise ValueError(f"{option('folds')} must be a whole number, 2 or more, or 0 for no proof; it is {folds!r}.")
    if folds > MOST_FOLDS:
        raise ValueError(f"{option('folds')} must be at most {MOST_FOLDS:,}; it is {folds:,}.")
    rng = np.random.default_rng(random_state if not isinstance(random_state, np.random.RandomState) else None)
    data = _read(y_true, y_prob, sample_weight, pos_label)
    names, whole = as_tuple(by), data.whole().tally
    for name in names:
        if name not in data.by or name in data.windows:
            raise ValueError(f"{option('by')} must name columns that the tallies were read by; {name!r} is none.")
    parts = {key: part.tally for key, part in data.over(names).parts.items()} if names else {}
    found = _Fit(kind, rng).fit(whole, parts)
    proof = _prove(data, names, kind, folds, rng) if folds else None
    notes = list(data.notes)
    contrary = _count_contrary(whole)
    if contrary:
        notes.append(f"{contrary:,} labels refute predictions of exactly 0 or 1, which no factor on the odds mends")
    return Recalibration(
        map=found[0],
        n=whole.n_rows,
        positives=whole.positives,
        by=names,
        segments=tuple(parts),
        offsets=np.array([found[1].get(key, 0.0) for key in parts]),
        label=data.label or None,
        score=data.score or None,
        proof=proof,
        notes=tuple(notes),
        version=__version__,
    )


def _read(y_true: Any, y_prob: Any, sample_weight: Any, pos_label: Any) -> Tallies:
    """What is given as tallies; rows that were given have no names."""
    if isinstance(y_true, Tallies):
        for name, value in (("y_prob", y_prob), ("sample_weight", sample_weight), ("pos_label", pos_label)):
            if value is not None:
                raise TypeError(f"{option(name)} must be left out where tallies are given.")
        return y_true
    if y_prob is None or isinstance(y_prob, str):
        raise_for_data("recalibrate", y_true, y_prob)
    return Tallies("", "", {(): Tally.from_arrays(y_true, y_prob, sample_weight, pos_label)})


def _count_contrary(tally: Tally) -> int:
    p = tally.labelling.predicted(tally.score)
    return int(tally.pos[p <= 0].sum() + (tally.n - tally.pos)[p >= 1].sum())


class _Fit:
    """Fits maps of a kind, or of that which held-out rows speak for."""

    def __init__(self, kind: Kind | Literal["auto"], rng: np.random.Generator) -> None:
        self.kind, self.rng = kind, rng

    def fit(self, whole: Tally, parts: dict[Segment, Tally]) -> tuple[Map, dict[Segment, float]]:
        """The common map, and the offsets of segments beyond it."""
        kind: Kind = choose_kind(split(as_cells(whole), INNER, self.rng), AUTO) if self.kind == "auto" else self.kind
        found = fit_map(whole, kind)
        return found, _fit_offsets(found, parts)


def as_cells(tally: Tally) -> Tally:
    """The same rows with one score for each cell of 12 bits, its mean."""
    cells = CellSums.of(tally)
    return merge(cells.p, cells.n, cells.pos, tally.labelling)


def _fit_offsets(common: Map, parts: dict[Segment, Tally]) -> dict[Segment, float]:
    """Offsets of segments on the log-odds, shrunk by how much segments differ beyond chance.

    With E and v the mean and variance of a segment's positives k under the common map, the offsets' variance is that
    which makes sum of (k - E)^2 as large as it is: tau^2 = (sum of (k - E)^2 - sum of v) / sum of v^2, 0 at least. An
    offset d then solves k - E(d) = d / tau^2.
    """
    if len(parts) < 2:
        return {}
    sums = [_expect(common, tally, 0.0) for tally in parts.values()]
    k = np.array([tally.positives for tally in parts.values()], dtype=np.float64)
    expected, v = np.array(sums).T
    spread = float(np.sum((k - expected) ** 2) - v.sum()) / max(float(np.sum(v**2)), 1e-300)
    if spread <= 0:
        return {}
    offsets = {}
    for key, tally in parts.items():
        d = 0.0
        for _ in range(50):
            mean, information = _expect(common, tally, d)
            step = (tally.positives - mean - d / spread) / (information + 1 / spread)
            d += min(max(step, -2.0), 2.0)
            if abs(step) < 1e-10:
                break
        offsets[key] = d
    return offsets


def _expect(common: Map, tally: Tally, offset: float) -> tuple[float, float]:
    """The labelled positives that a map with an offset expects, and the derivative of that by the offset."""
    p = common.apply(tally.labelling.predicted(tally.score), offset)
    q, slope = tally.labelling.seen(p), tally.labelling.slope(p) if not tally.labelling.plain else np.ones(len(p))
    return float(np.sum(tally.n * q)), float(np.sum(tally.n * slope * p * (1 - p)))


# ---- proof ---------------------------------------------------------------------------------------------------------

Fold = dict[Segment, Tally]  # rows by segment; by one segment () where there are none


def _prove(
    data: Tallies, by: tuple[str, ...], kind: Kind | Literal["auto"], folds: int, rng: np.random.Generator
) -> Proof | None:
    """Fit to some rows, apply to others, and compare; None where too few rows are there to hold any out."""
    dealt, forwards = _deal(data, by, folds, rng)
    first = 1 if forwards else 0
    if len(dealt) < 2:
        return None
    kinds: Counter[str] = Counter()
    before, after = _Losses(), _Losses()
    for i in range(first, len(dealt)):
        train = _add(dealt[j] for j in range(len(dealt)) if (j < i if forwards else j != i))
        found, offsets = _Fit(kind, rng).fit(_whole(train), train if by else {})
        kinds[found.kind] += 1
        for segment, tally in dealt[i].items():
            p = tally.labelling.predicted(tally.score)
            before.add(tally, p)
            after.add(tally, found.apply(p, offsets.get(segment, 0.0)))
    how = f"{len(dealt) - 1} windows, each by those before it" if forwards else f"{len(dealt)} folds"
    return _compare(before, after, dict(kinds), how)


def prove_on(found: Recalibration, data: Tallies, how: str = "other rows") -> Proof:
    """What a recalibration does on rows that were kept apart."""
    known = dict(zip(found.segments, found.offsets.tolist(), strict=True))
    before, after = _Losses(), _Losses()
    for segment, part in (data.over(found.by).parts if found.by else {(): data.whole()}).items():
        tally = as_cells(part.tally)
        p = tally.labelling.predicted(tally.score)
        before.add(tally, p)
        after.add(tally, found.map.apply(p, known.get(segment, 0.0)))
    return _compare(before, after, {found.kind: 1}, how)


def _compare(before: _Losses, after: _Losses, kinds: dict[str, int], how: str) -> Proof:
    """The same rows before and after."""
    results = [evaluate(each.tally(), metrics=METRICS) for each in (before, after)]
    rows = before.tally()
    rate = min(max(rows.positives / rows.n_rows, 1e-12), 1 - 1e-12)
    constant = mean_loss(rows, rows.labelling.predicted(np.full(len(rows), rate)))
    skill = [1 - each.mean("log") / constant if constant > 0 else math.nan for each in (before, after)]
    return Proof(
        before=results[0],
        after=results[1],
        log_loss=before.compare(after, "log"),
        brier=before.compare(after, "square"),
        kinds=kinds,
        skill=(skill[0], skill[1]),
        how=how,
    )


def _deal(data: Tallies, by: tuple[str, ...], folds: int, rng: np.random.Generator) -> tuple[list[Fold], bool]:
    """Rows in folds at random, or by windows of time in order; and whether by windows. Segments of `by` are apart."""
    if len(data.windows) == 1:
        (time,) = data.windows
        dealt: dict[Any, Fold] = {}
        for key, part in data.over((time, *by)).parts.items():
            dealt.setdefault(key[0], {})[key[1:]] = as_cells(part.tally)
        return list(dealt.values()), True
    groups: list[Fold] = [{} for _ in range(folds)]
    for segment, part in (data.over(by).parts if by else {(): data.whole()}).items():
        for fold, tally in zip(groups, split(as_cells(part.tally), folds, rng), strict=False):
            fold[segment] = tally
    return [fold for fold in groups if fold], False


def _add(folds: Iterable[Fold]) -> Fold:
    found: Fold = {}
    for fold in folds:
        for segment, tally in fold.items():
            found[segment] = found[segment] + tally if segment in found else tally
    return found


def _whole(fold: Fold) -> Tally:
    parts = list(fold.values())
    return sum(parts[1:], start=parts[0])


class _Losses:
    """Held-out rows at their predictions: what a result and a mean loss are made of."""

    def __init__(self) -> None:
        self.parts: list[tuple[Tally, Floats]] = []

    def add(self, tally: Tally, p: Floats) -> None:
        self.parts.append((tally, p))

    def tally(self) -> Tally:
        """The rows grouped by their predictions."""
        first = self.parts[0][0].labelling
        score = np.concatenate([first.seen(p) for _, p in self.parts])
        n, pos = (np.concatenate([getattr(tally, name) for tally, _ in self.parts]) for name in ("n", "pos"))
        return merge(score, n, pos, first)

    def losses(self, kind: str) -> tuple[Floats, Floats]:
        """The loss of a positive and of a negative in each entry."""
        q = np.concatenate([tally.labelling.seen(p) for tally, p in self.parts])
        return log_losses(np.clip(q, 1e-15, 1 - 1e-15)) if kind == "log" else ((1 - q) ** 2, q**2)

    def counts(self) -> tuple[Floats, Floats]:
        """Positives and negatives of each entry."""
        pos = np.concatenate([tally.pos for tally, _ in self.parts]).astype(np.float64)
        return pos, np.concatenate([tally.n for tally, _ in self.parts]) - pos

    def mean(self, kind: str) -> float:
        """The mean loss of a row."""
        (pos, neg), (one, zero) = self.counts(), self.losses(kind)
        return float((pos @ one + neg @ zero) / (pos.sum() + neg.sum()))

    def compare(self, other: _Losses, kind: str) -> Difference:
        """The mean difference of the rows' losses, these minus the other ones, with its interval."""
        pos, neg = self.counts()
        one, zero = (a - b for a, b in zip(self.losses(kind), other.losses(kind), strict=True))
        rows = pos.sum() + neg.sum()
        mean = float((pos @ one + neg @ zero) / rows)
        spread = float((pos @ (one - mean) ** 2 + neg @ (zero - mean) ** 2) / max(rows - 1, 1))
        reach = normal_quantile((1 - CONFIDENCE) / 2) * math.sqrt(spread / rows)
        return Difference(self.mean(kind), other.mean(kind), mean, mean - reach, mean + reach, CONFIDENCE, 0)
