"""No lost update: a change says what it was made for, changes of one entity go one after another, a 412 undoes it."""

from __future__ import annotations

import asyncio
import json
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import httpx
import pytest
from tests.runtime.servers import Arrived, Reply, Server
from tests.runtime.worlds import World, answered_by, worlds

import restencil
from restencil import AbortError, AsyncController, Controller, Entity, PreconditionFailedError, RestEndpoint, Retries
from restencil.testing import Answer, FakeClock


class Page(Entity, key="WikiPage"):
    id: str = ""
    text: str = ""
    tag: str = ""


def resource(concurrency: Any = "etag", url: str = "http://mock", **options: Any) -> Any:
    """The pages of a wiki."""
    return restencil.create_resource(
        url_prefix=url, path="/pages/:id", schema=Page, concurrency=concurrency, optimistic=True, **options
    )


Pages: Any = resource()
ONE: dict[str, Any] = {"id": "1"}


def shown_text(controller: Any, pages: Any = Pages) -> str:
    """The text of the first page, as it shows now."""
    text: str = controller.cached(pages.get, ONE).text
    return text


class Wiki:
    """A server that has an ETag for each version of each page, and refuses changes of another version."""

    def __init__(self, *, weak: bool = False, tells: bool = True) -> None:
        self.pages: dict[str, dict[str, Any]] = {"1": {"id": "1", "text": "one"}, "2": {"id": "2", "text": "two"}}
        self.versions = {"1": 1, "2": 1}
        self.weak = weak
        self.tells = tells
        self.sent: list[tuple[str, str | None]] = []
        self.answered: list[int] = []

    def tag(self, name: str) -> str:
        """The ETag of a page."""
        return f'{"W/" if self.weak else ""}"{name}.{self.versions[name]}"'

    def change(self, name: str, **members: Any) -> None:
        """Someone else changes a page."""
        self.pages[name] = {**self.pages.get(name, {"id": name}), **members}
        self.versions[name] = self.versions.get(name, 0) + 1

    def __call__(self, request: httpx.Request) -> httpx.Response:
        status, value, name = self.answer(
            request.method, request.url.path, request.headers.get("if-match"), request.content
        )
        headers = {"ETag": self.tag(name)} if self.tells and name in self.versions else {}
        return httpx.Response(status, json=value, headers=headers)

    def answer(self, method: str, path: str, condition: str | None, content: bytes) -> tuple[int, Any, str]:
        """Status, value, and the page that the ETag is of."""
        status, value, name = self._answer(method, path.rpartition("/")[2], condition, content)
        self.sent.append((method, condition))
        self.answered.append(status)
        return status, value, name

    def _answer(self, method: str, name: str, condition: str | None, content: bytes) -> tuple[int, Any, str]:
        if method == "POST":
            made = json.loads(content)
            self.change(made["id"], **made)
            return 201, self.pages[made["id"]], made["id"]
        if name == "pages":
            return 200, list(self.pages.values()), ""
        if method == "GET":
            return 200, self.pages[name], name
        if condition is not None and condition != self.tag(name):
            return 412, {"detail": "another version"}, ""
        if method == "DELETE":
            return 200, self.pages.pop(name), ""
        self.change(name, **json.loads(content))
        return 200, self.pages[name], name


def client(wiki: Any, **options: Any) -> tuple[FakeClock, Controller]:
    """A controller with a clock of its own."""
    clock = FakeClock()
    return clock, Controller(clock.store(), client=httpx.Client(transport=httpx.MockTransport(wiki)), **options)


# --- what is sent -----------------------------------------------------------------------------------------------------


@pytest.fixture
def wiki() -> Wiki:
    """A server of pages."""
    return Wiki()


def test_change_sends_the_last_etag(asynchronous: bool, clock: FakeClock, wiki: Wiki) -> None:
    """From `get` to `partial_update`, from that to `update`, from that to `delete`."""
    controller = answered_by(wiki, clock.store(), asynchronous)
    for endpoint, args in [
        (Pages.get, (ONE,)),
        (Pages.partial_update, (ONE, {"text": "new"})),
        (Pages.update, (ONE, {"text": "newer"})),
        (Pages.delete, (ONE,)),
    ]:
        clock.run(partial(controller.fetch, endpoint, *args))
        clock.advance(1)
    assert wiki.sent == [("GET", None), ("PATCH", '"1.1"'), ("PUT", '"1.2"'), ("DELETE", '"1.3"')]
    assert wiki.answered == [200, 200, 200, 200]


def test_lost_updates_what_was_created_here_is_known_by_its_own_response(wiki: Wiki) -> None:
    """The 201 of `create` has the ETag of what was created."""
    _, controller = client(wiki)
    controller.fetch(Pages.create, {"id": "9", "text": "new"})
    controller.fetch(Pages.partial_update, {"id": "9"}, {"text": "newer"})
    assert wiki.sent == [("POST", None), ("PATCH", '"9.1"')]


@pytest.mark.parametrize(
    ("options", "read", "args"),
    [({}, Pages.get_list, ()), ({"weak": True}, Pages.get, (ONE,)), ({"tells": False}, Pages.get, (ONE,))],
    ids=["list", "weak ETag", "no ETag"],
)
def test_lost_updates_what_was_read_without_a_strong_etag_is_changed_without_a_condition(
    options: dict[str, bool], read: Any, args: tuple[Any, ...]
) -> None:
    """`If-Match` compares strongly; and no silent GET is sent, which would vouch for what the user never saw."""
    wiki = Wiki(**options)
    _, controller = client(wiki)
    controller.fetch(read, *args)
    controller.fetch(Pages.partial_update, ONE, {"text": "new"})
    assert wiki.sent == [("GET", None), ("PATCH", None)]


def test_lost_updates_where_it_is_required_what_was_never_seen_is_not_changed(
    asynchronous: bool, clock: FakeClock, wiki: Wiki
) -> None:
    """Without a known ETag the call raises before anything is sent or shown; with one it goes."""
    pages = resource({"etag": "required"})
    controller = answered_by(wiki, clock.store(), asynchronous)
    clock.run(lambda: controller.fetch(pages.get_list))
    for call in (
        lambda: controller.fetch(pages.partial_update, ONE, {"text": "new"}),
        lambda: controller.fetch(pages.update, ONE, {"text": "new"}),
        lambda: controller.fetch(pages.delete, ONE),
    ):
        with pytest.raises(ValueError, match=r"pages/1: no ETag of this entity is stored.*call get"):
            clock.run(call)
    assert shown_text(controller, pages) == "one"
    assert len(wiki.sent) == 1
    clock.run(lambda: controller.fetch(pages.get, ONE))
    clock.run(lambda: controller.fetch(pages.partial_update, ONE, {"text": "new"}))
    assert wiki.sent[-1] == ("PATCH", '"1.1"')


def test_lost_updates_header_of_the_user_is_in_its_place(wiki: Wiki) -> None:
    """`If-Match` of a call is sent as it is, and satisfies what is required."""
    pages = resource({"etag": "required"})
    _, controller = client(wiki)
    own = controller.with_options(headers={"If-Match": '"1.1"'})
    own.fetch(pages.partial_update, ONE, {"text": "new"})
    controller.fetch(pages.get, ONE)
    with pytest.raises(PreconditionFailedError):
        own.fetch(pages.partial_update, ONE, {"text": "newer"})
    assert [condition for _, condition in wiki.sent] == ['"1.1"', None, '"1.1"']


def test_lost_updates_field_of_the_record_may_hold_it(wiki: Wiki) -> None:
    """With `field` it is that of the record, wherever the record came from; what is no ETag is none."""
    wiki.pages["1"]["tag"] = '"1.1"'
    wiki.pages["2"]["tag"] = "2.1"
    pages = resource({"field": "tag"})
    _, controller = client(wiki)
    controller.fetch(pages.get_list)
    controller.fetch(pages.partial_update, ONE, {"text": "new"})
    controller.fetch(pages.partial_update, {"id": "2"}, {"text": "new"})
    assert wiki.sent == [("GET", None), ("PATCH", '"1.1"'), ("PATCH", None)]


# --- how long it stays -----------------------------------------------------------------------------------------------


def test_lost_updates_response_that_was_overtaken_does_not_replace_it(wiki: Wiki) -> None:
    """Of two answers the ETag is that of the one whose data the store keeps."""
    again = Pages.get.extend(key=lambda *args: "the same by another key")
    inner: list[int] = []

    def serve(request: httpx.Request) -> httpx.Response:
        answer = wiki(request)
        if not inner:
            inner.append(1)
            wiki.change("1", text="newer")
            clock.sleep(1)
            controller.fetch(again, ONE)
        return answer

    clock, controller = client(serve)
    controller.fetch(Pages.get, ONE)
    assert shown_text(controller) == "newer"
    controller.fetch(Pages.partial_update, ONE, {"text": "mine"})
    assert wiki.sent[-1] == ("PATCH", '"1.2"') and wiki.answered[-1] == 200


@pytest.mark.parametrize("how", ["reset", "delete"])
def test_lost_updates_reset_and_an_invalidation_take_it_away(how: str, wiki: Wiki) -> None:
    """What starts over, and what was deleted, is known by nothing."""
    clock, controller = client(wiki)
    controller.fetch(Pages.get, ONE)
    if how == "reset":
        controller.reset_entire_store()
    else:
        controller.fetch(Pages.delete, ONE)
        wiki.change("1", text="made anew")
    clock.advance(1)
    controller.fetch(Pages.partial_update, ONE, {"text": "new"})
    assert wiki.sent[-1] == ("PATCH", None)


def test_lost_updates_eviction_does_not_take_it_away(clock: FakeClock, wiki: Wiki) -> None:
    """What the user has in hand can still be changed safely when the store let go of it."""
    controller = Controller(clock.store(max_entities=2), client=httpx.Client(transport=httpx.MockTransport(wiki)))
    controller.fetch(Pages.get, ONE)
    for name in ("7", "8", "9"):
        controller.set(Page, {"id": name})
    controller.fetch(Pages.partial_update, ONE, {"text": "new"})
    assert wiki.sent[-1] == ("PATCH", '"1.1"')


def test_lost_updates_response_without_change_confirms_it() -> None:
    """After a 412 a 304 to `get` says that the data here is that of its ETag."""
    refusing = [412, 200]
    sent: list[str | None] = []

    def serve(request: httpx.Request) -> httpx.Response:
        headers = {"ETag": '"a"'}
        if request.method == "PATCH":
            sent.append(request.headers.get("if-match"))
            return httpx.Response(refusing.pop(0), json={"id": "1"}, headers=headers)
        return httpx.Response(304 if "if-none-match" in request.headers else 200, json={"id": "1"}, headers=headers)

    _, controller = client(serve)
    controller.fetch(Pages.get, ONE)
    with pytest.raises(PreconditionFailedError):
        controller.fetch(Pages.partial_update, ONE, {"text": "new"})
    controller.fetch(Pages.get, ONE)
    controller.fetch(Pages.partial_update, ONE, {"text": "new"})
    assert sent == ['"a"', '"a"']


# --- a refusal -------------------------------------------------------------------------------------------------------


def test_lost_updates_412_undoes_what_was_shown_and_leaves_the_entity_stale(wiki: Wiki) -> None:
    """The error says what to do; the layer goes, the entity and all that shows it is stale, and so is its ETag."""
    clock, controller = client(wiki)
    controller.fetch(Pages.get_list)
    controller.fetch(Pages.get, ONE)
    wiki.change("1", text="by someone else")
    shown: list[str] = []
    controller.add_listener(lambda: shown.append(shown_text(controller)))
    with pytest.raises(PreconditionFailedError, match="412 .*another version; .*read it again, and decide"):
        controller.fetch(Pages.partial_update, ONE, {"text": "mine"})
    assert shown == ["mine", "one"]
    assert controller.get_response(Pages.get, ONE).needs_fetch and controller.get_response(Pages.get_list).needs_fetch
    assert not controller.get_response(Pages.get, {"id": "2"}).needs_fetch
    clock.advance(1)
    controller.fetch(Pages.get, ONE)
    assert not controller.get_response(Pages.get, ONE).needs_fetch
    controller.fetch(Pages.partial_update, ONE, {"text": "mine"})
    assert wiki.sent[-1] == ("PATCH", '"1.2"') and wiki.pages["1"]["text"] == "mine"


def test_lost_updates_after_a_lost_attempt_the_refusal_says_that_the_change_may_have_been_made(wiki: Wiki) -> None:
    """The first attempt changed it and its answer was lost; the second is refused by that very change."""
    lost: list[int] = []

    def serve(request: httpx.Request) -> httpx.Response:
        answer = wiki(request)
        if request.method == "PUT" and not lost:
            lost.append(1)
            raise httpx.ReadError("broken off")
        return answer

    _, controller = client(serve, retries=Retries(1))
    controller.fetch(Pages.get, ONE)
    with pytest.raises(PreconditionFailedError, match="an earlier attempt may have made the change"):
        controller.fetch(Pages.update, ONE, {"text": "mine"})
    assert wiki.sent == [("GET", None), ("PUT", '"1.1"'), ("PUT", '"1.1"')]


# --- one after another -----------------------------------------------------------------------------------------------


def _serve(wiki: Wiki) -> Any:
    def serve(request: Arrived) -> Reply:
        if request.method != "GET":
            time.sleep(0.05)
        status, value, name = wiki.answer(request.method, request.target, request.headers.get("if-match"), request.body)
        headers = {"Content-Type": "application/json"}
        return Reply(status, json.dumps(value).encode(), {**headers, "ETag": wiki.tag(name)} if name else headers)

    return serve


def test_lost_updates_over_real_http_two_changes_of_one_entity_both_succeed(asynchronous: bool, wiki: Wiki) -> None:
    """Two threads, or two tasks, change one page at once: the second is made for what the first one brought."""
    with Server(_serve(wiki)) as server:
        pages = resource(url=server.url)
        if asynchronous:

            async def run() -> None:
                async with AsyncController() as client:
                    await client.fetch(pages.get, ONE)
                    await asyncio.gather(
                        client.fetch(pages.partial_update, ONE, {"text": "a"}),
                        client.fetch(pages.partial_update, ONE, {"tag": "b"}),
                    )

            asyncio.run(run())
        else:
            with Controller() as client:
                client.fetch(pages.get, ONE)
                with ThreadPoolExecutor(2) as pool:
                    bodies = ({"text": "a"}, {"tag": "b"})
                    list(pool.map(lambda body: client.fetch(pages.partial_update, ONE, body), bodies))
    assert wiki.answered == [200, 200, 200] and wiki.pages["1"] == {"id": "1", "text": "a", "tag": "b"}
    assert [condition for _, condition in wiki.sent] == [None, '"1.1"', '"1.2"']


def test_lost_updates_waiting_counts_into_the_timeout(asynchronous: bool, wiki: Wiki) -> None:
    """A change that would have to wait for longer than it may take is not sent, and says so."""

    def respond(request: Any) -> Answer:
        path = request.url.removeprefix("http://mock")
        status, value, name = wiki.answer(request.method, path, request.headers.get("if-match"), request.content)
        return Answer(
            status, json=value, headers={"ETag": wiki.tag(name)}, delay=0 if request.method == "GET" else 5_000
        )

    with worlds(partial(World, asynchronous, validate="off")) as make:
        world = make()
        world.server.respond = respond
        world.do("fetch", Pages.get, ONE)
        first = world.begin("fetch", Pages.partial_update, ONE, {"text": "a"})
        with pytest.raises(
            restencil.TimeoutExceededError, match=r"within 1000 ms \(it waited for .* entity, and was not sent\)"
        ):
            world.do("fetch", Pages.partial_update.extend(timeout="1s"), ONE, {"tag": "b"})
        world.clock.advance(5_000)
        assert first.result().text == "a"
    assert wiki.pages["1"] == {"id": "1", "text": "a"}


def test_lost_updates_who_gives_up_waiting_leaves_the_others_their_turn(clock: FakeClock, wiki: Wiki) -> None:
    """A task that is cancelled while it waits sends nothing; the one behind it goes on."""

    async def serve(request: httpx.Request) -> httpx.Response:
        await asyncio.sleep(0.05)
        return wiki(request)

    controller = AsyncController(clock.store(), client=httpx.AsyncClient(transport=httpx.MockTransport(serve)))

    async def run() -> list[Any]:
        await controller.fetch(Pages.get, ONE)
        calls = [asyncio.ensure_future(controller.fetch(Pages.partial_update, ONE, {"text": t})) for t in "abc"]
        await asyncio.sleep(0.01)
        calls[1].cancel()
        return await asyncio.gather(*calls, return_exceptions=True)

    values = clock.run(run)
    assert isinstance(values[1], asyncio.CancelledError | AbortError)
    assert wiki.sent[1:] == [("PATCH", '"1.1"'), ("PATCH", '"1.2"')] and wiki.pages["1"]["text"] == "c"


def test_lost_updates_change_within_a_change_does_not_wait_for_itself(asynchronous: bool, clock: FakeClock) -> None:
    """A hook of a change may change the same entity."""
    wiki = Wiki()
    inner: list[Any] = []

    class Nested(RestEndpoint[..., Any]):
        def get_headers(self, headers: dict[str, str]) -> Any:
            if inner:
                return headers
            inner.append(1)
            if asynchronous:

                async def change() -> dict[str, str]:
                    await controller.fetch(Pages.partial_update, ONE, {"text": "inner"})
                    return headers

                return change()
            controller.fetch(Pages.partial_update, ONE, {"text": "inner"})
            return headers

    outer: Any = Nested(url_prefix="http://mock", path="/pages/:id", schema=Page, method="PATCH", concurrency="etag")
    controller = answered_by(wiki, clock.store(), asynchronous)
    clock.run(lambda: controller.fetch(outer, ONE, {"text": "outer"}))
    assert wiki.pages["1"]["text"] == "outer" and len(wiki.sent) == 2


@pytest.mark.parametrize(
    "value", ["Etag", {"etag": "needed"}, {"field": ""}, {"field": "tag", "etag": "required"}, True, {}]
)
def test_lost_updates_what_no_concurrency_can_be_is_rejected(value: Any) -> None:
    """A mistake is told when the endpoint is made."""
    with pytest.raises(ValueError, match="concurrency of endpoint .* expected 'etag'"):
        RestEndpoint(path="/pages/:id", concurrency=value)
