"""Comparison of a rendered module with its plan: nothing may be missing or have another type.

A template may add to a module: base classes, decorators, members, other docstrings. The built-in templates add nothing,
so an unplanned statement in their output means that a string of the spec was not quoted correctly.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from restencil_generator.codegen.context import (
    Assignment,
    Clients,
    EnumAlias,
    ErrorClass,
    Import,
    Method,
    Module,
    Parameter,
    RecordClass,
    ResourceClass,
    TypedDictClass,
    Validator,
)
from restencil_generator.codegen.pyexpr import Options
from restencil_generator.exceptions import Failure

_RULE = "A template may add to a module, but must keep everything that is planned for it. Nothing was written."


class Statement(NamedTuple):
    """A name that a module defines, planned or rendered. Types and values are code.

    `bases` are those of a class, or the names of a function's decorators; `options` the keywords of the class or of the
    decorators; `calls` the functions that a function calls, and `body` the number of its statements except a docstring
    and `...`.
    """

    kind: str
    type: str | None = None
    value: str | None = None
    bases: tuple[str, ...] = ()
    options: Options = MappingProxyType({})
    parameters: tuple[tuple[str, str | None, str | None], ...] = ()
    calls: tuple[str, ...] = ()
    body: int = 0


Statements = Mapping[str, Statement]
"""Statements by name; members have the name of their class and a dot before it."""


def verify(module: Module, text: str, *, user_template: str = "") -> ast.Module:
    """Parse a module, and raise an error if it differs from the plan: `Failure` if a user's template was used."""
    template = user_template or module.template
    error: type[Exception] = Failure if user_template else AssertionError
    try:
        rendered = _Rendered(text)
    except (SyntaxError, ValueError) as problem:
        line = getattr(problem, "lineno", None) or 0
        shown = "".join(text.splitlines()[line - 1 : line])
        raise error(
            f"{template} generates text for {module.path} that is not valid Python: {problem}\n    {shown}"
        ) from problem
    planned = dict(_planned(module))
    for finding in _lost(module, planned, rendered):
        raise error(f"{template}: {module.path} {finding}. {_RULE}")
    if not user_template:
        for finding in _added(planned, rendered, module):
            raise error(f"{template}: {module.path} {finding}")
    return rendered.tree


# ----------------------------------------------------------------------------------------------------------- comparison


def _lost(module: Module, planned: Statements, rendered: _Rendered) -> Iterator[str]:
    """Yield the planned parts that are missing in the rendered module."""
    for imported in sorted({*_names((*_flat(module), *module.type_imports))} - rendered.imports):
        yield f"lacks the import of `{'.'.join(filter(None, imported[:2]))}`"
    for name in module.exports:
        if name not in rendered.exports:
            yield f"lacks `{name}` in `__all__`"
    for name, statement in planned.items():
        found = rendered.statements.get(name)
        if found is None:
            yield f"lacks the {statement.kind} `{name}`{_shown(statement)}"
        elif found != statement:
            yield from _changed(name, statement, found)
    if module.setup and not any(_same(module.setup, one) for one in rendered.expressions):
        yield f"lacks the call `{module.setup}`"


def _changed(name: str, planned: Statement, found: Statement) -> Iterator[str]:
    if found.kind != planned.kind:
        yield f"has a {found.kind} `{name}` in place of a {planned.kind}"
    if not _same(planned.type, found.type):
        yield f"changes the type of `{name}` from `{planned.type}` to `{found.type}`"
    if not _same(planned.value, found.value):
        yield f"changes the value of `{name}` from `{planned.value}` to `{found.value}`"
    for base in planned.bases:
        if not any(_same(base, other) for other in found.bases):
            yield f"lacks `{base}` {'as a base' if planned.kind == 'class' else 'as a decorator'} of `{name}`"
    for option, value in planned.options.items():
        if not _same(value, found.options.get(option)):
            yield f"lacks the option `{option.rpartition(' ')[2]}={value}` of `{name}`"
    if planned.kind == "method" and not _same_parameters(planned.parameters, found.parameters):
        yield f"changes the parameters of `{name}`, which are `{_listed(planned.parameters)}`"
    for function in planned.calls:
        if not any(_same(function, other) for other in found.calls):
            yield f"lacks the call of `{function}` in `{name}`"


def _added(planned: Statements, rendered: _Rendered, module: Module) -> Iterator[str]:
    """Yield the unplanned parts of a module that a built-in template rendered."""
    if rendered.lines[0] != module.header:
        yield f"does not begin with `{module.header}`"
    for name, found in rendered.statements.items():
        one = planned.get(name)
        if one == found:
            continue
        if one is None or (len(found.bases), len(found.options), found.body) != (
            len(one.bases),
            len(one.options),
            one.body,
        ):
            yield f"contains `{name}`, which is not planned"
    for imported in rendered.imports - {*_names((*_flat(module), *module.type_imports)), ("__future__", "annotations")}:
        yield f"has an import that is not planned: `{imported}`"
    for code in rendered.expressions:
        if not _same(module.setup or None, code):
            yield f"has a statement that is not planned: `{code[:200]}`"


def _shown(statement: Statement) -> str:
    code = "".join(
        [f": {statement.type}" if statement.type else "", f" = {statement.value}" if statement.value else ""]
    )
    return f" (`{code.removeprefix(': ').removeprefix(' = ')}`)" if code and statement.kind != "method" else ""


def _listed(parameters: Iterable[tuple[str, str | None, str | None]]) -> str:
    return ", ".join(f"{name}: {type}" + (f" = {default}" if default else "") for name, type, default in parameters)


def _same_parameters(
    planned: Sequence[tuple[str, str | None, str | None]], found: Sequence[tuple[str, str | None, str | None]]
) -> bool:
    if len(planned) != len(found):
        return False
    return all(
        one[0] == other[0] and _same(one[1], other[1]) and _same(one[2], other[2])
        for one, other in zip(planned, found, strict=True)
    )


def _same(planned: str | None, found: str | None) -> bool:
    """Return whether two pieces of code are equal except for formatting."""
    if planned == found or planned is None or found is None:
        return planned == found
    return _normal(planned) == _normal(found)


@lru_cache(maxsize=1024)
def _normal(code: str) -> str:
    return ast.unparse(ast.parse(code, mode="eval"))


# -------------------------------------------------------------------------------------------------------------- planned


def _planned(module: Module) -> Iterator[tuple[str, Statement]]:
    for enum in module.enums:
        yield from _enum(enum)
    for record in module.records:
        yield from _record(record)
    for typed_dict in module.typed_dicts:
        yield from _typed_dict(typed_dict)
    for error in module.errors:
        yield from _error(error)
    if module.resource is not None:
        yield from _resource(module.resource)
    if module.clients is not None:
        yield from _clients(module.clients)


def _enum(enum: EnumAlias) -> Iterator[tuple[str, Statement]]:
    yield enum.name, Statement("name", enum.type, enum.value)
    for constant in enum.constants:
        yield constant.name, Statement("name", constant.type, constant.value)


def _record(record: RecordClass) -> Iterator[tuple[str, Statement]]:
    yield record.name, Statement("class", bases=record.bases, options=record.options)
    for field in record.fields:
        yield f"{record.name}.{field.name}", Statement("field", field.type, field.value)
    if record.validator is not None:
        yield f"{record.name}.validate", _validator(record.validator)
    if record.alias:
        yield record.alias, Statement("name", None, record.name)


def _validator(found: Validator) -> Statement:
    parameters = (("record", found.record, None),)
    return Statement("method", found.returns, None, (found.decorator,), {}, parameters, (found.function,), 2)


def _typed_dict(found: TypedDictClass) -> Iterator[tuple[str, Statement]]:
    yield found.name, Statement("class", bases=found.bases, options=found.options)
    for key in found.keys:
        yield f"{found.name}.{key.name}", Statement("field", key.type)
    if found.alias:
        yield found.alias, Statement("name", None, found.name)


def _error(error: ErrorClass) -> Iterator[tuple[str, Statement]]:
    yield error.name, Statement("class", bases=error.bases)
    if error.data:
        yield f"{error.name}.data", Statement("field", error.data)


def _resource(resource: ResourceClass) -> Iterator[tuple[str, Statement]]:
    for default in resource.defaults:
        yield default.name, Statement("name", default.type, default.value)
    yield resource.name, Statement("class", bases=resource.bases, options=resource.options)
    for member in resource.members:
        name = f"{resource.name}.{member.name}"
        if isinstance(member, Assignment):
            yield name, Statement("field", None, member.value)
        else:
            yield name, _method(member)


def _method(method: Method) -> Statement:
    decorators = (method.decorator,) if method.decorator else ()
    options = _of_decorator(method.decorator, method.options)
    return Statement("method", method.returns, None, decorators, options, _parameters(method.parameters))


def _of_decorator(decorator: str, options: Options) -> Options:
    """Return the options of a decorator, with its name as prefix."""
    return {f"{decorator} {name}": value for name, value in options.items()}


def _clients(clients: Clients) -> Iterator[tuple[str, Statement]]:
    yield "_API", Statement("name", None, clients.api)
    yield clients.host, Statement("class", bases=clients.bases)
    for member in clients.members:
        yield f"{clients.host}.{member.name}", Statement("field", member.type, member.value)
    for client in clients.classes:
        yield client.name, Statement("class", bases=client.bases)
        yield f"{client.name}._api", Statement("field", None, "_API")
        if client.arguments is not None:
            given = client.arguments
            parameters = (("store", given.store, "None"), *_parameters(given.own), ("options", given.options, None))
            yield f"{client.name}.__init__", Statement("method", "None", parameters=parameters)


def _parameters(parameters: Iterable[Parameter]) -> tuple[tuple[str, str | None, str | None], ...]:
    return tuple((one.name, one.type, one.default) for one in parameters)


def _flat(module: Module) -> Iterator[Import]:
    for section in module.imports:
        yield from section


def _names(imports: Iterable[Import]) -> Iterator[tuple[str, ...]]:
    """Yield the imports as tuples: module, name (if it is imported from the module) and alias (if any)."""
    for one in imports:
        if not one.names:
            yield (one.module, *(["", one.alias] if one.alias else []))
        for name, alias in one.names:
            yield (one.module, name, *([alias] if alias else []))


# ------------------------------------------------------------------------------------------------------------- rendered


class _Rendered:
    """The statements of a rendered module. Raises SyntaxError or ValueError if it is not valid Python."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.statements: dict[str, Statement] = {}
        self.imports: set[tuple[str, ...]] = set()
        self.exports: set[str] = set()
        self.expressions: list[str] = []
        """Statements that define no name, except docstrings."""
        self.tree = ast.parse(text)
        self._read(self.tree.body, "")

    def _read(self, body: Iterable[ast.stmt], owner: str) -> None:
        for node in body:
            self._read_statement(node, owner)

    def _read_statement(self, node: ast.stmt, owner: str) -> None:
        match node:
            case ast.Expr(ast.Constant(str())) | ast.Pass():
                pass
            case ast.AnnAssign(ast.Name(name)):
                type, value = self._code(node.annotation), self._code(node.value)
                self._define(owner, name, Statement("field" if owner else "name", type, value))
            case ast.Assign([ast.Name("__all__")], ast.List(names)) if not owner:
                self.exports.update(str(name.value) for name in names if isinstance(name, ast.Constant))
            case ast.Assign([ast.Name(name)]):
                self._define(owner, name, Statement("field" if owner else "name", None, self._code(node.value)))
            case ast.ClassDef(name):
                bases = tuple(map(self._text, node.bases))
                self._define(owner, name, Statement("class", bases=bases, options=self._options(node.keywords)))
                self._read(node.body, f"{owner}{name}.")
            case ast.FunctionDef(name):
                self._define(owner, name, self._function(node))
            case ast.Import(names):
                self.imports.update((one.name, *(["", one.asname] if one.asname else [])) for one in names)
            case ast.ImportFrom(module, names, level):
                source = "." * level + (module or "")
                self.imports.update((source, one.name, *([one.asname] if one.asname else [])) for one in names)
            case ast.If(ast.Attribute(_, "TYPE_CHECKING"), _, []):
                self._read(node.body, owner)
            case _:
                self.expressions.append(self._text(node))

    def _define(self, owner: str, name: str, statement: Statement) -> None:
        if f"{owner}{name}" in self.statements:
            self.expressions.append(f"{owner}{name}")
        self.statements[f"{owner}{name}"] = statement

    def _function(self, node: ast.FunctionDef) -> Statement:
        bases: list[str] = []
        options: dict[str, str] = {}
        for decorator in node.decorator_list:
            name = self._text(decorator.func if isinstance(decorator, ast.Call) else decorator)
            bases.append(name)
            if isinstance(decorator, ast.Call):
                options |= _of_decorator(name, self._options(decorator.keywords))
        body = [one for one in node.body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))]
        inner = (one for statement in body for one in ast.walk(statement))
        calls = tuple(self._text(one.func) for one in inner if isinstance(one, ast.Call))
        parameters = tuple(self._arguments(node.args))
        returns = self._code(node.returns)
        return Statement("method", returns, None, tuple(bases), options, parameters, calls, len(body))

    def _arguments(self, given: ast.arguments) -> Iterator[tuple[str, str | None, str | None]]:
        plain = [*given.posonlyargs, *given.args]
        defaults = [*[None] * (len(plain) - len(given.defaults)), *given.defaults]
        pairs = [*zip(plain, defaults, strict=True), *zip(given.kwonlyargs, given.kw_defaults, strict=True)]
        for argument, default in pairs[1:]:
            yield argument.arg, self._code(argument.annotation), self._code(default)
        for argument in filter(None, (given.vararg, given.kwarg)):
            yield argument.arg, self._code(argument.annotation), None

    def _options(self, keywords: Iterable[ast.keyword]) -> dict[str, str]:
        return {keyword.arg: self._text(keyword.value) for keyword in keywords if keyword.arg is not None}

    def _code(self, node: ast.expr | None) -> str | None:
        return None if node is None else self._text(node)

    def _text(self, node: ast.expr | ast.stmt) -> str:
        """Return the source of a node; its positions count bytes."""
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        line = self.lines[first]
        if first == last and line.isascii():
            return line[node.col_offset : node.end_col_offset]
        found = [text.encode() for text in self.lines[first : last + 1]]
        found[-1] = found[-1][: node.end_col_offset]
        found[0] = found[0][node.col_offset :]
        return b"\n".join(found).decode()
