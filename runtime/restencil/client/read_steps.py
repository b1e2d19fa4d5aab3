"""The steps of a read through the cache: what it gives at once, what it fetches, and what it gives then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from ..base.errors import AbortError, ResetError
from ..cache.actions import WHAT_IS_FRESH
from ..cache.reading import Decision
from .core import looking_for_call, recorded, unusable_data
from .in_flight import Completion

if TYPE_CHECKING:
    from ..base.steps import Steps, StepsOf
    from ..cache.reading import Reading
    from ..cache.request import Request
    from ..cache.tables import EntityPath
    from ..endpoint.call_options import ViewOptions
    from .core import Core


def read_through(core: Core, request: Request, reading: Reading) -> Steps:
    """Steps: what a read gives that found this, by the decision of the policy.

    A stale reading starts a fetch in the background. One that is to wait fetches, and then looks again: it gives
    what is there now, or raises why there is nothing.
    """
    decision = reading.decision
    if decision is Decision.GIVE:
        return reading.data
    if decision is Decision.GIVE_AND_REFETCH:
        fetch_stale(core, request, reading)
        return reading.data
    if decision is Decision.RAISE:
        raise recorded(reading)
    resets = core.store.resets
    if reading.references:
        reading = yield from _with_references(core, request, reading)
        if reading.decision is Decision.GIVE and core.store.resets == resets:
            return reading.data
    failure: Exception | None = None
    value: Any = None
    in_flight: Any = None
    try:
        in_flight = core.start(request, WHAT_IS_FRESH)
        value = yield Completion(core, in_flight)
    except (AbortError, ResetError):
        raise
    except Exception as error:
        if core.store.resets != resets:
            raise  # the store was emptied meanwhile, by a logout say, and holds the error no more
        failure = error
    except BaseException:
        core.abandon_unsent(in_flight)
        raise
    return (yield from _after_fetch(core, request, resets, value, failure))


def _after_fetch(core: Core, request: Request, resets: int, value: Any, failure: Exception | None) -> Steps:
    """Steps: what a call gives after its fetch, which gave a value or failed.

    `resets` is how often the store had been reset when the call began.
    """
    reading = yield from looking_for_call(core.store, request)
    if reading.references:
        reading = yield from _with_references(core, request, reading)
    if core.store.resets != resets:
        # Whatever is there now is not what was asked for: another user may have logged in.
        raise ResetError(f"the store was reset while {request.label!r} was being read")
    if reading.error is not None:
        raise recorded(reading)
    if reading.found:
        return reading.data
    gives_own = request.rules.response.gives_own_response and value is not None
    if failure is None and (gives_own or was_overtaken(core, request, reading)):
        return value  # its own response, which may be outdated in the store by now
    raise failure or unusable_data(request)


def _with_references(core: Core, request: Request, reading: Reading) -> StepsOf[Reading]:
    """Steps: fetches the records that alone make a reading stale; what a read finds then.

    Where one of them cannot be had, the reading stays stale, so that the request itself is sent.
    """
    requested: set[EntityPath] = set()
    while not requested.issuperset(reading.references):
        for cell in reading.references:
            reference = None if cell in requested else _get_of(request, cell)
            requested.add(cell)
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
                core.abandon_unsent(in_flight)
                raise
        reading = yield from looking_for_call(core.store, request)
    return reading


def _get_of(request: Request, cell: EntityPath) -> Request | None:
    """The request of `get` for a record that a result refers to, with the options of its call."""
    siblings = request.rules.siblings
    found = None if siblings is None else siblings.get_request(*cell)
    options: ViewOptions | None = cast("Any", request.endpoint).view_options
    if found is None or options is None:
        return found
    made: Request = options.of(found.endpoint).request(found.args)
    return made


def fetch_stale(core: Core, request: Request, reading: Reading) -> list[Any]:
    """Fetches in the background what makes a reading stale: the records that it refers to, or all of it.

    Returns the requests in flight.
    """
    return [core.fetch_in_background(one) for one in stale_requests(request, reading)]


def stale_requests(request: Request, reading: Reading) -> list[Request]:
    """The requests that make a stale reading fresh: those of the records that it refers to, or its own."""
    references = [_get_of(request, cell) for cell in reading.references]
    return [reference for reference in references if reference is not None] or [request]


def was_overtaken(core: Core, request: Request, reading: Reading) -> bool:
    """What was fetched a moment ago is gone because someone invalidated, collected or evicted it since."""
    meta = core.store.endpoint_meta(request.key)
    return meta is None or meta.invalidated or reading.expires_at == 1
