"""Fields with `param`, whose values are parameters of the URL."""

from __future__ import annotations

from collections.abc import Mapping

from restencil_generator.diagnostics.model import did_you_mean, quoted
from restencil_generator.spec import model as d
from restencil_generator.spec.analyze.types import Types
from restencil_generator.spec.source.nodes import MappingNode
from restencil_generator.spec.type_info import response_entities


def check_positions(types: Types, resources: Mapping[str, d.Resource]) -> None:
    """Report a field whose `param` is in no path of an endpoint that returns its entity."""
    wanted = [(entity, field) for entity in types.entities.values() for field in entity.fields if field.param]
    if not wanted:
        return
    known: dict[str, set[str]] = {}
    for resource in resources.values():
        for _, endpoint in resource.all_endpoints():
            names = {parameter.name for parameter in endpoint.path.parameters}
            for name in response_entities(types, endpoint):
                known.setdefault(name, set()).update(names)
    heirs = {
        entity.name: {other.name for other in types.entities.values() if entity.name in _line(types.entities, other)}
        for entity, _ in wanted
    }
    for entity, field in wanted:
        names = {name for one in heirs[entity.name] for name in known.get(one, ())}
        if field.param in names:
            continue
        node = types.raw_field(entity.name, field.name)
        place = node.get("param") if isinstance(node, MappingNode) else None
        message = f"'param' of field {quoted(field.name)} of entity {quoted(entity.name)} is {quoted(field.param)}"
        hint = did_you_mean(field.param, names) or (f"its paths have: {', '.join(sorted(names))}" if names else "")
        full = f"{message}, which is not in the path of any endpoint that returns the entity"
        types.report("param-position", full, place or field.place, hint)


def _line(entities: Mapping[str, d.Entity], entity: d.Entity) -> set[str]:
    """Return the names of an entity and of the entities that it extends."""
    names = {entity.name}
    while entity.extends is not None and entity.extends in entities:
        entity = entities[entity.extends]
        names.add(entity.name)
    return names
