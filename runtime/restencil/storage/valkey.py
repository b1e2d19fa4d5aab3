"""A storage on a Valkey server, or Redis 6.2 or later, shared by processes and machines.

This is the only module that uses the client library. All operations run on the server as scripts of `lua`, each of them
atomic: other clients see a commit completely or not at all.
"""

from __future__ import annotations

import hashlib
import inspect
import re
import threading
import time
import weakref
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar
from urllib import parse as urls

from ..base.durations import bounded
from ..base.errors import StorageDown, StorageError, StorageOff
from ..base.values import described, is_list
from . import lua
from .entries import entry_from_json, entry_to_json, has_changes
from .keyspace import (
    Keys,
    decoded,
    encoded,
    mark_field,
    part,
    result_from_text,
    result_text,
    row_from_text,
    row_text,
    split_texts,
    whole,
)
from .naming import check_principal, namespace_hash
from .protocol import (
    HOUR,
    TRIM_TIME,
    Batch,
    Cell,
    Changes,
    Entry,
    IndexEntry,
    Loaded,
    Mark,
    NamespaceStats,
    Opened,
    Outcome,
    Page,
    StoredRow,
    TableInfo,
    check_count,
    refuse_too_many,
)

if TYPE_CHECKING:
    from ..base.durations import Duration

FORMAT: Final = 2
"""The format of the stored data; a newer one is not read."""

_AT_ONCE: Final = 500
"""The maximum number of places that one script handles, since the server blocks meanwhile."""
_PATIENCE: Final = 3.0
"""The timeout of patient commands in seconds."""
_LONGEST_WAIT: Final = 1_000
_SAMPLES: Final = 5
_ENTRIES: Final = 128
_ROUND: Final = 3_600.0
_SCHEMES: Final = ("valkey", "valkeys", "redis", "rediss", "unix")

_CLIENTS: Final = ("valkey.client", "redis.client")

_EXPECTED: Final = (
    "url has no address of a server; expected one that begins with "
    f"{', '.join(_SCHEMES[:-1])} or {_SCHEMES[-1]}, such as 'valkey://localhost:6379/0'"
)

_ESCAPED: Final = "; in a password, '/', '?', '#' and '@' are written %2F, %3F, %23 and %40"

T = TypeVar("T")
ScriptInput: TypeAlias = tuple[list[bytes], list[Any]]
"""The keys and arguments of a script, without the first key and argument, which all scripts get."""


class ValkeyStorage:
    """A storage on a Valkey or Redis server, which any number of processes and machines may share.

        store = Store(storage=ValkeyStorage("valkeys://cache.example:6379/0", namespace="news", principal=None))

    `url` begins with `valkey`, `valkeys`, `redis`, `rediss` or `unix`. Alternatively, `client` is a synchronous client
    of the package valkey or redis, whose address and credentials are used. `namespace` is a name of your own for the
    shared data. `principal` is the owner of the data, such as the id of an account, or None if everyone who can reach
    the server may see all data. The principal is stored as part of a hash only.

    Times are in ms, or strings such as `"24h"`, or timedeltas. Data that was not used for `max_age` is deleted. Changes
    wait `write_behind` for others before they are written. A read waits `timeout` for the server, and proceeds without
    it after three timeouts. A request waits `lease_wait` for the same one of another process. The log has `history`
    entries; a process that is further behind checks all its data again.

    Raises ValueError for invalid arguments, and ImportError if the package valkey is needed and not installed. If the
    server cannot be reached, neither this nor calls of a client raise errors; `Store.storage_stats` shows it.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        namespace: str,
        principal: str | None,
        client: Any = None,
        max_age: Duration = 86_400_000,
        write_behind: Duration = 5,
        timeout: Duration = 250,
        lease_wait: Duration = 10_000,
        history: int = 10_000,
    ) -> None:
        check_principal(principal)
        _check_name(namespace)
        check_count("history", history, "commits")
        self.inline = False
        self.writable = True
        self.is_for_all = principal is None
        self.max_age = bounded(max_age, "max_age", 1, endless=True)
        self.write_behind = bounded(write_behind, "write_behind", 0)
        self.lease_wait = bounded(lease_wait, "lease_wait", 0)
        self.poll: float = _LONGEST_WAIT
        self._server = Server(url, client, bounded(timeout, "timeout", 1) / 1_000)
        weakref.finalize(self, self._server.close).atexit = False  # closes connections if `close` was never called
        self._history = int(history)
        self._kept = _kept(self.max_age)
        self._namespace = namespace
        self._principal = principal
        self._hash = ""
        self._place = ""
        self._keys: Keys | None = None
        self._reset = 0
        self._reported = 0
        """The epoch of the last returned changes, or 0."""
        self._sifting: Iterator[int] = iter(())
        self._next_round = 0.0

    def __repr__(self) -> str:
        return f"ValkeyStorage({self._server.where!r}, namespace={self._namespace!r})"

    def open(self, place: str, now: Callable[[], float], /) -> Opened:
        """Open or create the namespace of a place, and compare the server's clock with the store's, `now`.

        Each further call compares the clocks again.
        """
        self._place = place
        found = namespace_hash(self._namespace, self._principal, place)
        if found != self._hash:
            self._hash, self._keys, self._reset = found, None, 0
        best, offset, number = inf, 0.0, 0
        for _ in range(_SAMPLES):
            began, before = time.perf_counter(), now()
            number, moment = self._begin()
            after, took = now(), time.perf_counter() - began
            if took < best:
                best, offset = took, moment - (before + after) / 2
        epoch = self._opened().epoch
        self._reported = self._reported or epoch
        return Opened(epoch, self._reset, number, offset)

    def load(
        self,
        cells: Sequence[Cell],
        keys: Sequence[str] = (),
        index: Sequence[IndexEntry] = (),
        tables: Sequence[str] = (),
        marks: Sequence[Mark] = (),
        /,
    ) -> Loaded:
        """Load rows, results, index entries, tables and marks as of one moment; at most 5,000 places in one call.

        A table is never complete, since any of its rows may have expired. Expired rows are removed from the set of
        their table, which is marked as having lost rows.
        """
        count = len(cells) + len(keys)
        refuse_too_many(count + len(index))
        by_hash: dict[tuple[str, str], list[str]] = {}
        for table, field, value in index:
            by_hash.setdefault((table, field), []).append(value)

        def script_input(names: Keys) -> ScriptInput:
            places = [names.row(*cell) for cell in cells] + [names.result(key) for key in keys]
            arguments: list[Any] = [count, len(tables), *map(part, tables)]
            for values in by_hash.values():
                arguments += [len(values), *map(encoded, values)]
            arguments += [len(fields), *fields]
            return [*places, *(names.index(*at) for at in by_hash), names.marks], arguments

        fields = [mark_field(("row", *cell)) for cell in cells]
        fields += [mark_field(("key", key, "")) for key in keys] + [mark_field(mark) for mark in marks]
        names, (number, lengths, joined, versions, losses, (*found, stale)) = self._ask(lua.LOAD, script_input)
        set_by = [int(number or 0) for number in stale]
        texts = split_texts(joined, lengths)
        lost = {table for table, flag in zip(tables, losses, strict=True) if flag}
        lost |= _lost(
            self._server, names, [cell for cell, text in zip(cells, texts, strict=False) if not text], {*tables} - lost
        )
        rows = (row_from_text(*at, text, mark) for at, text, mark in zip(cells, texts, set_by, strict=False) if text)
        results = (
            result_from_text(key, text, mark)
            for key, text, mark in zip(keys, texts[len(cells) :], set_by[len(cells) :], strict=False)
            if text
        )
        return Loaded(
            names.epoch,
            int(number),
            [row for row in rows if row is not None],
            [result for result in results if result is not None],
            {
                (*at, value): decoded(pk)
                for (at, values), pks in zip(by_hash.items(), found, strict=True)
                for value, pk in zip(values, pks, strict=True)
                if pk is not None
            },
            {
                table: TableInfo(int(version), True, table in lost)
                for table, version in zip(tables, versions, strict=True)
                if version is not None
            },
            {
                **{("row", *cell): at for cell, text, at in zip(cells, texts, set_by, strict=False) if at and not text},
                **{mark: at for mark, at in zip(marks, set_by[count:], strict=True) if at},
            },
        )

    def scan(self, table: str | None, after: str | None, limit: int, /) -> Page:
        """Return a page of the primary keys of a table by arrival, or of the keys of all results, after `after`.

        Expired rows and results are removed from their set.
        """
        return self._living(table, after, limit)[0]

    def commit(self, batch: Batch, /) -> Outcome:
        """Write a batch and its entry completely, or nothing if it is late or conflicts.

        The server blocks meanwhile, for about 7 ms for a thousand rows.
        """
        names = self._opened()
        if batch.epoch != names.epoch:
            return Outcome(0, names.epoch, None)
        keys, arguments, tables = _commit_arguments(names, batch)
        entry = entry_to_json(batch.entry) if has_changes(batch) else b""
        writer, id = batch.entry.writer, batch.entry.commit_id if entry else 0
        head = [names.epoch, *self._kept, self._history, encoded(writer), entry, id]
        places = [names.info, names.log, names.lists, names.results, names.writer(writer), names.marks, *keys]
        reply = self._server.run(lua.COMMIT, places, [*head, *arguments])
        if not self._is_of_now(reply):
            return Outcome(0, self._opened().epoch, None)
        number, what = int(reply[2] or 0), reply[3]
        if what == b"late":
            return Outcome(0, names.epoch, None)
        if what == b"done":
            return Outcome(number if entry else 0, names.epoch, None)
        moved, versions = reply[4:]
        rows: list[StoredRow] = []
        for at, text in zip(moved[::2], moved[1::2], strict=True):
            sent = batch.rows[int(at) - 1]
            there = row_from_text(sent.table, sent.pk, text) if text else None
            rows.append(there or sent._replace(rev=0, born=0, shape="", value=None))
        infos = {table: TableInfo(int(version), True) for table, version in zip(tables, versions, strict=True)}
        others = {table: infos[table] for table, version in batch.tables.items() if infos[table].version != version}
        return Outcome(0, names.epoch, Loaded(names.epoch, number, rows, [], {}, others))

    def changes(self, after: int, wait: float, /) -> Changes:
        """Return the log entries after a number, including own ones; wait for one up to `wait` ms, at most 1,000."""
        with self._server.one_call():
            return self._changes_within(after, wait)

    def _changes_within(self, after: int, wait: float) -> Changes:
        names = self._opened()
        if wait > 0 and names.epoch == self._reported:
            longest = max(1, min(wait, _LONGEST_WAIT, self._server.longest_wait))
            words = ("XREAD", "COUNT", 1, "BLOCK", int(longest), "STREAMS", names.log, f"{after}-0")
            self._server.command(*words, patient=True)
        changes = self._changes(after)
        self._reported = changes.epoch
        return changes

    def lease(self, name: str, owner: str, length: float, /) -> bool:
        """Take or renew a lease for `length` ms, or release it with 0; return whether the owner has it."""
        return self.leases([(name, owner)], length)[0]

    def leases(self, wanted: Sequence[tuple[str, str]], length: float, /) -> list[bool]:
        """Take or renew leases for `length` ms, or release them with 0; return for each whether the owner has it."""
        lease_length = 0 if length <= 0 else max(1, int(length))
        return [mine for some in _portions(wanted) for mine in self._lease_some(some, lease_length)]

    def _lease_some(self, wanted: Sequence[tuple[str, str]], length: int) -> list[bool]:
        arguments = [length, *(encoded(owner) for _, owner in wanted)]
        _, (_, mine) = self._ask(lua.LEASE, lambda names: ([names.lease(name) for name, _ in wanted], arguments))
        return [*map(bool, mine)]

    def reset(self, /) -> int:
        """Begin a new, empty epoch and return it; data of older epochs is never read again."""
        self._opened()
        self._begin("reset")
        return self._opened().epoch

    def trim(self, /) -> int:
        """Remove expired rows and results from their sets, and return the count; all sets are checked once an hour."""
        end = time.perf_counter() + TRIM_TIME
        dropped = 0
        while time.perf_counter() < end:
            count = next(self._sifting, None)
            if count is None:
                if time.monotonic() < self._next_round:
                    break
                self._next_round = time.monotonic() + _ROUND
                self._sifting = self._sift_all()
            dropped += count or 0
        return dropped

    def stats(self, /) -> NamespaceStats:
        """Return the size of the namespace; expired data counts until `trim` removes it."""
        found = self._server.command("HMGET", self._opened().info, "rows", "results", "bytes")
        return NamespaceStats(*(max(0, int(count or 0)) for count in found))

    def close(self, /) -> None:
        """Close all connections; a later call opens new ones. The client of a user stays open."""
        self._server.close()

    def _opened(self) -> Keys:
        if self._keys is None:
            raise StorageDown("this storage was not opened; call `open` first")
        return self._keys

    def _begin(self, why: str = "") -> tuple[int, float]:
        """Read the epoch, or begin one for a reset or if the server lost it; return the last number and time in ms."""
        known = self._keys
        names = known or Keys(self._hash, 0)
        arguments = [names.space, names.epoch, self._reset, FORMAT, why, encoded(self._place)]
        reply = self._server.run(lua.BEGIN, [names.info], arguments)
        epoch, reset, number, moment, found = map(int, reply[:5])
        if found > FORMAT:
            raise StorageOff(
                f"the data of this namespace at {self._server.where} has the format {found}, but this version of "
                f"restencil supports {FORMAT}; install the newer version, or use another namespace"
            )
        self._reset = max(self._reset, reset)
        if known is None or known.epoch != epoch:
            self._keys = Keys(self._hash, epoch)
        if reply[5]:
            over = Keys(self._hash, int(reply[5]))
            threading.Thread(target=self._sweep, args=(over,), daemon=True, name="restencil-sweep").start()
        return number, moment / 1_000

    def _ask(self, script: str, script_input: Callable[[Keys], ScriptInput]) -> tuple[Keys, list[Any]]:
        """Run a script in the current epoch of the server; return its keys, and the number and results."""
        for _ in range(4):
            names = self._opened()
            keys, arguments = script_input(names)
            reply = self._server.run(script, [names.info, *keys], [names.epoch, *arguments])
            if self._is_of_now(reply):
                return names, reply[2:]
        raise StorageDown(f"the server at {self._server.where} keeps losing its data; check its memory limit")

    def _is_of_now(self, reply: list[Any]) -> bool:
        """Whether a script ran in the current epoch; if not, read the epoch, or begin a new one if data was lost."""
        if len(reply) == 3:
            self._begin()
        elif reply[3] == b"lost":
            self._begin("lost")
        else:
            if int(reply[1] or 0) != self._reset:
                self._begin()
            return True
        return False

    def _changes(self, after: int) -> Changes:
        names, (number, found) = self._ask(lua.CHANGES, lambda names: ([names.log], [f"{after + 1}-0", _ENTRIES]))
        entries = [entry for at, members in found if (entry := _entry(at, members)) is not None]
        number = int(number)
        begun = entries[0].number if entries else number + 1
        lost = after > number or (after < number and begun != after + 1)
        lost = lost or any(later.number != earlier.number + 1 for earlier, later in pairwise(entries))
        if len(found) == _ENTRIES and entries and not lost:
            number = entries[-1].number  # the next call returns more
        return Changes(names.epoch, self._reset, number, [] if lost else entries, lost)

    def _living(self, table: str | None, after: str | None, limit: int) -> tuple[Page, int]:
        """Return a page of a set, with expired members removed, and the number of expired members."""
        arguments: list[Any]
        if table is None:
            start = b"-" if after is None else b"(" + encoded(after)
            arguments = ["keys", "ZRANGEBYLEX", start, b"(" + lua.MARK, "LIMIT", 0, limit + 1]
            names, found = self._ask(lua.PAGE, lambda names: ([names.results], arguments))
        else:
            begun = encoded(f"v:{part(table)}")
            arguments = [begun, "ZRANGEBYSCORE", f"({after or 0}", "+inf", "WITHSCORES", "LIMIT", 0, limit + 1]
            names, found = self._ask(lua.PAGE, lambda names: ([names.table(table)], arguments))
        items: list[bytes] = found[2]
        each = 1 if table is None else 2
        last = decoded(items[each * limit - 1]) if len(items) > each * limit else None
        members = [decoded(item) for item in items[: each * limit : each]]
        living: list[str] = []
        for some in _portions(members):
            living += _sifted(self._server, names, table, some)[0]
        return Page(living, last), len(members) - len(living)

    def _sift_all(self) -> Iterator[int]:
        for table in (*self._tables(self._opened()), None):
            page, gone = self._living(table, None, _AT_ONCE)
            yield gone
            while page.next is not None:
                page, gone = self._living(table, page.next, _AT_ONCE)
                yield gone

    def _tables(self, names: Keys) -> list[str]:
        found = self._server.command("ZRANGEBYLEX", names.lists, "[t:", "(t;")
        return [whole(decoded(ending)[2:]) for ending in found]

    def _sweep(self, over: Keys) -> None:
        """Delete the data of an epoch that has ended, some at a time; the rest of it expires."""
        with suppress(StorageError):
            for table in self._tables(over):
                listed = over.table(table)
                while pks := self._server.command("ZRANGEBYSCORE", listed, "(0", "+inf", "LIMIT", 0, _AT_ONCE):
                    self._server.command("UNLINK", *(over.row(table, decoded(pk)) for pk in pks))
                    self._server.command("ZREM", listed, *pks)
                self._server.command("UNLINK", listed)
            end = b"(" + lua.MARK
            while keys := self._server.command("ZRANGEBYLEX", over.results, "-", end, "LIMIT", 0, _AT_ONCE):
                self._server.command("UNLINK", *(over.result(decoded(key)) for key in keys))
                self._server.command("ZREM", over.results, *keys)
            hashes = self._server.command("ZRANGEBYLEX", over.lists, "[x:", "(x;")
            rest = [over.named(decoded(ending)) for ending in hashes]
            self._server.command("UNLINK", over.results, over.lists, over.log, over.marks, *rest)


class Server:
    """A connection to a server that runs scripts and commands; errors are raised as `StorageDown`."""

    def __init__(self, url: str | None, client: Any, timeout: float) -> None:
        if (url is None) == (client is None):
            found = "neither" if url is None else "both"
            raise ValueError(f"expected either url or client for the server, got {found}")
        self._url = url or ""
        self._client = client
        self._timeout = timeout
        self._own: dict[bool, Any] = {}
        self._closings = 0
        if url is not None:
            self.where = _shown(url)
            _check_installed()
        else:
            if not callable(getattr(client, "execute_command", None)):
                raise ValueError(f"client is {described(client)}; expected a client of the package valkey or redis")
            if inspect.iscoroutinefunction(client.execute_command):
                raise ValueError("client is an asyncio client; expected a synchronous one, which also serves asyncio")
            self.where = _where(client)

    @property
    def longest_wait(self) -> float:
        """How long a command may wait, in ms: half of the timeout of the client."""
        timeout = _options_of(self._reach(True)).get("socket_timeout")
        return inf if timeout is None else timeout * 500

    def run(self, script: str, keys: Sequence[bytes], arguments: Sequence[object]) -> list[Any]:
        """Run a script and return its reply, with strings as bytes."""
        digest = _digest_of(script)
        patient = script == lua.COMMIT
        try:
            reply = self._call(patient, "EVALSHA", digest, len(keys), *keys, *arguments)
        except StorageOff:
            raise
        except Exception as error:
            if _word_of(error) != "NOSCRIPT":
                raise self._down(error) from error
            self.command("SCRIPT LOAD", script)
            reply = self.command("EVALSHA", digest, len(keys), *keys, *arguments, patient=patient)
        found: list[Any] = _as_bytes(reply)
        return found

    def command(self, *words: object, patient: bool = False) -> Any:
        """Run a command and return its reply; `patient` ones have a longer timeout."""
        try:
            return self._call(patient, *words)
        except StorageOff:
            raise
        except Exception as error:
            raise self._down(error) from error

    def close(self) -> None:
        """Close all connections, also those of waiting calls."""
        self._closings += 1
        self._let_all_go()

    @contextmanager
    def one_call(self) -> Generator[None]:
        """Enclose several commands: if `close` is called meanwhile, later connections are closed at the end."""
        begun = self._closings
        try:
            yield
        finally:
            if self._closings != begun:
                self._let_all_go()

    def _let_all_go(self) -> None:
        while self._own:
            _, client = self._own.popitem()
            self._let_go(client)

    def _let_go(self, client: Any) -> None:
        if client is not self._client:
            with suppress(Exception):
                client.connection_pool.disconnect()

    def _call(self, patient: bool, *words: object) -> Any:
        client = self._reach(patient)
        try:
            return client.execute_command(*words, NEVER_DECODE=True)
        finally:
            if self._own.get(patient) is not client:  # `close` was called before it connected
                self._let_go(client)

    def _reach(self, patient: bool) -> Any:
        found = self._own.get(patient)
        if found is None:
            client = self._client or _client_of(self._url)
            seconds = max(self._timeout, _PATIENCE) if patient else self._timeout
            found = self._own.setdefault(patient, _with_timeout(client, seconds))
        return found

    def _down(self, error: Exception) -> StorageDown:
        word = _word_of(error)
        if word:
            return StorageDown(f"{word}: the server at {self.where} {_REFUSED.get(word, _REFUSED['ERR'])}")
        return StorageDown(f"the server at {self.where} does not respond ({_reason_of(error)})")


def _lost(server: Server, names: Keys, absent: list[Cell], tables: set[str]) -> set[str]:
    """Return those of the tables that lost one of the absent rows, which is still in their set."""
    by_table: dict[str, list[str]] = {}
    for table, pk in absent:
        if table in tables:
            by_table.setdefault(table, []).append(pk)
    return {
        table
        for table, pks in by_table.items()
        if any(_sifted(server, names, table, some)[1] for some in _portions(pks))
    }


def _sifted(server: Server, names: Keys, table: str | None, members: list[str]) -> tuple[list[str], int]:
    """Return which of these rows or results exist, and how many others were removed from their set."""
    if table is None:
        places, arguments = [names.results, *map(names.result, members)], [names.epoch, "results", ""]
    else:
        places = [names.table(table), *(names.row(table, pk) for pk in members)]
        arguments = [names.epoch, "rows", encoded(part(table))]
    reply = server.run(lua.SIFT, [names.info, *places], [*arguments, *map(encoded, members)])
    if len(reply) <= 3:  # the epoch has ended, and all its data with it
        return [], 0
    return [member for member, is_there in zip(members, reply[4], strict=True) if is_there], int(reply[5])


def _client_of(url: str) -> Any:
    import valkey  # a slow import

    library: Any = valkey  # its types are partly unknown
    try:
        client = library.Valkey.from_url(url)
        pool = client.connection_pool
        pool.connection_class(**pool.connection_kwargs)  # checks the options of the URL; it connects later
    except (TypeError, ValueError) as error:
        names = ", ".join(dict.fromkeys(name for name, _ in urls.parse_qsl(urls.urlsplit(url).query)))
        raise StorageOff(
            f"the url of {_shown(url)} has options that the package valkey does not accept; check its query "
            f"parameters: {names}"
        ) from error
    return client


@cache
def _digest_of(script: str) -> str:
    return str(hashlib.sha1(script.encode(), usedforsecurity=False).hexdigest())


def _with_timeout(client: object, seconds: float) -> Any:
    """Return a client of the same server with a timeout and without retries; the same one if its pool is custom."""
    pool: Any = getattr(client, "connection_pool", None)
    kinds = {kind.__module__: kind for kind in type(client).__mro__ if kind.__module__ in _CLIENTS}
    if not kinds or type(pool).__name__ not in ("ConnectionPool", "BlockingConnectionPool"):
        return client
    module, kind = kinds.popitem()
    options = {**pool.connection_kwargs, "socket_timeout": seconds, "socket_connect_timeout": seconds}
    for name in ("retry", "retry_on_timeout", "retry_on_error"):
        options.pop(name, None)
    library = import_module(module.partition(".")[0])
    options["retry"] = import_module(f"{library.__name__}.retry").Retry(
        import_module(f"{library.__name__}.backoff").NoBackoff(), 0
    )
    return kind(connection_pool=library.ConnectionPool(connection_class=pool.connection_class, **options))


def _options_of(client: Any) -> dict[str, Any]:
    """Return the options of a client's connections."""
    pool = getattr(client, "connection_pool", None)
    if pool is None and hasattr(client, "get_connection_kwargs"):  # of a cluster
        return dict(client.get_connection_kwargs())
    return dict(getattr(pool, "connection_kwargs", {}))


def _where(client: object) -> str:
    options = _options_of(client)
    if "path" in options:
        return f"unix:{options['path']}"
    return f"{options.get('host', 'localhost')}:{options.get('port', 6379)}"


def _shown(url: str) -> str:
    """Return a URL without secrets. Raises ValueError, without parts of the URL, if it is invalid."""
    try:
        parts = urls.urlsplit(url)
        port = parts.port
    except (ValueError, TypeError, AttributeError):
        raise ValueError(_EXPECTED + _ESCAPED) from None
    if parts.scheme not in _SCHEMES or not (parts.path if parts.scheme == "unix" else parts.hostname):
        raise ValueError(_EXPECTED)
    if parts.scheme != "unix" and (number := parts.path.strip("/")) and not number.isdecimal():
        raise ValueError(f"url has no database number after the address of the server; {_EXPECTED}{_ESCAPED}")
    place = "" if parts.hostname is None else parts.hostname
    return f"{parts.scheme}://{place}{f':{port}' if port else ''}{parts.path}"


def _check_installed() -> None:
    try:
        if find_spec("valkey") is not None:
            return
    except ValueError:  # a module without a spec
        pass
    raise ImportError(
        "ValkeyStorage needs the package valkey, which is not installed; "
        "pip install 'restencil[valkey]', or pass client= of the package redis",
        name="valkey",
    )


def _check_name(namespace: object) -> None:
    if not isinstance(namespace, str) or not namespace:
        found = "empty" if namespace == "" else described(namespace)
        raise ValueError(f"namespace is {found}; expected a name for the shared data, such as 'news'")


_WORD: Final = re.compile(r"(?:^|-)([A-Z]{2,})\b")
_WORDS: Final = {
    "OutOfMemoryError": "OOM",
    "ReadOnlyError": "READONLY",
    "BusyLoadingError": "LOADING",
    "NoPermissionError": "NOPERM",
    "NoScriptError": "NOSCRIPT",
    "ClusterDownError": "CLUSTERDOWN",
    "MasterDownError": "MASTERDOWN",
    "AuthenticationError": "NOAUTH",
    "AuthorizationError": "NOAUTH",
    "AuthenticationWrongNumberOfArgsError": "NOAUTH",
}
_REFUSED: Final = {
    "NOAUTH": "rejects the user or password; check those in the url",
    "WRONGPASS": "rejects the user or password; check those in the url",
    "NOPERM": "denies this user commands of the storage; the page 'Many workers, one cache' has the ACL that it needs",
    "DB": "has no database with this number",
    "ERR": "rejects the command",
}
"""Descriptions of the errors of a server, by their first words."""


def _word_of(error: Exception) -> str:
    """Return the first word of a server's error message, "" for other errors; some words are classes of the client."""
    for kind in type(error).__mro__:
        if kind.__name__ in _WORDS:
            return _WORDS[kind.__name__]
        if kind.__name__ == "ResponseError":
            found = [word for word in _WORD.findall(str(error)) if word != "ERR"]
            return found[0] if found else "ERR"
    return ""


def _reason_of(error: BaseException) -> str:
    """Return the error message of the system, else the name of the error, as its message may contain a URL."""
    found: BaseException | None = error
    while found is not None:
        if isinstance(found, OSError) and found.strerror:
            return found.strerror
        found = found.__cause__ or found.__context__
    return type(error).__name__


def _as_bytes(reply: object) -> Any:
    """Convert strings in a reply to bytes, for clients that decode them."""
    if is_list(reply):
        return [_as_bytes(item) for item in reply]
    return encoded(reply) if isinstance(reply, str) else reply


def _kept(max_age: float) -> list[int]:
    """Return how long values, tombstones, and sets are kept, in ms; 0 is forever."""
    if max_age == inf:
        return [0, 0, 0]
    longest = max(max_age, HOUR)
    return [int(max_age), int(longest), int(longest * 9 / 8)]


def _portions(items: Sequence[T]) -> list[list[T]]:
    return [list(items[at : at + _AT_ONCE]) for at in range(0, len(items), _AT_ONCE)]


def _entry(at: Any, members: Any) -> Entry | None:
    """Decode the entry of an id; None for the end of an epoch."""
    found = dict(zip(members[::2], members[1::2], strict=True))
    if b"e" not in found:
        return None
    return entry_from_json(int(at.partition(b"-")[0]), decoded(found.get(b"w", b"")), found[b"e"])


def _commit_arguments(names: Keys, batch: Batch) -> tuple[list[bytes], list[Any], list[str]]:
    """Return the keys and arguments of the `COMMIT` script in its order, and the tables that it uses."""
    cells = [place for place in batch.drop if not isinstance(place, str)]
    tables = list(
        dict.fromkeys(
            (
                *(row.table for row in batch.rows),
                *(t for t, _ in cells),
                *batch.tables,
                *batch.listed,
                *batch.incomplete,
            )
        )
    )
    number = {table: at for at, table in enumerate(tables, 1)}
    keys = [names.table(table) for table in tables]
    arguments: list[Any] = [len(tables)]
    for table in tables:
        arguments += [
            encoded(part(table)),
            batch.tables.get(table, ""),
            (table in batch.listed) + 2 * (table in batch.incomplete),
        ]
    by_hash: dict[tuple[str, str], list[Any]] = {}
    for (table, field, value), pk in batch.index.items():
        by_hash.setdefault((table, field), []).extend((encoded(value), encoded(pk)))
    arguments.append(len(by_hash))
    for (table, field), pairs in by_hash.items():
        keys.append(names.index(table, field))
        arguments += [encoded(f"{part(table)}:{part(field)}"), len(pairs) // 2, *pairs]
    keys += [names.lease(name) for name in batch.release]
    keys += [names.place(place) for place in (*batch.used, *batch.drop)]
    arguments += [len(batch.release), len(batch.used), len(batch.drop)]
    for place in batch.drop:
        arguments += [0, encoded(place)] if isinstance(place, str) else [number[place[0]], encoded(place[1])]
    arguments.append(len(batch.rows))
    for row in batch.rows:
        keys.append(names.row(row.table, row.pk))
        arguments += [number[row.table], encoded(row.pk), row.rev, row_text(row)]
    arguments.append(len(batch.results))
    for result in batch.results:
        keys.append(names.result(result.key))
        arguments += [encoded(result.key), repr(result.times.date), result_text(result)]
    arguments.append(len(batch.spared))
    for mark, (against, known) in batch.spared.items():
        arguments += [mark_field(mark), known, len(against), *map(mark_field, against)]
    arguments += [len(batch.stale), *map(mark_field, batch.stale)]
    return keys, arguments, tables
