"""Where rows went: each row that was read is judged, was dropped for a reason, or lies outside of what is judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from truecal._text import plural

NAMED = 3  # files that a note names
UNSEEN = " is 0"  # how the reason ends for lines whose count says that no row is like them


@dataclass(frozen=True, slots=True)
class Account:
    """Rows from reading to the verdict. It always balances, without a count below 0; one that does not is an error.

    Parameters
    ----------
    read : int
        The rows that were read, and the lines that stand for none, since their count is 0.
    judged : int
        Those that the answer is about.
    dropped : dict
        Those that were left out, by reason: {"`p` is null": 3}.
    outside : int
        Those below `above`, or not among the `top`.
    files : dict
        Where several files were read: the account of each.

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
    files: dict[str, Account] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        below = min(self.read, self.judged, self.outside, *self.dropped.values()) < 0
        if below or self.read != self.judged + self.n_dropped + self.outside:
            raise RuntimeError(
                f"Rows must not get lost: {plural(self.read, 'row')} {'was' if self.read == 1 else 'were'} read, but "
                f"{self.judged:,} judged, {self.n_dropped:,} dropped and {self.outside:,} outside of what is judged "
                f"make {self.judged + self.n_dropped + self.outside:,}.\n\n"
                "Hint: were the data changed while they were read? If not, please report this as a bug."
            )
        if self.files:
            self._check_files()

    def _check_files(self) -> None:
        """Raise an error unless the rows of files add up to those of all."""
        read = sum(each.read for each in self.files.values())
        dropped = sum((Counter(each.dropped) for each in self.files.values()), Counter[str]())
        if read != self.read or dropped != Counter(self.dropped):
            raise RuntimeError(
                f"Rows must not get lost: of {plural(self.read, 'row')} {self.n_dropped:,} were dropped, but the files "
                f"have {read:,}, of which {sum(dropped.values()):,} were dropped.\n\n"
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
    def seen(self) -> Account:
        """The same without the lines that stand for no row, since their count is 0."""
        dropped = {reason: count for reason, count in self.dropped.items() if not reason.endswith(UNSEEN)}
        if len(dropped) == len(self.dropped):
            return self
        unseen = self.n_dropped - sum(dropped.values())
        files = {name: each.seen for name, each in self.files.items()}
        return replace(self, read=self.read - unseen, dropped=dropped, files=files)

    @property
    def notes(self) -> tuple[str, ...]:
        """The dropped rows in words, and the lines that stand for no row; nothing where there are none."""
        rows, found = self.seen, []
        if rows.n_dropped:
            verb = "was" if rows.n_dropped == 1 else "were"
            found.append(f"of {plural(rows.read, 'row')} {rows.n_dropped:,} {verb} dropped: {rows.reasons}")
        if lines := self.read - rows.read:
            why = " and ".join(reason for reason in self.dropped if reason not in rows.dropped)
            found.append(f"{plural(lines, 'line')} {'stands' if lines == 1 else 'stand'} for no row: {why}")
        return tuple(found)

    @property
    def reasons(self) -> str:
        """Why rows were dropped, and which files lost the most: "`p` is null in 3 (in 'b.csv' 3 of 10)"."""
        lost = [(name, each) for name, each in self.files.items() if each.n_dropped]
        lost.sort(key=lambda entry: (-entry[1].share_dropped, -entry[1].n_dropped, entry[0]))
        named = [f"in {name!r} {each.n_dropped:,} of {each.read:,}" for name, each in lost[:NAMED]]
        more = [f"others in {plural(len(lost) - NAMED, 'more file')}"] if len(lost) > NAMED else []
        return list_reasons(self.dropped) + (f" ({', '.join([*named, *more])})" if named else "")


def list_reasons(dropped: Mapping[str, int]) -> str:
    """The reasons with their rows: "`p` is null in 3"."""
    return ", ".join(f"{reason} in {count:,}" for reason, count in dropped.items())
