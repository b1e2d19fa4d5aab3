"""Further checks of values, which rows of the language's table refer to with `check=`.

Each function gets a valid value of the kind, reports errors in it, and returns the value to continue with.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from restencil_generator.diagnostics.model import did_you_mean, quoted
from restencil_generator.spec import model as d
from restencil_generator.spec.grammar.value_reader import ValueContext, ValueReader
from restencil_generator.spec.source.nodes import Node

Check: TypeAlias = Callable[[ValueReader, Any, ValueContext], Any]

MEMBERS: Final = ("get", "get_list", *d.EXTENDERS, "update", "partial_update", "delete")
"""The values of `members` of a resource; `push` adds `create`."""

TAKEN_PACKAGES: Final = ("restencil", "restencil_generator", "restencil_templates", "httpx", "httpx2")
"""Package names that would hide a library that the generated package imports."""


def not_a_library(reader: ValueReader, name: str, context: ValueContext) -> str:
    """Report a package name that would hide a library that the package needs."""
    if name in TAKEN_PACKAGES:
        message = f"a package {quoted(name)} would hide the library with this name"
        reader.report("taken-name", message, context.node, "choose another")
    return name


def standard_members(
    reader: ValueReader, names: list[tuple[str, Node]], context: ValueContext
) -> list[tuple[str, Node]]:
    """Report names that are not standard members, and operations of a list without the list."""
    known = [(name, node) for name, node in names if name in MEMBERS]
    for name, node in names:
        if name not in MEMBERS:
            hint = "'push' adds it" if name == "create" else did_you_mean(name, MEMBERS)
            hint = hint or "declare other endpoints under 'endpoints'"
            message = f"{quoted(name)} in {context.label} is not a standard member"
            reader.report("unknown-member", message, node, hint)
        elif name in d.EXTENDERS and all(other != "get_list" for other, _ in known):
            code = "key-not-here" if name in d.NOT_BY_DEFAULT else "member-needs-list"
            message = f"the member {quoted(name)} of {context.owner} needs 'get_list'"
            reader.report(code, message, node, "add get_list")
    return known


def list_operations(
    reader: ValueReader, names: list[tuple[str, Node]], context: ValueContext
) -> list[tuple[str, Node]]:
    """Report names that are not operations of a list."""
    for name, node in names:
        if name not in d.EXTENDERS:
            hint = did_you_mean(name, d.EXTENDERS) or f"operations of a list: {', '.join(d.EXTENDERS)}"
            message = f"{quoted(name)} in {context.label} is not an operation of a list"
            reader.report("unknown-member", message, node, hint)
    return [(name, node) for name, node in names if name in d.EXTENDERS]
