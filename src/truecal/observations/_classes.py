"""Several classes as several questions of yes or no."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from truecal._errors import option
from truecal.observations import _arrays as arrays
from truecal.observations._arrays import AnyArray

Multiclass = Literal["classwise", "top-label"] | None


def as_matrix(y_prob: Any) -> AnyArray | None:
    """Probabilities of several classes, or None for a single column."""
    shape = getattr(y_prob, "shape", None)
    if shape is not None and len(shape) != 2:
        return None
    if shape is None and not (isinstance(y_prob, (list, tuple)) and y_prob and np.ndim(y_prob[0]) == 1):
        return None
    matrix = arrays.to_numpy(y_prob, "y_prob")
    return matrix if matrix.ndim == 2 and matrix.shape[1] > 1 else None


def refuse_class_options(multiclass: Multiclass, labels: Sequence[Any] | None) -> None:
    """Refuse options for several classes where there is one column."""
    for name, value in (("multiclass", multiclass), ("labels", labels)):
        if value is not None:
            raise ValueError(f"`{name}` needs `y_prob` of shape (rows, classes); it has a single column.")


def one_vs_rest(
    y_true: Any, probabilities: AnyArray, multiclass: Multiclass, labels: Sequence[Any] | None, pos_label: Any
) -> dict[Any, tuple[AnyArray, AnyArray]]:
    """Labels and scores of each class against the rest, or of the most probable class."""
    if multiclass not in (None, "classwise", "top-label"):
        raise ValueError(f'`multiclass` must be "classwise" or "top-label"; it is {multiclass!r}.')
    if pos_label is not None:
        raise ValueError(
            f"{option('pos_label')} is for two classes; name the columns' classes with {option('labels')}."
        )
    size, classes = probabilities.shape
    if classes == 2 and multiclass is None:
        raise ValueError(
            "`y_prob` must be one column for two classes; its shape is "
            f'{probabilities.shape}.\n\nHint: pass `y_prob[:, 1]`, or say `multiclass="classwise"`.'
        )
    names = list(range(classes)) if labels is None else list(labels)
    if len(names) != classes or len(set(names)) != classes:
        raise ValueError(f"{option('labels')} must name the {classes} columns of `y_prob` once each; it is {names!r}.")
    target = arrays.to_numpy(y_true, "y_true")
    if target.ndim != 1:
        raise ValueError(f"`y_true` must have one dimension; its shape is {target.shape}.")
    arrays.check_lengths(y_true=len(target), y_prob=size)
    column = np.full(size, -1)
    for index, name in enumerate(names):
        column[np.asarray(target == name)] = index
    if (column < 0).any():
        first = int(np.argmax(column < 0))
        raise ValueError(
            f"`y_true` must hold the classes {names!r}; at position {first} is {target[first]!r}.\n\n"
            f"Hint: {option('labels')} names the classes in the order of the columns."
        )
    flat = arrays.scores(probabilities.ravel())
    if not ((flat >= 0) & (flat <= 1)).all():
        arrays.refuse_scores(flat)
    sums = flat.reshape(size, classes).sum(axis=1, dtype=np.float64)
    off = np.abs(sums - 1) > 0.01
    if off.any():
        first = int(np.argmax(off))
        raise ValueError(
            f"The rows of `y_prob` must sum to 1; {int(off.sum())} of {size} do not, the first to "
            f"{sums[first].item():.4g} at position {first}.\n\nHint: apply a softmax, or judge single columns."
        )
    if multiclass == "top-label":
        top = probabilities.argmax(axis=1)
        return {"top-label": (column == top, probabilities[np.arange(size), top])}
    return {name: (column == index, probabilities[:, index]) for index, name in enumerate(names)}
