"""Raw waitress with a constant body: PORT BYTES. As app.py runs it: its settings, one CPU."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import app

port, size = int(sys.argv[1]), int(sys.argv[2])
BODY = b"x" * size
HEADERS = [("Content-Type", "application/json"), ("Content-Length", str(size))]
HEADERS += [("Cache-Control", "no-store"), *app.COMMON_HEADERS]


def constant(environ, start_response):
    start_response("200 OK", HEADERS)
    return [BODY]


if "--any-cpu" not in sys.argv:
    app.use_one_cpu(port)
app.log_to_stderr(app.logging.ERROR)
app.waitress.create_server(constant, host="127.0.0.1", port=port, **app.WAITRESS).run()
