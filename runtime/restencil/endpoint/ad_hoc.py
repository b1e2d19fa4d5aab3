"""Requests without a declared endpoint: any method and path of the API."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from ..base.calls import refuse_header, refuse_parameter
from ..base.transport import has_scheme, joined, origin_of, origin_text
from ..base.values import described, is_mapping
from ..schema.record import to_wire
from .bodies import refuse_nesting
from .call_options import overlaid
from .options import is_method
from .path import search_string
from .rest import RestEndpoint

if TYPE_CHECKING:
    from ..base.durations import Duration, Timeout


class AdHocEndpoint(RestEndpoint[..., Any]):
    """An endpoint for one URL; its responses are not stored."""

    place: str

    @property
    def has_body(self) -> bool:
        """Whether a request may have a body: true for any method."""
        return True

    def url(self, /, *args: Any, **keywords: Any) -> str:
        """Return the URL with these query parameters."""
        text = search_string(args[0]) if args and args[0] else ""
        return self.place + (f"{'&' if '?' in self.place else '?'}{text}" if text else "")


AD_HOC: Final = AdHocEndpoint(path="/", name="request", place="", method="POST")
"""The endpoint that all requests of this kind are derived from."""


def address_of(path: object, prefix: str, home: str) -> str:
    """Return the URL of a path below the prefix of the API; an absolute URL is returned unchanged.

    `home` is the URL of the API that requests go to. Raises TypeError unless the path is a string, and ValueError for
    an absolute URL with another origin than `home`.
    """
    if not isinstance(path, str):
        raise TypeError(f"the path of a request is {described(path)}; expected a string such as '/articles/1'")
    address = path.partition("#")[0]
    if not (has_scheme(address) or address.startswith("//")):
        return joined(prefix, address) if prefix else address
    if home and origin_of(address) != origin_of(home):
        raise ValueError(
            f"the path of a request has the origin {origin_text(address)}, but this client sends requests to "
            f"{origin_text(home)}; pass a path of this API, or use a separate client for the other origin"
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
    """Return the endpoint for one request; options of the call take precedence over those of its view.

    Raises ValueError for an invalid HTTP method.
    """
    if not isinstance(method, str) or not is_method(method):
        raise ValueError(f"the method of a request is {method!r}; expected an HTTP method such as 'GET'")
    init: dict[str, Any] = dict(base.request_init)
    if headers:
        whole = overlaid(init.get("headers"), cast("Mapping[str, str]", headers))
        init["headers"] = {name: value for name, value in whole.items() if value is not None}
    if timeout is not None:
        options["timeout"] = timeout
    return base.extend(method=method, place=address, request_init=init, **options)


def check_headers(headers: object, credentials: Collection[str]) -> Mapping[str, str | None]:
    """Return the headers of a request; `credentials` are the lower-case names of headers with credentials.

    Raises TypeError or ValueError for a header that cannot be set, without showing its value.
    """
    if headers is None:
        return {}
    if not is_mapping(headers):
        raise TypeError(f"headers of a request is {described(headers)}; expected a dict of header names and strings")
    for name, value in headers.items():
        refuse_header(name, value, "headers of a request", credentials, has_body=True)
    return headers


def check_query(query: object, credentials: Collection[str]) -> Mapping[str, Any]:
    """Return the query parameters of a request with JSON values.

    `credentials` are the names of parameters with credentials. Raises TypeError unless they are a mapping, and
    ValueError for a credential.
    """
    if query is None:
        return {}
    if not is_mapping(query):
        raise TypeError(f"the query of a request is {described(query)}; expected a mapping of query parameters")
    for name in query:
        refuse_parameter(name, "a request", credentials)
    try:
        return {name: to_wire(value) for name, value in query.items()}
    except RecursionError:
        refuse_nesting("the query of a request", query)
        raise
