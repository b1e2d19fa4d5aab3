"""A program of projects, tasks and annotations on Label Studio; after each step everything known is compared."""

from __future__ import annotations

from typing import Any

from tests.products.beside import Beside


async def program(beside: Beside) -> None:
    """Lists, filters, pages, creates, gets, patches and deletes; a name says what each step did."""
    api, watch, agrees, after = beside.api, beside.watch, beside.agrees, beside.after
    projects, tasks, annotations = api.projects, api.tasks, api.annotations
    # projects: pages of Django REST framework, and a filter that means "title contains"
    for query in ("", "?title=news", "?search=news", "?ordering=title", "?page_size=2", "?page_size=2&ordering=-id"):
        pairs = (pair.partition("=") for pair in query.removeprefix("?").split("&") if pair)
        given = {name: value for name, _, value in pairs}
        arguments: dict[str, Any] = {k: int(v) if k == "page_size" else v for k, v in given.items()}
        watch(projects.get_list, f"/api/projects/{query}", **arguments)
    await agrees("empty lists")
    made = [await projects.get_list.push(body={"title": title}) for title in ("News", "More news", "Sport")]
    await agrees("create of projects")
    first, second = made[0].id, made[1].id
    for pk in (first, second):
        watch(projects.get, f"/api/projects/{pk}/", id=pk)
    await agrees("get of projects")
    found = [project.id for project in await projects.get_list.iterate.items(page_size=1)]
    assert sorted(found) == sorted(project.id for project in made)
    await agrees("pages")
    await after("a rename leaves a filter", projects.partial_update(id=second, body={"title": "More of all"}))
    await after("a rename joins a filter", projects.partial_update(id=made[2].id, body={"title": "Sport news"}))
    # tasks of a project
    watch(tasks.get_list, f"/api/tasks/?project={first}", project=first)
    await agrees("a list of tasks")
    own = [await tasks.api_tasks_create(body={"project": first, "data": {"text": f"Text {n}"}}) for n in range(3)]
    await beside.elsewhere("/api/projects/")
    await agrees("create of tasks")
    task, other = own[0].id, own[1].id
    for pk in (task, other):
        watch(tasks.get, f"/api/tasks/{pk}/", id=pk)
        watch(tasks.api_tasks_annotations_list, f"/api/tasks/{pk}/annotations/", task_id=pk)
    await agrees("get of tasks")
    await after("patch of a task", tasks.partial_update(id=task, body={"data": {"text": "Other"}}))
    # annotations below a task
    result = [{"from_name": "a", "to_name": "b", "type": "choices", "value": {"choices": ["x"]}}]
    noted = [await tasks.api_tasks_annotations_create(id=task, body={"result": result}) for _ in range(2)]
    await beside.elsewhere("/api/projects/", "/api/tasks/?")
    await agrees("create below a task")
    note = noted[0].id
    watch(annotations.get, f"/api/annotations/{note}/", id=note)
    await agrees("get of an annotation")
    await annotations.partial_update(id=note, body={"result": [], "was_cancelled": True})
    await beside.elsewhere("/api/projects/", f"/api/tasks/{task}/", "/api/tasks/?")
    await agrees("patch of an annotation")
    await annotations.delete(id=note)
    await beside.elsewhere("/api/projects/", f"/api/tasks/{task}/", "/api/tasks/?")
    await agrees("delete of an annotation, answered 204")
    # predictions of a task, which a list filters by task
    predictions = api.predictions
    for pk in (task, other):
        watch(predictions.get_list, f"/api/predictions/?task={pk}", task=pk)
    await agrees("lists of predictions")
    guess = await predictions.get_list.push(body={"task": task, "result": [], "model_version": "one"})
    await beside.elsewhere("/api/projects/", "/api/tasks/")
    watch(predictions.get, f"/api/predictions/{guess.id}/", id=guess.id)
    await agrees("create of a prediction")
    await predictions.partial_update(id=guess.id, body={"model_version": "two"})
    await beside.elsewhere("/api/projects/", "/api/tasks/")
    await agrees("patch of a prediction")
    # views of a project
    views = api.views
    watch(views.get_list, f"/api/dm/views/?project={first}", project=first)
    await agrees("a list of views")
    view = await views.get_list.push(body={"project": first, "data": {"title": "Mine"}})
    watch(views.get, f"/api/dm/views/{view.id}/", id=view.id)
    await agrees("create of a view")
    await after("patch of a view", views.partial_update(id=view.id, body={"data": {"title": "Yours"}}))
    await after("delete of a view, answered 204", views.delete(id=view.id))
    # deletes
    await tasks.delete(id=task)
    await beside.elsewhere("/api/projects/", "/api/predictions/", f"/api/tasks/{task}/", "/api/annotations/")
    await agrees("delete of a task, answered 204")
    await after("delete of a project, answered 204", projects.delete(id=made[2].id))
    await tasks.api_tasks_annotations_create(id=other, body={"result": result})
    await beside.elsewhere("/api/projects/", "/api/tasks/?")
    await agrees("create below another task")
