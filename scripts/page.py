"""Photographs the page of a shipped capture for the README: `make page`. Needs Chromium.

The picture carries the digest of the page it shows, so that a test notices an old one.
"""

import hashlib
import shutil
import sys
import tempfile
from pathlib import Path

import nagle_scan
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from playwright.sync_api import sync_playwright

CAPTURE = Path("captures/epoll-fd0.pcap")
PICTURE = Path("docs/report.png")
SHOWN = (Path("tests/snapshots/page.html"), Path("analyzer/nagle_scan/templates/report.css"))
"""The words of the page, without versions and what differs between machines, and its style."""
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
WIDTH_PX, HEIGHT_PX = 1000, 800
COLOURS = 128
"""A page has few; a palette of them makes a quarter of the file."""


def digest() -> str:
    """The digest of the page as it is now."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in SHOWN)).hexdigest()


def photograph(page: Path, picture: Path) -> None:
    """`page` down to its first timeline, in light colours."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        sys.exit("nagle-scan: needs Chromium: apt install chromium")
    with sync_playwright() as playwright:
        # Root has no sandbox.
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        window = browser.new_page(viewport={"width": WIDTH_PX, "height": HEIGHT_PX})
        window.goto(page.absolute().as_uri())
        last = window.locator("#drawn figure").first.bounding_box()
        assert last is not None, "the page has no timeline"
        bottom = last["y"] + last["height"]
        window.screenshot(
            path=picture,
            full_page=True,
            clip={"x": 0, "y": 0, "width": WIDTH_PX, "height": bottom},
        )
        browser.close()
    image = Image.open(picture).convert("RGB").quantize(COLOURS, Image.Quantize.MAXCOVERAGE)
    about = PngInfo()
    about.add_text("digest", digest())
    image.save(picture, optimize=True, pnginfo=about)


def main() -> None:
    """Writes `docs/report.png`."""
    PICTURE.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        nagle_scan.scan(CAPTURE).write(page)
        photograph(page, PICTURE)


if __name__ == "__main__":
    main()
