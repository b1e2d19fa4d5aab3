"""Bound endpoints with partitioned headers: each value of such a header has a separate store.

The header changes the content of entities, so responses with different values must not be stored together. A call that
passes one is delegated to the same endpoint of the view with that header; equal values share a view.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, Final

from ..base.calls import HeaderParam, header_text
from ..base.values import is_mapping
from ..schema.record import to_wire
from .call_options import OPERATIONS

_OPERATIONS: Final = (*OPERATIONS, "__call__", "key", "pages", "url")
_OWN_ARGUMENTS: Final = {"resolve": 2, "set_error": 1, "set_response": 1}
"""The number of an operation's own arguments, which precede those of the call."""


@functools.cache
def partitioned(form: type[object]) -> type[object]:
    """Return a subclass of this class of bound endpoints that delegates calls to the view with their headers."""
    members = {name: _routed(getattr(form, name), name) for name in _OPERATIONS if hasattr(form, name)}
    return type(form.__name__, (form,), {**members, "__module__": form.__module__})


def _routed(operation: Any, name: str) -> object:
    before = _OWN_ARGUMENTS.get(name, 0)

    @functools.wraps(operation)
    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        own, rest = args[:before], args[before:]
        headers = _parting(self.endpoint, rest, kwargs)
        if not headers:
            return operation(self, *args, **kwargs)
        params: Mapping[str, HeaderParam] = self.endpoint.header_params
        values = {params[keyword].name: text for keyword, text in headers.items()}
        bound = self.controller.with_options(headers=values).bind(self.endpoint.plain or self.endpoint)
        if rest and is_mapping(rest[0]):
            rest = ({keyword: value for keyword, value in rest[0].items() if keyword not in headers}, *rest[1:])
            return operation(bound, *own, *rest, **kwargs)
        return operation(bound, *own, *rest, **{**kwargs, **dict.fromkeys(headers)})

    return call


def _parting(endpoint: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, str]:
    """Return the partitioned headers of a call, by keyword."""
    params: Mapping[str, HeaderParam] = endpoint.header_params
    given: Mapping[str, Any] = kwargs
    if args:
        given = args[0] if is_mapping(args[0]) else {}
    else:
        given = {**endpoint._defaults, **kwargs}
    return {
        keyword: header_text(
            to_wire(given[keyword]),
            f"the header parameter {keyword!r} of endpoint {endpoint.name!r}",
            secret=param.secret,
        )
        for keyword, param in params.items()
        if param.parts and given.get(keyword) is not None
    }
