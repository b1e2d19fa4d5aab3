"""Errors as a package has them: `errors` says what their bodies are, `error_classes` where their classes stand."""

from __future__ import annotations

import asyncio
import datetime
import pickle
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from tests.libraries import httpx
from tests.runtime.clients import Asked, as_json

import restencil
from restencil import NetworkError, Record, RestEndpoint, field

pytestmark = pytest.mark.network

MODULE = "tests.runtime.endpoint.test_error_classes"


class Problem(Record):
    title: str = field(required=True)
    code: int = 0


class Missing(Record):
    what: str = field(required=True, wire="whatIsMissing")
    since: datetime.datetime | None = None


class StatusError(restencil.StatusError):
    data: Any


class NotFoundError(StatusError, restencil.NotFoundError):
    data: Missing | Problem | None


class ServerError(Exception):
    """It is called so, and is another thing."""


ERRORS: dict[Any, Any] = {
    404: Missing,
    "4XX": Problem,
    409: (Missing, Problem),
    410: Any,
    411: None,
    "default": Problem,
}


def raised(response: httpx.Response, *, asynchronous: bool = False, **options: Any) -> Any:
    """The error of a call that is answered so."""
    asked = Asked(response)
    endpoint: Any = RestEndpoint(**{"path": "/a", "errors": ERRORS, "error_classes": MODULE, **options})
    endpoint = endpoint.extend(client=asked.of(asynchronous))
    with pytest.raises(NetworkError) as caught:
        asyncio.run(endpoint()) if asynchronous else endpoint()
    return caught.value


def test_error_classes_package_s_own_class_is_raised_with_typed_data(asynchronous: bool) -> None:
    """It is the library's class as well."""
    body = {"whatIsMissing": "it", "since": "2026-11-21T10:00:00Z"}
    error = raised(as_json(body, 404), asynchronous=asynchronous)
    assert type(error) is NotFoundError and isinstance(error, restencil.NotFoundError)
    assert isinstance(error.data, Missing) and error.data.what == "it"
    assert error.data.since == datetime.datetime(2026, 11, 21, 10, tzinfo=datetime.UTC)
    assert "2026" not in f"{error!r} {error.to_dict()!r}".partition("whatIsMissing")[0]
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is NotFoundError and again.data == error.data and again.response is None


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (404, {"whatIsMissing": "it"}, Missing(what="it")),
        (404, {"title": "t"}, None),
        (404, {"whatIsMissing": 5}, None),
        (404, {"whatIsMissing": "it", "since": "soon"}, None),
        (404, ["it"], None),
        (404, "it", None),
        (400, {"title": "t", "code": 5}, Problem(title="t", code=5)),
        (400, {"title": "t", "code": "5"}, None),
        (409, {"title": "t", "code": 2}, Problem(title="t", code=2)),
        (409, {"title": "t"}, None),
        (409, {"whatIsMissing": "it", "code": 1}, Missing.from_js({"whatIsMissing": "it", "code": 1})),
        (409, {"a": 1}, None),
        (410, {"a": 1}, {"a": 1}),
        (411, [1], [1]),
        (503, {"title": "t"}, Problem(title="t")),
        (304, {"title": "t"}, Problem(title="t")),
    ],
)
def test_error_classes_narrowest_key_says_what_the_body_is(status: int, body: Any, expected: Any) -> None:
    """A body that does not fit gives None; of several types it has to have all that one needs."""
    error = raised(as_json(body, status), error_classes=None)
    found = error.data
    assert type(found) is type(expected) and found == expected
    assert type(error) is restencil.base.errors.error_of_status(status)


def test_error_classes_class_that_is_none_of_the_library_s_is_reported() -> None:
    """With its place and what was expected."""
    with pytest.raises(
        TypeError, match=r"test_error_classes.ServerError is .*; expected a subclass of restencil.ServerError"
    ):
        raised(as_json({}, 500))
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        raised(as_json({}, 500), error_classes="no_such_module")


@pytest.fixture
def apart() -> Iterator[str]:
    """The name of a module that nobody has imported; importing it is counted."""
    name = "errors_apart"
    made: list[int] = []

    class Finder:
        @staticmethod
        def find_spec(wanted: str, path: Any = None, target: Any = None) -> Any:
            if wanted != name:
                return None
            from importlib.machinery import ModuleSpec

            return ModuleSpec(name, Finder)  # type: ignore[arg-type]  # a loader is what it does

        @staticmethod
        def create_module(spec: Any) -> ModuleType:
            made.append(1)
            return ModuleType(name)

        @staticmethod
        def exec_module(module: ModuleType) -> None:
            module.__dict__["NotFoundError"] = NotFoundError

    sys.meta_path.append(Finder)
    yield name
    sys.meta_path.remove(Finder)
    sys.modules.pop(name, None)
    assert made == [1]


def test_error_classes_classes_are_imported_at_the_first_error(apart: str) -> None:
    """Not with the endpoint, nor by a call that goes well."""
    asked = Asked(as_json({}))
    endpoint: Any = RestEndpoint(path="/a", error_classes=apart, client=asked.sync)
    assert endpoint() == {} and apart not in sys.modules
    for _ in range(2):
        assert type(raised(as_json({}, 404), error_classes=apart, errors=None)) is NotFoundError


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"errors": [Problem]}, r"errors of endpoint GET '/a' is a list; expected a mapping such as \{404: Problem"),
        ({"errors": {200: Problem}}, "has the key 200; expected 400 to 599, '4XX', '5XX' or 'default'"),
        ({"errors": {"6XX": Problem}}, "has the key '6XX'; expected 400 to 599"),
        ({"errors": {"4X4": Problem}}, "has the key '4X4'; expected 400 to 599"),
        (
            {"errors": {404: int}},
            "errors of endpoint GET '/a' has a type for 404; expected a record class, a tuple of th",
        ),
        ({"errors": {404: (Problem, 5)}}, "for 404; expected a record class"),
        ({"error_classes": "news errors"}, "error_classes of endpoint GET '/a' is 'news errors'; expected the name of"),
        ({"error_classes": NotFoundError}, "error_classes of endpoint GET '/a' is <class"),
    ],
)
def test_error_classes_options_that_say_nothing_of_errors_are_rejected(options: Any, problem: str) -> None:
    """When the endpoint is made, with what was found and what was expected."""
    with pytest.raises((TypeError, ValueError), match=problem):
        RestEndpoint(path="/a", **options)
