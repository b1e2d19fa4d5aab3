"""The jobs of the client table: what the habits of an SDK cost beside the same call without them."""

from __future__ import annotations

import json
from itertools import repeat
from typing import Any

import httpx
import httpx2
import pydantic
from answering import transport
from serve import Run, serve, timed
from shapes import input_file

from restencil import Controller, Entity, Resource, Store, rest

PREFIX = "https://api.test"
HEADERS: tuple[dict[str, str] | None, ...] = (
    None,
    {"Accept-Language": "de"},
    {"Accept-Language": "de", "X-Tenant": "a"},
)


class Team(Entity, key="Team"):
    id: int = 0
    name: str = ""


class User(Entity, key="User", pk="login"):
    login: str = ""
    id: int = 0
    name: str | None = None
    type: str = ""
    site_admin: bool = False
    team: Team | None = None


class Users(Resource[Any], path="/users/:login", schema=User, url_prefix=PREFIX):
    @rest()
    def get(self, *, login: str) -> User:
        raise NotImplementedError


def _controller(library: Any = httpx) -> Controller:
    answers = transport(repeat(input_file("user.json").read_bytes()), library)
    controller = Controller(Store(), client=library.Client(transport=answers))
    assert Users(controller).get.fetch(login="octos").login
    return controller


class Items(Resource[Any], path="/items/:login", schema=User, url_prefix=PREFIX):
    @rest(path="/items", schema=[User])
    def every(self) -> list[User]:
        raise NotImplementedError


class Listing(httpx.BaseTransport):
    """A list of 100 KB, whose bytes are never those of before; it may tell its answers apart, and know them again."""

    def __init__(self, *, tells: bool, knows: bool) -> None:
        items = [
            {
                "login": f"user{number}",
                "id": number,
                "name": f"User {number} of the API" + " with a long name" * 5,
                "type": "User",
                "site_admin": False,
                "team": {"id": number % 40, "name": f"Team {number % 40}"},
            }
            for number in range(440)
        ]
        self._content = json.dumps(items).encode()
        self._tells = tells
        self._knows = knows
        self._asked = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self._asked += 1
        if self._knows and "if-none-match" in request.headers:
            return httpx.Response(304, headers={"etag": '"one"'})
        headers = {"content-type": "application/json"}
        if self._tells:
            headers["etag"] = '"one"' if self._knows else f'"{self._asked}"'
        return httpx.Response(200, headers=headers, content=self._content + b" " * (self._asked % 2))


def listed(tells: bool = False, knows: bool = False) -> Run:
    controller = Controller(Store(), client=httpx.Client(transport=Listing(tells=tells, knows=knows)))
    every = Items(controller).every
    assert len(every.fetch()) == 440
    return timed(lambda: every.fetch())


def plain_list() -> Run:
    client = httpx.Client(transport=Listing(tells=False, knows=False))
    return timed(lambda: client.get(f"{PREFIX}/items").json())


def cached() -> Run:
    get = Users(_controller()).get
    return timed(lambda: get.cached(login="octos"))


def cached_through_a_view() -> Run:
    get = Users(_controller().with_options(timeout=500)).get
    assert get.cached(login="octos") is not None
    return timed(lambda: get.cached(login="octos"))


def known_view(headers: int) -> Run:
    controller, given = _controller(), HEADERS[headers]
    kept = controller.with_options(headers=given, timeout=500)
    assert controller.with_options(headers=given, timeout=500) is kept
    return timed(lambda: controller.with_options(headers=given, timeout=500))


def new_view() -> Run:
    controller = _controller()
    numbers = iter(range(1, 10**12))
    return timed(lambda: controller.with_options(headers={"X-Request-Id": str(next(numbers))}))


def fetch(library: str = "httpx") -> Run:
    get = Users(_controller({"httpx": httpx, "httpx2": httpx2}[library])).get
    return timed(lambda: get.fetch(login="octos"))


def fetch_response() -> Run:
    get = Users(_controller()).get
    return timed(lambda: get.fetch_response(login="octos"))


def by_pydantic() -> Run:
    controller = Controller()
    record = {
        "login": "ada",
        "id": 1,
        "name": "Ada",
        "type": "User",
        "site_admin": False,
        "team": {"id": 2, "name": "A"},
    }
    controller.set_response(Users.get, record, login="ada")
    user = Users(controller).get(login="ada")
    adapter = pydantic.TypeAdapter(User)
    assert b'"team":{"id":2' in adapter.dump_json(user, by_alias=True)
    return timed(lambda: adapter.dump_json(user, by_alias=True))


if __name__ == "__main__":
    serve(cached, cached_through_a_view, known_view, new_view, fetch, fetch_response, by_pydantic, listed, plain_list)
