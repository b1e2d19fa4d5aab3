"""Comparison of enums, objects and entities, and detection of renames."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from restencil_generator.diff.change import Change, Finding, found_at
from restencil_generator.diff.fields import added_field, field_changes, paired, removed_field, rows_changes
from restencil_generator.diff.types import Kind, Names
from restencil_generator.diff.walk import (
    DERIVED,
    DESCRIPTION,
    WRITTEN,
    At,
    Attributes,
    Ignored,
    Specs,
    Value,
    deprecation,
    walk,
)
from restencil_generator.spec import model as d
from restencil_generator.spec.names import constant_name
from restencil_generator.spec.type_info import names_in, types_of

Use: TypeAlias = "tuple[str, ...]"
"""A place where a type is used."""

_TABLES: Final[Mapping[Kind, str]] = {"enum": "enums", "object": "objects", "entity": "entities"}


def table(spec: d.Spec, kind: Kind) -> Mapping[str, d.Enum | d.Object | d.Entity]:
    """Return the declared types of a kind."""
    found: Mapping[str, d.Enum | d.Object | d.Entity] = getattr(spec, _TABLES[kind])
    return found


# -------------------------------------------------------------------------------------------------------------- renames


def renamed_types(old: d.Spec, new: d.Spec, resources: Mapping[str, str]) -> Names:
    """Return the new names of renamed types.

    A type may be used by another renamed type, so the search is repeated until nothing more is found.
    """
    gone: list[tuple[Kind, str]] = [
        (kind, name) for kind in _TABLES for name in table(old, kind) if name not in table(new, kind)
    ]
    came: list[tuple[Kind, str]] = [
        (kind, name) for kind in _TABLES for name in table(new, kind) if name not in table(old, kind)
    ]
    renamed: dict[tuple[Kind, str], str] = {}
    while gone and came:
        before, now = dict(_uses(old, renamed, resources)), dict(_uses(new, {}, {}))
        found = _matches(gone, came, before, now)
        if not found:
            break
        renamed |= found
        gone = [one for one in gone if one not in found]
        came = [(kind, name) for kind, name in came if (kind, name) not in {(one[0], to) for one, to in found.items()}]
    return Names(renamed)


def _matches(
    gone: list[tuple[Kind, str]],
    came: list[tuple[Kind, str]],
    before: Mapping[tuple[Kind, str], set[Use]],
    now: Mapping[tuple[Kind, str], set[Use]],
) -> dict[tuple[Kind, str], str]:
    found: dict[tuple[Kind, str], str] = {}
    for kind, name in gone:
        uses = before.get((kind, name), set())
        left = {to: len(uses & now.get((kind, to), set())) for other, to in came if other == kind}
        free = {
            to: count
            for to, count in left.items()
            if count and (kind, to) not in {(k, n) for (k, _), n in found.items()}
        }
        if free:
            found[kind, name] = max(free, key=lambda to: free[to])
    return found


def _uses(
    spec: d.Spec, renamed: Mapping[tuple[Kind, str], str], resources: Mapping[str, str]
) -> dict[tuple[Kind, str], set[Use]]:
    """Return the places where each type is used, with names of the new spec."""
    names: dict[tuple[str, str], str] = {("resource", name): called for name, called in resources.items()}
    names.update(renamed.items())
    found: dict[tuple[Kind, str], set[Use]] = {}
    for type, _, (kind, name, *where) in types_of(spec):
        for used in names_in(type):
            found.setdefault(used, set()).add((kind, names.get((kind, name), name), *where))
    return found


# ------------------------------------------------------------------------------------------------------------- findings


def declared_findings(specs: Specs) -> Iterator[Finding]:
    """Yield the changes of the enums, objects and entities of two specs."""
    for kind, plural in _TABLES.items():
        before, now = table(specs.old, kind), table(specs.new, kind)
        for name, declared in before.items():
            called = specs.names.of(kind, name)
            other, node = now.get(called), f"{plural}.{called}"
            if other is None:
                if not _is_reported_of_resource(specs, declared, specs.new):
                    yield Finding("type-removed", node, "removed", specs.new.place, declared.place)
                continue
            if called != name:
                yield Finding("type-renamed", node, f"{name} → {called}", other.place, declared.place, name)
            for change in _changes(At(specs), declared, other):
                yield found_at(change, node, declared.place, other.place)
        known = {specs.names.of(kind, name) for name in before}
        for name, declared in now.items():
            if name not in known and not _is_reported_of_resource(specs, declared, specs.old):
                yield Finding("type-added", f"{plural}.{name}", "added", declared.place)


def _is_reported_of_resource(specs: Specs, declared: d.Enum | d.Object | d.Entity, other: d.Spec) -> bool:
    """Return whether an entity is declared in a resource that the other spec does not have."""
    if not isinstance(declared, d.Entity) or declared.resource is None:
        return False
    called = {*other.resources, *(specs.resources if other is specs.new else specs.resources.values())}
    return declared.resource not in called


def _changes(at: At, old: d.Enum | d.Object | d.Entity, new: d.Enum | d.Object | d.Entity) -> Iterator[Change]:
    if isinstance(old, d.Enum) and isinstance(new, d.Enum):
        yield from walk(ENUM_ATTRIBUTES, at, old, new)
    elif isinstance(old, d.Object) and isinstance(new, d.Object):
        yield from walk(OBJECT_ATTRIBUTES, at, old, new)
    elif isinstance(old, d.Entity) and isinstance(new, d.Entity):
        yield from walk(ENTITY_ATTRIBUTES, at, old, new)


# ------------------------------------------------------------------------------------------------------ enums, objects


def _enum_members(at: At, old: d.Enum, new: d.Enum) -> Iterator[Change]:
    before, now = ({(type(one.value), one.value): one for one in enum.members} for enum in (old, new))
    for key, member in before.items():
        there, other = at.inside(str(member.value)), now.get(key)
        if other is None:
            yield dataclasses.replace(there, places=(member.place, None)).change("enum-value-removed", "removed")
        elif member.constant is None and other.constant is not None:
            there = dataclasses.replace(there, places=(None, other.place))
            yield there.change("type-added", f"constant {other.constant} added")
        elif _constant(old, member) != _constant(new, other):
            there = there.between(member.place, other.place)
            yield there.changed("enum-constant-changed", member.constant, other.constant, label="constant")
    for key, member in now.items():
        if key not in before:
            there = dataclasses.replace(at.inside(str(member.value)), places=(None, member.place))
            yield there.change("enum-value-added", "added")


def _constant(enum: d.Enum, member: d.EnumMember) -> str | None:
    """Return the name of a constant without that of its enum."""
    return None if member.constant is None else member.constant.removeprefix(constant_name(enum.name, ""))


def _object_fields(at: At, old: d.Object, new: d.Object) -> Iterator[Change]:
    yield from rows_changes(at, tuple(map(at.specs.names.in_field, old.fields)), new.fields)


_TYPE_NAME: Final = Ignored("a type is found by its name, and a new name is reported where it is used")

ENUM_ATTRIBUTES: Final[Attributes[d.Enum]] = {"name": _TYPE_NAME, "members": _enum_members}
OBJECT_ATTRIBUTES: Final[Attributes[d.Object]] = {"name": _TYPE_NAME, "fields": _object_fields, "body_name": DERIVED}

# ------------------------------------------------------------------------------------------------------------- entities


def _extends(at: At, old: d.Entity, new: d.Entity) -> Iterator[Change]:
    if not _has_same_base(at, old, new):
        was = at.specs.names.of("entity", old.extends) if old.extends is not None else None
        yield at.changed("extends-changed", was or "nothing", new.extends or "nothing", label="extends")


def _has_same_base(at: At, old: d.Entity, new: d.Entity) -> bool:
    return (at.specs.names.of("entity", old.extends) if old.extends is not None else None) == new.extends


def _is_inherited(at: At, old: d.Entity, new: d.Entity, attribute: str) -> bool:
    """Return whether an attribute is inherited in both specs, so that its change is reported for the base entity.

    Changes due to another base are reported with the base, except for the table and the key.
    """
    written = f"{attribute}_written"
    if getattr(old, written) or getattr(new, written):
        return False
    return old.extends is not None if _has_same_base(at, old, new) else attribute in ("indexes", "validate")


def _table(at: At, old: d.Entity, new: d.Entity) -> Iterator[Change]:
    if old.key != new.key and not _is_inherited(at, old, new, "key"):
        yield at.inside("key").changed("table-renamed", old.key, new.key)


def _pk(at: At, old: d.Entity, new: d.Entity) -> Iterator[Change]:
    renamed = _renamed_fields(old, new)
    # The name after a dot is a field of an object, whose renaming is reported there.
    pk = tuple(".".join((renamed.get(head, head), *rest)) for head, *rest in (name.split(".") for name in old.pk))
    if (pk, old.pk_is_list) != (new.pk, new.pk_is_list) and not _is_inherited(at, old, new, "pk"):
        texts = (f"[{', '.join(one.pk)}]" if one.pk_is_list else ", ".join(one.pk) for one in (old, new))
        yield at.inside("pk").changed("pk-changed", *texts)


def _renamed_fields(old: d.Entity, new: d.Entity) -> Mapping[str, str]:
    return {before.name: now.name for before, now in paired(old.all_fields, new.all_fields).both}


def _indexes(at: At, old: d.Entity, new: d.Entity) -> Iterator[Change]:
    if _is_inherited(at, old, new, "indexes"):
        return
    renamed = _renamed_fields(old, new)
    before, now = {renamed.get(name, name) for name in old.indexes}, set(new.indexes)
    for name in sorted(before ^ now):
        rule, text = ("index-removed", "removed") if name in before else ("index-added", "added")
        yield at.inside(f"indexes.{name}").change(rule, text)


def _validate(at: At, old: d.Entity, new: d.Entity) -> Iterator[Change]:
    if old.validate != new.validate and not _is_inherited(at, old, new, "validate"):
        yield at.inside("validate").changed("hook-changed", old.validate, new.validate)


def _all_fields(at: At, old: d.Entity, new: d.Entity) -> Iterator[Change]:
    """Yield the changes of fields, except of fields that are inherited in both specs."""
    own = {field.name for field in old.fields}, {field.name for field in new.fields}
    pairing = paired(old.all_fields, new.all_fields)
    for before, now in pairing.both:
        if before.name in own[0] or now.name in own[1]:
            for change in field_changes(at, at.specs.names.in_field(before), now):
                yield _with_missing(change, new, now)
    for field in pairing.removed:
        if field.name in own[0]:
            yield removed_field(at, field)
    for field in pairing.added:
        if field.name in own[1]:
            yield _with_missing(added_field(at, field), new, field)


def _with_missing(change: Change, entity: d.Entity, field: d.Field) -> Change:
    """Change the rule of a new field if older records have no value for it."""
    has_value = isinstance(field.type, d.Optional | d.Const) or field.written_default or field.name in entity.pk
    if change.rule != "field-added" or change.sub != field.name or has_value:
        return change
    return dataclasses.replace(change, rule="field-added-without-default")


ENTITY_ATTRIBUTES: Final[Attributes[d.Entity]] = {
    "name": _TYPE_NAME,
    "fields": Ignored("it says which of all fields are its own"),
    "all_fields": _all_fields,
    "pk": _pk,
    "pk_is_list": Ignored("it is compared with `pk`"),
    "pk_written": WRITTEN,
    "key": _table,
    "key_written": WRITTEN,
    "extends": _extends,
    "abstract": Value("abstract-changed", sub="", show=lambda is_so: "abstract" if is_so else "not abstract"),
    "indexes": _indexes,
    "indexes_written": WRITTEN,
    "validate": _validate,
    "validate_written": WRITTEN,
    "description": DESCRIPTION,
    "deprecated": deprecation,
    "resource": WRITTEN,
    "body_name": DERIVED,
    "pk_optional": Value("answers-changed"),
    "partial_body_name": DERIVED,
    "persist": Value("persist-changed"),
}
