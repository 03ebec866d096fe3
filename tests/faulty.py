"""Command lines that are run with a fault each, and what must hold afterwards."""

import gzip
import json
import os
import re
import zlib
from dataclasses import dataclass

import numpy as np
import polars as pl

import truecal

OLD = b"what was there before\n"
MISTAKE = re.compile(r"error: \S[^\n]*(\nHint: [^\n]+)?\n")  # one paragraph


@dataclass(frozen=True)
class Scene:
    """A command line, and the files that it writes."""

    words: tuple[str, ...]
    outputs: tuple[str, ...]


def _scenes():
    draws = ("--null-draws", "3", "--resamples", "3", "--threads", "1")
    few = ("--metrics", "ece", *draws)
    columns = ("-y", "y", "-p", "p")
    found = {}
    for name in ("data.csv", "data.parquet", "data.jsonl"):
        kind = name.partition(".")[2]
        every = ("--time", "day", "--every", "none" if kind == "jsonl" else "1d")
        found[f"score {kind}"] = Scene(("evaluate", name, *columns, *few, "-o", "out.json"), ("out.json",))
        found[f"check {kind}"] = Scene(
            ("check", name, *columns, *draws, "--rules", "rules.toml", "--junit", "out.xml", "-o", "out.json"),
            ("out.xml", "out.json"),
        )
        found[f"report {kind}"] = Scene(("report", name, *columns, *few, "-o", "out.html"), ("out.html",))
        found[f"tally {kind}"] = Scene(
            ("tally", name, *columns, "--by", "country", "-o", "out.parquet"), ("out.parquet",)
        )
        found[f"drift {kind}"] = Scene(
            ("drift", name, *columns, *every, "--plot", "out.png", "-o", "out.json"), ("out.png", "out.json")
        )
    found["recalibrate"] = Scene(("recalibrate", "data.csv", *columns, "--folds", "2", "-o", "out.json"), ("out.json",))
    found["apply"] = Scene(("apply", "map.json", "data.csv", "-p", "p", "-o", "out.csv"), ("out.csv",))
    found["slices"] = Scene(("slices", "data.csv", *columns, "-o", "out.json"), ("out.json",))
    found["watch"] = Scene(
        ("monitor", "data.csv", *columns, "--time", "day", "--now", "2026-02-01", "--state", "state.json"),
        ("state.json", "state.jsonl"),
    )
    for kind in ("exact", "grid", "windows"):
        found[f"merge {kind}"] = Scene(
            ("merge", f"{kind}1.parquet", f"{kind}2.parquet", "-o", "out.parquet"), ("out.parquet",)
        )
    # through temporary files: CSV that is copied, unpacked, and sorted on disk
    for name in ("odd.csv", "packed.csv.gz", "data.npz"):
        found[f"score {name}"] = Scene(("evaluate", name, *columns, *few, "-o", "out.json"), ("out.json",))
    found["score on disk"] = Scene(
        ("evaluate", "large.parquet", *columns, *few, "--memory", "100KB", "-o", "out.json"), ("out.json",)
    )
    return found


SCENES = _scenes()


def write_inputs(folder):
    """Write the files of all scenes: 600 rows of a calibrated model, and outputs of an earlier run."""
    rng = np.random.default_rng(14)
    p = rng.beta(2, 2, 600)
    columns = {
        "y": (rng.random(len(p)) < p).astype(np.int64),
        "p": p,
        "country": rng.choice(["de", "fr"], len(p)),
        "day": rng.choice(np.arange("2026-01-01", "2026-01-04", dtype="datetime64[D]"), len(p)),
    }
    frame = pl.DataFrame(columns)
    frame.write_csv(folder / "data.csv")
    frame.write_parquet(folder / "data.parquet")
    frame.with_columns(pl.col("day").cast(pl.String)).write_ndjson(folder / "data.jsonl")
    np.savez(folder / "data.npz", y=columns["y"], p=p)
    many = rng.random(20_000)
    pl.DataFrame({"y": rng.random(len(many)) < many, "p": many}).write_parquet(folder / "large.parquet")
    text = (folder / "data.csv").read_bytes()
    (folder / "packed.csv.gz").write_bytes(gzip.compress(text, mtime=0))
    (folder / "odd.csv").write_bytes(text.replace(b"de", b'd"e'))
    (folder / "rules.toml").write_text('[[rule]]\nmetric = "ece"\nmax_value = 0.5\n')
    for i, part in enumerate((frame[:400], frame[400:]), 1):
        for kind, options in {"exact": {}, "grid": {"grid": 8}, "windows": {"time": "day", "every": "1d"}}.items():
            limits = {"limits": truecal.reading.Limits(options.pop("grid"))} if "grid" in options else {}
            observations = truecal.read(part, label="y", score="p", by=["country"], **options, **limits)
            observations.save(folder / f"{kind}{i}.parquet")
    for name in ("out.json", "out.xml", "out.html", "out.png", "out.parquet", "out.csv", "state.jsonl"):
        (folder / name).write_bytes(OLD)
    (folder / "map.json").write_text(truecal.recalibrate(columns["y"], p, kind="offset", folds=0).to_json())
    truecal.Monitor(label_lag="0h").save(folder / "state.json")


def thin(turns):
    """Return at most about 40 of the turns of an allocation, of which there may be thousands."""
    return turns[:: max(len(turns) // 40, 1)]


def choose(cases, share, name):
    """Return some cases, spread evenly, others for each scene: about `share`, or as TRUECAL_FAULTS says, which may be
    a number or "all"."""
    asked = os.environ.get("TRUECAL_FAULTS", str(share))
    step = 1 if asked == "all" else max(len(cases) // int(asked), 1)
    return cases[zlib.crc32(name.encode()) % step :: step]


def note_outcome(how, name, call, code, wrong):
    """Add a line to the file that TRUECAL_FAULTS_LOG names, if any."""
    place = os.environ.get("TRUECAL_FAULTS_LOG")
    if place:
        with open(place, "a", encoding="utf-8") as file:
            file.write(json.dumps([how, name, call, code, wrong]) + "\n")


def take_stock(folder):
    """Return the bytes of all files in a folder and below, without the time that is written into a report or a log."""
    found = {str(place.relative_to(folder)): place.read_bytes() for place in folder.rglob("*") if place.is_file()}
    return {
        name: re.sub(rb"\d{4}-\d\d-\d\d( \d\d:\d\d UTC|T\d\d:\d\d:\d\d\+)", b"TIME", data)
        for name, data in found.items()
    }


def restore(folder, before, now):
    """Bring the files of a folder back to what they were."""
    for name in now.keys() - before.keys():
        (folder / name).unlink()
    for name, data in before.items():
        if now.get(name) != data:
            (folder / name).write_bytes(data)


def find_fault(scene, before, clean, after, code, err, wrong="this is a bug|Traceback|panicked"):
    """Say what is wrong after a run with a fault; "" if nothing is.

    `clean` has the files and the exit code of the run without one. The answer must be the right one, or an error that
    names a file or memory. With an error, the last output is the old one, and those before it are the old or the new one, whole.
    `wrong` must not be said.
    """
    files, usual = clean
    if code not in (usual, 2):
        return f"it ends with {code}"
    if after.keys() != before.keys():
        return f"it leaves {sorted(after.keys() ^ before.keys())}"
    if code == usual:
        return "the answer is another" if after != files else ""
    changed = {name for name in before if after[name] != before[name]}
    first = {f"work/{name}" for name in scene.outputs[:-1]}
    if any(after[name] != files[name] for name in changed) or not changed <= first:
        return f"it changes {sorted(changed)}"
    told = re.search(r"(?ms)^error: .*|\Z", err).group()
    named = any(word in told for word in (*scene.words[1:], "memory", "temporary"))
    if not MISTAKE.fullmatch(told) or not named or re.search(wrong, err):
        return f"it says {json.dumps(err[-600:])}"
    return ""
