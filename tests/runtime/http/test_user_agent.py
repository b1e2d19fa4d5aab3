"""Who asks: `User-Agent` by call, argument, HTTP client, spec, or what the library says of itself."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.libraries import httpx
from tests.runtime.clients import Asked
from tests.runtime.worlds import running

import restencil
from restencil import Api, AsyncController, Controller, RestEndpoint
from restencil.http.outgoing import VERSION

pytestmark = pytest.mark.network

PYTHON = f"python/{sys.version_info.major}.{sys.version_info.minor}"
ITEM = RestEndpoint(url_prefix="http://case.test", path="/a")


def own() -> str:
    """What this library says of itself."""
    return f"restencil/{VERSION} {PYTHON} {httpx.__name__}/{httpx.__version__}"


def library_s() -> str:
    """What the HTTP library says by itself."""
    return str(httpx.Client().headers["user-agent"])


def sent(
    api: Api | None,
    asynchronous: bool,
    *,
    endpoint: RestEndpoint[..., Any] = ITEM,
    headers: Mapping[str, str] | None = None,
    **options: Any,
) -> str | None:
    """The `User-Agent` that arrives; `headers` are those of the user's HTTP client."""
    asked = Asked(headers=headers)

    kind: Any = type("Client", (AsyncController if asynchronous else Controller,), {"_api": api})
    client = kind(client=asked.of(asynchronous), **options)
    with running(client) as run:
        run(client.fetch(endpoint))
    found: str | None = asked.last.headers.get("user-agent")
    return found


NEWS = Api(name="news", version="1.2.0")


@pytest.mark.parametrize(
    ("api", "name"),
    [
        (NEWS, "news/1.2.0 "),
        (Api(name="news"), "news "),
        (Api(name="news", version="1 β"), "news/1- "),
        (Api(), ""),
        (None, ""),
    ],
    ids=["version", "no version", "version outside of ASCII", "no name", "no API"],
)
def test_user_agent_package_version_library_python_and_http_library_by_themselves(
    api: Api | None, name: str, asynchronous: bool
) -> None:
    """`news/1.2.0 restencil/… python/3.13 httpx/0.28.1`; without a version the name alone, without an API no name."""
    assert sent(api, asynchronous) == f"{name}{own()}"


CALL = {"endpoint": ITEM.extend(request_init={"headers": {"user-agent": "call"}})}
CLIENT = {"headers": {"User-Agent": "client"}}
SPEC = Api(name="news", user_agent="spec")


@pytest.mark.parametrize(
    ("api", "options", "expected"),
    [
        pytest.param(NEWS, {**CALL, "user_agent": "argument"}, "call", id="call over argument"),
        pytest.param(NEWS, {**CALL, "user_agent": False}, "call", id="call over False"),
        pytest.param(SPEC, {**CLIENT, "user_agent": "argument (me)"}, "argument (me)", id="argument over client"),
        pytest.param(SPEC, {"user_agent": "argument"}, "argument", id="argument over spec"),
        pytest.param(Api(user_agent=False), {"user_agent": "argument"}, "argument", id="argument over False of spec"),
        pytest.param(None, {"user_agent": "argument"}, "argument", id="argument without an API"),
        pytest.param(SPEC, CLIENT, "client", id="client over spec"),
        pytest.param(NEWS, CLIENT, "client", id="client over name"),
        pytest.param(SPEC, {}, "spec", id="spec over name"),
        pytest.param(NEWS, {**CLIENT, "user_agent": False}, "client", id="client over False"),
    ],
)
def test_user_agent_precedence_call_argument_client_spec(
    api: Api | None, options: dict[str, Any], expected: str, asynchronous: bool
) -> None:
    """The header of the call, the argument, what the user set on the HTTP client, the spec, the name of the package."""
    assert sent(api, asynchronous, **options) == expected


def test_user_agent_false_leaves_the_http_library_s_own(asynchronous: bool) -> None:
    """As argument, or in the spec; by itself the library's own value is no choice of the user."""
    assert sent(NEWS, asynchronous, user_agent=False) == library_s()
    assert sent(SPEC, asynchronous, user_agent=False) == library_s()
    assert sent(Api(name="news", user_agent=False), asynchronous) == library_s()
    assert sent(SPEC, asynchronous, headers={"User-Agent": library_s()}) == "spec"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a\r\nX: b",
            r"cannot be sent: it has a line break or another control character; remove it from 'a\\r\\nX: b'",
        ),
        ("a\tb", "cannot be sent: it has a line break or another control character; "),
        ("größe", "cannot be sent: it has a character outside ASCII; remove it from 'größe'"),
        (" a", "cannot be sent: it has space at its beginning or end; remove it from ' a'"),
        ("", "is empty; pass False for the default of the HTTP library"),
    ],
)
@pytest.mark.parametrize("kind", [Controller, AsyncController])
def test_user_agent_one_that_no_header_can_have_is_an_error_of_the_constructor(
    kind: Any, text: str, message: str
) -> None:
    """ValueError, for the argument and for the spec's."""
    with pytest.raises(ValueError, match=f"user_agent of {kind.__name__} {message}"):
        kind(user_agent=text)

    class Client(kind):  # type: ignore[misc]  # of either world
        _api = Api(user_agent=text)

    with pytest.raises(ValueError, match=f"user_agent of the API of Client {message}"):
        Client()


@pytest.mark.parametrize("kind", [Controller, AsyncController])
def test_user_agent_one_that_is_no_string_is_a_type_error(kind: Any) -> None:
    """True says nothing."""
    for value in (True, 7):
        with pytest.raises(TypeError, match="is an? (bool|int); expected a string, or False for the default of"):
            kind(user_agent=value)


def test_user_agent_nothing_but_what_is_said_here_is_sent_along(asked: Asked) -> None:
    """No telemetry: no header beside those of the HTTP library and of the request, and no operating system."""
    Controller(client=asked.sync).fetch(ITEM)
    names = {"host", "accept", "accept-encoding", "connection", "user-agent"}
    assert set(asked.last.headers) == names
    assert sys.platform not in asked.last.headers["user-agent"]


def test_user_agent_version_is_that_of_the_distribution() -> None:
    """It stands twice, so that no request has to look it up."""
    project = tomllib.loads((Path(restencil.__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
    assert project["project"]["version"] == VERSION
