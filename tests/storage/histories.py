"""Random histories of several processes over one storage; what differs at their end is made as short as it can be.

`python -m tests.storage.histories FROM TO [memory | sqlite | server]` runs those of these seeds.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias

from tests.storage import machine
from tests.storage.machine import (
    ADD,
    BARE,
    ENDPOINTS,
    EVERY,
    GET,
    LIST,
    MOVE,
    ONE,
    PAGE,
    PKS,
    PLAIN,
    WORDS,
    Setting,
    Step,
)
from tests.storage.servers import ValkeyServer
from tests.storages import sqlite_storage

from restencil import RestEndpoint, Storage, ValkeyStorage
from restencil.storage import Opened

Door: TypeAlias = Callable[[Setting], Callable[[], Storage]]

WEIGHTS: Final[dict[str, float]] = {
    "response": 10,
    "set": 2,
    "invalidate": 1,
    "invalidate_all": 0.5,
    "expire_all": 0.5,
    "read": 3,
    "find": 1,
    "look": 2,
    "see": 1,
    "commit": 4,
    "restart": 0.7,
    "kill": 0.5,
    "fork": 0.5,
    "reset": 0.25,
    "error": 0.7,
    "evict": 0.5,
    "clock": 0.2,
    "advance": 2,
}
"""How often a step is of which kind."""


def record(chance: random.Random, *, plain: bool = False) -> dict[str, Any]:
    """What a server says of an entity."""
    made: dict[str, Any] = {"id": chance.choice(PKS)}
    for name in "ab":
        if chance.random() < 0.4:
            made[name] = chance.randrange(3)
    if not plain and chance.random() < 0.3:
        made["owner"] = {"id": chance.choice(PKS)}
    if not plain and chance.random() < 0.3:
        made["slug"] = chance.choice(machine.SLUGS)
    return made


def response(chance: random.Random, endpoints: Sequence[machine.AnyEndpoint]) -> tuple[Any, ...]:
    """An answer: endpoint, arguments, value, how long ago it was asked for."""
    age = chance.choice((0, 0, 0, 5, 30))
    one, args = record(chance), chance.choice(machine.ARGS)
    endpoint = chance.choice(endpoints)
    if endpoint is GET:
        return endpoint, ({"id": one["id"]},), one, age
    if endpoint is ONE:
        one = record(chance, plain=True)
        return endpoint, ({"id": one["id"]},), one, age
    if endpoint is machine.DELETE:
        return endpoint, ({"id": one["id"]},), {"id": one["id"]}, age
    if endpoint is BARE:
        return endpoint, (args,), chance.randrange(4), age
    if endpoint is WORDS:
        return endpoint, (), [chance.randrange(4)], age
    if endpoint is ADD:
        return endpoint, ({},), chance.randrange(4), age
    if endpoint is PLAIN or endpoint is EVERY:
        return endpoint, (args,), [record(chance, plain=True) for _ in range(chance.randrange(4))], age
    if endpoint is LIST:
        fitting = args if chance.random() < 0.7 else {}
        return endpoint, (args,), [{**record(chance), **fitting} for _ in range(chance.randrange(4))], age
    if endpoint is PAGE:
        items = [record(chance) for _ in range(chance.randrange(3))]
        return endpoint, ({**args, "cursor": chance.randrange(2)},), items, age
    if endpoint is MOVE:
        return endpoint, ({"id": one["id"]}, {"a": 1}), {"a": chance.randrange(3), **one}, age
    return endpoint, (args, {}), one, age


def step(chance: random.Random, endpoints: Sequence[machine.AnyEndpoint]) -> Step:
    """One step of one of up to three processes."""
    kind = chance.choices([*WEIGHTS], [*WEIGHTS.values()])[0]
    what: Any = None
    match kind:
        case "response":
            what = response(chance, endpoints)
        case "set":
            what = record(chance)
        case "invalidate" | "read":
            what = chance.choice(machine.READS)
        case "error":
            what = chance.choice(machine.READS), chance.choice((404, 500, None))
        case "invalidate_all" | "expire_all":
            what = chance.choice((GET, LIST, PLAIN, BARE))
        case "find":
            what = chance.choice(machine.SLUGS)
        case "advance":
            what = chance.choice((0, 1, 5, 40))
        case _:
            pass
    return chance.randrange(3), kind, what


def history(seed: int) -> tuple[Setting, list[Step]]:
    """The setting and the history of a seed."""
    chance = random.Random(seed)
    setting = Setting(
        processes=chance.randrange(1, 4),
        write_behind=chance.choice((0, 5)),
        inline=chance.random() < 0.7,
        history=chance.choice((2, 3, 10_000)),
        bound=chance.choice((None, None, 3)),
        tick=chance.choice((10, 10, 1, 0)),
    )
    endpoints = chance.choice((ENDPOINTS, ENDPOINTS, chance.sample(ENDPOINTS, 4), *machine.TOGETHER))
    return setting, [step(chance, endpoints) for _ in range(chance.randrange(2, 25))]


def shortest(steps: list[Step], differs: Callable[[list[Step]], bool]) -> list[Step]:
    """The steps without those that it takes not, so that it differs."""
    size = max(1, len(steps) // 2)
    while size:
        start, fewer = 0, False
        while start < len(steps):
            tried = steps[:start] + steps[start + size :]
            if differs(tried):
                steps, fewer = tried, True
            else:
                start += size
        if not fewer:
            size //= 2
    return steps


def difference(seed: int, door: Door | None = None, *, is_inline: bool | None = None) -> str:
    """What differs at the end of the history of a seed, with the shortest history that shows it; "" for nothing."""
    setting, steps = history(seed)
    if is_inline is not None:
        setting = setting._replace(inline=is_inline)
    if is_inline is False:
        setting = setting._replace(write_behind=5)
    if not machine.run(setting, steps, door):
        return ""
    steps = shortest(steps, lambda tried: bool(machine.run(setting, tried, door)))
    found = machine.run(setting, steps, door)
    return "\n".join([f"seed {seed}: {setting}", *map(_said, steps), *(f"  > {one}" for one in found)])


def _said(one: Step) -> str:
    place, kind, what = one
    names = {id(value): name for name, value in vars(machine).items()}
    return f"    {place} {kind} {_named(what, names)!s}"


def _named(what: Any, names: dict[int, str]) -> Any:
    if isinstance(what, tuple):
        return tuple(_named(one, names) for one in what)
    return names.get(id(what), what) if isinstance(what, RestEndpoint) else what


# -- storages ----------------------------------------------------------------------------------------------------------


@contextmanager
def files() -> Generator[Door]:
    """Folders of SQLite, one for each history."""
    with tempfile.TemporaryDirectory(prefix="rs", ignore_cleanup_errors=True) as folder:

        def door(setting: Setting) -> Callable[[], Storage]:
            path = Path(folder) / uuid.uuid4().hex
            return lambda: sqlite_storage(path, write_behind=setting.write_behind, poll=1e12)

        yield door


class Level(ValkeyStorage):
    """A server whose clock is that of the stores."""

    def open(self, place: str, now: Callable[[], float], /) -> Opened:
        return super().open(place, now)._replace(offset=0.0)


@contextmanager
def server() -> Generator[Door]:
    """Namespaces of a server, one for each history."""
    with ValkeyServer() as running:

        def door(setting: Setting) -> Callable[[], Storage]:
            name = uuid.uuid4().hex
            url = f"unix://{running.socket_path}"
            return lambda: Level(url, namespace=name, principal=None, history=setting.history, timeout="5m")

        yield door


def main(first: str, last: str, kind: str = "memory") -> None:
    """Runs the histories of some seeds."""
    begin, bad = time.monotonic(), 0
    with {"memory": _memory, "sqlite": files, "server": server}[kind]() as door:
        is_inline = {"sqlite": True, "server": False}.get(kind)
        for seed in range(int(first), int(last)):
            said = difference(seed, door, is_inline=is_inline)
            if said:
                bad += 1
                print(said, flush=True)
    print(f"{int(last) - int(first)} histories, {bad} with differences, {time.monotonic() - begin:.0f} s")


@contextmanager
def _memory() -> Generator[None]:
    yield None


if __name__ == "__main__":
    main(*sys.argv[1:])
