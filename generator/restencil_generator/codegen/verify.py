"""What was rendered, parsed again and compared with what was meant.

Literals and docstrings are made so that nothing in them can end them (`pyexpr`, `layout`); here the whole is looked at
from the other side: a module must parse, and have exactly the statements, names and docstrings of its plan.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from restencil_generator.codegen.layout import on_one_line
from restencil_generator.codegen.plan import ClientClass, Module, RecordClass, TypedDictClass
from restencil_generator.codegen.pyexpr import Example
from restencil_generator.codegen.resource_class import Assignment, Method, ResourceClass
from restencil_generator.exceptions import Failure

_LAYOUT: Final = re.compile(r"([(\[{]) |,? ([)\]}])")
"""What stands inside of brackets where each item has a line of its own."""

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
    head = "".join(f"{line}\n" for line in (module.header, *module.directives))
    if not text.startswith(head):
        raise AssertionError(f"{module.path}: was meant to begin with {head!r}")
    found = dict(_classes(tree.body))
    for name, meant in _meant(module):
        if found.get(name) != meant:
            raise AssertionError(f"{module.path}: {name} was meant to be {meant}, and is {found.get(name)}")
    if _words(ast.get_docstring(tree, clean=False)) != _words(module.doc):
        raise AssertionError(f"{module.path}: the docstring was meant to be {module.doc!r}")
    known = _top_level(module)
    setup = "" if module.setup is None else ast.unparse(ast.parse(on_one_line(module.setup)))
    for node in tree.body:
        if not _is_meant(node, known, setup):
            raise AssertionError(
                f"{module.path}:{node.lineno}: a statement that nobody meant: {ast.unparse(node)[:200]}"
            )


def _top_level(module: Module) -> set[str]:
    """The names that a module may define."""
    known = {name for name, _ in _meant(module)}
    known |= {constant.name for constant in module.constants}
    known |= {client.name for client in module.clients}
    known |= {record.alias for record in module.records} | {one.alias for one in module.typed_dicts}
    known |= {default.name for default in (module.resource.defaults if module.resource is not None else ())}
    return known | {"__all__"}


def _is_meant(node: ast.stmt, known: set[str], setup: str) -> bool:
    match node:
        case ast.ClassDef(name) | ast.FunctionDef(name) | ast.AnnAssign(ast.Name(name)) | ast.Assign([ast.Name(name)]):
            return name in known
        case ast.Expr(ast.Constant(str())) | ast.Import() | ast.ImportFrom():
            return True
        case ast.Expr(ast.Call()):
            return ast.unparse(node) == setup
        case ast.If(test):
            return ast.unparse(test).endswith("typing.TYPE_CHECKING")
        case _:
            return False


def _meant(module: Module) -> Iterable[tuple[str, Outline]]:
    for record in module.records:
        yield record.name, _record(record)
    for typed_dict in module.typed_dicts:
        yield typed_dict.name, _typed_dict(typed_dict)
    for error in module.errors:
        yield error.name, (*_doc(error.doc), *([("field", "data")] if error.data else []))
    if module.resource is not None:
        yield module.resource.name, _resource(module.resource)
    for client in module.clients:
        yield client.name, _client(client)


_EMPTY: Final[Outline] = (("pass",),)
"""A class of nothing but its name and what it is derived from."""


def _record(record: RecordClass) -> Outline:
    found = _doc(record.doc)
    for field in record.fields:
        found.append(("field", field.name))
        if field.doc:
            found.append(("doc", _words(field.doc)))
    if record.validator is not None:
        found.append(("def", "validate", "cls", "record", "2"))
    return tuple(found) or _EMPTY


def _typed_dict(typed_dict: TypedDictClass) -> Outline:
    found = _doc(typed_dict.doc)
    for name, _ in typed_dict.members:
        found.append(("field", name))
        if name in typed_dict.notes:
            found.append(("doc", _words(typed_dict.notes[name])))
    return tuple(found)


def _resource(resource: ResourceClass) -> Outline:
    found = _doc(resource.doc)
    for member in resource.members:
        if isinstance(member, Assignment):
            found += [("name", member.name), *_doc(member.doc, member.example)]
        else:
            found.append(_method(member))
    return tuple(found) or _EMPTY


def _client(client: ClientClass) -> Outline:
    found = _doc(client.doc)
    if client.api:
        found.append(("name", "_api"))
    if client.arguments is not None:
        names = ("self", "store", *(argument.name for argument in client.arguments.own), "options")
        found.append(("if", "typing.TYPE_CHECKING", ("def", "__init__", *names, "...")))
    for member in client.members:
        found.append(("field", member.name))
        if member.doc:
            found.append(("doc", _words(member.doc)))
    return tuple(found)


def _method(method: Method) -> Outline:
    names = [method.receiver, *(parameter.name for parameter in method.parameters)]
    return ("def", method.name, *names, "...", *_doc(method.doc, method.example))


def _doc(text: str, example: Example | None = None) -> list[str | Outline]:
    """The docstring of something as a part of its outline: none where there is no text."""
    if not text:
        return []
    if example is not None:
        text = f"{text} Example: {on_one_line(example.call)}"
        if example.answer is not None:
            text = f"{text} The server answers: {on_one_line(example.answer)}"
    return [("doc", _words(text))]


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
            every = (*node.args.args, *node.args.kwonlyargs, *filter(None, [node.args.kwarg]))
            arguments = [argument.arg for argument in every]
            doc = ast.get_docstring(node, clean=False)
            if name == "validate" and doc is not None:
                return "def", name, *arguments, str(len(node.body) - 1)
            code = "; ".join(ast.unparse(inner) for inner in node.body[doc is not None :])
            return "def", name, *arguments, code, *([] if doc is None else [("doc", _words(doc))])
        case ast.If(test, [ast.FunctionDef() as function], []):
            return "if", ast.unparse(test), _statement(function)
        case ast.Pass():
            return ("pass",)
        case _:
            return type(node).__name__, str(getattr(node, "lineno", 0))


def _words(text: str | None) -> str:
    """A text without its layout: docstrings are wrapped, and of code in them items stand on lines of their own."""
    return _LAYOUT.sub(r"\1\2", " ".join((text or "").split()))
