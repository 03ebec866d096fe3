"""Drawing many rows over drawing ten thousand, side by side; each result is asserted. Run by `make bench`.

Pictures are made from what a `Result` holds, so the time follows the bins, not the rows: both have about as many here.
"""

from __future__ import annotations

import html
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from measure import Line, seconds, simulate

import truecal
from truecal import BoundedIsotonic, Result, Tally, words

BINS = BoundedIsotonic(0.05, 0.2)  # the paper's sizes: large data have no more bins than small
METRICS = ["tce", "ece", "ace"]


def rounded(rows: float) -> Tally:
    """Scores with three decimals, most of them small, as counts: any number of rows in no memory."""
    score = np.arange(1001) / 1000
    n = np.ceil(rows * np.diff(np.arange(1002.0) ** 0.3) / 1001**0.3).astype(np.int64)
    return Tally(score, n, np.random.default_rng(0).binomial(n, score))


def distinct(rows: int) -> Tally:
    return Tally.from_arrays(*simulate(rows))


def draw(result: Result) -> None:
    for function in (truecal.plot.test_reliability, truecal.plot.calibration):
        figure = Figure(figsize=(8, 6), layout="constrained")
        function(result, scale="logit", ax=figure.subplots())
        figure.canvas.draw()


def lines(folder: Path) -> Iterator[Line]:
    few = truecal.evaluate(distinct(10**4), metrics=METRICS, binning=BINS)
    for name, tally in (
        ("1e8 rows, three decimals", rounded(1e8)),
        ("1e7 distinct rows", distinct(10**7)),
    ):
        many = truecal.evaluate(tally, metrics=METRICS, binning=BINS)
        axes = truecal.plot.test_reliability(many, ax=Figure().subplots())
        heights = [path.vertices[:, 1].max() for path in axes.sizes.collections[0].get_paths()]
        assert heights == many.bins.n.tolist(), "a bar is wrong"
        assert many.bins.n.sum() == tally.n_rows > 0.99e7, "rows are lost"
        assert many.scores.logit.n.sum() + many.scores.zeros + many.scores.ones == tally.n_rows, "predictions are lost"
        small, large = seconds(lambda: draw(few), lambda: draw(many), repeats=5)  # noqa: B023
        yield Line(f"diagrams of {name}, over those of 1e4", large / small, 1.5, 1.2)
        few_page, page = seconds(
            lambda: truecal.report(few, folder / "few.html"),
            lambda: truecal.report(many, folder / "many.html"),  # noqa: B023
            repeats=5,
        )
        yield Line(f"report of {name}, over that of 1e4", page / few_page, 1.5, 1.2)


def ten_models(folder: Path) -> Iterator[Line]:
    """A page of ten models of a million rows, beyond what finding the numbers takes."""
    results = {f"model {i}": truecal.evaluate(*simulate(10**6, seed=i)) for i in range(10)}
    (spent,) = seconds(lambda: truecal.report(results, folder / "ten.html"), repeats=3, clock=time.process_time)
    page = (folder / "ten.html").read_text(encoding="utf-8")
    assert page.count('class="picture thumbnail"') == 10, "a model is missing"
    texts = html.unescape(page)
    assert all(words.label_result(result) in texts for result in results.values()), "a verdict is missing"
    assert len(page) < 1_000_000, "the page is too large"
    yield Line("report of ten models of 1e6 rows, beyond the numbers", spent, 3.0, 2.0, unit="s")


def main() -> None:
    mpl.use("Agg")
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        for line in chain(lines(Path(folder)), ten_models(Path(folder))):
            print(line, flush=True)
            missed += line.verdict() == "MISSED"
    sys.exit(f"{missed} of the bounds above were missed" if missed else 0)


if __name__ == "__main__":
    main()
