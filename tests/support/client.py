"""Clients that send requests for a while, in threads of their own."""

import http.client
import threading
import time
from collections import Counter
from contextlib import closing, suppress

from support.api import Reply, request


class Client(threading.Thread):
    """Asks for `path` over one connection, again and again, until it is stopped or the service is
    gone. Keeps when each request was answered (monotonic), how long it took, and the statuses."""

    def __init__(self, port: int, path: str = "/", **headers: str):
        super().__init__(daemon=True)
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.path, self.headers = path, headers
        self.stopped = threading.Event()
        self.sent = 0
        self.times: list[float] = []
        self.seconds: list[float] = []
        self.statuses: Counter[int] = Counter()

    def run(self) -> None:
        with closing(self.connection), suppress(OSError, http.client.HTTPException):
            while not self.stopped.is_set():
                self.turn()

    def turn(self) -> None:
        self.ask(self.path)

    def ask(self, path: str) -> Reply:
        began = time.monotonic()
        self.sent += 1
        reply = request(self.connection, path, **self.headers)
        self.times.append(time.monotonic())
        self.seconds.append(self.times[-1] - began)
        self.statuses[reply.status] += 1
        return reply

    def stop(self) -> None:
        self.stopped.set()
        self.join()
