"""Overlapping mutations, in every order in which they can start and end.

Several optimistic mutations of two entities and a list overlap. For every interleaving of their starts and ends, each
end an answer, a failure or an abort: between any two events a reader sees the base state with the pending mutations
applied in the order in which they started; at the end a reader sees what the server holds.

The server handles changes of entities in the order in which they were sent and additions to the list in the order in
which it answers them; an answer shows the entity as it was when it was handled.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import pytest
from tests.properties.library import Schemas, unlike
from tests.properties.model import GONE, MISSING, Aborted, Added, Kind, Listed, Naive, One, Pending, Removed, Shape
from tests.runtime.doubles import Desk

from restencil import AbortOptimistic, RestEndpoint, schema
from restencil.base.errors import AbortError, NetworkError

Json = Any
End: TypeAlias = Literal["answer", "failure", "abort"]
What: TypeAlias = Literal["rename", "count", "put", "push", "unshift", "delete"]

ENDS: tuple[End, ...] = ("answer", "failure", "abort")

KINDS = {"Item": Kind("Item", {"id": "", "title": "", "count": 0})}
SCHEMAS = Schemas(KINDS)
Item = SCHEMAS.classes["Item"]
LISTED = Listed("Item")
COLLECTION = SCHEMAS.of(LISTED)
ONE = One("Item")

SERVER: dict[str, dict[str, Json]] = {
    "1": {"id": "1", "title": "one", "count": 0},
    "2": {"id": "2", "title": "two", "count": 10},
}
PLAIN_READS: tuple[tuple[str, Shape, tuple[Json, ...]], ...] = (
    ("GET /items", LISTED, ()),
    ("GET /items/1", ONE, ({"id": "1"},)),
    ("GET /items/2", ONE, ({"id": "2"},)),
)
get_item: RestEndpoint[..., Any] = RestEndpoint(path="/items/:id", schema=Item)
get_list: RestEndpoint[..., Any] = RestEndpoint(path="/items", schema=COLLECTION)
READS = ((get_list, ()), (get_item, ({"id": "1"},)), (get_item, ({"id": "2"},)))


def _counted(snapshot: Any, params: dict[str, Json], body: Json) -> dict[str, Json]:
    found = snapshot.get(Item, params)
    if found is None:
        raise snapshot.abort
    return {"id": found.id, "count": found.count + 1}


def _renamed(snapshot: Any, params: dict[str, Json], body: dict[str, Json]) -> dict[str, Json]:
    found = snapshot.get(Item, params)
    if found is None:
        raise AbortOptimistic
    return {**found.to_dict(), **params, **body}


def _mutation(method: str, path: str, what: Any, payload: Any) -> RestEndpoint[..., Any]:
    return RestEndpoint(path=path, method=method, schema=what, get_optimistic_response=payload)


ENDPOINTS: dict[What, tuple[RestEndpoint[..., Any], Shape]] = {
    "rename": (_mutation("PATCH", "/items/:id", Item, _renamed), ONE),
    "count": (_mutation("POST", "/items/:id/count", Item, _counted), ONE),
    "put": (_mutation("PUT", "/items/:id", Item, lambda snapshot, params, body: {**params, **body}), ONE),
    "push": (_mutation("POST", "/items", COLLECTION.push, lambda snapshot, body: body), Added("Item")),
    "unshift": (
        _mutation("POST", "/first", COLLECTION.unshift, lambda snapshot, body: body),
        Added("Item", front=True),
    ),
    "delete": (
        _mutation("DELETE", "/items/:id", schema.Invalidate(Item), lambda snapshot, params: params),
        Removed("Item"),
    ),
}


@dataclass(frozen=True)
class Mutation:
    """One mutation: what it does, to which entity, and how it ends."""

    what: What
    pk: str
    end: End


Event: TypeAlias = tuple[Literal["start", "end", "reset"], int]


def schedules(count: int) -> Iterator[list[Event]]:
    """Every order in which mutations can start and end; they start in the order of their numbers."""

    def go_on(started: int, running: tuple[int, ...], events: list[Event]) -> Iterator[list[Event]]:
        if started == count and not running:
            yield events
            return
        if started < count:
            yield from go_on(started + 1, (*running, started), [*events, ("start", started)])
        for one in running:
            yield from go_on(started, tuple(other for other in running if other != one), [*events, ("end", one)])

    return go_on(0, (), [])


def assignments(whats: Sequence[tuple[What, str]]) -> Iterator[tuple[Mutation, ...]]:
    """Every order of these mutations and every way in which each of them can end."""
    for order in sorted(set(itertools.permutations(whats))):
        for ends in itertools.product(ENDS, repeat=len(whats)):
            yield tuple(Mutation(what, pk, end) for (what, pk), end in zip(order, ends, strict=True))


class Run:
    """One schedule: the library and the naive store side by side, and the server."""

    def __init__(self, mutations: Sequence[Mutation], tick: int) -> None:
        self.mutations = mutations
        self.tick = tick
        self.now = 1_000.0
        self.desk = Desk(1_000.0)
        self.base = Naive(KINDS)
        self.pending: dict[int, Pending] = {}
        self.server = {pk: dict(record) for pk, record in SERVER.items()}
        self.order = list(SERVER)
        self.handled: dict[int, Json] = {}
        self.starts: dict[int, float] = {}
        self.numbers: dict[int, int] = {}
        self.resets: dict[int, int] = {}
        first = [dict(record) for record in SERVER.values()]
        self.desk.answer(get_list, first)
        self.base.respond("GET /items", LISTED, (), first, self.now)

    def args(self, one: int) -> tuple[Json, ...]:
        mutation = self.mutations[one]
        match mutation.what:
            case "delete":
                return ({"id": mutation.pk},)
            case "push" | "unshift":
                return ({"title": f"new {one}"},)
            case "count":
                return ({"id": mutation.pk}, {"by": 1})
            case "rename" | "put":
                return ({"id": mutation.pk}, {"title": f"title {one}"})

    def do(self, event: Event) -> None:
        self.desk.now = self.now = self.now + self.tick
        kind, one = event
        if kind == "start":
            self._start(one)
        elif kind == "end":
            self._end(one)
        else:
            self._reset()

    def _start(self, one: int) -> None:
        mutation, args = self.mutations[one], self.args(one)
        endpoint, shape = ENDPOINTS[mutation.what]
        self.starts[one] = self.now
        self.resets[one] = self.desk.store.resets
        number = self.numbers[one] = self.desk.start(endpoint, *args)
        self.pending[one] = Pending(
            number, self.now, args, shape, endpoint.key(*args), lambda below: self._expected(one, below)
        )
        if mutation.end == "answer":
            self.handled[one] = self._handle(one)

    def _expected(self, one: int, below: Naive) -> Json:
        mutation, args = self.mutations[one], self.args(one)
        found = below.cell("Item", mutation.pk)
        match mutation.what:
            case "rename":
                if found is MISSING or found is GONE:
                    raise Aborted
                return {**found, **args[0], **args[1]}
            case "count":
                if found is MISSING or found is GONE:
                    raise Aborted
                return {"id": mutation.pk, "count": found.get("count", 0) + 1}
            case "put":
                return {**args[0], **args[1]}
            case "push" | "unshift" | "delete":
                return args[0]

    def _handle(self, one: int) -> Json:
        """The server changes an entity when it gets the request; None: it has none of this name."""
        mutation = self.mutations[one]
        record = self.server.get(mutation.pk)
        match mutation.what:
            case "push" | "unshift":
                return {"id": f"{10 + one}", "title": f"new {one}", "count": 0}
            case _ if record is None:
                return None
            case "delete":
                del self.server[mutation.pk]
                return {"id": mutation.pk}
            case "count":
                record["count"] += 1
            case "rename" | "put":
                record["title"] = f"title {one}"
        return dict(record)

    def _end(self, one: int) -> None:
        mutation, args = self.mutations[one], self.args(one)
        endpoint, shape = ENDPOINTS[mutation.what]
        at, number, resets = self.starts[one], self.numbers[one], self.resets[one]
        self.desk.now = at
        self.pending.pop(one, None)
        answer = self.handled.get(one)
        if answer is None:
            error = AbortError("given up") if mutation.end == "abort" else NetworkError("refused", status=500)
            self.desk.fail(endpoint, error, *args, fetch=number, resets=resets)
            return
        if mutation.what in ("push", "unshift"):
            self.server[answer["id"]] = dict(answer)
            self.order.insert(0 if mutation.what == "unshift" else len(self.order), answer["id"])
        self.desk.answer(endpoint, dict(answer), *args, fetch=number, resets=resets)
        if resets == self.desk.store.resets:
            self.base.respond(endpoint.key(*args), shape, args, answer, at)

    def _reset(self) -> None:
        self.desk.reset()
        self.base = Naive(KINDS)
        self.pending.clear()

    def check_view(self) -> None:
        """Every read equals the base with the pending mutations in order."""
        view = self.base.view([self.pending[one] for one in sorted(self.pending)])
        for (endpoint, args), (key, shape, naive_args) in zip(READS, PLAIN_READS, strict=True):
            problem = unlike(view.read(key, shape, naive_args), self.desk.data(endpoint, *args), key)
            assert problem is None, problem

    def check_server(self) -> None:
        """Every read equals what the server holds."""
        expected = [self.server[pk] for pk in self.order if pk in self.server]
        assert [item.to_dict() for item in self.desk.data(get_list)] == expected
        for pk in SERVER:
            found = self.desk.data(get_item, {"id": pk})
            assert (None if found is None else found.to_dict()) == self.server.get(pk)


def run(mutations: Sequence[Mutation], events: Sequence[Event], *, tick: int = 1, look_from: int = 0) -> None:
    """Plays a schedule; looks at the view after each event from this place on, and at the end at the server."""
    one = Run(mutations, tick)
    try:
        for place, event in enumerate(events):
            one.do(event)
            if place >= look_from:
                one.check_view()
        if tick and ("reset", 0) not in events:
            one.check_server()
    except AssertionError as error:
        raise AssertionError(f"{mutations} in the order {events}, at {one.now}: {error}") from error


def play_all(whats: Sequence[tuple[What, str]], *, sample: float = 1.0, seed: int = 0) -> int:
    """Plays every schedule of these mutations, or a sample of them; returns how many."""
    choose = random.Random(seed)
    played = 0
    for events in schedules(len(whats)):
        before: tuple[Mutation, ...] = ()
        for mutations in assignments(whats):
            if sample < 1.0 and choose.random() >= sample:
                continue
            run(mutations, events, look_from=0 if sample < 1.0 else _shared(before, mutations, events))
            before = mutations
            played += 1
    return played


def _shared(before: Sequence[Mutation], now: Sequence[Mutation], events: Sequence[Event]) -> int:
    """How many events the schedule has in common with the one played before, whose views were looked at."""
    for place, (kind, one) in enumerate(events):
        if not before:
            return 0
        same = before[one] == now[one] if kind == "end" else _starts_alike(before[one], now[one])
        if not same:
            return place
    return len(events)


def _starts_alike(one: Mutation, other: Mutation) -> bool:
    # What the server does shows in its answers alone; a start is the same whatever comes of it.
    return (one.what, one.pk) == (other.what, other.pk)


PAIRS: tuple[tuple[What, str], ...] = (
    ("rename", "1"),
    ("count", "1"),
    ("put", "2"),
    ("delete", "1"),
    ("delete", "2"),
    ("push", ""),
    ("unshift", ""),
)
TRIPLES: tuple[tuple[tuple[What, str], ...], ...] = (
    (("rename", "1"), ("count", "1"), ("delete", "1")),
    (("count", "1"), ("count", "1"), ("push", "")),
    (("put", "1"), ("delete", "2"), ("unshift", "")),
    (("push", ""), ("push", ""), ("unshift", "")),
)
FOUR: tuple[tuple[What, str], ...] = (("rename", "1"), ("count", "1"), ("delete", "2"), ("push", ""))


@pytest.mark.parametrize("whats", list(itertools.combinations_with_replacement(PAIRS, 2)), ids=str)
def test_interleavings_two_overlapping_mutations_end_in_the_servers_state(whats: tuple[tuple[What, str], ...]) -> None:
    """Every schedule of any two mutations shows base plus pending throughout and ends as the server does."""
    assert play_all(whats) > 0


@pytest.mark.parametrize("whats", TRIPLES, ids=str)
def test_interleavings_three_overlapping_mutations_end_in_the_servers_state(
    whats: tuple[tuple[What, str], ...],
) -> None:
    """A sample of the schedules of three mutations shows base plus pending throughout and ends as the server does."""
    assert play_all(whats, sample=0.05) > 0


def test_interleavings_four_overlapping_mutations_end_in_the_servers_state() -> None:
    """A sample of the schedules of four mutations shows base plus pending throughout and ends as the server does."""
    assert play_all(FOUR, sample=0.0007, seed=4) > 70


@pytest.mark.slow
@pytest.mark.parametrize("whats", TRIPLES, ids=str)
def test_interleavings_three_overlapping_mutations_in_every_order(whats: tuple[tuple[What, str], ...]) -> None:
    """Every schedule of three mutations shows base plus pending throughout and ends as the server does."""
    assert play_all(whats) == 15 * len(set(itertools.permutations(whats))) * 27


@pytest.mark.slow
@pytest.mark.parametrize("first", FOUR, ids=str)
def test_interleavings_four_overlapping_mutations_in_every_order(first: tuple[What, str]) -> None:
    """Every one of the 204,120 schedules of four mutations, by which starts first, ends as the server does."""
    rest = [one for one in FOUR if one != first]
    played = 0
    for events in schedules(4):
        before: tuple[Mutation, ...] = ()
        for order in itertools.permutations(rest):
            for ends in itertools.product(ENDS, repeat=4):
                mutations = tuple(
                    Mutation(what, pk, end) for (what, pk), end in zip((first, *order), ends, strict=True)
                )
                run(mutations, events, look_from=_shared(before, mutations, events))
                before = mutations
                played += 1
    assert played == 105 * 6 * 81


@pytest.mark.parametrize("whats", [*itertools.combinations(PAIRS, 2)], ids=str)
def test_interleavings_mutations_within_one_millisecond_are_distinguished(whats: tuple[tuple[What, str], ...]) -> None:
    """With a clock that stands still, each end removes its own mutation, and what arrives later wins."""
    for events in schedules(len(whats)):
        for mutations in assignments(whats):
            run(mutations, events, tick=0)


@pytest.mark.parametrize("whats", [*itertools.pairwise(PAIRS)], ids=str)
def test_interleavings_after_a_reset_nothing_shows_that_started_before(whats: tuple[tuple[What, str], ...]) -> None:
    """Wherever a reset falls, what started before it is never visible after it."""
    for events in schedules(len(whats)):
        for mutations in assignments(whats):
            for place in range(len(events) + 1):
                run(mutations, [*events[:place], ("reset", 0), *events[place:]])
