"""The job of the front table for a client that openapi-python-client generated. It runs with the peers' Python."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, sys.argv[1])

from answering import transport
from front_shapes import answers
from serve import Run, serve, timed

theirs: Any = importlib.import_module("theirs_client")
orders_list: Any = importlib.import_module("theirs_client.api.orders.orders_list")


def page(share: float) -> Run:
    client = theirs.Client(base_url="https://api.test", httpx_args={"transport": transport(answers("page", share))})
    return timed(lambda: orders_list.sync(client=client))


serve(page)
