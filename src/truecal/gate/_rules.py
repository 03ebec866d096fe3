"""The rules of a release gate, and the small TOML file they are kept in."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from pathlib import Path
from typing import Any, Literal, get_args

from truecal._errors import did_you_mean, option
from truecal.metrics import METRICS, PROBABILITY, Unit
from truecal.results import register

Kind = Literal["value", "excess", "upper", "p_value", "worse", "non_inferior"]
Need = Literal["value", "reference", "interval", "difference"]

# What each kind looks at, and what it says.
KINDS: dict[str, tuple[Need, str]] = {
    "value": ("value", "{metric} at most {limit}"),
    "excess": ("reference", "{metric} at most {limit} above chance"),
    "upper": ("interval", "upper end of the interval of {metric} at most {limit}"),
    "p_value": ("reference", "p-value of {metric} at least {limit}"),
    "worse": ("difference", "{metric} not shown to be more than {limit} above the baseline"),
    "non_inferior": ("difference", "{metric} shown to be at most {limit} above the baseline"),
}
# The keys of a file that hold a limit, and the kind of rule that each makes.
LIMITS: dict[str, Kind] = {
    "max_value": "value",
    "max_excess": "excess",
    "max_upper": "upper",
    "min_p_value": "p_value",
    "max_worse": "worse",
    "non_inferior": "non_inferior",
}
KEYS = ("metric", "model", "segment", "min_rows", *LIMITS)
EXAMPLE = "[[rule]]\nmax_value = 15"


@register
@dataclass(frozen=True, slots=True)
class Rule:
    """One limit, and what it holds for.

    Attributes
    ----------
    kind : str
        What is held against the limit.

        - "value": the metric is at most `limit`;
        - "excess": the metric minus what it would be by chance is at most `limit`;
        - "upper": the upper end of the metric's interval is at most `limit`;
        - "p_value": the p-value of the null reference is at least `limit`; of segments, the adjusted one;
        - "worse": the metric minus that of the baseline is not shown to be above `limit`: this fails where the whole
          paired interval of the difference lies above it, and passes otherwise;
        - "non_inferior": that difference is shown to be at most `limit`: this passes where the whole paired interval
          lies at or below it, fails where the whole interval lies above it, and cannot tell otherwise.
    limit : float
        In percent for test-based metrics such as TCE, a probability for gap metrics and p-values.
    metric : str
        The metric's name.
    model, segment : str
        Shell-style patterns (`*`, `?`, `[abc]`) of names. Without `segment` the rule holds for the whole data set, with
        it for each segment that matches.
    min_rows : int
        With fewer rows the answer is "unknown".

    Examples
    --------
    >>> print(Rule("value", 15, model="fraud-*"))
    tce at most 15 %
    """

    kind: Kind
    limit: float
    _: KW_ONLY
    metric: str = "tce"
    model: str = "*"
    segment: str | None = None
    min_rows: int = 0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"`kind` must be one of {', '.join(get_args(Kind))}; it is {self.kind!r}.")
        for name in ("metric", "model", "segment"):
            value = getattr(self, name)
            if not ((isinstance(value, str) and value) or (value is None and name == "segment")):
                raise ValueError(f"`{name}` must be text that is not empty; it is {value!r}.")
        if isinstance(self.min_rows, bool) or not isinstance(self.min_rows, int) or self.min_rows < 0:
            raise ValueError(f"`min_rows` must be a whole number of at least 0; it is {self.min_rows!r}.")
        if self.segment is not None and self.needs not in ("value", "reference"):
            raise ValueError(
                f"`segment` must be left out of a rule of kind {self.kind!r}; it is {self.segment!r}.\n\n"
                "Hint: segments have no intervals; value, excess and p_value are judged for them."
            )
        named = METRICS.get(self.metric)
        if self.needs == "difference" and named is not None and named.rejection is None:
            raise ValueError(
                f"`metric` must be test-based in a rule of kind {self.kind!r}, such as 'tce'; it is {self.metric!r}: "
                "the interval of its difference would cover less than it says."
            )
        self._check_limit()
        object.__setattr__(self, "limit", float(self.limit))

    def _check_limit(self) -> None:
        limit = self.limit
        if isinstance(limit, bool) or not isinstance(limit, Real):
            raise TypeError(f"{option('limit')} must be a number; it is {limit!r}.")
        if self.kind == "p_value":
            if not 0 < limit < 1:
                raise ValueError(f"{option('limit')} of a p-value must lie between 0 and 1; it is {limit!r}.")
            return
        top = self.unit.top
        low = 0 if self.kind in ("value", "upper") else -top
        if not low <= limit <= top:
            gap = self.unit == PROBABILITY
            hint = "\n\nHint: gap metrics are probabilities, not percentages." if gap else ""
            raise ValueError(
                f"{option('limit')} of the {self.kind} of {self.metric!r} must lie in [{low:g}, {top:g}]; it is "
                f"{limit!r}.{hint}"
            )

    @property
    def unit(self) -> Unit:
        """The unit of the limit: that of the named metric; without one for a metric of your own."""
        if self.kind == "p_value":
            return PROBABILITY
        named = METRICS.get(self.metric)
        return Unit() if named is None else named.unit

    @property
    def needs(self) -> Need:
        """What must be there to judge by: "value", "reference", "interval" or "difference"."""
        return KINDS[self.kind][0]

    def __str__(self) -> str:
        return KINDS[self.kind][1].format(metric=self.metric, limit=f"{self.limit:.10g}{self.unit.symbol}")


def read_rules(path: str | os.PathLike[str], *, metrics: Iterable[str] = METRICS) -> tuple[Rule, ...]:
    """Read the rules of a TOML file.

    Each `[[rule]]` may say `metric`, `model`, `segment` and `min_rows`, as in `Rule`, and must give at least one limit:
    `max_value`, `max_excess`, `max_upper`, `min_p_value`, `max_worse` or `non_inferior`. Each limit becomes a `Rule`.

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
    ...     _ = path.write_text('[[rule]]\\nmax_value = 15\\nmax_excess = 5\\nmodel = "fraud-*"')
    ...     rules = truecal.gate.read_rules(path)
    >>> [str(rule) for rule in rules]
    ['tce at most 15 %', 'tce at most 5 % above chance']
    """
    place, known = os.fspath(path), list(metrics)
    raw = _parse(place)
    for key in raw:
        if key != "rule":
            raise ValueError(f"{place}: a file of rules holds tables [[rule]] alone; it holds `{key}`.\n\n{_add()}")
    tables = raw.get("rule", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        hint = "\n\nHint: write [[rule]] in double brackets." if isinstance(tables, dict) else f"\n\n{_add()}"
        raise ValueError(f"{place}: `rule` must be a list of tables; it is {_shorten(tables)}.{hint}")
    if not tables:
        raise ValueError(f"{place}: a file of rules must hold at least one; it holds none.\n\n{_add()}")
    return tuple(rule for i, table in enumerate(tables, 1) for rule in _rules(f"{place}, rule {i}", table, known))


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
            raise ValueError(
                f"{place}: a rule has the keys {', '.join(KEYS)}; it has `{key}`.{did_you_mean(key, KEYS)}"
            )
    limits = [key for key in LIMITS if key in table]
    if not limits:
        raise ValueError(f"{place}: a rule must have a limit, one or several of {', '.join(LIMITS)}; it has none.")
    metric = table.get("metric", "tce")
    if metric not in metrics:
        raise ValueError(
            f"{place}: `metric` must be one of {', '.join(metrics)}; it is {_shorten(metric)}."
            f"{did_you_mean(metric, metrics)}"
        )
    what = {key: table[key] for key in ("metric", "model", "segment", "min_rows") if key in table}
    for key in limits:
        try:
            yield Rule(LIMITS[key], table[key], **what)
        except (TypeError, ValueError) as error:
            # the limit's key is the file's word for it
            message = str(error).replace(f"{option('limit')}", f"`{key}`", 1)
            raise ValueError(f"{place}: {message}") from error


def _add() -> str:
    return f"Hint: the smallest file of rules is\n{EXAMPLE}"


def _shorten(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
