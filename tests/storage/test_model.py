"""Several stores over one storage show what one store in memory shows that was given all actions in their order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from restencil import Entity, RestEndpoint, Store
from restencil.cache.actions import (
    Action,
    ExpireAll,
    Invalidate,
    InvalidateAll,
    Meta,
    Reset,
    Set,
    SetResponse,
)
from restencil.schema import All, Collection
from restencil.schema import Invalidate as Deleting
from restencil.storage import Batch, Outcome
from restencil.storage.memory import MemoryStorage
from restencil.testing import FakeClock


class Owner(Entity, key="ModelOwner"):
    id: str = ""
    name: str = ""


class Item(Entity, key="ModelItem"):
    id: str = ""
    a: int = 0
    b: int = 0
    owner: Owner | None = None
    schema = {"owner": Owner}


class Direct(Entity, key="ModelDirect"):
    id: str = ""
    a: int = 0
    b: int = 0


AnyEndpoint = RestEndpoint[..., Any]
Items = Collection([Item])
Directs = Collection([Direct])
AT = "http://api.test"
GET: AnyEndpoint = RestEndpoint(url_prefix=AT, path="/items/:id", schema=Item)
LIST: AnyEndpoint = RestEndpoint(url_prefix=AT, path="/items", schema=Items)
PAGE: AnyEndpoint = LIST.paginated("cursor")
PUSH: AnyEndpoint = RestEndpoint(url_prefix=AT, path="/items", method="POST", schema=Items.push)
FRONT: AnyEndpoint = RestEndpoint(url_prefix=AT, path="/items/front", method="POST", schema=Items.unshift)
REMOVE: AnyEndpoint = RestEndpoint(url_prefix=AT, path="/items/remove", method="POST", schema=Items.remove)
MOVE: AnyEndpoint = RestEndpoint(url_prefix=AT, path="/items/:id", method="PATCH", schema=Items.move)
DELETE: AnyEndpoint = RestEndpoint(url_prefix=AT, path="/items/:id", method="DELETE", schema=Deleting(Item))
PLAIN: AnyEndpoint = RestEndpoint(url_prefix=AT, path="/directs", schema=[Direct])
ONE: AnyEndpoint = RestEndpoint(url_prefix=AT, path="/directs/:id", schema=Direct)
EVERY: AnyEndpoint = RestEndpoint(url_prefix=AT, path="/directs/all", schema=All(Direct))
BARE: AnyEndpoint = RestEndpoint(url_prefix=AT, path="/bare", schema=None)

PKS = ("1", "2", "3")
ARGS: tuple[dict[str, Any], ...] = ({}, {"a": 1})
READS: list[tuple[AnyEndpoint, tuple[Any, ...]]] = [
    *((GET, ({"id": pk},)) for pk in PKS),
    *((ONE, ({"id": pk},)) for pk in PKS),
    *((endpoint, (args,)) for endpoint in (LIST, PLAIN, EVERY, BARE) for args in ARGS),
]

KINDS = ("get", "list", "push", "front", "remove", "move", "delete", "plain", "one", "every", "bare")
pks = st.sampled_from(PKS)
records: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"id": pks}, optional={"a": st.integers(0, 2), "b": st.integers(0, 2), "owner": st.fixed_dictionaries({"id": pks})}
)
plain: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"id": pks}, optional={"a": st.integers(0, 2), "b": st.integers(0, 2)}
)
some = st.sampled_from(ARGS)
ages = st.sampled_from((0, 0, 5, 30))
"""How long ago something was asked for."""


@st.composite
def responses(draw: st.DrawFn) -> tuple[Any, ...]:
    """An answer: endpoint, arguments, value, how long ago it was asked for."""
    kind = draw(
        st.sampled_from(("get", "list", "push", "front", "remove", "move", "delete", "plain", "one", "every", "bare"))
    )
    age = draw(ages)
    if kind == "get":
        record = draw(records)
        return GET, ({"id": record["id"]},), record, age
    if kind == "one":
        record = draw(plain)
        return ONE, ({"id": record["id"]},), record, age
    if kind == "delete":
        pk = draw(pks)
        return DELETE, ({"id": pk},), {"id": pk}, age
    if kind == "bare":
        return BARE, (draw(some),), draw(st.integers(0, 3)), age
    if kind in ("plain", "every"):
        endpoint = PLAIN if kind == "plain" else EVERY
        return endpoint, (draw(some),), draw(st.lists(plain, max_size=3)), age
    if kind == "list":
        return LIST, (draw(some),), draw(st.lists(records, max_size=3)), age
    record = draw(records)
    if kind == "move":
        return MOVE, ({"id": record["id"]}, {"a": 1}), record, age
    return {"push": PUSH, "front": FRONT, "remove": REMOVE}[kind], (draw(some), {}), record, age


steps = st.one_of(
    st.tuples(st.just("response"), responses()),
    st.tuples(st.just("response"), responses()),
    st.tuples(st.just("response"), responses()),
    st.tuples(st.just("set"), records),
    st.tuples(st.just("invalidate"), st.sampled_from(READS)),
    st.tuples(st.sampled_from(("invalidate_all", "expire_all")), st.sampled_from((GET, LIST, PLAIN, BARE))),
    st.tuples(st.just("read"), st.sampled_from(READS)),
    st.tuples(st.just("look"), st.none()),
    st.tuples(st.just("restart"), st.none()),
    st.tuples(st.just("reset"), st.none()),
)
histories = st.lists(st.tuples(st.integers(0, 2), steps), max_size=14)


class World:
    """Stores over one storage, and one in memory that is told the same."""

    def __init__(self, count: int) -> None:
        self.clock = FakeClock(1_000)
        self.storage = MemoryStorage(poll=float("inf"))
        self.alone = Store(clock=self.clock, scheduler=self.clock)
        self.storages = [self.storage, *(self.storage.another() for _ in range(count - 1))]
        self.stores = [self.store(storage) for storage in self.storages]

    def store(self, storage: MemoryStorage) -> Store:
        return Store(clock=self.clock, scheduler=self.clock, storage=storage)

    def step(self, place: int, kind: str, what: Any) -> None:
        """One step in one of the stores."""
        place %= len(self.stores)
        now = self.clock()
        if kind == "read":
            endpoint, args = what
            self.stores[place].read(endpoint.request(args))
        elif kind == "look":
            look(self.stores[place])
        elif kind == "restart":
            self.stores[place] = self.store(self.storage.another())
        elif kind == "reset":
            for store in self.stores:  # as a logout everywhere: actions before it are not folded into what comes after
                look(store)
            self.apply(place, Reset())
            for store in self.stores:
                look(store)
        else:
            self.apply(place, self.action(kind, what, now))
        self.clock.advance(10)

    def action(self, kind: str, what: Any, now: float) -> Action:
        """What is told to a store."""
        if kind == "response":
            endpoint, args, value, age = what
            return SetResponse(endpoint.request(args), value, Meta(now - age, now, now + 60_000), wanted=False)
        if kind == "set":
            return Set(Item, (), what, Meta(now, now, now + 60_000))
        if kind == "invalidate":
            endpoint, args = what
            return Invalidate(endpoint.key(*args))
        return InvalidateAll(what.test_key) if kind == "invalidate_all" else ExpireAll(what.test_key)

    def apply(self, place: int, action: Action) -> None:
        """Tells one of the stores, and the one in memory."""
        self.stores[place].apply(action)
        self.alone.apply(action)

    def check(self) -> None:
        """When all is quiet, each store shows what the one in memory shows; so does a new one."""
        self.stores.append(self.store(self.storage.another()))
        for store in self.stores:
            look(store)
        for endpoint, args in READS:
            expected = shown(self.alone, endpoint, args)
            for place, store in enumerate(self.stores):
                assert shown(store, endpoint, args) == expected, (place, endpoint.key(*args))


def look(store: Store) -> None:
    """The store takes in what others have written."""
    tier: Any = store._tier
    tier.look()


def shown(store: Store, endpoint: AnyEndpoint, args: tuple[Any, ...]) -> Any:
    """What a read shows."""
    reading = store.read(endpoint.request(args))
    return plain_value(reading.data), reading.expires_at


def plain_value(value: Any) -> Any:
    """A value without classes."""
    if isinstance(value, Entity):
        return {name: plain_value(one) for name, one in value.to_dict().items()}
    return [plain_value(one) for one in value] if isinstance(value, list) else value


@given(st.integers(1, 3), histories)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_all_show_one_history(count: int, history: list[Any]) -> None:
    """When all is quiet, each process shows what a store in memory shows that was given all actions in their order."""
    world = World(count)
    for place, (kind, what) in history:
        world.step(place, kind, what)
    world.check()


def after(count: int, *history: tuple[int, str, Any]) -> None:
    """All show one history after these steps."""
    world = World(count)
    for place, kind, what in history:
        world.step(place, kind, what)
    world.check()


def test_times_of_others_do_not_go_back_behind_a_later_commit() -> None:
    """What others had renewed before this process wrote it does not get their times afterwards."""
    pushed: tuple[Any, ...] = PUSH, ({}, {}), {"id": "2"}, 0
    after(2, (0, "response", pushed), (1, "set", {"id": "1"}), (0, "response", pushed), (1, "response", pushed))


def test_a_row_can_be_read_once_its_class_was_met() -> None:
    """A row that came before this process knew its class shows when the class is first read."""
    one = GET, ({"id": "1"},)
    after(2, (0, "invalidate", one), (1, "response", (*one, {"id": "1"}, 0)))


def test_an_empty_table_of_another_process_shows() -> None:
    """That another process was answered that a table has nothing shows where nothing was known of it."""
    every: tuple[Any, ...] = EVERY, ({},)
    after(
        2,
        (0, "read", every),
        (0, "response", (GET, ({"id": "1"},), {"id": "1"}, 0)),
        (1, "response", (*every, [], 0)),
    )


class Slow(MemoryStorage):
    """One that says that it has committed only once something else was done."""

    before: Sequence[Callable[[], object]] = ()
    """What is done before each commit, one after another."""
    meanwhile: Callable[[], object] = bool

    def commit(self, batch: Batch, /) -> Outcome:
        for do in self.before[:1]:
            self.before = self.before[1:]
            do()
        outcome = super().commit(batch)
        meanwhile, self.meanwhile = self.meanwhile, bool
        meanwhile()
        return outcome


def test_what_follows_a_commit_of_ones_own_is_taken_in() -> None:
    """What others write right after a commit shows here, also where the log tells of both before the commit returns."""
    world = World(2)
    slow = Slow(poll=float("inf"))
    slow._places = world.storage._places
    world.stores[0] = store = world.store(slow)
    args = ({"id": "1"},)

    def meanwhile() -> None:
        world.alone.apply(first)
        world.clock.advance(10)
        world.step(1, "response", (GET, args, {"id": "1", "a": 2}, 0))
        look(store)

    look(store)
    slow.meanwhile = meanwhile
    first = world.action("response", (GET, args, {"id": "1", "a": 1}, 0), world.clock())
    store.apply(first)
    world.check()


def test_a_whole_table_is_in_the_order_of_the_storage_after_a_move() -> None:
    """What others wrote before a commit of this process moved stands in their order, also while that commit is sent."""
    world = World(2)
    slow = Slow(poll=float("inf"))
    slow._places = world.storage._places
    world.stores[0] = store = world.store(slow)
    world.step(0, "response", (EVERY, ({},), [], 0))
    store.read(EVERY.request(({},)))

    def others() -> None:
        world.step(1, "response", (ONE, ({"id": "3"},), {"id": "3"}, 0))
        world.step(1, "response", (ONE, ({"id": "2"},), {"id": "2"}, 0))

    slow.before = [others, lambda: look(store)]
    action = world.action("response", (ONE, ({"id": "2"},), {"id": "2", "a": 1}, 0), world.clock() + 50)
    store.apply(action)
    world.alone.apply(action)
    world.clock.advance(100)
    world.check()
