"""What an import infers: cases are data in the folder `cases`, a file for each subject; `shorthand.py` reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.openapi.documents import made, many, operation, read_tree, record, ref
from tests.openapi.shorthand import cases, check

from restencil_generator.openapi.infer.build import make
from restencil_generator.openapi.options import Options
from restencil_generator.output.pipeline import build
from restencil_generator.spec.load import load_text


@pytest.mark.parametrize("case", [pytest.param(case, id=name) for name, case in cases(Path(__file__).parent / "cases")])
def test_inference_document_gives_what_its_case_says(case: dict[str, Any]) -> None:
    """The spec has the nodes, comments and findings of the case and passes the check; nothing was taken out."""
    check(case)


@pytest.mark.parametrize("name", ["True", "None", "typing", "restencil", "class", "_client", "Any", "list", "Client"])
def test_inference_name_that_generated_modules_use_gives_way(name: str) -> None:
    """Paths, tags, components and properties may be called like words of Python or like what modules import."""
    schema = record("id", **{"id": "integer", f"{name}_": "string", "other": ref(name)})
    paths = {
        f"/{name}": {
            "get": operation(many(ref(name)), query={name: "string"}),
            "post": operation(ref(name), body=ref(name)),
        },
        f"/{name}/{{id}}": {"get": operation(ref(name)), "patch": operation(ref(name), body=ref(name))},
        "/run": {"post": operation({"type": "string"}, body=record(a="string"), tags=[name])},
    }
    result = made(paths, {name: schema})
    assert not [each for each in result.document.findings if each.code.startswith("import-")]
    loaded = load_text(result.text, "small.yaml").declaration
    assert loaded is not None
    files = build(loaded, "small.yaml").files
    for path, text in files.items():
        if path.endswith(".py"):
            compile(text, path, "exec")


def test_inference_lists_in_a_form_of_swagger_2_have_their_collection_format(tmp_path: Path) -> None:
    """Its default is `csv`; without a style, the spec language repeats the name for each item."""
    formats: dict[str, dict[str, str]] = {
        "plain": {}, "multi": {"collectionFormat": "multi"}, "pipes": {"collectionFormat": "pipes"}
    }  # fmt: skip
    fields = [
        {"in": "formData", "name": name, "type": "array", "items": {"type": "string"}, "required": True, **each}
        for name, each in formats.items()
    ]
    post = {
        "consumes": ["application/x-www-form-urlencoded"],
        "parameters": [*fields, {"in": "formData", "name": "title", "type": "string", "required": True}],
        "responses": {"204": {"description": ""}},
    }
    info = {"title": "Shop", "version": "1"}
    tree = {"swagger": "2.0", "info": info, "host": "a.example", "paths": {"/x": {"post": post}}}
    result: Any = make(read_tree(tree, tmp_path), Options(), "small").tree.value
    assert result["resources"]["x"]["endpoints"]["post_x"]["body"]["form"] == {
        "plain": {"type": ["string"], "style": "comma"},
        "multi": ["string"],
        "pipes": {"type": ["string"], "style": "pipe"},
        "title": "string",
    }
