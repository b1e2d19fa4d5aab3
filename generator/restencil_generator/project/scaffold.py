"""`restencil init`: writes the files that a project needs to keep generated packages, unless they exist."""

from __future__ import annotations

import dataclasses
import tomllib
from pathlib import Path
from typing import Final, Literal, TypeAlias

from restencil_generator.exceptions import Failure

Done: TypeAlias = Literal["wrote", "added", "kept"]

_CONFIG: Final = """\
[tool.restencil]
specs = ["specs/*.yaml"]  # files or folders
out = "src"               # the package of a spec is written to src/<package>/
"""

_SPEC: Final = """\
# yaml-language-server: $schema=./restencil.schema.json
# `restencil schema > specs/restencil.schema.json` writes the schema with which editors complete and check this file.
restencil: 1
package: todo_app
title: Todo API
url_prefix: https://api.todo.example/v1

options: {retries: 2}  # for reads, PUT and DELETE, which are safe to repeat
# Clients cache data in memory, and with Store(storage=SQLiteStorage(…)) also on disk.
# `persist: false` in options, on an entity or on a field excludes data from the disk.

resources:
  todos:
    description: Something to do.
    path: /todos/:id
    schema:
      entity: Todo
      fields:
        id: {type: integer, read_only: true}
        title: string
        done: boolean
        due: date?
    search_params: {done: boolean?}
    optimistic: true
    examples:
      get_list:
        response:
          - {id: 1, title: Write a spec, done: true, due: null}
          - {id: 2, title: Generate the package, done: false, due: null}
"""

_ATTRIBUTES: Final = "src/todo_app/** text eol=lf linguist-generated=true\n"

_PRE_COMMIT: Final = """\
repos:
  - repo: local
    hooks:
      - id: restencil-check
        name: restencil check
        description: Verify that generated packages are up to date.
        entry: restencil check
        language: system
        pass_filenames: false
"""

_WORKFLOW: Final = """\
name: restencil
on: [push, pull_request]
permissions:
  contents: read
jobs:
  check:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v5
      - uses: actions/setup-python@v6
        with:
          python-version: "3.13"
      - run: pip install "restencil[generator]"
      - run: restencil check --diff
      - name: breaking changes of the specs
        if: github.event_name == 'pull_request'
        run: |
          git fetch --depth=1 origin "$GITHUB_BASE_REF"
          for spec in specs/*.yaml; do
            if git cat-file -e "FETCH_HEAD:$spec" 2> /dev/null; then
              restencil diff "FETCH_HEAD:$spec" "$spec"
            fi
          done
"""


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    """The result for one file: written, extended or kept unchanged, and the reason."""

    done: Done
    path: Path
    note: str = ""


def scaffold(directory: Path) -> list[Step]:
    """Write configuration, an example spec and snippets into a folder. Existing files are kept.

    Raises `Failure` if the folder is a file or its `pyproject.toml` is invalid.
    """
    if directory.exists() and not directory.is_dir():
        raise Failure(f"{directory} is a file; `restencil init` needs a folder")
    directory.mkdir(parents=True, exist_ok=True)
    return [
        _configured(directory / "pyproject.toml"),
        _example(directory / "specs"),
        _with_line(directory / ".gitattributes", _ATTRIBUTES),
        _new(directory / ".pre-commit-config.yaml", _PRE_COMMIT),
        _new(directory / ".github" / "workflows" / "restencil.yml", _WORKFLOW),
    ]


def _configured(path: Path) -> Step:
    if not path.exists():
        return _new(path, _CONFIG)
    text = path.read_text(encoding="utf-8")
    try:
        tools = tomllib.loads(text).get("tool", {})
    except tomllib.TOMLDecodeError as error:
        raise Failure(f"{path}: is not valid TOML: {error}; nothing was written") from error
    if "restencil" in tools:
        return Step("kept", path, "has [tool.restencil] already")
    _append(path, text, "\n" + _CONFIG)
    return Step("added", path, "[tool.restencil]")


def _example(folder: Path) -> Step:
    if any(folder.glob("*.yaml")) or any(folder.glob("*.yml")):
        return Step("kept", folder, "has specs already")
    return _new(folder / "todo.yaml", _SPEC)


def _with_line(path: Path, line: str) -> Step:
    if not path.exists():
        return _new(path, line)
    text = path.read_text(encoding="utf-8")
    if line.strip() in text.splitlines():
        return Step("kept", path, "contains the line already")
    _append(path, text, line)
    return Step("added", path, line.strip())


def _new(path: Path, text: str) -> Step:
    if path.exists():
        return Step("kept", path, "exists already")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
    return Step("wrote", path)


def _append(path: Path, text: str, more: str) -> None:
    gap = "" if not text or text.endswith("\n") else "\n"
    with path.open("a", encoding="utf-8", newline="") as file:
        file.write(gap + more)
