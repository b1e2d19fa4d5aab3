"""OAuth 2 tokens: requested once for all waiting callers, before they expire and after the server rejected one.

A `Ledger` keeps the tokens of one scheme. Controllers of a store with equal credentials share a ledger, and so do all
clients with the same `OAuth2` object.
"""

from __future__ import annotations

import datetime
import inspect
import os
import threading
from collections.abc import Awaitable, Callable, Hashable
from contextlib import suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from weakref import WeakValueDictionary

from ..base.errors import AbortError, AuthError
from ..base.lazy_imports import asyncio
from ..base.logs import logger
from ..base.steps import Outcome, Steps, Wait, current_transport, drive, drive_async
from ..base.transport import BlockingTransport
from ..base.values import Struct, described
from ..http.cancellation import cancellable
from ..http.token_request import Credentials, Granted, TokenRequest
from .in_flight import SharedFuture, renewals_of

if TYPE_CHECKING:
    from ..base.calls import Token
    from ..base.transport import AwaitingTransport
    from ..cache.store import Store
    from ..http.schemes import Auth, TokenServer

MARGIN: Final = 30_000
"""A token is renewed so many milliseconds before it expires, or after half its lifetime if that is later."""

_NAMES: Final = ("client_id", "client_secret", "refresh_token", "access_token")


class Tokens(Struct):
    """The tokens from a token server, the argument of `on_renewed`, to be passed to a later `OAuth2`.

    `expires_at` is in milliseconds of the store's clock; None if the server did not send it. The repr contains no
    secret.
    """

    access_token: str
    refresh_token: str | None = None
    expires_at: float | None = None

    def __repr__(self) -> str:
        return f"Tokens(expires_at={self.expires_at!r}, …)"


OnRenewed: TypeAlias = Callable[[Tokens], object] | Callable[[Tokens], Awaitable[object]]
"""A function that is called with new tokens; coroutine functions need an async client."""


class OAuth2:
    """The credentials of a client for requesting tokens, for APIs with an auth scheme of the kind `oauth2`.

        Shop(machine=OAuth2(client_id="shop", client_secret=read_secret, on_renewed=save))

    Each secret is a string or a function that returns it and is called when a token is requested (async functions need
    an async client); the environment variables in the spec replace missing ones.

    client_id, client_secret   the credentials of the client at the token server
    refresh_token              for the grant of that name; a new one from the server replaces it
    access_token, expires_at   the first token, and when it expires: a datetime, or milliseconds since 1970 of the
                               store's clock; None: it is sent until the server rejects it
    on_renewed                 called with the new `Tokens`, for instance to save them; its errors are logged

    Clients with the same object share its tokens. Raises TypeError for a secret that is neither a string nor a
    function. The repr contains no secret.
    """

    __slots__ = ("_ledgers", "access_token", "client_id", "client_secret", "expires_at", "on_renewed", "refresh_token")

    def __init__(
        self,
        *,
        client_id: Token | None = None,
        client_secret: Token | None = None,
        refresh_token: Token | None = None,
        access_token: Token | None = None,
        expires_at: float | datetime.datetime | None = None,
        on_renewed: OnRenewed | None = None,
    ) -> None:
        for name, value in zip(_NAMES, (client_id, client_secret, refresh_token, access_token), strict=True):
            if value is not None and not isinstance(value, str) and not callable(value):
                raise TypeError(
                    f"{name} of OAuth2 is of type {type(value).__name__}; pass a string, or a function that returns one"
                )
        if on_renewed is not None and not callable(on_renewed):
            raise TypeError(f"on_renewed of OAuth2 is {described(on_renewed)}; pass a function that accepts the tokens")
        self.client_id = client_id
        self.client_secret = client_secret
        self.refresh_token = refresh_token
        self.access_token = access_token
        self.expires_at = _moment(expires_at)
        self.on_renewed = on_renewed
        self._ledgers: dict[Hashable, Ledger] = {}

    def __repr__(self) -> str:
        given = [name for name in _NAMES if getattr(self, name) is not None]
        return f"OAuth2({', '.join(f'{name}=…' for name in given)})"

    def __reduce__(self) -> Any:
        raise TypeError("an OAuth2 contains secrets, so it cannot be pickled or copied; create a new one")

    def ledger(self, store: Store, server: TokenServer) -> Ledger:
        """Return the ledger of the tokens that a token server issues for these credentials."""
        with _lock:
            known = self._ledgers.get(server)
            if known is None:
                known = self._ledgers[server] = _of_store(store, server, self, self._parts())
            return known

    def _parts(self) -> Hashable:
        """Return a key that is equal for equal credentials, which share tokens."""
        parts = (*(getattr(self, name) for name in _NAMES), self.expires_at, self.on_renewed)
        try:
            hash(parts)
        except TypeError:
            return id(self)
        return parts


def _moment(value: Any) -> float | None:
    """Convert `expires_at` to milliseconds. Raises TypeError for other types, ValueError for a naive datetime."""
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        return value
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            raise ValueError("expires_at of OAuth2 has no time zone; pass an aware datetime, or milliseconds")
        return value.timestamp() * 1000
    raise TypeError(f"expires_at of OAuth2 is {described(value)}; pass a datetime, or milliseconds since 1970")


_NOTHING: Final = OAuth2()


_asking: Final[ContextVar[frozenset[Ledger]]] = ContextVar("restencil_asking", default=frozenset())
"""The ledgers for which a function that returns a secret is running in this context."""


class Ledger:
    """The tokens of one scheme, shared by all requests with them. The store's lock guards it."""

    def __init__(self, store: Store, server: TokenServer, given: OAuth2 | None) -> None:
        self._store = store
        self._server = server
        self._given = _NOTHING if given is None else given
        self._token: str | None = None
        self._due: float | None = None
        """When to renew the token, in milliseconds of the store's clock; None: when the server rejects it."""
        self._rotated: str | None = None
        """The last refresh token from the server."""
        self._is_new = True
        """Whether there was no token yet, so that the argument `access_token` is the first."""
        self._renewals = renewals_of(store)

    # used when requests are prepared

    def is_there(self) -> bool:
        """Whether there is a token, or credentials to request one, without calling functions."""
        return self._token is not None or self._can_renew() or self._source("access_token") is not None

    def token(self) -> Steps:
        """Steps: return a valid token, or None without credentials. Raises AuthError if the request for one failed.

        One request is sent for all waiting threads and tasks.
        """
        store = self._store
        blocking = isinstance(current_transport(), BlockingTransport)
        while True:
            present = self._present()
            if present is not None:
                return present
            renewal = self._renewals.flight(self)
            if renewal is not None:
                if self in _asking.get() or (blocking and renewal.owned_here):
                    raise self._in_circle()
                with suppress(AbortError):  # it was interrupted, or its event loop has ended: try again
                    return (yield Wait(renewal.wait, renewal.wait_async))
                continue
            first = (yield from self._value("access_token")) if self._is_new else None
            credentials = yield from self._credentials()
            if credentials is None:
                return first  # it may have expired; the server will reject it then
            with store.lock:
                if first is not None and self._is_new:
                    self._token, self._due, self._is_new = first, _due(self._given.expires_at, store.now()), False
                if self._present() is not None:
                    continue
                renewal, leads = self._renewals.join_or_lead(self, blocking=blocking)
            if leads:
                return (yield _Renewing(self, renewal, credentials))

    def refuse(self, token: str) -> bool:
        """Drop a token that the server rejected; return False if no new one can be requested."""
        if not self._can_renew():
            return False
        with self._store.lock:
            if self._token == token:
                self._token = self._due = None
        return True

    # present tokens and credentials

    def _present(self) -> str | None:
        """Return the token if it need not be renewed, else None."""
        due = self._due
        return self._token if due is None or self._store.now() < due else None

    def _can_renew(self) -> bool:
        """Whether there are credentials to request a token, as far as known without calling functions."""
        needed = _needed(self._server)
        return all(self._rotated is not None or self._source(name) is not None for name in needed)

    def _source(self, name: str) -> object:
        given = getattr(self._given, name)
        if given is not None:
            return given
        variable = dict(self._server.env).get(name)
        return None if variable is None else os.environ.get(variable) or None

    def _value(self, name: str) -> Steps:
        """Steps: return one of the secrets, or None if it is missing."""
        found = self._source(name)
        if callable(found):
            outer = _asking.get()
            if self in outer:
                raise self._in_circle()
            _asking.set(outer | {self})
            try:
                found = found()
                if inspect.isawaitable(found):
                    found = yield Outcome(f"the function {name} of OAuth2", found)
            finally:
                _asking.set(outer)
            if found is not None and not isinstance(found, str):
                raise TypeError(
                    f"the function {name} of OAuth2 returned {type(found).__name__}; return a string or None"
                )
        return found or None

    def _in_circle(self) -> RuntimeError:
        return RuntimeError(
            f"a function of OAuth2 called the API whose token from {self._server.url.partition('?')[0]} depends on it; "
            "get the secret without this API"
        )

    def _credentials(self) -> Steps:
        """Steps: return the credentials to request a token, or None if one of them is missing."""
        found: dict[str, str | None] = {}
        for name in _NAMES[:3]:
            if name == "refresh_token" and self._server.grant != name:
                found[name] = None
            elif name == "refresh_token" and self._rotated is not None:
                found[name] = self._rotated
            else:
                found[name] = yield from self._value(name)
        lacks = any(found[name] is None for name in _needed(self._server))
        return None if lacks else Credentials(**found)

    # renewing

    def _settled(self, renewal: SharedFuture[str], granted: Granted, credentials: Credentials) -> Tokens:
        """Keep the tokens from the server, and return the access token to all waiting callers."""
        store = self._store
        with store.lock:
            now = store.now()
            ends = None if granted.expires_in is None else now + granted.expires_in * 1000
            self._token, self._due, self._is_new = granted.access_token, _due(ends, now), False
            if granted.refresh_token is not None and self._server.grant == "refresh_token":
                self._rotated = granted.refresh_token
            tokens = Tokens(granted.access_token, self._rotated or credentials.refresh_token, ends)
        self._renewals.end(self, renewal, granted.access_token)
        return tokens

    def end(self, renewal: SharedFuture[str], error: BaseException) -> None:
        """End a failed renewal: waiting callers raise the error, or try again if it was only interrupted."""
        self._renewals.end(self, renewal, error=error)

    def steps(self, renewal: SharedFuture[str], credentials: Credentials) -> Steps:
        """Steps: request a token, pass it to all waiting callers, and return it."""
        try:
            granted: Granted = yield TokenRequest(self._server, credentials)
            tokens = self._settled(renewal, granted, credentials)
        except BaseException as error:
            self.end(renewal, error)
            if isinstance(error, AuthError):
                renewal.raised_to_caller(error)  # waiting callers raise copies of it
            raise
        on_renewed = self._given.on_renewed
        if on_renewed is not None:
            try:
                done: Any = on_renewed(tokens)
                if inspect.isawaitable(done):
                    yield Outcome("on_renewed of OAuth2", done)
            except Exception:
                logger.exception("on_renewed of OAuth2 failed; the new token is used all the same")
        return granted.access_token


def _needed(server: TokenServer) -> tuple[str, ...]:
    return ("refresh_token",) if server.grant == "refresh_token" else ("client_id", "client_secret")


def _due(ends: float | None, now: float) -> float | None:
    """Return when to renew a token that expires at `ends`."""
    return None if ends is None else ends - min(MARGIN, max(0.0, ends - now) / 2)


class _Renewing:
    """A step: request a token for all waiting callers; in asyncio as a task, which a cancelled caller does not cancel.

    The response must not be lost, because it may contain the only refresh token that is still valid.
    """

    __slots__ = ("_credentials", "_ledger", "_renewal")

    def __init__(self, ledger: Ledger, renewal: SharedFuture[str], credentials: Credentials) -> None:
        self._ledger = ledger
        self._renewal = renewal
        self._credentials = credentials

    def take(self, transport: BlockingTransport) -> object:
        return drive(self._ledger.steps(self._renewal, self._credentials), transport)

    async def take_async(self, transport: AwaitingTransport) -> object:
        task = asyncio.get_running_loop().create_task(self._run(transport))
        _tasks.add(task)
        task.add_done_callback(self._ended)
        return await asyncio.shield(task)

    def _ended(self, task: Any) -> None:
        _tasks.discard(task)
        if task.cancelled():
            self._ledger.end(self._renewal, AbortError())  # it may have been cancelled before its first step
        else:
            task.exception()  # marks it as retrieved; waiting callers got it already

    async def _run(self, transport: AwaitingTransport) -> object:
        cancellable()
        return await drive_async(self._ledger.steps(self._renewal, self._credentials), transport)


def ledger_of(store: Store, scheme: Auth, given: OAuth2 | None) -> Ledger:
    """Return the ledger of a scheme for the credentials of a client: a shared one if it exists, else a new one."""
    server = scheme.server
    assert server is not None
    if given is not None:
        return given.ledger(store, server)
    with _lock:
        return _of_store(store, server, None, None)


def _of_store(store: Store, server: TokenServer, given: OAuth2 | None, parts: Hashable) -> Ledger:
    ledgers: WeakValueDictionary[Hashable, Ledger] = store.in_flight.tokens or WeakValueDictionary()
    store.in_flight.tokens = ledgers
    known = ledgers.get((server, parts))
    if known is None:
        known = ledgers[(server, parts)] = Ledger(store, server, given)
    return known


_lock: Final = threading.Lock()
_tasks: Final[set[Any]] = set()
"""Tasks that request tokens, held here because event loops hold tasks weakly."""
