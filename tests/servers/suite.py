"""What the tests against one server share: its package, its address, how it is asked, and a client when wanted."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from tests.servers.comparing import DIRECTLY, Server, differences
from tests.servers.worlds import Api, World


class Suite:
    """`suite.api` is a client of the package, made when it is first used; `await suite.agrees()` compares its cache."""

    def __init__(self, world: World, package: ModuleType, client: str, address: str, server: Server) -> None:
        self.world: World = world
        self.package = package
        self.address = address
        self.server = server
        self.options: dict[str, Any] = {}
        self._client = client
        self._opened: list[Api] = []

    @property
    def api(self) -> Api:
        """The client of this test."""
        return self._opened[0] if self._opened else self.another()

    def another(self, **options: Any) -> Api:
        """One more client, with options of its own."""
        made = Api(self.world, self.package, self._client, self.address, **{**self.options, **options})
        self._opened.append(made)
        return made

    async def agrees(self, api: Api | None = None) -> None:
        """Everything that the cache shows is what the server says."""
        client = api or self.api
        await client.settled()
        found = differences(client, self.package, self.server)
        assert not found, "the cache and the server differ:\n" + "\n".join(found)

    def ask(self, path: str) -> Any:
        """What the server says there, asked directly and now."""
        answer = DIRECTLY.get(self.address + path, headers=dict(self.server.headers))
        return answer.json() if answer.is_success else answer.status_code

    async def close(self) -> None:
        """Closes the clients."""
        for api in self._opened:
            await api.close()
