"""Draw plots with matplotlib: the public functions, and how each mark is drawn.

A plot of several panels is drawn inside the given axes, whose own frame is hidden. The user's rcParams are never
changed.
"""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from textwrap import wrap
from typing import Any, NamedTuple

import numpy as np

from truecal._atomic import write_atomically
from truecal._errors import option
from truecal._options import DrawOptions, Scale, Style, declare
from truecal._text import escape_html, printable_lines
from truecal.analysis import Monitor
from truecal.data import Floats
from truecal.plot._kinds import make_picture
from truecal.plot._marks import DARK, Annotation, AxisSpec, Bars, Lines, Mark, Panel, Picture, Points, Spans
from truecal.plot._style import apply_style, find_fonts
from truecal.results import ClassTable, Comparison, DriftTable, GroupTable, Recalibration, Result, SliceTable


class DiagramAxes(NamedTuple):
    """The axes of a diagram: the diagram itself, the sizes of bins below it, all predictions to its right.

    Examples
    --------
    >>> from truecal.plot import DiagramAxes
    >>> DiagramAxes._fields
    ('main', 'sizes', 'histogram')
    """

    main: Any
    sizes: Any
    histogram: Any


class ReliabilityAxes(NamedTuple):
    """The axes of a reliability diagram: rates, and below them the number of predictions.

    Examples
    --------
    >>> from truecal.plot import ReliabilityAxes
    >>> ReliabilityAxes._fields
    ('main', 'rows')
    """

    main: Any
    rows: Any


class MonitorAxes(NamedTuple):
    """The axes of the plot of a monitor: the evidence, and below it positives.

    Examples
    --------
    >>> from truecal.plot import MonitorAxes
    >>> MonitorAxes._fields
    ('evidence', 'positives')
    """

    evidence: Any
    positives: Any


class RecalibrationAxes(NamedTuple):
    """The axes of the plot of a recalibration: observed against predicted before and after.

    Examples
    --------
    >>> from truecal.plot import RecalibrationAxes
    >>> RecalibrationAxes._fields
    ('before', 'after')
    """

    before: Any
    after: Any


class DriftAxes(NamedTuple):
    """The axes of a drift plot: observed over expected, and the base rate.

    Examples
    --------
    >>> from truecal.plot import DriftAxes
    >>> DriftAxes._fields
    ('ratio', 'prevalence')
    """

    ratio: Any
    prevalence: Any


class CalibrationAxes(NamedTuple):
    """The axes of the calibration diagram: observed against predicted, and the number of predictions.

    Examples
    --------
    >>> from truecal.plot import CalibrationAxes
    >>> CalibrationAxes._fields
    ('odds_ratio', 'rows')
    """

    odds_ratio: Any
    rows: Any


@declare(first=(DrawOptions,))
def calibration(
    result: Result,
    metric: str | None = None,
    *,
    scale: Scale | None = None,
    title: str | None = None,
    ax: Any = None,
) -> CalibrationAxes:
    """Draw where and how far a model is miscalibrated, with confidence intervals.

    Above, the odds ratio of observed to predicted in each score window: a line, with its confidence interval as a box.
    At 1 the observed rate equals the mean prediction. Below, the number of predictions, and how many of them are
    rejected; the black line is the number rejected on average if the model is calibrated. Blue is too low, orange-red
    too high, and only a miscalibrated model has these colours.

    Parameters
    ----------
    result : Result
        What `evaluate` returned.

    Examples
    --------
    >>> import truecal
    >>> result = truecal.evaluate([0, 1, 1, 0], [0.1, 0.7, 0.9, 0.3])
    >>> axes = truecal.plot.calibration(result)
    """
    return CalibrationAxes(*draw(make_picture("calibration", result, metric, scale=scale, title=title), ax))


@declare(first=(DrawOptions,))
def test_reliability(
    result: Result,
    metric: str | None = None,
    *,
    style: Style = "verdict",
    scale: Scale | None = None,
    title: str | None = None,
    ax: Any = None,
) -> DiagramAxes:
    """Draw the test-based reliability diagram of a metric's bins.

    Each bin has a violin of its predictions, its observed rate as a line, and a band of the predictions that the test
    accepts: predictions outside the band are rejected. Below are the sizes of bins, with the rejected predictions in
    front; to the right all predictions.

    Parameters
    ----------
    result : Result
        What `evaluate` returned.

    Examples
    --------
    >>> import truecal
    >>> result = truecal.evaluate([0, 1, 1, 0], [0.1, 0.7, 0.9, 0.3])
    >>> axes = truecal.plot.test_reliability(result, style="paper")
    """
    picture = make_picture("test_reliability", result, metric, style=style, scale=scale, title=title)
    return DiagramAxes(*draw(picture, ax))


test_reliability.__test__ = False  # type: ignore[attr-defined]  # pytest would collect it from a user's import


@declare(first=(DrawOptions,))
def reliability(
    result: Result,
    metric: str | None = None,
    *,
    scale: Scale | None = None,
    title: str | None = None,
    ax: Any = None,
) -> ReliabilityAxes:
    """Draw the reliability diagram: observed rates against predictions.

    The line is the isotonic (CORP) curve. If the result was evaluated with `null_draws`, the grey band holds 95% of
    the curves of a calibrated model at each prediction. Dots are the rates of a metric's bins with exact
    (Clopper-Pearson) intervals: by default bins of equal width ("ece"). If half of the predictions lie below 0.05 or
    above 0.95, bins have equal size ("ace") and the axes are logit ones. Empty bins are not drawn.

    Parameters
    ----------
    result : Result
        What `evaluate` returned.

    Examples
    --------
    >>> import truecal
    >>> result = truecal.evaluate([0, 1] * 100, [0.2] * 100 + [0.3] * 100, null_draws=100, random_state=0)
    >>> axes = truecal.plot.reliability(result)
    """
    return ReliabilityAxes(*draw(make_picture("reliability", result, metric, scale=scale, title=title), ax))


@declare(first=(DrawOptions,))
def models(
    results: Mapping[str, Result], metric: str | None = None, *, scale: Scale | None = None, ax: Any = None
) -> list[Any]:
    """Draw observed against predicted for several models, as `calibration` shows it, on the same axes; the worst first.

    Parameters
    ----------
    results : mapping
        Results of `evaluate` by the names of models.

    Examples
    --------
    >>> import truecal
    >>> y = [0, 1] * 100
    >>> results = {"old": truecal.evaluate(y, [0.2] * 100 + [0.3] * 100), "new": truecal.evaluate(y, [0.5] * 200)}
    >>> axes = truecal.plot.models(results)
    """
    return draw(make_picture("models", results, metric, scale=scale), ax)


@declare(first=(DrawOptions,))
def metrics(results: Mapping[str, Result], metrics: Iterable[str] | None = None, *, ax: Any = None) -> list[Any]:
    """Draw the metrics of models, with confidence intervals as lines and the mean if calibrated as grey bars.

    Values are marked by the model's verdict. Rejected shares, gaps and largest gaps have a panel each; of several
    models the worst is the first row of each metric.

    Parameters
    ----------
    results : mapping
        Results of `evaluate` by the names of models.

    Examples
    --------
    >>> import truecal
    >>> y = [0, 1] * 100
    >>> results = {"old": truecal.evaluate(y, [0.2] * 100 + [0.3] * 100), "new": truecal.evaluate(y, [0.5] * 200)}
    >>> axes = truecal.plot.metrics(results, ["ltce", "ece"])
    """
    return draw(make_picture("metrics", results, metrics), ax)


@declare(first=(DrawOptions,))
def comparison(table: Comparison, *, title: str | None = None, ax: Any = None) -> list[Any]:
    """Draw the differences of two models with their confidence intervals, in a panel for each unit.

    Diamonds are significant differences.

    Parameters
    ----------
    table : Comparison
        What `compare` returned.

    Examples
    --------
    >>> import truecal
    >>> table = truecal.compare([0, 1] * 100, [0.2] * 100 + [0.3] * 100, [0.5] * 200, ["log_loss", "brier"])
    >>> axes = truecal.plot.comparison(table)
    """
    return draw(make_picture("comparison", table, title=title), ax)


@declare(first=(DrawOptions,))
def segments(table: GroupTable, *, worst: int = 20, ax: Any = None) -> Any:
    """Draw observed over expected positives of the segments with the smallest p-values, the smallest first.

    Lines are confidence intervals, simultaneous over all segments. Triangles are segments whose predictions are too low
    (blue, up) or too high (orange-red, down); grey crosses are inconclusive.

    Parameters
    ----------
    table : GroupTable
        What `segments` returned.

    Examples
    --------
    >>> import truecal
    >>> columns = {"y": [0, 1] * 200, "p": [0.5] * 300 + [0.3] * 100, "country": ["de"] * 300 + ["fr"] * 100}
    >>> table = truecal.segments(truecal.read(columns, label="y", score="p", by="country"))
    >>> axes = truecal.plot.segments(table)
    """
    return draw(make_picture("segments", table, worst=worst), ax)[0]


@declare(first=(DrawOptions,))
def slices(table: SliceTable, *, worst: int = 20, title: str | None = None, ax: Any = None) -> Any:
    """Draw observed over expected of miscalibrated slices with intervals, the largest loss first.

    Predictions of blue triangles (up) are too low, those of orange-red ones (down) too high.

    Parameters
    ----------
    table : SliceTable
        What `slices` returned.

    Examples
    --------
    >>> import truecal
    >>> columns = {"y": [0, 1] * 200, "p": [0.5] * 200 + [0.2] * 200, "country": ["de"] * 200 + ["fr"] * 200}
    >>> table = truecal.slices(columns, label="y", score="p")
    >>> axes = truecal.plot.slices(table)
    """
    return draw(make_picture("slices", table, worst=worst, title=title), ax)[0]


@declare(first=(DrawOptions,))
def classes(table: ClassTable, *, worst: int = 20, title: str | None = None, ax: Any = None) -> Any:
    """Draw each class against the rest, the smallest p-values first: observed over expected with intervals.

    Parameters
    ----------
    table : ClassTable
        The table of what `evaluate_classes` returned.

    Examples
    --------
    >>> import truecal
    >>> y, p = ["cat", "dog", "bird"] * 50, [[0.5, 0.3, 0.2], [0.2, 0.7, 0.1], [0.3, 0.3, 0.4]] * 50
    >>> results = truecal.evaluate_classes(y, p, labels=["cat", "dog", "bird"])
    >>> axes = truecal.plot.classes(results.table)
    """
    return draw(make_picture("classes", table, worst=worst, title=title), ax)[0]


@declare(first=(DrawOptions,))
def monitor(monitor: Monitor, *, title: str | None = None, ax: Any = None) -> MonitorAxes:
    """Draw the e-value of a monitor after each period, with the alarm threshold; below, positives.

    The dark line is that of all rows, pale ones are those of segments. Positives are observed and expected ones.

    Parameters
    ----------
    monitor : Monitor
        The monitor.

    Examples
    --------
    >>> import truecal
    >>> monitor = truecal.Monitor()
    >>> for day in range(3):
    ...     update = monitor.update([0, 1] * 100, [0.45] * 200)
    >>> axes = truecal.plot.monitor(monitor)
    """
    return MonitorAxes(*draw(make_picture("monitor", monitor, title=title), ax))


@declare(first=(DrawOptions,))
def recalibration(
    recalibration: Recalibration, *, scale: Scale | None = None, title: str | None = None, ax: Any = None
) -> RecalibrationAxes:
    """Draw held-out rows before and after recalibration: the odds ratio of each score window, on the same axes.

    Parameters
    ----------
    recalibration : Recalibration
        What `recalibrate` returned.

    Examples
    --------
    >>> import truecal
    >>> recalibration = truecal.recalibrate([0, 1] * 200, [0.2] * 200 + [0.3] * 200)
    >>> axes = truecal.plot.recalibration(recalibration)
    """
    return RecalibrationAxes(*draw(make_picture("recalibration", recalibration, scale=scale, title=title), ax))


@declare(first=(DrawOptions,))
def power(
    result: Result,
    metric: str | None = None,
    *,
    scale: Scale | None = None,
    title: str | None = None,
    ax: Any = None,
) -> CalibrationAxes:
    """Draw the minimum detectable odds ratios.

    In each score window alone they lie beyond the grey band, in a fifth of the information beyond the thin lines, and
    on all predictions beyond the thick lines.

    Parameters
    ----------
    result : Result
        What `evaluate` returned.

    Examples
    --------
    >>> import truecal
    >>> axes = truecal.plot.power(truecal.evaluate([0, 1] * 20, [0.5] * 40))
    """
    return CalibrationAxes(*draw(make_picture("power", result, metric, scale=scale, title=title), ax))


@declare(first=(DrawOptions,))
def binnings(
    result: Result,
    metrics: Iterable[str] | None = None,
    *,
    scale: Scale | None = None,
    title: str | None = None,
    ax: Any = None,
) -> list[Any]:
    """Draw the binnings of a result one below the other, as `calibration` shows bins, on the same axes.

    All predictions are below. A bin is coloured if the model is miscalibrated and the confidence interval of its rate
    does not contain its mean prediction.

    Parameters
    ----------
    result : Result
        What `evaluate` returned.

    Examples
    --------
    >>> import truecal
    >>> result = truecal.evaluate([0, 1] * 100, [0.2] * 100 + [0.3] * 100)
    >>> axes = truecal.plot.binnings(result, ["tce", "ece"])
    """
    return draw(make_picture("binnings", result, metrics, scale=scale, title=title), ax)


@declare(first=(DrawOptions,))
def drift(table: DriftTable, *, title: str | None = None, ax: Any = None) -> DriftAxes:
    """Draw observed over expected positives of each period, with simultaneous intervals; below, the base rate.

    Periods are marked as segments are. The baseline is shaded. Below, base rates are shown with mean predictions;
    diamonds are periods whose base rate differs from the baseline's. Labels of hatched periods are incomplete.

    Parameters
    ----------
    table : DriftTable
        What `drift` returned.

    Examples
    --------
    >>> import numpy as np, truecal
    >>> day = np.datetime64("2026-01-05") + np.repeat(np.arange(28), 20)
    >>> columns = {"y": [0, 1] * 280, "p": [0.5] * 560, "day": day}
    >>> table = truecal.drift(truecal.read(columns, label="y", score="p", time="day", every="1w"))
    >>> axes = truecal.plot.drift(table)
    """
    return DriftAxes(*draw(make_picture("drift", table, title=title), ax))


def save(path: str | os.PathLike[str], kind: str, *data: Any, dpi: float = 150, **options: Any) -> Path:
    """Draw a plot into a file, atomically; the suffix determines the format. No window is opened.

    Parameters
    ----------
    path : path
        The file to write; an existing one is replaced when the new one is complete.
    kind : str
        The name of a function of this module, such as "test_reliability".
    data, options
        What is passed on to that function; `ax` is not.
    dpi : float
        Dots per inch, for formats of pixels.

    Examples
    --------
    >>> import truecal
    >>> result = truecal.evaluate([0, 1, 1, 0], [0.1, 0.7, 0.9, 0.3])
    >>> truecal.plot.save("diagram.png", "test_reliability", result, scale="logit").name
    'diagram.png'
    """
    target = Path(path)
    formats = _load("matplotlib.backend_bases").FigureCanvasBase.get_supported_filetypes()
    if target.suffix[1:].lower() not in formats:
        raise ValueError(f"{option('path')} must end in .{', .'.join(formats)}; it is {os.fspath(path)!r}.")
    picture = make_picture(kind, *data, **options)
    with write_atomically(target) as draft:
        try:
            _draw_detached(picture).savefig(draft, format=target.suffix[1:].lower(), dpi=dpi)
        except (RuntimeError, OSError) as error:  # libraries of matplotlib report a lack of memory in several ways
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise OSError(
                f"{os.fspath(path)!r} must be drawn whole; matplotlib could not: {error}.\n\n"
                "Hint: memory may have run out."
            ) from error
    return target


def draw_inline(kind: str, data: Any, label: str) -> str:
    """Return a plot as an HTML image for notebooks; "" without matplotlib.

    It is dark on white in every notebook theme; `label` describes it for screen readers.
    """
    try:
        picture = make_picture(kind, data)
        size = 8 * picture.size[0] / max(8.0, picture.size[0]), picture.size[1] * 8 / max(8.0, picture.size[0])
        figure = _draw_detached(picture, size)
    except ImportError:
        return ""
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=80)
    image = base64.b64encode(stream.getvalue()).decode()
    return f'<img style="max-width:100%" alt="{escape_html(label)}" src="data:image/png;base64,{image}">'


def draw(picture: Picture, ax: Any = None) -> list[Any]:
    """Draw a plot, and return the axes of its panels."""
    _load("matplotlib")
    with apply_style():
        return _draw(picture, ax)


def _draw(picture: Picture, ax: Any) -> list[Any]:
    """Draw the panels into axes, new ones if None, and link the axes that share tick labels."""
    if ax is None:
        ax = _load("matplotlib.pyplot").subplots(figsize=picture.size, layout="constrained")[1]
    if len(picture.panels) > 1:
        ax.set_axis_off()
    # an estimate, since the layout is not known yet: the share of the figure, without the labels
    inches = ax.get_figure(root=True).get_size_inches()[0] * ax.get_position().width / 0.775 - 0.9
    axes = []
    for i, panel in enumerate(picture.panels):
        part = ax if len(picture.panels) == 1 else ax.inset_axes(panel.box)
        axes.append(part)
        _draw_panel(part, panel, inches * panel.box[2], picture if i == 0 else None)
    for part, panel in zip(axes, picture.panels, strict=True):
        for name, spec, side in (("x", panel.x, "bottom"), ("y", panel.y, "left")):
            if not spec.named:
                mate = next(j for j, other in enumerate(picture.panels) if _is_mate(panel, other, name))
                getattr(part, f"share{name}")(axes[mate])
                part.tick_params(axis=name, **{f"label{side}": False})
                getattr(part, f"{name}axis").get_offset_text().set_visible(False)
    return axes


def _draw_detached(picture: Picture, size: tuple[float, float] | None = None) -> Any:
    """Draw a plot into a figure without a window, and return the figure."""
    _load("matplotlib")
    with apply_style():
        figure = _load("matplotlib.figure").Figure(figsize=size or picture.size, layout="constrained")
        _draw(picture, figure.subplots())
    return figure


def _load(module: str) -> Any:
    """Import a module of matplotlib, or raise an error that says how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError("Diagrams need matplotlib: pip install 'truecal[plot]'") from error


def _is_mate(panel: Panel, other: Panel, name: str) -> bool:
    """Whether `other` has the tick labels of a panel's axis: it is in the same column or row."""
    i = "xy".index(name)
    spec: AxisSpec = getattr(other, name)
    return spec.named and (panel.box[i], panel.box[i + 2]) == (other.box[i], other.box[i + 2])


def _draw_panel(part: Any, panel: Panel, inches: float, picture: Picture | None) -> None:
    """Draw a panel, and above the first one the plot's title and summary."""
    _set_axis(part, "x", panel.x, inches)
    _set_axis(part, "y", panel.y, inches)
    shown = [_draw_mark(part, mark, panel.x, i) for i, mark in enumerate(panel.marks)]
    part.spines[["top", "right"]].set_visible(False)
    labels = {artist.get_label(): artist for artist in shown if artist and artist.get_label()[:1] not in ("", "_")}
    lines = 0
    if panel.legend and labels:
        style = {"frameon": False, "fontsize": "small", "borderpad": 0}
        if panel.legend == "above":
            columns = 4 if len(labels) == 4 and inches > 7 else 3 if inches > 4 else 2
            lines = -(-len(labels) // columns)
            part.legend(labels.values(), labels, loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, **style)
        else:
            part.legend(labels.values(), labels, loc="upper left", bbox_to_anchor=(1, 0.8), handlelength=1, **style)
    words = "\n".join(filter(None, ["" if picture is None else picture.title, panel.title]))
    words = "\n".join(_break_title(line, inches) for line in words.splitlines())
    pad = 6 + 16 * lines
    if words:
        part.set_title(_escape(words), loc="left", fontsize="medium", pad=pad)
    if picture is not None and picture.summary:
        above = pad + 14 * len(words.splitlines()) + 4
        look: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "weight": "bold"}
        words = "\n".join(wrap(picture.summary, max(30, int(9.5 * inches))))
        part.annotate(_escape(words), (0, 1), (0, above), fontsize="large", fontfamily=find_fonts(bold=True), **look)


def _break_title(line: str, inches: float) -> str:
    """Break a line of a title between its items, which three spaces separate, if it is wider than the panel."""
    lines = [""]
    for part in line.split("   "):
        wide = f"{lines[-1]}   {part}" if lines[-1] else part
        if len(wide) > 13 * inches and lines[-1]:
            lines.append(part)
        else:
            lines[-1] = wide
    return "\n".join(short for text in lines for short in wrap(text, max(30, int(15 * inches))))


def _set_axis(part: Any, name: str, spec: AxisSpec, inches: float) -> None:
    """Set scale, limits, ticks and title of an axis."""
    ticker, line = _load("matplotlib.ticker"), getattr(part, f"{name}axis")
    if spec.kind == "logit":
        part.set(**{f"{name}scale": "logit"})
    part.set(**{f"{name}lim": _to_positions(spec, np.array(spec.limits))})
    if spec.ticks is not None:
        ticks, labels, turned = spec.fit(inches)
        line.set_major_locator(ticker.FixedLocator(_to_positions(spec, np.array(ticks))))
        line.set_major_formatter(ticker.FixedFormatter([_escape(label) for label in labels]))
        line.set_minor_locator(ticker.NullLocator())
        part.tick_params(axis=name, labelrotation=90 * turned, labelsize="small" if spec.room else None)
        for label in line.get_ticklabels():
            label.set_fontfamily(find_fonts())
    elif spec.kind == "date":
        dates = _load("matplotlib.dates")
        locator = dates.AutoDateLocator(minticks=3, maxticks=9)
        line.set_major_locator(locator)
        zeros = ["", "%b\n%Y", "%b", "%b-%d", "%H:%M", "%H:%M"]  # the first month of a year is one, too
        line.set_major_formatter(dates.ConciseDateFormatter(locator, zero_formats=zeros))
    elif spec.kind == "count":
        line.set_major_locator(ticker.MaxNLocator(spec.most, integer=True, prune="lower" if spec.most == 1 else None))
        line.set_major_formatter(ticker.FuncFormatter(_format_tick))
    if spec.grid:
        part.grid(axis=name, alpha=0.3)
    line.set_label_text(_escape(spec.title), fontsize="small" if spec.most == 1 else None)


def _draw_mark(part: Any, mark: Mark, x: AxisSpec, order: int) -> Any:
    """Draw a mark over those before it, and return its artist."""
    if isinstance(mark, Annotation):
        across, up = mark.align
        shift = {"left": 4, "right": -4}[across], {"bottom": 3, "center": 0, "top": -3}[up]
        at: dict[str, Any] = {"textcoords": "offset points", "ha": across, "va": up, "fontsize": "small"}
        halo = _load("matplotlib.patheffects").withStroke(linewidth=2.5, foreground="white")  # over boxes, too
        at["path_effects"] = [halo]
        return part.annotate(_escape(mark.text), (mark.x, mark.y), shift, zorder=9, color=mark.colour, **at)
    style: dict[str, Any] = {"label": _escape(mark.label), "zorder": 2 + 0.01 * order}
    if isinstance(mark, Points):
        style |= {"color": mark.colour, "marker": mark.marker, "markersize": mark.size, "linestyle": "none"}
        style |= {"markeredgewidth": 1.8} if mark.marker == "x" else {}
        return part.plot(_to_positions(x, mark.x), mark.y, **style)[0]
    if isinstance(mark, Spans):
        fill = {"facecolor": mark.colour, "edgecolor": DARK, "alpha": 0.25, "hatch": "///", "linewidth": 0}
        style["zorder"] = 1
        for i, ends in enumerate(zip(_to_positions(x, mark.left), _to_positions(x, mark.right), strict=True)):
            span = part.axvspan(*ends, **fill, **style | ({"label": "_"} if i else {}))
        return next(patch for patch in part.patches if patch.get_label() == style["label"]) if mark.label else span
    collections = _load("matplotlib.collections")
    if isinstance(mark, Lines):
        rows = [np.stack([_to_positions(x, a), b], 1) for a, b in zip(mark.x, mark.y, strict=True)]
        look = {"colors": mark.colour, "alpha": mark.alpha, "linewidths": mark.width, "linestyles": mark.dash}
        return part.add_collection(collections.LineCollection(rows, **look, **style), autolim=False)
    if isinstance(mark, Bars):
        rows = list(_outline_bars(mark))
        edge: dict[str, Any] = {"edgecolor": "white", "linewidth": 0.5}
        edge = edge if mark.edge else {"linewidth": 0, "antialiased": False}  # without seams between bars
    else:
        rows = [np.stack([_to_positions(x, a), b], 1) for a, b in zip(mark.x, mark.y, strict=True)]
        edge = {"edgecolor": mark.colour if mark.width else "none", "linewidth": mark.width}
    shapes = collections.PolyCollection(rows, facecolor=mark.colour, alpha=mark.alpha, **edge, **style)
    return part.add_collection(shapes, autolim=False)


def _outline_bars(mark: Bars) -> Floats:
    """Return the corners of bars, of shape (bars, 4, 2)."""
    nothing = np.zeros(len(mark.height))
    along = np.stack([mark.left, mark.right, mark.right, mark.left], 1)
    up = np.stack([nothing, nothing, mark.height, mark.height], 1)
    return np.stack([up, along] if mark.flat else [along, up], 2)


def _to_positions(spec: AxisSpec, values: Floats) -> Floats:
    """Convert values to positions on an axis; dates to matplotlib's days, whose epoch is a setting."""
    if spec.kind != "date":
        return values
    return np.asarray(values + _load("matplotlib.dates").date2num(np.datetime64("1970-01-01")))


def _escape(text: str) -> str:
    """Escape dollar signs, which would begin a formula, and what SVG forbids."""
    return printable_lines(text).replace("$", r"\$")


def _format_tick(n: float, _: int = 0) -> str:
    """Format a number of predictions for a tick."""
    if n >= 1e6:
        return f"{n / 1e6:g}M"
    return f"{n / 1e3:g}k" if n >= 1e4 else f"{n:,.0f}"
