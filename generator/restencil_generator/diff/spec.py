"""`compare`: all that changed between two specs, each change once."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

from restencil_generator.diff.change import Finding, found_at
from restencil_generator.diff.declared import Declared, renamed_types
from restencil_generator.diff.endpoints import use_text
from restencil_generator.diff.fields import CLIENT, VARIABLE, Fields, described, paired
from restencil_generator.diff.resources import Resources, renamed_resources
from restencil_generator.diff.rules import SEVERITIES
from restencil_generator.spec import model as d
from restencil_generator.spec.names import pascal_case


def compare(old: d.Spec, new: d.Spec) -> list[Finding]:
    """What changed from one spec to another, worst first.

    Both are compared as they were resolved: where something is written, in which order and in how many files is no
    change. What has a new name is recognised by method and path, name in JSON, or place of use, where the old name is
    gone.
    """
    resources = renamed_resources(old, new)
    names = renamed_types(old, new, resources)
    enums = {names.of("enum", name): enum for name, enum in old.enums.items()} | dict(new.enums)
    fields = Fields(enums)
    found = [
        *_top(old, new, fields),
        *Declared(old, new, names, fields, resources).findings(),
        *Resources(old, new, names, fields, resources).findings(),
    ]
    return sorted(dict.fromkeys(found), key=_rank)


def _rank(finding: Finding) -> tuple[object, ...]:
    """Worst first; then as they stand in the spec."""
    rule = finding.columns
    columns = sorted(SEVERITIES.index(one) for one in (rule.callers, rule.wire, rule.cache))
    return columns[0], finding.place, finding.node, finding.rule, finding.change


def _top(old: d.Spec, new: d.Spec, fields: Fields) -> Iterator[Finding]:
    def finding(rule: str, node: str, was: str, now: str) -> Finding:
        places = [spec.places.get(node, spec.place) for spec in (new, old)]
        return Finding(rule, node, f"{was or '–'} → {now or '–'}", places[0], places[1], was)

    if old.package != new.package:
        yield finding("package-renamed", "package", old.package, new.package)
    derived = old.client == pascal_case(old.package) and new.client == pascal_case(new.package)
    if old.client != new.client and not (derived and old.package != new.package):
        yield finding("client-renamed", "client", old.client, new.client)
    if old.title != new.title:
        yield finding("description-changed", "title", old.title, new.title)
    if old.description != new.description:
        places = [spec.places.get("description", spec.place) for spec in (new, old)]
        yield Finding("description-changed", "description", "description", places[0], places[1])
    for key in ("user_agent", "version"):
        was, now = getattr(old, key), getattr(new, key)
        if was != now:
            yield finding("user-agent-changed", key, _text(was), _text(now))
    if old.request_id != new.request_id:
        yield finding("headers-changed", "request_id", old.request_id, new.request_id)
    before, now = ({name.lower() for name in spec.inert_headers} for spec in (old, new))
    for name in sorted(now - before):
        yield Finding("argument-left-key", f"inert_headers.{name}", "added", new.place, old.place)
    for name in sorted(before - now):
        yield Finding("argument-joined-key", f"inert_headers.{name}", "removed", new.place, old.place)
    yield from _absent(old, new)
    yield from _auth(old, new)
    yield from _servers(old, new)
    yield from _same_servers(old, new, fields)
    yield from _client_arguments(old, new, fields)


def _absent(old: d.Spec, new: d.Spec) -> Iterator[Finding]:
    """What fields without a default give where no answer had them: told of the whole, and of no field."""
    for was, now in _same_fields(old, new):
        written = was.written_default or now.written_default
        if not written and was.type == now.type and (was.default is d.MISSING) != (now.default is d.MISSING):
            text = "no default → zero" if was.default is d.MISSING else "zero → no default"
            yield Finding("answers-changed", "absent", text, new.place, old.place)
            return


def _same_fields(old: d.Spec, new: d.Spec) -> Iterator[tuple[d.Field, d.Field]]:
    for of, others in ((old.objects, new.objects), (old.entities, new.entities)):
        for name, one in of.items():
            if name in others:
                yield from paired(one.fields, others[name].fields).both


def _auth(old: d.Spec, new: d.Spec) -> Iterator[Finding]:
    before, now = ({one.name: one for one in spec.auth.schemes} if spec.auth is not None else {} for spec in (old, new))
    called = {name: name for name in before.keys() & now.keys()}
    for name, scheme in before.items():
        if name in now:
            continue
        alike = next((one for one in now.values() if one.name not in before and _sent(one) == _sent(scheme)), None)
        text = "removed" if alike is None else f"{name} → {alike.name}"
        place = new.place if alike is None else alike.place
        yield Finding("auth-scheme-removed", f"auth.{name}", text, place, scheme.place, "" if alike is None else name)
        if alike is not None:
            called[name] = alike.name
    for name, scheme in now.items():
        if name not in called.values():
            yield Finding("auth-scheme-added", f"auth.{name}", "added", scheme.place)
        elif name in before:
            yield from _scheme(before[name], scheme)
    if old.auth is not None and new.auth is not None:
        uses = [
            [tuple(names) for names in use if all(name in known for name in names)]
            for use, known in ((_called(old.auth.use, called), called.values()), (new.auth.use, called.values()))
        ]
        if uses[0] != uses[1]:
            texts = [use_text(auth.use) for auth in (old.auth, new.auth)]
            yield Finding("auth-use-changed", "auth.use", " → ".join(texts), new.place, old.place, texts[0])


def _scheme(old: d.Scheme, new: d.Scheme) -> Iterator[Finding]:
    node = f"auth.{new.name}"
    if (old.oauth2 is None) != (new.oauth2 is None):
        # The client takes tokens of another kind: what was given is no credential any more.
        yield Finding("auth-scheme-removed", node, f"{old.kind} → {new.kind}", new.place, old.place, old.kind)
        return
    was, now = _sent(old), _sent(new)
    for key in was:
        if was[key] != now[key]:
            text = f"{key} {was[key] or '–'} → {now[key] or '–'}"
            yield Finding("auth-scheme-changed", f"{node}.{key}", text, new.place, old.place, was[key])
    texts = [_env(scheme) for scheme in (old, new)]
    if texts[0] != texts[1]:
        yield Finding("auth-env-changed", f"{node}.env", " → ".join(texts), new.place, old.place, texts[0])
    for change in described(_Deprecated(old.deprecated), _Deprecated(new.deprecated), "", None, None):
        yield found_at(change, node, old.place, new.place)


@dataclasses.dataclass(frozen=True, slots=True)
class _Deprecated:
    """What is deprecated and has no description."""

    deprecated: str | None
    description: str = ""


def _sent(scheme: d.Scheme) -> dict[str, str]:
    """How a credential is sent, and how it is asked for, as text."""
    told = {"kind": scheme.kind, "name": scheme.parameter, "prefix": scheme.prefix}
    if scheme.oauth2 is not None:
        oauth2 = scheme.oauth2
        told |= {"token_url": oauth2.token_url, "grant": oauth2.grant, "client_auth": oauth2.client_auth}
        told |= {
            "scopes": " ".join(oauth2.scopes),
            "params": ", ".join(f"{k}={v}" for k, v in sorted(oauth2.params.items())),
        }
    return told


def _env(scheme: d.Scheme) -> str:
    """The variables of the environment that a credential is read from."""
    if scheme.oauth2 is not None:
        return ", ".join(f"{key}: {name}" for key, name in sorted(scheme.oauth2.env.items())) or "–"
    return scheme.env or "–"


def _called(use: d.Use, called: Mapping[str, str]) -> d.Use:
    return tuple(tuple(called.get(name, "") for name in names) for names in use)


def _servers(old: d.Spec, new: d.Spec) -> Iterator[Finding]:
    before, now = ({server.name: server for server in spec.servers} for spec in (old, new))
    if old.url_prefix != new.url_prefix and bool(before) != bool(now):
        text = f"{old.url_prefix or '–'} → {new.url_prefix or '–'}"
        yield Finding("url-prefix-changed", "url_prefix", text, new.url_place, old.url_place, old.url_prefix)
    for name, server in before.items():
        if name not in now:
            yield Finding("server-removed", f"servers.{name}", "removed", new.place, server.place)
    for name, server in now.items():
        if name not in before:
            yield Finding("server-added", f"servers.{name}", "added", server.place)
    if before and now and next(iter(before)) != next(iter(now)):
        was, first = next(iter(before)), now[next(iter(now))]
        text = f"the first is {was} → {first.name}"
        yield Finding("server-default-changed", "servers", text, first.place, before[was].place, was)


def _same_servers(old: d.Spec, new: d.Spec, fields: Fields) -> Iterator[Finding]:
    known = {server.name: server for server in old.servers}
    for server in new.servers:
        was, node = known.get(server.name), f"servers.{server.name}"
        if was is None:
            continue
        if was.url != server.url:
            text = f"{was.url} → {server.url}"
            yield Finding("url-prefix-changed", node, text, server.place, was.place, was.url)
        variables = [[_from_env(field) for field in one.variables] for one in (was, server)]
        for change in (*fields.rows(VARIABLE, variables[0], variables[1]), *described(was, server, "", None, None)):
            yield found_at(change, node, was.place, server.place)


def _client_arguments(old: d.Spec, new: d.Spec, fields: Fields) -> Iterator[Finding]:
    before, now = (
        {field.name: ("the query", field) for field in spec.search_params}
        | {header.field.name: ("a header", header.field) for header in spec.header_params}
        for spec in (old, new)
    )
    for name in before.keys() & now.keys():
        (was, field), (is_now, other) = before[name], now[name]
        if was != is_now:
            before[name] = was, dataclasses.replace(field, wire=other.wire)
            yield Finding("argument-wire-changed", name, f"{was} → {is_now}", other.place, field.place, was)
    rows = [[_from_env(field) for _, field in side.values()] for side in (before, now)]
    for change in fields.rows(CLIENT, rows[0], rows[1]):
        yield found_at(change, "", old.place, new.place)


def _from_env(field: d.Field) -> d.Field:
    """An argument that may be left out where a variable of the environment has it."""
    if field.env is None or isinstance(field.type, d.Optional):
        return field
    return dataclasses.replace(field, type=d.Optional(field.type))


def _text(value: object) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
