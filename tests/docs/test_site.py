"""The documentation site builds without a warning, and answers without a server.

It is built once, with its notebooks executed, by the command of `make docs`.
"""

from __future__ import annotations

import fcntl
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import nagle_scan
import pytest
from browser import DESK_PX, PHONE_PX, Opened, Scheme, opened
from conftest import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Browser

BUILD = re.search(r"^docs:.*\n\t\$\(BIN\)/python (.*)$", (ROOT / "Makefile").read_text(), re.M)
QUESTIONS = re.findall(r"^### (.*)$", (ROOT / "docs" / "faq.md").read_text(), re.MULTILINE)
ASKED = {
    "why is the first request fast": "why-is-the-first-request-fast",
    "I set TCP_NODELAY and still see 40ms": "i-set-tcp-nodelay-and-still-see-40-ms-why",
    "I set TCP_NODELAY and still ...": "i-set-tcp-nodelay-and-still-see-40-ms-why",
    "why 200ms on windows?": "why-200-ms-on-windows",
    "network problem?": "is-it-the-network",
    "my proxy or my service?": "is-it-my-proxy-or-my-service",
    "first request fast, second slow": "why-is-the-first-request-fast",
    "which side is to blame, client or server": "which-side-must-change-client-or-server",
    "inconclusive": "why-is-the-verdict-inconclusive",
    "kubernetes sidecar": "kubernetes",
    "pktmon": "docs/capture.html",
}
"""Questions in other words, and the place of the answer."""


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site; workers of one run share it."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    html = folder / "site" / "html"
    with (folder / "site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not html.exists():
            build(folder / "site")
    return html


def build(folder: Path) -> None:
    assert BUILD
    words = shlex.split(BUILD[1].replace("docs/_build", str(folder)))
    done = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def pages(site: Path) -> Iterator[Path]:
    """Without the first, which only leads on."""
    return (path for path in sorted(site.rglob("*.html")) if path != site / "index.html")


def slug(title: str) -> str:
    """The anchor that Sphinx gives to a heading."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def test_it_builds_without_a_warning_and_has_every_page(site: Path) -> None:
    sources = [*(ROOT / "docs").glob("*.md"), *(ROOT / "notebooks").glob("*.ipynb")]
    assert sources
    for source in sources:
        assert (site / source.relative_to(ROOT)).with_suffix(".html").exists(), source
    assert "docs/index.html" in (site / "index.html").read_text()


@pytest.mark.parametrize(
    "notebook", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=attrgetter("stem")
)
def test_a_notebook_shows_what_this_run_printed_and_no_warning(notebook: Path, site: Path) -> None:
    """A cell that fails has failed the build."""
    text = (site / "notebooks" / notebook.stem).with_suffix(".html").read_text()
    assert "cell_output" in text
    assert "Traceback" not in text
    assert "stderr" not in text


def test_the_reference_has_every_public_name(site: Path) -> None:
    reference = (site / "docs" / "python.html").read_text()
    names = [f"nagle_scan.{name}" for name in nagle_scan.__all__ if not name.startswith("__")]
    names += ["nagle_scan.Scan.stalls", "nagle_scan.Scan.write", "nagle_scan.Connection.ladder"]
    assert [name for name in names if f'id="{name}"' not in reference] == []


def found(seen: Opened, site: Path, question: str) -> list[str]:
    """The addresses of the first three results, from the folder of the site."""
    seen.page.goto(f"{(site / 'search.html').as_uri()}?q={quote(question)}")
    seen.page.wait_for_function("document.querySelector('.search-summary')?.innerText")
    links = seen.page.locator("ul.search li a")
    addresses: list[str] = links.evaluate_all("all => all.map(a => a.getAttribute('href'))")
    return addresses[:3]


def assert_alone(seen: Opened) -> None:
    """It complained of nothing and asked no network."""
    assert seen.console == []
    assert [
        address for address in seen.requests if not address.startswith(("file:", "data:"))
    ] == []


def test_the_search_answers_every_question_first(site: Path, browser: Browser) -> None:
    assert len(QUESTIONS) >= 30
    with opened(browser, site / "search.html") as seen:
        firsts = {question: found(seen, site, question)[0] for question in QUESTIONS}
        assert_alone(seen)
    missed = {
        question: first
        for question, first in firsts.items()
        if first != f"docs/faq.html#{slug(question)}"
    }
    assert missed == {}


def test_the_search_answers_in_other_words(site: Path, browser: Browser) -> None:
    with opened(browser, site / "search.html") as seen:
        results = {question: found(seen, site, question) for question in ASKED}
    missed = {
        question: addresses
        for question, addresses in results.items()
        if not any(address.endswith(ASKED[question]) for address in addresses)
    }
    assert missed == {}


@pytest.mark.parametrize("name", ["settings", "python"])
def test_long_tables_are_read_without_scrolling_on_a_phone(
    name: str, site: Path, browser: Browser
) -> None:
    with opened(browser, site / "docs" / f"{name}.html", PHONE_PX, "light") as seen:
        boxes = seen.page.locator(".table-wrapper")
        assert boxes.count() > 0
        too_wide = boxes.evaluate_all(
            "all => all.filter(b => b.scrollWidth > b.clientWidth).length"
        )
        assert too_wide == 0


@pytest.mark.parametrize(("width", "scheme"), [(DESK_PX, "light"), (PHONE_PX, "dark")])
def test_no_page_must_be_scrolled_sideways_or_needs_the_network(
    width: int, scheme: Scheme, site: Path, browser: Browser
) -> None:
    with opened(browser, site / "search.html", width, scheme) as seen:
        for page in pages(site):
            seen.page.goto(page.as_uri())
            assert not seen.overflows(), page
        assert_alone(seen)


def test_the_top_of_the_site_leads_to_its_first_page(site: Path, browser: Browser) -> None:
    with opened(browser, site / "index.html") as seen:
        seen.page.wait_for_url("**/docs/index.html")
