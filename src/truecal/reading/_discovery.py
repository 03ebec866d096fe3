"""Which files paths stand for: a file, a folder, a pattern with wildcards, or an open pipe, which is copied.

Nothing is left out silently: a folder that cannot be listed, a link to nothing and a link back to a folder above are
errors. A name that exists is never a pattern.
"""

from __future__ import annotations

import fnmatch
import glob
import os
import shlex
import shutil
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from truecal._errors import describe_missing, option
from truecal._options import FORMATS
from truecal.reading._csv import Copy

PathLike = str | os.PathLike[str]
TEXT = ("csv", "tsv", "jsonl")
COMPRESSED = (".gz", ".zst")  # text files only; the other formats have their own compression
MARKS = (
    "_SUCCESS",
    "_metadata",
    "_common_metadata",
    "_committed_",
    "_started_",
)  # files that engines write beside rows
FOREIGN = ("node_modules", "site-packages")  # folders of installed programs, which are skipped
OPEN_FILES = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")
_pipes: dict[tuple[int, int], Copy] = {}  # what open pipes held, which can be read only once


def is_path(data: Any) -> bool:
    """Whether data are a path or several paths."""
    several = isinstance(data, (list, tuple)) and len(data) > 0
    return all(isinstance(part, (str, os.PathLike)) for part in (data if several else [data]))


def expand_all(paths: PathLike | Sequence[PathLike]) -> list[Path]:
    """Return the files that one or more paths stand for; raise an error if they name a file twice."""
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    places = [place for part in given for place in expand(os.fspath(part))]
    seen: dict[tuple[int, int], Path] = {}
    for place in places:
        found = os.stat(place)
        first = seen.setdefault((found.st_dev, found.st_ino), place)
        if first is not place:
            same = "again" if first == place else f"and is the same file as {str(first)!r}"
            raise ValueError(
                f"Every file must be named once, so that no row counts twice; {str(place)!r} is named {same}.\n\n"
                "Hint: name files, or folders without links to each other."
            )
    return places


def expand(name: str) -> list[Path]:
    """Return the files that a path stands for."""
    place = Path(name)
    if name.startswith("~"):  # polars would take it for the home folder even if it exists
        place = place.absolute() if _exists(name) else Path(os.path.expanduser(name))
    if not name or not _exists(place):
        if not glob.has_magic(name):
            raise FileNotFoundError(describe_missing(name))
        start = Path(place.anchor)
        matches = sorted(_match(start, place.relative_to(start).parts))
        found = list(dict.fromkeys(file for match in matches for file in expand(str(match))))
        if not found:
            raise FileNotFoundError(f"The pattern {name!r} must match at least one file; it matches none.")
        return found
    if not place.is_dir():
        return [_as_file(place)]
    found = sorted(_as_file(file) for file in _list_files(place) if _is_data(file))
    if not found:
        raise FileNotFoundError(f"The folder {name!r} must hold files of a known format; it holds none.")
    return found


def find_passed_over(paths: PathLike | Sequence[PathLike]) -> list[Path]:
    """Return the files in folders that are not read, though they may hold rows: those of other formats, and those whose
    names begin with an underscore. Hidden files, and marks such as `_SUCCESS` that engines write, are not listed."""
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    folders = [Path(os.fspath(part)) for part in given if os.path.isdir(part)]
    files = (file for folder in folders for file in _list_files(folder))
    return sorted(file for file in files if file.is_file() and not _is_data(file) and not _is_mark(file))


def _list_files(folder: Path) -> Iterator[Path]:
    """Yield the files in a folder and below that are not hidden by a dot."""
    for below in _walk(folder, _is_skipped):
        for file in _list(below):
            if file.name[0] != "." and not file.is_dir():
                yield file


def _is_data(file: Path) -> bool:
    """Whether a file in a folder is read, by its name."""
    known = {suffix for suffixes in FORMATS.values() for suffix in suffixes}
    return file.name[0] != "_" and strip_compression(file).suffix.lower() in known


def _is_mark(file: Path) -> bool:
    """Whether a file is one that engines write beside rows."""
    return (file.name.startswith(MARKS) and not file.suffix) or file.suffix == ".crc"


def strip_compression(place: Path) -> Path:
    """Remove the suffix of compression from a path."""
    return place.with_suffix("") if place.suffix.lower() in COMPRESSED else place


def find_format(place: Path) -> str:
    """Return the format of a file, found from its name."""
    plain = strip_compression(place)
    for kind, suffixes in FORMATS.items():
        if plain.suffix.lower() in suffixes and (plain == place or kind in TEXT):
            return kind
    known = ", ".join(suffix for suffixes in FORMATS.values() for suffix in suffixes)
    hint = "unpack it first" if place.suffix.lower() in (".xz", ".bz2", ".zip") else f"name its {option('format')}"
    raise ValueError(f"The name of {str(place)!r} must tell its format ({known}); it does not.\n\nHint: {hint}.")


def is_named_as_text(place: Path) -> bool:
    """Whether a file has the name of a text file."""
    suffix = strip_compression(place).suffix.lower()
    return any(suffix in FORMATS[kind] for kind in TEXT)


def _exists(place: PathLike) -> bool:
    """Whether a path exists, be it as a link to nothing. A path that may not be looked up is an error."""
    try:
        os.lstat(place)
    except PermissionError:
        raise
    except (OSError, ValueError):  # missing, too long, or with a zero byte
        return False
    return True


def _as_file(place: Path) -> Path:
    """Return a path of a regular file; copy an open pipe to one. Raise an error for anything else."""
    try:
        found = place.stat()
    except FileNotFoundError:
        raise FileNotFoundError(f"The file {str(place)!r} must exist; it is a link to nothing.") from None
    if stat.S_ISREG(found.st_mode):
        return place
    if not stat.S_ISFIFO(found.st_mode):
        raise ValueError(f"{str(place)!r} must be a file, a folder or a pipe; it is a device or a socket.")
    if not str(place).startswith(OPEN_FILES):  # opening it could wait forever, and it could be read only once
        raise ValueError(
            f"{str(place)!r} must be a file or an open pipe; it is a named pipe.\n\n"
            f"Hint: read it as standard input: - < {shlex.quote(str(place))}"
        )
    key = found.st_dev, found.st_ino
    if key not in _pipes:
        with open(place, "rb") as file:
            _pipes[key] = copy_stream(file, f"{place.name}.csv")
    return _pipes[key].place


def copy_stream(stream: IO[bytes], name: str) -> Copy:
    """Copy a stream to a temporary file: it may be larger than memory, and is read more than once."""
    copy = Copy(name)
    with open(copy.place, "wb") as file:
        shutil.copyfileobj(stream, file, 1 << 20)
    return copy


def _list(folder: Path) -> list[Path]:
    """Return what a folder holds, in order."""
    try:
        return sorted(folder / name for name in os.listdir(folder))
    except OSError as error:
        raise type(error)(f"The folder {str(folder)!r} must be readable; it is not: {error.strerror}.") from error


def _walk(folder: Path, skipped: Callable[[Path], bool], above: tuple[os.stat_result, ...] = ()) -> Iterator[Path]:
    """Yield a folder and all below, links included; raise an error if one is a folder above itself."""
    found = folder.stat()
    if any(os.path.samestat(found, other) for other in above):
        raise ValueError(f"A folder must not link to itself or to one above; {str(folder)!r} does.")
    yield folder
    for part in _list(folder):
        if part.is_dir() and not skipped(part):
            yield from _walk(part, skipped, (*above, found))


def _is_skipped(folder: Path) -> bool:
    """Whether a folder is hidden or holds installed programs. As in Spark, `_key=value` is not hidden."""
    hidden = folder.name[0] == "." or (folder.name[0] == "_" and "=" not in folder.name)
    return hidden or folder.name in FOREIGN or (folder / "pyvenv.cfg").exists()


def _match(folder: Path, parts: Sequence[str]) -> Iterator[Path]:
    """Yield what a pattern in a folder matches. A part that exists is taken literally."""
    if not parts:
        yield folder
        return
    first, rest = parts[0], parts[1:]
    if first == "**":
        for below in _walk(folder, lambda place: place.name[0] == "."):
            yield from _match(below, rest or ("*",))
    elif _exists(folder / first):
        yield from _match(folder / first, rest)
    elif glob.has_magic(first) and folder.is_dir():
        for place in _list(folder):
            if fnmatch.fnmatchcase(place.name, first) and (place.name[0] != "." or first[0] == "."):
                yield from _match(place, rest)
