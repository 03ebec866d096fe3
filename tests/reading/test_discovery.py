"""A path means what it says: the file of that name, each file once, and nothing left out silently."""

import gzip
import os
import subprocess
import sys

import numpy as np
import pytest

import truecal
from truecal.reading import _discovery as module
from truecal.reading import _plain, expand, infer_columns, load_observations

KINDS = ["csv", "csv.gz", "tsv", "parquet", "arrow", "jsonl", "npz"]


@pytest.fixture(autouse=True)
def pl(need):
    return need("polars")


@pytest.fixture
def write(pl):
    """Write n rows to a file, in the format of its name."""

    def make(path, n=1, **columns):
        path.parent.mkdir(parents=True, exist_ok=True)
        frame = pl.DataFrame({"y": [i % 2 for i in range(n)], "p": [0.5] * n} | columns)
        if path.suffix == ".npz":
            np.savez(path, **{name: frame[name].to_numpy() for name in frame.columns})
        elif path.suffix == ".gz":
            path.write_bytes(gzip.compress(frame.write_csv().encode()))
        else:
            to = {".csv": frame.write_csv, ".parquet": frame.write_parquet, ".arrow": frame.write_ipc}
            to |= {".tsv": lambda place: frame.write_csv(place, separator="\t"), ".jsonl": frame.write_ndjson}
            to[path.suffix](path)
        return path

    return make


def count(source, **options):
    return truecal.read(source, label="y", score="p", **options).n_rows


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "name", ["preds[1]", "p*", "what?", "[!a]", "a{b,c}", "100%", "%41", "a b", "😀", "~x", "a\\b"]
)
def test_a_name_that_exists_is_no_pattern(write, tmp_path, monkeypatch, name, kind):
    """Beside each file is one that the name matches as a pattern."""
    for other in ("preds1", "pq", "whatx", "b", "ab", "A"):
        write(tmp_path / f"{other}.{kind}", 5)
    write(tmp_path / f"{name}.{kind}", 2)
    write(tmp_path / name / f"in.{kind}", 3)
    monkeypatch.chdir(tmp_path)
    assert count(tmp_path / f"{name}.{kind}") == count(f"{name}.{kind}") == 2
    assert count(name) == count(f"{name}/in.{kind}") == count(f"{name}/*.{kind}") == count([f"{name}/in.{kind}"]) == 3


def test_patterns_match_where_nothing_has_their_name(write, tmp_path):
    write(tmp_path / "a1.csv", 1)
    write(tmp_path / "a2.csv", 2)
    write(tmp_path / ".a3.csv", 4)
    write(tmp_path / "x" / "y" / "b.csv", 8)
    write(tmp_path / ".x" / "b.csv", 16)
    assert count(f"{tmp_path}/a[12].csv") == count(f"{tmp_path}/a?.csv") == count(f"{tmp_path}/*.csv") == 3
    assert count(f"{tmp_path}/**/*.csv") == count(f"{tmp_path}/**") == 11
    assert count(f"{tmp_path}/*/*/b.csv") == count(f"{tmp_path}/x/**/b.csv") == 8
    assert count(f"{tmp_path}/.a*") == 4
    for pattern in ("b*.csv", "*/a1.csv", "a1.csv/*", "none/**/*.csv"):
        with pytest.raises(FileNotFoundError, match="must match at least one file; it matches none"):
            count(f"{tmp_path}/{pattern}")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_file_named_twice_is_refused(write, tmp_path, kind):
    place = write(tmp_path / f"a.{kind}", 3)
    (tmp_path / f"link.{kind}").symlink_to(place)
    os.link(place, tmp_path / f"hard.{kind}")
    sources = ([place, place], [place, f"{tmp_path}/a.*"], tmp_path, [place, tmp_path / f"link.{kind}"])
    for source in (*sources, [place, tmp_path / f"hard.{kind}"], f"{tmp_path}/*.{kind}"):
        with pytest.raises(ValueError, match=r"Every file must be named once(?s:.*)Hint: name files"):
            count(source)
    truecal.read(place, label="y", score="p").save(tmp_path / "tallies.parquet")
    with pytest.raises(ValueError, match="must be named once"):
        load_observations([tmp_path / "tallies.parquet"] * 2)


def test_linked_folders_are_read(write, tmp_path):
    write(tmp_path / "data" / "a.csv", 1)
    write(tmp_path / "other" / "b.csv", 2)
    (tmp_path / "data" / "more").symlink_to(tmp_path / "other")
    assert count(tmp_path / "data") == count(f"{tmp_path}/data/**/*.csv") == 3


@pytest.mark.parametrize("target", [".", "..", "loop"])
def test_a_link_to_a_folder_above_is_an_error(write, tmp_path, target):
    write(tmp_path / "data" / "sub" / "a.csv", 1)
    (tmp_path / "data" / "sub" / "loop").symlink_to(target)
    for source in (tmp_path / "data", f"{tmp_path}/data/**/*.csv"):
        if target == "loop":  # a link to itself is no folder, and not a file of a known format
            assert count(source) == 1
        else:
            with pytest.raises(ValueError, match=r"must not link to itself or to one above; '.*loop' does"):
                count(source)


def test_links_to_nothing_are_errors(write, tmp_path):
    write(tmp_path / "a.csv", 1)
    (tmp_path / "b.csv").symlink_to("missing.csv")
    for source in (tmp_path, tmp_path / "b.csv", f"{tmp_path}/*.csv"):
        with pytest.raises(FileNotFoundError, match=r"'.*b\.csv' must exist; it is a link to nothing"):
            count(source)


def test_a_folder_that_cannot_be_listed_is_an_error(write, tmp_path, monkeypatch):
    """By a list that fails, since an administrator may list any folder."""
    write(tmp_path / "a.csv", 1)
    write(tmp_path / "locked" / "b.csv", 1)
    whole = os.listdir

    def listdir(folder):
        if os.path.basename(folder) == "locked":
            raise PermissionError(13, "Permission denied", str(folder))
        return whole(folder)

    monkeypatch.setattr(module.os, "listdir", listdir)
    for source in (tmp_path, f"{tmp_path}/**/*.csv", f"{tmp_path}/*/*.csv"):
        with pytest.raises(
            PermissionError, match=r"The folder '.*locked' must be readable; it is not: Permission denied"
        ):
            count(source)
    with pytest.raises(PermissionError, match="locked"):
        load_observations(tmp_path)


def test_names_that_no_file_can_have(tmp_path):
    for name in ("a\0.csv", "a" * 5000 + ".csv", "~nobody-of-this-name/a.csv", "~nobody.csv", "", "a.csv/b.csv"):
        with pytest.raises(FileNotFoundError, match="File not found"):
            count(name)


def test_a_tilde_is_the_home_unless_a_file_has_it(write, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "home" / "a.csv", 3)
    assert count("~/a.csv") == count("~/*.csv") == 3
    write(tmp_path / "~" / "a.csv", 2)
    assert count("~/a.csv") == 2


def test_a_named_pipe_and_a_device_are_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    for source in (tmp_path / "pipe.csv", tmp_path):
        for read in (count, infer_columns, load_observations):
            with pytest.raises(ValueError, match=r"(?s)it is a named pipe.*Hint: read it as standard input: - < "):
                read(source)
    with pytest.raises(ValueError, match="'/dev/null' must be a file, a folder or a pipe; it is a device"):
        count("/dev/null", format="csv")


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="no /dev/fd")
def test_an_open_pipe_is_read_once_and_kept(tmp_path):
    """As the shell's <(...) makes it: guessed from, then read, larger than a pipe holds."""
    code = (
        "import os, sys, threading, truecal; r, w = os.pipe(); path = f'/dev/fd/{r}'\n"
        "def fill():\n    with open(w, 'wb') as f: f.write(b'y,p\\n' + b'0,0.5\\n1,0.5\\n' * 50000)\n"
        "thread = threading.Thread(target=fill); thread.start()\n"
        "guess = truecal.reading.infer_columns(path); print(guess.label, guess.scores)\n"
        "print(truecal.read(path, label='y', score='p').n_rows); thread.join()"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=60, check=False
    )
    assert done.stdout.split("\n")[:2] == ["y ('p',)", "100000"], done.stderr
    assert not os.listdir(tmp_path)


def test_a_folder_may_not_contradict_its_files(write, tmp_path, pl):
    place = write(tmp_path / "y=1" / "d.parquet", 4)
    for source in (place, tmp_path, tmp_path / "y=1", f"{tmp_path}/*/d.parquet"):
        with pytest.raises(ValueError, match=r"the column 'y' of '.*d\.parquet' holds other values than '1'"):
            count(source)
    place.unlink()
    write(place, 4, y=[1, 1, 1, 1])
    assert truecal.read(tmp_path, label="y", score="p").positives == 4
    write(tmp_path / "two" / "country=01" / "d.parquet", 2, country=["01", "01"])
    write(tmp_path / "two" / "country=a%20b" / "d.parquet", 3, country=["a b"] * 3)
    parts = truecal.read(tmp_path / "two", label="y", score="p", by="country").parts
    assert {key: part.n_rows for key, part in parts.items()} == {("01",): 2, ("a b",): 3}


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_a_file_replaced_while_it_is_read_is_an_error(write, tmp_path, monkeypatch, kind):
    place = write(tmp_path / f"a.{kind}", 10)
    monkeypatch.setattr(_plain, "MOST", 0)  # a plain file is read at once
    whole = truecal.reading._read._open_batches

    def replace_file(*given):
        write(tmp_path / f"b.{kind}", 10, p=[0.25] * 10)
        os.replace(tmp_path / f"b.{kind}", place)
        return whole(*given)

    monkeypatch.setattr(truecal.reading._read, "_open_batches", replace_file)
    with pytest.raises(ValueError, match=r"'.*a\..*' must not change while it is read; it did"):
        count(place)


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_that_does_not_arrive_is_an_error(write, tmp_path, monkeypatch, kind):
    """By a reader that loses the last row of a batch."""
    place = write(tmp_path / f"a.{kind}", 10)
    monkeypatch.setattr(_plain, "MOST", 0)  # a plain file is read at once
    whole = truecal.reading._read._open_batches
    monkeypatch.setattr(truecal.reading._read, "_open_batches", lambda *given: (part[:-1] for part in whole(*given)))
    with pytest.raises(ValueError, match=r"of 10 rows of '.*a\..*' 9 arrived"):
        count(place)


def test_copies_are_deleted_when_they_are_not_used(write, tmp_path, monkeypatch):
    place = write(tmp_path / "data" / "a.csv.gz", 10)
    (tmp_path / "copies").mkdir()
    monkeypatch.setattr(module.Copy.__init__.__globals__["tempfile"], "tempdir", str(tmp_path / "copies"))
    assert count(place) == 10
    module.Copy.__init__.__globals__["_recent"].clear()
    assert not os.listdir(tmp_path / "copies")
    assert len(truecal.reading.scan(place).collect()) == 10


def test_expand_keeps_the_order_of_names(write, tmp_path):
    places = [write(tmp_path / f"{name}.csv") for name in ("b", "a", "c")]
    assert expand(str(tmp_path)) == expand(f"{tmp_path}/*.csv") == sorted(places)
