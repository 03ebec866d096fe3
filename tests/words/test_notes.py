"""Notes and reasons: values without sentences, and a sentence for each of them."""

import copy
import json
import pickle
from dataclasses import replace

import pytest
from noted import NOTES, VALUES

import truecal
from truecal import Result, words
from truecal.data import FIELDS, Note, NoteCode, Reason, ReasonKind, RowCounts, Sampling, note_row_counts


def test_every_code_has_values_and_words():
    assert list(FIELDS) == list(NoteCode)
    assert list(words.DESCRIBED) == list(NoteCode)
    assert list(VALUES) == list(NoteCode)


@pytest.mark.parametrize("note", NOTES, ids=lambda note: note.code)
def test_a_note_is_a_phrase_without_a_period(note):
    text = words.describe_note(note)
    assert text
    assert text == str(note)
    assert not text.endswith(".")
    assert "  " not in text
    assert text[0] == "`" or text[0].isdigit() or text[0].islower()
    (line,) = words.list_notes([note])
    assert line == f"Note: {text}."


@pytest.mark.parametrize("note", NOTES, ids=lambda note: note.code)
def test_a_note_is_a_value(note):
    assert note == Note(note.code.value, dict(note.values))
    assert len({note, Note(note.code, note.values)}) == 1
    assert pickle.loads(pickle.dumps(note)) == note == copy.deepcopy(note)
    assert repr(note).startswith(f"Note({note.code.value!r}")
    for name in note.values:
        with pytest.raises(TypeError):
            note.values[name] = 0


def test_notes_survive_json():
    result = replace(truecal.evaluate([0, 1], [0.2, 0.7], ["ece"]), notes=tuple(NOTES))
    assert Result.from_json(result.to_json()) == result
    written = json.loads(result.to_json())["notes"]
    assert written[-1] == {"code": "recalibrated", "values": {}}
    assert written[0]["values"]["reasons"][0] == {"column": "p", "kind": "null", "n": 30}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"code": "nothing known"}, "NoteCode"),
        ({"values": {}}, "The values of a note on 'slices truncated' must be limit; they are {}"),
        ({"values": {"limit": 20, "more": 1}}, "must be limit"),
        ({"values": {"limit": "20"}}, "`limit` of a note on 'slices truncated' must be int; it is '20'"),
        ({"values": None}, "must be limit"),
    ],
)
def test_forged_notes_are_refused(change, message):
    note = {"code": "slices truncated", "values": {"limit": 20}}
    with pytest.raises((ValueError, TypeError), match=message):
        Note(**(note | change))
    result = truecal.evaluate([0, 1], [0.2, 0.7], ["ece"])
    written = json.loads(result.to_json()) | {"notes": [note | change]}
    with pytest.raises((ValueError, TypeError)):
        Result.from_json(json.dumps(written))


@pytest.mark.parametrize(
    "dropped",
    [
        [{"column": "p", "kind": "no kind", "n": 1}],
        [{"column": 3, "kind": "null", "n": 1}],
        [{"column": "p", "kind": "null", "n": "1"}],
        [{"column": "p", "kind": "null"}],
        {"`p` is null": 1},
    ],
)
def test_forged_reasons_are_refused(dropped):
    result = truecal.evaluate([0, 1, None], [0.2, 0.7, 0.3], ["ece"], missing="drop")
    written = json.loads(result.to_json())
    assert written["row_counts"]["dropped"] == [{"column": "y_true", "kind": "null", "n": 1}]
    written["row_counts"]["dropped"] = dropped
    with pytest.raises((ValueError, TypeError)):
        Result.from_json(json.dumps(written))


def test_every_kind_of_reason_has_words():
    for kind in ReasonKind:
        text = words.describe_reasons({Reason("p", kind): 1})
        assert text.startswith("`p` ")
        assert "{" not in text


def test_only_the_kind_says_that_a_count_is_zero():
    # 4,000 of 5,000 rows; the column's name must not matter
    for reason in (Reason("`active` is 0", "null"), Reason("count is zero", "nan")):
        counts = RowCounts(5000, 1000, {reason: 4000})
        assert counts.without_zero_counts.share_dropped == 0.8
        assert [note.code for note in note_row_counts(counts)] == [NoteCode.ROWS_DROPPED]
    counts = RowCounts(5000, 1000, {Reason("active", "count is zero"): 4000})
    assert counts.without_zero_counts == RowCounts(1000, 1000)
    assert [note.code for note in note_row_counts(counts)] == [NoteCode.ZERO_COUNTS]


def test_sampling_says_which_population_estimates_describe():
    sampling = Sampling(0.05, 1.0, (0.01, 0.0))
    for notes, estimates in ((sampling.notes, "population"), (sampling.sample_notes, "sample")):
        assert [note.code for note in notes] == [NoteCode.SAMPLED_BY_LABEL, NoteCode.LABEL_NOISE]
        assert {note.values["estimates"] for note in notes} == {estimates}
