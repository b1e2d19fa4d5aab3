"""The library's side of the properties: schemas made from shapes, and reads compared by walking."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import new_class
from typing import Any

from tests.properties import model as m

from restencil import Entity, schema

Json = Any


class Schemas:
    """Entity classes and schemas for a set of kinds."""

    def __init__(self, kinds: Mapping[str, m.Kind]) -> None:
        self.kinds = kinds
        self.classes: dict[str, type[Entity]] = {}
        self._collections: dict[m.Listed, Any] = {}
        for name, kind in kinds.items():
            self.classes[name] = self._entity(name, kind)

    def _entity(self, name: str, kind: m.Kind) -> type[Entity]:
        def body(namespace: dict[str, Any]) -> None:
            namespace["__module__"] = __name__
            namespace["__annotations__"] = dict.fromkeys(kind.fields, Any)
            namespace.update(kind.fields)
            if kind.must_have:
                namespace["validate"] = classmethod(_lacking(kind.must_have))

        relations = {field: schema.Lazy(self._later(shape)) for field, shape in kind.relations.items()}
        made: type[Entity] = new_class(name, (Entity,), {"key": name, "pk": "id", "schema": relations}, body)
        return made

    def _later(self, shape: m.Shape) -> Callable[[], Any]:
        return lambda: self.of(shape)

    def of(self, shape: m.Shape) -> Any:
        """The library's schema for a shape."""
        match shape:
            case None:
                return None
            case m.One(kind):
                return self.classes[kind]
            case m.Many(item):
                return [self.of(item)]
            case m.Mapped(item):
                return schema.Values(self.of(item))
            case m.Members(members):
                return {name: self.of(inner) for name, inner in members}
            case m.Listed(kind, nested):
                return self._collection(kind, nested)
            case m.Either(kinds):
                return schema.Union({name: self.classes[kind] for name, kind in kinds}, schema_attribute="type")
            case m.Every(kind):
                return schema.All(self.classes[kind])
            case m.Removed(kind):
                return schema.Invalidate(self.classes[kind])
            case m.Added(kind, front):
                collection = self._collection(kind, None)
                return collection.unshift if front else collection.push
            case m.Paged(kind, cursor):
                return self._collection(kind, None).paged(_without(cursor))

    def _collection(self, kind: str, nested: tuple[str, str] | None) -> Any:
        place = m.Listed(kind, nested)
        if place not in self._collections:
            options: dict[str, Any] = {}
            if nested is not None:
                name, field = nested
                options["nest_key"] = lambda parent, key: {name: parent[field]}
            self._collections[place] = schema.Collection([self.classes[kind]], **options)
        return self._collections[place]


def _without(cursor: str) -> Callable[..., list[Json]]:
    return lambda first: [{name: value for name, value in first.items() if name != cursor}]


def _lacking(fields: Iterable[str]) -> Callable[[Any, Mapping[str, Any]], str | None]:
    def validate(cls: Any, record: Mapping[str, Any]) -> str | None:
        return next((f"{name} is missing" for name in fields if name not in record), None)

    return validate


def unlike(expected: Any, actual: Any, where: str = "$", path: tuple[int, ...] = ()) -> str | None:
    """Where the library's value is not what the naive store gives; None where they are the same, rings included."""
    if isinstance(expected, m.Mark):
        return None if actual is None else f"{where}: {actual!r}, expected nothing"
    if isinstance(expected, m.Built):
        if not isinstance(actual, Entity) or type(actual).__name__ != expected.kind:
            return f"{where}: {actual!r}, expected a {expected.kind} {expected.pk}"
        if id(expected) in path:
            return None
        return _unlike_members(expected.members, actual.to_dict(), where, (*path, id(expected)))
    if isinstance(expected, dict):
        if not isinstance(actual, dict):
            return f"{where}: {actual!r}, expected {expected!r}"
        return _unlike_members(expected, actual, where, path)
    if isinstance(expected, list):
        items: list[Any] = expected
        if not isinstance(actual, list):
            return f"{where}: {actual!r}, expected {expected!r}"
        others: list[Any] = actual
        if len(items) != len(others):
            return f"{where}: {actual!r} has {len(others)} items, expected {expected!r}"
        pairs = enumerate(zip(items, others, strict=True))
        return next((p for i, (one, two) in pairs if (p := unlike(one, two, f"{where}[{i}]", path))), None)
    same = type(expected) is type(actual) and expected == actual
    return None if same else f"{where}: {actual!r}, expected {expected!r}"


def _unlike_members(
    expected: Mapping[str, Any], actual: Mapping[str, Any], where: str, path: tuple[int, ...]
) -> str | None:
    if expected.keys() != actual.keys():
        return f"{where}: members {sorted(actual)}, expected {sorted(expected)}"
    for name, member in expected.items():
        problem = unlike(member, actual[name], f"{where}.{name}", path)
        if problem:
            return problem
    return None


def pairs(expected: Any, actual: Any) -> Iterable[tuple[m.Built, Entity]]:
    """The entities of two equal values, side by side, each once a place."""
    seen: set[tuple[int, int]] = set()
    waiting: list[tuple[Any, Any]] = [(expected, actual)]
    while waiting:
        one, other = waiting.pop()
        if isinstance(one, m.Built):
            if (id(one), id(other)) in seen:
                continue
            seen.add((id(one), id(other)))
            yield one, other
            members = other.to_dict()
            waiting += [(member, members[name]) for name, member in one.members.items()]
        elif isinstance(one, dict):
            shown: dict[Any, Any] = one
            waiting += [(member, other[name]) for name, member in shown.items()]
        elif isinstance(one, list):
            items: list[Any] = one
            waiting += list(zip(items, other, strict=True))
