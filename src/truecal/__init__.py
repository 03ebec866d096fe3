"""truecal: how far a probabilistic classifier's predictions can be trusted.

The public names are listed in `__init__.pyi` and imported when first used, so that `import truecal` costs next to
nothing.
"""

from typing import Any as _Any

from truecal import _fork as _fork

__version__ = "0.1.0"

with open(__file__ + "i", encoding="utf-8") as _stub:  # "from module import name as name"
    _HOME = {words[-1]: words[1] for words in map(str.split, _stub) if words[:1] == ["from"]}

__all__ = sorted(_HOME)  # noqa: PLE0605


def __getattr__(name: str) -> _Any:
    if name not in _HOME:
        raise AttributeError(f"module 'truecal' has no attribute {name!r}")
    from importlib import import_module

    if _HOME[name] == __name__:
        return import_module(f"truecal.{name}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def _draw_inline(kind: str, found: object, words: str) -> str:
    """The picture of a result in a notebook, for results, which know no pictures; `words` say what it shows."""
    from truecal.plot import draw_inline

    return draw_inline(kind, found, words)
