"""The mock server and requests that no client of ours sends: answered with the reason, and never by a 500."""

from __future__ import annotations

import contextlib
import json
import random
import socket
import subprocess
from collections.abc import Generator, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from tests.generator.mock.served import Api, ids, spec_text
from tests.generator.mock.test_mock_server import COMMAND, running
from tests.libraries import httpx
from tests.patience import PATIENCE

FORMS = spec_text("forms")
LINKED = spec_text("blog").replace("pagination: {style: cursor, next: last.id}", "pagination: {style: link}")
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def forms() -> Api:
    """A fresh API with bodies of all kinds, which asks for no credential."""
    return Api(FORMS, auth=False)


def refused(api: Api, content: bytes | str, content_type: str = "application/json", url: str = "/things") -> str:
    """The message of a response with 400 to this body."""
    return api.refused(400, "POST", url, content=content, headers={"Content-Type": content_type.encode()})


# ----------------------------------------------------------------------------------------------------- what bodies say


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN", "-Infinity", "1" + "0" * 400])
def test_mock_unusual_requests_number_out_of_range_is_rejected(forms: Api, number: str) -> None:
    """What no double can hold could not be shown again."""
    assert "the body contains a number that is too large" in refused(forms, f'{{"extra": [{number}]}}')


def test_mock_unusual_requests_number_with_too_many_digits_is_rejected(forms: Api) -> None:
    """The parser of JSON has a limit of its own."""
    assert "the body is not valid JSON" in refused(forms, '{"count": ' + "1" * 5000 + "}")


@pytest.mark.parametrize("body", ['{"name": "\\ud800"}', '{"\\udfff": 1}', '["\\ud83d"]'])
def test_mock_unusual_requests_lone_surrogate_is_rejected(forms: Api, body: str) -> None:
    """Half a character is none, neither as a value nor as a key."""
    assert "the body contains a lone surrogate, U+D" in refused(forms, body)


def test_mock_unusual_requests_body_nested_without_end_is_rejected(forms: Api) -> None:
    """Whether the parser of JSON can read it or not."""
    assert "the body is nested more than 100 deep" in refused(forms, '{"extra": ' + "[" * 150 + "]" * 150 + "}")
    assert "the body " in refused(forms, "[" * 100_000)


@pytest.mark.parametrize("charset", ["x", "idna", "latin-1", "utf-16", "a\0b", "é"])
def test_mock_unusual_requests_charset_other_than_utf_8_is_rejected(forms: Api, charset: str) -> None:
    """Known and unknown ones."""
    for kind, url in (("json", "/things"), ("x-www-form-urlencoded", "/things/thing-1/rating")):
        message = refused(forms, b'{"id": "a"}', f"application/{kind}; charset={charset}", url)
        assert "which the mock server does not support: send UTF-8" in message


@pytest.mark.parametrize("charset", ["utf-8", '"UTF-8"'])
def test_mock_unusual_requests_utf_8_is_read(forms: Api, charset: str) -> None:
    """With and without quotes."""
    content = '{"id": "a", "name": "é"}'.encode()
    answer = forms("POST", "/things", content=content, headers={"Content-Type": f"application/json; charset={charset}"})
    assert (answer.status_code, answer.json()["name"]) == (201, "é")


def test_mock_unusual_requests_body_that_is_not_utf_8_is_rejected(forms: Api) -> None:
    """With and without a charset in the type."""
    for kind in ("application/json", "application/json; charset=utf-8"):
        assert "the body is not UTF-8" in refused(forms, b'{"name": "\xff"}', kind)


@pytest.mark.parametrize("boundary", ["", "; boundary=", '; boundary="', "; boundary=x", "; charset=idna; boundary=x"])
def test_mock_unusual_requests_multipart_form_that_is_none_is_rejected(forms: Api, boundary: str) -> None:
    """Whatever the parser stumbles over."""
    for content in (b"--x", b"--y\r\n\r\n", b"\xff" * 10):
        kind = f"multipart/form-data{boundary}"
        answer = forms("POST", "/things/1/file", content=content, headers={"Content-Type": kind})
        assert answer.status_code == 400 or (answer.status_code == 200 and "boundary=x" in boundary), answer.text


# ------------------------------------------------------------------------------------------------------ what URLs say


@pytest.mark.parametrize("offset", ["1" * 5000, "-1", "1e3", "٣", "²", "", "--5", "+1"])
def test_mock_unusual_requests_page_that_is_no_number_is_rejected(forms: Api, offset: str) -> None:
    """The reason says what is expected, and repeats no thousands of digits."""
    message = forms.refused(400, "GET", "/things", params={"offset": offset})
    assert message.startswith("offset must be an integer, 0 or more, not ") and len(message) < 150
    assert message.endswith(f"{offset!r}" if len(offset) < 40 else "…'")


@pytest.mark.parametrize(
    "value", ["1" * 5000, "--5", "inf", "nan", "1e999", "٣", "\ud800".encode("utf-8", "surrogatepass")]
)
def test_mock_unusual_requests_search_arguments_may_be_anything(forms: Api, value: str | bytes) -> None:
    """They agree with no record, and give a new one no field that it could not show."""
    for name in ("count", "share", "order_by", "id"):
        url = f"/things?{name}={quote(value)}"
        assert forms("GET", url).status_code == 200
        assert forms("POST", url, json={"id": f"new-{name}"}).status_code in (201, 422)
    assert forms("GET", "/things").status_code == 200


@pytest.mark.parametrize("pk", ["9" * 5000, "x" + "9" * 5000, "zzzzzzzz-zzzz-zzzz-zzzz-zzzzzzzzzzzz", "9999-12-31"])
def test_mock_unusual_requests_next_number_is_found_after_any_pk(forms: Api, pk: str) -> None:
    """A pk as large as it likes; the record after it has one all the same."""
    forms.send("POST", "/things", {"id": pk}, 201)
    assert forms("POST", "/things", json={"name": "next"}).status_code == 201


def test_mock_unusual_requests_body_of_a_field_is_no_new_pk(forms: Api) -> None:
    """A record stays where it is."""
    forms.send("POST", "/things", {"id": "a"}, 201)
    forms("PUT", "/things/a/id", json="b")
    assert forms.get("/things/a")["id"] == "a"
    assert forms("DELETE", "/things/a").status_code == 204


@pytest.mark.parametrize("header", ["Basic é", "Basic ====", "Basic ", "Bearer", "", "Basic " + "A" * 9])
def test_mock_unusual_requests_credential_that_is_none_is_rejected(header: str) -> None:
    """Whatever stands there, 401 and the way out."""
    assert Api(FORMS)("GET", "/things", headers={"Authorization": header.encode()}).status_code == 401


@pytest.mark.parametrize("host", ["[::1", "a b", 'x"y', "é", "", "a@b", "x/y"])
def test_mock_unusual_requests_any_host_is_taken(host: str) -> None:
    """The mock server has no name, so no name is wrong."""
    answer = Api(LINKED)("GET", "/articles", headers={"Host": host.encode()})
    assert answer.status_code == 200 and answer.headers["link"].startswith("<http://")


def test_mock_unusual_requests_odd_paths_stand_in_links_as_they_were_sent() -> None:
    """Neither a letter beyond ASCII nor the end of a line breaks a header."""
    spec = LINKED.replace("path: /articles/:id", "path: /in/:place/articles/:id")
    for place in ("%C3%A9", "%0d%0aX-A:b", "%FF", "a%2Fb"):
        answer = Api(spec)("GET", f"/in/{place}/articles")
        assert answer.status_code == 200
        assert f"/in/{place}/articles?" in answer.headers.get("link", f"/in/{place}/articles?")


# ---------------------------------------------------------------------------------------- records and path parameters


def named(path: str, fields: str, keys: str = "") -> Api:
    return Api(
        f"restencil: 1\npackage: x\nresources:\n  repos:\n    path: {path}\n"
        f"    schema: {{entity: Repo, fields: {fields}}}\n{keys}"
    )


@pytest.mark.parametrize("parameter", ["name", "repo_name", "repoName"])
def test_mock_unusual_requests_record_is_found_by_a_parameter_that_is_not_its_pk(parameter: str) -> None:
    """By the field of that name, with or without the entity's name before it."""
    api = named(f"/repos/:{parameter}", "{id: integer, name: string, stars: integer}")
    first = api.get("/repos")[0]
    url = f"/repos/{quote(first['name'])}"
    assert api.get(url) == first
    assert api("PATCH", url, json={"stars": 5}).json()["stars"] == 5
    assert [api(method, url).status_code for method in ("DELETE", "GET")] == [204, 404]
    assert first["id"] not in ids(api.get("/repos"))


def test_mock_unusual_requests_entity_without_key_is_one_record_at_all_paths_of_a_singleton() -> None:
    """`pk: []` says so, although the path has a parameter."""
    api = Api(
        "restencil: 1\npackage: x\nresources:\n  prefs:\n    path: /users/:user/prefs\n    singleton: true\n"
        "    schema: {entity: Prefs, pk: [], fields: {theme: string}}\n"
    )
    assert api("PUT", "/users/1/prefs", json={"theme": "dark"}).json() == {"theme": "dark"}
    assert api.get("/users/2/prefs") == {"theme": "dark"}
    assert [api("DELETE", f"/users/{user}/prefs").status_code for user in (1, 2)] == [204, 404]
    assert api("PUT", "/users/2/prefs", json={"theme": "light"}).json() == {"theme": "light"}


def test_mock_unusual_requests_record_of_an_example_is_found_by_the_parameters_of_the_example() -> None:
    """The example says what a parameter means that is no field."""
    examples = "    examples: {get: {params: {handle: hello}, response: {id: 1, name: First}}}\n"
    api = named("/repos/:handle", "{id: integer, name: string}", examples)
    assert api.get("/repos/hello") == {"id": 1, "name": "First"}


# ----------------------------------------------------------------------------------------------------------- over wires


@contextlib.contextmanager
def serving(folder: Path) -> Generator[tuple[subprocess.Popen[str], int]]:
    """A server in a process of its own that takes bodies of 1,000 bytes, and its port."""
    (folder / "forms.yaml").write_text(FORMS)
    with running(folder / "forms.yaml", "--port", "0", "--no-auth", "--max-body", "1000") as (process, address):
        yield process, int(address.rpartition(":")[2])


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Generator[int]:
    """The port of a server that all tests use that do not end it."""
    with serving(tmp_path_factory.mktemp("forms")) as (_, port):
        yield port


@contextlib.contextmanager
def connected(port: int) -> Generator[socket.socket]:
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        yield connection


def answer_to(request: bytes, port: int) -> bytes:
    """All that comes until the server closes."""
    found = b""
    with connected(port) as connection, contextlib.suppress(ConnectionError):
        connection.sendall(request)
        while chunk := connection.recv(65536):
            found += chunk
    return found


POST = b"POST /things HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n", b"illegal chunk header"),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}xx\r\n0\r\n\r\n", b"malformed chunk footer"),
        (POST + b"Content-Length: x\r\n\r\n{}", b"bad Content-Length"),
        (POST + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", b"conflicting Content-Length"),
        (b"GET /things\r\n\r\n", b"illegal request line"),
        (b"GET /things HTTP/1.1\r\nno colon\r\n\r\n", b"illegal header line"),
        (b"GET /things HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", b"multiple Host: headers"),
        (b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\r\n\r\n", b"illegal request line"),
    ],
)
def test_mock_unusual_requests_what_is_no_http_is_rejected_with_the_reason(
    port: int, request_: bytes, reason: bytes
) -> None:
    """A chunk that breaks off in the middle of a body as well as a head that is none."""
    answer = answer_to(request_, port)
    assert answer.startswith(b"HTTP/1.1 400 "), answer
    assert reason in answer


def test_mock_unusual_requests_body_over_the_limit_is_rejected_and_not_read_to_its_end(port: int) -> None:
    """By its length before a byte of it comes; by its chunks as soon as they are too many."""
    for head, part in (
        (b"Content-Length: 1001\r\n\r\n", b""),
        (b"Transfer-Encoding: chunked\r\n\r\n", b"3e9\r\n" + b" " * 1001),
    ):
        answer = answer_to(POST + head + part, port)
        assert answer.startswith(b"HTTP/1.1 413 "), answer
        assert b"the body has more than 1,000 bytes; --max-body N allows more" in answer
        assert b"connection: close" in answer.lower()
    address = f"http://127.0.0.1:{port}/things"
    assert httpx.post(address, content=b'{"id": "a"}'.ljust(1000), headers=JSON, timeout=PATIENCE).status_code == 201
    assert httpx.post(address, content=b'{"id": "b"}'.ljust(1001), headers=JSON, timeout=PATIENCE).status_code == 413


def test_mock_unusual_requests_ten_megabytes_are_the_limit_where_nothing_is_said(forms: Api) -> None:
    """A body of that size is read, one byte more is not."""
    assert forms("POST", "/things", content=b'{"id": "a"}'.ljust(10_000_000), headers=JSON).status_code == 201
    answer = forms("POST", "/things", content=b'{"id": "b"}'.ljust(10_000_001), headers=JSON)
    assert (answer.status_code, answer.json()["error"]) == (413, "content_too_large")


def test_mock_unusual_requests_who_hangs_up_in_the_middle_is_no_error(tmp_path: Path) -> None:
    """Nothing is printed about it, and the server goes on."""
    with serving(tmp_path) as (process, port):
        with connected(port) as connection:
            connection.sendall(POST + b"Content-Length: 10\r\n\r\n{")
        with connected(port) as connection:
            connection.sendall(POST + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{")
        assert httpx.get(f"http://127.0.0.1:{port}/things", timeout=PATIENCE).status_code == 200
        process.terminate()
        _, err = process.communicate(timeout=PATIENCE)
    assert err == "GET /things 200\n"


# ---------------------------------------------------------------------------------------------------------------- fuzz

PLAIN = "a 1 -1 é \U0001f600 1e400 null true % ../.. thing-1"
WORDS = [*PLAIN.split(), "", "x" * 300, "9" * 400, "\x00", "\r\n"]
PATHS = [
    "/things",
    "/{}",
    *(f"/things/{{}}{rest}" for rest in ("", "/file", "/rating", "/raw", "/any", "/tags", "/id")),
]
TYPES = [
    "application/json",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "multipart/form-data",
    "text/plain; charset=idna",
    "application/json; charset=utf-16",
    "multipart/form-data; boundary=x; charset=undefined",
    "",
    "é",
]


def values(chance: random.Random, depth: int = 0) -> object:
    """Any JSON, and texts and numbers that JSON hardly holds."""
    kind = chance.randrange(9 if depth < 4 else 6)
    if kind < 3:
        return chance.choice([*WORDS, "\ud800", "2020-01-31", "0000-00-00", "zzzzzzzz-zzzz-zzzz-zzzz-zzzzzzzzzzzz"])
    if kind == 3:
        return chance.choice([0, -1, 1.5, 10**30, 10**308, 10**320, 1e308, float("inf"), float("nan"), 2**63])
    if kind == 4:
        return chance.choice([None, True, False])
    if kind == 5:
        return {}
    if kind == 6:
        return [values(chance, depth + 1) for _ in range(chance.randrange(4))]
    names = ["id", "name", "count", "share", "due", "extra", "of", "tags", "\udc00"]
    return {chance.choice(names): values(chance, depth + 1) for _ in range(chance.randrange(5))}


def bodies(chance: random.Random) -> bytes:
    """A body: mostly JSON, else a form or noise."""
    kind = chance.randrange(10)
    if kind < 6:
        return json.dumps(values(chance)).encode()
    if kind == 6:
        pairs = (f"{chance.choice(['share', 'count', 'é'])}={quote(word)}" for word in chance.sample(WORDS, 3))
        return "&".join(pairs).encode()
    if kind == 7:
        name, text = chance.choice(["file", "count", "\xe9", 'a"b']), chance.choice(WORDS)
        head = f"--x\r\nContent-Disposition: form-data; name=\"{name}\"; filename*=idna''%ff\r\n"
        codings = ["", "Content-Transfer-Encoding: base64\r\n", "Content-Type: text/plain; charset=idna\r\n"]
        coding = chance.choice(codings)
        return f"{head}{coding}\r\n{text}\r\n--x--\r\n".encode("utf-8", "surrogatepass")
    return chance.randbytes(chance.randrange(40))


def requests(seed: int, count: int) -> Iterator[tuple[str, bytes, bytes, bytes]]:
    """Requests from a seed: method, target, type and body."""
    chance = random.Random(seed)
    for _ in range(count):
        method = chance.choice(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "FOO"])
        target = quote(chance.choice(PATHS).format(chance.choice(WORDS)), safe="/%")
        if chance.random() < 0.5:
            names = ["offset", "count", "share", "order_by", "id", "q", "é"]
            pairs = (f"{quote(chance.choice(names))}={quote(chance.choice(WORDS), safe='%')}" for _ in range(2))
            target += f"?{'&'.join(pairs)}"
        yield method, target.encode(), chance.choice(TYPES).encode("latin-1"), bodies(chance)


def test_mock_unusual_requests_no_request_gets_a_response_by_a_500(tmp_path: Path) -> None:
    """Hundreds of requests through a socket, as odd as they come: each is answered, none by a 500."""
    (tmp_path / "forms.yaml").write_text(FORMS)
    command = [*COMMAND, str(tmp_path / "forms.yaml"), "--port", "0", "--no-auth"]
    log = tmp_path / "log"  # and no pipe, which would be full of what is told of each request
    with log.open("w") as told, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=told, text=True) as process:
        try:
            assert process.stdout is not None
            with connected(int(process.stdout.readline().rpartition(":")[2])) as connection:
                _ask(connection)
        finally:
            process.terminate()
    assert "Traceback" not in log.read_text()


def _ask(connection: socket.socket) -> None:
    file = connection.makefile("rb")
    for method, target, kind, body in requests(11, 800):
        length = str(len(body)).encode()
        head = method.encode() + b" " + target + b" HTTP/1.1\r\nHost: localhost\r\nContent-Type: " + kind + b"\r\n"
        connection.sendall(head + b"Content-Length: " + length + b"\r\n\r\n" + body)
        status = file.readline()
        fields = dict(line.lower().split(b": ", 1) for line in iter(lambda: file.readline().rstrip(), b""))
        content = file.read(0 if method == "HEAD" else int(fields.get(b"content-length", b"0")))
        assert status[9:10] in (b"2", b"4"), (method, target, kind, body, status, content)
