"""Fields: each key of a mapping is a field, with a type or a mapping that describes it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Final

from restencil_generator.diagnostics.model import quoted
from restencil_generator.spec import model as d
from restencil_generator.spec.analyze.parameter_styles import check_style
from restencil_generator.spec.analyze.type_forms import Context
from restencil_generator.spec.analyze.types import Types
from restencil_generator.spec.grammar.keys import OF_OTHERS, relatives, rows
from restencil_generator.spec.grammar.type_words import POSITIONS, form_word
from restencil_generator.spec.grammar.value_reader import JsonWithPlaces, ParsedSection, Subject
from restencil_generator.spec.names import Use, header_name, pascal_case, python_name, wire_name
from restencil_generator.spec.source.nodes import Entry, MappingNode, Node, ScalarNode
from restencil_generator.spec.type_info import absent_of
from restencil_generator.spec.validate_value import validation_errors


def read_fields(
    types: Types,
    node: Node | None,
    owner: Subject,
    position: str,
    type_name: str,
    *,
    label: Subject | None = None,
    entity: str = "",
) -> tuple[d.Field, ...]:
    """Read the fields of a mapping without invalid ones; empty if there is no mapping.

    `owner` is the name of the owner in messages, `label` the name of the mapping if it differs.
    """
    mapping = types.mapping(node, label or owner)
    found: list[d.Field] = []
    noun, use = _NOUNS.get(position, ("field", "field"))
    for name, entry in mapping or ():
        what = Subject(f"{noun} {quoted(name)}", owner)
        usable = types.name(entry.key, what, otherwise="" if position == "path_param" else _WIRED)
        context = Context(what, position, type_name + pascal_case(name) if usable else type_name, entity)
        field = _field(types, name, entry, context, use)
        if usable and field is not None:
            found.append(field)
    types.distinct(found, owner)
    return tuple(found)


_WIRED: Final = "write for instance '{suggested}', with 'wire: {name}'"
"""The hint for a name that requests and responses may have, but Python may not."""

_NOUNS: Final[Mapping[str, tuple[str, Use]]] = {
    "path_param": ("parameter", "parameter"),
    "search_param": ("parameter", "parameter"),
    "client_param": ("parameter", "parameter"),
    "header_param": ("header parameter", "parameter"),
    "client_header": ("header parameter", "parameter"),
    "server_variable": ("variable", "parameter"),
}
"""The name of a field in each position for messages, and the use of its name."""


def is_described(node: Node) -> bool:
    """Return whether the value of a field is a mapping that describes it, rather than its type."""
    if not isinstance(node, MappingNode):
        return False
    if "type" in node.entries or "const" in node.entries:
        return True
    words = rows("entity_field").keys() | relatives("entity_field")
    return form_word(node) is None and any(key in node.entries for key in words)


def _field(types: Types, name: str, entry: Entry, context: Context, use: Use) -> d.Field | None:
    node = entry.value
    wire = _wire(name, types.wire, context.position)
    python = python_name(name, use)
    if is_described(node):
        assert isinstance(node, MappingNode)
        base = d.Field(name, python, wire, d.Scalar("any"), place=entry.key.place)
        return _described(types, node, base, context)
    node, must = _without_mark(node, context)
    type = types.type(node, context)
    at = entry.key.place
    if type is None:
        return None
    return d.Field(
        name,
        python,
        wire,
        type,
        _default(types, type, None, context),
        must=must,
        place=at,
        type_place=entry.value.place,
    )


def _without_mark(node: Node, context: Context) -> tuple[Node, bool]:
    """Remove the mark `!` of a required type, and return whether the type has it."""
    if not (POSITIONS[context.position].must and isinstance(node, ScalarNode) and node.text[-1:] == "!"):
        return node, False
    if node.text[-2:-1] in ("", "?", "!"):
        return node, False
    where = node.file, node.line, node.column, node.end_line, node.end_column
    return ScalarNode(*where, node.text[:-1], node.plain), True


def _wire(name: str, style: d.WireNames, position: str) -> str:
    """Return the JSON name of a field that does not declare one."""
    if position in ("path_param", "server_variable"):
        return name
    return header_name(name) if position in ("header_param", "client_header") else wire_name(name, style)


def _described(types: Types, node: MappingNode, base: d.Field, context: Context) -> d.Field | None:
    given = types.section(context.position, node, context.what, node)
    written = given.node("type")
    must = given.get("required") is True or (written is not None and _without_mark(written, context)[1])
    type = _type(types, given, context)
    if type is None:
        return None
    if must and isinstance(type, d.Optional) and not ("required" in given and "optional" in given):
        message = f"the {context.what.name} is both required and optional"
        types.report("field-both-ways", message, given.key("type"), "keep one of them")
    if "format" in given:
        _check_format(types, type, given, context)
        if given["format"] != "rfc3339":
            type = d.formatted(type, given["format"])
    if given.get("style") is not None:
        check_style(types, type, given["style"], given.node("style") or node, context.what)
    if given.get("send") is not None:
        types.later.append(lambda: _check_send(types, type, given, context.what))
    default: JsonWithPlaces | None = given.get("default") if "const" not in given else None
    return dataclasses.replace(
        base,
        **{key: given[key] for key in rows(context.position) if key in _ATTRIBUTES},
        wire=given.get("wire") or base.wire,
        type=type,
        default=_default(types, type, default, context),
        written_default=default is not None,
        sends_key=given.get("send") == "pk",
        must=must,
        format=None if given.get("format") == "rfc3339" else given.get("format"),
        of=given.get("field") or "",
        type_place=(given.node("type") or given.node("const") or node).place,
    )


_ATTRIBUTES: Final = frozenset(one.name for one in dataclasses.fields(d.Field)) - {"type", "default", "wire", "format"}
"""Keys of a field whose value becomes the attribute of the same name."""


def _type(types: Types, given: ParsedSection, context: Context) -> d.Type | None:
    """Return the type of a described field, considering `const`, `optional` and a default of null."""
    if "const" in given:
        return d.Const(given["const"]) if given["const"] is not None else None
    node = given.node("type")
    if node is None and given.get("field") and context.position == "path_param":
        return OF_FIELD
    type = types.type(_without_mark(node, context)[0], context) if node is not None else None
    optional = given.get("optional", False)
    if isinstance(type, d.EntityRef | d.UnionOf) and "default" in given and given["default"].value is None:
        optional = True
    return d.Optional(type) if optional and type is not None and not isinstance(type, d.Optional) else type


def _default(types: Types, type: d.Type, written: JsonWithPlaces | None, context: Context) -> d.Json | d.Missing:
    if written is None:
        return absent_of(type, types.enums, types.absent) if POSITIONS[context.position].zero else d.MISSING
    if written.usable:
        types.later.append(lambda: _check_default(types, type, written, context.what))
    return written.value


OF_FIELD: Final = d.AnyOf(())
"""The type of a path parameter that takes it from the field of the same name."""


def _check_format(types: Types, type: d.Type, given: ParsedSection, context: Context) -> None:
    """Report `format` at a type without datetimes."""
    if all(part != d.Scalar("datetime") for part in d.walk(type)):
        message = f"'format' of {context.what} has an effect only for datetimes"
        types.report("key-not-here", message, given.key("format"), OF_OTHERS["format"])


def _check_send(types: Types, type: d.Type, given: ParsedSection, what: Subject) -> None:
    """Report `send` unless the field has an entity whose primary key is a single value."""
    names = [*d.entities_in(type)]
    compound = next((name for name in names if name in types.entities and types.entities[name].pk_is_list), None)
    if not names:
        message = f"'send: pk' of {what} has no effect: its type contains no entity"
        types.report("key-not-here", message, given.key("send"), "remove it, or name an entity as its type")
    elif compound is not None:
        message = (
            f"'send: pk' of {what}: the pk of entity {quoted(compound)} has several parts, so it is not a single value"
        )
        types.report("key-not-here", message, given.key("send"), "remove it")


def _check_default(types: Types, type: d.Type, written: JsonWithPlaces, what: Subject) -> None:
    for misfit in validation_errors(types, type, written.value, "default"):
        at = f" at {'.'.join(map(str, misfit.where))}" if misfit.where else ""
        place = misfit.place_in(written.places, written.places[()])
        types.report("bad-default", f"the default of {what} does not fit{at}: {misfit.message}", place, misfit.hint)
