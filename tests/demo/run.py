"""`make demo`: the whole way once, from the spec to real calls over HTTP, in the open.

Generates the package of `specs/blog.yaml` into `build/demo`, starts the mock server on a free port of this machine,
runs `story.py` against it, and stops the server again whatever happens. Usage: run.py [FOLDER], for another one than
`build/demo`.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Generator
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SPEC = Path("specs", "blog.yaml")
SECONDS = 120
"""The longest that a step may take."""


def main() -> int:
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("build", "demo")
    restencil = [sys.executable, "-m", "restencil_generator"]
    _say(f"$ restencil generate {SPEC} --out {out}")
    generated = subprocess.run([*restencil, "generate", str(SPEC), "--out", str(out)], cwd=ROOT, timeout=SECONDS)
    if generated.returncode != 0:
        return generated.returncode
    for file in sorted((ROOT / out / "blog").glob("*.py")):
        _say(f"  {out / 'blog' / file.name}: {len(file.read_text('utf-8').splitlines())} lines")
    _say(f"\n$ restencil mock {SPEC} --port 0")
    with _mock([*restencil, "mock", str(SPEC), "--port", "0"]) as address:
        _say(f"  {address}")
        environment = {**os.environ, "PYTHONPATH": str(ROOT / out), "PYTHONUNBUFFERED": "1"}
        story = [sys.executable, str(HERE / "story.py"), address]
        return subprocess.run(story, cwd=ROOT, env=environment, timeout=SECONDS).returncode


@contextlib.contextmanager
def _mock(command: list[str]) -> Generator[str]:
    """The address of a mock server that runs until the block ends."""
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert server.stdout is not None
    killer = threading.Timer(SECONDS, server.kill)
    killer.start()
    try:
        address = server.stdout.readline().strip()
        killer.cancel()
        if address:
            yield address
    finally:
        server.terminate()
        _, log = server.communicate(timeout=SECONDS)
    if not address:
        raise SystemExit(f"the mock server did not start:\n{log}")
    _say(f"\nThe server counted {len(log.splitlines())} requests and has stopped.")


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
