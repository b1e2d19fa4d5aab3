"""Reading: what a read touches and memory does not know is loaded before it looks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..cache.contents import Contents
    from ..cache.lookup import Lookup
    from ..cache.request import Request
    from ..cache.store import Store
    from .below import Below
    from .writer import Writer


class Knowing:
    """Makes known what reads touch (locked)."""

    def __init__(self, store: Store, contents: Contents, lookup: Lookup, below: Below, writer: Writer) -> None:
        self._store = store
        self._contents = contents
        self._lookup = lookup
        self._below = below
        self._writer = writer

    def know(self, request: Request) -> None:
        """What a read of the endpoint touches is brought into memory."""

    def know_value(self, schema: Any, args: tuple[Any, ...]) -> None:
        """Before the value of a schema is read from the tables: what it touches is brought into memory."""

    def close(self) -> None:
        """Nothing is loaded any more."""

    def forked(self) -> None:
        """This is the child."""
