"""One of several types: `schema.OneOf`."""

from __future__ import annotations

import datetime
import decimal
import uuid
from typing import Any, Literal

import pytest
from tests.runtime.doubles import Desk

from restencil import Entity, Record, RestEndpoint, field, schema
from restencil.schema import Schema


class Card(Record):
    kind: Literal["card"] = "card"
    last4: str = field(required=True, wire="lastFour")


class Bank(Record):
    kind: Literal["bank"] = "bank"
    iban: str = field(required=True)


class Cash(Record):
    note: str = field(required=True)
    box: int | None = None


class User(Entity):
    id: int = 0
    type: Literal["user"] = "user"
    name: str = ""


class Team(Entity):
    id: int = 0
    type: Literal["team"] = "team"
    seats: int = 0


class Payment(Entity):
    id: int = 0
    source: Card | Bank | str | None = field(default=None, schema=schema.OneOf([Card, Bank, str]))
    target: User | Team | None = field(default=None, schema=schema.OneOf([User, Team]))


class Wallet(Record):
    main: Card | Bank | str = field(required=True, schema=schema.OneOf([Card, Bank, str]))
    others: list[Card | datetime.datetime] = field(default=[], schema=[schema.OneOf([Card, datetime.datetime])])


MOMENT = "2020-01-31T12:00:00Z"
NOON = datetime.datetime(2020, 1, 31, 12, tzinfo=datetime.UTC)
UNIT = "00000000-0000-0000-0000-000000000001"


def read(one_of: Schema, value: Any) -> Any:
    """What a read gives for a value of an answer; the echo of the answer is equal."""
    endpoint: Any = RestEndpoint(path="/x", schema=schema.Object({"it": one_of}))
    desk = Desk()
    value = desk.answer(endpoint, {"it": value})["it"]
    found = desk.data(endpoint)["it"]
    assert type(found) is type(value)
    assert found == value
    return found


def test_one_of_each_json_kind_has_its_type() -> None:
    """A boolean, a number, a text, a list and an object are each of the type that is written like them."""
    one_of = schema.OneOf([bool, int, str, [schema.codec(uuid.UUID)], Card])
    assert read(one_of, True) is True
    assert read(one_of, 3) == 3
    assert read(one_of, "x") == "x"
    assert read(one_of, [UNIT]) == [uuid.UUID(UNIT)]
    assert read(one_of, {"kind": "card", "lastFour": "1234"}) == Card(last4="1234", kind="card")
    assert read(one_of, None) is None


@pytest.mark.parametrize(
    ("types", "value", "expected"),
    [
        ([datetime.datetime, str], MOMENT, NOON),
        ([datetime.datetime, str], "soon", "soon"),
        ([str, datetime.datetime], MOMENT, MOMENT),
        ([int, float], 2, 2),
        ([int, float], 2.0, 2),
        ([int, float], 2.5, 2.5),
        ([int, str], True, True),
        ([Literal["auto"], int], "auto", "auto"),
        ([Literal["auto"], int], 7, 7),
        ([Literal["a", "b"], uuid.UUID], UNIT, uuid.UUID(UNIT)),
        ([decimal.Decimal, str], "1.50", decimal.Decimal("1.50")),
        ([decimal.Decimal, str], "much", "much"),
        ([schema.codec(datetime.datetime, format="unix"), str], 1580472000, NOON),
    ],
)
def test_one_of_of_several_scalars_the_first_that_decodes_counts(types: list[Any], value: Any, expected: Any) -> None:
    """`integer` needs an integral number; a constant itself; what is no datetime is the text behind it."""
    found = read(schema.OneOf(types), value)
    assert found == expected
    assert type(found) is type(expected)


def test_one_of_what_is_none_of_the_types_stays_unchanged() -> None:
    """No read fails: not for another kind, not for a scalar that none decodes, not for an object of no class."""
    one_of = schema.OneOf([Card, Bank, datetime.date])
    odd: list[Any] = [5, "no date", [1, {"a": 2}], {"kind": "cheque"}, {}, {"kind": []}]
    for value in odd:
        assert read(one_of, value) == value


def test_one_of_objects_are_distinguished_by_their_constants_and_then_by_what_they_must_have() -> None:
    """The first all of whose constants agree; else the first that has all fields which may not be None."""
    one_of = schema.OneOf([Card, Bank, Cash])
    assert read(one_of, {"kind": "bank", "iban": "DE"}) == Bank(iban="DE", kind="bank")
    assert read(one_of, {"kind": "card"}) == Card.from_js({"kind": "card"})
    assert isinstance(read(one_of, {"note": "ten"}), Cash)
    assert read(one_of, {"box": 1}) == {"box": 1}
    assert read(one_of, {"kind": "x", "lastFour": "1"}) == {"kind": "x", "lastFour": "1"}


def test_one_of_attribute_reports_through_values_then_constants_then_names() -> None:
    """What it says counts alone, whatever fields there are."""
    named = schema.OneOf([Card, Bank], "kind", {"c": Card})
    assert isinstance(read(named, {"kind": "c", "iban": "x"}), Card)
    assert isinstance(read(named, {"kind": "bank"}), Bank)
    by_name = schema.OneOf([Cash, Bank], "what")
    assert isinstance(read(by_name, {"what": "Cash"}), Cash)
    assert read(by_name, {"what": "else", "note": "x"}) == {"what": "else", "note": "x"}
    assert read(by_name, {"what": {}}) == {"what": {}}


def test_one_of_objects_without_a_class_are_distinguished_too() -> None:
    """An `Object` says which members are fixed and which it must have; names in JSON are mapped."""
    first = schema.Object({"kind": None, "first_name": None}, {"first_name": "firstName"}, constants={"kind": "a"})
    second = schema.Object({"at": schema.codec(datetime.date)}, required=["at"])
    one_of = schema.OneOf([first, second, dict])
    assert read(one_of, {"kind": "a", "firstName": "Ada"}) == {"kind": "a", "first_name": "Ada"}
    assert read(one_of, {"at": "2020-01-31"}) == {"at": datetime.date(2020, 1, 31)}
    assert read(one_of, {"free": 1}) == {"free": 1}


def test_one_entity_next_to_objects_takes_a_bare_key(desk: Desk) -> None:
    """A text or number where only an entity could be one is its primary key."""
    endpoint: Any = RestEndpoint(path="/x", schema={"it": schema.OneOf([User, [int]])})
    user: Any = RestEndpoint(path="/users/:id", schema=User)
    ada = desk.answer(user, {"id": 2, "type": "user", "name": "Ada"}, {"id": 2})
    assert desk.answer(endpoint, {"it": 2})["it"] is ada
    assert desk.data(endpoint)["it"] is ada


def test_one_of_object_that_looks_like_a_reference_stays_an_object() -> None:
    """`{"id", "schema"}` of the server's own is not taken for the store's form of an entity."""
    one_of = schema.OneOf([User, Team, dict], "type")
    assert read(one_of, {"id": "1", "schema": "User"}) == {"id": "1", "schema": "User"}


def test_one_of_plain_record_converts_what_may_be_several_types() -> None:
    """Values without identity are read, built and sent alike, in lists too."""
    data = {"main": {"kind": "bank", "iban": "DE"}, "others": [MOMENT, {"kind": "card", "lastFour": "1"}]}
    wallet = Wallet.from_js(data)
    assert isinstance(wallet.main, Bank)
    assert wallet.others == [NOON, Card(kind="card", last4="1")]
    assert wallet.to_dict(wire=True, deep=True) == data
    made = Wallet(main=Card(last4="9"), others=[NOON])
    assert made.to_dict(wire=True, deep=True) == {"main": {"kind": "card", "lastFour": "9"}, "others": [MOMENT]}


def test_one_of_bodies_are_sent_by_the_type_that_they_are_of() -> None:
    """A dict in Python names, an instance (with its constants), a scalar: each in wire form."""
    encoded = Payment.__model__.encoded
    assert encoded({"source": {"kind": "card", "last4": "1"}}) == {"source": {"kind": "card", "lastFour": "1"}}
    assert encoded({"source": {"last4": "1"}}) == {"source": {"lastFour": "1"}}
    assert encoded({"source": Bank(iban="DE")}) == {"source": {"kind": "bank", "iban": "DE"}}
    assert encoded({"source": "cash"}) == {"source": "cash"}
    assert encoded({"source": None}) == {"source": None}


def test_one_of_instance_without_a_store_has_the_same_values() -> None:
    """`from_js` of an entity chooses as a read does."""
    payment = Payment.from_js(
        {"id": 1, "source": {"kind": "card", "lastFour": "1"}, "target": {"id": 2, "type": "team"}}
    )
    assert isinstance(payment.source, Card)
    assert isinstance(payment.target, Team)


def test_one_of_what_is_no_list_of_types_is_rejected() -> None:
    """The error says what was found and what to write."""
    with pytest.raises(TypeError, match=r"OneOf takes a list of types, such as \[Card, Bank, str\]; found "):
        schema.OneOf(Card)  # type: ignore[arg-type]  # that is what is refused
    with pytest.raises(TypeError, match="'values' needs 'attribute'"):
        schema.OneOf([Card, Bank], values={"c": Card})
    with pytest.raises(TypeError, match="OneOf: 5 is not a type; expected"):
        _ = schema.OneOf([Card, 5]).title


def test_one_of_answers_are_checked_against_the_type_that_they_are_of(desk: Desk) -> None:
    """`validate="strict"` finds what is none of the types, and what does not fit in the one that it is."""
    from restencil import ProcessingError

    endpoint: Any = RestEndpoint(path="/x", schema={"it": schema.OneOf([Card, Bank, int])}, validate="strict")
    with pytest.raises(ProcessingError, match=r"\$\.it is \"x\", expected one of Card, Bank, int"):
        desk.answer(endpoint, {"it": "x"})
    with pytest.raises(ProcessingError, match=r"\$\.it\.iban is 5, expected a string"):
        desk.answer(endpoint, {"it": {"kind": "bank", "iban": 5}})
    assert desk.answer(endpoint, {"it": 5}) == {"it": 5}
