"""Normalize, then denormalize: the same data comes out, for any schema and any value.

Shapes and kinds are drawn first, then a response of that shape in which every entity has an id of its own. So nothing
is merged, and what a reader gets is the response with defaults filled in.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import hypothesis.strategies as st
from hypothesis import HealthCheck, Phase, given, settings
from tests.effort import examples
from tests.properties.library import Driver, Schemas, pairs, unlike
from tests.properties.model import (
    Built,
    Either,
    Kind,
    Listed,
    Many,
    Mapped,
    Members,
    One,
    Shape,
)

from restencil import Entity, RestEndpoint

Json = Any

NAMES = ("Alpha", "Beta", "Gamma", "Delta")
FIELDS = ("a", "b", "c")
RELATIONS = ("r", "s", "t")

leaves = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.text("ab\u00e9\U0001f600", max_size=2))
plain = st.recursive(
    leaves,
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.sampled_from("xyz"), inner, max_size=2)),
    max_leaves=4,
)


def shapes(kinds: int, nested: str | None = None) -> st.SearchStrategy[Shape]:
    """Shapes over this many kinds; inside an entity, in the relation `nested`, a collection is the parent's own."""
    names = NAMES[:kinds]
    ones = st.sampled_from(names).map(One)
    either = st.just(Either(tuple((name.lower(), name) for name in names)))
    lists = st.sampled_from(names).map(lambda kind: Listed(kind, nested=(nested, "id") if nested else None))
    flat: st.SearchStrategy[Shape] = st.one_of(ones, either, lists)

    def wrapped(inner: st.SearchStrategy[Shape]) -> st.SearchStrategy[Shape]:
        items = inner.filter(lambda shape: not isinstance(shape, (Listed, Either)))
        members = st.dictionaries(st.sampled_from(("m", "n", "o")), inner, min_size=1, max_size=3)
        return st.one_of(
            items.map(Many),
            either.map(Many),
            items.filter(lambda shape: isinstance(shape, One)).map(Mapped),
            members.map(lambda found: Members(tuple(found.items()))),
        )

    # Two collections of one kind with one identity are one list.
    return st.recursive(flat, wrapped, max_leaves=3).filter(lambda shape: _most_listed(shape) < 2)


def _most_listed(shape: Shape) -> int:
    listed = list(_listed(shape))
    return max((listed.count(kind) for kind in listed), default=0)


def _listed(shape: Shape) -> Iterator[str]:
    match shape:
        case Listed(kind):
            yield kind
        case Many(item) | Mapped(item):
            yield from (kind for kind in _listed(item) for _ in range(2))
        case Members(members):
            for _, inner in members:
                yield from _listed(inner)
        case _:
            return


@st.composite
def kinds(draw: st.DrawFn) -> dict[str, Kind]:
    """Up to four entity types that refer to each other in any way."""
    count = draw(st.integers(1, len(NAMES)))
    made: dict[str, Kind] = {}
    for name in NAMES[:count]:
        fields: dict[str, Json] = {"id": "", "type": name.lower()}
        fields |= draw(st.dictionaries(st.sampled_from(FIELDS), plain, max_size=3))
        names = draw(st.sets(st.sampled_from(RELATIONS), max_size=2))
        relations = {relation: draw(shapes(count, relation)) for relation in sorted(names)}
        fields |= {relation: draw(st.sampled_from([None, []])) for relation in relations}
        made[name] = Kind(name, fields, relations)
    return made


class Responses:
    """Draws responses in which every entity has an id of its own, and says what a reader should get."""

    def __init__(self, draw: st.DrawFn, known: dict[str, Kind]) -> None:
        self.draw = draw
        self.kinds = known
        self.ids = itertools.count(1)

    def of(self, shape: Shape, depth: int) -> Json:
        """A response of this shape."""
        match shape:
            case One(kind):
                return self._entity(kind, depth)
            case Many(item):
                return [self._item(item, depth) for _ in range(self.draw(st.integers(0, 3)))]
            case Mapped(item):
                return {name: self._item(item, depth) for name in self.draw(st.sets(st.sampled_from("pqr")))}
            case Members(members):
                given_ones = {name: self._item(inner, depth) for name, inner in members if self.draw(st.booleans())}
                return {**given_ones, "other": self.draw(plain)}
            case Listed(kind):
                return [self._entity(kind, depth) for _ in range(self.draw(st.integers(0, 2)))]
            case Either(kinds_by_type):
                if self.draw(st.integers(0, 4)) == 0:
                    return {"id": "odd", "type": "unheard of", "a": self.draw(plain)}
                return self._entity(self.draw(st.sampled_from([kind for _, kind in kinds_by_type])), depth)
            case _:
                return self.draw(plain)

    def _item(self, shape: Shape, depth: int) -> Json:
        return None if self.draw(st.integers(0, 5)) == 0 else self.of(shape, depth)

    def _entity(self, kind: str, depth: int) -> Json:
        number = next(self.ids)
        spec = self.kinds[kind]
        record: dict[str, Json] = {"id": self.draw(st.sampled_from([number, str(number)])), "type": kind.lower()}
        for name in spec.fields:
            if name in FIELDS and self.draw(st.booleans()):
                record[name] = self.draw(plain)
        if depth:
            for name, shape in spec.relations.items():
                if self.draw(st.booleans()):
                    record[name] = self._item(shape, depth - 1)
        if self.draw(st.integers(0, 3)) == 0:
            record["undeclared"] = self.draw(plain)
        return record

    def read(self, shape: Shape, value: Json) -> Any:
        """What a reader of this response gets."""
        if value is None:
            return None
        match shape:
            case One(kind):
                return self._built(kind, value)
            case Many(item):
                return [self.read(item, one) for one in value]
            case Mapped(item):
                return {name: self.read(item, one) for name, one in value.items() if one is not None}
            case Members(members):
                inner = dict(members)
                return {name: self.read(inner.get(name), one) for name, one in value.items()}
            case Listed(kind):
                return [self._built(kind, one) for one in value]
            case Either(kinds_by_type):
                kind_of = dict(kinds_by_type).get(value["type"])
                return value if kind_of is None else self._built(kind_of, value)
            case _:
                return value

    def _built(self, kind: str, record: dict[str, Json]) -> Built:
        spec = self.kinds[kind]
        members = {**deepcopy(dict(spec.fields)), **record}
        for name, shape in spec.relations.items():
            if name in record:
                members[name] = self.read(shape, record[name])
        return Built(kind, str(record["id"]), members)


@st.composite
def cases(draw: st.DrawFn) -> tuple[dict[str, Kind], Shape, Json, Any]:
    """Kinds, a shape over them, a response, and what a reader gets."""
    known = draw(kinds())
    shape: Shape = draw(shapes(len(known)))
    responses = Responses(draw, known)
    response = responses.of(shape, 2)
    return known, shape, response, responses.read(shape, response)


_SETTINGS = settings(
    max_examples=examples(30),
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@_SETTINGS
@given(cases())
def test_round_trip_what_was_stored_is_what_is_read(case: tuple[dict[str, Kind], Shape, Json, Any]) -> None:
    """A read gives the response with defaults filled in, and so does the call that got the response."""
    known, shape, response, expected = case
    endpoint: RestEndpoint[..., Any] = RestEndpoint(path="/it", schema=Schemas(known).of(shape))
    driver = Driver()
    value = driver.answer(endpoint, (), deepcopy(response), 1.0)
    assert (problem := unlike(expected, driver.read(endpoint))) is None, problem
    if not _drops_null(shape, response):
        assert (problem := unlike(expected, value, "value of the call")) is None, problem


@_SETTINGS
@given(cases())
def test_round_trip_same_response_again_changes_no_identity(case: tuple[dict[str, Kind], Shape, Json, Any]) -> None:
    """Writing the same response twice, also in the form in which it was handed out, gives the identical objects."""
    known, shape, response, expected = case
    endpoint: RestEndpoint[..., Any] = RestEndpoint(path="/it", schema=Schemas(known).of(shape))
    driver = Driver()
    driver.answer(endpoint, (), deepcopy(response), 1.0)
    first = driver.read(endpoint)
    before = _entities(expected, first)
    driver.answer(endpoint, (), deepcopy(response), 2.0)
    second = driver.read(endpoint)
    assert first is second
    driver.answer(endpoint, (), first, 3.0)
    third = driver.read(endpoint)
    assert all(one is other for one, other in zip(before, _entities(expected, third), strict=True))


def _entities(expected: Any, actual: Any) -> list[Entity]:
    return [entity for _, entity in pairs(expected, actual)]


def _drops_null(shape: Shape, response: Json) -> bool:
    """Maps leave null entries out of what they store, but a call's value keeps the response's own form."""
    match shape:
        case Mapped():
            return True
        case Many(item):
            return any(_drops_null(item, one) for one in response if one is not None)
        case Members(members):
            return any(_drops_null(inner, response[name]) for name, inner in members if response.get(name) is not None)
        case _:
            return False
