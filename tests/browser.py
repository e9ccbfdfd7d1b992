"""Pages in a real browser: Debian's Chromium, which `make test` installs where it can."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
PHONE_PX, DESK_PX = 360, 1200

Scheme = Literal["light", "dark"]


@dataclass
class Opened:
    """A page in the browser, and what it did on its own."""

    page: Page
    console: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def text(self, selector: str = "main") -> str:
        return self.page.locator(selector).inner_text()

    def column(self, table: str, number: int) -> list[str]:
        """The texts of one column of the rows that are shown."""
        rows = self.page.locator(f"{table} tbody tr:visible > :nth-child({number})")
        return rows.all_inner_texts()

    def unfolded(self, link: Locator) -> Locator:
        """The part that a link opens, once it is open: `hashchange` comes after the click."""
        link.click()
        part = self.page.locator(f"{link.get_attribute('href')}[open]")
        part.wait_for()
        return part

    def overflows(self) -> bool:
        """Must the whole page be scrolled sideways?"""
        script = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
        return bool(self.page.evaluate(script))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        pytest.skip("no Chromium: the page was not tested in a browser (apt install chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Root, which CI often is, has no sandbox.
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def opened(
    browser: Browser,
    path: Path,
    width: int = DESK_PX,
    scheme: Scheme = "light",
    script: bool = True,
) -> Iterator[Opened]:
    """Opens a file as a person would, from disk."""
    context = browser.new_context(
        viewport={"width": width, "height": 800}, color_scheme=scheme, java_script_enabled=script
    )
    seen = Opened(context.new_page())
    seen.page.on("console", lambda message: seen.console.append(message.text))
    seen.page.on("pageerror", lambda error: seen.console.append(str(error)))
    seen.page.on("dialog", lambda dialog: seen.console.append(f"dialog: {dialog.message}"))
    seen.page.on("request", lambda request: seen.requests.append(request.url))
    seen.page.goto(path.absolute().as_uri())
    yield seen
    context.close()


def faults(opened: Opened) -> list[str]:
    """The accessibility faults that axe-core finds."""
    from axe_playwright_python.sync_playwright import Axe

    violations: list[dict[str, Any]] = Axe().run(opened.page).response["violations"]
    return [
        f"{violation['id']}: {node['target']}: {node['failureSummary']}"
        for violation in violations
        for node in violation["nodes"]
    ]
