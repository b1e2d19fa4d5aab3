"""One response on its way into the store: what its stages read, and what they add."""

from __future__ import annotations

from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..base.values import UNDEFINED
from .addressed import AddressedEntity, addressed_entities
from .normalize import Normalization

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Set as AbstractSet

    from ..base.values import Meta
    from ..schema.entity import EntitySchema
    from .reader import CacheReader
    from .request import Request
    from .request_log import Answered
    from .staleness import StaleSet
    from .tables import EntityPath, State


class Source(Enum):
    """Where a response is from, and so what becomes of it."""

    RECEIVED = "received"
    """From the network or by hand: it is stored."""
    OUTDATED = "outdated"
    """The same, but the store started over meanwhile: it only gives the value of its fetch."""
    EXPECTED = "expected"
    """An optimistic response, laid over the base: entities that it creates have a placeholder of the fetch."""
    PEER = "peer"
    """Received by another store of the client: only what it changed matters."""


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
    ) -> None:
        rules = request.rules
        self.is_assumed = is_assumed
        """The response had no content: what was sent takes its place."""
        if is_assumed:
            meta = meta._replace(expires_at=1)  # the server may have added to what was sent
        self.reader = reader
        self.store_state = store_state = reader.store_state
        self.request = request
        self.response = response
        """The response, or what an empty one counts as."""
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
        """What is stored under the key of the request; UNDEFINED for nothing."""
        self.deleted: list[tuple[EntitySchema, str]] = []
        """The entities that a delete removed."""
        self.renamed: list[tuple[EntitySchema, str]] = []
        """The entities that have another primary key now, by the old one."""
        self.followed: AbstractSet[EntityPath] = frozenset()
        """The lists that certainly follow the change."""
        self.stale_records: set[EntityPath] = set()
        """The records that `expires` names, or that an empty response may be about."""
        self.stale_tables: set[str] = set()
        """The entities all of whose records `expires` names."""
        self.outdated: set[str] = set()
        """The keys of results that `expires` names, or that contain something of a list which has changed."""
        self.expire_tests: list[Callable[[str], bool]] = []
        """Results whose keys one of these accepts turn stale."""
        self.stale: StaleSet | None = None
        self.touched: Answered | None = None

    @cached_property
    def addressed(self) -> list[AddressedEntity]:
        """The entities that the request addresses; asked for once a response has been written, if it contains one."""
        return addressed_entities(self.request, self.writer)

    def run(self) -> None:
        """Runs the stages of the endpoint, in order."""
        for stage in self.request.rules.response.stages:
            stage(self)


def without_response(reader: CacheReader, request: Request, meta: Meta) -> Transaction:
    """A transaction that writes nothing, to find out what a request makes stale."""
    return Transaction(reader, request, None, meta, reader.store_state.base, source=Source.PEER)
