"""app.py --doctor: what its user can see, "ok: ..." or "!!: ...", in Spanish / English.

It decides no start. Of a secret it tells only whether it is set.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from datetime import UTC, datetime
from http.client import HTTPConnection, HTTPException
from typing import Any

from serve.alerts import ADVICE, HEADLINES, Alerts, local_text
from serve.nightly import HOUR, Synchroniser
from serve.views import Views
from settings import HERE, SECRETS, VERSION, Settings, read_settings
from store.database import DatabaseUnavailable, Reader, utc_text


def examine(environ: Mapping[str, str], send_alert: bool) -> int:
    """Print a line for each thing; 1 if one is wrong, else 0."""
    wrong = 0
    try:
        for is_well, text in findings(environ, send_alert):
            print(f"{'ok' if is_well else '!!'}: {text}", flush=True)
            wrong |= not is_well
    except DatabaseUnavailable as error:
        print(f"!!: DATABASE: {error} ({ADVICE})")
        wrong = 1
    return wrong


def findings(environ: Mapping[str, str], send_alert: bool) -> Iterator[tuple[bool, str]]:
    """Each thing: whether it is well, and what it is or what to do."""
    yield True, f"persona404 {VERSION}"
    check = [sys.executable, str(HERE / "app.py"), "--check"]
    checked = subprocess.run(check, env=environ, capture_output=True, text=True)
    for line in checked.stderr.splitlines():
        yield False, f"corrige / correct: {line}"
    if checked.returncode:
        return
    settings = read_settings(environ)
    secrets = [f"{name} {'sí / set' if environ.get(name) else 'no'}" for name in sorted(SECRETS)]
    yield True, f"{settings.profile.name}, {settings.database}, {', '.join(secrets)}"
    health = ask_health(settings)
    said = [health.get("version", "no responde / no answer"), health.get("detail", "")]
    said += ["(systemctl restart persona404)"] if said[0] != VERSION else []
    yield said == [VERSION, ""], f"PORT {settings.port}: {' '.join(filter(None, said))}"
    reader, clock = Reader(settings.database), Synchroniser(settings.database)
    alerts = Alerts(settings, reader, Views(settings.database), clock)
    last_sync = alerts.last_sync()
    for fault in alerts.find_faults(last_sync):
        yield False, f"{fault.name}: {HEADLINES[fault.name]} {fault.sentence} ({ADVICE})"
    if last_sync:
        age = (datetime.now(UTC) - datetime.fromisoformat(last_sync)) // HOUR
        yield True, f"última lectura correcta / last good run: {local_text(last_sync)}, {age} h"
    at = settings.sync_at
    start = local_text(utc_text(clock.next_start(at))) if at else "SYNC_AT=off: systemd, cron"
    yield True, f"próxima lectura / next run: {start}"
    hidden = [id for (id,) in reader.select("SELECT id FROM hidden ORDER BY since")]
    yield True, f"personas ocultas / hidden: {' '.join(hidden) or 0}"
    if send_alert:
        sent = alerts.tell("doctor", ["Una prueba. / A test."])
        yield sent, "ALERT_URL: " + ("mensaje enviado / sent" if sent else "no lo tomó / not sent")


def ask_health(settings: Settings) -> dict[str, Any]:
    """What the running service says of itself; {} where there is none."""
    service = HTTPConnection(settings.host, settings.port, timeout=5)
    with closing(service), suppress(OSError, HTTPException, ValueError):
        service.request("GET", "/health")
        return dict(json.loads(service.getresponse().read()))
    return {}
