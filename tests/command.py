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
import time
import warnings
from fcntl import ioctl
from pathlib import Path
from signal import SIGINT, SIGTERM
from termios import TIOCSWINSZ

import numpy as np
import pytest

from truecal import cli
from truecal._text import measure

TRUECAL = [sys.executable, "-m", "truecal"]
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


def environment(**changes):
    """The environment without what would change the output; None takes a variable away."""
    found = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR", "TRUECAL_DEBUG")}
    found |= {"LC_ALL": "C.UTF-8", "TERM": "xterm"}
    for name, value in changes.items():
        found.pop(name, None)
        if value is not None:
            found[name] = value
    return found


def run(*words, cwd=None, stdin="", **changes):
    """Run a command in this process, with its streams in files; `changes` are to the environment."""
    command, before = list(map(str, words)), {number: signal.getsignal(number) for number in (SIGINT, SIGTERM)}
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.onceregistry.clear()
        for name in os.environ.keys() - environment(**changes).keys():
            patch.delenv(name)
        for name, value in environment(**changes).items():
            patch.setenv(name, value)
        patch.chdir(cwd or os.getcwd())
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        places = {name: Path(folder, name) for name in ("stdout", "stderr")}
        with places["stdout"].open("w", encoding="utf-8") as out, places["stderr"].open("w", encoding="utf-8") as err:
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            try:
                code = cli.main(command)
            finally:
                for number, handler in before.items():
                    signal.signal(number, handler)
        found = {name: place.read_text(encoding="utf-8") for name, place in places.items()}
    return subprocess.CompletedProcess(command, code, **found)


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
            try:
                part = os.read(self.master, 1 << 16)
            except OSError:  # the other side is closed
                break
            if not part:
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
