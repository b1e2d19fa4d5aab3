"""The lifecycle of a request is written once, as a generator that yields what may need awaiting; two drivers run it.

A step knows how to run in both worlds; its outcome, or the error it raised, is sent back into the generator. While a
flow runs, the transport that it uses is found through `current_transport()`, and no hook scope is open (§3.6, §13.3).
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, cast

from .lazy import inspect

if TYPE_CHECKING:
    from ..http.transport import AsyncTransport, SyncTransport

    Transport: TypeAlias = SyncTransport | AsyncTransport


class Step(Protocol):
    """Something that a flow asks its driver to do."""

    def run(self, transport: SyncTransport) -> Any:
        """Does it and blocks until it is done."""
        ...

    async def run_async(self, transport: AsyncTransport) -> Any:
        """Does it and awaits until it is done."""
        ...


Flow: TypeAlias = "Generator[Step, Any, Any]"

_transport: Final[ContextVar[Any]] = ContextVar("restencil_transport", default=None)


def current_transport() -> Transport | None:
    """The transport of the flow that runs now; None outside of one."""
    return cast("Transport | None", _transport.get())


def enter(transport: Transport) -> Token[Any]:
    """What follows belongs to a request through this transport, without a flow; `leave` ends it."""
    return _transport.set(transport)


def leave(token: Token[Any]) -> None:
    """Ends what `enter` began."""
    _transport.reset(token)


class Outcome:
    """What a hook returned, to be awaited where it is awaitable; `owner` and `hook` name it in errors (§3.6)."""

    __slots__ = ("hook", "owner", "value")

    def __init__(self, owner: str, hook: str, value: Any) -> None:
        self.owner = owner
        self.hook = hook
        self.value = value

    def run(self, transport: SyncTransport) -> Any:
        """The value itself. Raises TypeError for an awaitable: the synchronous client never starts an event loop."""
        if not inspect.isawaitable(self.value):
            return self.value
        if inspect.iscoroutine(self.value):
            self.value.close()
        raise TypeError(
            f"{self.hook} of endpoint {self.owner!r} returned an awaitable; "
            "the synchronous client cannot await it, use the asynchronous one or a plain function"
        )

    async def run_async(self, transport: AsyncTransport) -> Any:
        """The value, awaited where it is awaitable."""
        return await self.value if inspect.isawaitable(self.value) else self.value


class Hook:
    """A call of a hook of an endpoint by someone other than the endpoint's own flow, such as a manager."""

    __slots__ = ("_args", "_function", "_hook", "_owner")

    def __init__(self, owner: str, hook: str, function: Callable[..., Any], args: tuple[Any, ...] = ()) -> None:
        self._owner = owner
        self._hook = hook
        self._function = function
        self._args = args

    def run(self, transport: SyncTransport) -> Any:
        """Calls it. Raises TypeError where it returns an awaitable."""
        return Outcome(self._owner, self._hook, self._function(*self._args)).run(transport)

    async def run_async(self, transport: AsyncTransport) -> Any:
        """Calls it and awaits what it returns where that is awaitable."""
        return await Outcome(self._owner, self._hook, self._function(*self._args)).run_async(transport)


PLAIN: Final = frozenset({dict, list, str, bytes, int, float, bool, type(None)})
"""Types of which `is_awaitable` need not be asked, which takes four times as long."""


def is_awaitable(value: Any) -> bool:
    """True for what a driver has to await."""
    return hasattr(cast(Any, type(value)), "__await__")


def run(flow: Flow, transport: SyncTransport) -> Any:
    """Runs a flow to its end and returns its value; blocks where a step waits."""
    token = _transport.set(transport)
    try:
        step = next(flow)
        while True:
            try:
                outcome = step.run(transport)
            except BaseException as error:
                step = flow.throw(error)
            else:
                step = flow.send(outcome)
    except StopIteration as stop:
        return stop.value
    finally:
        _transport.reset(token)


async def run_async(flow: Flow, transport: AsyncTransport) -> Any:
    """Runs a flow to its end and returns its value; awaits where a step waits."""
    token = _transport.set(transport)
    try:
        step = next(flow)
        while True:
            try:
                outcome = await step.run_async(transport)
            except BaseException as error:
                step = flow.throw(error)
            else:
                step = flow.send(outcome)
    except StopIteration as stop:
        return stop.value
    finally:
        try:
            _transport.reset(token)
        except ValueError:
            pass  # a coroutine that was given up is closed in another context, where there is nothing to restore
