"""Keys and values of a namespace on a server: each value is a line of numbers, then JSON.

A key leads with what lies in one slot of a cluster, then the epoch, then what kind of thing it is of. So nothing of an
epoch that is over can be met again.
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
    """Split joined texts by their lengths; an empty one means that there is none."""
    ends = [0, *accumulate(map(int, lengths.split()))]
    return [joined[start:end] for start, end in pairwise(ends)]


def part(name: str) -> str:
    """A name that is followed by more: without the colon that ends it."""
    return name.replace("%", "%25").replace(":", "%3A")


def whole(name: str) -> str:
    """What `part` was made of."""
    return name.replace("%3A", ":").replace("%25", "%")


class Keys:
    """The keys of one epoch of a namespace."""

    def __init__(self, namespace: str, epoch: int) -> None:
        self.epoch = epoch
        self.space = f"{{restencil:{namespace}}}"
        self._prefix = f"{self.space}:{epoch}:"
        #: Epoch, last reset, number, format, versions of tables, counts: never expires.
        self.info = encoded(f"{self.space}:i")
        #: A stream of entries, by number.
        self.log = self.named("log")
        #: The endings of the names of all sets of tables and of all hashes.
        self.lists = self.named("n")
        #: A hash of stale marks, each with the commit that set it last, and an empty field once it was begun.
        self.marks = self.named("s")
        #: A sorted set of the keys of all results.
        self.results = self.named("k")

    def named(self, ending: str) -> bytes:
        """The key with this ending."""
        return encoded(self._prefix + ending)

    def row(self, table: str, pk: str) -> bytes:
        return encoded(f"{self._prefix}r:{part(table)}:{pk}")

    def result(self, key: str) -> bytes:
        digest = hashlib.blake2b(encoded(key), digest_size=16).hexdigest()
        return encoded(f"{self._prefix}a:{digest}")

    def place(self, place: Place) -> bytes:
        return self.result(place) if isinstance(place, str) else self.row(*place)

    def table(self, table: str) -> bytes:
        """A sorted set of the primary keys of a table's rows, by arrival."""
        return self.named(f"t:{part(table)}")

    def index(self, table: str, field: str) -> bytes:
        """The hash of an index: values and their primary keys."""
        return self.named(f"x:{part(table)}:{part(field)}")

    def writer(self, name: str) -> bytes:
        """A hash of a writer's last commit."""
        return self.named(f"w:{name}")

    def lease(self, name: str) -> bytes:
        return self.named(f"l:{name}")


def mark_field(mark: Mark) -> bytes:
    """The field of the hash of marks that has a mark."""
    kind, name, pk = mark
    return encoded(f"{kind}:{part(name)}:{pk}")


def row_text(row: StoredRow) -> bytes:
    """What is stored of a row after `rev born`: a tombstone ends with its line."""
    return _line(row.times, row.whole_rev, row.shape) + (row.value or b"")


def row_from_text(table: str, pk: str, text: bytes, stale: int = 0) -> StoredRow | None:
    """Decode a row from its stored string and stale mark; None if the string is no row."""
    try:
        rev, born, times, whole, shape, value = _read(text)
    except ValueError:
        return None
    return StoredRow(table, pk, rev, born, times, shape, value or None, whole, stale)


def result_text(result: StoredResult) -> bytes:
    """What is stored of a result after `rev`."""
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
