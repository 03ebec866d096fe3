"""Dataframes and files to tallies, in one pass."""

from truecal.reading._classes import describe_columns as describe_columns
from truecal.reading._columns import RECALIBRATED as RECALIBRATED
from truecal.reading._columns import Columns as Columns
from truecal.reading._columns import Guess as Guess
from truecal.reading._columns import Limits as Limits
from truecal.reading._columns import OnNull as OnNull
from truecal.reading._columns import ScoreScale as ScoreScale
from truecal.reading._columns import UnclearColumns as UnclearColumns
from truecal.reading._columns import find_repeats as find_repeats
from truecal.reading._columns import guess_columns as guess_columns
from truecal.reading._columns import guess_time as guess_time
from truecal.reading._cross import cross as cross
from truecal.reading._paths import open_files as open_files
from truecal.reading._paths import scan as scan
from truecal.reading._places import FORMATS as FORMATS
from truecal.reading._places import PathLike as PathLike
from truecal.reading._places import expand as expand
from truecal.reading._query import column_names as column_names
from truecal.reading._read import is_tallies as is_tallies
from truecal.reading._read import load_tallies as load_tallies
from truecal.reading._read import read as read
from truecal.reading._read import read_models as read_models
from truecal.reading._write import add_column as add_column

# for users; the other names are for other packages of truecal
__all__ = [
    "Limits",
    "UnclearColumns",
    "guess_columns",
    "guess_time",
    "read",
    "read_models",
    "scan",
]
