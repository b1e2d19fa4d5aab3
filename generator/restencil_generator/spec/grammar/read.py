"""Read a spec's tree by the language's table: mappings of known keys, and the values of every kind that stands alone.

Every reader reports what does not fit and returns None then, so that its caller can go on and find the next mistake.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from restencil_generator.diagnostics.model import (
    Place,
    Problem,
    Related,
    did_you_mean,
    listed,
    nearest,
    quoted,
    visible,
)
from restencil_generator.spec.grammar import keys, value_kinds
from restencil_generator.spec.model import Json, Reference
from restencil_generator.spec.names import KEYWORDS, is_identifier, suggested_identifier
from restencil_generator.spec.source.nodes import Entry, MappingNode, Node, ScalarNode, SequenceNode, described, is_null

_DURATION: Final = re.compile(r"([0-9]{1,15})(ms)\Z|([0-9]{1,12})(s)\Z|([0-9]{1,10})(m)\Z|([0-9]{1,8})(h)\Z")
_UNITS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}
_REFERENCE: Final = re.compile(r"python:([^:]+):([^:]+)\Z")
_HEADER: Final = re.compile(keys.HTTP_WORD)
_OF_WHAT: Final = re.compile("\\A'[a-z_]+' of ")
_HEADER_VALUE: Final = re.compile(keys.HEADER_VALUE)

MAX_DURATION: Final = 10**15
"""The longest duration in milliseconds, some 30,000 years: beyond it floats lose milliseconds."""


class ValueContext(NamedTuple):
    """Where a value stands: its node, what messages call it, what its key belongs to, and the key."""

    node: Node
    label: str
    owner: str
    key: Node


class WithPlaces(NamedTuple):
    """JSON as it is written, with the place of each of its parts by its path."""

    value: Json
    places: Mapping[tuple[str | int, ...], Place]
    usable: bool


_NO_PLACES: Final[Mapping[str, Place]] = {}


class ParsedSection:
    """What a mapping in a place of the language gives: its known keys, and the values that the table could read.

    A key that is not given, or whose value is wrong, has the default of its row.
    """

    __slots__ = ("_rows", "_values", "entries")

    def __init__(self, place: str, entries: dict[str, Entry], values: dict[str, Any]) -> None:
        self.entries = entries
        self._rows = keys.rows(place)
        self._values = values

    def __contains__(self, key: str) -> bool:
        return key in self.entries

    def __getitem__(self, key: str) -> Any:
        """The value of a key; for one that only the check can read, see `node`."""
        return self._values[key] if key in self._values else self._rows[key].default

    def get(self, key: str, otherwise: Any = None) -> Any:
        """The value of a key that is given, else something other than the default; the place need not know the key."""
        return self[key] if key in self.entries else otherwise

    @property
    def places(self) -> Mapping[str, Place]:
        """Where the value of each key stands that is given."""
        return {key: entry.value.place for key, entry in self.entries.items()} if self.entries else _NO_PLACES

    def node(self, key: str) -> Node | None:
        """What is written under a key, None where it is not given."""
        entry = self.entries.get(key)
        return entry.value if entry is not None else None

    def key(self, key: str) -> ScalarNode:
        """The node of a key that is given."""
        return self.entries[key].key

    def forget(self, key: str) -> None:
        """Goes on as if a key were not given, because it has no meaning beside the others."""
        del self.entries[key]
        self._values.pop(key, None)

    def values(self) -> dict[str, Any]:
        """The values of all keys that are given and right."""
        return dict(self._values)


Check: TypeAlias = Callable[["Reader", Any, ValueContext], Any]
"""A function that a row names: it judges a value further, and gives the one to go on with."""


class Reader:
    """Collects problems, and reads what stands alone. `checks` are the functions that rows name."""

    checks: Mapping[str, Check] = {}

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

    def section(
        self, place: str, mapping: MappingNode, what: str, at: Node | Place, *, strays: bool = True
    ) -> ParsedSection:
        """A mapping in a place of the language: its known keys, read as their rows say.

        Unknown keys are reported (unless `strays` says that this was done), and so is what the rules of the place
        forbid. `at` is where a missing key is reported.
        """
        known = keys.rows(place)
        entries: dict[str, Entry] = {}
        values: dict[str, Any] = {}
        for key, entry in mapping:
            row = known.get(key)
            if row is None:
                if strays:
                    self.unknown_key(place, entry.key, what)
                continue
            entries[key] = entry
            if row.deprecated:
                self._deprecated_key(row, entry.key, what)
            if not isinstance(row.kind, value_kinds.Structure):
                label = row.label.format(key=key, owner=what)
                value = self.value(row, ValueContext(entry.value, label, what, entry.key))
                if value is not None or _takes_null(row.kind, entry.value):
                    values[key] = value
        for key, row in known.items():
            if row.required and key not in entries:
                message = row.need.format(owner=what, key=key)
                self.report("missing-key", message, at, row.add.format(key=key))
        given = ParsedSection(place, entries, values)
        for rule in keys.PLACES[place].rules:
            _RULES[type(rule)](self, rule, given, what, at)
        return given

    def value(self, row: keys.Row, spot: ValueContext) -> Any:
        """The value of a key that the table can read, judged by the function that its row names."""
        value = self.of_kind(row.kind, spot)
        return self.checks[row.check](self, value, spot) if row.check and value is not None else value

    def of_kind(self, kind: value_kinds.Kind, spot: ValueContext) -> Any:
        """A value of a kind that stands alone."""
        return READERS[type(kind)](self, kind, spot)

    def unknown_key(self, place: str, key: ScalarNode, what: str) -> None:
        """Notes a key that a place does not have: a slip, or the key of another place of its family."""
        if key.text in keys.PLACES[place].secrets:
            self.secret(key)
            return
        if key.text in keys.relatives(place):
            message = f"'{key.text}' has no meaning for {keys.POSITIONS[place].shown}: {what}"
            self.report("key-not-here", message, key, keys.PLACES[place].instead.get(key.text, "remove it"))
            return
        message = f"unknown key {quoted(key.text)} in {what}"
        self.report("unknown-key", message, key, self.key_hint(place, key.text) or known_here(place))

    def secret(self, key: ScalarNode) -> None:
        """Notes a key under which a secret stands."""
        message = f"{quoted(key.text)} stands in the spec"
        self.report("auth-secret", message, key, "name an environment variable under 'env', or give it to the client")

    def key_hint(self, place: str, word: str) -> str:
        """The key that an unknown one is most likely meant to be, as a hint; empty where none is near."""
        meant = keys.also(place).get(word)
        if meant:
            return f"did you mean {quoted(meant)}?"
        return keys.OF_OTHERS.get(word) or _one_level_down(place, word) or did_you_mean(word, keys.rows(place))

    def _deprecated_key(self, row: keys.Row, key: ScalarNode, what: str) -> None:
        message = f"the key {quoted(row.key)} of {what} is deprecated"
        self.problems.append(Problem("deprecated-use", message, key.place, row.deprecated, severity="warning"))

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

    def texts(self, node: Node, what: str) -> list[tuple[str, Node]]:
        """The texts of a list that gives none twice, each with its node; none, with a problem, for anything else."""
        found: dict[str, Node] = {}
        if not isinstance(node, SequenceNode):
            self.wrong(what, "a list", node, "put it in brackets" if isinstance(node, ScalarNode) else "")
            return []
        for item in node.items:
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

    def name(self, node: ScalarNode, what: str, *, keyword: bool = True, otherwise: str = "") -> bool:
        """Whether a key is a name that Python code can use; `keyword` allows keywords, which get an underscore.

        `otherwise` is a hint for a name that no change of its letters mends; it has places as in `kinds.Name`.
        """
        name = node.text
        suggested = suggested_identifier(name)
        hint = otherwise.format(name=visible(name), suggested=suggested) if suggested else ""
        hint = hint or _name_hint(name)
        if name.startswith("_"):
            self.report("bad-name", f"the name {quoted(name)} of {what} begins with an underscore", node, hint)
        elif not is_identifier(name):
            self.report("bad-name", f"the name {quoted(name)} of {what} is no Python name", node, hint)
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


def _one_level_down(place: str, word: str) -> str:
    """The hint for a key that stands beside the one key under which it belongs; empty where it is none or several."""
    sections = [
        row.key
        for row in keys.rows(place).values()
        if isinstance(row.kind, value_kinds.Section) and word in keys.rows(row.kind.place)
    ]
    return f"write it under {quoted(sections[0])}: {{{word}: …}}" if len(sections) == 1 else ""


def known_here(place: str) -> str:
    """The hint that names all keys of a place."""
    return f"known here: {', '.join(keys.rows(place))}"


def _name_hint(name: str) -> str:
    suggested = suggested_identifier(name)
    return f"write for instance {quoted(suggested)}" if suggested and suggested != name else "choose another"


def _takes_null(kind: value_kinds.Kind, node: Node) -> bool:
    return isinstance(kind, value_kinds.OrNull) and is_null(node)


def _scalar(node: Node) -> Any:
    return node.value if isinstance(node, ScalarNode) else None


# --------------------------------------------------------------------------------------------------------------- kinds


def _text(reader: Reader, kind: value_kinds.Text, spot: ValueContext) -> str | None:
    text = reader.text(spot.node, spot.label, empty=kind.empty)
    return text if text is None or kind.pattern is None else _matching(reader, kind.pattern, text, spot)


def _matching(reader: Reader, pattern: value_kinds.Pattern, text: str, spot: ValueContext) -> str | None:
    """A text that looks as a pattern says; any other is reported."""
    if re.fullmatch(pattern.regex, text):
        return text
    value = quoted(text.removeprefix(pattern.after))
    names = {"value": value, "label": spot.label, "owner": spot.owner}
    key = quoted(spot.key.text) if isinstance(spot.key, ScalarNode) else spot.label
    message = pattern.message.format(**names, key=key, outer=_OF_WHAT.sub("", spot.owner))
    reader.report(pattern.code, message, spot.node, pattern.hint)
    return None


def _flag(reader: Reader, kind: value_kinds.Flag, spot: ValueContext) -> bool | None:
    value = _scalar(spot.node)
    if isinstance(value, bool):
        return value
    hint = ""
    if isinstance(spot.node, ScalarNode) and spot.node.text.lower() in ("yes", "on", "y", "1"):
        hint = "write true"
    elif isinstance(spot.node, ScalarNode) and spot.node.text.lower() in ("no", "off", "n", "0"):
        hint = "write false"
    reader.wrong(spot.label, f"true, false or {kind.others}" if kind.others else "true or false", spot.node, hint)
    return None


def _yes(reader: Reader, kind: value_kinds.Yes, spot: ValueContext) -> bool | None:
    if _scalar(spot.node) is True:
        return True
    reader.wrong(spot.label, "true", spot.node, kind.hint)
    return None


def _no(reader: Reader, kind: value_kinds.No, spot: ValueContext) -> bool | None:
    if _scalar(spot.node) is False:
        return False
    reader.wrong(spot.label, f"false or {kind.others}" if kind.others else "false", spot.node)
    return None


def _whole(reader: Reader, kind: value_kinds.Whole, spot: ValueContext) -> int | None:
    value = _scalar(spot.node)
    if isinstance(value, int) and not isinstance(value, bool) and kind.least <= value <= MAX_DURATION:
        return value
    reader.wrong(spot.label, f"a whole number from {kind.least} on", spot.node)
    return None


def _version(reader: Reader, kind: value_kinds.Version, spot: ValueContext) -> int | None:
    value = _scalar(spot.node)
    if not isinstance(value, int) or isinstance(value, bool):
        expected = "the language version, a whole number"
        reader.wrong(spot.label, expected, spot.node, f"write {kind.number}")
    elif value != kind.number:
        message = f"language version {value} is unknown: this generator reads version {kind.number}"
        hint = "install a newer restencil" if value > kind.number else f"write 'restencil: {kind.number}'"
        reader.report("language-version", message, spot.node, hint)
    return value if value == kind.number else None


def _duration(reader: Reader, kind: value_kinds.Duration, spot: ValueContext) -> int | None:
    value = _scalar(spot.node)
    length: int | None = None
    if isinstance(value, int) and not isinstance(value, bool):
        length = value
    elif isinstance(value, str) and (found := _DURATION.match(value)):
        number, unit = (part for part in found.groups() if part is not None)
        length = int(number) * _UNITS[unit]
    if length is not None and kind.least <= length <= MAX_DURATION:
        return length
    if length is None:
        problem = f"{spot.label} is a duration, this is {described(spot.node)}"
    else:
        problem = f"{spot.label} is too {'short' if length < kind.least else 'long'}: {described(spot.node)}"
    hint = "write milliseconds, or a number with ms, s, m or h, such as 30s"
    reader.report("bad-duration", problem, spot.node, hint)
    return None


def _word(reader: Reader, kind: value_kinds.Word, spot: ValueContext) -> str | None:
    value = _scalar(spot.node)
    if isinstance(value, str) and value in kind.words:
        return value
    expected = f"{listed(kind.words)} or {kind.others}" if kind.others else listed(kind.words)
    if isinstance(value, str):
        near = nearest(value, kind.words)
        hint = f"did you mean {quoted(near)}?" if near else f"write {expected}"
        reader.report("unknown-value", f"{spot.label} is {expected}, this is {described(spot.node)}", spot.node, hint)
    else:
        reader.wrong(spot.label, expected, spot.node)
    return None


def _literal(reader: Reader, kind: value_kinds.Literal, spot: ValueContext) -> str | int | None:
    value = _scalar(spot.node)
    if isinstance(value, str | int):
        return value
    reader.wrong(spot.label, "a text, a whole number, true or false", spot.node)
    return None


def _code(reader: Reader, kind: value_kinds.Code, spot: ValueContext) -> Reference | None:
    return reader.reference(spot.node, spot.label)


def _reason(reader: Reader, kind: value_kinds.Reason, spot: ValueContext) -> str | None:
    """The reason: empty for `true`, None for `false`."""
    value = _scalar(spot.node)
    if isinstance(value, bool):
        return "" if value else None
    if isinstance(value, str):
        return value
    reader.wrong(spot.label, "true, false or the reason as a text", spot.node)
    return None


def _name(reader: Reader, kind: value_kinds.Name, spot: ValueContext) -> str | None:
    text = reader.text(spot.node, spot.label, empty=False)
    if text is None or not isinstance(spot.node, ScalarNode):
        return None
    what = kind.what.format(label=spot.label, owner=spot.owner)
    return text if reader.name(spot.node, what, keyword=kind.keyword, otherwise=kind.otherwise) else None


def _texts(reader: Reader, kind: value_kinds.Texts, spot: ValueContext) -> list[tuple[str, Node]]:
    if isinstance(spot.node, SequenceNode) and len(spot.node.items) < kind.least:
        few = f"names no {kind.noun}" if kind.least == 1 else f"needs {kind.least} {kind.noun}s or more"
        reader.report("wrong-type", f"{spot.label} {few}", spot.node)
    found = reader.texts(spot.node, spot.label)
    pattern = kind.pattern
    if pattern is None:
        return found
    return [(text, node) for text, node in found if _matching(reader, pattern, text, spot._replace(node=node))]


def _headers(reader: Reader, kind: value_kinds.Headers, spot: ValueContext) -> dict[str, str]:
    """Headers by name; those that carry secrets are refused."""
    found: dict[str, str] = {}
    first: dict[str, ScalarNode] = {}
    what = spot.owner
    for name, entry in reader.mapping(spot.node, spot.label, "write {Name: value}") or ():
        value = reader.text(entry.value, f"the header {quoted(name)} of {what}")
        if not _HEADER.fullmatch(name):
            reader.report("bad-header", f"{quoted(name)} of {what} is no name of a header", entry.key)
        elif name.lower() in keys.SECRET_HEADERS:
            reader.report(
                "secret-header",
                f"the header {quoted(name)} of {what} carries a secret, which never stands in a spec",
                entry.key,
                "use 'auth:', or a python: endpoint class",
            )
        elif name.lower() in first:
            reader.report(
                "given-twice",
                f"{what} gives the header {quoted(name)} twice: case does not count",
                entry.key,
                "keep one of them",
                [Related(first[name.lower()].place, "given here first")],
            )
        elif value is not None and not _HEADER_VALUE.fullmatch(value):
            message = f"the header {quoted(name)} of {what} holds a character that none may hold"
            reader.report("bad-header", message, entry.value)
        elif value is not None:
            first[name.lower()] = entry.key
            found[name] = value
    return found


def _pairs(reader: Reader, kind: value_kinds.Pairs, spot: ValueContext) -> dict[str, str]:
    """Texts by name, sorted."""
    found: dict[str, str] = {}
    for name, entry in reader.mapping(spot.node, spot.label, "write {name: text}") or ():
        label = f"{quoted(name)} of {spot.label}"
        text = reader.text(entry.value, label, empty=kind.pattern is None)
        if kind.names and name not in kind.names:
            hint = did_you_mean(name, kind.names) or f"known here: {', '.join(kind.names)}"
            reader.report("unknown-key", f"unknown key {quoted(name)} in {spot.label}", entry.key, hint)
        elif name in kind.secrets:
            reader.secret(entry.key)
        elif name in kind.taken:
            message = f"{spot.label} gives {quoted(name)}, which the request has anyway"
            reader.report("parameter-clash", message, entry.key, "remove it")
        elif text is not None and kind.pattern is not None:
            text = _matching(reader, kind.pattern, text, ValueContext(entry.value, label, spot.label, entry.key))
        if text is not None:
            found[name] = text
    return dict(sorted(found.items()))


def _json(reader: Reader, kind: value_kinds.Json, spot: ValueContext) -> WithPlaces:
    places: dict[tuple[str | int, ...], Place] = {}
    before = len(reader.problems)
    value = reader.json(spot.node, places)
    if kind.mapping and not isinstance(value, dict):
        reader.wrong(spot.label, "a mapping", spot.node)
    return WithPlaces(value, places, len(reader.problems) == before)


def _section(reader: Reader, kind: value_kinds.Section, spot: ValueContext) -> ParsedSection | None:
    mapping = reader.mapping(spot.node, spot.label, kind.hint)
    return reader.section(kind.place, mapping, spot.label, spot.key) if mapping is not None else None


def _or_null(reader: Reader, kind: value_kinds.OrNull, spot: ValueContext) -> Any:
    return None if is_null(spot.node) else reader.of_kind(kind.kind, spot)


def _either(reader: Reader, kind: value_kinds.Either, spot: ValueContext) -> Any:
    meant = next((form for form in kind.kinds if _looks_like(form, spot.node)), kind.kinds[-1])
    return reader.of_kind(meant, spot)


def _looks_like(kind: value_kinds.Kind, node: Node) -> bool:
    """Whether a node is written as values of a kind are, right or wrong."""
    match kind:
        case value_kinds.Section() | value_kinds.Headers() | value_kinds.Pairs():
            return isinstance(node, MappingNode)
        case value_kinds.Texts():
            return isinstance(node, SequenceNode)
        case value_kinds.No() | value_kinds.Flag():
            return isinstance(_scalar(node), bool)
        case value_kinds.Whole():
            return isinstance(_scalar(node), int) and not isinstance(_scalar(node), bool)
        case value_kinds.Code():
            return str(_scalar(node)).startswith("python:")
        case _:
            return isinstance(_scalar(node), str)


READERS: Final[Mapping[type[value_kinds.Kind], Callable[[Reader, Any, ValueContext], Any]]] = {
    value_kinds.Text: _text,
    value_kinds.Flag: _flag,
    value_kinds.Yes: _yes,
    value_kinds.No: _no,
    value_kinds.Whole: _whole,
    value_kinds.Version: _version,
    value_kinds.Duration: _duration,
    value_kinds.Word: _word,
    value_kinds.Literal: _literal,
    value_kinds.Code: _code,
    value_kinds.Reason: _reason,
    value_kinds.Name: _name,
    value_kinds.Texts: _texts,
    value_kinds.Headers: _headers,
    value_kinds.Pairs: _pairs,
    value_kinds.Json: _json,
    value_kinds.Section: _section,
    value_kinds.OrNull: _or_null,
    value_kinds.Either: _either,
}
"""How a value of each kind that stands alone is read."""


# --------------------------------------------------------------------------------------------------------------- rules


def _exactly_one(
    reader: Reader, rule: value_kinds.ExactlyOne, given: ParsedSection, what: str, at: Node | Place
) -> None:
    found = [given.key(key) for key in rule.keys if key in given]
    message = rule.message.format(owner=what)
    if not found:
        reader.report(rule.code, message, at)
    elif len(found) > 1:
        reader.report(rule.code, message, found[1], rule.again, [Related(found[0].place, "the first one")])


def _one_or_more(
    reader: Reader, rule: value_kinds.OneOrMore, given: ParsedSection, what: str, at: Node | Place
) -> None:
    if not any(key in given for key in rule.keys):
        reader.report("missing-key", f"{what} needs {quoted(rule.keys[0])}", at, rule.hint)


def _only_with(reader: Reader, rule: value_kinds.OnlyWith, given: ParsedSection, what: str, at: Node | Place) -> None:
    value = given[rule.other]
    if rule.key not in given:
        if value in rule.values:
            reader.report("missing-key", f"{what} needs {quoted(rule.key)} {rule.need}", at, rule.hint)
    elif value is not None and value not in rule.values:
        values = " or ".join(map(quoted, rule.values))
        named = f"{quoted(rule.key)} has a meaning for the {rule.other} {values} alone"
        hint = f"remove it, or write '{rule.other}: {rule.values[0]}'"
        node = given.key(rule.key)
        given.forget(rule.key)
        reader.report("key-not-here", f"{named}, {what} has {quoted(str(value))}", node, hint)


def _only_beside(
    reader: Reader, rule: value_kinds.OnlyBeside, given: ParsedSection, what: str, at: Node | Place
) -> None:
    if rule.key in given and rule.other not in given:
        message = f"{quoted(rule.key)} of {what} has a meaning only beside {quoted(rule.other)}"
        reader.report("key-not-here", message, given.key(rule.key), f"add '{rule.other}: …'")


def _not_both(reader: Reader, rule: value_kinds.NotBoth, given: ParsedSection, what: str, at: Node | Place) -> None:
    if given.get(rule.one) and given.get(rule.other):
        message = rule.message.format(owner=what.partition(" of ")[0])
        reader.report(rule.code, message, given.key(rule.other), "keep one of them")


def _excludes(reader: Reader, rule: value_kinds.Excludes, given: ParsedSection, what: str, at: Node | Place) -> None:
    for key in rule.others if rule.key in given else ():
        if key in given:
            message = rule.message.format(owner=what, key=quoted(key))
            reader.report(rule.code, message, given.key(key), "remove it")


def _only_with_mapping(
    reader: Reader, rule: value_kinds.OnlyWithMapping, given: ParsedSection, what: str, at: Node | Place
) -> None:
    needed = isinstance(given.node(rule.other), MappingNode)
    if needed and rule.key not in given:
        reader.report("missing-key", rule.need.format(owner=what), at, rule.add)
    elif rule.key in given and not needed:
        reader.report("unknown-key", rule.extra.format(owner=what), given.key(rule.key), "remove it")


def _mapping_with(
    reader: Reader, rule: value_kinds.MappingWith, given: ParsedSection, what: str, at: Node | Place
) -> None:
    node = given.node(rule.key)
    if node is None or isinstance(node, MappingNode) is (rule.other in given):
        return
    expected, hint = ("a mapping", rule.hints[0]) if rule.other in given else ("a text", rule.hints[1])
    if isinstance(node, MappingNode | ScalarNode):
        reader.wrong(f"{quoted(rule.key)} of {what}", expected, node, hint)
    given.forget(rule.key)


def _together(reader: Reader, rule: value_kinds.Together, given: ParsedSection, what: str, at: Node | Place) -> None:
    keys = (rule.first, rule.second)
    if rule.instead in given and not any(key in given for key in keys):
        return
    for key in keys:
        if key not in given:
            reader.report("missing-key", f"{what} needs the key '{key}'", at, f"add '{key}: …'")


def _only_of(reader: Reader, rule: value_kinds.OnlyOf, given: ParsedSection, what: str, at: Node | Place) -> None:
    if any(key in given for key in rule.keys):
        return
    lacks = " nor ".join(map(quoted, rule.keys))
    for key in rule.others:
        if key in given:
            message = f"{quoted(key)} has no meaning in {what}, {rule.what}: it has neither {lacks}"
            reader.report("key-not-here", message, given.key(key), "remove it, or write it in an endpoint")


def _judged_elsewhere(
    reader: Reader, rule: value_kinds.Rule, given: ParsedSection, what: str, at: Node | Place
) -> None:
    """Nothing: it takes what the table cannot read."""


_RULES: Final[Mapping[type[Any], Callable[[Reader, Any, ParsedSection, str, Any], None]]] = {
    value_kinds.ExactlyOne: _exactly_one,
    value_kinds.OneOrMore: _one_or_more,
    value_kinds.OnlyWith: _only_with,
    value_kinds.OnlyBeside: _only_beside,
    value_kinds.NotBoth: _not_both,
    value_kinds.Excludes: _excludes,
    value_kinds.OnlyWithMapping: _only_with_mapping,
    value_kinds.MappingWith: _mapping_with,
    value_kinds.Together: _together,
    value_kinds.OnlyOf: _only_of,
    value_kinds.ParameterUnless: _judged_elsewhere,
}
"""How each rule that joins several keys is judged."""
