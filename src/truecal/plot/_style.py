"""The style of plots in matplotlib: settings while a plot is drawn; the user's settings never change.

Fonts are those of a list that are installed. Matplotlib takes each character from the first font that has it, so that
names in any script are shown if a font for it is installed.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from importlib import import_module
from typing import Any

TEXT_COLOUR = "#24292f"
SETTINGS: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": TEXT_COLOUR,
    "axes.facecolor": "white",
    "axes.labelcolor": TEXT_COLOUR,
    "axes.linewidth": 0.8,
    "axes.titlecolor": TEXT_COLOUR,
    "axes.unicode_minus": False,
    "figure.facecolor": "white",
    "font.size": 9.5,
    "grid.color": "#b0b7bf",
    "hatch.linewidth": 0.6,
    "legend.frameon": False,
    "savefig.facecolor": "white",
    "svg.hashsalt": "truecal",
    "text.color": TEXT_COLOUR,
    "xtick.color": TEXT_COLOUR,
    "ytick.color": TEXT_COLOUR,
}
BOLD = 600  # the least weight of a bold face (semibold)
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
    """Return the fonts of the list that are installed; matplotlib brings the first.

    With `bold`, only those with a bold face: matplotlib would warn of the others.
    """
    fonts = import_module("matplotlib.font_manager")
    entries = fonts.fontManager.ttflist
    known = {font.name for font in entries if not bold or fonts.weight_dict.get(font.weight, font.weight) >= BOLD}
    return [name for name in FONTS if name in known]
