"""Dataframes and files to tallies, in one pass."""

from truecal.reading._engines import collect as collect
from truecal.reading._engines import is_lazy as is_lazy
from truecal.reading._engines import language as language
from truecal.reading._engines import native as native
from truecal.reading._files import PathLike as PathLike
from truecal.reading._files import scan as scan
from truecal.reading._guessing import Guess as Guess
from truecal.reading._guessing import UnclearColumns as UnclearColumns
from truecal.reading._guessing import guess_columns as guess_columns
from truecal.reading._guessing import guess_time as guess_time
from truecal.reading._ingest import read_segments as read_segments
from truecal.reading._ingest import summarize as summarize
from truecal.reading._ingest import tally_frame as tally_frame
from truecal.reading._ingest import tally_segments as tally_segments
from truecal.reading._query import DROP as DROP
from truecal.reading._query import SCALE as SCALE
from truecal.reading._query import Columns as Columns
from truecal.reading._query import Limits as Limits
from truecal.reading._query import OnNull as OnNull
from truecal.reading._query import choose_bits as choose_bits
from truecal.reading._query import column_names as column_names
from truecal.reading._query import open_data as open_data
from truecal.reading._stored import is_summary as is_summary
from truecal.reading._stored import merge_summaries as merge_summaries
from truecal.reading._stored import open_summary as open_summary
