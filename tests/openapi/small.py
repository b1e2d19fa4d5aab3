"""Small documents for one rule each: paths in a few words, and the spec that comes of them."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.openapi.documents import document, read_tree

from restencil_generator.openapi.infer.build import Made, make
from restencil_generator.openapi.infer.previous_choices import NOTHING, PreviousChoices
from restencil_generator.openapi.options import Options


def ref(name: str) -> dict[str, Any]:
    """A reference to a schema."""
    return {"$ref": f"#/components/schemas/{name}"}


def record(*required: str, **properties: Any) -> dict[str, Any]:
    """A schema of an object; a property is a type or a schema."""
    shown = {key.rstrip("_"): {"type": value} if isinstance(value, str) else value for key, value in properties.items()}
    return {"type": "object", "properties": shown, **({"required": list(required)} if required else {})}


def many(items: Any) -> dict[str, Any]:
    """A schema of a list."""
    return {"type": "array", "items": items}


def operation(
    answer: Any = None, *, body: Any = None, query: Mapping[str, Any] | None = None, status: str = "200", **more: Any
) -> dict[str, Any]:
    """An operation that returns JSON, or with nothing."""
    content = {} if answer is None else {"content": {"application/json": {"schema": answer}}}
    parameters = [
        {"name": name, "in": "query", "schema": {"type": value} if isinstance(value, str) else value}
        for name, value in (query or {}).items()
    ]
    found: dict[str, Any] = {"responses": {status: {"description": "", **content}}, **more}
    found["parameters"] = [*more.get("parameters", []), *parameters]
    if body is not None:
        found["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    return found


def made(
    paths: Mapping[str, Mapping[str, Any]],
    schemas: Mapping[str, Any] | None = None,
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


def spec(paths: Mapping[str, Mapping[str, Any]], schemas: Mapping[str, Any] | None = None, **more: Any) -> Any:
    """The spec that an import makes, as plain values."""
    result = made(paths, schemas, **more)
    assert [each.message for each in result.document.findings if each.code == "import-mistake"] == []
    return result.tree.value


def whole(result: Made) -> Any:
    """The spec that was made, as plain values."""
    return result.tree.value
