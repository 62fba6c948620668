"""A page whose clock stands still: time passes as the test says, answers take none of it."""

from datetime import date, datetime, time, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from support.browser import Served, Visit

SLOT = '<p>De la página misma: <a href="/mapa">el mapa</a></p>'
MINUTE = 60_000
HIDE = """(hidden) => {
    const visibilityState = hidden ? "hidden" : "visible";
    for (const [name, value] of Object.entries({ hidden, visibilityState }))
        Object.defineProperty(Document.prototype, name, { value, configurable: true });
    document.dispatchEvent(new Event("visibilitychange", { bubbles: true }));
}"""


class Still:
    """It is noon, and stays so until `run`."""

    def __init__(self, page: Any):
        self.page = page
        noon = datetime.combine(date.today(), time(12))
        page.clock.install(time=noon)
        page.clock.pause_at(noon + timedelta(seconds=1))
        page.add_init_script("AbortSignal.timeout = () => null")
        self.requests: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))

    def open(self, served: Served, **card: str) -> None:
        """Open a site's page with the card, and wait until somebody is on show."""
        self.page.goto(served.with_card(slot=SLOT, **card))
        self.page.locator("article").first.wait_for()

    def run(self, milliseconds: int) -> None:
        """Let time pass, but not before the browser has told the card what is in sight."""
        # It tells its observers in turn, and this one is the last.
        self.page.evaluate(
            "new Promise((done) => new IntersectionObserver(done).observe(document.body))"
        )
        self.page.clock.run_for(milliseconds)

    def view(self, milliseconds: int) -> None:
        """Let time pass in which the card counts a view."""
        with self.page.expect_response("**/api/track?*"):
            self.run(milliseconds)

    def recheck(self, milliseconds: int) -> None:
        """Let time pass in which the card asks for its child."""
        with self.page.expect_response("**/api/personas/*"):
            self.run(milliseconds)

    def gone(self) -> None:
        """Wait until the site's own content is back."""
        self.page.get_by_role("link", name="el mapa").wait_for()
        assert self.page.locator("article").count() == 0

    def another(self) -> None:
        """Click "Ver otra", and wait until another name is on show."""
        name = self.page.locator("h3").inner_text()
        self.page.get_by_role("button", name="Ver otra").click()
        self.page.locator("h3", has_not_text=name).wait_for()

    def scroll_to(self, selector: str) -> None:
        """Bring an element to the lower edge of the window."""
        self.page.locator(selector).evaluate("(e) => e.scrollIntoView({ block: 'end' })")

    def hide(self, hidden: bool) -> None:
        """Let the page's tab say that it is in the background, or is no longer."""
        self.page.evaluate(HIDE, hidden)

    @property
    def viewed(self) -> list[str]:
        """Whose views the page has sent: ids."""
        sent = [urlsplit(url) for url in self.requests if "/api/track" in url]
        return [parse_qs(url.query)["p"][0] for url in sent]

    @property
    def rechecked(self) -> list[str]:
        """For whom the card has asked: ids."""
        return [url.rpartition("/")[2] for url in self.requests if "/api/personas/" in url]


@pytest.fixture
def still(visit: Visit) -> Still:
    return Still(visit("about:blank", java_script_enabled=True))  # a page of its own
