"""The classes of entities and objects, and the TypedDicts of bodies and results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from restencil_generator.codegen.annotations import annotation, body_annotation, field_annotation
from restencil_generator.codegen.context import Field, Key, RecordClass, TypedDictClass, Usage, Validator
from restencil_generator.codegen.docstrings import usages_of_fields
from restencil_generator.codegen.imports import OBJECTS, Scope
from restencil_generator.codegen.json_values import default
from restencil_generator.codegen.pyexpr import call, items, literal, pair, string, table
from restencil_generator.codegen.runtime_schemas import schema_of
from restencil_generator.spec import model as d
from restencil_generator.spec.names import python_name
from restencil_generator.spec.type_info import python_path
from restencil_generator.spec.validate_value import objects_in


def plan_entities(entities: Sequence[d.Entity], scope: Scope) -> tuple[RecordClass, ...]:
    """Return the classes of entities by name, each after its base class."""
    found: list[RecordClass] = []
    for entity in _by_inheritance(entities):
        found.append(_entity(entity, scope))
        scope.defined.add(entity.name)
    return tuple(found)


def plan_objects(objects: Mapping[str, d.Object], scope: Scope) -> tuple[RecordClass, ...]:
    """Return the classes of objects by name, each after those in its defaults."""
    found: list[RecordClass] = []
    for one in by_default(objects):
        fields = tuple(_field(field, scope, None) for field in one.fields if not field.write_only)
        options = _read_only(one.fields, ()) | _write_only(one.fields, scope)
        found.append(RecordClass(one.name, (scope.restencil("Record"),), options, fields))
        scope.defined.add(one.name)
    return tuple(found)


def _entity(entity: d.Entity, scope: Scope) -> RecordClass:
    spec = scope.spec
    parent = None if entity.extends is None else spec.entities[entity.extends]
    options: dict[str, str] = {}
    if _writes_key(entity, spec):
        options["key"] = string(entity.key)
    pk = [string(python_path(spec.objects, entity.all_fields, name)) for name in entity.pk]
    if (pk or entity.pk_is_list) and _writes_pk(entity, parent):
        options["pk"] = items(pk) if entity.pk_is_list else pk[0]
    if entity.indexes != (parent.indexes if parent else ()):
        indexes = [field.python for name in entity.indexes if (field := entity.field(name)) is not None]
        options["indexes"] = pair(map(string, indexes))
    if entity.abstract:
        options["abstract"] = "True"
    if entity.pk_optional and not (parent and parent.pk_optional):
        options["pk_optional"] = "True"
    if entity.persist is not None and entity.persist != _inherited_persist(parent, spec):
        options["persist"] = literal(entity.persist)
    options |= _read_only(entity.all_fields, parent.all_fields if parent else ())
    options |= _write_only(entity.fields, scope)
    fields = tuple(_field(field, scope, entity) for field in entity.fields if not field.write_only)
    validator = None
    if entity.validate is not None and entity.validate != (parent.validate if parent else None):
        returns = f"{scope.builtin('str')} | None"
        validator = Validator(scope.builtin("classmethod"), scope.mapping(), returns, scope.hook(entity.validate))
    base = scope.restencil("Entity") if parent is None else parent.name
    return RecordClass(entity.name, (base,), options, fields, validator, entity.description.strip(), entity.deprecated)


def _inherited_persist(parent: d.Entity | None, spec: d.Spec) -> bool | int:
    """Return the `persist` of a class that does not declare it."""
    while parent is not None and parent.persist is None:
        parent = None if parent.extends is None else spec.entities[parent.extends]
    return True if parent is None or parent.persist is None else parent.persist


def _field(field: d.Field, scope: Scope, entity: d.Entity | None) -> Field:
    type = annotation(field.type, scope)
    for part in d.walk(field.type):
        if isinstance(part, d.ObjectRef):
            # The runtime reads the conversion from the annotation, so the class must exist when the annotation is
            # evaluated.
            scope.sibling(OBJECTS, part.name, real=True)
    schema = schema_of(field.type, scope, entity) if _needs_schema(field.type) else None
    options = _field_options(field, scope, schema, ("decode", "encode"))
    if field.param:
        options["param"] = string(python_name(field.param, "parameter"))
    if field.persist is not None:
        options["persist"] = literal(field.persist)
    given = _default(field, scope)
    if given is None:
        value = call(scope.restencil("field"), (), {**options, "required": "True"})
    elif options or given[0] in "[{":
        # A bare list or dict would look shared by all instances.
        value = call(scope.restencil("field"), (), {"default": given, **options})
    else:
        value = given
    return Field(field.python, type, value, field.description.strip(), field.deprecated)


def _field_options(field: d.Field, scope: Scope, schema: str | None, hooks: Sequence[str]) -> dict[str, str]:
    """Return the options that fields of records and fields of bodies have in common."""
    options: dict[str, str] = {}
    if schema is not None:
        options["schema"] = schema
    if field.wire != field.python:
        options["wire"] = string(field.wire)
    for name in hooks:
        reference: d.Reference | None = getattr(field, name)
        if reference is not None:
            options[name] = scope.hook(reference)
    if field.sends_key:
        options["send"] = string("pk")
    if field.format is not None:
        options["format"] = string(field.format)
    return options


def _read_only(fields: Iterable[d.Field], inherited: Iterable[d.Field]) -> dict[str, str]:
    """Return the class option `read_only` with the fields that only the server sets, unless it is inherited."""
    names = [field.python for field in fields if field.read_only]
    if names == [field.python for field in inherited if field.read_only]:
        return {}
    return {"read_only": pair(map(string, names))}


def _write_only(fields: Iterable[d.Field], scope: Scope) -> dict[str, str]:
    """Return the class option `write_only` with the fields that only bodies have."""
    found: dict[str, str] = {}
    for field in fields:
        if field.write_only:
            schema = schema_of(field.type, scope) if field.encode is None and field.format is None else None
            options = _field_options(field, scope, schema, ("encode",))
            found[string(field.python)] = call(scope.restencil("field"), (), options)
    return {"write_only": table(found)} if found else {}


def _default(field: d.Field, scope: Scope) -> str | None:
    """Return the default of a field, None if it is required."""
    if field.default is d.MISSING:
        return "None" if isinstance(field.type, d.Optional) else None
    if isinstance(field.type, d.Const):
        return literal(field.type.value)
    return default(field.type, field.default, scope)


def _needs_schema(type: d.Type) -> bool:
    """Return whether a field's type contains anything that the runtime cannot read from its annotation."""
    plain = d.Scalar | d.Const | d.InlineEnum | d.EnumRef | d.AnyOf | d.ObjectRef | d.Optional | d.ListOf | d.ValuesOf
    return any(not isinstance(part, plain) for part in d.walk(type))


# ----------------------------------------------------------------------------------------------------------- TypedDicts


def entity_dicts(entities: Iterable[d.Entity], scope: Scope) -> list[TypedDictClass]:
    """Return the TypedDicts of entities: for objects in their fields, and for bodies."""
    found: list[TypedDictClass] = []
    for entity in entities:
        found += field_dicts(entity.name, entity.fields, scope)
        if entity.body_name:
            found.append(body_dict(entity.body_name, entity.name, entity.all_fields, scope))
        if entity.partial_body_name:
            name = entity.partial_body_name
            found.append(body_dict(name, entity.name, entity.all_fields, scope, partial=True))
    return found


def field_dicts(owner: str, fields: Iterable[d.Field], scope: Scope) -> list[TypedDictClass]:
    """Return the TypedDicts of the objects in the fields of an entity or object."""
    return [typed_dict(one, scope, usage) for one, usage in usages_of_fields(owner, fields)]


def body_dict(name: str, of: str, fields: Iterable[d.Field], scope: Scope, *, partial: bool = False) -> TypedDictClass:
    """Return the TypedDict of the body fields of an entity or object; a `partial` one requires none of them."""
    keys: list[Key] = []
    required = False
    for field in fields:
        if field.is_sent:
            text = field_annotation(field, scope)
            if field.must and not partial:
                required = True
                text = f"{scope.typing('Required')}[{text}]"
            keys.append(Key(field.python, text))
    usage = Usage("entity", of, is_optional=not required)
    return TypedDictClass(name, (scope.typing("TypedDict"),), {"total": "False"}, usage, tuple(keys))


def typed_dict(
    type: d.ObjectType, scope: Scope, usage: Usage, *, body: bool = False, partial: bool = False
) -> TypedDictClass:
    """Return the TypedDict of an object with named members; all members of a `partial` body are optional."""
    keys: list[Key] = []
    for member in type.members:
        text = body_annotation(member.type, scope, nested=True) if body else annotation(member.type, scope)
        if not (member.required or partial):
            text = f"{scope.typing('NotRequired')}[{text}]"
        keys.append(Key(member.python, text, member.description.strip(), member.deprecated))
    options = {"total": "False"} if partial else {}
    return TypedDictClass(type.name, (scope.typing("TypedDict"),), options, usage, tuple(keys))


# ------------------------------------------------------------------------------------------------------- keys and order


def _writes_key(entity: d.Entity, spec: d.Spec) -> bool:
    """Return whether the class declares its key: it is neither its name nor the inherited key."""
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


def _writes_pk(entity: d.Entity, parent: d.Entity | None) -> bool:
    before = (("id",), False) if parent is None or not parent.pk else (parent.pk, parent.pk_is_list)
    return (entity.pk, entity.pk_is_list) != before


def _by_inheritance(entities: Sequence[d.Entity]) -> list[d.Entity]:
    """Return the entities by name, each after its base entity."""
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


def by_default(objects: Mapping[str, d.Object]) -> list[d.Object]:
    """Return the objects by name, each after those in its defaults."""
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
