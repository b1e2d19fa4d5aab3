"""Dumps: what a store holds as JSON, and stores that are made of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.storages import PatientStore

import blog
import restencil
from restencil import Controller, Entity, ExpiryStatus, MemoryStorage, RestEndpoint, StorageOff, Store, field
from restencil.base import json_text
from restencil.schema import All, Collection, Invalidate
from restencil.testing import FakeClock, MockServer

AnyEndpoint = RestEndpoint[..., Any]
MARK = "4f1d-never-stored"
"""Stands in all that is to be in no dump."""


class Tag(Entity, key="DumpTag", indexes=("word",)):
    id: str = ""
    word: str = ""


class Note(Entity, key="DumpNote"):
    id: str = ""
    text: str = ""
    tag: Tag | None = field(default=None, schema=Tag)


Tags = Collection([Tag])
NOTE: AnyEndpoint = RestEndpoint(path="/notes/:id", schema=Note)
NOTES: AnyEndpoint = RestEndpoint(path="/notes", schema=[Note])
TAGS: AnyEndpoint = RestEndpoint(path="/tags", schema=Tags)
PUSH: AnyEndpoint = RestEndpoint(path="/tags", method="POST", schema=Tags.push)
PAGE: AnyEndpoint = RestEndpoint(path="/tags", schema=Tags.paged(lambda params: ({},)), key=lambda params: "page")
EVERY: AnyEndpoint = RestEndpoint(path="/every", schema=All(Tag))
DELETE: AnyEndpoint = RestEndpoint(path="/notes/:id", method="DELETE", schema=Invalidate(Note))
PLAIN: AnyEndpoint = RestEndpoint(path="/plain")


def over(store: Store) -> Any:
    """A controller whose server answers nothing."""
    return Controller(store, client=MockServer().client(), base_url="http://mock")


def filled(clock: FakeClock | None = None) -> Any:
    """A controller whose store has some of everything."""
    c = over((clock or FakeClock()).store())
    c.set_response(NOTES, [{"id": "1", "text": "A", "tag": {"id": "t", "word": "x"}}, {"id": "2", "text": "B"}])
    c.set_response(TAGS, [{"id": "t", "word": "x"}, {"id": "u", "word": "y"}])
    c.set_response(NOTE, {"id": "3", "text": "C", "$odd": 1}, id="3")
    c.set_response(PLAIN, {"$all": True, "n": [1, 2.5, None]})
    c.set_response(PUSH, {"id": "v", "word": "z"}, body={"word": "z"})
    c.set_response(DELETE, {"id": "2"}, id="2")
    c.invalidate(NOTE, id="3")
    return c


def loaded(data: bytes | str, **options: Any) -> Any:
    """A controller over what was loaded."""
    return over(Store.load(data, **options))


# -- there and back


def test_dump_what_was_dumped_is_there_when_it_is_loaded(clock: FakeClock) -> None:
    """Records, lists that others joined, deletions, results with their times, index entries."""
    c = loaded(filled(clock).store.dump(), clock=clock, scheduler=clock)
    notes = c.cached(NOTES)
    assert [(note.id, note.text, note.tag and note.tag.word) for note in notes] == [("1", "A", "x")]
    assert [tag.word for tag in c.cached(TAGS)] == ["x", "y", "z"]
    assert notes[0].tag is c.cached(TAGS)[0]
    assert c.cached(PLAIN) == {"$all": True, "n": [1, 2.5, None]}
    assert c.get_response(NOTE, id="3").expiry_status is ExpiryStatus.Invalid
    assert c.get(Note, id="2") is None
    assert getattr(c.get(Tag, word="y"), "id", None) == "u"


def test_dump_same_state_gives_the_same_bytes() -> None:
    """In another process too, and whatever came first; what was loaded gives what it was loaded from."""
    data = filled().store.dump()
    assert data == filled().store.dump()
    store = Store.load(data)
    assert store.dump() == data
    over(store).cached(NOTES)
    assert store.dump() == data
    one, other = (over(FakeClock().store()) for _ in range(2))
    one.set_response(PLAIN, 1)
    one.set_response(TAGS, [])
    other.set_response(TAGS, [])
    other.set_response(PLAIN, 1)
    assert one.store.dump() == other.store.dump()


def test_dump_has_its_form(clock: FakeClock) -> None:
    """One JSON object: times, tables with rows in order of arrival, an index, results."""
    c = over(clock.store())
    c.set_response(TAGS, [{"id": "u", "word": "y"}, {"id": "t", "word": "x"}], {"filter": "a"})
    now = clock()
    document = json.loads(c.store.dump())
    shape, result_shape = document["tables"]["DumpTag"]["rows"]["u"][0], document["results"]["GET /tags?filter=a"][0]
    assert len(shape) == len(result_shape) == 12
    assert document == {
        "restencil": "dump/1",
        "times": [[now, now, now + 60_000]],
        "tables": {
            "DumpTag": {
                "incomplete": False,
                "rows": {"u": [shape, 0, {"id": "u", "word": "y"}], "t": [shape, 0, {"id": "t", "word": "x"}]},
            },
            "[DumpTag]": {"incomplete": False, "rows": {'{"filter":"a"}': ["", 0, ["u", "t"]]}},
        },
        "index": {"DumpTag": {"word": {"x": "t", "y": "u"}}},
        "results": {"GET /tags?filter=a": [result_shape, 0, False, '{"filter":"a"}']},
    }
    assert [*document["tables"]["DumpTag"]["rows"]] == ["u", "t"]


def test_dump_bytes_are_those_of_the_standard_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the extra `[fast]` a dump is the same as without."""
    c = over(FakeClock().store())
    c.set_response(PLAIN, [1e16, 1e-7, "\ud800", 2**70])
    assert b'[1e+16,1e-07,"\\ud800",1180591620717411303424]' in c.store.dump()
    assert json_text.encode_exactly([1e16], portable=True) == b"[1e+16]"
    assert loaded(c.store.dump()).cached(PLAIN) == [1e16, 1e-7, "\ud800", 2**70]


def test_dump_list_of_which_only_pages_are_known_stays_such_a_one() -> None:
    """Nobody is shown it as the whole."""
    c = over(FakeClock().store())
    c.set_response(PAGE, [{"id": "t"}], {"cursor": 2})
    again = loaded(c.store.dump())
    assert again.cached(TAGS) is None and again.cached(PAGE, {"cursor": 2}) is not None


@pytest.mark.parametrize("tags", [[], [{"id": "t", "word": "x"}]])
def test_dump_whole_table_is_whole(tags: list[Any]) -> None:
    """Also one in which there is nothing, and not where something was left out."""
    c = over(FakeClock().store())
    c.set_response(EVERY, tags)
    assert [tag.id for tag in loaded(c.store.dump()).cached(EVERY)] == [tag["id"] for tag in tags]


def test_dump_what_was_evicted_is_a_dangling_reference(clock: FakeClock) -> None:
    """A bounded store tells what it lacks, so that a list is never shorter than it was."""
    c = over(clock.store(max_entities=2))
    c.set_response(EVERY, [{"id": "1"}])
    c.set_response(NOTES, [{"id": str(number)} for number in range(3)])
    assert loaded(c.store.dump(), clock=clock, scheduler=clock).cached(EVERY) is None


# -- what a loaded store does


def test_dump_loaded_store_goes_on(clock: FakeClock) -> None:
    """What comes is merged with what was loaded, lists that nobody read are joined, deletions and resets hold."""
    data = filled(clock).store.dump()
    c = loaded(data, clock=clock, scheduler=clock)
    clock.advance(5)
    c.set_response(PUSH, {"id": "w", "word": "new"}, body={})
    c.set_response(NOTE, {"id": "1", "more": 1}, id="1")
    assert [tag.word for tag in c.cached(TAGS)] == ["x", "y", "z", "new"]
    assert c.cached(NOTES)[0].to_dict() | {"tag": None} == {"id": "1", "text": "A", "tag": None, "more": 1}
    c.set_response(DELETE, {"id": "1"}, id="1")
    assert c.cached(NOTES) == []
    assert loaded(c.store.dump(), clock=clock, scheduler=clock).cached(NOTES) == []
    c.reset_entire_store()
    assert c.cached(TAGS) is None and json.loads(c.store.dump())["results"] == {}


def test_dump_client_of_any_address_takes_it() -> None:
    """A fixture is of no place."""
    data = filled().store.dump()
    for address in ("http://one.test", "http://two.test"):
        store = Store.load(data, times="now")
        store.read(PLAIN.request(()))
        assert Controller(store, base_url=address).cached(PLAIN) is not None


def test_dump_generated_client_dumps_and_loads() -> None:
    """By its own store, without a name of the library beside it."""
    first = blog.Blog()
    first.set(blog.User, {"id": "1", "name": "Ann"})
    again = blog.Blog(store=type(first.store).load(first.store.dump()))
    assert getattr(again.get(blog.User, id="1"), "name", None) == "Ann"


@pytest.mark.parametrize("times", ["kept", "now", "stale"])
def test_dump_times(times: str, clock: FakeClock) -> None:
    """`kept`: as they were; `now`: as if received now, each with its lifetime; `stale`: visible, and asked for anew."""
    data = filled(clock).store.dump()
    clock.advance(100_000)
    c = loaded(data, times=times, clock=clock, scheduler=clock)
    reading = c.get_response(NOTES)
    assert reading.data is not None and reading.expiry_status is ExpiryStatus.Valid
    expected = {"kept": clock() - 40_000, "now": clock() + 60_000, "stale": 1}
    assert reading.expires_at == expected[times]
    assert c.get_response(NOTE, id="3").expiry_status is ExpiryStatus.Invalid


def test_dump_times_that_were_reported_to_be_stale_stay_so(clock: FakeClock) -> None:
    """What was expired by hand is not fresh because it is loaded as of now."""
    c = filled(clock)
    c.expire_all(NOTES)
    assert loaded(c.store.dump(), times="now", clock=clock, scheduler=clock).get_response(NOTES).expires_at == 1


def test_dump_what_never_ends_is_null(clock: FakeClock) -> None:
    """Times may be infinite, which JSON does not know."""
    forever: AnyEndpoint = RestEndpoint(path="/forever", data_expiry_length=float("inf"))
    c = over(clock.store())
    c.set_response(forever, 1)
    assert json.loads(c.store.dump())["times"] == [[clock(), clock(), None]]
    assert loaded(c.store.dump(), times="now").get_response(forever).expires_at == float("inf")


# -- what is in no dump


def test_dump_name_of_a_credential_in_the_query_is_that_of_a_secret() -> None:
    """The spec's `auth: {query: …}` says it."""
    from restencil.http.auth import Api
    from restencil.http.schemes import Auth

    class Client(Controller):
        _api = Api(url_prefix="http://api.test", auth=Auth.query("app_id"))

    client = Client(FakeClock().store())
    client.set(Tag, {"id": "t", "appId": MARK})
    assert MARK.encode() not in client.store.dump() and b'"$left":["appId"]' in client.store.dump()


def test_dump_what_has_no_json_form_is_left_out() -> None:
    """A result, and a record, which is a hole then."""
    c = over(FakeClock().store())
    c.set_response(PLAIN, {"x": object()})
    c.set(Tag, {"id": "t", "word": "x", "odd": object()})
    document = json.loads(c.store.dump())
    assert document["results"] == {} and document["tables"]["DumpTag"] == {"incomplete": True, "rows": {}}


def test_dump_optimistic_updates_are_in_no_dump(clock: FakeClock) -> None:
    """What is expected of a mutation is no more than that."""
    push: AnyEndpoint = RestEndpoint(
        path="/tags", method="POST", schema=Tags.push, get_optimistic_response=lambda snapshot, body: {"word": MARK}
    )
    server = MockServer(clock)
    server.on(push, response={"id": "u", "word": "real"}, delay=100)
    c: Any = Controller(clock.store(), client=server.client(), base_url="http://mock")
    c.set_response(TAGS, [{"id": "t"}])
    task = clock.start(lambda: c.fetch(push, {}))
    clock.advance(50)
    assert [tag.word for tag in c.cached(TAGS)] == ["", MARK]
    assert MARK.encode() not in c.store.dump() and b"MISS-" not in c.store.dump()
    clock.advance(50)
    assert task.state == "resolved" and b"real" in c.store.dump()


def test_dump_store_over_a_storage_dumps_what_memory_holds(clock: FakeClock) -> None:
    """What lies in the storage alone is not asked for."""
    storage = MemoryStorage()
    first = over(PatientStore(clock=clock, scheduler=clock, storage=storage))
    first.set_response(NOTES, [{"id": "1", "text": "A"}, {"id": "2", "text": "B"}])
    second = over(PatientStore(clock=clock, scheduler=clock, storage=storage.another()))
    assert json.loads(second.store.dump())["tables"] == {}
    assert len(second.cached(NOTES)) == 2
    again = loaded(second.store.dump(), clock=clock, scheduler=clock)
    assert [note.text for note in again.cached(NOTES)] == ["A", "B"]


# -- other classes than those that wrote it


def test_dump_changed_class_loses_its_own_records() -> None:
    """And the results that lead to them; all else stays."""
    data = filled().store.dump().decode()
    shape = json.loads(data)["tables"]["DumpNote"]["rows"]["1"][0]
    c = loaded(data.replace(shape, "0" * 12), times="now")
    assert c.cached(NOTES) is None and c.get(Note, id="1") is None
    assert [tag.word for tag in c.cached(TAGS)] == ["x", "y", "z"]


# -- what is no dump


def _with(change: Callable[[Any], object]) -> str:
    document = json.loads(filled().store.dump())
    change(document)
    return json.dumps(document)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("", "invalid dump: it is not JSON: "),
        (b"\xff", "invalid dump: it is not JSON: "),
        ("[]", r"invalid dump: it begins with \[\]; expected "),
        ("{}", r"invalid dump: it begins with \{\}; expected "),
        ('{"restencil": "dump/1"}', "invalid dump: it lacks 'times'"),
        (_with(lambda d: d.update(times=3)), "times is an int, 3; expected a list"),
        (_with(lambda d: d.update(times=[[1, 2]])), r"times\[0\] is a list, .*; expected three times in ms"),
        (_with(lambda d: d.update(tables=[])), r"tables is a list, \[\]; expected an object"),
        (_with(lambda d: d.update(marked=1)), "marked is an int, 1; expected true or false"),
        (
            _with(lambda d: d["tables"]["DumpTag"].pop("incomplete")),
            r"tables\['DumpTag'\]\['incomplete'\] is None, None; expected true or false",
        ),
        (
            _with(lambda d: d["tables"]["DumpTag"]["rows"].update(t=["x", 0])),
            r"tables\['DumpTag'\]\['rows'\]\['t'\] is a list, \['x', 0\]; expected a list of shape, time and value",
        ),
        (
            _with(lambda d: d["tables"]["DumpTag"]["rows"].update(t=["x", 99, {}])),
            r"tables\['DumpTag'\]\['rows'\]\['t'\]\[1\] is an int, 99; expected the index of one of \d+ times",
        ),
        (
            _with(lambda d: d["tables"]["DumpTag"]["rows"].update(t=["x", 0, ["1"]])),
            r"\['t'\]\[2\] is a list, \['1'\]; expected an object, or null for a deleted row",
        ),
        (
            _with(lambda d: d["tables"]["[DumpTag]"]["rows"].update({"{}": ["", 0, "x"]})),
            r"expected a list or an object, or null for a deleted row",
        ),
        (
            _with(lambda d: d["results"].update({"GET /x": ["x", True, False]})),
            r"results\['GET /x'\]\[1\] is a bool, True; expected the index of one of",
        ),
        (
            _with(lambda d: d["results"].update({"GET /x": ["x", 0, 1]})),
            r"results\['GET /x'\]\[2\] is an int, 1; expected true or false",
        ),
        (
            _with(lambda d: d["results"].update({"GET /x": [3, 0, True]})),
            r"results\['GET /x'\]\[0\] is an int, 3; expected a string",
        ),
        (
            _with(lambda d: d["index"]["DumpTag"]["word"].update(x=1)),
            r"index\['DumpTag'\]\['word'\]\['x'\] is an int, 1; expected a string",
        ),
    ],
)
def test_dump_what_is_no_dump_says_where(data: bytes | str, text: str) -> None:
    """A StorageError, which is a ValueError: what was found, where, and what was expected."""
    with pytest.raises(restencil.StorageError, match=text):
        Store.load(data)


def test_dump_of_a_newer_format_says_the_way_out() -> None:
    """Both formats, and what to do."""
    data = _with(lambda d: d.update(restencil="dump/2"))
    with pytest.raises(StorageOff, match=r"'dump/2', but this version of restencil reads 'dump/1': use the newer"):
        Store.load(data)


def test_dump_arguments_that_make_no_sense() -> None:
    """Other words for `times`, and a storage beside the dump."""
    data = filled().store.dump()
    with pytest.raises(ValueError, match="times is 'later'; expected one of kept, now, stale"):
        Store.load(data, times="later")
    with pytest.raises(TypeError, match="remove storage="):
        Store.load(data, storage=MemoryStorage())
