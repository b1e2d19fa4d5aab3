"""Every value arrives at a real server as it was given, or is refused before any request."""

from __future__ import annotations

import random
from typing import Any
from urllib.parse import parse_qsl, unquote

import pytest
from tests.libraries import httpx
from tests.runtime.servers import Server

from restencil import RestEndpoint

IN_A_PATH = 25

PIECES = [
    *(".", "..", "/", "//", "\\", "%", "%2F", "%2e", "%2E%2e", "%00", "%zz", "%25", "?", "#", "&", "=", ";", ":"),
    *("@", "+"),
    *(" ", "  ", "~", "*", "(", ")", "'", '"', "!", ",", "$", "[", "]", "{", "}", "|", "^", "`", "<", ">", "-", "_"),
    *("a", "Z", "0", "..a", "a..", "...", "é", "ß", "東京", "😀", "\u0301", "\u200b", "\u202e", "\ufeff", "\u2028"),
    *("٣", "İ", "ſ", "Å", "ﬀ", "\u00a0", "\u3000", "\uffff", "\U0010ffff", "עברית", "हिन्दी", "ไทย", "\xad"),
]
REFUSED = ["\x00", "\t", "\n", "\r", "\x1f", "\x7f", "\x80", "\x9f", "\ud800", "\udfff", "\udc80"]


def generated(source: random.Random) -> str:
    """A value as an application might be handed it, by chance or in bad faith."""
    choice = source.random()
    if choice < 0.04:
        return source.choice((".", "..", "", "...", "%2e%2e", "/..", "../", "..;", ".%2e"))
    if choice < 0.1:
        return source.choice(PIECES) + source.choice(REFUSED) + source.choice(PIECES)
    if choice < 0.8:
        return "".join(source.choice(PIECES) for _ in range(source.randint(1, 5)))
    return "".join(chr(source.randint(0x20, 0x2FFF)) for _ in range(source.randint(1, 6)))


def must_be_refused(value: str) -> bool:
    """Dot segments, the empty segment, control characters and lone surrogates."""
    return value in ("", ".", "..") or any(
        ord(character) < 0x20 or 0x7F <= ord(character) < 0xA0 or 0xD800 <= ord(character) < 0xE000
        for character in value
    )


@pytest.mark.parametrize("count", [4_000, pytest.param(200_000, marks=pytest.mark.slow)])
def test_values_arrive_in_their_segment_or_are_rejected_before_any_io(count: int) -> None:
    """Values that are accepted travel 25 in a path, so that all of them take seconds."""
    source = random.Random(20260101)
    single = RestEndpoint(path="/a/:v/b")
    names = [f"p{number}" for number in range(IN_A_PATH)]
    accepted: list[str] = []
    refused = 0
    for _ in range(count):
        value = generated(source)
        try:
            single.request_url(({"v": value},))
        except ValueError:
            assert must_be_refused(value), repr(value)
            refused += 1
        else:
            assert not must_be_refused(value), repr(value)
            accepted.append(value)
    assert refused > count // 50
    with Server() as server, httpx.Client(base_url=server.url) as client:
        endpoint = RestEndpoint(path="/a/" + "/".join(f":{name}" for name in names) + "/z", client=client)
        for start in range(0, len(accepted), IN_A_PATH):
            values = accepted[start : start + IN_A_PATH]
            values += ["last"] * (IN_A_PATH - len(values))
            endpoint(dict(zip(names, values, strict=True)))
            segments = server.arrived[-1].target.split("/")
            assert segments[:2] == ["", "a"]
            assert [unquote(text, errors="strict") for text in segments[2:-1]] == values
            assert segments[-1] == "z"
            assert "?" not in server.arrived[-1].target
            server.arrived.clear()


@pytest.mark.network
def test_values_on_the_server_search_values_and_query_like_parameters_arrive_as_they_are() -> None:
    """Whatever has a UTF-8 form arrives as the same text, control characters too."""
    source = random.Random(20260102)
    with Server() as server, httpx.Client(base_url=server.url) as client:
        endpoint = RestEndpoint(path=r"/s\?lit=:lit", client=client)
        for _ in range(200):
            given: dict[str, Any] = {f"k{generated(source)}": generated(source) for _ in range(10)}
            given["lit"] = generated(source)
            try:
                endpoint(given)
            except ValueError:
                continue
            path, _, query = server.arrived[-1].target.partition("?")
            assert path == "/s"
            arrived = dict(parse_qsl(query, keep_blank_values=True, strict_parsing=True))
            assert arrived == given


@pytest.mark.network
def test_values_on_the_server_literal_text_of_a_template_arrives_encoded_once() -> None:
    """The template's own text is not encoded by the library; the transport sends it as a URL must be."""
    with Server() as server, httpx.Client(base_url=server.url) as client:
        for literal in ("/café/x y", "/a%20b", "/a%zz", '/"quoted"', "/semi;colon=1", "/~*()'!"):
            RestEndpoint(path=literal.replace("*", r"\*").replace("(", r"\(").replace(")", r"\)"), client=client)()
            expected = "/a%zz" if literal == "/a%zz" else unquote(literal)
            assert unquote(server.arrived[-1].target) == expected
