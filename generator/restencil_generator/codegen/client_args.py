"""The arguments of generated clients: headers and search parameters of all requests, and servers."""

from __future__ import annotations

from collections.abc import Iterator

from restencil_generator.codegen.annotations import annotation
from restencil_generator.codegen.context import Parameter
from restencil_generator.codegen.imports import Scope
from restencil_generator.codegen.pyexpr import Options, call, items, literal, string, table
from restencil_generator.spec import model as d


def params_of(spec: d.Spec, scope: Scope) -> str | None:
    """Return the `params` of the API; None if its clients have none."""
    pairs: dict[str, str] = {}
    for param in given_to_client(spec):
        options = {"secret": "True"} if param.secret else {}
        pairs[string(param.field.python)] = _param("header", param.field, scope, options)
    for field in spec.search_params:
        options = {} if field.style is None else {"style": string(field.style)}
        pairs[string(field.python)] = _param("query", field, scope, options)
    return table(pairs) if pairs else None


def servers_of(spec: d.Spec, scope: Scope) -> str | None:
    """Return the `servers` of the API; None if the spec has none."""
    pairs: dict[str, str] = {}
    for server in spec.servers:
        options: dict[str, str] = {}
        if server.variables:
            named = {string(field.python): _param("variable", field, scope, {}) for field in server.variables}
            options["variables"] = table(named)
        if server.deprecated is not None:
            options["deprecated"] = string(server.deprecated)
        pairs[string(server.name)] = call(scope.restencil("Server"), [string(server.url)], options)
    return table(pairs) if pairs else None


def client_parameters(spec: d.Spec, scope: Scope) -> Iterator[Parameter]:
    """Yield the keyword parameters of a client for these arguments."""
    for field in (*(param.field for param in given_to_client(spec)), *spec.search_params):
        yield _parameter(field, scope, needed=field.required and field.env is None)
    if spec.servers:
        words = ", ".join(string(server.name) for server in spec.servers)
        yield Parameter("server", f"{scope.typing('Literal')}[{words}] | None", "None")
    variables = {field.python: field for server in spec.servers for field in server.variables}
    for field in variables.values():
        needed = len(spec.servers) == 1 and field.required and field.env is None
        yield _parameter(field, scope, needed=needed)


def given_to_client(spec: d.Spec) -> tuple[d.HeaderParam, ...]:
    """Return the headers that are arguments of the client, without those with a generated value."""
    return tuple(param for param in spec.header_params if param.auto is None)


def _parameter(field: d.Field, scope: Scope, *, needed: bool) -> Parameter:
    if needed:
        return Parameter(field.python, annotation(field.type, scope))
    return Parameter(field.python, annotation(d.Optional(field.type), scope), "None")


def _param(kind: str, field: d.Field, scope: Scope, more: Options) -> str:
    options: dict[str, str] = {}
    if field.written_default and field.default is not None and field.default is not d.MISSING:
        options["default"] = _default(field.default)
    if field.env is not None:
        options["env"] = string(field.env)
    if field.required:
        options["required"] = "True"
    options |= more
    if field.deprecated is not None:
        options["deprecated"] = string(field.deprecated)
    given = [] if kind == "variable" else [string(field.wire)]
    return call(f"{scope.restencil('ClientParam')}.{kind}", given, options)


def _default(value: d.Json) -> str:
    if isinstance(value, list):
        return items(_default(item) for item in value)
    assert not isinstance(value, dict)
    return literal(value)
