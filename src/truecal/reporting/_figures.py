"""The figures of a page, drawn into it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from truecal.plot import Scale, make_svg
from truecal.reporting._page import write_figure

SCALED_PICTURES = ("calibration", "test_reliability", "reliability", "binnings")  # pictures with a probability axis
HOVER_TEXT = re.compile("><title>(.*?)</title></path>", re.DOTALL)
OTHER: dict[Scale, Scale] = {"linear": "logit", "logit": "linear"}


@dataclass(frozen=True, slots=True)
class Figures:
    """Draws figures on one scale, or on both."""

    scale: Scale

    def draw(
        self,
        number: str,
        kind: str,
        *found: Any,
        label: str,
        caption: str = "",
        both: bool = False,
        texts: bool = True,
    ) -> str:
        """Draw a picture; `label` says what it shows, `caption` how it is read, `both` has it on both axes."""
        scales = [self.scale, *([OTHER[self.scale]] if both else [])] if kind in SCALED_PICTURES else []
        drawn = [make_svg(kind, *found, label=label, texts=texts, scale=scale) for scale in scales]
        drawn = drawn or [make_svg(kind, *found, label=label, texts=texts)]
        inside = drawn[0]
        if len(drawn) > 1:
            other = scales[1]
            inside = (
                f'<div class="scaled"><div data-scale="{scales[0]}">{drawn[0]}</div><details data-scale="{other}">'
                f"<summary>The same on a {other} axis</summary>{_share_texts(*drawn)}</details></div>"
            )
        return write_figure(number, inside, caption)


def _share_texts(first: str, second: str) -> str:
    """The second drawing, with the numbers of texts that the first has, too."""
    known = {text: i for i, text in enumerate(HOVER_TEXT.findall(first))}

    def refer(found: re.Match[str]) -> str:
        return f' data-text="{known[found[1]]}"/>' if found[1] in known else found[0]

    return HOVER_TEXT.sub(refer, second)
