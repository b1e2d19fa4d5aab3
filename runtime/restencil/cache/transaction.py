"""The transaction of one response: the data that its stages read and write."""

from __future__ import annotations

from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..base.values import UNDEFINED
from .addressed import entities_of_url
from .normalize import Normalization
from .staleness import StaleSet

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from ..base.values import Meta
    from ..schema.protocol import Subject
    from .reader import CacheReader
    from .request import Request
    from .request_log import Answered
    from .tables import EntityPath, State
    from .transition import Transition


class Source(Enum):
    """The origin of a response, which decides how it is processed."""

    RECEIVED = "received"
    """From the network or set by hand; it is stored."""
    OUTDATED = "outdated"
    """Received after the store was reset: it is only the value of its call."""
    EXPECTED = "expected"
    """An optimistic response: entities that it creates have a placeholder of the fetch as primary key."""
    PEER = "peer"
    """Received by another store of the client: only its effects on stored data matter."""


class Transaction:
    """The state of one response while its stages run; nothing is stored before it is committed."""

    def __init__(
        self,
        reader: CacheReader,
        request: Request,
        response: Any,
        meta: Meta,
        underlying: State,
        *,
        source: Source,
        fetch_id: int | None = None,
        owns_response: bool = False,
        is_assumed: bool = False,
        is_created: bool = False,
    ) -> None:
        rules = request.rules
        self.is_assumed = is_assumed
        """Whether the response had no content, so that the request body replaces it."""
        self.is_created = is_created
        """Whether the status of the response says that something was created."""
        if is_assumed:
            meta = meta._replace(expires_at=1)  # the server may have added fields to the request body
        self.reader = reader
        self.store_state = store_state = reader.store_state
        self.request = request
        self.response = response
        """The response, or the replacement of an empty one."""
        self.fetch_id = fetch_id
        self.source = source
        self.is_expected = is_expected = source is Source.EXPECTED
        self.is_final = source is Source.RECEIVED
        self.underlying = underlying
        self.writer = Normalization(
            underlying,
            request.args,
            meta,
            placeholder_id=fetch_id if is_expected else None,
            where=f" ({request.label})" if is_expected else "",
            owns_response=owns_response,
            strict=rules.response.strict_shape,
            replaces=rules.response.replace and not is_expected,
            rules=rules,
        )
        if self.is_final and store_state.persistence is not None:
            self.writer.notes()
        self.change = self.writer.change
        self.result: Any = UNDEFINED
        """The normalized result that is stored under the key of the request; UNDEFINED: none."""
        self.deleted: list[Subject] = []
        """The deleted entities."""
        self.renamed: list[Subject] = []
        """The old primary keys of entities that have another one now."""
        self.updated: set[str] = set()
        """The keys of the results that the `update` hook has written."""
        self.followed: AbstractSet[EntityPath] = frozenset()
        """The lists that were certainly updated with the change."""
        self.touched: Answered | None = None
        """The data that the request touched, if another request may overlap with it."""

    @cached_property
    def stale(self) -> StaleSet:
        """The data that the request makes stale, by the event of a mutation."""
        return StaleSet(f"a change was sent since: {self.request.label}")

    @cached_property
    def addressed(self) -> list[Subject]:
        """The entities that the request addresses; use it only after the response has been normalized."""
        return entities_of_url(self.request.rules.item, self.request, self.writer)

    def note(self, transition: Transition) -> None:
        """Add to a transition what the request touched and made stale."""
        # Most reads make nothing stale, and then have no set. (Benchmark: fetch through the cache.)
        transition.stale, transition.touched = self.__dict__.get("stale"), self.touched


def without_response(reader: CacheReader, request: Request, meta: Meta, *, is_created: bool = False) -> Transaction:
    """Return a transaction without a response, to determine what a request makes stale."""
    return Transaction(reader, request, None, meta, reader.store_state.base, source=Source.PEER, is_created=is_created)
