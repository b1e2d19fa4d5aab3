"""Objects of a spec that contain entities: the object shows the one copy that the store has, wherever it is nested."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import pytest
from tests.freshness.programs import World
from tests.freshness.server import NOTHING
from tests.freshness.small import small

import restencil

SPEC: Final = """
objects:
  Info: {note: string?, user: User, reviewer: User?, watchers: [User]}
  Step: {name: string, by: User?, steps: [Step]}
  Extra: {info: Info, by_name: {values: Info}}
  Card: {kind: {const: card}, owner: User}
  Bank: {kind: {const: bank}, holder: User}
resources:
  users: {path: /users/:id, schema: {entity: User, fields: {id: integer, name: string}}, optimistic: true}
  orders:
    path: /orders/:id
    schema:
      entity: Order
      fields:
        id: integer
        info: Info
        maybe: Info?
        infos: [Info]
        by_name: {values: Info}
        extra: Extra?
        paid_with: {one_of: [Card, Bank]}
        steps: [Step]
    endpoints:
      summary: {path: /orders/:id/summary, schema: Info}
      summaries: {path: /summaries, schema: [Info]}
      wrapped: {path: /wrapped, schema: {data: Info, count: integer}}
"""


class Shop:
    """A server of users and of one order that embeds them."""

    def __init__(self) -> None:
        self.names = {1: "Ada", 2: "Bob"}
        self.sent: list[Any] = []

    def user(self, pk: int) -> Any:
        """A user as the server embeds it."""
        return {"id": pk, "name": self.names[pk]}

    def info(self) -> Any:
        """The object that contains users."""
        return {"note": "n", "user": self.user(1), "reviewer": None, "watchers": [self.user(1), self.user(2)]}

    def order(self) -> Any:
        """The order."""
        info = self.info()
        return {
            "id": 7,
            "info": info,
            "maybe": None,
            "infos": [info, info],
            "by_name": {"a": info},
            "extra": {"info": info, "by_name": {"b": info}},
            "paid_with": {"kind": "card", "owner": self.user(1)},
            "steps": [
                {"name": "pack", "by": self.user(1), "steps": [{"name": "tape", "by": self.user(2), "steps": []}]}
            ],
        }

    def __call__(self, method: str, target: str, body: Any) -> Any:
        """The response to a request."""
        if target.startswith("/users/"):
            pk = int(target.rpartition("/")[2])
            if method == "DELETE":
                return NOTHING
            if method == "PATCH":
                self.names[pk] = body["name"]
            return self.user(pk)
        if method != "GET":
            self.sent.append(body)
            return self.order()
        if target == "/orders":
            return [self.order()]
        answers = {"/summaries": [self.info()], "/wrapped": {"data": self.info(), "count": 1}}
        return answers.get(target, self.info() if target.endswith("/summary") else self.order())


PLACES: Final[dict[str, tuple[str, dict[str, Any], Callable[[Any], Any]]]] = {
    "field": ("orders.get", {"id": 7}, lambda order: order.info.user),
    "list in it": ("orders.get", {"id": 7}, lambda order: order.info.watchers[0]),
    "list of them": ("orders.get", {"id": 7}, lambda order: order.infos[1].user),
    "map of them": ("orders.get", {"id": 7}, lambda order: order.by_name["a"].user),
    "object in object": ("orders.get", {"id": 7}, lambda order: order.extra.info.user),
    "map in object": ("orders.get", {"id": 7}, lambda order: order.extra.by_name["b"].watchers[0]),
    "union": ("orders.get", {"id": 7}, lambda order: order.paid_with.owner),
    "recursive object": ("orders.get", {"id": 7}, lambda order: order.steps[0].by),
    "item of a list": ("orders.get_list", {}, lambda orders: orders[0].info.user),
    "whole response": ("orders.summary", {"id": 7}, lambda info: info.user),
    "list as response": ("orders.summaries", {}, lambda infos: infos[0].watchers[0]),
    "envelope": ("orders.wrapped", {}, lambda found: found["data"].user),
}

WORLDS: Final = {
    "memory": World(),
    "asyncio": World(asynchronous=True),
    "bounded": World(bound=2),
    "sqlite": World(sqlite=True),
}


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS.keys())
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES.keys())
def test_entity_in_object_follows_a_change_of_the_entity(
    world: World, place: tuple[str, dict[str, Any], Callable[[Any], Any]]
) -> None:
    """After a change of the user, no read shows the old user as fresh."""
    name, arguments, user_of = place
    with small(SPEC, Shop(), world) as session:
        assert user_of(session.call(name, **arguments)).name == "Ada"
        session.call("users.partial_update", id=1, body={"name": "Eve"})
        if session.is_fresh(name, arguments):
            assert user_of(session.bound(name).cached(**arguments)).name == "Eve"
        shown = user_of(session.call(name, **arguments))
        assert shown.name == "Eve"
        if not world.bound:
            assert shown is session.call("users.get", id=1)


def test_entity_in_object_shows_a_change_without_a_request() -> None:
    """The response to the change has the user whole, so an object that contains no list of users stays fresh."""
    with small(SPEC.replace(", watchers: [User]", ""), Shop()) as session:
        session.call("orders.get", id=7)
        session.call("users.partial_update", id=1, body={"name": "Eve"})
        assert session.requests("orders.get", id=7) == []
        assert session.call("orders.get", id=7).infos[0].user.name == "Eve"


def test_entity_in_object_answers_a_read_of_the_entity() -> None:
    """A user that came inside an object is known: `users.get` sends nothing."""
    with small(SPEC, Shop()) as session:
        session.call("orders.summary", id=7)
        assert session.requests("users.get", id=2) == []


def test_stored_object_holds_the_primary_key_and_shows_the_entity_in_another_process() -> None:
    """The row of an order holds the key of the user; a process that reads it shows the user's own row."""
    with small(SPEC, Shop(), World(sqlite=True)) as session:
        session.call("orders.get", id=7)
        session.call_and_sync("users.partial_update", id=1, body={"name": "Eve"})
        other = session.call("orders.get", "whole", "other", id=7)
        assert [other.info.user.name, other.paid_with.owner.name, other.steps[0].by.name] == ["Eve"] * 3
        assert other.info.user is session.call("users.get", "whole", "other", id=1)


def test_body_holds_the_object_as_the_server_sent_it() -> None:
    """A body with an object that was read contains its users as objects, and never a key of the store."""
    shop = Shop()
    with small(SPEC, shop) as session:
        order = session.call("orders.get", id=7)
        session.call("orders.partial_update", id=7, body={"info": order.info})
        session.call("orders.update", id=7, body=order)
        session.call("orders.partial_update", id=7, body={"info": {"note": "m", "user": order.info.user}})
    assert shop.sent[0] == {"info": shop.info()}
    assert shop.sent[1] == shop.order()
    assert shop.sent[2] == {"info": {"note": "m", "user": shop.user(1)}}


def test_object_with_entities_as_plain_data_and_json() -> None:
    """`to_dict` and `to_json` go through objects into their entities, and `from_json` reads them."""
    shop = Shop()
    with small(SPEC, shop) as session:
        order = session.call("orders.get", id=7)
        assert json.loads(order.to_json()) == shop.order()
        assert order.to_dict(deep=True)["info"]["user"] == {"id": 1, "name": "Ada"}
        assert type(order).from_json(order.to_json()).info.user.name == "Ada"
        assert restencil.foreign_key(order.info, "user") == 1


def test_object_whose_required_entity_was_deleted_is_unusable() -> None:
    """As an entity that refers to a deleted one: nothing is shown, and a call requests it."""
    shop = Shop()
    with small(SPEC, shop) as session:
        session.call("orders.get", id=7)
        session.call("users.delete", id=1)
        assert session.bound("orders.get").cached(id=7) is None
        assert session.requests("orders.get", id=7) == ["GET /orders/7"]


def test_object_whose_optional_entity_was_deleted_shows_none() -> None:
    """A reference that may be null shows None, as that of an entity."""
    shop = Shop()
    with small(SPEC, shop) as session:
        session.call("orders.get", id=7)
        session.call("users.delete", id=2)
        (step,) = session.bound("orders.get").cached(id=7).steps
        assert [step.by.name, step.steps[0].by] == ["Ada", None]
