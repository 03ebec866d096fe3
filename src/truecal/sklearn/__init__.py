"""Scorers and a display for scikit-learn."""

from truecal.sklearn._display import TestBasedReliabilityDisplay as TestBasedReliabilityDisplay
from truecal.sklearn._scoring import CalibrationScorer as CalibrationScorer
from truecal.sklearn._scoring import ace_scorer as ace_scorer
from truecal.sklearn._scoring import ece_scorer as ece_scorer
from truecal.sklearn._scoring import mce_scorer as mce_scorer
from truecal.sklearn._scoring import rmsce_scorer as rmsce_scorer
from truecal.sklearn._scoring import tce_scorer as tce_scorer
