"""What the spec, a resource and an endpoint settle alike: URL prefix, headers, options, the endpoint class."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from restencil_generator import declaration as d
from restencil_generator.language import AUTH_KINDS
from restencil_generator.problems import Place
from restencil_generator.reading import Given


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """What the spec, a resource or an endpoint settles alike; `None` where it says nothing."""

    url_prefix: str | None = None
    url_place: Place = d.NOWHERE
    headers: Mapping[str, str] | None = None
    options: Mapping[str, Any] | None = None
    base: d.Reference | None = None


def settings(given: Given) -> Settings:
    """The url_prefix, headers, options and endpoint class that a level writes."""
    prefix = given.node("url_prefix")
    options: Given | None = given["options"]
    return Settings(
        given["url_prefix"],
        prefix.place if prefix is not None else d.NOWHERE,
        given["headers"],
        options.values() if options is not None else None,
        given.get("endpoint"),
    )


def auth(given: Given | None) -> d.Auth | None:
    """How the secret is sent."""
    if given is None:
        return None
    kinds: list[d.AuthKind] = [kind for kind in AUTH_KINDS if kind in given]
    if len(kinds) != 1 or given[kinds[0]] is None:
        return None
    value = given[kinds[0]]
    return d.Auth(kinds[0], "" if value is True else value, given["env"])


def first_given(*values: str | None) -> str:
    """The first of several levels that says something, the nearest level first; empty where none does."""
    return next((value for value in values if value is not None), "")


def joined_headers(inherited: Mapping[str, str] | None, own: Mapping[str, str] | None) -> dict[str, str]:
    """Headers laid over inherited ones, case aside, sorted by name."""
    named = {name.lower(): (name, value) for name, value in (inherited or {}).items()}
    named |= {name.lower(): (name, value) for name, value in (own or {}).items()}
    return {name: value for _, (name, value) in sorted(named.items())}


def overlaid(inherited: Mapping[str, Any] | None, own: Mapping[str, Any] | None) -> dict[str, Any]:
    """Options laid over inherited ones."""
    return {**(inherited or {}), **(own or {})}
