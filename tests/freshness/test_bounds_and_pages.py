"""Bounded stores, pages and nested lists."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.freshness.driver import CHANGES, RUNS, Session, run
from tests.freshness.programs import PAGED, Step, World, parse
from tests.freshness.server import NOTHING, Response
from tests.freshness.small import Answer, client_before, package_of, small
from tests.freshness.spec import client_class
from tests.libraries import httpx

import restencil


def many(session: Session, count: int = 20) -> None:
    """So many items on the server."""
    for pk in range(1, count + 1):
        session.server.items[pk] = {**session.server.items[1], "title": f"t{pk}", "owner": 1 + pk % 2, "team": None}
    session.server.version += 1


# 6.1


@pytest.mark.parametrize("bound", [1, 2, 5])
@pytest.mark.parametrize("style", PAGED)
def test_iterate_gives_every_item_however_small_the_store_is(style: str, asynchronous: bool, bound: int) -> None:
    """No eviction takes an item away before it was handed out."""
    with Session(World(asynchronous=asynchronous, bound=bound)) as session:
        many(session)
        items = session.call(f"items.{style}.iterate")
        assert [item.id for item in items] == [*range(1, 21)]
        assert [item.title for item in items] == [f"t{pk}" for pk in range(1, 21)]
        assert [restencil.foreign_key(item, "owner") for item in items] == [1 + pk % 2 for pk in range(1, 21)]


@pytest.mark.parametrize("read", ["items.get_list", "items.get_list.fetch", "items.latest"])
def test_call_gives_every_item_of_its_response_however_small_the_store_is(read: str, asynchronous: bool) -> None:
    """A call gives what it was answered, whatever was evicted meanwhile."""
    with Session(World(asynchronous=asynchronous, bound=2)) as session:
        many(session)
        assert [item.id for item in session.call(read)] == [*range(1, 21)]


NUMBERED = """
resources:
  items:
    path: /items/:id
    schema: {entity: Item, fields: {id: integer}}
    pagination_field: page
    pagination: {style: page OPTIONS}
    endpoints: {get_list: {schema: {items: {collection: [Item]}, total: integer}}}
"""


@pytest.mark.parametrize("options", ["", ", total: total"], ids=["without", "with a total"])
def test_iterate_ends_at_a_400_only_where_nothing_else_tells_the_end(options: str) -> None:
    """A 400 for a page is an error if the response says how many items there are, and else the end."""

    def answer(method: str, target: str, body: Any) -> Any:
        return Response(400, {}) if "page=2" in target else {"items": [{"id": 1}, {"id": 2}], "total": 4}

    with small(NUMBERED.replace(" OPTIONS", options), answer) as session:
        if options:
            with pytest.raises(restencil.BadRequestError):
                session.call("items.get_list.iterate")
        else:
            assert [item.id for item in session.call("items.get_list.iterate")] == [1, 2]


def test_iterate_raises_where_a_page_cannot_be_read() -> None:
    """Only a status of the server ends a list, not the `status` of the error for a page of maintenance."""

    def answer(method: str, target: str, body: Any) -> Any:
        if "page=2" in target:
            return Response(200, "<html>maintenance</html>", {"Content-Type": "text/html"})
        return {"items": [{"id": 1}, {"id": 2}], "total": 4}

    with small(NUMBERED.replace(" OPTIONS", ""), answer) as session, pytest.raises(restencil.UnexpectedContentError):
        session.call("items.get_list.iterate")


# 6.2


def test_evicted_record_that_comes_back_in_part_is_not_whole() -> None:
    """An eviction ends that a record is whole, and a summary does not restore it."""
    with Session(World(bound=3)) as session:
        session.call("items.get", id=1)
        for pk in (1, 2):
            session.call("users.get", id=pk)
            session.call("teams.get", id=pk)
        session.call("items.latest")
        item = session.call("items.get", id=1)
        assert (item.title, item.body, item.note) == ("t1", "b1", "n1")


# 6.3


def test_iterate_joins_a_request_that_is_under_way(session: Session) -> None:
    """No page is asked for twice: the response of a `get_list` under way is the first page."""
    session.begin(Step("start", 1, "items.by_page", {}))
    run = session.begin(Step("start", 2, "items.by_page.iterate", {}))
    session.step_held(1, deliver=True)
    for _ in range(5):
        for number in (1, 2):
            session.step_held(number, deliver=True)
    assert [item.id for item in run.task.result()] == [1, 2, 3]
    asked = session.asked(0)
    assert asked.count("GET /items/by_page") == 1
    assert len(set(asked)) == len(asked)


# 6.4


def test_total_follows_its_list(asynchronous: bool) -> None:
    """A count beside a list follows joins and leaves, and is never None."""
    with Session(World(asynchronous=asynchronous, has_envelope=True)) as session:
        assert session.call("items.get_list")["total"] == 3
        session.call("items.create", "whole", body={"kind": "a"})
        shown = session.call("items.get_list")
        assert (len(shown["items"]), shown["total"]) == (4, 4)
        session.call("items.delete", "204", id=1)
        shown = session.call("items.get_list")
        assert (len(shown["items"]), shown["total"]) == (3, 3)


#: The schema of a list with a sum of the server's beside it, and its answer.
SUMS: Final[dict[str, tuple[str, Callable[[Any, int], Any]]]] = {
    "beside the list": (
        "{items: {collection: [Sale]}, sum: integer}",
        lambda items, total: {"items": items, "sum": total},
    ),
    "in an object beside it": (
        "{items: {collection: [Sale]}, meta: {object: {sum: integer}}}",
        lambda items, total: {"items": items, "meta": {"sum": total}},
    ),
    "in a declared object": (
        "{items: {collection: [Sale]}, meta: Totals}",
        lambda items, total: {"items": items, "meta": {"sum": total}},
    ),
    "in an object that may contain itself and a record": (
        "{items: {collection: [Sale]}, meta: Parts}",
        lambda items, total: {"items": items, "meta": {"sum": total}},
    ),
    "in the object of the list": (
        "{data: {object: {items: {collection: [Sale]}, sum: integer}}}",
        lambda items, total: {"data": {"items": items, "sum": total}},
    ),
}


def shop(place: str) -> Session:
    """A session with a shop of two sales; their list has a sum at this place."""
    schema, enveloped = SUMS[place]
    spec = f"""
objects:
  Totals: {{sum: integer}}
  Parts: {{sum: integer, parts: {{type: [Parts], optional: true}}, best: Sale?}}
entities:
  Sale: {{fields: {{id: integer, price: integer, shop: integer}}}}
  Shop: {{fields: {{id: integer, sales: {{collection: [Sale], nest: {{shop: id}}}}}}}}
resources:
  sales:
    path: /sales/:id
    schema: Sale
    search_params: {{shop: integer?}}
    endpoints: {{get_list: {{schema: {schema}}}}}
  shops: {{path: /shops/:id, schema: Shop}}
"""
    prices = {1: 5, 2: 7}

    def answer(method: str, target: str, body: Any) -> Any:
        sales = [{"id": key, "price": price, "shop": 1} for key, price in prices.items()]
        if target == "/shops/1":
            return {"id": 1, "sales": sales}
        if method == "GET":
            return enveloped(sales, sum(prices.values()))
        key = max(prices) + 1 if method == "POST" else int(target.rpartition("/")[2])
        if method == "DELETE":
            del prices[key]
            return NOTHING
        prices[key] = body["price"]
        return {"id": key, "price": body["price"], "shop": 1}

    return small(spec, answer)


def sum_in(shown: Any) -> int:
    """The sum in what `sales.get_list` shows."""
    place = shown.get("data") or shown.get("meta") or shown
    found: int = place["sum"] if isinstance(place, dict) else place.sum
    return found


@pytest.mark.parametrize("place", SUMS)
def test_value_beside_a_list_is_stale_after_each_change_of_a_member(place: str) -> None:
    """A sum is requested again after a create, after a delete, and after a change of a record that stays."""
    with shop(place) as session:
        assert sum_in(session.call("sales.get_list")) == 12
        session.call("sales.create", body={"price": 1, "shop": 1})
        assert sum_in(session.call("sales.get_list")) == 13
        session.call("sales.partial_update", id=1, body={"price": 100})
        assert sum_in(session.call("sales.get_list")) == 108
        session.call("sales.delete", id=2)
        assert sum_in(session.call("sales.get_list")) == 101


#: Two reads with counts of all todos: a filtered list, and two lists in one response.
COUNTS: Final = """
resources:
  todos:
    path: /todos/:id
    schema: {entity: Todo, fields: {id: integer, title: string, done: boolean}}
    search_params: {done: boolean?}
    endpoints:
      get_list: {schema: {items: {collection: [Todo]}, open: integer, done: integer}}
      board:
        path: /todos/board
        search_params: {}
        schema: {open: {collection: [Todo]}, done: {collection: [Todo]}, count: integer}
"""


@pytest.mark.parametrize(("read", "arguments"), [("todos.get_list", {"done": True}), ("todos.board", {})])
@pytest.mark.parametrize(
    ("change", "given"),
    [
        ("todos.create", {"body": {"title": "c", "done": False}}),
        ("todos.delete", {"id": 1}),
        ("todos.delete", {"id": 2}),
        ("todos.partial_update", {"id": 2, "body": {"title": "b2"}}),
    ],
)
def test_value_beside_a_list_is_stale_after_a_change_of_a_record_that_is_in_another_list(
    read: str, arguments: dict[str, Any], change: str, given: dict[str, Any]
) -> None:
    """A count of open todos beside the list of those that are done depends on all of them."""
    todos = {1: {"id": 1, "title": "a", "done": True}, 2: {"id": 2, "title": "b", "done": False}}

    def answer(method: str, target: str, body: Any) -> Any:
        parted = {is_done: [todo for todo in todos.values() if todo["done"] is is_done] for is_done in (False, True)}
        if target == "/todos/board":
            return {"open": parted[False], "done": parted[True], "count": len(todos)}
        if method == "GET":
            return {"items": parted[True], "open": len(parted[False]), "done": len(parted[True])}
        key = 3 if method == "POST" else int(target.rpartition("/")[2])
        if method == "DELETE":
            del todos[key]
            return NOTHING
        todos[key] = {"id": key, **todos.get(key, {}), **body}
        return todos[key]

    with small(COUNTS, answer) as session:
        session.call(read, **arguments)
        session.call(change, **given)
        assert session.requests(read, **arguments) != []
        assert session.requests(read, **arguments) == []


@pytest.mark.parametrize("place", SUMS)
def test_value_beside_a_list_that_another_response_contained_is_requested(place: str) -> None:
    """The list of a shop does not tell the sum that the list of sales has beside it."""
    with shop(place) as session:
        session.call("shops.get", id=1)
        assert session.bound("sales.get_list").cached(shop=1) is None
        assert sum_in(session.call("sales.get_list", shop=1)) == 12


def test_value_beside_lists_of_two_entities_is_stale_after_a_change_of_either() -> None:
    """A number beside them may count the records of each."""
    spec = """
entities: {Todo: {fields: {id: integer}}, User: {fields: {id: integer}}}
resources:
  todos: {path: /todos/:id, schema: Todo}
  users: {path: /users/:id, schema: User}
  board:
    endpoints:
      all: {path: /board, schema: {todos: {collection: [Todo]}, users: {collection: [User]}, count: integer}}
"""
    rows: dict[str, dict[int, dict[str, int]]] = {name: {1: {"id": 1}, 2: {"id": 2}} for name in ("todos", "users")}

    def answer(method: str, target: str, body: Any) -> Any:
        if target == "/board":
            lists = {name: [*found.values()] for name, found in rows.items()}
            return {**lists, "count": sum(map(len, lists.values()))}
        _, name, key = target.split("/")
        del rows[name][int(key)]
        return NOTHING

    with small(spec, answer) as session:
        assert session.call("board.all")["count"] == 4
        session.call("todos.delete", id=1)
        assert session.call("board.all")["count"] == 3
        session.call("users.delete", id=2)
        assert session.call("board.all")["count"] == 2


def test_total_does_not_count_what_joins_a_nested_list() -> None:
    """A comment that joins the list of a ticket is no ticket."""
    spec = """
entities:
  Comment: {fields: {id: integer, ticket: integer}}
  Ticket: {fields: {id: integer, comments: {collection: [Comment], nest: {ticket: id}}}}
resources:
  tickets:
    path: /tickets/:id
    schema: Ticket
    pagination_field: page
    pagination: {style: page, total: total}
    endpoints: {get_list: {schema: {items: {collection: [Ticket]}, total: integer}}}
  comments: {path: "/tickets/:ticket/comments/:id", schema: Comment}
"""
    comments = [{"id": 1, "ticket": 1}]

    def answer(method: str, target: str, body: Any) -> Any:
        if method == "POST":
            comments.append({"id": 2, "ticket": 1})
            return comments[-1]
        return (
            {"items": [{"id": 1, "comments": comments}], "total": 1}
            if target == "/tickets"
            else {"id": 1, "comments": comments}
        )

    with small(spec, answer) as session:
        assert session.call("tickets.get_list")["total"] == 1
        session.call("comments.create", ticket=1, body={})
        session.call("tickets.get", id=1)
        shown = session.call("tickets.get_list")
        assert (shown["total"], [comment.id for comment in shown["items"][0].comments]) == (1, [1, 2])


@pytest.mark.parametrize("through", ["", "other"], ids=["reopened", "second store"])
def test_total_follows_its_list_in_a_storage(through: str) -> None:
    """Another store on the same storage has the count as it is after joins and leaves, and it is an integer."""
    with Session(World(has_envelope=True, sqlite=True)) as session:
        session.call("items.get_list")
        session.call("items.create", "whole", body={"kind": "a"})
        session.call("items.delete", "204", id=1)
        session.call_and_sync("items.delete", "204", id=2)
        if not through:
            session.shut("")
            session.open("")
        shown = session.call("items.get_list", "whole", through)
        assert (len(shown["items"]), shown["total"]) == (2, 2)


# a list in pages, and a nested list of the same items

NOTES = """
entities:
  Card: {fields: {id: integer, notes: {collection: [Note], nest: {card: id}}}}
  Note: {fields: {id: integer, card: integer}}
resources:
  cards: {path: /cards/:id, schema: Card}
  notes:
    path: /notes/:id
    schema: Note
    search_params: {card: integer?}
    pagination_field: page
    pagination: {style: page}
  card_notes: {path: /cards/:card/notes/:id, schema: Note, pagination_field: page, pagination: {style: page}}
"""


class Notes:
    """Card 1 has five notes, all of which its own response contains; a list of notes has two on each page."""

    def __init__(self) -> None:
        self.notes = [{"id": pk, "card": 1} for pk in range(1, 6)]

    def __call__(self, method: str, target: str, body: Any) -> Any:
        parts = urlsplit(target)
        page = int(parse_qs(parts.query).get("page", ["1"])[0])
        match method, parts.path.strip("/").split("/"):
            case "GET", ["cards", "1"]:
                return {"id": 1, "notes": self.notes}
            case "GET", [*_, "notes"]:
                return self.notes[page * 2 - 2 : page * 2]
            case "POST", [*_, "notes"]:
                self.notes = [*self.notes, {"id": 6, "card": 1}]
                return self.notes[-1]
            case "DELETE", [*_, "notes", pk]:
                self.notes = [note for note in self.notes if note["id"] != int(pk)]
                return NOTHING
            case _:
                return None


@pytest.mark.parametrize("sqlite", [False, True], ids=["memory", "sqlite"])
@pytest.mark.parametrize("name", ["notes", "card_notes"])
def test_page_of_a_list_and_a_nested_list_are_not_taken_for_each_other(name: str, sqlite: bool) -> None:
    """A nested list has all items, and a response to the list with the same arguments the first ones."""

    def of_card() -> list[int]:
        return [note.id for note in session.call("cards.get", id=1).notes]

    with small(NOTES, Notes(), World(sqlite=sqlite)) as session:
        assert of_card() == [1, 2, 3, 4, 5]
        assert [note.id for note in session.call(f"{name}.get_list", card=1)] == [1, 2]
        assert session.asked(0)[1:] == ["GET /notes?card=1" if name == "notes" else "GET /cards/1/notes"]
        if sqlite:
            session.again(from_dump=False)
        assert of_card() == [1, 2, 3, 4, 5]
        session.call(f"{name}.get_list.fetch", card=1)
        assert of_card() == [1, 2, 3, 4, 5]
        assert [note.id for note in session.call(f"{name}.get_list.get_page", card=1, page=2)] == [3, 4]
        assert of_card() == [1, 2, 3, 4, 5]
        assert session.requests("cards.get", id=1) == []


def test_change_of_an_item_reaches_a_list_in_pages_and_a_nested_list() -> None:
    """A new note joins both lists, of which the nested one is certain, and a deleted note leaves both."""

    def shown() -> tuple[list[int], list[int]]:
        card, notes = session.bound("cards.get").cached(id=1), session.bound("notes.get_list").cached(card=1)
        return [note.id for note in card.notes], [note.id for note in notes]

    with small(NOTES, Notes()) as session:
        session.call("cards.get", id=1)
        session.call("notes.get_list", card=1)
        session.call("notes.create", card=1, body={})
        assert shown() == ([1, 2, 3, 4, 5, 6], [1, 2, 6])
        assert session.requests("cards.get", id=1) == []
        assert session.requests("notes.get_list", card=1) == ["GET /notes?card=1"]
        session.call("notes.delete", id=2)
        assert shown() == ([1, 3, 4, 5, 6], [1])
        assert session.requests("cards.get", id=1) == []
        assert session.requests("notes.get_list", card=1) == ["GET /notes?card=1"]


# 6.5 pages of plain values

VALUES = """
resources:
  values:
    endpoints:
      undeclared: {path: /values, schema: [integer], pagination_field: page, pagination: {style: page}}
      offsets: {path: /values, schema: [integer], pagination_field: offset, pagination: {style: offset}}
      full:
        {path: /sized, schema: {items: [integer], size: integer}, pagination_field: page,
         pagination: {style: page, size: size}}
      counted:
        {path: /counted, schema: {items: [integer], total: integer}, pagination_field: page,
         pagination: {style: page, total: total}}
      told:
        {path: /told, schema: {items: [integer], more: boolean}, pagination_field: page,
         pagination: {style: page, more: more}}
"""


def values_of(values: list[int], *, repeats_last: bool = False) -> Answer:
    """A server of pages of two values, which with `repeats_last` sends the last one for each later position."""

    def answer(method: str, target: str, body: Any) -> Any:
        query = parse_qs(urlsplit(target).query)
        start = int(query["offset"][0]) if "offset" in query else 2 * int(query.get("page", ["1"])[0]) - 2
        page = values[-2:] if repeats_last and start >= len(values) else values[start : start + 2]
        path = urlsplit(target).path
        if path == "/values":
            return page
        return {"items": page, "size": 2, "total": len(values), "more": repeats_last or start + 2 < len(values)}

    return answer


@pytest.mark.parametrize("name", ["undeclared", "offsets", "full", "counted", "told"])
def test_iterate_gives_the_equal_values_of_two_pages(name: str, asynchronous: bool) -> None:
    """Pages of values may be equal; two of them are no sign that the list has ended."""
    for values in ([5, 5, 5, 5, 7, 8], [7, 8, 5, 5, 5, 5], [5, 5, 5, 5]):
        with small(VALUES, values_of(values), World(asynchronous=asynchronous)) as session:
            assert session.call(f"values.{name}.iterate") == values
            pages = session.call(f"values.{name}.pages")
            assert [item for page in pages for item in page.items] == values
            assert [page.next_position is None for page in pages[:-1]] == [False] * (len(pages) - 1)


@pytest.mark.parametrize("name", ["counted", "told"])
def test_iterate_gives_all_equal_values_if_responses_say_that_there_are_more(name: str) -> None:
    """Only where no response says whether there are more, three equal pages end a list."""
    values = [5] * 9 + [7]
    with small(VALUES, values_of(values)) as session:
        assert session.call(f"values.{name}.iterate") == values
        assert len(session.asked(0)) == 5


@pytest.mark.parametrize("name", ["undeclared", "offsets", "full", "counted"])
def test_iterate_gives_the_last_page_once_if_the_server_repeats_it(name: str) -> None:
    """A server without further pages that sends the last one for ever is asked three times, and believed once."""
    with small(VALUES, values_of([1, 2, 3, 4], repeats_last=True)) as session:
        assert session.call(f"values.{name}.iterate") == [1, 2, 3, 4]
        assert len(session.asked(0)) == (2 if name == "counted" else 4)


def test_iterate_ends_if_the_server_always_says_that_there_are_more() -> None:
    """A server that sends the same page a thousand times has no other one, whatever it says."""
    with small(VALUES, values_of([1, 2], repeats_last=True)) as session:
        values = session.call("values.told.iterate")
        assert (values[:2], set(values), len(session.asked(0))) == ([1, 2], {1, 2}, 1_002)


def test_iterate_gives_a_repeated_page_after_the_request_behind_it_failed() -> None:
    """The next call of a run requests only the page that failed, and loses no value."""
    failing = {"page=3"}

    def answer(method: str, target: str, body: Any) -> Any:
        if urlsplit(target).query in failing:
            return Response(503, {})
        return values_of([5, 5, 5, 5, 7, 8])(method, target, body)

    with small(VALUES, answer) as session:
        run = session.bound("values.undeclared").iterate()
        assert [next(run), next(run)] == [5, 5]
        with pytest.raises(restencil.ServerError):
            next(run)
        failing.clear()
        assert list(run) == [5, 5, 7, 8]
        assert sum("page=2" in request for request in session.asked(0)) == 1


# 6.5 pages and changes


def test_nested_list_and_its_own_list_are_one(session: Session) -> None:
    """What joins the list of a user's items by one way shows in the other."""
    session.call("users.get", id=1)
    new = session.call("items.create", "whole", body={"owner": 1})
    before = len(session.network.exchanges)
    nested = session.call("users.get", id=1).items
    assert session.asked(before) == []
    own = session.call("items.get_list", owner=1)
    assert [item.id for item in nested] == [item.id for item in own] == [2, new.id]
    assert all(one is other for one, other in zip(nested, own, strict=True))


def test_nested_list_of_an_unknown_parent_is_no_list() -> None:
    """A user that came without its items does not show an empty list as if that were known."""
    with Session(World(embeds_owner=True)) as session:
        session.call("items.get", id=2)
        user = session.call("users.get", id=1)
        assert [item.id for item in user.items] == [2]


@pytest.mark.parametrize("place", ["query", "body"])
def test_page_is_stale_after_a_delete_of_a_record_before_it(place: str) -> None:
    """A page that was asked for by its position shows other items once one before it is gone."""
    items = [{"id": number} for number in range(5)]

    def answer(method: str, target: str, body: Any) -> Any:
        if method == "DELETE":
            del items[1]
            return NOTHING
        return items[2:4]

    by_body = "method: POST, body: {offset: integer}, request: {in_key: true}, side_effect: false"
    by_query = "search_params: {offset: integer}"
    spec = f"""
resources:
  items:
    path: /items/:id
    schema: {{entity: Item, fields: {{id: integer}}}}
    members: [get, delete]
    endpoints:
      find:
        path: /items/found
        schema: {{collection: [Item]}}
        members: [get_page]
        pagination_field: offset
        pagination: {{style: offset, in: {place}}}
"""
    own = "\n".join(f"        {part}" for part in (by_body if place == "body" else by_query).split(", "))
    arguments: dict[str, Any] = {"body": {"offset": 2}} if place == "body" else {"offset": 2}
    with small(f"{spec}{own}\n", answer) as session:
        assert [item.id for item in session.call("items.find", **arguments)] == [2, 3]
        session.call("items.delete", id=1)
        assert [item.id for item in session.call("items.find", **arguments)] == [3, 4]


@pytest.mark.parametrize("style", ["{style: url, next: next}", "{style: page}"])
def test_iteration_gives_each_item_of_a_filtered_list_that_it_takes_out_of_it(style: str) -> None:
    """`for issue in issues.get_list.iterate(state="open"): close(issue)` closes all of them."""
    spec = f"""
entities: {{Issue: {{fields: {{id: integer, state: string}}}}}}
resources:
  issues:
    path: /issues/:id
    schema: Issue
    search_params: {{state: string?, page: integer?}}
    pagination_field: page
    pagination: {style}
    endpoints: {{get_list: {{schema: {{items: {{collection: [Issue]}}, next: string?}}}}}}
"""
    state = dict.fromkeys(range(1, 8), "open")

    def answer(method: str, target: str, body: Any) -> Any:
        if method == "PATCH":
            key = int(target.rpartition("/")[2])
            state[key] = body["state"]
            return {"id": key, "state": state[key]}
        page = int(parse_qs(urlsplit(target).query).get("page", ["1"])[0])
        items = [{"id": key, "state": "open"} for key, found in state.items() if found == "open"]
        shown = items[2 * page - 2 : 2 * page]
        following = f"/issues?state=open&page={page + 1}" if len(items) > 2 * page else None
        return {"items": shown, "next": following}

    with small(spec, answer) as session:
        for issue in session.bound("issues.get_list").iterate(state="open"):
            session.call("issues.partial_update", id=issue.id, body={"state": "closed"})
        assert {*state.values()} == {"closed"}


@pytest.mark.parametrize("bound", [0, 2, 3, 4])
def test_call_gives_the_record_that_it_has_just_requested(bound: int) -> None:
    """A customer that is requested as a reference is the new one, also where the store has no room for its invoice."""
    spec = """
entities:
  Customer: {fields: {id: integer, last: Invoice?}}
  Invoice: {fields: {id: integer, note: string, customer: Customer?}}
resources:
  customers: {path: /customers/:id, schema: Customer, body: any}
  invoices: {path: /invoices/:id, schema: Invoice, body: any, endpoints: {partial_update: {expires: [customers]}}}
"""
    last: dict[str, int | None] = {"1": 2, "2": None}

    def answer(method: str, target: str, body: Any) -> Any:
        key = target.rpartition("/")[2]
        if target.startswith("/customers"):
            last.update({key: body["last"]} if body else {})
            return NOTHING if method == "PATCH" else {"id": int(key), "last": last[key]}
        if method == "PATCH":
            last["1"] = 2
        invoices = [{"id": number, "note": "", "customer": 2 if number == 3 else 1} for number in (1, 2, 3)]
        return invoices if target == "/invoices" else invoices[int(key) - 1]

    with small(spec, answer, World(bound=bound)) as session:
        session.call("invoices.get_list")
        session.call("customers.partial_update", id=1, body={"last": 3})
        session.call("invoices.partial_update", id=1, body={"note": ""})
        customer = session.call("invoices.get", id=1).customer
        assert customer is None or restencil.foreign_key(customer, "last") == 2


OUTGROWN = {
    "a call": """
        world bound=8, has_envelope, embeds_owner
        items.get(id=5)
        notes.get_list(item_id=2)
        users.get(id=2)
        teams.get(id=2)
        items.partial_update(id=4, body={'note': 'N'}) -> lost
        view.teams.partial_update(id=2, body={'motto': 'q'}) -> whole
        items.partial_update(id=1, body={'title': 'y'}) -> whole
        items.update(id=1, body={'title': 'y', 'kind': 'a', 'state': 'open', 'rank': 0, 'body': 'P', 'note': 'N',
            'owner': 2, 'team': 2}) -> whole
        items.get_list(order='id')
    """,
    "a call that is answered by a 304": """
        world bound=4, has_etags
        items.delete(id=2) -> whole
        items.delete_many(body={'ids': [1]}) -> whole
        users.get_list()
        items.get_list()
        users.get_list()
        items.get_list()
        users.partial_update(id=2, body={'name': 'dee'}) -> lost
        items.get_list()
    """,
    "a live read": """
        world bound=2, embeds_owner
        teams.get_list()
        watch items.by_url()
        teams.partial_update(id=1, body={'name': 'q'}) -> 204
    """,
}
"""Programs with results that are larger than the bound of their store, and refer to a record that is stale."""


@pytest.mark.parametrize("name", OUTGROWN)
def test_result_larger_than_the_bound_shows_no_stale_record(name: str) -> None:
    """Where the store has no room for a result, a stale record that it refers to counts as not known: its key shows."""
    text = OUTGROWN[name].replace("\n            ", " ")
    assert run(parse(text), check_all=True).differences == []


CHANGED_RUNS = {
    "two changes that may have deleted an item, by page": """
        world
        items.create(body={'team': 1}) -> whole
        run 9: items.by_page.pages()
        next 9
        items.delete_many(body={'ids': [1]}) -> whole
        next 9
        items.rename(id=2, body={'id': 7}) -> 500
    """,
    "two changes that may have deleted an item, by offset": """
        world
        items.create(body={'team': 1}) -> 204
        items.delete_many(body={'ids': [1]}) -> whole
        run 9: items.by_offset.pages()
        next 9
        items.delete_many(body={'ids': [1]}) -> whole
        next 9
        items.delete_many(body={'ids': [2]}) -> whole
    """,
    "a delete that ends after the last page": """
        world
        run 9: items.by_page.pages()
        next 9
        start 22: items.delete(id=2) -> whole
        next 9
        serve 22
        next 9
    """,
    "a delete under way for several pages": """
        world
        items.create(body={'team': 1}) -> whole
        items.create(body={'team': 1}) -> whole
        items.create(body={'team': 1}) -> whole
        run 9: items.by_page.pages()
        next 9
        start 22: items.delete(id=1) -> whole
        next 9, 2 times
        serve 22
        next 9
    """,
    "a delete under way through a view": """
        world
        run 9: items.by_page.pages()
        next 9
        start 22: view.items.delete(id=2) -> whole
        serve 22
        next 9
    """,
    "a run through a view, and a delete under way": """
        world
        run 9: view.items.by_page.pages()
        next 9
        start 22: items.delete(id=2) -> whole
        serve 22
        next 9
    """,
    "a delete under way, and a 404 of the same item": """
        world
        run 13: items.by_url.pages()
        next 13
        ask 13
        start 18: items.delete(id=1) -> 204
        serve 18
        items.partial_update(id=1, body={'note': 'N'}) -> whole
    """,
    "an item that was created before the place is deleted, by page": """
        world newest_first, items=6
        run 9: items.by_page.iterate()
        next 9, 2 times
        items.create(body={'team': 1}) -> whole
        next 9
        items.delete(id=7) -> whole
        next 9
    """,
    "an item that was created before the place is deleted, by link": """
        world newest_first, items=6
        run 9: items.by_link.pages()
        next 9
        items.create(body={'team': 1}) -> whole
        next 9
        items.delete(id=7) -> whole
        next 9
    """,
    "a dump of a bounded store with a page": """
        world bound=4, has_envelope, embeds_owner
        items.by_page()
        run 3: items.by_header.pages()
        next 3
        items.by_page.get_page(page=2)
        reload
        items.by_page()
    """,
}
"""Programs with runs over pages beside changes."""


@pytest.mark.parametrize("name", CHANGED_RUNS)
def test_run_over_pages_gives_every_item_whatever_changes_meanwhile(name: str) -> None:
    """All pages are requested once more after a change."""
    api = CHANGES if "delete under way" in name else RUNS
    assert run(parse(CHANGED_RUNS[name]), api).differences == []


UPLOADS: Final = """
resources:
  items:
    path: /items/:id
    schema: {entity: Item, fields: {id: integer}}
    pagination_field: page
    pagination: {style: page}
    endpoints: {upload: {method: POST, path: /items/upload, body: bytes, schema: {sent: string}}}
"""


def uploaded(request: httpx.Request) -> httpx.Response:
    """Two pages with three items, and what was sent."""
    if request.method == "POST":
        return httpx.Response(200, json={"sent": request.content.decode()})
    pages = {None: [1, 2], "2": [3]}
    return httpx.Response(200, json=[{"id": pk} for pk in pages.get(request.url.params.get("page"), [])])


def test_run_over_pages_does_not_wait_for_the_change_that_sends_its_items() -> None:
    """The change would wait for the run."""
    with client_before(package_of(UPLOADS), uploaded) as client:
        sent = (str(item.id).encode() for item in client.items.get_list.iterate())
        assert client.items.upload(body=sent)["sent"] == "123"


def uploaded_async(upload: Callable[[Any], Awaitable[Any]]) -> Any:
    """What an asynchronous client of that server gives for an upload."""

    async def handle(request: httpx.Request) -> httpx.Response:
        await request.aread()
        return uploaded(request)

    async def run() -> Any:
        async with client_class(package_of(UPLOADS), asynchronous=True)(
            client=httpx.AsyncClient(transport=httpx.MockTransport(handle))
        ) as client:
            return await asyncio.wait_for(upload(client.items), 20)

    return asyncio.run(run())


def test_run_over_pages_does_not_wait_for_a_change_that_another_task_feeds() -> None:
    """The change reads a queue that the run fills."""

    async def upload(items: Any) -> Any:
        queue: asyncio.Queue[bytes] = asyncio.Queue(1)

        async def chunks() -> AsyncIterator[bytes]:
            while chunk := await queue.get():
                yield chunk

        change = asyncio.create_task(items.upload(body=chunks()))
        await asyncio.sleep(0)  # it is sent before the first page is requested
        async for item in items.get_list.iterate():
            await queue.put(str(item.id).encode())
        await queue.put(b"")
        return await change

    assert uploaded_async(upload)["sent"] == "123"


MANY: Final = 2_000
"""The number of changes after which a server is not busy anymore, so that a failing test ends."""


class Busy:
    """A server with three pages of items, of which a change is under way at all times, until there were too many."""

    def __init__(self) -> None:
        self.changes = 0
        self.under_way = asyncio.Event()

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        """A change is answered when the next one has arrived."""
        if request.method == "GET":
            first = 2 * int(request.url.params.get("page", 1)) - 1
            return httpx.Response(200, json=[{"id": pk, "name": ""} for pk in (first, first + 1) if pk <= 6])
        self.changes += 1
        number = self.changes
        before, self.under_way = self.under_way, asyncio.Event()
        before.set()
        if number < MANY:
            await self.under_way.wait()
        return httpx.Response(200, json={"id": int(request.url.path[7:]), "name": str(number)})


def test_run_over_pages_ends_while_its_items_change_constantly() -> None:
    """It waits for none that began after its pages, and requests all pages once more a few times only."""
    spec = """
resources:
  items:
    path: /items/:id
    schema: {entity: Item, fields: {id: integer, name: string}}
    pagination_field: page
    pagination: {style: page}
"""

    async def take() -> tuple[list[int], int]:
        busy = Busy()
        async with client_class(package_of(spec), asynchronous=True)(
            client=httpx.AsyncClient(transport=httpx.MockTransport(busy))
        ) as client:

            async def change(pk: int) -> None:
                while busy.changes < MANY:
                    await client.items.partial_update(id=pk, body={"name": "new"})

            run = client.items.get_list.iterate()
            first = await anext(run)
            tasks = [asyncio.create_task(change(pk)) for pk in (1, 2)]
            while busy.changes < len(tasks):
                await asyncio.sleep(0)  # until both are under way
            items = [first.id, *[item.id async for item in run]]
            changes, busy.changes = busy.changes, MANY
            busy.under_way.set()
            await asyncio.gather(*tasks)
            return items, changes

    items, changes = asyncio.run(take())
    assert items == [1, 2, 3, 4, 5, 6]
    assert changes < MANY
