"""A reference to a row that nobody ever stored is as good in a second process as in the first."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.patience import PATIENCE, eventually
from tests.runtime.servers import Arrived, Reply, Server
from tests.storage.here import Article
from tests.storage.servers import ValkeyServer, executable
from tests.storages import PatientStore, sqlite_storage

from restencil import Controller, ValkeyStorage, create_resource

articles: Any = create_resource(path="/articles/:id", schema=Article, data_expiry_length="10m")


class Api:
    """Gives articles with the ids of authors; one author is known."""

    def __init__(self) -> None:
        self.title = "first"
        self.asked: list[str] = []

    def __call__(self, request: Arrived) -> Reply:
        self.asked.append(f"{request.method} {request.target}")
        if request.method == "PATCH":
            self.title = json.loads(request.body)["title"]
            return Reply(body=json.dumps(self.article(1)).encode())
        if request.target == "/articles":
            return Reply(body=json.dumps([self.article(id) for id in range(1, 4)]).encode())
        return Reply(body=json.dumps(self.article(int(request.target.rpartition("/")[2]))).encode())

    def article(self, id: int) -> dict[str, Any]:
        author = {"id": "a3", "name": "Cy"} if id == 3 else f"a{id}"
        return {"id": str(id), "title": self.title if id == 1 else f"title {id}", "author": author}


class Scene:
    """An API, and processes over one storage."""

    def __init__(self, stack: ExitStack, storage: Callable[[], Any]) -> None:
        self._stack = stack
        self._storage = storage
        self.api = Api()
        self.upstream = stack.enter_context(Server(self.api))

    def process(self) -> Controller:
        store = self._stack.enter_context(PatientStore(storage=self._storage()))
        return self._stack.enter_context(Controller(store, base_url=self.upstream.url, timeout="10m"))


@pytest.fixture(params=["sqlite", "valkey"])
def scene(request: Any, tmp_path: Path) -> Iterator[Scene]:
    with ExitStack() as stack:
        if request.param == "sqlite":
            yield Scene(stack, lambda: sqlite_storage(tmp_path))
            return
        if executable() is None:
            pytest.skip("there is no server of Valkey or Redis")
        server = stack.enter_context(ValkeyServer())
        url = server.url
        yield Scene(stack, lambda: ValkeyStorage(url, namespace="test", principal=None, timeout=PATIENCE * 1_000))


def test_dangling_reference_needs_no_request(scene: Scene) -> None:
    """A second process reads the list and its items without a request."""
    one, other = scene.process(), scene.process()
    shown = [(found.id, found.title) for found in one.read(articles.get_list)]
    assert one.store.flush(PATIENCE * 1_000)
    assert [(found.id, found.title) for found in other.read(articles.get_list)] == shown
    assert other.read(articles.get, id="2").title == "title 2"
    assert scene.api.asked == ["GET /articles"]
    assert [(found.id, found.title) for found in other.cached(articles.get_list) or ()] == shown


def test_dangling_reference_to_expired_row_is_requested(scene: Scene) -> None:
    """What was stored once and is gone is fetched: it is no dangling reference."""
    one = scene.process()
    one.set_response(articles.get_list, [{**scene.api.article(1), "author": {"id": "a1", "name": "Ann"}}])
    assert one.store.flush(PATIENCE * 1_000)
    storage: Any = scene._storage()
    opened = storage.open(scene.upstream.url, lambda: time.time() * 1_000)
    if isinstance(storage, ValkeyStorage):
        names: Any = storage._opened()
        storage._server.command("UNLINK", names.row("Author", "a1"))
    else:
        from tests.storage.batches import batch

        assert storage.commit(batch(opened.epoch, drop=[("Author", "a1")])).number
    storage.close()
    other = scene.process()
    other.read(articles.get_list)
    assert scene.api.asked == ["GET /articles"]


def test_dangling_references_of_four_processes_settle(scene: Scene) -> None:
    """Started together, they ask as often as there are reads, show a change, and are quiet then."""
    processes = [scene.process() for _ in range(4)]
    shown: list[list[str]] = [[] for _ in processes]
    stop = threading.Event()

    def follow(at: int) -> None:
        with processes[at].live(articles.get_list) as live:
            for found in live:
                shown[at].append(found[0].title if found else "")
                if stop.is_set():
                    return

    threads = [threading.Thread(target=follow, args=(at,), daemon=True) for at in range(4)]
    for thread in threads:
        thread.start()
    eventually(lambda: all(titles and titles[-1] == "first" for titles in shown))
    processes[0].fetch(articles.partial_update, {"id": "1"}, {"title": "second"})
    eventually(lambda: all(titles[-1] == "second" for titles in shown))
    asked = 0
    while len(scene.api.asked) > asked:  # until they are quiet
        asked = len(scene.api.asked)
        assert asked <= 10
        time.sleep(1.5)
    lists = [process.cached(articles.get_list) for process in processes]
    assert [found and found[0].title for found in lists] == ["second"] * 4
    stop.set()
    processes[0].fetch(articles.partial_update, {"id": "1"}, {"title": "third"})
    for thread in threads:
        thread.join(PATIENCE)
