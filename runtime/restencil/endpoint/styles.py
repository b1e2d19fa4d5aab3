"""Styles: how lists and objects are written in a search string, for each parameter.

comma, space, pipe   a=1,2    a=1 2    a=1|2
repeat               a=1&a=2
brackets             a[]=1&a[]=2       a[b]=1&a[c][]=2&a[c][]=3
deep                 a[0]=1&a[1]=2     a[b]=1&a[c][0]=2&a[c][1]=3
form                                   b=1&c=2&c=3, each member in the style of its own name
json                 a=[1,2]           a={"b":1,"c":[2,3]}
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from ..base.values import described, is_items, is_mapping, scalar_text, text_of
from .path import pair_of, search_text

STYLES: Final = ("comma", "space", "pipe", "repeat", "brackets", "deep", "form", "json")
"""The words of the option `search_styles`."""

_SEPARATORS: Final[Mapping[str, str]] = {"comma": ",", "space": " ", "pipe": "|"}
_NESTING: Final = ("brackets", "deep")

Pair: TypeAlias = tuple[str, str]


def check_styles(name: str, value: Any, endpoint: Any) -> None:
    """Raises TypeError or ValueError for an option `search_styles` that is no mapping from names to styles."""
    if not is_mapping(value):
        raise TypeError(
            f"{name} of endpoint {endpoint.label} is {described(value)}; expected a dict of names and words"
        )
    for parameter, style in value.items():
        if style not in STYLES:
            raise ValueError(
                f"the style of {parameter!r} in {name} of endpoint {endpoint.label} is one of {', '.join(STYLES)}, "
                f"not {style!r}"
            )


def styled_string(params: Mapping[str, Any], styles: Mapping[str, str]) -> str:
    """The search string of raw values: form encoding, pairs sorted by name, those of one name in the list's order.

    None is left out, as a value, item or member. Raises TypeError for a value that its style cannot write.
    """
    found = sorted(_pairs(params, styles), key=_place)
    return "&".join(pair_of(name, text) for name, text in found)


def styled_form(fields: Mapping[str, Any], styles: Mapping[str, str] | None) -> Mapping[str, Any]:
    """The fields of a form as they are sent: names with texts, or with the list of them.

    Without a style, lists are written as `repeat` has it and objects as `brackets` has it; null is written by the style
    `json` alone. Raises TypeError for a value that its style cannot write.
    """
    if styles is None and not any(is_mapping(value) or _holds_more(value) for value in fields.values()):
        return fields
    usual = {
        name: "brackets" if is_mapping(value) or _holds_more(value) else "repeat" for name, value in fields.items()
    }
    members = {name: "repeat" for value in fields.values() if is_mapping(value) for name in value}
    found: dict[str, list[str]] = {}
    for name, text in _pairs(fields, {**members, **usual, **(styles or {})}, keeps_null=True):
        found.setdefault(name, []).append(text)
    return found


def _holds_more(value: Any) -> bool:
    """Whether a list holds more than scalars."""
    return is_items(value) and any(is_mapping(item) or is_items(item) for item in value)


def _pairs(params: Mapping[str, Any], styles: Mapping[str, str], *, keeps_null: bool = False) -> Iterator[Pair]:
    for name, value in params.items():
        style = styles.get(name)
        if keeps_null and style == "json":
            yield name, _json(value)
        elif value is None:
            continue
        elif style == "form" and is_mapping(value):
            inner: Mapping[str, str] = {member: word for member, word in styles.items() if word != "form"}
            yield from _pairs({str(member): item for member, item in value.items()}, inner, keeps_null=keeps_null)
        else:
            yield from _written(name, value, style)


def _place(pair: Pair) -> str:
    """The sort key of pairs: the name, up to the item that it belongs to, so that its members stay together."""
    name = pair[0]
    cut = name.find("[][")
    return name if cut < 0 else name[: cut + 2]


def _written(name: str, value: Any, style: str | None) -> Iterator[Pair]:
    if style == "json":
        yield name, json_text(value)
    elif style is None or not (is_items(value) or is_mapping(value)):
        yield name, search_text(name, value)
    elif style in _NESTING:
        yield from _nested(name, value, style == "deep")
    elif is_mapping(value) or style == "form":
        raise TypeError(f"search parameter {name!r} is {described(value)}, which the style {style!r} cannot write")
    else:
        texts = [_scalar(name, item, style) for item in value if item is not None]
        if style == "repeat":
            yield from ((name, text) for text in texts)
        else:
            yield name, _SEPARATORS[style].join(texts)


def _nested(name: str, value: Any, numbered: bool) -> Iterator[Pair]:
    if is_mapping(value):
        parts: Iterable[tuple[str, Any]] = [(str(member), value[member]) for member in sorted(value, key=str)]
    elif is_items(value):
        items = [item for item in value if item is not None]
        parts = [(str(place) if numbered else "", item) for place, item in enumerate(items)]
    else:
        yield name, _scalar(name, value, "deep" if numbered else "brackets")
        return
    for part, item in parts:
        if item is not None:
            yield from _nested(f"{name}[{part}]", item, numbered)


def _scalar(name: str, value: Any, style: str) -> str:
    text = scalar_text(value)
    if text is None:
        raise TypeError(f"search parameter {name!r} holds {described(value)}, which the style {style!r} cannot write")
    return text


def json_text(value: Any) -> str:
    """A value as compact JSON with sorted keys; None is left out, as an item or member."""
    return _json(_without_none(value))


def _json(value: Any) -> str:
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=text_of
    )


def _without_none(value: Any) -> Any:
    if is_mapping(value):
        return {str(name): _without_none(item) for name, item in value.items() if item is not None}
    if is_items(value):
        return [_without_none(item) for item in value if item is not None]
    return value
