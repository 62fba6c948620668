"""The settings of both programs: environment variables, validated at the start.

docs/operating.md, "Settings", says what each means. An empty one counts as not set, and relative
paths start at the folder of this file.
"""

import logging
import os
import re
import time
import tomllib
import zoneinfo
from collections.abc import Mapping
from datetime import time as clock_time
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from model import VERSION as VERSION
from model import SettingError

HERE = Path(__file__).resolve().parent
SECRETS = {"API_KEY", "STAFF_KEY", "ALERT_URL", "PING_URL"}  # the child sync.py gets none of them
DEFAULTS = {"HOST": "127.0.0.1", "PORT": "8080", "REGISTER": "registers/demo.toml"}
WEB_ADDRESS = (
    r"https?://([A-Za-z0-9_.-]+|\[[0-9a-fA-F:.]+\])(:[0-9]{1,5})?([/?][!-~]*)?",
    "an http or https address without a user name, such as https://ntfy.sh/TOPIC",
)
KEY = ("[!-~]{20,}", "at least 20 ASCII characters without spaces")
RULES = {  # what each must match, and how that is said
    "ALERT_URL": WEB_ADDRESS,
    "API_KEY": KEY,
    "CONTACT": (r"https://[!-~]+|[!-?A-~]+@[!-?A-~]+\.[!-?A-~]+", "a mail or https address"),
    "OPERATOR": (r"[^\x00-\x1f\x7f-\x9f]{,200}", "a name on one line, of at most 200 characters"),
    "PING_URL": WEB_ADDRESS,
    "PORT": ("[0-9]{1,5}", "a number from 0 (any free port) to 65535"),
    "PUBLIC_URL": (
        r"https://[A-Za-z0-9.-]+(:[0-9]{1,5})?/?",
        "the https address of this service without a path, such as https://personas.example.org",
    ),
    "STAFF_KEY": KEY,
    "SYNC_AT": ("([01][0-9]|2[0-3]):[0-5][0-9]|off", "a time such as 03:00, or off"),
}
SETTINGS = {*RULES, "DATABASE", "HOST", "REGISTER"}

log = logging.getLogger("persona404.settings")


class About(NamedTuple):
    """What the pages tell people of the register and of the service; "" where it is not known."""

    title: str  # the register's name for people
    phone: str  # for whoever knows something
    website: str  # the register's
    demo: bool  # whether its persons are made up
    photos: bool  # whether this service keeps them
    operator: str  # who runs it
    contact: str  # to which a family writes, and the register
    edad_de: str = ""  # "hoy" where the register states ages of today
    fecha_de: str = ""  # "publicacion" where it dates by the day of publication
    public_url: str = ""  # the origin that visitors see, without a slash at the end


class Settings(NamedTuple):
    """All settings."""

    host: str
    port: int
    api_key: str | None
    staff_key: str | None
    sync_at: clock_time | None  # None: something else runs sync.py
    register: str  # its name
    profile: Path  # the TOML file that describes it
    database: Path
    alert_url: str | None  # takes a POST when something goes wrong
    ping_url: str | None  # takes a GET after each good run
    about: About


def read_settings(environ: Mapping[str, str], need_contact: bool = True) -> Settings:
    """All settings; of the profile only what the web service needs (scrape/profile.py checks the
    rest). Without `need_contact` no register is going to be asked for pages."""
    texts = {name: get(environ, name) for name in sorted(SETTINGS)}
    check_time_zone(get(environ, "TZ"))
    profile, database = read_paths(environ)
    toml = read_toml(profile)
    contact, sync_at = texts["CONTACT"], texts["SYNC_AT"] or "03:00"
    if need_contact and not contact and "pages" not in toml:
        raise SettingError("CONTACT: a mail or https address must tell the register who reads it")
    if texts["STAFF_KEY"] and texts["STAFF_KEY"] == texts["API_KEY"]:
        raise SettingError("STAFF_KEY: must not be the API_KEY")
    return Settings(
        host=texts["HOST"],
        port=int(texts["PORT"]),
        api_key=texts["API_KEY"] or None,
        staff_key=texts["STAFF_KEY"] or None,
        sync_at=None if sync_at == "off" else clock_time.fromisoformat(sync_at),
        register=profile.stem,
        profile=profile,
        database=database,
        alert_url=texts["ALERT_URL"] or None,
        ping_url=texts["PING_URL"] or None,
        about=About(
            title=str(toml.get("title", "")),
            phone=str(toml.get("phone", "")),
            website=str(toml.get("website", "")),
            demo=toml.get("demo") is True,
            photos=toml.get("photos") is not False,
            operator=texts["OPERATOR"],
            contact=contact,
            edad_de="hoy" if toml.get("edad_de") == "hoy" else "",
            public_url=texts["PUBLIC_URL"].rstrip("/"),
            fecha_de="publicacion" if toml.get("fecha_de") == "publicacion" else "",
        ),
    )


def get(environ: Mapping[str, str], name: str) -> str:
    """A setting's text, else its default. Spaces around it are dropped, and the CR of a file with
    CRLF. SettingError where it breaks its rule."""
    text = (environ.get(name) or "").strip() or DEFAULTS.get(name, "")
    pattern, rule = RULES.get(name, (".*", ""))
    if text and (not re.fullmatch(pattern, text) or (name == "PORT" and int(text) > 65535)):
        raise SettingError(f"{name}: must be {rule}")
    return text


def read_paths(environ: Mapping[str, str]) -> tuple[Path, Path]:
    """The profile, whose file name is the register's name, and the database."""
    profile = HERE / (name := get(environ, "REGISTER"))
    if "/" not in name and not profile.exists():
        profile = HERE / "registers" / name
    if not re.fullmatch(r"[a-z]+\.toml", profile.name):
        rule = "the file's name must be a to z and .toml"
        raise SettingError(f"REGISTER: {profile}: {rule}; there are {profiles()}")
    database = HERE / (get(environ, "DATABASE") or f"data/{profile.stem}.db")
    may_enter = os.access(database.parent, os.X_OK)  # else is_dir() raises PermissionError
    if not may_enter or database.is_dir() or not database.parent.is_dir():
        raise SettingError(f"DATABASE: {database} is not a file in a folder that may be entered")
    return profile, database


def profiles() -> str:
    return ", ".join(f"registers/{path.name}" for path in sorted(HERE.glob("registers/*.toml")))


def read_toml(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise SettingError(f"REGISTER: {path}: {error.strerror}; there are {profiles()}") from None
    except ValueError as error:  # TOMLDecodeError and UnicodeDecodeError are ones
        raise SettingError(f"REGISTER: {path}: {error}") from None


def check_time_zone(name: str) -> None:
    """The C library silently takes a misspelt TZ for UTC, and Etc/GMT-3 for 3 hours before it."""
    if turned := re.fullmatch(r"Etc/GMT([+-])([0-9]+)", name):
        sign = "-" if turned[1] == "+" else "+"
        raise SettingError(f"TZ: {name} is UTC{sign}{turned[2]}: write a place, as America/Lima")
    try:
        if name:
            zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise SettingError(f"TZ: {name} is no time zone that this machine knows") from None


def set_up_process(level: int, prefix: str = "") -> None:
    """Set up what both programs need: a log on stderr in local time, and files that only their
    owner may read. Other packages log errors only, since their lines may quote addresses."""
    os.umask(0o077)
    if "TZ" in os.environ:  # the C library takes "" and a CR at the end for UTC
        if zone := os.environ.pop("TZ").strip():
            os.environ["TZ"] = zone
        time.tzset()
    line = f"{prefix}%(asctime)s %(levelname)s %(message)s"
    logging.basicConfig(format=line, datefmt="%Y-%m-%dT%H:%M:%S%z", level=logging.ERROR)
    logging.getLogger("persona404").setLevel(level)
    for name, meant in misspelt(os.environ).items():
        log.warning("%s: there is no such setting; is %s meant?", name, meant)


def misspelt(environ: Mapping[str, str]) -> dict[str, str]:
    """Variables that look like a setting and are none, with the setting."""
    close = {name: get_close_matches(name.upper(), SETTINGS, 1, cutoff=0.85) for name in environ}
    return {name: like[0] for name, like in close.items() if like and name not in SETTINGS}
