"""Comparison of two objects of one class: each attribute is compared by its row in the table of the class.

A row is a `Value` or a `Flag`, which name the rules of a change; a function, if the comparison is more complex; or
`Ignored`, with the reason why the attribute is not compared. A table has a row for each attribute of its class.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Protocol, TypeAlias, TypeVar, cast

from restencil_generator.diagnostics.model import Place
from restencil_generator.diff.change import Change
from restencil_generator.diff.roles import FIELD, Role
from restencil_generator.diff.types import Names, shown
from restencil_generator.spec import model as d

T = TypeVar("T")


@dataclasses.dataclass(frozen=True, slots=True)
class Specs:
    """Both specs, and the detected renames of types and resources.

    `enums` are those of both specs, with new names; `resources` has the new names of renamed resources.
    """

    old: d.Spec
    new: d.Spec
    names: Names
    resources: Mapping[str, str]
    enums: Mapping[str, d.Enum]


@dataclasses.dataclass(frozen=True, slots=True)
class At:
    """The position of a comparison.

    `sub` is the position within the node of findings, `places` are the places in the files. `key` is the key of the
    spec with the value: None for the name of the attribute, empty if `places` show which changes are the same. `path`
    is the path of the attribute from an endpoint, a resource or the spec, if it is inherited. `role` is the role of
    fields, `whole` are the types to show in messages about parts of them, `owners` the resources of both endpoints.
    """

    specs: Specs
    sub: str = ""
    places: tuple[Place | None, Place | None] = (None, None)
    key: str | None = None
    path: tuple[str, ...] = ()
    role: Role = FIELD
    whole: tuple[d.Type | None, d.Type | None] = (None, None)
    owners: tuple[d.Resource, d.Resource] | None = None

    def inside(self, name: str) -> At:
        """Return a position inside this one."""
        return dataclasses.replace(self, sub=".".join(filter(None, (self.sub, name))))

    def of(self, role: Role) -> At:
        """Return this position with another role of fields."""
        return dataclasses.replace(self, role=role)

    def under(self, key: str, *path: str) -> At:
        """Return this position for a key of the spec; `path` is the path of its attribute, if it is inherited."""
        return dataclasses.replace(self, key=key, path=path)

    def between(self, old: Place, new: Place) -> At:
        """Return this position for a part that has its own places in the files."""
        return dataclasses.replace(self, key="", path=(), places=(old, new))

    def change(self, rule: str, text: str, was: str = "") -> Change:
        """Return a change at this position."""
        return Change(rule, self.sub, text, was, *self.places, key=self.key or "", path=self.path)

    def changed(self, rule: str, old: object, new: object, *, label: str = "") -> Change:
        """Return the change of a value: `label old → new`."""
        label = f"{label} " if label else ""
        was = "" if old is None else f"{label}{text(old)}"
        return self.change(rule, f"{label}{text(old)} → {text(new)}", was)

    def type_changed(self, rule: str) -> Change:
        """Return the change of the whole type."""
        return self.changed(rule, *map(shown, self.whole))


def text(value: object) -> str:
    """Format a value for a finding."""
    if value is None:
        return "–"
    if isinstance(value, tuple):
        return f"[{', '.join(map(str, cast('tuple[object, ...]', value)))}]"
    return str(value).lower() if isinstance(value, bool) else str(value) or '""'


def _same(value: object) -> object:
    return value


@dataclasses.dataclass(frozen=True, slots=True)
class Value:
    """An attribute whose values are compared as a whole.

    `rule` is the rule of a change, which may depend on the role. `key` is the key of the spec if it is not the name of
    the attribute, and `sub` the name in findings if it is not the key. `show` converts a value for comparison and
    messages; `note` replaces the values in messages. `inherited` means that endpoints inherit the value from their
    resource or the spec: then a change is reported there.
    """

    rule: str | Callable[[Role], str]
    key: str = ""
    sub: str | None = None
    show: Callable[[Any], object] = _same
    label: str = ""
    note: str = ""
    inherited: bool = False

    def compare(self, at: At, name: str, old: object, new: object) -> Iterator[Change]:
        """Yield the change of the attribute with this name, if there is one."""
        was, now = self.show(old), self.show(new)
        if was == now and type(was) is type(now):
            return
        there = _at_attribute(at, name, self.key or name, self.sub, inherited=self.inherited)
        rule = self.rule if isinstance(self.rule, str) else self.rule(at.role)
        yield there.change(rule, self.note) if self.note else there.changed(rule, was, now, label=self.label)


@dataclasses.dataclass(frozen=True, slots=True)
class Flag:
    """A boolean whose two values have a rule each: `(rule, word)` for true, and for false."""

    true: tuple[str, str]
    false: tuple[str, str]
    sub: str = ""

    def compare(self, at: At, name: str, old: bool, new: bool) -> Iterator[Change]:
        """Yield the change of the attribute with this name, if there is one."""
        if old != new:
            (rule, word), (_, was) = (self.true, self.false) if new else (self.false, self.true)
            yield _at_attribute(at, name, name, self.sub).change(rule, f"{word} now", was)


def _at_attribute(at: At, name: str, key: str, sub: str | None, *, inherited: bool = False) -> At:
    there = at.inside(key if sub is None else sub)
    path = (*at.path, name) if at.path or inherited else ()
    return dataclasses.replace(there, key=key if at.key is None else at.key, path=path)


@dataclasses.dataclass(frozen=True, slots=True)
class Ignored:
    """An attribute that is not compared, and the reason."""

    reason: str


DERIVED: Final = Ignored("it follows from the rest")
WRITTEN: Final = Ignored("it says where something is written")

Compare: TypeAlias = Callable[[At, T, T], Iterator[Change]]
Attributes: TypeAlias = Mapping[str, Value | Flag | Ignored | Compare[T]]


def walk(attributes: Attributes[T], at: At, old: T, new: T) -> Iterator[Change]:
    """Yield the changes between two objects of one class."""
    if old == new:
        return
    for name, row in attributes.items():
        if isinstance(row, Value | Flag):
            yield from row.compare(at, name, getattr(old, name), getattr(new, name))
        elif not isinstance(row, Ignored):
            yield from row(at, old, new)


# ------------------------------------------------------------------------------------------------------- documentation


class HasDeprecation(Protocol):
    """A declaration that may be deprecated."""

    @property
    def deprecated(self) -> str | None:
        """The reason of the deprecation; None if it is not deprecated."""
        ...


def deprecation(at: At, old: HasDeprecation, new: HasDeprecation) -> Iterator[Change]:
    """Yield a change if something is deprecated, or no longer, or for another reason."""
    at = at if at.key is not None else at.under("deprecated")
    if (old.deprecated is None) != (new.deprecated is None):
        gone = new.deprecated is None
        rule = "deprecated-removed" if gone else "deprecated-added"
        yield at.change(rule, "no longer deprecated" if gone else "deprecated")
    elif old.deprecated != new.deprecated:
        yield at.change("description-changed", "why it is deprecated")


DESCRIPTION: Final = Value("description-changed", sub="", note="description")
