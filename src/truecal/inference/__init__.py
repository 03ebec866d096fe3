"""What a number means: null references, intervals, differences, power, evidence over time."""

from truecal.inference._eprocess import Process as Process
from truecal.inference._eprocess import Turn as Turn
from truecal.inference._eprocess import WindowSums as WindowSums
from truecal.inference._eprocess import find_change as find_change
from truecal.inference._eprocess import find_pivot as find_pivot
from truecal.inference._maps import KINDS as KINDS
from truecal.inference._maps import Kind as Kind
from truecal.inference._maps import Map as Map
from truecal.inference._maps import add_tallies as add_tallies
from truecal.inference._maps import choose_kind as choose_kind
from truecal.inference._maps import find_effects as find_effects
from truecal.inference._maps import fit_map as fit_map
from truecal.inference._maps import log_losses as log_losses
from truecal.inference._maps import mean_loss as mean_loss
from truecal.inference._maps import split as split
from truecal.inference._moves import Odds as Odds
from truecal.inference._moves import compare_odds as compare_odds
from truecal.inference._moves import compare_rates as compare_rates
from truecal.inference._moves import detectable_move as detectable_move
from truecal.inference._moves import find_split as find_split
from truecal.inference._paired import measure_gap as measure_gap
from truecal.inference._power import Plan as Plan
from truecal.inference._power import critical_counts as critical_counts
from truecal.inference._power import detectable_rates as detectable_rates
from truecal.inference._power import plan as plan
from truecal.inference._redraw import Draws as Draws
from truecal.inference._redraw import Labels as Labels
from truecal.inference._redraw import RandomState as RandomState
from truecal.inference._redraw import map_seeds as map_seeds
from truecal.inference._reference import FIRST as FIRST
from truecal.inference._reference import Difference as Difference
from truecal.inference._reference import Interval as Interval
from truecal.inference._reference import Reference as Reference
from truecal.inference._reference import check_confidence as check_confidence
from truecal.inference._reference import differences as differences
from truecal.inference._reference import intervals as intervals
from truecal.inference._reference import null_reference as null_reference
from truecal.inference._reference import reaches as reaches
from truecal.inference._reference import sequential_reference as sequential_reference
from truecal.inference._verdict import FACTOR as FACTOR
from truecal.inference._verdict import OUTCOMES as OUTCOMES
from truecal.inference._verdict import SIGNS as SIGNS
from truecal.inference._verdict import Verdict as Verdict
from truecal.inference._verdict import Word as Word
from truecal.inference._verdict import combine_parts as combine_parts
from truecal.inference._verdict import find_parts as find_parts
from truecal.inference._verdict import format_factor as format_factor
from truecal.inference._verdict import format_p_value as format_p_value
from truecal.inference._verdict import judge as judge
from truecal.inference._verdict import judge_all as judge_all

# for users; the other names are for other packages of truecal
__all__ = [
    "Difference",
    "Draws",
    "Interval",
    "Map",
    "Plan",
    "Reference",
    "Verdict",
    "detectable_rates",
    "differences",
    "intervals",
    "judge",
    "null_reference",
    "plan",
]
