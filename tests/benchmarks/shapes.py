"""The inputs of the benchmarks: given files where they are there, else made of the same shapes, always the same."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[2]
GIVEN: Final = ROOT.parent / "shared" / "bench"
WORK: Final = ROOT / ".bench"
"""Everything that the benchmarks build or install; ignored by git."""

PROJECTS: Final = 709
BUILDS: Final = 2117
_TEXT: Final = (
    "Auto Build Check Commons Compile Coverage Deploy Docs Gradle Integration Java Kotlin Linux Master Nightly "
    "Package Performance Platform Plugin Publish Release Scala Snapshot Staging Test Trunk Unit Update Verify"
)
_WORDS: Final = tuple(_TEXT.split(" "))


def input_file(name: str) -> Path:
    """Where `projects.json` or `user.json` lies; it is made at the first use where none was given."""
    given = GIVEN / name
    if given.exists():
        return given
    made = WORK / "data" / name
    if not made.exists():
        made.parent.mkdir(parents=True, exist_ok=True)
        made.write_text(json.dumps(_MAKERS[name](), separators=(",", ":")), encoding="utf-8")
    return made


def origin(name: str) -> str:
    """How the report names the input."""
    return "given" if (GIVEN / name).exists() else "synthesized"


def projects() -> dict[str, Any]:
    """709 projects with 2,117 nested builds, 0.5 MB of JSON; most projects have one or two builds, a few have many."""
    dice = random.Random(709)
    sizes = [1 + min(int(dice.paretovariate(1.1)) - 1, 40) if dice.random() > 0.07 else 0 for _ in range(PROJECTS)]
    while sum(sizes) != BUILDS:
        place = dice.randrange(PROJECTS)
        sizes[place] = max(0, sizes[place] + (1 if sum(sizes) < BUILDS else -1))
    made: list[dict[str, Any]] = []
    number = 1000
    for place, size in enumerate(sizes):
        words = dice.sample(_WORDS, 2)
        ident = f"OpenSourceProjects_{''.join(words)}_{place}"
        project: dict[str, Any] = {
            "id": ident,
            "internalId": f"project{place + 100}",
            "name": " ".join(words),
            "parentProjectId": made[dice.randrange(place)]["id"] if place else "_Root",
            "archived": dice.random() < 0.1,
        }
        if dice.random() < 0.68:
            project["description"] = " ".join(dice.choices(_WORDS, k=dice.randrange(4, 14)))
        builds = []
        for _ in range(size):
            number += dice.randrange(1, 30)
            name = " ".join(dice.choices(_WORDS, k=3))
            build: dict[str, Any] = {
                "id": f"{ident}_{name.replace(' ', '')}{number}",
                "internalId": f"bt{number}",
                "name": name,
                "type": dice.choice(("regular", "composite", "deployment")),
                "paused": dice.random() < 0.1,
            }
            if dice.random() < 0.2:
                build["description"] = " ".join(dice.choices(_WORDS, k=6))
            build["projectId"] = ident
            builds.append(build)
        project["buildTypes"] = {"buildType": builds}
        made.append(project)
    return {"project": made}


def user() -> dict[str, Any]:
    """One flat user of some thirty members."""
    links = ("followers", "following", "gists", "starred", "subscriptions", "orgs", "repos", "events")
    return {
        "login": "octos",
        "id": 2716000,
        "node_id": "MDQ6VXNlcjI3MTYwMDA=",
        "avatar_url": "https://avatars.example.test/u/2716000?v=4",
        "gravatar_id": "",
        "url": "https://api.example.test/users/octos",
        "html_url": "https://example.test/octos",
        **{f"{name}_url": f"https://api.example.test/users/octos/{name}" for name in links},
        "type": "User",
        "site_admin": False,
        "name": "Octo Story",
        "company": None,
        "blog": "https://social.example.test/octostory",
        "location": "San Diego",
        "email": None,
        "hireable": None,
        "bio": None,
        "twitter_username": None,
        "public_repos": 26,
        "public_gists": 1,
        "followers": 143,
        "following": 1,
        "created_at": "2012-11-03T18:22:38Z",
        "updated_at": "2023-01-14T17:01:59Z",
    }


_MAKERS: Final = {"projects.json": projects, "user.json": user}
