"""A note of every code."""

from truecal.data import Note, NoteCode

REASONS = [{"column": "p", "kind": "null", "n": 30}, {"column": None, "kind": "unpaired", "n": 4}]
FILES = [{"file": "a.csv", "read": 50, "dropped": 34}]
VALUES = {
    NoteCode.ROWS_DROPPED: dict(read=20_000, dropped=34, reasons=REASONS, files=FILES, more_files=2),
    NoteCode.ZERO_COUNTS: dict(n=1, columns=["w"]),
    NoteCode.SEGMENTS_DROPPED: dict(n=2, first={"country": "de", "product": "card"}),
    NoteCode.GROUPS_OUT_OF_SCOPE: dict(n=1, total=7, kind="segment"),
    NoteCode.BASELINE_INCOMPLETE: dict(compared=900, rows=1000),
    NoteCode.LABEL_DELAY: {},
    NoteCode.SAMPLED_BY_LABEL: dict(negative_rate=0.05, positive_rate=0.3, estimates="population"),
    NoteCode.LABEL_NOISE: dict(false_positive_rate=0.01, false_negative_rate=0.2, estimates="sample"),
    NoteCode.CLUSTERED: dict(column="customer"),
    NoteCode.CLUSTERS_COMPARED: dict(n=800),
    NoteCode.IMPORTANCE_WEIGHTED: {},
    NoteCode.EQUAL_COUNTS: dict(count=10.0),
    NoteCode.FEWER_BINS: dict(bins=7, wanted=10, tied=True),
    NoteCode.BINS_TOO_LARGE: dict(n=1, bins=12, limit=500, largest=812),
    NoteCode.BINS_TOO_SMALL: dict(n=2, bins=12, limit=100, smallest=31),
    NoteCode.P_VALUES_ADJUSTED: dict(method="holm"),
    NoteCode.GROUPED_SCORES: dict(cells=6142, bits=12),
    NoteCode.GROUPED_REGION: dict(lowest=0.71875),
    NoteCode.GROUPED_DRAWS: dict(cells=6142, bits=16, scores=20_000),
    NoteCode.COARSE_GRID: dict(n=3, largest=1204, bits=9),
    NoteCode.COLUMN_CONSTANT: dict(column="currency"),
    NoteCode.COLUMN_OF_NAMES: dict(column="customer", distinct=3000, rows=3000),
    NoteCode.COLUMN_UNSUPPORTED: dict(column="age", type="Duration"),
    NoteCode.COLUMNS_NOT_PAIRED: dict(columns=70, limit=60),
    NoteCode.SLICES_TRUNCATED: dict(limit=20),
    NoteCode.SEGMENTS_UNKNOWN: dict(n=30),
    NoteCode.RECALIBRATED: {},
}
NOTES = [Note(code, values) for code, values in VALUES.items()]
