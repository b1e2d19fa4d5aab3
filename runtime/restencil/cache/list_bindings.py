"""Which lists the result of a key contains, so that a change of a list can update the key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..schema.collection import PagedCollection, find_collection
from .tables import ListBinding

if TYPE_CHECKING:
    from ..schema.protocol import Schema
    from .request import Request
    from .tables import ChangeSet, EntityPath


def bind_lists(change: ChangeSet, request: Request) -> None:
    """Records under which key a response contained lists."""
    rules = request.rules
    change.list_bindings += (binding_of(cell, collection, request) for cell, collection in change.full_lists.items())
    for cell, collection in change.pages.items():
        if isinstance(collection, PagedCollection):
            change.list_bindings.append(
                ListBinding(cell, collection, request.key, rules.lists.total, True, rules.lists.exact_filters)
            )


def binding_of(cell: EntityPath, collection: Any, request: Request) -> ListBinding:
    """The key of a request as the place of a list that is in its result."""
    rules = request.rules
    is_own = collection is find_collection(rules.schema)
    exact = rules.lists.exact_filters if is_own else None
    is_page, has_more = is_own and rules.lists.pages, is_own and _has_more(rules.schema, rules.lists.total)
    return ListBinding(cell, collection, request.key, rules.lists.total, is_page, exact, has_more)


def _has_more(schema: Schema | None, total: tuple[str, ...]) -> bool:
    """Whether an object has members beside its lists, other than the total."""
    return schema is not None and any((name,) != total for name in schema.plain_members)
