"""The rules of a release gate, and the small TOML file they are kept in."""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from pathlib import Path
from typing import Any, Literal, get_args

from truecal._errors import did_you_mean, option, point_to, speak_plainly
from truecal.metrics import (
    METRICS,
    PROBABILITY,
    Metric,
    Relative,
    Tolerance,
    Unit,
    as_tolerance,
    check_significance,
    find_metric,
)
from truecal.observations import Labelling, Multiclass
from truecal.reading import ScoreScale
from truecal.results import register

Kind = Literal["verdict", "value", "least", "excess", "upper", "p_value", "worse", "non_inferior", "dropped"]
Need = Literal["verdict", "value", "reference", "interval", "difference", "account"]
LEVEL = 0.01  # of evidence, in a rule that names no other
LEAST_CHANCE = 1e-6  # that redrawn labels can measure: a million of them already take long

# What each kind looks at, and what it says.
KINDS: dict[str, tuple[Need, str]] = {
    "verdict": ("verdict", "consistent with the data"),
    "value": ("value", "{metric} at most {limit}"),
    "least": ("value", "{metric} at least {limit}"),
    "excess": ("reference", "{metric} at most {limit} above chance"),
    "upper": ("interval", "upper end of the interval of {metric} at most {limit}"),
    "p_value": ("reference", "p-value of {metric} at least {limit}"),
    "worse": ("difference", "{metric} not shown to be more than {limit} {beyond} the baseline"),
    "non_inferior": ("difference", "{metric} shown to be at most {limit} {beyond} the baseline"),
    "dropped": ("account", "share of dropped rows at most {limit}"),
}
# The keys of a file that hold a limit, and the kind of rule that each makes.
LIMITS: dict[str, Kind] = {
    "max_value": "value",
    "min_value": "least",
    "max_excess": "excess",
    "max_upper": "upper",
    "min_p_value": "p_value",
    "max_worse": "worse",
    "non_inferior": "non_inferior",
    "max_dropped": "dropped",
}
CHOICES = (
    "model",
    "segment",
    "multiclass",
    "min_rows",
    "above",
    "top",
    "tolerance",
    "significance",
    "allow_cannot_tell",
)
KEYS = ("verdict", "metric", *CHOICES, *LIMITS)
LABELLING = ("kept_negatives", "kept_positives", "flip")
DATA = (*LABELLING, "cluster", "score_scale")  # the keys of [data]
EXAMPLE = "[[rule]]\nverdict = true"


@register
@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that must hold, and what it must hold for.

    A rule passes and fails on evidence alone. It fails where the data show that it is broken, and passes where they
    could have shown it and did not; otherwise it cannot tell.

    Attributes
    ----------
    kind : str
        What is judged.

        - "verdict": the verdict is "consistent"; it fails where that is "off";
        - "value": the metric is at most `limit`;
        - "least": the metric is at least `limit`, for those that should be large, such as a net benefit, or should have
          a value between bad ones, such as the slope;
        - "excess": the metric minus what it would be by chance is at most `limit`;
        - "upper": the upper end of the metric's interval is at most `limit`;
        - "p_value": the p-value of the null reference is at least `limit`; of segments, the adjusted one;
        - "worse": the metric minus that of the baseline is not shown to be above `limit`: this fails where the whole
          paired interval of the difference lies above it, and passes otherwise;
        - "non_inferior": that difference is shown to be at most `limit`: this passes where the whole paired interval
          lies at or below it, fails where the whole interval lies above it, and cannot tell otherwise;
        - "dropped": the share of rows that were dropped when the data were read is at most `limit`.

        A value, an excess or an upper end beyond its limit fails where the whole interval of the metric lies beyond the
        limit and the verdict is "off"; a metric that is about more than calibration, such as log loss, needs no such
        verdict. Nothing passes where the verdict cannot tell. Differences are those of `compare`: of distances from
        the best value where that lies between bad ones, and turned round where higher is better.
    limit : float, optional
        In percent for test-based metrics such as Local TCE, a probability for gap metrics and p-values, a share for
        "dropped"; none for "verdict".
    metric : str
        The metric's name, such as "ltce", "slope" or "net_benefit@0.05".
    model, segment : str
        Shell-style patterns (`*`, `?`, `[abc]`) of names. Without `segment` the rule holds for the whole data set, with
        it for each segment that matches; p-values are then adjusted by Holm's procedure for their number.
    multiclass : "top-label" or "classwise", optional
        What the rule holds for where there are several classes: the most probable one, as by default, or each class
        against the rest, with p-values adjusted for their number.
    min_rows : int
        With fewer rows it cannot tell.
    above, top, tolerance : optional
        As in `evaluate`: the predictions that are judged, and how far these may be off. The options of `check` hold
        where a rule has none of its own. The top of segments is that of all rows.
    significance : float
        The level of evidence: p-values up to it show that a model is off, and intervals have the confidence 1 -
        significance.
    allow_cannot_tell : bool
        Let pass what the verdict cannot tell. What was not computed, does not exist or has fewer rows than `min_rows`
        does not pass even so.

    Examples
    --------
    >>> print(Rule("verdict"))
    consistent with the data
    >>> print(Rule("value", 15, model="fraud-*"))
    ltce at most 15 %
    """

    kind: Kind
    limit: float | None = None
    _: KW_ONLY
    metric: str = "ltce"
    model: str = "*"
    segment: str | None = None
    multiclass: Multiclass = None
    min_rows: int = 0
    above: float | None = None
    top: int | float | None = None
    tolerance: Tolerance | None = None
    significance: float = LEVEL
    allow_cannot_tell: bool = False

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"`kind` must be one of {', '.join(get_args(Kind))}; it is {self.kind!r}.")
        for name in ("metric", "model", "segment"):
            value = getattr(self, name)
            if not ((isinstance(value, str) and value) or (value is None and name == "segment")):
                raise ValueError(f"`{name}` must be text that is not empty; it is {value!r}.")
        if isinstance(self.min_rows, bool) or not isinstance(self.min_rows, int) or self.min_rows < 0:
            raise ValueError(f"`min_rows` must be a whole number of at least 0; it is {self.min_rows!r}.")
        if self.multiclass not in (None, *get_args(get_args(Multiclass)[0])):
            raise ValueError(f'`multiclass` must be "top-label" or "classwise"; it is {self.multiclass!r}.')
        if self.multiclass == "classwise" and (self.segment is not None or self.top is not None):
            raise ValueError("`segment` and `top` must be left out of a rule for each of several classes.")
        if self.each and self.needs in ("interval", "difference"):
            name = "segment" if self.segment is not None else "multiclass"
            raise ValueError(
                f"`{name}` must be left out of a rule of kind {self.kind!r}; it is {getattr(self, name)!r}.\n\n"
                "Hint: verdict, value, excess and p_value are judged for segments and classes."
            )
        self._check_choices()
        named = find_metric(self.metric)
        if self.needs == "difference" and isinstance(named, Metric) and named.rejection is None:
            raise ValueError(
                f"`metric` must be test-based or without bins in a rule of kind {self.kind!r}, such as 'ltce' or "
                f"'log_loss'; it is {self.metric!r}: the interval of its difference would cover less than it says."
            )
        self._check_limit()

    def _check_choices(self) -> None:
        check_significance(self.significance)
        if self.needs in ("interval", "difference") and self.significance < LEAST_CHANCE:
            raise ValueError(
                f"{option('significance')} of a rule of kind {self.kind!r} must be at least {LEAST_CHANCE:g}, since "
                f"its interval is measured by redrawn labels; it is {self.significance!r}."
            )
        if not isinstance(self.allow_cannot_tell, bool):
            raise TypeError(f"{option('allow_cannot_tell')} must be true or false; it is {self.allow_cannot_tell!r}.")
        if self.above is not None and self.top is not None:
            raise ValueError(f"One of {option('above')} and {option('top')} may be given, not both.")
        for name, value in (("above", self.above), ("top", self.top)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, Real)):
                raise TypeError(f"{option(name)} must be a number; it is {value!r}.")
        if self.above is not None and not 0 <= self.above <= 1:
            raise ValueError(f"{option('above')} must lie in [0, 1]; it is {self.above!r}.")
        if self.top is not None and not 0 < self.top < math.inf:
            raise ValueError(f"{option('top')} must be above 0; it is {self.top!r}.")
        object.__setattr__(self, "tolerance", as_tolerance(self.tolerance))

    def _check_limit(self) -> None:
        limit = self.limit
        if self.kind == "verdict":
            if limit is not None:
                raise ValueError(f"{option('limit')} must be left out of a rule of kind 'verdict'; it is {limit!r}.")
            return
        if isinstance(limit, bool) or not isinstance(limit, Real):
            raise TypeError(f"{option('limit')} must be a number; it is {limit!r}.")
        if self.kind == "p_value":
            if not 0 < limit < 1:
                raise ValueError(f"{option('limit')} of a p-value must lie between 0 and 1; it is {limit!r}.")
            if limit < LEAST_CHANCE:
                raise ValueError(
                    f"{option('limit')} of a p-value must be at least {LEAST_CHANCE:g}, since it is measured by "
                    f"redrawn labels; it is {limit!r}."
                )
            object.__setattr__(self, "limit", float(limit))
            return
        low, top = max(self.unit.bottom, -1e300), min(self.unit.top, 1e300)
        if self.kind not in ("value", "least", "upper", "dropped"):
            low = -top
        if not low <= limit <= top:
            gap = self.unit == PROBABILITY
            hint = "\n\nHint: gap metrics are probabilities, not percentages." if gap else ""
            raise ValueError(
                f"{option('limit')} of the {self.kind} of {self.metric!r} must lie in [{low:g}, {top:g}]; it is "
                f"{limit!r}.{hint}"
            )
        object.__setattr__(self, "limit", float(limit))

    @property
    def unit(self) -> Unit:
        """The unit of the limit: that of the named metric; without one for a metric of your own."""
        if self.kind in ("p_value", "dropped"):
            return PROBABILITY
        named = find_metric(self.metric)
        return Unit() if named is None else named.unit

    @property
    def each(self) -> bool:
        """Whether it holds for each of several segments or classes."""
        return self.segment is not None or self.multiclass == "classwise"

    @property
    def needs(self) -> Need:
        """What must be there to judge by, such as "reference" or "interval"."""
        return KINDS[self.kind][0]

    def __str__(self) -> str:
        limit = "" if self.limit is None else f"{self.limit:.10g}{self.unit.symbol}"
        named = find_metric(self.metric)
        beyond = (
            "above" if named is None or named.bad == "high" else "below" if named.bad == "low" else "further off than"
        )
        return KINDS[self.kind][1].format(metric=self.metric, limit=limit, beyond=beyond)


def read_rules(path: str | os.PathLike[str], *, metrics: Iterable[str] = METRICS) -> tuple[Rule, ...]:
    """Read the rules of a TOML file.

    Each `[[rule]]` must have `verdict = true` or at least one limit: `max_value`, `min_value`, `max_excess`,
    `max_upper`, `min_p_value`, `max_worse`, `non_inferior`, `max_dropped`. Each of these becomes a `Rule`. It may have
    `metric`, `model`, `segment`, `multiclass`, `min_rows`, `above`, `top`, `tolerance`, `significance` and
    `allow_cannot_tell`, as in `Rule`. A `tolerance` is a number, or a share of the prediction as text: "10%".

    Parameters
    ----------
    path : path
        The file.
    metrics : names
        The metrics that a rule may name: those of `truecal.METRICS`, unless yours are others.

    Examples
    --------
    >>> import pathlib, tempfile, truecal
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "gate.toml")
    ...     _ = path.write_text('[[rule]]\\nverdict = true\\nmax_value = 15\\nmodel = "fraud-*"')
    ...     rules = truecal.gate.read_rules(path)
    >>> [str(rule) for rule in rules]
    ['consistent with the data', 'ltce at most 15 %']
    """
    place, known = os.fspath(path), list(metrics)
    raw = _parse(place)
    for key in raw:
        if key not in ("rule", "data"):
            raise ValueError(
                f"{place}: a file of rules holds tables [[rule]], and [data] for how rows got there; it holds "
                f"`{key}`.\n\n{_add()}"
            )
    tables = raw.get("rule", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        hint = "\n\nHint: write [[rule]] in double brackets." if isinstance(tables, dict) else f"\n\n{_add()}"
        raise ValueError(f"{place}: `rule` must be a list of tables; it is {_shorten(tables)}.{hint}")
    if not tables:
        raise ValueError(f"{place}: a file of rules must hold at least one; it holds none.\n\n{_add()}")
    return tuple(rule for i, table in enumerate(tables, 1) for rule in _rules(f"{place}, rule {i}", table, known))


def read_labelling(path: str | os.PathLike[str]) -> Labelling | None:
    """Read how rows got their labels from the table `[data]` of a file of rules; None where it has none.

    It may have `kept_negatives`, `kept_positives` and `flip`, as in `truecal.read`.

    Examples
    --------
    >>> import pathlib, tempfile, truecal
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "gate.toml")
    ...     _ = path.write_text("[data]\\nkept_negatives = 0.05\\n[[rule]]\\nverdict = true")
    ...     truecal.gate.read_labelling(path)
    Labelling(kept_negatives=0.05)
    """
    given = {name: value for name, value in _read_data(path).items() if name in LABELLING}
    if not given:
        return None
    try:
        with speak_plainly():
            return Labelling(**given)
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)}: {error}") from error


def read_cluster(path: str | os.PathLike[str]) -> str | None:
    """Read the column of customers, patients or documents from the table `[data]` of a file of rules; None where it
    names none."""
    found = _read_data(path).get("cluster")
    if found is not None and not (isinstance(found, str) and found):
        raise ValueError(f"{os.fspath(path)}: `cluster` must name a column; it is {_shorten(found)}.")
    return found


def read_scale(path: str | os.PathLike[str]) -> ScoreScale | None:
    """Read what scores are from the table `[data]` of a file of rules: "probability", "percent" or "logit"; None where
    it does not say."""
    found: ScoreScale | None = _read_data(path).get("score_scale")
    if found is not None and found not in get_args(ScoreScale):
        known = ", ".join(f'"{name}"' for name in get_args(ScoreScale))
        raise ValueError(f"{os.fspath(path)}: `score_scale` must be one of {known}; it is {_shorten(found)}.")
    return found


def _read_data(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The table `[data]` of a file of rules."""
    place = os.fspath(path)
    table = _parse(place).get("data", {})
    unknown = [key for key in table if key not in DATA] if isinstance(table, dict) else [table]
    if unknown:
        raise ValueError(
            f"{place}: [data] is a table of {', '.join(DATA)}; it has {_shorten(unknown[0])}."
            f"{did_you_mean(unknown[0], DATA)}"
        )
    return dict(table)


def _parse(place: str) -> dict[str, Any]:
    try:
        text = Path(place).read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise FileNotFoundError(f"The file of rules {place!r} must exist; it does not.") from error
    except OSError as error:
        raise type(error)(f"The file of rules {place!r} must be readable; it is not: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{place}: a file of rules must be TOML, in UTF-8; byte {error.start} is not.") from error
    except ValueError as error:  # a zero byte in the path
        raise ValueError(f"The file of rules {place!r} must exist; it is no path.") from error
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{place}: a file of rules must be TOML; it is not: {error}.\n\n{_add()}") from error


def _rules(place: str, table: Mapping[str, Any], metrics: list[str]) -> Iterable[Rule]:
    for key in table:
        if key not in KEYS:
            error = ValueError(
                f"{place}: a rule has the keys {', '.join(KEYS)}; it has `{key}`.{did_you_mean(key, KEYS)}"
            )
            raise point_to("gate.md", error)
    kinds = [key for key in ("verdict", *LIMITS) if key in table]
    if not kinds:
        error = ValueError(
            f"{place}: a rule must have `verdict = true` or a limit, one or several of {', '.join(LIMITS)}; it has "
            "none."
        )
        raise point_to("gate.md", error)
    if table.get("verdict", True) is not True:
        raise ValueError(f"{place}: `verdict` must be true, or left out; it is {_shorten(table['verdict'])}.")
    metric = table.get("metric", "ltce")
    if metric not in metrics and find_metric(metric) is None:
        raise ValueError(
            f"{place}: `metric` must be one of {', '.join(metrics)}, or net_benefit@0.05 for that threshold; it is "
            f"{_shorten(metric)}.{did_you_mean(metric, metrics)}"
        )
    for key in kinds:
        what = {key: table[key] for key in CHOICES if key in table}
        what |= (
            {"kind": "verdict"} if key == "verdict" else {"kind": LIMITS[key], "limit": table[key], "metric": metric}
        )
        try:
            with speak_plainly():
                if "tolerance" in what:
                    what["tolerance"] = read_tolerance(what["tolerance"])
                rule = Rule(**what)
        except (TypeError, ValueError) as error:
            # the limit's key is the file's word for it
            raise ValueError(f"{place}: {str(error).replace('`limit`', f'`{key}`', 1)}") from error
        yield rule


def read_tolerance(given: object) -> Tolerance | None:
    """A tolerance as files and command lines have it: a number, or a share of the prediction such as "10%".

    Examples
    --------
    >>> read_tolerance(0.01), read_tolerance("10%")
    (Absolute(value=0.01), Relative(value=0.1))
    """
    text = str(given).strip()
    try:
        return Relative(float(text[:-1]) / 100) if text.endswith("%") else as_tolerance(float(text))
    except ValueError as error:
        raise ValueError(
            f"{option('tolerance')} must be a number from 0 to below 1, or a share of the prediction such as 10%; it "
            f"is {given!r}."
        ) from error


def _add() -> str:
    return f"Hint: the smallest file of rules is\n{EXAMPLE}"


def _shorten(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
