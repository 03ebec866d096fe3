"""The JSON Schema of everything that `to_json` writes, made from the declared types of fields.

`make schema` writes it to src/truecal/schema.json, which the wheel has. A test compares the two, and the tests validate
every result that they write against it. Draft 7 is the newest version that most validators read.
"""

from __future__ import annotations

import json
import pkgutil
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from importlib import import_module
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

import truecal
from truecal.data import Note, NoteCode, Reason
from truecal.results._json import FORMAT, OWN, PARTS, PLAIN_TYPES, JsonMixin, _find_items, find_part
from truecal.results._table import SHOWN_ONLY, Table, _list_columns

PLACE = Path(__file__).parents[1] / "src" / "truecal" / "schema.json"
PACKAGES = ("data", "metrics", "inference", "verdict", "results", "analysis", "gate")  # whose classes are registered
ALONE = ("LocalError", "Plan", "Verdict")  # values that are results by themselves, too
Schema = dict[str, Any]
NUMBER: Schema = {"anyOf": [{"type": "number"}, {"enum": [None, "inf", "-inf"]}]}  # NaN is null
SCALARS: dict[Any, Schema] = {
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    str: {"type": "string"},
    float: {"$ref": "#/definitions/number"},
    NoneType: {"type": "null"},
    np.bool_: {"type": "boolean"},
    np.int64: {"type": "integer"},
    np.float64: {"$ref": "#/definitions/number"},
}
NAMED = (datetime, date, time, timedelta, Decimal, bytes)  # written as {"type": ..., "value": ...}


def make_schema() -> Schema:
    """Return the schema of a file: a result of any type, or results by name."""
    kinds = find_classes()
    definitions: Schema = {"number": NUMBER, "value": _describe_named()}
    definitions |= {name: _describe_class(kind) for name, kind in kinds.items()}
    results = [name for name, kind in kinds.items() if issubclass(kind, JsonMixin) or name in ALONE]
    files = [_describe_file(name, definitions[name]) for name in results]
    items = {"type": "object", "additionalProperties": {"type": "object", "required": ["type"]}}
    by_name = {"properties": {"truecal": _describe_head("dict"), "items": items}, "additionalProperties": False}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": f"truecal JSON, format {FORMAT}",
        "type": "object",
        "required": ["truecal"],
        "anyOf": [*files, by_name],
        "definitions": definitions,
    }


def find_classes() -> dict[str, Any]:
    """Return every registered class by name; modules register theirs when they are imported."""
    for package in PACKAGES:
        for module in pkgutil.iter_modules([str(Path(truecal.__file__).parent / package)], f"truecal.{package}."):
            import_module(module.name)
    for name in (name for names in OWN.values() for name in names.split()):
        find_part(name)
    return {name: kind for name, kind in sorted(PARTS.items()) if kind.__module__.startswith("truecal.")}


def write_schema(path: Path = PLACE) -> None:
    """Write the schema to a file."""
    path.write_text(json.dumps(make_schema(), indent=1, sort_keys=True) + "\n", encoding="utf-8")


def _describe_head(kind: str) -> Schema:
    head = {"type": {"const": kind}, "format": {"const": FORMAT}, "version": {"type": "string"}}
    return {"type": "object", "properties": head, "required": list(head), "additionalProperties": False}


def _describe_file(name: str, definition: Schema) -> Schema:
    """A result as a file has it: its fields beside the head, which has the type."""
    properties = {key: part for key, part in definition["properties"].items() if key != "type"}
    required = [key for key in definition["required"] if key != "type"]
    return {
        "properties": {"truecal": _describe_head(name), **properties},
        "required": ["truecal", *required],
        "additionalProperties": False,
    }


def _describe_named() -> Schema:
    """Values of types that JSON lacks, in fields that may hold anything."""
    names = [kind.__name__ for kind in PLAIN_TYPES]
    properties = {"type": {"enum": names}, "value": {}}
    return {"type": "object", "properties": properties, "required": ["type", "value"]}


def _describe_class(kind: Any) -> Schema:
    """The fields of a registered class, and the properties that are written for readers."""
    hints = get_type_hints(kind)
    parts = {entry.name: describe_type(hints[entry.name]) for entry in fields(kind)}
    derived = {name: _describe_property(kind, name) for name in getattr(kind, "_derived", ())}
    if issubclass(kind, Table):
        stored = [column.name for column in _list_columns(kind) if column.name in parts]
        more = {
            column.name: {"type": "array"}
            for column in _list_columns(kind)
            if column.name not in parts and column.unit not in SHOWN_ONLY
        }
        columns = {name: parts.pop(name) for name in stored} | more
        inside = {"properties": columns, "required": list(columns), "additionalProperties": False}
        parts["columns"] = {"type": "object", **inside}
    properties = {"type": {"const": kind.__name__}, **parts, **derived}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _describe_property(kind: Any, name: str) -> Schema:
    return describe_type(get_type_hints(getattr(kind, name).fget)["return"])


def describe_type(hint: Any) -> Schema:
    """Return the schema of a declared type."""
    items = _find_items(hint)
    if items is not None:
        inner = SCALARS.get(items, {})
        return {"type": "array", "items": {"anyOf": [inner, {"type": "array", "items": inner}]}}  # rows of a matrix
    if hint in SCALARS:
        return SCALARS[hint]
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Literal:
        return {"enum": list(parts)}
    if origin in (Union, UnionType):
        return {"anyOf": [describe_type(part) for part in parts]}
    if origin in (tuple, list):
        return _describe_sequence(parts)
    if origin in (dict, Mapping):
        return _describe_mapping(*parts)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {"enum": [member.value for member in hint]}
    if isinstance(hint, type) and issubclass(hint, NAMED):
        return {"$ref": "#/definitions/value"}
    if hint is Note:
        return _describe_note()
    if is_dataclass(hint) and isinstance(hint, type) and find_part(hint.__name__) is hint:
        return {"$ref": f"#/definitions/{hint.__name__}"}
    return {}  # a protocol, such as a test, or a field that may hold anything


def _describe_note() -> Schema:
    """A note: its code, and the values of that code."""
    codes = {"enum": [code.value for code in NoteCode]}
    properties = {"code": codes, "values": {"type": "object"}}
    return {"type": "object", "properties": properties, "required": ["code", "values"], "additionalProperties": False}


def _describe_sequence(parts: tuple[Any, ...]) -> Schema:
    if not parts:
        return {"type": "array"}
    if parts[-1] is Ellipsis or len(parts) == 1:
        return {"type": "array", "items": describe_type(parts[0])}
    return {"type": "array", "items": [describe_type(part) for part in parts], "minItems": len(parts)}


def _describe_mapping(keys: Any, inner: Any) -> Schema:
    """An object by name, in which a part with several names is written once; counts by reason are a list of objects;
    other keys make a list of pairs."""
    if keys is Reason:
        hints = get_type_hints(Reason)
        counted = {name: describe_type(hint) for name, hint in hints.items()} | {"n": describe_type(inner)}
        each = {"type": "object", "properties": counted, "required": list(counted), "additionalProperties": False}
        return {"type": "array", "items": each}
    if keys is not str:
        return {"type": "array", "items": {"type": "array", "minItems": 2, "maxItems": 2}}
    again = {"properties": {"same_as": {"type": "string"}}, "required": ["same_as"], "additionalProperties": False}
    written = describe_type(inner)
    return {"type": "object", "additionalProperties": {"anyOf": [written, {"type": "object", **again}]}}


if __name__ == "__main__":
    write_schema()
