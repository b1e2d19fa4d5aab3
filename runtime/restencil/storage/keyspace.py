"""Keys and values of a namespace on a server: each value is a line of numbers, followed by JSON.

A key starts with the hash tag of the namespace, for one slot of a cluster, followed by the epoch and the kind of data.
So data of an older epoch can never be read again.
"""

from __future__ import annotations

import hashlib
import time
from itertools import accumulate, pairwise
from typing import Final

from ..base.values import Meta
from .protocol import Mark, Place, StoredResult, StoredRow

_HOUR: Final = 3_600


def encoded(text: str) -> bytes:
    """Encode a string of any characters as bytes; `decoded` reverses it."""
    return text.encode("utf-8", "surrogatepass")


def decoded(text: bytes | str) -> str:
    """Decode bytes to a string; a string that the client decoded is returned unchanged."""
    return text if isinstance(text, str) else text.decode("utf-8", "surrogatepass")


def split_texts(joined: bytes, lengths: bytes) -> list[bytes]:
    """Split joined strings by their lengths; an empty one represents an absent value."""
    ends = [0, *accumulate(map(int, lengths.split()))]
    return [joined[start:end] for start, end in pairwise(ends)]


def part(name: str) -> str:
    """Escape a name for use in a key, where a colon ends it."""
    return name.replace("%", "%25").replace(":", "%3A")


def whole(name: str) -> str:
    """Unescape a name; the reverse of `part`."""
    return name.replace("%3A", ":").replace("%25", "%")


class Keys:
    """The keys of one epoch of a namespace."""

    def __init__(self, namespace: str, epoch: int) -> None:
        self.epoch = epoch
        self.space = f"{{restencil:{namespace}}}"
        self._prefix = f"{self.space}:{epoch}:"
        #: The hash of epoch, last reset, number, format, versions of tables and counts; it never expires.
        self.info = encoded(f"{self.space}:i")
        #: The stream of log entries, by number.
        self.log = self.named("log")
        #: The sorted set of the key suffixes of all table sets and index hashes.
        self.lists = self.named("n")
        #: The hash of stale marks with the commit that last set each; it has an empty field so that it always exists.
        self.marks = self.named("s")
        #: The sorted set of the keys of all results.
        self.results = self.named("k")

    def named(self, ending: str) -> bytes:
        """Return the key of this epoch with a suffix."""
        return encoded(self._prefix + ending)

    def row(self, table: str, pk: str) -> bytes:
        return encoded(f"{self._prefix}r:{part(table)}:{pk}")

    def result(self, key: str) -> bytes:
        digest = hashlib.blake2b(encoded(key), digest_size=16).hexdigest()
        return encoded(f"{self._prefix}a:{digest}")

    def place(self, place: Place) -> bytes:
        return self.result(place) if isinstance(place, str) else self.row(*place)

    def table(self, table: str) -> bytes:
        """Return the key of the sorted set of a table's primary keys, by arrival."""
        return self.named(f"t:{part(table)}")

    def index(self, table: str, field: str) -> bytes:
        """Return the key of the hash of an index: values and their primary keys."""
        return self.named(f"x:{part(table)}:{part(field)}")

    def writer(self, name: str) -> bytes:
        """Return the key of a writer's last commit: its id and number."""
        return self.named(f"w:{name}")

    def lease(self, name: str) -> bytes:
        return self.named(f"l:{name}")


def mark_field(mark: Mark) -> bytes:
    """Return the field of a mark in the hash of marks."""
    kind, name, pk = mark
    return encoded(f"{kind}:{part(name)}:{pk}")


def row_text(row: StoredRow) -> bytes:
    """Encode a row, without the leading `rev born`; a tombstone is a line alone."""
    return _line(row.times, row.whole_rev, row.shape) + (row.value or b"")


def row_from_text(table: str, pk: str, text: bytes, stale: int = 0) -> StoredRow | None:
    """Decode a row from its stored string and stale mark; None if the string is no row."""
    try:
        rev, born, times, whole, shape, value = _read(text)
    except ValueError:
        return None
    return StoredRow(table, pk, rev, born, times, shape, value or None, whole, stale)


def result_text(result: StoredResult) -> bytes:
    """Encode a result, without the leading `rev`."""
    line = _line(result.times, result.requested_rev, result.shape)
    return b" %d" % result.invalidated + line + encoded(result.key) + b"\n" + (result.value or b"")


def result_from_text(key: str, text: bytes, stale: int = 0) -> StoredResult | None:
    """Decode a result from its stored string and stale mark; None if it is no result, or that of another key."""
    try:
        rev, invalidated, times, requested, shape, rest = _read(text)
    except ValueError:
        return None
    name = encoded(key) + b"\n"
    if not rest.startswith(name):
        return None
    value = rest[len(name) :] or None
    return StoredResult(key, rev, times, shape, bool(invalidated), value, requested, stale)


def _line(times: Meta, known: int, shape: str) -> bytes:
    fetched_at, date, expires_at = times
    used = int(time.time() // _HOUR)
    return encoded(f" {fetched_at!r} {date!r} {expires_at!r} {used} {known} {shape}\n")


def _read(text: bytes) -> tuple[int, int, Meta, int, str, bytes]:
    line, end, rest = text.partition(b"\n")
    if not end:
        raise ValueError
    rev, second, fetched_at, date, expires_at, _, known, shape = line.split(b" ", 7)
    times = Meta(float(fetched_at), float(date), float(expires_at))
    return int(rev), int(second), times, int(known), decoded(shape), rest
