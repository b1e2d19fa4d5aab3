"""Search for records and lists in responses, and for their envelopes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

from restencil_generator.openapi.document.model import Part, Schema
from restencil_generator.openapi.infer.names.inflection import plural, snake_case
from restencil_generator.openapi.infer.primary_keys import STRONG, Key, Keys, Place
from restencil_generator.openapi.infer.records import Record, Shapes

ENVELOPES = ["data", "result", "results", "response", "item", "value", "payload", "body", "object", "content"]
"""Members that wrap a record in responses, in order of likelihood."""

LISTS = ["data", "items", "results", "values"]
LISTS_LATER = ["entries", "records", "rows"]
"""Members that contain the list of a response, before and after one with the name of the resource."""

STATUS = frozenset(
    [
        "success",
        "ok",
        "status",
        "code",
        "message",
        "messages",
        "msg",
        "error",
        "errors",
        "error_code",
        "error_message",
        "request_id",
        "trace_id",
        "version",
        "timestamp",
        "time",
        "meta",
        "links",
        "link",
        "included",
        "jsonapi",
        "warnings",
        "info",
        "kind",
        "api_version",
        "result_info",
    ]
)
"""Members that describe the response rather than a record."""

PAGE_WORDS = frozenset(
    ("page", "pages", "limit", "offset", "total", "totals", "count", "next", "previous", "prev", "first", "last",
     "cursor", "cursors", "size", "href", "self", "more", "paging", "pagination", "after", "before", "current", "token",
     "start", "end", "per", "skip", "results", "index")
)  # fmt: skip
"""Words in the names of members that describe a page."""

DETAILS = frozenset(
    ("message", "messages", "msg", "kind", "time", "version", "info", "links", "link", "errors", "error")
)
"""Those that records have as well: next to an object that is not a common envelope they belong to the record."""

MOST = 6
"""Maximum number of members of an envelope without a typical name."""

DEPTH = 3
"""The maximum nesting of envelopes and lists."""


@dataclasses.dataclass(frozen=True, slots=True)
class One:
    """A response with one record: its path in the response, by JSON names, and its key, if it has one."""

    path: tuple[str, ...]
    part: Part
    record: Record
    key: Key | None
    check: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Many:
    """A response with a list: its path, its items, and whether it is a mapping (`values`).

    `bare` means that there are no members next to it.
    """

    path: tuple[str, ...]
    items: Part
    values: bool = False
    bare: bool = True


class ResponseLayout:
    """Search for records and lists in responses."""

    def __init__(self, shapes: Shapes, keys: Keys) -> None:
        self.shapes = shapes
        self.keys = keys

    # ------------------------------------------------------------------------------------------------------ one record

    def one(self, part: Part, items: Record | None, place: Place, *, guess: bool) -> One | None:
        """Return the record in the response of an item; None if it is not an object."""
        record = self.shapes.record_of(part)
        if record is None:
            return None
        key = self.keys.find(record, items, place, guess=guess)
        is_record = key is not None and key.rule <= STRONG
        if is_record and (items is None or len(self._common(record, items)) > 1):
            return One((), part, record, key)
        inner = self._wrapped(record, items, place, guess)
        if inner is not None and (not is_record or len(self._common(inner.record, items)) > 1):
            return inner
        if key is not None:
            return One((), part, record, key)
        listed = self._in_a_list(record, items, place, guess)
        return listed or One((), part, record, None)

    def _common(self, record: Record, items: Record | None) -> set[str]:
        """Return the members that a record and the items of the list have in common."""
        return set() if items is None else record.by_name.keys() & items.by_name.keys()

    def _wrapped(self, record: Record, items: Record | None, place: Place, guess: bool) -> One | None:
        level: list[tuple[tuple[str, ...], Record]] = [((), record)]
        for _ in range(DEPTH):
            inner_level: list[tuple[tuple[str, ...], Record]] = []
            for path, outer in level:
                for wire, named in self.candidates(outer, place):
                    part = outer.members[wire].parts[0]
                    inner = self.shapes.record_of(part)
                    if inner is None or inner in [each for _, each in level]:
                        continue
                    key = self.keys.find(inner, items, place, guess=guess)
                    if key is not None and (named or key.rule in (1, 2, 5) or self.alone(outer, wire)):
                        return One((*path, wire), part, inner, key)
                    if named or self.alone(outer, wire):
                        inner_level.append(((*path, wire), inner))
            level = inner_level
        return None

    def unwrapped(self, response: Part, place: Place) -> tuple[tuple[str, ...], Part]:
        """Return the object in a response without a key, and the envelope around it."""
        record = self.shapes.record_of(response)
        if record is not None:
            for wire, named in self.candidates(record, place):
                part = record.members[wire].parts[0]
                inner = self.shapes.of(part)
                if named and self.alone(record, wire) and inner.type == "object" and inner.properties:
                    return (wire,), part
        return (), response

    def may_be_item(self, part: Part, place: Place) -> bool:
        """Return whether the items of a list may be the records of an item."""
        record = self.shapes.record_of(part)
        return record is not None and self.keys.find(record, None, place, guess=True) is not None

    def candidates(self, record: Record, place: Place) -> Iterator[tuple[str, bool]]:
        """Yield members that may be wrapped records, with whether their name is typical, in order of likelihood."""
        named = [*ENVELOPES, place.thing, plural(place.thing)]
        for name in named:
            if name in record.by_name:
                yield record.by_name[name], True
        if len(record.members) <= MOST:
            for name, wire in record.by_name.items():
                if name not in named and name != "metadata" and name not in STATUS:
                    yield wire, False

    def alone(self, record: Record, wire: str) -> bool:
        """Return whether all other members of a record only describe the response."""
        return all(name in STATUS - DETAILS for name, other in record.by_name.items() if other != wire)

    def _in_a_list(self, record: Record, items: Record | None, place: Place, guess: bool) -> One | None:
        """Return the record that is the only item of a list in the response."""
        for name in (*ENVELOPES, place.thing, plural(place.thing)):
            wire = record.by_name.get(name)
            schema = self.shapes.of(record.members[wire].parts[0]) if wire is not None else None
            if wire is None or schema is None or schema.type != "array" or schema.items is None:
                continue
            inner = self.shapes.record_of(schema.items)
            key = None if inner is None else self.keys.find(inner, items, place, guess=guess)
            if inner is not None and key is not None:
                return One((wire, "0"), schema.items, inner, key, f"check: a list of one under {wire}")
        return None

    # ---------------------------------------------------------------------------------------------------------- lists

    def many(self, part: Part, fits: Callable[[Part], bool], *names: str) -> Many | None:
        """Return the list that a response is or contains.

        Of several lists, the one with fitting items is selected, else one with a typical name, else one with one of
        `names`.
        """
        schema = self.shapes.of(part)
        found = list(self._lists(schema, (), 0, True))
        if not found:
            return None
        fitting = [each for each in found if fits(each.items)]
        if fitting:
            return min(fitting, key=lambda each: self._likely(each, names))
        found = [each for each in found if not each.values or not each.path]
        named = [each for each in found if not each.path or self._likely(each, names)[0] < _UNKNOWN]
        if named:
            return min(named, key=lambda each: self._likely(each, names))
        return found[0] if len(found) == 1 and self.shapes.record_of(found[0].items) is not None else None

    def is_page(self, part: Part) -> bool:
        """Return whether a response is a page of a list: all members next to the list describe the page."""
        many = self.many(part, lambda _: False)
        if many is None or not many.path:
            return many is not None
        record = self.shapes.record_of(part)
        for wire in many.path:
            if record is None:
                return False
            others = [name for name, other in record.by_name.items() if other != wire]
            if any(not _describes_page(name) for name in others):
                return False
            record = self.shapes.record_of(record.members[wire].parts[0])
        return True

    def _likely(self, many: Many, names: tuple[str, ...]) -> tuple[int, int]:
        words = [*LISTS, *map(snake_case, names), *LISTS_LATER]
        last = snake_case(many.path[-1]) if many.path else LISTS[0]
        return (words.index(last) if last in words else _UNKNOWN, len(many.path))

    def _lists(self, schema: Schema, path: tuple[str, ...], depth: int, bare: bool) -> Iterator[Many]:
        if schema.type == "array":
            if schema.items is not None:
                yield Many(path, schema.items, False, bare)
        elif schema.type == "object" and not schema.properties:
            if schema.values is not None and self.shapes.record_of(schema.values) is not None:
                yield Many(path, schema.values, True, bare)
        elif schema.type == "object" and depth < DEPTH:
            alone = bare and len(schema.properties) == 1
            for wire, part in schema.properties.items():
                if not wire:
                    continue  # the spec language has no empty names
                inner = self.shapes.of(part)
                if depth and inner.type == "object" and snake_case(wire) not in (*ENVELOPES, "embedded"):
                    continue
                yield from self._lists(inner, (*path, wire), depth + 1, alone)


_UNKNOWN = 1000


def _describes_page(name: str) -> bool:
    return name in STATUS or bool(PAGE_WORDS & set(name.split("_")))
