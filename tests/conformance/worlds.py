"""Runs the steps of a `store` case against one store in virtual time, through either controller."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

from tests.conformance.definitions import Definitions, Json
from tests.conformance.endpoints import Endpoints
from tests.libraries import httpx

import restencil
from restencil import Controller, ExpiryStatus, LogoutManager, NetworkError, NetworkManager, ResetError, RestencilError
from restencil.cache.compiling import PAYS
from restencil.schema.notation import schema_of
from restencil.schema.protocol import Schema
from restencil.testing import Answer, FakeClock, MockServer, NetworkDown

World: TypeAlias = Literal["sync", "async"]

BASE = "http://case.test"

Step: TypeAlias = Mapping[str, Json]


class StoreCase:
    """One store, its clock and its server; `run` does a step and gives what the step's `expect` names.

    A case may bound its store by `max_entities`, and have the answers of its changes `watched` for overlaps.
    """

    def __init__(self, case: Mapping[str, Json], world: World, *, compiled: bool = False) -> None:
        self._compiled = compiled
        self._definitions = Definitions(case.get("definitions", {}))
        self._endpoints = Endpoints(case, self._definitions)
        self._clock = FakeClock(start=1_000_000)
        self._server = MockServer(self._clock)
        self._server.respond = self._answer
        self._rules = [_Rule(rule) for rule in case.get("server", ())]
        self._next: Json = None
        self._tasks: dict[str, Any] = {}
        self._objects: dict[str, Any] = {}
        self._reported = 0
        managers: list[Any] = [NetworkManager(**case.get("network_manager", {})), restencil.SubscriptionManager()]
        if case.get("logout_manager"):
            managers.insert(0, LogoutManager())
        store = self._clock.store(max_entities=case.get("max_entities"), validate="off")
        self._controller: Any
        if world == "sync":
            self._controller = Controller(store, client=self._server.client(), base_url=BASE, managers=managers)
        else:
            client = self._server.async_client()
            self._controller = restencil.AsyncController(store, client=client, base_url=BASE, managers=managers)

    def run(self, step: Step) -> dict[str, Any]:
        """Does one step and everything that is due then."""
        operation: Callable[[Step], dict[str, Any] | None] = getattr(self, f"_{step['op']}")
        return operation(step) or {}

    def close(self) -> None:
        """Ends the virtual loop and its threads."""
        self._clock.close()

    def _found(self, ref: str) -> Any:
        endpoint = self._endpoints.find(ref)
        if self._compiled:
            _compile_at_once(endpoint.rules.schema)
        return endpoint

    def _schema(self, spec: Json) -> Any:
        found = self._definitions.schema(spec)
        if self._compiled:
            _compile_at_once(schema_of(found))
        return found

    # -- requests ------------------------------------------------------------------------------------------------

    def _answer(self, request: Any) -> Any:
        answer, self._next = self._next, None
        if answer is None:
            rule = next((rule for rule in self._rules if rule.fits(request)), None)
            answer = rule.next() if rule is not None else None
        if answer is None:
            return None  # nobody answers
        if answer.get("network_error"):
            return NetworkDown(delay=answer.get("after", 0))
        return Answer(status=answer.get("status", 200), delay=answer.get("after", 0), **_content(answer))

    def _fetches(self, operation: Callable[..., Any], step: Step) -> dict[str, Any]:
        endpoint = self._found(step["endpoint"])
        args, kwargs = arguments(step)
        before = len(self._server.requests)
        self._next = step.get("respond")
        task = self._clock.start(lambda: operation(endpoint, *args, **kwargs))
        self._clock.settle()
        self._next = None
        if "as" in step:
            self._tasks[step["as"]] = task
        return {"requests": len(self._server.requests) - before}

    def _fetch(self, step: Step) -> dict[str, Any]:
        return self._fetches(self._controller.fetch, step)

    def _fetch_if_stale(self, step: Step) -> dict[str, Any]:
        return self._fetches(self._controller.fetch_if_stale, step)

    def _suspending_read(self, step: Step) -> dict[str, Any]:
        return self._fetches(self._controller.read, step)

    def _result(self, step: Step) -> dict[str, Any]:
        task = self._tasks[step["of"]]
        if task.state == "resolved":
            return {"state": "resolved", "value": self._definitions.plain(task.value)}
        if task.state == "rejected":
            return {"state": "rejected", "error": shown_error(task.error)}
        return {"state": task.state}

    def _requests(self, step: Step) -> dict[str, Any]:
        sent = self._server.requests[self._reported :]
        self._reported = len(self._server.requests)
        found = [{"method": request.method, "url": str(request.url)} for request in sent]
        for shown, expected in zip(found, step["expect"]["requests"], strict=False):
            if full_url(expected["url"]) == shown["url"]:
                shown["url"] = expected["url"]
        return {"requests": found}

    def _advance(self, step: Step) -> None:
        self._clock.advance(step["ms"])

    # -- changes -------------------------------------------------------------------------------------------------

    def _do(self, operation: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        self._clock.call(lambda: operation(*args, **kwargs))
        self._clock.settle()

    def _on(self, operation: Callable[..., Any], step: Step, *first: Any) -> None:
        args, kwargs = arguments(step)
        self._do(operation, self._found(step["endpoint"]), *first, *args, **kwargs)

    def _set_response(self, step: Step) -> None:
        try:
            self._on(self._controller.set_response, step, step["response"])
        except RestencilError:
            self._clock.settle()  # whether the call raises is not looked at: what counts is what a read then says

    def _set_error(self, step: Step) -> None:
        error: Mapping[str, Any] = step["error"]
        self._on(self._controller.set_error, step, NetworkError("set by the case", status=error.get("status", 500)))

    def _set(self, step: Step) -> dict[str, Any]:
        args, kwargs = arguments(step)
        try:
            self._do(self._controller.set, self._schema(step["schema"]), step["value"], *args, **kwargs)
        except RestencilError as error:
            if "expect" not in step:
                raise
            return {"error": shown_error(error)}
        return {}

    def _invalidate(self, step: Step) -> None:
        self._on(self._controller.invalidate, step)

    def _invalidate_all(self, step: Step) -> None:
        self._do(self._controller.invalidate_all, self._found(step["endpoint"]))

    def _expire_all(self, step: Step) -> None:
        self._do(self._controller.expire_all, self._found(step["endpoint"]))

    def _reset(self, step: Step) -> None:
        self._do(self._controller.reset_entire_store)

    def _subscribe(self, step: Step) -> None:
        self._on(self._controller.subscribe, step)

    def _unsubscribe(self, step: Step) -> None:
        self._on(self._controller.unsubscribe, step)

    # -- reads ---------------------------------------------------------------------------------------------------

    def _read(self, step: Step) -> dict[str, Any]:
        endpoint = self._found(step["endpoint"])
        args, kwargs = arguments(step)
        reading = self._controller.get_response(endpoint, *args, **kwargs)
        error = self._controller.get_error(endpoint, *args, **kwargs)
        now = self._clock()
        needs_fetch = now > reading.expires_at or reading.expiry_status is ExpiryStatus.Invalid
        found: dict[str, Any] = {
            **self._data(step, reading.data),
            "needs_fetch": needs_fetch,
            "suspends": needs_fetch and reading.expiry_status is not ExpiryStatus.Valid,
            "expires_in": reading.expires_at - now,
        }
        if error is not None:
            found["error"] = shown_error(error)
        return found

    def _query(self, step: Step) -> dict[str, Any]:
        args, kwargs = arguments(step)
        return self._data(step, self._controller.get(self._schema(step["schema"]), *args, **kwargs))

    def _data(self, step: Step, data: Any) -> dict[str, Any]:
        if "as" in step:
            self._objects[step["as"]] = data
        if data is None:
            return {"data_state": "missing"}
        return {"data_state": "present", "data": self._definitions.plain(data)}

    def _table(self, step: Step) -> dict[str, Any]:
        table: Mapping[str, Any] = self._controller.store.state["entities"].get(step["entity"], {})
        usable = [pk for pk, record in table.items() if isinstance(record, (Mapping, list))]
        if "as" in step:
            self._objects[step["as"]] = _Pks(sorted(table))
        found: dict[str, Any] = {
            "pks": sorted(pk for pk in usable if not pk.startswith("MISS-")),
            "invalidated": sorted(pk for pk in table if pk not in usable) or None,
            "placeholders": sum(pk.startswith("MISS-") for pk in usable) or None,
        }
        if step.get("records"):
            found["records"] = {pk: self._definitions.plain(table[pk]) for pk in found["pks"]}
        return found

    def _same(self, step: Step) -> dict[str, Any]:
        one = self._labelled(step["a"], step.get("path_a", ()))
        other = self._labelled(step["b"], step.get("path_b", ()))
        tables = isinstance(one, _Pks) and isinstance(other, _Pks)
        return {"same": one == other if tables else one is other}

    def _labelled(self, label: str, path: list[str | int]) -> Any:
        found = self._objects[label] if label in self._objects else self._tasks[label].value
        for step in path:
            found = self._definitions.member(found, step)
        return found


def _compile_at_once(node: Schema | None) -> None:
    """The next value that is written or read through a schema compiles it, and all that it holds."""
    if node is not None and node.uses < PAYS:
        node.uses = node.reads = PAYS
        for child in node.children():
            _compile_at_once(child)


class _Pks(list[str]):
    """The primary keys of a table: compared by value, for they are no object of the library."""


class _Rule:
    """Answers that a case has for one request: the nth request gets the nth, the last one repeats."""

    def __init__(self, rule: Mapping[str, Json]) -> None:
        self._method: str = rule["method"]
        self._url = full_url(rule["url"])
        self._answers: list[Json] = list(rule["responses"])

    def fits(self, request: Any) -> bool:
        return bool(request.method == self._method and str(request.url) == self._url)

    def next(self) -> Json:
        if not self._answers:
            return None
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


def _content(answer: Mapping[str, Json]) -> dict[str, Any]:
    """Headers and body of an answer: JSON, but a text as it is where the headers name another content type."""
    headers = dict(answer.get("headers", {}))
    if "body" not in answer:
        return {"headers": headers}
    body = answer["body"]
    content_type = httpx.Headers(headers).get("Content-Type")
    if content_type is not None and "json" not in content_type and isinstance(body, str):
        return {"headers": headers, "text": body}
    return {"headers": headers, "json": body}


def arguments(spec: Mapping[str, Json]) -> tuple[list[Any], dict[str, Any]]:
    """The positional arguments and the keywords of a call or step."""
    return list(spec.get("args", ())), dict(spec.get("kwargs", {}))


def full_url(url: str) -> str:
    """A case's URL as the transport sends it."""
    return str(httpx.URL(url if "://" in url else BASE + url))


def shown_error(error: BaseException) -> dict[str, Any]:
    """What a case says of an error."""
    if isinstance(error, ResetError):
        return {"reset": True}
    return {"status": getattr(error, "status", None)}
