"""Query styles: the encoding of lists and objects in a query string, for each parameter.

comma, space, pipe   a=1,2    a=1 2    a=1|2
repeat               a=1&a=2
brackets             a[]=1&a[]=2       a[b]=1&a[c][]=2&a[c][]=3
deep                 a[0]=1&a[1]=2     a[b]=1&a[c][0]=2&a[c][1]=3
form                                   b=1&c=2&c=3, each member in the style for its name
json                 a=[1,2]           a={"b":1,"c":[2,3]}
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from ..base.values import described, is_items, is_mapping, scalar_text
from .path import pair_of, search_text

STYLES: Final = ("comma", "space", "pipe", "repeat", "brackets", "deep", "form", "json")
"""The values of the option `search_styles`."""

_SEPARATORS: Final[Mapping[str, str]] = {"comma": ",", "space": " ", "pipe": "|"}
_NESTING: Final = ("brackets", "deep")

Pair: TypeAlias = tuple[str, str]


def check_styles(name: str, value: Any, endpoint: Any) -> None:
    """Raise TypeError or ValueError for an option `search_styles` that is not a mapping from names to styles."""
    if not is_mapping(value):
        raise TypeError(
            f"{name} of endpoint {endpoint.label} is {described(value)}; expected a dict of parameter names and styles"
        )
    for parameter, style in value.items():
        if style not in STYLES:
            raise ValueError(
                f"{name} of endpoint {endpoint.label} has the style {style!r} for {parameter!r}; expected one of "
                f"{', '.join(STYLES)}"
            )


def styled_string(params: Mapping[str, object], styles: Mapping[str, str]) -> str:
    """Form-encode query parameters, sorted by name; pairs with the same name keep the order of the list.

    None is omitted, as a value, item or member. Raises TypeError for a value that its style cannot encode.
    """
    found = sorted(_pairs(params, styles), key=_place)
    return "&".join(pair_of(name, text) for name, text in found)


def styled_form(fields: Mapping[str, object], styles: Mapping[str, str] | None) -> Mapping[str, object]:
    """Return the fields of a form as they are sent: each name with a string or a list of strings.

    By default, lists have the style `repeat` and objects the style `brackets`. Only the style `json` encodes null.
    Raises TypeError for a value that its style cannot encode.
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


def _holds_more(value: object) -> bool:
    """Return whether a list contains a list or an object."""
    return is_items(value) and any(is_mapping(item) or is_items(item) for item in value)


def _pairs(params: Mapping[str, object], styles: Mapping[str, str], *, keeps_null: bool = False) -> Iterator[Pair]:
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
    """Return the sort key of a pair: its name up to the first list item, which keeps members of an item together."""
    name = pair[0]
    cut = name.find("[][")
    return name if cut < 0 else name[: cut + 2]


def _written(name: str, value: object, style: str | None) -> Iterator[Pair]:
    if style == "json":
        yield name, json_text(value)
    elif style is None or not (is_items(value) or is_mapping(value)):
        yield name, search_text(name, value)
    elif style in _NESTING:
        yield from _nested(name, value, style == "deep")
    elif is_mapping(value) or style == "form":
        raise TypeError(
            f"query parameter {name!r} is {described(value)}, which the style {style!r} cannot encode; "
            "use the style 'brackets', 'deep' or 'json'"
        )
    else:
        texts = [_scalar(name, item, style) for item in value if item is not None]
        if style == "repeat":
            yield from ((name, text) for text in texts)
        else:
            yield name, _SEPARATORS[style].join(texts)


def _nested(name: str, value: object, numbered: bool) -> Iterator[Pair]:
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


def _scalar(name: str, value: object, style: str) -> str:
    text = scalar_text(value)
    if text is None:
        raise TypeError(
            f"query parameter {name!r} contains {described(value)}, which the style {style!r} cannot encode; pass "
            "strings, numbers or booleans, or use the style 'json'"
        )
    return text


def json_text(value: object) -> str:
    """Encode a value as compact JSON with sorted keys; None is omitted, as an item or member."""
    return _json(_without_none(value))


def _json(value: object) -> str:
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_json_scalar
    )


def _json_scalar(value: object) -> str:
    text = scalar_text(value)
    if text is None:
        raise TypeError(f"a query parameter in the style 'json' contains {described(value)}, which has no JSON form")
    return text


def _without_none(value: object) -> object:
    if is_mapping(value):
        return {str(name): _without_none(item) for name, item in value.items() if item is not None}
    if is_items(value):
        return [_without_none(item) for item in value if item is not None]
    return value
