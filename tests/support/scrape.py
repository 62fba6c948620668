"""Reading a register in this process, without a database."""

from pathlib import Path

from model import Reading
from scrape.fetch import Fetcher
from scrape.profile import load_profile
from scrape.reading import read_register
from support.register import Register


def read(register: Register, save: Path | None = None) -> Reading:
    """Read the whole register."""
    fetcher = Fetcher(load_profile(register.profile), None, save)
    return read_register(fetcher, lambda line: None)


def edit_profile(register: Register, old: str, new: str) -> None:
    """Replace a part of the register's profile; it must be there."""
    text = register.profile.read_text()
    assert old in text
    register.profile.write_text(text.replace(old, new, 1))


def add_to_profile(register: Register, keys: str) -> None:
    """Add lines of keys at the top of the register's profile."""
    register.profile.write_text(f"{keys}\n{register.profile.read_text()}")
