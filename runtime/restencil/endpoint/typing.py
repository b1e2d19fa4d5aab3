"""Type parameters of endpoints, and marker classes that distinguish kinds of endpoints and controllers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeGuard

if TYPE_CHECKING:
    from typing_extensions import ParamSpec, TypeVar

    P = ParamSpec("P", default=...)
    R = TypeVar("R", default=Any, covariant=True)
    PushP = ParamSpec("PushP", default=...)
    PushR = TypeVar("PushR", default=Any, covariant=True)
    PageP = ParamSpec("PageP", default=...)
    PageR = TypeVar("PageR", default=Any, covariant=True)
    UnshiftP = ParamSpec("UnshiftP", default=...)
    UnshiftR = TypeVar("UnshiftR", default=Any, covariant=True)
    ItemR = TypeVar("ItemR", default=Any, covariant=True)
    ControllerType = TypeVar("ControllerType", bound="Blocking | Awaiting", default="Blocking", covariant=True)
else:
    from typing import ParamSpec, TypeVar

    P = ParamSpec("P")
    R = TypeVar("R", covariant=True)
    PushP = ParamSpec("PushP")
    PushR = TypeVar("PushR", covariant=True)
    PageP = ParamSpec("PageP")
    PageR = TypeVar("PageR", covariant=True)
    UnshiftP = ParamSpec("UnshiftP")
    UnshiftR = TypeVar("UnshiftR", covariant=True)
    ItemR = TypeVar("ItemR", covariant=True)
    ControllerType = TypeVar("ControllerType", covariant=True)

P2 = ParamSpec("P2")
R2 = TypeVar("R2")


class Blocking:
    """Base of controllers whose calls block: `Controller`."""


class Awaiting:
    """Base of controllers whose calls are awaited: `AsyncController`."""


class Has(Generic[R]):
    """Marker for type checkers: a list endpoint has a derived endpoint that returns this type."""


class HasItems(Has[R], Generic[R, ItemR]):
    """Marker for type checkers: pages of a list endpoint return this type, with items of that type.

    The items are those of the page itself if their type is `Absent`.
    """


class Assigns(Generic[R]):
    """Marker for type checkers: a list endpoint is a map whose `assign` returns this type."""


class Absent:
    """Marker for type checkers: a list endpoint does not have a derived endpoint."""


class Binder(Generic[ControllerType]):
    """Base of classes whose endpoints are bound to a controller: `Resource`."""

    controller: ControllerType

    def __init__(self, controller: ControllerType, /) -> None:
        given: object = controller
        if isinstance(given, type) or not hasattr(given, "bind"):
            name = type(self).__name__
            raise TypeError(f"{name} got {given!r:.80}; expected a controller: {name}(controller)")
        self.controller = controller

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.controller!r}>"


def is_binder(value: object) -> TypeGuard[Binder[Any]]:
    """Return whether a value is a resource that is bound to a controller."""
    return isinstance(value, Binder)
