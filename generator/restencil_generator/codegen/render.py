"""Rendering of modules with Jinja templates: the built-in ones, or a user's.

A user's template replaces the built-in one of the same name; `{% extends "builtin/resource.py.jinja" %}` extends it and
replaces blocks. Its first line is the version of the context it was written for: `{# restencil-context: 3 #}`.
"""

from __future__ import annotations

import difflib
import functools
import re
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import jinja2
import jinja2.nodes

from restencil_generator.codegen import layout, pyexpr
from restencil_generator.codegen.context import CONTEXT_VERSION, Import, Module, Parameter
from restencil_generator.exceptions import Failure

_VERSION: Final = re.compile(r"\{#-?\s*restencil-context:\s*(\d+)\s*-?#\}")
_SUFFIX: Final = ".jinja"


class Renderer:
    """Renderer of modules. Raises `Failure` for a user's template without the current version of the context."""

    def __init__(self, templates: Path | None = None) -> None:
        self._own = None if templates is None else _checked(templates)
        self._environment = _built_in() if templates is None else _environment(templates)
        if self._own is not None:
            self._check_blocks(self._own)

    @property
    def custom(self) -> bool:
        """Whether a user's templates are used."""
        return self._own is not None

    def user_template(self, module: Module) -> str:
        """Return the user's template of a module, or all templates that may have been used."""
        assert self._own is not None
        own = sorted(path.relative_to(self._own).as_posix() for path in self._own.rglob(f"*{_SUFFIX}"))
        return str(self._own / module.template) if module.template in own else f"{self._own} ({', '.join(own)})"

    def built_in(self, module: Module) -> str:
        """Render a module with the built-in templates."""
        return _built_in().get_template(module.template).render(module=module)

    def render(self, module: Module) -> str:
        """Render a module. Raises `Failure` with the line at which a user's template fails."""
        try:
            return self._environment.get_template(module.template).render(module=module)
        except jinja2.TemplateSyntaxError as error:
            place = f"{error.filename or error.name}:{error.lineno}"
            raise Failure(f"{place}: {error.message}{_excerpt(error.source, error.lineno)}") from error
        except Exception as error:
            if self._own is None:
                raise
            raise Failure(self._explained(module, error)) from error

    def _check_blocks(self, templates: Path) -> None:
        """Raise `Failure` for a block of a user's template that its parent does not have.

        Jinja never renders such a block. Nested blocks are not checked: they may be new.
        """
        for path in sorted(templates.rglob(f"*{_SUFFIX}")):
            name = path.relative_to(templates).as_posix()
            try:
                template = self._parsed(name)
                parent = _parent_of(template)
                known = set[str]()
                while parent is not None and parent != name:
                    parsed = self._parsed(parent)
                    known.update(block.name for block in parsed.find_all(jinja2.nodes.Block))
                    parent = _parent_of(parsed)
            except jinja2.TemplateError:
                continue  # rendering reports the error with its line
            overridden = [node for node in template.body if isinstance(node, jinja2.nodes.Block)]
            for block in overridden if known else []:
                if block.name not in known:
                    near = difflib.get_close_matches(block.name, known, n=1)
                    hint = f"did you mean {near[0]!r}?" if near else f"its blocks are {', '.join(sorted(known))}"
                    raise Failure(
                        f"{path}:{block.lineno}: block {block.name!r} does not exist in {_parent_of(template)}; {hint}"
                    )

    def _parsed(self, name: str) -> jinja2.nodes.Template:
        assert self._environment.loader is not None
        source, filename, _ = self._environment.loader.get_source(self._environment, name)
        return self._environment.parse(source, name, filename)

    def _explained(self, module: Module, error: Exception) -> str:
        what = str(error) if isinstance(error, jinja2.TemplateError) else f"{type(error).__name__}: {error}"
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.endswith(_SUFFIX)]
        if not frames:
            return f"template {module.template} (for {module.path}): {what}"
        frame = frames[-1]
        line = f"\n    {frame.lineno} | {frame.line}" if frame.line else ""
        return f"{frame.filename}:{frame.lineno}: {what} (rendering {module.path}){line}"


def _environment(templates: Path | None) -> jinja2.Environment:
    builtin = jinja2.FunctionLoader(_builtin)
    loaders: list[jinja2.BaseLoader] = [] if templates is None else [jinja2.FileSystemLoader(templates)]
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([*loaders, builtin, jinja2.PrefixLoader({"builtin": builtin})]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
        autoescape=False,  # noqa: S701  # what comes out is Python, and its literals are made by `pyexpr`
    )
    known: Any = environment.filters
    known["comment"] = pyexpr.comment
    known["docstring"] = layout.docstring
    known["import_line"] = _import_line
    known["keyword_only"] = _keyword_only
    known["arguments"] = _arguments
    known["keywords"] = _keywords
    known["literal"] = _literal
    return environment


@functools.cache
def _built_in() -> jinja2.Environment:
    """The environment of the built-in templates alone: a process compiles them once, as it does modules."""
    return _environment(None)


def _checked(templates: Path) -> Path:
    if not templates.is_dir():
        raise Failure(f"{templates}: is not a folder; pass a folder of templates")
    known = {path.name for path in _folder().glob(f"*{_SUFFIX}")}
    found = sorted(path for path in templates.rglob(f"*{_SUFFIX}"))
    if not any(path.parent == templates and path.name in known for path in found):
        raise Failure(f"{templates}: has no template with the name of a built-in one: {', '.join(sorted(known))}")
    for path in found:
        try:
            version = _VERSION.match(path.read_bytes().decode("utf-8"))
        except UnicodeDecodeError as error:
            raise Failure(f"{path}: is not UTF-8: byte 0x{error.object[error.start]:02x}. Save it as UTF-8") from error
        if version is None:
            raise Failure(
                f"{path}:1: has no context version. Make this the first line: "
                f"{{# restencil-context: {CONTEXT_VERSION} #}}"
            )
        if int(version[1]) != CONTEXT_VERSION:
            raise Failure(
                f"{path}:1: was written for version {version[1]} of the context, and this restencil has version "
                f"{CONTEXT_VERSION}. Adapt the template to CONTEXT.md of restencil_templates and update the number"
            )
    return templates


def _parent_of(template: jinja2.nodes.Template) -> str | None:
    """Return the name of the parent of a template, unless it is an expression."""
    parents = (node.template for node in template.body if isinstance(node, jinja2.nodes.Extends))
    return next((str(name.value) for name in parents if isinstance(name, jinja2.nodes.Const)), None)


def _folder() -> Path:
    import restencil_templates

    return Path(str(restencil_templates.__file__)).parent


def _builtin(name: str) -> tuple[str, str, Callable[[], bool]] | None:
    path = _folder() / name
    if not path.is_file() or path.parent != _folder():
        return None
    return path.read_text(encoding="utf-8"), str(path), lambda: True


def _excerpt(source: str | None, line: int) -> str:
    lines = (source or "").splitlines()
    return f"\n    {line} | {lines[line - 1]}" if 0 < line <= len(lines) else ""


# ------------------------------------------------------------------------------------------------------------- filters


class _Declaration(Protocol):
    """The argument of the filter `arguments`: a class with its bases and options."""

    bases: Sequence[str]
    options: pyexpr.Options


def _arguments(declaration: _Declaration) -> str:
    """Format the bases and options of a class: `Base, name=value`."""
    return ", ".join([*declaration.bases, *pyexpr.keywords(declaration.options)])


def _keywords(options: pyexpr.Options) -> str:
    """Format options for a call: `name=value, name=value`."""
    return ", ".join(pyexpr.keywords(options))


def _keyword_only(parameters: Sequence[Parameter]) -> str:
    """Format keyword-only parameters after the receiver: `, *, id: int, name: str = ""`."""
    found = (f"{one.name}: {one.type}" + ("" if one.default is None else f" = {one.default}") for one in parameters)
    return ", *, " + ", ".join(found) if parameters else ""


def _import_line(line: Import) -> str:
    if not line.names:
        return f"import {line.module}" + (f" as {line.alias}" if line.alias else "")
    names = (name if alias is None else f"{name} as {alias}" for name, alias in line.names)
    return f"from {line.module} import {', '.join(names)}"


def _literal(value: str | float | bool | Sequence[str] | None) -> str:
    """Return a plain value as a Python literal."""
    return (
        pyexpr.literal(value)
        if value is None or isinstance(value, str | int | float)
        else pyexpr.items(map(pyexpr.string, value))
    )
