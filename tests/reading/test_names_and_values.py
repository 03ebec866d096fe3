"""Ten engines, one table of names and one of values: the same answer everywhere, or the same refusal."""

import math
from decimal import Decimal

import numpy as np
import pytest
from conftest import LONG

import truecal
from truecal.data import Reason

NAMES = [
    "*",
    "^p.*$",
    "^.*$",
    "a.b",
    "a`b",
    "`a`",
    'a"b',
    "a'b",
    "a b",
    " p ",
    "😀",
    "é",
    "a;b",
    "a,b",
    "a\\b",
    "[x]",
    "count(*)",
    "COLUMNS(*)",
    "select",
    "label",
    "score0",
    "by0",
    "status",
    "n",
    "-",
    "1",
]
Y, P = [0, 1, 0, 1, 1], [0.25, 0.5, 0.5, 0.75, 0.75]
PLAIN = (5, 3, 2.75, {})


def read(frame, **options):
    """(rows, positives, sum of scores, dropped rows by reason), or the first line of the error."""
    try:
        found = truecal.read(frame, **options)
    except (ValueError, TypeError) as error:
        return str(error).splitlines()[0]
    tally = found.tally
    return tally.n_rows, tally.positives, math.fsum(np.repeat(tally.score, tally.n)), found.row_counts.dropped


@pytest.mark.parametrize("at", range(0, len(NAMES), 1 if LONG else 5))
def test_a_name_means_the_column_itself(make, at):
    """As a label, a score, a segment, a baseline and a key; the other columns would give other numbers. Every name has
    one of these parts with each engine, another with the next, and all of them with TRUECAL_LONG=1."""
    at += make.number
    label, score, by, old, key = (NAMES * 2)[at : at + 5]
    other = {"p1": [0.0] * 5, "pq": [1.0] * 5, "z": [7, 8, 9, 7, 8]}
    frame = make(**other, **{label: Y, score: P, by: ["u", "v", "u", "v", "u"], old: P[::-1], key: [1, 2, 3, 4, 5]})
    found = truecal.read(frame, label=label, score=score, by=by, baseline=old, pos_label=1)
    assert {segment: (part.n_rows, part.positives) for segment, part in found.parts.items()} == {
        ("u",): (3, 1),
        ("v",): (2, 2),
    }
    before = make(**other, **{key: [5, 4, 3, 2, 1], score: P})
    joined = truecal.read(frame, label=label, score=score, baseline=before, on=key)
    assert joined.tally.positives == 3
    for pairs in (found.baseline, joined.baseline):
        assert sorted(zip(*(np.repeat(scores, pairs.n) for scores in pairs.scores), strict=True)) == sorted(
            zip(P, P[::-1], strict=True)
        )
    missing = read(make(**other, **{label: Y}), label=label, score=score)
    assert missing.startswith("`score` must be one of the columns 'p1', 'pq', 'z'")


def values(pa):
    """A label, a score, options, what is found, and the engines that cannot hold such values at all."""
    nan = float("nan")
    half = pa.array(np.array(P, np.float16))
    valid = [0.0, 1.0, nan, 1.0, 1.0]
    decimals = pa.array([Decimal(str(p)) for p in P])
    no_label = "Every row must have a label and a score in [0, 1]; of 5 rows `y` is null in 1."
    no_score = "Every row must have a label and a score in [0, 1]; of 5 rows `p` is null in 1."
    wrong = "Every row must have a label and a score in [0, 1]; of 5 rows `y` is neither 0 nor 1 in 1."
    outside = "Every row must have a label and a score in [0, 1]; of 5 rows `p` is outside [0, 1] in 1."
    kept = (4, 3, 2.25, {Reason("y", "null"): 1})
    scored = (4, 2, 2.25, {Reason("p", "null"): 1})
    truths, drop, one = [bool(y) for y in Y], {"missing": "drop"}, {"pos_label": 1}
    percent, logit = {"score_scale": "percent"}, {"score_scale": "logit"}
    beyond = "Every row must have a label and a score in [0, 100]; of 5 rows `p` is outside [0, 100] in 1."
    words = ["yes" if y else "no" for y in Y]
    without = {"duckdb", "ibis", "pyspark"}
    return {
        "NaN label": (valid, P, {}, no_label),
        "NaN label, positive named": (valid, P, one, no_label),
        "NaN label, positive named as text": (valid, P, {"pos_label": "1"}, no_label),
        "NaN label dropped": (valid, P, drop, kept),
        "NaN label dropped, positive named": (valid, P, drop | one, kept),
        "null label": ([0, 1, None, 1, 1], P, one, no_label),
        "null label dropped": ([0, 1, None, 1, 1], P, drop, kept),
        "null word": (["no", "yes", None, "yes", "yes"], P, {"pos_label": "yes"}, no_label),
        "null truth": ([False, True, None, True, True], P, {}, no_label),
        "null truth dropped": ([False, True, None, True, True], P, drop, kept),
        "NaN score": (Y, [0.25, nan, 0.5, 0.75, 0.75], {}, no_score),
        "NaN score dropped": (Y, [0.25, nan, 0.5, 0.75, 0.75], drop, scored),
        "null score": (Y, [0.25, None, 0.5, 0.75, 0.75], {}, no_score),
        "null score dropped": (Y, [0.25, None, 0.5, 0.75, 0.75], drop, scored),
        "infinity": (Y, [0.25, math.inf, 0.5, 0.75, 0.75], {}, outside),
        "decimal scores": (Y, decimals, {}, PLAIN),
        "decimal labels": (pa.array([Decimal(y) for y in Y]), P, {}, PLAIN),
        "decimal labels, positive named": (pa.array([Decimal(y) for y in Y]), P, one, PLAIN),
        "whole scores": (Y, [0, 1, 0, 1, 1], {}, (5, 3, 3.0, {})),
        "bytes": (pa.array(Y, pa.int8()), pa.array([0, 1, 0, 1, 1], pa.int8()), {}, (5, 3, 3.0, {})),
        "truths": (truths, P, {}, PLAIN),
        "truths, positive named": (truths, P, {"pos_label": True}, PLAIN),
        "truths, positive named as text": (truths, P, {"pos_label": "true"}, PLAIN),
        "truths as scores": (Y, truths, {}, "`p` must hold numbers in [0, 1]; it holds Boolean."),
        "words as scores": (Y, words, {}, "`p` must hold numbers in [0, 1]; it holds String."),
        "dictionary of words": (pa.array(words).dictionary_encode(), P, {"pos_label": "yes"}, PLAIN),
        "dictionary of labels": (pa.array(Y).dictionary_encode(), P, {}, PLAIN),
        "dictionary of truths": (pa.array(truths).dictionary_encode(), P, {}, PLAIN),
        "dictionary of scores": (Y, pa.array(P).dictionary_encode(), {}, PLAIN),
        "half precision": (Y, half, {}, PLAIN, without),
        "half precision labels": (pa.array(np.array(Y, np.float16)), P, {}, PLAIN, without),
        "single precision": (Y, pa.array(np.array(P, np.float32)), {}, PLAIN),
        "percentages": (Y, [100 * p for p in P], percent, PLAIN),
        "whole percentages": (Y, [25, 50, 50, 75, 75], percent, PLAIN),
        "percentages above 100": (Y, [25.0, 50.0, 50.0, 75.0, 150.0], percent, beyond),
        "logits": (Y, [-1000.0, 0.0, 0.0, 1000.0, math.inf], logit, (5, 3, 3.0, {})),
        "missing logits": (Y, [None, 0.0, 0.0, 1000.0, 1000.0], logit | drop, (4, 3, 3.0, {Reason("p", "null"): 1})),
        "a label of 2": ([0, 1, 2, 1, 1], P, {}, wrong),
        "a positive of 2": ([0, 0, 2, 0, 0], P, {"pos_label": 2}, (5, 1, 2.75, {})),
    }


PLACES = (
    "outside is inf, at position 1 of `p`.",
    "outside is 150.0, at position 4 of `p`.",
    "is at position 2 of `y`.",
    "is at position 1 of `p`.",
    "is 2, at position 2 of `y`.",
)


@pytest.mark.parametrize("case", values(pytest.importorskip("pyarrow")))
def test_a_value_means_the_same_everywhere(make, need, case):
    label, score, options, expected, *without = values(need("pyarrow"))[case]
    if without and make.engine in without[0]:
        with pytest.raises(Exception, match="(?i)unsupported|not implemented|halffloat"):
            truecal.read(make(y=label, p=score), label="y", score="p", **options)
        return
    found = read(make(y=label, p=score), label="y", score="p", **options)
    if isinstance(found, str):
        found, told, place = found.partition(" The first ")  # where rows have an order
        ordered = make.engine not in ("dask", "duckdb", "ibis", "pyspark")
        assert bool(told) == (ordered and found.startswith("Every row"))
        assert place in ("", *PLACES)
        found = found.replace("`p` is NaN", "`p` is null")  # pandas does not tell them apart
    elif Reason("p", "nan") in found[3]:
        found = (*found[:3], {Reason("p", "null"): found[3][Reason("p", "nan")]})
    assert found == expected


def test_labels_and_scores_are_two_columns():
    columns = {"y": [0, 1], "p": [0.2, 0.8]}
    with pytest.raises(ValueError, match="`label` and `score` must name two columns; both name 'y'"):
        truecal.read(columns, label="y", score="y")
    with pytest.raises(ValueError, match="must name two columns; both name 'p'"):
        truecal.read_models(columns, label="p", score=["y", "p"])
