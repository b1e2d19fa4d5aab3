"""Processes over one server of Valkey or Redis, each with a way of its own to it, before an API of notes."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from tests.patience import PATIENCE
from tests.runtime.servers import Arrived, Reply, Server
from tests.storage.proxy import Proxy
from tests.storage.servers import ValkeyServer

from restencil import Controller, Entity, Store, ValkeyStorage, create_resource


class Note(Entity):
    """What is read and changed."""

    id: str = ""
    text: str = ""


notes: Any = create_resource(path="/notes/:id", schema=Note, data_expiry_length="10m")


class Notes:
    """Keeps notes, and counts what it is asked."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.asked: list[str] = []

    def __call__(self, request: Arrived) -> Reply:
        id = request.target.partition("?")[0].rpartition("/")[2]
        self.asked.append(f"{request.method} {id}")
        if request.method == "PATCH":
            self.texts[id] = json.loads(request.body)["text"]
        return Reply(body=json.dumps({"id": id, "text": self.texts.get(id, "first")}).encode())


class House:
    """Processes over one API and one server; `house.stack` ends all of them."""

    def __init__(self, *settings: str, api: Callable[[Arrived], Reply] | None = None) -> None:
        self.api: Any = api or Notes()
        self.stack = ExitStack()
        self.server = self.stack.enter_context(ValkeyServer(*settings))
        self.upstream = self.stack.enter_context(Server(self.api))
        self.proxies: list[Proxy] = []

    def process(
        self, *, timeout: float = PATIENCE * 1_000, max_entities: int | None = None, **options: Any
    ) -> Controller:
        """One more process; it waits for a busy machine where a test has no way that is held up."""
        proxy = self.stack.enter_context(Proxy(self.server.port))
        self.proxies.append(proxy)
        storage = ValkeyStorage(proxy.url, namespace="test", principal="ann", timeout=timeout)
        store = self.stack.enter_context(Store(storage=storage, max_entities=max_entities))
        return self.stack.enter_context(Controller(store, base_url=self.upstream.url, timeout="10m", **options))


def text(process: Controller, id: str = "1") -> str | None:
    """What a process shows, without asking."""
    note = process.cached(notes.get, id=id)
    return None if note is None else str(note.text)


def change(process: Controller, id: str, text: str) -> None:
    process.fetch(notes.partial_update, {"id": id}, {"text": text})


def state(process: Controller) -> str:
    return str(process.store.storage_stats().state)
