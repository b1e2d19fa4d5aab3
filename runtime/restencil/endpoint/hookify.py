"""Functions that derive endpoints with newly computed options, within a scope."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import SimpleNamespace
from typing import Any, Final, TypeVar

from ..base.errors import HookScopeError
from ..base.steps import current_transport
from .endpoint import Endpoint
from .resource import endpoints_of

E = TypeVar("E", bound=Endpoint[..., Any])


class _Scope:
    """The state of one scope: derived endpoints by the endpoint that they were derived from."""

    __slots__ = ("derived", "opened_in")

    def __init__(self) -> None:
        # A hook runs within a request, which has its own transport: there, this scope is closed.
        self.opened_in = current_transport()
        self.derived: dict[Any, Any] = {}


_scope: Final[ContextVar[_Scope | None]] = ContextVar("restencil_hook_scope", default=None)


@contextmanager
def hook_scope() -> Generator[None]:
    """`with hook_scope():` allows `use_…` functions in its block: in a view function, a request handler, a job step.

    It belongs to the current thread or task. It is closed while a hook of an endpoint runs. An endpoint obtained in it
    may be used later.
    """
    token = _scope.set(_Scope())
    try:
        yield
    finally:
        _scope.reset(token)


def _open_scope(function: str) -> _Scope:
    scope = _scope.get()
    if scope is None:
        raise HookScopeError(f"{function} was called outside of a scope; call it within `with hook_scope():`")
    if scope.opened_in is not current_transport():
        raise HookScopeError(
            f"{function} was called from a hook of an endpoint, which runs outside of the scope; "
            "call it before the request and pass its result as an option"
        )
    return scope


def _user_of(
    name: str, member: Endpoint[..., Any], use_init: Callable[[], Mapping[str, object] | None]
) -> Callable[[], Endpoint[..., Any]]:
    def use() -> Endpoint[..., Any]:
        _open_scope(name)
        return member.extend(request_init=use_init())

    use.__name__ = use.__qualname__ = name
    use.__doc__ = f"Return {member.name} with the current request init. Raises HookScopeError outside of a scope."
    return use


def hookify_resource(resource: object, use_init: Callable[[], Mapping[str, object] | None]) -> SimpleNamespace:
    """Return an object with a function `use_<member>` for each endpoint of a resource.

    Each calls `use_init()` every time and returns the member with the result as its `request_init`, which replaces the
    member's own. They raise HookScopeError outside of `with hook_scope():`. Keys do not depend on the init.
    """
    return SimpleNamespace(
        **{f"use_{name}": _user_of(f"use_{name}", member, use_init) for name, member in endpoints_of(resource).items()}
    )


def use_endpoint(endpoint: E, /, **overrides: object) -> E:
    """Return `endpoint.extend(**overrides)`; within one scope, the same object for the same endpoint and values.

    Raises HookScopeError outside of `with hook_scope():`.
    """
    derived = _open_scope("use_endpoint").derived
    made_here: list[tuple[dict[str, Any], Any]] = derived.setdefault(endpoint, [])
    for values, made in made_here:
        if values.keys() == overrides.keys() and all(_same(values[name], overrides[name]) for name in values):
            return made  # type: ignore[no-any-return]  # kept under the endpoint that it was derived from
    made = endpoint.extend(**overrides)
    made_here.append((overrides, made))
    return made


def _same(left: Any, right: Any) -> bool:
    return left is right or (type(left) is type(right) and bool(left == right))
