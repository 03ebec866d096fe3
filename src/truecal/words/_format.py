"""Numbers as sentences and tables show them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from truecal._text import format_percent
from truecal.metrics import Measure

DASH = "\N{EN DASH}"
NAMED = 3  # segments, classes or series that a sentence names
LARGE = 1e6  # odds ratios from which digits after the third say nothing


def format_end(score: float, digits: int = 2) -> str:
    """Format the end of a score band in percent, with so many digits after leading zeros or nines.

    Examples
    --------
    >>> format_end(0.0213), format_end(0.5), format_end(0.99968), format_end(1.0)
    ('2.1%', '50%', '99.968%', '100%')
    """
    near = 100 * min(score, 1 - score)
    if near <= 0:
        return f"{100 * score:.0f}%"
    text = f"{100 * score:.{max(0, digits - 1 - math.floor(math.log10(near)))}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text}%"


def format_p_value(p: float) -> str:
    """Format a p-value with its sign: two digits, or as many as tell it from the usual levels.

    Examples
    --------
    >>> format_p_value(0.0123), format_p_value(0.0504), format_p_value(2e-5)
    ('p = 0.012', 'p = 0.0504', 'p < 0.0001')
    """
    text = format_p_cell(p)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def format_p_cell(p: float) -> str:
    """Format a p-value below a heading that names it.

    Examples
    --------
    >>> format_p_cell(0.0123), format_p_cell(2e-5)
    ('0.012', '< 0.0001')
    """
    if p < 1e-4:
        return "< 0.0001"
    digits = 2
    while digits < 6 and any(p > level >= float(f"{p:.{digits}g}") for level in (0.05, 0.01)):
        digits += 1
    return f"{p:.{digits}g}"


def round_ratios(ratio: float, low: float, high: float) -> tuple[str, str, str]:
    """Format a ratio and its interval, with as many digits as the width needs and as tell the ends from 1.

    Examples
    --------
    >>> round_ratios(1.5241, 1.354, 1.702), round_ratios(0.73, 0.52, 0.998)
    (('1.52', '1.35', '1.70'), ('0.730', '0.520', '0.998'))
    """
    ratio, low, high = float(ratio), float(low), float(high)
    width = high - low if math.isfinite(high) else math.inf
    digits = max(2, -math.floor(math.log10(width / 2))) if 0 < width < 1 else 2
    while digits < 6 and any(end != 1 and float(f"{end:.{digits}f}") == 1 for end in (low, high)):
        digits += 1
    first, second, third = (f"{value:.{digits}f}" if value < 10 else f"{value:.3g}" for value in (ratio, low, high))
    return first, second, third


def format_ratio(ratio: float) -> str:
    """Format an observed over expected ratio: two decimals, or as many as tell it from 1.

    Examples
    --------
    >>> format_ratio(1.524), format_ratio(0.9968), format_ratio(12.345), format_ratio(1.0), format_ratio(0.00312)
    ('1.52', '0.9968', '12.3', '1.00', '0.0031')
    """
    if ratio >= 10:
        return f"{ratio:.3g}"
    if 0 < ratio < 0.1:
        return f"{ratio:.{1 - math.floor(math.log10(ratio))}f}"
    away = abs(ratio - 1)
    return f"{ratio:.{2 if away >= 0.01 or away < 1e-6 else 1 - math.floor(math.log10(away))}f}"


def format_ratio_cell(ratio: float, low: float, high: float) -> str:
    """Format observed over expected with its interval, below a heading that names both.

    Predictions of exactly 0 and 1 leave no interval; where nothing is expected there is no ratio.

    Examples
    --------
    >>> format_ratio_cell(1.5241, 1.354, 1.702), format_ratio_cell(0.9, 0.9, 0.9)
    ('1.52 (1.35–1.70)', '0.90')
    >>> format_ratio_cell(math.inf, math.nan, math.nan), format_ratio_cell(math.nan, math.nan, math.nan)
    ('none expected', '')
    """
    if math.isnan(ratio):
        return ""
    if math.isinf(ratio):
        return "none expected"
    first, second, third = round_ratios(ratio, low, high)
    return first if low == high else f"{first} ({second}{DASH}{third})"


def format_ratio_ci(ratio: float, low: float, high: float, confidence: str = "95%") -> str:
    """Format observed over expected with its confidence interval, within a sentence.

    Examples
    --------
    >>> format_ratio_ci(1.5241, 1.354, 1.702), format_ratio_ci(0.9, 0.9, 0.9)
    ('O/E 1.52 (95% CI 1.35–1.70)', 'O/E 0.90')
    """
    first, second, third = round_ratios(ratio, low, high)
    return f"O/E {first}" if low == high else f"O/E {first} ({confidence} CI {second}{DASH}{third})"


def format_odds_ratio(odds_ratio: float) -> str:
    """Format a minimum detectable odds ratio, rounded up: one above 1.5 never reads as 1.5.

    Examples
    --------
    >>> format_odds_ratio(1.5), format_odds_ratio(1.5003), format_odds_ratio(36.2), format_odds_ratio(math.inf)
    ('1.5', '1.51', '37', 'infinite')
    """
    if math.isinf(odds_ratio):
        return "infinite"
    if not 0 < odds_ratio < LARGE:
        return f"{odds_ratio:.3g}"
    scale = 100 if odds_ratio < 10 else 1
    return f"{math.ceil(round(odds_ratio * scale, 9)) / scale:,.15g}"


def format_metric(metric: Measure, value: float) -> str:
    """Format a metric in a line of text: three digits at most, two of small probabilities.

    Examples
    --------
    >>> from truecal.metrics import METRICS
    >>> format_metric(METRICS["ltce"], 45.4987), format_metric(METRICS["ece"], 0.005213)
    ('45.5%', '0.0052')
    """
    if math.isnan(value):
        return "undefined"
    if metric.unit.symbol == "%":
        return format_percent(value / 100)
    return f"{value:.2g}" if metric.unit.top == 1 and abs(value) < 0.1 else f"{value:.3g}"


def format_confidence(significance: float) -> str:
    """Format the confidence of an interval.

    Examples
    --------
    >>> format_confidence(0.05), format_confidence(0.001)
    ('95%', '99.9%')
    """
    return f"{100 * (1 - significance):.6g}%"


def join_words(words: Sequence[str]) -> str:
    """Join words with commas and "and".

    Examples
    --------
    >>> join_words(["age"]), join_words(["age", "country"]), join_words(["a", "b", "c"])
    ('age', 'age and country', 'a, b and c')
    """
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def explain_metrics(metrics: Mapping[str, Measure]) -> list[tuple[str, str]]:
    """Return what metrics mean; those that differ by their bins alone together."""
    names: dict[str, list[str]] = {}
    for name, metric in metrics.items():
        names.setdefault(metric.meaning, []).append(name)
    return [(", ".join(group), meaning) for meaning, group in names.items()]
