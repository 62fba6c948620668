"""What happens in a random history of a register, how often, and what the rules promise of it."""

from typing import NamedTuple


class Kind(NamedTuple):
    rate: float  # the probability of such an event in a night
    promised: bool  # by decisions.md: a hidden child stays hidden, nobody has another's face
    why: str


LISTED, STAMPED, FEWEST = 30, 6, 12  # at the start, of these with a stamp; at any time
TRAITS = {"numbered_photos": 0.15, "numbered_addresses": 0.15, "publication_day": 0.3}
HIDDEN_FIRST = 0.3  # how often a hidden child is preferred, where there is one
KINDS = {
    # The whole site: one of these a night.
    "relaunch": Kind(0.01, True, "new addresses: name and date are equal"),
    "relaunch_and_stamp": Kind(0.006, True, "the same, and stamps count by name too"),
    "side_by_side": Kind(0.006, True, "old and new site, then the new one: equal name and date"),
    "stamp_form": Kind(0.006, True, "who was found stays out by id"),
    "stamp_form_but_one": Kind(0.006, True, "two or more who lost the stamp stay out"),
    "drops_stamped": Kind(0.01, True, "who was found and leaves changes nothing"),
    "cache": Kind(0.008, True, "one file page for all: those records are unreadable"),
    "bad_night": Kind(0.01, True, "half of the cards: refused"),
    "adults": Kind(0.01, True, "excluded, and never stored"),
    "mojibake": Kind(0.015, True, "other addresses for a night: equal name and date"),
    # Who is new. Those with rate 0 are traits of a whole register.
    "new_child": Kind(0.08, True, "a card that is left over is new"),
    "siblings": Kind(0.03, True, "surname, date and place are equal, the first names are not"),
    "silhouette": Kind(0.03, True, "the placeholder is no photo; name and date tell"),
    "other_silhouette": Kind(0.02, True, "a photo that several have is nobody's"),
    "same_name": Kind(0.02, True, "as one who was found; another date and photo"),
    "publication_day": Kind(0, True, "an equal date alone matches nobody"),
    "twins": Kind(0.01, False, "names that agree, one date, perhaps one photo"),
    "initials": Kind(0.015, False, "such a name is no mark of a hidden child"),
    "one_word": Kind(0.015, False, "such a name is no mark of a hidden child"),
    "numbered_photos": Kind(0, False, "who is unreadable keeps an address that changes its face"),
    "numbered_addresses": Kind(0, False, "who is unreadable keeps an address that changes"),
    # One child comes or goes.
    "leaves": Kind(0.22, True, "absent is found"),
    "stamped": Kind(0.12, True, "a stamp is found"),
    "stamp_off": Kind(0.03, True, "one is back where another card has a stamp"),
    "listed_again": Kind(0.05, True, "the same case: equal name and date"),
    "missing_again": Kind(0.02, True, "a new case: two of three, name and photo"),
    "hide": Kind(0.04, True, "taken off at once, and for good"),
    # One child's card.
    "name_form": Kind(0.1, True, "order, case and accents do not count"),
    "second_name": Kind(0.1, True, "the id; and the photo teaches the new name"),
    "spelling": Kind(0.05, True, "the id; and the photo teaches the new name"),
    "date": Kind(0.08, True, "the id; it and the equal name teach the new date"),
    "place": Kind(0.08, True, "name and date are equal"),
    "photo": Kind(0.08, True, "name and date are equal"),
    "slug": Kind(0.08, True, "name and date are equal"),
    "slug_and_date": Kind(0.06, True, "two of three: name and photo"),
    "double": Kind(0.06, True, "name and date are equal"),
    "double_stamped": Kind(0.03, True, "a stamp on either card counts"),
    "double_more_names": Kind(0.04, True, "two of three: date and photo"),
    "double_slash": Kind(0.03, True, "addresses that differ by a slash alone"),
    "double_gone": Kind(0.08, True, "nobody is found while the same child is listed"),
    "unreadable": Kind(0.12, True, "who is listed stays as stored"),
    "siblings_merged": Kind(0.03, True, "a card that names several stands for as many"),
    # What becomes of some of these.
    "no_photo": Kind(0, False, "one of NEED_PHOTO without a photo: one of three, if any"),
    "two_at_once": Kind(0, False, "two of all these happen to one child between two good runs"),
}
WHOLE_SITE, BIRTHS = list(KINDS)[:10], list(KINDS)[10:21]
NEED_PHOTO = ("missing_again", "second_name", "spelling", "slug_and_date", "double_more_names")
