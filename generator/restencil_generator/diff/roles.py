"""Roles of fields, which determine the rules for their changes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Final


@dataclasses.dataclass(frozen=True, slots=True)
class Role:
    """The rules for changes of a field in a role.

    Results may become narrower, arguments may become wider. `needed` and `free` are for requests: a value becomes
    required or optional. For responses `optional` and `certain` are used if `?` is added or removed.
    """

    changed: str
    narrower: str
    wider: str
    optional: str
    certain: str
    added: str
    removed: str
    wire: str
    default: str
    format: str
    needed: str = ""
    free: str = ""


FIELD: Final = Role(
    changed="field-type-changed",
    narrower="field-type-changed",
    wider="field-type-changed",
    optional="field-optional",
    certain="field-certain",
    added="field-added",
    removed="field-removed",
    wire="field-wire-changed",
    default="field-default-changed",
    format="field-format-changed",
)
MEMBER: Final = Role(
    changed="result-member-type-changed",
    narrower="result-certain",
    wider="result-optional",
    optional="result-optional",
    certain="result-certain",
    added="result-member-added",
    removed="result-member-removed",
    wire="field-wire-changed",
    default="field-default-changed",
    format="field-format-changed",
)
RESULT: Final = dataclasses.replace(MEMBER, changed="result-changed")
ARGUMENT: Final = Role(
    changed="argument-type-changed",
    narrower="argument-type-narrowed",
    wider="argument-type-widened",
    optional="argument-type-widened",
    certain="argument-type-narrowed",
    added="argument-added",
    removed="argument-removed",
    wire="argument-wire-changed",
    default="argument-default-changed",
    format="argument-style-changed",
    needed="argument-required",
    free="argument-optional",
)
BODY: Final = dataclasses.replace(
    ARGUMENT,
    changed="body-member-type-changed",
    added="body-member-added",
    removed="body-member-removed",
    needed="body-member-required",
    free="body-member-optional",
)
CLIENT: Final = dataclasses.replace(
    ARGUMENT,
    changed="client-argument-type-changed",
    narrower="client-argument-type-changed",
    certain="client-argument-type-changed",
    added="client-argument-added",
    removed="client-argument-removed",
    needed="client-argument-required",
)
VARIABLE: Final = dataclasses.replace(CLIENT, needed="server-variable-required")

INSIDE: Final[Mapping[Role, Role]] = {RESULT: MEMBER, ARGUMENT: BODY, CLIENT: BODY, VARIABLE: BODY}
"""The role of the members of an object within a field with a role."""
