"""Entry point of the comparison: `compare` returns all changes between two specs, each once."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from restencil_generator.diff.change import Change, Finding, found_at
from restencil_generator.diff.declared import declared_findings, renamed_types
from restencil_generator.diff.endpoints import header_changes, use_text
from restencil_generator.diff.fields import paired, rows_changes
from restencil_generator.diff.resources import key_place, renamed_resources, resource_findings
from restencil_generator.diff.roles import CLIENT, VARIABLE
from restencil_generator.diff.rules import SEVERITIES
from restencil_generator.diff.walk import (
    DERIVED,
    DESCRIPTION,
    WRITTEN,
    At,
    Attributes,
    Ignored,
    Specs,
    Value,
    deprecation,
    walk,
)
from restencil_generator.spec import model as d
from restencil_generator.spec.names import pascal_case


def compare(old: d.Spec, new: d.Spec) -> list[Finding]:
    """Return the changes from one spec to another, worst first.

    Resolved specs are compared: it does not matter where something is declared, in which order and in how many files.
    Renames are detected by method and path, JSON name, or place of use, if the old name was removed.
    """
    resources = renamed_resources(old, new)
    names = renamed_types(old, new, resources)
    enums = {names.of("enum", name): enum for name, enum in old.enums.items()} | dict(new.enums)
    specs = Specs(old, new, names, resources, enums)
    found = [*_spec_findings(specs), *declared_findings(specs), *resource_findings(specs)]
    return sorted(dict.fromkeys(found), key=_rank)


def _rank(finding: Finding) -> tuple[object, ...]:
    """Return the sort key of a finding: worst first, then by position in the spec."""
    rule = finding.columns
    columns = sorted(SEVERITIES.index(one) for one in (rule.callers, rule.wire, rule.cache))
    return columns[0], finding.place, finding.node, finding.rule, finding.change


def _spec_findings(specs: Specs) -> Iterator[Finding]:
    """Yield the changes at the top level of the spec, in its authentication, servers and client arguments."""
    for change in walk(SPEC_ATTRIBUTES, At(specs), specs.old, specs.new):
        yield found_at(change, "", key_place(specs.old, change.key), key_place(specs.new, change.key))


def _client(at: At, old: d.Spec, new: d.Spec) -> Iterator[Change]:
    derived = old.client == pascal_case(old.package) and new.client == pascal_case(new.package)
    if old.client != new.client and not (derived and old.package != new.package):
        yield at.inside("client").under("client").changed("client-renamed", old.client, new.client)


def _inert_headers(at: At, old: d.Spec, new: d.Spec) -> Iterator[Change]:
    before, now = ({name.lower() for name in spec.inert_headers} for spec in (old, new))
    for name in sorted(before ^ now):
        rule, text = ("argument-joined-key", "removed") if name in before else ("argument-left-key", "added")
        yield at.inside(f"inert_headers.{name}").change(rule, text)


def _absent_fields(at: At, old: d.Spec, new: d.Spec) -> Iterator[Change]:
    """Yield a change of `absent` once for the whole spec, rather than for each field."""
    for was, now in _same_fields(old, new):
        written = was.written_default or now.written_default
        if not written and was.type == now.type and (was.default is d.MISSING) != (now.default is d.MISSING):
            text = "no default → zero" if was.default is d.MISSING else "zero → no default"
            yield at.inside("absent").change("answers-changed", text)
            return


def _same_fields(old: d.Spec, new: d.Spec) -> Iterator[tuple[d.Field, d.Field]]:
    for of, others in ((old.objects, new.objects), (old.entities, new.entities)):
        for name, one in of.items():
            if name in others:
                yield from paired(one.fields, others[name].fields).both


# ------------------------------------------------------------------------------------------------------- authentication


def _auth(at: At, old: d.Spec, new: d.Spec) -> Iterator[Change]:
    before, now = ({one.name: one for one in spec.auth.schemes} if spec.auth is not None else {} for spec in (old, new))
    called = {name: name for name in before.keys() & now.keys()}
    for name, scheme in before.items():
        if name in now:
            continue
        alike = next((one for one in now.values() if one.name not in before and _is_alike(at, scheme, one)), None)
        there = at.inside(f"auth.{name}").between(scheme.place, new.place if alike is None else alike.place)
        if alike is None:
            yield there.change("auth-scheme-removed", "removed")
        else:
            yield there.changed("auth-scheme-removed", name, alike.name)
            called[name] = alike.name
    for name, scheme in now.items():
        there = at.inside(f"auth.{name}")
        if name not in called.values():
            yield dataclasses.replace(there, places=(None, scheme.place)).change("auth-scheme-added", "added")
        elif name in before:
            yield from _scheme(there.between(before[name].place, scheme.place), before[name], scheme)
    if old.auth is not None and new.auth is not None:
        known = set(called.values())
        renamed = tuple(tuple(called.get(name, "") for name in names) for names in old.auth.use)
        uses = [[names for names in use if known.issuperset(names)] for use in (renamed, new.auth.use)]
        if uses[0] != uses[1]:
            yield at.inside("auth.use").changed("auth-use-changed", use_text(old.auth.use), use_text(new.auth.use))


def _scheme(at: At, old: d.Scheme, new: d.Scheme) -> Iterator[Change]:
    if (old.oauth2 is None) != (new.oauth2 is None):
        # The client requires a different kind of token, so existing credentials are no longer valid.
        yield at.changed("auth-scheme-removed", old.kind, new.kind)
        return
    yield from walk(SCHEME_ATTRIBUTES, at, old, new)


def _is_alike(at: At, old: d.Scheme, new: d.Scheme) -> bool:
    """Return whether two schemes request and send credentials in the same way."""
    return all(change.rule != "auth-scheme-changed" for change in _scheme(at, old, new)) and old.kind == new.kind


def _oauth2(at: At, old: d.Scheme, new: d.Scheme) -> Iterator[Change]:
    if old.oauth2 is not None and new.oauth2 is not None:
        yield from walk(OAUTH2_ATTRIBUTES, at, old.oauth2, new.oauth2)


def _joined(names: tuple[str, ...]) -> str | None:
    return " ".join(names) or None


def _pairs(values: Mapping[str, str]) -> str | None:
    return ", ".join(f"{key}: {value}" for key, value in sorted(values.items())) or None


SCHEME_ATTRIBUTES: Final[Attributes[d.Scheme]] = {
    "name": Ignored("it is the key in the spec, which is compared"),
    "kind": Value("auth-scheme-changed", label="kind"),
    "parameter": Value("auth-scheme-changed", sub="name", label="name", show=lambda name: name or None),
    "prefix": Value("auth-scheme-changed", label="prefix", show=lambda prefix: prefix or None),
    "env": Value("auth-env-changed"),
    "oauth2": _oauth2,
    "deprecated": deprecation,
}
OAUTH2_ATTRIBUTES: Final[Attributes[d.OAuth2]] = {
    "token_url": Value("auth-scheme-changed", label="token_url"),
    "grant": Value("auth-scheme-changed", label="grant"),
    "scopes": Value("auth-scheme-changed", label="scopes", show=_joined),
    "client_auth": Value("auth-scheme-changed", label="client_auth"),
    "params": Value("auth-scheme-changed", label="params", show=_pairs),
    "env": Value("auth-env-changed", show=_pairs),
}

# -------------------------------------------------------------------------------------------------------------- servers


def _servers(at: At, old: d.Spec, new: d.Spec) -> Iterator[Change]:
    before, now = ({server.name: server for server in spec.servers} for spec in (old, new))
    if old.url_prefix != new.url_prefix and bool(before) != bool(now):
        there = at.inside("url_prefix").between(old.url_place, new.url_place)
        yield there.changed("url-prefix-changed", old.url_prefix or None, new.url_prefix or None)
    for name, server in before.items():
        there = at.inside(f"servers.{name}")
        if name in now:
            yield from walk(SERVER_ATTRIBUTES, there.between(server.place, now[name].place), server, now[name])
        else:
            yield dataclasses.replace(there, places=(server.place, None)).change("server-removed", "removed")
    for name, server in now.items():
        if name not in before:
            there = dataclasses.replace(at.inside(f"servers.{name}"), places=(None, server.place))
            yield there.change("server-added", "added")
    if before and now and old.servers[0].name != new.servers[0].name:
        was, first = old.servers[0], new.servers[0]
        there = at.inside("servers").between(was.place, first.place)
        yield there.change("server-default-changed", f"the first is {was.name} → {first.name}", was.name)


def _variables(at: At, old: d.Server, new: d.Server) -> Iterator[Change]:
    yield from rows_changes(at.of(VARIABLE), *([*map(_from_env, one.variables)] for one in (old, new)))


SERVER_ATTRIBUTES: Final[Attributes[d.Server]] = {
    "name": Ignored("it is the key in the spec, which is compared"),
    "url": Value("url-prefix-changed", sub=""),
    "variables": _variables,
    "description": DESCRIPTION,
    "deprecated": deprecation,
}

# ----------------------------------------------------------------------------------------------- the client's arguments


def _client_arguments(at: At, old: d.Spec, new: d.Spec) -> Iterator[Change]:
    """Yield the changes of client search parameters and headers together: one may have become the other."""
    before, now = (
        {field.name: ("the query", field) for field in spec.search_params}
        | {header.field.name: ("a header", header.field) for header in spec.header_params}
        for spec in (old, new)
    )
    for name in before.keys() & now.keys():
        (was, field), (is_now, other) = before[name], now[name]
        if was != is_now:
            before[name] = was, dataclasses.replace(field, wire=other.wire)
            yield at.inside(name).between(field.place, other.place).changed("argument-wire-changed", was, is_now)
    rows: Sequence[list[d.Field]] = [[_from_env(field) for _, field in side.values()] for side in (before, now)]
    yield from rows_changes(at.of(CLIENT), rows[0], rows[1])


def _from_env(field: d.Field) -> d.Field:
    """Return an argument that is optional if it has an environment variable."""
    if field.env is None or isinstance(field.type, d.Optional):
        return field
    return dataclasses.replace(field, type=d.Optional(field.type))


def _client_headers(at: At, old: d.Spec, new: d.Spec) -> Iterator[Change]:
    yield from header_changes(at, old.header_params, new.header_params)


_RESOLVED: Final = Ignored("each endpoint has what it inherits from here")
_DECLARED: Final = Ignored("it is compared by `declared_findings`")


def _or_nothing(text: str) -> str | None:
    return text or None


SPEC_ATTRIBUTES: Final[Attributes[d.Spec]] = {
    "file": WRITTEN,
    "language": Ignored("there is one version"),
    "package": Value("package-renamed"),
    "client": _client,
    "async_client": DERIVED,
    "digest": DERIVED,
    "title": Value("description-changed", show=_or_nothing),
    "description": Value("description-changed", note="description"),
    "version": Value("user-agent-changed", show=_or_nothing),
    "user_agent": Value("user-agent-changed"),
    "request_id": Value("headers-changed", show=_or_nothing),
    "inert_headers": _inert_headers,
    "errors": _RESOLVED,
    "request": _RESOLVED,
    "response": _RESOLVED,
    "url_prefix": _RESOLVED,
    "wire_names": Ignored("each field has its JSON name"),
    "auth": _auth,
    "base": _RESOLVED,
    "headers": _RESOLVED,
    "options": _RESOLVED,
    "enums": _DECLARED,
    "objects": _absent_fields,
    "entities": _DECLARED,
    "resources": Ignored("they are compared by `resource_findings`"),
    "namespace": DERIVED,
    "has_errors": DERIVED,
    "servers": _servers,
    "header_params": _client_headers,
    "search_params": _client_arguments,
    "cross_origin_body": _RESOLVED,
}
