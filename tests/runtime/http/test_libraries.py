"""httpx and httpx2 side by side: which one a client is opened of, and what is the same over both."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import os
import pickle
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx as first_library
import httpx2 as second_library
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.testclient import TestClient
from tests.libraries import LIBRARIES, VARIABLE, httpx, name_in_use
from tests.patience import python
from tests.runtime.clients import Asked
from tests.runtime.servers import Arrived, Reply, Server
from tests.runtime.users import User
from tests.runtime.worlds import controller_of, running

import restencil
from restencil import AsyncController, Controller, NetworkError, RestEndpoint, create_resource
from restencil.http.library import library_of
from restencil.http.transport import AsyncTransport, SyncTransport
from restencil.testing import MockServer

MODULES: dict[str, ModuleType] = {"httpx": first_library, "httpx2": second_library}
EITHER = pytest.mark.parametrize("name", LIBRARIES)
RUNTIME = Path(restencil.__file__).parents[1]


Users = create_resource(url_prefix="http://case.test", path="/users/:id", schema=User)


NOPE: RestEndpoint[..., Any] = RestEndpoint(path="/nope")


def module_of(client: object) -> str:
    """The library that a client is of."""
    return type(client).__module__.partition(".")[0]


@EITHER
def test_libraries_client_that_is_given_contains_its_library(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever argument and environment say: they choose where there is no client."""
    other = next(word for word in LIBRARIES if word != name)
    monkeypatch.setenv(VARIABLE, other)
    with MODULES[name].Client() as client, contextlib.closing(SyncTransport(client, http=other)) as transport:
        assert transport.client is client
        assert library_of(transport.client).name == name


# -- which one --------------------------------------------------------------------------------------------------------


@EITHER
async def test_libraries_argument_chooses_then_the_environment(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The argument is the stronger one, of controllers and of generated clients."""
    monkeypatch.setenv(VARIABLE, name)
    with contextlib.closing(SyncTransport()) as transport:
        assert module_of(transport.client) == name
    for other in LIBRARIES:
        with contextlib.closing(SyncTransport(http=other)) as transport:
            assert module_of(transport.client) == other
    async with contextlib.aclosing(AsyncTransport(http=name)) as opened:
        assert module_of(opened.client) == name


def test_libraries_httpx_is_taken_where_no_one_chose(monkeypatch: pytest.MonkeyPatch) -> None:
    """Installing httpx2, or importing it, switches nothing; an empty variable is none."""
    for word in (None, ""):
        monkeypatch.delenv(VARIABLE, raising=False)
        if word is not None:
            monkeypatch.setenv(VARIABLE, word)
        with contextlib.closing(SyncTransport()) as transport:
            assert module_of(transport.client) == "httpx"


@pytest.mark.parametrize("kind", [Controller, AsyncController])
def test_libraries_another_word_is_a_value_error_with_both_names(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the constructor, so that nobody has to wait for a request."""
    with pytest.raises(ValueError, match="^http is 'requests'; expected 'httpx' or 'httpx2'$"):
        kind(http="requests")
    with pytest.raises(ValueError, match="^http is ''; expected 'httpx' or 'httpx2'$"):
        kind(http="")
    with pytest.raises(ValueError, match="^http is 'aiohttp'; expected 'httpx' or 'httpx2'$"):
        MockServer().client(http="aiohttp")  # type: ignore[arg-type]
    monkeypatch.setenv(VARIABLE, "HTTPX")
    with pytest.raises(ValueError, match="^RESTENCIL_HTTP is 'HTTPX'; expected 'httpx' or 'httpx2'$"):
        kind()


PROGRAM = """
import asyncio, sys
for name in sys.argv[1].split(","):
    sys.modules[name] = None  # as where it is not installed
from restencil import AsyncController, Controller, RestEndpoint
from restencil.testing import MockServer
from restencil.testing.doubles import Answer

endpoint = RestEndpoint(url_prefix=sys.argv[2], path="/a")

def fetch(**options):
    with Controller(**options) as controller:
        return controller.fetch(endpoint)

async def fetch_async(**options):
    async with AsyncController(**options) as controller:
        return await controller.fetch(endpoint)

for http in (None, "httpx", "httpx2"):
    try:
        print(fetch(http=http), asyncio.run(fetch_async(http=http)))
    except ImportError as error:
        print(type(error).__name__, error)
if sys.argv[1] != "httpx,httpx2":
    server = MockServer(respond=lambda request: Answer(json=[request.method]))
    print(fetch(client=server.client()), asyncio.run(fetch_async(client=server.async_client())))
"""


def program(code: str, *arguments: str) -> list[str]:
    """The lines that a program of its own prints, in an environment that chooses nothing."""
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    done = python("-W", "error", "-c", code, *arguments, env={**environment, "PYTHONPATH": str(RUNTIME)})
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_libraries_program_runs_where_only_one_library_is_installed() -> None:
    """Either of them; what is asked for and lacks is an ImportError with the command that helps, at the request."""
    no_httpx = "ImportError requests need httpx, which is not installed; pip install httpx"
    no_httpx2 = "ImportError requests need httpx2, which is not installed; pip install 'restencil[httpx2]'"
    none = "ImportError requests need httpx or httpx2, but neither is installed; pip install httpx"
    with Server() as server:
        assert program(PROGRAM, "httpx", server.url) == ["{} {}", no_httpx, "{} {}", "['GET'] ['GET']"]
        assert {r.headers["user-agent"].rpartition(" ")[2].partition("/")[0] for r in server.arrived} == {"httpx2"}
        server.arrived.clear()
        assert program(PROGRAM, "httpx2", server.url) == ["{} {}", "{} {}", no_httpx2, "['GET'] ['GET']"]
        assert {r.headers["user-agent"].rpartition(" ")[2].partition("/")[0] for r in server.arrived} == {"httpx"}
        assert program(PROGRAM, "httpx,httpx2", server.url) == [none, no_httpx, no_httpx2]


ALIASED = """
import asyncio, sys
import httpx2
httpx2.alias_httpx()
import httpx
from restencil import AsyncController, Controller, RestEndpoint
from restencil.testing import MockServer
from restencil.testing.doubles import Answer

endpoint = RestEndpoint(url_prefix=sys.argv[1], path="/a")

def fetch(**options):
    with Controller(**options) as controller:
        return controller.fetch(endpoint)

async def fetch_async(client):
    async with client, AsyncController(client=client) as controller:
        return await controller.fetch(endpoint)

class Mine(httpx.Client):
    pass

for client in (None, httpx.Client(), httpx2.Client(), Mine()):
    print(fetch(client=client))
print(fetch(http="httpx"), fetch(http="httpx2"))
print(asyncio.run(fetch_async(httpx.AsyncClient())), asyncio.run(fetch_async(httpx2.AsyncClient())))
server = MockServer(respond=lambda request: Answer(json=[request.method]))
print(fetch(client=server.client()), RestEndpoint(url_prefix=sys.argv[1], path="/a", client=httpx.Client())())
print("httpx._client" in sys.modules and sys.modules["httpx._client"].__name__)
"""


def test_libraries_application_may_have_given_httpx2_the_name_of_httpx() -> None:
    """`httpx2.alias_httpx()`: a client's library is told by its class, not by the name under which it was imported."""
    with Server() as server:
        lines = program(ALIASED, server.url)
        assert lines == ["{}"] * 4 + ["{} {}", "{} {}", "['GET'] {}", "False"]
        assert {r.headers["user-agent"].rpartition(" ")[2].partition("/")[0] for r in server.arrived} == {"httpx2"}


# -- which clients ----------------------------------------------------------------------------------------------------


@EITHER
def test_libraries_client_of_the_other_world_is_a_type_error_of_the_constructor(name: str) -> None:
    """It says what was given and what is wanted."""
    module = MODULES[name]
    text = f"^client is an AsyncClient of {name}; expected a Client, or use the asynchronous controller or client$"
    with pytest.raises(TypeError, match=text):
        Controller(client=module.AsyncClient())
    text = f"^client is a Client of {name}; expected an AsyncClient, or use the synchronous controller or client$"
    with pytest.raises(TypeError, match=text):
        AsyncController(client=module.Client())


@pytest.mark.parametrize("kind", [Controller, AsyncController])
@pytest.mark.parametrize("thing", ["https://x", {}, MockServer(), first_library, first_library.Client])
def test_libraries_what_is_no_client_is_a_type_error_of_the_constructor(kind: Any, thing: object) -> None:
    """A URL, the module, the class, or the double itself in place of its client."""
    text = "client is an? [A-Za-z]+; expected a Client or an AsyncClient of httpx or httpx2, or of a subclass$"
    with pytest.raises(TypeError, match=text):
        kind(client=thing)
    if thing:
        with pytest.raises(TypeError, match=text):
            RestEndpoint(path="/a", client=thing)()


async def _user(request: Request) -> JSONResponse:
    return JSONResponse({"id": request.path_params["id"], "name": request.headers["user-agent"]})


APP = Starlette(routes=[Route("/users/{id}", _user)])


def test_libraries_test_client_of_starlette_works() -> None:
    """It is a client of httpx2, or of httpx in older versions, with a transport of its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        client = TestClient(APP)
    get = Users.get.extend(url_prefix="http://testserver")
    with client, Controller(client=client) as controller:
        assert controller.read(get, id="1") == User(id="1", name="testclient")
    with Controller(client=client, base_url="http://testserver") as controller:
        with pytest.raises(NetworkError, match="404 Not Found"):
            controller.fetch(NOPE)


@EITHER
def test_libraries_subclasses_and_transports_of_applications_work(name: str, asynchronous: bool) -> None:
    """A class of one's own that sends in its own way is asked; its library is that of its base."""
    module = MODULES[name]
    sent: list[str] = []

    class Blocking(module.Client):  # type: ignore[misc, name-defined]  # a module that is a parameter
        def send(self, request: Any, **options: Any) -> Any:
            sent.append(request.method)
            return super().send(request, **options)

    class Awaiting(module.AsyncClient):  # type: ignore[misc, name-defined]  # a module that is a parameter
        async def send(self, request: Any, **options: Any) -> Any:
            sent.append(request.method)
            return await super().send(request, **options)

    def answer(request: Any) -> Any:
        return module.Response(200, json={"id": "1", "name": type(request).__mro__[-2].__module__})

    client: Any
    if asynchronous:
        client = Awaiting(transport=module.ASGITransport(APP))
    else:
        client = Blocking(transport=module.MockTransport(answer))
    controller = controller_of(asynchronous, client=client)
    with running(client, controller) as run:
        name_seen = run(controller.fetch(Users.get, id="1")).name
    assert name_seen.startswith("restencil/" if asynchronous else name)
    assert sent == ["GET"]


# -- where they differ ------------------------------------------------------------------------------------------------


@pytest.mark.network
def test_libraries_stream_reports_how_long_it_took_once_it_was_read(asynchronous: bool) -> None:
    """Not before, which is the library's own error."""
    with Server() as server:
        endpoint = RestEndpoint(url_prefix=server.url, path="/a", content="stream")

        async def run() -> Any:
            async with httpx.AsyncClient() as client:
                async with await endpoint.extend(client=client)() as answer:
                    with pytest.raises(RuntimeError, match="elapsed"):
                        _ = answer.response.elapsed
                    assert await answer.aread() == b"{}"
            return answer.response

        if asynchronous:
            response = asyncio.run(run())
        else:
            with endpoint() as answer:
                answer.read()
            response = answer.response
        assert response.elapsed > datetime.timedelta(0)


def test_libraries_secret_urls_are_hidden_in_the_loggers_of_the_library_in_use() -> None:
    """Those of the other one are left alone. What they show is tested with all kinds of credentials."""
    code = """
import logging, sys
from restencil.http.transport import SyncTransport
SyncTransport(http=sys.argv[1]).client.close()
for core in ("httpx", "httpx2", "httpcore", "httpcore2"):
    print(len(logging.getLogger(core if "x" in core else core + ".http11").filters))
"""
    assert program(code, "httpx") == ["1", "0", "1", "0"]
    assert program(code, "httpx2") == ["0", "1", "0", "1"]


@EITHER
def test_libraries_method_query_may_be_declared(name: str, asynchronous: bool) -> None:
    """A read with a body: after a 302 httpx2 asks with method and body once more, httpx, which knows no QUERY, GETs."""

    def handler(request: Arrived) -> Reply:
        if request.target == "/from":
            return Reply(302, headers={"Location": "/to"})
        return Reply(body=b'["%s", "%s"]' % (request.method.encode(), request.body.hex().encode()))

    with Server(handler) as server:
        endpoint = RestEndpoint(url_prefix=server.url, path="/from", method="QUERY", side_effect=False)
        there = endpoint.extend(path="/to")
        body = {"q": 1}

        controller = controller_of(asynchronous, http=name)
        with running(controller) as run:
            direct, redirected = run(controller.fetch(there, body)), run(controller.fetch(endpoint, body))
        sent = b'{"q":1}'.hex()
        assert direct == ["QUERY", sent]
        assert redirected == (["QUERY", sent] if name == "httpx2" else ["GET", ""])


@pytest.mark.network
def test_libraries_response_is_pickled_with_its_request() -> None:
    """Its classes are made when the library is first used, and found by name."""
    asked = Asked(httpx.Response(200, json={"id": "1"}))
    with contextlib.closing(SyncTransport(asked.sync)) as transport:
        response = transport.send("http://case.test/users/1", {})
    again = pickle.loads(pickle.dumps(response))
    assert (type(again), again.json(), str(again.request.url)) == (type(response), {"id": "1"}, str(response.url))
    assert type(again.request).__mro__[-2].__module__ == name_in_use()


# -- a program over AsyncClient ---------------------------------------------------------------------------------------


@pytest.mark.network
def test_libraries_proxy_of_the_environment_is_used_by_clients_that_are_opened(asynchronous: bool) -> None:
    """As the HTTP library's own clients use it."""
    endpoint: Any = RestEndpoint(path="/a", url_prefix="http://far.test")

    before = os.environ.get("HTTP_PROXY")
    with Server() as proxy:
        os.environ["HTTP_PROXY"] = proxy.url
        try:
            controller = controller_of(asynchronous)
            with running(controller) as run:
                assert run(controller.fetch(endpoint)) == {}
        finally:
            os.environ.pop("HTTP_PROXY")
            if before is not None:
                os.environ["HTTP_PROXY"] = before
    assert [request.target for request in proxy.arrived] == ["http://far.test/a"]
