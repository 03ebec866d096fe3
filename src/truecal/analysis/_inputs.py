"""What functions of analysis accept: data that were read, one region, and a test with its level.

It imports no results, so that the gate starts without them.
"""

from __future__ import annotations

from typing import Any, NoReturn

from truecal._errors import option
from truecal._options import TestOptions
from truecal.metrics import Binomial, PointwiseTest, as_tolerance


def raise_for_data(function: str, data: Any, given: Any = None) -> NoReturn:
    """Raise an error for data that are not observations; it says how to read them."""
    if isinstance(given, str):
        raise TypeError(
            f"`y_prob` must be a column of values; it is {given!r}.\n\nHint: a dataframe or a path is read first: "
            f'`{function}(truecal.read(data, label="{given}", score=...))`.'
        )
    what = type(data).__name__
    call = "monitor.update" if function == "update" else f"truecal.{function}"
    if function in ("evaluate", "compare") and not hasattr(data, "columns") and not isinstance(data, (str, bytes)):
        raise TypeError(
            f"{'`y_prob`' if given is None else '`y_prob_other`'} is missing.\n\nHint: a dataframe or a path is read "
            f"first: `{call}(truecal.read(data, label=..., score=...))`."
        )
    raise TypeError(
        f"`{function}` takes {'columns or ' * (function in ('evaluate', 'compare'))}`Observations`; this is {what}.\n\n"
        f"Hint: read it first: `{call}(truecal.read(data, label=..., score=...))`."
    )


def choose_test(options: TestOptions) -> PointwiseTest:
    """Return the test with its level and tolerance."""
    test, level = options["test"], options["significance"]
    return PointwiseTest(Binomial() if test is None else test, level, as_tolerance(options["tolerance"]))


def check_region(threshold: float | None, top: int | float | None) -> None:
    """Refuse `threshold` and `top` together."""
    if threshold is not None and top is not None:
        raise ValueError(f"One of {option('threshold')} and {option('top')} may be given, not both.")


def is_unrestricted(options: TestOptions) -> bool:
    """Whether all predictions are in scope."""
    return options["threshold"] is None and options["top"] is None
