"""Bodies and answers of a generated package at work, in both worlds against the mock server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.freshness.spec import generated
from tests.generator.packages.conftest import Opened
from tests.libraries import httpx

import market


def stale(client: Any) -> set[str]:
    """The paths of reviews that were read, are shown still, and are fetched by the next read."""
    reviews, read = client.reviews, {key.partition("/api/reviews/")[2] for key in client.store.state["meta"]}
    found = {f"/reviews/{pk}" for pk in read if pk.isdecimal() and reviews.get.explain(id=int(pk)).needs_fetch}
    return {*found, "/reviews"} if reviews.get_list.explain().needs_fetch else found


def test_bodies_at_work_envelopes_are_opened_and_made_on_both_sides(opened: Opened) -> None:
    """A list, one of it, what was created, and a number stand where the spec says, and so do bodies."""
    client, run = opened
    listed = run(client.reviews.get_list())
    first = run(client.reviews.get(id=listed[0].id))
    made = run(client.reviews.create(body={"text": "Splendid.", "offer_id": 1, "state": "waiting"}))
    again = run(client.reviews.get.fetch(id=made.id))
    count, newest = run(client.reviews.count()), run(client.reviews.newest())
    assert first == listed[0]
    assert (made.text, again.text, again.state) == ("Splendid.", "Splendid.", "waiting")
    assert isinstance(count, int)
    assert isinstance(newest, market.Review)


def test_bodies_at_work_update_without_response_gives_the_entity_and_asks_again(opened: Opened) -> None:
    """What was sent is the record, and its `get` is stale."""
    client, run = opened
    known = run(client.reviews.get_list())[0]
    run(client.reviews.get.fetch(id=known.id))
    body: Any = {"text": "Changed.", "offer_id": known.offer_id, "state": known.state}
    assert run(client.reviews.update(id=known.id, body=body)) == market.Review(id=known.id, **body)
    assert f"/reviews/{known.id}" in stale(client)
    assert run(client.reviews.get.fetch(id=known.id)).text == "Changed."


def test_bodies_at_work_what_answers_a_delete_is_ignored(opened: Opened) -> None:
    """The entity of the path is gone from the list."""
    client, run = opened
    last = run(client.reviews.get_list())[-1]
    assert run(client.reviews.delete(id=last.id)) == last
    assert last not in client.reviews.get_list.cached()


def test_bodies_at_work_string_may_be_sent_or_left_out_and_leaves_stale_what_is_named(opened: Opened) -> None:
    """Itself, its lists, and what another resource reads under the same parameters."""
    client, run = opened
    first, second = (review.id for review in run(client.reviews.get_list())[:2])
    for number in (first, second):
        run(client.reviews.get.fetch(id=number))
    run(client.reviews.report(id=first, body="*Rude.*"))
    assert stale(client) == {"/reviews", f"/reviews/{first}"}
    run(client.reviews.report(id=second))
    run(client.reviews.forget(body={"ids": [first]}))
    assert f"/reviews/{second}" in stale(client)


def test_bodies_at_work_what_hangs_on_a_list_is_what_members_say(opened: Opened) -> None:
    """`move` and `remove` change the item, and the lists follow."""
    client, run = opened
    body = {"text": "Move me.", "offer_id": 1, "state": "waiting"}
    run(client.reviews.get_list(state="waiting"))
    run(client.reviews.get_list(state="shown"))
    made = run(client.reviews.create(body=body))
    assert made.id in [review.id for review in client.reviews.get_list.cached(state="waiting")]
    moved = run(client.reviews.get_list.move(id=made.id, body={"state": "shown"}))
    assert moved.state == "shown"
    shown, waiting = (client.reviews.get_list.cached(state=state) for state in ("shown", "waiting"))
    assert [made.id in [review.id for review in one] for one in (shown, waiting)] == [True, False]
    run(client.reviews.get_list.remove(id=made.id, body={"state": "gone"}))
    assert made.id not in [review.id for review in client.reviews.get_list.cached(state="shown")]


def test_bodies_at_work_singleton_has_one_record_until_it_is_deleted(opened: Opened) -> None:
    """One per path; deleted, it is not found."""
    client, run = opened
    account = run(client.account.get())
    assert run(client.account.get()) is account
    assert market.Account.get.key() == "GET https://market.example/api/account"
    changed = run(client.account.partial_update(body={"newsletter": not account.newsletter}))
    assert (changed.id, changed.newsletter) == (account.id, not account.newsletter)
    assert run(client.account.get.fetch()) == changed
    number = 11 + isinstance(client, market.AsyncMarket)
    assert run(client.basket.get(user_id=number)).user_id == number
    run(client.basket.partial_update(user_id=number, body={"note": "Ring twice."}))
    assert run(client.basket.get.fetch(user_id=number)).note == "Ring twice."
    run(client.basket.delete(user_id=number))
    with pytest.raises(market.NotFoundError):
        run(client.basket.get.fetch(user_id=number))


def test_bodies_at_work_searches_by_post_are_distinguished_by_their_bodies(opened: Opened) -> None:
    """Each has a list of its own, which nothing joins that is created."""
    client, run = opened
    for state in ("found", "lost"):
        run(client.reviews.create(body={"text": state, "offer_id": 1, "state": state}))
    found, lost = (run(client.search.reviews(body={"state": state})) for state in ("found", "lost"))
    assert {review.state for review in found["items"]} == {"found"}
    assert {review.state for review in lost["items"]} == {"lost"}
    assert client.search.reviews.cached(body={"state": "found"}) is found
    run(client.search.save(body={"words": ["a", "b"], "period": {"first": "2020-01-01"}}))
    run(client.search.delete())


PREPENDING = """
restencil: 1
package: prepending
url_prefix: http://notes.example
objects:
  Draft: {words: string!}
resources:
  notes:
    path: /notes/:id
    schema: {entity: Note, fields: {id: integer, text: string}}
    search_params: {about: string}
    endpoints:
      push:
        path: /drafts
        search_params: {}
        header_params: {reason: string}
        body: Draft
        request: {content_type: application/vnd.draft+json}
"""


def test_bodies_at_work_unshift_sends_the_request_of_push() -> None:
    """Path, parameters, headers and body are those declared for `push`."""
    sent: list[tuple[str, str, str, str]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        headers = request.headers
        sent.append((str(request.url), headers["content-type"], headers["reason"], request.content.decode()))
        return httpx.Response(201, json={"id": len(sent), "text": "next"})

    http = httpx.Client(transport=httpx.MockTransport(answer))
    client: Any = generated(PREPENDING, "prepending").Prepending(client=http)
    for add in (client.notes.get_list.push, client.notes.get_list.unshift):
        add(reason="why", body={"words": "next"})
    assert set(sent) == {("http://notes.example/drafts", "application/vnd.draft+json", "why", '{"words":"next"}')}
    assert len(sent) == 2


EXPIRING = """
restencil: 1
package: expiring
url_prefix: http://runs.example
resources:
  runs:
    path: /runs/:id
    schema: {entity: Run, fields: {id: integer, name: string}}
    search_params: {job_id: integer?}
  jobs:
    path: /jobs/:id
    members: [get]
    schema: {entity: Job, fields: {id: integer}}
    endpoints:
      touch: {method: POST, path: /jobs/:id/touch, body: any, schema: Job, expires: [runs]}
"""


@pytest.fixture
def jobs() -> Any:
    """A client of a server where touching a job renames its run; a job and a run have different ids."""
    run: dict[str, Any] = {"id": 1, "name": "before"}

    def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "POST":
            run["name"] = "after"
            return httpx.Response(200, json={"id": 7})
        return httpx.Response(200, json=[run] if request.url.path == "/runs" else run)

    return generated(EXPIRING, "expiring").Expiring(client=httpx.Client(transport=httpx.MockTransport(answer)))


def by_get(jobs: Any) -> str:
    """The name that `get` gives."""
    return str(jobs.runs.get(id=1).name)


def by_list(jobs: Any) -> str:
    """The name that a list with a filter gives."""
    return str(jobs.runs.get_list(job_id=7)[0].name)


@pytest.mark.parametrize("read", [by_get, by_list])
@pytest.mark.parametrize("known", [[by_get], [by_list], [by_list, by_get]])
def test_bodies_at_work_expires_names_records_and_lists(
    jobs: Any, known: list[Callable[[Any], str]], read: Callable[[Any], str]
) -> None:
    """`expires: [runs]` makes records and lists stale that were read by `get`, by a list, or by both."""
    assert [one(jobs) for one in known] == ["before"] * len(known)
    jobs.jobs.touch(id=7, body={})
    assert read(jobs) == "after"
