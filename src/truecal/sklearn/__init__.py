"""Scorers, a display and a recalibrated classifier for scikit-learn; only the classifier imports it."""

from typing import TYPE_CHECKING, Any

from truecal.sklearn._scoring import CalibrationScorer as CalibrationScorer
from truecal.sklearn._scoring import TestBasedReliabilityDisplay as TestBasedReliabilityDisplay
from truecal.sklearn._scoring import ace_scorer as ace_scorer
from truecal.sklearn._scoring import ece_scorer as ece_scorer
from truecal.sklearn._scoring import ltce_scorer as ltce_scorer
from truecal.sklearn._scoring import mce_scorer as mce_scorer
from truecal.sklearn._scoring import rmsce_scorer as rmsce_scorer
from truecal.sklearn._scoring import tce_scorer as tce_scorer

if TYPE_CHECKING:
    from truecal.sklearn._recalibrated import RecalibratedClassifier as RecalibratedClassifier

# for users; the other names are for other packages of truecal
__all__ = [
    "CalibrationScorer",
    "RecalibratedClassifier",
    "TestBasedReliabilityDisplay",
    "ace_scorer",
    "ece_scorer",
    "ltce_scorer",
    "mce_scorer",
    "rmsce_scorer",
    "tce_scorer",
]


def __getattr__(name: str) -> Any:
    if name != "RecalibratedClassifier":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from truecal.sklearn._recalibrated import RecalibratedClassifier

    return RecalibratedClassifier
