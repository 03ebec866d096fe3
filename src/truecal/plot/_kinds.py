"""The kinds of plots, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from truecal._errors import did_you_mean, option
from truecal._options import PICTURES as NAMES
from truecal._options import check_names
from truecal.plot._drift import picture_drift
from truecal.plot._marks import Picture
from truecal.plot._metrics import picture_comparison, picture_metrics
from truecal.plot._monitor import picture_monitor
from truecal.plot._pictures import (
    picture_binnings,
    picture_calibration,
    picture_models,
    picture_power,
    picture_recalibration,
    picture_reliability,
    picture_test_reliability,
)
from truecal.plot._ratios import picture_classes, picture_segments, picture_slices

MAKERS: dict[str, Callable[..., Picture]] = {
    "calibration": picture_calibration,
    "test_reliability": picture_test_reliability,
    "reliability": picture_reliability,
    "models": picture_models,
    "metrics": picture_metrics,
    "comparison": picture_comparison,
    "segments": picture_segments,
    "binnings": picture_binnings,
    "drift": picture_drift,
    "slices": picture_slices,
    "classes": picture_classes,
    "monitor": picture_monitor,
    "recalibration": picture_recalibration,
    "power": picture_power,
}
check_names(MAKERS, NAMES)


def make_picture(kind: str, *data: Any, **options: Any) -> Picture:
    """Make the plot of a kind, with the options of the function of that name."""
    if kind not in MAKERS:
        known = ", ".join(MAKERS)
        raise ValueError(f"{option('kind')} must be one of {known}; it is {kind!r}.{did_you_mean(kind, MAKERS)}")
    return MAKERS[kind](*data, **options)
