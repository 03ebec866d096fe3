"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def write_atomically(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A draft beside `path` to write to; it takes the place of `path` at the end, or vanishes where anything failed.

    Whoever reads `path` meanwhile sees the old file, whole; two writers at once leave one of their files, whole.
    """
    import tempfile

    place = check_place(path)
    handle, name = tempfile.mkstemp(prefix=f".{place.name}.", suffix=".tmp", dir=place.parent)
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
    """Refuse a place where no file can be written, and give the file that would be; a link stays a link."""
    place = Path(os.path.realpath(path))
    if not place.parent.is_dir():
        raise FileNotFoundError(f"The folder of {os.fspath(path)!r} must exist; it does not.")
    if place.is_dir():
        raise IsADirectoryError(f"{os.fspath(path)!r} must be a file; it is a folder.")
    if place.exists() and not place.is_file():
        raise OSError(f"{os.fspath(path)!r} must be a plain file; it is a device or a pipe.")
    return place


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Write a text file, whole or not at all."""
    with write_atomically(path) as draft:
        draft.write_text(text, encoding="utf-8")
    return Path(path)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
