"""The forms of types: one function for each word, which reads the mapping."""

from __future__ import annotations

import abc
import dataclasses
import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from restencil_generator.diagnostics.model import Related, did_you_mean, quoted
from restencil_generator.spec import model as d
from restencil_generator.spec.analyze.symbols import SymbolTable
from restencil_generator.spec.grammar.keys import rows
from restencil_generator.spec.grammar.type_words import POSITIONS, form_section, form_word
from restencil_generator.spec.grammar.value_reader import ParsedSection, Subject
from restencil_generator.spec.names import pascal_case, python_name, wire_name
from restencil_generator.spec.source.nodes import MappingNode, Node, ScalarNode, SequenceNode
from restencil_generator.spec.type_info import type_info
from restencil_generator.spec.validate_value import same, shown


@dataclasses.dataclass(frozen=True, slots=True)
class Context:
    """The context of a type, for messages and names.

    `what` is its name in messages (`field 'a' of entity 'B'`), `position` its position, `type_name` the name of a
    TypedDict in it, and `owner` the entity that has it as a field.
    """

    what: Subject
    position: str
    type_name: str
    owner: str = ""


class Nested(SymbolTable, abc.ABC):
    """The operations that a form needs for nested types."""

    @abc.abstractmethod
    def type(self, node: Node, context: Context) -> d.Type | None:
        """Read a type."""

    @abc.abstractmethod
    def alternative(self, node: Node, context: Context) -> d.Type | None:
        """Read an alternative of `one_of`."""

    @abc.abstractmethod
    def entity_or_union(self, node: Node, context: Context) -> d.EntityRef | d.UnionOf | None:
        """Read an entity: by name, declared inline, or one of a union."""

    def distinct(self, fields: Iterable[d.Field], owner: Subject) -> None:
        """Report fields that have the same Python or JSON name."""
        pythons: dict[str, d.Field] = {}
        wires: dict[str, d.Field] = {}
        for field in fields:
            for names, name, where in ((pythons, field.python, "Python"), (wires, field.wire, "JSON")):
                first = names.setdefault(name, field)
                if first is not field and first.name != field.name:
                    self.report(
                        "name-clash",
                        f"{quoted(field.name)} and {quoted(first.name)} of {owner} are both {quoted(name)} in {where}",
                        field.place,
                        "rename one of them" if where == "Python" else "give one of them another name with 'wire:'",
                        (Related(first.place, "the other one"),),
                    )
                    break


def read_form(types: Nested, word: str, node: MappingNode, context: Context) -> d.Type | None:
    """Read the type of a form that is allowed in its position, and report unknown keys."""
    place = form_section(word)
    for key, row in rows(place).items():
        if row.position not in ("", context.position) and key in node.entries:
            message = f"'{key}' of {context.what} is only allowed in {POSITIONS[row.position].shown}"
            types.report("key-not-here", message, node.entries[key].key, "remove it")
    return _READERS[word](types, node, context)


def object_type(types: Nested, node: Node, context: Context) -> d.ObjectType | None:
    """Read an object type from the mapping of its members."""
    mapping = types.mapping(node, f"the object of {context.what}")
    if mapping is None:
        return None
    members: list[d.Field] = []
    for name, entry in mapping:
        what = Subject(f"member {quoted(name)}", context.what)
        usable = types.name(entry.key, what)
        inner = dataclasses.replace(
            context, what=what, type_name=context.type_name + pascal_case(name) if usable else context.type_name
        )
        type = types.type(entry.value, inner)
        if usable and type is not None:
            python = python_name(name, "member")
            members.append(d.Field(name, python, wire_name(name, types.wire), type, place=entry.key.place))
    types.distinct(members, context.what)
    types.claim(context.type_name, "typed_dict", f"the type of {context.what}", mapping.place, "rename the other one")
    return d.ObjectType(tuple(members), context.type_name)


def _section(types: Nested, word: str, node: MappingNode, what: Subject) -> ParsedSection:
    return types.section(form_section(word), node, what, node.entries[word].key)


def _values(types: Nested, node: MappingNode, context: Context) -> d.ValuesOf | None:
    item = types.type(node.entries["values"].value, context)
    return d.ValuesOf(item) if item is not None else None


def _object(types: Nested, node: MappingNode, context: Context) -> d.ObjectType | None:
    given = _section(types, "object", node, Subject("the object", context.what))
    found = object_type(types, node.entries["object"].value, context)
    wires = _wires(types, given, found, context)
    optional = _members(types, given, found, context)
    if found is None:
        return None
    members = tuple(
        dataclasses.replace(
            member,
            wire=wires.get(member.name, member.wire),
            type=(
                d.Optional(member.type)
                if member.name in optional and not isinstance(member.type, d.Optional)
                else member.type
            ),
        )
        for member in found.members
    )
    if wires:
        types.distinct(members, context.what)
    return dataclasses.replace(found, members=members)


def _wires(types: Nested, given: ParsedSection, of: d.ObjectType | None, context: Context) -> dict[str, str]:
    """Return the JSON names under 'wire'."""
    node = given.node("wire")
    what = Subject("'wire' of the object", context.what)
    found: dict[str, str] = {}
    for name, entry in types.mapping(node, what, "write {member: name}") or ():
        text = types.text(entry.value, f"the name of {quoted(name)} in {what}", empty=False)
        if _is_member(types, name, entry.key, of, what) and text is not None:
            found[name] = text
    return found


def _members(types: Nested, given: ParsedSection, of: d.ObjectType | None, context: Context) -> set[str]:
    """Return the members under 'optional'."""
    what = Subject("'optional' of the object", context.what)
    return {name for name, node in given["optional"] or () if _is_member(types, name, node, of, what)}


def _is_member(types: Nested, name: str, node: Node, of: d.ObjectType | None, what: Subject) -> bool:
    if of is None:
        return False
    known = [member.name for member in of.members]
    if name not in known:
        hint = did_you_mean(name, known) or f"its members: {', '.join(known[:12])}"
        types.report("unknown-field", f"{quoted(name)} in {what} is not one of its members", node, hint)
    return name in known


def _invalidate(types: Nested, node: MappingNode, context: Context) -> d.InvalidateOf | None:
    of = types.entity_or_union(node.entries["invalidate"].value, context)
    return d.InvalidateOf(of) if of is not None else None


def _entity(types: Nested, node: MappingNode, context: Context) -> d.EntityRef | None:
    # The entity was read together with all others.
    name = node.entries["entity"].value
    return d.EntityRef(name.text) if isinstance(name, ScalarNode) and name.text in types.sources else None


def _all(types: Nested, node: MappingNode, context: Context) -> d.AllOf | None:
    of = node.entries["all"].value
    if isinstance(of, MappingNode):
        union = _union(types, node, context, "all")
        return d.AllOf(union) if union is not None else None
    what = Subject("the form 'all'", context.what)
    _section(types, "all", node, what)
    name = types.entity_name(of, what)
    if name is None or not types.concrete(name, of, context.what):
        return None
    return d.AllOf(d.EntityRef(name))


# ------------------------------------------------------------------------------------------------- collections, queries


def _collection(types: Nested, node: MappingNode, context: Context) -> d.CollectionOf | None:
    what = Subject("the collection", context.what)
    given = _section(types, "collection", node, what)
    of = node.entries["collection"].value
    type = types.type(of, context)
    nest = _nest(types, given, type, context)
    arguments = [wire_name(name, types.wire) for name, _ in given["non_filter_arguments"] or ()]
    if type is None:
        return None
    if not isinstance(type, d.ListOf | d.ValuesOf) or not isinstance(type.item, d.EntityRef | d.UnionOf):
        message = f"{what} must contain entities: write {{collection: [Entity]}} or {{collection: {{values: Entity}}}}"
        types.report("collection-items", message, of)
        return None
    return d.CollectionOf(type, nest, tuple(arguments), follow=given["follow"] is not False)


def _nest(types: Nested, given: ParsedSection, type: d.Type | None, context: Context) -> tuple[d.Nest, ...]:
    node = given.node("nest")
    if node is None or not context.owner:
        return ()
    what = Subject("'nest'", context.what)
    held = type_info(type).item if type is not None else None
    entities = type_info(held).entities if held is not None else ()
    in_paths = {name for entity in entities for name in types.path_parameters.get(entity, ())}
    pairs: list[d.Nest] = []
    for argument, inner in types.mapping(node, what, "write {argument: field}") or ():
        if not types.name(inner.key, f"an argument of {what}"):
            continue
        field = types.text(inner.value, f"the field for {quoted(argument)} of {what}", empty=False)
        if field is None:
            continue
        if types.raw_field(context.owner, field) is None:
            types.unknown_field(field, inner.value, what, context.owner)
        else:
            pairs.append(d.Nest(argument if argument in in_paths else wire_name(argument, types.wire), field))
    return tuple(pairs)


def _query(types: Nested, node: MappingNode, context: Context) -> d.QueryOf | None:
    what = Subject("the query", context.what)
    given = _section(types, "query", node, what)
    of, returns, process = node.entries["query"].value, given.node("returns"), given["process"]
    type = types.type(of, dataclasses.replace(context, what=what))
    value = None
    if returns is not None:
        value = types.type(returns, Context(Subject("'returns'", what), "returns", context.type_name))
    if type is not None and not isinstance(type, d.CollectionOf | d.AllOf):
        types.report("query-of", f"{what} must be computed from a collection or from all entities of a type", of)
        return None
    return d.QueryOf(type, process, value) if type is not None and process is not None else None


# --------------------------------------------------------------------------------------------------------------- unions


def _union(types: Nested, node: MappingNode, context: Context, word: str = "union") -> d.UnionOf | None:
    """Read a union from its choices and its attribute, in either of the two forms."""
    what = Subject("the union", context.what)
    given = _section(types, word, node, what)
    written = node.entries[word].value
    choices = types.mapping(written, what, "write {union: {value: Entity}, attribute: field}")
    attribute = given["attribute"]
    if choices is None:
        return None
    if not choices.entries:
        if "attribute" in given:
            types.report("wrong-type", f"{what} needs at least one entity", choices)
        return None
    names = [(entry, types.entity_name(entry.value, what)) for _, entry in choices]
    found = [(entry, name) for entry, name in names if name is not None and types.concrete(name, entry.value, what)]
    if attribute is None or len(found) < len(names):
        return None
    if isinstance(attribute, d.Reference):
        return d.UnionOf(tuple(d.Choice(_literal(entry.key), name) for entry, name in found), attribute)
    return _distinguished(types, [(entry.key, name) for entry, name in found], attribute, given, what)


def _distinguished(
    types: Nested, choices: list[tuple[ScalarNode, str]], field: str, given: ParsedSection, what: Subject
) -> d.UnionOf | None:
    """Return a union whose entities are distinguished by a field."""
    nodes = [types.raw_field(name, field) for _, name in choices]
    if all(written is None for written in nodes):
        known = sorted({known for _, name in choices for known in types.raw_fields(name)})
        types.report(
            "union-attribute",
            f"no entity of {what} has the field {quoted(field)}, which should distinguish them",
            given.entries["attribute"].value,
            did_you_mean(field, known) or "declare it, or use a function: python:package.module:name",
        )
        return None
    found: list[d.Choice] = []
    for (key, name), written in zip(choices, nodes, strict=True):
        value = _choice_value(key, written or next(node for node in nodes if node is not None))
        fixed = _const(written)
        if fixed is not None and not same(fixed, value):
            _wrong_value(types, key, name, field, value, fixed, written)
        found.append(d.Choice(value, name))
    return d.UnionOf(tuple(found), field, _raw_wire(types, field, nodes))


def _wrong_value(
    types: Nested, key: ScalarNode, name: str, field: str, value: d.Json, fixed: d.Json, written: Node | None
) -> None:
    """Report a value for an entity or object whose field is fixed to another value."""
    assert written is not None
    types.report(
        "union-value",
        f"{types.kinds[name]} {quoted(name)} represents {shown(value)} here, but its field {quoted(field)} has "
        f"the constant value {shown(fixed)}",
        key,
        f"write {shown(fixed)}",
        (Related(written.place, "declared here"),),
    )


# ---------------------------------------------------------------------------------------------- one of several types


def enum_value(types: SymbolTable, node: Node, what: Subject) -> str | int | None:
    """Read a value of an enum: a string or an integer."""
    value = node.value if isinstance(node, ScalarNode) else None
    if isinstance(value, str | int) and not isinstance(value, bool):
        return value
    hint = "put it in quotes" if isinstance(node, ScalarNode) and node.text else ""
    types.wrong(f"a value of {what}", "a string or an integer", node, hint)
    return None


def distinct_values(types: SymbolTable, values: Iterable[tuple[str | int, Node]], what: Subject) -> None:
    """Report duplicate values of an enum."""
    seen: dict[str | int, Node] = {}
    for value, node in values:
        first = seen.setdefault(value, node)
        if first is not node:
            message = f"{what} has the value {shown(value)} twice"
            types.report("given-twice", message, node, "keep one of them", [Related(first.place, "first given here")])


def _enum(types: Nested, node: MappingNode, context: Context) -> d.InlineEnum | None:
    what = Subject("the enum", context.what)
    listed = node.entries["enum"].value
    assert isinstance(listed, SequenceNode)
    read = [(enum_value(types, item, what), item) for item in listed.items]
    values = [(value, item) for value, item in read if value is not None]
    distinct_values(types, values, what)
    return d.InlineEnum(tuple(dict.fromkeys(value for value, _ in values))) if len(values) == len(read) else None


def read_const(types: Nested, node: MappingNode, context: Context) -> d.Const | None:
    """Read a constant as an alternative of `one_of`."""
    for key, entry in node:
        if key != "const":
            types.report("unknown-key", f"unknown key {quoted(key)} next to 'const' of {context.what}", entry.key)
    written = node.entries["const"].value
    value = written.value if isinstance(written, ScalarNode) else None
    if isinstance(value, str | int):
        return d.Const(value)
    types.wrong(f"'const' of {context.what}", "a string, an integer, true or false", written)
    return None


def _one_of(types: Nested, node: MappingNode, context: Context) -> d.Type | None:
    what = Subject("the union", context.what)
    given = _section(types, "one_of", node, what)
    listed = node.entries["one_of"].value
    assert isinstance(listed, SequenceNode)
    found: list[tuple[d.Type, Node]] = []
    objects = 0
    for item in listed.items:
        is_object = form_word(item) == "object"
        objects += is_object
        # The first nested object has the simple name.
        name = f"{context.type_name}{objects}" if is_object and objects > 1 else context.type_name
        type = types.alternative(item, dataclasses.replace(context, type_name=name))
        if type is None:
            continue
        first = next((other for known, other in found if known == type), None)
        if first is not None:
            message = f"{what} contains a type twice"
            types.report("given-twice", message, item, "keep one of them", [Related(first.place, "first given here")])
        found.append((type, item))
    names = [type.name for type, _ in found if isinstance(type, d.ObjectRef | d.EntityRef)]
    values = _one_of_values(types, given, names, what)
    if len(found) < len(listed.items):
        return None
    attribute: str = given["attribute"] or ""
    wire = ""
    if attribute:
        nodes = [types.field_of(name, attribute) for name in names]
        wire = _raw_wire(types, attribute, nodes)
    type = d.OneOf(tuple(type for type, _ in found), attribute, wire, values)
    types.later.append(lambda: _check_entities(types, type, context, node))
    return _without_keys(type)


def _without_keys(type: d.OneOf) -> d.Type:
    """Simplify one entity and its possible pk types to the entity: references are pks anyway."""
    entities = [one for one in type.alternatives if isinstance(one, d.EntityRef)]
    if len(entities) != 1:
        return type
    keys = (d.Scalar("string"), d.Scalar("integer"))
    others = tuple(one for one in type.alternatives if one not in keys)
    return others[0] if len(others) == 1 else dataclasses.replace(type, alternatives=others)


def _one_of_values(types: Nested, given: ParsedSection, names: list[str], what: Subject) -> tuple[d.Choice, ...]:
    """Return the alternatives for the values of the attribute."""
    node = given.node("values")
    found: list[d.Choice] = []
    for _, entry in types.mapping(node, f"'values' of {what}", "write {value: Name}") or ():
        name = types.text(entry.value, f"a value of 'values' of {what}", empty=False)
        if name is None or "attribute" not in given:
            continue
        if name not in names:
            hint = did_you_mean(name, names) or f"its objects and entities: {', '.join(names) or 'none'}"
            message = f"{quoted(name)} in 'values' of {what} is not one of its types"
            types.report("unknown-value", message, entry.value, hint)
            continue
        written = types.field_of(name, given["attribute"] or "")
        value = _choice_value(entry.key, written) if written is not None else _literal(entry.key)
        fixed = _const(written)
        if fixed is not None and not same(fixed, value):
            _wrong_value(types, entry.key, name, given["attribute"], value, fixed, written)
        found.append(d.Choice(value, name))
    return tuple(found)


def _check_entities(types: Nested, type: d.OneOf, context: Context, node: MappingNode) -> None:
    """Report entities that neither the attribute nor constants distinguish from each other or from objects."""
    alike = [(one, types.constants_of(one)) for one in type.alternatives if type_info(one).shape in _OBJECTS]
    if type.attribute or len(alike) < 2:
        return
    for (one, constants), (other, others) in itertools.combinations(alike, 2):
        entities = isinstance(one, d.EntityRef) + isinstance(other, d.EntityRef)
        if entities and not _differ(constants, others):
            which = f"{'the entities ' if entities == 2 else ''}{_shown(one)} and {_shown(other)} of {_short(context)}"
            hint = "add 'attribute', or a const field in each"
            types.report("union-attribute", f"{which} cannot be distinguished", node.entries["one_of"].value, hint)
            return


_OBJECTS: Final = ("entity", "object", "mapping")
"""The shapes that are objects in JSON."""


def _differ(one: Mapping[str, d.Literals], other: Mapping[str, d.Literals]) -> bool:
    return any(not same(value, other[wire]) for wire, value in one.items() if wire in other)


def _shown(type: d.Type) -> str:
    return type.name if isinstance(type, d.EntityRef | d.ObjectRef) else "another object"


def _short(context: Context) -> Subject:
    """Return the name of a type for messages, within the entity or object that declares it."""
    return context.what.without_root() if context.position in ("entity_field", "object_field") else context.what


def _raw_wire(types: Nested, field: str, nodes: Iterable[Node | None]) -> str:
    for node in nodes:
        if isinstance(node, MappingNode) and isinstance(written := node.get("wire"), ScalarNode):
            return written.text
    return wire_name(field, types.wire)


def _literal(key: ScalarNode) -> d.Literals:
    value = key.value
    return value if isinstance(value, str | int) else key.text


def _const(node: Node | None) -> d.Literals | None:
    written = node.get("const") if isinstance(node, MappingNode) else None
    value = written.value if isinstance(written, ScalarNode) else None
    return value if isinstance(value, str | int) else None


def _choice_value(key: ScalarNode, field: Node) -> d.Literals:
    """Return the value of a discriminator: a string, or a number or boolean if the field has that type.

    JSON keys are strings, so the type of the field decides, whether the key is quoted or not.
    """
    fixed = _const(field)
    if fixed is not None and not isinstance(fixed, str):
        text = key.text.lower() if isinstance(fixed, bool) else key.text
        plain = _plain(key, text)
        return plain if isinstance(plain, type(fixed)) else key.text
    written = field.get("type") if isinstance(field, MappingNode) else field
    if isinstance(written, ScalarNode) and written.text.removesuffix("?") == "integer":
        value = _plain(key, key.text)
        return value if isinstance(value, int) else key.text
    return key.text


def _plain(key: ScalarNode, text: str) -> Any:
    """Return the value of a string without quotes."""
    return ScalarNode(key.file, key.line, key.column, key.end_line, key.end_column, text, True).value


_READERS: Final[Mapping[str, Callable[[Any, MappingNode, Context], d.Type | None]]] = {
    "values": _values,
    "object": _object,
    "union": _union,
    "collection": _collection,
    "all": _all,
    "invalidate": _invalidate,
    "query": _query,
    "entity": _entity,
    "one_of": _one_of,
    "enum": _enum,
}
