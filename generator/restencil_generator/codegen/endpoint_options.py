"""The options of endpoints and of resource classes, as expressions."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from restencil_generator.codegen.imports import ERRORS, OBJECTS, Scope
from restencil_generator.codegen.pyexpr import call, integer, pair, string, table
from restencil_generator.codegen.runtime_schemas import NOTHING, body_model, non_filter_keys, runtime_form, schema_of
from restencil_generator.spec import model as d
from restencil_generator.spec.grammar.patterns import parts_entities
from restencil_generator.spec.names import python_name
from restencil_generator.spec.type_info import fields_in, holds_many, type_info

Value: TypeAlias = "str | int | tuple[Value, ...] | Mapping[str, Value]"
"""Plain data for a Python literal; durations and other integers get thousands separators."""

OptionValues: TypeAlias = "dict[str, str | None]"
"""Options by name in their written order: the expression of each, None if it is not set."""

_POLICIES: Final[Mapping[str, str | None]] = {
    "soft": "always_soft",
    "soft_on_server_error": "soft_on_server_error",
    "hard": None,
}
_JSON: Final = ("json", "any")
"""Kinds of bodies that are sent as JSON."""


# -------------------------------------------------------------------------------------------------------------- classes


def resource_options(resource: d.Resource, scope: Scope) -> OptionValues:
    """Return the keywords of a resource class: the options of all members, and those of its list."""
    found: OptionValues = {}
    if resource.path is not None:
        found = {"path": string(resource.path.text), "schema": schema_option(resource.schema, scope)}
    found |= _common_options(resource, scope) | _body_format(resource.body)
    found |= _request_options(resource.request) | _response_options(resource.response)
    found["path_params"] = _value(_path_params((), resource.params))
    found["header_params"] = _header_params(resource.header_params, scope)
    found["without"] = _value(resource.without)
    found |= {"optimistic": "True" if resource.optimistic else None, "deprecated": _reason(resource.deprecated)}
    if resource.singleton:
        found["singleton"] = "True"
    if scope.spec.has_errors:
        found["error_classes"] = sibling_module(ERRORS)
    if resource.path is not None and any(one.has_body for _, one in resource.all_endpoints()):
        found["body"] = _body_names(resource.body, scope)
    return found | _list_options(resource, scope)


def _list_options(resource: d.Resource, scope: Scope) -> OptionValues:
    """Return the class keywords from which the runtime creates the collection of `get_list`."""
    listed = resource.endpoints.get("get_list")
    if listed is None or "schema" in listed.written or not isinstance(listed.schema, d.CollectionOf):
        return {}
    custom = listed.schema.custom
    return {
        "collection": None if custom is None else scope.hand_written(custom),
        "non_filter_argument_keys": non_filter_keys(listed.schema),
        "follow": None if custom is not None or listed.schema.follow else "False",
        "apart": string(listed.schema.apart) if listed.schema.apart else None,
    }


# ------------------------------------------------------------------------------------------------------------ endpoints


def endpoint_options(endpoint: d.Endpoint, resource: d.Resource, scope: Scope, shared: OptionValues) -> OptionValues:
    """Return the options of an endpoint except its schema; `shared` are those of its resource."""
    found: OptionValues = {"method": string(endpoint.method), "path": string(endpoint.path.text), "side_effect": None}
    if endpoint.side_effect != (endpoint.method != "GET"):
        found["side_effect"] = str(endpoint.side_effect)
    computed = endpoint.returns if endpoint.schema is None else None
    found["returns"] = schema_option(computed, scope)
    if _common_settings(endpoint) == _common_settings(resource):
        found |= {name: shared[name] for name in _COMMON}
    else:
        found |= _common_options(endpoint, scope)
    sender = sender_of(endpoint)
    body = None if sender is None else sender.body
    if sender is not None:
        found |= _body_format(body) | _request_options(sender.request, body)
    found["form_styles"] = _value(_form_styles(body))
    found["send_body"] = "True" if endpoint.send_body else None
    found["body_in_key"] = "True" if endpoint.request.in_key else None
    found |= _response_options(endpoint.response, "none" if isinstance(endpoint.schema, d.Optional) else None)
    names = () if endpoint.expires == d.NOTHING else tuple(_target(name, resource) for name in endpoint.expires)
    found["expires"] = string(d.NOTHING) if endpoint.expires == d.NOTHING else _value(names)
    found["exact_filters"] = None if endpoint.exact_filters is None else _literal(endpoint.exact_filters)
    found["representation"] = _value(_representation(endpoint, scope.spec))
    found["content"] = _text(endpoint.content)
    family = (endpoint, *endpoint.extenders.values())
    page = next((one.pagination_field for one in family if one.pagination_field is not None), None)
    found["pagination_field"] = None if page is None else string(page.wire)
    found["pagination"] = None if endpoint.pagination is None else _pagination(endpoint.pagination, scope)
    found["follow_see_other"] = "True" if endpoint.follow_see_other else None
    for name in ("process", "update", "get_optimistic_response"):
        hook: d.Reference | None = getattr(endpoint, name)
        found[name] = None if hook is None else scope.hook(hook)
    found["optimistic"] = "True" if any(one.optimistic for one in family) else None
    found["path_params"] = _value(_path_params(endpoint.params, resource.params))
    found["search_fields"] = _value({one.wire: _field_path(one.of) for one in endpoint.search_params if one.of})
    found["body_fields"] = _value(_body_fields(body))
    found["header_params"] = _header_params(endpoint.header_params, scope)
    found["without"] = _value(endpoint.without)
    arguments = (*endpoint.params, *endpoint.search_params)
    deprecated = {one.python: one.deprecated for one in arguments if one.deprecated is not None}
    found["deprecated_params"] = _value(deprecated)
    found |= _search_options(endpoint, scope)
    placed = (*_keywords(endpoint), *(param.field for one in family for param in one.header_params))
    found["formats"] = _value({field.python: field.format for field in placed if field.format})
    found["wire"] = _value({one.python: one.wire for one in _keywords(endpoint) if one.python != one.wire})
    found["deprecated"] = _reason(resource.deprecated if endpoint.deprecated is None else endpoint.deprecated)
    if sender is not None or not (endpoint.method in d.BODILESS and not endpoint.send_body):
        found["body"] = _body_names(sent_body(sender or endpoint), scope)
    return found


def _representation(endpoint: d.Endpoint, spec: d.Spec) -> tuple[str, ...]:
    """Return the arguments of a list that `get` of its records has too, where they can only select how they are shown.

    They do not select it there if they are fields, and not here if they are exact filters.
    """
    if endpoint.side_effect or endpoint.schema is None or not holds_many(endpoint.schema):
        return ()
    names = set(d.entities_in(endpoint.schema))
    selecting: set[str] = set()
    for resource in spec.resources.values():
        get = resource.endpoints.get("get")
        if get is not None and get.schema is not None and not names.isdisjoint(d.entities_in(get.schema)):
            fields = {field.wire for name in names for field in spec.entities[name].all_fields}
            selecting.update(one.wire for one in get.search_params if not one.of and one.wire not in fields)
    filters = endpoint.exact_filters or ()
    return tuple(one.wire for one in endpoint.search_params if one.wire in selecting and one.wire not in filters)


def differing(
    wanted: OptionValues, shared: OptionValues, endpoint: d.Endpoint, base: OptionValues | None = None
) -> OptionValues:
    """Return the options to write for an endpoint: all that differ from those of its class.

    `base` are the options of the endpoint that it extends; options that differ from the class there are written too.
    """
    found = {name: value for name, value in wanted.items() if value != shared.get(name)}
    if base is not None:
        found = {name: value for name, value in wanted.items() if name in found or base.get(name, value) != value}
    if found.get("empty", "") is None:
        found["empty"] = _usual_empty(endpoint)
    if found.get("optimistic", "") is None:
        del found["optimistic"]
        if endpoint.standard and endpoint.side_effect:
            found["optimistic"] = "False"  # endpoints without a standard payload (reads, added members) do not need it
    return found


def _usual_empty(endpoint: d.Endpoint) -> str | None:
    """Return the default `empty` of an endpoint: the request body becomes the value, or there is none."""
    if not endpoint.side_effect:
        return None
    name = endpoint.extends or endpoint.name
    return string("merge" if name in ("update", "partial_update", "create", "push", "unshift") else "none")


def schema_option(type: d.Type | None, scope: Scope) -> str | None:
    """Return the schema of a type, None if the value is kept as JSON."""
    return None if type is None else schema_of(type, scope)


_OPTION_NAMES: Final = tuple(field.name for field in dataclasses.fields(d.Options))
_COMMON: Final = tuple(
    dict.fromkeys(
        [
            *("url_prefix", "endpoint", "request_init", *_OPTION_NAMES, "consistency", "freshness", "concurrency"),
            *("strict", "errors", "auth", "redirects"),
        ]
    )
)
"""The options that resources and endpoints have in common, in their written order."""


def _common_settings(owner: d.Resource | d.Endpoint) -> tuple[object, ...]:
    """Return the settings that determine the common options."""
    given = owner.headers, owner.errors, owner.auth, owner.cross_origin_body
    return owner.options, owner.url_prefix, owner.base, *given


def _common_options(owner: d.Resource | d.Endpoint, scope: Scope) -> OptionValues:
    """Return the options that resources and endpoints have in common."""
    options = owner.options
    found: OptionValues = dict.fromkeys(_COMMON)
    found["url_prefix"] = _text(owner.url_prefix)
    found["endpoint"] = None if owner.base is None else scope.hand_written(owner.base)
    found["request_init"] = table({string("headers"): _literal(owner.headers)}) if owner.headers else None
    for name in _OPTION_NAMES:
        value: object = getattr(options, name)
        if isinstance(value, str | int):
            found[name] = _literal(value)
    found["error_policy"] = _error_policy(options.error_policy, scope)
    found["needs"] = _literal(_needs(options.needs))
    found["freshness"] = _freshness(options.freshness)
    found["concurrency"] = _concurrency(options.concurrency)
    found["strict"] = "True"
    found["errors"] = error_table(owner.errors, scope) if owner.errors else None
    found["auth"] = None if owner.auth is None else _literal(owner.auth)
    found["redirects"] = table({string("cross_origin_body"): "True"}) if owner.cross_origin_body else None
    return found


def _error_policy(policy: d.ErrorPolicy | d.Reference | None, scope: Scope) -> str | None:
    if isinstance(policy, d.Reference):
        return scope.hook(policy)
    known = None if policy is None else _POLICIES[policy]
    return None if known is None else scope.restencil(known)


def _freshness(freshness: str | d.ServerFreshness | None) -> str | None:
    """Return the runtime option for freshness."""
    if not isinstance(freshness, d.ServerFreshness):
        return _text(freshness)
    bounds = {"at_least": freshness.at_least, "at_most": freshness.at_most}
    given = {name: bound for name, bound in bounds.items() if bound is not None}
    return _literal({"server": given} if given else "server")


def _needs(needs: d.Needs) -> Value:
    """Return the runtime option for the fields of a complete record."""
    return needs if isinstance(needs, str) else tuple(python_name(name, "field") for name in needs)


def _concurrency(concurrency: d.Concurrency | None) -> str | None:
    """Return the runtime option for the detection of concurrent updates."""
    if concurrency is None:
        return None
    if concurrency.field is not None:
        return _literal({"field": python_name(concurrency.field, "field")})
    return _literal({"etag": "required"} if concurrency.required else "etag")


def _request_options(request: d.Request, body: d.Body | None = None) -> OptionValues:
    """Return the options for sending a body; only JSON has an envelope."""
    found: OptionValues = {"content_type": _text(request.content_type)}
    return found | ({"wrap": _text(".".join(request.envelope))} if body is None or body.kind in _JSON else {})


def _body_format(body: d.Body | None) -> OptionValues:
    if body is None:
        return {"body_format": None}
    if body.kind not in _JSON:
        return {"body_format": string(body.kind)}
    # Without the option, a string would be sent as text.
    may_be_string = body.kind == "any" or isinstance(body.type, d.OneOf)
    return {"body_format": string("json") if may_be_string else None}


def _form_styles(body: d.Body | None) -> Mapping[str, Value]:
    """Return the styles of form fields that differ from the defaults."""
    if body is None or body.kind != "form" or not isinstance(body.type, d.ObjectType):
        return {}
    return {field.wire: field.style for field in body.type.members if field.style is not None}


def _response_options(response: d.Response, empty: d.Empty | None = None) -> OptionValues:
    """Return the options for the value of a response; `empty` is the default for an empty one."""
    return {
        "unwrap": _text(".".join(response.envelope)),
        "empty": _text(response.empty or empty),
        "ignore": "True" if response.ignore else None,
    }


def _target(name: str, resource: d.Resource) -> str:
    """Return a name in `expires` for the runtime: an endpoint of the same resource without the resource's name."""
    owner, _, member = name.partition(".")
    if not member:
        return name if name == d.SELF else python_name(name, "resource")
    python = python_name(member, "endpoint")
    return python if owner == resource.name else f"{python_name(owner, 'resource')}.{python}"


def _header_params(params: Iterable[d.HeaderParam], scope: Scope) -> str | None:
    found = {string(param.field.python): header_param(param, scope) for param in params}
    return table(found) if found else None


def header_param(param: d.HeaderParam, scope: Scope) -> str:
    """Return the expression for a header parameter, with the options that differ from the defaults for its name."""
    parts = parts_entities(param.field.wire)
    writes_key = param.in_key is (param.secret or param.partition)
    writes_partition = param.partition is not (parts and not (param.in_key and writes_key))
    options = {
        "in_key": str(param.in_key) if writes_key else None,
        "partition": str(param.partition) if writes_partition else None,
        "secret": "True" if param.secret else None,
        "auto": _text(param.auto),
        "deprecated": _reason(param.field.deprecated),
    }
    given = {name: value for name, value in options.items() if value is not None}
    return call(scope.restencil("HeaderParam"), [string(param.field.wire)], given)


def _path_params(own: Iterable[d.Field], of_resource: Iterable[d.Field]) -> Mapping[str, Value]:
    """Return the kinds of path parameters other than strings; those in other paths of the resource have no effect."""
    fields = {field.wire: field for field in of_resource} | {field.wire: field for field in own}
    kinds = {wire: _path_kind(field) for wire, field in fields.items()}
    return {wire: kind for wire, kind in kinds.items() if kind}


def _path_kind(field: d.Field) -> str:
    if field.of:
        return _field_path(field.of)
    return "slashes" if field.slashes else "list" if type_info(field.type).shape == "list" else ""


def _field_path(dotted: str) -> str:
    """Return the path of a field of an entity with Python names."""
    return ".".join(python_name(part, "field") for part in dotted.split("."))


def _body_fields(body: d.Body | None) -> Mapping[str, Value]:
    """Return the fields of the entity behind the members of a body, by JSON name of the member."""
    if body is None or not isinstance(body.type, d.ObjectType):
        return {}
    return {field.wire: _field_path(field.of) for field in body.type.members if field.of}


def _search_options(endpoint: d.Endpoint, scope: Scope) -> OptionValues:
    """Return the options for lists and objects in search strings, and the JSON names of the members of objects."""
    styles: dict[str, Value] = {}
    types: dict[str, str] = {}
    for field in endpoint.search_params:
        if field.style is None:
            continue
        styles[field.wire] = field.style
        known = type_info(field.type)
        kind = known.item if known.shape == "list" and known.item is not None else known.bare
        if field.style == "form" and (listed := endpoint.search_style[0]) is not None:
            members = fields_in(scope.spec.objects, kind)
            inner = [one.wire for one in members if type_info(one.type).shape == "list"]
            styles = {**dict.fromkeys(inner, listed), **styles}
        if type_info(kind).shape in ("object", "mapping") and runtime_form(kind) != NOTHING:
            types[string(field.wire)] = _names(runtime_form(kind), scope) or scope.builtin("dict")
    return {"search_styles": _value(styles), "search_types": table(types) if types else None}


def _pagination(pagination: d.Pagination, scope: Scope) -> str:
    found: dict[str, str] = {"style": string(pagination.style)}
    size: str | None
    if pagination.size is not None:
        size = _literal({"param": pagination.size.param.wire, "value": pagination.size.value})
    else:
        size = None if pagination.length is None else string(str(pagination.length))
    given = {
        "in": string("body") if pagination.in_body else None,
        "next": None if pagination.next is None else string(str(pagination.next)),
        "size": size,
        "more": None if pagination.more is None else string(str(pagination.more)),
        "total": None if pagination.total is None else string(str(pagination.total)),
        "start": None if pagination.start is None else _literal(pagination.start),
        "remove_cursor": None if pagination.remove_cursor is None else scope.hook(pagination.remove_cursor),
    }
    found |= {name: value for name, value in given.items() if value is not None}
    return table({string(name): value for name, value in found.items()})


def _keywords(endpoint: d.Endpoint) -> Iterable[d.Field]:
    """Return the keywords of an endpoint and its list operations except the body: they share one mapping of names."""
    found: dict[str, d.Field] = {}
    for one in (endpoint, *endpoint.extenders.values()):
        found |= {field.python: field for field in (*one.params, *one.search_params)}
        if one.page_param is not None:
            found[one.page_param.python] = one.page_param
    return found.values()


# --------------------------------------------------------------------------------------------------------------- bodies


def sender_of(endpoint: d.Endpoint) -> d.Endpoint | None:
    """Return the endpoint whose body the options describe: itself, or for a list its first operation with a body.

    A list operation with its own body has its own options.
    """
    sending = [one for one in (endpoint, *endpoint.extenders.values()) if one.has_body]
    return next((one for one in sending if one is endpoint or "body" not in one.written), next(iter(sending), None))


def sent_body(endpoint: d.Endpoint) -> d.Body | None:
    """Return the body of an endpoint as it is sent: `assign` sends entries by their keys."""
    body = endpoint.body
    adds_entries = isinstance(endpoint.schema, d.AdderOf) and endpoint.schema.how == "assign"
    if body is None or not adds_entries or not isinstance(body.type, d.EntityRef | d.UnionOf):
        return body
    return d.Body(body.kind, d.ValuesOf(body.type))


def _body_names(body: d.Body | None, scope: Scope) -> str:
    """Return the option `body`: the JSON names of its members, `dict` if they are unchanged, None without a body."""
    if body is None:
        return "None"
    kind = body.type
    depth = 0
    while isinstance(kind, d.ListOf):
        kind, depth = kind.item, depth + 1
    names = None if kind is None else _names(runtime_form(kind), scope)
    return scope.builtin("dict") if names is None else "[" * depth + names + "]" * depth


def _names(of: d.Type, scope: Scope) -> str | None:
    if isinstance(of, d.ObjectType):
        return body_model(of.members, scope)
    named = isinstance(of, d.EntityRef | d.ObjectRef | d.UnionOf | d.OneOf | d.ValuesOf)
    return schema_of(of, scope) if named else None


# -------------------------------------------------------------------------------------------------------------- writing


def _literal(value: Value) -> str:
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int):
        return integer(value)
    if isinstance(value, str):
        return string(value)
    if isinstance(value, Mapping):
        return table({string(name): _literal(part) for name, part in value.items()})
    return pair(map(_literal, value))


def _value(value: tuple[Value, ...] | Mapping[str, Value]) -> str | None:
    """Return a literal; None for an empty value."""
    return _literal(value) if value else None


def _reason(deprecated: str | None) -> str | None:
    """Return the reason of a deprecation as a literal, which may be empty; None if it is not deprecated."""
    return None if deprecated is None else string(deprecated)


def _text(value: str | None) -> str | None:
    """Return a string literal; None for an empty string."""
    return string(value) if value else None


def error_table(errors: Mapping[str, d.Shape], scope: Scope) -> str:
    """Return the types of error bodies by status, imported on first use.

    Several classes in one dict would have no precise type in mypy, which joins their constructors.
    """

    def types(shape: d.Shape) -> str:
        found = [call(scope.schema("Lazy"), [string(f".{OBJECTS}:{name}"), "__name__"]) for name in shape]
        return scope.typing("Any") if not found else found[0] if len(found) == 1 else pair(found)

    return table({key if key.isdecimal() else string(key): types(shape) for key, shape in errors.items()})


def sibling_module(name: str) -> str:
    """Return the full name of another module of the package."""
    return f'f"{{__package__}}.{name}"'
