"""The job of the front table for a client that openapi-python-client generated. It runs with the peers' Python."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, sys.argv[1])

import httpx
from front_shapes import answers
from serve import Run, serve, timed

theirs: Any = importlib.import_module("theirs_client")
orders_list: Any = importlib.import_module("theirs_client.api.orders.orders_list")


def page(share: float) -> Run:
    bodies = answers("page", share, "")

    class Memory(httpx.BaseTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            return httpx.Response(200, headers={"content-type": "application/json"}, content=next(bodies))

    client = theirs.Client(base_url="https://api.test", httpx_args={"transport": Memory()})
    return timed(lambda: orders_list.sync(client=client))


serve({"page": page})
