"""Leaves MinGW's import libraries out of vendored crates: 100 MB that no Python is linked with.

python scripts/without_mingw.py VENDOR
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

SUMS = ".cargo-checksum.json"


def main(vendor: Path) -> None:
    """Cargo checks each file that a crate lists, so they are no longer listed."""
    for library in [*vendor.glob("*gnu*/lib/*.a"), *vendor.glob("*gnu*/lib/*.lib")]:
        crate = library.parents[1]
        sums = json.loads((crate / SUMS).read_text())
        del sums["files"][library.relative_to(crate).as_posix()]
        (crate / SUMS).write_text(json.dumps(sums))
        library.unlink()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
