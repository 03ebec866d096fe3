"""Check results and the decision of a release gate; `truecal.words` puts them into text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, overload

from truecal.data import Note, RowCounts
from truecal.gate._causes import Cause, CheckStatus
from truecal.gate._rules import Rule
from truecal.metrics import Unit
from truecal.results import Column, JsonMixin, Table, column, register, register_table
from truecal.verdict import Verdict

WORST_FIRST = CheckStatus.FAIL, CheckStatus.INCONCLUSIVE, CheckStatus.PASS
EXIT_CODES = {CheckStatus.PASS: 0, CheckStatus.FAIL: 1, CheckStatus.INCONCLUSIVE: 3}
SHOWN = ("status", "model", "segment", "n", "rule", "reason")


@register
@dataclass(frozen=True, slots=True)
class CheckDetails:
    """The numbers behind a check result; None for those that its cause does not have.

    Attributes
    ----------
    p_value : float, optional
        The p-value of the verdict, adjusted for the number of groups.
    groups : int
        The segments or classes that the rule judges.
    low, high : float, optional
        The bounds of what was compared with the limit: of a value on bins of cells, or the interval of a difference.
    end, confidence : float, optional
        The end of the metric's interval that is nearer to the limit, and the interval's confidence.
    draws, needed : int, optional
        The sets of labels that were simulated or resampled, and how many are needed.
    adjusted : int
        The groups that the p-value of a metric is adjusted for.
    otherwise : Cause, optional
        Why the rule would pass if the verdict were not inconclusive.
    verdict : Verdict, optional
        The verdict that decides, at the rule's significance over the number of groups.
    enough : int, optional
        About how many rows with such predictions would make the verdict conclusive.
    row_counts : RowCounts, optional
        The rows read, evaluated, dropped and out of scope.
    names, nearest : tuple of str, str, optional
        The models, segments or metrics that exist, and the one that may be meant.
    unit : Unit, optional
        The unit of the metric that was computed, if it is not that of the rule.

    Examples
    --------
    >>> import truecal
    >>> data = truecal.read({"y": [0, 1] * 100, "p": [0.2] * 200}, label="y", score="p")
    >>> truecal.check(data).results[0].details.groups
    1
    """

    p_value: float | None = None
    groups: int = 1
    low: float | None = None
    high: float | None = None
    end: float | None = None
    confidence: float | None = None
    draws: int | None = None
    needed: int | None = None
    adjusted: int = 1
    otherwise: Cause | None = None
    verdict: Verdict | None = None
    enough: int | None = None
    row_counts: RowCounts | None = None
    names: tuple[str, ...] = ()
    nearest: str | None = None
    unit: Unit | None = None


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one rule for one model, or for one of its segments or classes.

    Attributes
    ----------
    rule : Rule
        The rule.
    model : str
        The model's name, or the rule's pattern if no model matches it.
    segment : str or None
        The segment's name, or the rule's pattern if no segment matches it; None for the whole data set.
    n : int or None
        The number of rows; None if it is not known.
    observed : float or None
        The number that was compared with the limit, in the limit's unit; None if there was none.
    status : CheckStatus
        "pass", "fail" or "inconclusive".
    cause : Cause
        The reason for the status, as a code.
    details : CheckDetails
        The numbers behind the result.
    allowed : bool
        Whether it passes only because the rule allows an inconclusive verdict.

    Examples
    --------
    >>> import truecal
    >>> data = truecal.read({"y": [0, 1] * 100, "p": [0.2] * 200}, label="y", score="p")
    >>> result = truecal.check(data).results[0]
    >>> result.status, result.cause, result.n
    ('fail', 'miscalibrated', 200)
    """

    rule: Rule
    model: str
    segment: str | None
    n: int | None
    observed: float | None
    status: CheckStatus
    cause: Cause
    details: CheckDetails = field(default_factory=CheckDetails)
    allowed: bool = False

    def __post_init__(self) -> None:
        if self.observed is not None and math.isnan(self.observed):
            raise ValueError("`observed` must be a number or None; it is NaN.")
        for name, kind in (("status", CheckStatus), ("cause", Cause)):
            value = getattr(self, name)
            try:
                object.__setattr__(self, name, kind(value))
            except ValueError as error:
                raise ValueError(f"`{name}` must be one of {', '.join(kind)}; it is {value!r}.") from error

    @property
    def certain(self) -> bool:
        """Whether all predictions are 0 or 1, so that more rows would not help."""
        return self.cause == Cause.CERTAIN

    @property
    def unproven(self) -> bool:
        """Whether a limit is exceeded by predictions whose verdict is not "miscalibrated"."""
        return self.cause == Cause.UNPROVEN

    @property
    def allowable(self) -> bool:
        """Whether `allow_inconclusive` would let it pass: only the verdict is inconclusive."""
        return self.status == CheckStatus.INCONCLUSIVE and self.cause in (Cause.CERTAIN, Cause.UNDERPOWERED)

    @property
    def reason(self) -> str:
        """The reason for the status, as text with the numbers."""
        from truecal import words

        return words.describe_check(self)


@register_table
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CheckTable(Table):
    """A row for each check result, in the order of the rules; each row is a `CheckResult`.

    Examples
    --------
    >>> import truecal
    >>> decision = truecal.check(truecal.read({"y": [0, 1] * 100, "p": [0.2] * 200}, label="y", score="p"))
    >>> decision.results.status, decision.results.model
    (('fail',), ('p',))
    """

    status: tuple[CheckStatus, ...] = field(
        metadata=column("text", "status", 'The answer: "pass", "fail" or "inconclusive".')
    )
    model: tuple[str, ...] = field(metadata=column("text", "model", "The name of the model."))
    segment: tuple[str | None, ...] = field(
        metadata=column("text", "segment", "The name of the segment; None for the whole data set.")
    )
    n: tuple[int | None, ...] = field(metadata=column("count", "rows", "Its rows, if they are known."))
    rule: tuple[Rule, ...] = field(metadata=column("text", "rule", "The rule."))
    observed: tuple[float | None, ...] = field(
        metadata=column("ratio", "observed", "What was held against the limit, in the limit's unit.")
    )
    cause: tuple[Cause, ...] = field(metadata=column("text", "cause", "Why, as one of `truecal.gate.Cause`."))
    allowed: tuple[bool, ...] = field(
        metadata=column("flag", "allowed", "Whether it passes only because the rule allows an inconclusive verdict.")
    )
    details: tuple[CheckDetails, ...]  # no column: the numbers differ from cause to cause

    _shown: ClassVar[tuple[str, ...]] = SHOWN
    _derived_columns: ClassVar[tuple[Column, ...]] = (
        Column("reason", "text", "reason", "Why, in words with the numbers."),
    )

    @classmethod
    def of(cls, results: Iterable[CheckResult]) -> CheckTable:
        """Make a table of check results."""
        rows = tuple(results)
        return cls(**{entry.name: tuple(getattr(row, entry.name) for row in rows) for entry in fields(cls)})

    @property
    def reason(self) -> tuple[str, ...]:
        """The reason for each status, as text with the numbers."""
        return tuple(row.reason for row in self)

    @overload
    def __getitem__(self, row: int) -> CheckResult: ...

    @overload
    def __getitem__(self, row: slice) -> list[CheckResult]: ...

    def __getitem__(self, row: int | slice) -> CheckResult | list[CheckResult]:
        """Return a row as a `CheckResult`, or the rows of a slice as a list."""
        if isinstance(row, slice):
            return [self[i] for i in range(len(self))[row]]
        return CheckResult(**{entry.name: getattr(self, entry.name)[row] for entry in fields(self)})

    def __iter__(self) -> Iterator[CheckResult]:
        return (self[i] for i in range(len(self)))

    def arrays(self) -> dict[str, Any]:
        """Return the columns by name, with rules as text."""
        columns = Table.arrays(self)
        texts = {name: list(map(str, columns[name])) for name in ("status", "rule", "cause")}
        return columns | texts

    def order(self) -> list[int]:
        """Return the indices of rows, worst first: failed, inconclusive, passed."""
        return sorted(range(len(self)), key=lambda i: WORST_FIRST.index(self.status[i]))


@register
@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Decision(JsonMixin):
    """The decision of a release gate: check results in the order of the rules, and notes about the data.

    Examples
    --------
    >>> import truecal
    >>> decision = truecal.check(truecal.read({"y": [0, 1] * 100, "p": [0.2] * 200}, label="y", score="p"))
    >>> decision.status, decision.exit_code
    ('fail', 1)
    >>> print(decision.to_markdown().splitlines()[0])
    ## Calibration gate: FAIL
    """

    results: CheckTable
    notes: tuple[Note, ...] = ()

    _derived: ClassVar[tuple[str, ...]] = ("status", "exit_code")

    def _write(self) -> dict[str, Any]:
        written = JsonMixin._write(self)
        return {name: written.pop(name) for name in self._derived} | written

    def __post_init__(self) -> None:
        if not len(self.results):
            raise ValueError("`results` must hold at least one; a gate that checked nothing decides nothing.")

    @property
    def status(self) -> CheckStatus:
        """ "fail" if any check fails, otherwise "inconclusive" if any is, otherwise "pass"."""
        return min(self.results.status, key=WORST_FIRST.index)

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return self.status == CheckStatus.PASS

    def __bool__(self) -> bool:
        """Whether every check passed: `assert truecal.check(data)` raises an error if one failed or is inconclusive."""
        return self.passed

    @property
    def exit_code(self) -> int:
        """0 for "pass", 1 for "fail", 3 for "inconclusive"."""
        return EXIT_CODES[self.status]

    def worst(self, most: int | None = None) -> list[CheckResult]:
        """Return the check results, worst first: failed, inconclusive, passed; at most `most` of them."""
        return [self.results[i] for i in self.results.order()[:most]]

    def count(self, status: CheckStatus | str) -> int:
        """Return the number of results with a status."""
        return self.results.status.count(CheckStatus(status))

    @property
    def summary(self) -> str:
        """The number of checks by status, as text."""
        from truecal import words

        return words.summarize_decision(self)

    def to_markdown(self, most: int = 100) -> str:
        """Return a summary for a pull request or a CI server's page: the decision and a table, worst first.

        At most `most` rows are shown; the others are counted.
        """
        from truecal import words

        return words.decision_markdown(self, most)

    def to_junit(self) -> str:
        """Return JUnit XML for CI servers: a suite for each model; inconclusive checks are errors.

        Of more than 10,000 checks it holds those that failed or are inconclusive, worst first and 10,000 at most; the
        others are counted.
        """
        from truecal import words

        return words.decision_junit(self)

    def to_github(self, most: int = 10) -> str:
        """Return GitHub annotations: an error for each check that failed or is inconclusive."""
        from truecal import words

        return words.decision_github(self, most)

    def __repr__(self, most: int = 20) -> str:
        from truecal import words

        return words.decision_text(self, most)

    def _repr_html_(self, most: int = 100) -> str:
        from truecal import words

        return words.decision_html(self, most)
