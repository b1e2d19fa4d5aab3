"""Two releases of a program over one storage: a class or endpoint that changed loses its own rows and results alone."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

import pytest
from tests.storages import PatientStore

from restencil import Controller, Entity, MemoryStorage, RestEndpoint, field
from restencil.schema import Collection
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


@pytest.mark.parametrize(
    "changed",
    [
        {"annotations": {"more": str}},
        {"annotations": {"title": datetime.date}},
        {"members": {"title": field(default="", wire="name")}},
        {"members": {"title": field(default="", persist=False)}},
        {"pk": ["id", "title"]},
        {"persist": 2},
        {"members": {"validate": classmethod(lambda cls, record: None)}},
        {"members": {"merge": classmethod(lambda cls, was, comes: {**was, **comes})}},
        {"schema": {"title": [Entity]}},
    ],
)
def test_releases_changed_class_loses_its_rows_and_what_leads_to_them(
    changed: dict[str, Any], clock: FakeClock
) -> None:
    """A field, its kind, its name in JSON, `persist`, the pk, a hook, a relation; all else stays."""
    storage = MemoryStorage()
    old = Release(storage, clock)
    old.write()
    assert Release(storage, clock).shown == ALL
    assert Release(storage, clock, **changed).shown == NO_ITEMS


@pytest.mark.parametrize(
    "changed",
    [
        {"annotations": {"title": str | None}},
        {"members": {"title": "untitled"}},
        {"persist": 1},
        {"indexes": ["title"]},
    ],
)
def test_releases_what_does_not_change_what_is_stored_loses_nothing(changed: dict[str, Any], clock: FakeClock) -> None:
    """Defaults, whether a field is optional, `persist: 1`."""
    storage = MemoryStorage()
    Release(storage, clock).write()
    assert Release(storage, clock, **changed).shown == ALL


@pytest.mark.parametrize(
    "changed",
    [{"options": {"persist": 2}}, {"options": {"process": lambda value, *args: value}}],
)
def test_releases_changed_endpoint_loses_its_own_results(changed: dict[str, Any], clock: FakeClock) -> None:
    """The records stay."""
    storage = MemoryStorage()
    Release(storage, clock).write()
    assert Release(storage, clock, **changed).shown == (None, "1", ["t"])


def test_releases_result_of_another_form_is_not_found(clock: FakeClock) -> None:
    """An object where a list was."""
    storage = MemoryStorage()
    Release(storage, clock).write()
    release = Release(storage, clock, listed=lambda release: {"items": [release.Item]})
    assert release.c.cached(release.items) is None and release.shown[1:] == ("1", ["t"])


def test_releases_class_of_another_table_does_not_see_the_old_one(clock: FakeClock) -> None:
    """Its table is empty, and a list that led to the old one is fetched anew."""
    storage = MemoryStorage()
    Release(storage, clock).write()
    assert Release(storage, clock, key="ReleaseOther").shown == NO_ITEMS


def test_two_releases_share_a_storage_at_once(clock: FakeClock) -> None:
    """Each replaces what it cannot read, without a merge; what both have in common is common."""
    storage = MemoryStorage()
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


def test_releases_class_of_the_same_table_reads_what_both_wrote(clock: FakeClock) -> None:
    """A subclass, and its base; one of them alone, of other fields, does not."""
    storage = MemoryStorage()
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
