"""What the checks of lint share: a piece of advice, and walks over endpoints and types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from restencil_generator.diagnostics.model import Place, Problem, Related
from restencil_generator.spec import model as d


def advice(code: str, message: str, place: Place, hint: str = "", related: Iterable[Related] = ()) -> Problem:
    """A piece of advice: a problem that keeps nothing from being generated."""
    return Problem(code, message, place, hint, tuple(related), "warning")


def endpoints_of(spec: d.Spec) -> Iterator[d.Endpoint]:
    """Every endpoint of a spec."""
    for resource in spec.resources.values():
        for _, endpoint in resource.all_endpoints():
            yield endpoint


def types_of(spec: d.Spec) -> Iterator[tuple[Place, d.Type]]:
    """Every type that stands anywhere, with a place for it."""
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


def has_part(type: d.Type | None, wanted: Any) -> bool:
    """Whether a type of a kind stands in a type."""
    return type is not None and any(True for _ in parts_of(type, wanted))
