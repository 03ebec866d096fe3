"""Run command lines with a fault each, in children of this process, which has imported everything already.

It is started with the library of `faults.c` loaded before all others. It reads one case in JSON from each line of
standard input, and answers with a line.
"""

import atexit
import ctypes
import gc
import importlib
import json
import os
import pkgutil
import signal
import sys
import time

import truecal
from truecal.cli import main

KINDS = ("open", "read", "write", "rename", "sync", "close", "map", "stat", "allocate", "reserve")
SECONDS = 30

library = ctypes.CDLL(os.environ["LD_PRELOAD"])
library.faults_calls.restype = library.faults_failed.restype = ctypes.c_long
library.faults_crashed.restype = ctypes.c_char_p
library.faults_arm.argtypes = [
    ctypes.c_char_p,
    ctypes.c_int,
    ctypes.c_long,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_size_t,
]


def start(case):
    """Run a case in a child, and return its process. The child leaves as an interpreter does, but forgets no module."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    os.chdir(case["folder"])
    os.environ["TMPDIR"] = case["temporary"]
    for number, name in ((0, "/dev/null"), (1, case["out"]), (2, case["err"])):
        handle = os.open(name, os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(handle, number)
        os.close(handle)
    arm = (KINDS.index(case["call"]), case["n"], case["error"], case["lasting"], case["size"])
    library.faults_arm(os.fsencode(case["watched"]), *arm)
    code = main(case["words"])
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


def wait(child):
    """Return the exit code of a child; it is negative for a signal. A child that hangs is killed."""
    end = time.monotonic() + SECONDS
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.002)


for module in pkgutil.walk_packages(truecal.__path__, "truecal."):
    if not module.name.endswith(("__main__", "integrations._mlflow", "integrations._torch")):
        importlib.import_module(module.name)
for name in ("matplotlib.pyplot", "matplotlib.backends.backend_agg", "numpy.random", "polars", "tomllib"):
    importlib.import_module(name)
library.faults_share()
gc.freeze()  # so that children do not copy what is imported
for line in sys.stdin:
    code = wait(start(json.loads(line)))
    calls = {kind: library.faults_calls(i) for i, kind in enumerate(KINDS)}
    crashed = os.fsdecode(library.faults_crashed())
    print(json.dumps({"code": code, "calls": calls, "failed": library.faults_failed(), "crashed": crashed}), flush=True)
