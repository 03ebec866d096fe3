"""The published UCI tables as one, and the metrics of one model's predictions under tie orders and last-bin rules."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from reproduction.cells import Cell, Variants, explain
from reproduction.published import read_table
from reproduction.settings import TAIL, TIES, Setting, metric_of
from reproduction.variants.ties import introsort_order, tally_in_order
from truecal import Tally

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
TABLES = {"abalone": "uci_abalone", "webpage": "uci_webpage"}
SETS = (
    "abalone",
    "webpage",
    "coil_2000",
    "isolet",
    "letter_img",
    "mammography",
    "optical_digits",
    "pen_digits",
    "satimage",
    "spambase",
)


def printed_cells(name: str, model: str) -> dict[str, tuple[tuple[str, str, str], str]]:
    """The published cells of one model on one set: column -> (place of the cell, printed number)."""
    table = read_table(TABLES.get(name, "uci_other"))
    row = (model,) if name in TABLES else (name, model)
    return {
        column: ((table.name, f"{name} | {model}", column), printed)
        for column, printed in zip(table.columns, table.rows[row], strict=True)
    }


def compare_model(
    name: str, model: str, y: Ints, score_of: Callable[[Variants], Floats], causes: tuple[str, ...]
) -> list[Cell]:
    """All published cells of a model; `score_of` gives its predictions under the variants that change the fit."""

    @cache
    def tally_of(fit_variants: Variants, ties: bool) -> Tally:
        score = score_of(fit_variants)
        return tally_in_order(y, score, introsort_order(score)) if ties else Tally.from_arrays(y, score)

    def value_of(column: str) -> Callable[[Variants], float]:
        def value(variants: Variants) -> float:
            tally = tally_of(variants - {TIES, TAIL}, TIES in variants)
            return metric_of(column, Setting(), variants)(tally)

        return value

    cells = printed_cells(name, model).items()
    return [explain(where, printed, value_of(column), causes) for column, (where, printed) in cells]
