"""Packages that list their public names in `__init__.pyi` and import each when it is first used."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def lazy_names(package: str, place: str) -> tuple[dict[str, str], Callable[[str], Any], Callable[[], list[str]]]:
    """The modules of a package's names, whose `__init__.py` lies at `place`; its `__getattr__` and `__dir__`."""
    with open(f"{place}i", encoding="utf-8") as stub:  # "from module import name as name"
        homes = {words[-1]: words[1] for words in map(str.split, stub) if words[:1] == ["from"]}

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if homes[name] == package:
            return import_module(f"{package}.{name}")
        value = getattr(import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return homes, load, lambda: sorted({*homes, *vars(sys.modules[package])})
