"""Asking a token server: what is sent to it, and what of its answer is a token.

Credentials go to its address alone: the request takes nothing along of the user's client, follows no redirect, and
neither it nor its answer shows in an error.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from ..base.answers import status_line
from ..base.durations import Timeout
from ..base.errors import AuthError, NetworkError, StatusError
from ..base.lazy import base64, json, urls
from ..base.steps import receiver

if TYPE_CHECKING:
    from .schemes import TokenServer

MAX_WAIT: Final = 30_000
"""Milliseconds that a token server may take, all in all."""

_TIMEOUT: Final = Timeout(total=MAX_WAIT)
_PLAIN: Final = re.compile(r"[A-Za-z0-9_.:-]{1,80}").fullmatch
"""What servers call the errors that RFC 6749 knows, and others of that kind; anything else may repeat a secret."""

_TOKEN: Final = re.compile(r"[\x21-\x7e]+").fullmatch


class Credentials(NamedTuple):
    """What a client shows to a token server; never shown otherwise."""

    client_id: str | None
    client_secret: str | None
    refresh_token: str | None

    def __repr__(self) -> str:
        return "Credentials(…)"


class Granted(NamedTuple):
    """What a token server gave; `expires_in` is in seconds."""

    access_token: str
    refresh_token: str | None
    expires_in: float | None

    def __repr__(self) -> str:
        return "Granted(…)"


class TokenRequest:
    """A step: asks a token server. Raises AuthError, and ValueError for what cannot be sent."""

    __slots__ = ("_init", "_server")

    def __init__(self, server: TokenServer, credentials: Credentials) -> None:
        headers = {"Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded"}
        form = {"grant_type": server.grant, **dict(server.params)}
        if server.scopes:
            form["scope"] = " ".join(server.scopes)
        if server.grant == "refresh_token" and credentials.refresh_token is not None:
            form["refresh_token"] = credentials.refresh_token
        if server.client_auth == "basic" and credentials.client_id and credentials.client_secret:
            # RFC 6749, 2.3.1: both are form-encoded before they are joined.
            pair = ":".join(urls.quote_plus(part) for part in credentials[:2] if part)
            headers["Authorization"] = "Basic " + base64.b64encode(pair.encode("ascii")).decode("ascii")
        else:
            named = {"client_id": credentials.client_id, "client_secret": credentials.client_secret}
            form |= {name: text for name, text in named.items() if text}
        body = urls.urlencode(form).encode("ascii")
        self._server = server
        self._init: Mapping[str, Any] = {
            "method": "POST",
            "headers": headers,
            "body": body,
            "redirect": "manual",
            "credentials": "omit",
        }

    def take(self, transport: Any) -> Granted:
        """Blocks until the answer is there."""
        token = receiver.set(None)  # the receiver of the call wants the response of the API
        try:
            return self._granted(transport.send_bare(self._server.url, self._init, _TIMEOUT))
        except NetworkError as error:
            failure = self._failure(error)
        finally:
            receiver.reset(token)
        raise failure from None

    async def take_async(self, transport: Any) -> Granted:
        """Awaits the answer."""
        token = receiver.set(None)
        try:
            return self._granted(await transport.send_bare(self._server.url, self._init, _TIMEOUT))
        except NetworkError as error:
            failure = self._failure(error)
        finally:
            receiver.reset(token)
        raise failure from None

    def _granted(self, response: Any) -> Granted:
        """The token in an answer. Raises AuthError where there is none."""
        answer = _json(response)
        if answer is None:
            raise self._error(f"{status_line(response)}: its answer is no JSON object", response.status_code)
        token, refresh_token = answer.get("access_token"), answer.get("refresh_token")
        if not isinstance(token, str) or not _TOKEN(token):
            reason = _reason(answer) or "its answer has no access_token"
            raise self._error(f"{response.status_code} {reason}", response.status_code)
        renewed = refresh_token if isinstance(refresh_token, str) and refresh_token else None
        return Granted(token, renewed, _seconds(answer.get("expires_in")))

    def _failure(self, error: NetworkError) -> AuthError:
        if isinstance(error, AuthError):
            return error
        if not isinstance(error, StatusError):
            said = str(error).removeprefix(f"POST {self._server.url}: ")
            return self._error(said, 500, elapsed=error.elapsed)
        response: Any = error.response
        if response.has_redirect_location:
            said = f"{status_line(response)}, a redirect, which is not followed with a secret"
        else:
            said = f"{error.status} {_reason(_json(response)) or response.reason_phrase}"
        return self._error(said.rstrip(), error.status, elapsed=error.elapsed, retry_after=error.retry_after)

    def _error(self, said: str, status: int, *, elapsed: float = 0.0, retry_after: float | None = None) -> AuthError:
        url = self._server.url
        text = f"no token from {url.partition('?')[0]}: {said}"
        return AuthError(text, status=status, url=url, method="POST", elapsed=elapsed, retry_after=retry_after)


def _json(response: Any) -> dict[str, Any] | None:
    try:
        answer: Any = json.loads(response.content)
    except (RuntimeError, ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", answer) if isinstance(answer, dict) else None


def _reason(answer: Mapping[str, Any] | None) -> str:
    """What the server calls its error; nothing where that is no plain word."""
    error = None if answer is None else answer.get("error")
    return error if isinstance(error, str) and _PLAIN(error) else ""


def _seconds(value: Any) -> float | None:
    """How long a token holds, in seconds; None where the server does not say so in a way that can be read."""
    try:
        seconds = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else math.nan
    except (ValueError, OverflowError):
        return None
    return seconds if 0 <= seconds < math.inf else None
