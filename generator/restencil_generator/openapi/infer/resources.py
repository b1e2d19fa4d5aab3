"""Analysis of paths: finds resources, their members and other endpoints.

Operations are analyzed in the order of their paths: items, then singletons, then paths below either, then groups. The
results are plain objects, which `pipeline` converts to the spec.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, Literal, TypeAlias

from restencil_generator.diagnostics.model import quoted
from restencil_generator.openapi.document.containment import contained
from restencil_generator.openapi.document.model import Document, Part, Where
from restencil_generator.openapi.infer.calls import MUTATIONS, Call
from restencil_generator.openapi.infer.change_verbs import effect_of
from restencil_generator.openapi.infer.names.inflection import plural, singular, snake_case
from restencil_generator.openapi.infer.primary_keys import Key, KeyPart, Keys, Place, from_path
from restencil_generator.openapi.infer.query_selection import Selection
from restencil_generator.openapi.infer.records import Record, Shapes, merged, overlap
from restencil_generator.openapi.infer.response_layout import (
    ENVELOPES,
    LISTS,
    LISTS_LATER,
    STATUS,
    Many,
    One,
    ResponseLayout,
)
from restencil_generator.openapi.infer.routes import Route, is_nested_in, parents, route, stem
from restencil_generator.openapi.spec_tree import CHECK

Kind: TypeAlias = Literal["item", "singleton", "group"]

VERSION_CHECK: Final = "check: it may be another version of the record"

_MOMENTS: Final = frozenset(["date", "day", "week", "month", "quarter", "year", "revision", "snapshot"])
"""Last words of parameters that may select the state of a record at some time."""


@dataclasses.dataclass(slots=True, eq=False)
class Entity:
    """An entity: the key of its records and all its records, with the record of the detail response first."""

    key: Key
    records: list[Record]
    identity: str
    wanted: str
    """The preferred name: that of its schema, or of its resource."""
    name: str = ""
    home: Route | None = None
    """The path of the resource in which it was first found."""
    choices: list[Entity] = dataclasses.field(default_factory=lambda: list[Entity]())
    """The entities of a union; a union is not an entity itself."""
    names: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])
    """The Python names of its members, by JSON name."""
    nested: set[Where] = dataclasses.field(default_factory=set[Where])
    """The schemas of it that are nested in responses."""
    sent: list[Record] = dataclasses.field(default_factory=list[Record])
    """The bodies that create or replace it."""
    whole: Record | None = None
    is_of_time: bool = False
    """Whether its path ends in a time, so that records inside it may be those of that time."""

    @property
    def record(self) -> Record:
        """All its members."""
        if self.whole is None:
            self.whole = merged(self.records)
        return self.whole

    def add(self, record: Record) -> None:
        """Add a record to the entity."""
        if record not in self.records:
            self.records.append(record)
            self.whole = None

    @property
    def scope(self) -> frozenset[str]:
        """The scope in which records belong to it: the path parameters of its key, and its path if it has no other key.

        Without a member that identifies records, the same component at another path is a different record.
        """
        parameters = frozenset(part.parameter for part in self.key.parts if part.parameter)
        return parameters if self.key.wires or self.home is None else parameters | {"/".join(self.home.segments)}


@dataclasses.dataclass(slots=True, eq=False)
class Own:
    """An added endpoint."""

    call: Call
    stream: bool = False
    name: str = ""
    field: KeyPart | None = None
    """The field in the last parameter of the path, if it is not the primary key."""
    field_check: str = ""
    """What to check about that field."""


@dataclasses.dataclass(slots=True, eq=False)
class Resource:
    """A resource: its origin, its standard members, and its added endpoints."""

    kind: Kind
    route: Route | None
    identity: str
    label: str = ""
    """The origin of a group: `the tag Orders`."""
    place: Place | None = None
    entity: Entity | None = None
    key: Key | None = None
    """The key by which its path identifies records, if it differs from that of the entity."""
    union: Part | None = None
    """The response of `get` if it is one of several entities."""
    envelope: tuple[str, ...] = ()
    members: dict[str, Call] = dataclasses.field(default_factory=dict[str, Call])
    listing: Many | None = None
    summary: Record | None = None
    """The record of the list's items, if they are the entity."""
    ignored: set[str] = dataclasses.field(default_factory=set[str])
    """Members whose response does not contain the entity."""
    own: list[Own] = dataclasses.field(default_factory=list[Own])
    name: str = ""
    class_name: str = ""
    path_names: Mapping[int, str] = dataclasses.field(default_factory=dict[int, str])
    """The names of the parameters of its path, by position."""
    check: str = ""
    member_checks: dict[str, str] = dataclasses.field(default_factory=dict[str, str])
    """What to check about a member."""

    @property
    def parents(self) -> int:
        """The number of parameters in its path before that of the record."""
        return 0 if self.route is None else len(self.route.parameters) - 1

    @property
    def item_call(self) -> Call:
        """An operation of its own path: without `get`, the first member may be the list."""
        calls = list(self.members.values())
        return next((call for call in calls if call.route.segments == (self.route and self.route.segments)), calls[0])

    @property
    def list_segments(self) -> tuple[str, ...]:
        """The segments of its list's path."""
        return () if self.kind != "item" or self.route is None else self.route.list_segments


@dataclasses.dataclass(slots=True)
class KeyCounts:
    """The number of items whose GET returns an object, of their keys by each rule, and of keys to be checked."""

    items: int = 0
    rules: dict[int, int] = dataclasses.field(default_factory=dict[int, int])
    guessed: int = 0


@dataclasses.dataclass(slots=True)
class Found:
    """The results of the analysis of a document's paths."""

    finder: _Finder
    resources: list[Resource]
    entities: list[Entity]
    by_schema: dict[Where, Entity]
    keys: KeyCounts = dataclasses.field(default_factory=KeyCounts)

    def resource_of(self, candidate: _Candidate) -> Resource | None:
        """Return the resource of the entity that an item returns."""
        entity = self.by_schema.get(self.finder.shapes.of(candidate.one.part).at)
        return next((each for each in self.resources if each.entity is entity), None)


def find(document: Document, shapes: Shapes) -> Found:
    """Find the resources of a document."""
    return _Finder(document, shapes).find()


@dataclasses.dataclass(slots=True, eq=False)
class _Candidate:
    """A path that may be the item of a resource: its record, its own key, and the key of its component."""

    route: Route
    place: Place
    one: One
    own_key: Key
    key: Key
    many: Many | None

    @property
    def is_lookup(self) -> bool:
        """Whether it finds records of another path by one of their fields, and has no list."""
        return self.own_key.parts != self.key.parts and self.many is None and bool(self.own_key.parts[-1].wires)


def _rank(candidate: _Candidate) -> tuple[object, ...]:
    """Return the sort key of keys: certain ones first, then those without a parent, then `id`."""
    key = candidate.own_key
    scoped = any(part.parameter for part in key.parts)
    return (key.rule in (6, 8), scoped, snake_case(key.alone) != "id", key.rule, len(candidate.route.segments))


def _one_key_each(candidates: list[_Candidate], shapes: Shapes) -> None:
    """Give all items of one component the same key: that of the path whose parameter has its name, `id` first.

    Items under several kinds of parents, each with the same field below its parent, have separate keys: properties
    `color` of an issue and of a comment are different records.
    """
    groups: dict[Where, list[_Candidate]] = {}
    for candidate in candidates:
        groups.setdefault(shapes.of(candidate.one.part).at, []).append(candidate)
    for group in groups.values():
        best = min(group, key=_rank).own_key
        if not all(part.wires for part in best.parts):
            continue
        scoped = [
            each for each in group if each.own_key.parts != best.parts and each.own_key.parts[-1] == best.parts[-1]
        ]
        if len({each.place.owners for each in scoped}) > 1:
            continue
        if scoped and CHECK not in best.comment:
            best = dataclasses.replace(best, comment=CHECK + best.comment)
        for candidate in group:
            candidate.key = best


class _Finder:
    def __init__(self, document: Document, shapes: Shapes) -> None:
        self.document = document
        self.shapes = shapes
        self.keys = Keys(shapes)
        self.layout = ResponseLayout(shapes, self.keys)
        self.calls = [Call(operation, route(operation.path)) for operation in document.operations]
        self.selection = Selection(self.calls, self.layout, shapes)
        self.paths: dict[tuple[str, ...], dict[str, Call]] = {}
        """The operations of each path by method; others with the same method become added endpoints."""
        for call in self.calls:
            if not call.operation.query:
                self.paths.setdefault(call.route.segments, {}).setdefault(call.method, call)
        self.routes = {at: calls.get("GET", next(iter(calls.values()))).route for at, calls in self.paths.items()}
        self.found = Found(self, [], [], {})
        self.used: set[Call] = set()
        self.by_segments: dict[tuple[str, ...], Resource] = {}
        """The resource whose item or list has these segments."""
        self.lists: set[tuple[str, ...]] = set()
        self.lookups: dict[tuple[str, ...], _Candidate] = {}
        """The paths, by their segments, that find records by a field other than their key."""

    def find(self) -> Found:
        candidates: list[_Candidate] = []
        for found in self.routes.values():
            if found.is_item:
                self._contained(found, functools.partial(self._candidate, found, candidates))
        _one_key_each(candidates, self.shapes)
        for candidate in candidates:
            self._contained(candidate.route, functools.partial(self._item, candidate))
        self.lists = {resource.list_segments for resource in self.found.resources}
        for found in self.routes.values():
            self._contained(found, functools.partial(self._singleton, found))
        _separate_relations(self)
        _doubt_versions(self.found.resources, self.shapes)
        self._rest()
        return self.found

    def _contained(self, found: Route, find: Callable[[], None]) -> None:
        """Analyze one path; if that fails, its operations become endpoints of groups."""
        operation = next(iter(self.paths[found.segments].values())).operation
        contained(self.document.findings.append, f"the path {quoted(operation.key)}", operation.where, find, None)

    # ----------------------------------------------------------------------------------------------------------- items

    def _candidate(self, found: Route, candidates: list[_Candidate]) -> None:
        """Add an item to the candidates if its records have a key."""
        at, listed = self.paths[found.segments], self._listed(found)
        get, get_list = at.get("GET"), listed.get("GET")
        place = _place(found)
        mutates = any(method in at for method in MUTATIONS)
        many = self._many(get_list, place, get) if get_list is not None else None
        items = self.shapes.record_of(many.items) if many is not None else None
        guess = mutates or many is not None
        response = get.response if get is not None else None
        one = self.layout.one(response, items, place, guess=guess) if response is not None else None
        if one is not None:
            self.found.keys.items += 1
            if one.key is None and guess:
                one = dataclasses.replace(one, key=from_path(place))
        elif get is None and mutates:
            one = self._without_get(at, many, items, place)
        if one is None or one.key is None:
            return
        one = dataclasses.replace(one, key=self.selection.doubted(one.key, one.record, found, at))
        assert one.key is not None
        if get is not None:
            counts = self.found.keys
            counts.rules[one.key.rule] = counts.rules.get(one.key.rule, 0) + 1
            counts.guessed += CHECK in one.key.comment
        candidates.append(_Candidate(found, place, one, one.key, one.key, many))

    def _without_get(self, at: Mapping[str, Call], many: Many | None, items: Record | None, place: Place) -> One | None:
        """Return the record of an item without GET: that of its list, else in the response of a PATCH or PUT."""
        if many is not None and items is not None:
            key = self.keys.find(items, None, place, guess=True)
            return One((), many.items, items, key) if key is not None else None
        call = at.get("PATCH") or at.get("PUT")
        response = None if call is None else call.response
        return None if response is None else self.layout.one(response, None, place, guess=False)

    def _item(self, candidate: _Candidate) -> None:
        found, one, place = candidate.route, candidate.one, candidate.place
        if candidate.is_lookup:
            self.lookups[found.segments] = candidate
            return
        at = {method: call for method, call in self.paths[found.segments].items() if call not in self.used}
        resource = Resource("item", found, found.path, place=place, envelope=one.path, check=one.check)
        resource.key = candidate.own_key
        get = at.get("GET")
        if get is None:
            resource.envelope = ()
        self._entity(resource, dataclasses.replace(one, key=candidate.key))
        self._members(resource, at, self._listed(found), candidate.many)
        self.found.resources.append(resource)

    def _listed(self, found: Route) -> Mapping[str, Call]:
        """Return the operations of the list of an item; the root is no list."""
        return self.paths.get(found.list_segments, {}) if found.list_segments else {}

    def _many(self, call: Call, place: Place, get: Call | None) -> Many | None:
        """Return the list of a resource: of the records that its GET returns, else one whose items may have a key."""
        if call.response is None:
            return None
        names = (place.thing, plural(place.thing))
        one = None if get is None or get.response is None else self.layout.one(get.response, None, place, guess=True)
        if one is not None and one.key is not None:
            at = self.shapes.of(one.part).at
            found = self.layout.many(call.response, lambda part: self.shapes.of(part).at == at, *names)
            if found is not None and self.shapes.of(found.items).at == at:
                return found
        return self.layout.many(call.response, lambda part: self.layout.may_be_item(part, place), *names)

    def _entity(self, resource: Resource, one: One) -> None:
        """Set the entity of a resource: the existing one for the schema if it has the same key, else a new one."""
        assert one.key is not None
        key = one.key
        schema = self.shapes.of(one.part)
        known = self.found.by_schema.get(schema.at)
        if known is not None and _same_key(known.key, key) and _is_shared(known, resource):
            resource.entity = known
            resource.union = one.part if known.choices else None
            return
        entity = Entity(key, [one.record], f"type:{resource.identity}", "", home=resource.route)
        if schema.name and known is None:
            entity.wanted = schema.name
            entity.identity = f"type:{schema.at.file.rpartition('/')[2]}#{schema.at.pointer}"
        resource.entity = entity
        self.found.entities.append(entity)
        self._choices(entity, one.part)
        if known is None:
            self._claim(entity, one.part)
        if entity.choices:
            resource.union = one.part

    def _choices(self, entity: Entity, part: Part) -> None:
        """Find the entities of a union, if a discriminator distinguishes them and each has the key."""
        schema = self.shapes.of(part)
        discriminator = schema.discriminator
        if schema.type != "one_of" or discriminator is None or not all(part.wires for part in entity.key.parts):
            return
        found: list[Entity] = []
        for each in map(self.shapes.of, schema.alternatives):
            record = self.shapes.record(each)
            if record is None or discriminator.property not in record.members or not each.name or each.nullable:
                return
            if self.document.names_required and not record.members[discriminator.property].required:
                return  # a record without it would be none of them
            known = self.found.by_schema.get(each.at)
            if not self._has_key(record, entity.key) or (known is not None and not _same_key(known.key, entity.key)):
                return
            identity = f"type:{each.at.file.rpartition('/')[2]}#{each.at.pointer}"
            found.append(known or Entity(entity.key, [record], identity, each.name))
        entity.choices = found
        for one, each in zip(found, map(self.shapes.of, schema.alternatives), strict=True):
            if one not in self.found.entities:
                self.found.entities.append(one)
                self.found.by_schema.setdefault(each.at, one)

    def _claim(self, entity: Entity, part: Part) -> None:
        schema = self.shapes.of(part)
        self.found.by_schema.setdefault(schema.at, entity)
        if schema.type == "one_of":
            for each in schema.alternatives:
                self.found.by_schema.setdefault(self.shapes.of(each).at, entity)

    # --------------------------------------------------------------------------------------------------------- members

    def _members(
        self, resource: Resource, at: Mapping[str, Call], listed: Mapping[str, Call], many: Many | None
    ) -> None:
        entity = resource.entity
        assert entity is not None
        assert resource.place is not None
        if (get := at.get("GET")) is not None:
            self._use(resource, "get", get)
        get_list = listed.get("GET")
        if get_list is not None and many is not None and get_list not in self.used:
            self._get_list(resource, get_list, many)
        for method, call in at.items():
            if method in MUTATIONS:
                self._mutation(resource, MUTATIONS[method], call)
            elif method == "POST" and "PATCH" not in at and self._returns_entity(resource, call):
                self._use(resource, "partial_update", call)
            elif method != "GET":
                self._own(resource, call)
        if resource.listing is None or resource.summary is None:
            return
        post = listed.get("POST")
        if post is not None and post not in self.used and self._returns_entity(resource, post):
            self._use(resource, "push", post)

    def _use(self, resource: Resource, name: str, call: Call) -> None:
        resource.members[name] = call
        self.used.add(call)

    def _get_list(self, resource: Resource, call: Call, many: Many) -> None:
        entity = resource.entity
        assert entity is not None
        record = self.shapes.record_of(many.items)
        self._use(resource, "get_list", call)
        resource.listing = many
        if record is None:
            return
        if not all(part.wires or part.parameter in call.route.parameters for part in entity.key.parts):
            return  # neither the items nor the path of the list have the key
        at = self.shapes.of(many.items).at
        known = self.found.by_schema.get(at)
        same = any(source.at == at for source in entity.records[0].sources)
        if known is entity or same or (known is None and self._is_summary(resource, many, record)):
            resource.summary = record
            entity.add(record)
            if known is None:
                self._claim(entity, many.items)

    def _is_summary(self, resource: Resource, many: Many, record: Record) -> bool:
        """Return whether the items of a list are records of the resource's entity, although their schema differs."""
        assert resource.entity is not None
        assert resource.place is not None
        name = singular(snake_case(many.path[-1])) if many.path else resource.place.thing
        usual = [resource.place.thing, *map(singular, (*LISTS, *LISTS_LATER, *ENVELOPES))]
        if name not in usual and not name.endswith(f"_{resource.place.thing}") and record.name:
            # A list with another name, of a component with another name, has other items.
            named = snake_case(record.name)
            if named.startswith(name) and not named.startswith(resource.place.thing + "_summary"):
                return False
        entity = resource.entity
        return self._has_key(record, entity.key) and overlap(record, entity.record, entity.key.wires)

    def _has_key(self, record: Record, key: Key) -> bool:
        return all(self._has_part(record, part) for part in key.parts)

    def _has_part(self, record: Record, part: KeyPart) -> bool:
        if not part.wires:
            return True
        member = record.members.get(part.wires[0])
        if member is None or not member.everywhere:
            return False  # an alternative without the key is another object, such as an error
        if len(part.wires) == 1:
            return self.shapes.has_scalar(record, snake_case(part.wires[0]))
        inner = self.shapes.record_of(member.parts[0])
        return inner is not None and self._has_part(inner, KeyPart(part.wires[1:]))

    def located(self, call: Call, entity: Entity, place: Place) -> One | None:
        """Locate an entity in the response of a call; None if it is not there."""
        response = call.response
        if response is None:
            return None
        pending: list[tuple[tuple[str, ...], Part]] = [((), response)]
        for _ in range(4):
            inner_level: list[tuple[tuple[str, ...], Part]] = []
            for path, part in pending:
                schema = self.shapes.of(part)
                record = self.shapes.record(schema)
                is_own = any(source.at == schema.at for source in entity.record.sources)
                if record is not None and (is_own or self.found.by_schema.get(schema.at) is entity):
                    return One(path, part, record, entity.key)
                if record is None:
                    continue
                known = self.found.by_schema.get(schema.at)
                if known is None and self._has_key(record, entity.key) and _alike(record, entity):
                    return One(path, part, record, entity.key)
                if len(path) < 3 and known is None:
                    wires = [wire for wire, _ in self.layout.candidates(record, place)]
                    inner_level += [((*path, wire), record.members[wire].parts[0]) for wire in wires]
            pending = inner_level
        return None

    def _returns_entity(self, resource: Resource, call: Call) -> bool:
        """Return whether a call returns the resource's entity, and add the members of that response to the entity."""
        assert resource.entity is not None
        assert resource.place is not None
        one = self.located(call, resource.entity, resource.place)
        if one is None:
            return False
        schema = self.shapes.of(one.part)
        if self.found.by_schema.get(schema.at) is None:
            resource.entity.add(one.record)
            self._claim(resource.entity, one.part)
        return True

    def _mutation(self, resource: Resource, name: str, call: Call) -> None:
        result = call.operation.result
        if name == "delete":
            self._use(resource, name, call)
            if effect_of(call.operation) == "ends":
                resource.member_checks[name] = "check: its words do not say that the record is deleted"
            if result.content is not None and not self._is_entity(resource, call) and self._misleads(resource, call):
                resource.ignored.add(name)
            return
        if result.content is None or self._returns_entity(resource, call):
            self._use(resource, name, call)
        elif self._is_status_only(call) or call.response is None:
            self._use(resource, name, call)
            resource.ignored.add(name)
        else:
            self._own(resource, call)

    def _is_entity(self, resource: Resource, call: Call) -> bool:
        """Return whether a delete returns the entity, possibly without some members."""
        assert resource.entity is not None
        assert resource.place is not None
        one = self.located(call, resource.entity, resource.place)
        if one is None:
            return False
        known = self.found.by_schema.get(self.shapes.of(one.part).at) is resource.entity
        return known or one.record.members.keys() >= resource.entity.record.members.keys()

    def _misleads(self, resource: Resource, call: Call) -> bool:
        """Return whether the response of a delete could be taken for an entity: a string or an object with the key."""
        if call.response is None or resource.envelope:
            return True
        schema = self.shapes.of(call.response)
        if schema.type in ("string", "integer", "number"):
            return True
        assert resource.entity is not None
        wires = resource.entity.key.wires
        return any(wire in schema.properties for wire in wires) or schema.type == "one_of"

    def _is_status_only(self, call: Call) -> bool:
        """Return whether a response is only a status, such as `{"ok": true}`, and cannot be an entity."""
        response = call.response
        if response is None:
            return False
        schema = self.shapes.of(response)
        if schema.type != "object":
            return schema.type in ("string", "boolean", "integer", "any")
        if not schema.properties:
            return True
        return all(
            self.shapes.of(part).type == "boolean" or (snake_case(name) in STATUS and self.shapes.is_scalar(part))
            for name, part in schema.properties.items()
        )

    def _own(self, resource: Resource, call: Call) -> None:
        self.used.add(call)
        resource.own.append(Own(call))

    # ------------------------------------------------------------------------------------------------------ singletons

    def _singleton(self, found: Route) -> None:
        at = {method: call for method, call in self.paths[found.segments].items() if call not in self.used}
        get = at.get("GET")
        if get is None or found.texts[-1] in ("", "/") or not found.segments or "{}" in found.segments[-1]:
            return
        if found.segments in self.lists:
            return
        response = get.response
        if response is None or "." in found.segments[-1].strip(".") or self.layout.is_page(response):
            return
        known = self.known_in(response)
        mutates = any(method in at for method in MUTATIONS)
        if known is None and not mutates:
            return
        place = Place(
            found.parameters[-1] if found.parameters else "", found.parameters, singular(snake_case(found.parts[-1]))
        )
        resource = Resource("singleton", found, found.path, place=place)
        if known is not None:
            entity, path = known
            if not entity.scope <= get.scope:
                if not mutates:
                    return
                known = None
            else:
                resource.entity, resource.envelope = entity, path
        if known is None:
            resource.envelope, response = self.layout.unwrapped(response, place)
            record = self.shapes.record_of(response)
            taken = self.found.by_schema.get(self.shapes.of(response).at)
            if (
                record is None
                or (taken is not None and taken.key.wires)
                or self.selection.is_one_of_many(get, response, record)
            ):
                return
            key = Key(0, tuple(KeyPart((), parameter) for parameter in found.parameters), "")
            key = self.selection.doubted(key, record, found, {"GET": get})
            schema = self.shapes.of(response)
            identity = f"{schema.at.file.rpartition('/')[2]}#{schema.at.pointer}" if taken is None else found.path
            entity = Entity(key, [record], f"type:{identity}", schema.name if taken is None else "", home=found)
            resource.entity = entity
            self.found.entities.append(entity)
            self._claim(entity, response)
        self._use(resource, "get", get)
        for method, name in MUTATIONS.items():
            if method in at:
                self._mutation(resource, name, at[method])
        self.found.resources.append(resource)

    def known_in(self, response: Part) -> tuple[Entity, tuple[str, ...]] | None:
        """Return the entity in a response, and the envelope around it."""
        schema = self.shapes.of(response)
        if (entity := self.found.by_schema.get(schema.at)) is not None:
            return entity, ()
        record = self.shapes.record(schema)
        if record is None or schema.type == "one_of":
            return None
        for wire, named in self.layout.candidates(record, Place("", (), "")):
            inner = self.shapes.of(record.members[wire].parts[0])
            entity = self.found.by_schema.get(inner.at)
            if entity is not None and (named or self.layout.alone(record, wire)):
                return entity, (wire,)
        return None

    # ------------------------------------------------------------------------------------------------------------ rest

    def _rest(self) -> None:
        groups: dict[str, Resource] = {}
        self._index()
        for call in self.calls:
            if call in self.used:
                continue
            self.used.add(call)
            resource, lookup = self._deepest(call)
            if resource is None:
                label, name = _group(call)
                resource = groups.get(name)
                if resource is None:
                    resource = groups[name] = Resource("group", None, f"group:{name}", label, name=name)
                    self.found.resources.append(resource)
            own = Own(call)
            if lookup is not None and call.route.segments == lookup.route.segments:
                own.field = lookup.own_key.parts[-1]
                at = self.shapes.of(lookup.one.part).at
                alike = [each for each in self.lookups.values() if self.shapes.of(each.one.part).at == at]
                own.field_check = _field_check(lookup, call, alike)
            resource.own.append(own)

    def _deepest(self, call: Call) -> tuple[Resource | None, _Candidate | None]:
        """Return the resource whose item or list is the nearest parent of a call, and the lookup if it is one."""
        for each in parents(call.route.segments):
            lookup = self.lookups.get(each)
            resource = self.by_segments.get(each) if lookup is None else self.found.resource_of(lookup)
            if resource is not None:
                return resource, lookup
        return None, None

    def _index(self) -> None:
        """Index the paths below each resource."""
        for resource in self.found.resources:
            if resource.route is None:
                continue
            for segments in (resource.route.segments, resource.list_segments):
                if any("{}" not in part for part in segments):
                    self.by_segments.setdefault(segments, resource)
                    self.by_segments.setdefault(stem(segments), resource)


def _field_check(lookup: _Candidate, call: Call, alike: Iterable[_Candidate]) -> str:
    """Return what to check about a field that finds a single record; `alike` are the lookups of its component."""
    key = lookup.own_key
    if CHECK in key.comment:
        return key.comment.replace("pk", "field", 1)
    selecting = [each.name for each in call.operation.parameters if each.place == "query"]
    if selecting:
        return f"check: {selecting[0]} may select the record too"
    same = (each.place.owners for each in alike if each.own_key.parts[-1] == key.parts[-1])
    owners = ", ".join(f"{{{name}}}" for name in next(filter(None, same), ()))
    return f"check: field: another path counts it per {owners}" if owners else ""


def _separate_relations(finder: _Finder) -> None:
    """Remove mutations from the members of items if they only relate records of another path to a parent.

    `DELETE /teams/{team}/members/{login}` removes a user from a team; as the `delete` of users it would remove the user
    from all lists. If records are also returned under fewer parents, or the description of a DELETE says that it
    removes something from a parent, the record may still exist.
    """
    resources = [each for each in finder.found.resources if each.kind == "item" and each.route is not None]
    fewest = _fewest_parents(finder)
    parents_of_deletes: dict[Entity | None, list[int]] = {}
    for resource in resources:
        if "delete" in resource.members:
            parents_of_deletes.setdefault(resource.entity, []).append(resource.parents)
    for resource in resources:
        if resource.entity is None:
            continue
        delete = resource.members.get("delete")
        detaches = delete is not None and resource.parents > 0 and effect_of(delete.operation) == "detaches"
        if detaches and not resource.entity.scope:
            _separate(resource, ["delete"])
        if resource.parents <= fewest.get(resource.entity, resource.parents):
            continue
        related = ["delete"] if "get" in resource.members else ["update", "partial_update", "delete"]
        if "get" in resource.members and min(parents_of_deletes.get(resource.entity, [0])) >= resource.parents:
            continue
        _separate(resource, related)
        if not resource.members:
            finder.found.resources.remove(resource)
            finder.used.difference_update(own.call for own in resource.own)


def _separate(resource: Resource, names: Iterable[str]) -> None:
    """Convert members of a resource to added endpoints."""
    for name in names:
        if name in resource.members:
            resource.own.append(Own(resource.members.pop(name)))
            resource.ignored.discard(name)
            resource.member_checks.pop(name, None)


def _doubt_versions(resources: Iterable[Resource], shapes: Shapes) -> None:
    """Mark resources that may return other states of the records of another path.

    Those are below its item, as in `/runs/{id}/attempts/{n}`, or below a time, as in `/months/{month}/budgets/{id}`.
    """
    items = [each for each in resources if each.kind == "item" and each.route is not None and "get" in each.members]
    for resource in resources:
        if resource.route is None:
            continue
        times = {time for call in resource.members.values() for time in moments(call, shapes)}
        if resource.entity is not None and times & set(resource.route.parameters[-1:]):
            resource.entity.is_of_time = True
        for item in items:
            assert item.route is not None
            if resource.entity is not item.entity or resource.check:
                continue
            is_nested = is_nested_in(resource.route.segments, item.route.segments)
            if is_nested or times.difference(item.route.parameters, resource.route.parameters[-1:]):
                resource.check = VERSION_CHECK


def moments(call: Call, shapes: Shapes) -> Iterator[str]:
    """Yield the parameters in the path of a call that may select the state of a record at some time."""
    for each in call.operation.parameters:
        is_time = (
            shapes.of(each.schema).format in ("date", "date-time") or snake_case(each.name).split("_")[-1] in _MOMENTS
        )
        if each.place == "path" and is_time:
            yield each.name


def _fewest_parents(finder: _Finder) -> dict[Entity, int]:
    """Return the minimum number of parents under which a GET returns each entity, alone or in a list."""
    found: dict[Entity, int] = {}
    by_schema, shapes = finder.found.by_schema, finder.shapes
    for call in finder.calls:
        if call.method != "GET" or call.response is None:
            continue
        known = finder.known_in(call.response)
        entity = None if known is None else known[0]
        if entity is None:
            many = finder.layout.many(call.response, lambda part: shapes.of(part).at in by_schema)
            entity = None if many is None else by_schema.get(shapes.of(many.items).at)
        if entity is not None:
            parents = len(call.route.parameters) - call.route.is_item
            found[entity] = min(parents, found.get(entity, parents))
    return found


def _place(found: Route) -> Place:
    literals = [part for part in found.list_parts if "{}" not in part]
    thing = literals[-1].partition(".")[0] if literals else ""
    return Place(found.parameters[-1], found.parameters[:-1], singular(snake_case(thing, "")))


def _is_shared(entity: Entity, resource: Resource) -> bool:
    """Return whether records at the path of a resource belong to an entity with the same key.

    Secrets of one component and with one name below `/repos/{repo}/actions` and `/repos/{repo}/agents` are different
    records.
    """
    if entity.home is None or resource.route is None or not any(part.parameter for part in entity.key.parts):
        return True
    return entity.home.list_segments == resource.route.list_segments


def _same_key(one: Key, other: Key) -> bool:
    return one.parts == other.parts


def _alike(record: Record, entity: Entity) -> bool:
    """Return whether a record has many members in common with an entity, or most of them if no member is the key."""
    if entity.key.wires:
        return any(overlap(record, each, entity.key.wires) for each in entity.records)
    return any(len(each.members.keys() & record.members.keys()) * 2 > len(each.members) for each in entity.records)


def _group(call: Call) -> tuple[str, str]:
    """Return the reason why a call is in a group, in words, and the name of the group."""
    last = call.route.parts[-1] if call.route.parts else ""
    if "." in last.strip(".") and "{" not in last:
        head = last.rpartition(".")[0]
        return f"the path {head}.…", snake_case(head)
    tags = [tag for tag in call.operation.tags if snake_case(tag, "")]
    if tags:
        return f"the tag {tags[0]}", snake_case(tags[0])
    literals = [part for part in call.route.literals if snake_case(part, "")]
    return (f"the path /{literals[0]}", snake_case(literals[0].partition(":")[0])) if literals else ("the rest", "")


def all_calls(resource: Resource) -> Iterable[Call]:
    """Yield all operations of a resource."""
    yield from resource.members.values()
    yield from (own.call for own in resource.own)
