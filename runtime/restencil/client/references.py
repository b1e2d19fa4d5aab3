"""What a read fetches besides its own result: records that the result refers to, where these alone make it stale."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, cast

from ..base.errors import AbortError, ResetError
from .in_flight import Completion
from .sharing import WHAT_IS_FRESH

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from ..base.steps import Step
    from ..cache.reading import Reading
    from ..cache.request import Request
    from ..cache.staleness import Cell
    from ..endpoint.calls import CallOptions


class Fetcher(Protocol):
    """Who sends requests: the core of a controller."""

    def start(self, request: Request, within: float | None = None) -> Any:
        """Starts a request, or joins one that is under way."""
        ...

    def forsake(self, in_flight: Any) -> None:
        """Fails a request whose sender was interrupted before sending."""
        ...

    def complete(self, in_flight: Any, /) -> Any:
        """The value of the request, once it is in the store."""
        ...

    def fetch_in_background(self, request: Request, within: float = ...) -> None:
        """Sends a request that nobody waits for."""
        ...


def with_references(
    core: Fetcher, request: Request, reading: Reading, look: Callable[[], Generator[Step, Any, Reading]]
) -> Generator[Step, Any, Reading]:
    """Steps: fetches the records that alone make a reading stale; what a read finds then, by `look`.

    Where one of them cannot be had, the reading stays stale, so that the request itself is sent.
    """
    asked: set[Cell] = set()
    while not asked.issuperset(reading.references):
        for cell in reading.references:
            reference = None if cell in asked else _request_of(request, cell)
            asked.add(cell)
            if reference is None:
                continue
            in_flight: Any = None
            try:
                in_flight = core.start(reference, WHAT_IS_FRESH)
                yield Completion(core, in_flight)
            except (AbortError, ResetError):
                raise
            except Exception:
                return reading
            except BaseException:
                core.forsake(in_flight)
                raise
        reading = yield from look()
    return reading


def stale_requests(request: Request, reading: Reading) -> list[Request]:
    """The requests that make a stale reading fresh: those of the records that it refers to, or its own."""
    references = [_request_of(request, cell) for cell in reading.references]
    return [reference for reference in references if reference is not None] or [request]


def fetch_stale(core: Fetcher, request: Request, reading: Reading) -> None:
    """Fetches in the background what makes a reading stale: the records that it refers to, or all of it."""
    for one in stale_requests(request, reading):
        core.fetch_in_background(one)


def _request_of(request: Request, cell: Cell) -> Request | None:
    """The request of `get` for a record that a result refers to, with the options of its call."""
    siblings = request.rules.siblings
    found = None if siblings is None else siblings.get_request(*cell)
    options: CallOptions | None = cast("Any", request.endpoint).call_options  # the cache knows less of an endpoint
    if found is None or options is None:
        return found
    made: Request = options.of(found.endpoint).request(found.args)
    return made
