"""Every call of a run to the system made to fail in turn, from Python: on any platform, within this process."""

import builtins
import errno
import gc
import io
import mmap
import os
import tempfile

import faulty
import numpy as np
import pytest

from truecal.cli import _main
from truecal.reading import _csv, _files, _plain

pytestmark = pytest.mark.slow

CALLS = {  # functions that are replaced, and the error of the system with which they fail; 0 is a lack of memory
    "open": (os, "open", errno.EMFILE),
    "close": (os, "close", errno.EIO),
    "replace": (os, "replace", errno.EACCES),
    "fsync": (os, "fsync", errno.EIO),
    "stat": (os, "stat", errno.EIO),
    "lstat": (os, "lstat", errno.EIO),
    "fstat": (os, "fstat", errno.EIO),
    "chmod": (os, "chmod", errno.EPERM),
    "mmap": (mmap, "mmap", errno.ENOMEM),
    "empty": (np, "empty", 0),
    "concatenate": (np, "concatenate", 0),
}
STREAMS = {
    "open file": errno.EMFILE,
    "read": errno.EIO,
    "write": errno.ENOSPC,
    "close file": errno.EDQUOT,
}
SHARE = 6  # faults of each scene, unless all are asked for


class Fault:
    """The n-th call of a kind fails; all calls are counted."""

    def __init__(self, kind="", n=0):
        self.kind, self.n = kind, n
        self.calls = dict.fromkeys([*CALLS, *STREAMS], 0)

    def strike(self, kind, error, place=None):
        """Count a call; an error names the place as that of the system does, where the call has one."""
        self.calls[kind] += 1
        if kind == self.kind and self.calls[kind] == self.n:
            named = (place,) if isinstance(place, (str, os.PathLike)) else ()
            raise OSError(error, os.strerror(error), *named) if error else MemoryError

    def replace(self, patch, kind):
        module, name, error = CALLS[kind]
        real = getattr(module, name)

        def call(*args, **options):
            if kind == "close":
                real(*args)
            self.strike(kind, error, *args[:1])
            return None if kind == "close" else real(*args, **options)

        patch.setattr(module, name, call)

    def replace_open(self, patch, folder):
        """Open files below a folder, and temporary ones, with streams that fail."""
        fault, real = self, io.open

        class Raw(io.FileIO):
            def readinto(self, buffer):
                fault.strike("read", STREAMS["read"])
                return super().readinto(buffer)

            def readall(self):
                fault.strike("read", STREAMS["read"])
                return super().readall()

            def write(self, data):
                fault.strike("write", STREAMS["write"])
                return super().write(data)

            def close(self):
                if not self.closed:
                    super().close()
                    fault.strike("close file", STREAMS["close file"])

        def open_file(
            file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, closefd=True, opener=None
        ):
            if not isinstance(file, int) and not os.path.abspath(file).startswith(str(folder)):
                return real(file, mode, buffering, encoding, errors, newline, closefd, opener)
            fault.strike("open file", STREAMS["open file"], file)
            raw = Raw(file, mode.replace("b", "").replace("t", ""), closefd, opener)
            if buffering == 0:
                return raw
            kind = io.BufferedRandom if "+" in mode else io.BufferedReader if "r" in mode else io.BufferedWriter
            stream = kind(raw)
            return stream if "b" in mode else io.TextIOWrapper(stream, encoding or "utf-8", errors, newline)

        patch.setattr(builtins, "open", open_file)
        patch.setattr(io, "open", open_file)


@pytest.fixture
def run(tmp_path_factory, capfd, monkeypatch):
    """Run a scene with a fault; return the files after it, its exit code and standard error."""
    folder = tmp_path_factory.mktemp("faults")
    for name in ("work", "temporary"):
        (folder / name).mkdir()
    faulty.write_inputs(folder / "work")
    before = faulty.take_stock(folder)
    monkeypatch.chdir(folder / "work")
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "temporary"))
    monkeypatch.setattr(_main, "_abandon", lambda stream: None)  # standard output is that of all tests
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr("signal.siginterrupt", lambda *_: None)
    for name in ("showwarning", "simplefilter"):
        monkeypatch.setattr(f"warnings.{name}", lambda *_, **__: None)

    def run(scene, fault):
        with pytest.MonkeyPatch.context() as patch:
            for kind in CALLS:
                fault.replace(patch, kind)
            fault.replace_open(patch, folder)
            code = _main.main(list(scene.words))
        _csv._recent.clear()
        _plain._open_once.cache_clear()
        _files._kept.clear()
        gc.collect()
        after = faulty.take_stock(folder)
        faulty.restore(folder, before, after)
        return after, code, capfd.readouterr().err

    run.before = before
    gc.collect()
    gc.freeze()  # so that each run looks only for what it left itself
    yield run
    gc.unfreeze()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of files closed by the collector
@pytest.mark.parametrize("name", faulty.SCENES)
def test_a_call_that_fails_gives_the_right_answer_or_an_error_and_harms_no_file(run, name):
    scene, fault = faulty.SCENES[name], Fault()
    run(scene, Fault())  # what is imported or cached the first time
    files, code, err = run(scene, fault)
    assert code == 0, err
    assert all(files[f"work/{output}"] != faulty.OLD for output in scene.outputs)
    turns = {kind: range(1, calls + 1) for kind, calls in fault.calls.items()}
    turns |= {kind: faulty.thin(turns[kind]) for kind in ("empty", "concatenate")}
    cases = [(kind, n) for kind in turns for n in turns[kind]]
    wrong = []
    for kind, n in faulty.choose(cases, SHARE, name):
        after, ended, err = run(scene, Fault(kind, n))
        found = faulty.find_fault(scene, run.before, (files, code), after, ended, err)
        faulty.note_outcome("python", name, kind, ended, found)
        wrong += [f"{kind} {n}: {found}"] if found else []
    assert not wrong, "\n".join(wrong)
