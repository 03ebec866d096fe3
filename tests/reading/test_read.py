"""A file's rows are scanned once, whatever is asked of them."""

import numpy as np
import pytest

import truecal
from truecal import Rule, Tally
from truecal.data import Pairs, Reason
from truecal.reading import Limits
from truecal.reading import _read as module

ROWS = 30_000


@pytest.fixture
def pl(need):
    return need("polars")


@pytest.fixture
def frame(pl, rng):
    p = rng.beta(1, 9, ROWS)
    day = np.datetime64("2026-01-01") + rng.integers(0, 4, ROWS)
    return pl.DataFrame(
        {
            "id": np.arange(ROWS),
            "y": rng.random(ROWS) < p,
            "new": p,
            "newer": np.round(p, 3),
            "old": np.clip(1.2 * p, 0, 1),
            "country": rng.choice(["at", "de", "fr"], ROWS),
            "day": day,
        }
    )


@pytest.fixture
def scans(pl, monkeypatch):
    """How often a lazy frame was answered with all of its rows: not its first ones, and not their number alone."""
    found = []

    def watch(name):
        whole = getattr(pl.LazyFrame, name)

        def method(frame, *args, **options):
            plan = frame.explain()
            if "SCAN" in plan.upper() and "SLICE" not in plan and "PROJECT 0/" not in plan:
                found.append((name, plan))
            return whole(frame, *args, **options)

        monkeypatch.setattr(pl.LazyFrame, name, method)

    for name in ("collect", "collect_batches"):
        watch(name)
    return found


def write(frame, path):
    frame.write_parquet(path) if path.suffix == ".parquet" else frame.write_csv(path)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.parquet", "a.csv"])
def test_a_check_of_two_models_segments_and_a_baseline_scans_once(frame, scans, tmp_path, name):
    path = write(frame, tmp_path / name)
    models = truecal.read_models(path, label="y", score=["new", "newer"], by="country", baseline="old")
    rules = [Rule("value", 50), Rule("value", 50, segment="country=*"), Rule("worse", 5)]
    found = truecal.check(models, rules, resamples=50)
    assert [finding.model for finding in found.results] == ["new", "newer"] + ["new"] * 3 + ["newer"] * 3 + [
        "new",
        "newer",
    ]
    assert [name for name, _ in scans] == ["collect_batches"]


@pytest.mark.parametrize("name", ["a.parquet", "a.csv"])
def test_a_report_by_segment_and_time_scans_once(frame, scans, tmp_path, name):
    path = write(frame, tmp_path / name)
    models = truecal.read_models(path, label="y", score=["new", "newer"], by="country", time="day")
    results = {name: truecal.evaluate(observations, ["tce"]) for name, observations in models.items()}
    table = truecal.segments(models["new"], null_draws=9, random_state=0)
    windows = truecal.drift(models["new"], null_draws=9, random_state=0)
    assert (len(table), len(windows), results["newer"].n) == (3, 4, ROWS)
    assert [name for name, _ in scans] == ["collect_batches"]


@pytest.mark.parametrize("options", [{}, {"by": "country"}, {"by": "country", "time": "day"}])
def test_a_single_model_scans_once(frame, scans, tmp_path, options):
    """Also where polars groups the rows itself, since many share a segment and a score."""
    path = write(frame, tmp_path / "a.parquet")
    for score in ("new", "newer"):
        truecal.read(path, label="y", score=score, **options)
        assert len(scans) == 1
        scans.clear()


@pytest.fixture
def counted(pl, frame):
    """A lazy frame of which every row that is asked for is counted, in pieces of 1,000, as those of a slow source."""
    io, rows = pytest.importorskip("polars.io.plugins"), []

    def produce(columns, predicate, n_rows, _):
        for begin in range(0, min(ROWS, n_rows or ROWS), 1000):
            part = frame[begin : begin + 1000]
            rows.append(len(part))
            part = part if predicate is None else part.filter(predicate)
            yield part if columns is None else part.select(columns)

    return io.register_io_source(produce, schema=frame.schema), rows


@pytest.mark.parametrize("score", ["new", "newer"])
@pytest.mark.parametrize("options", [{}, {"by": "country"}, {"by": "country", "time": "day"}, {"baseline": "old"}])
def test_a_lazy_frame_is_computed_once(counted, monkeypatch, score, options):
    """Besides the first rows, by which ties are judged where there are segments."""
    lazy, rows = counted
    monkeypatch.setattr(module, "LOOK", 1000)
    found = truecal.read(lazy, label="y", score=score, **options)
    assert sum(rows) == ROWS + 1000 * ("by" in options)
    rows.clear()
    truecal.evaluate(found, ["tce", "ece"], null_draws=2, resamples=2)
    if "by" in options:
        truecal.segments(found, null_draws=2)
    assert not rows


@pytest.mark.parametrize(("limits", "passes"), [(Limits(), 2), (Limits(grid=None), 1)])
def test_an_engine_is_asked_once_for_a_model_and_for_the_number_of_rows(need, frame, limits, passes):
    """The number decides whether the answer is exact or of cells; where that is said, it is not asked for."""
    dask, part, loads = need("dask.dataframe"), frame.drop("day")[:300].to_pandas(), []

    def load(i):
        loads.append(i)
        return part[i * 100 : (i + 1) * 100]

    rows = dask.from_map(load, range(3), meta=part[:0])
    found = truecal.read(rows, label="y", score="newer", by="country", limits=limits)
    assert sorted(loads) == sorted([0, 1, 2] * passes)
    loads.clear()
    truecal.segments(found, null_draws=2)
    truecal.evaluate(found, ["tce"], null_draws=2)
    assert not loads
    truecal.read_models(rows, label="y", score=["new", "newer"], limits=limits)
    assert len(loads) == 3 * (passes + 1)


def test_a_baseline_file_is_joined_in_the_same_pass(frame, pl, scans, tmp_path):
    path = write(frame, tmp_path / "a.parquet")
    last = write(frame.select("id", new="old").sample(fraction=1, shuffle=True, seed=0), tmp_path / "last.parquet")
    found = truecal.read(path, label="y", score="new", by="country", baseline=last, on="id")
    scanned = ["a.parquet" in plan for _, plan in scans]
    assert sum(scanned) == 1
    assert found.baseline == Pairs.from_arrays(frame["y"], frame["new"], frame["old"])


def test_one_pass_gives_what_several_would(frame, pl, tmp_path):
    path = write(frame, tmp_path / "a.parquet")
    options = {"label": "y", "by": "country", "time": "day"}
    models = truecal.read_models(path, score=["new", "newer"], baseline="old", **options)
    for name, observations in models.items():
        alone = truecal.read(frame, score=name, **options)
        assert observations.parts == alone.parts
        assert observations.tally == Tally.from_arrays(frame["y"], frame[name])
        assert observations.baseline == Pairs.from_arrays(frame["y"], frame[name], frame["old"])


@pytest.mark.parametrize("kind", ["lazy", "pandas", "duckdb"])
def test_rows_read_are_rows_kept_and_rows_dropped(frame, pl, need, kind):
    """For each model by itself: what one lacks, the other may have."""
    gaps = frame.with_columns(
        new=pl.when(pl.col("id") % 10 > 0).then("new"),
        newer=pl.when(pl.col("id") % 4 > 0).then("newer"),
        old=pl.when(pl.col("id") % 3 > 0).then("old"),
        day=pl.when(pl.col("id") % 1000 != 7).then("day"),
    )
    data = {
        "lazy": gaps.lazy,
        "pandas": gaps.to_pandas,
        "duckdb": lambda: need("duckdb").from_arrow(gaps.to_arrow()),
    }[kind]()
    options = {"label": "y", "by": "country", "time": "day", "missing": "drop"}
    models = truecal.read_models(data, score=["new", "newer"], baseline="old", **options)
    ids = np.arange(ROWS)
    has_day = ids % 1000 != 7
    for name, step in (("new", 10), ("newer", 4)):
        observations, usable = models[name], (ids % step > 0) & has_day
        assert observations.n_rows == usable.sum()
        assert observations.n_rows + observations.row_counts.n_dropped == ROWS
        assert observations.row_counts.dropped[Reason("day", "null")] == (~has_day & (ids % step > 0)).sum()
        assert observations.baseline.n_rows == (usable & (ids % 3 > 0)).sum()
        assert len(observations.notes) == 2
