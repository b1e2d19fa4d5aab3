"""Stores that share a storage: what one of them made stale is stale for all, and for those that open it later."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from tests.freshness import driver
from tests.freshness.driver import Session, run
from tests.freshness.programs import Step, World, parse
from tests.freshness.server import NOTHING, Response
from tests.freshness.shapes import SHAPES
from tests.freshness.small import client_before, package_of, small
from tests.libraries import httpx
from tests.patience import PATIENCE, eventually
from tests.storage.servers import needs_server
from tests.storages import PatientStore, sqlite_storage

import restencil
from restencil import MemoryStorage
from restencil.storage import Loaded, Page

SHARED: Final = World(sqlite=True)

CASES: Final = {
    "a list that another process changes while an older response of it is under way": """
        world sqlite
        start 2: other.items.get_list.fetch()
        serve 2
        items.get_list()
        items.create(body={'team': 1}) -> whole
        watch items.get_list(order='id')
    """,
    "another process deletes a record that is referred to, and creates one with its key": """
        world sqlite, reuses_keys
        items.get(id=1)
        other.users.delete(id=2) -> whole
        other.users.create(body={'name': 'cy'}) -> whole
        users.get(id=2)
    """,
    "a store opens again after a record that is referred to was deleted, and one created with its key": """
        world sqlite, reuses_keys
        items.get(id=1)
        users.delete(id=2) -> whole
        users.create(body={'name': 'cy'}) -> whole
        users.get(id=2)
        reopen
        items.get(id=1)
    """,
    "a list in a store of a dump has a record whose deletion the dumped store had not loaded": """
        world sqlite, soft=listed
        items.delete(id=1) -> whole
        reopen
        reload
        items.every()
    """,
    "a list that another process asks for after a change, at the same moment": """
        world sqlite, has_etags
        other.items.partial_update(id=1, body={'title': 'x1', 'state': 'open', 'note': None, 'owner': 2}) -> part
        reopen
        items.visit(id=1, body={'rank': 1, 'owner': 1}) -> ok
        items.visit(id=1, body={'title': 'y', 'kind': 'a'}) -> lost
        items.get_list.fetch(kind='a')
    """,
    "a record waits for its commit while another process commits more of it": """
        world sqlite, embeds_owner
        start 3: other.items.by_last.iterate()
        deliver 3
    """,
    "a change overlaps with what another process was answered": """
        world sqlite, has_envelope, embeds_owner, has_etags
        other.users.get(id=2)
        items.partial_update(id=3, body={'state': 'open', 'owner': 2}) -> whole
    """,
    "another process reads and commits a record while a change of it is under way": """
        world sqlite, has_envelope, needs=required
        start 7: users.partial_update(id=1, body={'name': 'cy'}) -> whole
        wait 20
        start 31: other.users.by_name.fetch(name='ada')
        deliver 31
    """,
    "another process commits a change while a read that came before it is under way": """
        world sqlite
        start 1: other.users.get(id=1)
        serve 1
        users.partial_update(id=1, body={'name': 'cy'}) -> whole
        deliver 1
    """,
    "another process stores a summary of a record that a live read shows as a key": """
        world sqlite
        watch items.by_last()
        other.users.get_list()
    """,
    "a summary of a record that was stale when the storage was opened again": """
        world sqlite, optimistic, newest_first
        items.create(body={'owner': 2}) -> whole
        items.visit(id=4, body={'rank': 1}) -> 204
        watch teams.get_list()
        notes.delete(item_id=1, id=1) -> whole
        reopen
        items.latest()
    """,
    "an event loop waits for a thread that asks the storage": """
        world asynchronous, sqlite
        items.get(id=5)
        items.get_list(rank=1)
    """,
    "a page that was loaded from the storage, and an item beyond it that changes": """
        world sqlite
        other.items.by_offset()
        items.partial_update(id=3, body={'owner': 1, 'team': 1}) -> whole
    """,
    "a list that only the storage has, and an item that was created elsewhere": """
        world sqlite, has_envelope
        other.users.get(id=1)
        users.by_name(name='cy')
        items.create(body={'title': 'x', 'kind': 'b', 'state': 'closed', 'rank': 0, 'owner': 1, 'team': 1}) -> ok
    """,
    "a filtered list that only the storage has, and a change that moves a record into it": """
        world sqlite
        other.items.get_list(title='new')
        items.partial_update(id=1, body={'title': 'new'}) -> 204
        items.get_list(title='new')
    """,
    "a store that opens again and writes over rows of the same millisecond": """
        world sqlite, embeds_owner
        items.get(id=1)
        watch items.get_list(order='id')
        users.partial_update(id=1, body={'name': 'dee'}) -> 204
        items.get_list.expire(kind='b')
        reopen
        users.get.fetch(id=2)
        items.update(id=1, body={'team': 2}) -> whole
    """,
    "a live read requests a list while a change overlaps with it": """
        world sqlite
        start 8: items.get(id=4)
        start 9: items.partial_update(id=1, body={'title': 'x1'}) -> whole
        watch items.get_list(title='x')
    """,
    "another store writes a record anew that a list refers from": """
        world sqlite, embeds_owner
        start 2: other.items.get_list(order='id')
        items.get_list(kind='a')
        teams.partial_update(id=1, body={'name': 'q'}) -> 204
        deliver 2
    """,
    "a live read waits for a record that was requested before its event": """
        world sqlite, needs=required
        watch items.latest()
        start 13: items.get_list(owner=1)
        start 15: items.get(id=2)
        start 19: teams.get.fetch(id=2)
        teams.partial_update(id=1, body={'name': 'p'}) -> lost
    """,
    "a list of another store is loaded while an event waits for its commit": """
        world asynchronous, sqlite
        watch items.get_list(state='open')
        items.get_list(owner=2)
        items.get_list(rank=1)
        items.get(id=2)
        other.items.get_list()
        teams.partial_update(id=2, body={'name': 'p'}) -> 500
    """,
    "a page that is laid over a stored list, which an earlier change made stale": """
        world sqlite
        items.get(id=1)
        items.by_header()
        items.rename(id=1, body={'id': 6}) -> whole
        users.by_name(name='cy')
        reopen
        items.by_header.get_page(cursor='4')
        items.by_header()
    """,
}


@pytest.fixture
def session() -> Iterator[Session]:
    """A client over a storage that others share."""
    with Session(SHARED) as session:
        yield session


@pytest.mark.parametrize("check_all", [True, False], ids=["compared after each step", "compared at the end"])
@pytest.mark.parametrize("text", CASES.values(), ids=CASES.keys())
def test_case_that_once_failed_shows_no_difference(text: str, check_all: bool) -> None:
    """What counts as fresh in any of the stores is what the server says; comparing reads, which may hide something."""
    assert run(parse(text), check_all=check_all).differences == []


def test_reference_that_another_response_of_the_same_moment_wrote_is_as_stale_as_its_mark() -> None:
    """A list that was loaded does not know by its times which response wrote a field of its records."""
    text = """
        world sqlite, embeds_owner
        users.get_list(name='ada')
        me.partial_update(body={'best': 2}) -> whole
        other.comments.get(post=1, id=4)
        labels.create(body={'name': 'red', 'color': 'z'}) -> 204
    """
    assert run(parse(text), SHAPES, check_all=True).differences == []


OVER_A_SERVER: Final = {
    "pages extend a list while a record that they refer to is stale": """
        world valkey
        users.get_list()
        users.partial_update(id=2, body={'name': 'dee'}) -> ok
        other.items.by_page.iterate()
    """,
    "a read of another store, after a change, is older by the clock": """
        world valkey
        start 1: items.by_cursor()
        serve 1
        other.items.partial_update(id=1, body={'body': 'C'}) -> 500
        other.items.get(id=1)
    """,
    "a change spares a list that an earlier change of another store left stale": """
        world valkey, has_etags
        wait 45
        start 2: items.by_offset()
        serve 2
        deliver 2
        users.partial_update(id=1, body={'name': 'cy'}) -> whole
        items.get(id=2)
        items.by_offset.get_page(offset=4)
        items.get_list(owner=2)
        other.items.delete(id=3) -> whole
        watch items.by_page()
        start 4: notes.create(item_id=2, body={'text': 'w'}) -> 204
        deliver 4
    """,
    "two stores get one result at once, and one of them asks once more": """
        world valkey
        items.partial_update(id=1, body={'rank': 1}) -> whole
        start 9: other.items.latest()
        items.latest()
        serve 9
        items.delete(id=1) -> whole
    """,
}


@needs_server
@pytest.mark.parametrize("text", OVER_A_SERVER.values(), ids=OVER_A_SERVER.keys())
def test_case_over_a_server_that_once_failed_shows_no_difference(text: str) -> None:
    """The same of stores over a server of Valkey or Redis."""
    assert run(parse(text)).differences == []


def test_change_without_a_body_is_stale_for_a_store_that_opens_later(session: Session) -> None:
    """A record that was changed by a call with an empty response is requested again, once, after a restart."""
    session.call("items.get", id=1)
    session.call_and_sync("items.partial_update", "204", id=1, body={"title": "y"})
    session.shut("")
    assert not session.is_fresh("items.get", {"id": 1})
    assert session.requests("items.get", id=1) == ["GET /items/1"]
    assert session.requests("items.get", id=1) == []


def test_change_that_brings_the_record_whole_costs_others_no_request(session: Session) -> None:
    """The record of the response, and the lists that followed it, stay fresh in a store that opens later."""
    session.call("items.get_list", kind="a")
    session.call_and_sync("items.partial_update", id=1, body={"kind": "a"})
    session.shut("")
    assert session.requests("items.get", id=1) == []
    assert session.requests("items.get_list", kind="a") == []


def test_change_without_an_answer_is_committed_though_nothing_was_stored(session: Session) -> None:
    """A change that may have been made is an event for all stores, also where it is all that was to be committed."""
    session.call_and_sync("items.get", "whole", "other", id=1)
    with pytest.raises(Exception, match="500"):
        session.call("items.partial_update", "500", id=1, body={"title": "y"})
    session.sync()
    assert not session.is_fresh("items.get", {"id": 1}, "other")


def test_read_after_a_change_is_fresh_for_others(session: Session) -> None:
    """What was requested after a change is stored as known after it, although both wait for the same commit."""
    session.call("items.partial_update", "204", id=1, body={"title": "y"})
    session.call_and_sync("items.get", id=1)
    session.shut("")
    assert session.requests("items.get", id=1) == []


def test_request_knows_what_was_heard_before_it_was_sent(session: Session) -> None:
    """An event that a store hears of while its request waits to be sent leaves the response fresh."""
    session.call_and_sync("items.get", "whole", "other", id=1)
    session.call("items.get.expire", "", "other", id=1)
    session.call("items.partial_update", "204", id=1, body={"title": "y"})
    session.stores[""].flush()
    assert session.call("items.get", "whole", "other", id=1).title == "y"
    assert session.is_fresh("items.get", {"id": 1}, "other")


def test_change_through_a_partition_is_stale_for_other_stores(session: Session) -> None:
    """The view has no storage; what it changed is stale for stores on that of its client, also for those of later."""
    for read, arguments in (("items.get", {"id": 1}), ("items.get_list", {})):
        session.call(read, "whole", "other", **arguments)
    session.sync()
    session.call_and_sync("items.partial_update", "whole", "view", id=1, body={"title": "new"})
    session.open("new")
    for through in ("other", "new"):
        assert session.call("items.get", "whole", through, id=1).title == "new"
        assert session.call("items.get_list", "whole", through)[0].title == "new"


def test_change_that_overlaps_with_a_read_of_another_process_is_stale_for_both(session: Session) -> None:
    """The record is requested anew in either store, once, as nobody knows which of both the server carried out last."""
    change = Step("start", 1, "users.partial_update", {"id": 1, "body": {"name": "cy"}}, "whole", "")
    session.begin(change)
    session.call_and_sync("users.get", "whole", "other", id=1)
    session.step_held(1, deliver=True)
    session.sync()
    assert not session.is_fresh("users.get", {"id": 1})
    assert not session.is_fresh("users.get", {"id": 1}, "other")
    assert session.requests("users.get", id=1) == ["GET /users/1"]
    session.sync()
    assert session.requests("users.get", id=1) == []
    assert session.call("users.get", "whole", "other", id=1).name == "cy"


def test_read_that_overlaps_with_a_read_of_another_process_stays_fresh(session: Session) -> None:
    """Two stores that ask for one record at once make nothing stale."""
    session.begin(Step("start", 1, "users.by_name", {"name": "ada"}, "", ""))
    session.call_and_sync("users.get", "whole", "other", id=1)
    session.step_held(1, deliver=True)
    session.sync()
    assert session.is_fresh("users.by_name", {"name": "ada"})
    assert session.is_fresh("users.get", {"id": 1}, "other")


# accounts and parameters

PER_TENANT: Final = """
header_params: {tenant: {type: string, default: main, wire: X-Tenant-Id}, key: {type: string?, secret: true}}
search_params: {region: {type: string, default: eu}}
resources: {notes: {path: /notes/:id, schema: {entity: Note, fields: {id: integer, text: string}}}}
"""


def read_per_tenant(folder: Path, **arguments: str) -> tuple[str, int]:
    """Text of a note as a new store over this storage gives it, and the number of requests."""
    sent: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(f"{request.headers['x-tenant-id']} {request.url.params['region']}")
        return httpx.Response(200, json={"id": 1, "text": sent[-1]})

    store = PatientStore(storage=sqlite_storage(folder))
    with client_before(package_of(PER_TENANT), answer, store=store, **arguments) as client:
        text: str = client.notes.get(id=1).text
    store.close()
    return text, len(sent)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"tenant": "b"}, "b eu"),
        ({"tenant": "c@b"}, "c@b eu"),
        ({"tenant": "d@b"}, "d@b eu"),
        ({"region": "us"}, "main us"),
        ({"region": "main", "tenant": "us"}, "us main"),
    ],
)
def test_storage_separates_the_parameters_of_a_client(tmp_path: Path, arguments: dict[str, str], text: str) -> None:
    """Data that one tenant was given is never that of another, and is there when the first one comes again."""
    assert read_per_tenant(tmp_path) == ("main eu", 1)
    assert read_per_tenant(tmp_path, tenant="a@b") == ("a@b eu", 1)
    assert read_per_tenant(tmp_path, **arguments) == (text, 1)
    assert read_per_tenant(tmp_path, **arguments) == (text, 0)
    assert read_per_tenant(tmp_path) == ("main eu", 0)


def test_storage_is_the_same_for_the_values_of_the_spec_and_another_secret(tmp_path: Path) -> None:
    """A default that is passed is no other data, and a secret may be renewed: `principal` says whose data it is."""
    assert read_per_tenant(tmp_path) == ("main eu", 1)
    assert read_per_tenant(tmp_path, tenant="main", region="eu", key="new") == ("main eu", 0)


NOTES: Final = "resources: {notes: {path: /notes/:id, schema: {entity: Note, fields: {id: integer, text: string}}}}"


@pytest.mark.parametrize("committed_first", ["", "other"], ids=["deletion committed first", "creation committed first"])
@pytest.mark.parametrize("made_first", ["", "other"], ids=["deletion made first", "creation made first"])
def test_list_is_right_after_two_processes_delete_and_create_one_key(made_first: str, committed_first: str) -> None:
    """Neither knows of the other's change when it makes its own, and the server uses the key again."""
    texts = {1: "one"} if made_first else {1: "one", 2: "two"}

    def answer(method: str, target: str, body: Any) -> Any:
        if method == "DELETE":
            del texts[2]
            return NOTHING
        if method == "POST":
            texts[2] = body["text"]
            return Response(201, {"id": 2, "text": texts[2]})
        return [{"id": id, "text": text} for id, text in texts.items()]

    changes: dict[str, tuple[str, dict[str, Any]]] = {
        "": ("notes.delete", {"id": 2}),
        "other": ("notes.create", {"body": {"text": "anew"}}),
    }
    with small(NOTES, answer, SHARED) as session:
        for through in changes:
            session.call("notes.get_list", "whole", through)
        session.sync()
        for through in sorted(changes, key=lambda through: through != made_first):
            name, arguments = changes[through]
            session.call(name, "whole", through, **arguments)
        session.stores[committed_first].flush()
        for through in changes:
            session.sync()
            assert {note.id for note in session.call("notes.get_list", "whole", through)} == {*texts}


class Meanwhile(MemoryStorage):
    """A remote storage for whose thread that writes something happens while it looks for lists.

    What was committed then is heard of, but not loaded before the thread has written.
    """

    def __init__(self) -> None:
        super().__init__(inline=False, write_behind="1h")
        self.meanwhile: Callable[[], object] | None = None
        self.is_heard = threading.Event()
        self.has_written = threading.Event()
        self._writer = 0

    def scan(self, table: str | None, after: str | None, limit: int, /) -> Page:
        """A page of keys; afterwards what is to happen meanwhile."""
        found, meanwhile = super().scan(table, after, limit), self.meanwhile
        if meanwhile is not None:
            self._writer, self.meanwhile = threading.get_ident(), None
            meanwhile()
            assert self.is_heard.wait(PATIENCE)
        return found

    def load(self, *places: Any) -> Loaded:
        """The rows; other threads than the one that writes wait for it."""
        if self._writer and threading.get_ident() != self._writer:
            self.is_heard.set()
            assert self.has_written.wait(PATIENCE)
        return super().load(*places)


def test_list_keeps_a_change_that_is_written_while_another_process_commits_the_list() -> None:
    """The writing process hears of the other commit after it has looked which rows it needs, and before it writes."""
    texts = {1: "one"}

    def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "POST":
            texts[2] = "two"
            return httpx.Response(201, json={"id": 2, "text": "two"})
        return httpx.Response(200, json=[{"id": id, "text": text} for id, text in texts.items()])

    storage, module = Meanwhile(), package_of(NOTES)
    with PatientStore(storage=storage) as store, PatientStore(storage=storage.another()) as other:
        client, others = (client_before(module, answer, store=one) for one in (store, other))
        client.notes.get_list()
        store.flush()
        others.notes.get_list.fetch()
        client.notes.create(body={"text": "two"})
        storage.meanwhile = other.flush
        heard = other.storage_stats().entries
        store.flush()
        storage.has_written.set()
        eventually(lambda: other.storage_stats().entries > heard)
        assert [[note.id for note in one.notes.get_list()] for one in (client, others)] == [[1, 2], [1, 2]]


@pytest.mark.parametrize("elapsed", [0, 5], ids=["in one millisecond", "one after the other"])
@pytest.mark.parametrize("answered", ["before the change", "after the change"])
@pytest.mark.parametrize("first", ["", "other"], ids=["asks first", "asks second"])
@pytest.mark.parametrize(
    ("name", "arguments"),
    [("items.create", {"body": {"team": 1}}), ("items.delete", {"id": 3})],
    ids=["create", "delete"],
)
def test_list_keeps_a_change_that_waits_while_another_process_commits_an_older_list(
    name: str, arguments: dict[str, Any], first: str, answered: str, elapsed: int, session: Session
) -> None:
    """Two stores ask for a list at once, one of them changes it then, and the other one is the first to commit it."""
    for number, through in enumerate((first, "other" if first == "" else "")):
        session.begin(Step("start", number, "items.get_list.fetch", {}, "", through))
        session.step_held(number, deliver=False)
        session.advance(elapsed)
    mine, others = (0, 1) if first == "" else (1, 0)
    session.step_held(mine, deliver=True)
    if answered == "before the change":
        session.step_held(others, deliver=True)
    session.advance(elapsed)
    session.call(name, **arguments)
    session.step_held(others, deliver=True)
    session.stores["other"].flush()
    session.sync()
    for through in ("", "other"):
        session.sync()
        items = session.call("items.get_list", "whole", through)
        assert session.wrong("items.get_list", {}, items) is None


ITEMS = """
entities: {Item: {fields: {id: integer, title: string, kind: {enum: [a, b]}}}}
resources:
  items:
    path: /items/:id
    schema: Item
    search_params: {kind: {type: {enum: [a, b]}, optional: true}}
"""

UNSTORED: Final[dict[str, tuple[str, str, dict[str, str]]]] = {
    "no-store": ("", "", {"Cache-Control": "no-store"}),
    "endpoints without persist": ("schema: Item", "schema: Item\n    options: {persist: false}", {}),
    "an entity without persist": ("Item: {", "Item: {persist: false, ", {}),
    "a field without persist": ("title: string", "title: {type: string, persist: false}", {}),
}
"""What the spec has in the place of what, and the headers of a response to a change."""


def _items(replaced: str, by: str, headers: dict[str, str]) -> Session:
    """Two stores on one file, before items whose changes have a response with these headers."""
    items: dict[int, dict[str, Any]] = {1: {"id": 1, "title": "old", "kind": "a"}}

    def answer(method: str, target: str, body: Any) -> Any:
        path, _, query = target.partition("?")
        pk = int(path[len("/items/") :] or 0)
        if method == "GET" and not pk:
            return [item for item in items.values() if not query or query == f"kind={item['kind']}"]
        if method == "DELETE":
            del items[pk]
            return Response(204, NOTHING, headers)
        if method != "GET":
            pk = pk or 2
            items[pk] = {"id": pk, **items.get(pk, {}), **body}
        return None if pk not in items else Response(200, items[pk], {} if method == "GET" else headers)

    return small(ITEMS.replace(replaced, by, 1) if replaced else ITEMS, answer, SHARED)


@pytest.mark.parametrize("knows", [True, False], ids=["known there", "unknown there"])
@pytest.mark.parametrize(
    ("change", "arguments"),
    [
        ("create", {"body": {"title": "new", "kind": "a"}}),
        ("partial_update", {"id": 1, "body": {"title": "new"}}),
        ("partial_update", {"id": 1, "body": {"kind": "b"}}),
        ("delete", {"id": 1}),
    ],
    ids=["create", "update", "move", "delete"],
)
@pytest.mark.parametrize("unstored", UNSTORED.values(), ids=UNSTORED.keys())
def test_change_whose_response_is_not_stored_reaches_other_processes(
    unstored: tuple[str, str, dict[str, str]], change: str, arguments: dict[str, Any], knows: bool
) -> None:
    """The record of a response that no other store gets, and its lists, are requested again by each of them."""
    reads: list[tuple[str, dict[str, Any]]] = [
        ("items.get", {"id": 1}),
        ("items.get_list", {}),
        ("items.get_list", {"kind": "a"}),
    ]
    with _items(*unstored) as session:

        def said(through: str) -> list[Any]:
            found: list[Any] = []
            for name, given in reads:
                try:
                    value = session.call(name, "whole", through, **given)
                    found.append([one.to_dict() for one in (value if name == "items.get_list" else [value])])
                except restencil.NetworkError as error:
                    found.append(error.status)
            return found

        said("")
        session.sync()
        if knows:
            said("other")
            session.sync()
        session.call_and_sync(f"items.{change}", "whole", "other", **arguments)
        found = said("")
        session.open("new")
        assert found == said("new")


@pytest.mark.parametrize("unstored", UNSTORED.values(), ids=UNSTORED.keys())
def test_change_whose_response_is_not_stored_costs_its_own_process_no_request(
    unstored: tuple[str, str, dict[str, str]],
) -> None:
    """The record of the response, and the list that followed it, stay fresh where the change was made."""
    with _items(*unstored) as session:
        session.call_and_sync("items.get_list", kind="a")
        session.call_and_sync("items.partial_update", id=1, body={"title": "new"})
        assert session.requests("items.get", id=1) == []
        assert session.requests("items.get_list", kind="a") == []


def test_list_of_an_entity_without_persist_is_requested_by_each_process() -> None:
    """Other processes do not get it, so a change never shows in a list without the items that were not stored."""
    with _items(*UNSTORED["an entity without persist"]) as session:
        session.call_and_sync("items.get_list", "whole", "other")
        assert session.bound("items.get_list").cached() is None
        session.call_and_sync("items.create", body={"title": "new", "kind": "a"})
        assert [item.id for item in session.call("items.get_list")] == [1, 2]


def test_result_with_an_entity_without_persist_is_requested_by_each_process() -> None:
    """A loaded result would show what memory has of that entity, which may be stale."""
    author = {"id": 1, "name": "old"}

    def answer(method: str, target: str, body: Any) -> Any:
        if method == "PATCH":
            author.update(body)
            return Response(500, {})
        note = {"id": 1, "author": {**author}}
        return {"/notes": [note], "/notes/1": note}.get(target, author)

    spec = """
entities:
  Author: {persist: false, fields: {id: integer, name: string}}
  Note: {fields: {id: integer, author: Author}}
resources: {authors: {path: /authors/:id, schema: Author}, notes: {path: /notes/:id, schema: Note}}
"""
    with small(spec, answer, SHARED) as session:
        session.call_and_sync("notes.get", id=1)
        with pytest.raises(restencil.NetworkError):
            session.call("authors.partial_update", id=1, body={"name": "new"})
        session.sync()
        session.call_and_sync("notes.get_list", "whole", "other")
        (note,) = session.call("notes.get_list")
        assert note.author.name == "new"


def test_list_with_an_entity_without_persist_is_stale_in_a_new_process_after_a_change() -> None:
    """A change that named no record counts for such a list as for any other, although no response of it is stored."""
    notes = [1]

    def answer(method: str, target: str, body: Any) -> Any:
        if method == "POST":
            notes.append(2)
            return NOTHING
        if target == "/authors/1":
            return {"id": 1}
        return [{"id": pk, "kind": "a", "author": {"id": 1}} for pk in notes]

    spec = """
entities:
  Author: {persist: false, fields: {id: integer}}
  Note: {fields: {id: integer, kind: string, author: Author}}
resources:
  authors: {path: /authors/:id, schema: Author}
  notes:
    path: /notes/:id
    schema: Note
    search_params: {kind: {type: string, optional: true, filter: equals}}
"""
    with small(spec, answer, SHARED) as session:
        session.call_and_sync("notes.get_list", kind="a")
        session.call_and_sync("notes.create", "whole", "other", body={"kind": "a"})
        session.open("new")
        session.call("authors.get", "whole", "new", id=1)
        assert [note.id for note in session.call("notes.get_list", "whole", "new", kind="a")] == [1, 2]


FIELD: Final = UNSTORED["a field without persist"]


@pytest.mark.parametrize("renews", [("items.get", {"id": 1}), ("items.get_list", {})], ids=["get", "list"])
@pytest.mark.parametrize("read", [("items.get", {"id": 1}), ("items.get_list", {})], ids=["get", "list"])
def test_field_without_persist_is_not_renewed_by_another_process(
    renews: tuple[str, dict[str, Any]], read: tuple[str, dict[str, Any]]
) -> None:
    """The row of another process renews the other fields of a record, and neither makes it nor its lists fresh."""
    with _items(*FIELD) as session:
        session.call_and_sync(read[0], **read[1])
        session.call("items.partial_update", "whole", "other", id=1, body={"title": "new"})
        session.call_and_sync(renews[0], "whole", "other", **renews[1])
        value = session.call(read[0], **read[1])
        assert (value if read[0] == "items.get" else value[0]).title == "new"


@pytest.mark.parametrize("read", [("items.get", {"id": 1}), ("items.get_list", {})], ids=["get", "list"])
def test_field_without_persist_is_requested_once_by_each_process(read: tuple[str, dict[str, Any]]) -> None:
    """After that, the reads of one process take nothing from another one; a change costs both one request."""
    name, arguments = read
    with _items(*FIELD) as session:
        for change in ({}, {"title": "new"}, {"kind": "b"}):
            if change:
                session.call("items.partial_update", "whole", "other", id=1, body=change)
            before = len(session.network.exchanges)
            for through in ("", "other", "", "other"):
                session.sync()
                session.call(name, "whole", through, **arguments)
            assert len(session.network.exchanges) - before == (2 if not change else 1)


def test_field_without_persist_that_is_not_known_is_requested() -> None:
    """A response of another process does not make whole what this process knows of a record without that field."""
    item = {"id": 1, "kind": "a", "title": "old"}

    def answer(method: str, target: str, body: Any) -> Any:
        if method == "PATCH":
            item.update(body)
            return NOTHING
        return [item] if target == "/items" else item

    spec = ITEMS.replace("title: string", "title: {type: string?, persist: false}", 1)
    with small(f"options: {{needs: required}}{spec}", answer, SHARED) as session:
        session.call("items.partial_update", "", "other", id=1, body={"kind": "b"})
        for _ in range(2):
            session.sync()
            session.call("items.get_list.fetch")
        session.sync()
        assert session.call("items.get", "", "other", id=1).title == "old"


@pytest.mark.parametrize("read", [("notes.get", {"id": 2}), ("notes.get_list", {})], ids=["get", "list"])
@pytest.mark.parametrize("reopened", ["storage", "dump"])
@pytest.mark.parametrize("kind", ["string", "string?"])
@pytest.mark.parametrize("embeds", [True, False], ids=["embedded", "joined"])
def test_list_with_an_item_that_is_not_stored_whole_makes_no_read_ask_twice(
    read: tuple[str, dict[str, Any]], reopened: str, kind: str, embeds: bool
) -> None:
    """What a record had in its list before is not part of a response without that list, which nothing renews."""

    def answer(method: str, target: str, body: Any) -> Any:
        if target == "/authors/1":
            title = {"title": "t"} if kind == "string" else {}
            return {"id": 1, "notes": [{"id": pk, "author": 1, **title} for pk in (1, 2)]}
        note = {"id": 2, "title": "t", "author": {"id": 1} if embeds else 1}
        return {"/notes": [note], "/notes/2": note, "/notes/1": {**note, "id": 1}}[target]

    spec = f"""
entities:
  Author: {{fields: {{id: integer, notes: {{collection: [Note], nest: {{author: id}}}}}}}}
  Note: {{fields: {{id: integer, title: {{type: {kind}, persist: false}}, author: Author?}}}}
resources: {{authors: {{path: /authors/:id, schema: Author}}, notes: {{path: /notes/:id, schema: Note}}}}
"""
    with small(spec, answer, World() if reopened == "dump" else SHARED) as session:
        session.call_and_sync("authors.get", id=1)
        session.call_and_sync("notes.get", id=1)
        session.again(from_dump=reopened == "dump")
        session.call_and_sync(read[0], **read[1])
        assert session.requests(read[0], **read[1]) == []
        seen: list[Any] = []
        session.watch(read[0], read[1], seen)
        session.settle()
        assert len(seen) == 1
        assert session.is_fresh(read[0], read[1])
        assert [note.id for note in session.call("authors.get", id=1).notes] == [1, 2]


def test_list_that_is_not_stored_does_not_follow_a_change_of_another_process() -> None:
    """The list that the other process has updated is its own, so a total beside this one would be wrong."""
    program = """
        world sqlite, has_envelope, embeds_owner
        watch users.newest()
        other.items.get_list(owner=2)
        items.delete(id=3) -> whole
        other.items.get(id=1)
    """
    assert run(parse(program), driver.UNSTORED, check_all=True).differences == []


@pytest.mark.parametrize("first", ["", "other.items.by_offset()", "other.items.by_offset.fetch()"])
def test_list_that_is_not_stored_is_not_stored_with_an_empty_page(first: str) -> None:
    """A page without records, which lack nothing, said that its list could be stored; others showed no items."""
    program = f"""
        world sqlite, needs=required
        items.by_offset()
        {first}
        other.items.by_offset.get_page(offset=4)
    """
    assert run(parse(program), driver.UNSTORED).differences == []


NESTED = """
entities:
  Author: {fields: {id: integer, name: {type: string, persist: false}}}
  Item: {fields: {id: integer, title: string, author: Author}}
  Note: {fields: {id: integer, item: Item}}
  Shelf: {fields: {id: integer, authors: {collection: [Author], nest: {shelf: id}}}}
resources:
  items: {path: /items/:id, schema: Item}
  notes: {path: /notes/:id, schema: Note}
  shelves: {path: /shelves/:id, schema: Shelf}
  books: {path: /books/:id, schema: {entity: Book, fields: {id: integer, shelf: Shelf}}}
"""


@pytest.mark.parametrize("name", ["notes.get", "books.get"])
def test_field_without_persist_of_a_nested_record_is_not_requested_for_ever(name: str) -> None:
    """A response that refers to a record by its key is complete, whatever the stored row of that record refers to."""

    def answer(method: str, target: str, body: Any) -> Any:
        author = {"id": 1, "name": "Ann"}
        return {
            "/items/1": {"id": 1, "title": "T", "author": author},
            "/notes/1": {"id": 1, "item": 1},
            "/shelves/1": {"id": 1, "authors": [author]},
            "/books/1": {"id": 1, "shelf": {"id": 1}},
        }[target]

    with small(NESTED, answer, SHARED) as session:
        for other in ("items.get", "shelves.get"):
            session.call(other, "whole", "other", id=1)
        session.sync()
        session.call(name, id=1)
        assert session.requests(name, id=1) == []


# dumps

DUMPED = """
entities:
  User: {fields: {id: integer, items: {collection: [Item], nest: {owner: id}}}}
  Item: {fields: {id: integer, owner: integer, title: string}}
resources:
  users: {path: /users/:id, schema: User}
  items:
    path: /items/:id
    schema: Item
    search_params: {owner: integer?, title: string?}
    endpoints:
      rename: {method: POST, path: "/items/:id/rename", body: {title: string}, schema: null}
      all: {path: /items/all, schema: [Item]}
      titles: {path: /items/titles, search_params: {}, schema: [string]}
"""


@pytest.mark.parametrize("change", ["rename", "partial_update", "delete"])
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("items.get", {"id": 1}),
        ("items.get_list", {"title": "a"}),
        ("items.get_list", {"owner": 1}),
        ("items.all", {}),
        ("items.titles", {}),
        ("users.get", {"id": 1}),
    ],
    ids=["record", "filtered list", "list known from a parent", "plain list", "values", "parent"],
)
@pytest.mark.parametrize("kept", ["in memory", "in a reopened storage", "in a loaded dump"])
def test_dump_of_what_a_change_made_stale_is_loaded_as_stale(
    name: str, arguments: dict[str, Any], change: str, kept: str
) -> None:
    """A read of the loaded store that sends no request gives what the server says."""
    items = {1: {"id": 1, "owner": 1, "title": "a"}, 2: {"id": 2, "owner": 1, "title": "b"}}

    def answer(method: str, target: str, body: Any) -> Any:
        path, _, query = target.partition("?")
        if method == "DELETE":
            del items[1]
            return NOTHING
        if method != "GET":
            items[1]["title"] = "b"
            return NOTHING if method == "POST" else items[1]
        found = [item for item in items.values() if "title" not in query or query == f"title={item['title']}"]
        if path == "/items/titles":
            return [item["title"] for item in found]
        return {"/users/1": {"id": 1, "items": found}, "/items": found, "/items/all": found}.get(path, items.get(1))

    def said(session: Session) -> Any:
        try:
            value = session.call(name, **arguments)
        except restencil.NotFoundError:
            return None
        if isinstance(value, restencil.Entity):
            return value.to_dict(deep=True)
        return [one.to_dict() if isinstance(one, restencil.Entity) else one for one in value]

    with small(DUMPED, answer, World(sqlite="reopened" in kept)) as session:
        if "dump" in kept:
            session.again(from_dump=True)
        session.call("users.get", id=1)
        said(session)
        session.call(f"items.{change}", id=1, **({} if change == "delete" else {"body": {"title": "b"}}))
        if "reopened" in kept:
            session.again(from_dump=False)
        session.bound(name).cached(**arguments)  # which loads it
        session.again(from_dump=True)
        with small(DUMPED, answer) as new:
            assert said(session) == said(new)


@pytest.mark.parametrize("kept", ["in memory", "in a reopened storage", "in a loaded dump"])
def test_list_of_a_deleted_record_is_requested_although_a_list_of_records_contains_it_again(kept: str) -> None:
    """Only its own response tells what is in a list whose argument is the key of a record that was deleted."""
    items = [{"id": 1, "owner": 1, "title": "a"}]

    def answer(method: str, target: str, body: Any) -> Any:
        if method == "DELETE":
            return NOTHING
        return [{"id": 1, "items": items}] if target == "/users" else []

    with small(DUMPED, answer, World(sqlite="reopened" in kept)) as session:
        session.call("users.delete", id=1)
        if kept != "in memory":
            session.again(from_dump="dump" in kept)
        session.call("users.get_list")
        assert session.call("items.get_list", owner=1) == []


@pytest.mark.parametrize("kept", ["in memory", "in a reopened storage", "in a loaded dump"])
def test_get_that_is_not_stored_is_requested_after_a_deletion_although_a_list_contains_its_record(kept: str) -> None:
    """What a change made stale is stored, and holds for results that are not."""
    spec = """
resources:
  items:
    path: /items/:id
    schema: {entity: Item, fields: {id: integer}}
    endpoints: {get: {options: {persist: false}}}
"""

    def answer(method: str, target: str, body: Any) -> Any:
        return NOTHING if method == "DELETE" else [{"id": 1}] if target == "/items" else None

    with small(spec, answer, World(sqlite="reopened" in kept)) as session:
        session.call("items.delete", id=1)
        if kept != "in memory":
            session.again(from_dump="dump" in kept)
        session.call("items.get_list")
        for _ in range(2):
            with pytest.raises(restencil.NotFoundError):
                session.call("items.get", id=1)
        assert session.asked(0).count("GET /items/1") == 1


def test_dump_of_a_record_whose_get_was_expired_before_it_was_requested_is_loaded_as_stale() -> None:
    """The record came with a list, so that no result was expired."""
    with small(DUMPED, lambda method, target, body: [{"id": 1, "owner": 1, "title": "a"}]) as session:
        session.call("items.get_list")
        session.call("items.get.expire", id=1)
        session.again(from_dump=True)
        assert not session.is_fresh("items.get", {"id": 1})


@pytest.mark.parametrize("stale_by", ["times", "change"])
def test_dump_stale_record_of_which_a_list_brought_a_part_is_loaded_as_stale(stale_by: str) -> None:
    """No member is fresh by the older response that brought the complete record."""
    titles = iter("abcdef")

    def answer(method: str, target: str, body: Any) -> Any:
        if method == "POST":
            return NOTHING
        return [{"id": 1}] if target == "/items/all" else {"id": 1, "owner": 1, "title": next(titles)}

    with small(DUMPED, answer) as session:
        session.again(from_dump=True)
        session.call("items.get", id=1)
        session.call("items.all")
        if stale_by == "change":
            session.call("items.rename", id=1, body={"title": "new"})
        data = session.stores[""].dump()
        session.shut("")
        times = "stale" if stale_by == "times" else "kept"
        session.use("", PatientStore.load(data, times=times, clock=session.clock, scheduler=session.clock))
        assert session.requests("items.get", id=1) == ["GET /items/1"]
