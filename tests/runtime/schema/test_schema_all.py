"""Every usable entity of a type: `All`."""

from __future__ import annotations

from typing import Any

import pytest
from tests.runtime.doubles import Desk

from restencil import AbortError, Entity, RestEndpoint, schema
from restencil.cache.reading import ExpiryStatus


class User(Entity):
    id: str = ""
    name: str = ""


class Link(Entity):
    id: str = ""
    type: str = "link"


class Post(Entity):
    id: str = ""
    type: str = "post"


everyone: Any = RestEndpoint(path="/users", schema=schema.All(User))
one: Any = RestEndpoint(path="/users/:id", schema=User)
gone: Any = RestEndpoint(path="/users/:id", method="DELETE", schema=schema.Invalidate(User))
MIXED = schema.All({"post": Post, "link": Link}, "type")
feed: Any = RestEndpoint(path="/feed", schema=MIXED)


def ids(found: Any) -> list[Any]:
    return [item.id for item in found]


def test_all_no_table_yet_means_invalid() -> None:
    """A read must fetch, and nothing says when the answer would expire."""
    reading = Desk().read(everyone)
    assert (reading.data, reading.expiry_status, reading.expires_at) == (None, ExpiryStatus.Invalid, float("inf"))


def test_all_nothing_is_stored_under_the_key() -> None:
    """Items go to their table, and each read looks there."""
    desk = Desk()
    desk.answer(everyone, [{"id": 1}])
    assert desk.store.state["endpoints"] == {}
    assert desk.pks("User") == ["1"]
    assert ids(desk.data(everyone)) == [1]


def test_all_entities_of_any_endpoint_are_in_it_in_order_of_arrival() -> None:
    """Insertion order counts, not the text of the primary key."""
    desk = Desk()
    desk.answer(one, {"id": "b"}, {"id": "b"})
    desk.answer(everyone, [{"id": 10}, {"id": 2}])
    desk.answer(one, {"id": "b", "name": "x"}, {"id": "b"})
    assert ids(desk.data(everyone)) == ["b", 10, 2]


def test_all_delete_shows_at_once_and_an_empty_table_is_an_empty_list() -> None:
    """Invalid entities are dropped; a table whose entities are all gone is known to be empty."""
    desk = Desk()
    desk.answer(everyone, [{"id": 1}])
    desk.answer(gone, {"id": 1}, {"id": 1})
    reading = desk.read(everyone)
    assert (reading.data, reading.expiry_status) == ([], ExpiryStatus.Valid)


def test_all_empty_response_is_a_response() -> None:
    """After it the list is known and empty."""
    desk = Desk()
    assert desk.answer(everyone, []) == []
    reading = desk.read(everyone)
    assert (reading.data, reading.expiry_status) == ([], ExpiryStatus.Valid)


def test_all_mapping_reads_table_by_table() -> None:
    """In the order of the mapping, each table in order of arrival; one existing table is enough."""
    desk = Desk()
    desk.answer(RestEndpoint(path="/links", schema=[Link]), [{"id": 1}])
    assert [type(item) for item in desk.data(feed)] == [Link]
    desk.answer(feed, [{"id": 2, "type": "link"}, {"id": 1, "type": "post"}])
    assert [(type(item), item.id) for item in desk.data(feed)] == [(Post, 1), (Link, 1), (Link, 2)]


def test_all_item_without_mapping_entry_is_in_the_value_of_the_fetch_alone() -> None:
    """It appears unchanged and in place, is not stored, and later reads do not have it."""
    desk = Desk()
    value = desk.answer(feed, [{"id": 1, "type": "post"}, {"id": 5, "type": "zz"}, {"id": 2, "type": "link"}])
    assert value[1] == {"id": 5, "type": "zz"}
    assert [type(item) for item in value] == [Post, type(value[1]), Link]
    assert ids(desk.data(feed)) == [1, 2]


def test_all_selector_function_chooses() -> None:
    """The attribute may be a function of value, parent and key."""
    shape = schema.All({"p": Post, "l": Link}, lambda value, parent, key: value["type"][0])
    desk = Desk()
    desk.answer(RestEndpoint(path="/x", schema=shape), [{"id": 1, "type": "link"}])
    assert ids(desk.get(shape)) == [1]


def test_all_null_items_and_a_dict_of_items() -> None:
    """Null items are never stored; a dict counts as the list of its values."""
    desk = Desk()
    desk.answer(everyone, [None, {"id": 1}])
    desk.answer(everyone, {"a": {"id": 2}})
    assert ids(desk.data(everyone)) == [1, 2]


def test_all_mapping_needs_an_attribute() -> None:
    """A mapping without it, or it without a mapping, is a construction error."""
    with pytest.raises(TypeError, match="All: a mapping needs schema_attribute"):
        schema.All({"post": Post})
    with pytest.raises(TypeError, match="All: schema_attribute goes with a mapping"):
        schema.All(Post, "type")


def test_all_define_merges_mappings() -> None:
    """A mapping is merged in, the later one wins, and reads follow at once."""
    shape = schema.All({"post": Post}, "type")
    endpoint: Any = RestEndpoint(path="/feed", schema=shape)
    desk = Desk()
    desk.answer(feed, [{"id": 1, "type": "post"}, {"id": 2, "type": "link"}])
    assert ids(desk.data(endpoint)) == [1]
    shape.define({"link": Link})
    assert ids(desk.data(endpoint)) == [1, 2]
    shape.define({"post": Link})
    assert ids(desk.data(endpoint)) == [2]


def test_all_define_replaces_a_single_entity_and_rejects_to_mix() -> None:
    """A single entity takes the place of the former; one form never meets the other."""
    shape = schema.All(Post)
    desk = Desk()
    desk.answer(feed, [{"id": 1, "type": "post"}, {"id": 2, "type": "link"}])
    assert ids(desk.get(shape)) == [1]
    shape.define(Link)
    assert ids(desk.get(shape)) == [2]
    with pytest.raises(
        TypeError, match=r"All\.define: this one was made with a single entity, define\(\) was given a mapping"
    ):
        shape.define({"post": Post})
    with pytest.raises(TypeError, match="this one was made with a mapping"):
        schema.All({"post": Post}, "type").define(Post)


def test_all_as_a_member_of_an_object_it_is_found_at_each_read() -> None:
    """Whatever its response had; each read has the full list, the value of the fetch what the response had."""
    endpoint: Any = RestEndpoint(path="/search", schema={"results": schema.All(User), "total": 0})
    desk = Desk()
    desk.answer(one, {"id": 9}, {"id": 9})
    value = desk.answer(endpoint, {"results": [{"id": 1}], "total": 1})
    assert ids(value["results"]) == [1]
    found = desk.data(endpoint)
    assert (ids(found["results"]), found["total"]) == ([9, 1], 1)
    desk.answer(one, {"id": 10}, {"id": 10})
    assert ids(desk.data(endpoint)["results"]) == [9, 1, 10]
    assert ids(found["results"]) == [9, 1]


def test_all_what_is_stored_of_a_member_is_a_list_to_everyone() -> None:
    """To `store.state`, to a schema that is no `All` under the same key, and to functions of `update`."""
    everything: Any = RestEndpoint(path="/search", schema={"results": schema.All(User), "total": 0})
    plain: Any = RestEndpoint(path="/search", schema={"results": [User]})
    seen: list[Any] = []

    def noted(value: Any) -> Any:
        seen.append(value)
        return value

    changing: Any = RestEndpoint(
        path="/users",
        method="POST",
        schema={"made": schema.All(User)},
        update=lambda made, body: {everything.key(): noted} if noted(made) else {},
    )
    desk = Desk()
    desk.answer(one, {"id": 9}, {"id": 9})
    desk.answer(everything, {"results": [{"id": 1}, None, {"id": 2}], "total": 2})
    assert desk.store.state["endpoints"][everything.key()] == {"results": ["1", "2"], "total": 2}
    assert ids(desk.data(plain)["results"]) == [1, 2]
    desk.answer(changing, {"made": [{"id": 3}]}, {})
    assert seen == [{"made": ["3"]}, {"results": ["1", "2"], "total": 2}]
    assert ids(desk.data(everything)["results"]) == [9, 1, 2, 3]


def test_all_absent_or_null_member_stays_what_it_is() -> None:
    """Where the response had no list, there is none."""
    endpoint: Any = RestEndpoint(path="/search", schema={"results": schema.All(User)})
    desk = Desk()
    desk.answer(endpoint, {"results": None})
    assert desk.data(endpoint) == {"results": None}
    desk.answer(endpoint, {})
    assert desk.data(endpoint) == {}


def test_all_age_of_what_was_fetched_is_its_own_and_of_what_was_not_the_oldest_entitys() -> None:
    """Answered from the table alone it takes the time of its oldest entity."""
    desk = Desk()
    desk.answer(one, {"id": 1}, {"id": 1})
    desk.now = 2_000
    desk.answer(one, {"id": 2}, {"id": 2})
    assert desk.read(everyone).expires_at == 61_000
    desk.now = 3_000
    desk.answer(everyone, [{"id": 1}])
    assert desk.read(everyone).expires_at == 63_000


def test_all_only_what_is_usable_is_in_it() -> None:
    """Records that a class finds invalid are not shown to it."""

    class Named(Entity, key="User"):
        id: str = ""
        name: str = ""

        @classmethod
        def validate(cls, record: Any) -> str | None:
            return None if "name" in record else "no name"

    desk = Desk()
    desk.answer(everyone, [{"id": 1}, {"id": 2, "name": "x"}])
    assert ids(desk.get(schema.All(Named))) == [2]
    assert ids(desk.get(schema.All(User))) == [1, 2]


def test_all_type_of_the_mapping_that_comes_later_joins() -> None:
    """A list of all depends on every table of its mapping, also on those that do not exist yet."""
    desk = Desk()
    desk.answer(RestEndpoint(path="/posts/:id", schema=Post), {"id": 1}, {"id": 1})
    assert ids(desk.get(MIXED)) == [1]
    desk.answer(RestEndpoint(path="/links/:id", schema=Link), {"id": 2}, {"id": 2})
    assert ids(desk.get(MIXED)) == [1, 2]


def test_all_table_that_two_types_share_is_listed_once() -> None:
    """Each record is one item, of the type that its attribute names, else of the first one on the table."""

    class Short(Entity, key="Note"):
        id: str = ""

    class Long(Entity, key="Note"):
        id: str = ""
        text: str = "long"

    notes = schema.All({"short": Short, "long": Long}, "type")
    desk = Desk()
    desk.answer(
        RestEndpoint(path="/n", schema=[Short]), [{"id": 1, "type": "long"}, {"id": 2, "type": "short"}, {"id": 3}]
    )
    assert [(type(item), item.id) for item in desk.get(notes)] == [(Long, 1), (Short, 2), (Short, 3)]
    desk.answer(RestEndpoint(path="/n/:id", schema=Short), {"id": 3, "type": "long"}, {"id": 3})
    assert [type(item) for item in desk.get(notes)] == [Long, Short, Long]


def test_all_define_merges_into_the_mapping_of_a_union() -> None:
    """A union inside is as if its mapping had been given; the union itself stays as it is."""
    union = schema.Union({"post": Post}, "type")
    shape = schema.All(union)
    desk = Desk()
    desk.answer(feed, [{"id": 1, "type": "post"}, {"id": 2, "type": "link"}])
    assert ids(desk.get(shape)) == [1]
    shape.define({"link": Link})
    assert ids(desk.get(shape)) == [1, 2]
    assert list(union.raw) == ["post"]


def test_all_pending_empty_list_makes_the_table_known_while_it_is_pending() -> None:
    """An optimistic answer without items is an answer for as long as it stands in for the real one."""
    create: Any = RestEndpoint(
        path="/users", method="POST", schema=schema.All(User), get_optimistic_response=lambda snapshot, body: []
    )
    desk = Desk()
    assert not desk.read(everyone).found
    pending = desk.start(create, {})
    assert desk.data(everyone) == []
    desk.fail(create, AbortError("left"), {}, fetch=pending)
    assert not desk.read(everyone).found
