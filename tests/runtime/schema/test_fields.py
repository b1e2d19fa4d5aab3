"""What is said of fields: formats of datetimes, what only bodies hold, what the path tells, keys inside objects."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

import pytest
from tests.runtime.doubles import Desk

from restencil import Entity, ProcessingError, Record, RestEndpoint, field, schema
from restencil.schema.record import to_wire

NOON = datetime.datetime(2020, 1, 31, 12, tzinfo=datetime.UTC)
HALF = NOON + datetime.timedelta(milliseconds=500)


class Event(Entity):
    id: int = 0
    at: datetime.datetime | None = field(default=None, format="unix")
    seen: Sequence[datetime.datetime] = field(default=[], format="unix_ms")
    sent: datetime.datetime | None = field(default=None, format="rfc2822", wire="sentAt")
    usual: datetime.datetime | None = field(default=None, format="rfc3339")


get: Any = RestEndpoint(path="/events/:id", schema=Event)


# -- formats -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "wire", "moment"),
    [
        ("at", 1580472000, NOON),
        ("at", 1580472000.5, HALF),
        ("at", "1580472000", NOON),
        ("at", "1580472000.5", HALF),
        ("at", -1, datetime.datetime(1969, 12, 31, 23, 59, 59, tzinfo=datetime.UTC)),
        ("at", 0, datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)),
        ("sentAt", "Fri, 31 Jan 2020 12:00:00 GMT", NOON),
        ("sentAt", "Fri, 31 Jan 2020 13:00:00 +0100", NOON),
        ("sentAt", "Fri, 31 Jan 2020 12:00:00 -0000", NOON),
        ("usual", "2020-01-31T12:00:00Z", NOON),
    ],
)
def test_fields_datetime_is_read_in_its_format(name: str, wire: Any, moment: datetime.datetime) -> None:
    """Seconds and milliseconds since 1970 as a number or a text that is one, and the text of RFC 2822."""
    event = Desk().answer(get, {"id": 1, name: wire}, {"id": 1})
    found = getattr(event, {"sentAt": "sent"}.get(name, name))
    assert found == moment
    assert found.tzinfo is not None


@pytest.mark.parametrize(
    ("member", "encoded"),
    [
        ({"at": NOON}, {"at": 1580472000}),
        ({"at": HALF}, {"at": 1580472000.5}),
        ({"seen": [NOON, HALF]}, {"seen": [1580472000000, 1580472000500]}),
        ({"sent": NOON}, {"sentAt": "Fri, 31 Jan 2020 12:00:00 GMT"}),
        ({"usual": NOON}, {"usual": "2020-01-31T12:00:00Z"}),
        ({"at": 5}, {"at": 5}),
    ],
)
def test_fields_datetime_is_sent_in_its_format(member: dict[str, Any], encoded: dict[str, Any]) -> None:
    """A whole number, of seconds one with a fraction where there is one; what is in wire form already passes."""
    found = Event.__model__.encoded(member)
    assert found == encoded
    assert [type(value) for value in found.values()] == [type(value) for value in encoded.values()]


@pytest.mark.parametrize("value", ["soon", "", True, [], {"a": 1}, "NaN", "Infinity", "1e400", 10**30])
def test_fields_what_is_no_datetime_does_not_decode(value: Any) -> None:
    """A value that is no finite number of the calendar is an error that names the field."""
    with pytest.raises(ProcessingError, match="field 'at' of Event '1' does not decode"):
        Event.from_js({"id": 1, "at": value})


def test_fields_format_is_one_of_datetimes() -> None:
    """Another word, and a field that holds no datetime, are mistakes."""
    with pytest.raises(ValueError, match="format=.iso. of a field: expected one of rfc3339, unix, unix_ms"):
        field(format="iso")  # type: ignore[call-overload]  # that is what is refused

    class Wrong(Record):
        day: datetime.date | None = field(default=None, format="unix")

    with pytest.raises(TypeError, match="format='unix' of field 'day' of Wrong: its type contains no datetime"):
        Wrong.from_js({"day": 1})


# -- what only bodies hold ---------------------------------------------------------------------------------------------


class Address(Record):
    zip_code: str = field(default="", wire="zipCode")


class Account(
    Entity,
    write_only={
        "password": field(),
        "pass_phrase": field(wire="passPhrase"),
        "until": field(format="unix"),
        "home": field(schema=Address),
    },
):
    id: int = 0
    name: str = ""


def test_fields_what_is_write_only_is_sent_and_never_read(desk: Desk) -> None:
    """Bodies hold it under its name in JSON; an instance has no such attribute, whatever the server answers."""
    body = {"name": "Ada", "password": "a", "pass_phrase": "b", "until": NOON, "home": {"zip_code": "1"}}
    assert Account.__model__.encoded(body) == {
        "name": "Ada",
        "password": "a",
        "passPhrase": "b",
        "until": 1580472000,
        "home": {"zipCode": "1"},
    }
    endpoint: Any = RestEndpoint(path="/accounts/:id", schema=Account)
    account = desk.answer(endpoint, {"id": 1, "name": "Ada", "password": "a", "passPhrase": "b"}, {"id": 1})
    assert account.to_dict() == {"id": 1, "name": "Ada"}
    assert account.to_dict(wire=True, deep=True) == {"id": 1, "name": "Ada"}
    assert not hasattr(account, "password")
    assert not hasattr(account, "passPhrase")
    assert "passPhrase" not in str(desk.store.state["entities"])
    assert Account.from_js({"id": 1, "password": "a"}).to_dict() == {"id": 1, "name": ""}


def test_fields_what_is_write_only_is_no_field() -> None:
    """One name is not both, and what is declared is a field."""
    with pytest.raises(TypeError, match="Both: 'name' of write_only is also a field"):

        class Both(Entity, write_only={"name": field()}):  # pyright: ignore[reportUnusedClass]  # it cannot be made
            id: int = 0
            name: str = ""

    with pytest.raises(TypeError, match=r"'code' of write_only is 5; use restencil.field\(\)"):

        class Odd(Entity, write_only={"code": 5}):  # pyright: ignore[reportUnusedClass]  # as above
            id: int = 0


# -- fields from the path ----------------------------------------------------------------------------------------------


class Issue(Entity, pk=["owner", "number"]):
    owner: str = field(default="", param="owner")
    number: int = 0
    title: str = ""


def test_field_may_come_from_the_path(desk: Desk) -> None:
    """Where a record lacks it, it has the value of the path parameter, in lists too: one number is two issues."""
    one: Any = RestEndpoint(path="/repos/:owner/issues/:number", schema=Issue)
    every: Any = RestEndpoint(path="/repos/:owner/issues", schema=[Issue])
    ada = desk.answer(every, [{"number": 1, "title": "A"}], {"owner": "ada"})[0]
    eve = desk.answer(every, [{"number": 1, "title": "E"}], {"owner": "eve"})[0]
    assert (ada.owner, eve.owner) == ("ada", "eve")
    assert desk.data(one, {"owner": "eve", "number": 1}) is eve
    assert desk.answer(one, {"number": 1, "owner": "zoe", "title": "Z"}, {"owner": "eve", "number": 1}).owner == "zoe"


def test_fields_what_comes_from_the_path_is_never_sent() -> None:
    """Not by a body that has it, and not by an instance."""
    update: Any = RestEndpoint(path="/repos/:owner/issues/:number", method="PUT", schema=Issue)
    params = {"owner": "ada", "number": 1}
    for body in ({"owner": "eve", "title": "A"}, Issue.from_js({"owner": "eve", "title": "A"})):
        assert update.bind_args((), {**params, "body": body}) == (params, {"title": "A"})
    assert to_wire(Issue.from_js({"owner": "eve"})) == {"owner": "eve"}


# -- keys inside of objects --------------------------------------------------------------------------------------------


class Meta(Record):
    namespace: str = ""
    name: str = field(default="", wire="Name")
    uid: str = ""


class Pod(Entity, pk="metadata.uid"):
    metadata: Meta = field(required=True, wire="meta")
    phase: str = ""


class Node(Entity, pk=["metadata.namespace", "metadata.name"]):
    metadata: Meta | None = None


class Service(Entity, pk="spec.first_name"):
    spec: Any = field(default=None, schema=schema.Object({"first_name": None}, {"first_name": "firstName"}))


def test_fields_primary_key_may_stand_in_an_object(desk: Desk) -> None:
    """One field, or several, through classes and through objects without a class, under their names in JSON."""
    pods: Any = RestEndpoint(path="/pods", schema=[Pod])
    pod = desk.answer(pods, [{"meta": {"uid": "u1", "Name": "web"}, "phase": "up"}])[0]
    assert desk.store.state["entities"]["Pod"].keys() == {"u1"}
    assert pod.pk() == "u1"
    nodes: Any = RestEndpoint(path="/nodes", schema=[Node])
    desk.answer(nodes, [{"metadata": {"namespace": "a", "Name": "n"}}])
    assert desk.store.state["entities"]["Node"].keys() == {'["a","n"]'}
    services: Any = RestEndpoint(path="/services", schema=[Service])
    desk.answer(services, [{"spec": {"firstName": "s"}}])
    assert desk.store.state["entities"]["Service"].keys() == {"s"}
    with pytest.raises(ProcessingError, match="no usable primary key"):
        desk.answer(pods, [{"meta": None}])


def test_fields_record_of_a_class_in_a_body_has_its_names_in_json() -> None:
    """A member of a body that is of a record class is sent under the names of the class."""
    body = schema.Object({"home": Address})
    assert to_wire({"home": {"zip_code": "1"}}, body) == {"home": {"zipCode": "1"}}


class Settings(Entity, pk=[]):
    theme: str = ""


def test_fields_empty_key_is_that_of_the_only_record(desk: Desk) -> None:
    """Whatever was asked, there is one copy, which answers calls without arguments."""
    one: Any = RestEndpoint(path="/settings", schema=Settings)
    me: Any = RestEndpoint(path="/me", schema={"settings": Settings})
    found = desk.answer(me, {"settings": {"theme": "dark"}})["settings"]
    assert desk.store.state["entities"]["Settings"].keys() == {"[]"}
    assert desk.data(one) is found
    assert found.pk() == "[]"


class Line(Entity, pk_optional=True):
    id: str = ""
    text: str = ""
    item: Issue | None = field(default=None, schema=Issue)


def test_fields_record_without_key_may_be_an_instance_that_no_table_knows(desk: Desk) -> None:
    """With `pk_optional` it stays where it stands; one with a key is stored, and what is nested in either."""
    lines: Any = RestEndpoint(path="/lines", schema={"lines": [Line], "best": Line})
    answer = {
        "lines": [{"text": "loose", "item": {"owner": "ada", "number": 1, "title": "A"}}, {"id": "l1", "text": "kept"}],
        "best": {"text": "best"},
    }
    value = desk.answer(lines, answer)
    for found in (value, desk.data(lines)):
        assert [line.text for line in found["lines"]] == ["loose", "kept"]
        assert found["best"].text == "best"
        assert found["lines"][0].item.title == "A"
        assert found["lines"][0].pk() is None
    assert desk.store.state["entities"]["Line"].keys() == {"l1"}
    assert desk.store.state["entities"]["Issue"].keys() == {'["ada","1"]'}
