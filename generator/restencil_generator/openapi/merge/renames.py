"""Matching of renamed nodes by their origin.

A node of the base that is missing in ours was renamed if ours has a node with the same origin: the origin of a resource
is its path, of an endpoint its method and path, of a field its JSON name, of a type the places where it is used. The
nodes of base and theirs, and references to them, get the names of ours before the merge, which therefore ignores
renames.
"""

from __future__ import annotations

import copy
import dataclasses
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from restencil_generator.openapi.merge import merge_kinds as shapes
from restencil_generator.openapi.merge.merge_kinds import TOP, TYPE, Shape
from restencil_generator.openapi.merge.source_map import Part, Side, equal, read_side, value_of
from restencil_generator.openapi.merge.three_way import Path, Renamed
from restencil_generator.openapi.spec_tree import Tree
from restencil_generator.openapi.spec_writer import write
from restencil_generator.spec.grammar.type_words import FORMS
from restencil_generator.spec.grammar.value_kinds import EntityName, Errors, Fields, Kind, OneEntity, Response, Type
from restencil_generator.spec.names import wire_name
from restencil_generator.spec.source.nodes import MappingNode, Node, ScalarNode, SequenceNode

TYPES: Final = ("enums", "objects", "entities")
"""The tables whose members are types."""


@dataclasses.dataclass(frozen=True, slots=True)
class Move:
    """A node at `old` in the base that is at `new` in ours; `origin` is their common origin, for messages."""

    old: Path
    new: Path
    origin: str


def moves(base: Side, ours: Side, theirs: Side) -> list[Move]:
    """Return the nodes that were renamed or moved in ours, outer ones first.

    `old` of inner nodes has the outer new names. The places of a type in the base may be removed upstream; so the
    places in theirs count as well.
    """
    finder = _Finder(base, ours, theirs)
    finder.find()
    return finder.moves


def renamed(text: str, file: str, found: Iterable[Move]) -> str:
    """Rename the nodes in an imported spec as in ours.

    Nodes that are missing, or exist under both names, are not changed.
    """
    for inner in (False, True):
        these = [move for move in found if (len(move.old) > 2) is inner]
        if these:
            text = _renamed(text, file, these)
    return text


def _renamed(text: str, file: str, found: Iterable[Move]) -> str:
    side = read_side({file: text}, [])
    assert side is not None  # it was read before
    tree = as_tree(side)
    these = [move for move in found if tree.has(move.old) and not tree.has(move.new)]
    followers = [follower for move in these if (follower := _follower(move, tree)) is not None]
    for reference in _references(side) if followers else ():
        word = next((word for follow in followers if (word := follow(reference)) is not None), None)
        if word is not None:
            parent: Any = tree.get(reference.place[:-1])
            parent[int(reference.place[-1]) if isinstance(parent, list) else reference.place[-1]] = word
    for move in these:
        _move(tree, move)
        _move_examples(tree, move)
    return write(tree)


def as_renamed(found: Iterable[Move]) -> dict[Path, Renamed]:
    """Return moves by their new path, for the merge."""
    return {move.new: Renamed(move.old, move.origin) for move in found}


def as_tree(side: Side) -> Tree:
    """Return the tree of a spec of one file."""
    (text,) = side.texts
    tree = Tree({name: value_of(part.node) for name, part in side.parts.items()})
    seen: set[int] = set()
    for path, line in _lines(side):
        if line in text.comments and line not in seen and line not in text.alone:
            tree.comments[path] = text.comments[line][1]
        seen.add(line)
    if side.parts:
        tree.head = list(next(iter(side.parts.values())).above)
    return tree


def _lines(side: Side) -> Iterator[tuple[Path, int]]:
    """Yield each node with its first line, outer ones first."""

    def walk(path: Path, node: Node) -> Iterator[tuple[Path, int]]:
        if isinstance(node, MappingNode):
            for name, entry in node:
                yield (*path, name), entry.key.line
                yield from walk((*path, name), entry.value)
        elif isinstance(node, SequenceNode):
            for index, item in enumerate(node.items):
                yield (*path, str(index)), item.line
                yield from walk((*path, str(index)), item)

    for name, part in side.parts.items():
        yield (name,), part.key.line
        yield from walk((name,), part.node)


# ----------------------------------------------------------------------------------------------------- what was renamed


class _Finder:
    """Finds nodes that have another name in ours than in the base."""

    def __init__(self, base: Side, ours: Side, theirs: Side) -> None:
        self.base = base
        self.ours = ours
        self.theirs = theirs
        self.moves: list[Move] = []
        self.styles = [_text(side.get(("wire_names",))) or "as_is" for side in (base, ours)]

    def find(self) -> None:
        self._resources()
        self._endpoints()
        self._types()
        self._fields()

    def _add(self, old: Path, new: Path, origin: str) -> None:
        if old != new:
            self.moves.append(Move(old, new, origin))

    def _moved(self, path: Path) -> Path:
        """Return the key path in ours of a node of the base."""
        for move in self.moves:
            if path[: len(move.old)] == move.old:
                path = (*move.new, *path[len(move.old) :])
        return path

    # ---------------------------------------------------------------------------------------- resources and endpoints

    def _resources(self) -> None:
        base, ours = _table(self.base, "resources"), _table(self.ours, "resources")
        lost = {name: part for name, part in base.items() if name not in ours}
        new = {name: part for name, part in ours.items() if name not in base}
        by_path = _unique({name: _path_of(part) for name, part in new.items()})
        for name, part in lost.items():
            found = by_path.get(_path_of(part))
            if found is None and not _path_of(part):
                found = _sharing(_operations(part), {other: _operations(new[other]) for other in new})
            if found is not None:
                self._add(("resources", name), ("resources", found), _origin_of(part))

    def _endpoints(self) -> None:
        """Find endpoints that were moved to another resource."""
        base = {self._moved(path): found for path, found in _own_endpoints(self.base).items()}
        ours = _own_endpoints(self.ours)
        new = _unique({path: found for path, found in ours.items() if path not in base})
        for path, found in base.items():
            if path not in ours and found in new:
                self._add(path, new[found], " ".join(found))

    # ---------------------------------------------------------------------------------------------------------- types

    def _types(self) -> None:
        lost = {
            name: table for table in TYPES for name in _table(self.base, table) if name not in _table(self.ours, table)
        }
        while lost and (found := self._type(lost)) is not None:
            name, other = found
            table = lost.pop(name)
            self._add((table, name), (table, other), name)

    def _type(self, lost: Mapping[str, str]) -> tuple[str, str] | None:
        """Find a type that ours uses, with another name, at the places of a type of the base."""
        here = dict(_type_words(self.ours))
        votes: dict[str, Counter[str]] = {}
        taken = {move.new for move in self.moves}
        for place, word in itertools.chain(_type_words(self.base), _type_words(self.theirs)):
            other = here.get(self._moved(place))
            if word in lost and other is not None and self._is_new(lost[word], other, taken):
                votes.setdefault(word, Counter())[other] += 1
        for name, table in lost.items():
            if name not in votes:
                alike = [
                    other
                    for other, part in _table(self.ours, table).items()
                    if self._is_new(table, other, taken) and equal(value_of(part.node), self._value(table, name))
                ]
                votes[name] = Counter(alike if len(alike) == 1 else [])
        best = {name: counted.most_common(1)[0] for name, counted in votes.items() if counted}
        if not best:
            return None
        name = max(best, key=lambda name: best[name][1])
        return name, best[name][0]

    def _is_new(self, table: str, name: str, taken: set[Path]) -> bool:
        known = name in _table(self.ours, table) and name not in _table(self.base, table)
        return known and (table, name) not in taken

    def _value(self, table: str, name: str) -> Any:
        return value_of(_table(self.base, table)[name].node)

    # --------------------------------------------------------------------------------------------------------- fields

    def _fields(self) -> None:
        ours = dict(_field_tables(self.ours))
        for path, base in list(_field_tables(self.base)):
            here = self._moved(path)
            if here in ours:
                self._fields_of(here, base, ours[here])

    def _fields_of(self, path: Path, base: Mapping[str, Part], ours: Mapping[str, Part]) -> None:
        header = path[-1] == "header_params"
        new = _unique({name: self._wire(part, 1, header) for name, part in ours.items() if name not in base})
        for name, part in base.items():
            wire = self._wire(part, 0, header)
            if name not in ours and wire in new:
                self._add((*path, name), (*path, new[wire]), wire)

    def _wire(self, part: Part, side: int, header: bool) -> str:
        node = part.node
        written = node.get("wire") if isinstance(node, MappingNode) and shapes.describes(node) else None
        if isinstance(written, ScalarNode):
            return written.text
        if header:
            return part.name.replace("_", "-").title()
        return wire_name(part.name, self.styles[side])  # type: ignore[arg-type]  # what is no word there reads as as_is


def _table(side: Side, name: str) -> Mapping[str, Part]:
    part = side.parts.get(name)
    return part.parts if part is not None else {}


def _text(part: Part | None) -> str:
    return part.node.text if part is not None and isinstance(part.node, ScalarNode) else ""


def _unique(named: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return the names by origin, for origins with a single name."""
    counted = Counter(named.values())
    return {value: name for name, value in named.items() if value and counted[value] == 1}


def _plain_path(text: str) -> str:
    """Return a path template with unnamed parameters."""
    return re.sub(r":[A-Za-z_][A-Za-z0-9_]*", ":", text)


def _path_of(part: Part) -> str:
    return _plain_path(_text(part.parts.get("path")))


def _origin_of(part: Part) -> str:
    path = _text(part.parts.get("path"))
    if not path:
        return part.name
    return "GET " + re.sub(r":([A-Za-z_][A-Za-z0-9_]*)", r"{\1}", path).replace("\\", "")


def _operations(part: Part) -> set[tuple[str, str]]:
    endpoints = part.parts.get("endpoints")
    return {_operation(each) for each in endpoints.parts.values()} if endpoints is not None else set()


def _operation(part: Part) -> tuple[str, str]:
    """Return the origin of an endpoint: its method and path."""
    return _text(part.parts.get("method")) or "GET", _path_of(part)


def _own_endpoints(side: Side) -> dict[Path, tuple[str, str]]:
    """Return the endpoints other than standard members, each with its method and path."""
    return {
        ("resources", resource, "endpoints", name): _operation(part)
        for resource, owner in _table(side, "resources").items()
        if "endpoints" in owner.parts
        for name, part in owner.parts["endpoints"].parts.items()
        if "path" in part.parts
    }


def _sharing(wanted: set[tuple[str, str]], others: Mapping[str, set[tuple[str, str]]]) -> str | None:
    """Return the name that shares most of the wanted places, at least half of them; else None."""
    best = max(others, key=lambda name: len(wanted & others[name]), default=None)
    return best if best is not None and wanted and len(wanted & others[best]) * 2 >= len(wanted) else None


# ----------------------------------------------------------------------------------------------------------- references


@dataclasses.dataclass(frozen=True, slots=True)
class Reference:
    """A reference in a spec: `kind` is `type`, or the key whose value it is.

    `use` is its place without the optional key of a field's type. `owner` is the resource or type that contains it.
    """

    place: Path
    use: Path
    word: str
    kind: str
    owner: str = ""


def _type_words(side: Side) -> Iterator[tuple[Path, str]]:
    """Yield the places of references to types, with the names of the types without marks."""
    for found in _references(side):
        if found.kind == "type":
            yield found.use, found.word.rstrip("?!")


def _references(side: Side) -> Iterator[Reference]:
    """Yield all references in a spec."""
    inner = shapes.inner(TOP, None)
    assert inner is not None
    for name, part in side.parts.items():
        yield from _references_in((name,), inner(name), part.node)


def _references_in(path: Path, shape: Shape, node: Node) -> Iterator[Reference]:
    inner = shapes.inner(shape, node)
    if shapes.is_field(shape):
        described = isinstance(node, MappingNode) and shapes.describes(node)
        type = node.get(TYPE) if described and isinstance(node, MappingNode) else node
        if type is not None:
            yield from _in_type((*path, TYPE) if described else path, path, type)
    elif inner is not None and isinstance(node, MappingNode):
        for name, entry in node:
            yield from _references_in((*path, name), inner(name), entry.value)
    elif _is_type(shape, path):
        yield from _in_type(path, path, node)
    elif path[-1] in _NAMES:
        yield from _names(path, node)


_NAMES: Final = ("pk", "indexes", "needs", "next", "expires", "extends")
"""The keys whose values refer to fields, endpoints or resources."""


def _is_type(shape: Shape, path: Path) -> bool:
    if path[-1] == "extends":
        return isinstance(shape, EntityName)
    if path[-2:-1] == ("errors",) or isinstance(shape, Errors):
        return True
    kinds: tuple[type[Kind], ...] = (Type, Response, OneEntity, EntityName)
    return isinstance(shape, kinds) or path[-1] == "body"


def _in_type(place: Path, use: Path, node: Node) -> Iterator[Reference]:
    """Yield the references in a type."""
    if isinstance(node, ScalarNode):
        yield Reference(place, use, node.text, "type")
    elif isinstance(node, SequenceNode):
        for index, item in enumerate(node.items):
            yield from _in_type((*place, str(index)), (*use, str(index)), item)
    elif isinstance(node, MappingNode):
        form = any(word in node.entries for word in FORMS)
        for name, entry in node:
            if not (form and name in _NO_TYPES):
                yield from _in_type((*place, name), (*use, name), entry.value)


_NO_TYPES: Final = frozenset(
    ("attribute", "nest", "non_filter_arguments", "follow", "process", "wire", "optional", "enum", "const")
)
"""The keys of forms whose values contain no types."""


def _names(path: Path, node: Node) -> Iterator[Reference]:
    key, owner = path[len(path) - 1], path[1] if len(path) > 1 else ""
    items = list(enumerate(node.items)) if isinstance(node, SequenceNode) else []
    for place, item in [((*path, str(index)), item) for index, item in items] or [(path, node)]:
        if isinstance(item, ScalarNode):
            yield Reference(place, place, item.text, key, owner)


# --------------------------------------------------------------------------------------------------------------- moving


def _move(tree: Tree, move: Move) -> None:
    """Move a node of a tree to its new path and name."""
    value = tree.get(move.old)
    parent: Any = tree.get(move.old[:-1])
    if move.old[:-1] == move.new[:-1]:
        entries = {(move.new[-1] if name == move.old[-1] else name): item for name, item in parent.items()}
        parent.clear()
        parent.update(entries)
    else:
        target: Any = tree.value
        for name in move.new[:-1]:
            target = target.setdefault(name, {})
        target[move.new[-1]] = copy.deepcopy(value)
        del parent[move.old[-1]]
        _remove_empty(tree, move.old[:-1])
    for path in [path for path in tree.comments if path[: len(move.old)] == move.old]:
        tree.comments[(*move.new, *path[len(move.old) :])] = tree.comments.pop(path)


def _remove_empty(tree: Tree, path: Path) -> None:
    while len(path) > 1 and tree.get(path) == {}:
        parent: Any = tree.get(path[:-1])
        del parent[path[-1]]
        path = path[:-1]


def _follower(move: Move, tree: Tree) -> Callable[[Reference], str | None] | None:
    """Return a function that updates a reference after a move, and returns None if it is unchanged."""
    old, new = move.old, move.new
    if old[0] in TYPES and len(old) == 2:
        return lambda found: _type_word(found, old[1], new[1])
    if old[0] == "resources" and len(old) == 2:
        return lambda found: _resource_word(found, old[1], new[1])
    if old[0] == "resources" and len(old) == 4 and old[2] == "endpoints" and old[1] == new[1]:
        return lambda found: _endpoint_word(found, old[1], old[3], new[3])
    if old[0] == "entities" and len(old) == 4 and old[2] == "fields":
        owners = {name for name, resource in _resources(tree) if resource.get("schema") == old[1]}
        return lambda found: _field_word(found, old[1], owners, old[3], new[3])
    return None


def _resources(tree: Tree) -> Iterator[tuple[str, dict[str, Any]]]:
    table = tree.value.get("resources")
    for name, resource in table.items() if isinstance(table, dict) else ():
        if isinstance(resource, dict):
            yield name, resource


def _type_word(found: Reference, old: str, new: str) -> str | None:
    bare = found.word.rstrip("?!")
    return new + found.word[len(bare) :] if found.kind == "type" and bare == old else None


def _resource_word(found: Reference, old: str, new: str) -> str | None:
    if found.kind != "expires":
        return None
    if found.word == old:
        return new
    return new + found.word[len(old) :] if found.word.startswith(f"{old}.") else None


def _endpoint_word(found: Reference, resource: str, old: str, new: str) -> str | None:
    if found.kind == "expires" and found.word == f"{resource}.{old}":
        return f"{resource}.{new}"
    return new if found.kind in ("expires", "extends") and found.owner == resource and found.word == old else None


def _field_word(found: Reference, entity: str, resources: set[str], old: str, new: str) -> str | None:
    if found.place[0] == "entities":
        names = found.kind in ("pk", "indexes") and found.owner == entity and found.word == old
        return new if names else None
    if found.owner not in resources:
        return None
    if found.kind == "next" and found.word == f"last.{old}":
        return f"last.{new}"
    return new if found.kind == "needs" and found.word == old else None


def _move_examples(tree: Tree, move: Move) -> None:
    if len(move.old) != 4 or move.old[2] != "endpoints" or move.old[1] != move.new[1]:
        return
    path = ("resources", move.old[1], "examples", move.old[3])
    if tree.has(path):
        _move(tree, Move(path, (*path[:3], move.new[3]), move.origin))


def _field_tables(side: Side) -> Iterator[tuple[Path, Mapping[str, Part]]]:
    """Yield each mapping of fields, with its key path."""
    inner = shapes.inner(TOP, None)
    assert inner is not None

    def walk(path: Path, shape: Shape, part: Part) -> Iterator[tuple[Path, Mapping[str, Part]]]:
        found = shapes.inner(shape, part.node)
        if found is None or not part.parts or shapes.is_field(shape):
            return
        if isinstance(shape, Fields) or shapes.is_field(found("")):
            yield path, part.parts
            return
        for name, each in part.parts.items():
            yield from walk((*path, name), found(name), each)

    for name, part in side.parts.items():
        yield from walk((name,), inner(name), part)
