"""Advice about resources and endpoints: paths, search parameters, and options without an effect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from restencil_generator.diagnostics.model import Place, Problem, quoted
from restencil_generator.lint.common import advice, has_part
from restencil_generator.lint.identity import check_identity, names_key
from restencil_generator.spec import model as d
from restencil_generator.spec.page_styles import STYLES, implied_style
from restencil_generator.spec.type_info import path_to

OFTEN: Final = 10_000
"""Polling at least this often (ms) is worth a word where it fetches a whole list."""


def _glued(resource: d.Resource) -> Iterator[Problem]:
    told: set[str] = set()
    for name, endpoint in resource.all_endpoints():
        what = f"resource {quoted(resource.name)}"
        if "path" in endpoint.written:
            what = f"{quoted(name)} of {what}"
        prefix, path = endpoint.url_prefix, endpoint.path.text
        absolute = path.startswith(("http:", "https:", "http\\:", "https\\:"))
        if prefix[-1:].isalnum() and path[:1].isalnum() and not absolute and what not in told:
            told.add(what)
            message = f"no slash stands between the prefix and the path of {what}: {prefix}{path}"
            yield advice("glued-path", message, endpoint.place, f"write '/{path}'")


def check_resources(spec: d.Spec) -> Iterator[Problem]:
    """Advice about resources and their endpoints."""
    for resource in spec.resources.values():
        yield from _glued(resource)
        yield from _search_params(spec, resource)
        for name, endpoint in resource.all_endpoints():
            inherited = _parent_options(resource, name, endpoint)
            yield from _endpoint(f"{quoted(name)} of resource {quoted(resource.name)}", endpoint, inherited)
        if resource.pagination_field is not None and not _paged(resource):
            yield advice(
                "no-effect",
                f"'pagination_field' of resource {quoted(resource.name)} has no effect: no list holds a collection",
                resource.place,
                "remove it, or write {collection: [Entity]} in the list's schema",
            )
        yield from _unfound(spec, resource)
        yield from check_identity(spec, resource)


def _search_params(spec: d.Spec, resource: d.Resource) -> Iterator[Problem]:
    """Search parameters that are never sent, and those by which no list can be told to hold a record."""
    listing = resource.endpoints.get("get_list")
    in_path = set[str]() if listing is None else {parameter.name for parameter in listing.path.parameters}
    for param in resource.search_params:
        if param.wire in in_path:
            message = (
                f"the search parameter {quoted(param.name)} of resource {quoted(resource.name)} is never sent with "
                f"'get_list': its path has a parameter of that name"
            )
            yield advice("shadowed-parameter", message, param.place, "remove it, or rename one of them")
    told: set[Place] = set()
    for name, endpoint in resource.all_endpoints():
        collection = endpoint.collection
        if collection is None or endpoint.side_effect or collection.custom is not None:
            continue
        entities = [spec.entities[entity] for entity in dict.fromkeys(d.entities_in(collection))]
        fields = {text for entity in entities for field in entity.all_fields for text in (field.name, field.wire)}
        silent = {*collection.non_filter_arguments, *(field.wire for field in endpoint.page_params)}
        for param in endpoint.search_params:
            if {param.name, param.wire} & (silent | fields) or param.of or param.filter is not None:
                continue
            if param.place in told or _has_no_text(param):
                continue
            told.add(param.place)
            kinds = " or ".join(quoted(entity.name) for entity in entities)
            yield advice(
                "search-no-field",
                f"the search parameter {quoted(param.name)} of {quoted(name)} of resource {quoted(resource.name)} "
                f"names no field of {kinds}: a list asked for with it cannot tell what it holds and is fetched anew",
                param.place,
                "write 'field: …' with the field that it filters by, or name it in "
                "'collection: {non_filter_arguments: […]}' if by none",
            )


def _has_no_text(param: d.Field) -> bool:
    return param.style is None and bool(has_part(param.type, (d.ObjectRef, d.ObjectType, d.ValuesOf)))


def _unfound(spec: d.Spec, resource: d.Resource) -> Iterator[Problem]:
    """A delete whose path does not hold the primary key."""
    delete = resource.endpoints.get("delete")
    if delete is None or resource.singleton or not isinstance(delete.schema, d.InvalidateOf):
        return
    names = {param.of or param.name: param.name for param in delete.params}
    for entity in (spec.entities[name] for name in resource.entities):
        told = {field.name: field.param for field in entity.all_fields if field.param in names.values()}
        if entity.abstract or {*names, *told}.issuperset(entity.pk):
            continue
        if delete.params and not names_key(spec, delete, entity):
            continue  # `key-not-in-path` tells
        lacking = sorted(names[name] for name in names if not path_to(spec.objects, entity.all_fields, name))
        found = "looks it up by them" if not lacking else f"cannot look it up, as {quoted(lacking[0])} is no field"
        yield advice(
            "delete-cannot-find-entity",
            f"the path of 'delete' of resource {quoted(resource.name)} does not hold the pk of {quoted(entity.name)}: "
            f"the cache {found}; where it does not know the entity, lists turn stale",
            delete.place,
            "let the server answer with the entity, or write the pk's fields into the path",
        )


def _paged(resource: d.Resource) -> bool:
    return any(endpoint.pagination_field is not None for _, endpoint in resource.all_endpoints())


def _parent_options(resource: d.Resource, name: str, endpoint: d.Endpoint) -> d.Options:
    """The options that an endpoint takes over."""
    listing, dot, _ = name.rpartition(".")
    if dot:
        return next(parent for parent in resource.endpoints.values() if parent.python == listing).options
    listed = resource.endpoints.get("get_list")
    if endpoint.name == "create" and endpoint.standard and listed is not None and "push" in listed.extenders:
        return listed.extenders["push"].options
    base = resource.endpoints.get(endpoint.extends or "")
    return base.options if base is not None else resource.options


def _endpoint(what: str, endpoint: d.Endpoint, inherited: d.Options) -> Iterator[Problem]:
    retries = endpoint.options.retries
    is_sent_once = endpoint.side_effect and endpoint.method in ("POST", "PATCH")
    if is_sent_once and retries and retries != inherited.retries:
        yield advice(
            "retries-no-effect",
            f"{what} has 'retries', which has no effect: a {endpoint.method} is not sent again, since it may have been "
            "carried out",
            endpoint.place,
            "remove it; where the server honours Idempotency-Key, give the client Retries(mutations=True)",
        )
    if endpoint.side_effect:
        if endpoint.options.poll_frequency not in (None, inherited.poll_frequency):
            yield advice("no-effect", f"'poll_frequency' of {what} has no effect: it changes something", endpoint.place)
    elif endpoint.get_optimistic_response is not None and "get_optimistic_response" in endpoint.written:
        message = f"'get_optimistic_response' of {what} has no effect: it changes nothing"
        yield advice("no-effect", message, endpoint.place, "write 'side_effect: true' where it does")
    if not endpoint.side_effect and endpoint.has_body and not endpoint.request.in_key and endpoint.base is None:
        yield advice(
            "body-shares-key",
            f"{what} reads with a body that is no part of its key: answers to all bodies share one entry",
            endpoint.place,
            "add 'request: {in_key: true}'",
        )
    polled = endpoint.options.poll_frequency
    whole = isinstance(endpoint.schema, d.CollectionOf) and endpoint.pagination_field is None
    if whole and not endpoint.side_effect and polled is not None and polled <= OFTEN:
        yield advice(
            "poll-whole-list",
            f"{what} fetches the whole list every {polled} ms while someone watches it",
            endpoint.place,
            "poll less often, or give it a 'pagination_field'",
        )
    field = endpoint.pagination_field if endpoint.name != "get_page" else None
    if field is not None and endpoint.pagination is None and implied_style(field.name) is None:
        yield advice(
            "no-iterate",
            f"{what} has pages, but nothing says how 'iterate()' finds the next one",
            endpoint.place,
            "add 'pagination: {style: …}'",
        )
    pagination = endpoint.pagination if endpoint.name != "get_page" else None
    if pagination is not None and pagination.start is not None and not STYLES[pagination.style].is_counted:
        yield advice(
            "no-effect",
            f"'start' in the pagination of {what} has no effect: pages of style {quoted(pagination.style)} have no "
            "numbers",
            endpoint.place,
            "remove it",
        )
    for param in endpoint.search_params:
        if endpoint.base is None and _has_no_text(param):
            yield advice(
                "search-type",
                f"the search parameter {quoted(param.name)} of {what} has no text in a URL",
                param.place,
                "give the resource an 'endpoint:' class that overrides search_to_string",
            )
