"""A hundred resources whose entities refer to each other in a ring, as a spec and as a package."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import restencil_generator as generator


def lines() -> Iterator[str]:
    """The lines of the spec, one resource a line; each entity refers to the next one and lists those before it."""
    yield "# A hundred resources with a ring of relations through all of them."
    yield "restencil: 1"
    yield "package: hundred"
    yield "client: Everything"
    yield "url_prefix: https://hundred.example"
    yield "wire_names: camelCase"
    yield "resources:"
    for number in range(100):
        name, following, before = (f"{n % 100:02}" for n in (number, number + 1, number - 1))
        yield (
            f"  part{name}s: {{path: /part{name}s/:id, search_params: {{order_by: string?}}, pagination_field: page, "
            f"schema: {{entity: Part{name}, fields: {{id: integer, title: string, created_at: datetime, score: number, "
            f"active: boolean, tags: [string], size: integer?, price: decimal, next: Part{following}?, "
            f"before: [Part{before}]}}}}}}"
        )


def write(folder: Path) -> None:
    """Writes the spec and its package into a folder."""
    path = folder / "hundred.yaml"
    path.write_text("".join(line + "\n" for line in lines()), encoding="utf-8")
    generator.write(path, folder)
