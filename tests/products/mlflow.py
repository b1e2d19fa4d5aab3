"""A program of experiments, runs, models and versions on MLflow; after each step everything known is compared."""

from __future__ import annotations

from typing import Any

from tests.products.beside import Beside

ROOT = "/api/2.0/mlflow"


async def program(beside: Beside) -> None:
    """Keys in queries and bodies, responses without content, renames, deletes, restores, tags and metrics."""
    api, watch, agrees, after = beside.api, beside.watch, beside.agrees, beside.after
    experiments, runs, models, versions = api.experiments, api.runs, api.models, api.versions
    everything: dict[str, Any] = {"max_results": 100, "view_type": "ALL"}
    active: dict[str, Any] = {"max_results": 100}
    named: dict[str, Any] = {"max_results": 100, "filter": "name LIKE '%one%'"}
    for body in (everything, active, named):
        watch(experiments.search, f"{ROOT}/experiments/search", post=body)
    await agrees("experiments that a server begins with")
    made = [await experiments.create(body={"name": name}) for name in ("one", "two", "alone")]
    first, second = made[0].experiment_id, made[1].experiment_id
    await agrees("create of experiments, answered by the key alone")
    for pk in (first, second):
        watch(experiments.get, f"{ROOT}/experiments/get?experiment_id={pk}", experiment_id=pk)
    for name in ("one", "two", "won"):
        watch(experiments.by_name, f"{ROOT}/experiments/get-by-name?experiment_name={name}", experiment_name=name)
    await agrees("get of experiments, by key and by name")
    await experiments.update(body={"experiment_id": first, "new_name": "won"})
    await agrees("a rename, answered without content")
    await experiments.set_tag(body={"experiment_id": first, "key": "team", "value": "a"})
    await agrees("a tag of an experiment")
    await experiments.delete(body={"experiment_id": second})
    await agrees("delete of an experiment, which stays with another stage")
    await after("restore of an experiment", experiments.restore(body={"experiment_id": second}))
    # runs
    for body in (
        {"experiment_ids": [first]},
        {"experiment_ids": [first, second]},
        {"experiment_ids": [first], "filter": "metrics.loss < 1"},
        {"experiment_ids": [first], "run_view_type": "ALL"},
    ):
        watch(runs.search, f"{ROOT}/runs/search", post=body)
    await agrees("searches of runs")
    began = [await runs.create(body={"experiment_id": pk, "run_name": f"run {pk}"}) for pk in (first, first, second)]
    one, other = began[0]["run"].info.run_id, began[2]["run"].info.run_id
    await agrees("create of runs")
    for pk in (one, other):
        watch(runs.get, f"{ROOT}/runs/get?run_id={pk}", run_id=pk)
        watch(
            runs.metric_history, f"{ROOT}/metrics/get-history?run_id={pk}&metric_key=loss", run_id=pk, metric_key="loss"
        )
    await agrees("get of runs")
    for step, value in enumerate((2.5, 0.5)):
        metric = {"key": "loss", "value": value, "timestamp": 1_700_000_000_000 + step, "step": step}
        await after(f"a metric of {value}", runs.log_metric(body={"run_id": one, **metric}))
    await after("a parameter", runs.log_parameter(body={"run_id": one, "key": "rate", "value": "0.1"}))
    await after("a tag of a run", runs.set_tag(body={"run_id": one, "key": "note", "value": "good"}))
    await after("a tag is deleted", runs.delete_tag(body={"run_id": one, "key": "note"}))
    await runs.update(body={"run_id": one, "status": "FINISHED", "run_name": "done"})
    await agrees("an update, answered by a part of the run")
    await after("delete of a run, which stays with another stage", runs.delete(body={"run_id": one}))
    await after("restore of a run", runs.restore(body={"run_id": one}))
    await after("delete of an experiment with runs", experiments.delete(body={"experiment_id": first}))
    await after("restore of an experiment with runs", experiments.restore(body={"experiment_id": first}))
    # models and their versions
    watch(models.search, f"{ROOT}/registered-models/search")
    watch(models.search, f"{ROOT}/registered-models/search?filter=name LIKE 'b%25'", filter="name LIKE 'b%'")
    watch(models.search, f"{ROOT}/registered-models/search?max_results=1", max_results=1)
    await agrees("searches of models")
    for name in ("bert", "gpt", "bart"):
        await after("create of models", models.create(body={"name": name}))
    for name in ("bert", "gpt", "great"):
        watch(models.get, f"{ROOT}/registered-models/get?name={name}", name=name)
    await agrees("get of models")
    await after("an update of a model", models.update(body={"name": "gpt", "description": "large"}))
    for name in ("gpt", "great"):
        watch(versions.search, f"{ROOT}/model-versions/search?filter=name='{name}'", filter=f"name='{name}'")
        for number in ("1", "2"):
            watch(versions.get, f"{ROOT}/model-versions/get?name={name}&version={number}", name=name, version=number)
    await agrees("versions of models")
    for _ in range(2):
        await after("create of a version", versions.create(body={"name": "gpt", "source": "s3://bucket/model"}))
    await after("an update of a version", versions.update(body={"name": "gpt", "version": "1", "description": "first"}))
    await after("an alias", models.set_alias(body={"name": "gpt", "alias": "best", "version": "2"}))
    await models.rename(body={"name": "gpt", "new_name": "great"})
    await agrees("a rename of a model, which changes its key and those of its versions")
    await after("delete of a version", versions.delete(body={"name": "great", "version": "1"}))
    await after("delete of a model, whose key is in the body", models.delete(body={"name": "bert"}))
    await after("delete of a model with versions", models.delete(body={"name": "great"}))
