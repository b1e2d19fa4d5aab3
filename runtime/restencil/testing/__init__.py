"""The testing kit: virtual time, a mock server in memory, and fixtures of endpoints.

    clock = FakeClock()
    server = MockServer(clock)
    server.on(Articles.get, response={"id": 1, "title": "A"}, delay=150, id=1)
    controller = Controller(clock.store(), client=server.client(), base_url="http://mock")
    assert controller.read(Articles.get, id=1).title == "A"       # 150 ms later, at once

Virtual time stands still until a test advances it or waits for something; then it jumps to the next timer. Threads and
tasks run one at a time in a fixed order, so that tests are deterministic, and nothing sleeps. Synchronous and
asynchronous controllers are tested in the same way.

The installation includes a pytest plugin with the fixtures `restencil_clock`, `restencil_server`, `restencil_store`,
`restencil_controller` and `restencil_async_controller`. A test that is a coroutine function and uses one of them runs
on the event loop of the clock.

`check_storage(make)` checks your own storage against the rules of the protocol.
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
    # Lazy, because pytest imports this package with its plugin even if no test uses it.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module = import_module(_MODULES.get(name, ".doubles"), __name__)
    value = globals()[name] = getattr(module, name)
    return value
