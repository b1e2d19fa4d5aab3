"""One call of an endpoint, and its lifecycle as named steps: prepare, send, parse, process."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from ..base.bodies import Form, Multipart
from ..base.calls import CROSS_ORIGIN_BODY, USE, WITHOUT
from ..base.errors import ParseError, UnexpectedContentError
from ..base.json_text import decode_json
from ..base.lazy_imports import find
from ..base.response import ERROR_TYPES, charset_of, error_members, reported, without_secrets
from ..base.steps import PLAIN, CallContext, Outcome, Steps, current_call, current_transport, in_use, is_awaitable
from ..base.transport import AwaitingTransport, BlockingTransport, ImpliedHeader
from ..base.values import copy_in
from ..schema.entity import entity_model
from .bodies import check_no_null, is_json_body, json_text
from .call_options import NO_CALL_OPTIONS, NO_HEADERS, CallOptions, options_of, overlaid
from .options import BODILESS
from .payloads import assumed, body_in
from .styles import styled_form

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


_JSON_TYPE: Final = ImpliedHeader("application/json")
_READS: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
_SEE_OTHER: Final = 303
NOT_MODIFIED: Final = 304
"""A status that transports accept only for conditional requests; for others they raise an error."""
_REWRITING: Final = (301, 302, _SEE_OTHER)
"""Statuses of redirects that change other methods to GET."""
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


# --- prepare ---------------------------------------------------------------------------------------------------------


def prepare(endpoint: HttpOptions, body: object = None, options: CallOptions | None = None) -> Any:
    """Return the request: `request_init` with `method`, `signal` and `body` over it, and headers, also of the call.

    A JSON body is encoded as a string. Raises TypeError for a body that has no JSON form, and ValueError for None in a
    form.
    """
    request_init = endpoint.request_init
    init: dict[str, Any] = {**request_init, "method": endpoint.method, "signal": endpoint.signal, "body": None}
    as_json = True
    is_empty_text = type(body) is str and not body and endpoint.body_format != "json"
    if body is not None and not is_empty_text:
        as_json = is_json_body(body, endpoint.body_format)
        if as_json and endpoint.wrap is not None:
            from .envelopes import enclosed

            body = enclosed(body, endpoint.wrap)
        elif isinstance(body, Form | Multipart):
            check_no_null(body, endpoint.form_styles, endpoint.name)
            if isinstance(body, Form):
                body = Form(styled_form(body, endpoint.form_styles))
        init["body"] = json_text(body, endpoint.name) if as_json else body
    own = request_init.get("headers")
    if options is not None and options.headers:
        own = overlaid(own, options.headers)
    headers: dict[str, str] = {"Content-Type": _JSON_TYPE} if as_json else {}
    if endpoint.content_type is not None and not isinstance(body, Form | Multipart):
        headers = {"Content-Type": ImpliedHeader(endpoint.content_type)}
    if own:
        own = dict(own)
        if any(name.lower() == "content-type" for name in own):
            headers.clear()
        headers.update(own)
    sent = endpoint.get_headers(headers)
    if type(sent) is not dict and is_awaitable(sent):
        transport = current_transport()
        if not isinstance(transport, BlockingTransport):
            return _with_headers(init, sent)
        Outcome(f"get_headers of endpoint {endpoint.name!r}", sent).take(transport)
    init["headers"] = sent
    return init


async def _with_headers(init: dict[str, Any], headers: Any) -> dict[str, Any]:
    init["headers"] = await headers
    return init


# --- send ------------------------------------------------------------------------------------------------------------


def send(endpoint: HttpOptions, transport: Any, url: str, init: RequestInit, options: CallOptions | None) -> Any:
    """Send the request and return the response, or an awaitable of it with a transport for asyncio."""
    init = on_the_wire(endpoint, init)
    timeout = endpoint.timeout
    if options is not None and options.timeout is not None:
        timeout, init = options.timeout, {name: value for name, value in init.items() if name != "timeout"}
    return transport.send(url, init, timeout=timeout, stream=endpoint.content == "stream")


def on_the_wire(endpoint: HttpOptions, init: RequestInit) -> RequestInit:
    """Return `init` as the transport sends it: without Content-Type if there is no body, with Accept for JSON.

    Hooks get `init` without these changes. It also sets which redirects may change the method to GET: none for a
    mutation, except 303 with `follow_see_other`.
    """
    given: Any = init.get("headers")
    headers: dict[str, Any] = dict(given or ())
    body = init.get("body")
    names = {name.lower() for name in headers}
    if (body is None or (type(body) is str and not body)) and "content-type" in names:
        headers = {name: value for name, value in headers.items() if type(value) is not ImpliedHeader}
    if endpoint.content in (None, "json") and "accept" not in names and endpoint.method not in BODILESS:
        headers = {**headers, "Accept": _JSON_TYPE}
    sent = {**init, "headers": headers}
    if endpoint.plan.without:
        sent[WITHOUT] = endpoint.plan.without
    if endpoint.plan.error_types is not None:
        sent[ERROR_TYPES] = endpoint.plan.error_types
    if endpoint.auth is not None:
        sent[USE] = endpoint.auth
    if endpoint.method not in _READS and not endpoint.side_effect:
        sent["follow_as_get"] = _REWRITING
    elif endpoint.follow_see_other:
        sent["follow_as_get"] = (_SEE_OTHER,)
    if endpoint.redirects is not None and endpoint.redirects["cross_origin_body"]:
        sent[CROSS_ORIGIN_BODY] = True
    return sent


# --- parse -----------------------------------------------------------------------------------------------------------


LONG: Final = 8192
"""The minimum size in bytes of bodies that are compared with the previous one before they are decoded.

Measured by the benchmark "fetched again, nothing changed".
"""


def parse(endpoint: HttpOptions, response: Any) -> Any:
    """Parse a response to JSON, text, bytes or None, depending on status, content type and options.

    Returns an awaitable if the body must be awaited. Raises ParseError (400) for malformed JSON, and
    UnexpectedContentError (404) for text or binary content if the endpoint has a schema.
    """
    if response.status_code == 204 or endpoint.method in BODILESS or endpoint.ignore:
        return None
    if endpoint.content == "stream":
        return (current_transport() or transport_for(None)).streamed(response)
    try:
        content = response.content
    except RuntimeError as error:
        content = (current_transport() or transport_for(None)).read(response, error)
        if not isinstance(content, bytes):
            return _parsed_later(endpoint, response, content)
    return _parsed(endpoint, response, content)


async def _parsed_later(endpoint: HttpOptions, response: object, content: Awaitable[bytes]) -> object:
    return _parsed(endpoint, response, await content)


def _parsed(endpoint: HttpOptions, response: Any, content: bytes) -> object:
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


def _outcome(endpoint: HttpOptions) -> str:
    """Return the end of the message of an error that is raised although the server accepted the request."""
    return "; the change was made" if endpoint.side_effect else ""


def _malformed(endpoint: HttpOptions, response: object, kind: str, content: bytes, error: ValueError) -> ParseError:
    if content:
        problem = f"the response is not valid JSON ({error}), but its content type is {kind or 'missing'!r}"
    else:
        problem = "the response is empty; expected JSON"
    return ParseError(f"{reported(response)}: {problem}{_outcome(endpoint)}", status=400, **error_members(response))


def _unexpected(endpoint: HttpOptions, response: object, kind: str, text: str | None) -> UnexpectedContentError:
    start = f"{reported(response)}: endpoint {endpoint.name!r} has a schema and expected JSON, but the response is "
    if text is None:
        rest = f"binary content of type {kind!r}; set schema=None to get its bytes"
    elif "html" in kind or text.lstrip()[:15].lower().startswith(("<!doctype html", "<html")):
        rest = f"HTML; the route may not exist on the server. It begins with: {without_secrets(response, text)[:300]}"
    elif _reads_as_json(text):
        rest = (
            f"JSON with the content type {kind or 'missing'!r}; fix the server to send "
            "'application/json', or set content='json'"
        )
    else:
        rest = f"text of type {kind or 'missing'!r}; set schema=None to get the text, or convert it in a process"
    return UnexpectedContentError(start + rest + _outcome(endpoint), status=404, **error_members(response))


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
