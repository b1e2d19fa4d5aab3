"""The table of all rules for changes: their effect on callers, in requests and responses (wire), and in caches.

A column has a letter of `SEVERITIES`, or `–` for no effect:

* **callers**: code written for the old package. `B`: it no longer type-checks, or raises.
* **wire**: requests and responses with the same server. `B`: one side misunderstands the other.
* **cache**: data that the old package stored (persisted, shared, in keys). `B`: it is misread, or merged wrongly;
  `R`: it is not found, so it is fetched again.

`R` elsewhere: different behavior; `A`: something new; `D`: only documentation.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias, get_args

Severity: TypeAlias = Literal["B", "R", "A", "D", "–"]
Column: TypeAlias = Literal["callers", "wire", "cache"]
Class: TypeAlias = Literal["breaking", "risky", "additive", "documentation"]

SEVERITIES: Final[tuple[Severity, ...]] = get_args(Severity)
"""The severities, worst first."""
COLUMNS: Final[tuple[Column, ...]] = get_args(Column)
CLASSES: Final[Mapping[Class, Severity]] = {"breaking": "B", "risky": "R", "additive": "A", "documentation": "D"}


@dataclasses.dataclass(frozen=True, slots=True)
class Rule:
    """The severities of a kind of change in each column, and its description."""

    callers: Severity
    wire: Severity
    cache: Severity
    help: str

    def worst(self, columns: tuple[Column, ...] = COLUMNS) -> Severity:
        """Return the worst severity among some columns."""
        found = {self.of(column) for column in columns}
        return next(severity for severity in SEVERITIES if severity in found or severity == "–")

    def of(self, column: Column) -> Severity:
        """Return the severity in a column."""
        severity: Severity = getattr(self, column)
        return severity


# fmt: off
RULES: Final[Mapping[str, Rule]] = {
    # The package, its client, authentication and servers
    "package-renamed": Rule("B", "–", "–", "The package is renamed."),
    "client-renamed": Rule("B", "–", "–", "The classes of the client are renamed."),
    "resource-class-renamed": Rule("B", "–", "–", "The class of a resource is renamed."),
    "server-removed": Rule("B", "–", "–", "A server is removed."),
    "server-variable-required": Rule("B", "–", "–", "A variable of a server is required."),
    "client-argument-removed": Rule("B", "R", "–", "An argument of the client is removed."),
    "client-argument-required": Rule("B", "R", "–", "An argument of the client is required."),
    "client-argument-type-changed": Rule("B", "R", "–", "An argument of the client has a different type."),
    "auth-scheme-removed": Rule("B", "B", "–", "An authentication scheme is removed."),
    "auth-scheme-changed": Rule("–", "B", "–", "A credential is sent in a different way."),
    "auth-env-changed": Rule("R", "R", "–", "A credential is read from a different environment variable."),
    "auth-use-changed": Rule("R", "R", "–", "Requests are sent with different credentials."),
    "client-argument-added": Rule("A", "–", "–", "The client has an additional argument."),
    "server-added": Rule("A", "–", "–", "A server is added."),
    "auth-scheme-added": Rule("A", "–", "–", "An authentication scheme is added."),
    "resource-added": Rule("A", "–", "–", "A resource is added."),
    "endpoint-added": Rule("A", "–", "–", "An endpoint is added to a resource."),
    "list-member-added": Rule("A", "–", "–", "An operation is added to a list."),
    "type-added": Rule("A", "–", "–", "An entity, object, enum or constant is added."),
    "url-prefix-changed": Rule("–", "R", "R", "Requests are sent to a different URL."),
    "server-default-changed": Rule("–", "R", "R", "The default server of requests is different."),
    # Resources and endpoints
    "resource-removed": Rule("B", "–", "–", "A resource is removed."),
    "endpoint-removed": Rule("B", "–", "–", "An endpoint is removed."),
    "list-member-removed": Rule("B", "–", "–", "An operation of a list (push, get_page, move, …) is removed."),
    "resource-renamed": Rule("B", "–", "–", "A resource with the same paths is renamed."),
    "endpoint-renamed": Rule("B", "–", "–", "An endpoint with the same method and path is renamed."),
    "method-changed": Rule("–", "B", "R", "An endpoint has a different method."),
    "path-changed": Rule("–", "B", "R", "The literal part of a path is different."),
    "argument-wire-changed": Rule("–", "B", "R", "An argument is sent with a different name, or in a different place."),
    "argument-style-changed": Rule("–", "B", "R", "An argument is serialized in a different way."),
    "path-parameters-changed": Rule("B", "B", "R", "A path has different parameters."),
    "argument-type-changed": Rule("B", "B", "R", "An argument has a different type."),
    "path-parameter-renamed": Rule("B", "–", "R", "A parameter of a path is renamed."),
    "argument-removed": Rule("B", "R", "R", "An argument is removed."),
    "pagination-field-changed": Rule("B", "R", "R", "Pages are requested with a different argument."),
    "argument-required": Rule("B", "–", "–", "An argument is required."),
    "argument-type-narrowed": Rule("B", "–", "–", "An argument accepts fewer values."),
    "body-required": Rule("B", "–", "–", "A body is required."),
    "body-member-required": Rule("B", "–", "–", "A member of a body is required."),
    "argument-added": Rule("A", "–", "–", "An argument is added."),
    "argument-optional": Rule("A", "–", "–", "An argument is optional."),
    "argument-type-widened": Rule("A", "–", "–", "An argument accepts more values."),
    "body-optional": Rule("A", "–", "–", "A body is optional."),
    "body-member-added": Rule("A", "–", "–", "A member is added to a body."),
    "body-member-optional": Rule("A", "–", "–", "A member of a body is optional."),
    "argument-default-changed": Rule("R", "R", "R", "An argument has a different default."),
    "hook-changed": Rule("R", "R", "R", "Different hand-written code is called."),
    "argument-left-key": Rule("–", "–", "B", "An argument leaves the cache key: its values share a response."),
    "argument-joined-key": Rule("–", "–", "R", "An argument joins the cache key: each value has its own response."),
    "identity-arguments-changed": Rule("–", "–", "R", "Lists are distinguished by different arguments."),
    "index-removed": Rule("–", "–", "R", "An index on a field is removed."),
    "index-added": Rule("–", "–", "R", "An index on a field is added."),
    "persist-changed": Rule("–", "–", "R", "Different responses are kept in storages."),
    "body-added": Rule("B", "B", "–", "An endpoint has a body."),
    "body-removed": Rule("B", "B", "–", "An endpoint no longer has a body."),
    "body-member-type-changed": Rule("B", "B", "–", "A body, or a member of it, has a different type."),
    "body-member-removed": Rule("B", "R", "–", "A member of a body is removed."),
    "field-read-only": Rule("B", "R", "–", "A field is no longer part of bodies."),
    "field-write-only": Rule("B", "R", "–", "A field is only part of bodies, and no longer an attribute."),
    "body-format-changed": Rule("–", "B", "–", "A body is sent in a different format."),
    "envelope-changed": Rule("–", "B", "–", "The value is at a different position in responses."),
    "result-changed": Rule("B", "–", "B", "An endpoint has a different schema."),
    "result-member-type-changed": Rule("B", "–", "B", "A member of a result has a different type."),
    "collection-changed": Rule("B", "–", "B", "A list becomes a mapping, or is stored in a different way."),
    "result-optional": Rule("B", "–", "–", "A result, or a member of it, may be missing, or have more types."),
    "result-member-removed": Rule("B", "–", "–", "A member of a result is removed."),
    "error-type-removed": Rule("B", "–", "–", "Errors with a status no longer have a declared body."),
    "error-type-changed": Rule("B", "–", "–", "Errors with a status have a different body."),
    "result-certain": Rule("A", "–", "–", "A result, or a member of it, is never missing, or has fewer types."),
    "result-member-added": Rule("A", "–", "–", "A member is added to a result."),
    "error-type-added": Rule("A", "–", "–", "Errors with a status have a declared body."),
    "content-changed": Rule("B", "–", "R", "Responses have a different kind of content."),
    "side-effect-changed": Rule("B", "–", "R", "A read becomes a mutation, or the reverse."),
    "pagination-changed": Rule("–", "R", "–", "The next page is found in a different way."),
    "headers-changed": Rule("–", "R", "–", "Different static headers are sent or read."),
    "user-agent-changed": Rule("–", "R", "–", "The client sends a different User-Agent."),
    "freshness-changed": Rule("R", "–", "R", "Responses become stale at a different time."),
    "answers-changed": Rule("R", "–", "R", "Responses are validated or completed in a different way."),
    "optimistic-changed": Rule("R", "–", "–", "The optimistic response is different."),
    "concurrency-changed": Rule("R", "–", "–", "Concurrent updates are detected in a different way."),
    "error-policy-changed": Rule("R", "–", "–", "Errors have a different effect on cached data."),
    "patience-changed": Rule("R", "–", "–", "Calls have a different timeout or different retries."),
    # Entities, objects, enums
    "type-removed": Rule("B", "–", "–", "An entity, object or enum is removed."),
    "type-renamed": Rule("B", "–", "–", "An entity, object or enum in the same position is renamed."),
    "extends-changed": Rule("B", "–", "–", "An entity extends a different one."),
    "abstract-changed": Rule("B", "–", "–", "An entity becomes abstract, or the reverse."),
    "table-renamed": Rule("–", "–", "B", "An entity is stored in a different table."),
    "pk-changed": Rule("R", "–", "B", "An entity has a different primary key."),
    "field-removed": Rule("B", "–", "–", "A field is removed."),
    "field-renamed": Rule("B", "–", "–", "A field is renamed in Python."),
    "field-optional": Rule("B", "–", "–", "A field may be null or absent."),
    "enum-value-removed": Rule("B", "–", "–", "A value of an enum is removed."),
    "enum-constant-changed": Rule("B", "–", "–", "The constant of a value is renamed or removed."),
    "field-added": Rule("A", "–", "–", "A field is added."),
    "field-certain": Rule("A", "–", "–", "A field is never null or absent."),
    "field-writable": Rule("A", "–", "–", "A field can be part of bodies."),
    "field-added-without-default": Rule("R", "–", "R", "A field without a default is added, which older records lack."),
    "field-wire-changed": Rule("–", "B", "B", "A field has a different name in JSON."),
    "field-format-changed": Rule("–", "B", "B", "A field has a different format in JSON."),
    "union-attribute-changed": Rule("–", "B", "B", "The members of a union are distinguished in a different way."),
    "field-type-changed": Rule("B", "B", "B", "A field has a different type."),
    "field-default-changed": Rule("R", "–", "–", "A missing field has a different value."),
    "enum-value-added": Rule("R", "–", "–", "A value of an enum is added."),
    "union-alternative-added": Rule("R", "–", "–", "An alternative of a union is added."),
    "union-alternative-removed": Rule("B", "–", "R", "An alternative of a union is removed."),
    "deprecated-added": Rule("D", "–", "–", "Something is deprecated."),
    "deprecated-removed": Rule("D", "–", "–", "Something is no longer deprecated."),
    "description-changed": Rule("D", "–", "–", "A description is different."),
    "example-changed": Rule("D", "–", "–", "An example is different."),
}
# fmt: on
"""The rule of each kind of change."""
