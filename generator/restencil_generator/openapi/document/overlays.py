"""Application of OpenAPI overlays, versions 1.0 and 1.1.

Parts that an overlay wrote keep their place in the overlay, so that findings name it; removing items of lists shifts
the others, and `Overlaid` keeps their original positions.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, NoReturn

from restencil_generator.diagnostics.model import quoted
from restencil_generator.exceptions import Failure
from restencil_generator.openapi.document import json_path
from restencil_generator.openapi.document.json_path import BadPath
from restencil_generator.openapi.document.json_schema import shape
from restencil_generator.openapi.document.json_types import is_list, is_table
from restencil_generator.openapi.document.model import Finding, Where
from restencil_generator.openapi.document.parse import Text, places, read_text
from restencil_generator.openapi.document.pointer import keys, pointer

_VERSION: Final = re.compile(r"1\.([01])(?:\.\d+)?\Z")


@dataclasses.dataclass(slots=True)
class Overlaid:
    """The changes that overlays made to a document: the origin of each changed part."""

    texts: list[Text] = dataclasses.field(default_factory=list[Text])
    findings: list[Finding] = dataclasses.field(default_factory=list[Finding])
    written: dict[str, Where] = dataclasses.field(default_factory=dict[str, Where])
    """The place in an overlay by the pointer into the document that it wrote to."""
    removed: dict[str, list[int]] = dataclasses.field(default_factory=dict[str, list[int]])
    """The removed items of lists: their original indices, by the list's pointer."""

    def origin(self, where: Where) -> Where:
        """Return the origin of a part of the document: in an overlay, or in the file before items were removed."""
        above = where.pointer
        while True:
            if above in self.written:
                written = self.written[above]
                return Where(written.file, written.pointer + where.pointer[len(above) :])
            if not above:
                break
            above = above.rpartition("/")[0]
        if not self.removed:
            return where
        path: list[str] = []
        read = ""
        for key in keys(where.pointer):
            index = key
            if read in self.removed and key.isdecimal():
                for gone in sorted(self.removed[read]):
                    index = str(int(index) + 1) if gone <= int(index) else index
            path.append(index)
            read = pointer([*keys(read), key])
        return Where(where.file, pointer(path))

    def wrote(self, at: json_path.Path, where: Where) -> None:
        """Record that an overlay wrote a part."""
        begin = pointer(at)
        self._forget(begin)
        self.written[begin] = where

    def took(self, at: json_path.Path) -> None:
        """Record that a part was removed."""
        self._forget(pointer(at))
        if not isinstance(at[-1], int):
            return
        parent, index = pointer(at[:-1]), at[-1]
        if not any(f"{parent}/".startswith(f"{each}/") for each in self.written):
            gone = self.removed.setdefault(parent, [])
            original = index
            for each in sorted(gone):
                original += each <= original
            gone.append(original)
        self.written = {_shifted(key, parent, index): where for key, where in self.written.items()}
        self.removed = {_shifted(key, parent, index): each for key, each in self.removed.items()}

    def _forget(self, begin: str) -> None:
        self.written = {key: where for key, where in self.written.items() if not f"{key}/".startswith(f"{begin}/")}


def _shifted(key: str, parent: str, index: int) -> str:
    """Return a pointer after an item of the list `parent` was removed."""
    if not key.startswith(f"{parent}/"):
        return key
    first, slash, rest = key[len(parent) + 1 :].partition("/")
    return f"{parent}/{int(first) - (int(first) > index)}{slash}{rest}" if first.isdecimal() else key


def apply(tree: Any, overlays: Iterable[Path]) -> tuple[Any, Overlaid]:
    """Apply overlays one after the other, and return the document with the changes. The given tree is not modified.

    Raises `Failure` with file and line if an overlay is invalid, cannot be read, or cannot be applied.
    """
    overlaid = Overlaid()
    root = [copied(tree)]
    for path in overlays:
        try:
            content = path.read_bytes()
        except OSError as error:
            raise Failure(f"{path}: cannot be read: {error.strerror or error}") from error
        text = read_text(content, path.as_posix())
        overlaid.texts.append(text)
        _Overlay(text, overlaid).apply(root)
    return root[0], overlaid


def copied(value: Any) -> Any:
    """Return a deep copy without shared parts, which YAML aliases create."""
    if is_table(value):
        table: dict[str, Any] = {}
        for key, inner in value.items():
            table[key] = copied(inner)
        return table
    if is_list(value):
        items: list[Any] = []
        for inner in value:
            items.append(copied(inner))  # noqa: PERF401 - a comprehension would need one more frame for each level
        return items
    return value


class _Overlay:
    """One overlay: its actions in order."""

    def __init__(self, text: Text, overlaid: Overlaid) -> None:
        self._text = text
        self._overlaid = overlaid
        self._newer = False

    def apply(self, root: list[Any]) -> None:
        """Apply all actions to the document that is the only item of `root`."""
        value = self._text.value
        if not is_table(value) or "overlay" not in value:
            self._refuse("", "is not an overlay: it has no key 'overlay'")
        match = _VERSION.match(str(value["overlay"]))
        if match is None:
            self._refuse("/overlay", f"Overlay {quoted(str(value['overlay']))} is not supported; use 1.0 or 1.1")
        self._newer = match[1] == "1"
        actions = value.get("actions")
        if not is_list(actions):
            self._refuse(
                "/actions" if "actions" in value else "", f"`actions` is {shape(actions)}, not a list of actions"
            )
        for index, action in enumerate(actions):
            self._action(root, action, f"/actions/{index}")

    def _action(self, root: list[Any], action: Any, at: str) -> None:
        if not is_table(action) or not isinstance(action.get("target"), str):
            self._refuse(at, "an action has a `target`")
        found = self._selected(root[0], action["target"], f"{at}/target")
        if not found:
            message = f"`{action['target']}` matches nothing"
            extends = self._text.value.get("extends")
            hint = f"the overlay extends {quoted(extends)}" if isinstance(extends, str) else ""
            self._overlaid.findings.append(
                Finding("overlay-unused", message, Where(self._text.file, f"{at}/target"), hint=hint)
            )
        elif action.get("remove") is True:
            self._remove(root, found, at)
        elif "copy" in action:
            self._copy(root, found, action["copy"], f"{at}/copy")
        elif "update" in action:
            for path in found:
                self._update(root, path, action["update"], f"{at}/update")

    def _selected(self, tree: Any, text: str, at: str) -> list[json_path.Path]:
        try:
            return json_path.query(text)(tree)
        except BadPath as error:
            self._refuse(at, f"`{text}` is not a valid JSONPath: {error}")

    def _remove(self, root: list[Any], found: list[json_path.Path], at: str) -> None:
        if () in found:
            self._refuse(f"{at}/target", "the whole document cannot be removed")
        # From the end, so that indices stay valid; inner parts before outer ones.
        for path in sorted(found, key=_from_the_end, reverse=True):
            holder = _at(root, path[:-1])
            del holder[path[-1]]
            self._overlaid.took(path)

    def _copy(self, root: list[Any], found: list[json_path.Path], source: Any, at: str) -> None:
        if not self._newer:
            self._refuse(at, "`copy` requires Overlay 1.1; this overlay has version 1.0")
        if not isinstance(source, str):
            self._refuse(at, f"`copy` is {shape(source)}, not a JSONPath")
        sources = self._selected(root[0], source, at)
        if len(sources) != 1:
            self._refuse(at, f"`{source}` matches {len(sources)} nodes; one is copied")
        value = copied(_at(root, sources[0]))
        for path in found:
            self._update(root, path, value, at, as_it_is=True)

    def _update(self, root: list[Any], path: json_path.Path, update: Any, at: str, *, as_it_is: bool = False) -> None:
        """Update one node. With `as_it_is` the value was copied, so that all of it has the same origin."""
        target = _at(root, path)

        def place(*inner: str | int) -> Where:
            return Where(self._text.file, at if as_it_is else at + pointer(inner))

        if is_table(target):
            if not is_table(update):
                self._refuse(at, f"`update` is {shape(update)}, and the target is an object")
            _merge(target, update, path, (), lambda at, inner: self._overlaid.wrote(at, place(*inner)))
        elif is_list(target):
            for index, item in enumerate(update if is_list(update) else [update]):
                self._overlaid.wrote((*path, len(target)), place(index) if is_list(update) else place())
                target.append(copied(item))
        elif is_table(update) or is_list(update):
            self._refuse(at, f"`update` is {shape(update)}, and the target is {shape(target)}")
        else:
            holder: Any = _at(root, path[:-1]) if path else root
            holder[path[-1] if path else 0] = update
            self._overlaid.wrote(path, place())

    def _refuse(self, at: str, why: str) -> NoReturn:
        place = places(self._text, [at])[at]
        raise Failure(f"{self._text.file}:{place.line}:{place.column}: {why}")


def _merge(
    target: dict[str, Any],
    update: dict[str, Any],
    path: json_path.Path,
    inner: json_path.Path,
    wrote: Callable[[json_path.Path, json_path.Path], None],
) -> None:
    """Merge an object into another one: objects recursively, lists by appending, other values by replacing."""
    for key, value in update.items():
        at, within = (*path, key), (*inner, key)
        known = target.get(key)
        if is_table(known) and is_table(value):
            _merge(known, value, at, within, wrote)
        elif is_list(known) and is_list(value):
            for index, item in enumerate(value):
                wrote((*at, len(known)), (*within, index))
                known.append(copied(item))
        else:
            target[key] = copied(value)
            wrote(at, within)


def _at(root: list[Any], path: json_path.Path) -> Any:
    value = root[0]
    for key in path:
        value = value[key]
    return value


def _from_the_end(path: json_path.Path) -> list[tuple[int, str]]:
    return [(key, "") if isinstance(key, int) else (-1, key) for key in path]
