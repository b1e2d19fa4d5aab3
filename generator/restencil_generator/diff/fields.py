"""What changed in fields and types: of entities and objects, of results, of arguments and bodies.

The same change means another thing at each of these: a result may become narrower, an argument may become wider. A
`Role` says which rule a change falls under.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Protocol

from restencil_generator.diagnostics.model import Place
from restencil_generator.diff.change import Change
from restencil_generator.diff.types import bare, relation, shown
from restencil_generator.spec import model as d


@dataclasses.dataclass(frozen=True, slots=True)
class Role:
    """The rules that changes of a field fall under, by what the field is.

    `needed` and `free` are for what is given: that it must be, and that it need no longer be. What is read has neither;
    there `optional` and `certain` say that `?` came and went.
    """

    changed: str
    narrower: str
    wider: str
    optional: str
    certain: str
    added: str
    removed: str
    wire: str
    default: str
    format: str
    needed: str = ""
    free: str = ""


FIELD: Final = Role(
    changed="field-type-changed",
    narrower="field-type-changed",
    wider="field-type-changed",
    optional="field-optional",
    certain="field-certain",
    added="field-added",
    removed="field-removed",
    wire="field-wire-changed",
    default="field-default-changed",
    format="field-format-changed",
)
MEMBER: Final = Role(
    changed="result-member-type-changed",
    narrower="result-certain",
    wider="result-optional",
    optional="result-optional",
    certain="result-certain",
    added="result-member-added",
    removed="result-member-removed",
    wire="field-wire-changed",
    default="field-default-changed",
    format="field-format-changed",
)
RESULT: Final = dataclasses.replace(MEMBER, changed="result-changed")
ARGUMENT: Final = Role(
    changed="argument-type-changed",
    narrower="argument-type-narrowed",
    wider="argument-type-widened",
    optional="argument-type-widened",
    certain="argument-type-narrowed",
    added="argument-added",
    removed="argument-removed",
    wire="argument-wire-changed",
    default="argument-default-changed",
    format="argument-style-changed",
    needed="argument-required",
    free="argument-optional",
)
BODY: Final = dataclasses.replace(
    ARGUMENT,
    changed="body-member-type-changed",
    added="body-member-added",
    removed="body-member-removed",
    needed="body-member-required",
    free="body-member-optional",
)
CLIENT: Final = dataclasses.replace(
    ARGUMENT,
    changed="client-argument-type-changed",
    narrower="client-argument-type-changed",
    certain="client-argument-type-changed",
    added="client-argument-added",
    removed="client-argument-removed",
    needed="client-argument-required",
)
VARIABLE: Final = dataclasses.replace(CLIENT, needed="server-variable-required")

_WITHIN: Final[Mapping[Role, Role]] = {RESULT: MEMBER, ARGUMENT: BODY, CLIENT: BODY, VARIABLE: BODY}
"""What members of an object are inside of something that has a role; the same, where nothing is said."""


class Described(Protocol):
    """What documentation says something of."""

    @property
    def description(self) -> str:
        """What it is."""
        ...

    @property
    def deprecated(self) -> str | None:
        """Why it is to be used no more; None where it is not deprecated."""
        ...


@dataclasses.dataclass(frozen=True, slots=True)
class Pairing:
    """What of two rows of fields is the same field: by name, else by wire name where the name is gone."""

    both: tuple[tuple[d.Field, d.Field], ...]
    removed: tuple[d.Field, ...]
    added: tuple[d.Field, ...]


def paired(old: Sequence[d.Field], new: Sequence[d.Field]) -> Pairing:
    """Which fields are the same, which are gone, which are new."""
    if old == new:
        return Pairing(tuple(zip(old, new, strict=True)), (), ())
    by_name = {field.name: field for field in new}
    names = {field.name for field in old}
    by_wire = {field.wire: field for field in new if field.name not in names}
    both: list[tuple[d.Field, d.Field]] = []
    removed: list[d.Field] = []
    met: set[str] = set()
    for field in old:
        other = by_name.get(field.name) or by_wire.get(field.wire)
        if other is None:
            removed.append(field)
        else:
            both.append((field, other))
            met.add(other.name)
    return Pairing(tuple(both), tuple(removed), tuple(field for field in new if field.name not in met))


_ANY: Final = d.Scalar("any")


@dataclasses.dataclass(frozen=True, slots=True)
class At:
    """Where types are compared: below something, within these `whole` types, which texts show."""

    sub: str
    whole: tuple[d.Type, d.Type]
    places: tuple[Place | None, Place | None]

    def change(self, rule: str) -> Change:
        """The change of the whole type."""
        was, now = map(shown, self.whole)
        return Change(rule, self.sub, f"{was} → {now}", was, *self.places)


@dataclasses.dataclass(frozen=True, slots=True)
class Fields:
    """Compares fields and types. Those of the old spec are in the new one's names; `enums` are those of both specs."""

    enums: Mapping[str, d.Enum]

    # ---------------------------------------------------------------------------------------------------------- fields

    def rows(self, role: Role, old: Sequence[d.Field], new: Sequence[d.Field], sub: str = "") -> Iterator[Change]:
        """What changed between two rows of fields."""
        if old is new:
            return
        pairing = paired(old, new)
        for before, now in pairing.both:
            yield from self.field(role, before, now, sub)
        for field in pairing.removed:
            yield Change(role.removed, _below(sub, field.name), "removed", shown(field.type), field.place)
        for field in pairing.added:
            required = bool(role.needed) and field.required
            # Whoever sends an object that is declared on its own sends it without the new member.
            rule = role.needed if required else "body-member-required" if field.must else role.added
            text = f"added, {shown(field.type)}" + (", required" if required or field.must else "")
            yield Change(rule, _below(sub, field.name), text, new_place=field.place)

    def field(self, role: Role, old: d.Field, new: d.Field, sub: str = "") -> Iterator[Change]:
        """What changed in one field."""
        below = _below(sub, new.name)
        if old.format != new.format:  # the format is told by itself
            old, new = (dataclasses.replace(field, type=d.formatted(field.type, None)) for field in (old, new))

        def change(rule: str, text: str, was: str = "") -> Change:
            return Change(rule, below, text, was, old.place, new.place)

        if old.name != new.name:
            yield change("field-renamed", f"{old.name} → {new.name}", old.name)
        if old.wire != new.wire:
            yield change(role.wire, f"{old.wire} → {new.wire} in JSON", old.wire)
        types = [*self._field_types(role, old, new, below)]
        yield from types
        if not types:
            yield from self._defaults(role, old, new, below)
        yield from self._sent(old, new, below)
        yield from self._written(role, old, new, below)
        yield from self._hooks(old, new, below)
        yield from described(old, new, below, old.place, new.place)

    def _field_types(self, role: Role, old: d.Field, new: d.Field, sub: str) -> Iterator[Change]:
        places = (old.place, new.place)
        if old.type_place.line and new.type_place.line:
            places = (old.type_place, new.type_place)
        if not role.needed:
            yield from self.types(role, old.type, new.type, sub, places)
            return
        inner = [*self._bare(role, bare(old.type), bare(new.type), At(sub, (old.type, new.type), places))]
        yield from inner
        if old.required != new.required:
            rule, text = (role.needed, "required now") if new.required else (role.free, "may be left out")
            yield Change(rule, sub, text, "optional" if new.required else "required", *places)
        elif not inner and not old.written_default and not new.written_default:
            yield from self._question(role, old.type, new.type, sub, places)

    def _defaults(self, role: Role, old: d.Field, new: d.Field, sub: str) -> Iterator[Change]:
        if old.default == new.default and type(old.default) is type(new.default):
            return
        if old.written_default or new.written_default:
            text = f"default {_json(old.default)} → {_json(new.default)}"
            yield Change(role.default, sub, text, f"default {_json(old.default)}", old.place, new.place)
        elif self._is_value(old) and self._is_value(new):
            # The first value is the default, and another one is the first.
            text = f"default {_json(old.default)} → {_json(new.default)}"
            yield Change(role.default, sub, text, f"default {_json(old.default)}", old.place, new.place)

    def _is_value(self, field: d.Field) -> bool:
        """Whether the default of a field is a value that its enum still has."""
        type = bare(field.type)
        return isinstance(type, d.EnumRef) and any(field.default == one.value for one in self.enums[type.name].members)

    def _sent(self, old: d.Field, new: d.Field, sub: str) -> Iterator[Change]:
        """What bodies hold of a field."""
        places = (old.place, new.place)
        if old.read_only != new.read_only:
            rule, text = ("field-read-only", "read-only now") if new.read_only else ("field-writable", "writable now")
            yield Change(rule, sub, text, "writable" if new.read_only else "read-only", *places)
        if old.write_only != new.write_only:
            rule, text = ("field-write-only", "write-only now") if new.write_only else ("field-added", "readable now")
            yield Change(rule, sub, text, "readable" if new.write_only else "write-only", *places)
        if old.must != new.must:
            rule, text = (
                ("body-member-required", "bodies must hold it")
                if new.must
                else ("body-member-optional", "bodies may lack it")
            )
            yield Change(rule, sub, text, "", *places)
        if old.param != new.param:
            was = f"param {old.param or '–'}"
            yield Change("pk-changed", sub, f"{was} → {new.param or '–'}", was, *places)
        if old.sends_key != new.sends_key:
            was, now = ("the key", "the entity") if old.sends_key else ("the entity", "the key")
            yield Change("body-member-type-changed", sub, f"bodies hold {now}, not {was}", was, *places)

    def _written(self, role: Role, old: d.Field, new: d.Field, sub: str) -> Iterator[Change]:
        """How a value is written where it is sent, where it is found when none is given, and whether it is kept."""
        places = (old.place, new.place)
        was, now = (_style(field) for field in (old, new))
        if was != now:
            yield Change(role.format, sub, f"{was} → {now}", was, *places)
        formats = [field.format or "rfc3339" for field in (old, new)]
        if formats[0] != formats[1]:
            text = f"format {formats[0]} → {formats[1]}"
            yield Change(role.format, sub, text, f"format {formats[0]}", *places)
        if old.env != new.env and (old.env is None) == (new.env is None):
            yield Change("argument-default-changed", sub, f"env {old.env} → {new.env}", f"env {old.env}", *places)
        if old.of != new.of:
            was = old.of or old.name
            yield Change("identity-arguments-changed", sub, f"field {was} → {new.of or new.name}", was, *places)
        if old.filter != new.filter:
            yield Change("freshness-changed", sub, _values(old.filter, new.filter), "", *places)
        if old.persist != new.persist:
            yield Change("persist-changed", sub, _values(old.persist, new.persist), "", *places)

    def _hooks(self, old: d.Field, new: d.Field, sub: str) -> Iterator[Change]:
        for key in ("decode", "encode"):
            yield from hook(key, getattr(old, key), getattr(new, key), sub, old.place, new.place)

    # ----------------------------------------------------------------------------------------------------------- types

    def types(
        self,
        role: Role,
        old: d.Type,
        new: d.Type,
        sub: str = "",
        places: tuple[Place | None, Place | None] = (None, None),
    ) -> Iterator[Change]:
        """What changed between two types."""
        if old == new:
            return
        inner = [*self._bare(role, bare(old), bare(new), At(sub, (old, new), places))]
        yield from inner
        if not any(change.rule == role.changed for change in inner):
            yield from self._question(role, old, new, sub, places)

    def _question(
        self, role: Role, old: d.Type, new: d.Type, sub: str, places: tuple[Place | None, Place | None]
    ) -> Iterator[Change]:
        """`?` that came or went."""
        if isinstance(old, d.Optional) != isinstance(new, d.Optional):
            rule = role.optional if isinstance(new, d.Optional) else role.certain
            yield Change(rule, sub, f"{shown(old)} → {shown(new)}", shown(old), *places)

    def _bare(self, role: Role, old: d.Type, new: d.Type, at: At) -> Iterator[Change]:
        """What changed between two types without their `?`."""
        if old == new:
            return
        match old, new:
            case d.ObjectType(before), d.ObjectType(now):
                yield from self.rows(_WITHIN.get(role, role), before, now, at.sub)
            case d.CollectionOf(), d.CollectionOf():
                yield from self._collection(old, new, at)
                if type(old.of) is type(new.of):
                    yield from self._inside(role, old.of.item, new.of.item, at)
            case d.UnionOf(), d.UnionOf() if not role.needed:
                yield from self._union(old, new, at)
            case d.OneOf(), d.OneOf() if not role.needed:
                yield from self._one_of(old, new, at)
            case d.InlineEnum(before), d.InlineEnum(now) if not role.needed:
                yield from _values_of(before, now, at)
            case d.QueryOf(before, process, returns), d.QueryOf(now, process_now, returns_now):
                yield from hook("process", process, process_now, at.sub, *at.places)
                yield from self._inside(role, before, now, at)
                yield from self._inside(role, returns or _ANY, returns_now or _ANY, at)
            case _:
                yield from self._holding(role, old, new, at)

    def _holding(self, role: Role, old: d.Type, new: d.Type, at: At) -> Iterator[Change]:
        """What changed between types that hold others of one type, and between types that have nothing in common."""
        match old, new:
            case (d.ListOf(before), d.ListOf(now)) | (d.ValuesOf(before), d.ValuesOf(now)):
                yield from self._inside(role, before, now, at)
            case (d.PageOf(before), d.PageOf(now)) | (d.AdderOf(before), d.AdderOf(now)):
                yield from self._inside(role, before, now, at)
            case (d.AllOf(before), d.AllOf(now)) | (d.InvalidateOf(before), d.InvalidateOf(now)):
                yield from self._inside(role, before, now, at)
            case (d.CollectionOf(d.ListOf(before)), d.ListOf(now)) | (d.ListOf(before), d.CollectionOf(d.ListOf(now))):
                yield at.change("collection-changed")
                yield from self._inside(role, before, now, at)
            case _:
                yield from self._unlike(role, old, new, at)

    def _inside(self, role: Role, old: d.Type, new: d.Type, at: At) -> Iterator[Change]:
        """What changed between the types of items, or others that a type holds."""
        found = [*self._bare(role, bare(old), bare(new), at)]
        yield from found
        question = isinstance(old, d.Optional) != isinstance(new, d.Optional)
        if question and not any(change.rule == role.changed for change in found):
            yield at.change(role.optional if isinstance(new, d.Optional) else role.certain)

    def _unlike(self, role: Role, old: d.Type, new: d.Type, at: At) -> Iterator[Change]:
        how = relation(old, new, self.enums)
        if how == "same":
            return
        if not role.needed and any(True for type in at.whole for _ in d.entities_in(type)):
            how = "other"  # what is kept of entities has another form
        yield at.change({"narrower": role.narrower, "wider": role.wider, "other": role.changed}[how])

    @staticmethod
    def _collection(old: d.CollectionOf, new: d.CollectionOf, at: At) -> Iterator[Change]:
        sub, places = at.sub, at.places
        if type(old.of) is not type(new.of):
            yield Change("collection-changed", sub, f"{shown(old)} → {shown(new)}", shown(old), *places)
        if set(old.nest) != set(new.nest):
            was, now = (", ".join(f"{one.argument}: {one.field}" for one in nest) for nest in (old.nest, new.nest))
            yield Change("collection-changed", sub, f"nest {{{was}}} → {{{now}}}", f"{{{was}}}", *places)
        before, now_apart = set(old.non_filter_arguments), set(new.non_filter_arguments)
        if before != now_apart:
            texts = [", ".join(sorted(names)) for names in (before, now_apart)]
            text = f"non_filter_arguments [{texts[0]}] → [{texts[1]}]"
            yield Change("identity-arguments-changed", sub, text, f"[{texts[0]}]", *places)
        yield from hook("collection", old.custom, new.custom, sub, *places)
        if old.follow != new.follow:
            yield Change("freshness-changed", _below(sub, "follow"), _values(old.follow, new.follow), "", *places)

    @staticmethod
    def _one_of(old: d.OneOf, new: d.OneOf, at: At) -> Iterator[Change]:
        sub, places = at.sub, at.places
        for type in old.alternatives:
            if type not in new.alternatives:
                yield Change("union-alternative-removed", sub, f"{shown(type)} removed", "", *places)
        for type in new.alternatives:
            if type not in old.alternatives:
                yield Change("union-alternative-added", sub, f"{shown(type)} added", "", *places)
        before, now = (_told_apart(one, other) for one, other in ((old, new), (new, old)))
        if before != now:
            yield Change("union-attribute-changed", sub, f"told apart by {before} → {now}", before, *places)

    @staticmethod
    def _union(old: d.UnionOf, new: d.UnionOf, at: At) -> Iterator[Change]:
        sub, places = at.sub, at.places
        if (old.attribute, old.wire) != (new.attribute, new.wire):
            text = f"told apart by {old.wire or old.attribute} → {new.wire or new.attribute}"
            yield Change("union-attribute-changed", sub, text, str(old.attribute), *places)
        before, now = ({choice.entity: choice.value for choice in type.choices} for type in (old, new))
        for entity in sorted(before.keys() | now.keys()):
            if entity not in now:
                yield Change("union-alternative-removed", sub, f"{entity} removed", "", *places)
            elif entity not in before:
                yield Change("union-alternative-added", sub, f"{entity} added", "", *places)
        was, is_now = ({(one.value, one.entity) for one in type.choices} for type in (old, new))
        common = before.keys() & now.keys()
        lost = sorted(str(value) for value, entity in was - is_now if entity in common)
        won = sorted(str(value) for value, entity in is_now - was if entity in common)
        if lost or won:
            text = f"values {', '.join(lost) or '–'} → {', '.join(won) or '–'}"
            yield Change("union-attribute-changed", sub, text, ", ".join(lost), *places)


def _told_apart(one: d.OneOf, other: d.OneOf) -> str:
    """How alternatives are told apart, of those that both have: by an attribute, its values, or their order."""
    common = [type for type in one.alternatives if type in other.alternatives]
    names = {getattr(type, "name", "") for type in common}
    values = sorted(f"{choice.value}: {choice.entity}" for choice in one.values if choice.entity in names)
    order = ", ".join(shown(type) for type in common)
    return f"{one.wire or 'their form'} {{{', '.join(values)}}} in the order {order}"


def _values_of(old: Sequence[str | int], new: Sequence[str | int], at: At) -> Iterator[Change]:
    for value in old:
        if value not in new:
            yield Change("enum-value-removed", _below(at.sub, str(value)), "removed", "", *at.places)
    for value in new:
        if value not in old:
            yield Change("enum-value-added", _below(at.sub, str(value)), "added", "", *at.places)


# ------------------------------------------------------------------------------------------------------------ anything


def hook(
    key: str,
    old: d.Reference | str | None,
    new: d.Reference | str | None,
    sub: str,
    old_place: Place | None,
    new_place: Place | None,
) -> Iterator[Change]:
    """Hand-written code that is other code now."""
    if old != new:
        was = "–" if old is None else str(old)
        text = f"{was} → {'–' if new is None else new}"
        yield Change("hook-changed", _below(sub, key), text, "" if old is None else was, old_place, new_place)


def described(
    old: Described,
    new: Described,
    sub: str,
    old_place: Place | None,
    new_place: Place | None,
) -> Iterator[Change]:
    """What documentation says of something, and whether it is deprecated."""
    if old.description != new.description:
        yield Change("description-changed", sub, "description", "", old_place, new_place)
    if (old.deprecated is None) != (new.deprecated is None):
        rule = "deprecated-removed" if new.deprecated is None else "deprecated-added"
        text = "no longer deprecated" if new.deprecated is None else "deprecated"
        yield Change(rule, sub, text, "", old_place, new_place)
    elif old.deprecated != new.deprecated:
        yield Change("description-changed", sub, "why it is deprecated", "", old_place, new_place)


def _below(sub: str, name: str) -> str:
    return f"{sub}.{name}" if sub else name


def _values(old: object, new: object) -> str:
    return f"{_json(old)} → {_json(new)}"


def _style(field: d.Field) -> str:
    """How a value is written, where that can be more than one way."""
    if field.slashes:
        return "slashes kept"
    return f"style {field.style}" if field.style not in (None, "comma") else "style comma"


def _json(value: object) -> str:
    return "–" if value is d.MISSING or value is None else json.dumps(value, ensure_ascii=False, sort_keys=True)
