"""The table of component tests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from truecal.data import Floats
from truecal.results._table import Table, column
from truecal.verdict import COMPONENTS, Verdict

LOOKS_FOR = {test.name: test.looks_for for test in COMPONENTS}


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class ComponentTable(Table):
    """A table with one row per component test of a verdict, and their combination as the last."""

    test: tuple[str, ...] = field(metadata=column("key", "test", "The component test."))
    looks_for: tuple[str, ...] = field(metadata=column("text", "looks for", "The error that it looks for."))
    p_value: Floats = field(metadata=column("p-value", "p", "Its p-value."))

    _shown: ClassVar[tuple[str, ...]] = ("test", "looks_for", "p_value")

    @classmethod
    def of(cls, verdict: Verdict) -> ComponentTable:
        """Make the table of a verdict."""
        combined = "any of these (Cauchy combination test)" if verdict.tolerance is None else "twice the smaller"
        return cls(
            test=(*verdict.tests, "combined"),
            looks_for=(*(LOOKS_FOR[name] for name in verdict.tests), combined),
            p_value=np.array([*verdict.tests.values(), verdict.p_value], dtype=np.float64),
        )
