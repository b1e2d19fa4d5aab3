"""Fingerprints: each change of an entity or endpoint that may change what is stored gives another one."""

from __future__ import annotations

import datetime
import decimal
import enum
import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from restencil import Entity, Record, RestEndpoint, field
from restencil import entity as declared
from restencil.persistence.schema_fingerprint import (
    SchemaRegistry,
    fingerprint_of,
    fingerprint_of_endpoint,
    joined_shape,
    shape_of,
)
from restencil.schema import All, Array, Collection, Invalidate, Lazy, Query, Union, Values
from restencil.schema.entity import EntityModel
from restencil.schema.notation import schema_of
from restencil.schema.record import class_record

RUNTIME = Path(__file__).resolve().parents[2] / "runtime"


class User(Entity):
    id: int = 0


class Tag(Entity):
    id: int = 0


class Color(enum.Enum):
    RED = "red"


class Address(Record):
    city: str = ""


def model_of(cls: Any) -> EntityModel:
    """The class record of an entity class."""
    model = class_record(cls)
    assert isinstance(model, EntityModel)
    return model


def entity(
    annotations: Mapping[str, Any] | None = None,
    *,
    name: str = "Item",
    bases: tuple[type, ...] = (Entity,),
    members: Mapping[str, Any] | None = None,
    **keywords: Any,
) -> Any:
    """An entity class with these fields, members and class keywords."""
    fields = {"id": int, "title": str} if annotations is None else dict(annotations)
    namespace = {"__module__": __name__, "__annotations__": fields, **dict(members or {})}
    make: Any = type(Entity)
    return make(name, bases, namespace, **keywords)


def printed(*args: Any, **keywords: Any) -> str:
    """The fingerprint of an entity class that is made so."""
    return fingerprint_of(model_of(entity(*args, **keywords)))


USUAL = printed()


@pytest.mark.parametrize(
    "changed",
    [
        {"annotations": {"id": int}},
        {"annotations": {"id": int, "title": str, "more": str}},
        {"annotations": {"id": int, "title": int}},
        {"annotations": {"id": int, "title": list[str]}},
        {"members": {"title": field(default="", wire="name")}},
        {"members": {"title": field(default="", persist=False)}},
        {"members": {"title": field(default="", decode=str.upper)}},
        {"members": {"title": field(default=None, schema=User)}},
        {"wire": {"title": "name"}},
        {"key": "Other"},
        {"pk": "title"},
        {"pk": ["id", "title"]},
        {"pk": lambda self: self.title},
        {"persist": 2},
        {"persist": False},
        {"schema": {"title": [User]}},
        *(
            {"members": {name: classmethod(lambda cls, *args: None)}}
            for name in ("process", "validate", "merge", "should_update", "should_reorder", "merge_with_store")
        ),
    ],
)
def test_shapes_change_that_counts_gives_another_fingerprint(changed: dict[str, Any]) -> None:
    """A field, its kind or its name in JSON, a relation, the table, the primary key, `persist`, a hook."""
    assert printed(**changed) != USUAL


@pytest.mark.parametrize(
    "changed",
    [
        {"annotations": {"title": str, "id": int}},
        {"annotations": {"id": int | None, "title": str | None}},
        {"members": {"title": "untitled"}},
        {"members": {"title": field(required=True)}},
        {"members": {"__doc__": "Something else."}},
        {"annotations": {"id": int, "name": str}, "wire": {"name": "title"}},
        {"name": "Thing", "key": "Item"},
        {"persist": True},
        {"persist": 1},
        {"members": {"shout": lambda self: self.title.upper()}},
        {"members": {"from_js": classmethod(lambda cls, props=None: None)}},
    ],
)
def test_shapes_change_that_does_not_count_gives_the_same(changed: dict[str, Any]) -> None:
    """Names in Python, defaults, descriptions, the order of fields, methods that have nothing to do with storing."""
    assert printed(**changed) == USUAL


KINDS = [
    str,
    int,
    float,
    bool,
    datetime.datetime,
    datetime.date,
    datetime.time,
    decimal.Decimal,
    uuid.UUID,
    Color,
    Address,
    list[str],
    list[int],
    dict[str, str],
    dict[str, int],
    Any,
]


def test_shapes_each_kind_of_field_is_reported_from_the_others() -> None:
    """Also what is in a list or map; a `Literal` is an enum, an optional one is of the same kind."""
    found = [printed({"id": int, "x": kind}) for kind in KINDS]
    assert len({*found}) == len(KINDS)
    assert [printed({"id": int, "x": kind | None}) for kind in KINDS[:-1]] == found[:-1]
    assert printed({"id": int, "x": Literal["a", "b"]}) == found[KINDS.index(Color)]
    assert printed({"id": int, "x": Sequence[str]}) == found[KINDS.index(list[str])]
    assert printed({"id": int, "x": str | int}) == found[-1]


def test_shapes_format_of_a_datetime_counts() -> None:
    """It is a number in one, a text in the other."""
    forms = [
        printed({"id": int, "x": datetime.datetime}, members={"x": field(default=None, format=f)}) for f in FORMATS
    ]
    assert len({*forms}) == 3


FORMATS: Any = ("rfc3339", "unix", "rfc2822")

RELATIONS: list[Callable[[], Any]] = [
    lambda: User,
    lambda: Tag,
    lambda: [User],
    lambda: Array(User),
    lambda: Values(User),
    lambda: Collection([User]),
    lambda: Collection([User], apart="/x"),
    lambda: {"user": User},
    lambda: {"owner": User},
    lambda: {"user": [User]},
    lambda: Union({"user": User, "tag": Tag}, "type"),
    lambda: Union({"user": User, "tag": Tag}, "kind"),
    lambda: Array({"user": User, "tag": Tag}, "type"),
    lambda: All(User),
    lambda: Invalidate(User),
]


def test_shapes_each_form_of_a_relation_is_reported_from_the_others() -> None:
    """Kinds and tables, all the way in; how it is written does not count."""
    found = [printed(schema={"title": form()}) for form in RELATIONS]
    assert len({*found}) == len(RELATIONS)
    assert printed(schema={"title": Lazy(lambda: User)}) == found[0]
    assert printed(schema={"title": Query(User, lambda user: user)}) == found[0]
    assert printed(members={"title": field(default=None, schema=[User])}) == found[2]


def test_shapes_form_that_leads_back_to_itself_ends() -> None:
    """Objects may hold each other."""
    inner: dict[str, Any] = {"user": User}
    inner["inner"] = Lazy(lambda: inner)
    assert printed(schema={"title": inner}) == printed(schema={"title": inner}) != USUAL


def endpoint(**options: Any) -> str:
    """The fingerprint of an endpoint with these options."""
    made: Any = RestEndpoint(path="/x", **options)
    return fingerprint_of_endpoint(made.rules)


def test_shapes_fingerprint_of_an_endpoint() -> None:
    """The form of its schema, its `persist`, whether `process` is overridden; nothing else of it."""
    usual = endpoint(schema=[User])
    assert endpoint(schema=[User], persist=True, data_expiry_length=5, name="other") == usual
    others = [
        endpoint(schema=[Tag]),
        endpoint(schema=User),
        endpoint(schema=[User], persist=2),
        endpoint(schema=[User], process=lambda value, *args: value),
        endpoint(),
    ]
    assert len({usual, *others}) == 6


def test_shapes_page_counts_as_its_list() -> None:
    """What a page wrote is read as the list that it extends."""
    listed = Collection([User])
    assert endpoint(schema=listed.paged(lambda params: (params,))) == endpoint(schema=listed)


def test_shapes_fingerprint_is_the_same_in_every_process() -> None:
    """It has 12 hexadecimal digits, whatever the seed of hashes."""
    code = (
        "from restencil import Entity; from restencil.persistence.schema_fingerprint import fingerprint_of\n"
        "class Item(Entity):\n    id: int = 0\n    title: str = ''\n"
        "print(fingerprint_of(Item.__model__))"
    )
    environment = {**os.environ, "PYTHONPATH": str(RUNTIME), "PYTHONHASHSEED": "7"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == USUAL and len(USUAL) == 12


# -- shapes, and what is known


def test_shapes_are_sets() -> None:
    """Sorted, joined by `+`, each fingerprint once."""
    assert shape_of(["b", "a", "b"]) == "a+b"
    assert joined_shape("a", "a") == "a" and joined_shape("b", "a+c") == "a+b+c" and joined_shape("", "a") == "a"


def test_shapes_row_is_readable_where_all_that_wrote_it_are_known() -> None:
    """Classes that the store has met, their bases and subclasses of the same table; others are not."""
    base = entity(key="Place", name="Base")
    below = entity({"more": str}, key="Place", name="Below", bases=(base,))
    aside = entity({"id": int, "aside": str}, key="Place", name="Aside")
    elsewhere = entity({"more": str}, key="Elsewhere", name="Elsewhere", bases=(base,))
    registry = SchemaRegistry()
    registry.register(schema_of([below]))
    prints = {cls.__name__: fingerprint_of(model_of(cls)) for cls in (base, below, aside, elsewhere)}
    assert registry.readable("Place", prints["Base"]) and registry.readable("Place", prints["Below"])
    assert registry.readable("Place", shape_of([prints["Base"], prints["Below"]]))
    assert not registry.readable("Place", prints["Aside"]) and not registry.readable("Place", prints["Elsewhere"])
    assert not registry.readable("Place", shape_of([prints["Base"], prints["Aside"]]))
    registry.register_class(model_of(aside))
    assert registry.readable("Place", shape_of([prints["Base"], prints["Aside"]]))


def test_shapes_subclass_that_is_imported_later_is_known_then() -> None:
    """And so is what it says of its fields."""
    base = entity(key="Late", name="Base")
    registry = SchemaRegistry()
    registry.register_class(model_of(base))
    annotations, ssn = {"ssn": str}, {"ssn": field(default="", persist=False)}
    expected = printed({"id": int, "title": str, "ssn": str}, key="Late", members=ssn)
    assert not registry.readable("Late", expected) and registry.rules("Late").keeps("ssn")
    below = entity(annotations, key="Late", name="Below", bases=(base,), members=ssn)
    assert fingerprint_of(model_of(below)) == expected
    assert registry.readable("Late", expected) and not registry.rules("Late").keeps("ssn")


def test_shapes_subclass_that_is_declared_later_is_known_then() -> None:
    """A class of another library counts from the moment when it is declared an entity."""

    @declared(key="Told")
    @dataclass(frozen=True)
    class Base:
        id: int

    @dataclass(frozen=True)
    class Below(Base):
        more: str

    registry = SchemaRegistry()
    registry.register_class(model_of(Base))
    expected = printed({"id": int, "more": str}, key="Told")
    assert not registry.readable("Told", expected)
    declared(Below, key="Told")
    assert fingerprint_of(model_of(Below)) == expected and registry.readable("Told", expected)


def test_shapes_collection_has_no_shape() -> None:
    """Its rows are readable always, and those of records never without one."""
    assert SchemaRegistry().readable("[User]", "") and not SchemaRegistry().readable("User", "")


def test_shapes_classes_that_are_looked_up_late_are_looked_up_for_a_row_of_theirs() -> None:
    """What nobody went to cannot have been written by an answer; a row of its table may be there all the same."""
    outer = entity(schema={"title": {"user": Lazy(lambda: User)}}, name="Outer")
    registry = SchemaRegistry()
    registry.register(schema_of(outer))
    assert registry.met("Outer") == [model_of(outer)]
    assert registry.classes("User") == frozenset()
    assert registry.readable("User", fingerprint_of(model_of(User)))
    assert registry.met("User") == [model_of(User)]


def test_shapes_all_classes_that_a_schema_leads_to_are_registered_by_table() -> None:
    brief = entity({"id": int}, key="User", name="Brief")
    registry = SchemaRegistry()
    registry.register(schema_of({"users": [User], "first": brief, "tags": Values(Tag)}))
    assert {*registry.met("User")} == {model_of(User), model_of(brief)}
    assert registry.met("Tag") == [model_of(Tag)]
    registry.register(None)


def test_shapes_secret_of_a_client_holds_for_all_tables() -> None:
    """Also for those whose rules were asked for before."""
    registry = SchemaRegistry(["App-Id"])
    registry.register(schema_of(User))
    assert not registry.rules("User").keeps("app_id") and registry.rules("User").keeps("key_of_app")
    registry.add_secret("keyOfApp")
    assert not registry.rules("User").keeps("key_of_app") and registry.secrets == {"appid", "keyofapp"}
