"""Names that hold line breaks, escape sequences and commands to CI servers, in every place and every command: nothing
of them reaches a terminal or a log as a line or a command of its own."""

import ast
import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest
from command import run, show

import truecal

pytest.importorskip("polars")
EVIL = "y\n::stop-commands::x\x1b[31m\r\x85\u2028\u2029\u202e\x07##[group]##vso[task]z"
FILE_EVIL = "f\n::stop-commands::x\x1b[31m\r\u2028\u202e##[group]"
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
ROOT = Path(truecal.__file__).parent


def name(role):
    return f"{role}{EVIL}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Data whose every name is hostile, a map, a state, saved results, tallies and rules made of them."""
    place = tmp_path_factory.mktemp("evil")
    rng = np.random.default_rng(0)
    rows = 1500
    p = np.round(rng.beta(1, 4, rows), 4)
    columns = {
        name("label"): (rng.random(rows) < p).astype(int),
        name("score"): p,
        name("other"): np.minimum(1.6 * p, 1),
        name("by"): [name(value) for value in rng.choice(["de", "fr"], rows)],
        name("customer"): rng.integers(0, 300, rows),
        name("day"): [f"2026-03-{day:02}" for day in rng.integers(1, 20, rows)],
        name("class"): [name(value) for value in rng.choice(["a", "b", "c"], rows)],
        "count": np.ones(rows, int),
    }
    shares = rng.dirichlet([1, 1, 1], rows)
    for i, each in enumerate("abc"):
        columns[name(each)] = shares[:, i]
    write(place / "data.csv", columns)
    write(place / f"{FILE_EVIL}.csv", columns)
    broken = dict(columns)
    broken[name("score")] = ["0.5", *map(str, p[1:-1]), EVIL]
    broken[name("label")] = [EVIL, *columns[name("label")][1:]]
    write(place / "broken.csv", broken)
    (place / "rules.toml").write_text(
        f"[[rule]]\nverdict = true\nmodel = {json.dumps(EVIL)}\n[[rule]]\nverdict = true\n"
        f"segment = {json.dumps(EVIL)}\n"
    )
    (place / "keys.toml").write_text(f"[[rule]]\n{json.dumps(EVIL)} = 1\n")
    (place / "metric.toml").write_text(f"[[rule]]\nmax_value = 1\nmetric = {json.dumps(EVIL)}\n")
    (place / "top.toml").write_text(f"{json.dumps(EVIL)} = 1\n")
    (place / "data.toml").write_text(f"[data]\n{json.dumps(EVIL)} = 1\n[[rule]]\nverdict = true\n")
    (place / "bad.json").write_text(json.dumps({"truecal": {"type": EVIL, "format": 3}, EVIL: EVIL}))
    (place / "twice.json").write_text(f"{{{json.dumps(EVIL)}: 1, {json.dumps(EVIL)}: 2}}")
    common = ["-y", name("label"), "-p", name("score")]
    assert run("recalibrate", "data.csv", *common, "--by", name("by"), "-o", "map.json", cwd=place).returncode == 0
    assert run("evaluate", "data.csv", *common, "--json", "-o", "result.json", cwd=place).returncode == 0
    raw = json.loads((place / "result.json").read_text())
    (place / "results.json").write_text(
        json.dumps({"truecal": {**raw.pop("truecal"), "type": "dict"}, "items": {EVIL: {"type": "Result", **raw}}})
    )
    tally = [
        "tally",
        "data.csv",
        *common,
        "--by",
        name("by"),
        "--time",
        name("day"),
        "--every",
        "1d",
        "-o",
        "t.parquet",
    ]
    assert run(*tally, cwd=place).returncode == 0
    return place


def write(place, columns):
    with place.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(columns)
        out.writerows(zip(*columns.values(), strict=True))


DATA = ["data.csv", "-y", name("label"), "-p", name("score")]
BOTH = ["data.csv", "-y", name("label"), "-p", name("score"), "-p", name("other")]
BY = ["--by", name("by")]
TIME = ["--time", name("day"), "--every", "1d"]
FILE = [f"{FILE_EVIL}.csv", "-y", name("label"), "-p", name("score")]
CLASSES = ["data.csv", "-y", name("class"), *(word for each in "abc" for word in ("-p", name(each)))]
RUNS = [
    ["evaluate", *DATA],
    ["evaluate", *BOTH],
    ["evaluate", *BOTH, "--explain"],
    ["evaluate", *BOTH, "--csv"],
    ["evaluate", *BOTH, "--json"],
    ["evaluate", *BOTH, "--bins"],
    ["evaluate", *DATA, *BY],
    ["evaluate", *FILE],
    ["evaluate", "data.csv"],
    ["evaluate", "data.csv", "-y", "label"],
    ["evaluate", "broken.csv", *DATA[1:]],
    ["evaluate", "broken.csv", *DATA[1:], "--drop-missing"],
    ["evaluate", *DATA, "--pos-label", EVIL],
    ["evaluate", *DATA, "--metrics", EVIL],
    ["evaluate", *CLASSES],
    ["evaluate", *CLASSES, "--multiclass", "classwise", "--explain"],
    ["evaluate", *DATA, "--cluster", name("customer")],
    ["evaluate", *DATA, "--cluster", EVIL],
    ["evaluate", *DATA, "--count", EVIL],
    ["evaluate", *DATA, "--count", name("by")],
    ["evaluate", *DATA, "--importance-weight", name("by")],
    ["evaluate", *DATA, "--label-delay", f"{EVIL}:0=0,1=1"],
    ["evaluate", *DATA, "--tolerance", EVIL],
    ["evaluate", "result.json"],
    ["evaluate", "results.json"],
    ["evaluate", "bad.json"],
    ["evaluate", "twice.json"],
    ["evaluate", EVIL],
    ["evaluate", "data.csv", f"--{EVIL}"],
    ["evaluate", *DATA, "--debug", "--metrics", EVIL],
    [EVIL],
    ["compare", *BOTH],
    ["compare", *BOTH, "--csv"],
    ["compare", "data.csv", "-y", name("label"), "-p", name("score"), "-p", EVIL],
    ["segments", *DATA, *BY],
    ["segments", *BOTH, *BY, "--csv"],
    ["segments", *DATA],
    ["segments", *DATA, "--by", EVIL],
    ["slices", *DATA],
    ["slices", *DATA, "--csv"],
    ["slices", *DATA, "--columns", EVIL],
    ["drift", *DATA, *TIME],
    ["drift", *DATA, *TIME, "--csv"],
    ["drift", *DATA, "--time", name("by")],
    ["drift", *DATA, "--time", EVIL],
    ["drift", *DATA, *TIME, "--baseline", EVIL],
    ["monitor", *DATA, *TIME, *BY, "--state", "m.json", "--prom", "m.prom", "--now", "2027-01-01"],
    ["monitor", *DATA, *TIME, *BY, "--state", "m.json", "--json", "--now", "2027-01-01"],
    ["monitor", *DATA, *TIME, *BY, "--state", "m.json", "--csv", "--now", "2027-01-01"],
    ["monitor", *DATA, *TIME, "--state", "m.json"],
    ["monitor", *DATA, *TIME, "--state", "bad.json"],
    ["monitor", *DATA, *TIME, "--state", f"{FILE_EVIL}.state"],
    ["recalibrate", *DATA, "-o", "a.json"],
    ["recalibrate", *DATA, *BY, "--sql", "-o", "a.json"],
    ["recalibrate", *DATA, *BY, "-o", f"{FILE_EVIL}.map.json"],
    ["recalibrate", *DATA, "--check", f"{FILE_EVIL}.csv", "-o", "a.json"],
    ["recalibrate", *DATA, "-o", EVIL],
    ["apply", "map.json", "data.csv", "-o", f"{FILE_EVIL}.out.csv"],
    ["apply", "map.json", "data.csv", "--into", EVIL, "-o", "out.csv"],
    ["apply", "map.json", "data.csv", "--score", EVIL, "-o", "out.csv"],
    ["apply", "bad.json", "data.csv", "-o", "out.csv"],
    ["apply", EVIL, EVIL, "-o", "out.csv"],
    ["report", *BOTH, *BY, "-o", f"{FILE_EVIL}.html"],
    ["report", *DATA, "--map", "bad.json", "-o", "r.html"],
    ["report", *DATA, "--map", EVIL, "-o", "r.html"],
    ["plot", *DATA, "-o", f"{FILE_EVIL}.svg"],
    ["plot", *DATA, "-o", EVIL],
    ["plan", EVIL],
    ["plan", "0.1", "--factor", EVIL],
    ["check", *BOTH],
    ["check", *BOTH, "--csv"],
    ["check", *BOTH, "--json"],
    ["check", *DATA, *BY, "--segment", EVIL],
    ["check", *DATA, *BY, "--segment", "*"],
    ["check", *DATA, *BY, "--rules", "rules.toml"],
    ["check", *DATA, "--rules", "keys.toml"],
    ["check", *DATA, "--rules", "metric.toml"],
    ["check", *DATA, "--rules", "top.toml"],
    ["check", *DATA, "--rules", "data.toml"],
    ["check", *DATA, "--rules", EVIL],
    ["check", *DATA, "--baseline", name("other"), "--max-worse", "0"],
    ["check", *DATA, "--baseline", "bad.json", "--max-worse", "0"],
    ["check", *DATA, "--baseline", EVIL, "--max-worse", "0"],
    ["check", *DATA, "--map", "map.json"],
    ["check", *DATA, "--map", EVIL],
    ["check", *CLASSES, "--multiclass", "classwise"],
    ["check", *DATA, "--max-value", f"{EVIL}=1"],
    ["check", *DATA, "--junit", "j.xml", "--markdown", "m.md"],
    ["check", "t.parquet"],
    ["tally", *DATA, *BY, "-o", f"{FILE_EVIL}.parquet"],
    ["tally", *DATA, "-o", EVIL],
    ["merge", "t.parquet", "-o", "t2.parquet"],
    ["merge", "t.parquet", "--by", EVIL, "-o", "t3.parquet"],
    ["merge", EVIL, "-o", "t2.parquet"],
    ["demo", f"{EVIL}/{EVIL}"],
    ["completion", EVIL],
]


def check_lines(text):
    for line in text.split("\n"):
        assert not CONTROL.search(line), repr(line)
        assert not line.lstrip().startswith("::") or line.startswith("::error title=truecal"), repr(line)
        assert "##[" not in line or line.startswith("::error"), repr(line)
        assert "##vso[" not in line or line.startswith("::error"), repr(line)


@pytest.mark.parametrize(
    "words", RUNS, ids=lambda words: "-".join(words)[:40].encode("ascii", "replace").decode().replace("\n", "")
)
def test_names_are_no_commands(folder, words):
    done = run(*words, cwd=folder, GITHUB_ACTIONS="true")
    assert done.returncode in (0, 1, 2, 3)
    assert "this is a bug" not in done.stderr
    check_lines(done.stdout)
    check_lines(done.stderr)


@pytest.mark.parametrize("words", [RUNS[2], RUNS[8], RUNS[33], ["check", *BOTH]], ids=range(4))
def test_names_are_no_commands_to_a_terminal(folder, words):
    _, text = show(*words, cwd=folder)
    for line in re.sub(r"\x1b\[\d+m", "", text).split("\n"):
        check_lines(line.rpartition("\r")[2])


def test_files_for_ci_servers_hold_no_commands(folder):
    run("check", *DATA, *BY, "--segment", "*", "--junit", "j.xml", "--markdown", "s.md", cwd=folder)
    run("monitor", *DATA, *TIME, *BY, "--state", "n.json", "--prom", "n.prom", "--now", "2027-01-01", cwd=folder)
    for file in ("j.xml", "s.md", "n.jsonl", "n.prom"):
        text = (folder / file).read_text()
        assert text
        for line in text.split("\n"):
            assert not CONTROL.search(line), (file, line)
            assert not line.lstrip().startswith("::"), (file, line)


def test_an_assertion_of_a_test_holds_no_commands():
    from truecal.gate import Rule
    from truecal.integrations import assert_calibrated

    with pytest.raises(AssertionError) as error:
        assert_calibrated([0, 1] * 500, [0.9] * 1000, [Rule("verdict", model=EVIL), Rule("verdict")])
    check_lines(str(error.value))


@pytest.mark.parametrize("file", sorted([*ROOT.glob("cli/*.py"), ROOT / "demo.py"]), ids=lambda file: file.name)
def test_text_is_written_in_one_place(file):
    """Nothing but `say` writes to the streams, so that no command can forget to escape."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            assert called != "print", node.lineno
            assert not called.endswith(("stdout.write", "stderr.write", "print_exc")), node.lineno
