"""What a 401 does: logging out, and refreshing the token once for all who need it."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest
from tests.libraries import httpx
from tests.patience import eventually_async
from tests.runtime.users import User
from tests.runtime.worlds import World

import restencil
from restencil import AsyncController, Controller, LogoutManager, NetworkError, NetworkManager, SubscriptionManager
from restencil.testing import Answer

Users: Any = restencil.create_resource(url_prefix="http://mock", path="/users/:id", schema=User)


class LogoutWorld(World):
    """A world with a logout manager."""

    def __init__(self, asynchronous: bool, **options: Any) -> None:
        super().__init__(asynchronous, managers=[LogoutManager(**options), NetworkManager(), SubscriptionManager()])

    def fail(self, endpoint: Any, **kwargs: Any) -> Exception:
        with pytest.raises(Exception) as caught:
            self.clock.run(lambda: self.controller.fetch(endpoint, **kwargs))
        return caught.value


def test_should_logout_and_handle_logout_are_the_user_s(asynchronous: bool) -> None:
    seen: list[Any] = []
    world = LogoutWorld(asynchronous, should_logout=lambda error: error.status == 418, handle_logout=seen.append)
    world.server.respond = lambda request: Answer(status=418, json={})
    world.fail(Users.get, id="1")
    assert seen == [world.controller] and world.store.resets == 0
    world.close()


def test_logout_functions_of_a_logout_manager_that_fail_are_logged_and_the_caller_gets_its_own_error(
    asynchronous: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*args: Any) -> Any:
        raise LookupError("no such user")

    for options in ({"should_logout": fail}, {"handle_logout": fail}):
        world = LogoutWorld(asynchronous, **options)
        world.server.respond = lambda request: Answer(status=401, json={})
        assert getattr(world.fail(Users.get, id="1"), "status", None) == 401
        assert "a function of LogoutManager failed at AuthenticationError" in caplog.text
        caplog.clear()
        world.close()


# refresh


class Session:
    """A server whose tokens grow old, and a client that renews them."""

    def __init__(self, works: bool = True) -> None:
        self.valid = "t1"
        self.token = "t0"
        self.works = works
        self.refreshes = 0
        self.requests = 0
        self._lock = threading.Lock()

    def answer(self, request: httpx.Request) -> httpx.Response:
        with self._lock:
            self.requests += 1
        if request.url.path == "/token":
            time.sleep(0.02)
            return httpx.Response(200, json={"token": self.valid})
        if request.headers.get("access-token") != self.valid:
            return httpx.Response(401, json={})
        return httpx.Response(200, json={"id": request.url.path.rpartition("/")[2]})

    def endpoint(self, **options: Any) -> Any:
        return Users.get.extend(get_headers=lambda headers: {**headers, "Access-Token": self.token}, **options)

    def renew(self, error: Any) -> bool:
        with self._lock:
            self.refreshes += 1
        time.sleep(0.02)
        if self.works:
            self.token = self.valid
        return self.works

    async def renew_later(self, error: Any) -> bool:
        with self._lock:
            self.refreshes += 1
        await asyncio.sleep(0.02)
        if self.works:
            self.token = self.valid
        return self.works

    def client(self) -> httpx.Client:
        return httpx.Client(transport=httpx.MockTransport(self.answer))

    def async_client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(transport=httpx.MockTransport(self.answer))


async def test_logout_concurrent_401s_in_tasks_cause_one_refresh() -> None:
    session = Session()
    endpoint = session.endpoint(refresh=session.renew_later)
    async with AsyncController(client=session.async_client()) as controller:
        users = await asyncio.gather(*(controller.fetch(endpoint, id=str(n)) for n in range(100)))
        assert [user.id for user in users] == [str(n) for n in range(100)]
    assert session.refreshes == 1 and session.requests == 200


async def test_logout_refresh_without_success_lets_the_error_go_on_and_logs_out_once() -> None:
    session = Session(works=False)
    managers = [LogoutManager(), NetworkManager(), SubscriptionManager()]
    async with AsyncController(client=session.async_client(), managers=managers) as controller:
        endpoint = session.endpoint(refresh=session.renew_later)
        outcomes = await asyncio.gather(
            *(controller.fetch(endpoint, id=str(n)) for n in range(50)), return_exceptions=True
        )
        assert all(getattr(o, "status", 401) == 401 for o in outcomes)
        assert controller.store.resets == 1 and session.refreshes == 1 and session.requests == 50


def test_logout_second_401_is_final() -> None:
    session = Session()
    endpoint = session.endpoint(refresh=lambda error: True)
    with Controller(client=session.client()) as controller, pytest.raises(NetworkError) as caught:
        controller.fetch(endpoint, id="1")
    assert caught.value.status == 401 and session.requests == 2


def test_logout_401_of_a_request_that_refresh_makes_never_refreshes() -> None:
    session = Session()
    calls: list[Any] = []

    def refresh(error: Any) -> bool:
        calls.append(error)
        controller.fetch(endpoint, id="me")
        return True

    endpoint = session.endpoint(refresh=refresh)
    with Controller(client=session.client()) as controller, pytest.raises(NetworkError):
        controller.fetch(endpoint, id="1")
    assert len(calls) == 1


def test_logout_refresh_that_fails_is_logged_and_counts_as_no(caplog: pytest.LogCaptureFixture) -> None:
    session = Session()

    def refresh(error: Any) -> bool:
        raise OSError("no way")

    with Controller(client=session.client()) as controller, pytest.raises(NetworkError) as caught:
        controller.fetch(session.endpoint(refresh=refresh), id="1")
    assert caught.value.status == 401
    assert "refresh of endpoint" in caplog.text and "no way" in caplog.text


async def test_logout_when_the_caller_that_refreshes_is_cancelled_the_next_one_takes_over() -> None:
    session = Session()
    began = asyncio.Event()

    async def refresh(error: Any) -> bool:
        if not began.is_set():
            began.set()
            await asyncio.Event().wait()  # until its caller is cancelled
        return await session.renew_later(error)

    endpoint = session.endpoint(refresh=refresh)
    async with AsyncController(client=session.async_client()) as controller:
        first = asyncio.create_task(controller.fetch(endpoint, id="1"))
        await began.wait()
        others = [asyncio.create_task(controller.fetch(endpoint, id=str(n))) for n in range(2, 6)]
        await eventually_async(lambda: session.requests == 5)
        first.cancel()
        assert [user.id for user in await asyncio.gather(*others)] == ["2", "3", "4", "5"]
        assert session.refreshes == 1
