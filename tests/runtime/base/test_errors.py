"""Each error class, raised through what is public, with its message; what all of them have in common."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from tests.libraries import httpx
from tests.runtime.clients import Asked, as_json, as_text

import restencil
from restencil import (
    AbortController,
    Controller,
    Entity,
    RestEndpoint,
    create_resource,
    field,
    hookify_resource,
    schema,
)
from restencil.base import errors
from restencil.schema import validate_required

pytestmark = pytest.mark.network


class Article(Entity):
    id: int = 0
    title: str = ""
    author: Any = field(required=True)


class Whole(Entity, key="Part"):
    id: int = 0

    @classmethod
    def validate(cls, record: Any) -> str | None:
        return validate_required(record, {"body": ""})


class Part(Entity, key="Part"):
    id: int = 0


def _call(response: httpx.Response, **options: Any) -> Any:
    return RestEndpoint(path="/a", name="a", client=Asked(response).sync, **options)()


def _aborted() -> Any:
    controller = AbortController()
    controller.abort()
    return RestEndpoint(path="/a", signal=controller.signal, client=Asked().sync)()


def _processing() -> Any:
    with Controller(client=Asked(as_json({"title": "no id"})).sync) as controller:
        endpoint: RestEndpoint = RestEndpoint(path="/a", name="a", schema=Article)
        return controller.fetch(endpoint)


def _too_large() -> Any:
    with Controller(client=Asked(as_json({"id": 1})).sync, max_response_bytes=1) as controller:
        endpoint: RestEndpoint = RestEndpoint(path="/a", name="a")
        return controller.fetch(endpoint)


def _invalid() -> Any:
    with Controller(client=Asked(as_json({"id": 1})).sync) as controller:
        whole = RestEndpoint(path="/a", schema={"it": Whole}, name="a.whole", process=lambda value, *args: {"it": "1"})
        part: RestEndpoint = RestEndpoint(path="/b", schema=Part)
        controller.set_response(part, {"id": 1})
        return controller.read(whole)


def _optimistic() -> Any:
    with Controller() as controller:
        raise controller.snapshot().abort


def _reset() -> Any:
    def respond(request: httpx.Request) -> httpx.Response:
        controller.reset_entire_store()
        return as_json({"id": 1})

    controller = Controller(client=Asked(respond).sync)
    endpoint: RestEndpoint = RestEndpoint(path="/a", name="a")
    return controller.fetch(endpoint)


ERRORS: dict[type[Exception], tuple[Callable[[], Any], Any, str]] = {
    errors.PathTemplateError: (
        lambda: RestEndpoint(path="/a:"),
        None,
        "path template '/a:', position 2: ':' is not followed by a parameter name; write \\: for a literal colon",
    ),
    errors.MissingParameterError: (
        lambda: RestEndpoint(path="/a/:id")(),
        None,
        "parameter 'id' of '/a/:id' is missing; give it as id=… or in the first argument",
    ),
    errors.NetworkError: (
        _too_large,
        500,
        "GET http://case.test/a: 200 OK: the decompressed body is larger than max_response_bytes, which is 1; "
        "increase it to accept the response",
    ),
    errors.StatusError: (lambda: _call(as_json({}, 418)), 418, "GET http://case.test/a: 418 I'm a teapot"),
    errors.ServerError: (lambda: _call(as_json({}, 503)), 503, "GET http://case.test/a: 503 Service Unavailable"),
    errors.ParseError: (
        lambda: _call(as_text("", "application/json")),
        400,
        "GET http://case.test/a: 200 OK: the response is empty; expected JSON",
    ),
    errors.UnexpectedContentError: (
        lambda: _call(as_text("hi"), schema=Article),
        404,
        "GET http://case.test/a: 200 OK: endpoint 'a' has a schema and expected JSON, but the response is text of type "
        "'text/plain'; set schema=None to get the text, or convert it in a process",
    ),
    errors.ProcessingError: (_processing, 400, "Article"),
    errors.AbortError: (_aborted, None, "the request was aborted"),
    errors.AbortOptimistic: (_optimistic, None, ""),
    errors.ResetError: (_reset, None, "reset"),
    errors.InvalidDataError: (_invalid, 400, "a.whole"),
    errors.HookScopeError: (
        lambda: hookify_resource(create_resource(path="/a/:id", schema=Article), dict).use_get(),
        None,
        "use_get was called outside of a scope; call it within `with hook_scope():`",
    ),
    errors.MissingFieldError: (
        lambda: Article.from_js({"id": 1}).author,
        None,
        "Article '1' has no value for its required field 'author'",
    ),
}


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
def test_each_error_is_raised_with_its_status_and_message(kind: type[Exception]) -> None:
    """Class, status and text."""
    provoke, status, message = ERRORS[kind]
    with pytest.raises(kind) as caught:
        provoke()
    assert type(caught.value) is kind
    assert isinstance(caught.value, restencil.RestencilError)
    assert getattr(caught.value, "status", None) == status
    assert message in str(caught.value)


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
