"""No input of the command line, however odd, is called a bug of ours or ends in a traceback."""

import json
import subprocess
import sys

import numpy as np
import pytest
from command import environment, run

pytestmark = pytest.mark.slow

CSV = "y,p\n" + "0,0.1\n1,0.7\n0,0.2\n1,0.9\n" * 5


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("hostile")
    for name in ("d.csv", "~name.csv", "~", "[a].csv", "-d.csv", "$HOME.csv", "a b.csv", "é.csv", "%s.csv", "{x}.csv"):
        (place / name).write_text(CSV)
    days = [f"{i % 2},0.{1 + i % 9},{i},{'9999-12-31' if i % 7 else '2026-01-01'}" for i in range(40)]
    (place / "days.csv").write_text("\n".join(["y,p,age,day", *days]) + "\n")  # 9999 is how some write "never"
    np.savez(place / "ok.npz", y=np.array([0, 1, 1]), p=np.array([0.1, 0.5, 0.9]))
    whole = (place / "ok.npz").read_bytes()
    odd = {
        "empty.npz": b"", "word.npz": b"PK\x03\x04broken", "cut.npz": whole[:200], "end.npz": whole[-120:],
        "flipped.npz": whole[:60] + b"\xff" * 20 + whole[80:], "twice.npz": whole + whole, "text.npz": b"y,p\n0,0.1\n",
        "empty.parquet": b"", "magic.parquet": b"PAR1PAR1", "lie.parquet": b"PAR1" + bytes(20) + b"\xff\xff\xff\xffPAR1",
        "empty.json": b"", "deep.json": b"[" * 100_000, "null.json": b"null", "nul.csv": b"y,p\n\x00,\x00\n",
        "empty.gz.csv": b"", "broken.csv.gz": b"\x1f\x8b\x08", "wide.csv": b"y,p\n" + b"9" * 100_000 + b",0.5\n",
        "1.toml": b"[[rule]]\nmin_p_value = 5e-324\n", "2.toml": b"[[rule]]\nmin_p_value = 1e-300\nsegment = '*'\n",
        "3.toml": b"[[rule]]\nmax_upper = 5\nsignificance = 1e-300\n", "4.toml": b"[[rule]]\nmax_value = nan\n",
        "5.toml": b"[[rule]]\nmax_value = 1e400\n", "6.toml": b"rule = 3\n", "7.toml": b"[[rule]]\nverdict = true\ntop = 1" + b"0" * 400,
        "8.toml": b"\xff\xfe", "9.toml": b"[[rule]]\nmax_value = 5\nmin_rows = 1" + b"0" * 30, "10.toml": b"",
        "11.toml": b"[[rule]]\nmetric = 'net_benefit@nan'\nmin_value = 0\n", "12.toml": b"[[rule]]\nverdict = true\nsignificance = 1e-320\n",
    }  # fmt: skip
    for name, content in odd.items():
        (place / name).write_bytes(content)
    np.savez(place / "objects.npz", y=np.array([None, 1], dtype=object), p=np.array([0.1, 0.5]))
    np.savez(place / "square.npz", y=np.zeros((2, 2)), p=np.zeros((2, 2)))
    np.savez(place / "complex.npz", y=np.array([0, 1]), p=np.array([0.1j, 0.5]))
    np.savez(place / "nothing.npz")
    return place


FILES = [
    "~name.csv", "~", "~nobody/x.csv", "[a].csv", "$HOME.csv", "a b.csv", "é.csv", "%s.csv", "{x}.csv", "", ".", "/", "*", "**", "\n",
    "empty.npz", "word.npz", "cut.npz", "end.npz", "flipped.npz", "twice.npz", "text.npz", "objects.npz", "square.npz",
    "complex.npz", "nothing.npz", "empty.parquet", "magic.parquet", "lie.parquet", "empty.json", "deep.json", "null.json",
    "nul.csv", "broken.csv.gz", "wide.csv", "x" * 5000, "/dev/null", "file://d.csv", "s3://", "http://", "a\x00b.csv",
]  # fmt: skip
NUMBERS = [
    "nan",
    "inf",
    "-inf",
    "-1",
    "0",
    "1e-320",
    "5e-324",
    "1e400",
    "1" + "0" * 30,
    "9223372036854775807",
    "x",
    "",
    "1%",
    "1e400%",
]
OPTIONS = [
    "--significance",
    "--tolerance",
    "--top",
    "--threshold",
    "--threads",
    "--null-draws",
    "--resamples",
    "--bins",
    "--seed",
]
LINES = [
    *(["evaluate", name, "-y", "y", "-p", "p"] for name in FILES),
    *(["evaluate", "d.csv", "-y", "y", "-p", "p", "--metrics", "ece", f"{option}={number}"] for option in OPTIONS for number in NUMBERS
      if (option, number) not in (("--null-draws", "9223372036854775807"),)),
    *(["plan", number, "--rows", "100"] for number in NUMBERS),
    *(["plan", "0.1", f"{option}={number}"] for option in ("--rows", "--factor", "--ratio") for number in NUMBERS),
    *(["check", "d.csv", "-y", "y", "-p", "p", "--rules", f"{i}.toml"] for i in range(1, 13)),
    *(["tally", "d.csv", "-y", "y", "-p", "p", "-o", name] for name in ("", ".", "/", "x" * 5000 + ".parquet", "no/such/x.parquet", "\x00.parquet")),
    *(["evaluate", "d.csv", "-y", "y", "-p", "p", "--metrics", "ece", f"{option}={number}"]
      for option in ("--negative-rate", "--positive-rate", "--label-noise", "--count", "--importance-weight") for number in NUMBERS),
    *(["evaluate", "d.csv", "-y", "y", "-p", "p", "--metrics", "ece", f"--label-noise={a},{b}"] for a in NUMBERS for b in ("0", "nan")),
    *(["evaluate", "days.csv", "-y", "y", "-p", "p", "--metrics", "ece", f"--label-delay=age:{table}"]
      for table in ("0=0,7=nan", "0=0,inf=1", "0=1,7=0", "0=0,0=1", "no.csv", "/dev/zero", "", "=", "1" + "0" * 400 + "=1")),
    *(["monitor", "days.csv", "-y", "y", "-p", "p", "--time", "day", "--state", f"{i}.state.json", f"{option}={number}"]
      for i, (option, number) in enumerate((option, number) for number in [*NUMBERS, *(f"{number}d" for number in NUMBERS)]
      for option in ("--label-lag", "--now", "--threshold", "--tolerance", "--significance"))),
    *(["monitor", "days.csv", "-y", "y", "-p", "p", "--time", "day", "--state", name] for name in
      ("", ".", "/dev/null", "empty.json", "deep.json", "null.json", "8.toml", "no/such/x.json", "x" * 5000, "days.csv")),
    *(["apply", name, "d.csv", "-o", "applied.csv"] for name in ("empty.json", "deep.json", "null.json", "8.toml", "d.csv", "none")),
    *(["recalibrate", "d.csv", "-y", "y", "-p", "p", "-o", "map.json", f"{option}={number}"] for option in ("--folds", "--seed")
      for number in NUMBERS),
    *(["slices", "d.csv", "-y", "y", "-p", "p", f"{option}={number}"] for option in ("--min-rows", "--significance")
      for number in NUMBERS),
    *(["merge", name, "-o", "m.parquet"] for name in ("lie.parquet", "magic.parquet", "empty.parquet", "d.csv")),
]  # fmt: skip


# many command lines in one process, each told apart on standard error
SCRIPT = """
import json, sys
from truecal.cli import main

for number, words in enumerate(json.load(open("lines.json"))):
    print(f"@@{number}", file=sys.stderr)
    print(f"@@={main(words)}", file=sys.stderr)
"""


def test_nothing_is_called_a_bug(folder):
    (folder / "lines.json").write_text(json.dumps(LINES))
    environ = environment(HOME=str(folder))
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=folder, capture_output=True, text=True, env=environ, check=False
    )
    answers = done.stderr.split("@@")[1:]
    assert len(answers) == 2 * len(LINES), answers[-1]
    for words, told, code in zip(LINES, answers[::2], answers[1::2], strict=True):
        assert "this is a bug" not in told, (words, told)
        assert "Traceback" not in told, (words, told)
        assert code.strip() in ("=0", "=1", "=2", "=3"), (words, told)


@pytest.mark.parametrize("name", ["~name.csv", "[a].csv"])
def test_odd_names_of_files_are_names(folder, name):
    done = run("evaluate", name, "-y", "y", "-p", "p", "--metrics", "ece", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "20" in done.stdout
