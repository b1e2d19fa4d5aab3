"""Cases of inference as data: documents in a few words, and what an import makes of them.

A case is a document and what comes of it. Its keys:

- `GET /users/{id}: User`: an operation by its response. That is a schema, a status without content, or a mapping with
  `response`, `body`, `query`, `status` and whatever OpenAPI has. Parameters of paths are declared where they are not.
- `schemas`: components. A name is a reference or a type (`string`, `uuid`, `date-time`), a list is an array, `A | null`
  is one of several, and a mapping is an object, whose required properties end in `!`. `{json: …}` is JSON Schema.
- `document`: further keys of the document.
- `nodes`: by dotted path what the spec has there; `absent` for what it does not have.
- `keys`: by dotted path the names that a mapping of the spec has, in their order.
- `comments`: by dotted path the comment on a node; `checks`: all that is to be checked, in order.
- `findings`: the codes of all findings, or messages by code.
- `left_out`: why operations are left out.
- `lines`: texts that the spec has; `lacks`: texts that it does not have.
- `each`: rows, each of which is a case with these keys more, and their values in the place of `$key`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from tests.openapi.documents import made, operation

from restencil_generator.openapi.infer.build import Made
from restencil_generator.spec.load import load_text

FORMATS = {"uuid", "date", "date-time", "uri", "binary"}
TYPES = {"string", "integer", "number", "boolean", "object", "array", "null"}
METHODS = ("GET ", "POST ", "PUT ", "PATCH ", "DELETE ")


def schema(word: Any) -> Any:
    """A schema in JSON Schema."""
    match word:
        case str() if " | " in word:
            return {"anyOf": [schema(part) for part in word.split(" | ")]}
        case str() if word in TYPES:
            return {"type": word}
        case str() if word in FORMATS:
            return {"type": "string", "format": word}
        case str():
            return {"$ref": f"#/components/schemas/{word}"}
        case [item]:
            return {"type": "array", "items": schema(item)}
        case {"json": raw}:
            return _resolved(raw)
        case _:
            return _object(word)


def _object(word: Mapping[str, Any]) -> Any:
    required = [name[:-1] for name in word if name.endswith("!")]
    properties = {name.removesuffix("!"): schema(part) for name, part in word.items()}
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


def _resolved(raw: Any) -> Any:
    """JSON Schema in which `$ref: Name` is a reference to a component."""
    if isinstance(raw, dict):
        return {key: schema(part) if key == "$ref" else _resolved(part) for key, part in raw.items()} | (
            schema(raw["$ref"]) if "$ref" in raw else {}
        )
    return [_resolved(part) for part in raw] if isinstance(raw, list) else raw


def _operation(said: Any) -> dict[str, Any]:
    if said is None or isinstance(said, int):
        return operation(status=str(said or 200))
    options: dict[str, Any] = dict(said) if isinstance(said, dict) and "json" not in said else {"response": said}
    for key in ("response", "body"):
        options[key] = schema(options[key]) if options.get(key) is not None else None
    query = {name: schema(part) for name, part in options.pop("query", {}).items()}
    return operation(options.pop("response"), status=str(options.pop("status", 200)), query=query, **options)


def imported(case: Mapping[str, Any]) -> Made:
    """What an import makes of the document of a case."""
    paths: dict[str, dict[str, Any]] = {}
    for key, said in case.items():
        if key.startswith(METHODS):
            method, path = key.split(" ", 1)
            paths.setdefault(path, {})[method.lower()] = _operation(said)
    schemas = {name: schema(part) for name, part in case.get("schemas", {}).items()}
    return made(paths, schemas, **case.get("document", {}))


def _at(tree: Any, node: str) -> Any:
    for key in node.split("."):
        if not isinstance(tree, dict) or key not in tree:
            return "absent"
        tree = tree[key]
    return tree


def check(case: Mapping[str, Any]) -> None:
    """Fails where an import makes something else of a case, and names the node."""
    result = imported(case)
    codes = [finding.code for finding in result.document.findings]
    assert not {"import-internal", "import-mistake"} & {*codes}, result.document.findings
    assert [each.reason for each in result.document.left_out] == case.get("left_out", [])
    assert load_text(result.text, "small.yaml").declaration is not None, result.text
    for node, expected in case.get("nodes", {}).items():
        found = _at(result.tree.value, node)
        assert found == expected, f"{node} is {json.dumps(found)}, not {json.dumps(expected)}"
    for node, names in case.get("keys", {}).items():
        assert [*_at(result.tree.value, node)] == names, f"{node} has {[*_at(result.tree.value, node)]}, not {names}"
    comments = {".".join(map(str, path)): text for path, text in result.tree.comments.items()}
    for node, text in case.get("comments", {}).items():
        assert comments.get(node, "") == text, f"the comment on {node} is {comments.get(node)!r}; there are {comments}"
    if "checks" in case:
        found = [text for _, text in result.tree.checks()]
        assert found == case["checks"], f"to be checked is {found}"
    expected = case.get("findings", codes)
    if isinstance(expected, list):
        assert codes == expected, f"the findings are {codes}"
    else:
        for code, message in expected.items():
            said = [finding.message for finding in result.document.findings if finding.code == code]
            assert said == [message], f"the findings {code} are {said}"
    for line in case.get("lines", ()):
        assert line in result.text, f"the spec lacks {line!r}:\n{result.text}"
    for line in case.get("lacks", ()):
        assert line not in result.text, f"the spec has {line!r}:\n{result.text}"


def _filled(part: Any, row: Mapping[str, Any]) -> Any:
    match part:
        case str():
            for name, value in sorted(row.items(), reverse=True):  # `$names` before `$name`
                if part == f"${name}":
                    return value
                part = part.replace(f"${name}", str(value))
            return part
        case dict():
            return {_filled(key, row): _filled(value, row) for key, value in part.items()}
        case list():
            return [_filled(item, row) for item in part]
        case _:
            return part


def cases(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The cases of the files of a folder, each with its name."""
    for file in sorted(folder.glob("*.yaml")):
        for rule, case in yaml.safe_load(file.read_text("utf-8")).items():
            rows = case.pop("each", None)
            if rows is None:
                yield f"{file.stem}: {rule}", case
            for number, row in enumerate(rows or (), 1):
                yield f"{file.stem}: {rule}: {number}", {**_filled(case, row), **_filled(row, row)}
