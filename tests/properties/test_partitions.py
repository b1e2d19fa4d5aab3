"""A client with views shows in each of them what a client of its own would show.

Random histories run twice, each time with a server of its own: through views of one client, and through separate
clients, one for each language and token. Of a change that a client made, the separate clients with its token are told
by emptying their stores, so they ask for everything anew; those with another token are told nothing. Whatever is read
is the same in both.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples

from restencil import Api, AsyncController, Auth, Controller, Entity, NetworkError, create_resource
from restencil.testing import Answer, MockServer, Request

Json: TypeAlias = Any
Step: TypeAlias = tuple[Any, ...]


class Item(Entity):
    """What the server has, with an owner by which lists are made."""

    id: int = 0
    title: str = ""
    owner: str = ""


items: Any = create_resource(
    path="/items/:id",
    schema=Item,
    url_prefix="http://mock",
    strict=True,
    follow=True,
    optimistic=True,
    data_expiry_length=10_000_000,
    error_expiry_length=0,
)


API = Api(url_prefix="http://mock", auth=Auth.header("X-Token"))


class Client(Controller):
    """A client of an API with tokens."""

    _api = API


class AsyncClient(AsyncController):
    """The same for asyncio."""

    _api = API


OWN, OTHER = "own", "other"
PARTITIONS: list[tuple[str, str]] = [(OWN, "en"), (OWN, "de"), (OTHER, "en"), (OTHER, "de")]
"""Token and language of each."""


class Serving:
    """The server: what it has for each token, and how it shows it to a language."""

    def __init__(self) -> None:
        self.items: dict[str, dict[int, dict[str, Json]]] = {
            token: {1: {"id": 1, "title": "a", "owner": "x"}, 2: {"id": 2, "title": "b", "owner": "y"}}
            for token in (OWN, OTHER)
        }
        self.crossing: Callable[[], object] | None = None
        self.mock = MockServer(respond=self.respond)

    def respond(self, request: Request) -> Answer:
        """The answer is made first; what crosses it happens before it arrives."""
        answer = self._answer(request)
        crossing, self.crossing = self.crossing, None
        if crossing is not None:
            crossing()
        return answer

    def _answer(self, request: Request) -> Answer:
        headers = {name.lower(): value for name, value in request.headers.items()}
        sign, own = f"{headers['x-token']} {headers.get('accept-language', 'en')}", self.items[headers["x-token"]]

        def shown(item: dict[str, Json]) -> dict[str, Json]:
            return {**item, "title": f"{sign} {item['title']}"}

        path, _, query = request.url.removeprefix("http://mock").partition("?")
        number = path.rpartition("/")[2]
        body = json.loads(request.content) if request.content else {}
        if request.method == "POST":
            new = max(own, default=0) + 1
            own[new] = {"id": new, "title": "", "owner": "", **body}
            return Answer(201, json=shown(own[new]))
        if not number.isdecimal():
            owner = query.partition("owner=")[2]
            return Answer(json=[shown(item) for item in own.values() if owner in ("", item["owner"])])
        item = own.get(int(number))
        if item is None:
            return Answer(404, json={})
        if request.method == "DELETE":
            del own[int(number)]
            return Answer(204)
        item.update(body)
        return Answer(json=shown(item))


class Side:
    """One of the two: the server, and a client for each partition."""

    def __init__(self, asynchronous: bool) -> None:
        self.server = Serving()
        self.runner = asyncio.Runner() if asynchronous else None
        self.http: Any = self.server.mock.async_client() if asynchronous else self.server.mock.client()
        self.told: list[int] | None = None

    def opened(self, token: str) -> Any:
        """A client with this token."""
        kind: Any = Client if self.runner is None else AsyncClient
        return kind(client=self.http, token=token)

    def value_of(self, call: Any) -> Any:
        """The value of a call, which is awaited in one of the worlds."""
        return call if self.runner is None else self.runner.run(_awaited(call))

    def end(self, *clients: Any) -> None:
        """Closes what was opened."""
        if self.runner is None:
            for client in (*clients, self.http):
                client.close()
        else:
            for client in (*clients, self.http):
                self.runner.run(client.aclose())
            self.runner.close()

    def client(self, partition: int, quick: bool) -> Any:
        """The client of a partition; a `quick` one has a timeout of its own, which changes nothing."""
        raise NotImplementedError

    def changed(self, partition: int) -> None:
        """A client of this partition has changed something."""

    def reset(self, partition: int) -> None:
        """The client of a partition is reset."""
        raise NotImplementedError

    def close(self) -> None:
        """Closes what was opened."""
        raise NotImplementedError

    # steps

    def run(self, step: Step) -> Json:
        """What a step gives, as plain data."""
        if step[0] == "reset":
            self.reset(step[1])
            return None
        if step[0] == "cross":
            return self._crossed(step[1], step[2])
        try:
            return "is", _plain(self._called(*step))
        except NetworkError as error:
            return "error", error.status

    def _crossed(self, read: Step, change: Step) -> Json:
        """A read that is answered before a change, and whose answer arrives after it."""
        crossed: list[Json] = []
        self.told = []
        self.server.crossing = lambda: crossed.append(self.run(change))
        value = self.run(read)
        told, self.told = self.told, None
        for partition in told:
            self.changed(partition)
        return value, crossed

    def _called(self, operation: str, partition: int, quick: bool, *args: Any) -> Any:
        client = self.client(partition, quick)
        if operation == "fetch":
            return self.value_of(client.fetch(items.get, id=args[0]))
        if operation == "fetch_list":
            return self.value_of(client.fetch(items.get_list, **({"owner": args[0]} if args[0] else {})))
        if operation == "get":
            return self.value_of(client.fetch_if_stale(items.get, id=args[0]))
        if operation == "list":
            return self.value_of(client.fetch_if_stale(items.get_list, **({"owner": args[0]} if args[0] else {})))
        if operation == "create":
            value = self.value_of(client.fetch(items.get_list.push, body=args[0]))
        elif operation == "patch":
            value = self.value_of(client.fetch(items.partial_update, id=args[0], body=args[1]))
        else:
            self.value_of(client.fetch(items.delete, id=args[0]))
            value = None  # it is what the store knew of the item, and an emptied one knows nothing
        if self.told is None:
            self.changed(partition)
        else:  # who is told of it would lose the read that it crosses
            self.told.append(partition)
        return value


async def _awaited(call: Any) -> Any:
    return await call


def _plain(value: Any) -> Json:
    if isinstance(value, Item):
        return value.to_dict()
    return [_plain(entry) for entry in value] if isinstance(value, list) else value


class Views(Side):
    """Views of one client."""

    def __init__(self, asynchronous: bool) -> None:
        super().__init__(asynchronous)
        self._client = self.opened(OWN)

    def client(self, partition: int, quick: bool) -> Any:
        token, language = PARTITIONS[partition]
        headers = {"Accept-Language": language} if language != "en" else None
        return self._client.with_options(token=token, headers=headers, timeout=60_000 if quick else None)

    def reset(self, partition: int) -> None:
        self.client(partition, False).reset_entire_store()

    def close(self) -> None:
        self.end(self._client)


class Apart(Side):
    """A client for each partition."""

    def __init__(self, asynchronous: bool) -> None:
        super().__init__(asynchronous)
        self._clients = [self.opened(token) for token, _ in PARTITIONS]

    def client(self, partition: int, quick: bool) -> Any:
        headers = {"Accept-Language": PARTITIONS[partition][1]}
        return self._clients[partition].with_options(headers=headers, vary=False)

    def changed(self, partition: int) -> None:
        for other, (token, _) in enumerate(PARTITIONS):
            if other != partition and token == PARTITIONS[partition][0]:
                self._clients[other].reset_entire_store()

    def reset(self, partition: int) -> None:
        for client in self._clients if partition == 0 else [self._clients[partition]]:
            client.reset_entire_store()

    def close(self) -> None:
        self.end(*self._clients)


# -- histories --------------------------------------------------------------------------------------------------------

PARTITION = st.integers(0, len(PARTITIONS) - 1)
QUICK = st.booleans()
NUMBER = st.integers(1, 4)
OWNER = st.sampled_from(["x", "y"])
BODY = st.one_of(
    st.fixed_dictionaries({"title": st.sampled_from("pqr")}),
    st.fixed_dictionaries({"owner": OWNER}),
    st.fixed_dictionaries({"title": st.sampled_from("pqr"), "owner": OWNER}),
)
FETCHES = st.one_of(
    st.tuples(st.just("fetch"), PARTITION, QUICK, NUMBER),
    st.tuples(st.just("fetch_list"), PARTITION, QUICK, st.sampled_from(["", "x", "y"])),
)
READS = st.one_of(
    st.tuples(st.just("get"), PARTITION, QUICK, NUMBER),
    st.tuples(st.just("list"), PARTITION, QUICK, st.sampled_from(["", "x", "y"])),
)
CHANGES = st.one_of(
    st.tuples(st.just("create"), PARTITION, QUICK, BODY),
    st.tuples(st.just("patch"), PARTITION, QUICK, NUMBER, BODY),
    st.tuples(st.just("delete"), PARTITION, QUICK, NUMBER),
)
RESETS = st.tuples(st.just("reset"), PARTITION)
CROSSINGS = st.tuples(st.just("cross"), FETCHES, CHANGES)
PLAIN_STEPS = st.lists(st.one_of(READS, READS, READS, CHANGES, CHANGES, FETCHES, RESETS), max_size=14)
STEPS = st.lists(st.one_of(READS, READS, READS, CHANGES, CHANGES, FETCHES, CROSSINGS, RESETS), max_size=14)


def same_in_both(steps: list[Step], asynchronous: bool = False) -> None:
    """Each step gives the same in views of one client as in clients apart."""
    views, apart = Views(asynchronous), Apart(asynchronous)
    try:
        for count, step in enumerate(steps):
            assert views.run(step) == apart.run(step), f"step {count} of {steps}"
    finally:
        views.close()
        apart.close()


@given(STEPS)
@settings(max_examples=examples(37, 5))
def test_partitions_views_show_what_clients_apart_show(steps: list[Step]) -> None:
    """Short histories, as many as a test run can wait for."""
    same_in_both(steps)


@given(PLAIN_STEPS)
@settings(max_examples=examples(12, 5))
def test_partitions_awaited_views_show_what_clients_apart_show(steps: list[Step]) -> None:
    """The same for asyncio, where what crosses a request would have to be awaited within its answer."""
    same_in_both(steps, asynchronous=True)


@pytest.mark.slow
@given(STEPS)
@settings(max_examples=20_000)
def test_partitions_views_show_what_clients_apart_show_in_many_histories(steps: list[Step]) -> None:
    """As many as a night can wait for."""
    same_in_both(steps)
