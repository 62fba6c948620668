-- schema.sql of version 3, for the test that a database of it is taken over.
-- The database of one register, version 3. store.py runs this file on a new database, and on
-- an older one once its persons and views are out of the way. sync.py writes everything but the
-- views; app.py reads everything and writes the views, and the end of a run that could not record
-- it. Times are UTC in ISO 8601 (2026-01-31T03:00:00Z).

-- The persons still sought, as the register lists them: what the API shows.
CREATE TABLE IF NOT EXISTS person (
    position INTEGER PRIMARY KEY,  -- ours: 1, 2, 3 ... without a gap; newest fecha first, then id
    id       TEXT NOT NULL UNIQUE, -- ours: the register's name, "-", a number made of the url
    nombre   TEXT NOT NULL,
    fecha    TEXT NOT NULL,        -- DD/MM/YYYY
    edad     TEXT NOT NULL,        -- "15 años", "1 año", "7 meses", "1 mes"
    lugar    TEXT NOT NULL,        -- "locality, region", or one of the two
    foto     TEXT NOT NULL,        -- https address
    url      TEXT NOT NULL,        -- https address of the official file
    region   TEXT NOT NULL,        -- ours: the end of lugar in a form that can be compared
    json     TEXT NOT NULL AS (    -- what the API sends
        json_object('id', id, 'nombre', nombre, 'fecha', fecha, 'edad', edad, 'lugar', lugar,
                    'foto', foto, 'url', url)
    ) STORED
) STRICT;

CREATE INDEX IF NOT EXISTS person_region ON person (region);

-- Persons who were listed once and no longer are. Only the opaque id stays, to be counted.
CREATE TABLE IF NOT EXISTS found (
    id TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- Persons who must never be shown, whatever the register says (sync.py --hide).
CREATE TABLE IF NOT EXISTS hidden (
    id TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- The sites that showed a person, and how often in all (views.py). Nothing of a visitor is stored.
CREATE TABLE IF NOT EXISTS site (
    number    INTEGER PRIMARY KEY,
    host      TEXT NOT NULL UNIQUE, -- lower case, IDNA, no port
    first_day TEXT NOT NULL,        -- UTC, YYYY-MM-DD
    views     INTEGER NOT NULL
) STRICT;

-- How often each site showed somebody on each of the last days (views.py, KEPT_DAYS).
CREATE TABLE IF NOT EXISTS site_day (
    day   TEXT NOT NULL,            -- UTC, YYYY-MM-DD
    site  INTEGER NOT NULL,         -- its number
    views INTEGER NOT NULL,
    PRIMARY KEY (day, site)
) STRICT, WITHOUT ROWID;

-- How often each person was shown, in all.
CREATE TABLE IF NOT EXISTS person_views (
    person TEXT PRIMARY KEY,        -- id of a person who was active at that time
    views  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Every synchronisation that was begun. Counts are NULL where it did not get so far.
CREATE TABLE IF NOT EXISTS run (
    id         INTEGER PRIMARY KEY,
    started    TEXT NOT NULL,
    ended      TEXT,
    outcome    TEXT NOT NULL       -- a crashed run may be "running" until the next one starts
               CHECK (outcome IN ('running', 'ok', 'refused', 'failed', 'killed')),
    listed     INTEGER,            -- persons listed, readable or not
    added      INTEGER,
    found      INTEGER,
    unreadable INTEGER,
    reason     TEXT                -- why it was refused or failed; never a person's data
) STRICT;

-- The end of the last good synchronisation; no row before the first.
CREATE VIEW IF NOT EXISTS last_good AS
SELECT ended FROM run WHERE outcome = 'ok' ORDER BY id DESC LIMIT 1;

PRAGMA user_version = 3;
