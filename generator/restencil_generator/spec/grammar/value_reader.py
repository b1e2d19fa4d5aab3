"""Reader of single values of a spec.

Every method reports errors and then returns None, so that the caller can continue and find the next error.
"""

from __future__ import annotations

import abc
import dataclasses
import math
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, NamedTuple

from restencil_generator.diagnostics.model import Place, Problem, Related, quoted, visible
from restencil_generator.spec.model import Json, Reference
from restencil_generator.spec.names import KEYWORDS, is_identifier, suggested_identifier
from restencil_generator.spec.page_styles import STYLES
from restencil_generator.spec.source.nodes import Entry, MappingNode, Node, ScalarNode, SequenceNode, described

_REFERENCE: Final = re.compile(r"python:([^:]+):([^:]+)\Z")
_NO_PLACES: Final[Mapping[str, Place]] = {}


@dataclasses.dataclass(frozen=True, slots=True)
class Subject:
    """The subject of a message, and its owner: `field 'title'` of `entity 'Article'`."""

    name: str
    owner: Subject | None = None

    def __str__(self) -> str:
        return self.name if self.owner is None else f"{self.name} of {self.owner}"

    def without_root(self) -> Subject:
        """Return the subject without its outermost owner."""
        if self.owner is None or self.owner.owner is None:
            return Subject(self.name)
        return Subject(self.name, self.owner.without_root())


THE_SPEC: Final = Subject("the spec")


class ValueContext(NamedTuple):
    """A value to read: its node, its name in messages, the owner of its key, and the node of the key."""

    node: Node
    label: Subject
    owner: Subject
    key: Node


class JsonWithPlaces(NamedTuple):
    """JSON as written, with the place of each of its parts by path; `usable` if all of it is valid JSON."""

    value: Json
    places: Mapping[tuple[str | int, ...], Place]
    usable: bool


class ParsedSection:
    """The known keys of a mapping in a section of the language, and the values that do not depend on names.

    A key that is not given, or whose value is wrong, has the default of its row. `name` is the name of the section.
    """

    __slots__ = ("_defaults", "_values", "entries", "name")

    def __init__(
        self, name: str, defaults: Mapping[str, Any], entries: dict[str, Entry], values: dict[str, Any]
    ) -> None:
        self.name = name
        self.entries = entries
        self._defaults = defaults
        self._values = values

    def __contains__(self, key: str) -> bool:
        return key in self.entries

    def __getitem__(self, key: str) -> Any:
        """Return the value of a key; for values that depend on the names of the spec, see `node`."""
        return self._values[key] if key in self._values else self._defaults[key]

    def get(self, key: str, otherwise: Any = None) -> Any:
        """Return the value of a given key, else `otherwise`; the section need not know the key."""
        return self[key] if key in self.entries else otherwise

    @property
    def places(self) -> Mapping[str, Place]:
        """The places of the values that are given."""
        return {key: entry.value.place for key, entry in self.entries.items()} if self.entries else _NO_PLACES

    def node(self, key: str) -> Node | None:
        """Return the node of a key's value, None if the key is not given."""
        entry = self.entries.get(key)
        return entry.value if entry is not None else None

    def key(self, key: str) -> ScalarNode:
        """Return the node of a key that is given."""
        return self.entries[key].key

    def forget(self, key: str) -> None:
        """Drop a key that has no meaning next to the others."""
        del self.entries[key]
        self._values.pop(key, None)

    def values(self) -> dict[str, Any]:
        """Return the values of all keys that are given and valid."""
        return dict(self._values)


class ValueReader(abc.ABC):
    """Reader of values that do not depend on names of the spec. It collects problems."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems

    def report(
        self,
        code: str,
        message: str,
        at: Node | Place,
        hint: str = "",
        related: Iterable[Related] = (),
        near: tuple[str, Collection[str]] | None = None,
    ) -> None:
        """Add a problem at a node or place. `near` is a misspelled word and the words that may be meant."""
        place = at if isinstance(at, Place) else at.place
        self.problems.append(Problem(code, message, place, hint, tuple(related), near=near))

    def wrong(self, what: Subject | str, expected: str, node: Node, hint: str = "") -> None:
        """Report a node that is not what is expected."""
        self.report("wrong-type", f"{what} must be {expected}, not {described(node)}", node, hint)

    def mapping(self, node: Node | None, what: Subject | str, hint: str = "") -> MappingNode | None:
        """Return the node if it is a mapping; None, without a problem, if there is no node."""
        if node is None or isinstance(node, MappingNode):
            return node
        self.wrong(what, "a mapping", node, hint)
        return None

    @abc.abstractmethod
    def section(self, name: str, mapping: MappingNode, what: Subject, at: Node | Place) -> ParsedSection:
        """Read the keys of a mapping by the table. `at` is the place for missing keys."""

    def text(self, node: Node, what: Subject | str, *, empty: bool = True) -> str | None:
        """Read a string. Numbers, booleans and null must be quoted."""
        if isinstance(node, ScalarNode):
            value = node.value
            if isinstance(value, str):
                if value or empty:
                    return value
                self.report("wrong-type", f"{what} must not be empty", node)
                return None
            if value is not None:
                self.wrong(what, "a string", node, "put it in quotes")
                return None
        self.wrong(what, "a string", node)
        return None

    def reference(self, node: Node, what: Subject | str) -> Reference | None:
        """Read a reference to hand-written code, `python:package.module:name`."""
        value = node.value if isinstance(node, ScalarNode) else None
        hint = "write python:package.module:name"
        if not isinstance(value, str):
            self.wrong(what, "a reference such as python:package.module:name", node, hint)
            return None
        found = _REFERENCE.match(value)
        if found is None:
            message = f"{what} is {described(node)}, which is not a reference to Python code"
            self.report("bad-reference", message, node, hint)
            return None
        module, name = found[1], found[2]
        for part in (*module.split("."), name):
            if not is_identifier(part) or part in KEYWORDS:
                message = f"{quoted(part)} in {what} is not a valid Python name"
                self.report("bad-reference", message, node, hint)
                return None
        return Reference(module, name, node.place)

    def texts(self, node: Node, what: Subject | str) -> list[tuple[str, Node]]:
        """Read a list of distinct strings, each with its node; reports anything else and returns an empty list."""
        found: dict[str, Node] = {}
        if not isinstance(node, SequenceNode):
            self.wrong(what, "a list", node, "put it in brackets" if isinstance(node, ScalarNode) else "")
            return []
        for item in node.items:
            text = self.text(item, f"an item of {what}", empty=False)
            if text is None:
                continue
            if text in found:
                message = f"{what} contains {quoted(text)} twice"
                related = [Related(found[text].place, "first named here")]
                self.report("given-twice", message, item, "keep one of them", related)
            else:
                found[text] = item
        return list(found.items())

    def name(self, node: ScalarNode, what: Subject | str, *, keyword: bool = True, otherwise: str = "") -> bool:
        """Return whether a key is a valid Python name; `keyword` allows keywords, which get an underscore.

        `otherwise` is a hint for a name that cannot be corrected; it has the placeholders of `value_kinds.Name`.
        """
        name = node.text
        if name.startswith("_"):
            why, hint = "begins with an underscore", _name_hint(name, otherwise)
        elif not is_identifier(name):
            why, hint = "is not a valid Python name", _name_hint(name, otherwise)
        elif not keyword and name in KEYWORDS:
            why, hint = "is a keyword of Python", "choose another"
        else:
            return True
        self.report("bad-name", f"the name {quoted(name)} of {what} {why}", node, hint)
        return False

    def secret(self, key: ScalarNode) -> None:
        """Report a key that contains a secret."""
        message = f"{quoted(key.text)} is a secret, which must not be written in the spec"
        self.report(
            "auth-secret",
            message,
            key,
            "write the name of an environment variable under 'env', or pass the secret to the client",
        )

    def json(self, node: Node, places: dict[tuple[str | int, ...], Place] | None = None) -> Json:
        """Read a node as JSON. Infinite numbers are reported: JSON has none.

        `places` gets the place of every part by its path, and the place of its key by the path and an empty string.
        """
        return self._json(node, (), places)

    def _json(self, node: Node, path: tuple[str | int, ...], places: dict[tuple[str | int, ...], Place] | None) -> Json:
        if places is not None:
            places[path] = node.place
        if isinstance(node, MappingNode):
            if places is not None:
                places.update({(*path, key, ""): entry.key.place for key, entry in node})
            return {key: self._json(entry.value, (*path, key), places) for key, entry in node}
        if isinstance(node, SequenceNode):
            return [self._json(item, (*path, index), places) for index, item in enumerate(node.items)]
        assert isinstance(node, ScalarNode)
        value = node.value
        if isinstance(value, float) and not math.isfinite(value):
            self.report("yaml-number", f"{visible(node.text[:40])} is not a valid number in JSON", node)
            return None
        return value


def _name_hint(name: str, otherwise: str) -> str:
    suggested = suggested_identifier(name)
    if suggested and otherwise:
        counts = any(style.is_integer and suggested in style.parameters for style in STYLES.values())
        type = "integer" if counts else "string"
        return otherwise.format(name=visible(name), suggested=suggested, type=type)
    return f"write for instance {quoted(suggested)}" if suggested and suggested != name else "choose another"
