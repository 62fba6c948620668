-- The database of one register, version 3. store/database.py runs this file on a new database.
-- sync.py writes everything but the views; app.py reads everything and writes the views, what the
-- panel hides, and the end of a run that could not record it. Times are UTC in ISO 8601 (2026-01-31T03:00:00Z).

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

-- The photos that the API gives at /foto/ID, each as long as its person is in `person` with the
-- same `nombre`, `fecha` and `foto` (store/photos.py, delete_photos): an address may come to stand
-- for another child.
CREATE TABLE IF NOT EXISTS photo (
    person   TEXT PRIMARY KEY,     -- id
    nombre   TEXT NOT NULL,
    fecha    TEXT NOT NULL,
    foto     TEXT NOT NULL,        -- the address that it came from
    asked    INTEGER NOT NULL,     -- number of a good run; of a new photo earlier: so they spread
    digest   TEXT NOT NULL,        -- of the register's bytes: a JPEG's would change with Pillow
    jpeg     BLOB                  -- NULL: refused, since it is another child's too
) STRICT;

CREATE INDEX IF NOT EXISTS photo_digest ON photo (digest);

CREATE VIEW IF NOT EXISTS good_runs AS
SELECT count(*) AS count FROM run WHERE outcome = 'ok';

-- Persons who were listed once and no longer are. Only the opaque id stays, to be counted.
CREATE TABLE IF NOT EXISTS found (
    id    TEXT PRIMARY KEY,
    since TEXT                     -- NULL after a week
) STRICT, WITHOUT ROWID;

-- Who had a stamp such as "FUE ENCONTRADA" in the last good run, stored once or not.
CREATE TABLE IF NOT EXISTS stamped (
    id   TEXT PRIMARY KEY,
    name TEXT NOT NULL             -- a keyed hash of the name, "" for none
) STRICT, WITHOUT ROWID;

-- The ids that persons had before they moved, or have on a second card.
CREATE TABLE IF NOT EXISTS former (
    id     TEXT PRIMARY KEY,
    person TEXT                    -- the id now; NULL: it has stood for two children
) STRICT, WITHOUT ROWID;

-- Persons who are listed, but could not be read in the last runs: shown for 14 days, if stored.
CREATE TABLE IF NOT EXISTS unread (
    id    TEXT PRIMARY KEY,
    since TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Persons who must never be shown, whatever the register says (sync.py --hide, /panel).
CREATE TABLE IF NOT EXISTS hidden (
    id      TEXT PRIMARY KEY,
    watched INTEGER NOT NULL,      -- 1: note when the person is missing and somebody is new
    since   TEXT NOT NULL,
    by      TEXT NOT NULL          -- "panel" or "server"
            CHECK (by IN ('panel', 'server')),
    told    INTEGER NOT NULL DEFAULT 0 -- 1: an alert has named it
) STRICT, WITHOUT ROWID;

-- By what they are recognised under another address (store/hidden.py). Whoever holds this file can
-- test whether a name that they guess is among them.
CREATE TABLE IF NOT EXISTS hidden_mark (
    mark TEXT NOT NULL,            -- an id, or a hash of a date, a name, a photo's address
    id   TEXT NOT NULL,            -- in `hidden`
    PRIMARY KEY (mark, id)
) STRICT, WITHOUT ROWID;

-- The key of these hashes: one row.
CREATE TABLE IF NOT EXISTS secret (
    key BLOB NOT NULL
) STRICT;
INSERT INTO secret SELECT randomblob(32) WHERE NOT EXISTS (SELECT 1 FROM secret);

-- The sites that showed a person, and how often in all. Nothing of a visitor is stored.
CREATE TABLE IF NOT EXISTS site (
    number    INTEGER PRIMARY KEY AUTOINCREMENT, -- never given again
    host      TEXT NOT NULL UNIQUE, -- lower case, IDNA, no port
    first_day TEXT NOT NULL,        -- UTC, YYYY-MM-DD
    views     INTEGER NOT NULL,
    last_day  TEXT NOT NULL DEFAULT '' -- the site unseen for longest makes room
) STRICT;

-- The sum of these views, in one row: adding up 20,000 sites takes a millisecond.
CREATE TABLE IF NOT EXISTS total (
    views INTEGER NOT NULL
) STRICT;
INSERT INTO total SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM total);

-- How often each site showed somebody on each of the last days with views (store/views.py, KEPT_DAYS).
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
               CHECK (outcome IN ('running', 'ok', 'withheld', 'refused', 'failed', 'killed')),
    listed     INTEGER,            -- persons listed, readable or not
    added      INTEGER,
    found      INTEGER,
    moved      INTEGER,            -- persons whose file has a new address
    unreadable INTEGER,
    start      TEXT,               -- the profile's start addresses
    matched_parts TEXT,            -- the parts of the profile that matched something
    warnings   TEXT NOT NULL DEFAULT '', -- "hidden", "stamp", "list": for an alert
    reason     TEXT,               -- why not ok, or what --force overrode; never a person's data
    restored   INTEGER NOT NULL DEFAULT 0 -- 1: of a copy: its list is not here
) STRICT;

-- The end of the last good synchronisation, and whether its list may still be shown; no row before
-- the first, nor after a restore.
CREATE VIEW IF NOT EXISTS last_good AS
SELECT ended, ended > strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-14 days') AS is_fresh
FROM run WHERE outcome = 'ok' AND NOT restored ORDER BY id DESC LIMIT 1;

-- To whom an id leads, now or formerly.
CREATE VIEW IF NOT EXISTS known AS
SELECT id, id AS person FROM person
UNION ALL
SELECT former.id, former.person FROM former JOIN person ON person.id = former.person
WHERE former.id NOT IN (SELECT id FROM person);

-- What the API shows.
CREATE VIEW IF NOT EXISTS shown AS
SELECT * FROM person WHERE (SELECT is_fresh FROM last_good);

-- How many persons that is: positions have no gap.
CREATE VIEW IF NOT EXISTS active AS
SELECT coalesce((SELECT position FROM shown ORDER BY position DESC LIMIT 1), 0) AS count;

PRAGMA user_version = 3;
