"""What was found in each window of time: the table, as text, HTML, JSON and dataframes."""

from __future__ import annotations

import html
import json
import math
from dataclasses import dataclass, fields
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np

from truecal.metrics import TCE, Metric, name_of
from truecal.observations import Bools, Floats, Ints
from truecal.results._encoding import decode, encode
from truecal.results._result import format_value
from truecal.results._table import Adjustment, as_frame

FORMAT = 1
STEADY, PREVALENCE, CALIBRATION, BOTH = "steady", "prevalence moved", "calibration moved", "both moved"
INCOMPLETE, TOO_SMALL = "labels not complete", "too small to tell"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DriftTable:
    """One row a window, in order of time; arrays of one length, and what made them.

    window
        Where each window begins, or its name.
    n, positives, prevalence, prevalence_low, prevalence_high, mean
        Observations, positives, their ratio with its exact (Clopper-Pearson) interval, mean prediction.
    value, lowest, highest, low, high
        The metric; the lowest and highest value that the data allow (the same, unless scores were grouped into cells);
        and the interval of its expectation, NaN where none was asked for.
    by_chance, chance_low, chance_high, excess, p_value
        The mean and the 5 and 95 % quantiles of its null reference, value minus mean, the p-value.
    total_p, p_adjusted
        The p-value of the positives against the sum of the predictions (exact binomial test); and what makes an alarm:
        this one and that of the reference together, twice the smaller, or that of the reference alone, adjusted for the
        number of mature windows; NaN for those that are not.
    too_low, too_high
        The shares of predictions that the test rejects as too low and as too high.
    ratio, ratio_low, ratio_high
        Observed over expected positives, with the exact interval.
    seen_below, seen_above
        The nearest true rates below and above the mean prediction that the window as a whole would have shown in four
        of five data sets; NaN where there is none.
    prevalence_p, prevalence_p_adjusted
        The p-value of "this window has the prevalence of the other mature windows together" (Fisher's exact test, twice
        the smaller tail), and that adjusted for the number of mature windows; NaN for those that are not. Windows that
        differ are left out of what others are compared with, the furthest first: where the prevalence has two levels,
        the one of fewer windows has moved.
    mature
        Whether the labels are taken to be complete.
    metric, every, replicates, confidence, adjust, significance, mature_after, now, notes
        What was computed and how; `replicates` is the largest number of redrawn labels of a window.
    """

    window: tuple[Any, ...]
    n: Ints
    positives: Ints
    prevalence: Floats
    prevalence_low: Floats
    prevalence_high: Floats
    mean: Floats
    value: Floats
    lowest: Floats
    highest: Floats
    low: Floats
    high: Floats
    by_chance: Floats
    chance_low: Floats
    chance_high: Floats
    excess: Floats
    p_value: Floats
    total_p: Floats
    p_adjusted: Floats
    too_low: Floats
    too_high: Floats
    ratio: Floats
    ratio_low: Floats
    ratio_high: Floats
    seen_below: Floats
    seen_above: Floats
    prevalence_p: Floats
    prevalence_p_adjusted: Floats
    mature: Bools
    metric: Metric = TCE
    every: str | None = None
    replicates: int = 199
    confidence: float = 0.95
    adjust: Adjustment = "holm"
    significance: float = 0.05
    mature_after: timedelta | None = None
    now: datetime | None = None
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.n)

    @property
    def names(self) -> list[str]:
        """The windows as text: dates and times in ISO format."""
        return [_name(window, self.every) for window in self.window]

    @property
    def alarm(self) -> Bools:
        """Mature windows whose predictions are further off than chance explains."""
        return np.asarray(self.mature & (self.p_adjusted < self.significance))

    @property
    def alarms(self) -> list[Any]:
        """The windows of `alarm`."""
        return [self.window[i] for i in np.flatnonzero(self.alarm)]

    @property
    def moved(self) -> Bools:
        """Mature windows whose prevalence differs from that of the others together."""
        return np.asarray(self.mature & (self.prevalence_p_adjusted < self.significance))

    @property
    def too_small(self) -> Bools:
        """Windows that would have shown neither half nor twice the odds of their mean prediction."""
        with np.errstate(divide="ignore", invalid="ignore"):
            odds, below, above = (p / (1 - p) for p in (self.mean, self.seen_below, self.seen_above))
        return np.asarray(~(below >= odds / 2) & ~(above <= 2 * odds))

    @property
    def verdict(self) -> list[str]:
        """What each window says, in words."""
        cases = [~self.mature, self.alarm & self.moved, self.alarm, self.moved, self.too_small]
        words = [INCOMPLETE, BOTH, CALIBRATION, PREVALENCE, TOO_SMALL]
        return [str(word) for word in np.select(cases, words, STEADY)]

    @property
    def metric_name(self) -> str:
        """The metric's name, or "value" for one of your own."""
        return name_of(self.metric)

    def columns(self) -> dict[str, Any]:
        """The columns by name: the window as text first, the verdict last."""
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        return {"window": self.names, **arrays, "verdict": self.verdict}

    def to_frame(self, library: str | None = None) -> Any:
        """The table as a dataframe of "pandas", "polars" or "pyarrow"; windows as they are."""
        return as_frame(self.columns() | {"window": list(self.window)}, library)

    def to_json(self) -> str:
        """Everything, as JSON that `DriftTable.from_json` reads back; NaN is null, dates and times are ISO text."""
        kinds = {datetime: "datetime", date: "date"}
        kind = next((name for part, name in kinds.items() if isinstance(self.window[0], part)), "plain")
        columns = {name: [_plain(value) for value in getattr(self, name).tolist()] for name in _ARRAYS}
        starts = [encode(w) if kind == "plain" else w.isoformat() for w in self.window]
        return json.dumps(
            {
                "truecal_drift": FORMAT,
                "metric": encode(self.metric),
                "every": self.every,
                "replicates": self.replicates,
                "confidence": self.confidence,
                "adjust": self.adjust,
                "significance": self.significance,
                "mature_after": None if self.mature_after is None else self.mature_after.total_seconds(),
                "now": None if self.now is None else self.now.isoformat(),
                "notes": list(self.notes),
                "windows": kind,
                "columns": {"window": starts, **columns, "verdict": self.verdict},
            },
            allow_nan=False,
        )

    @classmethod
    def from_json(cls, text: str) -> DriftTable:
        """Read what `to_json` wrote."""
        raw = json.loads(text)
        if not isinstance(raw, dict) or raw.get("truecal_drift") != FORMAT:
            raise ValueError(f"The text must be a drift table of format {FORMAT}, as `to_json` writes it; it is not.")
        read = {"datetime": datetime.fromisoformat, "date": date.fromisoformat}.get(raw["windows"])
        columns = raw["columns"]
        kinds: dict[str, Any] = {"n": np.int64, "positives": np.int64, "mature": np.bool_}
        arrays: dict[str, Any] = {name: np.array(columns[name], dtype=kinds.get(name, np.float64)) for name in _ARRAYS}
        settings = ("every", "replicates", "confidence", "adjust", "significance")
        after, now = raw["mature_after"], raw["now"]
        return cls(
            window=tuple(columns["window"] if read is None else map(read, columns["window"])),
            **arrays,
            **{name: raw[name] for name in settings},
            metric=decode(raw["metric"]),
            mature_after=None if after is None else timedelta(seconds=after),
            now=None if now is None else datetime.fromisoformat(now),
            notes=tuple(raw["notes"]),
        )

    def summary(self) -> str:
        """How many windows, predictions and alarms, in a line."""
        words = [CALIBRATION, BOTH, PREVALENCE, INCOMPLETE, TOO_SMALL]
        said = self.verdict
        found = "; ".join(f"{said.count(word):,} {word}" for word in words if word in said) or "all steady"
        length = "" if self.every is None else f" of {self.every}"
        return f"{len(self):,} window{'s' * (len(self) != 1)}{length}, {int(self.n.sum()):,} predictions: {found}"

    def __repr__(self) -> str:
        rows = [(*_HEADS[:4], self.metric_name, *_HEADS[5:]), *self._rows()]
        if len(rows) > 41:
            rows = [*rows[:21], ("...", *[""] * (len(rows[0]) - 1)), *rows[-20:]]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        last = len(widths) - 1
        lines = [
            "  ".join(
                cell.ljust(width) if i in (0, last) else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        notes = [f"Note: {note}." for note in self.notes]
        return "\n".join([self.summary(), *(f"  {line}" for line in lines), *notes])

    def _repr_html_(self) -> str:
        heads = (*_HEADS[:4], self.metric_name, *_HEADS[5:])
        head = "".join(f"<th>{html.escape(text)}</th>" for text in heads)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in self._rows()
        )
        notes = "".join(f"<p>Note: {html.escape(note)}.</p>" for note in self.notes)
        return (
            f"<p>{html.escape(self.summary())}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
            f"{notes}"
        )

    def _rows(self) -> list[tuple[str, ...]]:
        said = zip(self.names, self.verdict, strict=True)
        return [
            (
                name,
                f"{self.n[i]:,}",
                f"{100 * self.prevalence[i]:.4g} %",
                f"{100 * self.mean[i]:.4g} %",
                format_value(self.value[i], self.metric),
                format_value(self.by_chance[i], self.metric),
                "" if math.isnan(self.p_adjusted[i]) else f"{self.p_adjusted[i]:.3g}",
                f"{self.ratio[i]:.3g}",
                word,
            )
            for i, (name, word) in enumerate(said)
        ]


_HEADS = ("window", "n", "positive", "predicted", "", "by chance", "p adjusted", "obs / exp", "verdict")
_OTHERS = {"window", "metric", "every", "replicates", "confidence", "adjust", "significance", "mature_after", "now"}
_ARRAYS = [part.name for part in fields(DriftTable) if part.name not in _OTHERS | {"notes"}]


def _name(window: Any, every: str | None) -> str:
    """A window as text; days and longer ones as dates."""
    if isinstance(window, datetime):
        midnight = (window.hour, window.minute, window.second, window.microsecond) == (0, 0, 0, 0)
        return window.date().isoformat() if midnight and every != "1h" else window.isoformat(" ", "minutes")
    return str(window)


def _plain(value: Any) -> Any:
    """A number as JSON has it."""
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "inf"
    return value
