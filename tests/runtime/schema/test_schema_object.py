"""Objects."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from tests.runtime.doubles import Desk

from restencil import Entity, RestEndpoint, schema
from restencil.cache.reading import ExpiryStatus
from restencil.schema.record import to_wire


class User(Entity):
    id: str = ""
    name: str = ""


SHAPE: dict[str, Any] = {"owner": User, "members": [User], "total": 0, "next": ""}

team: Any = RestEndpoint(path="/team", schema=SHAPE)
gone: Any = RestEndpoint(path="/users/:id", method="DELETE", schema=schema.Invalidate(User))
RESPONSE = {"owner": {"id": 1}, "members": [{"id": 1}, {"id": 2}], "total": 2, "next": "p2", "more": {"a": [1]}}


def test_object_members_with_a_schema_are_normalized_and_others_kept() -> None:
    """Plain values in the definition are documentation; undeclared members stay."""
    desk = Desk()
    value = desk.answer(team, RESPONSE)
    assert desk.result(team) == {"owner": "1", "members": ["1", "2"], "total": 2, "next": "p2", "more": {"a": [1]}}
    assert value == desk.data(team)
    assert value["members"][0] is value["owner"]
    assert value["more"] == {"a": [1]}


def test_object_absent_members_stay_absent() -> None:
    """Nothing is made up for what the response lacks."""
    desk = Desk()
    assert desk.answer(team, {"total": 1}) == desk.data(team) == {"total": 1}


def test_object_missing_member_is_none_and_a_null_stays() -> None:
    """A reference to an entity that is not there makes the member None."""
    desk = Desk()
    desk.answer(team, {"owner": "nobody", "members": None})
    assert desk.data(team) == {"owner": None, "members": None}


def test_object_invalid_member_makes_the_whole_object_invalid() -> None:
    """A deleted entity in a member that is one entity; a list merely loses it."""
    desk = Desk()
    desk.answer(team, RESPONSE)
    desk.answer(gone, {"id": 2}, {"id": 2})
    assert len(desk.data(team)["members"]) == 1
    desk.answer(gone, {"id": 1}, {"id": 1})
    reading = desk.read(team)
    assert (reading.data, reading.expiry_status) == (None, ExpiryStatus.Invalid)


def test_object_inside_an_entity() -> None:
    """The members of a nested object are followed; the parent of its entities is the object."""
    seen: list[tuple[Any, str | None]] = []

    class Leaf(Entity):
        id: str = ""

        @classmethod
        def process(cls, input: Any, parent: Any, key: str | None, args: tuple[Any, ...]) -> Any:
            seen.append((parent, key))
            return {**input}

    class Tree(Entity, schema={"crown": {"leaf": Leaf}}):
        id: str = ""
        crown: Any = None

    endpoint: Any = RestEndpoint(path="/tree", schema=Tree)
    value = Desk().answer(endpoint, {"id": 1, "crown": {"leaf": {"id": 2}, "height": 3}})
    assert (value.crown["leaf"].id, value.crown["height"]) == (2, 3)
    assert seen == [({"leaf": {"id": 2}, "height": 3}, "leaf")]


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


def test_object_query_key_is_that_of_the_members() -> None:
    """An object that was never fetched is answered when all its members are known; plain members show as declared."""
    shape = schema.Object({"owner": User, "all": schema.All(User), "total": 0})
    endpoint: Any = RestEndpoint(path="/:id/known", schema=shape)
    desk = Desk()
    assert desk.read(endpoint, {"id": 1}).expiry_status is ExpiryStatus.Invalid  # as `All` without a table is
    desk.answer(RestEndpoint(path="/users", schema=[User]), [{"id": 2}])
    assert desk.read(endpoint, {"id": 1}).expiry_status is ExpiryStatus.InvalidIfStale
    desk.answer(RestEndpoint(path="/users", schema=[User]), [{"id": 1}, {"id": 2}])
    reading = desk.read(endpoint, {"id": 1})
    assert [user.id for user in reading.data["all"]] == [2, 1]
    assert (reading.data["owner"].id, reading.data["total"]) == (1, 0)
    assert reading.expiry_status is ExpiryStatus.Valid


def test_object_with_nothing_to_denormalize_is_its_stored_form() -> None:
    """Without a schema in any member the answer is what was stored, and never fetched means invalid."""
    endpoint: Any = RestEndpoint(path="/plain", schema={"total": 0})
    desk = Desk()
    reading = desk.read(endpoint)
    assert (reading.data, reading.expiry_status, reading.expires_at) == (None, ExpiryStatus.Invalid, 0)
    desk.answer(endpoint, {"total": 3, "list": [1]})
    with pytest.raises(TypeError, match="read-only"):
        desk.data(endpoint)["list"].append(2)


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


def test_object_what_is_no_object_is_handed_out_read_only() -> None:
    """A list where an object was declared is kept as it is, and cannot be changed by a reader."""
    desk = Desk()
    for found in (desk.answer(team, [{"id": 1}]), desk.data(team)):
        assert found == [{"id": 1}]
        with pytest.raises(TypeError, match="read-only"):
            found.append(1)
        with pytest.raises(TypeError, match="read-only"):
            found[0]["id"] = 2


def test_object_what_is_handed_out_is_read_only() -> None:
    """The object, its lists and undeclared values cannot be changed."""
    desk = Desk()
    value = desk.answer(team, RESPONSE)
    for found in (value, desk.data(team)):
        with pytest.raises(TypeError, match="read-only"):
            found["total"] = 5
        with pytest.raises(TypeError, match="read-only"):
            found["members"].clear()
        with pytest.raises(TypeError, match="read-only"):
            found["more"]["a"].append(1)
