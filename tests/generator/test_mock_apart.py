"""The mock server stands apart: it could be a product of its own, with the loaded spec as its input."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import restencil_generator.mock

MOCK = "restencil_generator.mock"
ALLOWED = {
    "restencil_generator.spec.model",
    "restencil_generator.openapi.export.document",
    "starlette",
    "swagger_ui_bundle",
    "uvicorn",
}


def imports(tree: ast.AST) -> Iterator[str]:
    """The dotted names of the modules that a file imports anywhere, those for type checkers included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            module = node.module or ""
            inside = module in ("restencil_generator", MOCK)
            yield from (f"{module}.{alias.name}" if inside else module for alias in node.names)


def is_allowed(module: str) -> bool:
    head = module.partition(".")[0]
    return head in sys.stdlib_module_names or head in ALLOWED or module in ALLOWED or module.startswith(f"{MOCK}.")


def test_the_mock_server_knows_of_the_generator_the_loaded_spec_alone() -> None:
    """Its files import the declaration, what makes a document of it, each other, and a few libraries."""
    files = sorted(Path(restencil_generator.mock.__file__).parent.glob("*.py"))
    found = {file.name: sorted({*imports(ast.parse(file.read_text("utf-8")))}) for file in files}
    assert len(found) > 10
    assert {name: wrong for name, all in found.items() if (wrong := [one for one in all if not is_allowed(one)])} == {}
