"""What a live read offers: a read that stays, in blocking code and under asyncio."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic, Self

from .typing import R

if TYPE_CHECKING:
    from ..cache.reading import EndpointState


class AnyLiveRead(ABC, Generic[R]):
    """What live reads of both kinds offer.

    While it is open, the endpoint is subscribed to (where it has a `poll_frequency`, or where a manager of the user's
    own may know how to keep it up to date), what it shows is kept from garbage collection, and `revalidate` of the
    controller fetches it when it is stale. Staleness is decided once per result: time that passes while the read is
    held does not start fetches by itself.
    """

    @property
    @abstractmethod
    def data(self) -> R | None:
        """What the store has now, stale or not, or None."""

    @property
    @abstractmethod
    def state(self) -> EndpointState[R]:
        """Data, error and loading; starts the fetch that a read would start, and waits for nothing."""

    @abstractmethod
    def close(self) -> None:
        """Ends the subscription and lets go of the data; iteration stops. A second call does nothing."""

    @abstractmethod
    def revalidate(self) -> None:
        """Fetches in the background if the data is stale."""


class LiveRead(AnyLiveRead[R]):
    """A live read of blocking code: `with bound.live(id=1) as live: for article in live: …`

    Iterating gives the data first as a suspending read does, then again whenever it is another object; it raises the
    endpoint's errors as they come and can be continued after one. `close()`, from any thread, ends it.
    """

    @abstractmethod
    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None:
        self.close()

    def __iter__(self) -> Self:
        return self

    @abstractmethod
    def __next__(self) -> R: ...


class AsyncLiveRead(AnyLiveRead[R]):
    """A live read of asyncio code: `async with bound.live(id=1) as live: async for article in live: …`

    Iterating gives the data first as a suspending read does, then again whenever it is another object; it raises the
    endpoint's errors as they come and can be continued after one. `close()` ends it.
    """

    @abstractmethod
    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *error: object) -> None:
        self.close()

    def __aiter__(self) -> Self:
        return self

    @abstractmethod
    async def __anext__(self) -> R: ...
