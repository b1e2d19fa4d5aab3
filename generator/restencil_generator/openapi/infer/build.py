"""Build step of an import: infers a spec, validates it, and removes invalid parts.

An invalid part is an error of the heuristics. Nodes are removed one by one until the rest is valid, so that an import
always results in a valid spec, and everything that was left out is reported.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Final

from restencil_generator.diagnostics.model import Problem
from restencil_generator.exceptions import Failure
from restencil_generator.openapi.document.containment import contained
from restencil_generator.openapi.document.model import Document, Finding, LeftOut, Operation, Where
from restencil_generator.openapi.export.embed import KEY, Exported
from restencil_generator.openapi.infer.example_check import without_misfits
from restencil_generator.openapi.infer.pipeline import MEMBERS, Inferred, infer
from restencil_generator.openapi.infer.previous_choices import NOTHING, PreviousChoices
from restencil_generator.openapi.infer.resources import KeyCounts
from restencil_generator.openapi.options import Options
from restencil_generator.openapi.spec_tree import NodePath, Tree, Value, shown
from restencil_generator.openapi.spec_writer import write_with_nodes
from restencil_generator.spec.load import load_text

ALONE: Final = frozenset(("search_params", "header_params", "errors", "examples", "fields"))
"""Tables whose members can be removed one by one."""

WHOLE: Final = frozenset(
    [
        "pagination",
        "pagination_field",
        "collection",
        "expires",
        "auth",
        "response",
        "request",
        "description",
        "deprecated",
        "headers",
        "options",
        "pk_optional",
        "search_style",
        "content",
        "servers",
        "url_prefix",
    ]
)
"""Keys that can be removed without making the rest useless."""

ROUNDS: Final = 40
"""Number of rounds in which single nodes are removed; later rounds remove whole resources."""


@dataclasses.dataclass(frozen=True, slots=True)
class Made:
    """The spec of a document: its tree, its YAML, and the results of inference."""

    document: Document
    inferred: Inferred
    text: str

    @property
    def tree(self) -> Tree:
        """The spec as a tree."""
        return self.inferred.tree


def make(document: Document, options: Options, package: str, last: PreviousChoices = NOTHING) -> Made:
    """Infer a valid spec from a document. Findings, and operations that are left out, are added to the document.

    Choices of the last import are kept.
    """
    inferred = infer(document, options, package, last)
    remover, text = _Remover(document, inferred), ""
    for count in range(ROUNDS * 2):
        text, nodes = write_with_nodes(inferred.tree)
        loaded = load_text(text, f"{package}.yaml")
        problems = [problem for problem in loaded.problems if problem.severity == "error"]
        if not problems:
            assert loaded.declaration is not None
            check = functools.partial(without_misfits, document, inferred.tree, inferred.operations, loaded.declaration)
            if contained(document.findings.append, "the examples", Where(document.source, ""), check, True):
                text, _ = write_with_nodes(inferred.tree)
            break
        for problem in problems:
            remover.remove(nodes[problem.place.line - 1] if problem.place.line else (), problem, count >= ROUNDS)
    else:
        raise Failure(
            f"{document.source}: the imported spec is not valid; this is a bug of the importer: please report it"
        )
    return Made(document, inferred, text)


def make_again(document: Document, package: str, exported: Exported) -> Made | None:
    """Return the spec that a document was exported from; None, with a finding, if it is not valid."""
    tree = Tree({**exported.spec, "package": package})
    text, _ = write_with_nodes(tree)
    problem = next((one for one in load_text(text, f"{package}.yaml").problems if one.severity == "error"), None)
    if problem is not None:
        message = f"'{KEY}' is not a valid spec: {problem.message}; the spec is inferred from the rest of the document"
        document.findings.append(Finding("malformed", message, Where(document.source, f"/{KEY}")))
        return None
    by_place = {(operation.key, operation.method.lower()): operation for operation in document.operations}
    operations: dict[NodePath, Operation] = {
        ("resources", resource, "endpoints", member, *place): by_place[place]
        for (resource, member), place in exported.members
        if place in by_place
    }
    counts = {table: len(_mapping(tree.value.get(table))) for table in ("entities", "objects", "enums")}
    resources = [_mapping(one) for one in _mapping(tree.value.get("resources")).values()]
    counts["resources"] = sum("path" in one for one in resources)
    counts["groups"] = len(resources) - counts["resources"]
    return Made(document, Inferred(tree, KeyCounts(), operations, counts), text)


def _mapping(value: Value) -> dict[str, Value]:
    return value if isinstance(value, dict) else {}


class _Remover:
    def __init__(self, document: Document, inferred: Inferred) -> None:
        self.document = document
        self.tree = inferred.tree
        self.operations = inferred.operations
        self._as_any: set[NodePath] = set()

    def remove(self, path: NodePath, problem: Problem, roughly: bool) -> None:
        """Remove the node of a problem, or the node that contains it."""
        target = self._target(path, roughly)
        if not target or not self.tree.has(target):
            return
        origin = self.tree.origin(target)
        where = Where(origin.file or self.document.source, origin.pointer)
        if self._is_field(target) and target not in self._as_any:
            self._as_any.add(target)
            self._read_as_any(target)
            message = f"{shown(target)} is read as any: {problem.message} (a bug of the importer: please report it)"
            self.document.findings.append(Finding("import-mistake", message, where))
            return
        message = f"{shown(target)} is left out: {problem.message} (a bug of the importer: please report it)"
        self.document.findings.append(Finding("import-mistake", message, where))
        for at, operation in list(self.operations.items()):
            if at[: len(target)] == target:
                self._left_out(operation, problem)
        if target[0] == "resources" and len(target) == 4 and target[3] in MEMBERS:
            self._without_member(target)
        if self.tree.has(target):
            self.tree.remove(target)
        self._empty(target[:-1])

    def _target(self, path: NodePath, roughly: bool) -> NodePath:
        depth = {"resources": 2, "entities": 2, "objects": 2, "enums": 2}.get(path[0] if path else "", 1)
        if roughly or len(path) <= depth:
            return path[:depth]
        for length in range(depth + 1, len(path) + 1):
            key = path[length - 1]
            if key in WHOLE and path[0] == "resources":
                return path[:length]
            if key in ALONE and len(path) > length:
                return path[: length + 1]
        if path[0] == "resources":
            return path[:4] if len(path) >= 4 and path[2] == "endpoints" else path[:2]
        return path[:3] if path[0] == "objects" else path[:depth]

    def _is_field(self, target: NodePath) -> bool:
        """Return whether a node is a field of an entity or object, which may have any type."""
        return (target[0] == "objects" and len(target) == 3) or (
            target[0] == "entities" and len(target) == 4 and target[2] == "fields"
        )

    def _read_as_any(self, target: NodePath) -> None:
        """Change the type of a field to `any`, with its JSON name."""
        written = self.tree.get(target)
        values = written if isinstance(written, dict) else {}
        kept: dict[str, Value] = {key: values[key] for key in ("wire", "description") if key in values}
        holder = self.tree.get(target[:-1])
        assert isinstance(holder, dict)
        holder[target[-1]] = {"type": "any", **kept} if kept else "any"

    def _without_member(self, target: NodePath) -> None:
        """Remove an invalid standard member from the resource."""
        resource = self.tree.get(target[:2])
        assert isinstance(resource, dict)
        members = resource.get("members")
        if not isinstance(members, list):
            members = ["get", "get_list", "push", "unshift", "update", "partial_update", "delete"]
            members += ["get_page"] if "pagination_field" in resource else []
        hanging = ("push", "unshift", "assign", "get_page") if target[3] == "get_list" else ()
        gone = {target[3], *hanging, *(("unshift", "assign") if target[3] == "push" else ())}
        resource["members"] = [name for name in members if name not in gone]

    def _left_out(self, operation: Operation, problem: Problem) -> None:
        known = {(each.operation, each.where) for each in self.document.left_out}
        if (operation.text, operation.where) not in known:
            self.document.left_out.append(LeftOut(operation.text, problem.message, operation.where))

    def _empty(self, path: NodePath) -> None:
        """Remove empty tables."""
        if len(path) in (1, 3) and self.tree.has(path) and self.tree.get(path) in ({}, []):
            self.tree.remove(path)
