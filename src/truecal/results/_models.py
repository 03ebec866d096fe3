"""Several models: how many are off, and which come first."""

from __future__ import annotations

from collections.abc import Mapping

from truecal._text import plural
from truecal.inference import Word
from truecal.results._result import Result

COUNTED: dict[Word, str] = {"off": "off", "consistent": "consistent", "cannot tell": "cannot be told"}
STATES = ("off", "consistent")


def count_verdicts(named: Mapping[str, Result]) -> str:
    """How many models are off, consistent, or cannot be told: "3 of 10 models are off, 5 consistent"."""
    words = [result.verdict.word for result in named.values() if result.verdict is not None]
    counts = [(words.count(word), text) for word, text in COUNTED.items()]
    counts.append((len(named) - len(words), "without a verdict"))
    known = [(count, text) for count, text in counts if count]
    if len(known) == 1:
        return f"All {plural(len(named), 'model')} {'are ' * (known[0][1] in STATES)}{known[0][1]}"
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
