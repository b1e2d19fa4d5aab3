"""What the table says of caches is so: a store that the old package filled is read by the new one.

Where the table says B, a read gives another value than the server has, or raises. Where it says nothing, a read gives
what a client gives that asked the server itself; where it says R, it gives that or nothing.
"""

from __future__ import annotations

import importlib
import operator
import re
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.generator.declared import declared
from tests.generator.diff.edits import BEFORE, BEFORE_WIDE, EDITS, WIDE, Edit

import restencil
from restencil.testing import Answer, MockServer, Request
from restencil_generator import api
from restencil_generator.diff import RULES

ITEM: Mapping[str, Any] = {
    "id": 1,
    "code": "a",
    "title": "T",
    "price": "1.50",
    "weight": 2.5,
    "color": "red",
    "note": "n",
    "hidden": "h",
    "secret": "s",
    "tags": ["x"],
    "address": {"street": "S", "city": "C", "zip": "Z"},
    "made_at": "2024-05-01T10:00:00Z",
}
PART: Mapping[str, Any] = {"order": "o", "number": 1, "label": "L"}
FOUND: Mapping[str, Any] = {"found": [ITEM], "total": 1, "next": None, "best": ITEM, "counts": {"x": 1}}
ANSWERS: Mapping[str, Any] = {
    "/v1/users/1": {"id": 1, "name": "Ann", "email": None},
    "/v1/users": [{"id": 1, "name": "Ann", "email": None}],
    "/v1/items/1": ITEM,
    "/v1/items": [ITEM],
    "/v1/items/find/a": FOUND,
    "/v1/media/2": {"id": 2, "type": "link", "url": "u"},
    "/v1/orders/o/parts/1": PART,
    "/v1/orders/o/parts": {"items": [PART], "total": 1},
}
Call = Callable[[Any], "tuple[Any, dict[str, Any]]"]

CALLS: Mapping[str, Call] = {
    "user": lambda client: (client.users.get, {"id": 1}),
    "users": lambda client: (client.users.get_list, {}),
    "item": lambda client: (client.items.get, {"id": 1}),
    "items": lambda client: (client.items.get_list, {}),
    "sorted": lambda client: (client.items.get_list, {"order_by": "code"}),
    "found": lambda client: (client.items.find, {"kind": "a", "text": "t", "size": 1}),
    "media": lambda client: (client.media.get, {"id": 2}),
    "part": lambda client: (client.parts.get, {"order": "o", "number": 1}),
    "parts": lambda client: (client.parts.get_list, {"order": "o"}),
}


BORN = 1_700_000_000
PAYMENT = {"id": "00000000-0000-0000-0000-000000000001", "source": "text", "state": "open"}
ANN: Mapping[str, Any] = {"id": 1, "name": "Ann", "born": BORN}
PAID = f"/v1/payments/{PAYMENT['id']}"
ANSWERS_WIDE: Mapping[str, Any] = {
    "/v1/users/1": {"data": ANN},
    PAID: {"data": {**PAYMENT, "target": {"type": "u", **ANN}}},
}
CALLS_WIDE: Mapping[str, Call] = {
    "user": lambda client: (client.users.get, {"id": 1}),
    "payment": lambda client: (client.payments.get, {"id": uuid.UUID(int=1)}),
}


def server(answers: Mapping[str, Any]) -> MockServer:
    """A server that has these answers by path."""

    def respond(request: Request) -> Answer:
        answer = answers.get(re.sub("^/v2/", "/v1/", urlsplit(request.url).path))
        if callable(answer):
            answer = answer(request)
        return Answer(404, json={"message": "?"}) if answer is None else Answer(json=answer)

    return MockServer(respond=respond)


def package(edit: Edit, folder: Path, name: str, before: str = BEFORE) -> Any:
    """The client class of the package of an edit, which gets a name of its own."""
    text = re.sub(r"^client: .*\n", "", edit.of(before), flags=re.MULTILINE)
    text = re.sub("^package: .*$", f"package: {name}\nclient: Own", text, flags=re.MULTILINE)
    api.write(declared(text), folder)
    importlib.invalidate_caches()
    return importlib.import_module(name).Own


def plain(value: Any) -> Any:
    """What a call gave, in plain values."""
    if isinstance(value, restencil.Entity):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def asked(client: Any, calls: Mapping[str, Call] = CALLS) -> dict[str, Any]:
    """What the server says to each call; the name of the error where it is refused."""
    return {name: _given(client, call, lambda found: found) for name, call in calls.items()}


def known(client: Any, calls: Mapping[str, Call] = CALLS) -> dict[str, Any]:
    """What is known of each call without a request."""
    return {name: _given(client, call, lambda found: found.cached) for name, call in calls.items()}


def _given(client: Any, call: Call, read: Callable[[Any], Any]) -> Any:
    endpoint, arguments = call(client)
    try:
        return plain(read(endpoint)(**arguments))
    except (restencil.RestencilError, TypeError, AttributeError, ValueError) as error:
        return type(error).__name__


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of packages that can be imported, and hand-written code that they name."""
    hooks = ("rated", "other", "decode", "valid", "kind")
    code = "".join(f"def {name}(value, *rest): return value\n" for name in hooks) + "import restencil\n"
    (tmp_path / "shop_hooks.py").write_text(code + "class Base(restencil.RestEndpoint): pass\n", "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith(("shop_", "wide_"))]:
        del sys.modules[name]


def find(edits: Iterable[Edit], *findings: str) -> Edit:
    """The edit that gives these findings."""
    return next(edit for edit in edits if edit.findings == findings)


# ---------------------------------------------------------------------------------------------------------------- harm

HARMS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "field-type-changed entities.Item.price": ("item", {"/v1/items/1": {**ITEM, "price": 1.5}}),
    "field-wire-changed entities.Item.note": ("item", {"/v1/items/1": {**ITEM, "note": None, "n": "n"}}),
    "table-renamed entities.Item.key": ("found", {}),
    "result-changed resources.users": ("user", {"/v1/users/1": {**ITEM, "title": "another"}}),
    "result-member-type-changed resources.items.find.total": ("found", {"/v1/items/find/a": {**FOUND, "total": "1"}}),
    "collection-changed resources.parts.get_list.items": (
        "parts",
        {"/v1/orders/o/parts": {"items": {"a": PART}, "total": 1}},
    ),
}
"""By finding the call that is harmed, and what the server answers to the new package."""

ALONE = re.sub(r"^header_params:\n(.*\n)*?(?=response:)", "", BEFORE_WIDE, flags=re.MULTILINE)
"""The spec without the arguments of the client, which would have to be given."""

HARMS_WIDE: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "field-format-changed entities.User.born": ("user", {"/v1/users/1": {"data": {**ANN, "born": BORN * 1000}}}),
    "union-attribute-changed entities.Payment.target": (
        "payment",
        {PAID: {"data": {**PAYMENT, "target": {"type": "user", **ANN}}}},
    ),
}


WORLDS = {
    "shop": (BEFORE, EDITS, ANSWERS, CALLS, HARMS),
    "wide": (ALONE, WIDE[::-1], ANSWERS_WIDE, CALLS_WIDE, HARMS_WIDE),
}
"""Both specs, each with its edits, what a server has, what is called, and what is harmed."""


@pytest.mark.slow
@pytest.mark.parametrize(("world", "finding"), [(name, finding) for name, row in WORLDS.items() for finding in row[-1]])
def test_caches_what_is_misread(world: str, finding: str, folder: Path) -> None:
    """The old package's store gives the new one a value that the server does not have."""
    before, edits, has, calls, harms = WORLDS[world]
    call, answers = harms[finding]
    old = package(Edit((), ()), folder, f"{world}_old", before)
    new = package(find(edits, finding), folder, f"{world}_new", before)
    store = restencil.Store()
    asked(old(store=store, client=server(has).client()), calls)
    fresh = asked(new(client=server({**has, **answers}).client()), calls)
    found = known(new(store=store, client=server({}).client()), calls)
    assert fresh[call] is not None
    assert found[call] not in (None, fresh[call])


@pytest.mark.slow
def test_caches_another_key_keeps_two_copies_of_one_record(folder: Path) -> None:
    """What the new package learns of a record does not reach the lists that the old one filled."""
    edit = find(EDITS, "pk-changed entities.Item.pk")
    old, new = package(Edit((), ()), folder, "shop_old"), package(edit, folder, "shop_new")
    later = {**ANSWERS, "/v1/items/1": {**ITEM, "title": "later"}}
    titles: list[Any] = []
    for first in (old, new):
        store = restencil.Store()
        first(store=store, client=server(ANSWERS).client()).items.get_list()
        client = new(store=store, client=server(later).client())
        client.items.get.fetch(id=1)
        titles.append([item.title for item in client.items.get_list.cached()])
    assert titles == [["T"], ["later"]]


@pytest.mark.slow
def test_caches_what_left_the_key_shares_a_response(folder: Path) -> None:
    """A header that told answers apart is no part of the key: the new package gives one for the other."""
    edit = find(EDITS, "argument-left-key resources.items.find.scope")
    old, new = package(Edit((), ()), folder, "shop_old"), package(edit, folder, "shop_new")

    def total(request: Request) -> Any:
        return {**ANSWERS["/v1/items/find/a"], "total": 7 if "x-scope" in request.headers else 1}

    answers = {**ANSWERS, "/v1/items/find/a": total}
    arguments = {"kind": "a", "text": "t", "size": 1}
    store = restencil.Store()
    before = old(store=store, client=server(answers).client())
    assert before.items.find(**arguments)["total"] == 1
    assert before.items.find(**arguments, scope="s")["total"] == 7
    client = new(store=store, client=server(answers).client())
    assert client.items.find.cached(**arguments, scope="s")["total"] == 1


# ------------------------------------------------------------------------------------------------------------- no harm


def _harmless() -> dict[str, Edit]:
    """For each rule that says nothing, or R, of caches, and whose requests the same server understands, an edit."""
    found: dict[str, Edit] = {}
    for edit in EDITS:
        rules = {finding.partition(" ")[0] for finding in edit.findings}
        if len(rules) == 1 and all(RULES[rule].cache in ("–", "R") and RULES[rule].wire != "B" for rule in rules):
            found.setdefault(rules.pop(), edit)
    return found


def _agree(found: Any, fresh: Any) -> bool:
    """Whether what was found is there; a list that is put together anew lacks what stood beside it."""
    if isinstance(found, dict) and isinstance(fresh, dict):
        return all(_agree(value, fresh.get(name)) for name, value in found.items())
    return found is None or bool(found == fresh)


@pytest.mark.slow
def test_caches_what_is_not_misread(folder: Path) -> None:
    """Where the table says nothing, the new package knows what the old one was told; with R, that or nothing."""
    old = package(Edit((), ()), folder, "shop_old")
    wrong: dict[str, dict[str, Any]] = {}
    for number, (rule, edit) in enumerate(_harmless().items()):
        new = package(edit, folder, f"shop_new{number}")
        store = restencil.Store()
        asked(old(store=store, client=server(ANSWERS).client()))
        fresh = asked(new(client=server(ANSWERS).client()))
        found = known(new(store=store, client=server({}).client(), share=True))
        agree = _agree if RULES[rule].cache == "R" else operator.eq
        differ = {name: (value, fresh[name]) for name, value in found.items() if not agree(value, fresh[name])}
        if differ:
            wrong[rule] = differ
    assert wrong == {}
