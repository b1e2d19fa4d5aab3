"""The mock server returns errors on request, in the shape that the spec declares, and is strict about its data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.generator.mock.served import Api, spec_text
from tests.generator.projects import restencil

SHOP = spec_text("failures")
KEY = {"X-Key": "any"}


def api(*, text: str = SHOP, auth: bool = True) -> Api:
    return Api(text, auth=auth)


def asked(server: Api, method: str, url: str, prefer: str) -> Any:
    return server(method, url, headers={**KEY, "Prefer": prefer})


# ---------------------------------------------------------------------------------------------------------- one request


@pytest.mark.parametrize("prefer", ["status=404", 'respond-async, status="404"', "wait=5, Status = 404; foo"])
def test_mock_failures_request_requests_an_error_by_a_header(prefer: str) -> None:
    """`Prefer: status=404` is answered by a 404 that says so, and by nothing else."""
    server = api()
    answer = asked(server, "DELETE", "/orders/1", prefer)
    assert (answer.status_code, answer.headers["preference-applied"]) == (404, "status=404")
    assert server.get("/orders/1", headers=KEY)["id"] == 1


@pytest.mark.parametrize("prefer", ["status=200", "status=nothing", "status=99999"])
def test_mock_failures_header_that_requests_no_error_is_rejected(prefer: str) -> None:
    """A status that is no error's is answered by 400 with the reason; other preferences are not looked at."""
    said = f"Prefer: {prefer} is not an error status; use one from 400 to 599, such as status=404"
    assert api().refused(400, "GET", "/find?q=a", headers={**KEY, "Prefer": prefer}) == said
    assert asked(api(), "GET", "/orders", "return=minimal").status_code == 200


def test_mock_failures_rare_status_can_be_requested() -> None:
    """Any status from 400 to 599, those included that no standard names."""
    answer = asked(api(text=SHOP.replace("errors: {404", "errors: {599: null, 404")), "GET", "/orders", "status=499")
    assert (answer.status_code, answer.json()) == (499, {"error": "error", "message": "simulated by the header Prefer"})


# ------------------------------------------------------------------------------------------------------------ the shape


def test_mock_failures_error_has_the_declared_shape() -> None:
    """Its first text is the message, wherever it is nested, and a number called status the status."""
    said = "simulated by the header Prefer"
    problem = {"kind": "problem", "status": 404, "where": {"line": 11, "fileName": said}, "detail": "Detail 1"}
    assert asked(api(), "GET", "/orders/1", "status=404").json() == problem
    gone = {"goneSince": "2024-01-01T09:00:00Z", "why": said}
    assert asked(api(), "GET", "/orders/1", "status=410").json() == gone
    assert asked(api(), "POST", "/orders/1/cancel", "status=404").json()["why"] == said


def test_mock_failures_error_without_a_string_or_without_a_shape_gets_a_response_too() -> None:
    """An object without strings is as it is made up; what is declared as any JSON says error and message."""
    assert asked(api(), "GET", "/orders/1", "status=409").json() == {"code": 11}
    any_json = {"error": "service_unavailable", "message": "simulated by the header Prefer"}
    assert asked(api(), "GET", "/orders/1", "status=503").json() == any_json


def test_mock_failures_errors_of_the_server_itself_have_the_declared_shape() -> None:
    """A record that is not there, a body that does not fit, and a missing credential."""
    text = SHOP.replace("errors: {404", "errors: {401: Gone, 422: Gone, 404")
    missing = api(text=text)("GET", "/orders/77", headers=KEY)
    assert (missing.status_code, missing.json()["status"]) == (404, 404)
    assert "77" in missing.json()["where"]["fileName"]
    misfit = api(text=text)("POST", "/orders", headers=KEY, json={"name": 5})
    assert (misfit.status_code, misfit.json()["why"]) == (422, "name: expected a string, not 5")
    refused = api(text=text)("GET", "/orders")
    assert (refused.status_code, refused.json()["why"].startswith("the header X-Key is missing")) == (401, True)


# ----------------------------------------------------------------------------------------------------------- strictness


def test_mock_failures_example_that_does_not_fit_is_rejected_at_the_start(tmp_path: Path) -> None:
    """With file and line, the path in the example, what was found and what was expected."""
    example = "    examples: {get_list: {response: [{id: 1, name: a, placed_at: yesterday}]}}\n"
    text = SHOP + example
    spec = tmp_path / "shop.yaml"
    spec.write_text(text, "utf-8")
    line = text[: text.index("examples:")].count("\n") + 1
    assert restencil("mock", spec, code=2).err == (
        f"restencil: {spec}:{line}: the example response of orders.get_list does not fit: response.0.placedAt: "
        "expected a date with a time such as '2020-01-31T12:00:00Z', not 'yesterday'\n"
    )


def test_mock_failures_what_is_sent_cannot_give_a_record_that_does_not_fit() -> None:
    """A value that an endpoint's own body allows and the record does not is said, and not shown."""
    text = SHOP + "      rename: {method: PUT, path: /orders/:id/rename, body: {name: any}, schema: Order}\n"
    server = api(text=text, auth=False)
    assert server("PUT", "/orders/1/rename", json={"name": 5}).json()["name"] == ""
    assert server("PUT", "/orders/1/rename", json={"name": "b"}).json()["name"] == "b"


def test_mock_failures_created_record_is_reported_by_its_place() -> None:
    """The header Location of the response leads to the record."""
    server = api(auth=False)
    for prefix in ("", "/v1"):
        answer = server("POST", f"{prefix}/orders", json={"name": "a b"})
        place = answer.headers["location"]
        assert (answer.status_code, place) == (201, f"{prefix}/orders/{answer.json()['id']}")
        assert server.get(place)["name"] == "a b"
    assert "location" not in server("PATCH", "/orders/1", json={"name": "b"}).headers


def test_mock_failures_place_of_what_is_created_keeps_the_path_above_it() -> None:
    """Parameters of the path are those of the call, and what a key holds is encoded."""
    text = """
restencil: 1
package: shop
resources:
  notes:
    path: /users/:user/notes/:slug
    schema: {entity: Note, pk: slug, fields: {slug: string, text: string}}
    response: {empty: none}
"""
    server = api(text=text)
    answer = server("POST", "/users/a%20b/notes", json={"slug": "x/y z"})
    assert answer.headers["location"] == "/users/a%20b/notes/x%2Fy%20z"
