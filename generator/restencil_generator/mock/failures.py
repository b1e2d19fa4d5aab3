"""Requested errors: which calls fail with which status, and the bodies of error responses.

`--fail 'GET /articles/:id=404'` requests one for all calls, the header `Prefer: status=404` for a single one. The call
itself is then not processed, and needs no credential.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from http import HTTPStatus
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from restencil_generator.mock import fake_values
from restencil_generator.mock.errors import CannotServe, Refusal
from restencil_generator.mock.routes import Routes
from restencil_generator.spec import model as d
from restencil_generator.spec.type_info import bare

EXAMPLE: Final = "'GET /articles/:id=404'"
_FAILURE: Final = re.compile(r"\s*([A-Za-z]+)\s+(/\S*?)\s*=\s*([0-9]+)\s*")
_PREFERENCE: Final = re.compile(r'\s*status\s*=\s*"?([^";]*)"?\s*(?:;.*)?', re.IGNORECASE)


class Failure(NamedTuple):
    """One `--fail`: the method and the path of an endpoint, as in the spec, and the status of its responses."""

    method: str
    path: str
    status: int

    def __str__(self) -> str:
        return f"{self.method} {self.path}={self.status}"


def failure(text: str) -> Failure:
    """Parse a `--fail` option. Raises ValueError, with an example, if it is invalid."""
    found = _FAILURE.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not METHOD PATH=STATUS; write for example {EXAMPLE}")
    status = int(found[3]) if len(found[3]) <= 3 else 0
    if not is_error(status):
        raise ValueError(f"{text!r}: {found[3]} is not an error status (400 to 599); write for example {EXAMPLE}")
    return Failure(found[1].upper(), found[2], status)


def is_error(status: int) -> bool:
    """Return whether a status is an error."""
    return 400 <= status <= 599


class Failures:
    """The requested failures of the endpoints of a spec, which is served below `prefix`."""

    def __init__(self, spec: d.Spec, prefix: str) -> None:
        self._routes: dict[tuple[str, str], tuple[str, str]] = {}
        """The endpoints (method and path) by their possible names, with or without the path of the URL prefix."""
        self._statuses: dict[tuple[str, str], int] = {}
        for route in Routes(spec):
            endpoint = route.endpoint
            path = urlsplit(endpoint.url_prefix).path.rstrip("/") + endpoint.path.text
            for name in (endpoint.path.text, path):
                self._routes.setdefault((endpoint.method, prefix + name), (endpoint.method, endpoint.path.text))

    @property
    def known(self) -> Iterable[str]:
        """The names of all endpoints, as `METHOD PATH`."""
        return (f"{method} {path}" for method, path in self._routes)

    def add(self, failure: Failure) -> bool:
        """Add a failure, and return whether it names an endpoint of this spec."""
        endpoint = self._routes.get((failure.method, failure.path))
        if endpoint is not None:
            self._statuses[endpoint] = failure.status
        return endpoint is not None

    def status_of(self, endpoint: d.Endpoint) -> int | None:
        """Return the error status of the calls of an endpoint; None if they are processed."""
        return self._statuses.get((endpoint.method, endpoint.path.text))


def add_all(failures: Sequence[Failure], of: Sequence[Failures]) -> None:
    """Add each failure to the specs with its endpoint. Raises `CannotServe` if none has it."""
    for one in failures:
        if sum(its.add(one) for its in of) == 0:  # all APIs get it: two prefixes may have the same path
            known = sorted({name for its in of for name in its.known})
            request = f"{one.method} {one.path}"
            near = difflib.get_close_matches(request, known, n=3, cutoff=0.5) or known[:8]
            raise CannotServe(f"--fail '{one}': there is no endpoint {request}; similar ones: {', '.join(near)}")


def preferred(values: Iterable[str]) -> int | None:
    """Return the status that `Prefer` headers request. Raises `Refusal` if it is not an error."""
    for part in (part for value in values for part in value.split(",")):
        found = _PREFERENCE.fullmatch(part)
        if found is None:
            continue
        if not (found[1].isdecimal() and len(found[1]) == 3 and is_error(int(found[1]))):
            message = f"Prefer: status={found[1]} is not an error status; use one from 400 to 599, such as status=404"
            raise Refusal(HTTPStatus.BAD_REQUEST, message)
        return int(found[1])
    return None


# --------------------------------------------------------------------------------------------------------------- bodies


def body(spec: d.Spec, endpoint: d.Endpoint | None, status: int, word: str, message: str) -> d.Json:
    """Return the body of an error: as declared for the endpoint, else `{"error": word, "message": message}`.

    In a declared body the first string is the message, and a number `status` is the status.
    """
    shape = None if endpoint is None else d.shape_at(endpoint.errors, status)
    if not shape:
        return {"error": word, "message": message}
    fields = spec.objects[shape[0]].fields
    made = fake_values.members_of(spec, fields, 1, frozenset(shape[:1]))
    made |= {
        field.wire: status for field in fields if field.name == "status" and bare(field.type) == d.Scalar("integer")
    }
    _say(spec, fields, made, message)
    return made


def _say(spec: d.Spec, fields: Sequence[d.Field], value: dict[str, d.Json], message: str) -> bool:
    """Set the first string of an object, nested or not, to the message; returns whether there is one."""
    for field in fields:
        kind = bare(field.type)
        if kind == d.Scalar("string"):
            value[field.wire] = message
            return True
        inner = value.get(field.wire)
        nested = spec.objects[kind.name].fields if isinstance(kind, d.ObjectRef) else ()
        if isinstance(inner, dict) and _say(spec, nested, inner, message):
            return True
    return False
