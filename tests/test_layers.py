"""Imports point down, and optional libraries are imported where they are used."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import truecal

PACKAGE = Path(truecal.__file__).parent
ORDER = [
    "_kernel",
    "arrays",
    "progress",
    "terminal",
    "writing",
    "ties",
    "tally",
    "pairs",
    "grid",
    "cells",
    "binning",
    "spool",
    "files",
    "engines",
    "guessing",
    "query",
    "batches",
    "summaries",
    "summary_files",
    "ingest",
    "decisions",
    "hypotheses",
    "power",
    "metrics",
    "bounds",
    "recalibration",
    "replicates",
    "inference",
    "comparators",
    "table",
    "segments",
    "shapes",
    "encoding",
    "result",
    "classes",
    "api",
    "tallied",
    "gridded",
    "evaluation",
    "maturity",
    "drift_table",
    "windows",
    "scoring",
    "rules",
    "verdict",
    "gate",
    "checks",
    "axis",
    "plots",
    "comparisons",
    "drift_pictures",
    "display",
    "figures",
    "report_page",
    "report_sections",
    "reports",
    "demo",
    "records",
    "answers",
    "drift_answers",
    "parsing",
    "arguments",
    "options",
    "completion",
    "outputs",
    "inputs",
    "commands",
    "cli",
]
# who may import which third party, and whether at the top of the module
ALLOWED = {
    "numpy": None,
    "narwhals": {"engines"},
    "polars": {"engines", "files", "summary_files"},
    "scipy": {"decisions", "hypotheses", "power", "comparators", "inference"},
}


def imports(module):
    tree = ast.parse((PACKAGE / f"{module}.py").read_text())
    nested = {id(child) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) for child in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield name.name, id(node) in nested
        elif isinstance(node, ast.ImportFrom):
            if node.module == "truecal":
                for name in node.names:
                    if name.name == "__version__":
                        continue
                    yield f"truecal.{name.name}", id(node) in nested
            else:
                yield node.module, id(node) in nested


def test_every_module_has_its_place():
    assert {path.stem for path in PACKAGE.glob("*.py")} - {"__init__", "__main__"} == set(ORDER) - {"_kernel"}


@pytest.mark.parametrize("module", ORDER[1:])
def test_imports_point_down(module):
    for name, nested in imports(module):
        top, _, rest = name.partition(".")
        if top == "truecal":
            inner = rest.partition(".")[0]
            if module == "demo" and not inner:
                continue
            assert ORDER.index(inner) < ORDER.index(module), f"{module} imports {name}"
        elif top in ALLOWED:
            homes = ALLOWED[top]
            assert homes is None or module in homes, f"{module} imports {name}"
            assert homes is None or nested, f"{module} imports {name} at its top"
        else:
            assert top in sys.stdlib_module_names, f"{module} imports {name}"


def test_import_loads_nothing_slow():
    code = "import sys, truecal; print(sorted(m for m in sys.modules if m.partition('.')[0] in %r))"
    slow = ("scipy", "matplotlib", "plotly", "pandas", "polars", "sklearn", "numpy", "dataclasses")
    out = subprocess.run([sys.executable, "-c", code % (slow,)], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_tce_does_not_load_scipy():
    code = "import sys, truecal; truecal.tce([0, 1], [0.3, 0.4]); print('scipy' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"


def test_files_stay_short():
    long = {path.name: len(path.read_text().splitlines()) for path in PACKAGE.glob("*.py")}
    assert not {name: lines for name, lines in long.items() if lines > 400}
