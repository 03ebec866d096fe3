"""Functions stay short and their signatures small; exceptions have a written reason, and the list only shrinks."""

import ast
from pathlib import Path

import truecal

ROOT = Path(truecal.__file__).parent
LINES, PARAMETERS = 60, 10
# what a user may write at the border, name by name: (lines, parameters) and why
EXCEPTIONS: dict[str, tuple[int, int, str]] = {
    "reading/_cross.py:cross": (60, 11, "as `slices`"),
    "metrics/_functions.py:tce": (60, 12, "the data, the test, the threads and the memory, each by its name"),
    "reading/_read.py:read": (60, 22, "all that can be said of data, each by its name"),
    "analysis/_evaluate.py:evaluate": (60, 14, "as `read`, for arrays"),
    "analysis/_slices.py:slices": (60, 15, "as `read`, and what is searched"),
    "analysis/_recalibrate.py:recalibrate": (60, 12, "as `evaluate`, and what is fitted"),
    "reporting/_report.py:report": (60, 12, "what is on the page, each by its name"),
    "reading/_read.py:read_models": (60, 20, "as `read`"),
}


def functions():
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                lines = node.end_lineno - body[0].lineno + 1 if body else 0
                given = node.args
                count = len(given.posonlyargs) + len(given.args) + len(given.kwonlyargs)
                yield f"{path.relative_to(ROOT)}:{node.name}", lines, count


def test_functions_stay_small():
    found = {}
    for name, lines, count in functions():
        most_lines, most_count, _ = EXCEPTIONS.get(name, (LINES, PARAMETERS, ""))
        if lines > most_lines or count > most_count:
            found[name] = lines, count
    assert not found


def test_every_exception_is_needed_and_has_a_reason():
    sizes = {name: (lines, count) for name, lines, count in functions()}
    for name, (lines, count, reason) in EXCEPTIONS.items():
        assert reason, name
        assert sizes[name] == (min(lines, sizes[name][0]), count), name
        assert lines > LINES or count > PARAMETERS, name
