"""What one action hands over to be committed."""

from __future__ import annotations


class Pending:
    """What one action wrote, and what it brought."""
