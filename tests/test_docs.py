"""The pages of `docs/how-to` say what is true: their Python runs, from top to bottom, against a real server.

Each page is one script. It is given `address`, where the mock of `specs/blog.yaml` listens, and two clients of the
package that is generated from it, `blog` and `async_blog`. It may await at its top level.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from blog import AsyncBlog, Blog
from restencil import AsyncController, Controller
from tests.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted((ROOT / "docs" / "how-to").glob("*.md"))


def script(page: Path) -> CodeType:
    """The Python of a page, on the lines on which it stands, so that a failure names the line to look at."""
    text = page.read_text("utf-8")
    lines = [""] * (text.count("\n") + 1)
    for block in re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        first = text.count("\n", 0, block.start(1))
        lines[first : first + block[1].count("\n")] = block[1].splitlines()
    compiled: CodeType = compile("\n".join(lines), str(page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    return compiled


async def close_all(values: Iterable[object]) -> None:
    """Closes the clients that a page leaves open, so that the reader need not see it done each time."""
    for value in values:
        if isinstance(value, Controller):
            value.close()
        elif isinstance(value, AsyncController):
            await value.aclose()


@pytest.fixture
def address() -> Iterator[str]:
    """Where a mock of the blog listens, with records of its own for each page."""
    served = subprocess.Popen(
        [sys.executable, "-m", "restencil_generator", "mock", "specs/blog.yaml", "--port", "0"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert served.stdout is not None
        yield served.stdout.readline().strip()
    finally:
        served.terminate()
        served.communicate(timeout=PATIENCE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_python_of_a_page_runs(page: Path, address: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What a reader copies does what the page says."""
    monkeypatch.chdir(tmp_path)
    # A FastAPI application or a class of one's own resolves its annotations in the module that it names.
    module = type(sys)("page")
    monkeypatch.setitem(sys.modules, "page", module)
    names: dict[str, Any] = vars(module)

    async def run() -> None:
        async with AsyncBlog(token="secret", url_prefix=address) as async_blog:
            with Blog(token="secret", url_prefix=address) as blog:
                names.update(address=address, blog=blog, async_blog=async_blog)
                steps = eval(script(page), names)
                if inspect.iscoroutine(steps):
                    await steps
            await close_all(names.values())

    asyncio.run(run())
