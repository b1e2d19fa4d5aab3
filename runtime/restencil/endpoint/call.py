"""One call of an endpoint: its bound arguments, and what this call alone says of its request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from ..base.steps import CallContext, Steps, current_call, in_use
from .call_options import NO_CALL_OPTIONS, NO_HEADERS, CallOptions
from .lifecycle import lifecycle

if TYPE_CHECKING:
    from ..base.durations import Timeout
    from ..base.transport import RequestInit
    from .lifecycle import Lifecycle
    from .plan import Plan


class Callee(Protocol):
    """What a call needs of its endpoint."""

    @property
    def plan(self) -> Plan: ...
    def steps(self, args: tuple[Any, ...], /) -> Steps: ...


class Call(NamedTuple):
    """A call of an endpoint with bound arguments: prepares the request, sends it and reads the response."""

    endpoint: Callee
    args: tuple[Any, ...]
    options: CallOptions | None = None
    url: str | None = None
    """Where the request goes, if that is known."""

    def with_header(self, name: str, value: str) -> Call:
        """This call with one more header."""
        options = self.options or NO_CALL_OPTIONS
        return self._replace(options=options._replace(headers={**options.headers, name: value}))

    def with_timeout(self, timeout: float | Timeout) -> Call:
        """This call with so much time for each attempt, in milliseconds."""
        return self._replace(options=(self.options or NO_CALL_OPTIONS)._replace(timeout=timeout))

    def header(self, name: str) -> str | None:
        """The header of this name that the call or its endpoint sends, in whatever case it is written."""
        init: RequestInit = getattr(self.endpoint, "request_init", None) or {}
        own: Mapping[str, str] = self.options.headers if self.options is not None else NO_HEADERS
        given = {**dict(init.get("headers") or {}), **own}
        return next((value for one, value in given.items() if one.lower() == name), None)

    def steps(self, context: CallContext | None = None) -> Steps:
        """The steps from the arguments to the value of the response; `context` keeps what came of them."""
        context = context or CallContext()
        context.endpoint, context.options, context.transport = self.endpoint, self.options, in_use.get()
        token = current_call.set(context)
        try:
            if self.endpoint.plan.is_standard:
                context.value = yield from lifecycle(cast("Lifecycle", self.endpoint), self.args, self.url)
            else:
                context.value = yield from self.endpoint.steps(self.args)
            return context.value
        finally:
            try:
                current_call.reset(token)
            except ValueError:
                pass  # a coroutine that was given up is closed in another context, where there is nothing to restore


def current_options(endpoint: object) -> CallOptions | None:
    """What the call that is under way says of a request of this endpoint."""
    call = current_call.get()
    return None if call is None or call.endpoint is not endpoint else cast("CallOptions | None", call.options)
