"""Requests that no endpoint describes: to a path of the API, in whatever form."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from ..base.calls import refuse_header, refuse_parameter
from ..base.transport import has_scheme, joined, origin_of, origin_text
from ..base.values import described, is_mapping
from .call_options import overlaid
from .path import search_string
from .rest import RestEndpoint

if TYPE_CHECKING:
    from ..base.durations import Duration, Timeout

_METHOD: Final = re.compile(r"[A-Za-z]+(-[A-Za-z]+)*").fullmatch


class AdHocEndpoint(RestEndpoint[..., Any]):
    """An endpoint whose URL is given as it is; of what it brings, nothing is stored."""

    place: str

    @property
    def has_body(self) -> bool:
        """Any method may have one."""
        return True

    def url(self, /, *args: Any, **keywords: Any) -> str:
        """The place, with these search parameters."""
        text = search_string(args[0]) if args and args[0] else ""
        return self.place + (f"{'&' if '?' in self.place else '?'}{text}" if text else "")


AD_HOC: Final = AdHocEndpoint(path="/", name="request", place="", method="POST")
"""The endpoint that all such requests are made from."""


def address_of(path: Any, prefix: str, home: str) -> str:
    """The URL of a path, behind the prefix of the API; one that is an address already stays as it is.

    `home` is where the API really is. Raises TypeError for what is no text, ValueError for another origin than that.
    """
    if not isinstance(path, str):
        raise TypeError(f"the path of a request is {described(path)}; expected a string such as '/articles/1'")
    address = path.partition("#")[0]
    if not (has_scheme(address) or address.startswith("//")):
        return joined(prefix, address) if prefix else address
    if home and origin_of(address) != origin_of(home):
        raise ValueError(
            f"the path of a request leads to {origin_text(address)}, and this client asks {origin_text(home)}: give a "
            "path of this API, or ask the other one through a client of its own"
        )
    return address


def ad_hoc_endpoint(
    base: Any,
    method: Any,
    address: str,
    headers: Mapping[str, str | None],
    timeout: Duration | Timeout | None,
    **options: Any,
) -> Any:
    """The endpoint of one request: the options of the call over those of its view.

    Raises ValueError for a method that no request can have.
    """
    if not isinstance(method, str) or not _METHOD(method):
        raise ValueError(f"the method of a request is {method!r}; expected a word such as 'GET'")
    init: dict[str, Any] = dict(base.request_init)
    if headers:
        whole = overlaid(init.get("headers"), cast("Mapping[str, str]", headers))
        init["headers"] = {name: value for name, value in whole.items() if value is not None}
    if timeout is not None:
        options["timeout"] = timeout
    return base.extend(method=method, place=address, request_init=init, **options)


def check_headers(headers: Any, credentials: Collection[str]) -> Mapping[str, str | None]:
    """The headers of a request; `credentials` are the names, in lower case, of those that say who asks.

    Raises TypeError or ValueError for what cannot be set; a value is never shown.
    """
    if headers is None:
        return {}
    if not is_mapping(headers):
        raise TypeError(f"headers of a request is {described(headers)}; expected a dict of names and texts")
    for name, value in headers.items():
        refuse_header(name, value, "headers of a request", credentials, has_body=True)
    return headers


def check_query(query: Any, credentials: Collection[str]) -> Mapping[str, Any]:
    """The search parameters of a request; `credentials` are the names of those that say who asks.

    Raises TypeError for what is no mapping, ValueError for a credential.
    """
    if query is None:
        return {}
    if not is_mapping(query):
        raise TypeError(f"the query of a request is {described(query)}; expected a mapping of search parameters")
    for name in query:
        refuse_parameter(name, "a request", credentials)
    return query
