"""Codes: values from a closed set that tables and JSON hold as text."""

from __future__ import annotations

from enum import StrEnum


class Code(StrEnum):
    """A member of a closed set, shown as its text: a list of statuses prints as a list of strings.

    Examples
    --------
    >>> class Colour(Code):
    ...     RED = "red"
    >>> [Colour.RED], Colour.RED == "red"
    (['red'], True)
    """

    def __repr__(self) -> str:
        return repr(self.value)
