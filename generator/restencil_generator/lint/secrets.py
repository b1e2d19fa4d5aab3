"""Warnings about secrets: sent unencrypted, written in a spec, or kept in a storage."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from restencil_generator.diagnostics.model import Place, quoted
from restencil_generator.lint.common import Finding, operations
from restencil_generator.lint.headers import header_params
from restencil_generator.spec import model as d
from restencil_generator.spec.type_info import records_within, response_entities

SECRETS: Final = frozenset(
    (
        *("accesstoken", "apikey", "auth", "authorization", "clientsecret", "cookie", "credential", "credentials"),
        *("idtoken", "passwd", "password", "privatekey", "refreshtoken", "secret", "sessiontoken", "sig"),
        *("signature", "token"),
    )
)
"""Names of fields that the runtime keeps out of storages, in lower case without `-` and `_`."""

_HEADER_WORDS: Final = ("token", "secret", "password", "api-key", "apikey", "credential")
_PARAM_WORDS: Final = ("token", "secret", "password", "key")
_LOCAL: Final = ("http://localhost", "http://127.", "http://[::1]", "http://0.0.0.0")
_CREDENTIALS: Final = frozenset({"auth", "login", "oauth", "token", "tokens"})
_WORD: Final = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+")


def _levels(spec: d.Spec) -> Iterator[tuple[d.Spec | d.Resource, str]]:
    yield spec, "the spec"
    for resource in spec.resources.values():
        yield resource, f"resource {quoted(resource.name)}"


def find_plain_http(spec: d.Spec) -> Iterator[Finding]:
    """Find secrets that are sent without encryption."""
    if spec.auth is None:
        return
    for scheme in spec.auth.schemes:
        if scheme.oauth2 is not None and scheme.oauth2.token_url.startswith("http://"):
            message = f"the secrets of scheme {quoted(scheme.name)} are sent unencrypted: {scheme.oauth2.token_url}"
            yield Finding(message, scheme.oauth2.url_place, "use https, unless all clients run on this machine")
    reported: set[str] = set()
    for level, what in _levels(spec):
        prefix = level.url_prefix
        if prefix.startswith("http://") and not prefix.startswith(_LOCAL) and prefix not in reported:
            reported.add(prefix)
            yield Finding(f"the secret of {what} is sent unencrypted: {prefix}", level.url_place, "use https")


def find_secret_looking(spec: d.Spec) -> Iterator[Finding]:
    """Find headers that look like secrets: static ones, and parameters without `secret`."""
    reported: set[str | Place] = set()
    for level, what in _levels(spec):
        for name in level.headers:
            if any(word in name.lower() for word in _HEADER_WORDS) and name not in reported:
                reported.add(name)
                message = (
                    f"the header {quoted(name)} of {what} looks like a secret, which must not be written in a spec"
                )
                yield Finding(message, level.place, "use 'auth:'")
    for param, what in header_params(spec):
        place = param.field.place
        if place in reported or param.secret or param.auto is not None:
            continue
        if any(word in param.field.wire.lower() for word in _PARAM_WORDS):
            reported.add(place)
            message = f"the header parameter {quoted(param.field.name)} of {what} looks like a secret"
            yield Finding(message, place, "write 'secret: true', or use 'auth:'")


def find_secrets_not_stored(spec: d.Spec) -> Iterator[Finding]:
    """Find fields with the name of a secret and without `persist`, which storages do not keep."""
    schemes = () if spec.auth is None else spec.auth.schemes
    secrets = SECRETS | {_plain(scheme.parameter) for scheme in schemes if scheme.kind == "query"}
    hint = "write 'persist: true' on the field if it is not a secret, else 'persist: false'"
    owners: list[tuple[str, d.Entity | d.Object]] = [
        (f"entity {quoted(entity.name)}", entity) for entity in spec.entities.values() if _is_kept(spec, entity)
    ]
    stored = _stored_objects(spec)
    owners += [(f"object {quoted(one.name)}", one) for one in spec.objects.values() if one.name in stored]
    for what, owner in owners:
        for field in _secret_in(owner.fields, secrets):
            if isinstance(owner, d.Entity) and field.name in owner.pk:
                message = (
                    f"the pk {quoted(field.name)} of {what} has the name of a secret, so storages do not keep these "
                )
                yield Finding(f"{message}entities", field.place, hint)
            else:
                message = (
                    f"the field {quoted(field.name)} of {what} has the name of a secret, so storages do not keep it, "
                )
                yield Finding(f"{message}and records without it are fetched again", field.place, hint)


def _stored_objects(spec: d.Spec) -> set[str]:
    """Return the names of the objects in records and in responses of reads; a storage has no others."""
    types = [field.type for entity in spec.entities.values() for field in entity.fields]
    endpoints = (operation.endpoint for operation in operations(spec))
    types += [each.schema for each in endpoints if each.schema is not None and not each.side_effect]
    return set(records_within(spec, types)[0])


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")


def _is_kept(spec: d.Spec, entity: d.Entity) -> bool:
    while entity.persist is None and entity.extends is not None:
        entity = spec.entities[entity.extends]
    return entity.persist is not False


def _secret_in(fields: Iterable[d.Field], secrets: frozenset[str]) -> Iterator[d.Field]:
    for field in fields:
        names = {_plain(field.wire), _plain(field.python)}
        if field.persist is None and not field.write_only and not secrets.isdisjoint(names):
            yield field


def find_stored_credentials(spec: d.Spec) -> Iterator[Finding]:
    """Find endpoints that probably respond with credentials, by path or name; one per path."""
    reported: set[tuple[str, str]] = set()
    for operation in operations(spec):
        endpoint = operation.endpoint
        key = operation.resource.name, endpoint.path.text
        if endpoint.options.persist is not None or endpoint.method in ("DELETE", "HEAD") or key in reported:
            continue
        words = {word.lower() for text in (endpoint.path.text, operation.name) for word in _WORD.findall(text)}
        if endpoint.side_effect and not response_entities(spec, endpoint):
            continue  # of the response to a change, only records are stored
        if words & _CREDENTIALS and (endpoint.schema is not None or endpoint.content in (None, "json")):
            reported.add(key)
            yield Finding(
                f"{operation} seems to return a credential, which a storage would keep",
                endpoint.place,
                "write 'options: {persist: false}' if so, else 'options: {persist: true}'",
            )
