"""Write the pages that the site is built of: `python docs/site.py build/docs`; `make docs` builds the site of them.

Pages are written to be read in the repository. Here the README becomes the first page, links lead to pages of the
site where there are any, and a reference is made of every public name.
"""

from __future__ import annotations

import ast
import inspect
import posixpath
import re
import shutil
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import truecal
from truecal._options import options_of
from truecal.results import Table

ROOT = Path(__file__).parents[1]
HOME = "https://github.com/truecal/truecal/blob/main/"
RAW = "https://raw.githubusercontent.com/truecal/truecal/main/"
MOVED = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
PACKAGES = {name: value for name in truecal.__all__ if isinstance(value := getattr(truecal, name), ModuleType)}


def write_site(place: Path) -> None:
    """Write every page, and pictures, to a folder that is emptied before."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(ROOT / "docs", place, ignore=shutil.ignore_patterns("*.py", "*.md", "__pycache__"))
    pages = {name: (ROOT / name).read_text(encoding="utf-8") for name in list_pages()}
    for name, text in {**{move(name): adapt(text, name) for name, text in pages.items()}, **make_reference()}.items():
        page = place / str(name)
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text, encoding="utf-8")


def list_pages() -> list[str]:
    """The pages of the repository that the site has."""
    return [*MOVED, *(path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs").rglob("*.md")))]


def move(name: str) -> str | None:
    """The place in the site of a file of the repository; None for what the site does not have."""
    own = name.removeprefix("docs/") if name.startswith("docs/") and not name.endswith(".py") else None
    return MOVED.get(name, own)


def adapt(text: str, name: str) -> str:
    """A page of the repository with links that lead to pages of the site; code stays as it is."""

    def lead(found: re.Match[str]) -> str:
        words, (target, sign, anchor) = found[1], found[2].partition("#")
        own = target.removeprefix(HOME).removeprefix(RAW)
        if own == target:
            if not target or ":" in target:
                return found[0]
            own = posixpath.normpath(posixpath.join(posixpath.dirname(name), target))
        page = move(own)
        if page is None:
            return f"[{words}]({HOME}{own}{sign}{anchor})"
        said = find_titles().get(page, words) if words.endswith(".md") else words
        link = posixpath.relpath(page, posixpath.dirname(str(move(name))) or ".")
        return f"[{said}]({link}{sign}{anchor})"

    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(
        part if part.startswith("```") else re.sub(r"\[([^]]*)\]\(([^)\s]+)\)", lead, part) for part in parts
    )


@cache
def find_titles() -> dict[str, str]:
    """What the navigation calls each page."""

    def walk(entries: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
        for entry in entries:
            for title, value in entry.items():
                yield from [(value, title)] if isinstance(value, str) else walk(value)

    return dict(walk(tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"]))


def list_names() -> dict[str, list[str]]:
    """The public names of the top level, functions first, and of each package."""
    top = sorted((name for name in truecal._HOME if name not in PACKAGES), key=lambda name: name[0].isupper())
    return {"truecal": top, **{package.__name__: list(package.__all__) for package in PACKAGES.values()}}


def make_reference() -> dict[str, str]:
    """The pages of the reference by name: a list of all names, and for each package what its names are.

    Names that the top level has, too, are explained there.
    """
    names = list_names()
    top = names["truecal"]
    overview = ["# Every public name", "", "What is not listed has [no promise](../stability.md).", ""]
    pages = {}
    for module, found in names.items():
        package = sys.modules[module]
        words = "What is used most." if package is truecal else inspect.getdoc(package) or ""
        lines = [f"# {module}", "", words, ""]
        overview += [f"## {module}", "", words, "", "| name | what it is |", "| --- | --- |"]
        told = [] if package is truecal else [name for name in found if name in top]
        if told:
            links = ", ".join(f"[{name}](truecal.md#truecal.{name})" for name in told)
            lines += [f"Also here, and explained with the top level: {links}.", ""]
        for name in found:
            home = "truecal" if name in top else module
            first = re.split(r"(?<=\.)\s|\n\n", find_docstring(module, name))[0]
            link = f"{home.removeprefix('truecal.')}.md#{home}.{name}"
            overview.append(f"| [{name}]({link}) | {' '.join(first.split())} |")
            if name not in told:
                value = getattr(package, name) if name in dir(package) else None
                lines += [f"::: {module}.{name}", "", *_list_columns(value), *_list_options(value)]
        pages[f"reference/{module.removeprefix('truecal.')}.md"] = "\n".join(lines)
        overview.append("")
    return {"reference/index.md": "\n".join(overview), **pages}


def _list_columns(value: object) -> Iterator[str]:
    """The columns of a table, which its class has told to its docstring."""
    if isinstance(value, type) and issubclass(value, Table):
        columns = re.findall(
            r"^(\w+)\n    (.+)$", (inspect.getdoc(value) or "").partition("Columns\n-------\n")[2], re.M
        )
        yield from (
            f"Columns of `{value.__name__}`:",
            "",
            "| column | what it is |",
            "| --- | --- |",
            *(f"| `{name}` | {words} |" for name, words in columns),
            "",
        )


def _list_options(value: object) -> Iterator[str]:
    """The options of a function, which are declared apart from its source."""
    options = options_of(value) if callable(value) else {}
    if options:
        signature = inspect.signature(value)
        yield from (
            f"Options of `{value.__name__}`:",
            "",
            "| option | default | what it is |",
            "| --- | --- | --- |",
            *(
                f"| `{name}` | `{signature.parameters[name].default!r}` | {each.meaning.replace('|', chr(92) + '|')} |"
                for name, each in options.items()
            ),
            "",
        )


def find_docstring(module: str, name: str) -> str:
    """The docstring of a public name, read from its source: also a constant's, or one of what is not installed here."""
    home = truecal._HOME[name] if module == "truecal" else module
    for node in ast.walk(_parse(f"{home}.__init__")):
        if isinstance(node, ast.ImportFrom) and any(entry.name == name for entry in node.names):
            return _list_docstrings(str(node.module)).get(name, "")
    return ""


@cache
def _parse(module: str) -> ast.Module:
    path = ROOT / "src" / Path(*module.split(".")).with_suffix(".py")
    stub = path.with_suffix(".pyi")  # which lists the names of a package that imports them late
    return ast.parse((stub if stub.exists() else path).read_text(encoding="utf-8"))


@cache
def _list_docstrings(module: str) -> dict[str, str]:
    """Docstrings of functions and classes, and the text below constants."""
    found: dict[str, str] = {}
    body = _parse(module).body
    for node, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found[node.name] = ast.get_docstring(node) or ""
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(after, ast.Expr):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name) and isinstance(after.value, ast.Constant):
                found[target.id] = inspect.cleandoc(str(after.value.value))
    return found


if __name__ == "__main__":
    write_site(Path(sys.argv[1]))
