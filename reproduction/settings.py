"""The columns of the paper's tables as truecal metrics, with the paper's bin sizes N/20 and N/5."""

from __future__ import annotations

from dataclasses import dataclass

from reproduction.cells import Variants
from reproduction.variants.bins import TailJoined, TruncatedQuantile
from reproduction.variants.variance_t import VarianceT
from truecal import Binomial, BoundedIsotonic, Metric, Quantile, Uniform
from truecal.metrics import Gap, Isotonic, Max, PointwiseTest, StudentT

# Names of the variants, as they appear as causes.
SOLVER = "solver"
CUTS = "quantile cuts"
VARIANCE = "variance for its root"
LABEL = "row label"
TIES = "tie order"
TAIL = "last bin"


@dataclass(frozen=True)
class Setting:
    """Sizes of PAVA-BC bins (counts; the paper's shares by default), number of other bins, significance."""

    n_min: int | None = None
    n_max: int | None = None
    bins: int = 10
    significance: float = 0.05


def metric_of(column: str, setting: Setting, variants: Variants = frozenset()) -> Metric:
    """The metric of a table's column: TCE, TCE(P), TCE(Q), TCE(V), ECE, ACE, MCE, MCE(Q), or a test's TCE(P)-T."""
    name, _, test = column.partition("-")
    hypothesis = (VarianceT() if VARIANCE in variants else StudentT()) if test == "T" else Binomial()
    rejection = PointwiseTest(hypothesis, setting.significance)
    quantile = TruncatedQuantile(setting.bins) if CUTS in variants else Quantile(setting.bins)
    if TAIL in variants:
        bounded: BoundedIsotonic | TailJoined = TailJoined(setting.n_min, setting.n_max)
    else:
        bounded = BoundedIsotonic(setting.n_min, setting.n_max, sizes="paper")
    return {
        "TCE": Metric(bounded, rejection),
        "TCE(P)": Metric(bounded, rejection),
        "TCE(Q)": Metric(quantile, rejection),
        "TCE(V)": Metric(Isotonic(), rejection),
        "ECE": Metric(Uniform(setting.bins), Gap()),
        "ACE": Metric(quantile, Gap()),
        "MCE": Metric(Uniform(setting.bins), Gap(), Max()),
        "MCE(Q)": Metric(quantile, Gap(), Max()),
    }[name]
