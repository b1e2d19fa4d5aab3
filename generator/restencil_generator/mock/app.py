"""The mock server as an ASGI application: HTTP around `answer`."""

from __future__ import annotations

import base64
import binascii
import email.parser
import email.policy
import json
from collections.abc import Callable, Sequence
from http import HTTPStatus
from urllib.parse import parse_qsl

from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from restencil_generator.declaration import MISSING, Auth, Body, Field, Json, ObjectType, Scalar, Spec
from restencil_generator.mock.answer import answer
from restencil_generator.mock.call import Call, Reply, Sent
from restencil_generator.mock.errors import CannotServe, Refusal
from restencil_generator.mock.kinds import bare
from restencil_generator.mock.routes import Routes
from restencil_generator.mock.seed import seeded

Log = Callable[[str], None]


def create_app(*specs: Spec, auth: bool = True, log: Log | None = None) -> ASGIApp:
    """An ASGI application that serves what the specs declare, with data of its own that starts anew with each call.

    One spec is served at the root, several each under the name of its package. With `auth`, requests need the
    credential that the spec's `auth` names; any value that is not empty will do. `log` gets a line for each request:
    method, path and status.

    Raises `CannotServe` where two specs have one package, and where an example of a spec cannot be served.
    """
    mounts: dict[str, _Api] = {}
    for spec in specs:
        prefix = "" if len(specs) == 1 else f"/{spec.package}"
        if prefix in mounts:
            raise CannotServe(f"{spec.file}: another spec has the package '{spec.package}' too; serve them one by one")
        mounts[prefix] = _Api(spec, auth=auth)
    app = _Root(mounts, log)
    return CORSMiddleware(
        app, allow_origins=["*"], allow_methods=["*"], allow_headers=["*"], expose_headers=["*"], max_age=600
    )


class _Root:
    """Hands each request to the API that its path begins with."""

    def __init__(self, mounts: dict[str, _Api], log: Log | None) -> None:
        self._mounts = mounts
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        response = await self._respond(request)
        if self._log is not None:
            query = f"?{request.url.query}" if request.url.query else ""
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
        return _refused(
            Refusal(HTTPStatus.NOT_FOUND, f"no API at {path}; there are {', '.join(known)}"), request.method
        )


class _Api:
    """One spec with its routes and its data."""

    def __init__(self, spec: Spec, *, auth: bool) -> None:
        self.title = spec.title or spec.package
        self._auth = spec.auth if auth else None
        self._routes = Routes(spec)
        self._tables = seeded(spec)

    async def respond(self, request: Request, path: str) -> Response:
        try:
            return _http(await self._reply(request, path), request.method)
        except Refusal as refusal:
            return _refused(refusal, request.method)

    async def _reply(self, request: Request, path: str) -> Reply:
        query = parse_qsl(request.url.query, keep_blank_values=True, errors="replace")
        if self._auth is not None:
            query = _authorize(self._auth, request, query)
        found = self._routes.find(request.method, path, query)
        if isinstance(found, frozenset):
            if not found and path == "/" and request.method in ("GET", "HEAD"):
                return Reply(HTTPStatus.OK, {"title": self.title, "endpoints": self._index()})
            if not found:
                raise Refusal(HTTPStatus.NOT_FOUND, f"the spec has no endpoint at {path}; GET / lists all")
            allowed = ", ".join(sorted(found))
            message = f"{path} answers {allowed}, not {request.method}"
            raise Refusal(HTTPStatus.METHOD_NOT_ALLOWED, message, headers={"Allow": allowed})
        endpoint = found.route.endpoint
        body = _parse(endpoint.body, request, await request.body()) if endpoint.has_body else MISSING
        call = Call(found.route, found.params, found.query, body, str(request.url.replace(query="")))
        return answer(self._tables, call)

    def _index(self) -> list[Json]:
        return [*sorted({f"{route.endpoint.method} {route.endpoint.path.text}" for route in self._routes})]


def _raw_path(request: Request) -> str:
    """The path as it was sent, still percent-encoded."""
    raw = request.scope.get("raw_path")
    return raw.decode("ascii", "replace").partition("?")[0] if isinstance(raw, bytes) else request.url.path


def _refused(refusal: Refusal, method: str) -> Response:
    """An error as JSON: `{"error": "not_found", "message": …}`."""
    content: Json = {"error": refusal.word, "message": str(refusal)}
    return _http(Reply(refusal.status, content, refusal.headers), method)


def _http(reply: Reply, method: str) -> Response:
    headers = dict(reply.headers)
    match reply.content:
        case bytes() as content:
            response = Response(content, reply.status, headers, media_type="application/octet-stream")
        case str() as text if reply.text:
            response = PlainTextResponse(text, reply.status, headers)
        case content if content is MISSING:
            response = Response(status_code=reply.status, headers=headers)
        case content:
            response = JSONResponse(content, reply.status, headers)
    if method == "HEAD":
        response.body = b""  # the length stays that of the answer to GET
    return response


def _authorize(auth: Auth, request: Request, query: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The query without the credential; refuses a request that has none."""
    challenge = ""
    match auth.kind:
        case "header":
            present, wanted = bool(request.headers.get(auth.name)), f"the header {auth.name}"
        case "cookie":
            present, wanted = bool(request.cookies.get(auth.name)), f"the cookie {auth.name}"
        case "query":
            present, wanted = bool(dict(query).get(auth.name)), f"the query argument {auth.name}"
            query = [pair for pair in query if pair[0] != auth.name]
        case "bearer":
            present, wanted, challenge = _scheme(request) == "bearer", "the header Authorization: Bearer …", "Bearer"
        case "basic":
            present, wanted, challenge = _scheme(request) == "basic", "the header Authorization: Basic …", "Basic"
    if not present:
        raise Refusal(
            HTTPStatus.UNAUTHORIZED,
            f"{wanted} is missing; the mock server accepts any value that is not empty (--no-auth: none is needed)",
            headers={"WWW-Authenticate": f'{challenge or "Token"} realm="mock"'},
        )
    return query


def _scheme(request: Request) -> str:
    """The scheme of the Authorization header in lower case, empty where no usable credential follows it."""
    scheme, _, credential = request.headers.get("authorization", "").partition(" ")
    scheme, credential = scheme.lower(), credential.strip()
    if scheme == "basic":
        try:
            return scheme if b":" in base64.b64decode(credential, validate=True) else ""
        except binascii.Error:
            return ""
    return scheme if credential else ""


# ------------------------------------------------------------------------------------------------------------- bodies


def _parse(body: Body | None, request: Request, raw: bytes) -> Sent:
    """The body as the endpoint declares it: JSON, a form's fields under their types, or bytes."""
    content_type = request.headers.get("content-type", "")
    kind = content_type.partition(";")[0].strip().lower()
    if not raw:
        return MISSING
    if kind == "application/x-www-form-urlencoded":
        pairs: Sequence[tuple[str, str]] = parse_qsl(raw.decode("utf-8", "replace"), keep_blank_values=True)
        return _form(body, pairs)
    if kind == "multipart/form-data":
        return _form(body, _multipart(content_type, raw))
    if body is not None and (body.kind == "bytes" or (body.kind == "any" and "json" not in kind)):
        return raw
    try:
        parsed: Json = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise Refusal(HTTPStatus.BAD_REQUEST, f"the body is no JSON: {error}") from error
    return parsed


def _multipart(content_type: str, raw: bytes) -> list[tuple[str, str]]:
    """The parts of a form. Of a file its name is kept: the mock server stores no contents."""
    head = b"Content-Type: " + content_type.encode("latin-1") + b"\r\n\r\n"
    message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + raw)
    if not message.is_multipart():
        raise Refusal(HTTPStatus.BAD_REQUEST, "the body is no multipart form: its Content-Type has no usable boundary")
    pairs: list[tuple[str, str]] = []
    for part in message.iter_parts():
        disposition = part.get("content-disposition")
        name = None if disposition is None else disposition.params.get("name")
        if name is not None:
            content = part.get_payload(decode=True)
            text = content.decode("utf-8", "replace") if isinstance(content, bytes) else ""
            pairs.append((name, part.get_filename() or text))
    return pairs


def _form(body: Body | None, pairs: Sequence[tuple[str, str]]) -> Json:
    fields = {} if body is None or not isinstance(body.type, ObjectType) else {f.wire: f for f in body.type.members}
    return {name: _value(fields.get(name), text) for name, text in pairs}


def _value(field: Field | None, text: str) -> Json:
    """A form's text as the JSON value that the field's type asks for; as it is where it is no such value."""
    type_ = None if field is None else bare(field.type)
    if isinstance(type_, Scalar) and type_.name in ("integer", "number", "boolean"):
        try:
            parsed: Json = json.loads(text)
        except ValueError:
            return text
        return parsed
    return text
