"""Selection of operations by method, path and tag."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from restencil_generator.diagnostics.model import listed, visible
from restencil_generator.exceptions import Failure
from restencil_generator.openapi.options import Options

_PATTERN: Final = re.compile(r"(?:([A-Za-z]+(?:\s*,\s*[A-Za-z]+)*)\s+)?(\S+)\Z")
_PART: Final = re.compile(r"/\*\*(?=/|\Z)|\*\*|\*|\{[^{}/]*\}")


class OperationKey(NamedTuple):
    """The method, path and tags of an operation."""

    method: str
    path: str
    tags: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class _Pattern:
    text: str
    methods: frozenset[str]
    path: re.Pattern[str]

    def matches(self, operation: OperationKey) -> bool:
        if self.methods and operation.method not in self.methods:
            return False
        return self.path.fullmatch(operation.path) is not None


class Choice:
    """Selects operations by `--include`, `--exclude` and `--tag`; without them all are selected.

    `unused` are the patterns of `--exclude` that matched nothing; `check` sets it. Raises `Failure` for an invalid
    pattern.
    """

    def __init__(self, options: Options) -> None:
        self._include = [_pattern(text, "--include") for text in options.include]
        self._exclude = [_pattern(text, "--exclude") for text in options.exclude]
        self._tags = frozenset(options.tags)
        self.unused: tuple[str, ...] = ()

    def has(self, operation: OperationKey) -> bool:
        """Return whether an operation is selected."""
        if self._tags and self._tags.isdisjoint(operation.tags):
            return False
        if self._include and not any(pattern.matches(operation) for pattern in self._include):
            return False
        return not any(pattern.matches(operation) for pattern in self._exclude)

    def check(self, every: Sequence[OperationKey]) -> None:
        """Raise `Failure` if a pattern or tag matches nothing, or no operation is left."""
        for pattern in self._include:
            if not any(pattern.matches(operation) for operation in every):
                raise Failure(f"nothing matches --include '{visible(pattern.text)}'{_there(pattern, every)}")
        tags = {tag for operation in every for tag in operation.tags}
        missing = sorted(self._tags - tags)
        if missing:
            there = f"there are {listed(sorted(tags)[:20], 'and')}" if tags else "no operation has a tag"
            raise Failure(f"no operation has the tag {listed(missing)} of --tag ({there})")
        if every and not any(self.has(operation) for operation in every):
            raise Failure(f"--include, --exclude and --tag leave out all {len(every)} operations")
        self.unused = tuple(
            pattern.text for pattern in self._exclude if not any(pattern.matches(operation) for operation in every)
        )


def _pattern(text: str, option: str) -> _Pattern:
    match = _PATTERN.match(text.strip())
    if match is None or match[2][0] not in "/*":
        example = f"{option} 'GET,POST /repos/**'"
        raise Failure(
            f"{option} '{visible(text)}' is not a pattern: expected a path, or methods and a path ({example})"
        )
    methods = frozenset(method.strip().upper() for method in (match[1] or "").split(",") if method.strip())
    return _Pattern(text, methods, re.compile(_expression(match[2]), re.DOTALL))


def _expression(path: str) -> str:
    """Convert a pattern to a regular expression: `*` is one segment, `**` any number of them."""
    found, at = "", 0
    for part in _PART.finditer(path):
        found += re.escape(path[at : part.start()])
        word, at = part[0], part.end()
        found += {"/**": r"(?:/.*)?", "**": r".*", "*": r"[^/]*"}.get(word) or re.escape(word)
    return found + re.escape(path[at:])


def _there(pattern: _Pattern, every: Iterable[OperationKey]) -> str:
    """Suggest paths with the same beginning, else the most frequent ones."""
    paths = {operation.path for operation in every}
    if not paths:
        return " (the document has no operations)"
    begins = Counter(f"/{path[1:].partition('/')[0]}" for path in paths)
    alike = re.sub(r"[*{].*", "", pattern.text.split()[-1])
    operation = f"/{alike[1:].partition('/')[0]}"
    begin = operation if operation in begins else max(sorted(begins), key=lambda each: begins[each])
    count = begins[begin]
    return f" ({count} {'path begins' if count == 1 else 'paths begin'} with {visible(begin)})"
