"""The choices of the previous import, which are kept.

Code that uses a package depends on its names, arguments and errors; they must not change because another style has
become more frequent.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, Final

from restencil_generator.openapi.document.json_types import is_table
from restencil_generator.openapi.infer.name_style import STYLES
from restencil_generator.spec.model import WireNames
from restencil_generator.spec.names import wire_name


@dataclasses.dataclass(frozen=True, slots=True)
class PreviousChoices:
    """The last import: the names that it gave, by the identity of their origin, and its spec as plain data.

    `spec` is None if there was no import before, so that all choices are new.
    """

    names: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])
    spec: Mapping[str, Any] | None = None

    @property
    def wire_names(self) -> WireNames | None:
        """The style of names in JSON; None if nothing was chosen."""
        if self.spec is None:
            return None
        style = self.spec.get("wire_names")
        for each in STYLES:
            if each == style:
                return each
        return "as_is"

    @property
    def search_style(self) -> dict[str, str] | None:
        """The style of lists and objects in queries; None if there was no choice."""
        if self.spec is None:
            return None
        style = self.spec.get("search_style")
        if is_table(style):
            return {key: str(value) for key, value in style.items()}
        return {"lists": style} if isinstance(style, str) else {}

    @property
    def headers(self) -> frozenset[str] | None:
        """The headers that are arguments of the client, in lower case; None if there was no choice."""
        if self.spec is None:
            return None
        fields = self._fields("header_params")
        return frozenset(_wire(name, field, name.replace("_", "-")).lower() for name, field in fields)

    @property
    def queries(self) -> frozenset[str] | None:
        """The query parameters that are arguments of the client; None if there was no choice."""
        style = self.wire_names
        if style is None:
            return None
        return frozenset(_wire(name, field, wire_name(name, style)) for name, field in self._fields("search_params"))

    @property
    def errors(self) -> Mapping[str, Any]:
        """The errors of all operations, by status."""
        found = self.spec.get("errors") if self.spec is not None else None
        return found if is_table(found) else {}

    @property
    def statuses(self) -> frozenset[str]:
        """All statuses that have errors anywhere in the spec."""
        return frozenset(_statuses(self.spec)) if self.spec is not None else frozenset()

    def envelope(self, key: str) -> str | None:
        """Return the shared envelope: `envelope`, `list_envelope` or `request`; None if there was no choice."""
        if self.spec is None:
            return None
        place, word = ("request", "envelope") if key == "request" else ("response", key)
        found = self.spec.get(place)
        written = found.get(word) if is_table(found) else None
        return written if isinstance(written, str) else ""

    def _fields(self, key: str) -> Iterator[tuple[str, Any]]:
        found = self.spec.get(key) if self.spec is not None else None
        yield from found.items() if is_table(found) else ()


NOTHING: Final = PreviousChoices()
"""No previous import."""


def _wire(name: str, field: Any, usual: str) -> str:
    return str(field["wire"]) if is_table(field) and "wire" in field else usual


def _statuses(value: Any) -> Iterator[str]:
    if is_table(value):
        for key, inner in value.items():
            if key == "errors" and is_table(inner):
                yield from inner
            yield from _statuses(inner)
