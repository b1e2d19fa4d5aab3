"""The protocol of storages: strings, numbers and bytes under names, in commits numbered without gaps.

A storage knows no schema. It holds *rows* (what lies in a cell of the store's tables), *results* (what lies under the
key of an endpoint), index entries, a log of what each commit changed, and leases. All of that belongs to one
*namespace*: one principal at one place of one API. An *epoch* is its life between two resets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol, TypeAlias, runtime_checkable

from ..base.values import Meta

Cell: TypeAlias = tuple[str, str]
"""Table and primary key."""
Place: TypeAlias = Cell | str
"""A cell, or the key of a result."""
Mark: TypeAlias = tuple[str, str, str]
"""What an event made stale: a kind and its names. `("row", table, pk)` is a record or a list, stored or not, and
`("key", key, "")` a result; other kinds mean nothing to a storage."""
IndexEntry: TypeAlias = tuple[str, str, str]
"""Table, field in JSON, and the text of its value."""


HOUR: Final = 3_600_000
"""Use is noted by the hour, and a tombstone is kept for one at least, in ms."""
MOST_PLACES: Final = 5_000
"""So many places may be asked for in one `load`."""
TRIM_TIME: Final = 0.05
"""A call of `trim` takes about so many seconds at most, and is called again."""


def refuse_too_many(count: int) -> None:
    """Raises ValueError for more places than one `load` gives."""
    if count > MOST_PLACES:
        raise ValueError(f"at most {MOST_PLACES:,} places are loaded at once; these are {count:,}")


def check_count(name: str, value: object, what: str) -> None:
    """Raises ValueError for an argument that is no number of something."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 1 <= value < inf:
        raise ValueError(f"{name} is {value!r:.40}; expected a number of {what}, 1 or more")


class StoredRow(NamedTuple):
    """What a storage holds of a cell; times are its own, in ms."""

    table: str
    pk: str
    rev: int
    """The number of the commit that wrote it; in a `Batch` the one that memory knows, 0 for no row."""
    born: int
    """Orders a table by arrival; given by the storage when a row comes in, and kept while it is there."""
    times: Meta
    """When it was asked for, answered, and turns stale, in ms of the storage's time; may be infinite."""
    shape: str
    """The classes that wrote it, as fingerprints; `""` for a collection."""
    value: bytes | None
    """JSON; None is a tombstone."""
    whole_rev: int = -1
    """The newest commit known when the request started that brought the record whole, or the list; -1: none."""
    stale_rev: int = 0
    """As loaded: the commit in which it last became stale by a mark of its own; a commit is not told it."""


class StoredResult(NamedTuple):
    """What a storage holds under the key of an endpoint; times are its own, in ms."""

    key: str
    rev: int
    times: Meta
    shape: str
    """The endpoint's fingerprint, or `"*"`, which fits all."""
    invalidated: bool
    value: bytes | None
    """JSON; None for no value: the result is invalidated, or the response was a whole table."""
    requested_rev: int = -1
    """The newest commit that was known when the request started; -1: none."""
    stale_rev: int = 0
    """As loaded: the commit in which it last became stale by a mark of its key; a commit is not told it."""


class TableInfo(NamedTuple):
    """What a storage knows of a table as a whole."""

    version: int
    """Grows when a row is added or deleted; 0 if the table is unknown."""
    incomplete: bool
    """Whether rows were dropped, or left out, since the server last said all that is in it; or may have been."""
    lost: bool = True
    """Where it is incomplete: whether rows are known to be missing. False: what is absent was never stored, though rows
    may go without the storage's knowing, so that a list of all rows cannot be believed."""


class Loaded(NamedTuple):
    """The requested places as they were at one moment, without those that are absent."""

    epoch: int
    number: int
    """The newest commit that is in it."""
    rows: list[StoredRow]
    results: list[StoredResult]
    index: dict[IndexEntry, str]  # type: ignore[assignment]  # in place of tuple.index, which says nothing here
    tables: dict[str, TableInfo]
    marks: Mapping[Mark, int] = MappingProxyType({})
    """Of the marks that were asked for, and those of rows that are absent, the commits that set them last."""


class Entry(NamedTuple):
    """What the log says of one commit."""

    number: int
    """Given by the storage."""
    writer: str
    """A random id for each store and process."""
    times: Meta | None
    """Those of `same`."""
    changed: dict[str, list[str]]
    """By table, the primary keys of rows with another value, or with times of their own."""
    same: dict[str, list[str]]
    """By table, the primary keys of rows whose value stayed."""
    gone: dict[str, list[str]]
    """By table, the primary keys of rows that were dropped."""
    keys: list[str]
    """The results that were written, or dropped."""
    everything: bool
    """Whether it is too much to list (over 256 KiB of JSON), so that all is in doubt."""
    commit_id: int = 0
    """The writer's own number of the commit, higher than those of its earlier commits; 0: it has none."""
    stale: tuple[Mark, ...] = ()
    """What became stale; the marks of `Batch.spared` stand at its end."""
    requested_rev: int = -1
    """That of `same`: see `StoredRow.whole_rev`."""


class Spared(NamedTuple):
    """When a commit may say that something is fresh although the commit marks all of its kind."""

    against: tuple[Mark, ...]
    """The marks that do not count for it: what is spared is as fresh as before the commit."""
    known: int
    """None of these may have been set by a later commit than this one, or than the one that spared it before."""


class Batch(NamedTuple):
    """What a commit writes: all of it, or nothing."""

    epoch: int
    rows: list[StoredRow]
    results: list[StoredResult]
    drop: list[Place]
    """What is deleted first, whatever its rev; a deleted row makes its table incomplete."""
    index: dict[IndexEntry, str | None]  # type: ignore[assignment]  # as above
    tables: dict[str, int]
    """The versions of tables that the batch was made from."""
    listed: list[str]
    """Tables that a response of the server listed completely."""
    incomplete: list[str]
    """Tables with rows that are not stored."""
    used: list[Place]
    """What was just used; that makes neither a rev nor an entry."""
    release: list[str]
    """Leases that end with the commit."""
    entry: Entry
    stale: tuple[Mark, ...] = ()
    """What becomes stale: each mark has the number of the commit from then on, also where nothing is stored.

    A mark is no part of what it marks: setting it changes no rev, and conflicts with no batch.
    """
    spared: Mapping[Mark, Spared] = MappingProxyType({})
    """Marks that are set before the others, each only if its `Spared` allows it."""


class Outcome(NamedTuple):
    """What became of a batch."""

    number: int
    """The number of the commit; 0 if nothing was written, or only `used` and `release`, which make no commit."""
    epoch: int
    """The current epoch; if it is not that of the batch, the batch came too late."""
    moved: Loaded | None
    """The rows and tables that are not as the batch says; None where there are none.

    A row of rev 0 in it says that there is none.
    """


class Changes(NamedTuple):
    """What was committed since."""

    epoch: int
    reset: int
    """The epoch that the last reset began."""
    number: int
    entries: list[Entry]
    lost: bool
    """Whether entries in between are gone."""


class Opened(NamedTuple):
    """What a storage says of a namespace that was opened."""

    epoch: int
    reset: int
    number: int
    offset: float
    """The storage's time minus the store's, in ms."""


class Page(NamedTuple):
    """Part of a list of names; `next` asks for the part after it."""

    items: list[str]
    next: str | None


class NamespaceStats(NamedTuple):
    """How much a namespace holds."""

    rows: int
    results: int
    bytes: int


@runtime_checkable
class Storage(Protocol):
    """Keeps what a store holds beyond the life of a process; blocking, and called by several threads at once.

    Methods raise `StorageDown` for what may work later, `StorageOff` for what never will, and `StorageCorrupt`; any
    other `Exception` counts as `StorageDown`. `restencil.testing.check_storage` runs every rule against a storage.
    """

    inline: bool
    """Whether `load` is local: some 10 µs a row, never a network."""
    writable: bool
    write_behind: float
    """How long a change may wait for others before it is committed, in ms."""
    poll: float
    """The interval between calls of `changes`, if that cannot wait, in ms."""
    max_age: float
    """What was received longer ago than this, in ms, is absent."""
    lease_wait: float
    """How long a request waits for that of another process, in ms; 0: there are no leases."""

    def open(self, place: str, now: Callable[[], float], /) -> Opened:
        """Finds or makes the namespace; costs the same for ten rows and a million. `now` is the store's time."""
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
        """Loads these places at one moment, without those that are absent. At most 5,000 places a call."""
        ...

    def scan(self, table: str | None, after: str | None, limit: int, /) -> Page:
        """Primary keys of a table in order of arrival, or for None the keys of all results; page by page.

        A page may miss what comes during the scan.
        """
        ...

    def commit(self, batch: Batch, /) -> Outcome:
        """Writes all of it with its entry, or nothing.

        A batch whose `entry.commit_id` is the id of the writer's last commit was written before: nothing is written
        again, and the outcome is that commit's. One with a lower id comes too late: nothing is written, and the number
        is 0. Storages remember the last id of a writer for an hour at least.
        A row whose rev is not the batch's, or a table of another version, moves the whole batch. A result that is there
        with a later `date` stays, silently. A table that was `listed` has a version from 1 on, empty or not.
        """
        ...

    def changes(self, after: int, wait: float, /) -> Changes:
        """The entries after a number, with own ones; waits for one up to `wait` ms if it can."""
        ...

    def lease(self, name: str, owner: str, length: float, /) -> bool:
        """Takes or renews a lease for `length` ms, or gives it back with 0; whether the owner has it."""
        ...

    def reset(self, /) -> int:
        """Begins a new, empty epoch and returns it; nothing that is committed to an older one is ever read again."""
        ...

    def trim(self, /) -> int:
        """Deletes what is over the bounds and returns how many; takes at most 50 ms, so it is called again.

        What goes is a commit of nobody (`writer=""`) with an entry: rows in `gone`, results in `keys`.
        """
        ...

    def stats(self, /) -> NamespaceStats:
        """How much the namespace holds."""
        ...

    def close(self, /) -> None:
        """Lets connections go; a later call opens new ones. Safe to call twice."""
        ...


@runtime_checkable
class LeasesAtOnce(Protocol):
    """A storage that gives many leases in one go. It need not: one that does not is asked for each."""

    def leases(self, wanted: Sequence[tuple[str, str]], length: float, /) -> list[bool]:
        """What `lease` says of each name and owner."""
        ...


def leases_of(storage: Storage, wanted: Sequence[tuple[str, str]], length: float) -> list[bool]:
    """For each name and owner, whether the owner has the lease for `length` ms; a length of 0 gives all back."""
    if isinstance(storage, LeasesAtOnce):
        return storage.leases(wanted, length)
    return [storage.lease(name, owner, length) for name, owner in wanted]
