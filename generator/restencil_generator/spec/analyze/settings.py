"""The settings that the spec, a resource and an endpoint have in common: URL prefix, headers, options and so on."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

from restencil_generator.diagnostics.model import Place, quoted
from restencil_generator.spec import model as d
from restencil_generator.spec.analyze.auth import read_use
from restencil_generator.spec.analyze.errors import read_errors
from restencil_generator.spec.analyze.freshness import read_options
from restencil_generator.spec.analyze.parameter_styles import laid_over, read_styles
from restencil_generator.spec.grammar.value_reader import ParsedSection, Subject

if TYPE_CHECKING:
    from restencil_generator.spec.analyze.types import Types

_HAS_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://").match


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """The common settings of the spec, a resource or an endpoint; `None` if not declared.

    `auth` is `MISSING` if not declared, and None if it is reset.
    """

    url_prefix: str | None = None
    url_place: Place = d.NOWHERE
    headers: Mapping[str, str] | None = None
    options: Mapping[str, Any] | None = None
    base: d.Reference | None = None
    errors: Mapping[str, d.Shape | None] | None = None
    styles: Mapping[int, d.Style | None] = dataclasses.field(default_factory=dict[int, "d.Style | None"])
    auth: d.Use | d.Missing | None = d.MISSING
    request: Mapping[str, Any] | None = None
    response: Mapping[str, Any] | None = None
    cross_origin_body: bool | None = None


def settings(given: ParsedSection, types: Types, what: Subject) -> Settings:
    """Read the common settings of a level."""
    prefix = given.node("url_prefix")
    if prefix is not None and given["url_prefix"] and not _HAS_SCHEME(given["url_prefix"]):
        text = quoted(given["url_prefix"])
        message = f"'url_prefix' of {what} is {text}, which has no scheme"
        types.report("bad-url", message, prefix, f"write https://{given['url_prefix'].lstrip('/')}")
    auth = None if given.name == "spec" else given.node("auth")  # `auth` of the spec declares the schemes
    options: ParsedSection | None = given["options"]
    redirects: ParsedSection | None = given.get("redirects")
    return Settings(
        given["url_prefix"],
        prefix.place if prefix is not None else d.NOWHERE,
        given["headers"],
        None if options is None else read_options(types, options, what),
        given.get("endpoint"),
        read_errors(types, given.node("errors"), what),
        read_styles(given),
        d.MISSING if auth is None else read_use(types, auth, Subject("'auth'", what)),
        _by_key(given, "request", d.Request),
        _by_key(given, "response", d.Response),
        None if redirects is None else redirects["cross_origin_body"],
    )


def _by_key(given: ParsedSection, key: str, kind: type[d.Request | d.Response]) -> dict[str, Any] | None:
    """Return the settings under `request` or `response`, with None for reset ones; all are reset if the key is null."""
    if key not in given:
        return None
    section: ParsedSection | None = given[key]
    if section is None:
        return {field.name: None for field in dataclasses.fields(kind)}
    found = {
        name: tuple(value.split(".")) if name.endswith("envelope") and value is not None else value
        for name, value in section.values().items()
    }
    return found | {"style": read_styles(section, "style")} if "style" in found else found


_Levelled = TypeVar("_Levelled", bound=d.Request | d.Response)


def laid_on(inherited: _Levelled, own: Mapping[str, Any] | None) -> _Levelled:
    """Merge the `request` or `response` settings of a level with the inherited ones, key by key."""
    defaults: dict[str, Any] = {field.name: field.default for field in dataclasses.fields(inherited)}
    values: dict[str, Any] = {key: defaults[key] if value is None else value for key, value in (own or {}).items()}
    if isinstance(inherited, d.Request) and isinstance(values.get("style"), dict):
        values["style"] = laid_over(inherited.style, values["style"])
    return dataclasses.replace(inherited, **values)


def nearest_auth(inherited: d.Use | None, own: d.Use | d.Missing | None) -> d.Use | None:
    """Return the `auth` of a level, else the inherited one; None if that of the spec applies."""
    return inherited if own is d.MISSING else own


def first_given(*values: str | None) -> str:
    """Return the first value that is not None, nearest level first; empty if there is none."""
    return next((value for value in values if value is not None), "")


def joined_headers(inherited: Mapping[str, str] | None, own: Mapping[str, str] | None) -> dict[str, str]:
    """Merge headers with inherited ones, ignoring case, sorted by name."""
    named = {name.lower(): (name, value) for name, value in (inherited or {}).items()}
    named |= {name.lower(): (name, value) for name, value in (own or {}).items()}
    return {name: value for _, (name, value) in sorted(named.items())}


def overlaid(inherited: Mapping[str, Any] | None, own: Mapping[str, Any] | None) -> dict[str, Any]:
    """Merge options with inherited ones."""
    return {**(inherited or {}), **(own or {})}
