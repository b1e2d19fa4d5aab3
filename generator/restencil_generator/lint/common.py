"""Shared parts of the checks: findings, and iterators over the endpoints and types of a spec."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, NamedTuple

from restencil_generator.diagnostics.model import Place, Related, quoted
from restencil_generator.spec import model as d


class Finding(NamedTuple):
    """A finding of a check: the message, its place, and the hint. The registry adds the code."""

    message: str
    place: Place
    hint: str = ""
    related: tuple[Related, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Operation:
    """An endpoint or list operation with its resource; `name` is the dotted name of `Resource.all_endpoints`."""

    resource: d.Resource
    name: str
    endpoint: d.Endpoint

    def __str__(self) -> str:
        return f"{quoted(self.name)} of resource {quoted(self.resource.name)}"


def operations(spec: d.Spec) -> Iterator[Operation]:
    """Yield every endpoint of a spec, including list operations."""
    for resource in spec.resources.values():
        for name, endpoint in resource.all_endpoints():
            yield Operation(resource, name, endpoint)


def declared_here(place: Place) -> tuple[Related, ...]:
    """Return the place of a declaration, to show next to the place of its use."""
    return (Related(place, "declared here"),)


def parts_of(type: d.Type, wanted: Any) -> Iterator[Any]:
    """Yield the types of a class in a type, including itself."""
    return (part for part in d.walk(type) if isinstance(part, wanted))


def has_text(param: d.Field) -> bool:
    """Return whether a search parameter can be written in a URL: objects need a style."""
    return param.style is not None or not any(parts_of(param.type, (d.ObjectRef, d.ObjectType, d.ValuesOf)))
