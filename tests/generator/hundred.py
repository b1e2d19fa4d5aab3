"""Writes specs/hundred.yaml: a hundred resources whose entities refer to each other in a ring.

python tests/generator/hundred.py > specs/hundred.yaml
"""

from __future__ import annotations

import sys
from collections.abc import Iterator


def lines(count: int = 100, package: str = "hundred") -> Iterator[str]:
    """The lines of the spec, one resource a line; each entity refers to the next one and lists those before it."""
    yield "# A hundred resources with a ring of relations through all of them. Written by tests/generator/hundred.py."
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


if __name__ == "__main__":
    sys.stdout.write("".join(line + "\n" for line in lines()))
