"""The members of a resource class: which decorator with which options, and the signature that gives the types.

The runtime derives much from the resource (`path`, `schema`, method and schema of the standard members, all options of
the member that another one extends). What is written is only what differs from that, so this module keeps account of
what each member has without being told.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from restencil_generator import declaration as d
from restencil_generator.code import Call, Expression, Parameter, Table, integer, pair, string
from restencil_generator.scope import Scope, json_value, object_types, wire_table
from restencil_generator.template import list_path

Options = dict[str, Expression]
"""Options of an endpoint as they are written in Python, by name."""

Makers = dict[str, Callable[[], Expression]]
"""How each option of an endpoint is written; calling one imports what it names."""

_ROWS: Final[Mapping[str, str]] = {
    "get": "GET",
    "get_list": "GET",
    "update": "PUT",
    "partial_update": "PATCH",
    "delete": "DELETE",
}
"""The standard members that the runtime knows by name, with their methods."""

_OF_RESOURCE: Final = ("body", "collection", "non_filter_argument_keys")
"""Options of a resource that are accounted for elsewhere."""


@dataclasses.dataclass(frozen=True, slots=True)
class Method:
    """A method of a resource: an endpoint (with a decorator), or a function that only gives the types of `push` or the
    like.
    """

    name: str
    receiver: str
    parameters: tuple[Parameter, ...]
    returns: str
    decorator: Call | None = None
    doc: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Assignment:
    """A member that is made from another one: `create = restencil.push_of(get_list)`."""

    name: str
    value: Expression
    doc: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Default:
    """`name: type = value`: the default of a parameter."""

    name: str
    type: str
    value: Expression


@dataclasses.dataclass(frozen=True, slots=True)
class ResourceClass:
    """A resource: its class with the options of all members, and the members."""

    name: str
    base: str
    keywords: tuple[tuple[str, Expression], ...]
    doc: str
    members: tuple[Method | Assignment, ...]
    unimplemented: str
    """What the methods raise: `NotImplementedError`, qualified where the spec has something of that name."""
    defaults: tuple[Default, ...] = ()
    """Defaults of parameters that are made anew by their code, such as lists: they stand before the class."""


def plan_resource(resource: d.Resource, scope: Scope) -> ResourceClass:
    """The class of a resource."""
    return _Resource(resource, scope).plan()


class _Resource:
    def __init__(self, resource: d.Resource, scope: Scope) -> None:
        self.resource = resource
        self.scope = scope
        self.written: dict[str, tuple[d.Endpoint, Options]] = {}
        """The endpoints that are planned, by dotted name (as in the spec), each with all its options."""
        self.changed: set[tuple[str | None, str]] = set()
        """Lists and their `push` and the like that have options of their own."""
        self.bodies: dict[str, Expression | None] = {}
        """What was said about the body of those in `written`; None: nothing, so the entity of the schema counts."""
        self.defaults: dict[str, Default] = {}
        self.member = ""
        """The name of the member that is being planned."""

    def plan(self) -> ResourceClass:
        resource, scope = self.resource, self.scope
        shared = self._shared()
        members: list[Method | Assignment] = []
        for endpoint in _in_order(resource.endpoints.values()):
            members += self._member(endpoint, shared)
        text = resource.description or f"The resource `{resource.path.text}`."
        return ResourceClass(
            resource.class_name,
            f"{scope.restencil('Resource')}[{scope.restencil('C')}]",
            tuple(shared.items()),
            with_deprecation(text, resource.deprecated),
            tuple(members),
            scope.builtin("NotImplementedError"),
            tuple(self.defaults.values()),
        )

    # ------------------------------------------------------------------------------------------------- of all members

    def _shared(self) -> Options:
        """The class keywords: options that go to every member."""
        resource, scope = self.resource, self.scope
        found: Options = {"path": string(resource.path.text), "schema": scope.schema_of(resource.schema) or "None"}
        found |= {name: make() for name, make in self._common(resource).items()}
        found |= {name: make() for name, make in self._body_format(resource.body).items()}
        with scope.apart():
            implied = self._implied_body(resource.schema)
            wanted = self._body(resource.body)
        if wanted not in (None, implied):
            found["body"] = self._body(resource.body) or "None"
        collection = self._collection()
        if collection is not None:
            if collection.custom is not None:
                found["collection"] = scope.hand_written(collection.custom)
            if collection.non_filter_arguments:
                found["non_filter_argument_keys"] = pair(list(map(string, collection.non_filter_arguments)))
        if resource.optimistic:
            found["optimistic"] = "True"
        if resource.deprecated is not None:
            found["deprecated"] = string(resource.deprecated)
        return found

    def _common(self, owner: d.Resource | d.Endpoint) -> Makers:
        """The options that a resource and an endpoint are given alike."""
        scope = self.scope
        found: Makers = {}
        if owner.url_prefix:
            found["url_prefix"] = lambda: string(owner.url_prefix)
        if owner.base is not None:
            base = owner.base
            found["endpoint"] = lambda: scope.hand_written(base)
        if owner.headers:
            found["request_init"] = lambda: Table(((string("headers"), json_value(dict(owner.headers))),))
        return found | _options(owner.options, scope)

    def _collection(self) -> d.CollectionOf | None:
        """The collection of `get_list` where the runtime is to make it from the resource's options."""
        found = self.resource.endpoints.get("get_list")
        if found is None or "schema" in found.written or not isinstance(found.schema, d.CollectionOf):
            return None
        return found.schema

    # ---------------------------------------------------------------------------------------------------- one member

    def _member(self, endpoint: d.Endpoint, shared: Options) -> list[Method | Assignment]:
        self.member = endpoint.python
        makers = self._makers(endpoint)
        wanted = self._wanted(makers)
        with self.scope.apart():
            inherited, basis = self._inherited(endpoint, shared)
        self.written[endpoint.name] = endpoint, wanted
        given: Options = {} if basis is None else {"extends": string(basis)}
        given |= _made(_difference(wanted, inherited, endpoint), makers)
        if basis is None and given.get("side_effect") == "True" and "method" not in given:
            given["method"] = string(endpoint.method)  # without it, it would be POST
        sender = _sender(endpoint) or endpoint
        said = shared.get("body") if basis is None else self.bodies.get(basis)
        given |= self._given_body(sender, said)
        self.bodies[endpoint.name] = given.get("body", said)
        # What hangs on a deprecated list is deprecated with it.
        passed_on: Options = {"deprecated": wanted["deprecated"]} if "deprecated" in wanted else {}
        for name, extender in endpoint.extenders.items():
            for known in _known_as(endpoint, name):
                self.written[known] = extender, passed_on | self._wanted(self._makers(extender))
                self.bodies[known] = self.bodies[endpoint.name]
        if endpoint.name == "create" and basis == "get_list.push" and self._is_push(endpoint):
            del given["extends"]
            push = Call(self.scope.restencil("push_of"), ("get_list",))
            doc = _own_doc(endpoint)
            if not given:
                return [Assignment(endpoint.python, push, doc)]
            extended = dataclasses.replace(push, after=".extend")
            return [Assignment(endpoint.python, Call(_call_text(extended), (), tuple(given.items())), doc)]
        if endpoint.collection is None or isinstance(endpoint.schema, d.AdderOf | d.PageOf):
            return [self._method(endpoint, "rest", given)]
        return self._list(endpoint, given)

    def _is_push(self, endpoint: d.Endpoint) -> bool:
        """Whether `create` is typed as `get_list.push` is."""
        push = self.resource.endpoints["get_list"].extenders.get("push")
        return push is not None and (push.params, push.search_params, push.body, push.schema) == (
            endpoint.params,
            endpoint.search_params,
            endpoint.body,
            endpoint.schema,
        )

    def _list(self, endpoint: d.Endpoint, given: Options) -> list[Method | Assignment]:
        """An endpoint with a collection: functions that type what hangs on it, and the endpoint."""
        functions: list[Method | Assignment] = []
        suffix = "" if endpoint.name == "get_list" else f"_{endpoint.python.rstrip('_')}"
        typed: Options = {}
        for name in ("push", "unshift", "assign", "get_page"):
            extender = endpoint.extenders.get(name)
            if extender is None:
                if name == "unshift" and "push" in typed:
                    typed["unshift"] = "None"  # where nothing is said it is there, like `push`
                continue
            same = endpoint.extenders.get("push") if name == "unshift" else None
            if same is None or not _same_signature(same, extender):
                function = self._function(f"{suffix}_{name}", extender)
                functions.append(function)
                typed[name] = function.name
            changed = self._changed_extender(name, endpoint, extender)
            if not changed and (_list_of(endpoint.extends), name) in self.changed:
                typed[f"{name}_options"] = "None"  # those of the list that this one extends are not for it
            elif changed:
                self.changed.add((endpoint.name, name))
                typed[f"{name}_options"] = Table(tuple((string(key), value) for key, value in changed.items()))
        return [*functions, self._method(endpoint, "rest_list", typed | given)]

    def _changed_extender(self, name: str, endpoint: d.Endpoint, extender: d.Endpoint) -> Options:
        """The options that the spec gives for `push` and the like themselves."""
        body = self._given_body(extender, self.bodies[endpoint.name])
        if body:
            for known in _known_as(endpoint, name):
                self.bodies[known] = body["body"]
        if not extender.written:
            return body
        makers = self._makers(extender)
        posted: Options = {} if name == "get_page" else {"method": string("POST"), "side_effect": "True"}
        derived = self._wanted(self._makers(endpoint)) | posted
        changed = _difference(self._wanted(makers), derived, extender)
        of_list = ("wire", "schema", "pagination", "pagination_field", "optimistic")
        found = _made({key: value for key, value in changed.items() if key not in of_list}, makers)
        return found | body

    def _function(self, name: str, endpoint: d.Endpoint) -> Method:
        receiver, parameters = self._signature(endpoint)
        return Method(name, receiver, parameters, self._returns(endpoint), doc=_own_doc(endpoint))

    def _method(self, endpoint: d.Endpoint, decorator: str, given: Options) -> Method:
        receiver, parameters = self._signature(endpoint)
        return Method(
            endpoint.python,
            receiver,
            parameters,
            self._returns(endpoint),
            Call(self.scope.restencil(decorator), (), tuple(given.items())),
            endpoint_doc(endpoint),
        )

    # -------------------------------------------------------------------------------------------------------- options

    def _inherited(self, endpoint: d.Endpoint, shared: Options) -> tuple[Options, str | None]:
        """What the member has without being told, and the name of the member that it extends."""
        basis = endpoint.extends
        if endpoint.name == "create" and basis in (None, "push") and "get_list.push" in self.written:
            basis = "get_list.push"
        if basis is not None and basis in self.written:
            source, options = self.written[basis]
            name = basis if basis not in ("push", "unshift", "assign", "get_page") else f"get_list.{basis}"
            return options, _python_path(name, source, self.resource)
        found = {key: value for key, value in shared.items() if key not in _OF_RESOURCE}
        found["method"] = string(_ROWS.get(endpoint.name, "GET"))
        if endpoint.name == "get_list":
            found["path"] = string(list_path(self.resource.path.text))
        if endpoint.name in ("get_list", "delete") and "schema" not in endpoint.written:
            found["schema"] = "None" if endpoint.schema is None else self.scope.schema_of(endpoint.schema) or "None"
        found["side_effect"] = "False" if found["method"] == string("GET") else "True"
        return found, None

    def _wanted(self, makers: Makers) -> Options:
        """All options of an endpoint, for comparison."""
        with self.scope.apart():
            return {name: make() for name, make in makers.items()}

    def _makers(self, endpoint: d.Endpoint) -> Makers:
        """How all options of an endpoint are written."""
        scope = self.scope
        found: Makers = {
            "method": lambda: string(endpoint.method),
            "path": lambda: string(endpoint.path.text),
            "side_effect": lambda: str(endpoint.side_effect),
            "schema": lambda: "None" if endpoint.schema is None else scope.schema_of(endpoint.schema) or "None",
        }
        found |= self._common(endpoint)
        sender = _sender(endpoint)
        found |= self._body_format(None if sender is None else sender.body)
        if endpoint.content is not None:
            content = endpoint.content
            found["content"] = lambda: string(content)
        page = next((one for one in (endpoint, *endpoint.extenders.values()) if one.pagination_field is not None), None)
        if page is not None and page.pagination_field is not None and endpoint.collection is not None:
            wire_name = page.pagination_field.wire
            found["pagination_field"] = lambda: string(wire_name)
        if endpoint.pagination is not None:
            pagination = endpoint.pagination
            found["pagination"] = lambda: _pagination(pagination, scope)
        hooks = {
            "process": endpoint.process,
            "update": endpoint.update,
            "get_optimistic_response": endpoint.get_optimistic_response,
        }
        found |= {name: _hook(reference, scope) for name, reference in hooks.items() if reference is not None}
        if any(one.optimistic for one in (endpoint, *endpoint.extenders.values())):
            found["optimistic"] = lambda: "True"
        wire = wire_table(_keywords(endpoint))
        if wire is not None:
            found["wire"] = lambda: wire
        deprecated = endpoint.deprecated if endpoint.deprecated is not None else self.resource.deprecated
        if deprecated is not None:
            found["deprecated"] = lambda: string(deprecated)
        return found

    # --------------------------------------------------------------------------------------------------------- bodies

    def _body_format(self, body: d.Body | None) -> Makers:
        kind = "json" if body is None else body.kind
        return {} if kind in ("json", "any") else {"body_format": lambda: string(kind)}

    def _given_body(self, endpoint: d.Endpoint, said: Expression | None) -> Options:
        """The option `body`, where what was said before, or else the entity of the schema, is not what is wanted.

        It names a body's members in JSON, or disables it.
        """
        if endpoint.method in ("GET", "DELETE"):
            return {}
        with self.scope.apart():
            wanted = self._body(_sent(endpoint))
            before = said or self._implied_body(endpoint.schema)
        if wanted is None:
            # A body without names of its own; a disabled one must be allowed again.
            return {"body": self.scope.builtin("dict")} if said == "None" else {}
        return {} if wanted == before else {"body": self._body(_sent(endpoint)) or "None"}

    def _body(self, body: d.Body | None) -> Expression | None:
        """What gives a body's members their names in JSON, `"None"` for no body; None where they have no names."""
        scope = self.scope
        if body is None:
            return "None"
        if body.kind == "any":
            return scope.builtin("dict")
        kind = body.type
        while isinstance(kind, d.ListOf):
            kind = kind.item
        match kind:
            case d.EntityRef() | d.ObjectRef() | d.UnionOf() | d.ValuesOf():
                return scope.schema_of(kind)
            case d.ObjectType(members):
                return _body_model(members, scope)
            case _:
                return None

    def _implied_body(self, schema: d.Type | None) -> Expression | None:
        """What names the members of a body about which nothing is said: it follows from the schema."""
        found = _implied(schema)
        return None if found is None else self.scope.schema_of(found)

    # ---------------------------------------------------------------------------------------------------------- types

    def _signature(self, endpoint: d.Endpoint) -> tuple[str, tuple[Parameter, ...]]:
        """The name of the receiver and the keywords of a call: path, page, body, then search parameters."""
        scope = self.scope
        optional = {part.name for part in endpoint.path.parameters if part.optional}
        required: list[Parameter] = []
        others: list[Parameter] = []
        fields = [(field, field.required and field.name not in optional) for field in endpoint.params]
        if endpoint.pagination_field is not None and isinstance(endpoint.schema, d.PageOf):
            fields.append((endpoint.pagination_field, True))
        fields += [(field, field.required) for field in endpoint.search_params]
        seen: set[str] = set()
        for field, needed in fields:
            if field.python in seen:
                continue
            seen.add(field.python)
            kind = scope.type(field.type)
            if needed:
                required.append(Parameter(field.python, kind))
            elif field.default is d.MISSING or field.default is None:
                others.append(Parameter(field.python, scope.or_none(kind), "None"))
            else:
                others.append(Parameter(field.python, kind, self._default(endpoint, field, kind)))
        if endpoint.has_body and endpoint.body is not None:
            required.append(Parameter("body", self._body_type(endpoint, endpoint.body)))
        receiver = "_self" if "self" in seen else "self"
        return receiver, (*required, *others)

    def _default(self, endpoint: d.Endpoint, field: d.Field, kind: str) -> Expression:
        """The default of a parameter; one that all calls would share, or that a call makes, has a name of its own."""
        assert field.default is not d.MISSING
        value = self.scope.default(field.type, field.default)
        bare = field.type.item if isinstance(field.type, d.Optional) else field.type
        if isinstance(value, str) and bare != d.Scalar("uuid"):
            return value
        plain = f"_DEFAULT_{field.python}".upper()
        for name in (plain, f"{plain}_OF_{self.member}".upper(), f"{plain}_OF_{self.member}_{endpoint.python}".upper()):
            default = self.defaults.setdefault(name, Default(name, kind, value))
            if (default.type, default.value) == (kind, value):
                return name
        return value

    def _body_type(self, endpoint: d.Endpoint, body: d.Body) -> str:
        if body.kind == "bytes":
            return self.scope.builtin("bytes")
        if body.type is None:
            return self.scope.typing("Any")
        text = self.scope.body_type(body.type)
        return self.scope.dict_of(text) if _sent(endpoint) != body else text

    def _returns(self, endpoint: d.Endpoint) -> str:
        scope = self.scope
        # Beside a schema, `returns` is what the endpoint's own `process` makes of it.
        told = endpoint.returns or endpoint.schema
        if told is not None:
            return scope.type(told)
        match endpoint.content:
            case "text" if endpoint.process is None:
                return scope.builtin("str")
            case "bytes" if endpoint.process is None:
                return scope.builtin("bytes")
            case "stream" if endpoint.process is None:
                return scope.restencil("StreamedResponse")
            case _:
                return scope.typing("Any")


# ----------------------------------------------------------------------------------------------------------- documents


def endpoint_doc(endpoint: d.Endpoint) -> str:
    """The docstring of an endpoint: what it does, method and path, parameters that the spec describes, an example."""
    route = f"`{endpoint.method} {endpoint.path.text}`"
    described = endpoint.description.strip()
    if described and "\n" not in described:
        text = f"{described} {route}"
    else:
        text = f"{described}\n\n{route}" if described else route
    text = with_deprecation(text, endpoint.deprecated)
    told = [(field.python, note_of(field)) for field in (*endpoint.params, *endpoint.search_params)]
    if notes := "\n".join(f"`{name}`: {' '.join(note.split())}" for name, note in told if note):
        text = f"{text}\n\n{notes}"
    return text if endpoint.example is None else f"{text}\n\n{_example(endpoint, endpoint.example)}"


def _own_doc(endpoint: d.Endpoint) -> str:
    """The docstring of `push` and the like, and of `create`: nothing where the spec says nothing of them themselves."""
    said = endpoint.description or endpoint.example or (endpoint.deprecated is not None)
    return endpoint_doc(endpoint) if said else ""


def _example(endpoint: d.Endpoint, example: d.Example) -> str:
    values = [f"{name}={_shown(value)}" for name, value in example.params.items()]
    if example.body is not d.MISSING:
        values.append(f"body={_shown(example.body)}")
    call = f"Example:\n\n    {endpoint.python}({', '.join(values)})"
    return call if example.response is d.MISSING else f"{call}\n    {_shown(example.response)}"


def _shown(value: d.Json) -> str:
    """JSON data on one line, cut where it is long."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 300 else text[:299] + "…"


def note_of(field: d.Field) -> str:
    """What the spec says of a field or parameter, with the note that it is deprecated; or nothing."""
    return with_deprecation(field.description, field.deprecated).strip()


def with_deprecation(text: str, deprecated: str | None) -> str:
    """A description with the note that something is deprecated, and why."""
    if deprecated is None:
        return text
    return f"{text}\n\nDeprecated{': ' + deprecated if deprecated else '.'}"


# ------------------------------------------------------------------------------------------------------------- helpers


def _difference(wanted: Options, inherited: Options, endpoint: d.Endpoint) -> Options:
    """What must be written so that a member with the inherited options has the wanted ones."""
    found = {key: value for key, value in wanted.items() if inherited.get(key) != value}
    if found.get("error_policy") == "None" and "error_policy" not in inherited:
        del found["error_policy"]
    sends = any(one.has_body for one in (endpoint, *endpoint.extenders.values()))
    for key in sorted(inherited.keys() - wanted.keys()):
        if key == "body_format" and not sends:
            continue
        # What has no standard payload (reads, added members) is not made optimistic by the option.
        if key != "optimistic":
            found[key] = "None"
        elif endpoint.standard and endpoint.side_effect:
            found[key] = "False"
    if "method" in found and wanted.get("side_effect") == str(endpoint.method != "GET"):
        found.pop("side_effect", None)
    elif "method" in found:
        found["side_effect"] = wanted["side_effect"]
    return found


def _made(chosen: Options, makers: Makers) -> Options:
    """The chosen options once more, for good: what they name is imported."""
    return {name: makers[name]() if name in makers else value for name, value in chosen.items()}


def _options(options: d.Options, scope: Scope) -> Makers:
    found: Makers = {}
    for field in dataclasses.fields(options):
        value: object = getattr(options, field.name)
        if isinstance(value, d.Reference):
            found[field.name] = _hook(value, scope)
        elif value in _POLICIES:
            found[field.name] = _runtime(_POLICIES[str(value)], scope)
        elif value is not None:
            found[field.name] = _constant(value)
    return found


_POLICIES: Final[Mapping[str, str | None]] = {
    "soft": "always_soft",
    "soft_on_server_error": "soft_on_server_error",
    "hard": None,
}


def _runtime(name: str | None, scope: Scope) -> Callable[[], Expression]:
    return lambda: "None" if name is None else scope.restencil(name)


def _hook(reference: d.Reference, scope: Scope) -> Callable[[], Expression]:
    return lambda: scope.hook(reference)


def _constant(value: object) -> Callable[[], Expression]:
    text = integer(value) if isinstance(value, int) and not isinstance(value, bool) else str(value)
    return lambda: text


def _pagination(pagination: d.Pagination, scope: Scope) -> Table:
    pairs: list[tuple[str, Expression]] = [(string("style"), string(pagination.style))]
    if pagination.next is not None:
        pairs.append((string("next"), string(str(pagination.next))))
    if pagination.size is not None:
        size = (string("param"), string(pagination.size.param.wire)), (string("value"), str(pagination.size.value))
        pairs.append((string("size"), Table(size)))
    if pagination.remove_cursor is not None:
        pairs.append((string("remove_cursor"), scope.hook(pagination.remove_cursor)))
    return Table(tuple(pairs))


def _keywords(endpoint: d.Endpoint) -> list[d.Field]:
    """The keywords of an endpoint and of all that hangs on it but the body: they share one mapping of names."""
    found: dict[str, d.Field] = {}
    for one in (endpoint, *endpoint.extenders.values()):
        found |= {field.python: field for field in (*one.params, *one.search_params)}
        if one.pagination_field is not None:
            found[one.pagination_field.python] = one.pagination_field
    return list(found.values())


def _body_model(members: Iterable[d.Field], scope: Scope) -> Call:
    fields = tuple(members)
    wire = wire_table(fields)
    table = Table(tuple((string(field.python), scope.schema_of(field.type) or "None") for field in fields))
    return Call(scope.schema("Object"), (table,), () if wire is None else (("wire", wire),))


def _same_signature(one: d.Endpoint, other: d.Endpoint) -> bool:
    return (one.params, one.search_params, one.body) == (other.params, other.search_params, other.body)


def _in_order(endpoints: Iterable[d.Endpoint]) -> list[d.Endpoint]:
    """The endpoints so that each stands behind the one it extends."""
    found: dict[str, d.Endpoint] = {}
    waiting = list(endpoints)
    names = {endpoint.name for endpoint in waiting}
    while waiting:
        rest: list[d.Endpoint] = []
        for endpoint in waiting:
            basis = endpoint.extends
            owner = "get_list" if basis in ("push", "unshift", "assign", "get_page") else basis
            if owner is None or owner in found or owner not in names or endpoint.name in _ROWS:
                found[endpoint.name] = endpoint
            else:
                rest.append(endpoint)
        if len(rest) == len(waiting):
            found |= {endpoint.name: endpoint for endpoint in rest}
            break
        waiting = rest
    return list(found.values())


def _python_path(name: str, source: d.Endpoint, resource: d.Resource) -> str:
    """The dotted name of a member in Python."""
    owner, dot, part = name.partition(".")
    return f"{resource.endpoints[owner].python}{dot}{part}" if dot else source.python


def _call_text(call: Call) -> str:
    return f"{call.function}({', '.join(str(argument) for argument in call.arguments)}){call.after}"


def result_types(resource: d.Resource) -> list[d.ObjectType]:
    """The object types of a resource's schemas and results, each once, inner ones first."""
    found: dict[str, d.ObjectType] = {}
    for _, endpoint in resource.all_endpoints():
        for type in (endpoint.schema, endpoint.returns):
            found |= {one.name: one for one in object_types(type)}
    return list(found.values())


def body_types(resource: d.Resource) -> list[d.ObjectType]:
    """The object types of a resource's bodies, each once, inner ones first."""
    found: dict[str, d.ObjectType] = {}
    for _, endpoint in resource.all_endpoints():
        if endpoint.body is not None and endpoint.has_body:
            found |= {one.name: one for one in object_types(endpoint.body.type)}
    return list(found.values())


def type_docs(resource: d.Resource) -> dict[str, str]:
    """What is said of each object type of a resource's schemas, results and bodies, by its name."""
    found: dict[str, str] = {}
    partial = partial_body(resource)
    # The endpoint that writes a type tells what it is for; others may have inherited it.
    for own in (True, False):
        for name, endpoint in resource.all_endpoints():
            told: list[tuple[d.Type | None, str, str]] = []
            if own is bool(endpoint.written & {"schema", "returns"}):
                told += [(endpoint.returns, f"`{name}`", "answers"), (endpoint.schema, f"`{name}`", "answers")]
            if own is ("body" in endpoint.written) and endpoint.body is not None:
                whose = f"`{name}` takes" if own else f"the bodies of {resource.class_name} hold"
                told.append((endpoint.body.type, whose, ""))
            for type, whose, verb in told:
                for one in object_types(type):
                    found.setdefault(one.name, f"{what_of(one, type)} {whose} {verb}".rstrip() + ".")
    if partial in found:
        found[partial] = "What `partial_update` takes: any of these."
    return found


def what_of(part: d.ObjectType, type: d.Type | None) -> str:
    """How the docstring of an object type begins, by its share in the whole type."""
    return "What" if part is (type.item if isinstance(type, d.Optional) else type) else "A part of what"


def partial_body(resource: d.Resource) -> str | None:
    """The name of the TypedDict of `partial_update` where it is that of the resource's body: a part of it will do."""
    endpoint = resource.endpoints.get("partial_update")
    if endpoint is None or endpoint.body is None or "body" in endpoint.written:
        return None
    return endpoint.body.type.name if isinstance(endpoint.body.type, d.ObjectType) else None


def _list_of(member: str | None) -> str | None:
    """The list that a member hangs on, or the member itself."""
    return "get_list" if member == "create" or member in d.EXTENDERS else member


def _known_as(listing: d.Endpoint, name: str) -> tuple[str, ...]:
    """The names, as in the spec, of what hangs on a list."""
    return (f"{listing.name}.{name}", name) if listing.name == "get_list" else (f"{listing.name}.{name}",)


def _sender(endpoint: d.Endpoint) -> d.Endpoint | None:
    """The endpoint whose body the options of this one tell: itself, or, of a list, what is added to it.

    What has a body of its own there has options of its own.
    """
    sending = [one for one in (endpoint, *endpoint.extenders.values()) if one.has_body]
    return next((one for one in sending if one is endpoint or "body" not in one.written), next(iter(sending), None))


def _sent(endpoint: d.Endpoint) -> d.Body | None:
    """The body of an endpoint as it is sent: `assign` takes entries by their keys."""
    body = endpoint.body
    adds_entries = isinstance(endpoint.schema, d.AdderOf) and endpoint.schema.how == "assign"
    if body is None or not adds_entries or not isinstance(body.type, d.EntityRef | d.UnionOf):
        return body
    return d.Body(body.kind, d.ValuesOf(body.type))


def _implied(schema: d.Type | None) -> d.Type | None:
    """What the runtime takes a body for when nothing is said: the items of a list, or the one entity of the schema."""
    match schema:
        case d.AdderOf(d.CollectionOf(of)) | d.CollectionOf(of):
            return _items(of)
        case d.ListOf() | d.UnionOf():
            return _items(schema)
        case d.Optional(of) | d.PageOf(of):
            return _implied(of)
        case _:
            return _only_entity(schema)


def _items(type: d.Type) -> d.Type | None:
    while isinstance(type, d.ListOf | d.Optional):
        type = type.item
    return type if isinstance(type, d.EntityRef | d.UnionOf | d.ObjectType | d.ValuesOf) else None


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
            found = [member.type for member in members if _has_schema(member.type)]
            return _only_entity(found[0]) if len(found) == 1 else None
        case d.UnionOf([choice]):
            return d.EntityRef(choice.entity)
        case _:
            return None


def _has_schema(type: d.Type) -> bool:
    """Whether anything in a type has a schema at run time."""
    match type:
        case d.EntityRef() | d.UnionOf() | d.ObjectRef() | d.ObjectType() | d.AllOf() | d.InvalidateOf() | d.QueryOf():
            return True
        case d.CollectionOf() | d.Scalar("datetime" | "date" | "time" | "decimal" | "uuid"):
            return True
        case d.Optional(of) | d.ListOf(of) | d.ValuesOf(of):
            return _has_schema(of)
        case _:
            return False
