"""The mock server as an ASGI application: HTTP around `answer`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qsl, quote

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from restencil_generator.mock.answer import answer
from restencil_generator.mock.auth import authorize, without_secrets
from restencil_generator.mock.browsers import check_content_type, with_cors
from restencil_generator.mock.call import Call, Reply
from restencil_generator.mock.documents import HOME, Documents
from restencil_generator.mock.errors import CannotServe, Refusal
from restencil_generator.mock.failures import body, fail_on_request
from restencil_generator.mock.parse_body import parse, unwrapped
from restencil_generator.mock.routes import Found, Routes
from restencil_generator.mock.seed import seeded
from restencil_generator.mock.token_server import TokenServers
from restencil_generator.mock.validators import Validators, matches, tag_of
from restencil_generator.spec import model as d

Log = Callable[[str], None]

MAX_BODY: Final = 10_000_000
"""The default of the maximum size of a body in bytes."""

_CHANGES: Final = ("POST", "PUT", "PATCH", "DELETE")

_HOST: Final = re.compile(r"[A-Za-z0-9._~:\[\]-]+")


def create_app(
    *specs: d.Spec,
    auth: bool = True,
    auth_server: bool = False,
    log: Log | None = None,
    max_body: int = MAX_BODY,
) -> ASGIApp:
    """Return an ASGI application that serves the API of the specs, with separate data that is created for each call.

    A single spec is served at the root, several are served below the names of their packages. With `auth`, requests
    need the credentials that `auth` of the spec declares; any non-empty value is valid. With `auth_server`, the path of
    each `token_url` issues tokens. `log` gets a line for each request: method, path and status. A body of more than
    `max_body` bytes is rejected, and not read completely.

    Raises `CannotServe` if two specs have the same package, or if an example does not fit.
    """
    mounts: dict[str, _Api] = {}
    for spec in specs:
        prefix = "" if len(specs) == 1 else f"/{spec.package}"
        if prefix in mounts:
            raise CannotServe(f"{spec.file}: another spec has the same package '{spec.package}'; serve them separately")
        mounts[prefix] = _Api(spec, prefix, auth=auth, auth_server=auth_server, max_body=max_body)
    app = _Root(mounts, log)
    return with_cors(app)


class _Root:
    """Dispatches each request to an API by the prefix of its path."""

    def __init__(self, mounts: dict[str, _Api], log: Log | None) -> None:
        self._mounts = mounts
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        try:
            response = await self._respond(request)
        except ClientDisconnect:  # the client has disconnected, or already got an error for its body
            return
        if self._log is not None:
            query = f"?{_query(request)}" if _query(request) else ""
            self._log(f"{request.method} {_raw_path(request)}{query} {response.status_code}")
        await response(scope, receive, send)

    async def _respond(self, request: Request) -> Response:
        path = _raw_path(request)
        for prefix, api in self._mounts.items():
            if path == prefix or path.startswith(f"{prefix}/"):
                return await api.respond(request, path.removeprefix(prefix) or "/")
        known = {prefix: api.title for prefix, api in self._mounts.items()}
        if path == "/":
            return JSONResponse({"apis": known})
        refusal = Refusal(HTTPStatus.NOT_FOUND, f"no API at {path}; there are {', '.join(known)}")
        content: d.Json = {"error": refusal.word, "message": str(refusal)}
        return _http(Reply(refusal.status, content), request.method)


class _Api:
    """One spec with its routes and its data."""

    def __init__(self, spec: d.Spec, prefix: str, *, auth: bool, auth_server: bool, max_body: int) -> None:
        self._max_body = max_body
        self._spec = spec
        self._prefix = prefix
        self.title = spec.title or spec.package
        self._auth = spec.auth if auth else None
        self._token_servers = TokenServers(spec.auth if auth_server else None)
        self._documents = Documents(spec, auth_server=auth_server)
        self._routes = Routes(spec)
        self._tables = seeded(spec)
        self._validators = Validators()

    async def respond(self, request: Request, path: str) -> Response:
        token_server = self._token_servers.at(path)
        if token_server is not None:
            reply = self._token_servers.reply(token_server, request, await self._read(request))
            return _http(reply, request.method)
        if self._is_document(request.method, path):
            return self._documents.response(path, f"{_origin(request)}{self._prefix}")
        query = parse_qsl(_query(request), keep_blank_values=True, errors="replace")
        given = query if self._auth is None else without_secrets(self._auth, query)
        found = self._routes.find(request.method, path, given)
        endpoint = found.route.endpoint if isinstance(found, Found) else None
        try:
            reply = await self._reply(request, path, found, dict(query))
        except Refusal as refusal:
            content = body(self._spec, endpoint, refusal.status, refusal.word, str(refusal))
            reply = Reply(refusal.status, content, refusal.headers)
        return self._validated(request, path, _http(reply, request.method))

    def _validated(self, request: Request, path: str, response: Response) -> Response:
        """Add an ETag to a response: that of its body, or of the record that the request has changed."""
        if response.status_code == HTTPStatus.OK and request.method == "GET":
            return self._validators.validated(f"{path}?{_query(request)}", request.headers, response)
        if request.method in _CHANGES and 200 <= response.status_code < 300:
            changed = response.headers.get("location", "").removeprefix(self._prefix) or path
            tag = self._tag_at(changed) if request.method != "POST" or "location" in response.headers else None
            if tag is not None:
                response.headers["ETag"] = tag
        return response

    def _tag_at(self, path: str) -> str | None:
        """Return the current ETag at a path; None if nothing is there, or if no endpoint reads it."""
        found = self._routes.find("GET", path, [])
        if not isinstance(found, Found):
            return None
        try:
            reply = answer(self._tables, Call(found.route, found.params, root=self._prefix))
        except Refusal:
            return None
        return tag_of(bytes(_http(reply, "GET").body))

    def _check_condition(self, request: Request, path: str) -> None:
        """Reject an update whose `If-Match` is not the current ETag."""
        condition = request.headers.get("if-match")
        if condition is not None and request.method in _CHANGES and not matches(condition, self._tag_at(path)):
            raise Refusal(HTTPStatus.PRECONDITION_FAILED, "If-Match does not match the current ETag")

    def _is_document(self, method: str, path: str) -> bool:
        """Return whether a document is requested, and no endpoint of the API has the path."""
        if method not in ("GET", "HEAD") or not self._documents.has(path):
            return False
        return path.startswith(f"{HOME}/") or self._routes.find("GET", path, []) == frozenset()

    async def _reply(
        self, request: Request, path: str, found: Found | frozenset[str], query: Mapping[str, str]
    ) -> Reply:
        if isinstance(found, Found):
            fail_on_request(request.headers.getlist("prefer"))
        if self._auth is not None:
            authorize(self._auth, found.route.endpoint if isinstance(found, Found) else None, request, query)
        if isinstance(found, frozenset):
            if not found and path == "/" and request.method in ("GET", "HEAD"):
                return Reply(HTTPStatus.OK, {"title": self.title, "endpoints": self._index()})
            if not found:
                raise Refusal(HTTPStatus.NOT_FOUND, f"the spec has no endpoint at {path}; GET / lists all")
            allowed = ", ".join(sorted(found))
            message = f"{path} accepts {allowed}, not {request.method}"
            raise Refusal(HTTPStatus.METHOD_NOT_ALLOWED, message, headers={"Allow": allowed})
        endpoint = found.route.endpoint
        self._check_headers(request, endpoint)
        self._check_length(request)
        if endpoint.has_body:
            check_content_type(request, endpoint)
        sent = (
            parse(self._spec, endpoint.body, request.headers.get("content-type", ""), await self._read(request))
            if endpoint.has_body
            else d.MISSING
        )
        sent = unwrapped(sent, endpoint.request)
        self._check_condition(request, path)
        call = Call(found.route, found.params, found.query, sent, _address(request), self._prefix)
        return answer(self._tables, call)

    def _check_headers(self, request: Request, endpoint: d.Endpoint) -> None:
        """Reject a call without a required header."""
        own = {param.field.wire.lower() for param in endpoint.header_params}
        replaced = own | {name.lower() for name in (*endpoint.without, *endpoint.headers)}
        required = [param for param in self._spec.header_params if param.auto is None]
        of_client = [param for param in required if param.field.wire.lower() not in replaced]
        for param in (*endpoint.header_params, *of_client):
            if param.field.required and param.field.wire not in request.headers:
                raise Refusal(HTTPStatus.BAD_REQUEST, f"the required header {param.field.wire} is missing")

    def _check_length(self, request: Request) -> None:
        """Reject a body whose declared length is too large, before it is read."""
        length = request.headers.get("content-length", "")
        if length.isdecimal() and (len(length) > 18 or int(length) > self._max_body):
            raise self._too_large()

    async def _read(self, request: Request) -> bytes:
        """Read a body up to the maximum size."""
        raw = bytearray()
        async for chunk in request.stream():
            raw += chunk
            if len(raw) > self._max_body:
                raise self._too_large()
        return bytes(raw)

    def _too_large(self) -> Refusal:
        return Refusal(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            f"the body has more than {self._max_body:,} bytes; --max-body N allows more",
            headers={"Connection": "close"},  # the rest of the body is not read, so the connection cannot be reused
        )

    def _index(self) -> list[d.Json]:
        return [*sorted({f"{route.endpoint.method} {route.endpoint.path.text}" for route in self._routes})]


def _raw_path(request: Request) -> str:
    """Return the path as it was sent, still percent-encoded."""
    raw = request.scope.get("raw_path")
    return raw.decode("ascii", "replace").partition("?")[0] if isinstance(raw, bytes) else request.url.path


def _query(request: Request) -> str:
    """Return the query as it was sent."""
    raw = request.scope.get("query_string", b"")
    return raw.decode("latin-1") if isinstance(raw, bytes) else ""


def _address(request: Request) -> str:
    """Return the URL of a request without its query."""
    path = quote(_raw_path(request), safe="/%:@!$&'()*+,;=~-._")
    return f"{_origin(request)}{path}"


def _origin(request: Request) -> str:
    """Return scheme and host of a request, or a default host if the sent one is invalid."""
    host = request.headers.get("host", "")
    return f"{request.scope.get('scheme', 'http')}://{host if _HOST.fullmatch(host) else 'localhost'}"


def _http(reply: Reply, method: str) -> Response:
    headers = dict(reply.headers)
    match reply.content:
        case bytes() as content:
            response = Response(content, reply.status, headers, media_type="application/octet-stream")
        case str() as text if reply.text:
            response = PlainTextResponse(text, reply.status, headers)
        case content if content is d.MISSING:
            response = Response(status_code=reply.status, headers=headers)
        case content:
            response = JSONResponse(content, reply.status, headers)
    if method == "HEAD":
        response.body = b""  # the length is that of the response to GET
    return response
