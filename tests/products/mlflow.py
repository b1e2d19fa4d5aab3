"""A program of experiments, runs, models and versions on MLflow; after each step everything known is compared."""

from __future__ import annotations

from typing import Any

from tests.products.beside import Beside

ROOT = "/api/2.0/mlflow"


async def program(beside: Beside) -> None:
    """Keys in queries and bodies, responses without content, renames, deletes, restores, tags and metrics."""
    api, watch, agrees = beside.api, beside.watch, beside.agrees
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
    await experiments.restore(body={"experiment_id": second})
    await agrees("restore of an experiment")
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
        await runs.log_metric(body={"run_id": one, **metric})
        await agrees(f"a metric of {value}")
    await runs.log_parameter(body={"run_id": one, "key": "rate", "value": "0.1"})
    await agrees("a parameter")
    await runs.set_tag(body={"run_id": one, "key": "note", "value": "good"})
    await agrees("a tag of a run")
    await runs.delete_tag(body={"run_id": one, "key": "note"})
    await agrees("a tag is deleted")
    await runs.update(body={"run_id": one, "status": "FINISHED", "run_name": "done"})
    await agrees("an update, answered by a part of the run")
    await runs.delete(body={"run_id": one})
    await agrees("delete of a run, which stays with another stage")
    await runs.restore(body={"run_id": one})
    await agrees("restore of a run")
    await experiments.delete(body={"experiment_id": first})
    await agrees("delete of an experiment with runs")
    await experiments.restore(body={"experiment_id": first})
    await agrees("restore of an experiment with runs")
    # models and their versions
    watch(models.search, f"{ROOT}/registered-models/search")
    watch(models.search, f"{ROOT}/registered-models/search?filter=name LIKE 'b%25'", filter="name LIKE 'b%'")
    watch(models.search, f"{ROOT}/registered-models/search?max_results=1", max_results=1)
    await agrees("searches of models")
    for name in ("bert", "gpt", "bart"):
        await models.create(body={"name": name})
    await agrees("create of models")
    for name in ("bert", "gpt", "great"):
        watch(models.get, f"{ROOT}/registered-models/get?name={name}", name=name)
    await agrees("get of models")
    await models.update(body={"name": "gpt", "description": "large"})
    await agrees("an update of a model")
    for name in ("gpt", "great"):
        watch(versions.search, f"{ROOT}/model-versions/search?filter=name='{name}'", filter=f"name='{name}'")
        for number in ("1", "2"):
            watch(versions.get, f"{ROOT}/model-versions/get?name={name}&version={number}", name=name, version=number)
    await agrees("versions of models")
    for _ in range(2):
        await versions.create(body={"name": "gpt", "source": "s3://bucket/model"})
        await agrees("create of a version")
    await versions.update(body={"name": "gpt", "version": "1", "description": "first"})
    await agrees("an update of a version")
    await models.set_alias(body={"name": "gpt", "alias": "best", "version": "2"})
    await agrees("an alias")
    await models.rename(body={"name": "gpt", "new_name": "great"})
    await agrees("a rename of a model, which changes its key and those of its versions")
    await versions.delete(body={"name": "great", "version": "1"})
    await agrees("delete of a version")
    await models.delete(body={"name": "bert"})
    await agrees("delete of a model, whose key is in the body")
    await models.delete(body={"name": "great"})
    await agrees("delete of a model with versions")
