"""What users' own binnings, tests, losses and norms return is checked; nothing reaches the kernel unchecked."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from truecal import Tally, _kernel
from truecal.data import Cells, sort_rows
from truecal.metrics import (
    METRICS,
    Binned,
    Binomial,
    Gap,
    Max,
    Mean,
    Metric,
    MidP,
    NonEmptyBins,
    Partition,
    PointwiseTest,
    Quantile,
    Uniform,
    bin_once,
    compute,
    grid_bounds,
)
from truecal.metrics._decisions import Continuous

LABELS = [0, 1, 0, 1, 1, 0, 1, 1]
SCORES = [0.1, 0.2, 0.3, 0.4, 0.4, 0.6, 0.7, 0.8]
ROWS = sort_rows(LABELS, SCORES)
TALLY = ROWS.tally
RIGHT = Partition(np.array([0, 3, 5, 8]), np.array([3, 2, 3]), np.array([1, 2, 2]), np.array([0.0, 0.35, 0.5, 1.0]))


@dataclass(frozen=True, eq=False)
class Own:
    """A binning that returns what it was given."""

    given: object

    def partition(self, data):
        return self.given


def changed(**columns):
    return replace(RIGHT, **{name: np.asarray(column) for name, column in columns.items()})


def test_a_right_partition_of_ones_own_is_taken():
    # the same bins as their edges: a gap is |k - sum of scores| / 8 a bin
    expected = (abs(1 - 0.6) + abs(2 - 0.8) + abs(2 - 2.1)) / 8
    assert Metric(Own(RIGHT), Gap())(ROWS) == pytest.approx(expected, abs=1e-15)
    narrow = replace(RIGHT, starts=RIGHT.starts.astype(np.int32), n=RIGHT.n.tolist(), k=RIGHT.k.astype(np.uint8))
    assert Metric(Own(narrow), Gap())(ROWS) == Metric(Own(RIGHT), Gap())(ROWS)
    assert Metric(Own(narrow), PointwiseTest())(ROWS) == Metric(Own(RIGHT), PointwiseTest())(ROWS)


WRONG = {
    "None": (None, "must return a `Partition`; Own returns NoneType"),
    "far": (changed(starts=[0, 3, 5, 10**9]), "must go from 0 to 8, the number of entries; Own returns [0] to [1000000000]"),
    "off by one": (changed(starts=[0, 3, 5, 9]), "must go from 0 to 8"),
    "negative": (changed(starts=[-1, 3, 5, 8]), "must go from 0 to 8"),
    "inner far": (changed(starts=[0, 10**9, 5, 8]), "`starts` of a partition must not decrease"),
    "decreasing": (changed(starts=[0, 5, 3, 8]), "`starts` of a partition must not decrease; Own returns 5 at bin 2 of 3"),
    "floats": (changed(starts=[0.0, 3, 5, 8]), "`starts` of a partition must be a column of whole numbers; Own returns float64"),
    "matrix": (changed(starts=[[0, 3, 5, 8]]), "must be a column of whole numbers; Own returns int64 of shape (1, 4)"),
    "no starts": (replace(RIGHT, starts=None), "must be a column of whole numbers; Own returns NoneType"),
    "empty": (changed(starts=np.empty(0, int)), "must go from 0 to 8"),
    "tie cut": (changed(starts=[0, 4, 5, 8], n=[4, 1, 3], k=[2, 1, 2]), "must not separate equal scores; Own returns 0.4"),
    "few n": (changed(n=[3, 2]), "`n` of a partition of 3 bins must hold 3 values; Own returns 2"),
    "wrong n": (changed(n=[3, 3, 3]), "`n` of a partition must count the rows of each bin; Own returns 3 at bin 2 of 3"),
    "wrong k": (changed(k=[1, 1, 2]), "`k` of a partition must count the positives of each bin; Own returns 1 at bin 2"),
    "few edges": (changed(edges=[0, 0.5, 1]), "`edges` of a partition of 3 bins must hold 4 values; Own returns 3"),
    "edges of NaN": (changed(edges=[0, np.nan, 0.5, 1]), "must be numbers that do not decrease"),
    "edges elsewhere": (changed(edges=[0, 0.1, 0.5, 1]), "must enclose the scores of each bin; Own returns 0.0 at bin 1"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
@pytest.mark.parametrize("loss", [Gap(), PointwiseTest()])
def test_a_wrong_partition_is_refused(case, loss):
    given, message = WRONG[case]
    for compute_it in (
        lambda metric: metric(ROWS),
        lambda metric: compute(metric, LABELS, SCORES),
        lambda metric: bin_once(ROWS, {"own": metric}),
    ):
        with pytest.raises((ValueError, TypeError)) as raised:
            compute_it(Metric(Own(given), loss))
        assert message in str(raised.value)


def test_a_wrong_partition_of_cells_is_refused():
    cells = Cells.grid(TALLY, 8)
    metric = Metric(Quantile(2), PointwiseTest())
    right = Quantile(2).partition(cells.tally)
    assert grid_bounds(cells, metric, right) == grid_bounds(cells, metric)
    with pytest.raises(ValueError, match="must go from 0 to 7"):
        grid_bounds(cells, metric, replace(right, starts=np.array([0, 3, 10**9])))


def test_a_partition_in_the_wrong_hands_is_refused_by_the_kernel():
    bins = Binned(ROWS, changed(starts=[0, 3, 5, 10**9]))
    with pytest.raises(ValueError, match="positions must lie within the entries"):
        _ = bins.score_sums
    with pytest.raises(ValueError, match="positions must lie within the entries"):
        bins.rejected(Binomial(), 0.05, None)


@dataclass(frozen=True)
class Changed:
    """A test that answers as the binomial one, but for one method, whose answer is changed."""

    method: str
    change: object

    def __getattr__(self, name):
        def answer(*args, **options):
            found = getattr(Binomial(), name)(*args, **options)
            return self.change(found) if name == self.method else found

        if name not in ("p_value", "cuts", "safe_cuts", "rejects", "accepted"):
            raise AttributeError(name)
        return answer


def test_a_right_test_of_ones_own_is_taken():
    same = Changed("cuts", lambda found: found)
    for tolerance in (None, 0.05):
        ours, theirs = (Metric(Uniform(2), PointwiseTest(test, 0.3, tolerance)) for test in (Binomial(), same))
        assert theirs(TALLY) == ours(TALLY)


def nan_in(cuts):
    cuts = cuts.copy()
    cuts[0, 2] = np.nan
    return cuts


WRONG_CUTS = {
    "none": (lambda found: None, "`cuts` of a test must return 3 arrays; Changed returns NoneType"),
    "two": (lambda found: found[:2], "must return 3 arrays; Changed returns 2"),
    "three cuts": (lambda found: (found[0][:, :3], *found[1:]), r"cuts as numbers of shape (2, 6); Changed returns float64 of shape (2, 3)"),
    "one bin": (lambda found: (found[0][:1], *found[1:]), "cuts as numbers of shape (2, 6)"),
    "flat": (lambda found: (found[0].ravel(), *found[1:]), "cuts as numbers of shape (2, 6)"),
    "NaN": (lambda found: (nan_in(found[0]), *found[1:]), "must be numbers; Changed returns nan for bin 1"),
    "unordered": (lambda found: (found[0][:, ::-1], *found[1:]), "must not decrease from the first to the sixth"),
    "reach of another shape": (lambda found: (found[0], found[1][:, :1], found[2]), "reach as numbers of shape (2, 6)"),
    "reach below 0": (lambda found: (found[0], found[1] - 1, found[2]), "must be 0 or more; Changed returns -"),
    "reach of NaN": (lambda found: (found[0], nan_in(found[1]), found[2]), "must be 0 or more; Changed returns nan"),
    "fragile of another length": (lambda found: (*found[:2], np.zeros(3, bool)), "fragile as booleans of shape (2,)"),
    "fragile of floats": (lambda found: (*found[:2], np.zeros(2)), "fragile as booleans of shape (2,)"),
    "text": (lambda found: (found[0].astype(str), *found[1:]), "cuts as numbers of shape (2, 6); Changed returns <U"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG_CUTS)
@pytest.mark.parametrize("tolerance", [None, 0.05])
def test_wrong_cuts_are_refused(case, tolerance):
    change, message = WRONG_CUTS[case]
    metric = Metric(Uniform(2), PointwiseTest(Changed("cuts", change), tolerance=tolerance))
    with pytest.raises((ValueError, TypeError)) as raised:
        metric(TALLY)
    assert message in str(raised.value)


def test_wrong_safe_cuts_p_values_and_ends_are_refused():
    def wide(found):  # every score is within reach, so the safe cuts are asked for
        return found[0], np.ones_like(found[1]), found[2]

    class Wide(Changed):
        def __getattr__(self, name):
            found = super().__getattr__(name)
            return (lambda *args: wide(found(*args))) if name == "cuts" else found

    with pytest.raises(TypeError, match="`safe_cuts` of a test must return 2 arrays; Wide returns 1"):
        Metric(Uniform(2), PointwiseTest(Wide("safe_cuts", lambda found: found[:1])))(TALLY)
    bins = NonEmptyBins([Binned(TALLY, Uniform(2).partition(TALLY))])
    with pytest.raises(ValueError, match=r"must lie in \[0, 1\]; Changed returns 2.0 for bin 1"):
        PointwiseTest(Changed("p_value", lambda found: found * 0 + 2)).p_values(bins)
    with pytest.raises(TypeError, match=r"ends as numbers of shape \(2,\)"):
        PointwiseTest(Changed("accepted", lambda found: (found[0][:1], found[1]))).accepted(bins)


def test_what_safe_cuts_leave_open_is_decided_by_the_tests_own_p_value():
    class Open(Changed):
        """Nothing is certain, and the p-value is 1: nothing is rejected. The binomial test rejects here."""

        def __getattr__(self, name):
            found = super().__getattr__(name)
            nothing, all_ = np.array([[1.0] * 6]), np.array([[0.0] * 3 + [1.0] * 3])
            return {
                "cuts": lambda *args: (found(*args)[0], np.ones_like(found(*args)[1]), found(*args)[2]),
                "safe_cuts": lambda *args: (nothing, all_),
                "p_value": lambda k, n, p: np.ones(np.shape(p)),
            }.get(name, found)

    far = Tally(np.array([0.001, 0.01]), np.array([50, 50]), np.array([50, 50]))
    assert Metric(Uniform(1), PointwiseTest())(far) == 100
    assert Metric(Uniform(1), PointwiseTest(Open("", None)))(far) == 0


@pytest.mark.parametrize("value", [np.nan, 1.5, None, "0.5"])
def test_a_p_value_of_ones_own_must_be_one(value):
    @dataclass(frozen=True)
    class Odd(Continuous):
        def p_value(self, k, n, p):
            return np.full(np.shape(p), value)

    with pytest.raises((ValueError, TypeError), match="`p_value` of a test must"):
        Metric(Uniform(2), PointwiseTest(Odd()))(TALLY)


@pytest.mark.parametrize("value", [np.nan, None, "much", np.zeros(2)])
def test_a_norm_must_give_a_number(value):
    @dataclass(frozen=True)
    class Odd:
        def __call__(self, n, loss):
            return value

    metric = Metric(Uniform(2), Gap(), Odd())
    for compute_it in (lambda: metric(TALLY), lambda: compute(metric, LABELS, SCORES)):
        with pytest.raises(ValueError, match="A norm must give a number; Odd gives"):
            compute_it()


def test_parts_that_cannot_be_keys_are_refused():
    class Loose(Uniform):
        __hash__ = None

    class LooseTest(MidP):
        __hash__ = None

    with pytest.raises(
        TypeError, match="`binning` must be hashable; Loose is not.\n\nHint: make it a frozen dataclass"
    ):
        Metric(Loose(), Gap())
    with pytest.raises(TypeError, match="`test` must be hashable; LooseTest is not"):
        PointwiseTest(LooseTest())


def test_parts_derived_from_ours_are_asked_themselves():
    @dataclass(frozen=True)
    class Two(Uniform):
        def partition(self, data):
            return Uniform(2).partition(data)

    @dataclass(frozen=True)
    class Half(Gap):
        def __call__(self, bins):
            return Gap()(bins) / 2

    plain = compute(Metric(Uniform(2), Gap()), LABELS, SCORES)
    assert compute(Metric(Two(), Gap()), LABELS, SCORES) == plain
    assert compute(Metric(Uniform(2), Half()), LABELS, SCORES) == plain / 2


ENTRIES = {"rows": ROWS.entries, "tally": TALLY.entries}
FAR = [-1, 9, 10**9, 2**62, -(2**62)]


@pytest.mark.parametrize("layout", ENTRIES)
@pytest.mark.parametrize("at", FAR)
def test_the_kernel_stays_within_its_arrays(layout, at):
    entries, place = ENTRIES[layout], np.array([0, at])
    zeros, one = np.zeros(6), np.array([at])
    calls = [
        lambda: _kernel.count(entries, place),
        lambda: _kernel.score_sums(entries, place),
        lambda: _kernel.rows_before(entries, place),
        lambda: _kernel.scores_at(entries, place),
        lambda: _kernel.edges_between(entries, place),
        lambda: _kernel.binomial_rejected(entries, place, one * 0, one * 0, 0.05, 0.0),
        lambda: _kernel.place(entries, zeros, zeros, np.zeros(1, int), one),
        lambda: _kernel.place(entries, zeros, zeros, one, np.zeros(1, int)),
        lambda: _kernel.locate_within(entries, zeros, np.zeros(1, int), one),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="within the entries"):
            call()


def test_the_kernel_demands_equal_lengths():
    one, two, three = np.ones(1), np.ones(2), np.ones(3)
    n1, n2, n4 = np.ones(1, int), np.ones(2, int), np.ones(4, int)
    key, yes = np.zeros(3, np.int64), np.ones(2, bool)
    calls = [
        lambda: _kernel.locate_within(TALLY.entries, three, n2 * 0, n2),
        lambda: _kernel.locate_within(TALLY.entries, two, n2 * 0, n2),
        lambda: _kernel.pack(three, yes, key),
        lambda: _kernel.pack(two, yes, key),
        lambda: _kernel.pack_sorted(three, yes, key, 1),
        lambda: _kernel.pack_sorted(two, yes, key, 1),
        lambda: _kernel.pack_sorted(two, yes, np.zeros(2, int), 0),
        lambda: _kernel.fixed_bins(three, yes, np.array([0.0, 1.0]), 1),
        lambda: _kernel.fixed_bins(two, yes, np.array([0.5, 1.0]), 1),
        lambda: _kernel.fixed_bins(two, yes, np.array([0.0]), 1),
        lambda: _kernel.fixed_bins(two, yes, np.array([0.0, 1.0]), 0),
        lambda: _kernel.mean_gap(two, yes, np.array([0.0]), 1),
        lambda: _kernel.mean_gap(two[:0], yes[:0], np.array([0.0, 1.0]), 1),
        lambda: _kernel.square_rows(three, yes, 1),
        lambda: _kernel.square_rows(two, yes, 0),
        lambda: _kernel.collapse(np.array([1, 3, 5]), None, one, n1, n1),
        lambda: _kernel.collapse(key, n2, three, np.ones(3, int), np.ones(3, int)),
        lambda: _kernel.count_rows(three, yes, np.zeros(8, int), 0),
        lambda: _kernel.count_rows(two, yes, np.zeros(6, int), 0),
        lambda: _kernel.move_slots(np.zeros(3, int), np.zeros(8, int)),
        lambda: _kernel.check_csv(np.zeros(3, np.uint8), 44, 2, np.zeros(1, int)),
        lambda: _kernel.cell_rows(three, yes, 1, False),
        lambda: _kernel.cell_rows(two, yes, 0, False),
        lambda: _kernel.add_fixed(two, n1),
        lambda: _kernel.local_rows(three, yes, 1, 0.05),
        lambda: _kernel.local_rows(two[:0], yes[:0], 1, 0.05),
        lambda: _kernel.local_rows(two, yes, 0, 0.05),
        lambda: _kernel.rejected_rows(three, yes, 1, 2, False, 0.05, 0.0),
        lambda: _kernel.rejected_rows(two[:0], yes[:0], 1, 2, False, 0.05, 0.0),
        lambda: _kernel.rejected_rows(two, yes, 3, 2, False, 0.05, 0.0),
        lambda: _kernel.cell_classes(np.zeros((2, 3)), np.zeros(3, int), 0, 1),
        lambda: _kernel.cell_classes(np.zeros((2, 3)), np.zeros(2, int), 2, 4),
        lambda: _kernel.cell_classes(np.full((2, 3), 1.5), np.zeros(2, int), 0, 1),
        lambda: _kernel.window_tails(n2, n1, (two, two, two), yes, n1 * 0, n1, False),
        lambda: _kernel.window_tails(n2, n2, (two, two, one), yes, n1 * 0, n1, False),
        lambda: _kernel.window_tails(n2, n2, (two, two, two), yes, n1 * 0, n1 * 3, False),
        lambda: _kernel.window_tails(n2, n2, (two, two, two), yes, n1, n1 * 0, False),
        lambda: _kernel.window_shares(n2, n1, (two, two, two), yes, n1 * 0, n1, 0.05, None),
        lambda: _kernel.window_shares(n2, n2, (two, two, two), yes, n1 * 0, n1 * 3, 0.05, None),
        lambda: _kernel.local_shares(n2, n2, (two, two, one), yes, 0.05),
        lambda: _kernel.local_shares(n1[:0], n1[:0], (one[:0],) * 3, yes[:0], 0.05),
        lambda: _kernel.window_costs(n2, one, np.array([0, 2])),
        lambda: _kernel.window_costs(n2, two, np.array([0, 3])),
        lambda: _kernel.odds_factors(n1, n2, (two, two, two), yes, n1 * 0, n1, 0.05, one, one),
        lambda: _kernel.odds_factors(n2, n2, (two, two, two), yes, n1 * 0, n1 * 3, 0.05, one, one),
        lambda: _kernel.odds_factors(n2, n2, (two, two, two), yes, n1 * 0, n1, 0.05, two, one),
        lambda: _kernel.cluster_products(np.array([0, 1]), n1, n1, two, one, n1 * 0, n1),
        lambda: _kernel.cluster_products(np.array([0, 2]), n1, n1, two, two, n1 * 0, n1),
        lambda: _kernel.cluster_products(np.array([0, 1]), n1 * 2, n1, two, two, n1 * 0, n1),
        lambda: _kernel.cluster_products(np.array([0, 1]), n1, n1, two, two, n1 * 0, n1 * 3),
        lambda: _kernel.spread_tails(one, two, two),
        lambda: _kernel.unspread_tails(0.1, one, two),
        lambda: _kernel.unspread_tails(0.0, one, one),
        lambda: _kernel.draw_together(two, np.array([0, 1]), n1, n1, 0.5, 0, n1.copy()),
        lambda: _kernel.draw_together(two, np.array([0, 1]), n1, n1, 1.0, 0, n2.copy()),
        lambda: _kernel.window_starts(n2, np.array([0, 1])),
        lambda: _kernel.window_starts(n2, np.empty(0, int)),
        lambda: _kernel.outlines(n2, 2, yes[:1]),
        lambda: _kernel.outlines(n1, 0, yes[:1]),
        lambda: _kernel.square_tails(n2, two, one, two, yes, np.array([0, 2]), 4.0),
        lambda: _kernel.square_tails(n2, two, two, two, yes, np.array([0, 3]), 4.0),
        lambda: _kernel.walk_ranges(two, np.array([0, 5, 2])),
        lambda: _kernel.walk_ranges(two, np.array([1, 2])),
        lambda: _kernel.shift(two, one, yes, np.array([0, 2]), one),
        lambda: _kernel.shift(two, two, yes, np.array([0, 2]), two),
        lambda: _kernel.find_factors(two, one, yes, np.array([0, 2]), one, one, 1.0, True, True, 9.0),
        lambda: _kernel.find_factors(two, two, yes, np.array([0, 2]), two, one, 1.0, True, True, 9.0),
        lambda: _kernel.find_factors(two, two, yes, np.array([0, 2]), one, two, 1.0, True, True, 9.0),
        lambda: _kernel.recalibrate(two, n2, n1, True),
        lambda: _kernel.recalibration_gains(two, n2, n1, np.array([0, 2]), yes[:1]),
        lambda: _kernel.recalibration_gains(two, n2, n2, np.array([0, 2]), yes),
        lambda: _kernel.cut_levels(two, np.array([0, 2]), two, True),
        lambda: _kernel.cut_levels(two, np.array([0, 3]), one, True),
        lambda: _kernel.pava_bc((two, n1, n2), 1, 2, False, 1),
        lambda: _kernel.pava_bc(TALLY.entries, 1, 2**63 - 1, False, 1),
        lambda: _kernel.cells(TALLY.entries, 64),
        lambda: _kernel.count(TALLY.entries, np.empty(0, int)),
        lambda: _kernel.place(TALLY.entries, three, np.zeros(6), n1 * 0, n1),
        lambda: _kernel.edges_between(TALLY.entries, np.array([0])),
        lambda: _kernel.edges_between(TALLY.entries, np.array([0, 0, 1])),
        lambda: _kernel.binomial_rejected(TALLY.entries, np.array([0, 1]), n2, n2, 0.05, 0.0),
        lambda: _kernel.binomial_rejected(TALLY.entries, np.array([1, 0]), n1, n1, 0.05, 0.0),
        lambda: _kernel.binomial_rejected(TALLY.entries, np.array([0, 1]), n1 * 2, n1, 0.05, 0.0),
        lambda: _kernel.critical_counts(n1, two, one),
        lambda: _kernel.critical_counts(n1 * 0, one, one),
        lambda: _kernel.draw_positives(two, n1, one, 0, n1.copy()),
        lambda: _kernel.draw_starts(np.array([np.nan]), n1 * 100),
        lambda: _kernel.binomial_accepted(n4, n2, 0.05, 0.0, True),
        lambda: _kernel.binomial_accepted(n2 * 2, n2, 0.05, 0.0, True),
        lambda: _kernel.binomial_p_values(n2, n2, one),
        lambda: _kernel.binomial_rates(n2, n1, 0.5),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="must"):
            call()


@pytest.mark.parametrize("name", ["tce", "ece", "ltce"])
def test_own_parts_are_not_checked_twice(name, monkeypatch):
    monkeypatch.setattr("truecal.metrics._binning.check_partition", None)
    assert METRICS[name](TALLY) >= 0


def test_an_infinite_loss_has_an_infinite_norm():
    from truecal.metrics import PNorm

    loss, n = np.array([1.0, np.inf]), np.array([1, 1])
    assert [norm(n, loss) for norm in (Mean(), Max(), PNorm(2))] == [np.inf] * 3
