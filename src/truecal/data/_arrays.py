"""Convert loose columns (lists, arrays, dataframe columns, tensors) to checked NumPy arrays, and several classes to the
most probable one or to each against the rest.

Values are read through NumPy's array protocol; no dataframe or tensor library is imported.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from truecal._errors import option
from truecal._options import Multiclass
from truecal._threads import count_processors, map_chunks
from truecal.data._row_counts import Reason, ReasonKind

AnyArray = NDArray[Any]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Numbers = TypeVar("Numbers", Ints, Floats)
THREADED_ROWS = 1_000_000  # from which on rows are counted on several threads
ROWS_PER_THREAD = 1 << 16  # rows below which a thread takes longer to start than to count them
COLUMNS_AT_ONCE = 16  # of a matrix that are read together: one or two cache lines of a row
PROBABILITIES_AT_ONCE = 1 << 18  # that are checked together: they fit a cache
# the sums of a row's probabilities that are accepted; the factor lets 0.999 and 1.001 pass in spite of rounding
SUM = 1 - 1e-3 * (1 + 1e-6), 1 + 1e-3 * (1 + 1e-6)
NORMALIZE = "apply a softmax to logits, divide rounded probabilities by their sum, or judge single columns"

READY = "?bBhHiIlLqQfd"  # labels that the kernel reads

MISSING_HINT = (
    'drop or fill these rows first, or `evaluate(..., missing="drop")`; truecal never guesses a missing value'
)


def read_scores(y_prob: Any) -> AnyArray:
    """Read scores into a contiguous float32 or float64 array. Their range is checked later, with the labels."""
    array = read_column(y_prob, "y_prob")
    if array.dtype == object:
        array = objects_to_floats(array, "y_prob")
    if array.dtype.kind not in "biuf":
        raise TypeError(f"`y_prob` must hold numbers in [0, 1]; it holds {array.dtype}, the first is {show(array, 0)}.")
    if array.dtype.itemsize == 2 and array.dtype.kind == "f":
        return array.astype(np.float32)
    kind = np.float32 if array.dtype.kind == "f" and array.dtype.itemsize == 4 else np.float64
    return np.ascontiguousarray(array, dtype=kind)


def read_labels(y_true: Any, pos_label: Any = None) -> AnyArray:
    """Read labels into a contiguous array that the kernel accepts. Their values are checked later, with the scores."""
    array = read_column(y_true, "y_true")
    if array.dtype == object:
        _check_missing(array, "y_true")
        array = np.array(array.tolist()) if array.size else array.astype(np.float64)
        if array.ndim != 1 or array.dtype == object:
            raise TypeError("`y_true` must hold one plain label for each row: a number, a truth value or a string.")
    if pos_label is not None:
        return _match_label(array, pos_label)
    if array.dtype.kind not in "biuf":
        classes = _list_classes(array)
        raise ValueError(
            f"`y_true` must hold 0 and 1; it holds {array.dtype.name} values such as {classes}.\n\n"
            f"Hint: name the positive class: {_suggest_labels(array)}."
        )
    if array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):
        array = array.astype(np.float64)
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))


def read_numbers(values: Any, name: str) -> AnyArray:
    """Read a column of numbers into a float64 array."""
    array = read_column(values, name)
    if array.dtype == object:
        array = objects_to_floats(array, name)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{option(name)} must hold numbers; it holds {array.dtype}.")
    return array.astype(np.float64)


def read_ids(cluster: Any, size: int) -> AnyArray:
    """Read a column that identifies clusters, of any type."""
    array = read_column(cluster, "cluster")
    check_lengths(cluster=len(array), y_prob=size)
    return array


def drop_missing(y_true: Any, y_prob: Any, cluster: Any, *others: Any) -> tuple[list[Any], dict[Reason, AnyArray]]:
    """Return columns without the rows whose label, score or cluster is missing, and which rows these are, by reason.

    `cluster` and `others` are columns of the same rows, or None. If several values are missing, the score is the
    reason, then the label.
    """
    label, score = _read_or_mask(y_true, "y_true"), _read_or_mask(y_prob, "y_prob")
    check_lengths(y_true=len(label[0]), y_prob=len(score[0]))
    check_indexes({"y_true": y_true, "y_prob": y_prob})
    null = ReasonKind.NULL
    reasons = {Reason("y_prob", null): score[1], Reason("y_true", null): label[1] & ~score[1]}
    kept = ~(label[1] | score[1])
    if cluster is not None:
        array, missing = _read_or_mask(cluster, "cluster")
        check_lengths(cluster=len(array), y_prob=len(kept))
        cluster = array
        reasons[Reason("cluster", null)] = missing & kept
        kept &= ~missing
    columns: list[Any] = [label[0][kept], score[0][kept]]
    for other in (cluster, *others):
        if other is None:
            columns.append(None)
            continue
        array = read_column(other, "values")
        check_lengths(y_true=len(kept), values=len(array))
        columns.append(array[kept])
    return columns, {reason: rows for reason, rows in reasons.items() if rows.any()}


def _read_or_mask(values: Any, name: str) -> tuple[AnyArray, Bools]:
    """Return a column or a matrix, and which of its rows have a missing value."""
    if is_masked(values):
        array, missing = np.asarray(values.data), np.ma.getmaskarray(values)
    else:
        array = to_numpy(values, name)
        missing = np.zeros(array.shape, dtype=bool)
    if array.ndim == 0:
        raise TypeError(f"`{name}` must be a column of values; it is {type(values).__name__}.")
    if array.dtype.kind == "f":
        missing = missing | np.isnan(array)
    elif array.dtype == object:
        null_objects = np.array([is_missing(value) for value in array.ravel()], dtype=bool).reshape(array.shape)
        missing = missing | null_objects
    return array, np.asarray(missing.reshape(len(array), -1).any(axis=1)) if len(array) else np.zeros(0, dtype=bool)


def read_pair(y_true: Any, y_prob: Any, pos_label: Any = None) -> tuple[AnyArray, AnyArray]:
    """Read scores and labels of the same rows for the kernel, which checks their values."""
    if pos_label is None and _is_ready(y_prob, "df") and _is_ready(y_true, READY) and len(y_true) == len(y_prob) > 0:
        return y_prob, y_true
    score, label = read_scores(y_prob), read_labels(y_true, pos_label)
    check_lengths(y_true=len(label), y_prob=len(score))
    check_indexes({"y_true": y_true, "y_prob": y_prob})
    if not len(score):
        raise ValueError("`y_true` and `y_prob` must hold at least one row; they are empty.")
    return score, label


def _is_ready(values: Any, types: str) -> bool:
    """Whether values are a column as the kernel reads it, of one of some types by NumPy's letters."""
    if type(values) is not np.ndarray or values.ndim != 1 or not values.flags.c_contiguous:
        return False
    kind = values.dtype
    return kind.char in types and kind.isnative


def check_values(score: AnyArray, label: AnyArray, scores_ok: bool, labels_ok: bool) -> None:
    """Raise an error if the kernel refused some scores or labels."""
    if not labels_ok:
        raise_for_labels(label, score)
    if not scores_ok:
        raise_for_scores(score)


def _raise_for_change() -> NoReturn:
    """Raise the error for values that the kernel refused and that are valid now, or were others a moment before."""
    raise RuntimeError(
        "`y_true` and `y_prob` must not change while they are read; another thread or process writes to them.\n\n"
        "Hint: pass copies, as of `np.array(y_prob)`, made while nothing writes to them."
    )


def count_threads(rows: int, threads: int | None = None) -> int:
    """Return how many threads count rows: at most as many as were asked for.

    By default one for fewer than a million rows and, from there on, all cores that the process may use. No result
    depends on it.
    """
    if threads is None:
        return 1 if rows < THREADED_ROWS else min(count_processors(), rows // THREADED_ROWS + 1)
    return min(int(threads), rows // ROWS_PER_THREAD + 1)


def as_tuple(names: str | Iterable[str] | None) -> tuple[str, ...]:
    """Return one name, several names or None as a tuple."""
    return () if names is None else (names,) if isinstance(names, str) else tuple(names)


def check_indexes(columns: Mapping[str, Any]) -> None:
    """Raise an error if columns of pandas name their rows differently: pairs by position would be a guess."""
    indexed = [(name, values.index) for name, values in columns.items() if hasattr(_index(values), "equals")]
    for name, index in indexed[1:]:
        first, other = indexed[0]
        if other.equals(index) or len(other) != len(index) or not (differ := np.asarray(other != index)).any():
            continue
        position = int(np.argmax(differ))
        names = " and ".join(repr(row_names[position : position + 1].tolist()[0]) for row_names in (other, index))
        raise ValueError(
            f"`{first}` and `{name}` must have the same index, since rows are paired; at position {position} the "
            f"indexes have {names}.\n\nHint: if rows belong together by position, give `.to_numpy()` of both; if by "
            f"index, `{name}.loc[{first}.index]`."
        )


def _index(values: Any) -> Any:
    return getattr(values, "index", None)


def check_lengths(**lengths: int) -> None:
    """Raise an error if the columns differ in length."""
    if len(set(lengths.values())) > 1:
        sizes = ", ".join(f"`{name}` has {size}" for name, size in lengths.items())
        raise ValueError(f"Inputs must have one value for each row; {sizes}.")


def infer_scale(score: AnyArray) -> Literal["rounded", "logit", "negative", "percent", ""]:
    """Infer what numbers outside of [0, 1] may be: rounded probabilities, logits, all negative, or percentages.

    "" if nothing fits. Several percentages must be above 1. Logits lie on both sides of [0, 1], or most of them below.
    """
    low, high = float(score.min()), float(score.max())
    if not (np.isfinite(low) and np.isfinite(high)):
        return ""
    if low >= -1e-5 and high <= 1 + 1e-5:
        return "rounded"
    if high < 0:
        return "negative"
    if low < 0 and (high > 1 or (low < -1 and 2 * np.count_nonzero(score < 0) > len(score))):
        return "logit"
    above = np.count_nonzero(score > 1)
    return "percent" if low >= 0 and 1.5 < high <= 100 and above > max(1, 0.01 * len(score)) else ""


def raise_for_scores(score: AnyArray) -> NoReturn:
    """Raise the error that explains why the kernel refused some scores."""
    nan = np.isnan(score)
    if nan.any():
        first = int(np.argmax(nan))
        raise ValueError(
            f"`y_prob` must not be missing; {count(nan)} NaN, the first at position {first}.\n\nHint: {MISSING_HINT}."
        )
    bad = ~((score >= 0) & (score <= 1))
    if not bad.any():
        _raise_for_change()
    first = int(np.argmax(bad))
    hint = {
        "rounded": "these are off by rounding; clip them with `np.clip(y_prob, 0, 1)`",
        "logit": "these look like logits; apply a sigmoid first",
        "negative": "these look like logits, or logarithms of probabilities; apply a sigmoid, or `np.exp`, first",
        "percent": "these look like percentages; divide them by 100",
        "": "",
    }[infer_scale(score)]
    raise ValueError(
        f"`y_prob` must lie in [0, 1]; {count(bad)} not, the first is {show(score, first)} at position {first}."
        + (f"\n\nHint: {hint}." if hint else "")
    )


def raise_for_labels(label: AnyArray, score: AnyArray) -> NoReturn:
    """Raise the error that explains why the kernel refused some labels."""
    if label.dtype.kind == "f" and np.isnan(label).any():
        nan = np.isnan(label)
        raise ValueError(
            f"`y_true` must not be missing; {count(nan)} NaN, the first at position {int(np.argmax(nan))}."
            f"\n\nHint: {MISSING_HINT}."
        )
    bad = (label != 0) & (label != 1)
    if not bad.any():
        _raise_for_change()
    first = int(np.argmax(bad))
    values = np.unique(label)
    if label.dtype.kind == "f" and values[0] >= 0 and values[-1] <= 1 and np.isin(score, (0, 1)).all():
        hint = "the arguments look swapped; the labels come first: `(y_true, y_prob)`"
    elif len(values) <= 2:
        hint = f"name the positive class: {_suggest_labels(values)}"
    elif len(values) <= 100 and label.dtype.kind in "iu":
        hint = "for several classes pass probabilities of shape (rows, classes)"
    else:
        hint = ""
    raise ValueError(
        f"`y_true` must hold 0 and 1; {count(bad)} not, the first is {show(label, first)} at position {first}."
        + (f"\n\nHint: {hint}." if hint else "")
    )


def as_matrix(y_prob: Any) -> AnyArray | None:
    """Return the probabilities of several classes as a matrix, or None for a single column."""
    shape = getattr(y_prob, "shape", None)
    if shape is not None and len(shape) != 2:
        return None
    if shape is None and not (isinstance(y_prob, (list, tuple)) and y_prob and np.ndim(y_prob[0]) == 1):
        return None
    matrix = to_numpy(y_prob, "y_prob")
    return matrix if matrix.ndim == 2 and matrix.shape[1] > 1 else None


def check_class_options(multiclass: Multiclass, labels: Sequence[Any] | None) -> None:
    """Raise an error if options for several classes are given for a single column."""
    for name, value in (("multiclass", multiclass), ("labels", labels)):
        if value is not None:
            raise ValueError(f"`{name}` needs `y_prob` of shape (rows, classes); it has a single column.")


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """The probabilities of several classes, a column each, and the position of each row's class among them."""

    names: tuple[Any, ...]
    target: NDArray[np.int64]
    probabilities: AnyArray
    chosen: NDArray[np.int64]  # the most probable class of each row

    @classmethod
    def of(
        cls,
        y_true: Any,
        probabilities: AnyArray,
        labels: Sequence[Any] | None,
        pos_label: Any = None,
        threads: int | None = None,
    ) -> Classes:
        """Check labels and probabilities. `labels` names the columns' classes; 0, 1, ... by default."""
        refuse_pos_label(pos_label)
        size, classes = probabilities.shape
        names = list(range(classes)) if labels is None else list(labels)
        if len(names) != classes or len(set(names)) != classes:
            raise ValueError(
                f"{option('labels')} must name the {classes} columns of `y_prob` once each; it is {names!r}."
            )
        target = _find_classes(y_true, names, size)
        flat = read_scores(probabilities.ravel())
        matrix = flat.reshape(size, classes)
        step = max(PROBABILITIES_AT_ONCE // classes, 1)
        blocks = [matrix[begin : begin + step] for begin in range(0, size, step)]

        def look(first: int, last: int) -> list[tuple[bool, Any, Any]]:
            return [_look_at_rows(block) for block in blocks[first:last]]

        checked = map_chunks(look, len(blocks), 1, threads if len(blocks) > 1 else 1) if blocks else []
        if not all(fine for fine, _, _ in checked):
            raise_for_scores(flat)
        sums, chosen = (np.concatenate([answer[i] for answer in checked] or [np.zeros(0, np.int64)]) for i in (1, 2))
        off = ~((sums >= SUM[0]) & (sums <= SUM[1]))
        if off.any():
            first = int(np.argmax(off))
            raise ValueError(
                f"The rows of `y_prob` must sum to 1 within 0.001; {int(off.sum())} of {size} do not, the first to "
                f"{sums[first].item():.4g} at position {first}.\n\nHint: {NORMALIZE}."
            )
        return cls(tuple(names), target, matrix, chosen)

    def top(self) -> tuple[Bools, AnyArray]:
        """Return whether the most probable class of each row is correct, and its probability."""
        return self.target == self.chosen, self.probabilities[np.arange(len(self.chosen)), self.chosen]

    def columns(self, first: int = 0, last: int | None = None) -> Iterator[tuple[Bools, AnyArray]]:
        """Yield the labels and scores of each class against the rest, or of some of the classes.

        Several columns are read together, since those of a row are neighbours in memory.
        """
        last = len(self.names) if last is None else last
        for begin in range(first, last, COLUMNS_AT_ONCE):
            block = np.ascontiguousarray(self.probabilities[:, begin : min(begin + COLUMNS_AT_ONCE, last)].T)
            for index, score in enumerate(block, begin):
                yield self.target == index, score


def _look_at_rows(block: AnyArray) -> tuple[bool, AnyArray, AnyArray]:
    """Whether all probabilities of some rows lie in [0, 1], their sums, and the most probable class of each."""
    fine = bool(block.min(initial=0.0) >= 0 and block.max(initial=1.0) <= 1)  # NaN is neither
    return fine, block.sum(axis=1, dtype=np.float64), block.argmax(axis=1)


def refuse_pos_label(pos_label: Any) -> None:
    """Raise an error if a positive label is named with several classes."""
    if pos_label is not None:
        raise ValueError(
            f"{option('pos_label')} is for two classes; name the columns' classes with {option('labels')}."
        )


def choose_multiclass(multiclass: Multiclass, classes: int) -> Literal["classwise", "top-label"]:
    """Return how several classes are evaluated: by the most probable one unless the user chooses otherwise."""
    if multiclass not in (None, "classwise", "top-label"):
        raise ValueError(f'`multiclass` must be "top-label" or "classwise"; it is {multiclass!r}.')
    if classes == 2 and multiclass is None:
        raise ValueError(
            "`y_prob` must be one column for two classes; it has two.\n\nHint: pass `y_prob[:, 1]` to judge the "
            'positive class, or set `multiclass="top-label"` to judge the more probable one.'
        )
    return multiclass or "top-label"


def _find_classes(y_true: Any, names: Sequence[Any], size: int) -> NDArray[np.int64]:
    """The position of each label among the names."""
    labels = to_numpy(y_true, "y_true")
    if labels.ndim != 1:
        raise ValueError(f"`y_true` must have one dimension; its shape is {labels.shape}.")
    check_lengths(y_true=len(labels), y_prob=size)
    positions = np.full(size, -1)
    for index, name in enumerate(names):
        positions[np.asarray(labels == name)] = index
    if (positions < 0).any():
        first = int(np.argmax(positions < 0))
        shown = repr(list(names)) if len(names) <= 10 else f"{names[0]!r}, {names[1]!r}, ..., {names[-1]!r}"
        raise ValueError(
            f"`y_true` must hold the classes {shown}; at position {first} is {labels[first]!r}.\n\n"
            f"Hint: {option('labels')} names the classes in the order of the columns."
        )
    return positions


def read_column(values: Any, name: str) -> AnyArray:
    """Read a single column of any type."""
    array = to_numpy(values, name)
    if array.ndim == 0:
        raise TypeError(f"`{name}` must be a column of values; it is {type(values).__name__}.")
    if array.ndim != 1:
        hint = ""
        if array.ndim == 2 and array.shape[1] == 1:
            hint = f"\n\nHint: flatten it with `{name}.ravel()`."
        if hasattr(values, "columns"):
            hint = f"\n\nHint: pass one column of the frame, `{name}[...]`."
        raise ValueError(f"`{name}` must have one dimension; its shape is {array.shape}.{hint}")
    return array


def is_masked(values: Any) -> bool:
    """Whether values are a masked array; NumPy's module of these takes long to load, and may not be."""
    return "numpy.ma" in sys.modules and isinstance(values, np.ma.MaskedArray)


def find_distinct(values: AnyArray) -> AnyArray:
    """Return the distinct values in order as `np.unique` does, without loading the module of masked arrays."""
    values = np.sort(values)
    return values[np.append(True, values[1:] != values[:-1])] if len(values) else values


def to_numpy(values: Any, name: str) -> AnyArray:
    """Convert values to a NumPy array of any type and shape. Masked values and GPU tensors are errors."""
    if is_masked(values):
        mask = np.ma.getmaskarray(values)
        if mask.any():
            raise ValueError(
                f"`{name}` must not be missing; {count(mask)} masked, the first at position "
                f"{int(np.argmax(mask))}.\n\nHint: {MISSING_HINT}."
            )
        return np.asarray(values.data)
    if hasattr(values, "detach"):  # a tensor that carries gradients
        values = values.detach()
    if isinstance(values, (str, bytes, dict, set)) or values is None:
        raise TypeError(f"`{name}` must be a column of values; it is {type(values).__name__}.")
    try:
        return np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:
        hint = "\n\nHint: move it to the CPU as float32: `.float().cpu()`." if hasattr(values, "device") else ""
        raise TypeError(f"`{name}` cannot be read as an array: {error}{hint}") from error


def objects_to_floats(array: AnyArray, name: str) -> AnyArray:
    """Convert a column of Python objects to floats; raise an error unless they are numbers."""
    _check_missing(array, name)
    for position, value in enumerate(array):
        if isinstance(value, (str, bytes)) or np.ndim(value) != 0 or not hasattr(value, "__float__"):
            raise TypeError(
                f"`{name}` must hold numbers; at position {position} is {value!r} ({type(value).__name__})."
            )
    try:
        return array.astype(np.float64)
    except OverflowError as error:
        raise ValueError(f"`{name}` must hold numbers that a float can hold; one is too large.") from error


def _check_missing(array: AnyArray, name: str) -> None:
    missing = np.array([is_missing(value) for value in array], dtype=bool)
    if missing.any():
        raise_for_missing(name, missing)


def raise_for_missing(name: str, missing: Bools) -> NoReturn:
    """Raise the error that says which values are missing."""
    raise ValueError(
        f"`{name}` must not be missing; {count(missing)} null, the first at position {int(np.argmax(missing))}."
        f"\n\nHint: {MISSING_HINT}."
    )


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, NaT or pandas' NA."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(value))
    return isinstance(value, (float, np.floating)) and bool(np.isnan(value))


def _match_label(array: AnyArray, pos_label: Any) -> AnyArray:
    if array.dtype.kind == "f" and np.isnan(array).any():
        raise_for_labels(array, np.zeros(1))
    values = np.unique(array)
    if len(values) > 2:
        raise ValueError(
            f"`y_true` must hold two classes; it holds {len(values)}: {_list_classes(array)}.\n\n"
            "Hint: for several classes pass probabilities of shape (rows, classes)."
        )
    positive = np.asarray(array == pos_label)
    if positive.ndim == 0 or (len(values) == 2 and not positive.any()):
        raise ValueError(
            f"{option('pos_label')} must be one of the labels {_list_classes(array)}; it is {pos_label!r}."
        )
    return positive


def _suggest_labels(array: AnyArray) -> str:
    return " or ".join(f"`pos_label={value.item()!r}`" for value in np.unique(array)[:2])


def _list_classes(array: AnyArray) -> str:
    values = [value.item() for value in np.unique(array)[:4]]
    return ", ".join(repr(value) for value in values[:3]) + (", ..." if len(values) > 3 else "")


def show(array: AnyArray, position: int) -> str:
    """Return a value of an array as an error message shows it."""
    return repr(array[position].item()) if len(array) else "nothing"


def count(bad: AnyArray) -> str:
    """Return how many values are bad, for an error message: "3 of 5000 values are"."""
    count = int(np.count_nonzero(bad))
    return f"{count} of {bad.size} values {'is' if count == 1 else 'are'}"
