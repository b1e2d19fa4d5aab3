"""Polymorphic values: `Union`."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from tests.runtime.doubles import Desk

from restencil import Entity, RestEndpoint, schema
from restencil.cache.reading import ExpiryStatus


class Link(Entity):
    id: str = ""
    type: str = "link"
    url: str = ""


class Post(Entity):
    id: str = ""
    type: str = "post"
    text: str = ""


UNION = schema.Union({"link": Link, "post": Post}, "type")

get: Any = RestEndpoint(path="/feed/:id", schema=UNION)
feed: Any = RestEndpoint(path="/feed", schema=[UNION])
gone: Any = RestEndpoint(path="/links/:id", method="DELETE", schema=schema.Invalidate(Link))


def test_union_item_is_stored_with_its_kind() -> None:
    """`{"id": pk, "schema": mapping key}`; reading gives an instance of the class."""
    desk = Desk()
    value = desk.answer(get, {"id": 1, "type": "post", "text": "x"}, {"id": 1})
    assert desk.result(get, {"id": 1}) == {"id": "1", "schema": "post"}
    assert isinstance(value, Post)
    assert desk.data(get, {"id": 1}) is value


def test_union_missing_and_invalid() -> None:
    """A missing entity is missing, an invalid one invalid, and a null inside of an object None."""
    holder: Any = RestEndpoint(path="/holder", schema={"item": UNION})
    desk = Desk()
    desk.answer(get, {"id": 1, "type": "link"}, {"id": 1})
    desk.answer(gone, {"id": 1}, {"id": 1})
    assert desk.read(get, {"id": 1}).expiry_status is ExpiryStatus.Invalid
    desk.answer(holder, {"item": None})
    assert desk.data(holder) == {"item": None}


def test_union_item_without_mapping_entry_is_kept_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    """No entity is created; the log names attribute, value and the known kinds."""
    desk = Desk()
    with caplog.at_level(logging.WARNING, "restencil"):
        desk.answer(feed, [{"id": 1, "type": "video"}, {"id": 2}])
    assert desk.data(feed) == [{"id": 1, "type": "video"}, {"id": 2}]
    assert desk.store.state["entities"] == {}
    assert caplog.messages[0] == (
        "Union: no schema for an item whose attribute 'type' is 'video'; it is kept unchanged. Known: link, post"
    )


def test_union_define_merges_kinds_at_any_time() -> None:
    """An item that was kept as it came is an entity as soon as its kind is defined, on reading already."""
    union = schema.Union({"link": Link}, "type")
    endpoint: Any = RestEndpoint(path="/later", schema=[union])
    desk = Desk()
    desk.answer(endpoint, [{"id": 1, "type": "post", "text": "x"}, {"id": 1, "type": "link"}])
    assert desk.data(endpoint)[0] == {"id": 1, "type": "post", "text": "x"}
    union.define({"post": Post})
    assert isinstance(desk.data(endpoint)[0], Post)
    assert desk.data(endpoint)[0].text == "x"
    desk.answer(endpoint, [{"id": 1, "type": "post", "text": "y"}])
    assert desk.table("Post") == {"1": {"id": 1, "type": "post", "text": "y"}}


def test_union_unknown_item_that_looks_like_a_reference_is_kept() -> None:
    """An item with members named `id` and `schema` of its own is no reference of the store's."""
    desk = Desk()
    items = [{"id": 1, "schema": "other"}, {"id": 1, "schema": "link", "more": 1}, {"id": 1, "schema": ["x"]}]
    assert desk.answer(feed, items) == items
    assert desk.data(feed) == items


def test_union_selector_function_gets_value_parent_and_key() -> None:
    """What it returns is looked up in the mapping."""
    seen: list[tuple[Any, Any, str | None]] = []

    def select(value: Any, parent: Any, key: str | None) -> str:
        seen.append((value, parent, key))
        return str(value["type"]).lower()

    endpoint: Any = RestEndpoint(path="/x", schema={"item": schema.Union({"link": Link}, select)})
    response = {"item": {"id": 1, "type": "LINK"}}
    assert isinstance(Desk().answer(endpoint, response)["item"], Link)
    assert seen[0] == (response["item"], response, "item")


def test_union_needs_mapping_and_attribute() -> None:
    """Anything else is a construction error."""
    wrong: list[tuple[Any, ...]] = [({"link": Link},), (Link, "type"), ({"link": Link}, None)]
    for arguments in wrong:
        with pytest.raises(TypeError, match="Union needs a mapping from values to entities and schema_attribute"):
            schema.Union(*arguments)


def test_union_arguments_with_the_attribute_choose_the_kind() -> None:
    """The selector is applied to the first argument; a known kind is looked up in its table alone."""
    desk = Desk()
    desk.answer(feed, [{"id": 1, "type": "link"}, {"id": 1, "type": "post"}, {"id": 2, "type": "post"}])
    assert isinstance(desk.get(UNION, {"id": 1, "type": "post"}), Post)
    assert isinstance(desk.get(UNION, {"id": 1, "type": "link"}), Link)
    assert desk.get(UNION, {"id": 2, "type": "link"}) is None
    assert desk.get(UNION) is None
    assert desk.get(UNION, None) is None


def test_union_arguments_without_the_attribute_try_each_kind_in_order() -> None:
    """The first table that has the primary key answers."""
    desk = Desk()
    desk.answer(feed, [{"id": 1, "type": "post"}, {"id": 2, "type": "post"}, {"id": 1, "type": "link"}])
    assert isinstance(desk.get(UNION, {"id": 1}), Link)
    assert isinstance(desk.get(UNION, {"id": 2}), Post)
    assert isinstance(desk.read(get, {"id": 2}).data, Post)
    assert desk.get(UNION, {"id": 3}) is None


def test_union_value_that_is_no_object_is_kept_read_only() -> None:
    """A list or text where an item was expected stays what it is."""
    holder: Any = RestEndpoint(path="/holder", schema={"item": UNION, "other": UNION})
    desk = Desk()
    for found in (desk.answer(holder, {"item": [1], "other": "x"}), desk.data(holder)):
        assert found == {"item": [1], "other": "x"}
        with pytest.raises(TypeError, match="read-only"):
            found["item"].append(2)


def test_union_in_an_entity() -> None:
    """A polymorphic relation follows the entity that it names."""

    class Share(Entity, schema={"of": UNION}):
        id: str = ""
        of: Link | Post | None = None

    endpoint: Any = RestEndpoint(path="/shares/:id", schema=Share)
    desk = Desk()
    value = desk.answer(endpoint, {"id": 1, "of": {"id": 7, "type": "link", "url": "u"}}, {"id": 1})
    assert desk.table("Share")["1"]["of"] == {"id": "7", "schema": "link"}
    assert value.of.url == "u"
    desk.answer(feed, [{"id": 7, "type": "link", "url": "v"}])
    assert desk.data(endpoint, {"id": 1}).of.url == "v"
    desk.answer(gone, {"id": 7}, {"id": 7})
    assert desk.data(endpoint, {"id": 1}).of is None


class Photo(Entity, wire={"taken_at": "takenAt", "kind": "itemKind"}):
    id: str = ""
    kind: str = "photo"
    taken_at: str = ""


def test_union_body_of_a_union_is_received_to_wire_form_by_the_entity_that_it_is_of() -> None:
    """The names of a body are those of the entity that its attribute, in either form, tells."""
    items = RestEndpoint(path="/items", schema=schema.Collection([schema.Union({"photo": Photo}, "itemKind")]))
    wired = {"itemKind": "photo", "takenAt": "today"}
    assert items.push.bind_args((), {"body": {"kind": "photo", "taken_at": "today"}})[1] == wired
    assert items.push.bind_args((), {"body": {"itemKind": "photo", "taken_at": "today"}})[1] == wired
    assert items.push.bind_args((), {"body": {"taken_at": "today"}})[1] == {"taken_at": "today"}


def test_union_entries_of_an_assigned_map_are_received_to_wire_form_under_their_own_keys() -> None:
    """The keys of a map are the user's own, its values have the names of their entity."""
    photos = RestEndpoint(path="/photos", schema=schema.Collection(schema.Values(Photo)))
    sent = photos.assign.bind_args((), {"body": {"taken_at": {"taken_at": "today"}}})[1]
    assert sent == {"taken_at": {"takenAt": "today"}}
