"""Type parameters of endpoints, and marks by which type checkers tell kinds of endpoints and controllers apart."""

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
    """Marks, for type checkers alone, that a list endpoint has what gives this result."""


class HasItems(Has[R], Generic[R, ItemR]):
    """Marks, for type checkers alone, that pages give this result, and that these are the items in it."""


class Assigns(Generic[R]):
    """Marks, for type checkers alone, that a list endpoint is a map whose `assign` gives this result."""


class Absent:
    """Marks, for type checkers alone, that a list endpoint lacks something."""


class Binder(Generic[ControllerType]):
    """Base of what hands endpoints out bound to its controller: `Resource`."""

    controller: ControllerType

    def __init__(self, controller: ControllerType, /) -> None:
        self.controller = controller

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.controller!r}>"


def is_binder(value: Any) -> TypeGuard[Binder[Any]]:
    """True for a resource that is bound to a controller."""
    return isinstance(value, Binder)
