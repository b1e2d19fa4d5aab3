"""Types and fields of a spec: from their tree to the declaration."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from restencil_generator import declaration as d
from restencil_generator.names import FORM_WORDS, SCALAR_WORDS, Use, pascal_case, python_name, wire_name
from restencil_generator.problems import Place, Problem, Related, did_you_mean, quoted, visible
from restencil_generator.reading import Reader
from restencil_generator.tree import Entry, MappingNode, Node, ScalarNode, SequenceNode, described, is_null
from restencil_generator.values import misfits, same, shown

if TYPE_CHECKING:
    from restencil_generator.declaration import Json, WireNames

Kind: TypeAlias = Literal["enum", "object", "entity"]
Position: TypeAlias = Literal[
    "entity field", "object field", "schema", "returns", "body field", "form field", "file field", "parameter", "search"
]

ENTITY_KEYS: Final = (
    "fields",
    "pk",
    "key",
    "extends",
    "abstract",
    "indexes",
    "validate",
    "description",
    "deprecated",
)

FORM_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "values": ("values",),
    "object": ("object",),
    "union": ("union", "attribute"),
    "collection": ("collection", "nest", "non_filter_arguments"),
    "all": ("all", "attribute"),
    "invalidate": ("invalidate",),
    "query": ("query", "process", "returns"),
    "entity": ("entity", *ENTITY_KEYS),
}
"""What each form may hold, by its word."""

FIELD_KEYS: Final = (
    "type",
    "const",
    "default",
    "wire",
    "optional",
    "description",
    "deprecated",
    "read_only",
    "decode",
    "encode",
)
"""The keys of a field of an entity or object."""

ARGUMENT_KEYS: Final = ("type", "const", "default", "wire", "optional", "description", "deprecated")
"""The keys of a field of a body or a search parameter."""

PARAMETER_KEYS: Final = ("type", "const", "description", "deprecated")
"""The keys of a path parameter: the path says its name and whether it is optional."""

_PARAMETER: Final = re.compile(r"(?<!\\):([A-Za-z0-9_]+)")

CONST_EXCLUDES: Final = ("type", "default", "optional", "decode", "encode")

_SLIPS: Final = {
    "str": "string",
    "text": "string",
    "int": "integer",
    "long": "integer",
    "float": "number",
    "double": "number",
    "bool": "boolean",
    "timestamp": "datetime",
    "dict": "{values: …}",
    "map": "{values: …}",
    "mapping": "{values: …}",
    "list": "[…]",
    "array": "[…]",
    "json": "any",
    "object": "{object: {…}}",
}

_FOREIGN: Final = (
    (re.compile(r"(?:list|array|sequence|set)[\[<](.+)[\]>]", re.IGNORECASE), "[{}]"),
    (re.compile(r"(.+)\[\]"), "[{}]"),
    (re.compile(r"(?:optional|maybe)[\[<](.+)[\]>]", re.IGNORECASE), "{}?"),
    (re.compile(r"(.+?) ?\| ?(?:none|null)", re.IGNORECASE), "{}?"),
    (re.compile(r"(?:dict|map|mapping|record)[\[<].+?, ?(.+)[\]>]", re.IGNORECASE), "{{values: {}}}"),
)
"""How other languages write types, and what they are called here."""

FORMS_IN: Final[Mapping[Position, frozenset[str]]] = {
    "entity field": frozenset(("values", "object", "union", "collection", "entity")),
    "object field": frozenset(("values", "object", "union", "entity")),
    "schema": frozenset(FORM_WORDS),
    "returns": frozenset(("values", "object", "union")),
    "body field": frozenset(("values", "object", "union")),
    "form field": frozenset(),
    "file field": frozenset(),
    "parameter": frozenset(),
    "search": frozenset(("values", "object")),
}
"""The forms that may stand in each place."""

_NAMED_IN: Final[Mapping[Position, frozenset[Kind]]] = {
    "form field": frozenset(("enum",)),
    "file field": frozenset(("enum",)),
    "parameter": frozenset(("enum",)),
    "search": frozenset(("enum", "object")),
}
KEYS_IN: Final[Mapping[Position, tuple[str, ...]]] = {
    "entity field": FIELD_KEYS,
    "object field": FIELD_KEYS,
    "schema": (),
    "returns": (),
    "body field": ARGUMENT_KEYS,
    "form field": ARGUMENT_KEYS,
    "file field": ARGUMENT_KEYS,
    "parameter": PARAMETER_KEYS,
    "search": ARGUMENT_KEYS,
}
"""The keys of a mapping that describes a field, by where it stands; a schema has members, which are types."""
_SHOWN: Final[Mapping[Position, str]] = {
    "entity field": "a field of an entity",
    "object field": "a field of an object",
    "schema": "a schema",
    "returns": "'returns'",
    "body field": "a body",
    "form field": "a form",
    "file field": "a multipart body",
    "parameter": "a path parameter",
    "search": "a search parameter",
}

_DEFAULTS: Final[Mapping[str, Json]] = {
    "string": "",
    "integer": 0,
    "number": 0.0,
    "boolean": False,
    "datetime": "1970-01-01T00:00:00Z",
    "date": "1970-01-01",
    "time": "00:00:00",
    "decimal": "0",
    "uuid": "00000000-0000-0000-0000-000000000000",
    "any": None,
    "bytes": "",
}


@dataclasses.dataclass(slots=True)
class EntitySource:
    """An entity as the spec writes it: its name's node, its mapping, and the resource that declares it in place.

    `broken` says that it is no mapping or has no fields, so that nothing more can be said about its fields.
    """

    key: ScalarNode
    node: MappingNode
    resource: str | None
    in_place: bool = False
    broken: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Claim:
    """A name that the generated package needs, for what, and what to do where it is taken."""

    name: str
    kind: str
    what: str
    place: Place
    hint: str


@dataclasses.dataclass(frozen=True, slots=True)
class Context:
    """Where a type stands: `what` for messages (`field 'a' of entity 'B'`), the name that a TypedDict there gets, and
    the entity whose field it is."""

    what: str
    position: Position
    type_name: str
    owner: str = ""


class Types(Reader):
    """Reads types and fields, and knows what the names of a spec stand for.

    `kinds` tells what every declared name is and `sources` how the entities are written, before anything is read. The
    tables fill up as their turn comes; what needs them whole waits in `later`.
    """

    def __init__(self, problems: list[Problem], wire: WireNames) -> None:
        super().__init__(problems)
        self.wire: WireNames = wire
        self.kinds: dict[str, Kind] = {}
        self.sources: dict[str, EntitySource] = {}
        self.enums: dict[str, d.Enum] = {}
        self.objects: dict[str, d.Object] = {}
        self.entities: dict[str, d.Entity] = {}
        self.type_names: tuple[str, ...] = ()
        self.later: list[Callable[[], None]] = []
        self.claims: list[Claim] = []
        self.path_parameters: dict[str, set[str]] = {}  # by entity: the parameters of its resources' paths

    def claim(self, name: str, kind: str, what: str, place: Place, hint: str = "") -> None:
        """Takes a name in the namespace of the generated package."""
        self.claims.append(Claim(name, kind, what, place, hint))

    @staticmethod
    def path_names(node: Node) -> frozenset[str]:
        """The names of the parameters of a path as it is written, right or wrong."""
        return frozenset(_PARAMETER.findall(node.text)) if isinstance(node, ScalarNode) else frozenset()

    # ----------------------------------------------------------------------------------------------------------- types

    def type(self, node: Node, context: Context) -> d.Type | None:
        """The type that a node writes."""
        if isinstance(node, ScalarNode):
            return self._word(node, context)
        if isinstance(node, SequenceNode):
            return self._list(node, context)
        assert isinstance(node, MappingNode)
        return self._form(node, context)

    def _word(self, node: ScalarNode, context: Context) -> d.Type | None:
        text = node.value
        if not isinstance(text, str):
            hint = "write 'any' for any JSON" if node.text else "write a type such as 'string'"
            self.report("wrong-type", f"a type is expected for {context.what}, this is {described(node)}", node, hint)
            return None
        optional = text.endswith("?")
        name = text[:-1] if optional else text
        type: d.Type
        if name in SCALAR_WORDS:
            type = d.Scalar(name)  # type: ignore[arg-type]
        elif name == "bytes" and context.position == "file field":
            type = d.Scalar("bytes")
        else:
            kind = self.kinds.get(name)
            if kind is None:
                self._unknown_type(node, name, optional, context)
                return None
            if kind not in _NAMED_IN.get(context.position, _ALL_KINDS):
                self._not_here(node, f"the {kind} {quoted(name)}", context)
                return None
            if kind == "entity":
                if not self._concrete(name, node, context.what):
                    return None
                type = d.EntityRef(name)
            else:
                type = d.EnumRef(name) if kind == "enum" else d.ObjectRef(name)
        return d.Optional(type) if optional else type

    def _unknown_type(self, node: ScalarNode, name: str, optional: bool, context: Context) -> None:
        slip = _SLIPS.get(name.casefold())
        hint = "write a type such as 'string', or the name of an enum, object or entity"
        near: tuple[str, Collection[str]] | None = None
        if slip is not None:
            hint = f"write {slip}" if "…" in slip else f"did you mean {quoted(slip)}?"
        elif name == "bytes":
            hint = "bytes are a whole body, a field of a multipart body, or the 'content' of a response"
        elif name.endswith("?"):
            hint = "one '?' is enough"
        elif foreign := next(
            (form.format(found[1]) for kind, form in _FOREIGN if (found := kind.fullmatch(name))), None
        ):
            hint = f"write {foreign}"
        elif name.startswith(("[", "{")):
            hint = f"write {{type: {name[:40]}, optional: true}}" if optional else "write it without quotes"
        else:
            near = (name, self._type_names())
        self.report("unknown-type", f"unknown type {quoted(name)} for {context.what}", node, hint, near=near)

    def _type_names(self) -> Collection[str]:
        """All that a type can be called."""
        if not self.type_names:
            self.type_names = (*SCALAR_WORDS, *self.kinds)
        return self.type_names

    def _not_here(self, at: Node, what: str, context: Context) -> None:
        self.report("type-not-here", f"{what} cannot stand in {_SHOWN[context.position]}: {context.what}", at)

    def _concrete(self, name: str, node: Node, what: str) -> bool:
        """Whether an entity can have instances; an abstract one is reported."""
        abstract = self.sources[name].node.get("abstract")
        if isinstance(abstract, ScalarNode) and abstract.value is True:
            self.report(
                "abstract-entity",
                f"entity {quoted(name)} is abstract and cannot be the type of {what}",
                node,
                "name an entity that extends it, or a union of them",
                (Related(self.sources[name].key.place, "declared here"),),
            )
            return False
        return True

    def _list(self, node: SequenceNode, context: Context) -> d.ListOf | None:
        if context.position == "parameter":
            self._not_here(node, "a list", context)
            return None
        if len(node.items) != 1:
            self.report(
                "list-type",
                f"a list is written with the type of its items, [X]; this has {len(node.items)} for {context.what}",
                node,
                "give one type" if len(node.items) == 0 else "give one; items of several entities make a union",
            )
            return None
        item = self.type(node.items[0], context)
        return d.ListOf(item) if item is not None else None

    def _form(self, node: MappingNode, context: Context) -> d.Type | None:
        words = [key for key in node.entries if key in FORM_WORDS]
        if not words:
            return self._plain_object(node, context)
        word = words[0]
        stray = [entry.key for key, entry in node if key not in FORM_KEYS[word]]
        if stray:
            for key in stray:
                hint = did_you_mean(key.text, FORM_KEYS[word])
                if not hint and context.position == "schema" and word != "entity":
                    hint = f"for an object with these members write {{object: {{{word}: …, {key.text[:30]}: …}}}}"
                hint = hint or f"known here: {', '.join(FORM_KEYS[word])}"
                message = f"unknown key {quoted(key.text)} in the form '{word}' of {context.what}"
                self.report("unknown-key", message, key, hint)
            return None
        if word not in FORMS_IN[context.position]:
            self._not_here(node.entries[word].key, f"the form '{word}'", context)
            return None
        match word:
            case "values":
                item = self.type(node.entries[word].value, context)
                return d.ValuesOf(item) if item is not None else None
            case "object":
                return self._object(node.entries[word].value, context)
            case "union":
                return self._union(node, node.entries[word], context)
            case "collection":
                return self._collection(node, node.entries[word].value, context)
            case "all":
                return self._all(node, node.entries[word], context)
            case "invalidate":
                of = self._entity_or_union(node.entries[word].value, context)
                return d.InvalidateOf(of) if of is not None else None
            case "query":
                return self._query(node, node.entries[word].value, context)
            case _:
                name = node.entries["entity"].value
                return d.EntityRef(name.text) if isinstance(name, ScalarNode) and name.text in self.sources else None

    def _plain_object(self, node: MappingNode, context: Context) -> d.ObjectType | None:
        if context.position == "schema":
            return self._object(node, context)
        hint = "write {object: {…}} for an object with members"
        if not node.entries:
            hint = "write {values: any} for any object"
        self.report("object-not-here", f"a mapping without a form's word is no type of {context.what}", node, hint)
        return None

    def _object(self, node: Node, context: Context) -> d.ObjectType | None:
        mapping = self.mapping(node, f"the object of {context.what}")
        if mapping is None:
            return None
        members: list[d.Field] = []
        for name, entry in mapping:
            what = f"member {quoted(name)} of {context.what}"
            usable = self.name(entry.key, what)
            inner = dataclasses.replace(
                context, what=what, type_name=context.type_name + pascal_case(name) if usable else context.type_name
            )
            type = self.type(entry.value, inner)
            if usable and type is not None:
                python = python_name(name, "member")
                members.append(d.Field(name, python, wire_name(name, self.wire), type, place=entry.key.place))
        self.distinct(members, context.what)
        self.claim(
            context.type_name, "typed_dict", f"the type of {context.what}", mapping.place, "rename the other one"
        )
        return d.ObjectType(tuple(members), context.type_name)

    def _union(self, node: MappingNode, entry: Entry, context: Context) -> d.UnionOf | None:
        attribute = node.get("attribute")
        mapping = self.mapping(
            entry.value, f"the union of {context.what}", "write {union: {value: Entity}, attribute: field}"
        )
        if attribute is None:
            self.report(
                "missing-key",
                f"the union of {context.what} needs 'attribute', which tells its entities apart",
                entry.key,
                "add 'attribute: …', a field or a python: function",
            )
        if mapping is None or attribute is None:
            return None
        return self._choices(mapping, attribute, context)

    def _choices(self, mapping: MappingNode, attribute: Node, context: Context) -> d.UnionOf | None:
        what = f"the union of {context.what}"
        if not mapping.entries:
            self.report("wrong-type", f"{what} needs at least one entity", mapping)
            return None
        names = [(entry, self.entity_name(entry.value, what)) for _, entry in mapping]
        found = [(entry, name) for entry, name in names if name is not None and self._concrete(name, entry.value, what)]
        if isinstance(attribute, ScalarNode) and str(attribute.value).startswith("python:"):
            reference = self.reference(attribute, f"the attribute of {what}")
            if reference is None or len(found) < len(names):
                return None
            return d.UnionOf(tuple(d.Choice(_literal(entry.key), name) for entry, name in found), reference)
        field = self.text(attribute, f"the attribute of {what}", empty=False)
        if field is None or len(found) < len(names):
            return None
        nodes = [self.raw_field(name, field) for _, name in found]
        if all(written is None for written in nodes):
            known = sorted({known for _, name in found for known in self.raw_fields(name)})
            self.report(
                "union-attribute",
                f"no entity of {what} has the field {quoted(field)}, which is to tell them apart",
                attribute,
                did_you_mean(field, known) or "declare it, or name a python: function",
            )
            return None
        choices: list[d.Choice] = []
        for (entry, name), written in zip(found, nodes, strict=True):
            value = _choice_value(entry.key, written or next(node for node in nodes if node is not None))
            fixed = _const(written)
            if fixed is not None and not same(fixed, value):
                assert written is not None
                self.report(
                    "union-value",
                    f"entity {quoted(name)} stands for {shown(value)} here, but its field {quoted(field)} is fixed to "
                    f"{shown(fixed)}",
                    entry.key,
                    f"write {shown(fixed)}",
                    (Related(written.place, "fixed here"),),
                )
            choices.append(d.Choice(value, name))
        return d.UnionOf(tuple(choices), field, self._raw_wire(field, nodes))

    def _raw_wire(self, field: str, nodes: Iterable[Node | None]) -> str:
        for node in nodes:
            if isinstance(node, MappingNode) and isinstance(written := node.get("wire"), ScalarNode):
                return written.text
        return wire_name(field, self.wire)

    def _all(self, node: MappingNode, entry: Entry, context: Context) -> d.AllOf | None:
        attribute = node.get("attribute")
        if isinstance(entry.value, MappingNode):
            union = self._union(node, entry, context)
            return d.AllOf(union) if union is not None else None
        if attribute is not None:
            message = f"'attribute' in the form 'all' of {context.what} needs a mapping from values to entities"
            self.report("unknown-key", message, node.entries["attribute"].key, "remove it")
        name = self.entity_name(entry.value, f"the form 'all' of {context.what}")
        if name is None or not self._concrete(name, entry.value, context.what):
            return None
        return d.AllOf(d.EntityRef(name))

    def _entity_or_union(self, node: Node, context: Context) -> d.EntityRef | d.UnionOf | None:
        if isinstance(node, MappingNode):
            type = self.type(node, context)
            if isinstance(type, d.EntityRef | d.UnionOf) or type is None:
                return type
            self.report("not-an-entity", f"{context.what} needs an entity or a union of entities here", node)
            return None
        name = self.entity_name(node, context.what)
        return d.EntityRef(name) if name is not None and self._concrete(name, node, context.what) else None

    def _collection(self, node: MappingNode, of: Node, context: Context) -> d.CollectionOf | None:
        what = f"the collection of {context.what}"
        type = self.type(of, context)
        nest = self._nest(node, type, context)
        arguments = [wire_name(name, self.wire) for name, _ in self.non_filter_arguments(node, what)]
        if type is None:
            return None
        if not isinstance(type, d.ListOf | d.ValuesOf) or not isinstance(type.item, d.EntityRef | d.UnionOf):
            self.report(
                "collection-items",
                f"{what} holds entities: it is written {{collection: [Entity]}} or {{collection: {{values: Entity}}}}",
                of,
            )
            return None
        return d.CollectionOf(type, nest, tuple(arguments))

    def _nest(self, node: MappingNode, type: d.Type | None, context: Context) -> tuple[d.Nest, ...]:
        entry = node.entries.get("nest")
        if entry is None:
            return ()
        what = f"'nest' of {context.what}"
        if context.position != "entity field":
            self.report("key-not-here", f"{what} has a meaning only in a field of an entity", entry.key, "remove it")
            return ()
        mapping = self.mapping(entry.value, what, "write {argument: field}")
        if mapping is None:
            return ()
        in_paths = {name for entity in _entities(type) for name in self.path_parameters.get(entity, ())}
        pairs: list[d.Nest] = []
        for argument, inner in mapping:
            if not self.name(inner.key, f"an argument of {what}"):
                continue
            field = self.text(inner.value, f"the field for {quoted(argument)} of {what}", empty=False)
            if field is None:
                continue
            if self.raw_field(context.owner, field) is None:
                self.unknown_field(field, inner.value, what, context.owner)
            else:
                pairs.append(d.Nest(argument if argument in in_paths else wire_name(argument, self.wire), field))
        return tuple(pairs)

    def non_filter_arguments(self, node: MappingNode, what: str) -> list[tuple[str, Node]]:
        """The argument names of a collection's `non_filter_arguments`, each with its node."""
        written = node.get("non_filter_arguments")
        return [] if written is None else self.texts(written, f"'non_filter_arguments' of {what}")

    def _query(self, node: MappingNode, of: Node, context: Context) -> d.QueryOf | None:
        what = f"the query of {context.what}"
        type = self.type(of, dataclasses.replace(context, what=what))
        process = node.get("process")
        returns = node.get("returns")
        reference = None
        if process is None:
            self.report("missing-key", f"{what} needs 'process'", node.entries["query"].key, "add 'process: python:…'")
        else:
            reference = self.reference(process, f"'process' of {what}")
        value = None
        if returns is not None:
            inner = Context(f"'returns' of {what}", "returns", context.type_name)
            value = self.type(returns, inner)
        if type is not None and not isinstance(type, d.CollectionOf | d.AllOf):
            self.report("query-of", f"{what} is computed from a collection or from all entities of a type", of)
            return None
        return d.QueryOf(type, reference, value) if type is not None and reference is not None else None

    # ---------------------------------------------------------------------------------------------- names of entities

    def entity_name(self, node: Node, what: str) -> str | None:
        """The name of an entity; anything else is reported."""
        name = self.text(node, f"an entity of {what}", empty=False)
        if name is None:
            return None
        kind = self.kinds.get(name)
        if kind == "entity":
            return name
        if kind is None:
            message = f"{what} names the entity {quoted(name)}, which does not exist"
            self.report("unknown-entity", message, node, "declare it under 'entities'", near=(name, self.sources))
        else:
            self.report("not-an-entity", f"{what} needs an entity, but {quoted(name)} is an {kind}", node)
        return None

    def lineage(self, name: str) -> Iterator[EntitySource]:
        """An entity and those that it extends, as they are written, nearest first; ends where a circle closes."""
        seen: set[str] = set()
        while name in self.sources and name not in seen:
            seen.add(name)
            source = self.sources[name]
            yield source
            base = source.node.get("extends")
            name = base.text if isinstance(base, ScalarNode) else ""

    def raw_field(self, entity: str, field: str) -> Node | None:
        """How the spec writes a field of an entity, inherited ones included."""
        for source in self.lineage(entity):
            fields = source.node.get("fields")
            if isinstance(fields, MappingNode) and (found := fields.get(field)) is not None:
                return found
        return None

    def raw_fields(self, entity: str) -> list[str]:
        """The names of an entity's fields, inherited ones included."""
        names: list[str] = []
        for source in self.lineage(entity):
            fields = source.node.get("fields")
            if isinstance(fields, MappingNode):
                names.extend(fields.entries)
        return names

    def unknown_field(self, field: str, node: Node, what: str, entity: str) -> None:
        """Notes a name that is no field of an entity."""
        known = self.raw_fields(entity)
        hint = did_you_mean(field, known) or (f"its fields: {', '.join(known[:12])}" if known else "")
        self.report(
            "unknown-field", f"{what} names {quoted(field)}, which is no field of entity {quoted(entity)}", node, hint
        )

    # ---------------------------------------------------------------------------------------------------------- fields

    def fields(
        self, mapping: MappingNode, owner: str, position: Position, type_name: str, use: Use, entity: str = ""
    ) -> tuple[d.Field, ...]:
        """The fields that a mapping writes, without those that are wrong."""
        found: list[d.Field] = []
        for name, entry in mapping:
            what = f"{'parameter' if position in ('parameter', 'search') else 'field'} {quoted(name)} of {owner}"
            usable = self.name(entry.key, what)
            context = Context(what, position, type_name + pascal_case(name) if usable else type_name, entity)
            field = self._field(name, entry, context, use)
            if usable and field is not None:
                found.append(field)
        self.distinct(found, owner)
        return tuple(found)

    def _field(self, name: str, entry: Entry, context: Context, use: Use) -> d.Field | None:
        node = entry.value
        wire = name if context.position == "parameter" else wire_name(name, self.wire)
        python = python_name(name, use)
        if not isinstance(node, MappingNode) or not _is_field_mapping(node):
            type = self.type(node, context)
            if type is None:
                return None
            default = self._default(type, None, context)
            return d.Field(name, python, wire, type, default, place=entry.key.place)
        return self._field_mapping(node, d.Field(name, python, wire, d.Scalar("any"), place=entry.key.place), context)

    def _field_mapping(self, node: MappingNode, base: d.Field, context: Context) -> d.Field | None:
        what = context.what
        given = self._field_keys(node, context)
        type: d.Type | None = None
        if "const" in given:
            type = self._const_type(given, what)
        elif "type" in given:
            type = self.type(given["type"].value, context)
        else:
            self.report("missing-key", f"{what} needs 'type'", node, "add 'type: …'")
        wire, description, deprecated = base.wire, "", None
        if (entry := given.get("wire")) is not None:
            wire = self.text(entry.value, f"'wire' of {what}", empty=False) or wire
        if (entry := given.get("description")) is not None:
            description = self.text(entry.value, f"the description of {what}") or ""
        if (entry := given.get("deprecated")) is not None:
            deprecated = self.deprecated(entry.value, f"'deprecated' of {what}")
        read_only = False
        if (entry := given.get("read_only")) is not None:
            read_only = self.boolean(entry.value, f"'read_only' of {what}") or False
        decode = self._hook(given, "decode", what)
        encode = self._hook(given, "encode", what)
        optional = False
        if (entry := given.get("optional")) is not None and "const" not in given:
            optional = self.boolean(entry.value, f"'optional' of {what}") or False
        if type is None:
            return None
        default = given.get("default") if "const" not in given else None
        if default is not None and is_null(default.value) and isinstance(type, d.EntityRef | d.UnionOf):
            optional = True
        if optional and not isinstance(type, d.Optional):
            type = d.Optional(type)
        return dataclasses.replace(
            base,
            wire=wire,
            type=type,
            default=self._default(type, default, context),
            written_default=default is not None,
            read_only=read_only,
            description=description,
            deprecated=deprecated,
            decode=decode,
            encode=encode,
        )

    def _field_keys(self, node: MappingNode, context: Context) -> dict[str, Entry]:
        allowed = KEYS_IN[context.position]
        given: dict[str, Entry] = {}
        for key, entry in node:
            if key in allowed:
                given[key] = entry
            elif key in FIELD_KEYS:
                message = f"'{key}' has no meaning for {_SHOWN[context.position]}: {context.what}"
                hint = (
                    "write ':name?' in the path"
                    if (context.position, key) == ("parameter", "optional")
                    else "remove it"
                )
                self.report("key-not-here", message, entry.key, hint)
            else:
                self.unknown_key(entry.key, context.what, allowed)
        return given

    def _const_type(self, given: Mapping[str, Entry], what: str) -> d.Const | None:
        for key in CONST_EXCLUDES:
            if key in given:
                message = f"{what} is fixed by 'const', so it takes no {quoted(key)}"
                self.report("const-alone", message, given[key].key, "remove it")
        node = given["const"].value
        value = node.value if isinstance(node, ScalarNode) else None
        if isinstance(value, str | int):
            return d.Const(value)
        self.wrong(f"'const' of {what}", "a text, a whole number, true or false", node)
        return None

    def _hook(self, given: Mapping[str, Entry], key: str, what: str) -> d.Reference | None:
        entry = given.get(key)
        return self.reference(entry.value, f"'{key}' of {what}") if entry is not None else None

    def distinct(self, fields: Iterable[d.Field], owner: str) -> None:
        """Reports fields that have one name after renaming, in Python or in JSON."""
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

    # -------------------------------------------------------------------------------------------------------- defaults

    def _default(self, type: d.Type, written: Entry | None, context: Context) -> Json | d.Missing:
        if written is None:
            return self.default_of(type) if context.position in ("entity field", "object field") else d.MISSING
        node = written.value
        places: dict[tuple[str | int, ...], Place] = {}
        before = len(self.problems)
        value = self.json(node, places)
        if len(self.problems) == before:
            self.later.append(lambda: self._check_default(type, value, places, context.what))
        return value

    def _check_default(
        self, type: d.Type, value: Json, places: Mapping[tuple[str | int, ...], Place], what: str
    ) -> None:
        for misfit in misfits(self, type, value, "default"):
            at = f" at {'.'.join(map(str, misfit.where))}" if misfit.where else ""
            place = misfit.place_in(places, places[()])
            self.report("bad-default", f"the default of {what} does not fit{at}: {misfit.message}", place, misfit.hint)

    def default_of(self, type: d.Type) -> Json | d.Missing:
        """The default that follows from a type; MISSING for entities, unions and object schemas."""
        match type:
            case d.Scalar(name):
                return _DEFAULTS[name]
            case d.Const(value):
                return value
            case d.Optional():
                return None
            case d.EnumRef(name):
                members = self.enums[name].members if name in self.enums else ()
                return members[0].value if members else None
            case d.ListOf():
                return []
            case d.ValuesOf() | d.ObjectRef():
                return {}
            case d.CollectionOf(of):
                return self.default_of(of)
            case _:
                return d.MISSING


def circle_text(circle: Sequence[str]) -> str:
    """What the first of a circle extends, for a message: itself, and how; the middle of a long way is left out."""
    if len(circle) == 1:
        return "itself"
    names = [*circle, circle[0]]
    shown_names = names if len(names) <= 8 else [*names[:6], "…", names[-1]]
    return f"itself: {' → '.join(visible(name[:60]) for name in shown_names)}"


_ALL_KINDS: Final[frozenset[Kind]] = frozenset(("enum", "object", "entity"))


def _is_field_mapping(node: MappingNode) -> bool:
    """Whether a mapping in a field's place describes the field; else it is the field's type."""
    entries = node.entries
    if "type" in entries or "const" in entries:
        return True
    return not any(word in entries for word in FORM_WORDS) and any(key in entries for key in FIELD_KEYS)


def _entities(type: d.Type | None) -> tuple[str, ...]:
    if isinstance(type, d.ListOf | d.ValuesOf):
        return _entities(type.item)
    if isinstance(type, d.EntityRef):
        return (type.name,)
    return tuple(choice.entity for choice in type.choices) if isinstance(type, d.UnionOf) else ()


def _literal(key: ScalarNode) -> d.Literals:
    value = key.value
    return value if isinstance(value, str | int) else key.text


def _const(node: Node | None) -> d.Literals | None:
    written = node.get("const") if isinstance(node, MappingNode) else None
    value = written.value if isinstance(written, ScalarNode) else None
    return value if isinstance(value, str | int) else None


def _choice_value(key: ScalarNode, field: Node) -> d.Literals:
    """The value of a discriminator: its text, or a number or a flag where that is what the field holds.

    Keys are texts in JSON, so it is the field that decides, whether the key has quotes or not.
    """
    fixed = _const(field)
    if fixed is not None and not isinstance(fixed, str):
        text = key.text.lower() if isinstance(fixed, bool) else key.text
        plain = ScalarNode(key.file, key.line, key.column, key.end_line, key.end_column, text, True).value
        return plain if isinstance(plain, type(fixed)) else key.text
    written = field.get("type") if isinstance(field, MappingNode) else field
    if isinstance(written, ScalarNode) and written.text.rstrip("?") == "integer":
        value = ScalarNode(key.file, key.line, key.column, key.end_line, key.end_column, key.text, True).value
        return value if isinstance(value, int) else key.text
    return key.text
