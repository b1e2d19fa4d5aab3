"""Advice about a spec without mistakes: what will surprise at run time, what the cache makes of it, what is left over.

Hand-written code is looked for in a process of its own, so that importing it can neither change nor end this one.
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from restencil_generator.diagnostics.model import Place, Problem, Related, Source, did_you_mean, in_order, quoted
from restencil_generator.lint.identity import identity, names_key
from restencil_generator.lint.storage import stored
from restencil_generator.lint.types import out_of_reach, unions
from restencil_generator.spec import model as d
from restencil_generator.spec.load import Loaded, load_spec
from restencil_generator.spec.type_info import path_to
from restencil_generator.spec.validate_value import misfits

if TYPE_CHECKING:
    from restencil_generator.project.config import Project

HOOKS_TIMEOUT: Final = 60.0
"""How long, in seconds, importing the hand-written code of one spec may take."""

OFTEN: Final = 10_000
"""Polling at least this often (ms) is worth a word where it fetches a whole list."""

_SECRET_WORDS: Final = ("token", "secret", "password", "api-key", "apikey", "credential")
_SECRET_PARAMS: Final = ("token", "secret", "password", "key")
_CALL_WORDS: Final = ("request-id", "requestid", "correlation-id", "trace", "idempotency")
_LOCAL: Final = ("http://localhost", "http://127.", "http://[::1]", "http://0.0.0.0")
_FOUND_BY_NAME: Final = ("page", "offset", "skip")


def lint(loaded: Loaded, *, import_hooks: bool = True, python_path: Sequence[Path | str] = ()) -> tuple[Problem, ...]:
    """Advice about a loaded spec, in order; none for a spec with mistakes.

    With `import_hooks` the code that `python:` references name is imported, in a process of its own whose path begins
    with `python_path`, and checked to exist and to take what it will be called with.
    """
    spec = loaded.declaration
    if spec is None:
        return ()
    found = [
        *_names(spec),
        *_header_params(spec),
        *_entities(spec),
        *_resources(spec),
        *stored(spec),
        *_examples(spec),
        *_deprecated(spec),
        *_unused(spec),
    ]
    if import_hooks:
        found.extend(_hooks(spec, python_path))
    return tuple(in_order(found))


@dataclasses.dataclass(frozen=True, slots=True)
class Advice:
    """The mistakes of a project's specs and the advice about them; `sources` are the texts for excerpts."""

    problems: tuple[Problem, ...]
    sources: dict[str, Source]


def advise(project: Project, *, import_hooks: bool = True) -> Advice:
    """The mistakes of all specs, and the advice about those without any.

    With `import_hooks` hand-written code is imported, in a process of its own, from the working directory, the folder
    of the packages and that of the configuration.
    """
    python_path = [Path.cwd(), project.out, *([] if project.file is None else [project.file.parent])]
    problems: list[Problem] = []
    sources: dict[str, Source] = {}
    for loaded in map(load_spec, project.specs):
        problems += loaded.problems
        problems += lint(loaded, import_hooks=import_hooks, python_path=python_path)
        sources |= loaded.sources
    return Advice(tuple(problems), sources)


def _advice(code: str, message: str, place: Place, hint: str = "", related: Iterable[Related] = ()) -> Problem:
    return Problem(code, message, place, hint, tuple(related), "warning")


# ---------------------------------------------------------------------------------------------------- names, transport


def _names(spec: d.Spec) -> Iterator[Problem]:
    if spec.package in sys.stdlib_module_names:
        yield _advice(
            "stdlib-package",
            f"the package {quoted(spec.package)} hides the module of Python's standard library",
            spec.place,
            "choose another name",
        )
    yield from _token_urls(spec)
    levels: list[tuple[d.Spec | d.Resource, str]] = [(spec, "the spec")]
    levels += [(resource, f"resource {quoted(resource.name)}") for resource in spec.resources.values()]
    known: set[str] = set()
    for level, what in levels:
        prefix = level.url_prefix
        if (
            spec.auth is not None
            and prefix.startswith("http://")
            and not prefix.startswith(_LOCAL)
            and prefix not in known
        ):
            known.add(prefix)
            message = f"the secret of {what} travels in the clear: {prefix}"
            yield _advice("plain-http", message, level.url_place, "use https")
        for name in level.headers:
            if any(word in name.lower() for word in _SECRET_WORDS) and name not in known:
                known.add(name)
                yield _advice(
                    "secret-looking",
                    f"the header {quoted(name)} of {what} looks like a secret, which never stands in a spec",
                    level.place,
                    "use 'auth:'",
                )


def _token_urls(spec: d.Spec) -> Iterator[Problem]:
    for scheme in () if spec.auth is None else spec.auth.schemes:
        if scheme.oauth2 is not None and scheme.oauth2.token_url.startswith("http://"):
            message = f"the secrets of scheme {quoted(scheme.name)} travel in the clear: {scheme.oauth2.token_url}"
            yield _advice("plain-http", message, scheme.oauth2.url_place, "use https, unless all clients run there")


def _header_params(spec: d.Spec) -> Iterator[Problem]:
    """Header parameters that look like secrets, that make keys useless, or that have a store of their own unasked."""
    told: set[Place] = set()
    every = [(param, "the spec") for param in spec.header_params if param.auto is None]
    for resource in spec.resources.values():
        for name, endpoint in resource.all_endpoints():
            what = f"{quoted(name)} of resource {quoted(resource.name)}"
            for param in endpoint.header_params:
                reads = not endpoint.side_effect
                if param.in_key and reads and _tells_calls_apart(param.field.wire) and param.field.place not in told:
                    told.add(param.field.place)
                    yield _advice(
                        "header-in-key",
                        f"the header parameter {quoted(param.field.name)} of {what} is part of the key, though each "
                        "call may have another: nothing that is cached would be found again",
                        param.field.place,
                        "write 'in_key: false'",
                    )
                every.append((param, what))
    seen: set[Place] = set()
    for param, what in every:
        if param.field.place in seen:
            continue
        seen.add(param.field.place)
        wire = param.field.wire.lower()
        if not param.secret and param.auto is None and any(word in wire for word in _SECRET_PARAMS):
            yield _advice(
                "secret-looking",
                f"the header parameter {quoted(param.field.name)} of {what} looks like a secret",
                param.field.place,
                "write 'secret: true', or use 'auth:'",
            )
        if param.partition and not param.partition_written:
            yield _advice(
                "header-partitions",
                f"the header parameter {quoted(param.field.name)} of {what} has a store of its own for each value, "
                "as its name is that of one which changes what entities say",
                param.field.place,
                "write 'partition: true' if so, else 'partition: false'",
            )


def _tells_calls_apart(wire: str) -> bool:
    """Whether a header is another one in each call: a condition, or the id of a request."""
    lower = wire.lower()
    return lower.startswith("if-") or any(word in lower for word in _CALL_WORDS)


# ------------------------------------------------------------------------------------------------------------ entities


def _entities(spec: d.Spec) -> Iterator[Problem]:
    keys: dict[str, d.Entity] = {}
    for entity in spec.entities.values():
        other = keys.setdefault(entity.key, entity)
        if (
            other is not entity
            and not entity.abstract
            and not other.abstract
            and _root(spec, other) != _root(spec, entity)
        ):
            yield _advice(
                "shared-key",
                f"the entities {quoted(entity.name)} and {quoted(other.name)} share the table {quoted(entity.key)}, "
                "but neither extends the other",
                entity.place,
                "give one of them another 'key'",
                [Related(other.place, "the other one")],
            )
        for field in entity.fields:
            if isinstance(field.type, d.CollectionOf) and not field.type.nest:
                yield _advice(
                    "nested-collection",
                    f"the collection {quoted(field.name)} of entity {quoted(entity.name)} has no 'nest': all lists of "
                    "one response are one list",
                    field.place,
                    "add 'nest: {argument: field}'",
                )
    yield from _never_alone(spec)
    yield from _copied(spec)
    yield from _partial_unions(spec)
    yield from unions(spec, _types(spec))
    yield from out_of_reach(spec)


def _root(spec: d.Spec, entity: d.Entity) -> str:
    while entity.extends is not None:
        entity = spec.entities[entity.extends]
    return entity.name


def _never_alone(spec: d.Spec) -> Iterator[Problem]:
    """An entity that others cannot be read without should be one that can be fetched again by itself."""
    alone: set[str] = set()
    for endpoint in _endpoints(spec):
        if not endpoint.side_effect and isinstance(endpoint.schema, d.EntityRef | d.UnionOf):
            alone.update(d.entities_in(endpoint.schema))
    tables = {spec.entities[name].key for name in alone}
    for entity in spec.entities.values():
        for field in entity.fields:
            if isinstance(field.type, d.EntityRef) and field.required:
                needed = spec.entities[field.type.name]
                if needed.key not in tables:
                    tables.add(needed.key)
                    yield _advice(
                        "never-fetched-alone",
                        f"entity {quoted(entity.name)} needs {quoted(needed.name)} in {quoted(field.name)}, but no "
                        "endpoint reads one alone: once it is invalid, nothing brings it back",
                        field.place,
                        f"add a resource for {needed.name}, or write '{needed.name}?'; where answers have its bare "
                        f"key, restencil.foreign_key(…, {quoted(field.python)}) gives it",
                        [Related(needed.place, "declared here")],
                    )


def _copied(spec: d.Spec) -> Iterator[Problem]:
    """What stands in a plain object no table knows, be it an entity."""
    schemas: list[d.Type | None] = [resource.schema for resource in spec.resources.values()]
    schemas += [endpoint.schema for endpoint in _endpoints(spec)]
    schemas += [field.type for entity in spec.entities.values() for field in entity.fields]
    todo = [ref.name for schema in schemas if schema is not None for ref in _parts(schema, d.ObjectRef)]
    answered: set[str] = set()
    while todo:
        name = todo.pop()
        if name not in answered:
            answered.add(name)
            todo += [ref.name for field in spec.objects[name].fields for ref in _parts(field.type, d.ObjectRef)]
    for name in spec.objects:
        for field in spec.objects[name].fields if name in answered else ():
            for entity in dict.fromkeys(d.entities_in(field.type)):
                yield _advice(
                    "entity-in-object",
                    f"the object {quoted(name)} holds the entity {quoted(entity)} in {quoted(field.name)}: what stands "
                    "in an object is a copy, which no table knows",
                    field.place,
                    f"make {name} an entity with a key; or, where it is a whole answer, write its members in place of "
                    "its name in the endpoint's schema",
                    [Related(spec.entities[entity].place, "declared here")],
                )


def _partial_unions(spec: d.Spec) -> Iterator[Problem]:
    told: set[tuple[str, str]] = set()
    for place, type in _types(spec):
        for union in _parts(type, d.UnionOf):
            for choice in union.choices:
                attribute = union.attribute
                if isinstance(attribute, str) and (choice.entity, attribute) not in told:
                    entity = spec.entities[choice.entity]
                    if entity.field(attribute) is None:
                        told.add((choice.entity, attribute))
                        yield _advice(
                            "union-field",
                            f"entity {quoted(entity.name)} of a union lacks {quoted(attribute)}, which tells it apart",
                            place,
                            f"add '{attribute}: {{const: {choice.value}}}' to it",
                            [Related(entity.place, "declared here")],
                        )


# ------------------------------------------------------------------------------------------------------------ resources


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
            yield _advice("glued-path", message, endpoint.place, f"write '/{path}'")


def _resources(spec: d.Spec) -> Iterator[Problem]:
    for resource in spec.resources.values():
        yield from _glued(resource)
        yield from _search_params(spec, resource)
        for name, endpoint in resource.all_endpoints():
            inherited = _parent_options(resource, name, endpoint)
            yield from _endpoint(f"{quoted(name)} of resource {quoted(resource.name)}", endpoint, inherited)
        if resource.pagination_field is not None and not _paged(resource):
            yield _advice(
                "no-effect",
                f"'pagination_field' of resource {quoted(resource.name)} has no effect: no list holds a collection",
                resource.place,
                "remove it, or write {collection: [Entity]} in the list's schema",
            )
        yield from _unfound(spec, resource)
        yield from identity(spec, resource)


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
            yield _advice("shadowed-parameter", message, param.place, "remove it, or rename one of them")
    told: set[Place] = set()
    for name, endpoint in resource.all_endpoints():
        collection = endpoint.collection
        if collection is None or endpoint.side_effect or collection.custom is not None:
            continue
        entities = [spec.entities[entity] for entity in dict.fromkeys(d.entities_in(collection))]
        fields = {text for entity in entities for field in entity.all_fields for text in (field.name, field.wire)}
        size = None if endpoint.pagination is None else endpoint.pagination.size
        silent = {
            field.wire for field in (endpoint.pagination_field, size and size.param) if isinstance(field, d.Field)
        }
        silent.update(collection.non_filter_arguments)
        for param in endpoint.search_params:
            if {param.name, param.wire} & (silent | fields) or param.place in told or _has_no_text(param):
                continue
            told.add(param.place)
            kinds = " or ".join(quoted(entity.name) for entity in entities)
            yield _advice(
                "search-no-field",
                f"the search parameter {quoted(param.name)} of {quoted(name)} of resource {quoted(resource.name)} "
                f"names no field of {kinds}: a list asked for with it cannot tell what it holds and is fetched anew",
                param.place,
                "name it as the field that it filters by, or in 'collection: {non_filter_arguments: […]}' if by none",
            )


def _has_no_text(param: d.Field) -> bool:
    return param.style is None and bool(_parts_of(param.type, (d.ObjectRef, d.ObjectType, d.ValuesOf)))


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
        yield _advice(
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
    if endpoint.method in ("POST", "PATCH") and retries and retries != inherited.retries:
        yield _advice(
            "retries-no-effect",
            f"{what} has 'retries', which has no effect: a {endpoint.method} is not sent again, since it may have been "
            "carried out",
            endpoint.place,
            "remove it; where the server honours Idempotency-Key, give the client Retries(mutations=True)",
        )
    if endpoint.side_effect:
        if endpoint.options.poll_frequency not in (None, inherited.poll_frequency):
            yield _advice(
                "no-effect", f"'poll_frequency' of {what} has no effect: it changes something", endpoint.place
            )
    elif endpoint.get_optimistic_response is not None and "get_optimistic_response" in endpoint.written:
        message = f"'get_optimistic_response' of {what} has no effect: it changes nothing"
        yield _advice("no-effect", message, endpoint.place, "write 'side_effect: true' where it does")
    if not endpoint.side_effect and endpoint.has_body and not endpoint.request.in_key and endpoint.base is None:
        yield _advice(
            "body-shares-key",
            f"{what} reads with a body that is no part of its key: answers to all bodies share one entry",
            endpoint.place,
            "add 'request: {in_key: true}'",
        )
    polled = endpoint.options.poll_frequency
    whole = isinstance(endpoint.schema, d.CollectionOf) and endpoint.pagination_field is None
    if whole and not endpoint.side_effect and polled is not None and polled <= OFTEN:
        yield _advice(
            "poll-whole-list",
            f"{what} fetches the whole list every {polled} ms while someone watches it",
            endpoint.place,
            "poll less often, or give it a 'pagination_field'",
        )
    field = endpoint.pagination_field if endpoint.name != "get_page" else None
    if field is not None and endpoint.pagination is None and field.name not in _FOUND_BY_NAME:
        yield _advice(
            "no-iterate",
            f"{what} has pages, but nothing says how 'iterate()' finds the next one",
            endpoint.place,
            "add 'pagination: {style: …}'",
        )
    for param in endpoint.search_params:
        if endpoint.base is None and _has_no_text(param):
            yield _advice(
                "search-type",
                f"the search parameter {quoted(param.name)} of {what} has no text in a URL",
                param.place,
                "give the resource an 'endpoint:' class that overrides search_to_string",
            )


# ------------------------------------------------------------------------------------------------------------- examples


def _examples(spec: d.Spec) -> Iterator[Problem]:
    for resource in spec.resources.values():
        for name, endpoint in resource.all_endpoints():
            if endpoint.example is not None:
                what = f"the example of {quoted(name)} of resource {quoted(resource.name)}"
                yield from _example(spec, what, endpoint, endpoint.example)


def _example(spec: d.Spec, what: str, endpoint: d.Endpoint, example: d.Example) -> Iterator[Problem]:
    yield from _example_params(spec, what, endpoint, example)
    if example.body is not d.MISSING:
        if not endpoint.has_body:
            place = example.places.get(("body",), example.place)
            yield _misfit(what, "it has a body, but the endpoint takes none", place, "remove it")
        elif endpoint.body is not None and endpoint.body.type is not None:
            yield from _misfits(spec, what, endpoint.body.type, example.body, example, "body")
    if example.response is not d.MISSING and endpoint.process is None and endpoint.base is None:
        type = endpoint.schema or endpoint.returns
        if type is not None and not (isinstance(type, d.InvalidateOf) and not isinstance(example.response, dict)):
            yield from _misfits(spec, what, type, example.response, example, "response")


def _example_params(spec: d.Spec, what: str, endpoint: d.Endpoint, example: d.Example) -> Iterator[Problem]:
    fields = [*endpoint.params, *endpoint.search_params]
    if endpoint.pagination_field is not None:
        fields.append(endpoint.pagination_field)
    if endpoint.pagination is not None and endpoint.pagination.size is not None:
        fields.append(endpoint.pagination.size.param)
    names = {field.wire: field for field in fields} | {field.name: field for field in fields}
    given: set[str] = set()
    for key, value in example.params.items():
        field = names.get(key)
        if field is None:
            hint = did_you_mean(key, [field.name for field in fields])
            place = example.places.get(("params", key, ""), example.place)
            yield _misfit(what, f"the endpoint has no parameter {quoted(key)}", place, hint)
        else:
            given.add(field.name)
            yield from _misfits(spec, what, field.type, value, example, "params", key)
    if "params" in {where[0] for where in example.places if where}:
        for field in (*endpoint.params, *endpoint.search_params):
            if field.required and field.name not in given:
                place = example.places.get(("params",), example.place)
                yield _misfit(what, f"the parameter {quoted(field.name)} is missing", place, "add it")


def _misfits(
    spec: d.Spec, what: str, type: d.Type, value: d.Json, example: d.Example, *where: str
) -> Iterator[Problem]:
    for misfit in misfits(spec, type, value, "example"):
        at = ".".join(map(str, (*where, *misfit.where)))
        place = misfit.place_in(example.places, example.place, *where)
        yield _misfit(what, f"{at}: {misfit.message}", place, misfit.hint)


def _misfit(what: str, message: str, place: Place, hint: str = "") -> Problem:
    return _advice("example-misfit", f"{what} does not fit: {message}", place, hint)


# --------------------------------------------------------------------------------------------------- deprecated, unused


def _deprecated(spec: d.Spec) -> Iterator[Problem]:
    """What is not deprecated itself should not use what is."""
    for entity in spec.entities.values():
        if entity.deprecated is None:
            yield from _deprecated_in_entity(spec, entity)
    for resource in spec.resources.values():
        if resource.deprecated is None:
            yield from _deprecated_in_resource(spec, resource)


def _deprecated_in_entity(spec: d.Spec, entity: d.Entity) -> Iterator[Problem]:
    what = f"entity {quoted(entity.name)}"
    if entity.extends is not None:
        yield from _old(what, spec.entities[entity.extends], entity.place)
    for field in entity.fields:
        if field.deprecated is None:
            for name in d.entities_in(field.type):
                yield from _old(f"field {quoted(field.name)} of {what}", spec.entities[name], field.place)


def _deprecated_in_resource(spec: d.Spec, resource: d.Resource) -> Iterator[Problem]:
    what = f"resource {quoted(resource.name)}"
    for name in resource.entities:
        yield from _old(what, spec.entities[name], resource.place)
    for endpoint in resource.endpoints.values():
        base = resource.endpoints.get(endpoint.extends or "")
        if base is not None and base.deprecated is not None and endpoint.deprecated is None:
            yield _advice(
                "deprecated-use",
                f"{quoted(endpoint.name)} of {what} extends {quoted(base.name)}, which is deprecated",
                endpoint.place,
                base.deprecated,
                [Related(base.place, "declared here")],
            )


def _old(what: str, entity: d.Entity, place: Place) -> Iterator[Problem]:
    if entity.deprecated is not None:
        yield _advice(
            "deprecated-use",
            f"{what} uses entity {quoted(entity.name)}, which is deprecated",
            place,
            entity.deprecated,
            [Related(entity.place, "declared here")],
        )


def _unused(spec: d.Spec) -> Iterator[Problem]:
    used: set[str] = set()
    for _, type in _types(spec):
        used.update(part.name for part in _parts(type, (d.EnumRef, d.ObjectRef)))
        used.update(d.entities_in(type))
    used.update(entity.extends for entity in spec.entities.values() if entity.extends is not None)
    tables: list[tuple[str, Mapping[str, Any]]] = [
        ("enum", spec.enums),
        ("object", spec.objects),
        ("entity", spec.entities),
    ]
    for kind, table in tables:
        for name, declared in table.items():
            if name not in used:
                yield _advice("unused", f"nothing uses the {kind} {quoted(name)}", declared.place, "remove it")
    yield from _unused_schemes(spec)


def _unused_schemes(spec: d.Spec) -> Iterator[Problem]:
    if spec.auth is None:
        return
    uses = [spec.auth.use, *(endpoint.auth or () for endpoint in _endpoints(spec))]
    used = {name for use in uses for names in use for name in names}
    for scheme in spec.auth.schemes:
        if scheme.name not in used and not spec.auth.short:
            message = f"no request uses the scheme {quoted(scheme.name)}"
            yield _advice("unused", message, scheme.place, "name it in 'use', or remove it")


# ---------------------------------------------------------------------------------------------------------------- types


def _endpoints(spec: d.Spec) -> Iterator[d.Endpoint]:
    for resource in spec.resources.values():
        for _, endpoint in resource.all_endpoints():
            yield endpoint


def _types(spec: d.Spec) -> Iterator[tuple[Place, d.Type]]:
    """Every type that stands anywhere, with a place for it."""
    for fields in (declared.fields for table in (spec.objects, spec.entities) for declared in table.values()):
        for field in fields:
            yield field.place, field.type
    of_client = [*(param.field for param in spec.header_params), *spec.search_params]
    of_client += [field for server in spec.servers for field in server.variables]
    for field in of_client:
        yield field.place, field.type
    for resource in spec.resources.values():
        if resource.schema is not None:
            yield resource.place, resource.schema
        for param in resource.header_params:
            yield param.field.place, param.field.type
        for field in (*resource.params, *resource.search_params):
            yield field.place, field.type
        if resource.body is not None and resource.body.type is not None:
            yield resource.place, resource.body.type
        for endpoint in resource.endpoints.values():
            types = [field.type for field in (*endpoint.params, *endpoint.search_params)]
            types += [param.field.type for param in endpoint.header_params]
            types += [d.ObjectRef(name) for shape in endpoint.errors.values() for name in shape]
            for type in (endpoint.schema, endpoint.returns, endpoint.body.type if endpoint.body else None, *types):
                if type is not None:
                    yield endpoint.place, type


def _parts(type: d.Type, wanted: Any) -> Iterator[Any]:
    """The types of a kind in a type, itself included."""
    return (part for part in d.parts(type) if isinstance(part, wanted))


def _parts_of(type: d.Type | None, wanted: Any) -> bool:
    return type is not None and any(True for _ in _parts(type, wanted))


# ---------------------------------------------------------------------------------------------------------------- hooks


@dataclasses.dataclass(frozen=True, slots=True)
class _Hook:
    """A reference, what it is for, and the numbers of arguments it will be called with."""

    reference: d.Reference
    what: str
    kind: str
    counts: tuple[int, ...] = ()


def _hooks(spec: d.Spec, python_path: Sequence[Path | str]) -> Iterator[Problem]:
    hooks = list(_all_hooks(spec))
    if not hooks:
        return
    missing: dict[str, dict[Place, _Hook]] = {}
    judged: set[tuple[str, Place]] = set()
    for hook, (code, message) in zip(hooks, _probe(hooks, python_path), strict=True):
        place = hook.reference.place
        if code == "hook-missing":
            # What is missing is missing for all that name it; anything else is about the one place.
            missing.setdefault(message, {}).setdefault(place, hook)
        elif code and (code, place) not in judged:
            judged.add((code, place))
            yield _advice(code, f"{hook.what}: {message}", place)
    for message, places in missing.items():
        first, *others = sorted(places)
        hint = "write it, or correct the reference" if not others else "write it, or correct the references"
        also = [Related(place, f"{places[place].what} names it too") for place in others]
        yield _advice("hook-missing", f"{places[first].what}: {message}", first, hint, also)


def _all_hooks(spec: d.Spec) -> Iterator[_Hook]:
    if spec.base is not None:
        yield _Hook(spec.base, "'endpoint' of the spec", "endpoint")
    if isinstance(spec.options.error_policy, d.Reference):
        yield _Hook(spec.options.error_policy, "'error_policy' of the spec", "function", (1,))
    for entity in spec.entities.values():
        what = f"entity {quoted(entity.name)}"
        if entity.validate is not None and entity.validate_written:
            yield _Hook(entity.validate, f"'validate' of {what}", "function", (1,))
        yield from _field_hooks(entity.fields, what)
    for declared in spec.objects.values():
        yield from _field_hooks(declared.fields, f"object {quoted(declared.name)}")
    for resource in spec.resources.values():
        what = f"resource {quoted(resource.name)}"
        if resource.base is not None and resource.base != spec.base:
            yield _Hook(resource.base, f"'endpoint' of {what}", "endpoint")
        for endpoint in resource.endpoints.values():
            yield from _endpoint_hooks(endpoint, f"{quoted(endpoint.name)} of {what}")


def _field_hooks(fields: Iterable[d.Field], what: str) -> Iterator[_Hook]:
    for field in fields:
        for name, reference in (("decode", field.decode), ("encode", field.encode)):
            if reference is not None:
                yield _Hook(reference, f"'{name}' of field {quoted(field.name)} of {what}", "function", (1,))
        yield from _type_hooks(field.type, f"field {quoted(field.name)} of {what}", (0, 1))


def _endpoint_hooks(endpoint: d.Endpoint, what: str) -> Iterator[_Hook]:
    counts = _argument_counts(endpoint)
    with_first = tuple(count + 1 for count in counts)
    for name in ("process", "update", "get_optimistic_response"):
        reference: d.Reference | None = getattr(endpoint, name)
        if reference is not None:
            yield _Hook(reference, f"'{name}' of {what}", "function", with_first)
    if isinstance(endpoint.options.error_policy, d.Reference):
        yield _Hook(endpoint.options.error_policy, f"'error_policy' of {what}", "function", (1,))
    if endpoint.pagination is not None and endpoint.pagination.remove_cursor is not None:
        yield _Hook(endpoint.pagination.remove_cursor, f"'remove_cursor' of {what}", "function", (1,))
    if endpoint.schema is not None:
        yield from _type_hooks(endpoint.schema, what, counts)


def _type_hooks(type: d.Type, what: str, counts: tuple[int, ...]) -> Iterator[_Hook]:
    for union in _parts(type, d.UnionOf):
        if isinstance(union.attribute, d.Reference):
            yield _Hook(union.attribute, f"'attribute' of a union of {what}", "function", (3,))
    for query in _parts(type, d.QueryOf):
        yield _Hook(query.process, f"'process' of a query of {what}", "function", tuple(n + 1 for n in counts))
    for collection in _parts(type, d.CollectionOf):
        if collection.custom is not None:
            yield _Hook(collection.custom, f"'collection' of {what}", "collection")


def _argument_counts(endpoint: d.Endpoint) -> tuple[int, ...]:
    """How many arguments a call by keywords hands on: the parameters as one, and the body."""
    fields = [*endpoint.params, *endpoint.search_params]
    if endpoint.has_body:
        return (2,)
    if any(field.required for field in fields):
        return (1,)
    return (0, 1) if fields else (0,)


def _probe(hooks: Sequence[_Hook], python_path: Sequence[Path | str]) -> list[tuple[str, str]]:
    """What is wrong with each hook: a code and a message, or two empty texts."""
    requests = [
        {"module": hook.reference.module, "name": hook.reference.name, "kind": hook.kind, "counts": hook.counts}
        for hook in hooks
    ]
    paths = [os.fspath(Path(path).resolve()) for path in python_path]
    environment = dict(os.environ)
    environment["PYTHONPATH"] = os.pathsep.join([*paths, *filter(None, [environment.get("PYTHONPATH")])])
    with tempfile.TemporaryDirectory() as folder:
        answers = Path(folder) / "answers"
        ended = "its import ended the interpreter"
        try:
            subprocess.run(  # noqa: S603 -- our own file, with no argument of the spec's
                [sys.executable, "-P", os.fspath(Path(__file__).with_name("hook_probe.py")), os.fspath(answers)],
                input=json.dumps(requests).encode(),
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=HOOKS_TIMEOUT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            ended = f"its import took longer than {HOOKS_TIMEOUT:.0f} s"
        lines = answers.read_text("utf-8").splitlines() if answers.exists() else []
    found = [(answer["code"], answer["message"]) for answer in map(json.loads, lines)]
    if len(found) < len(hooks):
        found.append(("hook-missing", ended))
    return found + [("", "")] * (len(hooks) - len(found))
