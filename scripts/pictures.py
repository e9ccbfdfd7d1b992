"""Draws the pictures of the README into docs/: `make pictures`."""

from pathlib import Path

import nagle_scan
from nagle_scan import timeline

CAPTURE = "captures/jdk-httpserver.pcap"
LADDER = Path("docs/ladder.svg")
GROUND = "background:#fff;color:#1a1a1a;"
"""An image in a README does not know the page around it, so it brings its own."""


def drawn() -> str:
    """The ladder of the clearest stall."""
    picture = timeline.svg(timeline.ladder, nagle_scan.scan(CAPTURE))
    return picture.replace('style="', f'style="{GROUND}', 1) + "\n"


if __name__ == "__main__":
    LADDER.parent.mkdir(exist_ok=True)
    LADDER.write_text(drawn())
