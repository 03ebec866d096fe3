"""The table of windows of time, and what it says of all of them together."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, ClassVar, Literal

import numpy as np

from truecal._text import plural, printable, prose_html
from truecal.inference import (
    FACTOR,
    OUTCOMES,
    SIGNS,
    Verdict,
    describe_way,
    format_factor,
    format_in_brackets,
    format_p_value,
    format_ratio,
)
from truecal.observations import Bools, Floats, Outcome
from truecal.results._groups import JUDGED, Judged, tell_unsure
from truecal.results._table import Column, Table, column, format_share, register_table

Overall = Literal[
    "right and still", "right and moved", "off since always", "went off", "was off", "off", "consistent", "cannot tell"
]
WHOLE = 0.8  # of the median number of rows, below which a window at an end may not be whole
INCOMPLETE, BASELINE = "labels not complete", "baseline"
PREVALENCE: dict[Outcome, str] = {"positive": "prevalence", "correct": "accuracy"}


@register_table
@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class DriftTable(Judged):
    """A table with one row per window, in order of time.

    `every` is the length of windows, `mature_after` the time after its end until a window's labels are complete, `now`
    the time at which that was judged.

    `together`, `before`, `after` and `recent` are the verdicts on all windows with complete labels, on the baseline,
    on all others, and on those since the error changed most. `together_p` is the p-value of "all windows are right",
    from all rows together and from each window; `moved_together_p` and `prevalence_together_p` are those of "nothing
    moved since the baseline", for the error and for the share of positives; `prevalence_rest_p` is that of the share in
    all others together, which share the level with each of them. `detectable_move` is the factor between the odds of
    the others and those of the baseline that would have been found. The error changed most at the window `since`;
    `since_ratio` is observed over expected before and since. `prevalences` are the shares of positives in the
    baseline and in the others. For other settings see `GroupTable`.

    Examples
    --------
    >>> import numpy as np, truecal
    >>> day = np.datetime64("2026-01-05") + np.repeat(np.arange(28), 20)
    >>> columns = {"y": [0, 1] * 280, "p": [0.5] * 560, "day": day}
    >>> table = truecal.drift(truecal.read(columns, label="y", score="p", time="day", every="1w"))
    >>> table.n.tolist(), table.ratio.tolist()
    ([140, 140, 140, 140], [1.0, 1.0, 1.0, 1.0])
    """

    window: tuple[Any, ...] = field(metadata=column("key", "window", "The start of the window, or its name."))
    baseline: Bools = field(metadata=column("flag", "baseline", "Whether it belongs to the baseline."))
    mature: Bools = field(
        metadata=column("flag", "mature", "Whether the labels are assumed to be complete; if not, it is not judged.")
    )
    moved_p: Floats = field(
        metadata=column(
            "p-value",
            "moved p",
            "The p-value of the window's positives, given those of the window and the baseline together, against what "
            "one factor on all odds makes of them. NaN for the baseline itself.",
        )
    )
    moved_p_adjusted: Floats = field(
        metadata=column("p-value", "moved p adjusted", "The same, adjusted for the number of windows.")
    )
    prevalence_p: Floats = field(
        metadata=column("p-value", "prevalence p", "That of Fisher's exact test of the share of positives.")
    )
    prevalence_p_adjusted: Floats = field(
        metadata=column("p-value", "prevalence p adjusted", "The same, adjusted for the number of windows.")
    )
    together: Verdict | None = None
    before: Verdict | None = None
    after: Verdict | None = None
    recent: Verdict | None = None
    together_p: float = math.nan
    moved_together_p: float = math.nan
    prevalence_together_p: float = math.nan
    prevalence_rest_p: float = math.nan
    detectable_move: float = math.inf
    since: Any = None
    since_ratio: tuple[float, float] | None = None
    prevalences: tuple[float, float] | None = None
    every: str | None = None
    mature_after: timedelta | None = None
    now: datetime | None = None

    _derived: ClassVar[tuple[str, ...]] = ("overall",)
    _derived_columns: ClassVar[tuple[Column, ...]] = (
        *JUDGED,
        Column("change", "ratio", "change", "Observed over expected, over that of the baseline."),
        Column(
            "verdict",
            "text",
            "verdict",
            'By the adjusted p-value "off"; else "consistent" if a factor of 1.5 on all odds would have been found at '
            '`level`; else "cannot tell"; "labels not complete" if the window is not mature.',
        ),
        Column("compared", "text", "against the baseline", "What moved: the error, the prevalence, both, or nothing."),
    )
    _shown: ClassVar[tuple[str, ...]] = (
        *("window", "n", "observed", "expected", "ratio", "ratio_low", "ratio_high", "direction", "p_adjusted"),
        *("verdict", "compared"),
    )
    _most: ClassVar[int] = 40
    _picture: ClassVar[str] = "drift"

    @property
    def names(self) -> list[str]:
        """The windows as text: dates and times in ISO format."""
        return [name_window(window, self.every) for window in self.window]

    @property
    def alarms(self) -> list[Any]:
        """The windows that are off."""
        return [self.window[i] for i in np.flatnonzero(self.alarm)]

    @property
    def verdict(self) -> list[str]:
        """The verdict on each window among all."""
        return [word if ready else INCOMPLETE for word, ready in zip(self.word, self.mature.tolist(), strict=True)]

    @property
    def change(self) -> Floats:
        """Observed over expected, over that of the baseline."""
        return self.ratio / (math.nan if self.before is None else self.before.ratio)

    @property
    def moved(self) -> Bools:
        """Whether the error of a window is shown to differ from the baseline's; only where the model is off."""
        return np.asarray((self.moved_p_adjusted <= self.significance) & self.off)

    @property
    def prevalence_moved(self) -> Bools:
        """Whether the share of positives of a window is shown to differ from the baseline's."""
        return np.asarray(self.prevalence_p_adjusted <= self.significance)

    @property
    def partial(self) -> Bools:
        """Whether the data may begin or end within a window: it is the first or the last, and has fewer rows than every
        other and than 0.8 of their median."""
        found = np.zeros(len(self), dtype=np.bool_)
        inner = self.n[1:-1]
        if self.every is not None and len(inner) > 1:
            found[[0, -1]] = self.n[[0, -1]] < min(float(inner.min()), WHOLE * float(np.median(inner)))
        return found

    @property
    def compared(self) -> list[str]:
        """What moved in each window since the baseline, in words."""
        rate = f"{PREVALENCE[self.outcome]} moved"
        moved, share = self.moved, self.prevalence_moved
        cases = [self.baseline, moved & share, moved, share]
        return np.select(cases, [BASELINE, "both moved", "error moved", rate], "").tolist()  # type: ignore[no-any-return]

    @property
    def off(self) -> bool:
        """Whether the model is shown to be off, in all windows together or in some."""
        return bool(self.together_p <= self.significance)

    @property
    def overall(self) -> Overall:
        """What is said of all windows: whether the model is off, and since when; else whether anything moved.

        "off" and "consistent" where the time cannot be told.
        """
        if self.off:
            return self._tell_when()
        if self.together is None or not self.together.detectable <= FACTOR:
            return "cannot tell"
        if self.prevalence_together_p <= self.significance:
            return "right and moved"
        return "right and still" if self.detectable_move <= FACTOR else "consistent"

    @property
    def scattered(self) -> bool:
        """Whether some windows are off, and all together are not shown to be."""
        return self.off and self.together is not None and self.together.word != "off"

    def _tell_when(self) -> Overall:
        early = self.before is not None and self.before.p_value <= self.significance
        always: Overall = "off" if self.scattered else "off since always"
        if not self.moved_together_p <= self.significance:
            return always if early else "off"
        if not early:
            return "off" if self._late is None else "went off"
        late = self.recent is not None and self.recent.p_value <= self.significance
        return always if late else "was off"

    @property
    def _late(self) -> Verdict | None:
        """The verdict that shows that the model is off after the baseline: on all other windows or, since a change in
        the last of many is lost among them, on those since the error changed most, at a level for as many choices as
        there are other windows. None if neither is off."""
        if self.after is not None and self.after.p_value <= self.significance:
            return self.after
        others = self.mature & ~self.baseline
        if self.recent is None or not others[self.names.index(name_window(self.since, self.every))]:
            return None
        return self.recent if self.recent.p_value * int(others.sum()) <= self.significance else None

    def summary(self) -> str:
        """Return the word for all windows, and the numbers of windows, predictions and verdicts."""
        words, length = self.verdict, "" if self.every is None else f" of {self.every}"
        found = ", ".join(f"{words.count(word):,} {word}" for word in (*SIGNS, INCOMPLETE) if word in words)
        rows = plural(int(self.n.sum()), "prediction")
        return f"{self.overall}: {plural(len(self), 'window')}{length}, {rows}; {found}"

    def sentences(self) -> tuple[str, ...]:
        """What is said of all windows together and why, then how many are off by themselves."""
        if self.together is None:
            return ("Cannot tell.", "No window has labels that are complete.")
        return (*self._tell_overall(self.together), *self._tell_windows())

    def _tell_overall(self, together: Verdict) -> Iterator[str]:
        word = self.overall
        yield f"{word.capitalize()}{f' (p {format_p_value(self.together_p)})' * self.off}."
        late = self._late
        if word == "went off" and self.before is not None and late is not None:
            where = "the other windows" if late is self.after else f"the windows since {self._name_since()}"
            early, way = _count(self.before), describe_way(late.way)
            yield f"In the baseline {early}; in {where} {_count(late)}: predictions are {way}."
        elif word == "was off" and self.before is not None and self.recent is not None:
            yield f"In the baseline {_count(self.before)}: predictions were {describe_way(self.before.way)}."
            alone = self.verdict[self.names.index(name_window(self.since, self.every)) :].count("off")
            though = f", though {alone:,} of them {'are by themselves' if alone > 1 else 'is by itself'}" * bool(alone)
            yield f"The windows since {self._name_since()} together are not shown to be: {_count(self.recent)}{though}."
        elif self.scattered:
            yield f"All windows together are not shown to be off: {_count(together)}."
        else:
            way = f"predictions are {describe_way(together.way)}: " * self.off
            yield f"In all windows together {way}{_count(together)}."
        yield from self._tell_time(word)
        if self.prevalence_together_p <= self.significance:
            yield self._tell_prevalence()
        if not self.off:
            yield together.reach

    def _tell_time(self, word: str) -> Iterator[str]:
        """Since when the model is off, and whether its error moved."""
        if word == "off since always" and self.before is not None:
            moved = self.moved_together_p <= self.significance
            since = "has moved since" if moved else "is not shown to have moved since"
            yield f"The baseline was off already (x {format_ratio(self.before.ratio)}), and the error {since}."
        elif word == "off" and self.before is None and not self.scattered:
            yield "Since when cannot be told: there is nothing to compare with."
        elif word == "off" and not self.scattered:
            moved = self.moved_together_p <= self.significance
            nor = "are the other windows, though the error moved" if moved else "the error to have moved since"
            yield f"Since when cannot be told: neither is the baseline shown to be off by itself, nor {nor}."
        elif word == "consistent" and self.before is None:
            yield "Whether it moved cannot be told: there is nothing to compare with."
        elif word == "consistent":
            far = self.detectable_move
            found = "no factor, up or down," if math.isinf(far) else f"one of {format_factor(far)}"
            yield (
                f"Whether it moved cannot be told: a factor of {FACTOR:g} between the odds of the baseline and those "
                f"of the other windows would have been missed too often; {found} would have been found."
            )
        elif word == "right and still":
            yield (
                "Nothing is shown to have moved since the baseline; a factor of "
                f"{format_factor(self.detectable_move)} between its odds and those of all other windows together would "
                "have been found."
            )
        if self.turn:
            yield f"The error {self.turn}."

    @property
    def turn(self) -> str:
        """When an error that moved changed most, in words, and what it was before and since; "" if none did."""
        if not self.off or self.moved_together_p > self.significance or self.since_ratio is None:
            return ""
        early, late = self.since_ratio
        return f"changed most at {self._name_since()}: x {early:.2f} before, x {late:.2f} since"

    def _name_since(self) -> str:
        return printable(name_window(self.since, self.every))

    def _tell_prevalence(self) -> str:
        """From where to where the share of positives moved, and predictions; or in which windows alone."""
        what = f"The share of {OUTCOMES[self.outcome]}"
        if self.prevalence_rest_p > self.significance or self.prevalences is None:
            names = [printable(self.names[i]) for i in np.flatnonzero(self.prevalence_p_adjusted <= self.significance)]
            others = f" and {len(names) - 1:,} more" * (len(names) > 1)
            return (
                f"{what} in {names[0]}{others} is not that of the baseline; in all windows after it together it may be."
            )
        early, late = map(format_share, self.prevalences)
        said = ""
        if self.before is not None and self.after is not None and self.labelling.plain:
            first, last = (format_share(each.expected / each.n) for each in (self.before, self.after))
            said = f"; predictions went from {first} to {last}"
        return f"{what} moved, from {early} in the baseline to {late} in the other windows{said}."

    def _tell_windows(self) -> Iterator[str]:
        words = np.array(self.verdict)
        names, off = self.names, np.flatnonzero(words == "off").tolist()
        judged = int(self.mature.sum())
        if judged > 1:
            ends = [printable(names[i]) for i in off[:1] + off[-1:]]
            if len(off) > 1:
                count = f"{len(off):,} of {judged:,} windows"
                yield f"{count} are off by themselves, the first {ends[0]}, the last {ends[1]}."
            elif off:
                yield f"1 of {judged:,} windows is off by itself: {ends[0]}."
            else:
                yield f"None of {judged:,} windows is shown to be off by itself."
            yield from tell_unsure(self.detectable[words == "cannot tell"], self.tolerance, "window")
        if partial := np.flatnonzero(self.partial).tolist():
            which = " and ".join("the first" if i == 0 else "the last" for i in partial)
            rows, usual = " and ".join(f"{self.n[i]:,}" for i in partial), float(np.median(self.n[1:-1]))
            one = len(partial) == 1
            yield (
                f"{which.capitalize()} window {'has' if one else 'have'} {rows} rows, where {usual:,.0f} are usual: "
                f"{'it' if one else 'they'} may not be whole."
            )
        if waiting := int(np.sum(~self.mature)):
            yield f"{plural(waiting, 'window')} {'has' if waiting == 1 else 'have'} labels that are not complete."

    def __repr__(self) -> str:
        return "\n".join([*self.sentences(), "", Table.__repr__(self)])

    def _repr_html_(self) -> str:
        return f"<p>{prose_html(' '.join(self.sentences()))}</p>{Table._repr_html_(self)}"


def _count(found: Verdict) -> str:
    """What came against what was predicted, with the ratio and its interval."""
    if not found.expected > 0:
        return found.count(found)
    return f"{found.count(found)} {format_in_brackets(found.ratio, *found.interval)}"


def name_window(window: Any, every: str | None) -> str:
    """Return a window as text: a date if windows are days or longer."""
    if isinstance(window, datetime):
        midnight = (window.hour, window.minute, window.second, window.microsecond) == (0, 0, 0, 0)
        return window.date().isoformat() if midnight and every != "1h" else window.isoformat(" ", "minutes")
    return str(window)
