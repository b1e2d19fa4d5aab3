"""The stage that compares a response with what is declared, and the test of what a schema can take at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base.errors import ProcessingError
from ...base.values import DICT, LIST, MAPPING, SCALARS, TUPLE
from ...schema.record import is_instance
from ..transaction import Source

if TYPE_CHECKING:
    from ...schema.protocol import Schema
    from ..request import Request
    from ..transaction import Transaction


def validate_response(tx: Transaction) -> None:
    """Compares a received response with what is declared, by the mode of the endpoint or else of the store."""
    rules = tx.request.rules
    if tx.source is not Source.RECEIVED and tx.source is not Source.OUTDATED:
        return
    mode = rules.response.validate or tx.store_state.validate
    if mode != "off" and rules.schema is not None and not is_empty(tx.response, tx.request):
        from ...schema.validation import validate

        validate(rules.schema, tx.response, mode, tx.request.label)


def is_empty(response: Any, request: Request) -> bool:
    """Whether a response without content counts as a success that contains nothing."""
    return response is None and request.rules.response.empty in ("merge", "none")


def fitting(schema: Schema, value: Any) -> Any:
    """A value for a schema unchanged, if it is an object or a list. Raises ProcessingError for anything else."""
    if isinstance(value, (DICT, LIST, TUPLE, MAPPING)) or is_instance(value):
        return value
    if schema.removes and type(value) in (str, int, float) and value != "":
        return value
    if schema.takes_scalars and type(value) in SCALARS:
        return value
    raise ProcessingError(
        f"expected an object or a list, found {value!r:.100}; an endpoint whose response holds no entity has "
        "schema=None, or a process() that returns the object"
    )
