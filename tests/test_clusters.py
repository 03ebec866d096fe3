"""Spark and Dask as real clusters of several processes: NumPy's tally to the last count, also when one of them dies.

A cluster's driver runs in a process of its own, which leads a process group: it cannot meet the Spark session that other
tests start here, the warnings of its libraries stay there, and whatever happens, the group is ended whole.
"""

import contextlib
import multiprocessing
import os
import shutil
import signal
import threading
import time
import traceback
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from conftest import missing

import truecal
from truecal import Cells, Scale, Tally
from truecal.segments import judge_segments

ROWS, PARTS = 200_000, 24
PATIENCE = 120  # seconds that an answer may take before the cluster counts as hung


def wait_for(condition, seconds=60):
    """Until the condition holds, or so many seconds have passed."""
    limit = time.monotonic() + seconds
    while not condition() and time.monotonic() < limit:
        time.sleep(0.05)


class Spark:
    """A session whose two executors are Java processes of their own."""

    def __init__(self, folder):
        import pyspark
        from pyspark.sql import SparkSession

        # executors write below SPARK_HOME, which would be the installed package
        home = folder / "spark"
        home.mkdir()
        for part in Path(pyspark.__file__).parent.iterdir():
            (home / part.name).symlink_to(part)
        os.environ |= {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"}
        options = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.log.level": "ERROR",
            # as quick to start as Java can
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            "spark.local.dir": str(folder / "spill"),
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
            "spark.sql.shuffle.partitions": "4",
            "spark.sql.files.openCostInBytes": "128m",  # one partition a file, however small
        }
        builder = SparkSession.builder.master("local-cluster[2,1,1024]").config(map=options)
        self.session = builder.getOrCreate()
        self.context = self.session.sparkContext
        self.tracker = self.context.statusTracker()
        self.scan = None
        wait_for(lambda: len(self.executors()) == 2)

    def frame(self, path, slow=0.0):
        found = self.session.read.parquet(str(path))
        # a condition that every row meets; evaluated for the first row of each file, it takes a while
        nap = f"reflect('java.lang.Thread', 'sleep', cast({1000 * slow} as bigint))"
        return found.where(f"row > 0 or coalesce({nap}, '') != 'never'") if slow else found

    def workers(self):
        import psutil

        found = []
        for child in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.Error):
                if "org.apache.spark.executor.CoarseGrainedExecutorBackend" in child.cmdline():
                    found.append(child.pid)
        return found

    def done(self):
        """How many parts of the running stage are done, while both executors are at work on others."""
        stages = [self.tracker.getStageInfo(i) for i in self.tracker.getActiveStageIds()]
        scans = [stage for stage in stages if stage and stage.numTasks == PARTS and stage.numActiveTasks >= 2]
        self.scan = scans[0].stageId if scans else self.scan
        return scans[0].numCompletedTasks if scans else 0

    def repeated(self):
        """How many parts failed, to be done again."""
        return self.tracker.getStageInfo(self.scan).numFailedTasks

    def losses(self):
        """What the scheduler says of executors that are no more."""
        return [executor.removeReason().get() for executor in self.executors() if not executor.isActive()]

    def executors(self):
        known = self.context._jsc.sc().statusStore().executorList(False)
        found = [known.apply(i) for i in range(known.size())]
        return [executor for executor in found if executor.id() != "driver"]

    def stop(self):
        self.session.stop()


class Dask:
    """A scheduler with two worker processes, each watched by a nanny."""

    def __init__(self, folder):
        import dask
        from distributed import Client, LocalCluster

        dask.config.set({"distributed.admin.system-monitor.gil.enabled": False})
        self.naps = folder / "naps"
        self.cluster = LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
            memory_limit="2GiB",
            local_directory=folder,
            silence_logs="CRITICAL",
        )
        self.client = Client(self.cluster)

    def frame(self, path, slow=0.0):
        import dask.dataframe as dd

        found = dd.read_parquet(path)
        if not slow:
            return found
        shutil.rmtree(self.naps, ignore_errors=True)
        self.naps.mkdir()
        naps = self.naps

        def nap(part):
            (naps / f"{os.getpid()}-{time.monotonic_ns()}").touch()
            time.sleep(slow)
            return part

        return found.map_partitions(nap, meta=found._meta)

    def workers(self):
        return [nanny.pid for nanny in self.cluster.workers.values()]

    def begun(self):
        return [path.name.partition("-")[0] for path in self.naps.iterdir()]

    def done(self):
        """How many parts are done, once both workers have taken some; each is at work on one more."""
        begun = self.begun()
        return len(begun) - 2 if len(set(begun)) == 2 else 0

    def repeated(self):
        """How many parts were done again."""
        return len(self.begun()) - PARTS

    def losses(self):
        events = [event for _, event in self.cluster.scheduler.get_events("all")]
        return [str(event) for event in events if event.get("action") == "remove-worker"]

    def stop(self):
        self.client.close()
        self.cluster.close()


ENGINES = {"spark": Spark, "dask": Dask}


def serve(pipe, name, folder):
    """In the driver's process: answer calls until the other end hangs up."""
    os.setsid()
    engine = None
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            function, arguments, options = pipe.recv()
            try:
                engine = engine or ENGINES[name](folder)
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    value = function(engine, *arguments, **options)
                told = [str(w.message) for w in caught if w.category is UserWarning]
                pipe.send((value, told, None))
            except Exception as error:
                known = type(error) in (ValueError, TypeError)
                pipe.send((None, [], error if known else RuntimeError(traceback.format_exc())))
    if engine is not None:
        engine.stop()


class Cluster:
    """Calls a function in the driver's process, its first argument being the engine there."""

    def __init__(self, name, folder):
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs, name, folder))
        self.process.start()
        theirs.close()
        self.warnings = []

    def __call__(self, function, *arguments, **options):
        self.pipe.send((function, arguments, options))
        if not self.pipe.poll(PATIENCE):
            self.close(wait=0)
            pytest.fail(f"The cluster gave no answer in {PATIENCE} seconds")
        value, self.warnings, error = self.pipe.recv()
        if error is not None:
            raise error
        return value

    def group(self):
        """The processes of the driver's group that still run."""
        import psutil

        found = []
        for process in psutil.process_iter(["status"]):
            with contextlib.suppress(ProcessLookupError):
                if os.getpgid(process.pid) == self.process.pid and process.info["status"] != psutil.STATUS_ZOMBIE:
                    found.append(process.pid)
        return found

    def close(self, wait=30):
        self.pipe.close()
        self.process.join(wait)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.join(10)


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
    """A function of truecal on a frame of the cluster."""
    return getattr(truecal, function)(engine.frame(path), **options)


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
        tallies = truecal.tally_segments(frame, **options)
    finally:
        finished.set()
        killer.join()
    # the place of the one that died is filled again
    wait_for(lambda: len(engine.workers()) == 2)
    seen |= {"before": before, "after": engine.workers(), "losses": engine.losses()[losses:]}
    return tallies, seen | {"repeated": engine.repeated() if "victim" in seen else 0}


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
    assert cluster(call, "tally_frame", path, label="y", score="p") == Tally.from_arrays(columns["y"], columns["p"])
    single = columns["p"].astype(np.float32)
    assert cluster(call, "tally_frame", path, label="y", score="single") == Tally.from_arrays(columns["y"], single)
    assert cluster.warnings == []


def test_missing_values_are_dropped_and_counted(cluster, columns, path):
    names = dict(label="y_gaps", score="p_gaps")
    kept = ~(columns["no_y"] | columns["no_p"])
    found = cluster(call, "tally_frame", path, **names, on_null="drop")
    assert found == Tally.from_arrays(columns["y"][kept], columns["p"][kept])
    no_p, no_y = int(columns["no_p"].sum()), int((columns["no_y"] & ~columns["no_p"]).sum())
    (told,) = cluster.warnings
    assert told.startswith(f"Of 200,000 rows {no_p + no_y} were dropped: `p_gaps` is ")
    assert told.endswith(f" in {no_p}, `y_gaps` is null in {no_y}.")
    with pytest.raises(
        ValueError, match=rf"of 200,000 rows `p_gaps` is (null|NaN) in {no_p}, `y_gaps` is null in {no_y}"
    ):
        cluster(call, "tally_frame", path, **names)


def test_wrong_values_are_refused_with_their_number(cluster, path):
    told = r"of 200,000 rows `p_wrong` is outside \[0, 1\] in 3, `y_wrong` is neither 0 nor 1 in 2\."
    with pytest.raises(ValueError, match=told):
        cluster(call, "tally_frame", path, label="y_wrong", score="p_wrong", on_null="drop")
    with pytest.raises(ValueError, match=told):
        cluster(call, "tally_segments", path, label="y_wrong", score="p_wrong", by="kind")
    with pytest.raises(ValueError, match="(?s)`score` must be one of the columns.*it is 'prob'"):
        cluster(call, "evaluate", path, label="y", score="prob")


def test_a_cluster_gives_the_segments_of_numpy(cluster, columns, path):
    found = cluster(call, "tally_segments", path, label="y", score="p", by=["kind", "month"])
    expected = split(columns, slice(None), "kind", "month")
    assert list(found) == list(expected)
    assert found == expected


def test_rows_without_a_segment_are_one_of_their_own(cluster, columns, path):
    found = cluster(call, "tally_segments", path, label="y_gaps", score="p_gaps", by="kind_gaps", on_null="drop")
    kept = ~(columns["no_y"] | columns["no_p"])
    named = columns | {"kind_gaps": np.where(columns["no_kind"], None, columns["kind"].astype(object))}
    expected = split(named, kept, "kind_gaps")
    assert list(found) == list(expected) == [("card",), ("cash",), ("wire",), (None,)]
    assert found == expected


def test_an_evaluation_on_a_cluster_is_that_of_numpy(cluster, columns, path):
    options = dict(metrics=["tce", "ece"], reference=50, random_state=1)
    found = cluster(call, "evaluate", path, label="y", score="p", **options)
    assert found == truecal.evaluate(columns["y"], columns["p"], **options)


def test_cells_from_a_cluster_are_those_of_numpy(cluster, columns, path):
    found = cluster(call, "summarize", path, label="y", score="p", scale=Scale(grid=9)).parts[()]
    expected = Cells.of(Tally.from_arrays(columns["y"], columns["p"]), 9)
    assert len(found) < len(Tally.from_arrays(columns["y"], columns["p"])) / 10
    for name in ("key", "n", "pos", "low", "high"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    np.testing.assert_allclose(found.total, expected.total, rtol=1e-12)  # sums depend on their order


def test_segments_judged_on_a_cluster_are_those_of_numpy(cluster, columns, path):
    found = cluster(call, "evaluate", path, label="y", score="p", by=["kind", "month"], reference=49, random_state=1)
    tallies = split(columns, slice(None), "kind", "month")
    expected = judge_segments(tallies, replicates=49, adjust="holm", random_state=1, by=("kind", "month"))
    assert found.segment == expected.segment
    for name, column in expected.columns().items():
        np.testing.assert_array_equal(found.columns()[name], column)


def test_a_worker_that_dies_half_way_changes_nothing(cluster, columns, path):
    found, seen = cluster(interrupted, path, label="y_gaps", score="p_gaps", by="month", on_null="drop")
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
    assert cluster(call, "tally_frame", path, label="y", score="p") == Tally.from_arrays(columns["y"], columns["p"])
