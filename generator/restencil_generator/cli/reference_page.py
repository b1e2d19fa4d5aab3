"""The reference page of the commands, made from their definitions in click."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any, TypeAlias

from restencil_generator.cli.main import cli

Command: TypeAlias = Any
"""A command, option or context of click. `Any`, because only `cli` may import click."""


def commands() -> Iterator[tuple[str, Command]]:
    """Yield every command with its name as typed after `restencil`; groups come before their commands."""
    for name, command in sorted(cli.commands.items()):
        yield name, command
        inside: dict[str, Command] = getattr(command, "commands", {})
        yield from ((f"{name} {inner}", one) for inner, one in sorted(inside.items()))


def page(made: str) -> str:
    """Return the page of all commands with usage, description, options and examples; `made` names the source."""
    parts = [
        "# Commands\n",
        made,
        (
            "Results go to stdout, progress and errors to stderr. Each result has an "
            "[exit code](exit-codes.md). Specs are found by the [configuration](configuration.md).\n"
        ),
        "| command | does |\n| --- | --- |\n"
        + "".join(
            f"| [`restencil {name}`](#{_anchor(name)}) | {command.get_short_help_str(200)} |\n"
            for name, command in commands()
        ),
    ]
    parts += [_section(name, command) for name, command in commands()]
    return "\n".join(parts)


def _anchor(name: str) -> str:
    return f"restencil {name}".replace(" ", "-")


def _section(name: str, command: Command) -> str:
    context = command.context_class(command, info_name=f"restencil {name}")
    usage = " ".join(command.collect_usage_pieces(context))
    text = f"## `restencil {name}`\n\n```text\nrestencil {name} {usage}\n```\n\n{_prose(command.help or '')}"
    rows = [
        f"| {_code(', '.join([*option.opts, *option.secondary_opts]), _metavar(option, context))} | {_help(option)} |\n"
        for option in command.get_params(context)
        if option.param_type_name == "option" and "--help" not in option.opts
    ]
    if not rows:
        return text
    return f"{text}\n| option | means |\n| --- | --- |\n{''.join(rows)}"


def _metavar(option: Any, context: Any) -> str:
    return "" if option.is_flag else option.make_metavar(context)


def _code(names: str, metavar: str) -> str:
    return f"`{' '.join(filter(None, [names, metavar]))}`".replace("|", "\\|")


def _help(option: Any) -> str:
    text = option.help or ""
    if isinstance(option.show_default, str):
        text += f" Default: {option.show_default}."
    elif option.show_default and option.default is not None:
        text += f" Default: `{option.default}`."
    return (text + " May be given several times." if option.multiple else text).replace("|", "\\|")


def _prose(help: str) -> str:
    """Convert the help of a command to Markdown; preformatted paragraphs become code blocks."""
    shown: list[str] = []
    for part in inspect.cleandoc(help).split("\n\n"):
        if not part.startswith("\b\n"):
            shown.append(" ".join(part.splitlines()))
            continue
        title, _, rest = part.removeprefix("\b\n").partition("\n")
        lines = rest if re.match(r"[A-Za-z ]+:$", title) else f"{title}\n{rest}"
        if lines is rest:
            shown.append(title)
        shown.append(f"```text\n{inspect.cleandoc(lines)}\n```")
    return "\n\n".join(shown) + "\n"
