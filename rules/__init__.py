"""Decide what one reading of the register means. Pure: no database, no network, no clock.

    Stored, Reading, Hidden --compare.py--> Changes --judge.py--> "ok", "refused" or "withheld"

    To change                                             open
    when a listed and a stored person are the same child  matching.py
    who is found, moved, erased, kept though unreadable   compare.py
    why a night is refused or withheld, what --force does judge.py

judge.py imports compare.py, which imports matching.py; from outside, model.py and names.py alone.
sync.py calls judge.decide before its transaction, and again if the stored or hidden persons changed
meanwhile.
"""
