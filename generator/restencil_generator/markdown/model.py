"""The data for templates of the reference: plain values, in the order of the page."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a call or of the client, or a field of a type.

    `type` is its annotation. `default` is Python code, None if there is none. `notes` are further properties: which
    part of the request contains it, its JSON name, whether it is read-only. `deprecated` is the reason of the
    deprecation, None if it is not deprecated.
    """

    name: str
    type: str
    required: bool
    default: str | None = None
    description: str = ""
    notes: tuple[str, ...] = ()
    deprecated: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Type:
    """A class of the package: an `entity`, `object`, `enum` or `typed dict`. Enums have `values`, others `fields`."""

    name: str
    kind: str
    description: str = ""
    deprecated: str | None = None
    primary_key: tuple[str, ...] = ()
    fields: tuple[Argument, ...] = ()
    values: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Error:
    """An error that a call may raise: its status (`404`, `4XX`, `default`), class, and the types of its `data`."""

    status: str
    name: str
    data: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Call:
    """An endpoint. `name` is its name on the client (`articles.get`), `example` and `response` are Python code."""

    name: str
    method: str
    path: str
    returns: str
    description: str = ""
    deprecated: str | None = None
    arguments: tuple[Argument, ...] = ()
    errors: tuple[Error, ...] = ()
    is_paginated: bool = False
    example: str = ""
    response: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Resource:
    """A resource: its calls, and the types that only it has. `path` is empty for a group of endpoints."""

    name: str
    path: str
    description: str = ""
    deprecated: str | None = None
    calls: tuple[Call, ...] = ()
    types: tuple[Type, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Client:
    """The client: its two classes, the calls that create them, and its arguments."""

    name: str
    async_name: str
    example: str
    async_example: str
    arguments: tuple[Argument, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Reference:
    """The whole reference of a package. `source` is the name of the spec file."""

    title: str
    package: str
    source: str
    client: Client
    description: str = ""
    version: str = ""
    url: str = ""
    resources: tuple[Resource, ...] = ()
    types: tuple[Type, ...] = ()
    errors: tuple[Error, ...] = ()
