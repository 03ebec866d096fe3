"""Small files of plain CSV are read without polars, and as polars reads them."""

import sys
from collections import Counter

import numpy as np
import pytest
from command import run
from conftest import fewer

import truecal
from truecal.cli import main
from truecal.reading import _plain
from truecal.reading._columns import _read_head
from truecal.reading._plain import open_plain

pytest.importorskip("polars")

# fields that readers take for numbers, truth values, text, dates or nothing, alone or beside others
WORDS = [
    *("0", "1", "7", "-3", "007", "999999999999999999", "99999999999999999999", "1e400", "1e-400"),
    *("0.5", ".5", "5.", "-.25", "1e-3", "2E4", "1.e2", "+1", "1e+2", "1_0", "0x1", "-", "--1", "1-", "e5", "1.2.3"),
    *("true", "False", "TRUE", "yes", "inf", "-inf", "nan", "NaN", "infinity", "2026-01-31", "31.01.2026", "12:30"),
    *("a", "é", "a b", "50%", "0,5", "", "", "NA", "null", "None", "n/a", "#N/A", "N"),
]


def read(path):
    found = truecal.read(path, label="y", score="p", missing="drop")
    return found, found.row_counts, [column.tolist() for column in found.tally.entries]


def look(path):
    """What is known of each column."""
    head = _read_head(path, None)
    return head.rows, {name: look_at(column) for name, column in head.columns.items()}


def look_at(column):
    """A column's type, its values, and the places that have none."""
    values = [] if column.type not in ("integer", "number") else list(map(repr, column.rows().tolist()))
    return column.type, sorted(map(repr, column.distinct())), list(map(repr, column.present())), values


def test_columns_of_any_fields_are_what_polars_takes_them_for(tmp_path, ask_both):
    rng, kinds = np.random.default_rng(8), Counter()
    for number in range(fewer(2000, 20)):
        columns = {name: rng.choice(WORDS, rng.integers(1, 4)) for name in "ab"}
        rows = [[rng.choice(words) for words in columns.values()] for _ in range(rng.integers(1, 20))]
        path = tmp_path / f"{number}.csv"
        path.write_text("\n".join(";".join(row) for row in [columns, *rows]), encoding="utf-8")
        found, polars = ask_both(look, path)
        assert found == polars, path.read_text()
        table = open_plain(path, None)
        head = None if table is None else table.read_head()
        kinds.update(() if head is None else (column.type for column in head.columns.values()))
    assert min(kinds[kind] for kind in ("boolean", "integer", "number", "text")) > 2  # which are compared


def test_every_score_has_the_bits_that_polars_gives_it(tmp_path, ask_both):
    rng = np.random.default_rng(9)
    scores = [*rng.random(500).tolist(), *(10.0 ** -rng.uniform(0, 320, 500)).tolist(), 5e-324, 1 - 2**-53, -0.0]
    words = [*map(repr, scores), *(f"{score:.{digits}e}" for score in scores[:500] for digits in (3, 16, 30))]
    path = tmp_path / "a.csv"
    path.write_text("y,p\n" + "".join(f"{i % 2},{word}\n" for i, word in enumerate(words)))
    plain, polars = ask_both(read, path)
    assert plain == polars
    assert len(polars[2][0]) > 900


def test_several_models_and_sampled_labels_are_read_as_polars_reads_them(tmp_path, ask_both):
    rng = np.random.default_rng(10)
    rows = "".join(f"{i % 2}\t{rng.random():.3f}\t{rng.random():.3f}\n" for i in range(100))
    (tmp_path / "a.tsv").write_text("y\tp\tq\n" + rows)

    def read_both(path):
        found = truecal.read_models(path, label="y", score=["p", "q"], sampling=truecal.Sampling(negative_rate=0.5))
        return {name: [column.tolist() for column in each.tally.entries] for name, each in found.items()}, found

    plain, polars = ask_both(read_both, tmp_path / "a.tsv")
    assert plain == polars


def test_a_plain_file_needs_no_polars(tmp_path, monkeypatch, capsys):
    path = tmp_path / "a.csv"
    path.write_text("day,who,y,p\n" + "2026-01-31,a,0,0.25\n2026-01-31,b,1,0.75\n" * 40)
    expected = main(["evaluate", str(path), "--json"]), capsys.readouterr()
    monkeypatch.setitem(sys.modules, "polars", None)
    assert (main(["evaluate", str(path), "--json"]), capsys.readouterr()) == expected


@pytest.mark.parametrize("words", ["-y yy -p p", "-y y -p pp", "-y y -p p --by dya", "-y y -p p --cluster whoo"])
def test_a_mistyped_column_is_told_without_polars(tmp_path, monkeypatch, words):
    path = tmp_path / "a.csv"
    path.write_text("day,who,y,p\n" + "2026-01-31,a,0,0.25\n2026-01-31,b,1,0.75\n" * 40)
    monkeypatch.setitem(sys.modules, "polars", None)
    more = ["--segment", "*"] if "--by" in words else []
    done = run("check", path, *words.split(), *more)
    assert done.returncode == 2
    assert "must be one of the columns 'day', 'who', 'y', 'p'; it is " in done.stderr
    assert "polars" not in done.stderr


def test_a_file_that_changes_is_left_to_polars(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text("y,p\n0,0.25\n1,0.75\n")
    assert open_plain(path, None) is not None
    stamps = iter([(0, 0, 10, 0), (0, 0, 10, 1)])
    monkeypatch.setattr(_plain, "stamp", lambda place: next(stamps))
    assert open_plain(path, None) is None


def test_segments_and_a_baseline_are_read_as_polars_reads_them(tmp_path, ask_both):
    rng = np.random.default_rng(11)
    words = {"a": ["x", "é1", "NA", ""], "b": ["3", "-1", "007", ""], "c": ["true", "False"], "d": ["0.5", "1"]}
    rows = [[rng.choice(choices) for choices in words.values()] for _ in range(200)]
    rows = [[*row, f"{rng.integers(2)}", f"{rng.random():.2f}", f"{rng.random():.3f}"] for row in rows]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(",".join(row) for row in [[*words, "y", "p", "q"], *rows]), encoding="utf-8")

    def read_parts(by, baseline=None):
        found = truecal.read(path, label="y", score="p", by=by, baseline=baseline)
        return found, list(map(repr, found.parts)), found.pair_counts

    for given in (["a"], ["b"], ["c", "a"], ["d"], ["a", "b", "c"], ["y"], ["q"], ["gone"]):
        plain, polars = ask_both(read_parts, given)
        assert plain == polars
    for given in (([], "q"), (["a"], "q"), (["q"], "q"), ([], "gone")):
        plain, polars = ask_both(read_parts, *given)
        assert plain == polars
    assert open_plain(path, None) is not None


def test_segments_whose_type_changes_are_left_to_polars(tmp_path, ask_both, monkeypatch):
    monkeypatch.setattr(_plain, "ROWS", 3)  # by which types are judged
    path = tmp_path / "a.csv"
    path.write_text("y,p,a\n" + "0,0.5,1\n" * 5 + "1,0.5,x\n")
    assert _plain.read_segments([b"1"] * 5 + [b"x"], frozenset()) is None
    plain, polars = ask_both(lambda: truecal.read(path, label="y", score="p", by="a"))
    assert plain == polars
