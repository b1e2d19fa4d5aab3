"""The digest of a loaded declaration in canonical form.

What counts is what the spec says: comments, line ends, layout, the order of keys wherever it has no meaning, `30s` or
`30000`, `string` or `{type: string}` do not. What follows from the rest (an endpoint for which nothing is written) is
left out: the generator that made it is told apart by the bytes of its output. The file's name counts, because the
output names it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from restencil_generator import declaration as d

_fields_of: Final[dict[type[Any], tuple[tuple[str, Any], ...]]] = {}

# Derived from the rest.
_LEFT_OUT: Final = frozenset((("Spec", "digest"), ("Spec", "namespace"), ("Endpoint", "extenders")))


def digest(spec: d.Spec) -> str:
    """The SHA-256 of the canonical form, in hexadecimal."""
    text = json.dumps(_plain(spec), ensure_ascii=True, separators=(",", ":"), sort_keys=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, tuple | list):
        return [_plain(item) for item in cast("Sequence[Any]", value)]
    if isinstance(value, d.Resource):
        return _object(value) | {"endpoints": _endpoints(value)}
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, frozenset):
        return sorted(cast("frozenset[str]", value))
    if value is d.MISSING:
        return {"": "missing"}
    return _object(value)


def _object(value: Any) -> dict[str, Any]:
    kind: type[Any] = value.__class__
    fields = _fields_of.get(kind)
    if fields is None:
        fields = _fields_of[kind] = tuple(
            (field.name, field.default)
            for field in dataclasses.fields(kind)
            if field.compare and (kind.__name__, field.name) not in _LEFT_OUT
        )
    plain: dict[str, Any] = {"": kind.__name__}
    for name, default in fields:
        member = getattr(value, name)
        if member is not default:
            plain[name] = _plain(member)
    return plain


def _endpoints(resource: d.Resource) -> dict[str, Any]:
    """The endpoints for which something is written, extenders of the list among them."""
    return {
        name: _plain(endpoint)
        for name, endpoint in resource.all_endpoints()
        if endpoint.written or endpoint.example is not None or not endpoint.standard
    }
