"""Code shared by synchronous and asyncio clients: generators of steps, and two drivers that run them.

A step has a blocking and an awaiting implementation; its result, or the error it raised, is sent back into the
generator. While the steps of a request run, `current_transport()` returns its transport, and no hook scope is open.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Generator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeVar, cast

if TYPE_CHECKING:
    from .transport import AwaitingTransport, BlockingTransport

    AnyTransport: TypeAlias = BlockingTransport | AwaitingTransport


class Step(Protocol):
    """An operation that a generator yields to its driver."""

    def take(self, transport: BlockingTransport) -> object:
        """Run the operation, blocking."""
        ...

    async def take_async(self, transport: AwaitingTransport) -> Any:
        """Run the operation, awaiting."""
        ...


T = TypeVar("T")

StepsOf: TypeAlias = "Generator[Step, Any, T]"
"""Steps that return a value of this type. Results of steps are sent in, and may be of any type."""

Steps: TypeAlias = "StepsOf[Any]"
"""Steps that return the value of a user's endpoint."""

in_use: Final[ContextVar[Any]] = ContextVar("restencil_transport", default=None)
"""The transport of the request whose steps are running."""


class CallContext:
    """The state of a running call of an endpoint, and its results so far.

    The caller of the steps may set the first three attributes, and reads the results here.
    """

    __slots__ = (
        "assumed",
        "condition",
        "endpoint",
        "is_identical",
        "is_not_modified",
        "options",
        "owner",
        "parsed",
        "recognizes",
        "response",
        "transport",
        "url",
        "value",
        "was_sent",
    )

    def __init__(
        self,
        owner: object = None,
        condition: tuple[str, str] | None = None,
        recognizes: Callable[[bytes], bool] | None = None,
    ) -> None:
        self.owner = owner
        """The request in flight that the call is made for; None for a direct call."""
        self.condition = condition
        """A header for a conditional request, sent unless the user set a condition."""
        self.recognizes = recognizes
        """Returns whether a body is that of the previous response, whose data has not changed since."""
        self.endpoint: object = None
        self.options: Any = None
        self.transport: Any = None
        """The transport of the request; responses of other transports do not belong to this call."""
        self.url: str | None = None
        """The URL of the request, if it is known."""
        self.response: Any = None
        """The last HTTP response; None before the first one, and without HTTP."""
        self.was_sent = False
        """Whether the request may have been sent, so that the server may have processed it."""
        self.value: Any = None
        """The value of the response, as `Call.steps` returns it."""
        self.parsed: tuple[object, object] | None = None
        """The response and its parsed body, if hooks of the endpoint create them."""
        self.is_not_modified = False
        """Whether the previous response is still valid (304); there is no value then."""
        self.assumed: object = None
        """The value of a response without content: the request body."""
        self.is_identical = False
        """Whether the body is that of the previous response; it is not parsed again then."""


current_call: Final[ContextVar[CallContext | None]] = ContextVar("restencil_call", default=None)
"""The running call, for hooks and transports, which do not get it as an argument."""


def current_transport() -> AnyTransport | None:
    """Return the transport of the request whose steps are running; None outside of a request."""
    return cast("AnyTransport | None", in_use.get())


class Outcome:
    """A step that awaits a value if it is awaitable; `source` says in errors where the value is from.

    The value is a result of a function of a user, or of a function that blocks, or returns an awaitable for asyncio.
    """

    __slots__ = ("_source", "_value")

    def __init__(self, source: str, value: Any) -> None:
        self._source = source
        self._value = value

    def take(self, transport: BlockingTransport) -> object:
        """Return the value. Raises TypeError for an awaitable, as the synchronous client never starts an event loop."""
        if not is_awaitable(self._value):
            return self._value
        if inspect.iscoroutine(self._value):
            self._value.close()
        raise TypeError(
            f"{self._source} returned an awaitable; "
            "the synchronous client cannot await it, use the asynchronous one or a plain function"
        )

    async def take_async(self, transport: AwaitingTransport) -> object:
        """Return the value, awaited if it is awaitable."""
        return await self._value if is_awaitable(self._value) else self._value


class Wait:
    """A step that waits in one of two ways: by a function that blocks, or by a coroutine function."""

    __slots__ = ("_awaited", "_blocking")

    def __init__(self, blocking: Callable[[], Any], awaited: Callable[[], Awaitable[Any]]) -> None:
        self._blocking = blocking
        self._awaited = awaited

    def take(self, transport: BlockingTransport) -> object:
        """Call the function that blocks."""
        return self._blocking()

    async def take_async(self, transport: AwaitingTransport) -> object:
        """Await the coroutine function."""
        return await self._awaited()


PLAIN: Final = frozenset({dict, list, str, bytes, int, float, bool, type(None)})
"""Types that are never awaitable. (Benchmark: fetch through the cache, as `is_awaitable` takes four times as long.)"""


def is_awaitable(value: object) -> bool:
    """Whether a driver has to await a value."""
    return hasattr(cast(Any, type(value)), "__await__")


def drive(steps: Steps, transport: BlockingTransport) -> Any:
    """Run steps to their end, blocking, and return the value of the generator."""
    token = in_use.set(transport)
    try:
        step = next(steps)
        while True:
            try:
                outcome = step.take(transport)
            except BaseException as error:
                step = steps.throw(error)
            else:
                step = steps.send(outcome)
    except StopIteration as stop:
        return stop.value
    finally:
        in_use.reset(token)


async def drive_async(steps: Steps, transport: AwaitingTransport) -> Any:
    """Run steps to their end, awaiting, and return the value of the generator."""
    token = in_use.set(transport)
    try:
        step = next(steps)
        while True:
            try:
                outcome = await step.take_async(transport)
            except BaseException as error:
                step = steps.throw(error)
            else:
                step = steps.send(outcome)
    except StopIteration as stop:
        return stop.value
    finally:
        try:
            in_use.reset(token)
        except ValueError:
            pass  # an abandoned coroutine is closed in another context, where there is nothing to restore
