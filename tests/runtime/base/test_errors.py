"""What errors have in common, and the names that the package exports."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.patience import PATIENCE
from tests.runtime.clients import Asked, as_json
from tests.runtime.doubles import same_error

import restencil
from restencil import Controller, Entity, NetworkError, ParseError, ProcessingError, RestEndpoint, Store, schema
from restencil.base import errors
from restencil.base.errors import copy_of


def test_errors_are_also_the_builtin_ones_that_they_are() -> None:
    """So that plain `except ValueError` works."""
    assert issubclass(errors.PathTemplateError, ValueError)
    assert issubclass(errors.MissingParameterError, (TypeError, ValueError))
    assert issubclass(errors.MissingFieldError, AttributeError)
    assert issubclass(errors.HookScopeError, RuntimeError)
    assert issubclass(errors.ParseError, errors.NetworkError)
    assert issubclass(errors.UnexpectedContentError, errors.NetworkError)


MADE = [
    errors.PathTemplateError("/a:", 2, "bad"),
    errors.MissingParameterError("id", "/a/:id"),
    errors.NetworkError("m", status=404, url="u"),
    errors.ParseError("m", status=400),
    errors.ProcessingError("m", response={"a": 1}),
    errors.InvalidDataError("m"),
    errors.MissingFieldError("Article", "1", "author"),
    errors.AbortError("m"),
]


@pytest.mark.parametrize("error", MADE, ids=lambda error: type(error).__name__)
def test_errors_can_be_copied_and_pickled(error: Exception) -> None:
    """They travel between processes with all they know."""
    for again in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert type(again) is type(error)
        assert (str(again), vars(again)) == (str(error), vars(error))


def test_errors_every_public_name_is_there_and_nothing_else_is() -> None:
    """PEP 562: names are imported at first use; a wrong one is an AttributeError."""
    for name in restencil.__all__:
        assert getattr(restencil, name) is not None
    assert set(restencil.__all__) <= set(dir(restencil))
    assert restencil.schema is schema
    with pytest.raises(AttributeError, match="module 'restencil' has no attribute 'Nothing'"):
        _ = restencil.Nothing


# -- exception copy


class Odd(Exception):
    """An error that is particular about how it is made."""

    __slots__ = ("__hidden", "slot")

    def __init__(self, *, needed: int, more: str) -> None:
        super().__init__(f"needs {needed}")
        self.needed = needed
        self.slot = more
        self.__hidden = "hidden"

    def hidden(self) -> str:
        return self.__hidden


class Listed(NetworkError):
    def __init__(self, response: Any) -> None:
        super().__init__("listed", status=422, response=response)
        self.data = ["a"]


ERRORS: list[Any] = [
    Odd(needed=1, more="x"),
    Listed(None),
    ParseError("p", status=400, url="http://a.test"),
    ProcessingError("p", response={"a": [1]}),
    OSError(2, "no such file", "/a"),
    UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no"),
    KeyError("a"),
    StopIteration(5),
    ImportError("no", name="a", path="/b"),
    SystemExit(3),
    ExceptionGroup("two", [ValueError("a"), Listed(None)]),
]


def _raised(error: BaseException) -> BaseException:
    try:
        try:
            raise KeyError("cause")
        except KeyError as cause:
            raise error from cause
    except BaseException as found:
        found.add_note("a note")
        return found


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_exception_copy_copy_says_the_same(error: Any) -> None:
    """Class, text, arguments, attributes and slots; with causes, and without any frame."""
    twin: Any = copy_of(_raised(error))
    assert twin is not error and type(twin) is type(error)
    assert (str(twin), repr(twin)) == (str(error), repr(error)) and vars(twin).keys() == vars(error).keys()
    assert twin.__notes__ == ["a note"]
    assert twin.__traceback__ is None and error.__traceback__ is not None
    assert isinstance(twin.__cause__, KeyError) and twin.__cause__ is not error.__cause__
    assert twin.__cause__.__traceback__ is None and twin.__suppress_context__
    for name in ("slot", "errno", "filename", "reason", "value", "name", "code", "status", "response", "data"):
        assert getattr(twin, name, None) == getattr(error, name, None)
    if isinstance(error, Odd):
        assert twin.hidden() == "hidden"
    if isinstance(error, ExceptionGroup):
        assert [type(one) for one in twin.exceptions] == [ValueError, Listed]
    if isinstance(error, (ParseError, ProcessingError)):
        again = pickle.loads(pickle.dumps(twin))
        assert (type(again), str(again), again.status) == (type(error), str(error), error.status)


def test_exception_copy_causes_in_a_circle() -> None:
    """Each once."""
    first, second = ValueError("a"), ValueError("b")
    first.__cause__, second.__cause__ = second, first
    twin = copy_of(first)
    assert twin.__cause__ is not None and twin.__cause__.__cause__ is twin


class Big:
    """Something that a frame holds."""


class User(Entity, key="User"):
    id: str = ""


def test_exception_copy_store_holds_no_frame_of_a_failed_fetch() -> None:
    """Neither that of the caller nor that of a hook; reads that raise the error hold none either."""
    seen: list[weakref.ref[Big]] = []

    def process(value: Any, *args: Any) -> Any:
        big = Big()
        seen.append(weakref.ref(big))
        raise Odd(needed=1, more="x") from ValueError("inner")

    get: Any = RestEndpoint(path="/users/:id", url_prefix="http://case.test", schema=User, process=process)
    store = Store()
    with Controller(store, client=Asked(as_json({"id": "1"})).sync) as controller:

        def call() -> Any:
            mine = Big()
            seen.append(weakref.ref(mine))
            with pytest.raises(Odd) as caught:
                controller.fetch(get, id="1")
            with pytest.raises(Odd) as first:
                controller.read(get, id="1")
            with pytest.raises(Odd) as second:
                controller.read(get, id="1")
            recorded = controller.get_error(get, id="1")
            assert recorded is not None and first.value is not second.value and first.value is not recorded
            assert same_error(recorded, caught.value)

        call()
        gc.collect()
        assert len(seen) == 2 and [reference() for reference in seen] == [None, None]
        assert isinstance(controller.get_error(get, id="1"), Odd)


def test_exception_copy_waiters_for_one_request_gets_an_error_of_their_own() -> None:
    """Three threads, one request, three errors, which all show where it failed."""
    go = threading.Event()

    def respond(request: Any) -> Any:
        go.wait(PATIENCE)
        raise OSError("down")

    get: Any = RestEndpoint(path="/users/:id", url_prefix="http://case.test", schema=User)
    with Controller(client=Asked(respond).sync) as controller, ThreadPoolExecutor(3) as threads:
        calls = [threads.submit(controller.fetch, get, id="1") for _ in range(3)]
        go.set()
        caught = [call.exception(PATIENCE) for call in calls]
    assert len({id(error) for error in caught}) == 3
    assert len({(type(error), str(error)) for error in caught}) == 1
