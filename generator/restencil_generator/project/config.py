"""Configuration: the table `[tool.restencil]` of the nearest `pyproject.toml`.

[tool.restencil] specs = ["specs/*.yaml"]      # files or folders, relative to this pyproject.toml out = "src"
# the package of a spec is written to OUT/<package>/ templates = "templates"       # optional: templates of your own

[tool.restencil.import.shop]  # optional: what `restencil import shop` does source = "openapi/shop.json"  # a file, or
an address out = "specs/shop.yaml"

[tool.restencil.diff]         # optional: what `restencil diff` accepts; `diff.settings` reads it fail_on = "risky"
"""

from __future__ import annotations

import dataclasses
import glob
import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from restencil_generator.diagnostics.model import did_you_mean
from restencil_generator.exceptions import Failure
from restencil_generator.openapi.options import Job, Options

FILE = "pyproject.toml"
KEYS = ("diff", "import", "out", "specs", "templates")
IMPORT_KEYS = ("exclude", "include", "out", "overlays", "required", "root", "source", "split", "tags")


@dataclasses.dataclass(frozen=True, slots=True)
class Project:
    """The input of a run: its specs without duplicates, the output folder, and the user's templates.

    Paths are absolute or relative to the working directory. `file` is the configuration file, or None if all settings
    are from the command line; `whole` is true if `specs` are all specs of the configuration. `arguments` are the
    command line arguments that selected them, quoted for a shell.
    """

    specs: tuple[Path, ...]
    out: Path
    templates: Path | None = None
    file: Path | None = None
    whole: bool = False
    arguments: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class _Config:
    """The table `[tool.restencil]` of a file; `specs` are glob patterns, relative to the file."""

    file: Path
    specs: tuple[str, ...]
    out: Path
    templates: Path | None
    imports: Mapping[str, Job]


def find_project(
    specs: Sequence[Path], *, config: Path | None = None, out: Path | None = None, templates: Path | None = None
) -> Project:
    """Return the project of a run; options of the command line override the configuration.

    The configuration is the file `config`, else the nearest `pyproject.toml` upwards that has `[tool.restencil]`.
    Raises `Failure` if the configuration is invalid, if no spec is named, or if a named spec does not exist.
    """
    found = _load_config(config)
    if not specs and found is None:
        raise Failure(
            "no spec: give the path of one, such as specs/blog.yaml, or list them under [tool.restencil] in "
            "pyproject.toml (`restencil init` writes an example)"
        )
    if not specs and found is not None and not found.specs:
        raise Failure(f"{found.file}: [tool.restencil] has no `specs`, and no spec is given on the command line")
    if found is None:
        return Project(_each_once(specs), out or Path(), templates)
    return Project(
        _each_once(specs or _find_specs(found)),
        found.out if out is None else out,
        found.templates if templates is None else templates,
        found.file,
        whole=not specs,
    )


def find_imports(config: Path | None = None) -> Mapping[str, Job]:
    """Return the configured imports by package; none if there is no configuration.

    Raises `Failure` if the configuration is invalid.
    """
    found = _load_config(config)
    return {} if found is None else found.imports


def _load_config(given: Path | None) -> _Config | None:
    """Load the configuration from `given`, else from the nearest `pyproject.toml` upwards that has `[tool.restencil]`.

    The search starts in the working directory and ends at a folder with `.git`. Returns None if nothing is found.
    """
    found = find_table(given)
    return None if found is None else _config(*found)


def find_table(given: Path | None) -> tuple[Path, Mapping[str, object]] | None:
    """Return the effective table `[tool.restencil]` with its file as messages show it; None if there is none."""
    if given is not None:
        table = _table(given)
        if table is None:
            raise Failure(f"{given}: there is no [tool.restencil] table")
        return given, table
    here = Path.cwd().resolve()
    for folder in (here, *here.parents):
        file = folder / FILE
        if file.is_file():
            table = _table(file)
            if table is not None:
                return _shown(file), table
        if (folder / ".git").exists():
            break
    return None


def _find_specs(config: _Config) -> list[Path]:
    """Return the configured specs, sorted and without duplicates. Raises `Failure` if a pattern matches nothing."""
    root = config.file.parent
    found: dict[Path, None] = {}
    for pattern in config.specs:
        matches = sorted(glob.glob(pattern, root_dir=root, recursive=True))
        if not matches:
            raise Failure(f"{config.file}: no spec matches {pattern!r} in `specs` (searched in {root.resolve()})")
        found.update(dict.fromkeys(root / match for match in matches))
    return list(found)


def _table(file: Path) -> Mapping[str, object] | None:
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise Failure(f"{file}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise Failure(f"{file}: is not UTF-8 text") from error
    try:
        document: Mapping[str, object] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        if "[tool.restencil" not in text:
            return None
        raise Failure(f"{file}: is not valid TOML: {error}") from error
    tools = cast("Mapping[str, object]", document.get("tool", {}))
    table = tools.get("restencil")
    if table is None:
        return None
    if not isinstance(table, dict):
        raise Failure(f"{file}: `tool.restencil` must be a table")
    return cast("Mapping[str, object]", table)


def _config(file: Path, table: Mapping[str, object]) -> _Config:
    where = "[tool.restencil]"
    check_keys(file, table, KEYS, where)
    specs = _list(file, table, "specs", where, '["specs/*.yaml"]')
    out = _text(file, table, "out", where, '"src"')
    templates = _text(file, table, "templates", where, '"templates"')
    imports = table.get("import", {})
    if not isinstance(imports, dict):
        raise Failure(f"{file}: `import` in {where} must hold tables, such as [tool.restencil.import.shop]")
    named = cast("Mapping[str, object]", imports)
    root = file.parent
    return _Config(
        file,
        specs,
        root / (out or "."),
        root / templates if templates is not None else None,
        {name: _import(file, name, written) for name, written in named.items()},
    )


def check_keys(file: Path, table: Mapping[str, object], keys: Sequence[str], where: str) -> None:
    """Raise `Failure` if a table of a configuration has an unknown key."""
    for key in table:
        if key not in keys:
            hint = did_you_mean(key, keys)
            known = ", ".join(keys)
            raise Failure(f"{file}: unknown key `{key}` in {where} (known: {known})" + (f"; {hint}" if hint else ""))


def _import(file: Path, name: str, written: object) -> Job:
    where = f"[tool.restencil.import.{name}]"
    if not isinstance(written, dict):
        raise Failure(f'{file}: {where} must be a table with `source`, such as source = "openapi.json"')
    table = cast("Mapping[str, object]", written)
    check_keys(file, table, IMPORT_KEYS, where)
    texts = {key: _text(file, table, key, where, example) for key, example in _IMPORT_TEXTS.items()}
    lists = {key: _list(file, table, key, where, example) for key, example in _IMPORT_LISTS.items()}
    flags = {key: _flag(file, table, key, where) for key in ("required", "split")}
    source, folder = texts["source"], file.parent
    if source is None:
        raise Failure(f'{file}: {where} needs `source`, such as source = "openapi.json"')
    options = Options(
        package=name,
        include=lists["include"],
        exclude=lists["exclude"],
        tags=lists["tags"],
        overlays=tuple(folder / overlay for overlay in lists["overlays"]),
        required=flags["required"],
        root=None if texts["root"] is None else folder / texts["root"],
        split=bool(flags["split"]),
    )
    out = None if texts["out"] is None else folder / texts["out"]
    return Job(source if "://" in source else str(folder / source), options, out, folder)


_IMPORT_TEXTS = {"source": '"openapi.json"', "out": '"specs/shop.yaml"', "root": '"openapi"'}
_IMPORT_LISTS = {
    "include": '["GET /orders/**"]',
    "exclude": '["/internal/**"]',
    "tags": '["orders"]',
    "overlays": '["fixes.yaml"]',
}


def _text(file: Path, table: Mapping[str, object], key: str, where: str, example: str) -> str | None:
    value = table.get(key)
    if value is not None and (not isinstance(value, str) or not value):
        raise Failure(f"{file}: `{key}` in {where} must be a string, such as {example}")
    return value


def _list(file: Path, table: Mapping[str, object], key: str, where: str, example: str) -> tuple[str, ...]:
    texts = _texts(table.get(key, []))
    if texts is None:
        raise Failure(f"{file}: `{key}` in {where} must be a list of strings, such as {example}")
    return tuple(texts)


def _flag(file: Path, table: Mapping[str, object], key: str, where: str) -> bool | None:
    value = table.get(key)
    if value is not None and not isinstance(value, bool):
        raise Failure(f"{file}: `{key}` in {where} must be true or false")
    return value


def _texts(value: object) -> list[str] | None:
    """Return a list of non-empty strings; None for any other value."""
    if not isinstance(value, list):
        return None
    texts = [item for item in cast("list[object]", value) if isinstance(item, str) and item]
    return texts if len(texts) == len(cast("list[object]", value)) else None


def _shown(file: Path) -> Path:
    """Return a path as messages show it: relative to the working directory if it is in it or in one of its parents."""
    here = Path.cwd().resolve()
    for depth, folder in enumerate((here, *here.parents)):
        if file.is_relative_to(folder):
            return Path(*[".."] * depth) / file.relative_to(folder)
    return file


def _each_once(paths: Sequence[Path]) -> tuple[Path, ...]:
    """Remove paths of files or folders that an earlier path names already."""
    first: dict[str, Path] = {}
    for path in paths:
        first.setdefault(os.path.realpath(path), path)  # `Path.resolve` raises for a symbolic link to itself
    return tuple(first.values())
