"""Search for the lines of all findings in one pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from restencil_generator.diagnostics.model import Place, Problem, Source
from restencil_generator.openapi.document.files import Files
from restencil_generator.openapi.document.model import Where
from restencil_generator.openapi.document.overlays import Overlaid
from restencil_generator.openapi.document.parse import Text, places


class Places:
    """Finds the lines of parts of a document, including parts that overlays wrote."""

    def __init__(self, files: Files, overlaid: Overlaid) -> None:
        self._overlaid = overlaid
        self._source = files.source.name
        self._texts: dict[str, Text] = {file.name: file.text for file in files.all}
        self._texts |= {text.file: text for text in overlaid.texts}

    def find(self, wheres: Iterable[Where]) -> dict[Where, Place]:
        """Return the place of each part, with one pass over each file."""
        origins = {where: self._origin(where) for where in wheres}
        pointers: dict[str, list[str]] = {}
        for origin in origins.values():
            pointers.setdefault(origin.file, []).append(origin.pointer.partition("&")[0])
        found = {file: places(self._texts[file], each) for file, each in pointers.items() if file in self._texts}
        return {
            where: found.get(origin.file, {}).get(origin.pointer.partition("&")[0], Place(origin.file))
            for where, origin in origins.items()
        }

    def sources(self, problems: Iterable[Problem]) -> Mapping[str, Source]:
        """Return the contents of files with problems, for excerpts."""
        return {file: self._texts[file].source for file in {one.place.file for one in problems} if file in self._texts}

    def _origin(self, where: Where) -> Where:
        return self._overlaid.origin(where) if where.file == self._source else where
