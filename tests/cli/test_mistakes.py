"""A user's mistakes: one or two clear lines, a hint, exit code 2, and never a traceback."""

import shutil
import subprocess
import sys

import polars
import pytest
from command import TRUECAL, environment, predictions, run, run_process, write_csv
from conftest import missing

import truecal
from truecal.cli._main import explain
from truecal.results import to_json

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("mistakes")


@pytest.fixture(scope="module")
def data(folder):
    return write_csv(folder / "preds.csv", predictions(300))


def refused(*words, prefix=(), **options):
    done = run_process(*words, prefix=prefix) if prefix else run(*words, **options)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    lines = [line for line in done.stderr.splitlines() if not line.startswith("note: ")]
    assert lines[0].startswith("error: ")
    assert len(lines) <= 2
    return "\n".join(lines)


def test_files_that_cannot_be_used_are_named(folder, data):
    bad = {
        "empty.csv": b"",
        "header.csv": b"y,p\n",
        "binary.csv": bytes(range(256)) * 20,
        "text.parquet": b"y,p\n1,0.5\n",
        "odd.xyz": b"y,p\n1,0.5\n",
        "ragged.csv": b"y,p\n1,0.5\n1,0.5,3,4\n",
        "words.csv": b"y,p\n1,high\n0,low\n",
        "half.csv.gz": b"\x1f\x8b\x08\x00broken",
    }
    for name, content in bad.items():
        (folder / name).write_bytes(content)
        told = refused("evaluate", folder / name, "-y", "y", "-p", "p")
        assert name in told or "row" in told or "`p`" in told or "Compressed file ended" in told, told
    assert "File not found: 'nope.csv'." in refused("evaluate", "nope.csv")
    assert "'*.none' must match at least one file" in refused("evaluate", "*.none", cwd=folder)
    (folder / "void").mkdir()
    assert "'void' must hold files of a known format" in refused("evaluate", "void", cwd=folder)
    assert "standard input must have a line of column names; it is empty" in refused("evaluate", "-")
    (folder / "other.json").write_text('{"a": 1}')
    assert "must be JSON as `truecal evaluate --json` writes it" in refused("evaluate", folder / "other.json")
    (folder / "broken.json").write_text("{")
    assert "must be JSON as `truecal evaluate --json` writes it" in refused("evaluate", folder / "broken.json")


def test_a_missing_column_brings_its_neighbour_to_mind(data):
    told = refused("evaluate", data, "-y", "Y", "-p", "p")
    assert "error: --label must be one of the columns 'id', 'y', 'p', 'more', 'country', 'kind'; it is 'Y'." in told
    assert "Hint: did you mean 'y'?" in told
    assert "did you mean 'more'?" in refused("evaluate", data, "-y", "y", "-p", "mroe")
    assert "did you mean 'country'?" in refused("segments", data, "-y", "y", "-p", "p", "--by", "county")


def test_swapped_columns_are_recognised(data):
    told = refused("evaluate", data, "-y", "p", "-p", "y")
    assert "--label and --score seem to be swapped: 'p' holds fractions, 'y' only 0 and 1." in told
    assert "Hint: give 'y' as --label and 'p' as --score." in told
    assert "seem to be swapped" in refused("segments", data, "-y", "p", "-p", "y", "--by", "kind")
    assert "seem to be swapped" in refused("check", data, "-y", "p", "-p", "y", "--max-value", "9")


def test_what_cannot_be_guessed_is_listed_with_the_command_to_type(folder):
    columns = {"a": [0, 1, 0, 1], "b": [1, 0, 0, 1], "c": [0.5, 0.1, 0.2, 0.3]}
    data = write_csv(folder / "unclear.csv", columns)
    told = refused("evaluate", data)
    assert "--label cannot be inferred: one column must be meant, and these could be: 'a', 'b'." in told
    assert f"Hint: say which, such as  truecal evaluate {data} --label a" in told
    columns = {"y": [0, 1, 0, 1], "old model": [0.5, 0.1, 0.2, 0.3], "new model": [0.5, 0.1, 0.2, 0.4]}
    data = write_csv(folder / "two.csv", columns)
    assert f"truecal evaluate {data} --score 'old model'" in refused("evaluate", data)
    assert "of 'y', 'k' none does" in refused("evaluate", write_csv(folder / "no.csv", {"y": [0, 1], "k": [3, 4]}))
    (folder / "headless.csv").write_text("0,0.25\n1,0.5\n0,0.125\n")
    assert "The first line must name the columns; it holds 0, 0.25." in refused("evaluate", folder / "headless.csv")


def test_slips_in_the_command_line_bring_the_right_word_to_mind(data):
    for words, meant in (
        (["evalute", data], "did you mean 'evaluate'?"),
        (["evaluate", data, "--lable", "y"], "did you mean '--label'?"),
        (["evaluate", data, "--format", "cvs"], "did you mean 'csv'?"),
        (["evaluate", data, "--metrics", "tec"], "did you mean 'tce'?"),
        (["check", data, "--max-value", "eec=1"], "did you mean 'ece'?"),
    ):
        assert meant in refused(*words)
    assert "truecal evaluate --help" in refused("evaluate")
    assert run().returncode == 2
    assert "usage: truecal" in run().stderr
    told = refused("drift", data, "--time", "day", "--by", "country")
    assert (
        told
        == "error: There is no option --by.\nHint: it is an option of evaluate, segments, monitor, recalibrate, report, plot, check, tally, merge."
    )


def test_wrong_values_are_told_by_the_option(data):
    for words, told in (
        (["--null-draws", "x"], "--null-draws: it must be a whole number, 0 or more; it is 'x'"),
        (["--threads", "0"], "--threads: it must be a whole number, 1 or more; it is '0'"),
        (["--significance", "2"], "--significance"),
        (["--top", "many"], "--top: it must be a count or a share; it is 'many'"),
        (["--threshold", "2"], "--threshold must"),
        (["--threshold", "0.5", "--top", "3"], "One of --threshold and --top may be given, not both"),
        (["--tolerance", "much"], "--tolerance: it must be a number below 1, or a share such as 10%; it is 'much'"),
        (["--tolerance", "1.5"], "--tolerance: it must be a number below 1, or a share such as 10%; it is '1.5'"),
        (["--by", "kind", "--bins"], "--resamples and --bins must be left out"),
        (["--json", "--csv"], "not allowed with"),
    ):
        assert told in refused("evaluate", data, *words)
    assert "--score must name two columns" in refused("compare", data, "-p", "p")
    assert "--by must name the columns" in refused("segments", data)
    assert "--output must end in .png, .svg, .pdf" in refused("plot", data, "-o", "a.gif")
    assert "--kind binnings draws one model; 2 are given" in refused("plot", data, "-p", "p,more", "--kind", "binnings")
    assert "RATE must lie between 0 and 1" in refused("plan", "2", "--ratio", "1")
    assert "--by must name" in refused("check", data, "--max-value", "9", "--segment", "*")
    assert "must lie in [0, 100)" in refused("check", data, "--max-value", "-3")
    told = refused("check", data, "-y", "y", "-p", "p", "--max-value", "9", "--on", "id")
    assert "--on must be left out unless --baseline is a file of the same rows" in told


def test_permission_denied_is_told_in_a_line(folder, data):
    """Root may read and write everything, unless its capabilities are taken away."""
    setpriv = shutil.which("setpriv")
    prefix = (setpriv, "--bounding-set=-all") if setpriv else ()
    secret = folder / "secret.csv"
    secret.write_text("y,p\n1,0.5\n")
    secret.chmod(0)
    locked = folder / "locked"
    locked.mkdir(mode=0o500)
    probe = [*prefix, sys.executable, "-c", "open(__import__('sys').argv[1])", str(secret)]
    if subprocess.run(probe, check=False, capture_output=True).returncode == 0:
        missing("permissions do not bind this user, and setpriv cannot change that")
    assert f"error: {secret}: Permission denied." in refused("evaluate", secret, prefix=prefix)
    told = refused("report", data, "-o", locked / "a.html", prefix=prefix)
    assert f"error: {locked / 'a.html'}: Permission denied." in told
    told = refused("evaluate", data, "-o", locked / "a.json", prefix=prefix)
    assert f"error: {locked / 'a.json'}: Permission denied." in told


def test_places_that_cannot_be_written_are_refused_before_the_work(folder, data):
    assert "Folder not found for '/nowhere/a.json'" in refused("evaluate", data, "-o", "/nowhere/a.json")
    assert "must be a file; it is a folder" in refused("report", data, "-o", folder)
    assert "must be a plain file; it is a device or a pipe" in refused("evaluate", data, "-o", "/dev/null")


def test_a_bug_is_one_line_unless_the_place_is_asked_for():
    code = (
        "import sys\nfrom truecal import cli\nfrom truecal.cli import _commands as commands\n"
        "def plan(args):\n    return {}['a']\n"
        "commands.plan = plan\nsys.exit(cli.main(['plan', '0.1', '--ratio', '2', *sys.argv[1:]]))"
    )

    def fail(*words, **changes):
        command = [sys.executable, "-c", code, *words]
        return subprocess.run(command, capture_output=True, text=True, check=False, env=environment(**changes))

    plain = fail()
    assert plain.returncode == 2
    assert plain.stderr == "error: KeyError: 'a'\nHint: this is a bug; --debug shows where.\n"
    for done in (fail("--debug"), fail(TRUECAL_DEBUG="1")):
        assert "Traceback" in done.stderr
        assert done.returncode == 2  # a gate that broke has neither passed nor failed


def test_warnings_are_notes_once_each():
    code = (
        "import sys, warnings\nfrom truecal import cli\nfrom truecal.cli import _commands as commands\n"
        "def plan(args):\n    for _ in range(3):\n        warnings.warn('look out', stacklevel=1)\n"
        "    warnings.warn('look out', stacklevel=1)\n    return 0\n"
        "commands.plan = plan\nsys.exit(cli.main(['plan', '0.1', '--ratio', '2']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment())
    assert done.stderr == "note: look out\n"


def test_the_script_is_installed():
    script = shutil.which("truecal", path=str(__import__("pathlib").Path(sys.executable).parent))
    assert script is not None
    version = subprocess.run([script, "--version"], capture_output=True, text=True, check=True).stdout
    assert version == subprocess.run([*TRUECAL, "--version"], capture_output=True, text=True, check=True).stdout


def test_near_misses_come_with_the_remedy(folder):
    yes = write_csv(folder / "yes.csv", {"id": [3, 4, 5], "won": ["yes", "no", "no"], "risk": [0.5, 0.1, 0.2]})
    told = refused("evaluate", yes)
    assert "Hint: 'won' holds 'no' and 'yes'; if these are labels, give the column as --label and the positive" in told
    assert told.endswith(f"one as --pos-label, such as  truecal evaluate {yes} --label won --pos-label yes")
    assert run("evaluate", yes, "--label", "won", "--pos-label", "yes", "--null-draws", "0").returncode == 0
    told = refused("evaluate", yes, "--label", "won", "--pos-label", "Yes")
    assert "one of the labels ('no', 'yes'); it is 'Yes'.\nHint: did you mean 'yes'?" in told
    fraud = write_csv(folder / "text.csv", {"fraud": ["fraud", "ok", "ok"], "p": [0.5, 0.1, 0.2]})
    assert refused("evaluate", fraud).endswith("--label fraud --pos-label fraud")
    other = write_csv(folder / "other.csv", {"kind": ["a", "b", "b"], "p": [0.5, 0.1, 0.2]})
    assert refused("evaluate", other).endswith("--label kind --pos-label VALUE")
    signs = write_csv(folder / "signs.csv", {"y": [-1, 1, -1], "p": [0.5, 0.1, 0.2]})
    assert "--pos-label says which of two labels is positive, such as 1." in refused("evaluate", signs)
    twos = write_csv(folder / "twos.csv", {"y": [1, 2, 1], "won": [2, 1, 1], "p": [0.5, 0.1, 0.2]})
    assert "--pos-label says which of two labels is positive, such as 2." in refused("evaluate", twos, "-y", "y")
    (folder / "twos.csv").write_text("won,p\n1,0.5\n2,0.1\n1,0.2\n")
    assert refused("evaluate", twos).endswith("--label won --pos-label 2")
    third = write_csv(folder / "third.csv", {"won": [0, 1, 2], "p": [0.5, 0.1, 0.2]})
    told = refused("evaluate", third)
    assert "Hint: 'won' holds 0, 1 and 2; if these are labels" in told
    assert told.endswith("--label won --pos-label VALUE")
    signed = write_csv(folder / "signed.csv", {"won": [0, 1, 0], "risk": ["50%", "10.5%", "2%"]})
    told = refused("evaluate", signed)
    assert "`risk` must hold numbers; it holds text such as '50%'.\nHint: write percentages without their signs" in told
    rare = write_csv(folder / "rare.csv", {"y": [0, 1, 0], "p": [0.5, 0.1, 0.2]})
    assert "inferred --label y --score p" in run("evaluate", rare, "--percent", "--null-draws", "0").stderr
    percent = write_csv(folder / "percent.csv", {"id": [3, 4, 5], "won": [1, 0, 0], "risk": [50.5, 10, 20]})
    told = refused("evaluate", percent)
    assert "Hint: 'risk' may hold percentages; --percent reads them as such." in told
    assert "Hint: these look like percentages; --percent reads them as such." in refused(
        "evaluate", percent, "-p", "risk"
    )
    assert "Hint: divide percentages by 100." in refused("plan", "5", "--ratio", "1.2")
    told = refused("check", yes, "-y", "won", "-p", "risk", "--max-value", "9", "--segment", "kind=*")
    assert "--by must name the columns that make segments, since a rule is about 'kind=*'; it is missing." in told
    (folder / "days.jsonl").write_text('{"y": 1, "p": 0.5, "day": "2026-01-01"}\n')
    told = refused("drift", folder / "days.jsonl", "--time", "day")
    assert (
        "cast it to a date or a time first, or use it unchanged: with --every none each of its values is a period."
        in told
    )


def write_data(path, columns):
    """The same columns as CSV or as Parquet."""
    if path.suffix == ".csv":
        return write_csv(path, columns)
    try:
        import polars as pl
    except ImportError:
        missing("polars is not installed")
    pl.DataFrame(columns).write_parquet(path)
    return path


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("name", ["rate", "power", "over", "label", "score", "top", "by", "significance"])
def test_columns_called_like_parameters_keep_their_names(folder, name, suffix):
    words = write_data(folder / f"words_{name}.{suffix}", {"y": [0, 1, 0], name: ["low", "high", "low"]})
    told = refused("evaluate", words, "-y", "y", "-p", name)
    assert f"`{name}` must hold numbers" in told
    wide = write_data(folder / f"wide_{name}.{suffix}", {"y": [0, 1, 0], name: [0.5, 0.25, 7.5]})
    assert f"`{name}` is outside [0, 1] in 1" in refused("evaluate", wide, "-y", "y", "-p", name)
    null = write_data(folder / f"null_{name}.{suffix}", {"y": [0, 1, 0], name: [0.5, 0.25, None]})
    null.write_text(null.read_text().replace("None", "")) if suffix == "csv" else None
    told = refused("evaluate", null, "-y", "y", "-p", name)
    assert f"`{name}` is null in 1" in told
    assert "Hint: --drop-missing leaves out rows" in told
    missed = write_data(folder / f"missed_{name}.{suffix}", {"y": [0, 1, 0], name: [0.5, 0.25, 0.125]})
    told = refused("evaluate", missed, "-y", "z", "-p", name)
    assert f"--label must be one of the columns 'y', '{name}'; it is 'z'." in told


def test_a_value_that_may_be_given_once_is_not_given_twice(folder, data):
    for words, told in (
        (["check", data, "--rules", "a.toml", "--rules", "b.toml"], "--rules may be given once; it is 'a.toml' and"),
        (
            [
                "check",
                data,
                "--max-value",
                "9",
                "--by",
                "country",
                "--segment",
                "country=it",
                "--segment",
                "country=de",
            ],
            "--segment may be given once; it is 'country=it' and 'country=de'",
        ),
        (["evaluate", data, "-y", "y", "--label", "p"], "--label may be given once; it is 'y' and 'p'"),
        (["evaluate", data, "--seed", "1", "--seed", "1"], "--seed may be given once; it is 1 and 1"),
        (["evaluate", data, "-o", "a.json", "-o", "b.json"], "--output may be given once"),
        (["segments", data, "--by", "country,country"], "--by must name each once; it names 'country' twice"),
        (["evaluate", data, "-y", "y", "-p", "p", "-p", "p"], "--score must name each once; it names 'p' twice"),
        (["evaluate", data, "--metrics", "tce,tce"], "--metrics must name each once; it names 'tce' twice"),
    ):
        assert told in refused(*words)
    done = run("evaluate", data, "-y", "y", "-p", "p", "--json", "--json", "--null-draws", "0")
    assert done.returncode == 0  # a switch that is on stays on


def test_a_wrong_limit_is_told_by_its_option(data):
    told = refused("check", data, "--max-value", "-3")
    assert "--max-value: The limit of 'ltce' must lie in [0, 100); it is -3.0." in told
    told = refused("check", data, "--max-value", "9", "--max-worse", "ece=0.5")
    assert "--max-worse: `metric` must be test-based" in told
    assert "--max-value: it must be LIMIT or METRIC=LIMIT" in refused("check", data, "--max-value", "much")


def test_an_error_from_inside_polars_is_told_as_one():
    error = polars.exceptions.ComputeError("zstd error: not enough memory\nmore")
    hint = "Hint: memory may have run out; if not, report what --debug shows."
    assert explain(error) == f"polars failed: zstd error: not enough memory\n{hint}"


def test_an_abort_of_a_library_is_told():
    """polars aborts if memory runs out, as under `ulimit -v`; here the command itself does."""
    code = (
        "import os, sys; from truecal.cli import _commands, _main; _commands.check = lambda args: os.abort(); "
        "sys.argv = ['truecal', 'check', 'a.csv']; sys.exit(_main.main())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: a library ended the process, most likely since memory ran out.\nHint: ")


def test_segments_that_no_rule_is_about_are_a_mistake(data):
    told = refused("check", data, "-p", "p", "--by", "country")
    assert "--by makes segments, but no rule is about them; --segment '*' asks for each" in told


def test_hints_lead_on(folder):
    months = {"month": [f"2026-{1 + i % 12:02}" for i in range(300)], "tier": ["a", "b", "c"] * 100}
    place = write_csv(folder / "months.csv", predictions(300) | months)
    assert "--every none takes each value as a period" in refused("drift", place, "--time", "month")
    told = refused("segments", place)
    assert "'tier'" in told.partition(" could")[0]
    assert " --by " in told.partition("Hint: ")[2]
    (folder / "one.csv").write_text("y,p,g\n" + "1,0.5,a\n0,0.25,b\n" * 30)
    assert refused("compare", folder / "one.csv").endswith("--score p,COLUMN")
    done = run("check", folder / "one.csv", "--by", "g", "--segment", "gg=*")
    assert "Did you mean 'g=*'?" in " ".join(done.stdout.split())
    assert "--allow-inconclusive" not in done.stdout
    assert "--drop-missing" not in refused("evaluate", folder / "one.csv", "-y", "y", "-p", "g")


def test_the_first_score_that_is_none_is_shown_with_its_row(folder):
    almost = write_csv(folder / "almost.csv", {"y": [0, 1, 0], "p": [0.5, 0.25, 1.0000001]})
    told = refused("evaluate", almost)
    assert "is outside [0, 1] in 1. The first outside is 1.0000001, in row 3 of `p`." in told
    assert "Hint: --score must be clipped to [0, 1] where it is off by rounding." in told
    two = write_csv(folder / "two.csv", {"y": [0, 1, 0], "p": [0.5, 0.25, 0.5], "id": [0, 7, 8]})
    assert "The first outside is 7.0, in row 2 of `id`." in refused("compare", two, "-p", "p,id")
    classes = write_csv(folder / "cats.csv", {"y": ["a", "b"], "p_a": [0.5, -0.5], "p_b": [0.5, 1.5]})
    assert "The first outside is -0.5, in row 2 of `p_a`." in refused("evaluate", classes, "-y", "y", "-p", "p_*")


def test_logits_of_rare_positives_are_known_as_such(folder):
    place = write_csv(folder / "logits.csv", {"y": [0, 1, 0], "p": [-4.5, 0.5, -0.5]})
    assert "Hint: these look like logits; --logit reads them as such." in refused("evaluate", place)


def test_dates_with_their_year_last_are_no_windows(folder):
    for day in ("31.01.2026", "1/31/2026", "31-1-2026 12:00"):
        place = write_csv(folder / "days.csv", {"y": [0, 1], "p": [0.5, 0.25], "day": [day, day]})
        for words in (
            ["drift", place],
            ["drift", place, "--every", "none"],
            ["monitor", place, "--state", folder / "s"],
        ):
            told = refused(*words, "--time", "day")
            assert "`day` must hold dates written as YYYY-MM-DD, whose order is that of time; " in told
            assert f"the first is '{day}'" in told
            assert "Hint: write dates as 2026-01-31 (ISO 8601)." in told


def test_files_of_truecal_are_told_apart(folder, data):
    calibration_map, state = folder / "map.json", folder / "state.json"
    calibration_map.write_text(to_json(truecal.recalibrate([0, 1] * 50, [0.5] * 100)))
    truecal.Monitor().save(state)
    days = write_csv(folder / "day.csv", {"y": [0, 1], "p": [0.5, 0.25], "day": ["2026-01-31"] * 2})
    told = refused("monitor", days, "--time", "day", "--state", calibration_map)
    assert "must hold the state of a monitor; it holds a calibration map." in told
    assert "Hint: `truecal monitor` starts one if the file does not exist." in told
    told = refused("apply", state, data, "-o", folder / "recalibrated.csv")
    assert "must hold a calibration map; it holds the state of a monitor." in told


def test_errors_name_only_options_that_are_given(folder, data):
    assert "--score must be one of the columns" in refused("compare", data, "-y", "y", "-p", "p,pp")
    told = refused("report", data, "--compare", "p,q", "-o", folder / "r.html")
    assert "--compare takes no value; two columns are named by --score p,q" in told
    three = write_csv(folder / "three.csv", {"y": [0, 1], "p": [0.5, 0.25], "q": [0.5, 0.25], "r": [0.5, 0.25]})
    told = refused("report", three, "--compare", "-p", "p,q,r", "-o", folder / "r.html")
    assert "unless --score names two columns of the files; it names 3" in told


def test_labels_that_are_all_alike_are_asked_about(folder):
    for label, told in ((0, "positive"), (1, "negative")):
        same = write_csv(folder / "same.csv", {"y": [label] * 30, "p": [0.25] * 30})
        for words in (["evaluate", same, "--null-draws", "0"], ["recalibrate", same, "-o", folder / "same.json"]):
            done = run(*words, "-y", "y")
            assert f"note: not one of 30 labels is {told}: is the column right?" in done.stderr
            assert "Recalibrate before" not in done.stdout
            assert "truecal recalibrate" not in done.stdout
    assert "is the column right" not in run("evaluate", folder / "one.csv", "-y", "y", "-p", "p").stderr


def test_a_map_is_fitted_to_one_column(folder):
    classes = write_csv(folder / "pets.csv", {"y": ["a", "b"], "p_a": [0.5, 0.5], "p_b": [0.5, 0.5]})
    told = refused("recalibrate", classes, "-y", "y", "-p", "p_*", "-o", folder / "pets.json")
    assert "--score must name one column of probabilities to recalibrate; it names 2" in told


def test_a_monitor_of_another_score_needs_another_file(folder):
    place = write_csv(
        folder / "scores.csv", {"y": [0, 1], "p": [0.5, 0.25], "q": [0.5, 0.25], "day": ["2026-01-31"] * 2}
    )
    words = "monitor", place, "--time", "day", "--state", folder / "scores.json", "-y", "y", "-p"
    run(*words, "p")
    told = refused(*words, "q")
    assert "--score of the monitor is 'p'; the data have 'q'." in told
    assert "Hint: start another monitor for them; `truecal monitor --state` names its file." in told


def test_rows_written_twice_are_asked_about(folder):
    rows = {"y": [0, 1] * 30, "p": [0.25, 0.75] * 30, "order": list(range(30)) * 2}
    done = run("evaluate", write_csv(folder / "twice.csv", rows), "-y", "y", "-p", "p", "--null-draws", "0")
    assert "note: 30 of the first 60 rows are copies of others in every column" in done.stderr
    counted = run("evaluate", folder / "twice.csv", "-y", "y", "-p", "p", "--count", "order", "--null-draws", "0")
    assert "copies" not in counted.stderr


def test_keys_of_a_file_of_rules_are_named_as_they_are_written(data, folder):
    for key, rule in {"tolerance": 'tolerance = "x"', "significance": "significance = 2"}.items():
        (folder / "keys.toml").write_text(f"[[rule]]\nverdict = true\n{rule}\n")
        assert f"keys.toml, rule 1: `{key}` must" in refused(
            "check", data, "-y", "y", "-p", "p", "--rules", folder / "keys.toml"
        )
    assert refused("check", data, "--significance", "0").startswith("error: --significance must")


def test_names_of_columns_may_have_commas(folder):
    rows = polars.DataFrame({"y": [0, 1] * 50, "risk, 1 year": [0.25, 0.75] * 50, "b": [0.5, 0.5] * 50})
    rows.write_csv(folder / "commas.csv")
    found = run("evaluate", folder / "commas.csv", "-y", "y", "-p", "risk, 1 year,b", "--metrics", "ece", "--csv")
    assert found.returncode == 0, found.stderr
    assert '"risk, 1 year"' in found.stdout


def test_the_column_that_nearly_fits_is_named_with_what_is_wrong_in_it(folder):
    """By its name it would be guessed; the hint is that for the word."""
    cases = {
        "nan": ("y,p\n1,0.2\n0,nan\n0,0.3\n", "`p` is null in 1. The first is in row 2 of `p`.", "--drop-missing"),
        "comma": ('y,p\n1,0.2\n0,0.3\n0,"1,5"\n', "'p' does by its name, but row 3 has '1,5'.", "decimal points"),
        "label": ("y,p\n1,0.2\nna,0.3\n0,0.3\n", "'y' does by its name, but row 2 has 'na'.", "--drop-missing"),
    }
    for name, (text, problem, remedy) in cases.items():
        place = folder / f"nearly_{name}.csv"
        place.write_text(text)
        told = refused("evaluate", place)
        assert problem in told
        assert remedy in told
    told = refused("evaluate", folder / "nearly_label.csv", "-y", "y", "--drop-missing")
    assert "`y` must hold 0 and 1 or booleans; among the labels of" in told
    assert "are 'na' (1 row, the first in row 2), unlike the first." in told


def test_what_takes_one_column_says_so_of_classes_and_of_several_files(folder):
    classes = {"pet": ["cat", "dog", "cat"], "cat": [0.5, 0.25, 0.75], "dog": [0.5, 0.75, 0.25]}
    place = write_csv(folder / "pets.csv", classes)
    told = refused("recalibrate", place, "-o", folder / "map.json")
    assert "`truecal recalibrate` takes one column of probabilities; 'cat', 'dog' are of several classes" in told
    assert told.endswith("make a column of labels that is 1 for this class, and else 0.")
    files = [write_csv(folder / f"{name}.csv", {"y": [0, 1, 0], "p": [0.1, 0.5, 0.2]}) for name in ("one", "other")]
    told = refused("compare", *files)
    assert "Two models must be columns of the same rows" in told
    assert "Hint: join the files by what names a row" in told


def test_errors_have_the_value_and_the_place(folder):
    """Rows of files are counted from 1, and that of the column names is none."""
    for text, told in (
        ("y,p\n1,0.2\n0,\n", "`p` is null in 1. The first is in row 2 of `p`."),
        ("y,p\n1,0.2\n2,0.3\n0,0.1\n", "`y` is neither 0 nor 1 in 1. The first is 2, in row 2 of `y`."),
        (
            "y,p\nno,0.2\nyes,0.3\n",
            "it holds text such as 'no', 'yes'.\nHint: name the positive label with --pos-label, such as 'yes'.",
        ),
    ):
        place = folder / "places.csv"
        place.write_text(text)
        assert told in refused("evaluate", place, "-y", "y", "-p", "p")
    place.write_text("y,p,day\n" + "0,0.1,2026-01-01\n" * 20_000 + "1,0.2,31.01.2026\n")
    assert "`day` must hold dates or times; in 'places.csv' row 20,001 has '31.01.2026'." in refused(
        "drift", "places.csv", cwd=folder
    )
    place.write_text("y,p,day\n0,0.1,2026-01-01\n1,0.2,\n")
    assert "`day` is null in 1. The first is in row 2 of `day`." in refused("drift", place)
    (folder / "place.json").write_text("{}")
    assert refused("report", folder / "plac.json", "-o", folder / "a.html").endswith(
        "plac.json'.\nHint: did you mean 'place.json'?"
    )
    assert refused("evaluate", folder / "q.csv").endswith(f"q.csv'.\nHint: it was looked for in '{folder}'.")
    told = refused(
        "evaluate", write_csv(folder / "long.csv", {"label": [0, 1], "probability": [0.1, 0.2]}), "-p", "prob"
    )
    assert "did you mean 'probability'?" in told
    twice = write_csv(folder / "twice.csv", {"y": [0, 1], "p": [0.1, 0.2], "k": [7, 7]})
    told = refused("check", twice, "--baseline", twice, "--on", "k", "--max-worse", "0")
    assert "Hint: give --on columns that together name one row, such as an id." in told
    told = refused("check", twice, "--segment", "k=*")
    assert "Hint: give --by the column that the rule names, 'k'." in told


def test_scores_that_look_like_probabilities_are_doubted_on_another_scale(folder):
    place = write_csv(folder / "fractions.csv", {"y": [0, 1] * 50, "p": [0.25, 0.5] * 50})
    told = run("evaluate", place, "--percent").stderr
    assert "note: p lies in [0, 1] in the first rows, and --percent divides them by 100: are they probabilities" in told
    assert (
        "--logit takes them for log-odds: are they probabilities already?" in run("evaluate", place, "--logit").stderr
    )
    place = write_csv(folder / "percentages.csv", {"y": [0, 1] * 50, "p": [25.5, 50.5] * 50})
    assert "probabilities already" not in run("evaluate", place, "--percent").stderr


def test_check_asks_whether_labels_that_are_all_the_same_are_right(folder):
    place = write_csv(folder / "negative.csv", {"y": [0] * 50, "p": [0.25, 0.5] * 25})
    assert "note: not one of 50 labels is positive: is the column right?" in run("check", place).stderr
