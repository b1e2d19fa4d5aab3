"""Authentication of requests: all schemes of an alternative must have a credential, with any value."""

from __future__ import annotations

import base64
from http import HTTPStatus
from typing import TYPE_CHECKING

from restencil_generator.mock.errors import Refusal
from restencil_generator.spec import model as d

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request


def without_secrets(auth: d.Auth, query: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return a query without the arguments that contain secrets."""
    names = {scheme.parameter for scheme in auth.schemes if scheme.kind == "query"}
    return [pair for pair in query if pair[0] not in names] if names else query


def authorize(auth: d.Auth, endpoint: d.Endpoint | None, request: Request, query: Mapping[str, str]) -> None:
    """Reject a request without the credentials of any alternative."""
    use = auth.use if endpoint is None or endpoint.auth is None else endpoint.auth
    if any(all(_present(auth.scheme(name), request, query) for name in names) for names in use):
        return
    schemes = [auth.scheme(name) for names in use for name in names]
    challenge = next((_CHALLENGES[scheme.kind] for scheme in schemes if scheme.kind in _CHALLENGES), "Token")
    wanted = _requirement(auth, use)
    many = "are" if " and " in wanted and " or " not in wanted else "is"
    raise Refusal(
        HTTPStatus.UNAUTHORIZED,
        f"{wanted} {many} missing; the mock server accepts any value that is not empty "
        "(--no-auth accepts requests without credentials)",
        headers={"WWW-Authenticate": f'{challenge} realm="mock"'},
    )


_CHALLENGES = {"bearer": "Bearer", "oauth2": "Bearer", "basic": "Basic"}


def _requirement(auth: d.Auth, use: d.Use) -> str:
    """Describe the accepted credentials in words."""
    return ", or ".join(" and ".join(_wanted(auth.scheme(name)) for name in names) for names in use)


def _wanted(scheme: d.Scheme) -> str:
    match scheme.kind:
        case "header" | "cookie":
            shown = f": {scheme.prefix}…" if scheme.prefix else ""
            return f"the {scheme.kind} {scheme.parameter}{shown}"
        case "query":
            return f"the query argument {scheme.parameter}"
        case "bearer" | "oauth2":
            return "the header Authorization: Bearer …"
        case "basic":
            return "the header Authorization: Basic …"


def _present(scheme: d.Scheme, request: Request, query: Mapping[str, str]) -> bool:
    """Return whether a request has a credential for a scheme."""
    match scheme.kind:
        case "header":
            values = request.headers.getlist(scheme.parameter)
            return any(_behind(value, scheme.prefix) for value in values)
        case "cookie":
            return _behind(request.cookies.get(scheme.parameter) or "", scheme.prefix)
        case "query":
            return bool(query.get(scheme.parameter))
        case "bearer" | "oauth2":
            return authorization(request) == "bearer"
        case "basic":
            return authorization(request) == "basic"


def _behind(value: str, prefix: str) -> bool:
    """Return whether a secret follows the prefix."""
    return value.startswith(prefix) and bool(value[len(prefix) :].strip())


def authorization(request: Request) -> str:
    """Return the scheme of the Authorization header in lower case, empty if no usable credential follows it."""
    scheme, _, credential = request.headers.get("authorization", "").partition(" ")
    scheme, credential = scheme.lower(), credential.strip()
    if scheme == "basic":
        try:
            return scheme if b":" in base64.b64decode(credential, validate=True) else ""
        except ValueError:
            return ""
    return scheme if credential else ""
