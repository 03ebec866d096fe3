"""What a release gate found: as text, HTML, Markdown for a pull request, JUnit XML for a CI server, and JSON."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Literal, get_args
from xml.etree import ElementTree

from truecal._terminal import printable
from truecal.gate._rules import Rule

FORMAT = 1
Status = Literal["pass", "fail", "unknown"]
WORST_FIRST: tuple[Status, ...] = ("fail", "unknown", "pass")
OUTCOMES = {"fail": "failed", "unknown": "could not be told", "pass": "passed"}
EXIT_CODES = {"pass": 0, "fail": 1, "unknown": 2}
HEADS = ("status", "model", "segment", "rows", "rule", "reason")


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
    status : "pass", "fail" or "unknown"
        The answer.
    reason : str
        A sentence that says why, with the numbers.
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


@dataclass(frozen=True, slots=True, repr=False)
class Decision:
    """The answer of a release gate: its findings in the order of the rules, what they come to, and notes about the
    data, such as rows that were dropped."""

    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.findings:
            raise ValueError("`findings` must hold at least one; a gate that looked at nothing has no verdict.")

    @property
    def status(self) -> Status:
        """ "fail" if any rule fails, otherwise "unknown" if any could not be told, otherwise "pass"."""
        found = {finding.status for finding in self.findings}
        return "fail" if "fail" in found else "unknown" if "unknown" in found else "pass"

    @property
    def exit_code(self) -> int:
        """0 for "pass", 1 for "fail", 2 for "unknown"."""
        return EXIT_CODES[self.status]

    def worst(self) -> list[Finding]:
        """The findings that failed first, then those that could not be told, then those that passed."""
        return sorted(self.findings, key=lambda finding: WORST_FIRST.index(finding.status))

    def count(self, status: Status) -> int:
        """How many findings have a status."""
        return sum(finding.status == status for finding in self.findings)

    def summary(self) -> str:
        """The counts in words."""
        total = len(self.findings)
        counts = [f"{self.count(status):,} {OUTCOMES[status]}" for status in WORST_FIRST if self.count(status)]
        return f"{total:,} check{'s' * (total != 1)}: {', '.join(counts)}"

    def to_markdown(self, most: int = 100) -> str:
        """A summary for a pull request or a CI server's page: the verdict and a table, worst first.

        `most` is the number of rows shown; the rest are counted.
        """
        lines = [f"## Calibration gate: {self.status}", "", f"{self.summary()}.", ""]
        lines += [f"| {' | '.join(HEADS)} |", "| --- | --- | --- | ---: | --- | --- |"]
        for finding in self.worst()[:most]:
            status, model, segment, *others = map(_markdown, _cells(finding))
            names = (f"<code>{name}</code>" if name else "" for name in (model, segment))
            lines.append(f"| {' | '.join([f'**{status}**', *names, *others])} |")
        if len(self.findings) > most:
            lines += ["", f"{_left_out(self.worst()[most:])}."]
        for note in self.notes:
            lines += ["", f"Note: {_markdown(note)}."]
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
                where = "" if finding.segment is None else f" [{finding.segment}]"
                name = printable(f"{finding.rule}{where}")
                case = ElementTree.SubElement(suite, "testcase", classname=printable(model), name=name, time="0")
                if finding.status == "pass":
                    continue
                kind = "failure" if finding.status == "fail" else "error"
                reason = printable(finding.reason)
                ElementTree.SubElement(case, kind, type=finding.status, message=reason).text = reason
        ElementTree.indent(root)
        return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'

    def to_json(self) -> str:
        """Everything, as JSON."""
        return json.dumps(
            {
                "truecal_verdict": FORMAT,
                "status": self.status,
                "exit_code": self.exit_code,
                "findings": [asdict(finding) for finding in self.findings],
                "notes": list(self.notes),
            },
            allow_nan=False,
        )

    def __repr__(self, most: int = 20) -> str:
        shown = self.worst()[:most]
        rows = [[_clip(cell) for cell in _cells(finding)[:4]] for finding in shown]
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        lines = [f"{self.status.upper()} ({self.summary()})"]
        for row, finding in zip(rows, shown, strict=True):
            status, model, segment, n = (
                cell.rjust(width) if i == 3 else cell.ljust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            where = f"{model}  {segment}" if widths[2] else model
            lines.append(f"  {status}  {where}  {n}  {printable(finding.reason)}")
        if len(self.findings) > most:
            lines.append(f"  {_left_out(self.worst()[most:])}")
        return "\n".join([*lines, *(f"Note: {note}." for note in self.notes)])

    def _repr_html_(self, most: int = 100) -> str:
        head = "".join(f"<th>{name}</th>" for name in HEADS)
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in _cells(finding)) + "</tr>"
            for finding in self.worst()[:most]
        )
        rest = f"<p>{_left_out(self.worst()[most:])}.</p>" if len(self.findings) > most else ""
        notes = "".join(f"<p>Note: {html.escape(note)}.</p>" for note in self.notes)
        title = f"<b>{self.status.upper()}</b> ({self.summary()})"
        return f"<div><p>{title}</p><table><tr>{head}</tr>{rows}</table>{rest}{notes}</div>"


def _cells(finding: Finding) -> tuple[str, ...]:
    n = "" if finding.n is None else f"{finding.n:,}"
    names = printable(finding.model), printable(finding.segment or "")
    return finding.status, *names, n, printable(str(finding.rule)), printable(finding.reason)


def _clip(text: str, most: int = 40) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _left_out(findings: list[Finding]) -> str:
    counts = {status: sum(finding.status == status for finding in findings) for status in WORST_FIRST}
    told = ", ".join(f"{count:,} {OUTCOMES[status]}" for status, count in counts.items() if count)
    return f"... and {len(findings):,} more: {told}"


def _markdown(text: str) -> str:
    """Text that means itself inside a cell of a table: every sign that Markdown or HTML could read as a character
    reference."""
    return "".join(
        f"&#{ord(sign)};" if sign.isascii() and not (sign.isalnum() or sign in " .,;%()=+-/'") else sign
        for sign in text
    )


def _counts(findings: Iterable[Finding]) -> dict[str, str]:
    statuses = [finding.status for finding in findings]
    return {
        "tests": str(len(statuses)),
        "failures": str(statuses.count("fail")),
        "errors": str(statuses.count("unknown")),
        "skipped": "0",
        "time": "0",
    }
