"""An assertion for tests of a model, which shows the check results if it fails."""

from __future__ import annotations

from typing import Any

from truecal.data import Observations, Tally
from truecal.gate import Rule, Rules, check


def assert_calibrated(
    y_true: Any,
    y_prob: Any,
    rules: Rules | None = None,
    *,
    allow_inconclusive: bool = False,
    pos_label: Any = None,
    **options: Any,
) -> None:
    """Raise an AssertionError, with the check results, unless predictions pass the gate.

    Parameters
    ----------
    y_true, y_prob : columns of values
        Labels and predicted probabilities of the positive label.
    rules : path or rules, optional
        As in `truecal.check`; by default the verdict must be "consistent".
    allow_inconclusive : bool
        Whether an inconclusive verdict passes; only without `rules`.
    pos_label : optional
        The positive label; every other one is negative.
    options
        The options of `truecal.check`.

    Examples
    --------
    >>> import numpy as np
    >>> from truecal.integrations import assert_calibrated
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> y = rng.random(2000) < p
    >>> assert_calibrated(y, p)
    >>> assert_calibrated(y, p / 2)
    Traceback (most recent call last):
        ...
    AssertionError: ...
    """
    __tracebackhide__ = True  # pytest shows the caller
    if rules is not None and allow_inconclusive:
        raise TypeError("`allow_inconclusive` must be left out if `rules` are given: each rule has its own.")
    if rules is None:
        rules = [Rule("verdict", allow_inconclusive=allow_inconclusive)]
    tally = Tally.from_arrays(y_true, y_prob, pos_label=pos_label)
    decision = check(Observations("y_true", "y_prob", {(): tally}), rules, **options)
    if decision.exit_code:
        raise AssertionError(str(decision))
