"""Plots of metrics: values of models with their means if calibrated, and differences of two models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from truecal._errors import option
from truecal._text import shorten, shorten_all
from truecal.data import Floats
from truecal.metrics import Direction, Mean, Metric, PNorm, format_name
from truecal.plot._marks import DARK, GREY, INK, Annotation, AxisSpec, Bars, Lines, Mark, Panel, Picture, Points
from truecal.plot._pictures import check_models, fit_from_zero
from truecal.plot._ratios import LONGEST_NAME, SIDE_MARKERS, name_side
from truecal.results import Comparison, Result, rank_models
from truecal.verdict import Status
from truecal.words import format_interval, label_result, summarize_models

ROW = 0.24  # inches of a row, enough for its label


def picture_metrics(results: Mapping[str, Result], metrics: Iterable[str] | None = None) -> Picture:
    """Show the metrics of models, with a panel for each unit: values, intervals, and means if calibrated.

    With several models, each metric has a row for each model, the worst first.
    """
    named = check_models(results)
    first = next(iter(named.values()))
    names = list(first.tables) if metrics is None else list(metrics)
    for model, result in named.items():
        unknown = [name for name in names if name not in result.values]
        if unknown:
            raise ValueError(
                f"{option('metrics')} must be in every result; {unknown[0]!r} is not in that of {model!r}."
            )
    groups = group_metrics(first, names)
    rows = ROW * (len(named) + (len(named) > 1))  # inches per metric
    inches = [rows * len(group) + 0.6 for group in groups.values()]
    panels: list[Panel] = []
    top = 1.0
    for (kind, group), high in zip(groups.items(), inches, strict=True):
        box = (0.0, top - (high - 0.6) / sum(inches), 1.0, (high - 0.6) / sum(inches))
        top -= high / sum(inches)
        panels.append(replace(_make_metric_panel(named, group, kind), box=box, legend="" if panels else "above"))
    summary = label_result(first) if len(named) == 1 else summarize_models(named).rstrip(".")
    return Picture(tuple(panels), (8, 1.0 + sum(inches)), summary=summary)


def _make_metric_panel(named: Mapping[str, Result], names: list[str], kind: str) -> Panel:
    """Show the metrics of one unit."""
    order, several = rank_models(named), len(named) > 1
    rows: list[tuple[str, str, str]] = []  # the label of each row, its metric and its model; a heading has none
    for name in names:
        rows += [(f"{format_name(name)}:", name, "")] if several else []
        labels = shorten_all(order, LONGEST_NAME) if several else [format_name(name)]
        rows += [(label, name, model) for label, model in zip(labels, order, strict=True)]
    filled = [(float(i), name, model, named[model]) for i, (_, name, model) in enumerate(rows) if model]
    drawn = [(y, result.nulls[name].mean) for y, name, _, result in filled if name in result.nulls]
    spans = [(y, result.intervals[name]) for y, name, _, result in filled if name in result.intervals]
    at, means = np.array(drawn).reshape(-1, 2).T
    ends = np.array([[span.low, span.high] for _, span in spans]).reshape(-1, 2)
    level = np.array([[y, y] for y, _ in spans]).reshape(-1, 2)
    marks: list[Mark] = [Bars(at - 0.36, at + 0.36, means, GREY, "mean if calibrated" if drawn else "", 0.5, flat=True)]
    marks.append(Lines(ends, level, DARK, "_interval"))
    reach: list[Floats] = [means, ends]
    for side, (colour, marker) in {**SIDE_MARKERS, "no verdict": (GREY, "s")}.items():
        shown = [(y, name, model, result) for y, name, model, result in filled if _name_model_side(result) == side]
        if shown:
            values = np.array([result.values[name] for _, name, _, result in shown])
            texts = [f"{model}\n" + "\n".join(_describe_value(result, name)) for _, name, model, result in shown]
            marks.append(Points(values, np.array([y for y, _, _, _ in shown]), colour, side, marker, 7, texts))
            reach.append(values)
    ticks = tuple(map(float, range(len(rows))))
    y = AxisSpec((len(rows) - 0.4, -0.6), "", ticks, tuple(label for label, _, _ in rows))
    return Panel(AxisSpec(fit_from_zero(*reach), kind, grid=True), y, tuple(marks))


def _name_model_side(result: Result) -> str:
    """Return the direction of a miscalibrated model, or its status."""
    verdict = result.verdict
    if verdict is None:
        return "no verdict"
    miscalibrated = verdict.status == Status.MISCALIBRATED
    return name_side(verdict.status, verdict.direction or Direction.UNCLEAR if miscalibrated else None)


def _describe_value(result: Result, name: str) -> list[str]:
    """Describe the value of a metric, for hovering."""
    metric, lines = result.metrics[name], [f"{format_name(name)} {result.format(name)}"]
    if name in result.nulls:
        lines.append(f"{metric.format(result.nulls[name].mean)} if calibrated")
    if name in result.intervals:
        lines.append(format_interval(result, name))
    return lines


def picture_comparison(table: Comparison, *, title: str | None = None) -> Picture:
    """Show the differences of two models with confidence intervals, a panel for each unit, and which is better."""
    groups: dict[str, list[int]] = {}
    for i, name in enumerate(table.metric):
        groups.setdefault(table.metrics[name].axis, []).append(i)
    inches = [ROW * len(group) + 0.75 for group in groups.values()]
    panels: list[Panel] = []
    top = 1.0
    for (unit, group), high in zip(groups.items(), inches, strict=True):
        box = (0.0, top - (high - 0.75) / sum(inches), 1.0, (high - 0.75) / sum(inches))
        top -= high / sum(inches)
        panels.append(replace(_make_difference_panel(table, group, unit), box=box, legend="" if panels else "above"))
    head, *rest = table.sentences()
    lines = "\n".join(filter(None, [title, *rest[:2]]))
    return Picture(tuple(panels), (8, 1.6 + sum(inches)), lines, summary=shorten(head.rstrip("."), 90))


def _make_difference_panel(table: Comparison, group: list[int], unit: str) -> Panel:
    """Show the differences of metrics of one unit, and the better model if there is one."""
    ends = np.stack([table.low[group], table.high[group]], 1)
    known = np.append(ends, table.difference[group])
    reach = 1.15 * float(np.abs([*known[np.isfinite(known)], 1e-9]).max())
    rows = np.arange(0.0, len(group))
    better = [table.find_better(table.metric[i]) for i in group]
    marks: list[Mark] = [
        Lines(np.zeros((1, 2)), np.array([[-0.6, len(group) - 0.4]]), INK, "_no difference", width=1.2),
    ]
    spans = np.isfinite(ends).all(axis=1)
    if spans.any():
        marks.append(Lines(ends[spans], np.stack([rows, rows], 1)[spans], DARK, "_interval", width=2.5))
    cells = table.cells(rows=group)
    drawn = np.isfinite(table.difference[group])
    for row in np.flatnonzero(~drawn).tolist():
        marks.append(Annotation(cells["difference"][row], 0.0, float(row), ("left", "center"), INK))
    for label, marker, chosen in (
        ("no difference shown", "o", [model is None for model in better]),
        ("difference shown", "D", [model is not None for model in better]),
    ):
        at = np.flatnonzero(drawn & chosen)
        if len(at):
            texts = [
                f"{cells['metric'][i]}: {cells['first'][i]} and {cells['second'][i]}\n{cells['difference'][i]} "
                f"({cells['interval'][i]})\n{cells['conclusion'][i]}"
                for i in at
            ]
            marks.append(Points(table.difference[group][at], rows[at], DARK, label, marker, 7, texts))
    for row, name in enumerate(better):
        if name is not None:
            marks.append(
                Annotation(
                    f"{shorten(name, LONGEST_NAME)} is better", 1.55 * reach, float(row), ("right", "center"), INK
                )
            )
    names = tuple(format_name(table.metric[i]) for i in group)
    y = AxisSpec((len(group) - 0.4, -0.6), "", tuple(rows.tolist()), names)
    first, second = (shorten(name, 24) for name in table.models)
    return Panel(AxisSpec((-reach, 1.6 * reach), f"{first} minus {second}: {unit}", grid=True), y, tuple(marks))


def group_metrics(result: Result, names: Iterable[str]) -> dict[str, list[str]]:
    """Group metrics by the unit of their values; each unit needs its own axis."""
    groups: dict[str, list[str]] = {}
    for name in names:
        metric = result.metrics[name]
        # a root mean square is an average too
        if isinstance(metric, Metric) and isinstance(metric.norm, PNorm):
            metric = replace(metric, norm=Mean())
        groups.setdefault(metric.axis, []).append(name)
    return groups
