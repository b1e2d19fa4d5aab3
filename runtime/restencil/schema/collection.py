"""Collections: lists and maps with an identity of their own, so that other endpoints can add to them."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Any, Final, NamedTuple, NoReturn, TypeAlias, cast

from ..base.errors import ProcessingError
from ..base.values import LIST, SEQUENCE, UNDEFINED, ReadOnlyList, is_dict, is_list, is_mapping, same_json, text_of
from .containers import List, Object, Union, Values, item_identity, items_of
from .entity import EntitySchema
from .notation import schema_of
from .protocol import Echo, Reader, Schema, Subject, Writer, check_shape, definitions
from .stored import PartialEntries, PartialKeys, absent_entries, each_once, entries_of, entry_key, is_partial, like

Identity: TypeAlias = Mapping[str, Any]
"""The primary key of a collection, decoded to a mapping."""

Filter: TypeAlias = Callable[..., Callable[[Identity], bool]]
NonFilter: TypeAlias = Callable[[str], bool] | Iterable[str] | re.Pattern[str]


def search_text(value: Any) -> Any:
    """Convert a member of a collection's identity to its string in a URL; an object to a JSON object."""
    if isinstance(value, SEQUENCE):
        return ",".join(_item_text(item) for item in value)
    if is_mapping(value):
        return json.loads(json.dumps(dict(value), default=text_of))
    return text_of(value)


def _item_text(item: Any) -> str:
    if item is None:
        return ""
    return _json_text(item) if is_mapping(item) else str(search_text(item))


def _json_text(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=text_of)


def identity_text(members: Mapping[str, object]) -> str:
    """Encode the identity of a collection as its primary key: compact JSON with sorted keys, without `None` members."""
    if not members:
        return "{}"
    texts = {str(name): search_text(value) for name, value in members.items() if value is not None}
    return _json_text(texts)


@lru_cache(maxsize=4096)
def identity_of_text(pk: str) -> Identity:
    """Decode the primary key of a collection; cached, since each addition decodes those of all lists of its table."""
    found: Identity = json.loads(pk)
    return found


_IN_PAGES: Final = " pages"
"""The end of the name of a table of lists whose responses are pages."""


def is_selected(table: str, pk: str) -> bool:
    """Return whether a list has arguments, or a path of its own (`apart`), which may select its items."""
    return not table.removesuffix(_IN_PAGES).endswith(("]", "}")) or bool(identity_of_text(pk))


def first_argument(*args: object) -> Mapping[str, object]:
    """Return the default identity of a collection: a copy of the first argument, `{}` without one."""
    return dict(args[0]) if args and is_mapping(args[0]) else {}


class Collection(Schema):
    """A list `Collection([S])` or map `Collection(Values(S))` that endpoints can add to.

    `args_key(*args)` returns the identity for the arguments of the endpoint, `nest_key(parent, key)` that for the
    entity that the collection is nested in. `non_filter_argument_keys` (a function, names, or a compiled regular
    expression) names the arguments that do not influence the items. `create_collection_filter(*args)` replaces the rule
    for the collections that an addition joins: it returns a function of the identity. With `follow` entities leave and
    join the collection when mutations change them. `apart`, such as the path of the endpoint, separates the collection
    from others of the same entity with the same arguments.

    Raises TypeError for a schema of another kind.
    """

    many = True
    is_collection = True
    has_inside = True
    """Whether a stored collection can refer to entities; always, since it consists of references."""
    is_paged = False
    """Whether responses are pages; the list is separate from a nested one with the same arguments, which is whole."""
    _table_key: tuple[int, str] | None = None
    """The cached `table_key`, with the count of schema redefinitions that it is valid for."""

    def __init__(
        self,
        schema: object,
        *,
        nest_key: Callable[[Any, str | None], Mapping[str, Any]] | None = None,
        args_key: Callable[..., Mapping[str, Any]] | None = None,
        non_filter_argument_keys: NonFilter | None = None,
        create_collection_filter: Filter | None = None,
        follow: bool = False,
        apart: str = "",
    ) -> None:
        inner = schema_of(schema)
        if not isinstance(inner, (List, Values)):
            raise TypeError(
                f"Collection takes a list [S], an Array or a Values schema, found {schema!r}; write Collection([S])"
            )
        self.inner: List | Values = inner
        self.schema = schema
        self.is_map = isinstance(inner, Values)
        self.shape = inner.shape
        self._nest_key = nest_key
        self._args_key = args_key
        self._non_filter = non_filter_argument_keys
        self._filter = create_collection_filter
        self.follows = follow
        self.apart = apart

    @cached_property
    def item(self) -> Schema | None:
        """The schema of each item."""
        return self.inner.item

    def in_pages(self) -> Collection:
        """Return the collection for an endpoint whose responses are pages."""
        if self.is_paged:
            return self
        found = copy.copy(self)
        found.drop_compiled()
        found.is_paged, found._table_key = True, None
        return found

    @property
    def table_key(self) -> str:
        """The table: `[Key]` for lists, `{Key}` for maps; `Key;Key` for a union, and `Key;` for a union of one type.

        After it stands what separates the list from others: its path, and whether its responses are pages.
        """
        known = self._table_key
        if known is None or known[0] != definitions.count:
            self._table_key = known = definitions.count, _named_table(self)
        return known[1]

    @property
    def own_table(self) -> str | None:
        return self.table_key

    def inside(self, stored: list[Any]) -> Iterable[tuple[Schema | None, list[object]]]:
        """The values directly inside entries of the table, grouped by their schemas."""
        return ((self.inner, stored),)

    def identity(self) -> Any:
        """A key that is equal for collections that share their lists or dicts."""
        return self.is_map, item_identity(self.item)

    def children(self) -> Iterable[Schema | None]:
        return (self.inner,)

    def fingerprint(self, of: Callable[[Schema | None], object]) -> Any:
        return ["collection", self.table_key, of(self.inner)]

    @property
    def title(self) -> str:
        return self.inner.title

    @property
    def wire_model(self) -> Any:
        return self.inner.wire_model

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.schema!r})"

    # -- identity ------------------------------------------------------------------------------------------------

    def args_key(self, *args: object) -> Mapping[str, object]:
        """Return the identity for the arguments of an endpoint."""
        return self._args_key(*args) if self._args_key is not None else first_argument(*args)

    def nest_key(self, parent: object, key: str | None) -> Mapping[str, object] | None:
        """Return the identity for an enclosing entity; None to derive it from the arguments."""
        return self._nest_key(parent, key) if self._nest_key is not None else None

    def pk(self, writer: Writer) -> str:
        """Return the primary key of the collection at the current position of the response."""
        enclosing = writer.enclosing
        nested = self.nest_key(*enclosing) if enclosing is not None else None
        if nested is None:
            pk = identity_text(self.args_key(*writer.args))
            if enclosing is not None:
                writer.note_nested_collection(self.table_key, pk)
            return pk
        return identity_text(nested)

    def non_filter_argument_keys(self, name: str) -> bool:
        """Whether an argument does not influence the items; by default the arguments whose names start with `order`."""
        rule = self._non_filter
        if rule is None:
            return name.startswith("order")
        if isinstance(rule, re.Pattern):
            return rule.search(name) is not None
        if callable(rule):
            return bool(rule(name))
        return name in rule

    def create_collection_filter(self, *args: object) -> Callable[[Identity], bool]:
        """Return a function that decides by identity which collections an addition joins.

        By default every member of the identity must equal an argument of the call, unless it is no filter.
        """
        if self._filter is not None and self._non_filter is None:
            return self._filter(*args)
        sources = [argument for argument in args[:2] if is_mapping(argument)]

        def accepts(identity: Identity) -> bool:
            for name, value in identity.items():
                if self.non_filter_argument_keys(name):
                    continue
                if not any(source.get(name) is not None and search_text(source[name]) == value for source in sources):
                    return False
            return True

        return accepts

    # -- the three operations ------------------------------------------------------------------------------------

    def normalize(self, value: Any, parent: object, key: str | None, writer: Writer) -> Any:
        pk = self.pk(writer)
        writer.write_collection(self.table_key, pk, self.normalize_items(value, parent, key, writer), self)
        return pk

    def normalize_items(self, value: Any, parent: object, key: str | None, writer: Writer) -> Any:
        """Normalize the items and return their stored form: a list or dict of primary keys."""
        if not (is_list(value) or is_mapping(value)):
            raise ProcessingError(f"expected a list of {self.title}, found {value!r:.100}{writer.where}")
        if self.is_map and is_list(value):
            check_shape(self, value, writer, self.shape)
            value = {str(place): entry for place, entry in enumerate(value)}
        stored = writer.visit(self.inner, value, parent, key)
        return stored if self.is_map else [entry for entry in stored if entry is not None]

    def denormalize(self, stored: Any, reader: Reader) -> Any:
        if isinstance(stored, str):
            return reader.collection(self, stored)
        # A number or boolean is neither a list nor the primary key of one.
        return self.inner.denormalize(stored, reader) if isinstance(stored, (list, dict)) else UNDEFINED

    def echo(self, value: Any, echo: Echo) -> Any:
        return self.inner.echo(value, echo)

    def query_key(self, args: tuple[object, ...], reader: Reader) -> Any:
        pk = identity_text(self.args_key(*args))
        table = self.table_key
        return pk if reader.has(table, pk) and not is_partial(reader.stored(table, pk)) else UNDEFINED

    # -- derived schemas -------------------------------------------------------------------------------------------

    @property
    def push(self) -> Adder:
        """The schema that appends the items of the response to all lists that match the arguments."""
        _refuse(self, "push", self.is_map)
        return Adder(self, append)

    @property
    def unshift(self) -> Adder:
        """The schema that prepends the items of the response to all lists that match the arguments."""
        _refuse(self, "unshift", self.is_map)
        return Adder(self, prepend)

    @property
    def assign(self) -> Adder:
        """The schema that adds the entries of the response to all maps that match the arguments."""
        _refuse(self, "assign", not self.is_map)
        return Adder(self, overlay)

    def add_with(self, merge: Callable[[Any, Any], object], create_collection_filter: Filter | None = None) -> Adder:
        """Return a schema that adds items with a custom merge: `merge(existing, new) -> all`, in stored form."""
        return Adder(self, _of_copies(merge), create_collection_filter)

    @property
    def remove(self) -> Adder:
        """The schema that removes the items of the response from all collections that match the arguments."""
        return Adder(self, without)

    @property
    def move(self) -> Mover:
        """The schema that moves an entity from the collections that it matched before to those that it matches now."""
        return Mover(self, append)

    def move_with(self, merge: Callable[[Any, Any], object]) -> Mover:
        """Return a schema that moves an entity, and adds it with a custom `merge(existing, new) -> all`."""
        return Mover(self, _of_copies(merge))

    def paged(self, remove_cursor: Callable[..., Iterable[object]]) -> PagedCollection:
        """Return a schema of pages, which are appended to the collection with the arguments `remove_cursor(*args)`."""
        return PagedCollection(self, remove_cursor)


def matches_argument(
    schema: EntitySchema,
    name: str,
    value: object,
    record: Mapping[str, object] | None,
    params: Mapping[str, object],
) -> bool | None:
    """Return whether a record matches an argument of a list; None if that is unknown.

    The argument is compared with the field of the same Python or JSON name, else with the parameter of the call.
    """
    model = schema.model
    field = model.fields.get(model.to_python.get(name, name))
    if field is None:
        return search_text(params[name]) == value if params.get(name) is not None else None
    if record is None:
        return False
    found = record.get(field.in_json, UNDEFINED)
    if found is UNDEFINED:
        return None
    if found is not None and search_text(found) == value:
        return True
    is_scalar = found is None or type(found) in (str, int, float, bool)
    relation = model.related.get(field.name)
    is_text = isinstance(relation.node, EntitySchema) if relation is not None else field.name not in model.codecs
    is_plain = isinstance(value, str) and "," not in value and is_text
    return False if is_scalar and is_plain else None


def _named_table(collection: Collection) -> str:
    item = collection.item
    inner = [*item.children()] if isinstance(item, Union) else [item]
    keys = ";".join(
        schema.table_key if isinstance(schema, EntitySchema) else _no_entity(collection, schema) for schema in inner
    )
    if len(inner) == 1 and isinstance(item, Union):
        keys += ";"  # items of a union are stored in another form than those of its only type
    name = (f"{{{keys}}}" if collection.is_map else f"[{keys}]") + collection.apart
    return name + _IN_PAGES if collection.is_paged else name


def _no_entity(collection: Collection, schema: Schema | None) -> NoReturn:
    found = "nothing" if schema is None else schema.title
    raise TypeError(
        f"{collection!r} contains {found}, which is not an entity; use a plain list [S] or Values for values without "
        "a primary key"
    )


def _refuse(collection: Collection, word: str, wrong: bool) -> None:
    if wrong:
        have, fits = ("map of values", "assign") if collection.is_map else ("list", "push or unshift")
        raise ValueError(f"{word}: this Collection is a {have}; use {fits}")


def append(existing: list[Any], new: list[object]) -> list[Any]:
    """Add the new items that a list does not have at its end."""
    more = absent_entries(existing, new)
    longer: list[Any] = like(existing, [*existing, *more]) if more else existing
    return longer


def prepend(existing: list[Any], new: list[object]) -> list[object]:
    """Add the new items that a list does not have at its start."""
    more = absent_entries(existing, new)
    longer: list[Any] = like(existing, [*more, *existing]) if more else existing
    return longer


def overlay(existing: dict[str, Any], new: dict[str, object]) -> dict[str, Any]:
    """Merge two dicts; new entries replace existing ones."""
    merged = {**existing, **new}
    return existing if same_json(existing, merged) else like(existing, merged)


def _of_copies(merge: Callable[[Any, Any], object]) -> Callable[[Any, Any], Any]:
    """Wrap a user's merge so that it gets copies, since stored values must not be changed in place."""

    def merged(existing: object, new: object) -> Any:
        kind: type[Any] = dict if is_dict(existing) else list
        found = merge(kind(existing), kind(new))
        return existing if same_json(existing, found) else like(existing, found)

    return merged


def without(existing: Any, new: object) -> Any:
    """Remove the entries of `new` from the existing ones."""
    gone = {entry_key(entry) for entry in items_of(new)}
    if is_dict(existing):
        kept: Any = {name: entry for name, entry in existing.items() if entry_key(entry) not in gone}
    else:
        kept = [entry for entry in existing if entry_key(entry) not in gone]
    return like(existing, kept) if len(kept) != len(existing) else existing


class Adder(Schema):
    """A schema whose responses are added to stored collections."""

    adds = True

    def __init__(
        self, collection: Collection, merge: Callable[[Any, Any], Any], create_filter: Filter | None = None
    ) -> None:
        self.collection = collection
        self.merge = merge
        self.create_filter = create_filter
        self.is_creation = merge is not without

    def children(self) -> Iterable[Schema | None]:
        return (self.collection.item,)

    @property
    def title(self) -> str:
        return self.collection.title

    @property
    def body_model(self) -> object:
        return self.collection.inner.wire_model

    @property
    def subject(self) -> Schema | None:
        return self.collection.item

    def subjects(self, result: object) -> Iterator[Subject]:
        item = self.collection.item
        for entry in entries_of(result):
            found = None if item is None else item.referred(entry)
            if found is not None:
                yield Subject(found[0], found[1], is_new=True, apart=self.collection.apart)
            elif item is not None:
                yield from item.subjects(entry)

    def _wrapped(self, value: object) -> Any:
        return value if self.collection.is_map or is_list(value) else [value]

    def normalize(self, value: Any, parent: object, key: str | None, writer: Writer) -> Any:
        collection = self.collection
        new = writer.created(collection.normalize_items, self._wrapped(value), parent, key, writer)
        if writer.is_certain:  # fields that the server left out may decide which lists match
            accepts = (self.create_filter or collection.create_collection_filter)(*writer.args)
            merge = self.merge
            writer.edit_collections(
                collection.table_key,
                lambda pk: accepts(identity_of_text(pk)),
                lambda pk, existing: merge(existing, new),
                refreshes=True,
            )
        return new

    def denormalize(self, stored: object, reader: Reader) -> Any:
        collection = self.collection
        whole = isinstance(stored, dict if collection.is_map else list)
        return reader.visit(collection.inner if whole else collection.item, stored)

    def echo(self, value: Any, echo: Echo) -> Any:
        if self.collection.is_map or isinstance(value, list):
            return self.collection.echo(value, echo)
        found = echo.visit(self.collection.item, value)
        return None if found is UNDEFINED else found


_NOWHERE: Final = ("", "")
_UNKNOWN: Final = (None, None)


class _Move(NamedTuple):
    """An entry to move: its key if the collection is a map, its stored form, and its records before and now."""

    name: str | None
    entry: Any
    was: Mapping[str, Any] | None
    now: Mapping[str, Any] | None


def _corrected(args: tuple[object, ...], record: Mapping[str, object]) -> list[object]:
    """Return the arguments of a call, with the values of a record for members of the same names."""
    return [
        {name: record.get(name, value) for name, value in argument.items()} if is_mapping(argument) else argument
        for argument in args
    ]


class Mover(Adder):
    """A schema that moves entities between collections, comparing their records before and after the response."""

    def __init__(self, collection: Collection, merge: Callable[[Any, Any], Any]) -> None:
        super().__init__(collection, merge)
        self.is_creation = False  # the entity existed before

    def normalize(self, value: Any, parent: object, key: str | None, writer: Writer) -> Any:
        collection = self.collection
        new = writer.created(collection.normalize_items, self._wrapped(value), parent, key, writer)
        entries: Any = [*new.items()] if is_dict(new) else [(None, entry) for entry in new]
        args = writer.args[:1]

        def change_of(records: Mapping[tuple[str, str], Any]) -> Callable[[str, Any], Any]:
            moves = [_Move(name, entry, *records.get(self._cell(entry), _UNKNOWN)) for name, entry in entries]

            def change(pk: str, existing: object) -> Any:
                identity, changed = identity_of_text(pk), existing
                for move in moves:
                    changed = self._moved(move, identity, changed, args)
                return changed

            return change

        moved: dict[tuple[str, str], Any] = {}
        for _, entry in entries:
            cell = self._cell(entry)
            if cell != _NOWHERE:
                moved[cell] = writer.record_before(*cell), writer.stored_record(*cell)
        change = change_of(moved)
        writer.edit_collections(collection.table_key, lambda pk: True, change, moved=moved, change_of=change_of)
        return new

    def _moved(self, move: _Move, identity: Identity, existing: Any, args: tuple[object, ...]) -> Any:
        """Return a collection after an entity has left or joined it; the same object if it does neither."""
        collection, was, now = self.collection, move.was, move.now
        one: Any = [move.entry] if move.name is None else {move.name: move.entry}
        matched = was is not None and collection.create_collection_filter(was)(identity)
        matches = now is not None and collection.create_collection_filter(*_corrected(args, now), now)(identity)
        if matched and not collection.create_collection_filter(now or {})(identity):
            return without(existing, one)
        if matches:
            return overlay(existing, one) if collection.is_map else self.merge(existing, one)
        return existing

    def _cell(self, entry: object) -> tuple[str, str]:
        """Return the table and the primary key of an item; empty strings if it refers to no entity."""
        item = self.collection.item
        found = None if item is None else item.referred(entry)
        return _NOWHERE if found is None else (found[0].table_key, found[1])


class PagedCollection(Collection):
    """The schema of a page of a collection: its items are appended to the collection."""

    def __init__(self, base: Collection, remove_cursor: Callable[..., Iterable[Any]]) -> None:
        super().__init__(base.schema, follow=base.follows, apart=base.apart)
        self.base = base
        self.is_paged = base.is_paged
        self.remove_cursor = remove_cursor

    def args_key(self, *args: object) -> Mapping[str, object]:
        return self.base.args_key(*self.remove_cursor(*args))

    def nest_key(self, parent: object, key: str | None) -> Mapping[str, object] | None:
        return self.base.nest_key(parent, key)

    def non_filter_argument_keys(self, name: str) -> bool:
        return self.base.non_filter_argument_keys(name)

    def create_collection_filter(self, *args: object) -> Callable[[Identity], bool]:
        return self.base.create_collection_filter(*args)

    def normalize(self, value: Any, parent: object, key: str | None, writer: Writer) -> Any:
        """Return the items of the page in their order, and append those that the list does not have.

        A list that was never fetched stays partial.
        """
        pk = self.pk(writer)
        table = self.table_key
        new = self.normalize_items(value, parent, key, writer)
        if not self.is_map:
            new = cast(Any, each_once(new))
        existing = writer.stored_collection(table, pk)
        if existing is None:
            writer.write_collection(table, pk, PartialEntries(new) if self.is_map else PartialKeys(new))
        elif self.is_map:
            writer.change_collection(table, pk, overlay(existing, new))
        else:
            writer.change_collection(table, pk, append(existing, new))
        writer.note_page(table, pk, self, new)
        return new

    def echo(self, value: Any, echo: Echo) -> Any:
        found: Any = super().echo(value, echo)
        if not isinstance(found, LIST) or len({*map(id, found)}) == len(found):
            return found
        return ReadOnlyList([*{id(item): item for item in found}.values()])

    def query_key(self, args: tuple[object, ...], reader: Reader) -> Any:
        """Always unknown: only its own response determines the items of a page."""
        return UNDEFINED


def list_result(schema: Schema | None, result: Any, args: tuple[object, ...]) -> Any:
    """Convert the stored result of a page to that of its list: the list's primary key in place of the items."""
    if isinstance(schema, PagedCollection):
        return identity_text(schema.args_key(*args))
    if isinstance(schema, Object) and is_dict(result):
        members = schema.members
        return {name: list_result(members.get(name), entry, args) for name, entry in result.items()}
    return result


def find_collection(raw: object) -> Collection | None:
    """Return the first collection of a schema, depth-first through dicts and `Object`s; None if there is none."""
    return _first_collection(schema_of(raw), frozenset())


def _first_collection(schema: Schema | None, above: frozenset[int]) -> Collection | None:
    if isinstance(schema, Collection):
        return schema
    if isinstance(schema, Object) and id(schema) not in above:
        for member in schema.members.values():
            found = _first_collection(member, above | {id(schema)})
            if found is not None:
                return found
    return None


def paginated_schema(raw: object, remove_cursor: Callable[..., Iterable[object]]) -> Schema:
    """Return the schema with each collection in it replaced by one of pages. Raises ValueError if there is none."""
    schema = schema_of(raw)
    if find_collection(schema) is None:
        raise ValueError(
            f"Missing Collection: pages are appended to a Collection, but {raw!r} contains none; "
            "declare the list's schema as Collection([S])"
        )
    return _changed(cast(Schema, schema), lambda collection: collection.paged(remove_cursor), frozenset())


def with_collections(raw: object, change: Callable[[Collection], Collection]) -> object:
    """Return the schema with `change` applied to each collection in it; unchanged if there is none."""
    schema = schema_of(raw)
    return raw if find_collection(schema) is None else _changed(cast(Schema, schema), change, frozenset())


def _changed(schema: Schema, change: Callable[[Collection], Collection], above: frozenset[int]) -> Schema:
    if isinstance(schema, Collection):
        return change(schema)
    if isinstance(schema, Object) and id(schema) not in above:
        members = {
            name: raw if (member := schema_of(raw)) is None else _changed(member, change, above | {id(schema)})
            for name, raw in schema.definition.items()
        }
        return Object(members, schema.wire)
    return schema
