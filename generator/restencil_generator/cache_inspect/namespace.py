"""The data types of inspection: namespaces, and their tables and leases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple, Protocol

from restencil.storage import StoredResult, StoredRow

if TYPE_CHECKING:
    from collections.abc import Sequence


class StoredTable(NamedTuple):
    """The size of a table, and the ages of its rows."""

    name: str
    rows: int
    tombstones: int
    bytes: int
    """Size of the JSON of its rows."""
    oldest: float | None
    """Date of the oldest response among the rows, in ms since 1970; None if there are no rows."""
    newest: float | None
    incomplete: bool


class StoredLease(NamedTuple):
    """A lease that is held, with its owner and the remaining time in ms."""

    name: str
    owner: str
    remaining: float


class NamespaceSummary(NamedTuple):
    """A snapshot of a namespace; times are in ms since 1970."""

    place: str
    """The common prefix of the URLs of its data; `""` if it is not known."""
    epoch: int
    begun: float
    bytes: int
    committed: float | None
    """The time of the last commit; None if there was none."""
    first: int
    """The oldest commit in the log, 0 if the log is empty."""
    last: int
    tables: list[StoredTable]
    results: int
    result_bytes: int
    leases: list[StoredLease]
    free_pages: int


class StoredNamespace(Protocol):
    """The stored data of one principal of one API. Methods raise `StorageError`."""

    @property
    def hash(self) -> str:
        """The name of the namespace in files and keys."""
        ...

    def summary(self) -> NamespaceSummary:
        """Return sizes and counts, by table."""
        ...

    def rows(self, table: str) -> Iterator[tuple[StoredRow, float]]:
        """Yield the rows of a table in insertion order, each with its last use in ms since 1970."""
        ...

    def row(self, table: str, pk: str) -> tuple[StoredRow, float] | None:
        """Return one row with its last use in ms since 1970; None if it does not exist."""
        ...

    def results(self) -> Iterator[tuple[StoredResult, float]]:
        """Yield all results by key, each with its last use in ms since 1970."""
        ...

    def result(self, key: str) -> tuple[StoredResult, float] | None:
        """Return the result of a key with its last use in ms since 1970; None if it does not exist."""
        ...

    def damage(self) -> Sequence[str]:
        """Return a description of each damage to the storage."""
        ...

    def reset(self) -> int:
        """Begin a new, empty epoch, and return it. Only this method changes stored data."""
        ...

    def close(self) -> None:
        """Close connections."""
        ...
