"""Read an official register of missing children from its web pages.

    registers/demo.toml --profile.py--> Profile
    address --fetch.py--> Page --document.py--> Document
    Document of a list page --cards.py--> Card, one for each person
    Card + Document of the file page --record.py--> Person
    all of it: reading.py, read_register(fetcher, progress) -> Reading
    addresses of photos --images.py--> small JPEGs

For each field, the profile has ways to its text: ways.py follows them through a document, and
values.py makes a name, place, date or age of the text.

    To change                                        open
    how an address is resolved or stored             address.py
    what a profile may say                           profile.py, registers/README.md
    robots.txt, pauses, retries, redirects           fetch.py

    which images are refused, what becomes of them   images.py
    encodings, visible text, labels                  document.py
    how a date, an age or a name is understood       values.py
    selectors, patterns, stamps, unused parts        ways.py
    what a card says, which link is a file page's    cards.py
    where a list ends: linked_pages, numbered_pages  paging.py
    when a list is read again: read_list, read_once  paging.py
    whose a file page is, who is excluded, fields    record.py
    one card for each file, the order of a reading   reading.py

Each file imports only files that stand above it in this table. Person and Reading are declared in
model.py. Nothing here knows the database, and no error or log line names a person.
"""
