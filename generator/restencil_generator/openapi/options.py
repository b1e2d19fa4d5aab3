"""The source, options and output of an import."""

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


@dataclasses.dataclass(frozen=True, slots=True)
class Job:
    """One import: source, options and output.

    `source` is a path or a URL. `out` is None for the default, a file in `folder` with the name of the package. `ours`
    and `theirs` resolve conflicts by the names of their nodes, or all of them by `*`. With `again` an unchanged
    document is imported too.
    """

    source: str
    options: Options = Options()
    out: Path | None = None
    folder: Path = Path()
    ours: tuple[str, ...] = ()
    theirs: tuple[str, ...] = ()
    again: bool = False

    @property
    def settles(self) -> bool:
        """Whether it resolves conflicts."""
        return bool(self.ours or self.theirs)

    def target(self, package: str) -> Path:
        """Return the path of the spec."""
        return self.out or self.folder / (package if self.options.split else f"{package}.yaml")
