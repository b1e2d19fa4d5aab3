"""Code made at run time: a function's source while it is written, and the function that it becomes."""

from __future__ import annotations

import linecache
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any


def function_of(source: str, name: str, file: str, scope: dict[str, Any]) -> Any:
    """The function of this name that a source defines; tracebacks and debuggers show its lines under `file`.

    `scope` holds the objects that the source names and takes the function in. Whoever writes the source lets nothing
    into it but names of its own and literals. Raises SyntaxError for a source that is no Python.
    """
    exec(compile(source, file, "exec"), scope)  # noqa: S102 - made here as attrs makes `__init__`
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    return scope[name]


class Source:
    """The source of a function while it is written, and the objects that it names."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.scope: dict[str, Any] = {}
        """The objects by the names that they have in the source."""
        self._names: dict[int, str] = {}
        self._indent = 0
        self._variables = 0

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
        """A new local name that begins with the hint."""
        self._variables += 1
        return f"{hint}{self._variables}"

    def name(self, value: Any, hint: str) -> str:
        """The name under which the function knows an object; one object has one name."""
        name = self._names.get(id(value))
        if name is None:
            name = self._names[id(value)] = f"{hint}_{len(self._names)}"
            self.scope[name] = value
        return name

    def function(self, name: str, file: str) -> Any:
        """The finished function; `file` is what tracebacks call its source."""
        return function_of("\n".join(self.lines) + "\n", name, file, self.scope)
