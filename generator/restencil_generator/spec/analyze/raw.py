"""Resources and endpoints as declared, before inheritance."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from restencil_generator.spec import model as d
from restencil_generator.spec.analyze.arguments import WrittenHeaders
from restencil_generator.spec.analyze.pagination import WrittenPagination
from restencil_generator.spec.analyze.settings import Settings
from restencil_generator.spec.grammar.value_reader import ParsedSection, Subject
from restencil_generator.spec.names import wire_name
from restencil_generator.spec.source.nodes import Node, ScalarNode


@dataclasses.dataclass(slots=True)
class RawEndpoint:
    """One endpoint as declared: its keys, and the values read from them."""

    name: str
    what: Subject
    key: ScalarNode
    section: ParsedSection
    settings: Settings = Settings()
    headers: WrittenHeaders = WrittenHeaders()
    path: d.Path | None = None
    params: tuple[d.Field, ...] = ()
    search_params: tuple[d.Field, ...] = ()
    body: d.Body | None = None
    schema: d.Type | None = None
    returns: d.Type | None = None
    pagination: WrittenPagination | None = None

    @property
    def extends(self) -> str | None:
        """The member that it extends, as declared."""
        extends: str | None = self.section["extends"]
        return extends

    @property
    def members(self) -> Mapping[str, Node] | None:
        """The operations of its list, as declared; None if they are not declared."""
        return dict(self.section["members"]) if self.section["members"] is not None else None

    @property
    def is_added(self) -> bool:
        """Whether it is a separate endpoint if its resource has no standard member of its name.

        An endpoint with the name of a standard member must declare path and schema for that.
        """
        if (self.name in d.STANDARD or self.name in d.EXTENDERS) and self.name not in d.NOT_BY_DEFAULT:
            return self.path is not None and "schema" in self.section
        return True


@dataclasses.dataclass(slots=True)
class RawResource:
    """One resource as declared: its keys, and the values read from them."""

    name: str
    what: Subject
    key: ScalarNode
    section: ParsedSection
    settings: Settings
    class_name: str
    path: d.Path | None = None
    path_names: frozenset[str] = frozenset()
    """The names of the parameters of its path, valid or not."""
    schema: d.EntityRef | d.UnionOf | None = None
    params: tuple[d.Field, ...] = ()
    search_params: tuple[d.Field, ...] = ()
    headers: WrittenHeaders = WrittenHeaders()
    body: d.Body | None = None
    pagination: WrittenPagination | None = None
    collection: d.Reference | None = None
    """The hand-written class of its collections."""
    follow: bool = True
    non_filter: tuple[tuple[str, Node], ...] = ()
    endpoints: Mapping[str, RawEndpoint] = dataclasses.field(default_factory=dict[str, RawEndpoint])
    examples: Mapping[str, d.Example] = dataclasses.field(default_factory=dict[str, d.Example])

    @property
    def is_group(self) -> bool:
        """Whether it is a group of endpoints without an entity."""
        return "path" not in self.section and "schema" not in self.section and "endpoints" in self.section

    @property
    def is_singleton(self) -> bool:
        """Whether there is one record at its path."""
        singleton: bool = self.section["singleton"]
        return singleton

    @property
    def is_item(self) -> bool:
        """Whether its path is the path of one item of a list."""
        return not (self.is_group or self.is_singleton)

    @property
    def members(self) -> Mapping[str, Node] | None:
        """The standard members that are listed; None for all that fit."""
        written: list[tuple[str, Node]] | None = self.section["members"]
        named = None if written is None else dict(written)
        if not self.is_singleton:
            return named
        names = d.OF_ONE if named is None else [name for name in named if name in d.OF_ONE]
        return {name: (named or {}).get(name, self.key) for name in names}

    @property
    def pagination_field(self) -> str | None:
        """The name of the parameter for the page."""
        field: str | None = self.section["pagination_field"]
        return field

    @property
    def optimistic(self) -> bool:
        """Whether its mutations are optimistic: visible before the server responds."""
        optimistic: bool = self.section["optimistic"]
        return optimistic

    def non_filter_wires(self, search_params: tuple[d.Field, ...], style: d.WireNames) -> tuple[str, ...]:
        """Return the JSON names of its non-filter arguments; path parameters keep their name."""
        wires = {field.name: field.wire for field in search_params} | {
            field.python: field.wire for field in search_params
        }
        return tuple(
            name if name in self.path_names else wires.get(name) or wire_name(name, style)
            for name, _ in self.non_filter
        )
