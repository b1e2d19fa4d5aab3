"""Download of documents from one origin, within limits.

Requests are only sent to the origin of the first URL, also after redirects. Credentials are neither sent nor read.
"""

from __future__ import annotations

import http.client
import time
import urllib.error
import urllib.request
from typing import Final
from urllib.parse import urljoin, urlsplit

from restencil_generator.exceptions import Failure

MAX_BYTES: Final = 50_000_000
MAX_FILES: Final = 500
MAX_SECONDS: Final = 60.0
_MAX_REDIRECTS: Final = 10
_MAX_SILENCE: Final = 15.0
_CHUNK: Final = 65_536
_HEADERS: Final = {"Accept": "application/json, application/yaml, */*;q=0.5", "User-Agent": "restencil"}
_PORTS: Final = {"http": 80, "https": 443}

Origin = tuple[str, str, int]
"""Scheme, host and port."""


class OtherOrigin(Failure):
    """A URL, or the target of its redirect, is not of the allowed origin."""


class NotThere(Failure):
    """A URL responded with a client error; the message has its status."""


def is_address(source: str) -> bool:
    """Return whether a source is a URL rather than a file."""
    return source.lower().startswith(("http://", "https://"))


def origin(address: str, hint: str = "") -> Origin:
    """Return the origin of a URL. Raises `Failure` if it has none; `hint` follows if its scheme is not supported."""
    try:
        split = urlsplit(address)
        port = split.port
    except ValueError as error:
        raise Failure(f"{address}: is not a valid URL: {error}") from error
    if split.username is not None or split.password is not None:
        raise Failure(f"{split.hostname}: no credentials are sent for a document; save it, and import the file")
    scheme = split.scheme.lower()
    if scheme not in _PORTS or not split.hostname:
        raise Failure(f"{address}: is not a URL with http:// or https://{hint}")
    return scheme, split.hostname.lower(), port or _PORTS[scheme]


_CREDENTIALS: Final = (
    "; it requires credentials, which import does not send: save the document "
    "(curl -H 'Authorization: Bearer …' -o openapi.json ADDRESS), and import the file"
)


class Fetcher:
    """Downloads files from the origin of one URL; all downloads count towards the limits."""

    def __init__(self, address: str) -> None:
        self.origin = origin(address, "; expected one, or the path of a file")
        self._files = 0
        self._bytes = 0
        self._until: float | None = None
        self._opener = urllib.request.build_opener(_NoRedirects)

    def fetch(self, address: str) -> tuple[bytes, str]:
        """Download a file, and return its contents with the final URL.

        Raises `OtherOrigin`, `NotThere` (statuses from 400 to 499), and `Failure` for all other errors: another status,
        no connection, or an exceeded limit.
        """
        self._files += 1
        if self._files > MAX_FILES:
            raise Failure(f"{address}: more than {MAX_FILES} files are referenced")
        if self._until is None:
            self._until = time.monotonic() + MAX_SECONDS
        at = address
        for _ in range(_MAX_REDIRECTS):
            if origin(at) != self.origin:
                raise OtherOrigin(f"{address}: redirects to {at}, which has another origin")
            content, onwards = self._ask(at)
            if onwards is None:
                return content, at
            at = urljoin(at, onwards)
        raise Failure(f"{address}: redirects more than {_MAX_REDIRECTS} times")

    def _ask(self, address: str) -> tuple[bytes, str | None]:
        """Return the body of a URL, or the target of its redirect; `origin` has validated the scheme."""
        request = urllib.request.Request(address.replace(" ", "%20"), headers=_HEADERS)  # noqa: S310 - http or https
        try:
            with self._opener.open(request, timeout=min(self._left(), _MAX_SILENCE)) as response:
                return self._body(response, address), None
        except urllib.error.HTTPError as error:
            with error:
                if error.code in (301, 302, 303, 307, 308):
                    return b"", error.headers.get("Location", "")
                kind = NotThere if 400 <= error.code < 500 else Failure
                hint = _CREDENTIALS if error.code in (401, 403) else ""
                raise kind(f"{address}: the server responded with {error.code}{hint}") from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            reason = error.reason if isinstance(error, urllib.error.URLError) else error
            raise Failure(f"{address}: cannot be fetched: {reason or type(error).__name__}") from error

    def _left(self) -> float:
        left = (self._until or 0) - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"it took more than {MAX_SECONDS:.0f} s")
        return left

    def _body(self, response: http.client.HTTPResponse, address: str) -> bytes:
        pieces: list[bytes] = []
        while piece := response.read1(_CHUNK):
            pieces.append(piece)
            self._bytes += len(piece)
            if self._bytes > MAX_BYTES:
                raise Failure(f"{address}: more than {MAX_BYTES // 1_000_000} MB")
            self._left()
        return b"".join(pieces)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Handler that does not follow redirects: the target is checked before it is requested."""

    def redirect_request(self, *arguments: object, **others: object) -> None:
        """Return None, so that a redirect is treated like any other response."""
