"""What was found, as values: results and tables."""

from truecal.results._bins import BinTable as BinTable
from truecal.results._classes import ClassResults as ClassResults
from truecal.results._classes import ClassTable as ClassTable
from truecal.results._curve import Curve as Curve
from truecal.results._drift import INCOMPLETE as INCOMPLETE
from truecal.results._drift import PREVALENCE as PREVALENCE
from truecal.results._drift import DriftTable as DriftTable
from truecal.results._finding import format_percent as format_percent
from truecal.results._finding import format_ratio as format_ratio
from truecal.results._finding import format_ratios as format_ratios
from truecal.results._finding import format_span as format_span
from truecal.results._finding import name_ranges as name_ranges
from truecal.results._groups import Comparison as Comparison
from truecal.results._groups import GroupTable as GroupTable
from truecal.results._groups import judged_columns as judged_columns
from truecal.results._json import Stored as Stored
from truecal.results._json import envelope as envelope
from truecal.results._json import from_json as from_json
from truecal.results._json import read_stored as read_stored
from truecal.results._json import register as register
from truecal.results._json import to_json as to_json
from truecal.results._models import Models as Models
from truecal.results._models import count_verdicts as count_verdicts
from truecal.results._models import rank_models as rank_models
from truecal.results._monitor import MonitorState as MonitorState
from truecal.results._monitor import MonitorTable as MonitorTable
from truecal.results._monitor import Stream as Stream
from truecal.results._monitor import Waiting as Waiting
from truecal.results._monitor import order_streams as order_streams
from truecal.results._recalibration import Proof as Proof
from truecal.results._recalibration import ProofTable as ProofTable
from truecal.results._recalibration import Recalibration as Recalibration
from truecal.results._recalibration import quote_name as quote_name
from truecal.results._result import Result as Result
from truecal.results._shapes import DECADE as DECADE
from truecal.results._shapes import Histogram as Histogram
from truecal.results._shapes import Outline as Outline
from truecal.results._shapes import Ranked as Ranked
from truecal.results._shapes import Scores as Scores
from truecal.results._shapes import Shape as Shape
from truecal.results._shapes import from_decades as from_decades
from truecal.results._shapes import log_odds as log_odds
from truecal.results._shapes import space_evenly as space_evenly
from truecal.results._slices import SliceTable as SliceTable
from truecal.results._table import FRAMES as FRAMES
from truecal.results._table import LEFT as LEFT
from truecal.results._table import Column as Column
from truecal.results._table import Table as Table
from truecal.results._table import column as column
from truecal.results._table import format_share as format_share
from truecal.results._table import register_table as register_table

# for users; the other names are for other packages of truecal
__all__ = [
    "BinTable",
    "ClassResults",
    "ClassTable",
    "Comparison",
    "Curve",
    "DriftTable",
    "GroupTable",
    "Models",
    "MonitorTable",
    "Proof",
    "ProofTable",
    "Recalibration",
    "Result",
    "SliceTable",
    "Table",
    "from_json",
    "to_json",
]
