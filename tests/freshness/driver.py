"""Runs a program through a generated client, and compares what the client calls fresh with what the server would say.

A value is fresh if a read of it would send no request. Fresh and wrong is the worst difference; the others are a read
that asks although its value was fresh, one that gives old data without asking, one that is not fresh after it asked,
one entity as two objects, and a change that raises although the server made it.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import re
import shutil
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import ModuleType
from typing import Any, Final
from urllib.parse import urlsplit

from tests.freshness.network import AsyncTransport, Exchange, Network, Transport
from tests.freshness.programs import PAGED, READS, Api, Arguments, Program, Step, World, change, change_of_places
from tests.freshness.server import OPTIONAL, SIZE, Manners, Server
from tests.freshness.spec import Variant, client_class, package
from tests.libraries import httpx
from tests.storage.servers import ValkeyServer
from tests.storages import PatientStore, sqlite_storage, valkey_storage

import restencil
from restencil.testing import FakeClock, Task

HEADERS: Final = {"X-Flavor": "plain"}
"""What makes a partition of the client."""


@dataclass(frozen=True)
class Difference:
    """One difference: after which step (from 0 on), of what kind, of which read, and how."""

    step: int
    kind: str
    read: str
    text: str

    def __str__(self) -> str:
        return f"after step {self.step + 1}: {self.kind}: {self.read}: {self.text}"


@dataclass
class Outcome:
    """What came of a program: its differences, and how much was done and compared."""

    differences: list[Difference] = field(default_factory=list[Difference])
    counts: Counter[str] = field(default_factory=Counter[str])


@dataclass
class Operation:
    """A call of a program that has begun: its task, the step, whether anything overlapped it."""

    step: Step
    task: Task[Any]
    number: int | None
    overlapped: bool
    first_exchange: int


@functools.cache
def valkey_server() -> ValkeyServer:
    """The server of all programs of this process, each of which has a namespace of its own."""
    server = ValkeyServer().start()
    atexit.register(server.stop)
    return server


class Session:
    """A client of a generated package before an honest server, in virtual time."""

    def __init__(self, world: World | None = None, *, module: ModuleType | None = None, server: Any = None) -> None:
        """`module` and `server` stand in the place of the package and the server that the world describes."""
        self.world = world = World() if world is None else world
        self.package = module or CHANGES.package(world)
        self.clock = FakeClock()
        self.server: Any = CHANGES.server(world) if server is None else server
        self.network = Network(self.server, self.clock)
        self.ends = contextlib.ExitStack()
        self.folder: Path | None = None
        if world.sqlite:
            self.folder = Path(tempfile.mkdtemp(prefix="freshness-"))
            self.ends.callback(shutil.rmtree, self.folder, ignore_errors=True)
        self.namespace = uuid.uuid4().hex
        self.stores: dict[str, restencil.Store] = {}
        self.clients: dict[str, Any] = {}
        self.open("")

    # life

    def open(self, through: str) -> Any:
        """The client, its view with a header of its own, a second one on its store, or one of another store."""
        if through == "other" and not self.world.is_shared:
            through = ""
        if through in self.clients:
            return self.clients[through]
        if through == "view":
            self.clients[through] = self.open("").with_options(headers=HEADERS)
            return self.clients[through]
        if through == "twin":
            self.clients[through] = self._client(self.stores[""])
            return self.clients[through]
        storage: restencil.Storage | None = None
        if self.folder is not None:
            # Others are looked at, and commits made, in `sync` alone, so that a program runs the same each time.
            storage = sqlite_storage(self.folder, poll="1h", write_behind="1h")
        elif self.world.valkey:
            # A server tells at once what others wrote, so a program runs a little differently each time.
            storage = valkey_storage(valkey_server().url, namespace=self.namespace, write_behind="1h")
        return self.use(through, PatientStore(storage=storage, **self._limits()))

    def _limits(self) -> dict[str, Any]:
        return {"clock": self.clock, "scheduler": self.clock, "max_entities": self.world.bound or None}

    def use(self, through: str, store: restencil.Store) -> Any:
        """A client of this store."""
        self.stores[through], self.clients[through] = store, self._client(store)
        return self.clients[through]

    def _client(self, store: restencil.Store) -> Any:
        kind = client_class(self.package, asynchronous=self.world.asynchronous)
        if self.world.asynchronous:
            return kind(store=store, client=httpx.AsyncClient(transport=AsyncTransport(self.network)))
        return kind(store=store, client=httpx.Client(transport=Transport(self.network)))

    def again(self, *, from_dump: bool) -> None:
        """Closes the client and its store; goes on with what the storage has, or a dump of the store."""
        dump = self.stores[""].dump() if from_dump else b""
        self.shut("")
        if from_dump:
            self.use("", PatientStore.load(dump, **self._limits()))
        else:
            self.open("")

    def shut(self, through: str) -> None:
        """Closes a client and its store."""
        clients, store = [self.clients.pop(through)], self.stores.pop(through)
        if through == "":
            self.clients.pop("view", None)
            clients += [self.clients.pop(one) for one in ("twin",) if one in self.clients]
        for client in clients:
            if self.world.asynchronous:
                self.clock.run(client.aclose)
            else:
                client.close()
        self.clock.run(store.close)

    def close(self) -> None:
        """Ends all of it."""
        for through in [*self.stores]:
            self.shut(through)
        self.clock.close()
        self.ends.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def settle(self) -> None:
        """Does everything that is due now, in virtual time and in the threads that load for an event loop."""
        self.advance(0)

    def advance(self, milliseconds: float) -> None:
        """Lets virtual time pass, and waits for the threads that load, which the clock knows nothing of."""
        self.clock.advance(milliseconds)
        loop: Any = self.clock.loop if self.world.asynchronous else None
        while self.world.valkey or (self.world.sqlite and self.world.asynchronous):
            loading = [one for one in threading.enumerate() if one.name == "restencil-loads"]
            if not loading and not (loop and loop._ready):  # what a thread that has ended left to be done
                break
            for thread in loading:
                thread.join()
            self.clock.settle()

    def sync(self) -> None:
        """Stores that share a storage hear what the others have written, which takes them 120 ms else."""
        if self.world.is_shared:
            for store in self.stores.values():
                store.flush()
            for store in self.stores.values():
                tier: Any = store._persistence  # nothing public looks at once
                tier.look()
            self.settle()

    # calls

    def bound(self, name: str, through: str = "") -> Any:
        """The bound endpoint, or one of its methods, that a dotted name names."""
        found = self.open(through)
        for part in name.split("."):
            found = getattr(found, part)
        return found

    def call(self, name: str, outcome: str = "whole", through: str = "", /, **arguments: Any) -> Any:
        """Does one call, its responses at once; its value, or its error raised."""
        return self.begin(Step("do", 0, name, arguments, outcome, through)).task.result()

    def call_and_sync(self, name: str, outcome: str = "whole", through: str = "", /, **arguments: Any) -> Any:
        """Does one call, of which the other stores hear."""
        value = self.call(name, outcome, through, **arguments)
        self.sync()
        return value

    def begin(self, step: Step, target: Callable[..., Any] | None = None) -> Operation:
        """Begins a call, of `target` if it is given: held, where it is a start; else its responses come at once."""
        number = step.number if step.act in ("start", "ask") else None
        called: Callable[..., Any] = self.bound(step.name, step.through) if target is None else target
        self.network.number, self.network.outcome = number, step.outcome or "whole"
        overlapped = bool(self.network.under_way) or number is not None
        operation = Operation(step, Task(), number, overlapped, len(self.network.exchanges))
        try:
            if self.world.asynchronous or overlapped:
                operation.task = self.clock.start(self._work(called, step))
            else:  # nobody has to wait, so no thread is needed
                self._do(self._work(called, step), operation.task)
            self.settle()
        finally:
            self.network.number = None
        return operation

    @staticmethod
    def _do(work: Callable[[], Any], task: Task[Any]) -> None:
        try:
            task.resolve(work())
        except Exception as error:
            task.reject(error)

    def _work(self, target: Callable[..., Any], step: Step) -> Callable[[], Any]:
        arguments = step.arguments
        if step.name.endswith((".iterate", ".pages")):
            if not self.world.asynchronous:
                return lambda: [*target(**arguments)]

            async def run() -> Any:
                return [one async for one in target(**arguments)]

            return run
        if step.name.endswith((".expire", ".invalidate")) and self.world.asynchronous:

            async def inside() -> Any:
                return target(**arguments)

            return inside
        return lambda: target(**arguments)

    def taking(self, step: Step) -> Callable[[], Any]:
        """What gives the next item or page of an iteration that begins now, and None at its end."""
        begin = functools.partial(self.bound(step.name, step.through), **step.arguments)
        begun: list[Any] = []

        def take() -> Any:
            begun[:] = begun or [iter(begin())]
            return next(begun[0], None)

        async def take_async() -> Any:
            begun[:] = begun or [aiter(begin())]
            return await anext(begun[0], None)

        return take_async if self.world.asynchronous else take

    def watch(self, name: str, arguments: Arguments, seen: list[Any]) -> Task[Any]:
        """Opens a live read and notes each value that it shows, as long as the session is open."""
        bound = self.bound(name)
        if self.world.asynchronous:

            async def await_values() -> None:
                async with bound.live(**arguments) as live:
                    async for value in live:
                        seen.append(value)

            task = self.clock.start(await_values)
        else:

            def take_values() -> None:
                with bound.live(**arguments) as live:
                    for value in live:
                        seen.append(value)  # noqa: PERF402 -- it grows while the read is open

            task = self.clock.start(take_values)
        self.settle()
        return task

    def asked(self, since: int) -> list[str]:
        """The requests that were sent since then, as method and URL."""
        return [f"{one.method} {one.target}" for one in self.network.exchanges[since:]]

    def requests(self, name: str, /, **arguments: Any) -> list[str]:
        """The requests that a call of this read sends now."""
        before = len(self.network.exchanges)
        self.call(name, **arguments)
        return self.asked(before)

    def move(self, step: Step) -> None:
        """Lets time pass, or carries out or delivers the next request of what was started."""
        if step.act == "wait":
            self.advance(step.number * 1000)
        else:
            self.step_held(step.number, deliver=step.act == "deliver")

    def step_held(self, number: int, *, deliver: bool) -> None:
        """Carries out, or delivers, the next request of what was started under this number."""
        waiting = [one for one in self.network.under_way if one.number == number]
        if not deliver:
            waiting = [one for one in waiting if one.response is None]
        if not waiting:
            return
        self.network.number = number
        try:
            if deliver:
                self.network.deliver(waiting[0])
                self.settle()
            else:
                self.network.carry_out(waiting[0])
        finally:
            self.network.number = None

    # what is there

    def truth(self, name: str, arguments: Arguments) -> Any:
        """What the server would answer to this read now, as JSON; None for 404."""
        return self.server.read(self.target(name, arguments))

    def target(self, name: str, arguments: Arguments) -> str:
        """The path and query of a read."""
        whole: str = self.bound(name).url(**arguments)
        url = urlsplit(whole)
        return url.path + (f"?{url.query}" if url.query else "")

    def is_fresh(self, name: str, arguments: Arguments, through: str = "") -> bool:
        """Whether a call of this read would send no request, by what `state` says."""
        state = self.bound(name, through).state(**arguments)
        return (
            state.data is not None
            and state.error is None
            and state.expiry_status is not restencil.ExpiryStatus.Invalid
            and state.expires_at >= self.clock()
        )

    def wrong(self, name: str, arguments: Arguments, value: Any) -> str | None:
        """How a value differs from what the server would say now; None where it does not."""
        said = self.truth(name, arguments)
        if said is None:
            return f"shows {value!r}, where the server says 404"
        if name.rpartition(".")[2] in PAGED:
            return self._wrong_pages(value, name.rpartition(".")[2])
        return self.differs(value, said)

    def _wrong_pages(self, value: Any, style: str) -> str | None:
        items = value["items"] if isinstance(value, dict) else value
        keys = self.server.in_pages()
        mine = {item.id for item in items}
        if not mine <= {*keys} or not _are_pages({keys.index(pk) for pk in mine}, len(keys)):
            return f"has the items {sorted(mine)}, the server's pages have {keys}"
        for item in items:
            found = self.differs(item, self.server.item(item.id))
            if found:
                return f"item {item.id}: {found}"
        if isinstance(value, dict) and value.get("total", len(keys)) != len(keys):
            return f"total is {value['total']!r}, the server says {len(keys)}"
        return None

    def differs(self, mine: Any, said: Any) -> str | None:
        """How a value of the client differs from JSON of the server, in members that the JSON has."""
        if isinstance(mine, restencil.Entity):
            if not isinstance(said, dict):
                return self._differs_from_key(mine, said)
            for name, value in said.items():
                try:
                    member = getattr(mine, name)
                except restencil.MissingFieldError:
                    return f"{name} is missing, the server says {value!r}"
                if isinstance(value, int | str) and name in ("owner", "team"):
                    found = self._differs_reference(mine, name, member, value)
                else:
                    found = self.differs(member, value)
                if found:
                    return f"{name} {found}"
            return self._differs_left_out(mine, said)
        if isinstance(said, dict):
            if not isinstance(mine, dict):
                return f"is {mine!r}, the server says {said!r}"
            for name, value in said.items():
                found = self.differs(mine.get(name), value)
                if found:
                    return f"{name} {found}"
            return None
        if isinstance(said, list):
            return self._differs_list(mine, said)
        return (
            None
            if mine == said and isinstance(mine, bool) == isinstance(said, bool)
            else (f"is {mine!r}, the server says {said!r}")
        )

    def _differs_left_out(self, mine: restencil.Entity, said: dict[str, Any]) -> str | None:
        """Where a member has a value that the server leaves out of a whole item, which says that it is null."""
        if not self.world.leaves_out_null or self.world.needs != "required" or "body" not in said:
            return None
        for name in OPTIONAL:
            if name not in said and getattr(mine, name, None) is not None:
                return f"{name} is {getattr(mine, name)!r}, and the server left it out for null"
        return None

    def _differs_reference(self, mine: Any, name: str, member: Any, key: int | str) -> str | None:
        if member is None:
            found = restencil.foreign_key(mine, name)
            return None if found == key else f"refers to {found!r}, the server says {key!r}"
        return self._differs_from_key(member, key)

    def _differs_from_key(self, mine: Any, key: Any) -> str | None:
        if str(mine.pk()) != str(key):
            return f"is {mine!r}, the server says {key!r}"
        table = self.server.users if type(mine).__name__ == "User" else self.server.teams
        row = table.get(key)
        if row is None:
            return f"is {mine!r}, which the server does not have"
        for name, value in row.items():
            if name in mine.to_dict() and getattr(mine, name) != value and value is not None:
                return f"has {name} {getattr(mine, name)!r}, the server says {value!r}"
        return None

    def _differs_list(self, mine: Any, said: list[Any]) -> str | None:
        if mine is None:
            return f"is None, the server says {said!r}"
        if said and not isinstance(said[0], dict):
            return None if list(mine) == said else f"is {list(mine)!r}, the server says {said!r}"
        mine = list(mine)
        if not mine and not said:
            return None
        by_key = {_key(row): row for row in said}
        shown = [str(one.pk()) for one in mine]
        if sorted(shown) != sorted(by_key):
            return f"has the members {shown}, the server says {[*by_key]}"
        for one in mine:
            found = self.differs(one, by_key[str(one.pk())])
            if found:
                return f"member {one.pk()}: {found}"
        return None


def _are_pages(places: set[int], count: int) -> bool:
    """Whether items at these places are the first page and others, of two items each; the last one may be shorter."""
    first = {*range(min(SIZE, count))}
    return first <= places and all(
        place in first or place + 1 in places or place - 1 in places or place == count - 1 for place in places
    )


def _key(row: Any) -> str:
    return str(row["id"] if "id" in row else row["name"])


def _variant(world: World) -> Variant:
    return Variant(world.optimistic, world.has_envelope, world.needs, "server" if world.has_max_age else "client")


CHANGES: Final = Api(
    lambda world: package(_variant(world)),
    lambda world: Server(Manners(**{one.name: getattr(world, one.name) for one in fields(Manners)})),
    READS,
    change,
    Session.wrong,
)
"""The API of `spec` and `server`, in which all that changes may be changed."""

UNSTORED: Final = CHANGES._replace(package=lambda world: package(_variant(world)._replace(unstored=True)))
"""The same with entities that have fields without `persist`."""

RUNS: Final = CHANGES._replace(
    reads=tuple(one for one in READS if one[0].rpartition(".")[2] in PAGED), change=change_of_places
)
"""The same with programs that read lists in pages, and change what stands where in them."""


@dataclass
class Iteration:
    """A run of `iterate()` or `pages()` that a program steps through: the keys of what it gave.

    `throughout` has the items that were there all the time; none of them may be left out.
    """

    step: Step
    take: Callable[[], Any]
    throughout: set[int]
    given: list[int] = field(default_factory=list[int])
    task: Task[Any] | None = None


class Run:
    """A program as it runs: `check` compares after a step, `finish` after all of them."""

    def __init__(self, program: Program, api: Api, *, check_all: bool = False) -> None:
        self.program = program
        self.api = api
        self.outcome = Outcome()
        self.check_all = check_all
        self.operations: list[Operation] = []
        self.watched: list[tuple[Step, list[Any], Task[Any]]] = []
        self.iterations: dict[int, Iteration] = {}
        self.is_loaded = False
        self.loaded_at = 0
        self.at = 0

    def run(self) -> Outcome:
        """Runs it; stops at the first difference."""
        world = self.program.world
        with Session(world, module=self.api.package(world), server=self.api.server(world)) as session:
            self.session = session
            for at, step in enumerate(self.program.steps):
                self.at = at
                self.take(step)
                self.outcome.counts["steps"] += 1
                if not self.outcome.differences and (self.check_all or self.at % 4 == 3):
                    self.check()
                    self.check_watched()
                if self.outcome.differences:
                    break
            if not self.outcome.differences:
                self.finish()
            self.outcome.counts["requests"] += len(session.network.exchanges)
            self.end()
        return self.outcome

    def differ(self, kind: str, read: str, text: str) -> None:
        """One difference."""
        self.outcome.differences.append(Difference(self.at, kind, read, text))

    # steps

    def take(self, step: Step) -> None:
        """Does one step of the program."""
        session = self.session
        match step.act:
            case "watch":
                self.watch(step)
            case "wait" | "serve" | "deliver":
                session.move(step)
            case "run":
                # It may join a request that was sent before a change that is under way.
                has_changes = any(operation.step.outcome for operation in self.operations)
                throughout = set[int]() if has_changes else {*session.server.items}
                self.iterations[step.number] = Iteration(step, session.taking(step), throughout)
            case "next" | "ask":
                self.go_on(step)
            case "reopen" | "reload":
                waits = [one for one in self.operations if not one.task.done]  # for another store's response, perhaps
                is_dump = step.act == "reload"
                if not session.network.under_way and not waits:
                    self.iterations.clear()
                    session.again(from_dump=is_dump)
                    if is_dump:
                        self.is_loaded, self.loaded_at = True, len(session.network.exchanges)
            case _:
                self.call(step)
        session.sync()
        session.sync()  # what others wrote may have made a live read fetch, which others hear of
        self.collect()

    def go_on(self, step: Step) -> None:
        """Takes the next item or page of an iteration, unless it has ended or waits for one."""
        iteration = self.iterations.get(step.number)
        if iteration is not None and iteration.task is None:
            iteration.task = self.session.begin(step, iteration.take).task

    def collect_iterations(self) -> None:
        """Looks at what iterations gave; at its end, one has given all that was there all the time."""
        hidden = [one.step.arguments.get("id") for one in self.operations if self.session.world.optimistic]
        for number, iteration in [*self.iterations.items()]:
            iteration.throughout &= {*self.session.server.items}
            iteration.throughout.difference_update(hidden)  # what is deleted optimistically shows nowhere
            task, iteration.task = iteration.task, None
            if task is None:
                continue
            if not task.done:
                iteration.task = task
            elif task.error is not None:
                del self.iterations[number]
                if not isinstance(task.error, restencil.NetworkError):
                    self.differ("an iteration raises", str(iteration.step), repr(task.error))
            elif task.value is not None:
                items = task.value.items if iteration.step.name.endswith(".pages") else [task.value]
                iteration.given += [item.id for item in items]
            else:
                del self.iterations[number]
                self.outcome.counts["iterations compared"] += 1
                left_out = iteration.throughout - {*iteration.given}
                if left_out:
                    self.differ("an iteration left out", str(iteration.step), f"{left_out}: gave {iteration.given}")

    def watch(self, step: Step) -> None:
        """Opens a live read, or leaves it where the program has enough of them."""
        if len(self.watched) < 3:
            seen: list[Any] = []
            self.watched.append((step, seen, self.session.watch(step.name, step.arguments, seen)))

    def check_watched(self) -> None:
        """A live read that is open shows what the server would say, once nothing is under way."""
        session = self.session
        session.settle()
        for step, seen, task in self.watched:
            if task.done or session.network.under_way or session.truth(step.name, step.arguments) is None:
                continue
            self.outcome.counts["live reads compared"] += 1
            # What a store has no room for is never fresh, nor a response that took longer than its `max-age`.
            fits = session.world.bound == 0 and not session.world.has_max_age
            for _ in range(200 if session.world.is_shared else 0):
                if seen and session.is_fresh(step.name, step.arguments):
                    break
                time.sleep(0.01)  # the thread of a storage tells the reader of what others wrote
                session.sync()
            found = self.api.wrong(session, step.name, step.arguments, seen[-1]) if seen else "shows nothing"
            if found or (fits and not session.is_fresh(step.name, step.arguments)):
                self.differ("a live read is not up to date", str(step), found or "it is not fresh")

    def call(self, step: Step) -> None:
        """Calls something, and compares its value where nothing overlapped."""
        session = self.session
        is_read = (step.name, step.arguments) in self.api.reads
        was_fresh = is_read and session.is_fresh(step.name, step.arguments, step.through)
        if was_fresh and session.world.is_shared:  # a look at it may have begun to load what makes it stale
            session.sync()
            was_fresh = session.is_fresh(step.name, step.arguments, step.through)
        quiet = not session.network.under_way
        operation = session.begin(step)
        self.operations.append(operation)
        if not is_read or not quiet or step.act == "start" or self.outcome.differences:
            return
        sent = session.asked(operation.first_exchange)
        if was_fresh and sent and not session.world.valkey:  # a call loads from a server what `state` does not wait for
            self.differ("asks although it was fresh", str(step), ", ".join(sent))
        if not was_fresh and not sent and operation.task.error is None and not session.world.is_shared:
            self.differ("gives old data without asking", str(step), repr(operation.task.value))

    def collect(self) -> None:
        """Looks at operations that have ended."""
        self.collect_iterations()
        ended = [one for one in self.operations if one.task.done]
        if not ended:
            return
        others = [one for one in self.operations if not one.task.done]
        self.operations = others
        for one in ended:
            self.ended(one)

    def ended(self, operation: Operation) -> None:
        """Compares what an operation gave."""
        session, step, error = self.session, operation.step, operation.task.error
        name = re.sub(r"\.(fetch|iterate|pages|get_page)$", "", step.name)
        is_read = any(name == read for read, _ in self.api.reads) and not step.name.endswith((".expire", ".invalidate"))
        if error is not None:
            self.raised(operation, error, is_read)
            return
        if step.outcome:
            self.outcome.counts["changes"] += 1
            return
        if not is_read or operation.overlapped or session.network.under_way:
            return
        self.outcome.counts["values compared"] += 1
        value = operation.task.value
        if step.name.endswith((".get_page", ".pages")):
            return
        if step.name.endswith(".iterate"):
            mine, keys = [item.id for item in value or ()], session.server.in_pages()
            if mine != keys:
                self.differ("iterate differs", str(step), f"gives {mine}, the server has {keys}")
            return
        if step.name.endswith(".fetch") and (
            not session.is_fresh(name, step.arguments, step.through)
            or session.bound(name, step.through).cached(**step.arguments) is not value
        ):
            return  # it asks for its own key alone; what is known of the records that this refers to may come later
        found = None if self.is_doubtful(name, step.arguments) else self.api.wrong(session, name, step.arguments, value)
        if found:
            self.differ("a call gives what is wrong", str(step), found)
        elif not self.is_fresh_by_now(step, name) and not session.world.bound:
            why = session.bound(name, step.through).explain(**step.arguments)
            self.differ("is not fresh after it asked", str(step), str(why).replace("\n", " "))

    def is_doubtful(self, name: str, arguments: Arguments) -> bool:
        """Whether a read may be wrong for now: it was not requested by itself.

        The dump of a bounded store does not say which lists were evicted.
        """
        if not (self.is_loaded and self.session.world.bound):
            return False
        return f"GET {self.session.target(name, arguments)}" not in self.session.asked(self.loaded_at)

    def is_fresh_by_now(self, step: Step, name: str) -> bool:
        """Whether a read is fresh that has asked; what others told meanwhile, the next call takes in."""
        session = self.session
        if session.world.is_shared and not session.is_fresh(name, step.arguments, step.through):
            session.sync()
            session.call(step.name, "", step.through, **step.arguments)
        return session.is_fresh(name, step.arguments, step.through)

    def raised(self, operation: Operation, error: BaseException, is_read: bool) -> None:
        """An error is one of those that the server caused, or a difference."""
        step = operation.step
        answers = [one.response for one in self.session.network.exchanges[operation.first_exchange :] if one.response]
        if is_read and not answers and not operation.overlapped and not self.session.network.under_way:
            name = step.name.removesuffix(".fetch")
            if not name.endswith((".get_page", ".iterate", ".pages")) and self.session.truth(name, step.arguments):
                self.differ("a recorded error is wrong", str(step), str(error))
        worst = max((one.status for one in answers), default=0)
        broken = any(one.status == 0 for one in answers)
        if isinstance(error, restencil.NetworkError) and (worst >= 400 or broken):
            return
        misfits = step.outcome in ("ok", "wrapped") and not step.name.endswith("delete")
        if isinstance(error, restencil.NotFoundError) or misfits:
            return
        kind = "a read raises" if is_read else "a change that was made raises"
        self.differ(kind, str(step), f"{type(error).__name__}: {error}")

    # comparing

    def check(self) -> None:
        """Each read that is fresh now shows what the server would say; objects are identical wherever they show."""
        session = self.session
        session.sync()
        changing = [one for one in session.network.under_way if one.is_change]
        if any(one.response is not None for one in changing) or (changing and session.world.optimistic):
            return
        for through in [*session.clients]:
            objects: dict[tuple[Any, str], tuple[Any, Any]] = {}
            for name, arguments in self.api.reads:
                state = session.bound(name, through).state(**arguments)
                if state.data is None:
                    continue
                fresh = session.is_fresh(name, arguments, through)
                if self.is_doubtful(name, arguments):
                    continue
                shown = f"{through}.{name}" if through else name
                read = f"{shown}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"
                if not fresh:
                    self.outcome.counts["stale"] += 1
                else:
                    self.outcome.counts["fresh values compared"] += 1
                    found = self.api.wrong(session, name, arguments, state.data)
                    if found:
                        self.differ("fresh and wrong", read, found)
                        return
                # What was evicted and is loaded from a dump again is another object.
                for entity in () if session.world.bound and self.is_loaded else entities(state.data, set()):
                    key, bound = (type(entity), str(entity.pk())), session.bound(name, through)
                    look = functools.partial(bound.state, **arguments)
                    before, look_before = objects.setdefault(key, (entity, look))
                    # A read that loads from a storage may complete what earlier reads have shown of an entity.
                    if before is not entity and not (session.world.is_shared and is_one(key, look_before, look)):
                        self.differ("one entity is two objects", read, f"{entity!r} beside {before!r}")
                        return
                    objects[key] = entity, look

    def finish(self) -> None:
        """All that is under way arrives; then each read is fresh after one call at the latest, and right."""
        session = self.session
        for _ in range(100):
            if not session.network.under_way:
                break
            first: Exchange = session.network.under_way[0]
            assert first.number is not None
            session.step_held(first.number, deliver=True)
            self.collect()
        self.at = len(self.program.steps)
        session.sync()  # a run through another store goes back for a change that it has heard of
        self.wait_for_leases()
        for number in [*self.iterations] * 50:
            self.go_on(Step("next", number))
            self.collect()
        if self.iterations:
            self.differ("never ends", str(next(iter(self.iterations.values())).step), "50 items later")
        if [one for one in self.operations if not one.task.done]:
            self.differ("never ends", "; ".join(str(one.step) for one in self.operations), "nothing is under way")
        if not self.outcome.differences:
            self.check()
            self.check_watched()
        for through in [*session.clients]:
            for name, arguments in self.api.reads:
                if self.outcome.differences:
                    return
                if session.bound(name, through).cached(**arguments) is not None:
                    self.settle(Step("do", 0, name, arguments, "", through))
        if not self.outcome.differences:
            self.check()

    def wait_for_leases(self) -> None:
        """What waits for a response that another store asked for looks for it now and then."""
        for _ in range(50):
            if not self.session.world.is_shared or all(one.task.done for one in self.operations):
                return
            self.session.sync()
            self.session.advance(100)
            self.collect()

    def settle(self, step: Step) -> None:
        """A read that is called twice asks nothing the second time."""
        self.session.sync()
        self.call(step)
        self.collect()
        if self.outcome.differences or self.session.world.bound:
            return
        if self.session.truth(step.name, step.arguments) is None:
            return
        before = len(self.session.network.exchanges)
        self.call(step)
        self.collect()
        sent = self.session.asked(before)
        if self.session.world.valkey:  # a server tells live reads at any time that they have to ask
            live = {f"GET {self.session.target(watched.name, watched.arguments)}" for watched, *_ in self.watched}
            sent = [one for one in sent if one not in live]
        if sent and not self.outcome.differences:
            self.differ("asks twice for one event", str(step), ", ".join(sent))

    def end(self) -> None:
        """Lets go of what still waits."""
        for exchange in [*self.session.network.under_way]:
            self.session.network.deliver(exchange)
        self.session.settle()


def entities(value: Any, seen: set[int]) -> Iterator[Any]:
    """The entities that a value shows, each once; `seen` has the ids of those that were met before."""
    if isinstance(value, restencil.Entity):
        if id(value) not in seen:
            seen.add(id(value))
            yield value
            for name in value.to_dict():
                yield from entities(getattr(value, name), seen)
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from entities(one, seen)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for one in value:
            yield from entities(one, seen)


def is_one(key: tuple[Any, str], *looks: Callable[[], Any]) -> bool:
    """Whether an entity, by type and key, is one object in what these reads show now."""
    shown = [one for look in looks for one in entities(look().data, set()) if (type(one), str(one.pk())) == key]
    return all(one is shown[0] for one in shown)


def run(program: Program, api: Api = CHANGES, *, check_all: bool = False) -> Outcome:
    """Runs a program and compares; `check_all` compares after each step, and not after every fourth one."""
    return Run(program, api, check_all=check_all).run()
