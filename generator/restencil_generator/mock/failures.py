"""Requested errors, and the bodies of error responses.

The header `Prefer: status=404` requests an error. The call itself is then not processed, and needs no credential.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from http import HTTPStatus
from typing import Final

from restencil_generator.mock import fake_values
from restencil_generator.mock.errors import Refusal
from restencil_generator.spec import model as d
from restencil_generator.spec.type_info import bare

_PREFERENCE: Final = re.compile(r'\s*status\s*=\s*"?([^";]*)"?\s*(?:;.*)?', re.IGNORECASE)


def fail_on_request(preferences: Iterable[str]) -> None:
    """Raise the error that `Prefer` headers request, or one that says that they request none."""
    for part in (part for value in preferences for part in value.split(",")):
        found = _PREFERENCE.fullmatch(part)
        if found is None:
            continue
        if re.fullmatch("[45][0-9]{2}", found[1]) is None:
            message = f"Prefer: status={found[1]} is not an error status; use one from 400 to 599, such as status=404"
            raise Refusal(HTTPStatus.BAD_REQUEST, message)
        headers = {"Preference-Applied": f"status={found[1]}"}
        raise Refusal(int(found[1]), "simulated by the header Prefer", headers=headers)


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
