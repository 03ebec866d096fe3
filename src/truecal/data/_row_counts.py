"""Row counts: each row that was read is evaluated, was dropped for a reason, or is out of scope."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from truecal._codes import Code
from truecal._text import plural


class ReasonKind(Code):
    """What is wrong with a value of a row that cannot be evaluated.

    Examples
    --------
    >>> Reason("p", ReasonKind.OUT_OF_RANGE).kind == "out of range"
    True
    """

    NULL = "null"
    NAN = "nan"
    OUT_OF_RANGE = "out of range"
    NOT_BINARY = "not binary"
    NOT_NORMALIZED = "not normalized"
    NOT_WHOLE = "not a whole number"
    NOT_POSITIVE = "not positive"
    COUNT_IS_ZERO = "count is zero"
    UNPAIRED = "unpaired"


@dataclass(frozen=True, slots=True, repr=False)
class Reason:
    """Why rows cannot be evaluated: a column, and what is wrong with its value.

    Parameters
    ----------
    column : str, optional
        The column; None if the reason is about no column of the data.
    kind : ReasonKind
        What is wrong; text is converted.

    Examples
    --------
    >>> Reason("p", ReasonKind.NULL)
    Reason('p', 'null')
    """

    column: str | None
    kind: ReasonKind

    def __post_init__(self) -> None:
        if self.column is not None and not isinstance(self.column, str):
            raise TypeError(f"`column` must be text or None; it is {self.column!r}.")
        object.__setattr__(self, "kind", ReasonKind(self.kind))

    def __repr__(self) -> str:
        return f"Reason({self.column!r}, {self.kind!r})"


UNPAIRED = Reason(None, ReasonKind.UNPAIRED)  # the baseline has no score for a row


@dataclass(frozen=True, slots=True)
class RowCounts:
    """The number of rows that were read, evaluated, dropped by reason, and out of scope.

    The counts always balance, and none is negative; counts that do not are an error.

    Parameters
    ----------
    read : int
        The rows that were read, including those that stand for no observation because their count is zero.
    evaluated : int
        The rows that the result is about.
    dropped : dict
        The rows that were left out, by reason: `{Reason("p", "null"): 3}`.
    out_of_scope : int
        The valid rows below the decision threshold, or not among the `top`.
    files : dict
        The counts of each file, if several were read.

    Examples
    --------
    >>> row_counts = RowCounts(read=10, evaluated=7, dropped={Reason("p", "null"): 3})
    >>> row_counts.n_dropped, row_counts.share_dropped
    (3, 0.3)
    """

    read: int
    evaluated: int
    dropped: dict[Reason, int] = field(default_factory=dict)
    out_of_scope: int = 0
    files: dict[str, RowCounts] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        check_reasons(self.dropped)
        total = self.evaluated + self.n_dropped + self.out_of_scope
        negative = min(self.read, self.evaluated, self.out_of_scope, *self.dropped.values()) < 0
        if negative or self.read != total:
            raise RuntimeError(
                f"Rows must not get lost: {plural(self.read, 'row')} {'was' if self.read == 1 else 'were'} read, but "
                f"{self.evaluated:,} evaluated, {self.n_dropped:,} dropped and {self.out_of_scope:,} out of scope "
                f"make {total:,}.\n\n"
                "Hint: were the data changed while they were read? If not, please report this as a bug."
            )
        if self.files:
            self._check_files()

    def _check_files(self) -> None:
        """Raise an error unless the rows of files add up to those of all."""
        read = sum(counts.read for counts in self.files.values())
        dropped = sum((Counter(counts.dropped) for counts in self.files.values()), Counter[Reason]())
        if read != self.read or dropped != Counter(self.dropped):
            raise RuntimeError(
                f"Rows must not get lost: of {plural(self.read, 'row')} {self.n_dropped:,} were dropped, but the files "
                f"have {read:,}, of which {sum(dropped.values()):,} were dropped.\n\n"
                "Hint: were the data changed while they were read? If not, please report this as a bug."
            )

    @property
    def n_dropped(self) -> int:
        """The number of dropped rows."""
        return sum(self.dropped.values())

    @property
    def share_dropped(self) -> float:
        """The share of the rows read that were dropped."""
        return self.n_dropped / self.read if self.read else 0.0

    @property
    def without_zero_counts(self) -> RowCounts:
        """The same counts without the rows that stand for no observation because their count is zero."""
        dropped = {reason: n for reason, n in self.dropped.items() if reason.kind != ReasonKind.COUNT_IS_ZERO}
        if len(dropped) == len(self.dropped):
            return self
        unseen = self.n_dropped - sum(dropped.values())
        files = {name: counts.without_zero_counts for name, counts in self.files.items()}
        return replace(self, read=self.read - unseen, dropped=dropped, files=files)


def check_reasons(dropped: Mapping[Reason, int]) -> dict[Reason, int]:
    """Return a copy of counts by reason; raise an error unless they are that."""
    for reason, n in dropped.items():
        if not isinstance(reason, Reason) or not isinstance(n, int) or isinstance(n, bool):
            raise TypeError(f"`dropped` must map a `Reason` to a number of rows; it maps {reason!r} to {n!r}.")
    return dict(dropped)
