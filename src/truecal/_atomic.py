"""Write files atomically: whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def write_atomically(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a draft beside `path` to write to. It replaces `path` at the end, or is deleted if anything fails.

    Until then readers see the old file. Of two concurrent writers, one file remains, whole.
    """
    import tempfile

    place = check_place(path)
    # short enough for every name that may itself be written
    handle, name = tempfile.mkstemp(prefix=f".{place.name[:20]}.", suffix=".tmp", dir=place.parent)
    draft = Path(name)
    try:
        os.close(handle)
        yield draft
        os.chmod(draft, place.stat().st_mode & 0o777 if place.exists() else 0o666 & ~_umask())
        with open(draft, "rb") as file:
            os.fsync(file.fileno())
        os.replace(draft, place)
    finally:
        draft.unlink(missing_ok=True)


def check_place(path: str | os.PathLike[str]) -> Path:
    """Return the file that would be written, with links resolved; raise an error if it cannot be written."""
    place = Path(os.path.realpath(path))
    if not place.parent.is_dir():
        raise FileNotFoundError(f"The folder of {os.fspath(path)!r} must exist; it does not.")
    if place.is_dir():
        raise IsADirectoryError(f"{os.fspath(path)!r} must be a file; it is a folder.")
    if place.exists() and not place.is_file():
        raise OSError(f"{os.fspath(path)!r} must be a plain file; it is a device or a pipe.")
    return place


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Write a text file atomically."""
    with write_atomically(path) as draft:
        draft.write_text(text, encoding="utf-8")
    return Path(path)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
