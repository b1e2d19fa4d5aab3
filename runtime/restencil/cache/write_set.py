"""The operations of one response on each cell, before they are merged with stored data.

A storage that other processes write to may have different data than memory; then the operations are applied to that.
They are recorded only for stores with a storage.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from ..schema.entity import EntitySchema
    from .request import Rules
    from .tables import EntityPath

Records: TypeAlias = "tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]"
"""The records of an entity before and after an action; None if there is none."""

_NO_ENTITIES: Final[Mapping[EntityPath, Records]] = {}


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
    refreshes: bool = False
    """Whether matching collections get the times of the action, also if they are unchanged."""
    moved: Mapping[EntityPath, Records] = _NO_ENTITIES
    """The entities whose records determine the edit, as memory knew them."""
    change_of: Callable[[Mapping[EntityPath, Records]], Callable[[str, Any], Any]] | None = None
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

    keeps_whole = False
    """Whether it leaves the last responses with complete records, because its data may not be the server's."""
    page: str | None = None
    """The key of the list of a page."""

    def __init__(self, records: Mapping[str, Mapping[str, Any]]) -> None:
        self.records = records
        """By table and primary key, the received records, or INVALID."""
        self.written: list[Any] = []
        """Alternately a class and a tuple of the written primary keys."""
        self.replaced: set[EntityPath] = set()
        """The entities whose records are replaced."""
        self.recreated: set[EntityPath] = set()
        """The entities that are deleted, and then written again."""
        self.collections: list[EditList | PutList] = []
        """The operations on lists and maps, in order."""
        self.stale: list[Callable[[str], bool]] = []
        """Tests of keys; matching results become stale."""

    @cached_property
    def classes(self) -> dict[EntitySchema, dict[str, None]]:
        """By class, the written primary keys; use it only after all writes."""
        found: dict[EntitySchema, dict[str, None]] = {}
        for node, pks in zip(self.written[::2], self.written[1::2], strict=True):
            found.setdefault(node, {}).update(dict.fromkeys(pks))
        return found
