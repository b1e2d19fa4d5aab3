"""A server on loopback that answers each `GET /items/N` with that item, and `GET /count` with how many it answered.

It prints its address and runs until its input ends.
"""

from __future__ import annotations

import asyncio

from loopback import Connection, answer_with, serve


class Counting(Connection):
    """It answers after 5 ms, and counts."""

    count = 0

    def asked(self, requests: list[bytes]) -> None:
        for request in requests:
            path = request.split(b" ", 2)[1]
            if path == b"/count":
                self.send(answer_with(b"%d" % Counting.count))
            else:
                Counting.count += 1
                item = answer_with(b'{"id":%b}' % path.rpartition(b"/")[2])
                asyncio.get_running_loop().call_later(0.005, self.send, item)


if __name__ == "__main__":
    asyncio.run(serve(Counting, "http://127.0.0.1:{}"))
