"""A web server that tests can break."""

import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

from support import TLS


class Answer(NamedTuple):
    status: int = 200
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "text/html; charset=utf-8"),)


class Web:
    """A real HTTP server on loopback. `pages` maps a path with its query (of a POST with its
    form behind another "?", or without it) to an Answer, or to a function that is called with the
    request's handler, and answers by itself where it returns None; anything else is 404."""

    def __init__(self) -> None:
        self.pages: dict[str, Answer | Callable[[BaseHTTPRequestHandler], Answer | None]] = {}
        self.asked: list[str] = []
        self.agents: set[str] = set()
        self.referers: set[str | None] = set()
        web = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = 65536  # an answer in one piece: two wait for each other 40 ms

            def do_POST(self) -> None:
                form = self.rfile.read(int(self.headers["Content-Length"])).decode()
                self.reply(f"{self.path}?{form}")

            def do_GET(self) -> None:
                self.reply(self.path)

            def reply(self, asked: str) -> None:
                web.asked.append(asked)
                web.agents.add(self.headers["User-Agent"])
                web.referers.add(self.headers["Referer"])
                answer = web.pages.get(asked) or web.pages.get(self.path) or Answer(404)
                if callable(answer):
                    answer = answer(self)
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

    def put(self, path: str, html: str) -> None:
        self.pages[path] = Answer(body=html.encode())

    def edit(self, path: str, old: str, new: str) -> None:
        """Change a page that is there; it must hold `old`."""
        page = self.pages[path]
        assert isinstance(page, Answer)
        assert old.encode() in page.body
        self.pages[path] = page._replace(body=page.body.replace(old.encode(), new.encode()))

    def use_tls(self) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(TLS / "cert.pem", TLS / "key.pem")
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


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
