"""Rules that combine several keys of one section of the language.

A rule is one class: its errors (`check`), its JSON Schema (`json_schema`), and its sentence on the reference page
(`doc`).
"""

from __future__ import annotations

import abc
import dataclasses

from restencil_generator.diagnostics.model import Place, Related, quoted
from restencil_generator.spec.grammar.schema_parts import Schema, any_given
from restencil_generator.spec.grammar.value_kinds import codes
from restencil_generator.spec.grammar.value_reader import ParsedSection, Subject, ValueReader
from restencil_generator.spec.source.nodes import MappingNode, Node, ScalarNode


class Rule(abc.ABC):
    """A rule about several keys of one section."""

    __slots__ = ()

    @abc.abstractmethod
    def check(self, reader: ValueReader, section: ParsedSection, what: Subject, at: Node | Place) -> None:
        """Report keys that break the rule. `at` is the place of the section."""

    @abc.abstractmethod
    def json_schema(self) -> Schema:
        """Return the schema of mappings that follow the rule."""

    @abc.abstractmethod
    def doc(self) -> str:
        """Return the sentence on the reference page."""


@dataclasses.dataclass(frozen=True, slots=True)
class ExactlyOne(Rule):
    """Exactly one of these keys is given. `code` and `message` are for the error, `again` is the hint for several."""

    keys: tuple[str, ...]
    code: str
    message: str
    again: str

    def check(self, reader: ValueReader, section: ParsedSection, what: Subject, at: Node | Place) -> None:
        found = [section.key(key) for key in self.keys if key in section]
        message = self.message.format(owner=what)
        if not found:
            reader.report(self.code, message, at)
        elif len(found) > 1:
            reader.report(self.code, message, found[1], self.again, [Related(found[0].place, "the first one")])

    def json_schema(self) -> Schema:
        return {"oneOf": [{"required": [key]} for key in self.keys]}

    def doc(self) -> str:
        return f"Exactly one of {codes(self.keys, 'and')} is given."


@dataclasses.dataclass(frozen=True, slots=True)
class OneOrMore(Rule):
    """At least one of these keys is given; `hint` says what to add."""

    keys: tuple[str, ...]
    hint: str

    def check(self, reader: ValueReader, section: ParsedSection, what: Subject, at: Node | Place) -> None:
        if not any(key in section for key in self.keys):
            reader.report("missing-key", f"{what} needs {quoted(self.keys[0])}", at, self.hint)

    def json_schema(self) -> Schema:
        return any_given(self.keys)

    def doc(self) -> str:
        return f"{codes(self.keys, 'or')} is {'given' if len(self.keys) > 1 else 'required'}."


@dataclasses.dataclass(frozen=True, slots=True)
class OnlyWithValue(Rule):
    """A key is given if, and only if, another one has one of these values.

    `need` and `hint` are for the error if it is missing.
    """

    key: str
    other: str
    values: tuple[str, ...]
    need: str
    hint: str

    def check(self, reader: ValueReader, section: ParsedSection, what: Subject, at: Node | Place) -> None:
        value = section[self.other]
        if self.key not in section:
            if value in self.values:
                reader.report("missing-key", f"{what} needs {quoted(self.key)} {self.need}", at, self.hint)
        elif value is not None and value not in self.values:
            values = " or ".join(map(quoted, self.values))
            named = f"{quoted(self.key)} has a meaning for the {self.other} {values} alone"
            hint = f"remove it, or write '{self.other}: {self.values[0]}'"
            node = section.key(self.key)
            section.forget(self.key)
            reader.report("key-not-here", f"{named}, {what} has {quoted(str(value))}", node, hint)

    def json_schema(self) -> Schema:
        given: Schema = {"required": [self.key]}
        return {"if": {"properties": {self.other: {"enum": [*self.values]}}}, "then": given, "else": {"not": given}}

    def doc(self) -> str:
        return f"`{self.key}` is given if, and only if, `{self.other}` is {codes(self.values, 'or')}."


@dataclasses.dataclass(frozen=True, slots=True)
class RequiresKey(Rule):
    """A key is only given together with another one."""

    key: str
    other: str

    def check(self, reader: ValueReader, section: ParsedSection, what: Subject, at: Node | Place) -> None:
        if self.key in section and self.other not in section:
            message = f"{quoted(self.key)} of {what} has a meaning only beside {quoted(self.other)}"
            reader.report("key-not-here", message, section.key(self.key), f"add '{self.other}: …'")

    def json_schema(self) -> Schema:
        return {"dependentRequired": {self.key: [self.other]}}

    def doc(self) -> str:
        return f"`{self.key}` is only given with `{self.other}`."


@dataclasses.dataclass(frozen=True, slots=True)
class NotBoth(Rule):
    """At most one of two flags is true; `message` is for the error `code`."""

    one: str
    other: str
    code: str
    message: str

    def check(self, reader: ValueReader, section: ParsedSection, what: Subject, at: Node | Place) -> None:
        if section.get(self.one) and section.get(self.other):
            reader.report(self.code, self.message.format(owner=what.name), section.key(self.other), "keep one of them")

    def json_schema(self) -> Schema:
        both = {key: {"const": True} for key in (self.one, self.other)}
        return {"not": {"properties": both, "required": list(both)}}

    def doc(self) -> str:
        return f"`{self.one}` and `{self.other}` are not both true."


@dataclasses.dataclass(frozen=True, slots=True)
class Excludes(Rule):
    """Each of these keys excludes these others."""

    keys: tuple[str, ...]
    others: tuple[str, ...]
    code: str
    message: str

    def check(self, reader: ValueReader, section: ParsedSection, what: Subject, at: Node | Place) -> None:
        for key in self.others:
            if key in section and any(one in section for one in self.keys):
                message = self.message.format(owner=what, key=quoted(key))
                reader.report(self.code, message, section.key(key), "remove it")

    def json_schema(self) -> Schema:
        return {"if": any_given(self.keys), "then": {"not": any_given(self.others)}}

    def doc(self) -> str:
        return f"{codes(self.keys, 'and')} exclude{'' if len(self.keys) > 1 else 's'} {codes(self.others, 'and')}."


@dataclasses.dataclass(frozen=True, slots=True)
class OnlyWithMapping(Rule):
    """A key is given if, and only if, the value of another one is a mapping.

    `need` and `add` are message and hint if it is missing, `extra` is the message if it must not be given.
    """

    key: str
    other: str
    need: str
    add: str
    extra: str

    def check(self, reader: ValueReader, section: ParsedSection, what: Subject, at: Node | Place) -> None:
        needed = isinstance(section.node(self.other), MappingNode)
        if needed and self.key not in section:
            reader.report("missing-key", self.need.format(owner=what), at, self.add)
        elif self.key in section and not needed:
            reader.report("unknown-key", self.extra.format(owner=what), section.key(self.key), "remove it")

    def json_schema(self) -> Schema:
        given: Schema = {"required": [self.key]}
        return {"if": {"properties": {self.other: {"type": "object"}}}, "then": given, "else": {"not": given}}

    def doc(self) -> str:
        return f"`{self.key}` is given if, and only if, `{self.other}` is a mapping."


@dataclasses.dataclass(frozen=True, slots=True)
class MappingWith(Rule):
    """The value of a key is a mapping if another key is given, else a string; `hints` are for the two cases."""

    key: str
    other: str
    hints: tuple[str, str]

    def check(self, reader: ValueReader, section: ParsedSection, what: Subject, at: Node | Place) -> None:
        node = section.node(self.key)
        if node is None or isinstance(node, MappingNode) is (self.other in section):
            return
        expected, hint = ("a mapping", self.hints[0]) if self.other in section else ("a string", self.hints[1])
        if isinstance(node, MappingNode | ScalarNode):
            reader.wrong(Subject(quoted(self.key), what), expected, node, hint)
        section.forget(self.key)

    def json_schema(self) -> Schema:
        mapping, text = ({"properties": {self.key: {"type": type}}} for type in ("object", "string"))
        return {"if": {"required": [self.other]}, "then": mapping, "else": text}

    def doc(self) -> str:
        return f"`{self.key}` is a mapping if `{self.other}` is given, else a string."


@dataclasses.dataclass(frozen=True, slots=True)
class Together(Rule):
    """Two keys are given together, or a third one without them."""

    first: str
    second: str
    instead: str

    def check(self, reader: ValueReader, section: ParsedSection, what: Subject, at: Node | Place) -> None:
        keys = (self.first, self.second)
        if self.instead in section and not any(key in section for key in keys):
            return
        for key in keys:
            if key not in section:
                hint = f"add '{key}: …'"
                if self.instead in section:
                    other = self.second if key == self.first else self.first
                    hint += f", or remove '{other}' for a group of endpoints"
                reader.report("missing-key", f"{what} needs the key '{key}'", at, hint)

    def json_schema(self) -> Schema:
        keys = (self.first, self.second)
        return {"anyOf": [{"required": [*keys]}, {"required": [self.instead], "not": any_given(keys)}]}

    def doc(self) -> str:
        return f"`{self.first}` and `{self.second}` are given together, or `{self.instead}` without them."


@dataclasses.dataclass(frozen=True, slots=True)
class OnlyWithAny(Rule):
    """Without any of these keys, `others` are not allowed; `what` describes such a mapping."""

    keys: tuple[str, ...]
    others: tuple[str, ...]
    what: str

    def check(self, reader: ValueReader, section: ParsedSection, what: Subject, at: Node | Place) -> None:
        if any(key in section for key in self.keys):
            return
        missing = " nor ".join(map(quoted, self.keys))
        for key in self.others:
            if key in section:
                message = f"{quoted(key)} has no meaning in {what}, {self.what}: it has neither {missing}"
                hint = "remove it, or write it in an endpoint"
                reader.report("key-not-here", message, section.key(key), hint)

    def json_schema(self) -> Schema:
        return {"if": {"not": any_given(self.keys)}, "then": {"not": any_given(self.others)}}

    def doc(self) -> str:
        return f"Without {codes(self.keys, 'and')}, {codes(self.others, 'and')} are not allowed."


@dataclasses.dataclass(frozen=True, slots=True)
class ParameterUnless(Rule):
    """The path under a key has at least one parameter, unless a flag is true. `spec.analyze` checks it."""

    key: str
    flag: str

    def check(self, reader: ValueReader, section: ParsedSection, what: Subject, at: Node | Place) -> None:
        """Report nothing: the analysis does."""

    def json_schema(self) -> Schema:
        flagged: Schema = {"required": [self.flag], "properties": {self.flag: {"const": True}}}
        return {"if": {"not": flagged}, "then": {"properties": {self.key: {"pattern": r"^(?:[^\\:]|\\.)*:"}}}}

    def doc(self) -> str:
        return f"`{self.key}` has at least one parameter, unless `{self.flag}: true` is given."
