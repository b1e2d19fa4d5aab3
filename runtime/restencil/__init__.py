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
    from .cache.policy import EndpointState, ExpiryStatus
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
    from .endpoint.iterators import AsyncLiveRead, LiveRead
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

_NAMES: Final[dict[str, tuple[str, ...]]] = {
    "base.abort": ("AbortController", "AbortSignal"),
    "base.bodies": ("Content", "File", "Form", "Multipart"),
    "base.calls": ("ClientParam", "HeaderParam", "Server", "Token"),
    "base.durations": ("Timeout",),
    "base.errors": (
        "AbortError",
        "AbortOptimistic",
        "AuthError",
        "AuthenticationError",
        "BadRequestError",
        "ConflictError",
        "ConnectionFailedError",
        "HookScopeError",
        "InvalidDataError",
        "MissingFieldError",
        "MissingParameterError",
        "NetworkError",
        "NotFoundError",
        "ParseError",
        "PathTemplateError",
        "PermissionDeniedError",
        "PreconditionFailedError",
        "ProcessingError",
        "RateLimitError",
        "ResetError",
        "RestencilError",
        "ServerError",
        "StatusError",
        "StorageCorrupt",
        "StorageDown",
        "StorageError",
        "StorageOff",
        "TimeoutExceededError",
        "UnexpectedContentError",
        "UnprocessableEntityError",
    ),
    "base.lazy_imports": ("lazy_package", "lazy_resource"),
    "base.response": ("Page", "Response"),
    "base.scheduler": ("Scheduler", "ThreadScheduler"),
    "cache.explanation": ("Explanation",),
    "cache.gc": ("GCPolicy", "ImmortalGCPolicy"),
    "cache.persistence_port": ("StorageStats",),
    "cache.policy": ("EndpointState", "ExpiryStatus"),
    "cache.snapshot": ("Snapshot",),
    "cache.store": ("Store",),
    "client.arguments": ("AsyncClientOptions", "ClientOptions"),
    "client.controller": ("AsyncController", "Controller"),
    "client.managers": ("ConnectionListener", "LogoutManager", "Manager", "PollingSubscription", "SubscriptionManager"),
    "client.network": ("NetworkManager",),
    "client.oauth2": ("OAuth2", "Tokens"),
    "client.retry": ("Retries", "RetryBudget"),
    "endpoint.bound": ("AsyncBoundEndpoint", "AsyncBoundList", "BoundEndpoint", "BoundList"),
    "endpoint.endpoint": ("Endpoint", "lazy_function"),
    "endpoint.hookify": ("hook_scope", "hookify_resource", "use_endpoint"),
    "endpoint.iterators": ("AsyncLiveRead", "LiveRead"),
    "endpoint.resource": ("Resource", "ResourceClass", "create_resource", "push_of", "rest", "rest_list"),
    "endpoint.rest": ("ListEndpoint", "RestEndpoint", "RestGenerics", "always_soft", "soft_on_server_error"),
    "endpoint.typing": ("Absent", "Assigns", "ControllerType", "Has"),
    "http.auth": ("Api",),
    "http.schemes": ("Auth", "Schemes"),
    "http.streaming": ("StreamedResponse",),
    "schema.classes": ("entity",),
    "schema.entity": ("Entity", "validate_required"),
    "schema.keys": ("foreign_key",),
    "schema.record": ("Record", "field"),
    "storage.memory": ("MemoryStorage",),
    "storage.protocol": ("Storage",),
    "storage.sqlite": ("SQLiteStorage",),
    "storage.valkey": ("ValkeyStorage",),
}
"""The public names of each module."""


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "schema":
        return import_module(".schema", __name__)
    module = next((module for module, names in _NAMES.items() if name in names), None)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f".{module}", __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
