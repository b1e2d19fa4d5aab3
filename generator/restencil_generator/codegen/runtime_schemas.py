"""Conversion of types to schemas of the runtime, with which it converts responses and bodies."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Final

from restencil_generator.codegen.annotations import annotation, scalar
from restencil_generator.codegen.imports import ENUMS, Scope
from restencil_generator.codegen.pyexpr import call, items, literal, pair, string, table
from restencil_generator.spec import model as d
from restencil_generator.spec.type_info import type_info

NOTHING: Final = d.Scalar("any")
"""The form of types that need no schema."""


def runtime_form(type: d.Type) -> d.Type:
    """Return the part of a type that matters at run time, `NOTHING` if none does; equal forms have equal schemas.

    Descriptions, defaults, `?` and values that stay JSON do not matter.
    """
    match type:
        case d.Scalar():
            return type if type_info(type).converted else NOTHING
        case d.Const() | d.InlineEnum() | d.EnumRef() | d.AnyOf():
            return NOTHING
        case d.OneOf(alternatives):
            return NOTHING if all(runtime_form(one) == NOTHING for one in alternatives) else type
        case d.Optional() | d.PageOf():
            return runtime_form(type.children()[0])
        case d.ListOf() | d.ValuesOf():
            return NOTHING if runtime_form(type.item) == NOTHING else type.map(runtime_form)
        case d.ObjectType(members, name):
            forms = (d.Field(one.python, one.python, one.wire, runtime_form(one.type)) for one in members)
            return d.ObjectType(tuple(forms), name)
        case d.CollectionOf():
            return type.map(lambda part: part.map(runtime_form))
        case d.QueryOf():
            return dataclasses.replace(type, returns=None).map(runtime_form)
        case _:
            return type.map(runtime_form)


def schema_of(type: d.Type, scope: Scope, entity: d.Entity | None = None) -> str | None:
    """Return the schema of a type, None if it needs none. `entity` is the entity with the field."""
    found = runtime_form(type)
    return None if found == NOTHING else _written(found, scope, entity)


def body_model(members: Iterable[d.Field], scope: Scope) -> str:
    """Return the schema that converts the names of body members to JSON names."""
    fields = list(members)
    schemas = table({string(field.python): schema_of(field.type, scope) or "None" for field in fields})
    return call(scope.schema("Object"), [schemas], _wire(fields))


def _wire(fields: Iterable[d.Field]) -> dict[str, str]:
    """Return the option `wire`: the JSON names of fields that have another name in Python."""
    pairs = {string(field.python): string(field.wire) for field in fields if field.python != field.wire}
    return {"wire": table(pairs)} if pairs else {}


def _written(type: d.Type, scope: Scope, entity: d.Entity | None) -> str:
    """Return the schema of a type in its runtime form."""
    match type:
        case d.Scalar(_, format):
            return call(scope.schema("codec"), [scalar(type, scope)], {"format": string(format)} if format else {})
        case d.ObjectRef(name):
            return scope.object_lazily(name)
        case d.EntityRef(name):
            return scope.lazily(name)
        case d.ListOf(of):
            return items([_inner(of, scope, entity)])
        case d.ValuesOf(of):
            return call(scope.schema("Values"), _values(of, scope, entity))
        case d.ObjectType(members):
            return _object(members, scope, entity)
        case d.UnionOf():
            return call(scope.schema("Union"), _choice(type, scope))
        case d.OneOf():
            return _one_of(type, scope)
        case d.CollectionOf():
            return _collection(type, scope, entity)
        case d.AdderOf(of, how):
            # Whether entities join the list as they change is a setting of the stored collection.
            return f"{_collection(dataclasses.replace(of, follow=False), scope, None)}.{how}"
        case _:
            return _derived(type, scope)


def _derived(type: d.Type, scope: Scope) -> str:
    match type:
        case d.AllOf(of):
            return call(scope.schema("All"), _choice(of, scope))
        case d.InvalidateOf(of):
            return call(scope.schema("Invalidate"), _choice(of, scope))
        case d.QueryOf(of, process):
            return call(scope.schema("Query"), [_inner(of, scope, None), scope.hook(process)])
        case _:
            raise TypeError(f"{type!r} has no schema")


def _one_of(type: d.OneOf, scope: Scope) -> str:
    arguments = [items(_alternative(one, scope) for one in type.alternatives)]
    if type.attribute:
        arguments.append(string(type.wire))
    if type.values:
        chosen = {literal(choice.value): _alternative(_named(choice.entity, scope), scope) for choice in type.values}
        arguments.append(table(chosen))
    return call(scope.schema("OneOf"), arguments)


def _named(name: str, scope: Scope) -> d.Type:
    return d.EntityRef(name) if name in scope.spec.entities else d.ObjectRef(name)


def _alternative(type: d.Type, scope: Scope) -> str:
    """Return an alternative for the runtime: a class, a constant, or a schema with nested types."""
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


def _object_alternative(members: tuple[d.Field, ...], scope: Scope) -> str:
    schemas = table({string(member.python): _inner(member.type, scope, None) for member in members})
    options = _wire(members)
    fixed = {string(one.python): literal(one.type.value) for one in members if isinstance(one.type, d.Const)}
    required = [string(one.python) for one in members if not isinstance(one.type, d.Optional | d.Const)]
    if required:
        options["required"] = items(required)
    if fixed:
        options["constants"] = table(fixed)
    return call(scope.schema("Object"), [schemas], options)


def _inner(type: d.Type, scope: Scope, entity: d.Entity | None) -> str:
    return schema_of(type, scope, entity) or "None"


def _values(item: d.Type, scope: Scope, entity: d.Entity | None) -> list[str]:
    if isinstance(item, d.UnionOf):
        return _choice(item, scope)
    inner = _inner(item, scope, entity)
    # A bare mapping would be a choice of schemas.
    return [call(scope.schema("Object"), [inner]) if inner.startswith("{") else inner]


def _choice(of: d.EntityRef | d.UnionOf, scope: Scope) -> list[str]:
    """Return the arguments of a container: an entity, or a mapping and the attribute that distinguishes entities."""
    if isinstance(of, d.EntityRef):
        return [scope.lazily(of.name)]
    choices = table({literal(choice.value): scope.lazily(choice.entity) for choice in of.choices})
    return [choices, scope.hook(of.attribute) if isinstance(of.attribute, d.Reference) else string(of.wire)]


def _object(members: tuple[d.Field, ...], scope: Scope, entity: d.Entity | None) -> str:
    schemas = table({string(member.python): _inner(member.type, scope, entity) for member in members})
    wire = _wire(members)
    return call(scope.schema("Object"), [schemas], wire) if wire else schemas


def non_filter_keys(type: d.CollectionOf) -> str | None:
    """Return the arguments of a collection that do not filter it; None for the default of the runtime."""
    keys = type.non_filter_arguments if type.non_filters is None else type.non_filters
    is_default = type.non_filters is None and not any(nest.argument.startswith("order") for nest in type.nest)
    return None if is_default and not keys else pair(map(string, keys))


def _collection(type: d.CollectionOf, scope: Scope, entity: d.Entity | None) -> str:
    options: dict[str, str] = {}
    if type.nest and entity is not None:
        fields = {nest.argument: entity.field(nest.field) for nest in type.nest}
        nested = {string(name): f"parent.get({string(field.wire)})" for name, field in fields.items() if field}
        options["nest_key"] = f"lambda parent, key: {table(nested)}"
    keys = non_filter_keys(type)
    if keys is not None:
        options["non_filter_argument_keys"] = keys
    if type.custom is None:
        if type.follow:
            options["follow"] = "True"
        if type.apart:
            options["apart"] = string(type.apart)
    name = scope.schema("Collection") if type.custom is None else scope.hand_written(type.custom)
    return call(name, [_inner(type.of, scope, None)], options)
