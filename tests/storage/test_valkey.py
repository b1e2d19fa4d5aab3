"""The storage on a server: the log, big commits, how long it keeps what, and what becomes of it when the server fails.

A real server runs on loopback, for all tests of this file that leave it as it was; a proxy of ours stands before it
where the way to it is what fails.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from math import inf
from typing import Any
from unittest import mock
from uuid import uuid4

import pytest
import valkey
import valkey.asyncio
from tests.patience import PATIENCE, eventually
from tests.storage import batches
from tests.storage.batches import result, row
from tests.storage.proxy import Proxy
from tests.storage.servers import ValkeyServer, needs_server

from restencil import StorageDown, StorageOff, ValkeyStorage
from restencil.storage import Batch, Changes, StoredRow
from restencil.storage.protocol import Spared

PLACE = "https://api.test"
SECRET = "s3cr3t-principal"
_LONG = PATIENCE * 1_000


@pytest.fixture(scope="module")
def one_server() -> Iterator[ValkeyServer]:
    """A server for the tests of this file."""
    with ValkeyServer() as running:
        yield running


@pytest.fixture
def server(one_server: ValkeyServer) -> ValkeyServer:
    """A server with nothing in it."""
    one_server.ask("FLUSHALL")
    return one_server


def now() -> float:
    return time.time() * 1_000


_storages: weakref.WeakSet[ValkeyStorage] = weakref.WeakSet()


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    """The storages that a test made are closed when it is over."""
    yield
    for storage in list(_storages):
        storage.close()
    _storages.clear()


def made(**options: Any) -> ValkeyStorage:
    """A storage of the one namespace of these tests, where nothing else is said; it waits for a busy machine."""
    given: dict[str, Any] = {"namespace": "test", "principal": SECRET, "timeout": PATIENCE * 1_000, **options}
    storage = ValkeyStorage(**given)
    _storages.add(storage)
    return storage


def opened(server: ValkeyServer | Proxy, **options: Any) -> ValkeyStorage:
    """A storage that was opened."""
    storage = made(**{"url": server.url, **options})
    storage.open(PLACE, now)
    return storage


def epoch_of(storage: ValkeyStorage) -> int:
    return storage.load([]).epoch


def batch(storage: ValkeyStorage, *rows: StoredRow, **members: Any) -> Batch:
    """A batch of the current epoch that writes rows, and whatever else is given."""
    return batches.batch(epoch_of(storage), *rows, **members)


pytestmark = needs_server

# -- what it is made of


@pytest.fixture
def storage(server: ValkeyServer) -> ValkeyStorage:
    """A storage on the server."""
    return opened(server)


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"url": None}, "expected either url or client for the server, got neither"),
        ({"client": object()}, "expected either url or client for the server, got both"),
        ({"url": None, "client": object()}, "expected a client of the package valkey or redis"),
        ({"url": "https://user:s3cr@cache.example"}, "expected one that begins with valkey, valkeys, redis, rediss"),
        ({"url": "valkey://cache.example:port"}, "url has no address of a server"),
        ({"url": "valkey:///0"}, "url has no address of a server"),
        ({"url": "valkey://user:s3cr/et@cache.example"}, r"in a password, '/', .* are written %2F, %3F, %23 and %40"),
        ({"url": "valkey://cache.example/news"}, "url has no database number after the address of the server"),
        ({"namespace": ""}, "^namespace is empty; expected a name for the shared data"),
        ({"namespace": None}, "expected a name for the shared data"),
        ({"principal": ""}, "expected a string that is not empty"),
        ({"principal": 12}, "expected a string that is not empty"),
        ({"timeout": -1}, "timeout is -1; expected milliseconds, 1 or more"),
        ({"history": 0}, "history is 0; expected a number of commits, 1 or more"),
    ],
)
def test_valkey_arguments_that_make_no_sense_are_reported_at_once(options: dict[str, Any], found: str) -> None:
    """Each wrong argument is a ValueError that says what was expected, and shows nothing of a URL."""
    with pytest.raises(ValueError, match=found) as caught:
        made(**{"url": "valkey://localhost", "principal": None, **options})
    assert "s3cr" not in str(caught.value)


@pytest.mark.parametrize("query", ["colour=s3cr", "socket_timeout=s3cr"], ids=["unknown", "wrong"])
def test_valkey_what_stands_behind_the_question_mark_has_to_be_understood(query: str) -> None:
    """The package would raise when it connects: the storage is not used, and says the name without the value."""
    storage = made(url=f"valkey://localhost?{query}", principal=None)
    with pytest.raises(StorageOff, match=rf"check its query parameters: {query.partition('=')[0]}$") as caught:
        storage.open(PLACE, now)
    assert "s3cr" not in str(caught.value)


def test_valkey_client_for_asyncio_is_rejected() -> None:
    """One blocking client serves both worlds."""
    with pytest.raises(ValueError, match="client is an asyncio client; expected a synchronous one"):
        ValkeyStorage(namespace="test", principal=None, client=valkey.asyncio.Valkey())


def test_valkey_without_the_extra_it_says_what_installs_it() -> None:
    """Without the package valkey an ImportError names the command."""
    with mock.patch.dict(sys.modules, valkey=None):
        with pytest.raises(ImportError, match=r"not installed; pip install 'restencil\[valkey\]'"):
            ValkeyStorage("valkey://localhost", namespace="test", principal=None)


def test_valkey_no_server_is_requested_before_it_is_opened() -> None:
    """A constructor does not fail for a server that is not there; `open` does, without userinfo in its text."""
    storage = ValkeyStorage("valkey://me:hunter2@127.0.0.1:1/0", namespace="test", principal=SECRET)
    assert repr(storage) == "ValkeyStorage('valkey://127.0.0.1:1/0', namespace='test')"
    with pytest.raises(StorageDown, match=r"server at valkey://127.0.0.1:1/0 does not respond \(Connection refused\)"):
        storage.open(PLACE, now)
    with pytest.raises(StorageDown, match="was not opened"):
        storage.load([])


@pytest.mark.parametrize("library", ["valkey", "redis"])
@pytest.mark.parametrize("options", [{}, {"decode_responses": True}, {"socket_timeout": 0.05}, {"protocol": 3}])
def test_valkey_client_of_either_library_says_where_the_server_is(
    server: ValkeyServer, library: str, options: dict[str, Any]
) -> None:
    """`client=` is a client of valkey or redis, whatever it does with texts and timeouts; it stays open."""
    module = pytest.importorskip(library)
    kind = getattr(module, library.title())
    with kind(port=server.port, **options) as client:
        storage = ValkeyStorage(namespace="test", principal=SECRET, client=client)
        storage.open(PLACE, now)
        written = storage.commit(batch(storage, row("1"), results=[result("GET /a")], index={("A", "slug", "x"): "1"}))
        assert written.number == 1
        found = storage.load([("A", "1")], ["GET /a"], [("A", "slug", "x")])
        assert ([held.value for held in found.rows], [held.value for held in found.results]) == ([b"{}"], [b"[]"])
        assert found.index == {("A", "slug", "x"): "1"}
        assert storage.scan("A", None, 9).items == ["1"]
        assert [entry.number for entry in storage.changes(0, 0).entries] == [1]
        assert storage.changes(1, 120).entries == []
        assert [(entry.number, entry.keys) for entry in storage.changes(0, 120).entries] == [(1, ["GET /a"])]
        storage.close()
        assert options.get("socket_timeout") or client.ping()


# -- the log


def test_valkey_changes_wait_for_the_first_entry(server: ValkeyServer) -> None:
    """Who waits hears of a commit at once."""
    first, second = opened(server), opened(server)
    numbers: list[int] = []
    woken = _woken(server, first, lambda: numbers.append(second.commit(batch(second, row(f"{numbers}"))).number))
    assert [entry.number for entry in woken.entries] == numbers[-1:]


def _woken(server: ValkeyServer, storage: ValkeyStorage, happening: Callable[[], object]) -> Changes:
    """What who waits for changes is told, before the second is over; a busy machine gets another try."""
    found: list[Changes] = []

    def is_quick() -> bool:
        storage.commit(batch(storage, row(uuid4().hex)))  # the end of an epoch without a commit wakes nobody
        number = storage.changes(0, 0).number
        times = [time.monotonic()]

        def wait() -> None:
            found.append(storage.changes(number, 1_000))
            times.append(time.monotonic())

        thread = threading.Thread(target=wait)
        thread.start()
        eventually(lambda: b"flags=b" in server.ask("CLIENT", "LIST") or not thread.is_alive())
        happening()
        thread.join(PATIENCE)
        return times[1] - times[0] < 1

    eventually(is_quick)
    return found[-1]


def test_valkey_log_that_does_not_reach_back_is_lost(server: ValkeyServer) -> None:
    """Who is behind by more than the log holds, or ahead of it, is told that entries are lost."""
    storage = opened(server, history=1)
    for at in range(250):  # the server trims whole nodes of a hundred entries
        storage.commit(batch(storage, row(str(at))))
    assert storage.changes(0, 0).lost
    assert storage.changes(0, 0).number == 250
    assert storage.changes(251, 0).lost
    assert [entry.number for entry in storage.changes(248, 0).entries] == [249, 250]
    server.ask("XTRIM", f"{_space(server)}:{epoch_of(storage)}:log", "MAXLEN", 0)
    assert storage.changes(249, 0).lost
    assert not storage.changes(250, 0).lost


def test_valkey_long_log_is_read_in_pieces(server: ValkeyServer, storage: ValkeyStorage) -> None:
    """Where more entries wait than are given at once, the number is that of the last one given."""
    for at in range(200):
        storage.commit(batch(storage, row(str(at))))
    read: list[int] = []
    number = 0
    while number < 200:
        changes = storage.changes(number, 0)
        read += [entry.number for entry in changes.entries]
        number = changes.number
    assert read == list(range(1, 201))


def test_valkey_reset_wakes_who_waits_for_changes(server: ValkeyServer) -> None:
    """Who waits is told of the new epoch at once."""
    first, second = opened(server), opened(server)
    epochs: list[int] = []
    woken = _woken(server, second, lambda: epochs.append(first.reset()))
    assert (woken.epoch, woken.reset, woken.number) == (epochs[-1], epochs[-1], 0)


def test_valkey_what_lies_under_an_older_epoch_is_taken_out(server: ValkeyServer, storage: ValkeyStorage) -> None:
    """After a reset the old keys go, some at a time."""
    rows = [row(str(at)) for at in range(600)]
    storage.commit(batch(storage, *rows, results=[result("GET /a")], index={("A", "slug", "x"): "1"}))
    old = epoch_of(storage)
    storage.reset()
    sweeping = [thread for thread in threading.enumerate() if thread.name == "restencil-sweep"]
    for thread in sweeping:
        thread.join(PATIENCE)
    assert server.ask("KEYS", f"*:{old}:*") == []


def _space(server: ValkeyServer) -> str:
    names = {bytes(key).split(b"}")[0] for key in server.ask("KEYS", "*")}
    assert len(names) == 1
    return f"{names.pop().decode()}}}"


# -- big commits


def test_valkey_big_commit_is_one_for_all(server: ValkeyServer) -> None:
    """Thousands of rows have one number and one entry, also for other processes."""
    first, second = opened(server), opened(server)
    pks = [str(at) for at in range(9_000)]
    index = {("A", "slug", pk): pk for pk in pks}
    big = batch(first, *map(row, pks), results=[result("GET /a")], index=index, release=["k"])
    first.lease("k", "me", _LONG)
    assert first.commit(big) == (1, big.epoch, None)
    (entry,) = second.changes(0, 0).entries
    assert (entry.changed["A"], entry.keys) == (pks, ["GET /a"])
    assert second.lease("k", "you", _LONG)
    assert {held.rev for held in second.load([("A", pk) for pk in pks[-5_000:]]).rows} == {1}
    assert second.load([], [], [("A", "slug", pk) for pk in pks[-5_000:]]).index == {
        ("A", "slug", pk): pk for pk in pks[-5_000:]
    }
    assert first.commit(batch(first, drop=[("A", pk) for pk in pks[1:]])).number == 2
    assert second.scan("A", None, 5).items == ["0"]


# -- how long it is kept


def _lifetimes(server: ValkeyServer) -> dict[str, int]:
    """The kind of each key, with the time it has left in ms; -1 for ever."""
    return {key.decode().split("}:")[1].split(":", 1)[-1]: server.ask("PTTL", key) for key in server.ask("KEYS", "*")}


def _keys(server: ValkeyServer, kind: str) -> list[str]:
    """The keys of the server under which rows or results lie."""
    found = server.ask("KEYS", f"*:{kind}:*" if ":" not in kind else f"*:{kind}")
    return [key.decode() for key in found]


def _everything(storage: ValkeyStorage) -> Batch:
    return batch(
        storage,
        row("1"),
        row("2", value=None),
        results=[result("GET /a")],
        index={("A", "slug", "x"): "1"},
        listed=["B"],
        stale=(("table", "B", ""),),
        spared={("row", "B", "1"): Spared((("table", "B", ""),), 0)},
    )


def test_valkey_each_key_expires_and_lists_live_longer_than_what_they_list(server: ValkeyServer) -> None:
    """Only what says which epoch it is stays; tombstones are kept for an hour at least."""
    storage = opened(server, max_age=60_000)
    storage.commit(_everything(storage))
    left = _lifetimes(server)
    assert left.pop("i") == -1
    assert 3_500_000 < left.pop("r:A:2") <= 3_600_000
    values = {left.pop(name) for name in list(left) if name[:2] in ("r:", "a:")}
    assert len(values) <= 2
    assert all(0 < value <= 60_000 for value in values)
    assert sorted(left) == ["k", "log", "n", "s", "t:A", "t:B", "x:A:slug"]
    assert all(3_600_000 < time <= 4_050_000 for time in left.values())


def test_valkey_without_an_age_nothing_expires(server: ValkeyServer) -> None:
    """`max_age=inf` sets no expiry; lists that had one live on."""
    storage = opened(server, max_age=inf)
    storage.commit(_everything(storage))
    assert set(_lifetimes(server).values()) == {-1}
    server.ask("FLUSHALL")
    short = opened(server, max_age=60_000)
    short.commit(_everything(short))
    storage.commit(batch(storage, row("3")))
    left = _lifetimes(server)
    assert left["r:A:3"] == -1
    assert left["t:A"] > 10**12
    short.commit(batch(short, row("x", table="C")))
    assert _lifetimes(server)["t:A"] > 10**12


def test_valkey_what_is_used_lives_on_and_what_expired_leaves_its_list(server: ValkeyServer) -> None:
    """A use begins the time of rows and results anew; what is gone is met by a scan, or by `trim`."""
    storage = opened(server, max_age=2 * _LONG)
    storage.commit(batch(storage, row("1"), row("2"), results=[result("GET /a")]))
    (used,) = _keys(server, "a")
    storage.commit(batch(storage, results=[result("GET /b")]))
    version = storage.load([], [], [], ["A"]).tables["A"].version
    places = [*_keys(server, "r"), *_keys(server, "a")]
    for key in places:
        server.ask("PEXPIRE", key, _LONG)
    storage.commit(batch(storage, used=[("A", "1"), "GET /a"]))
    assert {key for key in places if server.ask("PTTL", key) > _LONG} == {used, *_keys(server, "r:A:1")}
    for key in places:
        if server.ask("PTTL", key) <= _LONG:
            server.ask("PEXPIRE", key, 1)
    eventually(lambda: len(_keys(server, "r") + _keys(server, "a")) == 2)
    assert [held.pk for held in storage.load([("A", "1"), ("A", "2")]).rows] == ["1"]
    assert storage.stats()[:2] == (2, 2)
    assert storage.scan("A", None, 5).items == ["1"]
    assert storage.load([], [], [], ["A"]).tables["A"].version > version
    assert storage.stats()[:2] == (1, 2)
    dropped: list[int] = []

    def is_trimmed() -> bool:
        """After one more call, which has 50 ms."""
        dropped.append(storage.trim())
        return storage.stats()[:2] == (1, 1)

    eventually(is_trimmed)
    assert sum(dropped) == 1
    assert storage.scan(None, None, 5).items == ["GET /a"]
    assert storage.trim() == 0


def test_valkey_counts_follow_what_is_written(server: ValkeyServer, storage: ValkeyStorage) -> None:
    """Rows, results and bytes are counted as they are written, written over and dropped."""
    assert storage.stats() == (0, 0, 0)
    storage.commit(batch(storage, row("1"), row("2"), results=[result("GET /a")]))
    before = storage.stats()
    assert before[:2] == (2, 1)
    storage.commit(batch(storage, row("1", rev=1, value=b'{"more":2}')))
    assert storage.stats() == before._replace(bytes=before.bytes + 8)
    storage.commit(batch(storage, drop=[("A", "1"), ("A", "2"), "GET /a"]))
    assert storage.stats() == (0, 0, 0)


# -- whose data it is


def test_valkey_namespaces_share_nothing(server: ValkeyServer) -> None:
    """Another name, principal or place is another namespace; nobody is one of them."""
    one = opened(server)
    one.commit(batch(one, row("1")))
    others = [opened(server, namespace="other"), opened(server, principal="x"), opened(server, principal=None)]
    elsewhere = made(url=server.url)
    elsewhere.open("https://staging.test", now)
    for other in (*others, elsewhere):
        assert other.load([("A", "1")]).rows == []
    assert [held.pk for held in opened(server).load([("A", "1")]).rows] == ["1"]


def test_valkey_server_sees_no_secret(one_server: ValkeyServer) -> None:
    """No command that the server is told shows the principal or the password of the URL, nor does any text here."""
    password = "hunter2-of-the-url"
    one_server.ask("FLUSHALL")
    one_server.ask("ACL", "SETUSER", "me", "on", f">{password}", "~*", "+@all")
    url = f"valkey://me:{password}@127.0.0.1:{one_server.port}/0"
    with valkey.Valkey(port=one_server.port) as client, client.monitor() as monitor:
        storage = opened(one_server, url=url)
        storage.commit(_everything(storage))
        storage.load([("A", "1")], ["GET /a"])
        storage.reset()
        client.ping()
        told: list[str] = []
        for command in monitor.listen():
            told.append(str(command))
            if command["command"] == "PING":
                break
    text = "".join(told)
    assert "EVALSHA" in text
    for secret in (SECRET, password):
        assert secret not in text
        assert secret not in repr(storage)
        assert secret not in repr(one_server.ask("KEYS", "*"))


ACL = (
    "+@connection +get +mget +set +pexpire +unlink +hmget +hset +hdel +hincrby +zadd +zrem +zrangebyscore +zrangebylex "
    "+xadd +xread +xrange +time +multi +exec +evalsha +script|load +scan"
)


def test_valkey_user_with_few_rights_is_enough(server: ValkeyServer) -> None:
    """Keys of restencil and the documented commands are all that is asked for."""
    server.ask("SCRIPT", "FLUSH")
    server.ask("ACL", "SETUSER", "few", "on", ">pw", "resetkeys", "~{restencil:*", "-@all", *ACL.split())
    storage = opened(server, url=f"valkey://few:pw@127.0.0.1:{server.port}/0")
    assert storage.commit(_everything(storage)).number == 1
    assert storage.commit(batch(storage, used=[("A", "1")], drop=["GET /a", ("A", "2")], release=["k"])).number == 2
    assert storage.load([("A", "1")], ["GET /a"], [("A", "slug", "x")], ["A"]).rows != []
    assert (storage.scan("A", None, 5).items, storage.scan(None, None, 5).items) == (["1"], [])
    assert storage.lease("k", "me", 500)
    assert len(storage.changes(0, 0).entries) == 2
    assert storage.changes(2, 20).entries == []
    assert storage.stats().rows == 1
    assert storage.trim() == 0
    assert storage.reset() == epoch_of(storage)
    server.ask("ACL", "DELUSER", "few")


# -- the server's time


def test_valkey_servers_time_is_compared_with_the_stores(server: ValkeyServer) -> None:
    """The offset is the server's time minus the store's, whatever the clock of this machine says."""
    storage = made(url=server.url)
    assert abs(storage.open(PLACE, now).offset) < 60_000
    assert abs(storage.open(PLACE, lambda: now() - 600_000).offset - 600_000) < 60_000
    seconds, micros = server.ask("TIME")
    assert abs(storage.open(PLACE, lambda: 0).offset - (seconds * 1_000 + micros / 1_000)) < 60_000


# -- what goes wrong


def test_valkey_nonsense_under_a_key_is_absent_and_written_over(server: ValkeyServer, storage: ValkeyStorage) -> None:
    """What another program wrote under a key of ours is nothing, and a commit replaces it."""
    storage.commit(batch(storage, row("1"), row("2"), row("3"), results=[result("GET /a"), result("GET /b")]))
    names = {name: f"{_space(server)}:{epoch_of(storage)}:{name}" for name in ("r:A:1", "r:A:2", "r:A:3")}
    server.ask("SET", names["r:A:1"], "nonsense")
    server.ask("SET", names["r:A:2"], "1 2 3 no times\n{}")
    server.ask("DEL", names["r:A:3"])
    server.ask("LPUSH", names["r:A:3"], "x")
    for key in server.ask("KEYS", "*:a:*"):
        server.ask("SET", key, "1 0 0 0 0 0 s\nGET /of-another\n1")
    found = storage.load([("A", "1"), ("A", "2"), ("A", "3")], ["GET /a", "GET /b"])
    assert (found.rows, found.results) == ([], [])
    assert storage.commit(batch(storage, row("1"), row("3"), results=[result("GET /a")])).number == 2
    assert [held.pk for held in storage.load([("A", "1"), ("A", "2"), ("A", "3")]).rows] == ["1", "3"]
    assert [held.key for held in storage.load([], ["GET /a"]).results] == ["GET /a"]


def test_valkey_newer_format_turns_it_off_and_an_older_one_begins_again(server: ValkeyServer) -> None:
    """Both numbers are named, with the way out; nothing that is newer is written."""
    storage = opened(server)
    storage.commit(batch(storage, row("1")))
    info = f"{_space(server)}:i"
    server.ask("HSET", info, "format", 3)
    before = server.ask("HGETALL", info)
    with pytest.raises(
        StorageOff, match=r"has the format 3, but .* supports 2; install the newer version, or use another"
    ):
        opened(server)
    assert server.ask("HGETALL", info) == before
    server.ask("HSET", info, "format", 0)
    newer = opened(server)
    assert newer.load([("A", "1")]).rows == []
    assert newer.load([]).epoch > int(before[b"epoch"])


def test_valkey_server_that_lost_everything_begins_a_new_epoch(server: ValkeyServer, storage: ValkeyStorage) -> None:
    """After a restart without data the epoch is new and the last reset is the one that is known: nobody is reset."""
    reset = storage.reset()
    late = batch(storage, row("1"))
    storage.commit(late)
    server.ask("FLUSHALL")
    changes = storage.changes(1, 500)
    assert changes.epoch > reset
    assert (changes.reset, changes.number, changes.entries) == (reset, 0, [])
    assert storage.commit(late) == (0, changes.epoch, None)
    assert storage.load([("A", "1")]).rows == []
    assert storage.commit(batch(storage, row("1"))).number == 1


@pytest.mark.parametrize("lost", ["t:A", "k"])
def test_valkey_list_that_the_server_evicted_ends_the_epoch(server: ValkeyServer, lost: str) -> None:
    """Where what lists rows or results is gone, none of them is found again: cold, and never a part of them."""
    storage = opened(server)
    storage.commit(_everything(storage))
    epoch = epoch_of(storage)
    server.ask("DEL", f"{_space(server)}:{epoch}:{lost}")
    assert storage.scan("A" if lost == "t:A" else None, None, 5).items == []
    assert epoch_of(storage) > epoch
    assert storage.changes(0, 0).reset == 0
    storage.commit(_everything(storage))
    epoch = epoch_of(storage)
    server.ask("DEL", f"{_space(server)}:{epoch}:{lost}")
    outcome = storage.commit(batch(storage, row("1", rev=1), results=[result("GET /b")]))
    assert (outcome.number, outcome.epoch > epoch, outcome.moved) == (0, True, None)


def test_valkey_stale_marks_that_the_server_evicted_end_the_epoch(server: ValkeyServer, storage: ValkeyStorage) -> None:
    """Where nobody can say any more what is stale, nothing that is stored is read or written over."""
    for _ in range(2):
        storage.commit(batch(storage, row("1"), stale=(("row", "A", "2"),)))
        epoch = epoch_of(storage)
        server.ask("DEL", f"{_space(server)}:{epoch}:s")
        assert storage.load([("A", "1")]).rows == []
        assert epoch_of(storage) > epoch
    storage.commit(batch(storage, row("1"), stale=(("row", "A", "2"),)))
    epoch, late = epoch_of(storage), batch(storage, row("1", rev=1), stale=(("row", "A", "1"),))
    server.ask("DEL", f"{_space(server)}:{epoch}:s")
    outcome = storage.commit(late)
    assert (outcome.number, outcome.epoch > epoch, outcome.moved) == (0, True, None)


def test_valkey_reset_that_a_failover_lost_is_done_again(server: ValkeyServer) -> None:
    """Whoever knows of a reset that the server does not know carries it out; another server, and the data of before."""
    with ValkeyServer("--replicaof", "127.0.0.1", str(server.port)) as replica, Proxy(server.port) as proxy:
        first, second = opened(proxy), opened(server)
        first.commit(batch(first, row("1")))
        with valkey.Valkey(port=server.port) as client:  # what it wrote has arrived, and so what came before it
            client.set("last", 1)
            assert client.wait(1, _LONG) == 1
        old = epoch_of(first)
        replica.ask("REPLICAOF", "NO", "ONE")
        second.commit(batch(second, row("2")))
        assert first.changes(1, 0).number == 2
        proxy.to = replica.port
        proxy.cut()
        changes = first.changes(2, 0)
        assert (changes.epoch, changes.number, changes.lost) == (old, 1, True)
        proxy.to = server.port
        proxy.cut()
        reset = first.reset()
        proxy.to = replica.port
        proxy.cut()
        found = first.load([("A", "1")])
        assert found.rows == []
        assert found.epoch > reset
        assert first.changes(0, 0).reset == found.epoch
        assert opened(replica).load([]).epoch == found.epoch


def test_valkey_server_whose_memory_is_full_rejects_writes_and_gives_what_it_has(server: ValkeyServer) -> None:
    """`OOM` is the reason; nothing of the batch was written, and the next one goes through."""
    storage = opened(server)
    storage.commit(batch(storage, row("1")))
    wanted = batch(storage, row("2"), results=[result("GET /a")])
    server.ask("CONFIG", "SET", "maxmemory", 1)
    try:
        with pytest.raises(StorageDown, match="^OOM: the server at .* rejects the command"):
            storage.commit(wanted)
        assert [held.pk for held in storage.load([("A", "1"), ("A", "2")]).rows] == ["1"]
    finally:
        server.ask("CONFIG", "SET", "maxmemory", 0)
    assert storage.changes(1, 0).entries == []
    assert storage.commit(wanted).number == 2


def test_valkey_refusal_is_reported_by_the_first_word_of_the_server(server: ValkeyServer) -> None:
    """`NOPERM` of rights, `READONLY` of replicas, `CLUSTERDOWN` of clusters; no secret is in the text."""
    server.ask("ACL", "SETUSER", "none", "on", ">hunter2", "~*", "-@all", "+@connection")
    with pytest.raises(StorageDown, match="^NOPERM: .* has the ACL that it needs$") as caught:
        opened(server, url=f"valkey://none:hunter2@127.0.0.1:{server.port}/0")
    assert "hunter2" not in str(caught.value)
    with pytest.raises(StorageDown, match="^NOAUTH: .* rejects the user or password; check those in the url$"):
        opened(server, url=f"valkey://none:wrong@127.0.0.1:{server.port}/0")
    with pytest.raises(StorageDown, match="^DB: .* has no database with this number$"):
        opened(server, url=f"valkey://127.0.0.1:{server.port}/99")
    with pytest.raises(StorageDown, match=r"does not respond \(Connection refused\)$"):
        opened(server, url="valkey://127.0.0.1:1")
    server.ask("ACL", "DELUSER", "none")
    with ValkeyServer("--replicaof", "127.0.0.1", str(server.port)) as replica:
        with pytest.raises(StorageDown, match=r"^(READONLY|MASTERDOWN|NOREPLICAS): "):
            opened(replica, principal="another")
    with ValkeyServer("--cluster-enabled", "yes") as lonely:
        with pytest.raises(StorageDown, match="^CLUSTERDOWN: "):
            opened(lonely)


@pytest.mark.slow
def test_valkey_half_open_connection_that_waits_for_changes_ends_after_three_seconds(server: ValkeyServer) -> None:
    """Who waits for changes hears that nobody answers."""
    with Proxy(server.port) as proxy:
        storage = opened(proxy, timeout=250)
        storage.changes(0, 0)
        timer = threading.Timer(0.3, proxy.hold)
        timer.start()
        began = time.monotonic()
        with pytest.raises(StorageDown):
            storage.changes(0, 1_000)
        assert time.monotonic() - began > 2.8
        timer.join()


class Late(valkey.Connection):
    """A connection that is made once it is told that it may."""

    begins = threading.Event()
    may_go_on = threading.Event()

    def connect(self) -> None:
        """Tells that it is about to connect, and waits."""
        if self._sock is None:
            self.begins.set()
            assert self.may_go_on.wait(PATIENCE)
        connect: Callable[[], None] = super().connect
        connect()


def _others(server: ValkeyServer) -> int:
    """How many connections the server has, but for the one that asks."""
    return len(server.ask("CLIENT", "LIST").splitlines()) - 1


@pytest.mark.parametrize("cut", [False, True])
def test_valkey_closing_ends_the_connection_of_waiters(server: ValkeyServer, cut: bool) -> None:
    """No connection of a closed storage stays, whether who waits for changes waits still or has just lost its own."""
    eventually(lambda: _others(server) == 0)
    with Proxy(server.port) as proxy:
        storage = opened(proxy)

        def wait() -> None:
            for _ in range(1_000):
                storage.changes(0, 1_000)

        storage.changes(0, 0)
        with ThreadPoolExecutor() as threads:
            waiting = threads.submit(wait)
            eventually(lambda: b"flags=b" in server.ask("CLIENT", "LIST"))
            if cut:
                proxy.cut()
            storage.close()
            assert isinstance(waiting.exception(PATIENCE), StorageDown)
        eventually(lambda: _others(server) == 0)


def test_valkey_closing_ends_a_connection_that_is_just_being_made(server: ValkeyServer) -> None:
    """Who was about to connect when a storage was closed leaves no connection, and opens none for its next command."""
    eventually(lambda: _others(server) == 0)
    Late.may_go_on.set()
    pool = valkey.ConnectionPool(connection_class=Late, port=server.port)
    with valkey.Valkey(connection_pool=pool) as client:
        storage = opened(server, url=None, client=client)
        storage.close()
        Late.begins.clear()
        Late.may_go_on.clear()
        thread = threading.Thread(target=storage.changes, args=(0, 1))
        thread.start()
        assert Late.begins.wait(PATIENCE)
        storage.close()
        Late.may_go_on.set()
        thread.join(PATIENCE)
        eventually(lambda: _others(server) == 0)


def test_valkey_storage_that_is_forgotten_leaves_no_connection(server: ValkeyServer) -> None:
    """Connections end with the storage where nobody closes it."""
    eventually(lambda: _others(server) == 0)
    storage = opened(server)
    assert _others(server) == 1
    del storage
    gc.collect()
    eventually(lambda: _others(server) == 0)


def test_valkey_forked_child_has_connections_of_its_own(server: ValkeyServer, storage: ValkeyStorage) -> None:
    """A child asks and commits, and its parent's connections are left alone."""
    storage.commit(batch(storage, row("1")))
    child = os.fork()
    if child == 0:
        try:
            written = storage.commit(batch(storage, row("2"))).number == 2
            os._exit(0 if written and storage.load([("A", "1")]).rows else 1)
        finally:
            os._exit(2)
    assert storage.load([("A", "1")]).rows
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert [held.pk for held in storage.load([("A", "2")]).rows] == ["2"]
