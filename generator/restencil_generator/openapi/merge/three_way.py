"""The decision table of the merge: ours, theirs or a conflict for each node.

Three specs are compared: the *base* (the result of the last import), *ours* (the existing spec) and *theirs* (the
result of the current import). Nothing is written here: `apply` writes the chosen nodes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Literal, TypeAlias, TypeVar

from restencil_generator.diagnostics.model import Place, Problem
from restencil_generator.openapi.merge import merge_kinds as shapes
from restencil_generator.openapi.merge.merge_kinds import TOP, TYPE, Shape
from restencil_generator.openapi.merge.source_map import Part, Side, equal, value_of
from restencil_generator.openapi.spec_tree import Value
from restencil_generator.spec.load import MERGED
from restencil_generator.spec.source.nodes import MappingNode, Node, SequenceNode

Path: TypeAlias = tuple[str, ...]

Take: TypeAlias = Literal["ours", "theirs", "inside", "items"]

K = TypeVar("K")

COMMENT: Final = "#"
"""The suffix of the name of a comment: `entities.Order.pk#` is the comment of `entities.Order.pk`."""


@dataclasses.dataclass(slots=True, eq=False)
class Choice:
    """The decision for a node: ours or theirs unchanged, its parts one by one (`inside`), or `items` of a list.

    With `whole`, its lines are kept, or replaced by theirs including comments; else `comments` has the changes of
    comments.
    """

    path: Path
    ours: Part | None
    theirs: Part | None
    take: Take
    whole: bool = False
    parts: dict[str, Choice] = dataclasses.field(default_factory=dict[str, "Choice"])
    items: list[Node] = dataclasses.field(default_factory=list[Node])
    comments: Comments | None = None

    @property
    def kept(self) -> bool:
        """Whether nothing of it changes."""
        return self.take == "ours" and self.whole


@dataclasses.dataclass(frozen=True, slots=True)
class Comments:
    """The changes of a node's comments: some are replaced, some removed, some added above or after its key."""

    replaced: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])
    dropped: tuple[str, ...] = ()
    above: tuple[str, ...] = ()
    behind: str = ""

    def __bool__(self) -> bool:
        return bool(self.replaced or self.dropped or self.above or self.behind)


@dataclasses.dataclass(slots=True)
class Settled:
    """The resolution of conflicts: names of nodes, whose conflicts and nested ones go to one side; `*` is all."""

    ours: Sequence[str] = ()
    theirs: Sequence[str] = ()
    used: set[str] = dataclasses.field(default_factory=set[str])

    def side(self, name: str) -> Literal["ours", "theirs"] | None:
        """Return the side for a conflict; the longest matching name wins."""
        found: tuple[int, Literal["ours", "theirs"]] | None = None
        sides: tuple[tuple[Literal["ours", "theirs"], Sequence[str]], ...] = (
            ("ours", self.ours),
            ("theirs", self.theirs),
        )
        for side, names in sides:
            for given in names:
                if given == "*" or name == given or name.startswith((f"{given}.", f"{given}{COMMENT}")):
                    self.used.add(given)
                    if found is None or len(given) > found[0]:
                        found = len(given), side
        return found[1] if found else None


@dataclasses.dataclass(frozen=True)
class Conflict(Problem):
    """A node that both sides changed: its key path in theirs, and its values here, in the last import, and `now`."""

    path: Path = ()
    before: str = ""
    now: str = ""

    def with_upstream(self, place: str) -> Problem:
        """Return the problem with the place of theirs in the document."""
        return dataclasses.replace(self, hint=f"{self.before}, {place} now {self.now}")


@dataclasses.dataclass(frozen=True, slots=True)
class Renamed:
    """A node with another name in ours than the last import gave it: its name `was`, and its origin."""

    was: Path
    origin: str


class Merger:
    """Decides for every node of three specs. `choices` are the top-level decisions; `problems` are the findings.

    `renamed` are the nodes with another name in ours, which base and theirs already have.
    """

    def __init__(
        self,
        sides: tuple[Side, Side, Side],
        settled: Settled,
        renamed: Mapping[Path, Renamed],
    ) -> None:
        self.base, self.ours, self.theirs = sides
        self.settled = settled
        self.renamed = renamed
        self.around_renamed = {path[:length] for path in renamed for length in range(len(path))}
        self.conflicts: list[Conflict] = []
        self.notices: list[Problem] = []

    def merge(self) -> dict[str, Choice]:
        """Return the decisions for the top-level entries, in order."""
        inner = shapes.inner(TOP, None)
        assert inner is not None
        return self._parts((), inner, self.base.parts, self.ours.parts, self.theirs.parts)

    # ------------------------------------------------------------------------------------------------------- the table

    def _parts(
        self,
        path: Path,
        inner: Callable[[str], Shape],
        base: Mapping[str, Part],
        ours: Mapping[str, Part],
        theirs: Mapping[str, Part],
    ) -> dict[str, Choice]:
        chosen: dict[str, Choice] = {}
        for name in dict.fromkeys((*ours, *theirs)):
            made = self._node((*path, name), inner(name), base.get(name), ours.get(name), theirs.get(name))
            if made is not None:
                chosen[name] = made
        return {name: chosen[name] for name in _order(chosen, list(base), list(ours), list(theirs))}

    def _node(
        self, path: Path, shape: Shape, base: Part | None, ours: Part | None, theirs: Part | None
    ) -> Choice | None:
        present = [part for part in (base, ours, theirs) if part is not None]
        named = len(path) == 2 and path[0] in MERGED  # a named entry exists even if it is empty
        if shapes.is_table(shape) and not named and all(_holds_entries(part) for part in present):
            return self._table(path, shape, base, ours, theirs)
        if ours is None:
            return self._without_ours(path, shape, base, theirs)
        if theirs is None:
            return self._without_theirs(path, shape, base, ours)
        if base is not None and _same_lines(base, theirs):
            return Choice(path, ours, theirs, "ours", whole=True)
        if base is not None and path not in self.around_renamed and _same_lines(base, ours):
            return Choice(path, ours, theirs, "theirs", whole=True)
        inners = [shapes.inner(shape, part.node) if not part.alias() else None for part in present]
        if inners[-1] is None or None in inners:
            return self._leaf(path, shape, base, ours, theirs)
        entries = (_entries(part, shape) for part in (base, ours, theirs))
        made = Choice(path, ours, theirs, "inside", parts=self._parts(path, inners[-1], *entries))
        return self._finished(made, base, _entries(ours, shape))

    def _without_ours(self, path: Path, shape: Shape, base: Part | None, theirs: Part | None) -> Choice | None:
        if theirs is None:
            return None
        if base is None:
            return Choice(path, None, theirs, "theirs", whole=True)
        if not same(base, theirs, shape):
            self._tell("removed-here", path, f"{shown(path)} was removed here, changed upstream; it stays removed")
        return None

    def _without_theirs(self, path: Path, shape: Shape, base: Part | None, ours: Part) -> Choice | None:
        if base is not None:
            if path not in self.renamed and path not in self.around_renamed and same(base, ours, shape):
                return None
            self._gone_upstream(path, ours)
        return Choice(path, ours, None, "ours", whole=True)

    def _gone_upstream(self, path: Path, ours: Part) -> None:
        renamed = self.renamed.get(path)
        if renamed is None:
            self._tell(
                "removed-upstream", path, f"{shown(path)} was removed upstream and edited here; it is kept", ours
            )
            return
        what = {"resources": "resource", "fields": "field", "endpoints": "endpoint"}.get(path[-2], path[-2][:-1])
        if path[0] == "entities" and len(path) == 2:
            what = "entity"
        changed = "whose path changed upstream" if what in ("resource", "endpoint") else "which changed upstream"
        message = (
            f"{what} '{path[-1]}' was '{renamed.was[-1]}', {changed}: `{renamed.origin}` no longer exists; it is kept"
        )
        self._tell("import-rename-lost", path, message, ours)

    def _table(
        self, path: Path, shape: Shape, base: Part | None, ours: Part | None, theirs: Part | None
    ) -> Choice | None:
        """Merge a table, which exists as long as it is not empty: it is removed with its last entry."""
        if ours is None and (base is None or (len(path) > 1 and len(base.parts) > 1)):
            return self._without_ours(path, shape, base, theirs)
        inner = shapes.inner(shape, None)
        assert inner is not None
        entries = [part.parts if part is not None else {} for part in (base, ours, theirs)]
        made = Choice(path, ours, theirs, "inside", parts=self._parts(path, inner, *entries))
        if not made.parts and (ours is None or ours.parts):
            remarked = ours is not None and base is not None and _remarks(ours) != _remarks(base)
            return self._without_theirs(path, shape, base, ours) if remarked and ours is not None else None
        return self._finished(made, base, ours.parts if ours is not None else {})

    def _leaf(self, path: Path, shape: Shape, base: Part | None, ours: Part, theirs: Part) -> Choice:
        present = [part for part in (base, ours, theirs) if part is not None]
        if all(shapes.is_set(shape, path[-1], part.node) for part in present):
            made = self._set(path, base, ours, theirs)
        else:
            made = Choice(path, ours, theirs, self._value(path, base, ours, theirs))
        return self._finished(made, base, {})

    def _value(self, path: Path, base: Part | None, ours: Part, theirs: Part) -> Literal["ours", "theirs"]:
        here, upstream = value_of(ours.node), value_of(theirs.node)
        before = value_of(base.node) if base is not None else None
        if equal(here, upstream) or (base is not None and equal(before, upstream)):
            return "ours"
        if base is not None and equal(before, here):
            return "theirs"
        last = f"last import {excerpt(base.node)}" if base is not None else "not in the last import"
        before = f"here {excerpt(ours.node)}, {last}"
        return self._conflict(path, "", before, excerpt(theirs.node), _place(ours))

    def _set(self, path: Path, base: Part | None, ours: Part, theirs: Part) -> Choice:
        """Merge lists by adding and removing items; if both sides change the order, the order is ours."""
        here, upstream = _items(ours.node), _items(theirs.node)
        before = _items(base.node) if base is not None else {}
        kept = {key: node for key, node in here.items() if key in upstream or key not in before}
        kept |= {key: node for key, node in upstream.items() if key not in here and key not in before}
        order = _order(kept, list(before), list(here), list(upstream))
        if order == list(here):
            return Choice(path, ours, theirs, "ours")
        return Choice(path, ours, theirs, "items", items=[kept[key] for key in order])

    # -------------------------------------------------------------------------------------------------------- comments

    def _finished(self, made: Choice, base: Part | None, ours: Mapping[str, Part]) -> Choice:
        """Add the changes of comments to a decision; if nothing changes, the lines are kept."""
        if made.ours is not None and made.theirs is not None:
            made.comments = self._comments(made.path, base, made.ours, made.theirs)
        if made.take == "inside" and made.ours is not None:
            unchanged = list(made.parts) == list(ours) and all(part.kept for part in made.parts.values())
        else:
            unchanged = made.take == "ours"
        if unchanged:
            made.take, made.whole = "ours", not made.comments
        return made

    def _comments(self, path: Path, base: Part | None, ours: Part, theirs: Part) -> Comments:
        """Merge comments: a comment that an import wrote is a leaf; all others stay in place."""
        here = [text for text in (*ours.above, ours.behind) if text]
        last, upstream = base.behind if base is not None else "", theirs.behind
        replaced: dict[str, str] = {}
        before = base.above if base is not None else ()
        dropped = [text for text in before if text not in theirs.above and text in here]
        above = [text for text in theirs.above if text not in before and text not in here]
        behind = ""
        if last == upstream or upstream in here:
            pass
        elif not last:
            if ours.behind:
                above.append(upstream)
            else:
                behind = upstream
        elif last in here:
            if upstream:
                replaced[last] = upstream
            else:
                dropped.append(last)
        elif self._comment_edited(path, last, ours, upstream) == "theirs":
            replaced[ours.behind] = upstream
        return Comments(replaced, tuple(dropped), tuple(above), behind)

    def _comment_edited(self, path: Path, last: str, ours: Part, upstream: str) -> Literal["ours", "theirs"]:
        """Decide for a comment that ours or theirs changed since the last import."""
        what = f"the comment of {shown(path)}"
        if not ours.behind:
            if upstream:
                self._tell("removed-here", path, f"{what} was removed here, changed upstream; it stays removed", ours)
            return "ours"
        if not upstream:
            self._tell("removed-upstream", path, f"{what} was removed upstream and edited here; it is kept", ours)
            return "ours"
        line, column = ours.key.line, ours.text.comments[ours.key.line][0]
        place = Place(ours.text.file, line + 1, column + 1, line + 1, len(ours.text.lines[line].rstrip("\r\n")) + 1)
        before = f"here '{ours.behind}', last import '{last}'"
        return self._conflict(path, COMMENT, before, f"'{upstream}'", place)

    # -------------------------------------------------------------------------------------------------------- notices

    def _conflict(self, path: Path, mark: str, before: str, now: str, place: Place) -> Literal["ours", "theirs"]:
        name = shown(path) + mark
        side = self.settled.side(name)
        if side is None:
            message, hint = f"{name} changed here and upstream", f"{before}, upstream now {now}"
            self.conflicts.append(Conflict("import-conflict", message, place, hint, path=path, before=before, now=now))
        return side or "ours"

    def _tell(self, code: str, path: Path, message: str, part: Part | None = None) -> None:
        severity: Literal["warning", "note"] = "note" if code == "removed-here" else "warning"
        place = _key_place(part) if part is not None else self._nearest(path)
        self.notices.append(Problem(code, message, place, severity=severity))

    def _nearest(self, path: Path) -> Place:
        """Return the place of the nearest existing node around a missing one."""
        for length in range(len(path) - 1, 0, -1):
            part = self.ours.get(path[:length])
            if part is not None:
                return _key_place(part)
        return Place(self.ours.texts[0].file)


def same(one: Part, other: Part, shape: Shape) -> bool:
    """Return whether two nodes are equal, including comments; formatting is ignored."""
    if _remarks(one) != _remarks(other):
        return False
    inner, others = shapes.inner(shape, one.node), shapes.inner(shape, other.node)
    if inner is None or others is None:
        return equal(value_of(one.node), value_of(other.node))
    mine, its = _entries(one, shape), _entries(other, shape)
    if not mine and not its:
        return equal(value_of(one.node), value_of(other.node))
    return mine.keys() == its.keys() and all(same(part, its[name], inner(name)) for name, part in mine.items())


def shown(path: Path) -> str:
    """Return the name of a node for messages; a field's type has the name of the field."""
    if len(path) > 2 and path[-1] == TYPE:
        path = path[:-1]
    return ".".join(path)


def excerpt(node: Node) -> str:
    """Format a value for messages, on one line."""
    text = _flow(value_of(node))
    return text if len(text) <= 60 else text[:59] + "…"


def _flow(value: Value) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(_flow, value))}]"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _holds_entries(part: Part) -> bool:
    return isinstance(part.node, MappingNode) and not part.alias()


def _entries(part: Part | None, shape: Shape) -> dict[str, Part]:
    """Return the entries of a node; a field that is not a mapping has its type."""
    if part is None:
        return {}
    if shapes.is_field(shape) and not shapes.describes(part.node):
        return {TYPE: Part(TYPE, part.key, part.node, part.text, part.block, part.start, part.end, bare=True)}
    return part.parts


def _same_lines(one: Part, other: Part) -> bool:
    """Return whether two entries have the same lines except indentation."""
    if not (one.block and other.block) or one.bare is not other.bare:
        return False
    lines, others = one.lines(), other.lines()
    if len(lines) != len(others):
        return False
    shift, its = one.key.column, other.key.column
    return all(_dedented(line, shift) == _dedented(line_, its) for line, line_ in zip(lines, others, strict=True))


def _dedented(line: str, indent: int) -> str:
    line = line.rstrip("\r\n")
    return line[indent:] if line[:indent].isspace() or not indent else line.lstrip()


def _remarks(part: Part) -> tuple[object, ...]:
    return part.above, part.behind, part.inside


def _items(node: Node) -> dict[tuple[str, str], Node]:
    assert isinstance(node, SequenceNode)
    return {(type(value).__name__, str(value)): item for item in node.items for value in [value_of(item)]}


def _order(chosen: Iterable[K], base: list[K], ours: list[K], theirs: list[K]) -> list[K]:
    """Return the order of the chosen names: ours, or theirs if ours is unchanged. New names are as in theirs."""
    chosen = set(chosen)
    known = [name for name in ours if name in chosen]
    before, here = [name for name in base if name in ours], [name for name in ours if name in set(base)]
    if before == here:
        common = [name for name in theirs if name in set(known)]
        known = _woven(common, known)
    return _woven(known, [name for name in theirs if name in chosen])


def _woven(order: list[K], other: list[K]) -> list[K]:
    """Return a list with the items that only the other one has, each after its predecessor there."""
    woven = list(order)
    have = set(order)
    for index, name in enumerate(other):
        if name not in have:
            woven.insert(woven.index(other[index - 1]) + 1 if index else 0, name)
            have.add(name)
    return woven


def _place(part: Part) -> Place:
    """Return the place of a value, or of its first line."""
    if part.alias() or part.node.line != part.key.line:
        return _key_place(part)
    place = part.node.place
    if place.end_line == place.line:
        return place
    return Place(place.file, place.line, place.column, place.line, len(part.text.lines[place.line - 1].rstrip()) + 1)


def _key_place(part: Part) -> Place:
    return part.key.place


def names_of(problems: Iterable[Problem]) -> list[str]:
    """Return the nodes in conflict, named as in `--ours` and `--theirs`."""
    return [problem.message.partition(" changed here and upstream")[0] for problem in problems]
