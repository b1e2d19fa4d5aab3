"""The circles of files among imports: `python tests/conventions/imports.py` prints them.


The source is read, not run. Imports inside functions and under `if TYPE_CHECKING:` count like all others: who reads a
file has to follow them too.
"""

from __future__ import annotations

import ast
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("runtime/restencil", "generator/restencil_generator")


def files_of(package: Path) -> dict[str, Path]:
    """The modules of a package by their dotted names; a package's own module is its `__init__`."""
    found: dict[str, Path] = {}
    for file in sorted(package.rglob("*.py")):
        parts = [package.name, *file.relative_to(package).with_suffix("").parts]
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


@cache
def tree_of(file: Path) -> ast.Module:
    """The source of a file, parsed."""
    return ast.parse(file.read_text("utf-8"))


@cache
def imported_names(module: str, file: Path) -> tuple[str, ...]:
    """The dotted names that a file imports anywhere; `from a import b` gives `a.b`."""
    here = module.split(".")
    package = here if file.name == "__init__.py" else here[:-1]
    names: list[str] = []
    for node in ast.walk(tree_of(file)):
        if isinstance(node, ast.Import):
            names += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, node.module] if node.module else above)
            names += (f"{base}.{alias.name}" for alias in node.names)
    return tuple(names)


def arrows_of(package: Path) -> dict[str, set[str]]:
    """Which modules of the package each of its modules imports."""
    files = files_of(package)
    arrows: dict[str, set[str]] = {}
    for module, file in files.items():
        targets = arrows[module] = set[str]()
        for name in imported_names(module, file):
            while name and name not in files:
                name = name.rpartition(".")[0]
            if name and name != module:
                targets.add(name)
    return arrows


def circles_of(arrows: dict[str, set[str]]) -> list[list[str]]:
    """The groups of modules that lead to each other."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        to_see = [start]
        while to_see:
            for target in arrows[to_see.pop()]:
                if target not in seen:
                    seen.add(target)
                    to_see.append(target)
        return seen

    leads_to = {module: reached(module) for module in arrows}
    circles = {
        tuple(sorted(other for other in leads_to[module] if module in leads_to[other]))
        for module in arrows
        if module in leads_to[module]
    }
    return [list(circle) for circle in sorted(circles)]


def main() -> int:
    """Prints each circle, and how many there are."""
    circles = [circle for package in PACKAGES for circle in circles_of(arrows_of(ROOT / package))]
    for circle in circles:
        print(f"a circle of {len(circle)} files: {', '.join(circle)}")
    print(f"{len(circles)} circles among the imports of {' and '.join(PACKAGES)}, those for types included")
    return 1 if circles else 0


if __name__ == "__main__":
    sys.exit(main())
