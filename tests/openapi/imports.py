"""The documents of our own and what an import makes of them.

`python tests/openapi/imports.py` writes `tests/openapi/specs` anew; reviewers read what changes.
"""

from __future__ import annotations

import functools
from pathlib import Path

from restencil_generator.openapi.document.files import Files
from restencil_generator.openapi.document.reader import read
from restencil_generator.openapi.infer.build import Made, make
from restencil_generator.openapi.options import Options

FOLDER = Path(__file__).parent
DOCUMENTS = sorted((FOLDER / "ours").glob("*.*"))
NAMES = [path.stem for path in DOCUMENTS]


@functools.cache
def imported(name: str) -> Made:
    """What an import makes of a document, under the document's name."""
    path = next(path for path in DOCUMENTS if path.stem == name)
    return make(read(Files(str(path))), Options(), name)


def spec(name: str) -> Path:
    """Where the spec of a document is kept."""
    return FOLDER / "specs" / f"{name}.yaml"


if __name__ == "__main__":
    for each in NAMES:
        spec(each).write_text(imported(each).text, encoding="utf-8", newline="\n")
