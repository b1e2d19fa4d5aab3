"""A spec of 1,000 resources with 8 typed fields and 2 relations each, a ring of relations through all of them."""

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


def write(folder: Path) -> Path:
    """Writes the spec; its file."""
    lines = ["restencil: 1", "package: many", "url_prefix: https://api.test", "resources:"]
    for number in range(1000):
        lines += [
            f"  things_{number:04}:",
            f"    path: /things_{number:04}/:id",
            "    schema:",
            f"      entity: Thing{number:04}",
            "      fields:",
            *(f"        {name}: {kind}" for name, kind in FIELDS.items()),
            f"        next: Thing{(number + 1) % 1000:04}?",
            f"        others: [Thing{(number * 7 + 3) % 1000:04}]",
        ]
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "many.yaml"
    file.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return file
