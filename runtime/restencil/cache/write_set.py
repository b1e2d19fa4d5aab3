"""The operations of one response on each cell, before they are merged with stored data.

A storage that other processes write to may have different data than memory; then the operations are applied to that.
They are recorded only for stores with a storage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

if TYPE_CHECKING:
    from ..schema.entity import EntitySchema
    from .request import Rules
    from .tables import EntityPath

T = TypeVar("T")

Records: TypeAlias = "tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]"
"""The records of an entity before and after an action; None if there is none."""


class MergeRecord(NamedTuple):
    """A record is merged with the stored one."""

    node: EntitySchema
    record: Mapping[str, Any]
    rules: Rules | None = None
    """The rules of the endpoint; None for a value that was set."""
    is_recreated: bool = False
    """Whether the response deleted the stored record before."""
    keeps_whole: bool = False
    """Whether it leaves the last response with the complete record, because its data may not be the server's."""


class ReplaceRecord(NamedTuple):
    """A record replaces the stored one."""

    node: EntitySchema
    record: Mapping[str, Any]


class DeleteRecord(NamedTuple):
    """A record is deleted."""


class Expire(NamedTuple):
    """A record or list expires."""


class EditList(NamedTuple):
    """Items are added to or removed from lists and maps of a table: of one, or of all that match."""

    table: str
    pk: str | None
    accepts: Callable[[str], bool]
    """Whether the edit may concern the collection with this primary key."""
    change: Callable[[str, Any], Any]
    """Returns the changed items of a collection, from its primary key and items; the same object if unchanged."""
    refreshes: bool
    """Whether matching collections get the times of the action, also if they are unchanged."""
    moved: Mapping[EntityPath, Records]
    """The entities whose records determine the edit, as memory knew them."""
    change_of: Callable[[Mapping[EntityPath, Records]], Callable[[str, Any], Any]] | None
    """Returns `change` for other records of these entities."""
    keeps_times: bool = False
    """Whether added items leave the times of the list unchanged."""


class PutList(NamedTuple):
    """A complete list or map from a response, or a page of one."""

    table: str
    pk: str
    items: Any
    is_page: bool
    keeps_times: bool = False
    """Whether an added page leaves the times of the list unchanged."""


Operation: TypeAlias = MergeRecord | ReplaceRecord | DeleteRecord | Expire | EditList | PutList
"""An operation of an action on one record or list."""


class WriteSet:
    """The operations of one action; `records` are those that merging changed, others are in the change unmodified."""

    # Rare members are class attributes while they are empty. (Benchmark: write of one entity over a storage.)
    replaced: AbstractSet[EntityPath] = frozenset()
    """The entities whose records are replaced."""
    recreated: AbstractSet[EntityPath] = frozenset()
    """The entities that are deleted, and then written again."""
    collections: Sequence[EditList | PutList] = ()
    """The operations on lists and maps, in order."""
    stale: Sequence[Callable[[str], bool]] = ()
    """Tests of keys; matching results become stale."""

    keeps_whole = False
    """Whether it leaves the last responses with complete records, because its data may not be the server's."""
    page: tuple[str, Any] | None = None
    """The key of the list of a page, and its new result; UNDEFINED: the result is unchanged."""

    def __init__(self, records: Mapping[str, Mapping[str, Any]]) -> None:
        self.records = records
        """By table and primary key, the received records, or INVALID."""
        self.written: list[Any] = []
        """Alternately a class and a tuple of the written primary keys."""

    @cached_property
    def classes(self) -> dict[EntitySchema, dict[str, None]]:
        """By class, the written primary keys; use it only after all writes."""
        found: dict[EntitySchema, dict[str, None]] = {}
        for node, pks in zip(self.written[::2], self.written[1::2], strict=True):
            found.setdefault(node, {}).update(dict.fromkeys(pks))
        return found

    def wrote(self, node: EntitySchema, pks: Iterable[str]) -> None:
        """Record that records of a class were written."""
        self.written += node, tuple(pks)

    def replaces(self, cell: EntityPath) -> None:
        """Record that the record of an entity is replaced."""
        self.replaced = _more_cells(self.replaced, cell)

    def recreates(self, cell: EntityPath) -> None:
        """Record that an entity is deleted, and then written again."""
        self.recreated = _more_cells(self.recreated, cell)

    def did(self, piece: EditList | PutList) -> None:
        """Record an operation on a list or map."""
        self.collections = _more(self.collections, piece)

    def expires(self, test: Callable[[str], bool]) -> None:
        """Record that results whose keys match a test become stale."""
        self.stale = _more(self.stale, test)


def _more_cells(cells: AbstractSet[EntityPath], cell: EntityPath) -> AbstractSet[EntityPath]:
    found = cells if isinstance(cells, set) else set(cells)
    found.add(cell)
    return found


def _more(found: Sequence[T], one: T) -> Sequence[T]:
    longer = found if isinstance(found, list) else [*found]
    longer.append(one)
    return longer
