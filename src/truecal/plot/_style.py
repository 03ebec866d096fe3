"""How pictures look in matplotlib: settings that hold while a picture is drawn, and never the user's.

Fonts are the first of a list that are installed. Matplotlib takes each sign from the first of them that has it, so that
names in any script are shown where a font for it is there.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from importlib import import_module
from typing import Any

INK = "#24292f"
SETTINGS: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": INK,
    "axes.facecolor": "white",
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.titlecolor": INK,
    "axes.unicode_minus": False,
    "figure.facecolor": "white",
    "font.size": 9.5,
    "grid.color": "#b0b7bf",
    "hatch.linewidth": 0.6,
    "legend.frameon": False,
    "savefig.facecolor": "white",
    "svg.hashsalt": "truecal",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}
BOLD = 600  # the weight from which on a face is bold
FONTS = (
    "DejaVu Sans",
    *("Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Sans JP", "Source Han Sans", "Hiragino Sans", "Yu Gothic"),
    *("Microsoft YaHei", "Malgun Gothic", "PingFang SC", "WenQuanYi Zen Hei", "IPAexGothic", "Droid Sans Fallback"),
    *("Noto Sans", "Noto Sans Arabic", "Noto Sans Hebrew", "Noto Sans Devanagari", "Noto Sans Thai", "FreeSans"),
    *("Arial Unicode MS", "Segoe UI", "Segoe UI Symbol", "Noto Sans Symbols2", "Unifont"),
)


def apply_style() -> AbstractContextManager[None]:
    """Return a context in which matplotlib draws in this style."""
    context: AbstractContextManager[None] = import_module("matplotlib").rc_context(
        {**SETTINGS, "font.family": find_fonts()}
    )
    return context


@cache
def find_fonts(*, bold: bool = False) -> list[str]:
    """Return the fonts of the list that are installed; matplotlib brings the first. With `bold`, those that have such a
    face: matplotlib would complain of the others."""
    fonts = import_module("matplotlib.font_manager")
    entries = fonts.fontManager.ttflist
    known = {each.name for each in entries if not bold or fonts.weight_dict.get(each.weight, each.weight) >= BOLD}
    return [name for name in FONTS if name in known]
