"""Where rows went: of all, and of each file, segment, window, model and pair."""

import gzip
from dataclasses import replace
from pkgutil import resolve_name

import numpy as np
import pytest

import truecal
from truecal.data import Reason, RowCounts, _observations, note_row_counts
from truecal.reading import _accumulate, _query, _slice_tables
from truecal.reading._engines import language, native, open_frame
from truecal.words import describe_dropped

ROWS = {"a": 40, "b": 30, "c": 50}  # of each file
WHY = Reason("x", "null")
LOST = {"b": {Reason("p", "null"): 6}, "c": {Reason("p", "null"): 10, Reason("y", "null"): 2}}


def make(pl, name):
    """A file's rows: every fifth score is missing in b and c, and two labels of c."""
    rows = ROWS[name]
    score = [None if name != "a" and i % 5 == 0 else (i + 0.5) / rows for i in range(rows)]
    label = [None if name == "c" and i in (1, 2) else i % 2 for i in range(rows)]
    day = [f"2026-01-0{1 + i % 2}" for i in range(rows)]
    columns = {"y": label, "p": score, "q": [0.5] * rows, "place": [name + str(i % 2) for i in range(rows)], "day": day}
    return pl.DataFrame(columns).with_columns(pl.col("day").str.to_date())


def write(pl, folder, kind):
    """Write the three files in a format; return a pattern."""
    for name in ROWS:
        frame = make(pl, name)
        place = folder / f"{name}.{kind}"
        if kind == "csv.gz":
            place.write_bytes(gzip.compress(frame.write_csv().encode()))
        elif kind == "odd.csv":  # which is copied before polars reads it
            place.write_text(frame.write_csv().replace("a0", 'a"0').replace("b0", 'b"0').replace("c0", 'c"0'))
        elif kind == "spaced.csv":
            place.write_text(frame.write_csv().replace(",0.5,", ", 0.5 ,"))
        elif kind == "npz":
            floats = {column: frame[column].cast(float).to_numpy() for column in ("y", "p", "q")}
            np.savez(place, **floats)
        elif kind == "hive.parquet":
            (folder / f"part={name}").mkdir()
            frame.write_parquet(folder / f"part={name}" / f"{name}.parquet")
        else:
            getattr(
                frame, {"csv": "write_csv", "jsonl": "write_ndjson", "parquet": "write_parquet"}.get(kind, "write_ipc")
            )(place)
    return folder if kind == "hive.parquet" else str(folder / f"*.{kind}")


def name(files):
    """The row counts by the first letter of the file's name."""
    return {place.rpartition("/")[2][0]: each for place, each in files.items()}


def expect(kinds=("null", "null")):
    kinds = dict(zip("py", kinds, strict=True))
    lost = {file: {Reason(why.column, kinds[why.column]): n for why, n in each.items()} for file, each in LOST.items()}
    return {
        file: RowCounts(rows, rows - sum(lost.get(file, {}).values()), lost.get(file, {}))
        for file, rows in ROWS.items()
    }


@pytest.mark.parametrize(
    "kind", ["csv", "csv.gz", "odd.csv", "spaced.csv", "jsonl", "parquet", "hive.parquet", "arrow", "npz"]
)
def test_every_file_has_its_row_counts(need, tmp_path, kind):
    pl = need("polars")
    source = write(pl, tmp_path, kind)
    found = truecal.read(source, label="y", score="p", missing="drop")
    assert found.row_counts.read == sum(ROWS.values())
    assert name(found.row_counts.files) == expect(("nan", "null") if kind == "npz" else ("null", "null"))
    result = truecal.evaluate(found, ["ece"], threshold=0.5)
    assert name(result.row_counts.files) == name(found.row_counts.files)
    assert result.row_counts.out_of_scope == found.n_rows - result.n
    assert truecal.Result.from_json(result.to_json()).row_counts.files == result.row_counts.files
    assert any("12 of 50" in str(note) for note in result.notes)


def test_notes_name_the_files_that_lost_the_largest_shares(need, tmp_path):
    pl = need("polars")
    source = write(pl, tmp_path, "csv")
    found = truecal.read(source, label="y", score="p", missing="drop")
    (note,) = map(str, note_row_counts(found.row_counts))
    where = f"(in '{tmp_path}/c.csv' 12 of 50, in '{tmp_path}/b.csv' 6 of 30)"
    assert note == f"of 120 rows 18 were dropped: `p` is null in 16, `y` is null in 2 {where}"
    many = {str(i): RowCounts(10, 10 - i, {WHY: i}) for i in range(1, 6)}
    counts = RowCounts(50, 35, {WHY: 15}, files=many)
    assert (
        describe_dropped(counts)
        == "`x` is null in 15 (in '5' 5 of 10, in '4' 4 of 10, in '3' 3 of 10, others in 2 more files)"
    )


def test_one_file_needs_no_row_counts_of_its_own(need, tmp_path):
    need("polars")
    (tmp_path / "a.csv").write_text("y,p\n0,0.5\n1,\n")
    found = truecal.read(tmp_path / "a.csv", label="y", score="p", missing="drop").row_counts
    assert (found, found.files) == (RowCounts(2, 1, {Reason("p", "null"): 1}), {})


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_segments_windows_models_and_classes_have_theirs(need, tmp_path, kind):
    pl = need("polars")
    source = write(pl, tmp_path, kind)
    found = truecal.read(source, label="y", score="p", by="place", time="day", missing="drop")
    assert name(found.row_counts.files) == expect()
    table = truecal.segments(found, "ece", threshold=0.2, random_state=0)
    frame = pl.concat([make(pl, file) for file in ROWS])
    for key, row_counts in zip(table.segment, table.row_counts, strict=True):
        rows = frame.filter(pl.col("place") == key[0])
        valid = rows.drop_nulls(["y", "p"])
        assert row_counts.read == len(rows)
        assert row_counts.n_dropped == len(rows) - len(valid)
        assert row_counts.evaluated == (valid["p"] >= 0.2).sum()
        assert row_counts.out_of_scope == (valid["p"] < 0.2).sum()
    windows = truecal.drift(found, "ece", random_state=0)
    assert [each.read for each in windows.row_counts] == frame.group_by("day").len().sort("day")["len"].to_list()
    assert [each.n_dropped for each in windows.row_counts] == windows.dropped.tolist()
    models = truecal.read_models(source, label="y", score=["p", "q"], missing="drop")
    assert name(models["p"].row_counts.files) == expect()
    assert name(models["q"].row_counts.files)["c"] == RowCounts(50, 48, {Reason("y", "null"): 2})


def test_classes_have_theirs(need, tmp_path):
    need("polars")
    (tmp_path / "a.csv").write_text("y,p_u,p_v\nu,0.5,0.5\nv,,0.25\n,0.5,0.5\n")
    (tmp_path / "b.csv").write_text("y,p_u,p_v\nu,0.75,0.25\nv,0.25,0.75\n")
    found = truecal.read(tmp_path, label="y", score="p_*", multiclass="classwise", missing="drop")
    for observations in (found.top, *found.classes.values()):
        first, second = name(observations.row_counts.files).values()
        assert (first.read, first.n_dropped, second) == (3, 2, RowCounts(2, 2))


def test_rows_of_pairs_are_counted(need, tmp_path):
    pl = need("polars")
    source = write(pl, tmp_path, "csv")
    found = truecal.compare(
        truecal.read(source, label="y", score="q", baseline="p", missing="drop"), ["brier"], resamples=20
    )
    # `q` lacks no score, two labels are missing, and so are 16 scores of the baseline, one of them beside a label
    alone = sum(i % 5 == 0 and not (file == "c" and i in (1, 2)) for file in "bc" for i in range(ROWS[file]))
    assert found.row_counts == RowCounts(120, 118 - alone, {Reason("y", "null"): 2, Reason(None, "unpaired"): alone})
    assert found.notes == note_row_counts(found.row_counts)
    assert type(found).from_json(found.to_json()) == found
    assert truecal.compare([0, 1], [0.5, 0.5], [0.5, 0.25], ["brier"]).row_counts == RowCounts(2, 2)


def test_files_of_tallies_have_theirs(need, tmp_path):
    pl = need("polars")
    for file in ROWS:
        truecal.read(make(pl, file), label="y", score="p", by="place", missing="drop").save(
            tmp_path / f"{file}.parquet"
        )
    found = truecal.read(tmp_path)
    assert name(found.row_counts.files) == expect()
    assert name((found + found).row_counts.files)["c"] == RowCounts(
        100, 76, {Reason("p", "null"): 20, Reason("y", "null"): 4}
    )
    alone = truecal.Observations.load(tmp_path / "a.parquet")
    assert (found + alone).row_counts.files == {}  # it is not known of which file those are


def test_files_must_add_up_to_all():
    with pytest.raises(RuntimeError, match="the files have 9, of which 2 were dropped"):
        RowCounts(10, 7, {WHY: 3}, files={"a": RowCounts(9, 7, {WHY: 2})})
    parts = {(): truecal.Tally([0.5], [7], [3])}
    with pytest.raises(RuntimeError, match="Rows must not get lost"):
        truecal.Observations("y", "p", parts, files={"a": RowCounts(9, 9)})


def test_a_rule_names_the_file(need, tmp_path):
    pl = need("polars")
    found = truecal.read(write(pl, tmp_path, "csv"), label="y", score="p", missing="drop")
    (finding,) = truecal.check(found, [truecal.gate.Rule("dropped", 0.1)]).results
    assert f"in '{tmp_path}/c.csv' 12 of 50" in finding.reason


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        (Reason("`active` is 0", "null"), "fail"),
        (Reason("count is zero", "null"), "fail"),
        (Reason("n", "null"), "fail"),
        (Reason("n", "count is zero"), "pass"),
    ],
)
def test_only_the_kind_of_a_reason_leaves_rows_out_of_the_share(reason, status):
    # 4,000 of 8,000 rows: half, unless these stand for no observation
    parts = {(): truecal.Tally([0.5], [4000], [2000])}
    found = truecal.Observations("y", "p", parts, dropped={(): {reason: 4000}})
    (finding,) = truecal.check(found, [truecal.gate.Rule("dropped", 0.1)]).results
    assert (finding.status, finding.observed) == (status, 0.5 if status == "fail" else 0.0)


def test_rows_that_count_more_than_once_do_so_in_each_file(need, tmp_path):
    need("polars")
    (tmp_path / "a.csv").write_text("y,p,n\n0,0.5,3\n1,0.5,0\n1,0.25,2\n")
    (tmp_path / "b.csv").write_text("y,p,n\n0,0.5,4\n1,,5\n")
    found = truecal.read(tmp_path, label="y", score="p", count="n", missing="drop")
    first, second = name(found.row_counts.files).values()
    assert first == RowCounts(6, 5, {Reason("n", "count is zero"): 1})  # a line that stands for no row balances, too
    assert second == RowCounts(9, 4, {Reason("p", "null"): 5})
    assert found.row_counts == RowCounts(15, 9, {Reason("n", "count is zero"): 1, Reason("p", "null"): 5})
    told = f"of 14 rows 5 were dropped: `p` is null in 5 (in '{tmp_path}/b.csv' 5 of 9)"
    assert tuple(map(str, found.notes)) == (told, "1 row has a count of zero: `n` is 0")
    assert repr(found).endswith("9 rows, 2 positive, 5 dropped)")
    parts = truecal.read(tmp_path, label="y", score="p", count="n", missing="drop", by="y")
    assert truecal.segments(parts).dropped.tolist() == [0, 5]
    with pytest.raises(ValueError, match="`p` is null in 5"):
        truecal.read(tmp_path, label="y", score="p", count="n")


@pytest.fixture(params=["pandas", "polars", "lazy", "pyarrow", "duckdb"])
def joined(need, request):
    """Two frames of an engine with 30 and 40 rows: the ids of the second are those of the first, and ten more."""
    pl = need("polars")
    rng = np.random.default_rng(3)
    first = pl.DataFrame({"id": np.arange(30), "y": rng.integers(0, 2, 30), "p": rng.random(30).round(1)})
    second = pl.DataFrame({"id": rng.permutation(40), "p": rng.random(40).round(1)})
    if request.param in ("polars", "lazy"):
        return (first, second) if request.param == "polars" else (first.lazy(), second.lazy())
    module = need(request.param)
    if request.param == "pandas":
        return first.to_pandas(), second.to_pandas()
    frames = first.to_arrow(), second.to_arrow()
    return frames if request.param == "pyarrow" else tuple(map(module.from_arrow, frames))


def test_rows_of_a_joined_baseline_that_match_nothing_are_told(joined):
    first, second = joined
    with pytest.warns(UserWarning, match="Of 40 rows of the baseline 10 have no match among these rows"):
        found = truecal.read(first, label="y", score="p", baseline=second, on="id")
    assert found.pair_counts == RowCounts(30, 30)


@pytest.mark.filterwarnings("ignore:Of 40 rows of the baseline")
@pytest.mark.parametrize("forge", ["lose", "double"])
def test_a_join_that_loses_or_doubles_rows_is_an_error(joined, monkeypatch, forge):
    real = _query.join

    def join(frame, other, on):
        found = real(frame, other, on)
        pl = language(found)
        return found.filter(pl.col("id") != 3) if forge == "lose" else pl.concat([found, found])

    monkeypatch.setattr(_query, "join", join)
    with pytest.raises(RuntimeError, match="Rows must not get lost: 30 rows were read, but"):
        truecal.read(joined[0], label="y", score="p", baseline=joined[1], on="id")


def test_a_baseline_of_other_types_is_refused(joined):
    first, second = joined
    for name, words in (("id", "`id` must be of one type to match rows"), ("p", "`p` must hold numbers")):
        frame = open_frame(second)
        text = native(frame.with_columns(language(frame).col(name).cast(language(frame).String)))
        with pytest.raises(TypeError, match=words):
            truecal.read(first, label="y", score="p", baseline=text, on="id")


def test_a_baseline_file_must_arrive_whole(need, tmp_path, monkeypatch):
    pl = need("polars")
    frame = pl.DataFrame({"id": range(9), "y": [0, 1, 1] * 3, "p": [0.25] * 9})
    frame.write_parquet(tmp_path / "old.parquet")
    real = _query.open_files

    def open_files(source, **options):
        found = real(source, **options)
        return replace(found, frame=found.frame.head(8))

    monkeypatch.setattr(_query, "open_files", open_files)
    with pytest.raises(ValueError, match=r"of 9 rows of '.*old\.parquet' 8 arrived"):
        truecal.read(frame, label="y", score="p", baseline=tmp_path / "old.parquet", on="id")


def lose_first(function):
    """The same function, whose first argument that is an array lacks its first row, in every array as long."""

    def lossy(*args, **options):
        size = next(len(each) for each in args if isinstance(each, np.ndarray))
        return function(*(each[1:] if isinstance(each, np.ndarray) and len(each) == size else each for each in args))

    return lossy


FORGED = {  # what loses a row, and what is read
    "rows in a spool": ("truecal.reading._accumulate.Spool.add_keys", {}),
    "rows of segments": ("truecal.reading._accumulate.Spool.add_keys", {"by": "place"}),
    "rows of windows": ("truecal.reading._accumulate.Spool.add_keys", {"time": "day"}),
    "rows with weights": ("truecal.reading._read.group_keys", {"count": "n"}),
    "rows in clusters": ("truecal.reading._read.group_keys", {"cluster": "place"}),
    "pairs": ("truecal.reading._accumulate.PairSpool.add", {"baseline": "q"}),
}


@pytest.mark.parametrize("what", FORGED)
@pytest.mark.parametrize("lazy", [False, True])
def test_a_row_that_is_lost_on_its_way_is_an_error(need, monkeypatch, what, lazy):
    pl = need("polars")
    frame = make(pl, "a").with_columns(n=pl.Series([1, 1, 2, 2] * 10))
    place, options = FORGED[what]
    words = "Rows must not get lost: [46]0 rows were read|The rows of clusters must be those of the tally"
    module, _, name = place.rpartition(".")
    owner = resolve_name(module)
    monkeypatch.setattr(owner, name, lose_first(getattr(owner, name)))
    monkeypatch.setattr(_accumulate.TieCounter, "add", lambda *_: 0)  # so that all rows are kept as keys
    with pytest.raises(RuntimeError, match=words):
        truecal.read(frame.lazy() if lazy else frame, label="y", score="p", **options)


def test_a_row_that_is_lost_while_tallies_are_added_or_regrouped_is_an_error(need, tmp_path, monkeypatch):
    pl = need("polars")
    options = {"label": "y", "score": "q"}
    whole = truecal.read(make(pl, "a"), **options, by="place")
    paired = truecal.read(make(pl, "a"), **options, baseline="p")
    for i in range(2):
        whole.save(tmp_path / f"{i}.parquet")
    real = _observations.merge_parts
    monkeypatch.setattr(_observations, "merge_parts", lambda parts: real(parts[1:]))
    for work in (lambda: whole + whole, lambda: whole.group_by(()), lambda: truecal.read(tmp_path)):
        with pytest.raises(RuntimeError, match="Rows must not get lost"):
            work()
    monkeypatch.setattr(_observations, "merge_parts", real)
    monkeypatch.setattr(truecal.data.Pairs, "__add__", lambda first, _: first)
    with pytest.raises(RuntimeError, match="Rows must not get lost: 80 rows were read, but 40"):
        paired + paired


def test_more_pairs_than_rows_are_an_error(need):
    pl = need("polars")
    found = truecal.read(make(pl, "a"), label="y", score="q", baseline="p")
    with pytest.raises(RuntimeError, match="Rows must not get lost: 40 rows were read, but 80 evaluated, -40 dropped"):
        replace(found, baseline=found.baseline + found.baseline)


def test_a_row_that_is_lost_while_columns_are_crossed_is_an_error(need, monkeypatch):
    pl = need("polars")
    real = _slice_tables.CodedRows
    monkeypatch.setattr(
        _slice_tables,
        "CodedRows",
        lambda codes, *rest: real(codes[:, 1:], *(each[1:] for each in rest if each is not None)),
    )
    with pytest.raises(RuntimeError, match="Rows must not get lost: 40 rows were read, but 38"):
        truecal.slices(make(pl, "a"), label="y", score="p")


def test_a_row_that_an_engine_loses_is_an_error(need, monkeypatch):
    duckdb, pl = need("duckdb"), need("polars")
    frame = duckdb.from_arrow(make(pl, "a").to_arrow())
    real = _query.count_distinct

    def count_distinct(rows, sums=()):
        found = real(rows, sums)
        return found if "base0" not in found.columns else found.filter(language(found).col("score0") < 0.9)

    monkeypatch.setattr(_query, "count_distinct", count_distinct)
    with pytest.raises(RuntimeError, match="Rows must not get lost: 40 rows were read, but 36"):
        truecal.read(frame, label="y", score="p", baseline="q")
