"""Writes into generated modules what the generator does not write yet: the options of the freshness rule.

`consistency`, `invalid_if_stale`, `needs` and `exact_filters`, as a spec without the new keys has them. It changes
nothing where the generator writes them, and goes once it does.
"""

from __future__ import annotations

import ast
import re
from typing import Final

_EXACT: Final = frozenset({"bool", "int", "UUID", "uuid.UUID"})


def bridged(files: dict[str, str], needs: str = "all") -> dict[str, str]:
    """The files of a package with these options."""
    if any("consistency=" in text for text in files.values()):
        return files
    fields = {
        name: found for path, text in files.items() if path.endswith(".py") for name, found in _entities(text).items()
    }
    enums = set(re.findall(r"^(\w+): typing\.TypeAlias", files.get("_enums.py", ""), re.MULTILINE))
    return {name: _module(text, fields, enums, needs) if name.endswith(".py") else text for name, text in files.items()}


def _entities(text: str) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef) and any("Entity" in ast.unparse(base) for base in node.bases):
            found[node.name] = {
                ast.unparse(one.target): ast.unparse(one.annotation)
                for one in node.body
                if isinstance(one, ast.AnnAssign)
            }
    return found


def _module(text: str, fields: dict[str, dict[str, str]], enums: set[str], needs: str) -> str:
    if "restencil.Resource[" not in text:
        return text
    says = "invalid_if_stale" in text.partition("restencil.Resource[")[2].partition("):\n")[0]
    more = f'consistency="strict", needs="{needs}"' + ("" if says else ", invalid_if_stale=True")
    text = re.sub(r"(restencil\.Resource\[restencil\.ControllerType\])(,?)", rf"\1, {more}\2", text, count=1)
    text = re.sub(r"@restencil\.rest\(needs=\((?:[^()]*)\),? ?", "@restencil.rest(", text)
    text = re.sub(r"\bneeds=\((?:[^()]*)\),", "", text)
    lines = text.splitlines(keepends=True)
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.ClassDef) or "Resource" not in ast.unparse(node):
            continue
        entity = next((ast.unparse(one.value) for one in node.keywords if one.arg == "schema"), "").rpartition(".")[2]
        known = fields.get(entity.split(":")[-1].split('"')[0].split("'")[0], {})
        for method in node.body:
            if isinstance(method, ast.FunctionDef):
                for decorator in method.decorator_list:
                    if not ast.unparse(decorator).startswith("restencil.rest_list("):
                        continue
                    exact = tuple(
                        one.arg
                        for one in method.args.kwonlyargs
                        if one.annotation is not None and _is_exact(ast.unparse(one.annotation), one.arg, known, enums)
                    )
                    at = decorator.lineno - 1
                    lines[at] = lines[at].replace("rest_list(", f"rest_list(exact_filters={exact!r}, ", 1)
    return "".join(lines)


def _is_exact(annotation: str, name: str, fields: dict[str, str], enums: set[str]) -> bool:
    argument = annotation.removesuffix(" | None")
    field = fields.get(name, "").removesuffix(" | None")
    if not field:
        return False
    if re.fullmatch(r"[A-Z]\w*", field) and field not in enums and argument in ("int", "str", "int | str"):
        return True  # a reference
    return argument == field and (argument in _EXACT or argument in enums)
