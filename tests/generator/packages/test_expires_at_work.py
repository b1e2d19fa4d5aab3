"""What `expires` of an endpoint names is stale in a generated package, whatever its own parameters are called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.freshness.spec import generated
from tests.libraries import httpx

SPEC = """
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

    return generated(SPEC, "expiring").Expiring(client=httpx.Client(transport=httpx.MockTransport(answer)))


def by_get(jobs: Any) -> str:
    """The name that `get` gives."""
    return str(jobs.runs.get(id=1).name)


def by_list(jobs: Any) -> str:
    """The name that a list with a filter gives."""
    return str(jobs.runs.get_list(job_id=7)[0].name)


@pytest.mark.parametrize("read", [by_get, by_list])
@pytest.mark.parametrize("known", [[by_get], [by_list], [by_list, by_get]])
def test_expires_names_records_and_lists(
    jobs: Any, known: list[Callable[[Any], str]], read: Callable[[Any], str]
) -> None:
    """`expires: [runs]` makes records and lists stale that were read by `get`, by a list, or by both."""
    assert [one(jobs) for one in known] == ["before"] * len(known)
    jobs.jobs.touch(id=7, body={})
    assert read(jobs) == "after"
