"""Small files of plain CSV are read without polars, and as polars reads them."""

import sys

import numpy as np
import pytest
from command import run

import truecal
from truecal.cli import main
from truecal.reading import _plain
from truecal.reading._plain import open_plain

pytest.importorskip("polars")


def read(path):
    found = truecal.read(path, label="y", score="p", missing="drop")
    return found, found.row_counts, [column.tolist() for column in found.tally.entries]


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


def test_the_type_of_segments_is_that_of_all_rows(tmp_path, ask_both):
    path = tmp_path / "a.csv"
    path.write_text("y,p,a\n" + "0,0.5,1\n" * 5 + "1,0.5,x\n")
    plain, polars = ask_both(lambda: truecal.read(path, label="y", score="p", by="a"))
    assert plain == polars
    assert sorted(plain.parts) == [("1",), ("x",)]
