"""The class of a resource: its options, its members with their signatures, and the options of each member.

The class line has the options that all members share. A member's decorator has its method, its path and the options
that differ from the class; list operations do not repeat options of their list.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from typing import Final

from restencil_generator.codegen.annotations import annotation, argument_annotation, body_annotation, object_types
from restencil_generator.codegen.context import Assignment, Constant, Documentation, Method, Parameter, ResourceClass
from restencil_generator.codegen.docstrings import example_of, place_of
from restencil_generator.codegen.endpoint_options import (
    OptionValues,
    differing,
    endpoint_options,
    resource_options,
    schema_option,
    sent_body,
)
from restencil_generator.codegen.imports import Scope
from restencil_generator.codegen.json_values import concrete, default
from restencil_generator.codegen.pyexpr import call, string, table
from restencil_generator.codegen.runtime_schemas import NOTHING, runtime_form
from restencil_generator.spec import model as d
from restencil_generator.spec.type_info import type_info

_STANDARD: Final = ("get", "get_list", "update", "partial_update", "delete")
"""The names that make an endpoint a standard member at run time, unless it has `standard=False`."""

_OF_LIST: Final = ("wire", "exact_filters", "pagination", "pagination_field", "optimistic")
"""Options of list operations that are always those of the list."""

_OF_RESPONSES: Final = ("unwrap", "path")
"""Options that list operations do not inherit from the list: the position of the value, and the path of an item."""


def plan_resource(resource: d.Resource, scope: Scope) -> ResourceClass:
    """Return the class of a resource."""
    return _Planner(resource, scope).plan()


class _Planner:
    def __init__(self, resource: d.Resource, scope: Scope) -> None:
        self.resource = resource
        self.scope = scope
        self.shared = resource_options(resource, scope)
        self.known: dict[str, tuple[d.Endpoint, OptionValues]] = {}
        """The planned endpoints with all of their options, by dotted name as in the spec."""
        self.defaults: dict[str, tuple[d.Type, str, Constant]] = {}
        """Defaults that are defined before the class, each with its type and its JSON."""
        self.member = ""
        """The name of the member that is being planned."""

    def plan(self) -> ResourceClass:
        resource, scope = self.resource, self.scope
        members: list[Method | Assignment] = []
        for endpoint in _in_order(resource.endpoints.values()):
            members += self._member(endpoint)
        return ResourceClass(
            resource.class_name,
            (f"{scope.restencil('Resource')}[{scope.restencil('ControllerType')}]",),
            {name: value or "None" for name, value in self.shared.items() if value or name == "schema"},
            tuple(members),
            place_of(resource),
            resource.description.strip(),
            resource.deprecated,
            tuple(made for _, _, made in self.defaults.values()),
        )

    # ---------------------------------------------------------------------------------------------------- one member

    def _member(self, endpoint: d.Endpoint) -> list[Method | Assignment]:
        self.member = endpoint.python
        wanted = endpoint_options(endpoint, self.resource, self.scope, self.shared)
        self.known[endpoint.name] = endpoint, wanted
        for name, extender in endpoint.extenders.items():
            operation = extender, endpoint_options(extender, self.resource, self.scope, self.shared)
            self.known |= dict.fromkeys(_known_as(endpoint, name), operation)
        basis = self._basis(endpoint)
        if endpoint.name == "create" and basis == "get_list.push" and self._is_push(endpoint):
            return [self._create(endpoint, wanted)]
        options: OptionValues = {"method": wanted["method"], "path": wanted["path"]}
        if basis is not None:
            options["extends"] = string(self._python_path(basis))
        elif not endpoint.standard and endpoint.name in _STANDARD:
            options["standard"] = "False"
        options |= self._schema(endpoint, basis)
        options |= differing(wanted, self.shared, endpoint, None if basis is None else self.known[basis][1])
        values = d.values_list(endpoint.schema) if "get_page" in endpoint.extenders else None
        if (endpoint.collection is None and values is None) or isinstance(endpoint.schema, d.AdderOf | d.PageOf):
            return [self._method(endpoint, "rest", options)]
        return self._list(endpoint, wanted, options)

    def _basis(self, endpoint: d.Endpoint) -> str | None:
        """Return the name of the member that an endpoint extends."""
        basis = endpoint.extends
        if endpoint.name == "create" and basis in (None, "push") and "get_list.push" in self.known:
            return "get_list.push"
        if basis is None or basis not in self.known:
            return None
        is_list_operation = basis in d.EXTENDERS and basis not in self.resource.endpoints
        return f"get_list.{basis}" if is_list_operation else basis

    def _schema(self, endpoint: d.Endpoint, basis: str | None) -> OptionValues:
        """Return the option `schema`; empty if it is inherited from the class or the extended endpoint."""
        inherited = self.resource.schema if basis is None else self.known[basis][0].schema
        if basis is None and endpoint.standard and endpoint.name in ("get_list", "delete"):
            inherited = inherited if "schema" in endpoint.written else endpoint.schema  # made from the class's schema
        if _form(endpoint.schema) == _form(inherited):
            return {}
        return {"schema": schema_option(endpoint.schema, self.scope)}

    def _create(self, endpoint: d.Endpoint, wanted: OptionValues) -> Assignment:
        """Return `create` as a second name of `get_list.push`, with its own options if it has any."""
        value = call(self.scope.restencil("push_of"), ["get_list"])
        pushed = self.known["get_list.push"][1]
        own = differing(wanted, pushed, endpoint)
        if own:
            value = call(f"{value}.extend", (), _written(own))
        return Assignment(endpoint.python, value, self._own_documentation(endpoint, self._signature(endpoint)[1]))

    def _is_push(self, endpoint: d.Endpoint) -> bool:
        """Return whether `create` has the types of `get_list.push`."""
        push = self.resource.endpoints["get_list"].extenders.get("push")
        return push is not None and _same_signature(push, endpoint) and push.schema == endpoint.schema

    def _list(self, endpoint: d.Endpoint, wanted: OptionValues, options: OptionValues) -> list[Method | Assignment]:
        """Return the functions that declare the types of list operations, and the endpoint with the collection."""
        functions: list[Method | Assignment] = []
        suffix = "" if endpoint.name == "get_list" else f"_{endpoint.python.rstrip('_')}"
        typed: OptionValues = {}
        for name in d.EXTENDERS:
            extender = endpoint.extenders.get(name)
            if extender is None:
                if name == "unshift" and "push" in typed:
                    typed["unshift"] = None  # it exists by default, like `push`
                continue
            same = endpoint.extenders.get("push") if name == "unshift" else None
            if same is None or not _same_signature(same, extender):
                function = self._function(f"{suffix}_{name}", endpoint, extender)
                functions.append(function)
                typed[name] = function.name
            if name == "get_page" and type_info(endpoint.schema or d.Scalar("any")).shape != "list":
                functions.append(self._item(f"{suffix}_item", endpoint))
                typed["items"] = f"{suffix}_item"
            changed = self._operation_options(name, endpoint, wanted)
            if changed:
                typed[f"{name}_options"] = table({string(key): value for key, value in _written(changed).items()})
        first: OptionValues = {"method": options["method"], "path": options["path"]}
        return [*functions, self._method(endpoint, "rest_list", first | typed | options)]

    def _item(self, name: str, listed: d.Endpoint) -> Method:
        """Return a function that declares the type of the items of a list in an object."""
        items = d.values_list(listed.schema) if listed.collection is None else listed.collection.of
        assert items is not None
        return Method(name, "self", (), annotation(items.item, self.scope))

    def _operation_options(self, name: str, endpoint: d.Endpoint, listed: OptionValues) -> OptionValues:
        """Return the options of a list operation that differ from those of the list."""
        extender, wanted = self.known[f"{endpoint.name}.{name}"]
        inherited = {"body": self.shared.get("body"), **listed}
        if name != "get_page":
            moves = name in d.NOT_BY_DEFAULT
            inherited |= {"method": string("PATCH" if moves else "POST"), "side_effect": None}
            inherited |= {"send_body": None, "body_in_key": None}
            if moves and endpoint.standard and self.resource.path is not None:
                inherited["path"] = string(self.resource.path.text)
        return {
            option: value
            for option, value in differing(wanted, inherited, extender).items()
            if option not in _OF_LIST and (extender.written or option in _OF_RESPONSES or option == "body")
        }

    def _python_path(self, name: str) -> str:
        """Convert the dotted name of a member in the spec to Python."""
        owner, dot, part = name.partition(".")
        return f"{self.resource.endpoints[owner].python}{dot}{part}"

    # -------------------------------------------------------------------------------------------------------- methods

    def _function(self, name: str, listed: d.Endpoint, extender: d.Endpoint) -> Method:
        receiver, parameters = self._signature(extender)
        doc = self._own_documentation(extender, parameters, f"{listed.python}.{extender.python}")
        return Method(name, receiver, parameters, self._returns(extender), doc=doc)

    def _method(self, endpoint: d.Endpoint, decorator: str, options: OptionValues) -> Method:
        receiver, parameters = self._signature(endpoint)
        return Method(
            endpoint.python,
            receiver,
            parameters,
            self._returns(endpoint),
            decorator=self.scope.restencil(decorator),
            options=_written(options),
            doc=self._documentation(endpoint, parameters),
        )

    def _own_documentation(
        self, endpoint: d.Endpoint, parameters: tuple[Parameter, ...], name: str = ""
    ) -> Documentation | None:
        """Return the documentation of a list operation or `create`; None if the spec only documents its base."""
        described = endpoint.description or endpoint.example or endpoint.deprecated is not None
        return self._documentation(endpoint, parameters, name) if described else None

    def _documentation(self, endpoint: d.Endpoint, parameters: tuple[Parameter, ...], name: str = "") -> Documentation:
        spec, resource = self.scope.spec, self.resource
        return Documentation(
            endpoint.method,
            endpoint.path.text,
            tuple(one for one in parameters if one.description or one.deprecated is not None),
            endpoint.description.strip(),
            endpoint.deprecated,
            example_of(spec, endpoint, f"{spec.package}.{resource.python}.{name or endpoint.python}"),
        )

    def _signature(self, endpoint: d.Endpoint) -> tuple[str, tuple[Parameter, ...]]:
        """Return the name of the receiver and the keywords of a call: path, page, body, then search parameters."""
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
                required.append(_parameter(field, argument_annotation(field, scope)))
            elif field.default is d.MISSING or field.default is None:
                optional_field = dataclasses.replace(field, type=d.Optional(field.type))
                others.append(_parameter(field, argument_annotation(optional_field, scope), "None"))
            else:
                kind = argument_annotation(field, scope)
                others.append(_parameter(field, kind, self._default(endpoint, field, field.default, kind)))
        if endpoint.has_body and endpoint.body is not None:
            kind = self._body_type(endpoint, endpoint.body)
            if endpoint.request.optional:
                others.insert(0, Parameter("body", kind if kind == "Any" else f"{kind} | None", "None"))
            else:
                required.append(Parameter("body", kind))
        receiver = "_self" if "self" in seen else "self"
        return receiver, (*required, *others)

    def _default(self, endpoint: d.Endpoint, field: d.Field, given: d.Json, kind: str) -> str:
        """Return the default of a parameter. A mutable one, such as a list, is defined before the class with a name."""
        value = default(field.type, given, self.scope)
        type = concrete(field.type, given, self.scope)
        if value[0] not in "[{" and not isinstance(type, d.ObjectRef) and type != d.Scalar("uuid"):
            return value
        text = json.dumps(given, sort_keys=True)
        plain = f"_DEFAULT_{field.python}".upper()
        for name in (plain, f"{plain}_OF_{self.member}".upper(), f"{plain}_OF_{self.member}_{endpoint.python}".upper()):
            found, before, _ = self.defaults.setdefault(name, (field.type, text, Constant(name, kind, value)))
            if (found, before) == (field.type, text):
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
        # With a schema, `returns` is the result of the endpoint's own `process`.
        result = endpoint.returns or endpoint.schema
        if result is not None:
            return annotation(result, scope)
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


def _written(options: OptionValues) -> dict[str, str]:
    return {name: "None" if value is None else value for name, value in options.items()}


def _form(schema: d.Type | None) -> d.Type:
    return NOTHING if schema is None else runtime_form(schema)


def _parameter(field: d.Field, type: str, default: str | None = None) -> Parameter:
    return Parameter(field.python, type, default, field.description.strip(), field.deprecated)


def _same_signature(one: d.Endpoint, other: d.Endpoint) -> bool:
    return _arguments(one) == _arguments(other)


def _arguments(endpoint: d.Endpoint) -> tuple[object, ...]:
    return endpoint.params, endpoint.search_params, endpoint.header_params, endpoint.body, endpoint.request


def _in_order(endpoints: Iterable[d.Endpoint]) -> list[d.Endpoint]:
    """Return the endpoints, each after the one it extends."""
    found: dict[str, d.Endpoint] = {}
    waiting = list(endpoints)
    names = {endpoint.name for endpoint in waiting}
    while waiting:
        rest: list[d.Endpoint] = []
        for endpoint in waiting:
            basis = endpoint.extends
            owner = "get_list" if basis in d.EXTENDERS and basis not in names else basis
            if owner is None or owner in found or owner not in names or endpoint.name in _STANDARD:
                found[endpoint.name] = endpoint
            else:
                rest.append(endpoint)
        if len(rest) == len(waiting):
            found |= {endpoint.name: endpoint for endpoint in rest}
            break
        waiting = rest
    return list(found.values())


def result_types(resource: d.Resource) -> list[d.ObjectType]:
    """Return the distinct object types of a resource's schemas and results, inner ones first."""
    found: dict[str, d.ObjectType] = {}
    for _, endpoint in resource.all_endpoints():
        for type in (endpoint.schema, endpoint.returns):
            found |= {one.name: one for one in object_types(type)}
    return list(found.values())


def body_types(resource: d.Resource) -> list[d.ObjectType]:
    """Return the distinct object types of a resource's bodies and search parameters, inner ones first."""
    found: dict[str, d.ObjectType] = {}
    for _, endpoint in resource.all_endpoints():
        if endpoint.body is not None and endpoint.has_body:
            found |= {one.name: one for one in object_types(endpoint.body.type)}
        for field in endpoint.search_params:
            found |= {one.name: one for one in object_types(field.type)}
    return list(found.values())


def _known_as(listing: d.Endpoint, name: str) -> tuple[str, ...]:
    """Return the names of an operation of a list in the spec."""
    return (f"{listing.name}.{name}", name) if listing.name == "get_list" else (f"{listing.name}.{name}",)
