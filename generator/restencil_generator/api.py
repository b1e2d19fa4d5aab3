"""What can be done with a spec from Python: load it, generate its package, compare the package, write it.

Each function returns data, prints nothing, and raises a `Failure` where it cannot answer. The command is a shell over
these functions; `project` does the same for the several specs of a configuration.
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
    """The declaration that a spec holds, from a YAML file or from a folder whose YAML files are one spec.

    Every name and every inherited value in it is resolved. Raises `SpecError` with all mistakes of the spec at once; a
    file that cannot be read is one of them.
    """
    return load_all([path])[0]


def load_all(paths: Iterable[Path | str]) -> list[Spec]:
    """The declarations of several specs. Raises one `SpecError` with the mistakes of all of them."""
    loaded = [load_spec(path) for path in paths]
    problems = [problem for one in loaded for problem in one.problems]
    if has_errors(problems):
        raise SpecError(problems, {name: source for one in loaded for name, source in one.sources.items()})
    return [one.declaration for one in loaded if one.declaration is not None]


def generate(spec: Spec | Path | str, *, templates: Path | str | None = None) -> dict[str, str]:
    """The files of a spec's package, as texts by their path inside of the package. Writes nothing.

    `spec` is a loaded one or a path; `templates` is a folder of templates that replace the built-in ones of their name.
    The texts are in the order of the paths; the manifest, which lists what the package owns, comes last.
    Raises `SpecError` for mistakes of the spec, and `Failure` where a template fails or gives no Python.
    """
    from restencil_generator.output.pipeline import build

    declaration = _declaration(spec)
    return dict(build(declaration, declaration.file, templates=_folder(templates)).files)


def check(spec: Spec | Path | str, out: Path | str, *, templates: Path | str | None = None) -> list[Difference]:
    """What is not as the spec gives it in OUT/<package>/, file by file and each with its cause. Writes nothing.

    An empty list says that the package is exactly what the spec gives. Raises what `generate` raises, and `Failure`
    where OUT/<package> is a file.
    """
    package, directory = _package(spec, out, templates)
    return compare(package, directory)


def write(
    spec: Spec | Path | str, out: Path | str, *, templates: Path | str | None = None, force: bool = False
) -> Published:
    """Makes OUT/<package>/ exactly what the spec gives, all at once, and says which files it wrote and removed.

    Files that would not change are not touched, and files that restencil did not write are left alone. Raises
    `Refused`, and writes nothing, if a generated file was edited by hand (`force` overwrites it) or another file has
    the name of a generated one; besides, what `check` raises.
    """
    package, directory = _package(spec, out, templates)
    return publish(package, directory, force=force)


def package_for(
    spec: Spec, directory: Path, *, source: str, templates: Path | None, progress: Progress = lambda done, total: None
) -> Package:
    """The package of a spec that belongs in a folder; what is formatted there already is not formatted again.

    `source` is the spec as messages show it.
    """
    from restencil_generator.output.pipeline import build  # what changes nothing needs no templates

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
