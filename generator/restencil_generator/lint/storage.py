"""Advice about storages: what they leave out because of its name, and answers that may be credentials."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from restencil_generator.diagnostics.model import Problem, quoted
from restencil_generator.spec import model as d

SECRETS: Final = frozenset(
    (
        *("accesstoken", "apikey", "auth", "authorization", "clientsecret", "cookie", "credential", "credentials"),
        *("idtoken", "passwd", "password", "privatekey", "refreshtoken", "secret", "sessiontoken", "sig"),
        *("signature", "token"),
    )
)
"""Names of what the runtime keeps out of storages, in lower case without `-` and `_`."""

_CREDENTIALS: Final = frozenset({"auth", "login", "oauth", "token", "tokens"})
_WORD: Final = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+")


def check_storage(spec: d.Spec) -> Iterator[Problem]:
    """What a storage would not keep, or had better not keep, where the spec does not say `persist`."""
    secrets = SECRETS | {_plain(scheme.parameter) for scheme in _schemes(spec) if scheme.kind == "query"}
    for entity in spec.entities.values():
        if _is_kept(spec, entity):
            yield from _entity(entity, secrets)
    for one in spec.objects.values():
        yield from _fields(f"object {quoted(one.name)}", _secret_in(one.fields, secrets))
    for resource in spec.resources.values():
        yield from _answers(resource)


def _schemes(spec: d.Spec) -> Iterable[d.Scheme]:
    return () if spec.auth is None else spec.auth.schemes


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")


def _is_kept(spec: d.Spec, entity: d.Entity) -> bool:
    while entity.persist is None and entity.extends is not None:
        entity = spec.entities[entity.extends]
    return entity.persist is not False


def _secret_in(fields: Iterable[d.Field], secrets: frozenset[str]) -> list[d.Field]:
    return [
        field
        for field in fields
        if field.persist is None
        and not field.write_only
        and not secrets.isdisjoint(map(_plain, (field.wire, field.python)))
    ]


def _entity(entity: d.Entity, secrets: frozenset[str]) -> Iterator[Problem]:
    found = _secret_in(entity.fields, secrets)
    keys = [field for field in found if field.name in entity.pk]
    for field in keys:
        yield _advice(
            "secret-not-stored",
            f"the pk {quoted(field.name)} of entity {quoted(entity.name)} has the name of a secret, so no storage "
            "keeps these entities",
            field,
        )
    yield from _fields(f"entity {quoted(entity.name)}", [field for field in found if field not in keys])


def _fields(what: str, fields: Iterable[d.Field]) -> Iterator[Problem]:
    for field in fields:
        yield _advice(
            "secret-not-stored",
            f"the field {quoted(field.name)} of {what} has the name of a secret, so no storage keeps it, and what "
            "lacks it there is fetched anew",
            field,
        )


def _advice(code: str, message: str, field: d.Field) -> Problem:
    hint = "write 'persist: true' on the field if it is none, else 'persist: false'"
    return Problem(code, message, field.place, hint, (), "warning")


def _answers(resource: d.Resource) -> Iterator[Problem]:
    """Endpoints whose path or name says that they answer with credentials; of a path of several members once."""
    told: set[str] = set()
    for name, endpoint in resource.all_endpoints():
        path = endpoint.path.text
        if endpoint.options.persist is not None or endpoint.method in ("DELETE", "HEAD") or path in told:
            continue
        words = {word.lower() for text in (path, name) for word in _WORD.findall(text)}
        if words & _CREDENTIALS and (endpoint.schema is not None or endpoint.content in (None, "json")):
            told.add(path)
            yield Problem(
                "stored-credential",
                f"{quoted(name)} of resource {quoted(resource.name)} seems to answer with a credential, which a "
                "storage would keep",
                endpoint.place,
                "write 'options: {persist: false}' if so, else 'options: {persist: true}'",
                (),
                "warning",
            )
