"""`errors`: the objects in the bodies of errors, by status."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from restencil_generator.diagnostics.model import quoted
from restencil_generator.spec import model as d
from restencil_generator.spec.error_classes import BASE, CLASSES
from restencil_generator.spec.grammar.patterns import ERROR_STATUS
from restencil_generator.spec.grammar.type_words import SCALAR_WORDS
from restencil_generator.spec.grammar.value_reader import Subject
from restencil_generator.spec.source.nodes import MappingNode, Node, ScalarNode, SequenceNode, described, is_null

if TYPE_CHECKING:
    from restencil_generator.spec.analyze.types import Types

_STATUS: Final = re.compile(ERROR_STATUS)


def read_errors(types: Types, node: Node | None, what: Subject) -> dict[str, d.Shape | None] | None:
    """Read the error bodies of a level by status, with None for a reset status; None if the level declares none."""
    label = Subject("'errors'", what)
    mapping = types.mapping(node, label, "write {404: NotFound}")
    if mapping is None:
        return None
    found: dict[str, d.Shape | None] = {}
    for status, entry in mapping:
        usable = _STATUS.fullmatch(status) is not None
        if not usable:
            message = f"{quoted(status)} of {label} is not an error status (400 to 599, 4XX, 5XX or default)"
            types.report("error-status", message, entry.key, _meant(status))
        shape = _shape(types, entry.value, Subject(status, label))
        if usable and (shape is not None or is_null(entry.value)):
            found[status] = shape
    return found


def claim_classes(types: Types, resources: dict[str, d.Resource], node: Node | None) -> bool:
    """Reserve the names of error classes if any endpoint has errors, and return whether the package has them."""
    endpoints = [
        endpoint for resource in resources.values() for _, endpoint in resource.all_endpoints() if endpoint.errors
    ]
    if not endpoints:
        return False
    place = node.place if node is not None else endpoints[0].place
    for name in (BASE, *CLASSES):
        types.claim(
            name,
            "error",
            f"the error class {quoted(name)}",
            place,
            "rename it: 'errors' creates a class with that name",
        )
    return True


def _meant(status: str) -> str:
    """Return a hint with the key that an invalid one was probably meant to be."""
    if status.upper() in ("4XX", "5XX"):
        return f"write {status.upper()}"
    if status.casefold() in ("*", "any", "all", "else", "other", "others"):
        return "write default"
    return "for a successful response, use the 'schema' of an endpoint" if status[:1] in ("1", "2", "3") else ""


def _shape(types: Types, node: Node, what: Subject) -> d.Shape | None:
    """Return the possible objects of a body; empty for any JSON, None for null and if it is invalid."""
    if is_null(node):
        return None
    if isinstance(node, MappingNode):
        return _choice(types, node, what)
    if isinstance(node, SequenceNode):
        hint = "write {one_of: […]} for one of several objects, and 'any' for a list"
        types.wrong(what, "the name of an object", node, hint)
        return None
    if isinstance(node, ScalarNode) and node.value == "any":
        return ()
    found = _object(types, node, what)
    return None if found is None else (found,)


def _choice(types: Types, node: MappingNode, what: Subject) -> d.Shape | None:
    """Return the alternatives of `one_of`; any other mapping is reported."""
    if types.is_pointer(node, what):
        return None
    if not any(key == "one_of" or types.key_hint("error_choice", key) for key in node.entries):
        hint = "declare it under 'objects', and write its name"
        types.report("object-not-here", f"{what} must be the name of an object, not a mapping", node, hint)
        return None
    given = types.section("error_choice", node, what, node)
    names = [_object(types, item, what) for _, item in given["one_of"] or ()]
    return tuple(name for name in names if name is not None) or None


def _object(types: Types, node: Node, what: Subject) -> str | None:
    """Return the name of an object; anything else is reported."""
    name = node.value if isinstance(node, ScalarNode) else None
    expected = "the name of an object, 'any' or null"
    if not isinstance(name, str):
        types.wrong(what, expected, node)
        return None
    kind = types.kinds.get(name)
    if kind == "object":
        return name
    if kind is not None:
        message = f"the {kind} {quoted(name)} cannot be in 'errors': {what}"
        hint = "declare an object with these fields: an error has no identity" if kind == "entity" else "write 'any'"
        types.report("type-not-here", message, node, hint)
    elif types.kinds.get(name.removesuffix("?")) == "object":
        message = f"{what} cannot be optional: 'data' is None if a body does not fit"
        types.report("type-not-here", message, node, f"write {name[:-1]}")
    else:
        objects = [known for known, its in types.kinds.items() if its == "object"]
        hint = "write 'any' for other JSON" if name in SCALAR_WORDS else "declare it under 'objects'"
        near = None if name in SCALAR_WORDS else (name, objects)
        types.report("unknown-type", f"{what} must be {expected}, not {described(node)}", node, hint, near=near)
    return None
