"""What changed in resources: which came, went or were renamed, and each change of their endpoints told once.

Endpoints are compared with all that they take over, so one line of a spec may change many of them. A change is told
where it is written: at the endpoint that others start from, at the resource, or at the spec.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

from restencil_generator.diagnostics.model import Place
from restencil_generator.diff.change import Finding, found_at
from restencil_generator.diff.endpoints import Endpoints, Keyed
from restencil_generator.diff.fields import Fields, described
from restencil_generator.diff.types import Names
from restencil_generator.spec import model as d
from restencil_generator.spec.names import pascal_case
from restencil_generator.spec.path_template import route

_LIST_MEMBERS = frozenset((*d.EXTENDERS, "create"))


def renamed_resources(old: d.Spec, new: d.Spec) -> dict[str, str]:
    """The new name of each resource that has the requests of one whose name is gone."""
    gone = [resource for name, resource in old.resources.items() if name not in new.resources]
    came = [resource for name, resource in new.resources.items() if name not in old.resources]
    found: dict[str, str] = {}
    asked = {resource.name: _requests(resource) for resource in (*gone, *came)} if gone and came else {}
    for resource in gone:
        left = [other for other in came if other.name not in found.values()]
        shared = {other.name: len(asked[resource.name] & asked[other.name]) for other in left}
        best = max(shared, key=lambda name: shared[name], default=None)
        if best is not None and shared[best]:
            found[resource.name] = best
    return found


def _requests(resource: d.Resource) -> set[tuple[object, ...]]:
    return {(endpoint.method, route(endpoint.path)) for endpoint in resource.endpoints.values()}


@dataclasses.dataclass(slots=True)
class Resources:
    """Compares the resources of two specs."""

    old: d.Spec
    new: d.Spec
    names: Names
    fields: Fields
    renamed: Mapping[str, str]
    _of_spec: dict[tuple[object, ...], Finding] = dataclasses.field(default_factory=dict[tuple[object, ...], Finding])

    def findings(self) -> Iterator[Finding]:
        """What changed, changes of the spec that reach endpoints included."""
        met = set(self.renamed.values())
        pairs: list[tuple[d.Resource, d.Resource]] = []
        for name, resource in self.old.resources.items():
            other = self.new.resources.get(self.renamed.get(name, name))
            if other is None:
                yield Finding("resource-removed", f"resources.{name}", "removed", self.new.place, resource.place)
            else:
                pairs.append((resource, other))
                met.add(other.name)
        for name, resource in self.new.resources.items():
            if name not in met:
                yield Finding("resource-added", f"resources.{name}", "added", resource.place)
        moved = _moved_endpoints(pairs)
        for old, new in pairs:
            yield from self._resource(old, new, moved)
        yield from self._of_spec.values()

    def _resource(
        self, old: d.Resource, new: d.Resource, moved: Mapping[tuple[str, str], tuple[str, str]]
    ) -> Iterator[Finding]:
        node = f"resources.{new.name}"
        if old.name != new.name:
            yield Finding("resource-renamed", node, f"{old.name} → {new.name}", new.place, old.place, old.name)
        derived = old.class_name == pascal_case(old.name) and new.class_name == pascal_case(new.name)
        if old.class_name != new.class_name and not derived:
            text = f"class {old.class_name} → {new.class_name}"
            yield Finding("resource-class-renamed", node, text, new.place, old.place, old.class_name)
        for change in described(old, new, "", old.place, new.place):
            yield found_at(change, node, old.place, new.place)
        yield from _Pair(self, old, new, moved).findings()

    def tell_of_spec(self, keyed: Keyed) -> None:
        """Notes a change that the top of the spec makes, once for all endpoints that it reaches."""
        change = keyed.change
        node = change.sub if keyed.key in ("", change.sub.partition(".")[0]) else f"{keyed.key}.{change.sub}"
        places = (_at(spec, keyed.key) for spec in (self.old, self.new))
        self._of_spec.setdefault(keyed.identity, found_at(dataclasses.replace(change, sub=""), node, *places))


@dataclasses.dataclass(slots=True)
class _Pair:
    """Compares the two forms of one resource."""

    whole: Resources
    old: d.Resource
    new: d.Resource
    moved: Mapping[tuple[str, str], tuple[str, str]]

    def findings(self) -> Iterator[Finding]:
        before, now = dict(_flat(self.old)), dict(_flat(self.new))
        called = self._called(before, now)
        for name, endpoint in before.items():
            if name not in called:
                yield from self._gone(name, endpoint, called, now)
            elif called[name] != name:
                other = now[called[name]]
                if not (name in _LIST_MEMBERS or "." in name):
                    node = f"resources.{self.new.name}.{called[name]}"
                    text = f"{name} → {called[name]}"
                    yield Finding("endpoint-renamed", node, text, other.place, endpoint.place, name)
        yield from self._came(before, now, called)
        yield from self._changed(before, now, called)

    # ------------------------------------------------------------------------------------------------- which there are

    def _called(self, before: Mapping[str, d.Endpoint], now: Mapping[str, d.Endpoint]) -> dict[str, str]:
        """What each endpoint that is still there is called; what hangs on a renamed list is called after it."""
        called: dict[str, str] = {name: name for name in before if name in now}
        asked = {
            (endpoint.method, route(endpoint.path)): name
            for name, endpoint in now.items()
            if name not in before and "." not in name
        }
        for name, endpoint in before.items():
            if name not in now and "." not in name:
                other = asked.pop((endpoint.method, route(endpoint.path)), None)
                if other is not None:
                    called[name] = other
                    for member in endpoint.extenders:
                        if f"{other}.{member}" in now:
                            called[f"{name}.{member}"] = f"{other}.{member}"
        return called

    def _gone(
        self, name: str, endpoint: d.Endpoint, called: Mapping[str, str], now: Mapping[str, d.Endpoint]
    ) -> Iterator[Finding]:
        holder, _, member = name.rpartition(".")
        node = f"resources.{self.new.name}.{name}"
        if holder:
            if holder in called and not self._list_changed(self._holder(holder), now[called[holder]], member):
                yield Finding("list-member-removed", node, "removed", self.new.place, endpoint.place)
            return
        if name == "create" and "push" not in self._members(now):
            return
        target = self.moved.get((self.old.name, name))
        if target is not None:
            other = self.whole.new.resources[target[0]].endpoints[target[1]]
            text = f"{self.new.name}.{name} → {'.'.join(target)}"
            yield Finding("endpoint-renamed", f"resources.{'.'.join(target)}", text, other.place, endpoint.place, name)
            return
        yield Finding("endpoint-removed", node, "removed", self.new.place, endpoint.place)

    def _holder(self, name: str) -> d.Endpoint:
        return self.old.endpoints[name]

    @staticmethod
    def _members(now: Mapping[str, d.Endpoint]) -> set[str]:
        return {name.rpartition(".")[2] for name in now if name.startswith("get_list.")}

    @staticmethod
    def _list_changed(old: d.Endpoint, new: d.Endpoint, member: str) -> bool:
        """Whether another change of a list says already why a member of it came or went."""
        if type(old.collection) is not type(new.collection):
            return True
        if (
            old.collection is not None
            and new.collection is not None
            and type(old.collection.of) is not type(new.collection.of)
        ):
            return member != "get_page"
        return member == "get_page" and old.pagination_field is not None and new.pagination_field is None

    def _came(
        self, before: Mapping[str, d.Endpoint], now: Mapping[str, d.Endpoint], called: Mapping[str, str]
    ) -> Iterator[Finding]:
        met = set(called.values())
        was_called = {new: old for old, new in called.items()}
        arrived = set(self.moved.values())
        for name, endpoint in now.items():
            if name in met or (self.new.name, name) in arrived:
                continue
            holder, _, member = name.rpartition(".")
            node = f"resources.{self.new.name}.{name}"
            if holder:
                if holder in met and not self._list_changed(before[was_called[holder]], now[holder], member):
                    yield Finding("list-member-added", node, "added", endpoint.place)
            elif name != "create" or "push" in self._members(before):
                yield Finding("endpoint-added", node, "added", endpoint.place)

    # ---------------------------------------------------------------------------------------------------- what changed

    def _changed(
        self, before: Mapping[str, d.Endpoint], now: Mapping[str, d.Endpoint], called: Mapping[str, str]
    ) -> Iterator[Finding]:
        whole = self.whole
        endpoints = Endpoints(whole.fields, whole.names, whole.old, whole.new, self.old, self.new)
        found: dict[str, dict[tuple[object, ...], Keyed]] = {}
        was = {new: old for old, new in called.items()}
        for name, endpoint in now.items():
            if name in was:
                old = before[was[name]]
                if old is not endpoint:
                    mine = found.setdefault(name, {})
                    for keyed in endpoints.changes(old, endpoint):
                        mine.setdefault(keyed.identity, keyed)
        told: dict[tuple[object, ...], set[str]] = {}
        order: list[tuple[str, Keyed]] = []
        for name, changes in found.items():
            for identity, keyed in changes.items():
                owner = self._owner(name, keyed, found, now, before, was)
                owners = told.setdefault(identity, set())
                if owner not in owners:
                    owners.add(owner)
                    order.append((owner, keyed))
        for owner, keyed in order:
            yield from self._tell(owner, keyed, told, before, now, was)

    def _tell(
        self,
        owner: str,
        keyed: Keyed,
        told: dict[tuple[object, ...], set[str]],
        before: Mapping[str, d.Endpoint],
        now: Mapping[str, d.Endpoint],
        was: Mapping[str, str],
    ) -> Iterator[Finding]:
        if owner == _SPEC and keyed.key == "url_prefix" and (self.whole.old.servers or self.whole.new.servers):
            return  # told of the servers
        if owner == _SPEC:
            self.whole.tell_of_spec(keyed)
            return
        node = f"resources.{self.new.name}"
        if not keyed.key:
            owners = told.pop(keyed.identity, set())
            if not owners:
                return  # told of the resource already
            owner = owners.pop() if len(owners) == 1 else _RESOURCE
        if owner == _RESOURCE:
            yield found_at(keyed.change, node, _at(self.old, keyed.key), _at(self.new, keyed.key))
        else:
            old, new = before[was[owner]], now[owner]
            yield found_at(keyed.change, f"{node}.{owner}", _at(old, keyed.key), _at(new, keyed.key))

    def _owner(
        self,
        name: str,
        keyed: Keyed,
        found: Mapping[str, Mapping[tuple[object, ...], Keyed]],
        now: Mapping[str, d.Endpoint],
        before: Mapping[str, d.Endpoint],
        was: Mapping[str, str],
    ) -> str:
        """Where a change is made: the endpoint that says so, the resource, or the spec."""
        top = name
        while (base := _base(top, now)) is not None and keyed.identity in found.get(base, ()):
            top = base
        if not keyed.key:
            return top
        written = keyed.key in now[top].written | before[was[top]].written
        if keyed.at is None:
            return top if written or keyed.key in _OWN else _RESOURCE
        values = keyed.at(before[was[top]]), keyed.at(now[top])
        if values != (keyed.at(self.old), keyed.at(self.new)):
            return top
        if values != (keyed.at(self.whole.old), keyed.at(self.whole.new)):
            return _RESOURCE
        return _SPEC


def _at(holder: d.Spec | d.Resource | d.Endpoint, key: str) -> Place:
    """Where the value of a key stands; where it is not written, the whole."""
    return holder.places.get(key, holder.place)


_RESOURCE, _SPEC = "", "."

_OWN = frozenset(("description", "deprecated", "examples"))
"""Keys that an endpoint takes over from nowhere."""


def _base(name: str, endpoints: Mapping[str, d.Endpoint]) -> str | None:
    """The endpoint that one starts from; None where it starts from the resource."""
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
    """All endpoints by their names; what hangs on a list has the list's name before its own."""
    for name, endpoint in resource.endpoints.items():
        yield name, endpoint
        for member, extender in endpoint.extenders.items():
            yield f"{name}.{member}", extender


def _moved_endpoints(pairs: list[tuple[d.Resource, d.Resource]]) -> dict[tuple[str, str], tuple[str, str]]:
    """Endpoints of one's own that stand in another resource now, with the same method and path."""
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
