"""The kinds of values that the rows of the language's table ask for.

A kind is data, and no more than its name and its bounds. Three modules say what each means: `read` makes a value of
a node of the tree, `json_schema` a JSON Schema, `reference` a phrase for people. A test takes every kind through all
three.

Kinds under `Structure` refer to the rest of a spec (a type may name an entity that is declared elsewhere), so the table
alone cannot read them: the stage `check` does, where it knows the names.
"""

from __future__ import annotations

import dataclasses
from typing import TypeAlias


class Kind:
    """What a key takes."""

    __slots__ = ()


class Structure(Kind):
    """A kind whose values are read where the names of the spec are known."""

    __slots__ = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Pattern:
    """What a text looks like, and what is said of one that does not.

    `regex` is in the common part of Python's and ECMAScript's syntax, and matches the whole text. In the message
    `{value}` is the text, `{key}` and `{label}` what its key is called, `{owner}` what the key belongs to and `{outer}`
    what that in turn belongs to.
    """

    regex: str
    code: str
    message: str
    hint: str = ""
    after: str = ""
    """What messages leave out at the beginning of the text."""


# --------------------------------------------------------------------------------------------------------- of one place


@dataclasses.dataclass(frozen=True, slots=True)
class Text(Kind):
    """A text; an empty one only where `empty` says so."""

    empty: bool = True
    pattern: Pattern | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Flag(Kind):
    """`true` or `false`; `others` says what else its key takes."""

    others: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Yes(Kind):
    """`true` and nothing else; `hint` says why."""

    hint: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class No(Kind):
    """`false` and nothing else; `others` says what else its key takes."""

    others: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Whole(Kind):
    """A whole number that is not too small."""

    least: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Version(Kind):
    """The version of the spec language, which is this one."""

    number: int


@dataclasses.dataclass(frozen=True, slots=True)
class Duration(Kind):
    """Milliseconds, or a text such as `500ms`, `30s`, `5m`, `1h`."""

    least: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Word(Kind):
    """One of some words; `others` says what else its key takes."""

    words: tuple[str, ...]
    others: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Literal(Kind):
    """A text, a whole number or a flag, as it is."""


@dataclasses.dataclass(frozen=True, slots=True)
class Code(Kind):
    """Hand-written code: `python:package.module:name`."""


@dataclasses.dataclass(frozen=True, slots=True)
class Reason(Kind):
    """`true`, `false`, or the reason why it is so."""


@dataclasses.dataclass(frozen=True, slots=True)
class Name(Kind):
    """A name that Python code can use as it is, or with an underscore where `keyword` allows words of Python.

    `what` is what messages call its bearer, `otherwise` the way to a name that is none in Python, as a hint with the
    places `name` and `suggested`.
    """

    what: str
    keyword: bool = False
    taken: tuple[str, ...] = ()
    otherwise: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Texts(Kind):
    """A list of texts, each given once; where there are `words`, of these alone. `least` is how many there must be.

    `noun` is what messages call one, and `pattern` what each looks like.
    """

    words: tuple[str, ...] = ()
    least: int = 0
    noun: str = "text"
    pattern: Pattern | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Headers(Kind):
    """A mapping from names of headers to texts."""


@dataclasses.dataclass(frozen=True, slots=True)
class Pairs(Kind):
    """A mapping from names to texts; with a `pattern` those of the texts look like it.

    `names` are those that may be given, any where there are none. A name of `secrets` is refused as what never stands
    in a spec, and one of `taken` because the request has it anyway.
    """

    names: tuple[str, ...] = ()
    pattern: Pattern | None = None
    secrets: tuple[str, ...] = ()
    taken: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Json(Kind):
    """Any JSON, with the place of each of its parts; a mapping alone where `mapping` says so."""

    mapping: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Section(Kind):
    """A mapping with the keys of a place of the table. `hint` shows how one is written."""

    place: str
    hint: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class OrNull(Kind):
    """Something, or null, which takes an inherited value back."""

    kind: Kind


@dataclasses.dataclass(frozen=True, slots=True)
class Either(Kind):
    """One of several forms, which are told apart by what is written: a mapping, a list, a reference to code, a word.

    What is of none of them is read as the last one, whose message says what is expected.
    """

    kinds: tuple[Kind, ...]


# ---------------------------------------------------------------------------------------------------- of the whole spec


@dataclasses.dataclass(frozen=True, slots=True)
class Table(Structure):
    """A mapping from names that the spec gives to values of one kind. `names` is which names can be given."""

    names: str
    values: Kind


@dataclasses.dataclass(frozen=True, slots=True)
class EnumValues(Structure):
    """A list of texts and whole numbers, or a mapping from the names of constants to them."""


@dataclasses.dataclass(frozen=True, slots=True)
class EntityName(Structure):
    """The name of an entity: of one that is declared, or, where `new` says so, of the one declared here."""

    new: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Type(Structure):
    """A type as it may stand in a position; without one, in that of the form which holds it.

    With `must` a word may end with `!`: bodies must hold the field whose type it is.
    """

    position: str = ""
    must: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Fields(Structure):
    """A mapping from names of fields to types or descriptions of fields, as they may stand in a position.

    With `back`, null takes back what is inherited: in place of a field that one, in place of the mapping all.
    """

    position: str
    back: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Members(Structure):
    """A mapping from names of members to types, in the position of the form which holds it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Names(Structure):
    """A mapping from members to their names in JSON."""


@dataclasses.dataclass(frozen=True, slots=True)
class Alternatives(Structure):
    """A list of two or more types of which a value is one, in the position of the form which holds it."""


@dataclasses.dataclass(frozen=True, slots=True)
class SomeValues(Structure):
    """A list of two or more texts and whole numbers."""


@dataclasses.dataclass(frozen=True, slots=True)
class Choices(Structure):
    """A mapping from values of a discriminator to entities."""


@dataclasses.dataclass(frozen=True, slots=True)
class EntityOrChoices(Structure):
    """The name of an entity, or a mapping from values of a discriminator to several."""


@dataclasses.dataclass(frozen=True, slots=True)
class OneEntity(Structure):
    """An entity: by name, declared in place, or one of a union."""


@dataclasses.dataclass(frozen=True, slots=True)
class Items(Structure):
    """What a collection holds: `[Entity]` or `{values: Entity}`."""


@dataclasses.dataclass(frozen=True, slots=True)
class Source(Structure):
    """What a query is computed from: one of these forms."""

    forms: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Nest(Structure):
    """A mapping from arguments of a collection to fields of the entity that holds it."""


@dataclasses.dataclass(frozen=True, slots=True)
class PathText(Structure):
    """A path template."""


@dataclasses.dataclass(frozen=True, slots=True)
class Body(Structure):
    """A body: a name, a mapping of fields, a list, one of the wrapped or plain kinds, or null for none."""


@dataclasses.dataclass(frozen=True, slots=True)
class Errors(Structure):
    """A mapping from statuses of errors to the objects that their bodies are."""


@dataclasses.dataclass(frozen=True, slots=True)
class Use(Structure):
    """Alternatives of schemes: a list of names, and of lists of names that go together; `none` may be last.

    Below the spec, where it is not `whole`, one name or `none` alone is enough, and null takes back.
    """

    whole: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Response(Structure):
    """The schema of an endpoint: a type in any form, or null for none."""


# --------------------------------------------------------------------------------------------------- of several keys


@dataclasses.dataclass(frozen=True, slots=True)
class ExactlyOne:
    """Of these keys one is given. `code` and `message` are of the mistake, `again` is the hint where there are two."""

    keys: tuple[str, ...]
    code: str
    message: str
    again: str


@dataclasses.dataclass(frozen=True, slots=True)
class OneOrMore:
    """Of these keys one is given at least; `hint` says what to add."""

    keys: tuple[str, ...]
    hint: str


@dataclasses.dataclass(frozen=True, slots=True)
class OnlyWith:
    """A key is given where another has one of these values, and nowhere else.

    `need` and `hint` are said where it is missing.
    """

    key: str
    other: str
    values: tuple[str, ...]
    need: str
    hint: str


@dataclasses.dataclass(frozen=True, slots=True)
class OnlyBeside:
    """A key is given only where another is."""

    key: str
    other: str


@dataclasses.dataclass(frozen=True, slots=True)
class NotBoth:
    """Of two flags one is true at most; `message` is of the mistake `code`."""

    one: str
    other: str
    code: str
    message: str


@dataclasses.dataclass(frozen=True, slots=True)
class Excludes:
    """Where a key is given, these are not."""

    key: str
    others: tuple[str, ...]
    code: str
    message: str


@dataclasses.dataclass(frozen=True, slots=True)
class OnlyWithMapping:
    """A key is given where the value of another is a mapping, and nowhere else.

    `need` and `add` are said where it is missing, `extra` where it is too much.
    """

    key: str
    other: str
    need: str
    add: str
    extra: str


@dataclasses.dataclass(frozen=True, slots=True)
class MappingWith:
    """The value of a key is a mapping where another key is given, and a text elsewhere; `hints` are for either."""

    key: str
    other: str
    hints: tuple[str, str]


@dataclasses.dataclass(frozen=True, slots=True)
class Together:
    """Two keys are given together, or a third one without them."""

    first: str
    second: str
    instead: str


@dataclasses.dataclass(frozen=True, slots=True)
class OnlyOf:
    """Where none of these keys is given, `others` are not either; `what` is what such a mapping is."""

    keys: tuple[str, ...]
    others: tuple[str, ...]
    what: str


@dataclasses.dataclass(frozen=True, slots=True)
class ParameterUnless:
    """The path under a key has at least one parameter, unless a flag says otherwise. The check judges it."""

    key: str
    flag: str


Rule: TypeAlias = (
    ExactlyOne
    | OneOrMore
    | OnlyWith
    | OnlyBeside
    | NotBoth
    | Excludes
    | OnlyWithMapping
    | MappingWith
    | Together
    | OnlyOf
    | ParameterUnless
)
