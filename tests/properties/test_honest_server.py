"""After each call of a random program everything that the cache shows is what the server says.

Programs of 1 to 30 calls run through a generated client against a small honest server, in both worlds. After each call
every cached list, page and entity is compared with the server; it may differ only where `explain` admits that it is
stale. Programs come in kinds, so that it shows which rules hold; the last kind has all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from tests.effort import examples
from tests.libraries import httpx
from tests.properties.honest import TABLES, Honest, served
from tests.servers.comparing import Server, differences, items_of
from tests.servers.packages import generated
from tests.servers.worlds import Api, World, play

import restencil

Json = Any


@dataclass(frozen=True)
class Step:
    """One call: what is done to which table, with which key, arguments and body."""

    table: str
    act: str
    pk: int = 0
    arguments: tuple[tuple[str, Any], ...] = ()
    body: tuple[tuple[str, Any], ...] = ()
    then: Step | None = None

    def __repr__(self) -> str:
        given = [*([f"id={self.pk}"] if self.pk else []), *(f"{name}={value!r}" for name, value in self.arguments)]
        if self.body:
            given.append(f"body={dict(self.body)!r}")
        return f"{self.table}.{self.act}({', '.join(given)})" + (f" while {self.then!r}" if self.then else "")


READS: Final = ("get", "get_list", "fetch_list", "expire")
CHANGES: Final = ("create", "patch", "put", "delete")

NOTHING: Final = st.just(())
FILTERS: Final = st.sampled_from(
    [(), (("done", True),), (("done", False),), (("rank", 1),), (("done", True), ("rank", 1))]
)
ORDERS: Final = st.sampled_from([(), (("order", "title"),)])
KEYS: Final = st.integers(1, 9)
TITLES: Final = st.sampled_from(["a", "b", "z", "too long"])
WHOLE: Final = st.fixed_dictionaries(
    {"title": TITLES, "done": st.booleans(), "rank": st.integers(0, 1), "note": st.sampled_from(["x", "y"])}
)
SPARE: Final = st.fixed_dictionaries(
    {"title": TITLES, "done": st.booleans()}, optional={"rank": st.integers(0, 1), "note": st.sampled_from(["x", None])}
)
TITLE: Final = st.fixed_dictionaries({"title": TITLES})
PART: Final = st.fixed_dictionaries(
    {},
    optional={"title": TITLES, "done": st.booleans(), "rank": st.integers(0, 1), "note": st.sampled_from(["x", None])},
).filter(bool)


def _steps(
    tables: tuple[str, ...],
    acts: tuple[str, ...],
    arguments: st.SearchStrategy[Any] = NOTHING,
    put: st.SearchStrategy[dict[str, Json]] = WHOLE,
    patch: st.SearchStrategy[dict[str, Json]] = PART,
) -> st.SearchStrategy[Step]:
    """Steps of a kind of programs."""

    @st.composite
    def step(draw: st.DrawFn) -> Step:
        table, act = draw(st.sampled_from(tables)), draw(st.sampled_from(acts))
        pk = draw(KEYS) if act in ("get", "patch", "put", "delete", "overlap", "both") else 0
        given = draw(arguments) if act in ("get_list", "fetch_list", "expire", "get_page", "iterate") else ()
        if act == "get_page":
            if table == "plain":
                act = "get_list"
            else:
                number = draw(st.integers(1, 3))
                place = {
                    "numbered": ("page", number),
                    "shifted": ("offset", 3 * number),
                    "walked": ("cursor", 3 * number),
                }
                given = (*given, place[table])
        if act == "iterate" and table == "plain":
            act = "get_list"
        body = draw(put if act in ("create", "put") else patch) if act not in READS else {}
        then = None
        if act == "overlap":
            then = draw(st.sampled_from([Step(table, "fetch_list"), Step(table, "patch", pk, (), (("title", "o"),))]))
        if act == "both":
            other = draw(KEYS.filter(lambda found: found != pk))
            then = Step(table, draw(st.sampled_from(["patch", "delete"])), other, (), (("title", "t"),))
        return Step(table, act, pk, given, tuple(sorted(body.items())), then)

    return step()


@dataclass(frozen=True)
class Kind:
    """Programs of some steps, and one that has failed before."""

    step: st.SearchStrategy[Step]
    witness: tuple[Step, ...] = ()


KINDS: Final = {
    "reads": Kind(_steps(TABLES, (*READS, "delete"), FILTERS)),
    "changes": Kind(_steps(("plain",), (*READS, *CHANGES, "both"), put=WHOLE, patch=TITLE)),
    "sparse bodies": Kind(
        _steps(("plain",), (*READS, *CHANGES), put=SPARE),
        (Step("plain", "get_list"), Step("plain", "put", 1, body=(("title", "a"),))),
    ),
    "filters": Kind(
        _steps(("plain",), (*READS, *CHANGES), FILTERS),
        (Step("plain", "get_list", arguments=(("done", True),)), Step("plain", "patch", 1, body=(("done", True),))),
    ),
    "orders": Kind(
        _steps(("plain",), (*READS, *CHANGES), ORDERS),
        (Step("plain", "get_list", arguments=(("order", "title"),)), Step("plain", "patch", 1, body=(("title", "z"),))),
    ),
    "pages": Kind(
        _steps(TABLES[1:], ("get_list", "get_page", "fetch_list", "get"), FILTERS),
        (Step("numbered", "get_page", arguments=(("page", 2),)),),
    ),
    "runs": Kind(
        _steps(TABLES[1:], ("get_list", "iterate", "create", "delete"), FILTERS),
        (Step("numbered", "iterate"),),
    ),
    "overlaps": Kind(
        _steps(("plain",), ("get_list", "overlap", "get"), patch=TITLE),
        witness=(
            Step("plain", "get_list"),
            Step("plain", "overlap", 1, body=(("title", "a"),), then=Step("plain", "fetch_list")),
        ),
    ),
    "everything": Kind(
        _steps(TABLES, (*READS, *CHANGES, "get_page", "iterate", "both"), FILTERS | ORDERS, put=SPARE),
        (Step("shifted", "get_page", arguments=(("offset", 3),)),),
    ),
}


@pytest.fixture(scope="module")
def honest() -> Honest:
    """The tables."""
    return Honest()


@pytest.fixture(scope="module")
def address(honest: Honest) -> Iterator[str]:
    """The server."""
    with served(honest) as found:
        yield found


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The generated package."""
    return generated("honest", tmp_path_factory.mktemp("honest"))


def _kinds() -> list[Any]:
    return [pytest.param(kind, id=name) for name, kind in KINDS.items()]


@pytest.mark.parametrize("world", ["sync", "asyncio"])
@pytest.mark.parametrize("kind", _kinds())
def test_honest_server_cache_shows_what_the_server_says(
    kind: Kind, world: World, honest: Honest, address: str, package: ModuleType
) -> None:
    """Some programs of each kind, the same ones each time."""
    _try(kind, world, honest, address, package, examples=examples(2, 3), length=12)


@pytest.mark.slow
@pytest.mark.parametrize("world", ["sync", "asyncio"])
@pytest.mark.parametrize("kind", _kinds())
def test_honest_server_cache_shows_what_the_server_says_for_long(
    kind: Kind, world: World, honest: Honest, address: str, package: ModuleType
) -> None:
    """Many and longer programs that no one tried before."""
    _try(kind, world, honest, address, package, examples=300, length=30)


def _try(
    kind: Kind, world: World, honest: Honest, address: str, package: ModuleType, *, examples: int, length: int
) -> None:
    @settings(
        max_examples=examples,
        phases=[Phase.explicit, Phase.generate, Phase.shrink],
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(program=st.lists(kind.step, min_size=1, max_size=length))
    @example(program=list(kind.witness))
    def holds(program: list[Step]) -> None:
        honest.reset()
        play(world, lambda: _run(program, Api(world, package, "Honest", address), honest, package))

    holds()


async def _run(program: list[Step], api: Api, honest: Honest, package: ModuleType) -> None:
    server = Server(whole=_whole, positions=frozenset({"next"}))
    try:
        for number, step in enumerate(program):
            await _take(step, api, honest)
            await api.settled()
            found = differences(api, package, server)
            told = "\n".join(f"  {one!r}" for one in program[: number + 1])
            assert not found, f"after\n{told}\nthe cache and the server differ:\n" + "\n".join(found)
    finally:
        await api.close()


def _whole(server: Server, url: str) -> list[Json]:
    query = httpx.URL(url)
    for name in ("page", "offset", "cursor"):
        query = query.copy_remove_param(name)
    return list(server.json(str(query.copy_set_param("all", "1"))))


async def _take(step: Step, api: Api, honest: Honest) -> None:
    """Does one step; what the server refuses is refused here too, and nothing else is."""
    resource: Any = getattr(api, step.table)
    arguments, body = dict(step.arguments), dict(step.body)
    if step.act == "iterate":
        await _iterated(step, resource, arguments, honest)
        return
    try:
        if step.act == "get":
            await resource.get(id=step.pk)
        elif step.act == "get_list":
            await resource.get_list(**arguments)
        elif step.act == "fetch_list":
            await resource.get_list.fetch(**arguments)
        elif step.act == "expire":
            resource.get_list.expire(**arguments)
        elif step.act == "get_page":
            found = _keys(await resource.get_list.get_page(**arguments))
            there = [row["id"] for row in _said(step, honest)]
            assert found == there, f"{step!r} gave {found}, the server has {there}"
        elif step.act == "create":
            await resource.create(body=body)
        elif step.act == "put":
            await resource.update(id=step.pk, body=body)
        elif step.act == "patch":
            await resource.partial_update(id=step.pk, body=body)
        elif step.act == "delete":
            await resource.delete(id=step.pk)
        elif step.act == "overlap" and step.then is not None:
            with api.holding("PATCH"):
                changing = api.start(resource.partial_update(id=step.pk, body=body))
                await api.held()
                await _take(step.then, api, honest)
            await changing.result()
        elif step.act == "both" and step.then is not None:
            honest.slow = 0.005
            other = _take(step.then, api, honest)
            outcomes = await api.together(resource.partial_update(id=step.pk, body=body), other)
            honest.slow = 0.0
            for outcome in outcomes:
                if isinstance(outcome, Exception):
                    raise outcome
    except restencil.NetworkError as error:
        assert error.status in (400, 404), error


async def _iterated(step: Step, resource: Any, arguments: dict[str, Any], honest: Honest) -> None:
    """A run yields what the server has, each note once."""
    found = [note.id for note in await resource.get_list.iterate.items(**arguments)]
    there = [row["id"] for row in _said(step, honest, all=1)]
    assert sorted(found) == sorted(there), f"{step!r} gave {found}, the server has {there}"


def _said(step: Step, honest: Honest, **more: Any) -> list[Json]:
    """What the server has at the URL of a step that reads a list."""
    query = "&".join(f"{name}={str(value).lower()}" for name, value in {**dict(step.arguments), **more}.items())
    return items_of(honest.answer("GET", f"/{step.table}?{query}", None)[1])


def _keys(page: Any) -> list[int]:
    return [note.id for note in (page["results"] if isinstance(page, dict) else page)]
