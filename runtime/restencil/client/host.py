"""The resources of a client, which are imported and created on first use."""

from __future__ import annotations

from typing import Any

from ..base.lazy_imports import check_reference, find


class LazyResource:
    """A descriptor of client classes that returns a resource bound to the client."""

    __slots__ = ("_asking", "_name", "_reference")

    def __init__(self, reference: str) -> None:
        check_reference(reference, relative=True)
        self._reference = reference
        self._asking = self._name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self._asking, self._name = owner.__module__, name

    def __get__(self, client: object, owner: type | None = None) -> Any:
        if client is None:
            return self
        # As this is no data descriptor, the instance attribute takes precedence from now on.
        bound = client.__dict__[self._name] = find(self._reference, self._asking)(client)
        return bound

    def __repr__(self) -> str:
        return f"lazy_resource({self._reference!r})"


def lazy_resource(reference: str) -> Any:
    """Declare a resource of a client: `orders: Orders[Controller] = lazy_resource(".orders:Orders")`.

    `".orders:Orders"` is in the package of the client's module, `"shop.orders:Orders"` is absolute. The class is
    imported, and the resource created, on first use. Raises ValueError for a reference of another form.
    """
    return LazyResource(reference)
