"""What is handed out is read-only, and equality is JSON's."""

from __future__ import annotations

import copy
import datetime
import importlib.util
import json
import pickle
import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.patience import PATIENCE, eventually

from restencil import Api, Controller, Endpoint, GCPolicy, NetworkManager, RestEndpoint, Retries, Timeout
from restencil.base import durations
from restencil.base.json_text import decode_json, decode_json_standard, encode_json
from restencil.base.scheduler import ThreadScheduler
from restencil.base.values import INVALID, UNDEFINED, holds_containers, looked_through, read_only, same_json
from restencil.http.transport import AsyncTransport, SyncTransport
from restencil.testing import FakeClock

LIST_CHANGES: list[Callable[[Any], object]] = [
    lambda value: value.append(1),
    lambda value: value.extend([1]),
    lambda value: value.insert(0, 1),
    lambda value: value.remove(1),
    lambda value: value.pop(),
    lambda value: value.clear(),
    lambda value: value.sort(),
    lambda value: value.reverse(),
    lambda value: value.__setitem__(0, 1),
    lambda value: value.__delitem__(0),
    lambda value: value.__iadd__([1]),
    lambda value: value.__imul__(2),
]
DICT_CHANGES: list[Callable[[Any], object]] = [
    lambda value: value.update(a=1),
    lambda value: value.setdefault("b", 1),
    lambda value: value.pop("a"),
    lambda value: value.popitem(),
    lambda value: value.clear(),
    lambda value: value.__setitem__("a", 1),
    lambda value: value.__delitem__("a"),
    lambda value: value.__ior__({"b": 1}),
]


@pytest.mark.parametrize(
    ("given", "change"), [([3, 1], change) for change in LIST_CHANGES] + [({"a": 0}, change) for change in DICT_CHANGES]
)
def test_values_container_that_is_handed_out_rejects_every_change(
    given: list[int] | dict[str, int], change: Callable[[Any], object]
) -> None:
    """Each mutator of a read-only list or dict raises TypeError and says how to get one of one's own."""
    value = read_only(given)
    kind = type(given).__name__
    with pytest.raises(
        TypeError, match=rf"this {kind} is shared by all readers and read-only; copy it first: {kind}\(value\)"
    ):
        change(value)
    assert value == given


def test_values_copy_may_be_changed() -> None:
    """`copy` and `deepcopy` give plain containers, all the way down for the deep one."""
    value = read_only({"a": [[1]]})
    shallow = copy.copy(value)
    shallow["b"] = 1
    deep = copy.deepcopy(value)
    deep["a"][0].append(2)
    assert value == {"a": [[1]]}
    assert deep == {"a": [[1, 2]]}


def test_values_pickling_keeps_them_read_only() -> None:
    """What was read-only is read-only after pickling, empty containers included."""
    for value in (read_only({"a": [1]}), read_only([]), read_only({})):
        again = pickle.loads(pickle.dumps(value))
        assert again == value
        assert type(again) is type(value)


@pytest.mark.parametrize("sentinel", [UNDEFINED, INVALID])
def test_values_sentinels_are_one_of_a_kind(sentinel: Any) -> None:
    """Copying and pickling give the very same sentinel, and it is false."""
    assert copy.copy(sentinel) is sentinel
    assert copy.deepcopy(sentinel) is sentinel
    assert pickle.loads(pickle.dumps(sentinel)) is sentinel
    assert not sentinel


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (1, True, False),
        (0, False, False),
        (1, 1.0, True),
        (1, "1", False),
        (None, False, False),
        (None, None, True),
        ([1, [True]], [1, [True]], True),
        ([1, [True]], [1, [1]], False),
        ({"a": {"b": 1}}, {"a": {"b": True}}, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": None}, {}, False),
        ({"a": None}, {"b": None}, False),
        ([], {}, False),
        (read_only([{"a": 1}]), [{"a": 1}], True),
    ],
)
def test_values_equality_is_that_of_json(left: Any, right: Any, same: bool) -> None:
    """`True` and `1` differ at any depth, `1` and `1.0` do not, and the order of members has no meaning."""
    assert same_json(left, right) is same
    assert same_json(right, left) is same


def test_value_that_cannot_be_compared_differs() -> None:
    """A foreign object whose comparison fails counts as another value."""

    class Odd:
        def __eq__(self, other: object) -> bool:
            raise RuntimeError("no")

        __hash__ = None  # type: ignore[assignment]  # it cannot be hashed either

    assert not same_json(Odd(), 1)


SCALAR_VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
VALUES = SCALAR_VALUES | st.lists(SCALAR_VALUES, max_size=1) | st.dictionaries(st.text(max_size=1), SCALAR_VALUES)


@given(st.dictionaries(st.text(max_size=3), VALUES))
def test_values_no_list_or_dict_in_a_record_is_overlooked(made: dict[str, Any]) -> None:
    """Both ways of telling see what is in a record, also where it was put in one by one; a look misses nothing else."""
    filled: dict[str, Any] = {}
    for name in made:
        filled.setdefault(name, made[name])
    held = any(isinstance(value, (list, dict)) for value in made.values())
    for record in (made, filled, {**made}, json.loads(json.dumps(made))):
        assert looked_through(record) is held
        assert holds_containers(record) or not held


# -- struct


def test_struct_members_are_given_by_place_or_by_name_and_defaults_stand_in() -> None:
    """Equal members of one class are equal and hash alike, copied and pickled too; another class is never equal."""
    given = Timeout(5, read=1)
    assert (given.total, given.connect, repr(given)) == (5, None, repr(Timeout(read=1, connect=None, total=5)))
    for other in (Timeout(5, None, 1), copy.copy(given), copy.deepcopy(given), pickle.loads(pickle.dumps(given))):
        assert other == given and hash(other) == hash(given)
    assert given != Timeout(5) and Timeout() != Api()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Timeout(1, total=2), "Timeout got 1 members by position and total by name; its members are: total, "),  # type: ignore[misc]
        (lambda: Timeout(1, 2, 3, 4, 5, 6), "Timeout got 6 members by position and none by name; "),  # type: ignore[call-arg]
    ],
)
def test_struct_wrong_members_are_rejected(make: Callable[[], Timeout], message: str) -> None:
    """The message says what is wrong and what there is."""
    with pytest.raises(TypeError, match=message):
        make()


def test_struct_member_cannot_be_changed() -> None:
    """Setting and deleting raise AttributeError."""
    timeout = Timeout(1)
    with pytest.raises(AttributeError, match="Timeout is immutable; its member 'total' cannot be set"):
        timeout.total = 2  # type: ignore[misc]
    with pytest.raises(AttributeError, match="Timeout is immutable; its member 'total' cannot be deleted"):
        del timeout.total  # pyright: ignore[reportAttributeAccessIssue]


# -- json text


CASES = [
    *(b'{"a":1,"a":2}', b"NaN", b"[Infinity]", b"-Infinity", b"-0", b"-0.0", b"1e400", b"0.1e-7", b"1E+2", b"01"),
    b"1.",
    *(b"123456789012345678901234567890", b"18446744073709551616", b"9223372036854775808", b"-9223372036854775809"),
    *(b'"\xff"', b'"\xed\xa0\x80"', b"\xef\xbb\xbf{}", b'"\\ud800"', b'"a\tb"', b'"\\x"', b"", b" ", b"[1,]"),
    b'{"a":1}x',
    *(b"[" * 500 + b"]" * 500, b"[" * 100_000, b"1" * 5000, b'"' + b"1" * 5000 + b'"', b"\xff\xfe1\x00", b"tru"),
    b"'a'",
]


def outcome(decode: Any, data: bytes) -> tuple[str, str]:
    try:
        return "value", repr(decode(data))
    except ValueError as error:
        return type(error).__name__, str(error)


def test_json_text_fast_decoder_is_there_to_be_compared() -> None:
    """These tests mean nothing without it."""
    assert importlib.util.find_spec("orjson") is not None


@pytest.mark.parametrize("data", CASES, ids=lambda data: repr(data[:20]))
def test_json_text_both_decoders_agree_on_what_is_odd(data: bytes) -> None:
    """Duplicates, constants, big and long numbers, encodings, surrogates, depth: same value or same error."""
    assert outcome(decode_json, data) == outcome(decode_json_standard, data)


ALPHABET = [b"{", b"}", b"[", b"]", b",", b":", b'"a"', b"1", b"-", b".", b"e5", b"0", b"9" * 8, b"null", b" ", b'"']


@given(st.lists(st.sampled_from(ALPHABET), max_size=10))
def test_json_text_both_decoders_agree_on_anything(pieces: list[bytes]) -> None:
    """Whatever arrives is read alike."""
    data = b"".join(pieces)
    assert outcome(decode_json, data) == outcome(decode_json_standard, data)


SCALARS = st.none() | st.booleans() | st.integers() | st.text()
JSON_VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))


@given(JSON_VALUES)
def test_json_text_what_is_encoded_is_decoded_as_it_was(value: Any) -> None:
    """Integers keep all their digits, texts every character, lone surrogates too."""
    text = encode_json(value, lambda item: item)
    assert decode_json(text.encode()) == value


@pytest.mark.parametrize("decode", [decode_json, decode_json_standard])
@pytest.mark.parametrize("inside", ["", "1", "[]", '{"a":1}', '{"a":1},2'])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}"), ('["x",', "]")])
def test_json_is_500_levels_deep_at_most(decode: Any, inside: str, opening: str, closing: str) -> None:
    """With and without the extra, so deep a text is decoded, and a deeper one is none."""
    if inside == "" or (opening == '{"a":' and inside.endswith("2")):
        inside = "null"
    levels = 500 - (inside[0] in "[{")
    decode((opening * levels + inside + closing * levels).encode())
    with pytest.raises(ValueError, match="nested more than 500 levels deep"):
        decode((opening * (levels + 1) + inside + closing * (levels + 1)).encode())
    with pytest.raises(ValueError, match="nested more than 500 levels deep"):
        decode((opening * 5000 + inside + closing * 5000).encode())


def test_json_text_value_without_json_form_is_named() -> None:
    """What was found and what to do."""
    with pytest.raises(TypeError, match="a set has no JSON form; convert it first: {1}"):
        encode_json({"a": {1}}, lambda item: item)


# -- durations


HALF_A_MINUTE: list[Any] = [30_000, "30s", " 30 s ", "0.5m", "30000ms", datetime.timedelta(seconds=30)]


@pytest.mark.parametrize("given", HALF_A_MINUTE)
def test_duration_has_many_forms(given: Any) -> None:
    """Options of endpoints, also those that a class sets; what managers, policies, controllers and clocks take."""

    class Slow(RestEndpoint):
        poll_frequency = given

    names = ("timeout", "data_expiry_length", "error_expiry_length", "poll_frequency")
    for endpoint in (RestEndpoint(path="/a", **dict.fromkeys(names, given)), Slow(path="/a", timeout=given)):
        assert {getattr(endpoint, name) for name in names} - {None} == {30_000}
        assert endpoint.extend(path="/b").timeout == 30_000
    assert Endpoint(print, name="a", data_expiry_length=given).data_expiry_length == 30_000
    manager = NetworkManager(given, given)
    assert (manager.data_expiry_length, manager.error_expiry_length, GCPolicy(given).interval) == (30_000,) * 3
    retries = Retries(base_delay=given, max_delay=given, max_retry_after=given, jitter=0)
    assert (retries.base_delay, retries.max_delay, retries.max_retry_after) == (30_000,) * 3
    assert SyncTransport(timeout=given).timeout == AsyncTransport(timeout=given).timeout == 30_000
    clock = FakeClock(1_000)
    clock.advance(given)
    assert clock() == 31_000


@pytest.mark.parametrize("given", ["5", "5 days", "-1s", "", [], True])
def test_durations_what_is_no_duration_is_reported(given: Any) -> None:
    """What was found, where, and what is expected."""
    with pytest.raises(TypeError, match="timeout is .*; expected a number of milliseconds, a string such as '30s'"):
        Controller(timeout=given)
    with pytest.raises(TypeError, match="data_expiry_length of endpoint '/a' is .*; expected a number of milliseconds"):
        RestEndpoint(path="/a", data_expiry_length=given)


def test_durations_timeout_that_looks_like_seconds_gets_one_hint(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`timeout=30` is 30 milliseconds; a text or timedelta says what it is, and so does a larger number."""
    monkeypatch.setattr(durations, "_hinted", set())
    for quiet in (100, "30ms", datetime.timedelta(milliseconds=30)):
        Controller(timeout=quiet).close()
    assert caplog.text == ""
    RestEndpoint(path="/a", timeout=30)
    Controller(timeout=5).close()
    assert [record.message for record in caplog.records] == [
        "timeout of endpoint '/a' is 30, which is milliseconds; if seconds are meant, write '30s'"
    ]


# -- scheduler


def test_scheduler_pieces_of_work_do_not_wait_for_each_other() -> None:
    """Each one has a thread, which ends with it."""
    before = threading.active_count()
    scheduler = ThreadScheduler()
    meeting = threading.Barrier(5)
    for _ in range(4):
        scheduler.spawn(lambda: meeting.wait(PATIENCE))
    meeting.wait(PATIENCE)
    eventually(lambda: threading.active_count() <= before)
