"""How errors speak: parameters as the caller writes them, and what may have been meant.

The library writes a parameter as `significance`. The command line installs its own spelling once, with `speak`, and
the same error then says --significance. Only what is written with `option` is a parameter: a user's column that
happens to be called `significance` stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar

_SPELLING: ContextVar[Mapping[str, str] | None] = ContextVar("truecal_spelling", default=None)


def option(name: str) -> str:
    """A parameter, or a call such as `every=None`, as whoever called writes it.

    Examples
    --------
    >>> option("pos_label")
    '`pos_label`'
    """
    spelling = _SPELLING.get()
    return f"`{name}`" if spelling is None or name not in spelling else spelling[name]


def speak(spelling: Mapping[str, str]) -> None:
    """Let errors spell parameters in this way from now on, in this thread or task."""
    _SPELLING.set(spelling)


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """A hint where a word is close to a known one, else nothing.

    Examples
    --------
    >>> did_you_mean("lable", ["label", "score"])
    "\\n\\nHint: did you mean 'label'?"
    """
    from difflib import get_close_matches

    words = list(known)
    near = get_close_matches(str(word), words, n=1) or [w for w in words if w.lower() == str(word).lower()]
    return f"\n\nHint: did you mean {near[0]!r}?" if near else ""


def check_column(role: str, name: str, columns: Sequence[str]) -> None:
    """Refuse a column that is not there, and say which may have been meant."""
    if name not in columns:
        known = ", ".join(map(repr, columns))
        raise ValueError(
            f"{option(role)} must be one of the columns {known}; it is {name!r}.{did_you_mean(name, columns)}"
        )
