"""The packages of a project: made from all its specs, compared with what is on disk, and written all or none.

The operations of the command on several specs; `api` does the same for one.
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
"""Called with the name of a package, the number of its modules that are rendered, and their total."""


@dataclasses.dataclass(frozen=True, slots=True)
class Made:
    """The package of a spec and the folder that it belongs in.

    `count` is the number of its files. `package` is None where an earlier run found the folder up to date.
    """

    source: Path
    directory: Path
    count: int
    package: Package | None = None

    def differences(self) -> list[Difference]:
        """What is not as the spec gives it in the folder."""
        return [] if self.package is None else compare(self.package, self.directory)


def make(
    project: Project, progress: Progress = lambda name, done, total: None, *, remembered: bool = False
) -> list[Made]:
    """The packages of all specs, those first that are known to be up to date. Writes nothing but the cache of runs.

    Only with `remembered` it is taken from an earlier run that a package is up to date, and kept for a later one.
    Raises `SpecError` with the mistakes of all specs, and `Failure` where two specs have one package.
    """
    made = _known(project) if remembered else []
    known = {one.source for one in made}
    owners = {one.directory: one.source for one in made}
    rest = [path for path in project.specs if path not in known]
    if not rest:
        return made
    from restencil_generator.api import load_all, package_for  # where all is known, nothing is loaded

    keys = {path: build_cache.key_of(path, project.templates) for path in rest} if remembered else {}
    for path, spec in zip(rest, load_all(rest), strict=True):
        directory = project.out / spec.package
        if directory in owners:
            raise Failure(
                f"{path}: the package '{spec.package}' is also that of {owners[directory]}; "
                "give one of them another `package`"
            )
        owners[directory] = path

        def rendered(done: int, total: int, name: str = spec.package) -> None:
            progress(name, done, total)

        package = package_for(spec, directory, source=str(path), templates=project.templates, progress=rendered)
        made.append(Made(path, directory, len(package.files), package))
        key = keys.get(path)
        # What changed while it was read belongs to neither state.
        if key is not None and build_cache.key_of(path, project.templates) == key:
            build_cache.remember(key, build_cache.Entry(package.name, package.files[MANIFEST]))
    return made


def write(made: Sequence[Made], *, force: bool = False) -> list[Published]:
    """Writes all packages, or none where one is rejected; says for each what was done. Raises `Refused`."""
    refuse({one.directory: one.differences() for one in made}, force=force)
    return [
        Published((), (), one.count) if one.package is None else publish(one.package, one.directory, force=force)
        for one in made
    ]


def refuse(differences: dict[Path, list[Difference]], *, force: bool) -> None:
    """Raises `Refused` where writing would lose files that restencil does not own, with those of all folders."""
    stopped = {
        directory: stopping for directory, found in differences.items() if (stopping := refused(found, force=force))
    }
    if stopped:
        raise Refused(stopped)


def orphans(project: Project, made: Sequence[Made]) -> dict[Path, list[Difference]]:
    """The packages in the folder of packages whose spec is gone, by their folders.

    Where specs are named one by one nothing is known of the others, so only a whole project has orphans.
    """
    if not project.whole or not project.out.is_dir():
        return {}
    owned = {one.directory for one in made}
    found = (folder for folder in sorted(project.out.iterdir()) if folder not in owned and folder.is_dir())
    return {folder: [orphan] for folder in found if (orphan := orphan_package(folder)) is not None}


def _known(project: Project) -> list[Made]:
    """The packages that an earlier run found up to date: same spec, same generator, and files as they were."""
    known: list[Made] = []
    for path in project.specs:
        key = build_cache.key_of(path, project.templates)
        entry = None if key is None else build_cache.lookup(key)
        directory = None if entry is None else project.out / entry.package
        count = None if entry is None or directory is None else as_recorded(directory, entry.manifest)
        if directory is not None and count is not None:
            known.append(Made(path, directory, count))
    # Two specs of one package are a mistake that is reported when their packages are made.
    return known if len({one.directory for one in known}) == len(known) else []
