"""Fill the table of component tests in docs/method.md from `truecal.verdict.COMPONENTS`; a test checks it.

`python docs/verdict.py`, after a test was added or described anew. The table stands between two comments.
"""

from __future__ import annotations

import re
from pathlib import Path

from truecal.verdict import COMPONENTS

PAGE = Path(__file__).parent / "method.md"


def fill(text: str) -> str:
    """The page with its table as the tests describe themselves."""
    lines = [["test", "what it computes", "what it looks for"], ["---"] * 3]
    lines += [[f"`{test.name}`", test.statistic, test.looks_for] for test in COMPONENTS]
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    head, end = re.split(r"(?<=<!-- tests -->\n).*?(?=<!-- /tests -->)", text, flags=re.DOTALL)
    return f"{head}{table}\n{end}"


if __name__ == "__main__":
    PAGE.write_text(fill(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
