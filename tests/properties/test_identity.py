"""Identity and content of reads, whatever happens to a store.

A naive store does the same as the library and computes every read anew. After each action every read equals the naive
one; an object is the one that was read before exactly if nothing that it depends on changed; and a snapshot still says
what was true when it was taken.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from tests.effort import examples, thorough
from tests.properties import model as m
from tests.properties.library import Schemas, pairs, unlike
from tests.runtime.doubles import Desk

from restencil import AbortOptimistic, RestEndpoint
from restencil.base.errors import AbortError, NetworkError
from restencil.cache.actions import ExpireAll

Json = Any
Endpoint = RestEndpoint[..., Any]

KINDS = {
    "Team": m.Kind("Team", {"id": "", "name": ""}),
    "User": m.Kind("User", {"id": "", "name": "", "team": None}, {"team": m.One("Team")}),
    "Article": m.Kind(
        "Article",
        {"id": "", "title": "", "type": "article", "author": {}, "editors": [], "related": None, "comments": []},
        {
            "author": m.One("User"),
            "editors": m.Many(m.One("User")),
            "related": m.One("Article"),
            "comments": m.Listed("Comment", nested=("article", "id")),
        },
        needs=("author",),
    ),
    "Comment": m.Kind("Comment", {"id": "", "text": "", "on": None}, {"on": m.One("Article")}),
    "Link": m.Kind("Link", {"id": "", "type": "link", "url": "", "by": None}, {"by": m.One("User")}),
}
SCHEMAS = Schemas(KINDS)
ANY = m.Either((("article", "Article"), ("link", "Link")))


def _endpoint(path: str, shape: m.Shape, method: str = "GET", **options: Any) -> Endpoint:
    return RestEndpoint(path=path, method=method, schema=SCHEMAS.of(shape), **options)


ARTICLES = m.Listed("Article")
WRAPPED = m.Members((("results", m.Listed("Article")), ("best", m.One("Article")), ("people", m.Many(m.One("User")))))
get: dict[str, Endpoint] = {kind: _endpoint(f"/{kind}/:id", m.One(kind)) for kind in KINDS}
listed = _endpoint("/articles", ARTICLES, pagination_field="cursor")
page = listed.get_page
plain_list = _endpoint("/plain", m.Many(m.One("Article")))
wrapped = _endpoint("/search", WRAPPED)
mapped = _endpoint("/staff", m.Mapped(m.One("User")))
feed = _endpoint("/feed", m.Many(ANY))
everyone = _endpoint("/everyone", m.Every("User"))
bare = _endpoint("/bare", None)

READS: list[tuple[Endpoint, m.Shape, tuple[Json, ...]]] = [
    *((get["Article"], m.One("Article"), ({"id": pk},)) for pk in ("a1", "a2", "a3")),
    *((get["User"], m.One("User"), ({"id": pk},)) for pk in ("u1", "u2")),
    (get["Team"], m.One("Team"), ({"id": "t1"},)),
    (listed, ARTICLES, ()),
    (listed, ARTICLES, ({"author": "u1"},)),
    (plain_list, m.Many(m.One("Article")), ()),
    (wrapped, WRAPPED, ({"q": "x"},)),
    (mapped, m.Mapped(m.One("User")), ()),
    (feed, m.Many(ANY), ()),
    (everyone, m.Every("User"), ()),
    (bare, None, ()),
]


def _payload(snapshot: Any, *args: Json) -> Json:
    return args[-1]


def _titled(snapshot: Any, params: dict[str, Json], body: dict[str, Json]) -> Json:
    found = snapshot.get(SCHEMAS.classes["Article"], params)
    if found is None:
        raise AbortOptimistic
    return {"id": found.id, "title": f"{found.title}{body['title']}"}


MUTATIONS: dict[str, tuple[Endpoint, m.Shape]] = {
    "append": (
        _endpoint("/articles/:id/title", m.One("Article"), "PATCH", get_optimistic_response=_titled),
        m.One("Article"),
    ),
    "replace": (_endpoint("/User/:id", m.One("User"), "PUT", get_optimistic_response=_payload), m.One("User")),
    "push": (_endpoint("/articles", m.Added("Article"), "POST", get_optimistic_response=_payload), m.Added("Article")),
    "unshift": (
        _endpoint("/first", m.Added("Article", front=True), "POST", get_optimistic_response=_payload),
        m.Added("Article", front=True),
    ),
    "delete": (
        _endpoint("/Article/:id", m.Removed("Article"), "DELETE", get_optimistic_response=_payload),
        m.Removed("Article"),
    ),
    "delete user": (
        _endpoint("/User/:id", m.Removed("User"), "DELETE", get_optimistic_response=_payload),
        m.Removed("User"),
    ),
}

# -- responses -------------------------------------------------------------------------------------------------------

texts = st.sampled_from(["", "x", "y"])
team_ids = st.sampled_from(["t1", "t2"])
user_ids = st.sampled_from(["u1", "u2", "u3"])
article_ids = st.sampled_from(["a1", "a2", "a3"])
counts = st.sampled_from([0, 1, True, None])

teams = st.fixed_dictionaries({"id": team_ids}, optional={"name": texts, "size": counts})
users = st.fixed_dictionaries(
    {"id": user_ids}, optional={"name": texts, "team": st.one_of(st.none(), team_ids, teams), "level": counts}
)
links = st.fixed_dictionaries(
    {"id": st.sampled_from(["l1", "l2"]), "type": st.just("link")},
    optional={"url": texts, "by": st.one_of(st.none(), user_ids, users)},
)


def _articles(nested: st.SearchStrategy[Json]) -> st.SearchStrategy[dict[str, Json]]:
    comments = st.fixed_dictionaries(
        {"id": st.sampled_from(["c1", "c2"])}, optional={"text": texts, "on": st.one_of(article_ids, nested)}
    )
    return st.fixed_dictionaries(
        {"id": article_ids, "type": st.just("article")},
        optional={
            "title": texts,
            "author": st.one_of(st.none(), user_ids, users),
            "editors": st.lists(st.one_of(st.none(), user_ids, users), max_size=3),
            "related": st.one_of(st.none(), article_ids, nested),
            "comments": st.lists(comments, max_size=2),
            "tags": st.lists(texts, max_size=2),
        },
    )


articles = _articles(_articles(_articles(st.none())))
new_articles = st.fixed_dictionaries({}, optional={"id": st.sampled_from(["a3", "a4"]), "title": texts})


def _responses(shape: m.Shape) -> st.SearchStrategy[Json]:
    match shape:
        case m.One("Article"):
            return articles
        case m.One("User"):
            return users
        case m.One("Team"):
            return teams
        case m.Many(m.Either()):
            unknown = st.fixed_dictionaries({"id": st.just("z"), "type": st.just("other")})
            return st.lists(st.one_of(st.none(), articles, links, unknown), max_size=3)
        case m.Many():
            return st.lists(st.one_of(st.none(), article_ids, articles), max_size=3)
        case m.Listed():
            return st.lists(articles, max_size=3)
        case m.Members():
            return st.fixed_dictionaries(
                {"results": st.lists(articles, max_size=2), "total": counts},
                optional={
                    "best": st.one_of(st.none(), article_ids, articles),
                    "people": st.lists(user_ids, max_size=2),
                },
            )
        case m.Mapped():
            return st.dictionaries(texts, st.one_of(st.none(), user_ids, users), max_size=3)
        case m.Every():
            return st.lists(users, max_size=3)
        case _:
            return st.one_of(st.none(), counts, st.lists(counts, max_size=2))


class Stores(RuleBasedStateMachine):
    """The library and the naive store, side by side."""

    def __init__(self) -> None:
        super().__init__()
        self.desk = Desk(0.0)
        self.base = m.Naive(KINDS)
        self.now = 1_000.0
        self.pending: dict[int, tuple[m.Pending, Endpoint, tuple[Json, ...]]] = {}
        self.seen: dict[Any, tuple[str, Any]] = {}
        self.held: list[tuple[Any, m.Naive]] = []

    # -- what can happen -----------------------------------------------------------------------------------------

    @rule(place=st.integers(0, len(READS) - 1), back=st.sampled_from([0, 0, 0, 1, 15]), data=st.data())
    def answered(self, place: int, back: int, data: st.DataObject) -> None:
        """A response arrives for a request that started now or some time ago."""
        endpoint, shape, args = READS[place]
        response = data.draw(_responses(shape), label="response")
        self._answer(endpoint, shape, args, response, self._tick() - back)

    @rule(place=st.integers(0, len(READS) - 1), back=st.sampled_from([0, 5]), data=st.data())
    def answered_twice(self, place: int, back: int, data: st.DataObject) -> None:
        """The same response twice: the second changes nothing, no identity either."""
        endpoint, shape, args = READS[place]
        response = data.draw(_responses(shape), label="response")
        at = self._tick() - back
        self._answer(endpoint, shape, args, response, at)
        self.everything_is_as_the_naive_store_says()
        self._answer(endpoint, shape, args, response, at)

    @rule(
        args=st.sampled_from([{}, {"author": "u1"}]),
        back=st.sampled_from([0, 0, 5, 25]),
        response=st.lists(articles, max_size=3),
    )
    def page_answered(self, args: dict[str, Json], back: int, response: Json) -> None:
        """A page arrives: it goes to the end of its list, whatever started first.

        Without a response to the list itself, a page makes it partial (`tests/runtime/client/test_pages.py`).
        """
        place = ({**args, "cursor": 2},)
        if listed.key(args) not in self.base.results:
            return
        assert page.key(*place) == listed.key(args)
        self._answer(page, m.Paged("Article", "cursor"), place, response, self._tick() - back)

    @rule(shape=st.sampled_from([m.One("Article"), m.One("User"), m.Listed("Article")]), data=st.data())
    def set_through_a_schema(self, shape: m.Shape, data: st.DataObject) -> None:
        """A value is written without an endpoint."""
        value = data.draw(_responses(shape), label="value")
        at = self._tick()
        self.desk.now = at
        self.desk.set(SCHEMAS.of(shape), value)
        before = dict(self.base.results)
        self.base.respond("SET", shape, (), value, at)
        self.base.results = before

    @rule(what=st.sampled_from(sorted(MUTATIONS)), data=st.data())
    def starts(self, what: str, data: st.DataObject) -> None:
        """A mutation starts; what it is expected to bring shows at once."""
        endpoint, shape = MUTATIONS[what]
        args: tuple[Json, ...]
        match what:
            case "append":
                args = ({"id": data.draw(article_ids)}, {"title": data.draw(texts)})
            case "replace":
                body: dict[str, Json] = data.draw(users)
                args = ({"id": "u1"}, {**body, "id": "u1"})
            case "push" | "unshift":
                args = (data.draw(new_articles),)
            case "delete":
                args = ({"id": data.draw(article_ids)},)
            case _:
                args = ({"id": data.draw(user_ids)},)
        at = self._tick()
        self.desk.now = at
        number = self.desk.start(endpoint, *args)
        action = m.Pending(number, at, args, shape, endpoint.key(*args), lambda below: _expected(what, args, below))
        self.pending[number] = (action, endpoint, args)

    @precondition(lambda self: self.pending)
    @rule(end=st.sampled_from(["answer", "failure", "abort"]), data=st.data())
    def ends(self, end: str, data: st.DataObject) -> None:
        """A pending mutation is answered, fails, or is aborted."""
        number = data.draw(st.sampled_from(sorted(self.pending)))
        action, endpoint, args = self.pending.pop(number)
        self._tick()
        if end != "answer":
            error = AbortError("given up") if end == "abort" else NetworkError("refused", status=500)
            self.desk.now = action.at
            self.desk.fail(endpoint, error, *args, fetch=number)
            return
        match action.shape:
            case m.Added():
                response = {"id": f"n{number}", **args[0]}
            case m.Removed():
                response = args[0]
            case _:
                response = {**args[0], **args[-1]}
        self._answer(endpoint, action.shape, args, response, action.at, number=number)

    @rule(place=st.integers(0, len(READS) - 1))
    def invalidated(self, place: int) -> None:
        """A key is invalidated: what the tables say is left."""
        endpoint, _, args = READS[place]
        self.desk.invalidate(endpoint, *args)
        self.base.results.pop(endpoint.key(*args), None)

    @rule()
    def all_invalidated(self) -> None:
        """All keys of one endpoint are invalidated."""
        self.desk.invalidate_all(listed)
        for key in [key for key in self.base.results if listed.test_key(key)]:
            del self.base.results[key]

    @rule()
    def expired(self) -> None:
        """Everything turns stale; no read changes."""
        self.desk.store.apply(ExpireAll(lambda key: True))

    @rule()
    def reset(self) -> None:
        """The store starts over."""
        self.desk.reset()
        self.base = m.Naive(KINDS)
        self.pending.clear()

    @rule()
    def collected_nothing(self) -> None:
        """A collection of what does not exist changes nothing."""
        self.desk.collect(("User", "none"), ("None", "u1"), keys=("GET /none",))

    @precondition(lambda self: len(self.held) < 3)
    @rule()
    def snapshot_taken(self) -> None:
        """Someone holds the state as it is now."""
        self.held.append((self.desk.snapshot(), deepcopy(self._view())))

    # -- what must hold ------------------------------------------------------------------------------------------

    @invariant()
    def everything_is_as_the_naive_store_says(self) -> None:
        """Every read has the naive content, and is the same object exactly if nothing it depends on changed."""
        view = self._view()
        now: dict[Any, tuple[str, Any]] = {}
        for place, (endpoint, shape, args) in enumerate(READS):
            key = endpoint.key(*args)
            if isinstance(shape, m.Members) and key not in view.results:
                continue
            expected = view.read(key, shape, args)
            actual = self.desk.data(endpoint, *args)
            assert (problem := unlike(expected, actual, key)) is None, problem
            fingerprint = view.fingerprint(key, shape, args, expected)
            if isinstance(shape, m.Every):
                # A list of a whole table may be made anew when an entity moves from the view into the base.
                fingerprint += self.base.fingerprint(key, shape, args, self.base.read(key, shape, args))
            self._note(now, ("read", place), fingerprint, actual)
            for one, other in pairs(expected, actual):
                self._note(now, ("entity", one.kind, one.pk), str(sorted(view.cells(one).items())), other)
            self._check_base(endpoint, shape, args, expected, actual)
        for slot, (fingerprint, value) in now.items():
            if slot in self.seen and self.seen[slot][0] == fingerprint:
                assert self.seen[slot][1] is value, f"{slot} was rebuilt though nothing it depends on changed"
        self.seen = now

    @invariant()
    def snapshots_stay(self) -> None:
        """A snapshot reads as it did when it was taken."""
        for snapshot, state in self.held:
            for endpoint, shape, args in READS:
                key = endpoint.key(*args)
                if isinstance(shape, m.Members) and key not in state.results:
                    continue
                found = snapshot.get_response(endpoint, *args).data
                assert (problem := unlike(state.read(key, shape, args), found, f"snapshot {key}")) is None, problem

    # -- details -------------------------------------------------------------------------------------------------

    def _view(self) -> m.Naive:
        return self.base.view([self.pending[number][0] for number in sorted(self.pending)])

    def _tick(self) -> float:
        self.now += 10
        return self.now

    def _answer(
        self,
        endpoint: Endpoint,
        shape: m.Shape,
        args: tuple[Json, ...],
        response: Json,
        at: float,
        number: int | None = None,
    ) -> None:
        handed = deepcopy(response)
        self.desk.now = at
        value = self.desk.answer(endpoint, handed, *args, fetch=number)
        assert handed == response, "the response was changed"
        self.base.respond(endpoint.key(*args), shape, args, response, at)
        view = self._view()
        for one, other in _side_by_side(view.answer(shape, response), value):
            if isinstance(one, m.Built):
                found = self.desk.get(SCHEMAS.classes[one.kind], one.pk)
                assert other is found, f"the value of the call has {other!r}, a read has {found!r}"

    def _check_base(
        self, endpoint: Endpoint, shape: m.Shape, args: tuple[Json, ...], expected: Any, actual: Any
    ) -> None:
        key = endpoint.key(*args)
        if isinstance(shape, m.Members) and key not in self.base.results:
            return
        wanted = self.base.read(key, shape, args)
        found = self.desk.store.read_base(endpoint.request(args)).data
        assert (problem := unlike(wanted, found, f"base {key}")) is None, problem
        view = self._view()
        if (
            isinstance(expected, m.Built)
            and isinstance(wanted, m.Built)
            and self._untouched(view, view.cells(expected))
        ):
            assert found is actual, f"{key}: no layer touches it, but base and view have two objects"

    def _untouched(self, view: m.Naive, cells: dict[Any, str]) -> bool:
        """No pending mutation wrote any of these cells."""
        return all(view.tables.get(table, {}).get(pk) is self.base.tables.get(table, {}).get(pk) for table, pk in cells)

    def _note(self, now: dict[Any, tuple[str, Any]], slot: Any, fingerprint: str, value: Any) -> None:
        if slot in now:
            assert now[slot][1] is value, f"{slot} is two objects in one state"
        now[slot] = (fingerprint, value)


def _expected(what: str, args: tuple[Json, ...], below: m.Naive) -> Json:
    if what != "append":
        return args[-1]
    found = below.entity("Article", args[0]["id"])
    if isinstance(found, m.Mark):
        raise m.Aborted
    return {"id": found.members["id"], "title": f"{found.members['title']}{args[1]['title']}"}


def _side_by_side(expected: Any, actual: Any) -> list[tuple[Any, Any]]:
    if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        return [pair for one, other in zip(expected, actual, strict=True) for pair in _side_by_side(one, other)]
    if isinstance(expected, dict) and isinstance(actual, dict):
        return [pair for name in expected for pair in _side_by_side(expected[name], actual.get(name))]
    return [(expected, actual)]


def test_identity_reads_are_those_of_the_naive_store() -> None:
    """After every action each read equals the naive result, and only what depends on the change is rebuilt."""
    run_state_machine_as_test(
        Stores, settings=thorough(max_examples=examples(30, 2), stateful_step_count=20, derandomize=True)
    )


@pytest.mark.slow
def test_identity_reads_are_those_of_the_naive_store_for_long() -> None:
    """The same for many and longer histories."""
    run_state_machine_as_test(Stores, settings=thorough(max_examples=1_200, stateful_step_count=50))
