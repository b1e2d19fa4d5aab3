"""Results of an import: a new spec, or the merged one, with conflicts.

All results are known before anything is written. Files of the spec are written first, the record of the import last:
after a crash in between, the next run finds that ours already equals theirs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from restencil_generator.diagnostics.model import Place, Problem, Source, has_errors, in_order, listed, nearest, quoted
from restencil_generator.exceptions import Failure, SpecError
from restencil_generator.openapi.document.model import Where
from restencil_generator.openapi.merge import state
from restencil_generator.openapi.merge.apply import RESOURCES
from restencil_generator.openapi.merge.merge import Merged, merge
from restencil_generator.openapi.merge.source_map import Side, read_side
from restencil_generator.openapi.merge.three_way import Settled, names_of
from restencil_generator.openapi.spec_tree import NodePath, Tree
from restencil_generator.spec.load import load_spec, load_texts

BOM: Final = "\ufeff"


@dataclasses.dataclass(frozen=True, slots=True)
class Settlement:
    """The files to write, and findings about them.

    `files` are the contents of the spec's files, None for a file without content. `refused` are conflicts, or the
    errors of the merged spec: then nothing may be written. `notices` are warnings and notes.
    """

    files: Mapping[Path, str | None]
    refused: tuple[Problem, ...] = ()
    notices: tuple[Problem, ...] = ()
    sources: Mapping[str, Source] = dataclasses.field(default_factory=dict[str, Source])

    @property
    def conflicts(self) -> list[str]:
        """The nodes in conflict, named as in `--ours` and `--theirs`."""
        return names_of(problem for problem in self.refused if problem.code == "import-conflict")


@dataclasses.dataclass(frozen=True, slots=True)
class Theirs:
    """The result of the current import: its tree and its YAML; `places` finds the lines of parts of the document."""

    package: str
    tree: Tree
    text: str
    source: str
    places: Callable[[Iterable[Where]], Mapping[Where, Place]]


def settle(theirs: Theirs, out: Path, settled: Settled, *, split: bool = False) -> Settlement:
    """Return the files to write at `out`, a file or a folder.

    Raises `Failure` if the spec at `out` was not imported, or if the record of its import cannot be read; `SpecError`
    if the spec has errors.
    """
    ours = load_spec(out)
    if not out.exists() or (out.is_dir() and not ours.files):
        return Settlement(_fresh(theirs.text, out, split))
    folder = state.record_folder(out)
    base = state.read_base(folder, theirs.package)
    whole = settled.side("*")
    if base is None and ours.declaration is not None and ours.declaration.package != theirs.package:
        raise Failure(
            f"{out} is the spec of the package {quoted(ours.declaration.package)}, not of {quoted(theirs.package)}; "
            "choose another place with --out"
        )
    if base is None and whole is None:
        raise Failure(
            f"{out} was not imported: there is no {(folder / theirs.package).as_posix()}.yaml "
            "(--ours '*' keeps it, --theirs '*' replaces it)"
        )
    if base is None:
        return Settlement({} if whole == "ours" else _replaced(theirs.text, out))
    read_base(base, folder / f"{theirs.package}.yaml")
    return _merge(theirs, base, out, settled)


def split_files(text: str) -> dict[str, str]:
    """Split a spec into the files of a folder: one per table, one per resource, and the rest."""
    side = read_side({"spec": text}, [])
    assert side is not None  # it was just written
    files = {"spec.yaml": ""}
    for name, part in side.parts.items():
        lines = part.lines()
        if name == RESOURCES:
            for resource, inner in part.parts.items():
                files[f"{RESOURCES}/{resource}.yaml"] = "".join([f"{RESOURCES}:\n", *inner.lines()])
        elif name in ("enums", "objects", "entities"):
            files[f"{name}.yaml"] = "".join(lines).lstrip("\n")
        else:
            files["spec.yaml"] += "".join(lines)
    return files


def write(files: Mapping[Path, str | None]) -> bool:
    """Write the files of a spec atomically, one by one; returns False if all were unchanged."""
    written = False
    for path, text in files.items():
        if text is None:
            written |= path.exists()
            path.unlink(missing_ok=True)
        else:
            written |= state.write_file(path, text)
    return written


def _fresh(text: str, out: Path, split: bool) -> dict[Path, str | None]:
    if not split and not out.is_dir():
        return {out: text}
    return {out / name: content for name, content in split_files(text).items()}


def _replaced(text: str, out: Path) -> dict[Path, str | None]:
    """Return the files that replace a spec."""
    fresh = _fresh(text, out, out.is_dir())
    gone: dict[Path, str | None] = {file: None for file in load_spec(out).files if file not in fresh}
    return {**fresh, **gone}


def read_base(base: str, path: Path) -> Side:
    """Read the result of the last import. Raises `Failure` if it is not one."""
    problems: list[Problem] = []
    side = read_side({path.as_posix(): base}, problems)
    if side is None:
        first = problems[0]
        where = f"{first.place.file}:{first.place.line}:{first.place.column}" if first.place.line else first.place.file
        raise Failure(
            f"{where}: is not what an import wrote: {first.message}; restore the file from version control, or delete "
            "it and pass --ours '*' or --theirs '*'"
        )
    return side


# ---------------------------------------------------------------------------------------------------------------- merge


def _merge(theirs: Theirs, base: str, out: Path, settled: Settled) -> Settlement:
    loaded = load_spec(out)
    if has_errors(loaded.problems):
        raise SpecError(loaded.problems, loaded.sources)
    contents = {file: file.read_bytes().decode("utf-8") for file in loaded.files}
    ours = {file.as_posix(): text.removeprefix(BOM) for file, text in contents.items()}
    folder = out.as_posix() if out.is_dir() else ""
    merged = merge(base, ours, theirs.text, settled=settled, folder=folder)
    _check_names(settled, merged)
    marked = {file.as_posix() for file, text in contents.items() if text.startswith(BOM)}
    if merged.conflicts:
        return Settlement({}, tuple(in_order(_conflicts(theirs, merged))), merged.notices, loaded.sources)
    texts = {name: text for name, text in merged.files.items() if text is not None}
    result = load_texts(texts, out.name)
    if has_errors(result.problems):
        return Settlement({}, tuple(result.problems), merged.notices, result.sources)
    files = {
        Path(name): BOM + text if text is not None and name in marked else text for name, text in merged.files.items()
    }
    return Settlement(files, (), merged.notices, loaded.sources)


def _conflicts(theirs: Theirs, merged: Merged) -> list[Problem]:
    """Return the conflicts of a merge, each with the line of the document."""
    wheres = [where_of(theirs, conflict.path) for conflict in merged.conflicts]
    places = theirs.places(wheres)
    return [each.with_upstream(_line(places[at])) for each, at in zip(merged.conflicts, wheres, strict=True)]


def _line(place: Place) -> str:
    return f"{place.file}:{place.line}" if place.line else place.file


def where_of(theirs: Theirs, path: NodePath) -> Where:
    """Return the part of the document that a node comes from, or the nearest enclosing part."""
    origin = theirs.tree.origin(path)
    return Where(origin.file or theirs.source, origin.pointer)


def _check_names(settled: Settled, merged: Merged) -> None:
    """Report names in `--ours` and `--theirs` that resolve nothing, which are usually misspelled."""
    known = names_of(merged.conflicts)
    for name in (*settled.ours, *settled.theirs):
        if name == "*" or name in merged.used:
            continue
        near = nearest(name, known)
        hint = f"; in conflict: {listed(known[:5], 'and')}" if known else ""
        hint = f"; did you mean {quoted(near)}?" if near else hint
        raise Failure(f"there is no conflict at {quoted(name)}{hint}")
