"""The JavaScript peers: installed from npm into an ignored folder, run as workers, where Node is there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import Final

from measure import PLACES, Worker
from shapes import WORK

PACKAGES: Final = {"@data-client/core": "0.10.0", "@data-client/endpoint": "0.9.9", "@data-client/normalizr": "0.18.1"}


class NodePeers:
    """Where the peers are, or why they are not there."""

    def __init__(self) -> None:
        self.folder = WORK / "npm"
        self.absent = ""
        self._node = shutil.which("node")
        npm = shutil.which("npm")
        if self._node is None or npm is None:
            self.absent = "Node is not there: compared with nothing in JavaScript."
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        wanted = json.dumps({"private": True, "dependencies": PACKAGES}, indent=1)
        manifest = self.folder / "package.json"
        done = self.folder / "node_modules" / ".done"
        if not done.exists() or done.read_text(encoding="utf-8") != wanted:
            manifest.write_text(wanted, encoding="utf-8")
            print("installing the npm peers into .bench/npm", flush=True)
            found = subprocess.run(  # npm, with the versions above
                [npm, "install", "--no-audit", "--no-fund", "--silent"],
                cwd=self.folder,
                capture_output=True,
                text=True,
                timeout=300,
            )
            if found.returncode:
                self.absent = f"npm could not install the peers: {found.stderr.strip()[-300:]}"
                return
            done.write_text(wanted, encoding="utf-8")
        for file in (PLACES / "peers").glob("*.mjs"):
            shutil.copy(file, self.folder / file.name)

    def worker(self) -> Worker | None:
        """A worker with the jobs of the peers; None where they are not there."""
        if self.absent or self._node is None:
            return None
        command = [self._node, str(self.folder / "store.mjs")]
        return Worker("node", command, cwd=self.folder, env={**os.environ, "NODE_ENV": "production"})
