"""Rendering of the reference of a package as Markdown: one page, or a folder with a page for each resource."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from restencil_generator.codegen.render import Renderer
from restencil_generator.markdown.build import reference_of
from restencil_generator.markdown.escape import block, code, escape, inline
from restencil_generator.spec import model as d

PAGE: Final = "reference.md"
"""The file name of the page if it is not split."""
_FILTERS: Final = (("md", escape), ("line", inline), ("code", code), ("block", block))


def markdown_files(spec: d.Spec, *, templates: Path | None = None, split: bool = False) -> dict[str, str]:
    """Return the files of the reference by path: only `reference.md`, or `index.md` and the others.

    Raises `Failure` if a user's template fails.
    """
    reference = reference_of(spec)
    renderer = Renderer(templates, _FILTERS)

    def page(template: str, path: str, **values: object) -> str:
        return renderer.fill(template, path, reference=reference, **values).rstrip("\n") + "\n"

    if not split:
        return {PAGE: page("reference.md.jinja", PAGE, is_split=False)}
    files = {"index.md": page("reference.md.jinja", "index.md", is_split=True)}
    for resource in reference.resources:
        path = f"resources/{resource.name}.md"
        files[path] = page("reference_resource.md.jinja", path, resource=resource, level=1)
    files["types.md"] = page("reference_types.md.jinja", "types.md", types=reference.types, level=1)
    files["errors.md"] = page("reference_errors.md.jinja", "errors.md", level=1)
    return files
