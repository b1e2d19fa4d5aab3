"""What reaches a storage through a store: nothing that chapter 2 keeps out, by names, by `persist`, by its kind."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from tests.storage.here import Here, one
from tests.storages import PatientStore

from restencil import Controller, Entity, Record, RestEndpoint, Store, entity, field
from restencil.base.freshness import Terms, Validators
from restencil.base.values import Meta
from restencil.cache.actions import SetResponse
from restencil.schema import Collection, Lazy, Values

AnyEndpoint = RestEndpoint[..., Any]
MARK = "9c2e-never-stored"


class Word(Entity, key="OutWord", indexes=("text", "api_key")):
    id: str = ""
    text: str = ""
    api_key: str = ""


class Card(Record):
    number: str = ""
    token: str = ""


class Person(Entity, key="OutPerson"):
    id: str = ""
    name: str = ""
    password: str = ""
    ssn: str = field(default="", persist=False)
    sig: str = field(default="", persist=True)
    api_key: str = field(default="", wire="k")
    card: Card | None = None
    cards: list[Card] | None = None
    by_name: dict[str, Card] | None = None
    address: Any = field(default=None, schema={"word": Lazy(lambda: Word)})


@dataclass(frozen=True)
class Key:
    name: str = ""
    secret: str = ""


@entity(key="OutMachine")
@dataclass(frozen=True)
class Machine:
    id: str = ""
    key: Key | None = None


class Brief(Entity, key="OutPerson"):
    id: str = ""
    name: str = ""


class Private(Entity, key="OutPrivate", persist=False):
    id: str = ""
    name: str = ""


class AlsoPrivate(Entity, key="OutPrivate"):
    id: str = ""
    name: str = ""


class Session(Entity, key="OutSession", pk="token"):
    token: str = ""


WORD: AnyEndpoint = RestEndpoint(path="/words/:id", schema=Word)
WORDS: AnyEndpoint = RestEndpoint(path="/words", schema=Collection([Word]))
PERSON: AnyEndpoint = RestEndpoint(path="/people/:id", schema=Person)
PLAIN: AnyEndpoint = RestEndpoint(path="/plain")


def another(here: Here) -> Any:
    """Another process."""
    store = PatientStore(clock=here.clock, scheduler=here.clock, storage=here.storage.another())
    return Controller(store, base_url="http://api.test")


def held(here: Here) -> str:
    """All that the storage holds, log and names included."""
    assert here.store.flush()
    with here.storage.filling("http://api.test", changes=False) as space:
        return repr(vars(space))


def _person(c: Any) -> None:
    card = {"number": "1", "token": MARK}
    objects = {"card": card, "cards": [card], "by_name": {"a": card}, "address": {"word": "1", "password": MARK}}
    c.set_response(PERSON, {"id": "1", "password": MARK, "ssn": MARK, "apiKey": MARK, "k": MARK, **objects}, id="1")


def _unstored(c: Any) -> None:
    login: AnyEndpoint = RestEndpoint(path="/login", schema={"word": Word, "words": [Word]}, persist=False)
    c.set_response(login, {"word": {"id": "1", "text": MARK}, "words": [{"id": "2", "text": MARK}]})
    c.set_response(WORD, {"id": "1", "more": 1}, id="1")
    c.set_response(WORDS, [{"id": "1"}, {"id": "2"}])


def _keys(c: Any) -> None:
    c.set_response(PLAIN, 1, {"access_token": MARK})
    c.set_response(WORDS, [], {"password": MARK})
    c.invalidate(PLAIN, {"access_token": MARK})


def _result(c: Any) -> None:
    for path, raw, value in (
        ("/word", {"word": Word}, {"word": {"id": "1"}, "sessionToken": MARK}),
        ("/cards", [Card], [{"number": "1", "token": MARK}]),
        ("/by_name", Values(Card), {"a": {"token": MARK}}),
    ):
        c.set_response(RestEndpoint(path=path, schema=raw), value)


def _private(c: Any) -> None:
    c.set(Private, {"id": "1"})
    c.set(AlsoPrivate, {"id": "2", "name": MARK})
    c.set(AlsoPrivate, {"id": MARK})


def _brief(c: Any) -> None:
    c.set(Person, {"id": "2"})
    c.set(Brief, {"id": "1", "ssn": MARK})


def _error(c: Any) -> None:
    c.set_response(PLAIN, 1)
    c.set_error(PLAIN, RuntimeError(MARK))


def _mutation(c: Any) -> None:
    post: AnyEndpoint = RestEndpoint(path="/x", method="POST")
    c.set_response(post, {"said": MARK}, {"body": MARK})


FILLS: list[Callable[[Any], None]] = [
    _person,
    _unstored,
    _keys,
    _result,
    _private,
    _error,
    _mutation,
    lambda c: c.set(Word, {"id": "1", "api_key": MARK}),
    lambda c: c.set(Session, {"token": MARK}),
    _brief,
    lambda c: c.set(Machine, {"id": "1", "key": {"name": "n", "secret": MARK}}),
]


@pytest.mark.parametrize("fill", FILLS)
def test_kept_out_secrets_reach_no_storage(
    fill: Callable[[Any], None], here: Here, caplog: pytest.LogCaptureFixture
) -> None:
    """In no row, result, key, index entry or entry of the log, in no text of the storage's state, and in no log."""
    caplog.set_level(logging.DEBUG)
    fill(here.controller)
    assert MARK not in held(here)
    assert MARK not in repr(here.controller.store.storage_stats()) and MARK not in repr(here.storage)
    assert MARK.encode() not in here.controller.store.dump()
    assert all(MARK not in record.getMessage() for record in caplog.records if "storage" in record.getMessage())


@pytest.mark.parametrize("fill", FILLS)
def test_kept_out_secrets_are_in_no_dump(fill: Callable[[Any], None], here: Here) -> None:
    """Nor what no storage ever has: errors, bodies, results of mutations."""
    controller = Controller(here.clock.store(), base_url="http://api.test")
    fill(controller)
    assert MARK.encode() not in controller.store.dump()


def test_kept_out_record_that_misses_a_declared_member_is_requested(here: Here) -> None:
    """By who has only the storage or a dump, whether or not the class declares the member; a whole one answers."""
    _person(here.controller)
    here.controller.set_response(PERSON, {"id": "2", "name": "Bob", "sig": "kept"}, id="2")
    dumped: Any = Controller(Store.load(here.controller.store.dump(), clock=here.clock, scheduler=here.clock))
    for other in (another(here), dumped):
        assert other.cached(PERSON, id="1") is None and other.get(Brief, id="1") is None
        assert (other.cached(PERSON, id="2").name, other.cached(PERSON, id="2").sig) == ("Bob", "kept")


def test_kept_out_members_that_were_left_out_stay_when_others_change_the_rest(here: Here) -> None:
    """What another process wrote comes in, and what no storage has stays as memory has it."""
    _person(here.controller)
    other = another(here)
    other.set_response(PERSON, {"id": "1", "name": "Ann", "password": "other"}, id="1")
    here.clock.advance(1_000)
    here.controller.cached(PERSON, id="2")
    found = one(here.controller.cached(PERSON, id="1"))
    assert found.name == "Ann"
    assert (found.password, found.ssn, found.card.token) == (MARK, MARK, MARK)


def test_kept_out_response_that_no_one_is_to_store_is_not_stored(here: Here) -> None:
    """The server said `no-store`: what was stored before is not shown either, and the next answer is stored again."""
    c = here.controller
    c.set_response(WORD, {"id": "1", "text": "old"}, id="1")
    here.clock.advance(1)
    now = here.clock()
    told = Validators({}, "", "", None, stored=False)
    request = WORD.request(WORD.bind_args((), {"id": "1"}))
    answer = {"id": "1", "text": MARK}
    c.store.apply(SetResponse(request=request, response=answer, meta=Meta(now, now, now + 9), validators=told))
    assert MARK not in held(here) and one(c.cached(WORD, id="1")).text == MARK
    assert another(here).cached(PLAIN) is None
    assert MARK.encode() not in c.store.dump()
    here.clock.advance(1)
    c.set_response(PLAIN, 1)
    c.set_response(WORD, {"id": "1", "text": "new"}, id="1")
    assert another(here).cached(WORD, id="1").text == "new"


def test_kept_out_how_long_a_response_is_good_is_stored_with_it(here: Here) -> None:
    """As the server said it: another process asks and shows by it, and so does a store that is made of a dump."""
    now = here.clock()
    terms = Terms(now + 50, 0, None, must_revalidate=True)
    for store in (here.controller.store, here.clock.store()):
        store.apply(SetResponse(request=PLAIN.request(()), response=1, meta=Meta(now, now, now + 50), terms=terms))
        if store is here.controller.store:
            other: Store = another(here).store
        else:
            other = Store.load(store.dump(), clock=here.clock, scheduler=here.clock)
        assert other.cached(PLAIN.request(())) == 1
        found = other.endpoint_meta(PLAIN.key())
        assert found is not None and found.terms == terms
