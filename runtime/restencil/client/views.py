"""Views, which are clients with options for each call, and partitions, which are separate stores for some of them.

A view has the resources of its client, and its endpoints are copies that contain the options. If options may change
the content of responses (a header such as `Accept-Language`, another token), the view uses a separate core and store, a
*partition*, which all views with the same such options share.
"""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, Final, cast
from weakref import WeakValueDictionary

from ..base.fork import reset_in_child
from ..base.logs import STORE, debug
from ..cache.peers import Peers
from ..endpoint.bound import AnyBoundEndpoint
from ..endpoint.call_options import OPERATIONS, ViewOptions
from ..endpoint.typing import Binder
from .options import NO_OPTIONS, Hidden, Options, merged, own_token

if TYPE_CHECKING:
    from ..cache.store import Store
    from ..http.auth import Api
    from .core import Core

VIEWS: Final = 64
"""The number of views that a client keeps, the latest ones; others exist while they are referenced."""
PARTITIONS: Final = 32
"""The number of partitions that a client keeps."""
_KEPT_KEYS: Final = 256
_ENDPOINTS: Final = 4_096

_OF_ENDPOINTS: Final = (*OPERATIONS, "read")
"""The operations of controllers with an endpoint as their first argument."""


class Views:
    """The views of one client, and its partitions."""

    def __init__(self, controller: Any, core: Core, api: Api | None) -> None:
        self.base = NO_OPTIONS
        """The options of the client itself: none."""
        self._controller = controller
        self._core = core
        self._api = api
        self._lock = threading.RLock()
        self._keys: dict[Any, Hashable] = {}
        """The keys of options by the arguments of `with_options`, so that equal arguments are checked once."""
        self._latest: OrderedDict[Hashable, Any] = OrderedDict()
        self._alive: WeakValueDictionary[Hashable, Any] = WeakValueDictionary()
        self._partitions: OrderedDict[Hashable, Core] = OrderedDict()
        self._partitions_alive: WeakValueDictionary[Hashable, Core] = WeakValueDictionary()
        self._left: list[Core] = []
        """Dropped partitions, with managers to stop when their views are not referenced anymore."""
        reset_in_child.add(self)

    def forked(self) -> None:
        """Replace the lock in a forked process, where the thread that may hold it does not exist."""
        self._lock = threading.RLock()

    def view(
        self, base: Options, headers: Any, query: object, timeout: Any, retries: Any, token: object, vary: Any
    ) -> Any:
        """Return the view with these options merged over `base`; the client itself without any options."""
        cache_key: Any = None
        secret = None if token is None else Hidden(token)
        if query is None:  # equal values, such as 1 and True, may differ in a URL
            try:
                kinds = timeout.__class__, retries.__class__, vary.__class__  # nor are both options
                cache_key = base, headers and (*headers.items(),), timeout, retries, secret, vary, *kinds
                key = self._keys[cache_key]
                found = self._latest[key]
                self._latest.move_to_end(key)
                return found
            except (AttributeError, KeyError, TypeError):
                pass
        preparation = self._core.preparation
        options = merged(
            base,
            headers,
            query,
            timeout,
            retries,
            token,
            vary,
            kind=type(self._controller).__name__,
            api=self._api,
            own_token=None if preparation is None else own_token(self._api, preparation.credentials),
        )
        if options.key == NO_OPTIONS.key:
            return self._controller
        with self._lock:
            found = self._view(options)
            self._latest[options.key] = found
            self._latest.move_to_end(options.key)
            while len(self._latest) > VIEWS:
                self._latest.popitem(last=False)
            if cache_key is not None:
                self._note(cache_key, options.key)
        return found

    def _note(self, cache_key: object, key: Hashable) -> None:
        try:
            if len(self._keys) >= _KEPT_KEYS:
                self._keys.clear()
            self._keys[cache_key] = key
        except TypeError:
            pass  # arguments without a hash are checked each time

    def _view(self, options: Options) -> Any:
        found = self._alive.get(options.key)
        if found is None:
            core = self._partition(options) if options.apart else self._core
            found = self._alive[options.key] = self._made(options, core)
            core.views_of_it.add(found)
        return found

    def _made(self, options: Options, core: Core) -> Any:
        """Create a view that uses this core, as an instance of a subclass of the client's with its attributes."""
        client = self._controller
        view: Any = object.__new__(_view_type(client.__class__))
        retries = core.retries if options.retries is None else options.retries
        view.__dict__.update(client.__dict__, _core=core, store=core.store, managers=core.managers, retries=retries)
        shared = _view_options(core, options)
        _View._tie(view, self, options, shared)  # pyright: ignore[reportPrivateUsage] - a name that no resource has
        _rebind(client, view)
        return view

    # partitions

    def _partition(self, options: Options) -> Core:
        """Return the core of the partition for these options."""
        core = self._partitions_alive.get(options.apart)
        if core is None:
            core = self._partitions_alive[options.apart] = self._made_partition(options.of_partition())
        self._partitions[options.apart] = core
        self._partitions.move_to_end(options.apart)
        while len(self._partitions) > PARTITIONS:
            self._drop(self._partitions.pop(self._least_used(options.apart)))
        return core

    def _least_used(self, but: Hashable) -> Hashable:
        """Return the least recently used partition other than `but`, by the requests for its views."""
        last_used = {id(view._core): place for place, (_, view) in enumerate(self._by_use())}
        others = [(apart, core) for apart, core in self._partitions.items() if apart != but]
        return min(others, key=lambda other: last_used.get(id(other[1]), -1))[0]

    def _by_use(self) -> list[tuple[Hashable, Any]]:
        """Return the latest views with their keys, the most recently used last."""
        while True:
            try:
                return list(self._latest.items())
            except RuntimeError:
                continue  # another thread has just requested one of them

    def _made_partition(self, options: Options) -> Core:
        first = self._core
        managers = first.managers_anew(options)
        account = self._account(options)
        core = first.sibling(first.store.another(), managers, account)
        family = _family(first.store)
        core.home = self._made(options, core)
        family.member(core.store, options.credential, options.names, core.dispatch)
        core.credential, core.names = options.credential, options.names
        if first.opened:
            core.open(core.home)
        debug(STORE, "partition made for %s", options)
        return core

    def _account(self, options: Options) -> Any:
        """Return the transport of a partition; partitions with the same token share one, and so their cookies."""
        if options.credential is None:
            return self._core.transport
        for other in self._cores():
            if other.credential == options.credential:
                return other.transport
        return self._core.transport_with(options.token, own_cookies=True)

    def _drop(self, core: Core) -> None:
        for key in [key for key, view in self._by_use() if view._core is core]:
            del self._latest[key]
        family = _family(self._core.store)
        names = core.names or ("token",)
        debug(STORE, "partition dropped: %s", ", ".join(names))
        family.hint(
            "drop",
            names,
            f"there are more than {PARTITIONS} partitions, so the least recently used is dropped: each new value of %r "
            "has a separate store. If it does not change responses, pass it with vary=False, or add it to "
            "inert_headers in the spec",
        )
        if self._core.makes_managers:
            for left in [left for left in self._left if not left.views_of_it and not left.is_watched]:
                left.stop()
                self._left.remove(left)
            self._left.append(core)

    # opening and closing

    def open(self) -> None:
        """Open the partitions, because the client opens."""
        for core in self._cores():
            core.open(core.home)

    def stop(self) -> None:
        """Stop the partitions, because the client closes."""
        for core in self._cores():
            core.stop()

    def _cores(self) -> list[Core]:
        with self._lock:
            return list(self._partitions_alive.values())


def _family(store: Store) -> Peers:
    return (store.member or Peers(store).first).family


def _view_options(core: Core, options: Options) -> ViewOptions | None:
    """Return the options of each call of a view; None if it differs from the client only in its partition."""
    quiet_token = options.quiet_token
    if not (options.headers or options.query or options.vary_key):
        return None
    transport = None if quiet_token is None else core.transport_with(quiet_token, own_cookies=False)
    return ViewOptions(core, options, transport)


def _rebind(client: object, view: Any) -> None:
    """Bind the view's copies of resources and endpoints to the view: on first use where possible, else now."""
    members: dict[str, Any] = client.__dict__
    kind: type[Any] = client.__class__
    for name, value in members.items():
        if isinstance(value, Binder) and cast(Any, value).controller is client:
            del view.__dict__[name]
            if not hasattr(kind, name):  # else it is created on first use
                view.__dict__[name] = cast(Any, value).__class__(view)
        elif isinstance(value, AnyBoundEndpoint) and cast(Any, value).controller is client:
            view.__dict__[name] = view.bind(cast(Any, value).endpoint)


# --- the class of views ----------------------------------------------------------------------------------------------


class _View:
    """Base class of views: endpoints are called with its options, and `open` and `close` do nothing."""

    _core: Core

    # Private names cannot collide with the attributes of the client, which are attributes of the view too.

    def _tie(self, views: Views, options: Options, call_options: ViewOptions | None) -> None:
        """Initialize the view, which has all attributes of its client already."""
        self.__views = views
        self.__options = options
        self.__call_options = call_options
        self.__bound: dict[Any, Any] = {}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {'open' if self._core.opened else 'closed'} with {self.__options!r}>"

    def _form(self, endpoint: Any) -> Any:
        """Return the endpoint with the options of this view."""
        call_options, plain = self.__call_options, endpoint.plain or endpoint
        return plain if call_options is None else call_options.of(plain)

    def bind(self, endpoint: Any, /) -> Any:
        """Return the endpoint with the operations of this view; each call returns the identical one."""
        plain = endpoint.plain or endpoint
        bound = self.__bound.get(plain)
        if bound is None:
            if len(self.__bound) >= _ENDPOINTS:
                self.__bound.clear()
            bound = self.__bound.setdefault(plain, super().bind(self._form(plain)))  # type: ignore[misc]  # of its client's class
        return bound

    def with_options(
        self,
        *,
        headers: Any = None,
        query: Any = None,
        timeout: Any = None,
        retries: Any = None,
        token: Any = None,
        vary: Any = True,
    ) -> Any:
        """Return a view with these options merged over those of this one; see `with_options` of the client."""
        return self.__views.view(self.__options, headers, query, timeout, retries, token, vary)

    def open(self) -> None:
        """Do nothing: the client opens and closes for all its views."""


class _BlockingView(_View):
    def close(self) -> None:
        """Do nothing: a view owns no connections; close the client."""


class _AwaitingView(_View):
    async def aclose(self) -> None:
        """Do nothing: a view owns no connections; close the client."""


def _view_type(kind: type[Any]) -> type[Any]:
    """Return the class of the views of a client, a subclass of the client's class and of `_View`."""
    made: type[Any] | None = kind.__dict__.get("_view_type")
    if made is None:
        form = _AwaitingView if hasattr(kind, "aclose") else _BlockingView
        members: dict[str, Any] = {"__doc__": kind.__doc__, "__module__": kind.__module__}
        for name in _OF_ENDPOINTS:
            operation = getattr(kind, name, None)
            if operation is not None:
                members[name] = _with_form(operation)
        made = type(kind.__name__, (form, kind), members)
        kind._view_type = made
    return made


def _with_form(operation: Any) -> Any:
    @functools.wraps(operation)
    def call(self: Any, endpoint: Any, /, *args: Any, **kwargs: Any) -> Any:
        return operation(self, self._form(endpoint), *args, **kwargs)

    return call
