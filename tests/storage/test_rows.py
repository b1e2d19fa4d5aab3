"""Stored forms as JSON and back; what of them is stored."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from restencil import Entity, entity, field
from restencil.base.freshness import Terms
from restencil.base.values import UNDEFINED, Meta, same_json
from restencil.persistence import row_codec
from restencil.persistence.row_codec import TableRules, Unstorable
from restencil.persistence.schema_fingerprint import SchemaRegistry, fingerprint_of
from restencil.schema import Collection, Lazy
from restencil.schema.entity import EntityModel
from restencil.schema.notation import schema_of
from restencil.schema.record import class_record
from restencil.schema.stored import PartialEntries, PartialKeys


class Plain(Entity):
    id: int = 0
    title: str = ""


def model_of(cls: Any) -> EntityModel:
    """The class record of an entity class."""
    model = class_record(cls)
    assert isinstance(model, EntityModel)
    return model


def stored(*classes: Any, record: Mapping[str, Any]) -> tuple[Any, row_codec.LeftOut]:
    """What of a record comes back from a storage, and what was left out, by these classes of its table."""
    return row_codec.row_value(TableRules(map(model_of, classes)).encode(dict(record)))[:2]


def result_value(data: bytes | None) -> Any:
    """What a result's JSON says, of which nobody said how long it is good."""
    value, *said, _ = row_codec.result_parts(data, TIMES)
    assert said == [None, None]
    return value


TIMES = Meta(1_000, 2_000, 3_000)
JSON = some.recursive(
    some.none()
    | some.booleans()
    | some.integers()
    | some.floats(allow_nan=False, allow_infinity=False)
    | some.text(max_size=8)
    | some.sampled_from(["$left", "$all", "$partial", "$", "$$x", "\ud800", "MISS-"]),
    lambda inner: some.lists(inner, max_size=3)
    | some.dictionaries(
        some.text(max_size=3) | some.sampled_from(["$left", "$partial", "$$x", "$"]), inner, max_size=3
    ),
    max_leaves=12,
)


@given(some.dictionaries(some.text(max_size=4).filter(lambda name: not row_codec.is_secret(name)), JSON, max_size=4))
def test_rows_record_comes_back_as_it_was(record: dict[str, Any]) -> None:
    """Whatever names and values are in it, names that begin with `$` included."""
    value, left = stored(Plain, record=record)
    assert same_json(value, record) and left == ()


@given(some.lists(some.text(max_size=4)) | some.dictionaries(some.text(max_size=3), some.text(max_size=3)))
def test_rows_collection_comes_back_as_it_was(items: Any) -> None:
    """As a list or a map, and one of which only pages are known as such a one."""
    value, *_ = row_codec.row_value(row_codec.encode_collection(items))
    partial = PartialKeys(items) if isinstance(items, list) else PartialEntries(items)
    again, *_ = row_codec.row_value(row_codec.encode_collection(partial))
    assert value == items and type(value) in (list, dict)
    assert again == items and type(again) is type(partial)


@given(JSON)
def test_rows_result_comes_back_as_it_was(value: Any) -> None:
    """Whatever was answered where no schema says more."""
    assert same_json(result_value(row_codec.encode_result(value)), value)


def test_rows_nothing_under_a_key_is_reported_from_null() -> None:
    """What is invalidated, or was a whole table, has no value; an answer of `null` has one."""
    assert row_codec.encode_result(UNDEFINED) is None and result_value(None) is UNDEFINED
    assert row_codec.encode_result(None) == b"null" and result_value(b"null") is None
    data = row_codec.with_details(None, TIMES, Terms(3_000))
    assert row_codec.result_parts(data, TIMES)[:2] == (UNDEFINED, Terms(3_000))


def test_rows_how_long_a_result_is_good_holds_from_its_date() -> None:
    """So that it moves with a result that counts as received later; what is to be stale is so."""
    terms = Terms(2_500.5, 9_000, 2_001, must_revalidate=True)
    data = row_codec.with_details(row_codec.encode_result([1]), TIMES, terms)
    later, stale = Meta(1_500, 2_500, 3_500), TIMES._replace(expires_at=1)
    assert row_codec.result_parts(data, TIMES)[:2] == ([1], terms)
    assert row_codec.result_parts(data, later)[1] == Terms(3_000.5, 9_500, 2_501, must_revalidate=True)
    assert row_codec.result_parts(data, stale)[1] == terms._replace(fresh_until=1)


@pytest.mark.parametrize(
    "text",
    [
        b'{"$terms":3}',
        b'{"$terms":[]}',
        b'{"$terms":["x",1,{"binds":true}]}',
        b'{"$told":3}',
        b'{"$told":{"cells":1}}',
        b'{"$told":{"cells":[],"headers":{}}}',
        b'{"$told":{"cells":1,"headers":[]}}',
    ],
)
def test_rows_terms_that_are_none_say_so(text: bytes) -> None:
    """As what is no JSON does."""
    with pytest.raises(ValueError):
        row_codec.result_parts(text, TIMES)


def _deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [math.nan, [math.inf], {"a": {1: 2}}, {"a": b"x"}, (1, 2), {1}, datetime.now(UTC), {"a": object()}, _deep(501)],
)
def test_rows_what_has_no_exact_json_form_is_not_stored(value: Any) -> None:
    """Numbers that are not finite, names that are no text, bytes, tuples and objects are no JSON."""
    with pytest.raises(Unstorable):
        TableRules([model_of(Plain)]).encode({"id": 1, "x": value})


def test_rows_500_levels_are_stored() -> None:
    """So deep may a response be nested."""
    assert result_value(row_codec.encode_result(_deep(500))) == _deep(500)


@pytest.mark.parametrize("text", [b"", b"1", b'"x"', b"{", b"null", b"\xff"])
def test_rows_what_is_no_row_is_reported(text: bytes) -> None:
    """What is no JSON, or JSON of something else, is a ValueError."""
    with pytest.raises(ValueError):
        row_codec.row_value(text)


# -- secrets and persist


@pytest.mark.parametrize(
    "name",
    [
        *("access_token", "apiKey", "auth", "Authorization", "client-secret", "cookie", "credential", "credentials"),
        *("id_token", "passwd", "password", "private_key", "refreshToken", "SECRET", "session_token", "sig"),
        *("signature", "token", "TO_KEN"),
    ],
)
def test_rows_secret_names(name: str) -> None:
    """In lower case, without dashes and underscores."""
    assert row_codec.is_secret(name) and not row_codec.is_secret(name + "x")


@pytest.mark.parametrize("pk", ["token", ["id", "token"], "session_token"])
def test_rows_entities_whose_primary_key_is_a_secret_are_not_stored(pk: Any) -> None:
    """Nor those of whose primary key a secret is a part."""

    class Session(Entity, pk=pk):
        id: int = 0
        token: str = ""
        session_token: str = ""

    assert not TableRules([model_of(Session)]).kept


def test_rows_primary_key_that_is_said_to_be_no_secret() -> None:
    """`persist=True` on its field says so."""

    class Device(Entity, pk="token"):
        token: str = field(default="", persist=True)

    assert TableRules([model_of(Device)]).kept


@pytest.mark.parametrize(
    ("key", "kept"),
    [
        ("GET https://api.test/articles?tag=x", True),
        ("GET https://api.test/articles?tag=token", True),
        ("GET https://api.test/@me?x=1", True),
        ("GET https://api.test/articles?a=1&access-token=x", False),
        ("GET https://api.test/articles?%74oken=x", False),
        ("GET https://api.test/articles?filter[password]=x", False),
        ("GET https://api.test/articles?auth.id=x", False),
        ("GET https://ann:pw@api.test/articles", False),
        ("GET /articles page /articles?sig=1", False),
        ("GET /articles?app_id=1", False),
    ],
)
def test_rows_results_whose_key_has_a_secret_are_not_stored(key: str, kept: bool) -> None:
    """A search parameter of a secret's name, however it is written, or userinfo."""
    assert row_codec.is_kept_key(key, frozenset({"appid"})) is kept


@pytest.mark.parametrize(
    ("table", "pk", "kept"),
    [
        ("A", "1", True),
        ("A", "MISS-1-0", False),
        ("A", '{"token":"x"}', True),
        ("[A]", '{"tag":"token"}', True),
        ("[A]", '{"token":"x"}', False),
        ("{A}", '{"filter":{"api_key":"x"}}', False),
        ("[A]", "no json", True),
    ],
)
def test_rows_cells_that_are_not_stored(table: str, pk: str, kept: bool) -> None:
    """Ids of one process, and collections by a secret."""
    assert row_codec.is_kept_cell(table, pk) is kept


def test_rows_ids_of_one_process_are_in_no_list() -> None:
    """Not in collections, results, and lists of records; a single reference is left out of its record."""

    class Post(Entity, schema={"author": Plain, "tags": [Plain]}):
        id: int = 0
        title: str = ""
        author: Any = None
        tags: Any = ()

    assert row_codec.row_value(row_codec.encode_collection(["1", "MISS-2-0", "3"]))[:2] == (["1", "3"], ())
    partial, *_ = row_codec.row_value(
        row_codec.encode_collection(PartialKeys(["MISS-2-0", {"id": "MISS-1-0", "schema": "x"}]))
    )
    assert partial == [] and type(partial) is PartialKeys
    post = {"id": 1, "title": "MISS-1-0", "author": "MISS-1-0", "tags": ["MISS-1-1", "2"]}
    assert stored(Post, record=post) == ({"id": 1, "title": "MISS-1-0", "tags": ["2"]}, (("author",),))
    listed = schema_of(Collection([Plain]))
    assert row_codec.encode_result(["MISS-1-0", "2"], listed) == b'["2"]'
    assert row_codec.encode_result("MISS-1-0", listed) is None
    assert json.loads(row_codec.encode_result(["MISS-1-0"]) or b"") == ["MISS-1-0"]


@pytest.mark.parametrize("value", [0, -1, 1.5, "yes", None])
def test_rows_persist_of_a_class_is_a_boolean_or_a_number(value: Any) -> None:
    """What makes no sense is a ValueError at once."""
    make: Any = type(Entity)
    with pytest.raises(ValueError, match="a boolean or a positive integer"):
        make("X", (Entity,), {"__module__": __name__}, persist=value)


@pytest.mark.parametrize("value", [0, -1, "yes"])
def test_rows_persist_of_a_field_is_a_boolean_or_a_number(value: Any) -> None:
    """What makes no sense is a ValueError at once."""
    with pytest.raises(ValueError, match="persist of a field is .*; expected a boolean or a positive integer"):
        field(default="", persist=value)


def test_rows_persist_in_the_body_of_a_class_is_a_member_like_any_other() -> None:
    """Only the line of the class says what is stored; records may well have such a field or method."""

    class Job(Entity):
        id: int = 0
        persist: bool = False

    class Task(Entity):
        id: int = 0

        def persist(self) -> str:
            return "done"

    assert TableRules([model_of(Job)]).kept and TableRules([model_of(Task)]).kept
    assert Task(id=1).persist() == "done" and model_of(Task).persist == 1


ROWS: list[bytes] = [b'{"id":"1"}', b'["1","2"]', b"{}"]
OTHERS: list[bytes] = [b'{"a":[{}', b"{}]}", b"1", b'"a"', b"", b"\0", b"{}\0", b"{}]", b'{"$left":["x"]}']


@given(some.lists(some.sampled_from(ROWS * 5 + OTHERS)))
def test_rows_are_decoded_together_as_one_by_one(texts: list[bytes]) -> None:
    """Rows that are decoded at once are what each of them says; where one is no JSON, or says more, none is."""
    expected = [row_codec.row_value(text)[0] for text in texts] if all(text in ROWS for text in texts) else None
    assert row_codec.many_row_values(texts) == expected


# -- the classes of a table


def test_rows_subclass_that_is_declared_later_is_known_then() -> None:
    """A class of another library counts from the moment when it is declared an entity."""

    @entity(key="Told")
    @dataclass(frozen=True)
    class Base:
        id: int

    @dataclass(frozen=True)
    class Below(Base):
        more: str

    class Twin(Entity, key="Told"):
        id: int
        more: str

    registry = SchemaRegistry()
    registry.register_class(model_of(Base))
    expected = fingerprint_of(model_of(Twin))
    assert not registry.readable("Told", expected)
    entity(Below, key="Told")
    assert fingerprint_of(model_of(Below)) == expected and registry.readable("Told", expected)


def test_rows_classes_that_are_looked_up_late_are_looked_up_for_a_row_of_theirs() -> None:
    """What nobody went to cannot have been written by an answer; a row of its table may be there all the same."""

    class Outer(Entity, schema={"title": {"plain": Lazy(lambda: Plain)}}):
        id: int = 0
        title: Any = None

    registry = SchemaRegistry()
    registry.register(schema_of(Outer))
    assert registry.classes("Plain") == frozenset()
    assert registry.readable("Plain", fingerprint_of(model_of(Plain)))
    assert registry.met("Plain") == [model_of(Plain)]


def test_rows_secret_of_a_client_holds_for_all_tables() -> None:
    """Also for those whose rules were asked for before."""
    registry = SchemaRegistry(["App-Id"])
    registry.register(schema_of(Plain))
    assert not registry.rules("Plain").keeps("app_id") and registry.rules("Plain").keeps("key_of_app")
    registry.add_secret("keyOfApp")
    assert not registry.rules("Plain").keeps("key_of_app") and registry.secrets == {"appid", "keyofapp"}
