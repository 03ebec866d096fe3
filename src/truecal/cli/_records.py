"""Answers as plain data: the records behind every table, as JSON and as CSV."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from truecal.inference import Plan
from truecal.results import Comparison, GroupTable, Result, envelope, from_json, to_json

if TYPE_CHECKING:
    from truecal.gate import Decision
    from truecal.results import DriftTable

Record = dict[str, Any]


def metric_records(results: Mapping[str, Result]) -> list[Record]:
    """A record for each metric and model: the value, what chance would give, the interval, the direction."""
    names = dict.fromkeys(name for result in results.values() for name in result.values)
    return [
        _metric_record(name, model, result)
        for name in names
        for model, result in results.items()
        if name in result.values
    ]


def _metric_record(name: str, model: str, result: Result) -> Record:
    chance, span = result.references.get(name), result.intervals.get(name)
    tested = result.metrics[name].rejection is not None
    too_low, too_high = result.direction(name) if tested else (None, None)
    lowest, highest = result.bounds.get(name, (result.values[name], result.values[name]))
    return {
        "metric": name,
        "model": model,
        "value": result.values[name],
        "lowest": lowest,
        "highest": highest,
        "unit": result.metrics[name].unit.name,
        "by_chance": chance and chance.mean,
        "chance_low": chance and chance.low,
        "chance_high": chance and chance.high,
        "excess": chance and chance.excess,
        "p_value": chance and chance.p_value,
        "low": span and span.low,
        "high": span and span.high,
        "too_low": too_low,
        "too_high": too_high,
        "n": result.n,
        "positives": result.positives,
    }


def bin_records(results: Mapping[str, Result]) -> list[Record]:
    """A record for each bin of each model's first metric."""
    found = []
    for model, result in results.items():
        columns = {name: column.tolist() for name, column in result.bins.arrays().items()}
        rows = zip(*columns.values(), strict=True)
        found += [{"model": model, "bin": i} | dict(zip(columns, row, strict=True)) for i, row in enumerate(rows, 1)]
    return found


def segment_records(tables: Mapping[str, GroupTable]) -> list[Record]:
    """A record for each segment and model, in the order of the tables."""
    found = []
    for model, table in tables.items():
        for row in table:
            segment = dict(zip(table.by, map(_plain, row.segment), strict=True))
            found.append({"model": model} | row._asdict() | {"segment": segment})
    return found


def drift_records(table: DriftTable) -> list[Record]:
    """A record for each window, in order of time."""
    return [row._asdict() | {"window": name} for row, name in zip(table, table.names, strict=True)]


def difference_records(table: Comparison) -> list[Record]:
    """A record for each metric of two models."""
    first, second = table.models
    return [{"metric": row.metric, "first_model": first, "second_model": second} | row._asdict() for row in table]


def finding_records(verdict: Decision) -> list[Record]:
    """A record for each finding of a gate, in the order of its rules."""
    columns = verdict.findings.arrays()
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def named_json(found: Mapping[str, Any]) -> str:
    """One result or table as its own `to_json` writes it; several by the names of their models."""
    return to_json(next(iter(found.values())) if len(found) == 1 else found)


def read_results(path: str) -> dict[str, Result]:
    """What `named_json` wrote to a file; a single result goes by the file's name."""
    try:
        found = from_json(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(
            f"{path!r} must be JSON as `truecal score --json` writes it; it is not: {error}\n\n"
            "Hint: data in JSON are read line by line; name such a file .jsonl or give --format jsonl."
        ) from error
    named = found if isinstance(found, dict) else {Path(path).stem: found}
    for result in named.values():
        if not isinstance(result, Result):
            raise TypeError(f"{path!r} must hold results; it holds a {type(result).__name__}.")
    return named


def plan_records(found: Plan) -> list[Record]:
    """The one record of a plan."""
    return [asdict(found)]


def files_json(places: Sequence[Path]) -> str:
    """The names of files that were written, in the envelope of all JSON."""
    return json.dumps({**envelope("files"), "files": [str(place) for place in places]})


def write_csv(records: Sequence[Record]) -> str:
    """Records below a head; nothing where there is no value. The columns of a segment stand in its place."""
    stream = io.StringIO()
    rows = [_flat(_finite(record)) for record in records]
    writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue().rstrip("\n")


def _flat(record: Record) -> Record:
    flat: Record = {}
    for name, value in record.items():
        if isinstance(value, dict):
            flat |= {f"segment_{part}" if part in record else part: entry for part, entry in value.items()}
        else:
            flat[name] = value
    return flat


def _plain(value: Any) -> Any:
    """A segment's value as JSON has it; dates and their like as text."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
