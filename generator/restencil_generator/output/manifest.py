"""A package and its manifest: the list of the files that restencil owns in a folder.

The manifest has the format of `sha256sum -c` with comments:

    # spec sha256:<digest of the loaded declaration>
    # rendered sha256:<digest>  articles.py
    <digest>  __init__.py
    <digest>  articles.py

A `# rendered` line is there only if black changed what a template gave: it keeps the digest of the text before it was
formatted, so that an unchanged text is not formatted again.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Mapping
from pathlib import PurePosixPath

from restencil_generator.codegen.header import HEADER

MANIFEST = "manifest.sha256"

_HEADER_LINE = re.compile(re.escape(HEADER) + "(.*); do not edit\\.")
_SPEC = re.compile(r"# spec sha256:([0-9a-f]{64})")
_RENDERED = re.compile(r"# rendered sha256:([0-9a-f]{64})  (.+)")
_ENTRY = re.compile(r"([0-9a-f]{64})  (.+)")


def digest(content: bytes | str) -> str:
    """Return the SHA-256 of bytes, or of a string as UTF-8, in hexadecimal."""
    return hashlib.sha256(content.encode("utf-8") if isinstance(content, str) else content).hexdigest()


def spec_named_in(line: str) -> str | None:
    """Return the name of the spec file in the first line of a generated file; None for any other line."""
    found = _HEADER_LINE.fullmatch(line)
    return None if found is None else found[1]


@dataclasses.dataclass(frozen=True, slots=True)
class Manifest:
    """The manifest of a package: the digests of its spec and of the files that it owns."""

    spec: str = ""
    digests: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])
    rendered: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])

    def text(self) -> str:
        """Return the manifest as it is written: sorted by path, with LF line endings."""
        lines = [f"# spec sha256:{self.spec}"]
        lines += [f"# rendered sha256:{self.rendered[path]}  {path}" for path in sorted(self.rendered)]
        lines += [f"{self.digests[path]}  {path}" for path in sorted(self.digests)]
        return "\n".join(lines) + "\n"

    @classmethod
    def parse(cls, text: str) -> Manifest | None:
        """Parse a manifest; None if it has an invalid line, for example a merge conflict.

        A path outside the package makes the whole manifest invalid: such a file must never be touched.
        """
        spec = ""
        digests: dict[str, str] = {}
        rendered: dict[str, str] = {}
        for line in text.splitlines():
            if found := _ENTRY.fullmatch(line):
                digests[found[2]] = found[1]
            elif found := _SPEC.fullmatch(line):
                spec = found[1]
            elif found := _RENDERED.fullmatch(line):
                rendered[found[2]] = found[1]
            else:
                return None
        if not all(map(_is_inside, [*digests, *rendered])):
            return None
        return cls(spec, digests, rendered)


@dataclasses.dataclass(frozen=True, slots=True)
class Package:
    """A generated package: its files by path within the package, in order.

    `files` has the contents with LF line endings, including the manifest; `spec` is the digest of the spec; `source` is
    the path of the spec as the user wrote it, for messages.
    """

    name: str
    source: str
    spec: str
    files: Mapping[str, str]


def assemble(name: str, source: str, spec: str, files: Mapping[str, str], rendered: Mapping[str, str]) -> Package:
    """Return a package of rendered files with its manifest added; `rendered` as in `Manifest`."""
    manifest = Manifest(spec, {path: digest(text) for path, text in files.items()}, rendered)
    return Package(name, source, spec, {**{path: files[path] for path in sorted(files)}, MANIFEST: manifest.text()})


def _is_inside(path: str) -> bool:
    parts = PurePosixPath(path)
    return not parts.is_absolute() and ".." not in parts.parts and "\\" not in path and path != MANIFEST
