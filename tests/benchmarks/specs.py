"""Specs of any size: resources with 8 typed fields and 2 relations each, a ring of relations through all of them."""

from __future__ import annotations

import json
from pathlib import Path

FIELDS = {
    "id": "integer",
    "title": "string",
    "summary": "string?",
    "price": "decimal",
    "rating": "number",
    "active": "boolean",
    "created_at": "datetime",
    "tags": "[string]",
}


def name_of(number: int) -> str:
    """The entity of a resource."""
    return f"Thing{number:04d}"


def resource_of(number: int) -> str:
    """The key of a resource."""
    return f"things_{number:04d}"


def spec(count: int, changed: bool = False) -> str:
    """A spec in YAML; `changed` is the same with one field more in one resource."""
    lines = ["restencil: 1", "package: many", "url_prefix: https://api.test", "resources:"]
    for number in range(count):
        lines += [
            f"  {resource_of(number)}:",
            f"    path: /{resource_of(number)}/:id",
            "    schema:",
            f"      entity: {name_of(number)}",
            "      fields:",
            *(f"        {name}: {kind}" for name, kind in FIELDS.items()),
            f"        next: {name_of((number + 1) % count)}?",
            f"        others: [{name_of((number * 7 + 3) % count)}]",
        ]
        if changed and number == count // 2:
            lines.append("        added: string?")
    return "\n".join(lines) + "\n"


_JSON_TYPES = {
    "integer": {"type": "integer"},
    "string": {"type": "string"},
    "string?": {"type": "string", "nullable": True},
    "decimal": {"type": "string", "format": "decimal"},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "datetime": {"type": "string", "format": "date-time"},
    "[string]": {"type": "array", "items": {"type": "string"}},
}


def openapi(count: int) -> str:
    """The same API as an OpenAPI document, for the peers."""
    schemas: dict[str, object] = {}
    paths: dict[str, object] = {}
    for number in range(count):
        name, key = name_of(number), resource_of(number)
        reference = {"$ref": f"#/components/schemas/{name}"}
        schemas[name] = {
            "type": "object",
            "required": ["id", "title"],
            "properties": {
                **{field: _JSON_TYPES[kind] for field, kind in FIELDS.items()},
                "next": {"$ref": f"#/components/schemas/{name_of((number + 1) % count)}"},
                "others": {
                    "type": "array",
                    "items": {"$ref": f"#/components/schemas/{name_of((number * 7 + 3) % count)}"},
                },
            },
        }
        answer = {"200": {"description": "ok", "content": {"application/json": {"schema": reference}}}}
        many = {"application/json": {"schema": {"type": "array", "items": reference}}}
        body = {"content": {"application/json": {"schema": reference}}, "required": True}
        one = [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}]

        def operation(verb: str, key: str = key, **rest: object) -> dict[str, object]:
            return {"operationId": f"{verb}_{key}", "tags": [key], **rest}

        paths[f"/{key}"] = {
            "get": operation("list", responses={"200": {"description": "ok", "content": many}}),
            "post": operation("create", requestBody=body, responses=answer),
        }
        paths[f"/{key}/{{id}}"] = {
            "get": operation("get", parameters=one, responses=answer),
            "put": operation("update", parameters=one, requestBody=body, responses=answer),
            "patch": operation("patch", parameters=one, requestBody=body, responses=answer),
            "delete": operation("delete", parameters=one, responses={"204": {"description": "gone"}}),
        }
    return json.dumps(
        {
            "openapi": "3.0.3",
            "info": {"title": "Many", "version": "1"},
            "paths": paths,
            "components": {"schemas": schemas},
        }
    )


def write(folder: Path, count: int, changed: bool = False) -> Path:
    """The spec as a file."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"many{count}{'changed' if changed else ''}.yaml"
    file.write_text(spec(count, changed), encoding="utf-8")
    return file
