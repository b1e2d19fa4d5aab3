"""Conversion of records to dicts and JSON, with nested records; cycles end at the primary key."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from ..base.json_text import decode_json, encode_json
from ..base.values import SCALARS, UNDEFINED, described, is_dict, is_list, is_mapping, kind_of
from .foreign import members_of


class Plain:
    """Converts records to dicts, with JSON names (`names`) and JSON values (`values`), nested records too (`deep`).

    An entity inside itself is converted to the fields of its primary key.
    """

    def __init__(self, other: Callable[[Any], Any], *, deep: bool, names: bool, values: bool) -> None:
        """`other` encodes values that are neither records nor containers."""
        self._other = other
        self._deep = deep
        self._names = names
        self._values = values
        self._around: set[int] = set()

    def members(self, record: Any) -> dict[str, Any]:
        """Return the members of a record: declared fields first, then undeclared members."""
        model: Any = kind_of(record).__model__
        if id(record) in self._around:
            only: set[str] | None = {*model.pk_fields}
        else:
            only = None
        self._around.add(id(record))
        try:
            members = self._in_json(record, model, only) if self._values else self._in_python(record, only)
        finally:
            if only is None:
                self._around.discard(id(record))
        return members

    def _in_python(self, record: Any, only: set[str] | None) -> dict[str, object]:
        shown = record.to_dict()
        return {name: self.value(value) for name, value in shown.items() if only is None or name in only}

    def _in_json(self, record: Any, model: Any, only: set[str] | None) -> dict[str, Any]:
        stored: Mapping[str, Any] = getattr(record, "_record", None) or {}
        related = {relation.name: relation for relation in model.relations if relation.leads_to_entities}
        members: dict[str, Any] = {}
        for name, declared in model.fields.items():
            if only is not None and name not in only:
                continue
            value = self._field(record, model, declared, stored.get(declared.in_json, UNDEFINED), related.get(name))
            if value is not UNDEFINED:
                members[declared.in_json if self._names else name] = value
        if only is None:
            # The attributes of an instance include values of cached properties.
            hidden = frozenset[str]() if stored else model.members
            for name, value in (stored or record.__dict__).items():
                if not (name in model.to_python or name in model.fields or name in hidden or name in model.unread):
                    members[name] = self.value(value)
        return members

    def _field(self, record: Any, model: Any, declared: Any, stored: Any, relation: Any) -> object:
        """Return the value of a field as JSON; `UNDEFINED` if it has neither a value nor a default."""
        name: str = declared.name
        own: dict[str, Any] = record.__dict__
        if relation is None and stored is not UNDEFINED and (self._names or not _holds_records(own.get(name))):
            return self.value(stored)
        known = name in own or not (declared.required or (declared.default is UNDEFINED and declared.factory is None))
        shown = getattr(record, name) if known else UNDEFINED
        if relation is not None and shown in (None, UNDEFINED) and stored not in (None, UNDEFINED):
            return relation.node.keys(stored)  # the entity is not in the store: its primary key
        if shown is UNDEFINED or shown is None:
            return shown
        if relation is not None and not _holds_records(shown):
            encode: Callable[[Any], Any] | None = getattr(relation.node, "encode_one", None)
            return self.value(shown if encode is None else encode(shown))
        codec = model.codecs.get(name)
        return self.value(shown if codec is None or _holds_records(shown) else codec.encode(shown))

    def value(self, value: Any) -> Any:
        """Convert a value of a record."""
        if type(value) in SCALARS:
            return value
        if hasattr(kind_of(value), "__model__"):
            return self.members(value) if self._deep else value
        if not self._deep:
            return value
        if is_list(value):
            return [self.value(item) for item in value]
        if is_mapping(value):
            return {name: self.value(item) for name, item in value.items()}
        if self._values:
            return self._other(value)
        members = members_of(value, self._other, "python")
        return value if members is UNDEFINED else self.value(members)


def _holds_records(value: object) -> bool:
    if is_list(value):
        return any(map(_holds_records, value))
    return any(map(_holds_records, value.values())) if is_dict(value) else hasattr(kind_of(value), "__model__")


def json_text(record: object, other: Callable[[Any], object], wire: bool, indent: int | None) -> str:
    """Encode a record as a JSON string, with JSON names if `wire`. Raises TypeError or ValueError if it cannot."""
    text = encode_json(Plain(other, deep=True, names=wire, values=True).members(record), other)
    return text if indent is None else json.dumps(json.loads(text), indent=indent, ensure_ascii=text.isascii())


def json_object(text: str | bytes, owner: str, names: Mapping[str, str]) -> dict[str, object]:
    """Decode a JSON string to a dict; `names` maps Python names to JSON names.

    Raises ValueError if it is not an object, or has the Python name of a field instead of the JSON name.
    """
    found = decode_json(text.encode() if isinstance(text, str) else text)
    if not is_dict(found):
        raise ValueError(f"expected a JSON object for {owner}, found {described(found)}: {found!r:.100}")
    for name, json_name in names.items():
        if name in found and json_name not in found:
            raise ValueError(
                f"{name!r} is the Python name of a field of {owner}: from_json reads JSON names ({json_name!r}), as "
                "to_json() writes them; to_json(wire=False) is for other readers"
            )
    return found
