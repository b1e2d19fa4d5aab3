"""What the checks of lint share: findings, and walks over the endpoints and types of a spec."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, NamedTuple

from restencil_generator.diagnostics.model import Place, Related, quoted
from restencil_generator.spec import model as d


class Finding(NamedTuple):
    """What a check found: the message, its place, and what to do. The registry adds the code."""

    message: str
    place: Place
    hint: str = ""
    related: tuple[Related, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Operation:
    """An endpoint, or an operation of its list, with its resource; `name` is as `Resource.all_endpoints` gives it."""

    resource: d.Resource
    name: str
    endpoint: d.Endpoint

    def __str__(self) -> str:
        return f"{quoted(self.name)} of resource {quoted(self.resource.name)}"


def operations(spec: d.Spec) -> Iterator[Operation]:
    """Every endpoint of a spec, operations of lists included."""
    for resource in spec.resources.values():
        for name, endpoint in resource.all_endpoints():
            yield Operation(resource, name, endpoint)


def declared_here(place: Place) -> tuple[Related, ...]:
    """The place of a declaration, beside that of its use."""
    return (Related(place, "declared here"),)


def types_of(spec: d.Spec) -> Iterator[tuple[Place, d.Type]]:
    """Every type that is written anywhere, with a place for it."""
    for fields in (declared.fields for table in (spec.objects, spec.entities) for declared in table.values()):
        for field in fields:
            yield field.place, field.type
    of_client = [*(param.field for param in spec.header_params), *spec.search_params]
    of_client += [field for server in spec.servers for field in server.variables]
    for field in of_client:
        yield field.place, field.type
    for resource in spec.resources.values():
        if resource.schema is not None:
            yield resource.place, resource.schema
        for param in resource.header_params:
            yield param.field.place, param.field.type
        for field in (*resource.params, *resource.search_params):
            yield field.place, field.type
        if resource.body is not None and resource.body.type is not None:
            yield resource.place, resource.body.type
        for endpoint in resource.endpoints.values():
            types = [field.type for field in (*endpoint.params, *endpoint.search_params)]
            types += [param.field.type for param in endpoint.header_params]
            types += [d.ObjectRef(name) for shape in endpoint.errors.values() for name in shape]
            for type in (endpoint.schema, endpoint.returns, endpoint.body.type if endpoint.body else None, *types):
                if type is not None:
                    yield endpoint.place, type


def parts_of(type: d.Type, wanted: Any) -> Iterator[Any]:
    """The types of a kind in a type, itself included."""
    return (part for part in d.walk(type) if isinstance(part, wanted))


def has_text(param: d.Field) -> bool:
    """Whether a search parameter can be written into a URL: objects need a style."""
    return param.style is not None or not any(parts_of(param.type, (d.ObjectRef, d.ObjectType, d.ValuesOf)))
