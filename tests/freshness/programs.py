"""Programs: what a client does, in which order, against which server, written as text that reads like Python.

    world asynchronous, embeds_owner
    items.get_list(kind='a')
    items.partial_update(id=1, body={'kind': 'a'}) -> 204
    start 1: items.get(id=1)
    serve 1
    deliver 1
    wait 20
    view.items.partial_update(id=1, body={'rank': 1}) -> id
    watch items.get(id=1)
    run 2: items.by_page.iterate()
    next 2

What stands alone is done, with its responses at once; `-> OUTCOME` says how the server answers a change. `start` leaves
its requests on their way: `serve` carries the next of them out on the server, `deliver` gives the response to the
client. `watch` opens a live read that stays open. `run` begins to iterate: `next` takes one item or page of it, in
`next 2, 3 times` three of them, and `ask` too, but leaves its requests on their way. `wait` lets seconds pass. `view.`
goes through a partition of the client, `twin.` through a second client on its store, `other.` through a second store on
the same storage. `reopen` closes the store and opens it again; `reload` goes on with a store that is loaded from a dump
of this one.
"""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import combinations, combinations_with_replacement
from types import ModuleType
from typing import Any, Final, NamedTuple

Arguments = dict[str, Any]
Reads = tuple[tuple[str, Arguments], ...]


@dataclass(frozen=True)
class World:
    """What a program runs in: the kind of client and store, how the package was declared, how the server answers."""

    asynchronous: bool = False
    bound: int = 0
    sqlite: bool = False
    valkey: bool = False
    optimistic: bool = False
    has_envelope: bool = False
    needs: str = "all"
    embeds_owner: bool = False
    leaves_out_null: bool = False
    has_etags: bool = False
    has_max_age: bool = False
    newest_first: bool = False
    items: int = 3
    reuses_keys: bool = False
    upserts: bool = False
    soft: str = ""
    cascades: bool = False

    @property
    def is_shared(self) -> bool:
        """Whether the store has a storage, over which there may be a second one."""
        return self.sqlite or self.valkey

    def __str__(self) -> str:
        words: list[str] = []
        for one in fields(self):
            value = getattr(self, one.name)
            if value != one.default:
                words.append(one.name if value is True else f"{one.name}={value}")
        return " ".join(["world", ", ".join(words)]).strip()


NUMBERED: Final = ("serve", "deliver", "wait", "next", "ask")
"""What a number alone follows."""


@dataclass(frozen=True)
class Step:
    """One step: `act` is do or a word that begins a line; `number` names what started, or seconds."""

    act: str
    number: int = 0
    name: str = ""
    arguments: Arguments = field(default_factory=dict[str, Any])
    outcome: str = ""
    through: str = ""

    def __str__(self) -> str:
        if self.act in NUMBERED:
            return f"{self.act} {self.number}"
        if self.act in ("reopen", "reload"):
            return self.act
        numbered = f"{self.act} {self.number}: "
        start = {"start": numbered, "run": numbered, "watch": "watch "}.get(self.act, "")
        via = f"{self.through}." if self.through else ""
        given = ", ".join(f"{name}={value!r}" for name, value in self.arguments.items())
        outcome = f" -> {self.outcome}" if self.outcome else ""
        return f"{start}{via}{self.name}({given}){outcome}"

    @property
    def is_call(self) -> bool:
        """Whether it calls something of the client."""
        return self.act in ("do", "start")


class Program(NamedTuple):
    """A world, and what is done in it."""

    world: World
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        return "\n".join([str(self.world), *map(str, self.steps)])


class Api(NamedTuple):
    """An API that programs are made for: its package and its server in a world, what is read, changed and compared.

    `change` makes a change of something, with one of these outcomes; `wrong` says how the value of a read in a session
    differs from what the server would say.
    """

    package: Callable[[World], ModuleType]
    server: Callable[[World], Any]
    reads: Reads
    change: Callable[[random.Random, tuple[str, ...]], Step]
    wrong: Callable[[Any, str, Arguments, Any], str | None]


def parse(text: str) -> Program:
    """The program that a text says."""
    world, steps = World(), list[Step]()
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.startswith("world"):
            given: dict[str, Any] = {}
            for word in filter(None, map(str.strip, line.removeprefix("world").split(","))):
                name, _, value = word.partition("=")
                given[name] = True if not value else int(value) if value.isdigit() else value
            world = World(**given)
            continue
        found = re.fullmatch(rf"({'|'.join(NUMBERED)}) (\d+)(?:, (\d+) times)?", line)
        if found:
            steps += [Step(found[1], int(found[2]))] * int(found[3] or 1)
        elif line in ("reopen", "reload"):
            steps.append(Step(line))
        else:
            found = re.fullmatch(
                r"(?:(?P<begin>start|run) (?P<number>\d+): |(?P<watch>watch ))?(?:(?P<through>view|twin|other)\.)?"
                r"(?P<name>[\w.]+)\((?P<given>.*)\)(?: -> (?P<outcome>\w+))?",
                line,
            )
            assert found is not None, f"{line!r} is no step of a program"
            call = ast.parse(f"f({found['given']})", mode="eval").body
            assert isinstance(call, ast.Call)
            arguments = {word.arg or "": ast.literal_eval(word.value) for word in call.keywords}
            act = found["begin"] or ("watch" if found["watch"] else "do")
            number = int(found["number"] or 0)
            steps.append(Step(act, number, found["name"], arguments, found["outcome"] or "", found["through"] or ""))
    return Program(world, tuple(steps))


# --- what there is to read and to change ------------------------------------------------------------------------------

PAGED: Final = ("by_page", "by_offset", "by_cursor", "by_header", "by_last", "by_link", "by_url")


POSITIONS: Final[dict[str, tuple[str, tuple[Any, ...]]]] = {
    "by_page": ("page", (2, 3)),
    "by_offset": ("offset", (2, 4)),
    "by_cursor": ("cursor", ("2", "4")),
    "by_header": ("cursor", ("2", "4")),
    "by_last": ("after", (2, 4)),
    "by_link": ("page", (2, 3)),
    "by_url": ("page", (2, 3)),
}

LISTS: Final[tuple[Arguments, ...]] = (
    {},
    {"kind": "a"},
    {"kind": "b"},
    {"rank": 1},
    {"owner": 1},
    {"owner": 2},
    {"title": "x"},
    {"state": "open"},
    {"order": "id"},
    {"kind": "a", "rank": 0},
)

READS: Final[Reads] = (
    *(("items.get", {"id": pk}) for pk in (1, 2, 3, 4, 5)),
    *(("items.get_list", arguments) for arguments in LISTS),
    ("items.every", {}),
    ("items.latest", {}),
    ("items.visits", {"id": 1}),
    ("items.visits", {"id": 2}),
    ("items.titles", {}),
    ("items.archived", {}),
    ("items.card", {"id": 1}),
    ("items.board", {}),
    ("stats.get", {}),
    *((f"items.{style}", {}) for style in PAGED),
    ("users.get", {"id": 1}),
    ("users.get", {"id": 2}),
    ("users.get_list", {}),
    ("users.newest", {}),
    ("users.by_name", {"name": "ada"}),
    ("users.by_name", {"name": "cy"}),
    ("teams.get", {"id": 1}),
    ("teams.get", {"id": 2}),
    ("teams.get_list", {}),
    ("notes.get_list", {"item_id": 1}),
    ("notes.get_list", {"item_id": 2}),
    ("notes.get", {"item_id": 1, "id": 1}),
    *(("docs.get", {"doc": name}) for name in ("d1", "one", "two")),
    ("docs.get_list", {}),
    *(("docs.by_slug", {"slug": slug}) for slug in ("one", "two")),
    *(("parts.get_list", {"doc": name}) for name in ("d1", "one", "two")),
    *(("parts_by_slug.get_list", {"slug": slug}) for slug in ("one", "two")),
    *(("settings.get", {"item_id": pk}) for pk in (1, 2, 4)),
    ("models.get", {"name": "m"}),
    ("models.get", {"name": "n"}),
    ("models.search", {}),
)
"""What is compared with the server."""

OFTEN: Final = (1, 1, 2, 3, 4)
OUTCOMES: Final[tuple[str, ...]] = (
    *("whole", "whole", "whole", "whole", "part", "part", "id", "204", "204"),
    *("ok", "null", "empty", "wrapped", "500", "lost", "refused"),
)


def _members(chance: random.Random) -> Arguments:
    """Some members of an item."""
    choices: dict[str, tuple[Any, ...]] = {
        "title": ("x1", "y"),
        "kind": ("a", "b"),
        "state": ("open", "closed"),
        "rank": (0, 1),
        "body": ("B", "C"),
        "note": ("N", "M", None),
        "owner": (1, 2, None),
        "team": (1, 2, None),
    }
    found = {name: chance.choice(values) for name, values in choices.items() if chance.random() < 0.3}
    return found or {"kind": chance.choice("ab")}


def _whole(chance: random.Random) -> Arguments:
    return {
        "title": chance.choice(("x", "y")),
        "kind": chance.choice("ab"),
        "state": chance.choice(("open", "closed")),
        "rank": chance.choice((0, 1)),
        "body": "P",
        "note": chance.choice(("N", None)),
        "owner": chance.choice((1, 2, None)),
        "team": chance.choice((1, 2, None)),
    }


def change(chance: random.Random, outcomes: tuple[str, ...] = OUTCOMES) -> Step:
    """A change of something, answered in some way."""
    pk, outcome = chance.choice(OFTEN), chance.choice(outcomes)
    name = chance.choices(
        (
            "items.create",
            "items.partial_update",
            "items.update",
            "items.delete",
            "items.visit",
            "items.pin",
            "items.assign",
            "items.mute",
            "items.clear_visits",
            "items.change_many",
            "items.change_many_shown",
            "items.delete_many",
            "items.rename",
            "users.partial_update",
            "users.delete",
            "users.create",
            "users.join",
            "teams.partial_update",
            "teams.delete",
            "teams.rally",
            "teams.adopt",
            "notes.create",
            "notes.partial_update",
            "notes.delete",
            "docs.create",
            "docs.partial_update",
            "docs.delete",
            "parts.create",
            "settings.partial_update",
            "settings.update",
            "models.create",
            "models.update",
            "models.stage",
            "models.delete",
        ),
        (16, 26, 7, 11, 6, 3, 3, 2, 1, 3, 3, 2, 5, 7, 4, 4, 4, 4, 2, 6, 3, 3, 2, 2, 3, 4, 2, 2, 3, 1, 1, 3, 2, 1),
    )[0]
    match name.split("."):
        case ["items", "create"]:
            arguments: Arguments = {"body": _whole(chance) if chance.random() < 0.3 else _members(chance)}
        case ["items", "partial_update"]:
            arguments = {"id": pk, "body": _members(chance)}
        case ["items", "update"]:
            arguments = {"id": pk, "body": _whole(chance)}
        case ["items", "assign"]:
            arguments = {"id": pk, "body": {"owner": chance.choice((1, 2))}}
        case ["teams", "adopt"]:
            arguments = {"id": chance.choice((1, 2)), "body": _members(chance)}
        case ["items", "visit" | "mute" | "pin"]:
            arguments = {"id": pk, "body": _members(chance)}
        case ["items", "change_many" | "change_many_shown"]:
            arguments = {"body": {"kind": chance.choice("ab"), "change": _members(chance)}}
        case ["items", "delete_many"]:
            arguments = {"body": {"ids": chance.choice(([1], [2], [1, 2]))}}
        case ["items", "rename"]:
            arguments = {"id": pk, "body": {"id": chance.choice((5, 6, 7))}}
        case ["users", "partial_update"]:
            arguments = {"id": chance.choice((1, 2)), "body": {"name": chance.choice(("cy", "dee"))}}
        case ["users", "create" | "join"]:
            arguments = {"body": {"name": chance.choice(("cy", "eve"))}}
            if name == "users.join" and outcome != "refused":
                outcome = "whole"  # its hook does not run where nothing is answered
        case ["users" | "teams", "delete" | "rally"]:
            arguments = {"id": chance.choice((1, 2))}
        case ["teams", "partial_update"]:
            arguments = {"id": chance.choice((1, 2)), "body": {chance.choice(("name", "motto")): chance.choice("pq")}}
        case ["notes", "create"]:
            arguments = {"item_id": chance.choice((1, 2)), "body": {"text": chance.choice("vw")}}
        case ["notes", "partial_update"]:
            arguments = {"item_id": 1, "id": chance.choice((1, 2)), "body": {"text": chance.choice("vw")}}
        case ["notes", "delete"]:
            arguments = {"item_id": 1, "id": chance.choice((1, 2))}
        case ["docs", "create"]:
            arguments = {"body": {"slug": chance.choice(("one", "two")), "text": "a"}}
        case ["docs" | "parts", kind]:
            slug = {"slug": chance.choice(("one", "two"))} if kind == "partial_update" and chance.random() < 0.6 else {}
            arguments = {"doc": chance.choice(("d1", "one", "two")), "body": {"text": chance.choice("bc"), **slug}}
            arguments = {"doc": arguments["doc"]} if kind == "delete" else arguments
        case ["settings", *_]:
            arguments = {"item_id": pk, "body": {"color": chance.choice(("red", "blue"))}}
        case ["models", "create"]:
            arguments = {"body": {"name": chance.choice("mo"), "text": chance.choice("vw")}}
        case ["models", "update"]:
            arguments = {"body": {"name": chance.choice("mn"), "text": chance.choice("vw")}}
        case ["models", "stage"]:
            arguments = {"body": {"name": chance.choice("mn"), "stage": chance.choice(("test", "live"))}}
        case ["models", "delete"]:
            arguments = {"body": {"name": chance.choice("mn")}}
        case _:
            arguments = {"id": pk}
    return Step("do", 0, name, arguments, outcome)


def change_of_places(chance: random.Random, outcomes: tuple[str, ...] = OUTCOMES) -> Step:
    """A change of an item after which others may stand at other places of a list."""
    kinds = ("items.create", "items.delete", "items.delete_many", "items.rename", "items.partial_update")
    kind = chance.choice(kinds)
    return next(step for step in iter(lambda: change(chance, outcomes), None) if step.name == kind)


def read(chance: random.Random, among: Reads) -> Step:
    """A read in one of the ways that there are: through the cache, asked in any case, a page, all pages."""
    name, arguments = chance.choice(among)
    kind = name.rpartition(".")[2]
    if kind in POSITIONS and chance.random() < 0.6:
        if chance.random() < 0.5:
            return Step("do", 0, f"{name}.{chance.choice(('iterate', 'iterate', 'pages'))}", arguments)
        field_name, positions = POSITIONS[kind]
        return Step("do", 0, f"{name}.get_page", {field_name: chance.choice(positions)})
    return Step("do", 0, f"{name}.fetch" if chance.random() < 0.25 else name, arguments)


def at_random(chance: random.Random, world: World, api: Api, *, rules: frozenset[str] = frozenset()) -> Program:
    """A program of 6 to 60 steps; `rules` leave something out: `overlaps`, `partitions`, `failures`."""
    length, overlap = chance.choice((6, 10, 16, 24, 40, 60)), chance.choice((0.0, 0.4, 0.8))
    if "overlaps" in rules:
        overlap = 0.0
    outcomes: tuple[str, ...] = OUTCOMES
    if "failures" in rules:
        outcomes = tuple(one for one in OUTCOMES if one in ("whole", "part", "id", "204"))
    among = (*chance.choices(api.reads, k=8), *api.reads[:2]) if chance.random() < 0.6 else api.reads
    share = chance.choice((0.25, 0.45))
    # A partition has no storage, so it does not hear of other stores.
    others = ("other", "other", "twin") if world.is_shared else ("view", "twin")
    elsewhere = 0.3 if world.is_shared else 0.0 if "partitions" in rules else chance.choice((0.0, 0.0, 0.25))
    steps, on_way, runs, number = list[Step](), list[list[int]](), list[int](), 0
    while len(steps) < length:
        x = chance.random()
        if on_way and x < 0.35:
            one = chance.choice(on_way)
            steps.append(Step(("serve", "deliver")[one[1]], one[0]))
            one[1] += 1
            if one[1] == 2:
                on_way.remove(one)
            continue
        if runs and x < 0.5:
            one = [chance.choice(runs), 0]
            if chance.random() < overlap / 2:
                on_way.append(one)
                steps.append(Step("ask", one[0]))
            else:
                steps.append(Step("next", one[0]))
            continue
        if x > 0.90:
            step = _special(chance, world, api.reads)
        else:
            step = api.change(chance, outcomes) if chance.random() < share else read(chance, among)
        if chance.random() < elsewhere and step.is_call:
            step = replace(step, through=chance.choice(others))
        number += 1
        if step.act == "do" and step.name.endswith((".iterate", ".pages")) and chance.random() < 0.7:
            step = replace(step, act="run", number=number)
            runs.append(number)
        elif step.act == "do" and chance.random() < overlap:
            step = replace(step, act="start", number=number)
            on_way.append([number, 0])
        steps.append(step)
    for one in on_way:
        steps += [Step("serve", one[0]), Step("deliver", one[0])][one[1] :]
    return Program(world, tuple(steps))


def _special(chance: random.Random, world: World, reads: Reads) -> Step:
    kind = chance.choice(("expire", "wait", "watch", "reopen" if world.is_shared else "reload"))
    if kind == "wait":
        return Step("wait", chance.choice((20, 45)))
    if kind.startswith("re"):
        return Step(kind)
    name, arguments = chance.choice(reads)
    return Step("watch", 0, name, arguments) if kind == "watch" else Step("do", 0, f"{name}.expire", arguments)


def world_at_random(chance: random.Random, mode: str) -> World:
    """A world for a mode: `memory`, `bounded`, `sqlite`, `valkey`, each with `-async` behind it or not."""
    leaves_out_null = chance.random() < 0.15
    made = World(
        asynchronous=mode.endswith("-async"),
        bound=chance.choice((2, 4, 8)) if mode.startswith("bounded") else 0,
        sqlite=mode.startswith("sqlite"),
        valkey=mode.startswith("valkey"),
        optimistic=chance.random() < 0.3,
        has_envelope=chance.random() < 0.3,
        embeds_owner=chance.random() < 0.5,
        leaves_out_null=leaves_out_null,
        needs="required" if chance.random() < (0.7 if leaves_out_null else 0.1) else "all",
        has_etags=chance.random() < 0.3,
        newest_first=chance.random() < 0.3,
        items=chance.choice((3, 8)),
        reuses_keys=chance.random() < 0.3,
        upserts=chance.random() < 0.3,
        soft=chance.choice(("", "", "", "listed", "readable")),
        cascades=chance.random() < 0.3,
    )
    # Each package takes its time to generate, so one form of it has all.
    is_usual = not made.optimistic and not made.has_envelope and made.needs == "all"
    return replace(made, has_max_age=is_usual and chance.random() < 0.5)


# --- two requests that overlap ----------------------------------------------------------------------------------------

BEFORE: Final = """
items.get_list()
items.get_list(kind='b')
items.latest()
users.get(id=1)
"""
"""What is known when they are sent."""

OVERLAPPING: Final = """
items.get.fetch(id=1)
items.get_list.fetch()
items.get_list.fetch(kind='b')
users.get.fetch(id=1)
items.partial_update(id=1, body={'kind': 'a'}) -> whole
items.partial_update(id=1, body={'kind': 'b', 'owner': 2}) -> 204
items.update(id=2, body={'title': 'y', 'kind': 'b', 'state': 'open', 'rank': 0, 'body': 'P', 'owner': 1}) -> part
items.create(body={'title': 'x', 'kind': 'b', 'state': 'closed', 'rank': 0, 'owner': 1}) -> whole
items.delete(id=1) -> 204
items.rename(id=1, body={'id': 6}) -> whole
items.change_many(body={'kind': 'b', 'change': {'rank': 1}}) -> 204
users.partial_update(id=1, body={'name': 'zoe'}) -> whole
"""


def overlaps() -> list[tuple[Step, ...]]:
    """The steps of any two of these requests, also of two that are the same, in all orders in which they overlap."""
    before, calls = parse(BEFORE).steps, parse(OVERLAPPING).steps
    found: list[tuple[Step, ...]] = []
    for first, second in combinations_with_replacement(calls, 2):
        mine, others = (
            (replace(call, act="start", number=number), Step("serve", number), Step("deliver", number))
            for number, call in ((1, first), (2, second))
        )
        for places in combinations(range(6), 3):
            if places not in ((0, 1, 2), (3, 4, 5)):  # else one is answered before the other is sent
                found.append((*before, *_merged(mine, others, places)))
    return found


def _merged(mine: Sequence[Step], others: Sequence[Step], places: Container[int]) -> Iterator[Step]:
    """The steps of both, in which mine stand in these places."""
    left, right = iter(mine), iter(others)
    for at in range(len(mine) + len(others)):
        yield next(left if at in places else right)


# --- smaller programs -------------------------------------------------------------------------------------------------


def smaller(program: Program) -> list[Program]:
    """Programs that are a little simpler, the boldest first."""
    found: list[Program] = []
    steps = program.steps
    size = len(steps) // 2
    while size:
        found += [
            Program(program.world, tuple(_paired((*steps[:at], *steps[at + size :]))))
            for at in range(0, len(steps), size)
        ]
        size //= 2
    for at, step in enumerate(steps):
        rest = [other for other in steps[at + 1 :] if not (_follows(step, other))]
        if step.act == "start":
            found.append(Program(program.world, (*steps[:at], replace(step, act="do", number=0), *rest)))
        if step.is_call and step.name.endswith((".fetch", ".iterate", ".pages")):
            plain = replace(step, name=step.name.rpartition(".")[0])
            found.append(Program(program.world, (*steps[:at], plain, *steps[at + 1 :])))
        if step.through:
            found.append(Program(program.world, (*steps[:at], replace(step, through=""), *steps[at + 1 :])))
        body = step.arguments.get("body")
        if isinstance(body, dict) and len(body) > 1 and "change" not in body:
            for name in body:
                if name != "name":
                    less = {key: value for key, value in body.items() if key != name}
                    simpler = replace(step, arguments={**step.arguments, "body": less})
                    found.append(Program(program.world, (*steps[:at], simpler, *steps[at + 1 :])))
        if isinstance(body, dict) and len(body.get("change", ())) > 1:
            for name in body["change"]:
                less = {key: value for key, value in body["change"].items() if key != name}
                simpler = replace(step, arguments={"body": {**body, "change": less}})
                found.append(Program(program.world, (*steps[:at], simpler, *steps[at + 1 :])))
        if step.outcome not in ("", "whole", "204"):
            for outcome in ("whole", "204"):
                found.append(Program(program.world, (*steps[:at], replace(step, outcome=outcome), *steps[at + 1 :])))
    for one in fields(World):
        if getattr(program.world, one.name) != one.default and one.name != "bound":
            usual: Any = {one.name: one.default}
            found.append(Program(replace(program.world, **usual), steps))
    return found


def _follows(step: Step, other: Step) -> bool:
    return step.act == "start" and other.act in ("serve", "deliver") and other.number == step.number


def _paired(steps: tuple[Step, ...]) -> list[Step]:
    """Without what goes on with what was never started."""
    started = {step.number for step in steps if step.act in ("start", "run")}
    return [step for step in steps if step.act == "wait" or step.act not in NUMBERED or step.number in started]
