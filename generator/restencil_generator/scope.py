"""The names of one generated module: what it declares, what it imports, and how types and schemas are written in it.

Everything from elsewhere is imported qualified (`datetime.datetime`, `users.User`), so that a spec may name its own
things as it likes. Where a name of the spec is also that of an imported module, the import gets a leading underscore,
which no name of a spec can have.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as _datetime
import re
from collections.abc import Generator, Iterable, Iterator, Mapping
from typing import Final

from restencil_generator import declaration as d
from restencil_generator.code import Call, Expression, Lambda, Table, imported, items, literal, natural, pair, string

CLIENT: Final = "_client"
ENTITIES: Final = "_entities"
ENUMS: Final = "_enums"
LAZY: Final = "_lazy"
OBJECTS: Final = "_objects"
RUNTIME: Final = "restencil"

_SCALARS: Final[Mapping[str, tuple[str | None, str]]] = {
    "string": (None, "str"),
    "integer": (None, "int"),
    "number": (None, "float"),
    "boolean": (None, "bool"),
    "bytes": (None, "bytes"),
    "datetime": ("datetime", "datetime"),
    "date": ("datetime", "date"),
    "time": ("datetime", "time"),
    "decimal": ("decimal", "Decimal"),
    "uuid": ("uuid", "UUID"),
    "any": ("typing", "Any"),
}
_INTEGER: Final = re.compile(r"0|-?[1-9][0-9]{0,17}")
_CONVERTED: Final = ("datetime", "date", "time", "decimal", "uuid")


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Import:
    """`import module as alias`, or `from module import names` where there are any (a pair: `name as alias`)."""

    module: str
    names: tuple[tuple[str, str | None], ...] = ()
    alias: str | None = None


def module_of(resource: d.Resource) -> str:
    """The module of a resource: its name in lower case, as modules are called."""
    return resource.python.lower()


@dataclasses.dataclass(frozen=True, slots=True)
class Homes:
    """In which module of the package each entity stands; everything else follows from its kind.

    `nested` are the entities whose TypedDict may stand in that of another body.
    """

    spec: d.Spec
    entities: Mapping[str, str]
    nested: frozenset[str] = frozenset()


@dataclasses.dataclass(slots=True)
class _Uses:
    """What a module needs from elsewhere. Siblings are classes of the package, with whether they are needed at run
    time.
    """

    modules: set[str] = dataclasses.field(default_factory=set[str])
    parts: set[tuple[str, str]] = dataclasses.field(default_factory=set[tuple[str, str]])
    siblings: dict[tuple[str, str], bool] = dataclasses.field(default_factory=dict[tuple[str, str], bool])
    hidden: set[str] = dataclasses.field(default_factory=set[str])


class Scope:
    """What one module declares and imports. `members` are the names in its classes: fields, endpoints, resources."""

    def __init__(self, module: str, homes: Homes, members: Iterable[str]) -> None:
        self.module = module
        self.spec = homes.spec
        self._homes = homes.entities
        self._nested = homes.nested
        self._members = frozenset(members)
        self._uses = _Uses()
        self.defined: set[str] = set()
        """Classes of this module that stand above the place that is being planned."""

    # ------------------------------------------------------------------------------------------------------------ names

    @contextlib.contextmanager
    def apart(self) -> Generator[None]:
        """What is asked for inside is for comparison alone, and is not imported because of it."""
        before, self._uses = self._uses, _Uses()
        try:
            yield
        finally:
            self._uses = before

    def use(self, module: str) -> str:
        """The name under which a module stands here; it is imported from now on."""
        self._uses.modules.add(module)
        head = module.partition(".")[0]
        return module if self._outside(head) == head else f"_{module.replace('.', '_')}"

    def part(self, module: str, name: str) -> str:
        """The name under which something of a module stands here: `from restencil import schema`."""
        self._uses.parts.add((module, name))
        return self._outside(name)

    def builtin(self, name: str) -> str:
        """A built-in name, qualified where the spec uses it for something of its own."""
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

    def restencil(self, name: str) -> str:
        """A public name of the runtime."""
        return f"{self.use(RUNTIME)}.{name}"

    def schema(self, name: str) -> str:
        """A schema kind of the runtime."""
        return f"{self.part(RUNTIME, 'schema')}.{name}"

    def hook(self, reference: d.Reference) -> Call:
        """Hand-written code, imported when it is first called."""
        return Call(self.restencil("lazy_function"), (string(f"{reference.module}:{reference.name}"),))

    def hand_written(self, reference: d.Reference) -> str:
        """A hand-written class, imported with the module."""
        return f"{self.use(reference.module)}.{reference.name}"

    def _inside(self, name: str) -> str:
        """The name here of something that the package exports: such names differ from each other, not from members."""
        return f"_{name}" if name in self._members else name

    def _outside(self, name: str) -> str:
        """The name here of something from outside of the package."""
        return f"_{name}" if name in self._members or name in self.spec.namespace else name

    def is_hidden(self, name: str) -> bool:
        """Whether a class of this module is used where a member of its name hides it, so that it needs another one."""
        return name in self._uses.hidden

    # ---------------------------------------------------------------------------------------------------------- imports

    def imports(self) -> tuple[tuple[Import, ...], ...]:
        """The imports at run time, in sections: standard library, the runtime, hand-written modules, the package."""
        uses = self._uses
        plain = sorted(uses.modules)
        standard = [self._import(module) for module in plain if module in STANDARD]
        runtime = [self._import(module) for module in plain if module == RUNTIME]
        written = [self._import(module) for module in plain if module not in STANDARD and module != RUNTIME]
        runtime += _from((module, name, self._outside(name)) for module, name in uses.parts if module == RUNTIME)
        own = [(module, name, self._outside(name)) for module, name in uses.parts if module != RUNTIME]
        own += [(f".{module}", name, self._inside(name)) for (module, name), real in uses.siblings.items() if real]
        sections = standard, runtime, written, _from(own)
        return tuple(tuple(section) for section in sections if section)

    def type_imports(self) -> tuple[Import, ...]:
        """The imports for type checkers alone."""
        siblings = self._uses.siblings.items()
        return tuple(_from((f".{module}", name, self._inside(name)) for (module, name), real in siblings if not real))

    def _import(self, module: str) -> Import:
        name = self.use(module)
        return Import(module, (), None if name == module else name)

    # ------------------------------------------------------------------------------------------------------------ types

    def type(self, type: d.Type) -> str:
        """The Python type of what a read gives."""
        match type:
            case d.Scalar(name):
                module, text = _SCALARS[name]
                return self.builtin(text) if module is None else f"{self.use(module)}.{text}"
            case d.Const(value):
                return f"{self.typing('Literal')}[{literal(value)}]"
            case d.EnumRef(name):
                return self.sibling(ENUMS, name)
            case d.ObjectRef(name):
                return self.sibling(OBJECTS, name)
            case d.EntityRef(name):
                return self.sibling(self._homes[name], name)
            case d.Optional(item):
                return self.or_none(self.type(item))
            case d.ListOf(item):
                return self.list_of(self.type(item))
            case d.ValuesOf(item):
                return self.dict_of(self.type(item))
            case d.ObjectType(_, name):
                return self.sibling(self.module, name)
            case d.UnionOf(choices):
                return _either(self.type(d.EntityRef(choice.entity)) for choice in choices)
            case d.CollectionOf(of) | d.PageOf(of):
                return self.type(of)
            case d.AllOf(of):
                return self.list_of(self.type(of))
            case d.InvalidateOf(of):
                return self.or_none(self.type(of))
            case d.QueryOf(_, _, returns):
                return self.typing("Any") if returns is None else self.type(returns)
            case d.AdderOf(of, how):
                return self.type(of.of if how == "assign" else of.of.item)
            case d.AnyOf(alternatives):
                return _either(map(self.type, sorted(alternatives, key=_after_integer)))

    def body_type(self, type: d.Type, *, nested: bool = False) -> str:
        """The Python type of what a body takes: TypedDicts for entities and objects; inside others also instances."""
        match type:
            case d.EntityRef(name):
                body = self.spec.entities[name].body_name
                if body and not nested:
                    return self.sibling(self._homes[name], body)
                part = (
                    self.sibling(self._homes[name], body)
                    if body and name in self._nested
                    else self.dict_of(self.typing("Any"))
                )
                return _either([part, self.type(type), self.builtin("int"), self.builtin("str")])
            case d.ObjectRef(name):
                body = self.spec.objects[name].body_name
                found = [self.sibling(OBJECTS, body)] if body else []
                return _either([*found, self.type(type)] if nested or not body else found)
            case d.UnionOf(choices):
                return _either(self.body_type(d.EntityRef(choice.entity), nested=nested) for choice in choices)
            case d.Optional(item):
                return self.or_none(self.body_type(item, nested=True))
            case d.ListOf(item):
                return self.list_of(self.body_type(item, nested=True))
            case d.ValuesOf(item):
                return self.dict_of(self.body_type(item, nested=True))
            case d.CollectionOf(of):
                return self.body_type(of, nested=True)
            case _:
                return self.type(type)

    def mapping(self) -> str:
        """The type of a mapping with text keys and anything in it."""
        return f"{self.use('collections.abc')}.Mapping[{self.builtin('str')}, {self.typing('Any')}]"

    def list_of(self, item: str) -> str:
        return f"{self.builtin('list')}[{item}]"

    def dict_of(self, item: str) -> str:
        return f"{self.builtin('dict')}[{self.builtin('str')}, {item}]"

    def or_none(self, text: str) -> str:
        any_type = f"{self._outside('typing')}.Any"
        return text if text.endswith(" | None") or text == any_type else f"{text} | None"

    # ---------------------------------------------------------------------------------------------------------- schemas

    def entity(self, name: str) -> Expression:
        """An entity class as a schema: itself where it is defined already, else looked up at first use."""
        home = self._homes[name]
        if home != self.module:
            lazy = self.part(f".{LAZY}", "lazy")
            return Call(lazy, (string(home), string(name)))
        # A lambda does not see the members of the class that it stands in.
        plain = name in self.defined and name not in self._members
        return name if plain else Call(self.schema("Lazy"), (Lambda(name),))

    def schema_of(self, type: d.Type, entity: d.Entity | None = None) -> Expression | None:
        """The schema of a type, None where there is nothing to look for in it. `entity` is the one it is a field of."""
        match type:
            case d.Scalar(name) if name in _CONVERTED:
                module, text = _SCALARS[name]
                return Call(self.schema("codec"), (f"{self.use(module or 'builtins')}.{text}",))
            case d.ObjectRef(name):
                return self.sibling(OBJECTS, name, real=True)
            case d.EntityRef(name):
                return self.entity(name)
            case d.Optional(item):
                return self.schema_of(item, entity)
            case d.ListOf(item):
                inner = self.schema_of(item, entity)
                return None if inner is None else items([inner])
            case d.ValuesOf(item):
                inner = self.schema_of(item, entity)
                if isinstance(inner, Table):  # of Values, a bare mapping is a choice of schemas
                    inner = Call(self.schema("Object"), (inner,))
                return None if inner is None else Call(self.schema("Values"), self._choice(item, inner))
            case d.ObjectType():
                return self._object(type, entity)
            case d.UnionOf():
                return Call(self.schema("Union"), self._union(type))
            case d.CollectionOf():
                return self._collection(type, entity)
            case d.AllOf(of):
                return Call(self.schema("All"), self._choice(of, self.schema_of(of)))
            case d.InvalidateOf(of):
                return Call(self.schema("Invalidate"), self._choice(of, self.schema_of(of)))
            case d.QueryOf(of, process):
                inner = self.schema_of(of)
                return Call(self.schema("Query"), (inner or "None", self.hook(process)))
            case d.AdderOf(of, how):
                inner = self.schema_of(of)
                return dataclasses.replace(inner, after=f".{how}") if isinstance(inner, Call) else inner
            case d.PageOf(of):
                return self.schema_of(of, entity)
            case _:
                return None

    def _choice(self, of: d.Type, inner: Expression | None) -> tuple[Expression, ...]:
        """The arguments of a container: an entity, or a mapping with the attribute that tells them apart."""
        return self._union(of) if isinstance(of, d.UnionOf) else (inner or "None",)

    def _union(self, union: d.UnionOf) -> tuple[Expression, ...]:
        table = Table(tuple((literal(choice.value), self.entity(choice.entity)) for choice in union.choices))
        if isinstance(union.attribute, d.Reference):
            return table, self.hook(union.attribute)
        return table, string(union.wire)

    def _object(self, type: d.ObjectType, entity: d.Entity | None) -> Expression:
        members = Table(
            tuple((string(member.python), self.schema_of(member.type, entity) or "None") for member in type.members)
        )
        wire = wire_table(type.members)
        return members if wire is None else Call(self.schema("Object"), (members,), (("wire", wire),))

    def _collection(self, type: d.CollectionOf, entity: d.Entity | None) -> Call:
        inner = self.schema_of(type.of) or "None"
        keywords: list[tuple[str, Expression]] = []
        if type.nest and entity is not None:
            fields = {name: found for nest in type.nest if (found := entity.field(name := nest.field))}
            pairs = tuple(
                (string(nest.argument), f"parent.get({string(fields[nest.field].wire)})")
                for nest in type.nest
                if nest.field in fields
            )
            keywords.append(("nest_key", Lambda(Table(pairs), "parent, key")))
        if type.non_filter_arguments:
            keywords.append(("non_filter_argument_keys", pair(list(map(string, type.non_filter_arguments)))))
        name = self.schema("Collection") if type.custom is None else self.hand_written(type.custom)
        return Call(name, (inner,), tuple(keywords))

    # --------------------------------------------------------------------------------------------------------- defaults

    def default(self, type: d.Type, value: d.Json) -> Expression:
        """A default (JSON under Python names) as a Python value."""
        if value is None:
            return "None"
        match type:
            case d.Optional(item):
                return self.default(item, value)
            case d.Scalar("number") if isinstance(value, int):
                return literal(float(value))
            case d.Scalar("datetime" | "date" | "time") if isinstance(value, str):
                return self._moment(type.name, value)
            case d.Scalar("decimal"):
                text = str(value)
                return f"{self.use('decimal')}.Decimal({text if _INTEGER.fullmatch(text) else string(text)})"
            case d.Scalar("uuid") if isinstance(value, str):
                nil = not value.replace("-", "").strip("0")
                return f"{self.use('uuid')}.UUID({'int=0' if nil else string(value)})"
            case d.ObjectRef(name) if isinstance(value, dict):
                fields = {field.name: field for field in self.spec.objects[name].fields}
                given = tuple((fields[key].python, self.default(fields[key].type, part)) for key, part in value.items())
                return Call(self.sibling(OBJECTS, name, real=True), (), given)
            case d.ListOf(item) | d.CollectionOf(d.ListOf(item)) if isinstance(value, list):
                return items([self.default(item, part) for part in value])
            case d.ValuesOf(item) | d.CollectionOf(d.ValuesOf(item)) if isinstance(value, dict):
                return Table(tuple((string(key), self.default(item, part)) for key, part in value.items()))
            case _:
                return json_value(value)

    def _moment(self, kind: str, text: str) -> str:
        """A date or time of RFC 3339 as the call that makes it; a naive one is in UTC."""
        module = self.use("datetime")
        if kind == "date":
            date = _datetime.date.fromisoformat(text)
            return f"{module}.date({date.year}, {date.month}, {date.day})"
        if kind == "time":
            time = _datetime.time.fromisoformat(_short_fraction(text))
            zone = "" if time.tzinfo is None else f", tzinfo={_zone(module, time.utcoffset())}"
            return f"{module}.time({', '.join(map(str, _clock(time)))}{zone})"
        moment = _datetime.datetime.fromisoformat(_short_fraction(text))
        parts = [moment.year, moment.month, moment.day, *_clock(moment.time())]
        while len(parts) > 3 and parts[-1] == 0:
            del parts[-1]
        return f"{module}.datetime({', '.join(map(str, parts))}, tzinfo={_zone(module, moment.utcoffset())})"


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


def wire_table(fields: Iterable[d.Field]) -> Table | None:
    """The names in JSON of those fields that are called otherwise in Python; None where there is none."""
    pairs = tuple((string(field.python), string(field.wire)) for field in fields if field.python != field.wire)
    return Table(pairs) if pairs else None


def json_value(value: d.Json) -> Expression:
    """JSON data as Python code."""
    if isinstance(value, list):
        return items([json_value(part) for part in value])
    if isinstance(value, dict):
        return Table(tuple((string(key), json_value(part)) for key, part in value.items()))
    return literal(value)


def object_types(type: d.Type | None) -> Iterator[d.ObjectType]:
    """The object types in a type, inner ones first, so that they can be declared in this order."""
    match type:
        case d.ObjectType(members):
            for member in members:
                yield from object_types(member.type)
            yield type
        case d.Optional(of) | d.ListOf(of) | d.ValuesOf(of):
            yield from object_types(of)
        case d.CollectionOf(of) | d.PageOf(of):
            yield from object_types(of)
        case d.AdderOf(of):
            yield from object_types(of)
        case d.QueryOf(of, _, returns):
            yield from object_types(of)
            yield from object_types(returns)
        case _:
            return


def _after_integer(type: d.Type) -> bool:
    return type != d.Scalar("integer")


def _either(texts: Iterable[str]) -> str:
    """The union of types, each once; those given may be unions themselves."""
    return " | ".join(dict.fromkeys(part for text in texts for part in _alternatives(text)))


def _alternatives(text: str) -> list[str]:
    """The members of a union type; those of a union inside brackets are not its members."""
    if "[" not in text:
        return text.split(" | ")
    found, depth, begin, quote = list[str](), 0, 0, ""
    for index, char in enumerate(text):
        if quote:
            quote = "" if char == quote and not _is_escaped(text, index) else quote
        elif char in "\"'":
            quote = char
        elif char in "[(":
            depth += 1
        elif char in "])":
            depth -= 1
        elif char == "|" and depth == 0:
            found.append(text[begin : index - 1])
            begin = index + 2
    return [*found, text[begin:]]


def _is_escaped(text: str, index: int) -> bool:
    before = text[:index]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1


def _clock(time: _datetime.time) -> list[int]:
    parts = [time.hour, time.minute, time.second, time.microsecond]
    while len(parts) > 2 and parts[-1] == 0:
        del parts[-1]
    return parts


def _short_fraction(text: str) -> str:
    """The text with at most six digits of a second, which is what Python keeps."""
    return re.sub(r"(\.\d{6})\d+", r"\1", text)


def _zone(module: str, offset: _datetime.timedelta | None) -> str:
    if not offset:
        return f"{module}.UTC"
    minutes = int(offset.total_seconds() // 60)
    return f"{module}.timezone({module}.timedelta(minutes={minutes}))"
