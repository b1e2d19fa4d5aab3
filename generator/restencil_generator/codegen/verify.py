"""Comparison of what a user's templates render with what the built-in ones do: nothing may be lost or change its type.

A template may add to a module: base classes, decorators, members, other docstrings.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from restencil_generator.codegen.pyexpr import Options
from restencil_generator.exceptions import Failure

_RULE = "A template may add to a module, but must keep everything that is planned for it. Nothing was written."


class Statement(NamedTuple):
    """A name that a module defines. Types and values are code.

    `bases` are those of a class, or the names of a function's decorators; `options` the keywords of the class, or of
    the decorators after the decorator's name; `calls` the functions that a function calls.
    """

    kind: str
    type: str | None = None
    value: str | None = None
    bases: tuple[str, ...] = ()
    options: Options = MappingProxyType({})
    parameters: tuple[tuple[str, str | None, str | None], ...] = ()
    calls: tuple[str, ...] = ()


def verify(path: str, text: str, built_in: str, template: str) -> ast.Module:
    """Parse what a user's template rendered; raises `Failure` if it loses something of the `built_in` text."""
    try:
        rendered = _Rendered(text)
    except (SyntaxError, ValueError) as problem:
        line = getattr(problem, "lineno", None) or 0
        shown = "".join(text.splitlines()[line - 1 : line])
        message = f"{template} generates text for {path} that is not valid Python: {problem}\n    {shown}"
        raise Failure(message) from problem
    for finding in _lost(_Rendered(built_in), rendered):
        raise Failure(f"{template}: {path} {finding}. {_RULE}")
    return rendered.tree


# ----------------------------------------------------------------------------------------------------------- comparison


def _lost(planned: _Rendered, rendered: _Rendered) -> Iterator[str]:
    """Yield the planned parts that are missing in the rendered module."""
    for imported in sorted(planned.imports - rendered.imports):
        yield f"lacks the import of `{'.'.join(filter(None, imported[:2]))}`"
    for name in sorted(planned.exports - rendered.exports):
        yield f"lacks `{name}` in `__all__`"
    for name, statement in planned.statements.items():
        found = rendered.statements.get(name)
        if found is None:
            yield f"lacks the {statement.kind} `{name}`{_shown(statement)}"
        elif found != statement:
            yield from _changed(name, statement, found)
    for code in planned.expressions:
        if not any(_same(code, one) for one in rendered.expressions):
            yield f"lacks the call `{code}`"


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
    return ast.unparse(ast.parse(code))


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
                options |= {f"{name} {key}": value for key, value in self._options(decorator.keywords).items()}
        inner = (one for statement in node.body for one in ast.walk(statement))
        calls = tuple(self._text(one.func) for one in inner if isinstance(one, ast.Call))
        parameters = tuple(self._arguments(node.args))
        returns = self._code(node.returns)
        return Statement("method", returns, None, tuple(bases), options, parameters, calls)

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
