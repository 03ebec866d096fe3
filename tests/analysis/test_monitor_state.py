"""The state of a monitor that was edited, damaged, or is reached by several ways: an error names the file and the key,
and no edit silences the alarm without a word."""

import copy
import json
import os
import re
import subprocess
import sys
import time
from datetime import datetime, timedelta

import numpy as np
import pytest

import truecal
from truecal import Monitor
from truecal.analysis import keep_monitor
from truecal.cli._monitor import to_prometheus

pytestmark = pytest.mark.slow

EDITS = {
    "nan": "NaN",
    "inf": "Infinity",
    "text of infinity": '"inf"',
    "minus one": "-1",
    "text": '"x"',
    "null": "null",
    "list": "[]",
    "nested list": "[[[]]]",
    "object": "{}",
    "true": "true",
    "huge": "1" + "0" * 400,
    "large": "1e308",
}


def make_frame(days=12, rows=60):
    rng = np.random.default_rng(3)
    p = rng.beta(1, 4, days * rows)
    day = np.repeat(np.arange(days), rows)
    moments = [datetime(2026, 3, 1) + timedelta(days=int(each)) for each in day]
    return {
        "y": (rng.random(len(p)) < p).astype(int),
        "p": p,
        "day": np.array(moments, "datetime64[us]"),
        "country": np.array(["de", "fr", "it"])[rng.integers(0, 3, len(p))],
        "customer": rng.integers(0, 40, len(p)),
    }


def read(frame, **options):
    import polars

    return truecal.read(polars.DataFrame(frame), label="y", score="p", time="day", every="1d", **options)


@pytest.fixture(scope="module")
def states():
    """A state with segments, clusters and pending periods, and one of arrays."""
    pytest.importorskip("polars")
    full = Monitor(label_lag="3d", threshold=0.01)
    full.update(read(make_frame(), by="country", cluster="customer"), now="2026-03-11")
    assert full.state.pending
    assert full.state.last is not None
    plain = Monitor(0.1, tolerance=0.01)
    for _ in range(3):
        plain.update([0, 1] * 20, [0.3] * 40)
    return [json.loads(full.to_json()), json.loads(plain.to_json())]


def list_leaves(value, way=()):
    """The ways to the values of a state; of a long list, only those to the first and the last."""
    if isinstance(value, dict):
        return [leaf for key in value for leaf in list_leaves(value[key], (*way, key))] + [way] * bool(way)
    if isinstance(value, list) and value:
        ends = sorted({0, len(value) - 1})
        return [leaf for key in ends for leaf in list_leaves(value[key], (*way, key))] + [way]
    return [way]


def edit(state, way, change):
    changed = copy.deepcopy(state)
    place = changed
    for key in way[:-1]:
        place = place[key]
    change(place, way[-1])
    return changed


def load(folder, text):
    place = folder / "state.json"
    place.write_text(text)
    try:
        return Monitor.load(place)
    except ValueError as error:
        if "state.json" not in str(error):
            raise
        return str(error)


def can_alarm(monitor):
    """Whether rows that contradict the predictions raise the alarm."""
    rng = np.random.default_rng(0)
    if not monitor.state.by:
        monitor.update(rng.random(4000) < 0.9, np.full(4000, 0.3), period=10**6)
        return monitor.alarm
    frame = make_frame(days=8, rows=2000) | {"y": np.ones(16000, int)}
    frame["day"] = frame["day"] + np.timedelta64(40, "D")
    monitor.update(read(frame, by="country", cluster="customer"), now="2028-01-01")
    return monitor.alarm


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("name", EDITS)
def test_no_edit_silences_a_monitor(states, tmp_path, which, name):
    state, mark = states[which], "@@"
    for way in list_leaves(state):
        before = edit(state, way, lambda place, key: place.__setitem__(key, mark))
        text = json.dumps(before).replace(f'"{mark}"', EDITS[name])
        found = load(tmp_path, text)
        if isinstance(found, str):
            named = re.search(r"`(?!text`)\w+", found)
            assert name in ("nan", "inf") or way[0] == "truecal" or named, (way, found)
            continue
        # what is a valid value, such as another name of the label, changes nothing that the alarm depends on
        # and `update` refuses data of other columns or of another sampling
        if way[0] not in ("label", "score", "every", "by", "sampling", "truecal"):
            assert can_alarm(found), (way, name)


@pytest.mark.parametrize("which", [0, 1])
def test_a_missing_key_is_named(states, tmp_path, which):
    state = states[which]
    for way in list_leaves(state):
        if isinstance(way[-1], str):
            found = load(tmp_path, json.dumps(edit(state, way, lambda place, key: place.pop(key))))
            if way == ("truecal", "version"):
                continue
            assert isinstance(found, str), way
            assert way[0] == "truecal" or way[-1] in found, (way, found)


@pytest.mark.parametrize("which", [0, 1])
def test_a_key_that_is_given_twice_is_named(states, tmp_path, which):
    state = states[which]

    def double(place, key):
        pairs = [(name, value) for name, value in place.items()]
        place.clear()
        place.update({name if name != key else f"@@{name}": value for name, value in pairs} | {key: place.get(key)})

    for way in list_leaves(state):
        if isinstance(way[-1], str):
            text = json.dumps(edit(state, way, double)).replace("@@", "")
            found = load(tmp_path, text)
            assert isinstance(found, str), way
            assert f"`{way[-1]}` must be given once; it is given twice" in found


def test_a_shorter_list_is_refused(states, tmp_path):
    for state in states:
        for way in list_leaves(state):
            place = state
            for key in way:
                place = place[key]
            if isinstance(place, list) and place and way[-1] not in ("series", "pending", "periods", "by"):
                found = load(tmp_path, json.dumps(edit(state, way, lambda at, key: at[key].pop())))
                assert isinstance(found, str), way


def test_a_sound_state_is_read(states, tmp_path):
    for state in states:
        assert isinstance(load(tmp_path, json.dumps(state)), Monitor)


def test_states_on_the_way_are_sound(tmp_path):
    """Whatever a monitor writes it reads, after an alarm, a reset and new segments, too."""
    monitor = Monitor(label_lag="0h")
    frame = make_frame(days=30)
    later = frame["day"] >= np.datetime64("2026-03-12")
    frame["y"] = np.where(later, 1, frame["y"])
    for day in range(5, 30, 5):
        kept = frame["day"] < np.datetime64("2026-03-01") + np.timedelta64(day, "D")
        if day < 10:
            kept &= frame["country"] != "it"
        part = {name: column[kept] for name, column in frame.items()}
        with_it = read(part, by="country", cluster="customer")
        if day == 10:  # a new segment of days that were evaluated is refused
            frame["day"] = np.where(
                (frame["country"] == "it") & (frame["day"] < np.datetime64("2026-03-06")),
                np.datetime64("2026-03-20"),
                frame["day"],
            )
            kept = frame["day"] < np.datetime64("2026-03-11")
            with_it = read({name: column[kept] for name, column in frame.items()}, by="country", cluster="customer")
        elif day > 10:
            continue
        monitor.update(with_it, now="2027-01-01", skip_known=True)
        assert Monitor.from_json(monitor.to_json()) == monitor
    assert monitor.state.batches == 2
    monitor.reset()
    assert Monitor.from_json(monitor.to_json()) == monitor


def test_a_contradicted_certainty_is_written_and_shown():
    monitor = Monitor()
    monitor.update([1], [0.0])
    assert "contradicts a prediction" in monitor._repr_html_()
    assert Monitor.from_json(monitor.to_json()) == monitor


@pytest.mark.skipif(sys.platform == "win32", reason="no locks")
def test_runs_that_reach_a_state_by_links_take_turns(tmp_path):
    real, first, second = (tmp_path / name for name in ("real", "first", "second"))
    for folder in (real, first, second):
        folder.mkdir()
    (real / "m.json").write_text(Monitor().to_json())
    for folder in (first, second):
        (folder / "m.json").symlink_to(real / "m.json")
    script = (
        "import sys, time\n"
        "from truecal.analysis import keep_monitor\n"
        "for _ in range(4):\n"
        "    with keep_monitor(sys.argv[1]) as monitor:\n"
        "        monitor.update([0, 1], [0.5, 0.5])\n"
        "        time.sleep(0.05)\n"
    )
    runs = [
        subprocess.Popen([sys.executable, "-c", script, str(folder / "m.json")], stderr=subprocess.PIPE, text=True)
        for folder in (first, second, real)
    ]
    errors = [run.communicate()[1] for run in runs]
    assert [run.returncode for run in runs] == [0, 0, 0], errors
    assert Monitor.load(real / "m.json").table.periods.tolist() == [12]
    assert (first / "m.json").is_symlink()


def test_a_state_is_not_written_again_if_nothing_is_new(tmp_path):
    pytest.importorskip("polars")
    place, rows = tmp_path / "m.json", read(make_frame())
    with keep_monitor(place) as monitor:
        monitor.update(rows)
    before = os.stat(place).st_ino
    with keep_monitor(place) as monitor:
        monitor.update(rows, skip_known=True)
    assert os.stat(place).st_ino == before
    with keep_monitor(place, reset=True) as monitor:
        pass
    assert os.stat(place).st_ino != before


def test_the_time_of_an_update_is_linear_in_the_periods():
    pytest.importorskip("polars")
    rng = np.random.default_rng(0)

    def measure(periods):
        p = rng.beta(1, 9, 2 * periods)
        hours = np.repeat(np.arange(periods), 2).astype("timedelta64[h]")
        frame = {"y": (rng.random(len(p)) < p).astype(int), "p": p, "day": np.datetime64("2000-01-01T00", "us") + hours}
        import polars

        rows = truecal.read(polars.DataFrame(frame), label="y", score="p", time="day", every="1h")
        monitor = Monitor()
        begin = time.process_time()
        monitor.update(rows)
        first = time.process_time() - begin
        monitor.update(rows, skip_known=True)
        Monitor.from_json(monitor.to_json())
        return first, time.process_time() - begin - first

    measure(100)
    small, large = measure(2000), measure(20000)
    for before, after in zip(small, large, strict=True):
        assert after < 30 * before  # 10 times as many; quadratic time would be a factor of 100


@pytest.mark.parametrize(
    "values",
    [
        [None, "None"],
        ["a, b=1", "a"],
        ['a"', "a\\"],
        ["a\nb", "a\\nb"],
        ["\x00", "\\x00"],
        ["a\u2028b", "a\\u2028b"],
        ["", None],
        ["1", "1.0", "01"],
        ["nan", "None", None, "True"],
    ],
)
def test_every_series_has_a_name_of_its_own_in_the_file_for_prometheus(values):
    import polars

    rows = [(value, y, p) for value in values for y, p in ((0, 0.2), (1, 0.5), (0, 0.4))]
    frame = polars.DataFrame(rows, schema={"by": polars.String, "y": polars.Int64, "p": polars.Float64}, orient="row")
    frame = frame.with_columns(day=polars.date(2026, 3, 1), b=polars.lit(1))
    monitor = Monitor()
    monitor.update(truecal.read(frame, label="y", score="p", time="day", by=["by", "b"]))
    lines = [line for line in to_prometheus(monitor).splitlines() if line.startswith("truecal_alarm{")]
    assert len(lines) == len(set(lines)) == len(values) + 1
    assert all(line.isprintable() for line in lines)
