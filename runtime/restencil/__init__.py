"""Typed REST resources over one consistent cache.

All public names are imported from here. Modules are loaded when one of their names is first used, so that
`import restencil` is fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from . import schema
    from .base.abort import AbortController, AbortSignal
    from .base.bodies import Content, File, Form, Multipart
    from .base.calls import ClientParam, HeaderParam, Server, Token
    from .base.durations import Timeout
    from .base.errors import (
        AbortError,
        AbortOptimistic,
        AuthenticationError,
        AuthError,
        BadRequestError,
        ConflictError,
        ConnectionFailedError,
        HookScopeError,
        InvalidDataError,
        MissingFieldError,
        MissingParameterError,
        NetworkError,
        NotFoundError,
        ParseError,
        PathTemplateError,
        PermissionDeniedError,
        PreconditionFailedError,
        ProcessingError,
        RateLimitError,
        ResetError,
        RestencilError,
        ServerError,
        StatusError,
        StorageCorrupt,
        StorageDown,
        StorageError,
        StorageOff,
        TimeoutExceededError,
        UnexpectedContentError,
        UnprocessableEntityError,
    )
    from .base.lazy_imports import lazy_package, lazy_resource
    from .base.response import Page, Response
    from .base.scheduler import Scheduler, ThreadScheduler
    from .cache.explanation import Explanation
    from .cache.gc import GCPolicy, ImmortalGCPolicy
    from .cache.persistence_port import StorageStats
    from .cache.reading import EndpointState, ExpiryStatus
    from .cache.snapshot import Snapshot
    from .cache.store import Store
    from .client.arguments import AsyncClientOptions, ClientOptions
    from .client.controller import AsyncController, Controller
    from .client.managers import ConnectionListener, LogoutManager, Manager, PollingSubscription, SubscriptionManager
    from .client.network import NetworkManager
    from .client.oauth2 import OAuth2, Tokens
    from .client.retry import Retries, RetryBudget
    from .endpoint.bound import AsyncBoundEndpoint, AsyncBoundList, BoundEndpoint, BoundList
    from .endpoint.endpoint import Endpoint, lazy_function
    from .endpoint.hookify import hook_scope, hookify_resource, use_endpoint
    from .endpoint.live import AsyncLiveRead, LiveRead
    from .endpoint.resource import Resource, ResourceClass, create_resource, push_of, rest, rest_list
    from .endpoint.rest import ListEndpoint, RestEndpoint, RestGenerics, always_soft, soft_on_server_error
    from .endpoint.typing import Absent, Assigns, ControllerType, Has
    from .http.auth import Api
    from .http.schemes import Auth, Schemes
    from .http.streaming import StreamedResponse
    from .schema.classes import entity
    from .schema.entity import Entity, validate_required
    from .schema.keys import foreign_key
    from .schema.record import Record, field
    from .storage.memory import MemoryStorage
    from .storage.protocol import Storage
    from .storage.sqlite import SQLiteStorage
    from .storage.valkey import ValkeyStorage

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
    "AsyncClientOptions",
    "AsyncController",
    "AsyncLiveRead",
    "Auth",
    "AuthError",
    "AuthenticationError",
    "BadRequestError",
    "BoundEndpoint",
    "BoundList",
    "ClientOptions",
    "ClientParam",
    "ConflictError",
    "ConnectionFailedError",
    "ConnectionListener",
    "Content",
    "Controller",
    "ControllerType",
    "Endpoint",
    "EndpointState",
    "Entity",
    "ExpiryStatus",
    "Explanation",
    "File",
    "Form",
    "GCPolicy",
    "Has",
    "HeaderParam",
    "HookScopeError",
    "ImmortalGCPolicy",
    "InvalidDataError",
    "ListEndpoint",
    "LiveRead",
    "LogoutManager",
    "Manager",
    "MemoryStorage",
    "MissingFieldError",
    "MissingParameterError",
    "Multipart",
    "NetworkError",
    "NetworkManager",
    "NotFoundError",
    "OAuth2",
    "Page",
    "ParseError",
    "PathTemplateError",
    "PermissionDeniedError",
    "PollingSubscription",
    "PreconditionFailedError",
    "ProcessingError",
    "RateLimitError",
    "Record",
    "ResetError",
    "Resource",
    "ResourceClass",
    "Response",
    "RestEndpoint",
    "RestGenerics",
    "RestencilError",
    "Retries",
    "RetryBudget",
    "SQLiteStorage",
    "Scheduler",
    "Schemes",
    "Server",
    "ServerError",
    "Snapshot",
    "StatusError",
    "Storage",
    "StorageCorrupt",
    "StorageDown",
    "StorageError",
    "StorageOff",
    "StorageStats",
    "Store",
    "StreamedResponse",
    "SubscriptionManager",
    "ThreadScheduler",
    "Timeout",
    "TimeoutExceededError",
    "Token",
    "Tokens",
    "UnexpectedContentError",
    "UnprocessableEntityError",
    "ValkeyStorage",
    "always_soft",
    "create_resource",
    "entity",
    "field",
    "foreign_key",
    "hook_scope",
    "hookify_resource",
    "lazy_function",
    "lazy_package",
    "lazy_resource",
    "push_of",
    "rest",
    "rest_list",
    "schema",
    "soft_on_server_error",
    "use_endpoint",
    "validate_required",
]

_MODULES: Final[dict[str, str]] = {
    "AbortController": "base.abort",
    "AbortSignal": "base.abort",
    "ClientParam": "base.calls",
    "HeaderParam": "base.calls",
    "Server": "base.calls",
    "Api": "http.auth",
    "Auth": "http.schemes",
    "Schemes": "http.schemes",
    "OAuth2": "client.oauth2",
    "Tokens": "client.oauth2",
    "Token": "base.calls",
    "AsyncBoundEndpoint": "endpoint.bound",
    "AsyncBoundList": "endpoint.bound",
    "BoundEndpoint": "endpoint.bound",
    "BoundList": "endpoint.bound",
    "AsyncClientOptions": "client.arguments",
    "ClientOptions": "client.arguments",
    "AsyncController": "client.controller",
    "Controller": "client.controller",
    "EndpointState": "cache.reading",
    "Absent": "endpoint.typing",
    "Assigns": "endpoint.typing",
    "ControllerType": "endpoint.typing",
    "Endpoint": "endpoint.endpoint",
    "Has": "endpoint.typing",
    "lazy_function": "endpoint.endpoint",
    "lazy_package": "base.lazy_imports",
    "lazy_resource": "base.lazy_imports",
    "AbortError": "base.errors",
    "AbortOptimistic": "base.errors",
    "HookScopeError": "base.errors",
    "InvalidDataError": "base.errors",
    "MissingFieldError": "base.errors",
    "MissingParameterError": "base.errors",
    "NetworkError": "base.errors",
    "StatusError": "base.errors",
    "StorageCorrupt": "base.errors",
    "StorageDown": "base.errors",
    "StorageError": "base.errors",
    "StorageOff": "base.errors",
    "MemoryStorage": "storage.memory",
    "Storage": "storage.protocol",
    "ValkeyStorage": "storage.valkey",
    "StorageStats": "cache.persistence_port",
    "SQLiteStorage": "storage.sqlite",
    "AuthError": "base.errors",
    "AuthenticationError": "base.errors",
    "BadRequestError": "base.errors",
    "ConflictError": "base.errors",
    "NotFoundError": "base.errors",
    "PermissionDeniedError": "base.errors",
    "PreconditionFailedError": "base.errors",
    "RateLimitError": "base.errors",
    "ServerError": "base.errors",
    "UnprocessableEntityError": "base.errors",
    "ConnectionFailedError": "base.errors",
    "Timeout": "base.durations",
    "TimeoutExceededError": "base.errors",
    "ParseError": "base.errors",
    "PathTemplateError": "base.errors",
    "ProcessingError": "base.errors",
    "ResetError": "base.errors",
    "RestencilError": "base.errors",
    "UnexpectedContentError": "base.errors",
    "ExpiryStatus": "cache.reading",
    "Explanation": "cache.explanation",
    "GCPolicy": "cache.gc",
    "ImmortalGCPolicy": "cache.gc",
    "hook_scope": "endpoint.hookify",
    "hookify_resource": "endpoint.hookify",
    "use_endpoint": "endpoint.hookify",
    "AsyncLiveRead": "endpoint.live",
    "LiveRead": "endpoint.live",
    "Manager": "client.managers",
    "LogoutManager": "client.managers",
    "NetworkManager": "client.network",
    "ConnectionListener": "client.managers",
    "PollingSubscription": "client.managers",
    "SubscriptionManager": "client.managers",
    "Record": "schema.record",
    "field": "schema.record",
    "foreign_key": "schema.keys",
    "Resource": "endpoint.resource",
    "ResourceClass": "endpoint.resource",
    "create_resource": "endpoint.resource",
    "push_of": "endpoint.resource",
    "rest": "endpoint.resource",
    "rest_list": "endpoint.resource",
    "ListEndpoint": "endpoint.rest",
    "RestEndpoint": "endpoint.rest",
    "RestGenerics": "endpoint.rest",
    "always_soft": "endpoint.rest",
    "soft_on_server_error": "endpoint.rest",
    "Response": "base.response",
    "Page": "base.response",
    "Retries": "client.retry",
    "RetryBudget": "client.retry",
    "Scheduler": "base.scheduler",
    "ThreadScheduler": "base.scheduler",
    "Entity": "schema.entity",
    "entity": "schema.classes",
    "validate_required": "schema.entity",
    "Snapshot": "cache.snapshot",
    "Store": "cache.store",
    "Content": "base.bodies",
    "File": "base.bodies",
    "Form": "base.bodies",
    "Multipart": "base.bodies",
    "StreamedResponse": "http.streaming",
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
