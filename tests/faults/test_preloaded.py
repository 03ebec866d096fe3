"""Every call of a run to the system made to fail in turn, by a library that is loaded before all others.

It sees the calls of polars and of the kernel, too. Other ends are accepted where memory is refused: programs in Rust,
such as polars, abort, and NumPy crashes where its own code takes memory unchecked (least squares, ufuncs that cast), if
that harms no file; and matplotlib may put a label elsewhere in a picture that is whole. The kernel may do neither.
"""

import errno
import io
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import faulty
import matplotlib.image
import pytest
from conftest import missing

pytestmark = pytest.mark.slow

FAULTS = {
    "open": (errno.EIO, errno.EMFILE, errno.EINTR),
    "read": (errno.EIO, errno.EINTR, 0),
    "write": (errno.ENOSPC, errno.EIO, errno.EINTR, 0),
    "rename": (errno.EACCES, errno.EIO),
    "sync": (errno.EIO, errno.ENOSPC),
    "close": (errno.EIO, errno.EINTR),
    "map": (errno.ENOMEM, errno.ENODEV),
    "stat": (errno.EIO,),
    "allocate": (errno.ENOMEM,),
    "reserve": (errno.ENOMEM,),
}
MEMORY = ("allocate", "reserve")
SIZE = 4096  # bytes from which allocations count
SHARE = 3  # faults of each scene, unless all are asked for


class Driver:
    """A process that runs cases in children."""

    def __init__(self, library, folder):
        self.folder = folder
        for name in ("watched/work", "watched/temporary"):
            (folder / name).mkdir(parents=True)
        faulty.write_inputs(folder / "watched/work")
        self.before = faulty.take_stock(folder / "watched")
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("driver.py"))],
            env={**os.environ, "LD_PRELOAD": str(library), "POLARS_MAX_THREADS": "2"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, scene, call="open", n=0, error=0, lasting=False):
        """Return the files after a case, the answer of the process, and standard error."""
        watched = self.folder / "watched"
        case = {"words": scene.words, "call": call, "n": n, "error": error, "lasting": lasting, "size": SIZE}
        case |= {"watched": str(watched), "folder": str(watched / "work"), "temporary": str(watched / "temporary")}
        case |= {name: str(self.folder / name) for name in ("out", "err")}
        self.process.stdin.write(json.dumps(case) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        after = faulty.take_stock(watched)
        faulty.restore(watched, self.before, after)
        return after, answer, (self.folder / "err").read_text()


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    compiler = shutil.which("cc")
    if sys.platform != "linux":
        pytest.skip("calls are intercepted on Linux only")
    if compiler is None:
        missing("there is no C compiler, cc")
    folder = tmp_path_factory.mktemp("preloaded")
    library, source = folder / "faults.so", Path(__file__).with_name("faults.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", library, source, "-ldl"], check=True)
    driver = Driver(library, folder)
    yield driver
    driver.process.stdin.close()
    assert driver.process.wait(60) == 0
    driver.process.stdout.close()


def settle_pictures(after, files):
    """Take pictures that are whole and as large as those of the run without a fault for the same."""

    def is_same(name):
        if name not in after or not all(each[name].startswith(b"\x89PNG") for each in (after, files)):
            return False
        found, right = (matplotlib.image.imread(io.BytesIO(each[name])) for each in (after, files))
        return found.shape == right.shape and (found != right).mean() < 0.01

    return after | {name: files[name] for name in files if is_same(name)}


@pytest.mark.parametrize("name", faulty.SCENES)
def test_a_call_that_fails_gives_the_right_answer_or_an_error_and_harms_no_file(driver, name):
    scene = faulty.SCENES[name]
    files, answer, err = driver.run(scene)
    assert answer["code"] == 0, err
    cases = []
    for call, errors in FAULTS.items():
        turns = range(1, answer["calls"][call] + 1)
        turns = faulty.thin(turns) if call in MEMORY else turns
        cases += [(call, n, error, lasting) for n in turns for error in errors for lasting in _lasts(call, error)]
    wrong = []
    for call, n, error, lasting in faulty.choose(cases, SHARE, name):
        after, answer, err = driver.run(scene, call, n, error, lasting)
        code = answer["code"]
        if call in MEMORY and (code == -signal.SIGABRT or _crashed_in_numpy(answer)):
            changed = [place for place in driver.before if after.get(place) != driver.before[place]]
            found = f"it changes {changed}" if changed else ""
        else:
            wrong_words = {"wrong": "this is a bug"} if call in MEMORY else {}  # Rust tells of its panics by itself
            after = settle_pictures(after, files) if call in MEMORY and code == 0 else after
            found = faulty.find_fault(scene, driver.before, (files, 0), after, code, err, **wrong_words)
        faulty.note_outcome("preloaded", name, call, code if answer["failed"] else "not reached", found)
        kind = os.strerror(error) if error else "half"
        wrong += [f"{call} {n}, {kind}{' from then on' * lasting}: {found}"] if found else []
    assert not wrong, "\n".join(wrong)


def _crashed_in_numpy(answer):
    return answer["code"] == -signal.SIGSEGV and any(part.startswith("numpy") for part in Path(answer["crashed"]).parts)


def _lasts(call, error):
    """Whether a fault lasts: a full disk and a lack of files or memory do, and are tried once as well.

    A lasting lack of address space is left out: most such runs abort, and one never ended, for a reason not yet found.
    """
    return (False, True) if error in (errno.ENOSPC, errno.EMFILE, errno.ENOMEM) and call != "reserve" else (False,)
