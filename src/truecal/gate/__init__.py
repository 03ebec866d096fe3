"""The release gate: rules held against results."""

from truecal.gate._check import NO_WORSE as NO_WORSE
from truecal.gate._check import Rules as Rules
from truecal.gate._check import check as check
from truecal.gate._check import check_segments as check_segments
from truecal.gate._decision import Decision as Decision
from truecal.gate._decision import Finding as Finding
from truecal.gate._decision import FindingTable as FindingTable
from truecal.gate._rules import LIMITS as LIMITS
from truecal.gate._rules import Rule as Rule
from truecal.gate._rules import read_cluster as read_cluster
from truecal.gate._rules import read_labelling as read_labelling
from truecal.gate._rules import read_rules as read_rules
from truecal.gate._rules import read_scale as read_scale
from truecal.gate._rules import read_tolerance as read_tolerance

# for users; the other names are for other packages of truecal
__all__ = [
    "Decision",
    "Finding",
    "FindingTable",
    "Rule",
    "check",
    "read_rules",
]
