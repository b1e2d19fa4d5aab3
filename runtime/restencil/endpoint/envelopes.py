"""Envelopes: the location of the value in a response, and the member that contains a request body."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.errors import ProcessingError
from ..base.response import method_of, url_of
from ..base.values import described, is_list, is_mapping
from .options import outcome_note

if TYPE_CHECKING:
    from .options import EndpointOptions

_NOTHING = object()
_SHOWN = 8
"""The maximum number of members in a message."""


def opened(endpoint: EndpointOptions, value: object, response: object) -> Any:
    """Return the value in the envelope of a response; None for a response without content, or with `ignore`.

    Raises ProcessingError if the envelope is missing, except for a delete, which returns the response unchanged.
    """
    if endpoint.ignore:
        return None
    path = endpoint.unwrap
    if path is None or value is None or (type(value) is str and not value):
        return value
    found = value
    for step in path.split("."):
        found = _step(found, step)
        if found is _NOTHING:
            if getattr(endpoint.schema, "takes_anything", False):
                return value
            raise _missing_envelope(endpoint, path, value, response)
        if found is None:
            return None
    return found


def at_path(value: object, path: str) -> object:
    """Return the value at a path of a response; None if there is none."""
    for step in path.split("."):
        value = _step(value, step)
    return None if value is _NOTHING else value


def _step(value: object, step: str) -> object:
    """Return the member of an object with this name, or the item of a list with this index."""
    if is_mapping(value):
        return value.get(step, _NOTHING)
    if is_list(value) and step.isdecimal() and int(step) < len(value):
        return value[int(step)]
    return _NOTHING


def _missing_envelope(endpoint: EndpointOptions, path: str, value: object, response: object) -> ProcessingError:
    siblings = endpoint.siblings
    owner = endpoint.name if siblings is None else siblings.title
    request = f"{method_of(response)} {url_of(response)}".strip()
    if is_mapping(value):
        names = ", ".join(list(value)[:_SHOWN]) + (", …" if len(value) > _SHOWN else "")
        has = f"it has: {names}" if names else "it is empty"
    else:
        has = f"it is {described(value)}"
    message = f"the response to {request} has no {path!r} (envelope of {owner}); {has}{outcome_note(endpoint)}"
    return ProcessingError(message, response=value)


def enclosed(body: object, path: str) -> object:
    """Wrap a body in objects with the members of a path."""
    for step in reversed(path.split(".")):
        body = {step: body}
    return body
