"""The arguments of a client of one API: credentials, headers, query parameters, and the choice of a server."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict
from urllib import parse as urls
from weakref import WeakKeyDictionary

from ..base.calls import HIDDEN, WITHOUT, ClientParam, Server, header_text
from ..base.logs import logger
from ..base.transport import has_scheme, origin_of, public_url
from ..base.values import described, is_mapping, scalar_text
from ..cache.store import Store
from ..endpoint.styles import styled_string
from ..http.auth import Preparation
from ..http.schemes import SHORT, Schemes
from ..schema.record import to_wire

if TYPE_CHECKING:
    from ..base.durations import Duration, Timeout
    from ..base.transport import AwaitingClient, BlockingClient, RequestInit
    from ..http.auth import Api, TokenSource
    from ..http.schemes import Auth
    from .core import Managers
    from .retry import Retries

# --- headers, search parameters and server ---------------------------------------------------------------------------
#
# Values come from the arguments, else from the environment, which is read on first use, else from the spec. They are
# not part of keys, so all clients of one package that share a store must have equal values.


_HOST: Final = re.compile(r"[A-Za-z0-9.-]+").fullmatch
_VARIABLE: Final = re.compile(r"\{([^{}]*)\}")

_served: Final[WeakKeyDictionary[Store, dict[Any, tuple[Any, str]]]] = WeakKeyDictionary()
"""The values of the clients of each package that share a store, and the call of the first of them for messages."""


class Parameters:
    """The values of the arguments of one client; `kind` is the name of its class."""

    def __init__(self, kind: str, api: Api, given: Mapping[str, Any], server: str | None) -> None:
        self._kind = kind
        self._params = api.params
        self._given = given
        self._server = _server_of(kind, api, server)
        self._is_default = server is None or server == next(iter(api.servers), None)
        self._variables: Mapping[str, ClientParam] = {}
        if self._server is not None:
            self._variables = self._server.variables
        self._check(api)
        self._sent: tuple[dict[str, str], dict[str, Any]] | None = None
        self._url: str | None = None
        for name, param in {**self._params, **self._variables}.items():
            if given.get(name) is not None:
                self._text_of(name, param)

    def _check(self, api: Api) -> None:
        every = {name for server in api.servers.values() for name in server.variables}
        for name in self._given.keys() & every:
            if name not in self._variables and self._given[name] is not None:
                owners = [own for own, server in api.servers.items() if name in server.variables]
                raise TypeError(
                    f"{name} of {self._kind} is a variable of the server {owners[0]!r}, which is not selected; pass "
                    f"server={owners[0]!r}, or remove {name}"
                )
        for name, param in self._params.items():
            if param.required and param.env is None and self._given.get(name) is None:
                raise TypeError(f"{self._kind} needs the argument {name!r}; pass {name}=…")

    # the server

    @property
    def moves(self) -> bool:
        """Whether requests go to another URL than that of the spec."""
        return self._server is not None and not (self._is_default and not self._variables)

    def url(self) -> str:
        """Return the URL of the chosen server. Raises ValueError for a variable without a value."""
        if self._url is None:
            assert self._server is not None
            host_ends = self._server.url.find("/", self._server.url.find("://") + 3)
            pieces: list[str] = []
            position = 0
            for found in _VARIABLE.finditer(self._server.url):
                pieces.append(self._server.url[position : found.start()])
                in_host = host_ends < 0 or found.start() < host_ends
                pieces.append(self._variable(found[1], in_host=in_host))
                position = found.end()
            self._url = "".join((*pieces, self._server.url[position:]))
        return self._url

    def _variable(self, name: str, *, in_host: bool) -> str:
        param = self._variables[name]
        text = self._value(name, param)
        if text is None:
            raise self._missing(name, param)
        shown = scalar_text(text)
        # HTTP libraries resolve "." and ".." as segments of a path to another one.
        if not shown or (not _HOST(shown) if in_host else shown in (".", "..")):
            expected = "letters, digits, '.' and '-'" if in_host else "a string other than '', '.' and '..'"
            raise ValueError(
                f"{name} of {self._kind} is {shown!r}, which cannot be used in the URL of a server; expected {expected}"
            )
        return shown if in_host else urls.quote(shown, safe="")

    # headers and query parameters

    def add_to(self, url: str, init: RequestInit, home: str) -> tuple[str, RequestInit]:
        """Add the headers and query parameters of the client to a request, if it goes to the API at `home`.

        Raises ValueError for a missing required argument.
        """
        if not self._params or not _is_at(url, home):
            return url, init
        if self._sent is None:
            self._sent = self._values()
        headers, query = self._sent
        without: Collection[str] = init.get(WITHOUT) or ()
        own: Mapping[str, Any] = init.get("headers") or {}
        present = {name.lower() for name in own}.union(without)
        added = {name: text for name, text in headers.items() if name.lower() not in present}
        if added:
            init = {**init, "headers": {**own, **added}}
        return (_with_query(url, query, self._styles(), without) if query else url), init

    def _styles(self) -> dict[str, str]:
        return {param.name: param.style for param in self._params.values() if param.style is not None}

    def _values(self) -> tuple[dict[str, str], dict[str, Any]]:
        headers: dict[str, str] = {}
        query: dict[str, Any] = {}
        for name, param in self._params.items():
            value = self._value(name, param)
            if value is None:
                if param.required:
                    raise self._missing(name, param)
            elif param.kind == "header":
                headers[param.name] = header_text(value, f"{name} of {self._kind}", secret=param.secret)
            else:
                query[param.name] = value
        return headers, query

    def _value(self, name: str, param: ClientParam) -> object:
        value = self._given.get(name)
        if value is None and param.env is not None:
            value = os.environ.get(param.env) or None
        return to_wire(param.default if value is None else value)

    def _missing(self, name: str, param: ClientParam) -> ValueError:
        fix = f"give {self._kind} {name}=…"
        if param.env is not None:
            fix += f", or set the environment variable {param.env}"
        return ValueError(f"the argument {name!r} of {self._kind} has no value: {fix}")

    def _text_of(self, name: str, param: ClientParam) -> None:
        """Check a value when the client is created. Raises TypeError or ValueError if it is invalid."""
        if param.kind == "header":
            header_text(self._value(name, param), f"{name} of {self._kind}", secret=param.secret)
        elif param.kind == "variable" and self._server is not None:
            host_ends = self._server.url.find("/", self._server.url.find("://") + 3)
            at = self._server.url.find(f"{{{name}}}")
            self._variable(name, in_host=host_ends < 0 or at < host_ends)
        else:
            styled_string({param.name: self._value(name, param)}, self._styles())

    # agreement

    @property
    def distinguishing(self) -> list[str]:
        """The headers and query parameters that differ from the spec and are not secret, as text to compare."""
        texts: list[str] = []
        for name, param in self._params.items():
            value = self._value(name, param)
            if value is None or param.secret or value == to_wire(param.default):
                continue
            if param.kind == "header":
                text = header_text(value, f"{name} of {self._kind}")
                texts.append(f"{param.name.lower()}:{urls.quote(text, safe='', encoding='latin-1')}")
            else:
                texts.append(styled_string({param.name: value}, self._styles()))
        return sorted(texts)

    def agree(self, store: Store, package: Any, server: str | None) -> None:
        """Raise ValueError if another client of the package that shares the store has different values."""
        every = {**self._params, **self._variables}
        values = {name: self._value(name, param) for name, param in every.items()}
        mark = (None if self._is_default else server, tuple((name, repr(value)) for name, value in values.items()))
        shown = [f"server={server!r}"] if server is not None else []
        for name, value in values.items():
            if value is not None and value != to_wire(every[name].default):
                shown.append(f"{name}={HIDDEN if every[name].secret else repr(value)}")
        called = f"{self._kind}({', '.join(shown)})"
        with store.lock:
            known, first = _served.setdefault(store, {}).setdefault(package, (mark, called))
        if known != mark:
            raise ValueError(f"this store already serves {first}; create a separate Store for {called}")


def _server_of(kind: str, api: Api, server: str | None) -> Server | None:
    if not api.servers:
        if server is not None:
            raise TypeError(f"the API of {kind} has only one server; remove the argument server")
        return None
    if server is None:
        return next(iter(api.servers.values()))
    if server not in api.servers:
        raise ValueError(f"server of {kind} is {server!r}; expected one of {', '.join(map(repr, api.servers))}")
    return api.servers[server]


def _is_at(url: str, home: str) -> bool:
    """Whether a URL has the origin of the API."""
    if not has_scheme(url):
        return True
    try:
        return bool(home) and origin_of(url) == origin_of(home)
    except ValueError:
        return False


def _with_query(url: str, query: Mapping[str, Any], styles: Mapping[str, str], without: Collection[str]) -> str:
    address, _, present = url.partition("?")
    names = {urls.unquote_plus(pair.partition("=")[0]) for pair in present.split("&")}
    added = {name: value for name, value in query.items() if name not in names and name not in without}
    text = styled_string(added, styles)
    if not text:
        return url
    return f"{address}?{present}&{text}" if present else f"{address}?{text}"


def variables_of(api: Api) -> frozenset[str]:
    """Return the names of the arguments for variables of the servers of an API."""
    return frozenset(name for server in api.servers.values() for name in server.variables)


# --- arguments of a client -------------------------------------------------------------------------------------------


class _Options(TypedDict, total=False):
    url_prefix: str | None
    url_prefixes: Mapping[str, str] | None
    share: bool
    http: Literal["httpx", "httpx2"] | None
    user_agent: str | Literal[False] | None
    base_url: str
    managers: Managers | None
    retries: int | Retries | None
    timeout: Duration | Timeout | None
    max_response_bytes: int | None


class ClientOptions(_Options, total=False):
    """The arguments of every generated client for blocking code besides store and credentials; see `Controller`."""

    client: BlockingClient | None


class AsyncClientOptions(_Options, total=False):
    """The arguments of every generated client for asyncio besides store and credentials; see `AsyncController`."""

    client: AwaitingClient | None


OPTIONS: Final = tuple(ClientOptions.__annotations__)
"""The arguments of every client besides store and credentials."""

_EVERY: Final = ("store", "token", *OPTIONS)


def store_of(kind: type[Any], store: Any) -> Store:
    """Return the argument `store` of a client, or a new store. Raises TypeError for another type."""
    if store is None:
        return Store()
    if isinstance(store, Store):
        return store
    hint = "for a persistent one, pass store=restencil.Store(storage=restencil.SQLiteStorage('cache', principal=None))"
    if hasattr(store, "commit") and hasattr(store, "lease"):
        hint = "pass the storage to a store: store=restencil.Store(storage=…)"
    raise TypeError(f"store of {kind.__name__} is {described(store)}; expected a restencil.Store; {hint}")


def preparation_of(
    kind: type[Any],
    api: Api | None,
    store: Store,
    token: Any,
    url_prefix: str | None,
    url_prefixes: Mapping[str, str] | None,
    base_url: str,
    arguments: Mapping[str, Any],
) -> Preparation | None:
    """Create the preparation of a client's requests. Raises TypeError for arguments that its API does not have.

    `arguments` are those that not every client has, such as credentials by the names of the schemes. Logs a warning
    for a `base_url` that requests to the API do not use.
    """
    name = kind.__name__
    if api is None:
        _refuse(name, arguments, ())
        if token is not None or url_prefix is not None or url_prefixes is not None:
            raise TypeError(
                f"{name} has no API, so it cannot use token, url_prefix or url_prefixes; use a generated client"
            )
        return None
    if url_prefix is not None:
        _check_prefix(f"url_prefix of {name}", url_prefix)
    _check_prefixes(name, api, url_prefixes)
    if base_url and url_prefix is None and "://" in api.url_prefix:
        logger.warning(
            "%s got base_url=%r, which applies only to relative URLs, but the URLs of its API begin with %r; pass "
            "url_prefix=%r to use another server",
            name,
            public_url(base_url),
            api.url_prefix,
            public_url(base_url),
        )
    settings = {"server", *api.params, *variables_of(api)} & arguments.keys()
    parameters = _parameters(name, api, store, {one: arguments[one] for one in settings}, url_prefix)
    credentials = _credentials(
        name, api, token, {one: given for one, given in arguments.items() if one not in settings}
    )
    if api.auth is None and url_prefix is None and not url_prefixes and parameters is None:
        return None

    def tokens_of(auth: Auth, given: Any) -> TokenSource:
        from .oauth2 import ledger_of

        return ledger_of(store, auth, given)

    return Preparation(
        api,
        credentials,
        url_prefix,
        tokens_of=tokens_of,
        url_prefixes=None if url_prefixes is None else dict(url_prefixes),
        parameters=parameters,
        noted=store.note_credential,
    )


def _check_prefix(what: str, prefix: Any) -> None:
    """Raise TypeError or ValueError for anything but the prefix of an absolute URL."""
    if not isinstance(prefix, str):
        raise TypeError(f"{what} is {described(prefix)}; expected a URL such as 'http://127.0.0.1:8000'")
    if "://" not in prefix:
        raise ValueError(f"{what} is {prefix!r}, which has no scheme; write https://{prefix.lstrip('/')}")


def _check_prefixes(name: str, api: Api, url_prefixes: Any) -> None:
    """Raise TypeError or ValueError for replacements of prefixes that no endpoint of the API has."""
    if url_prefixes is None:
        return
    if not is_mapping(url_prefixes):
        raise TypeError(
            f"url_prefixes of {name} is {described(url_prefixes)}; expected a dict from prefixes of the spec to the "
            "URLs that replace them"
        )
    for prefix, replacement in url_prefixes.items():
        if prefix == api.url_prefix:
            raise ValueError(f"url_prefixes of {name} has {prefix!r}, the prefix of the spec itself; pass url_prefix=…")
        if api.url_prefixes and prefix not in api.url_prefixes:
            known = ", ".join(map(repr, api.url_prefixes))
            raise ValueError(
                f"url_prefixes of {name} has {prefix!r}, which is not the prefix of an endpoint; expected one of "
                f"{known}"
            )
        _check_prefix(f"{prefix!r} in url_prefixes of {name}", replacement)


def _parameters(
    name: str, api: Api, store: Store, given: Mapping[str, Any], url_prefix: str | None
) -> Parameters | None:
    """Return the headers, query parameters and server of all requests; None if the API has no such arguments."""
    if not api.params and not api.servers:
        if "server" in given:
            raise TypeError(f"the API of {name} has only one server; remove the argument server")
        return None
    for one, value in given.items():
        reason = None if one == "server" or value is None else _deprecated(api, one)
        if reason is not None:
            text = f"{one} of {name} is deprecated" + (f": {reason}" if reason else "")
            warnings.warn(text, DeprecationWarning, stacklevel=5)
    server: str | None = given.get("server")
    chosen = api.servers.get(server) if server is not None else None
    if chosen is not None and chosen.deprecated is not None:
        reason = f": {chosen.deprecated}" if chosen.deprecated else ""
        warnings.warn(f"the server {server!r} of {name} is deprecated{reason}", DeprecationWarning, stacklevel=5)
    values = {one: value for one, value in given.items() if one != "server"}
    parameters = Parameters(name, api, values, server)
    parameters.agree(store, id(api), server)
    return parameters


def _deprecated(api: Api, argument: str) -> str | None:
    """Return why an argument is deprecated; None if it is not."""
    every = [api.params, *(server.variables for server in api.servers.values())]
    found = (params[argument].deprecated for params in every if argument in params)
    return next((reason for reason in found if reason is not None), None)


def _credentials(name: str, api: Api, token: Any, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the credentials by the names of their schemes. Raises TypeError for those without a scheme."""
    given = {**arguments} if token is None else {SHORT: token, **arguments}
    if token is not None:
        api.check_takes_token(name)
    names: tuple[str, ...] = tuple(api.schemes) if isinstance(api.auth, Schemes) else ()
    if token is not None and isinstance(api.auth, Schemes) and SHORT not in names:
        raise TypeError(
            f"{name} has no argument 'token'; pass its credentials: {', '.join(f'{one}=…' for one in names)}"
        )
    _refuse(name, arguments, (*names, *api.params, *variables_of(api), *(("server",) if api.servers else ())))
    found = {scheme: value for scheme, value in given.items() if value is not None}
    for scheme, value in found.items():
        auth = api.schemes[scheme]
        if isinstance(api.auth, Schemes) or auth.kind == "oauth2":
            check_credential(f"{scheme} of {name}", auth, value)
        if auth.deprecated is not None:
            reason = f": {auth.deprecated}" if auth.deprecated else ""
            warnings.warn(f"{scheme} of {name} is deprecated{reason}", DeprecationWarning, stacklevel=5)
    return found


def check_credential(what: str, auth: Auth, value: Any) -> None:
    """Raise TypeError for an invalid credential of a scheme; the message never contains its value."""
    if auth.kind == "oauth2":
        from .oauth2 import OAuth2

        if not isinstance(value, OAuth2):
            raise TypeError(
                f"{what} is of type {type(value).__name__}; pass restencil.OAuth2(client_id=…, client_secret=…), or, "
                "for an existing token, restencil.OAuth2(access_token=…)"
            )
    elif not isinstance(value, str) and (not callable(value) or isinstance(value, type)):
        raise TypeError(
            f"{what} is of type {type(value).__name__}; pass a string (for basic auth 'user:password'), or a function "
            "that returns one"
        )


def _refuse(name: str, arguments: Mapping[str, Any], known: tuple[str, ...]) -> None:
    unknown = next((argument for argument in arguments if argument not in known), None)
    if unknown is None:
        return
    from difflib import get_close_matches

    near = get_close_matches(unknown, (*known, *_EVERY), n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(dict.fromkeys((*_EVERY, *known)))}"
    raise TypeError(f"{name} has no argument {unknown!r}; {hint}")
