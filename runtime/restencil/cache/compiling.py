"""The source of a compiled function while it is written, and what both kinds of functions have in common."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final

from ..base.lazy import linecache
from ..schema.containers import Array, List, Object
from ..schema.entity import EntitySchema, Relation
from ..schema.protocol import Schema

PAYS: Final = 32
"""After so many values a schema is compiled: for fewer, compiling costs more than it saves."""

COMPILED: Final = frozenset({EntitySchema, List, Array, Object})
"""The kinds of schemas that are written out; all others are interpreted."""


def resolved(relation: Relation) -> Schema | None | Relation:
    """The schema of a relation; the relation itself where it is not known yet."""
    try:
        return relation.node
    except Exception:
        return relation


def written_out(schema: Schema | None, above: tuple[Schema, ...] = ()) -> bool:
    """Whether a schema consists of compiled kinds alone, up to the entities in it."""
    if schema is None or isinstance(schema, EntitySchema) or schema in above:
        return True
    return type(schema) in COMPILED and all(written_out(child, (*above, schema)) for child in schema.children())


class Source:
    """The source of a function while it is written, and the objects that it names."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.lines: list[str] = []
        self.scope: dict[str, Any] = {}
        self._names: dict[int, str] = {}
        self._indent = 0
        self._count = 0

    def put(self, *lines: str) -> None:
        """Adds lines at the present depth."""
        self.lines += [f"{'    ' * self._indent}{line}" for line in lines]

    def mark(self) -> tuple[int, int]:
        """The present place, for `insert`."""
        return len(self.lines), self._indent

    def insert(self, mark: tuple[int, int], lines: list[str]) -> None:
        """Adds lines at a place that was marked."""
        place, indent = mark
        self.lines[place:place] = [f"{'    ' * indent}{line}" for line in lines]

    @property
    def deep(self) -> bool:
        """Whether the statements stand so deep that Python would soon refuse them (100 levels, 20 loops)."""
        return self._indent > 40

    @contextmanager
    def block(self, header: str) -> Generator[None, None, None]:
        """What is put inside stands one level deeper."""
        self.put(header)
        self._indent += 1
        try:
            yield
        finally:
            self._indent -= 1

    def variable(self, hint: str) -> str:
        """A new local name."""
        self._count += 1
        return f"{hint}{self._count}"

    def name(self, value: Any, hint: str) -> str:
        """The name under which the function knows an object."""
        known = self._names.get(id(value))
        if known is None:
            known = self._names[id(value)] = f"{hint}_{len(self._names)}"
            self.scope[known] = value
        return known

    def function(self, name: str) -> Any:
        """The compiled function; its source is known to `linecache`."""
        text = "\n".join(self.lines) + "\n"
        file = f"<restencil {name} {self.schema.title} {id(self.schema):x}>"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        exec(compile(text, file, "exec"), self.scope)  # noqa: S102  # written here, from names of fields as literals
        return self.scope[name]
