"""Everything that a client's cache shows, compared with what the server says when it is asked directly.

Allowed is one difference: staleness that `explain` admits. Beyond that a list shows just the members that the server's
list has, each with the values that the server gives it and no others; those that came in an answer stand in the
server's order, those that joined since may stand at the end. Of a list that is read in pages it shows what its last
answer had, and the pages that were answered after that, and what this client put into it; it shows nothing as long as
only pages were. A page shows the members of its last answer that are there still.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from types import ModuleType
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from uuid import UUID

from tests.libraries import httpx
from tests.patience import PATIENCE
from tests.servers.worlds import Api, Call

import restencil
from restencil.schema.record import stored_record

Json = Any
#: Asks servers without the library in between. Nothing here speaks TLS, whose certificates take their time to load.
DIRECTLY = httpx.Client(verify=False, timeout=PATIENCE, follow_redirects=True)
BOUND = (restencil.BoundEndpoint, restencil.AsyncBoundEndpoint)


def _as_it_is(name: str) -> str:
    return name


def _unpaged(server: Server, url: str) -> list[Json]:
    return items_of(server.json(url))


@dataclass
class Server:
    """How a server is asked directly. What it said is kept until `forget`, so each URL is asked once a comparison.

    `python` gives a field's name in Python, `arguments` the Python names of query parameters that differ, `whole` all
    members of the list at a URL where the answer is a page of it; `positions` are members of an answer that belong to
    one page, such as where the next one is, and totals that the spec does not declare as such.
    """

    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    python: Callable[[str], str] = _as_it_is
    arguments: Mapping[str, str] = field(default_factory=dict[str, str])
    whole: Callable[[Server, str], list[Json]] = _unpaged
    positions: frozenset[str] = frozenset({"next", "previous"})
    said: dict[str, httpx.Response] = field(default_factory=dict[str, httpx.Response])

    def ask(self, url: str) -> httpx.Response:
        """The server's answer to a GET."""
        if url not in self.said:
            self.said[url] = DIRECTLY.get(url, headers=dict(self.headers))
        return self.said[url]

    def json(self, url: str) -> Json:
        """The JSON that the server has there; None where there is nothing."""
        answer = self.ask(url)
        return answer.json() if answer.is_success else None

    def forget(self) -> None:
        """From here on the server is asked anew."""
        self.said.clear()


def items_of(said: Json) -> list[Json]:
    """The members of a list as the server gives it: the list itself, or the first list in what is around it."""
    if isinstance(said, list):
        return said
    if isinstance(said, dict):
        return next((value for value in said.values() if isinstance(value, list)), [])
    return []


@dataclass(frozen=True)
class Shown:
    """One thing that the cache may show: a reading endpoint with arguments."""

    call: Call
    item: Call | None
    arguments: tuple[tuple[str, str], ...]
    is_list: bool
    is_page: bool

    @property
    def keywords(self) -> dict[str, str]:
        """The arguments of the call."""
        return dict(self.arguments)

    def __str__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.arguments)
        return f"{self.call.endpoint.name}({given}) at {self.call.endpoint.path}"


def admits(shown: Shown) -> bool:
    """Whether `explain` says that what is shown is stale, or that a read would wait for the network instead."""
    explanation = shown.call.explain(**shown.keywords)
    if shown.is_page:
        # A call of it asks the network in any case, so that alone admits nothing.
        return bool(explanation.expires_in < 0 or explanation.status is restencil.ExpiryStatus.Invalid)
    return bool(explanation.needs_fetch or explanation.waits or explanation.expires_in < 0)


def differences(api: Api, package: ModuleType, server: Server) -> list[str]:
    """Where the cache shows other than the server says, in words; nothing may be under way."""
    server.forget()
    found: list[str] = []
    for shown in _all_shown(api, server):
        if admits(shown):
            continue
        value = shown.call.cached(**shown.keywords)
        state = shown.call.state(**shown.keywords)
        if state.data is not value and state.data != value:
            found.append(f"{shown}: `cached` shows {value!r}, `state` {state.data!r}")
        if value is not None:
            found += [f"{shown}: {text}" for text in _unlike(api, server, shown, value)]
    found += _unlike_entities(api, package, server)
    return list(dict.fromkeys(found))


# --- what there is ---------------------------------------------------------------------------------------------------


def _all_shown(api: Api, server: Server) -> Iterator[Shown]:
    """All that was asked, and each entity and list that the store has by its tables."""
    state = api.client.store.state
    urls = dict.fromkeys(url for method, url in api.sent if method == "GET")
    lists = {pk for table, rows in state["entities"].items() if table.startswith(("[", "{")) for pk in rows}
    seen: set[tuple[str, tuple[tuple[str, str], ...]]] = set()
    for resource in _resources(api):
        item = next((call for name, call in resource if name == "get"), None)
        for _, call in resource:
            endpoint = call.endpoint
            is_list = isinstance(call._bound, restencil.BoundList | restencil.AsyncBoundList)
            field = getattr(endpoint, "pagination_field", None)
            stored = [_listed(server, call, pk) for pk in lists] if is_list else []
            for given in [*(_arguments(api, server, call, url) for url in urls), *stored]:
                if given is None:
                    continue
                paged = is_list and field is not None and server.arguments.get(field, field) in dict(given)
                shown = Shown(call.get_page if paged else call, item, given, is_list, paged)
                if (str(shown), given) not in seen:
                    seen.add((str(shown), given))
                    yield shown


def _resources(api: Api) -> Iterator[list[tuple[str, Call]]]:
    for name in sorted(dir(api.client)):
        resource = getattr(api.client, name, None)
        if not isinstance(resource, restencil.Resource):
            continue
        members = [(member, getattr(resource, member, None)) for member in dir(resource) if not member.startswith("_")]
        yield [
            (member, Call(bound))
            for member, bound in members
            if isinstance(bound, BOUND) and not bound.endpoint.side_effect
        ]


def _arguments(api: Api, server: Server, call: Call, url: str) -> tuple[tuple[str, str], ...] | None:
    """The arguments with which this endpoint asks this URL; None where it never does."""
    path = re.escape(call.endpoint.path.removesuffix("/")).replace(r"\:", ":")
    template = re.sub(r":(\w+)", r"(?P<\1>[^/?]+)", path) + "/?"
    here = urlsplit(url)
    match = re.fullmatch(re.escape(urlsplit(api.url_prefix).path) + template, here.path)
    if match is None or not url.startswith(api.url_prefix):
        return None
    query = [(server.arguments.get(name, name), value) for name, value in parse_qsl(here.query)]
    return tuple(sorted([*match.groupdict().items(), *query]))


def _listed(server: Server, call: Call, pk: str) -> tuple[tuple[str, str], ...] | None:
    """The arguments of the list that the store keeps under this key; None where this endpoint has no such list."""
    try:
        given: dict[str, Any] = json.loads(pk)
        arguments = tuple(sorted((server.arguments.get(name, name), str(value)) for name, value in given.items()))
        call.key(**dict(arguments))
    except (TypeError, ValueError):
        return None
    return arguments


# --- lists and items -------------------------------------------------------------------------------------------------


def _unlike(api: Api, server: Server, shown: Shown, value: Any) -> Iterator[str]:
    url = shown.call.url(**shown.keywords)
    said = server.json(url)
    if said is None:
        yield f"shows {value!r}, where the server says {server.ask(url).status_code}"
    elif not shown.is_list:
        names = re.findall(r":(\w+)", shown.call.endpoint.path)
        own = _own(api, server, shown.call, {name: shown.keywords[name] for name in names})
        yield from unlike(value, {**own, **said} if isinstance(said, Mapping) else said, server, needed=said)
    elif isinstance(value, Mapping):
        for name, member in said.items():
            if name in server.positions:
                continue
            mine = value.get(server.python(name))
            if isinstance(member, list):
                yield from _unlike_list(api, server, shown, mine, url)
            elif mine is not None and not same(mine, member, server):
                yield f"shows {name} {mine!r}, the server says {member!r}"
    else:
        yield from _unlike_list(api, server, shown, value, url)


def _unlike_list(api: Api, server: Server, shown: Shown, value: Any, url: str) -> Iterator[str]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        yield f"shows {value!r}, the server has a list"
        return
    paged = getattr(shown.call.endpoint, "pagination_field", None) is not None
    whole = {str(item["id"]): item for item in server.whole(server, url)}
    mine = [item.pk() for item in value]
    answered = _answered(api, server, shown)
    if paged and not shown.is_page and not _was_answered(api, server, shown):
        yield f"shows {mine}, though only pages of it were ever asked for"
        return
    if len(set(mine)) != len(mine):
        yield f"shows a member twice: {mine}"
    if shown.is_page:
        there = [pk for pk in answered if pk in whole]
        if mine != there:
            yield f"shows the members {mine}, its last answer had {there}"
    else:
        too_many = [pk for pk in mine if pk not in whole]
        if too_many:
            yield f"shows {too_many}, which the server's list lacks: {list(whole)}"
        place = urlsplit(url).path.rstrip("/")
        changed = {path.removeprefix(f"{place}/") for path in api.changed if path.startswith(f"{place}/")}
        strange = [pk for pk in mine if paged and pk not in answered and pk not in changed]
        if strange:
            yield f"shows {strange}, which neither its last answer had nor a page since: {answered}"
        # Of a list that is read in pages, what was answered must show, and what this client itself put into it.
        expected = {*answered, *changed.intersection(str(item["id"]) for item in items_of(server.json(url)))}
        lacking = [pk for pk in whole if pk not in mine and (not paged or pk in expected)]
        if lacking:
            yield f"lacks {lacking}, which the server's list has: it shows {mine}"
        ordered = [pk for pk in mine if pk in answered and pk in whole]
        if ordered != [pk for pk in whole if pk in ordered]:
            yield f"shows the order {mine}, the server has {list(whole)}"
    for item in value:
        pk = item.pk()
        if pk in whole:
            yield from (f"member {pk}: {text}" for text in _unlike_member(api, server, shown, item, whole[pk]))


def _answered(api: Api, server: Server, shown: Shown) -> list[str]:
    """The members that the last answer to this list had, and its pages since; those of this page, where it is one."""
    call, given, own = shown.call, shown.keywords, shown.call.url(**shown.keywords)
    found: dict[str, None] = {}
    field = getattr(call.endpoint, "pagination_field", None)
    position = server.arguments.get(field, field) if field else None
    for url, said in api.answers.items():
        arguments = _arguments(api, server, call, url)
        if arguments is None:
            continue
        theirs = dict(arguments)
        if not shown.is_page:
            if url == own or theirs == given:
                found.clear()  # what came with pages before is replaced
            theirs.pop(position or "", None)
        if theirs == given:
            found.update(dict.fromkeys(str(item["id"]) for item in items_of(said)))
    return list(found)


def _was_answered(api: Api, server: Server, shown: Shown) -> bool:
    """Whether the list itself was ever asked for: with a slash more at its end, say, where it was redirected."""
    asked = (_arguments(api, server, shown.call, url) == shown.arguments for url in api.answers)
    return shown.call.url(**shown.keywords) in api.answers or any(asked)


def _unlike_member(api: Api, server: Server, shown: Shown, item: Any, said: Json) -> Iterator[str]:
    """A member of a list shows what the list says of it; what it shows beyond that, its own URL says."""
    own: dict[str, Json] = {}
    if shown.item is not None:
        names = re.findall(r":(\w+)", shown.item.endpoint.path)
        own = _own(api, server, shown.item, {name: shown.keywords.get(name, getattr(item, name)) for name in names})
    yield from unlike(item, {**own, **said}, server, needed=said)


def _own(api: Api, server: Server, item: Call, keywords: Mapping[str, Any]) -> dict[str, Json]:
    """All that the server says of one entity: at its URL, and at those that were asked with search parameters more."""
    found: dict[str, Json] = {}
    wanted = {name: str(value) for name, value in keywords.items()}
    for url in dict.fromkeys(url for method, url in api.sent if method == "GET"):
        if wanted.items() <= dict(_arguments(api, server, item, url) or ()).items():
            found.update(server.json(url) or {})
    return {**found, **(server.json(item.url(**keywords)) or {})}


def _unlike_entities(api: Api, package: ModuleType, server: Server) -> Iterator[str]:
    """Each entity that the store's tables have, through `get` of the client and `get.cached` of its resource."""
    tables = api.client.store.state["entities"]
    for resource in _resources(api):
        item = next((call for name, call in resource if name == "get"), None)
        kind: str = getattr(item.endpoint.schema, "__name__", "") if item is not None else ""
        if item is None or kind not in tables or re.findall(r":(\w+)", item.endpoint.path) != ["id"]:
            continue
        cls = getattr(package, kind)
        for pk in tables[kind]:
            shown = Shown(item, item, (("id", pk),), is_list=False, is_page=False)
            if admits(shown):
                continue
            entity, value = api.client.get(cls, {"id": pk}), item.cached(id=pk)
            said = server.json(item.url(id=pk))
            for name, mine in (("get", entity), ("cached", value)):
                if mine is None:
                    continue
                if said is None:
                    yield f"{kind} {pk}: {name} shows {mine!r}, which the server does not have"
                else:
                    needed = said if name == "cached" else None
                    texts = unlike(mine, _own(api, server, item, {"id": pk}), server, needed=needed)
                    yield from (f"{kind} {pk}: {name} {text}" for text in texts)


# --- values ----------------------------------------------------------------------------------------------------------


def unlike(mine: Any, said: Json, server: Server, *, needed: Mapping[str, Json] | None = None) -> Iterator[str]:
    """Where an entity or object shows other than the server says; what is `needed` it must show."""
    if not isinstance(mine, restencil.Record) or not isinstance(said, Mapping):
        if not same(mine, said, server):
            yield f"shows {mine!r}, the server says {said!r}"
        return
    members = mine.to_dict()
    theirs = {server.python(name): value for name, value in said.items()}
    required = {server.python(name) for name in needed or {}}
    for name in required - members.keys():
        yield f"does not show {name}, of which the server says {theirs[name]!r}"
    answered = {server.python(name) for name in stored_record(mine) or {}}
    for name, value in members.items():
        if name not in theirs:
            if value is not None:
                yield f"shows {name} as {value!r}, of which the server says nothing"
        elif value is None and name not in required and name not in answered:
            pass  # what may be null reads so where no answer had it; a null that was stored is a value
        elif not same(value, theirs[name], server):
            yield f"shows {name} as {value!r}, the server says {theirs[name]!r}"


def same(mine: Any, said: Json, server: Server) -> bool:
    """Whether a value in Python is what the JSON says."""
    match mine:
        case restencil.Entity() if not isinstance(said, Mapping):
            entity: Any = mine
            return bool(entity.pk() == str(said))
        case restencil.Record():
            if not isinstance(said, Mapping):
                return False
            members = mine.to_dict()
            return all(same(members.get(server.python(name)), value, server) for name, value in said.items())
        case datetime.datetime():
            moment = datetime.datetime.fromisoformat(said) if isinstance(said, str) else None
            return moment is not None and mine == (moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC))
        case datetime.date() | datetime.time() | UUID():
            return isinstance(said, str) and mine == type(mine)(said) if isinstance(mine, UUID) else str(mine) == said
        case Decimal():
            return isinstance(said, str | int | float) and mine == Decimal(str(said))
        case Mapping():
            return (
                isinstance(said, Mapping)
                and {server.python(name) for name in said} == set(mine)
                and all(same(mine[server.python(name)], value, server) for name, value in said.items())
            )
        case list() | tuple():
            return (
                isinstance(said, list)
                and len(mine) == len(said)
                and all(same(one, other, server) for one, other in zip(mine, said, strict=True))
            )
        case bool() | None:
            return mine is said
        case _:
            return bool(mine == said)
