"""One call of an endpoint, and its lifecycle as named steps: prepare, send, parse, process."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from ..base.errors import ParseError, UnexpectedContentError
from ..base.json_text import decode_json
from ..base.lazy_imports import find
from ..base.response import charset_of, error_members, reported, without_secrets
from ..base.steps import PLAIN, CallContext, Outcome, Steps, current_call, current_transport, in_use, is_awaitable
from ..base.transport import AwaitingTransport, BlockingTransport, ImpliedHeader
from ..base.values import copy_in, described, is_mapping
from ..schema.entity import entity_model
from .call_options import NO_CALL_OPTIONS, NO_HEADERS, CallOptions, options_of
from .options import BODILESS, outcome_note
from .payloads import assumed, body_in

if TYPE_CHECKING:
    from ..base.durations import Timeout
    from ..base.transport import RequestInit
    from .options import EndpointOptions, HttpOptions

# --- transports of calls without a controller ------------------------------------------------------------------------


_TRANSPORT_FOR: Final = "restencil.http.transport:transport_for"
"""The function that opens transports, imported at the first call, because this layer must not import that layer."""


def transport_for(client: object) -> BlockingTransport | AwaitingTransport:
    """Return the transport of a direct call through this client; without a client, a transport for this call only.

    Raises TypeError for an object that is not a client.
    """
    opened: BlockingTransport | AwaitingTransport = find(_TRANSPORT_FOR)(client)
    return opened


def transport_of_call(owner: str, hook: str) -> BlockingTransport | AwaitingTransport:
    """Return the transport of the current call. Raises RuntimeError if `hook` was called outside of a call."""
    transport = current_transport()
    if transport is None:
        raise RuntimeError(f"{hook} of endpoint {owner!r} was called outside of a call; call the endpoint itself")
    return transport


# --- the lifecycle ---------------------------------------------------------------------------------------------------
#
# Each step is a hook that users may override, and the hook of the library does only this step. `lifecycle` yields
# awaitables that hooks return, so that its driver awaits them.


JSON_TYPE: Final = ImpliedHeader("application/json")
NOT_MODIFIED: Final = 304
"""A status that transports accept only for conditional requests; for others they raise an error."""
_TEXTUAL: Final = re.compile("text|xml|html|javascript|css|csv|urlencoded").search


# --- all steps -------------------------------------------------------------------------------------------------------


def lifecycle(endpoint: HttpOptions, args: tuple[object, ...]) -> Steps:
    """Run the steps of a call from its bound arguments to its value, calling overridden hooks."""
    call, url = current_call.get(), None
    if call is None or call.endpoint is not endpoint:
        options = options_of(args)
    else:
        options, url = call.options, call.url
    if options is not None and options.url is not None:
        url = options.url
    if url is None:
        url = endpoint.request_url(args)
    init = endpoint.get_request_init(body_in(endpoint, args))
    if type(init) not in PLAIN and is_awaitable(init):
        init = yield Outcome(f"get_request_init of endpoint {endpoint.name!r}", init)
    if call is not None:
        call.was_sent = True
    response = endpoint.fetch_response(url, init)
    if is_awaitable(response):
        response = yield Outcome(f"fetch_response of endpoint {endpoint.name!r}", response)
    if call is not None and not endpoint.plan.answers_itself and response.status_code == NOT_MODIFIED:
        call.is_not_modified = True
        return None
    value = endpoint.parse_response(response)
    if type(value) not in PLAIN and is_awaitable(value):
        value = yield Outcome(f"parse_response of endpoint {endpoint.name!r}", value)
    return (yield from _processed(endpoint, args, response, value))


def _processed(endpoint: HttpOptions, args: tuple[object, ...], response: object, value: object) -> Steps:
    """Convert the parsed value to the value of the call: `unwrap`, `ignore`, `process` and `empty`."""
    call = current_call.get()
    if call is not None and endpoint.plan.answers_itself:
        call.parsed = response, copy_in(value) if endpoint.plan.decodes else value
    if endpoint.unwrap is not None or endpoint.ignore:
        from .envelopes import opened

        value = opened(endpoint, value, response)
    value = endpoint.process(value, *args)
    if type(value) not in PLAIN and is_awaitable(value):
        value = yield Outcome(f"process of endpoint {endpoint.name!r}", value)
    if value is None and endpoint.empty == "merge" and endpoint.side_effect:
        value = assumed(endpoint, args, response)
        if call is not None:
            call.assumed = value
    return value


# --- prepare and send ------------------------------------------------------------------------------------------------


async def with_headers(endpoint: HttpOptions, init: dict[str, Any], headers: Any) -> dict[str, Any]:
    """Return a request with headers that an overridden `get_headers` returns in asyncio."""
    init["headers"] = returned_headers(endpoint, await headers)
    return init


def returned_headers(endpoint: HttpOptions, headers: Any) -> Any:
    """Return the result of a hook `get_headers`. Raises TypeError unless it is a mapping."""
    if is_mapping(headers):
        return headers
    raise TypeError(
        f"get_headers of endpoint {endpoint.name!r} returned {described(headers)}; expected a dict of headers: those "
        "that it was called with, and more"
    )


def on_the_wire(endpoint: HttpOptions, init: RequestInit) -> RequestInit:
    """Return `init` as the transport sends it: without Content-Type if there is no body, with Accept for JSON.

    Hooks get `init` without these changes. Raises TypeError for a header that is not a string, and for an `init`
    that is not a mapping.
    """
    if not is_mapping(init):
        raise TypeError(
            f"get_request_init of endpoint {endpoint.name!r} returned {described(init)}; expected a dict: the one that "
            "super().get_request_init(body) returns, with changes"
        )
    given: Any = init.get("headers")
    headers: dict[Any, Any] = dict(given or ())
    body = init.get("body")
    names: set[str] = set()
    for name, value in headers.items():
        if not (isinstance(name, str) and isinstance(value, str)):
            found = f"it is {described(value)}" if isinstance(name, str) else f"its name is {described(name)}"
            raise TypeError(
                f"the header {name!r:.80} of endpoint {endpoint.name!r} cannot be sent: {found}; expected a string"
            )
        names.add(name.lower())
    if (body is None or (type(body) is str and not body)) and "content-type" in names:
        headers = {name: value for name, value in headers.items() if type(value) is not ImpliedHeader}
    if endpoint.content in (None, "json") and "accept" not in names and endpoint.method not in BODILESS:
        headers["Accept"] = JSON_TYPE
    return {**init, "headers": headers, **endpoint.plan.sent}


# --- parse -----------------------------------------------------------------------------------------------------------


LONG: Final = 8192
"""The minimum size in bytes of bodies that are compared with the previous one before they are decoded.

Measured by the benchmark "fetched again, nothing changed".
"""


async def parsed_later(endpoint: HttpOptions, response: object, content: Awaitable[bytes]) -> object:
    """Parse a response whose body must be awaited."""
    return parsed(endpoint, response, await content)


def parsed(endpoint: HttpOptions, response: Any, content: bytes) -> object:
    """Parse the body of a response to JSON, text or bytes; None for one without content."""
    schema, wanted = endpoint.schema, endpoint.content
    may_be_odd, may_be_empty = getattr(schema, "takes_anything", False), endpoint.empty in ("merge", "none")
    if not content and (may_be_odd or may_be_empty) and (has_schema(schema) or not endpoint.side_effect):
        return None
    kind = str(response.headers.get("content-type", "")).lower()
    if wanted == "json" or (wanted is None and "json" in kind):
        if len(content) >= LONG and endpoint.plan.is_standard and not endpoint.plan.converts:
            call = current_call.get()
            if call is not None and call.recognizes is not None and call.recognizes(content):
                call.is_identical = True
                return None
        if not content and may_be_empty and endpoint.side_effect:
            return None
        try:
            value = decode_json(content)
        except ValueError as error:
            if may_be_odd:
                return None
            raise _malformed(endpoint, response, kind, content, error) from error
        # `{}` is no record: as the response of a mutation it is empty, like the `Empty` of RPC systems.
        is_empty = value == {} and may_be_empty and not may_be_odd and endpoint.side_effect
        return None if is_empty and entity_model(schema) is not None else value
    if wanted == "bytes":
        return content
    binary = wanted is None and bool(kind) and _TEXTUAL(kind) is None
    if not has_schema(schema) or endpoint.plan.own_process or wanted == "text":
        return content if binary else content.decode(charset_of(response), "replace")
    text = None if binary else content.decode(charset_of(response), "replace")
    raise _unexpected(endpoint, response, kind, text)


def has_schema(schema: object) -> bool:
    """Return whether a schema needs an object or a list, as any schema except a string does."""
    return schema is not None and not isinstance(schema, str)


def _malformed(endpoint: HttpOptions, response: object, kind: str, content: bytes, error: ValueError) -> ParseError:
    if content:
        problem = f"the response is not valid JSON ({error}), but its content type is {kind or 'missing'!r}"
    else:
        problem = "the response is empty; expected JSON"
    return ParseError(f"{reported(response)}: {problem}{outcome_note(endpoint)}", status=400, **error_members(response))


def _unexpected(endpoint: HttpOptions, response: object, kind: str, text: str | None) -> UnexpectedContentError:
    start = f"{reported(response)}: endpoint {endpoint.name!r} has a schema and expected JSON, but the response is "
    if text is None:
        rest = f"binary content of type {kind!r}; set schema=None to get its bytes"
    elif not text:
        rest = "empty; set empty='none' if it may be"
    elif "html" in kind or text.lstrip()[:15].lower().startswith(("<!doctype html", "<html")):
        rest = f"HTML; the route may not exist on the server. It begins with: {without_secrets(response, text)[:300]}"
    elif _reads_as_json(text):
        rest = (
            f"JSON with the content type {kind or 'missing'!r}; fix the server to send "
            "'application/json', or set content='json'"
        )
    else:
        rest = f"text of type {kind or 'missing'!r}; set schema=None to get the text, or convert it in a process"
    return UnexpectedContentError(start + rest + outcome_note(endpoint), status=404, **error_members(response))


def _reads_as_json(text: str) -> bool:
    try:
        decode_json(text.encode("utf-8", "replace"))
    except ValueError:
        return False
    return True


# --- the call --------------------------------------------------------------------------------------------------------


class Call(NamedTuple):
    """A call of an endpoint with bound arguments: prepares the request, sends it and reads the response."""

    endpoint: EndpointOptions
    args: tuple[Any, ...]
    options: CallOptions | None = None
    url: str | None = None
    """The URL of the request, if it is known."""

    def with_header(self, name: str, value: str) -> Call:
        """Return this call with one more header."""
        options = self.options or NO_CALL_OPTIONS
        return self._replace(options=options._replace(headers={**options.headers, name: value}))

    def with_timeout(self, timeout: float | Timeout) -> Call:
        """Return this call with a timeout for each attempt, in milliseconds."""
        return self._replace(options=(self.options or NO_CALL_OPTIONS)._replace(timeout=timeout))

    def header(self, name: str) -> str | None:
        """Return the header of the call or its endpoint with this name, given in lower case; None without one."""
        init: RequestInit = getattr(self.endpoint, "request_init", None) or {}
        own: Mapping[str, str] = self.options.headers if self.options is not None else NO_HEADERS
        given = {**dict(init.get("headers") or {}), **own}
        return next((value for one, value in given.items() if one.lower() == name), None)

    def steps(self, context: CallContext | None = None) -> Steps:
        """Return the steps from the arguments to the value of the response; they store their results in `context`."""
        context = context or CallContext()
        context.endpoint, context.options, context.transport = self.endpoint, self.options, in_use.get()
        token = current_call.set(context)
        try:
            is_standard = self.endpoint.plan.is_standard  # else hooks may send anything at any time
            context.url, context.was_sent = self.url if is_standard else None, not is_standard
            context.value = yield from self.endpoint.steps(self.args)
            return context.value
        finally:
            try:
                current_call.reset(token)
            except ValueError:
                pass  # an abandoned coroutine is closed in another context, where there is nothing to restore


def current_options(endpoint: object) -> CallOptions | None:
    """Return the options of the current call if it is one of this endpoint; else None."""
    call = current_call.get()
    return None if call is None or call.endpoint is not endpoint else cast("CallOptions | None", call.options)
