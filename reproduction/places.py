"""Where things are: the checkout's own folders, the cache, and the progress line."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
PUBLISHED = HERE / "published"
RESULTS = HERE / "results"
DOCUMENT = HERE.parent / "docs" / "reproduction.md"
FIGURES = HERE.parent / "docs" / "reproduction"


def cache_folder() -> Path:
    """Downloads and fitted models: `TRUECAL_CACHE`, or truecal-reproduction in the user's cache."""
    given = os.environ.get("TRUECAL_CACHE")
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "truecal-reproduction"


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Have `write` fill a temporary file, then put it in place in one step: a stopped run leaves no half file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".part-", suffix=path.suffix)
    os.close(handle)
    part = Path(name)
    try:
        write(part)
        part.chmod(0o644)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def say(text: str) -> None:
    """One line of progress, to stderr."""
    print(text, file=sys.stderr, flush=True)
