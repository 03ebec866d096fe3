"""Where rows went: each row that was read is judged, was dropped for a reason, or lies outside of what is judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from truecal._text import plural


@dataclass(frozen=True, slots=True)
class Account:
    """Rows from reading to the verdict. It always balances; one that does not is an error.

    Parameters
    ----------
    read : int
        The rows that were read.
    judged : int
        Those that the answer is about.
    dropped : dict
        Those that were left out, by reason: {"`p` is null": 3}.
    outside : int
        Those below `above`, or not among the `top`.

    Examples
    --------
    >>> account = Account(read=10, judged=7, dropped={"`p` is null": 3})
    >>> account.n_dropped, account.share_dropped
    (3, 0.3)
    """

    read: int
    judged: int
    dropped: dict[str, int] = field(default_factory=dict)
    outside: int = 0

    def __post_init__(self) -> None:
        if self.read != self.judged + self.n_dropped + self.outside:
            raise RuntimeError(
                f"Rows must not get lost: {plural(self.read, 'row')} {'was' if self.read == 1 else 'were'} read, but "
                f"{self.judged:,} judged, {self.n_dropped:,} dropped and {self.outside:,} outside of what is judged "
                f"make {self.judged + self.n_dropped + self.outside:,}.\n\n"
                "Hint: were the data changed while they were read? If not, please report this as a bug."
            )

    @property
    def n_dropped(self) -> int:
        """All dropped rows."""
        return sum(self.dropped.values())

    @property
    def share_dropped(self) -> float:
        """The share of the rows read that were dropped."""
        return self.n_dropped / self.read if self.read else 0.0

    @property
    def notes(self) -> tuple[str, ...]:
        """The dropped rows in words; nothing where there are none."""
        if not self.n_dropped:
            return ()
        verb = "was" if self.n_dropped == 1 else "were"
        return (f"of {plural(self.read, 'row')} {self.n_dropped:,} {verb} dropped: {list_reasons(self.dropped)}",)


def list_reasons(dropped: Mapping[str, int]) -> str:
    """The reasons with their rows: "`p` is null in 3"."""
    return ", ".join(f"{reason} in {count:,}" for reason, count in dropped.items())
