"""Entry point of the `restencil` command: reports how to install missing dependencies of the generator.

It must run with only the dependencies of the runtime installed, so it imports nothing else before it has checked them.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence

_NEEDED = {"black": "black", "click": "click", "jinja2": "jinja2", "yaml": "pyyaml"}


def missing_packages() -> list[str]:
    """Return the pip names of the packages of the extra `[generator]` that are not installed."""
    from importlib.util import find_spec

    return [package for module, package in _NEEDED.items() if find_spec(module) is None]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0, 1, 2, 3 or 130, as in `cli.console.Exit`."""
    try:
        return _run(arguments)
    except KeyboardInterrupt:  # while the command itself was being imported
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

    # Specs have no reference cycles, and searching for them took an eighth of the time of a short run.
    gc.set_threshold(200_000, 50, 100)
    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
