"""Comparison of resources: added, removed and renamed ones, and changes of endpoints, each reported once.

Endpoints are compared with everything they inherit, so one line of a spec may change many of them. A change is reported
where it is declared: at the endpoint that others extend, at the resource, or at the spec.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Final, cast

from restencil_generator.diagnostics.model import Place
from restencil_generator.diff.change import Change, Finding, found_at
from restencil_generator.diff.endpoints import endpoint_changes
from restencil_generator.diff.walk import (
    DERIVED,
    DESCRIPTION,
    At,
    Attributes,
    Ignored,
    Specs,
    deprecation,
    walk,
)
from restencil_generator.spec import model as d
from restencil_generator.spec.names import pascal_case
from restencil_generator.spec.path_template import route

_LIST_MEMBERS = frozenset((*d.EXTENDERS, "create"))


def renamed_resources(old: d.Spec, new: d.Spec) -> dict[str, str]:
    """Return the new name of each resource that has the requests of a removed one."""
    gone = [resource for name, resource in old.resources.items() if name not in new.resources]
    came = [resource for name, resource in new.resources.items() if name not in old.resources]
    found: dict[str, str] = {}
    requests = {resource.name: _requests(resource) for resource in (*gone, *came)} if gone and came else {}
    for resource in gone:
        left = [other for other in came if other.name not in found.values()]
        shared = {other.name: len(requests[resource.name] & requests[other.name]) for other in left}
        best = max(shared, key=lambda name: shared[name], default=None)
        if best is not None and shared[best]:
            found[resource.name] = best
    return found


def _requests(resource: d.Resource) -> set[tuple[object, ...]]:
    return {(endpoint.method, route(endpoint.path)) for endpoint in resource.endpoints.values()}


def resource_findings(specs: Specs) -> Iterator[Finding]:
    """Yield the changes of the resources of two specs, including changes at the top level that affect endpoints."""
    pairs: list[tuple[d.Resource, d.Resource]] = []
    for name, resource in specs.old.resources.items():
        other = specs.new.resources.get(specs.resources.get(name, name))
        if other is None:
            yield Finding("resource-removed", f"resources.{name}", "removed", specs.new.place, resource.place)
        else:
            pairs.append((resource, other))
    known = {new.name for _, new in pairs}
    for name, resource in specs.new.resources.items():
        if name not in known:
            yield Finding("resource-added", f"resources.{name}", "added", resource.place)
    moved = _moved_endpoints(pairs)
    for old, new in pairs:
        for change in walk(RESOURCE_ATTRIBUTES, At(specs, places=(old.place, new.place)), old, new):
            yield found_at(change, f"resources.{new.name}", old.place, new.place)
        yield from _Endpoints(specs, old, new, moved).findings()


def _resource_name(at: At, old: d.Resource, new: d.Resource) -> Iterator[Change]:
    if old.name != new.name:
        yield at.changed("resource-renamed", old.name, new.name)


def _class_name(at: At, old: d.Resource, new: d.Resource) -> Iterator[Change]:
    derived = old.class_name == pascal_case(old.name) and new.class_name == pascal_case(new.name)
    if old.class_name != new.class_name and not derived:
        yield at.changed("resource-class-renamed", old.class_name, new.class_name, label="class")


_RESOLVED: Final = Ignored("each endpoint has what it inherits from here")

RESOURCE_ATTRIBUTES: Final[Attributes[d.Resource]] = {
    "name": _resource_name,
    "python": DERIVED,
    "class_name": _class_name,
    "path": _RESOLVED,
    "schema": _RESOLVED,
    "url_prefix": _RESOLVED,
    "headers": _RESOLVED,
    "options": _RESOLVED,
    "optimistic": _RESOLVED,
    "members": Ignored("each member is an endpoint"),
    "endpoints": Ignored("they are compared by `endpoint_changes`"),
    "body": _RESOLVED,
    "search_params": _RESOLVED,
    "params": _RESOLVED,
    "pagination_field": _RESOLVED,
    "pagination": _RESOLVED,
    "base": _RESOLVED,
    "errors": _RESOLVED,
    "header_params": _RESOLVED,
    "without": _RESOLVED,
    "auth": _RESOLVED,
    "request": _RESOLVED,
    "response": _RESOLVED,
    "singleton": Ignored("it decides which members there are"),
    "cross_origin_body": _RESOLVED,
    "description": DESCRIPTION,
    "deprecated": deprecation,
}

# ------------------------------------------------------------------------------------------------------------ endpoints


class _Endpoints:
    """Comparison of the endpoints of one resource in both specs.

    `called` has the new names of the remaining endpoints, `was` their old names; names of list operations begin with
    the name of the list.
    """

    def __init__(
        self, specs: Specs, old: d.Resource, new: d.Resource, moved: Mapping[tuple[str, str], tuple[str, str]]
    ) -> None:
        self.specs = specs
        self.old, self.new = old, new
        self.moved = moved
        self.before, self.now = dict(_flat(old)), dict(_flat(new))
        self.called = self._called()
        self.was = {new: old for old, new in self.called.items()}
        self.node = f"resources.{new.name}"

    def findings(self) -> Iterator[Finding]:
        """Yield the changes."""
        for name, endpoint in self.before.items():
            called = self.called.get(name)
            if called is None:
                yield from self._gone(name, endpoint)
            elif called != name and not (name in _LIST_MEMBERS or "." in name):
                text, place = f"{name} → {called}", self.now[called].place
                yield Finding("endpoint-renamed", f"{self.node}.{called}", text, place, endpoint.place, name)
        yield from self._came()
        yield from self._changed()

    # ------------------------------------------------------------------------------------------------- which there are

    def _called(self) -> dict[str, str]:
        """Return the new name of each remaining endpoint; operations of a renamed list follow it."""
        called: dict[str, str] = {name: name for name in self.before if name in self.now}
        requests = {
            (endpoint.method, route(endpoint.path)): name
            for name, endpoint in self.now.items()
            if name not in self.before and "." not in name
        }
        for name, endpoint in self.before.items():
            if name not in self.now and "." not in name:
                other = requests.pop((endpoint.method, route(endpoint.path)), None)
                if other is not None:
                    called[name] = other
                    for member in endpoint.extenders:
                        if f"{other}.{member}" in self.now:
                            called[f"{name}.{member}"] = f"{other}.{member}"
        return called

    def _gone(self, name: str, endpoint: d.Endpoint) -> Iterator[Finding]:
        holder, _, member = name.rpartition(".")
        node = f"{self.node}.{name}"
        target = self.moved.get((self.old.name, name))
        if holder:
            if holder in self.called and not _explains(self.before[holder], self.now[self.called[holder]], member):
                yield Finding("list-member-removed", node, "removed", self.new.place, endpoint.place)
        elif name == "create" and "get_list.push" not in self.now:
            return
        elif target is not None:
            other = self.specs.new.resources[target[0]].endpoints[target[1]]
            text = f"{self.new.name}.{name} → {'.'.join(target)}"
            yield Finding("endpoint-renamed", f"resources.{'.'.join(target)}", text, other.place, endpoint.place, name)
        else:
            yield Finding("endpoint-removed", node, "removed", self.new.place, endpoint.place)

    def _came(self) -> Iterator[Finding]:
        arrived = set(self.moved.values())
        for name, endpoint in self.now.items():
            if name in self.was or (self.new.name, name) in arrived:
                continue
            holder, _, member = name.rpartition(".")
            node = f"{self.node}.{name}"
            if holder:
                if holder in self.was and not _explains(self.before[self.was[holder]], self.now[holder], member):
                    yield Finding("list-member-added", node, "added", endpoint.place)
            elif name != "create" or "get_list.push" in self.before:
                yield Finding("endpoint-added", node, "added", endpoint.place)

    # ---------------------------------------------------------------------------------------------------- what changed

    def _changed(self) -> Iterator[Finding]:
        found: dict[str, dict[tuple[object, ...], Change]] = {}
        at = At(self.specs, owners=(self.old, self.new))
        for name, endpoint in self.now.items():
            old = self.before[self.was[name]] if name in self.was else endpoint
            if old is not endpoint:
                changes = found.setdefault(name, {})
                for change in endpoint_changes(at, old, endpoint):
                    changes.setdefault(change.identity, change)
        owners: dict[tuple[object, ...], dict[str, Change]] = {}
        for name, changes in found.items():
            for identity, change in changes.items():
                owners.setdefault(identity, {}).setdefault(self._owner(name, change, found), change)
        for reported in owners.values():
            first = next(iter(reported.values()))
            if not first.key and len(reported) > 1:
                reported = {_RESOURCE: first}
            for owner, change in reported.items():
                yield from self._report(owner, change)

    def _report(self, owner: str, change: Change) -> Iterator[Finding]:
        specs, key = self.specs, change.key
        if owner == _RESOURCE:
            yield found_at(change, self.node, key_place(self.old, key), key_place(self.new, key))
        elif owner != _SPEC:
            old, new = self.before[self.was[owner]], self.now[owner]
            yield found_at(change, f"{self.node}.{owner}", key_place(old, key), key_place(new, key))
        elif not (key == "url_prefix" and (specs.old.servers or specs.new.servers)):  # servers report it
            node = change.sub if key in ("", change.sub.partition(".")[0]) else f"{key}.{change.sub}"
            places = (key_place(spec, key) for spec in (specs.old, specs.new))
            yield found_at(dataclasses.replace(change, sub=""), node, *places)

    def _owner(self, name: str, change: Change, found: Mapping[str, Mapping[tuple[object, ...], Change]]) -> str:
        """Return where a change is declared: an endpoint, the resource, or the spec."""
        top = name
        while (base := _base(top, self.now)) is not None and change.identity in found.get(base, ()):
            top = base
        old, new = self.before[self.was[top]], self.now[top]
        if not change.key:
            return top
        if not change.path:
            return top if change.key in old.written | new.written | _OWN else _RESOURCE
        values = _at_path(old, change.path), _at_path(new, change.path)
        if values != (_at_path(self.old, change.path), _at_path(self.new, change.path)):
            return top
        if values != (_at_path(self.specs.old, change.path), _at_path(self.specs.new, change.path)):
            return _RESOURCE
        return _SPEC


def key_place(holder: d.Spec | d.Resource | d.Endpoint, key: str) -> Place:
    """Return the place of the value of a key, or of the whole if the key is not given."""
    return holder.places.get(key, holder.place)


def _at_path(level: d.Spec | d.Resource | d.Endpoint, path: tuple[str, ...]) -> object:
    """Return the value at a path of attributes and members in an endpoint, a resource or the spec."""
    value: object = level
    if isinstance(level, d.Endpoint) and path == ("response", "list_envelope"):
        path = ("response", "envelope")  # an endpoint has only the effective envelope
    for name in path:
        if isinstance(value, dict):
            value = cast("dict[str, object]", value).get(name)
        else:
            value = getattr(value, name, None)
    return value


_RESOURCE, _SPEC = "", "."

_OWN = frozenset(("description", "deprecated", "examples"))
"""Keys that endpoints do not inherit."""


def _explains(old: d.Endpoint, new: d.Endpoint, member: str) -> bool:
    """Return whether another change of a list already explains why an operation was added or removed."""
    before, now = old.collection, new.collection
    if (before is None) != (now is None):
        return True
    if before is not None and now is not None and type(before.of) is not type(now.of):
        return member != "get_page"
    return member == "get_page" and old.pagination_field is not None and new.pagination_field is None


def _base(name: str, endpoints: Mapping[str, d.Endpoint]) -> str | None:
    """Return the endpoint that one extends; None if it extends the resource."""
    holder, _, _ = name.rpartition(".")
    if holder:
        return holder
    if name == "create":
        return "get_list.push" if "get_list.push" in endpoints else None
    extends = endpoints[name].extends
    if extends is None:
        return None
    return f"get_list.{extends}" if extends in d.EXTENDERS else extends


def _flat(resource: d.Resource) -> Iterator[tuple[str, d.Endpoint]]:
    """Yield all endpoints by name; names of list operations begin with the name of the list."""
    for name, endpoint in resource.endpoints.items():
        yield name, endpoint
        for member, extender in endpoint.extenders.items():
            yield f"{name}.{member}", extender


def _moved_endpoints(pairs: list[tuple[d.Resource, d.Resource]]) -> dict[tuple[str, str], tuple[str, str]]:
    """Return added endpoints that moved to another resource, with the same method and path."""
    came: dict[tuple[object, ...], tuple[str, str]] = {}
    for old, new in pairs:
        for name, endpoint in new.endpoints.items():
            if not endpoint.standard and name not in old.endpoints:
                came.setdefault((endpoint.method, endpoint.path.text), (new.name, name))
    found: dict[tuple[str, str], tuple[str, str]] = {}
    for old, new in pairs if came else ():
        for name, endpoint in old.endpoints.items():
            target = came.get((endpoint.method, endpoint.path.text))
            if name not in new.endpoints and target is not None and target[0] != new.name:
                found[old.name, name] = target
                del came[endpoint.method, endpoint.path.text]
    return found
