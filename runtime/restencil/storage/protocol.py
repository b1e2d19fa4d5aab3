"""The protocol of storages: rows and results as bytes, written in commits that are numbered without gaps.

A storage does not use schemas. It contains *rows* (the entries of a store's tables), *results* (the values of endpoint
keys), index entries, a log of the changes of each commit, and leases. All of these belong to one *namespace*: one
principal at one place of one API. An *epoch* is the time of a namespace between two resets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol, TypeAlias, runtime_checkable

from ..base.values import Meta

Cell: TypeAlias = tuple[str, str]
"""The address of a row: table and primary key."""
Place: TypeAlias = Cell | str
"""The address of a row or result: a cell, or the key of a result."""
Mark: TypeAlias = tuple[str, str, str]
"""The data that an event made stale: a kind and its names. `("row", table, pk)` is a record or a list, stored or not,
and `("key", key, "")` a result; other kinds have no meaning for storages."""
IndexEntry: TypeAlias = tuple[str, str, str]
"""An entry of an index: table, JSON name of the field, and its value as a string."""


HOUR: Final = 3_600_000
"""The precision of times of use, and the minimum lifetime of a tombstone, in ms."""
MOST_PLACES: Final = 5_000
"""The maximum number of places in one `load`."""
TRIM_TIME: Final = 0.05
"""The maximum duration of a call of `trim` in seconds; it is called again."""


def refuse_too_many(count: int) -> None:
    """Raise ValueError for more than `MOST_PLACES` places."""
    if count > MOST_PLACES:
        raise ValueError(f"{count:,} places were requested at once; at most {MOST_PLACES:,} can be loaded")


def check_count(name: str, value: object, what: str) -> None:
    """Raise ValueError for an argument that is not a finite number of at least 1."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 1 <= value < inf:
        raise ValueError(f"{name} is {value!r:.40}; expected a number of {what}, 1 or more")


class StoredRow(NamedTuple):
    """A stored row; times are in ms of the storage's clock."""

    table: str
    pk: str
    rev: int
    """The number of the commit that wrote the row; in a `Batch` the one that memory knows, 0 for no row."""
    born: int
    """The position of the row in its table by arrival; assigned by the storage, constant until the row is dropped."""
    times: Meta
    """When the row was requested, received, and becomes stale, in ms of the storage's clock; may be infinite."""
    shape: str
    """The fingerprints of the classes that wrote the row; `""` for a collection."""
    value: bytes | None
    """JSON; None is a tombstone."""
    whole_rev: int = -1
    """The newest known commit at the start of the request that returned the complete record or list; -1: none."""
    stale_rev: int = 0
    """Set by loads: the last commit that marked the row as stale; ignored in commits."""


class StoredResult(NamedTuple):
    """The stored result of an endpoint key; times are in ms of the storage's clock."""

    key: str
    rev: int
    times: Meta
    shape: str
    """The fingerprint of the endpoint, or `"*"`, which matches all."""
    invalidated: bool
    value: bytes | None
    """JSON; None for no value: the result is invalidated, or the response was a whole table."""
    requested_rev: int = -1
    """The newest known commit at the start of the request; -1: none."""
    stale_rev: int = 0
    """Set by loads: the last commit that marked the key as stale; ignored in commits."""


class TableInfo(NamedTuple):
    """The state of a table as a whole."""

    version: int
    """Grows when a row is added or deleted; 0 if the table is unknown."""
    incomplete: bool
    """Whether rows were dropped or left out, or may have been, since a response last listed the complete table."""
    lost: bool = True
    """Whether an incomplete table is known to have lost rows. If False, absent rows were never stored as far as the
    storage knows, but rows may expire unnoticed, so that the list of all rows is not reliable."""


class Loaded(NamedTuple):
    """The requested rows and results as of one moment, without absent ones."""

    epoch: int
    number: int
    """The newest commit that is included."""
    rows: list[StoredRow]
    results: list[StoredResult]
    index: dict[IndexEntry, str]  # type: ignore[assignment]  # replaces tuple.index, which is not needed here
    tables: dict[str, TableInfo]
    marks: Mapping[Mark, int] = MappingProxyType({})
    """The commits that last set the requested marks, and those of absent rows."""


class Entry(NamedTuple):
    """The log entry of one commit."""

    number: int
    """The number of the commit, assigned by the storage."""
    writer: str
    """A random id for each store and process."""
    times: Meta | None
    """The new times of the rows in `same`."""
    changed: dict[str, list[str]]
    """By table, the primary keys of rows with another value, or with times of their own."""
    same: dict[str, list[str]]
    """By table, the primary keys of rows with an unchanged value."""
    gone: dict[str, list[str]]
    """By table, the primary keys of dropped rows."""
    keys: list[str]
    """The keys of results that were written or dropped."""
    everything: bool
    """Whether the changes are too many to list (over 256 KiB of JSON), so that everything may have changed."""
    commit_id: int = 0
    """The writer's own number of the commit, higher than those of its earlier commits; 0: it has none."""
    stale: tuple[Mark, ...] = ()
    """The marks that were set, with those of `Batch.spared` at the end."""
    requested_rev: int = -1
    """The `StoredRow.whole_rev` of the rows in `same`."""


class Spared(NamedTuple):
    """The condition under which data stays fresh although the commit marks all data of its kind as stale."""

    against: tuple[Mark, ...]
    """The marks of the commit that do not apply to the spared data."""
    known: int
    """None of these may have been set after this commit, or after the commit that last spared the same data."""


class Batch(NamedTuple):
    """The operations of one commit; all of them are written, or none."""

    epoch: int
    rows: list[StoredRow]
    results: list[StoredResult]
    drop: list[Place]
    """Rows and results to delete first, whatever their rev; a deleted row makes its table incomplete."""
    index: dict[IndexEntry, str]  # type: ignore[assignment]  # as above
    tables: dict[str, int]
    """The versions of the tables that the batch is based on."""
    listed: list[str]
    """Tables that a response listed completely."""
    incomplete: list[str]
    """Tables with rows that are not stored."""
    used: list[Place]
    """Rows and results that were just used; recording this makes neither a rev nor an entry."""
    release: list[str]
    """Leases that end with the commit."""
    entry: Entry
    stale: tuple[Mark, ...] = ()
    """Marks of data that becomes stale: each mark gets the number of the commit, whether or not the data is stored.

    Marks are separate from the data: setting one changes no rev, and conflicts with no batch.
    """
    spared: Mapping[Mark, Spared] = MappingProxyType({})
    """Marks that are set before the others, each only if its `Spared` condition holds."""


class Outcome(NamedTuple):
    """The outcome of a commit."""

    number: int
    """The number of the commit; 0 if nothing was written, or only `used` and `release`, which make no commit."""
    epoch: int
    """The current epoch; if it differs from that of the batch, the batch came too late."""
    moved: Loaded | None
    """The stored rows and tables that the batch conflicts with; None without a conflict.

    A row with rev 0 is not stored.
    """


class Changes(NamedTuple):
    """The commits after a number."""

    epoch: int
    reset: int
    """The epoch that began with the last reset."""
    number: int
    entries: list[Entry]
    lost: bool
    """Whether some of the entries are missing from the log."""


class Opened(NamedTuple):
    """The state of a namespace when it is opened."""

    epoch: int
    reset: int
    number: int
    offset: float
    """The storage's time minus the store's, in ms."""


class Page(NamedTuple):
    """A part of a list of names; pass `next` as `after` to get the next part."""

    items: list[str]
    next: str | None


class NamespaceStats(NamedTuple):
    """The size of a namespace."""

    rows: int
    results: int
    bytes: int


@runtime_checkable
class Storage(Protocol):
    """Persists the data of stores. Methods block, and are called by several threads at once.

    Methods raise `StorageDown` for an error that may be temporary, `StorageOff` for a permanent one, and
    `StorageCorrupt`; any other `Exception` counts as `StorageDown`. `restencil.testing.check_storage` checks a storage.
    """

    inline: bool
    """Whether `load` is local: about 10 µs for a row, and never over a network."""
    writable: bool
    write_behind: float
    """How long a change may wait for others before it is committed, in ms."""
    poll: float
    """The interval between calls of `changes`, if that cannot wait, in ms."""
    max_age: float
    """Data that was received longer ago than this, in ms, is absent."""
    lease_wait: float
    """How long a request waits for the same request of another process, in ms; 0: there are no leases."""

    def open(self, place: str, now: Callable[[], float], /) -> Opened:
        """Open or create the namespace of a place, in constant time for any size. `now` returns the store's time."""
        ...

    def load(
        self,
        cells: Sequence[Cell],
        keys: Sequence[str] = (),
        index: Sequence[IndexEntry] = (),
        tables: Sequence[str] = (),
        marks: Sequence[Mark] = (),
        /,
    ) -> Loaded:
        """Load rows, results, index entries, tables and marks as of one moment; at most 5,000 places in one call."""
        ...

    def scan(self, table: str | None, after: str | None, limit: int, /) -> Page:
        """Return a page of the primary keys of a table by arrival, or for None of the keys of all results.

        Pages may miss rows and results that are added during the scan.
        """
        ...

    def commit(self, batch: Batch, /) -> Outcome:
        """Write a batch and its entry completely, or nothing.

        A batch whose `entry.commit_id` is the id of the writer's last commit was written before: nothing is written
        again, and the outcome is that of the commit. One with a lower id comes too late: nothing is written, and the
        number is 0. Storages remember the last id of a writer for at least an hour.
        A stored row with another rev than in the batch, or a table of another version, moves the whole batch. A stored
        result with a later `date` stays, without a conflict. A `listed` table has a version of at least 1, even if it
        is empty.
        """
        ...

    def changes(self, after: int, wait: float, /) -> Changes:
        """Return the log entries after a number, including own ones; wait up to `wait` ms for one if possible."""
        ...

    def lease(self, name: str, owner: str, length: float, /) -> bool:
        """Take or renew a lease for `length` ms, or release it with 0; return whether the owner has it."""
        ...

    def reset(self, /) -> int:
        """Begin a new, empty epoch and return it; data of older epochs is never read again."""
        ...

    def trim(self, /) -> int:
        """Delete data beyond the limits and return the count; takes at most 50 ms, so it is called repeatedly.

        The deletion is a commit without a writer (`writer=""`) with an entry: rows in `gone`, results in `keys`.
        """
        ...

    def stats(self, /) -> NamespaceStats:
        """Return the size of the namespace."""
        ...

    def close(self, /) -> None:
        """Close all connections; a later call opens new ones. It may be called twice."""
        ...


@runtime_checkable
class LeasesAtOnce(Protocol):
    """A storage that can take several leases in one call; other storages are called for each lease."""

    def leases(self, wanted: Sequence[tuple[str, str]], length: float, /) -> list[bool]:
        """Return the result of `lease` for each name and owner."""
        ...


def leases_of(storage: Storage, wanted: Sequence[tuple[str, str]], length: float) -> list[bool]:
    """Take or renew leases for `length` ms, or release them with 0; return for each whether the owner has it."""
    if isinstance(storage, LeasesAtOnce):
        return storage.leases(wanted, length)
    return [storage.lease(name, owner, length) for name, owner in wanted]
