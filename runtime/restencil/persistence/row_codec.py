"""JSON encoding of stored rows and results, and which parts are stored at all.

JSON holds a record in wire form, a collection as its list or map of primary keys, or a result. A name that begins with
`$` gets one more; the library's own are `$left` (in a record: the members that were left out of it, each by its name,
or by the names that lead to it), `$partial` (instead of a collection whose pages are partly known), and beside
`$value`, a result, `$terms` (what the server said of how long it is good: moments in ms after its date, null for what
never comes, false and true for the marks 0 and 1) and `$told` (its validator: see `Validator`).
"""

from __future__ import annotations

import json
import re
import typing
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from math import inf
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeAlias
from urllib import parse as urls

from ..base.json_text import decode_json, encode_exactly
from ..base.values import UNDEFINED, Meta, is_dict, is_list
from ..cache.tables import Contents, Whole
from ..cache.validators import Terms
from ..schema.containers import Object
from ..schema.entity import EntityModel
from ..schema.kinds import kind_of_class
from ..schema.notation import schema_of
from ..schema.protocol import Schema
from ..schema.record import Model, class_record
from ..schema.stored import PartialEntries, PartialKeys, is_partial, like, record_of

LeftOut: TypeAlias = tuple[tuple[str, ...], ...]
"""What was left out of a record: of each member the names in JSON that lead to it, through lists and maps."""

NOTHING_LEFT: Final[LeftOut] = ()
SECRETS: Final = frozenset(
    {
        "accesstoken",
        "apikey",
        "auth",
        "authorization",
        "clientsecret",
        "cookie",
        "credential",
        "credentials",
        "idtoken",
        "passwd",
        "password",
        "privatekey",
        "refreshtoken",
        "secret",
        "sessiontoken",
        "sig",
        "signature",
        "token",
    }
)
"""Names of what is a secret, in lower case without `-` and `_`."""
OWN: Final = "MISS-"
"""So begin the primary keys that one process made up."""
_OWN_PK: Final = re.compile(r"MISS-\d+-\d+")

_LEFT: Final = "$left"
_WHOLE: Final = "$whole"
_CONTENTS: Final = "$brought"
_PARTIAL: Final = "$partial"
_TERMS: Final = "$terms"
_VALIDATORS: Final = "$told"
_VALUE: Final = "$value"
_MARK: Final = b'"$'
_FIRST: Final = itemgetter(0)
_LAST: Final = itemgetter(-1)
_CLOSED: Final = bytes({ord("{"): ord("}"), ord("["): ord("]")}.get(first, 0) for first in range(256))
"""How the JSON of a row ends that begins so; 0 for what is none."""
_LEFT_MARK: Final = b'"$left"'
_OWN_MARK: Final = b'"MISS-'
_REFERENCE: Final = frozenset({"id", "schema"})
_NO_NAMES: Final = frozenset[str]()
_MOST_NAMES: Final = 1_000


class Unstorable(ValueError):
    """A value that is not stored: it has no exact JSON form, or holds a secret that cannot be left out of it."""


# -- names -------------------------------------------------------------------------------------------------------------


def plain_name(name: str) -> str:
    """A name as names of secrets are compared: in lower case, without `-` and `_`."""
    return name.lower().replace("-", "").replace("_", "")


@lru_cache(maxsize=4096)
def is_secret(name: str, others: frozenset[str] = _NO_NAMES) -> bool:
    """Whether what bears this name is a secret; `others` are further names of secrets, as `plain_name` gives them."""
    found = plain_name(name)
    return found in SECRETS or found in others


@lru_cache(maxsize=4096)
def is_kept_key(key: str, others: frozenset[str] = _NO_NAMES) -> bool:
    """Whether a result may be stored under this key: no search parameter is a secret, and there is no userinfo."""
    address, _, search = key.partition("?")
    if "@" in address and "@" in address.partition("://")[2].partition("/")[0]:
        return False
    if not search:
        return True
    for pair in search.replace(";", "&").split("&"):
        name = urls.unquote_plus(pair.partition("=")[0])
        parts = name.replace("]", "").replace("[", ".").split(".")
        if any(is_secret(part, others) for part in parts):
            return False
    return True


def is_kept_cell(table: str, pk: str, others: frozenset[str] = _NO_NAMES) -> bool:
    """Whether a cell may be stored, by its primary key alone: it is no one process's own, and no list by a secret."""
    if pk.startswith(OWN):
        return False
    return not is_collection(table) or _is_kept_identity(pk, others)


def kept_pks(table: str, pks: Iterable[str], others: frozenset[str] = _NO_NAMES) -> list[str]:
    """The primary keys whose cells may be stored, by `is_kept_cell`."""
    if is_collection(table):
        return [pk for pk in pks if is_kept_cell(table, pk, others)]
    return [pk for pk in pks if not pk.startswith(OWN)]


def is_collection(table: str) -> bool:
    """Whether a table holds lists or maps of primary keys."""
    return table[:1] in ("[", "{")


def _is_kept_identity(pk: str, others: frozenset[str]) -> bool:
    try:
        identity = json.loads(pk)
    except ValueError:
        return True
    waiting: list[Any] = [identity]
    for value in waiting:
        if is_dict(value):
            if any(is_secret(name, others) for name in value):
                return False
            waiting += value.values()
        elif is_list(value):
            waiting += value
    return True


# -- what is declared of a record's members ----------------------------------------------------------------------------


class _Place:
    """The declared types of a value in a record: objects, and the items of lists and maps."""

    def __init__(self, things: Iterable[Any], others: frozenset[str] = _NO_NAMES, objects: Iterable[Any] = ()) -> None:
        self._others = others
        self.objects: list[Any] = [*objects]
        """Class records, `Object` schemas, and classes of other libraries."""
        self._items: list[Any] = []
        self._entries: list[Any] = []
        self._inner: dict[str, _Place] = {}
        self._members: dict[str, tuple[bool, _Place | None]] = {}
        for thing in things:
            self.value(thing)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is declared that could be left out of it."""
        return not (self.objects or self._items or self._entries)

    @property
    def of_items(self) -> _Place:
        """What the items of a list are."""
        return self._place("items", self._items)

    @property
    def of_entries(self) -> _Place:
        """What the entries of a map are."""
        return self._place("entries", self._entries)

    def _place(self, name: str, things: list[Any]) -> _Place:
        found = self._inner.get(name)
        if found is None:
            found = self._inner[name] = _Place(things, self._others)
        return found

    def value(self, thing: Any, /) -> None:
        """Takes a schema, a record, or a type of an annotation."""
        origin, arguments = typing.get_origin(thing), typing.get_args(thing)
        if isinstance(thing, Schema):
            thing.value_types(self)
        elif isinstance(thing, Model):
            self.objects.append(thing)
        elif isinstance(thing, type) and origin is None:
            model = class_record(thing)
            if model is not None:
                self.record(model)
            elif kind_of_class(thing) is not None:
                self.objects.append(thing)
        elif isinstance(origin, type) and issubclass(origin, Mapping):
            self._entries += arguments[1:]
        elif isinstance(origin, type) and issubclass(origin, Collection):
            self._items += arguments
        elif origin is typing.Annotated:
            self.value(arguments[0])
        else:
            for argument in arguments if origin is not typing.Literal else ():
                self.value(argument)

    def record(self, model: Model, /) -> None:
        """Takes the class of a record: an entity is in a table of its own, unless it may have no primary key."""
        if not isinstance(model, EntityModel) or model.pk_optional:
            self.objects.append(model)

    def object(self, schema: Schema, /) -> None:
        """Takes a schema with members."""
        self.objects.append(schema)

    def items(self, thing: Any, /) -> None:
        """Takes what is in a list."""
        self._items.append(thing)

    def entries(self, thing: Any, /) -> None:
        """Takes what is in a map."""
        self._entries.append(thing)

    def member(self, name: str) -> tuple[bool, _Place | None]:
        """Whether the member of this name is stored, and what is declared of it."""
        found = self._members.get(name)
        if found is None:
            persisted: set[bool | None] = set()
            secret = is_secret(name, self._others)
            things: list[Any] = []
            for declared in self.objects:
                python, persist, inner = _declared(declared, name)
                persisted.add(None if persist is None else bool(persist))
                secret = secret or is_secret(python, self._others)
                things += inner
            place = _Place(things, self._others)
            found = (False not in persisted and (not secret or True in persisted), None if place.is_empty else place)
            if len(self._members) < _MOST_NAMES:
                self._members[name] = found
        return found

    def declares(self, path: tuple[str, ...]) -> bool:
        """Whether a member that these names lead to is declared."""
        name, *rest = path
        here = [*_through(self)]
        if not rest:
            return any(_is_declared(declared, name) for place in here for declared in place.objects)
        inner = [place.member(name)[1] for place in here if place.objects]
        return any(place.declares(tuple(rest)) for place in inner if place is not None)


def _through(place: _Place) -> Iterable[_Place]:
    """The places of the objects in lists and maps of them."""
    waiting, seen = [place], 0
    while seen < len(waiting) < _MOST_NAMES:
        found = waiting[seen]
        seen += 1
        waiting += [inner for inner in (found.of_items, found.of_entries) if not inner.is_empty]
    return waiting


def _is_declared(declared: Any, name: str) -> bool:
    if isinstance(declared, Model):
        return declared.to_python.get(name, name) in declared.fields and name not in declared.to_json
    if isinstance(declared, Object):
        return name in declared.members
    return name in _hints(declared)


def _declared(declared: Any, name: str) -> tuple[str, int | None, list[Any]]:
    """Of a member of an object: its name in Python, its `persist`, and its schema and type."""
    if isinstance(declared, Model):
        python = declared.to_python.get(name, name)
        field = declared.fields.get(python)
        if field is None or field.in_json != name:
            return name, None, []
        schemas = [field.schema, declared.setting("schema", {}).get(python)]
        things = [schema_of(raw) for raw in schemas if raw is not None]
        return python, field.persist, [*things, declared.kinds.get(python)]
    if isinstance(declared, Object):
        return name, None, [declared.members.get(name)]
    return name, None, [_hints(declared).get(name)]


@lru_cache(maxsize=256)
def _hints(cls: Any) -> Mapping[str, Any]:
    kind = kind_of_class(cls)
    try:
        hints = typing.get_type_hints(cls)
        return {} if kind is None else {alias or name: hints.get(name) for name, _, alias, _ in kind.fields(cls)}
    except Exception:  # names that exist for type checkers alone cannot be looked up
        return {}


# -- records -----------------------------------------------------------------------------------------------------------


class TableRules:
    """What of the records of one table is stored, by all classes that are known for it.

    `others` are names of secrets besides the usual ones, as `plain_name` gives them.
    """

    def __init__(self, models: Iterable[EntityModel], others: frozenset[str] = _NO_NAMES) -> None:
        found = [*models]
        self._place = _Place((), others, found)
        self.kept = all(model.persist for model in found) and not any(self._hides_pk(model) for model in found)
        """Whether rows of the table are stored at all."""
        self._references = {relation.in_json for model in found for relation in model.relations}
        self._plain: set[str] = set()
        """Names of members that are stored as they are."""

    def _hides_pk(self, model: EntityModel) -> bool:
        return not callable(model.setting("pk")) and not all(map(self.keeps, model.pk_names))

    def keeps(self, name: str) -> bool:
        """Whether a member is stored, by its name in JSON; of others no index entries are stored either."""
        return self._place.member(name)[0]

    def encode(self, stored: Any, misses: LeftOut = NOTHING_LEFT, whole: Any = None) -> bytes:
        """The JSON of a record, or of an instance that is one. Raises Unstorable for one that has none.

        `whole` says, as JSON, which response brought it whole, where its times do not.

        `misses` was left out of the row that it was made from: it is still missing, except for what came since.
        """
        record: dict[str, Any] = record_of(stored)
        left: dict[tuple[str, ...], None] = {}
        if not self._plain.issuperset(record):
            if len(self._plain) < _MOST_NAMES:
                self._plain.update(name for name in record if self._place.member(name) == (True, None))
            record = _kept(record, self._place, (), left)
        data = _encoded(record)
        if _OWN_MARK in data:
            record = {name: _others_of(item) if name in self._references else item for name, item in record.items()}
            for name in [name for name, item in record.items() if item is UNDEFINED]:
                left[name,] = record.pop(name)
            data = _encoded(record)
        left.update((path, None) for path in misses if path[1:] or path[0] not in record)
        if not left and whole is None:
            return data if _MARK not in data else _encoded(_escaped(record))
        more: dict[str, Any] = {} if whole is None else {_WHOLE: whole}
        if left:
            more[_LEFT] = [path[0] if len(path) == 1 else list(path) for path in left]
        return _encoded({**_escaped(record), **more})


def encoded_whole(whole: Whole, date: float) -> list[Any]:
    """Which response last brought a record whole, as JSON: times in ms after the date of the row."""
    later = {name: _after(since, date) for name, since in whole.later.items()}
    return [_after(max(0.0, whole.fetched_at), date), _after(whole.expires_at, date), sorted(whole.fields), later]


def _whole(details: Any, date: float, number: float) -> Whole:
    try:
        fetched_at, expires_at, fields, later = details
        return Whole(
            number,
            _moment(expires_at, date),
            frozenset(map(str, fields)),
            _moment(fetched_at, date),
            {str(name): _moment(since, date) for name, since in later.items()},
        )
    except (TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{details!r:.80} does not say which response brought a record whole") from error


def whole_of(value: Any, details: Any, times: Meta, number: float) -> Whole:
    """The response that last brought a row whole, which was loaded with these times; `said` is what its JSON says."""
    if details is not None:
        return _whole(details, times.date, number)
    fields = value.keys() if is_dict(value) else frozenset[str]()
    return Whole(number, times.expires_at, fields, times.fetched_at)


def row_value(data: bytes) -> tuple[Any, LeftOut, Any]:
    """The record, list or map of a row's JSON, what was left out of it, and what `whole_of` takes.

    Raises ValueError for what is none.
    """
    value = decode_json(data)
    if not is_dict(value) and not is_list(value):
        raise ValueError(f"the JSON of a row is an object or a list, not {value!r:.80}")
    if _MARK not in data:
        return value, NOTHING_LEFT, None
    if is_dict(value) and _PARTIAL in value:
        inner = _unescaped(value[_PARTIAL])
        return (PartialEntries(inner) if is_dict(inner) else PartialKeys(inner)), NOTHING_LEFT, None
    names: Any = value.pop(_LEFT, ()) if is_dict(value) else ()
    whole: Any = value.pop(_WHOLE, None) if is_dict(value) else None
    return _unescaped(value), tuple((path,) if isinstance(path, str) else tuple(path) for path in names), whole


def many_row_values(texts: Sequence[bytes]) -> list[Any] | None:
    """The records and lists of rows, decoded in one go; None if they have to be decoded one by one.

    That is so where one of them is no JSON, or says more than its value. (Benchmark: a list of 1,000, cold.)
    """
    together = b"[%b]" % b",".join(texts)
    if _MARK in together or not all(texts) or bytes(map(_FIRST, texts)).translate(_CLOSED) != bytes(map(_LAST, texts)):
        return None
    try:
        values = decode_json(together)
    except ValueError:
        return None
    return values if len(values) == len(texts) else None


def left_out_of(data: bytes | None) -> LeftOut:
    """What was left out of a row's JSON, as far as it is one."""
    if data is None or _LEFT_MARK not in data:
        return NOTHING_LEFT
    try:
        return row_value(data)[1]
    except ValueError:
        return NOTHING_LEFT


def misses_declared(model: EntityModel, left: LeftOut) -> bool:
    """Whether a class declares a member that was left out, so that the row is a hole for it."""
    return bool(left) and any(map(_Place((), objects=(model,)).declares, left))


def with_left_out(record: dict[str, Any], left: LeftOut, known: Any) -> dict[str, Any]:
    """A record that was loaded, with what was left out of it as the record (or instance) in memory has it."""
    if not left or not is_dict(known := record_of(known)):
        return record
    found = {**record}
    for path in left:
        found = _filled(found, known, path)
    return found


def _filled(value: Any, known: Any, path: tuple[str, ...]) -> Any:
    name, *rest = path
    if is_list(value) and is_list(known) and len(value) == len(known):
        return [_filled(item, other, path) for item, other in zip(value, known, strict=True)]
    if not (is_dict(value) and is_dict(known)):
        return value
    if name in known and name not in value and not rest:
        return {**value, name: known[name]}
    if name in known and name in value and rest:
        return {**value, name: _filled(value[name], known[name], tuple(rest))}
    if name in value or name in known:
        return value
    return {key: _filled(item, known.get(key), path) for key, item in value.items()}  # a map of what lacks it


def _kept(value: Any, place: _Place, path: tuple[str, ...], left: dict[tuple[str, ...], None]) -> Any:
    """A value without the members that are not stored, whose paths are noted."""
    if is_list(value):
        return [_kept(item, place.of_items, path, left) for item in value]
    if not is_dict(value):
        return value
    if not place.objects:
        return {name: _kept(item, place.of_entries, path, left) for name, item in value.items()}
    found: dict[str, Any] = {}
    for name, item in value.items():
        is_kept, inner = place.member(name)
        if not is_kept:
            left[*path, name] = None
        else:
            found[name] = item if inner is None else _kept(item, inner, (*path, name), left)
    return found


# -- collections and results -------------------------------------------------------------------------------------------


def encode_collection(stored: Any) -> bytes:
    """The JSON of a list or map of primary keys, without those of one process. Raises Unstorable for one without."""
    data = _encoded(stored)
    if _OWN_MARK in data:
        stored = like(stored, _others_of(stored))
        data = _encoded(stored)
    if _MARK in data:
        data = _encoded(_escaped(stored))
    return _encoded({_PARTIAL: _escaped(stored)}) if is_partial(stored) else data


def encode_result(value: Any, schema: Schema | None = None, others: frozenset[str] = _NO_NAMES) -> bytes | None:
    """The JSON of a result, by the schema of its endpoint; None for no value.

    Raises Unstorable where it has none, and for a secret that a declared object in it has: a result is shown whole or
    not at all.
    """
    if value is UNDEFINED:
        return None
    left: dict[tuple[str, ...], None] = {}
    if schema is not None and (is_dict(value) or is_list(value)):
        _kept(value, _Place([schema], others), (), left)
    if left:
        raise Unstorable(f"the result has the secret {'.'.join(next(iter(left)))!r}")
    data = _encoded(value)
    if schema is not None and _OWN_MARK in data:
        value = _others_of(value)
        if value is UNDEFINED:
            return None
        data = _encoded(value)
    return data if _MARK not in data else _encoded(_escaped(value))


class Validator(NamedTuple):
    """What an answer said of itself, by the names of its headers, and how many `cells` it wrote.

    They are all that its commit left with the times of its result: whoever has so many of those has all of it.
    """

    headers: Mapping[str, str]
    cells: int


def with_details(
    data: bytes | None,
    times: Meta,
    terms: Terms | None,
    validator: Validator | None = None,
    contents: Contents | None = None,
) -> bytes:
    """The JSON of a result with its lifetime, its validator, and what its response contained."""
    found: dict[str, Any] = {}
    if contents is not None:
        found[_CONTENTS] = [{table: sorted(pks) for table, pks in part.items()} for part in contents]
    if validator is not None:
        found[_VALIDATORS] = {"cells": validator.cells, "headers": {**validator.headers}}
    if terms is not None:
        fresh_until = terms.fresh_until if times.expires_at > 1 else times.expires_at
        moments = (
            fresh_until,
            terms.stale_while_revalidate_until,
            *(() if terms.stale_if_error_until is None else (terms.stale_if_error_until,)),
        )
        found[_TERMS] = [
            *(_after(moment, times.date) for moment in moments),
            {"binds": terms.must_revalidate},
        ]
    if data is not None:
        found[_VALUE] = decode_json(data)
    return _encoded(found)


def _after(moment: float, date: float) -> float | bool | None:
    """A moment as it is stored."""
    return None if moment == inf else bool(moment) if moment in (0, 1) else moment - date


def _moment(after: Any, date: float) -> float:
    if after is None or isinstance(after, bool):
        return inf if after is None else int(after)
    return float(after) + date


class ResultParts(NamedTuple):
    """What a storage has under a key."""

    value: Any
    """UNDEFINED for no value."""
    terms: Terms | None = None
    """How long it is good."""
    validator: Validator | None = None
    contents: Contents | None = None
    """What the response contained; None if that does not matter."""


def result_parts(data: bytes | None, times: Meta) -> ResultParts:
    """The parts of a stored result. Raises ValueError for what is no JSON, or not of this form."""
    if data is None:
        return ResultParts(UNDEFINED)
    value = decode_json(data)
    if _MARK not in data:
        return ResultParts(value)
    if not is_dict(value) or value.keys().isdisjoint((_TERMS, _VALIDATORS, _CONTENTS)):
        return ResultParts(_unescaped(value))
    return ResultParts(
        _unescaped(value[_VALUE]) if _VALUE in value else UNDEFINED,
        _terms(value[_TERMS], times) if _TERMS in value else None,
        _validator(value[_VALIDATORS]) if _VALIDATORS in value else None,
        _contents(value[_CONTENTS]) if _CONTENTS in value else None,
    )


def _contents(details: Any) -> Contents:
    try:
        received, referred = ({str(table): frozenset(map(str, pks)) for table, pks in part.items()} for part in details)
        return Contents(received, referred)
    except (TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{details!r:.80} does not say what a response contained") from error


def _validator(details: Any) -> Validator:
    try:
        headers, cells = details["headers"], details["cells"]
        return Validator({str(name): str(text) for name, text in headers.items()}, int(cells))
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{details!r:.80} is no validator of a result") from error


def _terms(value: Any, times: Meta) -> Terms:
    try:
        *moments, details = value
        fresh_until, stale_while_revalidate_until, *excused = (_moment(after, times.date) for after in moments)
        return Terms(
            fresh_until if times.expires_at > 1 else times.expires_at,
            stale_while_revalidate_until,
            excused[0] if excused else None,
            bool(details["binds"]),
        )
    except (TypeError, KeyError) as error:
        raise ValueError(f"{value!r:.80} does not say how long a result is good") from error


def _others_of(value: Any) -> Any:
    """A stored form without references to what is one process's own; UNDEFINED for such a reference itself."""
    if isinstance(value, str):
        return UNDEFINED if _OWN_PK.fullmatch(value) else value
    if is_list(value):
        return [found for item in value if (found := _others_of(item)) is not UNDEFINED]
    if not is_dict(value):
        return value
    found = {name: _others_of(item) for name, item in value.items()}
    if value.keys() == _REFERENCE and found["id"] is UNDEFINED:
        return UNDEFINED
    return {name: item for name, item in found.items() if item is not UNDEFINED}


# -- names that begin with `$` -----------------------------------------------------------------------------------------


def _encoded(value: Any) -> bytes:
    try:
        return encode_exactly(value)
    except ValueError as error:
        raise Unstorable(str(error)) from None


def _escaped(value: Any) -> Any:
    if is_dict(value):
        return {f"${name}" if name[:1] == "$" else name: _escaped(item) for name, item in value.items()}
    return [_escaped(item) for item in value] if is_list(value) else value


def _unescaped(value: Any) -> Any:
    if is_dict(value):
        return {name[1:] if name[:2] == "$$" else name: _unescaped(item) for name, item in value.items()}
    return [_unescaped(item) for item in value] if is_list(value) else value
