"""The data of the paper: from a folder (`--data`, `TRUECAL_DATA`), or downloaded from its public address.

Layout of the folder and of the cache: `imagenet/labels.npy`, `imagenet/preds_00.npy`.. and `uci/<set>.npz` with the
arrays `data` and `target` (0/1), `uci/predictions_sklearn_1.2.1.npz`. A given folder is read, never written; what it
lacks is downloaded to the cache. What is in neither place raises `Missing`; nothing is ever put in its stead.
"""

from __future__ import annotations

import hashlib
import os
import tarfile
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproduction.places import cache_folder, say, write_whole

Array = NDArray[Any]

# Test rows and their positives under the paper's split, which every set must show whatever its origin.
UCI_TEST_ROWS = {
    "spambase": (1381, 559),
    "optical_digits": (1686, 151),
    "satimage": (1931, 207),
    "pen_digits": (3298, 303),
    "abalone": (1254, 132),
    "isolet": (2340, 170),
    "coil_2000": (2947, 171),
    "letter_img": (6000, 211),
    "webpage": (10434, 292),
    "mammography": (3355, 77),
}
SPAMBASE_URL = "https://archive.ics.uci.edu/ml/machine-learning-databases/spambase/spambase.data"
STORED_PREDICTIONS = "predictions_sklearn_1.2.1"

IMAGENET_URL = "https://raw.githubusercontent.com/facebookresearch/tce/main/Dataset/DL/{}.npy"
IMAGENET_FILES = {"AlexNet": "preds_00", "VGG19": "preds_01", "Res18": "preds_02", "Res50": "preds_03"} | {
    "Res152": "preds_04"
}
IMAGENET_SHA256 = {
    "labels": "3e99856383220ae5bb9ef7dc231b944bc9254f12e34af9d6b80b8742d7ee6125",
    "preds_00": "5fd194de464ae6ccf0d2b911c6a08140d2742a030ee6dae162011aebe90361fe",
    "preds_01": "b3cd49bf20ff55100561a545fad1f1c2712e65674809fbc146c1d759eff0197c",
    "preds_02": "c24b3ce691783a0f8b5d3e3cc058954ce5d68be3d5c02f40405626b4754b69ef",
    "preds_03": "e7b5e3db3392774d6e3e787e658f419dd9edf74e580dfdcdba077b5c350695f8",
    "preds_04": "1354c0d21e158568a44e58a227d4d4d966be682fe8fe01a86869a27b52f2e3e9",
}
TIMEOUT = 30  # seconds without an answer


class Missing(Exception):
    """A data set that is neither in the folder nor to be had from its address."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name} is missing: {reason}")
        self.name, self.reason = name, reason


def _folder_of_environment() -> Path | None:
    given = os.environ.get("TRUECAL_DATA")
    return Path(given) if given else None


@dataclass
class Sources:
    """Finds data sets in a folder, then in the cache, then at their addresses."""

    folder: Path | None = field(default_factory=_folder_of_environment)
    cache: Path = field(default_factory=cache_folder)
    download: bool = True
    missing: dict[str, str] = field(default_factory=dict)  # every set asked for in vain, with the reason

    def imagenet(self, model: str) -> tuple[Array, Array]:
        """Labels and predictions of one model; predictions a hair above 1 are clipped."""
        labels, scores = (self._imagenet_file(name) for name in ("labels", IMAGENET_FILES[model]))
        return labels.astype(np.int64), np.minimum(scores.astype(np.float64), 1.0)

    def uci(self, name: str) -> tuple[Array, Array]:
        """Features and 0/1 labels of one set, in the public loader's row order."""
        path = self._held(f"uci/{name}.npz")
        if path is None:
            path = self.cache / "uci" / f"{name}.npz"
            self._attempt(name, lambda: _download_spambase(path) if name == "spambase" else _download_uci(name, path))
        with np.load(path) as held:
            return held["data"], held["target"].astype(np.int64)

    def stored_predictions(self) -> dict[str, Array]:
        """Test predictions made with scikit-learn 1.2.1: `<set>_<LR|RF|GB>`, labels `<set>_y`."""
        path = self._held(f"uci/{STORED_PREDICTIONS}.npz")
        if path is None:
            self.missing[STORED_PREDICTIONS] = "it has no public address; put it into the folder of --data"
            raise Missing(STORED_PREDICTIONS, self.missing[STORED_PREDICTIONS])
        with np.load(path) as held:
            return {name: held[name] for name in held.files}

    def _imagenet_file(self, name: str) -> Array:
        path = self._held(f"imagenet/{name}.npy")
        if path is None:
            path = self.cache / "imagenet" / f"{name}.npy"
            self._attempt(f"imagenet {name}", lambda: _download(IMAGENET_URL.format(name), path, IMAGENET_SHA256[name]))
        _verify(path, IMAGENET_SHA256[name])
        return np.asarray(np.load(path))

    def _held(self, relative: str) -> Path | None:
        for folder in (self.folder, self.cache):
            if folder is not None and (folder / relative).exists():
                if folder == self.cache:
                    _verify(folder / relative, _recorded(folder / relative))
                return folder / relative
        return None

    def _attempt(self, name: str, fetch: Callable[[], None]) -> None:
        if name not in self.missing and not self.download:
            self.missing[name] = "not in the folder, and downloads are disabled"
        if name not in self.missing:
            say(f"    downloading {name}")
            try:
                return fetch()
            except (
                OSError,
                ImportError,
                tarfile.TarError,
            ) as error:  # URLError, timeouts, a wrong checksum are OSErrors
                self.missing[name] = f"download failed: {type(error).__name__}: {error}"
        raise Missing(name, self.missing[name])


def _download(url: str, path: Path, sha256: str | None) -> None:
    """Fetch a file; its checksum must be the known one, or is recorded beside it on the first download."""
    with urllib.request.urlopen(url, timeout=TIMEOUT) as answer:
        body = answer.read()
    found = hashlib.sha256(body).hexdigest()
    if sha256 is not None and found != sha256:
        raise OSError(f"{url} has sha256 {found}, not {sha256}")
    write_whole(path, lambda part: part.write_bytes(body))
    _record(path)


def _download_spambase(path: Path) -> None:
    raw = path.with_name("spambase.data")
    _download(SPAMBASE_URL, raw, None)
    table = np.loadtxt(raw, delimiter=",")
    if table.shape != (4601, 58):
        raise OSError(f"{SPAMBASE_URL} holds a table of shape {table.shape}, not (4601, 58)")
    _store(path, table[:, :-1], table[:, -1])


def _download_uci(name: str, path: Path) -> None:
    """One set of imbalanced-learn's `fetch_datasets` (Zenodo record 61452)."""
    from imblearn.datasets import fetch_datasets

    bunch = fetch_datasets(data_home=str(path.parent.parent / "imblearn"), filter_data=(name,))[name]
    _store(path, bunch.data, (bunch.target == 1).astype(np.int64))


def _store(path: Path, data: Array, target: Array) -> None:
    write_whole(path, lambda part: np.savez_compressed(part, data=data, target=target))
    _record(path)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _record(path: Path) -> None:
    text = _digest(path) + "\n"
    write_whole(path.with_name(path.name + ".sha256"), lambda part: part.write_text(text))


def _recorded(path: Path) -> str | None:
    note = path.with_name(path.name + ".sha256")
    return note.read_text().strip() if note.exists() else None


def _verify(path: Path, sha256: str | None) -> None:
    if sha256 is not None and _digest(path) != sha256:
        raise Missing(path.name, f"its sha256 is not {sha256}; remove the file and run again")
