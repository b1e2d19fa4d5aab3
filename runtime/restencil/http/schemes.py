"""Authentication schemes: how a credential is added to a request."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias
from urllib import parse as urls

from ..base.values import Struct

Prepared: TypeAlias = tuple[str, dict[str, str]]

Use: TypeAlias = tuple[tuple[str, ...], ...]
"""Alternatives of scheme names: requests use the first whose schemes all have a credential; `()` needs none."""

SHORT: Final = "token"
"""The name of an unnamed scheme of an API."""

_LOOPBACK: Final = re.compile(r"localhost|127(\.[0-9]{1,3}){3}|::1").fullmatch


class TokenServer(Struct):
    """A token server, and the parameters of its requests; equal ones share tokens for the same credentials.

    `params` are pairs of name and value, `env` of credential and environment variable, both sorted by name.
    """

    url: str
    grant: Literal["client_credentials", "refresh_token"] = "client_credentials"
    scopes: tuple[str, ...] = ()
    client_auth: Literal["basic", "body"] = "basic"
    params: tuple[tuple[str, str], ...] = ()
    env: tuple[tuple[str, str], ...] = ()


class Auth(Struct):
    """An authentication scheme: how a credential is sent. Create it with one of the class methods.

    `env` is the name of an environment variable with the credential, and `prefix` precedes it in a header or cookie.
    `deprecated` is set for a scheme that should no longer be used; it is the reason, which may be empty.
    """

    kind: Literal["header", "bearer", "basic", "cookie", "query", "oauth2"]
    name: str = ""
    env: str | None = None
    prefix: str = ""
    deprecated: str | None = None
    server: TokenServer | None = None

    @classmethod
    def header(cls, name: str, *, prefix: str = "", env: str | None = None, deprecated: str | None = None) -> Auth:
        """Send the credential as the value of this header."""
        return cls("header", name, env, prefix, deprecated)

    @classmethod
    def bearer(cls, *, env: str | None = None, deprecated: str | None = None) -> Auth:
        """Send the credential as `Authorization: Bearer TOKEN`."""
        return cls("bearer", "Authorization", env, "", deprecated)

    @classmethod
    def basic(cls, *, env: str | None = None, deprecated: str | None = None) -> Auth:
        """Send the credential, which is `user:password`, as `Authorization: Basic …`."""
        return cls("basic", "Authorization", env, "", deprecated)

    @classmethod
    def cookie(cls, name: str, *, prefix: str = "", env: str | None = None, deprecated: str | None = None) -> Auth:
        """Send the credential as a cookie with this name."""
        return cls("cookie", name, env, prefix, deprecated)

    @classmethod
    def query(cls, name: str, *, env: str | None = None, deprecated: str | None = None) -> Auth:
        """Send the credential as a query parameter with this name; keys and errors do not contain it."""
        return cls("query", name, env, "", deprecated)

    @classmethod
    def oauth2(
        cls,
        token_url: str,
        *,
        grant: Literal["client_credentials", "refresh_token"] = "client_credentials",
        scopes: tuple[str, ...] = (),
        client_auth: Literal["basic", "body"] = "basic",
        params: Mapping[str, str] | None = None,
        env: Mapping[str, str] | None = None,
        deprecated: str | None = None,
    ) -> Auth:
        """Request tokens at `token_url`, and send them as `Authorization: Bearer TOKEN`.

        `client_auth` is how the client authenticates there: by basic authentication, or in the body. `params` are more
        parameters of these requests. `env` maps `client_id`, `client_secret`, `refresh_token` and `access_token` to
        environment variables. Raises ValueError for a URL that is neither https nor on this machine.
        """
        _check_url(token_url)
        server = TokenServer(token_url, grant, tuple(scopes), client_auth, _pairs(params or {}), _pairs(env or {}))
        return cls("oauth2", "Authorization", None, "", deprecated, server)

    @property
    def carrier(self) -> str | None:
        """The name of the header with the credential, in lower case; None if it is in the URL."""
        if self.kind == "query":
            return None
        return "cookie" if self.kind == "cookie" else self.name.lower()

    @property
    def parameter(self) -> str | None:
        """The name of the query parameter with the credential; None if it is in a header."""
        return self.name if self.kind == "query" else None

    def apply(self, token: str, url: str, headers: dict[str, str]) -> Prepared:
        """Return the URL and headers of a request with the token added."""
        if self.kind == "query":
            joint = "&" if "?" in url else "?"
            return f"{url}{joint}{urls.quote(self.name, safe='')}={urls.quote(token, safe='')}", headers
        if self.kind == "cookie":
            present = next((name for name in headers if name.lower() == "cookie"), None)
            crumb = f"{self.name}={self.prefix}{token}"
            if present is None:
                return url, {**headers, "Cookie": crumb}
            return url, {**headers, present: f"{headers[present]}; {crumb}"}
        if self.kind in ("bearer", "oauth2"):
            value = f"Bearer {token}"
        elif self.kind == "basic":
            value = "Basic " + base64.b64encode(token.encode()).decode("ascii")
        else:
            value = f"{self.prefix}{token}"
        kept = {name: text for name, text in headers.items() if name.lower() != self.name.lower()}
        return url, {**kept, self.name: value}


class Schemes(Struct):
    """The authentication schemes of an API by name, and the alternatives that requests use.

        Schemes({"token": Auth.bearer(), "key": Auth.header("X-Key"), "app": Auth.header("X-App")},
                use=(("token",), ("key", "app")))

    `use` contains alternatives in order. Requests use the first one whose schemes all have a credential, from the
    client or the environment; `()` as the last one sends none. By default each scheme is an alternative. Raises
    ValueError for the name of an unknown scheme.
    """

    schemes: Mapping[str, Auth]
    use: Use

    def __init__(self, schemes: Mapping[str, Auth], *, use: Use | None = None) -> None:
        chosen = tuple((name,) for name in schemes) if use is None else tuple(map(tuple, use))
        super().__init__(dict(schemes), chosen)
        check_use(chosen, self.schemes, "use of Schemes")


def check_use(use: Any, schemes: Mapping[str, Auth], what: str) -> None:
    """Raise ValueError for alternatives with an unknown scheme."""
    for names in use:
        for name in names:
            if name not in schemes:
                raise ValueError(f"{what} names the scheme {name!r}; the API has {', '.join(schemes) or 'none'}")


def _check_url(url: str) -> None:
    parts = urls.urlsplit(url)
    is_safe = parts.scheme == "https" or (parts.scheme == "http" and _LOOPBACK(parts.hostname or "") is not None)
    if is_safe and parts.hostname and "@" not in parts.netloc:
        return
    raise ValueError(
        f"token_url is {urls.urlunsplit(parts._replace(netloc=parts.netloc.rpartition('@')[2]))!r}, but receives "
        "secrets; expected an https:// URL, or one on this machine, without a user name"
    )


def _pairs(texts: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(texts.items()))
