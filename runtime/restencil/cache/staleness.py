"""Stale marks: what became stale, and at which request number; docs/reference/semantics.md, "Freshness".

Every request of a store has a number when it starts. An event, such as a change that was answered, sets marks with the
highest number given so far. A result is fresh only if all marks on what it is made of are lower than the number of the
request that brought it. A mark never falls; a later request outruns it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple, TypeAlias

Cell: TypeAlias = tuple[str, str]
"""One place of the state: the table and the primary key of an entity or collection."""

MAX_MARKS: Final = 1_000
"""So many marks of one kind are kept; beyond that the oldest one becomes a mark on everything."""

MAX_TESTS: Final = 32
"""So many tests of keys are kept; beyond that the oldest one becomes a mark on everything."""

EVICTED: Final = "the store let go of it"
"""The event of an eviction."""

EVERY_RECORD: Final = "*"
"""Stands for the path of each record of a resource."""

NEVER: Final = -1.0
"""The number of a request that was never sent: lower than that of any request, and higher than no mark."""


class Mark(NamedTuple):
    """A request number, and the event that set it, for explanations."""

    number: float
    event: str


NO_MARK: Final = Mark(NEVER - 1, "")


class StaleSet:
    """What one event makes stale; empty until something is added."""

    __slots__ = (
        "cells",
        "errors",
        "event",
        "keys",
        "lists",
        "paths",
        "plain_lists",
        "resources",
        "spared",
        "tables",
        "tests",
        "trees",
        "values",
    )

    def __init__(self, event: str) -> None:
        self.event = event
        self.cells: set[Cell] = set()
        """Records, and memberships of lists."""
        self.errors: set[str] = set()
        """Recorded errors of reads of an entity."""
        self.keys: set[str] = set()
        """Results, by key."""
        self.paths: set[str] = set()
        """Results whose request has this path, with any query."""
        self.spared: dict[str, float] = {}
        """Results at these paths that are certain all the same: the highest request number that is so, by key."""
        self.tests: list[Callable[[str], bool]] = []
        """Results whose key one of these accepts."""
        self.trees: set[str] = set()
        """Results whose request has a path below this one."""
        self.tables: set[str] = set()
        """All records of an entity."""
        self.lists: set[str] = set()
        """All memberships of lists of an entity."""
        self.plain_lists: set[str] = set()
        """Memberships of lists of an entity that are no collections."""
        self.resources: set[object] = set()
        """Results of the endpoints of a resource."""
        self.values: set[tuple[object, str | None]] = set()
        """Results of a resource that show no entity, below the path of a record or (None) below none."""

    def __bool__(self) -> bool:
        return bool(self.tests) or any(getattr(self, name) for name in _KINDS)

    def update(self, other: StaleSet) -> None:
        """Adds what another event of the same moment makes stale."""
        for name in _KINDS:
            getattr(self, name).update(getattr(other, name))
        self.spared.update(other.spared)
        self.tests += other.tests


_KINDS: Final = ("cells", "errors", "keys", "lists", "paths", "plain_lists", "resources", "tables", "trees", "values")


class StaleMarks:
    """All marks of one store (locked)."""

    def __init__(self) -> None:
        self._newest: dict[str, float] = {}
        """By table of records or lists: the highest number of a mark on any of them."""
        self._floor = NO_MARK
        self._spared: dict[str, float] = {}
        """By key, up to which number the marks of its path do not count."""
        self._tests: list[tuple[Callable[[str], bool], Mark]] = []
        self._marks: dict[str, dict[Any, Mark]] = {name: {} for name in _KINDS}

    def add(self, stale: StaleSet, number: float) -> None:
        """Sets marks with a number on all that an event makes stale."""
        mark = Mark(number, stale.event)
        for key, since in stale.spared.items():
            before = max((self._marks["paths"].get(path, NO_MARK).number for path in stale.paths), default=NEVER)
            if before < since or before <= self._spared.get(key, NEVER):
                self._spared[key] = number
        if len(self._spared) > MAX_MARKS:
            self._spared.clear()
        for table in (*stale.tables, *stale.lists, *{table for table, _ in stale.cells}):
            self._newest[table] = number
        self._tests += [(test, mark) for test in stale.tests]
        while len(self._tests) > MAX_TESTS:
            self._raise_floor(self._tests.pop(0)[1].number)
        for name, marks in self._marks.items():
            for place in getattr(stale, name):
                marks.pop(place, None)  # marks stand in the order in which they were set
                marks[place] = mark
            while len(marks) > MAX_MARKS:
                self._raise_floor(marks.pop(next(iter(marks))).number)

    def _raise_floor(self, number: float) -> None:
        """A mark is forgotten: one on everything stands in its place."""
        self._floor = Mark(max(number, self._floor.number), "more has changed since than is remembered")

    def of_record(self, cell: Cell) -> Mark:
        """The mark of a record."""
        marks = self._marks
        return max(marks["cells"].get(cell, NO_MARK), marks["tables"].get(cell[0], NO_MARK), self._floor)

    def of_list(self, cell: Cell, entities: Iterable[str]) -> Mark:
        """The mark of the membership of a collection of these entities."""
        found = max(self._marks["cells"].get(cell, NO_MARK), self._floor)
        lists = self._marks["lists"]
        if lists:
            for entity in entities:
                found = max(found, lists.get(entity, NO_MARK))
        return found

    def of_result(self, key: str, resource: object, plain_lists: Iterable[str], path: Callable[[], str | None]) -> Mark:
        """The mark of a result apart from what it shows: of its key, path, resource, and lists that are no collections.

        `path` gives the path of its request; it is asked only where marks stand on paths.
        """
        marks = self._marks
        found = max(marks["keys"].get(key, NO_MARK), self._floor)
        for test, mark in self._tests:
            if mark.number > found.number and test(key):
                found = mark
        if marks["resources"]:
            found = max(found, marks["resources"].get(resource, NO_MARK))
        plain = marks["plain_lists"]
        if plain:
            for entity in plain_lists:
                found = max(found, plain.get(entity, NO_MARK))
        if marks["paths"] or marks["trees"]:
            place = path()
            if place is not None:
                at_path = marks["paths"].get(place, NO_MARK)
                if at_path.number > self._spared.get(key, NEVER):
                    found = max(found, at_path)
                if marks["trees"]:
                    found = max([found, *(marks["trees"].get(above, NO_MARK) for above in paths_above(place))])
        return found

    def of_values(self, resource: object, record_path: Callable[[], str | None]) -> Mark:
        """The mark of a result of a resource that shows no entity; it may stand below the path of a record."""
        marks = self._marks["values"]
        if not marks:
            return NO_MARK
        return max(marks.get((resource, place), NO_MARK) for place in {record_path(), EVERY_RECORD})

    def of_errors(self, entities: Iterable[str]) -> Mark:
        """The mark of recorded errors of reads of these entities."""
        marks = self._marks["errors"]
        return max([self._floor, *(marks[entity] for entity in entities if entity in marks)])

    def latest_event(self, cells: Iterable[Cell]) -> float:
        """The highest number of a mark on these records and lists, evictions left out."""
        marks = self._marks["cells"]
        return max(
            (marks[cell].number for cell in cells if cell in marks and marks[cell].event != EVICTED), default=NEVER
        )

    @property
    def has_cells(self) -> bool:
        """Whether any mark stands on a record or list."""
        return bool(self._newest) or self._floor is not NO_MARK

    def newest_of(self, tables: Iterable[str]) -> float:
        """The highest number of a mark on anything in these tables."""
        newest = self._newest
        return max([self._floor.number, *(newest[table] for table in tables if table in newest)])


def path_of(url: str) -> str:
    """The path of a URL, with its origin and without its query; a slash at the end makes no difference."""
    return url.partition("#")[0].partition("?")[0].rstrip("/")


def paths_above(path: str) -> list[str]:
    """The paths that a path is below, the nearest first: of `/runs/1/input`, `/runs/1` and `/runs`."""
    found: list[str] = []
    start = path.find("://")
    start = path.find("/", start + 3) if start >= 0 else 0
    end = path.rfind("/")
    while end > start >= 0:
        found.append(path[:end])
        end = path.rfind("/", 0, end)
    return found
