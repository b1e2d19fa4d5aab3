"""The testing kit: virtual time, a mock server in memory, fixtures of endpoints.

    clock = FakeClock()
    server = MockServer(clock)
    server.on(Articles.get, response={"id": 1, "title": "A"}, delay=150, id=1)
    controller = Controller(clock.store(), client=server.client(), base_url="http://mock")
    assert controller.read(Articles.get, id=1).title == "A"       # 150 ms later, at once

Time stands still until a test moves it, or waits for something: then it jumps to the next thing that is due. Threads
and tasks run one at a time and in a fixed order, so a test does the same each time; nothing sleeps. Synchronous
and asynchronous controllers are stepped in the same way.

The fixtures of the pytest plugin (`restencil_clock`, `restencil_server`, `restencil_store`, `restencil_controller`,
`restencil_async_controller`) come with the installation; a test that is a coroutine function and uses one of them runs
on the clock's own event loop.

`check_storage(make)` checks a storage of one's own against the rules of the protocol.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from .clock import FakeClock, Task
    from .doubles import Answer, Fixture, MockServer, NetworkDown, Request, fill
    from .storages import check_storage

__all__ = ["Answer", "FakeClock", "Fixture", "MockServer", "NetworkDown", "Request", "Task", "check_storage", "fill"]

_MODULES: Final = {"FakeClock": ".clock", "Task": ".clock", "check_storage": ".storages"}


def __getattr__(name: str) -> Any:
    # pytest imports this package with its plugin, in projects whose tests use nothing of it.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module = import_module(_MODULES.get(name, ".doubles"), __name__)
    value = globals()[name] = getattr(module, name)
    return value
