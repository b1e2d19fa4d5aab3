"""Operations with split paths."""

from __future__ import annotations

import dataclasses
from typing import Final

from restencil_generator.openapi.document.model import Operation, Part
from restencil_generator.openapi.infer.routes import Route

MUTATIONS: Final = {"PUT": "update", "PATCH": "partial_update", "DELETE": "delete"}
"""The methods that change a record, with the member of a resource for each."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Call:
    """An operation with its split path."""

    operation: Operation
    route: Route

    @property
    def method(self) -> str:
        """The HTTP method."""
        return self.operation.method

    @property
    def scope(self) -> frozenset[str]:
        """The scope of entities without a key in their records: path parameters, and the path itself."""
        return frozenset((*self.route.parameters, "/".join(self.route.segments)))

    @property
    def response(self) -> Part | None:
        """The schema of its JSON response."""
        result = self.operation.result
        return result.schema if result.content is not None and result.content.kind == "json" else None
