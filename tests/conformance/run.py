"""Runs conformance cases: `python tests/conformance/run.py DIR [DIR ...]`.

Prints each failing case with what differed, and as the last line `N passed, M failed`; the exit status is 1 if any
failed. Cases that a later rule overrides are named with it, and counted as neither. Cases that need a controller or a
client run with the synchronous and with the asynchronous one, and pass only if both do.
"""

from __future__ import annotations

import argparse
import asyncio
import inspect
import json
import logging
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.conformance.compare import differences, step_differences
from tests.conformance.definitions import Definitions
from tests.conformance.endpoints import Endpoints
from tests.conformance.overridden import OVERRIDDEN
from tests.conformance.worlds import BASE, StoreCase, World, arguments
from tests.libraries import httpx

from restencil import RestEndpoint, hook_scope, hookify_resource

Case: TypeAlias = Mapping[str, Any]

WORLDS: Final[tuple[World, World]] = ("sync", "async")


def cases(folders: Sequence[Path]) -> Iterator[Case]:
    """All cases of the `*.json` files in these folders, in order of folder, file and line."""
    for folder in folders:
        files = [folder] if folder.is_file() else sorted(folder.glob("*.json"))
        for file in files:
            yield from json.loads(file.read_text(encoding="utf-8"))["cases"]


def worlds_of(case: Case) -> tuple[World, ...]:
    """The worlds in which a case says something of its own: one for what never waits, the asynchronous one for
    asynchronous functions."""
    if '"async_' in json.dumps({name: part for name, part in case.items() if name not in ("title", "expect")}):
        return ("async",)
    return WORLDS if case["kind"] in ("store", "call", "resource") else ("sync",)


def problems(case: Case, world: World) -> list[str]:
    """What a case gives otherwise than expected, in one world; what it raises is a problem as well."""
    try:
        return _KINDS[case["kind"]](case, world)
    except Exception as error:
        return [f"raised {_told(error)}"]


def _told(error: BaseException) -> str:
    frames = inspect.getinnerframes(error.__traceback__) if error.__traceback__ is not None else []
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{where}"


# -- kinds -----------------------------------------------------------------------------------------------------------


def _built(case: Case) -> Endpoints:
    return Endpoints(case, Definitions(case.get("definitions", {})))


def _value_problems(case: Case, world: World) -> list[str]:
    """Kinds `url`, `key` and `test_key`: a plain method of one endpoint."""
    found: dict[str, Any]
    try:
        endpoint = _built(case).find(case.get("call", "E"))
        args, kwargs = ([case["key"]], {}) if case["kind"] == "test_key" else arguments(case)
        found = {"value": getattr(endpoint, case["kind"])(*args, **kwargs)}
    except Exception as error:
        found = {"error": True, "told": _told(error)}
    return _without_told(case["expect"], found)


def _error_problems(case: Case, world: World) -> list[str]:
    """Kind `resource_error`: building raises."""
    try:
        _built(case)
    except Exception:
        return differences(case["expect"], {"error": True})
    return differences(case["expect"], {})


def _without_told(expected: Any, found: dict[str, Any]) -> list[str]:
    told = found.pop("told", None)
    out = differences(expected, found)
    return [*out, f"raised {told}"] if out and told else out


def _member_problems(case: Case, world: World) -> list[str]:
    """Kind `resource`: what each member is, where it goes and whether it sends a body."""
    out: list[str] = []
    for place, (member, expected) in enumerate(zip(case["members"], case["expect"]["members"], strict=True)):
        sent = _Sent({"status": 200, "json": {}})
        endpoints = Endpoints(case, Definitions(case.get("definitions", {})), sent.recording)
        found: dict[str, Any] = {}
        try:
            endpoint = endpoints.find(member["member"])
        except AttributeError:
            found = {"present": False}
        else:
            found = _shown_member(endpoint, member, expected, sent, world)
        compared = {name: found.get(name) for name in expected}
        out += differences(expected, compared, f"$.members[{place}] {member['member']}")
    return out


def _shown_member(
    endpoint: Any, member: Mapping[str, Any], expected: Mapping[str, Any], sent: _Sent, world: World
) -> dict[str, Any]:
    args, kwargs = arguments(member)
    found: dict[str, Any] = {name: getattr(endpoint, name, None) for name in member.get("options", ())}
    if expected.get("present") is True:
        found["present"] = True
    found |= {name: getattr(endpoint, name) for name in ("method", "path", "side_effect") if name in expected}
    if "url" in expected:
        found["url"] = _or_error(endpoint.url, *args[:1], **kwargs)
    if "key" in expected:
        found["key"] = _or_error(endpoint.key, *args, **kwargs)
    if "sends_body" in expected:
        # Search values are free here, so what cannot be written into a URL is left out of the call.
        first = {name: value for name, value in (args[0] or {}).items() if not isinstance(value, dict)} if args else {}
        sent.outcome(endpoint, (first, {"probe": 1}), {}, world)
        found["sends_body"] = bool(sent.requests) and sent.requests[0]["body"] is not None
    return found


def _or_error(function: Any, *args: Any, **kwargs: Any) -> Any:
    try:
        return function(*args, **kwargs)
    except Exception:
        return {"error": True}


def _call_problems(case: Case, world: World) -> list[str]:
    """Kind `call`: a direct call, without a store."""
    sent = _Sent(case.get("response"))
    definitions = Definitions(case.get("definitions", {}))
    endpoints = Endpoints(case, definitions, sent.recording)
    args, kwargs = arguments(case)
    found: dict[str, Any]
    try:
        endpoint = _hooked(case["hook"], endpoints) if "hook" in case else endpoints.find(case.get("call", "E"))
    except Exception as error:
        found = {"state": "rejected", "error": {"status": getattr(error, "status", None)}, "told": _told(error)}
    else:
        found = sent.outcome(endpoint, args, kwargs, world)
        if found["state"] == "resolved":
            found["value"] = definitions.plain(found["value"])
    found["request"] = sent.requests[0] if sent.requests else None
    found["requests"] = len(sent.requests)
    return _without_told(case["expect"], found)


def _hooked(hook: Mapping[str, Any], endpoints: Endpoints) -> Any:
    hooked: Any = hookify_resource(endpoints.find(hook["resource"]), lambda: hook["request_init"])
    use = getattr(hooked, f"use_{hook['member']}")
    if not hook.get("scope", True):
        return use()
    with hook_scope():
        return use()


class _Sent:
    """A network that gives every request the same answer, and keeps what `fetch_response` was handed."""

    def __init__(self, answer: Mapping[str, Any] | None) -> None:
        self._answer: Mapping[str, Any] = answer or {}
        self.requests: list[dict[str, Any]] = []

    @property
    def recording(self) -> type[RestEndpoint[..., Any]]:
        """An endpoint class whose requests are kept."""
        sent = self

        class Recording(RestEndpoint[..., Any]):
            def fetch_response(self, url: str, init: Mapping[str, Any]) -> Any:
                sent.requests.append(_shown_request(url, init))
                return super().fetch_response(url, init)

        return Recording

    def outcome(self, endpoint: Any, args: Sequence[Any], kwargs: Mapping[str, Any], world: World) -> dict[str, Any]:
        """How a direct call ends."""
        try:
            if world == "async":
                value = asyncio.run(self._called(endpoint, args, kwargs))
            else:
                with httpx.Client(transport=httpx.MockTransport(self._handle), base_url=BASE) as client:
                    value = endpoint.extend(client=client)(*args, **kwargs)
        except Exception as error:
            return {"state": "rejected", "error": {"status": getattr(error, "status", None)}, "told": _told(error)}
        return {"state": "resolved", "value": value}

    async def _called(self, endpoint: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        async with httpx.AsyncClient(transport=httpx.MockTransport(self._handle), base_url=BASE) as client:
            return await endpoint.extend(client=client)(*args, **kwargs)

    def _handle(self, request: httpx.Request) -> httpx.Response:
        answer = self._answer
        if answer.get("network_error"):
            raise httpx.ConnectError("the case wants no network", request=request)
        status: int = answer.get("status", 200)
        headers = httpx.Headers(answer.get("headers", {}))
        if status in (204, 205, 304):
            return httpx.Response(status, headers=headers)
        if "json" in answer:
            headers.setdefault("Content-Type", "application/json")
            return httpx.Response(status, headers=headers, content=_compact(answer["json"]))
        return httpx.Response(status, headers=headers, content=str(answer.get("text", "")).encode())


def _compact(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def _shown_request(url: str, init: Mapping[str, Any]) -> dict[str, Any]:
    others = {name: value for name, value in init.items() if name not in ("method", "headers", "body")}
    shown: dict[str, Any] = {
        "method": init.get("method"),
        "url": url,
        "headers": dict(init.get("headers") or {}),
        "body": _shown_body(init.get("body")),
    }
    present = {name: value for name, value in others.items() if value is not None}
    return {**shown, "init": present} if present else shown


def _shown_body(body: Any) -> Any:
    if body is None:
        return None
    text = body.decode() if isinstance(body, bytes) else str(body)
    try:
        found = json.loads(text)
    except ValueError:
        return {"text": text}
    return {"json": found} if isinstance(found, (dict, list)) else {"text": text}


def _store_problems(case: Case, world: World) -> list[str]:
    """Kind `store`: steps in virtual time, with schemas that are compiled from the start.

    They are interpreted in one world as well: what waits for responses knows neither form.
    """
    out: list[str] = []
    for form in ("interpreted", "compiled") if world == "sync" else ("compiled",):
        store = StoreCase(case, world, compiled=form == "compiled")
        try:
            for place, step in enumerate(case["steps"]):
                got = store.run(step)
                if "expect" in step:
                    out += [f"{form}, step {place} ({step['op']}): {text}" for text in step_differences(step, got)]
        finally:
            store.close()
    return out


_KINDS = {
    "url": _value_problems,
    "key": _value_problems,
    "test_key": _value_problems,
    "resource": _member_problems,
    "resource_error": _error_problems,
    "call": _call_problems,
    "store": _store_problems,
}


# -- command ---------------------------------------------------------------------------------------------------------


def main(arguments_given: Sequence[str] | None = None) -> int:
    """Runs the cases of the folders named on the command line; 0 if all passed, else 1."""
    parser = argparse.ArgumentParser(description="Runs conformance cases.")
    parser.add_argument("folders", metavar="DIR", nargs="+", type=Path, help="a folder with *.json files of cases")
    parser.add_argument("--world", choices=[*WORLDS, "both"], default="both", help="which controller (default: both)")
    parser.add_argument("-k", metavar="TEXT", default="", help="only the cases with this text in their id")
    options = parser.parse_args(arguments_given)
    logging.getLogger("restencil").addHandler(logging.NullHandler())
    logging.getLogger("restencil").propagate = False
    passed = failed = 0
    for case in cases(options.folders):
        if options.k not in case["id"]:
            continue
        if case["id"] in OVERRIDDEN:
            print(f"{case['id']}  overridden: {OVERRIDDEN[case['id']]}")
            continue
        found: list[str] = []
        for world in worlds_of(case):
            if options.world in (world, "both") or len(worlds_of(case)) == 1:
                found += [f"[{world}] {text}" for text in problems(case, world)]
        if found:
            failed += 1
            print(f"{case['id']}  {case['title']}")
            for text in found:
                print(f"    {text}")
        else:
            passed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
