"""From a page's bytes to its document, and to the text that a reader of the page sees.

Page --parse_html--> tree ---------> visible_text, after_label
Page --parse_json--> JSON value ---> value_at, json_text
"""

import gc
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import takewhile
from typing import Any, NamedTuple, TypeGuard

import webencodings
from bs4 import BeautifulSoup, Tag
from bs4.builder import HTMLTreeBuilder
from bs4.dammit import EncodingDetector
from bs4.element import CData, NavigableString, PageElement

from names import comparable
from scrape.address import web_address
from scrape.fetch import Page, PageError

NOT_BLOCKS = {"canvas", "noscript", "output", "video"}  # which Beautiful Soup counts among them
BLOCKS = (HTMLTreeBuilder.DEFAULT_BLOCK_ELEMENTS - NOT_BLOCKS).union(
    ["body", "caption", "details", "html", "summary", "tbody", "td", "th", "thead", "tr"]
)
UNSEEN = ("script", "style", "template")
AROUND_VALUE = " :\t\r\n\xa0"  # stripped from the value of a label
LABEL = re.compile(r"[^:\d]{1,40}:")
TAG = re.compile("<[a-zA-Z!/]")  # not "<5"
BOLD = ("b", "strong")
LABEL_TAGS = ("dt", "th", "h1", "h2", "h3", "h4", "h5", "h6")  # two in a row are two labels
NOT_TEXT = "\ufffd"  # malformed in every field, as it stands alone


class Document(NamedTuple):
    """A parsed page."""

    root: Any  # a BeautifulSoup tree, or a JSON value
    base: str  # the address that its links start from
    url: str  # where it was found, after redirects


def parse_html(page: Page, encoding: str | None) -> Document:
    """The page's tree as a browser builds it. `encoding` is the profile's, if it has one."""
    body, _ = EncodingDetector.strip_byte_order_mark(page.body)
    if body.lstrip()[:1] in (b"{", b"["):
        raise PageError("it is JSON (profile keys `records` and `file_record`)")
    try:
        tree = html_tree(body, encoding_of(page, encoding))
        return Document(tree, base_of(tree, page.url), page.url)
    except Exception as error:  # the time limit; a page may also break a parser in any way
        is_limit = isinstance(error, PageError)
        reason = str(error) if is_limit else f"cannot be parsed: {type(error).__name__}"
    # Here no traceback refers to the half-built tree: free its memory for the next page.
    gc.collect()
    raise PageError(reason)


def html_tree(markup: bytes | str, encoding: str | None = None) -> BeautifulSoup:
    """The tree that a browser builds (HTML standard, 13.2). All HTML is parsed here: html5lib had
    its last release in 2020. What takes its place must pass html5lib-tests and be a tree builder
    of Beautiful Soup: JustHTML or html5-parser could, lxml and html.parser do not pass."""
    return BeautifulSoup(markup, "html5lib", from_encoding=encoding)


def parse_json(page: Page, encoding: str | None) -> Document:
    """The page's JSON value. PageError where it has none."""
    try:
        text, _ = webencodings.decode(page.body, encoding_of(page, encoding))
        return Document(json.loads(text), page.url, page.url)
    except (ValueError, RecursionError):
        raise PageError("it is not JSON") from None


def encoding_of(page: Page, encoding: str | None) -> str:
    """The encoding of the byte order mark, else the profile's `encoding` (sos sends ISO-8859-1 and
    declares nothing), else the Content-Type's, UTF-8 if the body is valid, a <meta>'s, UTF-8."""
    _, mark = EncodingDetector.strip_byte_order_mark(page.body)
    declared = EncodingDetector.find_declared_encoding(page.body, is_html=True)
    with suppress(UnicodeDecodeError):
        page.body.decode()
        declared = "utf-8"
    names = [mark, encoding, page.charset, declared, "utf-8"]
    return next(name for name in names if name and webencodings.lookup(name))


def base_of(tree: BeautifulSoup, url: str) -> str:
    """The address that a page's links start from: <base href> (chihuahua), else its own, `url`."""
    base = tree.select_one("base[href]")
    return (base and web_address(url, str(base["href"]))) or url


def text_of(scope: Any) -> str:
    """All text of an element, or of a JSON value without its keys."""
    if isinstance(scope, Tag):
        return visible_text(scope)
    return re.sub(r'"[^"]*": ', "", json.dumps(scope, ensure_ascii=False))


def is_visible(node: PageElement) -> TypeGuard[NavigableString]:
    """Whether `node` is text that a reader sees: not a comment, script or style."""
    is_text = type(node) in (NavigableString, CData)
    return is_text and (node.parent is None or node.parent.name not in UNSEEN)


def visible_text(scope: Tag) -> str:
    """The text that a reader sees: a line for each block and each <br>, spaces folded."""
    parts: list[str] = []
    block: Tag | None = None
    for node in scope.descendants:
        if isinstance(node, Tag) and node.name == "br":
            parts.append("\n")
        elif is_visible(node):
            around = next((tag for tag in node.parents if tag.name in BLOCKS), None)
            if around is not block:
                parts.append("\n")
                block = around
            parts.append(node.replace("\n", " "))
    return fold_lines("".join(parts).split("\n"))


def fold_lines(lines: Iterable[str]) -> str:
    """`lines` with their spaces folded, without the empty ones."""
    return "\n".join(filter(None, (" ".join(line.split()) for line in lines)))


def after_label(scope: Tag, label: str) -> Iterator[str]:
    """The value of each `label` in `scope`, "" for one that has none: the rest of the label's own
    text (`Edad: 15`), or what follows it (`<b>Edad</b> 15`), or what follows the element that
    contains only the label (`<td><b>Edad</b></td><td>15</td>`, `<dt>Edad</dt><dd>15</dd>`)."""
    wanted = comparable(label)
    for string in filter(is_visible, scope.descendants):
        head, _, rest = string.partition(":")
        if comparable(head) != wanted:
            continue
        node = string.parent
        value = value_beside(string, node.name if node else "", rest)
        while value is None and node and node is not scope:
            if comparable(visible_text(node)) != wanted:
                break
            value = value_beside(node, node.name)
            node = node.parent
        yield value or ""


def value_beside(label: PageElement, tag: str, rest: str = "") -> str | None:
    """The value that begins with `rest` and continues in the siblings after `label`, which is or
    stands in an element `tag`. None where nothing follows, "" where another label does. A value of
    text ends at the next block, <br>, label or element `tag`."""
    value, on_next_line = rest, False
    for sibling in label.next_siblings:
        if is_visible(sibling):
            value += sibling
        elif not isinstance(sibling, Tag):
            continue
        elif value.strip(AROUND_VALUE):
            text = visible_text(sibling)
            if sibling.name in (*BLOCKS, "br", tag) or text.endswith(":"):
                break
            value += text
        elif sibling.name != "br":
            return element_value(sibling, tag, on_next_line)
        else:
            on_next_line = True
    value = on_one_line(value)
    return "" if on_next_line and LABEL.match(value) else value or None


def element_value(element: Tag, tag: str, on_next_line: bool) -> str:
    """The value that begins with `element` and ends at the next one; "" if that is another label,
    like the one before it in an element `tag`."""
    nodes = takewhile(lambda node: not isinstance(node, Tag), element.next_siblings)
    text, tail = visible_text(element), "".join(filter(is_visible, nodes))
    value = on_one_line(text + tail)
    after = next((node for node in element.next_siblings if isinstance(node, Tag)), None)
    runs_on = after and after.name not in (*BLOCKS, "br") and visible_text(after)
    is_alike = element.name == tag or {element.name, tag} <= {*BOLD}
    is_row = is_alike and tag in BLOCKS and tag not in ("td", "dd")  # cells
    if text.endswith(":") or (element.name == tag and tag in LABEL_TAGS):
        return ""
    if (is_row or on_next_line) and LABEL.match(value):
        return ""
    if is_row and begins_with_label(element):
        return ""
    if on_next_line and is_alike and text and tag not in BLOCKS:
        is_label = tag in BOLD or runs_on or tail.strip(AROUND_VALUE)  # <b>Sexo</b>, or with " F"
        return "" if is_label else value
    return value


def on_one_line(text: str) -> str:
    return " ".join(text.split()).strip(AROUND_VALUE)


def begins_with_label(row: Tag) -> bool:
    """Whether a row has a label of its own, such as `<p><b>Sexo</b> F</p>`."""
    texts = (text for text in filter(is_visible, row.descendants) if text.strip())
    head = next((text.parent for text in texts if text.parent), row)
    return head.name in (*BOLD, *LABEL_TAGS) and visible_text(head) != visible_text(row)


def value_at(document: Any, path: str) -> Any:
    """The value at a dotted path such as `a.b.0.c` in a JSON document, or None."""
    for name in filter(None, path.split(".")):
        if isinstance(document, list) and name.isdecimal():
            document = document[int(name)] if int(name) < len(document) else None
        else:
            document = document.get(name) if isinstance(document, dict) else None
    return document


def json_text(value: Any) -> str:
    """A JSON value as text, of HTML what is visible; NOT_TEXT for an object or a list."""
    if isinstance(value, dict | list):
        return NOT_TEXT
    if isinstance(value, str):
        return visible_text(html_tree(value)) if TAG.search(value) else value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "" if value is None else json.dumps(value)
