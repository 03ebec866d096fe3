"""What was observed: scores with counts."""

from truecal.observations._account import Account as Account
from truecal.observations._account import list_reasons as list_reasons
from truecal.observations._arrays import NORMALIZE as NORMALIZE
from truecal.observations._arrays import SUM as SUM
from truecal.observations._arrays import AnyArray as AnyArray
from truecal.observations._arrays import Classes as Classes
from truecal.observations._arrays import Multiclass as Multiclass
from truecal.observations._arrays import as_matrix as as_matrix
from truecal.observations._arrays import as_tuple as as_tuple
from truecal.observations._arrays import check_class_options as check_class_options
from truecal.observations._arrays import check_indexes as check_indexes
from truecal.observations._arrays import check_values as check_values
from truecal.observations._arrays import choose_multiclass as choose_multiclass
from truecal.observations._arrays import drop_missing as drop_missing
from truecal.observations._arrays import guess_scale as guess_scale
from truecal.observations._arrays import read_numbers as read_numbers
from truecal.observations._arrays import read_pair as read_pair
from truecal.observations._arrays import refuse_pos_label as refuse_pos_label
from truecal.observations._cell_sums import CellGroups as CellGroups
from truecal.observations._cell_sums import CellSums as CellSums
from truecal.observations._classes import ClassTallies as ClassTallies
from truecal.observations._clusters import CellClusters as CellClusters
from truecal.observations._clusters import Clusters as Clusters
from truecal.observations._clusters import hash_numbers as hash_numbers
from truecal.observations._clusters import hash_values as hash_values
from truecal.observations._clusters import number_values as number_values
from truecal.observations._counting import TIED as TIED
from truecal.observations._counting import TieCounter as TieCounter
from truecal.observations._crossed import CodedRows as CodedRows
from truecal.observations._crossed import Conditions as Conditions
from truecal.observations._crossed import Crossed as Crossed
from truecal.observations._crossed import Pair as Pair
from truecal.observations._grid import MOST_BITS as MOST_BITS
from truecal.observations._grid import GridTally as GridTally
from truecal.observations._grid import bits_for as bits_for
from truecal.observations._grid import cell as cell
from truecal.observations._grid import check_bits as check_bits
from truecal.observations._importance import IMPORTANCE as IMPORTANCE
from truecal.observations._importance import Importance as Importance
from truecal.observations._labelling import AS_THEY_ARE as AS_THEY_ARE
from truecal.observations._labelling import Labelling as Labelling
from truecal.observations._maturity import Maturity as Maturity
from truecal.observations._maturity import discount as discount
from truecal.observations._parquet import is_tallies_file as is_tallies_file
from truecal.observations._parquet import name_file as name_file
from truecal.observations._parquet import read_settings as read_settings
from truecal.observations._tallies import Outcome as Outcome
from truecal.observations._tallies import Part as Part
from truecal.observations._tallies import Segment as Segment
from truecal.observations._tallies import Tallies as Tallies
from truecal.observations._tallies import as_grid as as_grid
from truecal.observations._tallies import bits_of as bits_of
from truecal.observations._tallies import coarsest as coarsest
from truecal.observations._tallies import merge_parts as merge_parts
from truecal.observations._tallies import with_labelling as with_labelling
from truecal.observations._tally import Bools as Bools
from truecal.observations._tally import Floats as Floats
from truecal.observations._tally import Ints as Ints
from truecal.observations._tally import Pairs as Pairs
from truecal.observations._tally import Population as Population
from truecal.observations._tally import Sorted as Sorted
from truecal.observations._tally import SortedRows as SortedRows
from truecal.observations._tally import Tally as Tally
from truecal.observations._tally import Weighed as Weighed
from truecal.observations._tally import group_keys as group_keys
from truecal.observations._tally import merge as merge
from truecal.observations._tally import pack_keys as pack_keys
from truecal.observations._tally import see_threshold as see_threshold
from truecal.observations._tally import sort_keys as sort_keys
from truecal.observations._tally import sort_rows as sort_rows
from truecal.observations._tally import unchecked as unchecked
from truecal.observations._time import WINDOWS as WINDOWS
from truecal.observations._time import Moment as Moment
from truecal.observations._time import Span as Span
from truecal.observations._time import find_ends as find_ends
from truecal.observations._time import find_mature as find_mature
from truecal.observations._time import read_moment as read_moment
from truecal.observations._time import read_span as read_span
from truecal.observations._time import window_start as window_start
from truecal.observations._weights import WeightSpan as WeightSpan
from truecal.observations._weights import advise_weights as advise_weights
from truecal.observations._weights import ask_about_counts as ask_about_counts
from truecal.observations._weights import find_fractions as find_fractions
from truecal.observations._weights import measure_weights as measure_weights
from truecal.observations._weights import read_weights as read_weights

# for users; the other names are for other packages of truecal
__all__ = [
    "Account",
    "CellSums",
    "ClassTallies",
    "GridTally",
    "Labelling",
    "Maturity",
    "Pairs",
    "SortedRows",
    "Tallies",
    "Tally",
    "sort_rows",
]
