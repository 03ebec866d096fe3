"""Folders are layers: a file imports its own package and those to the left, other packages only through their face.

Every way of importing is seen: statements, `import_module("...")`, and the functions that load an optional library.
"""

import ast
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import truecal

ROOT = Path(truecal.__file__).parent
LAYERS = [
    *("_kernel", "_lazy", "_codes", "_errors", "_options", "_progress", "_text", "_atomic", "_fork", "_threads"),
    *("data", "metrics", "inference", "verdict", "results", "reading", "analysis", "gate", "words", "plot"),
    *("reporting", "sklearn", "integrations", "demo", "cli", "__init__", "__main__"),
]
# which packages may import an optional or slow library, always inside a function
HOMES = {
    "scipy": {"metrics", "inference"},
    "narwhals": {"reading"},
    "polars": {"data", "reading", "cli"},
    "matplotlib": {"plot"},
    "sklearn": {"sklearn"},
    "shtab": {"cli"},
    **{name: {"integrations"} for name in ("mlflow", "torch", "torchmetrics", "xgboost")},
}
LATE = {
    "sklearn/_recalibrated.py",
    "integrations/_mlflow.py",
    "integrations/_torch.py",
}  # whose classes derive from such a library's; imported inside a function
TYPES = "TYPE_CHECKING"
LOADERS = ("import_module", "_load")
# the package itself: its version, and the pictures of a notebook, which results hand on without knowing them
FACE = {"__version__", "_draw_inline"}


def imported(path):
    """Every module that a file imports, and whether inside a function."""
    tree = ast.parse(path.read_text())
    if path.name == "_options.py":  # declarations have types of every package, for type checkers alone
        tree.body = [node for node in tree.body if not (isinstance(node, ast.If) and ast.unparse(node.test) == TYPES)]
    nested = {id(child) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) for child in ast.walk(node)}
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module]
            if node.module == "truecal":
                names = [f"truecal.{name.name}" for name in node.names if name.name not in FACE]
        elif isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in LOADERS:
            names = [word.value for word in node.args if isinstance(word, ast.Constant) and isinstance(word.value, str)]
        for name in names:
            yield name, id(node) in nested


def layer(path):
    return path.relative_to(ROOT).with_suffix("").parts[0]


FACES = ROOT.glob("*/__init__.pyi")
MODULES = sorted(path for path in [*ROOT.rglob("*.py"), *FACES] if path != ROOT / "__init__.py")


def test_every_module_has_its_layer():
    assert {layer(path) for path in MODULES} <= set(LAYERS)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_left(path):
    own = layer(path)
    for name, nested in imported(path):
        top, *rest = name.split(".")
        if name == "truecal.words" and nested:
            continue  # results and decisions ask for their sentences, which are made of them
        if top == "truecal" and rest:
            assert LAYERS.index(rest[0]) <= LAYERS.index(own), f"{path.name} imports {name}"
            assert rest[0] == own or len(rest) == 1, f"{path.name} imports {name}: go through truecal.{rest[0]}"
        elif top in HOMES:
            assert own in HOMES[top], f"{path.name} imports {name}"
            assert nested or str(path.relative_to(ROOT)) in LATE, f"{path.name} imports {name} at its top"
        elif top not in ("numpy", "truecal"):
            assert top in sys.stdlib_module_names, f"{path.name} imports {name}"


def loaded(code):
    """The modules that are loaded after some code."""
    code += "\nimport sys; print(*sys.modules)"
    own = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}  # which loads modules
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=own)
    return set(done.stdout.split())


def test_import_loads_nothing_slow():
    slow = {"scipy", "matplotlib", "pandas", "polars", "sklearn", "numpy", "dataclasses"}
    assert not slow & loaded("import truecal")


def test_tce_loads_what_it_needs():
    found = loaded("import truecal; truecal.tce([0, 1], [0.3, 0.4])")
    others = ("inference", "verdict", "results", "reading", "analysis", "gate", "plot", "reporting", "sklearn", "cli")
    assert not found & {"scipy", *(f"truecal.{name}" for name in others)}


def test_evaluate_loads_no_reading():
    found = loaded("import truecal; truecal.evaluate([0, 1], [0.3, 0.4])")
    others = ("reading", "gate", "plot", "reporting", "sklearn", "cli")
    assert not {name for name in found if name.startswith(tuple(f"truecal.{other}" for other in others))}
    assert not found & {"polars", "narwhals", "pandas", "numpy.ma"}
    kinds = ("_classes", "_drift", "_groups", "_monitor", "_recalibration", "_slices")
    assert not found & {f"truecal.{package}.{kind}" for package in ("analysis", "results") for kind in kinds}


def test_every_name_of_a_face_is_there():
    for package in LAYERS[LAYERS.index("data") : LAYERS.index("reporting")]:
        face = import_module(f"truecal.{package}")
        assert all(getattr(face, name) is not None for name in dir(face))
        assert set(getattr(face, "__all__", ())) <= set(dir(face))
        with pytest.raises(AttributeError, match=f"module 'truecal.{package}' has no attribute 'tec'"):
            _ = face.tec
