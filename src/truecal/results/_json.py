"""Write results as JSON and read them back: one codec and one envelope for every type of result.

    {"truecal": {"type": "Result", "format": 3, "version": "0.1.0"}, field: value, ...}

A field is written by its declared type: arrays and tuples are lists, NaN is null, infinities are "inf" and "-inf". A
part such as a binning is {"type": "Uniform", "n_bins": 10}. If a field may hold anything, such as the value of a
segment, types that JSON lacks are written by name: {"type": "date", "value": "2026-03-01"}.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, Self, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from truecal import __version__, data, inference, metrics, verdict
from truecal._text import shorten

FORMAT = 3  # one number for all files of version 0.2.0; src/truecal/schema.json describes it
NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
PARTS: dict[str, type] = {}  # the registered classes by name
# those of the packages below, each registered when it is first written or read
OWN: dict[Any, str] = {
    metrics: """
        Uniform Quantile Isotonic BoundedIsotonic Edges Binomial MidP ScoreTest LikelihoodRatio StudentT BayesFactor
        Absolute Relative Metric Windows WindowTest LocalError ScoreBand OddsRatio Brier LogLoss NetBenefit Slope
        Intercept Spiegelhalter CumulativeRange CumulativeMaximum SmoothError TwoBins Gap PointwiseTest Mean PNorm Max
        Unit
    """,
    inference: "NullDistribution Interval Difference Map Process RepeatClusters PeriodClusters PeriodSums",
    verdict: "Verdict Plan",
    data: "RowCounts Sampling",
}
# what files hold that commands read, and where one comes from
HELD = {
    "MonitorState": ("the state of a monitor", "`truecal monitor` starts one if the file does not exist"),
    "Recalibration": ("a calibration map", "`truecal recalibrate` writes one"),
    "Result": ("a result", ""),
    "dict": ("results", ""),
}
HINTS: dict[type, dict[str, Any]] = {}  # cache of the declared types of fields
INFINITE = {"inf": math.inf, "-inf": -math.inf}
MICROSECOND = timedelta(microseconds=1)
DEEPEST = 50  # levels of JSON: results have about ten
LARGEST = 2**128  # whole number, such as a seed
STRINGS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"')


def _write_float(value: float) -> float | str | None:
    if math.isfinite(value):
        return value
    return None if math.isnan(value) else "inf" if value > 0 else "-inf"


def _read_float(raw: Any) -> float:
    return math.nan if raw is None else float(raw)


# types that JSON lacks, for fields that may hold anything
PLAIN_TYPES: dict[type, tuple[Any, Any]] = {
    datetime: (datetime.isoformat, datetime.fromisoformat),
    date: (date.isoformat, date.fromisoformat),
    time: (time.isoformat, time.fromisoformat),
    timedelta: (lambda span: span // MICROSECOND, lambda count: _decode_scalar(count, int) * MICROSECOND),
    Decimal: (str, Decimal),
    bytes: (bytes.hex, bytes.fromhex),
    float: (_write_float, lambda raw: _decode_scalar(raw, float)),
}
READERS: dict[Any, Any] = {kind.__name__: read for kind, (_, read) in PLAIN_TYPES.items()}
SCALARS = {float: "a number", int: "a whole number", str: "text", bool: "true or false"}
T = TypeVar("T", bound=type)
R = TypeVar("R")


def register(kind: T) -> T:
    """Register a dataclass for JSON: a type of result, or your own part of a metric.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np, truecal
    >>> @truecal.results.register
    ... @dataclass(frozen=True)
    ... class Median:
    ...     def __call__(self, n, loss):
    ...         return float(np.median(loss))
    >>> metric = truecal.Metric(truecal.Uniform(4), truecal.metrics.Gap(), Median())
    >>> result = truecal.evaluate([0, 1], [0.2, 0.7], metrics={"median": metric})
    >>> truecal.Result.from_json(result.to_json()) == result
    True
    """
    if not is_dataclass(kind):
        raise TypeError(f"A registered class must be a dataclass; {kind!r} is not.")
    known = (PARTS.get if kind.__module__.startswith("truecal.") else find_part)(kind.__name__) or kind
    if (known.__module__, known.__qualname__) != (kind.__module__, kind.__qualname__):
        raise ValueError(f"The name {kind.__name__!r} must not be registered yet; it is the name of {known!r}.")
    PARTS[kind.__name__] = kind
    return kind


def find_part(name: str) -> type | None:
    """The registered class of a name, if any; a class of truecal is imported now."""
    from truecal import results

    for package, names in OWN.items() if name not in PARTS else ():
        if name in names.split():
            register(getattr(package, name))
    if name not in PARTS:
        getattr(results, name, None)  # which registers itself where it is there
    return PARTS.get(name)


class JsonMixin:
    """A dataclass that is written as JSON and compared by value, with NaN equal to NaN.

    `_derived` names properties that are written for readers of the JSON, and not read back.
    """

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Any]]
    _derived: ClassVar[tuple[str, ...]] = ()

    def to_json(self) -> str:
        """Return the value as JSON, which `from_json` reads back to an equal value."""
        return to_json(self)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote."""
        value = from_json(text, cls.__name__)
        assert isinstance(value, cls)
        return value

    def __eq__(self, other: object) -> bool:
        return same(self, other) if type(other) is type(self) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def _write(self) -> dict[str, Any]:
        written = encode_fields(self)
        return written | self._write_derived()

    def _write_derived(self) -> dict[str, Any]:
        return {name: encode(getattr(self, name), float | None) for name in self._derived}

    @classmethod
    def _read(cls, raw: dict[str, Any]) -> Self:
        return cls(**decode_fields(cls, raw))


class WrongKind(ValueError):
    """JSON of truecal that holds something else than is `wanted`."""

    def __init__(self, wanted: str, found: str) -> None:
        self.wanted, self.found = wanted, found
        super().__init__(f"`text` must hold a truecal {wanted}; it holds a {found}.")


def to_json(value: Any) -> str:
    """Return a result, or a mapping of names to results, as JSON.

    Parameters
    ----------
    value : result or mapping
        What is written.

    Examples
    --------
    >>> import truecal
    >>> from truecal.results import from_json, to_json
    >>> result = truecal.evaluate([0, 1] * 100, [0.2] * 100 + [0.3] * 100)
    >>> from_json(to_json({"model": result}))["model"] == result
    True
    """
    if isinstance(value, Mapping):
        kind, written = "dict", {"items": {str(name): encode(part) for name, part in value.items()}}
    else:
        kind = type(value).__name__
        if find_part(kind) is not type(value):
            raise TypeError(f"A value written as JSON must be a result of truecal; it is {kind}.")
        written = {name: part for name, part in encode(value).items() if name != "type"}
    return json.dumps({**envelope(kind), **written}, allow_nan=False)


def envelope(kind: str) -> dict[str, dict[str, Any]]:
    """Return the key that all JSON of truecal begins with."""
    return {"truecal": {"type": kind, "format": FORMAT, "version": __version__}}


def from_json(text: str, kind: str | None = None) -> Any:
    """Read what `to_json` wrote.

    Parameters
    ----------
    text : str
        The JSON.
    kind : str, optional
        The name of the required type, such as "Result".

    Examples
    --------
    >>> import truecal
    >>> from truecal.results import from_json
    >>> result = truecal.evaluate([0, 1] * 100, [0.2] * 100 + [0.3] * 100)
    >>> from_json(result.to_json()).verdict.status
    'miscalibrated'
    """
    wanted = kind or "result"
    try:
        raw = parse_json(text)
        head = raw.pop("truecal")
        found, version = decode(head["type"], str), head["format"]
    except Misfit as error:
        raise ValueError(f"`text` must be the JSON of a truecal {wanted}; {error}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"`text` must be the JSON of a truecal {wanted}; it is not.") from error
    if version != FORMAT:
        raise ValueError(
            f"`text` must be a truecal {wanted} of format {FORMAT}; it is of format {version!r}.\n\n"
            "Hint: it was written by another version; update truecal."
        )
    if kind is not None and found != kind:
        raise WrongKind(kind, found)
    try:
        if found == "dict":
            return _decode_dict(raw.get("items"), str, Any)
        return decode({"type": found, **raw})
    except Misfit as error:
        raise ValueError(f"`text` must be a truecal {found} as it was written; it is not: {error}") from error


def parse_json(text: str) -> Any:
    """Parse JSON, in which no key of an object may be given twice, numbers are finite, and nesting is limited.

    Examples
    --------
    >>> parse_json('{"a": [1, null]}')
    {'a': [1, None]}
    """
    if _measure_depth(text) > DEEPEST:
        raise Misfit(f"must be nested at most {DEEPEST} levels deep; it is nested more deeply.")
    return json.loads(text, object_pairs_hook=_make_object, parse_constant=_refuse_constant)


def _make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of its keys and values; programs differ in which of two values of a key they take."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        again = next(name for i, name in enumerate(names) if name in names[:i])
        raise Misfit("must be given once; it is given twice.", again)
    return found


def _refuse_constant(name: str) -> None:
    raise Misfit(f"must hold finite numbers; it holds {name}.")


def _measure_depth(text: str) -> int:
    """Return how deep lists and objects are nested, without parsing them."""
    brackets = STRINGS.sub("", text).encode("utf-8", "replace").translate(None, NO_BRACKETS)
    codes = np.frombuffer(brackets, np.uint8)
    steps = np.where((codes == ord("[")) | (codes == ord("{")), 1, -1)
    return int(np.cumsum(steps).max(initial=0))


def read_stored(path: str | os.PathLike[str], read: Callable[[str], R]) -> R:
    """Read a file of JSON; an error names it."""
    try:
        return read(Path(path).read_bytes().decode())
    except WrongKind as error:
        wanted, found = (HELD.get(kind, (f"a {kind}", "")) for kind in (error.wanted, error.found))
        hint = f"\n\nHint: {wanted[1]}." if wanted[1] else ""
        raise ValueError(f"{os.fspath(path)!r} must hold {wanted[0]}; it holds {found[0]}.{hint}") from error
    except (ValueError, TypeError) as error:
        problem = "it is no text in UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
        raise ValueError(f"{os.fspath(path)!r} must be a file that truecal wrote; it is not: {problem}") from error


def encode(value: Any, hint: Any = Any) -> Any:
    """Convert a value to JSON, by its declared type."""
    value = value.item() if isinstance(value, np.generic) else value
    if hint is float and isinstance(value, int):
        value = float(value)
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float) and (math.isfinite(value) or float in (hint, *get_args(hint))):
        return _write_float(value)
    if isinstance(value, data.Note):  # the declared type says what it is
        return {"code": value.code.value, "values": encode(value.values)}
    if is_dataclass(value) and find_part(type(value).__name__) is type(value):
        written = value._write() if isinstance(value, JsonMixin) else encode_fields(value)
        return {"type": type(value).__name__, **written}
    if isinstance(value, np.ndarray):
        return _encode_array(value)
    if isinstance(value, (tuple, list)):
        inner = _item_hints(hint, len(value))
        return [encode(part, each) for part, each in zip(value, inner, strict=True)]
    if isinstance(value, Mapping):
        return _encode_dict(value, hint)
    for known, (write, _) in PLAIN_TYPES.items():
        if isinstance(value, known):
            return {"type": known.__name__, "value": write(value)}
    raise TypeError(
        f"A result with a part of your own ({type(value).__name__}) cannot be written as JSON.\n\n"
        "Hint: make it a dataclass and register it with `truecal.results.register`."
    )


class Misfit(ValueError):
    """A key of JSON whose value is not of its declared type; `where` is the way to it from the outside."""

    def __init__(self, problem: str, where: str = "") -> None:
        self.problem, self.where = problem, where
        super().__init__(f"`{where}` {problem}" if where else f"It {problem}")

    def under(self, key: str | int) -> Misfit:
        """Return the same one level further out."""
        inner = self.where if self.where.startswith("[") or not self.where else f".{self.where}"
        return Misfit(self.problem, f"[{key}]{inner}" if isinstance(key, int) else f"{key}{inner}")


def misfit(wanted: str, raw: Any) -> Misfit:
    """Return an error for a value that is not what is wanted."""
    shown = json.dumps(raw, default=repr)
    return Misfit(f"must be {wanted}; it is {shorten(shown, 60, '...')}.")


@contextmanager
def _within(key: str | int) -> Iterator[None]:
    """Let errors name a key of JSON."""
    try:
        yield
    except Misfit as error:
        raise error.under(key) from error
    except (ValueError, TypeError, ArithmeticError, AssertionError, AttributeError, LookupError) as error:
        raise Misfit(f"must be as truecal writes it; it is not: {error}", str(key)) from error


def decode(raw: Any, hint: Any = Any) -> Any:
    """Convert what `encode` wrote back to a value of its declared type; raise an error if it is none."""
    kind = get_origin(hint)
    if kind in (Union, UnionType):
        return _decode_union(raw, get_args(hint))
    if kind is Literal:
        if raw in get_args(hint) and not isinstance(raw, bool):
            return raw
        raise misfit(f"one of {', '.join(map(repr, get_args(hint)))}", raw)
    if kind is dict:
        return _decode_dict(raw, *get_args(hint))
    if kind is tuple:
        return _decode_tuple(raw, hint)
    items = _find_items(hint)
    if items is not None:
        return _decode_array(raw, items)
    if hint in SCALARS:
        return _decode_scalar(raw, hint)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _read_code(hint, raw)
    if hint is data.Note:
        return data.Note(**raw)
    if isinstance(raw, dict):
        return _check_class(_decode_part(raw), hint, raw)
    if hint is not Any:
        raise misfit(f"a part of the type {getattr(hint, '__name__', hint)}", raw)
    return raw


def _check_class(value: Any, hint: Any, raw: Any) -> Any:
    """Return a part, or raise an error if it is of another class than declared; a protocol allows any."""
    protocol = hint is Any or getattr(hint, "_is_protocol", False)
    if protocol or not isinstance(hint, type) or isinstance(value, hint):
        return value
    raise misfit(f"a part of the type {hint.__name__}", raw)


def _decode_union(raw: Any, allowed: tuple[Any, ...]) -> Any:
    """Return a value of the first declared type that it fits."""
    if raw is None and NoneType in allowed:
        return None
    rest = [hint for hint in allowed if hint is not NoneType]
    for hint in rest[:-1]:
        with suppress(Misfit):
            return decode(raw, hint)
    return decode(raw, rest[-1])


def _decode_scalar(raw: Any, hint: type) -> Any:
    """Return a number, a truth value or text."""
    if hint is float:
        if raw is None or (isinstance(raw, str) and raw in INFINITE):
            return math.nan if raw is None else INFINITE[raw]
        if isinstance(raw, bool) or not isinstance(raw, (int, float)):
            raise misfit("a number", raw)
        return _read_float(raw)
    if type(raw) is not hint or (isinstance(raw, int) and abs(raw) > LARGEST):
        raise misfit(SCALARS[hint], raw)
    return raw


def _decode_tuple(raw: Any, hint: Any) -> tuple[Any, ...]:
    if not isinstance(raw, list):
        raise misfit("a list", raw)
    hints = _item_hints(hint, len(raw))
    if len(hints) != len(raw):
        raise misfit(f"a list of {len(hints)}", raw)
    found: list[Any] = []
    try:
        for part, each in zip(raw, hints, strict=True):
            found.append(decode(part, each))
    except Misfit as error:
        raise error.under(len(found)) from error
    return tuple(found)


def _read_code(kind: type[Enum], raw: Any) -> Enum:
    """Return the member of an enumeration that JSON names."""
    try:
        return kind(raw)
    except ValueError:
        known = ", ".join(repr(member.value) for member in kind)
        raise misfit(f"one of {known}", raw) from None


def _find_items(hint: Any) -> Any:
    """The declared type of an array's items, None for what is no array. `NDArray` is an alias since NumPy 2.5."""
    kind, parts = get_origin(hint), get_args(hint)
    if kind is np.ndarray:
        return get_args(parts[1])[0]
    return parts[0] if kind is NDArray else None


def encode_fields(value: Any) -> dict[str, Any]:
    """Convert the fields of a dataclass to JSON, by their declared types."""
    hints = _hints(type(value))
    return {entry.name: encode(getattr(value, entry.name), hints[entry.name]) for entry in fields(value)}


def decode_fields(kind: Any, raw: dict[str, Any]) -> dict[str, Any]:
    """Convert JSON back to the arguments of a dataclass; none may be missing."""
    hints = _hints(kind)
    found = {}
    for entry in fields(kind):
        if not entry.init:
            continue
        if entry.name not in raw:
            raise Misfit("must be given; it is missing.", entry.name)
        with _within(entry.name):
            found[entry.name] = decode(raw[entry.name], hints[entry.name])
    return found


def same(first: Any, second: Any) -> bool:
    """Whether two values are equal, with NaN equal to NaN; dicts must have the same order."""
    if isinstance(first, np.ndarray):
        return isinstance(second, np.ndarray) and np.array_equal(first, second, equal_nan=first.dtype.kind == "f")
    if type(first) is not type(second):
        return bool(first == second)
    if is_dataclass(first) and (isinstance(first, JsonMixin) or find_part(type(first).__name__)):
        parts = [entry.name for entry in fields(first) if entry.compare]
        return all(same(getattr(first, name), getattr(second, name)) for name in parts)
    if isinstance(first, (tuple, list)):
        return len(first) == len(second) and all(same(a, b) for a, b in zip(first, second, strict=True))
    if isinstance(first, dict):
        return same(list(first.items()), list(second.items()))
    return bool(first == second) or (isinstance(first, float) and math.isnan(first) and math.isnan(second))


def _hints(kind: type) -> dict[str, Any]:
    if kind not in HINTS:
        HINTS[kind] = get_type_hints(kind)
    return HINTS[kind]


def _item_hints(hint: Any, count: int) -> tuple[Any, ...]:
    """Return the declared types of a tuple's items."""
    if get_origin(hint) in (Union, UnionType):
        hint = next((each for each in get_args(hint) if get_origin(each) is tuple), Any)
    inner = get_args(hint)
    if get_origin(hint) is not tuple:
        return (Any,) * count
    return (inner[0],) * count if inner[-1] is Ellipsis else inner


def _encode_array(array: np.ndarray) -> list[Any]:
    if array.dtype.kind != "f" or np.isfinite(array).all():
        found: list[Any] = array.tolist()
        return found
    return [_encode_array(part) if part.ndim else _write_float(part.item()) for part in array]


def _decode_array(raw: Any, kind: Any) -> np.ndarray:
    """Return an array of numbers or truth values, of one dimension or two."""
    if not isinstance(raw, list):
        raise misfit("a list", raw)
    scalar = {np.float64: float, np.int64: int, np.bool_: bool}[kind]
    if raw and all(isinstance(part, list) for part in raw):
        rows = _decode_tuple(raw, tuple[NDArray[kind], ...])
        if len({len(row) for row in rows}) > 1:
            raise misfit("lists of one length", [len(row) for row in rows])
        return np.stack(rows)
    if set(map(type, raw)) - {scalar}:
        hint: Any = tuple[scalar, ...]  # type: ignore[valid-type]
        raw = list(_decode_tuple(raw, hint))
    with _within_range(raw):
        return np.array(raw, dtype=kind)


@contextmanager
def _within_range(raw: list[Any]) -> Iterator[None]:
    """Refuse whole numbers that take more than 64 bits."""
    try:
        yield
    except OverflowError:
        index = next(i for i, part in enumerate(raw) if not -(2**63) <= part < 2**63)
        raise misfit("a whole number of 64 bits", raw[index]).under(index) from None


def _encode_dict(value: Mapping[Any, Any], hint: Any) -> Any:
    """Convert a dict to an object, in which a part with several names is written once; counts by reason to a list of
    {"column", "kind", "n"}; others without text keys to a list of pairs."""
    keys, inner = get_args(hint) if get_origin(hint) is dict else (str, Any)
    if keys is data.Reason:
        return [{**encode_fields(reason), "n": n} for reason, n in value.items()]
    if keys is not str:
        return [[encode(key), encode(part, inner)] for key, part in value.items()]
    written: dict[str, Any] = {}
    first: dict[int, str] = {}
    for name, part in value.items():
        earlier = first.setdefault(id(part), name) if is_dataclass(part) else name
        written[name] = encode(part, inner) if earlier == name else {"same_as": earlier}
    return written


def _decode_dict(raw: Any, keys: Any, inner: Any) -> dict[Any, Any]:
    if not isinstance(raw, dict if keys is str else list):
        raise misfit("an object" if keys is str else "a list", raw)
    if keys is data.Reason:
        return {keys(**decode_fields(keys, each)): decode(each["n"], int) for each in raw}
    if keys is not str:
        return {decode(key): decode(part, inner) for key, part in raw}
    found: dict[str, Any] = {}
    for name, part in dict(raw).items():
        again = isinstance(part, dict) and part.keys() == {"same_as"}
        with _within(name):
            found[name] = found[part["same_as"]] if again else decode(part, inner)
    return found


def _decode_part(raw: dict[str, Any]) -> Any:
    name = raw.get("type")
    if name in READERS:
        with _within("value"):
            return READERS[name](raw["value"])
    kind: Any = find_part(name) if isinstance(name, str) else None
    if kind is None:
        raise misfit("the name of a registered part", name).under("type")
    try:
        return kind._read(raw) if issubclass(kind, JsonMixin) else kind(**decode_fields(kind, raw))
    except Misfit:
        raise
    except (ValueError, TypeError, ArithmeticError, AssertionError, AttributeError, LookupError) as error:
        raise Misfit(f"must be a {name} as truecal writes it; it is not: {error}") from error
