"""Cells that hang on a tie order: the grouped value, and the range over a hundred and three orders of the same rows.

With `paper` the last bin follows the paper's rule, as in truecal; with `joined` the published tables' rule.
"""

from __future__ import annotations

import sys

import numpy as np

from reproduction.cells import write_rows
from reproduction.published import half_digit
from reproduction.settings import TAIL, Setting, metric_of
from reproduction.sources import Sources
from reproduction.uci_stored import MODELS
from reproduction.uci_tables import SETS, printed_cells
from reproduction.variants.ties import introsort_order, is_tied, tally_in_order, tie_orders
from truecal import Tally

COLUMNS = ("TCE", "TCE(Q)", "ACE", "MCE(Q)")


def run(sources: Sources) -> None:
    """Go through all tied predictions at hand."""
    stored = sources.stored_predictions()
    rows: list[dict[str, object]] = []
    for name, model in ((name, model) for name in SETS for model in MODELS if f"{name}_{model}" in stored):
        y, score = stored[f"{name}_y"].astype(np.int64), stored[f"{name}_{model}"]
        if not is_tied(score):
            continue
        grouped = Tally.from_arrays(y, score)
        orders = tie_orders(y, score)
        observations = {order: tally_in_order(y, score, rows_) for order, rows_ in orders.items()}
        sort = tally_in_order(y, score, introsort_order(score))
        cells = printed_cells(name, model)
        for column in (column for column in COLUMNS if column in cells):
            for rule in ("paper", "joined") if column == "TCE" else ("paper",):
                metric = metric_of(column, Setting(), frozenset([TAIL]) if rule == "joined" else frozenset())
                values = {order: metric(tally) for order, tally in observations.items()}
                low, high, printed = min(values.values()), max(values.values()), cells[column][1]
                slack = half_digit(printed)
                found: dict[str, object] = {
                    "set": name,
                    "model": model,
                    "column": column,
                    "last bin": rule,
                    "published": printed,
                    "grouped": metric(grouped),
                    "low": low,
                    "high": high,
                    "contains": low - slack <= float(printed) <= high + slack,
                    **{order: values[order] for order in ("stable", "labels ascending", "labels descending")},
                    "distinct values": len({round(value, 6) for value in values.values()}),
                    "NumPy's sort": metric(sort),
                }
                rows.append(found)
    write_rows("uci_ties", rows)


if __name__ == "__main__":
    from reproduction.__main__ import main

    sys.exit(main(["uci_ties"]))
