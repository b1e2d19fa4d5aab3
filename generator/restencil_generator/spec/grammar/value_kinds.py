"""The kinds of values of the keys of the language.

A kind is one class: how a value is read and which errors are reported (`read`), its JSON Schema (`json_schema`), and
its phrase on the reference page (`doc`). Kinds under `Structure` refer to other parts of a spec (a type may name an
entity that is declared elsewhere), so they are read by `spec.analyze`, where the names are known.
"""

from __future__ import annotations

import abc
import dataclasses
import re
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias

from restencil_generator.diagnostics.model import Place, Related, did_you_mean, listed, nearest, quoted
from restencil_generator.spec.grammar import schema_parts as parts
from restencil_generator.spec.grammar.patterns import ERROR_STATUS, HEADER_VALUE, HTTP_WORD, SECRET_HEADERS, Pattern
from restencil_generator.spec.grammar.schema_parts import NULL, Schema, ref
from restencil_generator.spec.grammar.type_words import POSITIONS, RESERVED, SCALAR_WORDS
from restencil_generator.spec.grammar.value_reader import (
    JsonWithPlaces,
    ParsedSection,
    Subject,
    ValueContext,
    ValueReader,
)
from restencil_generator.spec.model import EXTENDERS, Reference
from restencil_generator.spec.names import KEYWORDS
from restencil_generator.spec.source.nodes import MappingNode, Node, ScalarNode, SequenceNode, described, is_null

Link: TypeAlias = Callable[[str], str]
"""Returns the link to a section of the language on the reference page."""

_DURATION: Final = re.compile(r"([0-9]{1,15})(ms)\Z|([0-9]{1,12})(s)\Z|([0-9]{1,10})(m)\Z|([0-9]{1,8})(h)\Z")
_UNITS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}
_HEADER: Final = re.compile(HTTP_WORD)
_HEADER_VALUE: Final = re.compile(HEADER_VALUE)

_FLAG_WORDS: Final = {"true": ("yes", "on", "y", "1"), "false": ("no", "off", "n", "0")}

MAX_DURATION: Final = 10**15
"""The longest duration in milliseconds, some 30,000 years: longer ones are not exact as floats."""


class Kind(abc.ABC):
    """The kind of a key's value."""

    __slots__ = ()

    @abc.abstractmethod
    def json_schema(self, position: str) -> Schema:
        """Return the JSON Schema of a value; `position` is the position of the form that contains it, else empty."""

    @abc.abstractmethod
    def doc(self, link: Link) -> str:
        """Return the phrase for a value on the reference page."""


class Value(Kind):
    """A kind whose values are read without the names of the spec."""

    __slots__ = ()

    @abc.abstractmethod
    def read(self, reader: ValueReader, context: ValueContext) -> Any:
        """Return the value of a node; reports a problem and returns None if it does not fit."""

    def looks_like(self, node: Node) -> bool:
        """Return whether a node has the form of this kind, valid or not."""
        return isinstance(_scalar(node), str)


class Structure(Kind):
    """A kind whose values refer to names of the spec."""

    __slots__ = ()


def _scalar(node: Node) -> Any:
    return node.value if isinstance(node, ScalarNode) else None


def is_integer(value: object) -> bool:
    """Return whether a value is an integer and not a boolean."""
    return isinstance(value, int) and not isinstance(value, bool)


def codes(words: Iterable[str], last: str) -> str:
    """Join words as inline code, with commas and a last conjunction: `a`, `b` or `c`."""
    *most, final = [f"`{word}`" for word in words]
    return f"{', '.join(most)} {last} {final}" if most else final


def _forms(words: Iterable[str]) -> str:
    return codes((f"{{{word}: …}}" for word in words), "or")


def matching(reader: ValueReader, pattern: Pattern, text: str, context: ValueContext) -> str | None:
    """Return a string that matches a pattern; reports any other and returns None."""
    if re.fullmatch(pattern.regex, text):
        return text
    owner = context.owner
    message = pattern.message.format(
        value=quoted(text.removeprefix(pattern.after)),
        label=context.label,
        owner=owner,
        outer=owner.owner or owner,
        key=quoted(context.key.text) if isinstance(context.key, ScalarNode) else context.label,
    )
    reader.report(pattern.code, message, context.node, pattern.hint)
    return None


# ------------------------------------------------------------------------------------------------------------- scalars


@dataclasses.dataclass(frozen=True, slots=True)
class Text(Value):
    """A string; it may be empty only with `empty`."""

    empty: bool = True
    pattern: Pattern | None = None

    def read(self, reader: ValueReader, context: ValueContext) -> str | None:
        text = reader.text(context.node, context.label, empty=self.empty)
        return text if text is None or self.pattern is None else matching(reader, self.pattern, text, context)

    def json_schema(self, position: str) -> Schema:
        if self.pattern is None:
            return {"type": "string"} if self.empty else ref("text")
        schema = parts.pattern(self.pattern.regex)
        return schema if self.empty else schema | {"minLength": 1}

    def doc(self, link: Link) -> str:
        return "a string" if self.empty else "a non-empty string"


@dataclasses.dataclass(frozen=True, slots=True)
class Flag(Value):
    """`true` or `false`; `others` describes the other values of its key."""

    others: str = ""

    def read(self, reader: ValueReader, context: ValueContext) -> bool | None:
        node = context.node
        value = _scalar(node)
        if isinstance(value, bool):
            return value
        word = node.text.lower() if isinstance(node, ScalarNode) else ""
        meant = next((flag for flag, words in _FLAG_WORDS.items() if word in words), "")
        hint = f"write {meant}" if meant else ""
        expected = f"true, false or {self.others}" if self.others else "true or false"
        reader.wrong(context.label, expected, node, hint)
        return None

    def looks_like(self, node: Node) -> bool:
        return isinstance(_scalar(node), bool)

    def json_schema(self, position: str) -> Schema:
        return {"type": "boolean"}

    def doc(self, link: Link) -> str:
        return "`true` or `false`"


@dataclasses.dataclass(frozen=True, slots=True)
class Fixed(Value):
    """One fixed boolean; `others` describes the other values of its key, `hint` is for any other value."""

    value: bool
    others: str = ""
    hint: str = ""

    def read(self, reader: ValueReader, context: ValueContext) -> bool | None:
        value = _scalar(context.node)
        if isinstance(value, bool) and value is self.value:
            return value
        word = "true" if self.value else "false"
        reader.wrong(context.label, f"{word} or {self.others}" if self.others else word, context.node, self.hint)
        return None

    def looks_like(self, node: Node) -> bool:
        return isinstance(_scalar(node), bool)

    def json_schema(self, position: str) -> Schema:
        return {"const": self.value}

    def doc(self, link: Link) -> str:
        return "`true`" if self.value else "`false`"


@dataclasses.dataclass(frozen=True, slots=True)
class Whole(Value):
    """An integer with a minimum."""

    least: int = 0

    def read(self, reader: ValueReader, context: ValueContext) -> int | None:
        value: int = _scalar(context.node)
        if is_integer(value) and self.least <= value <= MAX_DURATION:
            return value
        reader.wrong(context.label, f"an integer, {self.least} or more", context.node)
        return None

    def looks_like(self, node: Node) -> bool:
        return is_integer(_scalar(node))

    def json_schema(self, position: str) -> Schema:
        return {"type": "integer", "minimum": self.least, "maximum": MAX_DURATION}

    def doc(self, link: Link) -> str:
        return f"an integer, {self.least} or more"


@dataclasses.dataclass(frozen=True, slots=True)
class Version(Value):
    """The version of the spec language, which must be this one."""

    number: int

    def read(self, reader: ValueReader, context: ValueContext) -> int | None:
        value: int = _scalar(context.node)
        if not is_integer(value):
            expected = "the language version, an integer"
            reader.wrong(context.label, expected, context.node, f"write {self.number}")
            return None
        if value != self.number:
            message = f"language version {value} is unknown: this generator reads version {self.number}"
            hint = "install a newer restencil" if value > self.number else f"write 'restencil: {self.number}'"
            reader.report("language-version", message, context.node, hint)
            return None
        return value

    def json_schema(self, position: str) -> Schema:
        return {"type": "integer", "const": self.number}

    def doc(self, link: Link) -> str:
        return f"`{self.number}`"


@dataclasses.dataclass(frozen=True, slots=True)
class Duration(Value):
    """Milliseconds, or a string such as `500ms`, `30s`, `5m`, `1h`."""

    least: int = 0

    def read(self, reader: ValueReader, context: ValueContext) -> int | None:
        value = _scalar(context.node)
        length: int | None = value if is_integer(value) else None
        if isinstance(value, str) and (found := _DURATION.match(value)):
            number, unit = (part for part in found.groups() if part is not None)
            length = int(number) * _UNITS[unit]
        if length is not None and self.least <= length <= MAX_DURATION:
            return length
        if length is None:
            problem = f"{context.label} must be a duration, not {described(context.node)}"
        else:
            size = "short" if length < self.least else "long"
            problem = f"{context.label} is too {size}: {described(context.node)}"
        hint = "write milliseconds, or a number with ms, s, m or h, such as 30s"
        reader.report("bad-duration", problem, context.node, hint)
        return None

    def json_schema(self, position: str) -> Schema:
        return ref("some_duration" if self.least else "duration")

    def doc(self, link: Link) -> str:
        return f"milliseconds, or with a unit: `500ms`, `30s`, `5m`, `1h`{'; not zero' if self.least else ''}"


@dataclasses.dataclass(frozen=True, slots=True)
class Word(Value):
    """One of some words; `others` describes the other values of its key."""

    words: tuple[str, ...]
    others: str = ""

    def read(self, reader: ValueReader, context: ValueContext) -> str | None:
        node = context.node
        value = _scalar(node)
        if isinstance(value, str) and value in self.words:
            return value
        expected = f"{listed(self.words)} or {self.others}" if self.others else listed(self.words)
        if isinstance(value, str):
            near = nearest(value, self.words)
            hint = f"did you mean {quoted(near)}?" if near else f"write {expected}"
            reader.report("unknown-value", f"{context.label} must be {expected}, not {described(node)}", node, hint)
        else:
            reader.wrong(context.label, expected, node)
        return None

    def json_schema(self, position: str) -> Schema:
        return {"enum": list(self.words)}

    def doc(self, link: Link) -> str:
        return codes(self.words, "or")


@dataclasses.dataclass(frozen=True, slots=True)
class Literal(Value):
    """A string, an integer or a boolean, unchanged."""

    def read(self, reader: ValueReader, context: ValueContext) -> str | int | None:
        value = _scalar(context.node)
        if isinstance(value, str | int):
            return value
        reader.wrong(context.label, "a string, an integer, true or false", context.node)
        return None

    def json_schema(self, position: str) -> Schema:
        return {"type": ["string", "integer", "boolean"]}

    def doc(self, link: Link) -> str:
        return "a string, an integer, `true` or `false`"


@dataclasses.dataclass(frozen=True, slots=True)
class Code(Value):
    """Hand-written code: `python:package.module:name`."""

    def read(self, reader: ValueReader, context: ValueContext) -> Reference | None:
        return reader.reference(context.node, context.label)

    def looks_like(self, node: Node) -> bool:
        return str(_scalar(node)).startswith("python:")

    def json_schema(self, position: str) -> Schema:
        return ref("reference")

    def doc(self, link: Link) -> str:
        return "`python:package.module:name`"


@dataclasses.dataclass(frozen=True, slots=True)
class Reason(Value):
    """`true`, `false`, or a reason, which implies `true`."""

    def read(self, reader: ValueReader, context: ValueContext) -> str | None:
        """Return the reason: empty for `true`, None for `false`."""
        value = _scalar(context.node)
        if isinstance(value, bool):
            return "" if value else None
        if isinstance(value, str):
            return value
        reader.wrong(context.label, "true, false or the reason as a string", context.node)
        return None

    def json_schema(self, position: str) -> Schema:
        return {"type": ["boolean", "string"]}

    def doc(self, link: Link) -> str:
        return "`true`, `false` or the reason"


@dataclasses.dataclass(frozen=True, slots=True)
class Name(Value):
    """A Python name, or one that becomes valid with an underscore if `keyword` allows Python's keywords.

    `what` describes the named thing in messages, `otherwise` is the hint for an invalid name, with the placeholders
    `name` and `suggested`, and `type`, that of a parameter for pages with this name.
    """

    what: str
    keyword: bool = False
    taken: tuple[str, ...] = ()
    otherwise: str = ""

    def read(self, reader: ValueReader, context: ValueContext) -> str | None:
        node = context.node
        text = reader.text(node, context.label, empty=False)
        if text is None or not isinstance(node, ScalarNode):
            return None
        what = self.what.format(label=context.label, owner=context.owner)
        return text if reader.name(node, what, keyword=self.keyword, otherwise=self.otherwise) else None

    def json_schema(self, position: str) -> Schema:
        if self.taken:
            return parts.name((*KEYWORDS, *self.taken))
        return ref("name" if self.keyword else "class_name")

    def doc(self, link: Link) -> str:
        return "a name"


# --------------------------------------------------------------------------------------------------- lists and mappings


@dataclasses.dataclass(frozen=True, slots=True)
class Texts(Value):
    """A list of distinct strings; with `words`, only of these. `least` is their minimum number.

    `noun` is the name of one in messages, and `pattern` is what each must match.
    """

    words: tuple[str, ...] = ()
    least: int = 0
    noun: str = "string"
    pattern: Pattern | None = None

    def read(self, reader: ValueReader, context: ValueContext) -> list[tuple[str, Node]]:
        node = context.node
        if isinstance(node, SequenceNode) and len(node.items) < self.least:
            few = f"has no {self.noun}s" if self.least == 1 else f"must have {self.least} or more {self.noun}s"
            reader.report("wrong-type", f"{context.label} {few}", node)
        found = reader.texts(node, context.label)
        pattern = self.pattern
        if pattern is None:
            return found
        return [(text, item) for text, item in found if matching(reader, pattern, text, context._replace(node=item))]

    def looks_like(self, node: Node) -> bool:
        return isinstance(node, SequenceNode)

    def json_schema(self, position: str) -> Schema:
        items: Schema = {"enum": list(self.words)} if self.words else ref("text")
        if self.pattern is not None:
            items = parts.pattern(self.pattern.regex)
        schema: Schema = {"type": "array", "items": items, "uniqueItems": True}
        if self.least:
            schema["minItems"] = self.least
        if {"get_list", *EXTENDERS} <= set(self.words):  # operations of a list require the list
            schema |= {"if": {"contains": {"enum": list(EXTENDERS)}}, "then": {"contains": {"const": "get_list"}}}
        return schema

    def doc(self, link: Link) -> str:
        return f"a list of {codes(self.words, 'and')}" if self.words else f"a list of {self.noun}s"


class _OfMapping(Value):
    """A kind whose values are mappings."""

    __slots__ = ()

    def looks_like(self, node: Node) -> bool:
        return isinstance(node, MappingNode)


@dataclasses.dataclass(frozen=True, slots=True)
class Headers(_OfMapping):
    """A mapping from header names to strings. Headers that carry secrets are rejected."""

    def read(self, reader: ValueReader, context: ValueContext) -> dict[str, str]:
        found: dict[str, str] = {}
        first: dict[str, ScalarNode] = {}
        what = context.owner
        for name, entry in reader.mapping(context.node, context.label, "write {Name: value}") or ():
            value = reader.text(entry.value, f"the header {quoted(name)} of {what}")
            if not _HEADER.fullmatch(name):
                reader.report("bad-header", f"{quoted(name)} of {what} is not a valid header name", entry.key)
            elif name.lower() in SECRET_HEADERS:
                message = f"the header {quoted(name)} of {what} contains a secret, which must not be written in a spec"
                reader.report("secret-header", message, entry.key, "use 'auth:', or a python: endpoint class")
            elif name.lower() in first:
                message = f"{what} has the header {quoted(name)} twice: names of headers ignore case"
                related = [Related(first[name.lower()].place, "first given here")]
                reader.report("given-twice", message, entry.key, "keep one of them", related)
            elif value is not None and not _HEADER_VALUE.fullmatch(value):
                message = f"the header {quoted(name)} of {what} contains a character that is not allowed in headers"
                reader.report("bad-header", message, entry.value)
            elif value is not None:
                first[name.lower()] = entry.key
                found[name] = value
        return found

    def json_schema(self, position: str) -> Schema:
        return ref("headers")

    def doc(self, link: Link) -> str:
        return "a mapping from header names to strings"


@dataclasses.dataclass(frozen=True, slots=True)
class Pairs(_OfMapping):
    """A mapping from names to strings that match `pattern`.

    `names` are the allowed names, any if empty. Names in `secrets` are rejected because secrets are never written in a
    spec, and names in `taken` because every request has them.
    """

    names: tuple[str, ...] = ()
    pattern: Pattern | None = None
    secrets: tuple[str, ...] = ()
    taken: tuple[str, ...] = ()

    def read(self, reader: ValueReader, context: ValueContext) -> dict[str, str]:
        found: dict[str, str] = {}
        for name, entry in reader.mapping(context.node, context.label, "write {name: text}") or ():
            label = Subject(quoted(name), context.label)
            text = reader.text(entry.value, label, empty=self.pattern is None)
            if self.names and name not in self.names:
                hint = did_you_mean(name, self.names) or f"known keys: {', '.join(self.names)}"
                reader.report("unknown-key", f"unknown key {quoted(name)} in {context.label}", entry.key, hint)
            elif name in self.secrets:
                reader.secret(entry.key)
            elif name in self.taken:
                message = f"{context.label} has {quoted(name)}, which every request contains already"
                reader.report("parameter-clash", message, entry.key, "remove it")
            elif text is not None and self.pattern is not None:
                inner = ValueContext(entry.value, label, context.label, entry.key)
                text = matching(reader, self.pattern, text, inner)
            if text is not None:
                found[name] = text
        return dict(sorted(found.items()))

    def json_schema(self, position: str) -> Schema:
        text: Schema = {"type": "string"} if self.pattern is None else parts.pattern(self.pattern.regex)
        names: Schema = {"enum": list(self.names)} if self.names else {"not": {"enum": [*self.secrets, *self.taken]}}
        return parts.table(text, names)

    def doc(self, link: Link) -> str:
        return f"a mapping from {codes(self.names, 'or') if self.names else 'names'} to strings"


@dataclasses.dataclass(frozen=True, slots=True)
class Json(Value):
    """Any JSON, with the place of each of its parts; with `mapping` only a mapping."""

    mapping: bool = False

    def read(self, reader: ValueReader, context: ValueContext) -> JsonWithPlaces:
        places: dict[tuple[str | int, ...], Place] = {}
        before = len(reader.problems)
        value = reader.json(context.node, places)
        if self.mapping and not isinstance(value, dict):
            reader.wrong(context.label, "a mapping", context.node)
        return JsonWithPlaces(value, places, len(reader.problems) == before)

    def json_schema(self, position: str) -> Schema:
        return {"type": "object"} if self.mapping else {}

    def doc(self, link: Link) -> str:
        return "a mapping" if self.mapping else "any JSON"


@dataclasses.dataclass(frozen=True, slots=True)
class Subsection(_OfMapping):
    """A mapping with the keys of a section of the language. `hint` shows an example."""

    section: str
    hint: str = ""

    def read(self, reader: ValueReader, context: ValueContext) -> ParsedSection | None:
        mapping = reader.mapping(context.node, context.label, self.hint)
        return reader.section(self.section, mapping, context.label, context.key) if mapping is not None else None

    def json_schema(self, position: str) -> Schema:
        return ref(self.section)

    def doc(self, link: Link) -> str:
        return link(self.section)


# --------------------------------------------------------------------------------------------------------- combinations


@dataclasses.dataclass(frozen=True, slots=True)
class OrNull(Value):
    """A value, or null, which resets the inherited value."""

    kind: Value

    def read(self, reader: ValueReader, context: ValueContext) -> Any:
        return None if is_null(context.node) else self.kind.read(reader, context)

    def json_schema(self, position: str) -> Schema:
        return {"anyOf": [self.kind.json_schema(position), NULL]}

    def doc(self, link: Link) -> str:
        return f"{self.kind.doc(link)}; or `null`"


@dataclasses.dataclass(frozen=True, slots=True)
class Either(Value):
    """One of several kinds, selected by the form of the value: a mapping, a list, a reference to code, a word.

    A value that looks like none of them is read as the last kind, whose message says what is expected.
    """

    kinds: tuple[Value, ...]

    def read(self, reader: ValueReader, context: ValueContext) -> Any:
        meant = next((kind for kind in self.kinds if kind.looks_like(context.node)), self.kinds[-1])
        return meant.read(reader, context)

    def json_schema(self, position: str) -> Schema:
        found = [kind.json_schema(position) for kind in self.kinds]
        if any(isinstance(kind, Code) for kind in self.kinds):  # a string that begins like a reference is read as one
            found = [one | {"not": {"pattern": "^python:"}} if one == ref("text") else one for one in found]
        return {"anyOf": found}

    def doc(self, link: Link) -> str:
        return ", or ".join(kind.doc(link) for kind in self.kinds)


# ---------------------------------------------------------------------------------------------------- of the whole spec


@dataclasses.dataclass(frozen=True, slots=True)
class Table(Structure):
    """A mapping from declared names to values of one kind. `names` is the schema definition of such a name."""

    names: str
    values: Kind

    def json_schema(self, position: str) -> Schema:
        if self.names == "endpoint_name":
            return ref("endpoints")
        values = self.values.json_schema(position)
        free: Schema = {"type": "object", "additionalProperties": values}
        return parts.table(values, ref(self.names)) if self.names else free

    def doc(self, link: Link) -> str:
        return f"a mapping from names to {self.values.doc(link).replace(', or ', ' or ')}"


@dataclasses.dataclass(frozen=True, slots=True)
class EnumValues(Structure):
    """A list of strings and integers, or a mapping from names of constants to them."""

    def json_schema(self, position: str) -> Schema:
        return ref("enum")

    def doc(self, link: Link) -> str:
        return "a list of strings and integers or a mapping from names of constants to them"


@dataclasses.dataclass(frozen=True, slots=True)
class EntityName(Structure):
    """The name of an entity that is declared elsewhere or, with `new`, of the entity that is declared here."""

    new: bool = False

    def json_schema(self, position: str) -> Schema:
        return ref("type_name")

    def doc(self, link: Link) -> str:
        return "a name" if self.new else "the name of an entity"


def required_type(position: str) -> list[Schema]:
    """Return the schemas of required types `X!` in a position that allows them."""
    if not POSITIONS[position].must:
        return []
    words = sorted(RESERVED - set(SCALAR_WORDS))
    return [parts.pattern(f"{parts.NAME}!") | {"not": {"enum": [f"{word}!" for word in words]}}]


@dataclasses.dataclass(frozen=True, slots=True)
class Type(Structure):
    """A type in a position; without one, in the position of the form that contains it.

    With `must` a word may end with `!`: bodies require the field with this type.
    """

    position: str = ""
    must: bool = False

    def json_schema(self, position: str) -> Schema:
        name = self.position or position
        type = ref(parts.type_name(name))
        return {"anyOf": [type, *required_type(name)]} if self.must else type

    def doc(self, link: Link) -> str:
        return "a [type](#types)"


@dataclasses.dataclass(frozen=True, slots=True)
class Fields(Structure):
    """A mapping from names of fields to types or field descriptions, in a position.

    With `nullable`, null resets inherited fields: a single field, or all if the mapping itself is null.
    """

    position: str
    nullable: bool = False

    def json_schema(self, position: str) -> Schema:
        fields = ref(parts.fields_name(self.position))
        return {"anyOf": [fields, NULL]} if self.nullable else fields

    def doc(self, link: Link) -> str:
        nullable = "; `null` resets one, or all" if self.nullable else ""
        return f"a mapping from names to [types](#types), or to descriptions of {link(self.position)}{nullable}"


@dataclasses.dataclass(frozen=True, slots=True)
class Members(Structure):
    """A mapping from names of members to types, in the position of the form that contains it."""

    def json_schema(self, position: str) -> Schema:
        return parts.table(ref(parts.type_name(position)), ref("name"))

    def doc(self, link: Link) -> str:
        return "a mapping from names to [types](#types)"


@dataclasses.dataclass(frozen=True, slots=True)
class Alternatives(Structure):
    """A list of two or more types that a value may have, in the position of the form that contains it."""

    def json_schema(self, position: str) -> Schema:
        return {"type": "array", "items": ref(parts.alternative_name(position)), "minItems": 2}

    def doc(self, link: Link) -> str:
        return "a list of two or more [types](#types)"


@dataclasses.dataclass(frozen=True, slots=True)
class SomeValues(Structure):
    """A list of two or more strings and integers."""

    def json_schema(self, position: str) -> Schema:
        return {"type": "array", "items": {"type": ["string", "integer"]}, "minItems": 2, "uniqueItems": True}

    def doc(self, link: Link) -> str:
        return "a list of two or more strings and integers"


_CHOICES: Final[Schema] = {"type": "object", "additionalProperties": ref("type_name"), "minProperties": 1}


@dataclasses.dataclass(frozen=True, slots=True)
class Choices(Structure):
    """A mapping from values of a discriminator to entities; with `or_one` also the name of a single entity."""

    or_one: bool = False

    def json_schema(self, position: str) -> Schema:
        return {"anyOf": [ref("type_name"), _CHOICES]} if self.or_one else _CHOICES

    def doc(self, link: Link) -> str:
        if self.or_one:
            return "the name of an entity, or a mapping from values to entities"
        return "a mapping from values to names of entities"


@dataclasses.dataclass(frozen=True, slots=True)
class OneEntity(Structure):
    """An entity: by name, declared inline, or one of a union."""

    def json_schema(self, position: str) -> Schema:
        return ref("one_entity")

    def doc(self, link: Link) -> str:
        return "the name of an entity, `{entity: …}` or `{union: …}`"


@dataclasses.dataclass(frozen=True, slots=True)
class Items(Structure):
    """The contents of a collection: `[Entity]` or `{values: Entity}`."""

    def json_schema(self, position: str) -> Schema:
        one = ref("one_entity")
        values: Schema = {"type": "object", "properties": {"values": one}, "additionalProperties": False}
        return {"anyOf": [parts.list_of_one(one), values | {"required": ["values"]}]}

    def doc(self, link: Link) -> str:
        return "`[Entity]` or `{values: Entity}`"


@dataclasses.dataclass(frozen=True, slots=True)
class Source(Structure):
    """The source of a query: one of these forms."""

    forms: tuple[str, ...]

    def json_schema(self, position: str) -> Schema:
        return {"anyOf": [ref(parts.form_name("schema", word)) for word in self.forms]}

    def doc(self, link: Link) -> str:
        return _forms(self.forms)


@dataclasses.dataclass(frozen=True, slots=True)
class Renames(Structure):
    """A mapping from names to other names; `what` describes them."""

    what: str

    def json_schema(self, position: str) -> Schema:
        return parts.table(ref("text"), ref("name"))

    def doc(self, link: Link) -> str:
        return f"a mapping from {self.what}"


@dataclasses.dataclass(frozen=True, slots=True)
class PathText(Structure):
    """A path template."""

    def json_schema(self, position: str) -> Schema:
        return ref("path")

    def doc(self, link: Link) -> str:
        return "a path such as `/items/:id`"


@dataclasses.dataclass(frozen=True, slots=True)
class Body(Structure):
    """A body: a name, a mapping of fields, a list, one of the wrapped or plain kinds, or null for none."""

    wrapped: tuple[str, ...]
    words: tuple[str, ...]

    def json_schema(self, position: str) -> Schema:
        return ref("body")

    def doc(self, link: Link) -> str:
        fields = f"a mapping from names to [types](#types), or to descriptions of {link('body_field')}"
        return f"the name of an entity or object, {fields}, `[X]`, {link('body')}, {codes(self.words, 'or')}; or `null`"


@dataclasses.dataclass(frozen=True, slots=True)
class Errors(Structure):
    """A mapping from error statuses to the objects of their bodies."""

    def json_schema(self, position: str) -> Schema:
        shape: Schema = {"anyOf": [NULL, {"const": "any"}, ref("type_name"), ref("error_choice")]}
        return parts.table(shape, parts.pattern(ERROR_STATUS))

    def doc(self, link: Link) -> str:
        return f"a mapping from statuses to names of objects, {link('error_choice')}, `any` or `null`"


@dataclasses.dataclass(frozen=True, slots=True)
class Use(Structure):
    """Alternatives of schemes: a list of names, and of lists of names that are combined; `none` may be last.

    Below the spec level, without `whole`, a single name or `none` is enough, and null resets the inherited value.
    """

    whole: bool = False

    def json_schema(self, position: str) -> Schema:
        names: Schema = {"type": "array", "items": ref("name"), "minItems": 1, "uniqueItems": True}
        together = names | {"items": ref("scheme_name")}
        alternatives: Schema = names | {"items": {"anyOf": [ref("name"), together]}}
        return alternatives if self.whole else {"anyOf": [NULL, ref("name"), alternatives]}

    def doc(self, link: Link) -> str:
        listed = "a list of schemes and of lists of them"
        return listed if self.whole else f"`none`, a scheme, or {listed}; or `null`"


@dataclasses.dataclass(frozen=True, slots=True)
class Response(Structure):
    """The schema of an endpoint: a type in any form, or null for none."""

    def json_schema(self, position: str) -> Schema:
        return {"anyOf": [NULL, ref(parts.type_name("schema"))]}

    def doc(self, link: Link) -> str:
        return "a [type](#types); or `null`"
