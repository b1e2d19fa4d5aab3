"""Parsing of YAML into events. Only this module imports yaml."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from restencil_generator.diagnostics.model import Place, Problem, Related, visible

_FLATTEN: Final = "flatten this part"

LINE_BREAK: Final = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
"""The line breaks of the parser."""


class NotYaml(Exception):
    """A string is not valid YAML, or the parser is not installed; `problem` has the reason and the place."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.problem = problem


def parse(text: str, file: str, build: Callable[[Callable[[], Any]], None]) -> None:
    """Parse a string and call `build` with a function that returns the next event; the last is a `StreamEndEvent`.

    Raises `NotYaml` if the string is not valid YAML, also while `build` gets events.
    """
    try:
        import yaml
        from yaml.cyaml import CSafeLoader
    except ImportError as error:
        raise NotYaml(
            Problem(
                "yaml-loader",
                "PyYAML is missing, or was built without its C parser, which the spec language needs",
                Place(file),
                "install a wheel of it: pip install --force-reinstall --only-binary :all: pyyaml",
            )
        ) from error
    try:
        parser = CSafeLoader(text)
        try:
            build(parser.get_event)
        finally:
            parser.dispose()
    except yaml.MarkedYAMLError as error:
        raise NotYaml(_syntax_problem(error, file)) from error
    except (yaml.YAMLError, UnicodeError) as error:
        raise NotYaml(_character_problem(error, text, file)) from error


def _syntax_problem(error: Any, file: str) -> Problem:
    """Return the problem for a syntax error, at the place where the parser stopped."""
    what = visible(str(error.problem or error))
    context = f" {visible(str(error.context))}" if error.context else ""
    mark, other, note = error.problem_mark or error.context_mark, error.context_mark, "it begins here"
    if _is_unclosed(what) and other is not None:  # it stops after the bracket, where all is well
        mark, other, note = other, mark, "still open here"
    related: tuple[Related, ...] = ()
    if mark is not None and other is not None and other.line != mark.line:
        related = (Related(_marked(other, file), note),)
    place = Place(file) if mark is None else _marked(mark, file)
    if "maximum nesting depth" in what:  # newer parsers have a limit of their own, deeper than any spec
        return Problem("yaml-depth", "collections are nested more deeply than the parser reads", place, _FLATTEN)
    return Problem("yaml-syntax", f"the YAML does not parse: {what}{context}", place, _syntax_hint(what), related)


def _marked(mark: Any, file: str) -> Place:
    return Place(file, mark.line + 1, mark.column + 1, mark.line + 1, mark.column + 2)


def _is_unclosed(what: str) -> bool:
    return "did not find expected ',' or" in what


def _syntax_hint(what: str) -> str:
    if "cannot start any token" in what:
        return "indent with spaces, and put quotes around a string that begins with a special character"
    if "mapping values are not allowed" in what:
        return "put quotes around a string that contains ': ', or indent this line like its neighbors"
    if "could not find expected ':'" in what:
        return "write 'key: value', with a colon and a space after the key"
    if "expected <block end>" in what or "expected key" in what:
        return "check the indentation and the quotes of this line and the one before"
    if _is_unclosed(what):
        return "close the bracket, and put quotes around a string that contains ',' or a bracket"
    if "unexpected end of stream" in what:
        return "close the quotes"
    return ""


def _character_problem(error: Exception, text: str, file: str) -> Problem:
    """Return the problem for a character that YAML does not allow; the parser has its position only in bytes."""
    found = next((at for at, char in enumerate(text) if _refused_character(char)), None)
    if found is None:
        return Problem("yaml-syntax", f"the YAML does not parse: {visible(str(error))}", Place(file))
    lines = LINE_BREAK.split(text[:found])
    line, column = len(lines), len(lines[-1]) + 1
    return Problem(
        "yaml-syntax",
        f"the YAML does not parse: the character U+{ord(text[found]):04X} is not allowed",
        Place(file, line, column, line, column + 1),
        "remove it, or write it as an escape in double quotes",
    )


def _refused_character(char: str) -> bool:
    code = ord(char)
    if code < 0x20:
        return char not in "\t\n\r"
    return (0x7F <= code < 0xA0 and code != 0x85) or 0xD800 <= code <= 0xDFFF or code in (0xFFFE, 0xFFFF)
