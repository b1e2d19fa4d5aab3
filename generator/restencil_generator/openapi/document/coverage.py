"""Counts of the parts of a document that an import does not use."""

from __future__ import annotations

import dataclasses
from typing import Any, Final

from restencil_generator.openapi.document.json_types import is_list, is_table

_BOUNDS: Final = frozenset(
    ("minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
     "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties")
)  # fmt: skip
_TABLES: Final = {"callbacks": "callback", "links": "link", "headers": "response header"}
_DATA: Final = frozenset(("example", "examples", "default", "enum", "const"))
"""Members that contain data rather than schemas."""


_KINDS: Final[tuple[str, ...]] = ("webhook", "callback", "link", "response header", "bound", "pattern")


@dataclasses.dataclass(slots=True)
class Counted:
    """Counts by kind; the kinds are in the singular."""

    not_carried: dict[str, int]
    names_required: bool = False


def count(tree: Any) -> Counted:
    """Count in the whole document."""
    counts: dict[str, int] = dict.fromkeys(_KINDS, 0)
    counted = Counted(counts)
    webhooks = tree.get("webhooks") if is_table(tree) else None
    counts["webhook"] = len(webhooks) if is_table(webhooks) else 0
    # Each value with its key, and whether it belongs to a parameter, whose bounds are in its description.
    todo: list[tuple[Any, str, bool]] = [(tree, "", False)]
    while todo:
        value, above, parameter = todo.pop()
        if is_list(value):
            todo += [(inner, above, parameter) for inner in value if is_table(inner) or is_list(inner)]
            continue
        for key, inner in value.items():
            if above != "properties" and (key in _DATA or key.startswith("x-")):
                continue
            if above != "properties":
                counted.names_required |= key == "required" and is_list(inner)
                kind = _kind(key, inner, above)
                if kind and not (parameter and kind in ("bound", "pattern")):
                    counts[kind] += len(inner) if is_table(inner) else 1
            if is_table(inner) or is_list(inner):
                todo.append((inner, "" if above == "properties" else key, parameter or key == "parameters"))
    counted.not_carried = {kind: number for kind, number in counts.items() if number}
    return counted


def _kind(key: str, value: Any, above: str) -> str:
    """Return the kind under which a member is counted; empty if it is not."""
    if key in _BOUNDS:
        return "bound"
    if key == "pattern":
        return "pattern"
    return _TABLES.get(key, "") if is_table(value) and above != "components" else ""
