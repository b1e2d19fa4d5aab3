"""What the inspection of a storage gives: namespaces, and what is in each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple, Protocol

from restencil.storage import StoredResult, StoredRow

if TYPE_CHECKING:
    from collections.abc import Sequence


class StoredTable(NamedTuple):
    """How much of a table is held."""

    name: str
    rows: int
    tombstones: int
    bytes: int
    """Of the JSON of its rows."""
    oldest: float | None
    """When the row that was answered longest ago was answered, in ms; None where there is none."""
    newest: float | None
    incomplete: bool


class StoredLease(NamedTuple):
    """A lease that somebody holds, and how long it lasts from now on, in ms."""

    name: str
    owner: str
    remaining: float


class NamespaceSummary(NamedTuple):
    """A namespace at one moment; times are in ms since 1970."""

    place: str
    """The beginning of the URLs of its data; `""` if it is not known."""
    epoch: int
    begun: float
    bytes: int
    committed: float | None
    """When the last commit was; None where there was none."""
    first: int
    """The oldest commit that the log still has, 0 where it has none."""
    last: int
    tables: list[StoredTable]
    results: int
    result_bytes: int
    leases: list[StoredLease]
    free_pages: int


class StoredNamespace(Protocol):
    """The data of one principal at one place. Methods raise `StorageError`."""

    @property
    def hash(self) -> str:
        """Its name in files and keys."""
        ...

    def summary(self) -> NamespaceSummary:
        """How much there is, by table."""
        ...

    def rows(self, table: str) -> Iterator[tuple[StoredRow, float]]:
        """The rows of a table by arrival, each with its last use in ms."""
        ...

    def row(self, table: str, pk: str) -> tuple[StoredRow, float] | None:
        """One row, with its last use in ms; None where there is none."""
        ...

    def results(self) -> Iterator[tuple[StoredResult, float]]:
        """All results by key, each with its last use in ms."""
        ...

    def result(self, key: str) -> tuple[StoredResult, float] | None:
        """The result under a key, with its last use in ms; None where there is none."""
        ...

    def damage(self) -> Sequence[str]:
        """What is wrong with it as a whole, one text each."""
        ...

    def reset(self) -> int:
        """Begins a new, empty epoch, and returns it. This, and this alone, changes what is there."""
        ...

    def close(self) -> None:
        """Lets connections go."""
        ...
