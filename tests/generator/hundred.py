"""A hundred resources whose entities refer to each other in a ring, and what their package is, in two numbers.

Run as a program, this file prints the two numbers as they are now: `python tests/generator/hundred.py`. Look at what
the golden packages show of a change before you take them over.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import restencil_generator as generator
from restencil_generator.output.manifest import MANIFEST, digest

FILES: Final = 104
"""How many files the package has."""

DIGEST: Final = "57d289c3a26f685ac13210e334026cbdf2cc162066fe216f2b78ec926d7cfe9a"
"""The SHA-256 of its manifest, and so of every byte in it."""


def lines(count: int = 100, package: str = "hundred") -> Iterator[str]:
    """The lines of the spec, one resource a line; each entity refers to the next one and lists those before it."""
    yield "# A hundred resources with a ring of relations through all of them."
    yield "restencil: 1"
    yield f"package: {package}"
    yield "client: Everything"
    yield "url_prefix: https://hundred.example"
    yield "wire_names: camelCase"
    yield "resources:"
    width = len(str(count - 1))
    for number in range(count):
        name, following, before = (f"{n % count:0{width}}" for n in (number, number + 1, number - 1))
        yield (
            f"  part{name}s: {{path: /part{name}s/:id, search_params: {{order_by: string?}}, pagination_field: page, "
            f"schema: {{entity: Part{name}, fields: {{id: integer, title: string, created_at: datetime, score: number, "
            f"active: boolean, tags: [string], size: integer?, price: decimal, next: Part{following}?, "
            f"before: [Part{before}]}}}}}}"
        )


def write(folder: Path) -> dict[str, str]:
    """Writes the spec and its package into a folder. The files of the package, by their paths in it."""
    path = folder / "hundred.yaml"
    path.write_text("".join(line + "\n" for line in lines()), encoding="utf-8")
    spec = generator.load(path)
    generator.write(spec, folder)
    return generator.generate(spec)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as there:
        made = write(Path(there))
    print(len(made), digest(made[MANIFEST]))
