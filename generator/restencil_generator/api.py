"""Python functions for a single spec: load it, generate its package, check a package on disk, and write it.

Each function returns data, prints nothing, and raises `Failure` if it fails. The command calls these functions;
`project.packages` has the same operations for all specs of a configuration.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from restencil_generator.diagnostics.model import Place, Problem, Related, has_errors
from restencil_generator.exceptions import Failure, SpecError
from restencil_generator.output.drift import Cause, Difference, compare, read_manifest, read_text
from restencil_generator.output.write import Published, Refused, publish
from restencil_generator.spec.load import load_spec
from restencil_generator.spec.model import Spec

if TYPE_CHECKING:
    from restencil_generator.output.manifest import Package
    from restencil_generator.output.pipeline import Progress

__all__ = [
    "Cause",
    "Difference",
    "Failure",
    "Place",
    "Problem",
    "Published",
    "Refused",
    "Related",
    "Spec",
    "SpecError",
    "check",
    "generate",
    "load",
    "write",
]


def load(path: Path | str) -> Spec:
    """Load a spec from a YAML file, or from a folder whose YAML files are one spec.

    All names and inherited values in it are resolved. Raises `SpecError` with all errors of the spec at once, including
    files that cannot be read.
    """
    return load_all([path])[0]


def load_all(paths: Iterable[Path | str]) -> list[Spec]:
    """Load several specs. Raises one `SpecError` with the errors of all of them."""
    loaded = [load_spec(path) for path in paths]
    problems = [problem for one in loaded for problem in one.problems]
    if has_errors(problems):
        raise SpecError(problems, {name: source for one in loaded for name, source in one.sources.items()})
    return [one.declaration for one in loaded if one.declaration is not None]


def generate(spec: Spec | Path | str, *, templates: Path | str | None = None) -> dict[str, str]:
    """Return the generated files of a spec: their contents by path within the package. Writes nothing.

    `spec` is a loaded spec or a path; `templates` is a folder of templates that replace the built-in ones of the same
    name. The files are sorted by path, with the manifest, which lists the files of the package, at the end. Raises
    `SpecError` for errors in the spec, and `Failure` if a template fails or does not produce valid Python.
    """
    from restencil_generator.output.pipeline import build

    declaration = _declaration(spec)
    return dict(build(declaration, declaration.file, templates=_folder(templates)).files)


def check(spec: Spec | Path | str, out: Path | str, *, templates: Path | str | None = None) -> list[Difference]:
    """Compare the package in OUT/<package>/ with the spec, and return the differing files with their causes.

    Writes nothing. The list is empty if the package is up to date. Raises the errors of `generate`, and `Failure` if
    OUT/<package> is a file.
    """
    package, directory = _package(spec, out, templates)
    return compare(package, directory)


def write(
    spec: Spec | Path | str, out: Path | str, *, templates: Path | str | None = None, force: bool = False
) -> Published:
    """Generate the package in OUT/<package>/ atomically, and return the files that were written and removed.

    Files without changes are not touched, and files that restencil did not write are kept. Raises `Refused`, and writes
    nothing, if a generated file was edited by hand (`force` overwrites it) or if another file has the name of a
    generated one; also raises the errors of `check`.
    """
    package, directory = _package(spec, out, templates)
    return publish(package, directory, force=force)


def package_for(
    spec: Spec, directory: Path, *, source: str, templates: Path | None, progress: Progress = lambda done, total: None
) -> Package:
    """Build the package of a spec; modules in the folder that are already formatted are not formatted again.

    `source` is the name of the spec in messages.
    """
    from restencil_generator.output.pipeline import build  # slow to import, and not always needed

    known, read = read_manifest(directory), partial(read_text, directory)
    return build(spec, source, templates=templates, known=known, read=read, progress=progress)


def _package(spec: Spec | Path | str, out: Path | str, templates: Path | str | None) -> tuple[Package, Path]:
    declaration = _declaration(spec)
    directory = Path(out) / declaration.package
    return package_for(declaration, directory, source=declaration.file, templates=_folder(templates)), directory


def _declaration(spec: Spec | Path | str) -> Spec:
    return spec if isinstance(spec, Spec) else load(spec)


def _folder(templates: Path | str | None) -> Path | None:
    return None if templates is None else Path(templates)
