"""What one response brings of each cell, as it was before it was merged with what is stored.

A storage that others write to as well may hold something else of a cell than memory does; then what was brought is laid
over that. It is noted only for stores that have a storage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from ..schema.protocol import EntityNode


class Joins(NamedTuple):
    """What is added to lists and maps of a table, or taken from them: all that it accepts, or the one that is named."""

    table: str
    pk: str | None
    accepts: Callable[[str], bool]
    """Whether it may be about the collection with this primary key."""
    change: Callable[[str, Any], Any]
    """What becomes of a collection, from its primary key and items; the same object where nothing does."""
    refreshes: bool
    """Whether it is as fresh as this where it was accepted, also if nothing becomes of it."""


class Items(NamedTuple):
    """A list or map that was answered as a whole, or a page of one."""

    table: str
    pk: str
    items: Any
    is_page: bool


class Brought:
    """What one action brings; `records` are those whose merge changed them, others lie in the change as they came."""

    __slots__ = ("classes", "collections", "reborn", "records", "replaced", "stale")

    def __init__(self) -> None:
        self.classes: dict[EntityNode, dict[str, None]] = {}
        """By class, the primary keys that it wrote."""
        self.records: dict[str, dict[str, Any]] = {}
        """By table, what came of entities: records and INVALID."""
        self.replaced: set[tuple[str, str]] = set()
        """The entities whose records were to be replaced."""
        self.reborn: set[tuple[str, str]] = set()
        """The entities that were deleted, and then written anew."""
        self.collections: list[Joins | Items] = []
        """What was done to lists and maps, in order."""
        self.stale: list[Callable[[str], bool]] = []
        """Results whose keys one of these accepts turn stale."""

    def wrote(self, node: EntityNode, pks: Iterable[str]) -> None:
        """Records of a class came."""
        known = self.classes.get(node)
        if known is None:
            self.classes[node] = dict.fromkeys(pks)
        else:
            known.update(dict.fromkeys(pks))
