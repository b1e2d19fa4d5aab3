"""Which objects stay the same, which are rebuilt, and rings of entities."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from tests.runtime.doubles import Desk

from restencil import Entity, ProcessingError, RestEndpoint, schema
from restencil.cache.compiling import PAYS


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
