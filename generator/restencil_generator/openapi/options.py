"""Options of an import."""

from __future__ import annotations

import dataclasses
from pathlib import Path


@dataclasses.dataclass(frozen=True, slots=True)
class Options:
    """The options for inferring a spec from a document.

    `package` is empty to derive it from the title. `include` and `exclude` are patterns of operations, `tags` their
    tags; without them all are selected. `required` is whether properties are required if the document does not declare
    it: True, False, or None if the document decides. `root` is the folder that must contain all referenced files, None
    for the default.
    """

    package: str = ""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    overlays: tuple[Path, ...] = ()
    required: bool | None = None
    root: Path | None = None
    split: bool = False
