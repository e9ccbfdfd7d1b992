"""Writes what a wheel has to say of the libpcap inside (CycloneDX 1.5), with its licence.

python scripts/libpcap_sbom.py SOURCES FILE
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main(sources: Path, file: Path) -> None:
    """Reads version and licence from libpcap's own sources."""
    version = (sources / "VERSION").read_text().strip()
    text = (sources / "LICENSE").read_text()
    library = {
        "type": "library",
        "name": "libpcap",
        "version": version,
        "purl": f"pkg:generic/libpcap@{version}",
        "licenses": [{"license": {"id": "BSD-3-Clause", "text": {"content": text}}}],
    }
    bill = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "components": [library]}
    file.write_text(json.dumps(bill, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
