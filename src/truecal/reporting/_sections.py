"""The sections about one model: where it is off, how sure that is, and what is folded below."""

from __future__ import annotations

import math
from collections.abc import Mapping

from truecal._text import escape_html as escape
from truecal._text import plural, prose_html
from truecal.inference import FACTOR, Verdict, format_factor, format_p_value, format_span
from truecal.metrics import Quantile, ScoreRange, Uniform, format_name
from truecal.plot import get_table, group_metrics, list_binnings
from truecal.reporting._figures import Figures
from truecal.reporting._headline import describe_numbers, format_reference
from truecal.reporting._page import Column, write_table
from truecal.results import EIGHT_GRIDS, BinTable, Result, format_share

LOOKS_FOR = {
    "total": "all positives together",
    "cox": "odds that are all too high or too low, or too extreme or too timid",
    "cumulative": "differences that add up along the scores",
    "information": "any range of scores, with as much evidence in each",
    "rows": "any range of scores, with as many rows in each",
    "spread": "many small errors of which none stands out",
    "odds": "odds that are all too high or too low, by labels weighted with what they tell",
    "windows": "the worst window of scores",
}
ARROWS = {"too low": "\N{BLACK UP-POINTING TRIANGLE}", "too high": "\N{BLACK DOWN-POINTING TRIANGLE}"}
WAYS = {"too low": "low", "too high": "high"}


def write_where(number: int, name: str, result: Result, figures: Figures) -> str:
    """The diagram, beside a table of ranges of scores."""
    caption = (
        "Above: observed against predicted in each window of scores, as a factor on the odds, with its "
        "interval as a box (an arrow: it goes on). Below: the predictions, those that the data refute, and what "
        "chance alone would refute; eight grids of windows are asked, of which one is drawn above."
    )
    diagram = figures.draw(
        f"diagram-{number}", "calibration", result, label=describe_numbers(result), caption=caption, both=True
    )
    return f'<div class="where"><div>{diagram}</div><div>{_write_ranges(number, name, result)}</div></div>'


def _write_ranges(number: int, name: str, result: Result) -> str:
    ranges = result.ranges
    if not ranges or result.verdict is None:
        return ""
    tones = ["" if found.direction is None else WAYS[found.direction] for found in ranges]
    ratios = [_write_ratio(found) for found in ranges]
    columns = [
        Column("predictions", result.range_names, text=True),
        Column("rows", [f"{found.rows:,}" for found in ranges]),
        Column("said", [format_share(found.shares[0]) for found in ranges]),
        Column("came", [format_share(found.shares[1]) for found in ranges]),
        Column("ratio", ratios, html=True, tones=tones),
    ]
    level = f"{100 * (1 - result.verdict.significance):g} %"
    within = "" if result.tolerance is None else " within the tolerance"
    signs = ", ".join(f"{ARROWS[way]} {way}" for way in ARROWS if way in {found.direction for found in ranges})
    text = (
        f"{f'{signs}; w' if signs else 'W'}ithout a sign: the data allow the predictions{within}. Intervals hold for "
        f"all ranges together ({level})."
    )
    table = write_table(f"ranges-{number}", f"Predictions by range, {name}", columns)
    return f'{table}<p class="soft">{escape(text)}</p>'


def _write_ratio(found: ScoreRange) -> str:
    """Observed over expected, which way the predictions are off, and the interval."""
    way = found.direction
    sign = f' <span aria-hidden="true">{ARROWS[way]}</span><span class="unseen"> {way}</span>' if way else ""
    if not found.expected > 0:
        return f"none predicted<small>{sign.strip()}</small>"
    ratio, _, span = format_span(found.ratio, found.factor.ratio_low, found.factor.ratio_high).partition(" ")
    return f"\N{MULTIPLICATION SIGN} {ratio}{sign}<small>{span.strip('()')}</small>"


def write_sure(number: int, result: Result) -> str:
    """The parts of the verdict, what could have been seen, and what chance gives."""
    found = result.verdict
    if found is None:
        return ""
    parts = list(found.parts)
    columns = [
        Column("test", [*parts, "all together"], text=True),
        Column("looks for", [*(LOOKS_FOR.get(name, "") for name in parts), "any of these (Cauchy's rule)"], text=True),
        Column("p", [_format_p(found.parts[name]) for name in parts] + [_format_p(found.p_value)]),
    ]
    if found.tolerance is not None:
        columns[1] = Column("looks for", [*(LOOKS_FOR.get(name, "") for name in parts), "twice the smaller"], text=True)
    table = write_table(f"parts-{number}", "The parts of the verdict", columns)
    notes = "".join(f'<p class="soft">Note: {prose_html(note)}.</p>' for note in result.notes)
    beside = f"{_write_seen(found)}{_write_chance(number, result)}{notes}"
    return f'<div class="sure"><div>{table}</div><div>{beside}</div></div>'


def _write_seen(found: Verdict) -> str:
    """Which errors would have been found."""
    factors = found.detectable, found.detectable_above, found.detectable_below
    whole, above, below = ("none" if math.isinf(factor) else format_factor(factor) for factor in factors)
    enough = "at most" if found.detectable <= FACTOR else "above"
    words = "\N{LEFT DOUBLE QUOTATION MARK}consistent\N{RIGHT DOUBLE QUOTATION MARK}"
    text = (
        f"Errors that would have been found in four of five data sets: a factor on {found.all_odds}, up or down, of "
        f"{whole} ({enough} the {FACTOR:g} that {words} asks for); a factor on the odds of a fifth of the evidence "
        f"alone: {above} up, {below} down."
    )
    if all(map(math.isinf, factors)):
        text = "No factor on the odds would have been found in four of five data sets."
    return f"<h3>What could have been seen</h3><p>{escape(text)}</p>"


def _write_chance(number: int, result: Result) -> str:
    """The metrics that judge predictions, beside their values by chance."""
    names = [name for name in result.references if name in result.tables and result.metrics[name].rejection]
    if not names:
        return ""
    spans = []
    for name in names:
        low, high = map(result.metrics[name].format, (result.references[name].low, result.references[name].high))
        spans.append(f"{low.removesuffix(' %')} to {high}")
    columns = [
        Column("metric", [format_name(name) for name in names], text=True),
        Column("value", [result.format(name) for name in names]),
        Column("by chance", [result.metrics[name].format(result.references[name].mean) for name in names]),
        Column("5 to 95 %", spans),
        Column("p", [format_reference(result.references[name]) for name in names]),
    ]
    count = plural(result.references[names[0]].replicates, "perfect model")
    return write_table(f"chance-{number}", f"Refuted predictions, and those of {count} with these scores", columns)


def _format_p(p: float) -> str:
    return format_p_value(p).removeprefix("= ")


def write_metrics(named: Mapping[str, Result], figures: Figures) -> str:
    """Every metric: a row for each model, metrics one below the other."""
    names = dict.fromkeys(name for result in named.values() for name in result.values)
    rows = [(name, model, result) for name in names for model, result in named.items() if name in result.values]
    columns = [
        Column("metric", [format_name(name) for name, _, _ in rows], text=True),
        *([Column("model", [model for _, model, _ in rows], text=True)] if len(named) > 1 else []),
        Column("value", [result.format(name) for name, _, result in rows]),
        Column("by chance", [_tell_chance(result, name) for name, _, result in rows]),
        Column("p", [format_reference(r.references[n]) if n in r.references else "" for n, _, r in rows]),
        Column("interval", [_tell_interval(result, name) for name, _, result in rows]),
        Column("what it is", [result.describe(name) for name, _, result in rows], text=True),
    ]
    columns = [column for column in columns if any(column.cells)]
    levels = sorted({span.confidence for result in named.values() for span in result.intervals.values()})
    notes = [
        "By chance: the mean and the 5 and 95 % quantiles of perfect models with these scores; p: how often they look "
        "as bad, or, of log loss, Brier score and net benefit, are as far from their mean."
    ] * any(result.references for result in named.values())
    notes += [f"{100 * level:g} % interval: where the metric lies on average over data like these." for level in levels]
    text = f'<p class="soft">{escape(" ".join(notes))}</p>' if notes else ""
    return f"{write_table('metrics', 'Every metric', columns, sorts=True)}{text}{_draw_metrics(named, figures)}"


def _tell_chance(result: Result, name: str) -> str:
    if name not in result.references:
        return ""
    found, metric = result.references[name], result.metrics[name]
    mean, low, high = map(metric.format, (found.mean, found.low, found.high))
    return f"{mean} ({low.removesuffix(' %')} to {high})"


def _tell_interval(result: Result, name: str) -> str:
    metric, text = result.metrics[name], ""
    if name in result.intervals:
        low, high = map(metric.format, (result.intervals[name].low, result.intervals[name].high))
        text = f"{low.removesuffix(' %')} to {high}"
    if name in result.bounds:
        low, high = map(metric.format, result.bounds[name])
        text += f"{'; ' * bool(text)}on bins of cells {low.removesuffix(' %')} to {high}"
    return text


def _draw_metrics(named: Mapping[str, Result], figures: Figures) -> str:
    first = next(iter(named.values()))
    shared = [name for name in first.tables if all(name in result.tables for result in named.values())]
    drawn = []
    for i, (kind, names) in enumerate(group_metrics(first, shared).items()):
        values = "; ".join(
            f"{format_name(name)} of {model} {result.format(name)}" for name in names for model, result in named.items()
        )
        caption = f"{kind[0].upper()}{kind[1:]}: signs are values, lines their intervals, grey is chance."
        drawn.append(figures.draw(f"metrics-{i}", "metrics", named, names, label=f"{values}.", caption=caption))
    return "".join(drawn)


def write_diagrams(number: int, name: str, result: Result, metric: str | None, figures: Figures) -> str:
    """The paper's diagram, reliability diagrams, and the binnings."""
    table = get_table(result, metric)
    shown = result.pictured if metric is None else metric
    words = (
        f"{format_name(shown)} of {name}: {result.format(shown)} of predictions refuted in {plural(len(table), 'bin')}."
    )
    caption = (
        "Test-based reliability diagram. For each bin: its predictions (the shape), the observed rate (line) and the "
        "predictions that the test accepts (grey band). Below: bin sizes, and the predictions that are refuted. Right: "
        "all predictions."
    )
    drawn = figures.draw(f"paper-{number}", "test_based", result, metric, label=words, caption=caption)
    for kind in (Uniform, Quantile):
        key = next((key for key in result.tables if isinstance(result.metrics[key].binning, kind)), None)
        if key is not None:
            label = _describe_reliability(result.tables[key])
            caption = (
                "Observed rate against prediction: the isotonic curve (line), where 95 of 100 right models have it "
                f"(grey), and rates with their intervals (dots) in {result.metrics[key].bins}."
            )
            drawn += figures.draw(
                f"{kind.__name__.lower()}-{number}", "reliability", result, key, label=label, caption=caption
            )
    if len(list_binnings(result)) > 1:
        label = "; ".join(f"{result.metrics[key].bins}: {len(result.tables[key]):,}" for key in list_binnings(result))
        caption = (
            "Each way of binning the same predictions: observed against predicted in each bin, as a factor on the "
            "odds, with its interval as a box. Below: all predictions."
        )
        drawn += figures.draw(f"binnings-{number}", "binnings", result, label=f"{label}.", caption=caption, texts=False)
    return drawn


def _describe_reliability(table: BinTable) -> str:
    inside = (table.rate_low <= table.mean) & (table.mean <= table.rate_high)
    filled = int((table.n > 0).sum())
    return f"The interval of the observed rate contains the mean prediction in {inside.sum():,} of {filled:,} bins."


def write_bins(number: int, name: str, result: Result, metric: str | None, *, full: bool = True) -> str:
    """The windows of the diagram; in `full` also the bins of the paper's, and both as files."""
    chosen = [next(iter(result.tables)), *([result.pictured] if full else [])] if metric is None else [metric]
    return "".join(
        _write_bin_table(f"bins-{number}" + f"-{i}" * (i > 0), name, result, key, files=full)
        for i, key in enumerate(dict.fromkeys(chosen))
    )


def _write_bin_table(number: str, name: str, result: Result, metric: str, *, files: bool) -> str:
    table = result.tables[metric]
    cells, windows = table.cells(), result.in_windows(metric)
    accepted = ["" if text == "(empty)" else text for text in table.accepted]
    sides = [
        f"{100 * (low + high):.3g} %{_point(low, high)}" if n else ""
        for low, high, n in zip(table.too_low.tolist(), table.too_high.tolist(), table.n.tolist(), strict=True)
    ]
    ratios = [
        format_span(*values) if math.isfinite(sum(values)) else ""
        for values in zip(table.ratio.tolist(), table.ratio_low.tolist(), table.ratio_high.tolist(), strict=True)
    ]
    columns = [
        Column("predictions", table.scores, text=True),
        Column("rows", cells["n"]),
        Column("said", cells["mean"]),
        Column("came", cells["rate"]),
        Column("ratio", ratios),
        Column("accepted means" if windows else "accepted", accepted),
        Column("refuted in 8 grids" if windows else "refuted", sides),
        Column("p", [_format_p(p) if p == p else "" for p in table.p_value.tolist()]),  # noqa: PLR0124
        *([Column("p adjusted", cells["p_adjusted"])] if result.adjust else []),
    ]
    level = f"{100 * (1 - result.significance):g} %"
    grids = f". {EIGHT_GRIDS}" if windows else ""
    what = f"{plural(len(table), 'bin')} of {format_name(metric)} for {name}; the ratio has its {level} interval"
    return write_table(number, what + grids, columns, table.to_csv() if files else "", sorts=True)


def _point(low: float, high: float) -> str:
    return f" {ARROWS['too low' if low > high else 'too high']}" if low != high else ""
