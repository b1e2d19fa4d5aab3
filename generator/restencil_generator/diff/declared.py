"""What changed in enums, objects and entities, and which of them are called something else."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from restencil_generator.diff.change import Change, Finding, found_at
from restencil_generator.diff.fields import FIELD, Fields, described, hook, paired
from restencil_generator.diff.types import Kind, Names, shown
from restencil_generator.spec import model as d
from restencil_generator.spec.names import constant_name

Use: TypeAlias = "tuple[str, ...]"
"""A place where a type is used."""

_TABLES: Final[Mapping[Kind, str]] = {"enum": "enums", "object": "objects", "entity": "entities"}


def table(spec: d.Spec, kind: Kind) -> Mapping[str, d.Enum | d.Object | d.Entity]:
    """The declared types of a kind."""
    found: Mapping[str, d.Enum | d.Object | d.Entity] = getattr(spec, _TABLES[kind])
    return found


# -------------------------------------------------------------------------------------------------------------- renames


def renamed_types(old: d.Spec, new: d.Spec, resources: Mapping[str, str]) -> Names:
    """Types whose name is gone, with the one that stands in their place.

    What uses a renamed type may be renamed itself, so this goes on until nothing more is found.
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
        found = _met(gone, came, before, now)
        if not found:
            break
        renamed |= found
        gone = [one for one in gone if one not in found]
        came = [(kind, name) for kind, name in came if (kind, name) not in {(one[0], to) for one, to in found.items()}]
    return Names(renamed)


def _met(
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
    """Where each type is used; places are named as in the new spec."""
    found: dict[tuple[Kind, str], set[Use]] = {}
    for kind, name, use in _used(spec, renamed, resources):
        found.setdefault((kind, name), set()).add(use)
    return found


def _used(
    spec: d.Spec, renamed: Mapping[tuple[Kind, str], str], resources: Mapping[str, str]
) -> Iterator[tuple[Kind, str, Use]]:
    for name, one in spec.objects.items():
        for field in one.fields:
            yield from _in_type(field.type, "object", renamed.get(("object", name), name), field.wire)
    for name, entity in spec.entities.items():
        called = renamed.get(("entity", name), name)
        for field in entity.fields:
            yield from _in_type(field.type, "entity", called, field.wire)
        if entity.extends is not None:
            yield "entity", entity.extends, ("extends", called)
    for name, resource in spec.resources.items():
        called = resources.get(name, name)
        yield from _in_type(resource.schema, "resource", called)
        for member, endpoint in resource.all_endpoints():
            yield from _in_endpoint(endpoint, called, member)


def _in_endpoint(endpoint: d.Endpoint, *where: str) -> Iterator[tuple[Kind, str, Use]]:
    for field in (*endpoint.params, *endpoint.search_params, *(one.field for one in endpoint.header_params)):
        yield from _in_type(field.type, "argument", *where, field.wire)
    yield from _in_type(endpoint.schema, "schema", *where)
    yield from _in_type(endpoint.body.type if endpoint.body is not None else None, "body", *where)
    yield from _in_type(endpoint.returns, "returns", *where)
    for status, shape in endpoint.errors.items():
        for name in shape:
            yield "object", name, ("error", *where, status)


def _in_type(type: d.Type | None, *where: str) -> Iterator[tuple[Kind, str, Use]]:
    for part in d.walk(type) if type is not None else ():
        match part:
            case d.EnumRef(name):
                yield "enum", name, where
            case d.ObjectRef(name):
                yield "object", name, where
            case d.EntityRef(name):
                yield "entity", name, where
            case d.UnionOf(choices):
                for choice in choices:
                    yield "entity", choice.entity, (*where, str(choice.value))
            case _:
                pass


# ------------------------------------------------------------------------------------------------------------- findings


@dataclasses.dataclass(frozen=True, slots=True)
class Declared:
    """Compares the enums, objects and entities of two specs."""

    old: d.Spec
    new: d.Spec
    names: Names
    fields: Fields
    resources: Mapping[str, str]

    def findings(self) -> Iterator[Finding]:
        """What changed."""
        for kind, plural in _TABLES.items():
            before, now = table(self.old, kind), table(self.new, kind)
            met = {self.names.of(kind, name) for name in before}
            for name, declared in before.items():
                other = now.get(self.names.of(kind, name))
                node = f"{plural}.{self.names.of(kind, name)}"
                if other is None:
                    if not self._goes_with_resource(declared, self.new):
                        yield Finding("type-removed", node, "removed", self.new.place, declared.place)
                    continue
                if other.name != name:
                    yield Finding("type-renamed", node, f"{name} → {other.name}", other.place, declared.place, name)
                for change in self._changes(declared, other):
                    yield found_at(change, node, declared.place, other.place)
            for name, declared in now.items():
                if name not in met and not self._goes_with_resource(declared, self.old):
                    yield Finding("type-added", f"{plural}.{name}", "added", declared.place)

    def _goes_with_resource(self, declared: d.Enum | d.Object | d.Entity, other: d.Spec) -> bool:
        """Whether an entity is declared in a resource that the other spec has not: the resource is told."""
        if not isinstance(declared, d.Entity) or declared.resource is None:
            return False
        called = {*other.resources, *(self.resources if other is self.new else self.resources.values())}
        return declared.resource not in called

    def _changes(self, old: d.Enum | d.Object | d.Entity, new: d.Enum | d.Object | d.Entity) -> Iterator[Change]:
        if isinstance(old, d.Enum) and isinstance(new, d.Enum):
            yield from _enum(old, new)
        elif isinstance(old, d.Object) and isinstance(new, d.Object):
            yield from self._rows(old.fields, new.fields)
        elif isinstance(old, d.Entity) and isinstance(new, d.Entity):
            yield from self._entity(old, new)

    # ------------------------------------------------------------------------------------------------ objects, entities

    def _rows(self, old: tuple[d.Field, ...], new: tuple[d.Field, ...]) -> Iterator[Change]:
        told = tuple(self._told(field) for field in old) if self.names.renamed else old
        yield from self.fields.rows(FIELD, told, new)

    def _told(self, field: d.Field) -> d.Field:
        return dataclasses.replace(field, type=self.names.translated(field.type))

    def _entity(self, old: d.Entity, new: d.Entity) -> Iterator[Change]:
        extends = self.names.of("entity", old.extends) if old.extends is not None else None
        same_base = extends == new.extends
        if not same_base:
            was, now = extends or "nothing", new.extends or "nothing"
            yield Change("extends-changed", "", f"extends {was} → {now}", f"extends {was}")
        if old.abstract != new.abstract:
            was, now = ("abstract" if one.abstract else "not abstract" for one in (old, new))
            yield Change("abstract-changed", "", f"{was} → {now}", was)
        renamed = {before.name: now.name for before, now in paired(old.all_fields, new.all_fields).both}
        yield from self._identity(old, new, renamed, same_base)
        if old.pk_optional != new.pk_optional:
            yield Change("answers-changed", "pk_optional", f"{_text(old.pk_optional)} → {_text(new.pk_optional)}")
        if old.persist != new.persist:
            yield Change("persist-changed", "persist", f"{_text(old.persist)} → {_text(new.persist)}")
        yield from described(old, new, "", None, None)
        for change in self._entity_fields(old, new, same_base):
            yield self._lacking(change, new)

    def _identity(self, old: d.Entity, new: d.Entity, renamed: Mapping[str, str], same_base: bool) -> Iterator[Change]:
        """The table, the key and what else finds a record. What is taken over is told of whom it is taken from."""

        def taken_over(key: str) -> bool:
            unwritten = not getattr(old, key) and not getattr(new, key)
            return unwritten and (old.extends is not None if same_base else key in _TOLD_BY_BASE)

        if old.key != new.key and not taken_over("key_written"):
            yield Change("table-renamed", "key", f"{old.key} → {new.key}", old.key)
        # What stands behind a dot is a field of an object, whose new name is told there.
        pk = tuple(".".join((renamed.get(head, head), *rest)) for head, *rest in (name.split(".") for name in old.pk))
        if (pk, old.pk_is_list) != (new.pk, new.pk_is_list) and not taken_over("pk_written"):
            yield Change("pk-changed", "pk", f"{_pk(old)} → {_pk(new)}", _pk(old))
        if not taken_over("indexes_written"):
            before, now = {renamed.get(name, name) for name in old.indexes}, set(new.indexes)
            for name in sorted(before - now):
                yield Change("index-removed", f"indexes.{name}", "removed")
            for name in sorted(now - before):
                yield Change("index-added", f"indexes.{name}", "added")
        if not taken_over("validate_written"):
            yield from hook("validate", old.validate, new.validate, "", None, None)

    def _entity_fields(self, old: d.Entity, new: d.Entity, same_base: bool) -> Iterator[Change]:
        """Fields by themselves; those that both forms take over are told of the entity that declares them."""
        own = {field.name for field in old.fields}, {field.name for field in new.fields}
        pairing = paired(old.all_fields, new.all_fields)
        for before, now in pairing.both:
            if before.name in own[0] or now.name in own[1]:
                yield from self.fields.field(FIELD, self._told(before), now)
        for field in pairing.removed:
            if field.name in own[0]:
                yield Change("field-removed", field.name, "removed", shown(field.type), field.place)
        for field in pairing.added:
            if field.name in own[1]:
                rule, required = ("body-member-required", ", required") if field.must else ("field-added", "")
                yield Change(rule, field.name, f"added, {shown(field.type)}{required}", new_place=field.place)

    @staticmethod
    def _lacking(change: Change, entity: d.Entity) -> Change:
        """A field that came without a default is one that the records lack that are kept already."""
        if change.rule != "field-added":
            return change
        field = entity.field(change.sub)
        if (
            field is None
            or isinstance(field.type, d.Optional | d.Const)
            or field.written_default
            or field.name in entity.pk
        ):
            return change
        return dataclasses.replace(change, rule="field-added-without-default")


_TOLD_BY_BASE = ("indexes_written", "validate_written")
"""What follows from another base and says no more than that."""


def _constant(enum: d.Enum, member: d.EnumMember) -> str | None:
    """The name of a constant by itself, without that of its enum."""
    return None if member.constant is None else member.constant.removeprefix(constant_name(enum.name, ""))


def _enum(old: d.Enum, new: d.Enum) -> Iterator[Change]:
    before, now = ({(type(one.value), one.value): one for one in enum.members} for enum in (old, new))
    for key, member in before.items():
        other = now.get(key)
        if other is None:
            yield Change("enum-value-removed", str(member.value), "removed", "", member.place)
        elif member.constant is not None and _constant(old, member) != _constant(new, other):
            text = f"constant {member.constant} → {other.constant or '–'}"
            yield Change("enum-constant-changed", str(member.value), text, member.constant, member.place, other.place)
        elif member.constant is None and other.constant is not None:
            yield Change("type-added", str(member.value), f"constant {other.constant} added", new_place=other.place)
    for key, member in now.items():
        if key not in before:
            yield Change("enum-value-added", str(member.value), "added", new_place=member.place)


def _text(value: object) -> str:
    return "–" if value is None else str(value).lower()


def _pk(entity: d.Entity) -> str:
    names = ", ".join(entity.pk)
    return f"[{names}]" if entity.pk_is_list else names
