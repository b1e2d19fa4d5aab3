"""Styles: how lists and objects stand in search strings, and which fits what."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from restencil_generator import declaration as d
from restencil_generator.facts import facts
from restencil_generator.problems import quoted
from restencil_generator.reading import Given
from restencil_generator.tree import Node

if TYPE_CHECKING:
    from restencil_generator.checking.types import Types

_NESTING: Final[tuple[d.Style, ...]] = ("brackets", "deep", "json")
"""Styles of lists that hold more than scalars."""


def read_styles(given: Given, key: str = "search_style") -> dict[int, d.Style | None]:
    """What a level says of lists (0) and objects (1): None where it takes back what is inherited."""
    if key not in given:
        return {}
    written: Given | d.Style | None = given[key]
    if written is None:
        return {0: None, 1: None}
    if not isinstance(written, Given):
        return {0: written}
    return {at: written[key] for at, key in enumerate(("lists", "objects")) if key in written}


def laid_over(inherited: d.Styles, own: Mapping[int, d.Style | None]) -> d.Styles:
    """The styles that count where a level says this over what it inherits."""
    return own.get(0, inherited[0]), own.get(1, inherited[1])


def check_style(types: Types, type: d.Type, style: d.Style, node: Node, what: str) -> None:
    """Reports a style that its parameter's values cannot be written in."""
    fitting = styles_of(type)
    if style not in fitting:
        message = f"the style {quoted(style)} of {what} does not fit {_named(type)}"
        *most, last = fitting or ("",)
        hint = f"write {', '.join(most)} or {last}" if most else f"write {last}"
        types.report("style-misfit", message, node, hint if last else "remove it")


def styled(field: d.Field, styles: d.Styles) -> d.Field:
    """A search parameter with the style that counts for it."""
    style = field.style
    if style is None:
        shape = facts(field.type).shape
        style = styles[0] if shape == "list" else styles[1] if shape in ("object", "mapping") else None
        if style is not None and style not in styles_of(field.type):
            style = None  # what it says of many does not fit this one
    return field if style == field.style else dataclasses.replace(field, style=style)


def form_styled(field: d.Field, styles: d.Styles) -> d.Field:
    """A field of a form with the style that counts for it; the one that its kind has in forms anyway is none."""
    shape = facts(field.type).shape
    usual: d.Style = "repeat" if shape == "list" else "brackets"
    style = field.style
    if style is None:
        style = styles[0] if shape == "list" else styles[1] if shape in ("object", "mapping") else None
        if style is not None and style not in styles_of(field.type):
            style = None
    return field if style == field.style else dataclasses.replace(field, style=None if style == usual else style)


def styles_of(type: d.Type) -> tuple[d.Style, ...]:
    """The styles in which values of a type can be written."""
    known = facts(type)
    if known.bare == d.Scalar("any"):
        return ("json",)
    if known.shape in ("object", "mapping"):
        return d.OBJECT_STYLES
    if known.shape != "list" or known.item is None:
        return ()
    return d.LIST_STYLES if facts(known.item).shape in ("scalar", "several") else _NESTING


def _named(type: d.Type) -> str:
    """A type in words."""
    known = facts(type)
    if known.shape == "list" and known.item is not None:
        return f"a list of {_noun(known.item)}s"
    noun = _noun(known.bare)
    return "a value of any kind" if noun == "any" else f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def _noun(type: d.Type) -> str:
    bare = facts(type).bare
    match bare:
        case d.Scalar(name):
            return name
        case d.EnumRef():
            return "enum"
        case d.Const():
            return "constant"
        case d.ListOf():
            return "list"
        case _:
            return "object"
