"""Write files atomically, whole or not at all; and remove what killed processes left behind.

Drafts of outputs and temporary copies of inputs are locked while they are in use. The system opens the lock however a
process ends, so what can be locked belongs to nobody.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: nothing is locked, so nothing is taken for left behind, and open files are not replaced
    LOCKS = False
else:
    LOCKS = True

DRAFT = ".truecal"
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def raise_if_full(error: Exception, place: str | os.PathLike[str]) -> None:
    """Raise the system's error about `place` if that of polars, which has only its words, is that a disk is full."""
    told = re.search(r"\(os error (\d+)\)", str(error))
    if told and int(told[1]) in FULL:
        raise OSError(int(told[1]), os.strerror(int(told[1])), os.fspath(place)) from error


@contextmanager
def write_atomically(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a draft beside `path` to write to. It replaces `path` at the end, or is deleted if anything fails.

    Until then readers see the old file. Of two concurrent writers, one file remains, whole.
    """
    place = check_place(path)
    # short enough for every name that may itself be written
    prefix = f".{place.name[:20]}."
    for left in find_left(place.parent, prefix, DRAFT):
        left.unlink(missing_ok=True)
    draft, handle = _open_draft(place.parent, prefix)
    try:
        yield draft
        with open(draft, "rb+") as file:
            os.fsync(file.fileno())
        os.chmod(draft, place.stat().st_mode & 0o777 if place.exists() else 0o666 & ~_umask())
        os.replace(draft, place)
    finally:
        draft.unlink(missing_ok=True)
        with suppress(OSError):  # all is written
            if LOCKS:
                os.close(handle)


@contextmanager
def hold(folder: Path) -> Iterator[None]:
    """Wait until no other process holds a folder, where the system knows locks."""
    if not LOCKS:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def lock(handle: int, *, wait: bool) -> bool:
    """Lock a file or folder until it is closed; return whether it was. Some systems have no locks."""
    if not LOCKS:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True


def find_left(folder: Path, prefix: str, suffix: str = "") -> Iterator[Path]:
    """Yield the user's own files or folders of such names that no process has locked; each is locked until the next."""
    with suppress(OSError):
        for name in os.listdir(folder) if LOCKS else ():
            if not (name.startswith(prefix) and name.endswith(suffix)):
                continue
            with suppress(OSError):  # it is gone, or it is not ours
                handle = os.open(folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
                try:
                    if os.fstat(handle).st_uid == os.getuid() and lock(handle, wait=False):
                        yield folder / name
                finally:
                    os.close(handle)


def _open_draft(folder: Path, prefix: str) -> tuple[Path, int]:
    """Make a locked draft."""
    import tempfile

    while True:
        handle, name = tempfile.mkstemp(prefix=prefix, suffix=DRAFT, dir=folder)
        try:
            if not LOCKS:
                os.close(handle)
                return Path(name), -1
            lock(handle, wait=True)
            if os.fstat(handle).st_nlink:  # else another process took it for one left behind, before it was locked
                return Path(name), handle
        except BaseException:
            os.unlink(name)
            raise
        os.close(handle)


def check_place(path: str | os.PathLike[str]) -> Path:
    """Return the file that would be written, with links resolved; raise an error if it cannot be written."""
    place = Path(os.path.realpath(path))
    if not place.parent.is_dir():
        raise FileNotFoundError(f"Folder not found for {os.fspath(path)!r}.")
    if place.is_dir():
        raise IsADirectoryError(f"{os.fspath(path)!r} must be a file; it is a folder.")
    if place.exists() and not place.is_file():
        raise OSError(f"{os.fspath(path)!r} must be a plain file; it is a device or a pipe.")
    return place


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Write a text file atomically."""
    with write_atomically(path) as draft:
        draft.write_text(text, encoding="utf-8", newline="\n")
    return Path(path)


def append_line(path: str | os.PathLike[str], text: str) -> None:
    """Append a line to a text file, whole or not at all. What a killed process left of one is ended first."""
    file = open(path, "ab+", buffering=0)  # noqa: SIM115 (closed below)
    size = file.seek(0, os.SEEK_END)
    try:
        file.seek(max(size - 1, 0))
        left = f"{text}\n".encode() if file.read() in (b"", b"\n") else f"\n{text}\n".encode()
        while left:
            left = left[file.write(left) :]
        os.fsync(file.fileno())
    except BaseException:
        file.truncate(size)
        raise
    finally:
        with suppress(OSError):  # all is written
            file.close()


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
