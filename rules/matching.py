"""Whether a stored and a listed person are the same child: one matching. Pure.

rows: stored persons    cards: listed and readable persons    --match--> row -> card

    Who else asks "same child?"                      What is compared
    compare.py find_doubles: two cards               name, date, age and place, unless photos differ
    compare.py find_unstamped: a card, an old stamp  the id; the name, where that id is gone
    store/hidden.py recognise: a card, hidden marks  two of name, date and photo, in part; the id
    compare.py find_departing: a row, a stamp        the id; names that agree by one word
    scrape/reading.py join_cards: cards of one link  the address; names that agree
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Container, Hashable, Iterator, Mapping

from model import Person
from names import NameIndex, name_key

Persons = Mapping[str, Person]  # by id
Key = Callable[[Person], Hashable]


def match(rows: Persons, cards: Persons, placeholder: str = "") -> dict[str, str]:
    """The id of each row whose child is on a card -> that card's id; each card once.

    First by equal name and date: of several the same id, then the same photo, then in the order of
    ids. Then by the same id, unless name and date both differ. Then by two of three: names that
    agree, an equal date, a photo that no other row or card has."""
    matched: dict[str, str] = {}
    of_rows, of_cards = (Counter(p.foto for p in persons.values()) for persons in (rows, cards))

    def own_photo(person: Person) -> str | None:
        is_own = of_rows[person.foto] == of_cards[person.foto] == 1
        return person.foto if is_own and person.foto != placeholder else None

    def unmatched() -> tuple[Persons, Persons]:
        row_ids, card_ids = rows.keys() - matched.keys(), cards.keys() - matched.values()
        return {id: rows[id] for id in sorted(row_ids)}, {id: cards[id] for id in sorted(card_ids)}

    def pair(key: Key) -> None:
        left, there = unmatched()
        waiting: dict[Hashable, list[str]] = defaultdict(list)
        for id, card in there.items():
            waiting[key(card)].append(id)
        for id, row in left.items():
            wanted = key(row)
            if wanted is not None and waiting[wanted]:
                matched[id] = waiting[wanted].pop(0)

    def pair_agreeing(key: Key) -> None:
        taken: set[str] = set()
        for id, agreeing in with_agreeing(*unmatched(), key, taken):
            if card := next(agreeing, None):
                matched[id] = card
                taken.add(card)

    pair(lambda person: (person.name_and_date, person.id))
    pair(lambda person: (person.name_and_date, person.foto))
    pair(lambda person: person.name_and_date)
    pair(lambda person: (person.id, person.fecha))
    pair(lambda person: (person.id, name_key(person.nombre)))
    pair_agreeing(lambda person: person.fecha)
    pair_agreeing(own_photo)
    pair(lambda person: (person.fecha, person.foto) if own_photo(person) else None)
    return matched


def with_agreeing(
    rows: Persons, cards: Persons, key: Key, but: Container[str] = ()
) -> Iterator[tuple[str, Iterator[str]]]:
    """The id of each row with those of the cards, `but` some, that have its key, if it is not None,
    and a name that agrees."""
    names: dict[Hashable, dict[str, str]] = defaultdict(dict)
    for id, card in cards.items():
        names[key(card)][id] = card.nombre
    indexes = {wanted: NameIndex(names[wanted]) for wanted in names if wanted is not None}
    for id, row in rows.items():
        if index := indexes.get(key(row)):
            yield id, index.agreeing(row.nombre, but)
