"""Fixtures, and the switch that turns every skip for a missing part into a failure."""

from __future__ import annotations

import functools
import importlib
import json
import os
import shutil
import signal
from pathlib import Path

# Threads of linear algebra and of OpenMP wait by spinning; with a worker on every processor they would only do that.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402
import pytest  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):  # as in the background of a shell; programs that tests start would be deaf
    signal.signal(signal.SIGINT, signal.default_int_handler)
# a busy machine is no fault of an example: no deadline, and none for drawing it
SETTINGS = {"deadline": None, "print_blob": True, "derandomize": True, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("truecal", **SETTINGS)
settings.load_profile("truecal")


def _validate_what_is_written() -> None:
    """Let every result that a test writes as JSON be validated against the schema."""
    import fastjsonschema

    from truecal.results import _json

    schema = json.loads((Path(_json.__file__).parents[1] / "schema.json").read_text())
    validate, write = fastjsonschema.compile(schema), _json.to_json

    @functools.wraps(write)
    def to_json(value: object) -> str:
        text = write(value)
        validate(json.loads(text))
        return text

    _json.to_json = to_json


_validate_what_is_written()


def _waits(name: str) -> bool:
    """Whether a test asks an engine many questions, or one that takes a second for each."""
    names = "test_a_name_means_the_column_itself["
    return "spark" in name or "dask" in name or (name.startswith(names) and not name.startswith(f"{names}polars"))


# What is dear to start or to compute is so in one worker only: all tests of these files run in the same.
SHARED = (
    "faults/test_preloaded",
    "reporting/test_browser",
    "reproduction/test_reproduction",
    "test_demo",
    "test_kernel",
    "test_packaging",
)


def _find_group(nodeid: str) -> str:
    """What must run in the same worker as a test."""
    place, _, name = nodeid.partition("::")
    file = place.removeprefix("tests/").removesuffix(".py")
    if file == "reading/test_clusters":
        return "cluster of Spark" if "spark" in name else "cluster of Dask"
    if "spark" in name:
        return "Spark"
    return file if file in SHARED else nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Large groups first, then single tests. Marks for groups are lost where pytest is newer than pytest-xdist knows."""
    if config.getvalue("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class Groups(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return _find_group(nodeid)

    return Groups(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark cases of slow engines; what is slow comes first, so that workers end together."""
    for item in items:
        if _waits(item.name):
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


# Whether tests of many cases try all of them, as `make long` does, or some.
LONG = os.environ.get("TRUECAL_LONG") == "1"


def fewer(count: int, by: int) -> int:
    """A number of cases: all, or one in `by`."""
    return count if LONG else count // by


REQUIRE_ALL = os.environ.get("TRUECAL_REQUIRE_ALL") == "1"


def missing(what: str) -> None:
    """Skip, or fail where everything is required."""
    if REQUIRE_ALL:
        pytest.fail(f"TRUECAL_REQUIRE_ALL=1, but {what}", pytrace=False)
    pytest.skip(what, allow_module_level=True)


@pytest.fixture
def need():
    """Import an optional library, or skip."""

    def load(name: str):
        try:
            return importlib.import_module(name)
        except ImportError:
            missing(f"{name} is not installed")

    return load


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real data, named by TRUECAL_DATA; "none" says that there is none to be had."""
    given = os.environ.get("TRUECAL_DATA")
    if given == "none":
        pytest.skip("TRUECAL_DATA=none: the paper's data are not here")
    if given is None:
        missing("TRUECAL_DATA does not name a folder with the paper's data")
    folder = Path(given)
    if not folder.is_dir():
        missing(f"TRUECAL_DATA names {given}, which is not a folder")
    return folder


@pytest.fixture(scope="session")
def imagenet(data_dir) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Labels and predictions of the ImageNet models at hand, by the name in the paper's table."""
    folder = data_dir / "imagenet"
    if not folder.is_dir():
        missing(f"{folder} is not there")
    y = np.load(folder / "labels.npy")
    files = {"AlexNet": "preds_00.npy", "VGG19": "preds_01.npy", "Res152": "preds_04.npy"}
    return {name: (y, np.clip(np.load(folder / file), 0, 1)) for name, file in files.items()}


@pytest.fixture(scope="session")
def spark():
    """A Spark session in this process; it needs Java."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        missing("pyspark is not installed")
    if shutil.which("java") is None:
        missing("Java is not installed, which Spark needs")
    options = {
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
        # tables of a few rows: as quick to start and to plan as can be
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
    }
    session = SparkSession.builder.master("local[2]").config(map=options).getOrCreate()
    yield session
    session.stop()


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20230731)
