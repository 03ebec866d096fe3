"""A file is opened once to be checked and once to be read, whatever its size."""

import shutil
import subprocess
import sys

import numpy as np
import pytest
from command import environment
from conftest import missing

COMMANDS = {
    "evaluate": (),
    "segments": ("--by", "country"),
    "report": ("--by", "country", "-o", "report.html"),
    "drift": ("--time", "day"),
    "check": ("--by", "country", "--segment", "*", "--max-value", "50"),
    "compare": (),
    "tally": ("-o", "tally.parquet"),
    "plot": ("-o", "plot.svg"),
    "recalibrate": ("-o", "map.json"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """57 kB and 4 MB of CSV."""
    place = tmp_path_factory.mktemp("opens")
    rng = np.random.default_rng(3)
    for name, rows in (("small", 1_500), ("large", 100_000)):
        p, q = rng.random(rows), rng.random(rows)
        y = (rng.random(rows) < p).astype(int)
        countries, days = rng.choice(["at", "de"], rows), rng.integers(1, 29, rows)
        lines = (
            f"{a},{b:.6f},{c:.6f},{country},2026-01-{day:02}"
            for a, b, c, country, day in zip(y, p, q, countries, days, strict=True)
        )
        (place / f"{name}.csv").write_text("\n".join(["y,p,q,country,day", *lines]) + "\n")
    return place


@pytest.mark.slow
@pytest.mark.parametrize("size", ["small", "large"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_is_opened_at_most_twice(need, folder, command, size):
    need("polars")
    if shutil.which("strace") is None:
        missing("strace is not installed")
    scores = "p,q" if command == "compare" else "p"
    options = [str(folder / word) if "." in word else word for word in COMMANDS[command]]
    words = [command, str(folder / f"{size}.csv"), "-y", "y", "-p", scores, *options]
    traced = ["strace", "-f", "-qq", "-e", "trace=open,openat", "-o", str(folder / f"{command}-{size}.txt")]
    call = [*traced, sys.executable, "-m", "truecal", *words]
    done = subprocess.run(call, env=environment(), capture_output=True, check=False)
    assert done.returncode in (0, 1, 3), done.stderr
    opened = (folder / f"{command}-{size}.txt").read_text().count(f'/{size}.csv"')
    assert 1 <= opened <= 2
