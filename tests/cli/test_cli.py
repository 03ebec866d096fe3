"""The command line's answers, against the functions of the library that they come from."""

import csv
import gzip
import io
import json
import re
import shlex
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from command import environment, predictions, run, run_process, write_csv

import truecal
from truecal import demo
from truecal.cli import _options as options
from truecal.results import Result
from truecal.results._bands import _draw_bar
from truecal.results._directions import find_directions
from truecal.words import explain_bins, format_null_p, label_sign

pytestmark = pytest.mark.slow

COLUMNS = {"label": "y", "score": "p"}
METRICS = ["ltce", "tce", "ece", "log_loss", "brier", "slope", "intercept"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("cli")


@pytest.fixture(scope="module")
def data(folder):
    return write_csv(folder / "preds.csv", predictions())


@pytest.fixture(scope="module")
def expected(data):
    return truecal.evaluate(truecal.read(data, **COLUMNS), metrics=METRICS, null_draws=199, random_state=0)


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_score_prints_values_beside_chance_with_units(data, expected):
    done = run("evaluate", data, "--explain")
    assert done.returncode == 0
    assert done.stderr == ("note: inferred --label y --score p (more could be a score, too)\n")
    assert f"\n\nNext: truecal slices {data} (which groups?)\n" in done.stdout
    table = done.stdout.split("\n\n")[2]
    lines = {line.split()[0]: line for line in table.splitlines()}
    for name in METRICS:
        reference = expected.nulls[name]
        assert expected.format(name) in lines[name]
        assert lines[name].endswith(f"  {format_null_p(reference)}")
    assert f"{expected.nulls['tce'].mean:.2f}%" in lines["tce"]
    told = " ".join(done.stdout.split())
    assert "% of predictions rejected (Binomial test at 0.05); 0 is best, 100 worst" in told
    assert "a probability; 0 is best, 1 worst" in done.stdout
    assert "if calibrated the mean of 199 simulations: labels simulated from the predictions" in told
    assert "p the share of simulations as extreme" in told
    assert f"3,000 predictions, {expected.positives} positives ({100 * expected.prevalence:.3g}%)" in told
    assert len(run("evaluate", data).stdout) < len(done.stdout)  # explanations are asked for


def test_score_begins_with_the_verdict(data, folder, expected):
    """The status with a sign, observed and expected counts, the score bands, and what was detectable."""
    verdict = expected.verdict
    text = run("evaluate", data).stdout
    told = " ".join(text.split())
    assert verdict.status == "consistent"
    assert text.startswith(f"{data}: 3,000 predictions")
    assert f"\n\n{label_sign(verdict.status)} CONSISTENT   no miscalibration found: " in text
    low, high = verdict.interval
    counts = f"observed {verdict.observed}, expected {verdict.expected:.1f}, O/E {verdict.ratio:.2f}"
    assert f"{counts} (95% CI {low:.2f}–{high:.2f}), p = {verdict.p_value:.2g} " in told
    null = f"{expected.nulls['ltce'].mean:.3g}%"
    assert f"Local TCE {expected['ltce']:.3g}% ({null} if calibrated)" in told
    assert verdict.sentences()[-1] in told
    assert "under-predicts" not in text
    plain = run_process("evaluate", data, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0").stdout
    assert "\n\n+ CONSISTENT" in plain
    halved = write_csv(folder / "halved.csv", {"y": [0, 1, 0, 1] * 500, "p": [0.2] * 1000 + [0.5] * 1000})
    text = run("evaluate", halved).stdout
    result = truecal.evaluate(truecal.read(halved, **COLUMNS), metrics=["ltce"])
    found = result.verdict
    assert (found.status, [(b.low, b.observed, b.rows) for b in found.bands if b.direction]) == (
        "miscalibrated",
        [(0.2, 500, 1000)],
    )
    assert f"\n\n{label_sign(found.status)} MISCALIBRATED   under-predicts at 20%: " in text
    low, high = found.bands[0].odds_ratio.ratio_low, found.bands[0].odds_ratio.ratio_high
    head, row, other, below = text.split("\n\n")[3].splitlines()
    assert head.split()[:8] == ["score", "band", "n", "predicted", "observed", "O/E", "95%", "CI*"]
    assert below == "  * simultaneous over the 2 bands"
    assert row.endswith("   under-predicts")
    assert f"20% 1,000 20% 50% 2.50 {low:.2f}–{high:.2f} |" in " ".join(row.split())
    assert "predicts" not in other
    few = run("evaluate", "-", stdin="y,p\n0,0.4\n1,0.5\n").stdout
    assert few.startswith("standard input: 2 predictions")
    assert "\n\n? INCONCLUSIVE   observed 1, expected 0.9, " in few
    assert "slope inf (the scores separate the labels)" in " ".join(few.split())
    both = run("evaluate", data, "-p", "p,more").stdout
    assert "1 of 2 models is miscalibrated, 1 consistent." in both
    assert [line.split()[:2] for line in both.split("\n\n")[2].splitlines()[1:3]] == [
        ["more", "miscalibrated"],
        ["p", "consistent"],
    ]


def test_bars_of_ratios_say_what_the_intervals_say():
    """On a scale from 1/2 to 2 with fifteen places each place is a factor of 2^(1/7)."""
    assert _draw_bar(1.1, 1.05, 1.9, 2) == "       |+----- "
    assert _draw_bar(0.7, 0.55, 0.99, 2) == " --+---|       "
    assert _draw_bar(1.0, 0.6, 1.5, 2) == "  -----+----   "


def test_an_error_without_a_direction_says_so():
    """A miscalibrated row whose interval of O/E holds 1, with no direction of its slope; and one that is consistent."""
    ratio, low, high = np.array([1.0, 1.0]), np.array([0.9, 0.9]), np.array([1.1, 1.1])
    assert find_directions(np.array([True, False]), ratio, low, high, [None, None]) == ["unclear", None]


def test_a_region_and_a_tolerance_reach_every_command_that_judges(data, folder):
    observations = truecal.read(data, label="y", score="p", by="country", baseline="more")
    options = dict(threshold=0.1, tolerance=truecal.Relative(0.1), random_state=0)
    words = ["--threshold", "0.1", "--tolerance", "10%"]
    read = truecal.results.from_json
    got = read(run("evaluate", data, *words, "--null-draws", "0", "--json").stdout)
    assert got == truecal.evaluate(observations, metrics=METRICS, **options)
    got = read(run("segments", data, "--by", "country", *words, "--json").stdout)
    assert got == truecal.segments(observations, **options)
    names = ["-y", "y", "-p", "p,more", "--resamples", "50"]
    got = read(run("compare", data, *words, *names, "--json").stdout)
    assert got["tce"] == truecal.compare(observations, resamples=50, **options)["tce"]
    got = read(run("drift", data, "--time", "country", "--every", "none", *words, "--json").stdout)
    windows = truecal.read(data, label="y", score="p", time="country", every=None)
    assert got == truecal.drift(windows, **options)
    got = truecal.Decision.from_json(run("check", data, *words, "--json").stdout)
    assert got == truecal.check(observations, **options)
    assert got.results[0].n == read(run("evaluate", data, *words, "--json").stdout).n < 3000
    for command, place in (("report", folder / "region.html"), ("plot", folder / "region.svg")):
        assert run(command, data, *words, "--null-draws", "0", "-o", place).returncode == 0
    assert "scores of at least 0.1" in (folder / "region.html").read_text()


def test_score_as_json_reads_back_to_an_equal_result(data, expected):
    assert Result.from_json(run("evaluate", data, "--json").stdout) == expected


def test_several_models_have_a_key_each(data, expected):
    models = truecal.results.from_json(run("evaluate", data, "-y", "y", "-p", "p,more", "--json").stdout)
    assert list(models) == ["p", "more"]
    assert models["p"] == expected


def test_score_as_csv_has_a_row_for_each_metric_and_model(data, expected):
    done = run("evaluate", data, "-y", "y", "-p", "p", "-p", "more", "--csv", "--resamples", "50")
    rows = rows_of(done.stdout)
    assert [(row["metric"], row["model"]) for row in rows] == [(m, s) for m in METRICS for s in ("p", "more")]
    assert float(rows[0]["value"]) == expected["ltce"]
    assert float(rows[0]["null_mean"]) == expected.nulls["ltce"].mean
    sides = float(rows[0]["too_low"]), float(rows[0]["too_high"])  # in the unit of the value
    assert sides == pytest.approx((expected.verdict.local.too_low, expected.verdict.local.too_high))
    assert sum(sides) == pytest.approx(expected["ltce"])
    units = ["percent", "percent", "probability", "nats", "probability", "", ""]
    assert [row["unit"] for row in rows[::2]] == units
    assert [row["status"] for row in rows] == ["consistent", "miscalibrated"] * 7
    assert float(rows[0]["verdict_p"]) == expected.verdict.p_value
    assert float(rows[0]["low"]) <= float(rows[0]["value"]) <= float(rows[0]["high"])


def test_bins_come_as_text_and_as_csv(data, expected):
    rows = rows_of(run("evaluate", data, "--bins", "--csv").stdout)
    assert [int(row["k"]) for row in rows] == expected.bins.k.tolist()
    text = run("evaluate", data, "--bins").stdout
    head, *_, last, _ = text.split("\n\n")[-3].splitlines()
    assert re.split("  +", head.strip())[-4:] == ["accepted", "p", "rejected", "side"]
    assert f"{expected.bins.rate[-1]:.4g}" in last
    assert text.split("\n\n")[-2].split() == explain_bins(expected.bins).split()


def test_options_reach_the_library(data):
    words = "--metrics tce_q,mce --significance 0.01 --threshold 0.2 --null-draws 0 --threads 2"
    result = Result.from_json(run("evaluate", data, *words.split(), "--json").stdout)
    options_ = dict(metrics=["tce_q", "mce"], significance=0.01, threshold=0.2, random_state=0)
    assert result == truecal.evaluate(truecal.read(data, **COLUMNS), **options_)
    shown = run("evaluate", data, "--top", "100").stdout
    assert "(the top 100 of 3,000 predictions)" in " ".join(shown.split())
    assert len(Result.from_json(run("evaluate", data, "--metrics", "all", "--json").stdout).values) == len(
        options.METRICS
    )


def test_saved_results_are_printed_drawn_and_reported_again(data, folder):
    saved = folder / "saved.json"
    assert run("evaluate", data, "-o", saved).stdout == ""
    again = run("evaluate", saved)
    shown, following = run("evaluate", data).stdout.split("\n\nNext: ")  # a saved result has no rows to go on with
    assert following.startswith("truecal slices ")
    assert again.stdout.rstrip("\n").partition("\n")[2] == shown.partition("\n")[2]
    assert run("report", saved, "-o", folder / "saved.html").returncode == 0
    assert "saved" in (folder / "saved.html").read_text()


def test_files_come_from_standard_input_globs_folders_and_packed(data, folder, expected):
    parts = folder / "parts"
    parts.mkdir()
    head, *lines = data.read_text().splitlines(keepends=True)
    (parts / "a.csv").write_text("".join([head, *lines[:1000]]))
    (parts / "b.csv").write_text("".join([head, *lines[1000:]]))
    packed = folder / "packed.csv.gz"
    packed.write_bytes(gzip.compress(data.read_bytes()))
    for words, stdin in (
        (["-"], data.read_text()),
        ([parts / "*.csv"], ""),
        ([parts / "a.csv", parts / "b.csv"], ""),
        ([parts], ""),
        ([packed], ""),
    ):
        done = run("evaluate", *words, "--json", "--null-draws", "0", stdin=stdin)
        assert done.returncode == 0, done.stderr
        assert Result.from_json(done.stdout)["tce"] == expected["tce"]
    assert "standard input: 3,000 predictions" in run("evaluate", "-", stdin=data.read_text()).stdout.splitlines()[0]


def test_options_and_files_stand_in_any_order(data):
    done = run("evaluate", "-y", "y", data, "-p", "p", "--json")
    assert done.returncode == 0, done.stderr


def test_compare_gives_the_librarys_difference(data):
    words = ["compare", data, "-y", "y", "-p", "p,more", "--resamples", "200"]
    compared = truecal.compare(truecal.read(data, **COLUMNS, baseline="more"), resamples=200, random_state=0)
    found = compared["tce"]
    table = truecal.results.Comparison.from_json(run(*words, "--json").stdout)
    assert table.models == ("p", "more")
    assert table == compared
    text = run(*words).stdout
    assert f"{found.difference:.2f}%" in text
    assert f"{found.low:.2f} to {found.high:.2f}%" in text
    assert " ".join(compared.sentences()) in " ".join(text.split())
    assert compared.sentences()[0] == "p is consistent, more is miscalibrated."
    assert compared.sentences()[1].startswith("p is better calibrated: Local TCE ")
    assert found.high < 0
    assert float(rows_of(run(*words, "--csv").stdout)[-1]["second"]) == found.second


def test_segments_are_the_librarys_worst_first(data):
    table = truecal.segments(truecal.read(data, **COLUMNS, by=["country", "kind"]), random_state=0)
    words = ["segments", data, "--by", "country,kind", "-y", "y", "-p", "p"]
    assert truecal.results.GroupTable.from_json(run(*words, "--json").stdout) == table
    assert table.by == ("country", "kind")
    assert table.segment[0] == ("de", "card")
    rows = rows_of(run(*words, "--csv").stdout)
    assert [(row["country"], row["kind"]) for row in rows] == list(table.segment)
    text = run(*words, "--worst", "2").stdout
    head, *shown = [line.strip() for line in text.split("\n\n")[1].splitlines()[:3]]
    assert re.split("  +", head) == [
        *("country, kind", "n", "O", "E", "O/E (95% CI)", "p (Holm)", "status", "detectable OR", "ltce"),
    ]
    for line, i in zip(shown, table.order()[:2], strict=True):
        assert line.startswith(", ".join(table.segment[i]))
        assert f"{table.ratio[i]:.2f} ({table.ratio_low[i]:.2f}–{table.ratio_high[i]:.2f})" in line
    assert "The 2 worst are shown; --worst 0 shows all." in text
    again = run("evaluate", data, "--by", "country,kind")
    assert again.stdout == run(*words).stdout
    assert "note: --by evaluates each segment by itself, as `truecal segments` does" in again.stderr


@pytest.mark.parametrize("width", [80, 100])
def test_the_interval_and_the_direction_fit_in_80_columns(folder, width):
    """Names shrink first, to different texts; then what is less needed is left out."""
    columns = predictions(6000)
    names = [f"Federal Republic of Germany, {kind} customers of long standing" for kind in ("retail", "business")]
    columns["country"] = [names[i % 2] for i in range(6000)]
    columns["p"] = [p / 2 if i % 2 else p for i, p in enumerate(columns["p"])]
    data = write_csv(folder / f"long{width}.csv", columns | {"country": [f'"{name}"' for name in columns["country"]]})
    table = truecal.segments(truecal.read(data, **COLUMNS, by="country"))
    text = run("segments", data, "--by", "country", "-y", "y", "-p", "p", COLUMNS=str(width)).stdout
    _, *lines = text.split("\n\n")[1].splitlines()[:3]
    assert max(map(len, lines)) < width
    shown = [re.split("  +", line.strip()) for line in lines]
    assert len({row[0] for row in shown}) == 2
    for row, i in zip(shown, table.order(), strict=True):
        assert row[1] == f"{table.n[i]:,}"
        assert f"{table.ratio[i]:.2f} ({table.ratio_low[i]:.2f}–{table.ratio_high[i]:.2f})" in row
        assert table.status[i] in row
        assert not table.direction[i] or table.direction[i] in row


def test_what_a_segment_would_have_shown_is_said(folder):
    columns = predictions(2000)
    columns["country"][:2] = ["xx", "xx"]
    columns["p"][:2] = [0.4, 0.4]
    data = write_csv(folder / "small.csv", columns)
    table = truecal.segments(truecal.read(data, **COLUMNS, by="country"))
    assert table.status[table.names.index("country=xx")] == "inconclusive"
    text = " ".join(run("segments", data, "--by", "country").stdout.split())
    assert all(line in text for line in table.sentences())
    assert "segments are inconclusive: minimum detectable odds ratio " in text
    assert "; 1.5 is required." in text


def test_references_of_segments_are_drawn_on_request(data):
    words = ["segments", data, "--by", "country", "--metrics", "tce", "--null-draws", "99", "-y", "y", "-p", "p"]
    table = truecal.segments(
        truecal.read(data, **COLUMNS, by="country"), "tce", null_draws=99, random_state=0, threads=2
    )
    assert truecal.results.GroupTable.from_json(run(*words, "--json").stdout) == table
    assert "if calibrated" in run(*words, COLUMNS="200").stdout


def test_plan_gives_the_librarys_numbers(data):
    plan = truecal.plan(0.01, ratio=1.2)
    raw = json.loads(run("plan", "0.01", "--ratio", "1.2", "--json").stdout)
    assert (raw["rows"], raw["fifth_rows"]) == (plan.rows, plan.fifth_rows)
    text = " ".join(run("plan", "0.01", "--ratio", "1.2").stdout.split())
    assert "To detect that 1.2% are positive when 1% are predicted (odds ratio 1.2), with 80% power" in text
    assert (
        f"{plan.rows:,} rows {plan.fifth_rows:,} rows, if the error is confined to a fifth of the information" in text
    )
    row = rows_of(run("plan", "0.3", "--factor", "0.8", "--power", "0.9", "--csv").stdout)[0]
    assert int(row["rows"]) == truecal.plan(0.3, factor=0.8, power=0.9).rows
    there = truecal.plan(0.01, rows=50_000)
    text = " ".join(run("plan", "0.01", "--rows", "50000").stdout.split())
    assert "Detectable in 50,000 rows of predictions of 1%, with 80% power" in text
    assert f"{there.above:.3g} or above, {1 / there.below:.3g} or below on all predictions" in text
    text = " ".join(run("plan", "0.01", "--rows", "1000").stdout.split())
    few = truecal.plan(0.01, rows=1000)
    assert few.fifth_below == float("inf")
    blind = "confined to a fifth of the information; no odds ratio below 1 is detectable"
    assert f"{few.fifth_above:.3g} or above {blind}" in text


def test_report_and_plots_are_written(data, folder):
    done = run("report", data, "--by", "country", "--json", cwd=folder)
    raw = json.loads(done.stdout)
    assert (raw["truecal"]["type"], raw["files"]) == ("files", ["report.html"])
    assert "country=de" in (folder / "report.html").read_text()
    assert run("report", data, "-y", "y", "-p", "p,more", "--compare", "-o", folder / "two.html").returncode == 0
    compared = truecal.compare(truecal.read(data, **COLUMNS, baseline="more"), random_state=0)
    page = (folder / "two.html").read_text().replace("\N{NO-BREAK SPACE}", " ")
    assert all(line in page for line in compared.sentences())
    refused = run("report", data, "-y", "y", "-p", "p", "--compare", "-o", folder / "one.html")
    assert (refused.returncode, "--compare must be left out unless" in refused.stderr) == (2, True)
    magic = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
    places = {
        kind: folder / f"{kind}.{suffix}"
        for kind, suffix in zip(options.PLOTTED[:-1], [*magic, *magic, "png"], strict=True)  # drift is of scale
    }
    for kind, place in places.items():
        assert run("plot", data, "--kind", kind, "-o", place, "--by", "country").stdout == f"Wrote {place}\n"
        assert place.read_bytes().startswith(magic[place.suffix[1:]])
    assert json.loads(run("plot", data, "-o", folder / "a.png", "--json").stdout)["files"] == [str(folder / "a.png")]


def test_check_exits_with_the_verdict(data, folder, expected):
    passed = run("check", data, "--max-value", 99.9)
    assert (passed.returncode, passed.stdout.split()[0]) == (0, "PASS")
    failed = run("check", data, "-p", "more", "--max-value", "5", "--max-value", "ece=0.5", "--json")
    decision = truecal.Decision.from_json(failed.stdout)
    assert (failed.returncode, decision.status, json.loads(failed.stdout)["exit_code"]) == (1, "fail", 1)
    more = truecal.evaluate(truecal.read(data, label="y", score="more"), metrics=METRICS)
    assert list(decision.results.observed) == [more["ltce"], more["ece"]]
    assert list(json.loads(failed.stdout))[:3] == ["truecal", "status", "exit_code"]
    few = run("check", data, "--max-value", 99.9, "--min-rows", 10_000, "--csv")
    assert (few.returncode, rows_of(few.stdout)[0]["status"]) == (3, "inconclusive")
    told = " ".join(run("check", data, "--min-rows", 10_000).stdout.split())
    assert told.endswith("fewer than the 10,000 required.")
    assert "--allow-inconclusive" not in told  # it lets no rule pass whose rows are too few
    certain = write_csv(folder / "certain.csv", {"y": [0, 1] * 50, "p": [0.0, 1.0] * 50, "land": ["de", "fr"] * 50})
    told = " ".join(run("check", certain, "-y", "y", "-p", "p").stdout.split())
    assert "every prediction is exactly 0 or 1, so no odds ratio can be detected" in told
    assert "Predictions of exactly 0 and 1 are class labels: use the probabilities behind them." in told
    assert "such rows" not in told  # more rows would not help
    limited = run("check", data, "-p", "p", "--max-value", 0.01)
    assert limited.returncode == 3
    told = " ".join(limited.stdout.split())
    assert told.endswith(
        "A calibrated model can exceed a limit through sampling variation: raise the limit, or limit the excess over the null mean with "
        "--max-excess."
    )
    assert run("check", data, "-p", "p", "--max-value", 0.01, "--allow-inconclusive").stdout == limited.stdout


def test_check_without_rules_judges_by_the_verdict(data, folder):
    right, wrong = run("check", data, "-p", "p"), run("check", data, "-p", "more")
    assert (right.returncode, right.stdout.split()[0]) == (0, "PASS")
    assert (wrong.returncode, wrong.stdout.split()[0]) == (1, "FAIL")
    assert "miscalibrated (p < 0.0001, at most 0.01): observed " in " ".join(wrong.stdout.split())
    few = write_csv(folder / "few.csv", {"y": [0] * 300, "p": [0.001] * 300})
    told = run("check", few)
    assert (told.returncode, told.stdout.split()[0]) == (3, "INCONCLUSIVE")
    allowed = run("check", few, "--allow-inconclusive", "--json")
    rule = truecal.Rule("verdict", allow_inconclusive=True)
    assert (allowed.returncode, truecal.Decision.from_json(allowed.stdout).results.rule) == (0, (rule,))
    parts = run("check", data, "-p", "p", "--by", "kind", "--segment", "kind=*", "--significance", "0.05", "--json")
    found = truecal.check(
        truecal.read(data, **COLUMNS, by="kind"), [truecal.Rule("verdict", segment="kind=*", significance=0.05)]
    )
    assert truecal.Decision.from_json(parts.stdout) == found
    rules = folder / "verdict.toml"
    rules.write_text("[[rule]]\nverdict = true\n")
    assert run("check", data, "-p", "more", "--rules", rules).stdout == wrong.stdout
    refused = run("check", data, "--rules", rules, "--allow-inconclusive")
    assert refused.returncode == 2
    assert "--allow-inconclusive is for a rule made of options; beside --rules there is none" in refused.stderr


def test_check_takes_rules_segments_and_a_baseline(data, folder):
    rules = folder / "gate.toml"
    rules.write_text('[[rule]]\nmax_value = 99.9\n[[rule]]\nsegment = "country=*"\nmax_value = 0.001\n')
    junit, markdown = folder / "junit.xml", folder / "summary.md"
    done = run(
        "check", data, "-p", "more", "--rules", rules, "--by", "country", "--junit", junit, "--markdown", markdown
    )
    assert done.returncode == 1
    assert '<testsuites name="truecal" tests="4"' in junit.read_text()  # the whole and three countries
    assert markdown.read_text().startswith("## Calibration gate: FAIL")
    worse = run("check", data, "-p", "more", "--baseline", "p", "--max-worse", "0", "--resamples", "200")
    assert worse.returncode == 1
    better = run("check", data, "-p", "p", "--baseline", "more", "--non-inferior", "0", "--resamples", "200")
    assert better.returncode == 0


def test_check_tells_github_in_a_workflow(data, folder):
    summary = folder / "step.md"
    summary.write_text("before\n")
    done = run("check", data, "-p", "more", GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(summary))
    plain = run("check", data, "-p", "more", GITHUB_STEP_SUMMARY=str(summary))
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout) == (1, plain.stdout)
    assert "::error title=truecal%3A more::miscalibrated" in done.stderr
    assert "::error" not in plain.stderr
    assert summary.read_text().startswith("before\n## Calibration gate: FAIL")
    assert summary.read_text().count("## Calibration gate") == 1


def test_demo_does_what_the_module_does(folder, monkeypatch):
    """`test_demo` runs it as it is."""
    monkeypatch.setattr(demo, "main", lambda place: print(f"to {place}"))
    assert run("demo", "pictures", cwd=folder).stdout == "to pictures\n"
    monkeypatch.setattr(demo, "simulate", partial(demo.simulate, 1000))
    monkeypatch.setattr(demo.plot, "save", lambda place, *_, **__: place.touch() or place)
    written = json.loads(run("demo", "more", "--json", cwd=folder).stdout)["files"]
    assert set(written) == {f"more/{path.name}" for path in (folder / "more").iterdir()}
    assert "more/report.html" in written


def test_missing_values_are_dropped_on_request_and_counted(folder):
    columns = predictions(200)
    columns["p"][:3] = ["", "NA", ""]
    data = write_csv(folder / "missing.csv", columns)
    refused = run("evaluate", data, "-y", "y", "-p", "p")
    assert refused.returncode == 2
    assert "`p` is null in 3" in refused.stderr
    assert "Hint: --drop-missing leaves out rows whose label, score or time is missing" in refused.stderr
    done = run("evaluate", data, "-y", "y", "-p", "p", "--drop-missing")
    assert done.returncode == 0
    assert "note: of 200 rows 3 were dropped" in done.stderr
    assert "197 predictions" in done.stdout


def test_every_command_has_help_with_examples_that_parse():
    for name, command in options.COMMANDS.items():
        done = run(name, "--help", COLUMNS="60")
        assert done.returncode == 0
        assert "examples:" in done.stdout
        assert max(map(len, done.stdout.splitlines())) <= 60
        text = " ".join(command.examples).replace("\\ ", "")
        for example in text.split("truecal ")[1:] if name != "completion" else []:
            first, *words = shlex.split(example.partition(" < ")[0])
            assert first == name
            options.make_parser(name).read(words)


def test_the_overview_lists_every_command_and_exit_code():
    for words in (["--help"], ["help"]):
        done = run(*words, COLUMNS="60")
        assert done.returncode == 0
        assert all(f"\n  {name} " in done.stdout for name in options.COMMANDS)
        assert all(f"\n  {code} " in done.stdout for code in (0, 1, 2, 3, 130, 141))
        assert max(map(len, done.stdout.splitlines())) <= 60
    assert run("--version").stdout == f"truecal {truecal.__version__}\n"


def test_nothing_slow_is_loaded(data):
    code = (
        "import sys; from truecal.cli._main import main; main(sys.argv[1:]); "
        "print(*(name for name in ('scipy.stats', 'pandas', 'pyarrow', 'matplotlib', 'xml') if name in sys.modules))"
    )

    def loaded(*words):
        command = [sys.executable, "-c", code, *map(str, words)]
        own = {name: value for name, value in environment().items() if not name.startswith("COVERAGE_")}
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=own)
        return done.stdout.splitlines()[-1]

    assert loaded("evaluate", data) == ""
    assert loaded("segments", data, "--by", "country") == ""


def test_help_loads_no_library():
    """Help, mistakes and completion are there at once: neither NumPy nor polars is imported for them."""
    code = (
        "import sys; from truecal.cli import main; main(sys.argv[1:]); "
        "print(*(name for name in ('numpy', 'scipy', 'polars', 'narwhals', 'shtab') if name in sys.modules), file=sys.stderr)"
    )
    for words in (
        ["--help"],
        ["--version"],
        ["evaluate", "--help"],
        ["check", "--help"],
        ["evalute"],
        ["evaluate", "--lable"],
    ):
        command = [sys.executable, "-c", code, *words]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment())
        assert done.stderr.splitlines()[-1] == "", words


def test_a_column_of_keys_is_inconclusive(data):
    done = run("segments", data, "--by", "id", "-y", "y", "-p", "p")
    assert done.stdout.startswith(f"{data}: 3,000 segments by id")
    assert "3,000 segments are inconclusive: no odds ratio" in " ".join(done.stdout.split())


def test_score_and_check_agree_on_as_many_draws(data):
    result = Result.from_json(run("evaluate", data, "-y", "y", "-p", "p", "--null-draws", "1000", "--json").stdout)
    done = run("check", data, "-y", "y", "-p", "p", "--max-excess", "50", "--json")
    (finding,) = truecal.Decision.from_json(done.stdout).results
    assert finding.observed == result.nulls["ltce"].excess
    assert "ltce minus its null mean (1,000 null draws) is " in finding.reason
