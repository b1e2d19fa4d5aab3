"""The packages of all specs of a project: built, compared with the files on disk, and written all or none.

These are the operations of the command on several specs; `api` has the same for one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from restencil_generator.exceptions import Failure
from restencil_generator.output import build_cache
from restencil_generator.output.drift import Difference, as_recorded, compare, orphan_package, refused
from restencil_generator.output.manifest import MANIFEST, Package
from restencil_generator.output.write import Published, Refused, publish
from restencil_generator.project.config import Project

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with the name of a package, the number of its rendered modules, and their total number."""


@dataclasses.dataclass(frozen=True, slots=True)
class Made:
    """The package of a spec and its folder.

    `count` is the number of its files. `package` is None if the build cache shows that the folder is up to date.
    """

    source: Path
    directory: Path
    count: int
    package: Package | None = None

    def differences(self) -> list[Difference]:
        """Return the files in the folder that differ from the package."""
        return [] if self.package is None else compare(self.package, self.directory)


def make(
    project: Project, progress: Progress = lambda name, done, total: None, *, remembered: bool = False
) -> list[Made]:
    """Build the packages of all specs; those that are known to be up to date come first.

    Writes nothing except the build cache. Only with `remembered` is the build cache used and updated. Raises
    `SpecError` with the errors of all specs, and `Failure` if two specs have the same package.
    """
    made = _known(project) if remembered else []
    known = {one.source for one in made}
    owners = {one.directory: one.source for one in made}
    rest = [path for path in project.specs if path not in known]
    if not rest:
        return made
    from restencil_generator.api import load_all, package_for  # not imported if all packages are known to be up to date

    keys = {path: build_cache.key_of(path, project.templates) for path in rest} if remembered else {}
    for path, spec in zip(rest, load_all(rest), strict=True):
        directory = project.out / spec.package
        if directory in owners:
            raise Failure(
                f"{path}: the package '{spec.package}' is also the package of {owners[directory]}; "
                "give one of them another `package`"
            )
        owners[directory] = path

        def rendered(done: int, total: int, name: str = spec.package) -> None:
            progress(name, done, total)

        package = package_for(spec, directory, source=str(path), templates=project.templates, progress=rendered)
        made.append(Made(path, directory, len(package.files), package))
        key = keys.get(path)
        # A spec that changed while it was loaded must not be cached under either key.
        if key is not None and build_cache.key_of(path, project.templates) == key:
            build_cache.remember(key, build_cache.Entry(package.name, package.files[MANIFEST]))
    return made


def write(made: Sequence[Made], *, force: bool = False) -> list[Published]:
    """Write all packages, or none if one of them is rejected, and return what was done for each. Raises `Refused`."""
    refuse({one.directory: one.differences() for one in made}, force=force)
    return [
        Published((), (), one.count) if one.package is None else publish(one.package, one.directory, force=force)
        for one in made
    ]


def refuse(differences: dict[Path, list[Difference]], *, force: bool) -> None:
    """Raise `Refused` with the files of all folders that writing would lose although restencil does not own them."""
    stopped = {
        directory: stopping for directory, found in differences.items() if (stopping := refused(found, force=force))
    }
    if stopped:
        raise Refused(stopped)


def orphans(project: Project, made: Sequence[Made]) -> dict[Path, list[Difference]]:
    """Return the generated packages in the output folder that have no spec, by folder.

    If specs are named one by one the others are unknown, so only a whole project has orphans.
    """
    if not project.whole or not project.out.is_dir():
        return {}
    owned = {one.directory for one in made}
    found = (folder for folder in sorted(project.out.iterdir()) if folder not in owned and folder.is_dir())
    return {folder: [orphan] for folder in found if (orphan := orphan_package(folder)) is not None}


def _known(project: Project) -> list[Made]:
    """Return the packages that the build cache knows to be up to date: same spec, generator and files."""
    known: list[Made] = []
    for path in project.specs:
        key = build_cache.key_of(path, project.templates)
        entry = None if key is None else build_cache.lookup(key)
        directory = None if entry is None else project.out / entry.package
        count = None if entry is None or directory is None else as_recorded(directory, entry.manifest)
        if directory is not None and count is not None:
            known.append(Made(path, directory, count))
    # Two specs with one package are an error, which is reported when their packages are built.
    return known if len({one.directory for one in known}) == len(known) else []
