"""Run the reproduction: all of it, or the experiments that are named."""

from __future__ import annotations

import argparse
import sys
import time
from importlib import import_module
from pathlib import Path

from reproduction.places import say
from reproduction.sources import Missing, Sources

EXPERIMENTS = (
    "gda_main",
    "gda_min_size",
    "gda_max_size",
    "gda_size_range",
    "gda_noise",
    "gda_significance",
    "gda_tests",
    "gda_sample_size",
    "gda_prevalence",
    "imagenet",
    "uci_stored",
    "uci_ties",
    "uci_models",
    "bins",
    "readings",
    "figures",
    "document",
)


def main(names: list[str] | None = None) -> int:
    """Run experiments in order; what a missing data set prevents is named, and the rest goes on."""
    parser = argparse.ArgumentParser(prog="python -m reproduction", description=__doc__)
    if names is None:
        parser.add_argument("names", nargs="*", metavar="experiment", help=f"any of: {', '.join(EXPERIMENTS)}")
    parser.add_argument("--data", type=Path, help="folder with the data; otherwise TRUECAL_DATA, then downloads")
    parser.add_argument("--offline", action="store_true", help="download nothing")
    chosen = parser.parse_args()
    names = names or chosen.names or list(EXPERIMENTS)
    unknown = [name for name in names if name not in EXPERIMENTS]
    if unknown:
        parser.error(f"no experiment is called {', '.join(unknown)}")
    if chosen.data is not None and not chosen.data.is_dir():
        parser.error(f"--data: {chosen.data} is not a folder")
    sources = Sources(chosen.data, download=not chosen.offline) if chosen.data else Sources(download=not chosen.offline)
    absent: dict[str, str] = {}
    for place, name in enumerate(names, 1):
        begin = time.perf_counter()
        say(f"[{place}/{len(names)}] {name}")
        try:
            import_module(f"reproduction.{name}").run(sources)
        except Missing as error:
            absent[error.name] = error.reason
        except KeyboardInterrupt:
            say("Stopped. Finished models are kept; the same command goes on from here.")
            return 130
        say(f"    {time.perf_counter() - begin:.1f} s")
    for name, reason in {**absent, **sources.missing}.items():
        say(f"missing: {name} ({reason})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
