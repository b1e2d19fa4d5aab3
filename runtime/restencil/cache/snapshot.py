"""Immutable snapshots of a state, for optimistic responses and comparisons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..base.errors import AbortOptimistic
from ..base.values import INVALID, Sentinel
from ..schema.entity import without_lists
from ..schema.notation import schema_of
from ..schema.stored import record_of
from .addressed import cell_of, entity_of_result
from .before_images import BeforeImage, as_of
from .denormalize import Denormalization
from .dependency_graph import DependencyGraph
from .policy import inactive

if TYPE_CHECKING:
    from .policy import Reading
    from .reader import CacheReader
    from .request import EndpointLike
    from .tables import State, Tables


class Snapshot:
    """A state at one time, which later changes do not affect; optimistic responses are computed from snapshots.

    `fetched_at` is the start time (ms) of the fetch that is simulated; raise `abort` if no optimistic response can be
    computed.
    """

    def __init__(self, cache_reader: CacheReader, state: State, fetched_at: float, base: Tables | None = None) -> None:
        self._cache_reader = cache_reader
        self.before_image = BeforeImage(base) if base is not None else None
        """The previous values of data that the store changes later; None if the state itself does not change."""
        self._state = (
            as_of(state, base, self.before_image) if base is not None and self.before_image is not None else state
        )
        self._memo = DependencyGraph()
        self.fetched_at = fetched_at

    @property
    def abort(self) -> AbortOptimistic:
        """An error to raise if no optimistic response can be computed."""
        return AbortOptimistic("no optimistic response can be computed from the cached data")

    def get(self, schema: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Return an entity, collection or query value of this state; None if it is absent."""
        if kwargs:
            args = (*args, kwargs)
        with self._cache_reader.lock:
            return self._cache_reader.value_in(self._reader(args), schema, args)

    def record(self, schema: Any, /, *args: Any) -> Mapping[str, Any] | None:
        """Return the record of the entity that `get` returns, as JSON values; None unless it is one entity."""
        found = schema_of(schema)
        node = None if found is None else found.entity
        if node is None:
            return None
        cache_reader = self._cache_reader
        with cache_reader.lock, cache_reader.store_state.hooks:
            persistence = cache_reader.store_state.persistence
            if persistence is not None and not persistence.before_value(node, args, self._state):
                return None
            pk = node.query_key(args, self._reader(args))
            stored = self._state.get(node.table_key, pk) if isinstance(pk, str) else INVALID
        return None if isinstance(stored, Sentinel) else record_of(stored)

    def held(self, schema: object, key: str, /) -> Mapping[str, Any] | None:
        """Return the record that is the stored result of a key, without nested collections; None if there is none."""
        subject = next(iter(entity_of_result(schema_of(schema), self._state.result(key))), None)
        found = INVALID if subject is None else self._state.get(*cell_of(subject))
        if subject is None or isinstance(found, Sentinel):
            return None
        return without_lists(subject.schema.model, record_of(found))

    def get_response(self, endpoint: EndpointLike, /, *args: object, **kwargs: object) -> Reading:
        """Read a call of an endpoint from this state."""
        request = endpoint.request(endpoint.bind_args(args, kwargs))
        if request.inactive:
            return inactive()
        with self._cache_reader.lock:
            return self._cache_reader.reading_of_state(self._reader(request.args), request)

    def get_error(self, endpoint: EndpointLike, /, *args: object, **kwargs: object) -> BaseException | None:
        """Return the error that a read of the endpoint raises in this state, or None."""
        return self.get_response(endpoint, *args, **kwargs).error

    def _reader(self, args: tuple[object, ...]) -> Denormalization:
        if self.before_image is None:
            return Denormalization(self._state, args, self._memo)
        return self._cache_reader.reader_of_state(self._state, args, self._memo)
