"""Two releases of a program over one storage: a class or endpoint that changed loses its own rows and results alone."""

from __future__ import annotations

import datetime
import decimal
import enum
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import pytest
from tests.storages import PatientStore

from restencil import Controller, Entity, MemoryStorage, Record, RestEndpoint, field
from restencil.schema import All, Array, Collection, Invalidate, Lazy, Query, Union, Values
from restencil.testing import FakeClock, MockServer

AnyEndpoint = RestEndpoint[..., Any]
make_class: Any = type(Entity)


class Release:
    """A release of a program: its classes, its endpoints, and a process that runs it."""

    def __init__(
        self,
        storage: MemoryStorage,
        clock: FakeClock,
        annotations: Mapping[str, Any] | None = None,
        members: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
        listed: Any = None,
        **keywords: Any,
    ) -> None:
        fields = {"id": str, "title": str} | dict(annotations or {})
        defaults = dict.fromkeys(fields) | dict(members or {})
        body = {"__module__": __name__, "__annotations__": fields, **defaults}
        self.Item = make_class("Item", (Entity,), body, **{"key": "ReleaseItem"} | keywords)
        self.Tag = make_class(
            "Tag", (Entity,), {"__module__": __name__, "__annotations__": {"id": str}, "id": ""}, key="ReleaseTag"
        )
        self.item: AnyEndpoint = RestEndpoint(path="/items/:id", schema=self.Item)
        schema = [self.Item] if listed is None else listed(self)
        self.items: AnyEndpoint = RestEndpoint(path="/items", schema=schema, **dict(options or {}))
        self.tags: AnyEndpoint = RestEndpoint(path="/tags", schema=Collection([self.Tag]))
        store = PatientStore(clock=clock, scheduler=clock, storage=storage.another())
        self.c: Any = Controller(store, client=MockServer(clock).client(), base_url="http://mock")

    def write(self) -> None:
        """Answers that are stored."""
        self.c.set_response(self.items, [{"id": "1", "title": "A"}, {"id": "2", "title": "B"}])
        self.c.set_response(self.tags, [{"id": "t"}])

    @property
    def shown(self) -> tuple[Any, Any, Any]:
        """What a process that has nothing in memory finds: the list, one of its items, and another list."""
        items, item, tags = self.c.cached(self.items), self.c.get(self.Item, id="1"), self.c.cached(self.tags)
        return (
            None if items is None else [found.id for found in items],
            None if item is None else item.id,
            None if tags is None else [found.id for found in tags],
        )


ALL = (["1", "2"], "1", ["t"])
NO_ITEMS = (None, None, ["t"])


@pytest.fixture
def storage() -> MemoryStorage:
    """What all releases share."""
    return MemoryStorage()


@pytest.mark.parametrize(
    "changed",
    [
        {"annotations": {"more": str}},
        {"annotations": {"title": datetime.date}},
        {"annotations": {"title": list[str]}},
        {"members": {"title": field(default="", wire="name")}},
        {"members": {"title": field(default="", persist=False)}},
        {"members": {"title": field(default="", decode=str.upper)}},
        {"wire": {"title": "name"}},
        {"pk": "title"},
        {"pk": ["id", "title"]},
        {"pk": lambda self: self.title},
        {"persist": 2},
        {"persist": False},
        {"schema": {"title": [Entity]}},
        *(
            {"members": {name: classmethod(lambda cls, *args: None)}}
            for name in ("process", "validate", "merge", "should_update", "should_reorder", "merge_with_store")
        ),
    ],
)
def test_releases_changed_class_loses_its_rows_and_what_leads_to_them(
    changed: dict[str, Any], clock: FakeClock, storage: MemoryStorage
) -> None:
    """A field, its kind, its name in JSON, `persist`, the pk, a hook, a relation; all else stays."""
    old = Release(storage, clock)
    old.write()
    assert Release(storage, clock).shown == ALL
    assert Release(storage, clock, **changed).shown == NO_ITEMS


@pytest.mark.parametrize(
    "changed",
    [
        {"annotations": {"id": str | None, "title": str | None}},
        {"members": {"title": "untitled"}},
        {"members": {"title": field(required=True)}},
        {"members": {"__doc__": "Something else."}},
        {"members": {"shout": lambda self: self.title.upper()}},
        {"members": {"from_js": classmethod(lambda cls, props=None: None)}},
        {"persist": True},
        {"persist": 1},
        {"indexes": ["title"]},
    ],
)
def test_releases_what_does_not_change_what_is_stored_loses_nothing(changed: dict[str, Any], clock: FakeClock) -> None:
    """Defaults, descriptions, whether a field is optional, methods that do not store, `persist: 1`."""
    storage = MemoryStorage()
    Release(storage, clock).write()
    assert Release(storage, clock, **changed).shown == ALL


def test_releases_names_and_order_in_python_lose_nothing(clock: FakeClock, storage: MemoryStorage) -> None:
    """What counts is the name in JSON."""
    Release(storage, clock, annotations={"a": int, "b": int}).write()
    renamed = Release(storage, clock, annotations={"second": int, "a": int}, wire={"second": "b"})
    assert renamed.shown == ALL


class Color(enum.Enum):
    RED = "red"


class Address(Record):
    city: str = ""


class User(Entity):
    id: int = 0


class Tag(Entity):
    id: int = 0


KINDS: dict[str, list[Any]] = {
    "a string": [str, str | None],
    "an integer": [int, int | None],
    "a number": [float, float | None],
    "a boolean": [bool, bool | None],
    "a datetime": [datetime.datetime, datetime.datetime | None],
    "a date": [datetime.date, datetime.date | None],
    "a time": [datetime.time, datetime.time | None],
    "a decimal": [decimal.Decimal, decimal.Decimal | None],
    "a UUID": [uuid.UUID, uuid.UUID | None],
    "an enum": [Color, Color | None, Literal["a", "b"]],
    "an object": [Address, Address | None],
    "strings": [list[str], list[str] | None, Sequence[str]],
    "integers": [list[int], list[int] | None],
    "a map of strings": [dict[str, str], dict[str, str] | None],
    "a map of integers": [dict[str, int], dict[str, int] | None],
    "anything": [Any, str | int],
}
"""Annotations, by what is stored of such a field."""

FORMATS: dict[str, list[Any]] = {name: [field(default=None, format=name)] for name in ("rfc3339", "unix", "rfc2822")}
LOOP: dict[str, Any] = {"user": User}
LOOP["inner"] = Lazy(lambda: LOOP)
RELATIONS: dict[str, list[Any]] = {
    "a user": [User, Lazy(lambda: User), Query(User, lambda user: user)],
    "a tag": [Tag],
    "a list": [[User]],
    "an array": [Array(User)],
    "a map": [Values(User)],
    "a collection": [Collection([User])],
    "a collection apart": [Collection([User], apart="/x")],
    "an object": [{"user": User}],
    "an object with another member": [{"owner": User}],
    "an object with a list": [{"user": [User]}],
    "a union": [Union({"user": User, "tag": Tag}, "type")],
    "a union by another member": [Union({"user": User, "tag": Tag}, "kind")],
    "a list of a union": [Array({"user": User, "tag": Tag}, "type")],
    "all of a table": [All(User)],
    "a deletion": [Invalidate(User)],
    "an object in itself": [LOOP],
}
"""Schemas, by what is stored of such a field."""


def found_by(forms: dict[str, list[Any]], keywords: Callable[[Any], dict[str, Any]], clock: FakeClock) -> None:
    """Fails unless a release finds what another one stored exactly if their classes have the same form."""
    for written, (first, *_) in forms.items():
        storage = MemoryStorage()
        Release(storage, clock, **keywords(first)).write()
        shown = {form: [Release(storage, clock, **keywords(one)).shown for one in same] for form, same in forms.items()}
        expected = {form: [ALL if form == written else NO_ITEMS] * len(same) for form, same in forms.items()}
        assert shown == expected, f"what was stored with {written}"


def test_releases_each_kind_of_field_is_another(clock: FakeClock) -> None:
    """Also what is in a list or map; a `Literal` is an enum, an optional one is of the same kind."""
    found_by(KINDS, lambda kind: {"annotations": {"x": kind}}, clock)


def test_releases_each_format_of_a_datetime_is_another(clock: FakeClock) -> None:
    """It is a number in one, a text in the other."""
    found_by(FORMATS, lambda form: {"annotations": {"x": datetime.datetime}, "members": {"x": form}}, clock)


def test_releases_each_form_of_a_relation_is_another(clock: FakeClock) -> None:
    """Kinds and tables, all the way in; how it is written does not count."""
    found_by(RELATIONS, lambda form: {"annotations": {"x": Any}, "schema": {"x": form}}, clock)
    in_fields = {form: RELATIONS[form] for form in ("a user", "a list")}
    found_by(
        in_fields, lambda form: {"annotations": {"x": Any}, "members": {"x": field(default=None, schema=form)}}, clock
    )


@pytest.mark.parametrize(
    "changed",
    [
        {"options": {"persist": 2}},
        {"options": {"process": lambda value, *args: value}},
        {"listed": lambda release: Collection([release.Item])},
        {"listed": lambda release: {"items": [release.Item]}},
    ],
)
def test_releases_changed_endpoint_loses_its_own_results(changed: dict[str, Any], clock: FakeClock) -> None:
    """The records stay."""
    storage = MemoryStorage()
    Release(storage, clock).write()
    assert Release(storage, clock, **changed).shown == (None, "1", ["t"])


def test_releases_class_of_another_table_does_not_see_the_old_one(clock: FakeClock, storage: MemoryStorage) -> None:
    """Its table is empty, and a list that led to the old one is fetched anew."""
    Release(storage, clock).write()
    assert Release(storage, clock, key="ReleaseOther").shown == NO_ITEMS


def test_two_releases_share_a_storage_at_once(clock: FakeClock, storage: MemoryStorage) -> None:
    """Each replaces what it cannot read, without a merge; what both have in common is common."""
    old, new = Release(storage, clock), Release(storage, clock, annotations={"more": str})
    old.write()
    clock.advance(1)
    new.c.set_response(new.item, {"id": "1", "more": "m"}, id="1")
    again = Release(storage, clock, annotations={"more": str})
    found = again.c.cached(again.item, id="1")
    assert found.to_dict() == {"id": "1", "title": None, "more": "m"}
    latest = Release(storage, clock)
    assert latest.shown == NO_ITEMS
    clock.advance(1)
    latest.write()
    assert Release(storage, clock).shown == ALL
    assert again.c.cached(again.tags) is not None


def test_releases_class_of_the_same_table_reads_what_both_wrote(clock: FakeClock, storage: MemoryStorage) -> None:
    """A subclass, and its base; one of them alone, of other fields, does not."""
    old = Release(storage, clock)
    body = {"__module__": __name__, "__annotations__": {"more": str}, "more": ""}
    below = make_class("Below", (old.Item,), body, key="ReleaseItem")
    detail: AnyEndpoint = RestEndpoint(path="/detail/:id", schema=below)
    old.write()
    old.c.set_response(detail, {"id": "1", "more": "m"}, id="1")
    assert Release(storage, clock).shown == NO_ITEMS  # the subclass is not there in this release
    again: Any = Release(storage, clock)
    known = make_class("Below", (again.Item,), dict(body), key="ReleaseItem")
    assert again.c.cached(RestEndpoint(path="/detail/:id", schema=known), id="1").title == "A"
    assert again.shown == ALL
