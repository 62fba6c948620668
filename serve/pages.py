"""What is no JSON: the files of static/, the plugin as a ZIP file, QR codes. Files are read at the
start: one that is missing stops it, and no request waits for the disk."""

import functools
import gzip
import io
import json
import re
import zipfile
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import segno

from serve.answers import header, revalidated
from settings import HERE, About


def static_file(
    name: str, headers: dict[str, str], about: About | None = None
) -> Callable[[], bytes]:
    """A route's function for a file of static/, with `about` in its script."""
    body = read_static(name, about)
    headers = {**headers, "Vary": "Accept-Encoding"}
    if name.endswith(".html"):
        headers["Content-Security-Policy"] = page_policy(body, name == "panel.html")
    zipped = gzip.compress(body, mtime=0)

    def send(**_: str) -> bytes:  # /p/ID: the same for any id
        if re.search(r"\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))", header("ACCEPT_ENCODING")):
            return revalidated(zipped, {**headers, "Content-Encoding": "gzip"})
        return revalidated(body, headers)

    return send


def read_static(name: str, about: About | None = None) -> bytes:
    """A file of static/, with what is known of `about` in its script, and for previews of links the
    address of a drawn picture."""
    known = {key: text for key, text in about._asdict().items() if text} if about else {}
    in_script = json.dumps(known, ensure_ascii=False, separators=(",", ":")).replace("<", r"\u003c")
    body = (HERE / "static" / name).read_bytes()
    if about and about.public_url:
        image = f'<meta property="og:image" content="{about.public_url}/preview.png">'
        body = body.replace(b"<!-- og:image -->", image.encode())
    return body.replace(b"const ABOUT = {};", b"const ABOUT = %b;" % in_script.encode())


def page_policy(html: bytes, for_staff: bool = False) -> str:
    """A Content-Security-Policy: this service's scripts and answers, the page's own inline scripts
    and styles by their hashes, https images, and nothing else. For the staff, whose page holds a
    key, no other scripts, no images of others and no text as markup (Trusted Types)."""

    def hashes(tag: str) -> str:
        inline = re.findall(rf"<{tag}>(.*?)</{tag}>".encode(), html, re.S)
        return "".join(f" 'sha256-{b64encode(sha256(text).digest()).decode()}'" for text in inline)

    own = "" if for_staff else " 'self'"
    return (
        f"default-src 'none'; script-src{own}{hashes('script')}; style-src{hashes('style')};"
        f" connect-src 'self'; img-src 'self'{'' if for_staff else ' https:'};"
        " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        + ("; require-trusted-types-for 'script'; trusted-types 'none'" if for_staff else "")
    )


def zip_of(folder: Path) -> bytes:
    """A ZIP file of the files in `folder`, under its name: the same bytes at each start."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        for path in sorted(folder.iterdir()):
            entry = zipfile.ZipInfo(f"{folder.name}/{path.name}")  # dated 1980
            entry.external_attr = 0o644 << 16
            file.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
    return archive.getvalue()


@functools.lru_cache(100)
def qr_code(text: str) -> bytes:
    """A QR code as SVG, with the four modules of white around it that a scanner needs."""
    svg = io.BytesIO()
    segno.make_qr(text, error="m").save(svg, kind="svg", border=4, svgclass=None, lineclass=None)
    return svg.getvalue()
