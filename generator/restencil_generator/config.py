"""`[tool.restencil]` of the nearest `pyproject.toml`: which specs, and where their packages go.

[tool.restencil]
specs = ["specs/*.yaml"]      # files or folders, relative to this pyproject.toml
out = "src"                   # the package of a spec is written to OUT/<package>/
templates = "templates"       # optional: templates of your own
"""

from __future__ import annotations

import dataclasses
import difflib
import glob
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from restencil_generator.failure import Failure

FILE = "pyproject.toml"
_KEYS = ("out", "specs", "templates")


@dataclasses.dataclass(frozen=True, slots=True)
class Config:
    """The settings of a run. Paths are ready to use: relative to the working directory, or absolute.

    `file` is where they come from, None when nothing but the command line speaks.
    """

    file: Path | None
    specs: tuple[str, ...]
    out: Path
    templates: Path | None


def load_config(given: Path | None, start: Path | None = None) -> Config | None:
    """The configuration in `given`, else in the nearest `pyproject.toml` upwards that has `[tool.restencil]`.

    The search starts in `start` (default: the working directory) and ends at a folder with `.git`. None when there is
    none. Raises `Failure` when the file cannot be read or says something that is not understood.
    """
    if given is not None:
        table = _table(given)
        if table is None:
            raise Failure(f"{given}: there is no [tool.restencil] table")
        return _config(given, table)
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        file = folder / FILE
        if file.is_file():
            table = _table(file)
            if table is not None:
                return _config(_shown(file), table)
        if (folder / ".git").exists():
            break
    return None


def find_specs(config: Config) -> list[Path]:
    """The specs that the configuration names, sorted, each once. A pattern that matches nothing is a `Failure`."""
    assert config.file is not None
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


def _config(file: Path, table: Mapping[str, object]) -> Config:
    for key in table:
        if key not in _KEYS:
            near = difflib.get_close_matches(key, _KEYS, n=1)
            hint = f"; did you mean `{near[0]}`?" if near else ""
            raise Failure(f"{file}: unknown key `{key}` in [tool.restencil] (known: {', '.join(_KEYS)}){hint}")
    specs = _texts(table.get("specs", []))
    if specs is None:
        raise Failure(f'{file}: `specs` in [tool.restencil] must be a list of texts, such as ["specs/*.yaml"]')
    out = table.get("out", ".")
    if not isinstance(out, str) or not out:
        raise Failure(f'{file}: `out` in [tool.restencil] must be a text, such as "src"')
    templates = table.get("templates")
    if templates is not None and (not isinstance(templates, str) or not templates):
        raise Failure(f'{file}: `templates` in [tool.restencil] must be a text, such as "templates"')
    root = file.parent
    return Config(file, tuple(specs), root / out, root / templates if templates is not None else None)


def _texts(value: object) -> list[str] | None:
    """A list of texts that say something; None for anything else."""
    if not isinstance(value, list):
        return None
    texts = [item for item in cast("list[object]", value) if isinstance(item, str) and item]
    return texts if len(texts) == len(cast("list[object]", value)) else None


def _shown(file: Path) -> Path:
    """A path as messages show it: relative to the working directory where it lies inside or above it."""
    here = Path.cwd().resolve()
    for depth, folder in enumerate((here, *here.parents)):
        if file.is_relative_to(folder):
            return Path(*[".."] * depth) / file.relative_to(folder)
    return file


def settle(
    config: Config | None, specs: Sequence[Path], out: Path | None, templates: Path | None
) -> tuple[list[Path], Config]:
    """The specs and settings of a run: what the command line says goes over what the configuration says."""
    if config is None and not specs:
        raise Failure(
            "no spec: name one (`restencil generate specs/blog.yaml`), or list them under [tool.restencil] in "
            "pyproject.toml (`restencil init` writes an example)"
        )
    base = config or Config(None, (), Path(), None)
    if not specs and not base.specs:
        raise Failure(f"{base.file}: [tool.restencil] names no `specs`, and none is given on the command line")
    settled = dataclasses.replace(
        base, out=base.out if out is None else out, templates=base.templates if templates is None else templates
    )
    return _each_once(specs or find_specs(base)), settled


def _each_once(paths: Sequence[Path]) -> list[Path]:
    """The paths without those that name the file or folder of an earlier one once more."""
    first: dict[Path, Path] = {}
    for path in paths:
        first.setdefault(path.resolve(), path)
    return list(first.values())
