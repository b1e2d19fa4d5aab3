"""Entities of a spec: their own declarations, and what they inherit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from restencil_generator.diagnostics.model import Related, circle_text, did_you_mean, quoted
from restencil_generator.spec import model as d
from restencil_generator.spec.analyze.fields import read_fields
from restencil_generator.spec.analyze.list_identity import keep_fields_apart
from restencil_generator.spec.analyze.types import Types
from restencil_generator.spec.grammar.keys import defaults
from restencil_generator.spec.grammar.value_reader import ParsedSection, Subject
from restencil_generator.spec.source.nodes import MappingNode, Node, ScalarNode, SequenceNode
from restencil_generator.spec.type_info import dotted_names, path_to, type_info
from restencil_generator.spec.validate_value import fits_scalar, objects_in


class Entities:
    """Reader of all entities, in the order of inheritance."""

    def __init__(self, types: Types) -> None:
        self.types = types
        self.given: dict[str, ParsedSection] = {}
        self.own: dict[str, tuple[d.Field, ...]] = {}
        self.broken: set[str] = set()

    def read(self) -> None:
        """Fill the table of entities."""
        types = self.types
        for name in sorted(types.sources):
            source = types.sources[name]
            what = Subject(f"entity {quoted(name)}")
            section = "entity_form" if source.in_place else "entity"
            if source.broken:
                given = ParsedSection(section, defaults(section), {}, {})
            else:  # unknown keys of a form are reported when the form is read as a type
                given = types.section(section, source.node, what, source.key, report_unknown=not source.in_place)
            self.given[name] = given
            self.own[name] = read_fields(
                types, given.node("fields"), what, "entity_field", name, label=Subject("'fields'", what), entity=name
            )
            source.broken = source.broken or not ("fields" in given or "extends" in given)
        self._lines()
        for name in sorted(types.sources):
            self._with_bases(name)

    # ------------------------------------------------------------------------------------------------- what they extend

    def _lines(self) -> None:
        """Mark entities as broken if their `extends` is part of a cycle, leads to one, or leads to an unknown name."""
        types = self.types
        bases: dict[str, str] = {}
        for name, given in self.given.items():
            if (node := given.node("extends")) is not None:
                base = types.entity_name(node, f"'extends' of entity {quoted(name)}")
                if base is None:
                    self.broken.add(name)
                else:
                    bases[name] = base
        done: set[str] = set()
        for name in sorted(bases):
            chain: dict[str, None] = {}
            last: str | None = name
            while last is not None and last not in chain and last not in done:
                chain[last] = None
                last = bases.get(last)
            if last is not None and last in chain:
                names = list(chain)
                circle = names[names.index(last) :]
                node = self.given[last].entries["extends"].value
                hint = "remove one of the 'extends'"
                types.report("extends-cycle", f"entity {quoted(last)} extends {circle_text(circle)}", node, hint)
                self.broken.update(chain)
            elif last in self.broken:
                self.broken.update(chain)
            done.update(chain)

    def _with_bases(self, name: str) -> None:
        """Add an entity to the table, after the entities that it extends."""
        entities = self.types.entities
        if name in entities:
            return
        chain = [name]
        while (base := self._base(chain[-1])) is not None and base not in entities:
            chain.append(base)
        for member in reversed(chain):
            entities[member] = self._one(member)

    def _base(self, name: str) -> str | None:
        node = self.given[name].node("extends")
        return node.text if isinstance(node, ScalarNode) and name not in self.broken else None

    # ------------------------------------------------------------------------------------------------------ one of them

    def _one(self, name: str) -> d.Entity:
        types, given, own = self.types, self.given[name], keep_fields_apart(name, self.own[name])
        what = Subject(f"entity {quoted(name)}")
        source = types.sources[name]
        base_name = self._base(name)
        base = types.entities[base_name] if base_name is not None else None
        inherited = base.all_fields if base is not None else ()
        replaced = {field.name: field for field in own}
        all_fields = (
            *(replaced.get(field.name, field) for field in inherited),
            *(field for field in own if all(field.name != known.name for known in inherited)),
        )
        if base is not None:
            for field in inherited:
                if field.name in replaced:
                    self._override(field, replaced[field.name], what, base.name)
            types.distinct(all_fields, what)
        key = name if base is None else _shared_key(base, types.entities, name)
        pk = self._pk(name, what, base, all_fields)
        indexes = base.indexes if base is not None else ()
        if "indexes" in given:
            indexes = tuple(self._indexes(given, what, name, all_fields))
        return d.Entity(
            name=name,
            fields=own,
            all_fields=all_fields,
            pk=pk,
            pk_is_list=self._pk_is_list(given, base),
            pk_written="pk" in given,
            key=given["key"] or key,
            key_written="key" in given,
            extends=base_name,
            abstract=given["abstract"],
            indexes=indexes,
            indexes_written="indexes" in given,
            validate=given.get("validate", base.validate if base is not None else None),
            validate_written="validate" in given,
            pk_optional=given["pk_optional"] or (base is not None and base.pk_optional),
            description=given["description"],
            deprecated=given["deprecated"],
            resource=source.resource,
            persist=given["persist"],
            place=source.key.place,
        )

    def _indexes(self, given: ParsedSection, what: Subject, entity: str, fields: tuple[d.Field, ...]) -> Iterator[str]:
        for name, node in given["indexes"]:
            if any(known.name == name for known in fields):
                yield name
            elif name not in self.types.raw_fields(entity):
                self.types.unknown_field(name, node, f"'indexes' of {what}", entity)

    # ---------------------------------------------------------------------------------------------------------- the pk

    @staticmethod
    def _pk_is_list(given: ParsedSection, base: d.Entity | None) -> bool:
        if "pk" in given:
            return isinstance(given.node("pk"), SequenceNode)
        return base.pk_is_list if base is not None else False

    def _pk(self, name: str, what: Subject, base: d.Entity | None, fields: tuple[d.Field, ...]) -> tuple[str, ...]:
        given = self.given[name]
        by_name = {field.name: field for field in fields}
        node = given.node("pk")
        if node is None:
            return self._usual_pk(name, what, base, by_name)
        written: str | list[tuple[str, Node]] | None = given["pk"]
        names = [(written, node)] if isinstance(written, str) else written or []
        for text, place in names:
            self._check_part(name, what, fields, text, place)
        return tuple(text for text, _ in names)

    def _check_part(self, name: str, what: Subject, fields: tuple[d.Field, ...], text: str, place: Node) -> None:
        """Report a part of a pk that is not a field with a single string form, of the entity or of objects in it."""
        types = self.types
        found = path_to(types.objects, fields, text)
        if not found:
            if not self._has_unread(name, text.partition(".")[0]):
                known = types.raw_fields(name)
                near = did_you_mean(text, [*known, *dotted_names(types.objects, fields)])
                hint = near or (f"its fields: {', '.join(known[:12])}" if known else "")
                message = f"the pk {quoted(text)} of {what} is not one of its fields"
                types.report("pk-not-a-field", message, place, hint)
        elif not type_info(found[-1].type).one_text:
            types.report(
                "pk-type",
                f"the field {quoted(text)} of {what} has no unique string form, so it cannot be a pk",
                place,
                "choose a field with a string, an integer or a similar type",
                [Related(found[-1].place, "declared here")],
            )
        elif any(field.write_only for field in found):
            message = f"the field {quoted(text)} of {what} is write_only, so it cannot be the pk"
            types.report("pk-type", message, place, "name another field")

    def _usual_pk(
        self, name: str, what: Subject, base: d.Entity | None, by_name: Mapping[str, d.Field]
    ) -> tuple[str, ...]:
        """Return the pk if none is given: that of the base entity, else `id`."""
        if base is not None and (base.pk or base.pk_is_list):
            return base.pk
        if "id" in by_name:
            return ("id",)
        if not self.given[name]["abstract"] and not self._has_unread(name, "id"):
            message = f"{what} has no field 'id', the default pk"
            hint = "add 'pk: …' with the name of the field that identifies it"
            self.types.report("pk-not-a-field", message, self.types.sources[name].key, hint)
        return ()

    def _has_unread(self, entity: str, field: str) -> bool:
        """Return whether an entity may have a field that could not be read, because it or a base entity is invalid."""
        *_, last = self.types.lineage(entity)
        fields = self.given[entity].node("fields")
        if fields is not None and not isinstance(fields, MappingNode):
            return True
        read = any(known.name == field for known in self.own[entity])
        return (field in self.types.raw_fields(entity) and not read) or last.broken or "extends" in last.node.entries

    def _override(self, inherited: d.Field, field: d.Field, what: Subject, base: str) -> None:
        if not _narrows(field.type, inherited.type):
            self.types.report(
                "field-override",
                f"{quoted(field.name)} of {what} has a different type in the base entity {quoted(base)}",
                field.place,
                "keep the type, narrow it with 'const', or remove the '?'",
                [Related(inherited.place, "inherited from here")],
            )


def _least(field: d.Field) -> d.Json | d.Missing:
    """Return the part of a field's value that every value of an object contains."""
    return {} if field.default is d.MISSING and isinstance(field.type, d.ObjectRef) else field.default


def object_circles(types: Types) -> None:
    """Report objects that always contain themselves, so that their values would be infinite."""
    needs = {
        name: [
            (inner, field)
            for field in object.fields
            for inner in dict.fromkeys(objects_in(types.objects, field.type, _least(field)))
        ]
        for name, object in types.objects.items()
    }
    done: set[str] = set()
    for name in needs:
        path: list[str] = []
        stack = [(name, 0)]
        while stack:
            current, index = stack.pop()
            if index == 0:
                if current in done:
                    continue
                path.append(current)
            if index < len(needs.get(current, ())):
                stack.append((current, index + 1))
                target, field = needs[current][index]
                if target in path:
                    through = f"{quoted(field.name)} of object {quoted(current)}"
                    message = f"object {quoted(target)} contains itself through {through}"
                    hint = "remove its default" if field.written_default else f"write {target}?"
                    types.report("object-cycle", f"{message}, so it is infinite", field.place, hint)
                else:
                    stack.append((target, 0))
            else:
                path.pop()
                done.add(current)


def _shared_key(base: d.Entity, entities: Mapping[str, d.Entity], name: str) -> str:
    """Return the key of the nearest base entity that declares one, else the name of the entity."""
    nearest: d.Entity | None = base
    while nearest is not None and not nearest.key_written:
        nearest = entities[nearest.extends] if nearest.extends is not None else None
    return nearest.key if nearest is not None else name


def _narrows(type: d.Type, inherited: d.Type) -> bool:
    """Return whether an inherited field may be overridden with a type: an equal or narrower one."""
    if type == inherited:
        return True
    if isinstance(inherited, d.Optional):
        return _narrows(type.item if isinstance(type, d.Optional) else type, inherited.item)
    if isinstance(inherited, d.Scalar) and inherited.name == "any":
        return True
    if isinstance(type, d.Const):
        if isinstance(inherited, d.Scalar):
            return fits_scalar(inherited.name, type.value)
        return isinstance(inherited, d.EnumRef | d.InlineEnum)
    if isinstance(type, d.InlineEnum) and isinstance(inherited, d.Scalar):
        return all(fits_scalar(inherited.name, value) for value in type.values)
    if isinstance(type, d.EnumRef):
        return isinstance(inherited, d.Scalar) and inherited.name == "string"
    if isinstance(inherited, d.OneOf):
        return any(_narrows(type, one) for one in inherited.alternatives)
    return False
