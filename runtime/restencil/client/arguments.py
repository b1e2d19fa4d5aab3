"""What a client of one API was given for it: credentials, and the place where it is."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict

from ..base.logs import logger
from ..base.transport import public_url
from ..base.values import described, is_mapping
from ..cache.store import Store
from ..http.auth import Preparation
from ..http.schemes import SHORT, Schemes
from .parameters import Parameters, variables_of

if TYPE_CHECKING:
    from ..base.durations import Duration, Timeout
    from ..base.transport import AwaitingClient, BlockingClient
    from ..http.auth import Api, TokenSource
    from ..http.schemes import Auth
    from .core import Managers
    from .retry import Retries


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
    """What every generated client for blocking code takes beside its store and credentials, as `Controller` says it."""

    client: BlockingClient | None


class AsyncClientOptions(_Options, total=False):
    """What every generated client for asyncio takes beside its store and credentials, as `AsyncController` says it."""

    client: AwaitingClient | None


ARGUMENTS: Final = (
    "store",
    "token",
    "url_prefix",
    "url_prefixes",
    "share",
    "client",
    "http",
    "user_agent",
    "base_url",
    "managers",
    "retries",
    "timeout",
    "max_response_bytes",
)
"""What every client takes."""


def store_of(kind: type[Any], store: Any) -> Store:
    """The store that a client was given, else a new one; TypeError for what is none."""
    if store is None:
        return Store()
    if isinstance(store, Store):
        return store
    hint = "store=restencil.Store(storage=restencil.SQLiteStorage('cache', principal=None)) is one that lasts"
    if hasattr(store, "commit") and hasattr(store, "lease"):
        hint = "a storage is given to a store: store=restencil.Store(storage=…)"
    raise TypeError(f"store of {kind.__name__} is {described(store)}; expected a restencil.Store: {hint}")


def preparation_of(
    kind: type[Any],
    api: Api | None,
    store: Store,
    token: Any,
    url_prefix: str | None,
    url_prefixes: Mapping[str, str] | None,
    base_url: str,
    arguments: Mapping[str, Any],
    *,
    blocking: bool,
) -> Preparation | None:
    """The preparation of a client's requests. Raises TypeError for arguments that its API does not have.

    `arguments` are those beside what every client takes: credentials, by the names of the schemes. Logs a `base_url`
    that requests to the API never go to.
    """
    name = kind.__name__
    if api is None:
        _refuse(name, arguments, ())
        if token is not None or url_prefix is not None or url_prefixes is not None:
            raise TypeError(
                f"{name} has no API of its own: token, url_prefix and url_prefixes belong to generated clients"
            )
        return None
    if url_prefix is not None:
        _check_prefix(f"url_prefix of {name}", url_prefix)
    _check_prefixes(name, api, url_prefixes)
    if base_url and url_prefix is None and "://" in api.url_prefix:
        logger.warning(
            "%s was given base_url=%r, where relative URLs lead, but those of its API begin with %r and go there; give "
            "url_prefix=%r to ask another place",
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

    def tokens_of(scheme: str, auth: Auth, given: Any) -> TokenSource:
        from .oauth2 import LedgerOf, ledger_of

        return LedgerOf(ledger_of(store, auth, given), blocking=blocking)

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
    """Raises TypeError or ValueError for what is no beginning of an absolute URL."""
    if not isinstance(prefix, str):
        raise TypeError(f"{what} is {described(prefix)}; expected a URL such as 'http://127.0.0.1:8000'")
    if "://" not in prefix:
        raise ValueError(f"{what} is {prefix!r}, which has no scheme; write https://{prefix.lstrip('/')}")


def _check_prefixes(name: str, api: Api, url_prefixes: Any) -> None:
    """Raises TypeError or ValueError for replacements of prefixes that no endpoint of the API has."""
    if url_prefixes is None:
        return
    if not is_mapping(url_prefixes):
        raise TypeError(
            f"url_prefixes of {name} is {described(url_prefixes)}; expected a dict from prefixes of the spec to the "
            "URLs that replace them"
        )
    for prefix, replacement in url_prefixes.items():
        if prefix == api.url_prefix:
            raise ValueError(f"url_prefixes of {name} has {prefix!r}, the prefix of the spec itself; give url_prefix=…")
        if api.url_prefixes and prefix not in api.url_prefixes:
            known = ", ".join(map(repr, api.url_prefixes))
            raise ValueError(
                f"url_prefixes of {name} has {prefix!r}, which is the prefix of no endpoint; those of the spec "
                f"are {known}"
            )
        _check_prefix(f"{prefix!r} in url_prefixes of {name}", replacement)


def _parameters(
    name: str, api: Api, store: Store, given: Mapping[str, Any], url_prefix: str | None
) -> Parameters | None:
    """What the client gives all requests; None for an API that knows nothing of the kind."""
    if not api.params and not api.servers:
        if "server" in given:
            raise TypeError(f"the API of {name} has one server, so that there is none to choose")
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
    """Why an argument is no longer to be given; None where it may be."""
    every = [api.params, *(server.variables for server in api.servers.values())]
    found = (params[argument].deprecated for params in every if argument in params)
    return next((reason for reason in found if reason is not None), None)


def _credentials(name: str, api: Api, token: Any, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What was given, by the names of the schemes. Raises TypeError for what no scheme has a use for."""
    given = {**arguments} if token is None else {SHORT: token, **arguments}
    if token is not None:
        api.check_takes_token(name)
    names: tuple[str, ...] = tuple(api.schemes) if isinstance(api.auth, Schemes) else ()
    if token is not None and isinstance(api.auth, Schemes) and SHORT not in names:
        raise TypeError(f"{name} takes no token: its credentials are {', '.join(f'{one}=…' for one in names)}")
    _refuse(name, arguments, names)
    found = {scheme: value for scheme, value in given.items() if value is not None}
    for scheme, value in found.items():
        auth = api.schemes[scheme]
        if isinstance(api.auth, Schemes) or auth.kind == "oauth2":
            check_credential(f"{scheme} of {name}", auth, value)
        if auth.deprecated is not None:
            reason = f": {auth.deprecated}" if auth.deprecated else ""
            warnings.warn(f"{scheme} of {name} is deprecated{reason}", DeprecationWarning, stacklevel=4)
    return found


def check_credential(what: str, auth: Auth, value: Any) -> None:
    """Raises TypeError for what is no credential of a scheme; its value is never shown."""
    if auth.kind == "oauth2":
        from .oauth2 import OAuth2

        if not isinstance(value, OAuth2):
            raise TypeError(
                f"{what} is of type {type(value).__name__}; give a restencil.OAuth2(client_id=…, client_secret=…), or, "
                "for a token that is there, restencil.OAuth2(access_token=…)"
            )
    elif not isinstance(value, str) and (not callable(value) or isinstance(value, type)):
        raise TypeError(
            f"{what} is of type {type(value).__name__}; give a string (for basic auth 'user:password'), or a function "
            "that gives one"
        )


def _refuse(name: str, arguments: Mapping[str, Any], known: tuple[str, ...]) -> None:
    unknown = next((argument for argument in arguments if argument not in known), None)
    if unknown is None:
        return
    from difflib import get_close_matches

    near = get_close_matches(unknown, (*known, *ARGUMENTS), n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(dict.fromkeys((*ARGUMENTS, *known)))}"
    raise TypeError(f"{name} has no argument {unknown!r}; {hint}")
