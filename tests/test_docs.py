"""The documentation says what is true: its blocks are run or checked (`tests/walk.py`), its links lead somewhere."""

from __future__ import annotations

import contextlib
import importlib
import re
import shlex
from functools import cache
from pathlib import Path

import click
import httpx
import pytest

import restencil
from restencil.base.logs import VARIABLE as LOG_VARIABLE
from restencil.http.transport import HTTP_VARIABLE
from restencil_generator.cli.console import Exit
from restencil_generator.cli.main import cli
from restencil_generator.diff import settings
from restencil_generator.project import config
from restencil_generator.reference import language_models
from tests.walk import follow, takes_example

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
MADE = ROOT / "docs" / "reference" / "language.md"
"""Its examples are those of the language's table, whose tests try each in its place."""

OUTSIDE = {
    ROOT / name
    for name in (
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "templates/restencil_templates/CONTEXT.md",
        "tests/benchmarks/results.md",
    )
}
"""Pages of the site that stand elsewhere."""

HABITS = {
    "errors by status": "runtime/http/test_status_errors.py::test_status_errors_each_status_has_its_class",
    "raw response": "runtime/client/test_responses.py::test_response_has_the_value_and_what_http_says",
    "options per call": "runtime/client/test_views.py::test_views_timeout_and_retries_are_those_of_the_view",
    "retries by default": "runtime/client/test_network.py::test_network_retries_are_off_by_default",
    "idempotency key": "runtime/client/test_network.py::test_retries_of_posts_are_opt_in_and_share_a_key",
    "timeout": "runtime/http/test_timeout.py::test_timeout_steps_default_to_those_of_the_client",
    "own HTTP client": "runtime/http/test_libraries.py::test_libraries_client_that_is_given_contains_its_library",
    "pagination": "runtime/client/test_controller_iterate.py::test_iterate_resumes_after_an_error",
    "server-sent events, WebSocket": "runtime/client/test_responses.py::test_responses_stream_is_handed_over_unread",
    "conditional requests, `If-Match`": "runtime/client/test_lost_updates.py::test_change_sends_the_last_etag",
    "requests that are not in the spec": "runtime/client/test_responses.py::test_request_to_another_origin_is_rejected",
    "request ids": "runtime/http/test_status_errors.py::test_status_errors_request_id_is_found_in_the_usual_headers",
    "telemetry headers": "runtime/http/test_user_agent.py::test_user_agent_nothing_but_what_is_said_here_is_sent_along",
    "log switch": "runtime/base/test_logs.py::test_logs_variable_is_the_level_and_shows_it_on_standard_error",
    "webhook signatures": "",
    "values in pydantic, FastAPI": "runtime/schema/test_interoperability.py::test_fastapi_responds_with_entities",
    "a store per user in a service": "runtime/client/test_partitions.py::test_partitions_of_two_tokens_share_nothing",
}
"""The test, below `tests`, that holds what each row of the table of habits says of restencil."""


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


README = ROOT / "README.md"
WITH_BLOCKS = [page for page in (README, *PAGES, *sorted(OUTSIDE)) if page != MADE and "```" in page.read_text("utf-8")]


LONGER = {"testing"}
"""Pages that start processes which take long, and so wait for `make docs-test`."""


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, id=named(page), marks=[pytest.mark.slow] * (page.stem in LONGER)) for page in WITH_BLOCKS],
)
def test_who_follows_a_page_gets_what_it_shows(page: Path, tmp_path: Path) -> None:
    """Its files, commands and programs work, in the order in which they stand, and print what is shown."""
    follow(page, tmp_path)


@pytest.mark.slow
def test_the_tutorial_works_with_commands_as_they_are_typed(tmp_path: Path) -> None:
    """Each command is a process of its own in a folder that was empty."""
    follow(ROOT / "docs" / "tutorial.md", tmp_path, apart=True)


@pytest.mark.parametrize("page", [page for page in WITH_BLOCKS if takes_example(page)], ids=named)
def test_pages_that_use_the_example_package_link_to_its_setup(page: Path) -> None:
    """A reader who copies a block from such a page finds where `blog` comes from."""
    assert re.search(r"\]\((\.\./how-to/)?example-package\.md\)", page.read_text("utf-8")), (
        f"{named(page)} uses `blog`, `async_blog` or `address` and does not say where they come from; "
        "link to how-to/example-package.md above the first block that uses them"
    )


@cache
def anchors(page: Path) -> set[str]:
    """The places inside of a page that links may lead to: its headings, as forges name them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_of_pages_lead_somewhere() -> None:
    """To a file that is there, and to a heading in it."""
    for page in (README, *PAGES, *sorted(OUTSIDE)):
        for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", page.read_text("utf-8")):
            file, _, heading = link.partition("#")
            target = (page.parent / file).resolve() if file else page
            assert target.exists(), f"{named(page)}: {link} leads nowhere"
            assert not heading or heading in anchors(target), f"{named(page)}: {link}: {anchors(target)}"


IN_PROSE = re.compile(r"`(restencil [a-z][^`\n]*)`")
IN_FENCES = re.compile(r"^(?:\$ | *- (?:run: )?| *entry: )?(restencil [a-z].*)$", re.MULTILINE)


def test_commands_of_pages_have_the_options_they_are_given() -> None:
    """In prose, in workflows and in blocks that are not run, too; a command that is only named needs no arguments."""
    pages = (page.read_text("utf-8").split("```") for page in (README, *PAGES) if page.stem != "commands")
    found = [(part, IN_FENCES if at % 2 else IN_PROSE) for parts in pages for at, part in enumerate(parts)]
    for line in (line for part, pattern in found for line in pattern.findall(part)):
        words = shlex.split(re.split(r" [|>] ", line)[0], comments=True)[1:]
        command: click.Command = cli
        while isinstance(command, click.Group) and words:
            name, *words = words
            assert name in command.commands, f"there is no command `{line}`"
            command = command.commands[name]
        with contextlib.suppress(click.MissingParameter, click.BadOptionUsage, click.exceptions.NoArgsIsHelpError):
            command.make_context(None, words)


INDEX = ROOT / "docs" / "index.md"


def listed() -> list[Path]:
    """The pages that the index lists, in its order, which is that of the site."""
    links = re.findall(r"^- \[[^\]]*\]\(([^)]+)\): ", INDEX.read_text("utf-8"), re.MULTILINE)
    return [(INDEX.parent / link).resolve() for link in links]


def test_every_page_is_listed_once() -> None:
    """Nothing is to be found by chance: `docs/index.md` has a line for each page, or a page there that lists it."""
    below = set((ROOT / "docs" / "reference").glob("*/*.md"))
    assert sorted(listed()) == sorted({*(ROOT / "docs").rglob("*.md"), *OUTSIDE} - below - {INDEX})
    for page in below:
        above = page.parent.with_suffix(".md").read_text("utf-8")
        assert above.count(f"]({page.parent.name}/{page.name})") == 1, page


def test_the_map_for_language_models_is_that_of_the_index() -> None:
    """`docs/llms.txt` is what `docs/index.md` says, in the form that such maps have."""
    assert (ROOT / "docs" / "llms.txt").read_text("utf-8") == language_models(INDEX.read_text("utf-8"))


@pytest.mark.parametrize(
    "module",
    [
        "restencil",
        "restencil.cache.actions",
        "restencil.schema",
        "restencil.storage",
        "restencil.testing",
        "restencil_generator",
    ],
)
def test_every_public_name_stands_on_a_page_of_the_api(module: str) -> None:
    """Once, and nothing else does; what a module takes over from `restencil` stands there."""
    told = [
        name
        for page in sorted((ROOT / "docs" / "reference" / "api").glob("*.md"))
        for found in re.finditer(rf"^```{{api}} {module}\n([^`]*)^```$", page.read_text("utf-8"), re.MULTILINE)
        for name in found[1].split()
    ]
    names = set(importlib.import_module(module).__all__) - {"schema"}
    if module == "restencil.schema":
        names -= set(restencil.__all__)
    assert sorted(told) == sorted(names)


def rows_of(page: str, heading: str) -> set[str]:
    """The names in the first column of the table under a heading of a page of the reference."""
    text = (ROOT / "docs" / "reference" / page).read_text("utf-8")
    table = text.partition(f"# {heading}\n")[2].partition("\n#")[0]
    cells = re.findall(r"^\| (`[^|]+) \|", table, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def test_the_page_of_the_configuration_has_every_key() -> None:
    """And no other, in each of its tables."""
    assert rows_of("configuration.md", "`[tool.restencil]`") == set(config.KEYS)
    assert rows_of("configuration.md", "`[tool.restencil.import.<package>]`") == set(config.IMPORT_KEYS)
    assert rows_of("configuration.md", "`[tool.restencil.diff]`") == set(settings.KEYS)


def test_the_page_of_the_configuration_has_every_variable() -> None:
    """Those that the code reads by a name of its own."""
    code = [*(ROOT / "runtime").rglob("*.py"), *(ROOT / "generator").rglob("*.py")]
    text = "".join(file.read_text("utf-8") for file in code)
    read = set(re.findall(r'environ\.get\("([A-Z_]+)"', text)) - {"LOCALAPPDATA", "XDG_CACHE_HOME"}
    assert rows_of("configuration.md", "Environment variables") == read | {HTTP_VARIABLE, LOG_VARIABLE}


def test_the_page_of_exit_codes_has_them_all() -> None:
    """In the order of their numbers."""
    page = (ROOT / "docs" / "reference" / "exit-codes.md").read_text("utf-8")
    assert [int(code) for code in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)] == [code.value for code in Exit]


def test_each_habit_of_the_table_has_its_test() -> None:
    """What the table says of restencil is tested where this list says."""
    table = (ROOT / "docs" / "explanation" / "sdk-comparison.md").read_text("utf-8")
    rows = [row.split(" | ")[0].removeprefix("| ") for row in table.splitlines() if row.startswith("| ")][1:]
    assert [re.sub(r"\[(.*)\]\(.*\)", r"\1", row) for row in rows] == list(HABITS)
    for test in filter(None, HABITS.values()):
        file, _, name = test.partition("::")
        assert f"def {name}(" in (ROOT / "tests" / file).read_text("utf-8"), test


def test_figures_are_those_of_the_last_run() -> None:
    """What the page on speed says was measured stands in the results of the benchmarks, with its verdict."""
    results = (ROOT / "tests" / "benchmarks" / "results.md").read_text("utf-8")
    measured = {
        (cells[0], cells[3], cells[-1])
        for row in results.splitlines()
        if len(cells := row.strip("| ").split(" | ")) == 7
    }
    page = (ROOT / "docs" / "explanation" / "performance.md").read_text("utf-8")
    told = [
        tuple(row.strip("| ").split(" | "))
        for row in page.splitlines()
        if re.search(r"\| (met|missed|too noisy.*) \|$", row)
    ]
    assert len(told) > 15
    for row in told:
        there = [one for one in measured if one[0] == row[0]]
        assert row in measured, f"the page says {row}, the last run {there}"


SITE = ROOT / "build" / "site"
LOADED = (
    r'<(?:script|img|iframe|source)[^>]*\ssrc="([^"]+)"|<link[^>]*rel="(?:stylesheet|icon|preload)"[^>]*href="([^"]+)"'
)


@pytest.mark.slow
@pytest.mark.skipif(not SITE.exists(), reason="the site is not built: make docs")
def test_the_site_loads_nothing_from_elsewhere() -> None:
    """It works without a network, opened from a folder."""
    for page in SITE.rglob("*.html"):
        for found in re.findall(LOADED, page.read_text("utf-8")):
            assert not re.match(r"(?:https?:)?//", "".join(found)), f"{page} loads {found}"
    for sheet in SITE.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(?:https?:)?//|@import", sheet.read_text("utf-8")), sheet


@pytest.mark.slow
def test_links_that_lead_outside_lead_somewhere() -> None:
    """Each address of a page answers; without a network nothing is asked."""
    pages = [README, *PAGES, *sorted(OUTSIDE)]
    links = {link for page in pages for link in re.findall(r"\]\((https?://[^)\s#]+)", page.read_text("utf-8"))}
    real = {link for link in links if not re.search(r"\.example\b|//127\.|//localhost", link)}
    with httpx.Client(follow_redirects=True, timeout=20) as web:
        found = {link: answered(web, link) for link in sorted(real)}
    if not any(found.values()):
        pytest.skip("there is no network here: nothing outside answers")
    assert not {link: status for link, status in found.items() if status in (0, 404, 410)}


def answered(web: httpx.Client, link: str) -> int:
    """The status of an address; 0 for none."""
    try:
        return web.get(link).status_code
    except httpx.TransportError:
        return 0
