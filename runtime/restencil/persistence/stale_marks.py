"""Conversion between the stale entries of an event and the marks of a storage."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from ..base.values import scalar_text
from ..cache.freshness import read_places, value_places
from ..cache.staleness import ELSEWHERE, StaleSet, paths_above
from ..schema.collection import first_argument, identity_of_text, is_selected
from ..schema.entity import as_entity
from ..schema.stored import is_collection
from ..storage.protocol import Mark, Spared

if TYPE_CHECKING:
    from ..cache.request import Request
    from ..cache.staleness import StaleMarks
    from ..storage.protocol import StoredRow

ANYTHING: Final[Mark] = "anything", "", ""
"""The mark that every commit with stale marks sets as well."""

_KINDS: Final[Mapping[str, str]] = {
    "arguments": "argument",
    "deletions": "deletions",
    "filtered_lists": "filtered lists",
    "keys": "key",
    "lists": "lists",
    "paths": "path",
    "plain_lists": "plain lists",
    "resources": "resource",
    "tables": "table",
    "trees": "tree",
}
"""By the name in a `StaleSet`, the kind of the mark; records and lists are "row", reads "read", others themselves."""

_NAMES: Final = {kind: name for name, kind in _KINDS.items()}


def marks_of(stale: StaleSet) -> dict[Mark, None]:
    """Return the marks of the entries that an event makes stale."""
    found: dict[Mark, None] = {ANYTHING: None, **{("row", table, pk): None for table, pk in stale.cells}}
    found.update((("values", resource, place or ""), None) for resource, place in stale.values)
    found.update((("read", name, values), None) for name, values in stale.reads)
    for name, kind in _KINDS.items():
        found.update(((kind, place, ""), None) for place in getattr(stale, name))
    return found


def spared_by(stale: StaleSet, commit_of: Callable[[float], int]) -> dict[Mark, Spared]:
    """Return the entries that an event spares from its broad marks."""
    paths: tuple[Mark, ...] = tuple(("path", path, "") for path in stale.paths)
    found: dict[Mark, Spared] = {
        ("spared", key, ""): Spared(paths, commit_of(number)) for key, number in stale.spared.items()
    }
    tables = {*stale.lists, *stale.filtered_lists}
    for (table, pk), number in stale.certain_lists():
        kinds = ("lists", "filtered lists") if is_selected(table, pk) else ("lists",)
        against: tuple[Mark, ...] = tuple((kind, entity, "") for kind in kinds for entity in tables)
        found["spared", table, pk] = Spared(against, commit_of(number))
    return found


def stale_of(
    marks: Iterable[Mark],
    number_of_key: Callable[[str], float | None],
    number_of_list: Callable[[str, str], float | None],
) -> StaleSet:
    """Convert marks of another store to a `StaleSet`; spared entries get the numbers of this store, unless None."""
    stale = StaleSet(ELSEWHERE)
    for kind, name, pk in marks:
        if kind == "row":
            stale.cells.add((name, pk))
        elif kind == "values":
            stale.values.add((name, pk or None))
        elif kind == "read":
            stale.reads.add((name, pk))
        elif kind == "spared" and is_collection(name):
            number = number_of_list(name, pk)
            if number is not None:
                stale.spared_lists[name, pk] = number
        elif kind == "spared":
            number = number_of_key(name)
            if number is not None:
                stale.spared[name] = number
        elif kind in _NAMES:
            getattr(stale, _NAMES[kind]).add(name)
    stale.changes.update(stale.plain_lists, stale.tables)
    return stale


def wanted_marks(request: Request) -> list[Mark]:
    """Return the marks on which the freshness of a result depends, except those of its key, records and lists."""
    rules = request.rules
    found: list[Mark] = []
    reach = rules.reach
    if reach is not None:
        found += [(kind, table, "") for table in reach.models for kind in ("table", "deletions")]
        entities = {entity for tables in reach.collections.values() for entity in tables}
        found += [(kind, entity, "") for entity in entities for kind in ("lists", "filtered lists")]
        found += [("plain lists", entity, "") for entity in reach.plain_lists]
    if rules.resource is not None:
        found.append(("resource", rules.resource, ""))
        if rules.has_values:
            found += [("values", resource or "", place or "") for resource, place in value_places(request)]
    found += [("read", name, values) for name, values in read_places(request)]
    path, entity, args = request.path, as_entity(rules.schema), rules.entity_args(request.args)
    params: Any = args[0] if args else None
    if entity is not None:
        keys = [entity.lenient_pk(params, args)]
    else:  # the arguments of a list may be keys of the records that it belongs to
        keys = [scalar_text(value) for value in first_argument(*args).values()]
    found += [("argument", key, "") for key in keys if key is not None]
    if path is not None:
        found += [("path", path, ""), ("spared", request.key, "")]
        found += [("tree", above, "") for above in paths_above(path)]
    return found


def wanted_of_list(table: str, pk: str) -> Iterator[Mark]:
    """Yield the marks on which the freshness of a list depends, except its own and those of its entities."""
    yield "spared", table, pk
    for value in identity_of_text(pk).values():
        yield "argument", str(value), ""


def load_mark_of(marks: StaleMarks, row: StoredRow, number_of_event: Callable[[int], float]) -> None:
    """Write the mark of a loaded row to memory; it has ended if the row is complete by a later request."""
    if row.stale_rev:
        is_current = row.stale_rev > row.whole_rev or row.value is None or not row.shape
        marks.load("cells" if is_current else "ended", (row.table, row.pk), number_of_event(row.stale_rev))


def load_marks(marks: StaleMarks, found: Mapping[Mark, int], number_of_event: Callable[[int], float]) -> None:
    """Write loaded marks of a storage to memory."""
    for (kind, name, pk), commit in found.items():
        number = number_of_event(commit)
        place: Any = name
        if kind == "row":
            kind, place = "cells", (name, pk)
        elif kind == "values":
            place = name, pk or None
        elif kind == "read":
            kind, place = "reads", (name, pk)
        elif kind == "spared" and is_collection(name):
            kind, place = "spared_lists", (name, pk)
        elif kind in _NAMES:
            kind = _NAMES[kind]
        marks.load(kind, place, number)
