"""The options of endpoints as values: what each has, what differs from what it has without a word, how it is written.

The value of an option is plain data of the declaration. None is an option that is not set; whether two options agree is
whether their values are equal, and only what is written becomes code.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from restencil_generator.codegen.imports import OBJECTS, Scope
from restencil_generator.codegen.pyexpr import Call, Expression, Table, integer, pair, string
from restencil_generator.codegen.runtime_schemas import NOTHING, body_model, holds_schema, runtime_form, schema_of
from restencil_generator.spec import model as d
from restencil_generator.spec.grammar.patterns import parts_entities
from restencil_generator.spec.names import python_name
from restencil_generator.spec.type_info import facts


@dataclasses.dataclass(frozen=True, slots=True)
class Runtime:
    """A public name of the runtime."""

    name: str


@dataclasses.dataclass(frozen=True, slots=True)
class HandWritten:
    """A class of the user's own, imported with the module."""

    reference: d.Reference


@dataclasses.dataclass(frozen=True, slots=True)
class Member:
    """Another member of the class."""

    name: str


@dataclasses.dataclass(frozen=True, slots=True)
class Sibling:
    """Another module of the package, by its full name."""

    name: str


@dataclasses.dataclass(frozen=True, slots=True)
class Names:
    """What tells a body's members their names in JSON: a type, or `NOTHING` for one that may be anything."""

    of: d.Type


@dataclasses.dataclass(frozen=True, slots=True)
class Errors:
    """What bodies of errors are, by status."""

    by_status: tuple[tuple[str, d.Shape], ...]


@dataclasses.dataclass(frozen=True, slots=True)
class HeaderParams:
    """Headers that are keywords of a call, by their names in Python."""

    by_keyword: tuple[tuple[str, d.HeaderParam], ...]


Named: TypeAlias = "Runtime | HandWritten | Member | Sibling | d.Reference"
"""What is written as a name; a reference is to a function, which is looked up at its first call."""

Value: TypeAlias = (
    "None | bool | int | str | tuple[Value, ...] | Mapping[str, Value] | d.Type | Named | Names | Errors | HeaderParams"
)
"""What an option is set to; a type stands for its schema."""

Options: TypeAlias = "dict[str, Value]"
"""Options of an endpoint by name, in the order in which they are written."""

Body: TypeAlias = "Names | None | d.Missing"
"""What is said of a body: the names of its members, None: there is no body, `MISSING`: nothing."""

_POLICIES: Final[Mapping[str, Value]] = {
    "soft": Runtime("always_soft"),
    "soft_on_server_error": Runtime("soft_on_server_error"),
    "hard": None,
}


# --------------------------------------------------------------------------------------------------------- what one has


def shared_options(resource: d.Resource) -> Options:
    """The class keywords of a resource but for what is said of bodies: options that go to every member."""
    found: Options = {}
    if resource.path is not None:
        found = {"path": resource.path.text, "schema": schema_value(resource.schema)}
    found |= _given_alike(resource) | _body_format(resource.body)
    found |= _sent(resource.request) | _answered(resource.response)
    found["path_params"] = _path_params((), resource.params) or None
    found["header_params"] = _header_params(resource.header_params)
    found["without"] = resource.without or None
    return found | {"optimistic": resource.optimistic or None, "deprecated": resource.deprecated}


def list_options(resource: d.Resource) -> Options:
    """The class keywords from which the runtime makes the collection of `get_list`."""
    listed = resource.endpoints.get("get_list")
    if listed is None or "schema" in listed.written or not isinstance(listed.schema, d.CollectionOf):
        return {}
    custom = listed.schema.custom
    return {
        "collection": None if custom is None else HandWritten(custom),
        "non_filter_argument_keys": listed.schema.non_filter_arguments or None,
        "follow": None if custom is not None or listed.schema.follow else False,
        "apart": listed.schema.apart or None,
    }


def endpoint_options(endpoint: d.Endpoint, resource: d.Resource, objects: Mapping[str, d.Object]) -> Options:
    """All options of an endpoint but for what is said of its body. `objects` are those of the spec."""
    found: Options = {
        "method": endpoint.method,
        "path": endpoint.path.text,
        "side_effect": endpoint.side_effect,
        "schema": schema_value(endpoint.schema),
        "returns": None if endpoint.schema is not None or endpoint.returns is None else schema_value(endpoint.returns),
    }
    found |= _given_alike(endpoint)
    sender = sender_of(endpoint)
    found |= _body_format(None if sender is None else sender.body)
    found |= _sent(d.Request() if sender is None else sender.request)
    found["form_styles"] = _form_styles(None if sender is None else sender.body)
    found |= {"send_body": endpoint.send_body or None, "body_in_key": endpoint.request.in_key or None}
    found |= _answered(endpoint.response, default_empty(endpoint))
    targets = endpoint.expires
    names = () if targets == d.NOTHING else tuple(_target(name, resource) for name in targets)
    found["expires"] = d.NOTHING if targets == d.NOTHING else names or None
    found["exact_filters"] = endpoint.exact_filters
    found["content"] = endpoint.content
    family = (endpoint, *endpoint.extenders.values())
    page = next((one.pagination_field for one in family if one.pagination_field is not None), None)
    found["pagination_field"] = None if page is None else page.wire
    found["pagination"] = None if endpoint.pagination is None else _pagination(endpoint.pagination)
    found["follow_see_other"] = endpoint.follow_see_other or None
    found["process"] = endpoint.process
    found["update"] = endpoint.update
    found["get_optimistic_response"] = endpoint.get_optimistic_response
    found["optimistic"] = any(one.optimistic for one in family) or None
    found["path_params"] = _path_params(endpoint.params, resource.params) or None
    found["search_fields"] = {field.wire: _field_path(field.of) for field in endpoint.search_params if field.of} or None
    found["body_fields"] = _body_fields(None if sender is None else sender.body)
    found["header_params"] = _header_params(endpoint.header_params)
    found["without"] = endpoint.without or None
    told = {field.python: field.deprecated for field in endpoint.params if field.deprecated is not None}
    found["deprecated_params"] = told or None
    found |= _search_options(endpoint, objects)
    placed = (*_keywords(endpoint), *(param.field for one in family for param in one.header_params))
    found["formats"] = {field.python: field.format for field in placed if field.format} or None
    found["wire"] = {field.python: field.wire for field in _keywords(endpoint) if field.python != field.wire} or None
    found["deprecated"] = resource.deprecated if endpoint.deprecated is None else endpoint.deprecated
    return found


def schema_value(type: d.Type | None) -> d.Type | None:
    """The value of the option `schema`: a type in its form at run time, None where there is nothing to look for."""
    found = NOTHING if type is None else runtime_form(type)
    return None if found == NOTHING else found


def _freshness(freshness: str | d.ServerFreshness | None) -> Value:
    """How long data lives, as the runtime takes it."""
    if not isinstance(freshness, d.ServerFreshness):
        return freshness
    bounds: dict[str, Value] = {"at_least": freshness.at_least, "at_most": freshness.at_most}
    given = {name: bound for name, bound in bounds.items() if bound is not None}
    return {"server": given} if given else "server"


def _needs(needs: d.Needs) -> Value:
    """Which fields make a record whole, as the runtime takes it."""
    return needs if isinstance(needs, str) else tuple(python_name(name, "field") for name in needs)


def _concurrency(concurrency: d.Concurrency | None) -> Value:
    """What changes are made for, as the runtime takes it."""
    if concurrency is None:
        return None
    if concurrency.field is not None:
        return {"field": python_name(concurrency.field, "field")}
    return {"etag": "required"} if concurrency.required else "etag"


def _given_alike(owner: d.Resource | d.Endpoint) -> Options:
    """The options that a resource and an endpoint are given alike."""
    found: Options = {
        "url_prefix": owner.url_prefix or None,
        "endpoint": None if owner.base is None else HandWritten(owner.base),
        "request_init": {"headers": dict(owner.headers)} if owner.headers else None,
    }
    for field in dataclasses.fields(owner.options):
        value: Value = getattr(owner.options, field.name)
        found[field.name] = _POLICIES.get(value, value) if isinstance(value, str) else value
    found["needs"] = _needs(owner.options.needs)
    found["consistency"] = "strict"
    found["freshness"] = _freshness(owner.options.freshness)
    found["concurrency"] = _concurrency(owner.options.concurrency)
    found["strict"] = True
    found["errors"] = Errors(tuple(owner.errors.items())) if owner.errors else None
    found["auth"] = owner.auth
    found["redirects"] = {"cross_origin_body": True} if owner.cross_origin_body else None
    return found


def _sent(request: d.Request) -> Options:
    """What is said of how bodies are sent."""
    return {"content_type": request.content_type, "wrap": ".".join(request.envelope) or None}


def _form_styles(body: d.Body | None) -> Options | None:
    """The styles of the fields of a form that are written in another than the usual one."""
    if body is None or body.kind != "form" or not isinstance(body.type, d.ObjectType):
        return None
    return {field.wire: field.style for field in body.type.members if field.style is not None} or None


def _answered(response: d.Response, empty: d.Empty | None = None) -> Options:
    """What is said of answers; `empty` is what counts where nothing is said of those without content."""
    return {
        "unwrap": ".".join(response.envelope) or None,
        "empty": response.empty or empty,
        "ignore": response.ignore or None,
    }


def default_empty(endpoint: d.Endpoint) -> d.Empty | None:
    """What an answer without content is because of the type of the answer; None where that says nothing."""
    return "none" if isinstance(endpoint.schema, d.Optional) else None


def _target(name: str, resource: d.Resource) -> str:
    """What `expires` names, by its names in Python; a member of the same resource by that of the member alone."""
    owner, _, member = name.partition(".")
    if not member:
        return name
    python = python_name(member, "endpoint")
    return python if owner == resource.name else f"{python_name(owner, 'resource')}.{python}"


def _body_format(body: d.Body | None) -> Options:
    kind = "json" if body is None else body.kind
    return {"body_format": None if kind in ("json", "any") else kind}


def _header_params(params: Iterable[d.HeaderParam]) -> HeaderParams | None:
    """What the runtime has to know of headers that are keywords, and no more, so that equal ones are equal."""
    bare = d.Field("", "", "", NOTHING)
    known = tuple(
        (
            param.field.python,
            dataclasses.replace(
                param, field=dataclasses.replace(bare, wire=param.field.wire, deprecated=param.field.deprecated)
            ),
        )
        for param in params
    )
    return HeaderParams(known) if known else None


def header_param(param: d.HeaderParam, scope: Scope) -> Call:
    """A header that is a keyword, with what does not follow from its name."""
    parts = parts_entities(param.field.wire)
    options: list[tuple[str, Expression]] = []
    if param.in_key is (param.secret or param.partition):
        options.append(("in_key", str(param.in_key)))
    if param.partition is not (parts and not (param.in_key and options)):
        options.append(("partition", str(param.partition)))
    if param.secret:
        options.append(("secret", "True"))
    if param.auto is not None:
        options.append(("auto", string(param.auto)))
    if param.field.deprecated is not None:
        options.append(("deprecated", string(param.field.deprecated)))
    return Call(scope.restencil("HeaderParam"), (string(param.field.wire),), tuple(options))


def _path_params(own: Iterable[d.Field], of_resource: Iterable[d.Field]) -> Options:
    """Parameters of paths that are more than a text; what a resource says of those of other paths does no harm."""
    fields = {field.wire: field for field in of_resource} | {field.wire: field for field in own}
    kinds = {wire: _path_kind(field) for wire, field in fields.items()}
    return {wire: kind for wire, kind in kinds.items() if kind}


def _field_path(dotted: str) -> str:
    """A field of an entity by its names in Python."""
    return ".".join(python_name(part, "field") for part in dotted.split("."))


def _body_fields(body: d.Body | None) -> Options | None:
    """The fields of the entity that members of a body stand for, by the names of the members in JSON."""
    if body is None or not isinstance(body.type, d.ObjectType):
        return None
    return {field.wire: _field_path(field.of) for field in body.type.members if field.of} or None


def _path_kind(field: d.Field) -> str:
    if field.of:
        return _field_path(field.of)
    return "slashes" if field.slashes else "list" if facts(field.type).shape == "list" else ""


def _search_options(endpoint: d.Endpoint, objects: Mapping[str, d.Object]) -> Options:
    """How lists and objects stand in the search string of an endpoint, and how members of objects are called there."""
    styles: Options = {}
    types: Options = {}
    for field in endpoint.search_params:
        if field.style is None:
            continue
        styles[field.wire] = field.style
        known = facts(field.type)
        kind = known.item if known.shape == "list" and known.item is not None else known.bare
        if field.style == "form" and (listed := endpoint.search_style[0]) is not None:
            inner = [one.wire for one in _members_of(kind, objects) if facts(one.type).shape == "list"]
            styles = {**dict.fromkeys(inner, listed), **styles}
        if facts(kind).shape in ("object", "mapping") and runtime_form(kind) != NOTHING:
            types[field.wire] = Names(runtime_form(kind))
    return {"search_styles": styles or None, "search_types": types or None}


def _members_of(type: d.Type, objects: Mapping[str, d.Object]) -> tuple[d.Field, ...]:
    if isinstance(type, d.ObjectRef):
        return objects[type.name].fields
    return type.members if isinstance(type, d.ObjectType) else ()


def _pagination(pagination: d.Pagination) -> Mapping[str, Value]:
    found: Options = {"style": pagination.style, **({"in": "body"} if pagination.in_body else {})}
    if pagination.next is not None:
        found["next"] = str(pagination.next)
    if pagination.size is not None:
        found["size"] = {"param": pagination.size.param.wire, "value": pagination.size.value}
    elif pagination.length is not None:
        found["size"] = str(pagination.length)
    if pagination.more is not None:
        found["more"] = str(pagination.more)
    if pagination.total is not None:
        found["total"] = str(pagination.total)
    if pagination.start is not None:
        found["start"] = pagination.start
    if pagination.remove_cursor is not None:
        found["remove_cursor"] = pagination.remove_cursor
    return found


def _keywords(endpoint: d.Endpoint) -> Iterable[d.Field]:
    """The keywords of an endpoint and of all that hangs on it but the body: they share one mapping of names."""
    found: dict[str, d.Field] = {}
    for one in (endpoint, *endpoint.extenders.values()):
        found |= {field.python: field for field in (*one.params, *one.search_params)}
        if one.page_param is not None:
            found[one.page_param.python] = one.page_param
    return found.values()


# --------------------------------------------------------------------------------------------------------- what differs


def difference(wanted: Options, inherited: Options, endpoint: d.Endpoint) -> Options:
    """What must be written so that a member with the inherited options has the wanted ones."""
    found = {name: value for name, value in wanted.items() if inherited.get(name) != value}
    found |= {name: None for name in sorted(inherited.keys() - wanted.keys()) if inherited[name] is not None}
    if not any(one.has_body for one in (endpoint, *endpoint.extenders.values())):
        if found.get("body_format") is None:
            found.pop("body_format", None)
        found.pop("content_type", None)
    if (sender := sender_of(endpoint)) is None or (sender.body is not None and sender.body.kind not in ("json", "any")):
        found.pop("wrap", None)  # only what is JSON stands in an envelope
    if "empty" in found and found["empty"] is None:
        found["empty"] = "merge" if _presumes(endpoint) else "none" if endpoint.side_effect else None
    if "optimistic" in found and found["optimistic"] is None:
        del found["optimistic"]
        if endpoint.standard and endpoint.side_effect:
            found["optimistic"] = False  # what has no standard payload (reads, added members) needs no word
    if "method" in found:
        found.pop("side_effect", None)
        if wanted["side_effect"] != (endpoint.method != "GET"):
            found["side_effect"] = wanted["side_effect"]
    return found


def _presumes(endpoint: d.Endpoint) -> bool:
    """Whether what was sent stands in for an answer without content, where nothing is said of it."""
    name = endpoint.extends or endpoint.name
    return endpoint.side_effect and name in ("update", "partial_update", "create", "push", "unshift")


# --------------------------------------------------------------------------------------------------------------- bodies


def body_value(body: d.Body | None) -> Body:
    """What is to be said of a body; `MISSING` of one whose members have no names."""
    if body is None:
        return None
    if body.kind == "any":
        return Names(NOTHING)
    kind = body.type
    while isinstance(kind, d.ListOf):
        kind = kind.item
    if not isinstance(kind, d.EntityRef | d.ObjectRef | d.UnionOf | d.OneOf | d.ValuesOf | d.ObjectType):
        return d.MISSING
    return d.MISSING if runtime_form(kind) == NOTHING else Names(runtime_form(kind))


def implied_body(schema: d.Type | None) -> Body:
    """What the runtime takes a body for when nothing is said: the items of a list, or the one entity of the schema."""
    found = _implied(schema)
    return d.MISSING if found is None or runtime_form(found) == NOTHING else Names(runtime_form(found))


def sender_of(endpoint: d.Endpoint) -> d.Endpoint | None:
    """The endpoint whose body the options of this one tell: itself, or, of a list, what is added to it.

    What has a body of its own there has options of its own.
    """
    sending = [one for one in (endpoint, *endpoint.extenders.values()) if one.has_body]
    return next((one for one in sending if one is endpoint or "body" not in one.written), next(iter(sending), None))


def sent_body(endpoint: d.Endpoint) -> d.Body | None:
    """The body of an endpoint as it is sent: `assign` takes entries by their keys."""
    body = endpoint.body
    adds_entries = isinstance(endpoint.schema, d.AdderOf) and endpoint.schema.how == "assign"
    if body is None or not adds_entries or not isinstance(body.type, d.EntityRef | d.UnionOf):
        return body
    return d.Body(body.kind, d.ValuesOf(body.type))


def _implied(schema: d.Type | None) -> d.Type | None:
    match schema:
        case d.AdderOf(d.CollectionOf(of)) | d.CollectionOf(of):
            return _items(of)
        case d.ListOf() | d.UnionOf() | d.OneOf():
            return _items(schema)
        case d.Optional(of) | d.PageOf(of):
            return _implied(of)
        case _:
            return _only_entity(schema)


def _items(type: d.Type) -> d.Type | None:
    while isinstance(type, d.ListOf | d.Optional):
        type = type.item
    return type if isinstance(type, d.EntityRef | d.UnionOf | d.OneOf | d.ObjectType | d.ValuesOf) else None


def _only_entity(type: d.Type | None) -> d.EntityRef | None:
    """The only entity in a type; None for several or none."""
    match type:
        case d.EntityRef():
            return type
        case d.Optional(of) | d.ListOf(of) | d.ValuesOf(of):
            return _only_entity(of)
        case d.CollectionOf(of) | d.AllOf(of) | d.InvalidateOf(of) | d.QueryOf(of):
            return _only_entity(of)
        case d.ObjectType(members):
            found = [member.type for member in members if holds_schema(member.type)]
            return _only_entity(found[0]) if len(found) == 1 else None
        case d.UnionOf([choice]):
            return d.EntityRef(choice.entity)
        case _:
            return None


# ---------------------------------------------------------------------------------------------------- how it is written


def written(options: Options, scope: Scope) -> tuple[tuple[str, Expression], ...]:
    """Options as keywords; what they name is imported."""
    return tuple((name, _code(value, scope)) for name, value in options.items())


def _code(value: Value, scope: Scope) -> Expression:
    if value is None or isinstance(value, bool):
        return str(value)
    if isinstance(value, int):
        return integer(value)
    if isinstance(value, str):
        return string(value)
    if isinstance(value, tuple):
        return pair([_code(part, scope) for part in value])
    if isinstance(value, Mapping):
        return Table(tuple((string(name), _code(part, scope)) for name, part in value.items()))
    if isinstance(value, HeaderParams):
        return Table(tuple((string(name), header_param(param, scope)) for name, param in value.by_keyword))
    if isinstance(value, Errors):
        return error_table(dict(value.by_status), scope)
    if isinstance(value, Runtime | HandWritten | Member | Sibling | d.Reference):
        return _name(value, scope)
    return _names(value.of, scope) if isinstance(value, Names) else schema_of(value, scope) or "None"


def error_table(errors: Mapping[str, d.Shape], scope: Scope, *, lazily: bool = False) -> Table:
    """What bodies of errors are: the types that decode them, by status; with `lazily` imported when they are needed."""

    def named(name: str) -> Expression:
        if lazily:
            return Call(scope.schema("Lazy"), (string(f".{OBJECTS}:{name}"), "__name__"))
        return scope.sibling(OBJECTS, name, real=True)

    def types(shape: d.Shape) -> Expression:
        found = list(map(named, shape))
        return scope.typing("Any") if not found else found[0] if len(found) == 1 else pair(found)

    return Table(tuple((key if key.isdecimal() else string(key), types(shape)) for key, shape in errors.items()))


def sibling_module(name: str) -> str:
    """The full name of another module of the package."""
    return f'f"{{__package__}}.{name}"'


def _name(value: Named, scope: Scope) -> str | Call:
    match value:
        case Runtime(name):
            return scope.restencil(name)
        case HandWritten(reference):
            return scope.hand_written(reference)
        case Member(name):
            return name
        case Sibling(name):
            return sibling_module(name)
        case _:
            return scope.hook(value)


def _names(of: d.Type, scope: Scope) -> Expression:
    if isinstance(of, d.ObjectType):
        return body_model(of.members, scope)
    return schema_of(of, scope) or scope.builtin("dict")
