"""The test-based reliability diagram in scikit-learn's way; scikit-learn itself is not imported."""

from __future__ import annotations

from typing import Any

import numpy as np

from truecal._errors import option
from truecal.analysis import evaluate
from truecal.plot import DiagramAxes, Limits, draw_test_based
from truecal.results import Result


class TestBasedReliabilityDisplay:
    """A test-based reliability diagram that keeps its numbers.

    Made by `from_predictions` or `from_estimator`; `plot` draws it again.

    Attributes
    ----------
    result_ : Result
        The numbers.
    name : str or None
        The model's name.
    axes_, ax_, figure_
        The three axes drawn last, the diagram's own among them and its figure.

    Examples
    --------
    >>> from truecal.sklearn import TestBasedReliabilityDisplay
    >>> y, p = [0, 1, 1, 0], [0.1, 0.7, 0.9, 0.3]
    >>> display = TestBasedReliabilityDisplay.from_predictions(y, p, name="mine")  # doctest: +SKIP
    """

    __test__ = False  # not a test, whatever pytest thinks of the name

    def __init__(self, result: Result, *, name: str | None = None) -> None:
        self.result_, self.name = result, name

    def plot(
        self, ax: Any = None, *, metric: str | None = None, scale: Limits | None = None
    ) -> TestBasedReliabilityDisplay:
        """Draw it, in the axes given or in a figure of its own."""
        self.axes_: DiagramAxes = draw_test_based(self.result_, metric, scale=scale, title=self.name, ax=ax)
        self.ax_ = self.axes_.main
        self.figure_ = self.ax_.get_figure(root=True)
        return self

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_prob: Any,
        *,
        name: str | None = None,
        ax: Any = None,
        scale: Limits | None = None,
        **options: Any,
    ) -> TestBasedReliabilityDisplay:
        """Evaluate predictions and draw them; the other options are those of `evaluate`."""
        return cls(evaluate(y_true, y_prob, **options), name=name).plot(ax, scale=scale)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        name: str | None = None,
        ax: Any = None,
        scale: Limits | None = None,
        pos_label: Any = None,
        **options: Any,
    ) -> TestBasedReliabilityDisplay:
        """Evaluate a fitted classifier of two classes and draw it; the second of its `classes_` is the positive one
        unless `pos_label` names the other."""
        if not hasattr(estimator, "predict_proba"):
            raise TypeError(
                f"A reliability diagram needs probabilities; {type(estimator).__name__} has no `predict_proba`."
            )
        classes = np.asarray(estimator.classes_).tolist()
        if len(classes) != 2:
            raise ValueError(
                f"The classifier must know two classes; it knows {len(classes)}.\n\nHint: for each class against the "
                "rest draw the results of `evaluate_classes`."
            )
        positive = classes[1] if pos_label is None else pos_label
        if positive not in classes:
            raise ValueError(f"{option('pos_label')} must be one of the classes {classes!r}; it is {positive!r}.")
        return cls.from_predictions(
            y,
            np.asarray(estimator.predict_proba(X))[:, classes.index(positive)],
            name=type(estimator).__name__ if name is None else name,
            ax=ax,
            scale=scale,
            pos_label=positive,
            **options,
        )
