"""A small honest server: PUT replaces, PATCH merges, DELETE answers nothing, pages come in three styles.

It speaks over real sockets, each connection on a thread of its own, and holds nothing but four tables of notes.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from tests.patience import PATIENCE

Json = Any
Row = dict[str, Json]

TABLES: Final = ("plain", "numbered", "shifted", "walked")
SIZE: Final = 3
"""Members of a page."""


class Honest:
    """The tables, and how they answer. `slow` is a pause in seconds before the next answers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.tables: dict[str, dict[int, Row]] = {}
        self.slow = 0.0
        self.reset()

    def reset(self) -> None:
        """Seven notes in each table."""
        with self._lock:
            self.slow = 0.0
            self._next = 8
            self.tables = {table: {pk: _note(pk) for pk in range(1, 8)} for table in TABLES}

    def answer(self, method: str, target: str, body: Json) -> tuple[int, Json]:
        """Status and body of the answer; None for an answer without a body."""
        url = urlsplit(target)
        table, _, pk = url.path.strip("/").partition("/")
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        if self.slow:
            time.sleep(self.slow)
        with self._lock:
            if table not in self.tables or (pk and not pk.isdigit()):
                return 404, {"error": "no such place"}
            if not pk:
                return self._list(table, query) if method == "GET" else self._create(table, body)
            return self._one(method, table, int(pk), body)

    def _list(self, table: str, query: dict[str, str]) -> tuple[int, Json]:
        rows = [dict(row) for row in self.tables[table].values()]
        if "done" in query:
            rows = [row for row in rows if row["done"] == (query["done"] == "true")]
        if "rank" in query:
            rows = [row for row in rows if str(row["rank"]) == query["rank"]]
        if "order" in query:
            rows.sort(key=lambda row: (str(row.get(query["order"])), row["id"]))
        if table == "plain" or "all" in query:
            return 200, rows
        if table == "numbered":
            start = (int(query.get("page", "1")) - 1) * SIZE
            return (200, rows[start : start + SIZE]) if start < max(len(rows), 1) else (404, {"error": "no such page"})
        if table == "shifted":
            start = int(query.get("offset", "0"))
            return 200, {"results": rows[start : start + SIZE]}
        before = int(query.get("cursor", "0"))
        after = [row for row in rows if row["id"] > before]
        following = str(after[SIZE - 1]["id"]) if len(after) > SIZE else None
        return 200, {"results": after[:SIZE], "next": following}

    def _create(self, table: str, body: Row) -> tuple[int, Json]:
        if len(str(body.get("title", ""))) > 5:
            return 400, {"title": "too long"}
        pk, self._next = self._next, self._next + 1
        self.tables[table][pk] = {**_plain(), **body, "id": pk}
        return 201, self.tables[table][pk]

    def _one(self, method: str, table: str, pk: int, body: Json) -> tuple[int, Json]:
        rows = self.tables[table]
        if pk not in rows:
            return 404, {"error": "no such note"}
        if method in ("PUT", "PATCH") and len(str(body.get("title", ""))) > 5:
            return 400, {"title": "too long"}
        if method == "DELETE":
            del rows[pk]
            return 204, None
        if method == "PUT":
            rows[pk] = {**_plain(), **body, "id": pk}
        elif method == "PATCH":
            rows[pk] = {**rows[pk], **body, "id": pk}
        return 200, rows[pk]


def _plain() -> Row:
    return {"title": "", "done": False, "rank": 0}


def _note(pk: int) -> Row:
    return {"id": pk, "title": f"t{pk}", "done": pk % 3 == 0, "rank": pk % 2, "note": f"n{pk}"}


@contextmanager
def served(honest: Honest) -> Generator[str]:
    """The address of the server, until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def _handle(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            text = self.rfile.read(length)
            status, said = honest.answer(self.command, self.path, json.loads(text) if text else None)
            content = b"" if said is None else json.dumps(said).encode()
            self.send_response(status)
            if said is not None:
                self.send_header("Content-Type", "application/json")
            if status != 204:
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
            self.wfile.flush()

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _handle

        def log_message(self, format: str, *args: object) -> None:
            """Nothing is printed."""

    class Threads(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

        def handle_error(self, request: object, client_address: object) -> None:
            """Clients go away when they like."""

    server = Threads(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(PATIENCE)
