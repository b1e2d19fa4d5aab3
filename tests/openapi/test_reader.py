"""Documents of every version are read into one form, and no oddity of theirs is lost without a word."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.openapi.documents import OK, codes, document, read_tree, schema_of, swagger

from restencil_generator.exceptions import Failure
from restencil_generator.openapi.document.files import Files
from restencil_generator.openapi.document.model import Operation, Part
from restencil_generator.openapi.document.reader import read


def operations(found: Any) -> list[str]:
    return [operation.text for operation in found.operations]


def only(paths: Any, folder: Path, **more: Any) -> Operation:
    (operation,) = read_tree(document(paths, **more), folder).operations
    return operation


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
    assert [(one.code, one.message, one.severity) for one in found.findings] == [
        ("version-newer", "OpenAPI 3.7.0 is newer than 3.2; it is read as 3.2", "note")
    ]


# ------------------------------------------------------------------------------------------------------- versions


def test_reader_swagger_2_is_lifted(tmp_path: Path) -> None:
    """Host, basePath and schemes; consumes and produces; body and formData; collectionFormat; files; x-nullable."""
    pet = {"type": "object", "properties": {"name": {"type": "string", "x-nullable": True}}}
    tree = swagger(
        {
            "/pets": {
                "post": {
                    "parameters": [
                        {"in": "body", "name": "b", "required": True, "schema": {"$ref": "#/definitions/Pet"}}
                    ],
                    "responses": {"200": {"description": "", "schema": {"$ref": "#/definitions/Pet"}}},
                },
                "get": {
                    "parameters": [
                        {"in": "query", "name": name, "type": "array", "items": {"type": "string"}, **form}
                        for name, form in (
                            ("a", {}),
                            ("b", {"collectionFormat": "multi"}),
                            ("c", {"collectionFormat": "pipes"}),
                        )
                    ],
                    "produces": ["text/plain"],
                    "responses": {"200": {"description": "", "schema": {"type": "string"}}},
                },
            },
            "/upload": {
                "post": {
                    "consumes": ["multipart/form-data"],
                    "parameters": [
                        {"in": "formData", "name": "photo", "type": "file", "required": True},
                        {"in": "formData", "name": "note", "type": "string"},
                    ],
                    "responses": {"204": {"description": ""}},
                }
            },
        },
        basePath="/v1/",
        schemes=["http", "https"],
        definitions={"Pet": pet},
        securityDefinitions={
            "basic": {"type": "basic"},
            "flow": {"type": "oauth2", "flow": "application", "tokenUrl": "/token", "scopes": {"a": ""}},
        },
    )
    found = read_tree(tree, tmp_path)
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
    assert {name: found.schema(part).format for name, part in form.properties.items()} == {
        "photo": "binary",
        "note": "",
    }
    assert form.required == {"photo"}
    basic, flow = found.schemes["basic"], found.schemes["flow"]
    assert (basic.type, basic.scheme) == ("http", "basic")
    assert (flow.flows[0].kind, flow.flows[0].token_url, flow.flows[0].scopes) == (
        "clientCredentials",
        "/token",
        ("a",),
    )


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
    assert [(one.operation, one.reason) for one in found.left_out] == [
        ("NO GO /x", "'NO GO' is not a valid HTTP method")
    ]
    pet = {"oneOf": [{"$ref": "#/components/schemas/Cat"}, {"$ref": "#/components/schemas/Dog"}],
           "discriminator": {"propertyName": "kind", "mapping": {"cat": "Cat"}, "defaultMapping": "Dog"}}  # fmt: skip
    animals = {name: {"type": "object", "properties": {"kind": {"type": "string"}}} for name in ("Cat", "Dog")}
    schema, found = schema_of(pet, tmp_path, version="3.2.0", **animals)
    assert schema.discriminator is not None and schema.discriminator.default is not None
    assert found.schema(schema.discriminator.default).name == "Dog"
    assert found.schema(schema.discriminator.mapping["cat"]).name == "Cat"


@pytest.mark.parametrize(
    ("value", "type_", "nullable"),
    [
        ({"type": "string", "nullable": True}, "string", True),
        ({"type": ["string", "null"]}, "string", True),
        ({"oneOf": [{"type": "integer"}, {"type": "null"}]}, "integer", True),
        ({"enum": ["a", None]}, "string", True),
        ({"type": "null"}, "any", True),
        ({"const": None}, "any", True),
        ({"type": ["integer", "string"]}, "one_of", False),
        ({"properties": {"a": {}}}, "object", False),
        ({"items": {"type": "string"}}, "array", False),
        ({"prefixItems": [{}]}, "array", False),
        ({"enum": [1, 2]}, "integer", False),
        ({"const": "x"}, "string", False),
        ({"format": "date-time"}, "string", False),
        ({"format": "int64"}, "integer", False),
        ({"format": "my-own"}, "any", False),
        ({}, "any", False),
        (True, "any", False),
        ({"not": {}}, "any", False),
    ],
)
def test_reader_types_are_those_that_are_meant(value: Any, type_: str, nullable: bool, tmp_path: Path) -> None:
    """`nullable` and null among the types are one; without a type the schema tells what it is."""
    schema, found = schema_of(value, tmp_path)
    assert (schema.type, schema.nullable, codes(found)) == (type_, nullable, [])


@pytest.mark.parametrize(
    ("name", "type_", "format_"),
    [
        ("int", "integer", ""), ("str", "string", ""), ("float", "number", ""), ("date", "string", "date"),
        ("timestamp", "string", "date-time"), ("dict", "object", ""), ("String", "string", ""), ("bool", "boolean", ""),
        ("potato", "any", ""),
    ],
)  # fmt: skip
def test_reader_types_that_do_not_exist(name: str, type_: str, format_: str, tmp_path: Path) -> None:
    """The meant type is read, and it is said."""
    schema, found = schema_of({"type": name}, tmp_path)
    assert (schema.type, schema.format) == (type_, format_)
    assert [one.message for one in found.findings] == [f"'{name}' is not a type of JSON Schema; read as {type_}"]


def test_reader_file_is_bytes(tmp_path: Path) -> None:
    """`type: file` is meant as binary, and nobody is told."""
    schema, found = schema_of({"type": "object", "properties": {"f": {"type": "file"}}}, tmp_path)
    inner = found.schema(schema.properties["f"])
    assert (inner.type, inner.format, codes(found)) == ("string", "binary", [])


def test_reader_bounds_have_one_form(tmp_path: Path) -> None:
    """`exclusiveMinimum` as a number, whatever the version writes."""
    for bound in ({"minimum": 1, "exclusiveMinimum": True}, {"exclusiveMinimum": 1}):
        schema, _ = schema_of({"type": "integer", **bound}, tmp_path)
        assert schema.bounds == {"exclusiveMinimum": 1}


# --------------------------------------------------------------------------------------------------------- values


@pytest.mark.parametrize(
    ("value", "enum", "found_codes"),
    [
        ({"type": "string", "enum": []}, (), ["enum-empty"]),
        ({"type": "string", "enum": ["a", None, "b"]}, ("a", "b"), []),
        ({"type": "boolean", "enum": [True, False]}, (), ["enum-mixed"]),
        ({"type": "number", "enum": [1.5, 2]}, (), ["enum-mixed"]),
        ({"enum": [{"a": 1}, "x"]}, (), ["enum-mixed"]),
        ({"enum": ["a", 1]}, (), ["enum-mixed"]),
        ({"type": "string", "enum": ["a", 1, True]}, ("a", "1", "true"), []),
        ({"type": "integer", "enum": [3, 1]}, (3, 1), []),
        ({"type": "string", "enum": "a"}, (), ["malformed"]),
    ],
)
def test_reader_enums(value: Any, enum: Any, found_codes: list[str], tmp_path: Path) -> None:
    """Texts or integers; whatever else stands there is its type alone."""
    schema, found = schema_of(value, tmp_path)
    assert (schema.enum, codes(found)) == (enum, found_codes)


def test_reader_names_of_constants(tmp_path: Path) -> None:
    """Those of `x-enum-varnames` and `x-enumNames` that are names count."""
    for key in ("x-enum-varnames", "x-enumNames"):
        assert schema_of({"enum": [1, 2], key: ["One", "Two"]}, tmp_path)[0].enum_names == ("One", "Two")
        assert schema_of({"enum": [1, 2], key: ["One", "2 many"]}, tmp_path)[0].enum_names == ()


def test_reader_default_that_does_not_fit_is_left_out(tmp_path: Path) -> None:
    """It is a finding, at the default."""
    schema, found = schema_of({"type": "integer", "default": "many"}, tmp_path)
    assert schema.default is None
    (finding,) = found.findings
    assert finding.message == "the default 'many' does not fit integer; it is left out"
    assert finding.where.pointer.endswith("/schema/default")
    assert schema_of({"type": "integer", "default": 3}, tmp_path)[0].default == 3


# ------------------------------------------------------------------------------------------------- several schemas


def test_reader_all_of_is_flat(tmp_path: Path) -> None:
    """Properties in order, `required` united; what both parts say of a property holds."""
    one = {"type": "object", "required": ["a"], "properties": {"a": {"type": "number"}, "b": {"type": "string"}}}
    two = {"required": ["c"], "properties": {"c": {}, "a": {"type": "integer"}}}
    schema, found = schema_of(
        {"allOf": [{"$ref": "#/components/schemas/One"}, two], "description": "both"}, tmp_path, One=one
    )
    assert (list(schema.properties), schema.required, schema.description) == (["a", "b", "c"], frozenset("ac"), "both")
    assert found.schema(schema.properties["a"]).type == "integer"
    assert codes(found) == []


def test_reader_parts_of_all_of_that_disagree(tmp_path: Path) -> None:
    """A property that is two things at once is any, and it is said."""
    parts = [{"properties": {"a": {"type": kind}}} for kind in ("string", "integer")]
    schema, found = schema_of({"allOf": parts}, tmp_path)
    assert found.schema(schema.properties["a"]).type == "any"
    assert codes(found) == ["allof-conflict"]
    assert found.findings[0].message == "the value of 'a' is string and integer at once; read as any"


def test_reader_one_part_is_the_schema_itself(tmp_path: Path) -> None:
    """`allOf`, `oneOf` and `anyOf` of one are that one, with what is said beside it."""
    for key in ("allOf", "oneOf", "anyOf"):
        value = {key: [{"$ref": "#/components/schemas/Pet"}], "description": "here", "nullable": True}
        schema, found = schema_of(value, tmp_path, Pet={"type": "object", "description": "there"})
        assert (schema.name, schema.at.pointer) == ("Pet", "/components/schemas/Pet")
        assert (schema.description, schema.nullable, codes(found)) == ("here", True, [])


def test_reader_alternatives_have_what_stands_beside_them(tmp_path: Path) -> None:
    """Properties beside `oneOf` belong to each; alternatives that only require something are none."""
    value = {"properties": {"id": {}}, "oneOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]}
    schema, found = schema_of(value, tmp_path)
    assert [sorted(found.schema(part).properties) for part in schema.alternatives] == [["a", "id"], ["b", "id"]]
    value = {"type": "object", "properties": {"id": {}}, "anyOf": [{"required": ["id"]}, {"required": ["x"]}]}
    schema, _ = schema_of(value, tmp_path)
    assert (schema.type, list(schema.properties)) == ("object", ["id"])


def test_reader_parent_that_names_its_children_is_their_parent(tmp_path: Path) -> None:
    """`oneOf` of a parent that its alternatives extend leads to no circle."""
    pet = {"properties": {"name": {}}, "oneOf": [{"$ref": "#/components/schemas/Cat"}]}
    cat = {"allOf": [{"$ref": "#/components/schemas/Pet"}, {"properties": {"claws": {}}}]}
    schema, found = schema_of({"$ref": "#/components/schemas/Cat"}, tmp_path, Pet=pet, Cat=cat)
    assert "claws" in schema.properties
    assert schema.name == "Cat"
    assert codes(found) == []


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


def test_reader_members_beside_a_reference(tmp_path: Path) -> None:
    """They are laid over it from 3.1 on; before, only description and deprecated are."""
    pet = {"type": "object", "properties": {"a": {}}}
    value = {"$ref": "#/components/schemas/Pet", "description": "here", "readOnly": True, "required": ["a"]}
    new, _ = schema_of(value, tmp_path, Pet=pet)
    old, _ = schema_of(value, tmp_path, version="3.0.3", Pet=pet)
    assert (new.description, new.read_only, new.required) == ("here", True, frozenset("a"))
    assert (old.description, old.read_only, old.required, old.name) == ("here", False, frozenset(), "Pet")


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


def test_reader_path_parameters_in_label_and_matrix_style_have_their_prefix(tmp_path: Path) -> None:
    """Their values are sent after `.` and `;name=`."""
    styles = {"a": "simple", "b": "label", "c": "matrix"}
    parameters = [
        {"name": name, "in": "path", "required": True, "style": style, "schema": {"type": "string"}}
        for name, style in styles.items()
    ]
    found = read_tree(document({"/x/{a}/{b}/{c}": {"get": {"responses": OK, "parameters": parameters}}}), tmp_path)
    assert found.operations[0].path == "/x/{a}/.{b}/;c={c}"


def test_reader_cookies_are_reported(tmp_path: Path) -> None:
    """They are no arguments of calls; so is a parameter for the whole header."""
    parameters = [
        {"name": "session", "in": "cookie", "required": True, "schema": {"type": "string"}},
        {"name": "Cookie", "in": "header", "schema": {"type": "string"}},
    ]
    found = read_tree(document({"/x": {"get": {"responses": OK, "parameters": parameters}}}), tmp_path)
    advice = "set cookies at the HTTP client, or declare `auth: {cookie: …}`"
    assert [(each.code, each.message) for each in found.findings] == [
        ("parameter-cookie", f"the cookie 'session' is left out ({advice})"),
        ("parameter-cookie", f"the cookie 'Cookie' is left out ({advice})"),
    ]


def test_reader_templates_of_one_shape(tmp_path: Path) -> None:
    """Where both read, the second is left out; mutations stay."""
    paths = {path: {"get": {"responses": OK}, "post": {"responses": OK}} for path in ("/x/{a}", "/x/{b}")}
    found = read_tree(document(paths), tmp_path)
    assert operations(found) == ["GET /x/{a}", "POST /x/{a}", "POST /x/{b}"]
    assert [(one.operation, one.reason) for one in found.left_out] == [("GET /x/{b}", "it has the path of GET /x/{a}")]
    assert codes(found).count("path-twice") == 1


def test_reader_operation_ids_that_are_given_twice(tmp_path: Path) -> None:
    """It is a finding."""
    found = read_tree(document({f"/{x}": {"get": {"operationId": "a", "responses": OK}} for x in "xy"}), tmp_path)
    assert codes(found) == ["operation-id-twice"]


def test_reader_fragments_and_queries_in_paths(tmp_path: Path) -> None:
    """A fragment is cut off, a query is literal; a required header with one value is sent by every call."""
    target = {"name": "X-Target", "in": "header", "required": True, "schema": {"type": "string", "enum": ["A.b"]}}
    paths = {
        "/#X-Target=A.b": {"post": {"responses": OK, "parameters": [target]}},
        "/a?type=x&y": {"get": {"responses": OK}},
    }
    found = read_tree(document(paths), tmp_path)
    posted, got = found.operations
    assert (posted.path, posted.headers, posted.parameters) == ("/", (("X-Target", "A.b"),), ())
    assert (got.path, got.query) == ("/a", (("type", "x"), ("y", "")))
    assert codes(found) == ["path-fragment", "path-fragment"]


# -------------------------------------------------------------------------------------------------------- responses


def answers(**by_status: Any) -> dict[str, Any]:
    return {
        "/x": {
            "get": {
                "responses": {status.lstrip("s"): {"description": "", **value} for status, value in by_status.items()}
            }
        }
    }


def content(schema: Any, *types: str) -> dict[str, Any]:
    return {"content": {kind: {"schema": schema} for kind in types or ("application/json",)}}


def test_reader_which_answer_is_the_success(tmp_path: Path) -> None:
    """2xx, else 2XX, else default, else none."""
    text = content({"type": "string"})
    assert only(answers(s200=text, s404=text, default=text), tmp_path).result.statuses == ("200",)
    assert [one.status for one in only(answers(s200=text, s404=text, default=text), tmp_path).errors] == [
        "404",
        "default",
    ]
    assert only(answers(s2XX=text, default=text), tmp_path).result.statuses == ("2XX",)
    alone = only(answers(default=text, s400=text), tmp_path)
    assert (alone.result.statuses, [one.status for one in alone.errors]) == (("default",), ["400"])
    found = read_tree(document(answers(s302={})), tmp_path)
    assert (found.operations[0].result.schema, codes(found)) == (None, ["no-success"])
    (finding,) = read_tree(document(answers(default=text, s400=text)), tmp_path).findings
    assert (finding.code, finding.message) == (
        "no-success", "this operation has no success response; 'default' is read as one",
    )  # fmt: skip


def test_reader_several_successes(tmp_path: Path) -> None:
    """Different schemas are one of them; an empty one makes it optional."""
    found = read_tree(
        document(answers(s200=content({"type": "string"}), s201=content({"type": "integer"}), s204={})), tmp_path
    )
    result = found.operations[0].result
    assert result.schema is not None and result.optional
    schema = found.schema(result.schema)
    assert [found.schema(part).type for part in schema.alternatives] == ["string", "integer"]
    same = only(answers(s200=content({"type": "string"}), s201=content({"type": "string"})), tmp_path).result
    assert same.schema is not None and not same.schema.made and not same.optional


def test_reader_json_beside_others(tmp_path: Path) -> None:
    """JSON is read; an event stream stands beside it; XML alone is text."""
    plain = {"type": "object"}
    found = read_tree(document(answers(s200=content(plain, "text/html", "application/json"))), tmp_path)
    assert found.operations[0].result.content is not None and found.operations[0].result.content.kind == "json"
    (finding,) = found.findings
    assert finding.message == "text/html next to application/json: only application/json is read"
    found = read_tree(document(answers(s200=content(plain, "text/event-stream", "application/json"))), tmp_path)
    result = found.operations[0].result
    assert result.content is not None and result.stream is not None
    assert (result.content.kind, result.stream.kind, codes(found)) == ("json", "sse", [])
    found = read_tree(document(answers(s200=content(plain, "application/xml"))), tmp_path)
    result = found.operations[0].result
    assert result.content is not None
    assert (result.content.kind, result.content.type, codes(found)) == ("text", "application/xml", ["xml-as-text"])


# ------------------------------------------------------------------------------------------------------ the whole


@pytest.mark.parametrize(
    ("more", "urls", "found_codes"),
    [
        ({"servers": [{"url": "https://a.example/"}, {"url": "//b.example"}, {"url": "c.example/v1"}]},
         ["https://a.example", "https://b.example", "https://c.example/v1"], []),
        ({"servers": [{"url": "/v1"}]}, [], ["server-relative"]),
        ({"servers": [{"url": "/v1"}, {"url": "https://a.example"}]}, ["https://a.example"], ["server-relative"]),
        ({"servers": "https://a.example"}, [], []),
        ({"servers": [{"url": 5}, {"url": "https://{region}.example"}]}, ["https://{region}.example"], ["malformed"]),
    ],
)  # fmt: skip
def test_reader_servers(more: Any, urls: list[str], found_codes: list[str], tmp_path: Path) -> None:
    """Absolute ones count; where the address of the document is not known, relative ones are left out."""
    found = read_tree(document({"/x": {"get": {"responses": OK}}}, **more), tmp_path)
    assert ([server.url for server in found.servers], codes(found)) == (urls, found_codes)


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
