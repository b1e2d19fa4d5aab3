"""Reads of a client beside the same requests sent with plain httpx: what the cache shows, and what calls give."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.servers.comparing import DIRECTLY, Server, same
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

    async def after(self, step: str, change: Awaitable[Any], *elsewhere: str) -> Any:
        """Compares after a change, whose value it gives; `elsewhere` are paths of other entities that it changed."""
        value = await change
        await self.elsewhere(*elsewhere)
        await self.agrees(step)
        return value

    async def elsewhere(self, *paths: str) -> None:
        """Tells the client what a document cannot say, and a written spec does: what a change did to other entities."""
        for read in self.reads.values():
            if not self.is_written and read.path.startswith(paths):
                read.call.expire(**read.arguments)

    def said(self, read: Read) -> Json:
        """What the server says now: its JSON, or the status of an error."""
        url = self.address + read.path
        response = DIRECTLY.request(read.method, url, json=read.body, headers=dict(self.headers))
        if not response.is_success:
            return response.status_code
        return response.json() if "json" in response.headers.get("Content-Type", "") else response.text

    def _compare_cache(self, read: Read, said: Json) -> None:
        explanation = read.call.explain(**read.arguments)
        if explanation.needs_fetch or explanation.waits or explanation.expires_in < 0:
            return
        state = read.call.state(**read.arguments)
        value = state.error.status if isinstance(state.error, restencil.NetworkError) else state.data
        self._compare(f"cache {read}", value, said)

    def _compare(self, what: str, value: Any, said: Json) -> bool:
        self.compared += 1
        told = [text for text in differences(value, said) if not self.volatile.intersection(text.split())]
        self.found += [f"{self.step}: {what}: {text}" for text in told]
        return not told


async def outcome(call: Call, arguments: dict[str, Any]) -> Any:
    """What a call gives; the status of the error that it raises."""
    try:
        return await call(**arguments)
    except restencil.NetworkError as error:
        return error.status


def _pk(value: object) -> str | None:
    # `pk` is hidden from type checkers, since an entity may have a field of that name.
    return getattr(value, "pk")() if isinstance(value, restencil.Entity) else None  # noqa: B009


def differences(value: Any, said: Json, *, is_item: bool = False) -> list[str]:
    """Where a value differs from the JSON of the server, in words; `is_item` for what stands in a list or a record.

    An entity is compared by the fields that its spec declares. An item shows what its own address says of it as well.
    """
    if isinstance(said, list) and isinstance(value, list | tuple):
        keys = [_pk(item) for item in value]
        others = [str(item["id"]) if isinstance(item, Mapping) and "id" in item else None for item in said]
        if len(value) != len(said) or (any(keys) and any(others) and keys != others):
            return [f"shows {keys}, the server has {others}"]
        pairs = enumerate(zip(value, said, strict=True))
        return [f"[{n}] {text}" for n, (mine, its) in pairs for text in differences(mine, its, is_item=True)]
    if isinstance(value, restencil.Entity) and not isinstance(said, Mapping):
        return [] if _pk(value) == str(said) else [f"shows {value!r}, the server says {said!r}"]
    if isinstance(value, restencil.Record) and isinstance(said, Mapping):
        mine = value.to_dict()
        declared = {name for kind in type(value).__mro__ for name in vars(kind).get("__annotations__", {})}
        found = [f"does not show {name}" for name in sorted(declared & said.keys() - mine.keys())]
        extra = {name for name in declared & mine.keys() - said.keys() if mine[name] is not None and not is_item}
        found += [f"shows {name} as {mine[name]!r}, of which the server says nothing" for name in sorted(extra)]
        return found + _of_members(mine, {name: said[name] for name in said if name in declared and name in mine})
    if isinstance(value, Mapping) and isinstance(said, Mapping):
        return _of_members(value, {name: said[name] for name in said if name in value})
    return [] if same(value, said, Server()) else [f"shows {value!r}, the server says {said!r}"]


def _of_members(value: Mapping[str, Any], said: Mapping[str, Json]) -> list[str]:
    return [f"{name} {text}" for name in said for text in differences(value[name], said[name], is_item=True)]
