"""Where rows went: of all, and of each file, segment, window, model and pair."""

import gzip
from dataclasses import replace
from pkgutil import resolve_name

import numpy as np
import pytest

import truecal
from truecal.observations import Account, _tallies
from truecal.reading import _cross, _query, _spool
from truecal.reading._engines import language, native, open_frame

ROWS = {"a": 40, "b": 30, "c": 50}  # of each file
LOST = {"b": {"`p` is null": 6}, "c": {"`p` is null": 10, "`y` is null": 2}}


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
    """The accounts by the first letter of the file's name."""
    return {place.rpartition("/")[2][0]: each for place, each in files.items()}


def expect(reasons=("null", "null")):
    words = dict(zip(("`p` is null", "`y` is null"), reasons, strict=True))
    lost = {file: {why.replace("null", words[why]): n for why, n in each.items()} for file, each in LOST.items()}
    return {
        file: Account(rows, rows - sum(lost.get(file, {}).values()), lost.get(file, {})) for file, rows in ROWS.items()
    }


@pytest.mark.parametrize(
    "kind", ["csv", "csv.gz", "odd.csv", "spaced.csv", "jsonl", "parquet", "hive.parquet", "arrow", "npz"]
)
def test_every_file_has_its_account(need, tmp_path, kind):
    pl = need("polars")
    source = write(pl, tmp_path, kind)
    found = truecal.read(source, label="y", score="p", on_null="drop")
    assert found.account.read == sum(ROWS.values())
    assert name(found.account.files) == expect(("NaN", "null") if kind == "npz" else ("null", "null"))
    result = truecal.evaluate(found, ["ece"], above=0.5)
    assert name(result.account.files) == name(found.account.files)
    assert result.account.outside == found.n_rows - result.n
    assert truecal.Result.from_json(result.to_json()).account.files == result.account.files
    assert any("12 of 50" in note for note in result.notes)


def test_notes_name_the_files_that_lost_the_largest_shares(need, tmp_path):
    pl = need("polars")
    source = write(pl, tmp_path, "csv")
    found = truecal.read(source, label="y", score="p", on_null="drop")
    (note,) = found.account.notes
    where = f"(in '{tmp_path}/c.csv' 12 of 50, in '{tmp_path}/b.csv' 6 of 30)"
    assert note == f"of 120 rows 18 were dropped: `p` is null in 16, `y` is null in 2 {where}"
    many = {str(i): Account(10, 10 - i, {"why": i}) for i in range(1, 6)}
    words = Account(50, 35, {"why": 15}, files=many).reasons
    assert words == "why in 15 (in '5' 5 of 10, in '4' 4 of 10, in '3' 3 of 10, others in 2 more files)"


def test_one_file_needs_no_account_of_its_own(need, tmp_path):
    need("polars")
    (tmp_path / "a.csv").write_text("y,p\n0,0.5\n1,\n")
    found = truecal.read(tmp_path / "a.csv", label="y", score="p", on_null="drop").account
    assert (found, found.files) == (Account(2, 1, {"`p` is null": 1}), {})


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_segments_windows_models_and_classes_have_theirs(need, tmp_path, kind):
    pl = need("polars")
    source = write(pl, tmp_path, kind)
    found = truecal.read(source, label="y", score="p", by="place", time="day", on_null="drop")
    assert name(found.account.files) == expect()
    table = truecal.segments(found, "ece", above=0.2, random_state=0)
    frame = pl.concat([make(pl, file) for file in ROWS])
    for key, account in zip(table.segment, table.accounts, strict=True):
        rows = frame.filter(pl.col("place") == key[0])
        valid = rows.drop_nulls(["y", "p"])
        assert account.read == len(rows)
        assert account.n_dropped == len(rows) - len(valid)
        assert account.judged == (valid["p"] >= 0.2).sum()
        assert account.outside == (valid["p"] < 0.2).sum()
    windows = truecal.drift(found, "ece", random_state=0)
    assert [each.read for each in windows.accounts] == frame.group_by("day").len().sort("day")["len"].to_list()
    assert [each.n_dropped for each in windows.accounts] == windows.dropped.tolist()
    models = truecal.read_models(source, label="y", score=["p", "q"], on_null="drop")
    assert name(models["p"].account.files) == expect()
    assert name(models["q"].account.files)["c"] == Account(50, 48, {"`y` is null": 2})


def test_classes_have_theirs(need, tmp_path):
    need("polars")
    (tmp_path / "a.csv").write_text("y,p_u,p_v\nu,0.5,0.5\nv,,0.25\n,0.5,0.5\n")
    (tmp_path / "b.csv").write_text("y,p_u,p_v\nu,0.75,0.25\nv,0.25,0.75\n")
    found = truecal.read(tmp_path, label="y", score="p_*", multiclass="classwise", on_null="drop")
    for tallies in (found.top, *found.classes.values()):
        first, second = name(tallies.account.files).values()
        assert (first.read, first.n_dropped, second) == (3, 2, Account(2, 2))


def test_rows_of_pairs_are_accounted_for(need, tmp_path):
    pl = need("polars")
    source = write(pl, tmp_path, "csv")
    found = truecal.compare(
        truecal.read(source, label="y", score="q", baseline="p", on_null="drop"), ["brier"], replicates=20
    )
    # `q` lacks no score, two labels are missing, and so are 16 scores of the baseline, one of them beside a label
    alone = sum(i % 5 == 0 and not (file == "c" and i in (1, 2)) for file in "bc" for i in range(ROWS[file]))
    assert found.account == Account(120, 118 - alone, {"`y` is null": 2, "the baseline has no score": alone})
    assert found.notes == found.account.notes
    assert type(found).from_json(found.to_json()) == found
    assert truecal.compare([0, 1], [0.5, 0.5], [0.5, 0.25], ["brier"]).account == Account(2, 2)


def test_files_of_tallies_have_theirs(need, tmp_path):
    pl = need("polars")
    for file in ROWS:
        truecal.read(make(pl, file), label="y", score="p", by="place", on_null="drop").save(
            tmp_path / f"{file}.parquet"
        )
    found = truecal.read(tmp_path)
    assert name(found.account.files) == expect()
    assert name((found + found).account.files)["c"] == Account(100, 76, {"`p` is null": 20, "`y` is null": 4})
    alone = truecal.Tallies.load(tmp_path / "a.parquet")
    assert (found + alone).account.files == {}  # it is not known of which file those are


def test_files_must_add_up_to_all():
    with pytest.raises(RuntimeError, match="the files have 9, of which 2 were dropped"):
        Account(10, 7, {"why": 3}, files={"a": Account(9, 7, {"why": 2})})
    parts = {(): truecal.Tally([0.5], [7], [3])}
    with pytest.raises(RuntimeError, match="Rows must not get lost"):
        truecal.Tallies("y", "p", parts, files={"a": Account(9, 9)})


def test_a_rule_names_the_file(need, tmp_path):
    pl = need("polars")
    found = truecal.read(write(pl, tmp_path, "csv"), label="y", score="p", on_null="drop")
    (finding,) = truecal.check(found, [truecal.gate.Rule("dropped", 0.1)]).findings
    assert f"in '{tmp_path}/c.csv' 12 of 50" in str(finding)


def test_rows_that_count_more_than_once_do_so_in_each_file(need, tmp_path):
    need("polars")
    (tmp_path / "a.csv").write_text("y,p,n\n0,0.5,3\n1,0.5,0\n1,0.25,2\n")
    (tmp_path / "b.csv").write_text("y,p,n\n0,0.5,4\n1,,5\n")
    found = truecal.read(tmp_path, label="y", score="p", weight="n", on_null="drop")
    first, second = name(found.account.files).values()
    assert first == Account(6, 5, {"`n` is 0": 1})  # a line that stands for no row balances, too
    assert second == Account(9, 4, {"`p` is null": 5})
    assert found.account == Account(15, 9, {"`n` is 0": 1, "`p` is null": 5})
    told = f"of 14 rows 5 were dropped: `p` is null in 5 (in '{tmp_path}/b.csv' 5 of 9)"
    assert found.notes == (told, "1 line stands for no row: `n` is 0")
    assert repr(found).endswith("9 rows, 2 positive, 5 dropped)")
    parts = truecal.read(tmp_path, label="y", score="p", weight="n", on_null="drop", by="y")
    assert truecal.segments(parts).dropped.tolist() == [0, 5]
    with pytest.raises(ValueError, match="`p` is null in 5"):
        truecal.read(tmp_path, label="y", score="p", weight="n")


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
    assert found.pair_account == Account(30, 30)


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
    "rows in a spool": ("truecal.reading._spool.Spool.add_keys", {}),
    "rows of segments": ("truecal.reading._spool.Spool.add_keys", {"by": "place"}),
    "rows of windows": ("truecal.reading._spool.Spool.add_keys", {"time": "day"}),
    "rows with weights": ("truecal.reading._read.group_keys", {"weight": "n"}),
    "rows in clusters": ("truecal.reading._read.group_keys", {"cluster": "place"}),
    "pairs": ("truecal.reading._spool.PairSpool.add", {"baseline": "q"}),
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
    monkeypatch.setattr(_spool.TieCounter, "add", lambda *_: 0)  # so that all rows are kept as keys
    with pytest.raises(RuntimeError, match=words):
        truecal.read(frame.lazy() if lazy else frame, label="y", score="p", **options)


def test_a_row_that_is_lost_while_tallies_are_added_or_regrouped_is_an_error(need, tmp_path, monkeypatch):
    pl = need("polars")
    options = {"label": "y", "score": "q"}
    whole = truecal.read(make(pl, "a"), **options, by="place")
    paired = truecal.read(make(pl, "a"), **options, baseline="p")
    for i in range(2):
        whole.save(tmp_path / f"{i}.parquet")
    real = _tallies.merge_parts
    monkeypatch.setattr(_tallies, "merge_parts", lambda parts: real(parts[1:]))
    for work in (lambda: whole + whole, lambda: whole.over(()), lambda: truecal.read(tmp_path)):
        with pytest.raises(RuntimeError, match="Rows must not get lost"):
            work()
    monkeypatch.setattr(_tallies, "merge_parts", real)
    monkeypatch.setattr(truecal.observations.Pairs, "__add__", lambda first, _: first)
    with pytest.raises(RuntimeError, match="Rows must not get lost: 80 rows were read, but 40"):
        paired + paired


def test_more_pairs_than_rows_are_an_error(need):
    pl = need("polars")
    found = truecal.read(make(pl, "a"), label="y", score="q", baseline="p")
    with pytest.raises(RuntimeError, match="Rows must not get lost: 40 rows were read, but 80 judged, -40 dropped"):
        replace(found, baseline=found.baseline + found.baseline)


def test_a_row_that_is_lost_while_columns_are_crossed_is_an_error(need, monkeypatch):
    pl = need("polars")
    real = _cross.CodedRows
    monkeypatch.setattr(
        _cross, "CodedRows", lambda codes, *rest: real(codes[:, 1:], *(each[1:] for each in rest if each is not None))
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
