"""Clusters give NumPy's tally to the last count, also when one of their processes dies."""

import os
import shutil
import signal
import threading
import time
from importlib.util import find_spec

import numpy as np
import pytest
from clustered import ENGINES, PARTS, Cluster, wait_for
from conftest import missing
from observed import judge_segments

import truecal
from truecal import Tally
from truecal.data import Cells
from truecal.reading import Limits

pytestmark = pytest.mark.slow

ROWS = 200_000


@pytest.fixture(scope="session", params=list(ENGINES))
def cluster(request, tmp_path_factory):
    for name in {"spark": ["pyspark"], "dask": ["dask.dataframe", "distributed"]}[request.param] + [
        "narwhals",
        "psutil",
    ]:
        if find_spec(name.partition(".")[0]) is None:
            missing(f"{name} is not installed")
    if request.param == "spark" and shutil.which("java") is None:
        missing("Java is not installed, which Spark needs")
    folder = tmp_path_factory.mktemp(request.param)
    made = Cluster(request.param, folder)
    try:
        yield made
    finally:
        made.close()
        shutil.rmtree(folder, ignore_errors=True)
    wait_for(lambda: not made.group(), 10)
    assert made.group() == []


@pytest.fixture(scope="session")
def columns():
    """Half of the scores tied, half all but distinct; nothing missing in the columns that are named plainly."""
    rng = np.random.default_rng(20230731)
    p = rng.beta(0.5, 5, ROWS)
    p[::2] = np.round(p[::2], 3)
    p[:5] = [0.0, 1.0, -0.0, 1e-300, 0.5]
    return {
        "y": (rng.random(ROWS) < p).astype(np.int64),
        "p": p,
        "kind": rng.choice(["card", "wire", "cash"], ROWS),
        "month": rng.integers(1, 4, ROWS),
        "no_p": rng.random(ROWS) < 1e-3,
        "no_y": rng.random(ROWS) < 1e-3,
        "no_kind": rng.random(ROWS) < 1e-2,
    }


@pytest.fixture(scope="session")
def path(columns, tmp_path_factory):
    """The same as Parquet, one file for each part."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        missing("pyarrow is not installed")
    y, p = columns["y"], columns["p"]
    y_wrong, p_wrong = y.copy(), p.copy()
    y_wrong[[9, ROWS - 1]] = 3
    p_wrong[[7, ROWS // 2, ROWS - 2]] = [1.5, -0.25, 7.0]
    table = pa.table(
        {
            "y": y,
            "p": p,
            "single": p.astype(np.float32),
            "kind": columns["kind"],
            "month": columns["month"],
            "y_gaps": pa.array(y, mask=columns["no_y"]),
            "p_gaps": pa.array(p, mask=columns["no_p"]),
            "kind_gaps": pa.array(columns["kind"], mask=columns["no_kind"]),
            "y_wrong": y_wrong,
            "p_wrong": p_wrong,
        }
    )
    folder = tmp_path_factory.mktemp("rows")
    for i, rows in enumerate(np.array_split(np.arange(ROWS), PARTS)):
        part = table.slice(rows[0], len(rows)).append_column("row", pa.array(np.arange(len(rows))))
        parquet.write_table(part, folder / f"{i:02}.parquet")
    return folder


def workers(engine):
    return os.getpid(), engine.workers()


def call(engine, function, path, **options):
    """Observations of a frame on the cluster, alone or judged."""
    judge = {name: options.pop(name) for name in ("metrics", "null_draws", "random_state") if name in options}
    observations = truecal.read(engine.frame(path), **options)
    return observations if function == "read" else getattr(truecal, function)(observations, **judge)


def interrupted(engine, path, **options):
    """A tally during which a worker is killed, and what was seen of that."""
    frame, seen = engine.frame(path, slow=0.25), {}
    finished = threading.Event()

    def kill():
        while not finished.is_set():
            if PARTS / 3 <= (done := engine.done()) <= 2 * PARTS / 3:
                victim = engine.workers()[0]
                os.kill(victim, signal.SIGKILL)
                seen.update(done=done, victim=victim, finished=finished.is_set())
                return
            time.sleep(0.01)

    before, losses = engine.workers(), len(engine.losses())
    killer = threading.Thread(target=kill)
    killer.start()
    try:
        observations = dict(truecal.read(frame, **options).parts)
    finally:
        finished.set()
        killer.join()
    # the place of the one that died is filled again
    wait_for(lambda: len(engine.workers()) == 2)
    seen |= {"before": before, "after": engine.workers(), "losses": engine.losses()[losses:]}
    return observations, seen | {"repeated": engine.repeated() if "victim" in seen else 0}


def split(columns, rows, *names):
    """NumPy's tallies of the segments of some rows."""
    keys = np.array(list(zip(*(columns[name][rows].tolist() for name in names), strict=True)), dtype=object)
    y, p = columns["y"][rows], columns["p"][rows]
    found = {}
    for key in sorted(set(map(tuple, keys)), key=lambda key: [(value is None, value) for value in key]):
        here = (keys == np.array(key, dtype=object)).all(axis=1)
        found[key] = Tally.from_arrays(y[here], p[here])
    return found


def test_the_cluster_is_of_several_processes(cluster):
    driver, found = cluster(workers)
    assert len(set(found)) == 2
    assert driver == cluster.process.pid not in (os.getpid(), *found)
    assert {driver, *found} <= set(cluster.group())


def test_a_cluster_gives_the_tally_of_numpy(cluster, columns, path):
    assert cluster(call, "read", path, label="y", score="p").tally == Tally.from_arrays(columns["y"], columns["p"])
    single = columns["p"].astype(np.float32)
    assert cluster(call, "read", path, label="y", score="single").tally == Tally.from_arrays(columns["y"], single)
    assert cluster.warnings == []


def test_missing_values_are_dropped_and_counted(cluster, columns, path):
    names = dict(label="y_gaps", score="p_gaps")
    kept = ~(columns["no_y"] | columns["no_p"])
    found = cluster(call, "read", path, **names, missing="drop")
    assert found.tally == Tally.from_arrays(columns["y"][kept], columns["p"][kept])
    no_p, no_y = int(columns["no_p"].sum()), int((columns["no_y"] & ~columns["no_p"]).sum())
    (note,) = map(str, found.notes)
    assert note.startswith(f"of 200,000 rows {no_p + no_y:,} were dropped: `p_gaps` is ")
    assert note.endswith(f" in {no_p:,}, `y_gaps` is null in {no_y:,}")
    with pytest.raises(
        ValueError, match=rf"of 200,000 rows `p_gaps` is (null|NaN) in {no_p}, `y_gaps` is null in {no_y}"
    ):
        cluster(call, "read", path, **names)


def test_wrong_values_are_refused_with_their_number(cluster, path):
    message = r"of 200,000 rows `p_wrong` is outside \[0, 1\] in 3, `y_wrong` is neither 0 nor 1 in 2\."
    with pytest.raises(ValueError, match=message):
        cluster(call, "read", path, label="y_wrong", score="p_wrong", missing="drop")
    with pytest.raises(ValueError, match=message):
        cluster(call, "read", path, label="y_wrong", score="p_wrong", by="kind")
    with pytest.raises(ValueError, match="(?s)`score` must be one of the columns.*it is 'prob'"):
        cluster(call, "evaluate", path, label="y", score="prob")


def test_a_cluster_gives_the_segments_of_numpy(cluster, columns, path):
    found = dict(cluster(call, "read", path, label="y", score="p", by=["kind", "month"]).parts)
    expected = split(columns, slice(None), "kind", "month")
    assert list(found) == list(expected)
    assert found == expected


def test_rows_without_a_segment_are_one_of_their_own(cluster, columns, path):
    options = dict(label="y_gaps", score="p_gaps", by="kind_gaps", missing="drop")
    found = dict(cluster(call, "read", path, **options).parts)
    kept = ~(columns["no_y"] | columns["no_p"])
    named = columns | {"kind_gaps": np.where(columns["no_kind"], None, columns["kind"].astype(object))}
    expected = split(named, kept, "kind_gaps")
    assert list(found) == list(expected) == [("card",), ("cash",), ("wire",), (None,)]
    assert found == expected


def test_an_evaluation_on_a_cluster_is_that_of_numpy(cluster, columns, path):
    options = dict(metrics=["tce", "ece"], null_draws=50, random_state=1)
    found = cluster(call, "evaluate", path, label="y", score="p", **options)
    assert found == truecal.evaluate(columns["y"], columns["p"], **options)


def test_cells_from_a_cluster_are_those_of_numpy(cluster, columns, path):
    found = cluster(call, "read", path, label="y", score="p", limits=Limits(grid=9)).parts[()]
    expected = Cells.grid(Tally.from_arrays(columns["y"], columns["p"]), 9)
    assert len(found) < len(Tally.from_arrays(columns["y"], columns["p"])) / 10
    for name in ("key", "n", "pos", "low", "high"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    np.testing.assert_allclose(found.score_sum, expected.score_sum, rtol=1e-12)  # sums depend on their order


def test_segments_judged_on_a_cluster_are_those_of_numpy(cluster, columns, path):
    found = cluster(call, "segments", path, label="y", score="p", by=["kind", "month"], null_draws=49, random_state=1)
    observations = split(columns, slice(None), "kind", "month")
    expected = judge_segments(observations, "ltce", null_draws=49, adjust="holm", random_state=1, by=("kind", "month"))
    assert found.segment == expected.segment
    for name, column in expected.arrays().items():
        np.testing.assert_array_equal(found.arrays()[name], column)


def test_a_worker_that_dies_half_way_changes_nothing(cluster, columns, path):
    found, seen = cluster(interrupted, path, label="y_gaps", score="p_gaps", by="month", missing="drop")
    assert seen.get("victim") in seen["before"], "no worker was killed while the job ran"
    assert not seen["finished"]
    assert PARTS / 3 <= seen["done"] <= 2 * PARTS / 3
    assert seen["victim"] not in cluster.group()
    assert seen["victim"] not in seen["after"]
    assert len(set(seen["after"])) == 2
    assert len(seen["losses"]) == 1
    assert seen["repeated"] >= 1
    kept = ~(columns["no_y"] | columns["no_p"])
    assert found == split(columns, kept, "month")
    # and the cluster still works
    assert cluster(call, "read", path, label="y", score="p").tally == Tally.from_arrays(columns["y"], columns["p"])
