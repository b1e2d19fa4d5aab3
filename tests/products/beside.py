"""Reads of a client beside the same requests sent with plain httpx: what the cache shows, and what calls give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.servers.comparing import DIRECTLY, Server, same, unlike
from tests.servers.worlds import Api, Call

import restencil

Json = Any


@dataclass(frozen=True)
class Read:
    """One read: how the client calls it, and how the server is asked for the same."""

    call: Call
    arguments: dict[str, Any]
    method: str
    path: str
    body: Json
    member: str | None

    def __str__(self) -> str:
        return f"{self.call.endpoint.name}({', '.join(f'{name}={value!r}' for name, value in self.arguments.items())})"


@dataclass
class Beside:
    """A client and the server that it talks to; `reads` are compared after each step."""

    api: Api
    address: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    volatile: frozenset[str] = frozenset()
    is_written: bool = True
    reads: dict[str, Read] = field(default_factory=dict[str, Read])
    found: list[str] = field(default_factory=list[str])
    compared: int = 0
    step: str = ""

    def watch(self, call: Call, path: str, *, post: Json = None, member: str | None = None, **arguments: Any) -> None:
        """Compares this read from now on; `member` names what of the response's value is compared."""
        body = {} if post is None else {"body": post}
        read = Read(call, {**arguments, **body}, "GET" if post is None else "POST", path, post, member)
        self.reads.setdefault(str(read), read)

    async def agrees(self, step: str) -> None:
        """Compares the cache, then the calls, and then the cache again with the server."""
        self.step = step
        await self.api.settled()
        said = {name: self.said(read) for name, read in self.reads.items()}
        for name, read in self.reads.items():
            self._compare_cache(read, said[name])
        for name, read in self.reads.items():
            if not self._compare(f"call {read}", await outcome(read.call, read.arguments), said[name]):
                # So that each difference is found once.
                await outcome(read.call.fetch, read.arguments)
        await self.api.settled()
        for name, read in self.reads.items():
            self._compare_cache(read, said[name])

    async def elsewhere(self, *paths: str) -> None:
        """Tells the client what a document cannot say, and a written spec does: what a change did to other entities."""
        for read in self.reads.values():
            if not self.is_written and read.path.startswith(paths):
                read.call.expire(**read.arguments)

    def said(self, read: Read) -> Json:
        """What the server says now: its JSON, or the status of an error."""
        url = self.address + read.path
        response = DIRECTLY.request(read.method, url, json=read.body, headers=dict(self.headers))
        return response.json() if response.is_success else response.status_code

    def ask(self, method: str, path: str, body: Json = None) -> Json:
        """A request of somebody else, whom the client does not know."""
        response = DIRECTLY.request(method, self.address + path, json=body, headers=dict(self.headers))
        response.raise_for_status()
        return response.json() if response.content else None

    def _compare_cache(self, read: Read, said: Json) -> None:
        explanation = read.call.explain(**read.arguments)
        if explanation.needs_fetch or explanation.waits or explanation.expires_in < 0:
            return
        state = read.call.state(**read.arguments)
        value = state.error.status if isinstance(state.error, restencil.NetworkError) else state.data
        self._compare(f"cache {read}", value, said)

    def _compare(self, what: str, value: Any, said: Json) -> bool:
        self.compared += 1
        server = Server()
        found = differences(value, said, server)
        told = [text for text in found if not any(f"shows {name} " in text for name in self.volatile)]
        self.found += [f"{self.step}: {what}: {text}" for text in told]
        return not told


async def outcome(call: Call, arguments: dict[str, Any]) -> Any:
    """What a call gives; the status of the error that it raises."""
    try:
        return await call(**arguments)
    except restencil.NetworkError as error:
        return error.status


def differences(value: Any, said: Json, server: Server) -> list[str]:
    """Where a value differs from the JSON of the server, in words."""
    if isinstance(said, list) and isinstance(value, list | tuple):
        keys = [item.pk() if isinstance(item, restencil.Entity) else None for item in value]
        theirs = [str(item.get("id")) if isinstance(item, Mapping) else None for item in said]
        if len(value) != len(said) or keys != theirs and any(keys):
            return [f"shows {keys}, the server has {theirs}"]
        return [f"[{n}] {t}" for n, (a, b) in enumerate(zip(value, said, strict=True)) for t in differences(a, b, server)]
    if isinstance(value, Mapping) and isinstance(said, Mapping):
        members = [name for name in said if name in value]
        return [f"{name}: {text}" for name in members for text in differences(value[name], said[name], server)]
    if isinstance(value, restencil.Record):
        # A written spec declares a part of what the server says; that part has to show.
        declared = {name for kind in type(value).__mro__ for name in vars(kind).get("__annotations__", {})}
        needed = {name: said[name] for name in said if name in declared} if isinstance(said, Mapping) else None
        return list(unlike(value, said, server, needed=needed))
    return [] if same(value, said, server) else [f"shows {value!r}, the server says {said!r}"]
