"""Forms of Swagger 2."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.openapi.documents import read_tree, swagger
from tests.openapi.small import whole

from restencil_generator.openapi.infer.build import make
from restencil_generator.openapi.options import Options


def test_bodies_lists_in_a_form_of_swagger_2_have_their_collection_format(tmp_path: Path) -> None:
    """Its default is `csv`; without a style, the spec language repeats the name for each item."""
    formats: dict[str, Mapping[str, str]] = {
        "plain": {}, "multi": {"collectionFormat": "multi"}, "pipes": {"collectionFormat": "pipes"}
    }  # fmt: skip
    fields = [
        {"in": "formData", "name": name, "type": "array", "items": {"type": "string"}, "required": True, **each}
        for name, each in formats.items()
    ]
    post = {
        "consumes": ["application/x-www-form-urlencoded"],
        "parameters": [*fields, {"in": "formData", "name": "title", "type": "string", "required": True}],
        "responses": {"204": {"description": ""}},
    }
    result = make(read_tree(swagger({"/x": {"post": post}}), tmp_path), Options(), "small")
    assert whole(result)["resources"]["x"]["endpoints"]["post_x"]["body"]["form"] == {
        "plain": {"type": ["string"], "style": "comma"},
        "multi": ["string"],
        "pipes": {"type": ["string"], "style": "pipe"},
        "title": "string",
    }
