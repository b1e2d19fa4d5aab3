"""The entry of the `restencil` command: says what to install where the generator's extra is missing.

It must run with nothing but the runtime's own dependency installed, so it imports nothing before it has looked.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence

_NEEDED = {"black": "black", "click": "click", "jinja2": "jinja2", "yaml": "pyyaml"}


def missing_packages() -> list[str]:
    """The names, as pip knows them, of the packages of the extra `[generator]` that are not installed."""
    from importlib.util import find_spec

    return [package for module, package in _NEEDED.items() if find_spec(module) is None]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit code: 0 yes, 1 no, 2 no answer, 3 internal error, 130 interrupted."""
    try:
        return _run(arguments)
    except KeyboardInterrupt:  # while the command itself was still being imported
        print("restencil: interrupted", file=sys.stderr)
        return 130


def _run(arguments: Sequence[str] | None) -> int:
    missing = missing_packages()
    if missing:
        print(
            f"restencil: the generator is not installed (missing: {', '.join(missing)}). Install it with\n\n"
            f"    pip install 'restencil[generator]'\n\n"
            "Generated packages run without it; only generating and checking need it.",
            file=sys.stderr,
        )
        return 2
    from restencil_generator.cli.main import run

    # A spec is a tree: looking for rings in it is an eighth of a run ("check, nothing changed" and its like).
    gc.set_threshold(200_000, 50, 100)
    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
