"""Lines of generated modules: the cases are data in the folder `cases`, a file for each part of the generator.

A case is a `spec`, or further settings of a `resource` of things, with a `top` before it. For each module it has lines:
a string is a statement, those of a list follow each other, `part` is in some line, and `lacks` is nowhere. In a case
with a `table` each key of that takes the place of `$given`, and has its lines in the `module`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.generator.codegen.lines import has_line, has_lines, has_part, lacks, of_resource, rendered

Case = Mapping[str, Any]


def _cases() -> Iterator[Any]:
    for file in sorted(Path(__file__).with_name("cases").glob("*.yaml")):
        for rule, case in yaml.safe_load(file.read_text("utf-8")).items():
            if "table" not in case:
                yield pytest.param(case, case["modules"], id=f"{file.stem}: {rule}")
            for given, lines in case.get("table", {}).items():
                filled = {key: str(case[key]).replace("$given", given) for key in ("spec", "resource") if key in case}
                yield pytest.param(filled, {case["module"]: lines}, id=f"{file.stem}: {rule}: {given}")


@pytest.mark.parametrize(("case", "modules"), [*_cases()])
def test_lines_of_a_module_are_what_its_spec_says(case: Case, modules: Mapping[str, Any]) -> None:
    """Each module has the lines of its case."""
    if "spec" in case:
        files = rendered(case["spec"])
    else:
        files = {"things.py": of_resource(case["resource"], case.get("top", "") + "\n")}
    for path, expected in modules.items():
        for one in expected if isinstance(expected, list) else [expected]:
            match one:
                case str():
                    has_line(files[path], one)
                case list():
                    has_lines(files[path], *one)
                case {"part": part}:
                    has_part(files[path], part)
                case {"lacks": text}:
                    lacks(files[path], text)
                case _:
                    pytest.fail(f"no line: {one}")
