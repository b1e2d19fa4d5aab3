"""Derived properties of a type (optional, container shape, Python class), computed in one place."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal, Protocol, TypeAlias

from restencil_generator.diagnostics.model import Place
from restencil_generator.spec import model as d
from restencil_generator.spec.grammar.type_words import SCALARS

Shape: TypeAlias = Literal["scalar", "list", "mapping", "object", "entity", "several"]


@dataclasses.dataclass(frozen=True, slots=True)
class TypeInfo:
    """The properties of a type that do not depend on a spec.

    * `bare`: the type without `?`; `optional`: whether it has `?`.
    * `shape`: the shape of a value. Forms that keep, remove or compute something have the shape of the value that a
      read returns; `several` is one of several scalars.
    * `item`: the type of the items of a list or mapping, else None.
    * `entities`: the names of the entities that a value may be: of an entity or a union.
    * `zero`: the default of the type, else `MISSING`; `zero_of` also knows that of an enum.
    * `one_text`: whether each value has a single string form, so that it can be a pk.
    * `in_path`: whether a path parameter has this type if a field with its name has it.
    * `converted`: whether a read returns something else than the JSON.
    * `python`: for a scalar, the module (None for built-in types) and the name of its Python type.
    """

    bare: d.Type
    optional: bool
    shape: Shape
    item: d.Type | None = None
    entities: tuple[str, ...] = ()
    zero: d.Json | d.Missing = d.MISSING
    one_text: bool = False
    in_path: bool = False
    converted: bool = False
    python: tuple[str | None, str] | None = None


def type_info(type: d.Type) -> TypeInfo:
    """Return the derived properties of a type."""
    match type:
        case d.Optional(item):
            return dataclasses.replace(type_info(item), optional=True, zero=None)
        case d.Scalar(name, format):
            found = _SCALAR_INFO[name]
            return found if format is None else dataclasses.replace(found, bare=type)
        case d.Const(value):
            return TypeInfo(type, False, "scalar", zero=value, one_text=True)
        case d.OneOf(alternatives):
            return _info_of_several(type, [type_info(one) for one in alternatives])
        case d.EntityRef() | d.UnionOf():
            return TypeInfo(type, False, "entity", entities=tuple(dict.fromkeys(d.entities_in(type))))
        case d.ListOf(item):
            return TypeInfo(type, False, "list", item, zero=[])
        case d.ValuesOf(item):
            return TypeInfo(type, False, "mapping", item, zero={})
        case d.CollectionOf(of) | d.PageOf(of) | d.InvalidateOf(of):
            return dataclasses.replace(type_info(of), bare=type)
        case d.AllOf(of):
            return TypeInfo(type, False, "list", of)
        case d.AdderOf(of, how):
            return dataclasses.replace(type_info(of.of if how == "assign" else of.of.item), bare=type)
        case d.QueryOf(_, _, returns):
            return dataclasses.replace(type_info(returns or d.Scalar("any")), bare=type, zero=d.MISSING)
        case _:
            return dataclasses.replace(_OTHERS[type.__class__], bare=type)


def _info_of_several(type: d.OneOf, found: list[TypeInfo]) -> TypeInfo:
    """Return the properties of a union: of one of several scalars, or of any type."""
    scalars = all(one.shape == "scalar" for one in found)
    return TypeInfo(
        type,
        False,
        "several",
        zero=found[0].zero,
        one_text=scalars,
        in_path=all(one.in_path for one in found),
        converted=any(one.converted or one.shape not in ("scalar", "mapping") for one in found),
    )


def absent_of(type: d.Type, enums: Mapping[str, d.Enum], absent: d.Absent | None) -> d.Json | d.Missing:
    """Return the default of a field of an entity or object that declares none; MISSING if reading it raises.

    `absent` is the setting of the spec; None: only types with an honest zero have a default.
    """
    if absent == "zero" or isinstance(type, d.Optional | d.Const):
        return zero_of(type, enums)
    if isinstance(type, d.OneOf):
        return absent_of(type.alternatives[0], enums, absent)
    if absent == "raise" or not _has_honest_zero(type):
        return d.MISSING
    return zero_of(type, enums)


def path_to(objects: Mapping[str, d.Object], fields: Iterable[d.Field], dotted: str) -> tuple[d.Field, ...]:
    """Return the fields along a dotted name, the named one last; empty if the name is unknown."""
    name, _, rest = dotted.partition(".")
    field = next((field for field in fields if field.name == name), None)
    if field is None:
        return ()
    if not rest:
        return (field,)
    inner = path_to(objects, fields_in(objects, field.type), rest)
    return (field, *inner) if inner else ()


class _Known(Protocol):
    """The declared objects and entities. A `Spec` is one."""

    @property
    def objects(self) -> Mapping[str, d.Object]: ...
    @property
    def entities(self) -> Mapping[str, d.Entity]: ...


def response_entities(known: _Known, endpoint: d.Endpoint) -> list[str]:
    """Return the names of all entities in the responses of an endpoint, including nested ones."""
    if endpoint.schema is None or isinstance(endpoint.schema, d.InvalidateOf):
        return []
    return list(records_within(known, [endpoint.schema])[1])


def records_within(known: _Known, types: Iterable[d.Type]) -> tuple[dict[str, None], dict[str, None]]:
    """Return the names of all objects and of all entities in some types, including nested ones."""
    objects: dict[str, None] = {}
    entities: dict[str, None] = {}
    pending = [*types]
    while pending:
        for part in d.walk(pending.pop()):
            if isinstance(part, d.ObjectRef) and part.name not in objects and part.name in known.objects:
                objects[part.name] = None
                pending += [field.type for field in known.objects[part.name].fields]
            names = d.entities_in(part) if isinstance(part, d.EntityRef | d.UnionOf) else ()
            for name in names:
                if name not in entities and name in known.entities:
                    entities[name] = None
                    pending += [field.type for field in known.entities[name].all_fields]
    return objects, entities


def fields_in(objects: Mapping[str, d.Object], type: d.Type) -> tuple[d.Field, ...]:
    """Return the fields of an object, nullable or not; empty for other types."""
    match type_info(type).bare:
        case d.ObjectRef(name):
            return objects[name].fields if name in objects else ()
        case d.ObjectType(members):
            return members
        case _:
            return ()


def record_fields(known: _Known, type: d.Type) -> tuple[d.Field, ...]:
    """Return the fields of an entity, of all entities of a union, or of an object; empty for other types."""
    if not isinstance(type, d.EntityRef | d.UnionOf):
        return fields_in(known.objects, type)
    entities = (known.entities[name] for name in d.entities_in(type) if name in known.entities)
    return tuple(field for entity in entities for field in entity.all_fields)


def python_path(objects: Mapping[str, d.Object], fields: Iterable[d.Field], dotted: str) -> str:
    """Convert a dotted name to Python names; unchanged if it is unknown."""
    return ".".join(field.python for field in path_to(objects, fields, dotted)) or dotted


def dotted_names(objects: Mapping[str, d.Object], fields: Iterable[d.Field], *, depth: int = 3) -> Iterator[str]:
    """Yield the names of fields, and dotted names of fields in objects up to a depth."""
    for field in fields:
        yield field.name
        for inner in dotted_names(objects, fields_in(objects, field.type), depth=depth - 1) if depth > 1 else ():
            yield f"{field.name}.{inner}"


def _has_honest_zero(type: d.Type) -> bool:
    if isinstance(type, d.Scalar):
        return SCALARS[type.name].honest
    return type_info(type).shape in ("list", "mapping")


def zero_of(type: d.Type, enums: Mapping[str, d.Enum]) -> d.Json | d.Missing:
    """Return the default of a type; MISSING for entities, unions and object schemas."""
    if isinstance(type, d.EnumRef):
        members = enums[type.name].members if type.name in enums else ()
        return members[0].value if members else None
    if isinstance(type, d.InlineEnum):
        return type.values[0]
    if isinstance(type, d.OneOf):
        return zero_of(type.alternatives[0], enums)
    return type_info(type).zero


def bare(type: d.Type) -> d.Type:
    """Return a type without its `?`."""
    return type.item if isinstance(type, d.Optional) else type


def first_entity(type: d.Type | None) -> d.EntityRef | d.UnionOf | None:
    """Return the first entity or union in a type; of several alternatives only the first is searched."""
    if type is None or isinstance(type, d.EntityRef | d.UnionOf):
        return type
    if isinstance(type, d.OneOf):
        first = type.alternatives[0]
        return first if isinstance(first, d.EntityRef) else None
    return next((found for part in type.children() if (found := first_entity(part))), None)


def holds_many(type: d.Type | None) -> bool:
    """Return whether a type contains many entities rather than one."""
    match type:
        case d.ListOf() | d.ValuesOf() | d.CollectionOf() | d.AllOf() | d.QueryOf() | d.PageOf():
            return first_entity(type) is not None
        case d.Optional(item):
            return holds_many(item)
        case d.ObjectType(members):
            return any(holds_many(member.type) for member in members)
        case _:
            return False


def holds_records(type: d.Type | None) -> bool:
    """Return whether a body of this type contains the fields of one record or of several."""
    records = d.EntityRef | d.UnionOf | d.ObjectRef | d.ObjectType
    return type is not None and any(isinstance(part, records) for part in d.walk(type))


_ANY: Final = d.Scalar("any")
_SCALAR_INFO: Final[Mapping[d.ScalarName, TypeInfo]] = {
    name: TypeInfo(
        d.Scalar(name),
        False,
        "scalar",
        zero=scalar.zero,
        one_text=True,
        in_path=scalar.in_path,
        converted=scalar.converted,
        python=scalar.python,
    )
    for name, scalar in SCALARS.items()
}
_OTHERS: Final[Mapping[type[d.Type], TypeInfo]] = {
    d.InlineEnum: TypeInfo(_ANY, False, "scalar", one_text=True, in_path=True),
    d.EnumRef: TypeInfo(_ANY, False, "scalar", one_text=True, in_path=True),
    d.ObjectRef: TypeInfo(_ANY, False, "object", zero={}),
    d.ObjectType: TypeInfo(_ANY, False, "object"),
    d.AnyOf: TypeInfo(_ANY, False, "several", one_text=True),
}


def types_of(spec: d.Spec) -> Iterator[tuple[d.Type, Place, tuple[str, ...]]]:
    """Yield every type that is declared anywhere, with its place, and the names of the parts that contain it."""
    for field in (*_arguments(spec), *(variable for server in spec.servers for variable in server.variables)):
        yield field.type, field.place, ("client", field.wire)
    for name, declared in spec.objects.items():
        for field in declared.fields:
            yield field.type, field.place, ("object", name, field.wire)
    for name, entity in spec.entities.items():
        for field in entity.fields:
            yield field.type, field.place, ("entity", name, field.wire)
        if entity.extends is not None:
            yield d.EntityRef(entity.extends), entity.place, ("entity", name)
    for name, resource in spec.resources.items():
        parts: list[tuple[str, d.Resource | d.Endpoint]] = [("", resource), *resource.all_endpoints()]
        for member, part in parts:
            for type, where in _types_of_part(part):
                if type is not None:
                    yield type, part.place, ("resource", name, member, *where)


def names_in(type: d.Type) -> Iterator[tuple[Literal["enum", "object", "entity"], str]]:
    """Yield the declared types in a type, by kind and name."""
    for part in d.walk(type):
        if isinstance(part, d.EnumRef):
            yield "enum", part.name
        elif isinstance(part, d.ObjectRef):
            yield "object", part.name
    for name in d.entities_in(type):
        yield "entity", name


def _types_of_part(part: d.Resource | d.Endpoint) -> Iterator[tuple[d.Type | None, tuple[str, ...]]]:
    yield from ((field.type, ("argument", field.wire)) for field in (*part.params, *_arguments(part)))
    yield part.schema, ("schema",)
    yield None if part.body is None else part.body.type, ("body",)
    yield part.returns if isinstance(part, d.Endpoint) else None, ("returns",)
    yield from ((d.ObjectRef(name), ("error", status)) for status, shape in part.errors.items() for name in shape)


def _arguments(part: d.Spec | d.Resource | d.Endpoint) -> Iterator[d.Field]:
    yield from part.search_params
    yield from (param.field for param in part.header_params)
