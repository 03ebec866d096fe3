"""An assertion for tests of a model, which shows the check results if it fails."""

from __future__ import annotations

from typing import Any, Unpack

from truecal._options import AssertOptions, CheckOptions, GateOptions, LevelOptions, PositiveOptions, declare, resolve
from truecal._text import disarm
from truecal.data import Observations, Tally
from truecal.gate import RULE_SIGNIFICANCE, Rule, Rules, check


@declare(CheckOptions, first=(PositiveOptions, LevelOptions, GateOptions))
def assert_calibrated(
    y_true: Any,
    y_prob: Any,
    rules: Rules | None = None,
    *,
    allow_inconclusive: bool = False,
    pos_label: Any = None,
    significance: float | None = None,
    **options: Unpack[AssertOptions],
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
    options = resolve(assert_calibrated, options)
    if rules is not None and allow_inconclusive:
        raise TypeError("`allow_inconclusive` must be left out if `rules` are given: each rule has its own.")
    if rules is None:
        level = RULE_SIGNIFICANCE if significance is None else significance
        rules, significance = [Rule("verdict", allow_inconclusive=allow_inconclusive, significance=level)], None
    tally = Tally.from_arrays(y_true, y_prob, pos_label=pos_label)
    data = Observations("y_true", "y_prob", {(): tally})
    decision = check(data, rules, significance=significance, **options)
    if not decision:
        raise AssertionError(disarm(str(decision)))
