"""Conversion of path templates to OpenAPI paths."""

from __future__ import annotations

import dataclasses
import itertools
import re
from typing import Any, Final
from urllib.parse import unquote

from restencil_generator.spec import model as d

_PLACEHOLDER: Final = re.compile(r"\{[^{}]*\}")
_MOST: Final = 3
"""Maximum number of optional parameters for which each combination has a path; of more, all or none are used."""


@dataclasses.dataclass(frozen=True, slots=True)
class Form:
    """One path of a template, with the names of its parameters.

    `query` are the arguments in the template itself: the name of a parameter, or a constant string. `left` are the
    omitted optional parameters.
    """

    path: str
    parameters: tuple[str, ...]
    query: tuple[tuple[str, str | None, str], ...]
    left: tuple[str, ...] = ()

    @property
    def shape(self) -> str:
        """The path without the names of its parameters: equal for paths that are the same in OpenAPI."""
        return _PLACEHOLDER.sub("{}", self.path)


def forms(path: d.Path) -> list[Form]:
    """Return the paths of a template, the one with all parameters first."""
    optional = [parameter.name for parameter in path.parameters if parameter.optional]
    if len(optional) <= _MOST:
        left = [set(some) for count in range(len(optional) + 1) for some in itertools.combinations(optional, count)]
    else:
        left = [set[str](), set(optional)]
    found: dict[str, Form] = {}
    for some in left:
        form = _form(path, some)
        found.setdefault(form.shape, form)
    return list(found.values())


def _form(path: d.Path, left: set[str]) -> Form:
    text = ""
    names: list[str] = []
    for part in path.parts:
        if isinstance(part, d.PathText):
            text += part.text.replace("{", "%7B").replace("}", "%7D")
        elif part.name not in left:
            text += f"{part.prefix}{{{part.name}}}"
            names.append(part.name)
    place, _, query = text.partition("?")
    pairs: list[tuple[str, str | None, str]] = []
    for pair in filter(None, query.split("&")):
        name, _, value = pair.partition("=")
        held = _PLACEHOLDER.fullmatch(value)
        pairs.append((unquote(name), value[1:-1] if held else None, "" if held else unquote(value)))
    in_path = tuple(name for name in names if f"{{{name}}}" in place)
    return Form(place if place.startswith("/") else f"/{place}", in_path, tuple(pairs), tuple(sorted(left)))


def renamed(form: Form, as_in: Form) -> dict[str, Any]:
    """Return the names that the parameters of a form have in another one of the same shape."""
    return dict(zip(form.parameters, as_in.parameters, strict=True))
