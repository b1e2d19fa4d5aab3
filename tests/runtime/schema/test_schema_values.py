"""Maps with free keys: `Values`."""

from __future__ import annotations

from typing import Any

import pytest
from tests.runtime.doubles import Desk

from restencil import Entity, RestEndpoint, schema


class Todo(Entity):
    id: str = ""
    type: str = "todo"


class Note(Entity):
    id: str = ""


todos: Any = RestEndpoint(path="/todos", schema=schema.Values(Todo))
mixed: Any = RestEndpoint(path="/mixed", schema=schema.Values({"todo": Todo, "note": Note}, "type"))
gone: Any = RestEndpoint(path="/todos/:id", method="DELETE", schema=schema.Invalidate(Todo))


def test_values_normalized_forms() -> None:
    """Null entries are dropped, references stay, and items of several kinds carry theirs."""
    desk = Desk()
    desk.answer(todos, {"k1": {"id": 1}, "k2": None, "k3": "5"})
    desk.answer(mixed, {"k1": {"id": 1, "type": "todo"}, "k2": {"id": 9, "type": "zz"}})
    assert desk.result(todos) == {"k1": "1", "k3": "5"}
    assert desk.result(mixed) == {"k1": {"id": "1", "schema": "todo"}, "k2": {"id": 9, "type": "zz"}}


def test_values_missing_invalid_and_falsy_entries_are_dropped_on_reading() -> None:
    """What is not there, was deleted, or is 0, "" or False does not show."""
    desk = Desk()
    desk.answer(todos, {"a": {"id": 1}, "b": "nobody", "c": {"id": 2}, "d": 0, "e": "", "f": False})
    desk.answer(gone, {"id": 2}, {"id": 2})
    assert {name: todo.id for name, todo in desk.data(todos).items()} == {"a": 1}


def test_values_empty_containers_are_no_falsy_entries() -> None:
    """An entry that is an empty list or object is there."""
    lists: Any = RestEndpoint(path="/lists", schema=schema.Values([Todo]))
    objects: Any = RestEndpoint(path="/objects", schema=schema.Values(schema.Object({"todo": Todo})))
    desk = Desk()
    desk.answer(lists, {"a": []})
    desk.answer(objects, {"a": {}})
    assert (desk.data(lists), desk.data(objects)) == ({"a": []}, {"a": {}})


def test_values_place_of_an_entry() -> None:
    """An item's parent is the map, its key the entry's."""
    seen: list[tuple[Any, str | None]] = []

    class Item(Entity):
        id: str = ""

        @classmethod
        def process(cls, input: Any, parent: Any, key: str | None, args: tuple[Any, ...]) -> Any:
            seen.append((parent, key))
            return {**input}

    response = {"a": {"id": 1}, "b": {"id": 2}}
    Desk().answer(RestEndpoint(path="/x", schema=schema.Values(Item)), response)
    assert seen == [(response, "a"), (response, "b")]


def test_values_kind_may_depend_on_the_key() -> None:
    """A selector function gets value, parent and key."""
    shape = schema.Values({"todo": Todo, "note": Note}, lambda value, parent, key: str(key).partition("-")[0])
    endpoint: Any = RestEndpoint(path="/keyed", schema=shape)
    found = Desk().answer(endpoint, {"todo-1": {"id": 1}, "note-1": {"id": 1}})
    assert [type(item) for item in found.values()] == [Todo, Note]


def test_values_map_is_never_answered_from_tables() -> None:
    """A map that was not fetched is missing."""
    desk = Desk()
    desk.answer(mixed, {"k1": {"id": 1, "type": "todo"}})
    assert not desk.read(todos).found


def test_value_of_a_fetch_keeps_null_entries() -> None:
    """The response's own shape, with the store's instances."""
    desk = Desk()
    value = desk.answer(todos, {"a": {"id": 1}, "b": None, "c": "1", "d": "nobody"})
    assert value == {"a": desk.get(Todo, "1"), "b": None, "c": desk.get(Todo, "1")}


def test_values_what_is_handed_out_is_read_only() -> None:
    """Neither the map nor raw entries in it can be changed."""
    desk = Desk()
    for found in (desk.answer(mixed, {"a": {"type": "zz", "tags": []}}), desk.data(mixed)):
        with pytest.raises(TypeError, match="read-only"):
            found["b"] = 1
        with pytest.raises(TypeError, match="read-only"):
            found["a"]["tags"].append(1)


def test_values_mapping_without_attribute_is_rejected() -> None:
    """What tells the kinds apart must be given when the schema is made."""
    with pytest.raises(TypeError, match="Values: a mapping needs schema_attribute"):
        schema.Values({"todo": Todo})
