"""Credentials show nowhere: not in a log, a message, a repr, a key, a pickle, nor in what an error leads to."""

from __future__ import annotations

import base64
import html
import json
import logging
import pickle
import traceback
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote, quote_plus, unquote_plus

import pytest
from tests.libraries import httpx
from tests.patience import eventually
from tests.runtime.servers import Arrived, Reply, Server
from tests.runtime.worlds import running

from restencil import Api, AsyncController, Auth, Controller, RestEndpoint, StreamedResponse, Timeout

pytestmark = pytest.mark.network

CANARY = "canary+7/ x&=é"
USER = "user:canary-7-of-basic"
FORMS = {
    CANARY,
    quote(CANARY, safe=""),
    quote_plus(CANARY),
    "canary",
    USER,
    base64.b64encode(USER.encode()).decode(),
    quote(base64.b64encode(USER.encode()).decode()),
}

AUTHS = {
    "bearer": (Auth.bearer(), "canary-7-of-bearer"),
    "header": (Auth.header("X-Api-Key"), "canary-7-of-header"),
    "cookie": (Auth.cookie("sid"), "canary-7-of-cookie"),
    "query": (Auth.query("api_key"), CANARY),
    "basic": (Auth.basic(), USER),
}


def echoed(request: Arrived) -> str:
    """The query of a request, which servers take along when they redirect."""
    return request.target.partition("?")[2]


def told(request: Arrived) -> dict[str, str]:
    """What a server that talks too much says of a request: the credential, as it came and as it was meant."""
    query = echoed(request)
    sent = {name: text for name, text in request.headers.items() if name in ("authorization", "x-api-key", "cookie")}
    token = query.partition("=")[2] or next(iter(sent.values())).partition("=" if "cookie" in sent else " ")[2]
    if "x-api-key" in sent:
        token = sent["x-api-key"]
    meant = USER if "Basic" in str(sent) else unquote_plus(token)
    return {"detail": f"{meant} may not: {token} {query}", "token": token, "headers": f"{sent}", meant: meant}


def answers(other: Callable[[], str]) -> Callable[[Arrived], Reply]:
    def answer(request: Arrived) -> Reply:
        path = unquote_plus(request.target.partition("?")[0])
        match path.strip("/"):
            case "here":
                return Reply(302, headers={"Location": f"/refused?{echoed(request)}"})
            case "there":
                return Reply(307, headers={"Location": f"{other()}/refused?{echoed(request)}"})
            case "well":
                return Reply(302, headers={"Location": f"/broken?{echoed(request)}"})
            case "endless":
                return Reply(302, headers={"Location": f"/endless?{echoed(request)}"})
            case "nowhere":
                return Reply(302, headers={"Location": f"mailto:{echoed(request)}"})
            case "refused":
                return Reply(403, b'{"detail":"no"}')
            case "repeated":
                return Reply(403, json.dumps(told(request)).encode())
            case "repeated text":
                return Reply(422, f"{told(request)}\n".encode(), {"Content-Type": "text/plain"})
            case "repeated page":
                page = f"<html><title>{html.escape(told(request)['detail'])}</title>"
                return Reply(200, page.encode(), {"Content-Type": "text/html"})
            case "repeated badly":
                return Reply(200, json.dumps(told(request)).encode()[:-1])
            case "unknown":
                return Reply(401, b"{}", {"WWW-Authenticate": "Digest"})
            case "broken":
                return Reply(200, b"{", {"Content-Location": f"/broken?{echoed(request)}"})
            case "text":
                return Reply(200, b"text", {"Content-Type": "text/plain"})
            case "cut":
                return Reply(raw=b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{")
            case "large":
                return Reply(200, b"x" * 5000)
            case "garbage":
                return Reply(raw=b"SSH-2.0\r\n\r\n")
            case "held":
                return Reply(held=True)
            case _:
                return Reply()

    return answer


SCENARIOS: dict[str, dict[str, Any]] = {
    "here": {},
    "there": {},
    "well": {},
    "endless": {},
    "nowhere": {},
    "refused": {},
    "repeated": {},
    "repeated text": {"path": "/repeated%20text"},
    "repeated page": {"path": "/repeated%20page", "schema": [dict]},
    "repeated badly": {"path": "/repeated%20badly"},
    "unknown": {},
    "broken": {},
    "text": {"schema": [dict]},
    "cut": {},
    "large": {},
    "garbage": {},
    "held": {"timeout": Timeout(read=100)},
    "stream": {"path": "/cut", "content": "stream"},
    "refused redirect": {"path": "/here", "request_init": {"redirect": "error"}},
    "shown redirect": {"path": "/here", "request_init": {"redirect": "manual"}},
    "refused change": {"path": "/here", "method": "POST"},
}


class Kept:
    """The response of the last request, as a hook sees it."""

    response: Any = None


def endpoint_of(scenario: str, kept: Kept) -> RestEndpoint[..., Any]:
    class Keeping(RestEndpoint):
        def parse_response(self, response: Any) -> Any:
            kept.response = response
            return super().parse_response(response)

    return Keeping(**{"path": f"/{scenario}", "url_prefix": "https://spec.test", **SCENARIOS[scenario]})


def shown_of(error: BaseException | None) -> Iterator[str]:
    """All that an error says, and that it leads to."""
    while error is not None:
        yield f"{error!s} {error!r} {error.args!r}"
        yield from traceback.format_exception_only(error)
        if not isinstance(error, json.JSONDecodeError):  # which has the text of the server, and so what that repeats
            yield repr(vars(error)) + repr(pickle.dumps(error))
        for owner in (error, getattr(error, "response", None)):
            yield from shown_of_request(getattr(owner, "request", None) if owner is not None else None)
        yield from shown_of_response(getattr(error, "response", None))
        if hasattr(error, "to_dict"):
            yield repr(getattr(error, "to_dict")())  # noqa: B009 - not every error has it
        error = error.__cause__ or error.__context__


def shown_of_request(request: Any) -> Iterator[str]:
    if request is not None:
        yield f"{request!r} {request.url!s} {request.url!r} {request.url.raw_path!r} {request.headers.raw!r}"
        yield repr(pickle.dumps(request))


def shown_of_response(response: Any) -> Iterator[str]:
    if isinstance(response, httpx.Response):
        # What the server says is its own, also where it repeats what it was sent.
        members = {name: value for name, value in vars(response).items() if name != "_content"}
        yield f"{response!r} {response.url!s} {response.headers.raw!r} {members!r}"
        yield from shown_of_request(response.request)
        yield from shown_of_request(response.next_request)
        state = {name: value for name, value in response.__getstate__().items() if name != "_content"}
        yield repr(pickle.dumps(state))


def client_of(auth: Auth, kind: type[Any]) -> type[Any]:
    return type("Client", (kind,), {"_api": Api("https://spec.test", auth)})


def tried(auth: Auth, token: str, url: str, asynchronous: bool, scenario: str) -> list[str]:
    """All that is to be seen of a call that carries this token."""
    kept = Kept()
    endpoint = endpoint_of(scenario, kept)
    kind = client_of(auth, AsyncController if asynchronous else Controller)
    controller = kind(token=token, url_prefix=url, max_response_bytes=2000)
    failed: BaseException | None = None
    with running(controller) as run:
        try:
            value = run(controller.fetch(endpoint))
            if isinstance(value, StreamedResponse):
                run(value.aread() if asynchronous else value.read())
        except Exception as error:
            failed = error
        shown = [*shown_of(failed), *shown_of_response(kept.response)]
        shown.append(repr(controller) + repr(controller.store.state))
        shown.append(str(controller.bind(endpoint).explain()) + repr(endpoint) + endpoint.key())
    return shown


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("kind", AUTHS)
def test_secrets_credential_is_not_shown(
    kind: str, scenario: str, asynchronous: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever becomes of the request; the server says again, in its redirects, what it was sent."""
    caplog.set_level(logging.DEBUG)
    auth, token = AUTHS[kind]
    with Server() as other, Server(answers(lambda: other.url)) as server:
        shown = tried(auth, token, server.url, asynchronous, scenario)
        eventually(lambda: bool(server.arrived))  # the client may give up before the server has read what it sent
        assert any(form in f"{request.target} {request.headers}" for request in server.arrived for form in FORMS)
    records = [record for record in caplog.records if record.name != "asyncio"]
    shown += [record.getMessage() + repr(vars(record)) for record in records]
    found = [f"{form!r} in {text[:2000]}" for text in shown for form in FORMS if form in text]
    assert found == []
