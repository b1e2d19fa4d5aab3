"""The steps of `restencil import`: from a source to the files to write.

`prepare` reads the document and infers the spec in memory; `publish` writes it. Nothing is written before all results
are known.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from restencil_generator.cli.progress import Step
from restencil_generator.diagnostics.model import Place, Problem, Sources, quoted
from restencil_generator.exceptions import Failure
from restencil_generator.openapi.document import overlays
from restencil_generator.openapi.document.fetch import Fetcher, is_address
from restencil_generator.openapi.document.files import Files
from restencil_generator.openapi.document.locate import Places
from restencil_generator.openapi.document.model import Document, Finding, Where
from restencil_generator.openapi.document.reader import read, version_of
from restencil_generator.openapi.document.recursion import deeply
from restencil_generator.openapi.document.select import Choice
from restencil_generator.openapi.export.embed import restored
from restencil_generator.openapi.infer.build import Made, make, make_again
from restencil_generator.openapi.infer.names.inflection import snake_case
from restencil_generator.openapi.infer.previous_choices import PreviousChoices
from restencil_generator.openapi.merge import resolve, state
from restencil_generator.openapi.merge.resolve import Settlement, Theirs
from restencil_generator.openapi.merge.state import Record
from restencil_generator.openapi.merge.three_way import Settled
from restencil_generator.openapi.options import Job, Options
from restencil_generator.openapi.summary import counted, data_of, problems_of, text_of
from restencil_generator.project.config import find_imports
from restencil_generator.spec.load import load_text

_PACKAGE: Final = re.compile(r"^package: *([A-Za-z_]\w*) *(?:#.*)?$", re.MULTILINE)
_NO_NAME: Final = re.compile(r"(?:api|rest|service|[vn]?\d+[a-z]?\d*)\Z")


def changed(job: Job, given: Mapping[str, Any]) -> Job:
    """Return a job with options of the command line applied."""
    given = {key: value for key, value in given.items() if value not in (None, ())}
    of_options = {field.name for field in dataclasses.fields(Options)} & given.keys()
    options = dataclasses.replace(job.options, **{key: given[key] for key in of_options})
    return dataclasses.replace(job, options=options, **{key: given[key] for key in given.keys() - of_options})


@dataclasses.dataclass(frozen=True, slots=True)
class Imported:
    """The inferred spec of a document, before it is written.

    `findings` are the findings of the import as problems, and `sources` the files that contain them.
    """

    made: Made
    package: str
    out: Path
    record: Record
    place_of: Callable[[Where], Place]
    places: Callable[[Iterable[Where]], Mapping[Where, Place]]
    findings: Sequence[Problem]
    sources: Sources

    @property
    def text(self) -> str:
        """The inferred spec as YAML."""
        return self.made.text

    @property
    def theirs(self) -> Theirs:
        """The upstream side of the merge with the existing spec."""
        return Theirs(self.package, self.made.tree, self.text, self.made.document.source, self.places)

    def shown(self, *, verbose: bool) -> Sequence[Problem]:
        """Return the findings to print: grouped by kind with their count, or all of them."""
        return self.findings if verbose else counted(self.findings)

    def summary(self) -> str:
        """Return a summary of the import, in a few lines."""
        return text_of(self.made, self.out.as_posix())

    def data(self) -> dict[str, Any]:
        """Return the summary of the import for `--format json`."""
        return data_of(self.made, self.out.as_posix(), self.place_of)


def unchanged(job: Job) -> Path | None:
    """Return the spec of the last import if neither its sources nor its options have changed since.

    Then there is nothing to do, whatever was edited in the spec.
    """
    if job.again or job.settles or job.source == "-":
        return None
    record = _last(job) if job.out is None else recorded(job.out)
    if record is None or job.options.package not in ("", record.package):
        return None
    if record.source != state.named(job.source, job.target(record.package).parent):
        return None
    out = job.target(record.package)
    folder = out.parent
    if not out.exists() or record.options != state.options_of(job.options, folder):
        return None
    fetcher = Fetcher(job.source) if is_address(job.source) else None
    for name, digest in record.files.items():
        if is_address(name):
            if fetcher is None or state.sha256(fetcher.fetch(name)[0]) != digest:
                return None
        elif state.digest_of(folder / name) != digest:
            return None
    return out


def _last(job: Job) -> Record | None:
    """Return the record of the last import from this source."""
    folder = state.record_folder(job.out or job.folder / "spec.yaml")
    source = state.named(job.source, folder.parent)
    for record in state.records(folder):
        if record.source == source and job.options.package in ("", record.package):
            return record
    return None


def prepare(job: Job, step: Step = lambda text: None) -> Imported:
    """Read the source and infer the spec. Raises `Failure` if that is impossible."""
    step(f"reading {job.source}")
    files = Files(job.source, job.options.root)
    version_of(files.source.value, files.source.name)
    files.source.value, overlaid = overlays.apply(files.source.value, job.options.overlays)
    choice = Choice(job.options)
    document = read(files, overlaid.findings, choice)
    for pattern in choice.unused:
        message = f"nothing matches --exclude {quoted(pattern)}"
        document.findings.append(Finding("exclude-unused", message, Where(document.source, "/paths")))
    chosen = job.options.include or job.options.exclude or job.options.tags
    exported = None if chosen else restored(files.source.value)
    before = recorded(job.out)
    package = job.options.package or ("" if before is None else before.package)
    package = package or (package_of(document) if exported is None else exported.package)
    _check_package(package, document.source)
    step(f"making the spec of {package}")
    out = job.target(package)
    last = state.read_record(state.record_folder(out), package)
    made = None if exported is None else make_again(document, package, exported)
    if made is None:
        known = _last_of(last, out, package)
        made = deeply(lambda: make(document, job.options, package, known))
    places = Places(files, overlaid)
    left = [each.where for each in document.left_out]
    found = places.find([*(finding.where for finding in document.findings), *left])
    problems = problems_of(document.findings, found.__getitem__)
    folder = out.parent
    digests = {state.named(file.name, folder): file.text.digest for file in files.all}
    digests |= {state.named(text.file, folder): text.digest for text in overlaid.texts}
    record = Record(
        package,
        state.named(job.source, folder),
        digests,
        state.options_of(job.options, folder),
        state.origins(made.tree, folder),
    )
    return Imported(made, package, out, record, found.__getitem__, places.find, problems, places.sources(problems))


def _last_of(record: Record | None, out: Path, package: str) -> PreviousChoices:
    """Return the choices of the last import."""
    folder = state.record_folder(out)
    base = state.read_base(folder, package)
    names = {} if record is None else {each.identity: path.rpartition(".")[2] for path, each in record.nodes.items()}
    if base is None:
        return PreviousChoices(names)
    return PreviousChoices(names, resolve.read_base(base, folder / f"{package}.yaml").value())


def settle(imported: Imported, job: Job) -> Settlement:
    """Return the files to write. Raises `Failure` if the existing spec was not imported or has errors."""
    return resolve.settle(imported.theirs, imported.out, Settled(job.ours, job.theirs), split=job.options.split)


def publish(imported: Imported, settlement: Settlement) -> bool:
    """Write the spec, then the record of the import; returns False if nothing had to be written."""
    folder = state.record_folder(imported.out)
    written = resolve.write(settlement.files)
    written |= state.write_file(folder / f"{imported.package}.yaml", imported.text)
    return state.write_file(folder / f"{imported.package}.json", state.record_text(imported.record)) or written


def package_of(document: Document) -> str:
    """Return a package name derived from the title. Raises `Failure` if nothing is left of it."""
    words = [word for word in snake_case(document.title, "").split("_") if word and not _NO_NAME.match(word)]
    name = "_".join(words)
    if name in sys.stdlib_module_names:
        name = f"{name}_api"  # a package with that name would hide the module
    if not name or not name[0].isalpha():
        title = f"the title {quoted(document.title)}" if document.title else "a missing title"
        raise Failure(
            f"{document.source}: {title} cannot be used as the name of the package; choose a name with --package NAME"
        )
    return name


def _check_package(name: str, source: str) -> None:
    """Raise `Failure` for an invalid package name."""
    if name in sys.stdlib_module_names:
        raise Failure(
            f"{source}: a package {quoted(name)} would hide the module of Python with this name; "
            "choose another name with --package NAME"
        )
    smallest = {
        "restencil": 1,
        "package": name,
        "resources": {"a": {"endpoints": {"b": {"path": "/b", "schema": "any"}}}},
    }
    for problem in load_text(json.dumps(smallest), source).problems:
        if problem.severity == "error":
            raise Failure(f"{source}: {problem.message}; choose another name with --package NAME")


def jobs(source: str | None, config: Path | None, out: str | None, given: Mapping[str, Any]) -> list[Job]:
    """Return the requested imports: of a source or a configured name, else all configured ones.

    `given` has the options of the command line. Raises `Failure` if there is nothing to import.
    """
    imports = find_imports(config)
    if source is None and not imports and out not in (None, "-"):
        return [_job_before(Path(str(out)), given)]
    given = {**given, "out": None if out in (None, "-") else Path(str(out))}
    if source is not None and source not in imports:
        return [changed(Job(source), given)]
    if source is None and not imports:
        raise Failure(
            "nothing to import: pass a document (`restencil import openapi.json`), or list it under "
            "[tool.restencil.import.<package>] in pyproject.toml"
        )
    chosen = imports.values() if source is None else [imports[source]]
    return [changed(each, given) for each in chosen]


def recorded(out: Path | None) -> Record | None:
    """Return the record of the import that wrote a spec, with its package; None if it was not imported."""
    if out is None:
        return None
    try:
        found = _PACKAGE.search((out / "spec.yaml" if out.is_dir() else out).read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return None if found is None else state.read_record(state.record_folder(out), found[1])


def _job_before(out: Path, given: Mapping[str, Any]) -> Job:
    """Return the job that repeats the import of a spec. Raises `Failure` if it was not imported."""
    record = recorded(out)
    if record is None or record.source == "-":
        raise Failure(
            f"{out}: it was not written by an import; pass the document (`restencil import openapi.json --out {out}`)"
        )
    folder = out.parent
    named = dict(record.options)
    options = Options(
        package=record.package,
        include=tuple(named.get("include", ())),
        exclude=tuple(named.get("exclude", ())),
        tags=tuple(named.get("tags", ())),
        overlays=tuple(folder / overlay for overlay in named.get("overlays", ())),
        required=named.get("required"),
        root=None if named.get("root") is None else folder / named["root"],
        split=bool(named.get("split")),
    )
    source = record.source if is_address(record.source) else str(folder / record.source)
    return changed(Job(source, options, folder=folder), {**given, "out": out})


def diff(settlement: Settlement) -> str:
    """Return the changes that writing would make, as a unified diff."""
    changes: list[str] = []
    for path, text in settlement.files.items():
        try:
            there = path.read_text("utf-8").splitlines(keepends=True)
        except OSError:
            there = []
        name = path.as_posix()
        changes += difflib.unified_diff(there, (text or "").splitlines(keepends=True), name, name)
    return "".join(changes)
