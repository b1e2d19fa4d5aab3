"""The names of one generated module: its declarations and its imports.

Names from other modules are imported qualified (`datetime.datetime`, `users.User`), so that a spec may choose its names
freely; only `schema`, `Sequence` and `Mapping` are imported by name. If a name of the spec is also that of an import,
the import gets a leading underscore, which no name of a spec can have.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Final

from restencil_generator.codegen.context import Import
from restencil_generator.codegen.pyexpr import call, imported, natural, string
from restencil_generator.spec import model as d

CLIENT: Final = "_client"
ENTITIES: Final = "_entities"
ENUMS: Final = "_enums"
ERRORS: Final = "_errors"
OBJECTS: Final = "_objects"
RUNTIME: Final = "restencil"


def module_of(resource: d.Resource) -> str:
    """Return the module of a resource: its name in lower case."""
    return resource.python.lower()


@dataclasses.dataclass(frozen=True, slots=True)
class EntityModules:
    """The module of each entity in the package; the module of everything else follows from its kind.

    `nested` are the entities whose TypedDict may be part of another body.
    """

    spec: d.Spec
    entities: Mapping[str, str]
    nested: frozenset[str] = frozenset()


@dataclasses.dataclass(slots=True)
class _Uses:
    """The imports of a module: modules, names from modules, and classes of the package with whether they are imported
    at run time.
    """

    modules: set[str] = dataclasses.field(default_factory=set[str])
    parts: set[tuple[str, str]] = dataclasses.field(default_factory=set[tuple[str, str]])
    siblings: dict[tuple[str, str], bool] = dataclasses.field(default_factory=dict[tuple[str, str], bool])
    hidden: set[str] = dataclasses.field(default_factory=set[str])


class Scope:
    """The declared and imported names of a module. `members` are fields, endpoints and resources of its classes."""

    def __init__(self, module: str, entity_modules: EntityModules, members: Iterable[str]) -> None:
        self.module = module
        self.spec = entity_modules.spec
        self.entity_modules = entity_modules
        self._members = frozenset(members)
        self._uses = _Uses()
        self.defined: set[str] = set()
        """Classes of this module that are defined before the one that is being planned."""

    # ------------------------------------------------------------------------------------------------------------ names

    def use(self, module: str) -> str:
        """Return the name of a module in this one, and import it."""
        self._uses.modules.add(module)
        return self._name_of(module)

    def _name_of(self, module: str) -> str:
        head = module.partition(".")[0]
        return module if self._outside(head) == head else f"_{module.replace('.', '_')}"

    def builtin(self, name: str) -> str:
        """Return a built-in name, qualified if the spec uses the name for something else."""
        return f"{self.use('builtins')}.{name}" if self._outside(name) != name else name

    def sibling(self, module: str, name: str, *, real: bool = False) -> str:
        """Return the name of a class from another module of the package; with `real` it is imported at run time."""
        if module == self.module:
            if name in self._members:
                self._uses.hidden.add(name)
            return self._inside(name)
        used = self._inside(name)
        self._uses.siblings[module, name] = real or self._uses.siblings.get((module, name), False)
        return used

    def typing(self, name: str) -> str:
        """Return a name of `typing`."""
        return f"{self.use('typing')}.{name}"

    def is_any(self, text: str) -> bool:
        """Return whether an annotation is `Any`."""
        return text == f"{self._name_of('typing')}.Any"

    def restencil(self, name: str) -> str:
        """Return a public name of the runtime."""
        return f"{self.use(RUNTIME)}.{name}"

    def schema(self, name: str) -> str:
        """Return a schema kind of the runtime."""
        return f"{self._part(RUNTIME, 'schema')}.{name}"

    def hook(self, reference: d.Reference) -> str:
        """Return an expression for a hand-written function, imported on its first call."""
        return call(self.restencil("lazy_function"), [string(f"{reference.module}:{reference.name}")])

    def hand_written(self, reference: d.Reference) -> str:
        """Return a hand-written class, imported with the module."""
        return f"{self.use(reference.module)}.{reference.name}"

    def _part(self, module: str, name: str) -> str:
        """Return a name that is imported from a module by name because it is used often."""
        self._uses.parts.add((module, name))
        return self._outside(name)

    def _inside(self, name: str) -> str:
        """Return the name of an export of the package in this module: it may clash only with members."""
        return f"_{name}" if name in self._members else name

    def _outside(self, name: str) -> str:
        """Return the name of something from outside the package in this module."""
        return f"_{name}" if name in self._members or name in self.spec.namespace else name

    def is_hidden(self, name: str) -> bool:
        """Return whether a class of this module is used where a member hides it, so that it needs an alias."""
        return name in self._uses.hidden

    # ---------------------------------------------------------------------------------------------------------- imports

    def imports(self) -> tuple[tuple[Import, ...], ...]:
        """Return the imports at run time in sections: standard library, runtime, hand-written modules, package."""
        uses = self._uses
        plain = sorted(uses.modules)
        standard = [self._import(module) for module in plain if module in STANDARD]
        runtime = [self._import(module) for module in plain if module == RUNTIME]
        written = [self._import(module) for module in plain if module not in STANDARD and module != RUNTIME]
        parts = [(module, name, self._outside(name)) for module, name in uses.parts]
        standard += _from(part for part in parts if part[0] in STANDARD)
        runtime += _from(part for part in parts if part[0] == RUNTIME)
        own = [(f".{module}", name, self._inside(name)) for (module, name), real in uses.siblings.items() if real]
        sections = standard, runtime, written, _from(own)
        return tuple(tuple(section) for section in sections if section)

    def type_imports(self) -> tuple[Import, ...]:
        """Return the imports for type checkers only."""
        siblings = self._uses.siblings.items()
        return tuple(_from((f".{module}", name, self._inside(name)) for (module, name), real in siblings if not real))

    def _import(self, module: str) -> Import:
        name = self.use(module)
        return Import(module, (), None if name == module else name)

    # ------------------------------------------------------------------------------------------------------------ forms

    def mapping(self) -> str:
        """Return the annotation of a mapping from strings to anything."""
        return f"{self._part('collections.abc', 'Mapping')}[{self.builtin('str')}, {self.typing('Any')}]"

    def list_of(self, item: str) -> str:
        """Return the annotation of a list: read-only as a result, any sequence as an argument."""
        return f"{self._part('collections.abc', 'Sequence')}[{item}]"

    def dict_of(self, item: str) -> str:
        """Return the annotation of a dict with string keys."""
        return f"{self.builtin('dict')}[{self.builtin('str')}, {item}]"

    def lazily(self, name: str) -> str:
        """Return an entity class as a schema: itself if it is already defined, else looked up on first use."""
        home = self.entity_modules.entities[name]
        if home != self.module:
            return call(self.schema("Lazy"), [string(f".{home}:{name}"), "__name__"])
        return self._here(name)

    def object_lazily(self, name: str) -> str:
        """Return the class of an object as a schema: itself, but looked up on first use within its own module."""
        if self.module != OBJECTS:
            return self.sibling(OBJECTS, name, real=True)
        return self._here(name)

    def _here(self, name: str) -> str:
        """Return a class of this module: itself if it is already defined, else looked up on first use."""
        # A lambda does not see the members of the class around it.
        plain = name in self.defined and name not in self._members
        return name if plain else call(self.schema("Lazy"), [f"lambda: {name}"])


STANDARD: Final = ("builtins", "collections.abc", "datetime", "decimal", "importlib", "typing", "uuid", "warnings")


def _from(parts: Iterable[tuple[str, str, str]]) -> list[Import]:
    """Return `from module import …` for (module, name, alias): plain names together, aliases one by one."""
    names: dict[str, list[tuple[str, str]]] = {}
    for module, name, used in parts:
        names.setdefault(module, []).append((name, used))
    found: list[Import] = []
    for module in sorted(names, key=natural):
        ordered = sorted(names[module], key=lambda pair: imported(pair[0]))
        plain = tuple((name, None) for name, used in ordered if used == name)
        lines = [Import(module, plain)] if plain else []
        lines += [Import(module, ((name, used),)) for name, used in ordered if used != name]
        found += sorted(lines, key=lambda line: imported(line.names[0][0]))
    return found
