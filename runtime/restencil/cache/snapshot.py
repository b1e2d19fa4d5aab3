"""A state as it was at one moment, for optimistic responses and for whoever compares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..base.errors import AbortOptimistic
from ..base.values import INVALID, Sentinel, is_dict
from ..schema.notation import schema_of
from ..schema.stored import record_of
from .addressed import entities_of
from .before_images import BeforeImage, as_of
from .denormalize import Denormalization
from .dependency_graph import DependencyGraph
from .reading import inactive

if TYPE_CHECKING:
    from .reader import CacheReader
    from .reading import Reading
    from .request import EndpointLike
    from .tables import State, Tables


class Snapshot:
    """A state as it stays while it is held; optimistic responses are computed from one.

    `fetched_at` is the start time (ms) of the fetch being simulated, `abort` an error to raise where no optimistic
    response can be made.
    """

    def __init__(self, cache_reader: CacheReader, state: State, fetched_at: float, base: Tables | None = None) -> None:
        self._cache_reader = cache_reader
        self.before_image = BeforeImage(base) if base is not None else None
        """Where the store keeps what it changes from now on, None where the state itself stays."""
        self._state = (
            as_of(state, base, self.before_image) if base is not None and self.before_image is not None else state
        )
        self._memo = DependencyGraph()
        self.fetched_at = fetched_at

    @property
    def abort(self) -> AbortOptimistic:
        """Raise it where no optimistic response can be made."""
        return AbortOptimistic("no optimistic response can be made from what is cached")

    def get(self, schema: Any, /, *args: Any, **kwargs: Any) -> Any:
        """The entity, collection or query value of this state, `None` if absent."""
        if kwargs:
            args = (*args, kwargs)
        with self._cache_reader.lock:
            return self._cache_reader.value_in(self._reader(args), schema, args)

    def record(self, schema: Any, /, *args: Any) -> Mapping[str, Any] | None:
        """The record of the entity that `get` returns, as JSON values; None unless it is one entity."""
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

    def held(self, schema: Any, key: str, /) -> Mapping[str, Any] | None:
        """The record of the entity that is stored as result under a key; None for none."""
        stored = self._state.result(key)
        name, pk = (stored.get("schema"), stored.get("id")) if is_dict(stored) else (None, stored)
        nodes = (node for other, node in entities_of(schema_of(schema)) if other == name)
        found = next((self._state.get(node.table_key, pk) for node in nodes if isinstance(pk, str)), INVALID)
        return None if isinstance(found, Sentinel) else record_of(found)

    def get_response(self, endpoint: EndpointLike, /, *args: Any, **kwargs: Any) -> Reading:
        """What a read of the endpoint finds in this state."""
        request = endpoint.request(endpoint.bind_args(args, kwargs))
        if request.inactive:
            return inactive()
        with self._cache_reader.lock:
            return self._cache_reader.reading_of_state(self._reader(request.args), request)

    def get_error(self, endpoint: EndpointLike, /, *args: Any, **kwargs: Any) -> BaseException | None:
        """The error that a read of the endpoint raises in this state, or None."""
        return self.get_response(endpoint, *args, **kwargs).error

    def _reader(self, args: tuple[Any, ...]) -> Denormalization:
        if self.before_image is None:
            return Denormalization(self._state, args, self._memo)
        return self._cache_reader.reader_of_state(self._state, args, self._memo)
