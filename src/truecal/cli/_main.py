"""The command line: `truecal COMMAND ...`. Answers go to standard output, everything else to standard error.

Exit codes: 0 fine, 1 a check failed, 2 wrong usage, bad input or an answer that could not be written, 3 a check is
inconclusive; 130 interrupted; 141 the reader of the output closed it early.
"""

from __future__ import annotations

import atexit
import gc
import io
import os
import re
import signal
import sys
import warnings
from typing import Any, NoReturn, TextIO

from truecal import __version__
from truecal._errors import describe_missing, did_you_mean, set_spelling
from truecal._text import Terminal, printable_lines, say
from truecal.cli._options import COMMANDS, UsageError, make_parser, overview, spell_parameters
from truecal.cli._output import note, print_notes

ABORTED = (
    "error: a library ended the process, most likely since memory ran out.\n"
    "Hint: allow more memory (`ulimit -v`), or let --memory be less than what there is.\n"
)
MISTAKES = (ValueError, TypeError, OSError, EOFError, ImportError, UsageError)


def main(words: list[str] | None = None) -> int:
    """Run a command line and return its exit code."""
    given = sys.argv[1:] if words is None else words
    if words is None:  # a process of its own
        _collect_rarely()
    debug = "--debug" in given or os.environ.get("TRUECAL_DEBUG", "0") not in ("", "0")
    if "--no-color" in given:
        os.environ["NO_COLOR"] = "1"
    _open_closed()
    _buffer_output()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    signal.signal(signal.SIGTERM, _stop)
    warnings.simplefilter("once", UserWarning)
    warnings.showwarning = _note_warning
    try:
        code = _run(given, alone=words is None)
        sys.stdout.flush()
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 2
    except KeyboardInterrupt:
        _print_error("interrupted", "yellow")
        return 130
    except BrokenPipeError:
        _abandon(sys.stdout)
        return 141
    except BaseException as error:
        if debug:
            import traceback

            say(traceback.format_exc(), sys.stderr, end="")
        print_notes()
        _print_error(f"error: {explain(error)}", "red")
        _abandon(sys.stdout)
        return 2
    finally:
        print_notes()
        set_spelling(None)
    return code


def _run(words: list[str], *, alone: bool) -> int:
    """Run a command, `alone` in a process of its own."""
    first = words[0] if words else ""
    if first in ("", "-h", "--help", "help"):
        say(overview(Terminal.of(sys.stdout)), sys.stdout if first else sys.stderr)
        return 0 if first else 2
    if first == "--version":
        say(f"truecal {__version__}")
        if "--verbose" in words:
            from truecal.cli._versions import describe_versions

            say(describe_versions())
        return 0
    if first not in COMMANDS:
        raise UsageError(f"there is no command {first!r}{did_you_mean(first, COMMANDS)}")
    set_spelling(spell_parameters(first))
    args = make_parser(first).read(words[1:])
    args.command, args.words = first, words
    if alone:
        from truecal._kernel import explain_abort

        explain_abort(ABORTED, 2)
    from truecal.cli import _commands as commands

    code: int = getattr(commands, first)(args)
    return code


def explain(error: BaseException) -> str:
    """An error as a user reads it: a mistake in words, anything else as a bug of ours."""
    if isinstance(error, FileNotFoundError) and error.filename is not None:
        error = FileNotFoundError(describe_missing(error.filename))
    if isinstance(error, OSError) and error.errno is not None:
        place = f"{os.fspath(error.filename)}: " if error.filename else ""
        return f"{place}{error.strerror}."
    if isinstance(error, MemoryError):
        return "there is not enough memory."
    text = str(error)
    if not isinstance(error, MISTAKES):
        first = text.splitlines()[0] if text else ""
        if type(error).__module__.startswith(("polars", "pyo3_runtime")):
            return f"polars failed: {first}\nHint: memory may have run out; if not, report what --debug shows."
        return f"{type(error).__name__}: {first}\nHint: this is a bug; --debug shows where."
    text = re.sub(r"'[^']*truecal-\w+/\w+'", "standard input", text)  # where it was put
    return "\n".join([text.replace("\n\nHint", "\nHint"), *getattr(error, "__notes__", [])])


def _print_error(text: str, style: str) -> None:
    """Print a line or a few on standard error."""
    terminal, text = Terminal.of(sys.stderr), printable_lines(text)
    if sys.stderr.isatty():
        text = "\n".join(terminal.wrap(line, "  ", "") for line in text.splitlines())
    head, space, rest = text.partition(" ")
    say(f"{terminal.paint(head, style)}{space}{rest}", sys.stderr)


def _note_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    if issubclass(category, UserWarning):
        note(str(message))


def _open_closed() -> None:
    """Send closed standard streams nowhere, and say so, so that no file that is opened later takes their place."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(opened, "r" if number == 0 else "w"))
            if name == "stdout" and sys.stderr is not None:
                _print_error("note: standard output is closed, so no answer is shown", "dim")


def _buffer_output() -> None:
    """Give standard output a buffer under PYTHONUNBUFFERED: without one, Python ignores that only a part was
    written, as on a disk that is full. Every answer is flushed."""
    if isinstance(getattr(sys.stdout, "buffer", None), io.RawIOBase):
        sys.stdout = open(  # noqa: SIM115
            sys.stdout.fileno(), "w", encoding=sys.stdout.encoding, errors=sys.stdout.errors, closefd=False
        )


def _abandon(stream: TextIO) -> None:
    """Send what is not written yet nowhere, so that the end of the process does not fail on it again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())


def _collect_rarely() -> None:
    """Look for garbage rarely, and not at all in what is left at the end: half of it is modules, which stay."""
    gc.set_threshold(100_000)
    atexit.register(gc.freeze)


def _stop(*_: Any) -> NoReturn:
    """End as after any error, so that no draft of a file stays."""
    raise SystemExit(128 + signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
