"""What the table says of callers is so: code written against the old package, checked against the new one by mypy.

One program uses the old package in every way that the edits touch. For each rule an edit's package is generated under a
name of its own, with a copy of the program; all are checked in one run. Where callers break, the copy no longer passes;
where they do not, it passes still.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.generator.declared import declared
from tests.generator.diff.edits import BEFORE, BEFORE_WIDE, EDITS, WIDE, Edit

from restencil_generator import api
from restencil_generator.diff import RULES

ROOT = Path(__file__).parents[3]

PROGRAM = """
from __future__ import annotations

import datetime
from collections.abc import Sequence
from decimal import Decimal

import shop
from shop import COLOR_RED, Address, Color, Gift, ImageBody, Item, Items, NotFound, Part, Problem, User, Users


def fields(item: Item, gift: Gift, part: Part) -> None:
    base: Item = gift
    label: str = part.label
    price: Decimal = item.price
    weight: float = item.weight
    color: Color = item.color
    red: Color = COLOR_RED
    note: str | None = item.note
    hidden: str = item.hidden
    tags: list[str] = [*item.tags]
    texts: list[str] = [tag.upper() for tag in item.tags]
    address: Address = item.address
    street: str = address.street
    city: str = address.city
    made_at: datetime.datetime = item.made_at
    title: str = item.title
    code: str = item.code
    kinds: type[Gift] = Gift


def calls(client: shop.Shop) -> None:
    classes = (Items, Users)
    user: User = client.users.get(id=1)
    client.users.get_list.push(body={"name": "a"})
    client.users.get_list.unshift(body={"name": "a"})
    client.users.create(body={"name": "a"})
    item: Item = client.items.get(id=1)
    listed: Sequence[Item] = client.items.get_list(status="sent", order_by="a", words=["a"])
    paged: Sequence[Item] = client.items.get_list.get_page(page=2)
    client.items.get_list(page=2)
    client.items.create(body={"code": "x", "title": "t", "weight": 1.5, "note": None})
    client.items.delete(id=1)


def find(client: shop.Shop, text: str) -> None:
    found = client.items.find(kind="a", text=text, size=1)
    client.items.find(kind="a", text=text, size=1, loud=True, since=datetime.date(2020, 1, 1))
    items: Sequence[Item] = found["found"]
    total: int = found["total"]
    following: str | None = found.get("next")
    best: Item = found["best"]
    counts: dict[str, int] = found["counts"]


def change(client: shop.Shop) -> None:
    rated: int = client.items.rate(id=1, body={"stars": 1, "status": "open"})
    client.items.rate(id=1, body={"stars": 1, "status": "open", "comment": "c", "weight": 1.5})
    client.items.send(id=1, body={"to": "x", "fast": True})
    data: bytes = client.items.download(id=1)
    asked: Sequence[Item] = client.items.ask(body={"status": "open"})
    known: Sequence[Item] | None = client.items.ask.cached(body={"status": "open"})
    client.items.clear()
    parts = client.parts.get_list(order="a")
    listed: Sequence[Part] = parts["items"]
    client.parts.get_list.push(order="a", body={"label": "a"})
    client.parts.update(order="a", number=1, body={"label": "a"})
    media = client.media.get(id=1)
    if isinstance(media, shop.Image):
        src: str = media.src
    if isinstance(media, shop.Link):
        url: str = media.url
    image: ImageBody = {"src": "x"}
    client.media.create(body=image)


def errors(client: shop.Shop) -> None:
    try:
        client.users.get(id=1)
    except shop.NotFoundError as error:
        missing: NotFound | None = error.data
    except shop.ConflictError as conflict:
        problem: Problem | None = conflict.data
"""

PROGRAM_WIDE = """
from __future__ import annotations

import datetime
import uuid
from collections.abc import Sequence
from typing import Literal

import shop
from shop import Card, Meta, Note, Payment, Repo, Team, User

ID = uuid.UUID(int=1)


def fields(user: User, team: Team, payment: Payment, note: Note) -> None:
    name: str = user.name
    born: datetime.datetime = user.born
    title: str = team.title
    text: str = payment.source if isinstance(payment.source, str) else "none"
    is_void: bool = payment.state == "void"
    if isinstance(payment.target, User):
        target: str = payment.target.name
    meta: Meta = note.meta
    uid: str = meta.uid
    kind: Literal["card"] = Card().kind


def calls(client: shop.Shop) -> None:
    user: User = client.users.get(id=1)
    client.users.create(body={"name": "a", "pin": "1"})
    client.users.update(id=1, body={"name": "a"})
    client.teams.create(body={"title": "a"})
    client.teams.create(body={})
    repo: Repo = client.repos.get(owner="o", name="n")
    moved: Repo = client.repos.get_list.move(owner="o", name="n", body={})
    note: Note = client.notes.get(uid="u")
    client.payments.create(body={"source": "text", "state": "void"})
    client.payments.pay(id=ID)
    client.payments.pay(id=ID, body={"amount": 1, "source": 2})
    found: Sequence[Payment] = client.payments.look(body={"text": "a"})
    client.payments.drop(id=ID, body={"why": "x"})
    count: int = client.payments.count(by="a")
    dark: bool = client.settings.get().dark
    client.search.all(q="a", order={"by": "x", "limit": 1})
    users: Sequence[User] = client.search.all(q="a")["items"]


def clients() -> None:
    tenant = uuid.UUID(int=2)
    shop.Shop(tenant=tenant, plan="p", token="t", key="k", app="a", api_version="1")
    shop.Shop(plan="p", server="main")
    shop.Shop(plan="p", server="region", region="uk")
    shop.Shop(plan="p", server="region")
"""

RAISES = {"abstract-changed", "server-variable-required"}
"""What a type checker does not see, and what raises: an abstract entity, and a server without one of its variables."""

QUIET = {"side-effect-changed"}
"""What a type checker does not see, and what raises nothing: a mutation is sent where a read was answered."""


def _alone(edits: tuple[Edit, ...]) -> dict[str, Edit]:
    """For each rule an edit that gives it alone."""
    found: dict[str, Edit] = {}
    for edit in edits:
        rules = {finding.partition(" ")[0] for finding in edit.findings}
        if edit.findings and edit.findings[0] in CHOSEN:
            found[rules.pop()] = edit
        elif len(rules) == 1 and not any(one.partition(" ")[0] in rules for one in CHOSEN):
            found.setdefault(rules.pop(), edit)
    return found


CHOSEN = {
    "collection-changed resources.parts.get_list.items",
    "list-member-removed resources.parts.get_list.push",
    "field-renamed entities.Item.remark",
}
"""Of some rules another edit than the first one, which the program notices."""


def _write(edits: Mapping[str, Edit], before: str, program: str, folder: Path) -> dict[str, str]:
    """Writes the package of each edit and a copy of the program. The files of the programs by rule."""
    files: dict[str, str] = {}
    package = before.partition("package: ")[2].partition("\n")[0]
    for rule, edit in edits.items():
        name = f"{package}_{rule.replace('-', '_')}"
        client = "".join(word.capitalize() for word in name.split("_"))
        text = edit.of(before).replace(f"package: {package}\n", f"package: {name}\n")
        api.write(declared(text), folder)
        copy = program.replace("shop.Shop", f"shop.{client}").replace("import shop\n", f"import {name} as shop\n")
        files[rule] = f"calls_{name}.py"
        (folder / files[rule]).write_text(copy.replace("from shop import", f"from {name} import"), "utf-8")
    return files


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "edits", "program"),
    [(BEFORE, EDITS, PROGRAM), (BEFORE_WIDE, WIDE, PROGRAM_WIDE)],
    ids=["first words", "later words"],
)
def test_callers_break_where_the_table_is_reported_and_nowhere_else(
    before: str, edits: tuple[Edit, ...], program: str, tmp_path: Path
) -> None:
    """The program passes with the old package, stops passing for each B, and goes on for each other letter."""
    alone = _alone(edits)
    files = _write({"before": Edit((), ()), **alone}, before, program, tmp_path)
    (tmp_path / "mypy.ini").write_text(
        f"[mypy]\nmypy_path = {ROOT / 'runtime'}\n[mypy-shop_hooks.*]\nignore_missing_imports = true\n"
    )
    command = ["mypy", "--strict", "--no-error-summary", "--config-file", "mypy.ini", *files.values()]
    done = subprocess.run([sys.executable, "-m", *command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert not done.stderr, done.stderr
    said = {rule: [line for line in done.stdout.splitlines() if line.startswith(file)] for rule, file in files.items()}
    breaks = {rule for rule in alone if RULES[rule].callers == "B"} - RAISES - QUIET
    assert said["before"] == []
    assert sorted(rule for rule in breaks if not said[rule]) == []
    assert {rule: lines for rule, lines in said.items() if lines and rule not in breaks} == {}


def test_callers_entity_that_became_abstract_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A type checker passes code that makes one; making one is a TypeError."""
    edit = next(one for one in EDITS if one.findings == ("abstract-changed entities.Gift",))
    _write({"abstract": edit}, BEFORE, PROGRAM, tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    package = importlib.import_module("shop_abstract")
    with pytest.raises(TypeError, match="Gift is abstract"):
        package.Gift.from_dict({"id": 1})


def test_callers_server_without_its_variable_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which variables count depends on the server, so a client that lacks one of them is a ValueError."""
    monkeypatch.delenv("WIDE_REGION", raising=False)
    edit = next(one for one in WIDE if one.findings == ("server-variable-required servers.region.region",))
    _write({"server": edit}, BEFORE_WIDE, PROGRAM_WIDE, tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    package = importlib.import_module("wide_server")
    with pytest.raises(ValueError, match="region"):
        package.WideServer(plan="p", server="region").teams.get(id=1)
