"""The rules of a release gate, and the TOML file that holds them."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, get_args

from truecal._errors import add_page, did_you_mean, option, use_plain_names
from truecal._options import ScoreScale, check_option
from truecal.data import Multiclass, Sampling
from truecal.gate._kinds import LEAST_PROBABILITY, RULE_KINDS, KindName, Need, RuleKind
from truecal.metrics import METRICS, Relative, Tolerance, Unit, as_tolerance, check_significance, find_metric
from truecal.results import register

RULE_SIGNIFICANCE = 0.01  # of a rule that names no other
# the keys of a file that hold a limit, and the kind of rule that each becomes
LIMITS: dict[str, KindName] = {kind.key: kind.name for kind in RULE_KINDS.values() if kind.name != "verdict"}
CHOICES = (
    "model",
    "segment",
    "multiclass",
    "min_rows",
    "threshold",
    "top",
    "tolerance",
    "significance",
    "allow_inconclusive",
)
KEYS = ("verdict", "metric", *CHOICES, *LIMITS)
SAMPLING_KEYS = ("negative_rate", "positive_rate", "label_noise")
DATA = (*SAMPLING_KEYS, "cluster", "score_scale")  # the keys of [data]
EXAMPLE = "[[rule]]\nverdict = true"


@register
@dataclass(frozen=True, slots=True)
class Rule:
    """One requirement of a release gate, and the models and segments it applies to.

    A rule fails if the data show that it is violated, and passes if they could have shown a violation and did not.
    Otherwise it is inconclusive.

    Attributes
    ----------
    kind : str
        What is required.

        - "verdict": the verdict is "consistent"; the rule fails if it is "miscalibrated";
        - "value": the metric is at most `limit`;
        - "least": the metric is at least `limit`, for metrics that should be large, such as net benefit, or that have
          an optimum between bad values, such as the calibration slope;
        - "excess": the metric minus its null mean is at most `limit`;
        - "upper": the upper end of the metric's confidence interval is at most `limit`;
        - "p_value": the p-value of the metric, from its null distribution, is at least `limit`; adjusted for segments;
        - "worse": the metric is not shown to be worse than the baseline's by more than `limit`. The rule fails if the
          whole paired confidence interval of the difference is above `limit`, and passes otherwise;
        - "non_inferior": the metric is shown to be worse than the baseline's by at most `limit`. The rule passes if
          the whole paired interval is at or below `limit`, fails if it is above, and is inconclusive otherwise;
        - "dropped": the share of rows that were dropped on reading is at most `limit`.

        A value, an excess or an upper end beyond its limit fails if the verdict is "miscalibrated" and the whole
        confidence interval is beyond the limit. Metrics that measure more than calibration, such as log loss, do not
        need that verdict. Nothing passes if the verdict is inconclusive. Differences are those of `compare`: of
        distances from the optimum if that lies between bad values, and with the sign reversed if higher is better.
    limit : float, optional
        In percent for test-based metrics such as Local TCE, a probability for gap metrics and p-values, a share for
        "dropped"; none for "verdict".
    metric : str
        The name of the metric, such as "ltce", "slope" or "net_benefit@0.05".
    model, segment : str
        Shell-style patterns (`*`, `?`, `[abc]`) of names. Without `segment` the rule applies to the whole data set,
        with it to each matching segment, with Holm-adjusted p-values.
    multiclass : "top-label" or "classwise", optional
        With several classes: apply the rule to the most probable class (the default), or to each class against the
        rest, with Holm-adjusted p-values.
    min_rows : int
        With fewer rows the rule is inconclusive.
    threshold, top, tolerance : optional
        As in `evaluate`: the predictions in scope, and the error that is tolerated. The options of `check` apply to
        rules without their own. The top of segments is that of all rows.
    significance : float
        The significance level of the verdict; confidence intervals have the confidence 1 - significance.
    allow_inconclusive : bool
        Let the rule pass if only the verdict is inconclusive. A metric that was not computed, a segment that does not
        exist, or fewer rows than `min_rows` do not pass even so.

    Examples
    --------
    >>> print(Rule("verdict"))
    no miscalibration
    >>> print(Rule("value", 15, model="fraud-*"))
    ltce at most 15%
    """

    kind: KindName
    limit: float | None = None
    _: KW_ONLY
    metric: str = "ltce"
    model: str = "*"
    segment: str | None = None
    multiclass: Multiclass = None
    min_rows: int = 0
    threshold: float | None = None
    top: int | float | None = None
    tolerance: Tolerance | None = None
    significance: float = RULE_SIGNIFICANCE
    allow_inconclusive: bool = False

    def __post_init__(self) -> None:
        if self.kind not in RULE_KINDS:
            raise ValueError(f"`kind` must be one of {', '.join(get_args(KindName))}; it is {self.kind!r}.")
        for name in ("metric", "model", "segment"):
            value = getattr(self, name)
            if not ((isinstance(value, str) and value) or (value is None and name == "segment")):
                raise ValueError(f"`{name}` must be text that is not empty; it is {value!r}.")
        for name in ("min_rows", "multiclass", "threshold"):
            check_option(name, getattr(self, name), "Rule")
        if self.multiclass == "classwise" and (self.segment is not None or self.top is not None):
            raise ValueError("`segment` and `top` must be left out of a rule for each of several classes.")
        if self.each and self.definition.resampled:
            name = "segment" if self.segment is not None else "multiclass"
            raise ValueError(
                f"`{name}` must be left out of a rule of kind {self.kind!r}; it is {getattr(self, name)!r}.\n\n"
                "Hint: verdict, value, excess and p_value are judged for segments and classes."
            )
        self._check_choices()
        self.definition.check_metric(self.metric)
        object.__setattr__(self, "limit", self.definition.check_limit(self.limit, self.metric))

    def _check_choices(self) -> None:
        check_significance(self.significance)
        if self.definition.resampled and self.significance < LEAST_PROBABILITY:
            raise ValueError(
                f"{option('significance')} of a rule of kind {self.kind!r} must be at least {LEAST_PROBABILITY:g}, "
                f"since its interval is measured with resampled labels; it is {self.significance!r}."
            )
        if not isinstance(self.allow_inconclusive, bool):
            raise TypeError(f"{option('allow_inconclusive')} must be true or false; it is {self.allow_inconclusive!r}.")
        if self.threshold is not None and self.top is not None:
            raise ValueError(f"One of {option('threshold')} and {option('top')} may be given, not both.")
        check_option("top", self.top)
        object.__setattr__(self, "tolerance", as_tolerance(self.tolerance))

    @property
    def definition(self) -> RuleKind:
        """The kind of the rule: what it needs, and how it is judged."""
        return RULE_KINDS[self.kind]

    @property
    def unit(self) -> Unit:
        """The unit of the limit: that of a named metric, none for a metric of your own."""
        return self.definition.unit(find_metric(self.metric))

    @property
    def each(self) -> bool:
        """Whether it applies to each of several segments or classes."""
        return self.segment is not None or self.multiclass == "classwise"

    @property
    def needs(self) -> Need:
        """What must be computed to judge it, such as "null" or "interval"."""
        return self.definition.needs

    def __str__(self) -> str:
        from truecal import words

        return words.describe_rule(self)


def read_rules(path: str | os.PathLike[str], *, metrics: Iterable[str] = METRICS) -> tuple[Rule, ...]:
    """Read the rules of a TOML file.

    Each `[[rule]]` must have `verdict = true` or at least one limit: `max_value`, `min_value`, `max_excess`,
    `max_upper`, `min_p_value`, `max_worse`, `non_inferior`, `max_dropped`. Each of these becomes a `Rule`. It may have
    `metric`, `model`, `segment`, `multiclass`, `min_rows`, `threshold`, `top`, `tolerance`, `significance` and
    `allow_inconclusive`, as in `Rule`. A `tolerance` is a number, or a share of the prediction as text: "10%".

    Parameters
    ----------
    path : path
        The file.
    metrics : names
        The metrics that a rule may name; by default those of `truecal.metrics.METRICS`.

    Examples
    --------
    >>> import pathlib, tempfile, truecal
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "gate.toml")
    ...     _ = path.write_text('[[rule]]\\nverdict = true\\nmax_value = 15\\nmodel = "fraud-*"')
    ...     rules = truecal.gate.read_rules(path)
    >>> [str(rule) for rule in rules]
    ['no miscalibration', 'ltce at most 15%']
    """
    name, known = os.fspath(path), list(metrics)
    raw = _parse_toml(name)
    for key in raw:
        if key not in ("rule", "data"):
            raise ValueError(
                f"{name}: a file of rules holds tables [[rule]], and [data] for how rows got there; it holds "
                f"`{key}`.\n\n{_show_example()}"
            )
    tables = raw.get("rule", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        hint = "\n\nHint: write [[rule]] in double brackets." if isinstance(tables, dict) else f"\n\n{_show_example()}"
        raise ValueError(f"{name}: `rule` must be a list of tables; it is {_shorten_repr(tables)}.{hint}")
    if not tables:
        raise ValueError(f"{name}: a file of rules must hold at least one; it holds none.\n\n{_show_example()}")
    return tuple(rule for i, table in enumerate(tables, 1) for rule in _make_rules(f"{name}, rule {i}", table, known))


def read_sampling(path: str | os.PathLike[str]) -> Sampling | None:
    """Read the sampling from the table `[data]` of a file of rules; None if it has none.

    It may have `negative_rate`, `positive_rate` and `label_noise`, as in `truecal.read`.

    Examples
    --------
    >>> import pathlib, tempfile, truecal
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "gate.toml")
    ...     _ = path.write_text("[data]\\nnegative_rate = 0.05\\n[[rule]]\\nverdict = true")
    ...     truecal.gate.read_sampling(path)
    Sampling(negative_rate=0.05)
    """
    given = {key: value for key, value in _read_data(path).items() if key in SAMPLING_KEYS}
    if not given:
        return None
    try:
        with use_plain_names():
            return Sampling(**given)
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)}: {error}") from error


def read_cluster(path: str | os.PathLike[str]) -> str | None:
    """Read the cluster column from the table `[data]` of a file of rules; None if it names none."""
    cluster = _read_data(path).get("cluster")
    if cluster is not None and not (isinstance(cluster, str) and cluster):
        raise ValueError(f"{os.fspath(path)}: `cluster` must name a column; it is {_shorten_repr(cluster)}.")
    return cluster


def read_scale(path: str | os.PathLike[str]) -> ScoreScale | None:
    """Read the scale of scores from the table `[data]` of a file of rules; None if it names none."""
    scale: ScoreScale | None = _read_data(path).get("score_scale")
    if scale is not None and scale not in get_args(ScoreScale):
        known = ", ".join(f'"{name}"' for name in get_args(ScoreScale))
        raise ValueError(f"{os.fspath(path)}: `score_scale` must be one of {known}; it is {_shorten_repr(scale)}.")
    return scale


def _read_data(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the table `[data]` of a file of rules; raise an error for unknown keys."""
    name = os.fspath(path)
    table = _parse_toml(name).get("data", {})
    unknown = [key for key in table if key not in DATA] if isinstance(table, dict) else [table]
    if unknown:
        raise ValueError(
            f"{name}: [data] is a table of {', '.join(DATA)}; it has {_shorten_repr(unknown[0])}."
            f"{did_you_mean(unknown[0], DATA)}"
        )
    return dict(table)


def _parse_toml(path: str) -> dict[str, Any]:
    """Read a TOML file."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise FileNotFoundError(f"File of rules not found: {path!r}.") from error
    except OSError as error:
        raise type(error)(f"The file of rules {path!r} must be readable; it is not: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: a file of rules must be TOML, in UTF-8; byte {error.start} is not.") from error
    except ValueError as error:  # a zero byte in the path
        raise ValueError(f"The file of rules {path!r} must exist; it is no path.") from error
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: a file of rules must be TOML; it is not: {error}.\n\n{_show_example()}") from error


def _make_rules(place: str, table: Mapping[str, Any], metrics: list[str]) -> Iterable[Rule]:
    """Make the rules of one `[[rule]]`; `place` names it in error messages."""
    for key in table:
        if key not in KEYS:
            error = ValueError(
                f"{place}: a rule has the keys {', '.join(KEYS)}; it has `{key}`.{did_you_mean(key, KEYS)}"
            )
            raise add_page("gate.md", error)
    kinds = [key for key in ("verdict", *LIMITS) if key in table]
    if not kinds:
        error = ValueError(
            f"{place}: a rule must have `verdict = true` or a limit, one or several of {', '.join(LIMITS)}; it has "
            "none."
        )
        raise add_page("gate.md", error)
    if table.get("verdict", True) is not True:
        raise ValueError(f"{place}: `verdict` must be true, or left out; it is {_shorten_repr(table['verdict'])}.")
    metric = table.get("metric", "ltce")
    if metric not in metrics and find_metric(metric) is None:
        raise ValueError(
            f"{place}: `metric` must be one of {', '.join(metrics)}, or net_benefit@0.05 for that threshold; it is "
            f"{_shorten_repr(metric)}.{did_you_mean(metric, metrics)}"
        )
    for key in kinds:
        choices = {name: table[name] for name in CHOICES if name in table}
        if key != "verdict":
            choices |= {"limit": table[key], "metric": metric}
        try:
            with use_plain_names():
                if "tolerance" in choices:
                    choices["tolerance"] = read_tolerance(choices["tolerance"])
                rule = Rule(LIMITS.get(key, "verdict"), **choices)
        except (TypeError, ValueError) as error:
            # in the file, the limit has the name of its key
            raise ValueError(f"{place}: {str(error).replace('`limit`', f'`{key}`', 1)}") from error
        yield rule


def read_tolerance(given: object) -> Tolerance | None:
    """Read a tolerance of a file or a command line: a number, or a share of the prediction such as "10%".

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


def _show_example() -> str:
    return f"Hint: the smallest file of rules is\n{EXAMPLE}"


def _shorten_repr(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
