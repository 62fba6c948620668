-- schema.sql of version 2, for the test that a database of it is taken over.

BEGIN IMMEDIATE;

-- The persons still sought, as the register lists them: what the API shows.
CREATE TABLE IF NOT EXISTS person (
    position INTEGER PRIMARY KEY,  -- ours: 1, 2, 3 ... newest fecha first, then id
    id       TEXT NOT NULL UNIQUE, -- ours: the register's name, "-", a number made of the url
    nombre   TEXT NOT NULL,
    fecha    TEXT NOT NULL,        -- DD/MM/YYYY
    edad     TEXT NOT NULL,        -- "15 años", "1 año", "7 meses", "1 mes"
    lugar    TEXT NOT NULL,        -- "locality, region", or one of the two
    foto     TEXT NOT NULL,        -- https address
    url      TEXT NOT NULL         -- https address of the official file
) STRICT;

-- Changes with every change of the list. app.py holds the list in memory for as long as this is
-- what it was (generation.py).
CREATE TABLE IF NOT EXISTS generation (
    value BLOB NOT NULL
) STRICT;
INSERT INTO generation SELECT randomblob(16) WHERE NOT EXISTS (SELECT 1 FROM generation);
CREATE TRIGGER IF NOT EXISTS person_added AFTER INSERT ON person
BEGIN UPDATE generation SET value = randomblob(16); END;
CREATE TRIGGER IF NOT EXISTS person_changed AFTER UPDATE ON person
BEGIN UPDATE generation SET value = randomblob(16); END;
CREATE TRIGGER IF NOT EXISTS person_removed AFTER DELETE ON person
BEGIN UPDATE generation SET value = randomblob(16); END;

-- Who was listed once and no longer is. Only the opaque id stays, to be counted.
CREATE TABLE IF NOT EXISTS found (
    id TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- Who must never be shown, whatever the register says (sync.py --hide).
CREATE TABLE IF NOT EXISTS hidden (
    id TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- How often sites showed a person. app.py adds to it; nothing of the visitor is stored.
CREATE TABLE IF NOT EXISTS view (
    day    TEXT NOT NULL,          -- UTC, YYYY-MM-DD
    site   TEXT NOT NULL,          -- host name: lower case, IDNA, no port
    person TEXT NOT NULL,          -- id of a person who was active at that time; '' on days
                                   -- long past, whose views sync.py adds up per site
    views  INTEGER NOT NULL,
    PRIMARY KEY (day, site, person)
) STRICT, WITHOUT ROWID;

-- Every synchronisation that was begun. Counts are NULL where it did not get so far.
CREATE TABLE IF NOT EXISTS run (
    id         INTEGER PRIMARY KEY,
    started    TEXT NOT NULL,
    ended      TEXT,
    outcome    TEXT NOT NULL       -- a run that died is "running" until the next one, or the
                                   -- service that started it, calls it "killed"
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

PRAGMA user_version = 2;

COMMIT;
