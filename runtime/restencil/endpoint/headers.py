"""Header parameters: keywords of a call that are sent as headers.

What a call gives is split from its arguments when they are bound. Those headers that are part of keys stay beside the
other parameters, under their names in Python, where keys and identities of collections find them; all of them are
options of the call, which go over the headers of the endpoint when its request is sent.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any
from urllib import parse as urls

from ..base.calls import CONDITIONS, INERT_HEADERS, ArgumentText, HeaderParam, header_text
from ..base.values import is_mapping
from ..cache.request import Arguments
from ..schema.record import to_wire
from .call_options import CallOptions


def bind_headers(endpoint: Any, own: tuple[Any, ...], given: Mapping[str, Any]) -> tuple[Any, ...]:
    """Bound arguments with the headers of a call; `given` are its values by the keyword, in any form.

    Raises TypeError or ValueError for a value that no header can have.
    """
    headers: dict[str, ArgumentText] = {}
    keyed: dict[str, str] = {}
    made: set[str] = set()
    partitions: list[str] = []
    params: Mapping[str, HeaderParam] = endpoint.header_params
    for keyword, param in params.items():
        value = given.get(keyword)
        if value is None:
            if param.auto is None:
                continue
            made.add(param.name)
            headers[param.name] = ArgumentText(str(uuid.uuid4()), secret=param.secret)
            continue
        what = f"the header parameter {keyword!r} of endpoint {endpoint.name!r}"
        text = headers[param.name] = header_text(to_wire(value), what, secret=param.secret)
        if param.parts:
            partitions.append(keyword)
        elif param.keyed:
            keyed[keyword] = str(text)
    if not headers or (len(own) == 1 and own[0] is None and not endpoint.has_body):
        return own
    varied = tuple(
        sorted(
            (name.lower(), text)
            for name, text in headers.items()
            if name not in made and name.lower() not in INERT_HEADERS - CONDITIONS
        )
    )
    options = CallOptions(headers, vary_key=(varied,) if varied else (), partitions=tuple(partitions))
    return Arguments(_with_keyed(own, keyed, has_body=endpoint.has_body) if keyed else own, own, options)


def _with_keyed(own: tuple[Any, ...], keyed: Mapping[str, str], *, has_body: bool) -> tuple[Any, ...]:
    """Bound arguments with headers beside the parameters."""
    only_body = has_body and len(own) == 1
    params: Mapping[str, Any] = {} if only_body or not own else own[0] or {}
    rest = own if only_body else own[1:]
    return ({**keyed, **params}, *rest)


def has_partitions(endpoint: Any) -> bool:
    """Whether calls of an endpoint may have a store of their own."""
    params: Mapping[str, HeaderParam] = getattr(endpoint, "header_params", None) or {}
    return any(param.parts for param in params.values())


def split(params: Mapping[str, HeaderParam], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Positional and keyword arguments without headers, and the headers."""
    if args and is_mapping(args[0]) and not params.keys().isdisjoint(args[0]):
        first = args[0]
        rest = {name: value for name, value in first.items() if name not in params}
        return (rest, *args[1:]), kwargs, {name: first[name] for name in params if name in first}
    if params.keys().isdisjoint(kwargs):
        return args, kwargs, {}
    rest = {name: value for name, value in kwargs.items() if name not in params}
    return args, rest, {name: kwargs[name] for name in params if name in kwargs}


def key_suffix(params: Mapping[str, HeaderParam], given: Any) -> str:
    """What the key of a reading endpoint ends with: the headers that are part of it, sorted, after a space."""
    if not is_mapping(given):
        return ""
    found = {
        param.name.lower(): str(header_text(given[keyword], keyword))
        for keyword, param in params.items()
        if param.keyed and given.get(keyword) is not None
    }
    return f" {urls.urlencode(sorted(found.items()))}" if found else ""


def refuse_partition(endpoint: Any, options: CallOptions) -> None:
    """Raises RuntimeError for a header that has a store of its own, if the call was not made through that store."""
    if options.partitions:
        keyword = options.partitions[0]
        name = endpoint.header_params[keyword].name
        raise RuntimeError(
            f"the parameter {keyword!r} of endpoint {endpoint.name!r} has a store of its own for each value: call the "
            f"endpoint on its resource (client.resource.member(…)), or give the header {name!r} to with_options"
        )
