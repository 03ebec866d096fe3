"""What the top of a report says about its sections."""

from __future__ import annotations

from truecal._text import plural, shorten
from truecal.metrics import Direction
from truecal.results import ClassTable, DriftStatus, DriftTable, GroupTable, SliceTable
from truecal.verdict import Status
from truecal.words._groups import describe_worst

NAME = 60  # signs of a group's name


def describe_alarms(
    classes: ClassTable | None, segments: GroupTable | None, slices: SliceTable | None, drift: DriftTable | None
) -> list[str]:
    """Return what is miscalibrated in each section of a report."""
    parts = []
    if classes is not None and (count := classes.status.count(Status.MISCALIBRATED)):
        parts.append(f"{count:,} of {len(classes):,} classes")
    if segments is not None and (count := int(segments.alarm.sum())):
        row = segments.order()[0]
        worst = _name_worst(segments.names[row], float(segments.ratio[row]), segments.direction[row], alone=count == 1)
        parts.append(f"{count:,} of {plural(len(segments), 'segment')}{worst}")
    if slices is not None and len(slices):
        worst = _name_worst(slices.slice[0], float(slices.ratio[0]), slices.direction[0], alone=len(slices) == 1)
        parts.append(f"{plural(len(slices), 'slice')} listed among {slices.searched:,} searched{worst}")
    if drift is not None and (count := len(drift.alarms)):
        last = drift.names[drift.alarm.nonzero()[0][-1]]
        parts.append(f"{count:,} of {plural(len(drift), 'period')}, the last {last}")
    elif drift is not None and drift.miscalibrated:
        parts.append("all periods together, though none individually")
    return parts


def _name_worst(name: str, ratio: float, direction: Direction | None, *, alone: bool) -> str:
    return f" ({'worst: ' * (not alone)}{describe_worst(shorten(name, NAME), ratio, direction)})"


def advise_on_drift(drift: DriftTable | None) -> str | None:
    """Return what to do about calibration drift, in the place of recalibrating all rows; None if there is none."""
    if drift is None or drift.drift_status is not DriftStatus.DRIFT:
        return None
    return "Calibration drifted (see Over time): recalibrate on recent rows, or retrain"
