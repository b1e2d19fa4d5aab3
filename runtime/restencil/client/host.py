"""The resources of a client; each is imported and made when it is first used."""

from __future__ import annotations

from typing import Any

from ..base.lazy_imports import check_reference, find


class LazyResource:
    """An attribute of clients that is a resource bound to the client that it is asked of."""

    __slots__ = ("_asking", "_name", "_reference")

    def __init__(self, reference: str) -> None:
        check_reference(reference, relative=True)
        self._reference = reference
        self._asking = self._name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self._asking, self._name = owner.__module__, name

    def __get__(self, client: Any, owner: type | None = None) -> Any:
        if client is None:
            return self
        # It is no data descriptor, so the resource stands before it from now on.
        bound = client.__dict__[self._name] = find(self._reference, self._asking)(client)
        return bound

    def __repr__(self) -> str:
        return f"lazy_resource({self._reference!r})"


def lazy_resource(reference: str) -> Any:
    """A resource of a client, by the name of its class: `orders: Orders[Controller] = lazy_resource(".orders:Orders")`.

    `".orders:Orders"` stands beside the module of the client, `"shop.orders:Orders"` anywhere. It is imported, and
    made for the client, when the client is first asked for it. Raises ValueError for a reference of another form.
    """
    return LazyResource(reference)
