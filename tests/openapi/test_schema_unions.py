"""Unions in every place of a document: what cannot be read costs one field, and nothing ends in an error."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from tests.openapi.small import made, many, operation, record, ref, spec

from restencil_generator.openapi.document.containment import contained
from restencil_generator.openapi.document.model import Finding, Where
from restencil_generator.spec.load import load_text

TEXT: dict[str, Any] = {"type": "string"}
EMPTY: dict[str, Any] = {"type": "string", "enum": [""]}
KINDS: dict[str, dict[str, Any]] = {
    "string": TEXT,
    "integer": {"type": "integer"},
    "enum": {"type": "string", "enum": ["none", "root"]},
    "list": many(TEXT),
    "entities": many(ref("Item")),
    "entity": ref("Item"),
    "object": record(gt="integer", lt="integer"),
    "free": {"type": "object"},
    "empty": EMPTY,
    "null": {"type": "null"},
    "union": {"anyOf": [TEXT, many(TEXT)]},
}
"""Schemas of every kind."""


def item(**properties: Any) -> dict[str, Any]:
    """A component whose records have an id."""
    return record("id", id="integer", **properties)


def search_params(schema: dict[str, Any], **more: Any) -> Any:
    """What an import makes of one query parameter."""
    parameters = [{"name": "labels", "in": "query", "schema": schema, **more}]
    found = spec({"/things": {"get": operation(TEXT, parameters=parameters)}})
    return found["resources"]["things"]["endpoints"]["things"]["search_params"]["labels"]


def form_field(schema: dict[str, Any], **encoding: Any) -> Any:
    """What an import makes of one member of a form."""
    content: dict[str, Any] = {"schema": record("x", x="string", metadata=schema), "encoding": {"metadata": encoding}}
    body = {"content": {"application/x-www-form-urlencoded": content}}
    found = spec({"/things": {"post": operation(TEXT, requestBody=body)}})
    return found["resources"]["things"]["endpoints"]["things"]["body"]["form"]["metadata"]


@pytest.mark.parametrize("key", ["oneOf", "anyOf"])
@pytest.mark.parametrize(("one", "other"), list(itertools.permutations(KINDS, 2)))
def test_schema_unions_unions_of_two_kinds_are_read_in_every_place(one: str, other: str, key: str) -> None:
    """A union of any two kinds is read as a parameter, a body, a form, a response and a field, without a mistake."""
    union: dict[str, Any] = {key: [KINDS[one], KINDS[other]]}
    form = {"content": {"application/x-www-form-urlencoded": {"schema": record(x=union)}}}
    paths = {
        "/items/{id}": {"get": operation(ref("Item")), "patch": operation(ref("Item"), body=union)},
        "/items": {"get": operation(many(ref("Item")), query={"where": union}), "post": operation(union, body=union)},
        "/items/{id}/run": {"post": operation(union, requestBody=form)},
        "/things/{x}": {
            "get": operation(union, parameters=[{"name": "x", "in": "path", "required": True, "schema": union}])
        },
        "/heads": {"get": operation(TEXT, parameters=[{"name": "X-Y", "in": "header", "schema": union}])},
    }
    result = made(paths, {"Item": item(parent=union)})
    codes = {finding.code for finding in result.document.findings}
    assert not codes & {"import-internal", "import-mistake"}, result.document.findings
    assert not result.document.left_out
    assert not load_text(result.text, "small.yaml").problems


@pytest.mark.parametrize(
    ("alternatives", "style", "written"),
    [
        ([TEXT, many(TEXT)], {}, {"type": ["string"], "optional": True}),
        ([TEXT, KINDS["enum"]], {}, "string?"),
        (
            [KINDS["object"], {"type": "integer"}],
            {"style": "deepObject"},
            {"type": "any", "style": "deep", "optional": True},
        ),
        ([KINDS["object"], {"type": "integer"}], {}, {"type": "any", "style": "json", "optional": True}),
        ([KINDS["free"], EMPTY], {"style": "deepObject"}, {"type": {"values": "any"}, "optional": True}),
    ],
)
def test_schema_unions_query_union_is_the_narrowest_type_that_can_be_sent(
    alternatives: list[Any], style: dict[str, Any], written: Any
) -> None:
    """A query parameter that is one of several is a string, a list of strings, or anything in its style."""
    assert search_params({"anyOf": alternatives}, **style) == written


def test_schema_unions_free_form_object_in_json_holds_anything() -> None:
    """A free-form object that is sent as JSON in a query may hold anything."""
    content = {"application/json": {"schema": {"type": "object"}}}
    parameters = [{"name": "filter", "in": "query", "content": content}]
    found = spec({"/things": {"get": operation(TEXT, parameters=parameters)}})
    written = found["resources"]["things"]["endpoints"]["things"]["search_params"]["filter"]
    assert (written["type"], found["search_style"]) == ({"values": "any"}, {"objects": "json"})


@pytest.mark.parametrize(
    ("schema", "encoding", "written"),
    [
        ({"anyOf": [record(a="string"), EMPTY]}, {}, "ThingThingsMetadata?"),
        (
            {"anyOf": [many(TEXT), EMPTY]},
            {"style": "deepObject"},
            {"type": ["string"], "optional": True, "style": "brackets"},
        ),
        ({"anyOf": [record(a="string"), {"type": "integer"}]}, {}, "any"),
        (many(TEXT), {"style": "form", "explode": False}, {"type": ["string"], "optional": True, "style": "comma"}),
        ({"type": "object"}, {"style": "deepObject"}, {"type": {"values": "any"}, "optional": True, "style": "deep"}),
    ],
)
def test_schema_unions_form_member_has_its_encoding(
    schema: dict[str, Any], encoding: dict[str, Any], written: Any
) -> None:
    """A member of a form is optional where it may be the empty string, and sent in the style of its encoding."""
    assert form_field(schema, **encoding) == written


def test_schema_unions_reference_that_may_be_an_id_is_optional() -> None:
    """A required member that is an id or the record may lack the record."""
    schemas = {"Item": item(owner={"anyOf": [TEXT, ref("User")]}), "User": item(name="string")}
    schemas["Item"]["required"].append("owner")
    paths = {
        f"/{name}/{{id}}": {"get": operation(ref(title))} for name, title in (("items", "Item"), ("users", "User"))
    }
    assert spec(paths, schemas)["entities"]["Item"]["fields"]["owner"] == "User?"


def test_schema_unions_entity_and_its_deleted_form_are_one_entity() -> None:
    """`anyOf: [customer, deleted_customer]` is one entity with `deleted: boolean?`, and no list needs it."""
    schemas = {
        "customer": record("id", id="string", name="string"),
        "deleted_customer": record("id", "deleted", id="string", deleted={"type": "boolean", "enum": [True]}),
    }
    paths = {
        "/customers": {"get": operation(many(ref("customer")))},
        "/customers/{id}": {"get": operation({"anyOf": [ref("customer"), ref("deleted_customer")]})},
    }
    found = spec(paths, schemas)
    assert found["entities"]["Customer"]["fields"] == {"id": "string", "name": "string?", "deleted": "boolean?"}
    assert "endpoints" not in found["resources"]["customers"]


def test_schema_unions_optional_discriminator_tells_nothing_apart() -> None:
    """A discriminator that records may lack is not written: the fields tell them apart."""
    schemas = {"Cat": record("name", kind="string", name="string"), "Dog": record("bark", kind="string", bark="string")}
    union = {"oneOf": [ref("Cat"), ref("Dog")], "discriminator": {"propertyName": "kind"}}
    found = spec({"/pet": {"get": operation(union)}}, schemas)
    assert found["resources"]["pet"]["endpoints"]["pet"]["schema"] == {"one_of": ["Cat", "Dog"]}
    for schema in schemas.values():
        schema["required"].append("kind")
    found = spec({"/pet": {"get": operation(union)}}, schemas)
    assert found["resources"]["pet"]["endpoints"]["pet"]["schema"]["attribute"] == "kind"


def test_schema_unions_nullable_copy_of_an_entity_is_that_entity() -> None:
    """A component that is an entity's but for null is that entity wherever it stands."""
    user = item(name="string")
    schemas = {
        "simple-user": user,
        "nullable-simple-user": {**user, "type": ["object", "null"]},
        "Item": item(
            owner=ref("nullable-simple-user"), either={"anyOf": [ref("simple-user"), ref("nullable-simple-user")]}
        ),
    }
    paths = {
        "/users/{id}": {"get": operation(ref("simple-user"))},
        "/items/{id}": {"get": operation(ref("Item"))},
    }
    fields = spec(paths, schemas)["entities"]["Item"]["fields"]
    assert (fields["owner"], fields["either"]) == ("SimpleUser?", "SimpleUser?")


def test_schema_unions_entity_beside_an_object_that_looks_like_it_is_an_object() -> None:
    """An entity and another object that nothing tells apart are objects, both."""
    schemas = {
        "User": item(name="string"),
        "Team": record(title="string"),
        "Item": item(owner={"anyOf": [ref("User"), ref("Team")]}),
    }
    paths = {
        f"/{name}/{{id}}": {"get": operation(ref(title))} for name, title in (("items", "Item"), ("users", "User"))
    }
    found = spec(paths, schemas)
    assert found["entities"]["Item"]["fields"]["owner"] == {"type": {"one_of": ["UserData", "Team"]}, "optional": True}


def test_schema_unions_key_of_the_path_whose_name_a_search_parameter_has() -> None:
    """A key that only the path has is read from it, though a search parameter of the list is called the same."""
    entry = record("data", data=record(note="string"))
    paths = {
        "/accounts": {"get": operation(record(data=many(record(note="string"))), query={"id": "string"})},
        "/accounts/{id}": {"get": operation(entry), "delete": operation(entry)},
    }
    found = spec(paths)
    assert found["resources"]["accounts"]["path"] == "/accounts/:account_id"
    assert found["entities"]["Account"]["fields"]["id"] == {"type": "string", "param": "account_id"}


def test_schema_unions_error_of_the_importer_costs_one_part() -> None:
    """Where reading a part raises, the part is read as said instead, and a finding names it."""

    def fail() -> int:
        raise TypeError("unhashable")

    findings: list[Finding] = []
    where = Where("a.json", "/paths")
    assert contained(findings.append, "GET /x", where, fail, 7) == 7
    assert [(each.code, each.where, each.severity) for each in findings] == [("import-internal", where, "warning")]
    assert "GET /x: an error of the importer, 'TypeError: unhashable'" in findings[0].message


def test_schema_unions_entity_in_a_nested_union_is_not_distinguished_from_other_objects() -> None:
    """A union in a union with an entity in it is `any` next to another object, as the entity alone is."""
    inner = {"oneOf": [ref("Item"), {"type": "string", "enum": ["none", "root"]}]}
    item = record("id", id="integer", parent={"anyOf": [inner, record(id="integer", other="string")]})
    paths = {"/items/{id}": {"get": operation(ref("Item"))}}
    assert spec(paths, {"Item": item})["entities"]["Item"]["fields"]["parent"] == "any"


def test_schema_unions_form_with_entities_in_a_nested_list_has_any_items() -> None:
    """A form sends no records, however deep in a union or a list they are."""
    nested = {"oneOf": [many({"oneOf": [ref("Item"), {"type": "integer"}]})]}
    form = {"application/x-www-form-urlencoded": {"schema": record(items_=nested)}}
    send = operation(record(ok="boolean"), requestBody={"content": form})
    paths = {"/items/{id}": {"get": operation(ref("Item"))}, "/items/{id}/send": {"post": send}}
    endpoint = spec(paths, {"Item": record("id", id="integer")})["resources"]["items"]["endpoints"]["send"]
    assert endpoint["body"] == {"form": {"items": {"type": ["any"], "optional": True}}}


def party(**company: Any) -> dict[str, Any]:
    """The schemas of people and companies, and of what is one of them."""
    kinds = {"person": "#/components/schemas/Person", "company": "#/components/schemas/Company"}
    either = {"oneOf": [ref("Person"), ref("Company")], "discriminator": {"propertyName": "kind", "mapping": kinds}}
    one = record("id", "kind", id="string", kind="string")
    return {"Person": one, "Company": {**one, **company}, "Party": either}


def test_schema_unions_union_of_entities_as_a_body_of_another_resource_is_any() -> None:
    """Bodies have no form for a union of entities."""
    parties = {"/parties/{id}": {"get": operation(ref("Party"))}}
    push = operation(ref("Bill"), body=ref("Party"), status="201")
    bills = {
        "/bills": {"get": operation(many(ref("Bill"))), "post": push},
        "/bills/{id}": {"get": operation(ref("Bill"))},
    }
    found = spec({**parties, **bills}, {**party(), "Bill": record("id", id="string")})
    assert found["resources"]["bills"]["endpoints"]["push"]["body"] == "any"


def test_schema_unions_resource_of_a_union_with_a_nullable_entity_has_one_entity() -> None:
    """An alternative that may be null is no entity of a union."""
    paths = {"/parties/{id}": {"get": operation(ref("Party"))}}
    found = spec(paths, party(type=["object", "null"]))
    assert found["resources"]["parties"]["schema"] == "Party"


def test_schema_unions_list_of_a_member_without_a_name_is_none() -> None:
    """A list under the empty name is not looked for."""
    answer = {"type": "object", "properties": {"": many(record(id="string")), "next": {"type": "string"}}}
    found = made({"/payments": {"get": operation(answer)}}).document.findings
    assert [each.code for each in found] == ["no-resources"]
