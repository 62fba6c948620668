"""A web server that tests can break: a real one, and one without sockets."""

import io
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

import pytest
import requests

from support import TLS


class Answer(NamedTuple):
    status: int = 200
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "text/html; charset=utf-8"),)


class Pages:
    """What a web server has. `pages` maps a path with its query (of a POST with its form behind
    another "?", or without it) to an Answer, or to a function that is called with the request's
    handler, and answers by itself where it returns None; anything else is 404."""

    host: str

    def __init__(self) -> None:
        self.pages: dict[str, Answer | Callable[[BaseHTTPRequestHandler], Answer | None]] = {}
        self.asked: list[str] = []

    def answer(self, path: str, form: str, handler: BaseHTTPRequestHandler) -> Answer | None:
        """The answer to a request, which is noted."""
        asked = path + form
        self.asked.append(asked)
        answer = self.pages.get(asked) or self.pages.get(path) or Answer(404)
        return answer(handler) if callable(answer) else answer

    def put(self, path: str, html: str) -> None:
        self.pages[path] = Answer(body=html.encode())

    def edit(self, path: str, old: str, new: str) -> None:
        """Change a page that is there; it must hold `old`."""
        page = self.pages[path]
        assert isinstance(page, Answer)
        assert old.encode() in page.body
        self.pages[path] = page._replace(body=page.body.replace(old.encode(), new.encode()))


class Web(Pages):
    """A real HTTP server on loopback."""

    def __init__(self) -> None:
        super().__init__()
        self.agents: set[str] = set()
        self.referers: set[str | None] = set()
        web = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = 65536  # an answer in one piece: two wait for each other 40 ms

            def do_POST(self) -> None:
                self.reply("?" + self.rfile.read(int(self.headers["Content-Length"])).decode())

            def do_GET(self) -> None:
                self.reply("")

            def reply(self, form: str) -> None:
                web.agents.add(self.headers["User-Agent"])
                web.referers.add(self.headers["Referer"])
                answer = web.answer(self.path, form, self)
                if answer is None:
                    return
                self.send_response(answer.status)
                for name, value in answer.headers:
                    self.send_header(name, value)
                if not any(name == "Content-Length" for name, _ in answer.headers):
                    self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.host = f"127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=[0.01])
        self.thread.start()

    def use_tls(self) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(TLS / "cert.pem", TLS / "key.pem")
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


class NoSockets(Pages):
    """Answers what this process asks for by requests: half of the time that HTTP takes. For tests
    in which HTTP does not matter; a page that is a function gets no handler."""

    host = "127.0.0.1:1"

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        monkeypatch.setattr(requests.Session, "request", self.request)

    def request(
        self, method: str, url: str, data: dict[str, str] | None = None, **_: Any
    ) -> requests.Response:
        _, host, path, query, _ = urlsplit(url)
        assert host == self.host
        form = "" if data is None else f"?{urlencode(data)}"
        answer = self.answer(f"{path}?{query}" if query else path, form, None)
        response = requests.Response()
        response.url, response.status_code = url, answer.status
        response.headers.update(answer.headers)
        response.raw = io.BytesIO(answer.body)
        return response


class HeldPage:
    """A page that answers only when it is released."""

    def __init__(self, web: Web, path: str):
        self.reached, self.release = threading.Event(), threading.Event()
        self.page = web.pages[path]
        web.pages[path] = self.answer

    def answer(self, _: BaseHTTPRequestHandler) -> Answer:
        self.reached.set()
        assert self.release.wait(30)
        assert isinstance(self.page, Answer)
        return self.page
