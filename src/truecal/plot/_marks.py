"""The marks, axes and panels of which a picture consists; both renderers draw them.

Positions on a logit axis are probabilities, on an axis of dates days since 1970. Texts are plain, with line breaks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from truecal.data import Floats, Ints
from truecal.plot._axis import Axis

# Okabe and Ito's colours, which colour-blind readers can distinguish; texts call vermilion orange-red
VERMILION = "#d55e00"
BLUE = "#0072b2"
SKY = "#56b4e9"
INK = "#000000"
GREY = "#9aa0a6"
DARK = "#4a5058"
PALE = "#d4d8dc"
Positions: TypeAlias = Sequence[Floats] | Floats  # the positions of several shapes, one per row


@dataclass(frozen=True, slots=True, eq=False)
class Areas:
    """Filled outlines; `width` is that of their edges."""

    x: Positions
    y: Positions
    colour: str
    label: str = ""
    alpha: float = 1.0
    width: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Bars:
    """Bars from 0 to `height` between `left` and `right`, horizontal if `flat`. `texts` are shown on hovering."""

    left: Floats
    right: Floats
    height: Floats | Ints
    colour: str
    label: str = ""
    alpha: float = 1.0
    flat: bool = False
    edge: bool = False
    texts: Sequence[str] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """Separate lines, each with a text or none."""

    x: Positions
    y: Positions
    colour: str
    label: str = ""
    alpha: float = 1.0
    width: float = 1.5
    dash: Literal["-", "--", ":"] = "-"
    texts: Sequence[str] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Markers of one kind, named as in matplotlib."""

    x: Floats
    y: Floats
    colour: str
    label: str = ""
    marker: str = "o"
    size: float = 6.0
    texts: Sequence[str] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """Hatched intervals of the x axis, over the height of the panel."""

    left: Floats
    right: Floats
    colour: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class Annotation:
    """A text at (x, y), aligned there by `align`."""

    text: str
    x: float
    y: float
    align: tuple[Literal["left", "right"], Literal["bottom", "center", "top"]]
    colour: str = DARK


Mark = Areas | Bars | Lines | Points | Spans | Annotation  # a label that begins with _ is not in the legend


@dataclass(frozen=True, slots=True)
class AxisSpec:
    """An axis of a panel.

    Without `ticks` the renderer chooses about `most` ticks. With `room`, the inches that a label takes, only ticks that
    fit are shown. An axis that is not `named` shares the tick labels of its neighbour.
    """

    limits: tuple[float, float]
    title: str = ""
    ticks: tuple[float, ...] | None = None
    labels: tuple[str, ...] = ()
    kind: Literal["linear", "logit", "date", "count"] = "linear"
    room: float = 0.0
    most: int = 5
    named: bool = True
    grid: bool = False

    @classmethod
    def of(cls, axis: Axis, title: str = "", **options: Any) -> AxisSpec:
        """Return the specification of a probability axis."""
        title += ", logit scale" * (axis.logit and bool(title))
        kind: Any = "logit" if axis.logit else "linear"
        return cls(axis.limits, title, axis.ticks, axis.labels, kind, **options)

    def fit(self, inches: float) -> tuple[list[float], list[str], bool]:
        """Return the ticks and labels that fit, always with the last, and whether labels are rotated."""
        ticks, labels = self.ticks or (), self.labels
        if not self.room:
            return list(ticks), list(labels), False
        count, most = len(ticks), max(3, int(inches / self.room))
        steps = (1, 2, 5, 10, 20, 25, 50, 100, 200, 500)
        step = next((step for step in steps if count <= step * most), count)
        shown = [i for i in range(0, count, step) if i == 0 or count - 1 - i >= 0.7 * step]
        shown += [count - 1] * (shown[-1] < count - 1)
        names = [labels[i] for i in shown]
        return [ticks[i] for i in shown], names, 0.09 * sum(map(len, names)) > inches


@dataclass(frozen=True, slots=True)
class Panel:
    """Marks on two axes. `box` is left, bottom, width and height as shares of the picture."""

    x: AxisSpec
    y: AxisSpec
    marks: tuple[Mark, ...]
    box: tuple[float, float, float, float] = (0.0, 0.0, 1.0, 1.0)
    title: str = ""
    legend: Literal["above", "beside", ""] = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """Panels, a title above them, and the size in inches.

    Hovering shows the marks at one x, or the closest mark. The `summary` is in bold above the title.
    """

    panels: tuple[Panel, ...]
    size: tuple[float, float]
    title: str = ""
    hover: Literal["x", "closest"] = "closest"
    summary: str = ""
