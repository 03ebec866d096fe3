"""The statuses of a check, and their causes."""

from __future__ import annotations

from truecal._codes import Code


class CheckStatus(Code):
    """The status of one check: "pass", "fail" or "inconclusive".

    Examples
    --------
    >>> import truecal
    >>> data = truecal.read({"y": [0, 1] * 100, "p": [0.2] * 200}, label="y", score="p")
    >>> truecal.check(data).status is CheckStatus.FAIL
    True
    """

    PASS = "pass"
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"


class Cause(Code):
    """The reason for the status of a check.

    Examples
    --------
    >>> import truecal
    >>> data = truecal.read({"y": [0, 1] * 100, "p": [0.2] * 200}, label="y", score="p")
    >>> truecal.check(data).results[0].cause
    'miscalibrated'
    """

    # the verdict
    CONSISTENT = "consistent"
    WEAK_SIGN = "weak sign"  # p is at most 0.05, and above the significance of the rule
    TOLERANCE_UNPROVEN = (
        "tolerance unproven"  # observed and expected differ by more than the tolerance; not significantly
    )
    MISCALIBRATED = "miscalibrated"
    UNDERPOWERED = "underpowered"  # the verdict is inconclusive
    TOLERANCE_OF_ALL = "tolerance of all"  # it reaches from every prediction to 0 and 1: nothing could be found
    CERTAIN = "certain"  # all predictions are 0 or 1, so that no odds ratio can be detected
    NO_VERDICT = "no verdict"

    # a number and its limit
    WITHIN_LIMIT = "within limit"
    ABOVE_LIMIT = "above limit"
    BELOW_LIMIT = "below limit"
    INFINITE = "infinite"
    NOT_FINITE = "not finite"
    CELLS_STRADDLE = "cells straddle"  # scores were grouped into cells, and the bounds of the value contain the limit
    INTERVAL_STRADDLES = "interval straddles"
    UNPROVEN = "unproven"  # the value is beyond its limit, and the verdict is not "miscalibrated"
    TOO_FEW_RESAMPLES = "too few resamples"
    UNREACHABLE_LIMIT = "unreachable limit"

    # what is missing
    NO_MODEL = "no model"
    NO_SEGMENT = "no segment"
    NO_METRIC = "no metric"
    NO_NULL = "no null"
    NO_INTERVAL = "no interval"
    NO_FINITE_INTERVAL = "no finite interval"
    NO_BASELINE = "no baseline"
    MIN_ROWS = "min rows"
    OUT_OF_SCOPE = "out of scope"
    ALL_DROPPED = "all dropped"
