"""What is written of tallies is what is read, or nothing is; whoever dies or writes at the same time."""

import dataclasses
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from datetime import timedelta

import numpy as np
import pytest
from conftest import fewer
from hypothesis import given, settings
from hypothesis import strategies as st
from observed import EXACT, FIRST, GRIDDED, TALLY, identical

from truecal import Observations, Tally
from truecal.data import Cells
from truecal.data._parquet import BLANK, CLOSING, OPENING, _digest
from truecal.reading import is_observations, load_observations

# Files

values = {
    "str": st.text(max_size=8),
    "int": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(allow_nan=False),
    "bool": st.booleans(),
    "date": st.dates(),
    "datetime": st.datetimes(),
}
scores = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1.0, 0.5, 5e-324, 1e-300, 0.1]))
row_lists = st.lists(st.tuples(st.booleans(), scores, st.integers(1, 2**20)), min_size=1, max_size=12)


@st.composite
def observations(draw):
    kinds = draw(st.lists(st.sampled_from(sorted(values)), max_size=3))
    keys = draw(st.sets(st.tuples(*(st.none() | values[kind] for kind in kinds)), min_size=1, max_size=4))
    observations = {}
    for key in keys:
        label, score, weight = zip(*draw(row_lists), strict=True)
        observations[key] = Tally.from_arrays(label, np.array(score), weight)
    names = draw(st.lists(st.text(max_size=4), min_size=len(kinds) + 2, max_size=len(kinds) + 2, unique=True))
    more = {
        "pos_label": draw(st.none() | st.text(max_size=3)),
        "outcome": draw(st.sampled_from(["positive", "correct"])),
    }
    exact = Observations(*names[:2], observations, names[2:], **more)
    return exact.coarsen(draw(st.none() | st.integers(2, 26)))


@pytest.mark.slow
@given(observations())
@settings(max_examples=fewer(150, 2))
def test_what_is_written_is_read(tmp_path_factory, observations):
    pytest.importorskip("polars")
    place = tmp_path_factory.getbasetemp() / "roundtrip.parquet"
    assert observations.save(place) == place
    assert is_observations(place)
    assert identical(Observations.load(place), observations)


def test_settings_that_look_like_the_marks_of_a_file_do_no_harm(tmp_path, need):
    need("polars")
    mark = OPENING.decode() + '9, "version": "", ' + CLOSING.decode() + BLANK.decode() + '"}'
    observations = Observations(mark, mark, {(mark,): TALLY}, (mark,), pos_label=mark)
    assert Observations.load(observations.save(tmp_path / "a.parquet")) == observations


def test_the_same_tallies_is_the_same_file(tmp_path, need):
    need("polars")
    turned = dataclasses.replace(EXACT, parts=dict(reversed(EXACT.parts.items())))
    a, b = (part.save(tmp_path / f"{i}.parquet") for i, part in enumerate((EXACT, turned)))
    assert a.read_bytes() == b.read_bytes()


def test_other_tools_can_read_a_file(tmp_path, need):
    pl = need("polars")
    three = Cells.grid(Tally([0.2500001, 0.2500002, 0.2500004, 0.75], [1, 1, 1, 1], [1, 0, 0, 1]), 6)
    place = Observations("y", "p", {("a",): three}, ("segment",), bits=6).save(tmp_path / "a.parquet")
    found = pl.read_parquet(place)
    assert found.columns == ["by0", "n", "pos", "low", "high", "score_sum"]
    assert found["n"].to_list() == [3, 1]
    assert found["low"].to_list() == [0.2500001, 0.75]
    assert found["high"].to_list() == [0.2500004, None]
    assert found["score_sum"].to_list() == [0.2500001 + 0.2500002 + 0.2500004, None]
    settings = json.loads(pl.read_parquet_metadata(place)["truecal"])
    assert settings | {"version": "", "checksum": ""} == {
        "truecal_tallies": 1,
        "version": "",
        "by": ["segment"],
        "periods": {},
        "label": "y",
        "score": "p",
        "outcome": "positive",
        "pos_label": None,
        "bits": 6,
        "rows": 4,
        "positives": 2,
        "checksum": "",
    }


@pytest.mark.slow
@pytest.mark.parametrize("observations", [EXACT, GRIDDED], ids=["exact", "gridded"])
def test_no_flipped_bit_loads(tmp_path, need, observations):
    need("polars")
    place = observations.save(tmp_path / "a.parquet")
    whole = place.read_bytes()
    for position in range(len(whole)):
        broken = bytearray(whole)
        broken[position] ^= 1 << position % 8
        place.write_bytes(broken)
        with pytest.raises(ValueError, match=r"a.parquet' must be a file that `Observations.save` wrote; it is "):
            Observations.load(place)


@pytest.mark.slow
def test_no_truncated_or_lengthened_file_loads(tmp_path, need):
    need("polars")
    place = GRIDDED.save(tmp_path / "a.parquet")
    whole = place.read_bytes()
    for broken in (*(whole[:length] for length in range(len(whole))), whole + b"x", whole + b"PAR1", whole * 2):
        place.write_bytes(broken)
        with pytest.raises(ValueError, match=r"a.parquet' must be a file that `Observations.save` wrote; it is "):
            Observations.load(place)
    place.write_bytes(whole[:-1])
    with pytest.raises(ValueError, match="it is damaged: its end is missing.\n\nHint: restore a copy"):
        Observations.load(place)
    assert not is_observations(place)


def test_foreign_files_are_refused(tmp_path, need):
    pl = need("polars")
    frame = pl.DataFrame({"y": [0, 1], "p": [0.2, 0.7]})
    frame.write_parquet(tmp_path / "data.parquet")
    frame.write_csv(tmp_path / "data.csv")
    (tmp_path / "empty.parquet").touch()
    for name, message in (
        ("data.parquet", "it is a Parquet file without tallies.\n\nHint: `truecal.read` turns data into tallies"),
        ("data.csv", "it is not a Parquet file."),
        ("empty.parquet", "it is empty."),
    ):
        assert not is_observations(tmp_path / name)
        with pytest.raises(ValueError, match=f"{name}' must be a file that `Observations.save` wrote; {message}"):
            Observations.load(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        Observations.load(tmp_path / "none.parquet")
    assert not is_observations(tmp_path / "none.parquet")
    assert not is_observations(tmp_path)
    assert not is_observations(frame)
    assert is_observations(EXACT)


def forge(place, old, new):
    """Change a file and make its checksum right again."""
    data = place.read_bytes()
    assert data.count(old) == 1
    assert len(old) == len(new)
    data = data.replace(old, new)
    start, digest = _digest(data)
    place.write_bytes(data[:start] + digest + data[start + len(digest) :])


def test_newer_files_are_refused(tmp_path, need):
    need("polars")
    place = EXACT.save(tmp_path / "a.parquet")
    forge(place, b'"truecal_tallies": 1', b'"truecal_tallies": 4')
    assert is_observations(place)
    with pytest.raises(
        ValueError, match="(?s)a.parquet' .*it is of version 4, written by truecal .*Hint: update truecal"
    ):
        Observations.load(place)


def test_a_file_whose_parts_contradict_each_other_is_refused(tmp_path, need):
    need("polars")
    for old, new, message in (
        (b'"rows": 10', b'"rows": 11', "its counts differ from those it was written with"),
        (b'"bits": 13', b'"bits": 99', "it cannot be read: `bits` must be a whole number from 2 to 26"),
        (b'"day": "1d"', b'"day": "9d"', "it cannot be read: `periods` must give"),
    ):
        place = GRIDDED.save(tmp_path / "a.parquet")
        forge(place, old, new)
        with pytest.raises(ValueError, match=f"a.parquet' must be .*; {message}"):
            Observations.load(place)


def test_writing_is_refused_with_a_reason(tmp_path, need):
    need("polars")
    with pytest.raises(ValueError, match="`path` must end in .parquet.*it is 'a.csv'"):
        EXACT.save("a.csv")
    with pytest.raises(FileNotFoundError, match="Folder not found for "):
        EXACT.save(tmp_path / "none" / "a.parquet")
    assert os.listdir(tmp_path) == []


def test_without_polars_the_extra_is_named(tmp_path, need, monkeypatch):
    need("polars")
    place = EXACT.save(tmp_path / "a.parquet")
    monkeypatch.setitem(sys.modules, "polars", None)
    for call in (lambda: EXACT.save(place), lambda: Observations.load(place)):
        with pytest.raises(ImportError, match=r"pip install 'truecal\[files\]'"):
            call()


# Merging


def test_files_merge_by_folder_pattern_and_list(tmp_path, need):
    need("polars")
    days = [dataclasses.replace(EXACT, parts={("at", FIRST + timedelta(i % 3)): TALLY}) for i in range(11)]
    places = [day.save(tmp_path / f"day{i:02}.parquet") for i, day in enumerate(days)]
    whole = sum(days)
    assert load_observations(tmp_path) == whole
    assert load_observations(str(tmp_path / "day*.parquet")) == whole
    assert load_observations(places[::-1]) == whole
    assert load_observations(places[0]) == days[0]
    assert load_observations(places, by="day") == whole.group_by("day")
    assert load_observations(places, by=()) == whole.group_by()
    assert is_observations(tmp_path)
    assert is_observations(places)


def test_files_that_do_not_merge_are_named(tmp_path, need):
    need("polars")
    a = EXACT.save(tmp_path / "a.parquet")
    b = dataclasses.replace(EXACT, score="q").save(tmp_path / "b.parquet")
    with pytest.raises(
        ValueError, match="b.parquet' must add to the files before it; Observations must agree on `score`"
    ):
        load_observations([a, b])
    with pytest.raises(ValueError, match="Every file must be named once.*a.parquet' is named again"):
        load_observations([a, tmp_path / "a*"])
    with pytest.raises(ValueError, match="The paths must name at least one file"):
        load_observations([])
    b.write_text("y,p\n")
    with pytest.raises(ValueError, match="b.parquet' must be a file"):
        load_observations(tmp_path)
    with pytest.raises(FileNotFoundError, match="must match at least one file"):
        load_observations(str(tmp_path / "*.pq"))


# Dying and racing


def _letters(letter):
    parts = {(letter, i): Tally(np.linspace(0, 1, 500), np.full(500, i + 1), np.zeros(500, int)) for i in range(20)}
    return Observations("y", "p", parts, ("letter", "i"))


def test_a_process_killed_as_it_writes_leaves_the_old_file_whole(tmp_path, need):
    need("polars")
    place = EXACT.save(tmp_path / "a.parquet")
    code = (
        "import os, signal, sys, truecal\n"
        "old = truecal.Observations.load(sys.argv[1])\n"
        "os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)\n"  # all is written, nothing is in its place
        "(old + old).save(sys.argv[1])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(place)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert Observations.load(place) == EXACT
    assert load_observations(tmp_path) == EXACT  # what is left of the draft is not taken for tallies


def _write(place, letter, until):
    observations, end = _letters(letter), time.monotonic() + until
    while time.monotonic() < end:
        observations.save(place)


@pytest.mark.slow
def test_processes_killed_at_any_moment_leave_a_whole_file(tmp_path, need):
    need("polars")
    place = EXACT.save(tmp_path / "a.parquet")
    old, new = EXACT, _letters("a")
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write, args=(place, "a", 60)) for _ in range(6)]
    for i, writer in enumerate(writers):
        writer.start()
        while Observations.load(place) == old:
            time.sleep(0.005)
        time.sleep(0.003 * i)
        writer.kill()
        writer.join()
        assert Observations.load(place) == new
        old.save(place)


@pytest.mark.slow
def test_two_writers_never_make_a_file_that_loads_and_is_wrong(tmp_path, need):
    need("polars")
    place = _letters("a").save(tmp_path / "a.parquet")
    known = [_letters("a"), _letters("b")]
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write, args=(place, letter, 2)) for letter in "ab"]
    for writer in writers:
        writer.start()
    seen = set()
    while any(writer.is_alive() for writer in writers):
        seen.add(known.index(Observations.load(place)))
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    assert seen == {0, 1}
    assert os.listdir(tmp_path) == ["a.parquet"]
