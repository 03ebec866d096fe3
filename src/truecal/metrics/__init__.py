"""What is computed: binnings, tests, losses, norms, and the metrics made of them."""

from truecal.metrics._binning import Binning as Binning
from truecal.metrics._binning import BinningLike as BinningLike
from truecal.metrics._binning import BinQuality as BinQuality
from truecal.metrics._binning import BoundedIsotonic as BoundedIsotonic
from truecal.metrics._binning import Edges as Edges
from truecal.metrics._binning import Isotonic as Isotonic
from truecal.metrics._binning import Partition as Partition
from truecal.metrics._binning import Quantile as Quantile
from truecal.metrics._binning import Uniform as Uniform
from truecal.metrics._binning import choose_bits as choose_bits
from truecal.metrics._binning import measure_bins as measure_bins
from truecal.metrics._bounds import grid_bounds as grid_bounds
from truecal.metrics._decisions import MOST_ROWS as MOST_ROWS
from truecal.metrics._decisions import Absolute as Absolute
from truecal.metrics._decisions import Level as Level
from truecal.metrics._decisions import Relative as Relative
from truecal.metrics._decisions import Test as Test
from truecal.metrics._decisions import Tolerance as Tolerance
from truecal.metrics._decisions import as_tolerance as as_tolerance
from truecal.metrics._decisions import check_counts as check_counts
from truecal.metrics._decisions import check_probabilities as check_probabilities
from truecal.metrics._decisions import check_significance as check_significance
from truecal.metrics._decisions import check_test as check_test
from truecal.metrics._decisions import is_number as is_number
from truecal.metrics._design import Design as Design
from truecal.metrics._design import Spread as Spread
from truecal.metrics._exact import Adjustment as Adjustment
from truecal.metrics._exact import adjust_p_values as adjust_p_values
from truecal.metrics._exact import divide_rates as divide_rates
from truecal.metrics._exact import exact_interval as exact_interval
from truecal.metrics._exact import find_rates as find_rates
from truecal.metrics._exact import fisher_p_value as fisher_p_value
from truecal.metrics._exact import gamma_tail as gamma_tail
from truecal.metrics._exact import normal_quantile as normal_quantile
from truecal.metrics._functions import ace as ace
from truecal.metrics._functions import compute as compute
from truecal.metrics._functions import compute_any as compute_any
from truecal.metrics._functions import ece as ece
from truecal.metrics._functions import ltce as ltce
from truecal.metrics._functions import mce as mce
from truecal.metrics._functions import rmsce as rmsce
from truecal.metrics._functions import tce as tce
from truecal.metrics._hypotheses import BayesFactor as BayesFactor
from truecal.metrics._hypotheses import Binomial as Binomial
from truecal.metrics._hypotheses import LikelihoodRatio as LikelihoodRatio
from truecal.metrics._hypotheses import MidP as MidP
from truecal.metrics._hypotheses import ScoreTest as ScoreTest
from truecal.metrics._hypotheses import StudentT as StudentT
from truecal.metrics._local import LocalError as LocalError
from truecal.metrics._local import ScoreRange as ScoreRange
from truecal.metrics._local import Weight as Weight
from truecal.metrics._local import Windows as Windows
from truecal.metrics._local import find_local_errors as find_local_errors
from truecal.metrics._local import local_error as local_error
from truecal.metrics._metric import LTCE as LTCE
from truecal.metrics._metric import METRICS as METRICS
from truecal.metrics._metric import STANDARD as STANDARD
from truecal.metrics._metric import TCE as TCE
from truecal.metrics._metric import Binned as Binned
from truecal.metrics._metric import Bins as Bins
from truecal.metrics._metric import Gap as Gap
from truecal.metrics._metric import Loss as Loss
from truecal.metrics._metric import Max as Max
from truecal.metrics._metric import Mean as Mean
from truecal.metrics._metric import Measure as Measure
from truecal.metrics._metric import Metric as Metric
from truecal.metrics._metric import Norm as Norm
from truecal.metrics._metric import PNorm as PNorm
from truecal.metrics._metric import Refutation as Refutation
from truecal.metrics._metric import Refuting as Refuting
from truecal.metrics._metric import Rejection as Rejection
from truecal.metrics._metric import as_error as as_error
from truecal.metrics._metric import bin_once as bin_once
from truecal.metrics._metric import check_metric as check_metric
from truecal.metrics._metric import choose as choose
from truecal.metrics._metric import describe_unknown as describe_unknown
from truecal.metrics._metric import find_metric as find_metric
from truecal.metrics._metric import format_name as format_name
from truecal.metrics._poisson_binomial import Coins as Coins
from truecal.metrics._poisson_binomial import OddsFactor as OddsFactor
from truecal.metrics._poisson_binomial import find_odds_factors as find_odds_factors
from truecal.metrics._population import count_positives as count_positives
from truecal.metrics._ranges import divide_scores as divide_scores
from truecal.metrics._scores import Brier as Brier
from truecal.metrics._scores import CumulativeMaximum as CumulativeMaximum
from truecal.metrics._scores import CumulativeRange as CumulativeRange
from truecal.metrics._scores import Intercept as Intercept
from truecal.metrics._scores import LogLoss as LogLoss
from truecal.metrics._scores import MeanScore as MeanScore
from truecal.metrics._scores import NetBenefit as NetBenefit
from truecal.metrics._scores import Rows as Rows
from truecal.metrics._scores import Score as Score
from truecal.metrics._scores import Slope as Slope
from truecal.metrics._scores import SmoothError as SmoothError
from truecal.metrics._scores import Spiegelhalter as Spiegelhalter
from truecal.metrics._scores import TwoBins as TwoBins
from truecal.metrics._scores import fit_logistic as fit_logistic
from truecal.metrics._scores import log_odds as log_odds
from truecal.metrics._units import PERCENT as PERCENT
from truecal.metrics._units import PROBABILITY as PROBABILITY
from truecal.metrics._units import Unit as Unit

# for users; the other names are for other packages of truecal
__all__ = [
    "LTCE",
    "METRICS",
    "STANDARD",
    "TCE",
    "Absolute",
    "BayesFactor",
    "BinQuality",
    "Binning",
    "Binomial",
    "BoundedIsotonic",
    "Brier",
    "CumulativeMaximum",
    "CumulativeRange",
    "Edges",
    "Gap",
    "Intercept",
    "Isotonic",
    "LikelihoodRatio",
    "LocalError",
    "LogLoss",
    "Loss",
    "Max",
    "Mean",
    "Metric",
    "MidP",
    "NetBenefit",
    "Norm",
    "PNorm",
    "Partition",
    "Quantile",
    "Refutation",
    "Rejection",
    "Relative",
    "Score",
    "ScoreRange",
    "ScoreTest",
    "Slope",
    "SmoothError",
    "Spiegelhalter",
    "StudentT",
    "Test",
    "TwoBins",
    "Uniform",
    "Windows",
    "ace",
    "adjust_p_values",
    "compute",
    "ece",
    "exact_interval",
    "local_error",
    "ltce",
    "mce",
    "measure_bins",
    "rmsce",
    "tce",
]
