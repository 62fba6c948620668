"""A server that stands in for the service at a child's page, and the posters that people judge."""

import io
import json
from typing import Any
from urllib.parse import quote

import segno

from model import Person
from support import ROOT
from support.api import made_up
from support.pictures import draw
from support.web import Answer, Web

HTML = (ROOT / "static" / "child.html").read_text()
PUBLIC_URL = "https://personas.example"
PHONE = "911 / 0800-222-1234 (línea gratuita)"
NOW = "2026-11-22T12:00:00Z"
JSON = ("Content-Type", "application/json")
GONE = Answer(404, b'{"status":404}')
ABOUT: dict[str, Any] = {
    "title": "Registro de prueba",
    "phone": "555 0100",
    "website": "https://registro.example/",
    "photos": True,
    "operator": "Fundación de prueba",
    "public_url": PUBLIC_URL,
}
CHILD = made_up(1)._replace(
    nombre="Benicio Ficticio Ejemplo", lugar="San Ficticio, Provincia Ficticia"
)
LONG_NAME = "Maximiliana Guadalupe Imaginaria de los Ángeles Fernández-Supuesto"
LONG_PLACE = "Villa Inventada del Monte Imaginario, Departamento Supuesto Mayor"

# Each poster: the child's fields, what is known of the register, the picture.
POSTERS: dict[str, tuple[dict[str, str], dict[str, Any], str]] = {
    "usual": ({}, {}, "portrait"),
    "demo": ({}, {"demo": True}, "portrait"),
    "long name and place": ({"nombre": LONG_NAME, "lugar": LONG_PLACE}, {}, "portrait"),
    "one short name, no place": ({"nombre": "Ia", "lugar": ""}, {"phone": "134"}, "portrait"),
    "one long word": ({"nombre": "Wenceslaoimaginarioinventado" * 2}, {}, "square"),
    "no photo": ({}, {}, ""),
    "no photo, no telephone": ({"nombre": LONG_NAME}, {"phone": ""}, ""),
    "no telephone": ({}, {"phone": ""}, "portrait"),
    "long telephone": ({}, {"phone": PHONE}, "face at the left"),
    "no code": ({}, {"public_url": "", "operator": ""}, "full body"),
    "baby, panorama": ({"edad": "7 meses"}, {"phone": "0800-222-1234"}, "panorama"),
    "all long, demo": (
        {"nombre": LONG_NAME, "lugar": LONG_PLACE},
        {"phone": PHONE, "demo": True, "operator": LONG_PLACE, "title": LONG_PLACE},
        "portrait",
    ),
}


def known(person: Person, read: str = "Sun, 22 Nov 2026 06:00:00 GMT") -> Answer:
    """The service's answer for a child who is shown; when the register was last read."""
    headers = (JSON, ("Cache-Control", "no-store"), ("Last-Modified", read))
    return Answer(200, json.dumps(person._asdict()).encode(), headers)


class ChildPage:
    """The page of `person` on a server that stands in for the service: `web` can be broken."""

    def __init__(
        self,
        web: Web,
        person: Person = CHILD,
        about: dict[str, Any] | None = None,
        picture: str = "portrait",
    ):
        told = {key: value for key, value in {**ABOUT, **(about or {})}.items() if value}
        script = f"const ABOUT = {json.dumps(told)};"
        svg = io.BytesIO()
        segno.make(f"{PUBLIC_URL}/p/{person.id}", error="m").save(svg, "svg", scale=4)
        self.web = web
        self.url = f"http://servicio.example:{web.server.server_port}/p/{person.id}"
        self.api = f"/api/personas/{person.id}"
        web.put(f"/p/{person.id}", HTML.replace("const ABOUT = {};", script))
        self.answer(known(person))
        self.file(f"/p/{person.id}/qr.svg", svg.getvalue(), "image/svg+xml")
        self.file("/icon.svg", (ROOT / "static/icon.svg").read_bytes(), "image/svg+xml")
        if picture:
            name = quote(person.nombre)
            self.file(f"/foto/{person.id}?nombre={name}", draw(picture), "image/jpeg")

    def answer(self, answer: Answer) -> None:
        """What the service says of the child from now on."""
        self.web.pages[self.api] = answer

    def file(self, path: str, body: bytes, kind: str) -> None:
        self.web.pages[path] = Answer(200, body, (("Content-Type", kind),))


def poster(web: Web, name: str) -> ChildPage:
    """The page of a poster of POSTERS."""
    fields, about, picture = POSTERS[name]
    return ChildPage(web, CHILD._replace(**fields), about, picture)
