"""A store whose clock stands still until a test moves it, and whose answers a test gives itself."""

from __future__ import annotations

from typing import Any, TypeAlias

from restencil import RestEndpoint, Store
from restencil.base.values import Meta
from restencil.cache import actions
from restencil.cache.actions import Collect, ExpireAll, Fetch, Invalidate, Reset, Set, SetError, SetResponse
from restencil.cache.policy import Reading
from restencil.cache.snapshot import Snapshot

AnyEndpoint: TypeAlias = RestEndpoint[..., Any]

DATA = 60_000.0
ERROR = 1_000.0


def same_error(kept: BaseException | None, raised: BaseException) -> bool:
    """Whether the store keeps what was raised, as an error of its own that holds no frame."""
    assert kept is not None and kept is not raised
    assert kept.__traceback__ is None
    return type(kept) is type(raised) and kept.args == raised.args and vars(kept) == vars(raised)


class Desk:
    """One store, driven by hand: what starts when, and what comes back."""

    def __init__(self, start: float = 1_000.0, **options: Any) -> None:
        self.now = start
        self.store = Store(clock=lambda: self.now, **options)

    # -- what comes from outside -------------------------------------------------------------------------------------

    def answer(
        self,
        endpoint: AnyEndpoint,
        response: Any,
        *args: Any,
        started: float | None = None,
        fetch: int | None = None,
        length: float = DATA,
        resets: int | None = None,
    ) -> Any:
        """The network answers a fetch that started then; returns the value of the fetch."""
        meta = Meta(self.now if started is None else started, self.now, self.now + length)
        number = self.store.next_id() if fetch is None else fetch
        return self.store.apply(SetResponse(endpoint.request(args), response, meta, fetch_id=number, resets=resets))

    def given(self, endpoint: AnyEndpoint, response: Any, *args: Any) -> Any:
        """An application sets a response by hand."""
        meta = Meta(self.now, self.now, self.now + DATA)
        return self.store.apply(SetResponse(endpoint.request(args), response, meta))

    def start(self, endpoint: AnyEndpoint, *args: Any) -> int:
        """A mutation starts; its number is to be given with its answer."""
        number = self.store.next_id()
        meta = Meta(self.now, self.now, self.now + DATA)
        self.store.apply(Fetch(endpoint.request(args), number, meta))
        return number

    def fail(
        self,
        endpoint: AnyEndpoint,
        error: BaseException,
        *args: Any,
        fetch: int | None = None,
        resets: int | None = None,
    ) -> None:
        """A fetch fails."""
        meta = Meta(self.now, self.now, self.now + ERROR)
        self.store.apply(SetError(endpoint.request(args), error, meta, fetch_id=fetch, resets=resets))

    # -- operations --------------------------------------------------------------------------------------------------

    def set(self, schema: Any, value: Any, *args: Any) -> None:
        """Writes through a schema."""
        self.store.apply(Set(schema, args, value, Meta(self.now, self.now, self.now + DATA)))

    def invalidate(self, endpoint: AnyEndpoint, *args: Any) -> None:
        """Forces the next read to fetch and wait."""
        self.store.apply(Invalidate(endpoint.key(*args)))

    def invalidate_all(self, endpoint: AnyEndpoint) -> None:
        """The same for all keys of the endpoint."""
        self.store.apply(actions.InvalidateAll(endpoint.test_key))

    def expire_all(self, endpoint: AnyEndpoint) -> None:
        """All keys of the endpoint turn stale."""
        self.store.apply(ExpireAll(endpoint.test_key))

    def reset(self) -> None:
        """The store starts over."""
        self.store.apply(Reset())

    def collect(self, *cells: tuple[str, str], keys: tuple[str, ...] = ()) -> None:
        """What no one holds is deleted."""
        self.store.apply(Collect(cells, keys))

    # -- looking -----------------------------------------------------------------------------------------------------

    def read(self, endpoint: AnyEndpoint, *args: Any) -> Reading:
        """What a reader finds."""
        return self.store.read(endpoint.request(args))

    def data(self, endpoint: AnyEndpoint, *args: Any) -> Any:
        """The data that a reader finds."""
        return self.store.read(endpoint.request(args)).data

    def get(self, schema: Any, *args: Any) -> Any:
        """The value of a schema from the tables."""
        return self.store.query(schema, args)

    def snapshot(self) -> Snapshot:
        """The view as it is now."""
        return self.store.snapshot()

    def table(self, key: str) -> dict[str, Any]:
        """The stored records (or lists of primary keys) of a table in the view, as plain data."""
        found: dict[str, Any] = self.store.state["entities"].get(key, {})
        return found

    def result(self, endpoint: AnyEndpoint, *args: Any) -> Any:
        """The normalized result of a key."""
        return self.store.state["endpoints"].get(endpoint.key(*args))

    def pks(self, table: str) -> list[str]:
        """The primary keys of a table in the view, in order."""
        return list(self.table(table))
