"""What is wrong just now: /health says it, and alerts.py tells the operator."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from serve.nightly import Synchroniser
from serve.views import Views

STALE = timedelta(hours=36)
WAL_BYTES = 64_000_000


def faults(last_sync: str | None, views: Views, synchroniser: Synchroniser) -> dict[str, str]:
    """Why the list cannot be trusted or changed just now, by name, without secrets. `last_sync` is
    the end of the last good synchronisation."""
    wrong = {}
    if views.fault:
        wrong["views"] = f"The database cannot be written just now: {views.fault}."
    if synchroniser.fault:
        wrong["clock"] = synchroniser.fault
    age = datetime.now(UTC) - datetime.fromisoformat(last_sync) if last_sync else None
    if age is None:
        wrong["stale"] = "There was no good synchronisation yet; see lastRun."
    elif age > STALE:
        wrong["stale"] = "The last good synchronisation is over 36 hours old; see lastRun."
    elif age < -timedelta(minutes=1):
        wrong["stale"] = "The last synchronisation is dated in the future: was the clock wrong?"
    with suppress(OSError):
        size = Path(f"{views.database.resolve()}-wal").stat().st_size
        if size > WAL_BYTES:
            wrong["wal"] = f"The write-ahead log has {size // 10**6} MB: a program keeps reading."
    return wrong
