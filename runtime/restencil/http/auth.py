"""The API of a generated client, and the preparation of its requests: URL, parameters and authentication.

Credentials are not part of specs or generated files: they are arguments of the client, or environment variables. They
are read for every request, added just before it is sent, and never appear in keys, logs or errors.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias

from ..base.bodies import BodyStart, say_not_repeated
from ..base.calls import USE, ClientParam, Server, Token
from ..base.errors import StatusError
from ..base.logs import logger
from ..base.response import url_of
from ..base.steps import Outcome, Steps
from ..base.transport import RequestInit, joined, origin_of, public_url
from ..base.values import Struct
from .schemes import SHORT, Auth, Prepared, Schemes, Use, check_use

__all__ = ["Api", "Auth", "Preparation", "Schemes", "Token"]

_UNAUTHORIZED: Final = 401
_FUNCTION_OF_CLIENT: Final = "the token function of this client"


class Api(Struct):
    """The API of a generated client: its URL, authentication, `User-Agent` and parameters.

    `auth` is one `Auth`, whose credential is the argument `token` of the client, or `Schemes`, each with its argument.

    `name` and `version` begin the `User-Agent`; by default the name is that of the generated package.
    `user_agent` replaces the whole header; False sends that of the HTTP library.
    `request_id` is the response header with the request id, if it is not one of the usual ones.

    `inert_headers` are names of more headers that do not change the content of responses: a view that sets one with
    `with_options` shares the store.

    `errors`, `error_classes` and `redirects` are these options for requests without an endpoint.

    `params` are arguments of the client that all requests send. `servers` are the servers of the API; the URL of the
    first one is `url_prefix`, which is part of keys whichever server is chosen. `url_prefixes` are the separate
    prefixes of some endpoints, so that a client rejects the replacement of an unknown one; if empty, it accepts any.
    """

    url_prefix: str = ""
    auth: Auth | Schemes | None = None
    name: str = ""
    version: str | None = None
    user_agent: str | Literal[False] | None = None
    inert_headers: tuple[str, ...] = ()
    request_id: str | None = None
    errors: Mapping[Any, Any] | None = None
    error_classes: str | None = None
    redirects: Mapping[str, bool] | None = None
    params: Mapping[str, ClientParam] = {}
    servers: Mapping[str, Server] = {}
    url_prefixes: tuple[str, ...] = ()

    @property
    def schemes(self) -> Mapping[str, Auth]:
        """The authentication schemes by name; an unnamed scheme is called `token`."""
        if isinstance(self.auth, Schemes):
            return self.auth.schemes
        return {} if self.auth is None else {SHORT: self.auth}

    @property
    def use(self) -> Use:
        """The alternatives of schemes for requests whose endpoint has no option `auth`."""
        return self.auth.use if isinstance(self.auth, Schemes) else ((SHORT,),)

    @property
    def credential_headers(self) -> Collection[str]:
        """The names of headers that contain credentials, in lower case."""
        return {scheme.carrier for scheme in self.schemes.values() if scheme.carrier is not None}

    @property
    def credential_parameters(self) -> Collection[str]:
        """The names of query parameters that contain credentials."""
        return {scheme.parameter for scheme in self.schemes.values() if scheme.parameter is not None}

    def check_takes_token(self, client: str) -> None:
        """Raise TypeError if the API has no authentication; `client` is the name of the class that got a token."""
        if self.auth is None:
            raise TypeError(f"the API of {client} declares no auth, so it cannot use a token; remove the token")


class ClientParameters(Protocol):
    """The parameters that all requests of a client send, and its server."""

    @property
    def moves(self) -> bool:
        """Whether the client uses another URL than that of the spec."""
        ...

    @property
    def distinguishing(self) -> list[str]:
        """The headers and query parameters that differ from the spec and are not secret, as text to compare."""
        ...

    def url(self) -> str:
        """Return the URL of the chosen server."""
        ...

    def add_to(self, url: str, init: RequestInit, home: str, /) -> tuple[str, RequestInit]:
        """Add the parameters of the client to a request; `home` is the URL of the API."""
        ...


class TokenSource(Protocol):
    """A source of the tokens of one scheme, which renews them."""

    def token(self) -> Steps:
        """Steps that return a valid token, requesting one if needed; None without credentials to request one."""
        ...

    def is_there(self) -> bool:
        """Return whether there is a token, or credentials to request one, as far as is known without waiting."""
        ...

    def refuse(self, token: str) -> bool:
        """Discard a token that the server rejected. Returns False if no other one can be requested."""
        ...


TokensOf: TypeAlias = Callable[[Auth, Any], TokenSource]
"""Returns the source of the tokens of a scheme, given the argument of the client for it."""


class Unsigned(NamedTuple):
    """A request that is sent without the credential that its API requires; `missing` is the message with a fix."""

    url: str
    headers: dict[str, str]
    missing: str


class Renewable(NamedTuple):
    """A request with renewable tokens; `sent` contains each source and its token."""

    url: str
    headers: dict[str, str]
    sent: tuple[tuple[TokenSource, str], ...]


Ready: TypeAlias = Prepared | Unsigned | Renewable


class Preparation:
    """Prepares each request of a client: sets its URL, and adds the client's parameters and credentials.

    `locate(url)` sets the URL, `add_parameters` adds parameters, and `steps` add credentials and send it. The
    first request without a required credential is logged. `credentials` are the arguments of the client by names of
    schemes: a secret, a function that returns it, or a value for `tokens_of`. `instead` are the names of credentials of
    a view: its requests use only alternatives with one of them, and do not read these from the environment. `noted` is
    called before the first request with a credential.
    """

    __slots__ = (
        "_api",
        "_instead",
        "_noted",
        "_schemes",
        "_sources",
        "_tokens_of",
        "_url_prefix",
        "_use",
        "_warned",
        "credentials",
        "parameters",
        "url_prefixes",
    )

    def __init__(
        self,
        api: Api,
        credentials: Mapping[str, Any],
        url_prefix: str | None,
        *,
        tokens_of: TokensOf,
        url_prefixes: Mapping[str, str] | None = None,
        instead: Collection[str] = (),
        parameters: ClientParameters | None = None,
        noted: Callable[[], None] | None = None,
    ) -> None:
        self._api = api
        self.parameters = parameters
        """The parameters and the server of the client; None if it has none."""
        self.credentials = credentials
        self._url_prefix = url_prefix
        self.url_prefixes: Mapping[str, str] = url_prefixes or {}
        """Replacements for the separate URL prefixes of some endpoints."""
        self._tokens_of = tokens_of
        self._instead = frozenset(instead)
        self._warned = False
        self._noted = noted
        self._schemes = api.schemes
        self._use = api.use
        self._sources = {
            name: tokens_of(scheme, credentials.get(name))
            for name, scheme in self._schemes.items()
            if scheme.kind == "oauth2"
        }

    def steps(self, url: str, init: RequestInit, send: Callable[[str, RequestInit, Ready], object]) -> Steps:
        """Steps that prepare and send a request, and return its response; after a 401 once more with new tokens.

        Raises the errors of sending, and AuthError if there is no new token.
        """
        url, init = self.add_parameters(self.locate(url), init)
        prepared: Ready = yield from self._signing(url, init)
        if not isinstance(prepared, Renewable):
            return (yield Outcome("sending", send(url, init, prepared)))
        start = BodyStart(init.get("body"))
        rejection: StatusError
        try:
            return (yield Outcome("sending", send(url, init, prepared)))
        except StatusError as error:
            if error.status != _UNAUTHORIZED or not _is_at_home(error):
                raise
            renewable = [source.refuse(token) for source, token in prepared.sent]  # a list, as `all` would stop early
            if not all(renewable):
                raise
            obstacle = start.rewind()
            if obstacle is not None:
                say_not_repeated(error, obstacle)
                raise
            rejection = error
        prepared = yield from self._signing(url, init)
        if not isinstance(prepared, Renewable):
            raise rejection
        return (yield Outcome("sending", send(url, init, prepared)))

    def with_credentials(self, credentials: Mapping[str, object], *, is_apart: bool) -> Preparation:
        """Return a preparation for a view with these credentials; `is_apart` if the view has a store of its own."""
        return Preparation(
            self._api,
            {**self.credentials, **credentials},
            self._url_prefix,
            tokens_of=self._tokens_of,
            url_prefixes=self.url_prefixes,
            instead=credentials,
            parameters=self.parameters,
            noted=None if is_apart else self._noted,
        )

    def locate(self, url: str) -> str:
        """Replace the prefix of the spec in a URL by that of the client; other URLs are unchanged."""
        for own in sorted(self.url_prefixes, key=len, reverse=True):
            rest = _behind(own, url)
            if rest is not None:
                return joined(self.url_prefixes[own], rest)
        given = self._url_prefix
        if given is None:
            parameters = self.parameters
            if parameters is None or not parameters.moves:
                return url
            given = parameters.url()
        prefix = self._api.url_prefix
        if not prefix:
            return url if "://" in url else joined(given, url)
        rest = _behind(prefix, url)
        return url if rest is None else joined(given, rest)

    def add_parameters(self, url: str, init: RequestInit) -> tuple[str, RequestInit]:
        """Add the parameters of the client, which are not part of keys, to a located request."""
        parameters = self.parameters
        if parameters is None:
            return url, init
        return parameters.add_to(url, init, self.locate(self._api.url_prefix))

    # credentials

    def _signing(self, url: str, init: RequestInit) -> Steps:
        """Steps that return the request with credentials of the first alternative whose credentials are all present."""
        headers: dict[str, str] = dict(init.get("headers") or ())
        if self._api.auth is None:
            return url, headers
        use: Use | None = init.get(USE)
        if use is None:
            use = self._use
        else:
            check_use(use, self._schemes, f"auth of the endpoint at {public_url(url).partition('?')[0]}")
        schemes = self._schemes
        for names in use:
            if not names:
                return url, headers
            if self._instead and self._instead.isdisjoint(names):
                continue
            secrets = yield from self._secrets(names)
            if secrets is None:
                continue
            if self._noted is not None:
                self._note()
            sent = tuple((self._sources[name], secrets[name]) for name in names if name in self._sources)
            for name in names:
                url, headers = schemes[name].apply(secrets[name], url, headers)
            return Renewable(url, headers, sent) if sent else (url, headers)
        return self._unsigned(url, headers, use)

    def _secrets(self, names: tuple[str, ...]) -> Steps:
        """Steps that return the credentials of these schemes; None if one is missing. Tokens are requested last."""
        found: dict[str, str] = {}
        for name in names:
            source = self._sources.get(name)
            if source is not None:
                if not source.is_there():
                    return None
                continue
            secret: Any = self.credentials.get(name)
            if callable(secret):
                secret = secret()
                if inspect.isawaitable(secret):
                    secret = yield Outcome(_FUNCTION_OF_CLIENT, secret)
            secret = secret or self._from_environment(name, self._schemes[name])
            if not secret:
                return None
            _check_text(secret, name)
            found[name] = secret
        for name in names:
            if name in self._sources:
                token = yield from self._sources[name].token()
                if token is None:
                    return None
                found[name] = token
        return found

    def _from_environment(self, name: str, scheme: Auth) -> str | None:
        if scheme.env is None or name in self._instead:
            return None
        return os.environ.get(scheme.env)

    def _note(self) -> None:
        """Call `noted` before the first request with a credential."""
        noted, self._noted = self._noted, None
        if noted is not None:
            noted()

    # none

    def _unsigned(self, url: str, headers: dict[str, str], use: Use) -> Unsigned:
        missing = self._missing(use)
        if not self._warned:
            self._warned = True
            logger.warning("%s: %s (logged once)", public_url(url).partition("?")[0], missing)
        return Unsigned(url, headers, missing)

    def _missing(self, use: Use) -> str:
        auth = self._api.auth
        named = auth.kind if isinstance(auth, Auth) else ", or ".join(" and ".join(names) for names in use if names)
        text = f"the request was sent without the credential that its API requires ({named}): "
        if self._instead and isinstance(auth, Schemes):
            given = ", ".join(sorted(self._instead))
            return f"{text}the token of with_options has only {given}; add the missing credentials to it"
        text += f"pass {' and '.join(f'{name}=…' for name in use[0])} to the client"
        given_by_env = [name for names in use for name in names if name not in self._instead]
        variables = [variable for name in given_by_env for variable in _variables(self._schemes[name])]
        if not variables:
            return text
        return f"{text}, or set the environment variable{'s' if len(variables) > 1 else ''} {', '.join(variables)}"


def _behind(prefix: str, url: str) -> str | None:
    """Return the part of a URL after this prefix; None for a URL with another prefix."""
    rest = url[len(prefix) :]
    return rest if url.startswith(prefix) and (not rest or rest[0] in "/?#" or prefix.endswith("/")) else None


def _is_at_home(error: StatusError) -> bool:
    """Return whether the origin of the request sent a rejection; redirects to another origin have no credentials."""
    response: Any = error.response
    return origin_of(str(response.url)) == origin_of(url_of(response))


def _variables(scheme: Auth) -> list[str]:
    if scheme.server is not None:
        return [variable for _, variable in scheme.server.env]
    return [] if scheme.env is None else [scheme.env]


def _check_text(token: object, name: str) -> None:
    """Raise TypeError or ValueError for a credential that is not a valid string; messages do not contain it."""
    what = "the token of this client" if name == SHORT else f"the credential {name!r} of this client"
    if not isinstance(token, str):
        raise TypeError(
            f"{what} is of type {type(token).__name__}; pass a string (for basic auth "
            "'user:password'), or a function that returns one"
        )
    if any("\ud800" <= character <= "\udfff" for character in token):
        raise ValueError(f"{what}, not shown here, has a lone surrogate; decode it as UTF-8")
