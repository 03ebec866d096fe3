"""Spark and Dask as real clusters of several processes.

A cluster's driver runs in a process of its own, which leads a process group: it cannot meet the Spark session that other
tests start here, the warnings of its libraries stay there, and whatever happens, the group is ended whole.
"""

import contextlib
import multiprocessing
import os
import shutil
import signal
import time
import traceback
import warnings
from pathlib import Path

import pytest

PARTS = 24  # files of the rows
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
