"""httpbin, which says what it was sent: what goes over the wire, and what comes of odd answers."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from tests.servers.comparing import Server
from tests.servers.running import gunicorn
from tests.servers.suite import Suite
from tests.servers.worlds import World

import restencil

SPEC = "bin"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The server."""
    with gunicorn("httpbin_app:app") as found:
        yield found


@pytest.fixture
def suite(world: World, address: str, package: ModuleType) -> Suite:
    """A client with a token."""
    return Suite(world, package, address, Server(), token="secret-of-ann")


# --- requests --------------------------------------------------------------------------------------------------------


async def test_what_is_asked_arrives_and_is_kept(suite: Suite) -> None:
    """Text of all kinds in path and query arrives as it was given; asked again, nothing is sent."""
    said = await suite.api.said.get(id="a b/ü", tag="x&y=ü+ ")
    assert dict(said.args) == {"tag": "x&y=ü+ "} and said.method == "GET"
    assert said.headers["Authorization"] == "Bearer secret-of-ann"
    assert (await suite.api.said.get(id="a b/ü", tag="x&y=ü+ ")) is said and len(suite.api.sent) == 1
    assert (await suite.api.said.get(id="a b/ü")) is not said


async def test_a_request_without_a_body_says_nothing_of_one(suite: Suite) -> None:
    """GET and DELETE have no `Content-Type`; they take JSON. A body has its kind."""
    for outcome in (await suite.api.said.get.fetch(id=1), await suite.api.said.remove(id=1)):
        headers = outcome["headers"] if isinstance(outcome, dict) else outcome.headers
        assert "Content-Type" not in headers and headers["Accept"] == "application/json"
    posted = await suite.api.said.post(id=1, body={"a": "ü"})
    assert posted["json"] == {"a": "ü"} and posted["headers"]["Content-Type"] == "application/json"


async def test_what_is_put_arrives(suite: Suite) -> None:
    """PUT and PATCH bring their bodies; what the server says of them shows under the URL that it names."""
    put = await suite.api.said.update(id=1, body={"method": "m", "data": "d"})
    assert put.method == "PUT" and put.json == {"method": "m", "data": "d"}
    patched = await suite.api.said.partial_update(id=1, body={"data": None})
    assert patched.method == "PATCH" and patched.json == {"data": None}
    assert suite.api.client.get(suite.package.Call, {"url": f"{suite.address}/anything/1"}) is patched


async def test_head_and_options_have_no_body(suite: Suite) -> None:
    """Whatever the headers of the answer say."""
    assert (await suite.api.said.look(id=1)) is None
    assert (await suite.api.said.ask(id=1)) is None


@pytest.mark.parametrize("coding", ["gzip", "deflate", "brotli"])
async def test_packed_answers_are_unpacked(suite: Suite, coding: str) -> None:
    """What the HTTP library can unpack is read; what it cannot was not asked for, and is an error that says so."""
    if coding == "brotli" and "br" not in suite.api.http.headers["Accept-Encoding"]:
        with pytest.raises(restencil.RestencilError):
            await suite.api.said.coded(coding=coding)
    else:
        assert (await suite.api.said.coded(coding=coding))["method"] == "GET"


# --- answers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 410, 418, 422, 429, 500, 502, 503])
async def test_each_error_has_its_status(suite: Suite, status: int) -> None:
    """A read that fails raises, shows nothing, and is not sent again while the error is fresh."""
    with pytest.raises(restencil.NetworkError) as caught:
        await suite.api.said.status(code=status)
    assert caught.value.status == status
    with pytest.raises(restencil.NetworkError):
        await suite.api.said.status(code=status)
    assert len(suite.api.sent) == 1
    assert suite.api.said.status.cached(code=status) is None
    assert suite.api.said.status.state(code=status).error.to_dict() == caught.value.to_dict()


@pytest.mark.parametrize("status", [200, 201, 202, 204])
async def test_a_change_that_is_answered_by_nothing_has_succeeded(suite: Suite, status: int) -> None:
    """An empty body, with and without 204."""
    await suite.api.said.change(code=status, body={})


async def test_text_where_a_list_was_expected(suite: Suite) -> None:
    """A page for people is no list; the error shows what kind it is."""
    with pytest.raises(restencil.RestencilError, match="HTML"):
        await suite.api.said.page()
    assert suite.api.said.page.cached() is None


async def test_nobody_is_there(suite: Suite) -> None:
    """A port at which nobody listens."""
    with pytest.raises(restencil.NetworkError) as caught:
        await suite.another("http://127.0.0.1:1").said.get(id=1)
    assert type(caught.value).__name__ == "ConnectionFailedError" and caught.value.status == 500
    assert "GET http://127.0.0.1:1/anything/1" in str(caught.value)


# --- redirects -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_read_is_redirected(suite: Suite, status: int) -> None:
    """A GET stays one, and keeps its credential within the origin."""
    found = await suite.api.said.to(url="/anything/there", status_code=status)
    assert found["method"] == "GET" and found["headers"]["Authorization"] == "Bearer secret-of-ann"


@pytest.mark.parametrize("status", [301, 302, 303])
@pytest.mark.parametrize("call", ["post_to", "put_to", "remove_to"])
async def test_transport_change_never_becomes_a_read(suite: Suite, call: str, status: int) -> None:
    """The error has the status, and says that the change may not have happened."""
    body: dict[str, Any] = {} if call == "remove_to" else {"body": {"a": 1}}
    with pytest.raises(restencil.NetworkError, match="may not have happened") as caught:
        await getattr(suite.api.said, call)(url="/anything/there", status_code=status, **body)
    assert caught.value.status == status and "/anything/there" in str(caught.value)


@pytest.mark.parametrize("status", [307, 308])
async def test_a_change_is_redirected_as_it_is(suite: Suite, status: int) -> None:
    """Method and body stay."""
    posted = await suite.api.said.post_to(url="/anything/there", status_code=status, body={"a": 1})
    assert (posted["method"], posted["json"]) == ("POST", {"a": 1})
    put = await suite.api.said.put_to(url="/anything/there", status_code=status, body={"a": 2})
    assert (put["method"], put["json"]) == ("PUT", {"a": 2})


async def test_many_at_once_share_their_requests(suite: Suite) -> None:
    """Thirty readers of three things send three requests."""
    found = await suite.api.together(*(suite.api.said.get(id=number % 3) for number in range(30)))
    assert [said.url for said in found] == [f"{suite.address}/anything/{number % 3}" for number in range(30)]
    assert len(suite.api.sent) == 3
