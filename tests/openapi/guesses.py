"""Lists what the specs of documents hold that import has inferred, to be compared with what products document.

Usage: guesses.py DOCUMENT… A line for each inference: its kind, `check` if it is marked, its node, and the operation of
the document with what is written; then the counts. What only makes more stale (`expires`) is not listed.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from restencil_generator.openapi.import_job import Job, prepare
from restencil_generator.openapi.infer.build import Made
from restencil_generator.openapi.options import Options
from restencil_generator.openapi.spec_tree import CHECK, NodePath, shown
from restencil_generator.spec import model as d
from restencil_generator.spec.load import load_text


class Guess(NamedTuple):
    """One inference: what it is about, whether it is marked, its node, and what was written."""

    kind: str
    marked: bool
    node: str
    written: str

    def __str__(self) -> str:
        return "\t".join((self.kind, "check" if self.marked else "", self.node, self.written))


class Lister:
    """Lists the inferences of one import."""

    def __init__(self, made: Made, spec: d.Spec) -> None:
        self.tree = made.tree
        self.operations = made.inferred.operations
        self.spec = spec

    def _guess(self, kind: str, node: NodePath, written: object, *keys: str) -> Guess:
        comments = [self.tree.comments.get((*node, *key.split(".")) if key else node, "") for key in keys]
        operation = self.operations.get(node)
        text = "" if operation is None else f"{operation.text} "
        return Guess(kind, any(CHECK in comment for comment in comments), shown(node), f"{text}{written}")

    def all(self) -> Iterator[Guess]:
        """The inferences in the order of the spec."""
        entities: Any = self.tree.value.get("entities") or {}
        for name, entity in entities.items():
            yield self._guess("key", ("entities", name), entity.get("pk", "id"), "pk", "fields.id")
            for field, written in entity["fields"].items():
                text = str(written.get("type") if isinstance(written, dict) else written)
                if not entities.keys().isdisjoint(re.findall(r"\w+", text)):
                    yield self._guess("relation", ("entities", name, "fields", field), text, "")
        for name, resource in self.spec.resources.items():
            node: NodePath = ("resources", name)
            if resource.path is not None:
                yield self._guess("path", node, resource.path.text, "path", "schema")
            for endpoint in resource.endpoints.values():
                yield from self._of_endpoint(node, endpoint)
        if "auth" in self.tree.value:
            yield self._guess("auth", (), self.tree.value["auth"], "auth")

    def _of_endpoint(self, resource: NodePath, endpoint: d.Endpoint) -> Iterator[Guess]:
        node = (*resource, "endpoints", endpoint.name)
        if endpoint.name in d.OF_ONE and endpoint.side_effect:
            yield self._guess("member", node, "", "")
        if endpoint.method not in ("GET", "HEAD") and not endpoint.side_effect:
            yield self._guess("read", node, "", "side_effect")
        for param in endpoint.params:
            if param.of and self.tree.has((*node, "params", param.name)):
                yield self._guess("field", node, f"{param.name}: {param.of}", f"params.{param.name}")
        listed = endpoint.collection
        if listed is None or endpoint.side_effect:
            return
        yield self._guess("list", node, listed, "schema")
        if listed.follow:
            yield self._guess("follows", node, "", "schema")
        for name in endpoint.exact_filters or ():
            yield self._guess("filter", node, name)
        for name in listed.non_filter_arguments:
            yield self._guess("order", node, name)
        if endpoint.pagination is not None:
            pages = endpoint.pagination
            marks = [self.tree.comments.get((*place, "pagination"), "") for place in (node, resource, ())]
            text = f"{pages.style} {pages.next or ''} {pages.more or ''} {pages.total or ''}"
            yield Guess("pages", any(CHECK in mark for mark in marks), shown(node), text)


def main(paths: list[str]) -> None:
    """Prints the inferences of each document."""
    for path in map(Path, paths):
        imported = prepare(Job(str(path), Options(package="guesses", root=path.parent), path.with_suffix(".out")))
        spec = load_text(imported.text, "guesses.yaml").declaration
        assert spec is not None
        found = list(Lister(imported.made, spec).all())
        print(f"# {path.stem}", *found, sep="\n")
        counts = Counter((guess.kind, guess.marked) for guess in found)
        kinds = dict.fromkeys(guess.kind for guess in found)
        each = ", ".join(f"{counts[kind, False]} + {counts[kind, True]} {kind}" for kind in kinds)
        marked = sum(guess.marked for guess in found)
        print(f"# {path.stem}: {len(found) - marked} stated, {marked} marked ({each})")


if __name__ == "__main__":
    main(sys.argv[1:])
