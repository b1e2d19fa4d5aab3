"""Conversion of types to annotations, for results and for bodies.

An annotation is built as a list of alternatives, so that the members of a union, and whether it allows None, are known
without parsing it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from restencil_generator.codegen.imports import ENUMS, OBJECTS, Scope
from restencil_generator.codegen.pyexpr import literal
from restencil_generator.spec import model as d
from restencil_generator.spec.type_info import type_info

Alternatives: TypeAlias = "tuple[str, ...]"
"""The distinct members of a union; one for a type that is not a union."""


def annotation(type: d.Type, scope: Scope) -> str:
    """Return the annotation of a result."""
    return " | ".join(_read(type, scope))


def body_annotation(type: d.Type, scope: Scope, *, nested: bool = False, partial: bool = False) -> str:
    """Return the annotation of a body: TypedDicts for entities and objects; nested ones may also be instances.

    A `partial` body of an entity need not have the fields that other bodies require.
    """
    if partial and (names := [*d.entities_in(type)]) and isinstance(type, d.EntityRef | d.UnionOf):
        return " | ".join(dict.fromkeys(_partial(name, scope) for name in names))
    return " | ".join(_sent(type, scope, nested))


def _partial(name: str, scope: Scope) -> str:
    body = scope.spec.entities[name].partial_body_name
    return (
        scope.sibling(scope.entity_modules.entities[name], body) if body else body_annotation(d.EntityRef(name), scope)
    )


def field_annotation(field: d.Field, scope: Scope) -> str:
    """Return the annotation of a field in a body: the entity, or its key if the key is sent."""
    return " | ".join(_keyed(field.type, scope)) if field.sends_key else body_annotation(field.type, scope, nested=True)


def argument_annotation(field: d.Field, scope: Scope) -> str:
    """Return the annotation of a parameter: with a style, an object is annotated as in a body."""
    return annotation(field.type, scope) if field.style is None else body_annotation(field.type, scope, nested=True)


def scalar(type: d.Scalar, scope: Scope) -> str:
    """Return the Python class of a scalar."""
    known = type_info(type).python
    assert known is not None
    module, text = known
    return scope.builtin(text) if module is None else f"{scope.use(module)}.{text}"


def object_types(type: d.Type | None) -> list[d.ObjectType]:
    """Return the object types in a type, inner ones first, so that they can be declared in this order."""
    return [] if type is None else [part for part in d.walk(type, order="post") if isinstance(part, d.ObjectType)]


def _read(type: d.Type, scope: Scope) -> Alternatives:
    match type:
        case d.AnyOf(alternatives):
            return _either(_read(one, scope) for one in _one_literal(sorted(alternatives, key=_after_integer)))
        case d.OneOf(alternatives):
            return _either(_read(one, scope) for one in _one_literal(alternatives))
        case d.UnionOf(choices):
            return _either(_read(d.EntityRef(choice.entity), scope) for choice in choices)
        case _:
            return _composed(type, scope, lambda part: _read(part, scope)) or (_named(type, scope),)


def _composed(type: d.Type, scope: Scope, part: Callable[[d.Type], Alternatives]) -> Alternatives | None:
    """Return the annotation of a type with nested types, for which `part` is called; None for other types."""
    match type:
        case d.Optional(of) | d.InvalidateOf(of):
            return _or_none(part(of), scope)
        case d.ListOf(of) | d.AllOf(of):
            return (scope.list_of(" | ".join(part(of))),)
        case d.ValuesOf(of):
            return (scope.dict_of(" | ".join(part(of))),)
        case d.CollectionOf(of) | d.PageOf(of):
            return part(of)
        case d.QueryOf(_, _, returns):
            return part(returns or type.unwrap())
        case d.AdderOf():
            return part(type.unwrap())
        case _:
            return None


def _named(type: d.Type, scope: Scope) -> str:
    """Return the annotation of a type that is a single name."""
    match type:
        case d.Const(value):
            return f"{scope.typing('Literal')}[{literal(value)}]"
        case d.InlineEnum(values):
            return f"{scope.typing('Literal')}[{', '.join(map(str, map(literal, values)))}]"
        case d.EnumRef(name):
            return scope.sibling(ENUMS, name)
        case d.ObjectRef(name):
            return scope.sibling(OBJECTS, name)
        case d.EntityRef(name):
            return scope.sibling(scope.entity_modules.entities[name], name)
        case d.ObjectType(_, name):
            return scope.sibling(scope.module, name)
        case d.Scalar():
            return scalar(type, scope)
        case _:
            raise TypeError(f"{type!r} is no type of one name")


def _sent(type: d.Type, scope: Scope, nested: bool) -> Alternatives:
    match type:
        case d.EntityRef():
            return _sent_entity(type, scope, nested)
        case d.ObjectRef(name):
            body = scope.spec.objects[name].body_name
            found = (scope.sibling(OBJECTS, body),) if body else ()
            return (*found, *_read(type, scope)) if nested or not body else found
        case d.UnionOf(choices):
            return _either(_sent(d.EntityRef(choice.entity), scope, nested) for choice in choices)
        case d.OneOf(alternatives):
            return _either(_sent(one, scope, True) for one in _one_literal(alternatives))
        case d.Optional() | d.ListOf() | d.ValuesOf() | d.CollectionOf():
            return _composed(type, scope, lambda part: _sent(part, scope, True)) or ()
        case _:
            return _read(type, scope)


def _sent_entity(type: d.EntityRef, scope: Scope, nested: bool) -> Alternatives:
    home, body = scope.entity_modules.entities[type.name], scope.spec.entities[type.name].body_name
    if body and not nested:
        return (scope.sibling(home, body),)
    named = body is not None and type.name in scope.entity_modules.nested
    part = scope.sibling(home, body) if body and named else scope.dict_of(scope.typing("Any"))
    return part, *_keyed(type, scope)


def _keyed(type: d.Type, scope: Scope) -> Alternatives:
    """Return the annotation of an entity or its key, at any nesting."""
    match type:
        case d.EntityRef(name):
            return *_read(type, scope), *_key_types(scope.spec.entities[name], scope)
        case d.UnionOf(choices):
            return _either(_keyed(d.EntityRef(choice.entity), scope) for choice in choices)
        case d.Optional() | d.ListOf() | d.ValuesOf() | d.CollectionOf():
            return _composed(type, scope, lambda part: _keyed(part, scope)) or ()
        case _:
            return _read(type, scope)


def _key_types(entity: d.Entity, scope: Scope) -> Alternatives:
    """Return the annotation of the key of an entity; empty if the key has several fields."""
    key = entity.field(entity.pk[0]) if len(entity.pk) == 1 else None
    return () if key is None else tuple(part for part in _read(key.type, scope) if part != "None")


def _or_none(found: Alternatives, scope: Scope) -> Alternatives:
    return found if "None" in found or (len(found) == 1 and scope.is_any(found[0])) else (*found, "None")


def _either(found: Iterable[Alternatives]) -> Alternatives:
    return tuple(dict.fromkeys(part for alternatives in found for part in alternatives))


def _one_literal(alternatives: Iterable[d.Type]) -> Iterator[d.Type]:
    """Yield alternatives of a union, with all literals combined into one enum at the first one."""
    types = list(alternatives)
    # True equals 1, but is a different literal.
    values = {(value, value.__class__): value for type in types for value in _literals(type)}
    for type in types:
        if not _literals(type):
            yield type
        elif values:
            yield d.InlineEnum(tuple(values.values()))
            values = {}


def _literals(type: d.Type) -> tuple[d.Literals, ...]:
    match type:
        case d.Const(value):
            return (value,)
        case d.InlineEnum(values):
            return values
        case _:
            return ()


def _after_integer(type: d.Type) -> bool:
    return type != d.Scalar("integer")
