"""What an import is told: by the command line, by the configuration, or by the import before."""

from __future__ import annotations

import dataclasses
from pathlib import Path


@dataclasses.dataclass(frozen=True, slots=True)
class Options:
    """How a spec is made of a document.

    `package` is empty where the title gives the name. `include` and `exclude` are patterns of operations, `tags` their
    tags; none chooses all. `required` says what a property is that nothing is said of: True certain, False optional,
    None as the document lets suppose. `root` is the folder whose files references may reach, None for the default.
    """

    package: str = ""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    overlays: tuple[Path, ...] = ()
    required: bool | None = None
    root: Path | None = None
    split: bool = False
