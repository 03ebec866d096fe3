"""The status of a row: valid, or why it is not.

Every engine computes it, so that invalid rows are counted in the same pass.
"""

from __future__ import annotations

from truecal.data import ReasonKind

# fmt: off
(
    VALID, NO_SCORE, SCORE_NAN, SCORE_OUTSIDE, NO_LABEL, OTHER_LABEL, NO_TIME, NO_MATCH, SUM_OFF, NO_AGE, AGE_OUTSIDE,
    NO_COUNT, COUNT_ZERO, COUNT_FRACTION, NO_IMPORTANCE, IMPORTANCE_OUTSIDE, NO_CLUSTER,
) = range(STATUSES := 17)
# fmt: on

# The role of a column, and what is wrong with it, by status. Rows with missing values may be dropped, those with wrong
# ones may not; rows that stand for none always are.
MISSING: dict[int, tuple[str, ReasonKind]] = {
    NO_SCORE: ("score", ReasonKind.NULL),
    SCORE_NAN: ("score", ReasonKind.NAN),
    NO_LABEL: ("label", ReasonKind.NULL),
    NO_TIME: ("time", ReasonKind.NULL),
    NO_AGE: ("age", ReasonKind.NULL),
    NO_COUNT: ("weight", ReasonKind.NULL),
    NO_IMPORTANCE: ("importance_weight", ReasonKind.NULL),
    NO_CLUSTER: ("cluster", ReasonKind.NULL),
}
WRONG: dict[int, tuple[str, ReasonKind]] = {
    SCORE_OUTSIDE: ("score", ReasonKind.OUT_OF_RANGE),
    OTHER_LABEL: ("label", ReasonKind.NOT_BINARY),
    SUM_OFF: ("score", ReasonKind.NOT_NORMALIZED),
    AGE_OUTSIDE: ("age", ReasonKind.OUT_OF_RANGE),
    COUNT_FRACTION: ("weight", ReasonKind.NOT_WHOLE),
    IMPORTANCE_OUTSIDE: ("importance_weight", ReasonKind.NOT_POSITIVE),
}
LEFT_OUT: dict[int, tuple[str, ReasonKind]] = {COUNT_ZERO: ("weight", ReasonKind.COUNT_IS_ZERO)}
REASONS = MISSING | WRONG | LEFT_OUT
