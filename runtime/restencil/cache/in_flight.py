"""Where the requests in flight of all controllers of a store are found, so that one can join another's or end it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .request import Identity


class RequestsInFlight:
    """Requests in flight and token refreshes under way; what they are is the network managers' business.

    The store has them because a reset by any of its controllers ends them all. The store's lock guards them.
    """

    __slots__ = ("by_id", "joinable", "mutations", "refreshed", "renewals", "tokens", "turns")

    def __init__(self) -> None:
        self.joinable: dict[Identity, Any] = {}
        """Those that another fetch can join, by the identity of the request."""
        self.by_id: dict[int, Any] = {}
        """All of them, by the id of their fetch."""
        self.mutations: set[int] = set()
        """The ids of those that may change something on the server."""
        self.renewals: Any = None
        """Token renewals under way; None as long as there were none."""
        self.refreshed: dict[Any, tuple[int, bool]] = {}
        """When the last refresh by each hook ended, as the id of a fetch, and whether there was a new token."""
        self.turns: dict[tuple[str, str], list[Any]] = {}
        """Those that change an entity and wait for each other, by the entity, in their order."""
        self.tokens: Any = None
        """Tokens that are requested, by their grant; None as long as there are none."""
