"""Recalibrate a model: fit a calibration map to its predictions, and validate it on held-out rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal, Unpack

import numpy as np

from truecal import __version__, _kernel
from truecal._errors import option
from truecal._options import KindOptions, MapKind, RecalibrateOptions, WeightedOptions, check_given, declare, resolve
from truecal.analysis._evaluate import evaluate, refuse_grouped
from truecal.analysis._inputs import raise_for_data
from truecal.data import (
    Cells,
    Clusters,
    Floats,
    NoteCode,
    Observations,
    Pairs,
    Segment,
    Sorted,
    Tally,
    apply_delay,
    as_sampling,
    as_tuple,
    list_settings,
    merge,
    unchecked,
)
from truecal.inference import (
    Difference,
    Draws,
    Map,
    add_tallies,
    choose_map,
    find_effects,
    fit_map,
    log_losses,
    mean_loss,
    measure_gap,
    split,
)
from truecal.metrics import adjust_p_values
from truecal.results import ErrorChange, Recalibration, Result, Validation, ValidationMethod, ValidationTable
from truecal.verdict import Status, Verdict, judge_all

VALIDATED_METRICS = ("ltce", "log_loss", "brier", "slope", "intercept")
MOST_FOLDS = 1000  # every fold fits a map; more folds take long and hold out too few rows each
INNER_FOLDS = 5  # of the cross-validation that chooses the kind of map
FEWEST_CELLS = 10  # with fewer distinct predictions, other rows may have the same means
BATCHES, BATCH_SIZE = 20, 500  # bridges simulated under a constant error: 10,000 in all, a batch in memory at a time
NEWTON_STEPS, LARGEST_STEP = 50, 2.0  # of a segment's offset; a bounded step keeps Newton's method from overshooting
CLIP_BOUNDS = 1e-15, 1 - 1e-15  # bounds of predictions for the log loss, which is infinite at 0 and 1
VALIDATION_CONFIDENCE = 0.95
SIGNIFICANCE = 0.05
Fold = dict[Segment, Tally]  # rows by segment; one segment () if there are none


@declare(first=(KindOptions, RecalibrateOptions))
def recalibrate(
    y_true: Any,
    y_prob: Any = None,
    kind: MapKind | Literal["auto"] = "auto",
    **options: Unpack[RecalibrateOptions],
) -> Recalibration:
    """Fit a calibration map to predictions, and validate it on rows that it was not fitted to.

    Parameters
    ----------
    y_true, y_prob : arrays or Observations
        Labels and predictions; or in their place `Observations`, as `truecal.read` returns them. Observations with a
        time are validated forward in time: each period by a map of the periods before it.

    Examples
    --------
    >>> import numpy as np, truecal
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(2, 2, size=5000)
    >>> y = rng.random(5000) < p
    >>> truecal.recalibrate(y, p).status              # the model is calibrated
    'not needed'
    """
    options = resolve(recalibrate, options)
    check_given(recalibrate, kind=kind)
    folds, random_state = options["folds"], options["random_state"]
    if folds == 1:
        raise ValueError(f"{option('folds')} must be a whole number, 2 or more, or 0 for no validation; it is 1.")
    if folds > MOST_FOLDS:
        raise ValueError(f"{option('folds')} must be at most {MOST_FOLDS:,}; it is {folds:,}.")
    legacy = isinstance(random_state, np.random.RandomState)
    rng = np.random.default_rng(Draws(1, random_state).seeds() if legacy else random_state)
    data = _as_observations(y_true, y_prob, options)
    names, whole = as_tuple(options["by"]), data.pooled().sorted
    for name in names:
        if name not in data.by or name in data.periods:
            raise ValueError(f"{option('by')} must name columns that the data were read by; {name!r} is none.")
    parts = {key: part.tally for key, part in data.group_by(names).parts.items()} if names else {}
    common, offsets = _fit_with_offsets(kind, whole, parts, rng)
    return Recalibration(
        map=common,
        n=whole.n_rows,
        positives=whole.positives,
        means=_take_means(whole),
        by=names,
        segments=tuple(parts),
        offsets=np.array([offsets.get(key, 0.0) for key in parts]),
        label=data.label or None,
        score=data.score or None,
        validation=_validate(data, names, kind, folds, rng) if folds else None,
        contradicted=_count_contradicting_labels(whole),
        error_change=_find_error_change(common, offsets, data, names),
        weighted=data.weighted,
        notes=tuple(note for note in data.notes if note.code != NoteCode.IMPORTANCE_WEIGHTED),
        version=__version__,
    )


def _as_observations(y_true: Any, y_prob: Any, options: WeightedOptions) -> Observations:
    """Return what is given as observations; arrays have no names."""
    sample_weight, pos_label, cluster = options["sample_weight"], options["pos_label"], options["cluster"]
    sampling = as_sampling(options["sampling"])
    if isinstance(y_true, Observations):
        given = {"y_prob": y_prob, "sample_weight": sample_weight, "pos_label": pos_label, "cluster": cluster}
        refuse_grouped(given | list_settings(sampling))
        return y_true
    if y_prob is None or isinstance(y_prob, str):
        raise_for_data("recalibrate", y_true, y_prob)
    column, sampling = apply_delay(y_prob, sampling)
    tally = Tally.from_arrays(y_true, column, sample_weight, pos_label, sampling, cluster)
    return Observations("", "", {(): tally}, cluster=None if cluster is None else "cluster")


def _count_contradicting_labels(whole: Sorted) -> int:
    """Count the positives at predictions of 0, and the negatives at predictions of 1."""
    none, all_ = whole.sampling.to_sampled(np.array([0.0, 1.0]))
    first, last = (_kernel.locate(whole.entries, np.array([p]), after)[0] for p, after in ((none, True), (all_, False)))
    n, k = _kernel.count(whole.entries, np.array([0, first, last, len(whole)]))
    return int(k[0] + n[2] - k[2])


def _take_means(whole: Sorted) -> tuple[float, float] | None:
    """Return the mean predictions of rows and of positives, which identify the rows; None if few are distinct."""
    cells = Cells.of(whole)
    if len(cells) < FEWEST_CELLS or not whole.positives:
        return None
    return float(cells.n @ cells.p) / whole.n_rows, float(cells.pos @ cells.p) / whole.positives


def refuse_fitted(recalibration: Recalibration, data: Observations) -> None:
    """Refuse to validate a map on the rows that it was fitted to."""
    whole = data.pooled().sorted
    if recalibration.means is None or (whole.n_rows, whole.positives) != (recalibration.n, recalibration.positives):
        return
    means = _take_means(whole)
    # sums over the same rows in another order differ in their last digits
    if means is not None and np.allclose(means, recalibration.means, rtol=1e-9, atol=0):
        raise ValueError(
            "A map must be validated on other rows than those it was fitted to, on which any map looks good; these "
            f"are the same {whole.n_rows:,} rows, with {whole.positives:,} positives and the same mean predictions.\n\n"
            "Hint: `recalibrate` itself validates the map on rows that it holds out."
        )


def _fit_with_offsets(
    kind: MapKind | Literal["auto"], whole: Sorted, parts: dict[Segment, Tally], rng: np.random.Generator
) -> tuple[Map, dict[Segment, float]]:
    """Fit the common map, of the kind that is best for held-out rows if "auto", and the offsets of segments."""
    if kind == "auto":
        folds = split({(): as_cells(whole)}, INNER_FOLDS, rng)
        common = choose_map(whole, [fold[()] for fold in folds], steps=whole.sampling.plain)
    else:
        common = fit_map(whole, kind)
    return common, _fit_offsets(common, parts)


def as_cells(data: Sorted) -> Tally:
    """Return the same rows with one score for each cell of 12 bits, its mean."""
    cells = Cells.of(data)
    tally = merge(cells.p, cells.n, cells.pos, data.sampling)
    if data.clusters is None:
        return tally
    clusters = data.clusters.move(np.searchsorted(tally.score, cells.p)[cells.cell_of(data.tally)])
    return unchecked(*tally.entries, data.sampling, clusters)


def _fit_offsets(common: Map, parts: dict[Segment, Tally]) -> dict[Segment, float]:
    """Return the offsets of segments on the log-odds, shrunk by the variance between segments.

    With E and v the mean and variance of a segment's positives k under the common map, and D its design effect, the
    offset (k - E) / v has a variance of 1 / w = D / v beside tau^2, how far segments differ (DerSimonian and Laird
    1986): tau^2 = (sum of w times the squares about the mean - (segments - 1)) / (sum of w - sum of w^2 / sum of w), 0
    at least. An offset d then solves k - E(d) = D d / tau^2.
    """
    if len(parts) < 2:
        return {}
    sums = [_sum_expected(common, tally, 0.0) for tally in parts.values()]
    k = np.array([tally.positives for tally in parts.values()], dtype=np.float64)
    expected, v = np.array(sums).T
    effects = find_effects(list(parts.values()))
    spread = _find_spread(*(column[v > 0] for column in ((k - expected) / np.maximum(v, 1e-300), v / effects)))
    if spread <= 0:
        return {}
    offsets = {}
    for (key, tally), effect in zip(parts.items(), effects, strict=True):
        d, penalty = 0.0, effect / spread
        for _ in range(NEWTON_STEPS):
            mean, information = _sum_expected(common, tally, d)
            step = (tally.positives - mean - penalty * d) / (information + penalty)
            d += min(max(step, -LARGEST_STEP), LARGEST_STEP)
            if abs(step) < 1e-10:  # the error after a step is about its square
                break
        offsets[key] = d
    return offsets


def _find_spread(offsets: Floats, w: Floats) -> float:
    """Return the variance of offsets between segments, beyond their sampling variance."""
    if len(offsets) < 2:
        return 0.0
    centred = offsets - (w @ offsets) / w.sum()
    return float((w @ centred**2 - (len(w) - 1)) / (w.sum() - w @ w / w.sum()))


def _sum_expected(common: Map, tally: Tally, offset: float) -> tuple[float, float]:
    """Return the labelled positives that a map with an offset expects, and the derivative by the offset."""
    p = common.apply(tally.sampling.to_population(tally.score), offset)
    q, slope = tally.sampling.to_sampled(p), tally.sampling.slope(p) if not tally.sampling.plain else np.ones(len(p))
    return float(np.sum(tally.n * q)), float(np.sum(tally.n * slope * p * (1 - p)))


def _find_error_change(
    common: Map, offsets: dict[Segment, float], data: Observations, by: tuple[str, ...]
) -> ErrorChange | None:
    """Return the change over time of the error that a map leaves, at its change point; None if not significant.

    The score of an offset is summed from the first period on. Less its share of the total it is a bridge, 0 at both
    ends, whose largest value is compared with those of bridges under a constant error: of normal steps with the same
    variances, which are larger by the mean design effect of periods if rows are in clusters.
    """
    if len(data.periods) != 1:
        return None
    ((time, every),) = data.periods.items()
    periods = _split_periods(data, time, by)
    sums = np.array([_sum_scores(common, offsets, fold) for fold in periods.values()])
    if len(periods) < 2 or not sums[:, 1].sum() > 0:
        return None
    effects = np.array(find_effects([add_tallies(list(fold.values())) for fold in periods.values()]))
    score, variance = sums[:, 0], sums[:, 1] * (effects @ sums[:, 1] / sums[:, 1].sum())
    share = np.cumsum(variance) / variance.sum()
    bridge = np.abs(np.cumsum(score) - share * score.sum())
    rng, reached = np.random.default_rng(0), 0
    for _ in range(BATCHES):
        drawn = np.cumsum(rng.standard_normal((BATCH_SIZE, len(share))) * np.sqrt(variance), axis=1)
        reached += int(np.sum(np.abs(drawn - share * drawn[:, -1:]).max(axis=1) >= bridge.max()))
    p_value = (1 + reached) / (1 + BATCHES * BATCH_SIZE)
    if p_value > SIGNIFICANCE:
        return None
    change = int(np.argmax(bridge)) + 1
    early, late = (np.sum(counts, axis=0) for counts in (sums[:change, 2:], sums[change:, 2:]))
    return ErrorChange(
        period=list(periods)[change],
        every=every,
        p_value=p_value,
        ratio_before=float(early[0] / early[1]),
        ratio_since=float(late[0] / late[1]),
    )


def _sum_scores(common: Map, offsets: dict[Segment, float], fold: Fold) -> tuple[float, float, float, float]:
    """Return the score of an offset beyond the map and its variance, and the observed and expected positives."""
    score = variance = expected = 0.0
    for key, tally in fold.items():
        sampling, n, k = tally.sampling, tally.n, tally.pos
        p = common.apply(sampling.to_population(tally.score), offsets.get(key, 0.0))
        q = sampling.to_sampled(p)
        v = q * (1 - q)
        weight = (v > 0) * 1.0 if sampling.plain else sampling.slope(p) * p * (1 - p) / np.maximum(v, 1e-300)
        score += float(np.sum(weight * (k - n * q)))
        variance += float(np.sum(weight**2 * n * v))
        expected += float(np.sum(n * q))
    return score, variance, float(sum(tally.positives for tally in fold.values())), expected


# ---- held-out validation -------------------------------------------------------------------------------------------


def _validate(
    data: Observations, by: tuple[str, ...], kind: MapKind | Literal["auto"], folds: int, rng: np.random.Generator
) -> Validation | None:
    """Fit to some rows, apply to others, and compare; None if there are too few rows to hold any out."""
    columns = _choose_columns(data, by)
    splits, forward = _split_rows(data, columns, folds, rng)
    first = 1 if forward else 0  # no map precedes the first period
    if len(splits) < 2:
        return None
    kinds: Counter[str] = Counter()
    rows = _HeldOut(columns, data.cluster)
    for i in range(first, len(splits)):
        train = _merge_folds(splits[:i] if forward else splits[:i] + splits[i + 1 :])
        whole = add_tallies(list(train.values()))
        common, offsets = _fit_with_offsets(kind, whole, train if by else {}, rng)
        kinds[common.kind] += 1
        for segment, tally in splits[i].items():
            rows.add(segment, tally, common, offsets.get(segment, 0.0))
    validation = rows.compare(dict(kinds), ValidationMethod.FORWARD if forward else ValidationMethod.FOLDS)
    return replace(validation, parts=len(splits) - first, cluster=None if forward else data.cluster)


def validate_on(
    recalibration: Recalibration,
    data: Observations,
    source: str | None = None,
    confidence: float = VALIDATION_CONFIDENCE,
) -> Validation:
    """Validate a recalibration on separate rows, which `source` names."""
    refuse_fitted(recalibration, data)
    find_offset = _index_offsets(recalibration)
    columns = _choose_columns(data, recalibration.by)
    rows = _HeldOut(columns, data.cluster, confidence)
    for segment, part in (data.group_by(columns).parts if columns else {(): data.pooled()}).items():
        offset = find_offset(segment) if recalibration.by else 0.0
        rows.add(segment, as_cells(part.sorted), recalibration.map, offset)
    return replace(rows.compare({recalibration.kind: 1}, ValidationMethod.SEPARATE), source=source)


def _index_offsets(recalibration: Recalibration) -> Callable[[Segment], float]:
    """What finds the offset of a segment. Text files tell numbers from words by all of their rows, so a number of one
    file may be text in another."""
    offsets = dict(zip(recalibration.segments, recalibration.offsets.tolist(), strict=True))
    texts = {_as_texts(segment): offset for segment, offset in offsets.items()}
    return lambda segment: offsets.get(segment, texts.get(_as_texts(segment), 0.0))


def _as_texts(segment: Segment) -> Segment:
    return tuple(value if value is None else str(value) for value in segment)


def recalibrate_observations(recalibration: Recalibration, data: Observations) -> Observations:
    """Return the same rows with recalibrated predictions; those before are the baseline."""
    lacking = [name for name in recalibration.by if name not in data.by]
    if lacking:
        names, read = (", ".join(map(repr, columns)) for columns in (lacking, data.by))
        raise ValueError(
            f"{option('by')} must name {names}, too: the map has an offset for each value; it names {read or 'none'}."
        )
    if data.weighted:
        raise ValueError(f"{option('importance_weight')} cannot be used when a map is applied to observations.")
    indices = [data.by.index(name) for name in recalibration.by]
    find_offset = _index_offsets(recalibration)
    parts: dict[Segment, Tally] = {}
    lines = []
    for key, part in data.parts.items():
        old, sampling = part.tally, part.sampling
        offset = find_offset(tuple(key[index] for index in indices)) if recalibration.by else 0.0
        new = sampling.to_sampled(recalibration.map.apply(sampling.to_population(old.score), offset))
        pairs = Pairs((new, old.score), old.n, old.pos, sampling=sampling, clusters=old.clusters)
        lines.append(pairs.lines)
        parts[key] = pairs.models()[0][0]
    both = Pairs.merge(*(np.concatenate(column) for column in zip(*lines, strict=True)))
    both = replace(both, names=("recalibrated", "before"), sampling=data.sampling)
    return replace(data, parts=parts, bits=None, baseline=both)


def count_unknown(recalibration: Recalibration, data: Observations) -> int:
    """Count the rows of segments that the map has no offset for."""
    known = set(recalibration.segments)
    grouped = data.group_by(recalibration.by) if recalibration.by else data
    return sum(part.n_rows for key, part in grouped.parts.items() if recalibration.by and key not in known)


def _choose_columns(data: Observations, by: tuple[str, ...]) -> tuple[str, ...]:
    """Return the columns whose segments are validated: those of the map, or all that the rows were read by."""
    return by or tuple(name for name in data.by if name not in data.periods)


class _HeldOut:
    """Rows that a map was not fitted to, before and after it, by the segments of some columns."""

    def __init__(self, by: tuple[str, ...], cluster: str | None, confidence: float = VALIDATION_CONFIDENCE) -> None:
        self.by, self.cluster, self.confidence = by, cluster, confidence
        # before, after, and after the common map alone
        self.segments: dict[Segment, tuple[_Losses, _Losses, _Losses]] = {}

    def add(self, segment: Segment, tally: Tally, common: Map, offset: float) -> None:
        """Add rows of a segment, which a map with an offset is applied to."""
        p = tally.sampling.to_population(tally.score)
        before, after, by_common = self.segments.setdefault(segment, (_Losses(), _Losses(), _Losses()))
        before.add(tally, p)
        after.add(tally, common.apply(p, offset))
        if self.by:
            by_common.add(tally, common.apply(p))

    def compare(self, kinds: dict[str, int], method: ValidationMethod) -> Validation:
        """Compare all rows before and after, and each segment."""
        before, after = (_Losses.sum(losses[i] for losses in self.segments.values()) for i in (0, 1))
        rows = before.tally()
        rate = min(max(rows.positives / rows.n_rows, 1e-12), 1 - 1e-12)
        constant = mean_loss(rows, rows.sampling.to_population(np.full(len(rows), rate)))
        skill = [
            1 - losses.mean("log") / constant if 0 < rows.positives < rows.n_rows else math.nan
            for losses in (before, after)
        ]
        return Validation(
            before=_evaluate_held_out(rows, self.cluster),
            after=_evaluate_held_out(after.tally(), self.cluster),
            log_loss=before.compare(after, "log", self.confidence),
            brier=before.compare(after, "square", self.confidence),
            kinds=kinds,
            skill=(skill[0], skill[1]),
            method=method,
            segments=self._list_segments() if self.by else None,
        )

    def _list_segments(self) -> ValidationTable:
        """Compare each segment before and after."""
        segments = sorted(self.segments, key=lambda key: [(value is None, value) for value in key])  # null last
        confidence = 1 - (1 - self.confidence) / len(segments)  # simultaneous (Bonferroni)
        gaps = [self.segments[key][0].compare(self.segments[key][1], "log", confidence) for key in segments]
        cells = [[Cells.of(self.segments[key][i].tally()) for key in segments] for i in (0, 1, 2)]
        verdicts = [judge_all(state, level=SIGNIFICANCE / len(segments)) for state in cells]
        before, after, common = (_adjust_statuses(state) for state in verdicts)
        ratios = [np.array([verdict.ratio for verdict in state]) for state in verdicts]
        return ValidationTable(
            segment=tuple(segments),
            n=np.array([verdict.n for verdict in verdicts[0]], dtype=np.int64),
            ratio_before=ratios[0],
            ratio_after=ratios[1],
            before=before,
            after=after,
            common=common,
            reduction=np.array([gap.difference for gap in gaps]),
            low=np.array([gap.low for gap in gaps]),
            high=np.array([gap.high for gap in gaps]),
            by=self.by,
            confidence=confidence,
        )


def _adjust_statuses(verdicts: Sequence[Verdict]) -> tuple[Status, ...]:
    """Return the statuses of segments by Holm-adjusted p-values."""
    adjusted = adjust_p_values(np.array([verdict.p_value for verdict in verdicts]), "holm").tolist()
    return tuple(
        Status.MISCALIBRATED if p <= SIGNIFICANCE else verdict.status
        for p, verdict in zip(adjusted, verdicts, strict=True)
    )


def _evaluate_held_out(tally: Tally, cluster: str | None) -> Result:
    """Evaluate held-out rows; the verdict names their cluster column."""
    result = evaluate(tally, metrics=VALIDATED_METRICS)
    return replace(result, verdict=result.verdict and replace(result.verdict, cluster=cluster))


def _split_rows(
    data: Observations, by: tuple[str, ...], folds: int, rng: np.random.Generator
) -> tuple[list[Fold], bool]:
    """Split rows into folds at random, or into periods in order; and say whether into periods."""
    if len(data.periods) == 1:
        (time,) = data.periods
        return list(_split_periods(data, time, by).values()), True
    parts = data.group_by(by).parts if by else {(): data.pooled()}
    return split({segment: as_cells(part.sorted) for segment, part in parts.items()}, folds, rng), False


def _split_periods(data: Observations, time: str, by: tuple[str, ...]) -> dict[Any, Fold]:
    """Split rows into periods in order, each by the segments of `by`."""
    periods: dict[Any, Fold] = {}
    for key, part in data.group_by((time, *by)).parts.items():
        periods.setdefault(key[0], {})[key[1:]] = as_cells(part.sorted)
    return periods


def _merge_folds(folds: Iterable[Fold]) -> Fold:
    """Return the rows of several folds, by segment."""
    by_segment: dict[Segment, list[Tally]] = {}
    for fold in folds:
        for segment, tally in fold.items():
            by_segment.setdefault(segment, []).append(tally)
    return {segment: add_tallies(tallies) for segment, tallies in by_segment.items()}


class _Losses:
    """Held-out rows at some predictions, for a result and a mean loss."""

    def __init__(self) -> None:
        self.rows: list[tuple[Tally, Floats]] = []  # rows at their original predictions, and other predictions

    @classmethod
    def sum(cls, several: Iterable[_Losses]) -> _Losses:
        """Return the rows of several together."""
        total = cls()
        total.rows = [pair for losses in several for pair in losses.rows]
        return total

    def add(self, tally: Tally, p: Floats) -> None:
        """Add rows at other predictions."""
        self.rows.append((tally, p))

    @property
    def tallies(self) -> list[Tally]:
        """The rows at their original predictions."""
        return [tally for tally, _ in self.rows]

    def tally(self) -> Tally:
        """Return the rows grouped by their new predictions."""
        sampling = self.rows[0][0].sampling
        seen = [sampling.to_sampled(p) for _, p in self.rows]
        n, pos = (np.concatenate([getattr(tally, name) for tally in self.tallies]) for name in ("n", "pos"))
        tally = merge(np.concatenate(seen), n, pos, sampling)
        clusters = [old.clusters for old in self.tallies if old.clusters is not None]
        if not clusters:
            return tally
        cluster, rows, positives = (
            np.concatenate([getattr(one, name) for one in clusters]) for name in ("cluster", "n", "pos")
        )
        indices = [np.searchsorted(tally.score, q)[one.position] for one, q in zip(clusters, seen, strict=True)]
        return unchecked(*tally.entries, sampling, Clusters.merge(cluster, np.concatenate(indices), rows, positives))

    def losses(self, kind: str) -> list[tuple[Floats, Floats]]:
        """Return the loss of a positive and of a negative at each prediction."""
        seen = [tally.sampling.to_sampled(p) for tally, p in self.rows]
        if kind == "log":
            return [log_losses(np.clip(q, *CLIP_BOUNDS)) for q in seen]
        return [((1 - q) ** 2, q**2) for q in seen]

    def mean(self, kind: str) -> float:
        """Return the mean loss of a row."""
        none = [(np.zeros(len(tally)),) * 2 for tally in self.tallies]
        return measure_gap(self.tallies, self.losses(kind), none).mean

    def compare(self, other: _Losses, kind: str, confidence: float) -> Difference:
        """Return the mean difference of the rows' losses, these minus the other ones, with its interval."""
        gap = measure_gap(self.tallies, self.losses(kind), other.losses(kind))
        reach = gap.reach(confidence)
        ends = gap.mean - reach, gap.mean + reach
        return Difference(self.mean(kind), other.mean(kind), gap.mean, *ends, confidence, 0)
