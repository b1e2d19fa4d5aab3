"""Warnings about hand-written code: whether it exists, and accepts the arguments that it will be called with.

It is imported in a separate process, so that it can neither change nor end this one.
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from restencil_generator.diagnostics.model import Place, Problem, Related, quoted
from restencil_generator.lint.common import parts_of
from restencil_generator.spec import model as d

HOOKS_TIMEOUT: Final = 60.0
"""Maximum time in seconds for importing the hand-written code of one spec."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Hook:
    """A reference to code, its use, and the numbers of arguments that it will be called with."""

    reference: d.Reference
    what: str
    kind: str
    counts: tuple[int, ...] = ()


def check_hooks(spec: d.Spec, python_path: Sequence[Path | str]) -> Iterator[Problem]:
    """Yield warnings about hand-written code that is missing, or does not accept its arguments."""
    hooks = list(_all_hooks(spec))
    if not hooks:
        return
    missing: dict[str, dict[Place, _Hook]] = {}
    checked: set[tuple[str, Place]] = set()
    for hook, (code, message) in zip(hooks, _probe(hooks, python_path), strict=True):
        place = hook.reference.place
        if code == "hook-missing":
            # A missing module or name is reported once for all references; other problems are reported at each place.
            missing.setdefault(message, {}).setdefault(place, hook)
        elif code and (code, place) not in checked:
            checked.add((code, place))
            yield Problem(code, f"{hook.what}: {message}", place, severity="warning")
    for message, places in missing.items():
        first, *others = sorted(places)
        hint = "write it, or correct the reference" if not others else "write it, or correct the references"
        also = tuple(Related(place, f"{places[place].what} names it too") for place in others)
        yield Problem("hook-missing", f"{places[first].what}: {message}", first, hint, also, "warning")


def _all_hooks(spec: d.Spec) -> Iterator[_Hook]:
    if spec.base is not None:
        yield _Hook(spec.base, "'endpoint' of the spec", "endpoint")
    if isinstance(spec.options.error_policy, d.Reference):
        yield _Hook(spec.options.error_policy, "'error_policy' of the spec", "function", (1,))
    for entity in spec.entities.values():
        what = f"entity {quoted(entity.name)}"
        if entity.validate is not None and entity.validate_written:
            yield _Hook(entity.validate, f"'validate' of {what}", "function", (1,))
        yield from _field_hooks(entity.fields, what)
    for declared in spec.objects.values():
        yield from _field_hooks(declared.fields, f"object {quoted(declared.name)}")
    for resource in spec.resources.values():
        what = f"resource {quoted(resource.name)}"
        if resource.base is not None and resource.base != spec.base:
            yield _Hook(resource.base, f"'endpoint' of {what}", "endpoint")
        for endpoint in resource.endpoints.values():
            yield from _endpoint_hooks(endpoint, f"{quoted(endpoint.name)} of {what}")


def _field_hooks(fields: Iterable[d.Field], what: str) -> Iterator[_Hook]:
    for field in fields:
        for name, reference in (("decode", field.decode), ("encode", field.encode)):
            if reference is not None:
                yield _Hook(reference, f"'{name}' of field {quoted(field.name)} of {what}", "function", (1,))
        yield from _type_hooks(field.type, f"field {quoted(field.name)} of {what}", (0, 1))


def _endpoint_hooks(endpoint: d.Endpoint, what: str) -> Iterator[_Hook]:
    counts = _argument_counts(endpoint)
    with_first = tuple(count + 1 for count in counts)
    for name in ("process", "update", "get_optimistic_response"):
        reference: d.Reference | None = getattr(endpoint, name)
        if reference is not None:
            yield _Hook(reference, f"'{name}' of {what}", "function", with_first)
    if isinstance(endpoint.options.error_policy, d.Reference):
        yield _Hook(endpoint.options.error_policy, f"'error_policy' of {what}", "function", (1,))
    if endpoint.pagination is not None and endpoint.pagination.remove_cursor is not None:
        yield _Hook(endpoint.pagination.remove_cursor, f"'remove_cursor' of {what}", "function", (1,))
    if endpoint.schema is not None:
        yield from _type_hooks(endpoint.schema, what, counts)


def _type_hooks(type: d.Type, what: str, counts: tuple[int, ...]) -> Iterator[_Hook]:
    for union in parts_of(type, d.UnionOf):
        if isinstance(union.attribute, d.Reference):
            yield _Hook(union.attribute, f"'attribute' of a union of {what}", "function", (3,))
    for query in parts_of(type, d.QueryOf):
        yield _Hook(query.process, f"'process' of a query of {what}", "function", tuple(n + 1 for n in counts))
    for collection in parts_of(type, d.CollectionOf):
        if collection.custom is not None:
            yield _Hook(collection.custom, f"'collection' of {what}", "collection")


def _argument_counts(endpoint: d.Endpoint) -> tuple[int, ...]:
    """Return the numbers of arguments of a call with keywords: all parameters count as one, plus the body."""
    fields = [*endpoint.params, *endpoint.search_params]
    if endpoint.has_body:
        return (2,)
    if any(field.required for field in fields):
        return (1,)
    return (0, 1) if fields else (0,)


def _probe(hooks: Sequence[_Hook], python_path: Sequence[Path | str]) -> list[tuple[str, str]]:
    """Return a code and a message for each hook, or two empty strings if it is correct."""
    requests = [
        {"module": hook.reference.module, "name": hook.reference.name, "kind": hook.kind, "counts": hook.counts}
        for hook in hooks
    ]
    paths = [os.fspath(Path(path).resolve()) for path in python_path]
    environment = dict(os.environ)
    environment["PYTHONPATH"] = os.pathsep.join([*paths, *filter(None, [environment.get("PYTHONPATH")])])
    with tempfile.TemporaryDirectory() as folder:
        answers = Path(folder) / "answers"
        ended = "its import ended the interpreter"
        try:
            subprocess.run(  # noqa: S603 -- our own file, with no argument from the spec
                [sys.executable, "-P", os.fspath(Path(__file__).with_name("hook_probe.py")), os.fspath(answers)],
                input=json.dumps(requests).encode(),
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=HOOKS_TIMEOUT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            ended = f"its import took longer than {HOOKS_TIMEOUT:.0f} s"
        lines = answers.read_text("utf-8").splitlines() if answers.exists() else []
    found = [(answer["code"], answer["message"]) for answer in map(json.loads, lines)]
    if len(found) < len(hooks):
        found.append(("hook-missing", ended))
    return found + [("", "")] * (len(hooks) - len(found))
