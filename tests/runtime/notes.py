"""A server of a few notes, clients of it, and the steps of programs that read and change them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx

from restencil import Controller, Entity, LogoutManager, Manager, NetworkManager, SubscriptionManager, create_resource
from restencil.testing import FakeClock


class Note(Entity, key="Note"):
    id: str = ""
    text: str = ""
    more: str = ""
    seen: Any = None


Notes: Any = create_resource(
    url_prefix="http://mock", path="/notes/:id", schema=Note, optimistic=False, pagination_field="page"
)


class Origin:
    """A server of a few notes, whose answers have ETags of their content, unless it is told to answer always."""

    def __init__(self, *, tells: bool = True, weak: bool = False, more: str = "") -> None:
        self.more = more
        self.notes = {name: self.note(name, f"note {name}", 1) for name in ("1", "2", "3")}
        self.tells = tells
        self.weak = weak
        self.headers: dict[str, str] = {}
        self.asked: list[httpx.Request] = []
        self.answered: list[int] = []

    def note(self, name: str, text: str, seen: Any) -> dict[str, Any]:
        """A note, with as much text more as those of this server have."""
        return {"id": name, "text": text, "seen": seen, **({"more": self.more} if self.more else {})}

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        answer = self._answer(request)
        self.answered.append(answer.status_code)
        return answer

    def _answer(self, request: httpx.Request) -> httpx.Response:
        name = request.url.path.rpartition("/")[2]
        if request.method == "POST" and request.content:
            made = json.loads(request.content)
            self.notes[made["id"]] = made
            return httpx.Response(201, json=made)
        if request.method == "PATCH":
            self.notes[name].update(json.loads(request.content))
            return httpx.Response(200, json=self.notes[name])
        if request.method == "DELETE":
            return httpx.Response(200, json=self.notes.pop(name, {"id": name}))
        if "page" in request.url.params:
            value: Any = [self.note("9", "of the next page", 1)]
        else:
            value = self.notes[name] if name in self.notes else list(self.notes.values())
        content = json.dumps(value).encode()
        tag = f'{"W/" if self.weak else ""}"{hash(content):x}"'
        headers = {"Content-Type": "application/json", **self.headers}
        if self.tells:
            headers = {"ETag": tag, **headers}
        if self.tells and request.headers.get("if-none-match") == tag:
            return httpx.Response(304, headers=headers)
        return httpx.Response(200, content=content, headers=headers)

    @property
    def conditions(self) -> list[str | None]:
        """What each request was made dependent on."""
        return [asked.headers.get("if-none-match") or asked.headers.get("if-modified-since") for asked in self.asked]


def client(origin: Callable[[httpx.Request], httpx.Response], *managers: Manager) -> tuple[FakeClock, Controller]:
    """A controller with a clock of its own; with more managers than the library's own where there are some."""
    clock = FakeClock()
    http = httpx.Client(transport=httpx.MockTransport(origin), follow_redirects=True)
    if not managers:
        return clock, Controller(clock.store(), client=http)
    own = [*managers, NetworkManager(), SubscriptionManager(), LogoutManager()]
    return clock, Controller(clock.store(), client=http, managers=own)


WAYS = (
    "list", "again", "item", "other", "push", "patch", "page", "set", "equal", "invalidate", "invalidate_all", "expire",
    "delete", "reset", "error",
)  # fmt: skip
"""What a program may do."""


def take(step: str, name: str, origin: Origin, clock: FakeClock, controller: Controller) -> Any:
    """Takes one of `WAYS` with the note of this name; what the call gave."""
    clock.advance(10)
    simple: dict[str, Callable[[], Any]] = {
        "list": lambda: controller.fetch(Notes.get_list),
        "again": lambda: (controller.fetch(Notes.get_list), controller.fetch(Notes.get_list)),
        "item": lambda: controller.fetch(Notes.get, {"id": name}) if name in origin.notes else None,
        "page": lambda: controller.fetch(Notes.get_list.get_page, {"page": "2"}),
        "set": lambda: controller.set(Note, {"id": name, "text": "set", "seen": True}),
        "equal": lambda: controller.set(Note, origin.notes.get(name, {"id": name})),
        "delete": lambda: controller.fetch(Notes.delete, {"id": name}) if name in origin.notes else None,
        "reset": controller.reset_entire_store,
        "expire": lambda: controller.expire_all(lambda key: "notes" in key),
        "invalidate_all": lambda: controller.invalidate_all(Notes.get_list),
        "error": lambda: controller.set_error(Notes.get_list, ValueError("by hand")),
        "invalidate": lambda: controller.invalidate(Notes.get_list),
    }
    if step in simple:
        return simple[step]()
    if step == "other":
        origin.notes.setdefault(name, origin.note(name, "", 0))["text"] = f"at {clock()}"
        return controller.fetch(Notes.get_list)
    if step == "patch":
        return controller.fetch(Notes.partial_update, {"id": name}, {"text": "patched"}) if name in origin.notes else 0
    return controller.fetch(Notes.get_list.push, origin.note(f"new {clock()}", "pushed", True))
