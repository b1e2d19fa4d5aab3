"""Plain lists and `Array`."""

from __future__ import annotations

from typing import Any

import pytest
from tests.runtime.doubles import Desk

from restencil import Entity, RestEndpoint, schema
from restencil.cache.reading import ExpiryStatus


class Link(Entity):
    id: str = ""
    type: str = "link"


class Post(Entity):
    id: str = ""
    type: str = "post"


plain: Any = RestEndpoint(path="/plain", schema=[Link])
array: Any = RestEndpoint(path="/array", schema=schema.Array(Link))
mixed: Any = RestEndpoint(path="/mixed", schema=schema.Array({"link": Link, "post": Post}, "type"))
gone: Any = RestEndpoint(path="/links/:id", method="DELETE", schema=schema.Invalidate(Link))


def test_plain_list_keeps_null_and_an_array_leaves_it_out() -> None:
    """The stored `[S]` has its null items, on reading too; the stored `Array` has none."""
    desk = Desk()
    for endpoint, stored in ((plain, ["1", None, "2"]), (array, ["1", "2"])):
        desk.answer(endpoint, [{"id": 1}, None, {"id": 2}])
        assert desk.result(endpoint) == stored
        assert [item and item.id for item in desk.data(endpoint)] == [entry and int(entry) for entry in stored]


@pytest.mark.parametrize("endpoint", [plain, array])
def test_list_missing_and_invalid_items_are_dropped_and_order_stays(endpoint: Any) -> None:
    """A bare pk that the store does not hold, and a deleted entity, are not shown."""
    desk = Desk()
    desk.answer(endpoint, [{"id": 3}, "nobody", {"id": 1}, {"id": 2}])
    desk.answer(gone, {"id": 1}, {"id": 1})
    assert [item.id for item in desk.data(endpoint)] == [3, 2]
    assert desk.result(endpoint) == ["3", "nobody", "1", "2"]


def test_list_value_of_a_fetch_keeps_the_responses_shape() -> None:
    """Also an `Array`'s null items are in the value; a bare pk that the store does not hold is left out."""
    desk = Desk()
    for endpoint in (plain, array):
        value = desk.answer(endpoint, [{"id": 1}, None, "nobody", "1"])
        assert [item and item.id for item in value] == [1, None, 1]
        assert value[0] is value[2]


def test_list_dict_represents_the_list_of_its_values() -> None:
    """A server that answers with an object where a list was declared."""
    desk = Desk()
    desk.answer(plain, {"a": {"id": 1}, "b": {"id": 2}})
    assert desk.result(plain) == ["1", "2"]


def test_list_of_several_schemas_is_rejected() -> None:
    """`[S, T]` is an error that names the way out when the endpoint or entity is made, however deep it is written."""
    shapes: list[Any] = [[Link, Post], [], {"items": [Link, Post]}, [[{"items": [Link, Post]}]]]
    for shape in shapes:
        with pytest.raises(TypeError, match="a list schema has exactly one item, found [02]"):
            RestEndpoint(path="/x", schema=shape)
    with pytest.raises(TypeError, match="a list schema has exactly one item, found 2"):

        class Box(Entity, schema={"items": [Link, Post]}):  # pyright: ignore[reportUnusedClass]
            id: str = ""


def test_list_is_never_answered_from_tables() -> None:
    """A plain list that was not fetched is missing, however much the tables hold."""
    desk = Desk()
    desk.answer(plain, [{"id": 1}])
    reading = desk.read(array)
    assert (reading.data, reading.found, reading.expiry_status, reading.expires_at) == (
        None,
        False,
        ExpiryStatus.InvalidIfStale,
        1,
    )


def test_list_what_is_no_list_is_handed_out_as_it_is_and_read_only() -> None:
    """A single object where nested data should be a list is kept."""
    endpoint: Any = RestEndpoint(path="/x", schema={"items": [Link], "one": Link})
    desk = Desk()
    desk.answer(endpoint, {"items": 5, "one": {"id": 1}})
    assert desk.data(endpoint) == {"items": 5, "one": desk.get(Link, "1")}


def test_list_items_get_the_place_of_their_list() -> None:
    """An item's parent and key are those of the list: the object that holds it, and its field."""
    seen: list[tuple[Any, str | None]] = []

    class Item(Entity):
        id: str = ""

        @classmethod
        def process(cls, input: Any, parent: Any, key: str | None, args: tuple[Any, ...]) -> Any:
            seen.append((parent, key))
            return {**input}

    endpoint: Any = RestEndpoint(path="/x", schema={"rows": [[Item]]})
    response = {"rows": [[{"id": 1}]]}
    Desk().answer(endpoint, response)
    assert seen == [(response, "rows")]


def test_list_array_of_several_kinds() -> None:
    """Each item is stored with its kind; what has none is kept as it came."""
    desk = Desk()
    value = desk.answer(mixed, [{"id": 1, "type": "link"}, {"id": 1, "type": "post"}, {"id": 3, "type": "zz"}])
    assert desk.result(mixed) == [
        {"id": "1", "schema": "link"},
        {"id": "1", "schema": "post"},
        {"id": 3, "type": "zz"},
    ]
    assert [type(item) for item in desk.data(mixed)[:2]] == [Link, Post]
    assert value == desk.data(mixed)
    assert value[2] == {"id": 3, "type": "zz"}


def test_list_union_inside_is_hoisted() -> None:
    """`[Union]` and `Array(Union)` store as if they had been given the mapping; a plain list keeps null."""
    union = schema.Union({"link": Link, "post": Post}, "type")
    response = [{"id": 1, "type": "link"}, {"id": 3, "type": "zz"}, None]
    desk = Desk()
    listed: Any = RestEndpoint(path="/listed", schema=[union])
    arrayed: Any = RestEndpoint(path="/arrayed", schema=schema.Array(union))
    desk.answer(listed, response)
    desk.answer(arrayed, response)
    assert desk.result(listed) == [{"id": "1", "schema": "link"}, {"id": 3, "type": "zz"}, None]
    assert desk.result(arrayed) == [{"id": "1", "schema": "link"}, {"id": 3, "type": "zz"}]


def test_list_mapping_without_attribute_is_rejected() -> None:
    """What tells the kinds apart must be given, and goes with a mapping alone."""
    with pytest.raises(TypeError, match="Array: a mapping needs schema_attribute"):
        schema.Array({"link": Link})
    with pytest.raises(TypeError, match="Array: schema_attribute goes with a mapping"):
        schema.Array(Link, "type")


def test_nested_lists() -> None:
    """Lists of lists are lists of lists of entities; inner lists that lose items stay."""
    endpoint: Any = RestEndpoint(path="/grid", schema=[[Link]])
    desk = Desk()
    desk.answer(endpoint, [[{"id": 1}, {"id": 2}], [], [{"id": 3}]])
    desk.answer(gone, {"id": 3}, {"id": 3})
    assert [[item.id for item in row] for row in desk.data(endpoint)] == [[1, 2], [], []]


def test_list_what_is_handed_out_is_read_only() -> None:
    """Results of reads and values of fetches cannot be changed, and neither can raw items in them."""
    desk = Desk()
    value = desk.answer(mixed, [{"id": 3, "type": "zz", "tags": []}])
    for found in (value, desk.data(mixed)):
        with pytest.raises(TypeError, match="read-only"):
            found.append(1)
        with pytest.raises(TypeError, match="read-only"):
            found[0].update(id=4)
        with pytest.raises(TypeError, match="read-only"):
            found[0]["tags"].append(1)
