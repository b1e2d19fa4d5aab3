"""Stale marks, which record what became stale and at which request number; docs/reference/semantics.md, "Freshness".

Every request of a store gets a number when it starts. An event, such as the response of a mutation, sets marks with a
number that is higher than all before. A result is fresh only if all marks on its parts are lower than the number of its
request. Marks never decrease; a later request has a higher number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import nextafter
from typing import Any, Final, NamedTuple, TypeAlias

from ..schema.collection import identity_of_text, is_selected

EntityPath: TypeAlias = tuple[str, str]
"""The table and primary key of an entity or collection."""

MAX_MARKS: Final = 1_000
"""The maximum number of marks of one kind; beyond it, the oldest one becomes a mark on its table, or on everything."""

MAX_TESTS: Final = 32
"""The maximum number of key tests; beyond it, the oldest one becomes a mark on everything."""

EVICTED: Final = "it was evicted from the store"
"""The event of an eviction."""

REPRESENTED: Final = "another representation of its record was requested since"
"""The event of a response with another representation of a record, such as another language."""

UNCHANGED: Final = frozenset({EVICTED, REPRESENTED})
"""The events that change nothing on the server: live reads do not request data again because of them."""

ANY_RESOURCE: Final = ""
"""In place of a resource, a mark on the results of all."""

EVERY_RECORD: Final = "*"
"""In place of a path or primary key, a mark on every record."""

EXPIRED: Final = "it was expired"
"""The event of `expire_all`, and of what a mutation expires."""

ELSEWHERE: Final = "another process has changed it"
"""The event of marks that other stores of a storage have set."""

NEVER: Final = -(2.0**51)
"""The number of a request that was never sent: lower than that of any request, and higher than that of `NO_MARK`."""


class Mark(NamedTuple):
    """A request number, and the event that set it, for explanations."""

    number: float
    event: str


NO_MARK: Final = Mark(NEVER - 1, "")

_FORGOTTEN: Final = "more has changed since than is recorded"
"""The event of a mark that replaces others, as only a limited number of marks is kept."""


class StaleSet:
    """The data that one event makes stale, empty at first."""

    def __init__(self, event: str) -> None:
        self.event = event
        self.cells: set[EntityPath] = set()
        """Records, and memberships of lists."""
        self.changes: set[str] = set()
        """Entities with records that may have been changed or deleted: items of lists moved. Nothing is stale by it."""
        self.deletions: set[str] = set()
        """Entities with deleted records: no earlier reference is to a new record with their key."""
        self.evicted: set[EntityPath] = set()
        """Evicted records and memberships of lists, which may be unchanged."""
        self.keys: set[str] = set()
        """Results, by key."""
        self.paths: set[str] = set()
        """Results whose request has this path, with any query."""
        self.spared: dict[str, float] = {}
        """Exempt results at these paths: by key, the number of the request whose result is still fresh."""
        self.tests: list[Callable[[str], bool]] = []
        """Results whose key matches one of these tests."""
        self.trees: set[str] = set()
        """Results whose request has a path below this one."""
        self.tables: set[str] = set()
        """All records of an entity."""
        self.lists: set[str] = set()
        """All memberships of lists of an entity."""
        self.filtered_lists: set[str] = set()
        """Memberships of lists of an entity that have arguments."""
        self.arguments: set[str] = set()
        """Memberships of lists that have an argument of this value."""
        self.spared_lists: dict[EntityPath, float] = {}
        """Exempt lists, if all lists of an entity are stale: by list, the number of the request that is still fresh."""
        self.plain_lists: set[str] = set()
        """Memberships of lists of an entity that are no collections."""
        self.reads: set[tuple[str, str]] = set()
        """Results of an endpoint with these values of its first path parameters: see `ResourceInfo.read_places`."""
        self.represented: dict[EntityPath, float] = {}
        """Records that a response had in another representation: stale for requests before this number."""
        self.resources: set[str] = set()
        """Results of the endpoints of a resource."""
        self.values: set[tuple[str, str | None]] = set()
        """Results of a resource with values, below the path of a record or (None) below none; of any, at this path.

        With None also recorded errors of reads, by their resource or by the table of an entity.
        """

    def __bool__(self) -> bool:
        return bool(self.tests or self.represented or any(map(vars(self).__getitem__, _KINDS)))

    def certain_lists(self) -> list[tuple[EntityPath, float]]:
        """Return the exempt lists that are not marked themselves, each with its number."""
        return [(cell, since) for cell, since in self.spared_lists.items() if cell not in self.cells]

    def update(self, other: StaleSet) -> None:
        """Add the data that another event at the same time makes stale."""
        for name in _KINDS:
            getattr(self, name).update(getattr(other, name))
        self.changes.update(other.changes)
        self.spared.update(other.spared)
        self.spared_lists.update(other.spared_lists)
        self.represented.update(other.represented)
        self.tests += other.tests


_KINDS: Final = tuple(
    sorted(name for name, places in vars(StaleSet("")).items() if isinstance(places, set) and name != "changes")
)
"""The kinds of places that have marks: the sets of a `StaleSet`."""


class StaleMarks:
    """All marks of one store (locked)."""

    def __init__(self) -> None:
        self._newest: dict[str, float] = {}
        """By table of records or lists, the highest number of a mark on any of them."""
        self._newest_of_kind: dict[str, float] = {}
        """By kind, the highest number of a mark."""
        self._floor = NO_MARK
        self._changes: dict[str, float] = {}
        """By entity, the number of the last event that may have changed or deleted a record."""
        self._spared: dict[str, float] = {}
        """By key, the number up to which marks of its path are ignored."""
        self._spared_lists: dict[EntityPath, float] = {}
        """By list, the number up to which marks of all lists of its entities are ignored."""
        self._represented: dict[EntityPath, float] = {}
        """By record, the number before which its requests are stale, as another representation was requested."""
        self._tests: list[tuple[Callable[[str], bool], Mark]] = []
        self._untested: dict[str, float] = {}
        """By key, the number up to which marks of tests are ignored."""
        self._marks: dict[str, dict[Any, Mark]] = {name: {} for name in _KINDS}
        self.stored: dict[tuple[str, Any], Mark] = {}
        """By kind and place, the marks of data that was loaded from a storage."""

    def add(self, stale: StaleSet, number: float) -> None:
        """Set marks with this number on all data that an event makes stale."""
        mark = Mark(number, stale.event)
        self._changes.update(dict.fromkeys(stale.changes, number))
        for key, since in stale.spared.items():
            before = max((self._marks["paths"].get(path, NO_MARK).number for path in stale.paths), default=NEVER)
            if before < since or before <= self._spared.get(key, NEVER):
                self._spared[key] = number
        if len(self._spared) > MAX_MARKS:
            self._spared.clear()
        for cell, since in stale.certain_lists():
            before = self._of_lists(cell, {*stale.lists, *stale.filtered_lists}).number
            if before < since or before <= self._spared_lists.get(cell, NEVER):
                self._spared_lists[cell] = number
        if len(self._spared_lists) > MAX_MARKS:
            self._spared_lists.clear()
        of_cells = {table for table, _ in (*stale.cells, *stale.evicted)}
        for table in (*stale.tables, *stale.lists, *stale.filtered_lists, *of_cells):
            self._newest[table] = number
        self._represent(stale.represented)
        self._tests += [(test, mark) for test in stale.tests]
        while len(self._tests) > MAX_TESTS:
            self._raise_floor(self._tests.pop(0)[1].number)
        for name, marks in self._marks.items():
            for place in getattr(stale, name):
                marks.pop(place, None)  # marks are in the order in which they were set
                marks[place] = mark
                self._newest_of_kind[name] = number
            while len(marks) > MAX_MARKS:
                self._forget_oldest(name)

    def _represent(self, records: Mapping[EntityPath, float]) -> None:
        """Set marks on records that requests of these numbers had in another representation."""
        known = self._represented
        for cell, number in records.items():
            known[cell] = max(nextafter(number, NEVER), known.get(cell, NEVER))
            self._newest[cell[0]] = max(known[cell], self._newest.get(cell[0], NEVER))
        while len(known) > MAX_MARKS:
            self._raise_floor(known.pop(next(iter(known))))

    def miss_events(self, number: float) -> None:
        """Mark everything that was requested before this number as stale, because events may have been missed."""
        self._raise_floor(number)

    def _forget_oldest(self, kind: str) -> None:
        """Replace the oldest mark of a kind.

        That of a record or list becomes one on its table, that of an argument one on all arguments, others on
        everything.
        """
        marks = self._marks[kind]
        place = next(iter(marks))
        mark = Mark(marks.pop(place).number, _FORGOTTEN)
        if kind == "cells" or kind == "evicted":
            marks, place = self._marks["tables"], place[0]
        elif kind == "arguments":
            place = EVERY_RECORD
        else:
            self._raise_floor(mark.number)
            return
        marks[place] = max(mark, marks.get(place, NO_MARK))

    def _raise_floor(self, number: float) -> None:
        """Replace a removed mark by a mark on everything."""
        self._floor = Mark(max(number, self._floor.number), _FORGOTTEN)

    def load(self, kind: str, place: Any, number: float) -> None:
        """Set a mark that was loaded from a storage, or an exemption for the kinds "spared" and "spared_lists".

        A mark of the kind "ended" is that of a record which a later response contained completely.
        """
        if kind == "spared":
            self._spared[place] = max(number, self._spared.get(place, NEVER))
        elif kind == "spared_lists":
            self._spared_lists[place] = max(number, self._spared_lists.get(place, NEVER))
        elif number > self.stored.get((kind, place), NO_MARK).number:
            self.stored[kind, place] = Mark(number, ELSEWHERE)
            self._newest_of_kind[kind] = max(number, self._newest_of_kind.get(kind, NEVER))
            if kind == "cells":
                self._newest[place[0]] = max(number, self._newest.get(place[0], NEVER))
            elif kind in ("tables", "lists", "filtered_lists", "deletions"):
                self._newest[place] = max(number, self._newest.get(place, NEVER))

    def answered_elsewhere(self, key: str, date: float) -> None:
        """Ignore earlier key tests for a key, because another process received its response at this time (ms)."""
        before = [mark.number for test, mark in self._tests if mark.number < date and test(key)]
        if before:
            self._untested[key] = max(before)

    def forget(self, cells: Iterable[EntityPath], keys: Iterable[str]) -> None:
        """Forget stored marks of evicted data; they are loaded again with the data."""
        for cell in cells:
            self.stored.pop(("cells", cell), None)
            self.stored.pop(("ended", cell), None)
        for key in keys:
            self.stored.pop(("keys", key), None)
            self._untested.pop(key, None)

    def _of(self, kind: str, place: object) -> Mark:
        found = self._marks[kind].get(place, NO_MARK)
        return max(found, self.stored.get((kind, place), NO_MARK)) if self.stored else found

    def of_record(self, cell: EntityPath) -> Mark:
        """Return the mark of a record, without its eviction."""
        if not self.stored and cell not in self._marks["cells"] and cell[0] not in self._marks["tables"]:
            return self._floor
        return max(self._of("cells", cell), self._of("tables", cell[0]), self._floor)

    def of_removal(self, cell: EntityPath) -> Mark:
        """Return the mark of the last event that may have deleted a record: it named it, or no record of its table."""
        return max(self.of_argument(cell[1]), self._of("tables", cell[0]), self._floor)

    def of_deletion(self, cell: EntityPath) -> Mark:
        """Return a mark that is not before the last event that may have deleted a record.

        It is the last event of the record, or that of the last deletion of any record of its table.
        """
        if not self.stored and cell[0] not in self._marks["deletions"]:
            return self._floor
        event = max(self.of_record(cell), self.stored.get(("ended", cell), NO_MARK))
        return min(event, max(self._of("deletions", cell[0]), self._floor))

    def of_argument(self, value: str) -> Mark:
        """Return the mark of the last event that may have deleted the records with this primary key."""
        return max(self._of("arguments", value), self._of("arguments", EVERY_RECORD))

    def of_list(self, cell: EntityPath, entities: Iterable[str]) -> Mark:
        """Return the mark of the membership of a collection of these entities, without its eviction."""
        found = max(self._of("cells", cell), self._of("tables", cell[0]), self._floor)
        of_all = self._of_lists(cell, entities)
        if of_all.number > self._spared_lists.get(cell, NEVER):
            found = max(found, of_all)
        if self.stored or self._marks["arguments"]:
            for value in identity_of_text(cell[1]).values():
                found = max(found, self.of_argument(str(value)))
        return found

    def or_unchanged(self, mark: Mark, cell: EntityPath, number: float) -> Mark:
        """Return the mark of a record or list if it is at least `number`; else the latest of all that are its.

        Those are its eviction, and the request of another representation of it.
        """
        if mark.number >= number:
            return mark
        found, represented = self._marks["evicted"].get(cell, NO_MARK), self._represented.get(cell)
        return max(mark, found) if represented is None else max(mark, found, Mark(represented, REPRESENTED))

    def _of_lists(self, cell: EntityPath, entities: Iterable[str]) -> Mark:
        """Return the mark of all lists of these entities, or of all lists that select their items if this one does."""
        found, marks = NO_MARK, self._marks
        if self.stored or marks["lists"] or marks["filtered_lists"]:
            selects = is_selected(*cell)
            for entity in entities:
                found = max(found, self._of("lists", entity))
                if selects:
                    found = max(found, self._of("filtered_lists", entity))
        return found

    def of_result(
        self,
        key: str,
        resource: str | None,
        plain_lists: Iterable[str],
        path: Callable[[], str | None],
        reads: Callable[[], Iterable[tuple[str, str]]],
        since: float,
    ) -> Mark:
        """Return the mark of a result without its parts: of its key, path, resource, and lists that are no collections.

        `path` returns the path of its request, and `reads` the places of `StaleSet.reads` that it belongs to; they are
        called only if there are such marks. Lower marks than `since` may be left out.
        """
        marks = self._marks
        found = max(self._of("keys", key), self._floor)
        for test, mark in self._tests:
            if mark.number > max(found.number, self._untested.get(key, NEVER)) and test(key):
                found = mark
        if self.stored or marks["resources"]:
            found = max(found, self._of("resources", resource))
        if self._newest_of_kind.get("reads", NEVER) >= since:
            found = max([found, *(self._of("reads", place) for place in reads())])
        if self.stored or marks["plain_lists"]:
            for entity in plain_lists:
                found = max(found, self._of("plain_lists", entity))
        if self.stored or marks["paths"] or marks["trees"]:
            place = path()
            if place is not None:
                at_path = self._of("paths", place)
                if at_path.number > self._spared.get(key, NEVER):
                    found = max(found, at_path)
                if self.stored or marks["trees"]:
                    found = max([found, *(self._of("trees", above) for above in paths_above(place))])
        return found

    def last_change(self, entities: Iterable[str]) -> float:
        """Return the number of the last event that may have changed or deleted records of these entities."""
        return max([self._floor.number, *(self._changes.get(entity, NEVER) for entity in entities)])

    def newest(self) -> float:
        """Return the highest number of a mark."""
        tests = [mark.number for _, mark in self._tests]
        return max([self._floor.number, *self._newest_of_kind.values(), *tests])

    def of_values(self, places: Callable[[], Iterable[tuple[str | None, str | None]]]) -> Mark:
        """Return the mark of a result with values, or of an error, at these places of `StaleSet.values`."""
        if not (self.stored or self._marks["values"]):
            return NO_MARK
        return max(self._of("values", place) for place in places())

    def newest_of(self, tables: Iterable[str]) -> float:
        """Return the highest number of a mark on anything in these tables."""
        number = self._floor.number
        for table in tables:
            number = max(number, self._newest.get(table, number))
        return number


def path_of(url: str) -> str:
    """Return a URL without its query, fragment and trailing slash."""
    return url.partition("#")[0].partition("?")[0].rstrip("/")


def paths_above(path: str) -> list[str]:
    """Return the paths above a path, the nearest first: for `/runs/1/input`, `/runs/1`, `/runs` and the host's own."""
    found: list[str] = []
    start = path.find("://")
    start = path.find("/", start + 3) if start >= 0 else 0
    end = path.rfind("/")
    while end >= start >= 0:
        found.append(path[:end])
        end = path.rfind("/", 0, end)
    return found
