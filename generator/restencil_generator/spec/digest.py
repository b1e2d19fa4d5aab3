"""The digest of a resolved spec, which changes only if the meaning of the spec changes.

It does not depend on comments, line ends, layout, the order of keys if it has no meaning, or on equivalent
spellings (`30s` or `30000`, `string` or `{type: string}`). Everything that is derived from the rest, such as endpoints
that the spec does not mention, is left out: a different generator is recognized by its output. The file name is left
out too, because the header of each generated file has it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import operator
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from restencil_generator.spec import model as d

# Attributes that are derived from others.
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
        ("CollectionOf", "non_filters"),
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
    """The attributes of a class that are part of the digest: their names, a function to read them, and defaults."""

    names: tuple[str, ...]
    read: Callable[[Any], tuple[Any, ...]]
    defaults: tuple[Any, ...]


_layouts: Final[dict[type[Any], _Layout]] = {}


def digest(spec: d.Spec) -> str:
    """Return the SHA-256 of the canonical form, in hexadecimal."""
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
        # Empty parts and defaults have no effect on the digest, so new attributes do not change digests of old specs.
        if not _equal(member, default) and member not in _EMPTY:
            plain[name] = _plain(member)
    return plain


def _short_auth(auth: d.Auth) -> dict[str, Any]:
    """Return the canonical form of a single scheme without a name; it must not change, so that digests stay valid."""
    (scheme,) = auth.schemes
    values = {"name": scheme.parameter, "prefix": scheme.prefix, "env": scheme.env}
    return {"": "Auth", "kind": scheme.kind} | {name: value for name, value in values.items() if value}


def _equal(member: Any, default: Any) -> bool:
    """Return whether a part equals its default; `True` does not equal `1`."""
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
    """Return the endpoints that the spec mentions, including operations of a list, in order."""
    return [
        (name, _plain(endpoint))
        for name, endpoint in resource.all_endpoints()
        if endpoint.written or endpoint.example is not None or not endpoint.standard
    ]
