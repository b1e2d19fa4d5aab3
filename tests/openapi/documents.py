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


def every_schema(found: Document) -> int:
    """Reads every schema that an operation leads to, and counts them."""
    todo = [one.schema for operation in found.operations for one in operation.parameters]
    for operation in found.operations:
        contents = [operation.body.content] if operation.body else []
        contents += [error.content for error in operation.errors if error.content is not None]
        contents += [each for each in (operation.result.content, operation.result.stream) if each is not None]
        todo += [content.schema for content in contents if content.schema is not None]
        todo += [operation.result.schema] if operation.result.schema is not None else []
    seen = set[Any]()
    while todo:
        schema = found.schema(todo.pop())
        if schema.at in seen:
            continue
        seen.add(schema.at)
        todo += [*schema.properties.values(), *schema.prefix, *schema.alternatives]
        todo += [each for each in (schema.items, schema.values) if each is not None]
        if schema.discriminator is not None:
            todo += schema.discriminator.mapping.values()
    return len(seen)
