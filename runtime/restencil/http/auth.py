"""What a generated client knows of its API: where it is, and how a request shows who sends it.

The secret stands in no spec and in no generated file: the client takes it as `token=`, or reads it from an environment
variable. It is read anew for every request, added just before the request is sent, and shows in no key, log or error.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

from ..base.calls import Token
from ..base.lazy import base64, inspect, logger, urls
from ..base.struct import Struct
from ..base.transport import joined, public_url

__all__ = ["Api", "Auth", "Preparation", "Token"]

Prepared: TypeAlias = tuple[str, dict[str, str]]


class Auth(Struct):
    """How a token travels. Made by one of the class methods; `env` names the environment variable that may hold it."""

    kind: Literal["header", "bearer", "basic", "cookie", "query"]
    name: str = ""
    env: str | None = None

    @classmethod
    def header(cls, name: str, *, env: str | None = None) -> Auth:
        """The token is the value of this header."""
        return cls("header", name, env)

    @classmethod
    def bearer(cls, *, env: str | None = None) -> Auth:
        """`Authorization: Bearer TOKEN`."""
        return cls("bearer", "Authorization", env)

    @classmethod
    def basic(cls, *, env: str | None = None) -> Auth:
        """`Authorization: Basic …`; the token is `user:password`."""
        return cls("basic", "Authorization", env)

    @classmethod
    def cookie(cls, name: str, *, env: str | None = None) -> Auth:
        """The token is sent as a cookie of this name."""
        return cls("cookie", name, env)

    @classmethod
    def query(cls, name: str, *, env: str | None = None) -> Auth:
        """The token is sent as a search parameter of this name; it is part of no key and of no error."""
        return cls("query", name, env)

    @property
    def carrier(self) -> str | None:
        """The header that the token is in, in lower case; None where it is in the URL."""
        if self.kind == "query":
            return None
        return "cookie" if self.kind == "cookie" else self.name.lower()

    @property
    def parameter(self) -> str | None:
        """The search parameter that the token is in; None where it is in a header."""
        return self.name if self.kind == "query" else None

    def apply(self, token: str, url: str, headers: dict[str, str]) -> Prepared:
        """The URL and headers of a request that carries the token."""
        if self.kind == "query":
            joint = "&" if "?" in url else "?"
            return f"{url}{joint}{urls.quote(self.name, safe='')}={urls.quote(token, safe='')}", headers
        if self.kind == "cookie":
            present = next((name for name in headers if name.lower() == "cookie"), None)
            crumb = f"{self.name}={token}"
            if present is None:
                return url, {**headers, "Cookie": crumb}
            return url, {**headers, present: f"{headers[present]}; {crumb}"}
        if self.kind == "bearer":
            value = f"Bearer {token}"
        elif self.kind == "basic":
            value = "Basic " + base64.b64encode(token.encode()).decode("ascii")
        else:
            value = token
        kept = {name: text for name, text in headers.items() if name.lower() != self.name.lower()}
        return url, {**kept, self.name: value}


class Api(Struct):
    """The API that a generated client speaks to: `url_prefix` of its spec, its `auth`, and how requests name who asks.

    `name` and `version` are what the `User-Agent` begins with; without a name it is that of the generated package.
    `user_agent` replaces all of it, False leaves the HTTP library's own.
    `request_id` is the header in which it names its requests, where that is none of the usual ones.

    `inert_headers` are names of headers that do not change what it answers, beside those that never do: where
    `with_options` gives one, that is no reason to keep what is answered apart.

    `errors` and `error_classes` are those options of a request that no endpoint describes; endpoints have their own.
    """

    url_prefix: str = ""
    auth: Auth | None = None
    name: str = ""
    version: str | None = None
    user_agent: str | Literal[False] | None = None
    inert_headers: tuple[str, ...] = ()
    request_id: str | None = None
    errors: Mapping[Any, Any] | None = None
    error_classes: str | None = None

    def check_takes_token(self, client: str) -> None:
        """Raises TypeError where a token has no place to go; `client` is the class that was given one."""
        if self.auth is None:
            raise TypeError(f"the API of {client} declares no auth, so a token has no place to go")


class Unsigned(NamedTuple):
    """A request as it goes out without the credential that its API asks for; `lacking` says so, and what would help."""

    url: str
    headers: dict[str, str]
    lacking: str


class Preparation:
    """Gives each request of a client its token, and the place where the client was told to look for the API.

    Called with (url, headers) just before a request is sent; gives both as they go out, or an awaitable of them where
    the token comes from a coroutine function. The first request without a token is told in the log.
    """

    __slots__ = ("_api", "_blocking", "_of_call", "_url_prefix", "_warned", "token")

    def __init__(self, api: Api, token: Token | None, url_prefix: str | None, *, blocking: bool) -> None:
        self._api = api
        self.token = token
        """What the client was given: the secret, or a function that gives it."""
        self._of_call = False
        self._url_prefix = url_prefix
        self._blocking = blocking
        self._warned = False

    def __call__(self, url: str, headers: dict[str, str]) -> Prepared | Unsigned | Awaitable[Prepared | Unsigned]:
        url = self.locate(url)
        if self._api.auth is None:
            return url, headers
        token: Any = self.token() if callable(self.token) else self.token
        if not inspect.isawaitable(token):
            return self._signed(token, url, headers)
        if not self._blocking:
            return self._signed_later(token, url, headers)
        if inspect.iscoroutine(token):
            token.close()
        raise TypeError(
            "the token function of this client returned an awaitable; the synchronous client cannot await it, "
            "give a plain function or use the asynchronous client"
        )

    def with_token(self, token: Token) -> Preparation:
        """A preparation with another token, in whose place none from the environment is taken."""
        other = Preparation(self._api, token, self._url_prefix, blocking=self._blocking)
        other._of_call = True
        return other

    def locate(self, url: str) -> str:
        """The URL with the client's own prefix in place of the spec's; other URLs stay as they are."""
        given = self._url_prefix
        if given is None:
            return url
        prefix = self._api.url_prefix
        if not prefix:
            return url if "://" in url else joined(given, url)
        rest = url[len(prefix) :]
        if url.startswith(prefix) and (not rest or rest[0] in "/?#" or prefix.endswith("/")):
            return joined(given, rest)
        return url

    async def _signed_later(
        self, token: Awaitable[str | None], url: str, headers: dict[str, str]
    ) -> Prepared | Unsigned:
        return self._signed(await token, url, headers)

    def _signed(self, token: str | None, url: str, headers: dict[str, str]) -> Prepared | Unsigned:
        auth = self._api.auth
        if auth is None:
            return url, headers
        if not token and auth.env is not None and not self._of_call:
            token = os.environ.get(auth.env)
        if not token:
            lacking = self._lacking(auth)
            if not self._warned:
                self._warned = True
                logger.warning("%s: %s (said once)", public_url(url).partition("?")[0], lacking)
            return Unsigned(url, headers, lacking)
        _check_text(token)
        return auth.apply(token, url, headers)

    def _lacking(self, auth: Auth) -> str:
        text = f"the request went out without the credential that its API asks for ({auth.kind}): "
        text += "its token function gave none" if callable(self.token) else "give the client its token=…"
        return text if auth.env is None or self._of_call else f"{text}, or set the environment variable {auth.env}"


def _check_text(token: Any) -> None:
    """Raises TypeError or ValueError for a token that is no text, without showing it."""
    if not isinstance(token, str):
        raise TypeError(
            f"the token of this client is of type {type(token).__name__}; give a text (for basic auth "
            "'user:password'), or a function that gives one"
        )
    if any("\ud800" <= character <= "\udfff" for character in token):
        raise ValueError("the token of this client, not shown here, has a lone surrogate; decode it as UTF-8")
