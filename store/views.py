"""What is stored of a view: sites, their days, and how often each person was shown.

Nothing of a visitor is stored, and what strangers can make the service store is bounded.
"""

import sqlite3
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

NEW_SITES_A_DAY = 200
SITES = 20_000  # with the longest host names 12 MB
SITE_DAYS = 30  # so long after a view a site keeps its place
KEPT_DAYS = 400  # the last ones with views; 24 bytes for each and each site, 200 MB at most

VIEWS_BY_SITE = (  # from :first_day on, most seen first
    "SELECT host AS site, summed.views, first, last FROM"
    " (SELECT site, sum(views) AS views, min(day) AS first, max(day) AS last"
    " FROM site_day WHERE day BETWEEN :first_day AND date('now') GROUP BY site) AS summed"
    " JOIN site ON number = summed.site ORDER BY summed.views DESC, host"
)

Key = tuple[str, str, str]  # day, site, person


def utc_day(days_ago: int = 0) -> str:
    """Today in UTC, or some days ago, such as 2026-01-31."""
    return (datetime.now(UTC).date() - timedelta(days=days_ago)).isoformat()


def write_views(db: sqlite3.Connection, batch: Mapping[Key, int]) -> None:
    """Add `batch` to the tables, but for ids that are nobody's and for new sites over a limit.
    The caller has begun a transaction. Past SITES, a new site takes the place of the one unseen for
    longest, for SITE_DAYS at least. The last KEPT_DAYS days with views stay, whatever their dates:
    a clock may be wrong."""
    values = {"room": max(0, room_for_sites(db)), "sites": SITES, "days": KEPT_DAYS}
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
        "UPDATE site SET views = views + more, last_day = day FROM"
        " (SELECT host AS shown_on, sum(views) AS more, max(day) AS day FROM batch GROUP BY host)"
        " WHERE host = shown_on",
        "UPDATE total SET views = views + (SELECT coalesce(sum(views), 0) FROM batch)",
        "INSERT INTO person_views SELECT person, sum(views) FROM batch GROUP BY person"
        " ON CONFLICT DO UPDATE SET views = views + excluded.views",
        "DELETE FROM site WHERE number IN (SELECT number FROM site ORDER BY last_day"
        " LIMIT max(0, (SELECT count(*) FROM site) - :sites))",
        "WITH RECURSIVE kept (day, count) AS (SELECT max(day), 1 FROM site_day UNION ALL"
        " SELECT (SELECT max(day) FROM site_day WHERE day < kept.day), count + 1 FROM kept"
        " WHERE count < :days)"
        " DELETE FROM site_day WHERE day < (SELECT day FROM kept WHERE count = :days)",
    ):
        db.execute(statement, values)


def room_for_sites(db: sqlite3.Connection) -> int:
    """How many more sites can be new today; 0 or less for none."""
    sql = (
        "SELECT min(:sites - count(*) FILTER (WHERE last_day > :recent),"
        " :new - count(*) FILTER (WHERE first_day = :today)) FROM site"
    )
    values = {"sites": SITES, "new": NEW_SITES_A_DAY, "today": utc_day()}
    values["recent"] = utc_day(SITE_DAYS)
    return int(db.execute(sql, values).fetchone()[0])
