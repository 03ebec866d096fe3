"""Other packages beside ours: the same data, the same answers where they are of one thing; CPU time, memory, imports.

Run by `make bench-peers`. The packages are installed in an environment of their own, build/peers, which nothing else
uses. Each number comes from a new process; results are written to benches/results/peers.csv, from which docs/speed.py
makes the tables and the picture of docs/speed.md. Given names, as in `benches/peers.py netcal`, only these packages and
ours are measured, and given numbers, these numbers of rows.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from measure import simulate

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "peers.csv"
HOME = HERE.parent / "build" / "peers"
SIZES = (1_000, 100_000, 1_000_000, 10_000_000)
LIMIT = 300  # seconds that one process may take
ENOUGH = 1.5  # seconds of repeats, after which the shortest is taken
ALONE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # threads that wait spin, and cost as if they worked
FIELDS = ("peer", "version", "work", "rows", "value", "cpu_ms", "wall_ms", "memory", "note")


@dataclass(frozen=True)
class Peer:
    """A package: its name on the index, what is imported, and calls by what they compute.

    `y` are labels as NumPy's integers and `p` probabilities in double precision. A call that ends in `!` computes
    something of its own, which is not compared.
    """

    name: str
    imports: str
    calls: dict[str, str]


OURS = Peer(
    "truecal",
    "import truecal; from truecal import Metric, Tally, Uniform; from truecal.metrics import METRICS, Gap, compute",
    {
        "ECE": "truecal.ece(y, p)",
        "ECE, equal mass": "truecal.ace(y, p)",
        "smooth ECE": "compute(METRICS['smece'], y, p)",
        "Cox's slope": "compute(METRICS['slope'], y, p)",
        "Brier": "compute(METRICS['brier'], y, p)",
        "log loss": "compute(METRICS['log_loss'], y, p)",
        "ECCE": "compute(METRICS['ecce'], y, p)",
        "Spiegelhalter": "compute(METRICS['spiegelhalter'], y, p)",
        "CORP": "corp(Tally.from_arrays(y, p))",
        "curve": "compute(Metric(Uniform(10), Gap(), average), y, p)",
        "Local TCE": "truecal.ltce(y, p)",
        "verdict": "float(truecal.evaluate(y, p, ['ltce']).verdict.p_value)",
    },
)
# The versions that the results are of. One that cannot be installed is named in the results, with the reason.
PEERS = (
    Peer(
        "scikit-learn==1.9.1",
        "from sklearn.calibration import calibration_curve; from sklearn.metrics import brier_score_loss, log_loss",
        {
            "curve": "np.mean(np.abs(np.subtract(*calibration_curve(y, p, n_bins=10))))",
            "Brier": "brier_score_loss(y, p)",
            "log loss": "log_loss(y, p)",
        },
    ),
    Peer(
        "netcal==1.4.0",
        "from netcal.metrics import ACE, ECE",
        {
            "ECE": "ECE(10).measure(p, y)",
            "ECE, equal mass": "ECE(10, equal_intervals=False).measure(p, y)",
            "curve": "ACE(10).measure(p, y)",
        },
    ),
    Peer(
        "torchmetrics==1.9.0",
        "import torch; from torchmetrics.functional.classification import binary_calibration_error",
        {"ECE": "float(binary_calibration_error(torch.from_numpy(p), torch.from_numpy(y), n_bins=10))"},
    ),
    Peer(
        "relplot==1.0.3",
        "import relplot; from relplot.metrics import binnedECE",
        {"ECE": "binnedECE(p, y, 10)", "smooth ECE": "relplot.smECE(p, y)"},
    ),
    Peer(
        "uncertainty-calibration==0.1.4",
        "import calibration",
        {
            "ECE": "calibration.get_ece(p, y, num_bins=10)",
            "ECE, equal mass": "calibration.lower_bound_scaling_ce(p, y, p=1, debias=False, num_bins=10)",
        },
    ),
    Peer(
        "model-diagnostics==1.5.0",
        "from model_diagnostics.scoring import SquaredError, decompose",
        {"CORP": "decompose(y, p, scoring_function=SquaredError())['miscalibration'][0]"},
    ),
    Peer(
        "probcal==0.4.0",
        "from probcal import metrics",
        {
            "ECE": "metrics.ece(y, p, n_bins=10, strategy='width')",
            "ECE, equal mass": "metrics.ece(y, p, n_bins=10)",
            "smooth ECE": "metrics.smooth_ece(y, p) !",  # smooths on the scale of log-odds
            "Cox's slope": "metrics.calibration_slope(y, p)",
            "Brier": "metrics.brier_score(y, p)",
            "log loss": "metrics.log_loss(y, p)",
            "Spiegelhalter": "metrics.spiegelhalter_z(y, p).z",
        },
    ),
    Peer(
        "MCGrad==0.1.5",
        "from mcgrad import metrics",
        {
            "ECE": "metrics.expected_calibration_error(y, p, num_bins=10)",
            "ECE, equal mass": "metrics.adaptive_calibration_error(y, p, num_bins=10)",
            "ECCE": "metrics.ecce(y, p)",
        },
    ),
    Peer(
        "calzone-tool==0.1.0",
        "from calzone.metrics import cox_regression_analysis, spiegelhalter_z_test",
        {
            "Cox's slope": "cox_regression_analysis(y, np.stack([1 - p, p], axis=1))[0]",
            "Spiegelhalter": "spiegelhalter_z_test(y, np.stack([1 - p, p], axis=1))[0]",
        },
    ),
    Peer(
        "MAPIE==1.6.0",
        "from mapie.metrics.calibration import spiegelhalter_statistic",
        {"Spiegelhalter": "spiegelhalter_statistic(y, p)"},
    ),
)
# How far an answer may differ from ours, and why it does.
CLOSE = {
    "smooth ECE": (0.0, 2 / 1024),  # relplot searches the bandwidth in steps of 1/1024
    "Cox's slope": (2e-3, 0.0),  # ours is of cells of 8 bits
    "ECE, equal mass": (0.0, 2e-3),  # where a bin ends, by a row
}


def corp(tally: Any) -> float:
    """What the Brier score would lose were each prediction replaced by the rate of its isotonic bin."""
    from truecal.metrics import METRICS, Isotonic

    bins = Isotonic().partition(tally)
    rate = bins.k / bins.n
    return float(METRICS["brier"](tally) - np.sum(bins.n * rate * (1 - rate)) / tally.n_rows)


def average(n: Any, gap: Any) -> float:
    """The mean distance of the points of a calibration curve from the diagonal, however many rows each has."""
    return float(np.mean(gap[n > 0]))


def make_data(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels, and the probabilities of a model that is over-confident: its log-odds are 1.2 times the true ones."""
    y, p = simulate(rows)
    return y.astype(np.int64), 1 / (1 + (1 / p - 1) ** 1.2)


def read_status(name: str) -> int:
    """A number of bytes that the kernel knows of this process."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))


def measure_here(imports: str, call: str, folder: str) -> dict[str, float]:
    """Import a package and call it in this process, which has imported nothing but NumPy before."""
    begin, held = time.process_time(), read_status("VmRSS")
    names: dict[str, Any] = {"np": np, "corp": corp, "average": average}
    exec(imports, names)
    found = {"import_ms": 1000 * (time.process_time() - begin), "import_mb": (read_status("VmRSS") - held) / 2**20}
    y, p = (np.load(f"{folder}/{name}.npy") for name in "yp")
    work = compile(f"float({call})", "call", "eval")
    eval(work, names | {"y": y[:1000].copy(), "p": p[:1000].copy()})  # what is loaded at the first call
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # resets the peak
    held, names = read_status("VmRSS"), names | {"y": y, "p": p}
    times = []
    while not times or (sum(wall for _, wall in times) < ENOUGH and len(times) < 200):
        cpu, wall = time.process_time(), time.perf_counter()
        found["value"] = eval(work, names)
        times.append((1000 * (time.process_time() - cpu), time.perf_counter() - wall))
        if len(times) == 1:
            found["memory"] = (read_status("VmHWM") - held) / (y.nbytes + p.nbytes)
    return found | {"cpu_ms": min(cpu for cpu, _ in times), "wall_ms": 1000 * min(wall for _, wall in times)}


def measure_fresh(python: Path | str, peer: Peer, work: str, folder: Path) -> dict[str, Any]:
    """The same in a new process; a note where it fails or takes too long."""
    given = json.dumps([peer.imports, peer.calls[work].removesuffix(" !"), str(folder)])
    command = [str(python), "-W", "ignore", __file__, "measure", given]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=LIMIT, check=False, env=os.environ | ALONE
        )
    except subprocess.TimeoutExpired:
        return {"note": f"more than {LIMIT} s"}
    if done.returncode:
        return {"note": (done.stderr.strip() or f"ended with {done.returncode}").splitlines()[-1][:120]}
    return dict(json.loads(done.stdout.splitlines()[-1]))


def install() -> dict[str, str]:
    """Install every package, one after the other; return why some cannot be."""
    if not (HOME / "pyvenv.cfg").exists():
        venv.create(HOME, with_pip=True)
    pip = [str(HOME / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    failed = {}
    for package in ("torch==2.13.0", *(peer.name for peer in PEERS)):
        done = subprocess.run([*pip, package], capture_output=True, text=True, check=False)
        if done.returncode:
            errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
            failed[package] = (errors or done.stderr.splitlines() or ["pip says nothing"])[-1]
    return failed


def compare(work: str, call: str, value: float, own: float) -> None:
    """Stop where an answer is not ours, though the quantity is the same."""
    relative, absolute = CLOSE.get(work, (1e-6, 1e-9))
    if not call.endswith("!") and not np.isclose(value, own, rtol=relative, atol=absolute):
        raise AssertionError(f"{work} by {call} is {value}, and ours is {own}")


def main(chosen: list[str]) -> None:
    failed = install()
    sizes = [int(float(name)) for name in chosen if name[0].isdigit()] or SIZES
    names = {name for name in chosen if not name[0].isdigit()}
    peers = [OURS, *(peer for peer in PEERS if not names or peer.name.partition("==")[0] in names)]
    lines: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for rows in sizes:
            for array, column in zip(make_data(rows), "yp", strict=True):
                np.save(folder / f"{column}.npy", array)
            own: dict[str, float] = {}
            for peer in peers:
                package, _, number = peer.name.partition("==")
                if peer.name in failed:
                    lines.append({"peer": package, "version": number, "note": failed[peer.name]})
                    continue
                python = sys.executable if peer is OURS else HOME / "bin" / "python"
                for work, call in peer.calls.items():
                    found = measure_fresh(python, peer, work, folder)
                    if peer is OURS:
                        assert "value" in found, f"{call}: {found['note']}"
                        own[work] = found["value"]
                    elif "value" in found:
                        compare(work, call, found["value"], own[work])
                    line = {"peer": package, "version": number or version(package), "work": work, "rows": rows}
                    lines.append(line | found)
                    cells = (f"{value:.4g}" if isinstance(value, float) else value for value in lines[-1].values())
                    print(*cells, flush=True)
    write(lines)


def write(lines: list[dict[str, Any]]) -> None:
    """The results, with a line for what each import takes at least; other packages keep theirs."""
    for peer in dict.fromkeys(line["peer"] for line in lines):
        own = [line for line in lines if line["peer"] == peer and "import_ms" in line]
        if own:
            least = min(own, key=lambda line: float(line["import_ms"]))
            found = {"cpu_ms": least["import_ms"], "value": min(line["import_mb"] for line in own)}
            lines.append({"peer": peer, "version": least["version"], "work": "import", "rows": 0} | found)
    with RESULTS.open(newline="", encoding="utf-8") as file:
        measured = {line["peer"] for line in lines}
        lines += [line for line in csv.DictReader(file) if line["peer"] not in measured]
    with RESULTS.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        for line in lines:
            writer.writerow({key: f"{value:.6g}" if isinstance(value, float) else value for key, value in line.items()})


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        print(json.dumps(measure_here(*json.loads(sys.argv[2]))))
    else:
        main(sys.argv[1:])
