"""Mend a model: fit a map of its predictions, and prove on rows that it has not seen whether that helps."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from truecal import __version__, _kernel
from truecal._errors import did_you_mean, option
from truecal._text import printable
from truecal.analysis._evaluate import evaluate, name_labelling, raise_for_data, refuse_grouped
from truecal.inference import (
    KINDS,
    Difference,
    Draws,
    Kind,
    Map,
    RandomState,
    Verdict,
    add_tallies,
    choose_map,
    find_effects,
    fit_map,
    format_p_value,
    judge_all,
    log_losses,
    mean_loss,
    measure_gap,
    split,
)
from truecal.metrics import adjust_p_values
from truecal.observations import (
    IMPORTANCE,
    CellSums,
    Clusters,
    Floats,
    Labelling,
    Pairs,
    Part,
    Segment,
    Sorted,
    SortedRows,
    Tallies,
    Tally,
    as_tuple,
    merge,
    unchecked,
)
from truecal.results import Proof, ProofTable, Recalibration, Result, name_window

METRICS = ("ltce", "log_loss", "brier", "slope", "intercept")
MOST_FOLDS = 1000
INNER = 5  # folds by which a kind is chosen
WHATEVER = "the map and its proof are of the rows as they are, whatever their importance"
FEW_CELLS = 10  # with which rows are not known again: others may have the same sums by chance
BATCHES, AT_ONCE = 20, 500  # draws of what chance makes of windows
CONFIDENCE = 0.95
SIGNIFICANCE = 0.05
Fold = dict[Segment, Tally]  # rows by segment; by one segment () where there are none


def recalibrate(  # noqa: PLR0913 (tests/test_size.py says why)
    y_true: Any,
    y_prob: Any = None,
    kind: Kind | Literal["auto"] = "auto",
    *,
    by: str | Sequence[str] = (),
    folds: int = 5,
    sample_weight: Any = None,
    pos_label: Any = None,
    kept_negatives: float = 1.0,
    kept_positives: float = 1.0,
    flip: tuple[float, float] = (0.0, 0.0),
    cluster: Any = None,
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
        the log-odds (over-confidence, too); "beta" has slopes of its own for low and for high predictions; "isotonic"
        has steps, each of five positives and five negatives at least. "auto" chooses among these and none at all, by
        their likelihood and, of steps, that of rows that were held out: one more number must be worth it. A map that
        rows hardly speak for is shrunk towards a simpler one, and says so.
    by : name or names, optional
        Columns of the tallies: each segment gets an offset of its own, shrunk towards the common map. Without it, the
        proof still looks at each segment that the tallies were read by: a map that helps overall may harm some.
    folds : int
        Into how many parts rows are dealt for the proof; 0 for none.
    sample_weight, pos_label, kept_negatives, kept_positives, flip
        As in `evaluate`; the map is of the population's predictions.
    cluster : column, optional
        The customer, patient or document that each row belongs to. Rows of one are dealt to the same fold, and the
        proof's intervals and verdicts account for what they have in common.
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
    old = isinstance(random_state, np.random.RandomState)
    rng = np.random.default_rng(Draws(1, random_state).seeds() if old else random_state)
    labelling = Labelling(kept_negatives, kept_positives, flip)
    data = _read(y_true, y_prob, sample_weight, pos_label, labelling, cluster)
    names, whole = as_tuple(by), _rows_of(data.whole())
    for name in names:
        if name not in data.by or name in data.windows:
            raise ValueError(f"{option('by')} must name columns that the tallies were read by; {name!r} is none.")
    parts = {key: part.tally for key, part in data.over(names).parts.items()} if names else {}
    found = _Fit(kind, rng).fit(whole, parts)
    proof = _prove(data, names, kind, folds, rng) if folds else None
    notes = [WHATEVER if note == IMPORTANCE else note for note in data.notes]
    notes += _find_turn(*found, data, names)
    contrary = _count_contrary(whole)
    if contrary:
        refute = "1 label refutes a prediction" if contrary == 1 else f"{contrary:,} labels refute predictions"
        notes.append(f"{refute} of exactly 0 or 1, which no factor on the odds mends")
    if found[0].kind in ("logistic", "beta") and found[0].low == found[0].high == 0:
        notes.append("higher predictions go with fewer positives, the map is a constant: are labels or scores swapped?")
    return Recalibration(
        map=found[0],
        n=whole.n_rows,
        positives=whole.positives,
        means=_take_means(whole),
        by=names,
        segments=tuple(parts),
        offsets=np.array([found[1].get(key, 0.0) for key in parts]),
        label=data.label or None,
        score=data.score or None,
        proof=proof,
        notes=tuple(notes),
        version=__version__,
    )


def _read(y_true: Any, y_prob: Any, sample_weight: Any, pos_label: Any, labelling: Labelling, cluster: Any) -> Tallies:
    """What is given as tallies; rows that were given have no names."""
    if isinstance(y_true, Tallies):
        given = {"y_prob": y_prob, "sample_weight": sample_weight, "pos_label": pos_label, "cluster": cluster}
        refuse_grouped(given | name_labelling(labelling))
        return y_true
    if y_prob is None or isinstance(y_prob, str):
        raise_for_data("recalibrate", y_true, y_prob)
    tally = Tally.from_arrays(y_true, y_prob, sample_weight, pos_label, labelling, cluster)
    return Tallies("", "", {(): tally}, cluster=None if cluster is None else "cluster")


def _rows_of(part: Part) -> Sorted:
    """Rows that were read exactly as they are, and cells as a tally of their means."""
    return part if isinstance(part, SortedRows) else part.tally


def _count_contrary(whole: Sorted) -> int:
    """Positives at predictions of 0, and negatives at those of 1."""
    none, all_ = whole.labelling.seen(np.array([0.0, 1.0]))
    first, last = (_kernel.locate(whole.entries, np.array([p]), after)[0] for p, after in ((none, True), (all_, False)))
    n, k = _kernel.count(whole.entries, np.array([0, first, last, len(whole)]))
    return int(k[0] + n[2] - k[2])


def _take_means(whole: Sorted) -> tuple[float, float] | None:
    """The mean predictions of rows and of positives, by which rows are known again; None of few distinct ones."""
    cells = CellSums.of(whole)
    if len(cells) < FEW_CELLS or not whole.positives:
        return None
    return float(cells.n @ cells.p) / whole.n_rows, float(cells.pos @ cells.p) / whole.positives


def refuse_fitted(found: Recalibration, data: Tallies) -> None:
    """Refuse to try a map on the very rows that it was fitted to."""
    whole = _rows_of(data.whole())
    if found.means is None or (whole.n_rows, whole.positives) != (found.n, found.positives):
        return
    means = _take_means(whole)
    if means is not None and np.allclose(means, found.means, rtol=1e-9, atol=0):
        raise ValueError(
            "A map must be tried on other rows than those that it was fitted to, on which any map looks good; these "
            f"are the same {whole.n_rows:,} rows, by their {whole.positives:,} positives and mean predictions.\n\n"
            "Hint: the proof of `recalibrate` itself is by rows that it holds out."
        )


class _Fit:
    """Fits maps of a kind, or of that which held-out rows speak for."""

    def __init__(self, kind: Kind | Literal["auto"], rng: np.random.Generator) -> None:
        self.kind, self.rng = kind, rng

    def fit(self, whole: Sorted, parts: dict[Segment, Tally]) -> tuple[Map, dict[Segment, float]]:
        """The common map, and the offsets of segments beyond it."""
        if self.kind == "auto":
            folds = split({(): as_cells(whole)}, INNER, self.rng)
            found = choose_map(whole, [fold[()] for fold in folds], steps=whole.labelling.plain)
        else:
            found = fit_map(whole, self.kind)
        return found, _fit_offsets(found, parts)


def as_cells(data: Sorted) -> Tally:
    """The same rows with one score for each cell of 12 bits, its mean."""
    cells = CellSums.of(data)
    found = merge(cells.p, cells.n, cells.pos, data.labelling)
    if data.clusters is None:
        return found
    clusters = data.clusters.move(np.searchsorted(found.score, cells.p)[cells.places(data.tally)])
    return unchecked(*found.entries, data.labelling, clusters)


def _fit_offsets(common: Map, parts: dict[Segment, Tally]) -> dict[Segment, float]:
    """Offsets of segments on the log-odds, shrunk by how much segments differ beyond chance.

    With E and v the mean and variance of a segment's positives k under the common map, and D its design effect, the
    offset (k - E) / v has a variance of 1 / w = D / v beside tau^2, how far segments differ (DerSimonian and Laird
    1986): tau^2 = (sum of w times the squares about the mean - (segments - 1)) / (sum of w - sum of w^2 / sum of w), 0
    at least. An offset d then solves k - E(d) = D d / tau^2.
    """
    if len(parts) < 2:
        return {}
    sums = [_expect(common, tally, 0.0) for tally in parts.values()]
    k = np.array([tally.positives for tally in parts.values()], dtype=np.float64)
    expected, v = np.array(sums).T
    effects = find_effects(list(parts.values()))
    spread = _find_spread(*(column[v > 0] for column in ((k - expected) / np.maximum(v, 1e-300), v / effects)))
    if spread <= 0:
        return {}
    offsets = {}
    for (key, tally), effect in zip(parts.items(), effects, strict=True):
        d, hold = 0.0, effect / spread
        for _ in range(50):
            mean, information = _expect(common, tally, d)
            step = (tally.positives - mean - hold * d) / (information + hold)
            d += min(max(step, -2.0), 2.0)
            if abs(step) < 1e-10:
                break
        offsets[key] = d
    return offsets


def _find_spread(offsets: Floats, w: Floats) -> float:
    """The variance of offsets beyond chance."""
    if len(offsets) < 2:
        return 0.0
    about = offsets - (w @ offsets) / w.sum()
    return float((w @ about**2 - (len(w) - 1)) / (w.sum() - w @ w / w.sum()))


def _expect(common: Map, tally: Tally, offset: float) -> tuple[float, float]:
    """The labelled positives that a map with an offset expects, and the derivative of that by the offset."""
    p = common.apply(tally.labelling.predicted(tally.score), offset)
    q, slope = tally.labelling.seen(p), tally.labelling.slope(p) if not tally.labelling.plain else np.ones(len(p))
    return float(np.sum(tally.n * q)), float(np.sum(tally.n * slope * p * (1 - p)))


def _find_turn(common: Map, offsets: dict[Segment, float], data: Tallies, by: tuple[str, ...]) -> list[str]:
    """A note if the error that a map leaves moves over windows of time: before and since it changes most.

    The score of an offset is summed from the first window on. Less its share of the whole sum it is a bridge, 0 at both
    ends, whose largest value is compared with those of bridges by chance: of normal steps with the same variances,
    which are larger by the mean design effect of windows where rows go together.
    """
    if len(data.windows) != 1:
        return []
    ((time, every),) = data.windows.items()
    windows = _deal_windows(data, time, by)
    sums = np.array([_add_scores(common, offsets, fold) for fold in windows.values()])
    if len(windows) < 2 or not sums[:, 1].sum() > 0:
        return []
    effects = np.array(find_effects([add_tallies(list(fold.values())) for fold in windows.values()]))
    score, variance = sums[:, 0], sums[:, 1] * (effects @ sums[:, 1] / sums[:, 1].sum())
    share = np.cumsum(variance) / variance.sum()
    bridge = np.abs(np.cumsum(score) - share * score.sum())
    rng, reached = np.random.default_rng(0), 0
    for _ in range(BATCHES):
        drawn = np.cumsum(rng.standard_normal((AT_ONCE, len(share))) * np.sqrt(variance), axis=1)
        reached += int(np.sum(np.abs(drawn - share * drawn[:, -1:]).max(axis=1) >= bridge.max()))
    p_value = (1 + reached) / (1 + BATCHES * AT_ONCE)
    if p_value > SIGNIFICANCE:
        return []
    turn = int(np.argmax(bridge)) + 1
    early, late = (np.sum(each, axis=0) for each in (sums[:turn, 2:], sums[turn:, 2:]))
    since = printable(name_window(list(windows)[turn], every))
    return [
        f"the error moves over time (p {format_p_value(p_value)}): of the positives that the map expects there are x "
        f"{early[0] / early[1]:.3g} before {since} and x {late[0] / late[1]:.3g} since; fit it to recent windows"
    ]


def _add_scores(common: Map, offsets: dict[Segment, float], fold: Fold) -> tuple[float, float, float, float]:
    """The score of an offset beyond the map and its variance, the positives, and those that the map expects."""
    score = variance = expected = 0.0
    for key, tally in fold.items():
        how, n, k = tally.labelling, tally.n, tally.pos
        p = common.apply(how.predicted(tally.score), offsets.get(key, 0.0))
        q = how.seen(p)
        v = q * (1 - q)
        weight = (v > 0) * 1.0 if how.plain else how.slope(p) * p * (1 - p) / np.maximum(v, 1e-300)
        score += float(np.sum(weight * (k - n * q)))
        variance += float(np.sum(weight**2 * n * v))
        expected += float(np.sum(n * q))
    return score, variance, float(sum(tally.positives for tally in fold.values())), expected


# ---- proof ---------------------------------------------------------------------------------------------------------


def _prove(
    data: Tallies, by: tuple[str, ...], kind: Kind | Literal["auto"], folds: int, rng: np.random.Generator
) -> Proof | None:
    """Fit to some rows, apply to others, and compare; None where too few rows are there to hold any out."""
    seen = _choose_columns(data, by)
    dealt, forwards = _deal(data, seen, folds, rng)
    first = 1 if forwards else 0
    if len(dealt) < 2:
        return None
    kinds: Counter[str] = Counter()
    rows = _HeldOut(seen, data.cluster)
    for i in range(first, len(dealt)):
        train = _add(dealt[j] for j in range(len(dealt)) if (j < i if forwards else j != i))
        found, offsets = _Fit(kind, rng).fit(add_tallies(list(train.values())), train if by else {})
        kinds[found.kind] += 1
        for segment, tally in dealt[i].items():
            rows.add(segment, tally, found, offsets.get(segment, 0.0))
    how = f"{len(dealt) - 1} windows, each by those before it" if forwards else f"{len(dealt)} folds"
    if data.cluster is not None and not forwards:
        how = f"{how} by `{data.cluster}`"
    return rows.compare(dict(kinds), how)


def prove_on(found: Recalibration, data: Tallies, how: str = "other rows", confidence: float = CONFIDENCE) -> Proof:
    """What a recalibration does on rows that were kept apart."""
    refuse_fitted(found, data)
    known = dict(zip(found.segments, found.offsets.tolist(), strict=True))
    seen = _choose_columns(data, found.by)
    rows = _HeldOut(seen, data.cluster, confidence)
    for segment, part in (data.over(seen).parts if seen else {(): data.whole()}).items():
        rows.add(segment, as_cells(_rows_of(part)), found.map, known.get(segment, 0.0) if found.by else 0.0)
    return rows.compare({found.kind: 1}, how)


def mend_tallies(found: Recalibration, data: Tallies) -> Tallies:
    """The same rows with recalibrated predictions; those before are the baseline."""
    lacking = [name for name in found.by if name not in data.by]
    if lacking:
        names, read = (", ".join(map(repr, each)) for each in (lacking, data.by))
        raise ValueError(
            f"{option('by')} must name {names}, too: the map has an offset for each value; it names {read or 'none'}."
        )
    if data.weighted:
        raise ValueError(f"{option('importance')} must be left out where a map is applied to tallies.")
    places = [data.by.index(name) for name in found.by]
    known = dict(zip(found.segments, found.offsets.tolist(), strict=True))
    parts: dict[Segment, Tally] = {}
    lines = []
    for key, part in data.parts.items():
        old, how = part.tally, part.labelling
        offset = known.get(tuple(key[place] for place in places), 0.0) if found.by else 0.0
        new = how.seen(found.map.apply(how.predicted(old.score), offset))
        pairs = Pairs((new, old.score), old.n, old.pos, labelling=how, clusters=old.clusters)
        lines.append(pairs.lines)
        parts[key] = pairs.models()[0][0]
    both = Pairs.merge(*(np.concatenate(column) for column in zip(*lines, strict=True)))
    both = replace(both, names=("recalibrated", "before"), labelling=data.labelling)
    return replace(data, parts=parts, bits=None, baseline=both)


def _choose_columns(data: Tallies, by: tuple[str, ...]) -> tuple[str, ...]:
    """The columns whose segments are looked at: those of the map, or all that the rows were read by."""
    return by or tuple(name for name in data.by if name not in data.windows)


class _HeldOut:
    """Rows that a map was not fitted to, before and after it, by the segments of some columns."""

    def __init__(self, by: tuple[str, ...], cluster: str | None, confidence: float = CONFIDENCE) -> None:
        self.by, self.cluster, self.confidence = by, cluster, confidence
        self.parts: dict[Segment, tuple[_Losses, _Losses, _Losses]] = {}

    def add(self, segment: Segment, tally: Tally, found: Map, offset: float) -> None:
        """Add rows of a segment, which a map with an offset is applied to."""
        p = tally.labelling.predicted(tally.score)
        own = self.parts.setdefault(segment, (_Losses(), _Losses(), _Losses()))
        own[0].add(tally, p)
        own[1].add(tally, found.apply(p, offset))
        if self.by:
            own[2].add(tally, found.apply(p))

    def compare(self, kinds: dict[str, int], how: str) -> Proof:
        """All rows before and after, and each segment."""
        before, after = (_Losses.sum(own[i] for own in self.parts.values()) for i in (0, 1))
        rows = before.tally()
        rate = min(max(rows.positives / rows.n_rows, 1e-12), 1 - 1e-12)
        constant = mean_loss(rows, rows.labelling.predicted(np.full(len(rows), rate)))
        skill = [
            1 - each.mean("log") / constant if 0 < rows.positives < rows.n_rows else math.nan
            for each in (before, after)
        ]
        return Proof(
            before=_evaluate(rows, self.cluster),
            after=_evaluate(after.tally(), self.cluster),
            log_loss=before.compare(after, "log", self.confidence),
            brier=before.compare(after, "square", self.confidence),
            kinds=kinds,
            skill=(skill[0], skill[1]),
            how=how,
            segments=self._list_segments() if self.by else None,
        )

    def _list_segments(self) -> ProofTable:
        """Each segment before and after."""
        segments = sorted(self.parts, key=lambda key: [(value is None, value) for value in key])
        confidence = 1 - (1 - self.confidence) / len(segments)
        gaps = [self.parts[key][0].compare(self.parts[key][1], "log", confidence) for key in segments]
        cells = [[CellSums.of(self.parts[key][i].tally()) for key in segments] for i in (0, 1, 2)]
        verdicts = [judge_all(each, level=SIGNIFICANCE / len(segments)) for each in cells]
        words = [
            tuple("off" if p <= SIGNIFICANCE else found.word for p, found in zip(_adjust(each), each, strict=True))
            for each in verdicts
        ]
        ratios = [np.array([found.ratio for found in each]) for each in verdicts]
        return ProofTable(
            segment=tuple(segments),
            n=np.array([found.n for found in verdicts[0]], dtype=np.int64),
            ratio_before=ratios[0],
            ratio_after=ratios[1],
            before=words[0],
            after=words[1],
            common=words[2],
            fall=np.array([gap.difference for gap in gaps]),
            low=np.array([gap.low for gap in gaps]),
            high=np.array([gap.high for gap in gaps]),
            by=self.by,
            confidence=confidence,
        )


def _adjust(verdicts: Sequence[Verdict]) -> list[float]:
    found: list[float] = adjust_p_values(np.array([each.p_value for each in verdicts]), "holm").tolist()
    return found


def _evaluate(tally: Tally, cluster: str | None) -> Result:
    found = evaluate(tally, metrics=METRICS)
    return replace(found, verdict=found.verdict and replace(found.verdict, cluster=cluster))


def _deal(data: Tallies, by: tuple[str, ...], folds: int, rng: np.random.Generator) -> tuple[list[Fold], bool]:
    """Rows in folds at random, or by windows of time in order; and whether by windows. Segments of `by` are apart."""
    if len(data.windows) == 1:
        (time,) = data.windows
        return list(_deal_windows(data, time, by).values()), True
    parts = data.over(by).parts if by else {(): data.whole()}
    return split({segment: as_cells(_rows_of(part)) for segment, part in parts.items()}, folds, rng), False


def _deal_windows(data: Tallies, time: str, by: tuple[str, ...]) -> dict[Any, Fold]:
    """Rows by windows of time in order, segments of `by` apart."""
    dealt: dict[Any, Fold] = {}
    for key, part in data.over((time, *by)).parts.items():
        dealt.setdefault(key[0], {})[key[1:]] = as_cells(_rows_of(part))
    return dealt


def _add(folds: Iterable[Fold]) -> Fold:
    found: dict[Segment, list[Tally]] = {}
    for fold in folds:
        for segment, tally in fold.items():
            found.setdefault(segment, []).append(tally)
    return {segment: add_tallies(tallies) for segment, tallies in found.items()}


class _Losses:
    """Held-out rows at their predictions: what a result and a mean loss are made of."""

    def __init__(self) -> None:
        self.parts: list[tuple[Tally, Floats]] = []

    @classmethod
    def sum(cls, parts: Iterable[_Losses]) -> _Losses:
        """The rows of all parts."""
        found = cls()
        found.parts = [pair for part in parts for pair in part.parts]
        return found

    def add(self, tally: Tally, p: Floats) -> None:
        """Add rows at other predictions."""
        self.parts.append((tally, p))

    @property
    def tallies(self) -> list[Tally]:
        """The rows at the predictions that they had."""
        return [tally for tally, _ in self.parts]

    def tally(self) -> Tally:
        """The rows grouped by their predictions."""
        labelling = self.parts[0][0].labelling
        seen = [labelling.seen(p) for _, p in self.parts]
        n, pos = (np.concatenate([getattr(tally, name) for tally in self.tallies]) for name in ("n", "pos"))
        found = merge(np.concatenate(seen), n, pos, labelling)
        own = [tally.clusters for tally in self.tallies if tally.clusters is not None]
        if not own:
            return found
        cluster, rows, positives = (
            np.concatenate([getattr(each, name) for each in own]) for name in ("cluster", "n", "pos")
        )
        place = np.concatenate([np.searchsorted(found.score, q)[each.place] for each, q in zip(own, seen, strict=True)])
        return unchecked(*found.entries, labelling, Clusters.merge(cluster, place, rows, positives))

    def losses(self, kind: str) -> list[tuple[Floats, Floats]]:
        """The loss of a positive and of a negative at each prediction."""
        seen = [tally.labelling.seen(p) for tally, p in self.parts]
        if kind == "log":
            return [log_losses(np.clip(q, 1e-15, 1 - 1e-15)) for q in seen]
        return [((1 - q) ** 2, q**2) for q in seen]

    def mean(self, kind: str) -> float:
        """The mean loss of a row."""
        none = [(np.zeros(len(tally)),) * 2 for tally in self.tallies]
        return measure_gap(self.tallies, self.losses(kind), none).mean

    def compare(self, other: _Losses, kind: str, confidence: float) -> Difference:
        """The mean difference of the rows' losses, these minus the other ones, with its interval."""
        gap = measure_gap(self.tallies, self.losses(kind), other.losses(kind))
        reach = gap.reach(confidence)
        ends = gap.mean - reach, gap.mean + reach
        return Difference(self.mean(kind), other.mean(kind), gap.mean, *ends, confidence, 0)
