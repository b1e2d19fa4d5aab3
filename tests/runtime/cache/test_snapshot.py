"""Snapshots: a state as it stays while it is held."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.runtime.doubles import Desk

from restencil import AbortError, AbortOptimistic, Entity, NetworkError, RestEndpoint, create_resource, schema
from restencil.cache.policy import ExpiryStatus
from restencil.cache.snapshot import Snapshot


class User(Entity, indexes=("slug",)):
    id: str = ""
    name: str = ""
    slug: str = ""


class Article(Entity, schema={"author": User}):
    id: str = ""
    title: str = ""
    author: User | None = None


Articles: Any = create_resource(path="/articles/:id", schema=Article, optimistic=True)
Users: Any = create_resource(path="/users/:id", schema=User)
bare: Any = RestEndpoint(path="/bare")
EVERYONE = schema.All(User)
everyone: Any = RestEndpoint(path="/everyone", schema=EVERYONE)
ONE = {"id": "1"}
RESPONSE = [
    {"id": "1", "title": "A", "author": {"id": "u", "name": "Uma", "slug": "uma"}},
    {"id": "2", "title": "B", "author": {"id": "v", "name": "Vic", "slug": "vic"}},
]


@pytest.fixture
def desk() -> Desk:
    """Two articles of two authors, a pending change of the second, a plain result and an error."""
    made = Desk()
    made.answer(Articles.get_list, RESPONSE)
    made.answer(bare, {"n": 1})
    made.fail(Users.get, NetworkError("no", status=503), {"id": "x"})
    made.fetch = made.start(Articles.partial_update, {"id": "2"}, {"title": "opt"})  # type: ignore[attr-defined]
    return made


def shown(snapshot: Snapshot) -> dict[str, Any]:
    """All that a snapshot says."""
    listed = snapshot.get_response(Articles.get_list)
    single = snapshot.get_response(Articles.get, ONE)
    plain = snapshot.get_response(bare)
    return {
        "list": [(item.id, item.title, item.author.name) for item in listed.data or ()],
        "times": [(found.expiry_status, found.expires_at) for found in (listed, single, plain)],
        "single": single.data and single.data.title,
        "plain": plain.data,
        "error": snapshot.get_error(Users.get, {"id": "x"}),
        "everyone": [user.id for user in snapshot.get(EVERYONE) or ()],
        "index": snapshot.get(User, {"slug": "uma"}) and snapshot.get(User, {"slug": "uma"}).id,
        "new": snapshot.get(User, "new"),
        "collection": [item.id for item in snapshot.get(Articles.get_list.schema) or ()],
    }


EXPECTED: dict[str, Any] = {
    "list": [("1", "A", "Uma"), ("2", "opt", "Vic")],
    "times": [(ExpiryStatus.Valid, 61_000.0)] * 3,
    "single": "A",
    "plain": {"n": 1},
    "everyone": ["u", "v"],
    "index": "u",
    "new": None,
    "collection": ["1", "2"],
}

OPERATIONS: dict[str, Callable[[Desk], object]] = {
    "nothing": lambda desk: None,
    "response": lambda desk: desk.answer(
        Articles.get, {"id": "1", "title": "A2", "author": {"id": "u", "name": "x", "slug": "y"}}, ONE
    ),
    "older response": lambda desk: desk.answer(Users.get, {"id": "u", "more": 1}, {"id": "u"}, started=1),
    "shorter list": lambda desk: desk.answer(Articles.get_list, [{"id": "1"}]),
    "new entity": lambda desk: desk.answer(Users.get, {"id": "new", "slug": "uma"}, {"id": "new"}),
    "other result": lambda desk: desk.answer(bare, {"n": 2}),
    "push": lambda desk: desk.answer(Articles.create, {"id": "3", "title": "C"}, {"title": "C"}),
    "delete": lambda desk: desk.answer(Users.delete, "u", {"id": "u"}),
    "set": lambda desk: desk.set(User, {"id": "u", "name": "x", "slug": "z"}),
    "error": lambda desk: desk.fail(Articles.get_list, NetworkError("no")),
    "invalidate": lambda desk: desk.invalidate(Articles.get_list),
    "invalidate all": lambda desk: desk.invalidate_all(bare),
    "expire all": lambda desk: desk.expire_all(Articles.get_list),
    "collect": lambda desk: desk.collect(
        ("User", "u"), ("Article", "1"), ("[Article]", "{}"), keys=("GET /articles", "GET /bare", "GET /users/x")
    ),
    "start": lambda desk: desk.start(Articles.partial_update, ONE, {"title": "opt 1"}),
    "end": lambda desk: desk.answer(
        Articles.partial_update, {"id": "2", "title": "real"}, {"id": "2"}, {}, fetch=desk.fetch  # type: ignore[attr-defined]
    ),
    "roll back": lambda desk: desk.fail(
        Articles.partial_update, AbortError("x"), {"id": "2"}, {}, fetch=desk.fetch  # type: ignore[attr-defined]
    ),
    "reset": lambda desk: desk.reset(),
}


@pytest.mark.parametrize("second", OPERATIONS)
@pytest.mark.parametrize("first", OPERATIONS)
def test_snapshot_says_what_it_said(desk: Desk, first: str, second: str) -> None:
    """Whatever happens after it was taken, looked at in between or not."""
    snapshot, unseen = desk.snapshot(), desk.snapshot()
    expected = {**EXPECTED, "error": desk.read(Users.get, {"id": "x"}).error}
    assert shown(snapshot) == expected
    desk.now = 2_000
    for operation in (first, second):
        OPERATIONS[operation](desk)
        assert shown(snapshot) == expected
        desk.read(Articles.get_list)
    assert shown(unseen) == expected


@pytest.mark.parametrize("operation", OPERATIONS)
def test_snapshot_what_a_snapshot_handed_out_stays_the_object(desk: Desk, operation: str) -> None:
    """Reading it again gives the identical objects, also when the store has gone on."""
    snapshot = desk.snapshot()
    before = snapshot.get_response(Articles.get_list).data, snapshot.get(Article, "1"), snapshot.get(EVERYONE)
    OPERATIONS[operation](desk)
    after = snapshot.get_response(Articles.get_list).data, snapshot.get(Article, "1"), snapshot.get(EVERYONE)
    assert [new is old for new, old in zip(after, before, strict=True)] == [True, True, True]


def test_snapshot_has_its_datetime_and_an_error_to_raise(desk: Desk) -> None:
    """`fetched_at` is given or now; `abort` is an `AbortOptimistic`."""
    desk.now = 7_000
    assert desk.snapshot().fetched_at == 7_000
    assert desk.store.snapshot(5_000).fetched_at == 5_000
    assert isinstance(desk.snapshot().abort, AbortOptimistic)


def test_snapshot_takes_keywords(desk: Desk) -> None:
    """Where it takes endpoint args, as every other place does."""
    snapshot = desk.snapshot()
    assert snapshot.get_response(Articles.get, id="1").data.title == "A"
    assert snapshot.get_error(Users.get, id="x") is not None
    assert snapshot.get(Article, id="1") is snapshot.get(Article, {"id": "1"})


def test_snapshot_is_requested_nothing_as_the_store_is(desk: Desk) -> None:
    """`None` as the only argument is inactive."""
    found = desk.snapshot().get_response(Articles.get_list, None)
    assert (found.data, found.expires_at, found.needs_fetch) == (None, float("inf"), False)


def test_snapshot_that_is_evicted_costs_nothing(desk: Desk) -> None:
    """What was kept aside for it goes with it."""
    snapshot = desk.snapshot()
    assert len(desk.store._store_state.before_images) == 1  # pyright: ignore[reportPrivateUsage]
    del snapshot
    assert len(desk.store._store_state.before_images) == 0  # pyright: ignore[reportPrivateUsage]


def test_snapshot_never_says_to_the_view_what_was_in_no_table_then() -> None:
    """An entity with a list of all: the view has it as it is now, the snapshot as it was before the table was known."""

    class Room(Entity, schema={"everyone": EVERYONE}):
        id: str = ""
        everyone: list[Any] | None = None

    class Bare(Entity, key="Room"):
        id: str = ""

    room: Any = RestEndpoint(path="/rooms/:id", schema=Room)
    desk = Desk()
    desk.given(RestEndpoint(path="/bare/:id", schema=Bare), {"id": "1", "everyone": "all"}, ONE)
    snapshot = desk.snapshot()
    desk.given(Users.get, {"id": "u"}, {"id": "u"})
    assert snapshot.get_response(room, ONE).data.everyone is None
    assert [user.id for user in desk.data(room, ONE).everyone] == ["u"]
