"""The entity fields behind parameters and body members, and the exact filters of lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from restencil_generator.diagnostics.model import did_you_mean, quoted
from restencil_generator.spec import model as d
from restencil_generator.spec.grammar.keys import rows
from restencil_generator.spec.grammar.value_kinds import Fields
from restencil_generator.spec.source.nodes import MappingNode, Node
from restencil_generator.spec.type_info import dotted_names, path_to, type_info

if TYPE_CHECKING:
    from restencil_generator.spec.analyze.symbols import Declarations
    from restencil_generator.spec.analyze.types import Types


_NO_ENTITY: Final = "give the entity as 'schema', with 'response: {ignore: true}' if the response does not contain it"


def check_param_fields(
    types: Types,
    params: Iterable[d.Field],
    written: Node | None,
    schemas: Sequence[d.Type | None],
    noun: str = "parameter",
) -> None:
    """Report parameters, or members of a body, whose `field` is in no entity of these schemas.

    `written` is the mapping that declares them, `noun` is their name in messages.
    """
    named = [field for field in params if field.of]
    if not named:
        return
    names = dict.fromkeys(name for schema in schemas if schema is not None for name in d.entities_in(schema))
    entities = [types.entities[name] for name in names if name in types.entities]
    for field in named:
        if any(path_to(types.objects, entity.all_fields, field.of) for entity in entities):
            continue
        node = written.get(field.name) if isinstance(written, MappingNode) else None
        place = node.get("field") if isinstance(node, MappingNode) else None
        known = [name for entity in entities for name in dotted_names(types.objects, entity.all_fields)]
        last = field.of.rpartition(".")[2]
        near = did_you_mean(field.of, known) or did_you_mean(last, [name for name in known if "." not in name])
        message = f"'field' of {noun} {quoted(field.name)} is {quoted(field.of)}, which is not a field of"
        owner = f"entity {quoted(entities[0].name)}" if entities else "its response"
        hint = near or (f"its fields: {', '.join(known[:12])}" if known else _NO_ENTITY)
        types.report("param-field", f"{message} {owner}", place or field.place, hint)


def check_body_fields(
    types: Types, body: d.Body | None, written: Node | None, schemas: Sequence[d.Type | None]
) -> None:
    """Report members of a body whose `field` is in no entity of these schemas."""
    if body is None or not isinstance(body.type, d.ObjectType):
        return
    for word, row in rows("body").items():
        inner = written.get(word) if isinstance(written, MappingNode) else None
        if isinstance(inner, MappingNode) and isinstance(row.kind, Fields) and body.kind == word:
            written = inner
    check_param_fields(types, body.type.members, written, schemas, "body member")


def exact_filters(tables: Declarations, endpoint: d.Endpoint) -> tuple[str, ...] | None:
    """Return the arguments that filter a list by equality with a field, by their names in URLs.

    None if there is no list, or if nothing filters it: sorting and pagination do not. A header or body in the key
    filters the list in an unknown way.
    """
    collection = endpoint.collection
    if collection is None or isinstance(endpoint.schema, d.AdderOf):
        return None
    apart = {*collection.non_filter_arguments, *(field.wire for field in endpoint.page_params)}
    filters = [field for field in (*endpoint.params, *endpoint.search_params) if field.wire not in apart]
    in_key = any(header.in_key for header in endpoint.header_params) or endpoint.request.in_key
    if not filters and not in_key:
        return None
    entities = [tables.entities[name] for name in d.entities_in(collection) if name in tables.entities]
    return tuple(field.wire for field in filters if _is_exact(field, entities, tables))


def _is_exact(argument: d.Field, entities: Sequence[d.Entity], tables: Declarations) -> bool:
    """Return whether an argument selects exactly the entities whose field has its value, as far as a spec shows.

    Strings, numbers and dates may also be searched for by parts or bounds, so equal names are not enough.
    """
    if argument.filter is not None:
        return argument.filter == "equals"
    if not entities:
        return False
    for entity in entities:
        through = path_to(tables.objects, entity.all_fields, argument.of or argument.name)
        if not through or not _selects(argument.type, through[-1].type, tables.entities):
            return False
    return True


def _selects(argument: d.Type, field: d.Type, known: Mapping[str, d.Entity]) -> bool:
    """Return whether an argument of this type selects by equality with a field of that type."""
    given, kept = type_info(argument).bare, type_info(field).bare
    if isinstance(kept, d.EntityRef):  # the argument is the primary key of the referenced entity
        entity = known.get(kept.name)
        key = None if entity is None or len(entity.pk) != 1 else entity.field(entity.pk[0])
        return isinstance(given, d.AnyOf) or (key is not None and given == type_info(key.type).bare)
    return given == kept and (isinstance(kept, d.EnumRef | d.InlineEnum) or kept in _EXACT)


_EXACT: Final[tuple[d.Type, ...]] = (d.Scalar("boolean"), d.Scalar("integer"), d.Scalar("uuid"))
"""Scalars that APIs compare for equality."""
