"""Errors by status: the exception classes of the runtime, and the keys of `errors` with their precedence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Final

from restencil_generator.spec import model as d

CLASSES: Final[Mapping[str, range]] = {
    "BadRequestError": range(400, 401),
    "AuthenticationError": range(401, 402),
    "PermissionDeniedError": range(403, 404),
    "NotFoundError": range(404, 405),
    "ConflictError": range(409, 410),
    "PreconditionFailedError": range(412, 413),
    "UnprocessableEntityError": range(422, 423),
    "RateLimitError": range(429, 430),
    "ServerError": range(500, 600),
}
"""The exception classes of the runtime for single statuses or ranges; all other statuses raise `BASE`."""

BASE: Final = "StatusError"
"""The base class of all of them."""

DEFAULT: Final = "default"
"""The key of `errors` for all statuses."""


_PHRASES: Final = {
    413: "Content Too Large",
    414: "URI Too Long",
    416: "Range Not Satisfiable",
    422: "Unprocessable Content",
}
"""The reason phrases of RFC 9110 that Python has since 3.13; what is generated must not depend on the interpreter."""


def reason_phrase(status: int) -> str:
    """Return the reason phrase of a status, such as `Not Found`; raises ValueError for an unknown one."""
    return _PHRASES.get(status) or HTTPStatus(status).phrase


def covers(key: str, other: str) -> bool:
    """Return whether a key of `errors` covers all statuses of another one: `4XX` covers `404`."""
    return key in (DEFAULT, other) or (key.endswith("XX") and key[0] == other[0])


def laid_over(inherited: Mapping[str, d.Shape], own: Mapping[str, d.Shape | None] | None) -> dict[str, d.Shape]:
    """Merge the `errors` of a level with the inherited ones; the nearest level that declares a status wins.

    A status that a level resets with null, but that a wider key still covers, has any JSON.
    """
    own = own or {}
    found: dict[str, d.Shape | None] = {
        key: shape for key, shape in inherited.items() if not any(covers(mine, key) for mine in own)
    }
    found |= own
    wider = {key for key, shape in found.items() if shape is not None}
    kept = {
        key: () if shape is None else shape
        for key, shape in found.items()
        if shape is not None or any(covers(other, key) for other in wider)
    }
    return {key: kept[key] for key in sorted(kept, key=_rank)}


def shapes(spec: d.Spec, statuses: range) -> Iterator[d.Shape]:
    """Yield the distinct error bodies that the spec and its endpoints declare for some statuses.

    An empty one is among them if an endpoint declares none.
    """
    seen: set[d.Shape] = set()
    for status in statuses:
        whole = d.shape_at(spec.errors, status)
        if whole is not None and whole not in seen:
            seen.add(whole)
            yield whole
    for resource in spec.resources.values():
        for _, endpoint in resource.all_endpoints():
            for status in statuses:
                shape = d.shape_at(endpoint.errors, status) or ()
                if shape not in seen:
                    seen.add(shape)
                    yield shape


def _rank(key: str) -> tuple[int, str]:
    """Return the sort key of a key of `errors`; narrow ones come first: `404`, `4XX`, `default`."""
    return 2 if key == DEFAULT else 1 if key.endswith("XX") else 0, key
