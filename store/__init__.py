"""All that is done to SQLite. No other room opens the database.

    path --open_database--> connection (or DatabaseUnavailable, which says why in plain words)
    Reader --select--> rows, one read-only connection a thread

    To change                                              open
    connections, pragmas, the run lock, names of faults    database.py, ../schema.sql
    what is read and written of the persons in a swap      persons.py
    how a hidden child is known, --hide, --unhide          hidden.py
    when a photo is due, kept or thrown away               photos.py
    what is on record of a run                             runs.py
    what is stored of a view, and its limits               views.py
    what a copy holds, --backup, --restore                 copies.py

A photo goes with its person: persons.py calls delete_photos of photos.py at each swap and hide.
hidden.py imports persons.py, which imports photos.py; each but views.py imports database.py. From
outside, they import model.py and names.py alone.
"""
