"""Check results of numbers that are set by hand."""

from dataclasses import fields, replace

import numpy as np

import truecal
from truecal.data import RowCounts
from truecal.gate._judge import ModelEvidence, apply_rules
from truecal.inference import Difference, Interval, NullDistribution
from truecal.metrics import LTCE, adjust_p_values
from truecal.results import Comparison, GroupTable

BASE = truecal.evaluate([0, 1, 1, 0], [0.1, 0.7, 0.9, 0.3], metrics=["ltce", "ece"])


def make(value=10.0, n=1000, *, null=None, interval=None, bounds=None, name="ltce"):
    """A result whose numbers are these."""
    return replace(
        BASE,
        n=n,
        values={**BASE.values, name: value},
        nulls={} if null is None else {name: null},
        intervals={} if interval is None else {name: interval},
        bounds={} if bounds is None else {name: bounds},
    )


def null_mean(mean, value=10.0, p_value=0.5, draws=999):
    return NullDistribution(mean, 0.0, mean, 2 * mean, p_value, value - mean, draws)


def gap(low, high, draws=999):
    found = {"ltce": Difference(0.0, 0.0, (low + high) / 2, low, high, 0.95, draws)}
    return {"m": Comparison.of(found, {"ltce": LTCE})}


FLOATS = [entry.name for entry in fields(GroupTable) if entry.type == "Floats"]


def table(value=(10.0, 20.0), p_value=(0.5, 0.5), n=1000, adjust=None, segment=(("DE", "web"), ("FR", "app")), **more):
    value, p_value = np.array(value, float), np.array(p_value, float)
    zero = np.zeros(len(value))
    counts = np.full(len(value), n) if isinstance(n, int) else np.array(n)
    columns = dict.fromkeys(FLOATS, zero) | {"detectable": zero + 2.0, "null_mean": zero + 4.0}
    return GroupTable(
        segment=tuple(segment),
        n=counts,
        dropped=np.zeros(len(value), np.int64),
        slope_direction=(None,) * len(value),
        **{"adjust": adjust, "draws": 199}
        | columns
        | {"value": value, "lowest": value, "highest": value, "null_p": p_value}
        | {"null_p_adjusted": adjust_p_values(p_value, adjust), **more},
    )


class Told:
    """Evidence that says what it is told: p-values by segment, the word where these are not small, and intervals.

    By default that of data without end: every error is proven, and intervals are points at the observed value.
    """

    def __init__(self, result=None, tables=None, *, p_value=0.0, status="consistent", low=None, high=100.0, rows=1000):
        self.result, self.tables, self.rows = result, tables or {}, rows if result is None else result.n
        self.p_value = p_value if isinstance(p_value, dict) else {None: p_value}
        self.status, self.low, self.high = status, low, high
        self.levels = []

    def verdicts(self, segments, level):
        return [self.verdict(segment, level) for segment in segments]

    def verdict(self, segment, level):
        self.levels.append(level)
        p_value = self.p_value.get(segment, self.p_value.get(None))
        word = "miscalibrated" if p_value <= level else self.status
        return replace(BASE.verdict, n=self.rows, p_value=p_value, status=word, significance=level, detectable=2.0)

    def locate(self, segment, verdict):
        return verdict

    def required_rows(self, segment, level):
        return None

    def interval(self, segment, metric, level):
        low = self.low
        if low is None and segment is None:
            low = self.result.values[metric]
        elif low is None:
            table = self.tables[metric]
            low = float(table.value[table.segment.index(segment)])
        return Interval(low, self.high, 1 - level, 10**6)


def subject(result=None, tables=None, difference=None, **told):
    """A model as the gate sees it; tables go by the names of metrics."""
    tables = {"ltce": tables} if isinstance(tables, GroupTable) else tables or {}
    found = [row for found in tables.values() for row in zip(found.segment, found.names, found.n, strict=True)]
    evidence = Told(result, tables, **told)
    accounts = {None: RowCounts(evidence.rows, evidence.rows)} | {key: RowCounts(int(n), int(n)) for key, _, n in found}
    return ModelEvidence(evidence, accounts, result, tables, {key: name for key, name, _ in found}, difference)


def decide(rules, results, *, segments=None, differences=None, **told):
    """The decision on models by their names."""
    segments, differences = segments or {}, differences or {}
    models = {
        name: subject(results.get(name), segments.get(name), differences.get(name), **told)
        for name in dict.fromkeys([*results, *segments, *differences])
    }
    return apply_rules([(rule, models) for rule in rules])


def one(rule, result, **more):
    (finding,) = decide([rule], {"m": result}, **more).results
    return finding


def status(rule, result, **more):
    return one(rule, result, **more).status
