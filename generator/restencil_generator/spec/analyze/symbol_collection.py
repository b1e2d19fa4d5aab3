"""The names of a spec, noted before anything is read: what each stands for, and what it is written as."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from restencil_generator.diagnostics.model import quoted
from restencil_generator.spec.analyze.symbols import Declared, EntitySource, Kind
from restencil_generator.spec.grammar.keys import RESERVED, form_place, form_word, rows
from restencil_generator.spec.grammar.read import ParsedSection
from restencil_generator.spec.grammar.value_kinds import Alternatives, Items, Members, OneEntity, Source, Table, Type
from restencil_generator.spec.source.nodes import Entry, MappingNode, Node, ScalarNode, SequenceNode


def table(given: ParsedSection, key: str) -> Iterator[tuple[str, Entry]]:
    """The entries of a top-level table, sorted by name."""
    mapping = given.node(key)
    if isinstance(mapping, MappingNode):
        for name in sorted(mapping.entries):
            yield name, mapping.entries[name]


def collect(declared: Declared, given: ParsedSection) -> dict[str, tuple[ScalarNode, MappingNode]]:
    """Notes what every name stands for, those of entities declared in place included; gives the resources."""
    for key, row in rows("spec").items():
        if isinstance(row.kind, Table) and (node := given.node(key)) is not None:
            declared.mapping(node, quoted(key))
    for key, kind in (("enums", "enum"), ("objects", "object"), ("entities", "entity")):
        for name, entry in table(given, key):
            _declare(declared, name, entry, cast("Kind", kind))
    for _, entry in table(given, "entities"):
        if isinstance(entry.value, MappingNode):
            _scan_fields(declared, entry.value.get("fields"), None)
    for name, entry in table(given, "objects"):
        declared.raw_objects[name] = entry.value
        _scan_fields(declared, entry.value, None)
    resources: dict[str, tuple[ScalarNode, MappingNode]] = {}
    for name, entry in table(given, "resources"):
        mapping = declared.mapping(entry.value, f"resource {quoted(name)}")
        if mapping is not None:
            resources[name] = (entry.key, mapping)
            _scan_resource(declared, mapping, name)
    for _, mapping in resources.values():
        _note_parameters(declared, mapping)
    return resources


def _declare(declared: Declared, name: str, entry: Entry, kind: Kind) -> None:
    if not _type_name(declared, entry.key, kind):
        return
    declared.claim(name, kind, f"the {kind} {quoted(name)}", entry.key.place)
    if name in declared.kinds:
        return
    declared.kinds[name] = kind
    if kind == "entity":
        mapping = declared.mapping(entry.value, f"entity {quoted(name)}")
        source = EntitySource(entry.key, mapping or _empty(entry.value), None, broken=mapping is None)
        declared.sources[name] = source


def _empty(node: Node) -> MappingNode:
    """Stands for a mapping that is none, so that what refers to it is still known."""
    return MappingNode(node.file, node.line, node.column)


def _type_name(declared: Declared, key: ScalarNode, kind: Kind) -> bool:
    if key.text in RESERVED:
        message = f"{quoted(key.text)} is a word of the spec language and names no {kind}"
        declared.report("reserved-name", message, key)
        return False
    return declared.name(key, f"{kind} {quoted(key.text)}", keyword=False)


# ------------------------------------------------------------------------------------------------- entities in place


def _scan_resource(declared: Declared, resource: MappingNode, name: str) -> None:
    _scan_type(declared, resource.get("schema"), name)
    endpoints = resource.get("endpoints")
    if isinstance(endpoints, MappingNode):
        for _, endpoint in endpoints:
            if isinstance(endpoint.value, MappingNode):
                _scan_type(declared, endpoint.value.get("schema"), name)


def _scan_fields(declared: Declared, node: Node | None, resource: str | None) -> None:
    if isinstance(node, MappingNode):
        for _, entry in node:
            field = entry.value
            if isinstance(field, MappingNode) and "type" in field.entries:
                field = field.entries["type"].value
            _scan_type(declared, field, resource)


def _scan_type(declared: Declared, node: Node | None, resource: str | None) -> None:
    """Finds the entities that a type declares in place."""
    if isinstance(node, SequenceNode):
        for item in node.items:
            _scan_type(declared, item, resource)
    if not isinstance(node, MappingNode):
        return
    if "entity" in node.entries:
        _entity_in_place(declared, node, resource)
        return
    word = form_word(node)
    kind = rows(form_place(word))[word].kind if word is not None else Members()
    inner = node.get(word) if word is not None else node
    if isinstance(kind, Members):
        _scan_members(declared, inner, resource)
    elif isinstance(kind, Type | Items | OneEntity | Source | Alternatives):  # a type stands in it
        _scan_type(declared, inner, resource)


def _scan_members(declared: Declared, node: Node | None, resource: str | None) -> None:
    if isinstance(node, MappingNode):
        for _, entry in node:
            _scan_type(declared, entry.value, resource)


def _entity_in_place(declared: Declared, node: MappingNode, resource: str | None) -> None:
    name = node.entries["entity"].value
    if declared.text(name, "'entity', the name of an entity declared in place,", empty=False) is None:
        return
    assert isinstance(name, ScalarNode)
    if _type_name(declared, name, "entity"):
        declared.claim(name.text, "entity", f"the entity {quoted(name.text)}", name.place)
        if name.text not in declared.kinds:
            declared.kinds[name.text] = "entity"
            declared.sources[name.text] = EntitySource(name, node, resource, in_place=True)
    _scan_fields(declared, node.get("fields"), resource)


def _note_parameters(declared: Declared, resource: MappingNode) -> None:
    path, schema = resource.get("path"), resource.get("schema")
    names = declared.path_names(path)
    entity = schema.get("entity") if isinstance(schema, MappingNode) else schema
    choices = schema.get("union") if isinstance(schema, MappingNode) else None
    nodes = [entry.value for _, entry in choices] if isinstance(choices, MappingNode) else [entity]
    for node in nodes:
        if names and isinstance(node, ScalarNode):
            declared.path_parameters.setdefault(node.text, set()).update(names)
