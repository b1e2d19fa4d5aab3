"""A page is followed from top to bottom in an empty folder, as a reader would follow it who types nothing else.

- A block whose first line is a comment that is a file name is written there: `# openapi.yaml`, `# src/main.py`.
- A `diff` block after `<!-- in FILE -->` changes the file: lines with `+` come, lines with `-` go, the others find it.
- A block after `<!-- FILE has -->` shows lines of a file that is there.
- `console`: commands behind `$` are run, and print what is shown.
- `console` after `<!-- goes on -->`: the command runs on until the page ends. A server takes a free port, whose address
  stands for `http://127.0.0.1:8000` from then on. A block after `<!-- shows -->` is what the latest of them printed.
  `<!-- goes on with servers -->`: by the Python of `make servers`; where that is missing, the page is skipped there.
- `python` that names no file is run here. It may await, and knows what the blocks before it have made.
- `yaml`, `toml` and `json` that name no file are checked (`tests/fragments.py`): a spec has no mistakes, and a part of
  one fits somewhere in a spec.
- A block after `<!-- not run: REASON -->` is none of these. Neither are other languages.

A page whose first command names a file in `specs/` finds those of this repository in its folder. One whose Python
takes `blog`, `async_blog` or `address` as given (`takes_example`) has them: clients of `specs/blog.yaml`, and where
its mock listens. One that takes `cache_url` as given has it: where a server of Valkey or Redis listens; without any
on the machine it is skipped.

In what is shown, `…` on a line of its own stands for any lines, and inside of a line for any text.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import importlib
import inspect
import io
import logging
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from blog import AsyncBlog, Blog
from restencil import AsyncController, Controller
from restencil_generator.cli.main import run
from tests.fragments import check
from tests.mocked import mocked, served
from tests.patience import PATIENCE, eventually
from tests.servers.running import PYTHON, part, started
from tests.storage.servers import ValkeyServer
from tests.storages import patience_by_default

SPECS = Path(__file__).parents[1] / "specs"
ADDRESS = "http://127.0.0.1:8000"

_LOGGERS = ("restencil", "restencil.transport", "restencil.retry", "restencil.store")
_BLOCK = re.compile(
    r"^(?:<!-- (?P<said>(?!tests: )[^\n]+?) -->\n+)?```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
_SAID = re.compile(r"|not run: .+|in .+|.+ has|shows|goes on|goes on with servers")
_FILE = re.compile(r"(?:#|//|\{#) (?P<name>[\w./-]*\.\w+)(?: #\})?\n")


class Block(NamedTuple):
    """A fenced block: its language, its text, the line of the page on which that begins, and the comment before it."""

    language: str
    text: str
    line: int
    said: str

    @property
    def file(self) -> str:
        """The name of the file that it is, or nothing."""
        found = _FILE.match(self.text)
        return found["name"] if found else ""


def blocks(page: Path) -> Iterator[Block]:
    """The blocks of a page, in order."""
    text = page.read_text("utf-8")
    for found in _BLOCK.finditer(text):
        line = text.count("\n", 0, found.start("text")) + 1
        yield Block(found["language"], found["text"], line, found["said"] or "")


def takes_example(page: Path) -> bool:
    """Whether the Python of a page uses the example package without creating its clients."""
    here = [block.text for block in blocks(page) if block.language == "python" and not block.file]
    return any(re.search(r"\b(blog|async_blog|address)\b", text) for text in here) and not any(
        re.search(r"^blog = ", text, re.MULTILINE) for text in here
    )


def follow(page: Path, folder: Path, *, apart: bool = False) -> None:
    """Follows a page in an empty folder; `apart` runs the commands as processes of their own, which takes longer."""
    with _Walk(page, folder, apart=apart) as walk:
        walk.give()
        for block in blocks(page):
            try:
                walk.take(block)
            except AssertionError as error:
                raise AssertionError(f"{page.name}:{block.line}: {error}") from None


class _Walk:
    def __init__(self, page: Path, folder: Path, *, apart: bool) -> None:
        self.page = page
        self.folder = folder
        self.apart = apart
        self.address = ADDRESS
        self.aside: dict[str, ModuleType] = {}
        self.module = ModuleType("page")  # where what a page defines is looked for: annotations, pickles
        self.names = vars(self.module)
        self.ends = contextlib.ExitStack()
        self.runner = asyncio.Runner()
        self.output: Callable[[], str] = str
        self.environment = {
            **{name: value for name, value in os.environ.items() if name not in ("CI", "GITHUB_ACTIONS")},
            "PYTHONPATH": os.pathsep.join([str(folder), str(folder / "src")]),
            "PYTHONUNBUFFERED": "1",
            "RESTENCIL_CACHE_DIR": "",
        }

    def __enter__(self) -> _Walk:
        self.ends.enter_context(_at_home(self.folder, self.environment))
        self.ends.enter_context(patience_by_default())
        sys.modules["page"] = self.module
        self.ends.callback(lambda: sys.modules.update(self.aside))
        self.ends.callback(self.forget)
        self.ends.callback(self.runner.close)
        self.ends.callback(self.close_clients)
        return self

    def __exit__(self, *_: object) -> None:
        self.ends.close()

    def give(self) -> None:
        """Puts there what the page takes as given."""
        commands = [block.text.partition("\n")[0] for block in blocks(self.page) if block.language == "console"]
        if any(" specs/" in command for command in commands[:1]):
            shutil.copytree(SPECS, self.folder / "specs")
        here = [block.text for block in blocks(self.page) if block.language == "python" and not block.file]
        if takes_example(self.page):
            address = self.ends.enter_context(mocked(SPECS / "blog.yaml"))
            self.names |= {
                "address": address,
                "blog": Blog(token="secret", url_prefix=address),
                "async_blog": AsyncBlog(token="secret", url_prefix=address),
            }

        if any(re.search(r"\bcache_url\b", text) for text in here):
            self.names["cache_url"] = self.ends.enter_context(ValkeyServer()).url

    def close_clients(self) -> None:
        """Closes what a page leaves open, so that the reader need not see it done each time."""
        for value in list(self.names.values()):
            if isinstance(value, Controller):
                value.close()
            elif isinstance(value, AsyncController):
                self.runner.run(value.aclose())

    def take(self, block: Block) -> None:
        """Does what one block says."""
        text = block.text.replace(ADDRESS, self.address)
        assert _SAID.fullmatch(block.said), f"nothing is known of <!-- {block.said} -->"
        if block.said.startswith("not run: "):
            return
        if block.said.startswith("in ") and block.language == "diff":
            self.change(self.folder / block.said.removeprefix("in "), text)
        elif block.said.endswith(" has"):
            shown = (self.folder / block.said.removesuffix(" has")).read_text("utf-8")
            assert within(text, shown), f"the file has\n{shown}"
        elif block.said == "shows":
            eventually(lambda: within(text, self.output()))
        elif block.file:
            file = self.folder / block.file
            file.parent.mkdir(parents=True, exist_ok=True)
            # A template begins with the version of its context, so its name is not part of it.
            file.write_text(text.partition("\n")[2] if text.startswith("{#") else text, "utf-8")
            if re.search(r"^restencil: 1$", text, re.MULTILINE):
                advice = self.run(["restencil", "lint", block.file])
                assert "no issues" in advice, f"who copies this spec gets advice:\n{advice}"
        elif block.language == "console":
            self.type_in(text, block.said)
        elif block.language == "python":
            self.python(text, block.line)
        else:
            check(block.language, text)

    def change(self, file: Path, text: str) -> None:
        """Applies a diff without line numbers."""
        lines = [line or " " for line in text.splitlines()]
        before = "".join(f"{line[1:]}\n" for line in lines if line[0] in " -")
        after = "".join(f"{line[1:]}\n" for line in lines if line[0] in " +")
        found = file.read_text("utf-8")
        assert found.count(before) == 1, f"these lines stand {found.count(before)} times in\n{found}"
        file.write_text(found.replace(before, after), "utf-8")

    def type_in(self, text: str, said: str) -> None:
        """Runs the commands of a console, each of which prints what follows it."""
        for found in re.finditer(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE):
            command, shown = shlex.split(found[1], comments=True), found[2]
            if said.startswith("goes on"):
                self.go_on(command, shown, with_servers=said == "goes on with servers")
            else:
                printed = self.run(command)
                assert same(shown, printed), f"{found[1]} prints\n{printed}"

    def go_on(self, command: Sequence[str], shown: str, *, with_servers: bool) -> None:
        """Starts a command that runs until the page ends, in a thread where it can be, and learns where it listens."""
        log: list[str] = []
        if command[:2] == ["restencil", "mock"] and not self.apart:
            self.address = self.ends.enter_context(_mock(command[2:], lambda line: log.append(f"{line}\n")))
            self.output = lambda: "".join(log)
            return
        if command[0] == "uvicorn":
            module, _, name = command[1].partition(":")
            self.forget()
            self.put_aside()
            app = getattr(importlib.import_module(module), name)
            self.address = self.ends.enter_context(served(app))
            return
        self.start(
            command, str(part(PYTHON, "requirements.txt") / "bin" / "python") if with_servers else sys.executable
        )
        eventually(lambda: within(shown.replace(ADDRESS, "http:…"), self.output()))
        address = re.search(r"http://127\.0\.0\.1:\d+", self.output())
        if "8000" in command or command[:2] == ["restencil", "mock"]:
            assert address, f"it listens nowhere: {self.output()}"
            self.address = address[0]

    def run(self, command: Sequence[str]) -> str:
        """What a command prints, on both of its streams."""
        if command[0] in ("restencil", "python") and not self.apart:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
                if command[0] == "restencil":
                    run(command[1:])
                else:
                    self.forget()
                    self.program(command[1:])
            return printed.getvalue()
        ended = subprocess.run(
            _program(command),
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE,
        )
        return ended.stdout

    def program(self, arguments: Sequence[str]) -> None:
        """Runs a file in this process, as `python FILE` would."""
        self.put_aside()
        before, sys.argv = sys.argv, list(arguments)
        names: dict[str, Any] = {}
        try:
            names = runpy.run_path(str(self.folder / arguments[0]), run_name="__main__")
        finally:
            sys.argv = before
            for value in names.values():
                if isinstance(value, Controller):
                    value.close()

    def forget(self) -> None:
        """Forgets what was imported from the folder: it may be another file by now."""
        for name, module in sys.modules.copy().items():  # at once: other threads may import
            if (getattr(module, "__file__", None) or "").startswith(str(self.folder)):
                del sys.modules[name]

    def put_aside(self) -> None:
        """Puts modules of other tests aside whose names are those of files here."""
        importlib.invalidate_caches()
        files = [path for place in (self.folder, self.folder / "src") for path in place.glob("*")]
        here = {path.stem for path in files if path.suffix == ".py" or (path / "__init__.py").exists()}
        for name, module in sys.modules.copy().items():  # at once: other threads may import
            own = (getattr(module, "__file__", None) or "").startswith(str(self.folder))
            if name.partition(".")[0] in here and not own:
                self.aside[name] = sys.modules.pop(name)

    def start(self, command: Sequence[str], python: str) -> None:
        """Starts a command, on a free port; `self.output` tells what it has printed so far."""
        free = ["--port", "0"] if command[:2] == ["restencil", "mock"] else []
        words = [python, *("0" if word == "8000" else word for word in _program(command)[1:]), *free]
        _, self.output = self.ends.enter_context(started(words, self.folder, self.environment))

    def python(self, text: str, line: int) -> None:
        """Runs a block; a failure names the line of the page."""
        self.put_aside()
        code = compile("\n" * (line - 1) + text, str(self.page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        steps = eval(code, self.names)
        if inspect.iscoroutine(steps):
            self.runner.run(steps)


def _program(command: Sequence[str]) -> list[str]:
    """A command as a process of this interpreter."""
    programs = {
        "restencil": ["-m", "restencil_generator"],
        "python": [],
        "pytest": ["-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist"],
    }
    assert command[0] in programs, f"{command[0]} is none of {', '.join(programs)}"
    return [sys.executable, *programs[command[0]], *command[1:]]


@contextlib.contextmanager
def _at_home(folder: Path, environment: Mapping[str, str]) -> Generator[None]:
    """The folder is where this process works and imports from."""
    path, home, variables = list(sys.path), Path.cwd(), dict(os.environ)
    loggers = [logging.getLogger(), *map(logging.getLogger, _LOGGERS)]
    logging_was = [(logger, logger.level, [*logger.handlers]) for logger in loggers]
    sys.path[:0] = [str(folder), str(folder / "src")]
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(home)
        os.environ.clear()
        os.environ.update(variables)
        sys.path[:] = path
        sys.modules.pop("page", None)
        for logger, level, handlers in logging_was:
            logger.setLevel(level)
            logger.handlers[:] = handlers


def _mock(arguments: Sequence[str], log: Callable[[str], None]) -> contextlib.AbstractContextManager[str]:
    """The mock server that these arguments of the command ask for."""
    options = set(arguments) & {"--no-auth", "--auth-server"}
    return mocked(
        *(Path(argument).absolute() for argument in arguments if argument.endswith(".yaml")),
        auth="--no-auth" not in options,
        auth_server="--auth-server" in options,
        log=log,
    )


def same(shown: str, printed: str) -> bool:
    """Whether something was printed as it is shown."""
    return re.fullmatch(_pattern(shown), printed.rstrip("\n") + "\n" if printed.strip() else "") is not None


def within(shown: str, printed: str) -> bool:
    """Whether what is shown stands among what was printed."""
    return re.search(rf"^{_pattern(shown)}", printed, re.MULTILINE) is not None


def _pattern(shown: str) -> str:
    lines = shown.rstrip("\n").split("\n") if shown.strip() else []
    return "".join(r"(?:.*\n)*" if line.strip() == "…" else rf"{_line(line)}\n" for line in lines)


def _line(line: str) -> str:
    return ".*".join(re.escape(part) for part in line.split("…"))
