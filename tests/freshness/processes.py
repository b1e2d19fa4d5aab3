"""Runs processes that share one cache, and disturbs them: `python -m tests.freshness.processes --minutes 10 --seed 1`.

Five processes read and change over one server of Valkey, before one honest server, while a process is killed, the
server of the storage is stopped, its connections are cut, or held so that commits come late. After each disturbance,
when nobody works any more, every value that counts as fresh in any of them is compared with the server's, and no read
may ask for ever. Prints what was done, and the differences.

A process is killed at any moment but between a change that the server has made and its commit: what a process never
told anybody, the others cannot know.
"""

from __future__ import annotations

import argparse
import json
import pickle
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from tests.freshness.driver import CHANGES, Session
from tests.freshness.programs import READS, Arguments, Step, World, read, world_at_random
from tests.freshness.server import NOTHING
from tests.freshness.server import Server as Honest
from tests.freshness.spec import client_class
from tests.libraries import httpx
from tests.runtime.servers import Arrived, Reply, Server
from tests.storage.proxy import Proxy
from tests.storage.servers import ValkeyServer, executable

import restencil
from restencil import Store, ValkeyStorage

PROCESSES: Final = 5
ROUNDS: Final = 25
"""How many disturbances there are in one world."""

QUIET: Final = 10.0
"""How many seconds a process has to hear what others wrote, once nobody works any more."""

OUTCOME: Final = "x-outcome"
"""The request header that says how the server answers a change."""


# --- one process ------------------------------------------------------------------------------------------------------


class Process(Session):
    """A client in real time, over HTTP and a storage that others share; `run` does what it is told, line by line."""

    def __init__(self, world: World, upstream: str, storage: str, namespace: str, busy: Path) -> None:
        self.world = world
        self.package = CHANGES.package(world)
        self.clock: Any = lambda: time.time() * 1000
        shared = ValkeyStorage(storage, namespace=namespace, principal=None, write_behind=0, timeout=500)
        self.store = Store(storage=shared)
        self.outcome = "whole"
        self.sent = 0
        self.http = httpx.Client(transport=_Way(self, upstream), timeout=30)
        self.clients = {"": self._client(self.store)}
        self.stores = {"": self.store}
        self._busy = busy

    def _client(self, store: Store) -> Any:
        return client_class(self.package, asynchronous=False)(store=store, client=self.http)

    def run(self) -> None:
        """Does each order of a line on the standard input, and answers with a line of JSON."""
        print(json.dumps("ready"), flush=True)
        for line in sys.stdin:
            order = json.loads(line)
            print(json.dumps(getattr(self, order.pop("do"))(**order)), flush=True)

    def work(self, seed: str, steps: int) -> int:
        """Reads and changes at random; how many changes there were."""
        chance, changes = random.Random(seed), 0
        share = chance.choice((0.0, 0.1, 0.35))
        for _ in range(steps):
            if chance.random() < share:
                self._change(CHANGES.change(chance, CHANGE_OUTCOMES))
                changes += 1
            else:
                self._attempt(read(chance, READS))
        return changes

    def _change(self, step: Step) -> None:
        """Makes a change, and is busy until others can know of it."""
        self._busy.write_bytes(b"1")
        self.outcome = step.outcome
        self._attempt(step)
        self.outcome = "whole"
        while not self.store.flush(timeout=1_000):
            time.sleep(0.01)
        self._busy.write_bytes(b"0")

    def _attempt(self, step: Step) -> bool:
        """Does a call; False if it raised what clients raise."""
        try:
            self._work(self.bound(step.name), step)()
        except restencil.RestencilError:
            return False
        return True

    def rest(self) -> str:
        """Writes all that is to be written, and waits for the storage; its state."""
        end = time.monotonic() + 3 * QUIET
        while time.monotonic() < end:
            if self.store.flush(timeout=1_000) and self.store.storage_stats().state == "on":
                break
            time.sleep(0.05)
        return self.store.storage_stats().state

    def compare(self, server: str) -> dict[str, Any]:
        """Compares all that is fresh with a server, until all is right or it has waited long enough."""
        self.server = pickle.loads(Path(server).read_bytes())
        end = time.monotonic() + QUIET
        while True:
            compared, wrong = 0, list[str]()
            for name, arguments in READS:
                if self.is_fresh(name, arguments):
                    compared += 1
                    found = self.wrong(name, arguments, self.bound(name).cached(**arguments))
                    wrong += [f"{name}({arguments}): {found}"] if found else []
            if not wrong or time.monotonic() > end:
                return {"compared": compared, "wrong": wrong}
            time.sleep(0.1)

    def settle_reads(self, seed: str) -> list[str]:
        """Reads some of what there is until a read sends no request; what asks each time although it has a value."""
        return [
            f"{name}({arguments})"
            for name, arguments in random.Random(seed).sample(READS, 8)
            if all(self._asks(name, arguments) for _ in range(5))
        ]

    def _asks(self, name: str, arguments: Arguments) -> bool:
        before = self.sent
        # What is not there is asked for each time.
        return self._attempt(Step("do", 0, name, arguments)) and self.sent > before


class _Way(httpx.HTTPTransport):
    """Leads all requests of a process to the honest server, and says how it is to answer them."""

    def __init__(self, process: Process, upstream: str) -> None:
        super().__init__()
        self._process = process
        self._upstream = httpx.URL(upstream)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self._process.sent += 1
        request.headers[OUTCOME] = self._process.outcome
        request.url = request.url.copy_with(scheme="http", host=self._upstream.host, port=self._upstream.port)
        return super().handle_request(request)


CHANGE_OUTCOMES: Final = ("whole", "whole", "whole", "part", "id", "204", "204", "ok", "500", "lost", "refused")


# --- all of them ------------------------------------------------------------------------------------------------------


class Upstream:
    """The honest server behind HTTP; one request at a time, each after a moment."""

    def __init__(self, world: World) -> None:
        self.server: Honest = CHANGES.server(world)
        self._lock = threading.Lock()
        self._chance = random.Random(1)

    def __call__(self, request: Arrived) -> Reply:
        time.sleep(self._chance.random() * 0.01)
        body = json.loads(request.body) if request.body else None
        outcome = request.headers.get(OUTCOME, "whole")
        with self._lock:
            found = self.server.answer(request.method, request.target, request.headers, body, outcome)
        time.sleep(self._chance.random() * 0.01)
        if found.status == 0:
            return Reply(raw=b"")
        text = b"" if found.body is NOTHING else json.dumps(found.body).encode()
        return Reply(found.status, text, found.headers)


class Worker:
    """One of the processes, from outside."""

    def __init__(self, arguments: Sequence[str], busy: Path) -> None:
        self._arguments, self._busy = [*arguments, str(busy)], busy
        self.begin()

    def begin(self) -> None:
        """Starts it, anew where it was killed."""
        self._busy.write_bytes(b"0")
        command = [sys.executable, "-m", "tests.freshness.processes", "--process", *self._arguments]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._line()

    def _line(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        return json.loads(line) if line else None

    def tell(self, do: str, **order: Any) -> Any:
        """What comes of an order; None where the process was killed meanwhile."""
        assert self._process.stdin is not None
        try:
            print(json.dumps({"do": do, **order}), file=self._process.stdin, flush=True)
        except BrokenPipeError:
            return None
        return self._line()

    def kill(self) -> bool:
        """Kills it as soon as no change of it waits for its commit; False where that took too long."""
        for _ in range(400):
            self._process.send_signal(signal.SIGSTOP)
            time.sleep(0.002)
            if self._busy.read_bytes() == b"0":
                self.end()
                return True
            self._process.send_signal(signal.SIGCONT)
            time.sleep(0.005)
        return False

    def end(self) -> None:
        self._process.kill()
        self._process.wait()

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None


class Trial:
    """Processes in one world, disturbed again and again."""

    def __init__(self, seed: str, counts: Counter[str], end: float) -> None:
        self.chance = random.Random(seed)
        self.counts = counts
        self.differences: list[str] = []
        self.seed = seed
        self.end = end
        self.world = replace(
            world_at_random(self.chance, "valkey"), optimistic=False, needs="all", leaves_out_null=False
        )

    def run(self) -> None:
        """All its rounds, as long as there is time."""
        upstream = Upstream(self.world)
        with tempfile.TemporaryDirectory() as folder, ValkeyServer() as valkey, Server(upstream) as http:
            self.valkey, self.upstream, self.folder = valkey, upstream, Path(folder)
            with Proxy(valkey.port) as self.proxy:
                given = (json.dumps(asdict(self.world)), http.url, self.proxy.url, f"trial-{self.seed}")
                self.workers = [Worker(given, self.folder / str(number)) for number in range(PROCESSES)]
                try:
                    for number in range(ROUNDS):
                        if time.monotonic() > self.end or len(self.differences) > 3:
                            break
                        self.round(f"{self.seed} {number}")
                finally:
                    for worker in self.workers:
                        worker.end()

    def all(self, do: str, **order: Any) -> list[Any]:
        """What comes of an order to all of them at once."""
        with ThreadPoolExecutor(PROCESSES) as pool:
            return [*pool.map(lambda worker: worker.tell(do, **order), self.workers)]

    def round(self, name: str) -> None:
        """They work and are disturbed; then what is fresh is compared."""
        with ThreadPoolExecutor(PROCESSES) as pool:
            working = [
                pool.submit(worker.tell, "work", seed=f"{name} {at}", steps=self.chance.choice((5, 15, 30)))
                for at, worker in enumerate(self.workers)
            ]
            time.sleep(self.chance.random() * 0.3)
            event = self.disturb()
            done = [one.result() for one in working]
        for worker in self.workers:
            if worker.has_ended:
                worker.begin()
        self.counts["changes"] += sum(one or 0 for one in done)
        states = self.all("rest")
        self._differ(name, event, [f"the storage is {state} at the end" for state in states if state != "on"])
        server = self.folder / "server"
        server.write_bytes(pickle.dumps(self.upstream.server))
        for found in self.all("compare", server=str(server)):
            if found is None:
                self._differ(name, event, ["a process ended by itself"])
                continue
            self.counts["fresh values compared"] += found["compared"]
            self._differ(name, event, found["wrong"])
        for worker in self.chance.sample(self.workers, 2):
            asking = worker.tell("settle_reads", seed=name)
            self.counts["reads repeated"] += 8
            self._differ(name, event, [f"asks each time: {one}" for one in asking or ()])

    def _differ(self, name: str, event: str, found: Sequence[str]) -> None:
        self.differences += [f"round {name}, after {event}, {self.world}: {one}" for one in found]

    def disturb(self) -> str:
        """Does one thing, or two, to the processes or to their storage; what it was."""
        chance = self.chance
        done: list[str] = []
        for kind in chance.sample(("kill", "stop", "cut", "hold"), chance.choice((1, 1, 2))):
            if kind == "kill":
                if not chance.choice(self.workers).kill():
                    continue
            elif kind == "stop":
                self.valkey.stop()
                time.sleep(chance.choice((0.05, 0.2, 0.6, 1.5, 3.6)))
                self.valkey.start()
            elif kind == "cut":
                self.proxy.cut()
            else:
                self.proxy.hold()
                time.sleep(chance.choice((0.05, 0.3, 1.2)))
                self.proxy.release()
            self.counts[kind] += 1
            done.append(kind)
            time.sleep(chance.random() * 0.1)
        return " and ".join(done) or "nothing"


def main() -> int:
    """Parses the command line, runs, and prints."""
    parser = argparse.ArgumentParser(prog="python -m tests.freshness.processes")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--process", nargs=5, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.process:
        world, upstream, storage, namespace, busy = given.process
        Process(World(**json.loads(world)), upstream, storage, namespace, Path(busy)).run()
        return 0
    if executable() is None:
        print("there is no server of Valkey or Redis here, so nothing is shown")
        return 0
    end = time.monotonic() + given.minutes * 60
    counts: Counter[str] = Counter()
    differences: list[str] = []
    number = 0
    while time.monotonic() < end:
        trial = Trial(f"{given.seed}-{number}", counts, end)
        trial.run()
        differences += trial.differences
        number += 1
        print(f"{number} worlds: {dict(counts)}, {len(differences)} differences", flush=True)
        for one in trial.differences:
            print(f"  {one}", flush=True)
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
