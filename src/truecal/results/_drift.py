"""The table of periods, and what they show together."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, ClassVar

import numpy as np

from truecal._codes import Code
from truecal._text import prose_html
from truecal.data import Bools, Floats
from truecal.results._groups import VERDICT_COLUMNS, VerdictTable
from truecal.results._table import Column, Table, column, register_table
from truecal.verdict import FACTOR, Status, Verdict

SMALL = 0.8  # of the median number of rows, below which the first or last period may be cut off


class DriftStatus(Code):
    """What all periods show together.

    Examples
    --------
    >>> DriftStatus("calibration drift") is DriftStatus.DRIFT
    True
    """

    THROUGHOUT = "miscalibrated throughout"
    DRIFT = "calibration drift"
    RECOVERED = "recovered"
    STABLE = "stable"
    BASE_RATE_SHIFTED = "base rate shifted"
    MISCALIBRATED = "miscalibrated"
    CONSISTENT = "consistent"
    INCONCLUSIVE = "inconclusive"


class PeriodStatus(Code):
    """The status of one period; a period whose labels are not complete yet is pending."""

    MISCALIBRATED = "miscalibrated"
    CONSISTENT = "consistent"
    INCONCLUSIVE = "inconclusive"
    PENDING = "pending"


class Change(Code):
    """What changed in a period since the baseline, of which it may be part."""

    BASELINE = "baseline"
    CALIBRATION = "calibration"
    BASE_RATE = "base rate"
    BOTH = "both"


@register_table
@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class DriftTable(VerdictTable):
    """A table with one row per period, in order of time.

    `every` is the length of periods, `label_lag` the time after its end until a period's labels are complete, `now`
    the time at which that was assessed.

    `overall_verdict`, `baseline_verdict`, `later_verdict` and `recent_verdict` are the verdicts on all complete
    periods, on the baseline, on all later periods, and on those since the estimated change point. `overall_p` is the
    p-value of the null hypothesis that every period is calibrated, from all rows together and from each period.
    `overall_change_p` and `overall_base_rate_p` are those of no change since the baseline, in calibration and in the
    base rate; `later_base_rate_p` compares the base rate of all later periods together. `detectable_change` is the
    minimum detectable odds ratio between the later periods and the baseline. `change_point` is the period at which
    calibration changed most, `change_ratios` are observed over expected before and since; `base_rates` are those of
    the baseline and of the later periods. For other settings see `GroupTable`.

    Examples
    --------
    >>> import numpy as np, truecal
    >>> day = np.datetime64("2026-01-05") + np.repeat(np.arange(28), 20)
    >>> columns = {"y": [0, 1] * 280, "p": [0.5] * 560, "day": day}
    >>> table = truecal.drift(truecal.read(columns, label="y", score="p", time="day", every="1w"))
    >>> table.n.tolist(), table.ratio.tolist()
    ([140, 140, 140, 140], [1.0, 1.0, 1.0, 1.0])
    """

    period: tuple[Any, ...] = field(metadata=column("key", "period", "The start of the period, or its name."))
    baseline: Bools = field(metadata=column("flag", "baseline", "Whether the period belongs to the baseline."))
    complete: Bools = field(
        metadata=column("flag", "complete", "Whether the labels are assumed to be complete; if not, it is pending.")
    )
    change_p: Floats = field(
        metadata=column(
            "p-value",
            "change p",
            "The p-value of a change in calibration since the baseline: of the period's positives given those of both "
            "together, under one common odds ratio. NaN for the baseline itself.",
        )
    )
    change_p_adjusted: Floats = field(
        metadata=column("p-value", "change p adjusted", "The same, adjusted for the number of periods.")
    )
    base_rate_p: Floats = field(
        metadata=column("p-value", "base rate p", "The p-value of Fisher's exact test of a change in the base rate.")
    )
    base_rate_p_adjusted: Floats = field(
        metadata=column("p-value", "base rate p adjusted", "The same, adjusted for the number of periods.")
    )
    overall_verdict: Verdict | None = None
    baseline_verdict: Verdict | None = None
    later_verdict: Verdict | None = None
    recent_verdict: Verdict | None = None
    overall_p: float = math.nan
    overall_change_p: float = math.nan
    overall_base_rate_p: float = math.nan
    later_base_rate_p: float = math.nan
    detectable_change: float = math.inf
    change_point: Any = None
    change_ratios: tuple[float, float] | None = None
    base_rates: tuple[float, float] | None = None
    every: str | None = None
    label_lag: timedelta | None = None
    now: datetime | None = None

    _derived: ClassVar[tuple[str, ...]] = ("drift_status",)
    _derived_columns: ClassVar[tuple[Column, ...]] = (
        *VERDICT_COLUMNS,
        Column("relative_ratio", "ratio", "O/E relative", "O/E over that of the baseline."),
        Column(
            "change",
            "code",
            "change since baseline",
            'What changed: "calibration", "base rate" or "both"; "baseline" for the baseline; null if none is shown.',
        ),
    )
    _shown: ClassVar[tuple[str, ...]] = (
        *("period", "n", "observed", "expected", "ratio_ci", "p_adjusted", "status", "direction", "change"),
        *("detectable", "value", "bounds", "null_mean"),
    )
    _spare: ClassVar[tuple[str, ...]] = (
        *("bounds", "null_mean", "value", "detectable", "observed", "expected", "change", "p_adjusted", "n"),
    )
    _most: ClassVar[int] = 40
    _picture: ClassVar[str] = "drift"

    @property
    def names(self) -> list[str]:
        """The periods as text: dates and times in ISO format."""
        return [name_period(period, self.every) for period in self.period]

    def _lists(self) -> dict[str, list[Any]]:
        return Table._lists(self) | {"period": self.names}

    @property
    def alarms(self) -> list[Any]:
        """The periods that are miscalibrated."""
        return [self.period[i] for i in np.flatnonzero(self.alarm)]

    @property
    def status(self) -> list[PeriodStatus]:
        """The status of each period."""
        rows = zip(self._find_statuses(), self.complete.tolist(), strict=True)
        return [PeriodStatus(status) if complete else PeriodStatus.PENDING for status, complete in rows]

    @property
    def relative_ratio(self) -> Floats:
        """Observed over expected, over that of the baseline; infinite or NaN if the baseline has no positives."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.ratio / (math.nan if self.baseline_verdict is None else self.baseline_verdict.ratio)

    @property
    def calibration_changed(self) -> Bools:
        """Whether calibration is shown to differ from the baseline's; only if the model is miscalibrated."""
        return np.asarray((self.change_p_adjusted <= self.significance) & self.miscalibrated)

    @property
    def base_rate_changed(self) -> Bools:
        """Whether the base rate is shown to differ from the baseline's."""
        return np.asarray(self.base_rate_p_adjusted <= self.significance)

    @property
    def cut_off(self) -> Bools:
        """Whether the data may begin or end within a period: it is the first or the last, and has fewer rows than every
        other and than 0.8 of their median."""
        found = np.zeros(len(self), dtype=np.bool_)
        inner = self.n[1:-1]
        if self.every is not None and len(inner) > 1:
            found[[0, -1]] = self.n[[0, -1]] < min(float(inner.min()), SMALL * float(np.median(inner)))
        return found

    @property
    def change(self) -> list[Change | None]:
        """What changed in each period since the baseline; None if no change is shown."""
        rows = zip(
            self.baseline.tolist(), self.calibration_changed.tolist(), self.base_rate_changed.tolist(), strict=True
        )
        changes = {(True, True): Change.BOTH, (True, False): Change.CALIBRATION, (False, True): Change.BASE_RATE}
        return [Change.BASELINE if first else changes.get((calibration, rate)) for first, calibration, rate in rows]

    @property
    def miscalibrated(self) -> bool:
        """Whether the model is shown to be miscalibrated, over all periods together or in some."""
        return bool(self.overall_p <= self.significance)

    @property
    def drift_status(self) -> DriftStatus:
        """What all periods show: whether the model is miscalibrated, and since when; else whether anything changed.

        It is `MISCALIBRATED` or `CONSISTENT` if the data do not show when calibration changed, or whether it did.
        """
        if self.miscalibrated:
            return self._find_onset()
        if self.overall_verdict is None or not self.overall_verdict.detectable <= FACTOR:
            return DriftStatus.INCONCLUSIVE
        if self.overall_base_rate_p <= self.significance:
            return DriftStatus.BASE_RATE_SHIFTED
        return DriftStatus.STABLE if self.detectable_change <= FACTOR else DriftStatus.CONSISTENT

    @property
    def isolated(self) -> bool:
        """Whether some periods are miscalibrated, and all together are not shown to be."""
        found = self.overall_verdict
        return self.miscalibrated and found is not None and found.status != Status.MISCALIBRATED

    @property
    def calibration_change(self) -> bool:
        """Whether a change in calibration since the baseline is shown."""
        return bool(self.overall_change_p <= self.significance)

    def _find_onset(self) -> DriftStatus:
        early = self.baseline_verdict is not None and self.baseline_verdict.p_value <= self.significance
        throughout = DriftStatus.MISCALIBRATED if self.isolated else DriftStatus.THROUGHOUT
        if not self.calibration_change:
            return throughout if early else DriftStatus.MISCALIBRATED
        if not early:
            return DriftStatus.MISCALIBRATED if self.drifted_verdict is None else DriftStatus.DRIFT
        late = self.recent_verdict is not None and self.recent_verdict.p_value <= self.significance
        return throughout if late else DriftStatus.RECOVERED

    @property
    def drifted_verdict(self) -> Verdict | None:
        """The verdict that shows miscalibration after the baseline: on all later periods or, since a change in the last
        of many is diluted among them, on those since the change point, at a level for as many choices as there are
        later periods. None if neither shows it."""
        if self.later_verdict is not None and self.later_verdict.p_value <= self.significance:
            return self.later_verdict
        later = self.complete & ~self.baseline
        if self.recent_verdict is None or not later[self.change_index]:
            return None
        return self.recent_verdict if self.recent_verdict.p_value * int(later.sum()) <= self.significance else None

    @property
    def change_index(self) -> int:
        """The position of the change point among the periods."""
        return self.names.index(name_period(self.change_point, self.every))

    @property
    def summary(self) -> str:
        """The status of all periods, and how many there are of each status, in one sentence."""
        from truecal import words

        return words.summarize_drift(self)

    def _footnotes(self) -> tuple[str, ...]:
        from truecal import words

        return words.explain_intervals(self, "period")

    def sentences(self) -> tuple[str, ...]:
        """What all periods show together and why, then how many are miscalibrated individually."""
        from truecal import words

        return words.describe_drift(self)

    def __repr__(self) -> str:
        return "\n".join([*self.sentences(), "", Table.__repr__(self)])

    def _repr_html_(self) -> str:
        return f"<p>{prose_html(' '.join(self.sentences()))}</p>{Table._repr_html_(self)}"


def name_period(period: Any, every: str | None) -> str:
    """Return a period as text: a date if periods are days or longer."""
    if isinstance(period, datetime):
        midnight = (period.hour, period.minute, period.second, period.microsecond) == (0, 0, 0, 0)
        return period.date().isoformat() if midnight and every != "1h" else period.isoformat(" ", "minutes")
    return str(period)
