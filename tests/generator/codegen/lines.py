"""Modules as their templates write them, with each statement on one line, and a look for single lines of them."""

from __future__ import annotations

import difflib
import textwrap
from typing import Final

from tests.generator.declared import declared

from restencil_generator.codegen.plan import plan
from restencil_generator.codegen.render import Renderer

HEAD: Final = "restencil: 1\npackage: made\n"


def rendered(text: str) -> dict[str, str]:
    """The modules of a spec given as YAML without its first two lines, by path, before they are laid out."""
    renderer = Renderer()
    spec = declared(HEAD + textwrap.dedent(text), "made.yaml")
    return {module.path: renderer.render(module) for module in plan(spec)}


def of_resource(text: str, top: str = "") -> str:
    """The module of a resource `things` with these further settings, in a spec with these keys."""
    spec = top + (
        "entities: {Thing: {fields: {id: integer, name: string, other_name: string}}}\n"
        "resources:\n  things:\n    path: /t/:id\n    schema: Thing\n"
    )
    return rendered(spec + textwrap.indent(textwrap.dedent(text), "    "))["things.py"]


def has_line(module: str, line: str) -> None:
    """Fails unless a statement of the module is this line, and shows the lines that are nearest to it."""
    __tracebackhide__ = True
    lines = [one.strip() for one in module.splitlines()]
    if line not in lines:
        near = difflib.get_close_matches(line, lines, n=3, cutoff=0.3)
        shown = "\n".join(f"  has  {one}" for one in near) or "  and has nothing like it"
        raise AssertionError(f"the module has no line\n       {line}\n{shown}")


def has_lines(module: str, *lines: str) -> None:
    """Fails unless these lines follow each other in the module; empty lines do not count."""
    __tracebackhide__ = True
    found = [one.strip() for one in module.splitlines() if one.strip()]
    for line in lines:
        has_line(module, line)
    if not any(found[at : at + len(lines)] == [*lines] for at in range(len(found))):
        at = found.index(lines[0])
        there = "\n       ".join(found[at : at + len(lines)])
        raise AssertionError("the module has these lines, but not one after the other:\n       " + there)


def lacks(module: str, text: str) -> None:
    """Fails if the text is anywhere in the module, and shows the line."""
    __tracebackhide__ = True
    for line in module.splitlines():
        assert text not in line, f"the module has {text!r} in\n       {line.strip()}"


def has_part(module: str, part: str) -> None:
    """Fails unless a line of the module contains the part, and shows the lines that are nearest to it."""
    __tracebackhide__ = True
    lines = [one.strip() for one in module.splitlines()]
    if not any(part in one for one in lines):
        words = set(part.replace("(", " ").replace("=", " ").split())
        near = sorted(lines, key=lambda one: -len(words & set(one.replace("(", " ").replace("=", " ").split())))[:3]
        raise AssertionError(f"no line of the module has\n       {part}\n" + "\n".join(f"  has  {one}" for one in near))
