"""What rows of the language's table ask beyond their kind: the functions that they name with `check=`.

Each judges a value of the right kind, reports what is wrong with it, and gives the value to go on with.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from restencil_generator.diagnostics.model import did_you_mean, quoted
from restencil_generator.spec import model as d
from restencil_generator.spec.grammar.keys import MEMBERS, TAKEN_PACKAGES
from restencil_generator.spec.grammar.read import Check, Reader, ValueContext
from restencil_generator.spec.source.nodes import Node


def no_library(reader: Reader, name: str, spot: ValueContext) -> str:
    """A package does not hide a library that it needs."""
    if name in TAKEN_PACKAGES:
        message = f"a package {quoted(name)} would hide the library of that name"
        reader.report("taken-name", message, spot.node, "choose another")
    return name


def standard_members(reader: Reader, names: list[tuple[str, Node]], spot: ValueContext) -> list[tuple[str, Node]]:
    """Members are standard ones, and what hangs on the list comes with the list."""
    known = [(name, node) for name, node in names if name in MEMBERS]
    for name, node in names:
        if name not in MEMBERS:
            hint = "'push' brings it" if name == "create" else did_you_mean(name, MEMBERS)
            hint = hint or "added endpoints stand under 'endpoints'"
            message = f"{spot.label} names {quoted(name)}, which is no standard member"
            reader.report("unknown-member", message, node, hint)
        elif name in d.EXTENDERS and all(other != "get_list" for other, _ in known):
            code = "key-not-here" if name in d.ASKED_FOR else "member-needs-list"
            message = f"the member {quoted(name)} of {spot.owner} needs 'get_list'"
            reader.report(code, message, node, "add get_list")
    return known


def hanging_members(reader: Reader, names: list[tuple[str, Node]], spot: ValueContext) -> list[tuple[str, Node]]:
    """What is named hangs on lists."""
    for name, node in names:
        if name not in d.EXTENDERS:
            hint = did_you_mean(name, d.EXTENDERS) or f"what may hang on it: {', '.join(d.EXTENDERS)}"
            message = f"{spot.label} names {quoted(name)}, which does not hang on lists"
            reader.report("unknown-member", message, node, hint)
    return [(name, node) for name, node in names if name in d.EXTENDERS]


CHECKS: Final[Mapping[str, Check]] = {
    "hanging_members": hanging_members,
    "no_library": no_library,
    "standard_members": standard_members,
}
"""The functions by the names that rows use."""
