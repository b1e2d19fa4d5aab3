"""Bodies: entities, objects of their own, and forms."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.openapi.documents import read_tree, swagger
from tests.openapi.small import crud, made, operation, record, ref, spec, whole

from restencil_generator.openapi.infer.build import make
from restencil_generator.openapi.options import Options
from restencil_generator.spec.load import load_text


def test_bodies_body_that_is_nearly_the_entity_is_the_entity() -> None:
    """What differs from the entity by read-only fields, key and what is required is the entity; else it is named."""
    order = record("id", "total", id="string", total="number", at={"type": "string", "readOnly": True})
    near, far = record("total", total="number"), record("total", total="number", coupon="string")
    for body, written in ((near, None), (far, "Far")):
        paths = crud("/orders", "id", ref("Order"))
        paths["/orders"]["post"] = operation(ref("Order"), body=ref("Far") if body is far else body)
        found = spec(paths, {"Order": order, "Far": far})
        push = found["resources"]["orders"].get("endpoints", {}).get("push", {})
        assert push.get("body") == written
        assert found["entities"]["Order"]["fields"]["total"] == ("number!" if body is near else "number")


def test_bodies_hold_neither_read_only_members_nor_marks() -> None:
    """Members that are never sent are left out, and `write_only` is only said of entities."""
    secret = {"type": "string", "writeOnly": True, "description": "Is sent."}
    body = record(
        "title", id={"type": "string", "readOnly": True}, title={"type": "string", "writeOnly": True}, key=secret
    )
    paths = {"/x": {"post": operation({"type": "string"}, body=body)}}
    assert spec(paths)["resources"]["x"]["endpoints"]["x"]["body"] == {
        "title": "string",
        "key": {"type": "string?", "description": "Is sent."},
    }


def test_bodies_required_member_of_what_is_only_sent_is_sent() -> None:
    """That it is read-only as well is for responses, and there are none."""
    note = record("kind", "text", kind={"type": "string", "readOnly": True}, text="string")
    paths = {
        "/named": {"post": operation({"type": "string"}, body=ref("Note"))},
        "/unnamed": {"post": operation({"type": "string"}, body=note)},
    }
    found = spec(paths, {"Note": note})
    assert found["objects"]["Note"] == {"kind": "string!", "text": "string!"}
    assert found["resources"]["unnamed"]["endpoints"]["unnamed"]["body"] == {"kind": "string", "text": "string"}
    paths["/read"] = {"get": operation(ref("Note"))}
    assert spec(paths, {"Note": note})["objects"]["Note"]["kind"] == {"type": "string", "read_only": True}


def test_bodies_multipart_beside_json_is_an_endpoint_of_its_own() -> None:
    """What can be sent as JSON or as a form of files is two endpoints, the second one called `…_file`."""
    file = record("file", file={"type": "string", "format": "binary"})
    body = {"content": {"application/json": {"schema": record(url="string")}, "multipart/form-data": {"schema": file}}}
    paths = {"/import": {"post": operation({"type": "string"}, requestBody=body, operationId="importTasks")}}
    result = made(paths)
    (resource,) = whole(result)["resources"].values()
    endpoints = resource["endpoints"]
    assert endpoints["import_tasks"]["body"] == {"url": "string?"}
    assert endpoints["import_tasks_file"]["body"] == {"multipart": {"file": "bytes"}}
    assert endpoints["import_tasks_file"]["path"] == endpoints["import_tasks"]["path"]
    assert not {"content-left-out", "import-mistake"} & {finding.code for finding in result.document.findings}
    assert load_text(result.text, "small.yaml").declaration is not None


def test_bodies_fields_of_a_multipart_form_have_no_keys_of_others() -> None:
    """Neither a style nor `write_only` takes the operation out."""
    properties = {"token": {"type": "string", "writeOnly": True}, "expand": {"type": "array", "items": {}}}
    content = {"schema": record(**properties), "encoding": {"expand": {"style": "deepObject", "explode": True}}}
    form = {"content": {"multipart/form-data": content}}
    result = made({"/uploads": {"post": operation(requestBody=form)}})
    (endpoint,) = whole(result)["resources"]["uploads"]["endpoints"].values()
    assert endpoint["body"] == {"multipart": {"token": "string", "expand": ["any"]}}
    assert result.document.left_out == []


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
    assert whole(result)["resources"]["x"]["endpoints"]["x"]["body"]["form"] == {
        "plain": {"type": ["string"], "style": "comma"},
        "multi": ["string"],
        "pipes": {"type": ["string"], "style": "pipe"},
        "title": "string",
    }


def test_bodies_object_in_a_form_is_json_if_its_encoding_says_so() -> None:
    """`contentType` counts if the encoding has no style; the default of the spec language is brackets."""
    form = record(a=record(x="string"), b=record(y="string"), c=record(z="string"))
    encoding = {
        "a": {"contentType": "application/json"},
        "b": {"contentType": "application/json", "style": "deepObject", "explode": True},
    }
    content = {"application/x-www-form-urlencoded": {"schema": form, "encoding": encoding}}
    found = spec({"/x": {"post": operation(requestBody={"required": True, "content": content})}})
    fields = found["resources"]["x"]["endpoints"]["x"]["body"]["form"]
    assert [each.get("style") if isinstance(each, dict) else None for each in fields.values()] == ["json", "deep", None]


@pytest.mark.parametrize(
    ("media", "body", "sent"),
    [
        ("application/octet-stream", "bytes", "application/octet-stream"),
        ("image/png", "bytes", "image/png"),
        ("image/*", "bytes", "application/octet-stream"),
        ("*/*", "bytes", "application/octet-stream"),
        ("text/csv", "text", "text/csv"),
        ("text/*", "text", None),
    ],
)
def test_bodies_bytes_and_texts_have_the_content_type_of_the_document(media: str, body: str, sent: str | None) -> None:
    """Also the general one: bytes without one are sent without any. A range is no content type."""
    content = {media: {"schema": {"type": "string", "format": "binary"}}}
    found = spec({"/x": {"put": operation(requestBody={"required": True, "content": content})}})
    endpoint = found["resources"]["x"]["endpoints"]["x"]
    assert (endpoint["body"], endpoint.get("request", {}).get("content_type")) == (body, sent)
