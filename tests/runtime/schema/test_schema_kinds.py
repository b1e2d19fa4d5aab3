"""Objects, lists, maps, unions, removals and `All`: hooks, mistakes, and what the conformance cases leave open."""

from __future__ import annotations

import datetime
import logging
from collections.abc import Callable
from typing import Any

import pytest
from tests.runtime.doubles import Desk
from tests.runtime.users import User, Users

from restencil import Entity, RestEndpoint, schema
from restencil.schema.record import to_wire


class Link(Entity):
    id: str = ""
    type: str = "link"
    url: str = ""


class Post(Entity):
    id: str = ""
    type: str = "post"
    text: str = ""


class Photo(Entity, wire={"taken_at": "takenAt", "kind": "itemKind"}):
    id: str = ""
    kind: str = "photo"
    taken_at: str = ""


MAPPING: dict[str, Any] = {"link": Link, "post": Post}
UNION = schema.Union(MAPPING, "type")
Loose: Any = schema.Union
"""For uses that type checkers reject."""


@pytest.fixture
def desk() -> Desk:
    """A store with two users in a list."""
    made = Desk()
    made.answer(Users.get_list, [{"id": 1}, {"id": 2}])
    return made


# -- every kind ------------------------------------------------------------------------------------------------------


def _tree(leaf: Any) -> Any:
    class Tree(Entity, schema={"crown": {"leaf": leaf}}):
        id: str = ""
        crown: Any = None

    return Tree


@pytest.mark.parametrize(
    ("shape", "response", "place"),
    [
        (lambda item: {"rows": [[item]]}, {"rows": [[{"id": 1}]]}, ({"rows": [[{"id": 1}]]}, "rows")),
        (schema.Values, {"a": {"id": 1}}, ({"a": {"id": 1}}, "a")),
        (_tree, {"id": 1, "crown": {"leaf": {"id": 2}, "height": 3}}, ({"leaf": {"id": 2}, "height": 3}, "leaf")),
    ],
    ids=["the object that holds the list of an item", "the map of an entry", "the object in an entity"],
)
def test_schema_kinds_process_gets_parent_and_key(
    shape: Callable[[Any], Any], response: Any, place: tuple[Any, str]
) -> None:
    """`process` of an entity gets the JSON value around it and the key under which it stands there."""
    seen: list[tuple[Any, str | None]] = []

    class Item(Entity):
        id: str = ""

        @classmethod
        def process(cls, input: Any, parent: Any, key: str | None, args: tuple[Any, ...]) -> Any:
            seen.append((parent, key))
            return {**input}

    Desk().answer(RestEndpoint(path="/x", schema=shape(Item)), response)
    assert seen == [place]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: schema.All(MAPPING), "All: a mapping needs schema_attribute"),
        (lambda: schema.All(Post, "type"), "All: schema_attribute needs a mapping"),
        (lambda: schema.Array(MAPPING), "Array: a mapping needs schema_attribute"),
        (lambda: schema.Array(Link, "type"), "Array: schema_attribute needs a mapping"),
        (lambda: schema.Values(MAPPING), "Values: a mapping needs schema_attribute"),
        (lambda: Loose(MAPPING), "Union needs a mapping from values to entities and schema_attribute"),
        (lambda: Loose(Link, "type"), "Union needs a mapping from values to entities and schema_attribute"),
        (lambda: Loose(MAPPING, None), "Union needs a mapping from values to entities and schema_attribute"),
        (lambda: RestEndpoint(path="/x", schema=[Link, Post]), "a list schema has exactly one item, found 2"),
        (lambda: RestEndpoint(path="/x", schema=[]), "a list schema has exactly one item, found 0"),
        (
            lambda: RestEndpoint(path="/x", schema=[[{"a": [Link, Post]}]]),
            "a list schema has exactly one item, found 2",
        ),
        (lambda: _tree([Link, Post]), "a list schema has exactly one item, found 2"),
    ],
)
def test_schema_kinds_what_cannot_be_is_rejected_when_it_is_made(make: Callable[[], Any], text: str) -> None:
    """A mapping goes with an attribute that tells the kinds apart, and a list has one item schema."""
    with pytest.raises(TypeError, match=text):
        make()


SHAPE: dict[str, Any] = {"owner": User, "members": [User], "total": 0}
ODD = {"id": 3, "type": "zz", "tags": []}


@pytest.mark.parametrize(
    ("shape", "response", "change"),
    [
        (schema.Array(MAPPING, "type"), [ODD], lambda found: found.append(1)),
        (schema.Array(MAPPING, "type"), [ODD], lambda found: found[0].update(id=4)),
        (schema.Array(MAPPING, "type"), [ODD], lambda found: found[0]["tags"].append(1)),
        (schema.Values(MAPPING, "type"), {"a": ODD}, lambda found: found.update(b=1)),
        (schema.Values(MAPPING, "type"), {"a": ODD}, lambda found: found["a"]["tags"].append(1)),
        (SHAPE, {"members": [], "total": 1}, lambda found: found.update(total=5)),
        (SHAPE, {"members": [{"id": 1}]}, lambda found: found["members"].clear()),
        (SHAPE, {"more": {"a": [1]}}, lambda found: found["more"]["a"].append(1)),
        (SHAPE, [{"id": 1}], lambda found: found.append(1)),
        (SHAPE, [{"id": 1}], lambda found: found[0].update(id=2)),
        ({"total": 0}, {"list": [1]}, lambda found: found["list"].append(2)),
        ({"item": UNION}, {"item": [1]}, lambda found: found["item"].append(2)),
    ],
)
def test_schema_kinds_what_is_handed_out_is_read_only(
    shape: Any, response: Any, change: Callable[[Any], object]
) -> None:
    """Values of fetches and results of reads cannot be changed, also where another kind came than is declared."""
    endpoint: Any = RestEndpoint(path="/x", schema=shape)
    desk = Desk()
    for found in (desk.answer(endpoint, response), desk.data(endpoint)):
        with pytest.raises(TypeError, match="read-only"):
            change(found)


# -- objects ---------------------------------------------------------------------------------------------------------


def test_object_define_merges_members_at_any_time() -> None:
    """Members that are defined later count for what was stored and read before."""
    shape = schema.Object({"owner": User})
    endpoint: Any = RestEndpoint(path="/later", schema=shape)
    desk = Desk()
    desk.answer(endpoint, {"owner": {"id": 1}, "deputy": {"id": 2, "name": "Bo"}})
    assert desk.data(endpoint)["deputy"] == {"id": 2, "name": "Bo"}
    shape.define({"deputy": User})
    assert isinstance(desk.data(endpoint)["deputy"], User)
    desk.answer(endpoint, {"owner": {"id": 1}, "deputy": {"id": 2, "name": "Cy"}})
    assert desk.table("User")["2"]["name"] == "Cy"


@pytest.mark.parametrize("members", [{"at": datetime.datetime.fromisoformat}, {}])
def test_object_names_go_through_wire(members: dict[str, Any]) -> None:
    """JSON names are stored, Python names handed out, by reads and fetches alike, with and without conversions."""
    shape = schema.Object({"total_count": 0, **members}, wire={"total_count": "totalCount"})
    endpoint: Any = RestEndpoint(path="/named", schema=shape)
    desk = Desk()
    value = desk.answer(endpoint, {"totalCount": 3})
    assert value == desk.data(endpoint) == {"total_count": 3}
    assert desk.result(endpoint) == {"totalCount": 3}
    assert to_wire({"total_count": 4}, shape) == {"totalCount": 4}


# -- unions ----------------------------------------------------------------------------------------------------------


def test_union_item_without_mapping_entry_is_kept_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    """No entity is created; the log names attribute, value and the known kinds."""
    listed: Any = RestEndpoint(path="/listed", schema=[UNION])
    desk = Desk()
    with caplog.at_level(logging.WARNING, "restencil"):
        desk.answer(listed, [{"id": 1, "type": "video"}, {"id": 2}])
    assert desk.data(listed) == [{"id": 1, "type": "video"}, {"id": 2}]
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
    listed: Any = RestEndpoint(path="/listed", schema=[UNION])
    desk = Desk()
    items = [{"id": 1, "schema": "other"}, {"id": 1, "schema": "link", "more": 1}, {"id": 1, "schema": ["x"]}]
    assert desk.answer(listed, items) == items
    assert desk.data(listed) == items


@pytest.mark.parametrize(
    ("body", "wired"),
    [
        ({"kind": "photo", "taken_at": "today"}, {"itemKind": "photo", "takenAt": "today"}),
        ({"itemKind": "photo", "taken_at": "today"}, {"itemKind": "photo", "takenAt": "today"}),
        ({"taken_at": "today"}, {"taken_at": "today"}),
    ],
)
def test_union_body_has_the_json_names_of_the_entity_that_it_is_of(body: Any, wired: Any) -> None:
    """The names of a body are those of the entity that its attribute, in either form, tells."""
    items = RestEndpoint(path="/items", schema=schema.Collection([schema.Union({"photo": Photo}, "itemKind")]))
    assert items.push.bind_args((), {"body": body})[1] == wired


def test_values_entries_of_an_assigned_map_keep_their_own_keys() -> None:
    """The keys of a map are the user's own, its values have the JSON names of their entity."""
    photos = RestEndpoint(path="/photos", schema=schema.Collection(schema.Values(Photo)))
    sent = photos.assign.bind_args((), {"body": {"taken_at": {"taken_at": "today"}}})[1]
    assert sent == {"taken_at": {"takenAt": "today"}}


# -- Invalidate ------------------------------------------------------------------------------------------------------


def test_invalidate_hook_of_the_entity_is_applied() -> None:
    """`process` runs before the primary key is looked for."""

    class Wrapped(Entity):
        id: str = ""

        @classmethod
        def process(cls, input: Any, parent: Any, key: str | None, args: tuple[Any, ...]) -> Any:
            return {"id": input.get("inner", input)["id"]}

    desk = Desk()
    desk.answer(RestEndpoint(path="/w", schema=[Wrapped]), [{"id": 1}])
    value = desk.answer(
        RestEndpoint(path="/gone", method="POST", schema=schema.Invalidate(Wrapped)), {"inner": {"id": 1}}
    )
    assert desk.get(Wrapped, "1") is None
    assert value.id == 1


def test_invalidate_what_no_table_holds_or_another_type_claims_removes_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """An unknown primary key, or a type without a mapping entry, leaves the response as it is; a warning tells."""
    endpoint: Any = RestEndpoint(path="/gone", method="POST", schema=schema.Invalidate(MAPPING, "type"))
    desk = Desk()
    desk.answer(RestEndpoint(path="/links", schema=[Link]), [{"id": 1}])
    for answer in ({"id": 9}, {"title": "x"}, {"id": 1, "type": "other"}):
        assert desk.answer(endpoint, answer, {}) == answer
    assert desk.answer(endpoint, "9", {}) is None
    assert desk.table("Link") == {"1": {"id": 1}}
    assert caplog.text.count("Invalidate: no schema for an item whose attribute 'type' is") == 4
