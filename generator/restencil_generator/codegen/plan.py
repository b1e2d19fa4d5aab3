"""The plan of a package: its modules with their contents, names and imports.

Templates render the plan (`context`). The modules of a package: `__init__`, which imports the others on first use; one
per resource, named by its key, with the resource's class, its entity and their TypedDicts; `_client`, `_enums`,
`_objects`, `_errors`; `_entities` for entities that several resources share.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeVar

from restencil_generator.codegen.annotations import object_types
from restencil_generator.codegen.client_args import client_parameters, params_of, servers_of
from restencil_generator.codegen.client_auth import auth_of
from restencil_generator.codegen.context import (
    ClientArguments,
    ClientClass,
    ClientMember,
    Clients,
    Constant,
    EnumAlias,
    ErrorClass,
    Import,
    Module,
    Parameter,
    RecordClass,
    TypedDictClass,
)
from restencil_generator.codegen.docstrings import partial_body, usages
from restencil_generator.codegen.endpoint_options import error_table, sibling_module
from restencil_generator.codegen.header import HEADER
from restencil_generator.codegen.imports import (
    CLIENT,
    ENTITIES,
    ENUMS,
    ERRORS,
    OBJECTS,
    EntityModules,
    Scope,
    module_of,
)
from restencil_generator.codegen.pyexpr import call, comment, imported, literal, natural, pair, string, table
from restencil_generator.codegen.record_classes import (
    body_dict,
    by_default,
    entity_dicts,
    field_dicts,
    plan_entities,
    plan_objects,
    typed_dict,
)
from restencil_generator.codegen.resource_class import body_types, plan_resource, result_types
from restencil_generator.spec import model as d
from restencil_generator.spec.error_classes import BASE, CLASSES, reason_phrase, shapes

_REACH: Final = 50
"""Maximum number of entity TypedDicts that a body may refer to, directly or indirectly."""


def plan(spec: d.Spec) -> list[Module]:
    """Return the modules of the package, by path."""
    return _Plan(spec).modules()


class _Plan:
    def __init__(self, spec: d.Spec) -> None:
        self.spec = spec
        self.entity_modules = EntityModules(spec, _modules_of_entities(spec), _nested(spec))
        self.exports: dict[str, list[str]] = {}
        self.residents: dict[str, list[d.Entity]] = {}
        for name, module in self.entity_modules.entities.items():
            self.residents.setdefault(module, []).append(spec.entities[name])

    def modules(self) -> list[Module]:
        spec = self.spec
        made = [self.resource(resource) for resource in spec.resources.values()]
        if ENTITIES in self.residents:
            made.append(self.entities(self.residents[ENTITIES]))
        if spec.objects:
            made.append(self.objects())
        if spec.enums:
            made.append(self.enums())
        if spec.has_errors:
            made.append(self.errors())
        made.append(self.clients())
        made.append(self.package())
        return sorted(made, key=lambda module: module.path)

    # -------------------------------------------------------------------------------------------------------- modules

    def resource(self, resource: d.Resource) -> Module:
        module = module_of(resource)
        own = self.residents.get(module, [])
        results, bodies = result_types(resource), body_types(resource)
        scope = self._scope(module, own, [*results, *bodies], endpoints=resource.endpoints.values())
        records = plan_entities(own, scope)
        partial, used = partial_body(resource), usages(resource) if results or bodies else {}
        typed_dicts = [
            *entity_dicts(own, scope),
            *(typed_dict(one, scope, used[one.name], body=True, partial=one.name == partial) for one in bodies),
            *(typed_dict(one, scope, used[one.name]) for one in results),
        ]
        planned = plan_resource(resource, scope)
        made = self._module(scope, "resource.py.jinja", records, typed_dicts, [resource.class_name])
        return dataclasses.replace(made, resource=planned)

    def entities(self, entities: Sequence[d.Entity]) -> Module:
        scope = self._scope(ENTITIES, entities, ())
        records = plan_entities(entities, scope)
        return self._module(scope, "entities.py.jinja", records, entity_dicts(entities, scope))

    def objects(self) -> Module:
        objects = by_default(self.spec.objects)
        inner = [found for one in objects for field in one.fields for found in object_types(field.type)]
        scope = self._scope(OBJECTS, (), inner, objects=objects)
        records = plan_objects(self.spec.objects, scope)
        typed_dicts = [found for one in objects for found in field_dicts(one.name, one.fields, scope)]
        typed_dicts += [body_dict(one.body_name, one.name, one.fields, scope) for one in objects if one.body_name]
        return self._module(scope, "objects.py.jinja", records, typed_dicts)

    def enums(self) -> Module:
        scope = Scope(ENUMS, self.entity_modules, ())
        found: list[EnumAlias] = []
        for one in self.spec.enums.values():
            values = ", ".join(literal(member.value) for member in one.members)
            constants = tuple(
                Constant(member.constant, scope.typing("Final"), literal(member.value))
                for member in one.members
                if member.constant is not None
            )
            alias = f"{scope.typing('Literal')}[{values}]"
            found.append(EnumAlias(one.name, scope.typing("TypeAlias"), alias, constants))
        names = [name for one in found for name in (one.name, *(constant.name for constant in one.constants))]
        return dataclasses.replace(self._module(scope, "enums.py.jinja", names=names), enums=tuple(found))

    def errors(self) -> Module:
        """Return the module of error classes: a base for all, and one for each status with a runtime class."""
        scope = Scope(ERRORS, self.entity_modules, ("data",))
        kinds = {name: _error_kinds(self.spec, statuses) for name, statuses in CLASSES.items()}
        every = {*kinds.values(), _error_kinds(self.spec, range(300, 600))}
        alike = every.pop() if len(every) == 1 else ()
        found = [ErrorClass(BASE, (scope.restencil(BASE),), _error_data(alike, scope))]
        for name, statuses in CLASSES.items():
            first, last = statuses[0], statuses[-1]
            phrase = reason_phrase(first) if first == last else ""
            bases = (BASE, scope.restencil(name))
            data = _error_data(() if alike else kinds[name], scope)
            found.append(ErrorClass(name, bases, data, first, last, phrase))
        made = self._module(scope, "errors.py.jinja", names=[BASE, *CLASSES])
        return dataclasses.replace(made, errors=tuple(found))

    def clients(self) -> Module:
        spec = self.spec
        scope = Scope(CLIENT, self.entity_modules, [resource.python for resource in spec.resources.values()])
        controller = scope.restencil("ControllerType")
        members = tuple(
            ClientMember(
                resource.python,
                f"{scope.sibling(module_of(resource), resource.class_name)}[{controller}]",
                call(scope.restencil("lazy_resource"), [*map(string, _lazily(resource))]),
                resource.description.strip(),
                resource.deprecated,
            )
            for resource in spec.resources.values()
        )
        host = "_Resources"
        classes: list[ClientClass] = []
        for name, base in ((spec.client, "Controller"), (spec.async_client, "AsyncController")):
            controller_class = scope.restencil(base)
            options = "ClientOptions" if base == "Controller" else "AsyncClientOptions"
            bases = (f"{host}[{controller_class}]", controller_class)
            classes.append(ClientClass(name, bases, self._arguments(scope, options)))
        api = call(scope.restencil("Api"), (), self._api(scope))
        clients = Clients(api, host, (f"{scope.typing('Generic')}[{controller}]",), members, tuple(classes))
        if any(client.arguments is not None for client in classes):
            scope.typing("TYPE_CHECKING")
        made = self._module(scope, "client.py.jinja", names=(spec.client, spec.async_client))
        return dataclasses.replace(made, clients=clients, type_checking=scope.typing("TYPE_CHECKING"))

    def _arguments(self, scope: Scope, options: str) -> ClientArguments | None:
        """Return the client arguments that are specific to the spec; None if there are none."""
        auth = self.spec.auth
        own = [
            Parameter(scheme.name, f"{scope.restencil('OAuth2' if scheme.oauth2 else 'Token')} | None", "None")
            for scheme in (auth.schemes if auth is not None and not auth.short else ())
        ]
        parameters = list(client_parameters(self.spec, scope))
        if parameters and auth is not None and auth.short:
            own.append(Parameter("token", f"{scope.restencil('Token')} | None", "None"))
        own += parameters
        if not own:
            return None
        unpacked = f"{scope.typing('Unpack')}[{scope.restencil(options)}]"
        return ClientArguments(f"{scope.restencil('Store')} | None", tuple(own), unpacked)

    def package(self) -> Module:
        every = sorted((name for names in self.exports.values() for name in names), key=natural)
        # An imported module of the package becomes an attribute of it, and so a name in this module.
        scope = Scope("__init__", self.entity_modules, self.exports)
        modules = sorted((module for module, names in self.exports.items() if names), key=natural)
        exported = {string(one): pair(map(string, sorted(self.exports[one], key=natural))) for one in modules}
        reasons = table({string(name): string(reason) for name, reason in self._deprecated()})
        options = {} if reasons == "{}" else {"deprecated": reasons}
        setup = call(scope.restencil("lazy_package"), ["__name__", table(exported)], options)
        type_checking = scope.typing("TYPE_CHECKING")
        return dataclasses.replace(
            self._module(scope, "init.py.jinja"),
            type_imports=tuple(
                Import(f".{module}", tuple((name, None) for name in sorted(self.exports[module], key=imported)))
                for module in modules
            ),
            type_checking=type_checking,
            exports=tuple(every),
            setup=setup,
        )

    def _deprecated(self) -> list[tuple[str, str]]:
        """Return the deprecated names, each with the reason (or empty)."""
        found: dict[str, str | None] = {entity.name: entity.deprecated for entity in self.spec.entities.values()}
        found |= {resource.class_name: resource.deprecated for resource in self.spec.resources.values()}
        return [
            (name, reason)
            for name, reason in sorted(found.items(), key=lambda pair: natural(pair[0]))
            if reason is not None
        ]

    def _api(self, scope: Scope) -> dict[str, str]:
        spec = self.spec
        own = _own_prefixes(spec)
        found: dict[str, str | None] = {
            "url_prefix": string(spec.url_prefix) if spec.url_prefix else None,
            "auth": None if spec.auth is None else auth_of(spec.auth, scope),
            "version": string(spec.version) if spec.version else None,
            "user_agent": None if spec.user_agent is None else string(spec.user_agent) if spec.user_agent else "False",
            "request_id": string(spec.request_id) if spec.request_id else None,
            "inert_headers": pair(map(string, spec.inert_headers)) if spec.inert_headers else None,
            "params": params_of(spec, scope),
            "servers": servers_of(spec, scope),
            "url_prefixes": pair(map(string, own)) if own else None,
            "redirects": table({string("cross_origin_body"): "True"}) if spec.cross_origin_body else None,
            "errors": error_table(spec.errors, scope) if spec.errors else None,
            "error_classes": sibling_module(ERRORS) if spec.has_errors else None,
        }
        return {name: value for name, value in found.items() if value is not None}

    def _module(
        self,
        scope: Scope,
        template: str,
        records: Iterable[RecordClass] = (),
        typed_dicts: Iterable[TypedDictClass] = (),
        names: Iterable[str] = (),
    ) -> Module:
        records, typed_dicts = tuple(records), tuple({one.name: one for one in typed_dicts}.values())
        classes: tuple[RecordClass | TypedDictClass, ...] = (*records, *typed_dicts)
        exported = list(dict.fromkeys([*(one.name for one in classes), *names]))
        if exported:
            self.exports[scope.module] = exported
        type_imports = scope.type_imports()
        type_checking = scope.typing("TYPE_CHECKING") if type_imports else ""
        return Module(
            f"{scope.module}.py",
            template,
            f"{HEADER}{comment(self.spec.file)}; do not edit.",
            "\n\n".join(part for part in (self.spec.title, self.spec.description.strip()) if part),
            scope.imports(),
            type_imports,
            type_checking,
            tuple(sorted(exported, key=natural)),
            records=tuple(_with_alias(one, scope) for one in records),
            typed_dicts=tuple(_with_alias(one, scope) for one in typed_dicts),
        )

    def _scope(
        self,
        module: str,
        entities: Iterable[d.Entity],
        types: Iterable[d.ObjectType],
        *,
        objects: Iterable[d.Object] = (),
        endpoints: Iterable[d.Endpoint] = (),
    ) -> Scope:
        members = {endpoint.python for endpoint in endpoints}
        for entity in entities:
            members.update(field.python for field in entity.all_fields)
            types = [*types, *(inner for field in entity.fields for inner in object_types(field.type))]
        for one in objects:
            members.update(field.python for field in one.fields)
        for type in types:
            members.update(member.python for member in type.members)
        return Scope(module, self.entity_modules, members)


# ------------------------------------------------------------------------------------------------------------- helpers


def _modules_of_entities(spec: d.Spec) -> dict[str, str]:
    """Return the module of each entity: that of its only resource; entities that extend one another stay together."""
    family = {entity.extends for entity in spec.entities.values() if entity.extends is not None}
    family |= {entity.name for entity in spec.entities.values() if entity.extends is not None}
    owners: dict[str, list[str]] = {}
    for resource in spec.resources.values():
        if isinstance(resource.schema, d.EntityRef):
            owners.setdefault(resource.schema.name, []).append(module_of(resource))
    found: dict[str, str] = {}
    for name, entity in spec.entities.items():
        mine = owners.get(name, [])
        declared = module_of(spec.resources[entity.resource]) if entity.resource is not None else None
        alone = declared or (mine[0] if len(mine) == 1 else None)
        found[name] = alone if alone is not None and name not in family else ENTITIES
    return found


def _error_kinds(spec: d.Spec, statuses: range) -> tuple[str, ...]:
    """Return the objects in error bodies with these statuses; the last one is "" for any other body."""
    known = set(shapes(spec, statuses))
    names = sorted({name for shape in known for name in shape}, key=natural)
    return (*names, "") if names and () in known else tuple(names)


def _error_data(kinds: tuple[str, ...], scope: Scope) -> str:
    """Return the type of `data` for such errors; empty if it is unknown."""
    types = [scope.sibling(OBJECTS, name) if name else scope.typing("Any") for name in kinds]
    return " | ".join((*types, "None")) if types else ""


def _own_prefixes(spec: d.Spec) -> list[str]:
    """Return the URL prefixes of single endpoints that differ from that of the spec."""
    prefixes = {one.url_prefix for resource in spec.resources.values() for _, one in resource.all_endpoints()}
    return sorted(prefixes - {spec.url_prefix, ""})


def _nested(spec: d.Spec) -> frozenset[str]:
    """Return the entities whose bodies refer to at most `_REACH` others.

    Type checkers expand nested TypedDicts completely, and fail if some hundred refer to each other.
    """
    inner = {
        name: {
            part
            for field in entity.all_fields
            if field.is_sent and not field.sends_key
            for part in d.entities_in(field.type)
        }
        for name, entity in spec.entities.items()
    }
    return frozenset(name for name in inner if _reaches(name, inner, _REACH))


def _reaches(name: str, inner: Mapping[str, set[str]], most: int) -> bool:
    """Return whether at most `most` names can be reached from a name."""
    found, waiting = {name}, [name]
    while waiting and len(found) <= most:
        new = inner.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return len(found) <= most


_Class = TypeVar("_Class", RecordClass, TypedDictClass)


def _with_alias(found: _Class, scope: Scope) -> _Class:
    return dataclasses.replace(found, alias=f"_{found.name}") if scope.is_hidden(found.name) else found


def _lazily(resource: d.Resource) -> list[str]:
    """Return the reference of a resource for its client, and the path of its `get`, if it has one with parameters."""
    get = resource.endpoints.get("get")
    path = [get.path.text] if get is not None and get.path.parameters else []
    return [f".{module_of(resource)}:{resource.class_name}", *path]
