"""Names that Python or generated modules use."""

from __future__ import annotations

import pytest
from tests.openapi.small import made, many, operation, record, ref

from restencil_generator.output.pipeline import build
from restencil_generator.spec.load import load_text


@pytest.mark.parametrize("name", ["True", "None", "typing", "restencil", "class", "_client", "Any", "list", "Client"])
def test_names_name_that_generated_modules_use_gives_way(name: str) -> None:
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
