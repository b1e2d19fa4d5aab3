"""Storage of `.imported/`: the previous import and its origins.

`.imported/<package>.yaml` is the exact result; `.imported/<package>.json` has the sources, the options, and the origin
of each node. Both are committed, so they contain no absolute path, no time and no host except that of the source.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from restencil_generator.exceptions import Failure
from restencil_generator.openapi.document.fetch import is_address
from restencil_generator.openapi.document.json_types import is_table
from restencil_generator.openapi.options import Options
from restencil_generator.openapi.spec_tree import Origin, Tree, shown

FOLDER: Final = ".imported"


@dataclasses.dataclass(frozen=True, slots=True)
class Record:
    """The inputs of an import.

    `source` and the names of `files` are relative to the folder of the spec, or URLs. `files` have the SHA-256 of the
    contents. `nodes` are the origins of nodes, by their key paths as in messages.
    """

    package: str
    source: str
    files: Mapping[str, str]
    options: Mapping[str, Any]
    nodes: Mapping[str, Origin]


def record_folder(out: Path) -> Path:
    """Return the folder of the record of a spec."""
    return out.parent / FOLDER


def named(path: str | Path, folder: Path) -> str:
    """Return the name of a file in a record: relative to the folder of the spec."""
    text = str(path)
    if text == "-" or is_address(text):
        return text
    return Path(os.path.relpath(os.path.realpath(text), os.path.realpath(folder))).as_posix()


def options_of(options: Options, folder: Path) -> dict[str, Any]:
    """Return the options that affect the result, for the record."""
    return {
        "include": list(options.include),
        "exclude": list(options.exclude),
        "tags": list(options.tags),
        "overlays": [named(overlay, folder) for overlay in options.overlays],
        "required": options.required,
        "root": None if options.root is None else named(options.root, folder),
        "split": options.split,
    }


def origins(tree: Tree, folder: Path) -> dict[str, Origin]:
    """Return the origins of a tree, with file names for the record."""
    return {
        shown(path): dataclasses.replace(origin, file=named(origin.file, folder) if origin.file else "")
        for path, origin in tree.origins.items()
    }


def records(folder: Path) -> Iterator[Record]:
    """Yield the readable records of a folder, by package."""
    for path in sorted(folder.glob("*.json")):
        with contextlib.suppress(Failure):
            record = read_record(folder, path.stem)
            if record is not None:
                yield record


def read_record(folder: Path, package: str) -> Record | None:
    """Return the record of a package; None if there is none. Raises `Failure` if it is invalid."""
    path = folder / f"{package}.json"
    try:
        value = json.loads(path.read_bytes().decode("utf-8"))
    except FileNotFoundError:
        return None
    except json.JSONDecodeError as error:
        raise _foreign(f"{path.as_posix()}:{error.lineno}:{error.colno}", error.msg) from error
    except ValueError as error:
        raise _foreign(path.as_posix(), "it is not UTF-8") from error
    if not is_table(value) or not all(is_table(value.get(key)) for key in ("files", "options", "nodes")):
        raise _foreign(path.as_posix(), "it is not the record of an import")
    nodes = {
        path: Origin(str(each.get("identity", "")), str(each.get("pointer", "")), str(each.get("file", "")))
        for path, each in value["nodes"].items()
        if is_table(each)
    }
    return Record(package, str(value.get("source", "")), value["files"], value["options"], nodes)


def _foreign(where: str, message: str) -> Failure:
    return Failure(
        f"{where}: is not what an import wrote: {message}; restore the file from version control, or delete it (then "
        "the names that the last import gave are not remembered)"
    )


def read_base(folder: Path, package: str) -> str | None:
    """Return the result of the last import; None if there is none. Raises `Failure` if it is not UTF-8."""
    path = folder / f"{package}.yaml"
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise _foreign(path.as_posix(), "it is not UTF-8") from error


def record_text(record: Record) -> str:
    """Return a record as JSON."""
    document = {
        "source": record.source,
        "files": dict(sorted(record.files.items())),
        "options": record.options,
        "nodes": {path: _written(origin) for path, origin in record.nodes.items()},
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _written(origin: Origin) -> dict[str, str]:
    return {key: value for key, value in dataclasses.asdict(origin).items() if value}


def digest_of(path: Path) -> str | None:
    """Return the SHA-256 of a file; None if it cannot be read."""
    try:
        return sha256(path.read_bytes())
    except OSError:
        return None


def sha256(content: bytes) -> str:
    """Return the SHA-256 of bytes, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def write_file(path: Path, text: str) -> bool:
    """Replace a file atomically; returns False if it has this content already. Raises `Failure` if that fails.

    A link is followed. A pipe or a device is written to: it has no content to compare, and must not be replaced.
    """
    content = text.encode("utf-8")
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(content)
        elif path.exists() and path.read_bytes() == content:
            return False
        else:
            _replace(path.resolve(), content)
    except OSError as error:
        raise Failure(f"{path}: cannot be written: {error.strerror or error}") from error
    return True


def _replace(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
        os.chmod(name, path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask())
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
