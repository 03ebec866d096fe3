"""Result files: small CSVs under study/results, written to a temporary name and moved into place."""

from __future__ import annotations

import csv
import os
from pathlib import Path

FOLDER = Path(__file__).parent / "results"


def write_rows(name: str, rows: list[dict[str, object]]) -> None:
    FOLDER.mkdir(exist_ok=True)
    target = FOLDER / f"{name}.csv"
    temporary = target.with_suffix(f".{os.getpid()}.tmp")
    with temporary.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        for row in rows:
            writer.writerow({key: f"{value:.6g}" if isinstance(value, float) else value for key, value in row.items()})
    temporary.replace(target)


def read_rows(name: str) -> list[dict[str, str]]:
    with (FOLDER / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


def has_rows(name: str) -> bool:
    return (FOLDER / f"{name}.csv").exists()
