"""A FastAPI application as its tutorial writes them: skip and limit, a shorter model in lists, details on errors."""

from __future__ import annotations

import asyncio
import datetime
import itertools
import uuid
from decimal import Decimal
from typing import Annotated, Literal

from fastapi import FastAPI, HTTPException, Query, Response
from pydantic import BaseModel, Field

app = FastAPI()

Kind = Literal["bug", "feature"]


class TaskIn(BaseModel):
    title: Annotated[str, Field(max_length=20)]
    note: str | None = None
    kind: Kind = "bug"
    done: bool = False
    cost: Decimal = Decimal("0.00")
    due: datetime.datetime | None = None


class TaskPatch(BaseModel):
    title: Annotated[str, Field(max_length=20)] | None = None
    note: str | None = None
    kind: Kind | None = None
    done: bool | None = None
    cost: Decimal | None = None
    due: datetime.datetime | None = None


class TaskShort(BaseModel):
    id: int
    title: str
    done: bool


class Task(TaskIn):
    id: int
    created: datetime.datetime


class LabelIn(BaseModel):
    name: str
    color: str | None = None


class Label(BaseModel):
    id: uuid.UUID
    name: str
    color: str | None = None


tasks: dict[int, Task] = {}
labels: dict[uuid.UUID, Label] = {}
numbers = itertools.count(1)


@app.post("/reset", status_code=204)
async def reset() -> None:
    global numbers
    numbers = itertools.count(1)
    tasks.clear()
    labels.clear()
    for number in range(1, 11):
        await create_task(TaskIn(title=f"Task {number}", note=f"Note {number}", done=number % 3 == 0))
    for number in range(1, 4):
        key = uuid.UUID(int=number)
        labels[key] = Label(id=key, name=f"Label {number}", color="red")


@app.get("/tasks/", response_model=list[TaskShort])
async def list_tasks(skip: int = 0, limit: Annotated[int, Query(le=100)] = 4, done: bool | None = None) -> list[Task]:
    found = [task for task in tasks.values() if done is None or task.done == done]
    return found[skip : skip + limit]


@app.get("/tasks/recent", response_model=list[TaskShort])
async def recent_tasks() -> list[Task]:
    return list(tasks.values())[-2:]


@app.get("/tasks/slow")
async def slow_task() -> Task:
    await asyncio.sleep(5)
    raise HTTPException(404)


@app.get("/tasks/{id}")
async def read_task(id: int) -> Task:
    return _found(tasks, id)


@app.post("/tasks/", status_code=201)
async def create_task(body: TaskIn) -> Task:
    id = next(numbers)
    tasks[id] = Task(id=id, created=datetime.datetime.now(datetime.UTC), **body.model_dump())
    return tasks[id]


@app.put("/tasks/{id}", response_model_exclude_none=True)
async def replace_task(id: int, body: TaskIn) -> Task:
    old = _found(tasks, id)
    tasks[id] = Task(id=id, created=old.created, **body.model_dump())
    return tasks[id]


@app.patch("/tasks/{id}")
async def change_task(id: int, body: TaskPatch) -> Task:
    tasks[id] = _found(tasks, id).model_copy(update=body.model_dump(exclude_unset=True))
    return tasks[id]


@app.delete("/tasks/{id}")
async def delete_task(id: int) -> dict[str, bool]:
    _found(tasks, id)
    del tasks[id]
    return {"ok": True}


@app.get("/labels")
async def list_labels(name: str | None = None) -> list[Label]:
    return [label for label in labels.values() if name is None or label.name == name]


@app.get("/labels/{name}")
async def read_label(name: str) -> Label:
    return _found({label.name: label for label in labels.values()}, name)


@app.post("/labels", status_code=201)
async def create_label(body: LabelIn) -> Label:
    label = Label(id=uuid.uuid4(), **body.model_dump())
    labels[label.id] = label
    return label


@app.patch("/labels/{name}", status_code=204)
async def change_label(name: str, body: LabelIn) -> None:
    label = await read_label(name)
    labels[label.id] = label.model_copy(update=body.model_dump(exclude_unset=True))


@app.delete("/labels/{name}", status_code=204)
async def delete_label(name: str) -> Response:
    del labels[(await read_label(name)).id]
    return Response(status_code=204)


def _found(table, key):
    if key not in table:
        raise HTTPException(404, "there is none")
    return table[key]
