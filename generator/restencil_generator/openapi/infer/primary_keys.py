"""Inference of the primary key of an item, with the reason.

The rules are in the order in which they are tried; each puts its reason in a comment. Comments of guesses contain
`check:`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from restencil_generator.openapi.infer.names.inflection import GLOBAL, KEY_WORDS, plural, snake_case
from restencil_generator.openapi.infer.records import Record, Shapes
from restencil_generator.openapi.spec_tree import CHECK

INSIDE: Final = ("metadata", "attributes", "info", "properties")
"""Members that may contain the key."""

NO_PARENTS: Final = frozenset(["version", "api_version", "v", "format", "locale", "lang", "language"])
"""Parameters that are not owners: records below them are not scoped by their values."""

ID_WORDS: Final = GLOBAL | {"key", "slug", "code", "number", "token", "hash", "symbol"}
"""Names of members that a parameter with the name of an id may contain."""

STRONG: Final = 4
"""The last rule whose key shows that a response is a record rather than an envelope."""


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """The position of an item: its last parameter as written, the parameters before it, and the name of its kind."""

    parameter: str
    parents: tuple[str, ...]
    thing: str
    """The singular name of the kind, in snake_case."""

    @property
    def name(self) -> str:
        """The last parameter in snake_case."""
        return snake_case(self.parameter)

    @property
    def owners(self) -> tuple[str, ...]:
        """The parents that may scope the records."""
        return tuple(parent for parent in self.parents if snake_case(parent) not in NO_PARENTS)

    @property
    def is_of_another_thing(self) -> bool:
        """Whether the last parameter has the name of something other than the items of the list.

        `user_id` in `/channels/{channel_id}/members/{user_id}` identifies users, and members only within a channel.
        """
        last = self.name.split("_")[-1]
        owner = self.name.removesuffix(last).rstrip("_")
        if not owner or last not in GLOBAL:
            return False
        return self.thing not in owner and owner.split("_")[-1] != self.thing.split("_")[-1]

    @property
    def looks_like_an_id(self) -> bool:
        """Whether the last parameter has the name of an id or of the item."""
        named = self.name.partition("_or_")[0]
        return self.name.split("_")[-1] in GLOBAL or named in (self.thing, "id", f"{self.thing}_id")


@dataclasses.dataclass(frozen=True, slots=True)
class KeyPart:
    """A field of a primary key: the JSON names that lead to it, or the path parameter that it is."""

    wires: tuple[str, ...] = ()
    parameter: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Key:
    """A primary key: the rule that found it, its parts, and the comment with the reason."""

    rule: int
    parts: tuple[KeyPart, ...]
    comment: str

    @property
    def alone(self) -> str:
        """The JSON name of the key if it is a single property; empty if it is several, dotted or from the path."""
        return self.parts[0].wires[0] if len(self.parts) == 1 and len(self.parts[0].wires) == 1 else ""

    def doubted(self, doubt: str) -> Key:
        """Return the key with something more to check."""
        if doubt in self.comment:
            return self
        return dataclasses.replace(self, comment=f"{self.comment}; {CHECK}{doubt}".removeprefix("; "))

    @property
    def wires(self) -> frozenset[str]:
        """The members of the record that are part of the key, or contain a part."""
        return frozenset(part.wires[0] for part in self.parts if part.wires)


class Keys:
    """Search for keys in the records of a document."""

    def __init__(self, shapes: Shapes) -> None:
        self.shapes = shapes

    def find(self, record: Record, items: Record | None, place: Place, *, guess: bool) -> Key | None:
        """Return the key of the records in the responses of an item and its list, by rules 1 to 7.

        `guess` allows rule 6: if there is a list or a mutation.
        """
        either = [[record]] if items is None else [[record, items], [record]]
        for records in either:
            if (key := self.strong(records, place) or self._of_thing(records, place)) is not None:
                return self._per_owner(key, records, place)
        for records in either:
            if key := (self._guessed(records, place) if guess else None) or self._inside(records, place):
                return key
        return None

    def _has(self, records: list[Record]) -> Callable[[str], bool]:
        """Return a function that returns whether all records have a scalar with a name in snake_case."""
        return lambda name: all(self.shapes.has_scalar(record, name) for record in records)

    def strong(self, records: list[Record], place: Place) -> Key | None:
        """Return the key by rules 1 to 4."""
        has = self._has(records)
        key = _strong(has, records[0].by_name, place)
        if key is None or not has("id") or key.alone in ("", records[0].by_name["id"]):
            return key
        # A required `id` takes precedence over an optional member.
        lacks, has_id = not self._is_required(records, key.alone), self._is_required(records, records[0].by_name["id"])
        return Key(3, (KeyPart((records[0].by_name["id"],)),), "pk: the id") if lacks and has_id else key

    def _per_owner(self, key: Key, records: list[Record], place: Place) -> Key:
        """Return the key of records below an owner, which may have chosen a string such as `run_id` for itself.

        It counts per owner if the record has the owners too, which makes the longer key certain; otherwise, and for an
        `id`, this is a doubt.
        """
        if not place.owners or not key.alone or not self._is_text(records, key.alone):
            return key
        parts = tuple(self._owners(records, place, key.alone))
        if snake_case(key.alone) in GLOBAL or any(part.parameter for part in parts):
            return key.doubted(f"it may count per {_braced(place.owners)}")
        return dataclasses.replace(
            key, parts=(*parts, *key.parts), comment=f"check: pk: counts per {_braced(place.owners)}"
        )

    def _is_text(self, records: list[Record], wire: str) -> bool:
        schemas = (self.shapes.of(record.members[wire].parts[0]) for record in records)
        return all(schema.type == "string" and not schema.format for schema in schemas)

    def _is_required(self, records: list[Record], wire: str) -> bool:
        return all(wire in each.members and each.members[wire].required for each in records)

    def _of_thing(self, records: list[Record], place: Place) -> Key | None:
        things = [place.thing, *(snake_case(record.name) for record in records if record.name)]
        endings = [*sorted(GLOBAL, key=lambda word: (word != "id", word)), "key", "code", "number"]
        for thing in dict.fromkeys(things):
            for ending in endings:
                name = f"{thing}_{ending}"
                if not self._has(records)(name):
                    continue
                part, comment = KeyPart((records[0].by_name[name],)), f"pk: {name} of {plural(thing or place.thing)}"
                if place.owners and ending not in GLOBAL:
                    parts = (*self._owners(records, place, part.wires[0]), part)
                    return Key(5, parts, f"{comment}, counts per {_braced(place.owners)}")
                return Key(5, (part,), comment)
        return None

    def _guessed(self, records: list[Record], place: Place) -> Key | None:
        for name in (*KEY_WORDS, f"{place.thing}_name", f"{place.thing}_type", "type"):
            if place.name.split("_")[-1] in GLOBAL and name not in ID_WORDS:
                continue  # an id in the path is not a name or title
            if not self._has(records)(name):
                continue
            part = KeyPart((records[0].by_name[name],))
            if place.owners and name not in GLOBAL:
                parts = (*self._owners(records, place, part.wires[0]), part)
                return Key(6, parts, f"check: pk guessed: {name}, which counts per {_braced(place.owners)}")
            return Key(6, (part,), f"check: pk guessed: {name}")
        return None

    def _owners(self, records: list[Record], place: Place, own: str) -> Iterator[KeyPart]:
        return _parents(self._has(records), records[0].by_name, place, own)

    def _inside(self, records: list[Record], place: Place) -> Key | None:
        for outer in INSIDE:
            wires = [record.by_name.get(outer) for record in records]
            if any(wire is None for wire in wires):
                continue
            inner = [
                self.shapes.record_of(record.members[wire].parts[0])
                for record, wire in zip(records, wires, strict=True)
                if wire is not None
            ]
            known = [record for record in inner if record is not None]
            if len(known) != len(records) or wires[0] is None:
                continue
            if key := self._dotted(known, place, wires[0]):
                return key
        return None

    def _dotted(self, records: list[Record], place: Place, outer: str) -> Key | None:
        has = self._has(records)
        alone = dataclasses.replace(place, parents=())
        found = _strong(has, records[0].by_name, alone) or next(
            (Key(7, (KeyPart((records[0].by_name[word],)),), "") for word in KEY_WORDS if has(word)), None
        )
        if found is None:
            return None
        last = found.parts[0].wires[0]
        parts: list[KeyPart] = []
        if snake_case(last) not in GLOBAL:
            found_parents = _parents(has, records[0].by_name, place, last)
            parts += [KeyPart((outer, *part.wires)) if part.wires else part for part in found_parents]
        parts.append(KeyPart((outer, last)))
        names = [".".join(map(snake_case, part.wires)) or f"{{{part.parameter}}}" for part in parts]
        return Key(7, tuple(parts), f"pk: {', '.join(names)}")


def from_path(place: Place) -> Key:
    """Return the key by rule 8: the parameters of the path."""
    parameters = (*place.parents, place.parameter)
    return Key(8, tuple(KeyPart((), parameter) for parameter in parameters), "check: pk from the path")


def _strong(has: Callable[[str], bool], by_name: Mapping[str, str], place: Place) -> Key | None:
    name, last = place.name, place.name.split("_")[-1]
    is_nested = bool(place.owners)
    is_foreign = is_nested and place.is_of_another_thing
    if has(name) and not is_foreign and (not is_nested or last in GLOBAL or name == place.thing):
        doubt = f"; check: it may count per {_braced(place.owners)}" if is_nested and last not in GLOBAL else ""
        return Key(1, (KeyPart((by_name[name],)),), f"pk: named like {{{place.parameter}}}{doubt}")
    rest = "" if "_or_" in name else name.removesuffix(last).rstrip("_")
    if rest and has(last) and not (is_foreign and has(name)) and (not is_nested or last in GLOBAL):
        return Key(2, (KeyPart((by_name[last],)),), f"pk: {{{place.parameter}}} without '{rest}'")
    own = name if has(name) else last if rest and has(last) else ""
    by_parents = is_nested and bool(own)
    if has("id") and not (by_parents and (is_foreign or not place.looks_like_an_id)):
        doubt = "" if place.looks_like_an_id else f"; check: {{{place.parameter}}} does not look like one"
        return Key(3, (KeyPart((by_name["id"],)),), f"pk: the id{doubt}")
    if by_parents:
        parts = (*_parents(has, by_name, place, by_name[own]), KeyPart((by_name[own],)))
        doubt = "check: " if has("id") or is_foreign else ""
        return Key(4, parts, f"{doubt}pk: counts per {_braced(place.owners)}")
    return None


def _parents(has: Callable[[str], bool], by_name: Mapping[str, str], place: Place, own: str) -> Iterator[KeyPart]:
    """Yield the parts of a scoped key for the parents of an item: properties with their names, else the parameters.

    `own` is the property that tells the records of one parent apart.
    """
    for parent in place.owners:
        name = snake_case(parent)
        # An `id` of the record is its own, as is the `code` of the charge in `/plans/{code}/charges/{charge_code}`.
        is_parent = has(name) and name not in GLOBAL and by_name[name] != own
        yield KeyPart((by_name[name],)) if is_parent else KeyPart((), parent)


def _braced(names: Iterable[str]) -> str:
    return ", ".join(f"{{{name}}}" for name in names)
