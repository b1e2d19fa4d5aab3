"""The entities of the tables of stores and storages."""

from __future__ import annotations

from restencil import Entity


class BuildType(Entity, key="BuildType"):
    id: str = ""
    internalId: str = ""
    name: str = ""
    type: str = ""
    paused: bool = False
    projectId: str = ""
    description: str = ""


class Project(Entity, key="Project", schema={"buildTypes": {"buildType": [BuildType]}}):
    id: str = ""
    internalId: str = ""
    name: str = ""
    parentProjectId: str = ""
    archived: bool = False
    description: str = ""
    buildTypes: dict[str, list[BuildType]] = {"buildType": []}


class Item(Entity, key="Item"):
    id: int = 0
    title: str = ""
    a: int = 0
    b: str = ""
    c: bool = False
    d: str | None = None
