"""Serialization of a spec as `x-restencil`, and its restoration.

Each part of the spec is stored as written: an entity, object or enum at its schema, a resource at its first path, an
endpoint at its operation, and everything else at the document. Reading it back returns the same spec, whatever the rest
of the document contains.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from restencil_generator.openapi.document.json_types import is_list, is_table

KEY: Final = "x-restencil"

_TABLES: Final[Mapping[str, str]] = {"enums": "enum", "objects": "object", "entities": "entity"}


@dataclasses.dataclass(slots=True)
class Placed:
    """The places of the parts of a spec: of each resource the first path, of each endpoint its path and method.

    `members` are all members of each path and method: an endpoint with optional path parameters has several paths.
    """

    resources: dict[str, str]
    endpoints: dict[tuple[str, str], tuple[str, str]]
    members: list[tuple[str, tuple[str, str]]] = dataclasses.field(default_factory=list[tuple[str, tuple[str, str]]])


@dataclasses.dataclass(frozen=True, slots=True)
class Exported:
    """A spec that a document was exported from, and its members with their paths and methods."""

    spec: dict[str, Any]
    members: Sequence[tuple[tuple[str, str], tuple[str, str]]]

    @property
    def package(self) -> str:
        """The name of its package."""
        return str(self.spec["package"])


def embed(document: dict[str, Any], written: Mapping[str, Any], placed: Placed) -> None:
    """Store a spec (as plain values) in its document."""
    rest = copy.deepcopy(dict(written))
    schemas = document["components"]["schemas"]
    for table, kind in _TABLES.items():
        for name, value in list(_mapping(rest.get(table)).items()):
            if name in schemas:
                schemas[name][KEY] = {kind: rest[table].pop(name)}
                if set(schemas[name]) == {"$ref", KEY}:
                    schemas[name] = {"allOf": [{"$ref": schemas[name]["$ref"]}], KEY: schemas[name][KEY]}
            else:
                rest[table][name] = value
    for name, resource in list(_mapping(rest.get("resources")).items()):
        path = placed.resources.get(name)
        if path is None or not isinstance(resource, dict):
            continue
        own = rest["resources"].pop(name)
        _endpoints(document, name, own, placed)
        _part(document["paths"][path], "resources")[name] = own
    for member, (path, method) in placed.members:
        operation = document["paths"][path][method]
        operation.setdefault(KEY, {}).setdefault("members", []).append(member)
    document[KEY] = rest


def _endpoints(document: dict[str, Any], resource: str, own: dict[str, Any], placed: Placed) -> None:
    """Move the declarations of endpoints to their operations; those without an operation stay."""
    table = own.get("endpoints")
    for name, value in list(_mapping(table).items()):
        place = placed.endpoints.get((resource, name))
        if place is not None:
            operation = document["paths"][place[0]][place[1]]
            _part(operation, "endpoints")[f"{resource}.{name}"] = value
            del own["endpoints"][name]
    if table == {}:
        own.pop("endpoints")


def restored(document: Any) -> Exported | None:
    """Return the spec that a document was exported from; None for any other document.

    Parts that do not have the form of an export are left out; the analysis of the spec reports missing parts.
    """
    whole = _mapping(document)
    top = _mapping(whole.get(KEY))
    if "restencil" not in top or "package" not in top:
        return None
    spec = copy.deepcopy(top)
    schemas = _mapping(_mapping(whole.get("components")).get("schemas"))
    for name, schema in schemas.items():
        own = _mapping(_mapping(schema).get(KEY))
        for table, kind in _TABLES.items():
            if kind in own:
                _table(spec, table)[name] = copy.deepcopy(own[kind])
    paths = _mapping(whole.get("paths"))
    for item in paths.values():
        for name, resource in _mapping(_mapping(_mapping(item).get(KEY)).get("resources")).items():
            _table(spec, "resources")[name] = copy.deepcopy(resource)
    for name, value in _written(paths):
        resource, _, member = name.partition(".")
        owner = _table(spec, "resources").get(resource)
        if is_table(owner):
            _table(owner, "endpoints")[member] = copy.deepcopy(value)
    return Exported(spec, tuple(_members(paths)))


def _members(paths: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    for path, item in paths.items():
        for method, operation in _mapping(item).items():
            names = _mapping(_mapping(operation).get(KEY)).get("members")
            for name in names if is_list(names) else ():
                resource, _, member = str(name).partition(".")
                yield (resource, member), (path, method)


def _written(paths: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the declarations of endpoints, by `resource.member`."""
    for item in paths.values():
        for operation in _mapping(item).values():
            yield from _mapping(_mapping(_mapping(operation).get(KEY)).get("endpoints")).items()


def _part(holder: dict[str, Any], name: str) -> dict[str, Any]:
    return _table(_table(holder, KEY), name)


def _table(holder: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = _mapping(holder.get(name))
    holder[name] = found
    return found


def _mapping(value: Any) -> dict[str, Any]:
    return value if is_table(value) else {}
