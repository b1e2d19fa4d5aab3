"""What changed in an endpoint: its request, its arguments and body, its answer, and how that is kept."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, cast

from restencil_generator.diff.change import Change
from restencil_generator.diff.fields import ARGUMENT, BODY, RESULT, Fields, described, hook, paired
from restencil_generator.diff.types import Names, bare, shown
from restencil_generator.spec import model as d


@dataclasses.dataclass(frozen=True, slots=True)
class Keyed:
    """A change of an endpoint, and the key of the spec that says what changed.

    `at` reads from a resource or the spec what an endpoint takes over there; None where it takes over nothing value by
    value. Changes of fields have no key: the place where a field stands tells whether they are the same.
    """

    change: Change
    key: str = ""
    at: Callable[[Any], Any] | None = None

    @property
    def identity(self) -> tuple[object, ...]:
        """What changes have in common that are one change."""
        change = self.change
        places = () if self.key else (change.old_place, change.new_place)
        return change.rule, change.sub, self.key, *places


OPTIONS: Final[Mapping[str, str]] = {
    "data_expiry_length": "freshness-changed",
    "error_expiry_length": "freshness-changed",
    "poll_frequency": "freshness-changed",
    "invalid_if_stale": "freshness-changed",
    "needs": "freshness-changed",
    "conditional": "freshness-changed",
    "freshness": "freshness-changed",
    "concurrency": "concurrency-changed",
    "replace": "freshness-changed",
    "error_policy": "error-policy-changed",
    "validate": "answers-changed",
    "strict_shape": "answers-changed",
    "timeout": "patience-changed",
    "retries": "patience-changed",
    "persist": "persist-changed",
}
"""The rule of each option."""


@dataclasses.dataclass(frozen=True, slots=True)
class Endpoints:
    """Compares endpoints of one resource, whose old and new form are given."""

    fields: Fields
    names: Names
    old: d.Spec
    new: d.Spec
    old_resource: d.Resource
    new_resource: d.Resource

    def changes(self, old: d.Endpoint, new: d.Endpoint) -> Iterator[Keyed]:
        """What changed between two forms of an endpoint; also what it takes over from elsewhere."""
        yield from self._request(old, new)
        yield from self._path(old, new)
        yield from self._arguments(old, new)
        yield from self._body(old, new)
        yield from self._result(old, new)
        yield from self._pages(old, new)
        yield from self._kept(old, new)
        yield from self._told(old, new)

    # --------------------------------------------------------------------------------------------------------- request

    def _request(self, old: d.Endpoint, new: d.Endpoint) -> Iterator[Keyed]:
        if old.method != new.method:
            yield _value("method-changed", "method", old.method, new.method)
        if old.side_effect != new.side_effect:
            was, now = ("a mutation" if one.side_effect else "a read" for one in (old, new))
            yield Keyed(Change("side-effect-changed", "", f"{was} → {now}", was), "side_effect")
        if old.url_prefix != new.url_prefix:
            yield _value("url-prefix-changed", "url_prefix", old.url_prefix, new.url_prefix, _read("url_prefix"))
        for name in sorted(old.headers.keys() | new.headers.keys()):
            values = old.headers.get(name), new.headers.get(name)
            if values[0] != values[1]:
                yield _value("headers-changed", "headers", *values, _member("headers", name), sub=f"headers.{name}")
        if old.auth != new.auth:
            texts = ["that of the spec" if one.auth is None else use_text(one.auth) for one in (old, new)]
            yield _value("auth-use-changed", "auth", texts[0], texts[1], _read("auth"))
        for name in sorted(set(old.without) ^ set(new.without)):
            text = "not sent" if name in new.without else "sent"
            yield Keyed(Change("headers-changed", f"headers.{name}", text), "header_params")

    def _path(self, old: d.Endpoint, new: d.Endpoint) -> Iterator[Keyed]:
        before, now = old.path, new.path
        if before == now:
            yield from self._path_types(old, new)
            return
        if len(before.parameters) != len(now.parameters):
            yield _value("path-parameters-changed", "path", before.text, now.text)
            return
        names = [[parameter.name for parameter in path.parameters] for path in (before, now)]
        moved = names[0] != names[1] and sorted(names[0]) == sorted(names[1])
        if _skeleton(before) != _skeleton(now) or moved:
            yield _value("path-changed", "path", before.text, now.text)
        if not moved:
            for was, is_now in zip(before.parameters, now.parameters, strict=True):
                if was.name != is_now.name:
                    text = f"{was.name} → {is_now.name} in {now.text}"
                    yield Keyed(Change("path-parameter-renamed", is_now.name, text, was.name), "path")
                if was.optional != is_now.optional:
                    rule = "argument-optional" if is_now.optional else "argument-required"
                    text = "may be left out" if is_now.optional else "required now"
                    yield Keyed(Change(rule, is_now.name, text, "required" if is_now.optional else "optional"), "path")
        yield from self._path_types(old, new)

    def _path_types(self, old: d.Endpoint, new: d.Endpoint) -> Iterator[Keyed]:
        by_name = {field.name: field for field in old.params}
        for index, field in enumerate(new.params):
            was = by_name.get(field.name) or (old.params[index] if len(old.params) == len(new.params) else None)
            if was is not None and not self._follows_field(was, field, renamed=was.name != field.name):
                alike = dataclasses.replace(was, name=field.name, wire=field.wire)
                for change in self.fields.field(ARGUMENT, _asked(alike), _asked(field)):
                    if change.rule not in ("argument-required", "argument-optional"):
                        yield Keyed(change)

    def _follows_field(self, old: d.Field, new: d.Field, *, renamed: bool) -> bool:
        """Whether a parameter is typed by a field of the entity in both specs, so that a change is told there."""
        if any(
            self._is_declared(field, owner) for field, owner in ((old, self.old_resource), (new, self.new_resource))
        ):
            return False
        if renamed:
            return True
        return self._has_field(self.old, self.old_resource, old.name) and self._has_field(
            self.new, self.new_resource, new.name
        )

    @staticmethod
    def _is_declared(field: d.Field, resource: d.Resource) -> bool:
        """Whether the spec says what a parameter is: then it has a place of its own."""
        places = {resource.place, *(endpoint.place for _, endpoint in resource.all_endpoints())}
        return field.place not in places

    @staticmethod
    def _has_field(spec: d.Spec, resource: d.Resource, name: str) -> bool:
        return any(spec.entities[entity].field(name) is not None for entity in resource.entities)

    # ------------------------------------------------------------------------------------------------------- arguments

    def _arguments(self, old: d.Endpoint, new: d.Endpoint) -> Iterator[Keyed]:
        if isinstance(new.schema, d.AdderOf) and "search_params" not in old.written | new.written:
            return  # those of its list, which are told there
        if old.search_params is new.search_params and old.header_params is new.header_params:
            return
        before, now = _sent(old), _sent(new)
        moved = {name for name in before.keys() & now.keys() if before[name][0] != now[name][0]}
        in_path = {parameter.name for parameter in (*old.path.parameters, *new.path.parameters)}
        apart = self._page_names() | moved
        for kind in ("the query", "a header"):
            rows = [
                [one for place, one in side.values() if place == kind and one.name not in apart]
                for side in (before, now)
            ]
            for change in self.fields.rows(ARGUMENT, rows[0], rows[1]):
                if not (change.sub in in_path and change.rule in ("argument-removed", "argument-added")):
                    yield Keyed(change)
        for name in sorted(moved):
            (was, field), (is_now, other) = before[name], now[name]
            text = f"{was} → {is_now}"
            yield Keyed(Change("argument-wire-changed", name, text, was, field.place, other.place))
            yield from map(Keyed, self.fields.field(ARGUMENT, dataclasses.replace(field, wire=other.wire), other))
        yield from self._headers(old, new)

    @staticmethod
    def _headers(old: d.Endpoint, new: d.Endpoint) -> Iterator[Keyed]:
        """Which header parameters tell answers apart, and what is sent where none is given."""
        known = {header.field.name: header for header in old.header_params}
        for header in new.header_params:
            was = known.get(header.field.name)
            if was is None:
                continue
            places = (was.field.place, header.field.place)
            if not (old.side_effect and new.side_effect):
                for change in _apart(header.field.name, was, header):
                    yield Keyed(dataclasses.replace(change, old_place=places[0], new_place=places[1]))
            if was.auto != header.auto:
                text = f"auto {was.auto or '–'} → {header.auto or '–'}"
                yield Keyed(Change("argument-default-changed", header.field.name, text, was.auto or "", *places))

    def _page_names(self) -> set[str]:
        """The arguments that a change of the pagination field is told of."""
        resources = (self.old_resource, self.new_resource)
        fields = [
            {one.pagination_field.name for _, one in resource.all_endpoints() if one.pagination_field is not None}
            for resource in resources
        ]
        return fields[0] ^ fields[1]

    # ------------------------------------------------------------------------------------------------------------ body

    def _body(self, old: d.Endpoint, new: d.Endpoint) -> Iterator[Keyed]:
        before, now = (one.body if one.has_body else None for one in (old, new))
        if before is None and now is None:
            return
        if before is not None and now is not None:
            yield from self._sending(old, new)
        if before is None or now is None:
            if old.method == new.method or "body" in old.written | new.written:
                rule, text = ("body-added", "takes a body") if before is None else ("body-removed", "takes no body")
                yield Keyed(Change(rule, "body", text), "body")
            return
        if self._is_item(before, old, self.old_resource) and self._is_item(now, new, self.new_resource):
            return
        yield from self._bodies(before, now)

    @staticmethod
    def _sending(old: d.Endpoint, new: d.Endpoint) -> Iterator[Keyed]:
        """How a body is sent, whether it must be given, and whether it is part of the key."""
        was, now = old.request, new.request
        for name in ("content_type", "envelope"):
            texts = [_path_text(getattr(one, name)) for one in (was, now)]
            if texts[0] != texts[1]:
                at = _member("request", name)
                yield _value("body-format-changed", "request", texts[0], texts[1], at, sub=f"request.{name}")
        if was.optional != now.optional:
            rule, text = ("body-optional", "may be left out") if now.optional else ("body-required", "required now")
            yield Keyed(Change(rule, "body", text), "request", _member("request", "optional"))
        if was.in_key != now.in_key and not (old.side_effect and new.side_effect):
            rule, text = ("argument-joined-key", "in the key") if now.in_key else ("argument-left-key", "in no key")
            yield Keyed(Change(rule, "body", text), "request", _member("request", "in_key"))

    @staticmethod
    def _is_item(body: d.Body, endpoint: d.Endpoint, resource: d.Resource) -> bool:
        """Whether the body is what the resource, or the list that it is added to, is of anyway."""
        item = endpoint.collection.of.item if endpoint.collection is not None else resource.schema
        return body.kind == "json" and body.type in (item, resource.schema)

    def _bodies(self, old: d.Body, new: d.Body) -> Iterator[Keyed]:
        if old.kind != new.kind:
            whole = {"json", "form", "multipart"}
            if old.kind in whole and new.kind in whole:
                yield _value("body-format-changed", "body", old.kind, new.kind, sub="body")
            elif {old.kind, new.kind} <= {"json", "any"}:
                rule = "argument-type-widened" if new.kind == "any" else "argument-type-narrowed"
                yield _value(rule, "body", _body_text(old), _body_text(new), sub="body")
                return
            else:
                yield _value("body-member-type-changed", "body", _body_text(old), _body_text(new), sub="body")
                return
        before, now = self._members(old, self.old), self._members(new, self.new)
        was = self.names.translated(old.type) if old.type is not None else None
        if was == new.type and old.partial == new.partial:
            return
        if before is not None and now is not None:
            for change in self.fields.rows(BODY, before, now, "body"):
                yield Keyed(change)
        elif was is not None and new.type is not None:
            for change in self.fields.types(BODY, was, new.type, "body"):
                yield Keyed(change, "body")

    def _members(self, body: d.Body, spec: d.Spec) -> tuple[d.Field, ...] | None:
        """The members of a body by themselves; None where it is no object."""
        match body.type:
            case d.ObjectType(members):
                found = tuple(_optional(member) for member in members) if body.partial else members
            case d.ObjectRef(name):
                found = tuple(_in_body(field) for field in spec.objects[name].fields if field.is_sent)
            case d.EntityRef(name):
                found = tuple(
                    _in_body(field, partial=body.partial) for field in spec.entities[name].all_fields if field.is_sent
                )
            case _:
                return None
        if spec is self.new:
            return found
        return tuple(dataclasses.replace(field, type=self.names.translated(field.type)) for field in found)

    # ---------------------------------------------------------------------------------------------------------- result

    def _result(self, old: d.Endpoint, new: d.Endpoint) -> Iterator[Keyed]:
        if (old.content or "json") != (new.content or "json"):
            yield _value("content-changed", "content", old.content or "json", new.content or "json")
        elif not isinstance(new.schema, d.AdderOf | d.PageOf) or not isinstance(old.schema, d.AdderOf | d.PageOf):
            wires = {was.wire: now.wire for was, now in paired(old.search_params, new.search_params).both}
            yield from self._types("schema", old.schema and told_arguments(old.schema, wires), new.schema)
        if old.returns is not None or new.returns is not None:
            yield from self._types("returns", old.returns, new.returns)
        yield from self._answer(old, new)
        yield from self._kept_apart(old, new)
        for key in ("process", "update"):
            for change in hook(key, getattr(old, key), getattr(new, key), "", None, None):
                yield Keyed(change, key)
        for change in hook("endpoint", old.base, new.base, "", None, None):
            yield Keyed(change, "endpoint", _read("base"))
        for status in sorted(old.errors.keys() | new.errors.keys()):
            yield from self._errors(status, old, new)

    def _types(self, key: str, old: d.Type | None, new: d.Type | None) -> Iterator[Keyed]:
        if old is None or new is None:
            if old is not new:
                yield _value("result-changed", key, shown(old), shown(new))
            return
        for change in self.fields.types(RESULT, self.names.translated(old), new):
            place = change.old_place or change.new_place
            # What has a place of its own is the same wherever it is taken over.
            yield Keyed(change, "" if place is not None else key)

    def _kept_apart(self, old: d.Endpoint, new: d.Endpoint) -> Iterator[Keyed]:
        """A list that is kept under another name, since another one has, or had, the same arguments."""
        before, now = (_list(one.schema) for one in (old, new))
        if before is None or now is None or before.apart == now.apart:
            return
        same_place = (old.path, old.url_prefix) == (new.path, new.url_prefix)
        if same_place and self.names.translated(before.of) == now.of:
            texts = [f"kept apart as {one.apart}" if one.apart else "the list of its kind" for one in (before, now)]
            yield _value("identity-arguments-changed", "schema", texts[0], texts[1], sub="apart")

    def _answer(self, old: d.Endpoint, new: d.Endpoint) -> Iterator[Keyed]:
        """Where an answer has its value, and what one without content is."""
        was, now = old.response, new.response
        if was.envelope != now.envelope:
            above = self.old_resource.response, self.new_resource.response
            of_lists = (was.envelope, now.envelope) == (above[0].list_envelope, above[1].list_envelope)
            name = "list_envelope" if of_lists else "envelope"
            texts = [_path_text(one.envelope) for one in (was, now)]
            yield _value("envelope-changed", "response", texts[0], texts[1], _envelope(name), sub=f"response.{name}")
        for name, rule in (("empty", "freshness-changed"), ("ignore", "answers-changed")):
            values = getattr(was, name), getattr(now, name)
            if values[0] != values[1]:
                yield _value(rule, "response", *values, _member("response", name), sub=f"response.{name}")

    def _errors(self, status: str, old: d.Endpoint, new: d.Endpoint) -> Iterator[Keyed]:
        was, now = old.errors.get(status), new.errors.get(status)
        told = was if was is None else tuple(self.names.of("object", name) for name in was)
        if told == now:
            return
        rule = "error-type-added" if was is None else "error-type-removed" if now is None else "error-type-changed"
        texts = [_shape_text(shape) for shape in (was, now)]
        change = Change(rule, f"errors.{status}", f"{texts[0]} → {texts[1]}", texts[0])
        yield Keyed(change, "errors", _member("errors", status))

    # ----------------------------------------------------------------------------------------------------------- pages

    def _pages(self, old: d.Endpoint, new: d.Endpoint) -> Iterator[Keyed]:
        before, now = (one.pagination_field for one in (old, new))
        if before is not None and (now is None or before.name != now.name):
            was, is_now = before.name, now.name if now is not None else None
            yield _value("pagination-field-changed", "pagination_field", was, is_now)
        elif before is not None and now is not None:
            for change in self.fields.field(ARGUMENT, _asked(before), _asked(now)):
                yield Keyed(change)
        if old.pagination != new.pagination and old.pagination_field is not None and new.pagination_field is not None:
            texts = [_pagination_text(one.pagination) for one in (old, new)]
            yield _value("pagination-changed", "pagination", texts[0], texts[1])

    # ------------------------------------------------------------------------------------------------------------ kept

    def _kept(self, old: d.Endpoint, new: d.Endpoint) -> Iterator[Keyed]:
        if old.options != new.options:
            for name, rule in OPTIONS.items():
                was, now = getattr(old.options, name), getattr(new.options, name)
                if was != now:
                    yield _value(rule, "options", was, now, _member("options", name), sub=name)
        if old.optimistic != new.optimistic:
            yield _value("optimistic-changed", "optimistic", old.optimistic, new.optimistic)
        was, now = old.get_optimistic_response, new.get_optimistic_response
        if was != now:
            yield _value("optimistic-changed", "get_optimistic_response", was, now)
        if old.follow_see_other != new.follow_see_other:
            yield _value("answers-changed", "follow_see_other", old.follow_see_other, new.follow_see_other)
        expires = old.expires if old.expires == d.NOTHING else tuple(self._called(target) for target in old.expires)
        if set(expires) != set(new.expires):
            yield _value("freshness-changed", "expires", old.expires, new.expires)
        if old.cross_origin_body != new.cross_origin_body:
            yield _value("answers-changed", "redirects", old.cross_origin_body, new.cross_origin_body)

    def _called(self, target: str) -> str:
        """What `expires` names, by the new name of its resource."""
        resource, dot, member = target.partition(".")
        return f"{self.new_resource.name}{dot}{member}" if dot and resource == self.old_resource.name else target

    def _told(self, old: d.Endpoint, new: d.Endpoint) -> Iterator[Keyed]:
        for change in described(old, new, "", None, None):
            yield Keyed(change, "description" if change.rule == "description-changed" else "deprecated")
        if old.example != new.example:
            yield Keyed(Change("example-changed", "", "example"), "examples")


# --------------------------------------------------------------------------------------------------------------- pieces


def _value(
    rule: str, key: str, old: object, new: object, at: Callable[[Any], Any] | None = None, *, sub: str | None = None
) -> Keyed:
    was, now = _text(old), _text(new)
    return Keyed(Change(rule, key if sub is None else sub, f"{was} → {now}", was), key, at)


def _text(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, tuple):
        return f"[{', '.join(map(str, cast('tuple[object, ...]', value)))}]"
    return str(value).lower() if isinstance(value, bool) else str(value) or '""'


def use_text(use: d.Use) -> str:
    """Alternatives of schemes as a spec writes them."""
    texts = [f"[{', '.join(names)}]" if len(names) > 1 else "".join(names) or "none" for names in use]
    return f"[{', '.join(texts)}]"


def _sent(endpoint: d.Endpoint) -> dict[str, tuple[str, d.Field]]:
    """The arguments that are no part of the path, by name, and where each is sent."""
    found = {field.name: ("the query", field) for field in endpoint.search_params}
    for header in endpoint.header_params:
        field = header.field if header.auto is None else _optional(header.field)
        found[field.name] = ("a header", field)
    return found


def _apart(name: str, old: d.HeaderParam, new: d.HeaderParam) -> Iterator[Change]:
    """Whether calls that differ in a header share an answer, and records."""
    if (old.in_key, old.partition) == (new.in_key, new.partition):
        return
    words = ["in a partition" if one.partition else "in the key" if one.in_key else "in no key" for one in (old, new)]
    shared = (old.partition and not new.partition) or (old.in_key and not (new.in_key or new.partition))
    rule = "argument-left-key" if shared else "argument-joined-key"
    yield Change(rule, name, f"{words[0]} → {words[1]}", words[0])


def _read(name: str) -> Callable[[Any], Any]:
    return lambda level: getattr(level, name, None)


def _member(name: str, key: str) -> Callable[[Any], Any]:
    """Reads one of the headers, errors or options of an endpoint, a resource or the spec."""
    if name in ("options", "request", "response"):
        return lambda level: getattr(getattr(level, name), key)
    return lambda level: getattr(level, name).get(key)


def told_arguments(type: d.Type, wires: Mapping[str, str]) -> d.Type:
    """A type whose lists name the arguments that tell them apart as they are called now."""
    match type:
        case d.CollectionOf():
            names = tuple(wires.get(name, name) for name in type.non_filter_arguments)
            return dataclasses.replace(type, non_filter_arguments=names) if names else type
        case d.ObjectType(members):
            told = tuple(dataclasses.replace(one, type=told_arguments(one.type, wires)) for one in members)
            return dataclasses.replace(type, members=told)
        case d.Optional(item):
            return d.Optional(told_arguments(item, wires))
        case d.PageOf(item):
            return d.PageOf(told_arguments(item, wires))
        case d.QueryOf(of):
            return dataclasses.replace(type, of=cast("d.CollectionOf | d.AllOf", told_arguments(of, wires)))
        case _:
            return type


def _list(schema: d.Type | None) -> d.CollectionOf | None:
    """The first collection of a schema."""
    parts = () if schema is None or isinstance(schema, d.AdderOf) else d.walk(schema)
    return next((part for part in parts if isinstance(part, d.CollectionOf)), None)


def _envelope(name: str) -> Callable[[Any], Any]:
    """Reads the envelope that counts for an endpoint, where it is written."""
    return lambda level: level.response.envelope if isinstance(level, d.Endpoint) else getattr(level.response, name)


def _path_text(value: str | tuple[str, ...] | None) -> str | None:
    return ".".join(value) or None if isinstance(value, tuple) else value


def _skeleton(path: d.Path) -> tuple[str, ...]:
    """The literal text of a path; names of parameters, and whether they may be left out, do not count."""
    texts = [part.text if isinstance(part, d.PathText) else f"{part.prefix}\0" for part in path.parts]
    return tuple("".join(texts).split("\0"))


def _asked(field: d.Field) -> d.Field:
    """A parameter of a path, whose `?` comes from the path."""
    return dataclasses.replace(field, type=bare(field.type))


def _optional(field: d.Field) -> d.Field:
    type = field.type if isinstance(field.type, d.Optional) else d.Optional(field.type)
    return dataclasses.replace(field, type=type, default=d.MISSING, written_default=False)


def _in_body(field: d.Field, *, partial: bool = False) -> d.Field:
    """A field of an entity or object as bodies hold it: only what is marked so must be given."""
    if not field.must or partial:
        return _optional(field)
    return dataclasses.replace(field, type=bare(field.type), default=d.MISSING, written_default=False)


def _body_text(body: d.Body) -> str:
    return shown(body.type) if body.type is not None else body.kind


def _shape_text(shape: d.Shape | None) -> str:
    return "–" if shape is None else " | ".join(shape) or "any"


def _pagination_text(pagination: d.Pagination | None) -> str | None:
    if pagination is None:
        return None
    told: dict[str, object] = {
        "style": pagination.style,
        "in": "body" if pagination.in_body else None,
        "next": pagination.next,
        "size": f"{pagination.size.param.wire}={pagination.size.value}" if pagination.size is not None else None,
        "remove_cursor": pagination.remove_cursor,
        "more": pagination.more,
        "total": pagination.total,
        "length": pagination.length,
        "start": pagination.start,
    }
    return f"{{{', '.join(f'{key}: {value}' for key, value in told.items() if value is not None)}}}"
