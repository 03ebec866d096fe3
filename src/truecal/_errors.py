"""The wording of errors: parameters as the caller spells them, and hints for misspelt words.

The library writes a parameter as `significance`. The command line sets its own spelling once, with `set_spelling`, and
the same error then says --significance. Only names written with `option` are parameters: a user's column called
`significance` is never respelt.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

DOCS = "https://github.com/truecal/truecal/blob/main/docs"
SHORTEST = 3  # letters with which a known word may begin
_SPELLING: ContextVar[Mapping[str, str] | None] = ContextVar("truecal_spelling", default=None)


def option(name: str) -> str:
    """Return a parameter, or a setting such as `every=None`, as the caller spells it.

    Examples
    --------
    >>> option("pos_label")
    '`pos_label`'
    """
    spelling = _SPELLING.get()
    return f"`{name}`" if spelling is None or name not in spelling else spelling[name]


def set_spelling(spelling: Mapping[str, str] | None) -> None:
    """Set the spelling of parameters in errors, for this thread or task; None is the library's."""
    _SPELLING.set(spelling)


@contextmanager
def use_plain_names() -> Iterator[None]:
    """Spell parameters as the library does, such as for a file whose keys have these names."""
    before = _SPELLING.set(None)
    try:
        yield
    finally:
        _SPELLING.reset(before)


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """Return a hint if a word is close to a known one, else "".

    Examples
    --------
    >>> did_you_mean("lable", ["label", "score"])
    "\\n\\nHint: did you mean 'label'?"
    """
    near = find_near(word, known)
    return "" if near is None else f"\n\nHint: did you mean {near!r}?"


def find_near(word: object, known: Iterable[str]) -> str | None:
    """Return the known word that is close to a word, if one is.

    Examples
    --------
    >>> find_near("lable", ["label", "score"]), find_near("prob", ["label", "probability"])
    ('label', 'probability')
    """
    from difflib import get_close_matches

    words = list(known)
    near = get_close_matches(str(word), words, n=1) or [w for w in words if w.lower() == str(word).lower()]
    near = near or [w for w in words if len(str(word)) >= SHORTEST and w.lower().startswith(str(word).lower())]
    return near[0] if near else None


def add_page(page: str, error: ValueError) -> ValueError:
    """Note on an error which page of the docs explains its rule, unless a hint has the remedy; the message stays.

    Examples
    --------
    >>> add_page("gate.md", ValueError("A rule must have a metric.")).__notes__
    ['See https://github.com/truecal/truecal/blob/main/docs/gate.md']
    """
    if "Hint: " not in str(error):
        error.add_note(f"See {DOCS}/{page}")
    return error


@contextmanager
def name_place(place: str | os.PathLike[str]) -> Iterator[None]:
    """Let errors of the system that name no file, as those of reading and writing do, name this one."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror, os.fspath(place)) from error


def describe_missing(name: str | os.PathLike[str]) -> str:
    """Return an error for a file that is not there, with the file beside it that may be meant, or where it was looked
    for."""
    folder, base = os.path.split(os.path.abspath(name))
    stem, suffix = os.path.splitext(base)
    held = os.listdir(folder) if os.path.isdir(folder) and os.access(folder, os.R_OK) else []
    near = find_near(stem, sorted(each.removesuffix(suffix) for each in held if each.endswith(suffix)))
    hint = f"it was looked for in {folder!r}." if near is None else f"did you mean {near + suffix!r}?"
    return f"File not found: {os.fspath(name)!r}.\n\nHint: {hint}"


def check_column(role: str, name: str, columns: Sequence[str]) -> None:
    """Raise an error if a column does not exist, with a hint for misspelt names."""
    if name not in columns:
        known = ", ".join(map(repr, columns))
        rule = f"{option(role)} must be one of the columns {known}; it is {name!r}.{did_you_mean(name, columns)}"
        raise add_page("data.md", ValueError(rule))
