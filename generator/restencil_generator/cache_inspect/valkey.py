"""Inspection of Valkey storages, also while other processes use them."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import Any, Final, cast

from restencil import StorageDown, StorageOff
from restencil.storage import StoredResult, StoredRow, lua
from restencil.storage.entries import committed_at
from restencil.storage.keyspace import Keys, decoded, encoded, result_from_text, row_from_text, whole
from restencil.storage.protocol import HOUR
from restencil.storage.valkey import FORMAT, Server

from .namespace import NamespaceSummary, StoredLease, StoredNamespace, StoredTable

_TIMEOUT: Final = 5.0
_AT_ONCE: Final = 500
_BEGIN: Final = "{restencil:"
_END: Final = "}:i"


def namespaces_at(url: str) -> Sequence[StoredNamespace]:
    """Return the namespaces on a server, sorted by hash."""
    server = Server(url, None, _TIMEOUT)
    names = sorted(_scanned(server, f"{_BEGIN}*{_END}"))
    return [_Space(server, name.removeprefix(_BEGIN).removesuffix(_END)) for name in names]


class _Space:
    """The current epoch of a namespace on a server."""

    def __init__(self, server: Server, name: str) -> None:
        self.hash = name
        self._server = server

    def summary(self) -> NamespaceSummary:
        """Return sizes and counts, by table; this reads all data."""
        info, names = self._now()
        first = self._server.command("XRANGE", names.log, "-", "+", "COUNT", 1)
        last = self._server.command("XREVRANGE", names.log, "+", "-", "COUNT", 1)
        results = [len(result.value or b"") for result, _ in self.results()]
        return NamespaceSummary(
            decoded(info.get(b"place", b"")),
            names.epoch,
            float(names.epoch),
            max(0, int(info.get(b"bytes", 0))),
            _committed(last[0][1]) if last else None,
            int(bytes(first[0][0]).partition(b"-")[0]) if first else 0,
            int(info.get(b"n", 0)),
            [self._table(table) for table in self._tables(names)],
            len(results),
            sum(results),
            list(self._leases(names)),
            0,
        )

    def _table(self, table: str) -> StoredTable:
        rows = tombstones = size = 0
        oldest: float | None = None
        newest: float | None = None
        for row, _ in self.rows(table):
            rows += row.value is not None
            tombstones += row.value is None
            size += len(row.value or b"")
            date = row.times.date
            oldest = date if oldest is None else min(oldest, date)
            newest = date if newest is None else max(newest, date)
        return StoredTable(table, rows, tombstones, size, oldest, newest, True)

    def _tables(self, names: Keys) -> list[str]:
        found = self._server.command("ZRANGEBYLEX", names.lists, "[t:", "(t;")
        return sorted(whole(decoded(ending)[2:]) for ending in found)

    def _leases(self, names: Keys) -> Iterator[StoredLease]:
        prefix = decoded(names.lease(""))
        for key in sorted(_scanned(self._server, f"{prefix}*")):
            owner, remaining = self._server.command("GET", encoded(key)), self._server.command("PTTL", encoded(key))
            if owner is not None:
                yield StoredLease(key.removeprefix(prefix), decoded(owner), float(remaining))

    def rows(self, table: str) -> Iterator[tuple[StoredRow, float]]:
        """Yield the rows of a table in insertion order, read in batches."""
        _, names = self._now()
        for pks in self._members(names.table(table)):
            texts = self._server.command("MGET", *(names.row(table, pk) for pk in pks))
            for pk, text in zip(pks, texts, strict=True):
                row = row_from_text(table, pk, text) if text else None
                if row is not None:
                    yield row, _used(text)

    def row(self, table: str, pk: str) -> tuple[StoredRow, float] | None:
        """Return one row with its last use in ms since 1970."""
        text = self._server.command("GET", self._now()[1].row(table, pk))
        row = row_from_text(table, pk, text) if text else None
        return None if row is None else (row, _used(text))

    def results(self) -> Iterator[tuple[StoredResult, float]]:
        """Yield all results by key, read in batches."""
        _, names = self._now()
        for keys in self._members(names.results):
            texts = self._server.command("MGET", *map(names.result, keys))
            for key, text in zip(keys, texts, strict=True):
                result = result_from_text(key, text) if text else None
                if result is not None:
                    yield result, _used(text)

    def result(self, key: str) -> tuple[StoredResult, float] | None:
        """Return the result of a key with its last use in ms since 1970."""
        text = self._server.command("GET", self._now()[1].result(key))
        result = result_from_text(key, text) if text else None
        return None if result is None else (result, _used(text))

    def damage(self) -> Sequence[str]:
        """Return no damage: a server has no pages that could be damaged."""
        return []

    def reset(self) -> int:
        """Begin a new, empty epoch, and delete the keys of the old one."""
        info, names = self._now()
        event = [names.space, names.epoch, int(info.get(b"reset", 0)), FORMAT, "reset", info.get(b"place", b"")]
        epoch = int(self._server.run(lua.BEGIN, [names.info], event)[0])
        for key in _scanned(self._server, f"{names.space}:{names.epoch}:*"):
            self._server.command("UNLINK", encoded(key))
        return epoch

    def close(self) -> None:
        """Close the connection."""
        self._server.close()

    def _now(self) -> tuple[dict[bytes, bytes], Keys]:
        found = self._server.command("HGETALL", Keys(self.hash, 0).info)
        info = _pairs(found)
        if not info:
            raise StorageDown(f"nothing lies at {self._server.where} under the namespace {self.hash} any more")
        version = int(info.get(b"format", 0))
        if version > FORMAT:
            raise StorageOff(
                f"the namespace {self.hash} at {self._server.where} has format {version}, and this version of "
                f"restencil knows {FORMAT}; use the newer version"
            )
        return info, Keys(self.hash, int(info[b"epoch"]))

    def _members(self, key: bytes) -> Iterator[list[str]]:
        """Yield the members of a sorted set in its order, in batches."""
        at = 0
        while True:
            found = self._server.command("ZRANGE", key, at, at + _AT_ONCE - 1)
            members = [decoded(member) for member in found if member != lua.MARK]
            if members:
                yield members
            if len(found) < _AT_ONCE:
                return
            at += _AT_ONCE


def _scanned(server: Server, pattern: str) -> Generator[str]:
    """Yield the keys that match a pattern, without duplicates."""
    seen: set[bytes] = set()
    cursor: Any = 0
    while True:
        cursor, found = server.command("SCAN", int(cursor), "MATCH", pattern, "COUNT", 1_000)
        for key in found:
            if key not in seen:
                seen.add(key)
                yield decoded(key)
        if int(cursor) == 0:
            return


def _committed(members: Any) -> float | None:
    return committed_at(_pairs(members).get(b"e"))


def _pairs(reply: Any) -> dict[bytes, bytes]:
    """Return names and values from a reply, which is a dict or a flat list, depending on the client library."""
    if isinstance(reply, dict):
        return cast("dict[bytes, bytes]", reply)
    return dict(zip(reply[::2], reply[1::2], strict=True))


def _used(text: bytes) -> float:
    """Return the time of the last use in ms since 1970, which a stored line has by the hour."""
    return float(int(text.partition(b"\n")[0].split(b" ", 6)[5]) * HOUR)
