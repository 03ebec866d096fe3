"""The kinds of plots, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any

from truecal._errors import did_you_mean, option
from truecal.analysis import Monitor
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
from truecal.results import ClassTable, Comparison, DriftTable, GroupTable, Recalibration, Result, SliceTable

RESULT, MODELS = ("evaluate", Result), ("evaluate", Mapping)
# what draws each kind, the function whose answer it shows, and the type of that
KINDS: dict[str, tuple[Callable[..., Picture], tuple[str, type]]] = {
    "calibration": (picture_calibration, RESULT),
    "test_reliability": (picture_test_reliability, RESULT),
    "reliability": (picture_reliability, RESULT),
    "models": (picture_models, MODELS),
    "metrics": (picture_metrics, MODELS),
    "comparison": (picture_comparison, ("compare", Comparison)),
    "segments": (picture_segments, ("segments", GroupTable)),
    "binnings": (picture_binnings, RESULT),
    "drift": (picture_drift, ("drift", DriftTable)),
    "slices": (picture_slices, ("slices", SliceTable)),
    "classes": (picture_classes, ("evaluate_classes", ClassTable)),
    "monitor": (picture_monitor, ("Monitor", Monitor)),
    "recalibration": (picture_recalibration, ("recalibrate", Recalibration)),
    "power": (picture_power, RESULT),
}


def make_picture(kind: str, *data: Any, **options: Any) -> Picture:
    """Make the plot of a kind, with the options of the function of that name."""
    if kind not in KINDS:
        known = ", ".join(KINDS)
        raise ValueError(f"{option('kind')} must be one of {known}; it is {kind!r}.{did_you_mean(kind, KINDS)}")
    make, (function, wanted) = KINDS[kind]
    if not data or not isinstance(data[0], wanted):
        found = type(data[0]).__name__ if data else "nothing"
        raise TypeError(
            f"`plot.{kind}` takes {'results by name' if wanted is Mapping else f'a `{wanted.__name__}`'}; this is "
            f"{found}.\n\nHint: {_advise(kind, function)}"
        )
    parameters = signature(make).parameters
    for name in options:
        if name not in parameters:
            raise TypeError(
                f"plot.{kind}() got an unexpected keyword argument {name!r}.{did_you_mean(name, parameters)}"
            )
    return make(*data, **options)


def _advise(kind: str, function: str) -> str:
    """How to get what a plot shows."""
    if function == "Monitor":
        return "draw a `truecal.Monitor` that was updated."
    call = f"truecal.{function}(...)"
    argument = f'{{"my model": {call}}}' if kind in ("models", "metrics") else call + ".table" * (kind == "classes")
    return f"`truecal.plot.{kind}({argument})`."
