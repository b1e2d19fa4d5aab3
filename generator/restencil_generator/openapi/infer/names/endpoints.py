"""Unique names of resources and endpoints."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from restencil_generator.openapi.document.model import Finding
from restencil_generator.openapi.infer.calls import Call
from restencil_generator.openapi.infer.names.inflection import plural, singular, snake_case, spelled
from restencil_generator.openapi.infer.names.types import first_free
from restencil_generator.openapi.infer.resources import Resource, all_calls
from restencil_generator.openapi.infer.routes import VERSION
from restencil_generator.spec import names as python


def name_resources(
    resources: list[Resource], given: Mapping[str, str], package: str
) -> tuple[list[Resource], list[Finding]]:
    """Name all resources. A group with the name of a resource becomes a part of it.

    `given` are the names of the last import, by identity. Returns the remaining resources, by name, and findings.
    """
    named = [resource for resource in resources if resource.kind != "group"]
    taken = _named(named, given)
    by_name = {resource.name: resource for resource in named}
    for group in (resource for resource in resources if resource.kind == "group"):
        name = given.get(group.identity) or group.name or package
        if name in by_name:
            by_name[name].own += group.own
            continue
        group.name = name
        by_name[name] = group
        taken.add(name)
    findings = [finding for resource in by_name.values() for finding in _freed(resource, taken, package)]
    return sorted(by_name.values(), key=lambda resource: resource.name), findings


def _freed(resource: Resource, taken: set[str], package: str) -> Iterator[Finding]:
    """Rename a resource whose name is a member of every client."""
    name = resource.name
    if python.python_name(name, "resource") not in python.CLIENT_MEMBERS:
        return
    call = next(iter(all_calls(resource)))
    tags = [snake_case(tag) for tag in call.operation.tags]
    candidates = [plural(name), *(f"{tag}_{name}" for tag in tags), f"{package}_{name}"]
    resource.name = first_free(candidates, lambda each: each not in python.CLIENT_MEMBERS and each not in taken)
    taken.add(resource.name)
    of = resource.label or f"path {call.operation.key}"
    yield Finding(
        "name-changed",
        f"'{name}' of {of.removeprefix('the ')} is a member of every client; the resource is called '{resource.name}'",
        call.operation.where,
        "note",
    )


# ----------------------------------------------------------------------------------------------------------- resources


def _named(resources: list[Resource], given: Mapping[str, str]) -> set[str]:
    """Name items and singletons: by literals, then versions, then parameters, then the whole path."""
    taken = {given[resource.identity] for resource in resources if resource.identity in given}
    for resource in resources:
        resource.name = given.get(resource.identity, "")
    shared = _shared_prefix(resources)
    pending = [resource for resource in resources if not resource.name]
    steps = {resource: _literal_names(resource, shared) for resource in pending}
    level = dict.fromkeys(pending, 0)

    def name(resource: Resource) -> str:
        return steps[resource][level[resource]]

    while clashes := _clashing(pending, name, taken):
        longer = [each for group in clashes for each in group if level[each] + 1 < len(steps[each])]
        # If one of them has nothing before its name, it gets the short name, and the others include their owners.
        if not longer:
            break
        for each in longer:
            level[each] += 1
    names = {resource: name(resource) for resource in pending}
    for lengthen in (_versions, _parameters, _spelled):
        for group in _clashing(pending, names.__getitem__, taken):
            names.update(lengthen(group, names[group[0]]))
    for resource in pending:
        resource.name = first_free([names[resource]], lambda each: each not in taken)
        taken.add(resource.name)
    return taken


def _literal_names(resource: Resource, shared: int) -> list[str]:
    assert resource.route is not None
    found = _literals(resource)[shared:] or _literals(resource)[-1:]
    if not found:
        call = next(iter(all_calls(resource)))
        tags = [snake_case(tag) for tag in call.operation.tags]
        return [*tags[:1], "items"]
    parts = [snake_case(part) for part in found]
    return [
        "_".join([*(singular(part) for part in parts[len(parts) - 1 - before : -1]), parts[-1]])
        for before in range(len(parts))
    ]


def _literals(resource: Resource) -> list[str]:
    """Return the literal segments of a resource's path, or of its list's path, without versions."""
    assert resource.route is not None
    parts = resource.route.list_parts if resource.kind == "item" else resource.route.parts
    kept = [part.partition(".")[0] or part for part in parts if "{}" not in part and not VERSION.match(part)]
    return [part for part in kept if snake_case(part, "")]


def _shared_prefix(resources: list[Resource]) -> int:
    """Return the number of literals that all paths begin with (`api`, `rest`)."""
    found = [_literals(resource) for resource in resources]
    if len(found) < 2:
        return 0
    shared = 0
    while all(len(each) > shared + 1 and each[shared] == found[0][shared] for each in found):
        shared += 1
    return shared


def _clashing(resources: list[Resource], name: Callable[[Resource], str], taken: set[str]) -> list[list[Resource]]:
    """Return the resources with a name that others have too, by name."""
    names: dict[str, list[Resource]] = {}
    for resource in resources:
        names.setdefault(name(resource), []).append(resource)
    return [group for key, group in names.items() if len(group) > 1 or key in taken]


def _versions(group: list[Resource], name: str) -> dict[Resource, str]:
    def version(resource: Resource) -> str:
        assert resource.route is not None
        return resource.route.version

    if len({version(each) for each in group}) < 2:
        return {}
    highest = max((version(each) for each in group), key=lambda text: [int(part) for part in re.findall(r"\d+", text)])
    return {each: f"{name}_{snake_case(version(each), 'unversioned')}" for each in group if version(each) != highest}


def _parameters(group: list[Resource], name: str) -> dict[Resource, str]:
    def parents(resource: Resource) -> tuple[str, ...]:
        assert resource.route is not None
        return resource.route.parameters[:-1] if resource.kind == "item" else resource.route.parameters

    if len(group) < 2:
        return {}
    fewest = min(len(parents(each)) for each in group)
    keeps = [each for each in group if len(parents(each)) == fewest]
    return {
        each: "_".join([name, "by", *map(snake_case, parents(each))])
        for each in group
        if parents(each) and not (len(keeps) == 1 and each is keeps[0])
    }


def _spelled(group: list[Resource], name: str) -> dict[Resource, str]:
    found: dict[Resource, str] = {}
    for each in group:
        assert each.route is not None
        literals = [part for part in each.route.parts if "{}" not in part]
        found[each] = "_".join(spelled(part) for part in literals) or name
    if len(set(found.values())) < len(found):
        found = {each: spelled(each.identity) for each in group}
    return found


# ----------------------------------------------------------------------------------------------------------- endpoints


def name_endpoints(resource: Resource, given: Mapping[str, str], operation_ids: set[str]) -> None:
    """Name the endpoints of a resource. `operation_ids` are the unique ones."""
    taken = {*resource.members, *python.RESOURCE_MEMBERS}
    if "push" in taken:
        taken |= {"create", "unshift", "assign", "get_page"}
    held = {given.get(identity_of(own.call, stream=own.stream), "") for own in resource.own}
    for own in resource.own:
        if own.name:
            taken.add(own.name)
            continue
        known = given.get(identity_of(own.call, stream=own.stream))
        others = taken | (held - {known})
        candidates = [known] if known else []
        base = base_name(own.call, resource, operation_ids)
        if own.stream:
            base = f"{base}_stream"
        elif own.call.operation.body is not None and own.call.operation.body.is_file:
            base = f"{base}_file"
        candidates += [base, *_longer(base, own.call)]
        own.name = first_free(candidates, partial(_is_free, others))
        taken.add(python.python_name(own.name, "endpoint"))


def _is_free(taken: set[str], name: str) -> bool:
    return python.python_name(name, "endpoint") not in taken


def identity_of(call: Call, *, stream: bool = False) -> str:
    """Return the identity of an endpoint across imports: its method and path."""
    form = " file" if call.operation.body is not None and call.operation.body.is_file else ""
    query = "&".join(f"{name}={value}" for name, value in call.operation.query)
    return f"{call.method} {call.operation.path}{'?' if query else ''}{query}{' stream' if stream else ''}{form}"


def base_name(call: Call, resource: Resource, operation_ids: set[str]) -> str:
    """Return the preferred name of an endpoint."""
    parts = call.route.parts
    last = parts[-1] if parts else ""
    dotted = "." in last.strip(".") and "{" not in last and not re.search(r"\.(json|xml|csv|txt|html)$", last)
    operation_id = call.operation.operation_id
    if dotted and resource.kind == "group":
        return snake_case(last.rpartition(".")[2])
    if operation_id and operation_id in operation_ids:
        return _without_resource(_cleaned(operation_id, call), resource)
    literals = [part for part in parts if "{}" not in part and not VERSION.match(part) and snake_case(part, "")]
    tail = last.partition("{}")[2].strip(":/") if "{}" in last else ""
    if tail and snake_case(tail, ""):
        return snake_case(tail)
    method = call.method.lower()
    name = snake_case(literals[-1].partition(".")[0] or literals[-1]) if literals else method
    own = [resource.name] if resource.route is None else map(snake_case, _literals(resource)[-1:])
    return f"{method}_{name}" if name in own and method != "get" else name  # `roles.roles` could be anything


def _cleaned(operation_id: str, call: Call) -> str:
    """Return an operationId without its tag, and without the path and method that frameworks append."""
    text = operation_id
    ending = re.sub(r"\W", "_", f"{call.operation.path}") + f"_{call.method.lower()}"
    if text.endswith(ending) and len(text) > len(ending):
        text = text.removesuffix(ending)
    for tag in call.operation.tags:
        head, sign, rest = _split(text)
        if sign and rest and snake_case(head) in (snake_case(tag), singular(snake_case(tag)), plural(snake_case(tag))):
            text = rest
            break
        whole = re.sub(r"\W", "_", tag)
        if text.lower().startswith(f"{whole.lower()}_") and len(text) > len(whole) + 1:
            text = text[len(whole) + 1 :]
            break
    return snake_case(text)


def _split(text: str) -> tuple[str, str, str]:
    found = re.match(r"([^/._]+)([/._])(.+)", text, re.DOTALL)
    return (found[1], found[2], found[3]) if found else (text, "", "")


def _without_resource(name: str, resource: Resource) -> str:
    """Return a name without the resource's name at its end, if one word is left."""
    for ending in (resource.name, singular(resource.name)):
        rest = name.removesuffix(f"_{ending}")
        if rest != name and len(rest.split("_")) == 1:
            return rest
    return name


def _longer(name: str, call: Call) -> Iterator[str]:
    method = call.method.lower()
    if snake_case(name).split("_")[0] != method:
        yield f"{method}_{name}"
    literals = [snake_case(part) for part in call.route.literals if snake_case(part, "")]
    for count in range(1, len(literals) + 1):
        tail = "_".join(literals[-count:])
        yield f"{method}_{tail}"
    parameters = "_".join(map(snake_case, call.route.parameters))
    query = "_".join(snake_case(value) for _, value in call.operation.query)
    if query:
        yield f"{name}_{query}"
    if parameters:
        yield f"{name}_by_{parameters}"
        yield f"{method}_{'_'.join(literals)}_by_{parameters}"
    yield f"{method}_{spelled(call.operation.path)}"


def once(ids: Iterable[str]) -> set[str]:
    """Return the strings that occur once."""
    return {each for each, count in Counter(ids).items() if count == 1}
