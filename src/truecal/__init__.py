"""truecal: how far a probabilistic classifier's predictions can be trusted.

The public names are listed in `__init__.pyi` and imported when first used, so that `import truecal` costs next to
nothing.
"""

from truecal import _fork as _fork
from truecal._lazy import lazy_names as _open

__version__ = "0.1.0"
_HOME, __getattr__, _ = _open(__name__, __file__)
__all__ = sorted(_HOME)  # noqa: PLE0605


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def _draw_inline(kind: str, found: object, words: str) -> str:
    """Draw the plot of a result for a notebook; `results` cannot import `plot`. `words` is its alternative text."""
    from truecal.plot import draw_inline

    return draw_inline(kind, found, words)
