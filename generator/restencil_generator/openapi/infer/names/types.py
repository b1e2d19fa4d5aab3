"""Unique names of entities, objects, enums and members."""

from __future__ import annotations

import itertools
import keyword
import re
import string
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from restencil_generator.openapi.infer.names.inflection import pascal_case, shortened, snake_case, spelled
from restencil_generator.spec import names as python
from restencil_generator.spec.error_classes import BASE, CLASSES
from restencil_generator.spec.grammar.type_words import RESERVED

_PARTS: Final = re.compile(r"[^\w\- ]+")
_VERSION: Final = re.compile(r"v?\d+(?:(?:alpha|beta)\d+)?\Z", re.IGNORECASE)


class TypeNames:
    """The names of entities, objects and enums.

    `given` are the names of the last import, by identity; `held` are the identities of names that are kept.
    """

    def __init__(self, given: Mapping[str, str], held: Mapping[str, str] | None = None) -> None:
        self.given = given
        self.held = held or {}
        self._spare: dict[str, Iterator[str]] = {}
        """Fallback names if all candidates are taken, by the last candidate."""
        self.taken: set[str] = {*RESERVED, BASE, *CLASSES, *keyword.kwlist}

    def reserve(self, names: Iterable[str]) -> None:
        """Reserve names of other parts of the package."""
        self.taken.update(names)

    def claim(self, identity: str, *candidates: str, sent: bool = True) -> str:
        """Return the first free candidate, else one that ends in `Data`.

        A `sent` type also has types for bodies, whose names must be free too.
        """
        known = self.given.get(identity)
        candidates = tuple(map(shortened, candidates))
        for name in (known, *candidates) if known else candidates:
            if self.held.get(name, identity) == identity and self._take(name, sent):
                return name
        spare = self._spare.setdefault(candidates[-1], spare_names(candidates[-1], "Data"))
        return next(name for name in spare if self.held.get(name, identity) == identity and self._take(name, sent))

    def are_taken(self, identity: str, *candidates: str) -> bool:
        """Return whether other types have all of these names."""
        return all(
            name in self.taken or self.held.get(name, identity) != identity
            for name in (self.given.get(identity, candidates[0]), *candidates)
        )

    def _take(self, name: str, sent: bool) -> bool:
        names = (name, f"{name}Body", f"{name}PartialBody") if sent else (name,)
        if any(each in self.taken for each in names):
            return False
        self.taken.update(names)
        return True


def type_names(name: str) -> list[str]:
    """Return names for a schema, the shortest first: the last part of a dotted or generic name, then more."""
    parts = [pascal_case(part) for part in _PARTS.split(name) if part.strip("_- ")]
    if not parts:
        return ["Value"]
    first = 1
    while first < len(parts) and _VERSION.match(parts[-first]):
        first += 1
    return ["".join(parts[-count:]) for count in range(first, len(parts) + 1)]


def member_names(wires: Iterable[str], use: python.Use = "member") -> dict[str, str]:
    """Return a unique Python name for each JSON name, also with the underscores of keywords.

    JSON names that are valid in Python are kept; others are changed.
    """
    listed = list(dict.fromkeys(wires))
    plain = [wire for wire in listed if snake_case(wire) == wire]
    found: dict[str, str] = {}
    taken: set[str] = set()
    for wire in (*plain, *(wire for wire in listed if snake_case(wire) != wire)):
        for name in _candidates(wire):
            if python.python_name(name, use) not in taken:
                taken.add(python.python_name(name, use))
                found[wire] = name
                break
    return {wire: found[wire] for wire in listed}


def _candidates(wire: str) -> Iterable[str]:
    yield snake_case(wire)
    yield spelled(wire)
    yield from spare_names(spelled(wire), "_value")


def spare_names(name: str, suffix: str) -> Iterator[str]:
    """Yield endless fallback names: the suffix up to three times, then with letters."""
    for count in range(1, 4):
        yield name + suffix * count
    joint = "_" if suffix.startswith("_") else ""
    for length in itertools.count(1):
        for letters in itertools.product(string.ascii_lowercase, repeat=length):
            word = "".join(letters)
            yield f"{name}{suffix}{joint}{word if joint else word.capitalize()}"


def first_free(candidates: Iterable[str], is_free: Callable[[str], bool]) -> str:
    """Return the first free candidate; the last one with the suffix `_other` if there is none."""
    listed = list(candidates) or ["value"]
    return next(name for name in itertools.chain(listed, spare_names(listed[-1], "_other")) if is_free(name))
