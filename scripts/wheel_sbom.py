"""Takes the folder in which a wheel was built out of its bill of materials: maturin names it there.

python scripts/wheel_sbom.py FOLDER WHEEL...
"""

from __future__ import annotations

import base64
import hashlib
import os
import sys
import zipfile
from pathlib import Path


def without_folder(wheel: Path, folder: str) -> None:
    """Replaces the file; nothing else in it changes but the list of its files."""
    made = wheel.with_suffix(".new")
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(made, "w") as new:
        record = b""
        for entry in sorted(old.infolist(), key=lambda entry: entry.filename.endswith("/RECORD")):
            content = old.read(entry)
            if "/sboms/" in entry.filename:
                content = content.replace(f"file://{folder}/".encode(), b"file:///")
                record += _line(entry.filename, content)
            elif entry.filename.endswith("/RECORD"):
                kept = (
                    line for line in content.splitlines(keepends=True) if b"/sboms/" not in line
                )
                content = record + b"".join(kept)
            new.writestr(entry, content)
    os.replace(made, wheel)


def _line(name: str, content: bytes) -> bytes:
    """Of RECORD, as PEP 427 wants it."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
    return f"{name},sha256={digest},{len(content)}\n".encode()


if __name__ == "__main__":
    for path in sys.argv[2:]:
        without_folder(Path(path), sys.argv[1])
