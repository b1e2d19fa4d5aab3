"""Check whether hand-written code exists and accepts the arguments that it will be called with.

`lint` runs this file in a separate process, so that imported code can neither change nor end the command. It reads
requests as JSON from stdin and appends one line of JSON for each to the file given as argument, because imported code
may print. It imports nothing from the generator.
"""

from __future__ import annotations

import importlib
import inspect
import json
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    """Process the requests on stdin: `[{"module", "name", "kind", "counts"}, …]`."""
    requests: list[dict[str, Any]] = json.load(sys.stdin)
    answers = Path(sys.argv[1])
    for request in requests:
        code, message = look(request["module"], request["name"], request["kind"], request["counts"])
        with answers.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"code": code, "message": message}) + "\n")


def look(module: str, name: str, kind: str, counts: list[int]) -> tuple[str, str]:
    """Return a code and a message for an error of `module:name`; two empty strings if there is none.

    `kind` is `function`, `endpoint` or `collection`; `counts` are the numbers of arguments that a function will be
    called with.
    """
    try:
        imported = importlib.import_module(module)
    except (Exception, SystemExit) as error:
        return "hook-missing", f"{module} cannot be imported: {type(error).__name__}: {error}"
    try:
        found = getattr(imported, name)
    except (Exception, SystemExit):
        return "hook-missing", f"{module} has no {name}"
    if kind == "function":
        return _function(found, name, counts)
    wanted = _class(kind)
    if not inspect.isclass(found) or (wanted is not None and not issubclass(found, wanted)):
        return (
            "hook-kind",
            f"{module}:{name} is not a class that extends {'RestEndpoint' if kind == 'endpoint' else 'Collection'}",
        )
    return "", ""


def _class(kind: str) -> type[Any] | None:
    try:
        import restencil

        found: Any = restencil.RestEndpoint if kind == "endpoint" else restencil.schema.Collection
    except (ImportError, AttributeError):
        return None
    return found if inspect.isclass(found) else None


def _function(found: Any, name: str, counts: list[int]) -> tuple[str, str]:
    if not callable(found):
        return "hook-kind", f"{name} cannot be called"
    try:
        signature = inspect.signature(found)
    except (TypeError, ValueError):
        return "", ""
    for count in counts:
        try:
            signature.bind(*[None] * count)
        except TypeError as error:
            many = f"{count} argument{'' if count == 1 else 's'}"
            return "hook-arity", f"{name}{signature} is called with {many}: {error}"
    return "", ""


if __name__ == "__main__":
    main()
