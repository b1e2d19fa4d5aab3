"""Classification of operations by the verbs of their texts: what a DELETE does, and whether a GET changes something."""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

from restencil_generator.openapi.document.model import Operation
from restencil_generator.openapi.infer.names.inflection import snake_case

Effect: TypeAlias = Literal["deletes", "detaches", "ends"]

VERBS: Final[dict[str, Effect]] = {
    **dict.fromkeys(("delete", "destroy", "erase", "purge", "permanently"), "deletes"),
    **dict.fromkeys(("remove", "unassign", "detach", "unlink", "disassociate", "dissociate", "unban"), "detaches"),
    **dict.fromkeys(
        ("abort", "archive", "cancel", "close", "deactivate", "decline", "disable", "end", "hide", "leave", "mark",
         "reject", "revoke", "soft", "stop", "suspend", "trash", "unsubscribe", "withdraw"),
        "ends",
    ),
}  # fmt: skip
"""The effect of a DELETE by its first verb: the record is deleted, detached from its parent, or it may still exist."""

CHANGES: Final = (
    "add", "append", "assign", "cancel", "clear", "clone", "create", "delete", "disable", "edit", "enable", "insert",
    "invite", "logout", "modify", "move", "patch", "publish", "reject", "remove", "replace", "reset",
    "restart", "restore", "revoke", "save", "send", "set", "submit", "unassign", "update", "upload",
    "upsert",
)  # fmt: skip
"""Verbs of operations that change something."""

_CHANGE: Final = re.compile(rf"(?:\A|\band |, )(?:{'|'.join(CHANGES)})s? (?!an? \W?GET\b)", re.IGNORECASE)
"""Such a verb at the beginning of a clause; `send a GET request` describes the request."""


def may_change(operation: Operation, *, in_any_clause: bool) -> bool:
    """Return whether a GET changes something according to its words: they begin with a verb of change.

    With `in_any_clause` the verb may begin a later clause: `Retrieve a monitor and set its state`.
    """
    described = (operation.summary, _first_sentence(operation.description))
    texts = described if any(described) else (snake_case(operation.operation_id, "").replace("_", " "),)
    found = (_CHANGE.search(f"{text.strip()} ") for text in texts)
    return any(match is not None and (in_any_clause or match.start() == 0) for match in found)


def effect_of(operation: Operation) -> Effect:
    """Return the effect of a DELETE according to its texts; by default it deletes."""
    texts = (operation.summary, _first_sentence(operation.description), operation.operation_id)
    for text in texts:
        for word in snake_case(text, "").split("_"):
            for form in (word, word.removesuffix("s"), word.removesuffix("es")):
                if form in VERBS:
                    return VERBS[form]
    return "deletes"


def _first_sentence(text: str) -> str:
    return re.split(r"[.\n]", text, maxsplit=1)[0]
