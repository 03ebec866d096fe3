"""Names are data: whatever they hold, pictures, pages, tables and messages show it and do nothing else."""

import csv
import html
import io
import re
import xml.dom.minidom

import numpy as np
import pytest
from command import run, show

import truecal
from truecal.results._recalibration import _literal
from truecal.words._gate import _escape_markdown

NAMES = ['<a href="javascript:alert(1)">x</a>', "=1+1", "\x1b[31mred\x07\x00", r"$\frac{1}{2}$", "a\nb", "@cmd", "-2+3"]


@pytest.fixture(scope="module")
def tables():
    pl = pytest.importorskip("polars")
    rng = np.random.default_rng(0)
    p = rng.beta(1, 9, 3500)
    names = np.array(NAMES, dtype=object)[np.arange(3500) % len(NAMES)]
    frame = pl.DataFrame({"y": rng.random(3500) < p, "p": p, "name": names, "time": names})
    data = truecal.read(frame, label="y", score="p", by="name", time="time", every=None)
    drift = truecal.drift(data, null_draws=9)
    return data, truecal.segments(data, by="name", null_draws=9), drift


@pytest.mark.filterwarnings("ignore:Glyph")
@pytest.mark.parametrize("kind", ["drift", "segments"])
def test_pictures(tables, tmp_path, kind, need):
    need("matplotlib")
    _, segments, drift = tables
    place = tmp_path / "a.svg"
    truecal.plot.save(place, kind, drift if kind == "drift" else segments)
    found = xml.dom.minidom.parse(str(place))
    assert not found.getElementsByTagName("a")


def test_pages(tables, tmp_path):
    data, segments, drift = tables
    result = truecal.evaluate(data, metrics=["ltce", "tce"])
    place = tmp_path / "a.html"
    truecal.report(dict.fromkeys(NAMES, result), place, segments=segments, drift=drift)
    page = place.read_text()
    assert '<a href="javascript' not in page
    assert not set("\x1b\x07\x00") & set(page)


def test_spreadsheets_compute_nothing(tables):
    _, segments, _ = tables
    cells = {row["name"] for row in csv.DictReader(io.StringIO(segments.to_csv()))}
    assert {"'=1+1", "'@cmd", "'-2+3"} <= cells
    assert not {"=1+1", "@cmd", "-2+3"} & cells


def test_messages_hold_no_escapes(tmp_path):
    place = tmp_path / "a.csv"
    place.write_text("y,p\x1b[31m\n0,0.5\n1,0.5\n")
    done = run("evaluate", place, "-y", "no\x1b[32mthing", "-p", "p\x1b[31m")
    assert done.returncode == 2
    assert "\x1b" not in done.stderr
    assert r"\x1b[32m" in done.stderr
    place.write_text("y,p\x1b[31m\n0,0.5\n1,0.5\n1,\n")
    done = run("evaluate", place, "-y", "y", "-p", "p\x1b[31m", "--metrics", "ece", "--drop-missing")
    assert done.returncode == 0
    (note,) = (line for line in done.stderr.splitlines() if "dropped" in line)
    assert note.startswith("note: ")
    assert r"`p\x1b[31m` is null in 1" in note
    assert "\x1b" not in done.stderr + done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files whose column, segments and windows have names that mean something elsewhere; one of them is off."""
    pl = pytest.importorskip("polars")
    place, rng, rows = tmp_path_factory.mktemp("names"), np.random.default_rng(0), 500 * len(NAMES)
    p, number = rng.beta(2, 2, rows), np.arange(rows) % len(NAMES)
    names = np.array(NAMES, dtype=object)[number]
    day = np.array(["2026-01-01", "2026-01-02"], dtype="datetime64[D]")[number % 2]
    columns = {"p": p, "na\x1b[32mme": names, "=c": names, "day": day}
    columns["y"] = (rng.random(rows) < np.where(number == 2, p**3, p)).astype(np.int64)
    pl.DataFrame(columns).write_parquet(place / "a.parquet")
    (place / "r\x07.toml").write_text('[[rule]]\nmetric = "ece"\nmax_value = 0.01\nsegment = "*"\n')
    return place


BY = ("--by", "na\x1b[32mme")
SHOWN = {
    "evaluate": ("--top", "9"),
    "segments": BY,
    "segments --csv": BY,
    "drift": ("--time", "=c", "--every", "none"),
    "drift --csv": ("--time", "=c", "--every", "none"),
    "slices": (),
    "slices --csv": (),
    "slices --json": (),
    "check": (*BY, "--rules", "r\x07.toml", "--junit", "a.xml", "--markdown", "a.md"),
    "monitor": (*BY, "--time", "day", "--now", "2026-02-01", "--state", "a.json", "--prom", "a.prom"),
    "monitor --csv": (*BY, "--time", "day", "--now", "2026-02-01", "--state", "b.json"),
    "recalibrate": (*BY, "-o", "m\x07.json"),
    "recalibrate --sql": ("--by", "=c", "-o", "c.json"),
    "report": (*BY, "--time", "=c", "--every", "none", "--title", NAMES[2], "-o", "a\x1b.html"),
    "plot": (*BY, "-o", "a.svg"),
}


@pytest.mark.filterwarnings("ignore:Glyph")
@pytest.mark.parametrize("words", SHOWN)
def test_a_terminal_and_files_get_no_escapes(folder, need, words):
    need("matplotlib")
    command, *more = words.split()
    before = set(folder.iterdir())
    code, text = show(command, "a.parquet", "-y", "y", "-p", "p", *SHOWN[words], *more, cwd=folder, NO_COLOR="1")
    assert code in (0, 1), text
    assert all(line.isprintable() for line in re.split("[\r\n]", text))  # progress returns to the start of its line
    for place in set(folder.iterdir()) - before:
        found = place.read_text()
        assert not set("\x1b\x07\x00") & set(found), place
        if place.suffix in (".xml", ".svg"):
            xml.dom.minidom.parseString(found)


def test_sql_means_the_names(folder, need):
    duckdb, pl = need("duckdb"), need("polars")
    data = truecal.read(folder / "a.parquet", label="y", score="p", by="=c")
    found = truecal.recalibrate(data, by="=c", folds=0)
    frame = pl.read_parquet(folder / "a.parquet")
    sql = found.to_sql()
    assert sql.isprintable()
    got = duckdb.sql(f"SELECT {sql} AS q FROM frame").pl()["q"].to_numpy()
    wanted = found.apply(frame["p"].to_numpy(), {"=c": frame["=c"].to_list()})
    np.testing.assert_allclose(got, wanted, atol=1e-12)
    assert r"'\U0000001b[31mred\U00000007\U00000000'" in found.to_sql(quotes="backtick")
    named = truecal.read(folder / "a.parquet", label="y", score="p", by="na\x1b[32mme")
    with pytest.raises(ValueError, match=r"must be printable to be written as SQL; 'na\\x1b\[32mme' is not"):
        truecal.recalibrate(named, by="na\x1b[32mme", folds=0).to_sql()


def test_quotes_and_backslashes_mean_themselves_in_sql():
    assert [_literal("o'c\\", quotes) for quotes in ("ansi", "backtick")] == ["'o''c\\'", r"'o\'c\\'"]
    assert [_literal(value, "ansi") for value in ("", True, 3, "\n")] == ["''", "TRUE", "3", "CHR(10)"]


def test_markdown_is_safe_and_readable():
    plain = 'ece_of_all: 1,000 rows (50 %), p = 0.5; it\'s "a-b/c" + {d}? Ä_ö!'
    assert _escape_markdown(plain) == plain
    for text in ("_a_", "*a*", "[a](b)", "<b>", "`a`", "a|b", "~a~", "$a$", "@a", "\\"):
        assert html.unescape(_escape_markdown(text)) == text
        assert not set(_escape_markdown(text)) & set("_*[]<>`|~$@\\")
    written = [_escape_markdown(text) for text in ("http://a", "www.a", ":tada:", "#1")]
    assert written == ["http&#58;//a", "www&#46;a", "&#58;tada:", "&#35;1"]
