"""Overlays: corrections of a document before it is read; what they write keeps its place in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.generator.projects import restencil
from tests.openapi.documents import OK, document

from restencil_generator.exceptions import Failure
from restencil_generator.openapi.document.model import Where
from restencil_generator.openapi.document.overlays import Overlaid, apply

TREE: dict[str, Any] = {
    "info": {"title": "Shop", "tags": ["a", "b", "c"]},
    "paths": {"/a": {"get": {"x": 1}}, "/b": {"get": {"x": 2}}},
    "servers": [{"url": "dev"}, {"url": "live"}, {"url": "test"}],
}


def overlay(folder: Path, *actions: Any, version: str = "1.1.0", name: str = "fixes.json", **more: Any) -> Path:
    path = folder / name
    path.write_text(json.dumps({"overlay": version, "info": {}, "actions": list(actions), **more}, indent=1))
    return path


def applied(folder: Path, *actions: Any, **more: Any) -> tuple[Any, Overlaid]:
    return apply(TREE, [overlay(folder, *actions, **more)])


@pytest.mark.parametrize(
    ("action", "changed"),
    [
        ({"target": "$", "update": {"new": {"a": 1}}}, {**TREE, "new": {"a": 1}}),
        ({"target": "$.info", "update": {"title": "X", "license": {"name": "MIT"}}},
         {**TREE, "info": {**TREE["info"], "title": "X", "license": {"name": "MIT"}}}),
        ({"target": "$.info", "update": {"tags": ["d"]}},
         {**TREE, "info": {"title": "Shop", "tags": ["a", "b", "c", "d"]}}),
        ({"target": "$.info.tags", "update": "d"}, {**TREE, "info": {"title": "Shop", "tags": ["a", "b", "c", "d"]}}),
        ({"target": "$.info.title", "update": "X"}, {**TREE, "info": {**TREE["info"], "title": "X"}}),
        ({"target": "$.paths.*.get", "update": {"x": {"deep": 1}}},
         {**TREE, "paths": {"/a": {"get": {"x": {"deep": 1}}}, "/b": {"get": {"x": {"deep": 1}}}}}),
        ({"target": "$.servers[?@.url != 'live']", "remove": True}, {**TREE, "servers": [{"url": "live"}]}),
        ({"target": "$.info.tags[0,2]", "remove": True}, {**TREE, "info": {"title": "Shop", "tags": ["b"]}}),
        ({"target": "$..get", "remove": True}, {**TREE, "paths": {"/a": {}, "/b": {}}}),
        ({"target": "$.paths['/b'].get", "copy": "$.paths['/a'].get"},
         {**TREE, "paths": {"/a": {"get": {"x": 1}}, "/b": {"get": {"x": 1}}}}),
        ({"target": "$.info", "remove": False, "update": {"title": "X"}},
         {**TREE, "info": {**TREE["info"], "title": "X"}}),
        ({"target": "$.info"}, TREE),
    ],
)  # fmt: skip
def test_overlays_actions(action: Any, changed: Any, tmp_path: Path) -> None:
    """Objects merge deeply, arrays get more items, the rest is replaced; removal goes from the end."""
    before = json.dumps(TREE)
    assert applied(tmp_path, action)[0] == changed
    assert json.dumps(TREE) == before


def test_overlays_actions_and_overlays_are_applied_in_order(tmp_path: Path) -> None:
    """What one writes, the next one sees."""
    one = overlay(tmp_path, {"target": "$.servers", "remove": True}, {"target": "$", "update": {"servers": [1]}})
    two = overlay(tmp_path, {"target": "$.servers", "update": 2}, name="two.json", version="1.0.0")
    assert apply(TREE, [one, two])[0]["servers"] == [1, 2]


def test_overlays_overlay_may_be_yaml(tmp_path: Path) -> None:
    """JSON or YAML, as documents are."""
    path = tmp_path / "fixes.yaml"
    path.write_text("overlay: 1.0.0\nactions:\n- target: $.info\n  update: {on: NO}\n")
    assert apply(TREE, [path])[0]["info"]["on"] == "NO"


@pytest.mark.parametrize(
    ("action", "more", "said"),
    [
        ({"target": "$.a["}, {}, "6:14: `$.a[` is not a valid JSONPath: unbalanced brackets"),
        ({"target": "paths"}, {}, "6:14: `paths` is not a valid JSONPath: "),
        ({"target": "$", "remove": True}, {}, "6:14: the whole document cannot be removed"),
        ({"target": "$.info.title", "update": {"a": 1}}, {},
         "7:4: `update` is an object, and the target is the text 'Shop'"),
        ({"target": "$.info", "update": "x"}, {}, "7:14: `update` is the text 'x', and the target is an object"),
        ({"target": "$.info", "copy": "$.no"}, {}, "7:12: `$.no` matches 0 nodes; one is copied"),
        ({"target": "$.info", "copy": "$.info"}, {"version": "1.0.0"},
         "7:12: `copy` requires Overlay 1.1; this overlay has version 1.0"),
        ({"update": 1}, {}, "5:3: an action has a `target`"),
        ({"target": "$"}, {"version": "2.0.0"}, "2:13: Overlay '2.0.0' is not supported; use 1.0 or 1.1"),
    ],
)  # fmt: skip
def test_overlays_what_is_no_action_is_told_with_file_and_line(
    action: Any, more: Any, said: str, tmp_path: Path
) -> None:
    """A bad JSONPath, an unknown version, an update of a scalar by an object, the root removed."""
    with pytest.raises(Failure) as raised:
        applied(tmp_path, action, **more)
    assert str(raised.value).startswith(f"{tmp_path}/fixes.json:{said}")


@pytest.mark.parametrize(
    ("text", "said"), [("openapi: 3.1.0", "is not an overlay"), ("overlay: 1.0.0", "`actions` is null")]
)
def test_overlays_what_is_no_overlay_is_told(text: str, said: str, tmp_path: Path) -> None:
    """Another document, or one without actions."""
    path = tmp_path / "fixes.yaml"
    path.write_text(text)
    with pytest.raises(Failure, match=said):
        apply(TREE, [path])


def test_overlays_target_that_matches_nothing_is_a_warning(tmp_path: Path) -> None:
    """It stands at the target, and names what the overlay extends."""
    _, overlaid = applied(tmp_path, {"target": "$.paths['/x'].get", "remove": True}, extends="shop.json")
    (finding,) = overlaid.findings
    assert (finding.code, finding.message) == ("overlay-unused", "`$.paths['/x'].get` matches nothing")
    assert finding.where == Where(f"{tmp_path}/fixes.json", "/actions/0/target")
    assert finding.hint == "the overlay extends 'shop.json'"


def test_overlays_parts_know_where_they_come_from(tmp_path: Path) -> None:
    """What an overlay wrote stands in it; what follows removed items stands where it stood."""
    _, overlaid = applied(
        tmp_path,
        {"target": "$.servers[0]", "remove": True},
        {"target": "$.servers[1]", "remove": True},
        {"target": "$.servers", "update": [{"url": "new"}]},
        {"target": "$.info", "update": {"license": {"name": "MIT"}}},
    )
    file = str(tmp_path / "fixes.json")

    def origin(pointer: str) -> Where:
        return overlaid.origin(Where("openapi.json", pointer))

    assert origin("/servers/0/url") == Where("openapi.json", "/servers/1/url")
    assert origin("/servers/1/url") == Where(file, "/actions/2/update/0/url")
    assert origin("/info/license/name") == Where(file, "/actions/3/update/license/name")
    assert origin("/info/title") == Where("openapi.json", "/info/title")


def test_overlays_findings_in_what_an_overlay_wrote_name_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command says file and line of the overlay; references in it start at the source."""
    monkeypatch.chdir(tmp_path)
    Path("fixes").mkdir()
    Path("more.json").write_text('{"type": "integer"}')
    Path("openapi.json").write_text(json.dumps(document({"/x": {"get": {"operationId": "getX", "responses": OK}}})))
    Path("fixes/fixes.yaml").write_text(
        "overlay: 1.0.0\n"
        "actions:\n"
        "- target: $.paths['/x'].get.responses['200'].content['application/json']\n"
        "  update:\n"
        "    schema: {type: object, properties: {a: {type: potato}, b: {$ref: more.json}}}\n"
        "- target: $.paths['/y']\n"
        "  remove: true\n"
    )
    said = restencil("import", "openapi.json", "--overlay", "fixes/fixes.yaml").err
    assert "fixes/fixes.yaml:5:51: warning[type-unknown]: 'potato'" in said
    assert "fixes/fixes.yaml:6:11: warning[overlay-unused]: `$.paths['/y']` matches nothing" in said
    assert "ref-" not in said
    Path("fixes/fixes.yaml").write_text(Path("fixes/fixes.yaml").read_text().replace("potato", "string"))
    said = restencil("import", "openapi.json", "--overlay", "fixes/fixes.yaml", "--theirs", "*").err
    assert "nothing changed" not in said
