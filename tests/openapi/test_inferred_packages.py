"""Packages of what our own documents give: they are typed, and their own mock serves their first calls."""

from __future__ import annotations

import asyncio
import importlib
import subprocess
import sys
import uuid
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.openapi.imports import NAMES, imported

from restencil_generator import api
from restencil_generator.mock import create_app


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the packages of all documents, from which they can be imported."""
    folder = tmp_path_factory.mktemp("packages")
    for name in NAMES:
        spec = folder / f"{name}.yaml"
        spec.write_text(imported(name).text, encoding="utf-8")
        api.write(spec, folder)
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))
    for name in [module for module in sys.modules if module.partition(".")[0] in NAMES]:
        del sys.modules[name]


def driven(packages: Path, name: str, calls: Callable[[Any], Awaitable[None]], **arguments: Any) -> None:
    """Runs calls of the asynchronous client of a package against the mock of its spec, in memory."""

    async def run() -> None:
        app = create_app(api.load(packages / f"{name}.yaml"), auth=False)
        package = importlib.import_module(name)
        client_class = getattr(package, f"Async{name.capitalize()}")
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app)) as transport:
            async with client_class(url_prefix="http://mock", client=transport, **arguments) as client:
                await calls(client)

    asyncio.run(run())


class InMemory(httpx.BaseTransport):
    """A mock in memory for blocking clients."""

    def __init__(self, app: Any) -> None:
        self.transport = httpx.ASGITransport(app)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """The mock's response."""

        async def answer() -> httpx.Response:
            sent = httpx.Request(request.method, request.url, headers=request.headers, content=request.read())
            response = await self.transport.handle_async_request(sent)
            return httpx.Response(response.status_code, headers=response.headers, content=await response.aread())

        return asyncio.run(answer())


def test_inferred_package_blocking_clients(packages: Path) -> None:
    """What an import gives is called in blocking code too."""
    app = create_app(api.load(packages / "crud.yaml"), auth=False)
    package = importlib.import_module("crud")
    with httpx.Client(transport=InMemory(app)) as transport:
        with package.Crud(url_prefix="http://mock", client=transport) as crud:
            books = crud.books.get_list()
            assert crud.books.get(id=books[0].id) is books[0]
            made = crud.books.get_list.push(body={"title": "Tea", "author": 1})
            assert made.title == "Tea"
            assert crud.books.partial_update(id=made.id, body={"title": "More tea", "author": 1}).title == "More tea"


def test_inferred_package_plain_crud(packages: Path) -> None:
    """Lists are read, records created, changed and deleted; an action below an item has its own response."""

    async def calls(crud: Any) -> None:
        books = await crud.books.get_list()
        assert await crud.books.get(id=books[0].id) is books[0]
        author = await crud.authors.get_list.push(body={"name": "Ada", "born_on": None})
        assert author.name == "Ada"
        assert [each.name for each in await crud.authors.get_list()][-1] == "Ada"
        changed = await crud.authors.update(author_id=author.author_id, body={"name": "Ada L."})
        assert changed.name == "Ada L."
        await crud.books.lend(id=books[0].id, body={"reader": "Grace"})
        await crud.books.delete(id=books[0].id)
        assert isinstance(await crud.system.get_health(), str)

    driven(packages, "crud", calls)


def test_inferred_package_envelopes_and_cursors(packages: Path) -> None:
    """Responses are taken out of their envelopes, bodies put into theirs, and pages follow the cursor."""

    async def calls(envelopes: Any) -> None:
        tickets = (await envelopes.tickets.get_list())["data"]
        ticket = await envelopes.tickets.get(id=tickets[0].id)
        assert ticket.id == tickets[0].id
        made = await envelopes.tickets.get_list.push(body={"subject": "No sound"})
        assert made.subject == "No sound"
        assert len([each async for each in envelopes.tickets.get_list.iterate()]) >= len(tickets)
        comments = await envelopes.comments.get_list(ticket_id=ticket.id)
        assert all(each.body is not None for each in comments)

    driven(packages, "envelopes", calls, x_tenant_id=uuid.uuid4())


def test_inferred_package_owners_and_links(packages: Path) -> None:
    """What counts per owner is found under its owner; the current user is an entity of the users."""

    async def calls(links: Any) -> None:
        milestones = await links.milestones.get_list(owner="ada", repo="notes")
        for each in milestones:
            assert (await links.milestones.get(owner="ada", repo="notes", number=each.number)) is each
        me = await links.user.get()
        assert isinstance(me.username, str)

    driven(packages, "links", calls)


def test_inferred_package_summary_and_detail(packages: Path) -> None:
    """A list of summaries, details, settings without a list, and a search that is read like a GET."""

    async def calls(summaries: Any) -> None:
        papers = await summaries.papers.get_list()
        paper = await summaries.papers.get(id=papers[0].id)
        assert isinstance(paper.authors, list | tuple)
        await summaries.papers.search(body={"text": "tea"})
        settings = await summaries.settings.get()
        assert settings.theme in ("light", "dark")

    driven(packages, "summaries", calls)


def test_inferred_package_unions_and_maps(packages: Path) -> None:
    """A list of several entities, a list that is a map, and a field that is one of several objects."""

    async def calls(unions: Any) -> None:
        parties = await unions.parties.get_list()
        assert {type(each).__name__ for each in parties} <= {"Person", "Company"}
        payments = (await unions.payments.get_list())["payments"]
        assert type(payments[0].source).__name__ in ("Card", "Bank")
        assert isinstance(await unions.limits.get_list(), dict)

    driven(packages, "unions", calls)


def test_inferred_package_forms_of_2_0(packages: Path) -> None:
    """A document of 2.0 has forms, files and styles of lists."""

    async def calls(swagger: Any) -> None:
        items = await swagger.item.get_list(status=["new"], tags=["a", "b"])
        assert all(each.name is not None for each in items)
        assert isinstance(await swagger.stores.get_count(), dict)

    driven(packages, "swagger", calls)


def test_inferred_package_arguments_of_the_client(packages: Path) -> None:
    """What all operations ask for is given once, to the client."""

    async def calls(schemes: Any) -> None:
        cars = (await schemes.cars.get_list(filter={"colour": "red"}))["data"]
        assert isinstance(cars, list | tuple)
        assert isinstance((await schemes.sessions.log_in(body={"user": "ada", "password": "x"})).token, str)

    driven(packages, "schemes", calls, x_fleet="north")


def test_inferred_package_procedures(packages: Path) -> None:
    """An API without resources has its operations in groups."""

    async def calls(package: Any) -> None:
        sent = await package.chat.post_message(body={"channel": "general", "text": "hello"})
        assert sent is not None
        assert await package.rtm.connect() is not None

    driven(packages, "calls", calls)


@pytest.mark.slow
def test_inferred_package_they_pass_both_type_checkers(packages: Path) -> None:
    """Packages are typed strictly for mypy and for pyright."""
    for checker in (["mypy", "--strict", "--config-file="], ["pyright", "--pythonpath", sys.executable]):
        done = subprocess.run(
            [sys.executable, "-m", *checker, *NAMES], cwd=packages, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout
