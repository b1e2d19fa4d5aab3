"""Specs as the mock server serves them, in process."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tests.generator.declared import declared
from tests.libraries import httpx

from restencil_generator.mock import create_app
from restencil_generator.spec.model import Spec


def spec_text(name: str) -> str:
    """A spec of the folder `specs`."""
    return (Path(__file__).parent / "specs" / f"{name}.yaml").read_text("utf-8")


class Api:
    """A mock server in process."""

    def __init__(self, *specs: str | Spec, auth: bool = True, auth_server: bool = False) -> None:
        self.log: list[str] = []
        declarations = [spec if isinstance(spec, Spec) else declared(spec) for spec in specs]
        self._app = create_app(*declarations, auth=auth, auth_server=auth_server, log=self.log.append)

    def __call__(self, method: str, url: str, **options: Any) -> httpx.Response:
        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(self._app)
            async with httpx.AsyncClient(transport=transport, base_url="http://mock.test") as client:
                return await client.request(method, url, **options)

        return asyncio.run(send())

    def get(self, url: str, **options: Any) -> Any:
        """The JSON of a GET that is answered by 200."""
        answer = self("GET", url, **options)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def refused(self, status: int, method: str, url: str, **options: Any) -> str:
        """The message of a response with this status of an error."""
        answer = self(method, url, **options)
        assert answer.status_code == status, answer.text
        return str(answer.json()["message"])

    def send(self, method: str, url: str, body: Any = None, status: int = 200) -> Any:
        """The JSON that answers a body."""
        answer = self(method, url, json=body) if body is not None else self(method, url)
        assert answer.status_code == status, answer.text
        return answer.json() if answer.content else None


def ids(records: Any) -> list[Any]:
    """The ids of records."""
    return [record["id"] for record in records]
