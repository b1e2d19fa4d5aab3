"""Operations with their paths taken apart."""

from __future__ import annotations

import dataclasses
from typing import Final

from restencil_generator.openapi.document.model import Operation, Part
from restencil_generator.openapi.infer.routes import Route

MUTATIONS: Final = ("PUT", "PATCH", "DELETE")

READING: Final = ("GET", "HEAD", "OPTIONS", "QUERY")
"""Methods that change nothing."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Call:
    """An operation with its path taken apart."""

    operation: Operation
    route: Route

    @property
    def method(self) -> str:
        """Its method."""
        return self.operation.method

    @property
    def scope(self) -> frozenset[str]:
        """What of entities whose key is not in their records is known under its path: its parameters, and itself."""
        return frozenset((*self.route.parameters, self.route.unnamed))

    @property
    def changes(self) -> bool:
        """Whether its method says that it may change something."""
        return self.method not in READING

    @property
    def response(self) -> Part | None:
        """The schema of its JSON response."""
        result = self.operation.result
        return result.schema if result.content is not None and result.content.kind == "json" else None
