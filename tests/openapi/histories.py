"""Histories of an imported spec: what people edit in its text, and what the document changes meanwhile.

Each edit and each change remembers what it did, so that a test can ask for it after the merge. Names are unique in
their first letters, so an edit of a name may replace the word wherever it stands.
"""

from __future__ import annotations

import copy
import dataclasses
import re
from random import Random
from typing import Any

from restencil_generator.openapi.merge.source_map import Part, Side, read_side
from restencil_generator.openapi.spec_tree import NodePath, Tree
from restencil_generator.openapi.spec_writer import write

SCALARS = ("string", "integer", "number", "boolean", "date", "datetime", "decimal", "uuid", "string?", "integer?")


def base_tree(random: Random) -> Tree:
    """A spec such as an import writes."""
    tree = Tree({"restencil": 1, "package": "shop", "title": "Shop"}, ["Imported by restencil from shop.json."])
    value: dict[str, Any] = tree.value
    value["wire_names"] = "camelCase"
    value["options"] = {"retries": 2, "timeout": "10s"}
    value["errors"] = {"400": "ProblemObj", "404": "ProblemObj"}
    tree.comments["errors",] = "on 8 of 9 operations"
    value["enums"] = {f"Kind{index}En": ["alpha", "beta", "gamma", "delta"] for index in range(random.randint(1, 3))}
    value["objects"] = {"ProblemObj": {"title": "string", "detail": "string?"}}
    for index in range(random.randint(1, 3)):
        value["objects"][f"Box{index}Obj"] = _fields(random, value)
    value["entities"] = {}
    value["resources"] = {}
    for index in range(random.randint(1, 4)):
        name = f"Thing{index}Ent"
        value["entities"][name] = {"pk": "id", "fields": {"id": "integer", **_fields(random, value)}}
        tree.comments["entities", name, "pk"] = "pk: the id"
        value["resources"][f"things{index}"] = _resource(random, name, f"things{index}")
        if random.random() < 0.3:
            tree.comments["resources", f"things{index}"] = "check: guessed"
    return tree


def _type(random: Random, value: dict[str, Any]) -> Any:
    named = [*value["enums"], *value["objects"], *value.get("entities", {})]
    return random.choice([*SCALARS, random.choice(named), [random.choice(named)], {"values": "integer"}])


def _field(random: Random, value: dict[str, Any]) -> Any:
    made = _type(random, value)
    if random.random() < 0.5:
        return made
    described = {"type": made, "description": random.choice(["Some text.", "A: b, {c} # d", "Line one.\nLine two."])}
    if random.random() < 0.3:
        described["read_only"] = True
    return described


def _fields(random: Random, value: dict[str, Any]) -> dict[str, Any]:
    return {
        f"f{index}_{random.choice(['alpha', 'beta', 'long_name'])}": _field(random, value)
        for index in range(random.randint(1, 5))
    }


def _resource(random: Random, entity: str, name: str) -> dict[str, Any]:
    made: dict[str, Any] = {"path": f"/{name}/:id", "schema": entity, "members": ["get", "get_list", "push", "delete"]}
    if random.random() < 0.6:
        made["search_params"] = {"limit": "integer?", "q_word": "string?"}
        made["collection"] = {"non_filter_arguments": ["limit"]}
    if random.random() < 0.8:
        made["endpoints"] = {
            f"act{index}": {
                "method": "POST",
                "path": f"/{name}/:id/act{index}",
                "body": {"note": "string"},
                "schema": entity,
            }
            for index in range(random.randint(1, 3))
        }
    return made


# ------------------------------------------------------------------------------------------------------------- upstream


@dataclasses.dataclass(frozen=True)
class Change:
    """Something that the document changed: `set`, `added`, `removed`, or another `comment`."""

    kind: str
    path: NodePath
    value: Any = None


def upstream(random: Random, base: Tree, count: int) -> tuple[Tree, list[Change]]:
    """What an import gives after some changes of the document."""
    tree = copy.deepcopy(base)
    changes: list[Change] = []
    touched: set[NodePath] = set()
    for number in range(count):
        change = _change(random, tree, number)
        if change is None or any(_related(change.path, path) for path in touched):
            continue
        touched.add(change.path)
        _apply(random, tree, change)
        changes.append(change)
    return tree, changes


def _related(one: NodePath, other: NodePath) -> bool:
    return one[: len(other)] == other or other[: len(one)] == one


def _nodes(tree: Tree, pattern: str) -> list[NodePath]:
    return [path for path, _ in tree.nodes() if re.fullmatch(pattern, ".".join(path))]


def _change(random: Random, tree: Tree, number: int) -> Change | None:
    value: Any = tree.value
    kinds = [
        "field",
        "field",
        "new field",
        "gone field",
        "described",
        "new endpoint",
        "gone endpoint",
        "timeout",
        "members",
    ]
    kind = random.choice(
        [*kinds, "enum", "new resource", "gone resource", "comment", "path", "title", "new object", "option"]
    )
    pattern = {
        "field": r"(entities\.\w+\.fields|objects\.\w+)\.f\w+",
        "gone field": r"(entities\.\w+\.fields|objects\.\w+)\.f\w+",
        "described": r"(entities\.\w+\.fields|objects\.\w+)\.f\w+\.description",
        "new field": r"entities\.\w+\.fields|objects\.\w+|resources\.\w+\.search_params",
        "new endpoint": r"resources\.\w+\.endpoints",
        "gone endpoint": r"resources\.\w+\.endpoints\.\w+",
        "timeout": r"resources\.\w+\.endpoints\.\w+",
        "members": r"resources\.\w+\.members",
        "enum": r"enums\.\w+",
        "gone resource": r"resources\.\w+",
        "path": r"resources\.\w+\.endpoints\.\w+\.path",
        "new object": "objects",
        "new resource": "resources",
        "comment": r"entities\.\w+\.pk|errors",
        "title": "title",
        "option": "options",
    }[kind]
    found = _nodes(tree, pattern)
    if not found:
        return None
    path = random.choice(found)
    match kind:
        case "field":
            old = tree.get(path)
            if isinstance(old, dict) and "type" in old:
                return Change("set", (*path, "type"), _type(random, value))
            return Change("set", path, _type(random, value))
        case "new field":
            return Change(
                "added", (*path, f"n{number}_new"), _field(random, value) if path[0] != "resources" else "string?"
            )
        case "gone field" | "gone endpoint" | "gone resource":
            return Change("removed", path)
        case "described" | "title":
            return Change(
                "set",
                path,
                random.choice([f"Other text {number}.", f"Two\nlines {number}."]) if kind != "title" else "Store",
            )
        case "new endpoint":
            return Change("added", (*path, f"new{number}"), {"method": "PUT", "path": f"/new{number}", "schema": None})
        case "timeout":
            return Change("added", (*path, "options"), {"timeout": f"{number + 1}s"})
        case "members" | "enum":
            listed: Any = tree.get(path)
            items = list(listed)
            changed = [item for item in items if random.random() < 0.8] or items[:1]
            changed.insert(random.randint(0, len(changed)), f"new{number}" if kind == "enum" else "update")
            return Change("items", path, changed if "update" not in items else items)
        case "new resource":
            return Change(
                "added", (*path, f"news{number}"), _resource(random, next(iter(value["entities"])), f"news{number}")
            )
        case "new object":
            return Change("added", (*path, f"New{number}Obj"), {"a": "string", "b": "integer?"})
        case "path":
            return Change("set", path, f"/changed{number}")
        case "option":
            return Change("added", (*path, "poll_frequency"), "5s")
        case _:
            return Change("comment", path, random.choice([f"check: other {number}", ""]))


def _apply(random: Random, tree: Tree, change: Change) -> None:
    if change.kind == "comment":
        tree.comments.pop(change.path, None)
        if change.value:
            tree.comments[change.path] = change.value
        return
    if change.kind == "removed":
        tree.remove(change.path)
        if not tree.get(change.path[:-1]):
            tree.remove(change.path[:-1])
        return
    parent: Any = tree.get(change.path[:-1])
    if change.kind != "added":
        parent[change.path[-1]] = change.value
        return
    items = list(parent.items())
    items.insert(random.randint(0, len(items)), (change.path[-1], change.value))
    parent.clear()
    parent.update(items)


# ----------------------------------------------------------------------------------------------------------------- here


@dataclasses.dataclass(frozen=True)
class Edit:
    """Something that a person edited: `set`, `added`, `removed` at a key path, a `comment` (its text is `value`), or
    another name."""

    kind: str
    path: NodePath
    value: Any = None


class Editor:
    """Edits the text of a spec as a person would, line by line."""

    def __init__(self, random: Random, text: str) -> None:
        self.random = random
        self.text = text
        self.edits: list[Edit] = []
        self.names: dict[NodePath, NodePath] = {}
        """Where nodes of the base are that have another name."""
        self.number = 0

    def side(self) -> Side:
        side = read_side({"spec": self.text}, [])
        assert side is not None, self.text
        return side

    def edit(self) -> None:
        """One edit at random."""
        before = self.text
        for _ in range(20):
            self._try()
            if self.text != before:
                return

    def _try(self) -> None:
        self.number += 1
        parts = [(path, part) for path, part in _all(self.side()) if part.block and len(path) > 1]
        path, part = self.random.choice(parts)
        if any(edit.kind in ("added", "removed") and _related(edit.path, path) for edit in self.edits):
            return
        kinds = [self._set, self._set, self._comment_above, self._comment_behind, self._no_comment, self._remove]
        kinds += [
            self._add,
            self._rename_field,
            self._rename_type,
            self._rename_member,
            self._swap,
            self._unfold,
            self._blank,
        ]
        kinds += [self._set_within, self._quote]
        self.random.choice(kinds)(path, part)

    def _lines(self) -> list[str]:
        return self.text.split("\n")

    def _replace(self, start: int, end: int, lines: list[str]) -> None:
        all_lines = self._lines()
        all_lines[start:end] = lines
        self.text = "\n".join(all_lines)

    def _one_line(self, part: Part) -> bool:
        return part.node.line == part.node.end_line == part.key.line

    def _set(self, path: NodePath, part: Part) -> None:
        if (
            not self._one_line(part)
            or path[-1] in ("path", "schema", "pk")
            or (len(path) == 2 and path[0] in ("entities", "resources"))
        ):
            return
        line = self._lines()[part.key.line]
        old = line[part.node.column : part.node.end_column]
        if old[0] in "{[|" or path[0] == "enums" or path[-1] in ("members", "method", "wire"):
            return
        new = self.random.choice(SCALARS) if _is_field(path) else f"mine{self.number}"
        if new == old:
            return
        self._replace(part.key.line, part.key.line + 1, [line[: part.node.column] + new + line[part.node.end_column :]])
        self._note(Edit("set", path, new))

    def _set_within(self, path: NodePath, part: Part) -> None:
        """Changes a description inside of braces."""
        inner = part.parts.get("description")
        if inner is None or inner.block or not self._one_line(inner):
            return
        line = self._lines()[inner.key.line]
        new = f"Mine {self.number}"
        self._replace(
            inner.key.line, inner.key.line + 1, [line[: inner.node.column] + new + line[inner.node.end_column :]]
        )
        self._note(Edit("set", (*path, "description"), new))

    def _quote(self, path: NodePath, part: Part) -> None:
        """Puts quotes around a text, which changes nothing."""
        if self._one_line(part) and not part.parts:
            line = self._lines()[part.key.line]
            old = line[part.node.column : part.node.end_column]
            if re.fullmatch(r"[a-z]\w*\??", old) and old not in ("true", "false", "null"):
                self._replace(
                    part.key.line,
                    part.key.line + 1,
                    [f"{line[: part.node.column]}'{old}'{line[part.node.end_column :]}"],
                )

    def _comment_above(self, path: NodePath, part: Part) -> None:
        text = f"my note {self.number}"
        self._replace(part.key.line, part.key.line, [" " * part.key.column + "# " + text])
        self._note(Edit("comment", path, text))

    def _comment_behind(self, path: NodePath, part: Part) -> None:
        line = self._lines()[part.key.line]
        if part.node.end_line != part.key.line and not part.holds_lines:
            return
        text = f"my remark {self.number}"
        if part.behind:
            line = line[: part.text.comments[part.key.line][0]].rstrip()
        self._replace(part.key.line, part.key.line + 1, [f"{line}   # {text}"])
        self.edits = [edit for edit in self.edits if not (edit.kind == "comment" and edit.value == part.behind)]
        self._note(Edit("comment", path, text))

    def _no_comment(self, path: NodePath, part: Part) -> None:
        if part.behind and "my" not in part.behind:
            line = self._lines()[part.key.line]
            self._replace(part.key.line, part.key.line + 1, [line[: part.text.comments[part.key.line][0]].rstrip()])
            self._note(Edit("no comment", path, part.behind))

    def _remove(self, path: NodePath, part: Part) -> None:
        siblings = self.side().get(path[:-1])
        if (
            siblings is None
            or len(siblings.parts) < 2
            or path[-1] in ("path", "schema", "pk", "fields", "type", "id", "method", "body", "wire")
        ):
            return
        if any(_related(path, edit.path) for edit in self.edits):
            return
        self._replace(part.start, part.end, [])
        self._note(Edit("removed", path))

    def _add(self, path: NodePath, part: Part) -> None:
        if _is_field(path) and len(path) == (4 if path[0] == "entities" else 3):
            name = f"mine{self.number}"
            self._replace(part.end, part.end, [f"{' ' * part.key.column}{name}: string   # own"])
            self._note(Edit("added", (*path[:-1], name), "string"))

    def _rename_field(self, path: NodePath, part: Part) -> None:
        if (
            not _is_field(path)
            or path[-1] == "id"
            or len(path) != (4 if path[0] == "entities" else 3)
            or "wire" in part.parts
        ):
            return
        if path[-1].startswith(("mine", "renamed")) or not self._one_line(part):
            return
        name = f"renamed{self.number}"
        line = self._lines()[part.key.line]
        wire = path[-1].split("_")[0] + "".join(word.capitalize() for word in path[-1].split("_")[1:])
        value = line[part.node.column : part.node.end_column]
        described = "type" in part.parts
        new = f"{value[:-1]}, wire: {wire}}}" if described else f"{{type: {value}, wire: {wire}}}"
        self._replace(
            part.key.line, part.key.line + 1, [f"{line[: part.key.column]}{name}: {new}{line[part.node.end_column :]}"]
        )
        self._renamed(path, (*path[:-1], name))

    def _rename_type(self, path: NodePath, part: Part) -> None:
        if (
            len(path) != 2
            or path[0] not in ("entities", "objects", "enums")
            or "Own" in path[1]
            or path[1] == "ProblemObj"
        ):
            return
        name = f"Own{self.number}Type"
        self.text = re.sub(rf"\b{path[1]}\b", name, self.text)
        self._renamed(path, (path[0], name))

    def _rename_member(self, path: NodePath, part: Part) -> None:
        if (
            path[0] != "resources"
            or len(path) not in (2, 4)
            or (len(path) == 4 and path[2] != "endpoints")
            or "own" in path[-1]
        ):
            return
        name = f"own{self.number}"
        line = self._lines()[part.key.line]
        self._replace(part.key.line, part.key.line + 1, [line[: part.key.column] + name + line[part.key.end_column :]])
        self._renamed(path, (*path[:-1], name))

    def _swap(self, path: NodePath, part: Part) -> None:
        """Puts a part before the one that it follows, comments and all."""
        parent = self.side().get(path[:-1])
        if parent is None:
            return
        names = list(parent.parts)
        index = names.index(path[-1])
        if index == 0:
            return
        before = parent.parts[names[index - 1]]
        lines = self._lines()
        self._replace(before.start, part.end, [*lines[part.start : part.end], *lines[before.start : before.end]])

    def _unfold(self, path: NodePath, part: Part) -> None:
        """Gives each entry between braces a line of its own."""
        if not part.parts or part.holds_lines or not self._one_line(part):
            return
        line = self._lines()[part.key.line]
        indent = " " * (part.key.column + 2)
        inner = [indent + line[entry.key.column : entry.node.end_column] for entry in part.parts.values()]
        comment = f"  # {part.behind}" if part.behind else ""
        self._replace(part.key.line, part.key.line + 1, [line[: part.key.end_column] + ":" + comment, *inner])

    def _blank(self, path: NodePath, part: Part) -> None:
        self._replace(part.start, part.start, [""])

    def _note(self, edit: Edit) -> None:
        self.edits = [known for known in self.edits if (known.kind, known.path) != (edit.kind, edit.path)]
        self.edits.append(edit)

    def _renamed(self, old: NodePath, new: NodePath) -> None:
        origin = next((was for was, now in self.names.items() if now == old), None)
        self.names = {was: _under(now, old, new) for was, now in self.names.items()}
        self.edits = [dataclasses.replace(edit, path=_under(edit.path, old, new)) for edit in self.edits]
        if origin is None:
            self.names[*self.was(old[:-1]), old[-1]] = new
        self._note(Edit("renamed", new))

    def was(self, path: NodePath) -> NodePath:
        """The key path that a node has in the base."""
        for length in range(len(path), 0, -1):
            for old, new in self.names.items():
                if new == path[:length]:
                    return (*old, *path[length:])
        return path

    def now(self, path: NodePath) -> NodePath:
        """The key path that a node of the base has here."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.names:
                return (*self.names[path[:length]], *path[length:])
        return path


def _under(path: NodePath, old: NodePath, new: NodePath) -> NodePath:
    return (*new, *path[len(old) :]) if path[: len(old)] == old else path


def _is_field(path: NodePath) -> bool:
    name = ".".join(path)
    return re.match(r"entities\.\w+\.fields\.|objects\.\w+\.", name) is not None


def _all(side: Side) -> list[tuple[NodePath, Part]]:
    found: list[tuple[NodePath, Part]] = []

    def below(path: NodePath, parts: dict[str, Part]) -> None:
        for name, part in parts.items():
            found.append(((*path, name), part))
            below((*path, name), part.parts)

    below((), side.parts)
    return found


def text_of(tree: Tree) -> str:
    """A tree as the import writes it."""
    return write(tree)
