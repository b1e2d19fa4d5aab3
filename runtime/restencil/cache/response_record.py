"""Records of the objects that a response wrote: while all are unchanged, the same response only refreshes times.

A `ResponseRecord` references the objects of a response in the base state. While all of them are there, normalizing an
identical body or a 304 would change nothing, so polling an unchanged list is cheap.
(Benchmark: fetched again, nothing changed.)
"""

from __future__ import annotations

from copy import copy
from operator import is_
from typing import TYPE_CHECKING, Final

from ..base.values import UNDEFINED, Sentinel
from ..schema.collection import Collection as CollectionSchema
from ..schema.containers import List, Object, Union, Values
from ..schema.entity import as_entity
from ..schema.notation import Conversion, Lazy
from ..schema.one_of import OneOf
from ..schema.protocol import definitions
from ..schema.record_schema import RecordSchema
from .tables import EMPTY, ChangeSet, ResultMeta

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Iterator

    from ..base.freshness import Terms, Validators
    from ..base.values import Meta
    from ..schema.protocol import Schema
    from .actions import SetResponse
    from .request import Rules
    from .tables import EntityPath, Tables

_CELLS: Final = 10_000
"""The maximum number of cells of a recorded response, as each of them needs references."""

_REPEATABLE: Final = frozenset({List, Object, Values, Union, CollectionSchema, Conversion, Lazy, OneOf, RecordSchema})

ALIKE: Final = 1
EXACT: Final = 2


class ResponseRecord:
    """The data of one response in the base state: `mark` identifies its body, `validators` are those of the response.

    It has two references for each cell.
    """

    __slots__ = (
        "_answered",
        "_cells",
        "_collections",
        "_definitions",
        "_partial",
        "_result",
        "mark",
        "validators",
    )

    def __init__(self, mark: bytes | None, validators: Validators | None, change: ChangeSet, result: object) -> None:
        self.mark = mark
        self.validators = validators
        self._definitions = definitions.count
        self._result = result
        self._cells = [(table, (*written,), (*written.values(),)) for table, written in change.entities.items()]
        self._partial = {table: frozenset(wholes) for table, wholes in change.partial.items()}
        self._collections = change.collections
        self._answered = change.full_lists

    def is_of(self, mark: Hashable) -> bool:
        """Return whether a mark identifies this response."""
        return (self.mark is not None and mark == self.mark) or (
            self.validators is not None and mark == self.validators.mark
        )

    def holds(self, key: str, base: Tables) -> bool:
        """Return whether all data of the response is unchanged in the base state."""
        if self._definitions != definitions.count or base.result(key) is not self._result:
            return False
        return all(
            all(map(is_, map(base.entities.get(table, EMPTY).get, pks), stored)) for table, pks, stored in self._cells
        )

    def cells(self) -> Iterator[tuple[EntityPath, object]]:
        """Iterate over the cells that the response wrote, with their values."""
        for table, pks, stored in self._cells:
            yield from (((table, pk), value) for pk, value in zip(pks, stored, strict=True))

    def touches(self, tables: Collection[str]) -> bool:
        """Return whether the response wrote to one of these tables."""
        return any(table in tables for table, _, _ in self._cells)

    def with_validators(self, validators: Validators | None) -> ResponseRecord:
        """Return the record of the same response with newer validators."""
        found = copy(self)
        found.validators = validators
        return found

    def freshened(self, key: str, base: Tables, times: Meta, terms: Terms | None) -> ChangeSet | None:
        """Return the change of times by the same response, except of data fetched later; None if data has changed."""
        if not self.holds(key, base):
            return None
        change = ChangeSet(base, times)
        for table, pks, stored in self._cells:
            change.entities[table] = dict(zip(pks, stored, strict=True))
            change.differing[table] = []
            if base.latest.get(table, 0) > times.fetched_at:
                metas = base.metas[table]
                change.metas[table] = {pk: metas[pk] for pk in pks if metas[pk].fetched_at > times.fetched_at}
        for table, partial in self._partial.items():  # the response contained only a part of these records
            wholes = {pk: base.whole(table, pk) for pk in partial}
            change.partial[table] = {pk: whole for pk, whole in wholes.items() if whole is not None}
        change.collections = self._collections
        later = {(table, pk) for table, metas in change.metas.items() for pk in metas}
        change.full_lists = {cell: schema for cell, schema in self._answered.items() if cell not in later}
        before = base.key_meta(key)
        expired, rules = (None, None) if before is None else (before.expires_at, before.rules)
        change.key_metas[key] = ResultMeta(times, prev_expires_at=expired, terms=terms, rules=rules)
        return change


def record_of_response(action: SetResponse, change: ChangeSet) -> ResponseRecord | None:
    """Return the record by which the same response is recognized later, by its body or its validators.

    None if it is not: if the store has newer data, or if other responses contribute to its lists. If code of users
    takes part in normalization, each body is normalized; if that code merges, the response is not recognized at all.
    """
    rules, result = action.request.rules, change.results.get(action.request.key, UNDEFINED)
    likeness = repeats(rules)
    if not likeness or result is UNDEFINED or change.metas or change.complete_tables or change.pages:
        return None
    if sum(map(len, change.entities.values())) > _CELLS:
        return None
    if any(Sentinel in map(type, written.values()) for written in change.entities.values()):
        return None  # something was invalid
    mark = action.mark if likeness == EXACT and rules.response.owns_response else None
    validators = conditional(action.validators)
    return None if mark is None and validators is None else ResponseRecord(mark, validators, change, result)


def conditional(validators: Validators | None) -> Validators | None:
    """Return the validators of a response if a request can be made conditional by them; else None."""
    return validators if validators is not None and validators.condition is not None else None


def repeats(rules: Rules) -> int:
    """Return how repeatably responses of an endpoint are normalized; 0 if equal ones may have different results."""
    if rules.side_effect or rules.response.update is not None or rules.lists.list_key is not None:
        return 0
    return rules.analyze(likeness_of)


def likeness_of(schema: Schema | None) -> int:
    """Return how repeatably a value is normalized: EXACT without code of users; 0 if code of users merges."""
    return _likeness(schema, set())


def _likeness(schema: Schema | None, seen: set[int]) -> int:
    if schema is None or id(schema) in seen:
        return EXACT
    seen.add(id(schema))
    entity = as_entity(schema)
    if entity is not None:
        model = entity.model
        if model.merges:
            return 0
        own = ALIKE if model.process is not None or model.validate is not None else EXACT
        children: Iterable[Schema | None] = (relation.node for relation in model.relations)
    elif type(schema) in _REPEATABLE:
        own = ALIKE if type(schema) is OneOf or callable(getattr(schema, "attribute", None)) else EXACT
        children = schema.children()
    else:
        return 0
    return min((own, *(_likeness(child, seen) for child in children)))
