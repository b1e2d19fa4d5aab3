"""Styles of lists and objects in search strings and forms."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from restencil_generator.diagnostics.model import quoted
from restencil_generator.spec import model as d
from restencil_generator.spec.grammar.value_reader import ParsedSection, Subject
from restencil_generator.spec.source.nodes import Node
from restencil_generator.spec.type_info import type_info

if TYPE_CHECKING:
    from restencil_generator.spec.analyze.types import Types

_NESTING: Final[tuple[d.Style, ...]] = ("brackets", "deep", "json")
"""Styles for lists with items other than scalars."""


def read_styles(given: ParsedSection, key: str = "search_style") -> dict[int, d.Style | None]:
    """Return the styles of a level for lists (0) and objects (1); None resets the inherited style."""
    if key not in given:
        return {}
    written: ParsedSection | d.Style | None = given[key]
    if written is None:
        return {0: None, 1: None}
    if not isinstance(written, ParsedSection):
        return {0: written}
    return {at: written[key] for at, key in enumerate(("lists", "objects")) if key in written}


def laid_over(inherited: d.Styles, own: Mapping[int, d.Style | None]) -> d.Styles:
    """Return the effective styles: those of a level, else the inherited ones."""
    return own.get(0, inherited[0]), own.get(1, inherited[1])


def check_style(types: Types, type: d.Type, style: d.Style, node: Node, what: Subject) -> None:
    """Report a style in which values of the parameter cannot be written."""
    fitting = styles_of(type)
    if style not in fitting:
        message = f"the style {quoted(style)} of {what} does not fit {_named(type)}"
        *most, last = fitting or ("",)
        hint = f"write {', '.join(most)} or {last}" if most else f"write {last}"
        types.report("style-misfit", message, node, hint if last else "remove it")


def styled(field: d.Field, styles: d.Styles) -> d.Field:
    """Return a search parameter with its effective style."""
    style = field.style
    if style is None:
        style = _usual(field.type, styles)
    return field if style == field.style else dataclasses.replace(field, style=style)


def form_styled(field: d.Field, styles: d.Styles) -> d.Field:
    """Return a field of a form with its effective style, or None for the default style of forms."""
    usual: d.Style = "repeat" if d.list_in(field.type) is not None else "brackets"
    style = field.style
    if style is None:
        style = _usual(field.type, styles)
    return field if style == field.style else dataclasses.replace(field, style=None if style == usual else style)


def _usual(type: d.Type, styles: d.Styles) -> d.Style | None:
    """Return the inherited style for a value of a type; None if it does not fit."""
    is_object = type_info(type).shape in ("object", "mapping")
    style = styles[0] if d.list_in(type) is not None else styles[1] if is_object else None
    return style if style in styles_of(type) else None


def styles_of(type: d.Type) -> tuple[d.Style, ...]:
    """Return the styles in which values of a type can be written."""
    known = type_info(type)
    if known.bare == d.Scalar("any"):
        return _NESTING
    if known.shape in ("object", "mapping"):
        return d.OBJECT_STYLES
    listed = d.list_in(type)
    if listed is None:
        return ()
    return d.LIST_STYLES if type_info(listed.item).shape in ("scalar", "several") else _NESTING


def _named(type: d.Type) -> str:
    """Describe a type in words."""
    known = type_info(type)
    if known.shape == "list" and known.item is not None:
        return f"a list of {_noun(known.item)}s"
    noun = _noun(known.bare)
    if isinstance(known.bare, d.OneOf):
        return "one of several scalars"
    return "a value of any kind" if noun == "any" else f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def _noun(type: d.Type) -> str:
    bare = type_info(type).bare
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
