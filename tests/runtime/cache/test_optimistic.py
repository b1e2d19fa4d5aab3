"""Optimistic updates: the queue, the view, what is recomputed and what stays the same object."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
from tests.runtime.doubles import AnyEndpoint, Desk
from tests.runtime.users import User

from restencil import AbortError, Entity, NetworkError, ProcessingError, RestEndpoint, create_resource, schema
from restencil.cache.compiling import PAYS
from restencil.cache.snapshot import Snapshot


class Todo(Entity, indexes=("slug",)):
    id: str = ""
    name: str = ""
    slug: str = ""
    count: int = 0


Todos: Any = create_resource(path="/todos/:id", schema=Todo, optimistic=True)
Users: Any = create_resource(path="/users/:id", schema=User, optimistic=True)

ONE, TWO = {"id": "1"}, {"id": "2"}


def optimistic(respond: Callable[..., Any], **options: Any) -> AnyEndpoint:
    """A change of one todo with this optimistic response."""
    return RestEndpoint(path="/todos/:id", method="PATCH", schema=Todo, get_optimistic_response=respond, **options)


def counting(calls: list[Any], respond: Callable[..., Any]) -> AnyEndpoint:
    """The same, noting each computation."""

    def noting(snapshot: Snapshot, *args: Any) -> Any:
        calls.append(args)
        return respond(snapshot, *args)

    return optimistic(noting)


def params_and_body(snapshot: Snapshot, params: Any, body: Any) -> Any:
    """The usual optimistic response."""
    return {**params, **body}


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, "restencil")


@pytest.fixture
def desk() -> Desk:
    """Two todos in a list, fetched at 100."""
    made = Desk(start=100)
    made.answer(Todos.get_list, [{"id": "1", "name": "base", "count": 1}, {"id": "2", "name": "two"}])
    return made


# -- exceptions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("respond", "cause"),
    [
        (lambda snapshot, *args: 1 // 0, "ZeroDivisionError"),
        (lambda snapshot, *args: {"name": "no id"}, "no usable primary key"),
        (lambda snapshot, *args: 5, "expected an object or a list, found 5"),
    ],
)
def test_optimistic_any_other_exception_shows_at_the_mutations_key(
    desk: Desk, respond: Any, cause: str, caplog: pytest.LogCaptureFixture
) -> None:
    """An error with status 400, no change of data, a log entry; the request goes on."""
    patch = optimistic(respond)
    fetch = desk.start(patch, ONE, {})
    error = desk.read(patch, ONE, {}).error
    assert isinstance(error, ProcessingError)
    assert error.status == 400
    assert cause in f"{error.__cause__!r} {error}"
    assert desk.data(Todos.get, ONE).name == "base"
    assert "PATCH /todos/1: the optimistic response failed; the request continues" in caplog.messages
    desk.answer(patch, {"id": "1", "name": "server"}, ONE, {}, fetch=fetch)
    assert desk.read(patch, ONE, {}).error is None
    assert desk.data(Todos.get, ONE).name == "server"


# -- laziness and identity ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "computed"),
    [
        (lambda desk: desk.answer(Users.get, {"id": "u", "name": "x"}, {"id": "u"}), 0),
        (lambda desk: desk.answer(Todos.get, {"id": "2", "name": "x"}, TWO), 0),
        (lambda desk: desk.answer(Todos.get, {"id": "3", "name": "new"}, {"id": "3"}), 0),
        (lambda desk: desk.answer(Todos.get_list, [{"id": "2"}], {"group": "x"}), 0),
        (lambda desk: desk.fail(Todos.get, NetworkError("no"), TWO), 0),
        (lambda desk: desk.expire_all(Todos.get_list), 0),
        (lambda desk: desk.invalidate(Todos.get_list), 0),
        (lambda desk: desk.collect(("Todo", "2")), 0),
        (lambda desk: desk.start(Todos.partial_update, TWO, {"name": "other"}), 0),
        (lambda desk: desk.answer(Todos.get, {"id": "1", "name": "x"}, ONE), 1),
        (lambda desk: desk.answer(Todos.delete, "1", ONE), 1),
        (lambda desk: desk.collect(("Todo", "1")), 1),
    ],
)
def test_optimistic_change_computes_again_only_what_it_touches(desk: Desk, change: Any, computed: int) -> None:
    """A record, result or index entry that an update neither read nor wrote is none of its business."""
    calls: list[Any] = []
    desk.start(counting(calls, params_and_body), ONE, {"name": "opt", "slug": "s"})
    shown = desk.data(Todos.get, ONE)
    calls.clear()
    change(desk)
    again = desk.data(Todos.get, ONE)
    assert len(calls) == computed
    if not computed:
        assert again is shown


def test_optimistic_what_an_update_read_counts(desk: Desk) -> None:
    """An entity of another type, a list, a result, a table: a change of it computes the update anew."""
    plain: Any = RestEndpoint(path="/plain")

    def looks(look: Callable[[Snapshot], Any]) -> AnyEndpoint:
        return counting(calls, lambda snapshot, params, body: {**params, "name": str(look(snapshot))})

    cases: list[tuple[Callable[[Snapshot], Any], Callable[[], Any]]] = [
        (lambda s: s.get(User, "u"), lambda: desk.answer(Users.get, {"id": "u"}, {"id": "u"})),
        (lambda s: s.get(schema.All(User)), lambda: desk.answer(Users.get, {"id": "v"}, {"id": "v"})),
        (lambda s: s.get_response(plain).data, lambda: desk.answer(plain, 1)),
        (lambda s: s.get_error(plain), lambda: desk.fail(plain, NetworkError("no"))),
        (lambda s: s.get(Todo, {"slug": "z"}), lambda: desk.answer(Todos.get, {"id": "9", "slug": "z"}, {"id": "9"})),
    ]
    for look, change in cases:
        calls: list[Any] = []
        fetch = desk.start(looks(look), ONE, {})
        before = desk.data(Todos.get, ONE).name
        calls.clear()
        change()
        assert desk.data(Todos.get, ONE).name != before
        assert len(calls) == 1
        desk.fail(Todos.partial_update, AbortError("done"), ONE, {}, fetch=fetch)


def test_optimistic_response_that_says_what_was_expected_keeps_the_objects(desk: Desk) -> None:
    """When the server confirms the optimistic record, readers see no change."""
    desk.now = 200
    fetch = desk.start(Todos.partial_update, ONE, {"name": "opt"})
    shown, whole = desk.data(Todos.get, ONE), desk.data(Todos.get_list)
    desk.now = 300
    value = desk.answer(
        Todos.partial_update, {"id": "1", "name": "opt", "count": 1}, ONE, {"name": "opt"}, started=200, fetch=fetch
    )
    assert value is shown
    assert desk.data(Todos.get, ONE) is shown
    assert desk.data(Todos.get_list) is whole


def test_optimistic_response_that_leaves_what_other_mutations_show_keeps_the_objects(desk: Desk) -> None:
    """What the update of the answered mutation showed, the updates that stay show now: readers see no change."""
    desk.start(Todos.get_list.unshift, {"id": "new first"})
    fetch = desk.start(Todos.get_list.push, {"id": "new last"})
    shown = desk.data(Todos.get_list)
    assert [todo.id for todo in shown][:: len(shown) - 1] == ["new first", "new last"]
    desk.answer(Todos.get_list.push, {"id": "new last"}, {"id": "new last"}, fetch=fetch)
    assert desk.data(Todos.get_list) is shown


# -- other things that updates do --------------------------------------------------------------------------------------


def test_optimistic_indexes_follow_the_view(desk: Desk) -> None:
    """A field that changed optimistically is found by its new value, and by the old one after the failure."""
    desk.answer(Todos.get, {"id": "1", "slug": "old"}, ONE)
    fetch = desk.start(Todos.partial_update, ONE, {"slug": "new"})
    assert (desk.get(Todo, {"slug": "new"}).id, desk.get(Todo, {"slug": "old"})) == ("1", None)
    assert desk.store.state["indexes"]["Todo"]["slug"] == {"new": "1"}
    desk.fail(Todos.partial_update, AbortError("x"), ONE, {"slug": "new"}, fetch=fetch)
    assert (desk.get(Todo, {"slug": "new"}), desk.get(Todo, {"slug": "old"}).id) == (None, "1")


# -- identity


class Author(Entity):
    id: str = ""
    name: str = ""


author: Any = RestEndpoint(path="/authors/:id", schema=Author)
authors: Any = RestEndpoint(path="/authors", schema=[Author])


# -- rings -----------------------------------------------------------------------------------------------------------


def test_identity_read_that_fails_leaves_nothing_half_built() -> None:
    """What does not decode inside a ring is unusable in each read of it, and none gives an empty instance."""

    class Spouse(Entity, schema={"spouse": schema.Lazy(lambda: Spouse), "born": lambda value: int(value)}):
        id: str = ""
        name: str = ""
        spouse: Any = None
        born: int = 0

    spouse: Any = RestEndpoint(path="/spouses/:id", schema=Spouse)
    desk = Desk()
    with pytest.raises(ProcessingError, match="field 'born' of Spouse '1' does not decode: 'x'"):
        desk.answer(
            spouse,
            {"id": "1", "name": "Ann", "spouse": {"id": "2", "name": "Bob", "spouse": "1"}, "born": "x"},
            {"id": "1"},
        )
    for _ in range(2):
        assert not desk.read(spouse, {"id": "1"}).found
        assert (desk.data(spouse, {"id": "2"}).name, desk.data(spouse, {"id": "2"}).spouse) == ("Bob", None)
    desk.answer(spouse, {"id": "1", "born": "7"}, {"id": "1"})
    two = desk.data(spouse, {"id": "2"})
    assert (two.spouse.name, two.spouse.born, two.spouse.spouse is two) == ("Ann", 7, True)


# -- depth -----------------------------------------------------------------------------------------------------------


class Chain(Entity, schema={"next": schema.Lazy(lambda: Chain), "leaf": Author}):
    id: int = 0
    name: str = ""
    next: Any = None
    leaf: Author | None = None


chain: Any = RestEndpoint(path="/chain/:id", schema=Chain)
links: Any = RestEndpoint(path="/chain", schema=[Chain])


def _chain(desk: Desk, length: int) -> None:
    desk.answer(
        links,
        [{"id": n, "name": "", "leaf": f"l{n}", "next": n + 1 if n + 1 < length else None} for n in range(1, length)],
    )
    desk.answer(authors, [{"id": f"l{n}", "name": "old"} for n in range(1, length)])


def _walk(found: Any) -> list[Any]:
    walked = []
    while isinstance(found, Chain):
        walked.append(found)
        found = found.next
    return [*walked, found]


def test_identity_beyond_64_entities_fields_stay_primary_keys(caplog: pytest.LogCaptureFixture) -> None:
    """A warning is logged once; a read that begins deeper sees further."""
    desk = Desk()
    with caplog.at_level(logging.WARNING, "restencil"):
        _chain(desk, 100)
        walked = _walk(desk.data(chain, {"id": 1}))
        assert (len(walked) - 1, walked[-1]) == (64, "65")
        assert _walk(desk.data(chain, {"id": 60}))[-1] is None
        assert len(_walk(desk.data(chain, {"id": 20}))) > 65
    assert [
        message for message in caplog.messages if "nested more than 64 entities deep" in message
    ] == caplog.messages[:1]


def test_identity_depth_may_be_set_per_entity() -> None:
    """`max_entity_depth` bounds how deep entities of the class are nested."""

    class Short(Entity, schema={"next": schema.Lazy(lambda: Short)}, max_entity_depth=3):
        id: int = 0
        next: Any = None

    desk = Desk()
    desk.answer(RestEndpoint(path="/s", schema=[Short]), [{"id": n, "next": n + 1} for n in range(1, 9)])
    found = desk.get(Short, 1)
    assert found.next.next.next == "4"


def test_identity_composed_results_are_bounded() -> None:
    """Results of very many keys are not all kept; what was let go is composed anew and equal."""
    search: Any = RestEndpoint(path="/search", schema=[Author])
    desk = Desk()
    desk.answer(search, [{"id": "1"}], {"q": 0})
    first = desk.data(search, {"q": 0})
    for number in range(1, 5_000):
        desk.answer(search, ["1"], {"q": number})
        desk.data(search, {"q": number})
    again = desk.data(search, {"q": 0})
    assert again == first
    assert again[0] is first[0]


# -- the number of results that are kept -----------------------------------------------------------------------------


def test_identity_what_a_table_held_so_far_does_not_speak_for_what_comes_later() -> None:
    """After many plain records, a list is still handed out read-only, and a name of a method still hides none."""

    class Plain(Entity, key="Plain", schema={"author": Author}):
        id: str = ""
        title: str = ""
        author: Author | None = None

    everything: Any = RestEndpoint(path="/plain", schema=[Plain])
    one: Any = RestEndpoint(path="/plain/:id", schema=Plain)
    records = [{"id": str(number), "title": "A", "author": {"id": "a1"}} for number in range(2 * PAYS)]
    desk = Desk()
    for turn in range(3):
        desk.answer(everything, [{**record, "title": f"turn {turn}"} for record in records])
        assert {note.title for note in desk.data(everything)} == {f"turn {turn}"}
    desk.answer(one, {"id": "1", "tags": ["a", {"b": []}]}, {"id": "1"})
    with pytest.raises(TypeError, match="read-only"):
        desk.data(one, {"id": "1"}).tags[1]["b"].append("c")
    desk.answer(one, {"id": "2", "to_dict": "text"}, {"id": "2"})
    assert desk.data(one, {"id": "2"}).to_dict()["title"] == "turn 2"
    assert [note.title for note in desk.data(everything)] == ["turn 2"] * 2 * PAYS
