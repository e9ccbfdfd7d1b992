"""`-o ticket.zip`: the ticket, the frames that prove it, the page and a picture, in one file."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from nagle_scan.report import evidence, formats
from nagle_scan.result import NO_FRAMES
from nagle_scan.system import files

if TYPE_CHECKING:
    from nagle_scan.report.options import Options
    from nagle_scan.result import Result

EVIDENCE = "evidence.pcapng"
NAMES = (EVIDENCE, "ticket.md", "report.html", "timeline.png")
"""The evidence comes first: it fails where a capture cannot be read again."""
NOTE = "no-evidence.txt"
WRITTEN = (1980, 1, 1, 0, 0, 0)
"""The first time of the format, so that the same scan gives the same file."""


def write(result: Result, path: str, options: Options) -> None:
    """Writes all of it. Raises `OutputError`, and `CaptureError` for a capture that is gone.

    Printed text has no evidence: a note says so in its place.
    """
    packed = io.BytesIO()
    is_text = result.core.summary().is_text
    with files.temporary_folder() as folder, ZipFile(packed, "w") as bundle:
        for name in NAMES:
            result.doing(f"writing {name}")
            written = os.path.join(folder, name)
            if name == EVIDENCE and is_text:
                said = f"No {EVIDENCE}: {NO_FRAMES}.\n"
                bundle.writestr(ZipInfo(NOTE, WRITTEN), said, ZIP_DEFLATED)
                continue
            if name == EVIDENCE:
                evidence.write(result, written, options)
            else:
                formats.write(result, written, formats.of(name), options)
            with open(written, "rb") as file:
                bundle.writestr(ZipInfo(name, WRITTEN), file.read(), ZIP_DEFLATED)
    files.replace(path, packed.getvalue())
