"""Small documents for tests: an operation or a schema, with what a document needs around it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from restencil_generator.openapi.document.files import Files
from restencil_generator.openapi.document.model import Document, Schema
from restencil_generator.openapi.document.reader import read

OK: Mapping[str, Any] = {"200": {"description": "", "content": {"application/json": {"schema": {"type": "string"}}}}}

REF = "#/components/schemas/"


def document(
    paths: Mapping[str, Any] | None = None,
    schemas: Mapping[str, Any] | None = None,
    version: str = "3.1.0",
    **more: Any,
) -> dict[str, Any]:
    """A document of 3.x."""
    return {
        "openapi": version,
        "info": {"title": "Shop", "version": "1"},
        "servers": [{"url": "https://shop.example"}],
        "paths": paths or {},
        "components": {"schemas": schemas or {}},
        **more,
    }


def swagger(paths: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """A document of 2.0."""
    return {"swagger": "2.0", "info": {"title": "Shop", "version": "1"}, "host": "shop.example", "paths": paths, **more}


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
    answer = {"200": {"description": "", "content": {"application/json": {"schema": value}}}}
    found = read_tree(document({"/x": {"get": {"responses": answer}}}, schemas, version), folder)
    part = found.operations[0].result.schema
    assert part is not None
    return found.schema(part), found


def mixed() -> dict[str, Any]:
    """A document with a bit of everything."""
    order = {
        "type": "object",
        "required": ["id"],
        "properties": {
            "id": {"type": "integer"},
            "customer": {"$ref": f"{REF}Customer"},
            "state": {"type": "string", "enum": ["new", "paid"], "default": "new", "description": "How far it is."},
            "lines": {"type": "array", "items": {"type": "object", "properties": {"sku": {"type": "string"}}}},
            "payment": {"oneOf": [{"$ref": f"{REF}Card"}, {"type": "null"}]},
        },
    }
    customer = {"allOf": [{"$ref": f"{REF}Base"}, {"properties": {"name": {"type": "string", "nullable": True}}}]}
    base = {
        "type": "object",
        "properties": {"id": {"type": "string", "format": "uuid"}, "orders": {"$ref": f"{REF}Orders"}},
    }
    card = {"type": "object", "properties": {"kind": {"const": "card"}, "number": {"type": "string"}}}
    one = {"200": {"description": "", "content": {"application/json": {"schema": {"$ref": f"{REF}Order"}}}}}
    data = {"type": "object", "properties": {"data": {"$ref": f"{REF}Orders"}, "next": {"type": "string"}}}
    many = {"200": {"description": "", "content": {"application/json": {"schema": data}}}, "404": {"description": "no"}}
    ident = {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}
    cursor = {"name": "cursor", "in": "query", "schema": {"type": "string"}}
    body = {"required": True, "content": {"application/json": {"schema": {"$ref": f"{REF}Order"}}}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Shop", "version": "1", "description": "A shop."},
        "servers": [{"url": "https://{region}.shop.example", "variables": {"region": {"default": "eu"}}}],
        "security": [{"key": []}],
        "paths": {
            "/orders": {
                "get": {"tags": ["orders"], "parameters": [cursor], "responses": many, "operationId": "listOrders"},
                "post": {"tags": ["orders"], "requestBody": body, "responses": one, "operationId": "createOrder"},
            },
            "/orders/{id}": {
                "parameters": [ident],
                "get": {"tags": ["orders"], "responses": one, "operationId": "getOrder"},
                "patch": {"requestBody": body, "responses": one},
                "delete": {"responses": {"204": {"description": ""}}},
            },
            "/orders/{id}/pay": {"post": {"parameters": [ident], "responses": {"202": {"description": ""}}}},
            "/status": {"get": {"responses": {"200": {"description": "", "content": {"text/plain": {}}}}}},
        },
        "components": {
            "schemas": {
                "Order": order,
                "Orders": {"type": "array", "items": {"$ref": f"{REF}Order"}},
                "Customer": customer,
                "Base": base,
                "Card": card,
            },
            "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
        },
    }
