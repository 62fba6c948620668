"""Raw waitress with a constant body, and nothing else of the service: PORT BYTES SETTINGS.

SETTINGS is JSON: waitress' own settings, the headers to send, and whether to keep to one CPU."""

import json
import logging
import os
import sys

import waitress

port, size, settings = int(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3])
BODY = b"x" * size
HEADERS = [(name, value) for name, value in settings["headers"]]
HEADERS += [("Content-Length", str(size))]


def constant(environ, start_response):
    start_response("200 OK", HEADERS)
    return [BODY]


if settings["one_cpu"]:
    cpus = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cpus[port % len(cpus)]})
logging.basicConfig(level=logging.ERROR)
waitress.create_server(constant, host="127.0.0.1", port=port, **settings["waitress"]).run()
