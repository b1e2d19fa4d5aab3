"""Code generation at run time: building the source of a function, and compiling it."""

from __future__ import annotations

import linecache
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any


def function_of(source: str, name: str, file: str, scope: dict[str, object]) -> Any:
    """Compile a source and return its function `name`; tracebacks and debuggers show its lines under `file`.

    `scope` contains the objects that the source refers to, and gets the function. The source must consist only of
    generated names and literals, never of input. Raises SyntaxError for an invalid source.
    """
    exec(compile(source, file, "exec"), scope)  # noqa: S102 - made here as attrs makes `__init__`
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    return scope[name]


class Source:
    """The source of a function while it is generated, and the objects that it refers to."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.scope: dict[str, Any] = {}
        """The objects by their names in the source."""
        self._names: dict[int, str] = {}
        self._indent = 0
        self._variables = 0

    def put(self, *lines: str) -> None:
        """Add lines at the current indentation."""
        self.lines += [f"{'    ' * self._indent}{line}" for line in lines]

    def mark(self) -> tuple[int, int]:
        """Return the current position, for `insert`."""
        return len(self.lines), self._indent

    def insert(self, mark: tuple[int, int], lines: list[str]) -> None:
        """Insert lines at a marked position."""
        place, indent = mark
        self.lines[place:place] = [f"{'    ' * indent}{line}" for line in lines]

    @property
    def deep(self) -> bool:
        """Whether statements are nested so deep that Python will soon reject them (100 levels, 20 loops)."""
        return self._indent > 40

    @contextmanager
    def block(self, header: str) -> Generator[None, None, None]:
        """Add a header, and indent the lines that are added in the `with` block."""
        self.put(header)
        self._indent += 1
        try:
            yield
        finally:
            self._indent -= 1

    def variable(self, hint: str) -> str:
        """Return a new local name that begins with the hint."""
        self._variables += 1
        return f"{hint}{self._variables}"

    def name(self, value: Any, hint: str) -> str:
        """Return the name of an object in the source; the same object always has the same name."""
        name = self._names.get(id(value))
        if name is None:
            name = self._names[id(value)] = f"{hint}_{len(self._names)}"
            self.scope[name] = value
        return name

    def function(self, name: str, file: str) -> object:
        """Compile the source and return the function; tracebacks show its lines under `file`."""
        return function_of("\n".join(self.lines) + "\n", name, file, self.scope)
