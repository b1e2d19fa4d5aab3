"""Small documents: an operation or a schema with what a document needs around it, and what an import makes of them."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from restencil_generator.openapi.document.files import Files
from restencil_generator.openapi.document.model import Document, Schema
from restencil_generator.openapi.document.reader import read
from restencil_generator.openapi.infer.build import Made, make
from restencil_generator.openapi.infer.previous_choices import NOTHING, PreviousChoices
from restencil_generator.openapi.options import Options

# ------------------------------------------------------------------------------------------------------------- schemas

REF = "#/components/schemas/"


def ref(name: str) -> dict[str, Any]:
    """A reference to a schema."""
    return {"$ref": f"{REF}{name}"}


def record(*required: str, **properties: Any) -> dict[str, Any]:
    """A schema of an object; a property is a type or a schema."""
    shown = {key.rstrip("_"): {"type": value} if isinstance(value, str) else value for key, value in properties.items()}
    return {"type": "object", "properties": shown, **({"required": list(required)} if required else {})}


def many(items: Any) -> dict[str, Any]:
    """A schema of a list."""
    return {"type": "array", "items": items}


# ---------------------------------------------------------------------------------------------------------- operations


def responding(schema: Any, status: str = "200") -> dict[str, Any]:
    """Responses of one status with JSON."""
    return {status: {"description": "", "content": {"application/json": {"schema": schema}}}}


OK = responding({"type": "string"})


def operation(
    answer: Any = None, *, body: Any = None, query: Mapping[str, Any] | None = None, status: str = "200", **more: Any
) -> dict[str, Any]:
    """An operation that returns JSON, or with nothing."""
    parameters = [
        {"name": name, "in": "query", "schema": {"type": value} if isinstance(value, str) else value}
        for name, value in (query or {}).items()
    ]
    responses = {status: {"description": ""}} if answer is None else responding(answer, status)
    found: dict[str, Any] = {"responses": responses, **more}
    found["parameters"] = [*more.get("parameters", []), *parameters]
    if body is not None:
        found["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    return found


# ----------------------------------------------------------------------------------------------------------- documents


def document(
    paths: Mapping[str, Any] = {}, schemas: Mapping[str, Any] = {}, version: str = "3.1.0", **more: Any
) -> dict[str, Any]:
    """A document of 3.x."""
    return {
        "openapi": version,
        "info": {"title": "Shop", "version": "1"},
        "servers": [{"url": "https://shop.example"}],
        "paths": paths,
        "components": {"schemas": schemas},
        **more,
    }


def read_tree(tree: Any, folder: Path, **files: Any) -> Document:
    """What is read of a document; `files` are others beside it, by their names without `.json`."""
    for name, value in {"openapi": tree, **files}.items():
        (folder / f"{name}.json").write_text(json.dumps(value), encoding="utf-8")
    return read(Files(str(folder / "openapi.json")))


def codes(found: Document) -> list[str]:
    """The codes of the findings, in order."""
    return [finding.code for finding in found.findings]


def schema_of(value: Any, folder: Path, *, version: str = "3.1.0", **schemas: Any) -> tuple[Schema, Document]:
    """A schema as it is read where a response names it, and the document that it stands in."""
    found = read_tree(document({"/x": {"get": {"responses": responding(value)}}}, schemas, version), folder)
    part = found.operations[0].result.schema
    assert part is not None
    return found.schema(part), found


def made(
    paths: Mapping[str, Mapping[str, Any]],
    schemas: Mapping[str, Any] = {},
    options: Options = Options(),  # noqa: B008  # it never changes
    last: PreviousChoices = NOTHING,
    **more: Any,
) -> Made:
    """What an import makes of paths (each with its operations) and schemas; `last` is what the one before chose."""
    for path, operations in paths.items():
        names = [part.partition("}")[0] for part in path.split("{")[1:]]
        for each in operations.values():
            known = {parameter["name"] for parameter in each["parameters"]}
            declared = [name for name in names if name not in known]
            each["parameters"] = [
                *({"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in declared),
                *each["parameters"],
            ]
    own = {"info": {"title": "Small", "version": "1"}, "servers": [{"url": "https://small.example"}], **more}
    with tempfile.TemporaryDirectory() as folder:
        return make(read_tree(document(paths, schemas) | own, Path(folder)), options, "small", last)


def mixed() -> dict[str, Any]:
    """A document with a bit of everything."""
    ident = {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}
    cursor = {"name": "cursor", "in": "query", "schema": {"type": "string"}}
    body = {"required": True, "content": {"application/json": {"schema": ref("Order")}}}
    one, page = responding(ref("Order")), responding(record(data=ref("Orders"), next="string"))
    orders = {"tags": ["orders"], "responses": one}
    paths = {
        "/orders": {
            "get": {
                **orders,
                "responses": page | {"404": {"description": "no"}},
                "parameters": [cursor],
                "operationId": "listOrders",
            },
            "post": {**orders, "requestBody": body, "operationId": "createOrder"},
        },
        "/orders/{id}": {
            "parameters": [ident],
            "get": {**orders, "operationId": "getOrder"},
            "patch": {"requestBody": body, "responses": one},
            "delete": {"responses": {"204": {"description": ""}}},
        },
        "/orders/{id}/pay": {"post": {"parameters": [ident], "responses": {"202": {"description": ""}}}},
        "/status": {"get": {"responses": {"200": {"description": "", "content": {"text/plain": {}}}}}},
    }
    state = {"type": "string", "enum": ["new", "paid"], "default": "new", "description": "How far it is."}
    paid = {"oneOf": [ref("Card"), {"type": "null"}]}
    lines = many(record(sku="string"))
    schemas = {
        "Order": record("id", id="integer", customer=ref("Customer"), state=state, lines=lines, payment=paid),
        "Orders": many(ref("Order")),
        "Customer": {"allOf": [ref("Base"), {"properties": {"name": {"type": "string", "nullable": True}}}]},
        "Base": record(id={"type": "string", "format": "uuid"}, orders=ref("Orders")),
        "Card": record(kind={"const": "card"}, number="string"),
    }
    keys = {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}
    more: dict[str, Any] = {"components": {"schemas": schemas, "securitySchemes": keys}, "security": [{"key": []}]}
    more["servers"] = [{"url": "https://{region}.shop.example", "variables": {"region": {"default": "eu"}}}]
    return document(paths, **more) | {"info": {"title": "Shop", "version": "1", "description": "A shop."}}
