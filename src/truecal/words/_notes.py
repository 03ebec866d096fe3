"""Notes and reasons in words: phrases without a period, as they follow "Note: "."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from truecal._text import plural
from truecal.data import NAMED_FILES, Note, NoteCode, Reason, ReasonKind, RowCounts

Values = Mapping[str, Any]
REASON_TEXTS = {
    ReasonKind.NULL: "is null",
    ReasonKind.NAN: "is NaN",
    ReasonKind.OUT_OF_RANGE: "is outside {span}",
    ReasonKind.NOT_BINARY: "is neither 0 nor 1",
    ReasonKind.NOT_NORMALIZED: "does not sum to 1",
    ReasonKind.NOT_WHOLE: "is not a whole number",
    ReasonKind.NOT_POSITIVE: "is not above 0",
    ReasonKind.COUNT_IS_ZERO: "is 0",
    ReasonKind.UNPAIRED: "has no score",
}


def describe_note(note: Note) -> str:
    """Return a note as a phrase without a period.

    Examples
    --------
    >>> describe_note(Note.of(NoteCode.SLICES_TRUNCATED, limit=20))
    'only the first 20 slices are listed'
    """
    return DESCRIBED[note.code](note.values)


def list_notes(notes: Iterable[Note]) -> list[str]:
    """Return the lines of notes below a table: "Note: ..."."""
    return [f"Note: {describe_note(note)}." for note in notes]


def describe_reason_kind(kind: ReasonKind, span: str = "[0, 1]") -> str:
    """Return what is wrong with a value, after the name of its column; `span` is the range of valid scores.

    Examples
    --------
    >>> describe_reason_kind(ReasonKind.NULL), describe_reason_kind(ReasonKind.OUT_OF_RANGE, "[0, 100]")
    ('is null', 'is outside [0, 100]')
    """
    return REASON_TEXTS[kind].format(span=span)


def _describe_reason(reason: Reason) -> str:
    column = "the baseline" if reason.column is None else f"`{reason.column}`"
    return f"{column} {describe_reason_kind(reason.kind)}"


def describe_reasons(dropped: Mapping[Reason, int]) -> str:
    """Return the reasons with the number of rows of each.

    Examples
    --------
    >>> describe_reasons({Reason("p", "null"): 3, Reason("y", "nan"): 1})
    '`p` is null in 3, `y` is NaN in 1'
    """
    return ", ".join(f"{_describe_reason(reason)} in {n:,}" for reason, n in dropped.items())


def describe_dropped(row_counts: RowCounts) -> str:
    """Return why rows were dropped, and which files lost the largest shares.

    Examples
    --------
    >>> why = {Reason("p", "null"): 3}
    >>> describe_dropped(RowCounts(20, 17, why, files={"a": RowCounts(10, 10), "b": RowCounts(10, 7, why)}))
    "`p` is null in 3 (in 'b' 3 of 10)"
    """
    files = sorted(
        ((name, each) for name, each in row_counts.files.items() if each.n_dropped),
        key=lambda entry: (-entry[1].share_dropped, -entry[1].n_dropped, entry[0]),
    )
    named = [(name, each.n_dropped, each.read) for name, each in files[:NAMED_FILES]]
    return describe_reasons(row_counts.dropped) + _describe_files(named, len(files) - NAMED_FILES)


def _describe_files(named: Iterable[tuple[str, int, int]], more: int) -> str:
    files = [f"in {name!r} {dropped:,} of {read:,}" for name, dropped, read in named]
    files += [f"others in {plural(more, 'more file')}"] if more > 0 else []
    return f" ({', '.join(files)})" if files else ""


def _describe_rows_dropped(values: Values) -> str:
    dropped = {Reason(each["column"], each["kind"]): each["n"] for each in values["reasons"]}
    files = [(each["file"], each["dropped"], each["read"]) for each in values["files"]]
    why = describe_reasons(dropped) + _describe_files(files, values["more_files"])
    verb = "was" if values["dropped"] == 1 else "were"
    return f"of {plural(values['read'], 'row')} {values['dropped']:,} {verb} dropped: {why}"


def _describe_zero_counts(values: Values) -> str:
    why = " and ".join(f"`{column}` is 0" for column in values["columns"])
    return f"{plural(values['n'], 'row')} {'has' if values['n'] == 1 else 'have'} a count of zero: {why}"


def _describe_segments_dropped(values: Values) -> str:
    first = ", ".join(f"{name}={value}" for name, value in values["first"].items())
    return f"all rows of {plural(values['n'], 'segment')} were dropped, for example {first}"


def _describe_out_of_scope(values: Values) -> str:
    have = "has" if values["n"] == 1 else "have"
    return f"{plural(values['n'], values['kind'])} of {values['total']:,} {have} no prediction in scope"


def _describe_baseline(values: Values) -> str:
    rows = f"{values['compared']:,} of {values['rows']:,} rows"
    return f"the baseline is compared on {rows}; the others have no baseline score"


def _describe_sampled(values: Values) -> str:
    rates = (("negatives", values["negative_rate"]), ("positives", values["positive_rate"]))
    kept = " and ".join(_describe_kept(label, rate) for label, rate in rates if rate < 1)
    return f"{kept}; estimates describe the {values['estimates']}"


def _describe_kept(label: str, rate: float) -> str:
    whole = round(1 / rate)
    if abs(whole * rate - 1) < 1e-9:
        return f"{label} were sampled 1 in {whole:,}"
    return f"{label} were sampled at {100 * rate:.4g}%"


def _describe_noise(values: Values) -> str:
    labels = "the true labels" if values["estimates"] == "population" else "the labels in the sample"
    return (
        f"label noise is assumed: {100 * values['false_positive_rate']:.3g}% of negatives are labelled positive, "
        f"{100 * values['false_negative_rate']:.3g}% of positives negative; estimates describe {labels}"
    )


def _describe_equal_counts(values: Values) -> str:
    count = f"{values['count']:g}"
    return f"every row has the count {count}, and no two rows are equal: are they {count} independent rows each?"


def _describe_fewer_bins(values: Values) -> str:
    why = "the other edges fall on tied scores" if values["tied"] else "there are fewer rows"
    return f"{values['bins']} of {values['wanted']} quantile bins: {why}"


def _describe_large_bins(values: Values) -> str:
    return (
        f"{values['n']} of {values['bins']} bins {'holds' if values['n'] == 1 else 'hold'} more than n_max = "
        f"{values['limit']} rows, the largest {values['largest']}: tied scores stay in one bin"
    )


def _describe_small_bins(values: Values) -> str:
    return (
        f"{values['n']} of {values['bins']} bins {'holds' if values['n'] == 1 else 'hold'} fewer than n_min = "
        f"{values['limit']} rows, the smallest {values['smallest']}: a large tie next to them is a bin of its own"
    )


def _describe_grouped_scores(values: Values) -> str:
    return (
        f"scores were grouped into {values['cells']:,} cells of {values['bits']} significant bits; values and bounds "
        "are for bins of whole cells, not for bins of the exact scores"
    )


def _describe_grouped_draws(values: Values) -> str:
    return (
        f"labels were simulated for {values['cells']:,} cells of {values['bits']} significant bits instead of "
        f"{values['scores']:,} scores: null means and intervals are for bins of whole cells"
    )


def _describe_coarse_grid(values: Values) -> str:
    return (
        f"the grid is coarse: {values['n']:,} of its cells {'holds' if values['n'] == 1 else 'hold'} more than a "
        f"fifteenth of the largest bin, up to {values['largest']:,} rows; {values['bits']} bits are enough"
    )


def _describe_names(values: Values) -> str:
    distinct = f"{plural(values['distinct'], 'value')} in {values['rows']:,} rows"
    return f"`{values['column']}` has {distinct}, like an identifier, and was not searched"


def _describe_not_paired(values: Values) -> str:
    many = f"{values['columns']:,} columns are more than {values['limit']}"
    return f"{many}: they were searched singly, not in pairs"


DESCRIBED: dict[NoteCode, Callable[[Values], str]] = {
    NoteCode.ROWS_DROPPED: _describe_rows_dropped,
    NoteCode.ZERO_COUNTS: _describe_zero_counts,
    NoteCode.SEGMENTS_DROPPED: _describe_segments_dropped,
    NoteCode.GROUPS_OUT_OF_SCOPE: _describe_out_of_scope,
    NoteCode.BASELINE_INCOMPLETE: _describe_baseline,
    NoteCode.LABEL_DELAY: lambda _: (
        "labels are incomplete (label delay): predictions are scaled to the positives that should be known by now"
    ),
    NoteCode.SAMPLED_BY_LABEL: _describe_sampled,
    NoteCode.LABEL_NOISE: _describe_noise,
    NoteCode.CLUSTERED: lambda values: f"tests account for clustering by `{values['column']}`",
    NoteCode.CLUSTERS_COMPARED: lambda values: (
        f"intervals and verdicts account for {plural(values['n'], 'cluster')} of rows"
    ),
    NoteCode.IMPORTANCE_WEIGHTED: lambda _: (
        "values are importance-weighted; the verdict, tests and tables of bins describe the sample"
    ),
    NoteCode.EQUAL_COUNTS: _describe_equal_counts,
    NoteCode.FEWER_BINS: _describe_fewer_bins,
    NoteCode.BINS_TOO_LARGE: _describe_large_bins,
    NoteCode.BINS_TOO_SMALL: _describe_small_bins,
    NoteCode.P_VALUES_ADJUSTED: lambda values: (
        f"p-values of bins are adjusted for multiple testing ({values['method']})"
    ),
    NoteCode.GROUPED_SCORES: _describe_grouped_scores,
    NoteCode.GROUPED_REGION: lambda values: (
        f"the scope consists of whole cells: its lowest score is {values['lowest']:.6g}"
    ),
    NoteCode.GROUPED_DRAWS: _describe_grouped_draws,
    NoteCode.COARSE_GRID: _describe_coarse_grid,
    NoteCode.COLUMN_CONSTANT: lambda values: f"`{values['column']}` has a single value and was not searched",
    NoteCode.COLUMN_OF_NAMES: _describe_names,
    NoteCode.COLUMN_UNSUPPORTED: lambda values: (
        f"`{values['column']}` has the type {values['type']} and was not searched"
    ),
    NoteCode.COLUMNS_NOT_PAIRED: _describe_not_paired,
    NoteCode.SLICES_TRUNCATED: lambda values: f"only the first {values['limit']} slices are listed",
    NoteCode.SEGMENTS_UNKNOWN: lambda values: (
        f"{plural(values['n'], 'row')} of segments unknown to the map got the common map"
    ),
    NoteCode.RECALIBRATED: lambda _: "recalibrated predictions are checked; the original ones are the baseline",
}
