"""Schema fingerprints: they show whether the same classes and endpoints as here wrote stored rows and results.

The shape of a row is the sorted fingerprints of the classes that wrote it, joined by `+`; the shape of a result is the
fingerprint of its endpoint. So a change of an entity only invalidates its own rows and the results that refer to them.
"""

from __future__ import annotations

import enum
import hashlib
import json
import typing
from collections.abc import Callable, Collection, Container, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from ..base.values import INVALID
from ..cache.request import Rules
from ..schema.codec import has_format
from ..schema.entity import EntityModel, as_entity
from ..schema.foreign import kind_of_class
from ..schema.notation import schema_of
from ..schema.protocol import Schema, definitions
from ..schema.record import Field, Model, class_record, class_records
from ..schema.stored import is_collection, item_tables
from .row_codec import TableRules, is_kept_cell, is_kept_key, plain_name

if TYPE_CHECKING:
    from ..cache.tables import EntityPath

ANY_SHAPE: Final = "*"
"""The shape of a result that fits every endpoint, as a function of `update` wrote it."""

_HOOKS: Final = ("validate", "merge", "should_update", "should_reorder", "merge_with_store")
_SIMPLE: Final[Mapping[Any, str]] = {str: "string", int: "integer", float: "number", bool: "boolean"}
_CONVERTED: Final[Mapping[tuple[str, str], str]] = {
    ("datetime", "datetime"): "datetime",
    ("datetime", "date"): "date",
    ("datetime", "time"): "time",
    ("decimal", "Decimal"): "decimal",
    ("uuid", "UUID"): "uuid",
}


def shape_of(fingerprints: Iterable[str]) -> str:
    """Return the shape of a row that classes with these fingerprints wrote."""
    return "+".join(sorted({*fingerprints}))


def joined_shape(shape: str, other: str) -> str:
    """Return the shape of a row that the classes of both shapes wrote."""
    return shape if shape == other else shape_of(filter(None, (*shape.split("+"), *other.split("+"))))


# -- classes -----------------------------------------------------------------------------------------------------------

_of_classes: Final[WeakKeyDictionary[EntityModel, tuple[int, str]]] = WeakKeyDictionary()
_of_endpoints: Final[WeakKeyDictionary[Rules, tuple[int, str]]] = WeakKeyDictionary()


def fingerprint_of(model: EntityModel) -> str:
    """Return the fingerprint of an entity class; it is the same in every process."""
    found = _of_classes.get(model)
    if found is None or found[0] != definitions.count:
        found = _of_classes[model] = definitions.count, _digest(_described(model))
    return found[1]


def fingerprint_of_endpoint(rules: Rules) -> str:
    """Return the fingerprint of an endpoint, by its schema and rules."""
    found = _of_endpoints.get(rules)
    if found is None or found[0] != definitions.count:
        form = _form(schema_of(rules.raw_schema))
        digest = _digest(
            {"schema": form, "persist": rules.persistence.persist, "process": rules.response.has_process_hook}
        )
        found = _of_endpoints[rules] = definitions.count, digest
    return found[1]


def _digest(description: Mapping[str, object]) -> str:
    text = json.dumps(description, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=repr)
    digest: str = hashlib.blake2b(text.encode(), digest_size=6).hexdigest()
    return digest


def _described(model: EntityModel) -> dict[str, Any]:
    relations = {relation.in_json: _form(relation.node) for relation in model.relations}
    fields = {
        declared.in_json: [kind_of_field(model, declared), _number(declared)]
        for declared in model.fields.values()
        if declared.in_json not in relations
    }
    kept = {declared.in_json: _number(declared) for declared in model.fields.values() if declared.in_json in relations}
    return {
        "table": model.key,
        "pk": "code" if model.pk_parts is None else ["fields", *_pk_fields(model)],
        "fields": fields,
        "relations": {name: [form, kept.get(name)] for name, form in relations.items()},
        "persist": model.persist,
        "hooks": [name for name in _HOOKS if getattr(model, name) is not None],
        "process": model.has_process,
    }


def _number(declared: Field) -> int | None:
    return None if declared.persist is None else int(declared.persist)


def _pk_fields(model: EntityModel) -> list[str]:
    return [".".join(model.wire_path(name)) for name in model.pk_parts or ()]


def kind_of_field(model: Model, declared: Field) -> str:
    """Return the kind of a field, such as "string" or "list of integer"."""
    if declared.decode is not None or declared.name in model.setting("decode", {}):
        return "custom"
    if declared.encode is not None or declared.name in model.setting("encode", {}):
        return "custom"
    if has_format(declared.format):
        return f"datetime {declared.format}"
    return _kind(model.kinds.get(declared.name))


def _kind(annotation: object) -> str:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is None:
        return _kind_of_type(annotation)
    if origin in (typing.Annotated, typing.Final):
        return _kind(arguments[0])
    if origin is typing.Literal:
        return "enum"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return f"values of {_kind(arguments[1])}"
    if isinstance(origin, type) and issubclass(origin, Collection):
        return f"list of {_kind(arguments[0])}"
    kinds = {_kind(argument) for argument in arguments if argument is not type(None)}
    return kinds.pop() if len(kinds) == 1 else "any"


def _kind_of_type(annotation: object) -> str:
    if not isinstance(annotation, type):
        return "any"
    kind: type[Any] = annotation
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    converted = _CONVERTED.get((kind.__module__, kind.__qualname__))
    if converted is not None:
        return converted
    if issubclass(kind, enum.Enum):
        return "enum"
    if class_record(kind) is not None or kind_of_class(kind) is not None:
        return "object"
    if callable(getattr(kind, "__codec__", None)):
        return "custom"
    return "values" if issubclass(kind, Mapping) else "list" if issubclass(kind, list | tuple | set) else "any"


# -- forms of schemas --------------------------------------------------------------------------------------------------


def _form(schema: Schema | None, above: tuple[Schema, ...] = ()) -> object:
    """Return the structure of a schema: kinds and table keys."""
    if schema is None:
        return None
    if schema in above:
        return ["again", above[::-1].index(schema)]
    return schema.fingerprint(lambda inner: _form(inner, (*above, schema)))


# -- the classes of a store --------------------------------------------------------------------------------------------


class _KnownClasses(NamedTuple):
    """What the known classes of a table say."""

    counted: tuple[int, int, int]
    """The counts of definitions and classes when they were collected."""
    rules: TableRules
    prints: frozenset[str]
    """Their fingerprints."""
    indexes: frozenset[str]
    """The stored fields by which records are found."""


class SchemaRegistry:
    """The entity classes that a store uses, by table, with their bases and subclasses of the same table."""

    def __init__(
        self,
        secrets: Iterable[str] = (),
        registered: Callable[[str], object] = bool,
        only_here: Container[EntityPath | str] = (),
    ) -> None:
        self.secrets = frozenset(map(plain_name, secrets))
        """Names of secrets besides the usual ones, as returned by `plain_name`."""
        self._met: dict[str, dict[EntityModel, None]] = {}
        self._complete: dict[int, tuple[Schema, int, tuple[str, ...]]] = {}
        """By id, the schemas whose classes are all registered, with the count of definitions then, and their tables."""
        self._only_here = only_here
        """Lists that are never stored are among these."""
        self._known: dict[str, _KnownClasses] = {}
        """By table, what its classes say, until there are others."""
        self._registered = registered
        """Called with the table of each newly registered class."""

    def add_secret(self, name: str) -> None:
        """Add the name of a secret: the query parameter in which a client sends its credential."""
        self.secrets |= {plain_name(name)}
        self._known.clear()

    def register(self, schema: Schema | None) -> tuple[str, ...]:
        """Register the entity classes that a schema contains, except unresolved ones, and return their tables."""
        if schema is None:
            return ()
        known = self._complete.get(id(schema))
        if known is not None and known[:2] == (schema, definitions.count):
            return known[2]
        models, is_complete = entities_in(schema)
        for model in models:
            self.register_class(model)
        tables = tuple(dict.fromkeys(model.key for model in models))
        if is_complete:
            self._complete[id(schema)] = schema, definitions.count, tables  # the reference prevents reuse of the id
        return tables

    def register_class(self, model: EntityModel) -> None:
        """Register an entity class."""
        met = self._met.setdefault(model.key, {})
        if model not in met:
            met[model] = None
            self._registered(model.key)

    def met(self, table: str) -> Iterable[EntityModel]:
        """Return the registered classes of a table."""
        return [*self._met.get(table, ())]

    def classes(self, table: str) -> Collection[EntityModel]:
        """Return the registered classes of a table, with their bases and subclasses of the same table."""
        met = self._met.get(table)
        return frozenset(other for model in met for other in _related(model)) if met else frozenset()

    def rules(self, table: str) -> TableRules:
        """Return the rules that decide which rows and members of a table are stored."""
        return self._known_of(table).rules

    # -- rows and results that are stored

    def keeps_key(self, key: str) -> bool:
        """Whether a result may be stored under a key."""
        return is_kept_key(key, self.secrets)

    def keeps_result(self, key: str, rules: Rules) -> bool:
        """Whether the result of an endpoint is stored under a key."""
        return bool(rules.persistence.persist) and not rules.side_effect and self.keeps_key(key)

    def keeps_marks(self, key: str, rules: Rules) -> bool:
        """Whether marks that the result of an endpoint depends on are stored; endpoints written by hand set none."""
        return self.keeps_result(key, rules) or (rules.strict and not rules.side_effect and self.keeps_key(key))

    def keeps_table(self, table: str) -> bool:
        """Whether rows of a table are stored; of lists, whether all of their items are."""
        tables = item_tables(table) if is_collection(table) else [table]
        return all(self.rules(one).kept for one in tables)

    def keeps(self, cell: EntityPath) -> bool:
        """Whether a cell is stored."""
        table, pk = cell
        return is_kept_cell(table, pk, self.secrets) and self.keeps_table(table)

    def keeps_whole(self, table: str, records: Mapping[str, Any]) -> bool:
        """Whether the stored rows of records, or of deleted ones, have all of their members."""
        rules, others = self.rules(table), self.secrets
        return rules.kept and not any(
            not is_kept_cell(table, pk, others) or (stored is not INVALID and rules.leaves_out(stored))
            for pk, stored in records.items()
        )

    def keeps_list(self, cell: EntityPath) -> bool:
        """Whether a list is stored."""
        return cell not in self._only_here and self.keeps(cell)

    def indexes(self, table: str) -> Collection[str]:
        """Return the fields by which records of a table are found, if these are stored."""
        return self._known_of(table).indexes

    # -- rows that can be read

    def readable(self, table: str, shape: str) -> bool:
        """Whether all classes that wrote a row equal known classes of its table; collections have no shape."""
        if not shape:
            return is_collection(table)
        prints = frozenset(shape.split("+"))
        if prints <= self._known_of(table).prints:
            return True
        return self._look_further(table) and prints <= self._known_of(table).prints

    def _known_of(self, table: str) -> _KnownClasses:
        # Without new classes, nothing is collected again. (Benchmark: `cached()` of an entity, cold.)
        counted = definitions.count, class_records.count, len(self._met.get(table, ()))
        found = self._known.get(table)
        if found is None or found.counted != counted:
            classes = sorted(self.classes(table), key=fingerprint_of)
            rules = TableRules(classes, self.secrets, self.keeps_list)
            indexes = frozenset(name for model in classes for name in model.indexes if rules.keeps(name))
            prints = frozenset(map(fingerprint_of, classes))
            found = self._known[table] = _KnownClasses(counted, rules, prints, indexes)
        return found

    def _look_further(self, table: str) -> bool:
        """Resolve late references of the registered classes; True if the table has more classes now."""
        before = self.classes(table)
        for model in [model for met in self._met.values() for model in met]:
            for found in entities_in(model.node, resolves=True)[0]:
                self.register_class(found)
        return self.classes(table) != before


def entities_in(schema: Schema, *, resolves: bool = False) -> tuple[list[EntityModel], bool]:
    """Return the entity classes that a schema contains, directly or through entities, and whether these are all.

    Without `resolves`, it skips unresolved references, as their classes may have to be imported.
    """
    found: dict[EntityModel, None] = {}
    is_complete = True
    waiting: list[Schema | None] = [schema]
    seen: set[int] = set()
    for one in waiting:
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        entity = as_entity(one)
        if entity is None:
            waiting += one.children()
            continue
        found[entity.model] = None
        for relation in entity.model.relations:
            if resolves or relation.is_resolved:
                waiting.append(relation.node)
            else:
                is_complete = False
    return [*found], is_complete


def _related(model: EntityModel) -> Iterable[EntityModel]:
    """Yield a class, its bases and its subclasses, if they share its table."""
    waiting: list[type[Any]] = [*model.cls.__mro__]
    connection: list[type[Any]] = [model.cls]
    for cls in connection:
        connection += type.__subclasses__(cls)
    for cls in (*waiting, *connection):
        found = class_record(cls)
        if isinstance(found, EntityModel) and found.key == model.key:
            yield found
