"""Derived values, conversions and deferred schemas: `Query`, callables, `Lazy`."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from tests.runtime.doubles import Desk

from restencil import Entity, ProcessingError, RestEndpoint, create_resource, schema


class Todo(Entity):
    id: str = ""
    title: str = ""
    done: bool = False


Todos: Any = create_resource(path="/todos/:id", schema=Todo)
calls: list[tuple[Any, ...]] = []


def _by_title(found: list[Todo], *args: Any) -> list[Todo]:
    calls.append(args)
    limit = args[0].get("limit") if args and args[0] else None
    return sorted(found, key=lambda todo: todo.title)[:limit]


SORTED = schema.Query(schema.All(Todo), _by_title)


@pytest.fixture
def desk() -> Desk:
    """A store with two todos."""
    made = Desk()
    made.answer(Todos.get_list, [{"id": 1, "title": "b"}, {"id": 2, "title": "a"}])
    calls.clear()
    return made


# -- Query -----------------------------------------------------------------------------------------------------------


def test_query_arguments_count_also_where_the_key_does_not_report_them_apart(desk: Desk) -> None:
    """An endpoint with a key of its own gives each arguments their result."""
    endpoint: Any = RestEndpoint(path="/todos", schema=SORTED, key=lambda *args: "todos")
    assert len(desk.data(endpoint, {"limit": 1})) == 1
    assert len(desk.data(endpoint, {"limit": 2})) == 2
    assert len(desk.data(endpoint, {"limit": 1})) == 1


# -- conversions -----------------------------------------------------------------------------------------------------


class Event(Entity, schema={"at": datetime.datetime.fromisoformat, "codes": lambda value: [*value, 1]}):
    id: str = ""
    at: Any = None
    codes: Any = None


event: Any = RestEndpoint(path="/events/:id", schema=Event)


def test_query_callable_converts_on_reading_and_stores_raw() -> None:
    """A plain function may stand where a schema may; the table keeps what came."""
    desk = Desk()
    value = desk.answer(event, {"id": 1, "at": "2026-11-21T00:00:00+00:00", "codes": [5]}, {"id": 1})
    assert value.at == datetime.datetime(2026, 11, 21, tzinfo=datetime.UTC)
    assert desk.table("Event")["1"]["at"] == "2026-11-21T00:00:00+00:00"
    assert value.codes == [5, 1]
    with pytest.raises(TypeError, match="read-only"):
        value.codes.append(2)
    assert desk.table("Event")["1"]["codes"] == [5]


def test_query_conversion_that_fails_is_a_processing_error() -> None:
    """The message names entity, pk, field and value; outside of entities the value and the conversion. Reads ask."""
    desk = Desk()
    desk.answer(RestEndpoint(path="/e", schema=[Event]), [])
    with pytest.raises(ProcessingError, match="field 'at' of Event '1' does not decode: 'soon'") as caught:
        desk.answer(event, {"id": 1, "at": "soon"}, {"id": 1})
    assert isinstance(caught.value.__cause__, ValueError)
    loose: Any = RestEndpoint(path="/loose", schema={"at": datetime.datetime.fromisoformat})
    with pytest.raises(ProcessingError, match="'soon' cannot be converted by fromisoformat"):
        desk.answer(loose, {"at": "soon"})
    assert desk.data(loose) is None and desk.read(loose).suspends


def test_query_codec_makes_a_schema_of_a_type() -> None:
    """`schema.codec(type)` is the conversion that fields of that type have."""
    endpoint: Any = RestEndpoint(path="/days", schema={"days": [schema.codec(datetime.date)]})
    assert Desk().answer(endpoint, {"days": ["2026-11-21"]}) == {"days": [datetime.date(2026, 11, 21)]}
    with pytest.raises(TypeError, match="needs no conversion"):
        schema.codec(int)


# -- Lazy ------------------------------------------------------------------------------------------------------------


TREE: Any = schema.Object({"todo": Todo, "children": [schema.Lazy(lambda: TREE)]})
CHAIN: Any = schema.Object({"todo": Todo, "next": schema.Lazy(lambda: CHAIN)})
MAP: Any = schema.Values(schema.Lazy(lambda: MAP))
PLAIN: Any = schema.Object({"n": 0, "children": [schema.Lazy(lambda: PLAIN)]})
LISTED: Any = schema.Object({"todos": schema.Collection([Todo]), "more": schema.Lazy(lambda: LISTED)})


@pytest.mark.parametrize(
    ("shape", "response"),
    [
        (TREE, {"todo": {"id": 1}, "children": [{"todo": {"id": 2}, "children": []}, {"todo": {"id": 1}}]}),
        (CHAIN, {"todo": {"id": 1}, "next": {"todo": {"id": 2}, "next": None}}),
        (MAP, {"a": {"b": {}}, "c": {}}),
        (PLAIN, {"n": 1, "children": [{"n": 2, "children": []}]}),
        (LISTED, {"todos": [{"id": 1}], "more": {"todos": [{"id": 1}]}}),
    ],
)
def test_schema_may_lead_back_to_itself_without_any_entity(shape: Any, response: Any) -> None:
    """It is named, stored, read and asked for by arguments like any other, also when it is compiled."""
    endpoint: Any = RestEndpoint(path="/recursive", schema=shape)
    desk = Desk()
    assert schema.schema_name(shape)
    assert schema.entity_of(shape) in (None, Todo)
    assert desk.read(endpoint).suspends
    for _ in range(40):
        value = desk.answer(endpoint, response)
        assert value == desk.data(endpoint)
        desk.reset()


def test_query_pages_of_a_schema_that_leads_back_to_itself() -> None:
    """Its collections are found and replaced as far as it is written out."""
    assert schema.find_collection(LISTED) is LISTED.members["todos"]
    assert schema.find_collection(TREE) is None
    endpoint: Any = RestEndpoint(path="/recursive", schema=LISTED)
    desk = Desk()
    desk.answer(endpoint, {"todos": [{"id": 1}]}, {})
    desk.answer(endpoint.paginated("cursor"), {"todos": [{"id": 2}]}, {"cursor": "2"})
    assert desk.table("[Todo]") == {"{}": ["1", "2"]}
