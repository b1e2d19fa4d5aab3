"""What of an endpoint is overridden, by its class or by an option: decided once, when the endpoint is made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from ..base.transport import RequestInit
    from .error_types import ErrorTypes
    from .path import PathTemplate

STEPS: Final = frozenset(
    {
        "fetch",
        "fetch_response",
        "get_headers",
        "get_request_init",
        "has_body",
        "parse_response",
        "process",
        "request_url",
        "search_to_string",
        "steps",
        "url",
    }
)
"""What the lifecycle of a request calls, and users may override."""

_DECODING: Final = frozenset({"fetch", "parse_response", "process", "steps"})
_ANSWERING: Final = frozenset({"fetch", "fetch_response", "parse_response", "steps"})
_OVERRIDABLE: Final = STEPS | {"key", "test_key"}


class Plan:
    """What the ways of an endpoint depend on; each fact is false, or None, where there is no library's way to take."""

    __slots__ = (
        "answers_itself",
        "decodes",
        "error_types",
        "exact_key_match",
        "init",
        "is_standard",
        "is_test_stable",
        "key_is_address",
        "keywords_are_params",
        "own_fetch",
        "own_process",
        "template",
        "without",
    )

    def __init__(
        self,
        own: frozenset[str] | None = None,
        *,
        streams: bool = False,
        presumes: bool = False,
        opens: bool = False,
        template: PathTemplate | None = None,
        keywords_are_params: bool = False,
        error_types: ErrorTypes | None = None,
        without: frozenset[str] = frozenset(),
    ) -> None:
        decided = own is not None
        own = own or frozenset()
        self.is_standard = decided and not streams and not presumes and not opens and not own & STEPS
        """No step of the lifecycle is overridden: they are taken one after the other, without asking what they gave."""
        self.own_fetch = "fetch" in own
        """A `fetch` of the user's own replaces the lifecycle."""
        self.own_process = "process" in own
        """A `process` of the user's own may make of a response what fits the schema."""
        self.decodes = decided and not own & _DECODING
        """A response is decoded by the library for its call alone, so that no one else holds its objects."""
        self.answers_itself = not decided or bool(own & _ANSWERING)
        """Code of the user's own stands between the HTTP answer and what is read of it."""
        self.key_is_address = decided and "key" not in own
        """The key of a request is its method and its URL."""
        self.is_test_stable = decided and "test_key" not in own
        """`test_key` always says the same of a key."""
        fills = template is not None and not template.leads and not own & {"url", "has_body"}
        self.template = template if fills else None
        """The template that alone makes the URL of parameters that fill it."""
        self.exact_key_match = self.is_test_stable and self.key_is_address and fills
        """`test_key` is true of the key of each request: all that makes and tells keys is the library's own."""
        self.without = without
        """What of the client's own headers and search parameters is not sent; names of headers are in lower case."""
        self.error_types = error_types
        """As what refusals are raised; None: as the library's own errors."""
        self.init: RequestInit | None = None
        """What calls send that have nothing of their own to say, once one was made: "direct call"."""
        self.keywords_are_params = keywords_are_params and "has_body" not in own
        """Keywords are the parameters: there are no names or defaults for them, no body, and no warning."""


def overridden(kind: type[Any], library: type[Any], options: Mapping[str, Any]) -> frozenset[str]:
    """What a class, next to the library's own one that it derives from, or options override."""
    return frozenset(
        name
        for name in _OVERRIDABLE
        if options.get(name) is not None or getattr(kind, name) is not getattr(library, name)
    )
