"""What takes long to import is imported when it is first used: a program that starts pays for what it does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.patience import PATIENCE

from restencil.base.lazy_imports import LazyModule

GOLDEN = Path(__file__).resolve().parents[2] / "golden"

HEAVY = (
    "asyncio",
    "http.cookiejar",
    "httpx",
    "httpx2",
    "orjson",
    "restencil.http.abort",
    "restencil.http.build",
    "restencil.http.exchange",
    "restencil.cache.explanation",
    "restencil.cache.inspect_state",
    "restencil.client.coalescing",
    "restencil.client.live",
    "restencil.client.paging",
    "restencil.client.retry",
    "restencil.client.timers",
    "restencil.endpoint.envelopes",
    "restencil.endpoint.header_partitions",
    "restencil.schema.classes",
    "restencil.schema.foreign",
    "restencil.schema.keys",
    "restencil.schema.plain",
    "restencil.schema.pydantic",
    "ssl",
)


def loaded(code: str) -> set[str]:
    """The modules that are there after this code has run in an interpreter of its own, with the golden packages."""
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "error",
            "-c",
            f"import sys; before = set(sys.modules); {code}; print(*set(sys.modules) - before)",
        ],
        cwd=GOLDEN,
        env={**os.environ, "PYTHONPATH": str(GOLDEN)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    return set(done.stdout.split())


def test_import_plugin_costs_tests_that_do_not_use_it_nothing() -> None:
    """Neither the library nor what it needs is imported before one of the fixtures is used."""
    there = loaded("import restencil.testing.pytest_plugin")
    own = {name for name in there if name.startswith("restencil")}
    assert own == {"restencil", "restencil.testing", "restencil.testing.pytest_plugin"} and "httpx" not in there


def test_importing_the_library_imports_none_of_its_modules() -> None:
    """`import restencil` costs next to nothing."""
    assert {name for name in loaded("import restencil") if name.startswith("restencil.")} == set()


@pytest.mark.parametrize(
    "code",
    [
        "import blog; blog.Blog().articles.get.cached(id=1)",
        "import blog; blog.Blog().articles.get_list.cached(author='1')",
        "import blog; blog.AsyncBlog().articles.get.cached(id=1)",
        "import restencil; restencil.RestEndpoint(path='/a/:id').key(id=1)",
    ],
)
def test_import_nothing_heavy_is_imported_before_the_first_request(code: str) -> None:
    """Client, key and cached read cost no HTTP client, no event loop and nothing else that a request needs."""
    assert loaded(code).intersection(HEAVY) == set()


def test_import_blocking_code_never_imports_asyncio_by_itself() -> None:
    """Writing to a store and reading from it ask for the running loop, which is not there without asyncio."""
    written = "import blog; b = blog.Blog(); b.set(blog.User, {'id': '1', 'name': 'Ann'}); b.users.get.cached(id=1)"
    assert "asyncio" not in loaded(written)


@pytest.mark.parametrize("chosen", ["httpx", "httpx2"])
def test_request_imports_one_http_library(chosen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first client that is opened brings the library with it that was chosen, and not the other one."""
    monkeypatch.setenv("RESTENCIL_HTTP", chosen)
    there = loaded("from restencil.http.transport import SyncTransport; SyncTransport().client.close()")
    assert there & {"httpx", "httpx2"} == {chosen}


def test_import_of_a_package_only_the_resource_in_use_is_imported() -> None:
    """A client imports the resource that is asked for, and no other one."""
    there = loaded("import market; market.Market().reviews.get_list.cached()")
    assert {name for name in there if name.startswith("market.") and "._" not in name} == {"market.reviews"}


def test_import_late_module_gives_what_the_module_has() -> None:
    """Names are looked up once and kept; a wrong one is the module's own error."""
    text = LazyModule("string")
    assert text.digits == "0123456789"
    assert "digits" in vars(text)
    with pytest.raises(AttributeError, match="module 'string' has no attribute 'nothing'"):
        _ = text.nothing


def test_import_logger_is_quiet_where_no_one_asked_to_see() -> None:
    """Records of the library go nowhere by themselves."""
    code = "from restencil.base.logs import logger; logger.error('seen by no one'); logger.warning('nor this')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert (done.stdout, done.stderr) == ("", "")
