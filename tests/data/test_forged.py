"""Files of tallies and saved results that were damaged, or forged so that their checksum fits, end in a ValueError."""

import random
import resource
import sys

import numpy as np
import pytest

import truecal
from truecal import Observations, Tally
from truecal.data import Cells, Reason, is_observations_file
from truecal.data import _parquet as parquet

pytestmark = pytest.mark.slow

SEED = 20261116
CASES = 3000  # of each kind; more with `python tests/data/test_forged.py 20000`


def originals():
    rng = np.random.default_rng(1)
    p = rng.beta(1, 3, 200).round(2)
    tally = Tally.from_arrays(rng.random(200) < p, p)
    grid = Cells.grid(tally, 6)
    yield Observations("y", "p", {(): tally})
    yield Observations(
        "y", "p", {("a", 1): tally, ("b", 2): tally}, ("g", "h"), dropped={("a", 1): {Reason("p", "null"): 3}}
    )
    yield Observations("y", "p", {("a",): grid, ("b",): grid}, ("g",), bits=6)


def mutate(data: bytes, draw: random.Random) -> bytes:
    """Change, insert, remove, repeat or swap a few bytes, more often in the footer, where the structure is."""
    found = bytearray(data)
    for _ in range(draw.choice((1, 1, 1, 2, 3, 8))):
        at = (
            draw.randrange(len(found)) if draw.random() < 0.5 else draw.randrange(max(len(found) - 2500, 0), len(found))
        )
        kind = draw.randrange(6)
        if kind == 0:
            found[at] ^= 1 << draw.randrange(8)
        elif kind == 1:
            found[at] = draw.choice((0, 1, 127, 128, 255, 34, 48, 57))
        elif kind == 2:
            found[at : at + draw.randrange(1, 9)] = b""
        elif kind == 3:
            found[at:at] = bytes(draw.randrange(256) for _ in range(draw.randrange(1, 9)))
        elif kind == 4:
            other = draw.randrange(len(found))
            found[at : at + 8] = found[other : other + 8]
        else:
            found[at : at + 4] = (0xFFFFFFF0).to_bytes(4, "little")
    return bytes(found)


def forge(data: bytes) -> bytes:
    """Give a file the checksum that it should have, and its two ends."""
    data = parquet.MAGIC + data[4:-4] + parquet.MAGIC
    start, digest = parquet._digest(data)
    return data[:start] + digest + data[start + len(digest) :]


def try_forged(folder, seed, cases):
    """How many forged files were read and how many refused; anything else is raised."""
    draw, path, counts = random.Random(seed), folder / "forged.parquet", {"read": 0, "refused": 0}
    files = [parquet._encode_observations(observations) for observations in originals()]
    for i in range(cases):
        path.write_bytes(forge(mutate(files[i % len(files)], draw)))
        try:
            is_observations_file(path)
            Observations.load(path)
            counts["read"] += 1
        except ValueError as error:
            if "forged.parquet" not in str(error):
                raise AssertionError(f"case {i} of seed {seed} is refused without its name: {error}") from error
            counts["refused"] += 1
        except BaseException as error:
            path.rename(folder / f"case{i}.parquet")
            raise AssertionError(f"case {i} of seed {seed}: {type(error).__name__}: {error}") from error
    return counts


def try_results(seed, cases):
    """The same for results in JSON, whose text is changed."""
    draw, counts = random.Random(seed), {"read": 0, "refused": 0}
    y, p = [0, 1, 1, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9]
    observations = Observations("y", "p", {("a",): Tally.from_arrays(y, p), ("b",): Tally.from_arrays(y, p)}, ("g",))
    texts = [
        truecal.evaluate(y, p, ["ltce", "tce", "ece", "slope"], null_draws=2, resamples=2, random_state=0).to_json(),
        truecal.segments(observations, "ece", null_draws=2, random_state=0).to_json(),
        truecal.check(observations, [truecal.Rule("verdict")]).to_json(),
    ]
    words = (
        "null",
        "0",
        "-1",
        "1e999",
        "[]",
        "{}",
        '""',
        "true",
        '{"type": "Uniform"}',
        '{"same_as": "x"}',
        "[[]]",
        "NaN",
    )
    for i in range(cases):
        text = texts[i % len(texts)]
        for _ in range(draw.choice((1, 1, 2, 4))):
            at = draw.randrange(len(text))
            if draw.random() < 0.6:  # a value for another
                ends = [text.find(mark, at + 1) for mark in ",]}"]
                begin, end = text.rfind(":", 0, at + 1) + 1, min((e for e in ends if e > 0), default=len(text))
                text = text[:begin] + draw.choice(words) + text[max(end, begin) :]
            else:
                text = text[:at] + draw.choice(("", '"', "9", "}", "\\", "\x00", "é")) + text[at + draw.randrange(4) :]
        try:
            truecal.results.from_json(text)
            counts["read"] += 1
        except (ValueError, TypeError):
            counts["refused"] += 1
        except BaseException as error:
            raise AssertionError(f"case {i} of seed {seed}: {type(error).__name__}: {error}; {text[:2000]}") from error
    return counts


def test_forged_files_are_read_or_refused(tmp_path, capfd, monkeypatch):
    pytest.importorskip("polars")
    monkeypatch.setenv("RUST_BACKTRACE", "0")  # of panics, which would be most of the time
    counts = try_forged(tmp_path, SEED, CASES)
    assert sum(counts.values()) == CASES
    assert counts["refused"] > CASES / 2


def test_changed_results_are_read_or_refused():
    counts = try_results(SEED, CASES)
    assert sum(counts.values()) == CASES
    assert counts["refused"] > CASES / 2


def test_a_lying_footer_asks_for_no_memory(tmp_path):
    path = tmp_path / "lie.parquet"
    path.write_bytes(b"PAR1" + bytes(100) + (2**32 - 1).to_bytes(4, "little") + b"PAR1")
    before = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + (1 << 30), before[1]))
    try:
        assert not is_observations_file(path)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def test_settings_nested_beyond_measure_are_refused(tmp_path):
    path = tmp_path / "deep.parquet"
    path.write_bytes(b"PAR1" + parquet.OPENING + b"[" * 200_000 + b"PAR1")
    with pytest.raises(ValueError, match=r"deep.parquet.*its settings cannot be read"):
        Observations.load(path)
    with pytest.raises(ValueError, match="must be the JSON of a truecal result"):
        truecal.results.from_json("[" * 200_000)


if __name__ == "__main__":
    import tempfile
    from pathlib import Path

    for seed in range(SEED, SEED + 1):
        with tempfile.TemporaryDirectory() as folder:
            print(seed, try_forged(Path(folder), seed, int(sys.argv[1])), try_results(seed, int(sys.argv[1])))
