"""Inference of resource paths: determines which parameter is the key."""

from __future__ import annotations

from restencil_generator.openapi.infer.context import ImportContext
from restencil_generator.openapi.infer.names.inflection import GLOBAL, snake_case
from restencil_generator.openapi.infer.primary_keys import KeyPart
from restencil_generator.openapi.infer.query_selection import has_other_names
from restencil_generator.openapi.infer.resources import Resource
from restencil_generator.openapi.infer.routes import parameter_names, template
from restencil_generator.openapi.spec_tree import NodePath, Value


class Paths:
    """Inference of path, schema and path parameters of resources."""

    def __init__(self, context: ImportContext) -> None:
        self.context = context

    def item(self, resource: Resource, values: dict[str, Value]) -> None:
        assert resource.route is not None
        assert resource.entity is not None
        path: NodePath = ("resources", resource.name)
        entity, route = resource.entity, resource.route
        fixed: dict[int, str] = {}
        fields: dict[int, str] = {}
        last = len(route.parameters) - 1
        if resource.kind == "item" and not entity.choices:
            check = self._item_name(resource, fixed, fields)
            if check:
                self.context.tree.comments[(*path, "path")] = check
        elif resource.kind == "item" and entity.key.alone and not self._has_other_names(resource):
            fixed[last] = snake_case(entity.key.alone)
        clashing = self.context.query_names(resource.members.values())
        if fixed.get(last) in clashing and not entity.choices:
            fields[last] = fixed.pop(last)
        names = parameter_names(route, fixed, clashing)
        if fields.get(last) == names[last] if fields else False:
            del fields[last]
        resource.path_names = names
        values["path"] = template(route, names)
        if resource.kind == "singleton":
            values["singleton"] = True
        values["schema"] = self.context.resource_schema(resource)
        if resource.check:
            self.context.tree.comments[(*path, "schema")] = resource.check
        params: dict[str, Value] = {}
        call = resource.item_call
        for index, parameter in enumerate(call.route.parameters[: last + 1]):
            extras: dict[str, Value] = {"field": fields[index]} if index in fields else {}
            written = self.context.path_param(call, parameter, names[index], entity, extras)
            if written is not None:
                params[names[index]] = written
        if params:
            values["params"] = params

    def _item_name(self, resource: Resource, fixed: dict[int, str], fields: dict[int, str]) -> str:
        """Name the last parameter after the field of the key, or declare its field; returns what to check."""
        entity, place = resource.entity, resource.place
        assert entity is not None
        assert place is not None
        assert resource.route is not None
        last = len(resource.route.parameters) - 1
        own = resource.key or entity.key
        if own.parts != entity.key.parts:
            if own.parts[-1].wires:  # it is found by a field other than the key
                fields[last] = self.context.field_name(entity, own.parts[-1])
            return ""
        if self._has_other_names(resource):
            return ""  # the cache would take a name for the key of another record
        key = self.context.key_fields(entity)
        rule = own.rule
        name, part = key[-1] if key else ("", KeyPart())
        if len(key) == 1 and "." not in name and part.wires:
            named = place.name.split("_")[-1] in GLOBAL
            if rule in (1, 2, 5) or (rule == 3 and named):
                fixed[last] = name
            elif rule == 3 and place.name == place.thing and self._same_type(resource, part.wires[0]):
                fixed[last] = name
                return f"check: {{{place.parameter}}} is taken for the {name}"
        elif rule in (1, 4, 5, 7) and part.wires:
            fields[last] = name
        return ""

    def _has_other_names(self, resource: Resource) -> bool:
        """Return whether the last parameter may be a name of the record in place of its key, which is no integer."""
        assert resource.entity is not None
        assert resource.route is not None
        key = resource.entity.key.alone
        if not key:
            return False
        typed, _ = self.context.types.member(resource.entity.record.members[key], resource.entity.name, key)
        last = resource.route.parameters[-1]
        found = [one for call in resource.members.values() for one in call.operation.parameters if one.name == last]
        return typed.value not in ("integer", "number") and any(map(has_other_names, found))

    def _same_type(self, resource: Resource, wire: str) -> bool:
        assert resource.entity is not None
        assert resource.route is not None
        call = resource.item_call
        typed, _ = self.context.types.member(resource.entity.record.members[wire], resource.entity.name, wire)
        parameter = next((p for p in call.operation.parameters if p.name == call.route.parameters[-1]), None)
        return parameter is not None and self.context.types.parameter(parameter.schema, "id").text == typed.text
