"""The names that the generated package needs; each must be unique."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Final

from restencil_generator.diagnostics.model import Related, quoted
from restencil_generator.spec import model as d
from restencil_generator.spec.analyze.symbols import Claim, SymbolTable
from restencil_generator.spec.names import KEYWORDS


def namespace(declared: SymbolTable) -> dict[str, str]:
    """Return the kind of each name in the package; a name that is needed twice is reported."""
    taken: dict[str, Claim] = {}
    for claim in sorted(declared.claims, key=lambda claim: (_RANKS[claim.kind], claim.place)):
        first = taken.setdefault(claim.name, claim)
        if first is claim:
            if claim.name in KEYWORDS:
                message = f"{claim.what} is called {quoted(claim.name)} in the package, which is a keyword of Python"
                declared.report("bad-name", message, claim.place, claim.hint or "rename it")
            continue
        if claim.kind in _DECLARED and first.kind in _DECLARED:
            message = f"{quoted(claim.name)} is declared twice, as {_a(first.kind)} and as {_a(claim.kind)}"
            hint = "keep one of them, or rename one"
        else:
            message = f"{claim.what} and {first.what} are both called {quoted(claim.name)} in the package"
            hint = claim.hint or first.hint or "rename one of them"
        declared.report("name-clash", message, claim.place, hint, [Related(first.place, "the other one")])
    return {name: claim.kind for name, claim in sorted(taken.items()) if claim.kind != "module"}


def name_bodies(declared: SymbolTable, resources: Mapping[str, d.Resource]) -> None:
    """Name the TypedDicts of the entities and objects in bodies and search strings."""
    bodies = [
        endpoint.body
        for resource in resources.values()
        for _, endpoint in resource.all_endpoints()
        if endpoint.has_body and endpoint.body is not None
    ]
    pending: list[d.Type | None] = []
    for body in bodies:
        if body.partial and isinstance(body.type, d.EntityRef | d.UnionOf):
            for name in dict.fromkeys(d.entities_in(body.type)):
                pending += _name_partial_body(declared, name)
        else:
            pending.append(body.type)
    pending += [
        field.type
        for resource in resources.values()
        for _, endpoint in resource.all_endpoints()
        for field in endpoint.search_params
        if field.style is not None
    ]
    seen: set[str] = set()
    while pending:
        type = pending.pop()
        parts = [] if type is None else [*d.walk(type)]
        names = {part.name for part in parts if isinstance(part, d.ObjectRef)}.union(*map(d.entities_in, parts))
        for name in sorted(names - seen):
            seen.add(name)
            pending.extend(_name_body(declared, name))


def _name_partial_body(declared: SymbolTable, name: str) -> list[d.Type]:
    """Name the TypedDict of an entity without required fields, and return the types of its fields."""
    entity = declared.entities.get(name)
    if entity is None or entity.partial_body_name is not None:
        return []
    body_name = f"{name}PartialBody"
    declared.entities[name] = dataclasses.replace(entity, partial_body_name=body_name)
    declared.claim(body_name, "typed_dict", f"the type of partial bodies of entity {quoted(name)}", entity.place)
    return [field.type for field in entity.all_fields if field.is_sent and not field.sends_key]


def _name_body(declared: SymbolTable, name: str) -> list[d.Type]:
    """Name the TypedDict of an entity or object, and return the types of its fields."""
    body_name = f"{name}Body"
    if (entity := declared.entities.get(name)) is not None:
        declared.entities[name] = dataclasses.replace(entity, body_name=body_name)
        kind, place, fields = "entity", entity.place, entity.all_fields
    elif (object := declared.objects.get(name)) is not None:
        declared.objects[name] = dataclasses.replace(object, body_name=body_name)
        kind, place, fields = "object", object.place, object.fields
    else:
        return []
    declared.claim(body_name, "typed_dict", f"the type of bodies of {kind} {quoted(name)}", place)
    return [field.type for field in fields if field.is_sent and not field.sends_key]


_RANKS: Final = {
    "client": 0,
    "error": 1,
    "resource": 2,
    "entity": 3,
    "object": 3,
    "enum": 3,
    "constant": 4,
    "typed_dict": 5,
    "module": 6,
}
_DECLARED: Final = frozenset(("entity", "object", "enum"))


def _a(kind: str) -> str:
    return f"an {kind}"
