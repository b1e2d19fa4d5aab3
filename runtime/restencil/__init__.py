"""Typed REST resources over one consistent cache.

Everything public is imported from here, and only when it is used: `import restencil` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from . import schema as schema
    from .abort import AbortController as AbortController
    from .abort import AbortSignal as AbortSignal
    from .auth import Api as Api
    from .auth import Auth as Auth
    from .bound import (
        AsyncBoundEndpoint as AsyncBoundEndpoint,
    )
    from .bound import (
        AsyncBoundList as AsyncBoundList,
    )
    from .bound import (
        BoundEndpoint as BoundEndpoint,
    )
    from .bound import (
        BoundList as BoundList,
    )
    from .controller import AsyncController as AsyncController
    from .controller import Controller as Controller
    from .controller import EndpointState as EndpointState
    from .endpoint import (
        Absent as Absent,
    )
    from .endpoint import (
        Assigns as Assigns,
    )
    from .endpoint import (
        C as C,
    )
    from .endpoint import (
        Endpoint as Endpoint,
    )
    from .endpoint import (
        Has as Has,
    )
    from .endpoint import (
        lazy_function as lazy_function,
    )
    from .errors import (
        AbortError as AbortError,
    )
    from .errors import (
        AbortOptimistic as AbortOptimistic,
    )
    from .errors import (
        HookScopeError as HookScopeError,
    )
    from .errors import (
        InvalidDataError as InvalidDataError,
    )
    from .errors import (
        MissingFieldError as MissingFieldError,
    )
    from .errors import (
        MissingParameterError as MissingParameterError,
    )
    from .errors import (
        NetworkError as NetworkError,
    )
    from .errors import (
        ParseError as ParseError,
    )
    from .errors import (
        PathTemplateError as PathTemplateError,
    )
    from .errors import (
        ProcessingError as ProcessingError,
    )
    from .errors import (
        ResetError as ResetError,
    )
    from .errors import (
        RestencilError as RestencilError,
    )
    from .errors import (
        UnexpectedContentError as UnexpectedContentError,
    )
    from .expiry import ExpiryStatus as ExpiryStatus
    from .gc import GCPolicy as GCPolicy
    from .gc import ImmortalGCPolicy as ImmortalGCPolicy
    from .hooks import hook_scope as hook_scope
    from .hooks import hookify_resource as hookify_resource
    from .hooks import use_endpoint as use_endpoint
    from .live import AsyncLiveRead as AsyncLiveRead
    from .live import LiveRead as LiveRead
    from .managers.base import Manager as Manager
    from .managers.logout import LogoutManager as LogoutManager
    from .managers.network import NetworkManager as NetworkManager
    from .managers.subscription import (
        PollingSubscription as PollingSubscription,
    )
    from .managers.subscription import (
        SubscriptionManager as SubscriptionManager,
    )
    from .records import Record as Record
    from .records import field as field
    from .resource import (
        Resource as Resource,
    )
    from .resource import (
        ResourceClass as ResourceClass,
    )
    from .resource import (
        create_resource as create_resource,
    )
    from .resource import (
        push_of as push_of,
    )
    from .resource import (
        rest as rest,
    )
    from .resource import (
        rest_list as rest_list,
    )
    from .rest_endpoint import (
        ListEndpoint as ListEndpoint,
    )
    from .rest_endpoint import (
        RestEndpoint as RestEndpoint,
    )
    from .rest_endpoint import (
        RestGenerics as RestGenerics,
    )
    from .rest_endpoint import always_soft as always_soft
    from .rest_endpoint import (
        soft_on_server_error as soft_on_server_error,
    )
    from .retry import Retries as Retries
    from .schema.entity import Entity as Entity
    from .schema.entity import validate_required as validate_required
    from .store import Snapshot as Snapshot
    from .store import Store as Store
    from .transport import Form as Form
    from .transport import Multipart as Multipart
    from .transport import StreamedResponse as StreamedResponse

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
    "Controller",
    "Endpoint",
    "EndpointState",
    "Entity",
    "ExpiryStatus",
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
    "Snapshot",
    "Store",
    "StreamedResponse",
    "SubscriptionManager",
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
