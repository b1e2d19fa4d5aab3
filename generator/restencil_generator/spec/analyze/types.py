"""The types of a spec: from nodes to resolved types."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final, cast

from restencil_generator.diagnostics.model import quoted
from restencil_generator.spec import model as d
from restencil_generator.spec.analyze.type_forms import Context, Nested, object_type, read_const, read_form
from restencil_generator.spec.grammar.keys import OF_OTHERS, rows
from restencil_generator.spec.grammar.read import known_keys
from restencil_generator.spec.grammar.type_words import (
    ABBREVIATED,
    LIST_FORMS,
    POSITIONS,
    SCALAR_WORDS,
    form_section,
    form_word,
)
from restencil_generator.spec.grammar.value_reader import Subject
from restencil_generator.spec.names import is_identifier
from restencil_generator.spec.source.nodes import MappingNode, Node, ScalarNode, SequenceNode, described
from restencil_generator.spec.type_info import type_info

_FOREIGN: Final = (
    (re.compile(r"(?:list|array|sequence|set)[\[<](.+)[\]>]", re.IGNORECASE), "[{}]"),
    (re.compile(r"(.+)\[\]"), "[{}]"),
    (re.compile(r"(?:optional|maybe)[\[<](.+)[\]>]", re.IGNORECASE), "{}?"),
    (re.compile(r"(.+?) ?\| ?(?:none|null)", re.IGNORECASE), "{}?"),
    (re.compile(r"(?:dict|map|mapping|record)[\[<].+?, ?(.+)[\]>]", re.IGNORECASE), "{{values: {}}}"),
)
"""The syntax of types in other languages, and the equivalent here."""

_DESCRIBING: Final = frozenset(key for position in POSITIONS for key in rows(position))
"""The keys that describe a field: they belong next to its type, not in it."""


class Types(Nested):
    """Reader of types."""

    def type(self, node: Node, context: Context) -> d.Type | None:
        """Read a type."""
        if isinstance(node, ScalarNode):
            return self._word(node, context)
        if isinstance(node, SequenceNode):
            return self._list(node, context)
        assert isinstance(node, MappingNode)
        return self._form(node, context)

    # ----------------------------------------------------------------------------------------------------------- words

    def _word(self, node: ScalarNode, context: Context) -> d.Type | None:
        text = node.value
        if not isinstance(text, str):
            hint = "write 'any' for any JSON" if node.text else "write a type such as 'string'"
            if not node.text and context.position == "schema":
                hint = "write 'schema: Post', an entity, or declare one: {entity: Post, fields: {id: integer}}"
            self.report("wrong-type", f"expected a type for {context.what}, not {described(node)}", node, hint)
            return None
        optional = text.endswith("?")
        name = text[:-1] if optional else text
        type = self._named(node, name, optional, context)
        return d.Optional(type) if optional and type is not None else type

    def _named(self, node: ScalarNode, name: str, optional: bool, context: Context) -> d.Type | None:
        position = POSITIONS[context.position]
        if name in SCALAR_WORDS or (name == "bytes" and position.files):
            return d.Scalar(cast("d.ScalarName", name))
        kind = self.kinds.get(name)
        if kind is None:
            self._unknown(node, name, optional, context)
            return None
        if kind not in position.named:
            self.not_here(node, f"the {kind} {quoted(name)}", context)
            return None
        if kind == "entity":
            return d.EntityRef(name) if self.concrete(name, node, context.what) else None
        return d.EnumRef(name) if kind == "enum" else d.ObjectRef(name)

    def _unknown(self, node: ScalarNode, name: str, optional: bool, context: Context) -> None:
        meant = ABBREVIATED.get(name.casefold())
        hint = "write a type such as 'string', or the name of an enum, object or entity"
        near: tuple[str, Collection[str]] | None = None
        if meant is not None:
            hint = f"write {meant}" if "…" in meant else f"did you mean {quoted(meant)}?"
        elif name == "bytes":
            hint = "bytes are a whole body, a field of a multipart body, or the 'content' of a response"
        elif name.endswith("?"):
            hint = "one '?' is enough"
        elif name.endswith("!"):
            hint = "'!' is only allowed after the type of a field of an entity or object, and not together with '?'"
        elif foreign := next(
            (form.format(found[1]) for kind, form in _FOREIGN if (found := kind.fullmatch(name))), None
        ):
            hint = f"write {foreign}"
        elif name.startswith(("[", "{")):
            hint = f"write {{type: {name[:40]}, optional: true}}" if optional else "write it without quotes"
        else:
            near = (name, self.type_names())
        self.report("unknown-type", f"unknown type {quoted(name)} for {context.what}", node, hint, near=near)

    def alternative(self, node: Node, context: Context) -> d.Type | None:
        """Read an alternative of `one_of`."""
        position = POSITIONS[context.position]
        if isinstance(node, MappingNode):
            word = "const" if "const" in node.entries else form_word(node)
            if word is not None and word not in position.alternatives:
                self.not_here(node.entries[word].key, f"the form {quoted(word)} in a 'one_of'", context)
                return None
            if word is None and position.bare:
                hint = "write {object: {…}} for an object, or {values: X} for a map with values of type X"
                message = f"the type of {context.what} cannot be a mapping of members"
                self.report("object-not-here", message, node, hint)
                return None
            return read_const(self, node, context) if word == "const" else self.type(node, context)
        type = self.type(node, context)
        if isinstance(type, d.Optional):
            message = f"'?' is not allowed after one of the types of {context.what}"
            hint = "make the union optional: {type: {one_of: […]}, optional: true}"
            self.report("type-not-here", message, node, hint)
            return type.item
        scalars = "object" in position.alternatives
        if not scalars and type is not None and not _is_scalar(type.item if isinstance(type, d.ListOf) else type):
            self.not_here(node, "what is neither a scalar nor a list of them", context)
            return None
        return type

    def not_here(self, at: Node, what: Subject | str, context: Context) -> None:
        """Report a type that is not allowed in its position."""
        shown = POSITIONS[context.position].shown
        self.report("type-not-here", f"{what} cannot be in {shown}: {context.what}", at)

    # -------------------------------------------------------------------------------------------------- lists, mappings

    def _list(self, node: SequenceNode, context: Context) -> d.ListOf | None:
        if not POSITIONS[context.position].lists:
            self.not_here(node, "a list", context)
            return None
        if len(node.items) != 1:
            self.report(
                "list-type",
                f"the list type [X] of {context.what} must have one type, not {len(node.items)}",
                node,
                (
                    "write the type of its items"
                    if len(node.items) == 0
                    else "write one type, or a union for items of several types"
                ),
            )
            return None
        item = self.type(node.items[0], context)
        if item is not None and POSITIONS[context.position].flat and type_info(item).shape not in ("scalar", "several"):
            self.not_here(node.items[0], "a list of lists", context)
            return None
        return d.ListOf(item) if item is not None else None

    def _form(self, node: MappingNode, context: Context) -> d.Type | None:
        position = POSITIONS[context.position]
        word = form_word(node)
        if word is None and self.is_pointer(node, context.what):
            return None
        if word is None:
            return self._bare_object(node, context)
        place = form_section(word)
        known = rows(place)
        stray = [entry.key for key, entry in node if key not in known]
        for key in stray:
            hint = self.key_hint(place, key.text)
            if word in LIST_FORMS:
                hint = f"write {{type: {{{word}: […]}}, {key.text[:30]}: …}}" if key.text in _DESCRIBING else hint
            elif not hint and position.bare and word != "entity":
                hint = f"for an object with these members write {{object: {{{word}: …, {key.text[:30]}: …}}}}"
            message = f"unknown key {quoted(key.text)} in the form '{word}' of {context.what}"
            self.report("unknown-key", message, key, hint or known_keys(place))
        if stray:
            return None
        if word not in position.forms:
            self.not_here(node.entries[word].key, f"the form '{word}'", context)
            return None
        return read_form(self, word, node, context)

    def is_pointer(self, node: Node, what: Subject | str) -> bool:
        """Return whether a mapping is a reference as in JSON Schema, which is reported."""
        pointer = node.entries.get("$ref") if isinstance(node, MappingNode) else None
        if pointer is None:
            return False
        target = pointer.value.text.rpartition("/")[2] if isinstance(pointer.value, ScalarNode) else ""
        hint = f"write {quoted(target)}, the name, instead" if is_identifier(target) else OF_OTHERS["$ref"]
        self.report("unknown-key", f"'$ref' is not part of the spec language: {what}", pointer.key, hint)
        return True

    def _bare_object(self, node: MappingNode, context: Context) -> d.ObjectType | None:
        if POSITIONS[context.position].bare:
            return object_type(self, node, context)
        hint = "write {object: {…}} for an object, or {values: X} for a map with values of type X"
        if not node.entries:
            hint = "write {values: any} for any object"
        elif any(isinstance(node.get(key), SequenceNode) for key in LIST_FORMS):
            hint = "an enum has two or more values; for one value write {type: …}, or {const: …} in a field"
        self.report("object-not-here", f"the type of {context.what} cannot be a mapping of members", node, hint)
        return None

    def entity_or_union(self, node: Node, context: Context) -> d.EntityRef | d.UnionOf | None:
        """Read an entity: by name, declared inline, or one of a union."""
        if isinstance(node, MappingNode):
            type = self.type(node, context)
            if isinstance(type, d.EntityRef | d.UnionOf) or type is None:
                return type
            self.report("not-an-entity", f"{context.what} needs an entity or a union of entities here", node)
            return None
        name = self.entity_name(node, context.what)
        return d.EntityRef(name) if name is not None and self.concrete(name, node, context.what) else None


def _is_scalar(type: d.Type) -> bool:
    return type_info(type).shape == "scalar"
