"""Packages of what our own documents give: they are typed, and the mock of one serves its first calls."""

from __future__ import annotations

import asyncio
import importlib
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import httpx
import pytest
from tests.openapi.imports import NAMES, imported

from restencil_generator import api
from restencil_generator.mock import create_app


def write_packages(names: Iterable[str], folder: Path) -> None:
    """Writes the specs of these documents into a folder, and their packages."""
    for name in names:
        spec = folder / f"{name}.yaml"
        spec.write_text(imported(name).text, encoding="utf-8")
        api.write(spec, folder)


def test_inferred_package_plain_crud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists are read, records created, changed and deleted; an action below an item has its own response."""
    write_packages(["crud"], tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    app = create_app(api.load(tmp_path / "crud.yaml"), auth=False)

    async def run() -> None:
        client_class = importlib.import_module("crud").AsyncCrud
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app)) as transport:
            async with client_class(url_prefix="http://mock", client=transport) as crud:
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

    asyncio.run(run())
    for module in [name for name in sys.modules if name.partition(".")[0] == "crud"]:
        del sys.modules[module]


@pytest.mark.slow
def test_inferred_package_they_pass_both_type_checkers(tmp_path: Path) -> None:
    """Packages are typed strictly for mypy and for pyright."""
    write_packages(NAMES, tmp_path)
    for checker in (["mypy", "--strict", "--config-file="], ["pyright", "--pythonpath", sys.executable]):
        done = subprocess.run(
            [sys.executable, "-m", *checker, *NAMES], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout
