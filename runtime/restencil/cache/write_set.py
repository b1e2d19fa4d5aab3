"""What one response brings of each cell, as it was before it was merged with what is stored.

A storage that others write to as well may hold something else of a cell than memory does; then what was brought is laid
over that. It is noted only for stores that have a storage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

if TYPE_CHECKING:
    from ..schema.protocol import EntityNode
    from .request import Rules
    from .tables import EntityPath

T = TypeVar("T")

Records: TypeAlias = "tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]"
"""What an entity was before an action, and what it is after that; None for nothing."""


class MergeRecord(NamedTuple):
    """A record that comes to what is there."""

    node: EntityNode
    record: Mapping[str, Any]
    rules: Rules | None = None
    """Those of the endpoint that was answered; None for a value that was set."""
    is_recreated: bool = False
    """Whether the response says that what was there was deleted before."""
    keeps_whole: bool = False
    """Whether the record is as whole as before: nobody knows whether the server has it so."""


class ReplaceRecord(NamedTuple):
    """A record that takes the place of what is there."""

    node: EntityNode
    record: Mapping[str, Any]


class DeleteRecord(NamedTuple):
    """A record is gone."""


class Expire(NamedTuple):
    """A record or list has expired."""


class EditList(NamedTuple):
    """What is added to lists and maps of a table, or taken from them: all that it accepts, or the one that is named."""

    table: str
    pk: str | None
    accepts: Callable[[str], bool]
    """Whether it may be about the collection with this primary key."""
    change: Callable[[str, Any], Any]
    """What becomes of a collection, from its primary key and items; the same object where nothing does."""
    refreshes: bool
    """Whether it is as fresh as this where it was accepted, also if nothing becomes of it."""
    moved: Mapping[EntityPath, Records]
    """The entities whose records decide it, as memory knew them."""
    change_of: Callable[[Mapping[EntityPath, Records]], Callable[[str, Any], Any]] | None
    """`change`, as other records of these entities tell it."""
    keeps_times: bool = False
    """Whether the list is as old as before, whatever joins it."""


class PutList(NamedTuple):
    """A list or map that was answered as a whole, or a page of one."""

    table: str
    pk: str
    items: Any
    is_page: bool
    keeps_times: bool = False
    """Whether the list is as old as before, whatever page comes to it."""


Operation: TypeAlias = MergeRecord | ReplaceRecord | DeleteRecord | Expire | EditList | PutList
"""What an action does to one record or list."""


class WriteSet:
    """What one action brings; `records` are those whose merge changed them, others lie in the change as they came."""

    # What is rarely there is the class's as long as it is empty. (Benchmark: write of one entity over a storage.)
    replaced: AbstractSet[EntityPath] = frozenset()
    """The entities whose records were to be replaced."""
    recreated: AbstractSet[EntityPath] = frozenset()
    """The entities that were deleted, and then written anew."""
    collections: Sequence[EditList | PutList] = ()
    """What was done to lists and maps, in order."""
    stale: Sequence[Callable[[str], bool]] = ()
    """Results whose keys one of these accepts turn stale."""

    keeps_whole = False
    """Whether records are as whole as before: nobody knows whether the server has them so."""
    page: tuple[str, Any] | None = None
    """The key of the list that it is a page of, and what lies there from then on; UNDEFINED for what is there."""

    def __init__(self, records: Mapping[str, Mapping[str, Any]]) -> None:
        self.records = records
        """By table, what came of entities: records and INVALID."""
        self.written: list[Any] = []
        """A class and the primary keys that it wrote, the next class and those, and so on."""

    @cached_property
    def classes(self) -> dict[EntityNode, dict[str, None]]:
        """By class, the primary keys that it wrote, once all is written."""
        found: dict[EntityNode, dict[str, None]] = {}
        for node, pks in zip(self.written[::2], self.written[1::2], strict=True):
            found.setdefault(node, {}).update(dict.fromkeys(pks))
        return found

    def wrote(self, node: EntityNode, pks: Iterable[str]) -> None:
        """Records of a class came."""
        self.written += node, tuple(pks)

    def replaces(self, cell: EntityPath) -> None:
        """The record of an entity was to be replaced."""
        self.replaced = _more_cells(self.replaced, cell)

    def recreates(self, cell: EntityPath) -> None:
        """An entity was deleted, and then written anew."""
        self.recreated = _more_cells(self.recreated, cell)

    def did(self, piece: EditList | PutList) -> None:
        """Something was done to a list or map."""
        self.collections = _more(self.collections, piece)

    def expires(self, test: Callable[[str], bool]) -> None:
        """Results whose keys this accepts turn stale."""
        self.stale = _more(self.stale, test)


def _more_cells(cells: AbstractSet[EntityPath], cell: EntityPath) -> AbstractSet[EntityPath]:
    found = cells if isinstance(cells, set) else set(cells)
    found.add(cell)
    return found


def _more(found: Sequence[T], one: T) -> Sequence[T]:
    longer = found if isinstance(found, list) else [*found]
    longer.append(one)
    return longer
