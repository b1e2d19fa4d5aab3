"""`restencil import`: what is asked for, what is written, and what is said."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.generator.projects import Printed, process, restencil
from tests.openapi.documents import OK, document, many, record, ref, responding
from tests.runtime.servers import Reply, Server

ITEM = record("id", id="integer", name="string")
ID = [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}]


def shop(**more: Any) -> dict[str, Any]:
    paths = {
        "/orders": {"get": {"tags": ["orders"], "responses": responding(many(ref("Order")))}},
        "/orders/{id}": {"get": {"tags": ["orders"], "parameters": ID, "responses": responding(ref("Order"))}},
        "/status": {"get": {"tags": ["other"], "operationId": "getStatus", "responses": OK}},
    }
    return {**document(paths, {"Order": ITEM}), "info": {"title": "Shop API v2", "version": "1"}, **more}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test runs in a folder of its own that holds a document."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    Path("openapi.json").write_text(json.dumps(shop()))


def imported(*options: str, code: int = 0) -> Printed:
    return restencil("import", "openapi.json", *options, code=code)


def there() -> list[str]:
    return sorted(path.as_posix() for path in Path().rglob("*") if path.is_file() and path.name != "openapi.json")


# ------------------------------------------------------------------------------------------------------ what is written


def test_import_command_document_becomes_a_spec() -> None:
    """It is named after the title, passes lint, and its summary is on stderr."""
    shown = imported()
    assert shown.out == ""
    assert shown.err.startswith("shop.yaml from openapi.json (OpenAPI 3.1.0, Shop API v2 1)\n  3 of 3 operations")
    assert there() == [".imported/shop.json", ".imported/shop.yaml", "shop.yaml"]
    assert Path("shop.yaml").read_bytes() == Path(".imported/shop.yaml").read_bytes()
    restencil("lint", "shop.yaml")


@pytest.mark.parametrize(("out", "package"), [("specs/mine.yaml", "mine"), ("mine.yaml", "shop_" * 20 + "api")])
def test_import_command_out_and_package(out: str, package: str) -> None:
    """`--out` names the file, `--package` the package, which may be the second one of a document, at any length."""
    imported()
    imported("--out", out, "--package", package)
    assert f"package: {package}\n" in Path(out).read_text()
    assert (Path(out).parent / f".imported/{package}.json").is_file()


def test_import_command_out_that_is_a_pipe_is_rejected() -> None:
    """A spec is read again by the next import, so it has to be a file; a pipe is not waited for."""
    os.mkfifo("pipe")
    ended = process("import", "openapi.json", "--out", "pipe")
    assert ended.returncode == 2
    assert "pipe is not a regular file: name another --out, or pass --out - for stdout" in ended.stderr


@pytest.mark.parametrize(
    ("options", "shown"),
    [(["--out", "-"], "# Imported by restencil from openapi.json."), (["--diff"], "+package: shop\n")],
)
def test_import_command_printed_spec_is_not_written(options: list[str], shown: str) -> None:
    """`--out -` prints the spec, and `--diff` what would be written; nothing is kept, the summary is on stderr."""
    printed = imported(*options)
    assert shown in printed.out and "3 of 3 operations" not in printed.out
    assert "3 of 3 operations" in printed.err
    assert there() == []


def test_import_command_another_file_is_written_although_the_document_was_imported() -> None:
    """Only the spec that an import wrote is up to date with its document."""
    imported()
    Path("folder").mkdir()
    imported("--out", "folder")
    assert Path("folder/spec.yaml").exists()
    assert imported("--out", "folder").err == "folder: nothing changed in openapi.json\n"


def test_import_command_summary_as_data() -> None:
    """`--format json` is one document on stdout, with the places of findings."""
    Path("openapi.json").write_text(json.dumps(shop(servers=[{"url": "/v1"}]), indent=1))
    data = imported("--format", "json").document
    assert {"file", "source", "version", "operations", "pks", "left_out", "checks", "findings"} <= set(data)
    assert data["operations"]["found"] == data["operations"]["covered"] == 3
    (finding,) = data["findings"]
    assert (finding["code"], finding["file"], finding["line"]) == ("server-relative", "openapi.json", 9)


def test_import_command_findings_are_told_with_their_lines() -> None:
    """Those of one kind are told once, with their count and the first three places; `--verbose` tells each."""
    bad = {f"e{number:02}": {"type": "potato"} for number in range(60)}
    schemas = {"Order": {**ITEM, "properties": {**ITEM["properties"], **bad}}}
    Path("openapi.json").write_text(json.dumps(shop(components={"schemas": schemas}), indent=1))
    (once,) = [line for line in imported().err.splitlines() if "warning[type-unknown]" in line]
    told = [line for line in imported("--again", "--verbose").err.splitlines() if "warning[type-unknown]" in line]
    assert len(told) == 60
    also = [line.split(": ")[0].removeprefix("openapi.json:") for line in told[1:3]]
    assert once == f"{told[0]} (60 like this, also at {', '.join(also)}, …)"
    place, message = told[0].split(": ", 1)
    at = int(place.split(":")[1])
    assert Path("openapi.json").read_text().splitlines()[at - 1].strip().startswith('"type": "potato"')
    assert message == "warning[type-unknown]: 'potato' is not a type of JSON Schema; read as any"
    found = [(each["line"], each["column"]) for each in imported("--again", "--format", "json").document["findings"]]
    assert found == sorted(found)


# ------------------------------------------------------------------------------------------------------- what is chosen


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        (["--include", "GET /orders/**"], ["/orders", "/orders/:id"]),
        (["--include", "/orders/*"], ["/orders/:id"]),
        (["--include", "/orders/{id}"], ["/orders/:id"]),
        (["--include", "get,post /**", "--exclude", "/orders/**"], ["/status"]),
        (["--exclude", "GET /status"], ["/orders", "/orders/:id"]),
        (["--tag", "other"], ["/status"]),
        (["--tag", "other", "--tag", "orders"], ["/orders", "/orders/:id", "/status"]),
    ],
)
def test_import_command_operations_are_chosen(options: list[str], kept: list[str]) -> None:
    """By method and path, and by tag; what no chosen operation needs is left out."""
    spec, said = imported("--out", "-", *options)
    count = len(kept)
    assert f"{count} of {count} operations" in said
    assert ("Order" in spec) == any("orders" in path for path in kept)
    assert ("/status" in spec) == ("/status" in kept)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--include", "GET /x/**"], "nothing matches --include 'GET /x/**' (2 paths begin with /orders)"),
        (["--include", "POST /orders"], "nothing matches --include 'POST /orders' (2 paths begin with /orders)"),
        (["--include", "orders"], "--include 'orders' is not a pattern"),
        (["--exclude", "/**"], "--include, --exclude and --tag leave out all 3 operations"),
        (["--tag", "no"], "no operation has the tag 'no' of --tag (there are 'orders' and 'other')"),
        (["--root", "nowhere"], "nowhere: is not a folder; --root is the folder of the files that `$ref` may refer to"),
        (["--package", "typing"], "a package 'typing' would hide the module of Python with this name"),
        (["--overlay", "nowhere.yaml"], "nowhere.yaml: cannot be read: No such file or directory"),
        (["--out", "-", "--format", "json"], "both print to stdout"),
        *(
            (["--check", *more], "--check writes nothing: it cannot be combined with")
            for more in (["--diff"], ["--out", "-"], ["--ours", "*"], ["--theirs", "*"])
        ),
    ],
)
def test_import_command_what_cannot_be_done_is_told(options: list[str], said: str) -> None:
    """Exit code 2, and nothing is written."""
    assert said in imported(*options, code=2).err
    assert there() == []


def test_import_command_what_is_excluded_and_not_there_is_told() -> None:
    """A pattern of `--exclude` that matches nothing is a warning."""
    assert "warning[exclude-unused]: nothing matches --exclude '/gone/**'" in imported("--exclude", "/gone/**").err


@pytest.mark.parametrize(
    ("title", "package"),
    [
        ("Shop API v2", "shop"), ("The Shop Service", "the_shop"), ("shop-rest-api 1.2.1", "shop"),
        ("Keycloak Admin REST API", "keycloak_admin"), ("Calendar API", "calendar_api"),
    ],
)  # fmt: skip
def test_import_command_title_gives_the_package(title: str, package: str) -> None:
    """In snake_case, without `api`, `rest`, `service` and versions, but for the name of a module of Python."""
    Path("openapi.json").write_text(json.dumps(shop(info={"title": title, "version": "1"})))
    imported()
    assert Path(f"{package}.yaml").is_file()


def test_import_command_spec_is_imported_again_by_its_file() -> None:
    """`--out FILE` alone imports what wrote the file, as it was chosen; a file that no import wrote is exit code 2."""
    imported("--package", "mine", "--out", "specs/a.yaml", "--exclude", "/none/**")
    assert "nothing changed" in restencil("import", "--out", "specs/a.yaml").err
    Path("openapi.json").write_text(json.dumps(shop(servers=[{"url": "https://new.example"}])))
    restencil("import", "--out", "specs/a.yaml")
    text = Path("specs/a.yaml").read_text()
    assert "package: mine" in text
    assert "url_prefix: https://new.example" in text
    imported("--out", "specs/a.yaml")  # the package is that of the file
    said = restencil("import", "--out", "specs/b.yaml", code=2).err
    assert "specs/b.yaml: it was not written by an import; pass the document" in said


def test_import_command_summary_counts_what_was_guessed() -> None:
    """It says how many primary keys the document states, and how many are to be checked."""
    answer = responding(record(name="string"))
    paths = {**shop()["paths"], "/tags/{tag}": {"get": {"responses": answer}, "delete": {"responses": answer}}}
    Path("openapi.json").write_text(json.dumps(shop(paths=paths)))
    assert "primary keys: 1 stated, 1 guessed (check:)" in imported().err


@pytest.mark.parametrize(
    ("title", "named"),
    [("REST API v1", "the title 'REST API v1'"), ("", "a missing title"), ("2.0", "the title '2.0'")],
)
def test_import_command_title_that_gives_no_package(title: str, named: str) -> None:
    """Exit code 2, which asks for the name."""
    Path("openapi.json").write_text(json.dumps(shop(info={"title": title})))
    asked = f"{named} cannot be used as the name of the package; choose a name with --package NAME"
    assert asked in imported(code=2).err


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a-b", "the name 'a-b' of the package is not a valid Python name"),
        ("class", "the name 'class' of the package is a keyword of Python"),
        ("httpx", "a package 'httpx' would hide the library with this name"),
    ],
)
def test_import_command_name_that_no_package_can_have(name: str, message: str) -> None:
    """Exit code 2, whether the name is given or comes of the title; nothing is written."""
    Path("openapi.json").write_text(json.dumps(shop(info={"title": f"{name} API", "version": "1"})))
    given = [["--package", name]] if "-" in name else [["--package", name], []]
    for more in given:
        assert f"openapi.json: {message}; choose another name with --package NAME" in imported(*more, code=2).err
    assert [path.name for path in Path().iterdir()] == ["openapi.json"]


def test_import_command_what_is_not_said_to_be_required() -> None:
    """A document that says nothing of it: fields are certain; `--assume-optional` turns that round."""
    schemas = {"Order": {**ITEM, "required": 1}}
    Path("openapi.json").write_text(json.dumps(shop(components={"schemas": schemas})))
    imported()
    assert "name: string\n" in Path("shop.yaml").read_text()
    imported("--assume-optional", "--theirs", "*")
    assert "name: string?\n" in Path("shop.yaml").read_text()


# ------------------------------------------------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("nowhere.json", "nowhere.json: cannot be read: No such file or directory"),
        *(
            (url, f"{url}: is not a URL with http:// or https://; expected one, or the path of a file")
            for url in ("ftp://a.test/o.json", "file:///o.json")
        ),
    ],
)
def test_import_command_source_that_cannot_be_read(source: str, said: str) -> None:
    """Exit code 2, with its name: a file that is not there, or a URL with another scheme."""
    assert said in restencil("import", source, code=2).err


# -------------------------------------------------------------------------------------------------------- configuration


def configure(text: str) -> None:
    Path("pyproject.toml").write_text(f"[tool.restencil]\n{text}\n")


def test_import_command_imports_come_from_the_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    """By name, or all; paths are relative to the file of the configuration."""
    configure(
        '[tool.restencil.import.shop]\nsource = "openapi.json"\nout = "specs/shop.yaml"\ntags = ["orders"]\n'
        '[tool.restencil.import.status]\nsource = "openapi.json"\ninclude = ["/status"]\nrequired = false'
    )
    Path("deep").mkdir()
    monkeypatch.chdir("deep")
    restencil("import", "status")
    assert Path("../status.yaml").is_file()
    assert not Path("../specs").exists()
    restencil("import")
    assert "/orders" in Path("../specs/shop.yaml").read_text()
    assert "/status" not in Path("../specs/shop.yaml").read_text()
    again = [(one["file"], one["unchanged"]) for one in restencil("import", "--format", "json").document]
    assert again == [("../specs/shop.yaml", True), ("../status.yaml", True)]
    said = "--out and --package are for one import, and 2 are configured: add a name"
    assert said in restencil("import", "--package", "shop", code=2).err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[tool.restencil.import.shop]\nsuorce = "a"', "unknown key `suorce` in [tool.restencil.import.shop]"),
        ("[tool.restencil.import.shop]", "[tool.restencil.import.shop] needs `source`"),
        ("[tool.restencil.import.shop]\nsource = 1", "`source` in [tool.restencil.import.shop] must be a string"),
        (
            '[tool.restencil.import.shop]\nsource = "a"\ntags = "b"',
            "`tags` in [tool.restencil.import.shop] must be a list",
        ),
        (
            '[tool.restencil.import.shop]\nsource = "a"\nsplit = 1',
            "`split` in [tool.restencil.import.shop] must be true",
        ),
        ('import = "a"', "`import` in [tool.restencil] must hold tables"),
        ("", "nothing to import: pass a document"),
    ],
)
def test_import_command_configuration_that_is_not_understood(text: str, said: str) -> None:
    """Exit code 2 and a message that names the key."""
    configure(text)
    assert said in restencil("import", code=2).err


# ------------------------------------------------------------------------------------------------------------ addresses


def test_import_command_address_is_imported() -> None:
    """With the files beside it; what is relative is seen from it."""
    answers = {
        "/api/openapi.json": shop(
            servers=[{"url": "v1"}], components={"schemas": {"Order": {"$ref": "more.json#/Order"}}}
        ),
        "/api/more.json": {"Order": ITEM},
    }
    with Server(lambda request: Reply(body=json.dumps(answers[request.target]).encode())) as server:
        restencil("import", f"{server.url}/api/openapi.json")
        assert f"url_prefix: {server.url}/api/v1" in Path("shop.yaml").read_text()
        assert [request.target for request in server.arrived] == list(answers)
        assert "nothing changed" in restencil("import", f"{server.url}/api/openapi.json").err


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply(404), "/openapi.json: the server responded with 404\n"),
        (
            Reply(401),
            "responded with 401; it requires credentials, which import does not send: save the document",
        ),
        (Reply(500), "/openapi.json: the server responded with 500\n"),
        (Reply(body=b"<!doctype html>"), "openapi.json:1:1: neither JSON nor YAML: it looks like HTML"),
        (Reply(302, headers={"Location": "http://127.0.0.1:1/x"}), "which has another origin"),
        (Reply(302, headers={"Location": "file:///etc/passwd"}), "is not a URL with http:// or https://\n"),
        (Reply(302, headers={"Location": "/openapi.json"}), "redirects more than 10 times"),
        (Reply(body=b"x" * 50_000_001), "more than 50 MB"),
    ],
)
def test_import_command_what_is_behind_an_address_is_no_document(reply: Reply, said: str) -> None:
    """Exit code 2 with the address, and nothing is written."""
    with Server(lambda request: reply) as server:
        assert said in restencil("import", f"{server.url}/openapi.json", code=2).err
    assert there() == []


def test_import_command_no_other_origin_is_asked() -> None:
    """References to another origin are any, and a file of this machine is none of an address."""
    with Server() as other:
        schemas = {"Order": {**ITEM, "properties": {"a": {"$ref": f"{other.url}/a.json"}, "id": {"type": "integer"},
                                                    "b": {"$ref": "file:///etc/hosts.json"}}}}  # fmt: skip
        with Server(lambda request: Reply(body=json.dumps(shop(components={"schemas": schemas})).encode())) as server:
            assert "(2 like this, also at " in restencil("import", f"{server.url}/openapi.json").err
        assert other.arrived == []
