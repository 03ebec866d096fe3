"""Files of random text, read as pandas, Python's csv and DuckDB read them, or refused.

A case is a small file that is right, and then damaged: bytes are put in, taken out, doubled or swapped. `truecal.read`
must not crash, hang, or give an answer that is not that of Python's csv in its strict mode, or one that pandas and
DuckDB agree is another.

`make fuzz` tries 100,000 cases; TRUECAL_FUZZ=NUMBER and TRUECAL_FUZZ_SEED=NUMBER ask for others. The number of answers
and refusals is printed, and files that csv reads and we refuse (pytest -s).
"""

import csv
import io
import math
import os
import signal
from collections import Counter

import numpy as np
import pytest
from conftest import fewer
from csv_readers import ask_duckdb, ask_pandas, total

import truecal
from truecal.reading._csv import MISSING

SEED = int(os.environ.get("TRUECAL_FUZZ_SEED", "14"))
CASES = int(os.environ.get("TRUECAL_FUZZ", fewer(3000, 10)))
SECONDS = 90  # in which a case of a few hundred bytes must end, however busy the machine is
SEPARATORS = [",", ",", ",", ";", "\t", "|"]
ENDS = ["\n", "\n", "\r\n", "\r"]
TEXTS = [
    "a",
    "",
    "é",
    '5"',
    '"x"',
    '"a,b"',
    '"a\nb"',
    '""',
    "😀",
    " a",
    "a ",
    "#",
    "x" * 70,
    '"5"" pipe"',
    "=1+1",
    "NA",
]
SCORES = ["0.5", "0.25", "1", "0", "1e-3", " 0.5", "0.5 ", '"0.75"', "", "NA", "nan", ".5", "0.", "+0.5", "-0.0"]
LABELS = ["0", "1", "0", "1", "0", "1", "", '"1"', " 1", "1.0", "NULL"]
ODD = [b'"', b'""', b",", b";", b"\n", b"\r", b"\r\n", b"\n\n", b"\x00", b"\xff", b"\xc3", b" ", b"'", b"\\", b"0.9", b"1,",
       b"sep=;\n", b"\xef\xbb\xbf", b"1,0.5\n", b"\x1a", b"\t", b"#", b"inf", b"2", b"e", b"-", b"\xe2\x80\xa8"]  # fmt: skip


def make(rng):
    """A file, and the separator of its header."""
    separator, end = (str(rng.choice(signs)) for signs in (SEPARATORS, ENDS))
    plain = rng.random() < 0.5  # scores and labels without any that are missing or odd

    def row():
        label = rng.choice(["0", "1"] if plain else LABELS)
        score = f"{rng.random():.3g}" if plain or rng.random() < 0.6 else rng.choice(SCORES)
        return separator.join(map(str, (label, score, rng.choice(TEXTS).replace(",", separator))))

    lines = [separator.join("ypt"), *(row() for _ in range(rng.integers(1, 12)))]
    data = end.join(lines).encode() + (end.encode() if rng.random() < 0.9 else b"")
    for _ in range(rng.integers(0, 4)):
        data = damage(rng, data)
    return data, separator


def damage(rng, data):
    """Put something odd in, take a part out, double a part, or exchange two parts."""
    a, b = sorted(rng.integers(0, len(data) + 1, 2).tolist())
    how = rng.integers(0, 8)
    if how < 5:
        return data[:a] + ODD[rng.integers(len(ODD))] + data[a:]
    b = min(b, a + 20)
    return data[:a] + (b"", data[a:b] * 2, data[b : b + 9] + data[a:b])[how - 5] + data[b:]


def ask_strictly(data, separator):
    """What Python's csv finds if no row has another number of fields than the header, and quotes enclose fields."""
    text = data.decode("utf-8-sig").lstrip("\r\n").removeprefix("\ufeff")  # a mark may follow blank lines
    assert "\x00" not in text
    lines = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True) if row]
    head, rows = lines[0], lines[1:]
    assert {len(row) for row in rows} == {len(head)}
    assert head.count("y") == head.count("p") == 1
    words = {"", *MISSING}

    def read(name):
        found = (row[head.index(name)] for row in rows)
        return [math.nan if value.strip(" ") in words else value for value in found]

    return total(read("y"), read("p"))


def ask(function, *given):
    """An answer; None if there is none."""
    try:
        return function(*given)
    except Exception:  # each has its own kinds
        return None


def read(path):
    """What truecal finds; the message if it refuses."""
    try:
        found = truecal.read(path, label="y", score="p", missing="drop")
    except (ValueError, TypeError) as error:
        return str(error)
    tally = found.tally
    return tally.n_rows, tally.positives, float(np.dot(tally.score, tally.n)), found.row_counts.n_dropped


def agree(a, b):
    return (
        a is not None and b is not None and (*a[:2], a[3]) == (*b[:2], b[3]) and math.isclose(a[2], b[2], abs_tol=1e-9)
    )


@pytest.mark.slow
def test_random_files_are_read_as_others_read_them_or_refused(need, tmp_path):
    need("polars")
    rng, counts = np.random.default_rng(SEED), Counter()

    def hang(*_):
        raise AssertionError(f"no answer in {SECONDS} s")

    before = signal.signal(signal.SIGALRM, hang)
    try:
        for number in range(CASES):
            data, separator = make(rng)
            path = tmp_path / f"{number}.csv"
            path.write_bytes(data)
            signal.alarm(SECONDS)
            found = read(path)
            signal.alarm(0)
            strict = ask(ask_strictly, data, separator)
            counts["read" if isinstance(found, tuple) else "refused"] += 1
            if isinstance(found, tuple):
                others = [ask(oracle, path, separator) for oracle in (ask_pandas, ask_duckdb)]
                counts.update(
                    same for same, other in zip(("as pandas", "as DuckDB"), others, strict=True) if agree(found, other)
                )
                assert agree(found, strict), (SEED, number, data, found, strict, others)
                assert not agree(*others) or agree(found, others[0]), (SEED, number, data, found, others)
            elif strict is not None:
                counts["refused, though csv reads it"] += 1
                print(f"{number}: {data!r} is refused: {found}")
            path.unlink()
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    print(f"\nseed {SEED}: {CASES:,} files, {dict(counts)}")
    assert counts["read"] > CASES / 10
