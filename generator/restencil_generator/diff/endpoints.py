"""Comparison of endpoints: their requests, arguments and bodies, their responses, and caching."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Final

from restencil_generator.diff.change import Change
from restencil_generator.diff.fields import field_changes, paired, rows_changes, type_changes
from restencil_generator.diff.roles import ARGUMENT, BODY, RESULT
from restencil_generator.diff.types import shown
from restencil_generator.diff.walk import (
    DERIVED,
    DESCRIPTION,
    WRITTEN,
    At,
    Attributes,
    Flag,
    Ignored,
    Value,
    deprecation,
    walk,
)
from restencil_generator.spec import model as d
from restencil_generator.spec.type_info import bare


def endpoint_changes(at: At, old: d.Endpoint, new: d.Endpoint) -> Iterator[Change]:
    """Yield the changes of an endpoint, including inherited settings."""
    yield from walk(ENDPOINT_ATTRIBUTES, at, old, new)


# -------------------------------------------------------------------------------------------------------------- request


def _headers(at: At, old: d.Endpoint, new: d.Endpoint) -> Iterator[Change]:
    for name in sorted(old.headers.keys() | new.headers.keys()):
        was, now = old.headers.get(name), new.headers.get(name)
        if was != now:
            yield at.inside(f"headers.{name}").under("headers", "headers", name).changed("headers-changed", was, now)


def _without(at: At, old: d.Endpoint, new: d.Endpoint) -> Iterator[Change]:
    for name in sorted(set(old.without) ^ set(new.without)):
        there = at.inside(f"headers.{name}").under("header_params")
        yield there.change("headers-changed", "not sent" if name in new.without else "sent")


def _path(at: At, old: d.Endpoint, new: d.Endpoint) -> Iterator[Change]:
    before, now = old.path, new.path
    if before == now:
        return
    at = at.under("path")
    if len(before.parameters) != len(now.parameters):
        yield at.inside("path").changed("path-parameters-changed", before.text, now.text)
        return
    names = [[parameter.name for parameter in path.parameters] for path in (before, now)]
    moved = names[0] != names[1] and sorted(names[0]) == sorted(names[1])
    if _literal_text(before) != _literal_text(now) or moved:
        yield at.inside("path").changed("path-changed", before.text, now.text)
    for was, is_now in zip(before.parameters, now.parameters, strict=True) if not moved else ():
        there = at.inside(is_now.name)
        if was.name != is_now.name:
            yield there.change("path-parameter-renamed", f"{was.name} → {is_now.name} in {now.text}", was.name)
        yield from _OPTIONAL_PARAMETER.compare(there, "path", was.optional, is_now.optional)


_OPTIONAL_PARAMETER: Final = Flag(("argument-optional", "optional"), ("argument-required", "required"))


def _literal_text(path: d.Path) -> tuple[str, ...]:
    """Return the literal parts of a path; the names of parameters, and whether they are optional, are ignored."""
    texts = [part.text if isinstance(part, d.PathText) else f"{part.prefix}\0" for part in path.parts]
    return tuple("".join(texts).split("\0"))


def _path_types(at: At, old: d.Endpoint, new: d.Endpoint) -> Iterator[Change]:
    if old.params == new.params or len(old.params) != len(new.params):
        return
    by_name = {field.name: field for field in old.params}
    for index, field in enumerate(new.params):
        was = by_name.get(field.name) or old.params[index]
        if not _follows_field(at, was, field):
            alike = dataclasses.replace(was, name=field.name, wire=field.wire)
            for change in field_changes(at.of(ARGUMENT), _with_bare_type(alike), _with_bare_type(field)):
                if change.rule not in ("argument-required", "argument-optional"):
                    yield change


def _follows_field(at: At, old: d.Field, new: d.Field) -> bool:
    """Return whether a parameter has the type of an entity's field in both specs, where changes are reported."""
    assert at.owners is not None
    sides = ((at.specs.old, at.owners[0], old), (at.specs.new, at.owners[1], new))
    if any(_is_declared(field, resource) for _, resource, field in sides):
        return False
    return old.name != new.name or all(
        any(spec.entities[entity].field(field.name) is not None for entity in resource.entities)
        for spec, resource, field in sides
    )


def _is_declared(field: d.Field, resource: d.Resource) -> bool:
    """Return whether the spec declares a parameter: then it has its own place."""
    return field.place not in {resource.place, *(endpoint.place for _, endpoint in resource.all_endpoints())}


def _with_bare_type(field: d.Field) -> d.Field:
    """Return a parameter of a path without `?`, which comes from the path."""
    return dataclasses.replace(field, type=bare(field.type))


# ------------------------------------------------------------------------------------------------------------ arguments


def _arguments(at: At, old: d.Endpoint, new: d.Endpoint) -> Iterator[Change]:
    """Yield the changes of search and header parameters together, since one may have become the other."""
    if _has_arguments_of_its_list(old, new):
        return
    if old.search_params is new.search_params and old.header_params is new.header_params:
        return
    at = at.of(ARGUMENT)
    before, now = _sent(old), _sent(new)
    moved = {name for name in before.keys() & now.keys() if before[name][0] != now[name][0]}
    in_path = {parameter.name for parameter in (*old.path.parameters, *new.path.parameters)}
    apart = _changed_page_arguments(at) | moved
    for kind in ("the query", "a header"):
        rows = [
            [one for place, one in side.values() if place == kind and one.name not in apart] for side in (before, now)
        ]
        for change in rows_changes(at, rows[0], rows[1]):
            if not (change.sub in in_path and change.rule in ("argument-removed", "argument-added")):
                yield change
    for name in sorted(moved):
        (was, field), (is_now, other) = before[name], now[name]
        yield at.inside(name).between(field.place, other.place).changed("argument-wire-changed", was, is_now)
        yield from field_changes(at, dataclasses.replace(field, wire=other.wire), other)


def _has_arguments_of_its_list(old: d.Endpoint, new: d.Endpoint) -> bool:
    """Return whether changes of the arguments are reported for the list of a list operation."""
    return isinstance(new.schema, d.AdderOf) and "search_params" not in old.written | new.written


def _sent(endpoint: d.Endpoint) -> dict[str, tuple[str, d.Field]]:
    """Return the arguments outside the path by name, with the part of the request that contains each."""
    found = {field.name: ("the query", field) for field in endpoint.search_params}
    for header in endpoint.header_params:
        field = header.field if header.auto is None else _optional(header.field)
        found[field.name] = ("a header", field)
    return found


def _changed_page_arguments(at: At) -> set[str]:
    """Return the arguments whose changes are reported as a change of the pagination field."""
    fields = [
        {one.pagination_field.name for _, one in resource.all_endpoints() if one.pagination_field is not None}
        for resource in at.owners or ()
    ]
    return fields[0] ^ fields[1]


def _header_params(at: At, old: d.Endpoint, new: d.Endpoint) -> Iterator[Change]:
    if not _has_arguments_of_its_list(old, new):
        in_keys = not (old.side_effect and new.side_effect)
        yield from header_changes(at, old.header_params, new.header_params, in_keys=in_keys)


def header_changes(
    at: At, old: tuple[d.HeaderParam, ...], new: tuple[d.HeaderParam, ...], *, in_keys: bool = True
) -> Iterator[Change]:
    """Yield changes of header parameters in keys, and of generated values."""
    known = {header.field.name: header for header in old}
    for header in new:
        was = known.get(header.field.name)
        if was is not None:
            there = at.inside(header.field.name).between(was.field.place, header.field.place)
            rows = HEADER_ATTRIBUTES if in_keys else {"auto": HEADER_ATTRIBUTES["auto"]}
            yield from walk(rows, there, was, header)


def _partition(at: At, old: d.HeaderParam, new: d.HeaderParam) -> Iterator[Change]:
    """Yield a change if calls that differ in a header now share a response or records, or no longer do."""
    was, now = (
        "in a partition" if one.partition else "in the key" if one.in_key else "in no key" for one in (old, new)
    )
    if was != now:
        shared = (old.partition and not new.partition) or (old.in_key and not (new.in_key or new.partition))
        yield at.changed("argument-left-key" if shared else "argument-joined-key", was, now)


HEADER_ATTRIBUTES: Final[Attributes[d.HeaderParam]] = {
    "field": Ignored("it is compared with the other arguments"),
    "in_key": Ignored("it is compared with `partition`"),
    "partition": _partition,
    "secret": Ignored("it says what is shown, and a secret header is in no key, which is compared"),
    "auto": Value("argument-default-changed", sub="", label="auto"),
}

# ----------------------------------------------------------------------------------------------------------------- body


def _body(at: At, old: d.Endpoint, new: d.Endpoint) -> Iterator[Change]:
    before, now = (one.body if one.has_body else None for one in (old, new))
    at = at.inside("body")
    if before is not None and now is not None:
        if not (_is_item(at, 0, before, old) and _is_item(at, 1, now, new)):
            yield from walk(BODY_ATTRIBUTES, at.under("body").of(BODY), before, now)
    elif before is not now and (old.method == new.method or "body" in old.written | new.written):
        rule, text = ("body-added", "takes a body") if before is None else ("body-removed", "takes no body")
        yield at.under("body").change(rule, text)


def _is_item(at: At, side: int, body: d.Body, endpoint: d.Endpoint) -> bool:
    """Return whether the body is the default: the entity of the resource, or the item of the list."""
    assert at.owners is not None
    resource = at.owners[side]
    item = endpoint.collection.of.item if endpoint.collection is not None else resource.schema
    return body.kind == "json" and body.type in (item, resource.schema)


def _body_kind(at: At, old: d.Body, new: d.Body) -> Iterator[Change]:
    if old.kind == new.kind:
        return
    if {old.kind, new.kind} <= _WITH_MEMBERS:
        yield at.changed("body-format-changed", old.kind, new.kind)
        return
    rule = "body-member-type-changed"
    if {old.kind, new.kind} <= {"json", "any"}:
        rule = "argument-type-widened" if new.kind == "any" else "argument-type-narrowed"
    yield at.changed(rule, *(shown(body.type) if body.type is not None else body.kind for body in (old, new)))


_WITH_MEMBERS: Final = frozenset(("json", "form", "multipart"))


def _body_type(at: At, old: d.Body, new: d.Body) -> Iterator[Change]:
    was = at.specs.names.translated(old.type) if old.type is not None else None
    if (was, old.partial) == (new.type, new.partial) or not {old.kind, new.kind} <= _WITH_MEMBERS:
        return
    before, now = _members(at, old, at.specs.old), _members(at, new, at.specs.new)
    if before is not None and now is not None:
        yield from rows_changes(at, before, now)
    elif was is not None and new.type is not None:
        yield from type_changes(at, was, new.type)


def _members(at: At, body: d.Body, spec: d.Spec) -> tuple[d.Field, ...] | None:
    """Return the members of a body; None if it is not an object."""
    match body.type:
        case d.ObjectType(members):
            found = tuple(_optional(member) for member in members) if body.partial else members
        case d.ObjectRef(name):
            found = tuple(_in_body(field) for field in spec.objects[name].fields if field.is_sent)
        case d.EntityRef(name):
            fields = spec.entities[name].all_fields
            found = tuple(_in_body(field, partial=body.partial) for field in fields if field.is_sent)
        case _:
            return None
    return found if spec is at.specs.new else tuple(map(at.specs.names.in_field, found))


def _optional(field: d.Field) -> d.Field:
    type = field.type if isinstance(field.type, d.Optional) else d.Optional(field.type)
    return dataclasses.replace(field, type=type, default=d.MISSING, written_default=False)


def _in_body(field: d.Field, *, partial: bool = False) -> d.Field:
    """Return a field of an entity or object as in bodies: only marked fields are required."""
    if not field.must or partial:
        return _optional(field)
    return dataclasses.replace(field, type=bare(field.type), default=d.MISSING, written_default=False)


BODY_ATTRIBUTES: Final[Attributes[d.Body]] = {
    "kind": _body_kind,
    "type": _body_type,
    "partial": Ignored("it is compared with `type`"),
}


def _request(at: At, old: d.Endpoint, new: d.Endpoint) -> Iterator[Change]:
    """Yield changes of how a body is sent, whether it is required, and whether it is part of the key."""
    if old.request == new.request or not (old.has_body and new.has_body):
        return
    for change in walk(REQUEST_ATTRIBUTES, at.under("request", "request"), old.request, new.request):
        if not (change.sub == "body" and change.path[-1] == "in_key" and old.side_effect and new.side_effect):
            yield change


def _dotted(path: tuple[str, ...]) -> str | None:
    return ".".join(path) or None


REQUEST_ATTRIBUTES: Final[Attributes[d.Request]] = {
    "content_type": Value("body-format-changed", sub="request.content_type"),
    "envelope": Value("body-format-changed", sub="request.envelope", show=_dotted),
    "optional": Flag(("body-optional", "optional"), ("body-required", "required"), sub="body"),
    "in_key": Flag(("argument-joined-key", "in the key"), ("argument-left-key", "in no key"), sub="body"),
    "style": Ignored("each field of a form has its style"),
}

# ------------------------------------------------------------------------------------------------------------- response


def _schema(at: At, old: d.Endpoint, new: d.Endpoint) -> Iterator[Change]:
    if old.schema == new.schema:
        return
    if (old.content or "json") != (new.content or "json"):
        return
    if not isinstance(new.schema, d.AdderOf | d.PageOf) or not isinstance(old.schema, d.AdderOf | d.PageOf):
        wires = {was.wire: now.wire for was, now in paired(old.search_params, new.search_params).both}
        yield from _result(at.under("schema"), old.schema and _with_new_arguments(old.schema, wires), new.schema)
    yield from _kept_apart(at, old, new)


def _returns(at: At, old: d.Endpoint, new: d.Endpoint) -> Iterator[Change]:
    if old.returns != new.returns:
        yield from _result(at.under("returns"), old.returns, new.returns)


def _result(at: At, old: d.Type | None, new: d.Type | None) -> Iterator[Change]:
    if old is not None and new is not None:
        yield from type_changes(at.of(RESULT), at.specs.names.translated(old), new)
    elif old is not new:
        yield at.inside(at.key or "").changed("result-changed", shown(old), shown(new))


def _with_new_arguments(type: d.Type, wires: Mapping[str, str]) -> d.Type:
    """Rename the arguments that distinguish the lists in a type."""
    if isinstance(type, d.CollectionOf):
        names = tuple(wires.get(name, name) for name in type.non_filter_arguments)
        return dataclasses.replace(type, non_filter_arguments=names)
    return type.map(lambda part: _with_new_arguments(part, wires))


def _kept_apart(at: At, old: d.Endpoint, new: d.Endpoint) -> Iterator[Change]:
    """Yield a change if the identity of a list changes because of another list with the same arguments."""
    before, now = (_list(one.schema) for one in (old, new))
    if before is None or now is None or before.apart == now.apart:
        return
    same_place = (old.path, old.url_prefix) == (new.path, new.url_prefix)
    if same_place and at.specs.names.translated(before.of) == now.of:
        texts = (f"kept apart as {one.apart}" if one.apart else "the list of its kind" for one in (before, now))
        yield at.inside("apart").under("schema").changed("identity-arguments-changed", *texts)


def _list(schema: d.Type | None) -> d.CollectionOf | None:
    """Return the first collection of a schema."""
    parts = () if schema is None or isinstance(schema, d.AdderOf) else d.walk(schema)
    return next((part for part in parts if isinstance(part, d.CollectionOf)), None)


def _response(at: At, old: d.Endpoint, new: d.Endpoint) -> Iterator[Change]:
    if old.response == new.response:
        return
    assert at.owners is not None
    lists = [resource.response.list_envelope for resource in at.owners]
    of_lists = [old.response.envelope, new.response.envelope] == lists
    for change in walk(RESPONSE_ATTRIBUTES, at.under("response", "response"), old.response, new.response):
        if of_lists and change.path[-1] == "envelope":
            change = dataclasses.replace(change, sub="response.list_envelope", path=("response", "list_envelope"))
        yield change


RESPONSE_ATTRIBUTES: Final[Attributes[d.Response]] = {
    "envelope": Value("envelope-changed", sub="response.envelope", show=_dotted),
    "list_envelope": Ignored("each endpoint has the envelope that counts"),
    "empty": Value("freshness-changed", sub="response.empty"),
    "ignore": Value("answers-changed", sub="response.ignore"),
}


def _errors(at: At, old: d.Endpoint, new: d.Endpoint) -> Iterator[Change]:
    for status in sorted(old.errors.keys() | new.errors.keys()):
        was, now = old.errors.get(status), new.errors.get(status)
        was = was if was is None else tuple(at.specs.names.of("object", name) for name in was)
        if was != now:
            rule = "error-type-added" if was is None else "error-type-removed" if now is None else "error-type-changed"
            there = at.inside(f"errors.{status}").under("errors", "errors", status)
            texts = (None if shape is None else " | ".join(shape) or "any" for shape in (was, now))
            yield there.changed(rule, *texts)


# ---------------------------------------------------------------------------------------------------------------- pages


def _pagination_field(at: At, old: d.Endpoint, new: d.Endpoint) -> Iterator[Change]:
    before, now = (one.pagination_field for one in (old, new))
    if before is None:
        return
    if now is None or before.name != now.name:
        there = at.inside("pagination_field").under("pagination_field")
        yield there.changed("pagination-field-changed", before.name, now.name if now is not None else None)
    else:
        yield from field_changes(at.of(ARGUMENT), _with_bare_type(before), _with_bare_type(now))


def _pagination(at: At, old: d.Endpoint, new: d.Endpoint) -> Iterator[Change]:
    if old.pagination_field is not None and new.pagination_field is not None:
        texts = [_pagination_text(endpoint.pagination) for endpoint in (old, new)]
        if texts[0] != texts[1]:
            yield at.inside("pagination").under("pagination").changed("pagination-changed", *texts)


def _pagination_text(pagination: d.Pagination | None) -> str | None:
    """Return all attributes of a pagination as a string; the parameter of the size only has its JSON name."""
    if pagination is None:
        return None
    values = {field.name: getattr(pagination, field.name) for field in dataclasses.fields(pagination)}
    values["in"] = "body" if values.pop("in_body") else None
    if pagination.size is not None:
        values["size"] = f"{pagination.size.param.wire}={pagination.size.value}"
    return f"{{{', '.join(f'{name}: {value}' for name, value in values.items() if value is not None)}}}"


# -------------------------------------------------------------------------------------------------------------- options


def _options(at: At, old: d.Endpoint, new: d.Endpoint) -> Iterator[Change]:
    if old.options != new.options:
        yield from walk(OPTION_ATTRIBUTES, at.under("options", "options"), old.options, new.options)


OPTION_ATTRIBUTES: Final[Attributes[d.Options]] = {
    "data_expiry_length": Value("freshness-changed"),
    "error_expiry_length": Value("freshness-changed"),
    "poll_frequency": Value("freshness-changed"),
    "invalid_if_stale": Value("freshness-changed"),
    "needs": Value("freshness-changed"),
    "conditional": Value("freshness-changed"),
    "freshness": Value("freshness-changed"),
    "concurrency": Value("concurrency-changed"),
    "replace": Value("freshness-changed"),
    "error_policy": Value("error-policy-changed"),
    "validate": Value("answers-changed"),
    "strict_shape": Value("answers-changed"),
    "timeout": Value("patience-changed"),
    "retries": Value("patience-changed"),
    "persist": Value("persist-changed"),
}


def _expires(at: At, old: d.Endpoint, new: d.Endpoint) -> Iterator[Change]:
    was = old.expires if old.expires == d.NOTHING else {_renamed_target(at, target) for target in old.expires}
    if was != (new.expires if new.expires == d.NOTHING else set(new.expires)):
        yield at.inside("expires").under("expires").changed("freshness-changed", old.expires, new.expires)


def _renamed_target(at: At, target: str) -> str:
    """Return a target of `expires` with the new name of its resource."""
    resource, dot, member = target.partition(".")
    return f"{at.specs.resources.get(resource, resource)}{dot}{member}"


def use_text(use: d.Use) -> str:
    """Return alternatives of schemes as in a spec."""
    texts = [f"[{', '.join(names)}]" if len(names) > 1 else "".join(names) or "none" for names in use]
    return f"[{', '.join(texts)}]"


ENDPOINT_ATTRIBUTES: Final[Attributes[d.Endpoint]] = {
    "name": Ignored("it is the key in the resource, which is compared"),
    "python": DERIVED,
    "standard": DERIVED,
    "extends": Ignored("what an endpoint inherits is compared"),
    "written": WRITTEN,
    "method": Value("method-changed"),
    "path": _path,
    "params": _path_types,
    "url_prefix": Value("url-prefix-changed", inherited=True),
    "headers": _headers,
    "without": _without,
    "search_params": _arguments,
    "header_params": _header_params,
    "search_style": Ignored("each parameter has its style"),
    "auth": Value(
        "auth-use-changed", show=lambda use: "that of the spec" if use is None else use_text(use), inherited=True
    ),
    "body": _body,
    "send_body": Ignored("whether there is a body is compared"),
    "request": _request,
    "content": Value("content-changed", show=lambda content: content or "json"),
    "schema": _schema,
    "returns": _returns,
    "collection": DERIVED,
    "exact_filters": DERIVED,
    "response": _response,
    "errors": _errors,
    "side_effect": Value("side-effect-changed", sub="", show=lambda has: "a mutation" if has else "a read"),
    "pagination_field": _pagination_field,
    "pagination": _pagination,
    "options": _options,
    "optimistic": Value("optimistic-changed"),
    "get_optimistic_response": Value("optimistic-changed"),
    "base": Value("hook-changed", key="endpoint", inherited=True),
    "process": Value("hook-changed"),
    "update": Value("hook-changed"),
    "follow_see_other": Value("answers-changed"),
    "cross_origin_body": Value("answers-changed", key="redirects"),
    "expires": _expires,
    "description": DESCRIPTION,
    "deprecated": deprecation,
    "example": Value("example-changed", key="examples", sub="", note="example"),
    "extenders": Ignored("each is compared as an endpoint"),
}
