"""Specs of any size: resources with 8 typed fields and 2 relations each, a ring of relations through all of them."""

from __future__ import annotations

from pathlib import Path

FIELDS = {
    "id": "integer",
    "title": "string",
    "summary": "string?",
    "price": "decimal",
    "rating": "number",
    "active": "boolean",
    "created_at": "datetime",
    "tags": "[string]",
}


def name_of(number: int) -> str:
    """The entity of a resource."""
    return f"Thing{number:04d}"


def resource_of(number: int) -> str:
    """The key of a resource."""
    return f"things_{number:04d}"


def spec(count: int, changed: bool = False) -> str:
    """A spec in YAML; `changed` is the same with one field more in one resource."""
    lines = ["restencil: 1", "package: many", "url_prefix: https://api.test", "resources:"]
    for number in range(count):
        lines += [
            f"  {resource_of(number)}:",
            f"    path: /{resource_of(number)}/:id",
            "    schema:",
            f"      entity: {name_of(number)}",
            "      fields:",
            *(f"        {name}: {kind}" for name, kind in FIELDS.items()),
            f"        next: {name_of((number + 1) % count)}?",
            f"        others: [{name_of((number * 7 + 3) % count)}]",
        ]
        if changed and number == count // 2:
            lines.append("        added: string?")
    return "\n".join(lines) + "\n"


def write(folder: Path, count: int, changed: bool = False) -> Path:
    """The spec as a file."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"many{count}{'changed' if changed else ''}.yaml"
    file.write_text(spec(count, changed), encoding="utf-8")
    return file
