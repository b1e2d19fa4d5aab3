"""What the last import chose by majority stays chosen, as long as it can say what the document says now."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.openapi.documents import document
from tests.openapi.imports import DOCUMENTS, NAMES, imported

from restencil_generator.openapi.document.files import Files
from restencil_generator.openapi.document.reader import read
from restencil_generator.openapi.infer.build import Made, make
from restencil_generator.openapi.infer.previous_choices import NOTHING, PreviousChoices
from restencil_generator.openapi.options import Options
from restencil_generator.spec.load import load_text


def last_of(made: Made) -> PreviousChoices:
    """What an import chose."""
    return PreviousChoices({origin.identity: path[-1] for path, origin in made.tree.origins.items()}, made.tree.value)


def made(folder: Path, source: dict[str, Any], last: PreviousChoices = NOTHING) -> Made:
    path = folder / "shop.json"
    path.write_text(json.dumps(source))
    found = make(read(Files(str(path))), Options(), "shop", last)
    assert load_text(found.text).problems == ()
    return found


def schema(*names: str) -> dict[str, Any]:
    return {"type": "object", "required": ["id"], "properties": {name: {"type": "string"} for name in ("id", *names)}}


def operation(of: str, *, errors: tuple[str, ...] = (), parameters: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{of}"}}}
    problem = {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    answers = {"200": {"description": "", "content": content}}
    answers |= {status: {"description": "", "content": problem} for status in errors}
    return {"parameters": list(parameters), "responses": answers}


def shop(paths: dict[str, dict[str, Any]], **schemas: Any) -> dict[str, Any]:
    items = {
        path: {
            "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}],
            "get": get,
            "delete": {"responses": {"204": {"description": ""}, **get["responses"]}},
        }
        for path, get in paths.items()
    }
    return document(items, {"Problem": schema("reason"), **schemas}) | {"info": {"title": "Shop", "version": "1"}}


@pytest.mark.parametrize("name", NAMES)
def test_previous_choices_same_document_gives_the_same_spec(name: str) -> None:
    """What the last import chose is what this one would choose."""
    path = next(path for path in DOCUMENTS if path.stem == name)
    first = imported(name)
    assert make(read(Files(str(path))), Options(), name, last_of(first)).text == first.text


def test_previous_choices_style_of_names_stays(tmp_path: Path) -> None:
    """Names of another style are written out."""
    first = made(tmp_path, shop({"/a/{id}": operation("A")}, A=schema("fullName", "otherName")))
    assert first.tree.value["wire_names"] == "camelCase"
    now = shop({"/a/{id}": operation("A")}, A=schema("fullName", *(f"name_{n}" for n in "abcdefghijklmnop")))
    assert "wire_names" not in made(tmp_path, now).tree.value
    again = made(tmp_path, now, last_of(first))
    assert again.tree.value["wire_names"] == "camelCase"
    assert "name_a: {type: string?, wire: name_a}" in again.text


def test_previous_choices_shared_errors_stay(tmp_path: Path) -> None:
    """An operation that has one no longer takes it back; what single operations had stays with them."""
    one = {"/a/{id}": operation("A", errors=("404",)), "/b/{id}": operation("B", errors=("404", "409"))}
    first = made(tmp_path, shop(one, A=schema(), B=schema()))
    assert first.tree.value["errors"] == {"404": "Problem"}
    two = {"/a/{id}": operation("A", errors=("409", "410")), "/b/{id}": operation("B", errors=("404", "409", "410"))}
    again = made(tmp_path, shop(two, A=schema(), B=schema()), last_of(first))
    assert again.tree.value["errors"] == {"404": "Problem", "410": "Problem"}
    assert again.tree.get(("resources", "a", "endpoints", "get", "errors")) == {"404": None, "409": "Problem"}
    assert again.tree.get(("resources", "b", "endpoints", "get", "errors")) == {"409": "Problem"}


def test_previous_choices_arguments_of_the_client_stay(tmp_path: Path) -> None:
    """A header that most operations have today is one of the client only where it was."""
    tenant = {"name": "X-Tenant", "in": "header", "required": True, "schema": {"type": "string"}}
    region = {"name": "X-Region", "in": "header", "schema": {"type": "string"}}

    def of(*each: tuple[dict[str, Any], ...]) -> dict[str, Any]:
        found = document(
            {
                f"/{name}": {"get": operation(name.upper(), parameters=parameters)}
                for name, parameters in zip("ab", each, strict=True)
            },
            {"A": schema(), "B": schema(), "Problem": schema()},
        )
        return found | {"info": {"title": "Shop", "version": "1"}}

    first = made(tmp_path, of((tenant,), (tenant,)))
    assert "X-Tenant" in json.dumps(first.tree.value["header_params"]) or "x_tenant" in str(first.tree.value)
    again = made(tmp_path, of((tenant, region), (region,)), last_of(first))
    assert again.tree.value["header_params"] == first.tree.value["header_params"]
    assert again.text.count("x_region") == 2


def test_previous_choices_name_once_given_stays(tmp_path: Path) -> None:
    """A schema that upstream adds renames nothing, wherever it stands."""
    first = made(tmp_path, shop({"/b/{id}": operation("v1.Order")}, **{"v1.Order": schema()}))
    assert list(first.tree.value["entities"]) == ["Order"]  # type: ignore[arg-type]
    now = {"/a/{id}": operation("v2.Order"), "/b/{id}": operation("v1.Order")}
    schemas = {"v2.Order": schema(), "v1.Order": schema("n")}
    entities = made(tmp_path, shop(now, **schemas), last_of(first)).tree.value["entities"]
    assert isinstance(entities, dict)
    assert sorted(entities) == ["Order", "V2Order"]
    assert "n" in str(entities["Order"])
