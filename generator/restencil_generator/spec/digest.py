"""The digest of a loaded declaration in canonical form.

What counts is what the spec says: comments, line ends, layout, the order of keys wherever it has no meaning, `30s` or
`30000`, `string` or `{type: string}` do not. What follows from the rest (an endpoint for which nothing is written) is
left out: the generator that made it is distinguished by the bytes of its output. So is the name of the file, which the
header of each file names.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import operator
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from restencil_generator.spec import model as d

# Derived from the rest.
_LEFT_OUT: Final = frozenset(
    (
        ("Spec", "digest"),
        ("Spec", "file"),
        ("Spec", "has_errors"),
        ("Spec", "namespace"),
        ("Entity", "all_fields"),
        ("Entity", "body_name"),
        ("Entity", "partial_body_name"),
        ("Object", "body_name"),
        ("Field", "python"),
        ("Endpoint", "python"),
        ("Endpoint", "extenders"),
        ("Endpoint", "collection"),
        ("Endpoint", "search_style"),
        ("Resource", "endpoints"),
        ("Resource", "python"),
    )
)


class _Layout(NamedTuple):
    """What counts of the instances of a class: the names of its fields, how to read them all, and their defaults."""

    names: tuple[str, ...]
    read: Callable[[Any], tuple[Any, ...]]
    defaults: tuple[Any, ...]


_layouts: Final[dict[type[Any], _Layout]] = {}


def digest(spec: d.Spec) -> str:
    """The SHA-256 of the canonical form, in hexadecimal."""
    text = json.dumps(_plain(spec), ensure_ascii=True, separators=(",", ":"), sort_keys=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _plain(value: Any) -> Any:
    kind: type[Any] = value.__class__
    if kind in _ATOMS:
        return value
    if kind is tuple or kind is list:
        return [_plain(item) for item in value]
    if kind is dict:
        return {key: _plain(item) for key, item in value.items()}
    if kind is frozenset:
        return sorted(value)
    if value is d.MISSING:
        return {"": "missing"}
    if kind is d.Auth and value.short:
        return _short_auth(value)
    plain = _object(value, kind)
    if kind is d.Resource:
        plain["endpoints"] = _endpoints(value)
    return plain


_ATOMS: Final = frozenset((str, int, bool, float, type(None)))
_EMPTY: Final[tuple[Any, ...]] = ((), frozenset[str](), dict[str, Any]())


def _object(value: Any, kind: type[Any]) -> dict[str, Any]:
    layout = _layouts.get(kind) or _layout(kind)
    plain: dict[str, Any] = {"": kind.__name__}
    for name, member, default in zip(layout.names, layout.read(value), layout.defaults, strict=True):
        # Empty parts say nothing, and equal ones nothing new.
        if not _equal(member, default) and member not in _EMPTY:
            plain[name] = _plain(member)
    return plain


def _short_auth(auth: d.Auth) -> dict[str, Any]:
    """The one scheme of a spec that names none, as it always was."""
    (scheme,) = auth.schemes
    values = {"name": scheme.parameter, "prefix": scheme.prefix, "env": scheme.env}
    return {"": "Auth", "kind": scheme.kind} | {name: value for name, value in values.items() if value}


def _equal(member: Any, default: Any) -> bool:
    """Whether a part is its default, by value; `True` is not `1`."""
    return member is default or (type(member) is type(default) and member == default)


def _layout(kind: type[Any]) -> _Layout:
    fields = [
        field for field in dataclasses.fields(kind) if field.compare and (kind.__name__, field.name) not in _LEFT_OUT
    ]
    names = tuple(field.name for field in fields)
    _layouts[kind] = _Layout(names, _reader(names), tuple(field.default for field in fields))
    return _layouts[kind]


def _reader(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    if len(names) != 1:
        return operator.attrgetter(*names)
    only = operator.attrgetter(*names)

    def read(value: Any) -> tuple[Any, ...]:
        return (only(value),)

    return read


def _endpoints(resource: d.Resource) -> list[tuple[str, Any]]:
    """The endpoints for which something is written, extenders of the list among them, in their order."""
    return [
        (name, _plain(endpoint))
        for name, endpoint in resource.all_endpoints()
        if endpoint.written or endpoint.example is not None or not endpoint.standard
    ]
