"""Small APIs for single rules: a spec of a few lines, and a function that answers."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

from tests.freshness.driver import Session
from tests.freshness.programs import World
from tests.freshness.server import NOTHING, Response
from tests.freshness.spec import client_class, generated
from tests.libraries import httpx

_NUMBERS: Final = itertools.count(1)

Answer = Callable[[str, str, Any], Any]
"""Method, URL and body to JSON; None for 404, `NOTHING` for 204, or a `Response`."""


@functools.cache
def package_of(spec: str) -> ModuleType:
    """The package of a spec that says nothing of language, package and URL."""
    name = f"small_{next(_NUMBERS)}"
    return generated(f"restencil: 1\npackage: {name}\nurl_prefix: http://server.test\n{spec}", name)


def client_before(module: ModuleType, answer: Callable[[httpx.Request], httpx.Response], **options: Any) -> Any:
    """A client of a package for blocking code, whose requests this function answers."""
    transport = httpx.MockTransport(answer)
    return client_class(module, asynchronous=False)(client=httpx.Client(transport=transport), **options)


class Function:
    """A server that is a function."""

    def __init__(self, function: Answer) -> None:
        self.function = function

    def answer(self, method: str, target: str, headers: dict[str, str], body: Any, outcome: str, /) -> Response:
        """The function's answer, as a response."""
        found = self.function(method, target, body)
        if isinstance(found, Response):
            return found
        if found is None:
            return Response(404, {"error": "not found"})
        return Response(204, NOTHING) if found is NOTHING else Response(200, found)


def small(spec: str, function: Answer, world: World | None = None) -> Session:
    """A session of the package of this spec before a server that is this function."""
    return Session(world, module=package_of(spec), server=Function(function))
