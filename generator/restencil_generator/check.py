"""Check a spec: from its tree to the declaration, or to every mistake in it.

Whatever is wrong is noted and left out, and the check goes on, so that one run finds all. The order of the steps is
that of what they need: names first, then enums, objects and entities, then resources.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final, cast

from restencil_generator import declaration as d
from restencil_generator.check_resources import Resources
from restencil_generator.check_settings import TOKEN, Settled
from restencil_generator.check_types import ENTITY_KEYS, Claim, EntitySource, Kind, Types, circle_text
from restencil_generator.digest import digest
from restencil_generator.names import (
    FORM_WORDS,
    RESERVED_TYPES,
    WIRE_NAMES,
    constant_name,
    is_identifier,
    pascal_case,
)
from restencil_generator.problems import Place, Problem, Related, did_you_mean, has_errors, quoted
from restencil_generator.tree import Entry, MappingNode, Node, ScalarNode, SequenceNode
from restencil_generator.values import fits_scalar, objects_in, shown

if TYPE_CHECKING:
    from restencil_generator.declaration import WireNames

LANGUAGE: Final = 1
"""The version of the spec language that this generator reads."""

TOP_KEYS: Final = (
    "restencil",
    "package",
    "title",
    "description",
    "client",
    "url_prefix",
    "wire_names",
    "auth",
    "endpoint",
    "headers",
    "options",
    "enums",
    "objects",
    "entities",
    "resources",
)

AUTH_KINDS: Final[tuple[d.AuthKind, ...]] = ("header", "bearer", "basic", "cookie", "query")

TAKEN_PACKAGES: Final = ("restencil", "restencil_generator", "restencil_templates", "httpx")
"""Package names that a generated package would hide from itself."""


def check(root: MappingNode, file: str, problems: list[Problem]) -> d.Spec | None:
    """The declaration of a spec's tree. None, or something incomplete, once a problem was noted."""
    return _Check(root, file, problems).spec()


class _Check:
    def __init__(self, root: MappingNode, file: str, problems: list[Problem]) -> None:
        self.root = root
        self.file = file
        self.types = Types(problems, "as_is")
        self.types.wire = self._wire_names()
        self.resources: dict[str, tuple[ScalarNode, MappingNode]] = {}

    def spec(self) -> d.Spec | None:
        types, root = self.types, self.root
        given = types.keys(root, "the spec", TOP_KEYS)
        for key in ("restencil", "package"):
            if key not in root.entries:
                types.report(
                    "missing-key",
                    f"the spec needs the key '{key}'",
                    Place(root.file, root.line + 1, root.column + 1, root.line + 1, root.column + 2),
                    f"add '{key}: {LANGUAGE if key == 'restencil' else 'name'}'",
                )
        self._language(given.get("restencil"))
        package = self._package(given.get("package"))
        client = self._client(given, package)
        title = self._text(given, "title", "the spec")
        description = self._text(given, "description", "the spec")
        auth = self._auth(given.get("auth"))
        top = Settled(types).settings(given, "the spec")
        self._collect_names(given)
        for name, entry in self._table(given, "enums"):
            self._enum(name, entry)
        for name, entry in self._table(given, "objects"):
            self._object(name, entry)
        self._entities()
        resources = Resources(types, top).resources(self.resources)
        for task in types.later:
            task()
        self._with_body_names(resources)
        namespace = self._namespace()
        if has_errors(types.problems):
            return None
        spec = d.Spec(
            file=self.file,
            language=LANGUAGE,
            package=package,
            client=client,
            async_client=f"Async{client}",
            digest="",
            title=title,
            description=description,
            url_prefix=top.url_prefix or "",
            wire_names=types.wire,
            auth=auth,
            base=top.base,
            headers=top.headers or {},
            options=d.Options(**(top.options or {})),
            enums=types.enums,
            objects=types.objects,
            entities=dict(sorted(types.entities.items())),
            resources=resources,
            namespace=namespace,
            place=root.place,
            url_place=top.url_place,
        )
        return dataclasses.replace(spec, digest=digest(spec))

    # ------------------------------------------------------------------------------------------------------- top level

    def _wire_names(self) -> WireNames:
        node = self.root.get("wire_names")
        word = self.types.word(node, "'wire_names'", WIRE_NAMES) if node is not None else None
        return cast("WireNames", word) if word is not None else "as_is"

    def _language(self, entry: Entry | None) -> None:
        if entry is None:
            return
        node = entry.value
        value = node.value if isinstance(node, ScalarNode) else None
        if isinstance(value, int) and not isinstance(value, bool):
            if value != LANGUAGE:
                message = f"language version {value} is unknown: this generator reads version {LANGUAGE}"
                hint = "install a newer restencil" if value > LANGUAGE else f"write 'restencil: {LANGUAGE}'"
                self.types.report("language-version", message, node, hint)
        else:
            self.types.wrong("'restencil'", "the language version, a whole number", node, f"write {LANGUAGE}")

    def _package(self, entry: Entry | None) -> str:
        if entry is None:
            return ""
        types, node = self.types, entry.value
        name = types.text(node, "'package'", empty=False)
        if name is None or not isinstance(node, ScalarNode):
            return ""
        if not types.name(node, "the package", keyword=False):
            return ""
        if name in TAKEN_PACKAGES:
            types.report(
                "taken-name", f"a package {quoted(name)} would hide the library of that name", node, "choose another"
            )
        return name

    def _client(self, given: dict[str, Entry], package: str) -> str:
        types = self.types
        entry = given.get("client")
        name = pascal_case(package) if package else ""
        place = given["package"].value.place if "package" in given else None
        if entry is not None:
            place = entry.value.place
            text = types.text(entry.value, "'client'", empty=False)
            usable = isinstance(entry.value, ScalarNode) and types.name(entry.value, "the client", keyword=False)
            if text is None or not usable:
                return name
            name = text
        if name and place is not None:
            hint = "give the client another name with 'client:'"
            types.claim(name, "client", "the client", place, hint)
            types.claim(f"Async{name}", "client", "the asynchronous client", place, hint)
        return name

    def _auth(self, entry: Entry | None) -> d.Auth | None:
        types = self.types
        mapping = types.mapping(entry.value, "'auth'", "write {header: NAME} or the like") if entry else None
        if entry is None or mapping is None:
            return None
        given = types.keys(mapping, "'auth'", (*AUTH_KINDS, "env"))
        env: str | None = None
        if "env" in given:
            env = types.text(given["env"].value, "'env' of 'auth'", empty=False)
            if env is not None and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", env):
                types.report("bad-name", f"{quoted(env)} is no name of an environment variable", given["env"].value)
        kinds: list[d.AuthKind] = [kind for kind in AUTH_KINDS if kind in given]
        if len(kinds) != 1:
            message = "'auth' needs one of 'header', 'bearer', 'basic', 'cookie' and 'query'"
            first, *others = [given[kind].key for kind in kinds] or [entry.key]
            related = [Related(first.place, "the first one")] if others else []
            types.report("auth-kind", message, (others or [first])[0], "keep one" if others else "", related)
            return None
        kind, node = kinds[0], given[kinds[0]].value
        if kind in ("bearer", "basic"):
            if not (isinstance(node, ScalarNode) and node.value is True):
                types.wrong(f"'{kind}' of 'auth'", "true", node, "the secret itself never stands in a spec")
            return d.Auth(kind, "", env)
        name = types.text(node, f"'{kind}' of 'auth'", empty=False)
        if name is None:
            return None
        if kind != "query" and not TOKEN.match(name):
            types.report("bad-header", f"{quoted(name)} is no name of a {kind}", node)
        return d.Auth(kind, name, env)

    def _table(self, given: dict[str, Entry], key: str) -> Iterator[tuple[str, Entry]]:
        """The entries of a top-level table whose names are usable, sorted by name."""
        entry = given.get(key)
        mapping = entry.value if entry is not None else None
        if isinstance(mapping, MappingNode):
            for name in sorted(mapping.entries):
                yield name, mapping.entries[name]

    # ----------------------------------------------------------------------------------------------------------- names

    def _collect_names(self, given: dict[str, Entry]) -> None:
        """Notes what every name stands for before anything refers to it, entities declared in place included."""
        types = self.types
        for key in ("enums", "objects", "entities", "resources"):
            if key in given:
                types.mapping(given[key].value, f"'{key}'")
        for key, kind in (("enums", "enum"), ("objects", "object"), ("entities", "entity")):
            for name, entry in self._table(given, key):
                if not self._type_name(entry.key, kind):
                    continue
                known = name in types.kinds
                types.claim(name, kind, f"the {kind} {quoted(name)}", entry.key.place)
                if known:
                    continue
                types.kinds[name] = cast("Kind", kind)
                if kind == "entity":
                    mapping = types.mapping(entry.value, f"entity {quoted(name)}")
                    source = EntitySource(entry.key, mapping or _empty(entry.value), None, broken=mapping is None)
                    types.sources[name] = source
        for _, entry in self._table(given, "entities"):
            if isinstance(entry.value, MappingNode):
                self._scan_fields(entry.value.get("fields"), None)
        for _, entry in self._table(given, "objects"):
            self._scan_fields(entry.value, None)
        for name, entry in self._table(given, "resources"):
            mapping = types.mapping(entry.value, f"resource {quoted(name)}")
            if mapping is None:
                continue
            self.resources[name] = (entry.key, mapping)
            self._scan_type(mapping.get("schema"), name)
            endpoints = mapping.get("endpoints")
            if isinstance(endpoints, MappingNode):
                for _, endpoint in endpoints:
                    if isinstance(endpoint.value, MappingNode):
                        self._scan_type(endpoint.value.get("schema"), name)
        for _, mapping in self.resources.values():
            self._note_parameters(mapping)

    def _type_name(self, key: ScalarNode, kind: str) -> bool:
        what = f"{kind} {quoted(key.text)}"
        if key.text in RESERVED_TYPES:
            self.types.report(
                "reserved-name", f"{quoted(key.text)} is a word of the spec language and names no {kind}", key
            )
            return False
        return self.types.name(key, what, keyword=False)

    def _scan_fields(self, node: Node | None, resource: str | None) -> None:
        if isinstance(node, MappingNode):
            for _, entry in node:
                field = entry.value
                if isinstance(field, MappingNode) and "type" in field.entries:
                    self._scan_type(field.get("type"), resource)
                else:
                    self._scan_type(field, resource)

    def _scan_type(self, node: Node | None, resource: str | None) -> None:
        """Finds the entities that a type declares in place."""
        if isinstance(node, SequenceNode):
            for item in node.items:
                self._scan_type(item, resource)
        if not isinstance(node, MappingNode):
            return
        if "entity" in node.entries:
            self._entity_in_place(node, resource)
            return
        word = next((key for key in node.entries if key in FORM_WORDS), None)
        if word in ("values", "collection", "invalidate", "query"):
            self._scan_type(node.get(word), resource)
        elif word == "object":
            self._scan_members(node.get(word), resource)
        elif word is None:
            self._scan_members(node, resource)

    def _scan_members(self, node: Node | None, resource: str | None) -> None:
        if isinstance(node, MappingNode):
            for _, entry in node:
                self._scan_type(entry.value, resource)

    def _entity_in_place(self, node: MappingNode, resource: str | None) -> None:
        types = self.types
        name = node.entries["entity"].value
        if types.text(name, "'entity', the name of an entity declared in place,", empty=False) is None:
            return
        assert isinstance(name, ScalarNode)
        if self._type_name(name, "entity"):
            known = name.text in types.kinds
            types.claim(name.text, "entity", f"the entity {quoted(name.text)}", name.place)
            if not known:
                types.kinds[name.text] = "entity"
                types.sources[name.text] = EntitySource(name, node, resource, in_place=True)
        self._scan_fields(node.get("fields"), resource)

    def _note_parameters(self, resource: MappingNode) -> None:
        path, schema = resource.get("path"), resource.get("schema")
        if not isinstance(path, ScalarNode):
            return
        names = self.types.path_names(path)
        entity = schema.get("entity") if isinstance(schema, MappingNode) else schema
        choices = schema.get("union") if isinstance(schema, MappingNode) else None
        nodes = [entry.value for _, entry in choices] if isinstance(choices, MappingNode) else [entity]
        for node in nodes:
            if isinstance(node, ScalarNode):
                self.types.path_parameters.setdefault(node.text, set()).update(names)

    # --------------------------------------------------------------------------------------------------- enums, objects

    def _enum(self, name: str, entry: Entry) -> None:
        types, node = self.types, entry.value
        what = f"enum {quoted(name)}"
        members: list[tuple[d.EnumMember, Node]] = []
        if isinstance(node, SequenceNode):
            for item in node.items:
                value = self._enum_value(item, what)
                if value is not None:
                    members.append((d.EnumMember(value), item))
        elif isinstance(node, MappingNode):
            for key, inner in node:
                value = self._enum_value(inner.value, what)
                usable = is_identifier(f"x{key}") and not key.startswith("_")
                if not usable:
                    types.name(inner.key, f"a constant of {what}")
                elif value is not None:
                    constant = constant_name(name, key)
                    types.claim(constant, "constant", f"a constant of {what}", inner.key.place)
                    members.append((d.EnumMember(value, constant), inner.value))
        else:
            types.wrong(what, "a list of its values, or a mapping from constants to them", node)
        if isinstance(node, SequenceNode | MappingNode) and not (
            node.items if isinstance(node, SequenceNode) else node.entries
        ):
            types.report("wrong-type", f"{what} needs at least one value", node)
        seen: dict[str | int, Node] = {}
        for member, item in members:
            first = seen.setdefault(member.value, item)
            if first is not item:
                message = f"{what} has the value {shown(member.value)} twice"
                types.report(
                    "given-twice", message, item, "keep one of them", [Related(first.place, "given here first")]
                )
        types.enums[name] = d.Enum(name, tuple(member for member, _ in members), entry.key.place)

    def _enum_value(self, node: Node, what: str) -> str | int | None:
        value = node.value if isinstance(node, ScalarNode) else None
        if isinstance(value, str | int) and not isinstance(value, bool):
            return value
        hint = "put it in quotes" if isinstance(node, ScalarNode) and node.text else ""
        self.types.wrong(f"a value of {what}", "a text or a whole number", node, hint)
        return None

    def _object(self, name: str, entry: Entry) -> None:
        types = self.types
        what = f"object {quoted(name)}"
        mapping = types.mapping(entry.value, what)
        fields = types.fields(mapping, what, "object field", name, "field") if mapping is not None else ()
        types.objects[name] = d.Object(name, fields, place=entry.key.place)

    # -------------------------------------------------------------------------------------------------------- entities

    def _entities(self) -> None:
        types = self.types
        own: dict[str, tuple[d.Field, ...]] = {}
        given: dict[str, dict[str, Entry]] = {}
        for name in sorted(types.sources):
            source = types.sources[name]
            what = f"entity {quoted(name)}"
            if source.in_place:
                given[name] = {key: entry for key, entry in source.node if key in ENTITY_KEYS}
            else:
                given[name] = types.keys(source.node, what, ENTITY_KEYS)
            fields = given[name].get("fields")
            if fields is not None:
                mapping = types.mapping(fields.value, f"'fields' of {what}")
                own[name] = () if mapping is None else types.fields(mapping, what, "entity field", name, "field", name)
            else:
                own[name] = ()
                if "extends" not in given[name] and not source.broken:
                    source.broken = True
                    types.report("missing-key", f"{what} needs 'fields'", source.key, "add 'fields: …' or 'extends: …'")
        circular = self._extends(given)
        for name in sorted(types.sources):
            self._entity(name, given, own, circular)
        self._object_circles()

    def _extends(self, given: dict[str, dict[str, Entry]]) -> set[str]:
        """Checks what entities extend; returns those that are part of, or lead to, a circle or nothing."""
        types = self.types
        broken: set[str] = set()
        bases: dict[str, str] = {}
        for name, keys in given.items():
            if "extends" in keys:
                base = types.entity_name(keys["extends"].value, f"'extends' of entity {quoted(name)}")
                if base is None:
                    broken.add(name)
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
                node = given[last]["extends"].value
                hint = "let one of them extend nothing"
                types.report("extends-cycle", f"entity {quoted(last)} extends {circle_text(circle)}", node, hint)
                broken.update(chain)
            elif last in broken:
                broken.update(chain)
            done.update(chain)
        return broken

    def _entity(
        self,
        name: str,
        given: dict[str, dict[str, Entry]],
        own: dict[str, tuple[d.Field, ...]],
        broken: set[str],
    ) -> None:
        types = self.types
        if name in types.entities:
            return
        chain = [name]
        while (base := self._base(chain[-1], given, broken)) is not None and base not in types.entities:
            chain.append(base)
        for member in reversed(chain):
            types.entities[member] = self._one_entity(
                member, given[member], own[member], self._base(member, given, broken)
            )

    def _base(self, name: str, given: dict[str, dict[str, Entry]], broken: set[str]) -> str | None:
        entry = given[name].get("extends")
        if entry is None or name in broken or not isinstance(entry.value, ScalarNode):
            return None
        return entry.value.text

    def _one_entity(
        self, name: str, given: dict[str, Entry], own: tuple[d.Field, ...], base_name: str | None
    ) -> d.Entity:
        types = self.types
        what = f"entity {quoted(name)}"
        source = types.sources[name]
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
        abstract = "abstract" in given and types.boolean(given["abstract"].value, f"'abstract' of {what}") is True
        key = name if base is None else _shared_key(base, types.entities, name)
        if "key" in given:
            key = types.text(given["key"].value, f"'key' of {what}", empty=False) or key
        pk, pk_is_list = self._pk(given.get("pk"), what, name, base, all_fields, abstract)
        indexes = base.indexes if base is not None else ()
        if "indexes" in given:
            texts = types.texts(given["indexes"].value, f"'indexes' of {what}")
            indexes = tuple(
                index
                for index, node in texts
                if self._field_exists(index, node, f"'indexes' of {what}", name, all_fields)
            )
        validate = base.validate if base is not None else None
        if "validate" in given:
            validate = types.reference(given["validate"].value, f"'validate' of {what}")
        return d.Entity(
            name=name,
            fields=own,
            all_fields=all_fields,
            pk=pk,
            pk_is_list=pk_is_list,
            pk_written="pk" in given,
            key=key,
            key_written="key" in given,
            extends=base_name,
            abstract=abstract,
            indexes=indexes,
            indexes_written="indexes" in given,
            validate=validate,
            validate_written="validate" in given,
            description=self._text(given, "description", what),
            deprecated=self._deprecated(given, what),
            resource=source.resource,
            place=source.key.place,
        )

    def _text(self, given: dict[str, Entry], key: str, what: str) -> str:
        return (self.types.text(given[key].value, f"'{key}' of {what}") or "") if key in given else ""

    def _deprecated(self, given: dict[str, Entry], what: str) -> str | None:
        return (
            self.types.deprecated(given["deprecated"].value, f"'deprecated' of {what}")
            if "deprecated" in given
            else None
        )

    def _field_exists(self, field: str, node: Node, what: str, entity: str, fields: tuple[d.Field, ...]) -> bool:
        if any(known.name == field for known in fields):
            return True
        if field not in self.types.raw_fields(entity):
            self.types.unknown_field(field, node, what, entity)
        return False

    def _pk(
        self,
        entry: Entry | None,
        what: str,
        name: str,
        base: d.Entity | None,
        fields: tuple[d.Field, ...],
        abstract: bool,
    ) -> tuple[tuple[str, ...], bool]:
        types = self.types
        by_name = {field.name: field for field in fields}
        if entry is None:
            if base is not None and base.pk:
                return base.pk, base.pk_is_list
            if "id" in by_name:
                return ("id",), False
            if not abstract and "id" not in types.raw_fields(name) and not self._in_broken_line(name):
                hint = "name the field that is its pk with 'pk:'"
                types.report(
                    "pk-not-a-field",
                    f"{what} has no field 'id', which is the pk of an entity",
                    types.sources[name].key,
                    hint,
                )
            return (), False
        node = entry.value
        if isinstance(node, SequenceNode):
            if not node.items:
                types.report("wrong-type", f"'pk' of {what} names no field", node)
            names = types.texts(node, f"'pk' of {what}")
        else:
            text = types.text(node, f"'pk' of {what}", empty=False)
            names = [(text, node)] if text is not None else []
        found: list[str] = []
        for text, place in names:
            field = by_name.get(text)
            if field is None:
                if text not in types.raw_fields(name) and not self._in_broken_line(name):
                    known = types.raw_fields(name)
                    hint = did_you_mean(text, known) or (f"its fields: {', '.join(known[:12])}" if known else "")
                    types.report(
                        "pk-not-a-field", f"the pk {quoted(text)} of {what} is none of its fields", place, hint
                    )
            elif not _is_text(field.type):
                types.report(
                    "pk-type",
                    f"the field {quoted(text)} of {what} has no single text and cannot be a pk",
                    place,
                    "name a field that holds a text, a number or the like",
                    [Related(field.place, "declared here")],
                )
            found.append(text)
        return tuple(found), isinstance(node, SequenceNode)

    def _in_broken_line(self, name: str) -> bool:
        """Whether an entity or one that it extends is broken or does not exist, so that its fields are not known."""
        *_, last = self.types.lineage(name)
        return last.broken or "extends" in last.node.entries

    def _override(self, inherited: d.Field, field: d.Field, what: str, base: str) -> None:
        if not _narrows(field.type, inherited.type):
            self.types.report(
                "field-override",
                f"{quoted(field.name)} of {what} has another type than in entity {quoted(base)}, which it extends",
                field.place,
                "keep the type, fix it with 'const', or take the '?' away",
                [Related(inherited.place, "inherited from here")],
            )

    def _object_circles(self) -> None:
        """Reports objects that hold themselves in every value, so that their default has no end."""
        types = self.types
        needs = {
            name: [
                (inner, field)
                for field in object.fields
                for inner in dict.fromkeys(objects_in(types.objects, field.type, field.default))
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
                        message = (
                            f"object {quoted(target)} holds itself in {quoted(field.name)} of object {quoted(current)}"
                        )
                        hint = "take its default away" if field.written_default else f"write {target}?"
                        types.report("object-cycle", f"{message}, so it has no default", field.place, hint)
                    else:
                        stack.append((target, 0))
                else:
                    path.pop()
                    done.add(current)

    # ------------------------------------------------------------------------------------------------------- the whole

    def _namespace(self) -> dict[str, str]:
        """What each name of the package is; a name that it would need twice is reported."""
        types = self.types
        taken: dict[str, Claim] = {}
        for claim in sorted(types.claims, key=lambda claim: (_RANKS[claim.kind], claim.place)):
            first = taken.setdefault(claim.name, claim)
            if first is claim:
                continue
            if claim.kind in _DECLARED and first.kind in _DECLARED:
                message = f"{quoted(claim.name)} is declared twice, as {_a(first.kind)} and as {_a(claim.kind)}"
                hint = "keep one of them, or rename one"
            else:
                message = f"{claim.what} and {first.what} are both called {quoted(claim.name)} in the package"
                hint = claim.hint or first.hint or "rename one of them"
            types.report("name-clash", message, claim.place, hint, [Related(first.place, "the other one")])
        return {name: claim.kind for name, claim in sorted(taken.items()) if claim.kind != "module"}

    def _with_body_names(self, resources: Mapping[str, d.Resource]) -> None:
        """Names the TypedDicts of the entities and objects that stand in bodies."""
        types = self.types
        pending: list[d.Type | None] = []
        for resource in resources.values():
            for _, endpoint in resource.all_endpoints():
                if endpoint.has_body and endpoint.body is not None:
                    pending.append(endpoint.body.type)
        seen: set[str] = set()
        while pending:
            type = pending.pop()
            match type:
                case d.EntityRef(name) | d.ObjectRef(name):
                    if name in seen:
                        continue
                    seen.add(name)
                    declared = types.entities.get(name) or types.objects.get(name)
                    if declared is None:
                        continue
                    body_name = f"{name}Body"
                    kind = "entity" if isinstance(declared, d.Entity) else "object"
                    types.claim(body_name, "typed_dict", f"the type of bodies of {kind} {quoted(name)}", declared.place)
                    if isinstance(declared, d.Entity):
                        types.entities[name] = dataclasses.replace(declared, body_name=body_name)
                        pending.extend(field.type for field in declared.all_fields if not field.read_only)
                    else:
                        types.objects[name] = dataclasses.replace(declared, body_name=body_name)
                        pending.extend(field.type for field in declared.fields if not field.read_only)
                case d.UnionOf(choices):
                    pending.extend(d.EntityRef(choice.entity) for choice in choices)
                case d.ObjectType(members):
                    pending.extend(member.type for member in members)
                case d.Optional(item) | d.ListOf(item) | d.ValuesOf(item) | d.CollectionOf(item):
                    pending.append(item)
                case _:
                    pass


_RANKS: Final = {
    "client": 0,
    "resource": 1,
    "entity": 2,
    "object": 2,
    "enum": 2,
    "constant": 3,
    "typed_dict": 4,
    "module": 5,
}
_DECLARED: Final = frozenset(("entity", "object", "enum"))


def _a(kind: str) -> str:
    return f"an {kind}"


def _empty(node: Node) -> MappingNode:
    """Stands for a mapping that is none, so that what refers to it is still known."""
    return MappingNode(node.file, node.line, node.column)


def _shared_key(base: d.Entity, entities: Mapping[str, d.Entity], name: str) -> str:
    """The key written on the nearest entity that this one extends; else its own name."""
    nearest: d.Entity | None = base
    while nearest is not None and not nearest.key_written:
        nearest = entities[nearest.extends] if nearest.extends is not None else None
    return nearest.key if nearest is not None else name


def _is_text(type: d.Type) -> bool:
    """Whether a value of the type has one text, so that it can be a pk."""
    match type:
        case d.Optional(item):
            return _is_text(item)
        case d.Scalar() | d.Const() | d.EnumRef():
            return True
        case _:
            return False


def _narrows(type: d.Type, inherited: d.Type) -> bool:
    """Whether a field may be declared again with a type: an equal or a narrower one."""
    if type == inherited:
        return True
    if isinstance(inherited, d.Optional):
        return _narrows(type.item if isinstance(type, d.Optional) else type, inherited.item)
    if isinstance(inherited, d.Scalar) and inherited.name == "any":
        return True
    if isinstance(type, d.Const):
        if isinstance(inherited, d.Scalar):
            return fits_scalar(inherited.name, type.value)
        return isinstance(inherited, d.EnumRef)
    if isinstance(type, d.EnumRef):
        return isinstance(inherited, d.Scalar) and inherited.name == "string"
    return False
