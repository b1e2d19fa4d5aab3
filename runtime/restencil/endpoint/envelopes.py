"""Where the value of an answer stands, and in which member a body is sent."""

from __future__ import annotations

from typing import Any, Protocol

from ..base.errors import ProcessingError
from ..base.response_details import method_of, url_of
from ..base.values import described, is_list, is_mapping

_NOTHING = object()
_SHOWN = 8
"""How many members a message names."""


class Enveloped(Protocol):
    """What an envelope depends on of an endpoint."""

    @property
    def unwrap(self) -> str | None: ...
    @property
    def ignore(self) -> bool | None: ...
    @property
    def schema(self) -> Any: ...
    @property
    def siblings(self) -> Any: ...
    @property
    def name(self) -> str: ...


def opened(endpoint: Enveloped, value: Any, response: Any) -> Any:
    """The value of an answer out of its envelope; None for an answer without content, or where all is ignored.

    Raises ProcessingError where the envelope is not there. Another response to a delete is left unchanged: it has
    succeeded.
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


def at_path(value: Any, path: str) -> Any:
    """What stands at a path of an answer; None where nothing does."""
    for step in path.split("."):
        value = _step(value, step)
    return None if value is _NOTHING else value


def _step(value: Any, step: str) -> Any:
    """The member of an object with this name, or the item of a list with this index."""
    if is_mapping(value):
        return value.get(step, _NOTHING)
    if is_list(value) and step.isdecimal() and int(step) < len(value):
        return value[int(step)]
    return _NOTHING


def _missing_envelope(endpoint: Enveloped, path: str, value: Any, response: Any) -> ProcessingError:
    siblings = endpoint.siblings
    owner = endpoint.name if siblings is None else siblings.title
    request = f"{method_of(response)} {url_of(response)}".strip()
    if is_mapping(value):
        names = ", ".join(list(value)[:_SHOWN]) + (", …" if len(value) > _SHOWN else "")
        has = f"it has: {names}" if names else "it is empty"
    else:
        has = f"it is {described(value)}"
    message = f"the answer of {request} has no {path!r} (envelope of {owner}); {has}"
    return ProcessingError(message, response=value)


def enclosed(body: Any, path: str) -> Any:
    """A body in the member that it is sent in."""
    for step in reversed(path.split(".")):
        body = {step: body}
    return body
