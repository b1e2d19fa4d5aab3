"""httpbin as it comes."""

from httpbin import app

__all__ = ["app"]
