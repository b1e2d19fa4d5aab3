"""Freshness and validators of responses, as servers declare them in headers (RFC 9111, RFC 9110).

Times are in ms by the store's clock.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from math import inf
from typing import Any, NamedTuple, TypeAlias

_Headers: TypeAlias = "tuple[tuple[str, Any], ...]"


class Terms(NamedTuple):
    """How long the data of a key may be used, as the server declares it.

    It is fresh until `fresh_until`. Stale data is shown until `stale_while_revalidate_until` (0: never; infinite: until
    newer data arrives), and replaces the error of a failed request until `stale_if_error_until` (None: not declared).
    With `must_revalidate`, stale data never replaces an error.
    """

    fresh_until: float
    stale_while_revalidate_until: float = inf
    stale_if_error_until: float | None = None
    must_revalidate: bool = False


class Validators(NamedTuple):
    """The validators of a response: its relevant `headers` by their names in lower case.

    `condition` is the name and value of the header of a conditional request; None if there is none. It is valid only
    for the request `source` with the final URL `place`. `stored` is False if the response must not be stored.
    """

    headers: Mapping[str, str]
    source: Hashable
    place: str
    condition: tuple[str, str] | None
    stored: bool = True

    @property
    def mark(self) -> Hashable:
        """Identifies the response among others of its key."""
        return self.source, self.condition


def source_at(url: str, arguments: _Headers = (), headers: _Headers = ()) -> Hashable:
    """Return what a response depends on: the URL, and the headers of a call that may change the response.

    These are headers from arguments, and headers of the call or its view.
    """
    return url, arguments, headers


class Concurrency(NamedTuple):
    """How mutations declare the version of an entity that they are based on (optimistic concurrency).

    The version is the ETag of the last response, or the value of `field` in the record. If it `is_required`, mutations
    without one are not sent.
    """

    field: str | None = None
    is_required: bool = False
