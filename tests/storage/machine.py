"""Several stores over one storage, each a process whose threads are moved by hand, beside one store in memory.

The stores have no threads: a step commits what waits, or looks at what others wrote. So a history is the same each time
that it is run, whatever the storage is.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable
from math import inf
from typing import Any, NamedTuple, TypeAlias

from tests.storages import PatientStore

from restencil import Entity, RestEndpoint, Storage, Store, ValkeyStorage
from restencil.base.values import UNDEFINED, Meta
from restencil.cache import actions
from restencil.cache.actions import Action, Collect, ExpireAll, Invalidate, Reset, Set, SetError, SetResponse
from restencil.cache.policy import ExpiryStatus
from restencil.schema import All, Collection
from restencil.schema import Invalidate as Deleting
from restencil.storage.memory import MemoryStorage
from restencil.testing import FakeClock


class Owner(Entity, key="ModelOwner"):
    """Whom items refer to."""

    id: str = ""
    name: str = ""


class Item(Entity, key="ModelItem", indexes=("slug",)):
    """What is in collections, and is found by its slug."""

    id: str = ""
    a: int = 0
    b: int = 0
    slug: str = ""
    owner: Owner | None = None
    schema = {"owner": Owner}


class Direct(Entity, key="ModelDirect"):
    """What is in plain lists, and in the list of all."""

    id: str = ""
    a: int = 0
    b: int = 0


AnyEndpoint: TypeAlias = RestEndpoint[..., Any]
Reading: TypeAlias = tuple[AnyEndpoint, tuple[Any, ...]]
Step: TypeAlias = tuple[int, str, Any]
"""In which process, what kind of step, and what of it."""

AT = "http://api.test"


def _endpoint(path: str, **options: Any) -> AnyEndpoint:
    return RestEndpoint(url_prefix=AT, path=path, **options)


Items = Collection([Item])
GET = _endpoint("/items/:id", schema=Item)
LIST = _endpoint("/items", schema=Items)
PAGE: AnyEndpoint = LIST.paginated("cursor")
PUSH = _endpoint("/items", method="POST", schema=Items.push)
FRONT = _endpoint("/items/front", method="POST", schema=Items.unshift)
REMOVE = _endpoint("/items/remove", method="POST", schema=Items.remove)
MOVE = _endpoint("/items/:id", method="PATCH", schema=Items.move)
DELETE = _endpoint("/items/:id", method="DELETE", schema=Deleting(Item))
PLAIN = _endpoint("/directs", schema=[Direct])
ONE = _endpoint("/directs/:id", schema=Direct)
EVERY = _endpoint("/directs/all", schema=All(Direct))
BARE = _endpoint("/bare", schema=None)
WORDS = _endpoint("/words", schema=None)
ADD = _endpoint("/words", method="POST", update=lambda new, *args: {WORDS.key(): lambda words: [*(words or ()), new]})

ENDPOINTS = (GET, LIST, PUSH, FRONT, REMOVE, MOVE, DELETE, PLAIN, ONE, EVERY, BARE, PAGE, WORDS, ADD)
"""What answers."""
TOGETHER = ((LIST, MOVE, GET, PUSH), (LIST, PAGE, PUSH, REMOVE), (LIST, GET, MOVE), (PLAIN, ONE, EVERY, GET))
"""Some that meet more often where there are no others."""

PKS = ("1", "2", "3")
SLUGS = ("x", "y")
ARGS: tuple[dict[str, Any], ...] = ({}, {"a": 1})
READS: list[Reading] = [
    *((GET, ({"id": pk},)) for pk in PKS),
    *((ONE, ({"id": pk},)) for pk in PKS),
    *((endpoint, (args,)) for endpoint in (LIST, PLAIN, EVERY, BARE) for args in ARGS),
    (WORDS, ()),
]


_AGAIN = 5
_LIFETIME = 60_000
_OLDEST = 30
"""So long ago an answer was asked for at most."""


class FailedStatus(Exception):
    """What a server answered that failed."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Setting(NamedTuple):
    """How many processes there are, and what they stand on."""

    processes: int = 2
    write_behind: float = 0
    inline: bool = True
    history: int = 10_000
    bound: int | None = None
    """How many entities a store holds in memory; None: all."""
    tick: float = 10
    """How much time passes with each step."""


class Expired(NamedTuple):
    """All keys that a test accepts were expired: what was requested before is stale, also where it comes later."""

    test: Callable[[str], bool]
    moment: float

    def outruns(self, key: str, requested: float) -> bool:
        """Whether what was requested then for a key was requested before."""
        return requested <= self.moment and self.test(key)


class Process:
    """A store over a storage; nothing happens in it but by hand."""

    def __init__(self, world: World, storage: Storage, bound: int | None) -> None:
        self._world = world
        self.store = PatientStore(clock=world.clock, scheduler=world.clock, storage=storage, max_entities=bound)
        self.persistence: Any = self.store._persistence
        self.failed: set[str] = set()
        """Keys under which it has an error of its own."""
        self.is_child = False
        """Whether it was forked: it may show what its parent alone had, as something stale."""
        self.waiting: list[Action] = []
        """What is to be told to the store in memory once it is committed."""
        self.had_memory = False
        """Whether it knew anything when it began to wait."""
        self.heard = 0
        """How much had been committed when it looked last."""
        self.expired: list[Expired] = []
        """What it expired of all keys."""
        self._by_hand()

    def _by_hand(self) -> None:
        tier, world = self.persistence, self._world
        tier.write_behind.thread.end()
        tier.read_through.watch = bool
        tier.read_through.loader.submit = _ignored
        tier.read_through.log_consumer.clocks = lambda: world.stepped
        tier.read_through.log_consumer._offset = world.stepped

    def commit(self) -> None:
        """The thread that writes takes its turn."""
        if self.persistence.write_behind.commit_waiting():
            for action in self.waiting:
                self._world.was_committed(action)
            self.waiting.clear()

    def look(self) -> None:
        """The thread that looks at the log takes its turn."""
        self.persistence.look()
        self.heard = len(self._world.told)

    def fork(self) -> None:
        """It goes on as its own child, and the parent is killed."""
        with self.store.lock:
            self.persistence.fork("before")
            self.store.forked()
        self._by_hand()
        self.is_child = True
        self.waiting.clear()

    def kill(self) -> None:
        """It ends at once: what waits is lost."""
        self.persistence.write_behind.drop_all()
        self.store.close(0)

    def shown(self, endpoint: AnyEndpoint, args: tuple[Any, ...]) -> Any:
        """What a read shows that may wait for the storage."""
        request = endpoint.request(args)
        if self.store._persistence is not None and not self.persistence.connection.storage.inline:
            _drive(self.persistence.reading(request, bool))
        return shown(self.store, endpoint, args)


def _ignored(work: object) -> None:
    """What would be loaded in the background is not: reads that may wait load it themselves."""


def _drive(steps: Any) -> None:
    answer: Any = None
    try:
        while True:
            answer = steps.send(answer).take(None)
    except StopIteration:
        return


class Acting:
    """What is told to a store, now."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock

    def action(self, kind: str, what: Any) -> Action:
        """What is told to a store."""
        now = self.clock()
        if kind == "response":
            endpoint, args, value, age = what
            return SetResponse(endpoint.request(args), value, Meta(now - age, now, now + _LIFETIME), wanted=False)
        if kind == "set":
            return Set(Item, (), what, Meta(now, now, now + _LIFETIME))
        if kind == "invalidate":
            endpoint, args = what
            return Invalidate(endpoint.key(*args))
        return actions.InvalidateAll(what.test_key) if kind == "invalidate_all" else ExpireAll(what.test_key)


class World:
    """Processes over one storage, and one store in memory that is told what they committed, in that order."""

    def __init__(self, setting: Setting, door: Callable[[Setting], Callable[[], Storage]] | None = None) -> None:
        self.clock = FakeClock(1_000)
        self.stepped = 0.0
        """How far the clock of the machine was set, which a store takes for a break."""
        self.setting = setting
        self.root = MemoryStorage(
            poll=inf, write_behind=setting.write_behind, history=setting.history, inline=setting.inline
        )
        self._door = self.root.another if door is None else door(setting)
        self.seen: list[dict[str, Any]] = []
        """What the processes showed at the end."""
        self.told: list[Action] = []
        """What was committed, in order."""
        self.wrong: list[Any] = []
        """What a process showed before the end that it should not have."""
        self.alone = Store(clock=self.clock, scheduler=self.clock)
        self.is_late = False
        """Whether something was committed after what came later: then it is not as if it had come when it did."""
        self.is_open_ended = False
        """Whether the storage never knows all of a table."""
        self.had_errors = False
        self.had_evictions = False
        self.had_pages = False
        self.had_breaks = setting.history < 10_000
        self._latest = 0.0
        self._expired: list[Expired] = []
        self._moments: dict[int, float] = {}
        self._all: list[Process] = []
        self.processes = [self.process() for _ in range(setting.processes)]

    def process(self, storage: Storage | None = None) -> Process:
        """One more process."""
        storage = storage or self._door()
        self.is_open_ended = isinstance(storage, ValkeyStorage)
        made = Process(self, storage, self.setting.bound)
        self._all.append(made)
        return made

    def close(self) -> None:
        """Lets everything go."""
        for process in self._all:
            if process.store._persistence is not None:
                process.kill()
        self.clock.close()

    @property
    def had_trouble(self) -> bool:
        """Whether the storage did not answer in time, as on a machine that is busy."""
        return any(process.persistence.connection.errors for process in self._all)

    # -- steps

    def step(self, place: int, kind: str, what: Any) -> None:
        """One step in one of the processes."""
        place %= len(self.processes)
        process = self.processes[place]
        if kind == "advance":
            self.clock.advance(what)
            return
        match kind:
            case "read":
                process.shown(*what)
            case "find":
                found(process.store, what)
            case "look":
                process.look()
            case "see":
                self.see(place)
            case "commit":
                process.commit()
            case "restart":
                process.commit()
                process.store.close(0)
                self.processes[place] = self.process()
            case "kill":
                process.kill()
                self.processes[place] = self.process()
            case "fork":
                process.fork()
            case "reset":
                self._reset(process)
            case "evict":
                self.had_evictions = True
                base = process.store._store_state.base
                cells = [(table, pk) for table, rows in base.entities.items() for pk in rows]
                process.store.apply(Collect(tuple(cells[:3]), tuple(base.results)[:2]))
            case "clock":
                self.stepped += 5_000
                self.had_breaks = True
            case "error":
                self._fail(process, *what)
            case _:
                self.apply(process, self.action(kind, what))
        if self.setting.write_behind == 0 and not self.setting.inline:
            self.processes[place].commit()
        self.clock.advance(self.setting.tick)

    def _reset(self, process: Process) -> None:
        """As a logout everywhere: actions before it are not folded into what comes after."""
        self.quiet(1)
        self.apply(process, Reset())
        process.commit()
        for other in self.processes:
            other.look()
            other.failed.clear()

    def _fail(self, process: Process, reading: Reading, status: int | None) -> None:
        endpoint, args = reading
        now = self.clock()
        error: Exception = OSError("no network") if status is None else FailedStatus(status)
        process.store.apply(SetError(endpoint.request(args), error, Meta(now, now, now + 1_000)))
        process.failed.add(endpoint.key(*args))
        self.had_errors = True

    def action(self, kind: str, what: Any) -> Action:
        """What is told to a store."""
        return Acting(self.clock).action(kind, what)

    def apply(self, process: Process, action: Action) -> None:
        """Tells one of the stores; the one in memory hears of it with the commit."""
        if isinstance(action, SetResponse):
            if action.endpoint is PAGE:
                self.had_pages = True
            else:  # a page leaves the error of its list
                process.failed.discard(action.key)
            if action.endpoint is ADD and (self.setting.write_behind or not self.setting.inline):
                self.is_late = True  # the function runs on what this process knows
        if not process.waiting:
            process.had_memory = bool(process.store._store_state.base.entities)
        process.store.apply(action)
        self._moments[id(action)] = self.clock()
        if isinstance(action, ExpireAll):
            process.expired.append(Expired(action.test, self.clock()))
        process.waiting.append(action)
        if self.setting.write_behind == 0 and self.setting.inline:
            process.commit()

    def was_committed(self, action: Action) -> None:
        """An action is in the storage."""
        meta = getattr(action, "meta", None)
        if meta is not None:
            self.is_late = self.is_late or meta.date < self._latest
            self._latest = max(self._latest, meta.date)
            key = getattr(action, "key", "")
            # Only who expired all keys knows that what was under way meanwhile is stale: no storage has such a test.
            self.is_late = self.is_late or any(one.outruns(key, meta.fetched_at) for one in self._expired)
        elif not isinstance(action, Reset) and self.setting.write_behind:
            self.is_late = True  # its moment is when it was carried out
        if isinstance(action, ExpireAll):
            self._expired.append(Expired(action.test, self._moments.get(id(action), self.clock())))
        self.told.append(action)
        self.alone.apply(action)

    # -- what they show

    def see(self, place: int) -> None:
        """A process that has heard of all that is committed shows that, and over it what waits for its own commit."""
        process = self.processes[place]
        if process.waiting and process.had_memory and process.heard < len(self.told):
            return  # what it knew of what waits is compared with what others wrote by its commit
        process.look()
        dates = [getattr(action, "meta", Meta(0, 0, 0)).date for action in process.waiting]
        if self.is_late or any(date < self._latest for date in dates) or dates != sorted(dates):
            return
        moment: float | None = None
        alone = Store(clock=lambda: self.clock() if moment is None else moment, scheduler=self.clock)
        for action in (*self.told, *process.waiting):
            moment = self._moments.get(id(action))
            alone.apply(action)
        moment = None
        expected = {endpoint.key(*args): shown(alone, endpoint, args) for endpoint, args in READS}
        picture = {endpoint.key(*args): process.shown(endpoint, args) for endpoint, args in READS}
        if self.had_breaks:  # what waits is compared with the storage once it is committed
            expected.update({name: seen for name, seen in picture.items() if seen[1] <= 1})
        if self.had_evictions:  # a result that waits may be let go of, and what it leads to is older, or unknown
            cold = {name: seen for name, seen in picture.items() if seen[0] in (expected[name][0], None)}
            expected.update(cold)
        self.wrong += [("seen", *one) for one in self._wrong(place, process, picture, expected)]

    def quiet(self, rounds: int = 4) -> None:
        """All is committed and taken in."""
        for _ in range(rounds):
            for process in self.processes:
                process.commit()
                process.look()
        for process in self.processes:
            process.look()

    def differences(self) -> list[Any]:
        """What differs from the store in memory, or from the last process, once all is quiet."""
        self.quiet()
        self.processes += [self.process(), self.process()]
        self.processes[-1].look()
        pictures = self.seen = [self.picture(process) for process in self.processes]
        expected = pictures[-1]
        found = self.wrong
        if not self.is_late:
            expected = {
                **{endpoint.key(*args): shown(self.alone, endpoint, args) for endpoint, args in READS},
                # Of two records with one slug the last written is found: which, an answer with both leaves open.
                **{slug: expected[slug] for slug in SLUGS},
            }
        for place, (process, picture) in enumerate(zip(self.processes, pictures, strict=True)):
            found += self._wrong(place, process, picture, expected)
        return found

    def _wrong(self, place: int, process: Process, picture: dict[str, Any], expected: dict[str, Any]) -> list[Any]:
        return [
            (place, name, seen, expected[name])
            for name, seen in picture.items()
            if seen != expected[name]
            and not _is_own(process, name, seen, expected[name])
            and not self._is_cold(name, seen, expected[name])
            and not has_expired(process.expired, name, seen, expected[name])
        ]

    def _is_cold(self, name: str, seen: Any, expected: Any) -> bool:
        """Whether a process shows less than the store in memory, so that it asks the server sooner, as it may."""
        if name in SLUGS:
            return False
        # Expired results are marked, and a break makes stale what was requested before the last commit with a mark.
        if self.had_breaks and self._expired and tuple(seen) == (expected[0], 1):
            return True
        if name.startswith(f"GET {AT}/directs/all"):  # some storages cannot tell all of a table, as rows expire there
            return self.is_open_ended and (None, 1) in (seen, expected)
        if self.had_pages and name.partition("?")[0] == f"GET {AT}/items":  # the stored result may be gone
            return seen[0] in (expected[0], None)
        # A function runs on no result of which it is not known after a break whether it is the latest.
        if name == WORDS.key() and seen == (None, 0) and self.had_breaks:
            return True
        # What it makes of a result under an error is stored as stale.
        return name == WORDS.key() and self.had_errors and seen == (expected[0], 1)

    def picture(self, process: Process) -> dict[str, Any]:
        """All that a process shows."""
        return {
            **{endpoint.key(*args): process.shown(endpoint, args) for endpoint, args in READS},
            **{slug: found_by(process.store, slug, self.setting) for slug in SLUGS},
        }

    def check(self) -> None:
        """When all is quiet, each process shows what the one in memory shows; so does a new one."""
        try:
            found = self.differences()
            assert found == [], found
        finally:
            self.close()


def _is_own(process: Process, name: str, seen: Any, expected: Any) -> bool:
    """Whether a process may show this alone: an error, or what its parent had, as something stale."""
    if name in process.failed:
        return True
    if not process.is_child:
        return False
    if name in SLUGS or seen[1] <= 1:
        return True
    if not name.startswith(f"GET {AT}/directs/all"):
        return False
    # What its parent alone had may stand first, and beside what a response listed: no store takes it out for that.
    alone = {pk for table, pk in process.persistence.read_through.hydrator.memory_only if table == "ModelDirect"}
    others = [one for one in seen[0] or () if one["id"] not in alone]
    return seen[0] == [] or (seen[1] == expected[1] and _in_any_order(others) == _in_any_order(expected[0]))


def has_expired(expired: Iterable[Expired], name: str, seen: Any, expected: Any) -> bool:
    """Whether a process shows as stale what may have been requested before it expired all keys of that kind."""
    if name in SLUGS or tuple(seen) != (expected[0], 1):
        return False
    return any(one.outruns(name, expected[1] - _LIFETIME - _OLDEST) for one in expired)


def _in_any_order(items: Any) -> list[str]:
    return sorted(map(repr, items or ()))


def found_by(store: Store, slug: str, setting: Setting) -> str | None:
    """The primary key of what is found by a slug; over what is far away nothing is."""
    return found(store, slug) if setting.inline else None


def found(store: Store, slug: str) -> str | None:
    """The primary key of what is found by a slug."""
    item = store.query(Item, ({"slug": slug},))
    return item.id if isinstance(item, Item) else None


def shown(store: Store, endpoint: AnyEndpoint, args: tuple[Any, ...]) -> Any:
    """What a read shows."""
    reading = store.read(endpoint.request(args))
    if endpoint is WORDS and not reading.expires_at:
        return None, 0  # it was invalidated, and is asked for anew; what a function made of nothing is not compared
    value = plain_value(None if reading.data is UNDEFINED else reading.data)
    # When the data of an invalidated result turns stale decides nothing.
    is_invalidated = reading.expiry_status is ExpiryStatus.Invalid and value is not None
    return value, 0 if is_invalidated else reading.expires_at


def plain_value(value: Any) -> Any:
    """A value without classes."""
    if isinstance(value, Entity):
        return {name: plain_value(one) for name, one in value.to_dict().items()}
    return [plain_value(one) for one in value] if isinstance(value, list) else value


def run(
    setting: Setting, history: list[Step], door: Callable[[Setting], Callable[[], Storage]] | None = None
) -> list[Any]:
    """Runs a history: what differs at its end. Where the storage did not answer in time it is run once more."""
    found: list[Any] = []
    for _ in range(_AGAIN):
        world = World(setting, door)
        try:
            for place, kind, what in history:
                world.step(place, kind, what)
            found = world.differences()
        except Exception:
            found = [traceback.format_exc()]
        finally:
            world.close()
        if not (found and world.had_trouble):
            return found
    return found
