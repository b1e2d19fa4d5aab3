"""Advice about names, servers and headers: secrets in the clear, and headers that make keys useless."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Final

from restencil_generator.diagnostics.model import Place, Problem, quoted
from restencil_generator.lint.common import advice
from restencil_generator.spec import model as d

_SECRET_WORDS: Final = ("token", "secret", "password", "api-key", "apikey", "credential")
_SECRET_PARAMS: Final = ("token", "secret", "password", "key")
_CALL_WORDS: Final = ("request-id", "requestid", "correlation-id", "trace", "idempotency")
_LOCAL: Final = ("http://localhost", "http://127.", "http://[::1]", "http://0.0.0.0")


def check_names(spec: d.Spec) -> Iterator[Problem]:
    """Advice about the name of the package, addresses without encryption, and headers that look like secrets."""
    if spec.package in sys.stdlib_module_names:
        yield advice(
            "stdlib-package",
            f"the package {quoted(spec.package)} hides the module of Python's standard library",
            spec.place,
            "choose another name",
        )
    yield from _token_urls(spec)
    levels: list[tuple[d.Spec | d.Resource, str]] = [(spec, "the spec")]
    levels += [(resource, f"resource {quoted(resource.name)}") for resource in spec.resources.values()]
    known: set[str] = set()
    for level, what in levels:
        prefix = level.url_prefix
        if (
            spec.auth is not None
            and prefix.startswith("http://")
            and not prefix.startswith(_LOCAL)
            and prefix not in known
        ):
            known.add(prefix)
            message = f"the secret of {what} travels in the clear: {prefix}"
            yield advice("plain-http", message, level.url_place, "use https")
        for name in level.headers:
            if any(word in name.lower() for word in _SECRET_WORDS) and name not in known:
                known.add(name)
                yield advice(
                    "secret-looking",
                    f"the header {quoted(name)} of {what} looks like a secret, which never stands in a spec",
                    level.place,
                    "use 'auth:'",
                )


def _token_urls(spec: d.Spec) -> Iterator[Problem]:
    for scheme in () if spec.auth is None else spec.auth.schemes:
        if scheme.oauth2 is not None and scheme.oauth2.token_url.startswith("http://"):
            message = f"the secrets of scheme {quoted(scheme.name)} travel in the clear: {scheme.oauth2.token_url}"
            yield advice("plain-http", message, scheme.oauth2.url_place, "use https, unless all clients run there")


def check_header_params(spec: d.Spec) -> Iterator[Problem]:
    """Header parameters that look like secrets, that make keys useless, or that have a store of their own unasked."""
    told: set[Place] = set()
    every = [(param, "the spec") for param in spec.header_params if param.auto is None]
    for resource in spec.resources.values():
        for name, endpoint in resource.all_endpoints():
            what = f"{quoted(name)} of resource {quoted(resource.name)}"
            for param in endpoint.header_params:
                reads = not endpoint.side_effect
                if param.in_key and reads and _tells_calls_apart(param.field.wire) and param.field.place not in told:
                    told.add(param.field.place)
                    yield advice(
                        "header-in-key",
                        f"the header parameter {quoted(param.field.name)} of {what} is part of the key, though each "
                        "call may have another: nothing that is cached would be found again",
                        param.field.place,
                        "write 'in_key: false'",
                    )
                every.append((param, what))
    seen: set[Place] = set()
    for param, what in every:
        if param.field.place in seen:
            continue
        seen.add(param.field.place)
        wire = param.field.wire.lower()
        if not param.secret and param.auto is None and any(word in wire for word in _SECRET_PARAMS):
            yield advice(
                "secret-looking",
                f"the header parameter {quoted(param.field.name)} of {what} looks like a secret",
                param.field.place,
                "write 'secret: true', or use 'auth:'",
            )
        if param.partition and not param.partition_written:
            yield advice(
                "header-partitions",
                f"the header parameter {quoted(param.field.name)} of {what} has a store of its own for each value, "
                "as its name is that of one which changes what entities say",
                param.field.place,
                "write 'partition: true' if so, else 'partition: false'",
            )


def _tells_calls_apart(wire: str) -> bool:
    """Whether a header is another one in each call: a condition, or the id of a request."""
    lower = wire.lower()
    return lower.startswith("if-") or any(word in lower for word in _CALL_WORDS)
