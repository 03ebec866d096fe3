"""Fixtures, and the switch that turns every skip for a missing part into a failure."""

from __future__ import annotations

import importlib
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("truecal", deadline=None, print_blob=True, derandomize=True)
settings.load_profile("truecal")

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
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.shuffle.partitions", "2").config("spark.log.level", "ERROR").getOrCreate()
    yield session
    session.stop()


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20230731)
