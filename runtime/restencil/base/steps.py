"""What waits is written once, as a generator of the steps that may need awaiting; two drivers carry them out.

A step knows how to be taken in both worlds; its outcome, or the error it raised, is sent back into the generator. While
the steps of a request are taken, the transport that it uses is found through `current_transport()`, and no hook scope
is open.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeVar, cast

if TYPE_CHECKING:
    from .transport import AwaitingTransport, BlockingTransport

    AnyTransport: TypeAlias = BlockingTransport | AwaitingTransport


class Step(Protocol):
    """Something that a generator asks its driver to do."""

    def take(self, transport: BlockingTransport) -> Any:
        """Does it and blocks until it is done."""
        ...

    async def take_async(self, transport: AwaitingTransport) -> Any:
        """Does it and awaits until it is done."""
        ...


T = TypeVar("T")

StepsOf: TypeAlias = "Generator[Step, Any, T]"
"""Steps that end with a value of this type. What is sent in is the outcome of the step before, so its type is open."""

Steps: TypeAlias = "StepsOf[Any]"
"""Steps that end with what a user's endpoint gives."""

in_use: Final[ContextVar[Any]] = ContextVar("restencil_transport", default=None)
"""The transport of the request whose steps are taken now."""


class CallContext:
    """The call of an endpoint whose steps are taken now, and what came of it so far.

    Whoever takes the steps may say what the request is sent for, and reads what is left here.
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
        "value",
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
        """A header that is sent unless the user set a condition: on it depends whether there is a response at all."""
        self.recognizes = recognizes
        """Tells the body of an earlier response if its data has not changed since."""
        self.endpoint: object = None
        self.options: Any = None
        self.transport: Any = None
        """What sends the request: responses of other transports are none of this call."""
        self.response: Any = None
        """The HTTP response that came last; None as long as there is none, and without HTTP."""
        self.value: Any = None
        """The value of the response, as `Call.steps` gives it."""
        self.parsed: tuple[Any, Any] | None = None
        """The response and its parsed body, where hooks of the endpoint make them."""
        self.is_not_modified = False
        """The server says that the response before it is still valid (304); there is no value."""
        self.assumed: Any = None
        """The value of a response without content: what was sent."""
        self.is_identical = False
        """The body is that of the response before it; its value is not made."""


current_call: Final[ContextVar[CallContext | None]] = ContextVar("restencil_call", default=None)
"""The call whose steps are taken now, for hooks and transports that are called with less than that."""


def current_transport() -> AnyTransport | None:
    """The transport of the request whose steps are taken now; None outside of one."""
    return cast("AnyTransport | None", in_use.get())


class Outcome:
    """What a hook returned, to be awaited where it is awaitable; `owner` and `hook` name it in errors."""

    __slots__ = ("hook", "owner", "value")

    def __init__(self, owner: str, hook: str, value: Any) -> None:
        self.owner = owner
        self.hook = hook
        self.value = value

    def take(self, transport: BlockingTransport) -> Any:
        """The value itself. Raises TypeError for an awaitable: the synchronous client never starts an event loop."""
        if not inspect.isawaitable(self.value):
            return self.value
        if inspect.iscoroutine(self.value):
            self.value.close()
        raise TypeError(
            f"{self.hook} of endpoint {self.owner!r} returned an awaitable; "
            "the synchronous client cannot await it, use the asynchronous one or a plain function"
        )

    async def take_async(self, transport: AwaitingTransport) -> Any:
        """The value, awaited where it is awaitable."""
        return await self.value if inspect.isawaitable(self.value) else self.value


class HookCall:
    """A call of a hook of an endpoint by someone other than the endpoint itself, such as a manager."""

    __slots__ = ("_args", "_function", "_hook", "_owner")

    def __init__(self, owner: str, hook: str, function: Callable[..., Any], args: tuple[Any, ...] = ()) -> None:
        self._owner = owner
        self._hook = hook
        self._function = function
        self._args = args

    def take(self, transport: BlockingTransport) -> Any:
        """Calls it. Raises TypeError where it returns an awaitable."""
        return Outcome(self._owner, self._hook, self._function(*self._args)).take(transport)

    async def take_async(self, transport: AwaitingTransport) -> Any:
        """Calls it and awaits what it returns if that is awaitable."""
        return await Outcome(self._owner, self._hook, self._function(*self._args)).take_async(transport)


PLAIN: Final = frozenset({dict, list, str, bytes, int, float, bool, type(None)})
"""Types that are never awaitable. (Benchmark: fetch through the cache, as `is_awaitable` takes four times as long.)"""


def is_awaitable(value: Any) -> bool:
    """True for what a driver has to await."""
    return hasattr(cast(Any, type(value)), "__await__")


def drive(steps: Steps, transport: BlockingTransport) -> Any:
    """Takes steps to their end and returns the generator's value; blocks where a step waits."""
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
    """Takes steps to their end and returns the generator's value; awaits where a step waits."""
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
            pass  # a coroutine that was given up is closed in another context, where there is nothing to restore
