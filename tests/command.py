"""The command line as a user runs it: in a process of its own."""

import os
import pty
import re
import select
import struct
import subprocess
import sys
import time
from fcntl import ioctl
from termios import TIOCSWINSZ

import numpy as np

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


def run(*words, cwd=None, stdin="", prefix=(), preexec_fn=None, **changes):
    """Run a command with its streams piped; `changes` are to the environment."""
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
