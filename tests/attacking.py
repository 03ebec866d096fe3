"""Attacks on the release gate by its command line: files and words that might let a miscalibrated model pass.

The model says a third of the odds that it should, in 2,400 rows. Many attacks hide just as many positives as would make
it look calibrated if they were taken for negatives. Each is a name, a function that writes files to a folder, and the words.
"""

import gzip
import json
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

N = 2400
STEP = 12  # rows of each score, in a fixed pattern of positives


@dataclass(frozen=True)
class Attack:
    """Files, and the words of the command after `truecal check`; `env` are changes to the environment."""

    name: str
    write: Callable[[Path], object]
    words: Sequence[str]
    env: tuple[tuple[str, str], ...] = ()
    marks: tuple[pytest.MarkDecorator, ...] = ()


def make_rows():
    """Scores of 0.25, of which 9 of 12 labels are positive, and of 1/6, of which 6 of 12 are."""
    p = np.repeat([0.25, 1 / 6], N // 2)
    y = np.concatenate([np.tile([1] * 9 + [0] * 3, N // 2 // STEP), np.tile([1] * 6 + [0] * 6, N // 2 // STEP)])
    return y, p


Y, P = make_rows()
# the positives that would have to be negatives for the model to be right: 6 of 9, and 4 of 6
HIDDEN = np.concatenate([np.tile([1] * 6 + [0] * 6, N // 2 // STEP), np.tile([1] * 4 + [0] * 8, N // 2 // STEP)]) == 1
CALIBRATED = np.where(HIDDEN, 0, Y)
GROUP = np.arange(N) // STEP % 4  # both scores, and each pattern as a whole
COMMON = ("-y", "y", "-p", "p")


def write_table(path, header=("y", "p"), columns=(Y, P), separator=",", end="\n", encoding="utf-8"):
    rows = (separator.join(map(str, row)) for row in zip(*columns, strict=True))
    text = end.join([separator.join(header), *rows]) + end
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode(encoding))
    return path


def hide(word, positive="yes", negative="no"):
    """Labels as text, of which those that are hidden are another word."""
    return np.where(HIDDEN, word, np.where(Y == 1, positive, negative))


def numbers(word):
    return hide(word, "1", "0")


def data(folder):
    write_table(folder / "d.csv")


def with_columns(header, *columns, name="d.csv", **options):
    return lambda folder: write_table(folder / name, header, columns, **options)


def with_text(name, text, encoding="utf-8", errors="strict"):
    def write(folder):
        data(folder)
        (folder / name).write_bytes(text.encode(encoding, errors))

    return write


def all_of(*writers):
    def write(folder):
        for writer in writers:
            writer(folder)

    return write


# ---- labels --------------------------------------------------------------------------------------------------------

MISSING = [
    "",
    "NA",
    "N/A",
    "n/a",
    "#N/A",
    "<NA>",
    "null",
    "NULL",
    "Null",
    "None",
    "nan",
    "NaN",
    "NAN",
    "NaT",
    "\\N",
    "?",
]
ODD = [
    "Yes",
    "YES",
    "yes ",
    " yes",
    "\tyes",
    "\u00a0yes",
    "yes\u200b",
    "\uff59\uff45\uff53",
    "yes.",
    "'yes'",
    "-",
    ".",
    "missing",
]
ODD += [
    "unknown",
    "true",
    "1",
    "0",
    "oui",
    "maybe",
    "yes;no",
    "none",
    "nil",
    "N",
    "Y",
    "yés",
    "ye\u0301s",
    "NO",
    "No",
    "n o",
]
LIMITED = ("--drop-missing", "--max-dropped", "0.01")
NUMERALS = [
    "2",
    "-1",
    "0.5",
    "0.999",
    "1.0000001",
    "nan",
    "inf",
    "-inf",
    "1 x",
    "true",
    "yes",
    "",
    "NULL",
    "0x1",
    "1e-320",
]
NUMERALS += ["\uff10", "1_0", "1e400", "0.0.0", "-", "--1", "99999999999999999999", "1/1", "\u0661"]


def list_labels():
    for word in MISSING + ODD:
        write = with_columns(("y", "p"), hide(word), P)
        yield Attack(f"label-{word!a}", write, ("d.csv", *COMMON, "--pos-label", "yes"))
        yield Attack(f"label-dropped-{word!a}", write, ("d.csv", *COMMON, "--pos-label", "yes", *LIMITED))
    for word in NUMERALS:
        write = with_columns(("y", "p"), numbers(word), P)
        yield Attack(f"number-{word!a}", write, ("d.csv", *COMMON))
        yield Attack(f"number-dropped-{word!a}", write, ("d.csv", *COMMON, *LIMITED))
    for given in ("Yes", "YES", "1", "no ", "", "true", "maybe", "yes,no", "*", "y*"):
        write = with_columns(("y", "p"), hide("yes"), P)
        yield Attack(f"positive-{given!a}", write, ("d.csv", *COMMON, "--pos-label", given))


# ---- scores and weights --------------------------------------------------------------------------------------------

SCORES = [
    "nan",
    "inf",
    "-inf",
    "",
    "NULL",
    "1.5",
    "-0.25",
    "-0.0",
    "0",
    "1",
    "5e-324",
    "1e-310",
    "1e400",
    "50%",
    "x",
    "0x1p-2",
]
SCORES += ["-1e-320", "1.0000001", "25", "True", "0.75.1", "None", "0_1", "\u0660"]
COUNTS = [
    "0",
    "-1",
    "0.5",
    "nan",
    "inf",
    "x",
    "",
    "9223372036854775808",
    "1e30",
    "true",
    "-0.0",
    "1e-320",
    "9007199254740993.5",
]


def list_scores():
    for word in SCORES:
        scores = np.where(HIDDEN, word, P.astype(str))
        write = with_columns(("y", "p"), Y, scores)
        yield Attack(f"score-{word}", write, ("d.csv", *COMMON))
        yield Attack(f"score-dropped-{word}", write, ("d.csv", *COMMON, *LIMITED))
    for word in COUNTS:
        weights = np.where(HIDDEN, word, "1")
        # lines of no rows are no rows; that is what a count of 0 says
        write = with_columns(("y", "p", "w"), Y, P, np.full(N, word) if word in ("0", "-0.0") else weights)
        yield Attack(f"count-{word}", write, ("d.csv", *COMMON, "--count", "w"))
        yield Attack(f"count-dropped-{word}", write, ("d.csv", *COMMON, "--count", "w", *LIMITED))
    heavy = with_columns(("y", "p", "w"), Y, P, np.full(N, 2**40))
    yield Attack("count-huge", heavy, ("d.csv", *COMMON, "--count", "w"))
    yield Attack(
        "count-overflow", with_columns(("y", "p", "w"), Y, P, np.full(N, 2**62)), ("d.csv", *COMMON, "--count", "w")
    )
    by_label = with_columns(("y", "p", "w"), Y, P, np.where(Y == 1, "0.1", "1"))
    for word in ("--importance-weight", "--count"):
        yield Attack(f"weights-by-label{word}", by_label, ("d.csv", *COMMON, word, "w"))
    for word, found in (("zero", "0"), ("negative", "-1"), ("nan", "nan"), ("huge", "1e308"), ("word", "x")):
        write = with_columns(("y", "p", "w"), Y, P, np.where(HIDDEN, found, "1"))
        yield Attack(f"importance-{word}", write, ("d.csv", *COMMON, "--importance-weight", "w"))
    for word in ("--percent", "--logit"):
        yield Attack(f"scale{word}", data, ("d.csv", *COMMON, word))
    percent = with_columns(("y", "p"), Y, 100 * P)
    yield Attack("percentages-as-they-are", percent, ("d.csv", *COMMON))
    yield Attack("percentages", percent, ("d.csv", *COMMON, "--percent"))
    yield Attack("labels-are-scores", data, ("d.csv", "-y", "y", "-p", "y"))
    yield Attack("scores-are-labels", data, ("d.csv", "-y", "p", "-p", "y"))
    yield Attack("all-certain", with_columns(("y", "p"), Y, (P > 0.2).astype(int)), ("d.csv", *COMMON))
    yield Attack(
        "decimal-comma", with_columns(("y", "p"), Y, [f"0,{i}" for i in range(N)], separator=";"), ("d.csv", *COMMON)
    )


# ---- files ---------------------------------------------------------------------------------------------------------


def write_late(folder):
    """The rows that are off begin far behind the first 128 KiB."""
    filler = 20_000
    y, p = np.concatenate([np.tile([1, 0, 0, 0], filler // 4), Y]), np.concatenate([np.full(filler, 0.25), P])
    write_table(folder / "d.csv", ("y", "p"), (y, p))


def pack(suffix, opened):
    def write(folder):
        place = data(folder) or folder / "d.csv"
        with opened(f"{place}{suffix}", "wb") as file:
            file.write(place.read_bytes())
        place.unlink()

    return write


def good_and(*others, name="a.csv"):
    """A file of a calibrated model, and others."""
    return all_of(with_columns(("y", "p"), CALIBRATED, P, name=name), *others)


def cut(share, name="d.csv.gz"):
    def write(folder):
        pack(".gz", gzip.open)(folder)
        whole = (folder / "d.csv.gz").read_bytes()
        (folder / name).write_bytes(whole[: int(share * len(whole))])

    return write


def link(target, name):
    return lambda folder: os.symlink(target, folder / name)


def in_folder(name, **options):
    return with_columns(("y", "p"), Y, P, name=name, **options)


def list_files():
    yield Attack("late-rows", write_late, ("d.csv", *COMMON))
    yield Attack("second-file", good_and(in_folder("b.csv")), ("a.csv", "b.csv", *COMMON))
    yield Attack("folder", good_and(in_folder("f/b.csv"), name="f/a.csv"), ("f", *COMMON))
    yield Attack("subfolder", good_and(in_folder("f/s/t/b.csv"), name="f/a.csv"), ("f", *COMMON))
    for name in (
        "b.csv.bz2",
        "b.csv.xz",
        "b.csv.gzip",
        "b.json",
        "b.txt",
        "b",
        "_b.csv",
        "b.CSV",
        "b.csv~",
        "b.csv.bak",
        "b.dat",
        "b.csv.zip",
    ):
        yield Attack(f"folder-{name}", good_and(in_folder(f"f/{name}"), name="f/a.csv"), ("f", *COMMON))
    for name in ("_SUCCESS.csv", "_started.csv", "_metadata.csv", "_committed_1.csv"):
        yield Attack(f"folder-{name}", good_and(in_folder(f"f/{name}"), name="f/a.csv"), ("f", *COMMON))
    yield Attack("folder-partition", good_and(in_folder("f/g=2/b.csv"), name="f/g=1/a.csv"), ("f", *COMMON))
    yield Attack("partition-is-label", good_and(in_folder("f/y=0/b.csv"), name="f/y=1/a.csv"), ("f", *COMMON))
    yield Attack(
        "linked-file", good_and(in_folder("b.csv"), link("../b.csv", "f/b.csv"), name="f/a.csv"), ("f", *COMMON)
    )
    yield Attack("linked-folder", good_and(in_folder("g/b.csv"), link("../g", "f/g"), name="f/a.csv"), ("f", *COMMON))
    yield Attack("link-to-itself", good_and(link(".", "f/g"), name="f/a.csv"), ("f", *COMMON))
    yield Attack("broken-link", good_and(link("nowhere.csv", "f/b.csv"), name="f/a.csv"), ("f", *COMMON))
    yield Attack("file-named-twice", good_and(), ("a.csv", "a.csv", *COMMON))
    yield Attack("file-by-two-names", good_and(link("a.csv", "b.csv")), ("a.csv", "b.csv", *COMMON))
    yield Attack("missing-file", good_and(), ("a.csv", "b.csv", *COMMON))
    yield Attack("pattern-without-match", good_and(), ("a.csv", "b*.csv", *COMMON))
    yield Attack("empty-file", with_text("e.csv", ""), ("e.csv", *COMMON))
    yield Attack("empty-file-beside", good_and(with_text("e.csv", "")), ("a.csv", "e.csv", *COMMON))
    yield Attack("header-alone", with_text("e.csv", "y,p\n"), ("e.csv", *COMMON))
    yield Attack("empty-folder", lambda folder: (folder / "f").mkdir(), ("f", *COMMON))
    yield Attack("gzip", pack(".gz", gzip.open), ("d.csv.gz", *COMMON))
    for share in (0.1, 0.5, 0.99):
        yield Attack(f"gzip-cut-{share}", cut(share), ("d.csv.gz", *COMMON))
    yield Attack("gzip-that-is-none", with_text("d.csv.gz", "y,p\n0,0.5\n"), ("d.csv.gz", *COMMON))
    yield Attack("parquet-that-is-csv", lambda folder: write_table(folder / "d.parquet"), ("d.parquet", *COMMON))
    yield Attack("csv-as-parquet", data, ("d.csv", *COMMON, "--format", "parquet"))
    yield Attack("csv-as-tsv", data, ("d.csv", *COMMON, "--format", "tsv"))
    yield Attack("csv-as-jsonl", data, ("d.csv", *COMMON, "--format", "jsonl"))
    yield Attack("standard-input-empty", data, ("-", *COMMON))
    yield Attack("folder-and-file", good_and(in_folder("f/b.csv"), name="f/a.csv"), ("f", "f/a.csv", *COMMON))


def list_headers():
    for name, header, columns in (
        ("score-twice", ("y", "p", "p"), (Y, P, np.minimum(3 * P, 1))),
        ("label-twice", ("y", "p", "y"), (Y, P, CALIBRATED)),
        ("label-with-space", ("y ", "p", "y"), (CALIBRATED, P, Y)),
        ("label-with-case", ("Y", "p", "y"), (CALIBRATED, P, Y)),
        ("score-with-mark", ("\ufeffp", "p", "y"), (CALIBRATED, P, Y)),
        ("empty-name", ("", "p", "y"), (CALIBRATED, P, Y)),
        ("quoted-name", ('"y"', "p"), (Y, P)),
        ("names-of-numbers", ("0", "1", "y", "p"), (CALIBRATED, P, Y, P)),
        ("label-of-missing-name", ("label", "p"), (Y, P)),
    ):
        yield Attack(f"header-{name}", with_columns(header, *columns), ("d.csv", *COMMON))
    other = {
        "other-order": (("p", "y"), (P, Y)),
        "lacks-label": (("p", "z"), (P, Y)),
        "more": (("y", "z", "p"), (Y, Y, P)),
    }
    other |= {
        "other-name": (("y", "q"), (Y, P)),
        "other-case": (("Y", "P"), (Y, P)),
        "text": (("y", "p"), (hide("1"), P)),
    }
    for name, (header, columns) in other.items():
        write = good_and(with_columns(header, *columns, name="b.csv"))
        yield Attack(f"second-header-{name}", write, ("a.csv", "b.csv", *COMMON))
        yield Attack(f"second-header-dropped-{name}", write, ("a.csv", "b.csv", *COMMON, *LIMITED))
    lines = [f"{y},{p}" for y, p in zip(CALIBRATED, P, strict=True)]
    more = [f"{y},{p}" for y, p in zip(Y, P, strict=True)]
    for name, middle in (
        ("header", "y,p"),
        ("comment", "# 2026"),
        ("one-field", "1"),
        ("three-fields", "1,0.5,1"),
        ("open-quote", '"1,0.5'),
        ("zero-byte", "1,\x000.5"),
        ("separator", "sep=;"),
        ("quote-inside", '1"1,0.5'),
        ("end-of-file", "\x1a"),
    ):
        text = "\n".join(["y,p", *lines, middle, *more]) + "\n"
        yield Attack(f"middle-{name}", with_text("e.csv", text), ("e.csv", *COMMON))
    for name, options in (
        ("semicolons", {"separator": ";"}),
        ("bars", {"separator": "|"}),
        ("windows", {"end": "\r\n"}),
        ("old-mac", {"end": "\r"}),
        ("blank-lines", {"end": "\n\n"}),
        ("marked", {"encoding": "utf-8-sig"}),
        ("utf-16", {"encoding": "utf-16"}),
        ("utf-32", {"encoding": "utf-32"}),
        ("ebcdic", {"encoding": "cp037"}),
        ("colons", {"separator": ":"}),
        ("spaces", {"separator": " "}),
    ):
        yield Attack(f"text-{name}", with_columns(("y", "p"), Y, P, **options), ("d.csv", *COMMON))
    latin = with_columns(("y", "p"), hide("é"), P, encoding="latin-1")
    yield Attack("text-latin", latin, ("d.csv", *COMMON, "--pos-label", "yes"))


def lines_of(values):
    def write(folder):
        rows = [{"y": y, "p": p} for y, p in zip(values, P.tolist(), strict=True)]
        (folder / "d.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")

    return write


def list_json():
    for name, value in {
        "null": None,
        "text": "1",
        "true": True,
        "list": [1],
        "object": {"y": 1},
        "half": 0.5,
        "two": 2,
        "empty": "",
        "nan": float("nan"),
        "huge": 10**30,
    }.items():
        values = [value if gone else int(y) for gone, y in zip(HIDDEN, Y, strict=True)]
        yield Attack(f"jsonl-{name}", lines_of(values), ("d.jsonl", *COMMON))
        yield Attack(f"jsonl-dropped-{name}", lines_of(values), ("d.jsonl", *COMMON, *LIMITED))
    rows = list(zip(HIDDEN, Y.tolist(), P.tolist(), strict=True))
    lines = {
        "twice": [f'{{"y": 0, "p": {p}, "y": {y}}}' if h else f'{{"y": {y}, "p": {p}}}' for h, y, p in rows],
        "twice-reversed": [f'{{"y": {y}, "p": {p}, "y": 0}}' if h else f'{{"y": {y}, "p": {p}}}' for h, y, p in rows],
        "escaped": [f'{{"\\u0079": 0, "y": {y}, "p": {p}}}' if h else f'{{"y": {y}, "p": {p}}}' for h, y, p in rows],
        "no-label": [f'{{"p": {p}}}' if h else f'{{"y": {y}, "p": {p}}}' for h, y, p in rows],
        "other-case": [f'{{"Y": {y}, "p": {p}}}' if h else f'{{"y": {y}, "p": {p}}}' for h, y, p in rows],
        "broken": [f'{{"y": {y}, "p": {p}' if h else f'{{"y": {y}, "p": {p}}}' for h, y, p in rows],
        "list": [f"[{y}, {p}]" for _, y, p in rows],
        "two-in-a-line": [f'{{"y": 0, "p": {p}}} {{"y": {y}, "p": {p}}}' for _, y, p in rows],
    }
    for name, found in lines.items():
        yield Attack(f"lines-{name}", with_text("d.jsonl", "\n".join(found) + "\n"), ("d.jsonl", *COMMON))
    whole = json.dumps([{"y": y, "p": p} for _, y, p in rows])
    yield Attack("json-array", with_text("d.json", whole), ("d.json", *COMMON))
    yield Attack("json-array-as-lines", with_text("d.json", whole), ("d.json", *COMMON, "--format", "jsonl"))


def save_arrow(name, columns, writer):
    def write(folder):
        import polars as pl

        getattr(pl.DataFrame(columns(pl), strict=False), writer)(folder / name)

    return write


def list_columnar():
    gone = HIDDEN.tolist()
    kinds = {
        "null": lambda pl: [None if h else int(y) for h, y in zip(gone, Y, strict=True)],
        "nan": lambda pl: np.where(HIDDEN, np.nan, Y.astype(float)),
        "half": lambda pl: np.where(HIDDEN, 0.5, Y.astype(float)),
        "two": lambda pl: np.where(HIDDEN, 2, Y),
        "minus": lambda pl: np.where(HIDDEN, -1, Y),
        "text": lambda pl: hide("1"),
        "categorical": lambda pl: pl.Series(hide("Yes").tolist(), dtype=pl.Categorical),
        "list": lambda pl: [[int(y)] for y in Y],
        "bytes": lambda pl: [str(y).encode() for y in Y],
        "date": lambda pl: pl.Series(Y.tolist()).cast(pl.Int32).cast(pl.Date),
        "duration": lambda pl: pl.Series(Y.tolist()).cast(pl.Duration("us")),
        "plain": lambda pl: Y,
        "bool": lambda pl: Y == 1,
        "small": lambda pl: pl.Series(Y.tolist(), dtype=pl.UInt8),
    }
    for name, kind in kinds.items():
        for suffix, writer in ((".parquet", "write_parquet"), (".arrow", "write_ipc")):
            write = save_arrow(f"d{suffix}", lambda pl, kind=kind: {"y": kind(pl), "p": P}, writer)
            yield Attack(f"{suffix[1:]}-{name}", write, (f"d{suffix}", *COMMON))
    for name in ("null", "nan"):
        write = save_arrow("d.parquet", lambda pl, kind=kinds[name]: {"y": kind(pl), "p": P}, "write_parquet")
        yield Attack(f"parquet-dropped-{name}", write, ("d.parquet", *COMMON, *LIMITED))
    arrays = {
        "nan": {"y": np.where(HIDDEN, np.nan, Y), "p": P},
        "shape": {"y": Y[:, None], "p": P},
        "length": {"y": CALIBRATED[:-1], "p": P},
        "objects": {"y": np.array(hide("1"), object), "p": P},
        "complex": {"y": Y + 0j, "p": P},
        "times": {"y": Y.astype("M8[D]"), "p": P},
        "plain": {"y": Y, "p": P},
        "text": {"y": hide("Yes"), "p": P},
        "half": {"y": Y.astype(np.float16), "p": P.astype(np.float16)},
        "scalar": {"y": np.int64(1), "p": np.float64(1)},
        "empty": {"y": Y[:0], "p": P[:0]},
        "other-names": {"label": Y, "score": P},
    }
    for name, found in arrays.items():
        yield Attack(f"npz-{name}", lambda folder, found=found: np.savez(folder / "d.npz", **found), ("d.npz", *COMMON))


# ---- segments, times, baselines ------------------------------------------------------------------------------------

SEGMENTS = [
    "",
    "None",
    "null",
    "nan",
    "NaN",
    "0",
    "1.0",
    "de ",
    " de",
    "DE",
    "*",
    "[de]",
    "g=de",
    "a,b",
    "x=y",
    "-",
    "é",
    "\u0663",
]


def list_segments():
    good = np.where(GROUP == 3, Y, CALIBRATED)
    for word in SEGMENTS:
        names = np.where(GROUP == 3, f'"{word}"' if "," in word else word, "de")
        write = with_columns(("y", "p", "g"), good, P, names)
        yield Attack(f"segment-{word!a}", write, ("d.csv", *COMMON, "--by", "g", "--segment", "*"))
        yield Attack(f"segment-named-{word!a}", write, ("d.csv", *COMMON, "--by", "g", "--segment", "g=*"))
    right = with_columns(("y", "p", "g"), CALIBRATED, P, GROUP)
    for pattern in ("g=9", "G=*", "h=*", "g", "0", "g=0,*", "[", "g=[!0-9]", "", " ", "g=00", "g=0 "):
        yield Attack(f"pattern-{pattern!a}", right, ("d.csv", *COMMON, "--by", "g", "--segment", pattern))
    holes = with_columns(("y", "p", "g"), np.where(GROUP == 3, "", CALIBRATED.astype(str)), P, GROUP)
    yield Attack("segment-all-dropped", holes, ("d.csv", *COMMON, "--by", "g", "--segment", "g=*", "--drop-missing"))
    yield Attack(
        "segment-dropped-by-name", holes, ("d.csv", *COMMON, "--by", "g", "--segment", "g=3", "--drop-missing")
    )
    tiny = with_columns(("y", "p", "g"), CALIBRATED, P, np.where(np.arange(N) == 0, "x", "y"))
    yield Attack("segment-of-one-row", tiny, ("d.csv", *COMMON, "--by", "g", "--segment", "g=*"))
    yield Attack("segments-without-rule", right, ("d.csv", *COMMON, "--by", "g"))
    yield Attack("segment-without-column", right, ("d.csv", *COMMON, "--segment", "g=*"))
    for given in ("y", "p", "h", "g,g", "g,h", "", "g "):
        yield Attack(
            f"by-{given!a}",
            with_columns(("y", "p", "g"), Y, P, GROUP),
            ("d.csv", *COMMON, "--by", given, "--segment", "*"),
        )
    many = with_columns(("y", "p", "g"), Y, P, np.arange(N))
    yield Attack("a-segment-for-each-row", many, ("d.csv", *COMMON, "--by", "g", "--segment", "*"))
    yield Attack(
        "clusters-of-all", with_columns(("y", "p", "c"), Y, P, np.ones(N, int)), ("d.csv", *COMMON, "--cluster", "c")
    )
    yield Attack("clusters-by-label", with_columns(("y", "p", "c"), Y, P, Y), ("d.csv", *COMMON, "--cluster", "c"))
    gaps = with_columns(("y", "p", "c"), Y, P, np.where(HIDDEN, "", "a"))
    yield Attack("clusters-missing", gaps, ("d.csv", *COMMON, "--cluster", "c"))


def baseline_rows(which, scores=P, ids=None):
    """A file of baseline scores for some of the rows, by their number."""
    ids = np.arange(N) if ids is None else ids
    return lambda folder: write_table(folder / "b.csv", ("i", "p"), (ids[which], np.asarray(scores)[which]))


def list_baselines():
    rows = with_columns(("i", "y", "p"), np.arange(N), Y, P)
    better = np.where(P > 0.2, 0.75, 0.5)
    shuffled = np.random.default_rng(0).permutation(N)
    every = np.arange(N)
    compare = ("d.csv", *COMMON, "--baseline", "b.csv", "--on", "i", "--max-worse", "log_loss=0")
    files = {
        "better": baseline_rows(every, better),
        "reversed": baseline_rows(every[::-1], better),
        "shuffled": baseline_rows(shuffled, better),
        "doubled": baseline_rows(np.concatenate([every, every]), better),
        "half-doubled": baseline_rows(np.concatenate([every[: N // 2]] * 2), better),
        "half-doubled-worse": baseline_rows(np.concatenate([every[: N // 2]] * 2), P / 4),
        "one-row": baseline_rows(every[:1], better),
        "no-row": baseline_rows(every[:0], better),
        "other-keys": baseline_rows(every, better, every + N),
        "missing-keys": baseline_rows(every, better, np.where(HIDDEN, "", every.astype(str))),
        "scores-beyond": baseline_rows(every, better + 1),
        "scores-nan": baseline_rows(every, np.where(HIDDEN, "nan", better.astype(str))),
        "labels-differ": lambda folder: write_table(folder / "b.csv", ("i", "y", "p"), (every, CALIBRATED, better)),
        "no-column": lambda folder: write_table(folder / "b.csv", ("i", "q"), (every, better)),
        "no-key": lambda folder: write_table(folder / "b.csv", ("j", "p"), (every, better)),
    }
    for name, write in files.items():
        yield Attack(f"baseline-{name}", all_of(rows, write), compare)
    column = with_columns(("y", "p", "q"), Y, P, better)
    yield Attack("baseline-column", column, ("d.csv", *COMMON, "--baseline", "q", "--max-worse", "log_loss=0"))
    yield Attack("baseline-is-model", column, ("d.csv", *COMMON, "--baseline", "p"))
    yield Attack("baseline-unused", column, ("d.csv", *COMMON, "--baseline", "q"))
    yield Attack("baseline-absent", column, ("d.csv", *COMMON, "--max-worse", "log_loss=0"))
    yield Attack("baseline-empty", column, ("d.csv", *COMMON, "--baseline", "", "--max-worse", "log_loss=0"))
    yield Attack("baseline-misspelt", column, ("d.csv", *COMMON, "--baseline", "qq", "--max-worse", "log_loss=0"))
    yield Attack("baseline-worse-limit", column, ("d.csv", *COMMON, "--baseline", "q", "--max-worse", "log_loss=700"))
    yield Attack(
        "baseline-of-few-draws",
        column,
        ("d.csv", *COMMON, "--baseline", "q", "--max-worse", "ltce=0", "--resamples", "3"),
    )


# ---- rules and options ---------------------------------------------------------------------------------------------

PASSING = "[[rule]]\nverdict = true\n"
RULES = {
    "empty": "",
    "comment": "# [[rule]]\n",
    "no-rule": "rule = []\n",
    "table": "[rule]\nverdict = true\n",
    "misspelt-table": "[[rules]]\nverdict = true\n",
    "upper-case-table": "[[Rule]]\nverdict = true\n",
    "beside": f"{PASSING}[[other]]\nverdict = true\n",
    "misspelt-key": "[[rule]]\nverdct = true\n",
    "misspelt-limit": "[[rule]]\nmax_valeu = 1\n",
    "dashes": "[[rule]]\nmax-value = 1\n",
    "false": "[[rule]]\nverdict = false\n",
    "one": "[[rule]]\nverdict = 1\n",
    "text": '[[rule]]\nverdict = "true"\n',
    "text-limit": '[[rule]]\nmax_value = "5"\n',
    "list-limit": "[[rule]]\nmax_value = [5]\n",
    "true-limit": "[[rule]]\nmax_value = true\n",
    "nan-limit": "[[rule]]\nmax_value = nan\n",
    "infinite-limit": "[[rule]]\nmax_value = inf\n",
    "everything": "[[rule]]\nmax_value = 100\n",
    "beyond-everything": "[[rule]]\nmax_value = 1e6\n",
    "every-gap": '[[rule]]\nmetric = "ece"\nmax_value = 1\n',
    "percent-gap": '[[rule]]\nmetric = "ece"\nmax_value = 15\n',
    "wrong-side": "[[rule]]\nmin_value = 15\n",
    "wrong-side-of-benefit": '[[rule]]\nmetric = "net_benefit@0.1"\nmax_value = 0.5\n',
    "every-excess": "[[rule]]\nmax_excess = 100\n",
    "every-upper": "[[rule]]\nmax_upper = 100\n",
    "no-p-value": "[[rule]]\nmin_p_value = 0\n",
    "tiny-p-value": "[[rule]]\nmin_p_value = 1e-300\n",
    "negative-p-value": "[[rule]]\nmin_p_value = -1\n",
    "all-dropped": "[[rule]]\nmax_dropped = 1\n",
    "more-than-dropped": "[[rule]]\nmax_dropped = 1.5\n",
    "infinite-worse": "[[rule]]\nmax_worse = inf\n",
    "no-metric": '[[rule]]\nmetric = "nope"\nmax_value = 1\n',
    "empty-metric": '[[rule]]\nmetric = ""\nmax_value = 1\n',
    "number-metric": "[[rule]]\nmetric = 3\nmax_value = 1\n",
    "list-metric": '[[rule]]\nmetric = ["ece"]\nmax_value = 0.1\n',
    "benefit-of-nothing": '[[rule]]\nmetric = "net_benefit@nan"\nmin_value = 0\n',
    "other-model": '[[rule]]\nverdict = true\nmodel = "other"\n',
    "other-case-of-model": '[[rule]]\nverdict = true\nmodel = "P"\n',
    "empty-model": '[[rule]]\nverdict = true\nmodel = ""\n',
    "list-of-models": '[[rule]]\nverdict = true\nmodel = ["p"]\n',
    "no-segments": '[[rule]]\nverdict = true\nsegment = "g=*"\n',
    "empty-segment": '[[rule]]\nverdict = true\nsegment = ""\n',
    "no-significance": "[[rule]]\nverdict = true\nsignificance = 0\n",
    "negative-significance": "[[rule]]\nverdict = true\nsignificance = -1\n",
    "tiny-significance": "[[rule]]\nverdict = true\nsignificance = 1e-300\n",
    "tiniest-significance": "[[rule]]\nverdict = true\nsignificance = 5e-324\n",
    "small-significance": "[[rule]]\nverdict = true\nsignificance = 1e-12\n",
    "nan-significance": "[[rule]]\nverdict = true\nsignificance = nan\n",
    "text-significance": '[[rule]]\nverdict = true\nsignificance = "0.05"\n',
    "sure-significance": "[[rule]]\nverdict = true\nsignificance = 1\n",
    "all-tolerance": "[[rule]]\nverdict = true\ntolerance = 1\n",
    "nearly-all-tolerance": "[[rule]]\nverdict = true\ntolerance = 0.999\n",
    "percent-tolerance": '[[rule]]\nverdict = true\ntolerance = "10000%"\n',
    "nan-tolerance": "[[rule]]\nverdict = true\ntolerance = nan\n",
    "negative-tolerance": "[[rule]]\nverdict = true\ntolerance = -0.1\n",
    "true-tolerance": "[[rule]]\nverdict = true\ntolerance = true\n",
    "text-tolerance": '[[rule]]\nverdict = true\ntolerance = "all"\n',
    "many-rows": "[[rule]]\nverdict = true\nmin_rows = 1000000\n",
    "many-rows-allowed": "[[rule]]\nverdict = true\nmin_rows = 1000000\nallow_inconclusive = true\n",
    "negative-rows": "[[rule]]\nverdict = true\nmin_rows = -1\n",
    "text-rows": '[[rule]]\nverdict = true\nmin_rows = "1"\n',
    "half-rows": "[[rule]]\nverdict = true\nmin_rows = 0.5\n",
    "allowed": "[[rule]]\nverdict = true\nallow_inconclusive = true\n",
    "allowed-by-text": '[[rule]]\nverdict = true\nallow_inconclusive = "true"\n',
    "allowed-by-one": "[[rule]]\nverdict = true\nallow_inconclusive = 1\n",
    "region-of-nothing": "[[rule]]\nverdict = true\nthreshold = 0.9\n",
    "region-of-nothing-allowed": "[[rule]]\nverdict = true\nthreshold = 0.9\nallow_inconclusive = true\n",
    "region-beyond": "[[rule]]\nverdict = true\nthreshold = 2\n",
    "region-nan": "[[rule]]\nverdict = true\nthreshold = nan\n",
    "top-of-nothing": "[[rule]]\nverdict = true\ntop = 0\n",
    "top-of-one": "[[rule]]\nverdict = true\ntop = 1\n",
    "top-negative": "[[rule]]\nverdict = true\ntop = -1\n",
    "top-true": "[[rule]]\nverdict = true\ntop = true\n",
    "both-regions": "[[rule]]\nverdict = true\ntop = 100\nthreshold = 0.1\n",
    "classes": '[[rule]]\nverdict = true\nmulticlass = "classwise"\n',
    "no-classes": '[[rule]]\nverdict = true\nmulticlass = "none"\n',
    "second-fails": f"[[rule]]\nmax_dropped = 0.5\n{PASSING}",
    "first-fails": f"{PASSING}[[rule]]\nmax_dropped = 0.5\n",
    "twice": PASSING * 2,
    "key-twice": "[[rule]]\nverdict = true\nverdict = true\n",
    "table-twice": "[data]\nnegative_rate = 1\n[data]\nnegative_rate = 0.1\n[[rule]]\nverdict = true\n",
    "no-toml": "verdict: true\n",
    "json": '{"rule": [{"verdict": true}]}\n',
    "zero-byte": "[[rule]]\nverdict = true\x00\n",
    "old-mac": "[[rule]]\rverdict = true\r",
    "data-misspelt": f"[data]\nnegative_rat = 0.1\n{PASSING}",
    "data-text": f'[data]\nnegative_rate = "0.1"\n{PASSING}',
    "data-list": f"[[data]]\nnegative_rate = 0.1\n{PASSING}",
    "data-zero": f"[data]\nnegative_rate = 0\n{PASSING}",
    "data-beyond": f"[data]\npositive_rate = 3\n{PASSING}",
    "data-nan": f"[data]\nnegative_rate = nan\n{PASSING}",
    "data-noise-of-all": f"[data]\nlabel_noise = [0.5, 0.5]\n{PASSING}",
    "data-noise-of-one": f"[data]\nlabel_noise = [0.5]\n{PASSING}",
    "data-noise-swapped": f"[data]\nlabel_noise = [1.0, 1.0]\n{PASSING}",
    "data-cluster-missing": f'[data]\ncluster = "nope"\n{PASSING}',
    "data-cluster-empty": f'[data]\ncluster = ""\n{PASSING}',
    "data-scale": f'[data]\nscore_scale = "prob"\n{PASSING}',
    "data-percent": f'[data]\nscore_scale = "percent"\n{PASSING}',
    "data-logit": f'[data]\nscore_scale = "logit"\n{PASSING}',
    "slope-everything": '[[rule]]\nmetric = "slope"\nmax_value = 700\n',
    "intercept-everything": '[[rule]]\nmetric = "intercept"\nmax_value = 700\n',
    "log-loss-everything": '[[rule]]\nmetric = "log_loss"\nmax_value = 700\n',
    "brier-everything": '[[rule]]\nmetric = "brier"\nmax_value = 1\n',
}  # fmt: skip
OPTIONS = {
    "significance-zero": ("--significance", "0"),
    "significance-tiny": ("--significance", "1e-300"),
    "significance-tiniest": ("--significance", "5e-324"),
    "significance-nan": ("--significance", "nan"),
    "significance-negative": ("--significance", "-0.01"),
    "significance-twice": ("--significance", "0.01", "--significance", "1e-9"),
    "tolerance-all": ("--tolerance", "1"),
    "tolerance-nearly-all": ("--tolerance", "0.999"),
    "tolerance-percent": ("--tolerance", "10000%"),
    "tolerance-nan": ("--tolerance", "nan"),
    "tolerance-empty": ("--tolerance", ""),
    "threshold-above": ("--threshold", "0.9"),
    "threshold-above-allowed": ("--threshold", "0.9", "--allow-inconclusive"),
    "threshold-nan": ("--threshold", "nan"),
    "top-zero": ("--top", "0"),
    "top-one": ("--top", "1"),
    "top-one-allowed": ("--top", "1", "--allow-inconclusive", "--min-rows", "100"),
    "min-rows": ("--min-rows", "1000000"),
    "min-rows-allowed": ("--min-rows", "1000000", "--allow-inconclusive"),
    "allowed": ("--allow-inconclusive",),
    "max-value-all": ("--max-value", "100"),
    "max-value-nan": ("--max-value", "nan"),
    "max-value-infinite": ("--max-value", "inf"),
    "max-value-gap": ("--max-value", "ece=1"),
    "max-value-percent": ("--max-value", "ece=15"),
    "max-value-no-metric": ("--max-value", "nope=1"),
    "max-value-empty": ("--max-value", ""),
    "max-value-no-number": ("--max-value", "ece="),
    "min-value-wrong-side": ("--min-value", "15"),
    "min-p-value-zero": ("--min-p-value", "0"),
    "min-p-value-tiny": ("--min-p-value", "ltce=1e-300"),
    "min-p-value-no-draws": ("--min-p-value", "ltce=0.01", "--null-draws", "0"),
    "min-p-value-one-draw": ("--min-p-value", "ltce=0.01", "--null-draws", "1"),
    "max-upper-no-draws": ("--max-upper", "ece=0.1", "--resamples", "0"),
    "max-upper-one-draw": ("--max-upper", "ece=0.1", "--resamples", "1"),
    "max-excess-no-draws": ("--max-excess", "ece=0.1", "--null-draws", "0"),
    "max-dropped-all": ("--max-dropped", "1"),
    "max-dropped-nan": ("--max-dropped", "nan"),
    "non-inferior-alone": ("--non-inferior", "log_loss=0.1"),
    "labels-noise-of-all": ("--label-noise", "0.5,0.5"),
    "labels-noise-swapped": ("--label-noise", "1,1"),
    "negative-rate-zero": ("--negative-rate", "0"),
    "negative-rate-nan": ("--negative-rate", "nan"),
    "positive-rate-beyond": ("--positive-rate", "3"),
    "label-delay-none": ("--label-delay", "nope"),
    "label-delay-of-label": ("--label-delay", "y"),
    "classes-of-one": ("--multiclass", "classwise"),
    "labels-of-others": ("--labels", "a,b"),
    "map-empty": ("--map", ""),
    "map-missing": ("--map", "nope.json"),
    "rules-missing": ("--rules", "nope.toml"),
    "rules-empty": ("--rules", ""),
    "rules-folder": ("--rules", "."),
    "rules-are-data": ("--rules", "d.csv"),
    "help-behind": ("--halp",),
    "abbreviation": ("--signif", "1e-300"),
    "grid-coarse": ("--grid", "2"),
    "grid-finest": ("--grid", "26"),
    "grid-none": ("--grid", "0"),
    "limit-zero": ("--limit", "0"),
    "memory-zero": ("--memory", "0"),
    "memory-small": ("--memory", "1"),
    "threads-none": ("--threads", "0"),
    "seed-text": ("--seed", "x"),
    "output-is-data": ("-o", "d.csv"),
    "junit-is-data": ("--junit", "d.csv"),
    "output-folder": ("-o", "."),
    "output-nowhere": ("-o", "nope/out.txt"),
    "same-outputs": ("--junit", "a.xml", "--markdown", "a.xml"),
    "json-and-csv": ("--json", "--csv"),
    "score-misspelt": ("-p", "q"),
    "another-file": ("--", "nope.csv"),
    "dash-file": ("--", "--allow-inconclusive"),
}  # fmt: skip


def list_rules():
    for name, text in RULES.items():
        yield Attack(f"rules-{name}", with_text("r.toml", text), ("d.csv", *COMMON, "--rules", "r.toml"))
    for encoding in ("utf-16", "latin-1"):
        write = with_text("r.toml", f"# é\n{PASSING}", encoding)
        yield Attack(f"rules-in-{encoding}", write, ("d.csv", *COMMON, "--rules", "r.toml"))
    lax = with_text("lax.toml", "[[rule]]\nmax_dropped = 0.5\n")
    strict = with_text("strict.toml", PASSING)
    both = ("d.csv", *COMMON, "--rules", "strict.toml", "--rules", "lax.toml")
    yield Attack("rules-two-files", all_of(strict, lax), both)
    for name, words in OPTIONS.items():
        yield Attack(f"option-{name}", data, ("d.csv", *COMMON, *words))
        if name.startswith(("significance", "tolerance", "min-rows", "allowed", "threshold", "top")):
            yield Attack(f"beside-rules-{name}", strict, ("d.csv", *COMMON, "--rules", "strict.toml", *words))


# ---- saved results, tallies, maps ----------------------------------------------------------------------------------


def saved(*words):
    """What a command writes in a folder of its own rows."""
    from command import run

    def write(folder):
        done = run(*words, cwd=folder)
        assert done.returncode == 0, done.stderr

    return write


def edited(name, change):
    def write(folder):
        raw = json.loads((folder / name).read_text())
        changed = change(raw)
        (folder / name).write_text(json.dumps(raw if changed is None else changed))

    return write


def set_in(*keys):
    *path, last, value = keys

    def change(raw):
        for key in path:
            raw = raw[key]
        raw[last] = value

    return change


def list_saved():
    result = all_of(
        data, saved("evaluate", "d.csv", *COMMON, "--metrics", "log_loss", "--resamples", "400", "-o", "old.json")
    )
    yield Attack("result-as-data", result, ("old.json",))
    yield Attack("result-as-data-by-name", result, ("old.json", *COMMON))
    against = ("d.csv", *COMMON, "--baseline", "old.json", "--max-worse", "log_loss=0", "--significance", "0.05")
    own = ("d.csv", *COMMON, "--baseline", "old.json", "--non-inferior", "log_loss=0")
    yield Attack("baseline-of-the-same-rows", result, own)
    edits = {
        "type": set_in("truecal", "type", "Verdict"),
        "format": set_in("truecal", "format", 99),
        "no-intervals": set_in("intervals", {}),
        "value-nan": set_in("values", "log_loss", float("nan")),
        "value-infinite": set_in("values", "log_loss", float("inf")),
        "value-text": set_in("values", "log_loss", "9"),
        "low-above-high": set_in("intervals", "log_loss", "low", 99.0),
        "confidence-beyond": set_in("intervals", "log_loss", "confidence", 1.0),
        "confidence-nothing": set_in("intervals", "log_loss", "confidence", 0.0),
        "few-draws": set_in("intervals", "log_loss", "resamples", 1),
        "list": lambda raw: [raw],
        "empty": lambda raw: {},
    }
    for name, change in edits.items():
        yield Attack(f"result-edited-{name}", all_of(result, edited("old.json", change)), against)
    tally = all_of(data, saved("tally", "d.csv", *COMMON, "-o", "t.parquet"))
    good = all_of(
        with_columns(("y", "p"), CALIBRATED, P, name="g.csv"), saved("tally", "g.csv", *COMMON, "-o", "g.parquet")
    )
    yield Attack("tally", tally, ("t.parquet",))
    yield Attack("tallies-of-two", all_of(tally, good), ("g.parquet", "t.parquet"))
    yield Attack("tally-twice", all_of(good), ("g.parquet", "g.parquet"))
    yield Attack("tally-and-rows", all_of(tally, good), ("g.parquet", "d.csv"))
    yield Attack("rows-and-tally", all_of(tally, good), ("d.csv", "g.parquet"))
    merged = all_of(tally, good, saved("merge", "g.parquet", "t.parquet", "-o", "m.parquet"))
    yield Attack("merged", merged, ("m.parquet",))
    for name, words in {
        "other-label": ("-y", "z"),
        "other-score": ("-p", "q"),
        "rate": ("--negative-rate", "0.2"),
        "noise": ("--label-noise", "0.2,0.1"),
        "percent": ("--percent",),
        "count": ("--count", "w"),
        "by": ("--by", "g", "--segment", "*"),
        "positive": ("--pos-label", "0"),
        "cluster": ("--cluster", "c"),
        "classes": ("--multiclass", "classwise"),
        "dropping": ("--drop-missing",),
    }.items():
        yield Attack(f"tally-{name}", good, ("g.parquet", *words))
    for name, text in {
        "sampling": "[data]\nnegative_rate = 0.2\n",
        "noise": "[data]\nlabel_noise = [0.1, 0.1]\n",
        "cluster": '[data]\ncluster = "c"\n',
    }.items():
        rules = with_text("r.toml", text + PASSING)
        yield Attack(f"tally-rules-{name}", all_of(good, rules), ("g.parquet", "--rules", "r.toml"))
    explained = all_of(data, saved("tally", "d.csv", *COMMON, "--negative-rate", "0.11", "-o", "s.parquet"))
    plain = with_text("r.toml", f"[data]\nnegative_rate = 1\n{PASSING}")
    yield Attack("tally-explained-against-rules", all_of(explained, plain), ("s.parquet", "--rules", "r.toml"))

    def flip(folder):
        raw = bytearray((folder / "t.parquet").read_bytes())
        raw[len(raw) // 3] ^= 1
        (folder / "t.parquet").write_bytes(raw)

    yield Attack("tally-flipped", all_of(tally, flip), ("t.parquet",))

    def shorten(folder):
        raw = (folder / "t.parquet").read_bytes()
        (folder / "t.parquet").write_bytes(raw[:-20])

    yield Attack("tally-shortened", all_of(tally, shorten), ("t.parquet",))


def write_fit(folder):
    """Rows of a world where the model is right, to which a map was fitted, and rows where it is not."""
    rng = np.random.default_rng(7)
    p = np.round(rng.beta(2, 5, 6000), 4)
    y = (rng.random(6000) < p).astype(int)
    write_table(folder / "fit.csv", ("y", "p", "g"), (y, p, np.arange(6000) % 2))
    data(folder)


def list_maps():
    plain = all_of(write_fit, saved("recalibrate", "fit.csv", *COMMON, "-o", "m.json"))
    by = all_of(write_fit, saved("recalibrate", "fit.csv", *COMMON, "--by", "g", "-o", "m.json"))
    words = ("d.csv", *COMMON, "--map", "m.json")
    own = all_of(write_fit, saved("recalibrate", "fit.csv", *COMMON, "-o", "m.json"))
    yield Attack("map-of-other-rows", plain, words)
    yield Attack("map-of-the-same-rows", own, ("fit.csv", *words[1:]))
    yield Attack("map-of-missing-segments", by, words)
    yield Attack("map-and-baseline", plain, (*words, "--baseline", "p"))
    yield Attack("map-twice", plain, (*words, "--map", "m.json"))
    yield Attack("map-allowed", plain, (*words, "--allow-inconclusive"))
    for name, change in {
        "type": set_in("truecal", "type", "Result"),
        "format": set_in("truecal", "format", 99),
        "list": lambda raw: [],
        "empty": lambda raw: {},
        "no-map": lambda raw: {key: value for key, value in raw.items() if key != "map"},
        "slope-nan": set_in("map", "low", float("nan")),
        "kind": set_in("map", "kind", "magic"),
    }.items():
        yield Attack(f"map-edited-{name}", all_of(plain, edited("m.json", change)), words)
    yield Attack("map-is-data", data, ("d.csv", *COMMON, "--map", "d.csv"))
    yield Attack("map-is-rules", with_text("m.json", PASSING), words)
    yield Attack("map-is-empty", with_text("m.json", ""), words)
    yield Attack("map-twice-in-file", with_text("m.json", '{"map": 1, "map": 2}'), words)


# ---- surroundings --------------------------------------------------------------------------------------------------


def list_surroundings():
    words = ("d.csv", *COMMON)
    for name, value in {
        "PYTHONUNBUFFERED": "1",
        "NO_COLOR": "1",
        "GITHUB_ACTIONS": "true",
        "LC_ALL": "C",
        "LANG": "tr_TR.UTF-8",
        "PYTHONIOENCODING": "ascii:strict",
        "PYTHONOPTIMIZE": "2",
        "PYTHONWARNINGS": "ignore",
        "TRUECAL_DEBUG": "1",
        "TZ": "Pacific/Kiritimati",
        "POLARS_MAX_THREADS": "1",
        "TERM": "dumb",
        "COLUMNS": "1",
    }.items():
        yield Attack(f"environment-{name}", data, words, ((name, value),))
    summary = (("GITHUB_ACTIONS", "true"), ("GITHUB_STEP_SUMMARY", "nowhere/summary.md"))
    good = with_columns(("y", "p"), CALIBRATED, P)
    yield Attack("summary-nowhere", good, words, summary)
    hostile = "y\n::stop-commands::x"
    write = with_columns((f'"{hostile}"', "p"), Y, P)
    yield Attack("hostile-name", write, ("d.csv", "-y", hostile, "-p", "p"), (("GITHUB_ACTIONS", "true"),))
    for word in ("-o", "--junit", "--markdown"):
        yield Attack(f"full-disk{word}", good, (*words, word, "/dev/full"))


def list_classes():
    """Three classes: the labels are those of the first two, which the model takes for each other."""
    p, names = np.array([[0.7, 0.2, 0.1], [0.2, 0.7, 0.1], [0.1, 0.2, 0.7]]), np.array(["a", "b", "c"])
    said = np.arange(N) % 3
    true = np.where(np.arange(N) // 3 % 10 < 4, said, (said + 1) % 3)  # 40% of the most probable are right, not 70%
    columns = [p[said, i] for i in range(3)]
    header, words = ("y", "a", "b", "c"), ("d.csv", "-y", "y", "-p", "a,b,c")
    write = with_columns(header, names[true], *columns)
    yield Attack("classes", write, words)
    yield Attack("classes-each", write, (*words, "--multiclass", "classwise"))
    yield Attack("classes-inferred", write, ("d.csv",))
    yield Attack("classes-one-column", write, ("d.csv", "-y", "y", "-p", "a"))
    yield Attack("classes-two-columns", write, ("d.csv", "-y", "y", "-p", "a,b"))
    yield Attack("classes-column-twice", write, ("d.csv", "-y", "y", "-p", "a,b,b"))
    yield Attack("classes-named-otherwise", write, (*words, "--labels", "b,c,d"))
    yield Attack("classes-named-twice", write, (*words, "--labels", "b,b,c"))
    yield Attack("classes-too-few-names", write, (*words, "--labels", "b,c"))
    yield Attack("classes-positive", write, (*words, "--pos-label", "a"))
    for word in ("", "A", "a ", "d", "NA", "0"):
        hidden = np.where(true != said, word, names[true])
        write = with_columns(header, hidden, *columns)
        yield Attack(f"classes-label-{word!a}", write, words)
        yield Attack(f"classes-dropped-{word!a}", write, (*words, *LIMITED))
    for name, factor in (("double", 2.0), ("half", 0.5), ("negative", -1.0), ("zero", 0.0)):
        write = with_columns(header, names[true], *(factor * column for column in columns))
        yield Attack(f"classes-sum-{name}", write, words)


GROUPS = {
    "classes": list_classes,
    "labels": list_labels,
    "scores": list_scores,
    "files": list_files,
    "headers": list_headers,
    "json": list_json,
    "columnar": list_columnar,
    "segments": list_segments,
    "baselines": list_baselines,
    "rules": list_rules,
    "saved": list_saved,
    "maps": list_maps,
    "surroundings": list_surroundings,
}


def list_attacks(group):
    return [pytest.param(attack, id=attack.name, marks=attack.marks) for attack in GROUPS[group]()]


# ---- Python --------------------------------------------------------------------------------------------------------


def list_calls(truecal, need):
    """Calls of the library, by name: each must raise an error, or give a decision that is false."""
    pl, pd, pa, nw = (need(name) for name in ("polars", "pandas", "pyarrow", "narwhals"))
    read, check, rule = truecal.read, truecal.check, truecal.Rule
    columns = {"label": "y", "score": "p"}
    y, p = Y.tolist(), P.tolist()
    masked = np.ma.array(Y, mask=HIDDEN)
    whole = read({"y": Y, "p": P}, **columns)
    right = read({"y": CALIBRATED, "p": P}, **columns)
    segments = read({"y": np.where(GROUP == 3, Y, CALIBRATED), "p": P, "g": GROUP}, **columns, by="g")

    class Lying(np.ndarray):
        """An array that shows other values to those who ask by its methods."""

        def __array_wrap__(self, array, *_):
            return array

        def sum(self, *_, **__):
            return 0

        def tolist(self):
            return CALIBRATED.tolist()

    class AlwaysTrue(float):
        def __le__(self, other):
            return True

        def __lt__(self, other):
            return True

    engines = {
        "mapping": lambda labels: {"y": labels, "p": P},
        "polars": lambda labels: pl.DataFrame({"y": labels, "p": P}, strict=False),
        "polars-lazy": lambda labels: pl.LazyFrame({"y": labels, "p": P}, strict=False),
        "pandas": lambda labels: pd.DataFrame({"y": labels, "p": P}),
        "pandas-objects": lambda labels: pd.DataFrame({"y": pd.Series(labels, dtype=object), "p": P}),
        "pyarrow": lambda labels: pa.table({"y": pa.array(labels), "p": P}),
        "narwhals": lambda labels: nw.from_native(pd.DataFrame({"y": labels, "p": P})),
    }
    for engine, make in engines.items():
        yield f"{engine}-plain", lambda make=make: check(read(make(y), **columns))
        for name, hidden in (("none", None), ("nan", math.nan), ("two", 2), ("half", 0.5)):
            labels = [hidden if h else v for h, v in zip(HIDDEN, y, strict=True)]
            yield f"{engine}-{name}", lambda make=make, labels=labels: check(read(make(labels), **columns))
        words = hide("Yes").tolist()
        yield f"{engine}-words", lambda make=make, words=words: check(read(make(words), **columns, pos_label="yes"))
    dropped = [rule("verdict"), rule("dropped", 0.01)]
    yield "masked-labels", lambda: check(read({"y": masked, "p": P}, **columns))
    yield "masked-labels-dropped", lambda: check(read({"y": masked, "p": P}, **columns, missing="drop"), dropped)
    scores = np.ma.array(P, mask=HIDDEN)
    yield "masked-scores", lambda: check(read({"y": Y, "p": scores}, **columns))
    yield "masked-scores-dropped", lambda: check(read({"y": Y, "p": scores}, **columns, missing="drop"), dropped)
    weights = {"y": Y, "p": P, "w": np.ma.array(np.ones(N, int), mask=HIDDEN)}
    yield "masked-counts", lambda: check(read(weights, **columns, count="w"))
    yield "masked-tally", lambda: judge_tally(truecal, masked, P)
    yield "masked-scores-tally", lambda: judge_tally(truecal, Y, scores)
    yield "masked-weights-tally", lambda: judge_tally(truecal, Y, P, weights["w"])
    yield "objects", lambda: check(read({"y": np.array(y, object), "p": np.array(p, object)}, **columns))
    yield "mixed-objects", lambda: check(read({"y": np.array([*y[:-2], "1", None], object), "p": P}, **columns))
    yield "lying-array", lambda: check(read({"y": Y.view(Lying), "p": P}, **columns))
    yield "generator", lambda: check(read({"y": (v for v in y), "p": p}, **columns))
    yield "generators", lambda: check(read({"y": iter(y), "p": iter(p)}, **columns))
    yield "matrix", lambda: check(read({"y": Y[:, None], "p": P[:, None]}, **columns))
    yield "shorter-labels", lambda: check(read({"y": CALIBRATED[:-1], "p": P}, **columns))
    yield "scalar-labels", lambda: check(read({"y": 1, "p": P}, **columns))
    yield "no-rows", lambda: check(read({"y": [], "p": []}, **columns))
    yield "one-row", lambda: check(read({"y": [1], "p": [0.5]}, **columns))
    yield "text-scores", lambda: check(read({"y": y, "p": [str(v) for v in p]}, **columns))
    yield "bool-scores", lambda: check(read({"y": y, "p": [v > 0.2 for v in p]}, **columns))
    yield "complex-scores", lambda: check(read({"y": Y, "p": P + 1j}, **columns))
    yield "reversed-view", lambda: check(read({"y": Y[::-1], "p": P[::-1]}, **columns))
    yield "big-endian", lambda: check(read({"y": Y.astype(">i4"), "p": P.astype(">f8")}, **columns))
    yield "records", lambda: check(read(np.rec.fromarrays([Y, P], names="y,p"), **columns))
    yield (
        "pandas-duplicates",
        lambda: check(read(pd.DataFrame(np.column_stack([Y, P, CALIBRATED]), columns=["y", "p", "y"]), **columns)),
    )
    yield (
        "pandas-index",
        lambda: check(
            read(pd.DataFrame({"y": pd.Series(Y, index=range(N)), "p": pd.Series(P, index=range(N, 2 * N))}), **columns)
        ),
    )
    yield "pandas-nullable", lambda: check(read(pd.DataFrame({"y": pd.array(Y, "Int64"), "p": P}), **columns))
    yield (
        "polars-decimal",
        lambda: check(read(pl.DataFrame({"y": y, "p": p}).cast({"p": pl.Decimal(10, 6)}), **columns)),
    )
    yield "data-is-path", lambda: check("data.csv")
    yield "data-is-arrays", lambda: check((Y, P))
    yield "data-is-frame", lambda: check(pl.DataFrame({"y": y, "p": p}))
    yield "data-is-empty", lambda: check({})
    yield "data-is-none", lambda: check(None)
    yield "data-beside", lambda: check({"right": right, "wrong": whole})
    yield "data-beside-none", lambda: check({"right": right, "wrong": None})
    yield "rules-none-given", lambda: check(whole, [])
    yield "rules-generator-of-none", lambda: check(whole, (r for r in ()))
    yield "rules-single", lambda: check(whole, rule("verdict"))
    yield "rules-text", lambda: check(whole, "[[rule]]\nverdict = true")
    yield "rules-strings", lambda: check(whole, ["verdict"])
    yield "rules-true", lambda: check(whole, True)
    yield "rules-classes", lambda: check(whole, [truecal.Rule])
    yield "rules-tables", lambda: check(whole, [{"verdict": True}])
    yield "rules-generator", lambda: check(whole, (r for r in [rule("verdict")]))
    yield "rules-other-model", lambda: check(whole, [rule("verdict", model="q")])
    yield "rules-other-segment", lambda: check(segments, [rule("verdict", segment="g=7")])
    yield "rules-segments", lambda: check(segments, [rule("verdict", segment="g=*")])
    yield "rules-own-limit", lambda: check(whole, [rule("value", AlwaysTrue(99.9))])
    yield "rules-numpy-nan", lambda: check(whole, [rule("value", np.float64("nan"))])
    yield "rules-masked-limit", lambda: check(whole, [rule("value", np.ma.masked)])
    yield "rules-array-limit", lambda: check(whole, [rule("value", np.array([5.0]))])
    yield "rules-masked-significance", lambda: check(whole, [rule("verdict", significance=np.ma.masked)])
    yield "significance-masked", lambda: check(whole, significance=np.ma.masked)
    yield "significance-tiny", lambda: check(whole, significance=1e-300)
    yield "significance-beside-rules", lambda: check(whole, [rule("verdict")], significance=1e-9)
    yield "tolerance-of-all", lambda: check(whole, tolerance=0.99)
    yield "tolerance-of-all-limit", lambda: check(whole, [rule("value", 15)], tolerance=0.99)
    yield "tolerance-masked", lambda: check(whole, tolerance=np.ma.masked)
    yield "threshold-of-none", lambda: check(whole, threshold=0.9)
    yield "top-of-none", lambda: check(whole, top=0)
    yield "own-option", lambda: check(whole, strict=False)
    yield "baseline-none", lambda: check(whole, [rule("worse", 0, metric="log_loss")])
    yield "baseline-text", lambda: check(whole, [rule("worse", 0, metric="log_loss")], baseline="nope.json")
    yield "baseline-observations", lambda: check(whole, [rule("worse", 0, metric="log_loss")], baseline=right)
    yield "recalibration-text", lambda: check(whole, recalibration="nope.json")
    yield "recalibration-object", lambda: check(whole, recalibration=object())
    yield "sum-with-right", lambda: check(whole + right)
    yield (
        "saved-decision",
        lambda: truecal.Decision.from_json(check(whole).to_json().replace('"status": "fail"', '"status": "pass"', 1)),
    )


def judge_tally(truecal, y, p, weight=None):
    """The decision on rows that were counted by hand."""
    tally = truecal.Tally.from_arrays(y, p, weight)
    return truecal.evaluate(tally, ["ltce"]).verdict.status == "consistent"
