"""Loading of specs: files → YAML → nodes → resolved spec, with every problem on the way.

Tags construct no objects, so a spec cannot run code.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from restencil_generator.diagnostics.model import (
    Place,
    Problem,
    Related,
    Source,
    has_errors,
    in_order,
    quoted,
    with_nearest,
)
from restencil_generator.spec.analyze.spec import check
from restencil_generator.spec.grammar.keys import rows
from restencil_generator.spec.grammar.value_kinds import Table
from restencil_generator.spec.source.build import Builder
from restencil_generator.spec.source.conflict_markers import is_conflict_marker
from restencil_generator.spec.source.nodes import (
    Entry,
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    described,
    plain_value,
)
from restencil_generator.spec.source.yaml import LINE_BREAK, NotYaml, parse

if TYPE_CHECKING:
    from restencil_generator.spec.model import Spec

SUFFIXES: Final = (".yaml", ".yml")

MERGED: Final = tuple(key for key, row in rows("spec").items() if isinstance(row.kind, Table))
"""The top-level tables that several files of a folder may contain."""


@dataclasses.dataclass(frozen=True, slots=True)
class Loaded:
    """The result of loading one spec.

    `declaration` is None if one of the problems is an error. `problems` are in order. `sources` are the contents of
    files by name, for excerpts; `files` are the files that were read, for watching.
    """

    declaration: Spec | None
    problems: tuple[Problem, ...]
    sources: Mapping[str, Source]
    files: tuple[Path, ...] = ()


def load_spec(path: Path | str) -> Loaded:
    """Load a spec from a file, or from a folder whose `*.yaml` and `*.yml` files, in subfolders too, are merged.

    Hidden files and folders, whose names begin with a dot, are ignored. Never raises for invalid contents or unreadable
    files: those are problems of the result.
    """
    path = Path(path)
    shown = path.as_posix()
    try:
        files = _files(path)
    except OSError as error:
        return Loaded(None, (_unreadable(shown, error),), {})
    if not files:
        problem = Problem(
            "no-spec-files",
            "the folder contains no *.yaml or *.yml file",
            Place(shown),
            "add one, or choose another folder",
        )
        return Loaded(None, (problem,), {})
    texts: dict[str, str] = {}
    problems: list[Problem] = []
    for file in files:
        try:
            if path != file and file.exists() and not file.is_file():
                raise OSError("it is not a regular file")  # reading a pipe would wait
            texts[file.as_posix()] = _decoded(file.read_bytes(), file.as_posix(), problems)
        except OSError as error:
            problems.append(_unreadable(file.as_posix(), error))
    return _load(texts, path.name or path.resolve().name, problems, tuple(files))


def load_contents(contents: Mapping[str, bytes], name: str) -> Loaded:
    """Load a spec from the contents of its files, by the file names for problems; `name` is the name of the spec."""
    problems: list[Problem] = []
    return _load({file: _decoded(content, file, problems) for file, content in contents.items()}, name, problems, ())


def load_text(text: str, file: str = "spec.yaml") -> Loaded:
    """Load a spec from a string; `file` is the file name for problems."""
    return _load({file: text}, Path(file).name, [], ())


def load_texts(texts: Mapping[str, str], name: str) -> Loaded:
    """Load a spec that consists of several strings, by file name; `name` is the name of the spec."""
    return _load(texts, name, [], ())


def written_values(path: Path | str) -> dict[str, Any]:
    """Return the contents of a valid spec, file or folder, as plain values in the order of the file."""
    path = Path(path)
    return written_in(file.read_bytes().decode("utf-8-sig") for file in _files(path))


def written_in(texts: Iterable[str]) -> dict[str, Any]:
    """Return the contents of a valid spec as plain values, from the contents of its files."""
    trees = [tree for text in texts if (tree := read_tree(text, "", [])) is not None]
    values: dict[str, Any] = plain_value(_merged(trees, [])) if trees else {}
    return values


def _load(texts: Mapping[str, str], name: str, problems: list[Problem], files: tuple[Path, ...]) -> Loaded:
    sources = {file: Source(file, tuple(LINE_BREAK.split(text))) for file, text in texts.items()}
    trees: list[MappingNode] = []
    for file, text in texts.items():
        tree = read_tree(text, file, problems)
        if tree is not None:
            trees.append(tree)
    # If a file could not be read, references to unknown names may be valid, so they are not reported.
    complete = len(trees) == max(len(texts), 1) and not any(problem.code in _FATAL for problem in problems)
    declaration: Spec | None = None
    if complete:
        merged = trees[0] if len(trees) == 1 else _merged(trees, problems)
        declaration = check(merged, name, problems)
    if has_errors(problems):
        declaration = None
    return Loaded(declaration, tuple(with_nearest(in_order(problems))), sources, files)


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found: list[Path] = []
    for folder, names, files in os.walk(path, onerror=_raise):
        # Hidden names are left out, as by shell patterns: backup files of editors, the state of an import.
        names[:] = [name for name in names if not name.startswith(".")]
        here = [Path(folder, name) for name in files if not name.startswith(".")]
        found += [file for file in here if file.suffix in SUFFIXES]
    return sorted(found, key=lambda file: file.relative_to(path).as_posix())


def _raise(error: OSError) -> None:
    raise error


# Problems after which only a part of the file is known.
_FATAL: Final = frozenset(
    (
        "unreadable-file",
        "not-utf8",
        "merge-conflict",
        "yaml-syntax",
        "yaml-depth",
        "yaml-alias",
        "yaml-documents",
        "yaml-loader",
    )
)


def _unreadable(file: str, error: OSError) -> Problem:
    return Problem("unreadable-file", f"cannot be read: {error.strerror or error}", Place(file), "check the path")


def _decoded(content: bytes, file: str, problems: list[Problem]) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        text = content[: error.start].decode("utf-8-sig", "replace")
        lines = LINE_BREAK.split(text)
        place = Place(file, len(lines), len(lines[-1]) + 1, len(lines), len(lines[-1]) + 2)
        message = f"the file is not UTF-8: byte 0x{content[error.start]:02x} is not allowed here"
        problems.append(Problem("not-utf8", message, place, "save the file as UTF-8"))
        return content.decode("utf-8-sig", "replace")


# --------------------------------------------------------------------------------------------------------- YAML to tree


def read_tree(text: str, file: str, problems: list[Problem]) -> MappingNode | None:
    """Return the top-level mapping of a file, or None if it has none."""
    if any(problem.code == "not-utf8" and problem.place.file == file for problem in problems):
        return None
    conflicts = list(_conflicts(text, file))
    if conflicts:
        problems += conflicts
        return None
    builder = NodeBuilder(file, problems)
    try:
        parse(text, file, builder.build)
    except NotYaml as error:
        problems.append(error.problem)
        return None
    return _document(builder.roots, file, problems)


def _conflicts(text: str, file: str) -> Iterator[Problem]:
    """Yield a problem for each conflict that a failed merge left: the lines between its markers are two versions."""
    marks = [(number, line) for number, line in enumerate(LINE_BREAK.split(text), 1) if is_conflict_marker(line)]
    begun = False
    for index, (number, line) in enumerate(marks):
        if begun and not line.startswith("<"):
            continue  # within a conflict that is already reported, or its end
        begun = True
        ends = (mark for mark in marks[index + 1 :] if mark[1].startswith(">"))
        related = [Related(Place(file, at, 1, at, len(end) + 1), "it ends here") for at, end in ends][:1]
        yield Problem(
            "merge-conflict",
            "this is a conflict marker of an unfinished merge",
            Place(file, number, 1, number, len(line) + 1),
            "resolve the conflict, remove the markers, then run `restencil generate`",
            tuple(related),
        )


def _document(roots: list[Node], file: str, problems: list[Problem]) -> MappingNode | None:
    if len(roots) > 1:
        second = roots[1].place
        place = dataclasses.replace(second, end_line=second.line, end_column=second.column + 1)
        problems.append(
            Problem(
                "yaml-documents",
                "a second document begins here",
                place,
                "a file contains one document: remove the '---'",
            )
        )
        return None
    if not roots or (isinstance(roots[0], ScalarNode) and roots[0].plain and not roots[0].text):
        problems.append(
            Problem("empty-spec", "the file is empty", Place(file), "begin with 'restencil: 1' and 'package: name'")
        )
        return None
    root = roots[0]
    if not isinstance(root, MappingNode):
        problems.append(
            Problem(
                "wrong-type",
                f"a spec must be a mapping, not {described(root)}",
                root.place,
                "begin with 'restencil: 1' and 'package: name'",
            )
        )
        return None
    return root


class NodeBuilder(Builder):
    """Builder of the nodes of a file."""

    MAX_DEPTH = 64
    MAX_NODES_BY_ALIAS = 100_000

    def __init__(self, file: str, problems: list[Problem]) -> None:
        super().__init__(file)
        self.problems = problems
        self._keys: list[ScalarNode | None] = []  # per open mapping: the key that has no value yet

    def scalar(self, event: Any) -> ScalarNode:
        """Return the node of a scalar."""
        self._check_tag(event)
        start, end = event.start_mark, event.end_mark
        return ScalarNode(self.file, start.line, start.column, end.line, end.column, event.value, event.implicit[0])

    def collection(self, event: Any, *, is_mapping: bool) -> MappingNode | SequenceNode:
        """Return an empty mapping or sequence."""
        self._check_tag(event)
        kind = MappingNode if is_mapping else SequenceNode
        return kind(self.file, event.start_mark.line, event.start_mark.column)

    def place(self, node: Node, event: Any) -> None:
        """Add a node to the innermost open collection, as an item, a key or a value."""
        current = self.stack[-1] if self.stack else None
        if isinstance(current, SequenceNode):
            current.items.append(node)
        elif isinstance(current, MappingNode):
            key = self._keys[-1]
            if key is None:
                self._keys[-1] = self._key(node)
            else:
                self._keys[-1] = None
                if key is not _NO_KEY:
                    self.enter(current, key, node)
        else:
            self.roots.append(node)

    def opened(self, node: MappingNode | SequenceNode, event: Any) -> None:
        """Add a collection where it begins."""
        self.place(node, event)
        if isinstance(node, MappingNode):
            self._keys.append(None)

    def closed(self, node: MappingNode | SequenceNode, event: Any) -> None:
        """Record where a collection ends."""
        node.end_line, node.end_column = event.end_mark.line, event.end_mark.column
        if isinstance(node, MappingNode):
            self._keys.pop()

    def _check_tag(self, event: Any) -> None:
        if event.tag is not None:
            message = f"the tag {quoted(event.tag)} is not part of the spec language"
            self.problems.append(Problem("yaml-tag", message, self.mark_place(event), "remove it"))

    def _key(self, node: Node) -> ScalarNode:
        if isinstance(node, ScalarNode):
            return node
        self.problems.append(
            Problem(
                "yaml-key", f"a key must be a string, not {described(node)}", _first_line(node.place), "name the key"
            )
        )
        return _NO_KEY

    def enter(self, mapping: MappingNode, key: ScalarNode, value: Node) -> None:
        """Add a key with its value to a mapping; a key that is given again is reported."""
        first = mapping.entries.get(key.text)
        if first is None:
            mapping.entries[key.text] = Entry(key, value)
        else:
            self.problems.append(_duplicate(key, first.key))


_NO_KEY: Final = ScalarNode("", 0, 0, 0, 0, "", True)


def _duplicate(key: ScalarNode, first: ScalarNode) -> Problem:
    return Problem(
        "duplicate-key",
        f"the key {quoted(key.text)} is given twice",
        key.place,
        "keep one of them",
        (Related(first.place, "first given here"),),
    )


def _first_line(place: Place) -> Place:
    if place.end_line == place.line:
        return place
    return dataclasses.replace(place, end_line=place.line, end_column=place.column + 1)


# ------------------------------------------------------------------------------------------------------------- a folder


def _merged(trees: Iterable[MappingNode], problems: list[Problem]) -> MappingNode:
    """Merge the mappings of several files: shared tables are joined, duplicate keys reported with both places."""
    first, *others = trees
    whole = MappingNode(first.file, first.line, first.column)
    whole.entries.update(first.entries)
    joined: set[str] = set()
    for tree in others:
        for name, entry in tree:
            known = whole.entries.get(name)
            if known is None:
                whole.entries[name] = entry
            elif name in MERGED and isinstance(known.value, MappingNode) and isinstance(entry.value, MappingNode):
                if name not in joined:
                    joined.add(name)
                    table = MappingNode(known.value.file, known.value.line, known.value.column)
                    table.entries.update(known.value.entries)
                    known = whole.entries[name] = Entry(known.key, table)
                assert isinstance(known.value, MappingNode)
                for member, inner in entry.value:
                    if member in known.value.entries:
                        problems.append(_duplicate(inner.key, known.value.entries[member].key))
                    else:
                        known.value.entries[member] = inner
            else:
                problems.append(_duplicate(entry.key, known.key))
    return whole
