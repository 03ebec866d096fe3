"""Small data and first results: one number, one verdict, one segment, one command; and labels drawn for many rows.

Run by `make bench`.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from measure import Line, run, seconds, simulate

import truecal
from truecal.data import Cells
from truecal.inference import Draws, intervals, null_distribution
from truecal.metrics import METRICS, local_error

SEGMENTS, ROWS = 500, 400


def measure_numbers() -> list[Line]:
    """One number of 1,000 rows, in microseconds."""
    y, p = simulate(1000)
    tally = truecal.Tally.from_arrays(y, p)
    assert truecal.tce(y, p) == METRICS["tce"](tally)
    assert abs(truecal.ltce(y, p) - local_error(Cells.of(tally)).value) < 1e-9
    bin_of = (p * 10).astype(int)
    gaps = [abs(p[bin_of == b].sum() - y[bin_of == b].sum()) for b in range(10)]
    assert abs(truecal.ece(y, p) - sum(gaps) / 1000) < 1e-12
    lines = []
    for name, must in (("tce", 40), ("ltce", 120), ("ece", 40)):
        function = getattr(truecal, name)
        (taken,) = seconds(lambda function=function: [function(y, p) for _ in range(20)], repeats=100)
        lines.append(Line(f"{name} of 1,000 rows, microseconds", taken / 20 * 1e6, must, 25, unit=""))
    return lines


def measure_results() -> list[Line]:
    """A result of 10,000 rows, and one of 500 segments of 400 rows, in milliseconds of the processor."""
    y, p = simulate(10_000)
    assert truecal.evaluate(y, p).verdict.status != "miscalibrated"
    assert truecal.evaluate(y, p / 2).verdict.status == "miscalibrated"
    whole, *_ = seconds(lambda: truecal.evaluate(y, p), repeats=15, clock=time.process_time)
    y, p = simulate(SEGMENTS * ROWS)
    wrong = np.arange(len(y)) < 20 * ROWS  # 20 segments are miscalibrated by a factor of five
    frame = {"y": y, "p": np.where(wrong, p / 5, p), "g": np.repeat(np.arange(SEGMENTS), ROWS)}
    observations = truecal.read(frame, label="y", score="p", by="g")
    table = truecal.segments(observations)
    rejected = {name for (name,), p_value in zip(table.segment, table.p_value, strict=True) if p_value < 1e-6}
    assert len(rejected) >= 10
    assert rejected <= set(range(20))
    taken, *_ = seconds(lambda: truecal.segments(observations), repeats=5, clock=time.process_time)
    return [
        Line("evaluate with its verdict of 10,000 rows, ms", whole * 1e3, 40, 10, unit=""),
        Line("a segment of 400 rows with its verdict, ms", taken / SEGMENTS * 1e3, 1.5, 0.2, unit=""),
    ]


def measure_draws() -> list[Line]:
    """1,000 sets of labels for a million scores, in seconds of the processor."""
    y, p = simulate(1_000_000)
    tally, metrics, draws = truecal.Tally.from_arrays(y, p), {"ltce": METRICS["ltce"]}, Draws(1000, random_state=0)
    null, span = null_distribution(tally, metrics, draws)["ltce"], intervals(tally, metrics, draws)["ltce"]
    assert abs(null.mean - 5) < 0.2, "a calibrated model scores 5 % on average"
    assert span.low <= METRICS["ltce"](tally) <= span.high
    null_seconds, interval_seconds = seconds(
        lambda: null_distribution(tally, metrics, draws),
        lambda: intervals(tally, metrics, draws),
        repeats=2,
        clock=time.process_time,
    )
    return [
        Line("null distribution of ltce, 1,000 draws at 1e6 rows, CPU s", null_seconds, 1, 0.8, unit="s"),
        Line("interval of ltce, 1,000 draws at 1e6 rows, CPU s", interval_seconds, 1, 0.8, unit="s"),
    ]


def measure_segment_draws() -> list[Line]:
    """References of segments over those of the same rows alone: both draw labels in the same loop."""
    y, p = simulate(400_000)
    frame = {"y": y, "p": p, "g": np.repeat([0, 1], len(y) // 2)}
    observations = truecal.read(frame, label="y", score="p", by="g")
    seeds = Draws(199, 0).seeds(2).tolist()
    alone = [part.tally for part in observations.parts.values()]
    metrics = {"ltce": METRICS["ltce"]}

    def draw_alone() -> list[float]:
        return [
            null_distribution(tally, metrics, Draws(199, np.random.default_rng(seed)))["ltce"].p_value
            for tally, seed in zip(alone, seeds, strict=True)
        ]

    def draw_segments() -> list[float]:
        return truecal.segments(observations, null_draws=199, random_state=0).null_p.tolist()

    assert draw_alone() == draw_segments()
    taken, without, both = seconds(
        draw_alone, lambda: truecal.segments(observations), draw_segments, repeats=3, clock=time.process_time
    )
    return [Line("null draws of two segments of 2e5 rows over the same alone", (both - without) / taken, 1.3, 1.1)]


def measure_commands() -> list[Line]:
    """Whole processes beyond one of Python that does nothing."""
    y, p = simulate(1000)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "small.csv"
        path.write_text("y,p\n" + "".join(f"{a},{b:.17g}\n" for a, b in zip(y.tolist(), p.tolist(), strict=True)))
        codes = {"nothing": "pass", "bare": "import numpy, polars", "help": ["-m", "truecal", "--help"]}
        words = [str(path), "--label", "y", "--score", "p", "--json"]
        codes |= {name: ["-m", "truecal", name, *words] for name in ("evaluate", "check")}
        codes["check"].append("--allow-inconclusive")
        best = dict.fromkeys(codes, float("inf"))
        for _ in range(9):
            found = {name: run(code) for name, code in codes.items()}
            assert "truecal evaluate" in found["help"].output, "the overview names the commands"
            assert json.loads(found["evaluate"].output)["verdict"]["n"] == 1000, "the command line answers"
            assert json.loads(found["check"].output)["status"] == "pass", "and decides"
            best = {name: min(best[name], taken.seconds) for name, taken in found.items()}
    beyond = {name: taken - best["nothing"] for name, taken in best.items()}
    return [
        Line("truecal --help, s", best["help"], 0.06, 0.05, unit="s"),
        Line("truecal evaluate of 1,000 rows beyond `python -c pass`, s", beyond["evaluate"], 0.35, 0.3, unit="s"),
        Line("the same over `import numpy, polars`", beyond["evaluate"] / beyond["bare"], 1.3, 1),
        Line("truecal check of 1,000 rows beyond `python -c pass`, s", beyond["check"], 0.35, 0.25, unit="s"),
    ]


def main() -> int:
    missed = False
    for measure in (measure_numbers, measure_results, measure_draws, measure_segment_draws, measure_commands):
        for line in measure():
            print(line, flush=True)
            missed |= line.verdict() == "MISSED"
    return missed


if __name__ == "__main__":
    sys.exit(main())
