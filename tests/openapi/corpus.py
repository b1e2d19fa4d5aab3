"""`make corpus DIR=…`: every OpenAPI document of a folder through the whole, and the figures.

Each document is imported, its spec linted, its package generated, called against its own mock, and its spec exported
and imported again; the packages are then checked by mypy, pyright and ruff in one run each. Nothing of the folder is
changed, and nothing is kept. Usage: corpus.py DIR [--no-types] [--verbose] [--table FILE].

A line for each document, then the sums. What should never be (a traceback, a spec that the check refuses, a package
that does not pass) is listed, and makes the exit code 1.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import importlib
import json
import re
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from openapi_spec_validator import validate
from openapi_spec_validator.validation.exceptions import OpenAPIValidationError
from tests.libraries import httpx

import restencil_generator as generator
from restencil_generator.exceptions import Failure
from restencil_generator.lint.run import lint
from restencil_generator.mock import CannotServe, create_app
from restencil_generator.openapi.document.overlays import apply
from restencil_generator.openapi.document.parse import read_text
from restencil_generator.openapi.document.reader import version_of
from restencil_generator.openapi.export.document import export
from restencil_generator.openapi.import_job import Imported, prepare
from restencil_generator.openapi.options import Job, Options
from restencil_generator.spec.load import load_text
from restencil_generator.spec.model import Spec

MOST_CALLS = 40
"""How many calls are made of one package at most."""


@dataclasses.dataclass
class Sums:
    """What is counted over all documents."""

    documents: int = 0
    refused: int = 0
    found: int = 0
    covered: int = 0
    items: int = 0
    by_rule: Counter[str] = dataclasses.field(default_factory=Counter[str])
    checks: int = 0
    findings: Counter[str] = dataclasses.field(default_factory=Counter[str])
    left_out: Counter[str] = dataclasses.field(default_factory=Counter[str])
    names: int = 0
    numbered: list[str] = dataclasses.field(default_factory=list[str])
    calls: int = 0
    seconds: float = 0.0
    bytes: int = 0
    rows: list[str] = dataclasses.field(default_factory=list[str])
    """The lines of the table, one for each document."""
    wrong: list[str] = dataclasses.field(default_factory=list[str])
    """What should never be."""


def documents(folder: Path) -> Iterator[Path]:
    """The files that hold an OpenAPI document, by name."""
    for path in sorted(folder.rglob("*")):
        if path.suffix not in (".json", ".yaml", ".yml") or not path.is_file() or path.name == "overlay.yaml":
            continue
        head = path.read_bytes()[:4096].replace(b"\0", b"")
        if re.search(rb"""["']?(?:openapi|swagger)["']?\s*:\s*["']?[0-9]""", head) is None:
            try:  # the version may stand at the end
                version_of(read_text(path.read_bytes(), path.name).value, path.name)
            except Failure:
                continue
        yield path


def main() -> int:
    parser = argparse.ArgumentParser(prog="corpus.py")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--no-types", action="store_true", help="leave out mypy, pyright and ruff")
    parser.add_argument("--verbose", action="store_true", help="show what is left out, and tracebacks whole")
    parser.add_argument("--table", type=Path, help="write the documents as a Markdown table")
    asked = parser.parse_args()
    sums = Sums()
    with tempfile.TemporaryDirectory() as there:
        out = Path(there)
        sys.path.insert(0, str(out))
        packages: list[str] = []
        for path in documents(asked.folder):
            try:
                packages += _document(path, out, sums, asked.verbose)
            except Exception as error:
                where = traceback.extract_tb(error.__traceback__)[-1]
                _wrong(sums, path, f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})")
                if asked.verbose:
                    traceback.print_exception(error)
        _overlays(asked.folder, sums)
        if packages and not asked.no_types:
            _types(out, packages, sums)
    _print(sums, asked.verbose)
    if asked.table is not None:
        head = "| document | MB | operations | resources | keys stated | guessed | `check:` | seconds |"
        asked.table.write_text("\n".join([head, "|---|--:|--:|--:|--:|--:|--:|--:|", *sums.rows, ""]), "utf-8")
    return 1 if sums.wrong else 0


def _wrong(sums: Sums, path: Path | str, what: str) -> None:
    sums.wrong.append(f"{path}: {what}")


# --------------------------------------------------------------------------------------------------------- one document


def _document(path: Path, out: Path, sums: Sums, verbose: bool) -> list[str]:
    """Takes one document through all; the package that came of it."""
    begin = time.perf_counter()
    package = f"p{sums.documents}_" + (re.sub(r"\W+", "_", path.stem.lower()).strip("_") or "api")
    try:
        imported = prepare(Job(str(path), Options(package=package, root=path.parent), out / f"{package}.yaml"))
    except Failure as error:
        sums.refused += 1
        print(f"{path}: refused: {error}", flush=True)
        return []
    took = time.perf_counter() - begin
    sums.documents += 1
    sums.seconds += took
    sums.bytes += path.stat().st_size
    _count(imported, sums)
    data = imported.data()
    operations = data["operations"]
    pks = data["pks"]
    sums.rows.append(
        f"| {path.stem} | {path.stat().st_size / 1e6:.1f} | {operations['covered']} of {operations['found']} "
        f"| {operations['resources']} | {sum(pks['by_rule'].values()) - pks['guessed']} | {pks['guessed']} "
        f"| {len(data['checks'])} | {took:.1f} |"
    )
    for finding in data["findings"]:
        if finding["code"] in ("import-internal", "import-mistake"):
            _wrong(sums, path, finding["message"][:300])
    print(
        f"{path}: {operations['covered']} of {operations['found']} operations, {len(data['checks'])} to check, "
        f"{len(data['findings'])} findings, {took:.1f} s",
        flush=True,
    )
    if verbose:
        for left in data["left_out"]:
            print(f"  left out {left['operation']}: {left['reason']}")
    spec = _spec(path, imported, sums)
    if spec is None:
        return []
    imported.out.write_text(imported.text, "utf-8")
    generator.write(spec, out)
    _calls(path, spec, sums)
    _exported(path, spec, imported, out, sums)
    return [package]


def _count(imported: Imported, sums: Sums) -> None:
    data = imported.data()
    sums.found += data["operations"]["found"]
    sums.covered += data["operations"]["covered"]
    sums.items += data["pks"]["items"]
    sums.by_rule.update(data["pks"]["by_rule"])
    sums.checks += len(data["checks"])
    sums.findings.update(finding["code"] for finding in data["findings"])
    sums.left_out.update(left["reason"] for left in data["left_out"])
    for path, origin in imported.made.tree.origins.items():
        if len(path) in (2, 4) and path[0] != "arguments":
            sums.names += 1
            digits = re.search(r"_?(\d+)\Z", path[-1])
            if digits is not None and digits[1] not in f"{origin.identity} {origin.pointer} {origin.file}":
                sums.numbered.append(f"{imported.package}: {'.'.join(path)}")


def _spec(path: Path, imported: Imported, sums: Sums) -> Spec | None:
    loaded = load_text(imported.text, f"{imported.package}.yaml")
    if loaded.declaration is None:
        _wrong(sums, path, f"the check refuses the spec: {loaded.problems[0].message}")
        return None
    lint(loaded)
    return loaded.declaration


def _calls(path: Path, spec: Spec, sums: Sums) -> None:
    """Calls what reads without arguments, and `get` with the primary key of what a list returned."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            package = importlib.import_module(spec.package)
            app = create_app(spec, auth=False)
    except CannotServe as error:
        _wrong(sums, path, f"the mock cannot serve it: {error}")
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # what is called may be deprecated
        asyncio.run(_call_all(path, spec, package, app, sums))


async def _call_all(path: Path, spec: Spec, package: Any, app: Any, sums: Sums) -> None:
    transport = httpx.ASGITransport(app=app)
    fields = [*spec.search_params, *(each.field for each in spec.header_params)]
    arguments = {field.python: "x" for field in fields if field.required}
    async with httpx.AsyncClient(transport=transport) as http:
        client = getattr(package, spec.async_client)(client=http, url_prefix="http://mock.example", **arguments)
        calls = 0
        for resource in spec.resources.values():
            for endpoint in resource.endpoints.values():
                if calls == MOST_CALLS or endpoint.side_effect or _needs_arguments(endpoint):
                    continue
                calls += 1
                try:
                    await getattr(getattr(client, resource.python), endpoint.python)()
                except Exception as error:
                    _wrong(sums, path, f"{resource.name}.{endpoint.name}: {type(error).__name__}: {error}"[:300])
        sums.calls += calls


def _needs_arguments(endpoint: Any) -> bool:
    if endpoint.path.parameters or endpoint.content in ("stream", "sse"):
        return True
    if endpoint.has_body and not endpoint.request.optional:
        return True
    fields = [*endpoint.search_params, *(each.field for each in endpoint.header_params), *endpoint.params]
    return any(field.required for field in fields)


def _exported(path: Path, spec: Spec, imported: Imported, out: Path, sums: Sums) -> None:
    """What is exported is OpenAPI, and has the digest of the spec when it is imported."""
    document = export(spec, written=imported.made.tree.value)
    try:
        validate(document)
    except OpenAPIValidationError as error:
        _wrong(sums, path, f"the export is no OpenAPI: {error.message[:200]}")
    source = out / f"{spec.package}.json"
    source.write_text(json.dumps(document), "utf-8")
    again = prepare(Job(str(source), Options(package=spec.package), out / "again" / f"{spec.package}.yaml"))
    loaded = load_text(again.text, f"{spec.package}.yaml").declaration
    if loaded is None or loaded.digest != spec.digest:
        _wrong(sums, path, "the export gives another spec when it is imported")


# --------------------------------------------------------------------------------------------------------- all together


def _overlays(folder: Path, sums: Sums) -> None:
    """Sets of a document, an overlay, and what comes of them."""
    for path in sorted(folder.rglob("overlay.yaml")):
        source, meant = path.parent / "openapi.yaml", path.parent / "output.yaml"
        if source.is_file() and meant.is_file():
            made, _ = apply(read_text(source.read_bytes(), "openapi.yaml").value, [path])
            if made != read_text(meant.read_bytes(), "output.yaml").value:
                _wrong(sums, path, "gives another document than output.yaml")


def _types(out: Path, packages: list[str], sums: Sums) -> None:
    root = Path(__file__).resolve().parents[2]
    config = out / "pyrightconfig.json"
    paths = ", ".join(f'"{root / name}"' for name in ("runtime",))
    config.write_text(f'{{"typeCheckingMode": "strict", "extraPaths": [{paths}], "include": ["."]}}')
    mypy = ["-m", "mypy", "--strict", "--config-file", "", "--cache-dir", str(out / ".mypy"), *packages]
    ruff = ["-m", "ruff", "check", "--isolated", "--line-length", "120", *packages]
    for command in (mypy, ["-m", "pyright", "-p", str(out)], ruff):
        done = subprocess.run(
            [sys.executable, *command], cwd=out, env=_environment(root), capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            _wrong(sums, " ".join(command[:2]), "\n    ".join((done.stdout + done.stderr).strip().splitlines()[-20:]))


def _environment(root: Path) -> dict[str, str]:
    import os

    return {**os.environ, "MYPYPATH": str(root / "runtime"), "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}


def _print(sums: Sums, verbose: bool) -> None:
    strong = sum(count for rule, count in sums.by_rule.items() if rule != "8")
    renamed = sums.findings["name-changed"]
    print()
    print(f"{sums.documents} documents ({sums.bytes / 1e6:.1f} MB) in {sums.seconds:.1f} s, {sums.refused} refused")
    print(
        f"operations covered: {sums.covered} of {sums.found} ({_share(sums.covered, sums.found)}; bar 95 %, aim 99 %)"
    )
    print(f"primary keys by rules 1 to 7: {strong} of {sums.items} items ({_share(strong, sums.items)}; bar 85 %)")
    print(f"  by rule: {', '.join(f'{rule}: {count}' for rule, count in sorted(sums.by_rule.items()))}")
    print(f"to check: {sums.checks}")
    print(f"names with a number of ours: {len(sums.numbered)} of {sums.names} (bar 0)")
    print(f"names changed with a finding: {renamed} ({_share(renamed, sums.names)}; bar 2 %)")
    print(f"first calls against the mock: {sums.calls}")
    print(f"findings: {', '.join(f'{count} {code}' for code, count in sums.findings.most_common()) or 'none'}")
    for name in sums.numbered[: None if verbose else 10]:
        print(f"  a number: {name}")
    for reason, count in sums.left_out.most_common(None if verbose else 10):
        print(f"  left out {count}: {reason}")
    print(f"wrong: {len(sums.wrong)}")
    for what in sums.wrong:
        print(f"  {what}")


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "–"


if __name__ == "__main__":
    sys.exit(main())
