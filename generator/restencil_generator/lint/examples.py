"""Warnings about examples that do not fit the spec."""

from __future__ import annotations

from collections.abc import Iterator

from restencil_generator.diagnostics.model import Place, did_you_mean, quoted
from restencil_generator.lint.common import Finding, operations
from restencil_generator.spec import model as d
from restencil_generator.spec.validate_value import validation_errors


def find_misfits(spec: d.Spec) -> Iterator[Finding]:
    """Find examples that do not fit parameters, body or response of their endpoint."""
    for operation in operations(spec):
        if operation.endpoint.example is not None:
            what = f"the example of {operation}"
            yield from _example(spec, what, operation.endpoint, operation.endpoint.example)


def _example(spec: d.Spec, what: str, endpoint: d.Endpoint, example: d.Example) -> Iterator[Finding]:
    yield from _example_params(spec, what, endpoint, example)
    if example.body is not d.MISSING:
        if not endpoint.has_body:
            place = example.places.get(("body",), example.place)
            yield _misfit(what, "it has a body, but the endpoint has none", place, "remove it")
        elif endpoint.body is not None and endpoint.body.type is not None:
            yield from _misfits(spec, what, endpoint.body.type, example.body, example, "body")
    if example.response is not d.MISSING and endpoint.process is None and endpoint.base is None:
        type = endpoint.schema or endpoint.returns
        if type is not None and not (isinstance(type, d.InvalidateOf) and not isinstance(example.response, dict)):
            yield from _misfits(spec, what, type, example.response, example, "response")


def _example_params(spec: d.Spec, what: str, endpoint: d.Endpoint, example: d.Example) -> Iterator[Finding]:
    fields = [*endpoint.params, *endpoint.search_params, *endpoint.page_params]
    names = {field.wire: field for field in fields} | {field.name: field for field in fields}
    given: set[str] = set()
    for key, value in example.params.items():
        field = names.get(key)
        if field is None:
            hint = did_you_mean(key, [field.name for field in fields])
            place = example.places.get(("params", key, ""), example.place)
            yield _misfit(what, f"the endpoint has no parameter {quoted(key)}", place, hint)
        else:
            given.add(field.name)
            yield from _misfits(spec, what, field.type, value, example, "params", key)
    if "params" in {where[0] for where in example.places if where}:
        for field in (*endpoint.params, *endpoint.search_params):
            if field.required and field.name not in given:
                place = example.places.get(("params",), example.place)
                yield _misfit(what, f"the parameter {quoted(field.name)} is missing", place, "add it")


def _misfits(
    spec: d.Spec, what: str, type: d.Type, value: d.Json, example: d.Example, *where: str
) -> Iterator[Finding]:
    for misfit in validation_errors(spec, type, value, "example"):
        at = ".".join(map(str, (*where, *misfit.where)))
        place = misfit.place_in(example.places, example.place, *where)
        yield _misfit(what, f"{at}: {misfit.message}", place, misfit.hint)


def _misfit(what: str, message: str, place: Place, hint: str = "") -> Finding:
    return Finding(f"{what} does not fit: {message}", place, hint)
