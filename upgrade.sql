-- What store.py runs after schema.sql on a database of version 1 or 2: its views, a row for each
-- day, site and person, are added up into the tables of version 3.

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
