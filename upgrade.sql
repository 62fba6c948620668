-- What store.py runs after schema.sql on an older database. Its hidden persons and its runs stand
-- in old_hidden and old_run.

INSERT INTO hidden SELECT id, 1 FROM old_hidden;
INSERT INTO hidden_mark SELECT id, id FROM old_hidden;
DROP TABLE old_hidden;

INSERT INTO run (id, started, ended, outcome, listed, added, found, unreadable, reason)
SELECT id, started, ended, outcome, listed, added, found, unreadable, reason FROM old_run;
DROP TABLE old_run;

-- Version 1 and 2 have a row of views for each day, site and person; version 3 has none.
CREATE TABLE IF NOT EXISTS view (day, site, person, views);

CREATE TEMP TABLE old_day AS
SELECT day, site, sum(views) AS views FROM view GROUP BY day, site;

INSERT INTO site (host, first_day, views)
SELECT site, min(day), sum(views) FROM old_day GROUP BY site;

INSERT INTO site_day
SELECT day, number, old_day.views FROM old_day JOIN site ON host = old_day.site;

INSERT INTO person_views
SELECT person, sum(views) FROM view WHERE person <> '' GROUP BY person;

DROP TABLE old_day;

PRAGMA secure_delete = OFF; -- a view holds nothing of a person but the opaque id
DROP TABLE view;
PRAGMA secure_delete = ON;

DROP TABLE IF EXISTS generation;
