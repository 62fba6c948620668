"""Read an official register of missing children from its web pages.

    registers/demo.toml --profile.py--> Profile
    address --fetch.py--> Page --text.py--> Document
    Document of a list page --pages.py--> Card, one for each person
    Card + Document of the file page --record.py--> Person
    all of it: reading.py, read_register(fetcher, progress) -> Reading
    addresses of photos --images.py--> small JPEGs

For each field, the profile has ways to its text: ways.py follows them through a document, and
values.py makes a name, place, date or age of the text.

    To change                                        open
    what a profile may say                           profile.py, registers/README.md
    robots.txt, pauses, retries, redirects           fetch.py
    how an address is resolved or stored             address.py
    encodings, visible text, labels                  text.py
    selectors, patterns, stamps, unused parts        ways.py
    how a date, an age or a name is understood       values.py
    paging, where a list ends, when it is read again pages.py
    whose a file page is, who is excluded, fields    record.py
    one card for each file, the order of a reading   reading.py
    which images are refused, what becomes of them   images.py

Each file imports only files that stand before it here: address, profile, fetch, images, text,
values, ways, record, pages, reading. Person and Reading are declared in person.py. Nothing here
knows the database, and no error or log line names a person.
"""
