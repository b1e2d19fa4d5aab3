"""Warnings about the record that a call identifies: the primary key at the end of paths."""

from __future__ import annotations

from collections.abc import Iterator

from restencil_generator.diagnostics.model import quoted
from restencil_generator.lint.common import Finding, Operation, declared_here, operations
from restencil_generator.spec import model as d
from restencil_generator.spec.type_info import path_to, type_info


def find_keys_not_in_path(spec: d.Spec) -> Iterator[Finding]:
    """Find paths that end with a parameter that is neither the primary key nor mapped to a field."""
    reported: set[tuple[str, str]] = set()
    for operation in operations(spec):
        key = operation.resource.name, operation.endpoint.path.text
        if operation.resource.singleton or not operation.endpoint.params or key in reported:
            continue
        found = _key_not_in_path(spec, operation)
        if found is not None:
            reported.add(key)
            yield found


def _key_not_in_path(spec: d.Spec, operation: Operation) -> Finding | None:
    endpoint = operation.endpoint
    schema = type_info(endpoint.schema).bare if endpoint.schema is not None else None
    if isinstance(schema, d.InvalidateOf):
        schema = schema.of
    if not isinstance(schema, d.EntityRef | d.UnionOf) or not isinstance(endpoint.path.parts[-1], d.PathParameter):
        return None
    last = endpoint.params[-1]
    for entity in (spec.entities[name] for name in dict.fromkeys(d.entities_in(schema))):
        if entity.abstract or not entity.pk or _names_key(spec, endpoint, entity):
            continue
        outer = next((param for param in endpoint.params[:-1] if (param.of or param.name) == entity.pk[-1]), None)
        before = f"; ':{outer.name}' before it identifies something else" if outer is not None else ""
        keys = " and ".join(map(quoted, entity.pk))
        field = last.name if entity.field(last.name) is not None else entity.pk[-1]
        return Finding(
            f"the path of {operation} ends with ':{last.name}', which is not the primary key {keys} of entity "
            f"{quoted(entity.name)}{before}: the cache finds the entity by this URL alone",
            endpoint.place,
            f"write 'params: {{{last.name}: {{field: {field}}}}}' if it is the field {quoted(field)}",
        )
    return None


def _names_key(spec: d.Spec, endpoint: d.Endpoint, entity: d.Entity) -> bool:
    """Return whether the last parameter of a path is in the primary key of an entity, or is a field by `field`."""
    last = endpoint.params[-1]
    name = last.of or last.name
    from_path = {field.name for field in entity.all_fields if field.param == last.name}
    if name in entity.pk or not from_path.isdisjoint(entity.pk):
        return True
    return bool(last.of) and bool(path_to(spec.objects, entity.all_fields, last.of))


def find_single_records(spec: d.Spec) -> Iterator[Finding]:
    """Find paths with parameters whose entity has only one record (`pk: []`)."""
    reported: set[str] = set()
    for operation in operations(spec):
        endpoint = operation.endpoint
        schema = type_info(endpoint.schema).bare if endpoint.schema is not None else None
        if not isinstance(schema, d.EntityRef) or not endpoint.params:
            continue
        entity, name = spec.entities[schema.name], endpoint.params[-1].name
        if entity.abstract or not entity.pk_is_list or entity.pk or entity.name in reported:
            continue
        reported.add(entity.name)
        yield Finding(
            f"the path of {operation} has the parameter ':{name}', but 'pk: []' of entity {quoted(entity.name)} says "
            "that there is one record: calls with other values show the same record, without a request",
            endpoint.place,
            f"add the field '{name}: {{type: …, param: {name}}}' to {quoted(entity.name)} and write 'pk: {name}'",
            declared_here(entity.place),
        )


def find_unfound_deletes(spec: d.Spec) -> Iterator[Finding]:
    """Find `delete` endpoints whose path does not contain the primary key."""
    for resource in spec.resources.values():
        delete = resource.endpoints.get("delete")
        if delete is None or resource.singleton or not isinstance(delete.schema, d.InvalidateOf):
            continue
        names = {param.of or param.name: param.name for param in delete.params}
        for entity in (spec.entities[name] for name in resource.entities):
            from_path = {field.name for field in entity.all_fields if field.param in names.values()}
            if entity.abstract or {*names, *from_path}.issuperset(entity.pk):
                continue
            if delete.params and not _names_key(spec, delete, entity):
                continue  # reported as `key-not-in-path`
            missing = sorted(names[name] for name in names if not path_to(spec.objects, entity.all_fields, name))
            found = "looks it up by them"
            if missing:
                found = f"cannot look it up, because {quoted(missing[0])} is not a field"
            yield Finding(
                f"the path of 'delete' of resource {quoted(resource.name)} does not contain the pk of "
                f"{quoted(entity.name)}: the cache {found}; if it does not have the entity, lists become stale",
                delete.place,
                "return the entity from the server, or write the pk's fields into the path",
            )
