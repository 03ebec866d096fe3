"""Parts of the rows add up to the whole: in memory, in files, by commands, in any order and any number."""

import numpy as np
import pytest
from command import run
from drawn import draw, share, to_words
from formats import write
from observed import identical

import truecal
from truecal import Observations

# a part of few rows may have equal counts
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:Every row has the count")]
# of files, without those whose times are text
KINDS = ["csv", "csv.gz", "csv.zst", "semicolons.csv", "tsv", "parquet", "arrow", "feather", "npz"]


def draw_parts(seed, **options):
    """Rows, and the parts of them; each has rows, for data without any are refused."""
    rng, rows = np.random.default_rng(seed), draw(seed, **options)
    if "n" in rows.columns:
        rows = rows.set(n=rows.columns["n"] + 1)
    return rng, rows, rows.split(rng)


def write_shards(rng, parts, folder, need):
    """Write each part to a file, all of one format."""
    kind, pl = rng.choice(KINDS), need("polars")
    paths = [folder / f"{number}.{kind}" for number in range(len(parts))]
    for path, part in zip(paths, parts, strict=True):
        write(pl.DataFrame(part.wide.columns), path, kind)
    return paths


def check(code_and_output):
    assert code_and_output.returncode == 0, code_and_output.stderr


@share(0.08)
def test_parts_add_up_to_the_whole(seed):
    rng, rows, parts = draw_parts(seed)
    whole, left = rows.read(), [part.read() for part in parts]
    assert identical(sum(left), whole)
    while len(left) > 1:
        first, second = (left.pop(rng.integers(len(left))) for _ in range(2))
        left.append(first + second)
    assert identical(left[0], whole)
    assert truecal.evaluate(left[0]) == truecal.evaluate(whole)


@share(0.03)
def test_saved_parts_add_up_to_the_whole(seed, tmp_path):
    rng, rows, parts = draw_parts(seed)
    paths = [part.read().save(tmp_path / f"{number}.parquet") for number, part in enumerate(parts)]
    whole = rows.read()
    assert identical(sum(Observations.load(paths[i]) for i in rng.permutation(len(paths))), whole)
    assert identical(truecal.read([paths[i] for i in rng.permutation(len(paths))]), whole)
    assert identical(truecal.read(tmp_path), whole)


@share(0.03)
def test_shards_of_files_are_read_as_the_whole(seed, tmp_path, need):
    rng, rows, parts = draw_parts(seed)
    paths = write_shards(rng, parts, tmp_path, need)
    whole = rows.read()
    assert identical(rows.read([paths[i] for i in rng.permutation(len(paths))]), whole)
    assert identical(rows.read(tmp_path), whole)
    assert identical(rows.read(str(tmp_path / "*")), whole)


@share(0.012)
def test_the_commands_tally_and_merge_add_up_to_the_whole(seed, tmp_path, need):
    rng, rows, parts = draw_parts(seed)
    (tmp_path / "rows").mkdir()
    (tmp_path / "days").mkdir()
    paths = write_shards(rng, parts, tmp_path / "rows", need)
    for number, path in enumerate(paths):
        check(run("tally", path, *to_words(rows.options), "-o", tmp_path / "days" / f"{number}.parquet"))
    check(run("merge", tmp_path / "days", "-o", tmp_path / "sum.parquet"))
    check(run("tally", *paths, *to_words(rows.options), "-o", tmp_path / "whole.parquet"))
    whole = rows.read()
    for name in ("sum", "whole"):
        assert identical(Observations.load(tmp_path / f"{name}.parquet"), whole)
