"""The one exception for what the command cannot do and can say in a sentence: it becomes exit code 2."""

from __future__ import annotations


class Failure(Exception):
    """A question that could not be answered: usage, configuration, a file that cannot be read or must not be replaced.

    The text is the whole message for the user: what was found, where, what was expected and what to do next.
    """
