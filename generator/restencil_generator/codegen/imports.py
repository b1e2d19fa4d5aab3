"""The names of one generated module: what it declares, and what it imports.

Everything from elsewhere is imported qualified (`datetime.datetime`, `users.User`), so that a spec may choose its names
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
    """The module of a resource: its name in lower case, as modules are called."""
    return resource.python.lower()


@dataclasses.dataclass(frozen=True, slots=True)
class EntityModules:
    """The module of the package that each entity is in; that of everything else follows from its kind.

    `nested` are the entities whose TypedDict may be part of that of another body.
    """

    spec: d.Spec
    entities: Mapping[str, str]
    nested: frozenset[str] = frozenset()


@dataclasses.dataclass(slots=True)
class _Uses:
    """What a module imports: modules, names of modules, and classes of the package with whether they are needed at run
    time.
    """

    modules: set[str] = dataclasses.field(default_factory=set[str])
    parts: set[tuple[str, str]] = dataclasses.field(default_factory=set[tuple[str, str]])
    siblings: dict[tuple[str, str], bool] = dataclasses.field(default_factory=dict[tuple[str, str], bool])
    hidden: set[str] = dataclasses.field(default_factory=set[str])


class Scope:
    """Names that one module declares and imports. `members` are those in its classes: fields, endpoints, resources."""

    def __init__(self, module: str, entity_modules: EntityModules, members: Iterable[str]) -> None:
        self.module = module
        self.spec = entity_modules.spec
        self.entity_modules = entity_modules
        self._members = frozenset(members)
        self._uses = _Uses()
        self.defined: set[str] = set()
        """Classes of this module that are defined above the one that is being planned."""

    # ------------------------------------------------------------------------------------------------------------ names

    def use(self, module: str) -> str:
        """The name of a module here; it is imported from now on."""
        self._uses.modules.add(module)
        return self._name_of(module)

    def _name_of(self, module: str) -> str:
        head = module.partition(".")[0]
        return module if self._outside(head) == head else f"_{module.replace('.', '_')}"

    def builtin(self, name: str) -> str:
        """A built-in name, qualified if the spec uses it for something else."""
        return f"{self.use('builtins')}.{name}" if self._outside(name) != name else name

    def sibling(self, module: str, name: str, *, real: bool = False) -> str:
        """The name here of a class of another module of the package; `real`: not for type checkers alone."""
        if module == self.module:
            if name in self._members:
                self._uses.hidden.add(name)
            return self._inside(name)
        used = self._inside(name)
        self._uses.siblings[module, name] = real or self._uses.siblings.get((module, name), False)
        return used

    def typing(self, name: str) -> str:
        """A name of `typing`."""
        return f"{self.use('typing')}.{name}"

    def is_any(self, text: str) -> bool:
        """Whether a type is `Any`."""
        return text == f"{self._name_of('typing')}.Any"

    def restencil(self, name: str) -> str:
        """A public name of the runtime."""
        return f"{self.use(RUNTIME)}.{name}"

    def schema(self, name: str) -> str:
        """A schema kind of the runtime."""
        return f"{self._part(RUNTIME, 'schema')}.{name}"

    def hook(self, reference: d.Reference) -> str:
        """A hand-written function, imported when it is first called."""
        return call(self.restencil("lazy_function"), [string(f"{reference.module}:{reference.name}")])

    def hand_written(self, reference: d.Reference) -> str:
        """A hand-written class, imported with the module."""
        return f"{self.use(reference.module)}.{reference.name}"

    def _part(self, module: str, name: str) -> str:
        """The name here of a part of a module that is imported by itself, as it is used often."""
        self._uses.parts.add((module, name))
        return self._outside(name)

    def _inside(self, name: str) -> str:
        """The name here of an export of the package: such names differ from each other, not from members."""
        return f"_{name}" if name in self._members else name

    def _outside(self, name: str) -> str:
        """The name here of something from outside the package."""
        return f"_{name}" if name in self._members or name in self.spec.namespace else name

    def is_hidden(self, name: str) -> bool:
        """Whether a class of this module is used where a member of its name hides it, so that it needs another name."""
        return name in self._uses.hidden

    # ---------------------------------------------------------------------------------------------------------- imports

    def imports(self) -> tuple[tuple[Import, ...], ...]:
        """The imports at run time, in sections: standard library, the runtime, hand-written modules, the package."""
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
        """The imports for type checkers alone."""
        siblings = self._uses.siblings.items()
        return tuple(_from((f".{module}", name, self._inside(name)) for (module, name), real in siblings if not real))

    def _import(self, module: str) -> Import:
        name = self.use(module)
        return Import(module, (), None if name == module else name)

    # ------------------------------------------------------------------------------------------------------------ forms

    def mapping(self) -> str:
        """The type of a mapping from strings to anything."""
        return f"{self._part('collections.abc', 'Mapping')}[{self.builtin('str')}, {self.typing('Any')}]"

    def list_of(self, item: str) -> str:
        """The type of a list: read-only as a result, any sequence as an argument."""
        return f"{self._part('collections.abc', 'Sequence')}[{item}]"

    def dict_of(self, item: str) -> str:
        """The type of a dict with string keys."""
        return f"{self.builtin('dict')}[{self.builtin('str')}, {item}]"

    def lazily(self, name: str) -> str:
        """An entity class as a schema: itself if it is defined above, else looked up at first use."""
        home = self.entity_modules.entities[name]
        if home != self.module:
            return call(self.schema("Lazy"), [string(f".{home}:{name}"), "__name__"])
        return self._here(name)

    def object_lazily(self, name: str) -> str:
        """The class of an object as a schema: itself, but looked up at first use in its own module."""
        if self.module != OBJECTS:
            return self.sibling(OBJECTS, name, real=True)
        return self._here(name)

    def _here(self, name: str) -> str:
        """A class of this very module: itself if it is defined above, else looked up at first use."""
        # A lambda does not see the members of the class around it.
        plain = name in self.defined and name not in self._members
        return name if plain else call(self.schema("Lazy"), [f"lambda: {name}"])


STANDARD: Final = ("builtins", "collections.abc", "datetime", "decimal", "importlib", "typing", "uuid", "warnings")


def _from(parts: Iterable[tuple[str, str, str]]) -> list[Import]:
    """`from module import …` by module, for (module, name, name used): plain names together, others each by itself."""
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
