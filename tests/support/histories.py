"""Random histories of a made-up register: what happens to the children, and its cards each night.

World.night() --events--> children: the truth --World.cards()--> what the register shows
"""

import random
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any, NamedTuple

from model import Person, person_id
from support.kinds import (
    BIRTHS,
    FEWEST,
    HIDDEN_FIRST,
    KINDS,
    LISTED,
    NEED_PHOTO,
    STAMPED,
    TRAITS,
    WHOLE_SITE,
)

SITE, START = "https://registro.example", date(2024, 1, 1)
SILHOUETTE, OF_SEVERAL = f"{SITE}/silueta.png", "varios"
FIRST_NAMES = ["Alma", "Benicio", "Clara", "Dante", "Elena", "Greta", "Irupé", "Joaquín", "María"]
FIRST_NAMES += ["Kiara", "Lautaro", "Nahuel", "Octavio", "Paloma", "Simón", "Tania", "Yago"]
SURNAMES = ["Inventada", "Ficticia", "Supuesta", "Imaginaria", "Ejemplo", "Prueba", "Muestra"]
PLACES = ["Villa, Norte", "Villa, Sur", "Puerto, Norte", "Puerto, Sur"]


class Card(NamedTuple):
    child: int  # number of the child whom it truly shows; -1: an adult
    person: Person
    state: str  # read, stamped, unreadable, nameless, several (names) or adult


@dataclass(eq=False)
class Child:
    number: int
    birth: str  # the kind of event that listed the child
    first: list[str]
    surnames: list[str]
    fecha: date
    lugar: str
    photo: str  # the name of its file; "" for the placeholder
    slug: str
    blame: str  # the kind of event that is responsible: see World.touch()
    form: int = 0  # how the name is written
    sought: bool = True
    stamped: bool = False
    hidden: bool = False
    state: str = "read"  # of the card; also "absent", while a sister's card names both
    until: int = 0  # the night on which `state` is "read" again
    sister: "Child | None" = None  # whom this one's card names too
    doubles: list[dict[str, str]] = field(default_factory=list)  # further cards: what differs

    def name(self, more: str) -> str:
        first, last = " ".join([*self.first, more]).strip(), " ".join(self.surnames)
        if self.sister:
            first += f" y {self.sister.first[0]}"
        plain = f"{first} {last}"
        forms = [plain, plain.upper(), f"{last}, {first}", plain.replace("í", "i")]
        return forms[self.form].strip(", ")


class World:
    """One history. `cards()` is what the register shows tonight."""

    def __init__(self, seed: int, promised_only: bool):
        self.seed, self.chance, self.today = seed, random.Random(seed), 0
        self.sites = [("0", "0")]  # in the addresses of files, of photos
        self.kinds = [k for k in KINDS if KINDS[k].promised or not promised_only]
        self.traits = [k for k in TRAITS if k in self.kinds and self.chance.random() < TRAITS[k]]
        self.until: dict[str, int] = {}  # what holds for the whole site -> the night it ends
        self.old_stamp: Child | None = None  # whose stamp keeps its form
        self.touched: set[Child] = set()  # since they were last read in a good run
        self.children: list[Child] = []
        self.list: list[Child] = []  # those on the register, newest first
        while len(self.list) < LISTED:
            self.add(self.chance.choice([k for k in BIRTHS if k in self.kinds and KINDS[k].rate]))
        for child in self.chance.sample(self.list, STAMPED):
            child.stamped, child.sought = True, False
        self.touched.clear()

    def night(self, was_good: bool) -> bool:
        """What happens until the next reading; whether the operator is to hide somebody.
        `was_good`: the last reading was taken over."""
        self.today += 1
        self.chance.seed(f"{self.seed} {self.today}")  # the same events, whatever the rules do
        happens = [kind for kind in self.kinds if self.chance.random() < KINDS[kind].rate]
        for child in self.list:
            if child.until == self.today:
                child.state, child.sister = "read", None
        if was_good:
            self.touched = {child for child in self.touched if child.state != "read"}
        for kind in [kind for kind in happens if kind in WHOLE_SITE][:1]:
            self.change_site(kind)
        if not self.on("side_by_side"):
            self.sites = self.sites[-1:]
        for kind in [kind for kind in happens if kind not in (*WHOLE_SITE, "hide")]:
            (self.add if kind in BIRTHS else self.change_child)(kind)
        while len(self.list) < FEWEST:
            self.add("new_child")
        return "hide" in happens

    def touch(self, kind: str, *children: Child) -> None:
        """Blame an event for what becomes of these children from now on. What was not promised once
        of a hidden child, or is not of this kind of child, no later event can make good."""
        for child in children:
            blamed = "two_at_once" if child in self.touched else kind
            lasting = child.hidden or not KINDS[child.birth].promised
            if not lasting or KINDS[blamed].promised <= KINDS[child.blame].promised:
                child.blame = blamed
            self.touched.add(child)

    def hide(self, child: Child) -> None:
        child.hidden = True
        if KINDS[child.birth].promised:
            child.blame = "hide"

    def on(self, kind: str) -> bool:
        return self.until.get(kind, 0) > self.today

    # --- What happens ----------------------------------------------------------------

    def change_site(self, kind: str) -> None:
        if kind == "drops_stamped":
            self.list = [child for child in self.list if child.sought]
            return
        self.touch(kind, *self.list)
        nights = {"cache": self.chance.randint(1, 3), "side_by_side": 4}
        self.until[kind] = self.today + nights.get(kind, 1)
        if kind in ("relaunch", "relaunch_and_stamp", "side_by_side"):
            old, new = self.sites[-1], str(self.today)
            self.sites = [old, (new, self.chance.choice([old[1], new]))]
            for child in (child for child in self.children if child not in self.list):
                child.photo = ""  # it left with the old site
        if "stamp" in kind:
            self.until["stamp_form"] = self.today + 15  # until the operator corrects the profile
            stamped = [child for child in self.list if child.stamped]
            one = kind == "stamp_form_but_one" and stamped
            self.old_stamp = self.chance.choice(stamped) if one else None

    def add(self, kind: str) -> None:
        """List a new child, or several of one family."""
        pick, (name, other, third) = self.chance.choice, self.chance.sample(FIRST_NAMES, 3)
        family: dict[str, Any] = {"first": [name], "surnames": self.chance.sample(SURNAMES, 2)}
        family["lugar"] = pick(PLACES)
        days = self.today - self.chance.randint(0, 60)
        if self.traits:  # dates of publication
            days -= days % 10
        family["fecha"] = START + timedelta(days)
        both = f"{OF_SEVERAL}-{len(self.children)}"
        births: dict[str, list[dict[str, Any]]] = {
            "siblings": [{}, {"first": [other]}, {"first": [third]}],
            "silhouette": [{"photo": ""}],
            "other_silhouette": [{"photo": OF_SEVERAL}],
            "twins": [{"photo": both}, {"first": [name, other], **pick([{}, {"photo": both}])}],
            "initials": [{"first": [name[0] + "."], "surnames": [pick("ABC") + "."]}],
            "one_word": [{"surnames": []}],
        }
        found = [c for c in self.children if not c.sought and KINDS[c.birth].promised]
        if kind == "same_name" and found:
            family |= {"first": found[-1].first, "surnames": found[-1].surnames}
        birth = next(iter(self.traits), kind) if KINDS[kind].promised else kind
        for differs in births.get(kind, [{}]):
            number = len(self.children)
            own = {"slug": self.slug(name), "photo": f"foto-{number}", **family, **differs}
            child = Child(number, birth=birth, blame=birth, **own)
            self.children.append(child)
            self.list.insert(0, child)
            self.touched.add(child)

    def slug(self, name: str) -> str:
        return f"{name.lower()}-{self.chance.randrange(10**9)}"

    def change_child(self, kind: str) -> None:
        """Change one child to whom this can happen, and what the register says."""
        read = [child for child in self.list if child.state == "read"]
        sought = [child for child in read if child.sought]
        gone = [child for child in self.children if child not in self.list]
        able = {
            "listed_again": gone,
            "missing_again": gone,
            "stamp_off": [child for child in read if child.stamped],
            "double_gone": [child for child in sought if child.doubles],
            "siblings_merged": [child for child in sought if self.sister_of(child)],
        }.get(kind, sought)
        if "two_at_once" not in self.kinds:
            able = [child for child in able if child not in self.touched]
        hidden = [child for child in able if child.hidden]
        if hidden and self.chance.random() < HIDDEN_FIRST:
            able = hidden
        if not able:
            return
        child = self.chance.choice(able)
        changes, blamed = self.changes(child)[kind], kind
        if kind in NEED_PHOTO and (not child.photo or child.photo.startswith(OF_SEVERAL)):
            blamed = "no_photo"
        if blamed not in self.kinds:
            return
        self.touch(blamed, child)
        for name, value in changes.items():
            setattr(child, name, value)
        if child in gone:
            self.list.insert(0, child)
        if kind == "leaves":
            self.list.remove(child)
        if child.sister and kind == "siblings_merged":
            self.touch(kind, child.sister)
            child.sister.state, child.sister.until = "absent", child.until

    def sister_of(self, child: Child) -> Child | None:
        """Another child of the same family, whose card can be read."""
        others = (c for c in self.list if c is not child and c.sought and c.state == "read")
        family = (child.surnames, child.fecha)
        return next((c for c in others if (c.surnames, c.fecha) == family), None)

    def changes(self, child: Child) -> dict[str, dict[str, Any]]:
        """What each kind of event changes of this child."""
        pick, slug, first = self.chance.choice, self.slug(child.first[0]), child.first
        photo, more = f"foto-{child.number}-{self.today}", {"slug": slug}
        earlier = child.fecha - timedelta(self.chance.randint(1, 9))
        until = self.today + self.chance.randint(1, 12)
        sister = self.sister_of(child)
        again = {"sought": True, "stamped": False, "doubles": []}
        return {
            "leaves": {"sought": False},
            "stamped": {"sought": False, "stamped": True},
            "stamp_off": {"sought": True, "stamped": False},
            "listed_again": {**again, "slug": pick([child.slug, slug])},
            "missing_again": {**again, "slug": slug, "fecha": START + timedelta(self.today)},
            "name_form": {"form": self.chance.randrange(4)},
            "second_name": {"first": first[:1] if first[1:] else [*first, "Sol"]},
            "spelling": {"surnames": [word + "s" for word in child.surnames]},
            "date": {"fecha": earlier},
            "place": {"lugar": pick(PLACES)},
            "photo": {"photo": pick([photo, photo, ""])},
            "slug": {"slug": slug},
            "slug_and_date": {"slug": slug, "fecha": earlier},
            "double": {"doubles": [pick([more, {**more, "photo": ""}])]},
            "double_stamped": {"doubles": [{**more, "state": "stamped"}], "sought": False},
            "double_more_names": {"doubles": [{**more, "first": "Luz"}]},
            "double_slash": {"doubles": [{"slug": child.slug + "/"}]},
            "double_gone": {"doubles": []},
            "unreadable": {"state": pick(["unreadable", "nameless"]), "until": until},
            "siblings_merged": {"state": "several", "until": until, "sister": sister},
        }

    # --- What the register shows -----------------------------------------------------

    def cards(self) -> list[Card]:
        cards = []
        for place, child in enumerate(self.list, 1):
            for more in ({}, *child.doubles) if child.state != "absent" else ():
                cards += [self.card(child, place, *site, more) for site in self.sites]
        if self.on("bad_night"):
            cards = self.chance.sample(cards, len(cards) // 2)
        adults = [Person(f"prueba-{n}", f"Adulta {n}", *[""] * 5) for n in range(20)]
        return cards + [Card(-1, adult, "adult") for adult in adults if self.on("adults")]

    def card(self, child: Child, place: int, site: str, photos: str, more: dict[str, str]) -> Card:
        photo, slug = more.get("photo", child.photo), more.get("slug", child.slug)
        if photo and "numbered_photos" in self.traits:
            photo = str(place)
        if not more and "numbered_addresses" in self.traits:
            slug = str(place)
        if self.on("mojibake") and child.number % 3 == 0:
            slug = slug.replace("a", "Ã¡")
        state, has_stamp = child.state, child.stamped or "state" in more
        if has_stamp and (child is self.old_stamp or not self.on("stamp_form")):
            state = "stamped"
        elif self.on("cache") and state == "read":
            state = "unreadable"
        name, fecha = child.name(more.get("first", "")), f"{child.fecha:%d/%m/%Y}"
        foto = f"{SITE}/fotos/{photos}/{photo}.jpg" if photo else SILHOUETTE
        url = f"{SITE}/ficha/{site}/{slug}"
        person = Person(person_id("prueba", url), name, fecha, "9 años", child.lugar, foto, url)
        return Card(child.number, person, state)
