"""What the tests against one server share: its package, its address, how it is asked, and a client when wanted."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from tests.servers.comparing import DIRECTLY, Server, differences
from tests.servers.worlds import Api, World


class Suite:
    """`suite.api` is a client of the package, made when it is first used; `await suite.agrees()` compares its cache."""

    def __init__(self, world: World, package: ModuleType, address: str, server: Server, **options: Any) -> None:
        self.world: World = world
        self.package = package
        self.address = address
        self.server = server
        self._options = options
        self._opened: list[Api] = []
        self._beside: list[Suite] = []

    @property
    def api(self) -> Api:
        """The client of this test."""
        return self._opened[0] if self._opened else self.another()

    def another(self, address: str = "", **options: Any) -> Api:
        """One more client, with options of its own."""
        client = self.package.__name__.title().replace("_", "")
        made = Api(self.world, self.package, client, address or self.address, **{**self._options, **options})
        self._opened.append(made)
        return made

    def beside(self, package: ModuleType, server: Server) -> Suite:
        """What another package says of the same server; it is closed with this one."""
        self._beside.append(Suite(self.world, package, self.address, server, **self._options))
        return self._beside[-1]

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
        for suite in self._beside:
            await suite.close()


def numbers(items: Any) -> list[int]:
    """The primary keys."""
    return [item.id for item in items]
