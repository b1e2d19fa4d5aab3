"""Every decision about a package: its modules, what stands in each, in which order, under which names, with which
imports.

Nothing here knows about lines and columns (`layout`, and the templates, do), and nothing after it decides anything.

The modules of a package: `__init__`, which imports the others when they are needed; one per resource, named by its key,
with the resource's class, its entity and their TypedDicts; `_client`, `_enums`, `_objects`, `_errors`;
`_entities` for entities that are of no one resource.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Final, TypeVar

from restencil_generator.codegen.annotations import annotation, body_annotation, field_annotation, object_types
from restencil_generator.codegen.client_args import client_parameters, params_of, servers_of
from restencil_generator.codegen.client_auth import auth_of
from restencil_generator.codegen.docstrings import (
    note_of,
    partial_body,
    place_of,
    share_of,
    type_docs,
    with_deprecation,
)
from restencil_generator.codegen.endpoint_options import error_table, sibling_module
from restencil_generator.codegen.header import HEADER
from restencil_generator.codegen.imports import (
    CLIENT,
    ENTITIES,
    ENUMS,
    ERRORS,
    OBJECTS,
    EntityModules,
    Import,
    Scope,
    module_of,
)
from restencil_generator.codegen.json_values import default
from restencil_generator.codegen.pyexpr import (
    Call,
    Expression,
    Items,
    Parameter,
    Table,
    comment,
    imported,
    items,
    literal,
    natural,
    pair,
    string,
)
from restencil_generator.codegen.resource_class import ResourceClass, body_types, plan_resource, result_types
from restencil_generator.codegen.runtime_schemas import schema_of
from restencil_generator.exceptions import Failure
from restencil_generator.spec import model as d
from restencil_generator.spec.error_classes import BASE, CLASSES, shapes
from restencil_generator.spec.names import python_name
from restencil_generator.spec.type_info import python_path
from restencil_generator.spec.validate_value import objects_in

CONTEXT_VERSION: Final = 2
"""The version of what templates get (`Module` and all inside it). It grows when something is renamed or removed."""

_REACH: Final = 50
"""How many TypedDicts of entities a body may lead to, whether it holds them itself or one in it does."""

_STUBS: Final = ('# mypy: disable-error-code="empty-body"', "# ruff: noqa: PIE790, RUF100")
"""What lets the bodies of methods be `...`: no one runs them, and type checkers read the signatures above.

pyright takes `...` for what it is. mypy would miss a return statement, and ruff finds `...` needless below a docstring
(RUF100 is for those whose ruff does not).
"""

_LAZY: Final = ("# ruff: noqa: RUF100, TC004",)
"""What lets `__all__` name what is imported for type checkers alone: at run time the call at the end provides it."""

_OPEN_ENUM: Final = "One of the known values. Another one that the server sends is kept as it came."


@dataclasses.dataclass(frozen=True, slots=True)
class RecordField:
    """A field of an entity or object: `name: type = default`, and its docstring (or empty)."""

    name: str
    type: str
    default: Expression
    doc: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Validator:
    """The `validate` of an entity: its decorator, the types of record and answer, and the function to call."""

    decorator: str
    record: str
    answer: str
    call: Call


@dataclasses.dataclass(frozen=True, slots=True)
class RecordClass:
    """An entity or a plain nested object."""

    name: str
    bases: tuple[str, ...]
    keywords: tuple[tuple[str, Expression], ...]
    doc: str
    fields: tuple[RecordField, ...]
    validator: Validator | None = None
    alias: str = ""
    """Another name, for use where a member of the same name hides the class; or empty."""


@dataclasses.dataclass(frozen=True, slots=True)
class TypedDictClass:
    """A TypedDict: the members of an object, or what a body takes. `keywords` holds `total` where it is false."""

    name: str
    bases: tuple[str, ...]
    keywords: tuple[tuple[str, Expression], ...]
    doc: str
    members: tuple[tuple[str, str], ...]
    notes: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])
    """Docstrings of members, by their names."""
    alias: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class ErrorClass:
    """An error of the package: what it is derived from, and the type of its `data` (or empty)."""

    name: str
    bases: tuple[str, ...]
    keywords: tuple[tuple[str, Expression], ...]
    doc: str
    data: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Constant:
    """`name: type = value`, and a docstring (or empty)."""

    name: str
    type: str
    value: Expression
    doc: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class ClientMember:
    """A resource of a client: the attribute, its type, what makes it, and its docstring (or empty)."""

    name: str
    type: str
    value: Expression
    doc: str


@dataclasses.dataclass(frozen=True, slots=True)
class ClientArguments:
    """What a client takes whose spec has arguments of its own, for type checkers: those, and the `options` of all."""

    store: str
    own: tuple[Parameter, ...]
    options: str


@dataclasses.dataclass(frozen=True, slots=True)
class ClientClass:
    """A client, or the resources that hang on each of them. `api` (or empty) is what its `_api` is set to.

    `arguments` is none where the client takes what all clients do.
    """

    name: str
    bases: tuple[str, ...]
    doc: str
    api: str = ""
    members: tuple[ClientMember, ...] = ()
    keywords: tuple[tuple[str, Expression], ...] = ()
    arguments: ClientArguments | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Module:
    """One file: which template, and what it is made of. Parts that a module does not have are empty."""

    path: str
    template: str
    header: str
    doc: str
    directives: tuple[str, ...] = ()
    """Comments below the header that are for tools."""
    imports: tuple[tuple[Import, ...], ...] = ()
    type_imports: tuple[Import, ...] = ()
    type_checking: str = ""
    exports: Items | None = None
    constants: tuple[Constant, ...] = ()
    records: tuple[RecordClass, ...] = ()
    typed_dicts: tuple[TypedDictClass, ...] = ()
    errors: tuple[ErrorClass, ...] = ()
    resource: ResourceClass | None = None
    clients: tuple[ClientClass, ...] = ()
    setup: Call | None = None
    """A call at the end of the module that makes it what it is."""


def plan(spec: d.Spec) -> list[Module]:
    """The modules of the package, by path."""
    return _Plan(spec).modules()


def entity_modules(spec: d.Spec) -> EntityModules:
    """The modules that entities are in."""
    return EntityModules(spec, _homes(spec), _nested(spec))


class _Plan:
    def __init__(self, spec: d.Spec) -> None:
        self.spec = spec
        self.homes = entity_modules(spec)
        self.exports: dict[str, list[str]] = {}
        self.residents: dict[str, list[d.Entity]] = {}
        for name, home in self.homes.entities.items():
            self.residents.setdefault(home, []).append(spec.entities[name])

    def modules(self) -> list[Module]:
        spec = self.spec
        _check_modules(spec)
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
        records = self._records(own, scope)
        typed_dicts = self._entity_dicts(own, scope)
        partial, docs = partial_body(resource), type_docs(resource)
        typed_dicts += [
            self._typed_dict(found, scope, docs[found.name], body=True, partial=found.name == partial)
            for found in bodies
        ]
        typed_dicts += [self._typed_dict(found, scope, docs[found.name]) for found in results]
        planned = plan_resource(resource, scope)
        names = [*(entity.name for entity in own), *(found.name for found in typed_dicts), resource.class_name]
        made = self._module(
            scope,
            "resource.py.jinja",
            f"What there is at `{place_of(resource)}`, and the types of what is sent and received.",
            names,
            records=tuple(records),
            typed_dicts=tuple(_once(typed_dicts)),
        )
        return dataclasses.replace(made, resource=planned, directives=_STUBS)

    def entities(self, entities: Sequence[d.Entity]) -> Module:
        scope = self._scope(ENTITIES, entities, ())
        records = self._records(entities, scope)
        typed_dicts = self._entity_dicts(entities, scope)
        names = [*(record.name for record in records), *(found.name for found in typed_dicts)]
        return self._module(
            scope,
            "records.py.jinja",
            "The entities that are not of one resource alone.",
            names,
            records=tuple(records),
            typed_dicts=tuple(typed_dicts),
        )

    def objects(self) -> Module:
        objects = _by_default(self.spec.objects)
        inner = [found for one in objects for found in _inner_types(one.name, one.fields)]
        scope = self._scope(OBJECTS, (), [found for found, _ in inner], objects=objects)
        records: list[RecordClass] = []
        for one in objects:
            fields = tuple(self._field(field, scope, None) for field in one.fields if not field.write_only)
            keywords = (*_read_only(one.fields, ()), *self._only_sent(one.fields, scope))
            records.append(RecordClass(one.name, (scope.restencil("Record"),), keywords, "", fields))
            scope.defined.add(one.name)
        typed_dicts = [self._typed_dict(found, scope, doc) for found, doc in inner]
        typed_dicts += [self._body_dict(one.body_name, one.name, one.fields, scope) for one in objects if one.body_name]
        names = [*(record.name for record in records), *(found.name for found in typed_dicts)]
        return self._module(
            scope,
            "records.py.jinja",
            "Plain values without an identity of their own.",
            names,
            records=tuple(records),
            typed_dicts=tuple(_once(typed_dicts)),
        )

    def enums(self) -> Module:
        enums = list(self.spec.enums.values())
        scope = Scope(ENUMS, self.homes, ())
        found: list[Constant] = []
        for one in enums:
            values = Items(tuple(literal(member.value) for member in one.members), scope.typing("Literal"))
            found.append(Constant(one.name, scope.typing("TypeAlias"), values, _OPEN_ENUM))
            found += [
                Constant(member.constant, scope.typing("Final"), literal(member.value))
                for member in one.members
                if member.constant is not None
            ]
        names = [constant.name for constant in found]
        return self._module(scope, "enums.py.jinja", "Known values of fields.", names, constants=tuple(found))

    def errors(self) -> Module:
        """The classes of errors: one for what they all are, and one for each status that the runtime has one for."""
        scope = Scope(ERRORS, self.homes, ("data",))
        data = {name: _error_data(self.spec, statuses, scope) for name, statuses in CLASSES.items()}
        every = {*data.values(), _error_data(self.spec, range(300, 600), scope)}
        alike = every.pop() if len(every) == 1 else ""
        found = [ErrorClass(BASE, (scope.restencil(BASE),), (), "The server answered with an error.", alike)]
        for name, statuses in CLASSES.items():
            found.append(
                ErrorClass(name, (BASE, scope.restencil(name)), (), _error_doc(statuses), "" if alike else data[name])
            )
        made = self._module(
            scope, "errors.py.jinja", "What calls raise where the server answers with an error.", [BASE, *CLASSES]
        )
        return dataclasses.replace(made, errors=tuple(found))

    def clients(self) -> Module:
        spec = self.spec
        scope = Scope(CLIENT, self.homes, [resource.python for resource in spec.resources.values()])
        controller = scope.restencil("ControllerType")
        members = tuple(
            ClientMember(
                resource.python,
                f"{scope.sibling(module_of(resource), resource.class_name)}[{controller}]",
                Call(scope.restencil("lazy_resource"), (string(f".{module_of(resource)}:{resource.class_name}"),)),
                with_deprecation(resource.description.strip(), resource.deprecated).strip(),
            )
            for resource in spec.resources.values()
        )
        host = ClientClass(
            "_Resources",
            (f"{scope.typing('Generic')}[{controller}]",),
            "The resources of a client, each imported and made when it is first used.",
            members=members,
        )
        clients = [host]
        for name, base in ((spec.client, "Controller"), (spec.async_client, "AsyncController")):
            world = scope.restencil(base)
            options = "ClientOptions" if base == "Controller" else "AsyncClientOptions"
            arguments = self._arguments(scope, options)
            clients.append(
                ClientClass(name, (f"{host.name}[{world}]", world), self._title(), "_API", arguments=arguments)
            )
        api = Constant("_API", "", Call(scope.restencil("Api"), (), self._api(scope)))
        made = self._module(scope, "client.py.jinja", "The clients: one that waits, and one to be awaited.", [])
        names = sorted((spec.client, spec.async_client), key=natural)
        has_arguments = any(client.arguments is not None for client in clients)
        return dataclasses.replace(
            made,
            constants=(api,),
            clients=tuple(clients),
            exports=items([string(name) for name in names]),
            type_checking=scope.typing("TYPE_CHECKING") if has_arguments else made.type_checking,
            imports=scope.imports(),
        )

    def _arguments(self, scope: Scope, options: str) -> ClientArguments | None:
        """The arguments that the clients of this spec have beside those of all; None where there are none."""
        auth = self.spec.auth
        own = [
            Parameter(scheme.name, f"{scope.restencil('OAuth2' if scheme.oauth2 else 'Token')} | None", "None")
            for scheme in (auth.schemes if auth is not None and not auth.short else ())
        ]
        told = list(client_parameters(self.spec, scope))
        if told and auth is not None and auth.short:
            own.append(Parameter("token", f"{scope.restencil('Token')} | None", "None"))
        own += told
        if not own:
            return None
        unpacked = f"{scope.typing('Unpack')}[{scope.restencil(options)}]"
        return ClientArguments(f"{scope.restencil('Store')} | None", tuple(own), unpacked)

    def package(self) -> Module:
        spec = self.spec
        self.exports[CLIENT] = [spec.client, spec.async_client]
        every = sorted((name for names in self.exports.values() for name in names), key=natural)
        # An imported module of the package is an attribute of it, and so a name in this module.
        scope = Scope("__init__", self.homes, self.exports)
        modules = sorted((module for module, names in self.exports.items() if names), key=natural)
        exported = ((module, sorted(self.exports[module], key=natural)) for module in modules)
        table = Table(tuple((string(module), pair(list(map(string, names)))) for module, names in exported))
        reasons = Table(tuple((string(name), string(reason)) for name, reason in self._deprecated()))
        setup = Call(
            scope.restencil("lazy_package"),
            ("__name__", table),
            (("deprecated", reasons),) if reasons.pairs else (),
        )
        type_checking = scope.typing("TYPE_CHECKING")
        return dataclasses.replace(
            self._module(scope, "init.py.jinja", self._title(), []),
            directives=_LAZY,
            type_imports=tuple(
                Import(f".{module}", tuple((name, None) for name in sorted(self.exports[module], key=imported)))
                for module in modules
            ),
            type_checking=type_checking,
            exports=items([string(name) for name in every]),
            setup=setup,
        )

    def _title(self) -> str:
        """What the spec says of the whole API; or nothing."""
        return "\n\n".join(part for part in (self.spec.title, self.spec.description.strip()) if part)

    def _deprecated(self) -> list[tuple[str, str]]:
        """Names whose use is to be warned of, with the reason (or empty)."""
        found: dict[str, str | None] = {entity.name: entity.deprecated for entity in self.spec.entities.values()}
        found |= {resource.class_name: resource.deprecated for resource in self.spec.resources.values()}
        return [
            (name, reason)
            for name, reason in sorted(found.items(), key=lambda pair: natural(pair[0]))
            if reason is not None
        ]

    def _api(self, scope: Scope) -> tuple[tuple[str, Expression], ...]:
        spec = self.spec
        found: list[tuple[str, Expression]] = []
        if spec.url_prefix:
            found.append(("url_prefix", string(spec.url_prefix)))
        if spec.auth is not None:
            found.append(("auth", auth_of(spec.auth, scope)))
        if spec.version:
            found.append(("version", string(spec.version)))
        if spec.user_agent is not None:
            found.append(("user_agent", string(spec.user_agent) if spec.user_agent else "False"))
        if spec.request_id:
            found.append(("request_id", string(spec.request_id)))
        if spec.inert_headers:
            found.append(("inert_headers", pair(list(map(string, spec.inert_headers)))))
        given = ("params", params_of(spec, scope)), ("servers", servers_of(spec, scope))
        found += [(name, value) for name, value in given if value is not None]
        if own := _own_prefixes(spec):
            found.append(("url_prefixes", pair(list(map(string, own)))))
        if spec.cross_origin_body:
            found.append(("redirects", Table(((string("cross_origin_body"), "True"),))))
        if spec.errors:
            found.append(("errors", error_table(spec.errors, scope, lazily=True)))
        if spec.has_errors:
            found.append(("error_classes", sibling_module(ERRORS)))
        return tuple(found)

    def _module(
        self,
        scope: Scope,
        template: str,
        doc: str,
        names: Sequence[str],
        *,
        constants: tuple[Constant, ...] = (),
        records: tuple[RecordClass, ...] = (),
        typed_dicts: tuple[TypedDictClass, ...] = (),
    ) -> Module:
        if names:
            self.exports[scope.module] = list(dict.fromkeys(names))
        type_imports = scope.type_imports()
        return Module(
            f"{scope.module}.py",
            template,
            f"{HEADER}{comment(self.spec.file)}; do not edit.",
            doc,
            type_checking=scope.typing("TYPE_CHECKING") if type_imports else "",
            imports=scope.imports(),
            type_imports=type_imports,
            exports=items([string(name) for name in sorted(set(names), key=natural)]) if names else None,
            constants=constants,
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
        return Scope(module, self.homes, members)

    # -------------------------------------------------------------------------------------------------------- classes

    def _records(self, entities: Sequence[d.Entity], scope: Scope) -> list[RecordClass]:
        found: list[RecordClass] = []
        for entity in _by_inheritance(entities):
            found.append(self._entity(entity, scope))
            scope.defined.add(entity.name)
        return found

    def _entity(self, entity: d.Entity, scope: Scope) -> RecordClass:
        parent = None if entity.extends is None else self.spec.entities[entity.extends]
        base = scope.restencil("Entity") if parent is None else parent.name
        keywords: list[tuple[str, Expression]] = []
        if _states_key(entity, self.spec):
            keywords.append(("key", string(entity.key)))
        pk = [python_path(self.spec.objects, entity.all_fields, name) for name in entity.pk]
        if (pk or entity.pk_is_list) and _states_pk(entity, parent):
            keywords.append(("pk", items(list(map(string, pk))) if entity.pk_is_list else string(pk[0])))
        if entity.indexes != (parent.indexes if parent else ()):
            indexes = [field.python for name in entity.indexes if (field := entity.field(name)) is not None]
            keywords.append(("indexes", Items(tuple(map(string, indexes)), brackets="()")))
        if entity.abstract:
            keywords.append(("abstract", "True"))
        if entity.pk_optional and not (parent and parent.pk_optional):
            keywords.append(("pk_optional", "True"))
        if entity.persist is not None and entity.persist != self._inherited_persist(parent):
            keywords.append(("persist", literal(entity.persist)))
        keywords += _read_only(entity.all_fields, parent.all_fields if parent else ())
        keywords += self._only_sent(entity.fields, scope)
        fields = tuple(self._field(field, scope, entity) for field in entity.fields if not field.write_only)
        validator = None
        if entity.validate is not None and entity.validate != (parent.validate if parent else None):
            answer = f"{scope.builtin('str')} | None"
            validator = Validator(scope.builtin("classmethod"), scope.mapping(), answer, scope.hook(entity.validate))
        doc = with_deprecation(entity.description, entity.deprecated).strip()
        return RecordClass(entity.name, (base,), tuple(keywords), doc, fields, validator)

    def _inherited_persist(self, parent: d.Entity | None) -> bool | int:
        """What a class has of `persist` without being told."""
        while parent is not None and parent.persist is None:
            parent = None if parent.extends is None else self.spec.entities[parent.extends]
        return True if parent is None or parent.persist is None else parent.persist

    def _field(self, field: d.Field, scope: Scope, entity: d.Entity | None) -> RecordField:
        kind = annotation(field.type, scope)
        for name in _objects_in(field.type):
            # The annotation is what tells the runtime the conversion, so the class must be there when it is looked up.
            scope.sibling(OBJECTS, name, real=True)
        options: list[tuple[str, Expression]] = []
        schema = schema_of(field.type, scope, entity) if _has_entity(field.type) else None
        if schema is not None:
            options.append(("schema", schema))
        if field.wire != field.python:
            options.append(("wire", string(field.wire)))
        for name in ("decode", "encode"):
            reference: d.Reference | None = getattr(field, name)
            if reference is not None:
                options.append((name, scope.hook(reference)))
        if field.sends_key:
            options.append(("send", string("pk")))
        if field.format is not None:
            options.append(("format", string(field.format)))
        if field.param:
            options.append(("param", string(python_name(field.param, "parameter"))))
        if field.persist is not None:
            options.append(("persist", literal(field.persist)))
        given = self._default(field, scope)
        if given is None:
            value: Expression = Call(scope.restencil("field"), (), (*options, ("required", "True")))
        elif options or isinstance(given, Items | Table):
            # A bare list or dict reads as if all instances shared it.
            value = Call(scope.restencil("field"), (), (("default", given), *options))
        else:
            value = given
        return RecordField(field.python, kind, value, note_of(field))

    def _only_sent(self, fields: Iterable[d.Field], scope: Scope) -> list[tuple[str, Expression]]:
        """The class keyword for the fields that only bodies hold."""
        found: list[tuple[str, Expression]] = []
        for field in fields:
            if field.write_only:
                options: list[tuple[str, Expression]] = []
                schema = schema_of(field.type, scope) if field.encode is None and field.format is None else None
                if schema is not None:
                    options.append(("schema", schema))
                if field.wire != field.python:
                    options.append(("wire", string(field.wire)))
                if field.encode is not None:
                    options.append(("encode", scope.hook(field.encode)))
                if field.sends_key:
                    options.append(("send", string("pk")))
                if field.format is not None:
                    options.append(("format", string(field.format)))
                found.append((string(field.python), Call(scope.restencil("field"), (), tuple(options))))
        return [("write_only", Table(tuple(found)))] if found else []

    def _default(self, field: d.Field, scope: Scope) -> Expression | None:
        """The default of a field, None where it is required."""
        if field.default is d.MISSING:
            return "None" if isinstance(field.type, d.Optional) else None
        if isinstance(field.type, d.Const):
            return literal(field.type.value)
        return default(field.type, field.default, scope)

    def _entity_dicts(self, entities: Iterable[d.Entity], scope: Scope) -> list[TypedDictClass]:
        found: list[TypedDictClass] = []
        for entity in entities:
            found += [self._typed_dict(one, scope, doc) for one, doc in _inner_types(entity.name, entity.fields)]
            if entity.body_name:
                found.append(self._body_dict(entity.body_name, entity.name, entity.all_fields, scope))
            if entity.partial_body_name:
                name = entity.partial_body_name
                found.append(self._body_dict(name, entity.name, entity.all_fields, scope, partial=True))
        return found

    def _body_dict(
        self, name: str, of: str, fields: Iterable[d.Field], scope: Scope, *, partial: bool = False
    ) -> TypedDictClass:
        """The TypedDict of an entity's or object's fields in a body: what must be there is required, unless `partial`
        says otherwise; read-only ones are left out.
        """
        members: list[tuple[str, str]] = []
        must: list[str] = []
        for field in fields:
            if field.is_sent:
                text = field_annotation(field, scope)
                if field.must and not partial:
                    must.append(field.python)
                    text = f"{scope.typing('Required')}[{text}]"
                members.append((field.python, text))
        doc = f"What can be sent of `{of}`: {'any of these' if not must else 'these, of which some must be there'}."
        return TypedDictClass(name, (scope.typing("TypedDict"),), (("total", "False"),), doc, tuple(members))

    def _typed_dict(
        self, type: d.ObjectType, scope: Scope, doc: str, *, body: bool = False, partial: bool = False
    ) -> TypedDictClass:
        """The TypedDict of an object with named members; `partial`: a body that may lack any of them."""
        members: list[tuple[str, str]] = []
        for member in type.members:
            text = body_annotation(member.type, scope, nested=True) if body else annotation(member.type, scope)
            needed = member.required or partial
            members.append((member.python, text if needed else f"{scope.typing('NotRequired')}[{text}]"))
        keywords = (("total", "False"),) if partial else ()
        notes = {member.python: note for member in type.members if (note := note_of(member))}
        return TypedDictClass(type.name, (scope.typing("TypedDict"),), keywords, doc, tuple(members), notes)


# ------------------------------------------------------------------------------------------------------------- helpers


def _homes(spec: d.Spec) -> dict[str, str]:
    """The module of each entity: that of the one resource it belongs to; families of entities stay together."""
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


def _error_data(spec: d.Spec, statuses: range, scope: Scope) -> str:
    """The type of `data` of errors with these statuses; empty where nothing is known of it."""
    known = set(shapes(spec, statuses))
    names = sorted({name for shape in known for name in shape}, key=natural)
    if not names:
        return ""
    types = [scope.sibling(OBJECTS, name) for name in names]
    if () in known:
        types.append(scope.typing("Any"))
    return " | ".join((*types, "None"))


def _error_doc(statuses: range) -> str:
    first, last = statuses[0], statuses[-1]
    if first == last:
        return f"The server answered {first} {HTTPStatus(first).phrase}."
    return f"The server answered with a status from {first} to {last}."


def _own_prefixes(spec: d.Spec) -> list[str]:
    """The URL prefixes that single endpoints have in place of the spec's."""
    prefixes = {one.url_prefix for resource in spec.resources.values() for _, one in resource.all_endpoints()}
    return sorted(prefixes - {spec.url_prefix, ""})


def _nested(spec: d.Spec) -> frozenset[str]:
    """The entities whose bodies lead to no more than some others.

    Type checkers follow TypedDicts that hold TypedDicts to the end; in a tangle of some hundred they give up.
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
    """Whether no more than `most` names are reached from a name."""
    found, waiting = {name}, [name]
    while waiting and len(found) <= most:
        new = inner.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return len(found) <= most


def _check_modules(spec: d.Spec) -> None:
    """Raises where two things would be one attribute of the package, or one file."""
    seen: dict[str, str] = {}
    for resource in spec.resources.values():
        module = module_of(resource)
        if module in spec.namespace:
            raise Failure(
                f"{spec.file}: the resource '{resource.name}' and the {spec.namespace[module]} '{module}' would be one "
                "name of the package (a resource's module has its name in lower case); rename one of them"
            )
        if module in seen:
            raise Failure(
                f"{spec.file}: the resources '{seen[module]}' and '{resource.name}' would be one module of the "
                "package; rename one of them"
            )
        seen[module] = resource.name


def _by_inheritance(entities: Sequence[d.Entity]) -> list[d.Entity]:
    """The entities by name, each behind the one it extends."""
    known = {entity.name: entity for entity in entities}
    found: dict[str, d.Entity] = {}

    def add(entity: d.Entity) -> None:
        if entity.extends in known and entity.extends not in found:
            add(known[entity.extends])
        found[entity.name] = entity

    for entity in sorted(entities, key=lambda entity: entity.name):
        if entity.name not in found:
            add(entity)
    return list(found.values())


def _by_default(objects: Mapping[str, d.Object]) -> list[d.Object]:
    """The objects by name, each behind those that its defaults are made of."""
    found: dict[str, d.Object] = {}
    waiting: set[str] = set()

    def add(one: d.Object) -> None:
        waiting.add(one.name)
        for field in one.fields:
            for name in objects_in(objects, field.type, field.default):
                if name not in found and name not in waiting:
                    add(objects[name])
        found[one.name] = one

    for name in sorted(objects):
        if name not in found:
            add(objects[name])
    return list(found.values())


def _states_key(entity: d.Entity, spec: d.Spec) -> bool:
    """Whether the class must say its key: it is not what the class would have without a word."""
    if entity.key_written:
        return True
    inherited = entity.name
    above = entity.extends
    while above is not None:
        parent = spec.entities[above]
        if parent.key_written:
            inherited = parent.key
            break
        above = parent.extends
    return entity.key != inherited


def _read_only(fields: Iterable[d.Field], inherited: Iterable[d.Field]) -> list[tuple[str, Expression]]:
    """The class keyword for the fields that only the server sets, where the class above does not say the same."""
    names = tuple(field.python for field in fields if field.read_only)
    if names == tuple(field.python for field in inherited if field.read_only):
        return []
    return [("read_only", Items(tuple(map(string, names)), brackets="()"))]


def _states_pk(entity: d.Entity, parent: d.Entity | None) -> bool:
    before = (("id",), False) if parent is None or not parent.pk else (parent.pk, parent.pk_is_list)
    return (entity.pk, entity.pk_is_list) != before


def _has_entity(type: d.Type) -> bool:
    """Whether a field's type holds anything that its annotation alone does not tell the runtime."""
    match type:
        case d.EntityRef() | d.UnionOf() | d.OneOf() | d.CollectionOf() | d.AllOf() | d.QueryOf():
            return True
        case d.ObjectType() | d.InvalidateOf():
            return True
        case d.Optional(item) | d.ListOf(item) | d.ValuesOf(item):
            return _has_entity(item)
        case _:
            return False


def _objects_in(type: d.Type) -> list[str]:
    """The objects in a field's type."""
    match type:
        case d.ObjectRef(name):
            return [name]
        case d.Optional(item) | d.ListOf(item) | d.ValuesOf(item):
            return _objects_in(item)
        case d.OneOf(alternatives):
            return [name for one in alternatives for name in _objects_in(one)]
        case _:
            return []


_Class = TypeVar("_Class", RecordClass, TypedDictClass)


def _with_alias(found: _Class, scope: Scope) -> _Class:
    return dataclasses.replace(found, alias=f"_{found.name}") if scope.is_hidden(found.name) else found


def _inner_types(owner: str, fields: Iterable[d.Field]) -> Iterator[tuple[d.ObjectType, str]]:
    """The object types in the fields of an entity or object, each with its docstring."""
    for field in fields:
        for one in object_types(field.type):
            yield one, share_of(one, field.type, f"what `{field.python}` of `{owner}` holds.")


def _once(found: Iterable[TypedDictClass]) -> list[TypedDictClass]:
    return list({one.name: one for one in found}.values())
