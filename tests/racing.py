"""Public functions on arrays that change meanwhile; run as a program, since what it looks for ends the process.

    python tests/racing.py threads ROUNDS
    python tests/racing.py map ROUNDS

A number may then be any, and an error must be one that users can act on; nothing else may happen.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import truecal
from truecal.data import Cells, Pairs, Tally, sort_rows
from truecal.metrics import METRICS, compute

ROWS = 600_000  # more than what is sorted at once
CLASSES = 3
# numbers that are scores come more often, since one that is none ends most calls at once
FILLS = (0.999999, 0.3, 0.0, 1.0, 5e-324, 0.5, 1 - 2**-53, 2**-40)
HOSTILE = (np.nan, np.inf, -np.inf, -1.0, 2.0, 1e308, -5e-324, -0.0)
COUNTS = (1, 0, 3, 2**31, 2**46)
HOSTILE_COUNTS = (-1, 2**62, -(2**63), 255)


def make_calls(
    y: np.ndarray, p: np.ndarray, weight: np.ndarray, cluster: np.ndarray, matrix: np.ndarray, target: np.ndarray
) -> dict[str, Callable[[], object]]:
    """Return calls of what reads rows, by name."""
    few = slice(0, 100_000)  # rows that are sorted at once, or whose cells are
    functions = (truecal.tce, truecal.ece, truecal.ltce, truecal.ace, truecal.mce, truecal.rmsce)
    calls: dict[str, Callable[[], object]] = {}
    for function, threads in itertools.product(functions, (1, 2)):
        calls[f"{function.__name__} {threads}"] = lambda f=function, t=threads: f(y, p, threads=t)
        calls[f"{function.__name__} of few {threads}"] = lambda f=function, t=threads: f(y[few], p[few], threads=t)
    for name in ("brier", "log_loss", "spiegelhalter"):
        calls[name] = lambda name=name: compute(METRICS[name], y, p)
    return calls | {
        "uneven edges": lambda: truecal.ece(y, p, binning=truecal.metrics.Edges([0, 0.01, 0.1, 0.5, 1])),
        "8 bins": lambda: truecal.ece(y, p, binning=8),
        "sort_rows": lambda: sort_rows(y, p, threads=2).tally,
        "pooled": lambda: Cells.from_arrays(y, p, pooled=True),
        "sampled": lambda: Cells.from_arrays(y, p, sampling=truecal.Sampling(negative_rate=0.5)),
        "weights": lambda: truecal.tce(y[few], p[few], sample_weight=weight[few]),
        "weights of windows": lambda: truecal.ltce(y[few], p[few], sample_weight=weight[few]),
        "clusters": lambda: Tally.from_arrays(y[few], p[few], cluster=cluster[few]),
        "importance": lambda: Tally.from_arrays(y[few], p[few], importance_weight=weight[few]),
        "pairs": lambda: Pairs.from_arrays(y[few], p[few], p[few][::-1], cluster=cluster[few]),
        "top label": lambda: truecal.tce(target, matrix),
        "classwise": lambda: truecal.ltce(target, matrix, multiclass="classwise"),
        "evaluate": lambda: truecal.evaluate(y[few], p[few], null_draws=9),
        "evaluate classes": lambda: truecal.evaluate_classes(target[few], matrix[few]),
        "compare": lambda: truecal.compare(y[few], p[few], p[few][::-1], resamples=9),
        "read": lambda: truecal.read({"y": y[few], "p": p[few], "of": cluster[few]}, label="y", score="p", by="of"),
    }


def make_arrays(rng: np.random.Generator) -> list[np.ndarray]:
    """Return labels, scores, counts, clusters, probabilities of classes and the classes."""
    p = rng.beta(0.5, 5, ROWS)
    matrix = rng.dirichlet(np.ones(CLASSES), ROWS // 4)
    y, target = rng.random(ROWS) < p, rng.integers(0, CLASSES, len(matrix))
    return [y.astype(np.int64), p, rng.integers(0, 3, ROWS), rng.integers(0, 50, ROWS), matrix, target]


def rewrite(arrays: list[np.ndarray], scores: list[np.ndarray], rng: np.random.Generator) -> None:
    """Change some of the arrays once."""
    array = arrays[int(rng.integers(len(arrays)))]
    flat = array.reshape(-1)
    begin = int(rng.integers(len(flat)))
    place = slice(begin, begin + int(rng.choice([1, 1000, len(flat)])))
    score, hostile = array.dtype.kind == "f", rng.random() < 0.05
    values = (HOSTILE if hostile else FILLS) if score else HOSTILE_COUNTS if hostile else COUNTS[: 2 + len(flat) % 4]
    flat[place] = values[int(rng.integers(len(values)))]
    if rng.random() < 0.3 or hostile:  # so that most calls begin with what they take
        array[...] = scores[next(i for i, one in enumerate(arrays) if one is array)]


def keep_rewriting(arrays: list[np.ndarray], stop: Callable[[], bool]) -> None:
    """Change arrays until told to stop."""
    rng, before = np.random.default_rng(0), [array.copy() for array in arrays]
    while not stop():
        rewrite(arrays, before, rng)


def call_all(calls: dict[str, Callable[[], object]], rounds: int) -> Iterator[str]:
    """Call all in turn and yield what came of each."""
    warnings.simplefilter("ignore")
    for _ in range(rounds):
        for name, call in calls.items():
            print(name, file=sys.stderr, flush=True)  # the last one is that which ended the process
            try:
                call()
                yield "number"
            except (ValueError, RuntimeError) as error:
                if "bug" in str(error):
                    raise
                yield "changed" if "must not change" in str(error) else "refused"


def race_threads(rounds: int) -> Iterator[str]:
    """Arrays that a thread of the same process writes to."""
    arrays = make_arrays(np.random.default_rng(1))
    done = threading.Event()
    writer = threading.Thread(target=keep_rewriting, args=(arrays, done.is_set))
    writer.start()
    try:
        yield from call_all(make_calls(*arrays), rounds)
    finally:
        done.set()
        writer.join()


def race_map(rounds: int) -> Iterator[str]:
    """Read-only maps of files that another process writes to."""
    with tempfile.TemporaryDirectory() as folder:
        arrays = make_arrays(np.random.default_rng(2))
        for number, array in enumerate(arrays):
            np.save(Path(folder, f"{number}.npy"), array)
        maps = [np.load(Path(folder, f"{number}.npy"), mmap_mode="r") for number in range(len(arrays))]
        writer = subprocess.Popen([sys.executable, __file__, "write", folder], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        try:
            writer.stdout.readline()  # it has begun
            yield from call_all(make_calls(*maps), rounds)
        finally:
            writer.kill()
            writer.communicate()


def write_maps(folder: str) -> None:
    """Write to the files of a folder until killed."""
    paths = sorted(Path(folder).glob("*.npy"))
    print("begun", flush=True)
    keep_rewriting([np.load(path, mmap_mode="r+") for path in paths], lambda: False)


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write_maps(sys.argv[2])
    outcomes = list({"threads": race_threads, "map": race_map}[sys.argv[1]](int(sys.argv[2])))
    print({outcome: outcomes.count(outcome) for outcome in sorted(set(outcomes))})
