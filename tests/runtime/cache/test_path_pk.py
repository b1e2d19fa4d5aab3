"""Path parameters have Python names, records have those of JSON: both name the same entity."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.libraries import httpx

from restencil import Controller, Entity, create_resource, field


class Card(Entity, key="Card"):
    id: int = field(default=0, wire="Id")
    title: str = field(default="", wire="Title")


class Seat(Entity, key="Seat", pk=["row_no", "seat_no"]):
    row_no: int = field(default=0, wire="rowNo")
    seat_no: int = field(default=0, wire="seatNo")


Cards: Any = create_resource(path="/cards/:id", schema=Card, optimistic=True)
Seats: Any = create_resource(path="/rows/:row_no/seats/:seat_no", schema=Seat)


class Server:
    """Lists two entities of each kind, deletes with 204, and says what was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(f"{request.method} {request.url.path}")
        if request.method == "DELETE":
            return httpx.Response(204)
        if request.method == "PUT":
            return httpx.Response(200, json={"Id": 2, **json.loads(request.content)})
        if "rows" in request.url.path:
            return httpx.Response(200, json=[{"rowNo": 1, "seatNo": 4}, {"rowNo": 1, "seatNo": 5}])
        return httpx.Response(200, json=[{"Id": 1, "Title": "a"}, {"Id": 2, "Title": "b"}])


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def controller(server: Server) -> Controller:
    client = httpx.Client(transport=httpx.MockTransport(server.answer), base_url="https://api.example")
    return Controller(client=client)


def test_path_pk_what_a_list_received_is_read_by_path_parameter_without_a_request(
    server: Server, controller: Controller
) -> None:
    cards, seats = Cards(controller).get_list(), Seats(controller).get_list({"row_no": 1})
    assert Cards(controller).get({"id": 2}) is cards[1]
    assert Seats(controller).get({"row_no": 1, "seat_no": 5}) is seats[1]
    assert server.asked == ["GET /cards", "GET /rows/1/seats"]


def test_path_pk_deletion_without_content_removes_the_entity_of_the_path_parameter(controller: Controller) -> None:
    Cards(controller).get_list()
    deleted = Cards(controller).delete({"id": 2})
    assert deleted is None or deleted.id == 2
    assert [card.id for card in Cards(controller).get_list()] == [1]


def test_path_pk_optimistic_update_is_that_of_the_entity_of_the_path_parameter(controller: Controller) -> None:
    Cards(controller).get_list()
    payload = Cards.update.get_optimistic_response(controller.store.snapshot(), {"id": 2}, {"Title": "c"})
    assert payload == {"Id": 2, "Title": "c"}
