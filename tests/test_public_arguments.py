"""Whatever is put where a number, a name or a part goes, only ValueError and TypeError leave, soon, and without a warning."""

import inspect
import math
import signal
import warnings
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import truecal
from truecal import Observations, Rule, Tally, verdict
from truecal import data as obs
from truecal import inference as inf
from truecal import metrics as m
from truecal.gate import read_tolerance
from truecal.reading import Limits

pytestmark = pytest.mark.slow

SECONDS = 10  # a call takes far less than one, on an idle machine
HOSTILE = {
    **{repr(number): number for number in (0, 1, -1, 2, 10**12, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), 10**30, -(10**400))},
    **{repr(number): number for number in (0.0, -0.0, 0.5, 1.0, 1.5, math.nan, math.inf, -math.inf, 5e-324, 1e-320, 1e-300)},
    **{repr(number): number for number in (1e-17, 1 - 2**-53, 1e17, 1e300, 1j, True, None)},
    **{repr(text): text for text in ("", "nan", "1", "x", "*", "\0", b"", b"1")},
    **{repr(other): other for other in ((), [], [1], {}, {1}, [None], date(2024, 1, 1), Decimal("0.5"), Fraction(1, 2))},
    "np.float64(nan)": np.float64("nan"), "np.int64": np.int64(3), "np.uint64": np.uint64(2**64 - 1),
    "np.float16": np.float16(0.5), "array": np.array([0.5, np.nan]), "empty array": np.array([]), "objects": np.array([None, "x"]),
    "0-d": np.array(0.5), "class": int, "function": len, "object": object(),
}  # fmt: skip
RNG = np.random.default_rng(7)
P = RNG.beta(1, 3, 300).round(3)
Y = (RNG.random(300) < P).astype(int)
TALLY = Tally.from_arrays(Y, P)
CELLS = obs.Cells.of(TALLY)
GRID = obs.Cells.grid(TALLY, 8)
TALLIES = Observations("y", "p", {("a",): TALLY, ("b",): TALLY}, ("g",))
LTCE = {"ltce": m.LTCE}

CALLS = {
    **{f"{f.__name__} binning": lambda v, f=f: f(Y, P, binning=v) for f in (m.tce, m.ace)},
    **{f"{f.__name__} n_bins": lambda v, f=f: f(Y, P, binning=v) for f in (m.ece, m.mce, m.rmsce)},
    **{
        f"{f.__name__} {name}": lambda v, f=f, name=name: f(Y, P, **{name: v})
        for f, names in (
            (m.tce, "significance tolerance test sample_weight pos_label multiclass labels threads"),
            (m.ltce, "significance tolerance weight sample_weight pos_label multiclass labels threads"),
            (m.ece, "sample_weight pos_label multiclass labels threads"),
            (
                truecal.evaluate,
                "metrics significance tolerance test binning adjust threshold top confidence random_state threads "
                "sample_weight pos_label multiclass labels sampling missing importance_weight",
            ),
            (truecal.evaluate_classes, "metrics labels sample_weight significance"),
        )
        for name in names.split()
    },
    "tce labels themselves": lambda v: m.tce(v, P),
    "tce scores": lambda v: m.tce(Y, v),
    "evaluate null_draws": lambda v: truecal.evaluate(Y, P, LTCE, null_draws=small(v)),
    "evaluate resamples": lambda v: truecal.evaluate(Y, P, LTCE, resamples=small(v)),
    "compare resamples": lambda v: truecal.compare(Y, P, P / 2, LTCE, resamples=small(v)),
    "compare confidence": lambda v: truecal.compare(Y, P, P / 2, LTCE, resamples=2, confidence=v),
    "compare other": lambda v: truecal.compare(Y, P, v, LTCE, resamples=2),
    "segments data": truecal.segments,
    "segments metric": lambda v: truecal.segments(TALLIES, v, null_draws=2),
    "segments threshold": lambda v: truecal.segments(TALLIES, "ece", threshold=v, null_draws=2),
    "segments top": lambda v: truecal.segments(TALLIES, "ece", top=v, null_draws=2),
    "check data": truecal.check,
    "check rules": lambda v: truecal.check(TALLIES, v),
    "check resamples": lambda v: truecal.check(TALLIES, [Rule("excess", 5.0)], null_draws=2, resamples=small(v)),
    "check threads": lambda v: truecal.check(TALLIES, [Rule("verdict")], threads=v),
    "check baseline": lambda v: truecal.check(TALLIES, [Rule("verdict")], baseline=v),
    **{f"Rule {name}": lambda v, name=name: Rule("value", **{"limit": 5.0, name: v}) for name in
       ["limit", "metric", "model", "segment", "min_rows", "threshold", "top", "tolerance", "significance", "allow_inconclusive"]},
    **{f"Sampling {name}": lambda v, name=name: truecal.evaluate(Y, P, LTCE, sampling=truecal.Sampling(**{name: v})) for name in
       ["negative_rate", "positive_rate", "label_noise", "label_delay"]},
    "Rule kind": lambda v: Rule(v, 5.0),
    "Rule p_value": lambda v: str(Rule("p_value", v)),
    "read_tolerance": read_tolerance,
    "plan y_prob": lambda v: truecal.plan(v, rows=100),
    **{f"plan {name}": lambda v, name=name: truecal.plan(0.1, **{name: v}) for name in ("factor", "ratio", "rows")},
    **{f"plan {name}": lambda v, name=name: truecal.plan(0.1, rows=100, **{name: v}) for name in ("power", "significance")},
    "Draws draws": inf.Draws,
    "Draws seeds": lambda v: inf.Draws(2, random_state=v).seeds(),
    "Draws threads": lambda v: inf.null_distribution(TALLY, LTCE, inf.Draws(2, 0, v)),
    "detectable_rates n": lambda v: verdict.detectable_rates(v, 0.1),
    "detectable_rates rate": lambda v: verdict.detectable_rates(100, v),
    "detectable_rates power": lambda v: verdict.detectable_rates(100, 0.1, power=v),
    "detectable_rates significance": lambda v: verdict.detectable_rates(100, 0.1, significance=v),
    "judge significance": lambda v: verdict.judge(CELLS, v),
    "judge tolerance": lambda v: verdict.judge(CELLS, 0.05, v),
    "local_error significance": lambda v: m.local_error(CELLS, v),
    "local_error tolerance": lambda v: m.local_error(CELLS, 0.05, v),
    "intervals confidence": lambda v: inf.intervals(TALLY, LTCE, inf.Draws(2, 0), confidence=v),
    "Uniform": lambda v: m.Uniform(v).partition(TALLY),
    "Quantile": lambda v: m.Quantile(v).partition(TALLY),
    "Edges": lambda v: m.Edges(v).partition(TALLY),
    "Edges inside": lambda v: m.Edges([0, v, 1]).partition(TALLY),
    "BoundedIsotonic n_min": lambda v: m.BoundedIsotonic(n_min=v).partition(TALLY),
    "BoundedIsotonic n_max": lambda v: m.BoundedIsotonic(n_max=v).partition(TALLY),
    "BoundedIsotonic paper": lambda v: m.BoundedIsotonic(n_max=v, sizes="paper").partition(obs.sort_rows(Y, P)),
    "BoundedIsotonic sizes": lambda v: m.BoundedIsotonic(sizes=v).partition(TALLY),
    "Metric binning": lambda v: m.Metric(v, m.Gap())(TALLY),
    "Metric loss": lambda v: m.Metric(m.Uniform(), v)(TALLY),
    "Metric norm": lambda v: m.Metric(m.Uniform(), m.Gap(), v)(TALLY),
    "Rejection significance": lambda v: m.Metric(m.Uniform(), m.PointwiseTest(significance=v))(TALLY),
    "WindowTest significance": lambda v: m.Metric(m.Windows(), m.WindowTest(significance=v))(TALLY),
    "WindowTest tolerance": lambda v: m.Metric(m.Windows(), m.WindowTest(tolerance=v))(TALLY),
    "PNorm": lambda v: m.Metric(m.Uniform(), m.Gap(), m.PNorm(v))(TALLY),
    "Absolute": lambda v: m.tce(Y, P, tolerance=m.Absolute(v)),
    "Relative": lambda v: m.tce(Y, P, tolerance=m.Relative(v)),
    "Relative ltce": lambda v: m.ltce(Y, P, tolerance=m.Relative(v)),
    **{
        f"{type(t).__name__} {name}": lambda v, t=t, f=f: f(t, v)
        for t in (m.Binomial(), m.MidP(), m.ScoreTest(), m.LikelihoodRatio(), m.StudentT(), m.BayesFactor())
        for name, f in {
            "k": lambda t, v: t.rejects(v, 10, 0.5),
            "n": lambda t, v: t.accepted(1, v),
            "p": lambda t, v: t.p_value(3, 10, v),
            "significance": lambda t, v: t.rejects(3, 10, [0.1, 0.5], v),
            "tolerance": lambda t, v: t.rejects(3, 10, [0.1, 0.5], 0.05, v),
            "metric": lambda t, v: m.tce(Y, P, test=t, significance=v),
        }.items()
    },
    **{f"BayesFactor {name}": lambda v, name=name: m.tce(Y, P, test=m.BayesFactor(**{name: v})) for name in ("a", "b", "threshold")},
    "exact_interval": lambda v: m.exact_interval(np.array([3]), np.array([10]), v),
    "NetBenefit": lambda v: m.NetBenefit(v)(TALLY),
    "Unit top": lambda v: m.Unit(top=v),
    "Unit digits": lambda v: m.Unit(digits=v).format(0.5),
    "Unit format": lambda v: m.Unit(name=v, symbol=v),
    "Tally score": lambda v: Tally(np.array([v]), [1], [0]),
    "Tally n": lambda v: Tally([0.5], np.array([v]), [0]),
    "Tally columns": lambda v: Tally(v, v, v),
    "Tally above": TALLY.above,
    "Tally top": TALLY.top,
    "rows above": lambda v: obs.sort_rows(Y, P).above(v),
    "rows top": lambda v: obs.sort_rows(Y, P).top(v),
    "Cells.grid": lambda v: obs.Cells.grid(TALLY, v),
    "Cells coarsen": GRID.coarsen,
    "Cells above": GRID.above,
    "bits_for": lambda v: obs.bits_for(v, 1),
    "choose_bits": m.choose_bits,
    "check_bits": obs.check_bits,
    **{f"Limits {name}": lambda v, name=name: Limits(**{name: v}) for name in ("grid", "limit", "memory")},
    "Observations by": lambda v: Observations("y", "p", {("a",): TALLY}, v),
    "Observations parts": lambda v: Observations("y", "p", v),
    "adjust_p_values": lambda v: m.adjust_p_values(np.array([0.1, 0.2]), v),
    "from_json": truecal.results.from_json,
}  # fmt: skip


def small(value):
    """Leave numbers of replicates out that are allowed and take long."""
    return 2 if isinstance(value, (int, np.integer)) and 2 < value <= 10_000_000 else value


@contextmanager
def limited(seconds):
    def stop(*_):
        raise TimeoutError(f"took more than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("name", CALLS)
def test_only_clean_errors_leave(name):
    wrong = {}
    for value, hostile in HOSTILE.items():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", UserWarning)
            try:
                with limited(SECONDS):
                    CALLS[name](hostile)
            except (ValueError, TypeError, FileNotFoundError, IsADirectoryError) as error:  # files for names of files
                if not str(error):
                    wrong[value] = "no message"
            except BaseException as error:
                wrong[value] = f"{type(error).__name__}: {error}"[:200]
    assert not wrong


def test_every_public_class_and_function_of_metrics_with_a_number_is_in_the_table():
    tried = " ".join(inspect.getsource(inspect.getmodule(limited)).split("CALLS = {")[1].split("def small")[0].split())
    known = {
        "Partition",
        "BinQuality",
        "Binned",
        "PoissonBinomial",
        "Design",
        "Spread",
        "OddsRatio",
        "LocalError",
        "ScoreBand",
        "Tails",
        "Rows",
        "Score",
        "MeanScore",
    }
    numbers = ("int", "float", "Floats", "Ints", "ArrayLike", "Tolerance")
    missing = [
        name
        for name, part in vars(m).items()
        if inspect.isclass(part) and part.__module__.startswith("truecal.") and is_dataclass(part)
        if any(word in str(field.type) for field in fields(part) for word in numbers)
        if name not in known and name not in tried
    ]
    assert not missing
