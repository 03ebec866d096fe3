"""Files that appear whole or not at all."""

import errno
import gzip
import multiprocessing
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import truecal
from truecal import _atomic
from truecal._atomic import append_line, write_atomically, write_text


def test_a_failure_leaves_the_old_file_whole_and_no_draft(tmp_path):
    place = tmp_path / "a.txt"
    place.write_text("old")

    def fail():
        with write_atomically(place) as draft:
            draft.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert place.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_killed_process_leaves_the_old_file_whole_and_the_next_writer_removes_its_draft(tmp_path):
    place = tmp_path / "a.txt"
    place.write_text("old")
    code = (
        "import os, signal, sys\nfrom truecal._atomic import write_atomically\n"
        "with write_atomically(sys.argv[1]) as draft:\n    draft.write_text('half')\n    os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(place)], check=False)
    assert done.returncode == -9
    assert place.read_text() == "old"
    (left,) = set(os.listdir(tmp_path)) - {"a.txt"}
    with write_atomically(place) as draft:  # which another writer leaves alone
        draft.write_text("new")
        write_text(place, "other")
        assert sorted(os.listdir(tmp_path)) == sorted([draft.name, "a.txt"])
    assert left != draft.name
    assert place.read_text() == "new"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_loss_of_power_leaves_the_old_file_or_the_new_one_whole(tmp_path, monkeypatch):
    """What was not synchronised is lost then, so a file must be all there before it has its name."""
    place, synchronised, named = tmp_path / "a.txt", {}, []
    sync, replace = os.fsync, os.replace

    def note_sync(handle):
        sync(handle)
        synchronised[os.fstat(handle).st_ino] = os.fstat(handle).st_size

    def note_name(draft, target):
        named.append(synchronised.get(os.stat(draft).st_ino))
        replace(draft, target)

    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(os, "replace", note_name)
    write_text(place, "x" * 100_000)
    assert named == [100_000]
    append_line(place, "y")
    assert synchronised[place.stat().st_ino] == place.stat().st_size == 100_003  # the line before it is ended first


def test_a_draft_that_another_process_sweeps_before_it_is_locked_is_made_again(tmp_path, monkeypatch):
    real, swept = _atomic.lock, []

    def sweep_first(handle, *, wait):
        if wait and not swept:
            swept.extend(_atomic.find_left(tmp_path, ".a.txt.", _atomic.DRAFT))
            swept[0].unlink()
        return real(handle, wait=wait)

    monkeypatch.setattr(_atomic, "lock", sweep_first)
    assert write_text(tmp_path / "a.txt", "new").read_text() == "new"
    assert len(swept) == 1
    assert os.listdir(tmp_path) == ["a.txt"]


def _write(place, letter):
    for _ in range(50):
        write_text(place, letter * 100_000)


@pytest.mark.slow
def test_two_writers_at_once_leave_one_whole_file(tmp_path):
    place = tmp_path / "a.txt"
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write, args=(place, letter)) for letter in "ab"]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        if place.exists():
            text = place.read_text()
            assert text in ("a" * 100_000, "b" * 100_000)
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    assert os.listdir(tmp_path) == ["a.txt"]


def test_links_and_permissions_stay(tmp_path):
    place, link = tmp_path / "a.txt", tmp_path / "link"
    place.write_text("old")
    place.chmod(0o640)
    link.symlink_to(place)
    assert write_text(link, "new") == link
    assert link.is_symlink()
    assert place.read_text() == "new"
    assert stat.S_IMODE(place.stat().st_mode) == 0o640


def test_places_that_cannot_be_written_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="Folder not found for .*nowhere"):
        write_text(tmp_path / "nowhere" / "a.txt", "")
    with pytest.raises(IsADirectoryError, match="must be a file; it is a folder"):
        write_text(tmp_path, "")
    with pytest.raises(OSError, match="'/dev/null' must be a plain file"):
        write_text("/dev/null", "")


def test_the_longest_names_are_written(tmp_path):
    place = tmp_path / ("a" * 255)  # the most bytes that a name may have on most file systems
    assert write_text(place, "whole").read_text() == "whole"
    assert os.listdir(tmp_path) == [place.name]


def test_a_line_is_appended_whole_or_not_at_all(tmp_path, monkeypatch):
    place = tmp_path / "log"
    append_line(place, "one")
    append_line(place, "two")
    assert place.read_text() == "one\ntwo\n"
    place.write_text("one\nhal")  # of a process that was killed
    append_line(place, "é")
    assert place.read_text() == "one\nhal\né\n"

    def fail(_):
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="full"):
        append_line(place, "three")
    assert place.read_text() == "one\nhal\né\n"


@pytest.mark.slow
def test_nothing_that_only_unix_has_is_needed(tmp_path, tmp_path_factory):
    """A process in which it is missing, as on Windows, scores, watches, copies a packed file and writes a report."""
    rows = "".join(f"{i % 3 == 0:d},{0.2 + i % 7 / 20:.2f},2026-01-{1 + i % 9:02d}\n" for i in range(400))
    with gzip.open(tmp_path / "data.csv.gz", "wt") as file:
        file.write("y,p,day\n" + rows)
    code = """
import os, signal, sys
import numpy, polars, shutil, subprocess, tempfile
for module, names in {
    os: "fork register_at_fork getuid geteuid sched_getaffinity O_NOFOLLOW O_NONBLOCK O_DIRECTORY fchmod mkfifo uname",
    signal: "siginterrupt SIGKILL SIGHUP SIGPIPE SIGALRM alarm setitimer pthread_sigmask",
}.items():
    for name in names.split():
        delattr(module, name)
for name in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[name] = None
from truecal.cli import main
for words in ("evaluate", "report -o page.html", "monitor --time day --state state.json", "tally -o sums.parquet"):
    command, *options = words.split()
    assert main([command, "data.csv.gz", "-y", "y", "-p", "p", *options]) in (0, 1), words
assert sys.modules["fcntl"] is None
"""
    # its copies have no locks, so that other processes of this system take them for left behind
    own = {**os.environ, "TMPDIR": str(tmp_path_factory.mktemp("own"))}
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=own, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    outputs = {"page.html", "state.json", "state.jsonl", "sums.parquet"}
    assert {place.name for place in tmp_path.iterdir()} == {"data.csv.gz", *outputs}


def test_dates_are_written_in_formats_that_every_system_has():
    """`%-d`, a day without its zero, is an error on Windows."""
    places = Path(truecal.__file__).parent.rglob("*.py")
    assert [place.name for place in places if re.search(r"%[-_#^]\w", place.read_text(encoding="utf-8"))] == []
