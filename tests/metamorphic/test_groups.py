"""A segment or a period evaluated by itself is its line of the table."""

import dataclasses

import numpy as np
import pytest
from drawn import draw, share

import truecal
from truecal._options import METRICS
from truecal.metrics import adjust_p_values
from truecal.results import to_json

# a segment of few rows may have equal counts
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:Every row has the count")]
# columns of tables, and what they are of a verdict
OF_VERDICT = {
    "n": lambda verdict: verdict.n,
    "observed": lambda verdict: verdict.observed,
    "expected": lambda verdict: verdict.expected,
    "ratio": lambda verdict: verdict.ratio,
    "ratio_low": lambda verdict: verdict.interval[0],
    "ratio_high": lambda verdict: verdict.interval[1],
    "p_value": lambda verdict: verdict.p_value,
    "detectable": lambda verdict: verdict.detectable,
    "total_p": lambda verdict: verdict.tests["total"],
    "cox_p": lambda verdict: verdict.tests.get("cox", np.nan),
    "slope_direction": lambda verdict: verdict.slope_direction,
    "design_effect": lambda verdict: verdict.design_effect,
}


def draw_kept(seed, *needed):
    """Rows without counts of 0, so that each segment and period has rows."""
    rows = draw(seed, *needed)
    return rows.set(n=rows.columns["n"] + 1) if "n" in rows.columns else rows


def is_line(table, i, rows, metric):
    """Whether a line of a table is what the rows give by themselves: the verdict at the table's level for one line, the
    metric at its significance."""
    alone = rows.read()
    verdict = truecal.evaluate(alone, [metric], significance=table.level).verdict
    found = {name: getattr(table, name)[i] for name in OF_VERDICT}
    assert same(found, {name: of(verdict) for name, of in OF_VERDICT.items()})
    result = truecal.evaluate(alone, [metric], significance=table.significance)
    assert same({"value": table.value[i]}, {"value": result[metric]})
    assert table.prevalence[i] == pytest.approx(result.prevalence, rel=1e-12)
    return True


def same(found, wanted):
    """Whether values are equal, NaN to NaN, but for rounding: segments are computed end to end, with running sums,
    tails of twelve digits and roots of nine."""
    codes = found.pop("slope_direction", None), wanted.pop("slope_direction", None)
    assert codes[0] == codes[1]
    assert found == pytest.approx(wanted, rel=1e-8, abs=1e-12, nan_ok=True)
    return True


@share(0.03)
def test_a_segment_by_itself_is_its_line_of_the_table(seed):
    rows, metric = draw_kept(seed, "by"), METRICS[seed % len(METRICS)]
    table = truecal.segments(rows.read(), metric, adjust=("holm", "bh", None)[seed % 3])
    assert table.p_adjusted.tolist() == adjust_p_values(table.p_value, table.adjust).tolist()
    for i, (country,) in enumerate(table.segment):
        assert is_line(table, i, rows.take(rows.columns["country"] == country), metric)


@share(0.02)
def test_a_period_by_itself_is_its_line_of_the_table(seed):
    rows, metric = draw_kept(seed, "time"), METRICS[seed % len(METRICS)]
    table = truecal.drift(rows.read(), metric, adjust=("holm", "bh", None)[seed % 3])
    for i, day in enumerate(table.period):
        assert is_line(table, i, rows.take(rows.columns["day"] == np.datetime64(day)), metric)
    one, all_ = (
        truecal.evaluate(rows.read(), [metric], significance=level).verdict
        for level in (table.overall_verdict.significance, table.significance)
    )
    # Local TCE rejects windows at the significance, whatever the level of the verdict
    wanted = dataclasses.replace(one, local=all_.local, bands=(), cluster=None)
    assert to_json(table.overall_verdict) == to_json(wanted)  # in which NaN equals NaN


@share(0.02)
def test_columns_left_out_are_as_if_never_read(seed):
    rows = draw(seed, "by", "time")
    whole = rows.read()
    for by, options in (
        ((), {"by": None, "time": None}),
        (("country",), {"time": None}),
        (("day",), {"by": None}),
    ):
        found, wanted = whole.group_by(by), rows.read(**options)
        assert found.parts == wanted.parts
        assert found.dropped == wanted.dropped
        assert truecal.evaluate(found) == truecal.evaluate(wanted)
    assert truecal.segments(whole) == truecal.segments(rows.read(time=None))
    assert truecal.drift(whole) == truecal.drift(rows.read(by=None))


@share(0.015)
def test_periods_made_longer_are_as_if_read_so(seed):
    rows = draw(seed, "time")
    whole = rows.read()
    for every in ("1w", "1mo", "1q", "1y"):
        assert whole.group_by(whole.by, {"day": every}) == rows.read(every=every)
        assert truecal.drift(whole, every=every) == truecal.drift(rows.read(every=every))
