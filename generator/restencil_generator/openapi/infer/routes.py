"""Splitting of paths into literals and parameters; parent and child paths."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final
from urllib.parse import quote

from restencil_generator.openapi.infer.names.inflection import GLOBAL, singular, snake_case

_PARAMETER: Final = re.compile(r"\{([^{}]*)\}")
_UNSENT: Final = re.compile(r"[\x00-\x20\x7f]")
_RESERVED: Final = re.compile(r"[\\:?(){}*+]")
VERSION: Final = re.compile(
    r"v?\d+(?:[._]\d+)*(?:[._-]?(?:alpha|beta|preview|rc)\d*)?\Z|v\d+\w*\Z|\d{4}-\d{2}(?:-\d{2})?\Z", re.IGNORECASE
)
"""A segment with the version of an API."""


@dataclasses.dataclass(frozen=True, slots=True)
class Route:
    """A split path: alternating literals and parameters, literals first and last (`/users/`, `id`, ``)."""

    path: str
    texts: tuple[str, ...]
    parameters: tuple[str, ...]
    parts: tuple[str, ...]
    """The parts between slashes, with unnamed parameters."""

    @property
    def segments(self) -> tuple[str, ...]:
        """The parts as they are compared: paths that differ only in case, a slash or names of parameters are equal."""
        return tuple(map(str.lower, self.parts))

    @property
    def literals(self) -> tuple[str, ...]:
        """The segments without parameters and versions."""
        return tuple(part for part in self.parts if "{}" not in part and not VERSION.match(part))

    @property
    def version(self) -> str:
        """The segment with the version, or an empty string."""
        return next((part for part in self.parts if "{}" not in part and VERSION.match(part)), "")

    @property
    def is_item(self) -> bool:
        """Whether it ends in one parameter, which a literal suffix may follow."""
        if not self.parameters:
            return False
        return self.texts[-2].endswith("/") and "/" not in self.texts[-1].rstrip("/")

    @property
    def list_parts(self) -> tuple[str, ...]:
        """The parts of the list of an item: without the last parameter, with its suffix."""
        return _split("{}".join(self.texts[:-1]).rstrip("/") + self.texts[-1])

    @property
    def list_segments(self) -> tuple[str, ...]:
        """The parts of the list of an item as they are compared."""
        return tuple(map(str.lower, self.list_parts))


def route(path: str) -> Route:
    """Return the route of a path."""
    parts = _PARAMETER.split(path)
    return Route(path, tuple(parts[::2]), tuple(parts[1::2]), _split("{}".join(parts[::2])))


def _split(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split("/") if part)


def parents(segments: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the segments and their parents, deepest first; also without a suffix such as `.json` or `:verb`."""
    for length in range(len(segments), 0, -1):
        found = segments[:length]
        yield found
        last = found[-1]
        if length == len(segments):
            if ":" in last:
                yield (*found[:-1], last.partition(":")[0])
        elif "." in last:
            yield (*found[:-1], last.partition(".")[0])


def stem(segments: tuple[str, ...]) -> tuple[str, ...]:
    """Return segments without a suffix such as `.json` at the end."""
    return (*segments[:-1], segments[-1].partition(".")[0] or segments[-1]) if segments else ()


def is_nested_in(path: tuple[str, ...], parent: tuple[str, ...]) -> bool:
    """Return whether segments are below those of a parent; a suffix such as `.json` of the parent is ignored."""
    if not parent or len(path) < len(parent) or path == parent:
        return False
    stem = parent[-1].partition(".")[0]
    at = path[len(parent) - 1]
    if path[: len(parent) - 1] != parent[:-1]:
        return False
    return at in (stem, parent[-1]) if len(path) > len(parent) else at.startswith(f"{stem}:")


def template(found: Route, names: Mapping[int, str], query: tuple[tuple[str, str], ...] = ()) -> str:
    """Return a path as a template of the spec language; `names` are the names of the parameters, by position."""
    texts = [_RESERVED.sub(_escaped, _UNSENT.sub(_percent, text)) for text in found.texts]
    result = texts[0]
    for index, text in enumerate(texts[1:]):
        joint = "\\" if text[:1].isalnum() or text[:1] == "_" else ""
        result += f":{names[index]}{joint}{text}"
    if query:
        pairs = "&".join(f"{_RESERVED.sub(_escaped, name)}={_RESERVED.sub(_escaped, value)}" for name, value in query)
        result += f"\\?{pairs}"
    return result


def _percent(match: re.Match[str]) -> str:
    return quote(match[0])


def _escaped(match: re.Match[str]) -> str:
    return "\\" + match[0]


def owner_name(found: Route, index: int) -> str:
    """Return a parameter's name with its owner, if its own name is taken: `/users/{id}` → `user_id`."""
    literals = [part for part in found.texts[index].split("/") if part and "{" not in part]
    own = snake_case(found.parameters[index])
    owner = singular(snake_case(literals[-1])) if literals else "parent"
    return own if own.startswith(f"{owner}_") else f"{owner}_{own}"


def parameter_names(found: Route, fixed: Mapping[int, str], apart: Iterable[str]) -> dict[int, str]:
    """Return distinct names of a path's parameters by position; `fixed` ones are given, others also avoid `apart`."""
    taken = {*fixed.values(), *apart}
    names = dict(fixed)
    last = len(found.parameters) - 1
    for index in reversed(range(len(found.parameters))):
        if index in names:
            continue
        name = snake_case(found.parameters[index])
        if index < last and name in GLOBAL:  # the id of an owner is named after it
            name = owner_name(found, index)
        while name in taken:
            longer = owner_name(found, index)
            name = longer if longer not in taken else f"parent_{name}"
        names[index] = name
        taken.add(name)
    return names
