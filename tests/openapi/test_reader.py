"""Documents of every version are read into one form, and no oddity of theirs is lost without a word."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.openapi.documents import OK, codes, document, read_tree, schema_of

from restencil_generator.exceptions import Failure
from restencil_generator.openapi.document.files import Files
from restencil_generator.openapi.document.model import Part
from restencil_generator.openapi.document.reader import read


def operations(found: Any) -> list[str]:
    return [operation.text for operation in found.operations]


# ---------------------------------------------------------------------------------------------- what is no document


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("asyncapi: 2.6.0\n", " is an AsyncAPI 2.6 document; restencil imports OpenAPI"),
        ("arazzo: 1.0.0\n", " is an Arazzo 1.0 document; restencil imports OpenAPI"),
        ("restencil: 1\n", " is a spec of restencil; restencil imports OpenAPI"),
        ("swaggerVersion: '1.2'\n", " is a Swagger 1.2 document; restencil imports OpenAPI"),
        (
            '{"item": [], "info": {}}',
            ": not OpenAPI: it has neither 'openapi' nor 'swagger' (found: info, item; a Postman collection?)",
        ),
        ("a: 1\n", ": not OpenAPI: it has neither 'openapi' nor 'swagger' (found: a)"),
        ("[]", ": not OpenAPI: it holds a list, not an object"),
        ("hello", ": not OpenAPI: it holds the text 'hello', not an object"),
        ("openapi: 4.0.0", ": not OpenAPI 2.0 or 3: its version is '4.0.0'; restencil imports 2.0 to 3.2"),
        ("swagger: '1.2'", ": not OpenAPI 2.0 or 3: its version is '1.2'; restencil imports 2.0 to 3.2"),
    ],
)
def test_reader_what_is_no_openapi_says_what_it_looks_like(text: str, said: str, tmp_path: Path) -> None:
    """Another document is refused, and told what it looks like."""
    file = tmp_path / "events.yaml"
    file.write_text(text)
    with pytest.raises(Failure) as raised:
        read(Files(str(file)))
    assert str(raised.value) == f"{file}{said}"


@pytest.mark.parametrize("version", ["3.0.0", "3.0", 3.1, "3.1.1", "3.2.0", 3, "3.0.0-rc1"])
def test_reader_all_versions_of_3_are_read(version: Any, tmp_path: Path) -> None:
    """3.0 to 3.2, also where the version is a number."""
    found = read_tree(document({"/x": {"get": {"responses": OK}}}, version=version), tmp_path)
    assert (operations(found), codes(found)) == (["GET /x"], [])


def test_reader_newer_version_is_read_as_the_newest_known(tmp_path: Path) -> None:
    """It is a note."""
    found = read_tree(document({"/x": {"get": {"responses": OK}}}, version="3.7.0"), tmp_path)
    (note,) = found.findings
    assert (note.code, note.severity) == ("version-newer", "note")
    assert note.message == "OpenAPI 3.7.0 is newer than 3.2; it is read as 3.2"


# ------------------------------------------------------------------------------------------------------- versions


PETS = """
swagger: "2.0"
info: {title: Pets, version: "1"}
host: shop.example
basePath: /v1/
schemes: [http, https]
definitions: {Pet: {type: object, properties: {name: {type: string, x-nullable: true}}}}
securityDefinitions:
  basic: {type: basic}
  flow: {type: oauth2, flow: application, tokenUrl: /token, scopes: {a: ""}}
paths:
  /pets:
    post:
      parameters: [{in: body, name: b, required: true, schema: {$ref: "#/definitions/Pet"}}]
      responses: {"200": {description: "", schema: {$ref: "#/definitions/Pet"}}}
    get:
      parameters:
      - {in: query, name: a, type: array, items: {type: string}}
      - {in: query, name: b, type: array, items: {type: string}, collectionFormat: multi}
      - {in: query, name: c, type: array, items: {type: string}, collectionFormat: pipes}
      produces: [text/plain]
      responses: {"200": {description: "", schema: {type: string}}}
  /upload:
    post:
      consumes: [multipart/form-data]
      parameters:
      - {in: formData, name: photo, type: file, required: true}
      - {in: formData, name: note, type: string}
      responses: {"204": {description: ""}}
"""


def test_reader_swagger_2_is_lifted(tmp_path: Path) -> None:
    """Host, basePath and schemes; consumes and produces; body and formData; collectionFormat; files; x-nullable."""
    found = read_tree(yaml.safe_load(PETS), tmp_path)
    listed, created, uploaded = found.operations
    assert [server.url for server in found.servers] == ["https://shop.example/v1"]
    assert codes(found) == []
    assert [(one.style, one.explode) for one in listed.parameters] == [
        ("form", False), ("form", True), ("pipeDelimited", False)
    ]  # fmt: skip
    assert listed.result.content is not None and listed.result.content.kind == "text"
    assert created.body is not None and created.body.required and created.body.content.type == "application/json"
    schema = found.schema(created.body.content.schema or Part({}, created.where))
    assert (schema.name, found.schema(schema.properties["name"]).nullable) == ("Pet", True)
    assert uploaded.body is not None and uploaded.body.content.kind == "multipart"
    form = found.schema(uploaded.body.content.schema or Part({}, uploaded.where))
    formats = {name: found.schema(part).format for name, part in form.properties.items()}
    assert formats == {"photo": "binary", "note": ""}
    assert form.required == {"photo"}
    assert (found.schemes["basic"].type, found.schemes["basic"].scheme) == ("http", "basic")
    (flow,) = found.schemes["flow"].flows
    assert (flow.kind, flow.token_url, flow.scopes) == ("clientCredentials", "/token", ("a",))


def test_reader_what_3_2_adds_is_read(tmp_path: Path) -> None:
    """`query`, `additionalOperations`, `itemSchema`, `in: querystring`, `defaultMapping`."""
    event = {"type": "object", "properties": {"id": {"type": "integer"}}}
    stream = {"200": {"description": "", "content": {"text/event-stream": {"itemSchema": event}}}}
    lines = {"200": {"description": "", "content": {"application/jsonl": {"itemSchema": event}}}}
    item = {
        "query": {"responses": OK, "parameters": [{"name": "q", "in": "querystring", "content": {"text/plain": {}}}]},
        "get": {"responses": stream},
        "additionalOperations": {"COPY": {"responses": lines}, "NO GO": {"responses": OK}},
    }
    found = read_tree(document({"/x": item}, version="3.2.0"), tmp_path)
    get, query, copy = found.operations
    assert [one.method for one in found.operations] == ["GET", "QUERY", "COPY"]
    assert query.parameters[0].place == "querystring"
    for operation, kind in ((get, "sse"), (copy, "stream")):
        assert operation.result.content is not None and operation.result.content.kind == kind
        assert list(found.schema(operation.result.schema or Part({}, get.where)).properties) == ["id"]
    (left,) = found.left_out
    assert (left.operation, left.reason) == ("NO GO /x", "'NO GO' is not a valid HTTP method")
    pet = {"oneOf": [{"$ref": "#/components/schemas/Cat"}, {"$ref": "#/components/schemas/Dog"}],
           "discriminator": {"propertyName": "kind", "mapping": {"cat": "Cat"}, "defaultMapping": "Dog"}}  # fmt: skip
    animals = {name: {"type": "object", "properties": {"kind": {"type": "string"}}} for name in ("Cat", "Dog")}
    schema, found = schema_of(pet, tmp_path, version="3.2.0", **animals)
    assert schema.discriminator is not None and schema.discriminator.default is not None
    assert found.schema(schema.discriminator.default).name == "Dog"
    assert found.schema(schema.discriminator.mapping["cat"]).name == "Cat"


def test_reader_bounds_have_one_form(tmp_path: Path) -> None:
    """`exclusiveMinimum` as a number, whatever the version writes."""
    for bound in ({"minimum": 1, "exclusiveMinimum": True}, {"exclusiveMinimum": 1}):
        schema, _ = schema_of({"type": "integer", **bound}, tmp_path)
        assert schema.bounds == {"exclusiveMinimum": 1}


# ----------------------------------------------------------------------------------------------------- references


@pytest.mark.parametrize(
    ("reference", "code"),
    [
        ("#/components/schemas/No", "ref-missing"),
        ("no.json", "ref-missing"),
        ("#/components/schemas/Circle", "ref-cycle"),
        ("../outside.json", "ref-outside"),
        ("/etc/passwd", "ref-outside"),
        ("file:///etc/hosts.json", "ref-outside"),
        ("secret.txt", "ref-outside"),
        ("https://elsewhere.example/a.json", "ref-remote"),
        ("http://elsewhere.example/a.json#/x", "ref-remote"),
    ],
)
def test_reader_references_that_lead_nowhere(reference: str, code: str, tmp_path: Path) -> None:
    """What they stand for is any; the finding stands at the reference."""
    (tmp_path / "outside.json").write_text("{}")
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "secret.txt").write_text("{}")
    circle: dict[str, Any] = {
        name: {"$ref": f"#/components/schemas/{other}"} for name, other in (("Circle", "Other"), ("Other", "Circle"))
    }
    schema, found = schema_of({"$ref": reference}, inner, **circle)
    assert schema.type == "any"
    assert codes(found) == [code]
    assert found.findings[0].where.pointer.endswith("/$ref")


def test_reader_references_lead_through_files(tmp_path: Path) -> None:
    """Relative to the file that they stand in, with percent-escapes and `~1`, to names of their own too."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/more.yaml").write_text(
        "a/b:\n  x y: {type: object, properties: {back: {$ref: '../openapi.json#/components/schemas/Pet'}}}\n"
        "named: {$anchor: here, type: integer}\n"
        "identified: {$id: 'https://shop.example/id', $defs: {in: {type: boolean}}, type: number}\n"
        "byid: {$ref: 'https://shop.example/id#/$defs/in'}\n"
    )
    for reference, type_ in (
        ("sub/more.yaml#/a~1b/x%20y", "object"),
        ("sub/more.yaml#here", "integer"),
        ("./sub/../sub/more.yaml#/identified", "number"),
        ("sub/more.yaml#/byid", "boolean"),
    ):
        schema, found = schema_of({"$ref": reference}, tmp_path, Pet={"type": "string"})
        assert (schema.type, codes(found)) == (type_, [])
        if type_ == "object":
            assert found.schema(schema.properties["back"]).name == "Pet"


def test_reader_links_that_lead_out_of_the_root_are_followed_and_refused(tmp_path: Path) -> None:
    """A symbolic link counts as what it leads to; `--root` may name a larger folder."""
    (tmp_path / "outside.json").write_text('{"type": "integer"}')
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "link.json").symlink_to(tmp_path / "outside.json")
    schema, found = schema_of({"$ref": "link.json"}, inner)
    assert (schema.type, codes(found)) == ("any", ["ref-outside"])
    wider = read(Files(str(inner / "openapi.json"), tmp_path))
    assert wider.schema(wider.operations[0].result.schema or Part({}, wider.operations[0].where)).type == "integer"


# ------------------------------------------------------------------------------------------------ paths and parameters


def test_reader_parameters_of_paths(tmp_path: Path) -> None:
    """Undeclared ones are texts, declared ones that are not in the path are left out, all are required."""
    item = {
        "parameters": [
            {"name": "gone", "in": "path", "required": True, "schema": {"type": "string"}},
            {"name": "b", "in": "path", "required": False, "schema": {"type": "integer"}},
            {"name": "q", "in": "query", "schema": {"type": "string"}},
        ],
        "get": {"responses": OK, "parameters": [{"name": "q", "in": "query", "schema": {"type": "integer"}}]},
    }
    found = read_tree(document({"/x/{a}/{b}": item}), tmp_path)
    (operation,) = found.operations
    assert [(one.name, one.place, one.required, found.schema(one.schema).type) for one in operation.parameters] == [
        ("a", "path", True, "string"), ("b", "path", True, "integer"), ("q", "query", False, "integer")
    ]  # fmt: skip
    assert codes(found) == ["parameter-undeclared", "parameter-unused"]


def test_reader_templates_of_one_shape(tmp_path: Path) -> None:
    """Where both read, the second is left out; mutations stay."""
    paths = {path: {"get": {"responses": OK}, "post": {"responses": OK}} for path in ("/x/{a}", "/x/{b}")}
    found = read_tree(document(paths), tmp_path)
    assert operations(found) == ["GET /x/{a}", "POST /x/{a}", "POST /x/{b}"]
    assert [(one.operation, one.reason) for one in found.left_out] == [("GET /x/{b}", "it has the path of GET /x/{a}")]
    assert codes(found).count("path-twice") == 1


# ------------------------------------------------------------------------------------------------------ the whole


def test_reader_what_is_not_carried_is_counted(tmp_path: Path) -> None:
    """Webhooks, callbacks, links, response headers, and the bounds and patterns that are not of parameters."""
    answer = {"200": {"description": "", "headers": {"A": {}, "B": {}}, "links": {"l": {}}}}
    operation = {
        "responses": answer,
        "callbacks": {"c": {}},
        "parameters": [{"name": "q", "in": "query", "schema": {"type": "string", "pattern": "x", "maxLength": 3}}],
    }
    schema = {"type": "object", "properties": {"pattern": {"type": "string", "pattern": "a", "minLength": 1}}}
    found = read_tree(document({"/x": {"get": operation}}, {"S": schema}, webhooks={"w": {}}), tmp_path)
    assert found.not_carried == {
        "webhook": 1, "callback": 1, "link": 1, "response header": 2, "bound": 1, "pattern": 1
    }  # fmt: skip


def test_reader_whether_a_document_says_what_is_required(tmp_path: Path) -> None:
    """Anywhere, files that it refers to included."""
    paths = {"/x": {"get": {"responses": OK, "parameters": [{"name": "q", "in": "query", "required": True}]}}}
    assert not read_tree(document(paths), tmp_path).names_required
    assert read_tree(document(paths, {"A": {"required": ["a"]}}), tmp_path).names_required
    assert read_tree(document(paths, {"A": {"$ref": "a.json"}}), tmp_path, a={"required": ["a"]}).names_required


@pytest.mark.parametrize(
    "broken",
    [
        {"paths": []}, {"paths": {"/x": 5}}, {"paths": {"/x": {"get": []}}}, {"info": 3}, {"components": []},
        {"paths": {"/x": {"get": {"parameters": 5}}}}, {"paths": {"/x": {"get": {"parameters": [5]}}}},
        {"paths": {"/x": {"get": {"requestBody": 5, "responses": 5}}}},
        {"paths": {"/x": {"get": {"requestBody": {"content": 5}, "responses": {"200": 5}}}}},
        {"paths": {"/x": {"get": {"responses": {"200": {"content": {"application/json": {"schema": 5}}}}}}}},
        {"paths": {"/x": {"get": {"tags": 5, "security": 5, "servers": 5, "operationId": [], "responses": OK}}}},
        {"security": 5, "tags": [5], "servers": [5]},
    ],
)  # fmt: skip
def test_reader_values_of_the_wrong_kind_are_absent(broken: Any, tmp_path: Path) -> None:
    """A document that holds anything anywhere is read; what is passed over is told."""
    found = read_tree({**document(), **broken}, tmp_path)
    assert set(codes(found)) <= {"malformed", "no-success"}


def test_reader_operation_that_is_a_reference_is_read_where_it_leads(tmp_path: Path) -> None:
    """Large documents keep each operation in a file of its own."""
    (tmp_path / "list.yaml").write_text("operationId: listThings\nresponses: {'200': {description: ''}}\n")
    source = tmp_path / "api.yaml"
    source.write_text(
        "openapi: 3.0.0\ninfo: {title: A, version: '1'}\n"
        "paths: {/things: {get: {$ref: list.yaml}, post: {$ref: missing.yaml}}}\n"
    )
    document = read(Files(str(source)))
    assert [(each.method, each.operation_id) for each in document.operations] == [("GET", "listThings"), ("POST", "")]
    assert "ref-missing" in {finding.code for finding in document.findings}
