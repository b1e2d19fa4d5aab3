"""The build hook of wheel and sdist: adds the JSON Schema of the spec language, made from the table of keys."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class SchemaBuildHook(BuildHookInterface):  # type: ignore[type-arg] # the type of its configuration is hatchling's own
    """Writes `spec.schema.json` into a temporary folder and has it put beside the module that makes it.

    An editable install gets no file, which would be out of date with the next edit: `restencil schema` prints it.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Adds the file to what is built."""
        if version == "editable":
            return
        generator = Path(self.root, "generator")
        sys.path.insert(0, str(generator))
        try:
            from restencil_generator.spec.grammar import json_schema
        finally:
            sys.path.remove(str(generator))
        self._folder = tempfile.TemporaryDirectory(prefix="restencil-schema-")
        made = Path(self._folder.name, json_schema.FILE_NAME)
        made.write_text(json_schema.schema_text(), encoding="utf-8", newline="\n")
        target = Path(json_schema.__file__).with_name(json_schema.FILE_NAME).relative_to(generator)
        build_data["force_include"][str(made)] = str(target if self.target_name == "wheel" else "generator" / target)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Removes the temporary folder."""
        if version != "editable":
            self._folder.cleanup()
