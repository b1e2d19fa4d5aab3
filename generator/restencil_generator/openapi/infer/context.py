"""The state that all parts of an import share."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Mapping
from typing import Final

from restencil_generator.openapi.document.model import Document, Operation, Part, Where
from restencil_generator.openapi.document.pointer import part_at
from restencil_generator.openapi.infer.auth_servers import Access
from restencil_generator.openapi.infer.calls import Call
from restencil_generator.openapi.infer.name_style import speller, style_of
from restencil_generator.openapi.infer.names.inflection import pascal_case, singular, snake_case
from restencil_generator.openapi.infer.names.types import TypeNames
from restencil_generator.openapi.infer.parameters import Parameters
from restencil_generator.openapi.infer.previous_choices import PreviousChoices
from restencil_generator.openapi.infer.primary_keys import KeyPart
from restencil_generator.openapi.infer.records import Shapes
from restencil_generator.openapi.infer.resources import Entity, Resource, find
from restencil_generator.openapi.infer.routes import owner_name, parameter_names, template
from restencil_generator.openapi.infer.schema_types import Types
from restencil_generator.openapi.infer.schema_usage import survey
from restencil_generator.openapi.options import Options
from restencil_generator.openapi.spec_tree import NodePath, Tree, Value

KEY_TYPES: Final = frozenset(("string", "integer", "uuid", "date", "datetime", "decimal"))


@dataclasses.dataclass(slots=True)
class Endpoint:
    """An endpoint under construction: its keys, comments by key, and the envelope of its response."""

    name: str
    call: Call
    values: dict[str, Value] = dataclasses.field(default_factory=dict[str, "Value"])
    comments: dict[NodePath, str] = dataclasses.field(default_factory=dict[NodePath, str])
    one: str | None = None
    """The envelope around one record or object, empty for none; None if the response has no single record."""
    many: str | None = None
    """The envelope around a list."""
    errors: dict[str, Value] = dataclasses.field(default_factory=dict[str, "Value"])
    member: bool = False
    ignore: bool = False
    request: str | None = None


class ImportContext:
    """The shared state of inference: the document, the analyzed resources, and the unfinished spec."""

    def __init__(self, document: Document, options: Options, package: str, last: PreviousChoices) -> None:
        self.document = document
        self.options = options
        self.package = package
        self.last = last
        self.given = last.names
        self.shapes = Shapes(document)
        self.found = find(document, self.shapes)
        self.survey = survey(document)
        self.names = TypeNames(last.names, _held(document, last.names))
        wires = [*self.survey.properties, *_query_wires(document)]
        self.style = last.wire_names or style_of(wire.removesuffix("[]") for wire in wires)
        certain = options.required if options.required is not None else None if document.names_required else True
        self.types = Types(document, self.shapes, self.survey, self.names, certain, speller(self.style))
        self.tree = Tree()
        self.operations: dict[NodePath, Operation] = {}
        self.resources: list[Resource] = []

    @functools.cached_property
    def parameters(self) -> Parameters:
        """The parameters; computed on first use, when all resources and entities have names."""
        return Parameters(self.document, self.shapes, self.types, self.access, self.last)

    @functools.cached_property
    def access(self) -> Access:
        """The security schemes."""
        return Access(self.document, self.package)

    def key_fields(self, entity: Entity) -> list[tuple[str, KeyPart]]:
        """Return the parts of an entity's key, each with its field as in `pk`."""
        names = entity.names
        found: list[tuple[str, KeyPart]] = []
        for part in entity.key.parts:
            if not part.wires:
                name = snake_case(part.parameter)
                while name in names.values():
                    name = f"{name}_param"
                found.append((name, part))
            else:
                found.append((self.field_name(entity, part), part))
        return found

    def field_name(self, entity: Entity, part: KeyPart) -> str:
        """Return the field of a part of a key, as in `pk` and `field`."""
        rest = [snake_case(wire) for wire in part.wires[1:]]
        return ".".join([entity.names[part.wires[0]], *rest])

    def param_type(self, entity: Entity, parameter: str) -> Value:
        for resource in self.resources:
            if resource.entity is entity and resource.route is not None:
                for call in resource.members.values():
                    for each in call.operation.parameters:
                        if each.place == "path" and each.name == parameter:
                            typed = self.types.parameter(each.schema, parameter)
                            return typed.value if typed.value in list(KEY_TYPES) else "string"
        return "string"

    def param_name(self, entity: Entity, parameter: str) -> str:
        """Return the name of a path parameter that is part of an entity's key, as in the paths of its resource."""
        for resource in self.resources:
            if resource.entity is entity and resource.route is not None and parameter in resource.route.parameters:
                return resource.path_names[resource.route.parameters.index(parameter)]
        return snake_case(parameter)

    def owner(self, resource: Resource, name: str) -> str:
        return pascal_case(singular(resource.name)) + pascal_case(name)

    def query_names(self, calls: Iterable[Call]) -> set[str]:
        """Return the names of query parameters in URLs, which path parameters must not have."""
        return {query.wire for call in calls for query in self.parameters.of(call.operation)}

    def path_param(
        self, call: Call, parameter: str, name: str, entity: Entity | None, extras: Mapping[str, Value]
    ) -> Value:
        found = next(
            (each for each in call.operation.parameters if each.place == "path" and each.name == parameter), None
        )
        if found is None:
            return None
        known: Value = None
        if entity is not None and not entity.choices:
            for wire, python in entity.names.items():
                if python == name:
                    member = entity.record.members[wire]
                    known = self.types.member(member, entity.name, wire)[0].value
            for field, part in self.key_fields(entity):
                if field == name and part.parameter:
                    known = self.param_type(entity, part.parameter)
        return self.parameters.path_param(found, known, extras)

    def names_of(self, resource: Resource, call: Call, listed: Entity | None) -> dict[int, str]:
        """Return the names of the path parameters of an endpoint, like those of its resource in the common path.

        If the endpoint returns a list, no parameter has the name of a field of its items, because that would declare a
        filter.
        """
        fixed: dict[int, str] = {}
        own = resource.route
        if own is not None:
            for index, name in resource.path_names.items():
                texts = (call.route.texts[: index + 1], own.texts[: index + 1])
                same = [text.lower() for text in texts[0]] == [text.lower() for text in texts[1]]
                if not same or index >= len(call.route.parameters):
                    continue
                misleads = listed is not None and name in listed.names.values()
                fixed[index] = owner_name(call.route, index) if misleads else name
        if len(set(fixed.values())) < len(fixed):
            fixed = {}
        clashing = self.query_names([call])
        fixed = {index: name for index, name in fixed.items() if name not in clashing}
        return parameter_names(call.route, fixed, clashing)

    def path(self, resource: Resource, call: Call) -> str:
        return template(call.route, self.names_of(resource, call, None), call.operation.query)

    def resource_schema(self, resource: Resource) -> Value:
        assert resource.entity is not None
        if resource.entity.choices and resource.union is not None:
            return self.types.of(resource.union, resource.entity.name).value
        return resource.entity.name


def _held(document: Document, given: Mapping[str, str]) -> Mapping[str, str]:
    """Return the previous type names whose origin still exists, with their identities, to reserve them."""
    file = document.source.rpartition("/")[2]
    root = Part(document.tree, Where(document.source, ""))
    held: dict[str, str] = {}
    for identity, name in given.items():
        kind, _, at = identity.partition(":")
        if kind == "type" and at.startswith(f"{file}#/") and part_at(root, at[len(file) + 1 :]) is not None:
            held[name] = identity
    return held


def _query_wires(document: Document) -> list[str]:
    return [each.name for one in document.operations for each in one.parameters if each.place == "query"]
