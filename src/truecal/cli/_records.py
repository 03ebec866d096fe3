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

from truecal.analysis import GroupTable
from truecal.inference import Difference, Plan
from truecal.metrics import Metric, Rejection
from truecal.results import Result

if TYPE_CHECKING:
    from truecal.gate import Decision
    from truecal.results import DriftTable

FORMAT = 1
Record = dict[str, Any]


def unit_of(metric: Metric) -> str:
    """What a metric is counted in: 100 is the worst percentage, 1 the worst probability, 0 the best of both."""
    return "percent" if isinstance(metric.loss, Rejection) else "probability"


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
    tested = isinstance(result.metrics[name].loss, Rejection)
    too_low, too_high = result.direction(name) if tested else (None, None)
    lowest, highest = result.bounds.get(name, (result.values[name], result.values[name]))
    return {
        "metric": name,
        "model": model,
        "value": result.values[name],
        "lowest": lowest,
        "highest": highest,
        "unit": unit_of(result.metrics[name]),
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
        columns = {name: column.tolist() for name, column in result.bins.columns().items()}
        rows = zip(*columns.values(), strict=True)
        found += [{"model": model, "bin": i} | dict(zip(columns, row, strict=True)) for i, row in enumerate(rows, 1)]
    return found


def segment_records(tables: Mapping[str, GroupTable]) -> list[Record]:
    """A record for each segment and model, in the order of the tables."""
    found = []
    for model, table in tables.items():
        columns = {name: c.tolist() for name, c in table.columns().items() if name != "segment"}
        columns["too_small"] = table.too_small.tolist()
        for i, key in enumerate(table.segment):
            segment = dict(zip(table.by, map(_plain, key), strict=True))
            found.append({"model": model, "segment": segment} | {name: column[i] for name, column in columns.items()})
    return found


def drift_records(table: DriftTable) -> list[Record]:
    """A record for each window, in order of time."""
    columns = {
        name: column if isinstance(column, list) else column.tolist() for name, column in table.columns().items()
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def difference_records(differences: Mapping[str, Difference], models: Sequence[str]) -> list[Record]:
    """A record for each metric of two models."""
    return [
        {"metric": name, "first_model": models[0], "second_model": models[1]} | asdict(difference)
        for name, difference in differences.items()
    ]


def finding_records(verdict: Decision) -> list[Record]:
    """A record for each finding of a gate, in the order of its rules."""
    return [
        {"status": finding.status, "model": finding.model, "segment": finding.segment, "rule": str(finding.rule)}
        | {"n": finding.n, "observed": finding.observed, "reason": finding.reason}
        for finding in verdict.findings
    ]


def results_json(results: Mapping[str, Result]) -> str:
    """One result as `Result.to_json` writes it; several as {"truecal_models": 1, "models": {name: result}}."""
    if len(results) == 1:
        return next(iter(results.values())).to_json()
    models = ", ".join(f"{json.dumps(name)}: {result.to_json()}" for name, result in results.items())
    return f'{{"truecal_models": {FORMAT}, "models": {{{models}}}}}'


def read_results(path: str) -> dict[str, Result]:
    """What `results_json` wrote to a file; a single result goes by the file's name."""
    text = Path(path).read_text(encoding="utf-8")
    try:
        raw = json.loads(text)
    except ValueError as error:
        raise ValueError(f"{path!r} must be JSON as `truecal score --json` writes it; it is not: {error}.") from error
    if isinstance(raw, dict) and raw.get("truecal_models") == FORMAT:
        return {name: Result.from_json(json.dumps(result)) for name, result in raw["models"].items()}
    if not isinstance(raw, dict) or "truecal" not in raw:
        raise ValueError(
            f"{path!r} must be JSON as `truecal score --json` writes it; it is another.\n\n"
            "Hint: data in JSON are read line by line; name such a file .jsonl or give --format jsonl."
        )
    return {Path(path).stem: Result.from_json(text)}


def segments_json(tables: Mapping[str, GroupTable], metric: str) -> str:
    """{"truecal_segments": 1, "metric", "unit", "by", "replicates", "segments": [a record each], "notes"}."""
    first = next(iter(tables.values()))
    return dump(
        {
            "truecal_segments": FORMAT,
            "metric": metric,
            "unit": unit_of(first.metric),
            "by": list(first.by),
            "replicates": first.replicates,
            "segments": segment_records(tables),
            "notes": list(dict.fromkeys(note for table in tables.values() for note in table.notes)),
        }
    )


def differences_json(differences: Mapping[str, Difference], models: Sequence[str]) -> str:
    """{"truecal_differences": 1, "models": [first, second], "metrics": {name: a difference}}."""
    found = {name: asdict(difference) for name, difference in differences.items()}
    return dump({"truecal_differences": FORMAT, "models": list(models), "metrics": found})


def plan_records(found: Plan) -> list[Record]:
    """The one record of a plan."""
    return [asdict(found)]


def plan_json(found: Plan) -> str:
    """{"truecal_plan": 1, and the fields of `Plan`}."""
    return dump({"truecal_plan": FORMAT, **asdict(found)})


def files_json(places: Sequence[Path]) -> str:
    """{"truecal_files": 1, "files": [what was written]}."""
    return dump({"truecal_files": FORMAT, "files": [str(place) for place in places]})


def dump(value: Any) -> str:
    """JSON without NaN and infinity, which it does not have: null in their places."""
    return json.dumps(_finite(value), allow_nan=False)


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
