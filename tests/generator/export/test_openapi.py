"""A spec as an OpenAPI document: valid, without secrets, and the same spec again when it is imported."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from openapi_spec_validator import validate
from tests.effort import examples
from tests.generator.declared import declared
from tests.generator.projects import process, restencil
from tests.generator.specs_at_random import specs, yaml_text
from tests.libraries import httpx
from tests.patience import PATIENCE

from restencil_generator.api import load
from restencil_generator.mock import create_app
from restencil_generator.openapi.export.document import export, text_of
from restencil_generator.openapi.export.embed import restored
from restencil_generator.openapi.spec_tree import Tree
from restencil_generator.openapi.spec_writer import write
from restencil_generator.spec.load import load_text, written_in, written_values
from restencil_generator.spec.model import Spec

ROOT = Path(__file__).resolve().parents[3]
SPECS = sorted((ROOT / "specs").glob("*.yaml"))
OURS = [*(ROOT / "tests" / "openapi" / "specs").glob("*.yaml"), *(ROOT / "tests/generator/loading").glob("*.yaml")]
Version = Literal["3.0", "3.1"]
VERSIONS: tuple[Version, ...] = ("3.1", "3.0")


def document(text: str, version: Version = "3.1", *, plain: bool = True) -> Any:
    """The document of a spec."""
    return export(declared(text), version, plain=plain, written=written_in([text]))


def again(made: Any) -> Spec:
    """The spec that a document says it is."""
    found = restored(json.loads(text_of(made, "json")))
    assert found is not None
    return declared(write(Tree(found.spec)))


def without_extension(made: Any) -> Any:
    """A document, or a part of one, without all that is ours."""
    if isinstance(made, dict):
        return {name: without_extension(part) for name, part in made.items() if name != "x-restencil"}
    return [without_extension(part) for part in made] if isinstance(made, list) else made


@pytest.mark.parametrize(
    ("path", "version"),
    [
        *(pytest.param(path, "3.1", id=f"{path.stem}-3.1") for path in (*SPECS, *sorted(OURS))),
        pytest.param(ROOT / "specs" / "market.yaml", "3.0", id="market-3.0"),
        pytest.param(ROOT / "tests/generator/loading/consistency.yaml", "3.0", id="consistency-3.0"),
    ],
)
def test_openapi_every_spec_gives_a_valid_document_and_comes_back(path: Path, version: Version) -> None:
    """In both versions, with `x-restencil` and without; what is read back, and what an import wrote, has its digest."""
    spec, written = load(path), written_values(path)
    made = export(spec, version, written=written)
    validate(made)
    assert "x-restencil" in json.dumps(made)
    assert export(spec, version, plain=True, written=written) == without_extension(made)
    assert again(made).digest == spec.digest


@settings(max_examples=examples(1))
@given(specs())
def test_openapi_specs_at_random_give_valid_documents_and_come_back(data: Any) -> None:
    """Whatever a spec says, its document is valid, and the spec is in it."""
    text = yaml_text(data)
    spec = load_text(text).declaration
    if spec is None:
        return
    for version in VERSIONS:
        made = document(text, version, plain=False)
        validate(made)
        assert again(made).digest == spec.digest


SHOP = (Path(__file__).parent / "shop.yaml").read_text("utf-8")


def test_openapi_endpoint_is_an_operation() -> None:
    """With its names, parameters by place and name, and what two members of one request have together."""
    paths = document(SHOP)["paths"]
    listed = paths["/items"]["get"]
    assert (listed["operationId"], listed["tags"]) == ("items_get_list", ["items"])
    assert [(one.get("in"), one.get("name"), one.get("$ref")) for one in listed["parameters"]] == [
        *((None, None, f"#/components/parameters/{name}") for name in ("tenant", "api_version")),
        *(("query", name, None) for name in ("filter", "ids", "page", "tags")),
    ]
    by_name = {one["name"]: one for one in listed["parameters"] if "name" in one}
    styles = {name: (by_name[name]["style"], by_name[name]["explode"]) for name in ("tags", "ids", "filter")}
    assert styles == {"tags": ("form", True), "ids": ("form", False), "filter": ("deepObject", True)}
    assert "required" not in by_name["page"]
    assert paths["/items"]["post"]["operationId"] == "items_create"
    hot = paths["/items/hot"]["get"]
    assert (hot["deprecated"], hot["description"]) == (True, "What is wanted.")
    fixed = {"name": "type", "in": "query", "required": True, "schema": {"type": "string", "const": "x"}}
    assert fixed in hot["parameters"]
    assert "/kinds/{kind}" in paths
    assert paths["/kinds"]["get"]["operationId"] == "items_by_kind_without_kind"


def test_openapi_members_of_one_request_are_reported_next_to_it() -> None:
    """The operation is that of `create`; the others stand under `x-restencil`."""
    made = document(SHOP, plain=False)
    assert made["paths"]["/items"]["post"]["x-restencil"]["members"] == ["items.create", "items.push", "items.unshift"]


def test_openapi_types_are_schemas() -> None:
    """Entities and their bodies, what may be null, nested entities in bodies, envelopes of answers."""
    made = document(SHOP)
    schemas = made["components"]["schemas"]
    assert schemas["Item"]["required"] == ["id", "title", "made_at"]
    assert schemas["Item"]["properties"]["id"] == {"type": "integer", "readOnly": True}
    assert schemas["ItemBody"]["required"] == ["title"]
    assert "id" not in schemas["ItemBody"]["properties"]
    maker = {"anyOf": [{"$ref": "#/components/schemas/MakerBody"}, {"type": "integer"}]}
    assert schemas["ItemBody"]["properties"]["maker"] == {"anyOf": [maker, {"type": "null"}]}
    assert schemas["State"] == {"type": "string", "enum": ["open", "closed"]}
    answer = made["paths"]["/items/{id}"]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    data = {"data": {"$ref": "#/components/schemas/Item"}}
    assert answer == {"type": "object", "properties": data, "required": ["data"]}
    assert made["paths"]["/items/{id}"]["delete"]["responses"]["204"] == {"description": "No Content"}
    old = document(SHOP, "3.0")["components"]["schemas"]
    assert old["Item"]["properties"]["state"] == {"allOf": [{"$ref": "#/components/schemas/State"}], "nullable": True}


def test_openapi_auth_servers_errors_and_arguments_of_the_client_have_their_places() -> None:
    """Security schemes and requirements, servers, answers by status, and parameters that are referred to."""
    made = document(SHOP)
    assert made["info"] == {"title": "Shop", "version": "1.2.0", "description": "What we sell."}
    assert made["security"] == [{"machine": ["read"]}, {"key": [], "token": []}, {}]
    assert made["paths"]["/login"]["post"]["security"] == []
    flow = {"tokenUrl": "https://auth.shop.example/token", "scopes": {"read": ""}}
    assert made["components"]["securitySchemes"] == {
        "key": {"type": "apiKey", "in": "header", "name": "X-Api-Key"},
        "machine": {"type": "oauth2", "flows": {"clientCredentials": flow}},
        "token": {"type": "http", "scheme": "bearer"},
    }
    assert made["servers"][0] == {"url": "https://api.shop.example/v1", "description": "production"}
    assert made["servers"][1]["variables"] == {"region": {"default": "us", "enum": ["eu", "us"]}}
    responses = made["paths"]["/items/{id}"]["get"]["responses"]
    assert responses["404"]["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/Problem"}
    assert responses["4XX"]["content"]["application/json"]["schema"] == {}
    assert made["components"]["parameters"]["api_version"]["schema"]["default"] == "2024-06"
    tenant = made["components"]["parameters"]["tenant"]
    assert "required" not in tenant, "an argument that an environment variable may give is required"


ITEMS = {"type": "array", "items": {"$ref": "#/components/schemas/Item"}}
PAGED = "schema: {collection: [Item]}, pagination_field"
ITEM_AND_OBJECTS = """
entities: {Item: {fields: {id: integer, title: string!}}}
objects: {A: {a: string}, B: {b: string}}
enums: {Region: [eu, us]}
"""


def answering(content: object, media: str = "application/json", **more: Any) -> dict[str, Any]:
    """The only response of an operation."""
    return {"200": {"description": "OK", "content": {media: {"schema": content}}, **more}}


def failing(schema: object, description: str) -> dict[str, Any]:
    """A response with an error."""
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def at_query(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "in": "query", **more}


@pytest.mark.parametrize(
    ("endpoint", "part", "expected"),
    [
        pytest.param("url_prefix: 'https://o.x'", "servers", [{"url": "https://o.x"}], id="a server of its own"),
        pytest.param("url_prefix: ''", "servers", [{"url": "/"}], id="no server"),
        pytest.param(
            "headers: {Accept: x/y, X-A: b}",
            "parameters",
            [{"name": "X-A", "in": "header", "required": True, "schema": {"type": "string", "const": "b"}}],
            id="a fixed header",
        ),
        pytest.param(
            "method: POST, header_params: {key: {type: string, in_key: false, auto: uuid}}",
            "parameters",
            [{"name": "Key", "in": "header", "schema": {"type": "string"}}],
            id="a header that the client makes",
        ),
        pytest.param(
            "params: {day: {type: datetime, format: unix, deprecated: Old., description: When.}}, path: '/it/:day'",
            "parameters",
            [
                {
                    "name": "day",
                    "in": "path",
                    "required": True,
                    "deprecated": True,
                    "description": "When.",
                    "schema": {"type": "integer", "format": "unix-time"},
                }
            ],
            id="a format in the path",
        ),
        pytest.param(
            "params: {ids: [integer]}, path: '/it/:ids'",
            "parameters",
            [
                {
                    "name": "ids",
                    "in": "path",
                    "required": True,
                    "style": "simple",
                    "explode": False,
                    "schema": {"type": "array", "items": {"type": "integer"}},
                }
            ],
            id="a list in the path",
        ),
        pytest.param(
            "search_params: {a: {type: A, optional: true, style: json}, b: {type: A, optional: true, style: brackets},"
            " c: {type: [string], style: brackets}}",
            "parameters",
            [
                at_query("a", content={"application/json": {"schema": {"$ref": "#/components/schemas/A"}}}),
                at_query("b", schema={"$ref": "#/components/schemas/A"}, style="deepObject", explode=True),
                at_query(
                    "c[]",
                    schema={"type": "array", "items": {"type": "string"}},
                    required=True,
                    style="form",
                    explode=True,
                ),
            ],
            id="styles of the query",
        ),
        pytest.param(
            f"method: POST, side_effect: false, request: {{in_key: true}}, body: {{page: integer?, limit: integer?}},"
            f" {PAGED}: page, pagination: {{style: page, in: body, size: {{param: limit, value: 5}}}}",
            "parameters",
            None,
            id="pages in the body",
        ),
        pytest.param(
            f"{PAGED}: page, pagination: {{style: link}}",
            "responses",
            answering(ITEMS, headers={"Link": {"schema": {"type": "string"}}}),
            id="a style with a header",
        ),
        pytest.param(
            f"{PAGED}: cursor, pagination: {{style: cursor, next: 'header:X-Next'}}",
            "responses",
            answering(ITEMS, headers={"X-Next": {"schema": {"type": "string"}}}),
            id="the next page in a header",
        ),
        pytest.param(
            "method: PATCH, body: {a: string}, request: {content_type: application/patch+json, optional: true}",
            "requestBody",
            {
                "content": {
                    "application/patch+json": {
                        "schema": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
                    }
                }
            },
            id="a body with a type of its own",
        ),
        pytest.param(
            "method: POST, body: text",
            "requestBody",
            {"content": {"text/plain": {"schema": {"type": "string"}}}, "required": True},
            id="a text as body",
        ),
        pytest.param(
            "content: stream",
            "responses",
            answering({"type": "string", "format": "binary"}, "application/octet-stream"),
            id="a stream",
        ),
        pytest.param("content: text", "responses", answering({"type": "string"}, "text/plain"), id="a text"),
        pytest.param(
            "schema: Item, response: {envelope: data.0}",
            "responses",
            answering(
                {
                    "type": "object",
                    "properties": {"data": ITEMS},
                    "required": ["data"],
                }
            ),
            id="an envelope with a list",
        ),
        pytest.param(
            "errors: {400: {one_of: [A, B]}, default: A, 5XX: A, 599: any}",
            "responses",
            {
                "200": {"description": "OK"},
                "400": failing({"oneOf": [{"$ref": f"#/components/schemas/{one}"} for one in "AB"]}, "Bad Request"),
                "default": failing({"$ref": "#/components/schemas/A"}, "Any other error"),
                "5XX": failing({"$ref": "#/components/schemas/A"}, "Server error"),
                "599": failing({}, "Error"),
            },
            id="errors",
        ),
    ],
)
def test_openapi_operation_has_what_its_endpoint_says(endpoint: str, part: str, expected: object) -> None:
    """Each part of an endpoint in the words of OpenAPI."""
    path = "" if "path: " in endpoint else "path: /it, "
    text = f"restencil: 1\npackage: shop\nurl_prefix: https://s.x\n{ITEM_AND_OBJECTS}"
    made = document(f"{text}resources: {{things: {{endpoints: {{it: {{{path}{endpoint}}}}}}}}}\n")
    (item,) = made["paths"].values()
    (operation,) = item.values()
    assert operation.get(part) == expected
    assert made["servers"] == [{"url": "https://s.x"}]


PETS = """
restencil: 1
package: shop
enums: {State: [open]}
entities:
  Cat: {fields: {id: integer, kind: {const: cat}}}
  Dog: {fields: {id: integer, kind: {const: dog}, owner: {type: string, param: owner}}}
  Item:
    fields:
      inline: {type: {enum: [a, b]}, optional: true}
      state: {type: State, description: How it is.}
      pet: {union: {cat: Cat, dog: Dog}, attribute: kind}
      pin: {type: string, write_only: true}
      mate: {type: Cat, send: pk}
      id: {type: integer, default: 1}
resources:
  items: {path: "/items/:id", schema: Item}
  dogs: {path: "/dogs/:owner/:id", schema: Dog}
"""


@pytest.mark.parametrize(("body", "sent"), [("", False), ("Body", True)], ids=["returned", "sent"])
def test_openapi_fields_are_properties(body: str, sent: bool) -> None:
    """Of records and of bodies, which have schemas of their own."""
    schemas = document(PETS)["components"]["schemas"]
    cat, dog = (f"#/components/schemas/{name}{body}" for name in ("Cat", "Dog"))
    assert schemas[f"Item{body}"]["properties"] == {
        "inline": {"type": ["string", "null"], "enum": ["a", "b", None]},
        "state": {"$ref": "#/components/schemas/State", "description": "How it is."},
        "pet": {
            "oneOf": [{"$ref": cat}, {"$ref": dog}],
            "discriminator": {"propertyName": "kind", "mapping": {"cat": cat, "dog": dog}},
        },
        **({"pin": {"type": "string", "writeOnly": True}} if sent else {}),
        "mate": {"type": "integer"} if sent else {"$ref": "#/components/schemas/Cat"},
        "id": {"type": "integer", "default": 1},
    }
    assert schemas["Dog"]["required"] == ["id", "kind"], "a parameter of the path is in no response"


def test_openapi_3_0_has_no_const_and_nothing_beside_a_reference() -> None:
    """Constants are enums of one value, and a reference with a description is wrapped."""
    schemas = document(PETS, "3.0")["components"]["schemas"]
    assert schemas["Cat"]["properties"]["kind"] == {"type": "string", "enum": ["cat"]}
    state = {"allOf": [{"$ref": "#/components/schemas/State"}], "description": "How it is."}
    assert schemas["Item"]["properties"]["state"] == state


def test_openapi_operations_that_have_no_place_are_left_out() -> None:
    """Methods that OpenAPI does not know, and the shorter form of a path that another endpoint has."""
    endpoints = "all: {path: '/it/:x?', description: All.}, it: {path: /it}, link: {path: /it, method: LINK}"
    paths = document(f"restencil: 1\npackage: shop\nresources: {{things: {{endpoints: {{{endpoints}}}}}}}\n")["paths"]
    named = [(path, method, item[method]["operationId"]) for path, item in paths.items() for method in item]
    assert named == [("/it", "get", "things_all_without_x"), ("/it/{x}", "get", "things_all")]


def test_openapi_endpoint_leaves_out_parameters_of_the_client() -> None:
    """It refers to those that it does not leave out."""
    endpoints = "all: {path: /all}, none: {path: /none, header_params: null}"
    paths = document(
        "restencil: 1\npackage: shop\nheader_params: {tenant: string}\nsearch_params: {v: string}\n"
        f"resources: {{things: {{endpoints: {{{endpoints}}}}}}}\n"
    )["paths"]
    names = {
        path: [one["$ref"].rpartition("/")[2] for one in item["get"]["parameters"]] for path, item in paths.items()
    }
    assert names == {"/all": ["tenant", "v"], "/none": ["v"]}


def test_openapi_bodies_of_updates_are_partial_where_the_spec_says_so() -> None:
    """Of the fields of an entity, and of members that are written out."""
    resource = "{path: '/items/:id', schema: Item, members: [update, partial_update]"
    paths = document(
        f"restencil: 1\npackage: shop\n{ITEM_AND_OBJECTS}resources:\n  items: {resource}}}\n  deprecated:\n"
        f"    {resource.replace('/items', '/old')}, deprecated: Old., description: Was., body: {{a: string}}}}\n"
    )["paths"]

    def required(path: str, method: str) -> object:
        schema = paths[path][method]["requestBody"]["content"]["application/json"]["schema"]
        return schema.get("$ref") or schema.get("required")

    bodies = [(path, method, required(path, method)) for path, item in paths.items() for method in item]
    assert bodies == [
        ("/items/{id}", "put", "#/components/schemas/ItemBody"),
        ("/items/{id}", "patch", "#/components/schemas/ItemPartialBody"),
        ("/old/{id}", "put", ["a"]),
        ("/old/{id}", "patch", None),
    ]
    assert [paths[path]["put"].get("deprecated") for path in paths] == [None, True]


def test_openapi_servers_and_schemes_have_descriptions() -> None:
    """Variables have the values of their enum, and a default in any case; OpenAPI knows no grant to refresh."""
    variables = "{r: {type: Region, description: Where.}, v: {type: string}}"
    made = document(
        f"restencil: 1\npackage: shop\n{ITEM_AND_OBJECTS}servers:\n"
        f"  a: {{url: 'https://{{r}}.x/{{v}}', description: Here., variables: {variables}}}\n"
        "auth:\n  schemes:\n    key: {header: X-Key, prefix: 'Token '}\n"
        "    again: {oauth2: {token_url: https://a.x/t, grant: refresh_token}}\n  use: [key, again]\n"
        "resources: {calls: {description: What is called., endpoints: {say: {path: /say}}}}\n"
    )
    assert made["servers"] == [
        {
            "url": "https://{r}.x/{v}",
            "description": "Here.",
            "variables": {"r": {"default": "eu", "enum": ["eu", "us"], "description": "Where."}, "v": {"default": "v"}},
        }
    ]
    assert made["components"]["securitySchemes"] == {
        "key": {"type": "apiKey", "in": "header", "name": "X-Key", "description": "after 'Token '"},
        "again": {"type": "http", "scheme": "bearer"},
    }
    assert made["tags"] == [{"name": "calls", "description": "What is called."}]


def test_openapi_no_secret_and_no_path_of_the_machine_is_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Names of variables may stand there, their values do not."""
    for name in ("SHOP_TOKEN", "SHOP_KEY", "SHOP_ID", "SHOP_SECRET", "SHOP_TENANT"):
        monkeypatch.setenv(name, "canary")
    (tmp_path / "shop.yaml").write_text(SHOP)
    printed = "".join(restencil("export", "openapi", tmp_path / "shop.yaml"))
    assert "canary" not in printed
    assert str(tmp_path) not in printed


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with the spec of a shop."""
    monkeypatch.chdir(tmp_path)
    Path("shop.yaml").write_text(SHOP)
    return tmp_path


def test_openapi_command_dash_is_stdout(folder: Path) -> None:
    """`-o -` prints the document, as without `-o`, and creates no file."""
    assert restencil("export", "openapi", "shop.yaml", "-o", "-") == restencil("export", "openapi", "shop.yaml")
    assert [path.name for path in folder.iterdir()] == ["shop.yaml"]


def test_openapi_command_pipe_is_written_to_and_not_replaced(folder: Path) -> None:
    """A pipe or a device, such as /dev/stdout, gets the document; it is neither read nor replaced by a file."""
    os.mkfifo("pipe")
    with subprocess.Popen(["cat", "pipe"], stdout=subprocess.PIPE, text=True) as reader:
        ended = process("export", "openapi", "shop.yaml", "-o", "pipe")
        document, _ = reader.communicate(timeout=PATIENCE)
    assert ended.returncode == 0, ended.stderr
    assert document == restencil("export", "openapi", "shop.yaml").out
    assert Path("pipe").is_fifo()


def test_openapi_command_link_is_followed(folder: Path) -> None:
    """The file that a link leads to is written, and the link stays."""
    Path("link.json").symlink_to("openapi.json")
    restencil("export", "openapi", "shop.yaml", "-o", "link.json")
    assert Path("link.json").is_symlink()
    assert json.loads(Path("openapi.json").read_text())["openapi"] == "3.1.1"


@pytest.mark.parametrize("name", ["openapi.json", "openapi.yaml"])
def test_openapi_command_writes_a_document_that_is_imported_as_the_spec(name: str, tmp_path: Path) -> None:
    """`restencil export openapi` and `restencil import` are the way there and back, a folder's spec too."""
    folder = tmp_path / "shop"
    folder.mkdir()
    head, _, tables = SHOP.partition("objects:")
    (folder / "spec.yaml").write_text(head)
    (folder / "tables.yaml").write_text(f"objects:{tables}")
    restencil("export", "openapi", folder, "-o", tmp_path / name)
    restencil("import", tmp_path / name, "--out", tmp_path / "again.yaml")
    assert load(tmp_path / "again.yaml").digest == declared(SHOP).digest


def test_openapi_export_that_was_broken_by_hand_is_read_as_any_document(tmp_path: Path) -> None:
    """What `x-restencil` says must be a spec; else that is said, and the rest of the document counts."""
    made = document(SHOP, plain=False)
    made["x-restencil"]["package"] = 7
    out = tmp_path / "openapi.json"
    out.write_text(text_of(made, "json"))
    restencil("import", out, "--package", "shop", "--out", tmp_path / "spec.yaml")
    made["x-restencil"]["auth"] = {"bearer": "secret"}
    out.write_text(text_of(made, "json"))
    said = restencil("import", out, "--package", "shop", "--out", tmp_path / "other.yaml").err
    assert "'x-restencil' is not a valid spec: 'bearer' of 'auth' must be true" in said
    load(tmp_path / "other.yaml")


# ---------------------------------------------------------------------------------------------------------- the mock


def asked(app: Any, path: str) -> httpx.Response:
    """What the mock answers."""

    async def send() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://mock.test:81") as client:
            return await client.get(path)

    return asyncio.run(send())


def test_openapi_mock_serves_its_documents_and_a_page() -> None:
    """Without a credential; the servers are its own address, and the page needs nothing from elsewhere."""
    app = create_app(declared(SHOP), auth_server=True)
    for path, version in (("/openapi.json", "3.1.1"), ("/openapi-3.0.json", "3.0.4")):
        for home in ("", "/_restencil"):
            made = asked(app, home + path).json()
            validate(made)
            assert (made["openapi"], made["servers"]) == (version, [{"url": "http://mock.test:81"}])
            flow = made["components"]["securitySchemes"]["machine"]["flows"]["clientCredentials"]
            assert flow["tokenUrl"] == "http://mock.test:81/token"
    page = asked(app, "/docs")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    start = asked(app, "/docs/start.js")
    assert start.headers["content-type"].startswith("text/javascript")
    assert '"validatorUrl": null' in start.text
    assert '"url": "openapi-3.0.json"' in start.text
    assert "http://" not in page.text
    assert "https://" not in page.text
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; ")
    assert "unsafe" not in policy.partition("script-src")[2].partition(";")[0]
    assert re.findall("<script[^>]*>(.*?)</script>", page.text, re.DOTALL) == ["", ""]
    for name, kind in (("swagger-ui.css", "text/css"), ("swagger-ui-bundle.js", "text/javascript")):
        asset = asked(app, f"/docs/{name}")
        assert asset.headers["content-type"].startswith(kind)
        assert len(asset.content) > 10_000
    assert asked(app, "/docs/../app.py").status_code == 404


def test_openapi_paths_of_the_api_come_first() -> None:
    """Where it has such a path itself, its own endpoint answers, and the documents stand under `/_restencil/`."""
    pages = "{path: '/:id', schema: {entity: Page, fields: {id: string}}}"
    text = f"restencil: 1\npackage: wiki\nresources: {{pages: {pages}}}\n"
    app = create_app(declared(text))
    assert asked(app, "/docs").json()["error"] == "not_found"  # a page that no one has written
    assert asked(app, "/_restencil/docs").status_code == 200
    assert asked(app, "/_restencil/openapi.json").json()["info"]["title"] == "wiki"


def test_openapi_each_of_several_apis_has_documents_of_its_own() -> None:
    """Below the name of its package."""
    app = create_app(declared(SHOP), declared("restencil: 1\npackage: other\n"))
    assert asked(app, "/shop/openapi.json").json()["servers"] == [{"url": "http://mock.test:81/shop"}]
    assert asked(app, "/other/docs").status_code == 200


def test_openapi_reading_back_counts_every_operation(tmp_path: Path) -> None:
    """What hangs on a list of one's own, and paths that leave out a parameter, are operations of the spec as well."""
    text = """
restencil: 1
package: shop
entities: {Order: {fields: {id: integer}}, Customer: {fields: {id: integer}}}
resources:
  orders: {path: "/orders/:id", schema: Order}
  customers:
    path: /customers/:id
    schema: Customer
    endpoints:
      orders: {path: "/customers/:id/orders", schema: {collection: [Order]}}
      reports: {path: "/reports/:year?", params: {year: integer}, schema: any}
"""
    made = document(text, plain=False)
    found = restored(made)
    assert found is not None
    places = {(path, method) for path, item in made["paths"].items() for method in item if method in ("get", "post")}
    assert places <= {place for _, place in found.members}
    names = [name for name, place in found.members if place == ("/customers/{id}/orders", "post")]
    assert sorted(names) == [("customers", "orders.push"), ("customers", "orders.unshift")]
    assert (("customers", "push"), ("/customers", "post")) in found.members
    source = tmp_path / "openapi.json"
    source.write_text(json.dumps(made), encoding="utf-8")
    told = restencil("import", source, "--out", tmp_path / "shop.yaml", "--format", "json")
    operations = told.document["operations"]
    assert operations["found"] == operations["covered"] == len({*places}) + 6
