"""What takes long to import is imported when it is first used."""

from __future__ import annotations

import subprocess
import sys

import pytest

from restencil.late import Late

UNUSED = "import sys; {code}; print([name for name in ('httpx', 'asyncio', 'http.cookiejar') if name in sys.modules])"


@pytest.mark.parametrize(
    "code",
    [
        "import restencil",
        "from restencil import Controller, create_resource, Entity; Controller()",
        "from restencil import RestEndpoint; RestEndpoint(path='/a/:id').key(id=1)",
    ],
)
def test_nothing_heavy_is_imported_before_the_first_request(code: str) -> None:
    """Importing the library, making a controller and a key cost no HTTP client and no event loop."""
    command = [sys.executable, "-W", "error", "-c", UNUSED.format(code=code)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


def test_a_late_module_gives_what_the_module_has() -> None:
    """Names are looked up once and kept; a wrong one is the module's own error."""
    text = Late("string")
    assert text.digits == "0123456789"
    assert "digits" in vars(text)
    with pytest.raises(AttributeError, match="module 'string' has no attribute 'nothing'"):
        _ = text.nothing
