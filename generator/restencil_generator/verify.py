"""What was rendered, parsed again and compared with what was meant.

Literals and docstrings are made so that nothing in them can end them (`code`, `layout`); here the whole is looked at
from the other side: a module must parse, and have exactly the statements, names and docstrings of its plan.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from restencil_generator.failure import Failure
from restencil_generator.members import Assignment, Method, ResourceClass
from restencil_generator.plan import ClientClass, Module, RecordClass, TypedDictClass

Outline: TypeAlias = "tuple[str | Outline, ...]"


def verify(module: Module, text: str, *, custom: bool) -> None:
    """Raises when a rendered module is not what its plan says; of a user's templates, when it is no Python."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 0
        shown = text.splitlines()[line - 1 : line]
        message = f"{module.template} gives text for {module.path} that is no Python: {error}\n    {''.join(shown)}"
        if custom:
            raise Failure(message) from error
        raise AssertionError(message) from error
    if custom:
        return
    found = dict(_classes(tree.body))
    for name, meant in _meant(module):
        if found.get(name) != meant:
            raise AssertionError(f"{module.path}: {name} was meant to be {meant}, and is {found.get(name)}")
    if _words(ast.get_docstring(tree, clean=False)) != _words(module.doc):
        raise AssertionError(f"{module.path}: the docstring was meant to be {module.doc!r}")
    known = _top_level(module)
    for node in tree.body:
        if not _is_meant(node, known):
            raise AssertionError(
                f"{module.path}:{node.lineno}: a statement that nobody meant: {ast.unparse(node)[:200]}"
            )


def _top_level(module: Module) -> set[str]:
    """The names that a module may define."""
    known = {name for name, _ in _meant(module)}
    known |= {constant.name for constant in (*module.constants, *module.tables)}
    known |= {client.name for client in module.clients}
    known |= {record.alias for record in module.records} | {one.alias for one in module.typed_dicts}
    known |= {default.name for default in (module.resource.defaults if module.resource is not None else ())}
    return known | {"__all__"} | _MACHINERY.get(module.template, set())


_MACHINERY: Final[Mapping[str, set[str]]] = {"client.py.jinja": {"_API", "_Resources"}, "lazy.py.jinja": {"lazy"}}
"""What templates define by themselves."""


def _is_meant(node: ast.stmt, known: set[str]) -> bool:
    match node:
        case ast.ClassDef(name) | ast.FunctionDef(name) | ast.AnnAssign(ast.Name(name)) | ast.Assign([ast.Name(name)]):
            return name in known
        case ast.Expr(ast.Constant(str())) | ast.Import() | ast.ImportFrom():
            return True
        case ast.If(test):
            return ast.unparse(test).endswith("typing.TYPE_CHECKING")
        case _:
            return False


def _meant(module: Module) -> Iterable[tuple[str, Outline]]:
    for record in module.records:
        yield record.name, _record(record)
    for typed_dict in module.typed_dicts:
        yield typed_dict.name, _typed_dict(typed_dict)
    if module.resource is not None:
        yield module.resource.name, _resource(module.resource)
    for client in module.clients:
        yield client.name, _client(client)


def _record(record: RecordClass) -> Outline:
    found: list[str | Outline] = [("doc", _words(record.doc))]
    for field in record.fields:
        found.append(("field", field.name))
        if field.doc:
            found.append(("doc", _words(field.doc)))
    if record.validator is not None:
        found.append(("def", "validate", "cls", "record", "2"))
    return tuple(found)


def _typed_dict(typed_dict: TypedDictClass) -> Outline:
    found: list[str | Outline] = [("doc", _words(typed_dict.doc))]
    for name, _ in typed_dict.members:
        found.append(("field", name))
        if name in typed_dict.notes:
            found.append(("doc", _words(typed_dict.notes[name])))
    return tuple(found)


def _resource(resource: ResourceClass) -> Outline:
    found: list[str | Outline] = [("doc", _words(resource.doc))]
    for member in resource.members:
        if isinstance(member, Assignment):
            found.append(("name", member.name))
            if member.doc:
                found.append(("doc", _words(member.doc)))
        else:
            found.append(_method(member))
    return tuple(found)


def _client(client: ClientClass) -> Outline:
    found: list[str | Outline] = [("doc", _words(client.doc)), ("name", "_api")]
    for member in client.members:
        found.append(("field", member.name))
        if member.doc:
            found.append(("doc", _words(member.doc)))
    return tuple(found)


def _method(method: Method) -> Outline:
    names = [method.receiver, *(parameter.name for parameter in method.parameters)]
    doc: Outline = ("doc", _words(method.doc)) if method.doc else ()
    return ("def", method.name, *names, str(1), *doc)


def _classes(body: Sequence[ast.stmt]) -> Iterable[tuple[str, Outline]]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield node.name, tuple(_statement(inner) for inner in node.body)


def _statement(node: ast.stmt) -> Outline:
    match node:
        case ast.Expr(ast.Constant(str() as text)):
            return "doc", _words(text)
        case ast.AnnAssign(ast.Name(name)):
            return "field", name
        case ast.Assign([ast.Name(name)]):
            return "name", name
        case ast.FunctionDef(name):
            arguments = [argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)]
            doc = ast.get_docstring(node, clean=False)
            if name == "validate" and doc is not None:
                return "def", name, *arguments, str(len(node.body) - 1)
            told: Outline = () if doc is None else ("doc", _words(doc))
            return "def", name, *arguments, str(len(node.body) - (doc is not None)), *told
        case _:
            return type(node).__name__, str(getattr(node, "lineno", 0))


def _words(text: str | None) -> str:
    """A text without its layout: docstrings are wrapped."""
    return " ".join((text or "").split())
