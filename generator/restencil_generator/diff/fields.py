"""Comparison of fields and types: of entities and objects, of results, of arguments and bodies."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from typing import Final

from restencil_generator.diff.change import Change
from restencil_generator.diff.roles import INSIDE
from restencil_generator.diff.types import relation, shown
from restencil_generator.diff.walk import (
    DERIVED,
    DESCRIPTION,
    WRITTEN,
    At,
    Attributes,
    Flag,
    Ignored,
    Value,
    deprecation,
    walk,
)
from restencil_generator.spec import model as d
from restencil_generator.spec.type_info import bare

# --------------------------------------------------------------------------------------------------------------- fields


@dataclasses.dataclass(frozen=True, slots=True)
class Pairing:
    """The common fields of two lists of fields: matched by name, else by JSON name if the name was removed."""

    both: tuple[tuple[d.Field, d.Field], ...]
    removed: tuple[d.Field, ...]
    added: tuple[d.Field, ...]


def paired(old: Sequence[d.Field], new: Sequence[d.Field]) -> Pairing:
    """Match two lists of fields: common, removed and added ones."""
    if old == new:
        return Pairing(tuple(zip(old, new, strict=True)), (), ())
    by_name = {field.name: field for field in new}
    names = {field.name for field in old}
    by_wire = {field.wire: field for field in new if field.name not in names}
    both: list[tuple[d.Field, d.Field]] = []
    removed: list[d.Field] = []
    found: set[str] = set()
    for field in old:
        other = by_name.get(field.name) or by_wire.get(field.wire)
        if other is None:
            removed.append(field)
        else:
            both.append((field, other))
            found.add(other.name)
    return Pairing(tuple(both), tuple(removed), tuple(field for field in new if field.name not in found))


def rows_changes(at: At, old: Sequence[d.Field], new: Sequence[d.Field]) -> Iterator[Change]:
    """Yield the changes between two lists of fields."""
    if old is new:
        return
    pairing = paired(old, new)
    for before, now in pairing.both:
        yield from field_changes(at, before, now)
    for field in pairing.removed:
        yield removed_field(at, field)
    for field in pairing.added:
        yield added_field(at, field)


def removed_field(at: At, field: d.Field) -> Change:
    """Return the change of a removed field."""
    there = dataclasses.replace(at.inside(field.name), key="", path=(), places=(field.place, at.places[1]))
    return there.change(at.role.removed, "removed", shown(field.type))


def added_field(at: At, field: d.Field) -> Change:
    """Return the change of an added field."""
    there = dataclasses.replace(at.inside(field.name), key="", path=(), places=(None, field.place))
    required = bool(at.role.needed) and field.required
    # Callers already send declared objects, without the new member.
    rule = at.role.needed if required else "body-member-required" if field.must else at.role.added
    return there.change(rule, f"added, {shown(field.type)}" + (", required" if required or field.must else ""))


def field_changes(at: At, old: d.Field, new: d.Field) -> Iterator[Change]:
    """Yield the changes of one field."""
    if old.format != new.format:  # a change of the format is reported separately
        old, new = (dataclasses.replace(field, type=d.formatted(field.type, None)) for field in (old, new))
    yield from walk(FIELD_ATTRIBUTES, at.inside(new.name).between(old.place, new.place), old, new)


def _field_type(at: At, old: d.Field, new: d.Field) -> Iterator[Change]:
    if old.type_place.line and new.type_place.line:
        at = at.between(old.type_place, new.type_place)
    if not at.role.needed:
        yield from type_changes(at, old.type, new.type)
        return
    at = dataclasses.replace(at, whole=(old.type, new.type))
    inner = [*_bare_changes(at, bare(old.type), bare(new.type))]
    yield from inner
    if old.required != new.required:
        rule, text = (at.role.needed, "required now") if new.required else (at.role.free, "optional now")
        yield at.change(rule, text, "optional" if new.required else "required")
    elif not inner and not old.written_default and not new.written_default:
        yield from _optional_change(at, old.type, new.type)


def _default(at: At, old: d.Field, new: d.Field) -> Iterator[Change]:
    if old.default == new.default and type(old.default) is type(new.default):
        return
    written = old.written_default or new.written_default
    # The default of an enum is its first value, so the order of the values has changed.
    if (written or (_is_value(at, old) and _is_value(at, new))) and not any(True for _ in _field_type(at, old, new)):
        yield at.changed(at.role.default, _json(old.default), _json(new.default), label="default")


def _is_value(at: At, field: d.Field) -> bool:
    """Return whether the default of a field is a value that its enum still has."""
    type = bare(field.type)
    return isinstance(type, d.EnumRef) and any(field.default == one.value for one in at.specs.enums[type.name].members)


def _wire(at: At, old: d.Field, new: d.Field) -> Iterator[Change]:
    if old.wire != new.wire:
        yield at.change(at.role.wire, f"{old.wire} → {new.wire} in JSON", old.wire)


def _style(at: At, old: d.Field, new: d.Field) -> Iterator[Change]:
    """Yield a change of the style, if there is more than one style."""
    was, now = ("slashes kept" if field.slashes else f"style {field.style or 'comma'}" for field in (old, new))
    if was != now:
        yield at.change(at.role.format, f"{was} → {now}", was)


def _env(at: At, old: d.Field, new: d.Field) -> Iterator[Change]:
    """Yield a change of the environment variable of an argument; a required argument with a variable is optional."""
    if old.env != new.env and old.required == new.required:
        yield at.changed("argument-default-changed", old.env, new.env, label="env")


def _key_field(at: At, old: d.Field, new: d.Field) -> Iterator[Change]:
    if old.of != new.of:
        yield at.changed("identity-arguments-changed", old.of or old.name, new.of or new.name, label="field")


def _json(value: object) -> str | None:
    missing = value is d.MISSING or value is None
    return None if missing else json.dumps(value, ensure_ascii=False, sort_keys=True)


FIELD_ATTRIBUTES: Final[Attributes[d.Field]] = {
    "name": Value("field-renamed", sub=""),
    "python": DERIVED,
    "wire": _wire,
    "type": _field_type,
    "default": _default,
    "written_default": WRITTEN,
    "read_only": Flag(("field-read-only", "read-only"), ("field-writable", "writable")),
    "write_only": Flag(("field-write-only", "write-only"), ("field-added", "readable")),
    "must": Flag(("body-member-required", "required in bodies"), ("body-member-optional", "optional in bodies")),
    "sends_key": Value(
        "body-member-type-changed", sub="", show=lambda key: "the key" if key else "the entity", label="bodies hold"
    ),
    "param": Value("pk-changed", sub="", show=lambda name: name or None, label="param"),
    "style": _style,
    "slashes": Ignored("it is compared with `style`"),
    "format": Value(lambda role: role.format, sub="", show=lambda format: format or "rfc3339", label="format"),
    "env": _env,
    "of": _key_field,
    "filter": Value("freshness-changed", sub="", label="filter"),
    "persist": Value("persist-changed", sub="", label="persist"),
    "decode": Value("hook-changed"),
    "encode": Value("hook-changed"),
    "description": DESCRIPTION,
    "deprecated": deprecation,
}

# ---------------------------------------------------------------------------------------------------------------- types


def type_changes(at: At, old: d.Type, new: d.Type) -> Iterator[Change]:
    """Yield the changes between two types; messages show the whole types."""
    yield from _inside(dataclasses.replace(at, whole=(old, new)), old, new)


def _inside(at: At, old: d.Type, new: d.Type) -> Iterator[Change]:
    """Yield the changes between two types, which may be parts of others, such as items of a list."""
    if old == new:
        return
    inner = [*_bare_changes(at, bare(old), bare(new))]
    yield from inner
    if not any(change.rule == at.role.changed for change in inner):
        yield from _optional_change(at, old, new)


def _optional_change(at: At, old: d.Type, new: d.Type) -> Iterator[Change]:
    """Yield a change if `?` was added or removed."""
    if isinstance(old, d.Optional) != isinstance(new, d.Optional):
        yield at.type_changed(at.role.optional if isinstance(new, d.Optional) else at.role.certain)


def _bare_changes(at: At, old: d.Type, new: d.Type) -> Iterator[Change]:
    """Yield the changes between two types without their `?`."""
    if old == new:
        return
    match old, new:
        case d.ObjectType(before), d.ObjectType(now):
            yield from rows_changes(at.of(INSIDE.get(at.role, at.role)), before, now)
        case d.CollectionOf(), d.CollectionOf():
            yield from walk(COLLECTION_ATTRIBUTES, at, old, new)
        case d.QueryOf(), d.QueryOf():
            yield from walk(QUERY_ATTRIBUTES, at, old, new)
        case d.UnionOf(), d.UnionOf() if not at.role.needed:
            yield from _union(at, old, new)
        case d.OneOf(), d.OneOf() if not at.role.needed:
            yield from _one_of(at, old, new)
        case d.InlineEnum(before), d.InlineEnum(now) if not at.role.needed:
            yield from _inline_enum(at, before, now)
        case _:
            yield from _holding(at, old, new)


def _holding(at: At, old: d.Type, new: d.Type) -> Iterator[Change]:
    """Yield the changes between types with one nested type, and between unrelated types."""
    before, now = old.children(), new.children()
    if type(old) is type(new) and len(before) == len(now) == 1:
        yield from _inside(at, before[0], now[0])
        return
    match old, new:
        case (d.CollectionOf(d.ListOf(item)), d.ListOf(other)) | (d.ListOf(item), d.CollectionOf(d.ListOf(other))):
            yield at.type_changed("collection-changed")
            yield from _inside(at, item, other)
        case _:
            yield from _unlike(at, old, new)


def _unlike(at: At, old: d.Type, new: d.Type) -> Iterator[Change]:
    how = relation(old, new, at.specs.enums)
    if how == "same":
        return
    if not at.role.needed and any(True for type in at.whole if type for _ in d.entities_in(type)):
        how = "other"  # the stored form of entities differs
    yield at.type_changed({"narrower": at.role.narrower, "wider": at.role.wider, "other": at.role.changed}[how])


def _items(at: At, old: d.CollectionOf, new: d.CollectionOf) -> Iterator[Change]:
    if type(old.of) is type(new.of):
        yield from _inside(at, old.of.item, new.of.item)
    else:
        yield at.changed("collection-changed", shown(old), shown(new))


def _nests(nests: tuple[d.Nest, ...]) -> str:
    return f"{{{', '.join(sorted(f'{nest.argument}: {nest.field}' for nest in nests))}}}"


def _sorted(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(names))


COLLECTION_ATTRIBUTES: Final[Attributes[d.CollectionOf]] = {
    "of": _items,
    "nest": Value("collection-changed", sub="", show=_nests, label="nest"),
    "non_filter_arguments": Value("identity-arguments-changed", sub="", show=_sorted, label="non_filter_arguments"),
    "custom": Value("hook-changed", sub="collection"),
    "follow": Value("freshness-changed"),
    "apart": Ignored("it is compared with the schema of an endpoint"),
    "non_filters": Ignored("it comes from the arguments of the list, which are compared"),
}


def _query_of(at: At, old: d.QueryOf, new: d.QueryOf) -> Iterator[Change]:
    yield from _inside(at, old.of, new.of)


def _query_returns(at: At, old: d.QueryOf, new: d.QueryOf) -> Iterator[Change]:
    yield from _inside(at, old.returns or d.Scalar("any"), new.returns or d.Scalar("any"))


QUERY_ATTRIBUTES: Final[Attributes[d.QueryOf]] = {
    "of": _query_of,
    "process": Value("hook-changed"),
    "returns": _query_returns,
}


def _one_of(at: At, old: d.OneOf, new: d.OneOf) -> Iterator[Change]:
    for type in old.alternatives:
        if type not in new.alternatives:
            yield at.change("union-alternative-removed", f"{shown(type)} removed")
    for type in new.alternatives:
        if type not in old.alternatives:
            yield at.change("union-alternative-added", f"{shown(type)} added")
    before, now = (_discrimination(one, other) for one, other in ((old, new), (new, old)))
    if before != now:
        yield at.change("union-attribute-changed", f"distinguished by {before} → {now}", before)


def _discrimination(one: d.OneOf, other: d.OneOf) -> str:
    """Return how the common alternatives are distinguished: by an attribute, its values, or their order."""
    common = [type for type in one.alternatives if type in other.alternatives]
    names = {getattr(type, "name", "") for type in common}
    values = sorted(f"{choice.value}: {choice.entity}" for choice in one.values if choice.entity in names)
    order = ", ".join(shown(type) for type in common)
    return f"{one.wire or 'their form'} {{{', '.join(values)}}} in the order {order}"


def _union(at: At, old: d.UnionOf, new: d.UnionOf) -> Iterator[Change]:
    if (old.attribute, old.wire) != (new.attribute, new.wire):
        text = f"distinguished by {old.wire or old.attribute} → {new.wire or new.attribute}"
        yield at.change("union-attribute-changed", text, str(old.attribute))
    before, now = ({choice.entity: choice.value for choice in type.choices} for type in (old, new))
    for entity in sorted(before.keys() | now.keys()):
        if entity not in now:
            yield at.change("union-alternative-removed", f"{entity} removed")
        elif entity not in before:
            yield at.change("union-alternative-added", f"{entity} added")
    was, is_now = ({(one.value, one.entity) for one in type.choices} for type in (old, new))
    common = before.keys() & now.keys()
    lost = sorted(str(value) for value, entity in was - is_now if entity in common)
    won = sorted(str(value) for value, entity in is_now - was if entity in common)
    if lost or won:
        text = f"values {', '.join(lost) or '–'} → {', '.join(won) or '–'}"
        yield at.change("union-attribute-changed", text, ", ".join(lost))


def _inline_enum(at: At, old: Sequence[str | int], new: Sequence[str | int]) -> Iterator[Change]:
    for value in old:
        if value not in new:
            yield at.inside(str(value)).change("enum-value-removed", "removed")
    for value in new:
        if value not in old:
            yield at.inside(str(value)).change("enum-value-added", "added")
