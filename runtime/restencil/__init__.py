"""Typed REST resources over one consistent cache.

Everything public is imported from here, and only when it is used: `import restencil` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from . import schema
    from .abort import AbortController, AbortSignal
    from .auth import Api, Auth
    from .bound import AsyncBoundEndpoint, AsyncBoundList, BoundEndpoint, BoundList
    from .controller import AsyncController, Controller, EndpointState
    from .endpoint import Absent, Assigns, C, Endpoint, Has, lazy_function
    from .errors import (
        AbortError,
        AbortOptimistic,
        HookScopeError,
        InvalidDataError,
        MissingFieldError,
        MissingParameterError,
        NetworkError,
        ParseError,
        PathTemplateError,
        ProcessingError,
        ResetError,
        RestencilError,
        UnexpectedContentError,
    )
    from .expiry import ExpiryStatus
    from .explain import Explanation
    from .gc import GCPolicy, ImmortalGCPolicy
    from .hooks import hook_scope, hookify_resource, use_endpoint
    from .live import AsyncLiveRead, LiveRead
    from .managers.base import Manager
    from .managers.logout import LogoutManager
    from .managers.network import NetworkManager
    from .managers.subscription import ConnectionListener, PollingSubscription, SubscriptionManager
    from .records import Record, field
    from .resource import Resource, ResourceClass, create_resource, push_of, rest, rest_list
    from .rest_endpoint import ListEndpoint, RestEndpoint, RestGenerics, always_soft, soft_on_server_error
    from .retry import Retries, RetryBudget
    from .scheduler import Scheduler, ThreadScheduler
    from .schema.entity import Entity, validate_required
    from .store import Snapshot, Store
    from .transport import Form, Multipart, StreamedResponse

__all__ = [
    "AbortController",
    "AbortError",
    "AbortOptimistic",
    "AbortSignal",
    "Absent",
    "Api",
    "Assigns",
    "AsyncBoundEndpoint",
    "AsyncBoundList",
    "AsyncController",
    "AsyncLiveRead",
    "Auth",
    "BoundEndpoint",
    "BoundList",
    "C",
    "ConnectionListener",
    "Controller",
    "Endpoint",
    "EndpointState",
    "Entity",
    "ExpiryStatus",
    "Explanation",
    "Form",
    "GCPolicy",
    "Has",
    "HookScopeError",
    "ImmortalGCPolicy",
    "InvalidDataError",
    "ListEndpoint",
    "LiveRead",
    "LogoutManager",
    "Manager",
    "MissingFieldError",
    "MissingParameterError",
    "Multipart",
    "NetworkError",
    "NetworkManager",
    "ParseError",
    "PathTemplateError",
    "PollingSubscription",
    "ProcessingError",
    "Record",
    "ResetError",
    "Resource",
    "ResourceClass",
    "RestEndpoint",
    "RestGenerics",
    "RestencilError",
    "Retries",
    "RetryBudget",
    "Scheduler",
    "Snapshot",
    "Store",
    "StreamedResponse",
    "SubscriptionManager",
    "ThreadScheduler",
    "UnexpectedContentError",
    "always_soft",
    "create_resource",
    "field",
    "hook_scope",
    "hookify_resource",
    "lazy_function",
    "push_of",
    "rest",
    "rest_list",
    "schema",
    "soft_on_server_error",
    "use_endpoint",
    "validate_required",
]

_MODULES: Final[dict[str, str]] = {
    "AbortController": "abort",
    "AbortSignal": "abort",
    "Api": "auth",
    "Auth": "auth",
    "AsyncBoundEndpoint": "bound",
    "AsyncBoundList": "bound",
    "BoundEndpoint": "bound",
    "BoundList": "bound",
    "AsyncController": "controller",
    "Controller": "controller",
    "EndpointState": "controller",
    "Absent": "endpoint",
    "Assigns": "endpoint",
    "C": "endpoint",
    "Endpoint": "endpoint",
    "Has": "endpoint",
    "lazy_function": "endpoint",
    "AbortError": "errors",
    "AbortOptimistic": "errors",
    "HookScopeError": "errors",
    "InvalidDataError": "errors",
    "MissingFieldError": "errors",
    "MissingParameterError": "errors",
    "NetworkError": "errors",
    "ParseError": "errors",
    "PathTemplateError": "errors",
    "ProcessingError": "errors",
    "ResetError": "errors",
    "RestencilError": "errors",
    "UnexpectedContentError": "errors",
    "ExpiryStatus": "expiry",
    "Explanation": "explain",
    "GCPolicy": "gc",
    "ImmortalGCPolicy": "gc",
    "hook_scope": "hooks",
    "hookify_resource": "hooks",
    "use_endpoint": "hooks",
    "AsyncLiveRead": "live",
    "LiveRead": "live",
    "Manager": "managers.base",
    "LogoutManager": "managers.logout",
    "NetworkManager": "managers.network",
    "ConnectionListener": "managers.subscription",
    "PollingSubscription": "managers.subscription",
    "SubscriptionManager": "managers.subscription",
    "Record": "records",
    "field": "records",
    "Resource": "resource",
    "ResourceClass": "resource",
    "create_resource": "resource",
    "push_of": "resource",
    "rest": "resource",
    "rest_list": "resource",
    "ListEndpoint": "rest_endpoint",
    "RestEndpoint": "rest_endpoint",
    "RestGenerics": "rest_endpoint",
    "always_soft": "rest_endpoint",
    "soft_on_server_error": "rest_endpoint",
    "Retries": "retry",
    "RetryBudget": "retry",
    "Scheduler": "scheduler",
    "ThreadScheduler": "scheduler",
    "Entity": "schema.entity",
    "validate_required": "schema.entity",
    "Snapshot": "store",
    "Store": "store",
    "Form": "transport",
    "Multipart": "transport",
    "StreamedResponse": "transport",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "schema":
        return import_module(".schema", __name__)
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f".{module}", __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
