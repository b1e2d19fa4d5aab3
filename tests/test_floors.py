"""Imports only go down: every module has its floor, and names nothing of a higher one.

The source is read, not run. What stands under `if TYPE_CHECKING:` is for type checkers and may go up; imports inside
functions count like all others, since they run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

RUNTIME = {
    0: "errors path abort codecs guard frozen jsontext late values",
    1: "eager exchange flow flight transport records schema normalize denormalize compiled scheduler tables",
    2: "auth endpoint hooks resource rest_endpoint",
    3: "actions expiry known layers retention store",
    4: "controller bound explain live managers paging retry gc",
    5: "testing pytest_plugin __init__",
}
GENERATOR = {
    0: "__init__ codes declaration failure names package problems template",
    1: "check check_endpoints check_resources check_settings check_types digest examples lint load probe reading report"
    " schema tree values",
    2: "code members plan scope",
    3: "cache format layout render verify",
    4: "generate write mock",
    5: "cli config scaffold watch __main__",
}
"""Module or subpackage → floor. The rest of a subpackage's modules stand on the floor of the package."""

ONE_FILE = {
    "httpx": "runtime/restencil/exchange.py",
    "yaml": "generator/restencil_generator/load.py",
    "jinja2": "generator/restencil_generator/render.py",
    "black": "generator/restencil_generator/format.py",
    "click": "generator/restencil_generator/cli.py",
}
"""Third-party packages that one file alone may name when it runs."""


def _floors(table: dict[int, str]) -> dict[str, int]:
    return {name: floor for floor, names in table.items() for name in names.split()}


def _imports(tree: ast.AST, package: str) -> Iterator[str]:
    """The dotted names that running the module imports; `from a import b` gives `a.b`."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            for other in node.orelse:
                yield from _imports(ast.Module([other], []), package)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")
                parents = parents[: len(parents) - node.level + 1]
                base = ".".join([*parents, base] if base else parents)
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "Late":
            yield ast.literal_eval(node.args[0])  # a module that is imported when it is first used
        else:
            yield from _imports(node, package)


def _modules(root: str) -> list[Path]:
    return sorted((ROOT / root).rglob("*.py"))


def _violations(root: str, package: str, table: dict[int, str]) -> Iterator[str]:
    floors = _floors(table)
    for file in _modules(f"{root}/{package}"):
        parts = file.relative_to(ROOT / root / package).with_suffix("").parts
        if parts[0] not in floors:
            yield f"{file.relative_to(ROOT)}: {parts[0]} has no floor; add it to the table"
            continue
        inside = ".".join([package, *parts[:-1]])
        for name in _imports(ast.parse(file.read_text("utf-8")), inside):
            head, _, rest = name.partition(".")
            if head != package:
                continue
            target = rest.partition(".")[0]
            target = target if target in floors else "__init__"  # a public name of the package
            if target != parts[0] and floors[target] > floors[parts[0]]:
                yield f"{file.relative_to(ROOT)} (floor {floors[parts[0]]}) imports {name} (floor {floors[target]})"


def test_the_runtimes_imports_only_go_down() -> None:
    """No module of the runtime imports one of a higher floor."""
    assert [*_violations("runtime", "restencil", RUNTIME)] == []


def test_the_generators_imports_only_go_down() -> None:
    """No module of the generator imports one of a higher floor."""
    assert [*_violations("generator", "restencil_generator", GENERATOR)] == []


@pytest.mark.parametrize(("package", "file"), ONE_FILE.items())
def test_a_third_party_package_is_named_in_one_file(package: str, file: str) -> None:
    """Whoever replaces a third-party package has one file to change."""
    naming = {
        str(module.relative_to(ROOT))
        for root in ("runtime", "generator", "templates")
        for module in _modules(root)
        for name in _imports(ast.parse(module.read_text("utf-8")), "")
        if name.partition(".")[0] == package
    }
    assert naming == {file}


def test_the_runtime_does_not_know_the_generator() -> None:
    """The runtime imports neither the generator nor its templates, nor anything that only an extra brings."""
    unwanted = {"restencil_generator", "restencil_templates", "starlette", "uvicorn", "typing_extensions", "hypothesis"}
    found = {
        (str(module.relative_to(ROOT)), name)
        for module in _modules("runtime")
        for name in _imports(ast.parse(module.read_text("utf-8")), "")
        if name.partition(".")[0] in unwanted
    }
    assert found == set()


def test_the_generator_uses_public_names_of_the_runtime_only() -> None:
    """The generator names `restencil` itself and never a module inside it."""
    found = {
        (str(module.relative_to(ROOT)), name)
        for module in _modules("generator")
        for name in _imports(ast.parse(module.read_text("utf-8")), "")
        if name.startswith("restencil.") and name.partition(".")[2].partition(".")[0] in _floors(RUNTIME)
    }
    assert found == set()
