"""What the last import chose by majority stays chosen, as long as it can say what the document says now."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.openapi.documents import made, operation, record, ref
from tests.openapi.imports import DOCUMENTS, NAMES, imported

from restencil_generator.openapi.document.files import Files
from restencil_generator.openapi.document.reader import read
from restencil_generator.openapi.infer.build import Made, make
from restencil_generator.openapi.infer.previous_choices import NOTHING, PreviousChoices
from restencil_generator.openapi.options import Options
from restencil_generator.spec.load import load_text


def last_of(found: Made) -> PreviousChoices:
    """What an import chose."""
    return PreviousChoices({origin.identity: path[-1] for path, origin in found.tree.origins.items()}, found.tree.value)


def schema(*names: str) -> dict[str, Any]:
    return record("id", id="string", **dict.fromkeys(names, "string"))


def reading(of: str, *errors: str, **more: Any) -> dict[str, Any]:
    """An operation that returns a record, or a problem with one of these statuses."""
    found = operation(ref(of), **more)
    for status in errors:
        found["responses"] |= operation(ref("Problem"), status=status)["responses"]
    return found


def shop(last: PreviousChoices = NOTHING, /, *, schemas: dict[str, Any], **paths: dict[str, Any]) -> Made:
    """What an import makes of records at `/<name>/{id}`, which can be deleted."""
    items: dict[str, dict[str, Any]] = {}
    for name, get in paths.items():
        delete = operation(status="204")
        items[f"/{name}/{{id}}"] = {
            "get": get,
            "delete": {**delete, "responses": delete["responses"] | get["responses"]},
        }
    found = made(items, {"Problem": schema("reason"), **schemas}, last=last)
    assert load_text(found.text).problems == ()
    return found


@pytest.mark.parametrize("name", NAMES)
def test_previous_choices_same_document_gives_the_same_spec(name: str) -> None:
    """What the last import chose is what this one would choose."""
    path = next(path for path in DOCUMENTS if path.stem == name)
    first = imported(name)
    assert make(read(Files(str(path))), Options(), name, last_of(first)).text == first.text


def test_previous_choices_style_of_names_stays() -> None:
    """Names of another style are written out."""
    first = shop(a=reading("A"), schemas={"A": schema("fullName", "otherName")})
    assert first.tree.value["wire_names"] == "camelCase"
    now = {"A": schema("fullName", *(f"name_{n}" for n in "abcdefghijklmnop"))}
    assert "wire_names" not in shop(a=reading("A"), schemas=now).tree.value
    again = shop(last_of(first), a=reading("A"), schemas=now)
    assert again.tree.value["wire_names"] == "camelCase"
    assert "name_a: {type: string?, wire: name_a}" in again.text


def test_previous_choices_shared_errors_stay() -> None:
    """An operation that has one no longer takes it back; what single operations had stays with them."""
    schemas = {"A": schema(), "B": schema()}
    first = shop(a=reading("A", "404"), b=reading("B", "404", "409"), schemas=schemas)
    assert first.tree.value["errors"] == {"404": "Problem"}
    now = {"a": reading("A", "409", "410"), "b": reading("B", "404", "409", "410")}
    again = shop(last_of(first), schemas=schemas, **now)
    assert again.tree.value["errors"] == {"404": "Problem", "410": "Problem"}
    assert again.tree.get(("resources", "a", "endpoints", "get", "errors")) == {"404": None, "409": "Problem"}
    assert again.tree.get(("resources", "b", "endpoints", "get", "errors")) == {"409": "Problem"}


def test_previous_choices_arguments_of_the_client_stay() -> None:
    """A header that most operations have today is one of the client only where it was."""
    tenant = {"name": "X-Tenant", "in": "header", "required": True, "schema": {"type": "string"}}
    region = {"name": "X-Region", "in": "header", "schema": {"type": "string"}}

    def of(a: list[Any], b: list[Any], last: PreviousChoices = NOTHING) -> Made:
        paths = {"/a": {"get": reading("A", parameters=a)}, "/b": {"get": reading("B", parameters=b)}}
        return made(paths, {"A": schema(), "B": schema()}, last=last)

    first = of([tenant], [tenant])
    assert "X-Tenant" in json.dumps(first.tree.value["header_params"]) or "x_tenant" in str(first.tree.value)
    again = of([tenant, region], [region], last_of(first))
    assert again.tree.value["header_params"] == first.tree.value["header_params"]
    assert again.text.count("x_region") == 2


def test_previous_choices_name_once_given_stays() -> None:
    """A schema that upstream adds renames nothing, wherever it stands."""
    first = shop(b=reading("v1.Order"), schemas={"v1.Order": schema()})
    assert list(first.tree.value["entities"]) == ["Order"]  # type: ignore[arg-type]
    now = {"v2.Order": schema(), "v1.Order": schema("n")}
    again = shop(last_of(first), a=reading("v2.Order"), b=reading("v1.Order"), schemas=now)
    entities = again.tree.value["entities"]
    assert isinstance(entities, dict)
    assert sorted(entities) == ["Order", "V2Order"]
    assert "n" in str(entities["Order"])
