"""What the loggers say, what they never say, and how `RESTENCIL_LOG` shows it."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

import pytest
from tests.patience import eventually, python
from tests.runtime.servers import Arrived, Reply, Server
from tests.runtime.worlds import running

from restencil import Api, AsyncController, Auth, Controller, Entity, RestEndpoint, Retries, Store

GOLDEN = Path(__file__).resolve().parents[2] / "golden"


class Article(Entity):
    id: int = 0
    title: str = ""


GET: Any = RestEndpoint(path="/articles/:id", url_prefix="https://news.test", schema=Article)


class News(Controller):
    _api = Api("https://news.test", Auth.header("X-Api-Key"))


class PlainNews(Controller):
    _api = Api("https://news.test")


class AsyncNews(AsyncController):
    _api = Api("https://news.test", Auth.header("X-Api-Key"))


def said(caplog: pytest.LogCaptureFixture, logger: str) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == logger]


@pytest.mark.network
def test_logs_request_is_reported_with_status_time_and_headers(
    asynchronous: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Method, URL, status, milliseconds; of headers all names, and the values of those known to be harmless."""
    caplog.set_level(logging.DEBUG, "restencil")
    endpoint = GET.extend(request_init={"headers": {"X-Mine": "s3cret too", "Accept-Language": "de"}})

    with Server(lambda request: Reply(200, b'{"id": 1, "title": "of the answer"}')) as server:
        client = (AsyncNews if asynchronous else News)(token="s3cret", url_prefix=server.url)
        with running(client) as run:
            run(client.fetch(endpoint, id=1))
        (line,) = said(caplog, "restencil.transport")
        assert line.startswith(f"GET {server.url}/articles/1: 200 after ")
    assert " ms, sent with {" in line
    lowered = line.lower()
    assert "'x-mine': '[redacted]'" in lowered
    assert "'x-api-key': '[redacted]'" in lowered
    assert "'accept-language': 'de'" in lowered
    assert "s3cret" not in caplog.text
    assert "of the answer" not in caplog.text


@pytest.mark.network
def test_logs_retry_is_reported_at_info(caplog: pytest.LogCaptureFixture) -> None:
    """Key, class of the error, attempt, delay."""
    caplog.set_level(logging.INFO, "restencil")
    replies = [Reply(503, b'{"detail": "of the body"}'), Reply(200, b'{"id": 1}')]

    once = Retries(1, base_delay=1, jitter=0)

    def answer(request: Arrived) -> Reply:
        return replies.pop(0)

    with Server(answer) as server, PlainNews(url_prefix=server.url, retries=once) as client:
        client.fetch(GET, id=1)
    (line,) = said(caplog, "restencil.retry")
    assert line.startswith("GET https://news.test/articles/1: ")
    assert line.endswith("Error, retry 1 in 1 ms")
    assert "of the body" not in caplog.text


def test_logs_store_reports_what_goes(caplog: pytest.LogCaptureFixture) -> None:
    """Resets, and what a bounded store lets go of, by their numbers alone."""
    caplog.set_level(logging.DEBUG, "restencil")
    store = Store(max_entities=1)
    with Controller(store) as controller:
        for number in range(3):
            controller.set(Article, {"id": number, "title": "of a record"}, id=number)
        controller.reset_entire_store()
    lines = said(caplog, "restencil.store")
    assert "1 entities and 0 results evicted" in lines
    assert lines[-1] == "reset: all data was removed"
    assert "of a record" not in caplog.text


@pytest.mark.network
def test_logs_background_failure_says_nothing_of_the_response(caplog: pytest.LogCaptureFixture) -> None:
    """Its class and status; what the server wrote may be data."""
    replies = [Reply(200, b'{"id": 1}'), Reply(500, b'{"detail": "of the body"}')]

    with Server(lambda request: replies.pop(0)) as server, PlainNews(url_prefix=server.url) as controller:
        controller.read(GET, id=1)
        controller.expire(GET, id=1)
        controller.read(GET, id=1)
        eventually(lambda: "background fetch" in caplog.text)
    assert "background fetch of GET https://news.test/articles/1 failed: " in caplog.text
    assert "with status 500" in caplog.text
    assert "of the body" not in caplog.text


# --- RESTENCIL_LOG ---------------------------------------------------------------------------------------------------

CODE = """
import logging
{before}
from restencil import Controller
with Controller(): pass
with Controller() as client:
    client.reset_entire_store()
logger = logging.getLogger("restencil")
handlers = [type(one).__name__ for one in logger.handlers]
print(logger.level, handlers.count("StreamHandler"), logging.getLogger("httpx").level)
"""


def run(value: str | None, before: str = "", code: str = CODE) -> tuple[str, str]:
    """What a program writes to standard output and to standard error."""
    environment = {name: text for name, text in os.environ.items() if name != "RESTENCIL_LOG"}
    if value is not None:
        environment["RESTENCIL_LOG"] = value
    done = python("-c", code.format(before=before), cwd=GOLDEN, env=environment, check=True)
    return done.stdout.strip(), done.stderr.strip()


@pytest.mark.parametrize(("value", "level"), [("info", 20), (" DEBUG ", 10)])
def test_logs_variable_is_the_level_and_shows_it_on_standard_error(value: str, level: int) -> None:
    """One handler, however many clients are made; the loggers of the HTTP library are left alone."""
    out, err = run(value)
    assert out == f"{level} 1 0"
    assert ("restencil.store DEBUG: reset: all data was removed" in err) is (level == 10)
    assert err.count("\n") == 0


@pytest.mark.parametrize(
    "before",
    [
        "logging.basicConfig()",
        "logging.getLogger('restencil').addHandler(logging.FileHandler(__import__('os').devnull))",
    ],
    ids=["root", "its own"],
)
def test_logs_handlers_of_the_program_are_enough(before: str) -> None:
    """Where the logger or the root has a handler, none is added: nothing is said twice."""
    out, err = run("debug", before)
    assert out == "10 0 0"
    assert err.count("all data was removed") == ("basicConfig" in before)


LATER = """
import logging
from restencil import Controller
client = Controller()
client.reset_entire_store()
{before}
client.reset_entire_store()
"""


def test_logs_handlers_that_the_program_sets_later_are_enough_from_then_on() -> None:
    """A client is often made when a module is imported, before the program sets up its logging."""
    _, err = run("debug", "logging.getLogger().addHandler(logging.StreamHandler())", LATER)
    assert err.count("all data was removed") == 2


def test_logs_another_value_is_one_line_with_the_three_words() -> None:
    """And changes nothing."""
    out, err = run("10")
    assert out == "0 0 0"
    assert err == "restencil: RESTENCIL_LOG is '10'; expected debug, info, warning"
