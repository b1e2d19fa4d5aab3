"""Loading of the source and of the files that it references, within limits.

A source that is a file can reference files under its root (after symbolic links are resolved), and never URLs. A source
that is a URL can reference its own origin, and never files. Each file is read once.
"""

from __future__ import annotations

import dataclasses
import os
import sys
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urljoin, urlsplit

from restencil_generator.exceptions import Failure
from restencil_generator.openapi.document.fetch import Fetcher, NotThere, OtherOrigin, is_address
from restencil_generator.openapi.document.parse import Text, Unreadable, read_text

_SUFFIXES: Final = (".json", ".yaml", ".yml")


@dataclasses.dataclass(frozen=True, slots=True)
class Refused:
    """A reference whose target is not read: the code of the finding, and the reason."""

    code: str
    why: str


@dataclasses.dataclass(slots=True)
class File:
    """A file that was read. `name` is its name in messages."""

    name: str
    text: Text
    value: Any
    """The parsed contents, with overlays applied."""


class Files:
    """Reader of the source and of the files that it references.

    `source` is a file, a URL, or `-`. Raises `Failure` if the source cannot be read, and the errors of `read_text` if
    it is neither JSON nor YAML.
    """

    def __init__(self, source: str, root: Path | None = None) -> None:
        self.address = source if "://" in source else None  # the fetcher rejects schemes that it does not support
        self._fetcher = None if self.address is None else Fetcher(source)
        self._by_key: dict[str, File | Refused] = {}
        self._keys: dict[str, str] = {}
        """The real path or the URL of each file, by its name in messages."""
        if self._fetcher is not None:
            content, self.address = self._fetcher.fetch(source)
            self.root, key, name = None, self.address, source
        else:
            self.root = _root(source, root)
            name = "-" if source == "-" else Path(source).as_posix()
            key = "-" if source == "-" else os.path.realpath(source)
            content = sys.stdin.buffer.read() if source == "-" else _content(Path(source))
        self.source = self._enter(key, name, content)

    @property
    def all(self) -> list[File]:
        """The files that were read, the source first, the others by name."""
        others = [file for file in self._by_key.values() if isinstance(file, File) and file is not self.source]
        return [self.source, *sorted(others, key=lambda file: file.name)]

    def named(self, name: str) -> File | None:
        """Return the file with this name in messages."""
        file = self._by_key.get(self._keys.get(name, ""))
        return file if isinstance(file, File) else None

    def follow(self, name: str, target: str) -> File | Refused:
        """Return the file of a reference in the file `name`; `target` is the reference up to its `#`.

        Raises `Failure` if an origin did not respond: without the file the document would be different.
        """
        if self._fetcher is not None:
            return self._behind_address(urljoin(self._keys[name], target))
        scheme = urlsplit(target).scheme
        if len(scheme) > 1:
            code = "ref-outside" if scheme.lower() == "file" else "ref-remote"
            return Refused(code, f"'{target}' is not a file under {self._shown_root()}")
        folder = Path.cwd() if name == "-" else Path(self._keys[name]).parent
        return self._under_root(name, folder / unquote(target), unquote(target))

    def _shown_root(self) -> str:
        here = os.path.realpath(Path.cwd())
        shown = os.path.relpath(self.root or here, here)
        return "the working directory" if shown == "." else shown

    def _under_root(self, base: str, path: Path, target: str) -> File | Refused:
        assert self.root is not None
        try:
            real = os.path.realpath(path)
        except (OSError, ValueError):
            return Refused("ref-missing", f"'{target}' is not a valid path")
        if real in self._by_key:
            return self._by_key[real]
        if not Path(real).is_relative_to(self.root):
            why = f"'{target}' is outside of {self._shown_root()} (use --root DIR for another folder)"
            return Refused("ref-outside", why)
        if not real.lower().endswith(_SUFFIXES):
            return Refused("ref-outside", f"'{target}' does not end in json, yaml or yml")
        name = Path(os.path.normpath(Path(base).parent / target)).as_posix()
        try:
            return self._enter(real, name, Path(real).read_bytes())
        except (OSError, Unreadable, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            found = self._by_key[real] = Refused("ref-missing", f"'{target}' cannot be read: {reason}")
            return found

    def _behind_address(self, address: str) -> File | Refused:
        assert self._fetcher is not None
        if address in self._by_key:
            return self._by_key[address]
        try:
            if not is_address(address):
                raise OtherOrigin(f"{address}: is not a valid URL")
            content, _ = self._fetcher.fetch(address)
            return self._enter(address, address, content)
        except OtherOrigin as error:
            found = Refused("ref-remote", str(error))
        except (NotThere, Unreadable) as error:
            found = Refused("ref-missing", str(error))
        self._by_key[address] = found
        return found

    def _enter(self, key: str, name: str, content: bytes) -> File:
        text = read_text(content, name)
        file = File(name, text, text.value)
        self._by_key[key] = file
        self._keys[name] = key
        return file


def _root(source: str, root: Path | None) -> Path:
    """Return the folder that must contain all referenced files."""
    if root is not None:
        if not root.is_dir():
            raise Failure(f"{root}: is not a folder; --root is the folder of the files that `$ref` may refer to")
        return Path(os.path.realpath(root))
    here = Path(os.path.realpath(Path.cwd()))
    if source == "-":
        return here
    folder = Path(os.path.realpath(source)).parent
    return here if folder.is_relative_to(here) else folder


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise Failure(f"{path}: cannot be read: {error.strerror or error}") from error
