"""Resolution of `$ref`: within a file, in other files, by `$id` and `$anchor`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final
from urllib.parse import unquote, urljoin

from restencil_generator.diagnostics.model import quoted
from restencil_generator.openapi.document.files import File, Files, Refused
from restencil_generator.openapi.document.json_schema import malformed
from restencil_generator.openapi.document.json_types import is_list, is_table
from restencil_generator.openapi.document.model import Finding, Part, Where
from restencil_generator.openapi.document.pointer import part_at, token

_NAME: Final = re.compile(r"[A-Za-z0-9._-]+\Z")
_TABLES: Final = ("components/schemas", "definitions")


class References:
    """Resolver of references; an unresolved one is a finding, once for each place."""

    def __init__(self, files: Files, report: Callable[[Finding], None]) -> None:
        self.files = files
        self._report = report
        self._identified: dict[str, _Identified] = {}

    def follow(self, part: Part) -> Part | None:
        """Follow references until a part that is not one; returns None, with a finding, if one cannot be resolved."""
        seen: set[Where] = set()
        while is_table(part.value) and isinstance(reference := part.value.get("$ref"), str):
            if part.where in seen:
                self._found("ref-cycle", f"{quoted(reference)} refers to itself", part.where)
                return None
            seen.add(part.where)
            target = self.target(reference, part.where)
            if target is None:
                return None
            part = target
        return part

    def table(self, part: Part, expected: str) -> Part | None:
        """Follow references to an object; returns None, with a finding, if there is none."""
        found = self.follow(part)
        if found is None or is_table(found.value):
            return found
        self._report(malformed(found.where, expected, found.value))
        return None

    def target(self, reference: str, where: Where) -> Part | None:
        """Resolve a reference by one step; returns None, with a finding, if its target does not exist."""
        document, _, fragment = reference.partition("#")
        fragment = unquote(fragment, errors="replace")
        file = self.files.named(where.file)
        assert file is not None
        if document:
            known = self._identifier(file, document, where)
            if known is not None:
                return self._in(known, fragment, reference, where)
            found = self.files.follow(where.file, document)
            if isinstance(found, Refused):
                named = self._by_name(file, reference) if found.code != "ref-remote" else None
                if named is None:
                    self._found(found.code, f"{quoted(reference, 200)}: {found.why}", where)
                return named
            file = found
        return self._in(Part(file.value, Where(file.name, "")), fragment, reference, where)

    def _in(self, root: Part, fragment: str, reference: str, where: Where) -> Part | None:
        """Return the part with a fragment, within a part."""
        part: Part | None
        if not fragment or fragment.startswith("/"):
            part = part_at(root, fragment)
        else:
            file = self.files.named(root.where.file)
            assert file is not None
            part = self._index(file).anchors.get(fragment) or part_at(root, f"/{fragment}")
            part = part or self._by_name(file, fragment)
        if part is None:
            self._found("ref-missing", f"the target of {quoted(reference, 200)} does not exist", where)
        return part

    def _by_name(self, file: File, name: str) -> Part | None:
        """Return the schema for a bare name, which the first version of OpenAPI used as reference."""
        if not _NAME.match(name):
            return None
        root = Part(file.value, Where(file.name, ""))
        return next((part for table in _TABLES if (part := part_at(root, f"/{table}/{token(name)}")) is not None), None)

    def _identifier(self, file: File, document: str, where: Where) -> Part | None:
        index = self._index(file)
        return index.identified(document, where) if index.by_id else None

    def _index(self, file: File) -> _Identified:
        index = self._identified.get(file.name)
        if index is None:
            index = self._identified[file.name] = _Identified(file)
        return index

    def _found(self, code: str, message: str, where: Where) -> None:
        self._report(Finding(code, message, Where(where.file, f"{where.pointer}/$ref")))


class _Identified:
    """The parts of a file with `$id`, `$anchor` or similar keywords."""

    def __init__(self, file: File) -> None:
        self.by_id: dict[str, Part] = {}
        self._bases: list[tuple[str, str]] = []
        """The pointers of parts with an `$id`, with the resolved URL, inner ones last."""
        self.anchors: dict[str, Part] = {}
        for pointer, table, base in _identities(file):
            part = Part(table, Where(file.name, pointer))
            named = table.get("$id") if isinstance(table.get("$id"), str) else table.get("$self")
            if isinstance(named, str):
                for name in (base, named):
                    self.by_id.setdefault(name.partition("#")[0], part)
                self._bases.append((pointer, base))
            for key in ("$anchor", "$dynamicAnchor"):
                if isinstance(table.get(key), str):
                    self.anchors.setdefault(table[key], part)

    def identified(self, document: str, where: Where) -> Part | None:
        """Return the part of this file with an `$id`; `document` is a reference up to its `#`."""
        bases = [base for pointer, base in self._bases if f"{where.pointer}/".startswith(f"{pointer}/")]
        return self.by_id.get(urljoin(bases[-1], document) if bases else document) or self.by_id.get(document)


def _identities(file: File) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield the objects of a file with an identifier, each with its pointer and base URL."""
    if not any(word in file.text.text for word in ("$id", "$self", "$anchor", "$dynamicAnchor")):
        return
    todo: list[tuple[str, Any, str]] = [("", file.value, "")]
    while todo:
        pointer, value, base = todo.pop()
        if is_table(value):
            named = value.get("$id", value.get("$self") if not pointer else None)
            if isinstance(named, str):
                base = urljoin(base, named)
            if isinstance(named, str) or "$anchor" in value or "$dynamicAnchor" in value:
                yield pointer, value, base
            todo += [
                (f"{pointer}/{token(key)}", inner, base)
                for key, inner in reversed(value.items())
                if is_table(inner) or is_list(inner)
            ]
        elif is_list(value):
            todo += [(f"{pointer}/{index}", inner, base) for index, inner in enumerate(value)]
