"""Chromium and plain Firefox ESR, headless: one at a time visits pages and says what it sees.

Host names: www.sitio.example and servicio.example are this machine's. Skipped where a browser,
node or tests/node_modules is missing, unless CI is set."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support import ROOT, missing

PROGRAMS = {"chromium": "chromium", "firefox": "firefox-esr"}
# To be put before a script: waits, 15 s at most, until `see` returns something, and returns it.
UNTIL = """const until = async (see) => {
    for (let n = 0; n < 750; n++) {
        const seen = await see();
        if (seen) return seen;
        await new Promise((resolve) => setTimeout(resolve, 20));
    }
    throw new Error("waited in vain: " + see);
};"""


def in_page(script: str) -> str:
    return f"(async () => {{{UNTIL}{script}}})()"


class Headless:
    """One browser process: `name` is "chromium" or "firefox"."""

    def __init__(self, name: str):
        self.name = name
        program = shutil.which(PROGRAMS[name])
        if program is None:
            missing(PROGRAMS[name])
        if shutil.which("node") is None:
            missing("node")
        if not (ROOT / "tests" / "node_modules" / "puppeteer-core").exists():
            missing("puppeteer-core (npm ci --prefix tests --ignore-scripts)")
        command = ["node", ROOT / "tests" / "support" / "both.mjs", name, program]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def visit(
        self,
        url: str,
        script: str = "",
        size: tuple[int, int] = (1280, 800),
        png: Path | None = None,
        pdf: Path | None = None,
        features: dict[str, str] | None = None,
    ) -> Any:
        """Load a page in a window of `size` (CSS pixels), run the body of an async function in it
        and return what that returns (JSON). Then write `png`, a picture of the whole page, and
        `pdf`, how it is printed without backgrounds. Media `features` such as prefers-color-scheme
        have an effect in Chromium only. RuntimeError where something fails."""
        order = {
            "url": url,
            "script": in_page(script),
            "width": size[0],
            "height": size[1],
            "png": png and str(png),
            "pdf": pdf and str(pdf),
            "features": [{"name": k, "value": v} for k, v in (features or {}).items()],
        }
        return self.ask(order)

    def back(self, script: str) -> Any:
        """Go back to the page before, run `script` as `visit` does, and return what it returns."""
        return self.ask({"url": None, "script": in_page(script)})

    def ask(self, order: dict[str, Any]) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline() or '{"error": "the browser ended"}')
        if "error" in answer:
            raise RuntimeError(f"{self.name}: {order['url']}: {answer['error']}")
        return answer.get("value")

    def close(self) -> None:
        self.process.communicate(timeout=30)  # the end of stdin ends the browser


@pytest.fixture(scope="module", params=list(PROGRAMS))
def either(request: pytest.FixtureRequest) -> Iterator[Headless]:
    browser = Headless(request.param)
    yield browser
    browser.close()
