"""What is written below a store: rows, results, entries, in whole actions and in their order."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from typing import Any, cast

import pytest
from tests.storages import PatientStore

from restencil import Controller, Entity, RestEndpoint, StorageDown, StorageOff, Store
from restencil.cache.actions import Invalidate, Meta, Reset, Set, SetError, SetResponse
from restencil.schema import All, Collection
from restencil.schema import Invalidate as Invalidated
from restencil.storage import Batch, Outcome
from restencil.storage.memory import MemoryStorage
from restencil.testing import FakeClock


class Author(Entity, key="WrittenAuthor"):
    id: str = ""
    name: str = ""


class Article(Entity, key="WrittenArticle", indexes=("slug",)):
    id: str = ""
    title: str = ""
    slug: str = ""
    author: Author | None = None
    schema = {"author": Author}


class Tag(Entity, key="WrittenTag"):
    id: str = ""
    word: str = ""


AnyEndpoint = RestEndpoint[..., Any]
PREFIX = "http://api.test"
GET: AnyEndpoint = RestEndpoint(url_prefix=PREFIX, path="/articles/:id", schema=Article)
LIST: AnyEndpoint = RestEndpoint(url_prefix=PREFIX, path="/articles", schema=[Article])
PATCH: AnyEndpoint = RestEndpoint(url_prefix=PREFIX, path="/articles/:id", method="PATCH", schema=Article)
DELETE: AnyEndpoint = RestEndpoint(
    url_prefix=PREFIX, path="/articles/:id", method="DELETE", schema=Invalidated(Article)
)
GET_TAG: AnyEndpoint = RestEndpoint(url_prefix=PREFIX, path="/tags/:id", schema=Tag)
EVERY: AnyEndpoint = RestEndpoint(url_prefix=PREFIX, path="/every", schema=All(Tag))
PLAIN: AnyEndpoint = RestEndpoint(url_prefix=PREFIX, path="/plain", schema=None)


class StoredEntry(MemoryStorage):
    """A storage that does not take commits while it is held."""

    is_held = False
    commits = 0

    def hold(self) -> None:
        """It does not answer from now on."""
        self.is_held = True

    def let_go(self) -> None:
        """It answers again."""
        self.is_held = False

    def commit(self, batch: Batch, /) -> Outcome:
        if self.is_held:
            raise StorageDown("held")
        return super().commit(batch)


class Desk:
    """A store over a storage, in virtual time, to which answers are told."""

    def __init__(self, storage: MemoryStorage | None = None, clock: FakeClock | None = None) -> None:
        self.clock = clock or FakeClock(1_000)
        self.storage = storage or MemoryStorage()
        self.store = PatientStore(clock=self.clock, scheduler=self.clock, storage=self.storage)

    def another(self) -> Desk:
        """A store of another process."""
        return Desk(self.storage.another(), self.clock)

    def answer(self, endpoint: AnyEndpoint, response: Any, *args: Any, asked: float | None = None) -> Any:
        """An answer came now, to what was asked now or before."""
        now = self.clock()
        times = Meta(now if asked is None else asked, now, now + 60_000)
        return self.store.apply(SetResponse(endpoint.request(args), response, times, wanted=False))

    def shown(self, endpoint: AnyEndpoint, *args: Any) -> Any:
        """What a read shows."""
        return Controller(self.store).cached(endpoint, *args)

    def row(self, table: str, pk: str) -> Any:
        """What a row holds, as JSON; "gone" for a tombstone, None where there is none."""
        found = self.storage.load([(table, pk)]).rows
        if not found:
            return None
        if found[0].value is None:
            return "gone"
        value = json.loads(found[0].value)
        if isinstance(value, dict):
            value.pop("$whole", None)  # which response brought it whole is no part of it
        return value

    def rows(self, table: str) -> dict[str, Any]:
        """All rows of a table."""
        return {pk: self.row(table, pk) for pk in self.storage.scan(table, None, 1_000).items}

    def result(self, endpoint: AnyEndpoint, *args: Any) -> Any:
        """What is stored under a key."""
        found = self.storage.load([], [endpoint.key(*args)]).results
        return found[0] if found else None


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_writing_response_is_rows_a_result_and_an_entry(desk: Desk) -> None:
    """What a response brings is stored with one commit, and its entry names all of it."""
    desk.answer(GET, {"id": "1", "title": "A", "slug": "a", "author": {"id": "7", "name": "N"}}, {"id": "1"})
    assert desk.row("WrittenArticle", "1") == {"id": "1", "title": "A", "slug": "a", "author": "7"}
    assert desk.row("WrittenAuthor", "7") == {"id": "7", "name": "N"}
    result = desk.result(GET, {"id": "1"})
    assert (result.value, result.times, result.rev) == (b'"1"', Meta(1_000, 1_000, 61_000), 1)
    [entry] = desk.storage.changes(0, 0).entries
    assert entry.changed == {"WrittenArticle": ["1"], "WrittenAuthor": ["7"]}
    assert entry.keys == [GET.key({"id": "1"})]
    assert desk.storage.load([], [], [("WrittenArticle", "slug", "a")]).index == {("WrittenArticle", "slug", "a"): "1"}


def test_writing_error_changes_nothing(desk: Desk) -> None:
    """What is stored under a key stays as it was when a request failed."""
    desk.answer(GET, {"id": "1"}, {"id": "1"})
    before = desk.result(GET, {"id": "1"})
    desk.store.apply(SetError(GET.request(({"id": "1"},)), ValueError("no"), Meta(2_000, 2_000, 3_000)))
    assert desk.result(GET, {"id": "1"}) == before
    assert desk.storage.changes(1, 0).entries == []


def test_writing_what_is_no_json_is_not_stored(desk: Desk) -> None:
    """A response of which one part has no JSON form is not stored at all, and nothing older shows in its place."""
    desk.answer(GET, {"id": "1", "title": "A"}, {"id": "1"})
    desk.answer(GET, {"id": "1", "title": float("nan")}, {"id": "1"})
    assert desk.row("WrittenArticle", "1") is None
    assert desk.result(GET, {"id": "1"}) is None
    assert desk.store.storage_stats().unstorable == 1
    assert desk.store.state["entities"]["WrittenArticle"]["1"]["title"] != "A"
    desk.answer(PATCH, {"id": "1", "slug": "s"}, {"id": "1"}, {})
    assert desk.row("WrittenArticle", "1") == {"id": "1", "slug": "s"}


def test_writing_what_an_unstored_endpoint_received_reaches_no_storage(desk: Desk) -> None:
    """Neither the response of an endpoint with `persist=False` is stored, nor what it left in records."""
    apart: AnyEndpoint = RestEndpoint(url_prefix=PREFIX, path="/apart/:id", schema=Article, persist=False)
    desk.answer(GET, {"id": "1", "title": "A"}, {"id": "1"})
    desk.answer(apart, {"id": "1", "slug": "hidden"}, {"id": "1"})
    desk.answer(GET, {"id": "1", "title": "B"}, {"id": "1"})
    assert desk.row("WrittenArticle", "1") == {"id": "1", "title": "B"}
    assert desk.store.state["entities"]["WrittenArticle"]["1"]["slug"] == "hidden"
    assert desk.result(apart, {"id": "1"}) is None


def test_writing_reset_begins_a_new_epoch(desk: Desk) -> None:
    """When the call returns nothing of before is stored, and what others still commit to it is refused."""
    other = desk.another()
    other.answer(GET, {"id": "1"}, {"id": "1"})
    desk.answer(GET, {"id": "2"}, {"id": "2"})
    desk.store.apply(Reset())
    assert desk.storage.scan(None, None, 10).items == []
    other.answer(GET, {"id": "1"}, {"id": "1"})
    assert other.store.storage_stats().fenced == 1
    assert desk.rows("WrittenArticle") == {}


def test_writing_storage_is_never_the_reason_for_an_error(caplog: pytest.LogCaptureFixture) -> None:
    """While a storage does not take commits memory goes on; that is logged once, and so is its end."""
    held = StoredEntry()
    first = Desk(held)
    first.answer(GET_TAG, {"id": "1"}, {"id": "1"})
    held.hold()
    for number in range(5):
        first.answer(GET_TAG, {"id": "1", "word": str(number)}, {"id": "1"})
    stats = first.store.storage_stats()
    assert (stats.state, stats.pending_rows, stats.errors) == ("down", 5, {"StorageDown": 1})
    assert [record.message for record in caplog.records] == [
        "the storage does not respond; the store continues in memory only: held"
    ]
    caplog.clear()
    held.let_go()
    assert first.store.flush()
    assert [record.message for record in caplog.records] == ["the storage responds again"]
    assert first.row("WrittenTag", "1") == {"id": "1", "word": "4"}
    assert first.store.storage_stats().state == "on"


def test_writing_storage_that_is_off_is_not_asked_again(caplog: pytest.LogCaptureFixture) -> None:
    """What says that it can never be used is left alone, and the store goes on in memory."""
    refused: list[str] = []

    class Off(MemoryStorage):
        def open(self, place: str, now: Any, /) -> Any:
            refused.append(place)
            raise StorageOff("a newer format")

    desk = Desk(Off())
    for number in range(3):
        desk.answer(GET_TAG, {"id": "1", "word": str(number)}, {"id": "1"})
    assert desk.store.state["entities"]["WrittenTag"]["1"]["word"] == "2"
    stats = desk.store.storage_stats()
    assert (stats.state, stats.reason, stats.pending_rows, refused) == ("off", "a newer format", 0, [""])
    assert [record.message for record in caplog.records] == ["the storage is not used: a newer format"]


@pytest.mark.slow
def test_writing_of_too_much_only_names_are_kept() -> None:
    """Over 50,000 rows that wait, values are let go of; what is named is dropped from the storage once it is back."""
    held = StoredEntry()
    desk = Desk(held)
    desk.answer(GET_TAG, {"id": "1", "word": "old"}, {"id": "1"})
    desk.answer(GET, {"id": "1", "title": "kept"}, {"id": "1"})
    held.hold()
    desk.store.apply(Invalidate(GET.key({"id": "1"})))
    for start in range(0, 52_000, 13_000):
        desk.answer(EVERY, [{"id": str(number), "word": "new"} for number in range(start, start + 13_000)], {})
    stats = desk.store.storage_stats()
    assert (stats.pending_names > 50_000, stats.pending_rows < 50_000) == (True, True)
    held.let_go()
    assert desk.store.flush(20_000)
    assert desk.row("WrittenTag", "1") is None
    assert desk.row("WrittenArticle", "1") == {"id": "1", "title": "kept"}
    assert desk.result(GET, {"id": "1"}).invalidated
    desk.answer(GET_TAG, {"id": "1"}, {"id": "1"})
    assert desk.row("WrittenTag", "1") == {"id": "1"}


def test_writing_thread_commits_what_waits() -> None:
    """What is written shows at once, and is in the storage a moment later, as one commit."""
    desk = Desk(MemoryStorage(write_behind=20))
    for number in range(10):
        desk.answer(GET, {"id": str(number)}, {"id": str(number)})
    assert desk.store.cached(GET.request(({"id": "3"},))) is not None
    assert desk.store.flush()
    assert len(desk.rows("WrittenArticle")) == 10
    assert desk.store.storage_stats().commits <= 3


def test_writing_store_that_is_closed_goes_on_in_memory() -> None:
    """At the end of `with` all is stored, and the storage is let go of."""
    storage = MemoryStorage(write_behind=60_000)
    with PatientStore(storage=storage) as store:
        store.apply(Set(Tag, (), {"id": "1"}, Meta(1, 1, 2)))
    assert len(storage.load([("WrittenTag", "1")]).rows) == 1
    store.apply(Set(Tag, (), {"id": "2"}, Meta(1, 1, 2)))
    assert store.flush()
    assert (store.storage_stats().state, store.storage_stats().reason) == ("off", "closed")
    assert storage.load([("WrittenTag", "2")]).rows == []


async def test_writing_asynchronous_end_waits_in_a_thread() -> None:
    """`async with` closes a store as `with` does."""
    storage = MemoryStorage(write_behind=60_000)
    async with PatientStore(storage=storage) as store:
        store.apply(Set(Tag, (), {"id": "1"}, Meta(1, 1, 2)))
    assert len(storage.load([("WrittenTag", "1")]).rows) == 1


def test_writing_one_storage_serves_one_store(desk: Desk) -> None:
    """A second store over a storage is an error, which says what to do."""
    with pytest.raises(RuntimeError, match="serves another store; create a separate storage for each"):
        PatientStore(storage=desk.storage)
    with pytest.raises(TypeError, match="storage is an object; expected a storage, such as"):
        PatientStore(storage=cast(Any, object()))


def test_writing_store_without_a_storage_has_nothing_to_wait_for() -> None:
    """Its operations are there, and do nothing."""
    with Store() as store:
        assert store.flush()
        assert (store.storage_stats().state, store.storage_stats().reason) == ("off", "no storage")


def test_writing_storage_belongs_to_one_place(desk: Desk) -> None:
    """A client of another place is an error for a store with a storage, also where it is to share it."""
    desk.store.remember_origin("https://user:word@a.test", is_base=False, share=False)
    with pytest.raises(
        ValueError, match="belongs to 'https://a.test', but the client sends requests to 'https://b.test'"
    ):
        desk.store.remember_origin("https://b.test", is_base=False, share=True)


def test_writing_function_that_fails_in_a_fold_drops_what_it_was_for() -> None:
    """What a merge of users cannot lay over another's row is in no storage; memory stays."""

    class Picky(Entity, key="WrittenPicky"):
        id: str = ""
        n: int = 0

        @classmethod
        def merge(cls, existing: Any, incoming: Any) -> Any:
            if existing.get("n") == 13:
                raise ValueError("unlucky")
            return {**existing, **incoming}

    picky: AnyEndpoint = RestEndpoint(url_prefix=PREFIX, path="/picky/:id", schema=Picky)
    desk = Desk()
    other = desk.another()
    desk.answer(picky, {"id": "1", "n": 13}, {"id": "1"})
    other.answer(picky, {"id": "1", "n": 2}, {"id": "1"})
    assert desk.row("WrittenPicky", "1") is None
    assert other.store.state["entities"]["WrittenPicky"]["1"]["n"] == 2


def test_writing_filter_that_fails_when_a_row_is_met_fails_no_commit(caplog: pytest.LogCaptureFixture) -> None:
    """The list that the filter is for is not stored, and all else of the change is, with the commit that met it."""
    is_failing = False

    def accepts(*args: Any) -> Callable[[Mapping[str, Any]], bool]:
        def test(identity: Mapping[str, Any]) -> bool:
            if is_failing:
                raise ValueError("unlucky")
            return True

        return test

    own = Collection([Tag], create_collection_filter=accepts)
    tags: AnyEndpoint = RestEndpoint(url_prefix=PREFIX, path="/tags", schema=own, strict=True)
    push: AnyEndpoint = RestEndpoint(url_prefix=PREFIX, path="/tags", method="POST", schema=own.push, strict=True)
    held = StoredEntry()
    one = Desk(held)
    other = one.another()
    for desk in (other, one):
        desk.answer(tags, [{"id": "1", "word": "a"}], {})
    held.hold()
    one.answer(push, {"id": "2", "word": "b"}, {}, {})
    other.answer(push, {"id": "3", "word": "c"}, {}, {})
    held.let_go()
    is_failing = True
    assert one.store.flush()
    assert one.row("WrittenTag", "2") == {"id": "2", "word": "b"}
    told = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
    assert set(told) == {"[WrittenTag] {} is not stored, because its merge function failed"}


def test_writing_whole_action_is_one_commit_whatever_its_size(desk: Desk) -> None:
    """A response of more rows than a commit takes is not torn."""
    desk.answer(LIST, [{"id": str(number)} for number in range(5_100)], {})
    assert desk.store.storage_stats().commits == 1
    assert len(desk.storage.scan("WrittenArticle", None, 10_000).items) == 5_100


def test_writing_response_that_is_too_big_is_not_stored() -> None:
    """More than 8 MiB of JSON reach no storage; what waits beside it does."""
    desk = Desk(MemoryStorage(write_behind=30))
    desk.answer(GET, {"id": "1"}, {"id": "1"})
    desk.answer(PLAIN, "x" * 9_000_000, {})
    desk.answer(GET, {"id": "2"}, {"id": "2"})
    assert desk.store.flush()
    assert desk.rows("WrittenArticle") == {"1": {"id": "1"}, "2": {"id": "2"}}
    assert desk.result(PLAIN, {}) is None
    assert desk.store.storage_stats().unstorable == 1
