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
    "package-renamed": Rule("B", "–", "–", "The package has another name."),
    "client-renamed": Rule("B", "–", "–", "The classes of the client have another name."),
    "resource-class-renamed": Rule("B", "–", "–", "The class of a resource has another name."),
    "server-removed": Rule("B", "–", "–", "A server is gone."),
    "server-variable-required": Rule("B", "–", "–", "A variable of a server must be given."),
    "client-argument-removed": Rule("B", "R", "–", "An argument of the client is gone."),
    "client-argument-required": Rule("B", "R", "–", "An argument of the client must be given."),
    "client-argument-type-changed": Rule("B", "R", "–", "An argument of the client has another type."),
    "auth-scheme-removed": Rule("B", "B", "–", "A scheme of authentication is gone."),
    "auth-scheme-changed": Rule("–", "B", "–", "A credential is sent in another way."),
    "auth-env-changed": Rule("R", "R", "–", "A credential is read from another environment variable."),
    "auth-use-changed": Rule("R", "R", "–", "Requests are sent with other credentials."),
    "client-argument-added": Rule("A", "–", "–", "The client takes one more argument."),
    "server-added": Rule("A", "–", "–", "There is one more server."),
    "auth-scheme-added": Rule("A", "–", "–", "There is one more scheme of authentication."),
    "resource-added": Rule("A", "–", "–", "There is one more resource."),
    "endpoint-added": Rule("A", "–", "–", "A resource has one more endpoint."),
    "list-member-added": Rule("A", "–", "–", "A list has one more member."),
    "type-added": Rule("A", "–", "–", "There is one more entity, object, enum or constant."),
    "url-prefix-changed": Rule("–", "R", "R", "Requests go to another address."),
    "server-default-changed": Rule("–", "R", "R", "Requests go to another server unless the client names one."),
    # Resources and endpoints
    "resource-removed": Rule("B", "–", "–", "A resource is gone."),
    "endpoint-removed": Rule("B", "–", "–", "An endpoint is gone."),
    "list-member-removed": Rule("B", "–", "–", "What hangs on a list (push, get_page, move, …) is gone."),
    "resource-renamed": Rule("B", "–", "–", "A resource has another name for the same paths."),
    "endpoint-renamed": Rule("B", "–", "–", "An endpoint has another name for the same method and path."),
    "method-changed": Rule("–", "B", "R", "An endpoint has another method."),
    "path-changed": Rule("–", "B", "R", "The literal text of a path is another."),
    "argument-wire-changed": Rule("–", "B", "R", "An argument is sent under another name, or elsewhere."),
    "argument-style-changed": Rule("–", "B", "R", "An argument is written in another way."),
    "path-parameters-changed": Rule("B", "B", "R", "A path has other parameters."),
    "argument-type-changed": Rule("B", "B", "R", "An argument has another type."),
    "path-parameter-renamed": Rule("B", "–", "R", "A parameter of a path has another name."),
    "argument-removed": Rule("B", "R", "R", "An argument is gone."),
    "pagination-field-changed": Rule("B", "R", "R", "Pages are asked for by another argument."),
    "argument-required": Rule("B", "–", "–", "An argument must be given."),
    "argument-type-narrowed": Rule("B", "–", "–", "An argument takes fewer values."),
    "body-required": Rule("B", "–", "–", "A body must be given."),
    "body-member-required": Rule("B", "–", "–", "A member of a body must be given."),
    "argument-added": Rule("A", "–", "–", "There is one more argument."),
    "argument-optional": Rule("A", "–", "–", "An argument may be left out."),
    "argument-type-widened": Rule("A", "–", "–", "An argument takes more values."),
    "body-optional": Rule("A", "–", "–", "A body may be left out."),
    "body-member-added": Rule("A", "–", "–", "A body may hold one more member."),
    "body-member-optional": Rule("A", "–", "–", "A member of a body may be left out."),
    "argument-default-changed": Rule("R", "R", "R", "An argument that is left out is another value."),
    "hook-changed": Rule("R", "R", "R", "Other hand-written code is called."),
    "argument-left-key": Rule("–", "–", "B", "Other values of an argument share an answer now."),
    "argument-joined-key": Rule("–", "–", "R", "Values of an argument have answers of their own now."),
    "identity-arguments-changed": Rule("–", "–", "R", "Other arguments tell lists apart."),
    "index-removed": Rule("–", "–", "R", "Entities are no longer found by a field."),
    "index-added": Rule("–", "–", "R", "Entities are found by one more field."),
    "persist-changed": Rule("–", "–", "R", "Other answers outlive the process."),
    "body-added": Rule("B", "B", "–", "An endpoint takes a body now."),
    "body-removed": Rule("B", "B", "–", "An endpoint takes no body any more."),
    "body-member-type-changed": Rule("B", "B", "–", "A body, or a member of it, has another type."),
    "body-member-removed": Rule("B", "R", "–", "A member of a body is gone."),
    "field-read-only": Rule("B", "R", "–", "Bodies no longer hold a field."),
    "field-write-only": Rule("B", "R", "–", "A field is no attribute any more."),
    "body-format-changed": Rule("–", "B", "–", "A body is sent in another format."),
    "envelope-changed": Rule("–", "B", "–", "Answers are looked for at another place."),
    "result-changed": Rule("B", "–", "B", "An endpoint has another schema."),
    "result-member-type-changed": Rule("B", "–", "B", "A member of a result has another type."),
    "collection-changed": Rule("B", "–", "B", "A list became a mapping, or is kept another way."),
    "result-optional": Rule("B", "–", "–", "A result, or a member of it, may be lacking, or be more."),
    "result-member-removed": Rule("B", "–", "–", "A member of a result is gone."),
    "error-type-removed": Rule("B", "–", "–", "Errors of a status have no declared data any more."),
    "error-type-changed": Rule("B", "–", "–", "Errors of a status have other data."),
    "result-certain": Rule("A", "–", "–", "A result, or a member of it, is never lacking, or is fewer things."),
    "result-member-added": Rule("A", "–", "–", "A result has one more member."),
    "error-type-added": Rule("A", "–", "–", "Errors of a status have declared data."),
    "content-changed": Rule("B", "–", "R", "Answers are another kind of content."),
    "side-effect-changed": Rule("B", "–", "R", "A read became a mutation, or the reverse."),
    "pagination-changed": Rule("–", "R", "–", "The next page is found another way."),
    "headers-changed": Rule("–", "R", "–", "Other static headers are sent, or read."),
    "user-agent-changed": Rule("–", "R", "–", "The client calls itself another name."),
    "freshness-changed": Rule("R", "–", "R", "Answers turn stale at another time."),
    "answers-changed": Rule("R", "–", "R", "Answers are checked, or filled in, another way."),
    "optimistic-changed": Rule("R", "–", "–", "What is shown before an answer comes is another thing."),
    "concurrency-changed": Rule("R", "–", "–", "Concurrent updates are detected another way."),
    "error-policy-changed": Rule("R", "–", "–", "Another thing is shown after an error."),
    "patience-changed": Rule("R", "–", "–", "Calls wait, or are repeated, another time."),
    # Entities, objects, enums
    "type-removed": Rule("B", "–", "–", "An entity, object or enum is gone."),
    "type-renamed": Rule("B", "–", "–", "An entity, object or enum has another name in the same place."),
    "extends-changed": Rule("B", "–", "–", "An entity extends another one."),
    "abstract-changed": Rule("B", "–", "–", "An entity became abstract, or the reverse."),
    "table-renamed": Rule("–", "–", "B", "An entity is kept in another table."),
    "pk-changed": Rule("R", "–", "B", "An entity has another primary key."),
    "field-removed": Rule("B", "–", "–", "A field is gone."),
    "field-renamed": Rule("B", "–", "–", "A field has another name in Python."),
    "field-optional": Rule("B", "–", "–", "A field may be null or absent."),
    "enum-value-removed": Rule("B", "–", "–", "An enum has one value less."),
    "enum-constant-changed": Rule("B", "–", "–", "The constant of a value has another name, or is gone."),
    "field-added": Rule("A", "–", "–", "There is one more field."),
    "field-certain": Rule("A", "–", "–", "A field is never null or absent."),
    "field-writable": Rule("A", "–", "–", "Bodies may hold a field."),
    "field-added-without-default": Rule("R", "–", "R", "There is one more field, which older records lack."),
    "field-wire-changed": Rule("–", "B", "B", "A field has another name in JSON."),
    "field-format-changed": Rule("–", "B", "B", "A field is written another way."),
    "union-attribute-changed": Rule("–", "B", "B", "The members of a union are distinguished another way."),
    "field-type-changed": Rule("B", "B", "B", "A field has another type."),
    "field-default-changed": Rule("R", "–", "–", "A field that is lacking reads as another value."),
    "enum-value-added": Rule("R", "–", "–", "An enum has one more value."),
    "union-alternative-added": Rule("R", "–", "–", "A union has one more alternative."),
    "union-alternative-removed": Rule("B", "–", "R", "A union has one alternative less."),
    "deprecated-added": Rule("D", "–", "–", "Something is deprecated."),
    "deprecated-removed": Rule("D", "–", "–", "Something is no longer deprecated."),
    "description-changed": Rule("D", "–", "–", "A description is another."),
    "example-changed": Rule("D", "–", "–", "An example is another."),
}
# fmt: on
"""The rule of each kind of change."""
