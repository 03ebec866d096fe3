"""Functions stay short and their signatures small; exceptions have a written reason, and the list only shrinks."""

import ast
from pathlib import Path

import pytest

import truecal

ROOT = Path(truecal.__file__).parent
LINES, PARAMETERS = 60, 12
# functions that are larger: (lines, parameters) and why
EXCEPTIONS: dict[str, tuple[int, int, str]] = {}


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


@pytest.mark.slow
def test_every_exception_is_needed_and_has_a_reason():
    sizes = {name: (lines, count) for name, lines, count in functions()}
    for name, (lines, count, reason) in EXCEPTIONS.items():
        assert reason, name
        assert sizes[name] == (min(lines, sizes[name][0]), count), name
        assert lines > LINES or count > PARAMETERS, name
