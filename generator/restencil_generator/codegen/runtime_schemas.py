"""Types of the spec as schemas of the runtime: what it looks for in a response or a body."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Final

from restencil_generator.codegen.annotations import annotation, scalar
from restencil_generator.codegen.imports import ENUMS, Scope
from restencil_generator.codegen.pyexpr import Call, Expression, Lambda, Table, items, literal, pair, string
from restencil_generator.spec import model as d
from restencil_generator.spec.type_info import facts

NOTHING: Final = d.Scalar("any")
"""The form in which there is nothing to look for."""


def runtime_form(type: d.Type) -> d.Type:
    """What of a type matters at run time, `NOTHING` where nothing does: types of one form have one schema.

    Descriptions and defaults go, whether something may be null, and what JSON holds as it is.
    """
    match type:
        case d.Scalar():
            return type if facts(type).converted else NOTHING
        case d.Optional(of) | d.PageOf(of):
            return runtime_form(of)
        case d.ListOf(of) | d.ValuesOf(of):
            inner = runtime_form(of)
            return NOTHING if inner == NOTHING else dataclasses.replace(type, item=inner)
        case d.ObjectType(members, name):
            forms = (
                d.Field(member.python, member.python, member.wire, runtime_form(member.type)) for member in members
            )
            return d.ObjectType(tuple(forms), name)
        case d.CollectionOf():
            return _collection_form(type)
        case d.AdderOf(of):
            return dataclasses.replace(type, of=_collection_form(of))
        case d.QueryOf(of):
            whole = of if isinstance(of, d.AllOf) else _collection_form(of)
            return dataclasses.replace(type, of=whole, returns=None)
        case d.Const() | d.InlineEnum() | d.EnumRef() | d.AnyOf():
            return NOTHING
        case d.OneOf(alternatives):
            plain = all(runtime_form(one) == NOTHING for one in alternatives)
            return NOTHING if plain else type
        case _:
            return type


def _collection_form(type: d.CollectionOf) -> d.CollectionOf:
    return dataclasses.replace(type, of=dataclasses.replace(type.of, item=runtime_form(type.of.item)))


def holds_schema(type: d.Type) -> bool:
    """Whether there is anything in a type for the runtime to look for."""
    return runtime_form(type) != NOTHING


def schema_of(type: d.Type, scope: Scope, entity: d.Entity | None = None) -> Expression | None:
    """The schema of a type, None where there is nothing to look for in it. `entity` is the one it is a field of."""
    found = runtime_form(type)
    return None if found == NOTHING else _written(found, scope, entity)


def body_model(members: Iterable[d.Field], scope: Scope) -> Call:
    """What names the members of a body in JSON."""
    fields = tuple(members)
    table = Table(tuple((string(field.python), schema_of(field.type, scope) or "None") for field in fields))
    return Call(scope.schema("Object"), (table,), _wire(fields))


def wire_table(fields: Iterable[d.Field]) -> Table | None:
    """The names in JSON of those fields that are called otherwise in Python; None where there is none."""
    pairs = tuple((string(field.python), string(field.wire)) for field in fields if field.python != field.wire)
    return Table(pairs) if pairs else None


def _wire(fields: Iterable[d.Field]) -> tuple[tuple[str, Expression], ...]:
    wire = wire_table(fields)
    return () if wire is None else (("wire", wire),)


def _written(type: d.Type, scope: Scope, entity: d.Entity | None) -> Expression:
    """The schema of a type in its form at run time."""
    match type:
        case d.Scalar(_, format):
            keywords = () if format is None else (("format", string(format)),)
            return Call(scope.schema("codec"), (scalar(type, scope),), keywords)
        case d.ObjectRef(name):
            return scope.object_lazily(name)
        case d.EntityRef(name):
            return scope.lazily(name)
        case d.ListOf(of):
            return items([_inner(of, scope, entity)])
        case d.ValuesOf(of):
            return Call(scope.schema("Values"), _values(of, scope, entity))
        case d.ObjectType(members):
            return _object(members, scope, entity)
        case d.UnionOf():
            return Call(scope.schema("Union"), _choice(type, scope))
        case d.OneOf():
            return _one_of(type, scope)
        case d.CollectionOf():
            return _collection(type, scope, entity)
        case d.AdderOf(of, how):
            # What is stored says whether it follows.
            return dataclasses.replace(_collection(dataclasses.replace(of, follow=False), scope, None), after=f".{how}")
        case _:
            return _derived(type, scope)


def _one_of(type: d.OneOf, scope: Scope) -> Call:
    arguments: list[Expression] = [items([_alternative(one, scope) for one in type.alternatives])]
    if type.attribute:
        arguments.append(string(type.wire))
    if type.values:
        table = tuple(
            (literal(choice.value), _alternative(_named(choice.entity, scope), scope)) for choice in type.values
        )
        arguments.append(Table(table))
    return Call(scope.schema("OneOf"), tuple(arguments))


def _named(name: str, scope: Scope) -> d.Type:
    return d.EntityRef(name) if name in scope.spec.entities else d.ObjectRef(name)


def _alternative(type: d.Type, scope: Scope) -> Expression:
    """One of several types as the runtime takes it: classes, constants, and schemas of what holds others."""
    match type:
        case d.Scalar(_, None):
            return scalar(type, scope)
        case d.Const() | d.InlineEnum():
            return annotation(type, scope)
        case d.EnumRef(name):
            return scope.sibling(ENUMS, name, real=True)
        case d.ObjectType(members):
            return _object_alternative(members, scope)
        case d.ListOf() | d.ValuesOf():
            found = schema_of(type, scope)
            return scope.builtin("list" if isinstance(type, d.ListOf) else "dict") if found is None else found
        case _:
            return _written(type, scope, None)


def _object_alternative(members: tuple[d.Field, ...], scope: Scope) -> Call:
    table = Table(tuple((string(member.python), _inner(member.type, scope, None)) for member in members))
    keywords = [*_wire(members)]
    fixed = tuple((string(one.python), literal(one.type.value)) for one in members if isinstance(one.type, d.Const))
    required = [one.python for one in members if not isinstance(one.type, d.Optional | d.Const)]
    if required:
        keywords.append(("required", items(list(map(string, required)))))
    if fixed:
        keywords.append(("constants", Table(fixed)))
    return Call(scope.schema("Object"), (table,), tuple(keywords))


def _derived(type: d.Type, scope: Scope) -> Call:
    match type:
        case d.AllOf(of):
            return Call(scope.schema("All"), _choice(of, scope))
        case d.InvalidateOf(of):
            return Call(scope.schema("Invalidate"), _choice(of, scope))
        case d.QueryOf(of, process):
            return Call(scope.schema("Query"), (_inner(of, scope, None), scope.hook(process)))
        case _:
            raise TypeError(f"{type!r} has no schema")


def _inner(type: d.Type, scope: Scope, entity: d.Entity | None) -> Expression:
    return schema_of(type, scope, entity) or "None"


def _values(item: d.Type, scope: Scope, entity: d.Entity | None) -> tuple[Expression, ...]:
    if isinstance(item, d.UnionOf):
        return _choice(item, scope)
    inner = _inner(item, scope, entity)
    # A bare mapping would be a choice of schemas.
    return (Call(scope.schema("Object"), (inner,)) if isinstance(inner, Table) else inner,)


def _choice(of: d.EntityRef | d.UnionOf, scope: Scope) -> tuple[Expression, ...]:
    """The arguments of a container: an entity, or a mapping with the attribute that tells them apart."""
    if isinstance(of, d.EntityRef):
        return (scope.lazily(of.name),)
    table = Table(tuple((literal(choice.value), scope.lazily(choice.entity)) for choice in of.choices))
    if isinstance(of.attribute, d.Reference):
        return table, scope.hook(of.attribute)
    return table, string(of.wire)


def _object(members: tuple[d.Field, ...], scope: Scope, entity: d.Entity | None) -> Expression:
    table = Table(tuple((string(member.python), _inner(member.type, scope, entity)) for member in members))
    wire = _wire(members)
    return Call(scope.schema("Object"), (table,), wire) if wire else table


def _collection(type: d.CollectionOf, scope: Scope, entity: d.Entity | None) -> Call:
    keywords: list[tuple[str, Expression]] = []
    if type.nest and entity is not None:
        fields = {nest.field: found for nest in type.nest if (found := entity.field(nest.field)) is not None}
        pairs = tuple(
            (string(nest.argument), f"parent.get({string(fields[nest.field].wire)})")
            for nest in type.nest
            if nest.field in fields
        )
        keywords.append(("nest_key", Lambda(Table(pairs), "parent, key")))
    if type.non_filter_arguments:
        keywords.append(("non_filter_argument_keys", pair(list(map(string, type.non_filter_arguments)))))
    if type.custom is None:
        if type.follow:
            keywords.append(("follow", "True"))
        if type.apart:
            keywords.append(("apart", string(type.apart)))
    name = scope.schema("Collection") if type.custom is None else scope.hand_written(type.custom)
    return Call(name, (_inner(type.of, scope, None),), tuple(keywords))
