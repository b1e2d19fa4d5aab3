"""Read the small parts of a spec from its tree: texts, flags, numbers, durations, references, mappings of known keys.

Every reader reports what does not fit and returns None then, so that its caller can go on and find the next mistake.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable
from typing import Final

from restencil_generator.declaration import Json, Reference
from restencil_generator.names import KEYWORDS, is_identifier, suggested_identifier
from restencil_generator.problems import Place, Problem, Related, did_you_mean, listed, nearest, quoted, visible
from restencil_generator.tree import Entry, MappingNode, Node, ScalarNode, SequenceNode, described

_DURATION: Final = re.compile(r"([0-9]{1,15})(ms)\Z|([0-9]{1,12})(s)\Z|([0-9]{1,10})(m)\Z|([0-9]{1,8})(h)\Z")
_UNITS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}
_REFERENCE: Final = re.compile(r"python:([^:]+):([^:]+)\Z")

MAX_DURATION: Final = 10**15
"""The longest duration in milliseconds, some 30,000 years: beyond it floats lose milliseconds."""


class Reader:
    """Collects problems and reads the parts that occur everywhere."""

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
        """Notes a problem at a node or place. `near` is a wrong word and the many that it may be a slip of."""
        place = at if isinstance(at, Place) else at.place
        self.problems.append(Problem(code, message, place, hint, tuple(related), near=near))

    def wrong(self, what: str, expected: str, node: Node, hint: str = "") -> None:
        """Notes that a node is not what is expected there."""
        self.report("wrong-type", f"{what} is {expected}, this is {described(node)}", node, hint)

    # -------------------------------------------------------------------------------------------------------- mappings

    def mapping(self, node: Node, what: str, hint: str = "") -> MappingNode | None:
        """The node if it is a mapping."""
        if isinstance(node, MappingNode):
            return node
        self.wrong(what, "a mapping", node, hint)
        return None

    def keys(
        self,
        mapping: MappingNode,
        what: str,
        allowed: Collection[str],
        required: Collection[str] = (),
        at: Node | None = None,
    ) -> dict[str, Entry]:
        """The entries with an allowed key; the others are reported, and so are required keys that are not there.

        `at` is where a missing key is reported, by default the mapping itself.
        """
        known: dict[str, Entry] = {}
        for key, entry in mapping:
            if key in allowed:
                known[key] = entry
            else:
                self.unknown_key(entry.key, what, allowed)
        for key in required:
            if key not in mapping.entries:
                self.report("missing-key", f"{what} needs the key {quoted(key)}", at or mapping, f"add '{key}: …'")
        return known

    def unknown_key(self, key: ScalarNode, what: str, allowed: Collection[str]) -> None:
        """Notes a key that does not exist."""
        hint = did_you_mean(key.text, allowed)
        if not hint:
            hint = "remove it" if not allowed else f"known here: {', '.join(allowed)}"
        self.report("unknown-key", f"unknown key {quoted(key.text)} in {what}", key, hint)

    # --------------------------------------------------------------------------------------------------------- scalars

    def text(self, node: Node, what: str, *, empty: bool = True) -> str | None:
        """A text. Numbers, booleans and null have to be put in quotes."""
        if isinstance(node, ScalarNode):
            value = node.value
            if isinstance(value, str):
                if value or empty:
                    return value
                self.report("wrong-type", f"{what} must not be empty", node)
                return None
            if value is not None:
                self.wrong(what, "a text", node, "put it in quotes")
                return None
        self.wrong(what, "a text", node)
        return None

    def boolean(self, node: Node, what: str) -> bool | None:
        """`true` or `false`."""
        value = node.value if isinstance(node, ScalarNode) else None
        if isinstance(value, bool):
            return value
        hint = ""
        if isinstance(node, ScalarNode) and node.text.lower() in ("yes", "on", "y", "1"):
            hint = "write true"
        elif isinstance(node, ScalarNode) and node.text.lower() in ("no", "off", "n", "0"):
            hint = "write false"
        self.wrong(what, "true or false", node, hint)
        return None

    def integer(self, node: Node, what: str, *, least: int) -> int | None:
        """A whole number that is not too small."""
        value = node.value if isinstance(node, ScalarNode) else None
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= MAX_DURATION:
            return value
        self.wrong(what, f"a whole number from {least} on", node)
        return None

    def duration(self, node: Node, what: str, *, least: int = 0) -> int | None:
        """A duration in milliseconds: an integer, or a text such as `500ms`, `30s`, `5m`, `1h`."""
        value = node.value if isinstance(node, ScalarNode) else None
        length: int | None = None
        if isinstance(value, int) and not isinstance(value, bool):
            length = value
        elif isinstance(value, str) and (found := _DURATION.match(value)):
            number, unit = (part for part in found.groups() if part is not None)
            length = int(number) * _UNITS[unit]
        if length is not None and least <= length <= MAX_DURATION:
            return length
        if length is None:
            problem = f"{what} is a duration, this is {described(node)}"
        else:
            problem = f"{what} is too {'short' if length < least else 'long'}: {described(node)}"
        self.report("bad-duration", problem, node, "write milliseconds, or a number with ms, s, m or h, such as 30s")
        return None

    def word(self, node: Node, what: str, words: Collection[str], code: str = "unknown-value") -> str | None:
        """One of some words."""
        value = node.value if isinstance(node, ScalarNode) else None
        if isinstance(value, str) and value in words:
            return value
        if isinstance(value, str):
            near = nearest(value, words)
            hint = f"did you mean {quoted(near)}?" if near else f"write {listed(words)}"
            self.report(code, f"{what} is {listed(words)}, this is {described(node)}", node, hint)
        else:
            self.wrong(what, listed(words), node)
        return None

    def reference(self, node: Node, what: str) -> Reference | None:
        """A reference to hand-written code, `python:package.module:name`."""
        value = node.value if isinstance(node, ScalarNode) else None
        hint = "write python:package.module:name"
        if not isinstance(value, str):
            self.wrong(what, "a reference such as python:package.module:name", node, hint)
            return None
        found = _REFERENCE.match(value)
        if found is None:
            self.report(
                "bad-reference", f"{what} is {described(node)}, which is no reference to Python code", node, hint
            )
            return None
        module, name = found[1], found[2]
        for part in (*module.split("."), name):
            if not is_identifier(part) or part in KEYWORDS:
                message = f"{what} names {quoted(part)}, which is no Python name"
                self.report("bad-reference", message, node, hint)
                return None
        return Reference(module, name, node.place)

    def deprecated(self, node: Node, what: str) -> str | None:
        """The reason of a deprecation: empty for `true`, None for `false`."""
        value = node.value if isinstance(node, ScalarNode) else None
        if isinstance(value, bool):
            return "" if value else None
        if isinstance(value, str):
            return value
        self.wrong(what, "true, false or the reason as a text", node)
        return None

    def sequence(self, node: Node, what: str) -> list[Node]:
        """The items of a list; none, with a problem, for anything else."""
        if isinstance(node, SequenceNode):
            return node.items
        self.wrong(what, "a list", node, "put it in brackets" if isinstance(node, ScalarNode) else "")
        return []

    def texts(self, node: Node, what: str) -> list[tuple[str, Node]]:
        """The texts of a list that gives none twice, each with its node."""
        found: dict[str, Node] = {}
        for item in self.sequence(node, what):
            text = self.text(item, f"an item of {what}", empty=False)
            if text is None:
                continue
            if text in found:
                self.report(
                    "given-twice",
                    f"{what} names {quoted(text)} twice",
                    item,
                    "keep one of them",
                    (Related(found[text].place, "named here first"),),
                )
            else:
                found[text] = item
        return list(found.items())

    # ----------------------------------------------------------------------------------------------------------- names

    def name(self, node: ScalarNode, what: str, *, keyword: bool = True) -> bool:
        """Whether a key is a name that Python code can use; `keyword` allows keywords, which get an underscore."""
        name = node.text
        if name.startswith("_"):
            self.report(
                "bad-name", f"the name {quoted(name)} of {what} begins with an underscore", node, _name_hint(name)
            )
        elif not is_identifier(name):
            self.report("bad-name", f"the name {quoted(name)} of {what} is no Python name", node, _name_hint(name))
        elif not keyword and name in KEYWORDS:
            self.report(
                "bad-name", f"the name {quoted(name)} of {what} is a word of Python itself", node, "choose another"
            )
        else:
            return True
        return False

    # ------------------------------------------------------------------------------------------------------------ JSON

    def json(self, node: Node, places: dict[tuple[str | int, ...], Place] | None = None) -> Json:
        """A node as JSON. Infinite numbers are reported: JSON has none.

        `places` takes the place of every part, by its path, and under the path and an empty text that of its key.
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
            self.report("yaml-number", f"{visible(node.text[:40])} is no number that JSON can hold", node)
            return None
        return value


def _name_hint(name: str) -> str:
    suggested = suggested_identifier(name)
    return f"write for instance {quoted(suggested)}" if suggested and suggested != name else "choose another"
