"""Cookies of principals that share an HTTP client: each controller has a jar of its own."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from tests.libraries import httpx
from tests.patience import PATIENCE
from tests.runtime.servers import Arrived, Reply, Server
from tests.runtime.worlds import client_of, controller_of, running

from restencil import Controller, RestEndpoint

pytestmark = pytest.mark.network


def logging_in(request: Arrived) -> Reply:
    """`/login/NAME` gives a cookie; `/away/NAME` does so in a redirect."""
    _, what, *name = request.target.split("/")
    if what == "login":
        return Reply(headers={"Set-Cookie": f"sid={name[0]}; Path=/"})
    if what == "away":
        return Reply(302, headers={"Set-Cookie": f"sid={name[0]}; Path=/", "Location": "/arrived"})
    return Reply()


def visited(server: Server, visits: list[tuple[int, str]], asynchronous: bool) -> tuple[list[str], dict[str, str]]:
    """The cookies of these visits by two controllers that share a client, and what the client's own jar has then."""
    cookies = {"given": "1"}

    def at(path: str) -> RestEndpoint[..., Any]:
        return RestEndpoint(path=path, url_prefix=server.url)

    client = client_of(asynchronous, cookies=cookies, timeout=PATIENCE)
    both = [controller_of(asynchronous, client=client) for _ in range(2)]
    with running(client, *both) as run:
        for who, path in visits:
            run(both[who].fetch(at(path)))
        return [request.headers.get("cookie", "") for request in server.arrived], dict(client.cookies)


def test_cookies_controllers_that_share_a_client_share_no_cookies(asynchronous: bool) -> None:
    """What the user put into the client goes with all; what a server set, with the controller that it was set for.

    A redirect at home may set them, and is followed with them.
    """
    visits = [(0, "/login/ann"), (1, "/a"), (1, "/login/bob"), (0, "/b"), (1, "/c"), (0, "/away/cat")]
    with Server(logging_in) as server:
        sent, left = visited(server, visits, asynchronous)
    assert sent[:5] == ["given=1", "given=1", "given=1", "given=1; sid=ann", "given=1; sid=bob"]
    assert sent[5:] == ["given=1; sid=ann", "given=1; sid=cat"]
    assert left == {"given": "1"}


def test_cookies_what_the_user_asks_through_the_client_is_kept_by_it() -> None:
    """Outside of controllers the client's jar is as it was, and its policy can be copied and changed as before."""
    with Server(logging_in) as server, httpx.Client() as client, Controller(client=client) as controller:
        login: Any = RestEndpoint(path="/login/ann", url_prefix=server.url)
        controller.fetch(login)
        client.get(f"{server.url}/login/carol")
        assert dict(client.cookies) == {"sid": "carol"}
        jar: Any = client.cookies.jar
        policy = jar._policy
        assert pickle.loads(pickle.dumps(policy)).netscape is True
        policy.set_blocked_domains(["127.0.0.1"])
        client.get(f"{server.url}/login/dora")
        assert dict(client.cookies) == {"sid": "carol"}


def test_cookies_direct_calls_keep_cookies_in_the_client_that_they_were_given() -> None:
    """They are one user's, as the client is."""
    with Server(logging_in) as server, httpx.Client() as client:
        RestEndpoint(path="/login/ann", url_prefix=server.url, client=client)()
        RestEndpoint(path="/a", url_prefix=server.url, client=client)()
        assert server.arrived[1].headers["cookie"] == "sid=ann"
        assert dict(client.cookies) == {"sid": "ann"}
