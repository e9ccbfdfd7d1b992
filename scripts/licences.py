"""The licences of what a wheel holds beside this project: every crate that is linked, and libpcap.

python scripts/licences.py TARGET LIBPCAP.cyclonedx.json > LICENSE-THIRD-PARTY
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NAMES = ("LICENSE*", "LICENCE*", "COPYING*", "NOTICE*", "UNLICENSE*")
HEAD = "nagle-scan is linked with the following. Each part has its own licence.\n"


def crates(target: str) -> list[dict[str, Any]]:
    """What is linked for a target, by name."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1"]
    command += ["--manifest-path", "analyzer/Cargo.toml", "--filter-platform", target]
    told = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    packages = {package["id"]: package for package in told["packages"]}
    nodes = {node["id"]: node for node in told["resolve"]["nodes"]}
    linked, left = set(), [told["resolve"]["root"]]
    while left:
        one = left.pop()
        if one not in linked:
            linked.add(one)
            left += [dep["pkg"] for dep in nodes[one]["deps"] if _is_linked(dep)]
    linked.discard(told["resolve"]["root"])
    return sorted((packages[one] for one in linked), key=lambda one: (one["name"], one["version"]))


def _is_linked(dependency: dict[str, Any]) -> bool:
    return any(kind["kind"] is None for kind in dependency["dep_kinds"])


def texts(crate: dict[str, Any]) -> Iterator[str]:
    """The licence texts that it ships."""
    folder = Path(crate["manifest_path"]).parent
    for path in sorted({path for name in NAMES for path in folder.glob(name)}):
        if path.is_file():
            yield path.read_text(errors="replace").strip()


def text(target: str, libpcap: Path) -> str:
    """The whole file: texts that several share stand once."""
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


if __name__ == "__main__":
    sys.stdout.write(text(sys.argv[1], Path(sys.argv[2])))
