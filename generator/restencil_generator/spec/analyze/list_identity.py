"""Separate identities for lists that have the same arguments at different paths."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from restencil_generator.spec import model as d

_WITHOUT_OWN_LISTS: Final = (d.ListOf, d.ValuesOf)


class _Kind(NamedTuple):
    """What is equal for lists that would be one list for equal arguments."""

    of: type[d.Type]
    tables: tuple[str, ...]
    arguments: frozenset[str]


def keep_lists_apart(resources: Mapping[str, d.Resource], entities: Mapping[str, d.Entity]) -> dict[str, d.Resource]:
    """Mark lists with the same items and arguments but different paths as different lists.

    One of them stays unmarked: a `get_list` whose resource declares the entity, else the one with the shortest path.
    All others get their path as `apart`, also a list that is no `get_list`, unless its path has the last word of the
    resource's path after parameters that are not its primary key, as `/users/:user/cards` has: what `/cards/archived`,
    `/users/:user/starred` and `/cards/:id/cards` select is not known. Several lists of an entity in one response get
    their places.
    """
    tables = {name: entity.key for name, entity in entities.items()}
    ranks: dict[_Kind, list[tuple[bool, bool, bool, int, str, str]]] = {}
    for name, resource in resources.items():
        for member, endpoint in resource.endpoints.items():
            collection = _collection_of(endpoint)
            if collection is not None and not isinstance(endpoint.schema, d.AdderOf):
                of = [entities[entity].resource for entity in d.entities_in(collection) if entity in entities]
                text = endpoint.path.text
                is_known = member == "get_list" or _selects_by_parameters(resource, endpoint, entities)
                rank = not is_known, member != "get_list", of != [name], len(text), text, endpoint.url_prefix
                ranks.setdefault(_kind_at(endpoint.path, collection, tables), []).append(rank)
    unmarked: dict[_Kind, tuple[str, str]] = {}
    for kind, found in ranks.items():
        is_unknown, *_, text, prefix = min(found)
        if not is_unknown:
            unmarked[kind] = text, prefix

    def kept(resource: d.Resource, endpoint: d.Endpoint) -> d.Endpoint:
        listing = endpoint if not isinstance(endpoint.schema, d.AdderOf) else resource.endpoints.get("get_list")
        collection = None if listing is None else _collection_of(listing)
        if listing is None or collection is None:
            return endpoint
        path = listing.path.text
        kinds = (
            []
            if endpoint.schema is None
            else [_kind_at(listing.path, one, tables) for one in _lists_in(endpoint.schema)]
        )
        if len(kinds) != len(set(kinds)):
            return _kept_apart(endpoint, (f"{path}#{number}" for number in itertools.count(1)))
        place = unmarked.get(_kind_at(listing.path, collection, tables))
        if place == (path, listing.url_prefix):
            return endpoint
        apart = itertools.repeat(path if place is None or path != place[0] else listing.url_prefix + path)
        extenders = {name: _kept_apart(one, apart) for name, one in endpoint.extenders.items()}
        return dataclasses.replace(_kept_apart(endpoint, apart), extenders=extenders)

    return {
        name: dataclasses.replace(
            resource,
            endpoints={
                member: _filtered_by_order(kept(resource, endpoint)) for member, endpoint in resource.endpoints.items()
            },
        )
        for name, resource in resources.items()
    }


def _filtered_by_order(endpoint: d.Endpoint) -> d.Endpoint:
    """Set `non_filters` of the list of an endpoint if an argument that begins with `order` filters it.

    Parameters of the path do, and exact filters.
    """
    collection, exact = _collection_of(endpoint), endpoint.exact_filters or ()
    if endpoint.schema is None or collection is None or collection.non_filter_arguments or collection.custom:
        return endpoint
    filters = [*(parameter.name for parameter in endpoint.path.parameters), *exact]
    if not any(name.startswith("order") for name in filters):
        return endpoint
    names = (field.wire for field in endpoint.search_params)
    non_filters = tuple(name for name in names if name.startswith("order") and name not in exact)
    return dataclasses.replace(endpoint, schema=_of_lists(endpoint.schema, lambda: {"non_filters": non_filters}))


def keep_fields_apart(entity: str, fields: tuple[d.Field, ...]) -> tuple[d.Field, ...]:
    """Mark nested lists of an entity with the same items and arguments as different lists, by the name of the field."""
    kinds = [
        [_kind(one, (nest.argument for nest in one.nest), {}) for one in _lists_in(field.type)] for field in fields
    ]
    count = Counter(itertools.chain.from_iterable(kinds))
    return tuple(
        (
            dataclasses.replace(field, type=_apart(field.type, itertools.repeat(f"{entity}.{field.name}")))
            if any(count[kind] > 1 for kind in own)
            else field
        )
        for field, own in zip(fields, kinds, strict=True)
    )


def _selects_by_parameters(resource: d.Resource, endpoint: d.Endpoint, entities: Mapping[str, d.Entity]) -> bool:
    """Return whether the parameters of a path tell which records of the resource its list has."""
    parameters = {parameter.name for parameter in endpoint.path.parameters}
    keys = {name for entity in resource.entities if entity in entities for name in entities[entity].pk}
    return bool(parameters - keys) and parameters.isdisjoint(keys) and _last_word(endpoint) == _last_word(resource)


def _last_word(of: d.Resource | d.Endpoint) -> str:
    parts = [] if of.path is None else of.path.text.split("/")
    return next((part for part in reversed(parts) if part and not part.startswith(":")), "")


def _collection_of(endpoint: d.Endpoint) -> d.CollectionOf | None:
    """Return the first collection of an endpoint, also within a query."""
    return endpoint.collection or next(iter(() if endpoint.schema is None else _lists_in(endpoint.schema)), None)


def _kind_at(path: d.Path, collection: d.CollectionOf, tables: Mapping[str, str]) -> _Kind:
    return _kind(collection, (parameter.name for parameter in path.parameters), tables)


def _kind(collection: d.CollectionOf, arguments: Iterable[str], tables: Mapping[str, str]) -> _Kind:
    names = d.entities_in(collection)
    return _Kind(type(collection.of), tuple(tables.get(name, name) for name in names), frozenset(arguments))


def _lists_in(schema: d.Type) -> Iterator[d.CollectionOf]:
    """Yield the collections in a schema that are not items of a list."""
    if isinstance(schema, d.CollectionOf):
        yield schema
    elif not isinstance(schema, _WITHOUT_OWN_LISTS):
        for part in schema.children():
            yield from _lists_in(part)


def _kept_apart(endpoint: d.Endpoint, places: Iterator[str]) -> d.Endpoint:
    return dataclasses.replace(endpoint, schema=None if endpoint.schema is None else _apart(endpoint.schema, places))


def _apart(schema: d.Type, places: Iterator[str]) -> d.Type:
    """Set `apart` of the collections in a schema to the next places."""
    return _of_lists(schema, lambda: {"apart": next(places)})


def _of_lists(schema: d.Type, changes: Callable[[], dict[str, Any]]) -> d.Type:
    """Change attributes of the collections in a schema; those within lists are not changed."""
    if isinstance(schema, d.CollectionOf):
        return dataclasses.replace(schema, **changes())
    is_left = isinstance(schema, _WITHOUT_OWN_LISTS)
    return schema if is_left else schema.map(lambda part: _of_lists(part, changes))
