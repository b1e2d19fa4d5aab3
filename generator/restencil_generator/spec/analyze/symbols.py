"""The symbol table of a spec: the kind of each declared name, collected before declarations are read."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias, cast

from restencil_generator.diagnostics.model import Place, Problem, Related, did_you_mean, quoted
from restencil_generator.spec import model as d
from restencil_generator.spec.grammar.keys import rows
from restencil_generator.spec.grammar.read import Reader
from restencil_generator.spec.grammar.type_words import RESERVED, SCALAR_WORDS, form_section, form_word
from restencil_generator.spec.grammar.value_kinds import Alternatives, Items, Members, OneEntity, Source, Table, Type
from restencil_generator.spec.grammar.value_reader import ParsedSection, Subject
from restencil_generator.spec.source.nodes import Entry, MappingNode, Node, ScalarNode, SequenceNode
from restencil_generator.spec.type_info import record_fields

if TYPE_CHECKING:
    from restencil_generator.spec.model import Absent, WireNames

Kind: TypeAlias = Literal["enum", "object", "entity"]

_PARAMETER: Final = re.compile(r"(?<!\\):([A-Za-z0-9_]+)")


@dataclasses.dataclass(slots=True)
class EntitySource:
    """An entity as declared: the node of its name, its mapping, and the resource that declares it inline.

    `broken` means that it is not a mapping or has no fields, so that rules about its fields are not checked.
    """

    key: ScalarNode
    node: MappingNode
    resource: str | None
    in_place: bool = False
    broken: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Claim:
    """A name that the generated package needs, its use, and the hint if it is taken."""

    name: str
    kind: str
    what: str
    place: Place
    hint: str


class Declarations(Protocol):
    """The declared types, and the style of JSON names."""

    @property
    def entities(self) -> Mapping[str, d.Entity]: ...
    @property
    def objects(self) -> Mapping[str, d.Object]: ...
    @property
    def wire(self) -> WireNames: ...


class SymbolTable(Reader):
    """Reader of references to declared names.

    `kinds` has the kind of every declared name and `sources` the declarations of entities, before anything is read. The
    other tables are filled in order; checks that need complete tables are in `later`.
    """

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__(problems)
        self.wire: WireNames = "as_is"
        self.absent: Absent | None = None
        self.kinds: dict[str, Kind] = {}
        self.sources: dict[str, EntitySource] = {}
        self.raw_objects: dict[str, Node] = {}
        self.enums: dict[str, d.Enum] = {}
        self.objects: dict[str, d.Object] = {}
        self.entities: dict[str, d.Entity] = {}
        self.schemes: tuple[str, ...] = ()
        self.later: list[Callable[[], None]] = []
        self.claims: list[Claim] = []
        self.path_parameters: dict[str, set[str]] = {}  # by entity: the parameters in the paths of its resources
        self._type_names: tuple[str, ...] = ()

    def claim(self, name: str, kind: str, what: str, place: Place, hint: str = "") -> None:
        """Reserve a name in the namespace of the generated package."""
        self.claims.append(Claim(name, kind, what, place, hint))

    def type_names(self) -> Collection[str]:
        """Return all names of types."""
        if not self._type_names:
            self._type_names = (*SCALAR_WORDS, *self.kinds)
        return self._type_names

    @staticmethod
    def path_names(node: Node | None) -> frozenset[str]:
        """Return the names of the parameters of a path, valid or not."""
        return frozenset(_PARAMETER.findall(node.text)) if isinstance(node, ScalarNode) else frozenset()

    # -------------------------------------------------------------------------------------------------------- entities

    def entity_name(self, node: Node, what: Subject | str) -> str | None:
        """Read the name of an entity; anything else is reported."""
        name = self.text(node, f"an entity of {what}", empty=False)
        if name is None:
            return None
        kind = self.kinds.get(name)
        if kind == "entity":
            return name
        if kind is None:
            message = f"the entity {quoted(name)} of {what} does not exist"
            self.report("unknown-entity", message, node, "declare it under 'entities'", near=(name, self.sources))
        else:
            self.report("not-an-entity", f"{what} needs an entity, but {quoted(name)} is an {kind}", node)
        return None

    def concrete(self, name: str, node: Node, what: Subject | str) -> bool:
        """Return whether an entity can have instances; an abstract one is reported."""
        abstract = self.sources[name].node.get("abstract")
        if isinstance(abstract, ScalarNode) and abstract.value is True:
            self.report(
                "abstract-entity",
                f"entity {quoted(name)} is abstract and cannot be the type of {what}",
                node,
                "use an entity that extends it, or a union of them",
                (Related(self.sources[name].key.place, "declared here"),),
            )
            return False
        return True

    def lineage(self, name: str) -> Iterator[EntitySource]:
        """Yield the declarations of an entity and its base entities, nearest first; stops at a cycle."""
        seen: set[str] = set()
        while name in self.sources and name not in seen:
            seen.add(name)
            source = self.sources[name]
            yield source
            base = source.node.get("extends")
            name = base.text if isinstance(base, ScalarNode) else ""

    def raw_field(self, entity: str, field: str) -> Node | None:
        """Return the declaration of a field of an entity, which may be inherited."""
        for source in self.lineage(entity):
            fields = source.node.get("fields")
            if isinstance(fields, MappingNode) and (found := fields.get(field)) is not None:
                return found
        return None

    def field_of(self, name: str, field: str) -> Node | None:
        """Return the declaration of a field of an entity or object."""
        if self.kinds.get(name) == "entity":
            return self.raw_field(name, field)
        fields = self.raw_objects.get(name)
        return fields.get(field) if isinstance(fields, MappingNode) else None

    def constants_of(self, type: d.Type) -> dict[str, d.Literals]:
        """Return the constants of an entity's or object's fields, by JSON name."""
        return {field.wire: field.type.value for field in record_fields(self, type) if isinstance(field.type, d.Const)}

    def raw_fields(self, entity: str) -> list[str]:
        """Return the names of an entity's fields, including inherited ones."""
        names: list[str] = []
        for source in self.lineage(entity):
            fields = source.node.get("fields")
            if isinstance(fields, MappingNode):
                names.extend(fields.entries)
        return names

    def unknown_field(self, field: str, node: Node, what: Subject | str, entity: str) -> None:
        """Report a name that is not a field of an entity."""
        known = self.raw_fields(entity)
        hint = did_you_mean(field, known) or (f"its fields: {', '.join(known[:12])}" if known else "")
        self.report("unknown-field", f"{quoted(field)} in {what} is not a field of entity {quoted(entity)}", node, hint)


# ----------------------------------------------------------------------------------------------------------- collecting


def table(given: ParsedSection, key: str) -> Iterator[tuple[str, Entry]]:
    """Yield the entries of a top-level table, sorted by name."""
    mapping = given.node(key)
    if isinstance(mapping, MappingNode):
        for name in sorted(mapping.entries):
            yield name, mapping.entries[name]


def collect(declared: SymbolTable, given: ParsedSection) -> dict[str, tuple[ScalarNode, MappingNode]]:
    """Record the kind of every declared name, including entities declared inline, and return the resources."""
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


def _declare(declared: SymbolTable, name: str, entry: Entry, kind: Kind) -> None:
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
    """Return an empty placeholder for an invalid declaration, so that references to it are still known."""
    return MappingNode(node.file, node.line, node.column)


def _type_name(declared: SymbolTable, key: ScalarNode, kind: Kind) -> bool:
    if key.text in RESERVED:
        message = f"{quoted(key.text)} is a word of the spec language, so it cannot be the name of an {kind}"
        declared.report("reserved-name", message, key, "choose another name")
        return False
    return declared.name(key, f"{kind} {quoted(key.text)}", keyword=False)


# ------------------------------------------------------------------------------------------------- entities in place


def _scan_resource(declared: SymbolTable, resource: MappingNode, name: str) -> None:
    _scan_type(declared, resource.get("schema"), name)
    endpoints = resource.get("endpoints")
    if isinstance(endpoints, MappingNode):
        for _, endpoint in endpoints:
            if isinstance(endpoint.value, MappingNode):
                _scan_type(declared, endpoint.value.get("schema"), name)


def _scan_fields(declared: SymbolTable, node: Node | None, resource: str | None) -> None:
    if isinstance(node, MappingNode):
        for _, entry in node:
            field = entry.value
            if isinstance(field, MappingNode) and "type" in field.entries:
                field = field.entries["type"].value
            _scan_type(declared, field, resource)


def _scan_type(declared: SymbolTable, node: Node | None, resource: str | None) -> None:
    """Find the entities that a type declares inline."""
    if isinstance(node, SequenceNode):
        for item in node.items:
            _scan_type(declared, item, resource)
    if not isinstance(node, MappingNode):
        return
    if "entity" in node.entries:
        _entity_in_place(declared, node, resource)
        return
    word = form_word(node)
    kind = rows(form_section(word))[word].kind if word is not None else Members()
    inner = node.get(word) if word is not None else node
    if isinstance(kind, Members):
        _scan_members(declared, inner, resource)
    elif isinstance(kind, Type | Items | OneEntity | Source | Alternatives):  # a type is in it
        _scan_type(declared, inner, resource)


def _scan_members(declared: SymbolTable, node: Node | None, resource: str | None) -> None:
    if isinstance(node, MappingNode):
        for _, entry in node:
            _scan_type(declared, entry.value, resource)


def _entity_in_place(declared: SymbolTable, node: MappingNode, resource: str | None) -> None:
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


def _note_parameters(declared: SymbolTable, resource: MappingNode) -> None:
    path, schema = resource.get("path"), resource.get("schema")
    names = declared.path_names(path)
    entity = schema.get("entity") if isinstance(schema, MappingNode) else schema
    choices = schema.get("union") if isinstance(schema, MappingNode) else None
    nodes = [entry.value for _, entry in choices] if isinstance(choices, MappingNode) else [entity]
    for node in nodes:
        if names and isinstance(node, ScalarNode):
            declared.path_parameters.setdefault(node.text, set()).update(names)
