"""Sentences about sample size and power."""

from __future__ import annotations

import math

from truecal._text import format_percent, plural
from truecal.verdict import Plan

SCOPES = "on all predictions", "confined to a fifth of the information"


def summarize_plan(plan: Plan) -> str:
    """Return what is asked: which error the verdict should detect, or in how many rows; `list_plan` has the answers."""
    level = f"with {format_percent(plan.power)} power at a significance of {plan.significance:g}"
    share = format_percent(plan.prediction)
    if plan.factor is None or plan.ratio is None:
        return f"Detectable in {plural(plan.rows, 'row')} of predictions of {share}, {level}: odds ratios"
    actual = format_percent(plan.ratio * plan.prediction)
    error = f"{actual} are positive when {share} are predicted (odds ratio {plan.factor:.3g})"
    return f"To detect that {error}, {level}, the verdict requires"


def list_plan(plan: Plan) -> list[tuple[str, str]]:
    """Return the numbers of rows, or the detectable odds ratios, each with what it applies to."""
    if plan.factor is not None and plan.fifth_rows is not None:
        widest = len(f"{plan.fifth_rows:,}")
        return [
            (f"{plan.rows:,}".rjust(widest), "rows"),
            (f"{plan.fifth_rows:,}", f"rows, if the error is {SCOPES[1]}"),
        ]
    sides = (plan.above, plan.below), (plan.fifth_above, plan.fifth_below)
    return [_describe_detectable(*side, scope) for side, scope in zip(sides, SCOPES, strict=True)]


def _describe_detectable(above: float, below: float, scope: str) -> tuple[str, str]:
    """Return the detectable odds ratios above and below 1, and on which side there is none."""
    sides = {"above": (above, f"{above:.3g} or above"), "below": (below, f"{1 / below:.3g} or below")}
    undetectable = [side for side, (ratio, _) in sides.items() if ratio == math.inf]
    if len(undetectable) == len(sides):
        return "none", f"{scope}: no odds ratio is detectable"
    ratios = ", ".join(text for side, (_, text) in sides.items() if side not in undetectable)
    return ratios, scope + "".join(f"; no odds ratio {side} 1 is detectable" for side in undetectable)
