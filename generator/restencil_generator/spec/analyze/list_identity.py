"""Separate identities for lists that have the same arguments at different paths."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from restencil_generator.spec import model as d

_WITHOUT_OWN_LISTS: Final = (d.ListOf, d.ValuesOf, d.QueryOf)


def keep_lists_apart(resources: Mapping[str, d.Resource], entities: Mapping[str, d.Entity]) -> dict[str, d.Resource]:
    """Mark lists with the same items and arguments but different paths as different lists.

    One of them stays unmarked: a `get_list` whose resource declares the entity, else the one with the shortest path.
    All others get their path as `apart`, also a list without path parameters that is no `get_list`: what a path such as
    `/cards/archived` selects is not known. Several lists of an entity in one response get their places.
    """
    kinds: dict[Any, list[tuple[bool, bool, int, str, str]]] = {}
    for name, resource in resources.items():
        for member, endpoint in resource.endpoints.items():
            if endpoint.collection is not None and not isinstance(endpoint.schema, d.AdderOf):
                of = [entities[entity].resource for entity in d.entities_in(endpoint.collection) if entity in entities]
                text = endpoint.path.text
                rank = member != "get_list", of != [name], len(text), text, endpoint.url_prefix
                kinds.setdefault(_kind_of_list(endpoint, entities), []).append(rank)
    places = {kind: min(found)[3:] for kind, found in kinds.items() if not min(found)[0] or _has_parameters(kind)}

    def kept(resource: d.Resource, endpoint: d.Endpoint) -> d.Endpoint:
        listing = endpoint if not isinstance(endpoint.schema, d.AdderOf) else resource.endpoints.get("get_list")
        if listing is None or listing.collection is None:
            return endpoint
        if endpoint.schema is not None and _has_equal_lists(endpoint.schema):
            return dataclasses.replace(
                endpoint, schema=_numbered(endpoint.schema, listing.path.text, itertools.count(1))
            )
        text, prefix = places.get(_kind_of_list(listing, entities), ("", ""))
        if (listing.path.text, listing.url_prefix) == (text, prefix):
            return endpoint
        apart = listing.path.text if listing.path.text != text else listing.url_prefix + text
        extenders = {name: _kept_apart(one, apart) for name, one in endpoint.extenders.items()}
        return dataclasses.replace(_kept_apart(endpoint, apart), extenders=extenders)

    return {
        name: dataclasses.replace(
            resource, endpoints={member: kept(resource, endpoint) for member, endpoint in resource.endpoints.items()}
        )
        for name, resource in resources.items()
    }


def _kind_of_list(endpoint: d.Endpoint, entities: Mapping[str, d.Entity]) -> Any:
    """Return a value that is equal for lists that would be one list for equal arguments; None without a list."""
    collection = endpoint.collection
    if collection is None:
        return None
    names = d.entities_in(collection)
    tables = tuple(entities[name].key if name in entities else name for name in names)
    return type(collection.of), tables, frozenset(parameter.name for parameter in endpoint.path.parameters)


def keep_fields_apart(entity: str, fields: tuple[d.Field, ...]) -> tuple[d.Field, ...]:
    """Mark nested lists of an entity with the same items and arguments as different lists, by the name of the field."""
    count = Counter(_kind_of_nested(field) for field in fields)
    return tuple(
        (
            dataclasses.replace(field, type=_apart(field.type, f"{entity}.{field.name}"))
            if (kind := _kind_of_nested(field)) is not None and count[kind] > 1
            else field
        )
        for field in fields
    )


def _kind_of_nested(field: d.Field) -> Any:
    found = next(_lists_in(field.type), None)
    if found is None:
        return None
    return type(found.of), tuple(d.entities_in(found)), frozenset(nest.argument for nest in found.nest)


def _has_equal_lists(schema: d.Type) -> bool:
    """Whether a response has several lists of the same entities, which have the same arguments."""
    kinds = [(type(one.of), tuple(d.entities_in(one))) for one in _lists_in(schema)]
    return len(kinds) != len(set(kinds))


def _lists_in(schema: d.Type) -> Iterator[d.CollectionOf]:
    if isinstance(schema, d.CollectionOf):
        yield schema
    elif not isinstance(schema, _WITHOUT_OWN_LISTS):
        for part in schema.children():
            yield from _lists_in(part)


def _numbered(schema: d.Type, path: str, numbers: Iterator[int]) -> d.Type:
    if isinstance(schema, d.CollectionOf):
        return dataclasses.replace(schema, apart=f"{path}#{next(numbers)}")
    is_left = isinstance(schema, _WITHOUT_OWN_LISTS)
    return schema if is_left else schema.map(lambda part: _numbered(part, path, numbers))


def _has_parameters(kind: Any) -> bool:
    return bool(kind[-1])


def _kept_apart(endpoint: d.Endpoint, place: str) -> d.Endpoint:
    return dataclasses.replace(endpoint, schema=None if endpoint.schema is None else _apart(endpoint.schema, place))


def _apart(schema: d.Type, place: str) -> d.Type:
    """Set `apart` of the collections in a schema; collections within lists and queries are not changed."""
    if isinstance(schema, d.CollectionOf):
        return dataclasses.replace(schema, apart=place)
    is_left = isinstance(schema, _WITHOUT_OWN_LISTS)
    return schema if is_left else schema.map(lambda part: _apart(part, place))
