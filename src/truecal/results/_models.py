"""Several models: how many are off, and which come first."""

from __future__ import annotations

from collections.abc import Mapping

from truecal import _draw_inline
from truecal._text import Column, Terminal, escape_html, plural, printable
from truecal.inference import Word, format_span
from truecal.metrics import LTCE
from truecal.results._result import Result

COUNTED: dict[Word, str] = {"off": "off", "consistent": "consistent", "cannot tell": "cannot be told"}
STATES = ("off", "consistent")


class Models(dict[str, Result]):
    """Results by the names of their models, as `evaluate` gives them for several; printed with the worst first.

    Examples
    --------
    >>> import truecal
    >>> one = truecal.evaluate([0, 1, 1, 0], [0.1, 0.7, 0.9, 0.3])
    >>> truecal.results.Models({"a": one, "b": one})
    Both models cannot be told
      verdict      model  refuted  by chance  observed / predicted
      cannot tell  a      too few        5 %  1.00 (0.17 to 1.83)
      cannot tell  b      too few        5 %  1.00 (0.17 to 1.83)
    """

    def _cells(self) -> dict[str, list[str]]:
        """The columns that are shown, the worst model first."""
        ranked = [(name, self[name]) for name in rank_models(self)]
        found = [result.verdict for _, result in ranked]
        chance = [result.references.get("ltce") for _, result in ranked]
        return {
            "verdict": ["" if each is None else each.word for each in found],
            "model": [printable(name) for name, _ in ranked],
            "refuted": ["" if each is None else each.refuted for each in found],
            "by chance": [
                "" if each is None else f"{100 * each.significance:g} %" if drawn is None else LTCE.format(drawn.mean)
                for each, drawn in zip(found, chance, strict=True)
            ],
            "observed / predicted": [
                "" if each is None or not each.expected > 0 else format_span(each.ratio, *each.interval)
                for each in found
            ],
        }

    def __repr__(self) -> str:
        if not self:
            return "No models"
        cells = [
            Column(name, texts, left=name not in ("refuted", "by chance")) for name, texts in self._cells().items()
        ]
        return f"{count_verdicts(self)}\n{Terminal(width=1000).table(cells)}"

    def _repr_html_(self) -> str:
        if not self:
            return "<p>No models</p>"
        cells = self._cells()
        findings = [self[name].short_finding for name in rank_models(self)]
        cells = {**cells, "what was found": findings}
        head = "".join(f"<th>{escape_html(name)}</th>" for name in cells)
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape_html(cell)}</td>" for cell in row) + "</tr>"
            for row in zip(*cells.values(), strict=True)
        )
        said = count_verdicts(self)
        picture = _draw_inline("models", self, f"{said}. {'; '.join(findings)}.")
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        return f"<p><b>{escape_html(said)}</b></p>{table}{picture}"


def count_verdicts(named: Mapping[str, Result]) -> str:
    """How many models are off, consistent, or cannot be told: "3 of 10 models are off, 5 consistent"."""
    words = [result.verdict.word for result in named.values() if result.verdict is not None]
    counts = [(words.count(word), text) for word, text in COUNTED.items()]
    counts.append((len(named) - len(words), "without a verdict"))
    known = [(count, text) for count, text in counts if count]
    if len(named) == 1:
        return f"The model {'is ' * (known[0][1] in STATES)}{known[0][1]}"
    if len(known) == 1:
        every = "Both models" if len(named) == 2 else f"All {len(named):,} models"
        return f"{every} {'are ' * (known[0][1] in STATES)}{known[0][1]}"
    (first, text), *rest = known
    verb = ("is " if first == 1 else "are ") if text in STATES else ""
    others = "".join(f", {count:,} {text}" for count, text in rest)
    return f"{first:,} of {plural(len(named), 'model')} {verb}{text}{others}"


def rank_models(named: Mapping[str, Result]) -> list[str]:
    """The names of models, those that are off first, and the most refuted first among those of one word."""

    def place(name: str) -> tuple[int, float]:
        found = named[name].verdict
        if found is None:
            return len(COUNTED), 0.0
        return ("off", "cannot tell", "consistent").index(found.word), -found.local.value

    return sorted(named, key=place)
