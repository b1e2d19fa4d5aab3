"""A program of flows, runs and variables against a Prefect server; after each step everything known is compared."""

from __future__ import annotations

from typing import Any

from tests.products.beside import Beside


async def program(beside: Beside) -> None:
    """Lists, filters, pages, creates, gets, patches, acts and deletes; a name says what each step did."""
    api, watch, agrees, after = beside.api, beside.watch, beside.agrees, beside.after
    flows, runs, variables = api.flows, api.flow_runs, api.variables
    everything: dict[str, Any] = {"sort": "NAME_ASC"}
    tagged = {"flows": {"tags": {"all_": ["etl"]}}}
    like = {"flows": {"name": {"like_": "load"}}}
    second = {"sort": "NAME_ASC", "limit": 2, "offset": 2}
    # flows: lists by POST, each with its body in the key
    for body in (everything, tagged, like, second, {**second, "offset": 0}):
        watch(flows.read, "/flows/filter", post=body)
    await agrees("empty lists")
    made = [await flows.create(body={"name": f"load-{n}", "tags": ["etl"] if n % 2 else []}) for n in range(5)]
    await agrees("create")
    one, two = str(made[0].id), str(made[1].id)
    for pk, name in ((one, "load-0"), (two, "load-1")):
        watch(flows.get, f"/flows/{pk}", id=pk)
        watch(flows.read_flow_by_name, f"/flows/name/{name}", name=name)
    await agrees("get, and lookups by name")
    assert await flows.read_flow_by_name(name="load-0") is await flows.get(id=one)
    await after("create of what is there already", flows.create(body={"name": "load-0"}))
    await flows.partial_update(id=one, body={"tags": ["etl", "daily"]})
    await agrees("patch answered 204: joins a list with a filter")
    await after("patch answered 204: leaves a list with a filter", flows.partial_update(id=two, body={"tags": []}))
    # runs: children of a flow, actions, inputs below a run
    of_one = {"flows": {"id": {"any_": [one]}}, "sort": "ID_DESC"}
    done = {"flow_runs": {"state": {"type": {"any_": ["COMPLETED"]}}}, "sort": "ID_DESC"}
    for body in (of_one, done):
        watch(runs.read, "/flow_runs/filter", post=body)
    await agrees("lists of runs")
    started = [await runs.create(body={"flow_id": one, "name": f"run-{n}"}) for n in range(3)]
    run = str(started[0].id)
    watch(runs.get, f"/flow_runs/{run}", id=run)
    watch(api.flow_run_states.get_list, f"/flow_run_states/?flow_run_id={run}", flow_run_id=run)
    await agrees("create of runs")
    for state in ("PENDING", "RUNNING", "COMPLETED"):
        await runs.set_flow_run_state(id=run, body={"state": {"type": state}, "force": True})
        await agrees(f"set_state {state}")
    await after("patch of a run", runs.partial_update(id=run, body={"name": "renamed", "tags": ["seen"]}))
    watch(runs.read_flow_run_input, f"/flow_runs/{run}/input/answer", id=run, key="answer")
    await agrees("an input that is not there yet")
    await after("create below a run", runs.create_flow_run_input(id=run, body={"key": "answer", "value": "42"}))
    await after("delete below a run", runs.delete_flow_run_input(id=run, key="answer"))
    await after("delete of a run", runs.delete(id=str(started[1].id)))
    # variables: the same records by id and by name
    named = {"variables": {"name": {"like_": "a"}}, "sort": "NAME_ASC"}
    for body in (named, {"sort": "NAME_ASC"}):
        watch(variables.read, "/variables/filter", post=body)
    await agrees("lists of variables")
    kept = [await variables.create(body={"name": name, "value": {"n": 1}}) for name in ("alpha", "beta", "gamma")]
    pk = str(kept[0].id)
    watch(variables.get, f"/variables/{pk}", id=pk)
    for name in ("alpha", "beta", "other"):
        watch(variables.read_variable_by_name, f"/variables/name/{name}", name=name)
    await agrees("create of variables")
    await after("patch by name", variables.update_variable_by_name(name="alpha", body={"value": [2]}))
    await after("patch of the name by id", variables.partial_update(id=pk, body={"name": "other"}))
    await after("delete by name", variables.delete_variable_by_name(name="beta"))
    await after("delete by id", variables.delete(id=pk))
    # changes of many at once
    await after("bulk delete", flows.bulk_delete_flows(body={"flows": {"name": {"any_": ["load-3"]}}}))
    await after("delete of a flow with runs", flows.delete(id=one), "/flow_runs/", "/flow_run_states/")
