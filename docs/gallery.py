"""Write the gallery: `python docs/gallery.py` draws every picture and writes docs/gallery.md; a test runs it.

It also draws the pictures of other pages, from the demo's models and from the examples of docs/drift.md and
docs/tutorial.md.
"""

from __future__ import annotations

import doctest
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import truecal
from truecal import demo, words

HERE = Path(__file__).parent
ROWS = 20_000
Data = dict[str, Any]


@dataclass(frozen=True)
class Entry:
    """A picture: its data, the two lines that make it, and what a reader should see."""

    name: str
    title: str
    text: str
    data: Callable[[], Data]
    lines: tuple[str, str]


def sigmoid(z: Any) -> Any:
    """The probabilities of log-odds."""
    return 1 / (1 + np.exp(-z))


def draw(truth: Any, said: Any, seed: int = 1) -> Data:
    """Labels simulated from true probabilities, beside a model's predictions."""
    return {"y": np.random.default_rng(seed).random(len(said)) < truth, "p": said}


def odds(centre: float = -2.5, width: float = 1.3, rows: int = ROWS) -> Any:
    """Log-odds, the same at every call."""
    return np.random.default_rng(0).normal(centre, width, rows)


def tied() -> Data:
    """One of five scores is wrong."""
    said = np.random.default_rng(0).choice([0.01, 0.02, 0.05, 0.1, 0.2], ROWS)
    return draw(np.where(said == 0.05, 0.08, said), said)


def ten_models() -> Data:
    """Some calibrated, some overconfident, underconfident or shifted."""
    z = odds()
    y = np.random.default_rng(1).random(ROWS) < sigmoid(z)
    changes = ((1, 0), (1.4, 0), (1, 0.3), (0.7, 0), (1, -0.3), (1, 0.02), (2, 0), (1.02, 0), (1, 0.6), (0.99, 0))
    return {"y": y, "models": {f"model {i}": sigmoid(a * z + b) for i, (a, b) in enumerate(changes, 1)}}


def frame() -> Data:
    """Under-predicted in Italy, and from the third week on everywhere."""
    rng, z = np.random.default_rng(3), odds()
    land = rng.choice(["de", "fr", "it", "es"], ROWS)
    day = rng.integers(0, 42, ROWS)
    y = rng.random(ROWS) < sigmoid(z + 0.7 * (land == "it"))
    late = rng.random(ROWS) < sigmoid(z + 0.8 * (day >= 28))
    days = [date(2026, 1, 5) + timedelta(days=int(d)) for d in day]
    return {"frame": pl.DataFrame({"y": y, "later": late, "p": sigmoid(z), "land": land, "day": days})}


def three_classes() -> Data:
    """Overconfident in all of three classes."""
    rng = np.random.default_rng(0)
    q = rng.dirichlet([1, 2, 3], 5_000)
    y = np.array(["bird", "cat", "dog"])[(q.cumsum(axis=1) > rng.random((5_000, 1))).argmax(axis=1)]
    return {"y": y, "p": q**1.3 / np.sum(q**1.3, axis=1, keepdims=True)}


EVALUATE = "result = truecal.evaluate(y, p)"
CALIBRATION = (EVALUATE, "truecal.plot.calibration(result)")
SEGMENTS = (
    'table = truecal.segments(truecal.read(frame, label="y", score="p", by="land"))',
    "truecal.plot.segments(table)",
)
DRIFT = (
    'table = truecal.drift(truecal.read(frame, label="later", score="p", time="day", every="1w"))',
    "truecal.plot.drift(table)",
)
ENTRIES = (
    Entry(
        *("perfect", "A calibrated model", "No more is rejected than the level of the tests, and nothing is coloured."),
        *(lambda: draw(sigmoid(odds()), sigmoid(odds())), CALIBRATION),
    ),
    Entry(
        *("over-confident", "Overconfident", "Low predictions are too low, high ones too high."),
        *(lambda: draw(sigmoid(odds()), sigmoid(-2.5 + 1.5 * (odds() + 2.5))), CALIBRATION),
    ),
    Entry(
        *("prior-shift", "Prior shift", "Trained at twice the odds: the same odds ratio everywhere."),
        *(lambda: draw(sigmoid(odds()), sigmoid(odds() + np.log(2))), CALIBRATION),
    ),
    Entry(
        *("rare", "A rare event", "The axis is a logit one, and only the high predictions are miscalibrated."),
        *(lambda: draw(sigmoid(odds(-6, 1.4) + 0.6 * (odds(-6, 1.4) > -5)), sigmoid(odds(-6, 1.4))), CALIBRATION),
    ),
    Entry(
        *("sharp", "A sharp model", "Nearly all predictions are near 0 or 1, and these are overconfident."),
        *(lambda: draw(sigmoid(odds(0, 6) * 0.8), sigmoid(odds(0, 6))), CALIBRATION),
    ),
    Entry(*("ties", "Five distinct scores", "One of five scores is wrong; ties stay together."), tied, CALIBRATION),
    Entry(
        *("tiny", "Sixty rows", "Too few rows: `plot.power` shows which errors would have been detected."),
        lambda: draw(sigmoid(odds(rows=60)), sigmoid(odds(rows=60))),
        (EVALUATE, "truecal.plot.power(result)"),
    ),
    Entry(
        *("ten-models", "Ten models", "The worst first, on the same axes."),
        ten_models,
        ("results = {name: truecal.evaluate(y, p) for name, p in models.items()}", "truecal.plot.models(results)"),
    ),
    Entry("segments", "Segments", "One country of four is miscalibrated, allowing for their number.", frame, SEGMENTS),
    Entry("drift", "Weeks", "The last two weeks are miscalibrated; the weeks before are not.", frame, DRIFT),
    Entry(
        *("classes", "Several classes", "Each class against the rest."),
        three_classes,
        ('found = truecal.evaluate_classes(y, p, labels=["bird", "cat", "dog"])', "truecal.plot.classes(found.table)"),
    ),
    Entry(
        *("recalibrated", "Recalibrated", "Before and after recalibration, on held-out rows."),
        lambda: draw(sigmoid(odds()), sigmoid(odds() + np.log(2))),
        ("fitted = truecal.recalibrate(y, p)", "truecal.plot.recalibration(fitted)"),
    ),
)  # fmt: skip


def tell(names: Data) -> str:
    """What was found, in a sentence."""
    if "result" in names:
        return str(names["result"].summary)
    if "results" in names:
        statuses = [result.verdict.status for result in names["results"].values()]
        return words.count_statuses(statuses)
    if "fitted" in names:
        return str(names["fitted"].summary)
    return str((names["found"].table if "found" in names else names["table"]).summary)


def make(entry: Entry, place: Path) -> str:
    """Run the two lines of an entry, save what they draw, and return its part of the page."""
    import matplotlib.pyplot as plt

    names: Data = {"truecal": truecal, **entry.data()}
    exec("\n".join(entry.lines), names)
    figure = plt.gcf()
    figure.savefig(place, dpi=60, metadata={"Software": None})
    plt.close(figure)
    code, said = "\n".join(entry.lines), tell(names).removesuffix(".")
    return (
        f"## {entry.title}\n\n{entry.text} Result: *{said}*.\n\n```python\n{code}\n```\n\n"
        f"![{entry.title}: {said}](pictures/gallery/{place.name})\n"
    )


def write(folder: Path) -> str:
    """Draw all pictures into a folder, and return the page."""
    import matplotlib

    matplotlib.use("agg")
    folder.mkdir(parents=True, exist_ok=True)
    head = (
        "# Gallery\n\nTwelve plots of simulated data, each with the two lines that make it. `y` are labels and `p`\n"
        "predicted probabilities, or columns of `frame`. `docs/gallery.py` simulates the data, draws, and writes\n"
        "this page; [plots.md](plots.md) explains how to read them.\n"
    )
    return "\n".join([head, *(make(entry, folder / f"{entry.name}.png") for entry in ENTRIES)])


def draw_pages(folder: Path) -> dict[str, str]:
    """Draw the pictures of other pages into a folder, and return what each says; the files hold it, too."""
    import matplotlib.pyplot as plt

    label, models = demo.simulate()
    results = {
        name: truecal.evaluate(label, models[name], null_draws=200, random_state=0)
        for name in ("calibrated", "prior-shifted")
    }
    said = {}
    for name, function in (("calibration", truecal.plot.calibration), ("diagram", truecal.plot.test_reliability)):
        figure, axes = plt.subplots(1, 2, figsize=(14, 6), layout="constrained")
        for (model, result), ax in zip(results.items(), axes, strict=True):
            function(result, title=model, ax=ax)
        said[name] = "; ".join(f"{model}: {result.summary}" for model, result in results.items())
        _keep(figure, folder / f"{name}.png", said[name])
    drifted, loans = _run_until("drift.md", "found"), _run_until("tutorial.md", "result")
    truecal.plot.drift(drifted)
    said["drift"] = drifted.summary
    _keep(plt.gcf(), folder / "drift.png", said["drift"])
    truecal.plot.calibration(loans)
    said["tutorial"] = loans.summary
    _keep(plt.gcf(), folder / "tutorial.png", said["tutorial"])
    return said


def _run_until(page: str, name: str) -> Any:
    """What the examples of a page call by a name, as soon as they do."""
    code = "".join(re.findall(r"```pycon\n(.*?)```", (HERE / page).read_text(encoding="utf-8"), flags=re.DOTALL))
    names: Data = {}
    for example in doctest.DocTestParser().get_examples(code):
        exec(example.source, names)
        if name in names:
            break
    return names[name]


def _keep(figure: Any, place: Path, said: str) -> None:
    import matplotlib.pyplot as plt

    figure.savefig(place, dpi=84, metadata={"Software": None, "Description": said})
    plt.close(figure)


if __name__ == "__main__":
    draw_pages(HERE / "pictures")
    sys.exit((HERE / "gallery.md").write_text(write(HERE / "pictures" / "gallery"), encoding="utf-8") == 0)
