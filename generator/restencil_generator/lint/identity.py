"""Advice about which record a call means: keys at the end of paths, and bodies that cannot be a record's fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from restencil_generator.diagnostics.model import Place, Problem, quoted
from restencil_generator.spec import model as d
from restencil_generator.spec.type_info import facts, path_to

_ALL: Final = frozenset(("string", "number", "boolean", "array", "object"))
_NONE: Final = frozenset[str]()
_KINDS: Final[dict[str, frozenset[str]]] = {
    "string": frozenset(("string",)),
    "integer": frozenset(("number",)),
    "number": frozenset(("number",)),
    "boolean": frozenset(("boolean",)),
    "datetime": frozenset(("string", "number")),
    "decimal": frozenset(("string", "number")),
    "date": frozenset(("string",)),
    "time": frozenset(("string",)),
    "uuid": frozenset(("string",)),
}


def check_identity(spec: d.Spec, resource: d.Resource) -> Iterator[Problem]:
    """Advice about the endpoints of a resource."""
    told: set[object] = set()
    for name, endpoint in resource.all_endpoints():
        what = f"{quoted(name)} of resource {quoted(resource.name)}"
        if not resource.singleton and endpoint.params and endpoint.path.text not in told:
            for problem in _unnamed_key(spec, what, endpoint):
                told.add(endpoint.path.text)
                yield problem
        for place, problem in _foreign_members(spec, what, endpoint):
            if place not in told:
                told.add(place)
                yield problem


def names_key(spec: d.Spec, endpoint: d.Endpoint, entity: d.Entity) -> bool:
    """Whether the last parameter of a path is (a part of) the primary key of an entity, or said to be a field of it."""
    last = endpoint.params[-1]
    name = last.of or last.name
    from_path = {field.name for field in entity.all_fields if field.param == last.name}
    if name in entity.pk or not from_path.isdisjoint(entity.pk):
        return True
    return bool(last.of) and bool(path_to(spec.objects, entity.all_fields, last.of))


def _unnamed_key(spec: d.Spec, what: str, endpoint: d.Endpoint) -> Iterator[Problem]:
    """A path that ends with a parameter of which nobody knows what it is of the entity."""
    schema = facts(endpoint.schema).bare if endpoint.schema is not None else None
    if isinstance(schema, d.InvalidateOf):
        schema = schema.of
    if not isinstance(schema, d.EntityRef | d.UnionOf) or not isinstance(endpoint.path.parts[-1], d.PathParameter):
        return
    last = endpoint.params[-1]
    for entity in (spec.entities[name] for name in dict.fromkeys(d.entities_in(schema))):
        if entity.abstract or not entity.pk or names_key(spec, endpoint, entity):
            continue
        outer = next((param for param in endpoint.params[:-1] if (param.of or param.name) == entity.pk[-1]), None)
        before = f"; ':{outer.name}' before it is that of something else" if outer is not None else ""
        keys = " and ".join(map(quoted, entity.pk))
        field = last.name if entity.field(last.name) is not None else entity.pk[-1]
        yield Problem(
            "key-not-in-path",
            f"the path of {what} ends with ':{last.name}', which is not the primary key {keys} of entity "
            f"{quoted(entity.name)}{before}: the cache finds the entity by this URL alone",
            endpoint.place,
            f"write 'params: {{{last.name}: {{field: {field}}}}}' if it is the field {quoted(field)}",
            (),
            "warning",
        )
        return


def _foreign_members(spec: d.Spec, what: str, endpoint: d.Endpoint) -> Iterator[tuple[Place, Problem]]:
    """Members of a body that cannot be the fields that an optimistic update would show them as."""
    body, schema = endpoint.body, endpoint.schema
    if not endpoint.optimistic or not endpoint.has_body or body is None or schema is None:
        return
    if not isinstance(body.type, d.ObjectType) or body.kind != "json":
        return
    bare = facts(schema).bare
    if not isinstance(bare, d.EntityRef | d.UnionOf | d.AdderOf):
        return
    for entity in (spec.entities[name] for name in dict.fromkeys(d.entities_in(bare))):
        for member in body.type.members:
            alike = [field for field in entity.all_fields if field.wire == member.wire]
            field = next(iter(path_to(spec.objects, entity.all_fields, member.of)[-1:] if member.of else alike), None)
            if field is None or _may_be(spec, member.type, field.type):
                continue
            yield (
                member.place,
                Problem(
                    "body-member-misfit",
                    f"the body member {quoted(member.name)} of {what} has another type than the field "
                    f"{quoted(field.name)} of entity {quoted(entity.name)}: it does not show before the server "
                    "has answered",
                    member.place,
                    "correct the type of one of them, unless the server takes it like this",
                    (),
                    "warning",
                ),
            )


def _may_be(spec: d.Spec, given: d.Type, kept: d.Type) -> bool:
    """Whether JSON of one type may be JSON of another one."""
    one, other = facts(given), facts(kept)
    common = _kinds(spec, given) & _kinds(spec, kept)
    if common == frozenset(("array",)) and one.item is not None and other.item is not None:
        return _may_be(spec, one.item, other.item)
    return bool(common)


def _kinds(spec: d.Spec, type: d.Type) -> frozenset[str]:
    """The kinds of JSON that values of a type are, null aside."""
    bare = facts(type).bare
    match bare:
        case d.Scalar(name):
            return _KINDS.get(name, _ALL)
        case d.Const(value):
            return _kind_of(value)
        case d.InlineEnum(values):
            return _NONE.union(*map(_kind_of, values))
        case d.EnumRef(name):
            return _NONE.union(*(_kind_of(member.value) for member in spec.enums[name].members))
        case d.OneOf(alternatives):
            return _NONE.union(*(_kinds(spec, one) for one in alternatives))
        case d.EntityRef() | d.UnionOf():
            keys = [_key_kinds(spec, spec.entities[name]) for name in d.entities_in(bare)]
            return frozenset(("object",)).union(*keys)
        case d.ListOf() | d.AllOf():
            return frozenset(("array",))
        case d.CollectionOf(of):
            return _kinds(spec, of)
        case d.ValuesOf() | d.ObjectRef() | d.ObjectType():
            return frozenset(("object",))
        case _:
            return _ALL


def _key_kinds(spec: d.Spec, entity: d.Entity) -> frozenset[str]:
    """The kinds of JSON that the primary key of an entity is; any where it is not one field."""
    through = path_to(spec.objects, entity.all_fields, entity.pk[0]) if len(entity.pk) == 1 else ()
    return _kinds(spec, through[-1].type) if through else _ALL


def _kind_of(value: object) -> frozenset[str]:
    return frozenset(("boolean" if isinstance(value, bool) else "string" if isinstance(value, str) else "number",))
