"""The members of a resource class: which decorator with which options, and the signature that gives the types.

The runtime derives much from the resource (`path`, `schema`, method and schema of the standard members, all options of
the member that another one extends). What is written is only what differs from that, so this module keeps account of
what each member has without being told.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from typing import Final

from restencil_generator.codegen.annotations import annotation, argument_annotation, body_annotation, object_types
from restencil_generator.codegen.docstrings import endpoint_doc, example_of, own_doc, with_deprecation
from restencil_generator.codegen.endpoint_options import (
    Body,
    Member,
    Names,
    Options,
    Sibling,
    body_value,
    difference,
    endpoint_options,
    implied_body,
    list_options,
    schema_value,
    sender_of,
    sent_body,
    shared_options,
    written,
)
from restencil_generator.codegen.imports import ERRORS, Scope
from restencil_generator.codegen.json_values import default
from restencil_generator.codegen.pyexpr import Call, Example, Expression, Parameter
from restencil_generator.codegen.runtime_schemas import NOTHING
from restencil_generator.spec import model as d
from restencil_generator.spec.path_template import list_path
from restencil_generator.spec.type_info import facts

_ROWS: Final[Mapping[str, str]] = {
    "get": "GET",
    "get_list": "GET",
    "update": "PUT",
    "partial_update": "PATCH",
    "delete": "DELETE",
}
"""The standard members that the runtime knows by name, with their methods."""

_OF_LIST: Final = ("wire", "schema", "exact_filters", "pagination", "pagination_field", "optimistic")
"""Options of `push` and the like that are never theirs alone."""

_OF_ANSWERS: Final = ("unwrap", "path")
"""Options of `push` and the like that the list does not give them: how they answer, and where an item is."""


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
    example: Example | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Assignment:
    """A member that is made from another one: `create = restencil.push_of(get_list)`."""

    name: str
    value: Expression
    doc: str = ""
    example: Example | None = None


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
    bases: tuple[str, ...]
    keywords: tuple[tuple[str, Expression], ...]
    doc: str
    members: tuple[Method | Assignment, ...]
    defaults: tuple[Default, ...] = ()
    """Defaults of parameters that are made anew by their code, such as lists: they stand before the class."""


def plan_resource(resource: d.Resource, scope: Scope) -> ResourceClass:
    """The class of a resource."""
    return _Resource(resource, scope).plan()


class _Resource:
    def __init__(self, resource: d.Resource, scope: Scope) -> None:
        self.resource = resource
        self.scope = scope
        self.shared = shared_options(resource)
        self.objects = scope.spec.objects
        self.known: dict[str, tuple[d.Endpoint, Options]] = {}
        """The endpoints that are planned, by dotted name (as in the spec), each with all its options."""
        self.bodies: dict[str, Body] = {}
        """What was said about the body of those in `known`; `MISSING`: nothing, so the entity of the schema counts."""
        self.defaults: dict[str, tuple[d.Type, str, Default]] = {}
        """Defaults that stand before the class, each with its type and its JSON text."""
        self.member = ""
        """The name of the member that is being planned."""

    def plan(self) -> ResourceClass:
        resource, scope = self.resource, self.scope
        said = self._said_of_bodies()
        keywords = {name: value for name, value in self.shared.items() if value is not None or name == "schema"}
        keywords |= {"singleton": True} if resource.singleton else {}
        if scope.spec.has_errors:
            keywords["error_classes"] = Sibling(ERRORS)
        keywords |= {} if said is d.MISSING else {"body": said}
        keywords |= {name: value for name, value in list_options(resource).items() if value is not None}
        head = written(keywords, scope)
        members: list[Method | Assignment] = []
        for endpoint in _in_order(resource.endpoints.values()):
            members += self._member(endpoint, said)
        return ResourceClass(
            resource.class_name,
            (f"{scope.restencil('Resource')}[{scope.restencil('ControllerType')}]",),
            head,
            with_deprecation(resource.description, resource.deprecated).strip(),
            tuple(members),
            tuple(made for _, _, made in self.defaults.values()),
        )

    def _said_of_bodies(self) -> Body:
        """What the class line says of the bodies of all members."""
        if self.resource.path is None:
            return d.MISSING
        wanted = body_value(self.resource.body)
        return d.MISSING if wanted == implied_body(self.resource.schema) else wanted

    # ---------------------------------------------------------------------------------------------------- one member

    def _member(self, endpoint: d.Endpoint, said: Body) -> list[Method | Assignment]:
        self.member = endpoint.python
        wanted = endpoint_options(endpoint, self.resource, self.objects)
        inherited, basis = self._inherited(endpoint)
        self.known[endpoint.name] = endpoint, wanted
        given: Options = {} if basis is None else {"extends": self._python_path(basis)}
        if basis is None and not endpoint.standard and endpoint.name in _ROWS:
            given["standard"] = False
        given |= difference(wanted, inherited, endpoint)
        if basis is None and given.get("side_effect") is True and "method" not in given:
            given["method"] = endpoint.method  # without it, it would be POST
        if basis is not None:
            said = self.bodies[basis]
        given |= self._given_body(sender_of(endpoint) or endpoint, said)
        self.bodies[endpoint.name] = _said(given, said)
        # What hangs on a deprecated list is deprecated with it.
        passed_on: Options = {"deprecated": wanted["deprecated"]}
        for name, extender in endpoint.extenders.items():
            options = passed_on | endpoint_options(extender, self.resource, self.objects)
            for known in _known_as(endpoint, name):
                self.known[known] = extender, options
                self.bodies[known] = self.bodies[endpoint.name]
        if endpoint.name == "create" and basis == "get_list.push" and self._is_push(endpoint):
            del given["extends"]
            return [self._create(endpoint, given)]
        values = d.values_list(endpoint.schema) if "get_page" in endpoint.extenders else None
        if (endpoint.collection is None and values is None) or isinstance(endpoint.schema, d.AdderOf | d.PageOf):
            return [self._method(endpoint, "rest", given)]
        return self._list(endpoint, given)

    def _inherited(self, endpoint: d.Endpoint) -> tuple[Options, str | None]:
        """What the member has without being told, and the name of the member that it extends."""
        basis = endpoint.extends
        if endpoint.name == "create" and basis in (None, "push") and "get_list.push" in self.known:
            basis = "get_list.push"
        if basis is not None and basis in self.known:
            hangs = basis in d.EXTENDERS and basis not in self.resource.endpoints
            return self.known[basis][1], f"get_list.{basis}" if hangs else basis
        found = dict(self.shared)
        if not endpoint.standard:
            return found | {"method": "GET", "side_effect": False}, None
        found["method"] = _ROWS.get(endpoint.name, "GET")
        found["side_effect"] = found["method"] != "GET"
        if endpoint.name == "get_list" and self.resource.path is not None:
            found["path"] = list_path(self.resource.path.text)
        if endpoint.name in ("get_list", "delete") and "schema" not in endpoint.written:
            found["schema"] = schema_value(endpoint.schema)
        return found, None

    def _create(self, endpoint: d.Endpoint, given: Options) -> Assignment:
        """`create` as another name of `get_list.push`, with its own options where it has any."""
        value = Call(self.scope.restencil("push_of"), ("get_list",))
        if given:
            value = Call(f"{value.function}(get_list).extend", (), written(given, self.scope))
        return Assignment(endpoint.python, value, own_doc(endpoint), self._example(endpoint))

    def _is_push(self, endpoint: d.Endpoint) -> bool:
        """Whether `create` is typed as `get_list.push` is."""
        push = self.resource.endpoints["get_list"].extenders.get("push")
        return push is not None and _same_signature(push, endpoint) and push.schema == endpoint.schema

    def _list(self, endpoint: d.Endpoint, given: Options) -> list[Method | Assignment]:
        """An endpoint with a collection: functions that type what hangs on it, and the endpoint."""
        functions: list[Method | Assignment] = []
        suffix = "" if endpoint.name == "get_list" else f"_{endpoint.python.rstrip('_')}"
        typed: Options = {}
        for name in d.EXTENDERS:
            extender = endpoint.extenders.get(name)
            if extender is None:
                if name == "unshift" and "push" in typed:
                    typed["unshift"] = None  # where nothing is said it is there, like `push`
                continue
            same = endpoint.extenders.get("push") if name == "unshift" else None
            if same is None or not _same_signature(same, extender):
                function = self._function(f"{suffix}_{name}", endpoint, extender)
                functions.append(function)
                typed[name] = Member(function.name)
            if name == "get_page" and facts(endpoint.schema or d.Scalar("any")).shape != "list":
                functions.append(self._item(f"{suffix}_item", endpoint))
                typed["items"] = Member(f"{suffix}_item")
            changed = self._changed_extender(name, endpoint, extender)
            if changed:
                typed[f"{name}_options"] = changed
        return [*functions, self._method(endpoint, "rest_list", typed | given)]

    def _item(self, name: str, listed: d.Endpoint) -> Method:
        """A function that gives the type of an item of a list that stands in an object."""
        items = d.values_list(listed.schema) if listed.collection is None else listed.collection.of
        assert items is not None
        return Method(name, "self", (), annotation(items.item, self.scope))

    def _changed_extender(self, name: str, endpoint: d.Endpoint, extender: d.Endpoint) -> Options:
        """The options that the spec gives for `push` and the like themselves."""
        said = self.bodies[endpoint.name]
        body = self._given_body(extender, said)
        for known in _known_as(endpoint, name):
            self.bodies[known] = _said(body, said)
        derived = dict(self.known[endpoint.name][1])
        if name != "get_page":
            moves = name in d.ASKED_FOR
            derived |= {"method": "PATCH" if moves else "POST", "side_effect": True}
            derived |= {"send_body": None, "body_in_key": None}
            if moves and endpoint.standard and self.resource.path is not None:
                derived["path"] = self.resource.path.text
        changed = difference(endpoint_options(extender, self.resource, self.objects), derived, extender)
        told = {option: value for option, value in changed.items() if option not in _OF_LIST}
        if not extender.written:
            told = {option: value for option, value in told.items() if option in _OF_ANSWERS}
        return told | body

    def _given_body(self, endpoint: d.Endpoint, said: Body) -> Options:
        """The option `body`, where what was said before, or else the entity of the schema, is not what is wanted.

        It names a body's members in JSON, or disables it.
        """
        if endpoint.method in d.BODILESS and not endpoint.send_body:
            return {}
        wanted = body_value(sent_body(endpoint))
        if wanted is d.MISSING:
            # A body without names of its own; a disabled one must be allowed again.
            return {"body": Names(NOTHING)} if said is None else {}
        before = implied_body(endpoint.schema) if said is d.MISSING else said
        return {} if wanted == before else {"body": wanted}

    def _python_path(self, name: str) -> str:
        """The dotted name of a member in Python, from that in the spec."""
        owner, dot, part = name.partition(".")
        return f"{self.resource.endpoints[owner].python}{dot}{part}"

    # -------------------------------------------------------------------------------------------------------- methods

    def _function(self, name: str, listed: d.Endpoint, extender: d.Endpoint) -> Method:
        receiver, parameters = self._signature(extender)
        example = self._example(extender, f"{listed.python}.{extender.python}")
        return Method(name, receiver, parameters, self._returns(extender), doc=own_doc(extender), example=example)

    def _method(self, endpoint: d.Endpoint, decorator: str, given: Options) -> Method:
        receiver, parameters = self._signature(endpoint)
        return Method(
            endpoint.python,
            receiver,
            parameters,
            self._returns(endpoint),
            Call(self.scope.restencil(decorator), (), written(given, self.scope)),
            endpoint_doc(endpoint),
            self._example(endpoint),
        )

    def _example(self, endpoint: d.Endpoint, name: str = "") -> Example | None:
        if endpoint.example is None:
            return None
        spec = self.scope.spec
        return example_of(spec, endpoint, f"{spec.package}.{self.resource.python}.{name or endpoint.python}")

    def _signature(self, endpoint: d.Endpoint) -> tuple[str, tuple[Parameter, ...]]:
        """The name of the receiver and the keywords of a call: path, page, body, then search parameters."""
        scope = self.scope
        optional = {part.name for part in endpoint.path.parameters if part.optional}
        required: list[Parameter] = []
        others: list[Parameter] = []
        fields = [(field, field.required and field.name not in optional) for field in endpoint.params]
        if endpoint.page_param is not None and isinstance(endpoint.schema, d.PageOf):
            fields.append((endpoint.page_param, True))
        fields += [(field, field.required) for field in endpoint.search_params]
        fields += [(param.field, param.field.required) for param in endpoint.header_params]
        seen: set[str] = set()
        for field, needed in fields:
            if field.python in seen:
                continue
            seen.add(field.python)
            if needed:
                required.append(Parameter(field.python, argument_annotation(field, scope)))
            elif field.default is d.MISSING or field.default is None:
                optional_field = dataclasses.replace(field, type=d.Optional(field.type))
                others.append(Parameter(field.python, argument_annotation(optional_field, scope), "None"))
            else:
                kind = argument_annotation(field, scope)
                others.append(Parameter(field.python, kind, self._default(endpoint, field, field.default, kind)))
        if endpoint.has_body and endpoint.body is not None:
            kind = self._body_type(endpoint, endpoint.body)
            if endpoint.request.optional:
                others.insert(0, Parameter("body", kind if kind == "Any" else f"{kind} | None", "None"))
            else:
                required.append(Parameter("body", kind))
        receiver = "_self" if "self" in seen else "self"
        return receiver, (*required, *others)

    def _default(self, endpoint: d.Endpoint, field: d.Field, given: d.Json, kind: str) -> Expression:
        """The default of a parameter; one that all calls would share, or that a call makes, has a name of its own."""
        value = default(field.type, given, self.scope)
        bare = field.type.item if isinstance(field.type, d.Optional) else field.type
        if isinstance(value, str) and bare != d.Scalar("uuid"):
            return value
        text = json.dumps(given, sort_keys=True)
        plain = f"_DEFAULT_{field.python}".upper()
        for name in (plain, f"{plain}_OF_{self.member}".upper(), f"{plain}_OF_{self.member}_{endpoint.python}".upper()):
            type, before, _ = self.defaults.setdefault(name, (field.type, text, Default(name, kind, value)))
            if (type, before) == (field.type, text):
                return name
        return value

    def _body_type(self, endpoint: d.Endpoint, body: d.Body) -> str:
        if body.kind == "bytes":
            return self.scope.restencil("Content")
        if body.kind == "text":
            return self.scope.builtin("str")
        if body.type is None:
            return self.scope.typing("Any")
        text = body_annotation(body.type, self.scope, partial=body.partial)
        return self.scope.dict_of(text) if sent_body(endpoint) != body else text

    def _returns(self, endpoint: d.Endpoint) -> str:
        scope = self.scope
        # Beside a schema, `returns` is what the endpoint's own `process` makes of it.
        told = endpoint.returns or endpoint.schema
        if told is not None:
            return annotation(told, scope)
        match endpoint.content:
            case "text" if endpoint.process is None:
                return scope.builtin("str")
            case "bytes" if endpoint.process is None:
                return scope.builtin("bytes")
            case "stream" if endpoint.process is None:
                return scope.restencil("StreamedResponse")
            case _:
                return scope.typing("Any")


# ------------------------------------------------------------------------------------------------------------- helpers


def _said(given: Options, before: Body) -> Body:
    """What is said of a body from now on."""
    body = given.get("body", before)
    assert body is None or body is d.MISSING or isinstance(body, Names)
    return body


def _same_signature(one: d.Endpoint, other: d.Endpoint) -> bool:
    return _arguments(one) == _arguments(other)


def _arguments(endpoint: d.Endpoint) -> tuple[object, ...]:
    return endpoint.params, endpoint.search_params, endpoint.header_params, endpoint.body, endpoint.request


def _in_order(endpoints: Iterable[d.Endpoint]) -> list[d.Endpoint]:
    """The endpoints so that each stands behind the one it extends."""
    found: dict[str, d.Endpoint] = {}
    waiting = list(endpoints)
    names = {endpoint.name for endpoint in waiting}
    while waiting:
        rest: list[d.Endpoint] = []
        for endpoint in waiting:
            basis = endpoint.extends
            owner = "get_list" if basis in d.EXTENDERS and basis not in names else basis
            if owner is None or owner in found or owner not in names or endpoint.name in _ROWS:
                found[endpoint.name] = endpoint
            else:
                rest.append(endpoint)
        if len(rest) == len(waiting):
            found |= {endpoint.name: endpoint for endpoint in rest}
            break
        waiting = rest
    return list(found.values())


def result_types(resource: d.Resource) -> list[d.ObjectType]:
    """The object types of a resource's schemas and results, each once, inner ones first."""
    found: dict[str, d.ObjectType] = {}
    for _, endpoint in resource.all_endpoints():
        for type in (endpoint.schema, endpoint.returns):
            found |= {one.name: one for one in object_types(type)}
    return list(found.values())


def body_types(resource: d.Resource) -> list[d.ObjectType]:
    """The object types of a resource's bodies and search parameters, each once, inner ones first."""
    found: dict[str, d.ObjectType] = {}
    for _, endpoint in resource.all_endpoints():
        if endpoint.body is not None and endpoint.has_body:
            found |= {one.name: one for one in object_types(endpoint.body.type)}
        for field in endpoint.search_params:
            found |= {one.name: one for one in object_types(field.type)}
    return list(found.values())


def _known_as(listing: d.Endpoint, name: str) -> tuple[str, ...]:
    """The names, as in the spec, of what hangs on a list."""
    return (f"{listing.name}.{name}", name) if listing.name == "get_list" else (f"{listing.name}.{name}",)
