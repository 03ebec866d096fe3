"""The command line as a user runs it: in a process of its own, or in this one where nothing depends on that."""

import io
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from contextlib import contextmanager
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ

import numpy as np
import pytest

from truecal import cli
from truecal._text import measure

TRUECAL = [sys.executable, "-m", "truecal"]
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


def environment(**changes):
    """The environment without what would change the output; None takes a variable away."""
    found = {
        name: value
        for name, value in os.environ.items()
        if name not in ("COLUMNS", "NO_COLOR", "TRUECAL_DEBUG", "GITHUB_ACTIONS")
    }
    found |= {"LC_ALL": "C.UTF-8", "TERM": "xterm"}
    for name, value in changes.items():
        found.pop(name, None)
        if value is not None:
            found[name] = value
    return found


@contextmanager
def here(cwd=None, stdin="", **changes):
    """Let a command run in this process as in one of its own; what it changes is undone. `changes` are to the
    environment. Yields a function that replaces a stream."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.onceregistry.clear()
        for name in os.environ.keys() - environment(**changes).keys():
            patch.delenv(name)
        for name, value in environment(**changes).items():
            patch.setenv(name, value)
        patch.chdir(cwd or os.getcwd())
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        try:
            yield lambda name, stream: patch.setattr(sys, name, stream)
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)


def run(*words, merged=False, **options):
    """Run a command in this process, with its streams in files, or both in one; `options` are those of `here`."""
    command = list(map(str, words))
    with tempfile.TemporaryDirectory() as folder:
        places = {"stdout": Path(folder, "out"), "stderr": Path(folder, "out" if merged else "err")}
        with (
            here(**options) as replace,
            places["stdout"].open("a", encoding="utf-8") as out,
            places["stderr"].open("a", encoding="utf-8", buffering=1) as err,
        ):
            replace("stdout", out)
            replace("stderr", err)
            code = cli.main(command)
        found = {name: place.read_text(encoding="utf-8") for name, place in places.items()}
    return subprocess.CompletedProcess(command, code, **found)


def show(*words, width=60, **options):
    """Run a command in this process, its output and errors going to a pseudo-terminal; return its code and text."""
    master, slave = pty.openpty()
    ioctl(slave, TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    parts = []
    reader = threading.Thread(target=lambda: parts.extend(iter(lambda: read_terminal(master), b"")))
    reader.start()
    with here(**options) as replace, open(slave, "w", encoding="utf-8") as stream:
        for name in ("stdout", "stderr", "__stdout__"):
            replace(name, stream)
        code = cli.main(list(map(str, words)))
    reader.join()
    os.close(master)
    return code, b"".join(parts).decode().replace("\r\n", "\n")


def read_terminal(terminal):
    """What is written to a terminal; nothing once the other side is closed."""
    try:
        return os.read(terminal, 1 << 16)
    except OSError:
        return b""


def run_process(*words, cwd=None, stdin="", prefix=(), preexec_fn=None, **changes):
    """Run a command in a process of its own, with its streams piped; `changes` are to the environment."""
    return subprocess.run(
        [*prefix, *TRUECAL, *map(str, words)],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        env=environment(**changes),
        preexec_fn=preexec_fn,
    )


class OnTerminal:
    """A command whose output and errors go to a pseudo-terminal."""

    def __init__(self, *words, width=60, cwd=None, **changes):
        self.master, slave = pty.openpty()
        ioctl(slave, TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
        streams = {"stdin": subprocess.DEVNULL, "stdout": slave, "stderr": slave}
        self.process = subprocess.Popen([*TRUECAL, *map(str, words)], cwd=cwd, env=environment(**changes), **streams)
        os.close(slave)
        self.text = ""

    def read(self, until=None, seconds=120):
        """Read to the end, or until some text appears."""
        end = time.monotonic() + seconds
        while until is None or until not in self.text:
            ready, _, _ = select.select([self.master], [], [], max(end - time.monotonic(), 0))
            assert ready, f"nothing but {self.text!r} in {seconds} s"
            if not (part := read_terminal(self.master)):
                break
            self.text += part.decode().replace("\r\n", "\n")
        return self.text

    def finish(self):
        text = self.read()
        code = self.process.wait(30)
        os.close(self.master)
        return code, text


def widest(text):
    return max(measure(ESCAPES.sub("", line.rpartition("\r")[2])) for line in text.splitlines())


def write_csv(path, columns):
    rows = zip(*columns.values(), strict=True)
    path.write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


def predictions(rows=3000, seed=0):
    """Labels, a calibrated model, one that says half as much again, two columns of segments."""
    rng = np.random.default_rng(seed)
    p = np.round(rng.beta(0.5, 5, rows), 6)
    return {
        "id": range(rows),
        "y": (rng.random(rows) < p).astype(int).tolist(),
        "p": p.tolist(),
        "more": np.minimum(1.5 * p, 1).tolist(),
        "country": rng.choice(["de", "fr", "it"], rows).tolist(),
        "kind": rng.choice(["card", "cash"], rows).tolist(),
    }
