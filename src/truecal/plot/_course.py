"""The picture of a monitor: its evidence from window to window, and what came against what was predicted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from truecal.analysis import Monitor
from truecal.plot._pictures import (
    BLUE,
    DARK,
    GREY,
    INK,
    VERMILION,
    Lines,
    Mark,
    Note,
    Panel,
    Picture,
    Points,
    Ruler,
    fit_from_zero,
    make_time_ruler,
    place_times,
)

FLOOR = 0.01  # the smallest e-value that is shown in its place
STREAMS = 12  # besides all rows, those with the most evidence
RAISED = {"too low": (BLUE, "^"), "too high": (VERMILION, "v")}  # other directions have a diamond


def picture_monitor(monitor: Monitor, *, title: str | None = None) -> Picture:
    """Show the evidence of each stream after each window, with the level of an alarm; below, positives of all rows."""
    streams = [stream for stream in monitor.streams if stream.windows][: STREAMS + 1]
    head, *rest = monitor.sentences()
    heading = "\n".join(filter(None, [title, *rest[:1]]))
    windows = sorted({window for stream in streams for window in stream.windows})
    at = dict(zip(windows, place_times(windows, monitor.state.every)[0].tolist(), strict=True))
    level = float(np.log10(monitor.threshold))
    upper: list[Mark] = []
    top = level
    for stream in reversed(streams):
        places = np.array([at[window] for window in stream.windows])
        value = np.log10(np.maximum(stream.e_value, FLOOR))
        top = max(top, float(value.max()))
        whole, name = stream.segment is None, monitor.name(stream)
        colour = DARK if whole else GREY
        upper.append(Lines([places], [value], colour, name if whole else "segments", width=2.5 if whole else 1.2))
        if stream.alarm and stream.raised in at:
            colour, marker = RAISED.get(stream.turn or "", (INK, "D"))
            here = stream.windows.index(stream.raised)
            said = f"{name}: alarm at {stream.raised}\npredictions are {stream.turn}, likely since {stream.since}"
            spot = np.array([places[here]]), np.array([value[here]])
            upper.append(Points(*spot, colour, f"alarm: {stream.turn}", marker, 10, [said]))
    ruler = make_time_ruler(windows, monitor.state.every) if windows else Ruler((0, 1), ticks=())
    ends = np.array([ruler.limits])
    upper.append(Lines(ends, np.full((1, 2), level), INK, "_alarm", dash="--"))
    upper.append(Note(f"alarm at {monitor.threshold:g}", ruler.limits[0], level, ("left", "bottom"), INK))
    lowest = int(np.log10(FLOOR))
    ticks = tuple(float(tick) for tick in range(lowest, int(np.ceil(top)) + 1, max(1, -(-int(top - lowest) // 6))))
    y = Ruler((ticks[0], max(top, level) + 0.4), "e-value", ticks, tuple(f"{10**tick:g}" for tick in ticks), grid=True)
    lower: list[Mark] = []
    reach = [np.zeros(1)]
    for stream in streams:
        if stream.segment is None:
            places = np.array([at[window] for window in stream.windows])
            texts = [
                f"{window}: {k:,} came, {e:.4g} expected, of {n:,} rows"
                for window, k, e, n in zip(stream.windows, stream.observed, stream.expected, stream.n, strict=True)
            ]
            lower.append(Lines([places], [stream.expected], GREY, "expected", width=2))
            lower.append(Points(places, stream.observed.astype(np.float64), DARK, "observed", "o", 4, texts))
            reach += [stream.expected, stream.observed.astype(np.float64)]
    positives = Ruler(fit_from_zero(*reach), "positives", grid=True)
    panels = (
        Panel(replace(ruler, named=False), y, tuple(upper), (0, 0.46, 1, 0.54), legend="above"),
        Panel(ruler, positives, tuple(lower), (0, 0, 1, 0.3), legend="above"),
    )
    return Picture(panels, (9, 5.6), heading, finding=head.rstrip("."))
