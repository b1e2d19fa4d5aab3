"""Classification of DELETE operations by the words of their summary, description and id."""

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


def effect_of(operation: Operation) -> Effect:
    """Return the effect of a DELETE according to its texts; by default it deletes."""
    texts = (operation.summary, re.split(r"[.\n]", operation.description, maxsplit=1)[0], operation.operation_id)
    for text in texts:
        for word in snake_case(text, "").split("_"):
            for form in (word, word.removesuffix("s"), word.removesuffix("es")):
                if form in VERBS:
                    return VERBS[form]
    return "deletes"
