"""truecal: how far a probabilistic classifier's predictions can be trusted.

The names below are imported when first used, so that `import truecal` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from truecal.api import ace as ace
    from truecal.api import compute as compute
    from truecal.api import ece as ece
    from truecal.api import mce as mce
    from truecal.api import rmsce as rmsce
    from truecal.api import tce as tce
    from truecal.binning import BinQuality as BinQuality
    from truecal.binning import BoundedIsotonic as BoundedIsotonic
    from truecal.binning import Edges as Edges
    from truecal.binning import Isotonic as Isotonic
    from truecal.binning import Partition as Partition
    from truecal.binning import Quantile as Quantile
    from truecal.binning import Uniform as Uniform
    from truecal.binning import measure_bins as measure_bins
    from truecal.bounds import bound as bound
    from truecal.cells import Cells as Cells
    from truecal.checks import check as check
    from truecal.comparators import Comparators as Comparators
    from truecal.comparators import compare_with as compare_with
    from truecal.comparisons import draw_binnings as draw_binnings
    from truecal.comparisons import draw_metrics as draw_metrics
    from truecal.comparisons import draw_models as draw_models
    from truecal.comparisons import draw_segments as draw_segments
    from truecal.decisions import Absolute as Absolute
    from truecal.decisions import Relative as Relative
    from truecal.display import TestBasedReliabilityDisplay as TestBasedReliabilityDisplay
    from truecal.drift_pictures import draw_drift as draw_drift
    from truecal.drift_table import DriftTable as DriftTable
    from truecal.evaluation import compare as compare
    from truecal.evaluation import evaluate as evaluate
    from truecal.evaluation import evaluate_classes as evaluate_classes
    from truecal.figures import draw_interactive as draw_interactive
    from truecal.files import scan as scan
    from truecal.gate import judge as judge
    from truecal.gridded import evaluate_cells as evaluate_cells
    from truecal.guessing import Guess as Guess
    from truecal.guessing import UnclearColumns as UnclearColumns
    from truecal.guessing import guess_columns as guess_columns
    from truecal.guessing import guess_time as guess_time
    from truecal.hypotheses import BayesFactor as BayesFactor
    from truecal.hypotheses import Binomial as Binomial
    from truecal.hypotheses import BinomialMidP as BinomialMidP
    from truecal.hypotheses import LikelihoodRatio as LikelihoodRatio
    from truecal.hypotheses import Score as Score
    from truecal.hypotheses import StudentT as StudentT
    from truecal.inference import Difference as Difference
    from truecal.inference import Interval as Interval
    from truecal.inference import Reference as Reference
    from truecal.inference import find_intervals as find_intervals
    from truecal.inference import refer as refer
    from truecal.ingest import summarize as summarize
    from truecal.ingest import tally_frame as tally_frame
    from truecal.ingest import tally_segments as tally_segments
    from truecal.metrics import NAMED_METRICS as NAMED_METRICS
    from truecal.metrics import Gap as Gap
    from truecal.metrics import Max as Max
    from truecal.metrics import Mean as Mean
    from truecal.metrics import Metric as Metric
    from truecal.metrics import Power as Power
    from truecal.metrics import Rejection as Rejection
    from truecal.plots import draw_errors as draw_errors
    from truecal.plots import draw_reliability as draw_reliability
    from truecal.plots import draw_test_based as draw_test_based
    from truecal.power import Plan as Plan
    from truecal.power import detect as detect
    from truecal.power import plan as plan
    from truecal.query import Scale as Scale
    from truecal.reports import report as report
    from truecal.result import MulticlassResult as MulticlassResult
    from truecal.result import Result as Result
    from truecal.rules import Rule as Rule
    from truecal.rules import read_rules as read_rules
    from truecal.scoring import CalibrationScorer as CalibrationScorer
    from truecal.scoring import ace_scorer as ace_scorer
    from truecal.scoring import ece_scorer as ece_scorer
    from truecal.scoring import mce_scorer as mce_scorer
    from truecal.scoring import rmsce_scorer as rmsce_scorer
    from truecal.scoring import tce_scorer as tce_scorer
    from truecal.segments import SegmentTable as SegmentTable
    from truecal.segments import judge_segments as judge_segments
    from truecal.summaries import Summary as Summary
    from truecal.summary_files import is_summary as is_summary
    from truecal.summary_files import merge_summaries as merge_summaries
    from truecal.summary_files import read_summary as read_summary
    from truecal.summary_files import write_summary as write_summary
    from truecal.table import BinTable as BinTable
    from truecal.tallied import evaluate_tally as evaluate_tally
    from truecal.tally import Tally as Tally
    from truecal.verdict import Finding as Finding
    from truecal.verdict import Verdict as Verdict
    from truecal.windows import drift as drift
    from truecal.windows import judge_windows as judge_windows

__version__ = "0.1.0"

_WHERE = {
    "api": "ace compute ece mce rmsce tce",
    "binning": "BinQuality BoundedIsotonic Edges Isotonic Partition Quantile Uniform measure_bins",
    "bounds": "bound",
    "cells": "Cells",
    "checks": "check",
    "comparators": "Comparators compare_with",
    "comparisons": "draw_binnings draw_metrics draw_models draw_segments",
    "decisions": "Absolute Relative",
    "display": "TestBasedReliabilityDisplay",
    "drift_pictures": "draw_drift",
    "drift_table": "DriftTable",
    "evaluation": "compare evaluate evaluate_classes",
    "figures": "draw_interactive",
    "files": "scan",
    "gate": "judge",
    "gridded": "evaluate_cells",
    "guessing": "Guess UnclearColumns guess_columns guess_time",
    "hypotheses": "BayesFactor Binomial BinomialMidP LikelihoodRatio Score StudentT",
    "inference": "Difference Interval Reference find_intervals refer",
    "ingest": "summarize tally_frame tally_segments",
    "metrics": "Gap Max Mean Metric NAMED_METRICS Power Rejection",
    "plots": "draw_errors draw_reliability draw_test_based",
    "power": "Plan detect plan",
    "query": "Scale",
    "reports": "report",
    "result": "MulticlassResult Result",
    "rules": "Rule read_rules",
    "scoring": "CalibrationScorer ace_scorer ece_scorer mce_scorer rmsce_scorer tce_scorer",
    "segments": "SegmentTable judge_segments",
    "summaries": "Summary",
    "summary_files": "is_summary merge_summaries read_summary write_summary",
    "table": "BinTable",
    "tallied": "evaluate_tally",
    "tally": "Tally",
    "verdict": "Finding Verdict",
    "windows": "drift judge_windows",
}
_HOME = {name: module for module, names in _WHERE.items() for name in names.split()}

__all__ = sorted(_HOME)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'truecal' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"truecal.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
