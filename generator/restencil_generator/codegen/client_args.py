"""What a package says of the arguments of its clients: headers and search parameters of all requests, and servers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from restencil_generator.codegen.annotations import annotation
from restencil_generator.codegen.imports import Scope
from restencil_generator.codegen.pyexpr import Call, Expression, Parameter, Table, items, literal, string
from restencil_generator.spec import model as d


def params_of(spec: d.Spec, scope: Scope) -> Table | None:
    """The `params` of the API; None where its clients have none."""
    pairs: list[tuple[str, Expression]] = []
    for param in given_to_client(spec):
        hidden: list[tuple[str, Expression]] = [("secret", "True")] if param.secret else []
        pairs.append((string(param.field.python), _param("header", param.field, scope, hidden)))
    for field in spec.search_params:
        style: list[tuple[str, Expression]] = [] if field.style is None else [("style", string(field.style))]
        pairs.append((string(field.python), _param("query", field, scope, style)))
    return Table(tuple(pairs)) if pairs else None


def servers_of(spec: d.Spec, scope: Scope) -> Table | None:
    """The `servers` of the API; None where the spec names none."""
    pairs: list[tuple[str, Expression]] = []
    for server in spec.servers:
        options: list[tuple[str, Expression]] = []
        if server.variables:
            named = ((string(field.python), _param("variable", field, scope, ())) for field in server.variables)
            options.append(("variables", Table(tuple(named))))
        if server.deprecated is not None:
            options.append(("deprecated", string(server.deprecated)))
        pairs.append((string(server.name), Call(scope.restencil("Server"), (string(server.url),), tuple(options))))
    return Table(tuple(pairs)) if pairs else None


def client_parameters(spec: d.Spec, scope: Scope) -> Iterator[Parameter]:
    """The arguments of a client for them, for type checkers."""
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
    """The headers that are arguments of the client; those that are made for each call are not."""
    return tuple(param for param in spec.header_params if param.auto is None)


def _parameter(field: d.Field, scope: Scope, *, needed: bool) -> Parameter:
    if needed:
        return Parameter(field.python, annotation(field.type, scope))
    return Parameter(field.python, annotation(d.Optional(field.type), scope), "None")


def _param(kind: str, field: d.Field, scope: Scope, more: Iterable[tuple[str, Expression]]) -> Call:
    options: list[tuple[str, Expression]] = []
    if field.written_default and field.default is not None and field.default is not d.MISSING:
        options.append(("default", _default(field.default)))
    if field.env is not None:
        options.append(("env", string(field.env)))
    if field.required:
        options.append(("required", "True"))
    options += more
    if field.deprecated is not None:
        options.append(("deprecated", string(field.deprecated)))
    given = () if kind == "variable" else (string(field.wire),)
    return Call(f"{scope.restencil('ClientParam')}.{kind}", given, tuple(options))


def _default(value: d.Json) -> Expression:
    if isinstance(value, list):
        return items([_default(item) for item in value])
    assert not isinstance(value, dict)
    return literal(value)
