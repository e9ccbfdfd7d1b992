"""The parts of a wheel: licences, and bills of materials (CycloneDX 1.5).

bill.py libpcap SOURCES FILE     the bill of the libpcap inside, with its licence
bill.py licences TARGET FILE     licences of every crate that is linked, and of that libpcap
bill.py clean FOLDER WHEEL...    takes the folder of the build out of maturin's bill
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NAMES = ("LICENSE*", "LICENCE*", "COPYING*", "NOTICE*", "UNLICENSE*")
HEAD = "nagle-scan is linked with the following. Each part has its own licence.\n"


def of_libpcap(sources: Path) -> str:
    """Version and licence from libpcap's own sources."""
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
    return json.dumps(bill, indent=1) + "\n"


def crates(target: str) -> list[dict[str, Any]]:
    """The crates that are linked for a target, by name."""
    tree = _cargo("tree", "--target", target, "--edges", "normal", "--prefix", "none")
    linked = {tuple(line.split()[:2]) for line in tree.splitlines()}
    packages = json.loads(_cargo("metadata", "--format-version", "1"))["packages"]
    others = (one for one in packages if one["source"])  # all but nagle-scan itself
    found = (one for one in others if (one["name"], f"v{one['version']}") in linked)
    return sorted(found, key=lambda one: (one["name"], one["version"]))


def _cargo(*words: str) -> str:
    command = ["cargo", *words, "--locked", "--manifest-path", "analyzer/Cargo.toml"]
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout


def texts(crate: dict[str, Any]) -> Iterator[str]:
    """The licence texts that a crate ships."""
    folder = Path(crate["manifest_path"]).parent
    for path in sorted({path for name in NAMES for path in folder.glob(name)}):
        if path.is_file():
            yield path.read_text(errors="replace").strip()


def licences(target: str, libpcap: Path) -> str:
    """All licences: a text that several parts share stands once."""
    shared: dict[str, list[str]] = {}
    for crate in crates(target):
        name = f"{crate['name']} {crate['version']} ({crate['license']})"
        said = list(texts(crate)) or [f"No text is shipped with it: see {crate['repository']}"]
        for one in said:
            shared.setdefault(one, []).append(name)
    for part in json.loads(libpcap.read_text())["components"]:
        licence = part["licenses"][0]["license"]["text"]["content"].strip()
        shared.setdefault(licence, []).append(f"{part['name']} {part['version']}")
    rule = "\n" + "-" * 80 + "\n"
    return HEAD + "".join(f"{rule}{', '.join(who)}\n\n{what}\n" for what, who in shared.items())


def clean(folder: str, wheel: Path) -> None:
    """Replaces the wheel; nothing else in it changes but the list of its files."""
    made, record = wheel.with_suffix(".new"), b""
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(made, "w") as new:
        for entry in sorted(old.infolist(), key=lambda entry: entry.filename.endswith("/RECORD")):
            content = old.read(entry)
            if "/sboms/" in entry.filename:
                content = content.replace(f"file://{folder}/".encode(), b"file:///")
                # The line of RECORD that PEP 427 wants.
                digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode()
                line = f"{entry.filename},sha256={digest.rstrip('=')},{len(content)}\n"
                record += line.encode()
            elif entry.filename.endswith("/RECORD"):
                lines = content.splitlines(keepends=True)
                content = record + b"".join(line for line in lines if b"/sboms/" not in line)
            new.writestr(entry, content)
    os.replace(made, wheel)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["libpcap", sources, file]:
            Path(file).write_text(of_libpcap(Path(sources)))
        case ["licences", target, file]:
            sys.stdout.write(licences(target, Path(file)))
        case ["clean", folder, *wheels]:
            for wheel in wheels:
                clean(folder, Path(wheel))
        case _:
            sys.exit(__doc__)
