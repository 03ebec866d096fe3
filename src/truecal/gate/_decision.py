"""What a release gate found: as text, HTML, Markdown for a pull request, JUnit XML for a CI server, and JSON."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal, get_args, overload
from xml.etree import ElementTree

from truecal._text import Column as TextColumn
from truecal._text import Terminal, plural, printable, prose_html
from truecal.gate._rules import Rule
from truecal.results import Stored, Table, column, register, register_table

Status = Literal["pass", "fail", "cannot tell"]
WORST_FIRST: tuple[Status, ...] = ("fail", "cannot tell", "pass")
ALLOWED = ", which the rule allows."  # how the reason of a pass ends that no evidence supports
CERTAIN = "every prediction is exactly 0 or 1, and no factor on the odds changes these"
TOO_FEW = "the data are too few to tell:"
UNSHOWN = "but nothing shows that the predictions are wrong"
OUTCOMES = {"fail": "failed", "cannot tell": "could not be told", "pass": "passed"}
EXIT_CODES = {"pass": 0, "fail": 1, "cannot tell": 3}
SHOWN = ("status", "model", "segment", "n", "rule", "reason")


@dataclass(frozen=True, slots=True)
class Finding:
    """What one rule says of one model, or of one of its segments.

    Attributes
    ----------
    rule : Rule
        The rule.
    model : str
        The model's name, or the rule's pattern where no model matches it.
    segment : str or None
        The segment in words, or the rule's pattern where no segment matches it; None for the whole data set.
    n : int or None
        Its rows; None where they are not known.
    observed : float or None
        What was held against the limit, in the limit's units; None where there was nothing.
    status : "pass", "fail" or "cannot tell"
        The answer.
    reason : str
        A sentence that says why, with the numbers.

    Examples
    --------
    >>> import truecal
    >>> finding = truecal.check(truecal.read({"y": [0, 1] * 100, "p": [0.2] * 200}, label="y", score="p")).findings[0]
    >>> finding.status, str(finding.rule), finding.n
    ('fail', 'consistent with the data', 200)
    """

    rule: Rule
    model: str
    segment: str | None
    n: int | None
    observed: float | None
    status: Status
    reason: str

    def __post_init__(self) -> None:
        if self.status not in EXIT_CODES:
            raise ValueError(f"`status` must be one of {', '.join(get_args(Status))}; it is {self.status!r}.")
        if self.observed is not None and math.isnan(self.observed):
            raise ValueError("`observed` must be a number or None; it is NaN.")

    @property
    def certain(self) -> bool:
        """Whether nothing can be told since all predictions are 0 or 1: more rows would not help."""
        return CERTAIN in self.reason

    @property
    def allowable(self) -> bool:
        """Whether only the verdict cannot tell, so that `allow_cannot_tell` would let it pass."""
        return self.status == "cannot tell" and (self.certain or TOO_FEW in self.reason)

    @property
    def unshown(self) -> bool:
        """Whether a limit is exceeded by predictions that nothing speaks against."""
        return self.status == "cannot tell" and UNSHOWN in self.reason


@register_table
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FindingTable(Table):
    """One row a finding, in the order of the rules; a row is a `Finding`.

    Examples
    --------
    >>> import truecal
    >>> decision = truecal.check(truecal.read({"y": [0, 1] * 100, "p": [0.2] * 200}, label="y", score="p"))
    >>> decision.findings.status, decision.findings.model
    (('fail',), ('p',))
    """

    status: tuple[Status, ...] = field(
        metadata=column("text", "status", 'The answer: "pass", "fail" or "cannot tell".')
    )
    model: tuple[str, ...] = field(metadata=column("text", "model", "The name of the model."))
    segment: tuple[str | None, ...] = field(
        metadata=column("text", "segment", "The segment in words; None for the whole data set.")
    )
    n: tuple[int | None, ...] = field(metadata=column("count", "rows", "Its rows, if they are known."))
    rule: tuple[Rule, ...] = field(metadata=column("text", "rule", "The rule."))
    observed: tuple[float | None, ...] = field(
        metadata=column("ratio", "observed", "What was held against the limit, in the limit's unit.")
    )
    reason: tuple[str, ...] = field(metadata=column("text", "reason", "Why, with the numbers."))

    _shown: ClassVar[tuple[str, ...]] = SHOWN

    @classmethod
    def of(cls, findings: Iterable[Finding]) -> FindingTable:
        """The table of findings."""
        rows = tuple(findings)
        return cls(**{entry.name: tuple(getattr(row, entry.name) for row in rows) for entry in fields(cls)})

    @overload
    def __getitem__(self, row: int) -> Finding: ...

    @overload
    def __getitem__(self, row: slice) -> list[Finding]: ...

    def __getitem__(self, row: int | slice) -> Finding | list[Finding]:
        """A row, as a `Finding`; of a slice a list of them."""
        if isinstance(row, slice):
            return [self[i] for i in range(len(self))[row]]
        return Finding(**{entry.name: getattr(self, entry.name)[row] for entry in fields(self)})

    def __iter__(self) -> Iterator[Finding]:
        return (self[i] for i in range(len(self)))

    def arrays(self) -> dict[str, Any]:
        """The columns by name; rules in words."""
        found = Table.arrays(self)
        return found | {"rule": [str(rule) for rule in self.rule]}

    def order(self) -> list[int]:
        """The rows, worst first: those that failed, those that could not be told, those that passed."""
        return sorted(range(len(self)), key=lambda i: WORST_FIRST.index(self.status[i]))


@register
@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Decision(Stored):
    """The answer of a release gate: its findings in the order of the rules, what they come to, and notes about the
    data, such as rows that were dropped.

    Examples
    --------
    >>> import truecal
    >>> decision = truecal.check(truecal.read({"y": [0, 1] * 100, "p": [0.2] * 200}, label="y", score="p"))
    >>> decision.status, decision.exit_code
    ('fail', 1)
    >>> print(decision.to_markdown().splitlines()[0])
    ## Calibration gate: fail
    """

    findings: FindingTable
    notes: tuple[str, ...] = ()

    _derived: ClassVar[tuple[str, ...]] = ("status", "exit_code")

    def _write(self) -> dict[str, Any]:
        written = Stored._write(self)
        return {name: written.pop(name) for name in self._derived} | written

    def __post_init__(self) -> None:
        if not len(self.findings):
            raise ValueError("`findings` must hold at least one; a gate that looked at nothing decides nothing.")

    @property
    def status(self) -> Status:
        """ "fail" if any rule fails, otherwise "cannot tell" if any could not be told, otherwise "pass"."""
        found = set(self.findings.status)
        return "fail" if "fail" in found else "cannot tell" if "cannot tell" in found else "pass"

    @property
    def exit_code(self) -> int:
        """0 for "pass", 1 for "fail", 3 for "cannot tell"."""
        return EXIT_CODES[self.status]

    def worst(self) -> list[Finding]:
        """The findings that failed first, then those that could not be told, then those that passed."""
        return [self.findings[i] for i in self.findings.order()]

    def count(self, status: Status) -> int:
        """How many findings have a status."""
        return self.findings.status.count(status)

    def summary(self) -> str:
        """The counts in words."""
        total, allowed = len(self.findings), sum(reason.endswith(ALLOWED) for reason in self.findings.reason)
        numbers = {status: self.count(status) for status in WORST_FIRST} | {"pass": self.count("pass") - allowed}
        counts = [f"{number:,} {OUTCOMES[status]}" for status, number in numbers.items() if number]
        if allowed:
            counts.append(f"{allowed:,} allowed though the data cannot tell")
        return f"{plural(total, 'check')}: {', '.join(counts)}"

    def to_markdown(self, most: int = 100) -> str:
        """A summary for a pull request or a CI server's page: the verdict and a table, worst first.

        `most` is the number of rows shown; the rest are counted.
        """
        lines = [f"## Calibration gate: {self.status}", "", f"{self.summary()}.", ""]
        heads = " | ".join(self.findings.heading(name) for name in SHOWN)
        lines += [f"| {heads} |", "| --- | --- | --- | ---: | --- | --- |"]
        cells = self.findings.cells(SHOWN, self.findings.order()[:most])
        for row in zip(*cells.values(), strict=True):
            status, model, segment, *others = map(_escape_markdown, row)
            names = (f"<code>{name}</code>" if name else "" for name in (model, segment))
            lines.append(f"| {' | '.join([f'**{status}**', *names, *others])} |")
        if len(self.findings) > most:
            lines += ["", f"{self._count_rest(most)}."]
        for note in self.notes:
            lines += ["", f"Note: {_escape_markdown(note)}."]
        return "\n".join(lines) + "\n"

    def to_junit(self) -> str:
        """JUnit XML, which CI servers read: a suite a model; failures failed, errors could not be told."""
        root = ElementTree.Element("testsuites", {"name": "truecal", **_counts(self.findings)})
        suites: dict[str, list[Finding]] = {}
        for finding in self.findings:
            suites.setdefault(finding.model, []).append(finding)
        for model, findings in suites.items():
            suite = ElementTree.SubElement(root, "testsuite", {"name": printable(model), **_counts(findings)})
            for finding in findings:
                name = printable(f"{finding.rule}{_name_segment(finding)}")
                case = ElementTree.SubElement(suite, "testcase", classname=printable(model), name=name, time="0")
                if finding.status == "pass":
                    continue
                kind = "failure" if finding.status == "fail" else "error"
                reason = printable(finding.reason)
                ElementTree.SubElement(case, kind, type=finding.status, message=reason).text = reason
        ElementTree.indent(root)
        return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'

    def to_github(self, most: int = 10) -> str:
        """Lines that GitHub shows beside a run: an error for each finding that failed or could not be told."""
        lines = []
        for finding in self.worst()[:most]:
            if finding.status != "pass":
                title = _escape_command(printable(f"truecal: {finding.model}{_name_segment(finding)}"), more=":,")
                lines.append(f"::error title={title}::{_escape_command(printable(finding.reason))}\n")
        return "".join(lines)

    def __repr__(self, most: int = 20) -> str:
        names = ("status", "model", "segment", "n", "reason")
        cells = self.findings.cells(names, self.findings.order()[:most])
        clipped = cells | {name: [_clip(cell) for cell in cells[name]] for name in ("model", "segment")}
        columns = [TextColumn("", column, left=name != "n") for name, column in clipped.items()]
        lines = [f"{self.status.upper()} ({self.summary()})", *Terminal(width=100_000).table(columns).splitlines()[1:]]
        if len(self.findings) > most:
            lines.append(f"  {self._count_rest(most)}")
        return "\n".join([*lines, *(f"Note: {note}." for note in self.notes)])

    def _repr_html_(self, most: int = 100) -> str:
        table = self.findings.html(SHOWN, self.findings.order()[:most])
        rest = f"<p>{self._count_rest(most)}.</p>" if len(self.findings) > most else ""
        notes = "".join(f"<p>Note: {prose_html(note)}.</p>" for note in self.notes)
        return f"<div><p><b>{self.status.upper()}</b> ({self.summary()})</p>{table}{rest}{notes}</div>"

    def _count_rest(self, shown: int) -> str:
        """The findings beyond those shown, counted."""
        rest = [self.findings.status[i] for i in self.findings.order()[shown:]]
        words = ", ".join(f"{rest.count(each):,} {OUTCOMES[each]}" for each in WORST_FIRST if each in rest)
        return f"... and {len(rest):,} more: {words}"


def _clip(text: str, most: int = 40) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _name_segment(finding: Finding) -> str:
    """The segment behind a name, if there is one."""
    return "" if finding.segment is None else f" [{finding.segment}]"


def _escape_command(text: str, more: str = "") -> str:
    """Text within a command to GitHub's runner, where % begins a character's number."""
    return "".join(f"%{ord(c):02X}" if c in f"%\r\n{more}" else c for c in text)


def _escape_markdown(text: str) -> str:
    """Text that means itself inside a cell of a table: signs that Markdown or HTML could read become character
    references. An underscore inside a word and a colon after one mean themselves."""
    plain = re.compile(r"""[^\W_]|[^\x00-\x7f]|[ ,;%()=+/'"!?{}-]|(?<=[^\W_])_(?=[^\W_])|:(?= |$)|(?<!www)\.""", re.I)
    return "".join(sign if plain.match(text, at) else f"&#{ord(sign)};" for at, sign in enumerate(text))


def _counts(findings: Iterable[Finding]) -> dict[str, str]:
    statuses = [finding.status for finding in findings]
    return {
        "tests": str(len(statuses)),
        "failures": str(statuses.count("fail")),
        "errors": str(statuses.count("cannot tell")),
        "skipped": "0",
        "time": "0",
    }
