"""What waits is written once, as a generator of the steps that may need awaiting; two drivers carry them out.

A step knows how to be taken in both worlds; its outcome, or the error it raised, is sent back into the generator. While
the steps of a request are taken, the transport that it uses is found through `current_transport()`, and no hook scope
is open.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, cast

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


Steps: TypeAlias = "Generator[Step, Any, Any]"

in_use: Final[ContextVar[Any]] = ContextVar("restencil_transport", default=None)
"""The transport of the request whose steps are taken now, also of one that is sent without a driver."""


class Receiver(Protocol):
    """Who wants to know of the answers that a transport brings."""

    transport: Any
    answer: Any
    own_response: tuple[Any, Any] | None
    """The response and its parsed body, where hooks of the endpoint make them."""
    condition: tuple[str, str] | None
    """A header that is sent unless the user set a condition: on it depends whether there is an answer at all."""

    def recognizes(self, content: bytes, /) -> bool:
        """Whether this body was answered before, and nothing of what it brought has changed since."""
        ...


receiver: Final[ContextVar[Receiver | None]] = ContextVar("restencil_receiver", default=None)
"""What receives the responses of its transport while the steps of its request are taken."""


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
