"""Pages of the docs as programs: their blocks run in order, in one folder, and print what they say.

TRUECAL_SNAPSHOTS=write puts what is printed into the pages; the diff shows what changed.
"""

import contextlib
import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from command import environment
from command import run as command

ROOT = Path(__file__).parents[1]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
LIBRARIES = {"pandas": ("pandas", "narwhals"), "polars": ("polars",)}  # what an import needs, where more than itself
WRITE = os.environ.get("TRUECAL_SNAPSHOTS") == "write"
OURS = {"truecal", *sys.stdlib_module_names}


def list_blocks(page):
    """The blocks of code of a page: language and text."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", (ROOT / page).read_text(), flags=re.MULTILINE | re.DOTALL)


def list_pages(*languages):
    """The pages that have blocks of these languages."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    names = [page.relative_to(ROOT).as_posix() for page in pages]
    return [name for name in names if any(language in languages for language, _ in list_blocks(name))]


def list_libraries(page):
    """What a page needs besides truecal and Python."""
    found = set()
    for language, code in list_blocks(page):
        if language == "console":
            found.add("polars")  # reads files
        for line in re.findall(r"^(?:>>> )?(?:import|from) (.*)", code, flags=re.MULTILINE):
            names = line.split(" import ")[0].split(",")
            found |= {re.split(r"[ .]", name.strip())[0] for name in names} - OURS
    return sorted({library for name in found for library in LIBRARIES.get(name, (name,))})


class Runner(doctest.DocTestRunner):
    """A runner that keeps what examples printed that failed."""

    def __init__(self):
        super().__init__(optionflags=FLAGS)
        self.different = []

    def report_failure(self, out, test, example, got):
        self.different.append((example.want, re.sub(r"^$", "<BLANKLINE>", got.rstrip("\n"), flags=re.MULTILINE) + "\n"))
        return super().report_failure(out, test, example, got)


def run_examples(test, page=None):
    """Run the examples of a docstring or page; return how many."""
    report, runner = [], Runner()
    result = runner.run(test, out=report.append, clear_globs=False)
    if WRITE and page is not None and result.failed == len(runner.different):
        for want, got in runner.different:
            replace_output(page, want, got)
        return result.attempted
    assert result.failed == 0, "".join(report)
    return result.attempted


def replace_output(page, old, new):
    """Put what was printed into a page; lines that it left out, "...", stay out."""
    before, left_out, after = old.rstrip("\n").partition("\n...\n")
    if left_out:
        lines = new.rstrip("\n").split("\n")
        new = "\n".join([*lines[: before.count("\n") + 1], "...", *lines[-after.count("\n") - 1 :]]) + "\n"
    elif before.endswith("\n..."):
        new = "\n".join([*new.split("\n")[: before.count("\n")], "..."]) + "\n"
    place = ROOT / page
    text = place.read_text()
    assert old in text, old
    place.write_text(text.replace(old, new, 1))


def run_page(page, folder, names=None):
    """Run all blocks of a page in a folder: Python with shared names, commands; and write files that say their name."""
    known = {} if names is None else names
    with contextlib.chdir(folder):
        for language, code in list_blocks(page):
            if language == "pycon":
                test = doctest.DocTestParser().get_doctest(code, known, page, page, 0)
                assert run_examples(test, page) > 0
                known = test.globs
            elif language == "python":
                exec(compile(code, page, "exec"), known)
            elif language == "console":
                run_commands(code, folder, page=page)
            elif name := re.match(r"# ([\w.-]+)\n", code):
                Path(name[1]).write_text(code)


def run_commands(code, folder, notes=True, page=None):
    """Run the commands of a block, which begin with "$ ", and compare what they print, where that is shown: "..." is
    any lines, `notes` what goes to the stream of errors. Nothing is installed."""
    ran = []
    for example in re.split(r"^\$ ", code, flags=re.MULTILINE)[1:]:
        line, _, expected = example.partition("\n")
        if line.startswith("pip install"):
            continue
        printed = run_line(line, folder, notes)
        flags = doctest.ELLIPSIS if re.search(r"^\.\.\.$", expected, flags=re.MULTILINE) else 0
        agree = doctest.OutputChecker().check_output(f"{expected.rstrip()}\n", f"{printed.rstrip()}\n", flags)
        if WRITE and page is not None and expected and not agree:
            replace_output(page, f"$ {line}\n{expected}", f"$ {line}\n{printed}")
            agree = True
        assert agree or not expected, f"$ {line}\n{printed}"
        ran.append(line)
    return ran


def run_line(line, folder, notes=True):
    """What a line prints: truecal in this process, anything else in a shell; then the exit code, if it is asked for."""
    plain, told = line.removesuffix("; echo $?"), line.endswith("; echo $?")
    words = shlex.split(plain, comments=True)
    if words[0] == "truecal" and not re.search(r"[|<>;&$`]", plain):
        done = command(*words[1:], merged=notes, cwd=folder, COLUMNS="96")
        return f"{done.stdout}{done.returncode}\n" if told else done.stdout
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT if notes else subprocess.PIPE}
    changed = environment(PATH=path, COLUMNS="96")
    return subprocess.run(["bash", "-c", line], cwd=folder, env=changed, text=True, check=False, **streams).stdout
