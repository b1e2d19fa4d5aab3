"""Handling of calls: the rules of REST for the tables, with responses as declared by the spec.

This module does not depend on an HTTP library: it converts a `Call` to a `Reply`.
"""

from __future__ import annotations

from http import HTTPStatus

from restencil_generator.mock.call import Call, Reply
from restencil_generator.mock.changes import Changes, Outcome
from restencil_generator.mock.errors import InvalidRecord, Refusal
from restencil_generator.mock.records import Records
from restencil_generator.mock.respond import Shape
from restencil_generator.mock.tables import Tables
from restencil_generator.spec.type_info import first_entity, holds_many


def answer(tables: Tables, call: Call) -> Reply:
    """Return the response to a call; changes the tables if the endpoint has a side effect. Raises `Refusal`."""
    try:
        outcome = Changes(tables, call).perform() if call.endpoint.side_effect else _found(tables, call)
        return Shape(tables, call, outcome).reply()
    except InvalidRecord as error:
        raise Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, f"{error}") from error


def _found(tables: Tables, call: Call) -> Outcome:
    """Return the record of a reading call. Records of lists are selected page by page when the response is built."""
    of = first_entity(call.endpoint.schema)
    if of is None or holds_many(call.endpoint.schema):
        return Outcome()
    return Outcome(subject=Records(tables, call).single(of))
