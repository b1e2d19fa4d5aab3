"""A naive store: plain dicts, everything computed anew at each read, no sharing and no memory of what was built.

The properties compare the library with it. It knows nothing of the library: shapes of responses are written down in
a small notation of their own, from which the library's schemas are made as well.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

Json: TypeAlias = Any
Cell: TypeAlias = tuple[str, str]


class Mark:
    """A value that is one of a kind."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name

    def __deepcopy__(self, memo: object) -> Mark:
        return self


MISSING: Final = Mark("MISSING")
GONE: Final = Mark("GONE")


class Aborted(Exception):
    """An optimistic payload cannot be made."""


# -- shapes ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class One:
    """An entity of this kind."""

    kind: str


@dataclass(frozen=True)
class Many:
    """A plain list."""

    item: Shape


@dataclass(frozen=True)
class Members:
    """An object some of whose members have a shape."""

    members: tuple[tuple[str, Shape], ...]


@dataclass(frozen=True)
class Mapped:
    """A map with free keys."""

    item: Shape


@dataclass(frozen=True)
class Listed:
    """A collection of entities of one kind; `nested` names the parent's field that is its identity inside an entity."""

    kind: str
    nested: tuple[str, str] | None = None


@dataclass(frozen=True)
class Either:
    """One of several kinds, told apart by the field `type`."""

    kinds: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Every:
    """All entities of a kind."""

    kind: str


@dataclass(frozen=True)
class Removed:
    """The response names an entity that is gone."""

    kind: str


@dataclass(frozen=True)
class Added:
    """The response is an item for the collections of a kind; `front` puts it first."""

    kind: str
    front: bool = False


@dataclass(frozen=True)
class Paged:
    """The response is a page of a list of this kind; `cursor` is the argument that only the page has."""

    kind: str
    cursor: str


Shape: TypeAlias = One | Many | Members | Mapped | Listed | Either | Every | Removed | Added | Paged | None


@dataclass(frozen=True)
class Kind:
    """An entity type: fields with defaults, relations among them, fields that a record must have."""

    name: str
    fields: Mapping[str, Json]
    relations: Mapping[str, Shape] = field(default_factory=dict[str, Shape])
    must_have: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()


@dataclass
class Built:
    """An entity as a reader sees it: its kind, primary key and members, nested entities included."""

    kind: str
    pk: str
    members: dict[str, Any]


@dataclass(frozen=True)
class Pending:
    """An optimistic action: what it is expected to answer, as a function of the state below it."""

    number: int
    at: float
    args: tuple[Json, ...]
    shape: Shape
    key: str
    payload: Callable[[Naive], Json]


class Naive:
    """The whole state: cells by table and primary key with the start time of what wrote them, and results by key."""

    def __init__(self, kinds: Mapping[str, Kind]) -> None:
        self.kinds = kinds
        self.tables: dict[str, dict[str, tuple[Any, float]]] = {}
        self.results: dict[str, Any] = {}

    def copy(self) -> Naive:
        """The same state, to lay something over it."""
        made = Naive(self.kinds)
        made.tables = {table: dict(cells) for table, cells in self.tables.items()}
        made.results = dict(self.results)
        return made

    def cell(self, table: str, pk: str) -> Any:
        """What a table holds, without its time."""
        found = self.tables.get(table, {}).get(pk)
        return MISSING if found is None else found[0]

    # -- writing -------------------------------------------------------------------------------------------------

    def respond(
        self, key: str, shape: Shape, args: tuple[Json, ...], response: Json, at: float, number: int = 0
    ) -> None:
        """A response of this shape, for a request that started at `at`, is stored under the key."""
        self.results[key] = _Pass(self, args, at, number).store(shape, deepcopy(response), None)
        if self.results[key] is MISSING:
            del self.results[key]

    def view(self, pending: list[Pending]) -> Naive:
        """The base with all pending actions applied in order (an action that cannot be made changes nothing)."""
        state = self
        for action in pending:
            over = state.copy()
            try:
                over.respond(action.key, action.shape, action.args, action.payload(state), action.at, action.number)
            except Aborted:
                continue
            state = over
        return state

    # -- reading -------------------------------------------------------------------------------------------------

    def read(self, key: str, shape: Shape, args: tuple[Json, ...]) -> Any:
        """What a reader gets: lists, dicts and `Built` entities; MISSING or GONE where there is nothing usable."""
        return _Reading(self).build(shape, self.stored(key, shape, args))

    def entity(self, kind: str, pk: str) -> Any:
        """One entity as a reader sees it."""
        return _Reading(self).entity(kind, pk)

    def _query_key(self, shape: Shape, args: tuple[Json, ...]) -> Any:
        first = args[0] if args else None
        match shape:
            case One(kind):
                pk = str(first["id"]) if first and first.get("id") else ""
                return pk if self.cell(kind, pk) is not MISSING else MISSING
            case Listed(kind):
                pk = identity(args)
                return pk if self.cell(f"[{kind}]", pk) is not MISSING else MISSING
            case Members(members):
                return {name: self._query_key(inner, args) for name, inner in members}
            case Every():
                return None
            case _:
                return MISSING

    def cells(self, value: Any) -> dict[Cell, str]:
        """Every cell that a value depends on, by content: its own records and those of all they refer to.

        What is unusable counts with what it refers to, for that may be why.
        """
        found: dict[Cell, str] = {}
        waiting: list[Cell] = [(one.kind, one.pk) for one in entities(value)]
        while waiting:
            cell = waiting.pop()
            if cell not in found:
                found[cell] = _text(self.cell(*cell))
                waiting += self._named_by(cell)
        return found

    def _named_by(self, cell: Cell) -> Iterator[Cell]:
        record = self.cell(*cell)
        if isinstance(record, dict) and cell[0] in self.kinds:
            for name, shape in self.kinds[cell[0]].relations.items():
                if name in record:
                    yield from self._referred(shape, record[name])

    def _referred(self, shape: Shape, stored: Any) -> Iterator[Cell]:
        if stored is None or stored is MISSING:
            return
        match shape:
            case One(kind) | Removed(kind):
                yield kind, str(stored)
            case Many(item) | Mapped(item):
                for entry in stored.values() if isinstance(stored, dict) else stored:
                    yield from self._referred(item, entry)
            case Members(members):
                for name, inner in members:
                    yield from self._referred(inner, stored.get(name))
            case Listed(kind):
                yield f"[{kind}]", stored
                pks = self.cell(f"[{kind}]", stored)
                for pk in pks if isinstance(pks, list) else ():
                    yield kind, pk
            case Either(kinds):
                if isinstance(stored, dict) and "schema" in stored:
                    yield dict(kinds)[stored["schema"]], stored["id"]
            case _:
                return

    def stored(self, key: str, shape: Shape, args: tuple[Json, ...]) -> Any:
        """The stored form that a read starts from: the key's result, else what the tables say it would be."""
        found = self.results.get(key, MISSING)
        return self._query_key(shape, args) if found is MISSING else found

    def fingerprint(self, key: str, shape: Shape, args: tuple[Json, ...], value: Any) -> str:
        """All that a result depends on, as text: two results with one fingerprint are one result."""
        stored = self.stored(key, shape, args)
        cells = self.dependencies(shape, stored, value)
        if isinstance(shape, Every):
            for pk in self.tables.get(shape.kind, {}):
                cells[shape.kind, pk] = _text(self.cell(shape.kind, pk))
        if isinstance(shape, Every):
            return f"{shape.kind in self.tables} {list(cells.items())}"
        return f"{_text(stored)} {sorted(cells.items())}"

    def answer(self, shape: Shape, response: Json) -> Any:
        """What the call that got this response returns, for shapes of entities that the state holds."""
        match shape:
            case One(kind) if isinstance(response, dict):
                return self.entity(kind, str(response["id"]))
            case One(kind):
                return None if response is None else self.entity(kind, str(response))
            case Many(item):
                return [found for one in response if (found := self.answer(item, one)) is not MISSING]
            case Listed(kind):
                return self.answer(Many(One(kind)), [one for one in response if one is not None])
            case Members(members):
                shapes = dict(members)
                return {name: self.answer(shapes.get(name), member) for name, member in response.items()}
            case _:
                return response

    def dependencies(self, shape: Shape, stored: Any, value: Any) -> dict[Cell, str]:
        """All that a result depends on: what it refers to itself, and what the entities in it depend on."""
        found = self.cells(value)
        for cell in self._referred(shape, stored):
            found |= self.cells(Built(*cell, {}))
        return found


def identity(args: tuple[Json, ...]) -> str:
    """The primary key of a collection: compact JSON of the first argument, values as texts."""
    first: Mapping[str, Json] = (args[0] if args else None) or {}
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in first.items()}
    return json.dumps(texts, sort_keys=True, separators=(",", ":"))


def entities(value: Any) -> Iterator[Built]:
    """All entities in a value, each once, however they refer to each other."""
    seen: set[int] = set()
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Built):
            if id(one) in seen:
                continue
            seen.add(id(one))
            yield one
            waiting += one.members.values()
        elif isinstance(one, dict):
            members: dict[Any, Any] = one
            waiting += members.values()
        elif isinstance(one, list):
            items: list[Any] = one
            waiting += items


def _text(content: Any) -> str:
    return repr(content) if isinstance(content, Mark) else json.dumps(content, sort_keys=True)


class _Pass:
    """One response on its way into the tables."""

    def __init__(self, state: Naive, args: tuple[Json, ...], at: float, number: int) -> None:
        self.state = state
        self.args = args
        self.at = at
        self.number = number
        self.before = state.copy()
        self.brought: dict[Cell, dict[str, Any]] = {}
        self.removed: set[Cell] = set()
        self.creating = False
        self.placeholders = 0

    def store(self, shape: Shape, value: Json, parent: Any) -> Any:
        if shape is None or value is None:
            return value
        match shape:
            case One(kind):
                return self._entity(kind, value)
            case Many(item):
                return [self.store(item, entry, parent) for entry in value]
            case Mapped(item):
                return {name: self.store(item, entry, value) for name, entry in value.items() if entry is not None}
            case Members(members):
                made = dict(value)
                for name, inner in members:
                    if name in made:
                        made[name] = self.store(inner, made[name], value)
                return made
            case Either(kinds):
                chosen = dict(kinds).get(value.get("type"))
                return value if chosen is None else {"id": self._entity(chosen, value), "schema": value["type"]}
            case Listed(kind, nested):
                pk = identity(self.args) if nested is None else identity(({nested[0]: parent[nested[1]]},))
                pks = [self._entity(kind, entry) for entry in value if entry is not None]
                self._put_list(f"[{kind}]", pk, pks)
                return pk
            case Every(kind):
                self.state.tables.setdefault(kind, {})  # an answer without any makes the table, too
                for entry in value:
                    self._entity(kind, entry)
                return MISSING
            case Removed(kind):
                pk = str(value["id"]) if isinstance(value, dict) else str(value)
                self._write(kind, pk, GONE)
                self.removed.add((kind, pk))
                self.brought.pop((kind, pk), None)
                return pk
            case Paged(kind, cursor):
                pks = [self._entity(kind, entry) for entry in value if entry is not None]
                pk = identity(({name: one for name, one in self.args[0].items() if name != cursor},))
                self._append(f"[{kind}]", pk, pks)
                return pk
            case Added(kind, front):
                self.creating = True
                new = [self._entity(kind, entry) for entry in (value if isinstance(value, list) else [value])]
                self._add(f"[{kind}]", new, front)
                return new

    def _entity(self, kind: str, value: Json) -> Any:
        if not isinstance(value, dict):
            return str(value) if value else value
        record: dict[str, Any] = dict(value)
        given = record.get("id")
        if given in (None, ""):
            if not self.creating:
                raise ValueError(f"{kind} without id")
            pk = f"MISS-{self.number}-{self.placeholders}"
            self.placeholders += 1
        else:
            pk = str(given)
        for name, inner in self.state.kinds[kind].relations.items():
            if name in record:
                record[name] = self.store(inner, record[name], record)
        cell = (kind, pk)
        if cell in self.brought:
            record = {**self.brought[cell], **record}
        self.brought[cell] = record
        known, since = self.before.tables.get(kind, {}).get(pk, (MISSING, self.at))
        older = self.at < since
        if known is MISSING or cell in self.removed:
            self._write(kind, pk, record)
        elif known is GONE:
            if not older:
                self._write(kind, pk, record)
        else:
            merged = {**record, **known} if older else {**known, **record}
            self._write(kind, pk, merged, since if older else self.at)
        return pk

    def _put_list(self, table: str, pk: str, pks: list[Any]) -> None:
        known, since = self.before.tables.get(table, {}).get(pk, (MISSING, self.at))
        if known is MISSING or self.at >= since:
            self._write(table, pk, pks)

    def _append(self, table: str, pk: str, pks: list[Any]) -> None:
        cell = self.state.tables.get(table, {}).get(pk)
        if cell is None:
            self._write(table, pk, pks)  # without a list, the page is the list
            return
        known, since = cell
        fresh = [one for place, one in enumerate(pks) if one not in known and one not in pks[:place]]
        self._write(table, pk, [*known, *fresh], max(since, self.at))

    def _add(self, table: str, new: list[Any], front: bool) -> None:
        for pk, (known, since) in list(self.state.tables.get(table, {}).items()):
            if self._joins(json.loads(pk)):
                fresh = [one for place, one in enumerate(new) if one not in known and one not in new[:place]]
                self._write(table, pk, [*fresh, *known] if front else [*known, *fresh], max(since, self.at))

    def _joins(self, members: dict[str, str]) -> bool:
        given: list[Mapping[str, Json]] = [one for one in self.args[:2] if isinstance(one, dict)]
        return all(
            name.startswith("order") or any(name in one and _as_text(one[name]) == value for one in given)
            for name, value in members.items()
        )

    def _write(self, table: str, pk: str, content: Any, at: float | None = None) -> None:
        self.state.tables.setdefault(table, {})[pk] = (content, self.at if at is None else at)


def _as_text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value)


class _Reading:
    """One read; entities that refer to each other in a ring are one object each."""

    def __init__(self, state: Naive) -> None:
        self.state = state
        self.built: dict[Cell, Built] = {}

    def entity(self, kind: str, pk: str) -> Any:
        record = self.state.cell(kind, pk)
        if record is MISSING:
            return MISSING
        if self._unusable(kind, pk, set()):
            return GONE
        known = self.built.get((kind, pk))
        if known is not None:
            return known
        spec = self.state.kinds[kind]
        made = self.built[kind, pk] = Built(kind, pk, {**deepcopy(dict(spec.fields)), **record})
        for name, shape in spec.relations.items():
            if name in record:
                found = self.build(shape, record[name])
                made.members[name] = None if found is MISSING or found is GONE else found
        return made

    def _unusable(self, kind: str, pk: str, seen: set[Cell]) -> bool:
        """Gone, lacking what it must have, or needing something that is unusable; rings alone are no reason."""
        record = self.state.cell(kind, pk)
        if record is MISSING or (kind, pk) in seen:
            return False
        spec = self.state.kinds[kind]
        if record is GONE or any(name not in record for name in spec.must_have):
            return True
        seen.add((kind, pk))
        return any(self._bad(spec.relations[name], record.get(name), seen) for name in spec.needs)

    def _bad(self, shape: Shape, stored: Any, seen: set[Cell]) -> bool:
        if stored is None:
            return False
        match shape:
            case One(kind):
                return self._unusable(kind, str(stored), seen)
            case Members(members):
                return any(self._bad(inner, stored.get(name), seen) for name, inner in members)
            case Either(kinds):
                chosen = dict(kinds).get(stored.get("schema"))
                return chosen is not None and self._unusable(chosen, stored["id"], seen)
            case _:
                return False

    def build(self, shape: Shape, stored: Any) -> Any:
        if shape is None or stored is MISSING or (stored is None and not isinstance(shape, Every)):
            return stored
        content: Any = stored
        return self._built(shape, content)

    def _built(self, shape: Shape, stored: Any) -> Any:
        match shape:
            case One(kind) | Removed(kind):
                return self.entity(kind, str(stored))
            case Many(item):
                return [one for one in (self.build(item, entry) for entry in stored) if not isinstance(one, Mark)]
            case Mapped(item):
                found = {name: self.build(item, entry) for name, entry in stored.items()}
                return {name: one for name, one in found.items() if one and not isinstance(one, Mark)}
            case Members(members):
                made = dict(stored)
                for name, inner in members:
                    if name in made or isinstance(inner, Every):
                        found = self.build(inner, made.get(name))
                        if found is GONE:
                            return GONE
                        made[name] = None if found is MISSING else found
                return made
            case Either(kinds):
                if "schema" not in stored:
                    return stored
                return self.entity(dict(kinds)[stored["schema"]], stored["id"])
            case Listed(kind):
                pks = self.state.cell(f"[{kind}]", stored)
                if pks is MISSING:
                    return MISSING
                return [one for one in (self.entity(kind, pk) for pk in pks) if not isinstance(one, Mark)]
            case Every(kind):
                if kind not in self.state.tables:
                    return GONE
                found_all = [self.entity(kind, pk) for pk in self.state.tables[kind]]
                return [one for one in found_all if not isinstance(one, Mark)]
            case _:
                return MISSING
