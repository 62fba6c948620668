"""What is stored of a view: sites, their days, and how often each person was shown.

Nothing of a visitor is stored, and what strangers can make the service store is bounded.
"""

import sqlite3
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

NEW_SITES_A_DAY = 200
SITES = 20_000  # with the longest host names 12 MB
KEPT_DAYS = 400  # how long views are kept per site and day; 24 bytes each, 200 MB at most

VIEWS_BY_SITE = (  # from :first_day on, most seen first
    "SELECT host AS site, summed.views, first, last FROM"
    " (SELECT site, sum(views) AS views, min(day) AS first, max(day) AS last"
    " FROM site_day WHERE day >= :first_day GROUP BY site) AS summed"
    " JOIN site ON number = summed.site ORDER BY summed.views DESC, host"
)

Key = tuple[str, str, str]  # day, site, person


def utc_day(days_ago: int = 0) -> str:
    """Today in UTC, or some days ago, such as 2026-01-31."""
    return (datetime.now(UTC).date() - timedelta(days=days_ago)).isoformat()


def write_views(db: sqlite3.Connection, batch: Mapping[Key, int]) -> None:
    """Add `batch` to the tables, but for ids that are nobody's and for new sites over a limit.
    The caller has begun a transaction."""
    values = {"room": max(0, room_for_sites(db)), "first_kept": utc_day(KEPT_DAYS - 1)}
    db.execute("CREATE TEMP TABLE batch (day TEXT, host TEXT, person TEXT, views INTEGER)")
    rows = [(*key, views) for key, views in batch.items()]
    db.executemany("INSERT INTO batch VALUES (?, ?, ?, ?)", rows)
    for statement in (
        "UPDATE batch SET person = known.person FROM known WHERE known.id = batch.person",
        # A person who was found a moment ago was shown all the same.
        "DELETE FROM batch WHERE person NOT IN (SELECT id FROM person)"
        " AND person NOT IN (SELECT id FROM found)",
        "INSERT INTO site (host, first_day, views) SELECT host, min(day), 0 FROM batch"
        " WHERE host NOT IN (SELECT host FROM site) GROUP BY host LIMIT :room",
        "DELETE FROM batch WHERE host NOT IN (SELECT host FROM site)",
        "INSERT INTO site_day SELECT day, number, sum(batch.views) FROM batch"
        " JOIN site USING (host) GROUP BY day, number"
        " ON CONFLICT DO UPDATE SET views = views + excluded.views",
        "UPDATE site SET views = views + more FROM"
        " (SELECT host AS shown_on, sum(views) AS more FROM batch GROUP BY host)"
        " WHERE host = shown_on",
        "UPDATE total SET views = views + (SELECT coalesce(sum(views), 0) FROM batch)",
        "INSERT INTO person_views SELECT person, sum(views) FROM batch GROUP BY person"
        " ON CONFLICT DO UPDATE SET views = views + excluded.views",
        "DELETE FROM site_day WHERE day < :first_kept",
    ):
        db.execute(statement, values)


def room_for_sites(db: sqlite3.Connection) -> int:
    """How many more sites can be new today; 0 or less for none."""
    sql = "SELECT min(? - count(*), ? - count(*) FILTER (WHERE first_day = ?)) FROM site"
    return int(db.execute(sql, [SITES, NEW_SITES_A_DAY, utc_day()]).fetchone()[0])
