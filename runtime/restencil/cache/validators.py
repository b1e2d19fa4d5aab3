"""What a server says of an answer: how long it is good, what tells it from the next one, and whether it may be kept.

The moments are those of the store's clock, in ms.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from math import inf
from typing import Any, NamedTuple, TypeAlias

_Headers: TypeAlias = "tuple[tuple[str, Any], ...]"


class Terms(NamedTuple):
    """How long the data of a key is good, as the server says it.

    It is fresh until `fresh_until`. Stale data is shown until `stale_while_revalidate_until` (0: never; infinite: until
    newer data arrives), and replaces the error of a failed request until `stale_if_error_until` (None: not declared).
    Where it `must_revalidate`, no failure at all is excused once the data is stale.
    """

    fresh_until: float
    stale_while_revalidate_until: float = inf
    stale_if_error_until: float | None = None
    must_revalidate: bool = False


class Validators(NamedTuple):
    """What an answer says of itself: `headers`, by their names in lower case, as far as they say anything of that.

    `condition` is the header, with its value, by which the server is asked whether it would answer so again; None where
    there is none. It is valid for the request `source` alone, answered at `place`. `stored` is false for what
    no storage may keep.
    """

    headers: Mapping[str, str]
    source: Hashable
    place: str
    condition: tuple[str, str] | None
    stored: bool = True

    @property
    def mark(self) -> Hashable:
        """What tells the answer from others under its key."""
        return self.source, self.condition


def source_at(url: str, arguments: _Headers = (), headers: _Headers = ()) -> Hashable:
    """What a response is valid for: the address, and the headers of a call that may change the response.

    Its arguments give them, or a view.
    """
    return url, arguments, headers


class Concurrency(NamedTuple):
    """How mutations of an entity tell the server what they were made for.

    By the ETag of the last answer, or by the `field` of the record that has it; where it `is_required`, a mutation
    without one is not sent.
    """

    field: str | None = None
    is_required: bool = False
