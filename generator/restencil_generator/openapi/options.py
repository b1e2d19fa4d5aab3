"""Options of an import."""

from __future__ import annotations

import dataclasses
from pathlib import Path


@dataclasses.dataclass(frozen=True, slots=True)
class Options:
    """How a spec is made of a document.

    `package` is empty where the title gives the name. `include` and `exclude` are patterns of operations, `tags` their
    tags; none chooses all. `required` says whether properties without a declaration are required: True, False, or
    None if the document decides. `root` is the folder whose files references may reach, None for the default.
    """

    package: str = ""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    overlays: tuple[Path, ...] = ()
    required: bool | None = None
    root: Path | None = None
    split: bool = False
